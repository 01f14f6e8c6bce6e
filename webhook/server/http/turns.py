"""Fair turns between clients, and between the connections of a client."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from typing import Final

    Key = tuple[Hashable, ...]
    """The owner of an item: the client, then parts of it, such as a connection."""
    Rank = tuple[float, ...]
    """The used seconds of a share, of its first part, and so on; the last number includes those of the next item."""
    Entry = tuple[Rank, int, Hashable]
    """The rank of a part, its number, and its key."""

T = TypeVar("T")

_REMEMBERED: Final = 4096
_FORMER: Final = 16
"""How many more former entries than present ones are kept."""
_numbers: Final = count()


class _Share(Generic[T]):
    """What a client, or a part of it, has used, and its waiting items.

    Args:
        used: The used seconds.
    """

    __slots__ = ("entries", "number", "order", "parts", "queue", "used")

    def __init__(self, used: float) -> None:
        self.used = used
        self.number = next(_numbers)
        """Tells shares of the same rank apart; the oldest comes first."""
        self.parts: dict[Hashable, _Share[T]] = {}
        """Its parts that have waiting items."""
        self.entries: dict[Hashable, Entry] = {}
        """Their entries; the lowest comes next."""
        self.order: list[Entry] = []
        """A heap of these, and of former entries."""
        self.queue: deque[tuple[float, T]] = deque()
        """The waiting items of a share without parts, each with its estimated seconds."""

    @property
    def rank(self) -> Rank:
        return (self.used + self.queue[0][0],) if self.queue else (self.used, *self.first()[0])

    def first(self) -> Entry:
        """Return the entry of the part that comes next; there must be one."""
        order, entries = self.order, self.entries
        while entries.get(order[0][2]) is not order[0]:
            heappop(order)
        return order[0]

    def last(self) -> Entry:
        """Return the entry of the part that comes last; there must be one."""
        return max(self.entries.values())

    def update(self, key: Hashable) -> None:
        """Update the rank of a part; remove an empty one."""
        part = self.parts[key]
        if not (part.parts or part.queue):
            del self.parts[key], self.entries[key]
            return
        entry = self.entries[key] = part.rank, part.number, key
        heappush(self.order, entry)
        if len(self.order) > 2 * len(self.entries) + _FORMER:
            self.order = list(self.entries.values())
            heapify(self.order)


class Turns(Generic[T]):
    """A queue whose next item belongs to the client, and the part of it, that has used the least time.

    A new client starts with the usage of the one that comes next, so that clients cannot save up turns. Among equals,
    the shortest item comes first.
    """

    def __init__(self) -> None:
        self._all = _Share[T](0.0)
        self._used: dict[Key, float] = {}
        """The seconds used since the queue was last empty, also by clients without waiting items."""
        self._count = 0

    def __len__(self) -> int:
        """Return the number of waiting items."""
        return self._count

    def put(self, key: Key, seconds: float, item: T) -> None:
        """Queue an item.

        Args:
            key: Its owner.
            seconds: The estimated seconds that it takes.
            item: The item.
        """
        path = [self._all]
        for prefix in _prefixes(key):
            above = path[-1]
            share = above.parts.get(prefix[-1])
            if share is None:
                least = above.parts[above.first()[2]].used if above.parts else 0.0
                share = above.parts[prefix[-1]] = _Share(max(self._used.get(prefix, 0.0), least))
                self._used[prefix] = share.used
            path.append(share)
        path[-1].queue.append((seconds, item))
        self._count += 1
        self._rank(key, path)

    def pop(self) -> T:
        """Remove and return the next item; there must be one."""
        return self._take(_Share.first, deque.popleft)

    def drop(self) -> T:
        """Remove and return the last item; there must be one."""
        return self._take(_Share.last, deque.pop)

    def charge(self, key: Key, seconds: float) -> None:
        """Record the seconds that a client has used; nothing is recorded while the queue is empty."""
        if not self._count:
            return
        path: list[_Share[T]] = [self._all]
        for prefix in _prefixes(key):
            used = self._used[prefix] = self._used.get(prefix, 0.0) + seconds
            share = path[-1].parts.get(prefix[-1]) if len(path) == len(prefix) else None
            if share is not None:
                share.used = used
                path.append(share)
        self._rank(key, path)

    def _take(
        self, choose: Callable[[_Share[T]], Entry], take: Callable[[deque[tuple[float, T]]], tuple[float, T]]
    ) -> T:
        path: list[_Share[T]] = [self._all]
        key: list[Hashable] = []
        while path[-1].parts:
            share = path[-1]
            key.append(choose(share)[2])
            path.append(share.parts[key[-1]])
        _, taken = take(path[-1].queue)
        self._count -= 1
        if not self._count:
            self._used.clear()
        self._rank(tuple(key), path)
        if len(self._used) > _REMEMBERED:
            self._used = dict(_used(self._all, ()))
        return taken

    def _rank(self, key: Key, path: list[_Share[T]]) -> None:
        """Update the ranks along a path; remove empty shares."""
        for part, above in zip(reversed(key[: len(path) - 1]), path[-2::-1], strict=True):
            above.update(part)


def _used(share: _Share[T], above: Key) -> Iterator[tuple[Key, float]]:
    for part, each in share.parts.items():
        key = *above, part
        yield key, each.used
        yield from _used(each, key)


def _prefixes(key: Key) -> Iterator[Key]:
    return (key[:size] for size in range(1, len(key) + 1))
