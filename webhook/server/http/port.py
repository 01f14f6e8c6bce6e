"""State that the connections of a port share."""

from __future__ import annotations

import time
from typing import Protocol

from webhook.server.http.crowd import Crowd
from webhook.server.http.handshakes import Handshakes
from webhook.server.http.heads import Heads
from webhook.server.http.intake import Intake, Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.server.http.limits import Limits
    from webhook.server.http.pages import Pages
    from webhook.server.tls.clients import Clients


_ROOM: Final = 1 << 16
"""The bytes that are read at once; the kernel buffers about as many per connection."""
_FLIGHT: Final = 1 << 12
"""The bytes of a handshake that are read at once: most clients send less than a thousand."""


class Ready(Reader, Protocol):
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
        self.finishing = Crowd(limits.finishing, limits.finishing // 2, 0)
        """The connections with the last messages of a handshake begun; the longest idle of them goes first."""
        self.clients = clients
        self.request_bytes = 2 * app.bodies.limit + limits.header_bytes
        """The longest request as sent: header and body, which the framing of chunks may double."""
        self.received = bytearray(_ROOM)
        """The buffer for input until it is parsed, used by one connection at a time."""
        self.room = memoryview(self.received)
        """The same, to be written."""
        self.sealed = memoryview(bytearray(_ROOM))
        """The buffer for input until it is decrypted, used likewise."""
        self.begun = self.sealed[:_FLIGHT]
        """Its part for a connection in its handshake, of which what has arrived may have to be kept."""
        self.handshakes = Handshakes()
        """The handshakes that go on in a turn of the event loop."""
        self.connections: set[Ready] = set()
        """The connections that are ready for requests."""
        self.intake = Intake(self.connections)
        """What is read in a turn of the event loop."""
        self.heads = Heads()
        """The heads of requests that were parsed."""
        self.headers = b""
        """The first header lines of each answer."""
        self.tick()

    def tick(self) -> None:
        """Update the date in answers, each second."""
        self.headers = (
            f"date: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime())}\r\nserver: draguard\r\n".encode()
        )
