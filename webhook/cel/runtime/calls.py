"""Calls of functions: which overload runs, and what it costs.

A call with an argument that is an error is an error, which `||` may absorb; cel-go counts the call all the same: with
two arguments after evaluating both, with three or more (or an overload chosen at run time) only if none but the last
failed (cel-go interpreter/interpretable.go, runtimecost.go, common/decls/decls.go).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from webhook.cel.cost.calls import of_scan, scan
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.runtime import operators
from webhook.cel.runtime.meter import SHARE, Meter, caught, count_built, count_bytes
from webhook.cel.runtime.sizes import COSTS, plus, size
from webhook.cel.runtime.writer import Operand, Writer
from webhook.cel.types.base import STRING, UNKNOWN_KINDS, Kind, Type, list_of
from webhook.cel.types.values import INT_MAX, INT_MIN, PLAIN_CLASSES, Optional, Value, from_key, python_type, type_of
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from webhook.cel.checker.scope import Scope
    from webhook.cel.cost.calls import CallCost, CostFunction
    from webhook.cel.overloads import Overload
    from webhook.cel.syntax import ast

_BUILT: Final = frozenset({Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})
"""Kinds whose values a call may have built."""
_CONTAINERS: Final = frozenset({Kind.LIST, Kind.MAP})
_TEXT_BYTES: Final = 64
"""The bytes that a short text takes, or a little more."""
_MANY: Final = 256
"""The number of elements from which the cost of a call on a list is checked before the call."""
_TEXTS: Final = list_of(STRING)
_ANYTHING: Final = UNKNOWN_KINDS | {Kind.PARAMETER}
_ELEMENTS: Final = PLAIN_CLASSES - {list, dict} | {None}
"""The classes of first elements of lists, or none of an empty one, that decide without a look at the values."""
_NOT_CALLED: Final = EvaluationError("not called")
# Operators take any values and refuse unsuitable ones themselves.
_OPERATORS: Final[Mapping[str, Callable[..., Value]]] = {
    "_+_": operators.add, "_-_": operators.subtract, "_*_": operators.multiply, "_/_": operators.divide,
    "_%_": operators.modulo, "_<_": operators.less, "_<=_": operators.less_equal, "_>_": operators.greater,
    "_>=_": operators.greater_equal, "-_": operators.negate, "!_": operators.logical_not, "size": operators.size,
}  # fmt: skip
PLANNED: Final = ""
"""Stands for a function that is specialised for one constant pattern."""
_INSIDE: Final = frozenset({Optional, Type})
"""Classes of values that hold another value in Go."""
PATTERN_AT: Final = {"matches": -1, "find": 0, "findAll": 0}
"""The argument of a function that is a pattern."""
# Where cel-go's refusal does not name the types of the arguments (cel-go common/stdlib/standard.go).
_REFUSALS: Final = {
    **dict.fromkeys(("startsWith", "endsWith", "contains"), "no such overload"),
    **{name: f"no such overload: {name}" for name in ("sort", "@sortByAssociatedKeys", "matches")},
    PLANNED: "no such overload",
}


# -- which overload


def fits(value: Value, type_: Type) -> bool:
    """Whether a value can be passed as a declared type; the first element decides for a list or map.

    Follows defaultIsAssignableRuntimeType in cel-go's common/types/types.go.
    """
    if type_.kind is Kind.LIST:
        return type(value) is list and (not value or fits(value[0], type_.parameters[0]))
    if type_.kind is Kind.MAP:
        return isinstance(value, dict) and all(
            fits(from_key(key), type_.parameters[0]) and fits(each, type_.parameters[1])
            for key, each in islice(value.items(), 1)
        )
    return _is_of(value, type_)


def _is_of(value: Value, type_: Type) -> bool:
    """Like `fits`, without looking into lists and maps."""
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
    if text is not None and type(arguments[0]) in operators.RECEIVERS and function != "matches":
        return operators.no_such_overload()
    return EvaluationError(
        text or f"no such overload: {function}({', '.join(type_of(each).name for each in arguments)})"
    )


def _native(value: Value) -> Value:
    """The subject of a function with a constant pattern: the Go value inside (cel-go interpreter/optimizations.go)."""
    while type(value) is Optional and value.present:
        value = value.value
    return value.name if type(value) is Type else value


def _sort(values: list[Value]) -> tuple[type, type | None]:
    """The classes of a list and its first element, which decide as that stands for all."""
    return list, type(values[0]) if values else None


class _Dispatcher:
    """The possible overloads of a call; the arguments choose one.

    Args:
        function: The function's name.
        overloads: The overloads, in the order in which they are tried.
    """

    __slots__ = ("_candidates", "_function", "_looks_inside", "_operator", "known")

    def __init__(self, function: str, overloads: tuple[Overload, ...]) -> None:
        self._function = function
        self._operator = _OPERATORS.get(function)
        self._candidates = [each for each in overloads if each.implementation is not None]
        self._looks_inside = any(
            part.kind not in _ANYTHING
            for each in self._candidates
            if each.guarded
            for type_ in each.parameters
            if type_.kind in _CONTAINERS
            for part in type_.parameters
        )
        self.known: Final[dict[object, Callable[..., Value]]] = {}
        """The implementations, where classes alone decide."""

    def find(self, key: object, *arguments: Value) -> Callable[..., Value]:
        """The implementation for some arguments; it is cached if classes alone decide.

        Raises:
            EvaluationError: No overload fits, or an argument is an error, which is raised.
        """
        if key is list and (known := self.known.get(_sort(arguments[0]))):
            return known
        for each in arguments:
            if type(each) is EvaluationError:
                raise each
        if self._function is PLANNED and not _INSIDE.isdisjoint(map(type, arguments)):
            inside = [*map(_native, arguments)]
            if _INSIDE.isdisjoint(map(type, inside)):
                planned = self.find(tuple(map(type, inside)), *inside)
                return lambda *_: planned(*inside)
        found = self._chosen(arguments)
        if PLAIN_CLASSES.issuperset(map(type, arguments)) and not self._looks_inside:
            self.known[key] = found
        elif key is list and _sort(arguments[0])[1] in _ELEMENTS:
            self.known[_sort(arguments[0])] = found
        return found

    def _chosen(self, arguments: Sequence[Value]) -> Callable[..., Value]:
        for overload in self._candidates:
            parameters, found = overload.parameters, overload.implementation
            may_take = fits if overload.guarded else _is_of
            if found is not None and len(parameters) == len(arguments) and all(map(may_take, arguments, parameters)):
                return found
        if self._operator is None or not self._candidates:
            raise refusal(self._function, arguments)
        return self._operator


@lru_cache(maxsize=1024)
def callable_of(function: str, overloads: tuple[Overload, ...], arity: int) -> Callable[..., Value]:
    """A function that makes a call: it takes a meter and the arguments, and gives the result or the error.

    An argument that is an error is the result. Memory that the call may have built is counted.

    Args:
        function: The function's name.
        overloads: The overloads that may apply; a single one, if the checker could tell.
        arity: The number of arguments.
    """
    dispatcher = _Dispatcher(function, overloads)
    known, find = dispatcher.known, dispatcher.find
    builds = any(overload.result.kind in _BUILT for overload in overloads)
    builds_texts = any(overload.result == _TEXTS for overload in overloads)

    def count_texts(meter: Meter, result: Value) -> Value:
        if type(result) is list:
            count_bytes(meter, len(result) * _TEXT_BYTES)
        return count_built(meter, result)

    count = count_texts if builds_texts else count_built

    def unary(meter: Meter, value: Value) -> Value:
        cls = type(value)
        try:
            result = (known.get(cls) or find(cls, value))(value)
        except EvaluationError:
            return caught()
        return count(meter, result) if builds else result

    def binary(meter: Meter, first: Value, second: Value) -> Value:
        classes = type(first), type(second)
        try:
            result = (known.get(classes) or find(classes, first, second))(first, second)
        except EvaluationError:
            return caught()
        return count(meter, result) if builds else result

    def other(meter: Meter, *arguments: Value) -> Value:
        classes = tuple(map(type, arguments))
        try:
            result = (known.get(classes) or find(classes, *arguments))(*arguments)
        except EvaluationError:
            return caught()
        return count(meter, result) if builds else result

    if arity == 1:
        return unary
    return binary if arity == 2 else other  # noqa: PLR2004 - the most frequent arities


def charge(overloads: Sequence[Overload], by_name: CallCost | None) -> int | CostFunction:
    """The cost of a call; with several possible overloads, cel-go counts 1."""
    own: int | CostFunction = overloads[0].cost if len(overloads) == 1 else 1
    if by_name is None or not overloads:
        return own
    if by_name is of_scan:
        return scan
    id_ = overloads[0].id if len(overloads) == 1 else ""

    def cost(arguments: Sequence[Value], result: Value) -> int:
        named = by_name(id_, arguments, result)
        if named is not None:
            return named
        return own if isinstance(own, int) else own(arguments, result)

    return cost


def overloads_of(node: ast.Call, scope: Scope) -> tuple[Overload, ...]:
    """The possible overloads of a call: those that the checker found, else all with as many parameters."""
    if node.overloads is not None:
        return node.overloads
    arity = len(node.arguments) + (node.target is not None)
    functions = scope.functions
    name = next((each for each in scope.candidates(node.function) if each in functions), node.function)
    return tuple(overload for overload in functions.get(name, ()) if len(overload.parameters) == arity)


# -- writing source

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
        condition: A further condition.
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
_OF_WHOLE: Final[Mapping[str, tuple[str, str]]] = {
    "list_int_max_int": ("max({0})", "{0}"),
    "list_int_min_int": ("min({0})", "{0}"),
    "list_int_sum_int": ("{r}", f"{{0}} and min({{0}}) >= 0 and ({{r}} := sum({{0}})) <= {INT_MAX}"),
}
"""Python expressions with their conditions for lists that are known to hold integers; no partial sum is too large."""


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

    dispatches = len(overloads) > 1 and function not in _OPERATORS
    if dispatches or len(arguments) > 2 or function is PLANNED or any(each.stops_early for each in overloads):  # noqa: PLR2004 - see above
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
    made = Operand(writer.name(), results.pop() if len(results) == 1 else None)
    call = writer.given(callable_of(function, overloads, len(operands)))
    otherwise = f"{made.text} = {call}({', '.join(('meter', *(each.text for each in operands)))})"
    builds = any(overload.result.kind in _BUILT for overload in overloads)
    ways = (_scanning if cost is scan else _direct)(made.text, operands, overloads)
    if function is PLANNED and not builds:  # errors are raised, and handled around the call
        ways = _called(writer, operands, overloads)
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


def _direct(result: str, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
    """The Python expressions for a call, as source, each with its condition."""
    chosen: dict[_Direct, list[str]] = {}
    for overload in overloads:
        parameters = tuple(map(python_type, overload.parameters))
        for direct in _DIRECT.get(overload.implementation, ()) if overload.implementation is not None else ():
            for classes in direct.classes:
                condition = _condition(operands, classes) if classes == parameters else None
                if condition is not None:
                    chosen.setdefault(direct, []).append(condition)
    texts = [operand.text for operand in operands]
    ways = []
    for direct, conditions in chosen.items():
        condition = "" if "" in conditions else f"({' or '.join(conditions)})" if conditions[1:] else conditions[0]
        beside = direct.condition.format(*texts, r=result)
        ways.append((direct.source.format(*texts, r=result), " and ".join(filter(None, (condition, beside))) or "True"))
    return ways


def _scanning(result: str, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
    """As `_direct`, for a function that looks at all values of a list."""
    values = operands[0]
    if values.item is not int or values.fails:
        return []
    known = [_OF_WHOLE[each.id] for each in overloads if each.id in _OF_WHOLE]
    return [
        (source.format(values.text, r=result), condition.format(values.text, r=result)) for source, condition in known
    ]


def _called(writer: Writer, operands: list[Operand], overloads: tuple[Overload, ...]) -> list[tuple[str, str]]:
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
        writer.line(f"{result} = {writer.emit(other).text}")
    return Operand(result)


# -- called by the source


def afford(left: int, cost: CostFunction, arguments: Sequence[Value]) -> None:
    """Stops an evaluation before a call whose arguments alone cost more than is left.

    Raises:
        CostLimitExceededError: The call costs too much.
    """
    if EvaluationError not in map(type, arguments) and cost(arguments, _NOT_CALLED) > left:
        raise CostLimitExceededError
