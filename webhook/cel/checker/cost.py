"""Estimates the cost of a checked expression (cel-go checker/cost.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.budget import current
from webhook.cel.functions import (
    LIST_COST,
    MAP_COST,
    MOST,
    ONE,
    STRUCT_COST,
    UNKNOWN,
    Bounds,
    EstimatedNode,
    estimated,
    fixed,
)
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types import base as types
from webhook.cel.types.base import Kind, Type
from webhook.cel.types.values import size_of as size_of_value

if TYPE_CHECKING:
    from webhook.cel.checker.declarations import Checked, Scope

_COPIED: Final = 32
"""The length of a path that is copied for a unit of work."""
_FREE: Final = fixed(0)
_SCALARS: Final = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
_SELECTABLE: Final = frozenset({Kind.MAP, Kind.STRUCT, Kind.PARAMETER})


class _Entries(NamedTuple):
    """The sizes of the keys and values of a list or map."""

    container: Kind
    key: Bounds
    value: Bounds

    def union(self, other: _Entries) -> _Entries:
        return _Entries(self.container, self.key.union(other.key), self.value.union(other.value))


class _Path(NamedTuple):
    """The steps to a value: a slice as in Go, so that appending to one path may change another.

    cel-go appends to one path for the key and for the value of a comprehension; where the array behind the path has
    room for one more, the key's path ends as the value's (cel-go checker/cost.go, pushIterKey and pushIterValue).

    Args:
        steps: The array, shared by paths.
        length: How much of it belongs to the path.
    """

    steps: list[str]
    length: int

    def to(self, step: str) -> _Path:
        """The path that is one step longer; Go doubles an array that is full."""
        steps = self.steps
        if self.length & (self.length - 1) == 0:
            steps = [*steps[: self.length], step]
        elif self.length < len(steps):
            steps[self.length] = step
        else:
            steps.append(step)
        return _Path(steps, self.length + 1)


_NOWHERE: Final = _Path([], 0)


class _Local(NamedTuple):
    path: _Path
    size: Bounds | None = None
    entries: _Entries | None = None


DeclaredSize = Callable[[EstimatedNode], Bounds | None]
"""Returns the bounds of the size of the value at a path, None if they are not declared."""


def estimate_cost(checked: Checked, scope: Scope, declared_size: DeclaredSize = lambda _: None) -> Bounds:
    """The range of the cost of evaluating an expression.

    Returns:
        The least and the largest cost; `MOST` if unbounded.
    """
    return _Estimator(scope, declared_size).cost(checked.root)


class _Estimator:
    def __init__(self, scope: Scope, declared_size: DeclaredSize) -> None:
        self._scope, self._declared_size = scope, declared_size
        self._budget = current()
        self._presence = fixed(scope.options.presence_test_cost)
        self._paths: dict[Expression, _Path] = {}
        self._sizes: dict[Expression, Bounds] = {}
        self._entries: dict[Expression, _Entries] = {}
        self._locals: dict[str, _Local] = {}
        self._costs: dict[type, Callable[..., Bounds]] = {
            ast.Literal: lambda _: _FREE,
            ast.Ident: self._ident,
            ast.Select: self._select,
            ast.Call: self._call,
            ast.ListExpression: self._list,
            ast.MapExpression: self._map,
            ast.StructExpression: self._struct,
            ast.Comprehension: self._comprehension,
            ast.Shared: self._shared,
        }
        self._shared_costs: dict[ast.Shared, Bounds] = {}

    def cost(self, node: Expression) -> Bounds:
        return self._costs[type(node)](node)

    # -- sizes and paths

    def _path(self, node: Expression) -> _Path:
        return self._paths.get(node, _NOWHERE)

    def _steps(self, node: Expression) -> tuple[str, ...]:
        path = self._path(node)
        self._budget.spend(path.length // _COPIED)
        return tuple(path.steps[: path.length])

    def _size(self, node: Expression) -> Bounds | None:
        if node in self._sizes:
            return self._sizes[node]
        if isinstance(node, ast.Literal):
            return fixed(size_of_value(node.value))
        if isinstance(node, ast.ListExpression | ast.MapExpression):
            return fixed(len(node.elements if isinstance(node, ast.ListExpression) else node.entries))
        if (size := self._declared_size(EstimatedNode(node.type, self._steps(node)))) is not None:
            self._sizes[node] = size
            return size
        return ONE if _is_scalar(node.type) else None

    def _size_or_unknown(self, node: Expression) -> Bounds:
        return self._size(node) or UNKNOWN

    def _node(self, node: Expression) -> EstimatedNode:
        path = self._steps(node)
        if path and path[0] == ast.ACCUMULATOR:
            path = ()
        literal = node.value if type(node) is ast.Literal and type(node.value) is int else None
        return EstimatedNode(node.type, path, literal, self._size(node))

    def _estimated_size(self, node: EstimatedNode) -> Bounds:
        return node.size or self._declared_size(node) or UNKNOWN

    # -- nodes

    def _shared(self, node: ast.Shared) -> Bounds:
        if (cost := self._shared_costs.get(node)) is None:
            cost = self._shared_costs[node] = self.cost(node.original)
            self._paths[node] = self._path(node.original)
            self._copy_sizes(node, node.original)
        return cost

    def _ident(self, node: ast.Ident) -> Bounds:
        local = self._locals.get(node.name) or _Local(_Path([node.name], 1))
        self._paths[node] = local.path
        self._keep(node, self._size(node) or local.size, local.entries)
        return ONE

    def _select(self, node: ast.Select) -> Bounds:
        if isinstance(node.resolved, str):
            self._paths[node] = _Path([node.resolved.lstrip(".")], 1)
            return ONE
        if node.resolved is not None:
            return ONE
        if node.test:
            return self._presence.plus(self.cost(node.operand))
        cost = self.cost(node.operand)
        if node.operand.type.kind in _SELECTABLE:
            cost = cost.plus(ONE)
        path = self._path(node.operand)
        self._budget.spend(path.length // _COPIED)
        self._paths[node] = path.to(node.field)
        return cost

    def _call(self, node: ast.Call) -> Bounds:
        if node.function == "dyn" and node.target is None and len(node.arguments) == 1:
            cost = ONE.plus(self.cost(node.arguments[0]))
            self._copy_sizes(node, node.arguments[0])
            return cost
        costs: list[Bounds] = []
        arguments: list[EstimatedNode] = []
        for argument in node.arguments:
            costs.append(self.cost(argument))
            arguments.append(self._node(argument))  # at once: later steps may change its path
        total = _FREE if node.target is None else self.cost(node.target)
        if node.function in {"_&&_", "_||_"}:
            return total.plus(Bounds(costs[0].low, _sum(costs).high))
        if node.function == "_?_:_":
            then, otherwise = node.arguments[1:]
            self._sizes[node] = self._size_or_unknown(then).union(self._size_or_unknown(otherwise))
            self._join_entries(node)
            return total.plus(costs[0]).plus(costs[1].union(costs[2]))
        if node.target is not None:
            arguments.insert(0, self._node(node.target))
        return total.plus(_sum(costs)).plus(self._overloads(node, arguments))

    def _overloads(self, node: ast.Call, arguments: list[EstimatedNode]) -> Bounds:
        called: Bounds | None = None
        result: Bounds | None = None
        known = self._scope.call_estimates
        for overload in node.overloads or ():
            if overload.id in {"add_list", "add_string", "add_bytes"}:
                self._join_entries(node)
            estimate = known.get(overload.id) or known.get(node.function) or overload.estimate
            if estimate is None and overload.cost is not None:
                estimate = estimated(overload.cost)
            cost, size = (ONE, None) if estimate is None else estimate(self._estimated_size, arguments)
            called = cost if called is None else called.union(cost)
            if size is not None:
                result = size if result is None else result.union(size)
            if step := {"index_list": "@items", "index_map": "@values"}.get(overload.id):
                container = node.arguments[0]
                self._paths[node] = self._path(container).to(step)
                entries = self._entries.get(container)
                result = entries.value if entries is not None else None
            if result is None:
                result = self._size(node)
        if result is not None:
            self._sizes[node] = result
        return called or _FREE

    def _join_entries(self, node: ast.Call) -> None:
        first, second = (self._entries.get(argument) for argument in node.arguments[-2:])
        if first is not None and second is not None:
            self._entries[node] = first.union(second)

    def _copy_sizes(self, node: Expression, source: Expression) -> None:
        self._keep(node, self._size(source), self._entries.get(source))

    def _keep(self, node: Expression, size: Bounds | None, entries: _Entries | None) -> None:
        if size is not None:
            self._sizes[node] = size
        if entries is not None:
            self._entries[node] = entries

    def _list(self, node: ast.ListExpression) -> Bounds:
        cost = _sum([self.cost(element) for element in node.elements])
        self._entries[node] = _Entries(Kind.LIST, ONE, self._sizes_union(node.elements))
        return cost.plus(fixed(LIST_COST))

    def _map(self, node: ast.MapExpression) -> Bounds:
        costs = [self.cost(child) for child in node.children()]
        keys = self._sizes_union([entry.key for entry in node.entries])
        values = self._sizes_union([entry.value for entry in node.entries])
        self._entries[node] = _Entries(Kind.MAP, keys, values)
        return _sum(costs).plus(fixed(MAP_COST))

    def _sizes_union(self, nodes: list[Expression]) -> Bounds:
        union = Bounds(MOST if nodes else 0, 0)
        for node in nodes:
            union = union.union(self._size_or_unknown(node))
        return union

    def _struct(self, node: ast.StructExpression) -> Bounds:
        return _sum([self.cost(entry.value) for entry in node.entries]).plus(fixed(STRUCT_COST))

    # -- comprehensions

    def _comprehension(self, node: ast.Comprehension) -> Bounds:
        total = self.cost(node.range).plus(self.cost(node.initial))
        initial = _Local(self._path(node.initial), self._size(node.initial), self._entries.get(node.initial))
        outer = self._locals
        self._locals = around = {**outer, node.accumulator: initial}
        if node.shape == "bind":
            total = total.plus(self.cost(node.result))
            self._copy_sizes(node, node.result)
            self._locals = outer
            return total
        self._locals = {**around, **self._variables(node)}
        each = self.cost(node.condition).plus(self.cost(node.step))
        step_entries = self._entries.get(node.step)
        self._locals = around
        total = total.plus(self.cost(node.result))
        self._locals = outer
        count = self._size_or_unknown(node.range)
        if isinstance(node.initial, ast.Literal):
            self._sizes[node] = ONE
        elif isinstance(node.initial, (ast.ListExpression, ast.MapExpression)):
            self._sizes[node] = count
            if step_entries is not None:
                self._entries[node] = step_entries
        return total.plus(count.times(each))

    def _variables(self, node: ast.Comprehension) -> dict[str, _Local]:
        entries = self._entries.get(node.range)
        is_list = (entries.container if entries is not None else node.range.type.kind) is Kind.LIST
        path = self._path(node.range)
        key_size, value_size = (entries.key, entries.value) if entries is not None else (None, None)
        variables = {}
        if node.variable2 or not is_list:
            variables[node.variable] = _Local(path.to("@indices" if is_list else "@keys"), key_size, None)
        if node.variable2 or is_list:
            step = "@items" if is_list else "@values"
            variables[node.variable2 or node.variable] = _Local(path.to(step), value_size, None)
        return variables


def _sum(costs: list[Bounds]) -> Bounds:
    return Bounds(min(sum(each.low for each in costs), MOST), min(sum(each.high for each in costs), MOST))


def _is_scalar(type_: Type) -> bool:
    inner, is_optional = types.unwrap_optional(type_)
    return _is_scalar(inner) if is_optional else type_.kind in _SCALARS
