"""``draguard schema``: prints JSON schemas of draguard's files and reports."""

from __future__ import annotations

from importlib import resources

from webhook.cli.arguments.schemas import SCHEMAS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print a schema."""
    wanted = SCHEMAS[arguments.name]
    print(resources.files(wanted.package).joinpath(wanted.file).read_text(encoding="utf-8"), end="")
    return 0
