"""What every test can rely on."""

from __future__ import annotations

import signal

import webhook  # noqa: F401 - it sets Python's limits; hypothesis insists that no test changes them midway

# A shell ignores SIGINT in what it starts in the background, and processes inherit that; tests send that signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
