"""The kinds that CustomResourceDefinitions define.

Follows apiextensions-apiserver ``pkg/registry/customresource`` (strategy.go, validator.go) and
``pkg/apiserver/customresource_handler.go``. Objects are not converted between versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from webhook.api.conversion import with_defaults
from webhook.api.core.meta import ObjectMeta
from webhook.budget import work
from webhook.cel.runtime.conversions import double_to_string
from webhook.later import cached_property
from webhook.objects import JSONObject, at, is_definition, items, mapping, text
from webhook.problem import BAD_REQUEST, ERROR, Fix, Path, Problem, invalid, quoted
from webhook.release import Release
from webhook.schema.decoding import STRICT, UNKNOWN_FIELD
from webhook.schema.derive import shape as shapes
from webhook.schema.derive.shape import ATOMIC, MERGED, SET, Anything, ListOf, MapOf, Scalar, Shape, Structure
from webhook.schema.target import STATUS
from webhook.spelling import nearest
from webhook.structural import SCHEMA
from webhook.structural.schema import ABSENT, META_FIELDS, Structural
from webhook.structural.validation import by_rules, by_schema, repeated_items

_MERGING: Final[Mapping[str, str]] = {"set": SET, "map": MERGED}
_OF_OBJECTS: Final[Mapping[str, Shape]] = {
    "apiVersion": Scalar(shapes.STRING),
    "kind": Scalar(shapes.STRING),
    "metadata": Structure(ObjectMeta, {}),
}


class SchemaStructure(Structure):
    """The shape of objects that a structural schema describes; a resource has a version, a kind and metadata, too."""

    def __init__(self, schema: Structural, name: str, *, is_resource: bool = False) -> None:
        self.name, self.is_atomic = name, _is_atomic(schema)
        self._schema = schema
        self._shapes = dict(_OF_OBJECTS) if is_resource or schema.is_embedded else {}
        self.is_open, self.is_pruned = schema.preserves_unknown, True

    def field(self, name: str) -> Shape | None:
        """Return the shape of a field; None if the field does not exist."""
        if (shape := self._shapes.get(name)) is None:
            if (schema := self._schema.properties.get(name)) is None:
                return Anything() if self.is_open else None
            shape = self._shapes[name] = shape_of(schema, f"{self.name}.{name}")
        return shape

    def fields(self, _release: Release | None = None) -> Iterator[tuple[str, Shape]]:
        """List the fields that expressions can read."""
        for name in self._shapes.keys() | self._schema.properties.keys():
            shape = self.field(name)
            if shape is not None and shape != Anything():
                yield name, shape


def shape_of(schema: Structural, name: str) -> Shape:
    """Return the shape of a schema's values; its type has a name if it has fields."""
    if schema.is_int_or_string:
        return Scalar(shapes.INT_OR_STRING)
    if schema.type == "object":
        if schema.values is not None and not schema.properties:
            return MapOf(shape_of(schema.values, f"{name}.@elem"), _is_atomic(schema))
        return SchemaStructure(schema, name) if schema.properties else Anything(is_object=True)
    if schema.type == "array" and schema.items is not None:
        fields = schema.items.properties
        keys = tuple((key, fields[key].default if key in fields else None) for key in schema.list_map_keys)
        return ListOf(shape_of(schema.items, f"{name}.@idx"), _MERGING.get(schema.list_type, ATOMIC), keys)
    return Scalar(schema.scalar, nullable=schema.nullable) if schema.scalar else Anything()


def _is_atomic(schema: Structural) -> bool:
    return text(schema.stated, "x-kubernetes-map-type") == ATOMIC


def decoded(obj: Any, schema: Structural) -> tuple[Any, list[Path]]:
    """Return an object without what the API server prunes, and the paths of its unknown fields."""
    unknown: list[Path] = []
    return _pruned(obj, schema, Path(), unknown, is_resource=True), sorted(unknown, key=str)


