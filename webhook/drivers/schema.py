"""The keywords of schemas in profiles, those of CustomResourceDefinitions and ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.cel.errors import CelError
from webhook.cel.regex.re2 import check_pattern
from webhook.drivers.errors import (
    BOOLEAN,
    LENGTH,
    LIST,
    MAP,
    NUMBER,
    TEXT,
    Form,
    malformed,
    meant,
    optional,
    unknown_keys,
)
from webhook.spelling import nearest

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

_KEYWORDS: Final[Mapping[str, Form]] = {
    "properties": optional(MAP),
    "required": optional(LIST),
    **dict.fromkeys(("gates", "onlyWith"), MAP),
    **dict.fromkeys(("enum", *SEVERAL), LIST),
    **dict.fromkeys(("format", "gate", "notWith", "pattern", "type"), TEXT),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), NUMBER),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), BOOLEAN),
    **dict.fromkeys(("maxItems", "maxLength", "maxProperties"), LENGTH),
    **dict.fromkeys(("minItems", "minLength", "minProperties"), LENGTH),
    "additionalProperties": Form("a map, true or false", (dict, bool)),
    "items": MAP,
    "not": Form("a map or a list", (dict, list)),
}
"""The keywords that are checked, and their values."""
_IGNORED: Final = frozenset({"default", "description", "example", "externalDocs", "nullable", "title"})
"""Keywords that refuse no value."""
_EXTENSION: Final = "x-kubernetes-"
"""The prefix of Kubernetes' own keywords, which are for its API server: a driver does not look at them."""
_UNSUPPORTED: Final = {"$ref": "write the schema in its place", "patternProperties": "use additionalProperties"}
_SECTION: Final = {"apiVersion": TEXT, "isLenient": BOOLEAN, "kinds": MAP, "schema": optional(MAP)}


def mistakes_in_section(value: dict[str, Any], gates: Collection[str]) -> Iterator[str]:
    """List the mistakes of a profile's section about parameters.

    Args:
        value: The section.
        gates: The feature gates of the driver.
    """
    yield from unknown_keys("parameters", value, _SECTION)
    wrong = dict(malformed("parameters.", value, _SECTION))
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
        yield f"{where}: must be a map"
        return
    yield from _unknown(where, value)
    wrong = dict(malformed(f"{where}.", value, _KEYWORDS))
    yield from wrong.values()
    value = {key: each for key, each in value.items() if key not in wrong}
    kinds = (*TYPES, QUANTITY)
    if (kind := value.get("type", QUANTITY)) not in kinds:
        yield f"{where}.type: unknown type {kind}; {meant(kind, kinds)}"
    if not all(isinstance(name, str) for name in value.get("required") or ()):
        yield f"{where}.required: must be a list of names"
    if fault := _wrong_pattern(value.get("pattern", "")):
        yield f"{where}.pattern: {fault}"
    yield from _wrong_gates(where, [*value.get("gates", {}).values(), value.get("gate")], gates)
    only = value.get("onlyWith")
    if only is not None and not (isinstance(only.get("field"), str) and "value" in only):
        yield f"{where}.onlyWith: give a field and a value"
    for name, inner in _schemas(value):
        yield from _mistakes(f"{where}.{name}", inner, gates)


def _wrong_pattern(pattern: str) -> str:
    try:
        check_pattern(pattern)
    except CelError as error:
        return str(error)
    return ""


def _wrong_gates(where: str, stated: list[Any], gates: Collection[str]) -> Iterator[str]:
    if not all(isinstance(gate, str | None) for gate in stated):
        yield f"{where}.gates: give the names of feature gates"
        return
    for gate in dict.fromkeys(filter(None, stated)):
        if gate not in gates:
            near = nearest(gate, gates)
            advice = f"did you mean {near}?" if near else f"write gates: {{{gate}: false}} if it is off by default"
            yield f"{where}: {gate} is not among the gates; {advice}"


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
