"""Errors of profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


class ProfileError(ValueError):
    """A profile cannot be used; each argument is the text of a mistake, with its place."""


def check_keys(where: str, value: Any, known: Collection[str]) -> None:
    """Check that a value is an object with known keys only.

    Args:
        where: Its place, as shown.
        value: The value.
        known: The keys that it may have.

    Raises:
        ProfileError: It is not an object, or has another key.
    """
    if not isinstance(value, dict):
        raise ProfileError(f"{where}: give an object")
    if unknown := sorted(map(str, value.keys() - set(known))):
        raise ProfileError(f"{where}: unknown key {unknown[0]}; keys are {', '.join(sorted(known))}")
