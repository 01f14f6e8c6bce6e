"""Runs the webhook in this process: from listening to the last answer after a signal to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from typing import TYPE_CHECKING

import uvicorn

from webhook.server.connection import Connection, Limits
from webhook.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from webhook.server.adapter import Adapter
    from webhook.server.tls import Certificate

SHUTDOWN_DELAY = 5.0
"""Seconds of accepting connections after SIGTERM: about what it takes until no API server is told of this pod."""

_TICKS_A_SECOND = 10  # of uvicorn's main loop
_log = logging.getLogger(__name__)


def listen(host: str, port: int) -> socket.socket:
    """Open the socket to serve on.

    Args:
        host: A name or address of this machine; ``::`` takes IPv4, too.
        port: The port; 0 takes a free one.

    Raises:
        ServerError: The address cannot be listened on.
    """
    if port not in range(1 << 16):
        message = f"cannot listen on port {port}: give --port 1 to 65535, or 0 for a free one"
        raise ServerError(message)
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, (address, *_) = found[0][0], found[0][4]
        both = address == "::" and socket.has_dualstack_ipv6()
        return socket.create_server((str(address), port), family=family, backlog=1024, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        message = f"cannot listen on {host} port {port}: {reason}: give another --host or --port"
        raise ServerError(message) from error


def serve(
    app: Adapter,
    host: str,
    port: int,
    certificate: Certificate,
    shutdown_delay: float = SHUTDOWN_DELAY,
    *,
    ready: Callable[[str], object] = lambda _url: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests in flight; a second signal ends the process at once.

    Args:
        app: What :func:`webhook.server.create_app` made.
        host: The name or address to listen on; ``::`` takes IPv4, too.
        port: The port to listen on; 0 takes a free one.
        certificate: What to serve with; followed each second if it is of files.
        shutdown_delay: Seconds of accepting connections after SIGTERM, not ready any more, each answer the last of its
            connection; SIGINT comes from a person and waits for nobody.
        ready: Called once connections are accepted, with the URL.

    Raises:
        ServerError: The address cannot be listened on.
    """
    with listen(host, port) as listener:
        Server(app, listener, certificate, shutdown_delay=shutdown_delay, ready=ready).run()


class Server(uvicorn.Server):
    """uvicorn with deadlines, a certificate that follows its files, and an end that loses no request.

    Args:
        app: What answers.
        listener: A listening socket, which the server closes.
        certificate: What to serve with.
        shutdown_delay: Seconds of accepting connections after it is told to stop.
        limits: What a connection may take.
        ready: Called once connections are accepted, with the URL.
    """

    def __init__(
        self,
        app: Adapter,
        listener: socket.socket,
        certificate: Certificate,
        *,
        shutdown_delay: float = SHUTDOWN_DELAY,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        ready: Callable[[str], object] = lambda _url: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                loop="uvloop",
                ws="none",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                headers=[("server", "draguard")],
                timeout_keep_alive=limits.idle_seconds,
                timeout_graceful_shutdown=limits.grace_seconds,
            )
        )
        address, port = listener.getsockname()[:2]
        self.url = f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}"
        self._app = app
        self._listener = listener
        self._certificate = certificate
        self._shutdown_delay = shutdown_delay
        self._limits = limits
        self._ready = ready
        self._end: float | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until :meth:`stop` is called or a signal comes."""
        super().run(sockets or [self._listener])

    def stop(self, delay: float) -> None:
        """Begin to stop; may be called from any thread or signal handler.

        Args:
            delay: Seconds for which connections are still accepted.
        """
        self._app.closing = True
        self._end = time.monotonic() + delay

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections, as uvicorn does but with deadlines for the beginning and the end of TLS."""
        request_bytes = 2 * self._app.body_limit + self._limits.header_bytes  # chunks of some bytes double a body

        def connection() -> Connection:
            return Connection(self.config, self.server_state, self._limits, request_bytes, self._certificate.clients)

        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(
                connection,
                sock=listener,
                ssl=self._certificate.context,
                backlog=self.config.backlog,
                ssl_handshake_timeout=self._limits.handshake_seconds,
                ssl_shutdown_timeout=self._limits.closing_seconds,
            )
            for listener in sockets or []
        ]
        self.started = True
        _log.info("listening on %s", self.url)
        self._ready(self.url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and see every one of them to its end, those in their handshake included."""
        closed = [asyncio.ensure_future(server.wait_closed()) for server in self.servers]
        await asyncio.sleep(0)  # uvloop waits for those only who wait before the server closes
        await super().shutdown(sockets)
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
        await asyncio.wait(closed, timeout=self._limits.handshake_seconds)

    async def on_tick(self, counter: int) -> bool:
        """Look after the certificate each second; return whether it is time to end."""
        if counter % _TICKS_A_SECOND == 0:
            self._certificate.follow()
        ended = await super().on_tick(counter)
        return ended or (self._end is not None and time.monotonic() >= self._end)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler
        """Stop on the first signal, end the process at once on the second."""
        if self._app.closing:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
            os._exit(128 + sig)  # the first process of a container is not killed by its own signals
        delay = 0.0 if sig == signal.SIGINT else self._shutdown_delay
        _log.info("told to stop by %s: not ready, accepting connections for %g s", signal.Signals(sig).name, delay)
        self.stop(delay)
