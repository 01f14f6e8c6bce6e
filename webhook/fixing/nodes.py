"""Where the parts of a document begin and end, and how they are written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from webhook.documents.events import parser_of
from webhook.documents.jsontext import TOKEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from re import Match

    from webhook.documents import Document


@dataclass(slots=True)
class Node:
    """A value as it is written.

    Args:
        start: Offset of its first character in the file.
        end: Offset behind its last one.
        style: The quote or the ``|`` or ``>`` of a scalar, ``{`` or ``[`` of a map or list in braces; empty otherwise.
        value: What a scalar says.
        is_whole: Whether all of it stands here: no alias, anchor, tag or merge key.
        entries: What a map has, in the order of the text.
        items: What a list has.
    """

    start: int
    end: int
    style: str = ""
    value: str = ""
    is_whole: bool = True
    entries: list[Entry] | None = None
    items: list[Node] | None = None

    def entry(self, name: object) -> Entry | None:
        """Return what a map has under a name; None if it has not."""
        return next((each for each in self.entries or () if each.name == name), None)


@dataclass(slots=True)
class Entry:
    """A key of a map, and its value."""

    name: str
    key: Node
    value: Node


@dataclass(slots=True)
class Found:
    """A value, and what it is in.

    Args:
        node: The value.
        around: The map or list that it is in; None for the whole document.
        entry: Its entry, if that is a map.
        place: Its place, if that is a list.
    """

    node: Node
    around: Node | None = None
    entry: Entry | None = None
    place: int = 0


def tree_of(document: Document) -> Node:
    """Return the tree of a document."""
    start, end = document.extent
    text = document.whole_text[start:end]
    return (_JSONTree if document.is_json else _YAMLTree)(text, start).root()


def find(root: Node, path: Sequence[str | int]) -> Found | None:
    """Return what is at a path; None if it is not there, or does not stand there itself."""
    found = Found(root)
    for step in path:
        node = found.node
        if not node.is_whole:
            return None
        if isinstance(step, int) and node.items is not None and step < len(node.items):
            found = Found(node.items[step], node, place=step)
        elif (entry := node.entry(step)) is not None:
            found = Found(entry.value, node, entry)
        else:
            return None
    return found


class _YAMLTree:
    def __init__(self, text: str, offset: int) -> None:
        self._text, self._offset = text, offset
        self._next = parser_of(text).get_event

    def root(self) -> Node:
        self._next()
        self._next()
        return self._node(self._next())

    def _node(self, event: Any) -> Node:
        offset = self._offset
        start, end = event.start_mark.index, event.end_mark.index
        if type(event) is AliasEvent:
            return Node(start + offset, end + offset, is_whole=False)
        is_whole = event.anchor is None and event.tag is None
        if type(event) is ScalarEvent:
            end = start + len(self._text[start:end].rstrip())
            return Node(start + offset, end + offset, event.style or "", event.value, is_whole)
        is_map = type(event) is MappingStartEvent
        node = Node(start + offset, end + offset, ("{" if is_map else "[") if event.flow_style else "", "", is_whole)
        last = self._map(node) if is_map else self._list(node)
        node.end = last.end_mark.index + offset if event.flow_style else self._last(node)
        return node

    @staticmethod
    def _last(node: Node) -> int:
        """Return where a map or list without braces ends."""
        if node.entries:
            return max(node.entries[-1].key.end, node.entries[-1].value.end)
        return node.items[-1].end if node.items else node.start

    def _map(self, node: Node) -> Any:
        node.entries = []
        while type(event := self._next()) is not MappingEndEvent:
            key = self._node(event)
            value = self._node(self._next())
            name = key.value
            if not key.is_whole or (name == "<<" and not key.style):
                name, value.is_whole = "", False
            node.entries.append(Entry(name, key, value))
        return event

    def _list(self, node: Node) -> Any:
        node.items = []
        while type(event := self._next()) is not SequenceEndEvent:
            node.items.append(self._node(event))
        return event


class _JSONTree:
    def __init__(self, text: str, offset: int) -> None:
        self._offset = offset
        self._tokens: Iterator[Match[str]] = TOKEN.finditer(text)

    def root(self) -> Node:
        return self._node(next(self._tokens))

    def _node(self, token: Match[str]) -> Node:
        text = token[0]
        node = Node(token.start() + self._offset, token.end() + self._offset)
        if text == "{":
            node.style, node.entries = "{", []
            while (token := next(self._tokens))[0] != "}":
                if token[0] != ",":
                    key = self._node(token)
                    next(self._tokens)  # the colon
                    node.entries.append(Entry(key.value, key, self._node(next(self._tokens))))
            node.end = token.end() + self._offset
        elif text == "[":
            node.style, node.items = "[", []
            while (token := next(self._tokens))[0] != "]":
                if token[0] != ",":
                    node.items.append(self._node(token))
            node.end = token.end() + self._offset
        elif text[0] == '"':
            node.style, node.value = '"', json.loads(text)
        else:
            node.value = text
        return node
