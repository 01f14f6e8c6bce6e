"""Conversions between types: `int(x)`, `string(x)` and the rest, with cel-go's ranges and errors; parts of times."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, Final

from webhook.budget import READ, work
from webhook.cel.errors import EvaluationError
from webhook.cel.types.base import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type
from webhook.cel.types.values import (
    INT_MAX,
    INT_MIN,
    NANOS,
    TIMESTAMP_MIN,
    UINT_MAX,
    Duration,
    Timestamp,
    UInt,
    Value,
    int64,
    uint64,
    within,
)
from webhook.escapes import GO_BOOLEANS, GO_ESCAPES, go_integer
from webhook.formats.timestamps import CYCLE_DAYS, CYCLE_YEARS, parse_with_zone
from webhook.patterns import Pattern

_SECOND_YEAR: Final = -62_104_060_800
"""The start of year 2, in seconds since 1970."""
_LAST_YEAR: Final = 253_370_764_800
"""The start of year 9999."""
_UNITS: Final = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,  # Go reads both signs for micro
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3600 * NANOS,
}
_DURATION_PART: Final = Pattern(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_MAX_DURATION_DIGITS: Final = 30
_MAX_FRACTION: Final = 18


def parse_duration(text: str) -> Duration | None:
    """Read durations such as `1h30m` and `-1.5s`; None if Go's time.ParseDuration fails."""
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return Duration(0)
    total = 0
    at = 0
    while at < len(rest):
        part = _DURATION_PART.match(rest, at)
        if part is None or not (part[1] or part[2]):
            return None
        whole = part[1].lstrip("0")
        if len(whole) > _MAX_DURATION_DIGITS:
            return None
        unit = _UNITS[part[3]]
        fraction = (part[2] or "0")[:_MAX_FRACTION]
        total += int(whole or "0") * unit + int(float(fraction) * (unit / 10 ** len(fraction)))
        at = part.end()
    nanos = -total if text.startswith("-") else total
    return Duration(nanos) if rest and INT_MIN <= nanos <= INT_MAX else None


def positional(number: float) -> str:
    """A finite number without an exponent."""
    return f"{decimal.Decimal(repr(number)):f}".removesuffix(".0")


def format_duration(duration: Duration) -> str:
    """The duration in seconds: `5400s`, `0.5s`."""
    seconds = duration.nanos // NANOS if duration.nanos >= 0 else -(-duration.nanos // NANOS)
    return f"{positional(float(seconds) + (duration.nanos - seconds * NANOS) / 1e9)}s"


@cache
def _epoch() -> dt.datetime:
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def parse_timestamp(text: str) -> Timestamp | None:
    """Read a timestamp in RFC 3339 format; None if it is malformed."""
    if not text.isascii():  # to quote it in an error would take long
        return None
    try:
        nanos, minutes = parse_with_zone(text)
    except ValueError:
        return None
    return Timestamp(nanos + TIMESTAMP_MIN, minutes * 60)


def format_timestamp(timestamp: Timestamp) -> str:
    """The timestamp in RFC 3339 format, in its own zone, without zeros at the end of the fraction."""
    seconds, nanos = divmod(timestamp.nanos, NANOS)
    moment = _epoch() + dt.timedelta(seconds=seconds + timestamp.offset)
    fraction = f".{nanos:09d}".rstrip("0").rstrip(".") if nanos else ""
    hours, minutes = divmod(abs(timestamp.offset) // 60, 60)
    zone = f"{'-' if timestamp.offset < 0 else '+'}{hours:02d}:{minutes:02d}" if timestamp.offset else "Z"
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}{fraction}{zone}"


@lru_cache(maxsize=256)
def _zone(name: str) -> dt.tzinfo:
    if name in {"", "UTC", "Local"}:
        return dt.UTC
    from zoneinfo import ZoneInfo  # it takes 0.3 MB, and few expressions name a zone

    return ZoneInfo(name)


def _offset(zone: str) -> int:
    """The seconds that an offset such as `-5:30` stands for, of any size (cel-go common/types/timestamp.go, timeZone).

    Raises:
        EvaluationError: The hours or minutes are not numbers.
    """
    numbers = []
    for part in zone.split(":", 1):
        try:
            numbers.append(go_integer(part))
        except ValueError as error:
            raise EvaluationError(f'strconv.Atoi: parsing "{part.translate(GO_ESCAPES)}": {error}') from None
    hours, minutes = numbers
    total = hours * 60 + (-minutes if zone.startswith("-") else minutes)
    nanos = (total * 60 * NANOS - INT_MIN) % 2**64 + INT_MIN  # as Go's durations overflow
    return int(nanos / NANOS)


def _local(timestamp: Timestamp, zone: str) -> tuple[dt.datetime, int]:
    """The date and time in a zone, and the years to add: Python has neither a year 0 nor a year 10000."""
    seconds = timestamp.nanos // NANOS
    known: dt.tzinfo = dt.UTC
    if ":" in zone:
        seconds += _offset(zone)
    else:
        try:
            known = _zone(zone)
        except (KeyError, ValueError, OSError):  # no such zone is a KeyError
            raise EvaluationError(f"unknown time zone {zone}") from None
    years = CYCLE_YEARS if seconds < _SECOND_YEAR else -CYCLE_YEARS if seconds >= _LAST_YEAR else 0
    days, microseconds = years // CYCLE_YEARS * CYCLE_DAYS, timestamp.nanos % NANOS // 1000
    moment = _epoch() + dt.timedelta(days, seconds, microseconds)
    return moment.astimezone(known), -years


