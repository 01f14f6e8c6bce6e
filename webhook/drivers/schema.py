"""The keywords of schemas in profiles, those of CustomResourceDefinitions and ours."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from webhook.api.versions import NEWEST
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
    Mistake,
    ProfilePlace,
    malformed,
    meant,
    optional,
    unknown_keys,
)
from webhook.drivers.profile import QUANTITY, schemas_of, structural_form
from webhook.spelling import nearest
from webhook.structural.rules import rule_errors
from webhook.structural.schema import Structural

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
"""The types of values, and Python's types for them."""
SEVERAL: Final = ("allOf", "anyOf", "oneOf")

_VALIDATIONS: Final = "x-kubernetes-validations"
_KEYWORDS: Final[Mapping[str, Form]] = {
    "properties": optional(MAP),
    "required": optional(LIST),
    "gates": MAP,
    **dict.fromkeys(("enum", _VALIDATIONS, *SEVERAL), LIST),
    **dict.fromkeys(("format", "gate", "pattern", "type"), TEXT),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), NUMBER),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), BOOLEAN),
    **dict.fromkeys(("maxItems", "maxLength", "maxProperties"), LENGTH),
    **dict.fromkeys(("minItems", "minLength", "minProperties"), LENGTH),
    "additionalProperties": Form("a map, true or false", (dict, bool)),
    "items": MAP,
    "not": MAP,
}
"""The keywords that are checked, and their values."""
_IGNORED: Final = frozenset({"default", "description", "example", "externalDocs", "nullable", "title"})
"""Keywords that refuse no value."""
_PARTS: Final = frozenset({*SEVERAL, "not"})
"""The keywords with schemas that judge a part of a value: other fields are up to the schema around them."""
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
PROFILE_RULE: Final[Mapping[str, Form]] = dict.fromkeys(("rule", "message", "messageExpression", "fieldPath"), TEXT)
"""The keys of a rule of a profile, and their values."""
RULE: Final = {**PROFILE_RULE, "reason": TEXT, "optionalOldSelf": BOOLEAN}
"""The keys of a rule of a schema, and their values."""
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
_EXTENSION: Final = "x-kubernetes-"
"""The prefix of Kubernetes' own keywords; the others are for its API server: a driver does not look at them."""
_UNSUPPORTED: Final = {
    "$ref": "write the schema in its place",
    "patternProperties": "use additionalProperties",
    **dict.fromkeys(("notWith", "onlyWith"), f"state a rule in {_VALIDATIONS}"),
}
_PARAMETERS: Final = ProfilePlace(("parameters",), "parameters")
SECTION: Final = {"apiVersion": TEXT, "isLenient": BOOLEAN, "kinds": MAP, "schema": optional(MAP)}
"""The keys of the section about parameters, and their values."""


def mistakes_in_section(value: dict[str, Any], gates: Collection[str]) -> Iterator[Mistake]:
    """List the mistakes of a profile's section about parameters.

    Args:
        gates: The feature gates of the driver.
    """
    yield from unknown_keys(_PARAMETERS, value, SECTION)
    wrong = dict(malformed(_PARAMETERS, value, SECTION))
    yield from wrong.values()
    is_lenient = value.get("isLenient") is True
    if "schema" not in wrong:
        yield from _mistakes(_PARAMETERS / "schema", value.get("schema") or {}, gates, is_lenient=is_lenient)
    if "kinds" in wrong:
        return
    for kind, schema in value.get("kinds", {}).items():
        yield from _mistakes(_PARAMETERS / "kinds" / kind, schema, gates, is_lenient=is_lenient)
    if value.get("kinds") and "apiVersion" not in value:
        yield _PARAMETERS.mistake("kinds need an apiVersion")


def mistakes_in_rules(value: dict[str, Any]) -> Iterator[Mistake]:
    """List the rules of well-formed schemas that cannot be compiled.

    Args:
        value: A profile's section about parameters.
    """
    for kind, stated in schemas_of(value).items():
        root = ("kinds", kind) if kind else ("schema",)
        for path, error in rule_errors(Structural(structural_form(stated)), NEWEST):
            steps = (*root, *path)
            name = ".".join(map(str, (each for each in steps if each != "properties")))
            yield _PARAMETERS.below(steps, name).mistake(error)


