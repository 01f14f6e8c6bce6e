"""Calls of functions: which overload runs, and what it costs.

A call whose argument is an error is an error, and `||` may absorb it; cel-go has then counted it all the same: a call
of two arguments after evaluating both, one of three or more only if none but the last failed (cel-go
interpreter/interpretable.go, runtimecost.go).
"""

from __future__ import annotations

from functools import lru_cache
from sys import getsizeof
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.cel.cost.calls import of_argument, of_both, of_search, of_smaller
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.runtime import operators
from webhook.cel.runtime.logic import shorter_cost
from webhook.cel.runtime.meter import SHARE, Meter, count_bytes, hasten, look
from webhook.cel.runtime.writer import NOT_CONSTANT, Operand, Writer
from webhook.cel.types.base import STRING, UNKNOWN_KINDS, Kind, Type, list_of
from webhook.cel.types.values import PLAIN_CLASSES, Optional, Value, python_type, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from webhook.cel.checker.scope import Scope
    from webhook.cel.cost.calls import CallCost, CostFunction
    from webhook.cel.overloads import Overload
    from webhook.cel.syntax import ast
    from webhook.cel.syntax.ast import Expression

_BUILT: Final = frozenset({Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})
"""Kinds whose values a call may have built."""
_TEXT_BYTES: Final = 64
"""How many bytes a short text takes, or a little more."""
_MANY: Final = 256
"""From how many elements on it is asked what a call on a list costs before it is made."""
_TEXTS: Final = list_of(STRING)
_ANYTHING: Final = UNKNOWN_KINDS | {Kind.PARAMETER}
_FAILED: Final = EvaluationError("not called")
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


# -- which overload


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


class Dispatcher:
    """The overloads that a call may mean, of which one is chosen by the arguments.

    Args:
        function: The function's name.
        overloads: The overloads, in the order in which they are tried.
    """

    __slots__ = ("_candidates", "_function", "_operator", "known")

    def __init__(self, function: str, overloads: tuple[Overload, ...]) -> None:
        self._function = function
        self._operator = _OPERATORS.get(function)
        self._candidates = [each for each in overloads if each.implementation is not None]
        self.known: Final[dict[tuple[type, ...], Callable[..., Value]]] = {}
        """The implementations for classes that alone decide."""

    def find(self, arguments: Sequence[Value], classes: tuple[type, ...]) -> Callable[..., Value]:
        """The implementation for some arguments.

        Raises:
            EvaluationError: None fits, or an argument is an error, which is raised.
        """
        for each in arguments:
            if type(each) is EvaluationError:
                raise each
        for overload in self._candidates:
            parameters, found = overload.parameters, overload.implementation
            if found is not None and len(parameters) == len(arguments) and all(map(fits, arguments, parameters)):
                break
        else:
            if self._operator is None:
                raise refusal(self._function, arguments)
            found = self._operator
        if PLAIN_CLASSES.issuperset(classes):
            self.known[classes] = found
        return found


dispatcher: Final = lru_cache(maxsize=1024)(Dispatcher)


class Call(NamedTuple):
    """A call as it is made at run time.

    Args:
        known: Implementations by the classes of the arguments, where these decide.
        find: Finds the implementation for others.
        cost: What the call costs.
        builds: Whether its result may have been built, so that its bytes count.
        builds_texts: Whether the result is a list of texts that were built as well.
    """

    known: Mapping[tuple[type, ...], Callable[..., Value]]
    find: Callable[[Sequence[Value], tuple[type, ...]], Callable[..., Value]]
    cost: int | CostFunction
    builds: bool
    builds_texts: bool


def make_call(function: str, overloads: tuple[Overload, ...], by_name: CallCost | None) -> Call:
    """A call.

    Args:
        function: The function's name.
        overloads: Those that may apply; one, if the checker could tell.
        by_name: The environment's own cost of the function, if any.
    """
    chosen = dispatcher(function, overloads)
    builds = any(overload.result.kind in _BUILT for overload in overloads)
    builds_texts = any(overload.result == _TEXTS for overload in overloads)
    return Call(chosen.known, chosen.find, charge(overloads, by_name), builds, builds_texts)


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


