"""Serves until a signal comes: the event loop, reloading, and a graceful end."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any

import uvloop

from webhook.memory import keep, kept_survivors, return_freed
from webhook.reloading import Reloaded
from webhook.server.app import Pages, Reviews
from webhook.server.certificate import Certificate
from webhook.server.connection import Connection
from webhook.server.messages import Limits
from webhook.server.port import Port
from webhook.server.tls import Secure

SHUTDOWN_DELAY = 5.0
"""Seconds of accepting connections after SIGTERM: about the time until no API server sends to this pod."""
_TICK = 0.1
"""The seconds after which deadlines, and whether to stop, are checked again."""
_LOOK = 1.0
"""The seconds after which files are looked at again."""
_PROBES = 200
"""The maximum connections to the plain port: from kubelet, Prometheus, and others."""
_PROBE_SECONDS = 5.0
_OTHER_FILES = 100
"""Open files other than connections."""
_log = logging.getLogger(__name__)


class Server:
    """The event loop of the webhook.

    Args:
        app: Answers reviews.
        listener: A listening socket, which the server closes.
        certificate: The serving certificate, which is followed if it is from files.
        shutdown_delay: Seconds of accepting connections after SIGTERM, not ready any more, each answer the last of its
            connection; SIGINT comes from a person and ends the server at once.
        limits: The limits of connections.
        beside: Pages without TLS, and their listening socket, which the server closes.
        reloaded: The parts that are made anew in a thread when their files change.
        ready: Called once connections are accepted, with the URL.
    """

    def __init__(
        self,
        app: Reviews,
        listener: socket.socket,
        certificate: Certificate,
        *,
        shutdown_delay: float = SHUTDOWN_DELAY,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        beside: tuple[Pages, socket.socket] | None = None,
        reloaded: Sequence[Reloaded[Any]] = (),
        ready: Callable[[str], object] = lambda _url: None,
    ) -> None:
        self._app, self._shutdown_delay = app, shutdown_delay
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY:
            limits = replace(limits, connections=max(1, min(limits.connections, files - _OTHER_FILES)))
        self.port = Port(app, listener, limits, Secure, certificate)
        self._ports = [self.port]
        if beside:  # limits of its own: a client that fills up one port leaves the other open
            self._ports.append(Port(*beside, _of_probes(limits), Connection))
        self._reloaded = certificate, *reloaded
        self._following = threading.Thread()  # not started yet
        self._ready = ready
        self._end: float | None = None

    def run(self) -> None:
        """Serve until :meth:`stop` is called or a signal comes; a second signal ends the process at once."""
        is_main = threading.current_thread() is threading.main_thread()  # other threads get no signals
        numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
        before = {number: signal.signal(number, self._stop_by_signal) for number in numbers}
        sys.setswitchinterval(0.001)  # with a thread that reads policies, the loop gets its turn after 1 ms, not 5
        return_freed()
        keep()
        try:
            with kept_survivors():
                uvloop.run(self._serve())
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def stop(self, delay: float) -> None:
        """Begin the end; may be called from any thread or signal handler.

        Args:
            delay: Seconds for which connections are still accepted.
        """
        for port in self._ports:
            port.app.is_closing = True
        self._end = time.monotonic() + delay

    async def _serve(self) -> None:
        self._tick()
        self._ready(self.port.url)  # before the log lines, which another thread writes
        for port in self._ports[1:]:
            _log.info("metrics and probes on %s", port.url)
        _log.info("listening on %s", self.port.url)
        second = 0.0
        while self._end is None or time.monotonic() < self._end:
            self._tick()
            if second <= time.monotonic():
                second = time.monotonic() + _LOOK
                self._each_second()
            await asyncio.sleep(_TICK)
        await self._finish()

    def _tick(self) -> None:
        for port in self._ports:
            port.tick()

    def _each_second(self) -> None:
        if not self._following.is_alive() and any(each.may_have_changed() for each in self._reloaded):
            self._following = threading.Thread(target=self._follow, daemon=True)
            self._following.start()
        if self._app.lane:
            self._app.lane.forks.look()

    def _follow(self) -> None:
        for each in self._reloaded:
            each.follow()

    async def _finish(self) -> None:
        """Accept nothing more, and wait for the requests in flight, and for handshakes."""
        for port in self._ports:
            port.close()
        end = time.monotonic() + self.port.limits.grace_seconds
        while any(len(port.crowd) for port in self._ports) and time.monotonic() < end:
            self._tick()
            await asyncio.sleep(_TICK / 4)
        for port in self._ports:
            for each in port.crowd:
                each.abort()
        if self._app.lane:
            self._app.lane.close()
        await asyncio.sleep(0)

    def _stop_by_signal(self, number: int, _frame: FrameType | None) -> None:
        """Begin the end on the first signal; exit at once on the second."""
        if self._app.is_closing:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            os._exit(128 + number)  # the first process of a container is not killed by its own signals
        delay = 0.0 if number == signal.SIGINT else self._shutdown_delay
        _log.info("received %s: not ready, accepting connections for %g s", signal.Signals(number).name, delay)
        self.stop(delay)


@contextmanager
def served_pages(pages: Pages, listener: socket.socket) -> Iterator[None]:
    """Serve pages without TLS in a thread of their own, until the block ends.

    The thread does not outlive the block: an event loop that runs while the interpreter ends may crash it.
    """
    ended = threading.Event()

    async def serve() -> None:
        port = Port(pages, listener, _of_probes(Limits()), Connection)
        _log.info("metrics and probes on %s", port.url)
        while not ended.is_set():
            port.tick()
            await asyncio.sleep(_TICK)

    thread = threading.Thread(target=lambda: uvloop.run(serve()), name="pages")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _of_probes(limits: Limits) -> Limits:
    seconds = min(limits.header_seconds, _PROBE_SECONDS)
    return replace(limits, header_seconds=seconds, connections=_PROBES, connections_per_address=_PROBES)


def open_many_files() -> None:
    """Raise the process's limit of open files to the maximum."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
