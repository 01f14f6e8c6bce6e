"""Calls of functions: which overload runs, and what it costs.

A call with an argument that is an error is an error (cel-go interpreter/interpretable.go, common/decls/decls.go).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError
from webhook.cel.functions import CostFunction
from webhook.cel.runtime.meter import Meter, caught, count_built
from webhook.cel.runtime.operators import OPERATORS, RECEIVERS, no_such_overload, refusal_of
from webhook.cel.types.base import STRING, UNKNOWN_KINDS, Kind, Type, list_of
from webhook.cel.types.values import OWN_CLASSES, PLAIN_CLASSES, Optional, Value, from_key, python_type, type_of

if TYPE_CHECKING:
    from webhook.cel.checker.declarations import Scope
    from webhook.cel.functions import Overload

BUILT: Final = frozenset({Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})
"""Kinds whose values a call may have built."""
_CONTAINERS: Final = frozenset({Kind.LIST, Kind.MAP})
_TEXT_BYTES: Final = 64
"""The bytes that a short text takes, or a little more."""
_TEXTS: Final = list_of(STRING)
_ANYTHING: Final = UNKNOWN_KINDS | {Kind.PARAMETER}
PLANNED: Final = ""
"""Stands for a function that is specialised for one constant pattern."""
_INSIDE: Final = frozenset({Optional, Type})
"""Classes of values that hold another value in Go."""
PATTERN_AT: Final = {"matches": -1, "find": 0, "findAll": 0}
"""The argument of a function that is a pattern."""
# What cel-go's refusal names where it does not name the types of the arguments (cel-go common/stdlib/standard.go).
_REFUSALS: Final = {
    **dict.fromkeys(("startsWith", "endsWith", "contains", PLANNED), ""),
    **{name: name for name in ("sort", "@sortByAssociatedKeys", "matches")},
}


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
    if function in OPERATORS:
        return refusal_of(function, arguments[0])
    name = _REFUSALS.get(function)
    if name is not None and type(arguments[0]) in RECEIVERS and function != "matches":
        return no_such_overload()
    if name is not None:
        return no_such_overload(name)
    first, *others = (type_of(each).name for each in arguments)
    if function == "flatten":  # which names the call, and types with their parameters (cel-go ext/lists.go)
        first = "map(dyn, dyn)" if isinstance(arguments[0], dict) else first
        return no_such_overload(f"{first}.flatten({', '.join(others)})")
    return no_such_overload(f"{function}({', '.join((first, *others))})")


def _native(value: Value) -> Value:
    """The subject of a function with a constant pattern: the Go value inside (cel-go interpreter/optimizations.go)."""
    while type(value) is Optional and value.present:
        value = value.value
    return value.name if type(value) is Type else value


class _Dispatcher:
    """The possible overloads of a call, in the order in which they are tried; the arguments choose one."""

    __slots__ = ("_candidates", "_function", "_looks_inside", "known")

    def __init__(self, function: str, overloads: tuple[Overload, ...], arity: int) -> None:
        self._function = function
        self._candidates = [each for each in overloads if each.implementation and len(each.parameters) == arity]
        self._looks_inside = any(
            part.kind not in _ANYTHING
            for each in self._candidates
            if each.guarded
            for type_ in each.parameters
            if type_.kind in _CONTAINERS
            for part in type_.parameters
        )
        self.known: Final = dict(OPERATORS.get(function, {}))
        """The implementations, where classes alone decide."""

    def find(self, key: object, *arguments: Value) -> Callable[..., Value]:
        """The implementation for some arguments; it is cached if classes alone decide.

        Raises:
            EvaluationError: No overload fits, or an argument is an error, which is raised.
        """
        for each in arguments:
            if type(each) is EvaluationError:
                raise each
        if self._function is PLANNED and not _INSIDE.isdisjoint(map(type, arguments)):
            inside = [*map(_native, arguments)]
            if _INSIDE.isdisjoint(map(type, inside)):
                planned = self.find(tuple(map(type, inside)), *inside)
                return lambda *_: planned(*inside)
        found = self._chosen(arguments)
        if PLAIN_CLASSES.union(OWN_CLASSES.values()).issuperset(map(type, arguments)) and not self._looks_inside:
            self.known[key] = found
        return found

    def _chosen(self, arguments: Sequence[Value]) -> Callable[..., Value]:
        for each in self._candidates:
            if each.implementation and all(map(fits if each.guarded else _is_of, arguments, each.parameters)):
                return each.implementation
        raise refusal(self._function, arguments)


@lru_cache(maxsize=1024)
def callable_of(function: str, overloads: tuple[Overload, ...], arity: int) -> Callable[..., Value]:
    """A function that makes a call: it takes a meter and the arguments, and gives the result or the error.

    An argument that is an error is the result. Memory that the call may have built is counted.
    """
    dispatcher = _Dispatcher(function, overloads, arity)
    known, find = dispatcher.known, dispatcher.find
    builds = any(overload.result.kind in BUILT for overload in overloads)
    builds_texts = any(overload.result == _TEXTS for overload in overloads)

    def call(meter: Meter, *arguments: Value) -> Value:
        key = type(arguments[0]) if arity == 1 else tuple(map(type, arguments))
        try:
            result = (known.get(key) or find(key, *arguments))(*arguments)
        except EvaluationError:
            return caught()
        if not builds:
            return result
        return count_built(meter, result, len(result) * _TEXT_BYTES if builds_texts and type(result) is list else 0)

    return call


def charge(function: str, overloads: Sequence[Overload], scope: Scope) -> CostFunction | None:
    """The cost of a call, None for 1; with several possible overloads, it is 1, unless the environment sets another."""
    only, known = overloads[0] if len(overloads) == 1 else None, scope.call_costs
    return (only and known.get(only.id)) or known.get(function) or (only and only.cost)
