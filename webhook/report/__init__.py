"""Shows findings: one function for each output format.

Formats are imported on first use, so that the command line's parser can list them all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from webhook.report.model import Report


class Style(NamedTuple):
    """The style of a report.

    Args:
        color: Whether text is coloured by ANSI escape sequences.
        width: The columns to which long texts are folded; 0 for no limit.
        quiet: Whether to show only findings, without a summary.
    """

    color: bool = False
    width: int = 0
    quiet: bool = False


def terminal_columns() -> int:
    """Return the columns of the terminal, 0 if unknown; importing ``shutil`` for this takes longer than most help."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdecimal() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 0


_OF_TEXT = ("concise", "statistics")
FORMATS = ("text", *_OF_TEXT, "json", "sarif", "junit", "github", "gitlab", "markdown", "html", "openreports")
"""The formats: each is the ``lines`` of its module, or a function of ``text``."""
LISTING = frozenset({"junit"})
"""The formats that name every object that was judged."""


def lines(name: str, report: Report, style: Style) -> Iterable[str]:
    """Write a report in a format.

    Args:
        style: The style, where the format leaves it open.
    """
    module, function = ("text", name) if name in _OF_TEXT else (name, "lines")
    written: Iterable[str] = getattr(import_module(f"webhook.report.{module}"), function)(report, style)
    return written
