"""The search for devices: depth first, claims then requests, the first solution wins.

Follows upstream's ``allocateOne`` and ``allocateDevice``, in the same order and with the same side effects, to find the
same solution. Where upstream repeats itself, the search remembers: a state that leads nowhere is not searched twice,
and states that differ only in which of several equal devices are used are one state. After the first dead end,
branches that cannot succeed are cut (``bounds``), unless upstream's steps are to be counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from webhook.allocation.constraints import DistinctDevices, Match, Value
from webhook.allocation.counters import Counters
from webhook.allocation.demand import LIMIT, Ask, Complaint, Demand, Stop
from webhook.allocation.memory import Memories, SearchPosition
from webhook.allocation.selecting import SelectorFault
from webhook.allocation.state import Pick, State
from webhook.allocation.usage import Available
from webhook.allocation.view import NodeView
from webhook.budget import check_deadline
from webhook.records import NamedTuple


class _Need(NamedTuple):
    """The number of devices that a request still needs, and the devices that it could get."""

    ask: Ask
    number: int
    devices: int


class Bounds:
    """The devices that are left for later requests.

    Args:
        every: The devices of each request for all devices, by place.
        counters: The counters of its devices; None if they do not matter.
    """

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
        self._demand, self._view, self._every, self._state = demand, view, every, state
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
            self._is_unmatched(claim, number, needs)
            for claim in claims
            for number in range(len(self._state.constraints[claim]))
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
                and (not features.ConsumableCapacity or ask.may_take(content))
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


DONE: Final = 0
FAILED: Final = 1
EXCEEDED: Final = 2
"""More devices than a claim may get; ends all frames that led there at once."""

MOST_VISITS: Final = 1_000_000
"""The number of devices looked at before the search gives up: some seconds."""
_STRIDE: Final = 10_000
"""The number of devices looked at between two checks of the clock."""
_LOOK_AHEAD: Final = 3
"""How many looks at a device looking ahead counts for; it takes longer, but less of it is needed."""
_REMEMBERED_AFTER: Final = 64
"""The steps after which states are remembered; most searches end before."""


class GivenUpError(Exception):
    """The search would take too long."""


class SearchResult(NamedTuple):
    """The result of a search.

    Args:
        picks: The devices by claim; None if nothing fits.
        chosen: The alternatives chosen, by the position of their request among all.
        steps: The number of calls of ``allocateOne`` that upstream needs; a lower bound if branches were cut.
        visits: The number of devices that upstream looks at, likewise.
        is_cut: Whether branches were cut.
    """

    picks: tuple[tuple[Pick, ...], ...] | None
    chosen: Mapping[int, int]
    steps: int
    visits: int
    is_cut: bool


class _Scan:
    """A frame that looks for a device of a request, from a place on."""

    __slots__ = ("ask", "index", "key", "next", "pick", "place", "position", "steps", "visits")

    def __init__(self, ask: Ask, position: int, place: int, index: int, start: int) -> None:
        self.ask, self.position, self.place, self.index = ask, position, place, index
        self.next = start
        self.pick: Pick | None = None
        self.key: Hashable = None
        self.steps = 0
        self.visits = 0

    @property
    def at(self) -> SearchPosition:
        """The position of the search."""
        return SearchPosition(self.position, self.place, self.index, self.next)


class _Alternatives:
    """A frame that tries the alternatives of a request, one after the other."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.place = 0
        self.were_all_exceeded = True


class _Claim:
    """A frame for a claim that has its devices, while later claims are tried."""


_CLAIM: Final = _Claim()
_Frame = _Scan | _Alternatives | _Claim


