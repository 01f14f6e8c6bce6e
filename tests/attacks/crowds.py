"""Connections without end: to the port of probes, silent ones, idle ones, those that send or read slowly."""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from tests.attacks import MIB, Attack
from tests.attacks.target import Target, claim, together, trusting

COUNT = 1000
POST = "POST /mutate?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def _probes(target: Target) -> list[str]:
    kept = target.crowd(COUNT, lambda: target.plain(target.monitoring))
    target.rest()
    return [] if len(kept) > COUNT / 2 else ["the attack did not take place"]


def _silent(target: Target) -> list[str]:
    kept = target.crowd(COUNT, target.plain)
    target.rest()
    return [] if len(kept) > COUNT / 2 else ["the attack did not take place"]


def _stopped(target: Target) -> list[str]:
    """Begin handshakes with messages of which OpenSSL would keep 128 KiB each."""

    def begun() -> socket.socket:
        connection = target.plain()
        connection.sendall(b"\x16\x03\1\x40\0\1\1\xff\0\3\3" + b"a" * 16_378)
        return connection

    kept = target.crowd(COUNT, begun)
    target.rest()
    return [] if len(kept) > COUNT / 2 else ["the attack did not take place"]


def _idle(target: Target) -> list[str]:
    context = trusting(target.ca)
    kept = target.crowd(COUNT, lambda: context.wrap_socket(target.plain(), server_hostname="127.0.0.1"))
    target.rest()
    return [] if len(kept) > COUNT / 2 else ["the attack did not take place"]


def _reconnecting(target: Target) -> list[str]:
    """Open and close connections; in turn, since each that is not reset keeps a port of this machine for a minute."""

    def client() -> None:
        for number in count():
            if target.is_over:
                return
            with suppress(OSError), target.plain() as connection:
                if number % 8:
                    reset(connection)

    together(*[client] * 4)
    return []


def reset(connection: socket.socket) -> None:
    """Close a connection at once, which leaves nothing of it."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _trickling(begun: bytes) -> Callable[[Target], list[str]]:
    def run(target: Target) -> list[str]:
        context = trusting(target.ca)
        kept = target.crowd(200, lambda: context.wrap_socket(target.plain(), server_hostname="127.0.0.1"))
        for connection in kept:
            with suppress(OSError):
                connection.sendall(begun)
        while not target.is_over:
            for connection in kept:
                with suppress(OSError):
                    connection.send(b"1;\r\n"[:1])
            time.sleep(0.2)
        return []

    return run


def _pipelining(target: Target) -> list[str]:
    flood = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 4

    def client() -> None:
        while not target.is_over:
            with suppress(OSError), target.tls() as connection:
                for _ in range(20):
                    connection.sendall(flood)
                    connection.recv(1 << 16)

    together(*[client] * 8)
    return []


def _refused(target: Target) -> list[str]:
    requests = [
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000,
        b"no HTTP\r\n\r\n",
        f"{POST}Content-Length: 99999999\r\n\r\n".encode(),
        f"{POST}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{{}}".encode(),
    ]

    def client() -> None:
        while not target.is_over:
            for request in requests:
                with suppress(OSError), target.tls() as connection:
                    connection.sendall(request)
                    connection.recv(1 << 16)

    together(*[client] * 8)
    return []


def _hoarding(target: Target) -> list[str]:
    """Send long bodies but for their ends."""
    begun = f"{POST}Content-Length: 6000000\r\n\r\n".encode() + b" " * 5_900_000

    def client() -> None:
        while not target.is_over:
            with suppress(OSError), target.tls() as connection:
                connection.sendall(begun)
                connection.recv(1 << 16)

    together(*[client] * 16)
    return []


def _resetting(target: Target) -> list[str]:
    body = claim(["true"])

    def client() -> None:
        while not target.is_over:
            with suppress(OSError):
                connection = target.tls()
                connection.sendall(f"{POST}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                reset(connection)

    together(*[client] * 8)
    return []


def _unread(target: Target) -> list[str]:
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
    return []


CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n".encode()
ATTACK = {
    "probes": Attack("1,000 connections to the port of probes", _probes),
    "silent": Attack("1,000 connections without a handshake", _silent, slowest=1.0, anew=True),
    "stopped": Attack("1,000 handshakes that stop in a long message", _stopped, growth=40 * MIB, seconds=4),
    "idle": Attack("1,000 connections without a request", _idle, slowest=1.0, anew=True),
    "reconnecting": Attack("connections that are closed at once", _reconnecting, slowest=1.0, anew=True),
    "slow-headers": Attack("200 headers, a byte at a time", _trickling(b"POST /validate HTTP/1.1\r\nA: ")),
    "slow-bodies": Attack("200 bodies, a byte at a time", _trickling(CHUNKED)),
    "pipelining": Attack("requests sent ahead", _pipelining),
    "refused": Attack("requests that are answered 400, 413, 415, 431", _refused),
    "hoarding": Attack("16 bodies of 6 MB whose ends do not come", _hoarding, slices=True, growth=300 * MIB),
    "resetting": Attack("connections that are reset before the answer", _resetting),
    "unread": Attack("90 connections that read no answer", _unread, growth=150 * MIB, seconds=12),
}
