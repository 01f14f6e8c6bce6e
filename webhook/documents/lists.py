"""Lists of objects, such as kubectl prints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any, Final

Item = tuple[Any, tuple[str | int, ...]]
_START: Final = 64
"""How many bytes are looked at for the beginning of a list."""


def expanded(data: Any, within: tuple[str | int, ...] = ()) -> Iterable[Item]:
    """Split lists into items; an item without a type has the list's (``decodeToList`` in unstructured_list.go).

    Args:
        data: Any JSON value; one that is not a list of objects is its only item.
        within: The path of the value.

    Returns:
        Each item, and its path.
    """
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items", ""), list | None):
        return _items(data, kind, within)
    return ((data, within),)


def _items(data: dict[str, Any], kind: str, within: tuple[str | int, ...]) -> Iterator[Item]:
    typed = {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(data["items"] or ()):
        untyped = typed["kind"] and isinstance(item, dict) and not item.get("kind") and not item.get("apiVersion")
        yield from expanded({**item, **typed} if untyped else item, (*within, "items", index))


def stored(data: bytes, kinds: Collection[str]) -> Iterator[Item] | None:
    """Split a list in JSON, as kubectl prints what a cluster stores, in a fraction of the time that manifests take.

    The items are decoded one by one, so that a reader need not keep the whole of each. Keys that are given twice, which
    no cluster prints, are not found.

    Args:
        data: The text.
        kinds: The kinds that are needed; others are left out, but for the first item if there is nothing else.

    Returns:
        Each item, and its path; None if the text is anything but one such list.
    """
    if data[:_START].lstrip()[:1] != b"{":
        return None
    import msgspec  # most texts are manifests

    decode, split, head = _decoders()
    try:
        found = split(data)
        heads = list(map(head, found.items))
    except (msgspec.DecodeError, RecursionError):
        return None
    if found.kind != "List" or not all(each.kind and each.apiVersion for each in heads):
        return None
    wanted = [index for index, each in enumerate(heads) if each.kind in kinds] or range(len(heads))[:1]
    return ((decode(found.items[index]), ("items", index)) for index in wanted)


@cache
def _decoders() -> tuple[Any, Any, Any]:
    """Return what decodes an item, what splits a list into items, and what reads the type of an item."""
    import msgspec  # as above

    item = msgspec.json.Decoder().decode
    whole = msgspec.defstruct("Whole", [("kind", str, ""), ("items", list[msgspec.Raw], [])])
    head = msgspec.defstruct("Head", [("kind", str, ""), ("apiVersion", str, "")])

    def decoded(data: bytes) -> Any:
        try:
            return item(data)
        except (msgspec.DecodeError, RecursionError):
            return bytes(data).decode("utf-8", "replace")  # no object, so that a reader reports it

    return decoded, msgspec.json.Decoder(whole).decode, msgspec.json.Decoder(head).decode
