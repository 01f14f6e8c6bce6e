"""Shows findings: one class for each output format.

Formats are imported on first use, so that the command line's parser can list them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from webhook.records import NamedTuple

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


class Format(ABC):
    """An output format.

    Args:
        style: The style, where the format leaves it open.
    """

    def __init__(self, style: Style) -> None:
        self.style = style

    @abstractmethod
    def lines(self, report: Report) -> Iterable[str]:
        """Return the lines of the report."""


FORMATS: Mapping[str, str] = {
    "text": "text.Text",
    "concise": "text.Concise",
    "statistics": "text.Statistics",
    "json": "json.Json",
    "sarif": "sarif.Sarif",
    "junit": "junit.JUnit",
    "github": "github.GitHub",
    "gitlab": "gitlab.GitLab",
    "markdown": "markdown.Markdown",
    "html": "html.Html",
    "openreports": "openreports.OpenReports",
}
"""The classes of the formats, with their modules."""


LISTING = frozenset({"junit"})
"""The formats that name every object that was judged."""


def make(name: str, style: Style) -> Format:
    """Make a format.

    Args:
        style: The style, where the format leaves it open.
    """
    module, _, kind = FORMATS[name].partition(".")
    made: Format = getattr(import_module(f"webhook.report.{module}"), kind)(style)
    return made
