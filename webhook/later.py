"""Modules imported on first use: many of those that draguard may need are larger than the work at hand."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Module:
    """A module with the attributes of an imported one.

    Args:
        name: Its full name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Import the module, and keep the requested attribute."""
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found
