"""Remembers valid values."""

from __future__ import annotations

from typing import Any, Final

_REMEMBERED: Final = 1024


class Known(set[Any]):
    """Some values that are known to be valid: objects share names of attributes, containers, classes and drivers."""

    __slots__ = ()

    def remember(self, value: Any) -> None:
        """Add a valid value, which must be short; forget the others once there are many."""
        if len(self) >= _REMEMBERED:
            self.clear()
        self.add(value)
