"""Extents: the parts of a variable that expressions read, followed through macros and composed variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import GenericAlias
from typing import Any, Final, TypedDict

from webhook.budget import current
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import (
    INDEXES,
    Call,
    Comprehension,
    Expression,
    Ident,
    ListExpression,
    Select,
    Shared,
)

ITEMS: Final = "*"
"""The part that stands for all items of a list, or for all values of a map; no field has this name."""


class Extent:
    """The parts of a value that are read.

    Attributes:
        parts: The extents of its fields by name, and that of its items.
        whole: Whether all of it is read.
    """

    __slots__ = ("parts", "whole")

    def __init__(self) -> None:
        self.parts: dict[str, Extent] = {}
        self.whole = False

    def part(self, name: str) -> Extent:
        """Return the extent of a part, which is read from now on.

        Args:
            name: The name of a field, or :data:`ITEMS`.
        """
        return self.parts.setdefault(name, Extent())


def type_of(extent: Extent) -> Any:
    """Return the type of which msgspec decodes nothing but an extent; a value of another type is not decoded at all."""
    parts = {name: type_of(part) for name, part in extent.parts.items()}
    if extent.whole or not parts or (ITEMS in parts and len(parts) > 1):
        return Any
    if not all(map(str.isascii, parts)):  # msgspec finds no other keys of a TypedDict
        return Any
    if ITEMS in parts:
        return GenericAlias(list, parts[ITEMS]) | dict[str, Any] | str  # a text has a size, too
    return TypedDict("Part", parts, total=False)  # type: ignore[operator]


Parts = tuple["Extent | Parts", ...]
"""The possible values: parts of the variable, and lists of such parts."""

VARIABLES: Final = "variables"
"""The variable whose fields are composed variables."""
_PASSING: Final = frozenset({"_+_", "dyn", "optional.of", "or", "orValue", "value"})
"""Functions whose result is, or consists of, their arguments, of which they read nothing."""
_PRESENCE: Final = frozenset({"hasValue"})
"""Functions that read no more of an argument than whether it is there."""
_NULL_CHECKS: Final = frozenset({"_==_", "_!=_"})


def extend(extent: Extent, name: str, expressions: Iterable[Expression], variables: Mapping[str, Expression]) -> None:
    """Add what expressions read of a variable; what cannot be told is read as a whole.

    Args:
        extent: The extent of the variable.
        name: The variable's name, such as ``object``.
        variables: The composed variables that they may use, by name.

    Raises:
        BudgetExceededError: The walk is more work than the budget in force allows.
        RecursionError: An expression is nested too deeply.
    """
    reader = _Reader(extent, name, variables)
    for expression in expressions:
        reader.read(expression)


class _Reader:
    def __init__(self, extent: Extent, name: str, variables: Mapping[str, Expression]) -> None:
        self._extent, self._name, self._variables = extent, f".{name}", variables
        self._composed: dict[str, Parts] = {}
        self._shared: dict[int, Parts] = {}
        self._locals: dict[str, Parts] = {}

    def read(self, node: Expression) -> None:
        """Add all of an expression's value."""
        _mark(self._parts(node))

    def _parts(self, node: Expression) -> Parts:
        """Return the parts that may be an expression's value, and add those that it reads."""
        current().spend(1)
        match node:
            case Ident():
                found = self._ident(node)
            case Select():
                found = self._select(node)
            case Call():
                found = self._call(node)
            case ListExpression():
                found = (self._all(node.elements),)
            case Comprehension():
                found = self._fold(node)
            case Shared():
                if (key := id(node.original)) not in self._shared:
                    self._shared[key] = self._parts(node.original)
                found = self._shared[key]
            case _:
                _mark(self._all(node.children()))
                found = ()
        return found

    def _ident(self, node: Ident) -> Parts:
        if node.resolved == self._name:
            return (self._extent,)
        if node.resolved == f".{VARIABLES}":  # any of them, by a name that is not known here
            self._extent.whole = True
        return self._locals.get(node.name, ())

    def _select(self, node: Select) -> Parts:
        operand = node.operand
        if isinstance(operand, Ident) and operand.resolved == f".{VARIABLES}":
            found = self._composed.get(node.field)
            if found is None:
                found = self._composed[node.field] = self._apart(self._variables[node.field])
            return found
        found = _below(self._parts(operand), node.field)
        return () if node.test else found

    def _apart(self, node: Expression) -> Parts:
        """Return the parts of an expression that sees none of the local variables."""
        before, self._locals = self._locals, {}
        found = self._parts(node)
        self._locals = before
        return found

    def _call(self, node: Call) -> Parts:
        function, arguments = node.function, list(node.children())
        if function in INDEXES:
            return self._indexed(*arguments)
        if function == "_?_:_":
            self.read(arguments.pop(0))
            return self._all(arguments)
        if function in _PASSING:
            return self._all(arguments)
        if function == "size":
            _below(self._all(arguments), ITEMS)
        elif function in _PRESENCE or (function in _NULL_CHECKS and self._is_null_check(arguments)):
            self._all(arguments)
        else:
            _mark(self._all(arguments))
        return ()

    def _is_null_check(self, arguments: Sequence[Expression]) -> bool:
        """Tell whether the variable itself is compared with null; the cost for its parts depends on their sizes."""
        return any(isinstance(each, ast.Literal) and each.value is None for each in arguments) and any(
            isinstance(each, Ident) and each.resolved == self._name for each in arguments
        )

    def _all(self, nodes: Iterable[Expression]) -> Parts:
        return _union(map(self._parts, nodes))

    def _indexed(self, value: Expression, key: Expression) -> Parts:
        if isinstance(key, ast.Literal) and isinstance(key.value, str):
            return _below(self._parts(value), key.value)
        self.read(key)
        return _below(self._parts(value), ITEMS)

    def _fold(self, node: Comprehension) -> Parts:
        before = self._locals
        items, initial = _below(self._parts(node.range), ITEMS), self._parts(node.initial)
        self._locals = before | {node.variable: (), node.variable2 or node.variable: items, node.accumulator: initial}
        self.read(node.condition)
        # No expression that a user writes reads the accumulator while the fold goes on.
        self._locals[node.accumulator] = _union((initial, self._parts(node.step)))
        found = self._parts(node.result)
        self._locals = before
        return found


def _union(several: Iterable[Parts]) -> Parts:
    found = tuple(dict.fromkeys(chain.from_iterable(several)))
    current().spend(len(found))
    return found


def _below(parts: Parts, name: str) -> Parts:
    """Return a part of each part; lists have no fields."""
    return _union((each.part(name),) if isinstance(each, Extent) else each if name == ITEMS else () for each in parts)


def _mark(parts: Parts) -> None:
    """Note that all of some parts is read."""
    left = list(parts)
    while left:
        each = left.pop()
        if isinstance(each, Extent):
            each.whole = True
        else:
            left += each
