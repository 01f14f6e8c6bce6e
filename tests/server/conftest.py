"""Fixtures of all tests of the server."""

import logging

import pytest

from webhook.logs import BoundedLog
from webhook.server import app, connection, port


@pytest.fixture(autouse=True)
def unused_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test write as many warnings as if no other had written any."""
    for module, name in ((app, "_often"), (connection, "_log"), (port, "_log")):
        monkeypatch.setattr(module, name, BoundedLog(logging.getLogger(module.__name__)))
