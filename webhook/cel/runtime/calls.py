"""Calls of functions: which overload runs, and what it costs.

A call whose argument is an error is an error, and `||` may absorb it; cel-go has then counted it all the same: a call
of two arguments after evaluating both, one of three or more only if none but the last failed (cel-go
interpreter/interpretable.go, runtimecost.go).
"""

from __future__ import annotations

from functools import lru_cache
from sys import getsizeof
from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime import operators
from webhook.cel.runtime.equality import contains_in_time
from webhook.cel.runtime.frame import (
    BUDGET,
    BYTES,
    FAILED,
    RESERVE,
    SHARE,
    count_built,
    draw,
    hasten,
    too_many_bytes,
    try_to_evaluate,
)
from webhook.cel.types.base import STRING, UNKNOWN_KINDS, Kind, Type, list_of
from webhook.cel.types.values import PLAIN_CLASSES, Optional, Value, python_type, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from webhook.cel.checker.scope import Scope
    from webhook.cel.cost.calls import CallCost, CostFunction
    from webhook.cel.overloads import Overload
    from webhook.cel.runtime.frame import Closure, Frame
    from webhook.cel.syntax import ast

_BUILT: Final = frozenset({Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})
"""Kinds whose values a call may have built."""
_TEXT_BYTES: Final = 64
"""How many bytes a short text takes, or a little more."""
_MANY: Final = 256
"""From how many elements on it is asked what a call on a list costs before it is made."""
_TEXTS: Final = list_of(STRING)
_ANYTHING: Final = UNKNOWN_KINDS | {Kind.PARAMETER}
# Operators take any values and tell themselves what they are not for.
_OPERATORS: Final[Mapping[str, Callable[..., Value]]] = {
    "_+_": operators.add, "_-_": operators.subtract, "_*_": operators.multiply, "_/_": operators.divide,
    "_%_": operators.modulo, "_<_": operators.less, "_<=_": operators.less_equal, "_>_": operators.greater,
    "_>=_": operators.greater_equal, "-_": operators.negate, "!_": operators.logical_not,
}  # fmt: skip
# Where cel-go's refusal does not name the types of the arguments (cel-go common/stdlib/standard.go).
_REFUSALS: Final = {
    **dict.fromkeys(("startsWith", "endsWith", "contains"), "no such overload"),
    "size": "no such overload: size",
    "matches": "no such overload: matches",
}


def fits(value: Value, type_: Type) -> bool:
    """Whether a value can be passed where a type is declared, as far as that is known at run time."""
    if type_.kind in _ANYTHING:
        return True
    expected = python_type(type_)
    if expected is not None:
        return type(value) is expected or (expected is dict and isinstance(value, dict))
    own: object = getattr(value, "cel_type", None)
    return isinstance(own, Type) and own.kind is type_.kind and own.name == type_.name


def refusal(function: str, arguments: Sequence[Value]) -> EvaluationError:
    """The error of a call whose arguments fit no overload."""
    text = _REFUSALS.get(function)
    return EvaluationError(
        text or f"no such overload: {function}({', '.join(type_of(each).name for each in arguments)})"
    )


def charge(overloads: Sequence[Overload], by_name: CallCost | None) -> int | CostFunction:
    """What a call costs, known only in part: with several overloads in question cel-go counts 1."""
    own: int | CostFunction = overloads[0].cost if len(overloads) == 1 else 1
    if by_name is None or not overloads:
        return own
    id_ = overloads[0].id if len(overloads) == 1 else ""

    def cost(arguments: Sequence[Value], result: Value) -> int:
        named = by_name(id_, arguments, result)
        if named is not None:
            return named
        return own if isinstance(own, int) else own(arguments, result)

    return cost


@lru_cache(maxsize=1024)
def _dispatcher(function: str, overloads: tuple[Overload, ...]) -> Callable[..., Value]:
    candidates = [
        (overload.parameters, overload.implementation) for overload in overloads if overload.implementation is not None
    ]

    def find(arguments: Sequence[Value]) -> Callable[..., Value]:
        for parameters, implementation in candidates:
            if len(parameters) == len(arguments) and all(map(fits, arguments, parameters)):
                return implementation
        if operator is not None:
            return operator
        raise refusal(function, arguments)

    def dispatch(*arguments: Value) -> Value:
        classes = tuple(map(type, arguments))
        implementation = found.get(classes)
        if implementation is None:
            implementation = find(arguments)
            if PLAIN_CLASSES.issuperset(classes):
                found[classes] = implementation
        return implementation(*arguments)

    operator = _OPERATORS.get(function)
    found: dict[tuple[type, ...], Callable[..., Value]] = {}  # where classes alone decide
    return dispatch


