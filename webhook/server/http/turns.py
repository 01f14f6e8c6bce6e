"""Fair turns between clients, and between the connections of a client."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    Key = tuple[Hashable, ...]
    """Whose something is: the client, then what tells apart those who share it, such as a connection."""

T = TypeVar("T")

_REMEMBERED = 4096


class Turns(Generic[T]):
    """A queue from which comes next what belongs to the client, and of it to the part, that has used least so far.

    A new client begins with as much as the least of those that wait, so that none saves up. Among equals the
    shortest comes first.
    """

    def __init__(self) -> None:
        self._waiting: dict[Key, deque[tuple[float, T]]] = {}
        self._used: dict[Key, float] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many wait."""
        return self._count

    def put(self, key: Key, seconds: float, item: T) -> None:
        """Let something wait.

        Args:
            key: Whose it is.
            seconds: About how long it will take.
            item: It.
        """
        queue = self._waiting.get(key)
        if queue is None:
            for prefix in _prefixes(key):
                size = len(prefix)
                beside = [self._used[other[:size]] for other in self._waiting if other[: size - 1] == prefix[:-1]]
                self._used[prefix] = max(self._used.get(prefix, 0.0), min(beside, default=0.0))
            queue = self._waiting[key] = deque()
        queue.append((seconds, item))
        self._count += 1

    def pop(self) -> T:
        """Take the next; there must be one."""
        return self._take(min(self._waiting, key=self._rank), last=False)

    def drop(self) -> T:
        """Take away what would come last; there must be something."""
        return self._take(max(self._waiting, key=self._rank), last=True)

    def charge(self, key: Key, seconds: float) -> None:
        """Note what a client has used; nothing is noted while none waits."""
        if self._waiting:
            for prefix in _prefixes(key):
                self._used[prefix] = self._used.get(prefix, 0.0) + seconds

    def _rank(self, key: Key) -> tuple[float, ...]:
        *above, own = (self._used[prefix] for prefix in _prefixes(key))
        return *above, own + self._waiting[key][0][0]

    def _take(self, key: Key, *, last: bool) -> T:
        queue = self._waiting[key]
        _, taken = queue.pop() if last else queue.popleft()
        self._count -= 1
        if not queue:
            del self._waiting[key]
            if not self._waiting:
                self._used.clear()
            elif len(self._used) > _REMEMBERED:
                self._used = {prefix: self._used[prefix] for key in self._waiting for prefix in _prefixes(key)}
        return taken


def _prefixes(key: Key) -> Iterator[Key]:
    return (key[:size] for size in range(1, len(key) + 1))
