"""Macros, with cel-go's expansions (cel-go parser/macro.go).

The expansion of a macro decides types, errors and costs, so it is cel-go's, node for node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from webhook.cel.errors import NOT_A_FIELD
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression


class MacroError(Exception):
    """An argument of a macro violates a requirement."""

    def __init__(self, node: Expression, message: str) -> None:
        super().__init__(message)
        self.offset, self.message = node.offset, message


Expander = Callable[[int, Sequence["Expression"]], "Expression | None"]


class Macro(NamedTuple):
    """A call that is rewritten while parsing.

    Args:
        arity: The number of arguments that it takes.
        member: Whether it is called on a target.
        expand: Takes the offset of the call, to which errors about the expansion point, and the operands: the target
            of a member, then the arguments; gives the rewritten expression, or None to leave the call as it is; raises
            `MacroError`.
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


def names_of(variables: Sequence[Expression], message: str) -> dict[str, Any]:
    """The names of one variable or two, as a comprehension has them.

    Raises:
        MacroError: An argument is not a name, or both are the same.
    """
    first, *others = (variable(each, message) for each in variables)
    if others == [first]:
        raise MacroError(variables[1], f"duplicate variable name: {first}")
    return {"variable": first} | ({"variable2": others[0]} if others else {})


def fold(
    at: int,
    shape: str,
    target: Expression,
    initial: Expression,
    step: Expression,
    *,
    condition: Expression | None = None,
    result: Expression | None = None,
    **names: Any,  # those of variables
) -> ast.Comprehension:
    """A comprehension over a target; see `Comprehension` for the rest.

    Args:
        condition: The condition under which it continues; None for always.
        result: None for the accumulator.
    """
    condition, result = condition or ast.Literal(at, value=True), result or ast.Ident(at, ast.ACCUMULATOR)
    return ast.Comprehension(at, shape, target, initial, condition, step, result, **names)


def _has(at: int, operands: Sequence[Expression]) -> Expression:
    (node,) = operands
    if not isinstance(node, ast.Select) or node.test:
        raise MacroError(node, NOT_A_FIELD)
    return ast.Select(at, node.operand, node.field, test=True)


def until(shape: str, *, stop: bool) -> Expander:
    """The expander of `all`, whose fold stops at the first element that fails, or `exists`, at the first that holds."""

    def expand(at: int, operands: Sequence[Expression]) -> Expression:
        target, *names, predicate = operands
        variables, so_far = names_of(names, NAME), ast.Ident(at, ast.ACCUMULATOR)
        goes_on = ast.Call(at, "@not_strictly_false", [ast.Call(at, "!_", [so_far]) if stop else so_far])
        step = ast.Call(at, "_||_" if stop else "_&&_", [ast.Ident(at, ast.ACCUMULATOR), predicate])
        return fold(at, shape, target, ast.Literal(at, value=not stop), step, condition=goes_on, **variables)

    return expand


def exactly_one(at: int, operands: Sequence[Expression]) -> Expression:
    """Expand `exists_one`, whose fold counts, over one variable or two."""
    target, *names, predicate = operands
    variables, so_far = names_of(names, NAME), ast.Ident(at, ast.ACCUMULATOR)
    counted = ast.Call(at, "_+_", [so_far, ast.Literal(at, 1)])
    step = ast.Call(at, "_?_:_", [predicate, counted, ast.Ident(at, ast.ACCUMULATOR)])
    result = ast.Call(at, "_==_", [ast.Ident(at, ast.ACCUMULATOR), ast.Literal(at, 1)])
    return fold(at, "exists_one", target, ast.Literal(at, 0), step, result=result, **variables)


def filtered(at: int, step: Expression, predicates: Sequence[Expression]) -> Expression:
    """The step of a fold that leaves out elements for which the predicate, if there is one, does not hold."""
    return ast.Call(at, "_?_:_", [*predicates, step, ast.Ident(at, ast.ACCUMULATOR)]) if predicates else step


def collect(
    at: int, target: Expression, element: Expression, predicates: Sequence[Expression] = (), **names: Any
) -> Expression:
    """`map`, `filter`, `transformList`: the fold appends to a list."""
    step = ast.Call(at, "_+_", [ast.Ident(at, ast.ACCUMULATOR), ast.ListExpression(at, [element])])
    return fold(at, "map", target, ast.ListExpression(at, []), filtered(at, step, predicates), **names)


def _map(at: int, operands: Sequence[Expression]) -> Expression:
    target, name, *predicates, transform = operands
    return collect(at, target, transform, predicates, variable=variable(name, _IDENTIFIER))


def _filter(at: int, operands: Sequence[Expression]) -> Expression:
    target, name, predicate = operands
    return collect(at, target, name, [predicate], variable=variable(name, _IDENTIFIER))


STANDARD: Final = (
    Macro("has", 1, member=False, expand=_has),
    Macro("all", 2, member=True, expand=until("all", stop=False)),
    Macro("exists", 2, member=True, expand=until("exists", stop=True)),
    Macro("exists_one", 2, member=True, expand=exactly_one),
    Macro("map", 2, member=True, expand=_map),
    Macro("map", 3, member=True, expand=_map),
    Macro("filter", 2, member=True, expand=_filter),
)
