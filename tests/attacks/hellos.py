"""Handshakes that begin all at once."""

from contextlib import suppress
from itertools import cycle

from tests.attacks import Attack
from tests.attacks.groups import hello
from tests.attacks.target import Target

COUNT = 900


def _run(target: Target) -> None:
    """Open connections first, so that only their first messages are left to send."""
    message = hello("prime256v1")
    sources = cycle(("127.0.0.2", "127.0.0.3", "127.0.0.4"))
    sent = 0
    while not target.is_over:
        kept = target.crowd(COUNT, lambda: target.plain(source=next(sources)))
        for connection in kept:
            with suppress(OSError):
                sent += connection.send(message) > 0
        for connection in kept:
            with suppress(OSError):
                connection.recv(1)
            connection.close()
    assert sent >= COUNT, "the attack did not take place"


ATTACK = Attack(f"{COUNT} handshakes that begin at once", _run, seconds=4)
