"""YAML scalars, resolved as in Kubernetes.

A manifest's scalar takes three steps: go-yaml v2 resolves it (``resolve.go``), sigs.k8s.io/yaml writes it as
JSON (``yaml.go``; numbers as Go's ``encoding/json`` spells them), and Kubernetes reads that JSON, where a number
without fraction or exponent is an integer. Hence ``1e3`` and ``1.0`` are integers, ``y`` is true, ``12:30`` a string.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from webhook.documents.source import ContentError
from webhook.patterns import Pattern

Scalar = bool | int | float | str | None

MIN_INT64: Final = -(1 << 63)
MAX_INT64: Final = (1 << 63) - 1
MAX_UINT64: Final = (1 << 64) - 1

NULLS: Final = ("", "~", "null", "Null", "NULL")
"""Plain scalars that mean null."""
WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(NULLS),
}
"""Plain scalars that mean a boolean or null (``resolveMapList`` in go-yaml v2)."""

NUMBER_STARTS: Final = frozenset("+-.0123456789")
KEY_STARTS: Final = NUMBER_STARTS.union("<", (word[:1] for word in WORDS))
"""First characters of the plain scalars that may not be strings."""

MERGE_KEY: Final = "<<"
KEY_WORDS: Final = frozenset({*WORDS, MERGE_KEY})
"""Plain scalars that are not read as strings where they are keys, besides numbers."""

_NOT_FINITE: Final = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_GO_NAMES: Final = {math.inf: "+Inf", -math.inf: "-Inf"}

_TAG: Final = "tag:yaml.org,2002:"
_BINARY: Final = _TAG + "binary"
_MERGE: Final = _TAG + "merge"
_TIMESTAMP: Final = _TAG + "timestamp"
_FLOAT: Final = _TAG + "float"
_RESOLVED: Final = {_TAG + "bool", _TAG + "int", _FLOAT, _TAG + "null", _TIMESTAMP}

_INTEGER: Final = Pattern(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]{0,19}))")
_MAX_DIGITS: Final = 20
"""More decimal digits than fit 64 bits: Python refuses to convert thousands."""
_DECIMAL: Final = Pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_FRACTION: Final = Pattern(r"\.[0-9](?:(?=_?[0-9])_?[0-9])*+(?:[eE][-+]?[0-9](?:(?=_?[0-9])_?[0-9])*+)?")

_DATE = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
_TIME = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"
_ZONE = r"(?:Z|[-+][0-9]{2}:[0-9]{2})"
_INSTANT: Final = Pattern(rf"{_DATE}(?:[Tt]{_TIME}{_ZONE}| {_TIME})?")

_MAX_REMEMBERED: Final = 64
"""The most characters of a scalar whose meaning is cached."""
_PLAIN_BELOW: Final = 1e21
_FLOAT32_DIGITS: Final = 9
_UNDECODABLE: Final = Pattern("[\udc80-\udcff]")


def plain(text: str) -> Scalar:
    """Read a scalar without quotes and without a tag as the JSON value that Kubernetes sees.

    Raises:
        ContentError: It is infinite or not a number, which JSON cannot say.
    """
    if text[:1] not in NUMBER_STARTS:
        return WORDS.get(text, text)
    return _short_number(text) if len(text) <= _MAX_REMEMBERED else _json(_numeric(text))


def typed(tag: str | None, text: str) -> Scalar:
    """Read a scalar that may have a tag, such as ``!!int "5"``; an unknown tag makes it a string.

    Raises:
        ContentError: The text is not of that type, or has no JSON form.
    """
    return plain(text) if tag is None else _json(_tagged(tag, text))


def typed_key(tag: str | None, text: str) -> str | None:
    """Read a scalar that may have a tag as a map's key; ``None`` stands for the merge key ``<<``.

    Raises:
        ContentError: The text is not of that type, or not a key: null, or a number beyond int64.
    """
    if tag is None:
        return _short_key(text) if len(text) <= _MAX_REMEMBERED else _key(_resolved(text))
    return None if tag == _MERGE and text == MERGE_KEY else _key(_tagged(tag, text))


def integer(digits: str) -> int | float:
    """Read a JSON number without fraction and exponent: an integer if it fits 64 bits, else a float as in Go."""
    if len(digits) <= _MAX_DIGITS and MIN_INT64 <= (value := int(digits)) <= MAX_UINT64:
        return value
    return float(digits)


def spelled(value: float) -> str:
    """Spell a finite float as Go's ``encoding/json`` does: ``1e+21`` as such, ``1000.0`` as ``1000``."""
    if value.is_integer() and abs(value) < _PLAIN_BELOW:
        from decimal import Decimal  # few manifests have fractions

        return str(int(Decimal(repr(value))))
    return repr(value)


