"""Errors of profiles."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Final

from webhook.records import NamedTuple
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


class ProfileError(ValueError):
    """A profile cannot be used; each argument is the text of a mistake, with its place."""


class Form(NamedTuple):
    """The values that a key takes.

    Args:
        words: Their description.
        types: Their types; ``bool`` does not count as ``int``.
        least: The least number.
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


def malformed(where: str, value: Mapping[Any, Any], forms: Mapping[str, Form]) -> Iterator[tuple[str, str]]:
    """Yield the keys with values that they do not take, and the mistakes.

    Args:
        where: The place of the object, as shown before its keys.
        value: The object.
        forms: The values that its keys take.
    """
    for key, form in forms.items():
        if key in value and not form.has(value[key]):
            yield key, f"{where}{key}: must be {form.words}"


def malformed_items(where: str, value: Mapping[Any, Any], form: Form) -> Iterator[str]:
    """List the mistakes of an object whose keys are names.

    Args:
        where: Its place, as shown.
        value: The object.
        form: The values that it has.
    """
    for name, each in value.items():
        if not form.has(each):
            yield f"{where}.{name}: must be {form.words}"


def unknown_keys(where: str, value: Any, known: Collection[str]) -> Iterator[str]:
    """List the mistakes of a value that is an object with known keys only.

    Args:
        where: Its place, as shown.
        value: The value.
        known: The keys that it may have.
    """
    if not isinstance(value, dict):
        yield f"{where}: must be a map"
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
