"""Bounds how much is read in one turn of the event loop."""

from __future__ import annotations

import asyncio
from typing import Protocol

from webhook.server.http.turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from webhook.server.http.turns import Key

LARGE: Final = 1 << 13
"""The bytes from which a read counts; most requests are shorter."""
AT_ONCE: Final = 1 << 20
"""The bytes of large reads after which connections take turns: 5 ms, and three times as long on cold memory."""
_TOGETHER: Final = 16
"""The connections that go on in each turn; each has up to 64 KiB."""


class Reader(Protocol):
    """A connection that reads."""

    @property
    def sender(self) -> Key:
        """The client, and its connection."""

    @property
    def received(self) -> int:
        """The bytes of the present request that have arrived."""

    is_held: bool
    """Whether it must not read."""

    def hold(self) -> None:
        """Read nothing until it may go on."""

    def go_on(self) -> None:
        """Read again."""


class Intake:
    """Lets the connections of a port take turns if they send more than can be read at once.

    In each of its turns, the event loop reads from all connections that have sent something. With some hundreds of long
    bodies, that takes longer than an ordinary review may wait. So beyond a limit all connections stop reading, and a
    few go on in each turn: first those of the client that has sent least, of these the one that has sent least.

    Args:
        connections: All connections of the port.
    """

    def __init__(self, connections: Iterable[Reader]) -> None:
        self._connections = connections
        self._waiting: Turns[Reader] = Turns()
        self._read = 0
        self._is_scheduled = False

    def took(self, reader: Reader, size: int) -> None:
        """Count a large read; all connections may have to wait.

        Args:
            reader: The connection.
            size: The bytes that it has read.
        """
        self._read += size
        self._waiting.charge(reader.sender, size)
        if self._read > AT_ONCE:
            for each in self._connections:
                if not each.is_held:
                    each.hold()
                    self._waiting.put(each.sender, each.received, each)
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_scheduled = False
        self._read = 0
        for _ in range(min(_TOGETHER, len(self._waiting))):
            self._waiting.pop().go_on()
        if self._waiting:
            self._schedule()
