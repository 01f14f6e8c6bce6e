"""The limits of a field, release by release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy

from webhook.api.versions import target
from webhook.explain.places import FieldPlace, Kind, children, kinds, parts
from webhook.release import Release, releases, span
from webhook.schema import CREATE, Array, Field, Map, Target


def counterparts(place: FieldPlace, release: Release | None) -> Iterator[tuple[Kind, FieldPlace | None]]:
    """Yield the other API versions of a place's kind, with the same place there, None if it is missing.

    Args:
        release: The release whose versions and fields count; None for all.
    """
    for kind in kinds(release):
        if kind.name == place.kind.name and kind.group == place.kind.group and kind != place.kind:
            yield kind, counterpart(place, kind, release)


def counterpart(place: FieldPlace, kind: Kind, release: Release | None) -> FieldPlace | None:
    """Find the place in another version of its kind; None if it has no such field.

    An inlined struct is at the place of its fields.
    """
    left = [kind.place]
    while left:
        other = left.pop()
        if other.home == place.home:
            boxes = (part for part in parts(other, release) if part.is_box and place.is_box)
            return next(boxes, other)
        left += (part for part in parts(other, release) if place.home[: len(part.home)] == part.home)
    return None


def limits(place: FieldPlace, release: Release | None) -> list[str]:
    """Describe the limits of a field, in one release or in all that have it.

    Where releases differ, each limit names its releases.
    """
    held = _over_releases(place, release, lambda at: _limits(place.field, at))
    return [f"{limit} {when}".rstrip() for limit, when in held]


def gates_of(place: FieldPlace, release: Release | None) -> list[tuple[str, str]]:
    """Return the feature gates that a field or kind itself needs, with their releases, if not all."""
    if place.path:
        return _over_releases(place, release, place.field.gates)
    gate = place.kind.served.gate
    return _over_releases(place, release, lambda at: filter(None, (at.pick(gate),)))


def gated(among: Iterable[Kind], gate: str, release: Release | None) -> Iterator[tuple[FieldPlace, str]]:
    """Find the kinds and fields that need a feature gate themselves, with their releases, if not all."""
    left = [kind.place for kind in among]
    while left:
        place = left.pop(0)
        yield from ((place, when) for name, when in gates_of(place, release) if name == gate)
        left[:0] = children(place, release)


def _over_releases(
    place: FieldPlace, release: Release | None, facts_of: Callable[[Target], Iterable[str]]
) -> list[tuple[str, str]]:
    """Collect facts, each with the releases that have it, or none if all do."""
    since, until = (release, release) if release is not None else place.releases
    found: dict[str, list[int]] = {}
    for each in releases(since, until):
        for fact in facts_of(target(place.kind.api_version, each, CREATE)):
            found.setdefault(fact, []).append(each)
    return [(fact, _when(held[0], held[-1], since, until)) for fact, held in found.items()]


def _when(first: int, last: int, since: int, until: int) -> str:
    if last < until:
        return f"until 1.{last}" if first == since < last else f"in {span(first, last)}"
    return "" if first == since else f"since 1.{first}"


def _limits(field: Field, at: Target) -> Iterator[str]:
    """Describe the limits of a field and its items in a release."""
    yield from _as_of(field, at).limits()
    if isinstance(field, Map) and field.key:
        yield from (f"each key: {limit}" for limit in _limits(field.key, at))
    if isinstance(field, Array | Map):
        yield from (f"each item: {limit}" for limit in _limits(field.item, at))


def _as_of(field: Field, at: Target) -> Field:
    """Reduce facts that changed with releases to those of one release."""
    known = copy(field)
    for name, value in vars(field).items():
        if isinstance(value, Mapping):
            setattr(known, name, at.pick(value))
    return known
