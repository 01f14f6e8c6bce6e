"""Functions: their overloads, with implementations and costs: at run time, by values, and estimated, by sizes.

A unit is about one step: a variable read, a field selected, a simple function called. Work that grows with a value's
size is counted by the size (cel-go interpreter/runtimecost.go, checker/cost.go, common/cost.go).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from webhook.budget import work
from webhook.cel.types.base import Type
from webhook.cel.types.values import Value, size_of

LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
STRING_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
_SCANNED: Final = 8
"""The number of elements traversed for a unit of work."""

# -- calls at run time

CostFunction = Callable[[Sequence["Value"], "Value"], int]
"""The cost of a call that was made, from its arguments (the target first) and its result.

An argument or result that is an error counts, too; its `size_of` is 1.
"""


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


def of_scan(arguments: Sequence[Value], _: Value) -> int:
    """A look at all values in the first argument; numbers and the like cost 1 (Kubernetes library/cost.go)."""
    return _scan(arguments[0])


def _scan(value: Value) -> int:
    if (cls := type(value)) is list:
        work(1 + len(value) // _SCANNED)
        return sum(map(_scan, value))
    if cls is str:
        return int(len(value.encode(errors="surrogatepass")) * STRING_FACTOR)
    if cls is bytes:
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, dict):
        return sum(_scan(key) + _scan(each) for key, each in value.items())
    return 1


# -- estimates

MOST: Final = 2**64 - 1
"""Means "no bound": cel-go counts in 64 bits, up to this number."""


class Bounds(NamedTuple):
    """The lower and the upper bound of a size or a cost."""

    low: int
    high: int

    def plus(self, other: Bounds) -> Bounds:
        """Both together."""
        low, high = self.low + other.low, self.high + other.high
        return Bounds(low, high) if high <= MOST else Bounds(min(low, MOST), MOST)

    def times(self, other: Bounds) -> Bounds:
        """One for each unit of the other."""
        return Bounds(min(self.low * other.low, MOST), min(self.high * other.high, MOST))

    def scaled(self, factor: float) -> Bounds:
        """Each bound by a factor, rounded up."""
        return Bounds(_scaled(self.low, factor), _scaled(self.high, factor))

    @property
    def traversed(self) -> Bounds:
        """The cost of traversing a value of this size once."""
        return self.scaled(STRING_FACTOR)

    def union(self, other: Bounds) -> Bounds:
        """The bounds of both ranges together."""
        return Bounds(min(self.low, other.low), max(self.high, other.high))


def _scaled(number: int, factor: float) -> int:
    return min(math.ceil(float(number) * factor), MOST)


def fixed(number: int) -> Bounds:
    """Bounds of exactly one number."""
    return Bounds(number, number)


UNKNOWN: Final = Bounds(0, MOST)
ONE: Final = fixed(1)


class EstimatedNode(NamedTuple):
    """A part of an expression as estimates see it.

    Args:
        path: Its path from a variable: field names, `@items`, `@keys`, `@values`; empty if there is none.
        literal: Its value, if it is a literal whole number.
        size: Its size, if the expression itself determines it.
    """

    type: Type
    path: tuple[str, ...] = ()
    literal: int | None = None
    size: Bounds | None = None


SizeOf = Callable[[EstimatedNode], Bounds]
"""The size of a node: from the expression, else as declared, else unknown."""


class CallEstimate(NamedTuple):
    """The range of a call's cost, and of the size of its result, if it has one."""

    cost: Bounds
    result: Bounds | None = None


Estimate = Callable[[SizeOf, Sequence[EstimatedNode]], CallEstimate]
"""The estimated cost of a call, from its arguments (the target first) and the known bounds of their sizes."""


class _OfSize(NamedTuple):
    """Stands for an argument of some size."""

    size: int

    def cel_size(self) -> int:
        """The size."""
        return self.size


def estimated(cost: CostFunction, result: Callable[..., Bounds] | None = None) -> Estimate:
    """The estimate of a cost that grows with nothing but the sizes of arguments.

    Args:
        result: The size of the result, by the sizes of all arguments.
    """

    def estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
        sizes = [size_of(each) for each in arguments]
        low, high = (min(cost([*map(_OfSize, bound)], None), MOST) for bound in zip(*sizes, strict=True))
        return CallEstimate(Bounds(low, high), None if result is None else result(*sizes))

    return estimate


def concatenation(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """Of strings or bytes: both are copied."""
    size = size_of(arguments[0]).plus(size_of(arguments[1]))
    return CallEstimate(size.traversed, size)


def list_concatenation(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """Of lists: nothing is copied."""
    return CallEstimate(ONE, size_of(arguments[0]).plus(size_of(arguments[1])))


def comparison(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """As far as the smaller of two values."""
    most = min(size_of(arguments[0]).high, size_of(arguments[1]).high)
    return CallEstimate(Bounds(1 if most else 0, most).traversed)


# -- functions

Implementation = Callable[..., Value]


class Overload(NamedTuple):
    """One signature of a function.

    Args:
        name: The name of the function, dots included (`sets.contains`).
        id: Its own name, unique in the environment; cel-go's, where cel-go has it.
        parameters: The types of the arguments; for a member, the target's first.
        result: The type of the result.
        implementation: Computes the result; None if the compiler does it itself.
        member: Whether it is called on a target, `target.f(x)`, and not as `f(target, x)`.
        cost: The cost of a call at run time, from arguments and result; None for the plain cost of 1.
        estimate: The estimated cost of a call; None for what follows from its cost.
        guarded: Whether the first element of a list or map must be of the parameter's type when it is called (cel-go
            common/decls/decls.go, DisableTypeGuards; functions with a singleton binding have no guards either).
        stops_early: Whether a call ends at its first argument that is an error, and is then free; so is every call
            of three or more arguments (cel-go interpreter/interpretable.go, evalVarArgs).
    """

    name: str
    id: str
    parameters: tuple[Type, ...]
    result: Type
    implementation: Implementation | None = None
    member: bool = False
    cost: CostFunction | None = None
    estimate: Estimate | None = None
    guarded: bool = True
    stops_early: bool = False


member: Final = partial(Overload, member=True)
"""An overload that is called on a target."""