def defaulted(value: Any, schema: Structural | None) -> Any:
    """Return a value with the defaults of its schema; null counts as absent where it is not allowed."""
    if schema is None or not isinstance(value, dict | list):
        return value
    work(1 + len(value))
    if isinstance(value, list):
        return [_item(each, schema.items) for each in value]
    work(len(schema.properties))
    missing = {
        name: _copied(each.default)
        for name, each in schema.properties.items()
        if each.default is not None and (name not in value or (value[name] is None and not each.nullable))
    }
    return {
        name: defaulted(each, schema.properties[name]) if name in schema.properties else _item(each, schema.values)
        for name, each in {**value, **missing}.items()
    }


def _copied(default: Any) -> Any:
    """Return a copy of a default, so that no two objects share it."""
    if isinstance(default, dict):
        work(1 + len(default))
        return {name: _copied(each) for name, each in default.items()}
    if isinstance(default, list):
        work(1 + len(default))
        return [_copied(each) for each in default]
    return default


def _item(value: Any, schema: Structural | None) -> Any:
    if value is None and schema is not None and not schema.nullable:
        value = _copied(schema.default)
    return defaulted(value, schema)


def _pruned(
    value: Any,
    schema: Structural | None,
    path: Path,
    unknown: list[Path] | None,
    *,
    is_resource: bool = False,
    is_kept: bool = False,
) -> Any:
    """Return a value without the fields that its schema does not know; without a schema, none is known.

    Fields that are null go, too, if they may not be null and have no default.

    Args:
        unknown: Receives the paths of unknown fields; None for metadata, of which all are known.
        is_resource: Whether it is a whole object, with metadata.
        is_kept: Whether it is an item of a list whose unknown fields are preserved.
    """
    if not isinstance(value, dict | list):
        return value
    is_kept = is_kept or unknown is None or (schema is not None and schema.preserves_unknown)
    if is_kept and schema is None:
        return value
    work(1 + len(value))
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        return [_pruned(each, items, path / index, unknown, is_kept=is_kept) for index, each in enumerate(value)]
    kept = {}
    for name, each in value.items():
        field = schema.field(name) if schema is not None else None
        if each is None and field is not None and not field.nullable and field.default is None:
            continue
        if schema is not None and (schema.is_embedded or is_resource) and name in META_FIELDS:
            kept[name] = _pruned(each, field, path / name, None)
        elif field is not None or (schema is not None and schema.stated.get("additionalProperties") is not None):
            kept[name] = _pruned(each, field, path / name, unknown)
        elif is_kept or unknown is None:
            kept[name] = each
        else:
            unknown.append(path / name)
    return kept


_INT32_MAX: Final = 2**31 - 1
_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}


