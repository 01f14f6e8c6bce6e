"""Protobuf's well-known messages, such as `google.protobuf.Duration{seconds: 1}`.

cel-go has them in every environment (common/types/pb, common/types/provider.go): each evaluates to the value that it
stands for, a wrapper to the value inside, a `Value` to JSON.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Final

from webhook.budget import work
from webhook.cel.checker.declarations import StructType
from webhook.cel.errors import EvaluationError
from webhook.cel.runtime import temporal
from webhook.cel.types import base as types
from webhook.cel.types.base import Type, nullable
from webhook.cel.types.values import NANOS, UINT_MAX, Duration, Timestamp, UInt, Value, from_key

_Fields = dict[str, Value]

_MAX_EXACT: Final = 2**53
_INT32: Final = 2**31


def _json(value: Value) -> Value:
    """A value as JSON: numbers are doubles, values without a JSON form are texts."""
    cls = type(value)
    if cls is int or cls is UInt:
        return float(value) if abs(value) <= _MAX_EXACT else str(int(value))
    if cls is list:
        work(1 + len(value))
        return [_json(each) for each in value]
    if isinstance(value, dict):
        work(1 + len(value))
        keys = (str(each).lower() if type(each) is bool else str(each) for each in map(from_key, value))
        return dict(zip(keys, map(_json, value.values()), strict=True))
    if cls is bytes:
        return base64.b64encode(value).decode()
    if cls is Timestamp:
        return temporal.format_timestamp(value)
    return temporal.format_duration(value) if cls is Duration else value


def _nanos(fields: _Fields) -> int:
    nanos = fields.get("nanos", 0)
    return int(fields.get("seconds", 0)) * NANOS + int(_within_int32(nanos))


def _within_int32(value: int) -> int:
    if -_INT32 <= value < _INT32:
        return value
    raise EvaluationError("integer overflow")


def _within_uint32(value: int) -> int:
    if value <= UINT_MAX >> 32:
        return value
    raise EvaluationError("unsigned integer overflow")


def _float(value: float) -> float:
    """The nearest number of 32 bits."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _any(fields: _Fields) -> Value:
    raise EvaluationError(
        f"conversion error: got Any with {'an unknown' if fields.get('type_url') else 'empty'} type-url"
    )


def _value(fields: _Fields) -> Value:
    return next((_json(value) for name, value in fields.items() if name != "null_value"), None)


def _message(name: str, type_: Type, fields: Mapping[str, Type], make: Callable[[_Fields], Value]) -> StructType:
    return StructType(type_, fields, make, name=f"google.protobuf.{name}")


def _wrapper(
    name: str, type_: Type, zero: Value, convert: Callable[[Value], Value] = lambda value: value
) -> StructType:
    def make(fields: _Fields) -> Value:
        return convert(fields.get("value", zero))

    return _message(f"{name}Value", nullable(type_), {"value": type_}, make)


_SPAN: Final = {"seconds": types.INT, "nanos": types.INT}
_JSON_MAP: Final = types.map_of(types.STRING, types.DYN)
_VALUE: Final = {
    "null_value": types.DYN,
    "number_value": types.DOUBLE,
    "string_value": types.STRING,
    "bool_value": types.BOOL,
    "struct_value": _JSON_MAP,
    "list_value": types.LIST,
}

WELL_KNOWN: Final = (
    _message("Timestamp", types.TIMESTAMP, _SPAN, lambda fields: Timestamp(_nanos(fields))),
    _message("Duration", types.DURATION, _SPAN, lambda fields: Duration(_nanos(fields))),
    _message("Value", types.DYN, _VALUE, _value),
    _message("ListValue", types.LIST, {"values": types.LIST}, lambda fields: _json(fields.get("values", []))),
    _message("Struct", _JSON_MAP, {"fields": _JSON_MAP}, lambda fields: _json(fields.get("fields", {}))),
    _message("Any", types.ANY, {"type_url": types.STRING, "value": types.BYTES}, _any),
    StructType(types.struct("google.protobuf.Empty"), {}),
    _wrapper("Bool", types.BOOL, zero=False),
    _wrapper("Bytes", types.BYTES, b""),
    _wrapper("Double", types.DOUBLE, 0.0),
    _wrapper("Float", types.DOUBLE, 0.0, _float),
    _wrapper("Int32", types.INT, 0, _within_int32),
    _wrapper("Int64", types.INT, 0),
    _wrapper("String", types.STRING, ""),
    _wrapper("UInt32", types.UINT, UInt(0), _within_uint32),
    _wrapper("UInt64", types.UINT, UInt(0)),
)
