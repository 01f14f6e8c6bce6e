"""Times and quantities: fields compared by value, not by text."""

from __future__ import annotations

from webhook.formats.quantities import decode_quantity
from webhook.formats.timestamps import format_timestamp, parse_timestamp
from webhook.schema import Field, Nested, Parsed, Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class V1Struct(Struct):
    """A type of the packages that all groups share, core/v1 and meta/v1."""

    package = "v1"


def unjudged(name: str, **common: Any) -> Nested:
    """Declare a struct that is not judged, by its name in :mod:`webhook.api.core.unjudged`."""
    return Nested(f"webhook.api.core.unjudged:{name}", pointer=True, **common)


def alike(field: Field, names: str) -> dict[str, Field]:
    """Declare several similar fields, by their names, separated by spaces."""
    return dict.fromkeys(names.split(), field)


def Time(doc: str = "", **common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare a metav1.Time: RFC 3339, compared as an instant."""
    return Parsed(_time, doc, rule="timestamp", go="Time", write=format_timestamp, **common)


def Quantity(doc: str = "", **common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare a resource.Quantity, compared by value."""
    return Parsed(decode_quantity, doc, rule="quantity", go="resource.Quantity", write=str, **common)


def IntOrString(**common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare an intstr.IntOrString, such as a port by number or name."""
    return Parsed(_int_or_string, rule="int-or-string", go="IntOrString", **common)


def Bytes(**common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare bytes, written in base64."""
    return Parsed(_text, rule="bytes", go="[]uint8", **common)


def _int_or_string(value: object) -> Any:
    if type(value) is not int and not isinstance(value, str):
        raise TypeError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _time(value: object) -> int:
    if not isinstance(value, str):
        raise TypeError
    return parse_timestamp(value)
