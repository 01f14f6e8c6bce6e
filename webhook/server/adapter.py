"""Answers HTTP requests on the event loop: reviews by a plain function, everything else by a WSGI application.

A review takes microseconds, so both are called inline; what is bounded is what happens before: how long a body is, how
much memory the bodies take that are still coming in, and how long a review has waited for its turn.
"""

from __future__ import annotations

import io
import logging
import re
import sys
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from werkzeug import Response

from webhook.admission import Call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

    from webhook.admission import Answer, Endpoint, Record

    Scope = Mapping[str, Any]
    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[None]]

BODY_LIMIT = 6 << 20
"""Twice the 3 MiB that an API server takes of a request: the review of an update holds the old object and the new."""

PATIENCE = 0.25
"""The share of its caller's timeout that a review may wait for its turn."""
LENIENCE = 0.8
"""The share of its caller's timeout after which the failure policy answers; the rest is for the network."""

_SMALL = 1 << 16
_DEFAULT_TIMEOUT = 10.0  # of a webhook that states none (admissionregistration/v1 defaults.go)
_TIMEOUT = re.compile(rb"(?:\A|&)timeout=([1-9][0-9]{0,3})s(?:&|\Z)")  # in whole seconds, as an API server sends it
_REVIEWS: dict[str, tuple[Endpoint, bool | None]] = {
    "/validate": ("validate", None),
    "/validate/fail": ("validate", False),
    "/validate/ignore": ("validate", True),
    "/mutate": ("mutate", None),
    "/mutate/fail": ("mutate", False),
    "/mutate/ignore": ("mutate", True),
}
"""Where reviews are sent to: the endpoint, and whether it admits what it cannot answer if the path says so."""
_RETRY = (b"retry-after", b"1")
_CLOSE = (b"connection", b"close")
_log = logging.getLogger(__name__)


