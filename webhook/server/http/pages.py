"""Serves a WSGI application on the event loop."""

from __future__ import annotations

import io
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from werkzeug import Response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

    from webhook.server.http.outgoing import Outgoing

    Scope = Mapping[str, Any]
    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[None]]

CLOSE = (b"connection", b"close")


class Page(NamedTuple):
    """An answer over HTTP.

    Args:
        status: Its status.
        headers: Its headers, ``content-length`` apart.
        body: Its body.
    """

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class RefusedError(Exception):
    """A request is refused before all of it is read.

    Args:
        page: The answer.
    """

    def __init__(self, page: Page) -> None:
        self.page = page


class GoneError(Exception):
    """The client waits for no answer any more."""


class Incoming:
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
            GoneError: No more will come.
        """
        event = await self._receive()
        if event["type"] != "http.request":
            raise GoneError
        self.whole = not event["more_body"]
        block: bytes = event["body"]
        return block


class Pages:
    """An ASGI application of a WSGI application.

    Args:
        pages: The WSGI application, called on the event loop.
        body_limit: The longest body that is read, in bytes.
        refused: Told of each refused request, and the answer's status.
    """

    def __init__(
        self,
        pages: WSGIApplication,
        *,
        body_limit: int = 1 << 16,
        refused: Callable[[int], None] = lambda _status: None,
    ) -> None:
        self.body_limit = body_limit
        self.closing = False
        """Whether each answer is the last of its connection."""
        self._pages = pages
        self.refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        incoming = Incoming(receive)
        try:
            try:
                page = await self.answer(scope, incoming)
            except RefusedError as refused:
                page = refused.page
                self.refused(page.status)
            headers = [*page.headers, (b"content-length", b"%d" % len(page.body))]
            if (self.closing or not incoming.whole) and CLOSE not in headers:
                headers.append(CLOSE)
            outgoing: Outgoing = scope["state"]["outgoing"]
            outgoing.hold()
            try:
                await send({"type": "http.response.start", "status": page.status, "headers": headers})
                await send({"type": "http.response.body", "body": page.body, "more_body": not incoming.whole})
            finally:
                outgoing.release()
            if not incoming.whole:
                # A connection that is closed while bytes come in is reset, and its client may never see the answer.
                while not incoming.whole:
                    await incoming.block()
                await send({"type": "http.response.body"})
        except GoneError:
            return

    async def answer(self, scope: Scope, incoming: Incoming) -> Page:
        """Answer a request.

        Raises:
            RefusedError: The request is refused.
            GoneError: Its client has gone.
        """
        if int(dict(scope["headers"]).get(b"content-length", 0)) > self.body_limit:
            raise self.too_large()
        return _respond(self._pages, scope, await self.read(incoming))

    async def read(self, incoming: Incoming) -> bytes:
        """Read a body.

        Raises:
            RefusedError: It is too long.
            GoneError: Its client has gone.
        """
        body = bytearray()
        while not incoming.whole:
            body += await incoming.block()
            if len(body) > self.body_limit:
                raise self.too_large()
        return bytes(body)

    def too_large(self) -> RefusedError:
        """Make the refusal of a long body."""
        return RefusedError(refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {self.body_limit} bytes"))


def refusal(status: HTTPStatus, reason: str, *headers: tuple[bytes, bytes]) -> Page:
    """Make the page that says why a request is refused."""
    body = f"{status.phrase}: {reason}\n".encode()
    return Page(status, [(b"content-type", b"text/plain; charset=utf-8"), *headers], body)


def _respond(app: WSGIApplication, scope: Scope, body: bytes) -> Page:
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
    return Page(response.status_code, headers, response.get_data())
