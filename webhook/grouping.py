"""Groups values, and finds those that are repeated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")


def by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the values of each key, both in the order in which they come."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def repeated(items: Iterable[T], key: Callable[[T], Any] = lambda item: item) -> Iterator[tuple[int, T]]:
    """Yield the items whose key an earlier one has, each after its index."""
    seen = set()
    for index, item in enumerate(items):
        if (own := key(item)) in seen:
            yield index, item
        seen.add(own)
