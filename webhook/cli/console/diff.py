"""Differences between texts, as ``diff -u`` shows them."""

from __future__ import annotations

from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING

from webhook.report.excerpt import printable, uncommanded

if TYPE_CHECKING:
    from collections.abc import Iterator


def unified(file: str, before: str, after: str) -> Iterator[str]:
    """Return the lines of a unified diff of a file; none if nothing has changed.

    The lines of the file stay as they are, as ``patch`` must find them; its name may be a stranger's.
    """
    name = uncommanded(printable(file))
    for line in unified_diff(_lines(before), _lines(after), name, name):
        yield from [line] if line.endswith("\n") else [f"{line}\n", "\\ No newline at end of file\n"]


def _lines(text: str) -> list[str]:
    """Split a text as ``patch`` does: U+2028 and others end no line."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def line_before(before: str, after: str, line: int) -> int:
    """Return which line of a text a line of the changed text was; for a new one, the line where it comes in."""
    blocks = SequenceMatcher(None, before.splitlines(), after.splitlines()).get_opcodes()
    for _, start, end, new_start, new_end in blocks:
        if new_start < line <= new_end:
            return min(start + line - new_start, max(end, start + 1))
    return line
