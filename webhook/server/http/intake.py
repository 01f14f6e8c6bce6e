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
"""The bytes from which a read counts though its head is known; most requests are shorter."""
BYTE_SECONDS: Final = 5e-9
"""How long a byte takes until it is parsed; three times as long on cold memory."""
AT_ONCE: Final = 0.005
"""The seconds of reading after which connections take turns; those of answers that are sent meanwhile count, too."""
_FEWEST: Final = 4
"""The fewest connections that go on in a turn."""
_MOST: Final = 256
"""The most. As soon as the time is over, those that have not read are held again."""


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
    bodies, or of headers with many fields, that takes longer than an ordinary review may wait. So beyond a limit all
    connections stop reading, and some go on in each turn: first those of the client that has taken least time, of
    these the one that has. Twice as many go on in the next turn if they have not taken all of its time, else half.

    Args:
        connections: All connections of the port.
    """

    def __init__(self, connections: Iterable[Reader]) -> None:
        self._connections = connections
        self._waiting: Turns[Reader] = Turns()
        self._together = _FEWEST
        self._spent = 0.0
        self._is_scheduled = False

    def __len__(self) -> int:
        """Return how many connections wait."""
        return len(self._waiting)

    def took(self, reader: Reader, seconds: float) -> None:
        """Count the time of reading; all connections may have to wait.

        Args:
            reader: The connection.
            seconds: How long it has taken to read from it.
        """
        self._spent += seconds
        self._waiting.charge(reader.sender, seconds)
        if self._spent > AT_ONCE:
            for each in self._connections:
                if not each.is_held:
                    each.hold()
                    self._waiting.put(each.sender, each.received * BYTE_SECONDS, each)
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_scheduled = False
        is_over = self._spent > AT_ONCE
        self._together = max(_FEWEST, self._together // 2) if is_over else min(_MOST, 2 * self._together)
        self._spent = 0.0
        for _ in range(min(self._together, len(self._waiting))):
            self._waiting.pop().go_on()
        if self._waiting:
            self._schedule()
