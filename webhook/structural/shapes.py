"""The shapes of custom resources, for merging and type checks.

Follows kube-openapi ``pkg/schemaconv/openapi.go`` and apiextensions-apiserver ``pkg/controller/openapi/builder``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from webhook.api.core.meta import ObjectMeta
from webhook.objects import text
from webhook.release import Release
from webhook.schema.derive.shape import (
    ATOMIC,
    BOOLEAN,
    BYTES,
    DURATION,
    INT_OR_STRING,
    INTEGER,
    MERGED,
    NUMBER,
    SET,
    STRING,
    TIMESTAMP,
    Anything,
    ListOf,
    MapOf,
    Scalar,
    Shape,
    Structure,
)

if TYPE_CHECKING:
    from webhook.structural.schema import Structural

_SCALARS: Final[Mapping[str, str]] = {"string": STRING, "integer": INTEGER, "boolean": BOOLEAN, "number": NUMBER}
_TEXTS: Final[Mapping[str, str]] = {
    "byte": BYTES,
    "duration": DURATION,
    "date": TIMESTAMP,
    "date-time": TIMESTAMP,
}
_MERGING: Final[Mapping[str, str]] = {"set": SET, "map": MERGED}
_OF_OBJECTS: Final[Mapping[str, Shape]] = {
    "apiVersion": Scalar(STRING),
    "kind": Scalar(STRING),
    "metadata": Structure(ObjectMeta, {}),
}


class SchemaStructure(Structure):
    """The shape of objects that a structural schema describes.

    Args:
        name: The name of the type.
        is_resource: Whether they are whole objects, with version, kind and metadata.
    """

    def __init__(self, schema: Structural, name: str, *, is_resource: bool = False) -> None:
        self.name, self.is_atomic = name, _is_atomic(schema)
        self._schema = schema
        self._known: dict[str, Shape | None] = dict(_OF_OBJECTS) if is_resource or schema.is_embedded else {}
        self.is_open, self.is_pruned = schema.preserves_unknown, True
        self.field = self._field

    def _field(self, name: str) -> Shape | None:
        if name not in self._known:
            schema = self._schema.properties.get(name)
            if schema is None:
                return Anything() if self.is_open else None
            self._known[name] = shape_of(schema, f"{self.name}.{name}")
        return self._known[name]

    def fields(self, _release: Release | None = None) -> Iterator[tuple[str, Shape]]:
        """List the fields that expressions can read."""
        for name in self._known.keys() | self._schema.properties.keys():
            shape = self._field(name)
            if shape is not None and shape != Anything():
                yield name, shape


def shape_of(schema: Structural, name: str) -> Shape:
    """Return the shape of a schema's values.

    Args:
        name: The name of its type, if it has fields.
    """
    if schema.is_int_or_string:
        return Scalar(INT_OR_STRING)
    if schema.type == "object":
        if schema.values is not None and not schema.properties:
            return MapOf(shape_of(schema.values, f"{name}.@elem"), _is_atomic(schema))
        return SchemaStructure(schema, name) if schema.properties else Anything(is_object=True)
    if schema.type == "array" and schema.items is not None:
        keys = tuple((key, _default(schema.items, key)) for key in schema.list_map_keys)
        return ListOf(shape_of(schema.items, f"{name}.@idx"), _MERGING.get(schema.list_type, ATOMIC), keys)
    if schema.type == "string":
        return Scalar(_TEXTS.get(text(schema.stated, "format"), STRING), nullable=schema.nullable)
    return Scalar(_SCALARS[schema.type], nullable=schema.nullable) if schema.type in _SCALARS else Anything()


def _is_atomic(schema: Structural) -> bool:
    return text(schema.stated, "x-kubernetes-map-type") == ATOMIC


def _default(items: Structural, key: str) -> object:
    field = items.properties.get(key)
    return None if field is None else field.default
