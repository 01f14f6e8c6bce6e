"""Functions on lists: `slice`, `flatten`, `sort`, `sortBy`, `distinct`, `reverse`, `lists.range` and sets.

Those of cel-go's ext/lists.go, version 3, and of its ext/sets.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import chain
from typing import TYPE_CHECKING, Final

from webhook.budget import work
from webhook.cel import functions as costs
from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError, crash
from webhook.cel.ext.comprehensions import binding
from webhook.cel.functions import (
    Bounds,
    CallEstimate,
    CostFunction,
    Estimate,
    EstimatedNode,
    Overload,
    SizeOf,
    fixed,
    member,
)
from webhook.cel.runtime.operators import COMPARABLE, contains, equal, must_fit, precedes
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import Macro, MacroError, collect, variable
from webhook.cel.types import base as types
from webhook.cel.types.base import BOOL, DYN, INT, STRING, Type, list_of, parameter
from webhook.cel.types.values import Duration, Timestamp, UInt, Value, go_type, size_of

if TYPE_CHECKING:
    from webhook.cel.functions import Implementation


_MAX_RANGE: Final = 1_000_000
"""The longest `lists.range`, whose numbers take ten times the memory; in Kubernetes it costs more than is allowed."""
_LIST: Final = list_of(parameter("T"))
_COMPARABLE: Final = (INT, types.UINT, types.DOUBLE, BOOL, types.DURATION, types.TIMESTAMP, STRING, types.BYTES)
_ADDERS: Final = frozenset({int, UInt, float, str, bytes, Duration, Timestamp})
_TWO_63: Final = 2**63
_INPUT: Final = "@__sortBy_input__"


def _slice(values: list[Value], start: int, end: int) -> list[Value]:
    if 0 <= start <= end <= len(values):
        return values[start:end]
    why = f"list is length {len(values)}"
    if start > end:
        why = "start index must be less than or equal to end index"
    if start < 0 or end < 0:
        why = "negative indexes not supported"
    raise EvaluationError(f"cannot slice({start}, {end}), {why}")


def _flatten(values: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat = values
    while depth > 0 and any(type(each) is list for each in flat):
        must_fit(sum(len(each) if type(each) is list else 1 for each in flat))
        flat = [inner for each in flat for inner in (each if type(each) is list else (each,))]
        depth -= 1
    return flat


def _sort_by_keys(values: list[Value], keys: list[Value]) -> list[Value]:
    work(len(keys) * len(keys).bit_length())
    if keys and type(keys[0]) not in COMPARABLE:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not type(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")

    def order(one: int, other: int) -> int:
        return precedes(keys[other], keys[one]) - precedes(keys[one], keys[other])

    return [values[position] for position in sorted(range(len(values)), key=cmp_to_key(order))]


def _range(count: int) -> list[int]:
    must_fit(count, _MAX_RANGE)
    return list(range(count))


def _distinct(values: list[Value]) -> list[Value]:
    if all(type(value) is str for value in values):
        return list(dict.fromkeys(values))
    unique: list[Value] = []
    for value in values:
        if not any(equal(value, other) for other in unique):
            unique.append(value)
    return unique


def _sort_by(at: int, operands: Sequence[Expression]) -> Expression:
    target, element, key = operands
    allowed = (ast.ListExpression, ast.Select, ast.Ident, ast.Comprehension, ast.Call)
    if not isinstance(target, allowed):
        raise MacroError(
            target, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    name = variable(element, "argument is not an identifier")
    keys = collect(at, ast.Ident(at, _INPUT), key, variable=name)
    return binding(at, _INPUT, target, ast.Call(at, "@sortByAssociatedKeys", [keys], ast.Ident(at, _INPUT)))


# -- costs: those of the new list, and of the elements traversed to make it


def _allocation(size: float, factor: float = 1.0) -> int:
    """By Go's conversion of a double into 64 bits: a negative depth of `flatten` costs more than any limit."""
    cost = int(size * factor) + 1 + costs.LIST_COST
    return cost if 0 <= cost < _TWO_63 else _TWO_63


def _go_name(value: Value) -> str:
    return "*types.Err" if type(value) is EvaluationError else go_type(value)


def _of_result(_: Sequence[Value], result: Value) -> int:
    return _allocation(size_of(result))


def _of_flattening(arguments: Sequence[Value], _: Value) -> int:
    depth = arguments[1] if len(arguments) > 1 else 1
    if type(depth) is not int:
        raise crash(f"interface conversion: ref.Val is {_go_name(depth)}, not types.Int")
    return _allocation(size_of(arguments[0]), float(depth))


