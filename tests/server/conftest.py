"""Fixtures of all tests of the server."""

import logging
from collections.abc import Iterator

import pytest

from tests.serving import LIMIT, Served, echo, serving
from webhook.logs import BoundedLog
from webhook.server import Reviews, app, connection, port


@pytest.fixture(autouse=True)
def quick_followers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers look for changes of their files without a pause."""
    monkeypatch.setattr("webhook.server.serving._LOOK", 0.0)


@pytest.fixture(autouse=True)
def unused_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test write as many warnings as if no other had written any."""
    for module, name in ((app, "_often"), (connection, "_log"), (port, "_log")):
        monkeypatch.setattr(module, name, BoundedLog(logging.getLogger(module.__name__)))


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Serve what echoes."""
    with serving(Reviews(echo, body_limit=LIMIT)) as running:
        yield running
