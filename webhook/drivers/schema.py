"""The keywords of schemas in profiles, those of CustomResourceDefinitions and ours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final

from webhook.api.versions import NEWEST
from webhook.budget import work
from webhook.cel.errors import CelError
from webhook.cel.regex.re2 import check_pattern, matches
from webhook.drivers.errors import (
    BOOLEAN,
    LENGTH,
    LIST,
    MAP,
    NUMBER,
    TEXT,
    Form,
    Mistake,
    apart,
    checked,
    meant,
    mistake,
    optional,
)
from webhook.drivers.profile import QUANTITY, Profile, schemas_of, structural_form
from webhook.drivers.rules import Violation
from webhook.formats.quantities import quantity
from webhook.grouping import repeated
from webhook.hints.names import renamed
from webhook.patterns import Pattern
from webhook.problem import Advice, Fix, Path, Steps, shown
from webhook.spelling import nearest
from webhook.structural.rules import check_rules, rule_errors
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
_UNSUPPORTED: Final = {
    "$ref": "write the schema in its place",
    "patternProperties": "use additionalProperties",
    **dict.fromkeys(("notWith", "onlyWith"), f"state a rule in {_VALIDATIONS}"),
}
_PARAMETERS: Final = Path(("parameters",))
SECTION: Final = {"apiVersion": TEXT, "isLenient": BOOLEAN, "kinds": MAP, "schema": optional(MAP)}
"""The keys of the section about parameters, and their values."""


def mistakes_in_section(value: dict[str, Any], gates: Collection[str]) -> Iterator[Mistake]:
    """List the mistakes of a profile's section about parameters.

    Args:
        gates: The feature gates of the driver.
    """
    section, found = checked(_PARAMETERS, value, SECTION)
    yield from found
    is_lenient = section.get("isLenient", False)
    yield from _mistakes(_PARAMETERS / "schema", section.get("schema") or {}, gates, is_lenient=is_lenient)
    for kind, schema in section.get("kinds", {}).items():
        yield from _mistakes(_PARAMETERS / "kinds" / kind, schema, gates, is_lenient=is_lenient)
    if section.get("kinds") and "apiVersion" not in value:
        yield mistake(_PARAMETERS, "kinds need an apiVersion")


def mistakes_in_rules(value: dict[str, Any]) -> Iterator[Mistake]:
    """List the rules of well-formed schemas that cannot be compiled.

    Args:
        value: A profile's section about parameters.
    """
    for kind, stated in schemas_of(value).items():
        root = ("kinds", kind) if kind else ("schema",)
        for path, error in rule_errors(Structural(structural_form(stated)), NEWEST):
            steps = (*_PARAMETERS, *root, *path)
            yield Mistake(Path(steps), f"{'.'.join(str(each) for each in steps if each != 'properties')}: {error}")


def mistakes_in_rule(where: Path, value: Any, forms: Mapping[str, Form]) -> Iterator[Mistake]:
    """List the mistakes of a rule, but for those of its expressions.

    Args:
        forms: The values that its keys take.
    """
    rule, found = checked(where, value, forms)
    yield from found
    if not isinstance(value, dict):
        return
    if not value.get("rule"):
        yield mistake(where, "state the condition in rule")
    if (reason := rule.get("reason", _REASONS[0])) not in _REASONS:
        yield mistake(where / "reason", f"unknown reason {reason}; {meant(reason, _REASONS, 'reasons')}")


def _mistakes(where: Path, value: Any, gates: Collection[str], *, is_lenient: bool) -> Iterator[Mistake]:
    """List the mistakes of a schema and those in it.

    Args:
        gates: The feature gates of the driver.
        is_lenient: Whether fields that the schema does not list are allowed.
    """
    if not isinstance(value, dict):
        yield mistake(where, "must be a map")
        return
    unknown = map(str, value.keys() - _KEYWORDS.keys() - _IGNORED)
    # Other keywords of Kubernetes' own are for its API server: a driver does not look at them.
    for key in sorted(each for each in unknown if not each.startswith("x-kubernetes-")):
        yield mistake(where, f"unknown keyword {key}; {_UNSUPPORTED.get(key) or meant(key, _KEYWORDS)}", key)
    value, found = apart(where, value, _KEYWORDS)
    yield from found
    kinds = (*TYPES, QUANTITY)
    if (kind := value.get("type", QUANTITY)) not in kinds:
        yield mistake(where / "type", f"unknown type {kind}; {meant(kind, kinds)}")
    if not all(isinstance(name, str) for name in value.get("required") or ()):
        yield mistake(where / "required", "must be a list of names")
    elif not is_lenient:
        yield from _impossible(where, value)
    if pattern := value.get("pattern"):
        try:
            check_pattern(pattern)
        except CelError as error:
            yield mistake(where / "pattern", str(error))
    yield from _wrong_gates(where, value, gates)
    for index, rule in enumerate(value.get(_VALIDATIONS, ())):
        yield from mistakes_in_rule(where / _VALIDATIONS / index, rule, RULE)
    for steps, inner in _schemas(value):
        yield from _mistakes(Path((*where, *steps)), inner, gates, is_lenient=is_lenient or steps[0] in _PARTS)


def _impossible(where: Path, value: dict[str, Any]) -> Iterator[Mistake]:
    """List the fields that a schema both requires and refuses, so that no value fits it."""
    properties = value.get("properties")
    if not properties or value.get("additionalProperties") or value.get(_OPEN):
        return
    for index, name in enumerate(value.get("required") or ()):
        if name not in properties:
            text = f"{name} is required, but not among the properties; {meant(name, properties, 'properties')}"
            yield mistake(where / "required" / index, text)


def _wrong_gates(where: Path, value: dict[str, Any], gates: Collection[str]) -> Iterator[Mistake]:
    stated = value.get("gates", {}).values()
    if not all(isinstance(gate, str | None) for gate in stated):
        yield mistake(where / "gates", "give the names of feature gates")
        return
    named = {**dict.fromkeys(filter(None, stated), "gates"), value.get("gate"): "gate"}
    for gate, key in named.items():
        if gate and gate not in gates:
            near = nearest(gate, gates)
            advice = f"did you mean {near}?" if near else f"write gates: {{{gate}: false}} if it is off by default"
            yield mistake(where, f"{gate} is not among the gates; {advice}", key)


def _schemas(value: dict[str, Any]) -> Iterator[tuple[Steps, Any]]:
    """Yield the schemas in a schema, after the steps to them."""
    for name, each in (value.get("properties") or {}).items():
        yield ("properties", name), each
    for key in ("items", "additionalProperties", "not"):
        if isinstance(value.get(key), dict):
            yield (key,), value[key]
    for key in SEVERAL:
        for index, each in enumerate(value.get(key, ())):
            yield (key, index), each


Schema = Mapping[str, Any]

_DEEPEST: Final = 100
_TYPE_META: Final = frozenset({"apiVersion", "kind"})
_BOOLEANS: Final = "in YAML, y, n, yes, no, on and off are booleans, too"
_LITERALS: Final = {"true": True, "false": False}
_WHOLE: Final = Pattern(r"-?[0-9]{1,18}")
_AT_ONCE: Final = 50
"""How many values are compared in the time of a step of the walk."""
_A_NAME: Final = 10
"""The work of comparing a name with another one."""


def check_parameters(profile: Profile, value: Any) -> Iterator[Violation]:
    """List the errors that the driver would report in its parameters.

    Raises:
        BudgetExceededError: They take more work than may be done.
    """
    stated = profile.parameters
    if stated is None or not isinstance(value, dict):
        return
    walk = _Walk(profile, is_lenient=bool(stated.get("isLenient")))
    content = {name: inner for name, inner in value.items() if name not in _TYPE_META}
    if kinds := stated.get("kinds"):
        kind, faults = _kind(value, stated["apiVersion"], kinds)
        if kind and (gate := kinds[kind].get("gate")):
            faults += walk.gate(("kind",), kind, gate)
        if kind:
            faults += walk.check(kinds[kind], content, ())
    else:
        kind, expected = "", stated.get("apiVersion")
        faults = [*_is("apiVersion", value, [expected])] if expected else []
        content = content if expected else value
        faults += walk.check(stated.get("schema") or {}, content, ())
    yield from faults
    if schema := profile.schemas.get(kind):
        misfits = [Path(each.path) for each in faults if not each.gate]
        misfits += [Path((*each.path[:-1], each.fix.value)) for each in faults if each.fix]  # also what was meant
        for problem in check_rules(content, schema, NEWEST, misfits=misfits):
            yield Violation(tuple(problem.path), problem.message)


def _kind(value: dict[str, Any], version: str, kinds: Mapping[str, Schema]) -> tuple[str, list[Violation]]:
    """Return the kind that parameters are of, also if it is misspelt, empty if unclear; and what is wrong with it."""
    if value.keys().isdisjoint(_TYPE_META):
        hint = f"write apiVersion: {version} and kind: {' or '.join(sorted(kinds))}"
        return "", [Violation((), "apiVersion and kind are missing", hint)]
    faults = [*_is("apiVersion", value, [version]), *_is("kind", value, sorted(kinds))]
    if not all(each.fix for each in faults):
        return "", faults
    meant = {each.path: each.fix.value for each in faults if each.fix}
    return str(meant.get(("kind",), value.get("kind"))), faults


def _is(field: str, value: dict[str, Any], expected: list[str]) -> Iterator[Violation]:
    if (given := value.get(field)) in expected:
        return
    if field not in value:
        yield Violation((), f"{field} is missing", f"write {field}: {' or '.join(expected)}")
    else:
        near = _meant(given, expected) if isinstance(given, str) else ""
        what = f"write {' or '.join(expected)}"
        hint, fix = renamed(near) if near else Advice(f"{what}: {_BOOLEANS}" if isinstance(given, bool) else what)
        unknown = f"{field} {shown(given)} is not known to the driver"
        yield Violation((field,), _wrong_type({"type": "string"}, given) or unknown, hint, fix=fix)


class _Walk:
    """Walks through parameters and their schema.

    Args:
        is_lenient: Whether the driver ignores unknown fields.
    """

    def __init__(self, profile: Profile, *, is_lenient: bool) -> None:
        self._profile, self._is_lenient = profile, is_lenient

    def check(self, schema: Schema, value: Any, path: Steps) -> Iterator[Violation]:
        """Check a value and all below it."""
        if len(path) > _DEEPEST:
            return
        work(1 + sum(len(schema.get(key) or ()) // _AT_ONCE for key in ("enum", "required")))
        if fault := _wrong_type(schema, value):
            hint, fix = _of_type(schema.get("type"), value)
            yield Violation(path, fault, hint, fix=fix)
            return
        for key, test in _TESTS.items():
            if key in schema and (fault := test(schema[key], value)):
                near = _meant(value, [*map(str, schema[key])]) if key == "enum" and isinstance(value, str) else ""
                hint, fix = renamed(near) if near else Advice()
                yield Violation(path, fault, hint, fix=fix)
        yield from _excluded(schema, value, path)
        yield from self._combined(schema, value, path)
        if isinstance(value, str) and (gate := schema.get("gates", {}).get(value)):
            yield from self.gate(path, value, gate)
        if isinstance(value, dict):
            yield from self._fields(schema, value, path)
        elif isinstance(value, list) and isinstance(items := schema.get("items"), dict):
            for index, each in enumerate(value):
                yield from self.check(items, each, (*path, index))

    def _combined(self, schema: Schema, value: Any, path: Steps) -> Iterator[Violation]:
        """Check a value against the schemas that a schema combines; unknown fields are up to the latter."""
        if _PARTS.isdisjoint(schema):
            return
        walk = _Walk(self._profile, is_lenient=True)
        for each in schema.get("allOf", ()):
            yield from walk.check(each, value, path)
        if (choices := schema.get("anyOf")) and not any(walk.accepts(each, value) for each in choices):
            yield Violation(path, f"{shown(value)} fits none of the schemas in anyOf")
        if (choices := schema.get("oneOf")) and (fit := sum(walk.accepts(each, value) for each in choices)) != 1:
            yield Violation(path, f"{shown(value)} fits {fit} of the schemas in oneOf, and must fit one")
        if (unwanted := schema.get("not")) is not None and walk.accepts(unwanted, value):
            yield Violation(path, f"{shown(value)} fits the schema in not")

    def accepts(self, schema: Schema, value: Any) -> bool:
        """Tell whether a value fits a schema, with all feature gates of the driver."""
        return all(fault.gate for fault in self.check(schema, value, ()))

    def gate(self, path: Steps, what: str, gate: str) -> Iterator[Violation]:
        """Report a value that needs a feature gate of the driver that is off by default."""
        if not self._profile.gates.get(gate, True):
            message = f"{what} needs the driver's feature gate {gate}, which is off by default"
            yield Violation(path, message, "enable it in the driver's installation", gate=True)

    def _fields(self, schema: Schema, value: dict[str, Any], path: Steps) -> Iterator[Violation]:
        properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
        missing = dict.fromkeys(name for name in schema.get("required") or () if name not in value)
        for name, inner in value.items():
            if (known := properties.get(name)) is not None:
                if gate := known.get("gate"):
                    yield from self.gate((*path, name), name, gate)
                yield from self.check(known, inner, (*path, name))
            elif isinstance(more, dict):
                yield from self.check(more, inner, (*path, name))
            elif not (more or self._is_lenient or schema.get(_OPEN)) and ("properties" in schema or more is False):
                near = _meant(name, missing) or _meant(name, properties)
                hint, fix = (f'did you mean "{near}"?', Fix("rename", near, safe=False)) if near else Advice()
                if near and near in value:
                    hint, fix = Advice(f"{near} is there already: remove one of the two")
                if not path and name in _TYPE_META:
                    hint = "leave it out: the driver takes parameters without apiVersion and kind"
                yield Violation((*path, name), f'unknown field "{name}"', hint, fix=fix)
                missing.pop(near, None)
                if near and near not in value:
                    yield from self.check(properties[near], inner, (*path, name))
        for name in missing:
            yield Violation(path, f"{name} is missing")


def _wrong_type(schema: Schema, value: Any) -> str:
    if value is None:
        return ""
    expected: tuple[type, ...]
    if schema.get("x-kubernetes-int-or-string"):
        expected, wanted = (int, str), "a whole number or a string"
    elif schema.get("type") == QUANTITY:
        if isinstance(value, int | float | str) and not isinstance(value, bool) and not quantity(str(value), 0):
            return ""
        return f"{shown(value)} is not a quantity"
    else:
        wanted = schema.get("type", "object" if "properties" in schema else "")
        if wanted not in TYPES:
            return ""
        expected = TYPES[wanted]
    if isinstance(value, expected) and (isinstance(value, bool) == (wanted == "boolean")):
        return ""
    return f"{shown(value)} is not of type {wanted}"


def _of_type(wanted: Any, value: Any) -> Advice:
    """Suggest a value of the wanted type; empty if unclear."""
    if wanted == "array" and not isinstance(value, dict):
        return Advice("write a list, even of one item", Fix("wrap", safe=False))
    if wanted == "string" and not isinstance(value, list | dict):
        return Advice("put it in quotes", Fix("quote", safe=False))
    literal: bool | int | None = _LITERALS.get(value) if isinstance(value, str) else None
    if isinstance(value, str) and wanted in {"integer", "number"} and _WHOLE.fullmatch(value):
        literal = int(value)
    if literal is not None and isinstance(literal, bool) == (wanted == "boolean"):
        return Advice("leave out the quotes", Fix("replace", literal, safe=False))
    return Advice()


def _excluded(schema: Schema, value: Any, path: Steps) -> Iterator[Violation]:
    for key, limit in {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}.items():
        if schema.get(key) and value == schema.get(limit):
            yield Violation(path, f"{shown(value)} is the {limit}, which {key} excludes")


def _meant(name: str, known: Collection[str]) -> str:
    """Return the known name that was probably meant; empty if none is near."""
    work(_A_NAME * len(known))
    return nearest(name, known)


def _size_beyond(limit: Any, value: Any, *, is_most: bool) -> str:
    """Say that a value has more parts than it may, or fewer; empty if it has as many as it may, or no parts at all."""
    parts = next((noun for type_, noun in _PARTS_OF.items() if isinstance(value, type_)), "")
    if not parts or (len(value) <= limit if is_most else len(value) >= limit):
        return ""
    if is_most and not limit:
        return "the driver takes no parameters"
    return f"has {'more' if is_most else 'fewer'} than {limit} {parts}"


_PARTS_OF: Final[Mapping[type, str]] = {str: "characters", list: "items", dict: "fields"}


def _multiple_of(step: Any, value: Any) -> str:
    from fractions import Fraction  # few parameters have steps
    from math import isfinite

    if not isinstance(value, int | float) or isinstance(value, bool) or not step or not isfinite(step):
        return ""
    fits = (isinstance(value, int) or isfinite(value)) and not Fraction(
        value if isinstance(value, int) else str(value)
    ) % Fraction(str(step))
    return "" if fits else f"{shown(value)} is not a multiple of {step}"


def _distinct(wanted: Any, value: Any) -> str:
    texts = map(shown, value) if wanted and isinstance(value, list) else ()
    return next((f"{text} is listed twice" for _, text in repeated(texts)), "")


def _matching(pattern: Any, value: Any) -> str:
    if not isinstance(value, str) or not isinstance(pattern, str):
        return ""
    try:
        return "" if matches(value, pattern) else f"{shown(value)} does not match {pattern}"
    except CelError:  # a pattern that cannot be compiled is ignored
        return ""


def _is_address(value: str, form: str = "ip_address") -> bool:
    import ipaddress  # few parameters are addresses

    try:
        getattr(ipaddress, form)(value)
    except ValueError:
        return False
    return True


_MAC: Final = Pattern(r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4,18}[0-9A-Fa-f]{2}")
_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "cidr": lambda value: "/" in value and _is_address(value, "ip_interface"),
    "ip": _is_address,
    "mac": lambda value: _MAC.fullmatch(value) is not None,
}
_TESTS: Final[Mapping[str, Callable[[Any, Any], str]]] = {
    "enum": lambda values, value: (
        "" if value in values else f"{shown(value)} is not supported; supported are {', '.join(map(shown, values))}"
    ),
    "minimum": lambda limit, value: (
        f"{shown(value)} is less than {limit}" if isinstance(value, int | float) and value < limit else ""
    ),
    "maximum": lambda limit, value: (
        f"{shown(value)} is greater than {limit}" if isinstance(value, int | float) and value > limit else ""
    ),
    "multipleOf": _multiple_of,
    "uniqueItems": _distinct,
    **{
        f"{limit}{what}": partial(_size_beyond, is_most=limit == "max")
        for what in ("Length", "Items", "Properties")
        for limit in ("min", "max")
    },
    "pattern": _matching,
    "format": lambda name, value: (
        f"{shown(value)} is not a valid {name}"
        if isinstance(value, str) and name in _FORMATS and not _FORMATS[name](value)
        else ""
    ),
}
