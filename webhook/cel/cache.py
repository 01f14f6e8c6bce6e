"""What is kept of things that strangers send: bounded by bytes, the longest unused goes first."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Keeps values by key, up to a number of bytes; may be used by several threads.

    Args:
        most: How many bytes all entries may take. One that would take an eighth of that is not kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """How many values are kept."""
        return len(self._entries)

    def get(self, key: Hashable) -> Value | None:
        """The value of a key; None if there is none."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Keeps a value.

        Args:
            key: Its key.
            value: The value.
            size: How many bytes both take.
        """
        if size > self.most // 8:
            return
        with self._lock:
            before = self._entries.pop(key, None)
            self._entries[key] = value, size
            self.size += size - (before[1] if before else 0)
            while self.size > self.most:
                self.size -= self._entries.popitem(last=False)[1][1]
