"""Memory of the search: states known to lead nowhere.

Upstream searches such a state again each time it reaches it. Two states are alike if the rest of the search finds the
same devices free, up to exchanging equal ones, and constraints and counters in the same state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.allocation.constraints import Distinct, MatchLists
from webhook.allocation.counters import Counters, Group, Rest
from webhook.allocation.demand import Ask, Demand
from webhook.allocation.selecting import SelectorFault
from webhook.allocation.state import State
from webhook.allocation.view import NodeView
from webhook.later import cached_property
from webhook.records import NamedTuple

_MOST: Final = 64 << 20
"""The bytes that the states of one search may take."""
_STATE, _PART = 200, 48
"""The bytes of a state beside its parts, and about those of a part: a tuple, a number, and the reference to it."""
_TRIAL, _WORTH = 2_000, 20
"""One state in twenty must be known, from so many on."""


class SearchPosition(NamedTuple):
    """The position of a search.

    Args:
        number: The number of devices found for the request.
        start: The place from which the search for the next device starts.
    """

    position: int
    alternative: int
    number: int
    start: int


class Memory(NamedTuple):
    """The end of a search from a state, the steps that it took, and the state that it left behind."""

    code: int
    steps: int
    visits: int
    after: Any


class Memories:
    """The states of one search that lead nowhere.

    Args:
        counters: Returns the node's counters, None if there are none.
    """

    def __init__(self, demand: Demand, view: NodeView, state: State, counters: Callable[[], Counters | None]) -> None:
        self._counters = counters
        self._groups: dict[tuple[int, tuple[int, ...], int, int], int] = {}
        self._others: dict[int, bool] = {}
        self._demand, self._view, self._state = demand, view, state
        self._known: dict[Hashable, Memory] = {}
        self._size = 0
        self._sought = 0
        self._found = 0
        self.leaves_traces = leaves_traces(demand, view)
        self._has_admins = any(ask.is_admin for ask in _asks(demand, 0))
        self._classes: dict[int, list[int | None]] = {}
        self._numbers: dict[Hashable, int] = {}

    def recall(self, key: Hashable) -> Memory | None:
        """Return the end of a search from a state, and restore the state that it left behind; None for a new state."""
        memory = self._known.get(key)
        self._sought += 1
        if memory is not None:
            self._found += 1
            if self.leaves_traces:
                self._state.restore(memory.after)
        return memory

    @cached_property
    def _is_by_group(self) -> bool:
        """Whether groups of devices that share counters are interchangeable, such as the partitions of a GPU."""
        return not self.leaves_traces and not self._has_admins and _can_be_grouped(self._demand, self._view)

    @property
    def is_worthwhile(self) -> bool:
        """Whether states recur often enough to be worth remembering."""
        return self._sought < _TRIAL or self._found * _WORTH > self._sought

    def note(self, key: Hashable, code: int, steps: int, visits: int) -> None:
        """Remember how the search ended from a state."""
        if self._size < _MOST:
            after = self._state.save() if self.leaves_traces else None
            self._known[key] = Memory(code, steps, visits, after)
            self._size += _STATE + _PART * (_parts(key) + _parts(after))

    def key(self, place: SearchPosition, claim: int) -> Hashable:
        """Return the key of a state."""
        state = self._state
        picks = state.picks
        if self.leaves_traces:
            used = tuple(sorted((number, pick.device) for number, each in enumerate(picks) for pick in each))
            return place, used, state.save()
        now, later = self._classes_at(place.position), self._classes_at(place.position + 1)
        counters = self._counters() if self._is_by_group else None
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
        found = self._classes.get(position)
        if found is None:
            asks = list(_asks(self._demand, position))
            found = self._classes[position] = [self._class(index, asks) for index in range(len(self._view.devices))]
        return found

    def _class(self, index: int, asks: list[Ask]) -> int | None:
        view = self._view
        content = view.devices[index].content
        choices = [ask.chooser.choose(content) for ask in asks]
        if not any(choices):
            return None
        parts = (
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
            if content.consumes and not self._is_by_group
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


def _asks(demand: Demand, position: int) -> Iterable[Ask]:
    for request in demand.order[position:]:
        if request is not None:
            yield from request.asks


def _can_be_grouped(demand: Demand, view: NodeView) -> bool:
    """Tell whether neither the scope of counters nor the devices of requests for all devices matter.

    If so, a device that no longer fits is ruled out, unless there are faults: upstream checks counters after selectors.
    """
    asks = list(_asks(demand, 0))
    if not view.consumes or any(ask.is_all for ask in asks):
        return False
    for device in view.devices:
        if device.content.is_shared or any(
            isinstance(ask.chooser.choose(device.content), SelectorFault) for ask in asks
        ):
            return False
    return len({pool.scope for pool in view.pools}) == len(view.pools)


def leaves_traces(demand: Demand, view: NodeView) -> bool:
    """Tell whether undoing a device may leave traces, so that it matters which device was tried before."""
    features = view.variant.features
    asks = list(_asks(demand, 0))
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
