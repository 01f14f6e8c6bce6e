"""Checks values by the keywords of schemas: those of CustomResourceDefinitions, and our own for drivers' feature gates.

What is wrong is said in a user's words; :mod:`webhook.structural.validation` uses the API server's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, Final, NamedTuple

from webhook.api.versions import NEWEST
from webhook.budget import work
from webhook.formats import canonical_cidr
from webhook.formats.quantities import quantity
from webhook.grouping import repeated
from webhook.patterns import Pattern
from webhook.problem import SHOWN, Advice, Fix, Meant, Steps, cut, shown
from webhook.spelling import nearest, some_of

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
OPEN: Final = "x-kubernetes-preserve-unknown-fields"

QUANTITY: Final = "quantity"
"""The type of amounts such as 10Gi, which CustomResourceDefinitions do not have."""

Schema = Mapping[str, Any]

_DEEPEST: Final = 100
_WHOLE: Final = Pattern(r"-?[0-9]{1,18}")
_AT_ONCE: Final = 50
"""How many values are compared in the time of a step of the walk."""
_A_NAME: Final = 10
"""The work of comparing a name with another one."""


@cache
def own_schema(file: str) -> dict[str, Any]:
    """Read one of draguard's own schemas, and put its parts in the place of references to them."""
    import json  # most manifests need no schema

    with open(file, encoding="utf-8") as opened:
        schema: dict[str, Any] = json.load(opened)

    def link(part: Any) -> None:
        for key, each in part.items() if isinstance(part, dict) else enumerate(part):
            if isinstance(each, dict) and "$ref" in each:
                part[key] = schema["$defs"][each["$ref"].rpartition("/")[2]]
            elif isinstance(each, dict | list):
                link(each)

    link(schema)
    return schema


class Fault(NamedTuple):
    """What is wrong with a value.

    Args:
        path: The path of the value, or of the field that it should not have.
        hint: How to fix it.
        gate: Whether a feature gate of the driver would allow it.
        fix: The fix, where it is clear.
    """

    path: Steps
    message: str
    hint: str = ""
    gate: bool = False
    fix: Fix | None = None


