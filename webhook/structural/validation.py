"""Validates JSON values by structural schemas, in the API server's words.

Follows kube-openapi ``pkg/validation/validate`` and ``errors/schema.go``, apiextensions-apiserver
``pkg/apiserver/validation`` (validation.go, ratcheting.go) and ``schema/listtype``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, Final

from webhook.budget import work
from webhook.cel.errors import EvaluationError
from webhook.cel.regex.re2 import compile_pattern
from webhook.cel.runtime.conversions import double_to_string
from webhook.grouping import by_key
from webhook.objects import texts
from webhook.patch import equal
from webhook.problem import (
    ERROR,
    Key,
    Path,
    Problem,
    duplicate,
    invalid,
    null,
    quoted,
    required,
    shown,
    too_long,
    too_many,
    type_invalid,
)
from webhook.release import Release
from webhook.structural.formats import has_format
from webhook.structural.rules import check_rules
from webhook.structural.schema import ABSENT, Correlated, Structural, key_of

NO_PATH: Final = Path(("<nil>",))
"""How the API server spells the path of errors that name none."""
_BLOCKING: Final = frozenset(
    {
        *("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany"),
        "FieldValueTypeInvalid",
    }
)
"""The errors with which an object's rules are not evaluated (``registry/customresource/strategy.go``)."""
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_RATCHETING_SINCE: Final = 30
"""The first release that ignores errors in values that an update leaves as they are."""
_RANGES_SINCE: Final = 36
"""The first release that checks the ranges of numbers' formats."""
_INT64: Final = range(-(2**63), 2**63)
_RANGES: Final = {"int32": range(-(2**31), 2**31), "int64": _INT64}
_FLOAT_MAX: Final = 3.4028235677973366e38
_EXACT: Final = 2.0**53 - 1
_CLOSE: Final = 1e-9
_QUOTED_PER_UNIT: Final = 16
"""How many characters of supported values a unit of the budget pays for: each finding repeats them."""


def by_schema(value: Any, schema: Structural, release: Release, old: Any = ABSENT) -> list[Problem]:
    """List the errors of a value by the keywords of OpenAPI."""
    checked = _checked(value, schema, Path(), old if release >= _RATCHETING_SINCE else ABSENT, release)
    return list(checked.problems.values())


def by_rules(
    value: Any,
    schema: Structural,
    release: Release,
    found: Iterable[Problem],
    old: Any = ABSENT,
    *,
    is_resource: bool = False,
) -> list[Problem]:
    """List the errors of a value by the rules of its schema, or the one that says why they are not evaluated.

    Args:
        found: The errors so far.
        is_resource: Whether it is a whole object, whose version, kind and name rules may read.
    """
    if not schema.has_rules:
        return []
    if any(each.reason in _BLOCKING for each in found):
        return [invalid(Path(), null(release), _UNCHECKED)._replace(spelled=NO_PATH)]
    ratchets = release >= _RATCHETING_SINCE
    return check_rules(value, schema.of_resource if is_resource else schema, release, old, ratchets=ratchets)


def _checked(value: Any, schema: Structural, path: Path, old: Any, release: Release) -> _Checked:
    """Check a value and all below it; values that an update leaves unchanged have no errors."""
    checked = _Checked(value, schema, path, old, release)
    if checked.problems and old is not ABSENT and equal(value, old):
        checked.problems = {}
    return checked


