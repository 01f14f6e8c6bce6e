"""A cache bounded by bytes; the oldest entries are evicted first."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Hashable
from typing import TypeVar

Value = TypeVar("Value")


class Cache(dict["Hashable", "Value"]):
    """Keeps values by key, up to a number of bytes; several threads may read it and :meth:`put` values.

    Args:
        most: The bytes that all entries may take. An entry that would take an eighth of that is not kept.
    """

    __slots__ = ("_lock", "_sizes", "most", "size")

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.size = most, 0
        self._sizes: dict[Hashable, int] = {}
        self._lock = allocate_lock()

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Keep a value.

        Args:
            size: The bytes that both take.
        """
        if size > self.most // 8:
            return
        with self._lock:
            self.size += size - self._sizes.pop(key, 0)
            self[key] = value
            self._sizes[key] = size
            while self.size > self.most:
                oldest = next(iter(self._sizes))
                self.size -= self._sizes.pop(oldest)
                self.pop(oldest, None)
