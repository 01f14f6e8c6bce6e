"""``draguard completion``: scripts that complete commands, options and values in a shell, made from the parser."""

from __future__ import annotations

from webhook.cli.arguments import make_parser
from webhook.cli.completion.commands import described
from webhook.cli.completion.shells import SCRIPTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print the script."""
    print("\n".join(SCRIPTS[arguments.shell](described(make_parser()))))
    return 0
