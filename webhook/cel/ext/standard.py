"""CEL's standard library: operators, functions and messages that every environment has.

Follows cel-go's common/stdlib/standard.go and, for protobuf's well-known messages, such as
`google.protobuf.Duration{seconds: 1}`, common/types/pb and common/types/provider.go: each evaluates to the value that
it stands for, a wrapper to the value inside, a `Value` to JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from struct import pack, unpack
from typing import TYPE_CHECKING, Any, Final

from webhook.budget import work
from webhook.cel import functions as costs
from webhook.cel.checker.declarations import Library, StructType
from webhook.cel.errors import EvaluationError
from webhook.cel.functions import MOST, Bounds, Overload, member
from webhook.cel.regex import re2 as regex
from webhook.cel.runtime import conversions
from webhook.cel.syntax import macros
from webhook.cel.types.base import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST,
    MAP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    nullable,
    parameter,
    struct,
    type_of,
)
from webhook.cel.types.values import NANOS, Duration, Timestamp, UInt, Value, from_key, within
from webhook.cel.types.values import type_of as type_of_value

if TYPE_CHECKING:
    from datetime import datetime

_Fields = dict[str, Value]

_MAX_EXACT: Final = 2**53
_int32: Final = partial(within, least=-(2**31), most=2**31 - 1)
_uint32: Final = partial(within, least=0, most=2**32 - 1)


def json_of(value: Value) -> Value:
    """A value as JSON: numbers are doubles, values without a JSON form are texts."""
    cls = type(value)
    if cls is int or cls is UInt:
        return float(value) if abs(value) <= _MAX_EXACT else str(int(value))
    if cls is list:
        work(1 + len(value))
        return [json_of(each) for each in value]
    if isinstance(value, dict):
        work(1 + len(value))
        keys = (str(each).lower() if type(each) is bool else str(each) for each in map(from_key, value))
        return dict(zip(keys, map(json_of, value.values()), strict=True))
    if cls is bytes:
        return base64.b64encode(value).decode()
    if cls is Timestamp:
        return conversions.format_timestamp(value)
    return conversions.format_duration(value) if cls is Duration else value


def _nanos(fields: _Fields) -> int:
    return int(fields.get("seconds", 0)) * NANOS + int(_int32(fields.get("nanos", 0)))


def _float(value: float) -> float:
    """The nearest number of 32 bits."""
    try:
        return float(unpack("f", pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _any(fields: _Fields) -> Value:
    which = "an unknown" if fields.get("type_url") else "empty"
    raise EvaluationError(f"conversion error: got Any with {which} type-url")


def _value(fields: _Fields) -> Value:
    return next((json_of(value) for name, value in fields.items() if name != "null_value"), None)


def _message(name: str, type_: Type, fields: Mapping[str, Type], make: Callable[[_Fields], Value]) -> StructType:
    return StructType(type_, fields, make, name=f"google.protobuf.{name}")


def _wrapper(
    name: str, type_: Type, zero: Value, convert: Callable[[Value], Value] = conversions.identity
) -> StructType:
    def make(fields: _Fields) -> Value:
        return convert(fields.get("value", zero))

    return _message(f"{name}Value", nullable(type_), {"value": type_}, make)


_SPAN: Final = {"seconds": INT, "nanos": INT}
_JSON_MAP: Final = map_of(STRING, DYN)
_VALUE: Final = {
    "null_value": DYN,
    "number_value": DOUBLE,
    "string_value": STRING,
    "bool_value": BOOL,
    "struct_value": _JSON_MAP,
    "list_value": LIST,
}

WELL_KNOWN: Final = (
    _message("Timestamp", TIMESTAMP, _SPAN, lambda fields: Timestamp(_nanos(fields))),
    _message("Duration", DURATION, _SPAN, lambda fields: Duration(_nanos(fields))),
    _message("Value", DYN, _VALUE, _value),
    _message("ListValue", LIST, {"values": LIST}, lambda fields: json_of(fields.get("values", []))),
    _message("Struct", _JSON_MAP, {"fields": _JSON_MAP}, lambda fields: json_of(fields.get("fields", {}))),
    _message("Any", ANY, {"type_url": STRING, "value": BYTES}, _any),
    StructType(struct("google.protobuf.Empty"), {}),
    _wrapper("Bool", BOOL, zero=False),
    _wrapper("Bytes", BYTES, b""),
    _wrapper("Double", DOUBLE, 0.0),
    _wrapper("Float", DOUBLE, 0.0, _float),
    _wrapper("Int32", INT, 0, _int32),
    _wrapper("Int64", INT, 0),
    _wrapper("String", STRING, ""),
    _wrapper("UInt32", UINT, UInt(0), _uint32),
    _wrapper("UInt64", UINT, UInt(0)),
)

A: Final = parameter("A")
B: Final = parameter("B")
LIST_A: Final = list_of(A)
MAP_AB: Final = map_of(A, B)

_NAMES: Final = {
    BOOL: "bool", BYTES: "bytes", DOUBLE: "double", DURATION: "duration", INT: "int64", STRING: "string",
    TIMESTAMP: "timestamp", UINT: "uint64", LIST_A: "list", MAP_AB: "map",
}  # fmt: skip
_NUMBERS: Final = (DOUBLE, INT, UINT)
_TIMES: Final = frozenset({DURATION, TIMESTAMP})
_COMPARED: Final[Mapping[str, Any]] = {"cost": costs.of_smaller, "estimate": costs.comparison}
_COPIED: Final[Mapping[str, Any]] = {"cost": costs.of_both, "estimate": costs.concatenation}
_ORDERS: Final = {"less": "_<_", "less_equals": "_<=_", "greater": "_>_", "greater_equals": "_>=_"}
_CHARGES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{f"{order}_{name}": _COMPARED for order in _ORDERS for name in ("string", "bytes")},
    **dict.fromkeys(("add_bytes", "add_string"), _COPIED),
    "add_list": {"estimate": costs.list_concatenation},
    "string_to_bytes": {
        "cost": costs.of_argument(0),
        "estimate": costs.estimated(costs.of_argument(0), lambda size: Bounds(size.low, min(size.high * 4, MOST))),
    },
    "bytes_to_string": {
        "cost": costs.of_argument(0),
        "estimate": costs.estimated(costs.of_argument(0), lambda size: Bounds(size.low // 4, size.high)),
    },
}
"""The costs of overloads that depend on sizes; a code point takes one byte to four."""


def _operator(name: str, verb: str, *signatures: tuple[Type, Type, Type]) -> Iterator[Overload]:
    """An operator, whose overloads are named by their types: `add_int64`, `less_int64_double`."""
    for first, second, result in signatures:
        is_alike = first == second and (result == BOOL or first not in _TIMES)
        id_ = "_".join((verb, _NAMES[first]) if is_alike else (verb, _NAMES[first], _NAMES[second]))
        yield Overload(name, id_, (first, second), result)


def _same(*types: Type) -> list[tuple[Type, Type, Type]]:
    return [(type_, type_, type_) for type_ in types]


_ORDERED: Final = (
    (BOOL, BOOL, BOOL),
    *((first, second, BOOL) for first in (INT, UINT, DOUBLE) for second in dict.fromkeys((first, DOUBLE, UINT, INT))),
    *((type_, type_, BOOL) for type_ in (STRING, BYTES, TIMESTAMP, DURATION)),
)


def _conversion(target: Type, sources: Mapping[Type, Callable[[Any], Value]]) -> Iterator[Overload]:
    name = _NAMES[target]
    for source, convert in sources.items():
        yield Overload(name.removesuffix("64"), f"{_NAMES[source]}_to_{name}", (source,), target, convert)


def _accessor(name: str, part: str, of: Callable[[datetime, int], int], unit: int = 0) -> Iterator[Overload]:
    """A function that gives a part of a time and, in a unit of some nanoseconds, a duration."""
    access = conversions.accessor(of)
    yield member(name, f"timestamp_to_{part}", (TIMESTAMP,), INT, access)
    yield member(name, f"timestamp_to_{part}_with_tz", (TIMESTAMP, STRING), INT, access)
    if unit:
        yield member(name, f"duration_to_{part}", (DURATION,), INT, conversions.in_units(unit))


_ACCESSORS: Final = (
    *_accessor("getFullYear", "year", lambda moment, more: moment.year + more),
    *_accessor("getMonth", "month", lambda moment, _: moment.month - 1),
    *_accessor("getDayOfYear", "day_of_year", lambda moment, _: moment.timetuple().tm_yday - 1),
    *_accessor("getDayOfMonth", "day_of_month", lambda moment, _: moment.day - 1),
    *_accessor("getDate", "day_of_month_1_based", lambda moment, _: moment.day),
    *_accessor("getDayOfWeek", "day_of_week", lambda moment, _: (moment.weekday() + 1) % 7),
    *_accessor("getHours", "hours", lambda moment, _: moment.hour, 3600 * NANOS),
    *_accessor("getMinutes", "minutes", lambda moment, _: moment.minute, 60 * NANOS),
    *_accessor("getSeconds", "seconds", lambda moment, _: moment.second, NANOS),
    *_accessor("getMilliseconds", "milliseconds", lambda moment, _: moment.microsecond // 1000, 10**6),
)

_OPERATORS: Final = (
    Overload("type", "type", (A,), type_of(A), type_of_value),
    Overload("dyn", "to_dyn", (A,), DYN, conversions.identity),
    Overload("_?_:_", "conditional", (BOOL, A, A), A),
    Overload("_&&_", "logical_and", (BOOL, BOOL), BOOL),
    Overload("_||_", "logical_or", (BOOL, BOOL), BOOL),
    Overload("!_", "logical_not", (BOOL,), BOOL),
    Overload("@not_strictly_false", "not_strictly_false", (BOOL,), BOOL),
    Overload("_==_", "equals", (A, A), BOOL, **_COMPARED),
    Overload("_!=_", "not_equals", (A, A), BOOL, **_COMPARED),
    *chain.from_iterable(_operator(name, verb, *_ORDERED) for verb, name in _ORDERS.items()),
    *_operator(
        "_+_", "add", *_same(BYTES, DOUBLE, DURATION), (DURATION, TIMESTAMP, TIMESTAMP),
        (TIMESTAMP, DURATION, TIMESTAMP), *_same(INT, LIST_A, STRING, UINT),
    ),
    *_operator(
        "_-_", "subtract", *_same(DOUBLE, DURATION, INT), (TIMESTAMP, DURATION, TIMESTAMP),
        (TIMESTAMP, TIMESTAMP, DURATION), *_same(UINT),
    ),
    *_operator("_*_", "multiply", *_same(*_NUMBERS)),
    *_operator("_/_", "divide", *_same(*_NUMBERS)),
    *_operator("_%_", "modulo", *_same(INT, UINT)),
    Overload("-_", "negate_double", (DOUBLE,), DOUBLE),
    Overload("-_", "negate_int64", (INT,), INT),
    Overload("_[_]", "index_list", (LIST_A, INT), A),
    Overload("_[_]", "index_map", (MAP_AB, A), B),
    Overload("@in", "in_list", (A, LIST_A), BOOL, cost=costs.of_argument(1, 1.0)),
    Overload("@in", "in_map", (A, MAP_AB), BOOL),
    *(
        Overload("size", f"{name}_size" if is_member else f"size_{name}", (type_,), INT, len, member=is_member)
        for type_, name in _NAMES.items()
        if type_ in {BYTES, LIST_A, MAP_AB, STRING}
        for is_member in (False, True)
    ),
)  # fmt: skip
"""Those without an implementation are the compiler's, or among `webhook.cel.runtime.operators.OPERATORS`."""

