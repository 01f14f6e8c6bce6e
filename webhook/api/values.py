"""Fields that many kinds have and that are compared by what they stand for: times and quantities."""

from __future__ import annotations

from typing import Any

from webhook.formats.quantities import decode_quantity
from webhook.formats.timestamps import parse_timestamp
from webhook.schema import Parsed


def Time(doc: str = "", **common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare a metav1.Time: RFC 3339, compared as an instant."""
    return Parsed(_time, doc, rule="timestamp", go="Time", **common)


def Quantity(doc: str = "", **common: Any) -> Parsed:  # noqa: N802 - named as the Go type
    """Declare a resource.Quantity, compared by value."""
    return Parsed(decode_quantity, doc, rule="quantity", go="resource.Quantity", **common)


def _time(value: object) -> int:
    if not isinstance(value, str):
        raise TypeError
    return parse_timestamp(value)
