"""Answers for bodies of requests."""

from __future__ import annotations

from webhook.admission.decisions import read_first
from webhook.fast.shortcut import Shortcut


def install() -> None:
    """Answer before bodies are read as a whole."""
    read_first(Shortcut)
