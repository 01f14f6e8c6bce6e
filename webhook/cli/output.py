"""How a report is shown, and what it makes of the exit code, as several commands do it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from webhook.report import as_text

if TYPE_CHECKING:
    from argparse import Namespace

    from webhook.report import Report


def show_text(report: Report, arguments: Namespace, *lines: str, closing: str) -> None:
    """Print findings, further lines, and a last one unless that is not wanted."""
    color = arguments.color == "always" or (arguments.color == "auto" and _takes_colors())
    for line in as_text(report.findings, color=color):
        print(line)
    for line in lines:
        print(line)
    if not arguments.quiet:
        print(closing)


def _takes_colors() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def exit_code(report: Report, arguments: Namespace) -> int:
    """Say by an exit code what was found."""
    if any(finding.line == 0 for finding in report.findings):
        return 2
    return 1 if report.errors or (arguments.strict and report.warnings) else 0
