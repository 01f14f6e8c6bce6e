"""Finds the rules that read a field, including those of the structs around it.

The names in the code of a rule, and of the API types' functions that it calls, tell which fields it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Final

from webhook.explain.places import FieldPlace, Stated, declared_at, rules_at
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema import IMMUTABLE, Declared

_TYPES: Final = "webhook.api."


class Reader(NamedTuple):
    """A rule that reads a place.

    Args:
        place: The place that states it: this one, or one around it.
    """

    stated: Stated
    place: FieldPlace


def readers(place: FieldPlace, release: Release | None) -> Iterator[Reader]:
    """List the rules that a place states, then those of the places around it that read it, the nearest first."""
    for stated in rules_at(place, release):
        yield Reader(stated, place)
    for around in place.lineage:
        if around is place:
            continue
        if around.field.immutable:
            yield from (Reader(each, around) for each in rules_at(around, release) if each.name == IMMUTABLE)
        steps = set(place.home[len(around.home) :])
        for stated in declared_at(around, release):
            if stated.declared and steps <= _fields(stated.declared):
                yield Reader(stated, around)


def _fields(declared: Declared) -> frozenset[str]:
    """List the fields that a rule reads, at any depth below its struct, among other names."""
    return declared.given | declared.members | _names(declared.rule)


@cache
def _names(rule: object) -> frozenset[str]:
    """Collect the names and texts in the code of a rule."""
    names: set[str] = set()
    functions = [rule]
    for each in functions:
        if not isinstance(each, FunctionType):
            continue
        codes = [each.__code__]
        for code in codes:
            codes += (constant for constant in code.co_consts if isinstance(constant, CodeType))
            names.update(code.co_names, (constant for constant in code.co_consts if isinstance(constant, str)))
            called = map(each.__globals__.get, code.co_names)
            functions += (
                one
                for one in called
                if isinstance(one, FunctionType) and one.__module__.startswith(_TYPES) and one not in functions
            )
    return frozenset(names)
