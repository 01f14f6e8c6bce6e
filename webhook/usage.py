"""The error of options and arguments that cannot be used."""

from __future__ import annotations


class UsageError(Exception):
    """A usage error; the text explains how to fix it."""
