"""The allocator's answers: the devices allocated, or the error."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

from webhook.allocation.demand import Complaint, Demand
from webhook.allocation.devices import Device
from webhook.allocation.outcome import allocation
from webhook.allocation.search import SearchResult
from webhook.allocation.selecting import Fault
from webhook.allocation.view import NodeView
from webhook.objects import JSONObject

UPSTREAM_SECONDS: Final = 10
"""How long the scheduler searches on a node before it gives up on the pod (DRA's filter timeout)."""
_STEP_SECONDS: Final = 7e-7
_VISIT_SECONDS: Final = 4e-7
"""The time that a step and a look at a device take upstream, from the recorded times."""
GIVEN_UP: Final = Complaint(None, "node ", "node", after=": timed out trying to allocate devices")
"""The scheduler's error for a search that takes too long."""


class Attempt(Protocol):
    """An attempt to allocate claims, as its outcome sees it; :class:`webhook.allocation.allocator.Attempt` is one."""

    names: Sequence[str]
    """The claims, as namespace/name."""
    demand: Demand
    """The requests of the claims."""

    def counted(self, view: NodeView, found: SearchResult) -> SearchResult:
        """Return the result of a search, with the steps that upstream takes; still cut if counting takes too long."""

    def depends_on_order(self, view: NodeView, *, has_devices: bool) -> bool:
        """Tell whether another order of slices, of claims, or of Go's maps, could change the result on a node."""

    def mixed_up(self, view: NodeView) -> Mapping[str, Collection[str]]:
        """Return the pools of a node whose counters upstream mixes up, with their drivers."""


class Result:
    """Devices for all claims.

    Args:
        found: The result of the search.
    """

    __slots__ = ("_attempt", "_found", "_view")

    def __init__(self, attempt: Attempt, view: NodeView, found: SearchResult) -> None:
        self._attempt = attempt
        self._view = view
        self._found = found

    @property
    def allocations(self) -> list[JSONObject]:
        """One AllocationResult a claim, as in the API; share IDs are numbered."""
        found, demand = self._found, self._attempt.demand
        made: list[JSONObject] = []
        shares = position = 0
        for claim, picks in zip(demand.claims, found.picks or (), strict=True):
            asks = [request.asks[found.chosen.get(position + place, 0)] for place, request in enumerate(claim.requests)]
            position += len(asks) + 1
            made.append(allocation(claim, asks, picks, self._view, shares=shares))
            shares += sum(pick.take is not None for pick in picks)
        return made

    @property
    def devices(self) -> list[list[tuple[str, str, str, str]]]:
        """Request, driver, pool and name of each device, by claim."""
        devices = self._view.devices
        return [
            [(pick.ask.full_name, *_name(devices[pick.device])) for pick in picks] for picks in self._found.picks or ()
        ]

    @property
    def steps(self) -> int:
        """The number of steps that upstream's search takes; counted on first use."""
        return self._attempt.counted(self._view, self._found).steps

    @property
    def timed_out(self) -> bool:
        """Whether upstream would search longer than ten seconds, and give up on the pod."""
        return _takes_too_long(self._attempt.counted(self._view, self._found))

    @property
    def depends_on_order(self) -> bool:
        """Whether another order of slices, of claims, or of Go's maps, could change the result."""
        return self._attempt.depends_on_order(self._view, has_devices=True)

    @property
    def mixed_up(self) -> Mapping[str, Collection[str]]:
        """The pools whose counters upstream mixes up, as drivers share their names; with the drivers."""
        return self._attempt.mixed_up(self._view)


class Failure:
    """No devices for all claims.

    Args:
        found: The result of the search, if there was one.
        complaint: Upstream's error, None if the claims do not fit.
    """

    __slots__ = ("_attempt", "_complaint", "_found", "_view")

    def __init__(
        self, attempt: Attempt, view: NodeView, found: SearchResult | None, complaint: Complaint | None
    ) -> None:
        self._attempt = attempt
        self._view = view
        self._found = found
        self._complaint = complaint

    @property
    def error(self) -> str | None:
        """The allocator's error, None if the claims do not fit."""
        complaint, view = self._complaint, self._view
        if complaint is None:
            return None
        names = self._attempt.names
        subject = "" if complaint.claim is None else f"claim {names[complaint.claim]}"
        item = ""
        if complaint.kind == "pool":
            item = str(view.pools[complaint.item])
        elif complaint.kind == "device":
            item = str(view.devices[complaint.item])
        elif complaint.kind == "claim":
            item = names[complaint.item].rpartition("/")[2]
        elif complaint.kind == "node":
            item = view.node
        return Fault(f"{subject}{complaint.before}{item}{complaint.after}", complaint.missing)

    @property
    def scope(self) -> str | None:
        """``node`` if only this node is ruled out, ``abort`` if the scheduler gives up on the pod; None if no error."""
        if self._complaint is None:
            return None
        return "node" if self._complaint.is_of_node else "abort"

    @property
    def steps(self) -> int:
        """The number of steps that upstream's search takes, counted on first use; 0 if the attempt ends before it."""
        return 0 if self._found is None else self._attempt.counted(self._view, self._found).steps

    @property
    def timed_out(self) -> bool:
        """Whether upstream would search longer than ten seconds, and give up on the pod; true if draguard gave up."""
        if self._complaint is GIVEN_UP:
            return True
        return self._found is not None and _takes_too_long(self._attempt.counted(self._view, self._found))

    @property
    def depends_on_order(self) -> bool:
        """Whether another order of slices, of claims, or of Go's maps, could change the result."""
        has_devices = self._found is not None and self._found.picks is not None
        return self._attempt.depends_on_order(self._view, has_devices=has_devices)

    @property
    def mixed_up(self) -> Mapping[str, Collection[str]]:
        """The pools whose counters upstream mixes up, as drivers share their names; with the drivers."""
        return self._attempt.mixed_up(self._view)


def _takes_too_long(found: SearchResult) -> bool:
    return found.is_cut or found.steps * _STEP_SECONDS + found.visits * _VISIT_SECONDS > UPSTREAM_SECONDS


def _name(device: Device) -> tuple[str, str, str]:
    return device.slice.driver, device.slice.pool, device.name
