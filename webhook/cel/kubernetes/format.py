"""Formats by name, `format.dns1123Label().validate("x")` (library/format.go)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook import formats
from webhook.cel.checker.declarations import Library
from webhook.cel.functions import Overload, member
from webhook.cel.kubernetes.url import parse_request_uri
from webhook.cel.types.base import STRING, list_of, optional_of, struct
from webhook.cel.types.values import NONE, Optional, only_class
from webhook.patterns import Pattern

if TYPE_CHECKING:
    from webhook.release import Release

FORMAT: Final = struct("kubernetes.NamedFormat")

_UUID: Final = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
_TIME: Final = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
_UUID_TEXT: Final = Pattern(_UUID)
_TIME_TEXT: Final = Pattern(_TIME)
_DATE_TEXT: Final = Pattern("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_BASE64_SIGN = "[A-Za-z0-9+/]"
_BASE64_TEXT: Final = Pattern(f"(?=.)(?:{_BASE64_SIGN}{{4}})*+(?:{_BASE64_SIGN}{{2}}==|{_BASE64_SIGN}{{3}}=)?")
_LEAP_YEAR: Final = 2000
_SHORTEST_DATETIME: Final = 4


@only_class(FORMAT)
class Format(NamedTuple):
    """A format, as a value of expressions.

    Args:
        name: Its name; two formats of a release have two names.
        validate: Returns the errors of a text.
        regex_size: The length of the pattern whose cost a check has.
    """

    name: str
    validate: Callable[[str], formats.Messages]
    regex_size: int


def _is_date(text: str) -> bool:
    if (match := _DATE_TEXT.fullmatch(text)) is None:
        return False
    year, month, day = map(int, match.groups())
    try:
        dt.date(year or _LEAP_YEAR, month, day)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text.encode(errors="surrogatepass")) < _SHORTEST_DATETIME or len(parts) == 1 or not _is_date(parts[0]):
        return False
    match = _TIME_TEXT.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _checked(holds: Callable[[str], object], message: str) -> Callable[[str], formats.Messages]:
    return lambda text: () if holds(text) else (message,)


def _uri(text: str) -> formats.Messages:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return (str(error),)
    return ()


def _matching(pattern: Pattern, message: str) -> Callable[[str], formats.Messages]:
    return _checked(lambda text: pattern.fullmatch(text), message)  # noqa: PLW0108 - compiles it on first use


def _prefix(validate: Callable[[str], formats.Messages]) -> Callable[[str], formats.Messages]:
    return lambda text: validate(formats.mask_trailing_dash(text))


@lru_cache(maxsize=16)
def named(release: Release) -> Mapping[str, Format]:
    """The formats by name, with the texts of a Kubernetes release."""

    def of_release(check: Callable[[str, Release], formats.Messages]) -> Callable[[str], formats.Messages]:
        return lambda text: check(text, release)

    label, subdomain = of_release(formats.dns_label), of_release(formats.dns_subdomain)
    return {
        "dns1123Label": Format("DNS1123Label", label, 30),
        "dns1123Subdomain": Format("DNS1123Subdomain", subdomain, 60),
        "dns1035Label": Format("DNS1035Label", formats.dns1035_label, 30),
        "qualifiedName": Format("QualifiedName", of_release(formats.label_key), 60),
        "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(label), 30),
        "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(subdomain), 60),
        "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(formats.dns1035_label), 30),
        "labelValue": Format("LabelValue", of_release(formats.label_value), 40),
        "uri": Format("URI", _uri, 1103),
        "uuid": Format("uuid", _matching(_UUID_TEXT, "does not match the UUID format"), len(_UUID)),
        "byte": Format("byte", _matching(_BASE64_TEXT, "invalid base64"), 84),
        "date": Format("date", _checked(_is_date, "invalid date"), len(_TIME)),
        "datetime": Format("datetime", _checked(_is_datetime, "invalid datetime"), len(_TIME)),
    }


def _validate(format_: Format, text: str) -> Optional:
    messages = format_.validate(text)
    return Optional(list(messages)) if messages else NONE


@lru_cache(maxsize=16)
def library(release: Release) -> Library:
    """The library with the texts of a Kubernetes release."""
    known = named(release)

    def find(name: str) -> Optional:
        return Optional(known[name]) if name in known else NONE

    every = [(f"format.{name}", value) for name, value in known.items()]
    return Library(
        functions=(
            member("validate", "format-validate", (FORMAT, STRING), optional_of(list_of(STRING)), _validate),
            Overload("format.named", "format-named", (STRING,), optional_of(FORMAT), find),
            *(Overload(name, name, (), FORMAT, lambda value=value: value) for name, value in every),
        ),
    )
