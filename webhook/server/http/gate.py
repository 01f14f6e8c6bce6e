"""Connections during their TLS handshake."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from uvloop.loop import SSLProtocol  # type: ignore[attr-defined]  # what uvloop's create_server(ssl=…) makes

if TYPE_CHECKING:
    import ssl

    from webhook.server.http.crowd import Crowd
    from webhook.server.http.limits import Limits


class Gate(SSLProtocol):  # type: ignore[misc]
    """Speaks TLS for a connection; until the handshake is over, it represents it in the crowd.

    The event loop alone reports a connection only after its handshake, so that clients that never end it could
    not be disconnected.

    Args:
        crowd: All connections of the port.
        context: The TLS settings.
        limits: What a handshake may take.
        connection: The protocol of the connection, after the handshake.
    """

    is_busy = False

    def __init__(
        self, crowd: Crowd, context: ssl.SSLContext, limits: Limits, connection: asyncio.BufferedProtocol
    ) -> None:
        super().__init__(
            asyncio.get_running_loop(),
            connection,
            context,
            None,
            server_side=True,
            ssl_handshake_timeout=limits.handshake_seconds,
            ssl_shutdown_timeout=limits.closing_seconds,
        )
        self._crowd = crowd
        self.above: asyncio.BufferedProtocol | None = None
        """The connection, from its beginning to its end."""
        self.address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin the handshake."""
        self.raw = transport
        self.address = address_of(transport)
        self._crowd.enter(self)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._crowd.leave(self)
        self.above = None  # which knows this gate
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Let the connection wait, too: by itself, it would take half a megabyte more before that."""
        super().pause_writing()
        if self.above:
            self.above.pause_writing()

    def resume_writing(self) -> None:
        """Send what is left, then let the connection go on."""
        super().resume_writing()
        if self.above:
            self.above.resume_writing()

    def abort(self) -> None:
        """Close the connection at once."""
        self.raw.abort()


def address_of(transport: asyncio.BaseTransport) -> str:
    """Return the address at the other end."""
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if peer else ""
