"""Errors of profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


class ProfileError(ValueError):
    """A profile cannot be used; each argument is the text of a mistake, with its place."""


def unknown_keys(where: str, value: Any, known: Collection[str]) -> Iterator[str]:
    """List the mistakes of a value that is an object with known keys only.

    Args:
        where: Its place, as shown.
        value: The value.
        known: The keys that it may have.
    """
    if not isinstance(value, dict):
        yield f"{where}: give an object"
        return
    for key in sorted(map(str, value.keys() - set(known))):
        yield f"{where}: unknown key {key}; {meant(key, known, 'keys')}"


def meant(name: Any, known: Collection[str], what: str = "known") -> str:
    """Return a hint to the name that was probably meant, or else all of them.

    Args:
        name: The name as written.
        known: The known names.
        what: What they are, in the plural.
    """
    near = nearest(str(name), known)
    return f"did you mean {near}?" if near else f"{what} are {', '.join(sorted(known))}"
