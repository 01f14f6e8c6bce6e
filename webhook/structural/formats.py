"""The formats of texts in schemas: whether a text has one (kube-openapi ``validation/strfmt``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from webhook import formats
from webhook.cel.kubernetes.format import named
from webhook.cel.runtime.conversions import parse_duration
from webhook.cel.types.values import Duration
from webhook.patterns import Pattern
from webhook.release import Release
from webhook.schema.target import OLDEST

_SINCE_NAMES: Final = 34
"""The first release with the formats ``k8s-short-name`` and ``k8s-long-name``."""
_SECOND: Final = 10**9
_UNITS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("ns", "nano"), 1),
    **dict.fromkeys(("us", "µs", "micro"), 10**3),
    **dict.fromkeys(("ms", "milli"), 10**6),
    **dict.fromkeys(("s", "sec"), _SECOND),
    **dict.fromkeys(("m", "min"), 60 * _SECOND),
    **dict.fromkeys(("h", "hr", "hour"), 3600 * _SECOND),
    **dict.fromkeys(("d", "day"), 24 * 3600 * _SECOND),
    **dict.fromkeys(("w", "wk", "week"), 7 * 24 * 3600 * _SECOND),
}
"""The units of durations as Scala writes them; the last spelling of each may go on, as in ``seconds``."""
_WORDS: Final = tuple(unit for unit in _UNITS if len(unit) > 2 or unit == "hr")  # noqa: PLR2004
_AMOUNT: Final = Pattern(r"([0-9]{1,18})\s*([A-Za-zµ]+)")
_LONGEST_HOST, _LONGEST_LABEL = 255, 63
_HOST_PART: Final = r"[^\W_]"
_HOST_LABEL: Final = Pattern(rf"{_HOST_PART}(?:[-\w]{{0,61}}{_HOST_PART})?")
_LOCAL: Final = r"[^\s<>@,;:\"()\[\]\\.]+(?:\.[^\s<>@,;:\"()\[\]\\.]+)*"
_EMAIL: Final = rf"\s*+(?:[^<>]*+<\s*+{_LOCAL}@{_LOCAL}\s*+>|{_LOCAL}@{_LOCAL})\s*+"
"""Possessive, so that no text takes time that grows with the square of its length."""
_UUID: Final = "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_ANY, _VARIANT = "[0-9a-f]", "[89ab]"
_BYTE: Final = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_CARD: Final = Pattern(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})"
)
_SEPARATORS: Final = Pattern(r"[\s-]+")
_OTHER_SIGNS: Final = Pattern("[^0-9]+")
_ISBN_10, _ISBN_13 = 10, 13


def has_format(text: str, name: str, release: Release) -> bool:
    """Tell whether a text has a format; those of numbers say nothing of texts, and old releases lack some."""
    if (name := name.replace("-", "")) in _OF_EXPRESSIONS:
        return not named(release)[name].validate(text)
    if name in _NAMES:
        return release < _SINCE_NAMES or not _NAMES[name](text, release)
    return name not in _FORMATS or bool(_FORMATS[name](text))


def read_duration(text: str) -> Duration | None:
    """Read a duration as Go or Scala write it; None if it is neither."""
    if (found := parse_duration(text)) is not None:
        return found
    nanos, known = 0, False
    for amount in _AMOUNT.finditer(text):
        written = amount[2].lower()
        if unit := _UNITS.get(next((each for each in _WORDS if written.startswith(each)), written), 0):
            nanos, known = nanos + int(amount[1]) * unit, True
    return Duration(nanos) if known and nanos < 1 << 63 else None


def _is_hostname(text: str) -> bool:
    labels = text.removesuffix(".").split(".") if text.count(".") > 1 else text.split(".")
    if not all(_HOST_LABEL.fullmatch(label) and len(label.encode()) <= _LONGEST_LABEL for label in labels):
        return False
    top = labels[-1]
    return len(text.encode()) <= _LONGEST_HOST and (len(labels) == 1 or (len(top) > 1 and top.isalpha()))


def _is_card(text: str) -> bool:
    digits = _OTHER_SIGNS.sub("", text)
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return bool(_CARD.fullmatch(digits)) and sum(each // 10 + each % 10 for each in doubled) % 10 == 0


def _is_isbn(text: str, length: int) -> bool:
    signs = _SEPARATORS.sub("", text)
    if len(signs) != length or not re.fullmatch(r"[0-9]+X?" if length == _ISBN_10 else "[0-9]+", signs):
        return False
    digits = [10 if sign == "X" else int(sign) for sign in signs]
    if length == _ISBN_10:
        return sum(at * digit for at, digit in enumerate(digits, 1)) % 11 == 0
    return sum(digit * (3 if at % 2 else 1) for at, digit in enumerate(digits)) % 10 == 0


def _matching(expression: str) -> Callable[[str], object]:
    pattern = Pattern(expression)
    return lambda text: pattern.fullmatch(text)  # noqa: PLW0108 - compiles it on first use


_OF_EXPRESSIONS: Final = frozenset({"uri", "uuid", "byte", "date", "datetime"})
"""The formats that expressions can check, too."""
_NAMES: Final[Mapping[str, Callable[[str, Release], formats.Messages]]] = {
    "k8sshortname": formats.dns_label,
    "k8slongname": formats.dns_subdomain,
}
_FORMATS: Final[Mapping[str, Callable[[str], object]]] = {
    "bsonobjectid": _matching("[0-9a-fA-F]{24}"),
    "email": _matching(_EMAIL),
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and formats.address(text),
    "ipv6": lambda text: ":" in text and formats.address(text),
    "cidr": lambda text: formats.canonical_cidr(text, OLDEST),
    "mac": _matching(
        "(?i)(?:[0-9a-f]{2}(?P<sign>[:-])[0-9a-f]{2}(?:(?P=sign)[0-9a-f]{2}){4}(?:(?:(?P=sign)[0-9a-f]{2}){2}"
        r"|(?:(?P=sign)[0-9a-f]{2}){14})?|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?:\.[0-9a-f]{4}|(?:\.[0-9a-f]{4}){7})?)"
    ),
    "uuid3": _matching(_UUID % ("3", _ANY)),
    "uuid4": _matching(_UUID % ("4", _VARIANT)),
    "uuid5": _matching(_UUID % ("5", _VARIANT)),
    "isbn": lambda text: _is_isbn(text, _ISBN_10) or _is_isbn(text, _ISBN_13),
    "isbn10": partial(_is_isbn, length=_ISBN_10),
    "isbn13": partial(_is_isbn, length=_ISBN_13),
    "creditcard": _is_card,
    "ssn": _matching("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "hexcolor": _matching("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matching(rf"rgb\({_BYTE},{_BYTE},{_BYTE}\)"),
    "password": lambda _: True,
    "duration": lambda text: read_duration(text) is not None,
}
FORMATS: Final = frozenset({*_OF_EXPRESSIONS, *_NAMES, *_FORMATS})
"""The formats that API servers check, without hyphens."""
