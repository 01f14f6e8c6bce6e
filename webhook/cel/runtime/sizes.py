"""Costs that depend on the sizes of texts, as source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from webhook.cel.cost.calls import (
    STRING_FACTOR,
    CostFunction,
    of_argument,
    of_both,
    of_regex,
    of_search,
    of_smaller,
)
from webhook.cel.runtime.writer import NOT_CONSTANT, Operand

_ONE_STEP: Final = int(1 / STRING_FACTOR)


def size(operand: Operand) -> str:
    """The size of a text."""
    return f"len({operand.text})" if operand.value is NOT_CONSTANT else str(len(operand.value))


def plus(cost: str, more: int) -> str:
    """A cost, and a known one beside it."""
    if cost.isdigit():
        return str(int(cost) + more)
    return f"{cost} + {more}" if more else cost


def of_shorter(first: Operand, second: Operand, more: int) -> str:
    """The cost of comparing two texts, which is quickly computed for short ones, and a known cost beside it."""
    texts = [each.text for each in (first, second) if each.value is NOT_CONSTANT]
    sizes = [len(each.value) for each in (first, second) if each.value is not NOT_CONSTANT]
    long = plus(_shorter(size(first), size(second)), more)
    if any(each > _ONE_STEP for each in sizes) or 0 in sizes:
        return long
    if not sizes:
        short = " or ".join(f"len({text}) <= {_ONE_STEP}" for text in texts)
        return f"{1 + more} if {' and '.join(texts)} and ({short}) else {long}"
    return f"{1 + more} if {texts[0]} else {more}" if texts else str(1 + more)


def _shorter(first: str, second: str) -> str:
    return _steps(f"({first} if {first} < {second} else {second})")


def _steps(length: str) -> str:
    return str((int(length) + 9) // 10) if length.isdigit() else f"({length} + 9) // 10"


def _product(first: str, second: str) -> str:
    if second.isdigit():
        return first if second == "1" else f"({first}) * {second}"
    return f"({first}) * ({second})"


def _of_regex(text: str, pattern: str) -> str:
    parts = str((int(pattern) + 3) // 4) if pattern.isdigit() else f"({pattern} + 3) // 4"
    return _product(f"({text} + 10) // 10", parts)


COSTS: Final[Mapping[CostFunction, Callable[..., str]]] = {
    of_argument(0): lambda first, *_: _steps(first),
    of_smaller: _shorter,
    of_both: lambda first, second: _steps(f"{first} + {second}"),
    of_search: lambda first, second: _product(_steps(first), _steps(second)),
    of_regex: _of_regex,
}
"""The source of costs of calls, from the sizes of both arguments."""
