"""Declares the opaque fields of types, so that whole objects can be decoded."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.schema.collections import Array, Map
from webhook.schema.declarations import Struct
from webhook.schema.fields import Field
from webhook.schema.nested import Nested
from webhook.schema.scalars import Anything

Replaced = Mapping[type[Struct], type[Struct]]


def whole(type_: type[Struct], replaced: Replaced) -> Replaced:
    """Return replacements of a type and its parts that decode all fields.

    Args:
        type_: The type, as the newest version has it.
        replaced: The types that differ in the version.
    """
    found = dict(replaced)
    _add(type_, found)
    return found


def _add(type_: type[Struct], found: dict[type[Struct], type[Struct]]) -> None:
    wanted = found.get(type_, type_)
    fields = {name: _declared(field) for name, field in {**wanted.opaque, **wanted.fields}.items()}
    changed = {name: field for name, field in fields.items() if field is not wanted.fields.get(name)}
    if changed:
        attributes = {f"{name}_": field for name, field in changed.items()}  # a field must not shadow a method
        found[type_] = type(wanted.__name__, (wanted,), {"go_name": wanted.go_name or wanted.__name__, **attributes})
    for field in fields.values():
        part = field
        while isinstance(part, Array | Map):
            part = part.item
        if isinstance(part, Nested):
            _add(part.type, found)


def _declared(field: Field) -> Field:
    """Return the declaration of a field that is known but not judged."""
    return field.shape if isinstance(field, Anything) and field.shape else field
