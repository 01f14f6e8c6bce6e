"""Where the keys and values of a document begin and end in its text."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from webhook.documents.compose import key_of
from webhook.documents.events import parser_of
from webhook.documents.jsontext import TOKEN, paired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COMMENT: Final = re.compile(r"(?:(?<=\s)|(?<![\s\S]))#[^\r\n]*")
_INDENTATION: Final = re.compile(r"[ \t]*")
_BLOCK_STYLES: Final = frozenset("|>")


@dataclass(slots=True)
class Node:
    """A value.

    Args:
        start: Where its text begins.
        end: Where its text ends: behind its last character that is neither white space nor part of a comment.
        in_flow: Whether it is a map or list in braces or brackets.
        shared: Whether it has an anchor, is an alias, or merges another map.
        entries: The entries of a map in the order of the text; None if it is no map.
        items: The items of a list; None if it is no list.
    """

    start: int
    end: int
    in_flow: bool = False
    shared: bool = False
    entries: list[Entry] | None = None
    items: list[Node] | None = None

    @property
    def inner(self) -> list[Node]:
        """The values of a map or the items of a list."""
        return self.items or [entry.value for entry in self.entries or ()]


@dataclass(slots=True)
class Entry:
    """A key of a map, with its value.

    Args:
        name: The key; empty for the merge key.
        start: Where the key begins.
        key_end: Where it ends, before the colon.
        value: Its value.
    """

    name: str
    start: int
    key_end: int
    value: Node

    @property
    def end(self) -> int:
        """Where key and value end."""
        return max(self.value.end, self.key_end + 1)


@dataclass
class Tree:
    """A document.

    Args:
        text: Its text.
        root: Its value.
        is_json: Whether it was read as JSON.
    """

    text: str
    root: Node
    is_json: bool
    texts: list[tuple[int, int]] = field(default_factory=list)
    """Where scalars are, in which ``#`` begins no comment."""

    @cached_property
    def newline(self) -> str:
        """The line break."""
        return "\r\n" if "\r\n" in self.text else "\n"

    @cached_property
    def step(self) -> str:
        """By what the first map within a map is indented."""
        pending = deque([self.root])
        while pending:
            node = pending.popleft()
            for entry in node.entries or ():
                inner = entry.value.entries
                if inner and self.is_first(inner[0].start):
                    deeper, here = self.indentation(inner[0].start), self.indentation(entry.start)
                    column = len(here) if node.in_flow else self.column(entry.start)
                    if deeper[column:]:
                        return deeper[column:]
            pending += node.inner
        return "  "

    def indentation(self, offset: int) -> str:
        """Return the white space that the line of an offset begins with."""
        start = offset - self.column(offset)
        found = _INDENTATION.match(self.text, start)
        return found[0] if found else ""

    def line_end(self, offset: int) -> int:
        """Return where the line after that of an offset begins."""
        return self.text.find("\n", offset) + 1 or len(self.text)

    def column(self, offset: int) -> int:
        """Return how many characters stand before an offset on its line."""
        return offset - self.text.rfind("\n", 0, offset) - 1

    def is_first(self, offset: int) -> bool:
        """Tell whether nothing but white space stands before an offset on its line."""
        return not self.text[offset - self.column(offset) : offset].strip()

    def comments(self, start: int, end: int) -> Iterator[str]:
        """Return the comments in a part of the text."""
        if self.is_json:
            return
        at = start
        for index in range(max(bisect_right(self.texts, (start,)) - 1, 0), len(self.texts)):
            begin, stop = self.texts[index]
            if begin >= end:
                break
            yield from self._between(at, begin)
            at = max(at, stop)
        yield from self._between(at, end)

    def _between(self, start: int, end: int) -> Iterator[str]:
        if start < end:
            yield from (found[0] for found in _COMMENT.finditer(self.text, start, end))


def tree_of(text: str, *, is_json: bool) -> Tree:
    """Find where everything in a text is that can be read.

    Args:
        text: One document.
        is_json: Whether it is read as JSON.
    """
    if is_json:
        return Tree(text, _JSONReader(text).root(), is_json=True)
    reader = _YAMLReader(text)
    return Tree(text, reader.root(), is_json=False, texts=reader.texts)


class _YAMLReader:
    def __init__(self, text: str) -> None:
        self.texts: list[tuple[int, int]] = []
        self._text = text
        self._next: Callable[[], Any] = parser_of(text).get_event
        self._scalars: dict[str | None, Any] = {}

    def root(self) -> Node:
        self._next()
        self._next()
        return self._node(self._next())

    def _node(self, event: Any) -> Node:
        start, end = event.start_mark.index, event.end_mark.index
        if type(event) is AliasEvent:
            return Node(start, end, shared=True)
        if type(event) is ScalarEvent:
            self._scalars[event.anchor] = event
            return self._scalar(event, start, end)
        node = Node(start, end, bool(event.flow_style), event.anchor is not None)
        if type(event) is MappingStartEvent:
            closing = self._map(node)
        elif type(event) is SequenceStartEvent:
            closing = self._list(node)
        if node.in_flow:
            node.end = closing.end_mark.index
        elif node.inner:
            node.end = max(node.inner[-1].end, node.entries[-1].end if node.entries else 0)
        return node

    def _scalar(self, event: Any, start: int, end: int) -> Node:
        if event.style in _BLOCK_STYLES:
            end = start + len(self._text[start:end].rstrip())
            header = self._text.find("\n", start, end)
            self.texts.append((header if header >= 0 else end, end))
        else:
            self.texts.append((start, end))
        return Node(start, end, shared=event.anchor is not None)

    def _map(self, node: Node) -> Any:
        node.entries = []
        while type(event := self._next()) is not MappingEndEvent:
            key = self._node(event)
            scalar = self._scalars.get(event.anchor) if type(event) is AliasEvent else event
            name = key_of(scalar) if type(scalar) is ScalarEvent else ""
            node.shared = node.shared or not name
            node.entries.append(Entry(name or "", key.start, key.end, self._node(self._next())))
        return event

    def _list(self, node: Node) -> Any:
        node.items = []
        while type(event := self._next()) is not SequenceEndEvent:
            node.items.append(self._node(event))
        return event


class _JSONReader:
    def __init__(self, text: str) -> None:
        self._tokens = TOKEN.finditer(paired(text))

    def root(self) -> Node:
        return self._node(next(self._tokens))

    def _node(self, token: re.Match[str]) -> Node:
        node = Node(token.start(), token.end(), token[0] in {"{", "["})
        if token[0] == "{":
            node.entries = []
            while (token := next(self._tokens))[0] != "}":
                if token[0] != ",":
                    next(self._tokens)  # the colon
                    value = self._node(next(self._tokens))
                    node.entries.append(Entry(json.loads(token[0]), token.start(), token.end(), value))
        elif token[0] == "[":
            node.items = []
            while (token := next(self._tokens))[0] != "]":
                if token[0] != ",":
                    node.items.append(self._node(token))
        node.end = token.end()
        return node
