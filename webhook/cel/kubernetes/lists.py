"""Functions on lists: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf` (library/lists.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from itertools import pairwise
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError
from webhook.cel.functions import Overload, member
from webhook.cel.runtime.operators import COMPARABLE, equal, no_such_overload, operate, precedes, worked
from webhook.cel.types.base import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type, list_of, parameter
from webhook.cel.types.values import Duration, UInt, Value

_NAMES: Final = {
    INT: "int", UINT: "uint", DOUBLE: "double", BOOL: "bool",
    DURATION: "duration", TIMESTAMP: "timestamp", STRING: "string", BYTES: "bytes",
}  # fmt: skip
_ZEROS: Final = {INT: 0, UINT: UInt(0), DOUBLE: 0.0, DURATION: Duration(0)}
_A: Final = parameter("A")


def _comparable(values: list[Value]) -> Iterator[Value]:
    """Yield the values.

    Raises:
        EvaluationError: The next value is not comparable.
    """
    for value in worked(values, len(values)):
        if type(value) not in COMPARABLE:
            raise no_such_overload()
        yield value


def _extreme(name: str, is_better: Callable[[Value, Value], bool]) -> Iterator[Overload]:
    def chosen(values: list[Value]) -> Value:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        return reduce(lambda best, each: each if is_better(each, best) else best, _comparable(values))

    return (_of_elements(name, type_, chosen) for type_ in _NAMES)


def _index_of(values: list[Value], sought: Value) -> int:
    return next((at for at, value in enumerate(worked(values, len(values))) if equal(value, sought)), -1)


def _last_index_of(values: list[Value], sought: Value) -> int:
    after = enumerate(worked(reversed(values), len(values)), 1)
    return next((len(values) - count for count, value in after if equal(value, sought)), -1)


def _of_elements(function: str, type_: Type, implementation: Callable[[list[Value]], Value]) -> Overload:
    name = _NAMES[type_]
    return member(function, f"list_{name}_{function}_{name}", (list_of(type_),), type_, implementation)


def _is_sorted(values: list[Value]) -> bool:
    return not any(precedes(after, before) for before, after in pairwise(_comparable(values)))


def _sum(type_: Type) -> Overload:
    def added(values: list[Value]) -> Value:
        return reduce(partial(operate, "_+_"), worked(values, len(values)), _ZEROS[type_])

    return _of_elements("sum", type_, added)


LIBRARY: Final = Library(
    functions=(
        *(
            member("isSorted", f"list_{name}_is_sorted_bool", (list_of(type_),), BOOL, _is_sorted)
            for type_, name in _NAMES.items()
        ),
        *map(_sum, _ZEROS),
        *_extreme("max", lambda each, best: precedes(best, each)),
        *_extreme("min", precedes),
        member("indexOf", "list_a_index_of_int", (list_of(_A), _A), INT, _index_of),
        member("lastIndexOf", "list_a_last_index_of_int", (list_of(_A), _A), INT, _last_index_of),
    ),
)
