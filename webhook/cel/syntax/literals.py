"""The values of literals (cel-go parser/unescape.go)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from webhook.cel.errors import INVALID_LITERAL
from webhook.cel.syntax.grammar import CONSTANTS
from webhook.cel.types.values import INT_MAX, INT_MIN, UINT_MAX, UInt
from webhook.patterns import Pattern

_SIMPLE: Final = dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True))
_ESCAPES: Final = Pattern(r"\\(?:x(..)|X(..)|u(.{4})|U(.{8})|([0-3]..)|(.))", re.DOTALL)
_SURROGATES: Final = range(0xD800, 0xE000)
_MAX_CODE_POINT: Final = 0x10FFFF


def value_of(kind: str, text: str) -> object:
    """The value of a literal, whose text has its sign, or its quotes and prefix.

    Raises:
        ValueError: It has no value.
    """
    if kind in CONSTANTS:
        return CONSTANTS[kind]
    parse, noun = _PARSERS[kind]
    value = parse(text)
    if value is None:
        raise ValueError(INVALID_LITERAL.format(noun))
    return value


def parse_int(text: str) -> int | None:
    """The value of a signed decimal or hexadecimal literal, None when it does not fit 64 bits."""
    value = _integer(text)
    return value if value is not None and INT_MIN <= value <= INT_MAX else None


def parse_uint(text: str) -> UInt | None:
    """The value of an unsigned literal, its `u` included, None when it does not fit 64 bits."""
    value = _integer(text[:-1])
    return UInt(value) if value is not None and value <= UINT_MAX else None


def _integer(text: str) -> int | None:
    digits = text.lstrip("-")
    base = 16 if digits.startswith("0x") else 10
    significant = (digits[2:] if base > 10 else digits).lstrip("0")  # noqa: PLR2004 - ten is ten
    if len(significant) > 20:  # noqa: PLR2004 - more digits than 64 bits can have
        return None
    value = int(significant or "0", base)
    return -value if text.startswith("-") else value


def parse_double(text: str) -> float | None:
    """The value of a floating-point literal, None when it is out of range."""
    value = float(text)
    return None if math.isinf(value) else value


def parse_string(text: str) -> str:
    """The value of a string literal, quotes and prefix included.

    Raises:
        ValueError: An escape names no Unicode code point.
    """
    if text[0] in "\"'" and text[1] != text[0] and "\\" not in text and "\r" not in text:
        return text[1:-1]
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    found: str = _ESCAPES.sub(_character, body)
    return found


def parse_bytes(text: str) -> bytes:
    r"""The value of a bytes literal, `b` included; `\x` and octal escapes are bytes there, not code points.

    Raises:
        ValueError: An escape is not allowed in bytes.
    """
    body, raw = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    pieces = bytearray()
    start = 0
    for found in _ESCAPES.finditer(body):
        if found[3] or found[4]:
            raise ValueError("unable to unescape string")
        pieces += body[start : found.start()].encode("utf-8", "surrogatepass")
        pieces.append(ord(_character(found)))
        start = found.end()
    return bytes(pieces) + body[start:].encode("utf-8", "surrogatepass")


def _body(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    quoted = (text[1:] if raw else text).replace("\r\n", "\n").replace("\r", "\n")
    quotes = 3 if len(quoted) >= 6 and quoted[:3] in {'"""', "'''"} else 1  # noqa: PLR2004 - two triple quotes
    return quoted[quotes:-quotes], raw


def _character(found: re.Match[str]) -> str:
    if found[6]:
        return _SIMPLE[found[6]]
    if found[5]:
        return chr(int(found[5], 8))
    code = int(found[1] or found[2] or found[3] or found[4], 16)
    if code in _SURROGATES or code > _MAX_CODE_POINT:
        raise ValueError("invalid unicode code point")
    return chr(code)


_PARSERS: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "NUM_INT": (parse_int, "int"),
    "NUM_UINT": (parse_uint, "uint"),
    "NUM_FLOAT": (parse_double, "double"),
    "STRING": (parse_string, "string"),
    "BYTES": (parse_bytes, "bytes"),
}