@lru_cache(maxsize=1024)
def _guard(overload: Overload) -> tuple[type | None, ...] | None:
    """The Python classes with which an overload can be called at once; None where that is not told by classes."""
    classes: list[type | None] = []
    for parameter in overload.parameters:
        cls = python_type(parameter)
        if cls is None and parameter.kind not in _ANYTHING:
            return None
        classes.append(cls)
    return tuple(classes)


def make_call(
    function: str, overloads: tuple[Overload, ...], arguments: list[Closure], by_name: CallCost | None
) -> Closure:
    """The closure of a call.

    Args:
        function: The function's name.
        overloads: Those that may apply; one, if the checker could tell.
        arguments: The closures of the arguments, the target's first.
        by_name: The environment's own cost of the function, if any.
    """
    if function == "@in":
        item, container = arguments
        return _membership(item, container, charge(overloads, by_name))
    call = _make_call(function, overloads, arguments, by_name)
    if any(overload.result == _TEXTS for overload in overloads):
        return _counting_texts(call)
    return _counting(call) if any(overload.result.kind in _BUILT for overload in overloads) else call


def _counting(call: Closure) -> Closure:
    def counting(frame: Frame) -> Value:
        value = call(frame)
        frame[BYTES] -= getsizeof(value)  # as `count_built`, whose call would take as long
        if frame[BYTES] < 0:
            raise too_many_bytes()
        return value

    return counting


def _counting_texts(call: Closure) -> Closure:
    """Of a call that gives a list of texts, which were built as well."""

    def counting(frame: Frame) -> Value:
        value = count_built(frame, call(frame))
        if type(value) is list:
            frame[BYTES] -= len(value) * _TEXT_BYTES
        return value

    return counting


def _make_call(
    function: str, overloads: tuple[Overload, ...], arguments: list[Closure], by_name: CallCost | None
) -> Closure:
    cost = charge(overloads, by_name)
    dispatch = _dispatcher(function, overloads)
    first = overloads[0] if overloads else None
    guard = _guard(first) if first is not None and first.implementation is not None else None
    direct = first.implementation if first is not None and guard is not None else None
    if direct is not None and guard is not None and len(arguments) == len(guard):
        if len(arguments) == 1:
            return _unary(direct, guard[0], dispatch, arguments[0], cost)
        if len(arguments) == 2:  # noqa: PLR2004  # a binary function
            return _binary(direct, guard, dispatch, arguments, cost)
    return _any_arity(dispatch, arguments, cost)


def _must_afford(frame: Frame, cost: CostFunction, arguments: Sequence[Value]) -> None:
    """Stops an evaluation before a call that costs more than is left, by its arguments alone."""
    if cost(arguments, FAILED) > frame[BUDGET] + frame[RESERVE]:
        frame[BUDGET], frame[RESERVE] = -1, 0
        draw(frame)


def _spend(frame: Frame, cost: int, subject: Value) -> None:
    """Counts a call; a look at the clock is due soon after one on a list, whose elements may hold anything."""
    frame[0] -= cost
    if type(subject) is list:
        hasten(frame, SHARE)
    elif frame[0] < 0:
        draw(frame)


def _unary(
    direct: Callable[..., Value],
    cls: type | None,
    dispatch: Callable[..., Value],
    argument: Closure,
    cost: int | CostFunction,
) -> Closure:
    if direct is operators.logical_not and cost == 1:
        return _negation(argument)
    if isinstance(cost, int):

        def constant(frame: Frame) -> Value:
            frame[0] -= cost
            value = argument(frame)
            return direct(value) if cls is None or type(value) is cls else dispatch(value)

        return constant

    def by_size(frame: Frame) -> Value:
        value = FAILED
        try:
            value = argument(frame)
            if type(value) is list and len(value) > _MANY:
                _must_afford(frame, cost, (value,))
            result = direct(value) if cls is None or type(value) is cls else dispatch(value)
        except EvaluationError:
            _spend(frame, cost((value,), FAILED), value)
            raise
        _spend(frame, cost((value,), result), value)
        return result

    return by_size