_TWO: Final = (STRING, STRING)
_PREFIX: Final[Mapping[str, Any]] = {
    "cost": costs.of_argument(0),
    "estimate": costs.estimated(costs.of_argument(1)),  # of the other, as in cel-go
}
_STRINGS: Final = (
    member("startsWith", "starts_with_string", _TWO, BOOL, lambda text, part: text.startswith(part), **_PREFIX),
    member("endsWith", "ends_with_string", _TWO, BOOL, lambda text, part: text.endswith(part), **_PREFIX),
    member("contains", "contains_string", _TWO, BOOL, lambda text, part: part in text, cost=costs.of_search),
    Overload("matches", "matches", _TWO, BOOL, regex.matches),
    member("matches", "matches_string", _TWO, BOOL, regex.matches, cost=costs.of_regex),
)

STANDARD: Final = Library(
    functions=tuple(
        each._replace(**_CHARGES.get(each.id, {}))
        for each in (
            *_OPERATORS,
            *chain.from_iterable(map(_conversion, conversions.CONVERSIONS, conversions.CONVERSIONS.values())),
            *_STRINGS,
            *_ACCESSORS,
        )
    ),
    macros=macros.STANDARD,
    structs=WELL_KNOWN,
    types=(BOOL, BYTES, DOUBLE, DURATION, INT, LIST, MAP, NULL, STRING, TIMESTAMP, TYPE, UINT),
)
