"""A port: its listening socket, how many connections there may be, which one closes first, and what they share."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Container, Iterator
from http import HTTPStatus

from webhook.logs import BoundedLog
from webhook.server.app import Pages
from webhook.server.certificate import Certificate, ServerError
from webhook.server.messages import Client, Limits

_BACKLOG = 4096
"""The backlog of connections that are not accepted yet, as far as the kernel allows."""
_UNREAD = 1 << 15
"""The size of the kernel's receive buffer of a connection, in bytes; Linux doubles it. It bounds what one read returns,
and so what a connection holds, besides a part of a TLS record from earlier reads."""
_KEPT = 1 << 16
"""The size of the kernel's send buffer of a connection, in bytes; Linux doubles it, too. By default, it grows
to megabytes for a client that has read quickly so far, which count as the container's memory."""
_TOGETHER = 16
"""The connections that are accepted in a turn of the event loop."""
_HANDSHAKES = 0.005
"""The seconds of handshakes in a turn of the event loop; a step of one takes 0.4 ms (tests/attacks/hellos.py)."""
_TCP_INFO = getattr(socket, "TCP_INFO", None)
_ESTABLISHED = b"\1"
"""The first byte of the kernel's ``struct tcp_info`` while neither side has closed."""
_log = BoundedLog(logging.getLogger(__name__))