class CustomVersion:
    """A version of a kind that a CustomResourceDefinition defines."""

    def __init__(self, kind: str, stated: JSONObject) -> None:
        self._kind, self._stated = kind, stated

    @cached_property
    def schema(self) -> Structural:
        """The schema of the objects."""
        return Structural(at(self._stated, "schema", "openAPIV3Schema") or _ANYTHING)

    @cached_property
    def structure(self) -> SchemaStructure:
        """The shape of the objects, for merging and type checks."""
        return SchemaStructure(self.schema, self._kind, is_resource=True)

    @property
    def has_status(self) -> bool:
        """Whether only updates of the subresource change the status."""
        return at(self._stated, "subresources", STATUS) is not None

    def completed(self, obj: JSONObject, release: Release) -> JSONObject:
        """Return an object as the API server decodes it: without unknown fields, with defaults."""
        obj = with_defaults(obj, release)  # of its metadata
        completed: JSONObject = defaulted(decoded(obj, self.schema)[0], self.schema)
        return completed

    def unknown_fields(self, obj: JSONObject) -> list[Problem]:
        """List the fields that the schema does not know, for which kubectl has the API server refuse the object."""
        return [self._unknown(path) for path in decoded(obj, self.schema)[1]]

    def _unknown(self, path: Path) -> Problem:
        message = f"{STRICT}unknown field {quoted(str(path))}"
        schema: Structural | None = self.schema
        for step in path[:-1]:
            if schema is not None:
                schema = schema.items if isinstance(step, int) else schema.field(step)
        near = nearest(str(path[-1]), schema.properties) if schema is not None else ""
        hint, fix = (f'did you mean "{near}"?', Fix("rename", near, safe=False)) if near else ("", None)
        return Problem(ERROR, UNKNOWN_FIELD, BAD_REQUEST, path, message, hint, fix=fix)

    def stored(self, obj: JSONObject, release: Release) -> JSONObject | None:
        """Return an object as it is stored once a client creates it; None if the API server refuses it."""
        completed = self.completed(obj, release)
        return None if self.unknown_fields(obj) or self.refusals(completed, None, release) else completed

    def refusals(
        self, obj: JSONObject, old: JSONObject | None, release: Release, subresource: str = ""
    ) -> list[Problem]:
        """List why the API server refuses to store an object; `old` is the stored one, completed."""
        before = ABSENT if old is None else old
        if subresource == STATUS:
            schema, was = self.schema.properties.get(STATUS), ABSENT if old is None else old.get(STATUS, ABSENT)
            wrong = by_schema(obj[STATUS], schema, release, was) if schema and STATUS in obj else ()
            found = [each.under(STATUS) for each in wrong]
        else:
            found = [*by_schema(obj, self.schema, release, before), *self._scale_problems(obj, "specReplicasPath")]
        found += [*self._scale_problems(obj, "statusReplicasPath"), *self._scale_problems(obj, "labelSelectorPath")]
        found += repeated_items(obj, self.schema, before)
        found += by_rules(obj, self.schema, release, found, before, is_resource=True)
        return [each if each.rule else each.named(SCHEMA) for each in found]

    def _scale_problems(self, obj: JSONObject, name: str) -> Iterator[Problem]:
        """Check a field of the scale subresource, whose path the API server spells as the definition does."""
        stated = text(self._stated, "subresources", "scale", name)
        value = at(obj, *stated.removeprefix(".").split(".")) if stated else None
        if value is None or isinstance(value, dict | list):  # the schema says of what type it must be
            return
        wanted = "string" if name == "labelSelectorPath" else "int64"
        got, printed = next(go for type_, go in _GO_TYPES.items() if isinstance(value, type_))
        fault = ""
        if got != wanted:
            fault = f"{stated} accessor error: {printed(value)} is of the type {got}, expected {wanted}"
            value = "" if wanted == "string" else 0
        elif wanted == "int64" and not 0 <= value <= _INT32_MAX:
            fault = "should be a non-negative integer" if value < 0 else f"should be less than or equal to {_INT32_MAX}"
        if fault:
            path = Path(stated.removeprefix(".").split("."))
            yield invalid(path, value, fault)._replace(spelled=Path((stated,)))


_GO_TYPES: Final[Mapping[type, tuple[str, Callable[[Any], str]]]] = {
    bool: ("bool", lambda value: str(value).lower()),
    int: ("int64", str),
    float: ("float64", double_to_string),
    str: ("string", str),
}


class Definition(NamedTuple):
    """A kind that a CustomResourceDefinition defines, with the versions that are served."""

    group: str
    kind: str
    resource: str
    namespaced: bool
    versions: Mapping[str, CustomVersion]


def definition_of(obj: object) -> Definition | None:
    """Return the kind that a CustomResourceDefinition defines; None for other objects, and a malformed one."""
    if not is_definition(obj):
        return None
    spec = mapping(obj, "spec")
    group, kind, plural = text(spec, "group"), text(spec, "names", "kind"), text(spec, "names", "plural")
    if not (group and kind and plural):
        return None
    served = {
        name: CustomVersion(kind, each)
        for each in items(spec, "versions")
        if (name := text(each, "name")) and each.get("served") is True
    }
    return Definition(group, kind, plural, spec.get("scope") != "Cluster", served)
