"""Prints reports, and derives the exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from webhook.report import as_text, folded

if TYPE_CHECKING:
    from argparse import Namespace

    from webhook.report import Report


_NARROWEST = 40
"""Columns below which nothing is folded any further."""


def show_text(report: Report, arguments: Namespace, *lines: str, closing: str) -> None:
    """Print findings, further lines, and a last one unless that is not wanted."""
    color = arguments.color == "always" or (arguments.color == "auto" and _takes_colors())
    width = _columns()
    for line in as_text(report.findings, color=color, width=width):
        print(line)
    for line in lines:
        print(folded(line, width))
    if not arguments.quiet:
        print("\n".join(folded(line, width) for line in closing.splitlines()))


def _columns() -> int:
    """Return the width of the terminal; 0 if output goes elsewhere, where each finding stays on one line."""
    if not sys.stdout.isatty():
        return 0
    from shutil import get_terminal_size  # noqa: PLC0415 - only terminals pay for it

    return max(get_terminal_size().columns, _NARROWEST)


def _takes_colors() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def exit_code(report: Report, arguments: Namespace) -> int:
    """Say by an exit code what was found."""
    if any(finding.line == 0 for finding in report.findings):
        return 2
    return 1 if report.errors or (arguments.strict and report.warnings) else 0
