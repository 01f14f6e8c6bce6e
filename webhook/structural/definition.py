"""The kinds that CustomResourceDefinitions define.

Follows apiextensions-apiserver ``pkg/registry/customresource`` (strategy.go, validator.go) and
``pkg/apiserver/customresource_handler.go``. Objects are not converted between versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from webhook.api.conversion import with_defaults
from webhook.cel.runtime.conversions import double_to_string
from webhook.later import cached_property
from webhook.objects import JSONObject, at, is_definition, items, mapping, text
from webhook.problem import BAD_REQUEST, ERROR, Fix, Path, Problem, invalid, quoted
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema import STATUS
from webhook.schema.decoding import STRICT, UNKNOWN_FIELD
from webhook.spelling import nearest
from webhook.structural import SCHEMA
from webhook.structural.comparison import ABSENT
from webhook.structural.decoding import decoded, defaulted
from webhook.structural.schema import Structural
from webhook.structural.shapes import SchemaStructure
from webhook.structural.validation import by_rules, by_schema, repeated_items

_INT32_MAX: Final = 2**31 - 1
_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}


class CustomVersion:
    """A version of a kind that a CustomResourceDefinition defines.

    Args:
        stated: The version, as the definition states it.
    """

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
        """Return an object as it is stored once a client creates it; None if the API server refuses it.

        Args:
            obj: The object as submitted.
        """
        completed = self.completed(obj, release)
        is_refused = self.unknown_fields(obj) or self.refusals(completed, None, release)
        return None if is_refused else completed

    def refusals(
        self, obj: JSONObject, old: JSONObject | None, release: Release, subresource: str = ""
    ) -> list[Problem]:
        """List why the API server refuses to store an object.

        Args:
            old: The stored object, completed; None for a new one.
        """
        before = ABSENT if old is None else old
        if subresource == STATUS:
            found = self._refusals_of_status(obj, old, release)
        else:
            found = [*by_schema(obj, self.schema, release, before), *self._scale_problems(obj, "specReplicasPath")]
        found += [*self._scale_problems(obj, "statusReplicasPath"), *self._scale_problems(obj, "labelSelectorPath")]
        found += repeated_items(obj, self.schema, before)
        found += by_rules(obj, self.schema, release, found, before, is_resource=True)
        return [each if each.rule else each.named(SCHEMA) for each in found]

    def _refusals_of_status(self, obj: JSONObject, old: JSONObject | None, release: Release) -> list[Problem]:
        schema = self.schema.properties.get(STATUS)
        if schema is None or STATUS not in obj:
            return []
        before = ABSENT if old is None else old.get(STATUS, ABSENT)
        return [each.under(STATUS) for each in by_schema(obj[STATUS], schema, release, before)]

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
    """A kind that a CustomResourceDefinition defines.

    Args:
        resource: The name of its resource.
        namespaced: Whether its objects are in namespaces.
        versions: The served versions, by name.
    """

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
