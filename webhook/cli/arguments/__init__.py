"""The command line's parser: commands, options, help.

Imports nothing that a command needs, so that ``draguard --help`` and usage errors are quick.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from webhook.cli.arguments.parsing import Parser, subcommand
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

EXIT_CODES = """\
exit codes:
  0    no errors; warnings count with --strict only
  1    errors: the API server would refuse an object,
       or could not read it
  2    usage error: an unknown option, a path that
       cannot be opened or written
  3    draguard itself failed, if only on one object,
       or its output could not be written
  130  interrupted; 143: terminated;
       141: the reader of the output closed it
"""

_HELP = ("-h", "--help")
ALIASES = {"why": "simulate"}
"""Other names of commands."""


class Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        _values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        """Print the version and exit."""
        from webhook.cli.version import run  # commands are imported only when they run

        parser.exit(run())


class _Command(NamedTuple):
    """A command.

    Args:
        summary: Its one-line help.
        module: The module with its arguments: a function of the command's name declares them, a text of that name in
            capitals follows them in the help. It is imported only for this command, or for the help of all.
    """

    summary: str
    module: str


_COMMANDS = {
    "validate": _Command("find what the API server would refuse in manifests, and where", "manifests"),
    "simulate": _Command("show on which nodes pods get their devices, or why they stay pending", "scheduling"),
    "match": _Command("show which devices selectors match, and why the others do not", "scheduling"),
    "snapshot": _Command("print or run the command that collects the objects of a cluster", "scheduling"),
    "convert": _Command("convert manifests to another version of resource.k8s.io, and keep comments", "migration"),
    "mutate": _Command("rewrite pods that bypass the scheduler, in manifests", "manifests"),
    "explain": _Command("describe a kind, a field, a rule or a feature gate", "manifests"),
    "driver": _Command("show attributes, capacities and parameters of drivers, or write a profile", "drivers"),
    "schema": _Command("print a JSON schema: of reports, or of suites of policies", "schemas"),
    "config": _Command("show the settings in effect, or the schema of the configuration file", "config"),
    "policy": _Command("check and test policies", "policy"),
    "review": _Command("answer recorded AdmissionReviews as the webhook would", "reviews"),
    "serve": _Command("run the admission webhook", "reviews"),
    "manage-certificate": _Command("manage the webhook's certificate in its cluster", "reviews"),
    "certs": _Command("make a certificate authority and a serving certificate", "reviews"),
    "completion": _Command("print a completion script for a shell", "shell"),
    "help": _Command("show the help of a command, or the manual page", "shell"),
    "version": _Command("print the version", "shell"),
}


def make_parser(arguments: Sequence[str] = ()) -> Parser:
    """Make the parser of a command line.

    Args:
        arguments: The arguments to parse. If a command comes first, as nearly always, no other is declared: that would
            take as long as judging a file. Help lists commands without their options.
    """
    parser = Parser(
        prog="draguard",
        description="Checks Dynamic Resource Allocation (DRA) objects as the Kubernetes API server and scheduler do.",
        epilog=f"{EXIT_CODES}\n`draguard COMMAND --help` shows a command's options, with examples.",
    )
    parser.add_argument("-V", "--version", action=Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(prog="draguard", dest="command", metavar="COMMAND", title="commands")
    wanted = ALIASES.get(arguments[0], arguments[0]) if arguments else ""
    for name in [wanted] if wanted in _COMMANDS else _COMMANDS:
        command, own = _COMMANDS[name], name.replace("-", "_")
        aliases = [alias for alias, of in ALIASES.items() if of == name]
        if wanted in _HELP:
            commands.add_parser(name, aliases=aliases, help=command.summary)
            continue
        module = import_module(f"{__name__}.{command.module}")
        added = subcommand(commands, name, command.summary, aliases=aliases, epilog=getattr(module, own.upper()))
        getattr(module, own)(added)
    return parser
