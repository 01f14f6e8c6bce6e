"""Checks parameters by the schemas of profiles; their keywords are those of CustomResourceDefinitions and ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from webhook.api.versions import NEWEST
from webhook.budget import work
from webhook.cel.errors import CelError
from webhook.cel.regex.re2 import matches
from webhook.drivers.profile import Profile
from webhook.drivers.rules import QUANTITY, Violation
from webhook.formats import canonical_cidr
from webhook.formats.quantities import quantity
from webhook.grouping import repeated
from webhook.hints.names import listed, renamed
from webhook.patterns import Pattern
from webhook.problem import Advice, Fix, Path, Steps, shown
from webhook.spelling import nearest
from webhook.structural.formats import has_format
from webhook.structural.rules import check_rules

_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
"""The types of values, and Python's types for them."""
SEVERAL: Final = ("allOf", "anyOf", "oneOf")
PARTS: Final = frozenset({*SEVERAL, "not"})
"""The keywords with schemas that judge a part of a value: other fields are up to the schema around them."""
VALIDATIONS: Final = "x-kubernetes-validations"
OPEN: Final = "x-kubernetes-preserve-unknown-fields"

Schema = Mapping[str, Any]

_DEEPEST: Final = 100
_TYPE_META: Final = frozenset({"apiVersion", "kind"})
_WITHOUT_KIND: Final = "leave it out: the driver takes parameters without apiVersion and kind"
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
    walk = Walk(profile.gates, is_lenient=bool(stated.get("isLenient")))
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
        faults += (
            each._replace(hint=_WITHOUT_KIND) if each.path[:1] in {("apiVersion",), ("kind",)} else each
            for each in walk.check(stated.get("schema") or {}, content, ())
        )
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


class Walk:
    """Walks through a value and its schema.

    Args:
        gates: The feature gates of the driver, and whether they are on by default.
        is_lenient: Whether fields that the schema does not list are allowed.
        takes_null: Whether null counts as absent, as it does to drivers.
    """

    def __init__(self, gates: Mapping[str, bool], *, is_lenient: bool = False, takes_null: bool = True) -> None:
        self._gates, self._is_lenient, self._takes_null = gates, is_lenient, takes_null

    def check(self, schema: Schema, value: Any, path: Steps) -> Iterator[Violation]:
        """Check a value and all below it."""
        if len(path) > _DEEPEST:
            return
        work(1 + sum(len(schema.get(key) or ()) // _AT_ONCE for key in ("enum", "required")))
        if fault := self._wrong_type(schema, value):
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
        if PARTS.isdisjoint(schema):
            return
        walk = Walk(self._gates, is_lenient=True, takes_null=self._takes_null)
        for each in schema.get("allOf", ()):
            yield from walk.check(each, value, path)
        choices = schema.get("anyOf", ())
        if len(of_type := [each for each in choices if not self._wrong_type(each, value)]) == 1:
            yield from walk.check(of_type[0], value, path)
        elif choices and not any(walk.accepts(each, value) for each in of_type):
            types = dict.fromkeys(name for each in choices for name in _types(each) if name != "null")
            fault = "fits none of the schemas in anyOf" if of_type else f"is not of type {' or '.join(types)}"
            yield Violation(path, f"{shown(value)} {fault}")
        if (choices := schema.get("oneOf")) and (fit := sum(walk.accepts(each, value) for each in choices)) != 1:
            yield Violation(path, f"{shown(value)} fits {fit} of the schemas in oneOf, and must fit one")
        if (unwanted := schema.get("not")) is not None and walk.accepts(unwanted, value):
            yield Violation(path, f"{shown(value)} fits the schema in not")

    def accepts(self, schema: Schema, value: Any) -> bool:
        """Tell whether a value fits a schema, with all feature gates of the driver."""
        return all(fault.gate for fault in self.check(schema, value, ()))

    def gate(self, path: Steps, what: str, gate: str) -> Iterator[Violation]:
        """Report a value that needs a feature gate of the driver that is off by default."""
        if not self._gates.get(gate, True):
            message = f"{what} needs the driver's feature gate {gate}, which is off by default"
            yield Violation(path, message, "enable it in the driver's installation", gate=True)

    def _wrong_type(self, schema: Schema, value: Any) -> str:
        return "" if value is None and self._takes_null else _wrong_type(schema, value)

    def _fields(self, schema: Schema, value: dict[str, Any], path: Steps) -> Iterator[Violation]:
        properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
        is_closed = more is False or ("properties" in schema and not (more or self._is_lenient or schema.get(OPEN)))
        patterns = schema.get("patternProperties", ())
        missing = dict.fromkeys(name for name in schema.get("required") or () if name not in value)
        for name, inner in value.items():
            if (known := properties.get(name)) is not None:
                if gate := known.get("gate"):
                    yield from self.gate((*path, name), name, gate)
                yield from self.check(known, inner, (*path, name))
            elif isinstance(more, dict):
                yield from self.check(more, inner, (*path, name))
            elif is_closed and not any(re.match(each, name) for each in patterns):
                near = _meant(name, missing) or _meant(name, properties)
                hint, fix = Advice(f"the fields are {listed(properties)}" if properties else "")
                if near:
                    hint, fix = f'did you mean "{near}"?', Fix("rename", near, safe=False)
                if near and near in value:
                    hint, fix = Advice(f"{near} is there already: remove one of the two")
                yield Violation((*path, name), f'unknown field "{name}"', hint, fix=fix)
                missing.pop(near, None)
                if near and near not in value:
                    yield from self.check(properties[near], inner, (*path, name))
        for name in missing:
            yield Violation(path, f"{name} is missing")


def _types(schema: Schema) -> list[str]:
    """Return the types that a schema states; none for any."""
    stated = schema.get("type") or ("object" if "properties" in schema else [])
    return stated if isinstance(stated, list) else [stated]


def _wrong_type(schema: Schema, value: Any) -> str:
    """Say that a value is not of a type that a schema states; empty if it is."""
    types = _types(schema)
    wanted = " or ".join(each for each in types if each != "null")
    if schema.get("x-kubernetes-int-or-string"):
        types, wanted = ["integer", "string"], "a whole number or a string"
    elif wanted == QUANTITY:
        if isinstance(value, int | float | str) and not isinstance(value, bool) and not quantity(str(value), 0):
            return ""
        return f"{shown(value)} is not a quantity"
    if not types or any(
        isinstance(value, _TYPES[each]) for each in types if isinstance(value, bool) == (each == "boolean")
    ):
        return ""
    return f"{shown(value)} is not of type {wanted}"


def _of_type(wanted: Any, value: Any) -> Advice:
    """Suggest a value of the wanted type, or the first one; empty if unclear."""
    wanted = wanted[0] if isinstance(wanted, list) else wanted
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


def _is_address(value: str) -> bool:
    """Tell whether a text is an IP address to drivers: without leading zeros (Go's ``net.ParseIP``)."""
    from ipaddress import ip_address  # few parameters are addresses

    with suppress(ValueError):
        return "%" not in value and bool(ip_address(value))
    return False


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "cidr": lambda value: _is_address(value.partition("/")[0]) and bool(canonical_cidr(value, NEWEST)),
    "ip": _is_address,
    "mac": lambda value: has_format(value, "mac", NEWEST),
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
