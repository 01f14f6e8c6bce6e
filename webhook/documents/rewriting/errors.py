"""Why a text cannot be edited."""

from __future__ import annotations


class UnableError(Exception):
    """A value cannot be edited in place: its parent must be rewritten."""
