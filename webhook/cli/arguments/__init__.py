"""The command line's parser: commands, options, help.

Imports nothing that a command needs, so that ``draguard --help`` and usage errors are quick.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from webhook.cli.arguments import manifests, policy, reviews, scheduling
from webhook.cli.arguments.shared import Help

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXIT_CODES = """\
exit codes:
  0    fine; warnings do not count
  1    something was found: the API server would refuse an object, or an input cannot be read
  2    wrong use: an unknown option, a path that does not exist
  3    draguard itself failed
  130  interrupted; 141: nobody reads the output any more
"""


ALIASES = {"why": "simulate"}
"""Other names of commands."""


class UsageError(Exception):
    """The command was used wrongly; the text says how to mend that."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses by itself what it does not know, so that the usage is that of the command."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse what the command takes; print an error and exit if there is more."""
        found, unknown = super().parse_known_args(args, namespace)
        if "paths" in found and not any(each.startswith("-") and each != "-" for each in unknown):
            # argparse takes paths from one place only; people put options between them.
            found.paths, unknown = [*found.paths, *unknown], []
        if unknown:
            from difflib import get_close_matches  # noqa: PLC0415 - needed for mistakes only

            options = [each for each in self._option_string_actions if each.startswith("--")]
            near = get_close_matches(unknown[0].partition("=")[0], options, 1)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{f': did you mean {near[0]}?' if near else ''}")
        return found, unknown


class Version(argparse.Action):
    """Prints the version, and looks it up only then."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Print the version of the installed distribution and exit."""
        from importlib.metadata import version  # noqa: PLC0415 - takes longer than all the rest

        print(f"draguard {version('draguard')}")
        parser.exit()


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    parser = Parser(
        prog="draguard",
        description="Tells what a Kubernetes API server will say of Dynamic Resource Allocation objects.",
        epilog=f"{_EXIT_CODES}\n`draguard COMMAND --help` shows a command's options, with examples.",
        formatter_class=Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(prog="draguard", dest="command", metavar="COMMAND", title="commands")

    def add(name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            aliases=[alias for alias, of in ALIASES.items() if of == name],
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=Help,
            allow_abbrev=False,
        )

    manifests.validate(
        add("validate", "say what the API server would refuse in manifests, and where", manifests.VALIDATE)
    )
    scheduling.simulate(
        add("simulate", "say on which nodes pods get their devices, or why they stay pending", scheduling.SIMULATE)
    )
    scheduling.match(add("match", "say which devices selectors take, and what keeps others out", scheduling.MATCH))
    scheduling.snapshot(
        add("snapshot", "print the command that collects what is in a cluster, or run it", scheduling.SNAPSHOT)
    )
    manifests.mutate(add("mutate", "rewrite pods that bypass the scheduler, in manifests", manifests.MUTATE))
    manifests.explain(add("explain", "tell what is declared about a kind, a field or a rule", manifests.EXPLAIN))
    policy.policy(add("policy", "check and test policies", policy.POLICY))
    reviews.review(add("review", "answer recorded AdmissionReviews as the webhook would", reviews.REVIEW))
    reviews.serve(add("serve", "run the admission webhook", reviews.SERVE))
    reviews.manage_certificate(
        add(
            "manage-certificate", "manage the webhook's certificate by means of its cluster", reviews.MANAGE_CERTIFICATE
        )
    )
    reviews.certs(add("certs", "make a certificate authority and a serving certificate", reviews.CERTS))
    return parser
