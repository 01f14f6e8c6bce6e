"""Structural schemas, as CustomResourceDefinitions state them (apiextensions ``types_jsonschema.go``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from webhook.later import cached_property
from webhook.objects import JSONObject, items, mapping, number, text, texts
from webhook.release import Release
from webhook.schema.derive import shape as shapes

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""The fields that every object has, whatever its schema says."""
_STRING: Final = {"type": "string"}
_OF_RESOURCES: Final[Mapping[str, Any]] = {
    "apiVersion": _STRING,
    "kind": _STRING,
    "metadata": {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}},
}
"""What rules see of every object (apiextensions ``schema/cel/model/schemas.go``, WithTypeAndObjectMeta)."""
_SCALARS: Final = frozenset({shapes.INTEGER, shapes.BOOLEAN, shapes.NUMBER})
_TEXTS: Final = {
    "byte": shapes.BYTES,
    "duration": shapes.DURATION,
    **dict.fromkeys(("date", "date-time"), shapes.TIMESTAMP),
}
_NUMBER_FORMATS: Final = {"integer": frozenset({"int32", "int64"}), "number": frozenset({"float", "double"})}


class Structural:
    """A structural schema; its parts are read when they are used, and those of a wrong type count as absent."""

    def __init__(self, stated: object) -> None:
        self.stated: JSONObject = stated if isinstance(stated, dict) else {}
        get = self.stated.get
        self.type = text(self.stated, "type")
        self.nullable = get("nullable") is True
        self.default = get("default")
        self.preserves_unknown = get("x-kubernetes-preserve-unknown-fields") is True
        self.is_embedded = get("x-kubernetes-embedded-resource") is True
        self.is_int_or_string = get("x-kubernetes-int-or-string") is True
        self.list_type = text(self.stated, "x-kubernetes-list-type")
        self.programs: dict[Release, Any] = {}
        """The compiled rules, by release (:mod:`webhook.structural.rules`)."""

    @property
    def scalar(self) -> str:
        """The kind of scalar that a value is, as shapes have it; empty if it has parts, or any type."""
        if self.type == shapes.STRING:
            return _TEXTS.get(text(self.stated, "format"), self.type)
        return self.type if self.type in _SCALARS else ""

    @cached_property
    def types(self) -> Sequence[str]:
        """The JSON types that a value may have; empty for any type."""
        return ("integer", "string") if self.is_int_or_string else (self.type,) if self.type else ()

    @cached_property
    def format(self) -> str:
        """The format of texts or numbers, if API servers check it (apiextensions ``validation/formats.go``)."""
        stated = text(self.stated, "format")
        if len(self.types) == 1 and self.type != "string":
            return stated if stated in _NUMBER_FORMATS.get(self.type, ()) else ""
        from webhook.structural.formats import FORMATS  # profiles of drivers are read without it

        return stated if stated.replace("-", "") in FORMATS else ""

    @cached_property
    def properties(self) -> Mapping[str, Structural]:
        """The schemas of the fields."""
        return {name: type(self)(each) for name, each in mapping(self.stated, "properties").items()}

    @cached_property
    def items(self) -> Structural | None:
        """The schema of a list's items."""
        return self._part("items")

    @cached_property
    def values(self) -> Structural | None:
        """The schema of a map's values (``additionalProperties``)."""
        return self._part("additionalProperties")

    def _part(self, name: str) -> Structural | None:
        stated = self.stated.get(name)
        return type(self)(stated) if isinstance(stated, dict) else None

    @cached_property
    def list_map_keys(self) -> Sequence[str]:
        """The fields that tell the items of a list apart, if it is one of ``x-kubernetes-list-type: map``."""
        return texts(self.stated, "x-kubernetes-list-map-keys") if self.list_type == "map" else ()

    @cached_property
    def rules(self) -> Sequence[JSONObject]:
        """The validation rules in CEL (``x-kubernetes-validations``)."""
        return items(self.stated, "x-kubernetes-validations")

    @cached_property
    def alternatives(self) -> Mapping[str, Sequence[Structural]]:
        """The schemas of ``allOf``, ``anyOf`` and ``oneOf``."""
        return {name: [*map(type(self), items(self.stated, name))] for name in ("allOf", "anyOf", "oneOf")}

    @cached_property
    def unwanted(self) -> Structural | None:
        """The schema that a value must not fit (``not``)."""
        return self._part("not")

    @cached_property
    def has_rules(self) -> bool:
        """Whether there are validation rules anywhere in it."""
        parts = (self.items, self.values, *self.properties.values(), *self.alternatives["allOf"])
        return bool(self.rules) or any(each.has_rules for each in parts if each)

    @cached_property
    def of_resource(self) -> Structural:
        """The schema as rules at the root of an object see it: with its version, kind and name."""
        properties = {**mapping(self.stated, "properties"), **_OF_RESOURCES}
        return type(self)(self.stated | {"type": "object", "properties": properties})

    def number(self, name: str) -> int | None:
        """Return a limit that is a whole number."""
        return number(self.stated, name)

    def field(self, name: str) -> Structural | None:
        """Return the schema of a field, or of a map's value."""
        return self.properties.get(name) or self.values


# -- Values compared with what they were before, and items of lists with each other


ABSENT: Final = object()
"""The earlier value where there is none; None is null."""


def key_of(value: Any) -> str:
    """Return a text that equal JSON values have in common."""
    import json  # profiles of drivers are read without it

    return json.dumps(value, sort_keys=True, default=str)


class Correlated:
    """The earlier items of a list, by their keys, if it has any (apiserver ``pkg/cel/common/maplist.go``)."""

    def __init__(self, schema: Structural, old: Any) -> None:
        self._keys = schema.list_map_keys
        self._items: dict[str, Any] = {}
        if self._keys and isinstance(old, list):
            self._items = {self._key_of(each): each for each in reversed(old)}

    def of(self, item: Any) -> Any:
        """Return an item as it was; ``ABSENT`` if it is new."""
        return self._items.get(self._key_of(item), ABSENT) if self._items else ABSENT

    def _key_of(self, item: Any) -> str:
        return key_of([item.get(name) for name in self._keys] if isinstance(item, dict) else item)
