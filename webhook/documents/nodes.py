"""Finds where the keys and values of a document begin and end, and how they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from webhook.documents.compose import key_of, parser_of
from webhook.documents.jsontext import TOKEN, paired
from webhook.documents.scalars import MERGE_KEY
from webhook.problem import Path

_BLOCK_STYLES: Final = frozenset("|>")
_CHARACTERS: Final = {
    '"': re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[\s\S])|[^\\]"),
    "'": re.compile(r"''|[^']"),
}
_ANY: Final = re.compile(r"[\s\S]")
_PROPERTIES: Final = re.compile(r"(?:[!&][^\s,\[\]{}]*(?:\s+|#[^\n]*)*)*")
"""The tag and the anchor before a value."""
_WHITE_ESCAPES: Final = frozenset(rf"\{each}" for each in "nrtvf_NLP \t\n")
_LOW_SURROGATES: Final = range(0xDC00, 0xE000)
"""Second halves of characters that JSON writes as two escapes."""


@dataclass(slots=True)
class Node:
    """A value as it is written.

    Args:
        start: Where its text begins.
        end: Where its text ends: after its last character that is neither white space nor part of a comment.
        style: The quote or the ``|`` or ``>`` of a scalar, ``{`` or ``[`` of a map or list in braces; empty otherwise.
        value: The content of a scalar.
        is_anchored: Whether it has an anchor, or is an alias.
        is_tagged: Whether it has a tag.
        merges: Whether it is a map that merges another one.
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
    merges: bool = False
    entries: list[Entry] | None = None
    items: list[Node] | None = None
    alias: Node | None = None
    _reached: dict[str, tuple[int, Node]] | None = None

    @property
    def in_flow(self) -> bool:
        """Whether it is a map or list in braces or brackets."""
        return self.style in {"{", "["}

    @property
    def shared(self) -> bool:
        """Whether its text depends on other parts of the document, or they on it."""
        return self.is_anchored or self.merges

    @property
    def is_whole(self) -> bool:
        """Whether its text is self-contained: it is not an alias, and has neither anchor nor tag."""
        return not self.is_anchored and not self.is_tagged

    @property
    def inner(self) -> list[Node]:
        """The values of a map or the items of a list."""
        return self.items or [entry.value for entry in self.entries or ()]

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


@dataclass(slots=True)
class Entry:
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
    def key_end(self) -> int:
        """Where the key ends, before the colon."""
        return self.key.end

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
    if node.style in _BLOCK_STYLES:
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


def read_nodes(text: str, *, is_json: bool, offset: int = 0) -> tuple[Node, list[tuple[int, int]]]:
    """Locate everything in a readable text.

    Args:
        is_json: Whether it is read as JSON.
        offset: The start of the document, from which places are counted.

    Returns:
        The document's value, and the spans of YAML scalars, where ``#`` begins no comment.
    """
    if is_json:
        return _JSONReader(text, offset).root(), []
    reader = _YAMLReader(text, offset)
    return reader.root(), reader.texts


class _YAMLReader:
    def __init__(self, text: str, offset: int) -> None:
        self.texts: list[tuple[int, int]] = []
        self._text, self._offset = text, offset
        self._next: Callable[[], Any] = parser_of(text).get_event
        self._anchors: dict[str | None, tuple[Any, Node]] = {}

    def root(self) -> Node:
        self._next()
        self._next()
        return self._node(self._next())

    def _node(self, event: Any) -> Node:
        start, end = event.start_mark.index + self._offset, event.end_mark.index + self._offset
        if type(event) is AliasEvent:
            return Node(start, end, is_anchored=True, alias=self._anchors[event.anchor][1])
        node = Node(start, end, is_anchored=event.anchor is not None, is_tagged=event.tag is not None)
        if node.is_anchored:
            self._anchors[event.anchor] = event, node
        if type(event) is ScalarEvent:
            self._scalar(node, event)
            return node
        is_map = type(event) is MappingStartEvent
        if event.flow_style:
            node.style = "{" if is_map else "["
        closing = self._map(node) if is_map else self._list(node)
        if node.style:
            node.end = closing.end_mark.index + self._offset
        elif node.inner:
            node.end = max(node.inner[-1].end, node.entries[-1].end if node.entries else 0)
        return node

    def _scalar(self, node: Node, event: Any) -> None:
        node.style, node.value = event.style or "", event.value
        if node.style not in _BLOCK_STYLES:
            self.texts.append((node.start, node.end))
            return
        start = node.start - self._offset
        node.end = node.start + len(self._text[start : node.end - self._offset].rstrip())
        header = self._text.find("\n", start, node.end - self._offset)
        self.texts.append((header + self._offset if header >= 0 else node.end, node.end))

    def _map(self, node: Node) -> Any:
        node.entries = []
        while type(event := self._next()) is not MappingEndEvent:
            key = self._node(event)
            name = key_of(self._anchors[event.anchor][0] if key.alias else event)
            node.merges = node.merges or not name
            node.entries.append(Entry(name or "", key, self._node(self._next()), name is None))
        return event

    def _list(self, node: Node) -> Any:
        node.items = []
        while type(event := self._next()) is not SequenceEndEvent:
            node.items.append(self._node(event))
        return event


class _JSONReader:
    def __init__(self, text: str, offset: int) -> None:
        self._offset, self._tokens = offset, TOKEN.finditer(paired(text))

    def root(self) -> Node:
        return self._node(next(self._tokens))

    def _node(self, token: re.Match[str]) -> Node:
        text = token[0]
        node = Node(token.start() + self._offset, 0, text if text in {"{", "["} else "", text)
        if text == "{":
            node.entries = []
            while (token := next(self._tokens))[0] != "}":
                if token[0] != ",":
                    key = self._node(token)
                    next(self._tokens)  # the colon
                    node.entries.append(Entry(key.value, key, self._node(next(self._tokens))))
        elif text == "[":
            node.items = []
            while (token := next(self._tokens))[0] != "]":
                if token[0] != ",":
                    node.items.append(self._node(token))
        elif text[0] == '"':
            node.style, node.value = '"', json.loads(text)
        node.end = token.end() + self._offset
        return node
