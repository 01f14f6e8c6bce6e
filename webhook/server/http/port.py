"""State that the connections of a port share."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from webhook.server.http.crowd import Crowd
    from webhook.server.http.limits import Limits
    from webhook.server.http.pages import Pages
    from webhook.server.tls.clients import Clients


_ROOM: Final = 1 << 16
"""Bytes that are taken in at once; the kernel keeps about as many of a connection."""


class Ready(Protocol):
    """A connection that is ready for requests."""

    def shutdown(self) -> None:
        """Close it when the server stops, unless a request is on its way."""

    def abort(self) -> None:
        """Close it at once."""


class Port:
    """The state that the connections of a port share.

    Args:
        app: Answers requests.
        limits: What a connection may take.
        crowd: All connections, those in their handshake included.
        clients: The clients that may connect; None for all.
    """

    def __init__(self, app: Pages, limits: Limits, crowd: Crowd, clients: Clients | None = None) -> None:
        self.app = app
        self.limits = limits
        self.crowd = crowd
        self.clients = clients
        self.request_bytes = 2 * app.bodies.limit + limits.header_bytes
        """The longest request, as sent: its header, its body, and the framing of chunks, which may double a body."""
        self.room = memoryview(bytearray(_ROOM))
        """Where what comes in lies until it is parsed, of one connection at a time."""
        self.connections: set[Ready] = set()
        """Those that are ready for requests."""
        self.headers = b""
        """What begins the header of each answer after the status."""
        self.tick()

    def tick(self) -> None:
        """Take note of the time, each second."""
        self.headers = (
            f"date: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime())}\r\nserver: draguard\r\n".encode()
        )