def overloads_of(node: ast.Call, scope: Scope) -> tuple[Overload, ...]:
    """The overloads that a call may mean: what the checker found, else all with as many parameters."""
    if node.overloads is not None:
        return node.overloads
    arity = len(node.arguments) + (node.target is not None)
    functions = scope.functions
    name = next((each for each in scope.candidates(node.function) if each in functions), node.function)
    return tuple(overload for overload in functions.get(name, ()) if len(overload.parameters) == arity)


# -- what is written

_BOTH_TEXTS: Final = (str, str)
_COMPARED: Final = frozenset({(int, int), _BOTH_TEXTS})
_DIRECT: Final[Mapping[Callable[..., Value], tuple[str, frozenset[tuple[type, ...]]]]] = {
    operators.less: ("{0} < {1}", _COMPARED),
    operators.less_equal: ("{0} <= {1}", _COMPARED),
    operators.greater: ("{0} > {1}", _COMPARED),
    operators.greater_equal: ("{0} >= {1}", _COMPARED),
    operators.starts_with: ("{0}.startswith({1})", frozenset({_BOTH_TEXTS})),
    operators.ends_with: ("{0}.endswith({1})", frozenset({_BOTH_TEXTS})),
    operators.contains_text: ("{1} in {0}", frozenset({_BOTH_TEXTS})),
    len: ("len({0})", frozenset({(list,), (str,), (dict,)})),
}
"""Implementations that Python's own operators are for arguments of some classes, and these classes."""
_SIZED: Final[Mapping[CostFunction, Callable[..., str]]] = {
    of_argument(0): lambda first, *_: f"({first} + 9) // 10",
    of_smaller: shorter_cost,
    of_both: lambda first, second: f"({first} + {second} + 9) // 10",
    of_search: lambda first, second: f"(({first} + 9) // 10) * (({second} + 9) // 10)",
}
"""Costs of texts as source, by their sizes."""


def emit_call(writer: Writer, node: ast.Call, *, caught: bool) -> Operand:
    """Writes a call of a function."""
    arguments = [*node.children()]
    overloads = overloads_of(node, writer.scope)
    call = make_call(node.function, overloads, writer.scope.call_costs.get(node.function))
    if len(arguments) > 2:  # noqa: PLR2004  # see above
        return writer.guarded(lambda: _many_arguments(writer, arguments, overloads, call), caught=caught)
    if isinstance(call.cost, int):
        writer.spend(call.cost)
    operands = [writer.emit(each) for each in arguments]
    return _emit_made(writer, operands, overloads, call)


def _many_arguments(
    writer: Writer, arguments: list[Expression], overloads: tuple[Overload, ...], call: Call
) -> Operand:
    *first, last = arguments
    operands = [*(writer.emit(each, caught=False) for each in first), writer.emit(last)]
    if isinstance(call.cost, int):
        writer.spend(call.cost)
    return writer.raise_failure(_emit_made(writer, operands, overloads, call))


def _emit_made(writer: Writer, operands: list[Operand], overloads: tuple[Overload, ...], call: Call) -> Operand:
    classes = {python_type(overload.result) for overload in overloads}
    cls = classes.pop() if len(classes) == 1 else None
    result = writer.name()
    arguments = ", ".join((writer.given(call), *(each.text for each in operands)))
    direct, conditions = _direct(operands, overloads)
    if isinstance(call.cost, int):
        otherwise = f"attempt(meter, {arguments})"
        if not direct:
            writer.line(f"{result} = {otherwise}")
        elif not conditions:
            writer.line(f"{result} = {direct}")
            return Operand(result, cls, fails=False)
        else:
            writer.line(f"{result} = {direct} if {' or '.join(conditions)} else {otherwise}")
        return Operand(result, cls)
    sized = _SIZED.get(call.cost)
    writer.settle()
    otherwise = f"left, mark, {result} = perform(meter, left, mark, {arguments})"
    if not direct or sized is None:
        writer.line(otherwise)
        return Operand(result, cls)
    cost = sized(*map(_size, operands))
    writer.line(f"if {' or '.join(conditions) or 'True'}:")
    writer.line(f"\tleft -= {cost}; {result} = {direct}")
    writer.line("\tif left < mark: mark = look(meter, left)")
    writer.line(f"else: {otherwise}")
    return Operand(result, cls)


