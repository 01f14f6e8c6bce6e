"""The keywords of schemas in profiles, those of CustomResourceDefinitions and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.drivers.errors import meant, unknown_keys

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
"""The types of values, and Python's types for them."""
QUANTITY: Final = "quantity"
"""The type of amounts such as 10Gi, which CustomResourceDefinitions do not have."""
SEVERAL: Final = ("allOf", "anyOf", "oneOf")

_NUMBER: Final = (int, float)
_KEYWORDS: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("properties",), (dict, type(None))),
    **dict.fromkeys(("required",), (list, type(None))),
    **dict.fromkeys(("gates", "onlyWith"), (dict,)),
    **dict.fromkeys(("enum", *SEVERAL), (list,)),
    **dict.fromkeys(("format", "gate", "notWith", "pattern", "type"), (str,)),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), (bool,)),
    **dict.fromkeys(("maxItems", "maxLength", "maxProperties"), (int,)),
    **dict.fromkeys(("minItems", "minLength", "minProperties"), (int,)),
    "additionalProperties": (dict, bool),
    "items": (dict,),
    "not": (list, dict),
}
"""The keywords that are checked, and the types of their values."""
_IGNORED: Final = frozenset({"default", "description", "example", "externalDocs", "nullable", "title"})
"""Keywords that refuse no value."""
_EXTENSION: Final = "x-kubernetes-"
"""The prefix of Kubernetes' own keywords, which are for its API server: a driver does not look at them."""
_UNSUPPORTED: Final = {"$ref": "write the schema in its place", "patternProperties": "use additionalProperties"}
_SECTION: Final[Mapping[str, tuple[type, ...]]] = {
    "apiVersion": (str,),
    "isLenient": (bool,),
    "kinds": (dict,),
    "schema": (dict, type(None)),
}


def mistakes_in_section(value: dict[str, Any], gates: Collection[str]) -> Iterator[str]:
    """List the mistakes of a profile's section about parameters.

    Args:
        value: The section.
        gates: The feature gates of the driver.
    """
    yield from unknown_keys("parameters", value, _SECTION)
    wrong = dict(_wrong_types("parameters", value, _SECTION))
    yield from wrong.values()
    if "schema" not in wrong:
        yield from _mistakes("parameters.schema", value.get("schema") or {}, gates)
    if "kinds" in wrong:
        return
    for kind, schema in value.get("kinds", {}).items():
        yield from _mistakes(f"parameters.kinds.{kind}", schema, gates)
    if value.get("kinds") and "apiVersion" not in value:
        yield "parameters: kinds need an apiVersion"


def _mistakes(where: str, value: Any, gates: Collection[str]) -> Iterator[str]:
    """List the mistakes of a schema and those in it."""
    if not isinstance(value, dict):
        yield f"{where}: give an object"
        return
    yield from _unknown(where, value)
    wrong = dict(_wrong_types(where, value, _KEYWORDS))
    yield from wrong.values()
    value = {key: each for key, each in value.items() if key not in wrong}
    kinds = (*TYPES, QUANTITY)
    if (kind := value.get("type", QUANTITY)) not in kinds:
        yield f"{where}.type: unknown type {kind}; {meant(kind, kinds)}"
    if not all(isinstance(name, str) for name in value.get("required") or ()):
        yield f"{where}.required: give a list of names"
    yield from _wrong_gates(where, [*value.get("gates", {}).values(), value.get("gate")], gates)
    only = value.get("onlyWith")
    if only is not None and not (isinstance(only.get("field"), str) and "value" in only):
        yield f"{where}.onlyWith: give a field and a value"
    for name, inner in _schemas(value):
        yield from _mistakes(f"{where}.{name}", inner, gates)


def _wrong_gates(where: str, stated: list[Any], gates: Collection[str]) -> Iterator[str]:
    if not all(isinstance(gate, str | None) for gate in stated):
        yield f"{where}.gates: give the names of feature gates"
        return
    for gate in dict.fromkeys(filter(None, stated)):
        if gate not in gates:
            yield f"{where}: {gate} is not among the gates; write gates: {{{gate}: false}} if it is off by default"


def _unknown(where: str, value: dict[str, Any]) -> Iterator[str]:
    """List the unknown keywords of a schema, so that no check is left out silently."""
    for key in sorted(map(str, value.keys() - _KEYWORDS.keys() - _IGNORED)):
        if not key.startswith(_EXTENSION):
            yield f"{where}: unknown keyword {key}; {_UNSUPPORTED.get(key) or meant(key, _KEYWORDS)}"


def _schemas(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas in a schema, and where they stand."""
    yield from (value.get("properties") or {}).items()
    for key in ("items", "additionalProperties", "not"):
        if isinstance(value.get(key), dict):
            yield key, value[key]
    for key in SEVERAL:
        for index, each in enumerate(value.get(key, ())):
            yield f"{key}[{index}]", each


def _wrong_types(where: str, value: dict[str, Any], types: Mapping[str, tuple[type, ...]]) -> Iterator[tuple[str, str]]:
    """Yield the keys whose values are not of their types, and the mistakes."""
    for key, expected in types.items():
        if key in value and not isinstance(value[key], expected):
            yield key, f"{where}.{key}: {type(value[key]).__name__} is not of the type that it takes"
