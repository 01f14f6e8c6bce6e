"""The search for devices: depth first, claims then requests, the first solution wins.

Follows upstream's ``Allocate``, ``allocateOne`` and ``isSelectable`` in the same order, to find the same solution.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, Final

from webhook.allocation.demand import LIMIT, Ask, Complaint, Demand, Stop
from webhook.allocation.memories import Memories, SearchPosition
from webhook.allocation.selecting import Chooser, SelectorFault
from webhook.allocation.state import Pick, State
from webhook.allocation.view import Available, NodeView
from webhook.budget import check_deadline
from webhook.records import NamedTuple

DONE: Final = 0
FAILED: Final = 1
EXCEEDED: Final = 2
"""A claim would get more devices than it may (``errAllocationResultMaxSizeExceeded``)."""

MOST_VISITS: Final = 1_000_000
"""The number of devices looked at before the search gives up: some seconds."""
_STRIDE: Final = 10_000
"""The number of devices looked at between two checks of the clock."""
_REMEMBERED_AFTER: Final = 64
"""The steps after which states are remembered; most searches end before."""
GIVEN_UP: Final = Complaint(None, "node ", "node", after=": timed out trying to allocate devices")
"""The scheduler's error for a search that takes too long."""


_Steps = Generator[SearchPosition, Any, int]
"""A step, which yields those that it takes next, receives how each of them ends, and returns how it ends itself."""


class GivenUpError(Exception):
    """The search would take too long."""


class Outcome(NamedTuple):
    """How an attempt ends on a node; it names devices by their places, and so holds for all nodes with the same key.

    Args:
        picks: The devices by claim; None if nothing fits.
        chosen: The alternatives chosen, by the position of their request among all.
        steps: The number of calls of ``allocateOne`` that upstream needs.
        visits: The number of devices that upstream looks at.
        complaint: The error that ends it; None if it ends without one.
    """

    picks: tuple[tuple[Pick, ...], ...] | None = None
    chosen: Mapping[int, int] = {}
    steps: int = 0
    visits: int = 0
    complaint: Complaint | None = None


