"""``draguard help``: the help of a command, or a manual page of all commands."""

from __future__ import annotations

from webhook.cli.arguments import make_parser
from webhook.cli.arguments.parsing import did_you_mean
from webhook.usage import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print the help or the manual page."""
    parser = make_parser()
    if arguments.man:
        from webhook.cli.arguments.manpage import manual_page  # needed only for packages

        if arguments.names:
            raise UsageError("--man is about all commands: leave out the command")
        print("\n".join(manual_page(parser)))
        return 0
    for name in arguments.names:
        if name not in parser.commands:
            known = parser.commands
            hint = did_you_mean(name, known) or (f"; commands are {', '.join(known)}" if known else "")
            raise UsageError(f"unknown command {name!r} of {parser.prog}{hint}")
        parser = parser.commands[name]
    parser.print_help()
    return 0
