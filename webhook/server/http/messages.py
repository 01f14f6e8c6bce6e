"""Requests and answers over HTTP."""

from __future__ import annotations

import logging
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from httptools import parse_url

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN: Final = b"text/plain; charset=utf-8"

_KNOWN: Final = 64
_SHORT: Final = 256
"""Of targets up to so many bytes some are remembered: each API server asks for two or three."""
_log = logging.getLogger(__name__)


class Target(NamedTuple):
    """The target of a request.

    Args:
        path: As text, what was escaped in it included.
        query: As it was sent.
    """

    path: str
    query: bytes


class Page(NamedTuple):
    """An answer.

    Args:
        status: Its status.
        body: Its body.
        content_type: The body's type.
        headers: More headers, each with the end of its line.
        is_last: Whether it is the last of its connection.
    """

    status: int
    body: bytes
    content_type: bytes = PLAIN
    headers: bytes = b""
    is_last: bool = False


class Request:
    """A request as it comes in.

    Args:
        method: Its method.
        target: What is asked for.
        headers: Its headers, their names in lower case; values of those with the same name are joined.
        client: What tells clients apart.
        peer: The address and port that it comes from.
        keeps: Whether the client expects to send another one over the connection.
    """

    __slots__ = (
        "arrived",
        "body",
        "client",
        "expects",
        "headers",
        "is_answered",
        "keeps",
        "length",
        "method",
        "peer",
        "pieces",
        "refusal",
        "size",
        "target",
    )

    def __init__(
        self,
        method: bytes,
        target: Target,
        headers: Mapping[bytes, bytes],
        *,
        client: str = "",
        peer: tuple[str, int] | None = None,
        keeps: bool = True,
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.client = client
        self.peer = peer
        self.keeps = keeps
        self.length = int(headers.get(b"content-length", -1))
        """How long its body is; -1 if it does not say."""
        self.expects = b"expect" in headers and headers[b"expect"].lower() == b"100-continue"
        """Whether the client waits for a word before it sends the body."""
        self.body = b""
        self.pieces: list[bytes] = []
        """What of its body has come in, until that is whole."""
        self.size = 0
        """How many bytes of them count as memory that is taken."""
        self.arrived = 0.0
        """When it was there as a whole, by ``time.monotonic``."""
        self.refusal: Page | None = None
        """Why it is refused, as is known before all of it is there."""
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
    return Target(unquote((parsed.path or b"/").decode("ascii")), parsed.query or b"")


_known_target = lru_cache(_KNOWN)(_read_target)


def refusal(status: HTTPStatus, reason: str, headers: bytes = b"", *, is_last: bool = False) -> Page:
    """Make the page of a refusal, with its reason."""
    return Page(status, f"{status.phrase}: {reason}\n".encode(), PLAIN, headers, is_last)


def failed(error: BaseException) -> Page:
    """Log an unexpected exception; return the response to its request."""
    _log.error("a request could not be answered", exc_info=error)
    return Page(HTTPStatus.INTERNAL_SERVER_ERROR, b"Internal Server Error", is_last=True)
