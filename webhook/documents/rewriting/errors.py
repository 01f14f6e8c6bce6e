"""Why a text cannot be edited."""

from __future__ import annotations


class UnableError(Exception):
    """A value cannot be edited in place: what holds it has to be written anew."""
