"""Constant folding (cel-go interpreter/decorators.go, decOptimize).

Literals, names of types, conversions of constants, and lists and maps made of them; they cost nothing when evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError, ProgramError
from webhook.cel.runtime.aggregates import MapBuilder
from webhook.cel.runtime.calls import make_call, overloads_of
from webhook.cel.runtime.frame import new_frame
from webhook.cel.syntax import ast
from webhook.cel.types.base import Type

if TYPE_CHECKING:
    from webhook.cel.checker.scope import Scope
    from webhook.cel.syntax.ast import Expression
    from webhook.cel.types.values import Value

NOT_CONSTANT: Final = object()
"""Stands for the value of what is no constant."""
_UNKNOWN: Final = object()

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)


def is_in_list(node: ast.Call) -> bool:
    """Whether the checker found that `x in y` is about a list."""
    return node.overloads is not None and [overload.id for overload in node.overloads] == ["in_list"]


class Constants:
    """Finds the constants of one expression.

    Args:
        scope: What names mean.
        is_checked: Whether the expression's types were checked.
    """

    def __init__(self, scope: Scope, *, is_checked: bool) -> None:
        self._scope = scope
        self._is_checked = is_checked
        self._known: dict[Expression, Value] = {}

    def value(self, node: Expression) -> Value:
        """The value of a node that cel-go folds into a constant, else `NOT_CONSTANT`.

        Raises:
            ProgramError: It always fails.
        """
        if isinstance(node, ast.Literal):
            return node.value
        # It is asked of every level, and finding it out takes going through all levels below.
        found = self._known.get(node, _UNKNOWN)
        if found is _UNKNOWN:
            found = self._known[node] = self._find(node)
        return found

    def _find(self, node: Expression) -> Value:  # noqa: PLR0911  # one return for each kind of node
        if isinstance(node, (ast.Ident, ast.Select)):
            return self._type_name(node)
        if not self._scope.options.fold_constants:
            return NOT_CONSTANT
        if isinstance(node, ast.Call):
            if node.function in _CONVERSIONS and node.target is None and len(node.arguments) == 1:
                return self._conversion(node)
            if node.function == "@in" and is_in_list(node) and self.value(node.arguments[1]) == []:
                return False
            return NOT_CONSTANT
        if isinstance(node, ast.ListExpression):
            return self._list(node)
        return self._map(node) if isinstance(node, ast.MapExpression) else NOT_CONSTANT

    def _type_name(self, node: ast.Ident | ast.Select) -> Value:
        return node.resolved if self._is_checked and type(node.resolved) is Type else NOT_CONSTANT

    def _list(self, node: ast.ListExpression) -> Value:
        if node.optional:
            return NOT_CONSTANT
        values = [self.value(element) for element in node.elements]
        return NOT_CONSTANT if any(value is NOT_CONSTANT for value in values) else values

    def _map(self, node: ast.MapExpression) -> Value:
        builder = MapBuilder(strict=self._scope.options.strict_map_keys)
        for entry in node.entries:
            key, value = self.value(entry.key), self.value(entry.value)
            if entry.optional or key is NOT_CONSTANT or value is NOT_CONSTANT:
                return NOT_CONSTANT
            try:
                builder.put(key, value)
            except EvaluationError:
                return NOT_CONSTANT
        return builder.made

    def _conversion(self, node: ast.Call) -> Value:
        argument = self.value(node.arguments[0])
        if argument is NOT_CONSTANT:
            return NOT_CONSTANT
        overloads = overloads_of(node, self._scope)
        call = make_call(node.function, overloads, [lambda _: argument], None)
        try:
            return call(new_frame())
        except EvaluationError as error:
            raise ProgramError(str(error)) from None
