"""`cel.bind(name, value, expression)`, and comprehensions over index and element, or key and value.

Follows cel-go's ext/bindings.go and ext/comprehensions.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.functions import Overload
from webhook.cel.syntax import ast, macros
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import Expander, Macro, MacroError
from webhook.cel.types.base import map_of, parameter


def binding(at: int, name: str, value: Expression, body: Expression) -> Expression:
    """An expression in which a name stands for a value that is computed on first use."""
    condition, step = ast.Literal(at, value=False), ast.Ident(at, name)
    nothing = ast.ListExpression(at, [])
    return ast.Comprehension(at, "bind", nothing, value, condition, step, body, "#unused", accumulator=name)


def _bind(at: int, operands: Sequence[Expression]) -> Expression | None:
    target, name, value, body = operands
    if not isinstance(target, ast.Ident) or target.name != "cel":
        return None
    if not isinstance(name, ast.Ident):
        raise MacroError(name, "cel.bind() variable names must be simple identifiers")
    return binding(at, name.name, value, body)


BINDINGS: Final = Library(macros=(Macro("bind", 3, member=True, expand=_bind),))

_INSERT: Final = "cel.@mapInsert"
_K, _V = parameter("K"), parameter("V")
_MAP: Final = map_of(_K, _V)


def _transform_list(at: int, operands: Sequence[Expression]) -> Expression:
    target, first, second, *predicates, transform = operands
    return macros.collect(at, target, transform, predicates, **macros.names_of([first, second], macros.NAME))


def _map_transform(shape: str) -> Expander:
    def expand(at: int, operands: Sequence[Expression]) -> Expression:
        target, first, second, *predicates, transform = operands
        names = macros.names_of([first, second], macros.NAME)
        key = [ast.Ident(at, names["variable"])] if shape == "transformMap" else []
        step = ast.Call(at, _INSERT, [ast.Ident(at, ast.ACCUMULATOR), *key, transform])
        return macros.fold(at, shape, target, ast.MapExpression(at, []), macros.filtered(at, step, predicates), **names)

    return expand


_EXPANDERS: Final = {
    "all": macros.until("all", stop=False),
    "exists": macros.until("exists", stop=True),
    "existsOne": macros.exactly_one,
    "exists_one": macros.exactly_one,
    "transformList": _transform_list,
    "transformMap": _map_transform("transformMap"),
    "transformMapEntry": _map_transform("transformMapEntry"),
}
TWO_VARIABLE_COMPREHENSIONS: Final = Library(
    macros=tuple(
        Macro(name, arity, member=True, expand=expand)
        for name, expand in _EXPANDERS.items()
        for arity in ((3, 4) if name.startswith("transform") else (3,))  # with a predicate, or without
    ),
    functions=(
        Overload(_INSERT, "@mapInsert_map_key_value", (_MAP, _K, _V), _MAP),
        Overload(_INSERT, "@mapInsert_map_map", (_MAP, _MAP), _MAP),
    ),
)
