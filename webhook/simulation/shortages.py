"""Shared counters of which too little is left: all of them, by set."""

from __future__ import annotations

from collections import defaultdict

from webhook.deviceselectors.fleet import padded
from webhook.formats import readable_quantity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

    from webhook.allocation.lacks import Lack
    from webhook.objects import JSONObject

_SETS_MAX: Final = 3
"""The number of counter sets that are named."""
_COUNTERS_MAX: Final = 3
"""The number of amounts of a set that are named, and of counters with the same amounts."""


class Shortages:
    """Collects the counters that rule out devices."""

    def __init__(self) -> None:
        self._found: defaultdict[tuple[str, str], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
        self._by_node: set[frozenset[tuple[str, str]]] = set()
        """The counters that nodes lack, each combination once."""

    def add(self, lacks: Iterable[Lack]) -> None:
        """Add the counters that rule out the devices of a node."""
        counters = set()
        for each in lacks:
            if each.counter_set:
                counters.add((each.counter_set, each.name))
                left, wanted = self._found[each.counter_set, each.name]
                left.add(each.left)
                wanted.add(each.wanted)
        self._by_node.add(frozenset(counters))

    def as_json(self) -> list[JSONObject]:
        """Return each counter, with the amounts that are left in pools, and those that devices consume."""
        return [
            {"counterSet": counter_set, "counter": name, "left": _sorted(left), "consumed": _sorted(consumed)}
            for (counter_set, name), (left, consumed) in self._found.items()
        ]

    @property
    def text(self) -> str:
        """All counters, in one line; empty if there are none."""
        by_set: dict[str, dict[tuple[str, str], list[str]]] = {}
        for (counter_set, name), (left, consumed) in self._found.items():
            by_set.setdefault(counter_set, {}).setdefault((_range(left), _range(consumed)), []).append(name)
        lacks = "lacks" if len(self._by_node) == 1 else "lacks, depending on the node,"
        texts = [f"{counter_set} {lacks} {_of_set(alike)}" for counter_set, alike in list(by_set.items())[:_SETS_MAX]]
        more = [f"and {len(by_set) - _SETS_MAX} more sets"] if len(by_set) > _SETS_MAX else []
        return "; ".join([*texts, *more])


def _of_set(alike: dict[tuple[str, str], list[str]]) -> str:
    texts = [_amounts(names, *each) for each, names in list(alike.items())[:_COUNTERS_MAX]]
    more = [f"{len(alike) - _COUNTERS_MAX} more"] if len(alike) > _COUNTERS_MAX else []
    *first, last = [*texts, *more]
    return f"{', '.join(first)} and {last}" if first else last


def _amounts(names: list[str], left: str, consumed: str) -> str:
    each = " each" if len(names) > 1 else ""
    amounts = f"{left} left, {consumed} consumed{each}"
    names = sorted(names, key=padded)
    if len(names) <= _COUNTERS_MAX:
        return f"{', '.join(names)} ({amounts})"
    return f"{names[0]} … {names[-1]} ({len(names)} counters: {amounts})"


def _range(amounts: Iterable[str]) -> str:
    ordered = _sorted(amounts)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _sorted(amounts: Iterable[str]) -> list[str]:
    return sorted(amounts, key=lambda each: readable_quantity(each) or 0)