class Walk:
    """Walks through a value and its schema.

    Args:
        gates: The feature gates of the driver, and whether they are on by default.
        is_lenient: Whether fields that the schema does not list are allowed.
        is_own: Whether the schema is draguard's own: null is a value, and patterns are Python's.
    """

    def __init__(self, gates: Mapping[str, bool], *, is_lenient: bool = False, is_own: bool = False) -> None:
        self._gates, self._is_lenient, self._is_own = gates, is_lenient, is_own

    def check(self, schema: Schema, value: Any, path: Steps) -> Iterator[Fault]:
        """Check a value and all below it."""
        if len(path) > _DEEPEST and not self._is_own:  # what draguard's own schemas are for comes from files
            return
        work(1 + sum(len(schema.get(key) or ()) // _AT_ONCE for key in ("enum", "required")))
        if fault := self._wrong_type(schema, value):
            hint, fix = _of_type(schema.get("type"), value)
            yield Fault(path, fault, _such(schema, f"{hint}," if hint else "write it") or hint, fix=fix)
            return
        for key, test in (_OWN_TESTS if self._is_own else _TESTS).items():
            if key in schema and (fault := test(schema[key], value)):
                near = meant(value, [*map(str, schema[key])]) if key == "enum" and isinstance(value, str) else ""
                hint, fix = Advice(_such(schema, "write it"))
                if near:
                    hint, fix = Meant(f'did you mean "{near}"?'), Fix("replace", near, safe=False)
                yield Fault(path, fault, hint, fix=fix)
        yield from _excluded(schema, value, path)
        yield from self._combined(schema, value, path)
        if isinstance(value, str) and (gate := schema.get("gates", {}).get(value)):
            yield from self.gate(path, value, gate)
        if isinstance(value, dict):
            yield from self._fields(schema, value, path)
        elif isinstance(value, list) and isinstance(items := schema.get("items"), dict):
            for index, each in enumerate(value):
                yield from self.check(items, each, (*path, index))

    def _combined(self, schema: Schema, value: Any, path: Steps) -> Iterator[Fault]:
        """Check a value against the schemas that a schema combines; unknown fields are up to the latter."""
        if PARTS.isdisjoint(schema):
            return
        walk = Walk(self._gates, is_lenient=True, is_own=self._is_own)
        for each in schema.get("allOf", ()):
            yield from walk.check(each, value, path)
        choices = schema.get("anyOf", ())
        work(len(choices))
        if len(of_type := [each for each in choices if not self._wrong_type(each, value)]) == 1:
            yield from walk.check(of_type[0], value, path)
        elif choices and not any(walk.accepts(each, value) for each in of_type):
            types = dict.fromkeys(name for each in choices for name in _types(each) if name != "null")
            fault = "fits none of the schemas in anyOf" if of_type else f"is not of type {' or '.join(types)}"
            yield Fault(path, f"{_shown(value)} {fault}")
        if (choices := schema.get("oneOf")) and (fit := sum(walk.accepts(each, value) for each in choices)) != 1:
            yield Fault(path, f"{_shown(value)} fits {fit} of the schemas in oneOf, and must fit one")
        if (unwanted := schema.get("not")) is not None and walk.accepts(unwanted, value):
            yield Fault(path, f"{_shown(value)} fits the schema in not")

    def accepts(self, schema: Schema, value: Any) -> bool:
        """Tell whether a value fits a schema, with all feature gates of the driver."""
        return all(fault.gate for fault in self.check(schema, value, ()))

    def gate(self, path: Steps, what: str, gate: str) -> Iterator[Fault]:
        """Report a value that needs a feature gate of the driver that is off by default."""
        if not self._gates.get(gate, True):
            message = f"{what} needs the driver's feature gate {gate}, which is off by default"
            yield Fault(path, message, "enable it in the driver's installation", gate=True)

    def _wrong_type(self, schema: Schema, value: Any) -> str:
        return "" if value is None and not self._is_own else wrong_type(schema, value)

    def _fields(self, schema: Schema, value: dict[str, Any], path: Steps) -> Iterator[Fault]:
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
                near = meant(name, missing) or meant(name, properties)
                known_fields = ", ".join(some_of([*properties], 8, "and {} more"))
                hint, fix = Advice(known_fields and f"the fields are {known_fields}")
                if near:
                    hint, fix = f'did you mean "{near}"?', Fix("rename", near, safe=False)
                if near and near in value:
                    hint, fix = Advice(f"{near} is there already: remove one of the two")
                yield Fault((*path, name), f'unknown field "{name}"', hint, fix=fix)
                missing.pop(near, None)
                if near and near not in value:
                    yield from self.check(properties[near], inner, (*path, name))
        for name in missing:
            yield Fault(path, f"{name} is missing", _such(properties.get(name, {}), "add it,"))


def _shown(value: Any) -> str:
    """Write a value as JSON; of a long one, the beginning."""
    return cut(shown(value), SHOWN)


def _types(schema: Schema) -> list[str]:
    """Return the types that a schema states; none for any."""
    stated = schema.get("type") or ("object" if "properties" in schema else [])
    return stated if isinstance(stated, list) else [stated]


def wrong_type(schema: Schema, value: Any) -> str:
    """Say that a value is not of a type that a schema states; empty if it is."""
    types = _types(schema)
    wanted = " or ".join(each for each in types if each != "null")
    if schema.get("x-kubernetes-int-or-string"):
        types, wanted = ["integer", "string"], "a whole number or a string"
    elif wanted == QUANTITY:
        if isinstance(value, int | float | str) and not isinstance(value, bool) and not quantity(str(value), 0):
            return ""
        return f"{_shown(value)} is not a quantity"
    possible = [each for each in types if isinstance(value, bool) == (each == "boolean")]
    if not types or any(isinstance(value, _TYPES[each]) for each in possible):
        return ""
    return f"{_shown(value)} is not of type {wanted}"


def _of_type(wanted: Any, value: Any) -> Advice:
    """Suggest a value of the wanted type, or the first one; empty if unclear."""
    wanted = wanted[0] if isinstance(wanted, list) else wanted
    if wanted == "object":
        return Advice("write a map")
    if wanted == "array" and not isinstance(value, dict):
        return Advice("write a list, even of one item", Fix("wrap", safe=False))
    if wanted == "string" and value is not None and not isinstance(value, list | dict):
        return Advice("put it in quotes", Fix("quote", safe=False))
    literal: bool | int | None = {"true": True, "false": False}.get(value) if isinstance(value, str) else None
    if isinstance(value, str) and wanted in {"integer", "number"} and _WHOLE.fullmatch(value):
        literal = int(value)
    if literal is not None and isinstance(literal, bool) == (wanted == "boolean"):
        return Advice("leave out the quotes", Fix("replace", literal, safe=False))
    return Advice("write true or false" if wanted == "boolean" else "")


def _excluded(schema: Schema, value: Any, path: Steps) -> Iterator[Fault]:
    for key, limit in {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}.items():
        if schema.get(key) and value == schema.get(limit):
            yield Fault(path, f"{_shown(value)} is the {limit}, which {key} excludes")


def _such(schema: Schema, doing: str) -> str:
    """Say what to do, with an example of a value; empty if the schema has none."""
    examples = schema.get("examples")
    return f"{doing} as in {_shown(examples[0])}" if examples else ""


def meant(name: str, known: Collection[str]) -> str:
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
    if limit == 1 and not is_most:
        return "must not be empty"
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
    return "" if fits else f"{_shown(value)} is not a multiple of {step}"


def _distinct(wanted: Any, value: Any) -> str:
    texts = map(shown, value) if wanted and isinstance(value, list) else ()
    return next((f"{text} is listed twice" for _, text in repeated(texts)), "")


def _matching(pattern: Any, value: Any) -> str:
    if not isinstance(value, str) or not isinstance(pattern, str):
        return ""
    from webhook.cel.errors import CelError  # takes longer to import than all else
    from webhook.cel.regex.re2 import matches

    try:
        return "" if matches(value, pattern) else f"{_shown(value)} does not match {pattern}"
    except CelError:  # a pattern that cannot be compiled is ignored
        return ""


def _is_address(value: str) -> bool:
    """Tell whether a text is an IP address to drivers: without leading zeros (Go's ``net.ParseIP``)."""
    from ipaddress import ip_address  # few parameters are addresses

    with suppress(ValueError):
        return "%" not in value and bool(ip_address(value))
    return False


def _is_mac(value: str) -> bool:
    from webhook.structural.formats import has_format  # few parameters are such addresses

    return has_format(value, "mac", NEWEST)


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "cidr": lambda value: _is_address(value.partition("/")[0]) and bool(canonical_cidr(value, NEWEST)),
    "ip": _is_address,
    "mac": _is_mac,
}
_TESTS: Final[Mapping[str, Callable[[Any, Any], str]]] = {
    "enum": lambda values, value: (
        ""
        if value in [each for each in values if isinstance(each, bool) == isinstance(value, bool)]  # True == 1
        # Beside off, false is how YAML reads it.
        else f"{_shown(value)} is not supported; supported are "
        f"{', '.join(_shown(each) for each in values if each is not False or 'off' not in values)}"
    ),
    "minimum": lambda limit, value: (
        f"{_shown(value)} is less than {limit}" if isinstance(value, int | float) and value < limit else ""
    ),
    "maximum": lambda limit, value: (
        f"{_shown(value)} is greater than {limit}" if isinstance(value, int | float) and value > limit else ""
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
        f"{_shown(value)} is not a valid {name}"
        if isinstance(value, str) and name in _FORMATS and not _FORMATS[name](value)
        else ""
    ),
}
_OWN_TESTS: Final = {
    **_TESTS,
    "pattern": lambda pattern, value: (
        f"{_shown(value)} is not allowed here" if isinstance(value, str) and not re.search(pattern, value) else ""
    ),
}
