"""Runs the webhook until a signal stops it."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import replace

import uvloop

from webhook.records import NamedTuple
from webhook.server.http.acceptor import Acceptor
from webhook.server.http.connection import Connection
from webhook.server.http.crowd import Crowd
from webhook.server.http.gate import Gate
from webhook.server.http.limits import Limits
from webhook.server.http.pages import Pages
from webhook.server.http.port import Port
from webhook.server.keeping import keep, kept_survivors
from webhook.server.process.allocating import return_freed_memory
from webhook.server.process.chores import Chores
from webhook.server.process.listening import listen, url_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from webhook.server.http.adapter import Adapter
    from webhook.server.http.pages import Make
    from webhook.server.process.chores import Chore
    from webhook.server.tls.certificate import Certificate

SHUTDOWN_DELAY = 5.0
"""Seconds of accepting connections after SIGTERM: about the time until no API server sends to this pod."""

_TICK = 0.1
"""Seconds between two checks whether to stop."""
_TICKS_A_SECOND = 10
_PROBES = 200
"""The maximum connections to the plain port: from kubelet, Prometheus, and others."""
_FEW = 8
"""The connections to it that are accepted together while others wait: more would crowd these out."""
_PROBE_SECONDS = 5.0
_OTHER_FILES = 100
"""Open files other than connections."""
_log = logging.getLogger(__name__)


class Plain(NamedTuple):
    """A second port, without TLS.

    Args:
        host: The name or address to listen on.
        port: The port; 0 takes a free one.
        pages: The pages, by path; called on the event loop.
    """

    host: str
    port: int
    pages: Mapping[str, Make]


def serve(
    app: Adapter,
    host: str,
    port: int,
    certificate: Certificate,
    shutdown_delay: float = SHUTDOWN_DELAY,
    *,
    limits: Limits = Limits(),  # noqa: B008 - immutable
    plain: Plain | None = None,
    chores: Sequence[Chore] = (),
    tick: Callable[[int], None] = lambda _connections: None,
    ready: Callable[[str], object] = lambda _url: None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests in flight; a second signal ends the process at once.

    Args:
        app: The application of :func:`webhook.server.create_app`.
        host: The name or address to listen on; ``::`` takes IPv4, too.
        port: The port to listen on; 0 takes a free one.
        certificate: The serving certificate; reloaded each second if it is from files.
        shutdown_delay: Seconds of accepting connections after SIGTERM, not ready any more, each answer the last of its
            connection; SIGINT comes from a person and ends the server at once.
        limits: The limits of connections.
        plain: A second port.
        chores: What is done in a thread beside the event loop.
        tick: Called each second on the event loop, with the number of open connections.
        ready: Called once connections are accepted, with the URL.

    Raises:
        ServerError: An address cannot be listened on.
    """
    _open_many_files()
    with ExitStack() as stack:
        listener = stack.enter_context(listen(host, port))
        beside = (
            (Pages(plain.pages), stack.enter_context(listen(plain.host, plain.port, "--monitoring-")))
            if plain
            else None
        )

        def announce(url: str) -> None:
            ready(url)  # before the log lines, which another thread writes, so that they do not fall into its output
            if beside:
                _log.info("metrics and probes on %s", url_of(beside[1], "http"))
            _log.info("listening on %s", url)

        return_freed_memory()
        keep()
        stack.enter_context(kept_survivors())
        Server(
            app,
            listener,
            certificate,
            shutdown_delay=shutdown_delay,
            limits=limits,
            beside=beside,
            chores=chores,
            tick=tick,
            ready=announce,
        ).run()


