"""Handshakes over finite fields, which take a server hundreds of times as long as those over elliptic curves."""

from __future__ import annotations

import ssl
from contextlib import suppress

from tests.attacks import Attack
from tests.attacks.target import Target, together, trusting

CONNECTIONS = 32


def hello(context: ssl.SSLContext, group: str) -> bytes:
    """Return the first message of a client that offers a single group."""
    context.set_ecdh_curve(group)
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="127.0.0.1").do_handshake()
    return sent.read()


def _run(target: Target) -> list[str]:
    """Send the same message again and again, which takes the client no time."""
    message = hello(trusting(target.ca), "ffdhe8192")

    def client() -> None:
        while not target.is_over:
            with suppress(OSError), target.plain() as connection:
                connection.sendall(message)
                connection.recv(1 << 14)

    together(*[client] * CONNECTIONS)
    return []


ATTACK = Attack(f"handshakes over finite fields, on {CONNECTIONS} connections", _run, seconds=4)
