"""Connections without end: to the port of probes, silent ones, idle ones, those that send or read slowly."""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from tests.attacks import MIB, Attack
from tests.attacks.target import Target, claim

COUNT = 1000
POST = "POST /mutate?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n".encode()
REFUSED = (
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000,
    b"no HTTP\r\n\r\n",
    f"{POST}Content-Length: 99999999\r\n\r\n".encode(),
    f"{POST}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{{}}".encode(),
)


def _crowd(open_one: Callable[[Target], socket.socket]) -> Callable[[Target], None]:
    """Open many connections, and leave them alone."""

    def run(target: Target) -> None:
        kept = target.crowd(COUNT, lambda: open_one(target))
        target.rest()
        assert kept

    return run


def _stopped(target: Target) -> socket.socket:
    """Begin a handshake with a message of which OpenSSL would keep 128 KiB."""
    connection = target.plain()
    connection.sendall(b"\x16\x03\1\x40\0\1\1\xff\0\3\3" + b"a" * 16_378)
    return connection


def _reconnecting(target: Target) -> None:
    """Open and close connections; in turn, since each that is not reset keeps a port of this machine for a minute."""
    numbers = count()

    def once() -> None:
        with target.plain() as connection:
            if next(numbers) % 8:
                reset(connection)

    target.repeat(once, clients=4)


def reset(connection: socket.socket) -> None:
    """Close a connection at once, which leaves nothing of it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _trickling(begun: bytes) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        kept, sent = target.crowd(200, target.tls), begun
        while not target.is_over:
            for connection in kept:
                with suppress(OSError):
                    connection.sendall(sent)
            sent = b"1"
            time.sleep(0.2)

    return run


def _pipelining(target: Target) -> None:
    flood = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 4

    def once() -> None:
        with target.tls() as connection:
            for _ in range(20):
                connection.sendall(flood)
                connection.recv(1 << 16)

    target.repeat(once)


def _hoarding(target: Target) -> None:
    """Send long bodies but for their ends."""
    target.send([f"{POST}Content-Length: 6000000\r\n\r\n".encode() + b" " * 5_900_000], clients=16)


def _resetting(target: Target) -> None:
    body = claim(["true"])

    def once() -> None:
        connection = target.tls()
        connection.sendall(f"{POST}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        reset(connection)

    target.repeat(once)


def _unread(target: Target) -> None:
    """Ask for long answers over 90 connections, and read none of them."""
    body = claim([f"x{number} +" for number in range(2000)])
    request = f"{POST.replace('mutate', 'validate')}Content-Length: {len(body)}\r\n\r\n".encode() + body
    kept: list[socket.socket] = []
    while not target.is_over and len(kept) < 90:
        with suppress(OSError):
            connection = target.tls()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(1)
            kept.append(connection)
            connection.sendall(request * 4)
    target.rest()


ATTACK = {
    "probes": Attack("1,000 connections to the port of probes", _crowd(lambda to: to.plain(to.monitoring))),
    "silent": Attack("1,000 connections without a handshake", _crowd(Target.plain), slowest=1.0, anew=True),
    "stopped": Attack("1,000 handshakes that stop in a long message", _crowd(_stopped), growth=40 * MIB, seconds=4),
    "idle": Attack("1,000 connections without a request", _crowd(Target.tls), slowest=1.0, anew=True),
    "reconnecting": Attack("connections that are closed at once", _reconnecting, slowest=1.0, anew=True),
    "slow-headers": Attack("200 headers, a byte at a time", _trickling(b"POST /validate HTTP/1.1\r\nA: ")),
    "slow-bodies": Attack("200 bodies, a byte at a time", _trickling(CHUNKED)),
    "pipelining": Attack("requests sent ahead", _pipelining),
    "refused": Attack("requests that are answered 400, 413, 415, 431", lambda to: to.send(REFUSED)),
    "hoarding": Attack("16 bodies of 6 MB whose ends do not come", _hoarding, slices=True, growth=300 * MIB),
    "resetting": Attack("connections that are reset before the answer", _resetting),
    "unread": Attack("90 connections that read no answer", _unread, growth=150 * MIB, seconds=12),
}
