"""Macros, with cel-go's expansions (cel-go parser/macro.go).

The expansion of a macro decides types, errors and costs, so it is cel-go's, node for node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from webhook.cel.errors import NOT_A_FIELD
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.records import NamedTuple


class MacroError(Exception):
    """An argument of a macro violates a requirement."""

    def __init__(self, node: Expression, message: str) -> None:
        super().__init__(message)
        self.offset = node.offset
        self.message = message


class Builder:
    """Makes the nodes of an expansion; errors about them point to the macro call."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def ident(self, name: str) -> ast.Ident:
        """A name."""
        return ast.Ident(self.offset, name)

    def accumulator(self) -> ast.Ident:
        """The name of a fold's result, which no source text can write."""
        return ast.Ident(self.offset, ast.ACCUMULATOR)

    def literal(self, value: Any) -> ast.Literal:  # any CEL value
        """A constant."""
        return ast.Literal(self.offset, value)

    def call(self, function: str, *arguments: Expression, target: Expression | None = None) -> ast.Call:
        """A call, on a target or not."""
        return ast.Call(self.offset, function, list(arguments), target)

    def list(self, *elements: Expression) -> ast.ListExpression:
        """A list."""
        return ast.ListExpression(self.offset, list(elements))

    def map(self) -> ast.MapExpression:
        """An empty map."""
        return ast.MapExpression(self.offset, [])

    def presence(self, operand: Expression, field: str) -> ast.Select:
        """`has(operand.field)`."""
        return ast.Select(self.offset, operand, field, test=True)

    def fold(self, shape: str, range_: Expression, *parts: Expression, **rest: Any) -> ast.Comprehension:  # passed on
        """A comprehension; see `Comprehension` for the arguments."""
        return ast.Comprehension(self.offset, shape=shape, range=range_, parts=parts, **rest)

    def shared(self, node: Expression) -> ast.Shared:
        """An argument that the expansion uses twice."""
        return ast.Shared(node.offset, node)


ANY_ARITY: Final = -1
"""The arity of a macro that takes any number of arguments."""

Expander = Callable[[Builder, Sequence["Expression"]], "Expression | None"]


class Macro(NamedTuple):
    """A call that is rewritten while parsing.

    Args:
        arity: The number of arguments that it takes, or `ANY_ARITY`.
        member: Whether it is called on a target.
        expand: Takes a `Builder` and the operands: the target of a member, then the arguments; gives the rewritten
            expression, or None to leave the call as it is; raises `MacroError`.
    """

    name: str
    arity: int
    member: bool
    expand: Expander


def variable(node: Expression, message: str) -> str:
    """The name that a macro's argument gives to its variable.

    Raises:
        MacroError: The argument is not a name, or is the accumulator's.
    """
    if not isinstance(node, ast.Ident):
        raise MacroError(node, message)
    if node.name in {ast.ACCUMULATOR, "__result__"}:
        raise MacroError(node, "iteration variable overwrites accumulator variable")
    return node.name


NAME: Final = "argument must be a simple name"
_IDENTIFIER: Final = "argument is not an identifier"


def names_of(variables: Sequence[Expression], message: str) -> dict[str, str]:
    """The names of one variable or two, as `Builder.fold` takes them.

    Raises:
        MacroError: An argument is not a name, or both are the same.
    """
    first, *others = (variable(each, message) for each in variables)
    if others == [first]:
        raise MacroError(variables[1], f"duplicate variable name: {first}")
    return {"variable": first} | ({"variable2": others[0]} if others else {})


def _has(build: Builder, operands: Sequence[Expression]) -> Expression:
    (node,) = operands
    if not isinstance(node, ast.Select) or node.test:
        raise MacroError(node, NOT_A_FIELD)
    return build.presence(node.operand, node.field)


def _until(shape: str, *, stop: bool) -> Callable[..., Expression]:
    def quantify(build: Builder, target: Expression, predicate: Expression, **variables: str) -> Expression:
        so_far = build.accumulator()
        return build.fold(
            shape,
            target,
            predicate,
            initial=build.literal(not stop),
            condition=build.call("@not_strictly_false", build.call("!_", so_far) if stop else so_far),
            step=build.call("_||_" if stop else "_&&_", build.accumulator(), predicate),
            result=build.accumulator(),
            **variables,
        )

    return quantify


quantify_all: Final = _until("all", stop=False)
"""`all`: the fold stops at the first element that fails."""
quantify_exists: Final = _until("exists", stop=True)
"""`exists`: the fold stops at the first element that holds."""


def quantify_one(build: Builder, target: Expression, predicate: Expression, **variables: str) -> Expression:
    """`exists_one`: the fold counts."""
    counted = build.call("_+_", build.accumulator(), build.literal(1))
    return build.fold(
        "exists_one",
        target,
        predicate,
        initial=build.literal(0),
        condition=build.literal(True),  # noqa: FBT003 - the constant itself
        step=build.call("_?_:_", predicate, counted, build.accumulator()),
        result=build.call("_==_", build.accumulator(), build.literal(1)),
        **variables,
    )


def collect(
    build: Builder, target: Expression, element: Expression, predicate: Expression | None = None, /, **variables: str
) -> Expression:
    """`map`, `filter`, `transformList`: the fold appends to a list."""
    step: Expression = build.call("_+_", build.accumulator(), build.list(element))
    parts = [element]
    if predicate is not None:
        step = build.call("_?_:_", predicate, step, build.accumulator())
        parts.append(predicate)
    return build.fold(
        "map",
        target,
        *parts,
        initial=build.list(),
        condition=build.literal(True),  # noqa: FBT003 - the constant itself
        step=step,
        result=build.accumulator(),
        **variables,
    )


def quantifier(quantify: Callable[..., Expression]) -> Expander:
    """The expander of a quantifier over one variable or two."""

    def expand(build: Builder, operands: Sequence[Expression]) -> Expression:
        target, *names, predicate = operands
        return quantify(build, target, predicate, **names_of(names, NAME))

    return expand


def _map(build: Builder, operands: Sequence[Expression]) -> Expression:
    target, name, *predicate, transform = operands
    return collect(build, target, transform, *predicate, variable=variable(name, _IDENTIFIER))


def _filter(build: Builder, operands: Sequence[Expression]) -> Expression:
    target, name, predicate = operands
    return collect(build, target, name, predicate, variable=variable(name, _IDENTIFIER))


STANDARD: Final = (
    Macro("has", 1, member=False, expand=_has),
    Macro("all", 2, member=True, expand=quantifier(quantify_all)),
    Macro("exists", 2, member=True, expand=quantifier(quantify_exists)),
    Macro("exists_one", 2, member=True, expand=quantifier(quantify_one)),
    Macro("map", 2, member=True, expand=_map),
    Macro("map", 3, member=True, expand=_map),
    Macro("filter", 2, member=True, expand=_filter),
)