class _Page(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class _RefusedError(Exception):
    """A request is refused before all of it is read."""

    def __init__(self, page: _Page) -> None:
        self.page = page


class _GoneError(Exception):
    """The client waits for no answer any more."""


class _Incoming:
    """A request's body as it comes.

    Args:
        receive: The ASGI server's.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.whole = False

    async def block(self) -> bytes:
        """Return some more of it.

        Raises:
            _GoneError: No more will come.
        """
        event = await self._receive()
        if event["type"] != "http.request":
            raise _GoneError
        self.whole = not event["more_body"]
        block: bytes = event["body"]
        return block


class Adapter:
    """An ASGI application of a review function and a WSGI application.

    Args:
        review: Answers the body of a review, given how the webhook was called.
        observe: Told of each answered review, and how many seconds that took, waiting included.
        pages: Answers everything that is no review.
        body_limit: The longest body that is read, in bytes.
        bodies_limit: How many bytes all bodies that are coming in may take together; small ones are taken anyway.
    """

    def __init__(
        self,
        review: Callable[[bytes, Call], Answer],
        pages: WSGIApplication,
        *,
        observe: Callable[[Record, float], None] = lambda _record, _seconds: None,
        body_limit: int,
        bodies_limit: int,
    ) -> None:
        self.body_limit = body_limit
        self.closing = False
        """Whether each answer is the last of its connection."""
        self._review = review
        self._observe = observe
        self._pages = pages
        self._bodies_limit = bodies_limit
        self.held = 0
        """How many bytes the bodies have that are coming in."""
        self._told_at = float("-inf")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        incoming = _Incoming(receive)
        try:
            try:
                page = await self._answer(scope, incoming)
            except _RefusedError as refused:
                page = refused.page
            headers = [*page.headers, (b"content-length", b"%d" % len(page.body))]
            if (self.closing or not incoming.whole) and _CLOSE not in headers:
                headers.append(_CLOSE)
            await send({"type": "http.response.start", "status": page.status, "headers": headers})
            if not incoming.whole:
                await send({"type": "http.response.body", "body": page.body, "more_body": True})
                # A connection that is closed while bytes come in is reset, and its client may never see the answer.
                while not incoming.whole:
                    await incoming.block()
                page = page._replace(body=b"")
            await send({"type": "http.response.body", "body": page.body})
        except _GoneError:
            return

    async def _answer(self, scope: Scope, incoming: _Incoming) -> _Page:
        asked = _REVIEWS.get(scope["path"])
        headers = dict(scope["headers"])
        if asked:
            _check_review(scope["method"], headers)
        if int(headers.get(b"content-length", 0)) > self.body_limit:
            raise self._too_large()
        body = await self._read(incoming)
        if not asked:
            return _page(self._pages, scope, body)
        timeout, arrived = _timeout(scope), scope["state"]["arrived"]
        if (waited := time.monotonic() - arrived) > PATIENCE * timeout:
            return self._overloaded(f"the review has waited for {waited:.1f} s")
        answer = self._review(body, Call(*asked, arrived + LENIENCE * timeout))
        if answer.record is not None:
            self._observe(answer.record, time.monotonic() - arrived)
        return _Page(answer.status, [(b"content-type", answer.content_type.encode("latin-1"))], answer.body)

    async def _read(self, incoming: _Incoming) -> bytes:
        body = bytearray()
        try:
            while not incoming.whole:
                block = await incoming.block()
                body += block
                self.held += len(block)
                if len(body) > self.body_limit:
                    raise self._too_large()
                if self.held > self._bodies_limit and len(body) > _SMALL:
                    raise _RefusedError(self._overloaded(f"bodies of {self.held} bytes are coming in"))
            return bytes(body)
        finally:
            self.held -= len(body)

    def _too_large(self) -> _RefusedError:
        return _RefusedError(_refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {self.body_limit} bytes"))

    def _overloaded(self, reason: str) -> _Page:
        """Make the answer to what is too much at the moment.

        On it an API server asks again within the webhook's timeout (client-go ``rest/with_retry.go``), over a new
        connection and so perhaps another replica; after that its ``failurePolicy`` decides.
        """
        now = time.monotonic()
        if now - self._told_at > 1:  # once a second: a log line for each would add to the load
            self._told_at = now
            _log.warning("overloaded, answering 503: %s", reason)
        return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, reason, _RETRY, _CLOSE)


def _refusal(status: HTTPStatus, reason: str, *headers: tuple[bytes, bytes]) -> _Page:
    body = f"{status.phrase}: {reason}\n".encode()
    return _Page(status, [(b"content-type", b"text/plain; charset=utf-8"), *headers], body)


def _timeout(scope: Scope) -> float:
    """Return the seconds for which the caller waits for its answer."""
    stated = _TIMEOUT.search(scope["query_string"])
    return float(stated[1]) if stated else _DEFAULT_TIMEOUT


def _check_review(method: str, headers: Mapping[bytes, bytes]) -> None:
    content_type = headers.get(b"content-type", b"").decode("latin-1")
    coding = headers.get(b"content-encoding", b"identity").decode("latin-1")
    if method != "POST":
        page = _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "POST an AdmissionReview", (b"allow", b"POST"))
    elif content_type.partition(";")[0].strip().lower() != "application/json":
        page = _refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send application/json, not {content_type!r}")
    elif coding != "identity":
        page = _refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send the body as it is, not in {coding!r}")
    else:
        return
    raise _RefusedError(page)


def _page(app: WSGIApplication, scope: Scope, body: bytes) -> _Page:
    """Ask a WSGI application (PEP 3333)."""
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": str(scope["server"][1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": scope["client"][0] if scope["client"] else "",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        key = name.decode("latin-1").upper().replace("-", "_")
        if key != "CONTENT_LENGTH":
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value.decode("latin-1")
    response = Response.from_app(app, environ, buffered=True)
    headers = [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in response.headers
        if name.lower() != "content-length"
    ]
    return _Page(response.status_code, headers, response.get_data())
