"""The cost of calls at run time (cel-go interpreter/runtimecost.go, common/cost.go).

A unit is about one step: a variable read, a field selected, a simple function called. Work that grows with a value's
size is counted by the size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from webhook.budget import work
from webhook.cel.types.values import Value, size_of

CostFunction = Callable[[Sequence["Value"], "Value"], int]
"""The cost of a call that was made, from its arguments (the target first) and its result.

An argument or result that is an error counts, too; its `size_of` is 1.
"""
CallCost = Callable[[str, Sequence["Value"], "Value"], "int | None"]
"""Like `CostFunction`, for all overloads of a function: overload id first; None leaves it to the overload."""

LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
STRING_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
UNLIMITED: Final = 2**63
_SCANNED: Final = 8
"""The number of elements traversed for a unit of work."""


def traversal(size: float, factor: float = STRING_FACTOR) -> int:
    """The cost of traversing a value of some size once."""
    return math.ceil(size * factor)


@lru_cache(maxsize=64)
def of_argument(position: int, factor: float = STRING_FACTOR) -> CostFunction:
    """A cost that grows with the size of one argument; the same function for the same arguments."""

    def cost(arguments: Sequence[Value], _: Value) -> int:
        return math.ceil(size_of(arguments[position]) * factor)

    return cost


def of_smaller(arguments: Sequence[Value], _: Value) -> int:
    """A comparison goes as far as the smaller of two values."""
    return math.ceil(min(size_of(arguments[0]), size_of(arguments[1])) * STRING_FACTOR)


def of_both(arguments: Sequence[Value], _: Value) -> int:
    """A concatenation copies both of its operands."""
    return math.ceil((size_of(arguments[0]) + size_of(arguments[1])) * STRING_FACTOR)


def of_search(arguments: Sequence[Value], _: Value) -> int:
    """A search for one text in another."""
    return math.ceil(size_of(arguments[0]) * STRING_FACTOR) * math.ceil(size_of(arguments[1]) * STRING_FACTOR)


def of_regex(arguments: Sequence[Value], _: Value) -> int:
    """A search for a pattern in a text; even an empty text costs something."""
    return math.ceil((1 + size_of(arguments[0])) * STRING_FACTOR) * math.ceil(size_of(arguments[1]) * REGEX_FACTOR)


def of_product(factor: float) -> CostFunction:
    """A cost that grows with the product of the sizes of the first two arguments; the least is 1."""

    def cost(arguments: Sequence[Value], _: Value) -> int:
        return math.ceil(size_of(arguments[0]) * size_of(arguments[1]) * factor) + 1

    return cost


def of_scan(_: str, arguments: Sequence[Value], _result: Value) -> int:
    """A look at all values in the first argument; numbers and the like cost 1 (Kubernetes library/cost.go)."""
    return _scan(arguments[0])


def _scan(value: Value) -> int:
    cls = type(value)
    if cls is list:
        work(1 + len(value) // _SCANNED)
        return sum(map(_scan, value))
    if cls is str:
        return int(len(value.encode(errors="surrogatepass")) * STRING_FACTOR)
    if cls is bytes:
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, dict):
        return sum(_scan(key) + _scan(each) for key, each in value.items())
    return 1
