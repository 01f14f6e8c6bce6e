"""Values as Go prints them, as in structured-merge-diff's errors about wrong types (``typed/validate.go``)."""

from __future__ import annotations

from typing import Any, Final

from webhook.budget import work
from webhook.cel.runtime.conversions import double_to_string
from webhook.cel.runtime.temporal import format_timestamp
from webhook.cel.types.values import BoolKey, Duration, Timestamp, UInt
from webhook.problem import Verbatim, quoted, shown
from webhook.records import Record

_TYPES: Final = {bool: "bool", str: "string", int: "int64", float: "float64"}
_FOREIGN_TYPES: Final = {
    type(None): "structpb.NullValue",
    UInt: "uint64",
    bytes: "[]uint8",
    Duration: "time.Duration",
    Timestamp: "time.Time",
}


class Foreign(Record):
    """A CEL value in an ApplyConfiguration, of a type that no object can have."""

    value: Any


def go_type(value: Any) -> str:
    """Name a value's type as ``%T`` does."""
    if isinstance(value, Foreign):
        inner = value.value
        if isinstance(inner, list):
            return "[]ref.Val"
        if isinstance(inner, dict):
            return "map[ref.Val]ref.Val"
        return _FOREIGN_TYPES.get(type(inner), type(inner).__name__)
    if isinstance(value, list):
        return "[]interface {}"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return _TYPES.get(type(value), type(value).__name__)


def plain(value: Any) -> str:
    """Show a value of structured-merge-diff as ``%v`` does."""
    return f"&{{{shown(Verbatim(_plain(value)))}}}"


def sharp(value: Any) -> str:
    """Show a value of structured-merge-diff as ``%#v`` does."""
    return f"&value.valueUnstructured{{Value:{shown(Verbatim(_sharp(value)))}}}"


def _plain(value: Any) -> str:
    if isinstance(value, Foreign):
        return "NULL_VALUE" if value.value is None else _plain(value.value)
    if isinstance(value, list):
        work(1 + len(value))
        return f"[{' '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        work(1 + len(value))
        return f"map[{' '.join(sorted(f'{_plain(key)}:{_plain(each)}' for key, each in value.items()))}]"
    if isinstance(value, Timestamp):
        return f"{format_timestamp(value).rstrip('Z').replace('T', ' ')} +0000 UTC"
    if isinstance(value, Duration):
        return f"{value.nanos}ns"
    return _scalar(value) if value is not None else "<nil>"


def _sharp(value: Any) -> str:  # noqa: PLR0911 - a return for each type
    inner = value.value if isinstance(value, Foreign) else value
    if isinstance(inner, list):
        work(1 + len(inner))
        return f"{go_type(value)}{{{', '.join(map(_sharp, inner))}}}"
    if isinstance(inner, dict):
        work(1 + len(inner))
        entries = sorted(f"{_sharp(key)}:{_sharp(each)}" for key, each in inner.items())
        return f"{go_type(value)}{{{', '.join(entries)}}}"
    if inner is None:
        return "0" if inner is not value else "interface {}(nil)"
    if isinstance(inner, str):
        return quoted(inner)
    if isinstance(inner, bytes):
        return f"[]uint8{{{', '.join(map(hex, inner))}}}"
    if isinstance(inner, UInt):
        return hex(inner)
    if isinstance(inner, Duration):
        return str(inner.nanos)
    return go_type(value) if isinstance(inner, Timestamp) else _scalar(inner)


def _scalar(value: Any) -> str:
    if isinstance(value, bool | BoolKey):
        return str(bool(value) if isinstance(value, bool) else value.value).lower()
    if isinstance(value, bytes):
        return f"[{' '.join(map(str, value))}]"
    if isinstance(value, float):
        return double_to_string(value)
    if isinstance(value, int | str):
        return str(value) if isinstance(value, str) else str(int(value))
    return type(value).__name__
