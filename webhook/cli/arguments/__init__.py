"""The command line's parser: commands, options, help.

Imports nothing that a command needs, so that ``draguard --help`` and usage errors are quick.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.cli.arguments import config, drivers, manifests, policy, reviews, scheduling, schemas, shell
from webhook.cli.arguments.parsing import Parser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EXIT_CODES = """\
exit codes:
  0    fine; warnings do not count
  1    something was found: the API server would refuse an object, or an input cannot be read
  2    wrong use: an unknown option, a path that does not exist
  3    draguard itself failed
  130  interrupted; 141: the output's reader has gone
"""


ALIASES = {"why": "simulate"}
"""Other names of commands."""


class UsageError(Exception):
    """The command was used wrongly; the text says how to mend that."""


class Version(argparse.Action):
    """Prints the version, and looks it up only then."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Print the version and exit."""
        from webhook.cli.version import run  # noqa: PLC0415 - commands are imported only when they run

        parser.exit(run(argparse.Namespace()))


class _Command(NamedTuple):
    """A command.

    Args:
        name: Its name.
        summary: What it does.
        epilog: What follows its options in its help.
        declare: Adds its options to its parser.
    """

    name: str
    summary: str
    epilog: str
    declare: Callable[[argparse.ArgumentParser], None]


_COMMANDS = (
    _Command(
        "validate",
        "say what the API server would refuse in manifests, and where",
        manifests.VALIDATE,
        manifests.validate,
    ),
    _Command(
        "simulate",
        "say on which nodes pods get their devices, or why they stay pending",
        scheduling.SIMULATE,
        scheduling.simulate,
    ),
    _Command(
        "match", "say which devices selectors take, and what keeps others out", scheduling.MATCH, scheduling.match
    ),
    _Command(
        "snapshot",
        "print the command that collects what is in a cluster, or run it",
        scheduling.SNAPSHOT,
        scheduling.snapshot,
    ),
    _Command("mutate", "rewrite pods that bypass the scheduler, in manifests", manifests.MUTATE, manifests.mutate),
    _Command("explain", "describe a kind, a field, a rule or a feature gate", manifests.EXPLAIN, manifests.explain),
    _Command("driver", "show what drivers publish and take, or write a profile of one", drivers.DRIVER, drivers.driver),
    _Command("schema", "print the JSON schema of a report", schemas.SCHEMA, schemas.schema),
    _Command("config", "show what is in force, and what the configuration file can say", config.CONFIG, config.config),
    _Command("policy", "check and test policies", policy.POLICY, policy.policy),
    _Command("review", "answer recorded AdmissionReviews as the webhook would", reviews.REVIEW, reviews.review),
    _Command("serve", "run the admission webhook", reviews.SERVE, reviews.serve),
    _Command(
        "manage-certificate",
        "manage the webhook's certificate in its cluster",
        reviews.MANAGE_CERTIFICATE,
        reviews.manage_certificate,
    ),
    _Command("certs", "make a certificate authority and a serving certificate", reviews.CERTS, reviews.certs),
    _Command("completion", "print what completes commands and options in a shell", shell.COMPLETION, shell.completion),
    _Command("help", "show the help of a command, or the manual page", shell.HELP, shell.help_),
    _Command("version", "print the version", "", lambda _parser: None),
)


def make_parser(arguments: Sequence[str] = ()) -> Parser:
    """Make the parser of a command line.

    Args:
        arguments: What will be parsed. If a command comes first, as it nearly always does, no other is declared: that
            takes as long as judging a file.
    """
    parser = Parser(
        prog="draguard",
        description="Says what a Kubernetes API server and scheduler will make of Dynamic Resource Allocation objects.",
        epilog=f"{_EXIT_CODES}\n`draguard COMMAND --help` shows a command's options, with examples.",
    )
    parser.add_argument("-V", "--version", action=Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(prog="draguard", dest="command", metavar="COMMAND", title="commands")
    wanted = ALIASES.get(arguments[0], arguments[0]) if arguments else ""
    for each in [each for each in _COMMANDS if each.name == wanted] or _COMMANDS:
        added = commands.add_parser(
            each.name,
            aliases=[alias for alias, of in ALIASES.items() if of == each.name],
            help=each.summary,
            description=f"{each.summary[0].upper()}{each.summary[1:]}.",
            epilog=each.epilog,
        )
        each.declare(added)
    return parser
