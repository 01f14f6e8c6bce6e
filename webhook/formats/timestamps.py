"""Timestamps, parsed as ``metav1.Time`` does, with the errors of Go's ``time.Parse``."""

from __future__ import annotations

import re
from typing import Final

from webhook.formats import FINE, Messages
from webhook.patterns import Pattern

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_TWO = Pattern("[0-9]{2}")
_ELEMENTS: Final = (
    ("", "2006", Pattern("[0-9]{4}"), "year", range(10_000)),
    ("-", "01", _TWO, "month", range(1, 13)),
    ("-", "02", _TWO, "day", range(100)),  # a day beyond the end of its month is found last
    ("T", "15", Pattern("[0-9]{1,2}"), "hour", range(24)),
    (":", "04", _TWO, "minute", range(60)),
    (":", "05", _TWO, "second", range(60)),
)
"""The numbers of the layout: the text before one, its spelling there, what reads it, its name in errors, its values."""
_FRACTION = Pattern("[.,]([0-9]+)")
_ZONE_SAMPLE = "Z07:00"
_ZONE = Pattern(r"([\x00-\x7f])([0-9]{2}):(..)", re.DOTALL)
_LONGEST_ZONE_HOUR, _LONGEST_ZONE_MINUTE = 24, 60

CYCLE_YEARS, CYCLE_DAYS = 400, 146_097
"""The Gregorian calendar repeats itself after so many years, which have so many days."""
_NANOSECONDS = 10**9
_ESCAPES = {
    **{byte: f"\\x{byte:02x}" for byte in (*range(0x20), *range(0x80, 0x100))},
    ord('"'): r"\"",
    ord("\\"): r"\\",
}


def timestamp(value: str, _release: int) -> Messages:
    """A time such as ``2024-01-31T12:00:00Z``: RFC 3339, with an optional fraction of a second and an offset.

    Source: apimachinery ``pkg/apis/meta/v1/time.go``, ``UnmarshalJSON``; Go's ``time/format.go``.
    """
    try:
        parse_timestamp(value)
    except ValueError as error:
        return (str(error),)
    return FINE


def parse_timestamp(value: str) -> int:
    """Read a time as the nanoseconds since the start of year 1 in UTC, which is Go's zero time.

    Raises:
        ValueError: The API server's decoder refuses the text; the error has its message.
    """
    return parse_with_zone(value)[0]


def parse_with_zone(value: str) -> tuple[int, int]:
    """Read a time as ``parse_timestamp`` does, with its zone's offset from UTC in minutes.

    Source: Go's ``time/format.go``, ``parse``.
    """
    from datetime import date  # few objects have timestamps

    numbers, at = [], 0
    for prefix, sample, digits, name, allowed in _ELEMENTS:
        if not value.startswith(prefix, at):
            raise _mismatch(value, value[at:], prefix)
        at += len(prefix)
        if (match := digits.match(value, at)) is None:
            raise _mismatch(value, value[at:], sample)
        numbers.append(number := int(match[0]))
        if number not in allowed:
            raise _out_of_line(value, f"{name} out of range")
        at = match.end()
    fraction = _FRACTION.match(value, at)
    # Go reads nine digits and skips the rest.
    nanosecond = int(fraction[1][:9].ljust(9, "0")) if fraction else 0
    offset, rest = _zone(value, value[fraction.end() if fraction else at :])
    if rest:
        raise _out_of_line(value, f"extra text: {_quoted(rest)}")
    year, month, day, hour, minute, second = numbers
    try:
        days = date(year or CYCLE_YEARS, month, day).toordinal() - 1  # Python has no year 0
    except ValueError:
        raise _out_of_line(value, "day out of range") from None
    days -= 0 if year else CYCLE_DAYS
    return (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * _NANOSECONDS + nanosecond, offset


def format_timestamp(nanoseconds: int) -> str:
    """Write a time as ``metav1.Time`` does: in UTC, without fractions of a second.

    Args:
        nanoseconds: The nanoseconds since the start of year 1 in UTC.

    Raises:
        OverflowError: The time zone has moved it out of the years 1 to 9999.
    """
    from datetime import datetime, timedelta  # few objects have timestamps

    start = datetime(1, 1, 1)  # noqa: DTZ001 - in UTC, as the text says
    return (start + timedelta(seconds=nanoseconds // _NANOSECONDS)).isoformat() + "Z"


def shown_timestamp(value: str) -> str | None:
    """Write a valid time as messages of the API server do: like stored ones, and None for Go's zero time."""
    moment = parse_timestamp(value)
    try:
        return format_timestamp(moment) if moment else None
    except OverflowError:
        return value


def go_timestamp(value: str) -> str:
    """Write a valid time as Go's ``Time.String`` does in UTC: with its fraction of a second."""
    moment = parse_timestamp(value)
    try:
        seconds = format_timestamp(moment)
    except OverflowError:
        return value
    fraction = f".{moment % _NANOSECONDS:09}".rstrip("0").rstrip(".")
    return f"{seconds[:-1].replace('T', ' ')}{fraction} +0000 UTC"


def _zone(value: str, rest: str) -> tuple[int, str]:
    """Read ``Z`` or an offset as minutes, and return the rest; the range is checked before the sign."""
    if rest.startswith("Z"):
        return 0, rest[1:]
    match = _ZONE.match(rest)
    if match is None:
        raise _mismatch(value, rest, _ZONE_SAMPLE)
    sign, hour, minute = match[1], int(match[2]), int(match[3]) if _TWO.match(match[3]) else None
    if hour > _LONGEST_ZONE_HOUR:
        raise _out_of_line(value, "time zone offset hour out of range")
    if minute is not None and minute > _LONGEST_ZONE_MINUTE:
        raise _out_of_line(value, "time zone offset minute out of range")
    if minute is None or sign not in "+-":
        raise _mismatch(value, rest, _ZONE_SAMPLE)
    offset = hour * 60 + minute
    return (-offset if sign == "-" else offset), rest[match.end() :]


def _mismatch(value: str, rest: str, sample: str) -> ValueError:
    return ValueError(
        f'parsing time {_quoted(value)} as "{_LAYOUT}": cannot parse {_quoted(rest)} as {_quoted(sample)}'
    )


def _out_of_line(value: str, what: str) -> ValueError:
    return ValueError(f"parsing time {_quoted(value)}: {what}")


def _quoted(text: str) -> str:
    r"""Quote as Go's ``time`` package does: bytes other than printable ASCII become ``\x00``."""
    return f'"{text.encode(errors="surrogatepass").decode("latin-1").translate(_ESCAPES)}"'