class _Checked:
    """A value that is checked by a schema.

    Attributes:
        problems: Its errors, each once, by the text that tells them apart.
        count: The number of checks that went through, by which the API server chooses the alternative that is reported.
    """

    __slots__ = ("count", "old", "path", "problems", "release", "schema", "value")

    def __init__(self, value: Any, schema: Structural, path: Path, old: Any, release: Release) -> None:
        work(2)
        self.value, self.schema, self.path, self.old, self.release = value, schema, path, old, release
        self.problems: dict[str, Problem] = {}
        is_typed, has_format = bool(schema.types or schema.format), bool(schema.format)
        self.count = self._check_type() if is_typed else 0
        if value is None:
            self._check_enum()
            return
        self._check_alternatives()
        if isinstance(value, str):
            self._check_text(value)
            self.count += 1 + has_format
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._check_number(_number(value))
            self.count += 2
        elif isinstance(value, list):
            self._check_items(value)
            self.count += 2
        self._check_enum()
        if isinstance(value, dict):
            self._check_fields(value)
            self.count += 1
        self.count += 3 + is_typed

    def _add(self, text: str, problem: Problem) -> None:
        self.problems.setdefault(text, problem)

    def _refuse(self, value: object, detail: str) -> None:
        text = f"{self.path} in body {detail}"
        self._add(text, invalid(self.path, value, text))

    def _mistype(self, value: object, expected: str, got: str) -> int:
        text = f"{self.path} in body must be of type {expected}: {quoted(got)}"
        self._add(text, type_invalid(self.path, value, text))
        return 0

    def _refuse_placeless(self, text: str) -> None:
        self._add(text, invalid(Path(), "", text)._replace(spelled=NO_PATH))

    def _merge(self, part: _Checked) -> None:
        for text, problem in part.problems.items():
            self._add(text, problem)
        self.count += part.count

    def _merge_part(self, value: Any, schema: Structural, step: str | int, old: Any) -> None:
        self._merge(_checked(value, schema, self.path / step, old, self.release))

    def _by(self, schema: Structural) -> _Checked:
        """Check the same value by another schema."""
        return _Checked(self.value, schema, self.path, self.old, self.release)

    def _check_type(self) -> int:
        """Check the type (``type.go``); return 1 if it fits."""
        value, types, format_ = self.value, self.schema.types, self.schema.format
        if value is None:
            return self._mistype("null", ",".join(types), "null") if types and not self.schema.nullable else 1
        type_, own_format = _type_of(value)
        fits = type_ in types
        if type_ == "number":
            fits = fits or ("integer" in types and _is_whole(_number(value)))
        elif type_ == "integer":
            fits = fits or "number" in types
        is_text = type_ in {"string", "array"}
        if not is_text and format_ and not (fits or own_format == format_):
            return self._mistype(own_format, format_, own_format)
        if fits or not types or (is_text and format_ and not {"number", "integer"}.intersection(types)):
            return 1
        return self._mistype(type_, ",".join(types), type_)

    def _check_enum(self) -> None:
        value, values = self.value, self.schema.stated.get("enum")
        if not isinstance(values, list) or not values:
            return
        work(1 + len(values) // 10)
        if not any(each is not None and equal(value, each) for each in values):
            names = ", ".join(quoted(each if isinstance(each, str) else shown(each)) for each in values)
            work(len(names) // _QUOTED_PER_UNIT)
            message = f"Unsupported value: {shown(value)}: supported values: {names}"
            problem = Problem(ERROR, "enum", "FieldValueNotSupported", self.path, message)
            if isinstance(value, str):
                problem = problem._replace(value=value, allowed=tuple(each for each in values if isinstance(each, str)))
            self._add(f"{self.path} enum", problem)

    def _check_text(self, value: str) -> None:
        schema, pattern = self.schema, self.schema.stated.get("pattern")
        least, most = schema.number("minLength"), schema.number("maxLength")
        if most is not None and len(value) > most:
            self._add(f"{self.path} maxLength", too_long(self.path, most, self.release))
        elif least is not None and len(value) < least:
            self._refuse(value, f"should be at least {least} chars long")
        elif isinstance(pattern, str) and pattern and (fault := _mismatch(value, pattern)):
            self._refuse(value, f"should match '{fault}'")
        if schema.format and not has_format(value, schema.format, self.release):
            self._mistype(value, schema.format, value)

    def _check_number(self, value: float) -> None:
        """Check the limits of a number (``validator.go``, numberValidator)."""
        schema, stated = self.schema, self.schema.stated
        if self.release >= _RANGES_SINCE and not _is_in_range(value, schema):
            of_format = f"with format {schema.format}" if schema.format else "(default format)"
            self._refuse_placeless(f"Checked value must be of type {schema.type} {of_format} in {self.path}")
        for name, exclusive, holds, words in _LIMITS:
            limit = stated.get(name)
            if not isinstance(limit, int | float) or isinstance(limit, bool):
                continue
            limit = int(limit) if isinstance(value, int) and math.isfinite(limit) else float(limit)
            is_exclusive = bool(exclusive) and stated.get(exclusive) is True
            if not holds(value, limit) or (is_exclusive and value == limit):
                as_go = limit if isinstance(limit, int) else double_to_string(limit)
                self._refuse(value, f"should be {words[is_exclusive]} {as_go}")

    def _check_size(self, count: int, parts: str) -> None:
        least, most = self.schema.number(f"min{parts}"), self.schema.number(f"max{parts}")
        if least is not None and count < least:
            self._refuse(count, f"should have at least {least} {parts.lower()}")
        if most is not None and count > most:
            self._add(f"{self.path} max{parts}", too_many(self.path, count, most, self.release))

    def _check_items(self, value: list[Any]) -> None:
        if (items := self.schema.items) is not None:
            earlier = Correlated(self.schema, self.old)
            for index, each in enumerate(value):
                self._merge_part(each, items, index, earlier.of(each))
        self._check_size(len(value), "Items")
        if self.schema.stated.get("uniqueItems") is True and _repeated(value):
            self._refuse("", "shouldn't contain duplicates")

    def _check_fields(self, value: dict[str, Any]) -> None:
        path, schema = self.path, self.schema
        self._check_size(len(value), "Properties")
        olds = self.old if isinstance(self.old, dict) else {}
        for name, each in value.items():
            if (field := schema.field(name)) is not None:
                is_identity = not path and name in {"apiVersion", "kind"}
                self._merge_part(each, field, name, ABSENT if is_identity else olds.get(name, ABSENT))
            elif schema.stated.get("additionalProperties") is False:
                text = f"{path}.{name} in body is a forbidden property"
                self._add(text, invalid(path, name, text))
        names = texts(schema.stated, "required")
        work(len(names))
        for name in names:
            if name not in value:
                self._add(f"{path / name} required", required(path / name))

    def _check_alternatives(self) -> None:
        """Check a value by the schemas that a schema combines (``schema_props.go``)."""
        self.count += 1
        schema, place = self.schema, quoted(str(self.path))
        if choices := schema.alternatives["anyOf"]:
            self._check_any(choices, place)
        if tried := [*map(self._by, schema.alternatives["oneOf"])]:
            valid = [each for each in tried if not each.problems]
            if len(valid) != 1:
                detail = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
                self._refuse_placeless(f"{place} must validate one and only one schema (oneOf). {detail}")
            if len(valid) <= 1:
                self._merge(max(valid or tried, key=attrgetter("count")))
        if tried := [*map(self._by, schema.alternatives["allOf"])]:
            for tested in tried:
                self._merge(tested)
            if any(each.problems for each in tried):
                detail = ". None validated" if all(each.problems for each in tried) else ""
                self._refuse_placeless(f"{place} must validate all the schemas (allOf){detail}")
        if (unwanted := schema.unwanted) and not self._by(unwanted).problems:
            self._refuse_placeless(f"{place} must not validate the schema (not)")

    def _check_any(self, choices: Iterable[Structural], place: str) -> None:
        tried: list[_Checked] = []
        for each in choices:
            tried.append(self._by(each))
            if not tried[-1].problems:
                self._merge(tried[-1])
                return
        self._refuse_placeless(f"{place} must validate at least one schema (anyOf)")
        self._merge(max(tried, key=attrgetter("count")))


def _number(value: float) -> float:
    """Return a number as Go holds it: whole ones of 64 bits as such, all others as floats."""
    if isinstance(value, float) or value in _INT64:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _is_whole(value: float) -> bool:
    """Tell whether a float counts as a whole number (swag ``IsFloat64AJSONInteger``)."""
    if not math.isfinite(value) or abs(value) > _EXACT:
        return False
    whole = float(int(value))
    return value == whole or abs(value - whole) / (abs(value) + abs(whole)) < _CLOSE


def _type_of(value: Any) -> tuple[str, str]:
    """Return the JSON type of a value, and the format of a number."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int | float):
        return ("integer", "int64") if isinstance(_number(value), int) else ("number", "float64")
    return ("string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"), ""


def _is_in_range(value: float, schema: Structural) -> bool:
    if schema.types == ("integer",):
        whole = value if isinstance(value, int) else int(value) if value.is_integer() else None
        return whole is not None and whole in _RANGES.get(schema.format, _INT64)
    return schema.types != ("number",) or schema.format != "float" or abs(value) < _FLOAT_MAX


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return factor > 0 and value % factor == 0
    if factor <= 0:
        return False
    return _is_whole(1 / factor * value if factor < 1 else value / factor)


_LIMITS: Final[tuple[tuple[str, str, Callable[[float, float], bool], tuple[str, ...]], ...]] = (
    ("multipleOf", "", _is_multiple, ("a multiple of",)),
    ("minimum", "exclusiveMinimum", lambda value, limit: value >= limit, ("greater than or equal to", "greater than")),
    ("maximum", "exclusiveMaximum", lambda value, limit: value <= limit, ("less than or equal to", "less than")),
)


def _mismatch(value: str, pattern: str) -> str:
    """Return the pattern that a text does not match; empty if it does."""
    try:
        return "" if compile_pattern(pattern).is_in(value) else pattern
    except EvaluationError as error:
        return f"{pattern}, but pattern is invalid: {error}"


def repeated_items(value: Any, schema: Structural, old: Any = ABSENT) -> list[Problem]:
    """List the items of sets and of lists with keys that repeat others; none if the value had some before."""
    if old is not ABSENT and any(_repeated_below(old, schema, Path())):
        return []
    return list(_repeated_below(value, schema, Path()))


def _repeated_below(value: Any, schema: Structural, path: Path) -> Iterator[Problem]:
    if isinstance(value, list):
        work(1 + len(value))
        if schema.list_type == "set":
            yield from (duplicate(path / index, value[index]) for index in _repeated(value))
        elif schema.list_type == "map":
            yield from _repeated_keys(value, schema, path)
        if schema.items is not None:
            for index, each in enumerate(value):
                yield from _repeated_below(each, schema.items, path / index)
    elif isinstance(value, dict):
        work(1 + len(value))
        for name, each in value.items():
            if name in schema.properties:
                yield from _repeated_below(each, schema.properties[name], path / name)
            elif schema.values is not None:
                yield from _repeated_below(each, schema.values, path / Key(name))


def _repeated_keys(value: list[Any], schema: Structural, path: Path) -> Iterator[Problem]:
    for index, each in enumerate(value):
        if each is not None and not isinstance(each, dict):
            yield invalid(path / index, each, "must be an object for an array of list-type map")
            return
    keys = [{name: each[name] for name in sorted(schema.list_map_keys) if name in (each or {})} for each in value]
    yield from (duplicate(path / index, keys[index]) for index in _repeated(keys))


def _repeated(value: list[Any]) -> list[int]:
    """List the items that are there for the second time, by their place."""
    places = by_key((key_of(each), index) for index, each in enumerate(value))
    return sorted(indexes[1] for indexes in places.values() if indexes[1:])
