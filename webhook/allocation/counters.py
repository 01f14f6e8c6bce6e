"""Partitions that share counters, as a search sees them: which of their states are alike.

Devices that draw on the same counter sets form a group, such as the partitions of one GPU. The rest of a group depends
only on the devices picked from it, so it is worked out once for each such choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from webhook.allocation.view import Available, NodeView
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
        self._rests: dict[tuple[int, tuple[int, ...]], Rest] = {}
        for members in connected(keys_of):
            self._add(members, keys_of, view, available)

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
        counters = available(pool)
        left = tuple(counters.counters[key[1:]] for key in places)
        consumes = [
            {places[key]: view.devices[index].content.consumes[key[1:]] for key in keys_of[index]} for index in members
        ]
        self.group_of |= dict.fromkeys(members, len(self.groups))
        self.groups.append(Group(tuple(members), left, tuple(consumes), counters.is_overdrawn))

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
