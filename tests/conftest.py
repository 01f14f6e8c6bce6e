"""What every test can rely on."""

from __future__ import annotations

import signal

from webhook.cel.limits import ensure_recursion

# The first CEL environment lets Python recurse deeper; hypothesis insists that no test changes that limit midway.
ensure_recursion()

# A shell ignores SIGINT in what it starts in the background, and processes inherit that; tests send that signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
