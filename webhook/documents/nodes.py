"""The keys and values of a document as they are written: where they begin and end, and in which style."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from webhook.documents.scalars import MERGE_KEY
from webhook.patterns import Pattern
from webhook.problem import Path
from webhook.records import Record, unset

BLOCK_STYLES: Final = frozenset("|>")
_CHARACTERS: Final = {
    '"': Pattern(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[\s\S])|[^\\]"),
    "'": Pattern(r"''|[^']"),
}
_ANY: Final = Pattern(r"[\s\S]")
_PROPERTIES: Final = Pattern(r"(?:[!&][^\s,\[\]{}]*(?:\s+|#[^\n]*)*)*")
"""The tag and the anchor before a value."""
_WHITE_ESCAPES: Final = frozenset(rf"\{each}" for each in "nrtvf_NLP \t\n")
_LOW_SURROGATES: Final = range(0xDC00, 0xE000)
"""Second halves of characters that JSON writes as two escapes."""


class Node(Record):
    """A value as it is written.

    Args:
        start: Where its text begins.
        end: Where its text ends: after its last character that is neither white space nor part of a comment.
        style: The quote or the ``|`` or ``>`` of a scalar, ``{`` or ``[`` of a map or list in braces; empty otherwise.
        value: The content of a scalar.
        is_anchored: Whether it has an anchor, or is an alias.
        is_tagged: Whether it has a tag.
        entries: The entries of a map in the order of the text; None if it is not a map.
        items: The items of a list; None if it is not a list.
        alias: The node that an alias stands for.
    """

    start: int
    end: int
    style: str = ""
    value: str = ""
    is_anchored: bool = False
    is_tagged: bool = False
    entries: list[Entry] | None = None
    items: list[Node] | None = None
    alias: Node | None = None
    _reached: dict[str, tuple[int, Node]] | None = unset(None)

    @property
    def is_whole(self) -> bool:
        """Whether its text is self-contained: it is not an alias, and has neither anchor nor tag."""
        return not self.is_anchored and not self.is_tagged

    @property
    def inner(self) -> list[Node]:
        """The values of a map or the items of a list."""
        return self.items or [entry.value for entry in self.entries or ()]

    @property
    def every(self) -> Iterator[Node]:
        """The node, and all nodes in it."""
        yield self
        for each in self.inner:
            yield from each.every

    def entry(self, name: object) -> Entry | None:
        """Return the entry of a map by name; None if it has none, or the entry is written elsewhere."""
        return next((each for each in self.entries or () if each.name == name and each.key.is_whole), None)

    def reached(self) -> dict[str, tuple[int, Node]]:
        """Return where the key of each entry begins, with its value; also of those that are merged."""
        if self._reached is None:
            self._reached = {}
            for entry in self.entries or ():
                if not entry.is_merge:
                    self._reached[entry.name] = entry.start, entry.value
                    continue
                merged = entry.value.alias or entry.value
                for each in [merged] if merged.items is None else reversed(merged.items):
                    self._reached |= (each.alias or each).reached()
        return self._reached

    def locate(self, path: Sequence[str | int]) -> tuple[int, Node | None]:
        """Return the offset of a field's key or of a list's item, or of its nearest existing parent.

        Returns:
            The offset, and the value of the field or the item; None if it is missing.
        """
        node, offset = self, self.start
        for step in path:
            node = node.alias or node
            if isinstance(step, str) and step in node.reached():
                offset, node = node.reached()[step]
            elif isinstance(step, int) and 0 <= step < len(node.items or ()):
                node = (node.items or [])[step]
                offset = node.start
            else:
                return offset, None
        return offset, node

    def repeated(self, path: Path) -> Iterator[tuple[int, int, Path]]:
        """Yield the keys that maps have several times: where each begins, where it did before, and its path.

        Args:
            path: The path of this node.
        """
        own: dict[str, int] = {}
        for entry in self.entries or ():
            inner = path / (MERGE_KEY if entry.is_merge else entry.name)
            if not entry.is_merge:
                if entry.name in own:
                    yield entry.start, own[entry.name], inner
                own[entry.name] = entry.start
            yield from entry.value.repeated(inner)
        for index, item in enumerate(self.items or ()):
            yield from item.repeated(path / index)


class Entry(NamedTuple):
    """A key of a map, with its value.

    Args:
        name: The key; empty for the merge key.
        key: The key as it is written.
    """

    name: str
    key: Node
    value: Node
    is_merge: bool = False

    @property
    def start(self) -> int:
        """Where the key begins."""
        return self.key.start

    @property
    def end(self) -> int:
        """Where the value ends."""
        return max(self.value.end, self.key.end + 1)


def visible(text: str, node: Node) -> Iterator[re.Match[str]]:
    """Iterate over the spellings of a scalar's characters but white space, which folding and indentation change.

    Args:
        text: The text from which the node's places are counted.
    """
    start, end = node.start, node.end
    if properties := _PROPERTIES.match(text, start):
        start = properties.end()
    if node.style in BLOCK_STYLES:
        start = text.find("\n", start, end) + 1 or end
    elif node.style:
        start, end = start + 1, end - 1
    return (each for each in _CHARACTERS.get(node.style, _ANY).finditer(text, start, end) if not _is_white(each))


def _is_white(spelled: re.Match[str]) -> bool:
    """Tell whether a character, or an escape in double quotes, is white space or the second half of a character."""
    code = spelled[spelled.lastindex] if spelled.lastindex else ""
    if not code:
        return spelled[0] in _WHITE_ESCAPES or spelled[0].isspace()
    return chr(int(code, 16)).isspace() or int(code, 16) in _LOW_SURROGATES
