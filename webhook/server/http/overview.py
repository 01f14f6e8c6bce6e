"""The overview page of the monitoring port, for people, as a Flask application."""

from __future__ import annotations

from flask import Flask, Response

_OVERVIEW = """\
/metrics  metrics for Prometheus
/healthz  whether the process is alive
/readyz   whether reviews can be answered now, and why not
"""


def make_overview() -> Flask:
    """Make the application: ``GET /``."""
    app = Flask(__name__, static_folder=None)

    @app.get("/")
    def overview() -> Response:
        return Response(_OVERVIEW, content_type="text/plain; charset=utf-8")

    return app
