"""Finds comments in YAML: the text after ``#`` outside of texts, keys and blocks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from webhook.documents.compose import read_nodes
from webhook.documents.source import Source

_SEPARATOR: Final = "---"
_MORE: Final = re.compile(r"\s#")
_MOST_ON_A_LINE: Final = 10


class Comment(NamedTuple):
    """A comment.

    Args:
        line: Its line, counted from 1.
        column: Where its ``#`` is, in characters counted from 1.
        text: The text after the mark, up to a further comment on the same line.
        about: The line that it applies to: its own or, for a comment on its own line, the next one with content; 0 if
            there is none.
        is_top: Whether it is on its own line before all content of its document.
    """

    line: int
    column: int
    text: str
    about: int
    is_top: bool


def comments(source: Source, start: int, end: int, mark: str) -> Iterator[Comment]:
    """Find the comments of a document that begin with a mark.

    Args:
        start: Where the document begins in it.
        end: Where it ends.
        mark: The text after ``#`` and white space, such as ``draguard:``.
    """
    text = source.text
    first = following = _content(text, start, end)
    begin = _with_head(text, start)
    marked = re.compile(rf"(?:(?<=\s)|(?<![\s\S]))#[ \t]*{re.escape(mark)}[ \t]*")
    if marked.search(text, begin, end) is None:
        return
    texts = read_nodes(text[start:end], start)[1]
    seen = Counter[int]()
    for found in (each for part in outside(texts, begin, end) for each in marked.finditer(text, *part)):
        at = found.start()
        place = source.position(at)
        seen[place.line] += 1
        if seen[place.line] > _MOST_ON_A_LINE:
            continue
        stop = text.find("\n", at)
        line_end = end if stop < 0 else min(stop, end)
        more = _MORE.search(text, found.end(), line_end)
        own_line = not text[at - place.column + 1 : at].strip().removeprefix(_SEPARATOR)
        if own_line and following < line_end:  # else what follows an earlier comment follows this one, too
            following = _content(text, line_end, end)
        about = following if own_line else at
        yield Comment(
            place.line,
            place.column,
            text[found.end() : more.start() if more else line_end].strip(),
            source.position(about).line if about < end else 0,
            own_line and at < first,
        )


def _content(text: str, start: int, end: int) -> int:
    """Return where the first line with content begins; ``end`` if there is none."""
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        line = text[start:stop].strip()
        if line and not line.startswith("#"):
            return start
        start = stop + 1
    return end


def _with_head(text: str, start: int) -> int:
    """Return the start of the separator above a document, with comments above it."""
    head = start
    while start > 0:
        line = text.rfind("\n", 0, start - 1) + 1
        above = text[line:start].strip()
        if above.startswith(_SEPARATOR) or (line == 0 and (not above or above.startswith("#"))):
            head = line
        elif above and not above.startswith("#"):
            break
        start = line
    return head


def outside(texts: Sequence[tuple[int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a document that are not in scalars, so that ``#`` may begin a comment.

    Args:
        texts: The spans of its scalars.
        start: Where the parts begin.
        end: Where they end.
    """
    for index in range(max(bisect_right(texts, (start,)) - 1, 0), len(texts)):  # most are not in a small part
        begin, stop = texts[index]
        if begin >= end:
            break
        yield start, max(start, begin)
        start = max(start, stop)
    yield start, max(start, end)
