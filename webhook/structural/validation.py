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
from webhook.objects import texts
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
from webhook.structural.schema import ABSENT, Correlated, Structural, equal, key_of

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


def validate(value: Any, schema: Structural, release: Release, old: Any = ABSENT) -> list[Problem]:
    """List the errors of a JSON value: those of its schema and, if these allow it, of its rules in CEL.

    This is what an API server does with a custom resource, after pruning and defaults
    (:mod:`webhook.structural.definition`); unknown fields are ignored here. Paths are relative to the value.

    Raises:
        BudgetExceededError: The schema and the value take more work than may be done.
    """
    found = [*by_schema(value, schema, release, old), *repeated_items(value, schema, old)]
    return [*found, *by_rules(value, schema, release, found, old)]


def by_schema(value: Any, schema: Structural, release: Release, old: Any = ABSENT) -> list[Problem]:
    """List the errors of a value by the keywords of OpenAPI."""
    walk = _Walk(release)
    result = walk.validate(value, schema, Path(), old if release >= _RATCHETING_SINCE else ABSENT)
    return list(result.problems.values())


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


class _Result:
    """The errors of a value, each once, and how many of its checks went through.

    Attributes:
        problems: The errors, by the text that tells them apart.
        count: The number of checks, by which the API server chooses the alternative that is reported.
    """

    __slots__ = ("count", "problems")

    def __init__(self) -> None:
        self.problems: dict[str, Problem] = {}
        self.count = 0

    def add(self, text: str, problem: Problem) -> None:
        """Add an error."""
        self.problems.setdefault(text, problem)

    def merge(self, other: _Result) -> None:
        """Add the errors and checks of a part."""
        for text, problem in other.problems.items():
            self.problems.setdefault(text, problem)
        self.count += other.count


