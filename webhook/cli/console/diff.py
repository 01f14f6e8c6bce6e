"""Differences between texts, as ``diff -u`` shows them."""

from __future__ import annotations

from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def unified(file: str, before: str, after: str) -> Iterator[str]:
    """Return the lines of a unified diff of a file; none if nothing has changed."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for line in unified_diff(old, new, file, file):
        yield from [line] if line.endswith("\n") else [f"{line}\n", "\\ No newline at end of file\n"]


def line_before(before: str, after: str, line: int) -> int:
    """Return which line of a text a line of the changed text was; for a new one, the line where it comes in."""
    blocks = SequenceMatcher(None, before.splitlines(), after.splitlines()).get_opcodes()
    for _, start, end, new_start, new_end in blocks:
        if new_start < line <= new_end:
            return min(start + line - new_start, max(end, start + 1))
    return line
