"""Estimated sizes of values and costs of calls (cel-go checker/cost.go)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from webhook.cel.cost.calls import REGEX_FACTOR, STRING_FACTOR
from webhook.cel.types.base import Type
from webhook.records import NamedTuple

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


Estimate = Callable[[SizeOf, EstimatedNode | None, Sequence[EstimatedNode]], CallEstimate | None]
"""The estimated cost of a call, from its target and arguments and the known bounds of their sizes."""
CallEstimateFunction = Callable[[SizeOf, str, EstimatedNode | None, Sequence[EstimatedNode]], CallEstimate | None]
"""Like `Estimate`, for all overloads of a function: overload id second."""


def member(target: EstimatedNode | None) -> EstimatedNode:
    """The target of a function that has only member overloads."""
    assert target is not None  # noqa: S101 - a member function is called on one
    return target


def _traversal(size: Bounds) -> Bounds:
    return size.scaled(STRING_FACTOR)


def concatenation(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """Of strings or bytes: both are copied."""
    size = size_of(arguments[0]).plus(size_of(arguments[1]))
    return CallEstimate(_traversal(size), size)


def list_concatenation(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """Of lists: nothing is copied."""
    return CallEstimate(ONE, size_of(arguments[0]).plus(size_of(arguments[1])))


def comparison(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """As far as the smaller of two values."""
    most = min(size_of(arguments[0]).high, size_of(arguments[1]).high)
    return CallEstimate(_traversal(Bounds(1 if most else 0, most)))


def encoding(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """A string into bytes: at most four for each code point."""
    size = size_of(arguments[0])
    return CallEstimate(_traversal(size), Bounds(size.low, min(size.high * 4, MOST)))


def decoding(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """Bytes into a string: at least one code point for four."""
    size = size_of(arguments[0])
    return CallEstimate(_traversal(size), Bounds(size.low // 4, size.high))


def prefix(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """`startsWith`, `endsWith`: as far as the argument goes."""
    return CallEstimate(_traversal(size_of(arguments[0])))


def membership(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """`x in list`: every element."""
    return CallEstimate(size_of(arguments[1]).scaled(1))


def search(size_of: SizeOf, target: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """`contains`: the product of both sizes."""
    return CallEstimate(_traversal(size_of(member(target))).times(_traversal(size_of(arguments[0]))))


def regex(size_of: SizeOf, target: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """`matches`: the text by the pattern; an empty text costs something too."""
    text = _traversal(size_of(member(target)).plus(ONE))
    return CallEstimate(text.times(size_of(arguments[0]).scaled(REGEX_FACTOR)))


def of_target(size_of: SizeOf, target: EstimatedNode | None, _: Sequence[EstimatedNode]) -> CallEstimate:
    """A function that goes through its target once."""
    return CallEstimate(_traversal(size_of(member(target))))


def quoting(size_of: SizeOf, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    """`strings.quote`: at most two characters for each, and two quotes; without a bound cel-go's sum overflows."""
    size = size_of(arguments[0])
    return CallEstimate(_traversal(size), Bounds(size.low + 2, (size.high * 2 + 2) & MOST))
