"""Remembers valid values in sets: to look up a value in a subclass of ``set`` takes twice as long."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

T = TypeVar("T", bound=Hashable)

_REMEMBERED: Final = 1024


def remember(value: T, known: set[T]) -> None:
    """Remember a valid value, which must be short: objects share names of attributes, containers, classes and drivers.

    Args:
        value: The value.
        known: What is remembered; emptied once there is much.
    """
    if len(known) >= _REMEMBERED:
        known.clear()
    known.add(value)
