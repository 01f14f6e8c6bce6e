"""Conditions that no device, or every device, meets; found by trying values.

Conditions about one value of a device (its driver, an attribute, a capacity) are evaluated for a few values that stand
for all: each constant that they compare it with, its neighbours, another text, and no value at all. This finds a
contradiction in any spelling: ``x > 5 && x < 3``, ``x in []``, ``x != "a" && x == "a"``, in one selector or in several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, Final, NamedTuple

from webhook.cel.errors import CelError
from webhook.cel.kubernetes import quantity, semver
from webhook.cel.syntax.ast import Call, Expression, ListExpression, Literal, Select, reads, within
from webhook.cel.types.values import DefaultingMap
from webhook.deviceselectors.parts import (
    AND,
    CONDITIONAL,
    NOT,
    OR,
    Parts,
    compared,
    comparison,
    field_of,
    is_made,
    is_textual,
    read_of,
)
from webhook.formats.quantities import parse_quantity

Path = tuple[str, ...]

_BOOLEANS: Final = frozenset({AND, OR, NOT, CONDITIONAL})
PLAIN: Final = frozenset({("driver",), ("allowMultipleAllocations",)})
"""The paths of values that every device has."""
_NAMED: Final = 3
"""The steps to an attribute or a capacity."""
_MOST: Final = 24
"""The number of conditions about one value that are examined."""
_VALUES_MOST: Final = 64


_ABSENT: Final = object()
"""Stands for a value that the device does not have."""


class Condition(NamedTuple):
    """A part of a selector that looks at one value only."""

    selector: Parts
    part: Expression


def conflict_of(selectors: Sequence[Parts]) -> tuple[Condition, ...]:
    """Find conditions that no device can meet together: one by itself, two, or more.

    Returns:
        The conditions; none if there are none, if it is unknown, or if the last selector is not in the conflict.
    """
    if selectors[-1] in selectors[:-1]:
        return ()  # where it stood first, it was told
    for path, conditions in by_value(selectors).items():
        telling = _telling(conditions)
        if len(telling) <= 1 and all(_holds_for_some(each.part, each.selector) for each in telling):
            continue  # for a value that exists
        tried, limit = _values(conditions)
        holding: dict[Condition, list[bool]] = {}
        for each in conditions:
            if limit or _is_understood(each.part):
                holding[each] = _holding(each, path, tried)
            elif _compares(each.part):  # a part of a text
                holding[each] = [isinstance(value, str) for value in tried]
        if tried and (found := _least([*holding], holding, limit)):
            return found if found[-1].selector is selectors[-1] else ()
    return ()


def limits(parts: Parts) -> tuple[Path, Sequence[Any]] | None:
    """Return an attribute, and the only values of it for which a selector can be true; None if there is none.

    Args:
        parts: The selector. It is false where one of its conditions is, even if others fail.
    """
    for path, conditions in by_value([parts]).items():
        for each in conditions if path[0] == "attributes" else ():
            found = _only(each.part, parts)
            if found is not None:
                return path, found
    return None


def always_holds(parts: Parts) -> bool:
    """Tell whether a selector that looks at one value is true for any value."""
    if len(parts.all) != 1 or not _is_compound(parts.root) or not _is_understood(parts.root):
        return False
    for path, conditions in by_value([parts]).items():
        if len(path) == _NAMED and not _may_hold_without(parts.root):
            return False
        return all(_holding(conditions[0], path, _around(conditions)))
    return False


def _may_hold_without(node: Expression) -> bool:
    """Tell whether a condition can be true for a device without the value: reading it is an error.

    ``in []`` does not read it.
    """
    if isinstance(node, Call) and _is_compound(node):
        return any(map(_may_hold_without, node.arguments))
    is_empty = isinstance(node, ListExpression) and not node.elements
    return is_empty or isinstance(node, Literal) or is_presence(node)


def by_value(selectors: Sequence[Parts]) -> Mapping[Path, list[Condition]]:
    """Return the conditions about each value; those about several values, or about more than values, are left out.

    So are those with malformed constants, which are errors of their own.
    """
    found: defaultdict[Path, list[Condition]] = defaultdict(list)
    for selector in selectors:
        for part in selector.all:
            paths = set(reads(part, "device"))
            path = paths.pop() if len(paths) == 1 else ()
            is_of_value = path in PLAIN or len(path) == _NAMED
            if is_of_value and len(found.get(path, ())) < _MOST and not _is_malformed(part, selector):
                found[path].append(Condition(selector, part))
    return found


def _least(
    known: Sequence[Condition], holding: Mapping[Condition, list[bool]], limit: Condition | None
) -> tuple[Condition, ...]:
    """Return the fewest conditions that do not hold together; none if all hold together."""
    if limit and not any(holding[limit]):
        return (limit,)
    pairs = ((one, other) for one, other in combinations(known, 2) if limit in {None, one, other})
    alone = ((each,) for each in known if limit is None)
    for some in chain(alone, pairs, [tuple(known)]):
        if not any(map(all, zip(*(holding[each] for each in some), strict=True))):
            return some
    return ()


def _telling(conditions: Sequence[Condition]) -> Sequence[Condition]:
    """Return the conditions about a value, without those that any value meets."""
    return [each for each in conditions if not is_presence(each.part)]


def is_presence(node: Expression) -> bool:
    """Tell whether a condition is `has(…)`."""
    return isinstance(node, Select) and node.test


def _is_compound(node: Expression) -> bool:
    return isinstance(node, Call) and node.function in {*_BOOLEANS, "@in"}


def _holds_for_some(node: Expression, selector: Parts) -> bool:
    """Tell whether a condition certainly holds for some value that exists; to evaluate it, it would be compiled."""
    if isinstance(node, Call) and node.function == OR:
        return any(_compares(each) and _holds_for_some(each, selector) for each in node.arguments)
    if isinstance(node, Call) and node.function == NOT:
        inner = node.arguments[0]  # an equality holds for one value, and not for another
        return isinstance(inner, Call) and inner.function in {"_==_", "_!=_"} and _compares(inner)
    only = _only(node, selector)
    return not _is_compound(node) if only is None else bool(only)


def _compares(node: Expression) -> bool:
    """Tell whether a condition compares a value with constants."""
    subject, _ = compared(node)
    return subject is not None and _is_value(subject)


def _is_understood(node: Expression) -> bool:
    """Tell whether a condition only compares its value with constants: then a few values stand for all."""
    if isinstance(node, Literal) or is_presence(node):
        return True
    if isinstance(node, Call) and node.function in _BOOLEANS:
        return all(map(_is_understood, node.arguments))
    return _compares(node) and not is_textual(node)


def _is_value(node: Expression) -> bool:
    """Tell whether an expression is a value of the device itself, not one derived from it."""
    return (field_of(node),) in PLAIN or read_of(node) is not None


def _values(conditions: Sequence[Condition]) -> tuple[Sequence[Any], Condition | None]:
    """Return values that stand for all values of a device, and the condition that allows no others, if one does."""
    for each in conditions:
        found = _only(each.part, each.selector)
        if found is not None:
            return found or [_ABSENT], each
    return _around(conditions), None


def _only(node: Expression, selector: Parts) -> list[Any] | None:
    """Return the only values for which a condition can be true; None if there may be others."""
    if isinstance(node, Call) and node.function == OR:
        each = [_only(one, selector) for one in node.arguments]
        return None if None in each else [value for one in each for value in one or ()]
    found = comparison(node)
    if found is None or not _is_value(found.subject):
        return None
    is_one = found.operator == "==" and not isinstance(found.wanted, ListExpression)
    return list(_constants(found.wanted, selector)) if is_one or found.operator == "in" else None


def _constants(node: Expression, selector: Parts) -> Iterator[Any]:
    """Return the constants of an expression: texts, numbers, quantities, versions."""
    if isinstance(node, Literal):
        if node.value is not None:  # which no attribute is
            yield node.value
    elif is_made(node):
        try:
            yield selector.evaluate(node, {})
        except CelError:
            return
    else:
        for each in node.children():
            yield from _constants(each, selector)


def _is_malformed(node: Expression, selector: Parts) -> bool:
    """Tell whether a constant of an expression is malformed, such as ``quantity("40gi")``."""
    made = (each for each in within(node) if is_made(each) and isinstance(each.arguments[0], Literal))
    return not all(list(_constants(each, selector)) for each in made)


def _around(conditions: Sequence[Condition]) -> list[Any]:
    """Return the constants, the neighbours of each, another text, both booleans, and no value."""
    found: list[Any] = [_ABSENT, True, False, "", "\U0010ffff"]
    for each in conditions:
        for constant in _constants(each.part, each.selector):
            found += [constant, *_next_to(constant)]
    return found if len(found) <= _VALUES_MOST else []


def _next_to(value: Any) -> Iterator[Any]:
    """Return the nearest values below and above, so that a value lies between any two constants with a gap."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield from (int(value) - 1, int(value), int(value) + 1)
    elif isinstance(value, str):
        yield f"{value}\0"
    elif isinstance(value, quantity.Quantity):
        for step in ("1n", "-1n"):
            yield quantity.Quantity(value.number + parse_quantity(step))
    elif isinstance(value, semver.Semver):
        yield semver.parse("0.0.0-0")
        major, minor, patch = value.numbers
        first = (False, 0, "")
        if value.is_release:
            yield semver.Semver((major, minor, patch + 1), is_release=False, pre_release=(first,))
        else:
            yield value._replace(pre_release=(*value.pre_release, first))


def _holding(condition: Condition, path: Path, values: Sequence[Any]) -> list[bool]:
    """Tell for which values of a device, which has no others, a condition holds."""
    found = []
    for value in values:
        device: dict[str, Any] = {
            "driver": "",
            "allowMultipleAllocations": False,
            "attributes": DefaultingMap(),
            "capacity": DefaultingMap(),
        }
        if len(path) == 1:
            device[path[0]] = value
        elif value is not _ABSENT:
            device[path[0]][path[1]] = {path[2]: value}
        try:
            found.append(condition.selector.evaluate(condition.part, {"device": device}) is True)
        except CelError:
            found.append(False)
    return found
