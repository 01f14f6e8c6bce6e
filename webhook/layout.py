"""Layouts: how decoded values are held in memory, if not as the maps and lists of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.records import NamedTuple

ABSENT: Final = object()
"""The value of a field that an object does not have."""


class Held(NamedTuple):
    """A field of a map that is held as an object with attributes.

    Args:
        attribute: The attribute with its value; None if the map has no such field, as the value is never null.
        layout: How the value is held.
        is_needed: Whether every such map has the field.
    """

    attribute: str
    layout: Layout
    is_needed: bool = False


class Layout(NamedTuple):
    """How a value is held.

    Args:
        cls: Its Python class; None if it may have several.
        fields: The fields of a map that is held as an object, by name; None if no map is held so.
        item: How the items of a list are held; None for other values.
        value: The value, if all objects have the same; else ``ABSENT``.
    """

    cls: type | None = None
    fields: Mapping[str, Held] | None = None
    item: Layout | None = None
    value: Any = ABSENT


PLAIN: Final = Layout()
"""The layout of JSON values."""


def common(first: Layout, second: Layout) -> Layout:
    """Return what is known of a value that is held in one of two ways."""
    if first == second:
        return first
    cls = first.cls if first.cls is second.cls else None
    if first.item and second.item:
        return Layout(cls, item=common(first.item, second.item))
    if first.fields is None or second.fields is None:
        return Layout(cls)
    fields = {}
    for name in first.fields.keys() & second.fields.keys():
        one, other = first.fields[name], second.fields[name]
        if one.attribute == other.attribute:
            needed = one.is_needed and other.is_needed
            fields[name] = Held(one.attribute, common(one.layout, other.layout), needed)
    return Layout(cls, fields)
