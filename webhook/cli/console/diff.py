"""Differences between texts, as ``diff -u`` shows them."""

from __future__ import annotations

import os
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from webhook.report.excerpt import printable, uncommanded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_PAIRS: Final = 5_000_000
"""Pairs of equal lines beyond which only lines that are there once are looked for: some seconds."""


def unified(file: str, before: str, after: str) -> list[str]:
    """Return the lines of a unified diff of a file; none if nothing has changed.

    The lines of the file stay as they are, as ``patch`` must find them; its name may be a stranger's. Where one would
    command GitHub's runner, a line before them stops commands and one after them resumes; patch and git ignore both.
    """
    name = uncommanded(printable(file))
    lines = [
        text
        for line in _hunks(name, _lines(before), _lines(after))
        for text in ([line] if line.endswith("\n") else [f"{line}\n", "\\ No newline at end of file\n"])
    ]
    if not any(map(_commands, lines)):
        return lines
    token = os.urandom(16).hex()  # no file can know it
    return [f"::stop-commands::{token}\n", *lines, f"::{token}::\n"]


def _hunks(name: str, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Return the lines of a diff, as ``difflib.unified_diff`` does; that takes quadratic time if many lines repeat."""
    for number, group in enumerate(_matcher(before, after).get_grouped_opcodes()):
        if not number:
            yield from (f"--- {name}\n", f"+++ {name}\n")
        (_, start, _, new_start, _), (_, _, end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@\n"
        for tag, first, last, new_first, new_last in group:
            if tag == "equal":
                yield from (f" {line}" for line in before[first:last])
            else:
                yield from (f"-{line}" for line in before[first:last])
                yield from (f"+{line}" for line in after[new_first:new_last])


def _range(start: int, end: int) -> str:
    count = end - start
    first = start + 1 if count else start  # an empty range is after the line before it
    return f"{first}" if count == 1 else f"{first},{count}"


def _matcher(before: Sequence[str], after: Sequence[str]) -> SequenceMatcher[str]:
    matcher = SequenceMatcher(None, before, after)
    places = matcher.b2j  # type: ignore[attr-defined]  # documented, but unknown to typeshed
    if sum(len(places.get(line, ())) for line in before) <= _MOST_PAIRS:
        return matcher
    return SequenceMatcher(lambda line: len(places.get(line, ())) > 1, before, after)


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
    blocks = _matcher(before.splitlines(), after.splitlines()).get_opcodes()
    for _, start, end, new_start, new_end in blocks:
        if new_start < line <= new_end:
            return min(start + line - new_start, max(end, start + 1))
    return line
