"""Changes of files by a command: their texts, a summary, and differences as ``diff -u`` shows them."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Final

from webhook.escapes import printable
from webhook.findings import Finding
from webhook.grouping import by_key
from webhook.report.text import counted, uncommanded

_SEPARATOR = "---"


def joined(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts with a separator between them, unless they bring their own."""
    before = ""
    for text in texts:
        if before:
            yield "" if before.endswith("\n") else "\n"
            yield "" if text.startswith(_SEPARATOR) else f"{_SEPARATOR}\n"
        yield text
        before = text or before


def outcome(changed: str, unchanged: str, files: Collection[str], faults: Iterable[Finding]) -> str:
    """Summarize in a line what has been changed, and in how many files there are errors.

    Args:
        changed: A sentence about the changed files; empty if there are none.
        unchanged: A sentence that stands for files without errors.
        files: All files that were read.
    """
    faulty = {fault.file for fault in faults}
    if not changed and ((fine := sum(each not in faulty for each in files)) or not faulty):
        changed = f"{unchanged} in {counted(fine, 'file')}"
    errors = f"errors in {counted(len(faulty), 'file')}" if faulty else ""
    return "; ".join(filter(None, [changed, errors]))


_MOST_STEPS: Final = 1_000_000
"""The steps up to which difflib compares all lines: a tenth of a second."""


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
    ended = [line.replace("\r", "\n") for line in lines]  # a runner ends lines at carriage returns, too
    if all(uncommanded(line) == line for line in ended):
        return lines
    token = os.urandom(16).hex()  # no file can know it
    return [f"::stop-commands::{token}\n", *lines, f"::{token}::\n"]


def _hunks(name: str, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Return the lines of a diff, as ``difflib.unified_diff`` does; that takes quadratic time for large files."""
    for number, group in enumerate(_Matcher(before, after).get_grouped_opcodes()):
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


class _Matcher(SequenceMatcher[str]):
    """Matches lines as difflib does; in large texts, it pairs lines that stay first, and compares what is between.

    Args:
        before: The lines of one text.
        after: The lines of the other text.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(None, before, after)
        self._before, self._after = before, after

    @property
    def is_small(self) -> bool:
        """Whether difflib alone is fast enough."""
        places = self.b2j  # type: ignore[attr-defined]  # documented, but unknown to typeshed
        pairs = sum(len(places.get(line, ())) for line in self._before)
        return pairs * min(len(self._before), len(self._after)) <= _MOST_STEPS

    def get_matching_blocks(self) -> list[Match]:
        """Return the equal parts in their order, and an empty one at the end."""
        if self.is_small:
            return super().get_matching_blocks()
        blocks: list[Match] = []
        start = new_start = 0
        last = len(self._before), len(self._after)
        for end, new_end in (*_paired(self._before, self._after), last):
            if start < end and new_start < new_end:
                between = _Matcher(self._before[start:end], self._after[new_start:new_end])
                equal = between.get_matching_blocks() if between.is_small else ()
                blocks += (Match(start + first, new_start + new_first, size) for first, new_first, size in equal)
            blocks.append(Match(end, new_end, 1))
            start, new_start = end + 1, new_end + 1
        return [*_joined(blocks[:-1]), Match(*last, 0)]


def _joined(blocks: Iterable[Match]) -> Iterator[Match]:
    """Join blocks that follow each other directly."""
    whole = Match(0, 0, 0)
    for each in blocks:
        if (each.a, each.b) == (whole.a + whole.size, whole.b + whole.size):
            whole = whole._replace(size=whole.size + each.size)
        elif each.size:
            yield whole
            whole = each
    yield whole


def _paired(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Pair the lines that both texts have equally often, first with first; leave out those that have moved."""
    counts = Counter(before)
    numbers = by_key((line, number) for number, line in enumerate(after))
    places = {line: iter(each) for line, each in numbers.items() if len(each) == counts[line]}
    pairs = [(number, next(places[line])) for number, line in enumerate(before) if line in places]
    # The longest increasing subsequence: for each length, the pair with the least last number, and the one before it.
    least: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(least, number)
        previous.append(ends[length - 1] if length else -1)
        least[length : length + 1], ends[length : length + 1] = [number], [index]
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _lines(text: str) -> list[str]:
    """Split a text as ``patch`` does: U+2028 and others end no line."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def line_before(before: str, after: str, line: int) -> int:
    """Return which line of a text a line of the changed text was; for a new one, the line where it comes in."""
    blocks = _Matcher(before.splitlines(), after.splitlines()).get_opcodes()
    for _, start, end, new_start, new_end in blocks:
        if new_start < line <= new_end:
            return min(start + line - new_start, max(end, start + 1))
    return line
