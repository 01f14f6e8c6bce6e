"""Writes calls of functions, and of `&&`, `||`, `==`, `!=`, `in` and `!`.

Errors of terms are values here: unless another term decides, the first error is the result.

A call with an argument that is an error is an error, which `||` may absorb. cel-go still counts the call: with
two arguments after evaluating both, with three or more (or an overload chosen at run time) only if none but the last
failed (cel-go interpreter/interpretable.go, runtimecost.go, common/decls/decls.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from webhook.cel.errors import CostLimitExceededError, EvaluationError, crash
from webhook.cel.functions import CostFunction, traversal
from webhook.cel.runtime.constants import is_in_list
from webhook.cel.runtime.dispatch import PATTERN_AT, PLANNED, callable_of, charge
from webhook.cel.runtime.meter import SHARE, caught
from webhook.cel.runtime.operators import OPERATORS, contains, equal, no_such_overload
from webhook.cel.runtime.writer import NOT_CONSTANT, Operand, Writer
from webhook.cel.types.values import PLAIN_CLASSES, Optional, UInt, Value, are_comparable, go_type, python_type, size_of

if TYPE_CHECKING:
    from webhook.cel.functions import Overload
    from webhook.cel.syntax import ast
    from webhook.cel.syntax.ast import Expression


_MANY: Final = 256
"""The number of elements from which the cost of a call on a list is checked before the call."""
_NOT_CALLED: Final = EvaluationError("not called")
_DIRECT: Final = {
    "size": "if type({1}) in SIZED: {0} = len({1})",
    **{
        f"_{sign}_": f"if type({{1}}) is type({{2}}) in ORDERED: {{0}} = {{1}} {sign} {{2}}"
        for sign in ("<", "<=", ">", ">=")
    },
}
"""What operators come to for the usual values, without a call."""


def emit_call(writer: Writer, node: ast.Call, *, caught: bool) -> Operand:
    """Write a call of a function.

    cel-go replans a call with a constant pattern, as one with any number of arguments (interpreter/optimizations.go).
    """
    arguments = [*node.children()]
    function = node.function
    if function in PATTERN_AT and type(writer.constant_of(node.arguments[PATTERN_AT[function]])) is str:
        function = PLANNED
    overloads = node.overloads or ()
    cost = charge(node.function, overloads, writer.scope)

    def make() -> Operand:
        *first, last = arguments
        operands = [*(writer.emit(each, caught=False) for each in first), writer.emit(last)]
        if cost is None:
            writer.spend(1)
        return writer.raise_failure(_emit_made(writer, function, operands, overloads, cost))

    dispatches = len(overloads) > 1 and function not in OPERATORS
    if dispatches or len(arguments) > 2 or function is PLANNED or any(each.stops_early for each in overloads):  # noqa: PLR2004 - a pair
        return writer.guarded(make, caught=caught)
    if cost is None:
        writer.spend(1)
    operands = [writer.emit(each) for each in arguments]
    return _emit_made(writer, function, operands, overloads, cost)


def _emit_made(
    writer: Writer, function: str, operands: list[Operand], overloads: tuple[Overload, ...], cost: CostFunction | None
) -> Operand:
    results = {python_type(overload.result) for overload in overloads}
    cls = results.pop() if len(results) == 1 else None
    made = Operand(writer.name(), cls)
    function_of = writer.given(callable_of(function, overloads, len(operands)))
    texts = [each.text for each in operands]
    call = f"{made.text} = {function_of}({', '.join(('meter', *texts))})"
    if cost is None and function in _DIRECT:
        writer.line(_DIRECT[function].format(made.text, *texts))
        return made._replace(fails=writer.otherwise("else:", call, made.text))
    if cost is None:
        writer.line(call)
        return writer.settled(made)
    writer.settle()  # the cost depends on sizes; after a call on a list of any values, the clock is checked soon
    known = writer.given(cost)
    arguments = f"({''.join(f'{each.text}, ' for each in operands)})"
    is_list = ""
    if operands and any(python_type(each.parameters[0]) in {None, list} for each in overloads if each.parameters):
        is_list = f"type({operands[0].text}) is list"
        writer.line(f"if {is_list} and len({operands[0].text}) > {_MANY}: afford(left, {known}, {arguments})")
    writer.line(call)
    writer.line(f"left -= {known}({arguments}, {made.text})")
    if is_list:
        writer.line(f"if {is_list}: mark += {SHARE}")
    writer.look()
    return writer.settled(made)


def emit_choice(writer: Writer, node: ast.Call) -> Operand:
    """Write `a.or(b)` or `a.orValue(b)`: the second is evaluated only if the first is an absent optional."""
    target, other = node.children()
    operand = writer.emit(target)
    result = writer.name()
    is_certain = operand.cls is Optional and not operand.fails
    if not is_certain:
        with writer.block(f"if type({operand.text}) is not Optional:"):
            writer.line(f"{result} = {operand.text}")
            if writer.scope.options.strict_optionals:
                refused = writer.given(no_such_overload())
                writer.line(f"if type({result}) is not EvaluationError: {result} = {refused}")
    with writer.block(f"{'if' if is_certain else 'elif'} {operand.text}.present:"):
        writer.line(f"{result} = {operand.text}{'.value' if node.function == 'orValue' else ''}")
    with writer.block("else:"):
        second = writer.emit(other)
        writer.line(f"{result} = {second.text}")
    return Operand(result, fails=not is_certain or second.fails or node.function == "or")


_SCALARS: Final = frozenset({bool, int, float, type(None)})
_DIRECTLY_EQUAL: Final = frozenset({bool, int, str})
_PRIMITIVES: Final = frozenset({bool, int, UInt, float, str})
_LONG: Final = 256
"""The number of elements of a list in which a text is searched with a check of the clock."""
_ANSWERING: Final = PLAIN_CLASSES - {Optional}
"""Classes whose values can be compared with any value."""


def emit_terms(writer: Writer, terms: Sequence[Expression], *, stop: bool) -> Operand:
    """Write `a && b && …` or `a || b || …`: `stop` if any term is `stop`, else the first error, else the opposite."""
    result, failure, fails = writer.name(), writer.name(), False
    writer.line(f"{result} = {not stop}" if writer.gives_up else f"{result}, {failure} = {not stop}, None")
    with writer.block("while True:"):
        for group, is_apart in writer.groups(terms):
            write = partial(emit_terms, writer, group, stop=stop)
            term = writer.truth(writer.apart(write) if is_apart else writer.emit(group[0]))
            writer.settle()
            writer.line(f"if {term.text} is {stop}: {result} = {stop}; break")
            if term.fails or term.cls is not bool:
                fails = True
                writer.line(f"if {term.text} is not {not stop}: {failure} = {failure} or not_bool({term.text})")
        writer.line(f"{result} = {failure} or {result}; break" if fails else "break")
    return Operand(result, bool, fails)


def emit_negation(writer: Writer, argument: Expression) -> Operand:
    """Write `!a`."""
    writer.spend(1)
    operand = writer.truth(writer.emit(argument))
    text = operand.text
    if operand.cls is bool and not operand.fails:
        return Operand(writer.set(f"not {text}"), bool, fails=False)
    return Operand(writer.set(f"{text} is False if type({text}) is bool else not_bool({text})"), bool)


def emit_equality(writer: Writer, node: ast.Call) -> Operand:
    """Write `a == b` or `a != b`; the cost depends on the smaller size. Most compare texts, without a call."""
    first, second = (writer.emit(each) for each in node.arguments)
    negated = node.function == "_!=_"
    result = writer.name()
    arguments = f"left, {first.text}, {second.text}, {negated}"
    fails = first.fails or second.fails or not (negated or first.cls in _ANSWERING)
    writer.settle()
    cls = first.cls or second.cls or str
    if cls in _DIRECTLY_EQUAL and {first.cls, second.cls} <= {cls, None}:
        unknown = [each.text for each in (first, second) if each.cls is None or each.fails]
        one, other = (len(each.value) if type(each.value) is str else f"len({each.text})" for each in (first, second))
        header = f"if {' and '.join(f'type({each}) is {cls.__name__}' for each in unknown) or True}: "
        sign = "!=" if negated else "=="
        cost = f"(({one} if {one} < {other} else {other}) + 9) // 10" if cls is str else "1"
        writer.line(f"{header}left -= {cost}; {result} = {first.text} {sign} {second.text}")
        fails &= writer.otherwise("else:", f"left, {result} = same({arguments})", result)
    else:
        writer.line(f"left, {result} = same({arguments})")
    return writer.settled(Operand(result, bool, fails))


def emit_membership(writer: Writer, node: ast.Call) -> Operand:
    """Write `a in b`, which costs the length of a list, if the checker found one.

    A list of constants is a set, whose lookup is free in cel-go.
    """
    constants: Value = writer.constant_of(node.arguments[1]) if is_in_list(node) else NOT_CONSTANT
    if constants is not NOT_CONSTANT and all(type(each) in _PRIMITIVES for each in constants):
        operand = writer.emit(node.arguments[0])
        found = f"{operand.text} in {writer.given(frozenset(each for each in constants if type(each) is str))}"
        slow = f"among({operand.text}, {writer.given(constants)})"
        return Operand(writer.set(f"{found} if type({operand.text}) is str else {slow}"), bool, operand.fails)
    first, second = (writer.emit(each) for each in node.arguments)
    item, container = first.text, second.text
    result, is_list = writer.name(), is_in_list(node)
    writer.settle()
    is_short = f"type({container}) is list and len({container}) < {_LONG}"
    is_plain = f"type({item}) is str and ({is_short if is_list else f'type({container}) is dict or {is_short}'})"
    paid = f"left -= len({container}); " if is_list else ""
    writer.line(f"if {is_plain}: {paid}{result} = {item} in {container}")
    writer.line(f"else: left, {result} = member(left, {item}, {container}, {is_list})")
    writer.spend(0 if is_list else 1)
    writer.look()
    return Operand(result, bool)


# -- called by the source


def afford(left: int, cost: CostFunction, arguments: Sequence[Value]) -> None:
    """Stop an evaluation before a call whose arguments alone cost more than is left.

    Raises:
        CostLimitExceededError: The call costs too much.
    """
    if EvaluationError not in map(type, arguments) and cost(arguments, _NOT_CALLED) > left:
        raise CostLimitExceededError


def not_bool(value: Value) -> EvaluationError:
    """The error for a value that is not a bool: the value itself, if it is an error."""
    return value if type(value) is EvaluationError else no_such_overload()


def same(left: int, first: Value, second: Value, negated: bool) -> tuple[int, Value]:
    """`first == second` for values of any kind, or errors: the rest of the cost, and the result."""
    cls, other = type(first), type(second)
    if cls in _SCALARS and other in _SCALARS:
        return left - 1, equal(first, second) is not negated
    own: int | None = None if negated else getattr(first, "cel_equality_cost", None)
    left -= traversal(min(size_of(first), size_of(second))) if own is None else own
    if cls is EvaluationError:
        return left, first
    if other is EvaluationError:
        return left, second
    if not are_comparable(first, second):
        return left, True if negated else no_such_overload()
    return left, equal(first, second) is not negated


def member(left: int, item: Value, container: Value, is_list: bool) -> tuple[int, Value]:
    """`item in container` for values of any kind, or errors: the rest of the cost, and the result."""
    result: Value = item if type(item) is EvaluationError else container
    if type(result) is not EvaluationError:
        try:
            result = contains(item, container)
        except EvaluationError:
            result = caught()
    return left - (size_of(container) if is_list else 0), result


def among(item: Value, container: list[Value]) -> Value:
    """`item in container` for constants, or an error; cel-go keeps them in a Go map, so the item must be hashable."""
    if type(item) is bytes or getattr(item, "cel_has_slices", False):
        raise crash(f"runtime error: hash of unhashable type {go_type(item)}")
    return item if type(item) is EvaluationError else contains(item, container)
