"""Requests with heads that were parsed before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.serving import echo
from webhook.server import create_app
from webhook.server.http.connection import Connection
from webhook.server.http.crowd import Crowd
from webhook.server.http.heads import Heads
from webhook.server.http.limits import Limits
from webhook.server.http.messages import Request
from webhook.server.http.port import Port

LIMIT = 100
HEAD = "POST /validate?timeout=5s HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nContent-Type: application/json\r\n\r\n"
FIRST = HEAD.format(2).encode() + b"{}"
OTHERS = {
    "the same": FIRST,
    "a longer body": HEAD.format(10).encode() + b'{"a": "b"}',
    "an empty body": HEAD.format(0).encode(),
    "the end of a head in its body": HEAD.format(6).encode() + b"\r\n\r\n{}",
    "two together": FIRST + FIRST,
    "one and an empty line": FIRST + b"\r\n",
    "after an empty line": b"\r\n" + FIRST,
    "one and the start of another": FIRST + b"POST /val",
    "without its body": HEAD.format(2).encode(),
    "a part of its body": HEAD.format(2).encode() + b"{",
    "a length with a sign": HEAD.format("+2").encode() + b"{}",
    "a length with a zero": HEAD.format("02").encode() + b"{}",
    "a length with a space": HEAD.format("2 ").encode() + b"{}",
    "two lengths": HEAD.format("2\r\nContent-Length: 2").encode() + b"{}",
    "two different lengths": HEAD.format("2\r\nContent-Length: 1").encode() + b"{}",
    "no length": FIRST.replace(b"Content-Length: 2\r\n", b""),
    "chunks": HEAD.format("2\r\nTransfer-Encoding: chunked").encode() + b"0\r\n\r\n",
    "too long a body": HEAD.format(LIMIT + 1).encode() + b" " * (LIMIT + 1),
    "the last request": FIRST.replace(b"Host: x", b"Host: x\r\nConnection: close"),
    "another host": FIRST.replace(b"Host: x", b"Host: {}"),
    "no host": FIRST.replace(b"Host: x\r\n", b""),
    "another type": FIRST.replace(b"/json", b"/yaml"),
    "another version": FIRST.replace(b"1.1", b"1.0"),
    "no review": FIRST.replace(b"/validate", b"/nowhere"),
    "another path": FIRST.replace(b"validate", b"mutate"),
    "no HTTP": b"\x16\x03\x01",
}


class Client(asyncio.Transport):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.received = b""
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        self.received += bytes(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1000) if name == "peername" else default

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Forgetful(Heads):
    """Has to parse all requests."""

    def find(self, data: bytearray, size: int, client: str, peer: tuple[str, int] | None) -> None: ...


class Counting(Heads):
    """Counts the requests that need not be parsed."""

    found = 0

    def find(self, data: bytearray, size: int, client: str, peer: tuple[str, int] | None) -> Request | None:
        request = super().find(data, size, client, peer)
        self.found += request is not None
        return request


def answers(heads: Heads, pieces: Sequence[bytes]) -> tuple[bytes, bool]:
    """Send pieces over one connection; give the answers, and whether it is closed."""

    async def send() -> tuple[bytes, bool]:
        limits = Limits()
        port = Port(create_app(echo, body_limit=LIMIT), limits, Crowd(9, 9, 1 << 20))
        port.headers, port.heads = b"", heads
        connection, client = Connection(port), Client()
        connection.connection_made(client)
        for piece in pieces:
            connection.get_buffer(-1)[: len(piece)] = piece
            connection.buffer_updated(len(piece))
            for _ in range(3):
                await asyncio.sleep(0)
        connection.connection_lost(None)
        return client.received, client.is_closed

    return asyncio.run(send())


@pytest.mark.parametrize("other", OTHERS)
def test_requests_with_a_known_head_are_answered_as_if_it_were_parsed(other: str) -> None:
    pieces = [FIRST, OTHERS[other], FIRST]
    received, is_closed = answers(Heads(), pieces)
    assert (received, is_closed) == answers(Forgetful(), pieces)
    assert b'["validate", 2, "{}"]' in received


def test_what_an_earlier_request_left_in_the_buffer_is_no_part_of_them() -> None:
    earlier, later = HEAD.format(10).encode() + b" " * 10, HEAD.format(-4).encode().removesuffix(b"\r\n\r\n")
    heads = Counting()
    assert answers(heads, [earlier, later]) == answers(Forgetful(), [earlier, later])
    assert heads.found == 0


def test_only_whole_ones_need_no_parsing() -> None:
    heads = Counting()
    answers(heads, [FIRST, OTHERS["a longer body"], FIRST[:9], FIRST[9:], FIRST, OTHERS["two together"], FIRST])
    assert heads.found == 3


@pytest.mark.parametrize(
    "more", ["Expect: 100-continue", "Connection: close", "Content-Encoding: gzip", f"X-Long: {'x' * 2048}"]
)
def test_heads_of_unusual_requests_are_parsed_each_time(more: str) -> None:
    request = FIRST.replace(b"Host: x", f"Host: x\r\n{more}".encode())
    heads = Counting()
    received, is_closed = answers(heads, [request, request, request])
    assert heads.found == 0
    assert (received, is_closed) == answers(Forgetful(), [request, request, request])


def test_few_heads_are_remembered() -> None:
    heads = Counting()
    many = [FIRST.replace(b"Host: x", b"Host: x%d" % number) for number in range(1000)]
    answers(heads, many)
    assert heads.found == 0
    answers(heads, [FIRST, many[0], *many[-9:]])
    assert heads.found == 9


@pytest.mark.parametrize(("line", "status"), [(b"GET /healthz", b"200 OK"), (b"POST /nowhere", b"404 Not Found")])
def test_pages_are_parsed_each_time_so_that_their_time_counts(line: bytes, status: bytes) -> None:
    heads, page = Counting(), line + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
    received, _ = answers(heads, [page, page])
    assert received.count(status) == 2
    assert heads.found == 0
