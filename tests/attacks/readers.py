"""Clients that send large requests and read nothing, on all available connections."""

import socket
import time
from collections.abc import Callable
from contextlib import suppress

from tests.attacks import MIB, Attack
from tests.attacks.answers import terms
from tests.attacks.target import TIMEOUT, Target, claim, padded

CONNECTIONS = 960
SOURCES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


def _sending(request: bytes, *, plain: bool = False, again: bool = True) -> Callable[[Target], None]:
    """Send something over very many connections, and read nothing."""

    def run(target: Target) -> None:
        kept: list[socket.socket] = []
        while not target.is_over and len(kept) < CONNECTIONS:
            source = SOURCES[len(kept) % len(SOURCES)]
            with suppress(OSError):
                connection = target.plain(target.monitoring if plain else target.port, source)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                if not plain:
                    connection = target.trust.wrap_socket(connection, server_hostname="127.0.0.1")
                kept.append(connection)
                connection.settimeout(0)
                with suppress(OSError):
                    connection.send(request)
        while not target.is_over:
            time.sleep(0.1)
            for each in kept if again else ():
                with suppress(OSError):
                    each.send(request[: 1 << 16])
        assert len(kept) > 150, "the attack did not take place"

    return run


def post(body: bytes, path: str, timeout: str = TIMEOUT) -> bytes:
    """Write a request."""
    head = f"POST {path}?{timeout} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


ATTACK = {
    "once": Attack(
        "a long answer on each of 960 connections that read none",
        _sending(post(terms(400), "/mutate"), again=False),
        growth=320 * MIB,
        seconds=12,
    ),
    "ahead": Attack(
        "bodies of 60 KB sent ahead on as many",
        _sending(post(padded(claim(["true"]), 60_000), "/validate", "timeout=30s") * 10),
        growth=320 * MIB,
        seconds=12,
    ),
    "overview": Attack(
        "the page for people requested ahead on connections to the port of probes",
        _sending(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 4, plain=True),
        seconds=4,
    ),
    "accept": Attack(
        "metrics requested with very long lists of media types",
        _sending(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: %b\r\n\r\n" % (b"a/b;q=1," * 8000), plain=True),
        seconds=4,
    ),
    "metrics": Attack(
        "metrics requested ahead on connections to the port of probes",
        _sending(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 90, plain=True),
    ),
}
