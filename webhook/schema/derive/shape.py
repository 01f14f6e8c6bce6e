"""Shapes of types, for merging and type checking.

Fields are those of all releases, including those that are not judged (``Struct.opaque``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from webhook.release import Release
from webhook.schema.declarations import Field, Struct
from webhook.schema.fields import Anything as SomeValue
from webhook.schema.fields import Array, Bool, Int, Map, Nested, Parsed, Text

Replaced = Mapping[type[Struct], type[Struct]]

ATOMIC: Final = "atomic"
SET: Final = "set"
MERGED: Final = "map"
"""How a list is merged (``+listType``): as a whole, as a set, or by the keys of its items."""

STRING: Final = "string"
INTEGER: Final = "integer"
NUMBER: Final = "number"
BOOLEAN: Final = "boolean"
QUANTITY: Final = "quantity"
INT_OR_STRING: Final = "int-or-string"
TIMESTAMP: Final = "timestamp"
DURATION: Final = "duration"
BYTES: Final = "bytes"


class Scalar(NamedTuple):
    """A value without parts: a string, a number, or a text with another meaning, such as a quantity.

    Args:
        kind: The kind of scalar.
        go: The Go type of a number.
        nullable: Whether it may be null, which custom resources keep.
    """

    kind: str
    go: str = ""
    nullable: bool = False


class Anything(NamedTuple):
    """A value of any shape.

    Args:
        is_object: Whether it is an object, as drivers' parameters are.
    """

    is_object: bool = False


class ListOf(NamedTuple):
    """A list.

    Args:
        item: The shape of its items.
        merging: Whether it is replaced as a whole (``ATOMIC``), is a ``SET``, or is ``MERGED`` by keys.
        keys: The keys, with their defaults.
    """

    item: Shape
    merging: str
    keys: tuple[tuple[str, Any], ...] = ()


class MapOf(NamedTuple):
    """A map from strings; an atomic one is replaced as a whole."""

    item: Shape
    is_atomic: bool = False


class Structure:
    """A type with fields; an atomic one is replaced as a whole.

    Args:
        type_: The type, as the newest version has it.
        replaced: The types that differ in the version.
    """

    def __init__(self, type_: type[Struct], replaced: Replaced) -> None:
        wanted = replaced.get(type_, type_)
        self.name, self.is_atomic = wanted.go_name or wanted.__name__, wanted.atomic
        self.is_open = False
        """Whether it may have other fields."""
        self.is_pruned = False
        """Whether the API server drops other fields, in place of refusing them."""
        self._fields, self._replaced = {**wanted.opaque, **wanted.fields}, replaced
        self._shapes: dict[str, Shape] = {}

    def field(self, name: str) -> Shape | None:
        """Return the shape of a field; None if the field does not exist."""
        if (shape := self._shapes.get(name)) is None and (field := self._fields.get(name)) is not None:
            shape = self._shapes[name] = _shape(field, self._replaced)
        return shape

    def fields(self, release: Release | None = None) -> Iterator[tuple[str, Shape]]:
        """List the fields.

        Args:
            release: The Kubernetes release that has them; None for all.
        """
        for name, field in self._fields.items():
            if release is not None and not field.since <= release <= (field.until or release):
                continue
            if (shape := self.field(name)) is not None:
                yield name, shape


Shape = Scalar | Anything | ListOf | MapOf | Structure


def part_of(shape: Shape | None, step: str) -> Shape | None:
    """Return the shape of a field, an item or an entry; None if there is none, or it is not known."""
    if isinstance(shape, Structure):
        return shape.field(step)
    return shape.item if isinstance(shape, ListOf | MapOf) else None


def _shape(field: Field, replaced: Replaced) -> Shape:
    if isinstance(field, Nested):
        return Structure(field.type, replaced)
    if isinstance(field, Map):
        return MapOf(_shape(field.item, replaced), field.is_atomic)
    if isinstance(field, Array):
        return _list(field, replaced)
    return _scalar(field)


def _scalar(field: Field) -> Scalar | Anything:
    if isinstance(field, SomeValue):
        return Anything(field.is_object)
    if isinstance(field, Parsed):
        return Scalar(field.rule)
    if isinstance(field, Int):
        return Scalar(INTEGER, field.go)
    return Scalar(STRING) if isinstance(field, Text) else Scalar(BOOLEAN) if isinstance(field, Bool) else Anything()


def _list(field: Array, replaced: Replaced) -> ListOf:
    item = _shape(field.item, replaced)
    if not field.list_map_keys:
        return ListOf(item, field.list_type)
    assert isinstance(field.item, Nested)  # noqa: S101 - only structs have keys
    type_ = replaced.get(field.item.type, field.item.type)
    keys = [(name, type_.fields.get(name) or type_.opaque[name]) for name in field.list_map_keys]
    defaults = ((name, key.default or getattr(key, "zero", None)) for name, key in keys)
    return ListOf(item, MERGED, tuple(defaults))
