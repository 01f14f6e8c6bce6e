"""Finds the rules that look at a field, though a struct around it states them.

A rule names the fields that it looks at, in its own code or in that of the functions it calls: so the code tells.
"""

from __future__ import annotations

from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, NamedTuple

from webhook.explain.places import Stated, declared_at, rules_at
from webhook.schema import IMMUTABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.explain.places import Place

_API = "webhook.api."


class Reader(NamedTuple):
    """A rule that looks at a place.

    Args:
        stated: The rule.
        place: Where it is stated: the place itself, or one around it.
    """

    stated: Stated
    place: Place


def readers(place: Place, release: int | None) -> Iterator[Reader]:
    """List the rules that a place states, then those of the places around it that look at it, the nearest first."""
    for stated in rules_at(place, release):
        yield Reader(stated, place)
    for around in place.lineage:
        if around is place:
            continue
        if around.field.immutable:
            yield from (Reader(each, around) for each in rules_at(around, release) if each.name == IMMUTABLE)
        steps = set(place.home[len(around.home) :])
        for stated in declared_at(around, release):
            if stated.declared and steps <= named_in(stated.declared.rule) | stated.declared.members:
                yield Reader(stated, around)


@cache
def named_in(function: FunctionType) -> frozenset[str]:
    """Collect the names that a rule's code mentions, and what it calls of the API types' modules."""
    names: set[str] = set()
    seen: set[FunctionType] = set()
    functions = [function]
    while functions:
        each = functions.pop()
        if each in seen:
            continue
        seen.add(each)
        codes = [each.__code__]
        while codes:
            code = codes.pop()
            codes += (constant for constant in code.co_consts if isinstance(constant, CodeType))
            names.update(code.co_names, (constant for constant in code.co_consts if isinstance(constant, str)))
            called = (each.__globals__.get(name) for name in code.co_names)
            functions += (one for one in called if isinstance(one, FunctionType) and one.__module__.startswith(_API))
    return frozenset(names)