class Server:
    """The event loop of the webhook: deadlines, certificate reloading, and a graceful shutdown.

    Args:
        app: The application.
        listener: A listening socket, which the server closes.
        certificate: The serving certificate.
        shutdown_delay: Seconds of accepting connections after the signal to stop.
        limits: The limits of connections.
        beside: The pages without TLS, and their listening socket, which the server closes.
        chores: What is done in a thread.
        tick: Called each second, with the number of open connections.
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
        beside: tuple[Pages, socket.socket] | None = None,
        chores: Sequence[Chore] = (),
        tick: Callable[[int], None] = lambda _connections: None,
        ready: Callable[[str], object] = lambda _url: None,
    ) -> None:
        self.url = url_of(listener)
        self._app = app
        self._listener = listener
        self._certificate = certificate
        self._shutdown_delay = shutdown_delay
        self._limits = limits
        self.port = Port(app, limits, _crowd(limits), certificate.clients)
        self._beside = beside and (_plain_port(beside[0], limits), beside[1])
        self.acceptors: list[Acceptor] = []
        self._chores = Chores(chores)
        self._tick = tick
        self._ready = ready
        self._end: float | None = None

    @property
    def _ports(self) -> Iterator[Port]:
        yield self.port
        if self._beside:
            yield self._beside[0]

    def run(self) -> None:
        """Serve until :meth:`stop` is called or a signal comes."""
        is_main = threading.current_thread() is threading.main_thread()  # other threads get no signals
        numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
        before = {number: signal.signal(number, self._stop_by_signal) for number in numbers}
        try:
            uvloop.run(self._serve())
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._app.inline.unwatch()
            self._chores.end()

    def stop(self, delay: float) -> None:
        """Begin the shutdown; may be called from any thread or signal handler.

        Args:
            delay: Seconds for which connections are still accepted.
        """
        self._app.stopping = True
        for port in self._ports:
            port.app.closing = True
        self._end = time.monotonic() + delay

    async def _serve(self) -> None:
        self._start()
        ticks = 0
        while self._end is None or time.monotonic() < self._end:
            if ticks % _TICKS_A_SECOND == 0:
                self._each_second()
            ticks += 1
            await asyncio.sleep(_TICK)
        await self._finish()

    def _start(self) -> None:
        """Accept connections."""

        def gate() -> Gate:
            return Gate(self.port, self._certificate, Connection(self.port))

        self.acceptors.append(Acceptor(self._listener, self.port.crowd, gate, self.port.handshakes))
        if self._beside:
            port, listener = self._beside
            self.acceptors.append(Acceptor(listener, port.crowd, lambda: Connection(port), port.intake, _FEW))
        # With a thread that reads policies, the loop gets its turn after 1 ms, not 5.
        sys.setswitchinterval(0.001)
        if self._app.heavy:
            self._app.heavy.start()
            self._app.inline.watch()
        self._chores.start()
        self._ready(self.url)

    def _each_second(self) -> None:
        for port in self._ports:
            port.tick()
        self._certificate.follow()
        self._chores.look()
        if self._app.heavy:
            self._app.heavy.look()
        self._tick(len(self.port.connections))

    async def _finish(self) -> None:
        """Stop accepting connections, and wait for the end of all of them, including those in their handshake."""
        for acceptor in self.acceptors:
            acceptor.close()
        for port in self._ports:
            for connection in tuple(port.connections):
                connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.grace_seconds):
                while self.port.connections:  # noqa: ASYNC110 - only when the server ends
                    await asyncio.sleep(_TICK)
        for port in self._ports:
            for connection in tuple(port.connections):
                connection.abort()
        if self._app.heavy:
            self._app.heavy.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.handshake_seconds):
                for acceptor in self.acceptors:
                    await acceptor.wait_closed()

    def _stop_by_signal(self, number: int, _frame: FrameType | None) -> None:
        """Shut down on the first signal; exit at once on the second."""
        if self._app.closing:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            os._exit(128 + number)  # the first process of a container is not killed by its own signals
        delay = 0.0 if number == signal.SIGINT else self._shutdown_delay
        _log.info("received %s: not ready, accepting connections for %g s", signal.Signals(number).name, delay)
        self.stop(delay)


def _plain_port(pages: Pages, limits: Limits) -> Port:
    """Make the plain port, with limits of its own: a client that fills up one port leaves the other open."""
    fewer = replace(
        limits,
        header_seconds=min(limits.header_seconds, _PROBE_SECONDS),
        connections=min(limits.connections, _PROBES),
        connections_per_address=_PROBES,
    )
    return Port(pages, fewer, _crowd(fewer))


def _crowd(limits: Limits) -> Crowd:
    """Make the crowd of connections, limited by the files that the process may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = limits.connections if files == resource.RLIM_INFINITY else min(limits.connections, files - _OTHER_FILES)
    return Crowd(max(1, most), limits.connections_per_address, limits.unread_bytes)


def _open_many_files() -> None:
    """Raise the process's limit of open files to the maximum."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
