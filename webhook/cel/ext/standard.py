"""CEL's standard library: operators and functions that every environment has (cel-go common/stdlib/standard.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from webhook.cel import costs
from webhook.cel.checker.declarations import Function, Library, member
from webhook.cel.costs import MOST, Bounds
from webhook.cel.ext.wellknown import WELL_KNOWN
from webhook.cel.overloads import Overload
from webhook.cel.regex import re2 as regex
from webhook.cel.runtime import access, conversions, operators, temporal
from webhook.cel.syntax import macros
from webhook.cel.types.base import (
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
    parameter,
    type_of,
)
from webhook.cel.types.values import NANOS, Value
from webhook.cel.types.values import type_of as type_of_value

A: Final = parameter("A")
B: Final = parameter("B")
LIST_A: Final = list_of(A)
MAP_AB: Final = map_of(A, B)

_NAMES: Final = {
    BOOL: "bool", BYTES: "bytes", DOUBLE: "double", DURATION: "duration", INT: "int64", STRING: "string",
    TIMESTAMP: "timestamp", UINT: "uint64", LIST_A: "list",
}  # fmt: skip
_NUMBERS: Final = (DOUBLE, INT, UINT)
_SUMS: Final = {
    "add_bytes": costs.concatenation,
    "add_string": costs.concatenation,
    "add_list": costs.list_concatenation,
}
_ENCODINGS: Final = {  # a code point takes one byte to four
    "string_to_bytes": costs.by_argument(0, result=lambda size: Bounds(size.low, min(size.high * 4, MOST))),
    "bytes_to_string": costs.by_argument(0, result=lambda size: Bounds(size.low // 4, size.high)),
}


def _arithmetic(
    name: str, verb: str, implementation: Callable[[Value, Value], Value], *signatures: tuple[Type, Type, Type]
) -> Function:
    overloads = []
    for first, second, result in signatures:
        own = f"{verb}_{_NAMES[first]}" if first == second == result and first not in {DURATION, TIMESTAMP} else ""
        id_ = own or f"{verb}_{_NAMES[first]}_{_NAMES[second]}"
        overloads.append(
            Overload(
                id_,
                (first, second),
                result,
                implementation,
                cost=costs.of_both if id_ in {"add_string", "add_bytes"} else 1,
                estimate=_SUMS.get(id_),
            )
        )
    return Function(name, *overloads)


def _same(*types: Type) -> list[tuple[Type, Type, Type]]:
    return [(type_, type_, type_) for type_ in types]


def _comparison(name: str, verb: str, implementation: Callable[[Value, Value], bool]) -> Function:
    pairs = [
        (BOOL, BOOL),
        *((first, second) for first in (INT, UINT, DOUBLE) for second in dict.fromkeys((first, DOUBLE, UINT, INT))),
        *((type_, type_) for type_ in (STRING, BYTES, TIMESTAMP, DURATION)),
    ]
    overloads = []
    for first, second in pairs:
        other = "" if first == second else f"_{_NAMES[second]}"
        sized = first in {STRING, BYTES}
        overloads.append(
            Overload(
                f"{verb}_{_NAMES[first]}{other}",
                (first, second),
                BOOL,
                implementation,
                cost=costs.of_smaller if sized else 1,
                estimate=costs.comparison if sized else None,
            )
        )
    return Function(name, *overloads)


def _size() -> Function:
    overloads = []
    for type_, name in ((BYTES, "bytes"), (LIST_A, "list"), (MAP_AB, "map"), (STRING, "string")):
        overloads.append(Overload(f"size_{name}", (type_,), INT, len))
        overloads.append(Overload(f"{name}_size", (type_,), INT, len, member=True))
    return Function("size", *overloads)


def _conversion(target: Type, name: str, **sources: tuple[Type, Callable[[Value], Value]]) -> Function:
    overloads = []
    for source, (type_, implementation) in sources.items():
        id_ = f"{source}_to_{_NAMES[target]}"
        overloads.append(
            Overload(
                id_,
                (type_,),
                target,
                implementation,
                cost=costs.of_argument(0) if id_ in _ENCODINGS else 1,
                estimate=_ENCODINGS.get(id_),
            )
        )
    return Function(name, *overloads)


_CONVERSIONS: Final = (
    Function("type", Overload("type", (A,), type_of(A), type_of_value)),
    Function("dyn", Overload("to_dyn", (A,), DYN, operators.identity)),
    _conversion(BOOL, "bool", bool=(BOOL, operators.identity), string=(STRING, conversions.string_to_bool)),
    _conversion(BYTES, "bytes", bytes=(BYTES, operators.identity), string=(STRING, conversions.string_to_bytes)),
    _conversion(
        DOUBLE,
        "double",
        double=(DOUBLE, operators.identity),
        int64=(INT, float),
        string=(STRING, conversions.string_to_double),
        uint64=(UINT, float),
    ),
    _conversion(
        DURATION,
        "duration",
        duration=(DURATION, operators.identity),
        int64=(INT, conversions.int_to_duration),
        string=(STRING, conversions.string_to_duration),
    ),
    _conversion(
        INT,
        "int",
        int64=(INT, operators.identity),
        double=(DOUBLE, conversions.double_to_int),
        duration=(DURATION, lambda duration: duration.nanos),
        string=(STRING, conversions.string_to_int),
        timestamp=(TIMESTAMP, conversions.timestamp_to_int),
        uint64=(UINT, conversions.uint_to_int),
    ),
    _conversion(
        STRING,
        "string",
        string=(STRING, operators.identity),
        bool=(BOOL, conversions.bool_to_string),
        bytes=(BYTES, conversions.bytes_to_string),
        double=(DOUBLE, conversions.double_to_string),
        duration=(DURATION, temporal.format_duration),
        int64=(INT, conversions.int_to_string),
        timestamp=(TIMESTAMP, temporal.format_timestamp),
        uint64=(UINT, conversions.int_to_string),
    ),
    _conversion(
        TIMESTAMP,
        "timestamp",
        timestamp=(TIMESTAMP, operators.identity),
        int64=(INT, conversions.int_to_timestamp),
        string=(STRING, conversions.string_to_timestamp),
    ),
    _conversion(
        UINT,
        "uint",
        uint64=(UINT, operators.identity),
        double=(DOUBLE, conversions.double_to_uint),
        int64=(INT, conversions.int_to_uint),
        string=(STRING, conversions.string_to_uint),
    ),
)


def _accessor(
    name: str, part: str, implementation: Callable[..., int], of_duration: Callable[..., int] | None = None
) -> Function:
    overloads = [
        Overload(f"timestamp_to_{part}", (TIMESTAMP,), INT, implementation, member=True),
        Overload(f"timestamp_to_{part}_with_tz", (TIMESTAMP, STRING), INT, implementation, member=True),
    ]
    if of_duration is not None:
        overloads.append(Overload(f"duration_to_{part}", (DURATION,), INT, of_duration, member=True))
    return Function(name, *overloads)


_access: Final = temporal.accessor
_ACCESSORS: Final = (
    _accessor("getFullYear", "year", temporal.year),
    _accessor("getMonth", "month", _access(lambda moment: moment.month - 1)),
    _accessor("getDayOfYear", "day_of_year", _access(lambda moment: moment.timetuple().tm_yday - 1)),
    _accessor("getDayOfMonth", "day_of_month", _access(lambda moment: moment.day - 1)),
    _accessor("getDate", "day_of_month_1_based", _access(lambda moment: moment.day)),
    _accessor("getDayOfWeek", "day_of_week", _access(lambda moment: (moment.weekday() + 1) % 7)),
    _accessor("getHours", "hours", _access(lambda moment: moment.hour), temporal.in_units(3600 * NANOS)),
    _accessor("getMinutes", "minutes", _access(lambda moment: moment.minute), temporal.in_units(60 * NANOS)),
    _accessor("getSeconds", "seconds", _access(lambda moment: moment.second), temporal.in_units(NANOS)),
    _accessor("getMilliseconds", "milliseconds", temporal.milliseconds, temporal.in_units(10**6)),
)

_OPERATORS: Final = (
    Function("_?_:_", Overload("conditional", (BOOL, A, A), A)),
    Function("_&&_", Overload("logical_and", (BOOL, BOOL), BOOL)),
    Function("_||_", Overload("logical_or", (BOOL, BOOL), BOOL)),
    Function("!_", Overload("logical_not", (BOOL,), BOOL, operators.logical_not)),
    Function("@not_strictly_false", Overload("not_strictly_false", (BOOL,), BOOL)),
    Function("_==_", Overload("equals", (A, A), BOOL, cost=costs.of_smaller, estimate=costs.comparison)),
    Function("_!=_", Overload("not_equals", (A, A), BOOL, cost=costs.of_smaller, estimate=costs.comparison)),
    _comparison("_<_", "less", operators.less),
    _comparison("_<=_", "less_equals", operators.less_equal),
    _comparison("_>_", "greater", operators.greater),
    _comparison("_>=_", "greater_equals", operators.greater_equal),
    _arithmetic(
        "_+_",
        "add",
        operators.add,
        *_same(BYTES, DOUBLE, DURATION),
        (DURATION, TIMESTAMP, TIMESTAMP),
        (TIMESTAMP, DURATION, TIMESTAMP),
        *_same(INT, LIST_A, STRING, UINT),
    ),
    _arithmetic(
        "_-_",
        "subtract",
        operators.subtract,
        *_same(DOUBLE, DURATION, INT),
        (TIMESTAMP, DURATION, TIMESTAMP),
        (TIMESTAMP, TIMESTAMP, DURATION),
        *_same(UINT),
    ),
    _arithmetic("_*_", "multiply", operators.multiply, *_same(*_NUMBERS)),
    _arithmetic("_/_", "divide", operators.divide, *_same(*_NUMBERS)),
    _arithmetic("_%_", "modulo", operators.modulo, *_same(INT, UINT)),
    Function(
        "-_",
        Overload("negate_double", (DOUBLE,), DOUBLE, operators.negate),
        Overload("negate_int64", (INT,), INT, operators.negate),
    ),
    Function(
        "_[_]",
        Overload("index_list", (LIST_A, INT), A, access.index),
        Overload("index_map", (MAP_AB, A), B, access.index),
    ),
    Function(
        "@in",
        Overload(
            "in_list",
            (A, LIST_A),
            BOOL,
            operators.contains,
            cost=costs.of_argument(1, 1),
            estimate=costs.by_argument(1, 1),
        ),
        Overload("in_map", (A, MAP_AB), BOOL, operators.contains),
    ),
)


_TWO: Final = (STRING, STRING)
_PREFIX: Final = {"cost": costs.of_argument(0), "estimate": costs.by_argument(1)}
_SEARCH: Final = {"cost": costs.of_search, "estimate": costs.search}
_REGEX: Final = {"cost": costs.of_regex, "estimate": costs.regex}
_STRINGS: Final = (
    member("startsWith", "starts_with_string", _TWO, BOOL, lambda text, part: text.startswith(part), **_PREFIX),
    member("endsWith", "ends_with_string", _TWO, BOOL, lambda text, part: text.endswith(part), **_PREFIX),
    member("contains", "contains_string", _TWO, BOOL, lambda text, part: part in text, **_SEARCH),
    Function("matches", Overload("matches", _TWO, BOOL, regex.matches)),
    member("matches", "matches_string", _TWO, BOOL, regex.matches, **_REGEX),
)

STANDARD: Final = Library(
    "standard",
    functions=(*_OPERATORS, *_CONVERSIONS, *_STRINGS, *_ACCESSORS, _size()),
    macros=macros.STANDARD,
    structs=WELL_KNOWN,
    types=(BOOL, BYTES, DOUBLE, DURATION, INT, LIST, MAP, NULL, STRING, TIMESTAMP, TYPE, UINT),
)
