"""The JSON Patch between two JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webhook.objects import JSONObject


def difference(before: Any, after: Any) -> list[JSONObject]:
    """Return the JSON Patch (RFC 6902) from one value to another.

    List items are compared by their index, so inserting an item rewrites all items behind it.
    """
    return list(_changes(before, after, ""))


def _changes(before: Any, after: Any, path: str) -> Iterator[JSONObject]:
    if before is after:  # values that no policy changes are shared
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (each for each in before if each not in after):
            yield {"op": "remove", "path": _step(path, key)}
        for key, value in after.items():
            if key in before:
                yield from _changes(before[key], value, _step(path, key))
            else:
                yield {"op": "add", "path": _step(path, key), "value": value}
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items(before, after, path)
    elif type(before) is not type(after) or before != after:  # to Python, true is 1, and 1 is 1.0
        yield {"op": "replace", "path": path, "value": after}


def _items(before: list[Any], after: list[Any], path: str) -> Iterator[JSONObject]:
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        yield from _changes(old, new, f"{path}/{index}")
    for index in range(len(before) - 1, len(after) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for index in range(len(before), len(after)):
        yield {"op": "add", "path": f"{path}/{index}", "value": after[index]}


def _step(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
