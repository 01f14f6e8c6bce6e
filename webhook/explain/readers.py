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
        stated: The rule.
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
    functions = _functions(rule, (_TYPES,))
    return frozenset(name for _, code in functions for name in code.co_names) | texts(rule)


@cache
def texts(rule: object, packages: tuple[str, ...] = (_TYPES,)) -> frozenset[str]:
    """Collect the texts in the code of a rule.

    Args:
        rule: The function.
        packages: Beginnings of the names of modules whose functions belong to it if it calls them.
    """
    return frozenset(
        constant
        for function, code in _functions(rule, packages)
        for constant in (*code.co_consts, *map(function.__globals__.get, code.co_names))
        if isinstance(constant, str) and constant != function.__doc__
    )


def _functions(rule: object, packages: tuple[str, ...]) -> list[tuple[FunctionType, CodeType]]:
    """List the code of a rule, of functions inside it, and of those that it calls, each with the function around it."""
    functions, found = [rule], []
    for each in functions:
        if not isinstance(each, FunctionType):
            continue
        codes = [each.__code__]
        for code in codes:
            codes += (constant for constant in code.co_consts if isinstance(constant, CodeType))
            functions += (
                one
                for one in map(each.__globals__.get, code.co_names)
                if isinstance(one, FunctionType) and one.__module__.startswith(packages) and one not in functions
            )
        found += [(each, code) for code in codes]
    return found
