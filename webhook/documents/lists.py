"""Lists of objects, such as kubectl prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Item = tuple[Any, tuple[str | int, ...]]


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
