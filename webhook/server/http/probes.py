"""Health probes and metrics."""

from __future__ import annotations

import re
import time

from webhook.server.http.messages import Page
from webhook.server.http.wsgi import of_wsgi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

    from flask import Flask

    from webhook.server.http.messages import Request
    from webhook.server.http.pages import Make

OPEN_METRICS: Final = "application/openmetrics-text"
"""The media type of metrics that clients get if they prefer it to plain text."""
_PLAIN: Final = ("text/plain", "text/*", "*/*")
"""The media ranges of plain text, from the most specific."""
_WEIGHT: Final = re.compile(r"q=([01](?:\.[0-9]*)?)")
_LONGEST: Final = 1024
"""The bytes of a header ``Accept`` that are read; Prometheus sends some hundred."""
_RANGES: Final = 20
"""How many of its media ranges; Prometheus sends six."""
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
        exposition: Returns the metrics and their content type, given their media type.
    """
    written: dict[str, tuple[Page, float]] = {}

    def metrics(request: Request) -> Page:
        # The client chooses the version, so the header is no cache key.
        media_type = _preferred(request.headers.get(b"accept", b"")[:_LONGEST].decode("latin-1"))
        page, until = written.get(media_type, (None, 0.0))
        if page is None or time.monotonic() > until:
            text, content_type = exposition(media_type)
            page = Page(200, text, content_type.encode("latin-1"))
            written[media_type] = page, time.monotonic() + _FRESH
        return page

    return {"/": of_wsgi(_overview, "/"), "/metrics": metrics, **make_probes(unready)}


def _preferred(accept: str) -> str:
    """Choose the media type of metrics by a header ``Accept`` (RFC 9110, section 12.5.1)."""
    weights: dict[str, float] = {}
    for each in accept.lower().split(",", _RANGES)[:_RANGES]:
        media_range, *parameters = map(str.strip, each.split(";"))
        given = next(filter(None, map(_WEIGHT.fullmatch, parameters)), None)
        weights[media_range] = max(float(given[1]) if given else 1, weights.get(media_range, 0))
    plain = next((weights[each] for each in _PLAIN if each in weights), 0)
    return OPEN_METRICS if 0 < weights.get(OPEN_METRICS, 0) >= plain else _PLAIN[0]


def _overview() -> Flask:
    from webhook.server.http.overview import make_overview  # 6 MB, for the few who look

    return make_overview()
