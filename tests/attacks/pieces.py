"""Requests in very many small parts, each of which costs as much time as many bytes: on many connections at once."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from tests.attacks import Attack
from tests.attacks.target import TIMEOUT, together

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from tests.attacks.target import Target

CONNECTIONS = 100
POST = f"POST /validate?{TIMEOUT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def _burst(request: bytes) -> Callable[[Target], list[str]]:
    """Send something over all connections at once, again and again."""

    def send(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.settimeout(2)
            connection.sendall(request)

    def run(target: Target) -> list[str]:
        while not target.is_over:
            connections = target.crowd(CONNECTIONS, target.tls)
            together(*(partial(send, each) for each in connections))
            time.sleep(0.2)
            for each in connections:
                each.close()
        return []

    return run


def _records(target: Target) -> list[str]:
    """Send bodies in TLS records of a byte each."""

    def send() -> None:
        while not target.is_over:
            with suppress(OSError), target.tls() as connection:
                connection.sendall(POST + b"Content-Length: 100000\r\n\r\n")
                for _ in range(900):
                    connection.send(b" ")

    together(*[send] * 20)
    return []


ATTACK = {
    "records": Attack("bodies in TLS records of a byte", _records, seconds=4),
    "chunks": Attack("bodies in chunks of a byte", _burst(CHUNKED + b"1\r\n \r\n" * 40_000), seconds=4),
    "fields": Attack("headers of very many fields", _burst(POST + b"a:b\r\n" * 50_000), seconds=4),
    "escapes": Attack(
        "paths of very many escapes",
        _burst((b"GET /" + b"%2e/" * 15_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n") * 20),
        seconds=4,
    ),
    "trailers": Attack("as many trailers", _burst(CHUNKED + b"1\r\n \r\n0\r\n" + b"a:b\r\n" * 50_000), seconds=4),
}