def accessor(part: Callable[[dt.datetime, int], int]) -> Callable[..., int]:
    """A function of a timestamp and, optionally, a time zone's name that gives a part of the date or time."""

    def access(timestamp: Timestamp, zone: str = "UTC") -> int:
        return part(*_local(timestamp, zone))

    return access


def in_units(unit: int) -> Callable[[Duration], int]:
    """A function that gives a duration in whole units of some nanoseconds, truncated towards zero."""

    def convert(duration: Duration) -> int:
        whole = abs(duration.nanos) // unit
        return -whole if duration.nanos < 0 else whole

    return convert


_DECIMALS: Final = "[0-9]+(?:_[0-9]+)*"
_HEXADECIMALS: Final = "[0-9a-f]+(?:_[0-9a-f]+)*"
_DOUBLE: Final = Pattern(
    rf"[+-]?(?:(?:{_DECIMALS}(?:\.(?:{_DECIMALS})?)?|\.{_DECIMALS})(?:e[+-]?{_DECIMALS})?|inf(?:inity)?|nan"
    rf"|0x(?:_?{_HEXADECIMALS}(?:\.(?:{_HEXADECIMALS})?)?|\.{_HEXADECIMALS})p[+-]?{_DECIMALS})",
    re.IGNORECASE,
)
_EXPONENT_FROM: Final = 6


def _failure(source: Type, target: Type) -> EvaluationError:
    """The error of an impossible conversion."""
    return EvaluationError(f"type conversion error from '{source.name}' to '{target.name}'")


def _reader(target: Type, read: Callable[[str], Value], characters: int = READ) -> Callable[[str], Value]:
    """A conversion of texts.

    Args:
        read: Gives None for a text that has no value, or raises ValueError.
        characters: How many it reads for a unit of work.
    """

    def convert(text: str) -> Value:
        work(len(text) // characters)
        with suppress(ValueError):
            if (found := read(text)) is not None:
                return found
        raise _failure(STRING, target)

    return convert


def _uint64(text: str) -> UInt:
    return UInt(go_integer(text, 0, UINT_MAX))


def _double(text: str) -> float | None:
    """Read a number as Go's strconv.ParseFloat does."""
    if _DOUBLE.fullmatch(text):
        if text.lstrip("+-")[:2] in {"0x", "0X"}:
            with suppress(OverflowError):
                return float.fromhex(text.replace("_", ""))
        elif not math.isinf(value := float(text)) or "i" in text.lower():
            return value
    return None


def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _int_to_duration(_: int) -> Duration:
    """Fail: cel-go declares the conversion up to 0.27, and has none (common/types/int.go, ConvertToType)."""
    raise _failure(INT, DURATION)


def _int_to_string(value: int) -> str:
    return str(int(value))


def double_to_string(value: float) -> str:
    """The shortest text that reads back as the number, as Go's %g writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    _, digits, exponent = decimal.Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - the number is finite
    point = len(digits) + exponent - 1
    if value == 0 or -4 <= point < _EXPONENT_FROM:  # noqa: PLR2004 - %g
        return positional(value)
    mantissa = "".join(map(str, digits)).rstrip("0")
    fraction = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
    return f"{'-' if value < 0 else ''}{mantissa[0]}{fraction}e{'-' if point < 0 else '+'}{abs(point):02d}"


def identity(value: Value) -> Value:
    """`dyn(value)`, and the conversion of a value to its own type."""
    return value


CONVERSIONS: Final[Mapping[Type, Mapping[Type, Callable[[Any], Value]]]] = {
    BOOL: {BOOL: identity, STRING: _reader(BOOL, GO_BOOLEANS.get)},
    BYTES: {BYTES: identity, STRING: lambda text: text.encode("utf-8", "surrogatepass")},
    DOUBLE: {DOUBLE: identity, INT: float, STRING: _reader(DOUBLE, _double), UINT: float},
    DURATION: {DURATION: identity, INT: _int_to_duration, STRING: _reader(DURATION, parse_duration, 1)},
    INT: {
        INT: identity,
        DOUBLE: lambda number: int(within(number, INT_MIN + 1, INT_MAX)),  # without the least, as in cel-go
        DURATION: lambda duration: duration.nanos,
        STRING: _reader(INT, go_integer),
        TIMESTAMP: lambda timestamp: timestamp.nanos // NANOS,
        UINT: lambda number: int64(int(number)),
    },
    STRING: {
        STRING: identity,
        BOOL: lambda value: "true" if value else "false",
        BYTES: _bytes_to_string,
        DOUBLE: double_to_string,
        DURATION: format_duration,
        INT: _int_to_string,
        TIMESTAMP: format_timestamp,
        UINT: _int_to_string,
    },
    TIMESTAMP: {
        TIMESTAMP: identity,
        INT: lambda seconds: Timestamp(seconds * NANOS),
        STRING: _reader(TIMESTAMP, parse_timestamp, 16),
    },
    UINT: {
        UINT: identity,
        DOUBLE: uint64,
        INT: uint64,
        STRING: _reader(UINT, _uint64),
    },
}
"""The implementations of conversions, by the type that they give and the type that they take."""
