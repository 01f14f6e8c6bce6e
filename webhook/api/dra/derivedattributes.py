"""Derived attributes: CEL expressions that make attributes for constraints to compare (alpha, from Kubernetes 1.37).

Rules follow ``validateDerivedAttributes`` in ``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from webhook.api.dra.names import attribute_of_a_domain
from webhook.api.dra.selectors import EXPRESSION_MAX_BYTES
from webhook.budget import BudgetExceededError, current
from webhook.problem import Path, Problem, forbidden, internal, invalid, refused, too_long
from webhook.schema import Array, Nested, Struct, Target, Text, View

if TYPE_CHECKING:
    from webhook.cel.kubernetes.refusals import Refusal

DERIVED_ATTRIBUTES_MAX_ITEMS = 32
_NOT_COMPARED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"
)


def cel_derived_attribute(expression: str, target: Target) -> Iterator[Problem]:
    """A CEL expression over ``device`` whose result can be an attribute's value, and that does not cost too much."""
    from webhook.cel.kubernetes.devices import MAX_COST  # few objects derive attributes
    from webhook.cel.kubernetes.refusals import TOO_COMPLEX

    if _is_too_long(expression):
        yield too_long(Path(), EXPRESSION_MAX_BYTES, target.release)
        return
    try:
        cost = _cost(expression, target)
    except BudgetExceededError:
        if not current().is_offline:
            raise
        text = "the expressions of this object take more work than draguard allows; this one was not checked"
        yield refused("BudgetExceeded", Path(), text)
        return
    if isinstance(cost, int):
        if cost > MAX_COST:
            yield forbidden(Path(), TOO_COMPLEX.detail)
    elif cost.is_internal:
        yield internal(Path(), cost.detail)
    else:
        yield invalid(Path(), expression, cost.detail)._replace(issues=cost.issues)


def _is_too_long(expression: str) -> bool:
    return len(expression.encode("utf-8", "surrogatepass")) > EXPRESSION_MAX_BYTES


def _cost(expression: str, target: Target) -> Refusal | int:
    from webhook.cel.kubernetes.devices import cost_of_derived_attribute

    return cost_of_derived_attribute(expression, target.release, target.gates, stored=target.stored)


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
        yield from (each for each in (request.exactly, *(request.firstAvailable or ())) if each)


def too_expensive(devices: View) -> Iterator[Problem]:
    """Report derived attributes that are too expensive together."""
    from webhook.cel.kubernetes.devices import MAX_COST

    expressions = [derived.expression for each in _holders(devices) for derived in each.derivedAttributes]
    try:
        costs = [_cost(each, devices.target) for each in expressions if each and not _is_too_long(each)]
    except BudgetExceededError:
        if not current().is_offline:
            raise
        return  # reported at the expression that exceeds the limit
    if sum(cost for cost in costs if isinstance(cost, int)) > MAX_COST:
        text = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
        yield forbidden(devices.path, text)
