"""Types that many others share: times and quantities, which are compared by value, and unions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from webhook.formats.quantities import decode_quantity
from webhook.formats.timestamps import format_timestamp, parse_timestamp
from webhook.patterns import Pattern
from webhook.problem import Path, Problem, invalid
from webhook.schema.declarations import Field, Struct
from webhook.schema.fields import Parsed


class V1Struct(Struct):
    """A type of the packages that all groups share, core/v1 and meta/v1."""

    package = "v1"


def unjudged(name: str) -> type[Struct]:
    """Return a type that is not judged, by its name in core/v1, or its version and name."""
    api_version, _, own = name.rpartition(".")
    catalogue = import_module(f"{__package__}.catalogue")  # by name, as it is built on this module; few objects need it
    made: type[Struct] = catalogue.type_of(api_version or "v1", own)
    return made


class Others:
    """The fields of a type that its class does not declare, as they are not judged: those in ``kinds.txt``.

    Args:
        name: The type's name in core/v1, or its version and name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, struct: Struct | None, type_: type[Struct]) -> Mapping[str, Field]:
        """Return the fields, which are read on first use."""
        return unjudged(self._name).fields


def one_member(path: Path, members: Sequence[str], given: Sequence[str]) -> Iterator[Problem]:
    """Report a union of which not exactly one member is given, in the words of declarative validation.

    Source: apimachinery ``pkg/api/validate/union.go``.
    """
    one_of = ", ".join(f"`{name}`" for name in members)
    if not given:
        yield invalid(path, "", f"must specify one of: {one_of}")
    elif len(given) > 1:
        shown = ", ".join(name for name in members if name in given)
        yield invalid(path, f"{{{shown}}}", f"must specify exactly one of: {one_of}")


def Time(doc: str = "", **common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare a metav1.Time: RFC 3339, compared as an instant."""
    return Parsed(_time, doc, rule="timestamp", go="Time", write=format_timestamp, **common)


def MicroTime(**common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare a metav1.MicroTime: RFC 3339, with a fraction that stays as it is."""
    return Parsed(_time, rule="timestamp", go="MicroTime", **common)


def Quantity(doc: str = "", **common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare a resource.Quantity, compared by value."""
    return Parsed(decode_quantity, doc, rule="quantity", go="resource.Quantity", write=str, is_seen=True, **common)


def IntOrString(**common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare an intstr.IntOrString, such as a port by number or name."""
    return Parsed(_int_or_string, rule="int-or-string", go="IntOrString", reads="int32", **common)


def Bytes(**common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare bytes, written in base64."""
    return Parsed(_base64, rule="bytes", go="[]uint8", **common)


_TOP: Final = 1 << 31


def _int_or_string(value: object) -> Any:
    is_int32 = type(value) is int and -_TOP <= value < _TOP
    if not is_int32 and not isinstance(value, str):
        raise TypeError
    return value


_FOURS: Final = Pattern(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DIGITS: Final = Pattern(r"[A-Za-z0-9+/]*")


def _base64(value: object) -> str:
    """Read base64 as Go's ``encoding/base64`` does, which skips line breaks and names the first malformed byte."""
    if not isinstance(value, str):
        raise TypeError
    text = value.replace("\r", "").replace("\n", "")
    if _FOURS.fullmatch(text) is None:
        digits = _DIGITS.match(text)
        at = digits.end() if digits else 0
        if text[at:].strip("=") == "":
            at = len(text) if at % 4 in {2, 3} else at  # Go expects the rest of the padding at the end
            at -= at % 4 if len(text) % 4 else 0
        raise ValueError(f"illegal base64 data at input byte {at}")
    return value


def _time(value: object) -> int:
    if not isinstance(value, str):
        raise TypeError
    return parse_timestamp(value)
