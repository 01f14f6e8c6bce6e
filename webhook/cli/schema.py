"""``draguard schema``: prints JSON schemas of draguard's files and reports."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from webhook.configuration.options import SCHEMAS

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print a schema."""
    package, file, _ = SCHEMAS[arguments.name]
    print(resources.files(package).joinpath(file).read_text(encoding="utf-8"), end="")
    return 0
