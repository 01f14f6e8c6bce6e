"""Errors of profiles."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import inf
from typing import Any, Final

from webhook.records import NamedTuple
from webhook.spelling import did_you_mean


class Mistake(NamedTuple):
    """A mistake in a profile.

    Args:
        path: The path of the value or key.
        text: The mistake, behind the name of its place.
    """

    path: tuple[str | int, ...]
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text


class ProfilePlace(NamedTuple):
    """A place in a profile.

    Args:
        name: Its name in texts; those of schemas leave out ``properties``.
    """

    path: tuple[str | int, ...] = ()
    name: str = ""

    def __truediv__(self, key: object) -> ProfilePlace:
        """Return the place of a key."""
        return self.below((str(key),), str(key))

    def below(self, steps: tuple[str | int, ...], name: str) -> ProfilePlace:
        """Return a place further down."""
        return ProfilePlace((*self.path, *steps), f"{self.name}.{name}" if self.name else name)

    def mistake(self, text: str, *keys: object) -> Mistake:
        """Return a mistake at this place, or further down.

        Args:
            keys: The keys to it, if it is further down; the text names them.
        """
        return Mistake((*self.path, *map(str, keys)), f"{self.name or 'the profile'}: {text}")


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
TEXT: Final = Form("a text", (str,))
BOOLEAN: Final = Form("true or false", (bool,))
NUMBER: Final = Form("a number", (int, float))
LENGTH: Final = Form("a whole number of at least 0", (int,), 0)


def optional(form: Form) -> Form:
    """Return a form that takes null, too."""
    return form._replace(types=(*form.types, type(None)))


def malformed(
    where: ProfilePlace, value: Mapping[Any, Any], forms: Mapping[str, Form]
) -> Iterator[tuple[str, Mistake]]:
    """Yield the keys with values that they do not take, and the mistakes.

    Args:
        where: The place of the object.
        forms: The values that its keys take.
    """
    for key, form in forms.items():
        if key in value and not form.has(value[key]):
            yield key, (where / key).mistake(f"must be {form.words}")


def malformed_items(where: ProfilePlace, value: Mapping[Any, Any], form: Form) -> Iterator[Mistake]:
    """List the mistakes of an object whose keys are names.

    Args:
        form: The values that it has.
    """
    for name, each in value.items():
        if not form.has(each):
            yield (where / name).mistake(f"must be {form.words}")


def unknown_keys(
    where: ProfilePlace, value: Any, known: Collection[str], elsewhere: Mapping[str, str] | None = None
) -> Iterator[Mistake]:
    """List the mistakes of a value that is an object with known keys only.

    Args:
        known: The keys that it may have.
        elsewhere: Keys that belong elsewhere, and where.
    """
    if not isinstance(value, dict):
        yield where.mistake("must be a map")
        return
    for key in sorted(map(str, value.keys() - set(known))):
        place = (elsewhere or {}).get(key)
        hint = f"it stands below {place}" if place else meant(key, known, "keys")
        yield where.mistake(f"unknown key {key}; {hint}", key)


def meant(name: Any, known: Collection[str], what: str = "known") -> str:
    """Return a hint to the name that was probably meant, or else all of them.

    Args:
        name: The name as written.
        what: What they are, in the plural.
    """
    return did_you_mean(str(name), known, f"{what} are {', '.join(sorted(known))}")
