"""Pages of a WSGI application, which is made on the first request."""

from __future__ import annotations

import asyncio
import io
import sys
from http import HTTPStatus

from webhook.server.http.messages import RETRY, Page, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable
    from typing import Final

    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

    from webhook.server.http.messages import Request


_LATER: Final = refusal(HTTPStatus.SERVICE_UNAVAILABLE, "the page is not ready yet", RETRY)


def of_wsgi(make: Callable[[], WSGIApplication], path: str) -> Callable[[Request], Page | Future[Page]]:
    """Return a function that answers requests by a page of a WSGI application (PEP 3333), the same each time.

    Args:
        make: Makes the application. When the page is first requested, a thread imports it, and reviews go on meanwhile.
        path: The path of the page.
    """

    def page() -> Page:
        from werkzeug import Response  # 2 MB

        response = Response.from_app(make(), _environ(path), buffered=True)
        return Page(response.status_code, response.get_data(), response.headers["Content-Type"].encode("latin-1"))

    made: Future[Page] | None = None

    def answer(_request: Request) -> Page | Future[Page]:
        nonlocal made
        if made is None:
            made = asyncio.get_running_loop().run_in_executor(None, page)
            return made
        # Connections that wait for an answer are not closed for new ones, so only one does.
        return made.result() if made.done() else _LATER

    return answer


def _environ(path: str) -> WSGIEnvironment:
    return {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "draguard",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
