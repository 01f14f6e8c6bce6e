"""Health probes and metrics, as Flask applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from werkzeug import Response as AnyResponse

_PLAIN = "text/plain; charset=utf-8"
_OVERVIEW = """\
/metrics  what is counted and measured, for Prometheus
/healthz  whether the process is alive
/readyz   whether reviews can be answered now, and why not
"""


def make_pages(unready: Callable[[], Iterable[str]]) -> Flask:
    """Make the application: ``GET /healthz``, ``GET /readyz``.

    Args:
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
    """
    app = Flask(__name__, static_folder=None)

    @app.get("/healthz")
    def healthz() -> Response:
        return Response("ok\n", content_type=_PLAIN)

    @app.get("/readyz")
    def readyz() -> Response:
        reasons = "".join(f"not ready: {reason}\n" for reason in unready())
        return Response(reasons or "ok\n", 503 if reasons else 200, content_type=_PLAIN)

    @app.errorhandler(HTTPException)
    def plain(error: HTTPException) -> AnyResponse:
        response = error.get_response()
        response.set_data(f"{error.name}: {error.description}\n")
        response.content_type = _PLAIN
        return response

    return app


def make_monitoring_pages(
    unready: Callable[[], Iterable[str]], exposition: Callable[[str], tuple[bytes, str]]
) -> Flask:
    """Make the application of the monitoring port: ``GET /``, ``/metrics``, ``/healthz``, ``/readyz``.

    Args:
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
        exposition: Returns the metrics and their content type, given what a client accepts.
    """
    app = make_pages(unready)

    @app.get("/")
    def overview() -> Response:
        return Response(_OVERVIEW, content_type=_PLAIN)

    @app.get("/metrics")
    def metrics() -> Response:
        text, content_type = exposition(request.headers.get("Accept", ""))
        return Response(text, content_type=content_type)

    return app
