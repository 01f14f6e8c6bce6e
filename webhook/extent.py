"""Extents: the parts of a value that are read, for example by the expressions of a policy."""

from __future__ import annotations

from typing import Final

ITEMS: Final = "*"
"""The part that stands for all items of a list, or for all values of a map; no field has this name."""


class Extent:
    """The parts of a value that are read.

    Attributes:
        parts: The extents of its fields by name, and that of its items.
        whole: Whether all of it is read.
    """

    __slots__ = ("parts", "whole")

    def __init__(self) -> None:
        self.parts: dict[str, Extent] = {}
        self.whole = False

    def part(self, name: str) -> Extent:
        """Return the extent of a part, which is read from now on.

        Args:
            name: The name of a field, or :data:`ITEMS`.
        """
        return self.parts.setdefault(name, Extent())
