"""Requests in very many small parts, each of which costs as much time as many bytes: on many connections at once."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import cycle

from tests.attacks import Attack
from tests.attacks.rekeying import Keys, sealed
from tests.attacks.target import TIMEOUT, Target

CONNECTIONS = 100
POST = f"POST /validate?{TIMEOUT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
READY = 600
FIELDS = (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 48 + b"\r\n") * 4
LONG = POST + b"Content-Length: 100000\r\n\r\n"
RECORDS = 2800
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ESCAPES = b"GET /" + b"%2e/" * 15_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"


def _burst(request: bytes) -> Callable[[Target], None]:
    """Send something over all connections at once, again and again."""

    def run(target: Target) -> None:
        def begin() -> tuple[socket.socket, Callable[[], object]]:
            connection = target.tls()
            return connection, partial(connection.sendall, request)

        target.bursts(CONNECTIONS, begin)

    return run


def _ready(target: Target) -> None:
    """Send headers of many fields over as many connections as were opened before, at the same time."""
    sources = cycle(("127.0.0.1", "127.0.0.2"))
    connections = target.crowd(READY, lambda: target.tls(next(sources)))
    for each in connections:
        each.settimeout(0)
    for each in connections:
        with suppress(OSError):
            each.send(FIELDS)
    time.sleep(2)


def _records(keys: Keys) -> bytes:
    """Make a body in TLS records of a byte each, as many as the server reads at once."""
    return keys.record(LONG) + b"".join(keys.record(b" ") for _ in range(RECORDS))


ATTACK = {
    name: Attack(text, run, seconds=4)
    for name, text, run in (
        ("records", "bodies in TLS records of a byte", sealed(CONNECTIONS, _records)),
        ("chunks", "bodies in chunks of a byte", _burst(CHUNKED + b"1\r\n \r\n" * 40_000)),
        ("fields", "headers of very many fields", _burst(POST + b"a:b\r\n" * 50_000)),
        ("ready", "headers of many fields at the same time, of 600 connections that are ready", _ready),
        ("escapes", "paths of very many escapes", _burst(ESCAPES * 20)),
        ("trailers", "as many trailers", _burst(CHUNKED + b"1\r\n \r\n0\r\n" + b"a:b\r\n" * 50_000)),
    )
}
