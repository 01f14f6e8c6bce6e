"""Reads texts part by part: large ones take less memory."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import count, pairwise

from webhook.documents.document import TEMPLATE, Document, ItemOrigin
from webhook.documents.lists import expanded
from webhook.documents.source import Source, Unreadable
from webhook.documents.stream import SEPARATOR, documents, is_row, text_of, yaml_documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Final

    from webhook.documents.longlists import LongList

    Read = Callable[[Source], Iterator[Document | Unreadable]]
    """Reads a text, or a part of one."""

_PART: Final = 4 << 20
"""About how many characters a part has."""


def parse_in_parts(data: bytes, source: str = "<text>", *, rendered: bool = False) -> Iterator[Document | Unreadable]:
    """Read every document of a text; a document keeps only a part of the text around it.

    Args:
        data: The manifest, as for :func:`~webhook.documents.stream.parse`.
        source: What to call it.
        rendered: Whether a program wrote the text.
    """
    content = text_of(data, source)
    return iter((content,)) if isinstance(content, Unreadable) else _in_parts(source, content, rendered=rendered)


def _in_parts(name: str, text: str, *, rendered: bool) -> Iterator[Document | Unreadable]:
    """Read documents part by part, and forget each part before the next; a list in parts of its items."""
    of = len(text) // _PART + 1
    listed = long_list(text) if of > 1 else None
    cuts: list[tuple[int, int, Read]]
    if listed:
        cuts = [
            (begin, end, partial(_items, listed=listed, first=first, last=last, begin=begin))
            for first, last, begin, end in listed.parts(text, _PART)
        ]
    elif is_row(text):
        cuts = [(0, len(text), documents)]
    else:
        read: Read = partial(yaml_documents, indexes=count())
        cuts = [(*cut, read) for cut in pairwise(_cut(text, number, of) for number in range(of + 1))]
    parts = deque((text[start:end], read) for start, end, read in cuts)
    del text
    before = 0
    while parts:
        part, read = parts.popleft()
        source = Source(name, part, rendered=rendered, before=before)
        before += part.count("\n")
        yield from read(source)


def long_list(text: str) -> LongList | None:
    """Find the items of a text that is a single list; None if it must be read as a whole."""
    from webhook.documents.longlists import json_list, yaml_list  # most texts are short

    if is_row(text):
        return json_list(text)
    has_others = text.startswith(SEPARATOR) or f"\n{SEPARATOR}" in text or TEMPLATE.match(text)
    return None if has_others else yaml_list(text)


def _items(source: Source, listed: LongList, first: int, last: int, begin: int) -> Iterator[Document | Unreadable]:
    """Read some items of a list.

    Args:
        source: A part of its text.
        listed: The list.
        first: The first item.
        last: The one behind the last.
        begin: Where the part begins.
    """
    read = listed.reader(source.text)
    for number in range(first, last):
        start, end = (each - begin for each in listed.starts[number : number + 2])
        value, is_simple = read(start, end)
        origin = ItemOrigin(source, start, end, is_json=listed.is_json, is_simple=is_simple)
        for item, within in expanded({**listed.head, "items": [value]}):
            yield Document(item, 0, origin, ("items", number, *within[2:]))


def _cut(text: str, number: int, of: int) -> int:
    """Return where a part of a text begins; all parts have about the same length."""
    at = text.find("\n" + SEPARATOR, len(text) * number // of) if number else -1
    return at + 1 if at >= 0 else len(text) if number else 0
