"""`math.greatest`, `math.abs`, `math.bitAnd` and similar functions (cel-go ext/math.go, version 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError
from webhook.cel.functions import Overload
from webhook.cel.runtime.operators import operate
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import ANY_ARITY, Expander, Macro, MacroError
from webhook.cel.types.base import BOOL, DOUBLE, DYN, INT, UINT, Type, list_of
from webhook.cel.types.values import INT_MIN, UINT_MAX, UInt

if TYPE_CHECKING:
    from webhook.cel.types.values import Value

_NUMBERS: Final = (DOUBLE, INT, UINT)
_BITS: Final = 64


def _identity(value: Value) -> Value:
    return value


def _extreme(name: str, operator: str) -> Iterator[Overload]:
    def pair(first: Value, second: Value) -> Value:
        return second if operate(operator, second, first) else first

    def of_list(values: list[Value]) -> Value:
        if not values:
            raise EvaluationError(f"math.@{name}(list) argument must not be empty")
        found = values[0]
        for value in values[1:]:
            found = pair(found, value)
        if type(found) not in {int, UInt, float}:
            raise EvaluationError(f"no such overload: math.@{name}")
        return found

    function = f"math.@{name}"
    for first in _NUMBERS:
        yield Overload(function, f"math_@{name}_{first.name}", (first,), first, _identity)
        yield Overload(function, f"math_@{name}_list_{first.name}", (list_of(first),), first, of_list)
        for second in _NUMBERS:
            result = first if first is second else DYN
            yield Overload(function, f"math_@{name}_{first.name}_{second.name}", (first, second), result, pair)


def _is_numeric(node: Expression) -> bool:
    if isinstance(node, ast.Literal):
        return type(node.value) in {int, UInt, float}
    return not isinstance(node, (ast.ListExpression, ast.MapExpression, ast.StructExpression))


def _extreme_macro(name: str, function: str) -> Expander:
    def expand(at: int, operands: Sequence[Expression]) -> Expression | None:
        target, *arguments = operands
        if not isinstance(target, ast.Ident) or target.name != "math":
            return None
        if not arguments:
            raise MacroError(target, f"math.{name}() requires at least one argument")
        if len(arguments) == 1:
            only = arguments[0]
            values = only.elements if isinstance(only, ast.ListExpression) else [only]
            if not values or not all(map(_is_numeric, values)):
                raise MacroError(only, f"math.{name}() invalid single argument value")
            return ast.Call(at, function, [only])
        for argument in arguments:
            if not _is_numeric(argument):
                raise MacroError(argument, f"math.{name}() simple literal arguments must be numeric")
        return ast.Call(
            at, function, arguments if len(arguments) == 2 else [ast.ListExpression(at, arguments)]
        )  # a pair

    return expand


def _round(value: float) -> float:
    if not math.isfinite(value):
        return value
    return math.copysign(
        math.floor(abs(value) + 0.5) if abs(value) < 2**52 else abs(value), value
    )  # beyond, all are whole


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    def apply(value: float) -> float:
        return math.copysign(float(function(value)), value) if math.isfinite(value) else value

    return apply


def _abs(value: int) -> int:
    if value == INT_MIN:
        raise EvaluationError("integer overflow")
    return abs(value)


def _sign(value: Value) -> Value:
    if type(value) is float and math.isnan(value):
        return value
    return type(value)((value > 0) - (value < 0))


def _sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def _signed(value: int) -> int:
    value &= UINT_MAX
    return value - 2**_BITS if value >> (_BITS - 1) else value


def _shift(name: str, shift: Callable[[int, int], int]) -> Callable[[Value, int], Value]:
    def apply(value: Value, bits: int) -> Value:
        if bits < 0:
            raise EvaluationError(f"math.{name}() negative offset: {bits}")
        if bits >= _BITS:
            return type(value)(0)
        shifted = shift(int(value) & UINT_MAX, bits) & UINT_MAX
        return UInt(shifted) if type(value) is UInt else _signed(shifted)

    return apply


def _per_type(
    name: str, types: tuple[Type, ...], implementation: Callable[..., Value], result: Type | None = None
) -> Iterator[Overload]:
    for each in types:
        yield Overload(f"math.{name}", f"math_{name}_{each.name}", (each,), result or each, implementation)


def _bitwise(name: str, operation: Callable[[int, int], int]) -> Iterator[Overload]:
    def apply(first: Value, second: Value) -> Value:
        return type(first)(operation(int(first), int(second)))

    for each in (INT, UINT):
        yield Overload(f"math.{name}", f"math_{name}_{each.name}_{each.name}", (each, each), each, apply)


def _bit_not(value: Value) -> Value:
    return UInt(~int(value) & UINT_MAX) if type(value) is UInt else ~value


def _shifting(name: str, shift: Callable[[int, int], int]) -> Iterator[Overload]:
    apply = _shift(name, shift)
    for each in (INT, UINT):
        yield Overload(f"math.{name}", f"math_{name}_{each.name}_int", (each, INT), each, apply)


MATH: Final = Library(
    macros=(
        Macro("least", ANY_ARITY, member=True, expand=_extreme_macro("least", "math.@min")),
        Macro("greatest", ANY_ARITY, member=True, expand=_extreme_macro("greatest", "math.@max")),
    ),
    functions=(
        *_extreme("min", "_<_"),
        *_extreme("max", "_>_"),
        *_per_type("ceil", (DOUBLE,), _whole(math.ceil)),
        *_per_type("floor", (DOUBLE,), _whole(math.floor)),
        *_per_type("round", (DOUBLE,), _round),
        *_per_type("trunc", (DOUBLE,), _whole(math.trunc)),
        *_per_type("isInf", (DOUBLE,), math.isinf, BOOL),
        *_per_type("isNaN", (DOUBLE,), math.isnan, BOOL),
        *_per_type("isFinite", (DOUBLE,), math.isfinite, BOOL),
        Overload("math.abs", "math_abs_double", (DOUBLE,), DOUBLE, abs),
        Overload("math.abs", "math_abs_int", (INT,), INT, _abs),
        Overload("math.abs", "math_abs_uint", (UINT,), UINT, _identity),
        *_per_type("sign", _NUMBERS, _sign),
        *_per_type("sqrt", _NUMBERS, _sqrt, DOUBLE),
        *_bitwise("bitAnd", int.__and__),
        *_bitwise("bitOr", int.__or__),
        *_bitwise("bitXor", int.__xor__),
        *_per_type("bitNot", (INT, UINT), _bit_not),
        *_shifting("bitShiftLeft", int.__lshift__),
        *_shifting("bitShiftRight", int.__rshift__),
    ),
)
