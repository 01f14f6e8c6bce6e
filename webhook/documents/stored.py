"""Reads the objects that a cluster stores, one by one: lists of ``kubectl get -o json`` and ``draguard snapshot``."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from io import SEEK_END
from typing import Any, BinaryIO, Final, Literal, NamedTuple

import msgspec

from webhook.documents.document import Document, Origin, Piece
from webhook.documents.jsontext import is_deep
from webhook.documents.source import MAX_BYTES, MAX_DEPTH, Source, too_deep
from webhook.documents.stream import parse
from webhook.objects import free_of_nulls

EACH: Final = ""
"""Stands for every value of a map, in a shape."""
LEFT_OUT: Final[Mapping[str, Any]] = {"": {}}
"""Stands for a value that is left out, in a shape."""
SHARED: Final[Mapping[str, Any]] = {"": {}}
"""Stands for a value that others often equal, in a shape."""
SHORT: Final[Mapping[str, Any]] = {"": {}}
"""Stands for such a value that is left out if it is long, as a tenant's may be."""
Shape = Mapping[str, Any]
"""The treatment of the fields of an object, by their names; the items of a list are treated as the list."""

_LONG: Final = 1 << 14
"""The bytes from which on a value is long."""
_MANY: Final = 1 << 21
"""The bytes of the values that others are compared with."""
_SPACES: Final = 64
MAX_STORED: Final = 1 << 30
"""The bytes of a file with objects."""
_PART: Final = 1 << 20
"""The bytes that are read at a time."""
_START: Final = re.compile(rb'(\s*\{(?:\s*"(?:apiVersion|kind)"\s*:\s*"\w*"\s*,)*\s*"items"\s*:\s*\[)(\s*\n\s*)\{')
"""The start of a list whose items begin on lines of their own, and what stands before each of them."""
_YAML: Final = re.compile(rb"(?:(?:apiVersion|kind): \w+\n)*items:\n- ")
_LARGE: Final = 1 << 23
"""The bytes from which on a list in YAML is read in pieces, without places in it."""
_LONGEST: Final = 1 << 23
"""The most bytes of an object in it."""
_END: Final = re.compile(rb"\n(?=[^ \n#-])")
_KIND: Final = re.compile(rb"^kind: (\w+)$", re.MULTILINE)


class _List(msgspec.Struct):
    kind: Literal["List"]
    items: list[msgspec.Raw]


class _Typed(msgspec.Struct):
    kind: str = ""


_LIST: Final = msgspec.json.Decoder(_List)
_TYPED: Final = msgspec.json.Decoder(_Typed)
_ANY: Final = msgspec.json.Decoder()


class Reader:
    """Reads objects without null values, and without fields that are not needed; equal values are one.

    Args:
        shapes: The shapes of some kinds.
        others: The shape of all others.
    """

    def __init__(self, shapes: Mapping[str, Shape], others: Shape) -> None:
        self._shapes, self._others = shapes, others
        self._known: dict[bytes | str, Any] = {}
        self._before: dict[bytes | str, Any] = {}
        """The values that were known before there were too many."""
        self._size = 0
        """The bytes of those that are known."""
        self._nulls = 0
        """How many null values an object has; no more than that."""

    def read(self, content: bytes, kind: str) -> Any:
        """Decode an object from JSON. Callers must not modify it, as objects share equal values.

        Raises:
            msgspec.MsgspecError: It is not JSON.
        """
        value = _ANY.decode(content)
        self._nulls = content.count(b"null")
        self._reduce(value, self._shapes.get(kind, self._others))
        return free_of_nulls(value) if self._nulls else value

    def _reduce(self, value: Any, shape: Shape) -> None:
        if isinstance(value, list):
            for each in value:
                self._reduce(each, shape)
        elif isinstance(value, dict):
            for name in list(value) if EACH in shape else shape:
                if name in value:
                    within = shape.get(name) or shape[EACH]
                    if within is LEFT_OUT:
                        self._nulls -= value.pop(name) is None
                    elif within is SHARED or within is SHORT:
                        content = value[name]
                        key = content if isinstance(content, str) else msgspec.json.encode(content)
                        if within is SHORT and len(key) > _LONG:
                            del value[name]
                        else:
                            value[name] = self._shared(key, content)
                    else:
                        self._reduce(value[name], within)

    def _shared(self, key: bytes | str, value: Any) -> Any:
        if (found := self._known.get(key)) is None:
            found = self._known[key] = self._before.get(key, value)
            self._size += len(key)
            if self._size > _MANY:
                self._before, self._known, self._size = self._known, {}, 0
        return found