class _Walk:
    """Walks through a value and its schema."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def validate(self, value: Any, schema: Structural, path: Path, old: Any) -> _Result:
        """Validate a value and all below it; values that an update leaves unchanged have no errors."""
        result = self._validated(value, schema, path, old)
        if result.problems and old is not ABSENT and equal(value, old):
            result.problems = {}
        return result

    def _validated(self, value: Any, schema: Structural, path: Path, old: Any) -> _Result:
        work(2)
        result = _Result()
        if schema.types or schema.format:
            result.count += _check_type(value, schema, path, result)
        if value is None:
            self._check_enum(value, schema, path, result)
            return result
        self._check_alternatives(value, schema, path, old, result)
        if isinstance(value, str):
            self._check_text(value, schema, path, result)
            result.count += 1 + bool(schema.format)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            _check_number(_number(value), schema, path, result, self._release)
            result.count += 2
        elif isinstance(value, list):
            self._check_items(value, schema, path, old, result)
            result.count += 2
        self._check_enum(value, schema, path, result)
        if isinstance(value, dict):
            self._check_fields(value, schema, path, old, result)
            result.count += 1
        result.count += 3 + bool(schema.types or schema.format)
        return result

    def _check_enum(self, value: Any, schema: Structural, path: Path, result: _Result) -> None:
        values = schema.stated.get("enum")
        if not isinstance(values, list) or not values:
            return
        work(1 + len(values) // 10)
        if not any(each is not None and equal(value, each) for each in values):
            names = ", ".join(quoted(each if isinstance(each, str) else shown(each)) for each in values)
            work(len(names) // _QUOTED_PER_UNIT)
            message = f"Unsupported value: {shown(value)}: supported values: {names}"
            problem = Problem(ERROR, "enum", "FieldValueNotSupported", path, message)
            if isinstance(value, str):
                problem = problem._replace(value=value, allowed=tuple(each for each in values if isinstance(each, str)))
            result.add(f"{path} enum", problem)

    def _check_text(self, value: str, schema: Structural, path: Path, result: _Result) -> None:
        least, most, pattern = schema.number("minLength"), schema.number("maxLength"), schema.stated.get("pattern")
        if most is not None and len(value) > most:
            result.add(f"{path} maxLength", too_long(path, most, self._release))
        elif least is not None and len(value) < least:
            _add(result, path, value, f"should be at least {least} chars long")
        elif isinstance(pattern, str) and pattern and (fault := _mismatch(value, pattern)):
            _add(result, path, value, f"should match '{fault}'")
        if schema.format and schema.format not in _RANGES and not has_format(value, schema.format, self._release):
            _add_type(result, path, value, schema.format, value)

    def _check_size(
        self, value: list[Any] | dict[str, Any], parts: str, schema: Structural, path: Path, result: _Result
    ) -> None:
        least, most = schema.number(f"min{parts}"), schema.number(f"max{parts}")
        if least is not None and len(value) < least:
            _add(result, path, len(value), f"should have at least {least} {parts.lower()}")
        if most is not None and len(value) > most:
            result.add(f"{path} max{parts}", too_many(path, len(value), most, self._release))

    def _check_items(self, value: list[Any], schema: Structural, path: Path, old: Any, result: _Result) -> None:
        if schema.items is not None:
            earlier = Correlated(schema, old)
            for index, each in enumerate(value):
                result.merge(self.validate(each, schema.items, path / index, earlier.of(each)))
        self._check_size(value, "Items", schema, path, result)
        if schema.stated.get("uniqueItems") is True and any(_repeated(value)):
            _add(result, path, "", "shouldn't contain duplicates")

    def _check_fields(self, value: dict[str, Any], schema: Structural, path: Path, old: Any, result: _Result) -> None:
        self._check_size(value, "Properties", schema, path, result)
        is_closed = schema.stated.get("additionalProperties") is False
        for name, each in value.items():
            if (field := schema.field(name)) is not None:
                before = old.get(name, ABSENT) if isinstance(old, dict) else ABSENT
                if not path and name in {"apiVersion", "kind"}:
                    before = ABSENT
                result.merge(self.validate(each, field, path / name, before))
            elif is_closed:
                text = f"{path}.{name} in body is a forbidden property"
                result.add(text, invalid(path, name, text))
        names = texts(schema.stated, "required")
        work(len(names))
        for name in names:
            if name not in value:
                result.add(f"{path / name} required", required(path / name))

    def _check_alternatives(self, value: Any, schema: Structural, path: Path, old: Any, result: _Result) -> None:
        """Check a value by the schemas that a schema combines (``schema_props.go``)."""
        result.count += 1
        place = quoted(str(path))
        if choices := schema.alternatives("anyOf"):
            self._check_any(value, choices, path, old, result)
        if choices := schema.alternatives("oneOf"):
            tried = [self._validated(value, each, path, old) for each in choices]
            valid = [each for each in tried if not each.problems]
            if len(valid) != 1:
                detail = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
                _add_placeless(result, f"{place} must validate one and only one schema (oneOf). {detail}")
            if len(valid) <= 1:
                result.merge(max(valid or tried, key=attrgetter("count")))
        if choices := schema.alternatives("allOf"):
            tried = [self._validated(value, each, path, old) for each in choices]
            for tested in tried:
                result.merge(tested)
            if any(each.problems for each in tried):
                detail = ". None validated" if all(each.problems for each in tried) else ""
                _add_placeless(result, f"{place} must validate all the schemas (allOf){detail}")
        if (unwanted := schema.unwanted) and not self._validated(value, unwanted, path, old).problems:
            _add_placeless(result, f"{place} must not validate the schema (not)")

    def _check_any(self, value: Any, choices: Iterable[Structural], path: Path, old: Any, result: _Result) -> None:
        tried: list[_Result] = []
        for each in choices:
            tried.append(self._validated(value, each, path, old))
            if not tried[-1].problems:
                result.merge(tried[-1])
                return
        _add_placeless(result, f"{quoted(str(path))} must validate at least one schema (anyOf)")
        result.merge(max(tried, key=attrgetter("count")))


def _add(result: _Result, path: Path, value: object, detail: str) -> None:
    text = f"{path} in body {detail}"
    result.add(text, invalid(path, value, text))


def _add_type(result: _Result, path: Path, value: object, expected: str, got: str) -> None:
    text = f"{path} in body must be of type {expected}: {quoted(got)}"
    result.add(text, type_invalid(path, value, text))


def _add_placeless(result: _Result, text: str) -> None:
    result.add(text, invalid(Path(), "", text)._replace(spelled=NO_PATH))


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


def _check_type(value: Any, schema: Structural, path: Path, result: _Result) -> int:
    """Check the type of a value (``type.go``); return 1 if it fits."""
    types, format_ = schema.types, schema.format
    if value is None:
        if types and not schema.nullable:
            _add_type(result, path, "null", ",".join(types), "null")
            return 0
        return 1
    type_, own_format = _type_of(value)
    fits = type_ in types
    if type_ == "number":
        fits = fits or ("integer" in types and _is_whole(_number(value)))
    elif type_ == "integer":
        fits = fits or "number" in types
    is_text = type_ in {"string", "array"}
    if not is_text and format_ and not (fits or own_format == format_):
        _add_type(result, path, own_format, format_, own_format)
        return 0
    if is_text and format_ and not {"number", "integer"}.intersection(types):
        return 1
    if fits or not types:
        return 1
    _add_type(result, path, type_, ",".join(types), type_)
    return 0


def _type_of(value: Any) -> tuple[str, str]:
    """Return the JSON type of a value, and the format of a number."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int | float):
        return ("integer", "int64") if isinstance(_number(value), int) else ("number", "float64")
    return ("string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"), ""


def _check_number(value: float, schema: Structural, path: Path, result: _Result, release: Release) -> None:
    """Check the limits of a number (``validator.go``, numberValidator)."""
    if release >= _RANGES_SINCE and not _is_in_range(value, schema):
        of_format = f"with format {schema.format}" if schema.format else "(default format)"
        _add_placeless(result, f"Checked value must be of type {schema.type} {of_format} in {path}")
    stated = schema.stated
    for name, exclusive, holds, words in _LIMITS:
        limit = stated.get(name)
        if not isinstance(limit, int | float) or isinstance(limit, bool):
            continue
        limit = int(limit) if isinstance(value, int) and math.isfinite(limit) else float(limit)
        is_exclusive = stated.get(exclusive) is True if exclusive else False
        if not holds(value, limit) or (is_exclusive and value == limit):
            detail = words[is_exclusive]
            _add(result, path, value, f"should be {detail} {shown_number(limit)}")


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


def shown_number(value: float) -> str:
    """Write a number as Go's ``%v`` does."""
    return str(value) if isinstance(value, int) else double_to_string(value)


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


def _repeated(value: list[Any]) -> Iterator[int]:
    """List the items that are there for the second time, by their place."""
    times: dict[str, int] = {}
    for index, each in enumerate(value):
        text = key_of(each)
        times[text] = times.get(text, 0) + 1
        if times[text] == 2:  # noqa: PLR2004 - the second time
            yield index