def _of_comparing(position: int) -> CostFunction:
    """By the elements that are compared; cel-go crashes where there is no list (ext/lists.go, trackListSort)."""

    def cost(arguments: Sequence[Value], _: Value) -> int:
        values = arguments[position]
        if type(values) is not list:
            missing = "Contains" if type(values) in _ADDERS else "Add"
            raise crash(f"interface conversion: {_go_name(values)} is not traits.Lister: missing method {missing}")
        is_text = bool(values) and type(values[0]) in {str, bytes}
        return _allocation(size_of(values) ** 2, 2.0 + (costs.STRING_FACTOR if is_text else 0))

    return cost


def _estimated(size: Bounds, factor: float = 1.0) -> CallEstimate:
    return CallEstimate(size.scaled(factor).plus(costs.ONE).plus(fixed(costs.LIST_COST)), size)


def _literal(node: EstimatedNode, otherwise: int) -> int:
    return otherwise if node.literal is None else max(node.literal, 0)


def _estimate_slice(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    most = size_of(arguments[0]).high
    length = _literal(arguments[2], most) - _literal(arguments[1], 0)
    return _estimated(fixed(length % (costs.MOST + 1)))


def _estimate_range(_: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    return _estimated(fixed(_literal(arguments[0], costs.MOST)))


def _estimate_flatten(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    depth = _literal(arguments[1], costs.MOST) if len(arguments) > 1 else 1
    return _estimated(size_of(arguments[0]), float(depth))


def _estimate_comparing(element: Type, position: int = 0) -> Estimate:
    factor = 2.0 + (costs.STRING_FACTOR if element in {STRING, types.BYTES} else 0)

    def estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
        size = size_of(arguments[position])
        return _estimated(size.times(size), factor)

    return estimate


def _sorting(type_: Type) -> tuple[Overload, Overload]:
    own, guards = list_of(type_), {"guarded": False}
    return (
        member(
            "sort", f"list_{type_.name}_sort", (own,), own, lambda values: _sort_by_keys(values, values),
            **guards, cost=_of_comparing(0), estimate=_estimate_comparing(type_),
        ),
        member(
            "@sortByAssociatedKeys", f"list_{type_.name}_sortByAssociatedKeys", (_LIST, own), _LIST, _sort_by_keys,
            **guards, cost=_of_comparing(1), estimate=_estimate_comparing(type_, 1),
        ),
    )  # fmt: skip


LISTS: Final = Library(
    macros=(Macro("sortBy", 2, member=True, expand=_sort_by),),
    functions=(
        member("slice", "list_slice", (_LIST, INT, INT), _LIST, _slice, cost=_of_result, estimate=_estimate_slice),
        member(
            "flatten", "list_flatten", (list_of(_LIST),), _LIST, _flatten,
            guarded=False, cost=_of_flattening, estimate=_estimate_flatten,
        ),
        member(
            "flatten", "list_flatten_int", (list_of(DYN), INT), list_of(DYN), _flatten,
            guarded=False, cost=_of_flattening, estimate=_estimate_flatten,
        ),
        *chain.from_iterable(map(_sorting, _COMPARABLE)),
        Overload("lists.range", "lists_range", (INT,), list_of(INT), _range, cost=_of_result, estimate=_estimate_range),
        member(
            "reverse", "list_reverse", (_LIST,), _LIST, lambda values: values[::-1],
            cost=_of_result, estimate=_estimate_flatten,
        ),
        member(
            "distinct", "list_distinct", (_LIST,), _LIST, _distinct,
            cost=_of_comparing(0), estimate=_estimate_comparing(DYN),
        ),
    ),
)  # fmt: skip


def _contains(whole: list[Value], part: list[Value]) -> bool:
    return all(contains(each, whole) for each in part)


def _set_function(name: str, implementation: Implementation, factor: float) -> Overload:
    id_, cost = f"list_sets_{name}_list", costs.of_product(factor)
    return Overload(f"sets.{name}", id_, (_LIST, _LIST), BOOL, implementation, cost=cost)


SETS: Final = Library(
    functions=(
        _set_function("contains", _contains, 1.0),
        _set_function("equivalent", lambda first, second: _contains(first, second) and _contains(second, first), 2.0),
        _set_function("intersects", lambda first, second: any(contains(each, second) for each in first), 1.0),
    ),
)