class ObjectFilter(NamedTuple):
    """A filter for the objects that a cluster stores.

    Args:
        kinds: The kinds; objects of others are not decoded.
        reader: Reads them; None to have them as they are.
    """

    kinds: Container[str]
    reader: Reader | None = None

    def as_read(self, documents: Iterable[Piece]) -> Iterator[Piece]:
        """Yield documents that a careful reader has read, as the reader reads their objects."""
        for each in documents:
            if self.reader and isinstance(each, Document) and isinstance(each.data, dict):
                with suppress(ValueError):  # a text that no JSON can hold
                    each.data = self.reader.read(msgspec.json.encode(each.data), str(each.data.get("kind")))
            yield each


def stored(file: BinaryIO, name: str, wanted: ObjectFilter) -> Iterator[Piece] | None:
    """Read a list of objects: together they may take more memory than a document may.

    Args:
        file: The file, which is read twice.
        name: Its name in messages.
        wanted: The filter.

    Returns:
        The documents; None if it is not such a list, or one that a careful reader has to look at.
    """
    begin, size = file.read(_SPACES), file.seek(0, SEEK_END)
    if size > MAX_STORED:
        return None
    try:
        if size > _LARGE and (yaml := _YAML.match(begin)):
            items = partial(_blocks, file, yaml.end())
            kinds = [found[1].decode() if (found := _KIND.search(each)) else "" for each in items()]
            return _of_yaml(zip(items(), kinds, strict=False), name, wanted)
        if not begin.lstrip().startswith(b"{"):
            return None
        file.seek(0)
        first = file.read(_PART)
        if on_lines := _START.match(first):
            items = partial(_pieces, file, *on_lines.group(0, 1, 2))
        else:
            items = partial(iter, [*map(bytes, _LIST.decode(first + file.read(MAX_BYTES)).items)])
        kinds = [_TYPED.decode(each).kind for each in items()]
    except (msgspec.MsgspecError, RecursionError):
        return None
    return _documents(zip(items(), kinds, strict=False), name, wanted)


def _pieces(file: BinaryIO, begin: bytes, head: bytes, before: bytes) -> Iterator[bytes]:
    """Yield the items of a list in JSON that begin on lines of their own, one after the other.

    Args:
        begin: The text up to the first item, with its brace.
        head: The same without what stands before items.
        before: The text before each of them.
    """
    file.seek(len(begin))
    for each, is_last in _parted(file, b"}," + before + b"{"):
        yield from map(bytes, _LIST.decode(b"%b{%b" % (head, each)).items) if is_last else (b"{%b}" % each,)


def _blocks(file: BinaryIO, start: int) -> Iterator[bytes]:
    """Yield the items of a list in YAML, as kubectl prints it, one after the other."""
    file.seek(0)
    head = file.read(start)
    for each, is_last in _parted(file, b"\n- "):
        item = _END.split(each, maxsplit=1)[0] if is_last else each
        block = item.replace(b"\n  ", b"\n") + b"\n"
        is_no_list = is_last and b"\nkind: List\n" not in b"\n%b%b" % (head, each[len(item) :])
        if is_no_list or b"\n---" in block:
            raise msgspec.ValidationError("no List, or one that another document follows")
        yield block


def _parted(file: BinaryIO, separator: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield what is between separators in the rest of a file, and whether it is the last part.

    Raises:
        ValidationError: A part is longer than an object that an API server stores: a careful reader has to look at it.
    """
    ahead = b""
    while part := file.read(_PART):
        *whole, ahead = (ahead + part).split(separator)
        for each in whole:
            yield each, False
        if len(ahead) > _LONGEST:
            raise msgspec.ValidationError("an object is too long")
    yield ahead, True


def _of_yaml(blocks: Iterable[tuple[bytes, str]], name: str, wanted: ObjectFilter) -> Iterator[Piece]:
    origin = Origin(Source(name, ""), 0, 0, is_json=True)
    for index, (content, kind) in enumerate(blocks):
        for each in wanted.as_read(parse(content, name)) if kind in wanted.kinds else ():
            if isinstance(each, Document):
                yield Document(each.data, index, origin, ())
            else:
                yield each._replace(line=0, column=0)


def _documents(pieces: Iterable[tuple[bytes, str]], name: str, wanted: ObjectFilter) -> Iterator[Piece]:
    for index, (content, kind) in enumerate(pieces):
        if kind not in wanted.kinds:
            continue
        try:
            value: Any = wanted.reader.read(content, kind) if wanted.reader else _ANY.decode(content)
            text = content.decode()
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):  # a careful reader says what is wrong
            yield from wanted.as_read(parse(content, name))
            continue
        if content.count(b"{") + content.count(b"[") > MAX_DEPTH and is_deep(value):
            yield Source(name, text).unreadable(0, too_deep(0).message, "")
        else:
            yield Document(value, index, Origin(Source(name, text), 0, len(text), is_json=True), ())
