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
    """Speaks TLS for a connection, and represents it in the crowd until the handshake is over.

    The event loop itself reports a connection only after its handshake, so clients that never finish it could not be
    disconnected.

    Args:
        crowd: All connections of the port.
        context: The TLS settings.
        limits: The limits of a handshake.
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
        """The connection, while it is open."""
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
        self.above = None  # it refers to this gate
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Pause the connection, too: by itself, it would buffer another half megabyte first."""
        super().pause_writing()
        if self.above:
            self.above.pause_writing()

    def resume_writing(self) -> None:
        """Send remaining data, then resume the connection."""
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
