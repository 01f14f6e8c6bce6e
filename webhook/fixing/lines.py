"""Finds and indents the lines of a part of a text."""

from __future__ import annotations

import re

from webhook.documents.edits import Edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

STEP: Final = "  "
"""The indentation of a new map."""
_LINE: Final = re.compile(r"\n(?=[^\r\n])")


def indented(text: str, start: int, end: int, by: int = len(STEP)) -> Iterator[Edit]:
    """Indent the lines of a part, but for its first one and empty ones."""
    for each in _LINE.finditer(text, start, end):
        if each.end() < end:
            yield Edit(each.end(), each.end(), " " * by)


def dedented(text: str, start: int, end: int, by: int) -> Iterator[Edit]:
    """Indent the lines of a part by less, but for its first one."""
    for each in _LINE.finditer(text, start, end):
        at = each.end()
        spaces = len(text[at : at + by]) - len(text[at : at + by].lstrip(" "))
        if at < end and spaces:
            yield Edit(at, at + spaces, "")


def line_start(text: str, offset: int) -> int:
    """Return where the line of an offset begins."""
    return text.rfind("\n", 0, offset) + 1


def line_break(text: str) -> str:
    """Return how the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"
