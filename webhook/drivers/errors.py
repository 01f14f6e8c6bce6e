"""Errors of profiles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import Any, Final

from webhook.problem import Path
from webhook.records import NamedTuple
from webhook.spelling import did_you_mean


class Mistake(NamedTuple):
    """A mistake in a profile.

    Args:
        path: The path of the value or key.
        text: The mistake, behind the name of its place.
    """

    path: Path
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def mistake(where: Path, text: str, *keys: object) -> Mistake:
    """Return a mistake at a place, or further down.

    Args:
        where: The place that the text names.
        keys: The keys to it, if it is further down; the text names them.
    """
    steps, named = iter(where), list[str | int]()
    for step in steps:
        named.append(next(steps, step) if step == _PROPERTIES else step)
    return Mistake(Path((*where, *map(str, keys))), f"{Path(named) or 'the profile'}: {text}")


_PROPERTIES: Final = "properties"
"""The key of schemas that names of places leave out."""


class ProfileError(ValueError):
    """A profile cannot be used; each argument is a :class:`Mistake`."""


class Form(NamedTuple):
    """The values that a key takes.

    Args:
        types: Their types; ``bool`` does not count as ``int``.
    """

    words: str
    types: tuple[type, ...]
    least: float = -inf

    def has(self, value: Any) -> bool:
        """Tell whether the key takes a value."""
        if isinstance(value, bool):
            return bool in self.types
        return isinstance(value, self.types) and not (isinstance(value, int | float) and value < self.least)


MAP: Final = Form("a map", (dict,))
LIST: Final = Form("a list", (list,))
TEXT: Final = Form("a string", (str,))
BOOLEAN: Final = Form("true or false", (bool,))
NUMBER: Final = Form("a number", (int, float))
LENGTH: Final = Form("a whole number of at least 0", (int,), 0)


def optional(form: Form) -> Form:
    """Return a form that takes null, too."""
    return form._replace(types=(*form.types, type(None)))


def checked(where: Path, value: Any, forms: Mapping[str, Form]) -> tuple[dict[str, Any], list[Mistake]]:
    """Return the well-formed keys of a value that should be a map of known keys, and the mistakes in it.

    Args:
        forms: The values that its keys take.
    """
    unknown = unknown_keys(where, value, forms)
    well_formed, malformed = apart(where, value, forms) if isinstance(value, dict) else ({}, [])
    return well_formed, unknown + malformed


def unknown_keys(
    where: Path, value: Any, known: Collection[str], elsewhere: Mapping[str, str] | None = None
) -> list[Mistake]:
    """List the mistakes of a value that is a map with known keys only.

    Args:
        known: The keys that it may have.
        elsewhere: Keys that belong elsewhere, and where.
    """
    if not isinstance(value, dict):
        return [mistake(where, "must be a map")]
    found = []
    for key in sorted(map(str, value.keys() - set(known))):
        place = (elsewhere or {}).get(key)
        hint = f"it stands below {place}" if place else meant(key, known, "keys")
        found.append(mistake(where, f"unknown key {key}; {hint}", key))
    return found


def apart(where: Path, value: dict[str, Any], forms: Mapping[str, Form]) -> tuple[dict[str, Any], list[Mistake]]:
    """Return the keys of a map that have values as they take, or take any, and the mistakes in others."""
    wrong = {key: form for key, form in forms.items() if key in value and not form.has(value[key])}
    found = [mistake(where / key, f"must be {form.words}") for key, form in wrong.items()]
    return {key: each for key, each in value.items() if key not in wrong}, found


def meant(name: Any, known: Collection[str], what: str = "known") -> str:
    """Return a hint to the name that was probably meant, or else all of them.

    Args:
        name: The name as written.
        what: Their name, in the plural.
    """
    return did_you_mean(str(name), known, f"{what} are {', '.join(sorted(known))}")
