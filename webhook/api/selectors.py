"""Selectors: CEL expressions that pick devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.problem import Path, forbidden, internal, invalid, too_long
from webhook.schema import Array, Nested, Struct, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.problem import Problem
    from webhook.schema import Target

SELECTORS_MAX_ITEMS = 32
EXPRESSION_MAX_BYTES = 10 * 1024

_LENGTH_LIMITED = 32


def cel_selector(expression: str, target: Target) -> Iterator[Problem]:
    """A CEL expression over ``device`` that is true for suitable devices."""
    size = len(expression.encode("utf-8", "surrogatepass"))
    if size > EXPRESSION_MAX_BYTES and target.release >= _LENGTH_LIMITED:
        yield too_long(Path(), EXPRESSION_MAX_BYTES, target.release)
    else:
        yield from compiled(expression, target)


def compiled(expression: str, target: Target) -> Iterator[Problem]:
    """A CEL expression that comes to true or false and does not cost too much."""
    from webhook.cel.devices import Refusal, compile_selector  # noqa: PLC0415 - most objects have no selectors

    selector = compile_selector(expression, target.release, target.gates, stored=target.stored)
    if isinstance(selector, Refusal) and selector.is_internal:
        yield internal(Path(), selector.detail)
    elif isinstance(selector, Refusal):
        yield invalid(Path(), expression, selector.detail)
    elif selector.is_too_complex:
        yield forbidden(Path(), "too complex, exceeds cost limit")


class CELDeviceSelector(Struct):
    """A CEL expression that picks devices."""

    expression = Text("True for suitable devices, of which it sees `device`.", checked_by=cel_selector, always=True)


class DeviceSelector(Struct):
    """A condition that a device must meet."""

    cel = Nested(CELDeviceSelector, "A condition in CEL.", pointer=True, required=True)


def selectors(doc: str, **common: Any) -> Array:
    """Declare selectors, all of which a device must meet."""
    return Array(Nested(DeviceSelector), doc, max_items=SELECTORS_MAX_ITEMS, **common)
