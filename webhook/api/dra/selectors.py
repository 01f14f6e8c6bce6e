"""CEL expressions over devices: selectors, and the attributes that are derived for constraints to compare.

Rules of derived attributes (alpha, from 1.37) follow ``validateDerivedAttributes`` in
``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from webhook.api.dra.names import TAGGED, attribute_of_a_domain
from webhook.budget import BudgetExceededError, current
from webhook.formats import exceeds
from webhook.problem import Path, Problem, forbidden, internal, invalid, refused, too_long
from webhook.schema.declarations import Struct
from webhook.schema.fields import Array, Nested, Text
from webhook.schema.target import Target

SELECTORS_MAX_ITEMS = 32
EXPRESSION_MAX_BYTES = 10 * 1024

_LENGTH_LIMITED_SINCE = 32


def cel_selector(expression: str, target: Target) -> Sequence[Problem]:
    """A CEL expression over ``device`` that is true for suitable devices."""
    if exceeds(expression, EXPRESSION_MAX_BYTES) and target.release >= _LENGTH_LIMITED_SINCE:
        return (too_long(Path(), EXPRESSION_MAX_BYTES, target.release),)
    return compiled(expression, target)


def compiled(expression: str, target: Target, *, is_derived: bool = False) -> Sequence[Problem]:
    """A CEL expression whose result is a boolean, and that does not cost too much."""
    from webhook.cel.kubernetes.devices import MAX_COST, cost_of  # slow to import

    try:
        found = cost_of(expression, target.release, target.gates, stored=target.stored, is_derived=is_derived)
    except BudgetExceededError:
        if not current().is_offline:
            raise
        what = "expressions" if is_derived else "selectors"
        text = f"the {what} of this object take more work than draguard allows; this one was not checked"
        return (refused("BudgetExceeded", Path(), text),)
    if isinstance(found, int):
        return () if found <= MAX_COST else (forbidden(Path(), "too complex, exceeds cost limit"),)
    if found.is_internal:
        return (internal(Path(), found.text),)
    return (invalid(Path(), expression, found.text)._replace(issues=found.issues),)


class CELDeviceSelector(Struct):
    """A CEL expression that picks devices."""

    shorthand: ClassVar = {str: ("expression",)}

    expression = Text(
        "A CEL expression over `device` that is true for suitable devices.",
        checked_by=cel_selector,
        always=True,
        written=True,
    )


class DeviceSelector(Struct):
    """A condition that a device must meet."""

    shorthand: ClassVar = {str: ("cel.expression",)}

    cel = Nested(CELDeviceSelector, "A condition in CEL.", pointer=True, required=True)


def selectors(doc: str, **common: Any) -> Array:
    """Declare selectors, all of which a device must meet."""
    return Array(Nested(DeviceSelector), doc, max_items=SELECTORS_MAX_ITEMS, declared=TAGGED, **common)


# Derived attributes


def cel_derived_attribute(expression: str, target: Target) -> Sequence[Problem]:
    """A CEL expression over ``device`` whose result can be an attribute's value, and that does not cost too much."""
    if exceeds(expression, EXPRESSION_MAX_BYTES):
        return (too_long(Path(), EXPRESSION_MAX_BYTES, target.release),)
    return compiled(expression, target, is_derived=True)


class DeviceDerivedAttribute(Struct):
    """An attribute that is computed from others."""

    name = Text(
        "The name by which constraints refer to the attribute.",
        checked_by=attribute_of_a_domain,
        go="FullyQualifiedName",
        required=True,
        declarative=True,
    )
    expression = Text(
        "A CEL expression over `device` that computes the value.", checked_by=cel_derived_attribute, required=True
    )
