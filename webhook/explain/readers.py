"""Finds the rules that read a field, those of the structs around it included.

A rule declares the fields that it looks at: see :func:`webhook.schema.reads`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webhook.explain.places import Stated, declared_at, rules_at
from webhook.schema import IMMUTABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.explain.places import Place
    from webhook.release import Release


class Reader(NamedTuple):
    """A rule that looks at a place.

    Args:
        stated: The rule.
        place: Where it is stated: the place itself, or one around it.
    """

    stated: Stated
    place: Place


def readers(place: Place, release: Release | None) -> Iterator[Reader]:
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
            if stated.declared and steps <= stated.declared.reads:
                yield Reader(stated, around)
