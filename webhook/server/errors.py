"""Errors of starting the webhook."""

from __future__ import annotations


class ServerError(Exception):
    """The webhook cannot be served; the message says what, where and how to mend it."""
