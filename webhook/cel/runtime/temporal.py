"""Timestamps, durations and numbers without exponents, parsed and printed as in Go."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final

from webhook.cel.errors import EvaluationError
from webhook.cel.types.values import INT_MAX, INT_MIN, NANOS, Duration, Timestamp
from webhook.escapes import GO_ESCAPES
from webhook.patterns import Pattern

_DAY: Final = 86_400
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
"""The period of the Gregorian calendar, after which dates fall on the same days of the week again."""
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
_TIMESTAMP: Final = Pattern(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_INTEGER: Final = Pattern(r"[+-]?[0-9]+")
_MAX_OFFSET_HOURS: Final = 24
_MAX_DIGITS: Final = 30
_MAX_FRACTION: Final = 18


def parse_duration(text: str) -> Duration | None:
    """Reads durations such as `1h30m` and `-1.5s`; None if Go's time.ParseDuration fails."""
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
        if len(whole) > _MAX_DIGITS:
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
    """Reads a timestamp in RFC 3339 format; None if it is malformed."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    offset = 0
    if found[8] != "Z":
        hours, minutes = int(found[8][1:3]), int(found[8][4:])
        if hours > _MAX_OFFSET_HOURS or minutes >= 60:  # noqa: PLR2004 - minutes of an hour
            return None
        offset = (hours * 60 + minutes) * (-60 if found[8][0] == "-" else 60)
    if year == 0:
        raise EvaluationError("timestamp overflow")
    try:
        delta = dt.datetime(year, month, day, hour, minute, second, tzinfo=dt.UTC) - _epoch()
    except ValueError:
        return None
    seconds = delta.days * _DAY + delta.seconds - offset
    fraction = (found[7] or "")[:9].ljust(9, "0")
    return Timestamp(seconds * NANOS + int(fraction), offset)


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
    hours, minutes = map(_integer, zone.split(":", 1))
    total = hours * 60 + (-minutes if zone.startswith("-") else minutes)
    nanos = (total * 60 * NANOS - INT_MIN) % 2**64 + INT_MIN  # as Go's durations overflow
    return int(nanos / NANOS)


def _integer(text: str) -> int:
    reason = "invalid syntax"
    if _INTEGER.fullmatch(text):
        digits = text.lstrip("+-").lstrip("0") or "0"
        value = int(digits[:_MAX_DIGITS]) * (-1 if text.startswith("-") else 1)
        if INT_MIN <= value <= INT_MAX:
            return value
        reason = "value out of range"
    raise EvaluationError(f'strconv.Atoi: parsing "{text.translate(GO_ESCAPES)}": {reason}')


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
    years = _CYCLE_YEARS if seconds < _SECOND_YEAR else -_CYCLE_YEARS if seconds >= _LAST_YEAR else 0
    moment = _epoch() + dt.timedelta(days=years // _CYCLE_YEARS * _CYCLE_DAYS, seconds=seconds)
    return moment.astimezone(known), -years


def accessor(part: Callable[[dt.datetime], int]) -> Callable[..., int]:
    """A function of a timestamp and, optionally, a time zone's name that gives a part of the date or time."""

    def access(timestamp: Timestamp, zone: str = "UTC") -> int:
        return part(_local(timestamp, zone)[0])

    return access


def year(timestamp: Timestamp, zone: str = "UTC") -> int:
    """The year."""
    moment, more = _local(timestamp, zone)
    return moment.year + more


def milliseconds(timestamp: Timestamp, zone: str = "UTC") -> int:
    """The thousandths of the second."""
    _local(timestamp, zone)
    return timestamp.nanos % NANOS // 10**6


def in_units(unit: int) -> Callable[[Duration], int]:
    """A function that gives a duration in whole units of some nanoseconds, truncated towards zero."""

    def convert(duration: Duration) -> int:
        whole = abs(duration.nanos) // unit
        return -whole if duration.nanos < 0 else whole

    return convert