def mistakes_in_rule(where: ProfilePlace, value: Any, forms: Mapping[str, Form]) -> Iterator[Mistake]:
    """List the mistakes of a rule, but for those of its expressions.

    Args:
        forms: The values that its keys take.
    """
    yield from unknown_keys(where, value, forms)
    if not isinstance(value, dict):
        return
    wrong = dict(malformed(where, value, forms))
    yield from wrong.values()
    if not value.get("rule"):
        yield where.mistake("state the condition in rule")
    if (reason := value.get("reason", _REASONS[0])) not in _REASONS and "reason" not in wrong:
        yield (where / "reason").mistake(f"unknown reason {reason}; {meant(reason, _REASONS, 'reasons')}")


def _mistakes(where: ProfilePlace, value: Any, gates: Collection[str], *, is_lenient: bool) -> Iterator[Mistake]:
    """List the mistakes of a schema and those in it.

    Args:
        gates: The feature gates of the driver.
        is_lenient: Whether fields that the schema does not list are allowed.
    """
    if not isinstance(value, dict):
        yield where.mistake("must be a map")
        return
    yield from _unknown(where, value)
    wrong = dict(malformed(where, value, _KEYWORDS))
    yield from wrong.values()
    value = {key: each for key, each in value.items() if key not in wrong}
    kinds = (*TYPES, QUANTITY)
    if (kind := value.get("type", QUANTITY)) not in kinds:
        yield (where / "type").mistake(f"unknown type {kind}; {meant(kind, kinds)}")
    if not all(isinstance(name, str) for name in value.get("required") or ()):
        yield (where / "required").mistake("must be a list of names")
    elif not is_lenient:
        yield from _impossible(where, value)
    if (pattern := value.get("pattern")) and (fault := _wrong_pattern(pattern)):
        yield (where / "pattern").mistake(fault)
    yield from _wrong_gates(where, value, gates)
    for index, rule in enumerate(value.get(_VALIDATIONS, ())):
        yield from mistakes_in_rule(where.below((_VALIDATIONS, index), f"{_VALIDATIONS}[{index}]"), rule, RULE)
    for steps, name, inner in _schemas(value):
        is_part = steps[0] in _PARTS
        yield from _mistakes(where.below(steps, name), inner, gates, is_lenient=is_lenient or is_part)


def _impossible(where: ProfilePlace, value: dict[str, Any]) -> Iterator[Mistake]:
    """List the fields that a schema both requires and refuses, so that no value fits it."""
    properties = value.get("properties")
    if not properties or value.get("additionalProperties") or value.get(_OPEN):
        return
    for index, name in enumerate(value.get("required") or ()):
        if name not in properties:
            text = f"{name} is required, but not among the properties; {meant(name, properties, 'properties')}"
            yield where.below(("required", index), f"required[{index}]").mistake(text)


def _wrong_pattern(pattern: str) -> str:
    try:
        check_pattern(pattern)
    except CelError as error:
        return str(error)
    return ""


def _wrong_gates(where: ProfilePlace, value: dict[str, Any], gates: Collection[str]) -> Iterator[Mistake]:
    stated = value.get("gates", {}).values()
    if not all(isinstance(gate, str | None) for gate in stated):
        yield (where / "gates").mistake("give the names of feature gates")
        return
    named = {**dict.fromkeys(filter(None, stated), "gates"), value.get("gate"): "gate"}
    for gate, key in named.items():
        if gate and gate not in gates:
            near = nearest(gate, gates)
            advice = f"did you mean {near}?" if near else f"write gates: {{{gate}: false}} if it is off by default"
            yield where.mistake(f"{gate} is not among the gates; {advice}", key)


def _unknown(where: ProfilePlace, value: dict[str, Any]) -> Iterator[Mistake]:
    """List the unknown keywords of a schema, so that no check is left out silently."""
    for key in sorted(map(str, value.keys() - _KEYWORDS.keys() - _IGNORED)):
        if not key.startswith(_EXTENSION):
            yield where.mistake(f"unknown keyword {key}; {_UNSUPPORTED.get(key) or meant(key, _KEYWORDS)}", key)


def _schemas(value: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    """Yield the schemas in a schema, after the steps to them and their names."""
    for name, each in (value.get("properties") or {}).items():
        yield ("properties", str(name)), str(name), each
    for key in ("items", "additionalProperties", "not"):
        if isinstance(value.get(key), dict):
            yield (key,), key, value[key]
    for key in SEVERAL:
        for index, each in enumerate(value.get(key, ())):
            yield (key, index), f"{key}[{index}]", each
