"""What became of pods, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.inventory import name_of, namespace_of
from webhook.inventory.claims import allocation_of

if TYPE_CHECKING:
    from webhook.inventory.reading import JSONObject
    from webhook.simulation.scheduler import Placement, Scheduler


class Answers:
    """Tells what became of pods, and why.

    Args:
        scheduler: The scheduler, after all pods.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def of(self, placement: Placement) -> dict[str, Any]:
        """Return what became of one pod: see :func:`webhook.simulate`."""
        return {
            "namespace": namespace_of(placement.pod),
            "name": name_of(placement.pod),
            "node": placement.node,
            "condition": placement.condition,
            "claims": {name_of(each): found for each in placement.claims if (found := _devices(each))},
            "candidates": list(placement.candidates),
            "why": {"reason": placement.reason},
        }


def _devices(claim: JSONObject) -> JSONObject | None:
    """Return a claim's allocation, without the time at which it would be made."""
    allocation = allocation_of(claim)
    return allocation and {name: value for name, value in allocation.items() if name != "allocationTimestamp"}
