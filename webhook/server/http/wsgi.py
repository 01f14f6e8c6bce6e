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


def of_wsgi(make: Callable[[], WSGIApplication]) -> Callable[[Request], Page]:
    """Return a function that answers requests by a WSGI application (PEP 3333).

    Args:
        make: Makes the application; a process imports it when a page is first requested.
    """
    make_once = cache(make)

    def answer(request: Request) -> Page:
        from werkzeug import Response  # 2 MB

        response = Response.from_app(make_once(), _environ(request), buffered=True)
        return Page(response.status_code, response.get_data(), response.headers["Content-Type"].encode("latin-1"))

    return answer


def _environ(request: Request) -> WSGIEnvironment:
    return {
        "REQUEST_METHOD": request.method.decode("ascii"),
        "SCRIPT_NAME": "",
        "PATH_INFO": request.target.path.encode().decode("latin-1"),
        "QUERY_STRING": request.target.query.decode("latin-1"),
        "SERVER_NAME": "draguard",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