def _negation(argument: Closure) -> Closure:
    def negation(frame: Frame) -> bool:
        frame[0] -= 1
        value = argument(frame)
        if value is False:
            return True
        return False if value is True else operators.logical_not(value)

    return negation


def _binary(
    direct: Callable[..., Value],
    classes: tuple[type | None, ...],
    dispatch: Callable[..., Value],
    arguments: list[Closure],
    cost: int | CostFunction,
) -> Closure:
    first_argument, second_argument = arguments
    first_class, second_class = classes
    constant = cost if isinstance(cost, int) else 0

    def call(frame: Frame) -> Value:
        frame[0] -= constant
        try:
            first = first_argument(frame)
        except EvaluationError:
            try_to_evaluate(second_argument, frame)
            raise
        second = second_argument(frame)
        if (first_class is None or type(first) is first_class) and (
            second_class is None or type(second) is second_class
        ):
            return direct(first, second)
        return dispatch(first, second)

    if isinstance(cost, int):
        return call

    def by_size(frame: Frame) -> Value:
        first = second = FAILED
        try:
            first = first_argument(frame)
            second = second_argument(frame)
            if type(first) is list and len(first) > _MANY:
                _must_afford(frame, cost, (first, second))
            if (first_class is None or type(first) is first_class) and (
                second_class is None or type(second) is second_class
            ):
                result = direct(first, second)
            else:
                result = dispatch(first, second)
        except EvaluationError:
            if first is FAILED:
                second = try_to_evaluate(second_argument, frame)
            _spend(frame, cost((first, second), FAILED), first)
            raise
        _spend(frame, cost((first, second), result), first)
        return result

    return by_size


def _any_arity(dispatch: Callable[..., Value], arguments: list[Closure], cost: int | CostFunction) -> Closure:
    def call(frame: Frame) -> Value:
        values: list[Value] = []
        try:
            for argument in arguments:
                values.append(argument(frame))  # noqa: PERF401  # what was evaluated before an error is counted
            if values and type(values[0]) is list and len(values[0]) > _MANY and not isinstance(cost, int):
                _must_afford(frame, cost, values)
            result = dispatch(*values)
        except EvaluationError:
            if len(values) < len(arguments):
                values.append(FAILED)
            if len(arguments) == 2 and len(values) == 1:  # noqa: PLR2004  # of two, both are evaluated, of more not all
                values.append(try_to_evaluate(arguments[1], frame))
            if len(values) == len(arguments):
                _spend(frame, cost if isinstance(cost, int) else cost(values, FAILED), FAILED)
            raise
        _spend(frame, cost if isinstance(cost, int) else cost(values, result), values[0] if values else None)
        return result

    return call


def _membership(item: Closure, container: Closure, cost: int | CostFunction) -> Closure:
    def member(frame: Frame) -> bool:
        sought = found = FAILED
        try:
            sought = item(frame)
            found = container(frame)
            result = contains_in_time(frame, sought, found)
        except EvaluationError:
            if sought is FAILED:
                found = try_to_evaluate(container, frame)
            _spend(frame, cost if isinstance(cost, int) else cost((sought, found), FAILED), FAILED)
            raise
        _spend(frame, cost if isinstance(cost, int) else cost((sought, found), result), None)
        return result

    return member


def choose(arguments: list[Closure], *, unwrap: bool) -> Closure:
    """`a.or(b)` and, unwrapping, `a.orValue(b)`: the second is evaluated only if the first is absent."""
    target, other = arguments

    def choice(frame: Frame) -> Value:
        value = target(frame)
        if type(value) is not Optional:
            msg = "no such overload"
            raise EvaluationError(msg)
        if not value.present:
            return other(frame)
        return value.value if unwrap else value

    return choice


def overloads_of(node: ast.Call, scope: Scope) -> tuple[Overload, ...]:
    """The overloads that a call may mean: what the checker found, else all with as many parameters."""
    if node.overloads is not None:
        return node.overloads
    arity = len(node.arguments) + (node.target is not None)
    functions = scope.functions
    name = next((each for each in scope.candidates(node.function) if each in functions), node.function)
    return tuple(overload for overload in functions.get(name, ()) if len(overload.parameters) == arity)