def _size(operand: Operand) -> str:
    return f"len({operand.text})" if operand.value is NOT_CONSTANT else str(len(operand.value))


def _direct(operands: list[Operand], overloads: tuple[Overload, ...]) -> tuple[str, list[str]]:
    """Python's own operator that does what a call does, and the conditions of which one must hold; empty if none is."""
    template = ""
    conditions = []
    for overload in overloads:
        found = _DIRECT.get(overload.implementation) if overload.implementation is not None else None
        classes = tuple(map(python_type, overload.parameters))
        if found is None or classes not in found[1]:
            continue
        unknown = []
        for operand, cls in zip(operands, classes, strict=True):
            if operand.fails or operand.cls is None:
                unknown.append(f"type({operand.text}) is {cls.__name__}")
            elif operand.cls is not cls:
                break
        else:
            template = found[0].format(*(operand.text for operand in operands))
            if not unknown:
                return template, []
            conditions.append(" and ".join(unknown))
    return template, conditions


def emit_choice(writer: Writer, node: ast.Call, *, caught: bool) -> Operand:
    """Writes `a.or(b)` or `a.orValue(b)`: the second is evaluated only if the first is absent."""
    target, other = node.children()

    def choose() -> Operand:
        operand = writer.emit(target, caught=False)
        result = writer.set(f"chosen({operand.text}, {node.function == 'orValue'})")
        with writer.block(f"if {result} is ABSENT:"):
            writer.line(f"{result} = {writer.emit(other, caught=False).text}")
        return Operand(result, fails=False)

    return writer.guarded(choose, caught=caught)


# -- what is called

ABSENT: Final = object()


def chosen(value: Value, unwrap: bool) -> Value:  # noqa: FBT001  # called from generated source
    """The value of an optional, unwrapped or not; `ABSENT` if there is none.

    Raises:
        EvaluationError: It is no optional.
    """
    if type(value) is not Optional:
        msg = "no such overload"
        raise EvaluationError(msg)
    if not value.present:
        return ABSENT
    return value.value if unwrap else value


def attempt(meter: Meter, call: Call, *arguments: Value) -> Value:
    """Makes a call; gives its result or error, which is that of an argument that is one."""
    known, find, _, builds, builds_texts = call
    classes = tuple(map(type, arguments))
    try:
        result = (known.get(classes) or find(arguments, classes))(*arguments)
    except EvaluationError as error:
        return error.with_traceback(None)
    if builds:
        texts = len(result) * _TEXT_BYTES if builds_texts and type(result) is list else 0
        count_bytes(meter, getsizeof(result) + texts)
    return result


def perform(meter: Meter, left: int, mark: int, call: Call, *arguments: Value) -> tuple[int, int, Value]:
    """Makes a call that costs by sizes, as `attempt`: what is left, the next mark, the result or error.

    A look at the clock is due soon after one on a list, whose elements may hold anything.

    Raises:
        CostLimitExceededError: A call on a long list costs more than is left, by its arguments alone.
    """
    cost = call.cost
    assert not isinstance(cost, int)  # noqa: S101  # else it is counted before
    is_list = bool(arguments) and type(arguments[0]) is list
    if is_list and len(arguments[0]) > _MANY and EvaluationError not in map(type, arguments):
        if cost(arguments, _FAILED) > left:
            raise CostLimitExceededError(left=-1)
    result = attempt(meter, call, *arguments)
    left -= cost(arguments, result)
    if is_list:
        return left, hasten(meter, left, mark, SHARE), result
    return left, look(meter, left) if left < mark else mark, result
