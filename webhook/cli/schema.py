"""``draguard schema``: prints JSON schemas of draguard's files and reports."""

from __future__ import annotations

from argparse import Namespace
from importlib import resources

from webhook.configuration.options import SCHEMAS


def run(arguments: Namespace) -> int:
    """Print a schema."""
    package, file, _ = SCHEMAS[arguments.name]
    print(resources.files(package).joinpath(file).read_text(encoding="utf-8"), end="")
    return 0
