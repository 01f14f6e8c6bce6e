"""Requests and answers over HTTP, and what a client may take."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

import msgspec

from webhook.admission import Answer

_LONGEST_HEAD = 1 << 11
"""The longest head that is remembered, in bytes; those of API servers have some hundred."""
_DIGITS = 9
"""The digits of a length, and one more."""
_OF_HOSTS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!$%&'()*+,-./:;=@[]_~"  # as httpguts has it


@dataclass(frozen=True)
class Limits:
    """The limits of the connections of a port.

    Args:
        handshake_seconds: For the TLS handshake.
        header_seconds: For the header of a request, from the handshake or from its first byte.
        body_seconds: For the body of a request, from the end of its header.
        idle_seconds: Between requests; longer than the 90 s after which an API server closes an idle connection, since
            the client must be the side that closes.
        stalled_seconds: For a client to read some of its pending answers.
        closing_seconds: For a client to close its side after the server has, and to send the first request of a
            connection when the server stops.
        grace_seconds: For the requests in flight, and for handshakes, when the server stops.
        header_bytes: The maximum length of a header.
        header_fields: The maximum number of header fields, including trailers, of all requests that are sent together;
            an API server sends about ten.
        small_pieces: The maximum number of pieces of their bodies that are shorter than 512 bytes; parsing one costs as
            much as many bytes.
        requests: The maximum number sent over a connection before the first is answered; API servers, kubelet and
            Prometheus send one.
        connections: The maximum number open at a time; fewer if the process may not open as many files.
        connections_per_address: The maximum number open at a time from one address.
        half_read: The maximum number of connections with a message of their handshake half read, for which OpenSSL
            allocates the length that the client states, up to 130 KB. From one address half as many.
        unread_bytes: The maximum of answers that clients have not read, over all connections.
        bodies_bytes: The maximum of all bodies that are coming in or wait; those of up to 64 KiB are always accepted.
    """

    handshake_seconds: float = 10.0
    header_seconds: float = 10.0
    body_seconds: float = 5.0
    idle_seconds: float = 120.0
    stalled_seconds: float = 10.0
    closing_seconds: float = 2.0
    grace_seconds: float = 20.0
    header_bytes: int = 1 << 16
    header_fields: int = 200
    small_pieces: int = 200
    requests: int = 4
    connections: int = 1000
    connections_per_address: int = 500
    half_read: int = 64
    unread_bytes: int = 1 << 26
    bodies_bytes: int = 1 << 26


class Client(Protocol):
    """The client at the other end of a connection, in its TLS handshake or after it."""

    address: str = ""
    due: float = 0.0
    """When it must have done what the connection waits for, by ``time.monotonic``."""
    is_busy: bool = False
    """Whether a request is being answered, so that the connection is not idle."""
    is_slow: bool = False
    """Whether its last review took long: its next one comes after those of others."""
    is_heavy: bool = False
    """Whether its last review was too much for the event loop: its next one gets a process at once, if one is free."""
    unread: int = 0
    """The bytes of answers that it has not read."""
    counted: int = 0
    """The bytes that its bodies take."""

    def answered(self, page: Answer) -> None:
        """Send it the answer that it waits for."""

    def expire(self) -> None:
        """Do what follows from the deadline's passing."""

    def drop_body(self) -> bool:
        """Give up the body that is coming in, if that frees memory; return whether it does."""

    def shutdown(self) -> None:
        """Close the connection as the server stops, unless a request is on its way."""

    def abort(self) -> None:
        """Close the connection at once."""


class HTTPRequest(msgspec.Struct, eq=False):
    """A request, whose body may still be coming in.

    Args:
        path: The path of its target, unescaped.
        query: The query of its target, as it was sent.
        headers: Its headers by lower-case name; values of equal names are joined.
        keeps: Whether the client may send another request over the connection.
        refusal: Why it is not answered, if that is known before it is complete.
    """

    method: bytes
    path: str
    query: bytes
    headers: dict[bytes, bytes]
    keeps: bool = True
    refusal: Answer | None = None
    pieces: list[bytes] = msgspec.field(default_factory=list)
    """The pieces of its body that have arrived."""
    size: int = 0
    """Their bytes, also of those that were dropped."""
    counted: int = 0
    """How many of them count towards what all bodies may take."""
    is_answered: bool = False
    """Whether its refusal was sent before it was complete."""
    arrived: float = 0.0
    """When it was complete, by ``time.monotonic``."""

    @property
    def body(self) -> bytes:
        """Its body."""
        return self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)


class Head(msgspec.Struct, frozen=True):
    """The head of a plain request that was parsed.

    A client sends the same one with each request, but for the body's length; parsing it again takes longer than
    everything else that HTTP needs.

    Args:
        before: Its bytes before the length of the body.
        after: Its bytes after the length.
        parsed: The method, path, query and headers of the request.
    """

    before: bytes
    after: bytes
    parsed: tuple[bytes, str, bytes, dict[bytes, bytes]]

    def request_in(self, data: bytes, limit: int) -> HTTPRequest | None:
        """Return the request that has come in one piece, if it has this head; None if it must be parsed.

        Args:
            data: The bytes that have arrived since the request before.
            limit: The most bytes of the body.
        """
        begin = len(self.before)
        end = data.find(b"\r", begin, begin + _DIGITS)
        if not (data.startswith(self.before) and data.startswith(self.after, end)):
            return None
        body = data[end + len(self.after) :]
        if len(body) > limit or data[begin:end] != b"%d" % len(body):
            return None
        return HTTPRequest(*self.parsed, pieces=[body], arrived=time.monotonic())


def head_of(data: bytes, request: HTTPRequest) -> Head | None:
    """Return the head of a request that was parsed; None if others with this head may be treated otherwise.

    Args:
        data: The bytes that have arrived since the request before.
        request: The first of the requests in it.
    """
    head, end, body = data.partition(b"\r\n\r\n")
    before, name, rest = head.partition(b"\r\nContent-Length: ")
    length = rest.partition(b"\r\n")[0]
    is_whole = request.pieces == [body] and request.headers.get(b"content-length") == length == b"%d" % len(body)
    if not (is_whole and request.keeps) or b"expect" in request.headers or len(head) > _LONGEST_HEAD:
        return None
    parsed = request.method, request.path, request.query, request.headers
    return Head(before + name, rest[len(length) :] + end, parsed)


def refusal(status: HTTPStatus, reason: str, headers: str = "", *, is_last: bool = False) -> Answer:
    """Refuse a request with a reason."""
    return Answer(status, f"{status.phrase}: {reason}\n".encode(), headers=headers, is_last=is_last)


def fault_of(version: str, headers: dict[bytes, bytes]) -> tuple[HTTPStatus, str] | None:
    """Return what in a header violates HTTP where the parser does not look, as Go's net/http does, and its status."""
    host, coding = headers.get(b"host"), headers.get(b"transfer-encoding")
    if version not in {"1.0", "1.1"}:
        return HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.x is supported"
    if host is None and version == "1.1":
        return HTTPStatus.BAD_REQUEST, "the header Host is missing"
    if host and host.translate(None, _OF_HOSTS):
        return HTTPStatus.BAD_REQUEST, "the header Host is malformed"
    if coding is not None and version == "1.0":  # its end is uncertain (RFC 9112, section 6.1)
        return HTTPStatus.BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding"
    if coding is not None and coding.rstrip(b" \t").lower() != b"chunked":
        return HTTPStatus.NOT_IMPLEMENTED, "the only supported Transfer-Encoding is chunked"
    return None
