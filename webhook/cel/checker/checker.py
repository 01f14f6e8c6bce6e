"""The type checker, with cel-go's rules and messages (cel-go checker/checker.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from webhook.budget import Budget
from webhook.cel.checker.inference import Inference
from webhook.cel.errors import (
    MISMATCHED_FIELD,
    MISMATCHED_TYPE,
    NO_OVERLOAD,
    UNDECLARED,
    UNDEFINED,
    UNRESOLVED,
    Issues,
    Signature,
)
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types import base as types
from webhook.cel.types.base import Kind, Type
from webhook.cel.types.values import type_of

if TYPE_CHECKING:
    from webhook.cel.checker.declarations import Scope
    from webhook.cel.functions import Overload

_UNKNOWN: Final = types.UNKNOWN_KINDS | {Kind.ERROR}


def check(root: Expression, scope: Scope, issues: Issues, budget: Budget) -> list[tuple[str, Expression, int]]:
    """Checks an expression; writes types, resolved names and overloads into its nodes.

    Args:
        budget: Pays for work that does not grow with the text alone, mostly on types.

    Raises:
        BudgetExceededError: The expression takes more work than the budget allows.

    Returns:
        The nodes for the environment's validators, each with the function that it calls, and the number of its copies
        in the tree.
    """
    return _Checker(scope, issues, budget).check_root(root)


class _Checker:
    def __init__(self, scope: Scope, issues: Issues, budget: Budget) -> None:
        self._scope = scope
        self._issues = issues
        self._budget = budget
        self._inference = Inference(budget)
        self._locals: dict[str, Type] = {}
        self._open: list[Expression] = []
        self._watched: list[tuple[str, Expression, int]] = []
        self._shared: set[Expression] = set()
        self._copies = 1
        self._has_aggregates = False

    def check_root(self, root: Expression) -> list[tuple[str, Expression, int]]:
        self._check(root)
        if self._open:
            closed = self._inference.closed([node.type for node in self._open])
            for node, type_ in zip(self._open, closed, strict=True):
                node.type = type_
        if self._has_aggregates and "" in self._scope.validators:
            self._watched.append(("", root, 1))
        return self._watched

    def _check(self, node: Expression) -> Type:
        node.type = type_ = self._CHECKS[type(node)](self, node)
        if type_.free:
            self._open.append(node)
        return type_

    def _check_shared(self, node: ast.Shared) -> Type:
        if node not in self._shared:
            self._shared.add(node)
            self._copies *= 2
            with self._issues.twice():
                self._check(node.original)
            self._copies //= 2
        return node.original.type

    def _report(self, node: Expression, code: str, *arguments: object) -> None:
        self._issues.report(node.offset, code, *arguments)

    def _undeclared(self, node: Expression, name: str) -> Type:
        self._report(node, UNDECLARED, name, self._scope.options.container)
        return types.ERROR

    def _mismatch(self, offset: int, expected: Type, found: Type) -> None:
        self._issues.report(offset, MISMATCHED_TYPE, str(expected), str(found))

    # -- names

    def _ident(self, node: ast.Ident) -> Type:
        name = node.name
        local = self._locals.get(name)
        if local is not None:
            node.resolved = name
            return local
        return self._resolve(node, name) or self._undeclared(node, name)

    def _resolve(self, node: ast.Ident | ast.Select, name: str) -> Type | None:
        """Looks a full name up and records its meaning in the node."""
        root = name.partition(".")[0]
        if root in self._locals:
            if root != name:
                return None
            node.resolved = name
            return self._locals[name]
        scope = self._scope
        for candidate in scope.candidates(name):
            if candidate in scope.variables:
                node.resolved = "." + candidate
                return scope.variables[candidate]
            found = scope.types.get(candidate)
            if found is not None:
                node.resolved = found.parameters[0]
                return found
            declared = scope.struct(candidate)
            if declared is not None:
                node.resolved = declared.type
                return types.type_of(node.resolved)
        return None

    def _select(self, node: ast.Select) -> Type:
        if not node.test and self._may_be_qualified(node):
            name = ast.qualified_name(node)
            type_ = None if name is None else self._resolve(node, name)
            if type_ is not None:
                return type_
        type_ = self._field(node, node.operand, node.field, optional=False)
        return types.BOOL if node.test else self._inference.substitute(type_)

    def _may_be_qualified(self, node: Expression) -> bool:
        """Whether a chain of selections may be a name with dots; the first part usually rules it out."""
        scope = self._scope
        if scope.options.container:
            return True
        while type(node) is ast.Select:
            node = node.operand
        return type(node) is ast.Ident and node.name.lstrip(".") in scope.dotted_roots

    def _field(self, node: Expression, operand: Expression, field: str, *, optional: bool) -> Type:
        found = self._check(operand)
        if found is types.DYN:  # most often
            return types.OPTIONAL if optional else found
        target, was_optional = types.unwrap_optional(self._inference.substitute(found))
        if target.kind is Kind.MAP:
            result = target.parameters[1]
        elif target.kind is Kind.STRUCT:
            result = self._field_type(node.offset, target.name, field)
        else:
            result = types.DYN
            if target.kind is Kind.PARAMETER:
                self._inference.assignable(types.DYN, target)
            elif target.kind not in _UNKNOWN:
                self._report(node, f"type '{target}' does not support field selection")
        return types.optional_of(result) if optional or was_optional else result

    def _field_type(self, offset: int, struct: str, field: str) -> Type:
        declared = self._scope.struct(struct)
        if declared is None:
            self._issues.report(offset, UNRESOLVED, struct)
            return types.ERROR
        type_ = declared.fields.get(field)
        if type_ is None:
            self._issues.report(offset, UNDEFINED, field, struct)
            return types.ERROR
        return type_

    # -- calls

    def _call(self, node: ast.Call) -> Type:
        if node.function == "_?._":
            field = node.arguments[1]
            assert isinstance(field, ast.Literal)  # noqa: S101 - the parser writes it
            field.type = types.STRING
            node.overloads = tuple(self._scope.functions.get(node.function, ()))
            type_ = self._field(node, node.arguments[0], field.value, optional=True)
            return self._inference.substitute(type_)
        for argument in node.arguments:
            self._check(argument)
        if node.target is not None:
            has_namespace = node.function in self._scope.namespaced
            prefix = ast.qualified_name(node.target) if has_namespace else None
            function = None if prefix is None else self._function(f"{prefix}.{node.function}")
            if function is not None:
                node.function, node.target = function, None
        if node.target is not None:
            self._check(node.target)
        function = self._function(node.function)
        if function is None:
            return self._undeclared(node, node.function)
        node.function = function
        return self._overload(node)

    def _function(self, name: str) -> str | None:
        functions = self._scope.functions
        if not self._scope.options.container:
            name = name.lstrip(".")
            return name if name in functions else None
        return next((each for each in self._scope.candidates(name) if each in functions), None)

    def _overload(self, node: ast.Call) -> Type:
        if node.function in self._scope.validators:
            self._watched.append((node.function, node, self._copies))
        if node.function in {"_&&_", "_||_"}:
            return self._logic(node)
        arguments = [node.target, *node.arguments] if node.target is not None else node.arguments
        given = [argument.type for argument in arguments]
        result: Type | None = None
        found: list[Overload] = []
        inference = self._inference
        signatures = self._scope.signatures(node.function, len(given), member=node.target is not None)
        self._budget.spend(1 + len(signatures))
        for signature in signatures:
            own = inference.result(signature, given)
            if own is None:
                continue
            found.append(signature.overload)
            if result is None:
                result = own
            elif result.kind not in types.UNKNOWN_KINDS and own is not result:
                result = types.DYN
        node.overloads = tuple(found)
        return result or self._no_overload(node, given)

    def _no_overload(self, node: ast.Call, given: list[Type]) -> Type:
        shown = [str(each) for each in self._inference.closed(given)]
        target = shown.pop(0) if node.target is not None else None
        self._report(node, NO_OVERLOAD, node.function, Signature(target, tuple(shown)))
        return types.ERROR

    def _logic(self, node: ast.Call) -> Type:
        type_ = types.BOOL
        for argument in node.arguments:
            if not self._inference.assignable(argument.type, types.BOOL):
                self._mismatch(argument.offset, types.BOOL, argument.type)
                type_ = types.ERROR
        return type_

    # -- literals of lists, maps and structs
    def _list(self, node: ast.ListExpression) -> Type:
        self._has_aggregates = self._has_aggregates or len(node.elements) > 1
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            type_ = self._check(element)
            if index in node.optional:
                type_ = self._unwrapped(element, type_)
            joined = self._join(element, joined, type_)
        return types.list_of(joined or self._inference.fresh())

    def _map(self, node: ast.MapExpression) -> Type:
        self._has_aggregates = self._has_aggregates or len(node.entries) > 1
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in node.entries:
            key_type = self._join(entry.key, key_type, self._check(entry.key))
            type_ = self._check(entry.value)
            if entry.optional:
                type_ = self._unwrapped(entry.value, type_)
            value_type = self._join(entry.value, value_type, type_)
        if key_type is None or value_type is None:
            return types.map_of(self._inference.fresh(), self._inference.fresh())
        return types.map_of(key_type, value_type)

    def _unwrapped(self, node: Expression, type_: Type) -> Type:
        inner, is_optional = types.unwrap_optional(type_)
        if not is_optional and type_.kind not in types.UNKNOWN_KINDS:
            self._mismatch(node.offset, types.optional_of(type_), type_)
        return inner

    def _join(self, node: Expression, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self._inference.assignable(previous, current):
            return self._inference.most_general(previous, current)
        if not self._scope.options.homogeneous_literals:
            return types.DYN
        self._mismatch(node.offset, previous, current)
        return types.ERROR

    def _struct(self, node: ast.StructExpression) -> Type:
        candidates = self._scope.candidates(node.name)
        declared = next((each for each in map(self._scope.struct, candidates) if each is not None), None)
        if declared is None:
            return self._not_a_struct(node, candidates)
        node.name = name = declared.name or declared.type.name
        for entry in node.entries:
            given = self._check(entry.value)
            expected = self._field_type(entry.offset, name, entry.key)
            if entry.optional:
                given = self._unwrapped(entry.value, given)
            if not self._inference.assignable(expected, given):
                self._issues.report(entry.offset, MISMATCHED_FIELD, entry.key, str(expected), str(given))
        return declared.type

    def _not_a_struct(self, node: ast.StructExpression, candidates: list[str]) -> Type:
        known = next((each for each in candidates if each in self._scope.types), None)
        if known is None:
            return self._undeclared(node, node.name)
        self._report(node, f"'{known}' is not a message type")
        for entry in node.entries:
            self._check(entry.value)
        return types.ERROR

    # -- comprehensions

    def _comprehension(self, node: ast.Comprehension) -> Type:
        self._check(node.range)
        initial = self._check(node.initial)
        variables = self._variables(node)
        outer = self._locals
        self._locals = {**outer, node.accumulator: initial}
        around = self._locals
        self._locals = {**around, **variables}
        self._check(node.condition)
        self._must_be(node.condition, types.BOOL)
        self._check(node.step)
        self._must_be(node.step, initial)
        self._locals = around
        result = self._check(node.result)
        self._locals = outer
        return self._inference.substitute(result)

    def _must_be(self, node: Expression, expected: Type) -> None:
        if not self._inference.assignable(expected, node.type):
            self._mismatch(node.offset, expected, node.type)

    def _variables(self, node: ast.Comprehension) -> dict[str, Type]:
        range_ = self._inference.substitute(node.range.type)
        if range_.kind is Kind.LIST:
            element = range_.parameters[0]
            first, second = (types.INT, element) if node.variable2 else (element, element)
        elif range_.kind is Kind.MAP:
            first, second = range_.parameters
        elif range_.kind in {Kind.DYN, Kind.ERROR, Kind.PARAMETER}:
            self._inference.assignable(types.DYN, range_)
            first = second = types.DYN
        else:
            self._report(
                node.range,
                f"expression of type '{range_}' cannot be range of a comprehension (must be list, map, or dynamic)",
            )
            first = second = types.ERROR
        return {node.variable: first, node.variable2: second} if node.variable2 else {node.variable: first}

    _CHECKS: ClassVar[Mapping[type, Callable[..., Type]]] = {
        ast.Literal: lambda _, node: type_of(node.value),
        ast.Ident: _ident,
        ast.Select: _select,
        ast.Call: _call,
        ast.ListExpression: _list,
        ast.MapExpression: _map,
        ast.StructExpression: _struct,
        ast.Comprehension: _comprehension,
        ast.Shared: _check_shared,
    }
    """The check for each class of nodes."""
