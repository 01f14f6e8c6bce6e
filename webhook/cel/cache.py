"""A cache bounded by bytes; the oldest entries are evicted first."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Generic, TypeVar

    Value = TypeVar("Value")
else:
    Value = None

    class Generic:
        """The base of a generic class, of which only type checkers need more."""

        __slots__ = ()

        def __class_getitem__(cls, _: object) -> type:
            """Return the class itself, for values of any type."""
            return cls


class Cache(Generic[Value]):
    """Keeps values by key, up to a number of bytes; may be used by several threads.

    Args:
        most: The bytes that all entries may take. An entry that would take an eighth of that is not kept.
    """

    __slots__ = ("_entries", "_lock", "_sizes", "get", "most", "size")

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._entries: dict[Hashable, Value] = {}
        self._sizes: dict[Hashable, int] = {}
        self._lock = allocate_lock()
        self.get = self._entries.get
        """Returns the value of a key; None if there is none. The dict's own method, for speed."""

    def __len__(self) -> int:
        """The number of values."""
        return len(self._entries)

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Keeps a value.

        Args:
            key: Its key.
            value: The value.
            size: The bytes that both take.
        """
        if size > self.most // 8:
            return
        with self._lock:
            self.size += size - self._sizes.pop(key, 0)
            self._entries[key] = value
            self._sizes[key] = size
            while self.size > self.most:
                oldest = next(iter(self._sizes))
                self.size -= self._sizes.pop(oldest)
                self._entries.pop(oldest, None)
