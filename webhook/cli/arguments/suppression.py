"""Arguments that suppress findings."""

from __future__ import annotations

from webhook.cli.arguments.parsing import repeated

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def suppression(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Declare the options for suppressing findings."""
    group = parser.add_argument_group(
        "suppression",
        "RULE is a rule, a pattern such as 'cel-*', or policy/NAME; `draguard explain` lists the rules.",
    )
    for option, what in {
        "--select": "report only these rules, and files that cannot be read",
        "--ignore": "do not report these rules",
    }.items():
        repeated(group, option, metavar="RULE[,RULE…]", help=f"{what}")
    repeated(
        group,
        "--level",
        metavar="RULE=LEVEL",
        help="report a rule as off, note, warn or error; a LEVEL without RULE= is the highest of all other rules",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="suppress the findings in this file, and list those that are fixed",
    )
    group.add_argument(
        "--write-baseline",
        metavar="FILE",
        help="write all findings to this file, for --baseline, and exit with 0",
    )
    return group
