"""Bounds how long TLS handshakes take in one turn of the event loop."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from webhook.server.http.turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_SECONDS: Final = 0.005
"""The time after which handshakes wait for the next turn; one of their steps takes some 0.4 ms."""


_USUAL: Final = 1 << 13
"""The bytes that a client sends in a handshake, with its certificate; OpenSSL takes 5 ms for the 20 certificates that
16 KB may hold."""


class Beginner(Protocol):
    """A connection in its handshake."""

    @property
    def address(self) -> str:
        """The address of its client."""

    def go_on(self) -> None:
        """Read what has arrived, unless the connection is closed."""


class Handshakes:
    """Lets the handshakes of a port take turns.

    In each of its turns, the event loop reads from all connections that have sent something. With hundreds of new
    ones, their handshakes would take longer than an ordinary review may wait. So some go on in each turn: first those
    of the client whose handshakes have taken least, of these the usual ones.
    """

    def __init__(self) -> None:
        self._waiting: Turns[Beginner] = Turns()
        self._is_scheduled = False

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def put(self, beginner: Beginner, received: int) -> None:
        """Let a connection go on when its turn comes.

        Args:
            beginner: The connection; it reads nothing meanwhile.
            received: The bytes of its handshake that have arrived.
        """
        self._waiting.put((beginner.address, id(beginner)), float(received > _USUAL), beginner)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_scheduled = False
        now = time.monotonic()
        end = now + _SECONDS
        while self._waiting and now < end:
            begun = now
            beginner = self._waiting.pop()
            beginner.go_on()
            now = time.monotonic()
            self._waiting.charge((beginner.address,), now - begun)
        if self._waiting:
            self._schedule()
