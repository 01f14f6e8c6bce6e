"""Static analysis of an expression: its constants, its variables and the sizes of its parts.

Constants are folded as cel-go folds them (cel-go interpreter/decorators.go, decOptimize): literals, names of types,
conversions of constants, and lists and maps made of them; they cost nothing when evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError, ProgramError
from webhook.cel.regex import re2 as regex
from webhook.cel.runtime.aggregates import put
from webhook.cel.runtime.attributes import KEYS, no_key
from webhook.cel.runtime.dispatch import PATTERN_AT, callable_of
from webhook.cel.runtime.meter import Meter
from webhook.cel.runtime.writer import NOT_CONSTANT
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types.base import Kind, Type
from webhook.cel.types.values import Value

if TYPE_CHECKING:
    from webhook.cel.checker.declarations import Checked, Scope


_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_TYPE: Final = Kind.TYPE
"""Looked up once, as members of enumerations are slow to look up."""
_MESSAGES: Final = "google.protobuf."
_INDEXES: Final = frozenset({"_[_]", "_[?_]"})
LARGE: Final = 100
"""The number of nodes from which a part of an expression becomes a function of its own."""


def is_in_list(node: ast.Call) -> bool:
    """Whether the checker found that `x in y` tests a list."""
    return node.overloads is not None and [overload.id for overload in node.overloads] == ["in_list"]


class Analysis:
    """Analyzes one expression.

    Attributes:
        variables: The names of the variables that it uses.
        weights: For every node, the number of nodes in it, without those in parts that are large themselves.

    Raises:
        ProgramError: A constant part of it always fails.
    """

    def __init__(self, checked: Checked, scope: Scope) -> None:
        self.checked: Final = checked
        self.scope = scope
        self.variables: Final[dict[str, None]] = {}
        self.weights: Final[dict[Expression, int]] = {}
        self._values: dict[Expression, Value] = {}
        self._visit(checked.root)

    def _visit(self, node: Expression) -> int:
        """Look at a node and those below it; return its weight."""
        if node in self.weights:
            return 1
        weight = 1
        variables = len(self.variables)
        for each in node.children():
            weight += self._visit(each)
        self.weights[node] = weight
        value = self._find(node)
        if value is not NOT_CONSTANT:
            self._values[node] = value
        if isinstance(node, (ast.Ident, ast.Select)):
            name = node.resolved
            if type(name) is str and name.startswith("."):
                self.variables[name[1:]] = None
        elif isinstance(node, ast.Call) and value is not NOT_CONSTANT:
            while len(self.variables) > variables:  # `x in []` does not evaluate x
                self.variables.popitem()
        self._refuse_invalid(node)
        return 1 if weight >= LARGE else weight

    def _refuse_invalid(self, node: Expression) -> None:
        """Refuse types that cannot be values, invalid constant keys and invalid constant patterns."""
        if isinstance(node, (ast.Ident, ast.Select)) and node.type.kind is _TYPE:
            name = node.resolved  # that of a variable, or of a type that only objects have (cel-go planner.go)
            if type(name) is Type and name.kind is Kind.STRUCT and not name.name.startswith(_MESSAGES):
                name = name.name
            if type(name) is str:
                raise ProgramError(f"reference to undefined type: {name.removeprefix('.')}")
        elif not isinstance(node, ast.Call):
            return
        elif node.function in _INDEXES:
            key = self.value(node.arguments[1])
            if key is not NOT_CONSTANT and type(key) not in KEYS:
                raise ProgramError(str(no_key(key, is_native=False)))
        elif node.function in PATTERN_AT:
            pattern = self.value(node.arguments[PATTERN_AT[node.function]])
            if type(pattern) is str:
                try:
                    regex.check_pattern(pattern)
                except EvaluationError as error:
                    raise ProgramError(str(error)) from None

    def value(self, node: Expression) -> Value:
        """The value of a node that cel-go folds into a constant, else `NOT_CONSTANT`."""
        return self._values.get(node, NOT_CONSTANT)

    def _find(self, node: Expression) -> Value:  # noqa: PLR0911 - one return for each kind of node
        """The value of a node, from those of the nodes in it.

        Raises:
            ProgramError: The constant always fails.
        """
        if isinstance(node, ast.Literal):
            return node.value
        if isinstance(node, (ast.Ident, ast.Select)):
            return node.resolved if type(node.resolved) is Type else NOT_CONSTANT
        if not self.scope.options.fold_constants:
            return NOT_CONSTANT
        if isinstance(node, ast.Call):
            if node.function in _CONVERSIONS and node.target is None and len(node.arguments) == 1:
                return self._conversion(node)
            if node.function == "@in" and is_in_list(node) and self.value(node.arguments[1]) == []:
                return False
            return NOT_CONSTANT
        if isinstance(node, ast.ListExpression):
            values = [NOT_CONSTANT] if node.optional else [self.value(element) for element in node.elements]
            return NOT_CONSTANT if any(value is NOT_CONSTANT for value in values) else values
        return self._map(node) if isinstance(node, ast.MapExpression) else NOT_CONSTANT

    def _map(self, node: ast.MapExpression) -> Value:
        made: dict[Value, Value] = {}
        for entry in node.entries:
            key, value = self.value(entry.key), self.value(entry.value)
            if entry.optional or key is NOT_CONSTANT or value is NOT_CONSTANT:
                return NOT_CONSTANT
            try:
                put(made, key, value, False)  # noqa: FBT003 - none is optional here
            except EvaluationError:
                return NOT_CONSTANT
        return made

    def _conversion(self, node: ast.Call) -> Value:
        argument = self.value(node.arguments[0])
        if argument is NOT_CONSTANT:
            return NOT_CONSTANT
        found = callable_of(node.function, node.overloads or (), 1)(Meter(), argument)
        if type(found) is EvaluationError:
            raise ProgramError(str(found))
        return found
