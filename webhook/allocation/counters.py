"""Partitions that share counters, as a search sees them: which partitions still fit, and which states are alike.

Devices that draw on the same counter sets form a group, such as the partitions of one GPU. The rest of a group depends
only on the devices picked from it, so it is worked out once for each such choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from webhook.allocation.usage import Available
from webhook.allocation.view import NodeView
from webhook.records import NamedTuple

Key = tuple[int, str, str]
"""A counter: the place of its pool, its counter set and its name."""


class Group(NamedTuple):
    """Devices that draw on the same counters.

    Args:
        members: Their places among the node's devices, ascending.
        left: The amounts left of their counters before the search.
        consumes: The amounts that each member consumes; counters by their places in ``left``.
        is_overdrawn: Whether upstream finds no counters left in their pool at all.
    """

    members: tuple[int, ...]
    left: tuple[int, ...]
    consumes: tuple[Mapping[int, int], ...]
    is_overdrawn: bool


class Rest(NamedTuple):
    """The rest of a group.

    Args:
        left: The amounts left of its counters.
    """

    left: tuple[int, ...]
    unfit: int


class Counters:
    """The counters of a node's devices.

    Args:
        available: Returns what is left of the counters of a pool, by its place.
        work: Counts the devices looked at, and ends a search that looks at too many; this bounds the memory, too.
    """

    def __init__(self, view: NodeView, available: Callable[[int], Available], work: Callable[[int], None]) -> None:
        self._work = work
        keys_of: dict[int, list[Key]] = {}
        for index, device in enumerate(view.devices):
            if device.content.consumes:
                pool = view.pool_of[index]
                known = available(pool).counters  # perhaps another driver's, if its pool has the same name
                keys = [(pool, *key) for key in device.content.consumes if key in known]
                if keys:
                    keys_of[index] = keys
        self.groups: list[Group] = []
        self.group_of: dict[int, int] = {}
        """The group of each device that has one."""
        self._kinds: dict[int, int] = {}
        """Counters that have equal capacity are added up, such as the memory slices of all GPUs; their places."""
        self._costs: dict[int, dict[int, int]] = {}
        """The consumption of each device, by kind."""
        self._totals: defaultdict[int, int] = defaultdict(int)
        """The amounts left before the search, by kind."""
        self._rests: dict[tuple[int, tuple[int, ...]], Rest] = {}
        for members in connected(keys_of):
            self._add(members, keys_of, view, available)
        self._unfit = 0
        for number in range(len(self.groups)):
            self._unfit |= self.rest(number, ()).unfit

    def _add(
        self,
        members: Sequence[int],
        keys_of: Mapping[int, Sequence[Key]],
        view: NodeView,
        available: Callable[[int], Available],
    ) -> None:
        places: dict[Key, int] = {}
        for index in members:
            for key in keys_of[index]:
                places.setdefault(key, len(places))
        pool = view.pool_of[members[0]]
        counters, capacity = available(pool).counters, view.pools[pool].counters
        left = tuple(counters[key[1:]] for key in places)
        kinds = [self._kinds.setdefault(capacity.get(key[1:], 0), len(self._kinds)) for key in places]
        for kind, amount in zip(kinds, left, strict=True):
            self._totals[kind] += amount
        consumes: list[dict[int, int]] = []
        for index in members:
            amounts = view.devices[index].content.consumes
            consumes.append({places[key]: amounts[key[1:]] for key in keys_of[index]})
            self.group_of[index] = len(self.groups)
            cost = self._costs[index] = defaultdict(int)
            for place, amount in consumes[-1].items():
                cost[kinds[place]] += amount
        self.groups.append(Group(tuple(members), left, tuple(consumes), available(pool).is_overdrawn))

    def unfit(self, devices: Sequence[int]) -> int:
        """Return the devices that no longer fit, as a bit set of places.

        Args:
            devices: The places of all devices picked.
        """
        found = self._unfit
        for each in self.picked(devices).items():
            found |= self.rest(*each).unfit
        return found

    def least_cost(self, devices: int) -> Mapping[int, int]:
        """Return the least that any of some devices consumes, by kind.

        Args:
            devices: A bit set of places.
        """
        found: dict[int, int] | None = None
        for index in range(devices.bit_length()):
            if devices >> index & 1:
                cost = self._costs.get(index)
                if not cost:
                    return {}
                found = dict(cost) if found is None else {k: min(v, cost.get(k, 0)) for k, v in found.items()}
        return found or {}

    def is_too_much(self, devices: Iterable[int], wanted: Iterable[tuple[int, Mapping[int, int]]]) -> bool:
        """Tell whether the wanted devices need more than is left in all groups together.

        Args:
            wanted: The number of devices still wanted, and the least that each of them consumes.
        """
        needed: defaultdict[int, int] = defaultdict(int)
        for number, cost in wanted:
            for kind, amount in cost.items():
                needed[kind] += number * amount
        for index in devices if needed else ():
            for kind, amount in self._costs.get(index, {}).items():
                needed[kind] += amount
        return any(amount > self._totals[kind] for kind, amount in needed.items())

    def picked(self, devices: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """Return the devices picked from each group, without groups that have none."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for index in devices:
            group = self.group_of.get(index)
            if group is not None:
                found[group].append(index)
        return {group: tuple(sorted(each)) for group, each in found.items()}

    def rest(self, number: int, picked: tuple[int, ...]) -> Rest:
        """Return the rest of a group.

        Args:
            picked: The devices picked from it, ascending.
        """
        found = self._rests.get((number, picked))
        if found is None:
            group = self.groups[number]
            self._work(len(group.members) + len(group.left))
            found = self._rests[number, picked] = self._find_rest(group, picked)
        return found

    @staticmethod
    def _find_rest(group: Group, picked: tuple[int, ...]) -> Rest:
        left = list(group.left)
        for index, consumed in zip(group.members, group.consumes, strict=True):
            if index in picked:
                for place, amount in consumed.items():
                    left[place] -= amount
        unfit = 0
        for index, consumed in zip(group.members, group.consumes, strict=True):
            if group.is_overdrawn or any(amount > left[place] for place, amount in consumed.items()):
                unfit |= 1 << index
        return Rest(tuple(left), unfit)


def connected(keys_of: Mapping[int, Collection[Key]]) -> Collection[list[int]]:
    """Return the groups of devices that have counters in common, directly or through others.

    Args:
        keys_of: The counters of each device that has some, by its place.
    """
    chief: dict[Key, Key] = {}

    def root(key: Key) -> Key:
        while (above := chief.setdefault(key, key)) != key:
            chief[key] = key = chief[above]  # halves the way for the next one
        return key

    for first, *others in keys_of.values():
        for other in others:
            chief[root(other)] = root(first)
    found: defaultdict[Key, list[int]] = defaultdict(list)
    for index, keys in keys_of.items():
        found[root(next(iter(keys)))].append(index)
    return found.values()
