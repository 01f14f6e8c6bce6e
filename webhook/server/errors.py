"""What is told when the webhook cannot be served."""

from __future__ import annotations


class ServerError(Exception):
    """The webhook cannot be served; the message says what, where and how to mend it."""
