"""Differences between texts, as ``diff -u`` shows them."""

from __future__ import annotations

import os
from difflib import SequenceMatcher, unified_diff

from webhook.report.excerpt import printable, uncommanded


def unified(file: str, before: str, after: str) -> list[str]:
    """Return the lines of a unified diff of a file; none if nothing has changed.

    The lines of the file stay as they are, as ``patch`` must find them; its name may be a stranger's. Where one would
    command GitHub's runner, a line before them stops commands and one after them resumes; patch and git ignore both.
    """
    name = uncommanded(printable(file))
    lines = [
        text
        for line in unified_diff(_lines(before), _lines(after), name, name)
        for text in ([line] if line.endswith("\n") else [f"{line}\n", "\\ No newline at end of file\n"])
    ]
    if not any(map(_commands, lines)):
        return lines
    token = os.urandom(16).hex()  # no file can know it
    return [f"::stop-commands::{token}\n", *lines, f"::{token}::\n"]


def _commands(line: str) -> bool:
    """Tell whether a line commands a runner, which ends lines at carriage returns, too."""
    ended = line.replace("\r", "\n")
    return uncommanded(ended) != ended


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
