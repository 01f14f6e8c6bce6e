"""Conversions between types: `int(x)`, `string(x)` and the rest, with cel-go's ranges and errors."""

from __future__ import annotations

import decimal
import math
import re
from contextlib import suppress
from typing import Final, NoReturn

from webhook.budget import READ, work
from webhook.cel.errors import EvaluationError
from webhook.cel.runtime import temporal
from webhook.cel.types.values import INT_MAX, INT_MIN, NANOS, UINT_MAX, Duration, Timestamp, UInt
from webhook.patterns import Pattern

_INTEGER: Final = Pattern(r"[+-]?[0-9]+")
_DIGITS: Final = Pattern(r"[0-9]+")
_DECIMALS: Final = "[0-9]+(?:_[0-9]+)*"
_HEXADECIMALS: Final = "[0-9a-f]+(?:_[0-9a-f]+)*"
_DOUBLE: Final = Pattern(
    rf"[+-]?(?:(?:{_DECIMALS}(?:\.(?:{_DECIMALS})?)?|\.{_DECIMALS})(?:e[+-]?{_DECIMALS})?|inf(?:inity)?|nan"
    rf"|0x(?:_?{_HEXADECIMALS}(?:\.(?:{_HEXADECIMALS})?)?|\.{_HEXADECIMALS})p[+-]?{_DECIMALS})",
    re.IGNORECASE,
)
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_TWO_63: Final = float(2**63)
_TWO_64: Final = float(2**64)
_MAX_DIGITS: Final = 20
_EXPONENT_FROM: Final = 6


def fail(source: str, target: str) -> NoReturn:
    """Raises the error of an impossible conversion.

    Raises:
        EvaluationError: Always.
    """
    raise EvaluationError(f"type conversion error from '{source}' to '{target}'")


def _overflow(unsigned: str = "") -> NoReturn:
    raise EvaluationError(f"{unsigned}integer overflow")


def double_to_int(value: float) -> int:
    """Truncates the fraction."""
    if math.isnan(value) or not -_TWO_63 < value < _TWO_63:
        _overflow()
    return int(value)


def double_to_uint(value: float) -> UInt:
    """Truncates the fraction."""
    if math.isnan(value) or not 0 <= value < _TWO_64:
        _overflow("unsigned ")
    return UInt(int(value))


def uint_to_int(value: UInt) -> int:
    """The same number, signed."""
    return int(value) if value <= INT_MAX else _overflow()


def int_to_uint(value: int) -> UInt:
    """The same number, unsigned."""
    return UInt(value) if value >= 0 else _overflow("unsigned ")


def string_to_int(text: str) -> int:
    """Reads a decimal number."""
    work(len(text) // READ)
    if _INTEGER.fullmatch(text) and len(digits := text.lstrip("+-").lstrip("0") or "0") <= _MAX_DIGITS:
        value = int(digits) * (-1 if text[0] == "-" else 1)
        if INT_MIN <= value <= INT_MAX:
            return value
    fail("string", "int")


def string_to_uint(text: str) -> UInt:
    """Reads a decimal number without sign."""
    work(len(text) // READ)
    if _DIGITS.fullmatch(text) and len(digits := text.lstrip("0") or "0") <= _MAX_DIGITS:
        value = int(digits)
        if value <= UINT_MAX:
            return UInt(value)
    fail("string", "uint")


def string_to_double(text: str) -> float:
    """Reads a number as Go's strconv.ParseFloat does."""
    work(len(text) // READ)
    if _DOUBLE.fullmatch(text):
        if text.lstrip("+-")[:2] in {"0x", "0X"}:
            with suppress(OverflowError):
                return float.fromhex(text.replace("_", ""))
        elif not math.isinf(value := float(text)) or "i" in text.lower():
            return value
    fail("string", "double")


def string_to_bool(text: str) -> bool:
    """Reads the texts that Go's strconv.ParseBool accepts."""
    return _BOOLS[text] if text in _BOOLS else fail("string", "bool")


def string_to_bytes(text: str) -> bytes:
    """The text in UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def bytes_to_string(value: bytes) -> str:
    """Decodes the bytes as UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def string_to_duration(text: str) -> Duration:
    """Reads a duration, `1h30m`."""
    work(len(text))
    return temporal.parse_duration(text) or fail("string", "google.protobuf.Duration")


def string_to_timestamp(text: str) -> Timestamp:
    """Reads a timestamp in RFC 3339 format."""
    work(len(text) // READ)
    return temporal.parse_timestamp(text) or fail("string", "google.protobuf.Timestamp")


def int_to_duration(_: int) -> Duration:
    """Fails: cel-go declares the conversion up to 0.27, and has none (common/types/int.go, ConvertToType)."""
    fail("int", "google.protobuf.Duration")


def int_to_timestamp(seconds: int) -> Timestamp:
    """The timestamp at some seconds after the epoch."""
    return Timestamp(seconds * NANOS)


def timestamp_to_int(timestamp: Timestamp) -> int:
    """Whole seconds since the epoch."""
    return timestamp.nanos // NANOS


def int_to_string(value: int) -> str:
    """The number in decimal."""
    return str(int(value))


def bool_to_string(value: bool) -> str:  # the value itself
    """`true` or `false`."""
    return "true" if value else "false"


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
        return temporal.positional(value)
    mantissa = "".join(map(str, digits)).rstrip("0")
    fraction = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
    return f"{'-' if value < 0 else ''}{mantissa[0]}{fraction}e{'-' if point < 0 else '+'}{abs(point):02d}"
