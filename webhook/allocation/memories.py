"""What a search remembers: states that lead nowhere, so that none is searched twice, and which states are alike.

States that differ only in which of several equal devices are used are one state. Devices that draw on the same counter
sets form a group, such as the partitions of one GPU. The rest of a group depends only on the devices picked from it, so
it is worked out once for each such choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.allocation.constraints import Distinct, MatchLists
from webhook.allocation.demand import Ask, Demand
from webhook.allocation.selecting import SelectorFault
from webhook.allocation.state import State
from webhook.allocation.view import Available, NodeView
from webhook.budget import check_deadline
from webhook.later import cached_property
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


_MOST: Final = 64 << 20
"""The bytes that the states of one search may take."""
_STATE, _PART = 200, 48
"""The bytes of a state beside its parts, and about those of a part: a tuple, a number, and the reference to it."""
_TRIAL, _WORTH = 2_000, 20
"""One state in twenty must be known, from so many on."""


class SearchPosition(NamedTuple):
    """The position of a search.

    Args:
        position: The position of the request among all.
        alternative: The chosen alternative of the request; None before one is chosen.
        number: The number of devices found for the request.
        start: The place from which the search for the next device starts.
    """

    position: int
    alternative: int | None = None
    number: int = 0
    start: int = 0

    @property
    def next(self) -> SearchPosition:
        """The position of the next request."""
        return SearchPosition(self.position + 1)


class Memory(NamedTuple):
    """The end of a search from a state, the steps that it took, and the state that it left behind."""

    code: int
    steps: int
    visits: int
    after: Any


class Memories:
    """The states of one search that lead nowhere.

    Args:
        available: Returns what is left of the counters of a pool, by its place.
        work: Counts the devices looked at.
    """

    def __init__(
        self,
        demand: Demand,
        view: NodeView,
        state: State,
        available: Callable[[int], Available],
        work: Callable[[int], None],
    ) -> None:
        self._available, self._work = available, work
        self._groups: dict[tuple[int, tuple[int, ...], int, int], int] = {}
        self._others: dict[int, bool] = {}
        self._demand, self._view, self._state = demand, view, state
        self.known: dict[Hashable, Memory] = {}
        self._size = 0
        self._sought = 0
        self._found = 0
        self.leaves_traces = leaves_traces(demand, view)
        self._has_admins = any(ask.is_admin for ask in demand.asks)
        self._classes: list[list[int | None]] = [[None] * len(view.devices)]
        """The classes of all devices, by the number of requests and ends of claims that are left."""
        self._numbers: dict[Hashable, int] = {}

    def recall(self, key: Hashable) -> Memory | None:
        """Return the end of a search from a state, and restore the state that it left behind; None for a new state."""
        memory = self.known.get(key)
        self._sought += 1
        if memory is not None:
            self._found += 1
            if self.leaves_traces:
                self._state.restore(memory.after)
        return memory

    @cached_property
    def _counters(self) -> Counters | None:
        """The devices in groups that share counters, such as the partitions of a GPU; None if groups are not alike."""
        if self.leaves_traces or self._has_admins or not _can_be_grouped(self._demand, self._view):
            return None
        return Counters(self._view, self._available, self._work)

    @property
    def is_worthwhile(self) -> bool:
        """Whether states recur often enough to be worth remembering."""
        return self._sought < _TRIAL or self._found * _WORTH > self._sought

    def note(self, key: Hashable, code: int, steps: int, visits: int) -> None:
        """Remember how the search ended from a state."""
        if self._size < _MOST:
            after = self._state.save() if self.leaves_traces else None
            self.known[key] = Memory(code, steps, visits, after)
            self._size += _STATE + _PART * (_parts(key) + _parts(after))

    def key(self, place: SearchPosition, claim: int) -> Hashable:
        """Return the key of a state."""
        state = self._state
        picks = state.picks
        if self.leaves_traces:
            used = tuple(sorted((number, pick.device) for number, each in enumerate(picks) for pick in each))
            return place, used, state.save()
        now, later = self._classes_at(place.position), self._classes_at(place.position + 1)
        counters = self._counters
        grouped: Mapping[int, int] = {} if counters is None else counters.group_of
        # A device may be used by one claim and, for its administrator, by others.
        by_claim = {pick.device: False for each in picks for pick in each if pick.device not in grouped}
        if self._has_admins:
            by_claim.update({pick.device: True for pick in picks[claim]})
        alike = []
        for index, is_by_claim in by_claim.items():
            is_ahead = index >= place.start
            class_ = (now if is_ahead else later)[index]
            if class_ is not None:
                shares = state.shares.get(index)
                taken = () if shares is None else tuple(sorted(shares.items()))
                alike.append((class_, is_ahead, is_by_claim, taken))
        alike.sort()
        constraints = tuple([each.state for each in state.constraints[claim]])
        if counters is None:
            return place, len(picks[claim]), tuple(alike), constraints, state.consumed
        groups = self._by_group(place.start, counters, now, later, place.position)
        if not self._has_others(grouped, now, place.position):
            place = place._replace(start=0)
        return place, len(picks[claim]), tuple(alike), groups

    def _by_group(
        self, start: int, counters: Counters, now: Sequence[int | None], later: Sequence[int | None], position: int
    ) -> Hashable:
        """Return the rests of all groups of devices that share counters, whichever groups have them."""
        picked = counters.picked(pick.device for picks in self._state.picks for pick in picks)
        found = []
        for number, group in enumerate(counters.groups):
            first = bisect_left(group.members, start)
            key = number, picked.get(number, ()), first, position
            kind = self._groups.get(key)
            if kind is None:
                classes_of = [later] * first + [now] * (len(group.members) - first)
                kind = self._groups[key] = self._group(group, counters.rest(*key[:2]), key[1], classes_of)
            found.append(kind)
        return tuple(sorted(found))

    def _group(
        self,
        group: Group,
        rest: Rest,
        picked: Sequence[int],
        classes_of: Sequence[Sequence[int | None]],
    ) -> int:
        """Return a number that groups with the same rest share; with the classes of each of their members."""
        out = rest.unfit | self._view.taken
        alike = [
            None if out >> index & 1 or index in picked else classes[index]
            for index, classes in zip(group.members, classes_of, strict=True)
        ]
        if all(each is None for each in alike):
            return -1
        consumes = tuple([tuple(each.items()) for each in group.consumes])
        return self._numbers.setdefault((consumes, rest.left, tuple(alike)), len(self._numbers))

    def _has_others(self, grouped: Mapping[int, int], now: Sequence[int | None], position: int) -> bool:
        """Tell whether requests from a position on want any device outside the groups."""
        found = self._others.get(position)
        if found is None:
            found = self._others[position] = any(
                class_ is not None and index not in grouped for index, class_ in enumerate(now)
            )
        return found

    def _classes_at(self, position: int) -> list[int | None]:
        """Return the class of each device; later requests treat devices of a class alike. None if none wants it."""
        order, after = self._demand.order, len(self._demand.order) - position
        while len(self._classes) <= after:
            check_deadline()
            request, later = order[-len(self._classes)], self._classes[-1]
            self._classes.append(
                [self._class(index, request.asks, class_) for index, class_ in enumerate(later)] if request else later
            )
        return self._classes[after]

    def _class(self, index: int, asks: Sequence[Ask], later: int | None) -> int | None:
        """Return the class of a device.

        Args:
            asks: The alternatives of the first request.
            later: The device's class for the requests after it.
        """
        view = self._view
        content = view.devices[index].content
        choices = [ask.chooser.choose(content) for ask in asks]
        if later is None and not any(choices):
            return None
        parts = (
            later,
            tuple(
                [
                    choice
                    and (
                        choice,
                        ask.tolerates(content),
                        ask.takes(content) is not None
                        and tuple(
                            [self._state.constraints[ask.claim][n].attribute.of(content) for n in ask.constraints]
                        ),
                    )
                    for ask, choice in zip(asks, choices, strict=True)
                ]
            ),
            content.index if content.is_shared or content.capacity else None,
            (view.pool_of[index], tuple(content.consumes.items()))
            if content.consumes and self._counters is None
            else None,
            view.matches and view.matches[index],
            # How far upstream gets with all devices depends on the first of them that is in use.
            index if any(ask.is_all and choice for ask, choice in zip(asks, choices, strict=True)) else None,
            view.taken >> index & 1,
            tuple(sorted((view.capacity_used(index) or {}).items())),
        )
        return self._numbers.setdefault(parts, len(self._numbers))


def _parts(value: Any) -> int:
    """Count what a state consists of, in all depths."""
    if not isinstance(value, tuple | frozenset):
        return 1
    return 1 + sum(map(_parts, value))


def _can_be_grouped(demand: Demand, view: NodeView) -> bool:
    """Tell whether neither the scope of counters nor the devices of requests for all devices matter.

    If so, a device that no longer fits is ruled out, unless there are faults: upstream checks counters after selectors.
    """
    asks = demand.asks
    if not view.consumes or not view.variant.features.PartitionableDevices or any(ask.is_all for ask in asks):
        return False
    if len({pool.scope for pool in view.pools}) < len(view.pools):
        return False
    contents = [device.content for device in view.devices]
    return not any(
        content.is_shared or any(isinstance(ask.chooser.choose(content), SelectorFault) for ask in asks)
        for content in contents
    )


def leaves_traces(demand: Demand, view: NodeView) -> bool:
    """Tell whether undoing a device may leave traces, so that it matters which device was tried before."""
    features, asks = view.variant.features, demand.asks
    for ask in asks:
        # The first of them in use decides whether upstream reaches a constraint before it; an expression that fails
        # is not reached before a constraint reads the attribute that it derives.
        if (ask.is_all and ask.constraints) or ask.derived:
            return True
        for number in ask.constraints:
            kind, _ = demand.claims[ask.claim].constraints[number]
            if issubclass(kind, MatchLists) or (issubclass(kind, Distinct) and (ask.is_all or ask.count > 1)):
                return True
    shares = features.ConsumableCapacity and any(device.content.is_shared for device in view.devices)
    if shares and any(ask.is_all for ask in asks):
        return True
    if not view.consumes or not features.PartitionableDevices:
        return False
    if shares or features.CompatibilityGroups:
        return True
    return not view.variant.undoes_all and (
        any(ask.constraints for ask in asks)
        or any(
            ask.chooser.choose(device.content) is True and not ask.tolerates(device.content)
            for device in view.devices
            if device.content.consumes and device.content.taints
            for ask in asks
        )
    )
