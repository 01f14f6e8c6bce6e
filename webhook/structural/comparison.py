"""Compares values with what they were before, and items of lists with each other."""

from __future__ import annotations

import json
from typing import Any, Final

from webhook.budget import work
from webhook.structural.schema import Structural

ABSENT: Final = object()
"""The earlier value where there is none; None is null."""


def equal(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal; true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        work(1 + len(one))
        return len(one) == len(other) and all(name in other and equal(each, other[name]) for name, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        work(1 + len(one))
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def key_of(value: Any) -> str:
    """Return a text that equal JSON values have in common."""
    return json.dumps(value, sort_keys=True, default=str)


class Correlated:
    """The earlier items of a list, by their keys, if it has any (apiserver ``pkg/cel/common/maplist.go``)."""

    def __init__(self, schema: Structural, old: Any) -> None:
        self._keys = schema.list_map_keys
        self._items: dict[str, Any] = {}
        if self._keys and isinstance(old, list):
            self._items = {self._key_of(each): each for each in reversed(old)}

    def of(self, item: Any) -> Any:
        """Return an item as it was; ``ABSENT`` if it is new."""
        return self._items.get(self._key_of(item), ABSENT) if self._items else ABSENT

    def _key_of(self, item: Any) -> str:
        return key_of([item.get(name) for name in self._keys] if isinstance(item, dict) else item)