class Search:
    """One search on one node.

    Args:
        available: Returns what is left of the counters of a pool, by its place.
    """

    def __init__(self, demand: Demand, view: NodeView, available: Callable[[int], Available]) -> None:
        self._demand, self._view = demand, view
        self._every: dict[Ask, list[int]] = {}
        """The devices that requests for all devices get."""
        self._state = State(demand, view, available)
        self._memories = Memories(demand, view, self._state, available, self._work)
        self._chosen: dict[int, int] = {}
        self._steps = self._visits = self._own_visits = 0

    def run(self) -> Outcome:
        """Check the claims, and look for devices for them.

        Raises:
            DeadlineExceededError: The deadline of the budget in force has passed.
        """
        picks = complaint = None
        try:
            self._check()
            if self._can_allocate(SearchPosition(0)):
                picks = tuple(map(tuple, self._state.picks))
        except Stop as stop:
            complaint = stop.complaint
        except GivenUpError:
            complaint = GIVEN_UP
        return Outcome(picks, self._chosen, self._steps, self._visits, complaint)

    def _check(self) -> None:
        """Check the claims before the search (``validateDeviceRequest``), and find all devices for those that want all.

        Raises:
            Stop: The attempt ends with an error of upstream's.
        """
        mixes_up = self._view.variant.mixes_up_alternatives
        totals: dict[int, dict[int, int]] = {}
        last: Ask | None = None
        for check in self._demand.checks:
            if isinstance(check, Complaint):
                raise Stop(check)
            if isinstance(check, Ask):
                if check.is_all:
                    # Until 1.35 the second alternative of a request was cached under the index of the first.
                    is_first = mixes_up and check.alternative == 1 and last is not None and last.is_all
                    self._every[check] = self._all_devices(check, (last if last and is_first else check).chooser)
                last = check
                least, wanted = totals.setdefault(check.claim, {}), self._wanted(check)
                least[check.place] = min(wanted, least.get(check.place, wanted))
            elif (total := sum(totals.get(check, {}).values())) > LIMIT:
                text = f": number of requested devices {total} exceeds the claim limit of {LIMIT}"
                raise Stop(Complaint(check, text))

    def _all_devices(self, ask: Ask, chooser: Chooser) -> list[int]:
        """Return the devices that a request for all devices gets.

        Raises:
            Stop: A pool is incomplete or invalid, or a selector is wrong.
        """
        pools = self._view.pools
        unusable = next((n for n, each in enumerate(pools) if each.is_incomplete or each.is_invalid), len(pools))
        found = [
            index
            for index, place in enumerate(self._view.pool_of)
            if place < unusable and self._is_selectable(ask, chooser, index) and self._state.has_capacity(ask, index)
        ]
        if unusable < len(pools):
            state = "being updated" if pools[unusable].is_incomplete else "invalid"
            text = f", request {ask.name}: asks for all devices, but resource pool "
            raise Stop(Complaint(ask.claim, text, "pool", unusable, f" is currently {state}"))
        return found

    def _wanted(self, ask: Ask) -> int:
        """Return the number of devices that a request wants."""
        return len(self._every[ask]) if ask.is_all else ask.count

    def _can_allocate(self, at: SearchPosition) -> bool:
        """Tell whether a step and all that follow lead to devices; they are too many for Python's own stack."""
        taken = [self._allocate_one(at)]
        code: int | None = None
        while taken:
            try:
                following = taken[-1].send(code)
            except StopIteration as end:
                code = end.value
                taken.pop()
            else:
                taken.append(self._allocate_one(following))
                code = None
        return code == DONE

    def _allocate_one(self, at: SearchPosition) -> _Steps:
        """Allocate the next device, and all that are wanted after it (``allocateOne``); no device if that fails."""
        self._steps += 1
        if at.position >= len(self._demand.order):
            return DONE
        request = self._demand.order[at.position]
        if request is None:
            # Too many devices for a later claim: fewer devices for this one may leave enough.
            return DONE if (yield at.next) == DONE else FAILED
        if request.has_alternatives and at.alternative is None:
            return (yield from self._allocate_any(at, len(request.asks)))
        ask = request.asks[at.alternative or 0]
        wanted = self._wanted(ask)
        if at.number >= wanted:
            code: int = FAILED if ask.is_all and not wanted else (yield at.next)  # of all, there must be one at least
            return code
        if len(self._state.picks[ask.claim]) + wanted - at.number > LIMIT:
            return EXCEEDED
        is_remembered = self._steps > _REMEMBERED_AFTER and self._memories.is_worthwhile
        return (yield from (self._recall if is_remembered else self._allocate_device)(ask, at))

    def _allocate_any(self, at: SearchPosition, alternatives: int) -> _Steps:
        """Allocate the first alternative of a request that leaves enough for the requests after it."""
        codes: list[int] = []
        for alternative in range(alternatives):
            self._chosen[at.position] = alternative
            codes.append((yield at._replace(alternative=alternative)))
            if codes[-1] == DONE:
                return DONE
        return min(codes)  # EXCEEDED only if all are

    def _recall(self, ask: Ask, at: SearchPosition) -> _Steps:
        """Return the end of the search from an equal state before; else search, and remember the end."""
        memories = self._memories
        # Before the first failure nothing is known; the key can be made once this fails, if undoing leaves no traces.
        key = memories.key(at, ask.claim) if memories.known or memories.leaves_traces else None
        if key and (memory := memories.recall(key)):
            self._steps += memory.steps
            self._visits += memory.visits
            return memory.code
        steps, visits = self._steps, self._visits
        code = yield from self._allocate_device(ask, at)
        if code != DONE:
            memories.note(key or memories.key(at, ask.claim), code, self._steps - steps, self._visits - visits)
        return code

    def _allocate_device(self, ask: Ask, at: SearchPosition) -> _Steps:
        """Try devices for a request until the rest can be allocated, too."""
        variant = self._view.variant
        alternative = 0 if ask.is_all and variant.mixes_up_alternatives else at.alternative
        for index in self._candidates(ask, at):
            if pick := self._state.allocate(ask, index):
                start = index + 1 if variant.is_sorted and not ask.is_all else 0
                code = yield SearchPosition(at.position, alternative, at.number + 1, start)
                if code == DONE:
                    return DONE
                self._state.undo(pick)
                if code == EXCEEDED:
                    return EXCEEDED
        return FAILED

    def _candidates(self, ask: Ask, at: SearchPosition) -> Iterator[int]:
        """Yield the devices that may be the next one for a request: those that are free and selected.

        Raises:
            Stop: A selector or pool ends the search with an error.
        """
        if ask.is_all:  # their order does not matter: if this one cannot be had, no other helps
            self._visits += 1
            yield self._every[ask][at.number]
            return
        begin, end = at.start, len(self._view.devices)
        blocked = self._state.blocked(ask)
        for index in range(begin, end):
            if not blocked >> index & 1 and self._is_selectable(ask, ask.chooser, index):
                self._count(index + 1 - begin)
                begin = index + 1
                yield index
        if self._view.broken:
            raise Stop(Complaint(None, self._view.broken))
        self._count(end - begin)

    def _is_selectable(self, ask: Ask, chooser: Chooser, index: int) -> bool:
        """Tell whether selectors select a device, and it is for the node (``isSelectable``).

        Raises:
            Stop: A selector fails.
        """
        view = self._view
        choice = chooser.choose(view.devices[index].content)
        if choice is not True:
            if choice is False:
                return False
            raise Stop(_fault(ask, choice, view, index))
        match = True if view.matches is None else view.matches[index]
        if isinstance(match, str):
            raise Stop(Complaint(None, match))
        return match

    def _count(self, visits: int) -> None:
        self._visits += visits
        self._work(visits)

    def _work(self, visits: int) -> None:
        """Count devices that are looked at.

        Raises:
            GivenUpError: They are too many.
        """
        before = self._own_visits
        self._own_visits += visits
        if self._own_visits > MOST_VISITS:
            raise GivenUpError
        if before // _STRIDE != self._own_visits // _STRIDE:
            check_deadline()


def _fault(ask: Ask, found: SelectorFault, view: NodeView, index: int) -> Complaint:
    """Return upstream's error for a selector that fails.

    Args:
        index: The place of the device that the selector was evaluated for.
    """
    name = (ask.class_.get("metadata") or {}).get("name", "") if found.of_class else ""
    before = f"{f'class {name}' if found.of_class else ''}: selector #{found.place}"
    missing, after = found.detail.missing, f": {found.detail}"
    if not view.variant.names_devices or not found.detail.is_runtime:
        return Complaint(ask.claim, f"{before}{after}", missing=missing, of_class=name)
    return Complaint(ask.claim, f"{before} on device ", "device", index, after, missing=missing, of_class=name)
