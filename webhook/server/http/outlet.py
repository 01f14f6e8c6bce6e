"""Writes to a client no more than it reads."""

from __future__ import annotations

import asyncio
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from webhook.server.http.crowd import Crowd, Member

UNSENT: Final = 1 << 14
"""The bytes that a transport may buffer before writing pauses; most answers are shorter."""
_PIECE: Final = 1 << 15
"""The bytes that are written at once: the TLS layer keeps a buffer of the largest write."""


class Outlet:
    """Writes to a client, long answers in pieces as it reads them; disconnects a client that reads nothing.

    Args:
        member: The connection.
        crowd: All connections of its port.
        transport: The connection's transport.
        seconds: How long a client may read nothing.
    """

    def __init__(self, member: Member, crowd: Crowd, transport: Any, seconds: float) -> None:
        self._member = member
        self._crowd = crowd
        self._transport = transport
        self._seconds = seconds
        self._rest = deque[memoryview]()
        self._is_last = False
        self._stalled: asyncio.TimerHandle | None = None
        self.is_full = False
        """Whether writing pauses until the client has read."""
        transport.set_write_buffer_limits(UNSENT)

    def write(self, data: bytes) -> None:
        """Write data; short data at once, in one TLS record and one system call."""
        if len(data) <= _PIECE and not self._rest:
            self._transport.write(data)
            return
        self._rest.extend(memoryview(data)[at : at + _PIECE] for at in range(0, len(data), _PIECE))
        self.go_on()

    def close(self) -> None:
        """Close the connection once everything is written."""
        self._is_last = True
        self.go_on()

    def go_on(self) -> None:
        """Write remaining data as the client reads."""
        self.weigh()
        transport = self._transport
        while self._rest and not self.is_full and not transport.is_closing():
            transport.write(self._rest.popleft())
        if self._rest:
            self.weigh()
        elif self._is_last:
            transport.close()

    def weigh(self) -> None:
        """Record how many bytes the client has not read."""
        unsent = self._transport.get_write_buffer_size()
        self.is_full = unsent > UNSENT
        if self.is_full:
            self._crowd.leaves_unread(self._member, unsent + sum(map(len, self._rest)))
            if self._stalled is None:
                loop = asyncio.get_running_loop()
                self._stalled = loop.call_later(self._seconds, self._transport.abort)
        elif self._stalled is not None:
            self._crowd.has_read(self._member)
            self._stalled.cancel()
            self._stalled = None

    def end(self) -> None:
        """Drop remaining data, since the connection has ended."""
        self._rest.clear()
        if self._stalled is not None:
            self._stalled.cancel()
