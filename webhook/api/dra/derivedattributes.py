"""Derived attributes: CEL expressions that make attributes for constraints to compare (alpha, from Kubernetes 1.37).

Rules follow ``validateDerivedAttributes`` in ``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.api.dra.names import attribute_of_a_domain
from webhook.api.dra.selectors import EXPRESSION_MAX_BYTES
from webhook.budget import BudgetExceededError, current
from webhook.problem import Path, forbidden, internal, invalid, refused, too_long
from webhook.schema import Array, Nested, Struct, Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webhook.problem import Problem
    from webhook.schema import Target, View

DERIVED_ATTRIBUTES_MAX_ITEMS = 32
_NOT_COMPARED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"
)


def cel_derived_attribute(expression: str, target: Target) -> Iterator[Problem]:
    """A CEL expression over ``device`` that comes to a value that an attribute can have, and does not cost too much."""
    from webhook.cel.kubernetes.devices import Refusal, compile_derived_attribute  # noqa: PLC0415 - few objects have one

    if len(expression.encode("utf-8", "surrogatepass")) > EXPRESSION_MAX_BYTES:
        yield too_long(Path(), EXPRESSION_MAX_BYTES, target.release)
        return
    try:
        found = compile_derived_attribute(expression, target.release, target.gates, stored=target.stored)
    except BudgetExceededError:
        if not current().is_offline:
            raise
        text = "the expressions of this object take more work than draguard allows; this one was not checked"
        yield refused("BudgetExceeded", Path(), text)
        return
    if not isinstance(found, Refusal):
        if found.is_too_complex:
            yield forbidden(Path(), "too complex, exceeds cost limit")
    elif found.is_internal:
        yield internal(Path(), found.detail)
    else:
        yield invalid(Path(), expression, found.detail)


class DeviceDerivedAttribute(Struct):
    """An attribute that is made of others."""

    name = Text(
        "The attribute, as constraints call it.",
        checked_by=attribute_of_a_domain,
        go="FullyQualifiedName",
        required=True,
        declarative=True,
    )
    expression = Text("Its value in CEL, made of `device`.", checked_by=cel_derived_attribute, required=True)


def derived_attributes() -> Array:
    """Declare attributes that are derived for one request."""
    return Array(
        Nested(DeviceDerivedAttribute),
        "Attributes made of others, for constraints to compare.",
        max_items=DERIVED_ATTRIBUTES_MAX_ITEMS,
        size_ends_list=False,
        unique="name",
        at_item=True,
        since=37,
        gate="DRADerivedAttributes",
    )


def unreferenced(devices: View) -> Iterator[Problem]:
    """Report derived attributes that no constraint on their request compares."""
    compared = _compared(devices.content)
    for request in devices.requests:
        yield from _unreferenced(request.exactly, {request.name}, compared)
        for alternative in request.firstAvailable or ():
            names = {request.name, f"{request.name}/{alternative.name}"}
            yield from _unreferenced(alternative, names, compared)


def _compared(devices: Mapping[str, Any]) -> list[tuple[str, frozenset[str]]]:
    constraints = [each for each in devices.get("constraints") or () if each]
    return [
        (each.get("matchAttribute") or each.get("distinctAttribute") or "", frozenset(each.get("requests") or ()))
        for each in constraints
    ]


def _unreferenced(request: View, names: set[str], compared: list[tuple[str, frozenset[str]]]) -> Iterator[Problem]:
    for derived in request.derivedAttributes or () if request else ():
        name = derived.name
        if name and not any(name == known and (not of or not names.isdisjoint(of)) for known, of in compared):
            yield invalid(derived / "name", name, _NOT_COMPARED)


def has_derived(devices: Mapping[str, Any]) -> bool:
    """Tell whether a claim, as it was submitted, derives attributes: few do, and views cost more."""
    return any(
        each and "derivedAttributes" in each
        for request in devices.get("requests") or ()
        if request
        for each in (request, request.get("exactly"), *(request.get("firstAvailable") or ()))
    )


def too_expensive(devices: View) -> Iterator[Problem]:
    """Report derived attributes that are too expensive together."""
    from webhook.cel.kubernetes.devices import MAX_COST, Selector, compile_derived_attribute  # noqa: PLC0415

    target, total = devices.target, 0
    for request in devices.requests:
        for holder in (request.exactly, *(request.firstAvailable or ())):
            for derived in holder.derivedAttributes or () if holder else ():
                if not derived.expression or len(derived.expression) > EXPRESSION_MAX_BYTES:
                    continue
                found = compile_derived_attribute(
                    derived.expression, target.release, target.gates, stored=target.stored
                )
                total += found.max_cost or 0 if isinstance(found, Selector) else 0
    if total > MAX_COST:
        text = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
        yield forbidden(devices.path, text)