def listen(host: str, port: int, prefix: str = "--") -> socket.socket:
    """Open the socket to serve on.

    Args:
        host: A name or address of this machine; ``::`` takes IPv4, too.
        port: The port; 0 takes a free one.
        prefix: The prefix of the options ``host`` and ``port``, for the error message.

    Raises:
        ServerError: The address cannot be listened on.
    """
    if port not in range(1 << 16):
        raise ServerError(f"cannot listen on port {port}: give {prefix}port 1 to 65535, or 0 for a free one")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, (address, *_) = found[0][0], found[0][4]
        both = address == "::" and socket.has_dualstack_ipv6()
        listener = socket.create_server((str(address), port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        is_of_port = isinstance(error, OSError) and error.errno in {errno.EADDRINUSE, errno.EACCES}
        other = f"{'' if is_of_port else f'{prefix}host or '}{prefix}port"
        raise ServerError(f"cannot listen on {host} port {port}: {reason}: give another {other}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UNREAD)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KEPT)
    return listener


class Crowd:
    """The connections of a port, those that have been idle longest first.

    New connections are never refused: if there are too many in all or of one address, the longest idle goes.

    Args:
        most: The maximum number of connections.
        most_of_address: The maximum for one address.
        unread_bytes: The maximum of unread answers; of more, the connection that holds most is closed.
        bodies_bytes: The maximum of bodies; of more, the one is given up whose client has sent nothing for longest.
    """

    def __init__(self, most: int, most_of_address: int, unread_bytes: int = 0, bodies_bytes: int = 0) -> None:
        self._most, self._most_of_address = most, most_of_address
        self._unread_bytes, self._bodies_bytes = unread_bytes, bodies_bytes
        self._clients = OrderedDict[Client, None]()
        self._of_address = Counter[str]()
        self.unread = 0
        """The bytes of answers that clients have not read."""
        self.bodies = 0
        """The bytes of bodies that are coming in or wait."""

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self._clients)

    def __iter__(self) -> Iterator[Client]:
        """Iterate over a copy of them."""
        return iter(tuple(self._clients))

    def enter(self, client: Client) -> None:
        """Add a connection if it is new; another may be closed for it."""
        if client in self._clients:
            return
        self._clients[client] = None
        self._of_address[client.address] += 1
        if (count := self._of_address[client.address]) > self._most_of_address:
            self._close_idle((client.address,), f"{count} are open of its address")
        if len(self._clients) > self._most:
            self._close_idle(self._of_address, f"{len(self._clients)} are open in all")

    def leave(self, client: Client) -> None:
        """Forget a connection."""
        if client in self._clients:
            self.unread -= client.unread
            self.bodies -= client.counted
            del self._clients[client]
            self._of_address[client.address] -= 1
            if not self._of_address[client.address]:
                del self._of_address[client.address]

    def stir(self, client: Client) -> None:
        """Note that a client has sent something: its connection is the least idle now."""
        if client in self._clients:
            self._clients.move_to_end(client)

    def count_unread(self, client: Client, unread: int) -> None:
        """Note how many bytes a client has not read; the connection with most may have to be closed."""
        if client in self._clients:  # else it was closed for others, and does not know yet
            self.unread += unread - client.unread
            client.unread = unread
            if self.unread > self._unread_bytes:
                self._close(max(self._clients, key=lambda each: each.unread), f"{self.unread} bytes are unread")

    def count_body(self, client: Client, more: int) -> None:
        """Note how many more bytes the bodies of a connection take; one that is coming in may have to be given up."""
        if client in self._clients:
            self.bodies += more
            client.counted += more
            if self.bodies > self._bodies_bytes and more > 0:
                for each in self._clients:
                    if each.drop_body():
                        break

    def expire(self) -> None:
        """Tell those connections whose deadline has passed."""
        now = time.monotonic()
        for client in [each for each in self._clients if each.due < now]:
            client.expire()

    def _close_idle(self, addresses: Container[str], why: str) -> None:
        idle = (each for each in self._clients if each.address in addresses and not each.is_busy)
        self._close(next(idle), why)

    def _close(self, client: Client, why: str) -> None:
        _log.warning("closed a connection of %s to make room: %s", client.address, why)
        self.leave(client)
        client.abort()


class Port:
    """Accepts connections on a listening socket.

    Args:
        app: Answers requests.
        listener: The socket; :meth:`close` closes it.
        limits: The limits of a connection.
        protocol: Makes the protocol of a connection.
        certificate: The serving certificate; None without TLS.
    """

    def __init__(
        self,
        app: Pages,
        listener: socket.socket,
        limits: Limits,
        protocol: Callable[[Port], asyncio.Protocol],
        certificate: Certificate | None = None,
    ) -> None:
        self.app = app
        self.limits = limits
        self.seconds = {
            "handshake": limits.handshake_seconds,
            "header": limits.header_seconds,
            "body": limits.body_seconds,
            "": limits.idle_seconds,
        }
        """How long a client may take for each phase of a request, and between two."""
        self.request_bytes = 2 * app.body_limit + limits.header_bytes
        """The longest request as sent: header and body, which the framing of chunks may double."""
        self.crowd = Crowd(limits.connections, limits.connections_per_address, limits.unread_bytes, limits.bodies_bytes)
        self.half_read = Crowd(limits.half_read, limits.half_read // 2)
        """The connections with a message of their handshake half read."""
        self.certificate = certificate
        self._heads: dict[tuple[int, str, str, bool], bytes] = {}
        """The heads of answers, with the date of the last tick."""
        self.is_closed = False
        self.url = url_of(listener, "https" if certificate else "http")
        self._listener = listener
        self._protocol = protocol
        self._beginning: set[asyncio.Task[object]] = set()
        self._handshakes: deque[Callable[[], None]] = deque()
        """The handshakes that go on in a later turn of the event loop."""
        listener.settimeout(0)

    def tick(self) -> None:
        """Apply deadlines, renew the date of answers, and accept connections; called at least ten times a second."""
        self._heads.clear()
        self.crowd.expire()
        if not self.is_closed:
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def head(self, status: int, content_type: str, headers: str, keeps: bool) -> bytes:  # noqa: FBT001 - as in Answer
        """Return the head of an answer, up to the value of its last line, the length of the body."""
        key = status, content_type, headers, keeps
        if (found := self._heads.get(key)) is None:
            date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
            close = "" if keeps else "connection: close\r\n"
            found = self._heads[key] = (
                f"HTTP/1.1 {status:d} {HTTPStatus(status).phrase}\r\ndate: {date}\r\nserver: draguard\r\n"
                f"content-type: {content_type}\r\n{headers}{close}content-length: "
            ).encode()
        return found

    def close(self) -> None:
        """Accept no more connections, and close those on which no request is on its way."""
        self.is_closed = True
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        for each in self.crowd:
            each.shutdown()

    def _accept(self) -> None:
        for _ in range(_TOGETHER):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # most likely the process may open no more files: try again soon
                asyncio.get_running_loop().remove_reader(self._listener)
                return
            if is_open(connection):
                task = asyncio.get_running_loop().create_task(self._begin(connection))
                self._beginning.add(task)
                task.add_done_callback(self._beginning.discard)
            else:
                connection.close()

    async def _begin(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: self._protocol(self), connection)
        except OSError:  # closed meanwhile
            connection.close()

    def put_off(self, handshake: Callable[[], None]) -> None:
        """Let a handshake go on when its turn comes: hundreds may have sent something in a turn of the event loop."""
        self._handshakes.append(handshake)
        if len(self._handshakes) == 1:
            asyncio.get_running_loop().call_soon(self._shake_hands)

    def _shake_hands(self) -> None:
        end = time.monotonic() + _HANDSHAKES
        while self._handshakes and time.monotonic() < end:
            self._handshakes.popleft()()
        if self._handshakes:
            asyncio.get_running_loop().call_soon(self._shake_hands)


def is_open(connection: socket.socket) -> bool:
    """Return whether neither side has closed, as far as the kernel tells; only Linux does.

    A client may connect and close thousands of times a second; the kernel drops new connections once it keeps too many
    that are not accepted, so those must cost little (tests/attacks/crowds.py, ``crowds-reconnecting``).
    """
    return _TCP_INFO is None or connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1) == _ESTABLISHED


def url_of(listener: socket.socket, scheme: str = "https") -> str:
    """Return the URL of a listening socket, without a path."""
    address, port = listener.getsockname()[:2]
    return f"{scheme}://[{address}]:{port}" if ":" in address else f"{scheme}://{address}:{port}"
