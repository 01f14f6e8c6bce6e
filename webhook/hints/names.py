"""Suggests the names that were probably meant by names that refer to nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.budget import current, work
from webhook.patterns import Pattern
from webhook.problem import Advice, Fix, Meant
from webhook.spelling import near, some_of

_LISTED: Final = 5
_MEANT: Final = 3
"""The most names that a hint suggests."""
_UNITS_A_NAME: Final = 7
"""The work of comparing a name with another one."""
_BREAKS: Final = Pattern(r"\s*\n\s*")
_WELL_FORMED: Final = Pattern(r"[a-z0-9./-]+")
_WORD: Final = Pattern(r"""('[^']*'|"[^"]*"|\w+)""")
"""Matches a text in quotes, or a word."""


def listed(names: Iterable[str]) -> str:
    """List some names, with the number of further ones."""
    return ", ".join(some_of([*dict.fromkeys(names)], _LISTED, "and {} more"))


def instead(name: str, names: Iterable[str], what: str) -> str:
    """Suggest the intended name, or list the existing ones.

    Args:
        what: The named things, such as ``device classes``.
    """
    known = list(names)
    return _instead(_near(name, known), known, what)


def _instead(meant: list[str], known: list[str], what: str) -> str:
    if meant:
        names = " or ".join(f'"{each}"' for each in meant[:_MEANT])
        return Meant(f"did you mean {names}?")
    return f"{what}: {listed(known)}" if known else f"no {what} are known"


def _near(name: str, known: list[str]) -> list[str]:
    """Return the probably intended names, unless the search takes more than half of the remaining work."""
    units = _UNITS_A_NAME * len(known)
    if units > current().left // 2:
        return []
    work(units)
    return near(name, known)


def in_place(name: str, names: Iterable[str], what: str, field: str = "") -> Advice:
    """Suggest a name in the place of a value; the other arguments are those of :func:`instead`.

    Args:
        field: A field with names of objects, which kustomize does not change where it gives objects a prefix or suffix.
    """
    known = list(names)
    meant = _near(name, well_formed(known))
    longer = [each for each in known if field and (each.endswith(f"-{name}") or each.startswith(f"{name}-"))]
    if len(longer) == 1 and not meant:
        why = f"kustomize adds namePrefix and nameSuffix to {field} only if nameReference lists the field"
        return Advice(Meant(f'did you mean "{longer[0]}"? {why}'))
    return Advice(_instead(meant, known, what), _only(meant))


def well_formed(names: Iterable[str]) -> list[str]:
    """Leave out names of objects and requests that are errors themselves, such as my_gpu."""
    return [each for each in names if _WELL_FORMED.fullmatch(each)]


def in_expression(expression: str, name: str, names: Iterable[str], what: str) -> Advice:
    """Suggest a name in an expression; the other arguments are those of :func:`instead`."""
    known = list(names)
    meant = _near(name, known)
    words = [each.split("/") for each in _WORD.split(expression)]

    def corrected(better: str) -> str:
        parts = ([part.replace(name, better) if part.strip("\"'") == name else part for part in word] for word in words)
        return "".join(map("/".join, parts))

    return Advice(_instead(meant, known, what), _only([*map(corrected, meant)]))


def _only(meant: list[str]) -> Fix | None:
    """Return the fix if only one value can be meant."""
    return Fix("replace", meant[0], safe=False) if len(meant) == 1 else None


def renamed(meant: str, *, safe: bool = False) -> Advice:
    """Suggest another value in the place of the written one."""
    return Advice(Meant(f'did you mean "{meant}"?'), Fix("replace", meant, safe=safe))


def ask_first(expression: str) -> Advice:
    """Suggest a selector that tests whether an attribute exists; the hint shows it on one line."""
    return Advice(f"check first: {_BREAKS.sub(' ', expression.strip())}", Fix("replace", expression, safe=False))
