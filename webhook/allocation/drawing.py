"""How many devices the counters suffice for that they draw on together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final

from webhook.allocation.devices import quantity_text
from webhook.records import NamedTuple

_COUNTERS_MAX: Final = 3
"""The number of counters that are named."""

Counter = tuple[int, str, str]
"""The place of the pool, the counter set and the name of a counter."""


class Together(NamedTuple):
    """Shared counters that do not suffice for all devices that a request wants.

    Args:
        devices: The number of devices that they suffice for, at most.
        text: The lack of each counter.
    """

    devices: int
    text: str


class _Drawers:
    """Devices of which each shares a counter with another one, directly or through others.

    Args:
        devices: The amounts that each consumes.
        free: Returns the amount that is left of a counter; None if it is not known.
    """

    def __init__(self, devices: Sequence[Mapping[Counter, int]], free: Callable[[Counter], int | None]) -> None:
        self.number = len(devices)
        amounts: defaultdict[Counter, list[int]] = defaultdict(list)
        for each in devices:
            for counter, amount in each.items():
                amounts[counter].append(amount)
        self._least = {counter: [*accumulate(sorted(several))] for counter, several in amounts.items()}
        """What the devices that consume least consume together: one of them, two, and so on."""
        self._left = {
            counter: least[-1] if (left := free(counter)) is None else left for counter, least in self._least.items()
        }

    @property
    def fits(self) -> int:
        """The number of devices that the counters suffice for, each counter alone."""
        return min(
            self.number - len(least) + sum(total <= self._left[counter] for total in least)
            for counter, least in self._least.items()
        )

    def lacks(self, wanted: int) -> Iterable[str]:
        """Describe the counters that do not suffice for some of the devices."""
        wanted = min(wanted, self.number)
        for counter, least in self._least.items():
            drawing = wanted - (self.number - len(least))  # the others do without the counter
            if drawing > 0 and (needed := least[drawing - 1]) > (left := self._left[counter]):
                _, counter_set, name = counter
                amounts = f"{quantity_text(left)} is left, {wanted} devices consume {quantity_text(needed)} at least"
                yield f"counter {name} of {counter_set}: {amounts}"


def together(
    wanted: int, devices: Sequence[Mapping[Counter, int]], free: Callable[[Counter], int | None]
) -> Together | None:
    """Return how many devices their counters suffice for, and what they lack; None if there is enough of each counter.

    Args:
        wanted: The number of devices that are wanted.
        devices: The amounts that each device consumes.
        free: Returns the amount that is left of a counter; None if it is not known.
    """
    drawers = [_Drawers(several, free) for several in _sharing([each for each in devices if each])]
    fits = sum(not each for each in devices) + sum(each.fits for each in drawers)
    lacks = [text for each in drawers for text in each.lacks(wanted - fits + each.fits)]
    if not lacks:
        return None
    more = [f"and {len(lacks) - _COUNTERS_MAX} more counters"] if len(lacks) > _COUNTERS_MAX else []
    return Together(fits, "; ".join([*lacks[:_COUNTERS_MAX], *more]))


def _sharing(devices: Sequence[Mapping[Counter, int]]) -> Iterable[list[Mapping[Counter, int]]]:
    """Group devices that share counters, directly or through others."""
    chief: dict[Counter, Counter] = {}

    def root(counter: Counter) -> Counter:
        while (above := chief.setdefault(counter, counter)) != counter:
            chief[counter] = counter = chief[above]  # halves the way for the next one
        return counter

    for each in devices:
        first, *others = each
        for other in others:
            chief[root(other)] = root(first)
    found: defaultdict[Counter, list[Mapping[Counter, int]]] = defaultdict(list)
    for each in devices:
        found[root(next(iter(each)))].append(each)
    return found.values()
