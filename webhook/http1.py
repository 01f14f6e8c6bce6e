"""HTTP/1.1 over TLS on the standard library alone, with a thread for each connection.

Neither an idle nor a stalled client keeps others waiting; connections are kept alive, bodies may be chunked.
"""

from __future__ import annotations

import io
import logging
import re
import socket
import socketserver
import ssl
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler

from werkzeug import Response

if TYPE_CHECKING:
    from email.message import Message

    from _typeshed import WriteableBuffer
    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 16
_MOST_TRAILERS = 100
_LINGER_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Server(socketserver.BaseServer):
    """Serves an application over TLS, each connection in a thread of its own, so that none waits for another.

    Args:
        app: The WSGI application; its responses say their length.
        listener: A listening socket, which the server closes.
        ssl_context: The TLS settings, certificate included.
    """

    handshake_seconds = 10.0
    request_seconds = 10.0
    idle_seconds = 120.0
    """Above the 90 s after which API servers close idle connections: whoever closes first must be the client."""
    grace_seconds = 20.0
    """Below the 30 s that Kubernetes gives a pod to end."""
    max_connections = 512

    def __init__(self, app: WSGIApplication, listener: socket.socket, ssl_context: ssl.SSLContext) -> None:
        address, port = listener.getsockname()[:2]
        self.port = int(port)
        super().__init__((address, self.port), _Connection)
        self.url = f"https://[{address}]:{self.port}" if ":" in address else f"https://{address}:{self.port}"
        self.app = app
        self.base_environ: WSGIEnvironment = {
            "SERVER_NAME": address,
            "SERVER_PORT": str(self.port),
            "SCRIPT_NAME": "",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "https",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        self.stopping = False
        self.bell, self._ringer = socket.socketpair()
        self._listener = listener
        self._tls = ssl_context
        self._threads: set[threading.Thread] = set()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._threads)

    def run(self) -> None:
        """Serve until :meth:`stop` is called, then wait for the requests in flight."""
        while self.bell not in wait([self._listener, self.bell]):
            try:
                self._accept()
            except (OSError, RuntimeError) as error:  # out of file descriptors, or of threads
                _log.warning("cannot accept a connection: %s", error)
                time.sleep(0.1)
        self._listener.close()
        deadline = time.monotonic() + self.grace_seconds
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))
        if self.connections:
            _log.warning("%d requests were not finished in time", self.connections)

    def stop(self) -> None:
        """Let :meth:`run` come to its end; may be called from any thread or signal handler, and again."""
        self.stopping = True
        self._ringer.close()

    def server_close(self) -> None:
        """Close what the constructor opened."""
        for each in (self._listener, self._ringer, self.bell):
            each.close()

    def _accept(self) -> None:
        client, address = self._listener.accept()
        if self.connections >= self.max_connections:
            _log.warning("refused a connection of %s: %d are open", address[0], self.max_connections)
            client.close()
            return
        thread = threading.Thread(target=self._converse, args=(client, address), daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:
            self._threads.discard(thread)
            client.close()
            raise

    def _converse(self, client: socket.socket, address: tuple[Any, ...]) -> None:
        try:
            client.settimeout(self.handshake_seconds)
            with client, self._tls.wrap_socket(client, server_side=True) as connection:
                _Connection(connection, address, self)
        except OSError as error:
            # A client that refuses our certificate is worth a line; one that hangs up is not.
            told = isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
            _log.log(logging.WARNING if told else logging.DEBUG, "connection of %s: %s", address[0], error)
        finally:
            self._threads.discard(threading.current_thread())


class _Connection(WSGIRequestHandler):
    """Answers the requests of one connection, one after the other."""

    server: Server
    connection: ssl.SSLSocket
    rfile: io.BufferedReader
    protocol_version = "HTTP/1.1"
    default_request_version = protocol_version  # else a request that is not understood gets no status
    disable_nagle_algorithm = True
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(message)s: %(explain)s\n"

    def handle(self) -> None:
        while self._request_comes():
            if not self._answer():
                self._linger()
                return
            if self.close_connection:
                return

    def _request_comes(self) -> bool:
        """Wait for the first byte of a request; False if the client or the server ends the connection."""
        self.connection.settimeout(0)
        try:
            self.rfile.peek(1)  # what has been read already would not wake the wait below
        except ssl.SSLWantReadError:
            if self.connection not in wait([self.connection, self.server.bell], self.server.idle_seconds):
                return False
        self.connection.settimeout(self.server.request_seconds)
        return bool(self.rfile.peek(1))

    def _answer(self) -> bool:
        """Answer a request; False if some of it was not read."""
        self.raw_requestline = self.rfile.readline(_LONGEST_LINE + 1)
        if len(self.raw_requestline) > _LONGEST_LINE:
            self.requestline = self.request_version = self.command = ""
            self.send_error(414)
            return False
        if not self.parse_request():
            return False
        try:
            length = _body_length(self.headers)
        except ValueError as error:
            self.send_error(400, explain=str(error))
            return False
        body = _Body(self.rfile, length, time.monotonic() + self.server.request_seconds)
        environ = {**self.get_environ(), "wsgi.input": body, "wsgi.input_terminated": True}
        response = Response.from_app(self.server.app, environ, buffered=True)
        self.close_connection |= self.server.stopping or not body.finished
        response.headers["Server"] = self.version_string()
        response.headers["Date"] = self.date_time_string()
        if self.close_connection:
            response.headers["Connection"] = "close"
        head = f"{self.protocol_version} {response.status}\r\n{response.headers}"
        self.wfile.write(head.encode("latin-1") + response.get_data())  # at once: one TLS record, one packet
        self.log_request(response.status_code)
        return body.finished

    def _linger(self) -> None:
        """Read on for a moment: closing a connection on unread bytes resets it, and the client loses the answer."""
        deadline = time.monotonic() + _LINGER_SECONDS
        self.connection.settimeout(_LINGER_SECONDS)
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while self.rfile.read1(_BLOCK) and time.monotonic() < deadline:
                pass

    def version_string(self) -> str:
        return "draguard"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        _log.debug("%s %r", self.client_address[0], format % args)


def _body_length(headers: Message) -> int | None:
    """Return how many bytes the body has, None if it is chunked.

    Raises:
        ValueError: The header can be understood in two ways, so that requests could be smuggled (RFC 9112, 6.3).
    """
    codings = [coding.strip().lower() for coding in headers.get_all("Transfer-Encoding", [])]
    lengths = set(headers.get_all("Content-Length", []))
    if headers.defects or len(lengths) + len(codings) > 1:
        message = "the header is malformed"
        raise ValueError(message)
    if codings:
        if codings != ["chunked"]:
            message = "the only transfer coding understood is chunked"
            raise ValueError(message)
        return None
    length = lengths.pop() if lengths else "0"
    if not re.fullmatch("[0-9]{1,18}", length):
        message = "the content length is no number"
        raise ValueError(message)
    return int(length)


class _Body(io.RawIOBase):
    """A request's body, which ends where its message says (RFC 9112, 6.3 and 7.1).

    Args:
        source: The connection.
        length: How many bytes the body has, None if it is chunked.
        deadline: When it must have come, on the monotonic clock.
    """

    def __init__(self, source: io.BufferedReader, length: int | None, deadline: float) -> None:
        self.finished = length == 0
        self._source = source
        self._chunked = length is None
        self._left = length or 0
        self._deadline = deadline

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._chunked and not self._left and not self.finished:
            self._left = self._next_chunk()
        if self.finished:
            return 0
        if time.monotonic() > self._deadline:
            raise TimeoutError
        view = memoryview(buffer)
        block = self._source.read1(min(len(view), self._left))
        if not block:
            message = "it ends early"
            raise OSError(message)
        view[: len(block)] = block
        self._left -= len(block)
        self.finished = not (self._left or self._chunked)
        if self._chunked and not self._left and self._line():
            message = "a chunk is longer than it says"
            raise OSError(message)
        return len(block)

    def _next_chunk(self) -> int:
        size = re.fullmatch(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", self._line(), re.DOTALL)
        if not size:
            message = "a chunk does not say its size"
            raise OSError(message)
        if length := int(size[1], 16):
            return length
        for _ in range(_MOST_TRAILERS):
            if not self._line():
                self.finished = True
                return 0
        message = "it has too many trailers"
        raise OSError(message)

    def _line(self) -> bytes:
        line = self._source.readline(_LONGEST_LINE)
        if not line.endswith(b"\r\n"):
            message = "it ends early"
            raise OSError(message)
        return line[:-2]
