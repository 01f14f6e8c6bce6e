"""Requests in very many small parts, each of which costs as much time as many bytes: on many connections at once."""

import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import cycle

from tests.attacks import Attack
from tests.attacks.rekeying import keyed, send_sealed
from tests.attacks.target import TIMEOUT, Target, together, trusting

CONNECTIONS = 100
POST = f"POST /validate?{TIMEOUT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode()
READY = 600
FIELDS = (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 48 + b"\r\n") * 4
LONG = POST + b"Content-Length: 100000\r\n\r\n"
RECORDS = 2800
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


def _ready(target: Target) -> list[str]:
    """Send headers of many fields over as many connections as were opened before, at the same time."""
    sources = cycle(("127.0.0.1", "127.0.0.2"))
    connections = target.crowd(READY, lambda: target.tls(next(sources)))
    for each in connections:
        each.settimeout(0)
    for each in connections:
        with suppress(OSError):
            each.send(FIELDS)
    time.sleep(2)
    return []


def _records(target: Target) -> list[str]:
    """Send bodies in TLS records of a byte each, as many as the server reads at once."""
    while not target.is_over:
        connections = [keyed(trusting(target.ca), target.plain()) for _ in range(CONNECTIONS)]
        sent = [
            (connection, keys.record(LONG) + b"".join(keys.record(b" ") for _ in range(RECORDS)))
            for connection, keys in connections
        ]
        together(*(partial(_send_sealed, *each) for each in sent))
        time.sleep(0.5)
        for connection, _ in connections:
            connection.close()
    return []


def _send_sealed(connection: ssl.SSLSocket, records: bytes) -> None:
    with suppress(OSError):
        connection.settimeout(2)
        send_sealed(connection, records)


ATTACK = {
    "records": Attack("bodies in TLS records of a byte", _records, seconds=4),
    "chunks": Attack("bodies in chunks of a byte", _burst(CHUNKED + b"1\r\n \r\n" * 40_000), seconds=4),
    "fields": Attack("headers of very many fields", _burst(POST + b"a:b\r\n" * 50_000), seconds=4),
    "ready": Attack("headers of many fields at the same time, of 600 connections that are ready", _ready, seconds=4),
    "escapes": Attack(
        "paths of very many escapes",
        _burst((b"GET /" + b"%2e/" * 15_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n") * 20),
        seconds=4,
    ),
    "trailers": Attack("as many trailers", _burst(CHUNKED + b"1\r\n \r\n0\r\n" + b"a:b\r\n" * 50_000), seconds=4),
}
