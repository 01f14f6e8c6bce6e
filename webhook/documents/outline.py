"""The position of each field in a document, computed on demand.

For texts that were read without a :class:`~webhook.documents.source.ContentError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, SequenceEndEvent, SequenceStartEvent

from webhook.documents.compose import key_of, parser_of
from webhook.documents.jsontext import TOKEN, paired
from webhook.documents.scalars import MERGE_KEY
from webhook.problem import Path


@dataclass(slots=True)
class Spot:
    """The start of a value, and its parts.

    Args:
        offset: In characters from the start of the text.
        inner: The keys of a map, each with its start and the value's spot; or the items of a list.
    """

    offset: int
    inner: Inner | list[Spot] | None = None


Inner = dict[str, tuple[int, Spot]]


@dataclass(frozen=True, slots=True)
class Repeated:
    """A repeated key of a map.

    Args:
        first: Offset of the first occurrence.
        again: Offset of this occurrence.
    """

    path: Path
    first: int
    again: int


@dataclass(slots=True)
class Outline:
    """The positions of everything in a document.

    Args:
        repeated: The repeated keys of maps, in the order of the text.
    """

    root: Spot
    repeated: list[Repeated]

    def locate(self, path: Sequence[str | int]) -> int:
        """Return the offset of a field's key or of a list's item, or of its nearest existing parent."""
        spot, offset = self.root, self.root.offset
        for step in path:
            inner = spot.inner
            if isinstance(inner, dict) and isinstance(step, str) and step in inner:
                offset, spot = inner[step]
            elif isinstance(inner, list) and isinstance(step, int) and 0 <= step < len(inner):
                spot = inner[step]
                offset = spot.offset
            else:
                break
        return offset


def yaml_outline(text: str) -> Outline:
    """Locate everything in a text's first YAML document."""
    return _YAMLOutliner(text).outline()


def json_outline(text: str) -> Outline:
    """Locate everything in the JSON value at the start of a text."""
    return _JSONOutliner(text).outline()


class _Outliner:
    def __init__(self) -> None:
        self._repeated: list[Repeated] = []

    def _put(self, into: Inner, own: set[str], path: Path, key: str, found: tuple[int, Spot]) -> None:
        """Enter a map's value; ``own`` holds the keys that are not merged."""
        if key in own:
            self._repeated.append(Repeated(path / key, into[key][0], found[0]))
        own.add(key)
        into[key] = found

    def _outline_of(self, root: Spot) -> Outline:
        """Return the outline of a value; a key is entered after those in its value, which come later in the text."""
        return Outline(root, sorted(self._repeated, key=attrgetter("again")))


class _YAMLOutliner(_Outliner):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._next = parser_of(text).get_event
        self._anchors: dict[str | None, tuple[Any, Spot]] = {}

    def outline(self) -> Outline:
        self._next()
        self._next()
        return self._outline_of(self._spot(self._next(), Path()))

    def _spot(self, event: Any, path: Path) -> Spot:
        kind, offset = type(event), event.start_mark.index
        if kind is AliasEvent:
            return Spot(offset, self._anchors[event.anchor][1].inner)
        spot = Spot(offset)
        if event.anchor is not None:
            self._anchors[event.anchor] = event, spot
        if kind is MappingStartEvent:
            spot.inner = self._map(path)
        elif kind is SequenceStartEvent:
            spot.inner = self._list(path)
        return spot

    def _map(self, path: Path) -> Inner:
        into: Inner = {}
        own: set[str] = set()
        while type(event := self._next()) is not MappingEndEvent:
            spot = self._spot(event, path)
            key = self._key(event)
            value = self._spot(self._next(), path / (MERGE_KEY if key is None else key))
            if key is None:
                self._merge(into, value)
            else:
                self._put(into, own, path, key, (spot.offset, value))
        return into

    def _key(self, event: Any) -> str | None:
        if type(event) is AliasEvent:
            return key_of(self._anchors[event.anchor][0]) or MERGE_KEY
        return key_of(event)

    @staticmethod
    def _merge(into: Inner, value: Spot) -> None:
        for entries in reversed(value.inner) if isinstance(value.inner, list) else [value]:
            into.update(entries.inner if isinstance(entries.inner, dict) else {})

    def _list(self, path: Path) -> list[Spot]:
        into: list[Spot] = []
        while type(event := self._next()) is not SequenceEndEvent:
            into.append(self._spot(event, path / len(into)))
        return into


class _JSONOutliner(_Outliner):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._tokens = TOKEN.finditer(paired(text))

    def outline(self) -> Outline:
        return self._outline_of(self._spot(next(self._tokens), Path()))

    def _spot(self, token: re.Match[str], path: Path) -> Spot:
        spot = Spot(token.start())
        if token[0] == "{":
            spot.inner = self._map(path)
        elif token[0] == "[":
            spot.inner = self._list(path)
        return spot

    def _map(self, path: Path) -> Inner:
        into: Inner = {}
        own: set[str] = set()
        while (token := next(self._tokens))[0] != "}":
            if token[0] != ",":
                next(self._tokens)  # the colon
                key = json.loads(token[0])
                spot = self._spot(next(self._tokens), path / key)
                self._put(into, own, path, key, (token.start(), spot))
        return into

    def _list(self, path: Path) -> list[Spot]:
        into: list[Spot] = []
        while (token := next(self._tokens))[0] != "]":
            if token[0] != ",":
                into.append(self._spot(token, path / len(into)))
        return into
