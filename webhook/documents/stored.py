"""Reads the objects that a cluster stores, as ``kubectl get -o json`` prints them, one by one."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, Final

import msgspec

from webhook.documents.document import Document, Origin
from webhook.documents.jsontext import is_deep
from webhook.documents.limits import MAX_DEPTH, too_deep
from webhook.documents.source import Source, Unreadable


class _List(msgspec.Struct):
    kind: str
    items: list[msgspec.Raw]


class _Typed(msgspec.Struct):
    kind: str = ""


_LIST: Final = msgspec.json.Decoder(_List)
_TYPED: Final = msgspec.json.Decoder(_Typed)
_ANY: Final = msgspec.json.Decoder()


def stored(data: bytes, name: str, kinds: Container[str]) -> Iterator[Document | Unreadable] | None:
    """Read a list of objects: together they may take more memory than a document may.

    Args:
        data: The file.
        name: What to call it.
        kinds: The kinds that are needed; objects of others are not decoded.

    Returns:
        The documents; None if it is not such a list, or one that a careful reader has to look at.
    """
    try:
        found = _LIST.decode(data)
        wanted = [(index, each) for index, each in enumerate(found.items) if _TYPED.decode(each).kind in kinds]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return _documents(wanted, name) if found.kind == "List" else None


def _documents(items: list[tuple[int, msgspec.Raw]], name: str) -> Iterator[Document | Unreadable]:
    for index, item in items:
        value: Any = _ANY.decode(item)
        source = Source(name, bytes(item).decode())
        brackets = source.text.count("{") + source.text.count("[")
        if brackets > MAX_DEPTH and is_deep(value, MAX_DEPTH):
            yield source.unreadable(0, too_deep(0).message, "")
        else:
            yield Document(value, index, Origin(source, 0, len(source.text), is_json=True), ())
