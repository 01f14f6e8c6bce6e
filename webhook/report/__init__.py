"""Shows findings: one class and one module for each output format.

Imports nothing until a format is asked for, so that the command line's parser can name them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webhook.report.model import Report


class Style(NamedTuple):
    """How a report is shown.

    Args:
        color: Whether text is coloured by ANSI escape sequences.
        width: The columns to which long texts are folded; 0 for no limit.
        quiet: Whether only findings are shown, without a summary.
    """

    color: bool = False
    width: int = 0
    quiet: bool = False


class Format(ABC):
    """An output format.

    Args:
        style: How it shows what it does not decide itself.
    """

    def __init__(self, style: Style) -> None:
        self.style = style

    @abstractmethod
    def lines(self, report: Report) -> Iterable[str]:
        """Return what is written, line by line."""


FORMATS: Mapping[str, str] = {
    "text": "Text",
    "concise": "Concise",
    "json": "Json",
    "sarif": "Sarif",
    "junit": "JUnit",
    "github": "GitHub",
    "gitlab": "GitLab",
    "markdown": "Markdown",
    "html": "Html",
}
"""The classes of the formats; each is in the module of the format's name."""


LISTING = frozenset({"junit"})
"""The formats that name every object that was judged."""


def make(name: str, style: Style) -> Format:
    """Make a format.

    Args:
        name: One of :data:`FORMATS`.
        style: How it shows what it does not decide itself.
    """
    made: Format = getattr(import_module(f"webhook.report.{name}"), FORMATS[name])(style)
    return made