class Search:
    """One search on one node.

    Args:
        available: Returns what is left of the counters of a pool, by its place.
        counts: Whether to count upstream's steps, so that no branch is cut.
    """

    def __init__(
        self,
        demand: Demand,
        view: NodeView,
        every: Mapping[Ask, Sequence[int]],
        available: Callable[[int], Available],
        *,
        counts: bool = False,
    ) -> None:
        self._demand, self._view, self._every = demand, view, every
        self._ascending = view.variant.is_sorted
        self._state = State(demand, view, available)
        self._available = available
        self._counters: Counters | None = None
        self._memories = Memories(demand, view, self._state, self._count_counters)
        self._stack: list[_Frame] = []
        self._own_visits = 0
        self._bounds: Bounds | None = None
        self._can_cut = not (counts or view.broken or self._memories.leaves_traces)
        self.is_cut = False
        self.steps = 0
        self.visits = 0

    def run(self) -> SearchResult:
        """Search.

        Raises:
            Stop: The search ends with an error of upstream's.
            GivenUpError: The search takes too long.
            DeadlineExceededError: The deadline of the budget in force has passed.
        """
        stack = self._stack
        code = self._enter(0, None, 0, 0)
        while code != DONE and stack:
            frame = stack[-1]
            if isinstance(frame, _Scan):
                code = self._resume(frame, code)
            elif isinstance(frame, _Alternatives):
                code = self._next_alternative(frame, code)
            else:
                # Too many devices for the next claim: fewer devices for this one may leave enough.
                stack.pop()
                code = FAILED
        if code != DONE:
            return self.so_far()
        chosen = {frame.position: frame.place for frame in stack if isinstance(frame, _Alternatives)}
        picks = tuple(map(tuple, self._state.picks))
        return SearchResult(picks, chosen, self.steps, self.visits, self.is_cut)

    def so_far(self) -> SearchResult:
        """Return the result so far, without devices."""
        return SearchResult(None, {}, self.steps, self.visits, self.is_cut)

    def _enter(self, position: int, place: int | None, index: int, start: int) -> int | None:
        """Take a step forward; None if it pushed a frame that continues the search."""
        order, stack = self._demand.order, self._stack
        while True:
            self.steps += 1
            if position >= len(order):
                return DONE
            request = order[position]
            if request is None:
                stack.append(_CLAIM)
                position, place, index, start = position + 1, None, 0, 0
                continue
            if request.has_alternatives and place is None:
                stack.append(_Alternatives(position))
                place = 0
                continue
            ask = request.asks[place or 0]
            wanted = len(self._every[ask]) if ask.is_all else ask.count
            if ask.is_all and not wanted:
                return FAILED
            if index >= wanted:
                position, place, index, start = position + 1, None, 0, 0
                continue
            if len(self._state.picks[ask.claim]) + wanted - index > LIMIT:
                return EXCEEDED
            frame = _Scan(ask, position, place or 0, index, start)
            if self._is_hopeless(frame):
                return FAILED
            stack.append(frame)
            return self._recall(frame) if self.steps > _REMEMBERED_AFTER and self._memories.is_worthwhile else None

    def _is_hopeless(self, frame: _Scan) -> bool:
        if self._bounds is None:
            return False
        self._work(_LOOK_AHEAD)
        if not self._bounds.is_hopeless(frame.at):
            return False
        self.is_cut = True
        return True

    def _look_ahead(self) -> bool:
        """Begin to cut branches that cannot succeed; tell whether none can."""
        if self._bounds is not None or not self._can_cut:
            return False
        demand, view, every = self._demand, self._view, self._every
        self._can_cut = can_be_cut(demand, view)
        if not self._can_cut:
            return False
        self._bounds = Bounds(demand, view, every, self._state, self._count_counters())
        self.is_cut = self._bounds.is_hopeless_from_the_start()
        return self.is_cut

    def _count_counters(self) -> Counters | None:
        """Return the node's counters, None if there are none."""
        if self._counters is None and self._view.consumes and self._view.variant.features.PartitionableDevices:
            self._counters = Counters(self._view, self._available, self._work)
        return self._counters

    def _recall(self, frame: _Scan) -> int | None:
        """Return the end of the search from an equal state before; else remember the end of this one."""
        key = self._memories.key(frame.at, frame.ask.claim)
        memory = self._memories.recall(key)
        if memory is None:
            frame.key, frame.steps, frame.visits = key, self.steps, self.visits
            return None
        self._stack.pop()
        self.steps += memory.steps
        self.visits += memory.visits
        return memory.code

    def _resume(self, frame: _Scan, code: int | None) -> int | None:
        """Begin, or continue after a device that led nowhere; a code is the result of the frame above on the stack."""
        state = self._state
        if frame.pick is not None:
            state.undo(frame.pick)
            frame.pick = None
            if code == EXCEEDED or frame.ask.is_all:
                return self._leave(frame, code or FAILED)
            if self._look_ahead():
                self._stack.clear()
                return FAILED
            if self._is_hopeless(frame):
                return self._leave(frame, FAILED)
        elif code is not None:
            return self._leave(frame, code)
        ask = frame.ask
        if ask.is_all:
            index = self._every[ask][frame.index]
            self.visits += 1
            pick = state.allocate(ask, index)
        else:
            pick = self._first_fit(frame)
        if pick is None:
            return self._leave(frame, FAILED)
        frame.pick = pick
        start = frame.next if self._ascending else 0
        place = 0 if ask.is_all and self._view.variant.mixes_up_alternatives else frame.place
        return self._enter(frame.position, place, frame.index + 1, start)

    def _leave(self, frame: _Scan, code: int) -> int:
        self._stack.pop()
        if frame.key is not None:
            self._memories.note(frame.key, code, self.steps - frame.steps, self.visits - frame.visits)
        return code

    def _first_fit(self, frame: _Scan) -> Pick | None:
        """Allocate the next device that is free and wanted."""
        state, ask, view = self._state, frame.ask, self._view
        devices, matches, known = view.devices, view.matches, ask.chooser.known
        blocked = state.blocked(ask)
        begin = frame.next
        for index in range(begin, len(devices)):
            if blocked >> index & 1:
                continue
            content = devices[index].content
            choice = known[content.index] if content.index < len(known) else None
            if choice is None:
                choice = ask.chooser.choose(content)
            if choice is not True:
                if choice is False:
                    continue
                raise Stop(fault(ask, choice, view, index))
            if matches is not None and matches[index] is not True:
                raise_unless_bool(matches[index])
                continue
            if not state.has_capacity(ask, index):
                continue
            pick = state.allocate(ask, index)
            if pick is not None:
                frame.next = index + 1
                self._count(index + 1 - begin)
                return pick
        if view.broken:
            raise Stop(Complaint(None, view.broken))
        frame.next = len(devices)
        self._count(len(devices) - begin)
        return None

    def _count(self, visits: int) -> None:
        self.visits += visits
        self._work(visits)

    def _work(self, visits: int) -> None:
        before = self._own_visits
        self._own_visits += visits
        if self._own_visits > MOST_VISITS:
            raise GivenUpError
        if before // _STRIDE != self._own_visits // _STRIDE:
            check_deadline()

    def _next_alternative(self, frame: _Alternatives, code: int | None) -> int | None:
        if code != EXCEEDED:
            frame.were_all_exceeded = False
        frame.place += 1
        request = self._demand.order[frame.position]
        if request is None or frame.place >= len(request.asks):
            self._stack.pop()
            return EXCEEDED if frame.were_all_exceeded else FAILED
        return self._enter(frame.position, frame.place, 0, 0)


_ADVICE: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional"
    " fields"
)
"""The hint that upstream's ``cel/errors.go`` adds, from 1.37 on."""


def fault(ask: Ask, found: SelectorFault, view: NodeView, index: int) -> Complaint:
    """Return upstream's error for a selector that fails.

    Args:
        index: The place of the device that the selector was evaluated for.
    """
    name = (ask.class_.get("metadata") or {}).get("name", "")
    claim = None if found.of_class else ask.claim
    before = f"{f'class {name}' if found.of_class else ''}: selector #{found.place}"
    if not view.variant.names_devices or not found.detail.is_runtime:
        return Complaint(claim, f"{before}: {found.detail}", missing=found.detail.missing)
    missing = found.detail.missing
    after = f": {found.detail}{_ADVICE if missing else ''}"
    return Complaint(claim, f"{before} on device ", "device", index, after, missing=missing)


def raise_unless_bool(match: bool | str) -> None:  # noqa: FBT001 - the value looked at
    """End the attempt if a device's node selector cannot be parsed.

    Raises:
        Stop: The selector cannot be parsed.
    """
    if isinstance(match, str):
        raise Stop(Complaint(None, match))
