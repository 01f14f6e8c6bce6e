"""Derived attributes: CEL expressions that make attributes for constraints to compare (alpha, from Kubernetes 1.37).

Rules follow ``validateDerivedAttributes`` in ``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webhook.api.dra.names import attribute_of_a_domain
from webhook.api.dra.selectors import EXPRESSION_MAX_BYTES, compiled, is_too_long
from webhook.budget import BudgetExceededError, current
from webhook.problem import Path, Problem, forbidden, invalid, too_long
from webhook.schema import Array, Nested, Struct, Target, Text, View

DERIVED_ATTRIBUTES_MAX_ITEMS = 32
_NOT_COMPARED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"
)


def cel_derived_attribute(expression: str, target: Target) -> Sequence[Problem]:
    """A CEL expression over ``device`` whose result can be an attribute's value, and that does not cost too much."""
    if is_too_long(expression):
        return (too_long(Path(), EXPRESSION_MAX_BYTES, target.release),)
    return compiled(expression, target, is_derived=True)


class DeviceDerivedAttribute(Struct):
    """An attribute that is computed from others."""

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


def has_derived(devices: View) -> bool:
    """Tell whether a claim derives attributes."""
    return any(each.derivedAttributes for each in _holders(devices))


def _holders(devices: View) -> Iterator[View]:
    for request in devices.requests:
        yield from (request.exactly, *(request.firstAvailable or ()))


def too_expensive(devices: View) -> Iterator[Problem]:
    """Report derived attributes that are too expensive together."""
    from webhook.cel.kubernetes.devices import MAX_COST, cost_of  # few objects derive attributes

    target = devices.target
    expressions = [derived.expression for each in _holders(devices) for derived in each.derivedAttributes]
    try:
        costs = [
            cost_of(each, target.release, target.gates, stored=target.stored, is_derived=True)
            for each in expressions
            if each and not is_too_long(each)
        ]
    except BudgetExceededError:
        if not current().is_offline:
            raise
        return  # reported at the expression that exceeds the limit
    if sum(cost for cost in costs if isinstance(cost, int)) > MAX_COST:
        text = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
        yield forbidden(devices.path, text)
