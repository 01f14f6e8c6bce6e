"""The keywords of schemas in profiles, those of CustomResourceDefinitions and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.drivers.errors import ProfileError, check_keys
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

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


def check_section(value: dict[str, Any], gates: Collection[str]) -> None:
    """Check the section of a profile about parameters.

    Args:
        value: The section.
        gates: The feature gates of the driver.

    Raises:
        ProfileError: It is malformed.
    """
    check_keys("parameters", value, _SECTION)
    _typed("parameters", value, _SECTION)
    _check("parameters.schema", value.get("schema") or {}, gates)
    for kind, schema in value.get("kinds", {}).items():
        _check(f"parameters.kinds.{kind}", schema, gates)
    if value.get("kinds") and "apiVersion" not in value:
        raise ProfileError("parameters: kinds need an apiVersion")


def _check(where: str, value: Any, gates: Collection[str]) -> None:
    """Check a schema and those in it."""
    _typed(where, value, _KEYWORDS)
    _known(where, value)
    if not all(isinstance(name, str) for name in value.get("required") or ()):
        raise ProfileError(f"{where}.required: give a list of names")
    if not all(isinstance(gate, str) for gate in value.get("gates", {}).values()):
        raise ProfileError(f"{where}.gates: give the names of feature gates")
    for gate in {*value.get("gates", {}).values(), *filter(None, [value.get("gate")])}.difference(gates):
        raise ProfileError(
            f"{where}: {gate} is not among the gates; write gates: {{{gate}: false}} if it is off by default"
        )
    only = value.get("onlyWith")
    if only is not None and not (isinstance(only.get("field"), str) and "value" in only):
        raise ProfileError(f"{where}.onlyWith: give a field and a value")
    for name, inner in _schemas(value):
        _check(f"{where}.{name}", inner, gates)


def _known(where: str, value: dict[str, Any]) -> None:
    """Check that the keywords and the type of a schema are known, so that no check is left out silently."""
    for key in sorted(map(str, value.keys() - _KEYWORDS.keys() - _IGNORED)):
        if not key.startswith(_EXTENSION):
            raise ProfileError(f"{where}: unknown keyword {key}; {_UNSUPPORTED.get(key) or _meant(key, _KEYWORDS)}")
    kinds = (*TYPES, QUANTITY)
    if (kind := value.get("type", QUANTITY)) not in kinds:
        raise ProfileError(f"{where}.type: unknown type {kind}; {_meant(kind, kinds)}")


def _schemas(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas in a schema, and where they stand."""
    yield from (value.get("properties") or {}).items()
    for key in ("items", "additionalProperties", "not"):
        if isinstance(value.get(key), dict):
            yield key, value[key]
    for key in SEVERAL:
        for index, each in enumerate(value.get(key, ())):
            yield f"{key}[{index}]", each


def _meant(name: Any, known: Iterable[str]) -> str:
    near = nearest(str(name), known)
    return f"did you mean {near}?" if near else f"known are {', '.join(sorted(known))}"


def _typed(where: str, value: Any, types: Mapping[str, tuple[type, ...]]) -> None:
    """Check that a value is an object, and the values of its keys are of their types."""
    if not isinstance(value, dict):
        raise ProfileError(f"{where}: give an object")
    for key, expected in types.items():
        if key in value and not isinstance(value[key], expected):
            raise ProfileError(f"{where}.{key}: {type(value[key]).__name__} is not of the type that it takes")
