"""Converts values between the versions of a type.

A version may hold fields in a box (``Struct.box``) that sit on the struct itself in another, hold them on the struct
itself where another has a struct (``Struct.inlining``), hold a plain value where another has a struct around it
(``Struct.plain``), or not tell an empty value from none (``Field.pointer``). Undeclared fields stay as they are; if
their place is unclear, they go where most of the struct goes; a map that already has the name of the box becomes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from webhook.schema.declarations import Field, Struct
from webhook.schema.fields import Many, Nested, Scalar

Replaced = Mapping[type[Struct], type[Struct]]

Convert = Callable[[Any], Any]


_DROPPED: Final = object()
"""Marks a value that the other version does not distinguish from an absent one."""


class Conversion:
    """A conversion from one version of an API to another.

    Args:
        source: The types that the first version replaces, and their replacements.
        target: The types that the other version replaces, and their replacements.
    """

    def __init__(self, source: Replaced, target: Replaced) -> None:
        self._source, self._target = source, target
        self._known: dict[tuple[type[Struct], type[Struct]], Convert | None] = {}

    def of(self, type_: type[Struct]) -> Convert | None:
        """Return the converter of a type's values; None if they are the same in both versions.

        Args:
            type_: The type, as the newest version has it.
        """
        return self._between(type_, type_)

    def _between(self, source: type[Struct], target: type[Struct]) -> Convert | None:
        theirs, ours = self._source.get(source, source), self._target.get(target, target)
        if (theirs, ours) not in self._known:
            self._known[theirs, ours] = self._struct(theirs, ours)
        return self._known[theirs, ours]

    def _struct(self, source: type[Struct], target: type[Struct]) -> Convert | None:
        theirs, ours = _arranged(source, self._source), _arranged(target, self._target)
        changes = {
            name: change
            for name, field in theirs.items()
            if name in ours and (change := self._field(field, ours[name])) is not None
        }
        into, out_of = _into_newest(source), _out_of_newest(target)
        if not changes and (source is target or into is out_of is None):
            return None

        def convert(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            arranged = value if into is None else into(value)
            if changes and not changes.keys().isdisjoint(arranged):
                changed = {name: changes[name](each) if name in changes else each for name, each in arranged.items()}
                arranged = {name: each for name, each in changed.items() if each is not _DROPPED}
            return arranged if out_of is None else out_of(arranged)

        return convert

    def _field(self, source: Field, target: Field) -> Convert | None:
        if isinstance(source, Many) and isinstance(target, Many):
            item = self._field(source.item, target.item)
            return None if item is None else for_each(item)
        if isinstance(source, Nested) and isinstance(target, Nested):
            return self._between(source.type, target.type)
        if isinstance(source, Scalar) and isinstance(target, Nested) and (outer := target.type.plain):
            return lambda value: value if isinstance(value, dict) else {outer: value}
        if isinstance(source, Nested) and isinstance(target, Scalar) and (inner := source.type.plain):
            return lambda value: value.get(inner) if isinstance(value, dict) else value
        if isinstance(source, Scalar) and source.pointer != target.pointer:
            zero = source.zero
            return lambda value: _DROPPED if value is None or value == zero else value
        return None


def has_any(type_: type[Struct], value: Mapping[str, Any]) -> bool:
    """Tell whether a value has any field of a struct, as Go sees it: not empty where Go holds it by value."""
    return any(
        bool(value[name]) if isinstance(field, Scalar) and not field.pointer else value[name] is not None
        for name, field in type_.fields.items()
        if name in value
    )


def zeros(type_: type[Struct]) -> dict[str, Any]:
    """Return the fields that Go writes even if empty, and their empty values."""
    written = {name: each for name, each in type_.fields.items() if each.written and isinstance(each, Scalar)}
    return {name: None if each.pointer else each.zero for name, each in written.items()}


def _arranged(type_: type[Struct], replaced: Replaced) -> Mapping[str, Field]:
    """Return the fields of a type as the newest version arranges them."""
    if inlining := type_.inlining:
        own = {name: field for name, field in type_.fields.items() if name not in inlining.of.fields}
        return {**own, type_.unboxed: Nested(inlining.of)}
    box = type_.fields.get(type_.box)
    if not isinstance(box, Nested):
        return type_.fields
    inner = replaced.get(box.type, box.type)
    return {name: field for name, field in type_.fields.items() if field is not box} | inner.fields


def _into_newest(type_: type[Struct]) -> Convert | None:
    """Return the function that arranges a value of a type as the newest version does."""
    if box := type_.box:
        return lambda value: _unboxed(value, box)
    if (inlining := type_.inlining) is None:
        return None
    inner = inlining.of

    def boxed(value: dict[str, Any]) -> dict[str, Any]:
        if not has_any(inner, value):
            return {key: each for key, each in value.items() if key not in inner.fields}
        return _boxed(value, type_.unboxed, type_.fields.keys() - inner.fields.keys())

    return boxed


def _out_of_newest(type_: type[Struct]) -> Convert | None:
    """Return the function that arranges a value of the newest version as a type does."""
    if box := type_.box:
        own = type_.fields.keys() - {box}
        return lambda value: _boxed(value, box, own)
    if (inlining := type_.inlining) is None:
        return None
    written = zeros(inlining.of)
    return lambda value: {**written, **_unboxed(value, type_.unboxed)}


def _unboxed(value: dict[str, Any], box: str) -> dict[str, Any]:
    outer, inner = {key: each for key, each in value.items() if key != box}, value.get(box)
    return {**outer, **inner, **outer} if isinstance(inner, dict) else outer


def _boxed(value: dict[str, Any], box: str, own: Collection[str]) -> dict[str, Any]:
    """Return a value with its own fields, and a box of the others, and of those in a map of its name."""
    outer = {key: each for key, each in value.items() if key in own}
    merged = _unboxed(value, box) if isinstance(value.get(box), dict) else value
    return outer | {box: {key: each for key, each in merged.items() if key not in own}}


def for_each(change: Convert) -> Convert:
    """Return a function that applies a change to each item of a list or value of a map; other values stay."""

    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [change(each) for each in value]
        return {key: change(each) for key, each in value.items()} if isinstance(value, dict) else value

    return convert
