"""`sets.contains`, `sets.equivalent`, `sets.intersects` (cel-go ext/sets.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from webhook.cel.checker.declarations import Function, Library
from webhook.cel.costs import ONE, CallEstimate, EstimatedNode, SizeOf, of_product
from webhook.cel.overloads import Overload
from webhook.cel.runtime.operators import contains
from webhook.cel.types.base import BOOL, list_of, parameter
from webhook.cel.types.values import Value

if TYPE_CHECKING:
    from webhook.cel.overloads import Implementation

_LIST: Final = list_of(parameter("T"))


def _contains(whole: list[Value], part: list[Value]) -> bool:
    return all(contains(each, whole) for each in part)


def _function(name: str, implementation: Implementation, factor: int) -> Function:
    def estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
        return CallEstimate(size_of(arguments[0]).times(size_of(arguments[1])).scaled(factor).plus(ONE))

    cost = of_product(factor)
    id_ = f"list_sets_{name}_list"
    return Function(f"sets.{name}", Overload(id_, (_LIST, _LIST), BOOL, implementation, cost=cost, estimate=estimate))


SETS: Final = Library(
    "sets",
    functions=(
        _function("contains", _contains, 1),
        _function("equivalent", lambda first, second: _contains(first, second) and _contains(second, first), 2),
        _function("intersects", lambda first, second: any(contains(each, second) for each in first), 1),
    ),
)
