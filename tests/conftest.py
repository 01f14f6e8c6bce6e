"""What every test can rely on."""

from __future__ import annotations

import shutil
import signal

import pytest

import webhook  # noqa: F401 - it sets Python's limits; hypothesis insists that no test changes them midway

# A shell ignores SIGINT in what it starts in the background, and processes inherit that; tests send that signal.
signal.signal(signal.SIGINT, signal.default_int_handler)


BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NEEDED = {"test_report_in_browser.py": BROWSERS, "sources/test_kubectl.py": ("kubectl",)}
"""Programs of which one must be there, by the tests that run it."""
collect_ignore = [file for file, programs in NEEDED.items() if not any(map(shutil.which, programs))]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take what must run alone for slow, so that no other lane needs to name it."""
    for item in items:
        if item.get_closest_marker("alone"):
            item.add_marker("slow")
