"""Selectors with another constant: ``memory >= 40Gi`` for ``memory >= 80Gi``, ``"a100"`` for ``"A100"``."""

from __future__ import annotations

import json

from webhook.cel.errors import EvaluationError, Issues
from webhook.cel.kubernetes import semver
from webhook.cel.syntax.ast import Call, Literal
from webhook.cel.syntax.lexer import tokenize
from webhook.deviceselectors.parts import label, ordering, read_of
from webhook.formats import readable_quantity
from webhook.records import NamedTuple
from webhook.spelling import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any, Final

    from webhook.deviceselectors.parts import Parts, Read

_AT_LEAST: Final = frozenset({">", ">="})
_AT_MOST: Final = frozenset({"<", "<="})


class Threshold(NamedTuple):
    """A selector with another threshold.

    Args:
        text: The new condition, such as ``memory >= 40Gi``.
    """

    text: str
    expression: str


def lowered(parts: Parts, name: str, values: Iterable[str]) -> Iterator[Threshold]:
    """Return a selector with lower thresholds, or higher ones where it sets an upper limit; the nearest first.

    Args:
        name: The attribute or capacity, as :class:`~webhook.deviceselectors.parts.Blame` names it.
        values: The values that devices have of it: whole numbers, quantities or versions.
    """
    for part in parts.all:
        found = ordering(part)
        if found is None or label(found.subject) != name or found.operator not in _AT_LEAST | _AT_MOST:
            continue
        call = found.wanted if isinstance(found.wanted, Call) else None
        literal = call.arguments[0] if call else found.wanted
        read = _version if call and call.function == "semver" else readable_quantity
        if not isinstance(literal, Literal) or (wanted := read(str(literal.value))) is None:
            continue
        at_least = found.operator in _AT_LEAST
        known: dict[str, Any] = {value: number for value in values if (number := read(value)) is not None}
        fine = [each for each in known if (known[each] < wanted if at_least else wanted < known[each])]
        for value in sorted(fine, key=known.__getitem__, reverse=at_least):
            written = json.dumps(value) if call else value
            changed = _replaced(parts.text, literal.offset, written)
            yield Threshold(f"{name} {found.operator} {value}", changed)


def _version(text: str) -> semver.Version | None:
    """Read a version, None if the text is malformed."""
    try:
        return semver.parse(text).version
    except EvaluationError:
        return None


def respelt(parts: Parts, values: Callable[[Read], Collection[object]]) -> Iterator[Threshold]:
    """Return a selector with a value that devices have, in place of one that is spelled otherwise.

    Args:
        values: Returns the values that devices have of an attribute.
    """
    for read, constant in _equalities(parts):
        meant = _meant(constant.value, values(read))
        if meant is not None:
            yield _with_value(parts, read, constant, meant)


def others(parts: Parts, values: Callable[[Read], Collection[object]]) -> Iterator[Threshold]:
    """Return a selector with each other value that devices have, in place of one that it wants.

    Args:
        values: Returns the values that devices have of an attribute.
    """
    for read, constant in _equalities(parts):
        known = values(read)
        if constant.value in known:
            for each in sorted((each for each in known if each != constant.value), key=str):
                yield _with_value(parts, read, constant, each)


def _equalities(parts: Parts) -> Iterator[tuple[Read, Literal]]:
    """Return the attributes that a selector compares with a constant by ``==``."""
    for part in parts.all:
        if isinstance(part, Call) and part.function == "_==_":
            for subject, constant in (part.arguments, reversed(part.arguments)):
                read = read_of(subject)
                if read is not None and isinstance(constant, Literal):
                    yield read, constant


def _with_value(parts: Parts, read: Read, constant: Literal, value: object) -> Threshold:
    written = json.dumps(value)
    return Threshold(f"{read.name} = {written}", _replaced(parts.text, constant.offset, written))


def _meant(constant: object, values: Collection[object]) -> object:
    """Return the value that a constant probably stands for; None if it is one of the values, or unclear."""
    if any(constant == value and type(constant) is type(value) for value in values):
        return None
    spelled = {str(json.loads(json.dumps(value))).lower(): value for value in values}
    return spelled.get(nearest(str(constant).lower(), spelled))


def _replaced(expression: str, offset: int, written: str) -> str:
    """Write another constant in place of the one that starts at an offset."""
    tokens = tokenize(expression, Issues(expression))
    old = dict(zip(tokens.offsets, tokens.texts, strict=True))[offset]
    return f"{expression[:offset]}{written}{expression[offset + len(old) :]}"
