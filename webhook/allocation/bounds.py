"""Bounds that prune the search: branches that cannot succeed are not tried.

Counting is enough in most cases: requests want more devices than are left, too few devices have the same value of an
attribute that they must share, or there are fewer values than requests that must differ. A branch that is cut holds no
solution and raises no error, so the first solution found stays the same. Sets of devices are bit sets of their places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from webhook.allocation.constraints import DistinctDevices, Match, Value
from webhook.allocation.counters import Counters
from webhook.allocation.demand import Ask, Demand
from webhook.allocation.memory import SearchPosition
from webhook.allocation.selecting import SelectorFault
from webhook.allocation.state import State
from webhook.allocation.view import NodeView
from webhook.records import NamedTuple


class _Need(NamedTuple):
    """The number of devices that a request still needs, and the devices that it could get."""

    ask: Ask
    number: int
    devices: int


class Bounds:
    """The devices that are left for later requests.

    Args:
        demand: The requests of the claims.
        every: The devices of each request for all devices, by place.
        state: The devices that the search has allocated so far.
        counters: The counters of its devices; None if they do not matter.
    """

    __slots__ = (
        "_costs",
        "_counters",
        "_demand",
        "_eligible",
        "_every",
        "_shared",
        "_state",
        "_unfit",
        "_values",
        "_view",
    )

    def __init__(
        self,
        demand: Demand,
        view: NodeView,
        every: Mapping[Ask, Sequence[int]],
        state: State,
        counters: Counters | None,
    ) -> None:
        self._counters = counters
        self._costs: dict[Ask, Mapping[int, int]] = {}
        self._unfit = 0
        self._demand = demand
        self._view = view
        self._every = every
        self._state = state
        self._eligible: dict[Ask, int] = {}
        self._values: dict[tuple[int, int], dict[Value, int]] = {}
        """The devices that have a value, by the constraint's claim and place."""
        self._shared = 0
        for index, device in enumerate(view.devices):
            self._shared |= (device.content.is_shared and view.variant.features.ConsumableCapacity) << index

    def is_hopeless_from_the_start(self) -> bool:
        """Tell whether there is no solution at all."""
        start = Bounds(self._demand, self._view, self._every, self._state.anew(), self._counters)
        start._look_at_counters()
        start._eligible = self._eligible
        start._values = self._values
        needs = list(start._later(0))
        return start._are_hopeless(needs, range(len(self._demand.claims)))

    def is_hopeless(self, place: SearchPosition) -> bool:
        """Tell whether there is no solution from a state."""
        request = self._demand.order[place.position]
        if request is None:
            return False
        self._look_at_counters()
        ask = request.asks[place.alternative]
        needs = [_Need(ask, self._wanted(ask) - place.number, self._free(ask) >> place.start << place.start)]
        needs += self._later(place.position + 1)
        return self._are_hopeless(needs, (ask.claim,))

    def _are_hopeless(self, needs: Sequence[_Need], claims: Iterable[int]) -> bool:
        if any(need.devices.bit_count() < need.number for need in needs):
            return True
        alone = [need for need in needs if not need.ask.is_admin]
        together = 0
        for need in alone:
            together |= need.devices
        if not together & self._shared and together.bit_count() < sum(need.number for need in alone):
            return True
        if self._counters is not None:
            wanted = [(need.number, self._cost(need.ask)) for need in needs]
            if self._counters.is_too_much(self._picked, wanted):
                return True
        return any(
            self._is_unmatched(claim, number, needs) for claim in claims for number in range(self._constraints(claim))
        )

    @property
    def _picked(self) -> list[int]:
        return [pick.device for picks in self._state.picks for pick in picks]

    def _look_at_counters(self) -> None:
        if self._counters is not None:
            self._unfit = self._counters.unfit(self._picked)

    def _cost(self, ask: Ask) -> Mapping[int, int]:
        """Return the least that a device for a request consumes."""
        found = self._costs.get(ask)
        if found is None:
            found = self._costs[ask] = {} if self._counters is None else self._counters.least_cost(self._eligible[ask])
        return found

    def _constraints(self, claim: int) -> int:
        return len(self._state.constraints[claim])

    def _later(self, position: int) -> Iterator[_Need]:
        """Return the needs of the requests from a position on; requests with alternatives are left out."""
        for request in self._demand.order[position:]:
            if request is not None and not request.has_alternatives:
                ask = request.asks[0]
                yield _Need(ask, self._wanted(ask), self._free(ask))

    def _wanted(self, ask: Ask) -> int:
        return len(self._every[ask]) if ask.is_all else ask.count

    def _free(self, ask: Ask) -> int:
        eligible = self._eligible.get(ask)
        if eligible is None:
            eligible = self._eligible[ask] = self._find_eligible(ask)
        return eligible & ~self._state.blocked(ask) & ~self._unfit

    def _find_eligible(self, ask: Ask) -> int:
        view, state = self._view, self._state
        features = view.variant.features
        found = 0
        for index in self._every[ask] if ask.is_all else range(len(view.devices)):
            content = view.devices[index].content
            if (
                ask.chooser.choose(content) is True
                and (view.matches is None or view.matches[index] is True)
                and (not features.DeviceTaints or ask.tolerates(content))
                and (features.PartitionableDevices or not content.consumes)
                and (not features.ConsumableCapacity or (ask.takes(content) or _NOTHING).is_allowed)
                and all(state.constraints[ask.claim][n].attribute.of(content) is not None for n in ask.constraints)
            ):
                found |= 1 << index
        return found

    def _is_unmatched(self, claim: int, number: int, needs: Sequence[_Need]) -> bool:
        """Tell whether a constraint of a claim cannot be satisfied."""
        under = [need for need in needs if need.ask.claim == claim and number in need.ask.constraints and need.number]
        if not under:
            return False
        constraint = self._state.constraints[claim][number]
        values = self._by_value(claim, number)
        if isinstance(constraint, Match):
            if constraint.number:
                return constraint.value is None or not self._is_enough(under, values.get(constraint.value, 0))
            return not any(self._is_enough(under, devices) for devices in values.values())
        if isinstance(constraint, DistinctDevices):
            return False
        taken = set(constraint.values.values())
        together = 0
        for need in under:
            together |= need.devices
        left = sum(1 for value, devices in values.items() if devices & together and value not in taken)
        return left < sum(need.number for need in under)

    def _is_enough(self, needs: Sequence[_Need], devices: int) -> bool:
        together = 0
        for need in needs:
            here = need.devices & devices
            if here.bit_count() < need.number:
                return False
            if not need.ask.is_admin:
                together |= here
        alone = sum(need.number for need in needs if not need.ask.is_admin)
        return bool(together & self._shared) or together.bit_count() >= alone

    def _by_value(self, claim: int, number: int) -> Mapping[Value, int]:
        found = self._values.get((claim, number))
        if found is None:
            attribute = self._state.constraints[claim][number].attribute
            found = defaultdict(int)
            for index, device in enumerate(self._view.devices):
                value = attribute.of(device.content)
                if value is not None:
                    found[value] |= 1 << index
            self._values[claim, number] = found
        return found


class _Nothing(NamedTuple):
    is_allowed: bool = False


_NOTHING = _Nothing()


def can_be_cut(demand: Demand, view: NodeView) -> bool:
    """Tell whether a search can be cut: upstream cannot run into an error on the way."""
    if view.matches is not None and any(isinstance(each, str) for each in view.matches):
        return False
    if not view.variant.is_sorted and any(device.content.is_shared for device in view.devices):
        return False  # a request may use a device several times
    for request in demand.order:
        for ask in () if request is None else request.asks:
            if ask.is_all and (ask.constraints or (ask.parent and view.variant.mixes_up_alternatives)):
                return False
            if any(isinstance(ask.chooser.choose(device.content), SelectorFault) for device in view.devices):
                return False
    return True
