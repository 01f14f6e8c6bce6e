"""Writes calls of functions.

A call with an argument that is an error is an error, which `||` may absorb. cel-go still counts the call: with
two arguments after evaluating both, with three or more (or an overload chosen at run time) only if none but the last
failed (cel-go interpreter/interpretable.go, runtimecost.go, common/decls/decls.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from webhook.cel.cost.calls import CostFunction
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.runtime import operators
from webhook.cel.runtime.dispatch import BUILT, OPERATORS, PATTERN_AT, PLANNED, callable_of, charge, overloads_of
from webhook.cel.runtime.meter import SHARE
from webhook.cel.runtime.sizes import COSTS, plus, size
from webhook.cel.runtime.writer import Operand, Writer
from webhook.cel.types.base import STRING
from webhook.cel.types.values import INT_MAX, INT_MIN, Optional, Value, python_type
from webhook.records import NamedTuple

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
    cost = charge(overloads, writer.scope.call_costs.get(node.function))

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
    writer: Writer,
    function: str,
    operands: list[Operand],
    overloads: tuple[Overload, ...],
    cost: int | CostFunction,
) -> Operand:
    results = {python_type(overload.result) for overload in overloads}
    cls = results.pop() if len(results) == 1 else None
    made = Operand(writer.name(), cls)
    call = writer.given(callable_of(function, overloads, len(operands)))
    otherwise = f"{made.text} = {call}({', '.join(('meter', *(each.text for each in operands)))})"
    builds = any(overload.result.kind in BUILT for overload in overloads)
    ways = direct(made.text, operands, overloads)
    if function is PLANNED and not builds:  # errors are raised, and handled around the call
        ways = called(writer, operands, overloads)
    source, condition = ways[0] if ways else ("", "")
    if isinstance(cost, int):
        if not source:
            writer.line(otherwise)
        elif builds:
            for index, (source, condition) in enumerate(ways):
                start = f"{'elif' if index else 'if'} {condition}: {made.text} = {source}"
                writer.line(f"{start}; {writer.built(made.text)}")
            made = made._replace(fails=writer.otherwise("else:", otherwise, made.text))
        elif condition == "True":
            writer.line(f"{made.text} = {source}")
            return made._replace(fails=False)
        elif writer.gives_up:
            writer.line(f"if {condition}: {made.text} = {source}")
            made = made._replace(fails=writer.otherwise("else:", otherwise, made.text))
        else:
            writer.line(f"{made.text} = {source} if {condition} else {otherwise.partition(' = ')[2]}")
        return made
    sized = COSTS.get(cost)
    if source and sized is not None:
        count = f"; {writer.built(made.text)}" if builds else ""
        before = writer.unsettled()
        spent = plus(sized(*map(size, operands)), before)
        writer.line(f"if {condition}: left -= {spent}; {made.text} = {source}{count}")
        with writer.block("else:"):
            writer.spend(before)
            writer.settle()
            _emit_sized(writer, operands, overloads, cost, made.text, otherwise)
            made = writer.settled(made)
        writer.look()
    else:
        writer.settle()
        _emit_sized(writer, operands, overloads, cost, made.text, otherwise)
        writer.look()
    return made


def _emit_sized(
    writer: Writer,
    operands: list[Operand],
    overloads: tuple[Overload, ...],
    cost: CostFunction,
    made: str,
    call: str,
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


_BOTH_TEXTS: Final = (str, str)
_BOTH_WHOLE: Final = (int, int)
_COMPARED: Final = (_BOTH_WHOLE, _BOTH_TEXTS)
_IN_RANGE: Final = f"{INT_MIN} <= ({{r}} := {{0}} {{sign}} {{1}}) <= {INT_MAX}"
_POSITIVE: Final = "{0} >= 0 and {1} > 0"
_SHORT: Final = "len({0}) + len({1}) < 4096"


class _Direct(NamedTuple):
    """A Python expression in place of an implementation.

    Args:
        source: The expression, with the arguments as `{0}` and `{1}` and the result as `{r}`.
        classes: The classes of the arguments; None for any.
    """

    source: str
    classes: tuple[tuple[type | None, ...], ...]
    condition: str = ""


def _checked(sign: str) -> _Direct:
    return _Direct("{r}", (_BOTH_WHOLE,), _IN_RANGE.replace("{sign}", sign))


_DIRECT: Final[Mapping[Callable[..., Value], tuple[_Direct, ...]]] = {
    operators.less: (_Direct("{0} < {1}", _COMPARED),),
    operators.less_equal: (_Direct("{0} <= {1}", _COMPARED),),
    operators.greater: (_Direct("{0} > {1}", _COMPARED),),
    operators.greater_equal: (_Direct("{0} >= {1}", _COMPARED),),
    operators.add: (_checked("+"), _Direct("{0} + {1}", (_BOTH_TEXTS, (list, list)), _SHORT)),
    operators.subtract: (_checked("-"),),
    operators.multiply: (_checked("*"),),
    operators.divide: (_Direct("{0} // {1}", (_BOTH_WHOLE,), _POSITIVE),),
    operators.modulo: (_Direct("{0} % {1}", (_BOTH_WHOLE,), _POSITIVE),),
    operators.starts_with: (_Direct("{0}.startswith({1})", (_BOTH_TEXTS,)),),
    operators.ends_with: (_Direct("{0}.endswith({1})", (_BOTH_TEXTS,)),),
    operators.contains_text: (_Direct("{1} in {0}", (_BOTH_TEXTS,)),),
    operators.identity: (_Direct("{0}", ((str,), (int,), (bool,))),),
    operators.has_value: (_Direct("{0}.present", ((Optional,),)),),
    operators.value_of: (_Direct("{0}.value", ((Optional,),), "{0}.present"),),
    operators.of_non_zero: (_Direct("Optional({0})", ((None,),), "type({0}) is list and {0}"),),
    len: (_Direct("len({0})", ((list,), (str,), (dict,))),),
}


def direct(result: str, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
    """The Python expressions for a call, as source, each with its condition."""
    chosen: dict[_Direct, list[str]] = {}
    for overload in overloads:
        parameters = tuple(map(python_type, overload.parameters))
        for each in _DIRECT.get(overload.implementation, ()) if overload.implementation is not None else ():
            for classes in each.classes:
                condition = _condition(operands, classes) if classes == parameters else None
                if condition is not None:
                    chosen.setdefault(each, []).append(condition)
    texts = [operand.text for operand in operands]
    ways = []
    for way, conditions in chosen.items():
        condition = "" if "" in conditions else f"({' or '.join(conditions)})" if conditions[1:] else conditions[0]
        beside = way.condition.format(*texts, r=result)
        ways.append((way.source.format(*texts, r=result), " and ".join(filter(None, (condition, beside))) or "True"))
    return ways


def called(writer: Writer, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
    """The call of the implementation itself, for texts."""
    texts = [overload for overload in overloads if {*overload.parameters} == {STRING}]
    condition = _condition(operands, [str] * len(operands)) if len(overloads) == len(texts) == 1 else None
    if condition is None:
        return []
    source = f"{writer.given(texts[0].implementation)}({', '.join(operand.text for operand in operands)})"
    return [(source, condition or "True")]


def _condition(operands: list[Operand], classes: Iterable[type | None]) -> str | None:
    """The condition that operands have some classes; None if one never has."""
    unknown = []
    for operand, cls in zip(operands, classes, strict=True):
        if cls is None:
            continue
        if operand.fails or operand.cls is None:
            unknown.append(f"type({operand.text}) is {cls.__name__}")
        elif operand.cls is not cls:
            return None
    return " and ".join(unknown)
