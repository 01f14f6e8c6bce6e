"""Finds the same field in other API versions."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.explain.places import FieldPlace, Kind, kinds, parts
from webhook.release import Release


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