def _json(value: Scalar) -> Scalar:
    """Convert a number from Go's value through JSON text to the value that Kubernetes reads."""
    if type(value) is not float:
        return value
    if not math.isfinite(value):
        message = f"json: unsupported value: {_GO_NAMES.get(value, 'NaN')}"
        raise ContentError(message, hint="JSON has no such number; quote it if it is a string")
    text = spelled(value)
    return value if "e" in text or "." in text else integer(text)


def _key(value: Scalar) -> str:
    """Turn a key into a string (sigs.k8s.io/yaml ``convertToJSONableObject``)."""
    if isinstance(value, str):
        return value
    if value is None:
        raise ContentError("unsupported map key of type: null", hint='quote the key: "null"')
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float32(value)
    if value > MAX_INT64:
        raise ContentError("unsupported map key of type: uint64", hint=f'quote the key: "{value}"')
    return str(value)


@lru_cache(maxsize=4096)
def _short_number(text: str) -> Scalar:
    return _json(_numeric(text))


@lru_cache(maxsize=4096)
def _short_key(text: str) -> str | None:
    return None if text == MERGE_KEY else _key(_resolved(text))


def _resolved(text: str) -> Scalar:
    return _numeric(text) if text[:1] in NUMBER_STARTS else WORDS.get(text, text)


def _numeric(text: str) -> Scalar:
    """Resolve a scalar that starts with a digit, a sign or a dot (``resolve`` in go-yaml v2 ``resolve.go``)."""
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if text[0] == ".":
        value = float(text) if _FRACTION.fullmatch(text) else math.inf
    else:
        digits = text.replace("_", "")
        whole = _whole(digits)
        if whole is not None:
            return whole
        value = float(digits) if _DECIMAL.fullmatch(digits) else math.inf
    # Go's ParseFloat reports overflow as an error, so 1e400 stays a string.
    return value if math.isfinite(value) else text


def _whole(digits: str) -> int | None:
    """Read an integer as Go's ``ParseInt(s, 0, 64)`` and, failing that, ``ParseUint(s, 0, 64)`` do."""
    match = _INTEGER.fullmatch(digits)
    if match is None:
        return None
    sign, *forms = match.groups()
    value = next(int(form, base) for form, base in zip(forms, (16, 2, 8, 10), strict=True) if form is not None)
    if sign == "-":
        return -value if -value >= MIN_INT64 else None
    return value if value <= (MAX_INT64 if sign else MAX_UINT64) else None


def _tagged(tag: str, text: str) -> Scalar:
    if tag == _BINARY:
        return _binary(text)
    if tag not in _RESOLVED:
        return text
    if tag == _TIMESTAMP and _is_timestamp(text):
        return text
    value = _resolved(text)
    found = {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "null")
    if tag == _TAG + found:
        return value
    if tag == _FLOAT and isinstance(value, int) and not isinstance(value, bool) and value <= MAX_INT64:
        return float(value)
    name = tag.removeprefix(_TAG)
    hint = f"write a {name}, or leave the tag out"
    raise ContentError(f"cannot decode !!{found} `{text}` as a !!{name}", hint=hint)


def _binary(text: str) -> str:
    """Decode base64; bytes that are not UTF-8 are replaced one by one, as in Go's JSON."""
    import base64  # hardly any manifest has such a tag
    import binascii

    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", "").encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        hint = "leave the tag out: Kubernetes takes base64 as a plain string"
        raise ContentError("!!binary value contains invalid base64 data", hint=hint) from None
    return str(_UNDECODABLE.sub("\ufffd", data.decode(errors="surrogateescape")))


def _is_timestamp(text: str) -> bool:
    match = _INSTANT.fullmatch(text)
    if match is None:
        return False
    from datetime import datetime  # hardly any manifest has such a tag

    try:
        datetime(*(int(part) for part in match.groups() if part is not None))  # type: ignore[arg-type]  # noqa: DTZ001 - only whether there is such a day
    except ValueError:
        return False
    return True


def _float32(value: float) -> str:
    """Spell a float as Go's ``FormatFloat(v, 'g', -1, 32)`` does, with the fewest digits of single precision."""
    import struct  # hardly any manifest has such a key
    from decimal import Decimal

    single: float = struct.unpack("f", struct.pack("f", value))[0]
    if not math.isfinite(single):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(single, ".nan")
    shortest = next(
        text
        for text in (f"{single:.{precision}e}" for precision in range(_FLOAT32_DIGITS))
        if struct.pack("f", float(text)) == struct.pack("f", single)
    )
    digits, exponent = shortest.split("e")
    if int(exponent) in range(-4, 6):
        return f"{Decimal(shortest):f}"
    return f"{digits}e{int(exponent):+03d}"
