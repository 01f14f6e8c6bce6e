"""Requests and answers over HTTP."""

from __future__ import annotations

import logging
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import unquote

from httptools import parse_url

from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

PLAIN: Final = b"text/plain; charset=utf-8"
RETRY: Final = b"retry-after: 1\r\n"
"""A header line of a refusal that does not last."""

_KNOWN: Final = 64
_SHORT: Final = 256
"""The longest target that is cached, in bytes; each API server requests two or three. No page has a longer path."""
_log = logging.getLogger(__name__)


class Target(NamedTuple):
    """The target of a request.

    Args:
        path: The path, unescaped.
        query: The query, as it was sent.
    """

    path: str
    query: bytes


class Page(NamedTuple):
    """An answer.

    Args:
        status: Its status.
        body: Its body.
        content_type: The body's type.
        headers: Further header lines, each with its line end.
        is_last: Whether the connection closes after it.
    """

    status: int
    body: bytes
    content_type: bytes = PLAIN
    headers: bytes = b""
    is_last: bool = False


class Request:
    """A request.

    Args:
        method: Its method.
        target: Its target.
        headers: Its headers by lower-case name; values of equal names are joined.
        client: Identifies the client.
        peer: The client's address and port.
        keeps: Whether the client may send another request over the connection.
        body: Its body.
    """

    __slots__ = ("arrived", "body", "client", "headers", "keeps", "method", "peer", "target")

    def __init__(
        self,
        method: bytes,
        target: Target,
        headers: Mapping[bytes, bytes],
        client: str = "",
        peer: tuple[str, int] | None = None,
        *,
        keeps: bool = True,
        body: bytes = b"",
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.client = client
        self.peer = peer
        self.keeps = keeps
        self.body = body
        self.arrived = 0.0
        """When it was complete, by ``time.monotonic``."""

    @property
    def sender(self) -> tuple[str, tuple[str, int] | None]:
        """The client, and its connection."""
        return self.client, self.peer


class Incoming(Request):
    """A request that arrives in pieces."""

    __slots__ = ("expects", "is_answered", "length", "pieces", "refusal", "size")

    def __init__(
        self,
        method: bytes,
        target: Target,
        headers: Mapping[bytes, bytes],
        client: str = "",
        peer: tuple[str, int] | None = None,
        *,
        keeps: bool = True,
    ) -> None:
        super().__init__(method, target, headers, client, peer, keeps=keeps)
        self.length = int(headers.get(b"content-length", -1))
        """The stated length of its body; -1 if it states none."""
        self.expects = b"expect" in headers and headers[b"expect"].lower() == b"100-continue"
        """Whether the client waits for ``100 Continue`` before it sends the body."""
        self.pieces: list[bytes] = []
        """The pieces of its body that have arrived, until it is complete."""
        self.size = 0
        """The bytes of the pieces that count towards the memory limit."""
        self.refusal: Page | None = None
        """Its refusal, if that is known before it is complete."""
        self.is_answered = False
        """Whether the refusal has been sent."""


def target_of(url: bytes) -> Target:
    """Read the target of a request line.

    Raises:
        ValueError: It is not a URL.
        HttpParserInvalidURLError: The same.
    """
    return _known_target(url) if len(url) < _SHORT else _read_target(url)


def _read_target(url: bytes) -> Target:
    parsed = parse_url(url)
    path = (parsed.path or b"/").decode("ascii")
    return Target(unquote(path) if len(path) < _SHORT else path, parsed.query or b"")


_known_target = lru_cache(_KNOWN)(_read_target)


def refusal(status: HTTPStatus, reason: str, headers: bytes = b"", *, is_last: bool = False) -> Page:
    """Make the page of a refusal, with its reason."""
    return Page(status, f"{status.phrase}: {reason}\n".encode(), PLAIN, headers, is_last)


def failed(error: BaseException) -> Page:
    """Log an unexpected exception; return the response to its request."""
    _log.error("a request could not be answered", exc_info=error)
    return Page(HTTPStatus.INTERNAL_SERVER_ERROR, b"Internal Server Error", is_last=True)
