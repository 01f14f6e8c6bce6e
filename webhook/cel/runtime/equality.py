"""`==` and `in` for values of any size, interrupted at the deadline.

What they cost goes by the outermost size at most, as in cel-go, so that a comparison of large values may cost a unit,
while it is by what was spent that loops look at the clock (`webhook.cel.runtime.frame`).
"""

from __future__ import annotations

from itertools import islice, repeat
from typing import TYPE_CHECKING, Final

from webhook.cel.runtime.frame import SHARE, WORK, hasten
from webhook.cel.runtime.operators import MISSING, contains, equal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.cel.runtime.frame import Frame
    from webhook.cel.types.values import Value

_CONTAINERS: Final = frozenset({list, dict})
_PER_UNIT: Final = 8
"""How many elements are compared in the time of a unit of cost, roughly."""
_STRIDE: Final = _PER_UNIT * SHARE
"""How many elements are compared between two looks at the clock at most: some tenths of a millisecond."""


def equal_in_time(frame: Frame, first: Value, second: Value) -> bool:
    """`first == second`, as `webhook.cel.runtime.operators.equal` has it.

    Raises:
        DeadlineExceededError: The deadline passed in between.
    """
    if type(first) is list and type(second) is list:
        return len(first) == len(second) and _are_equal(frame, zip(first, second, strict=True), len(first))
    if type(first) is dict and type(second) is dict:  # those of struct types are compared by `equal`
        if len(first) != len(second):
            return False
        others = map(second.get, first, repeat(MISSING))
        return _are_equal(frame, zip(first.values(), others, strict=True), len(first))
    return equal(first, second)


def _are_equal(frame: Frame, pairs: Iterator[tuple[Value, Value]], count: int) -> bool:
    while count > _STRIDE:
        if not _are_equal(frame, islice(pairs, _STRIDE), _STRIDE):
            return False
        count -= _STRIDE
    frame[WORK].spend(1 + count // _PER_UNIT)
    hasten(frame, 1 + count // _PER_UNIT)
    for one, other in pairs:
        is_equal = equal_in_time(frame, one, other) if type(one) in _CONTAINERS else equal(one, other)
        if not is_equal:
            return False
    return True


def contains_in_time(frame: Frame, item: Value, container: Value) -> bool:
    """`item in container`, as `webhook.cel.runtime.operators.contains` has it.

    Raises:
        DeadlineExceededError: The deadline passed in between.
    """
    if type(container) is not list or type(item) is str:  # a search for a text is faster than a look at the clock
        return contains(item, container)
    is_container = type(item) in _CONTAINERS
    for start in range(0, len(container), _STRIDE):
        elements = container[start : start + _STRIDE] if len(container) > _STRIDE else container
        hasten(frame, 1 + len(elements) // _PER_UNIT)
        for each in elements:
            if equal_in_time(frame, item, each) if is_container else equal(item, each):
                return True
    return False
