"""Accepts connections in small batches, and skips those that their clients have already closed."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sized
    from typing import Final

    from webhook.server.http.crowd import Crowd

_BATCH: Final = 32
"""The connections that are accepted before the event loop does other work; each takes about 0.2 ms."""
_BATCH_SECONDS: Final = 0.005
"""The time limit of a batch: connections that are already closed take about 10 us each."""
_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
_ESTABLISHED: Final = b"\1"
"""The first byte of the kernel's ``struct tcp_info`` while neither side has closed (``TCP_ESTABLISHED``)."""


class Acceptor:
    """Accepts the connections of a port, as an :class:`asyncio.Server` does, on the running event loop.

    A client may connect and close thousands of times a second, far more often than the server can do handshakes. The
    kernel keeps such connections until they are accepted, and drops new ones once it keeps too many; so accepting them
    must be cheap. The event loop's own server would make a TLS object for each, and do nothing else meanwhile.

    Args:
        listener: A listening socket; :meth:`close` closes it.
        crowd: All connections of the port, which the protocols enter and leave.
        make: Makes the protocol of a connection.
        waiting: Connections that wait for their turns. While there are any, batches are smaller: new connections would
            crowd them out.
        few: The connections of such a batch.
    """

    def __init__(
        self,
        listener: socket.socket,
        crowd: Crowd,
        make: Callable[[], asyncio.BaseProtocol],
        waiting: Sized = (),
        few: int = 1,
    ) -> None:
        self._listener = listener
        self._crowd = crowd
        self._make = make
        self._waiting = waiting
        self._few = few
        self._loop = asyncio.get_running_loop()
        self._beginning = set[asyncio.Task[object]]()
        self._spare = _spare()
        listener.settimeout(0)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        """Accept nothing more."""
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            if self._spare >= 0:
                os.close(self._spare)

    async def wait_closed(self) -> None:
        """Wait until the last connection has ended."""
        while self._beginning or len(self._crowd):  # noqa: ASYNC110 - only when the server ends
            await asyncio.sleep(0.02)

    def _accept(self) -> None:
        begun, end = 0, time.monotonic() + _BATCH_SECONDS
        most = self._few if self._waiting else _BATCH
        while begun < most and time.monotonic() < end:
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # most likely the process may open no more files
                self._turn_away()
                return
            if is_open(connection):
                task = self._loop.create_task(self._begin(connection))
                self._beginning.add(task)
                task.add_done_callback(self._beginning.discard)
                begun += 1
            else:
                connection.close()

    async def _begin(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, connection)
        except OSError:  # closed meanwhile
            connection.close()

    def _turn_away(self) -> None:
        """Close a connection, for which there is no file but a spare one; it would wait for nothing."""
        if self._spare >= 0:
            os.close(self._spare)
        with suppress(OSError):
            self._listener.accept()[0].close()
        self._spare = _spare()


def _spare() -> int:
    """Open a file to be closed when another is needed; -1 if there can be none."""
    try:
        return os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return -1


def is_open(connection: socket.socket) -> bool:
    """Whether neither side has closed, as far as the kernel tells; only Linux does."""
    if _TCP_INFO is None:
        return True
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1) == _ESTABLISHED
    except OSError:
        return False
