"""Hostile clients of every kind at once, and an ordinary one among them that gets every answer."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.cli.reviews import review
from tests.serving import JSON, Served, eventually, post, serving, statuses
from webhook import admission
from webhook.server import Limits, Reviews

pytestmark = pytest.mark.process

REQUESTS = 300
HURRY = Limits(handshake_seconds=2.0, header_seconds=2.0, body_seconds=2.0, stalled_seconds=2.0, closing_seconds=2.0)
DEEP = b'{"a":' * 100_000
GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def half_open(served: Served) -> list[int]:
    """Connect, and send nothing: no handshake, or no request after it."""
    with socket.create_connection((served.host, served.port)), served.socket() as connection:
        return statuses(everything(connection))


def trickling(served: Served) -> list[int]:
    """Send a byte at a time."""
    with served.socket() as connection:
        connection.settimeout(0.05)
        for byte in post("Content-Length: 100\r\n", b"x" * 90):
            connection.sendall(bytes([byte]))
            with suppress(TimeoutError):
                return statuses(connection.recv(4096))
    return []


def huge(served: Served) -> list[int]:
    """Send 7 MiB in chunks, whose length is not known before."""
    with served.socket() as connection:
        connection.sendall(post("Transfer-Encoding: chunked\r\n"))
        with suppress(OSError):  # an answer comes before the end
            for _ in range(7):
                connection.sendall(b"100000\r\n" + b"x" * 2**20 + b"\r\n")
        return statuses(everything(connection))


def deep(served: Served) -> list[int]:
    """Send absurdly deep JSON."""
    return sent(served, DEEP)


def invalid(served: Served) -> list[int]:
    """Send invalid UTF-8."""
    return sent(served, b'{"kind": "\xff\xfe\xc3("}')


def compressed(served: Served) -> list[int]:
    """Send a body that would be much larger once unpacked."""
    return sent(served, gzip.compress(b"x" * 2**22), "Content-Encoding: gzip\r\n")


def pipelined(served: Served) -> list[int]:
    """Send more pipelined requests than are allowed."""
    with served.socket() as connection:
        connection.sendall(GET * 1000)
        return sorted(set(statuses(everything(connection))))[-1:]


def garbled(served: Served) -> list[int]:
    """Send what is not HTTP."""
    with served.socket() as connection:
        connection.sendall(b"\x16\x03\x01 HTTP\r\n\r\n")
        return statuses(everything(connection))


def resetting(served: Served) -> list[int]:
    """Disconnect in the middle of a body."""
    connection = served.socket()
    connection.sendall(post("Content-Length: 1000\r\n", b"{"))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    return []


ANSWERS: dict[Callable[[Served], list[int]], list[int]] = {
    half_open: [],
    trickling: [408],
    huge: [413],
    deep: [400],
    invalid: [400],
    compressed: [415],
    pipelined: [400],
    garbled: [400],
    resetting: [],
}


def sent(served: Served, body: bytes, headers: str = "") -> list[int]:
    with served.socket() as connection:
        connection.sendall(post(f"{headers}Content-Length: {len(body)}\r\nConnection: close\r\n", body))
        return statuses(everything(connection))


def everything(connection: ssl.SSLSocket) -> bytes:
    """Receive until the server closes the connection."""
    received = bytearray()
    with suppress(ConnectionResetError):  # since it closes with something unread
        while block := connection.recv(65536):
            received += block
    return bytes(received)


def test_an_ordinary_client_is_answered_among_hostile_ones(caplog: pytest.LogCaptureFixture) -> None:
    found: dict[str, Counter[tuple[int, ...]]] = {attack.__name__: Counter() for attack in ANSWERS}
    ended = threading.Event()

    def all_met() -> bool:
        return all(tuple(expected) in found[attack.__name__] for attack, expected in ANSWERS.items())

    def repeat(attack: Callable[[Served], list[int]]) -> None:
        while not ended.wait(0.01):
            found[attack.__name__][tuple(attack(served))] += 1

    asked = json.dumps(review("a")).encode()
    options = admission.ReviewOptions()
    answers = Counter[tuple[int, bool]]()
    started = time.monotonic()
    with serving(Reviews(lambda body, call: admission.answer(body, call, options)), HURRY) as served:
        attackers = [threading.Thread(target=repeat, args=[attack]) for attack in ANSWERS]
        for attacker in attackers:
            attacker.start()
        deadline = time.monotonic() + 60
        try:
            connection = served.connect()
            while (sum(answers.values()) < REQUESTS or not all_met()) and time.monotonic() < deadline:
                connection.request("POST", "/validate?timeout=10s", asked, JSON)
                response = connection.getresponse()
                answers[response.status, b'"allowed":' in response.read()] += 1
            connection.close()
        finally:
            ended.set()
            for attacker in attackers:
                attacker.join()
        assert eventually(lambda: not served.connections)
        assert served.get("/healthz") == (200, b"ok\n")
    assert set(answers) == {(200, True)}
    assert answers.total() >= REQUESTS
    assert all_met(), found
    for attack, expected in ANSWERS.items():  # a client that is too slow gets a 408, or misses an answer
        assert set(found[attack.__name__]) <= {tuple(expected), (408,), ()}, attack
    assert "Traceback" not in caplog.text
    refused = [message for message in caplog.messages if message.startswith("refused a request of ('127.0.0.1', ")]
    assert refused
    assert len(refused) <= 10 + time.monotonic() - started  # a flood of requests is none of log lines
