"""The search for devices: depth first, claims then requests, the first solution wins.

Follows upstream's ``allocateOne`` and ``allocateDevice``, in the same order and with the same side effects, to find the
same solution. Where upstream repeats itself, the search remembers: a state that leads nowhere is not searched twice,
and states that differ only in which of several equal devices are used are one state. After the first dead end,
branches that cannot succeed are cut (``bounds``), unless upstream's steps are to be counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final

from webhook.allocation.bounds import Bounds, can_be_cut
from webhook.allocation.counters import Counters
from webhook.allocation.demand import LIMIT, Ask, Complaint, Demand, Stop
from webhook.allocation.memory import Memories, SearchPosition
from webhook.allocation.selecting import SelectorFault
from webhook.allocation.state import Pick, State
from webhook.allocation.usage import Available
from webhook.allocation.view import NodeView
from webhook.budget import check_deadline
from webhook.records import NamedTuple

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
        self.ask = ask
        self.position = position
        self.place = place
        self.index = index
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

    __slots__ = ("place", "position", "were_all_exceeded")

    def __init__(self, position: int) -> None:
        self.position = position
        self.place = 0
        self.were_all_exceeded = True


class _Claim:
    """A frame for a claim that has its devices, while later claims are tried."""

    __slots__ = ()


_CLAIM: Final = _Claim()
_Frame = _Scan | _Alternatives | _Claim


class Search:
    """One search on one node.

    Args:
        demand: The requests of the claims.
        every: The devices of each request for all devices, by place.
        available: Returns what is left of the counters of a pool, by its place.
        counts: Whether to count upstream's steps, so that no branch is cut.
    """

    __slots__ = (
        "_ascending",
        "_available",
        "_bounds",
        "_can_cut",
        "_counters",
        "_demand",
        "_every",
        "_memories",
        "_own_visits",
        "_stack",
        "_state",
        "_view",
        "is_cut",
        "steps",
        "visits",
    )

    def __init__(
        self,
        demand: Demand,
        view: NodeView,
        every: Mapping[Ask, Sequence[int]],
        available: Callable[[int], Available],
        *,
        counts: bool = False,
    ) -> None:
        self._demand = demand
        self._view = view
        self._every = every
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
