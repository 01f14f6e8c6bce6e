"""Health probes and metrics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from webhook.server.http.messages import Page
from webhook.server.http.wsgi import of_wsgi

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flask import Flask

    from webhook.server.http.messages import Request
    from webhook.server.http.pages import Make

_OPEN_METRICS: Final = "application/openmetrics-text"
_FRESH: Final = 0.01
"""Seconds for which metrics are cached: writing them takes milliseconds, and many clients may request them at once."""


def make_probes(unready: Callable[[], Iterable[str]]) -> dict[str, Make]:
    """Make the pages ``/healthz`` and ``/readyz``.

    Args:
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
    """

    def healthz(_request: Request) -> Page:
        return Page(200, b"ok\n")

    def readyz(_request: Request) -> Page:
        reasons = "".join(f"not ready: {reason}\n" for reason in unready())
        return Page(503 if reasons else 200, (reasons or "ok\n").encode())

    return {"/healthz": healthz, "/readyz": readyz}


def make_monitoring_pages(
    unready: Callable[[], Iterable[str]], exposition: Callable[[str], tuple[bytes, str]]
) -> dict[str, Make]:
    """Make the pages of the monitoring port: ``/``, ``/metrics``, ``/healthz``, ``/readyz``.

    Args:
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
        exposition: Returns the metrics and their content type, given what a client accepts.
    """
    written: dict[str, tuple[Page, float]] = {}

    def metrics(request: Request) -> Page:
        # The client chooses the version, so the header is no cache key.
        accepted = _OPEN_METRICS if _OPEN_METRICS in request.headers.get(b"accept", b"").decode("latin-1") else ""
        page, until = written.get(accepted, (None, 0.0))
        if page is None or time.monotonic() > until:
            text, content_type = exposition(accepted)
            page = Page(200, text, content_type.encode("latin-1"))
            written[accepted] = page, time.monotonic() + _FRESH
        return page

    return {"/": of_wsgi(_overview), "/metrics": metrics, **make_probes(unready)}


def _overview() -> Flask:
    from webhook.server.http.overview import make_overview  # noqa: PLC0415 - 6 MB, for the few who look

    return make_overview()
