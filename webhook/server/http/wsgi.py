"""Pages of a WSGI application, which is made on the first request."""

from __future__ import annotations

import io
import sys
from functools import cache

from webhook.server.http.messages import Page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed.wsgi import WSGIApplication, WSGIEnvironment

    from webhook.server.http.messages import Request


def of_wsgi(make: Callable[[], WSGIApplication], path: str) -> Callable[[Request], Page]:
    """Return a function that answers requests by a page of a WSGI application (PEP 3333), the same each time.

    Args:
        make: Makes the application; a process imports it when the page is first requested.
        path: The path of the page.
    """

    @cache
    def page() -> Page:  # most of a millisecond, for which other clients wait
        from werkzeug import Response  # 2 MB

        response = Response.from_app(make(), _environ(path), buffered=True)
        return Page(response.status_code, response.get_data(), response.headers["Content-Type"].encode("latin-1"))

    return lambda _request: page()


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
