"""`==` and `in` for values of any size, interrupted at the deadline.

Their cost depends on the outermost size at most, as in cel-go, so comparing large values may cost one unit; but loops
check the clock by the cost that was spent (`webhook.cel.runtime.meter`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, repeat
from typing import Final

from webhook.budget import work
from webhook.cel.runtime.meter import SHARE, Meter, check_sooner
from webhook.cel.runtime.operators import contains, equal
from webhook.cel.types.values import ABSENT, Value

CONTAINERS: Final = frozenset({list, dict})
_PER_UNIT: Final = 8
"""The number of elements compared in the time of a unit of cost, roughly."""
_STRIDE: Final = _PER_UNIT * SHARE
"""The largest number of elements compared between two checks of the clock: some tenths of a millisecond."""
_TEXTS: Final = 64
"""The number of texts compared for a unit of work."""
_FEW: Final = 1000
"""How many lists and maps in a value are compared without looking for shared ones, which takes longer."""
_KEPT: Final = 10_000
"""How many pairs of equal parts are remembered at a time: some megabytes."""


class Comparison:
    """Compares values of any size; the `mark` below which the clock is checked is nearer afterwards."""

    __slots__ = ("_known", "_left", "_meter", "_parts", "mark")

    def __init__(self, meter: Meter, left: int, mark: int) -> None:
        self._meter = meter
        self._left = left
        self._parts = 0
        self._known: set[tuple[int, int]] = set()
        """Parts that are equal, by their identities."""
        self.mark = mark

    def equal(self, first: Value, second: Value) -> bool:
        """`first == second`, as `webhook.cel.runtime.operators.equal` has it.

        Raises:
            DeadlineExceededError: The deadline passed in between.
        """
        if type(first) is list and type(second) is list:
            return len(first) == len(second) and self._are_equal(zip(first, second, strict=True), len(first))
        if type(first) is dict and type(second) is dict:  # those of struct types are compared by `equal`
            if len(first) != len(second):
                return False
            others = map(second.get, first, repeat(ABSENT))
            return self._are_equal(zip(first.values(), others, strict=True), len(first))
        return equal(first, second)

    def _are_equal(self, pairs: Iterator[tuple[Value, Value]], count: int) -> bool:
        while count > _STRIDE:
            if not self._are_equal(islice(pairs, _STRIDE), _STRIDE):
                return False
            count -= _STRIDE
        work(1 + count // _PER_UNIT)
        self._check_sooner(1 + count // _PER_UNIT)
        for one, other in pairs:
            is_equal = (
                self._are_parts_equal(one, other) if type(one) in CONTAINERS else equal(one, other, otherwise=True)
            )
            if not is_equal:
                return False
        return True

    def _are_parts_equal(self, one: Value, other: Value) -> bool:
        """Compare parts of values; of very many, those that are shared are compared only once."""
        self._parts += 1
        if self._parts <= _FEW:
            return self.equal(one, other)
        pair = id(one), id(other)  # both live as long as the values that they are parts of
        if pair in self._known:
            return True
        if not self.equal(one, other):
            return False
        if len(self._known) == _KEPT:
            self._known.clear()
        self._known.add(pair)
        return True

    def contains(self, item: Value, container: Value) -> bool:
        """`item in container`, as `webhook.cel.runtime.operators.contains` has it.

        Raises:
            DeadlineExceededError: The deadline passed in between.
        """
        if type(container) is not list:
            return contains(item, container)
        if type(item) is str:  # the search is too fast to be interrupted
            work(1 + len(container) // _TEXTS)
            self._check_sooner(1 + len(container) // _TEXTS)
            return item in container
        is_container = type(item) in CONTAINERS
        for start in range(0, len(container), _STRIDE):
            elements = container[start : start + _STRIDE] if len(container) > _STRIDE else container
            self._check_sooner(1 + len(elements) // _PER_UNIT)
            for each in elements:
                if self.equal(item, each) if is_container else equal(item, each):
                    return True
        return False

    def _check_sooner(self, steps: int) -> None:
        self.mark = check_sooner(self._meter, self._left, self.mark, steps)
