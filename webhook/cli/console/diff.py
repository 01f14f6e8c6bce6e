"""Differences between texts, as ``diff -u`` shows them."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def unified(file: str, before: str, after: str) -> Iterator[str]:
    """Return the lines of a unified diff of a file; none if nothing has changed."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for line in unified_diff(old, new, file, file):
        yield from [line] if line.endswith("\n") else [f"{line}\n", "\\ No newline at end of file\n"]
