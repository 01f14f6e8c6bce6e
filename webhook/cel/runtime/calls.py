"""Writes calls of functions.

A call with an argument that is an error is an error, which `||` may absorb. cel-go still counts the call: with
two arguments after evaluating both, with three or more (or an overload chosen at run time) only if none but the last
failed (cel-go interpreter/interpretable.go, runtimecost.go, common/decls/decls.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from webhook.cel.costs import CostFunction
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.runtime import operators
from webhook.cel.runtime.dispatch import OPERATORS, PATTERN_AT, PLANNED, callable_of, charge, overloads_of
from webhook.cel.runtime.meter import SHARE
from webhook.cel.runtime.writer import Operand, Writer
from webhook.cel.types.values import Optional, Value, python_type

if TYPE_CHECKING:
    from webhook.cel.overloads import Overload
    from webhook.cel.syntax import ast

_MANY: Final = 256
"""The number of elements from which the cost of a call on a list is checked before the call."""
_NOT_CALLED: Final = EvaluationError("not called")


def emit_call(writer: Writer, node: ast.Call, *, caught: bool) -> Operand:
    """Writes a call of a function.

    cel-go replans a call with a constant pattern, as one with any number of arguments (interpreter/optimizations.go).
    """
    arguments = [*node.children()]
    function = node.function
    if function in PATTERN_AT and type(writer.constant_of(node.arguments[PATTERN_AT[function]])) is str:
        function = PLANNED
    overloads = overloads_of(node, writer.scope)
    cost = charge(node.function, overloads, writer.scope)

    def make() -> Operand:
        *first, last = arguments
        operands = [*(writer.emit(each, caught=False) for each in first), writer.emit(last)]
        if isinstance(cost, int):
            writer.spend(cost)
        return writer.raise_failure(_emit_made(writer, function, operands, overloads, cost))

    dispatches = len(overloads) > 1 and function not in OPERATORS
    if dispatches or len(arguments) > 2 or function is PLANNED or any(each.stops_early for each in overloads):  # noqa: PLR2004 - a pair
        return writer.guarded(make, caught=caught)
    if isinstance(cost, int):
        writer.spend(cost)
    operands = [writer.emit(each) for each in arguments]
    return _emit_made(writer, function, operands, overloads, cost)


def _emit_made(
    writer: Writer, function: str, operands: list[Operand], overloads: tuple[Overload, ...], cost: int | CostFunction
) -> Operand:
    results = {python_type(overload.result) for overload in overloads}
    cls = results.pop() if len(results) == 1 else None
    made = Operand(writer.name(), cls)
    function_of = writer.given(callable_of(function, overloads, len(operands)))
    call = f"{made.text} = {function_of}({', '.join(('meter', *(each.text for each in operands)))})"
    if isinstance(cost, int):
        writer.line(call)
    else:
        writer.settle()
        _emit_sized(writer, operands, overloads, cost, made.text, call)
        writer.look()
    return writer.settled(made)


def _emit_sized(
    writer: Writer, operands: list[Operand], overloads: tuple[Overload, ...], cost: CostFunction, made: str, call: str
) -> None:
    """Writes a call whose cost depends on sizes; after one on a list of any values, the clock is checked soon."""
    known = writer.given(cost)
    arguments = f"({''.join(f'{each.text}, ' for each in operands)})"
    is_list = ""
    if operands and any(python_type(each.parameters[0]) in {None, list} for each in overloads if each.parameters):
        is_list = f"type({operands[0].text}) is list"
        writer.line(f"if {is_list} and len({operands[0].text}) > {_MANY}: afford(left, {known}, {arguments})")
    writer.line(call)
    writer.line(f"left -= {known}({arguments}, {made})")
    if is_list:
        writer.line(f"if {is_list}: mark += {SHARE}")


def emit_choice(writer: Writer, node: ast.Call) -> Operand:
    """Writes `a.or(b)` or `a.orValue(b)`: the second is evaluated only if the first is an absent optional."""
    target, other = node.children()
    operand = writer.emit(target)
    result = writer.name()
    is_certain = operand.cls is Optional and not operand.fails
    if not is_certain:
        with writer.block(f"if type({operand.text}) is not Optional:"):
            writer.line(f"{result} = {operand.text}")
            if writer.scope.options.strict_optionals:
                refused = writer.given(operators.no_such_overload())
                writer.line(f"if type({result}) is not EvaluationError: {result} = {refused}")
    with writer.block(f"{'if' if is_certain else 'elif'} {operand.text}.present:"):
        writer.line(f"{result} = {operand.text}{'.value' if node.function == 'orValue' else ''}")
    with writer.block("else:"):
        second = writer.emit(other)
        writer.line(f"{result} = {second.text}")
    if not is_certain or second.fails or node.function == "or":
        return Operand(result)
    return Operand(result, fails=False)


# -- called by the source


def afford(left: int, cost: CostFunction, arguments: Sequence[Value]) -> None:
    """Stops an evaluation before a call whose arguments alone cost more than is left.

    Raises:
        CostLimitExceededError: The call costs too much.
    """
    if EvaluationError not in map(type, arguments) and cost(arguments, _NOT_CALLED) > left:
        raise CostLimitExceededError
