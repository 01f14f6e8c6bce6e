"""The PodScheduled condition, in the scheduler's words.

Follows ``pkg/scheduler/framework/types.go`` (FitError) and ``framework/preemption/preemption.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from webhook.objects import JSONObject, text
from webhook.simulation.nodes import Refusal

Condition = dict[str, str]

SCHEDULED: Final[Condition] = {"status": "True"}
GATED: Final[Condition] = {
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}

NOTHING_TO_DEALLOCATE: Final = "no new claims to deallocate"
STILL_NOT: Final = "still not schedulable"
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
DELETED: Final = "deletion of ResourceClaim completed"

_NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
_NO_VICTIMS: Final = "No preemption victims found for incoming pod"


SCHEDULER_ERROR: Final = "SchedulerError"
FILTER_FAILED: Final = 'running "DynamicResources" filter plugin: '
"""The start of the message for an error on a node."""


def failed(message: str) -> Condition:
    """Return the condition of a pod whose scheduling ended with an error."""
    return {"status": "False", "reason": SCHEDULER_ERROR, "message": message}


def unschedulable(message: str) -> Condition:
    """Return the condition of a pod that fits no node."""
    return {"status": "False", "reason": "Unschedulable", "message": message}


def nowhere() -> Condition:
    """Return the condition of a pod in a cluster without nodes."""
    return unschedulable("no nodes available to schedule pods")


def conflicting(nodes: int) -> Condition:
    """Return the condition of a pod whose node affinity contradicts itself: each term requires two nodes at once.

    ``not found`` is the state of the plugin DynamicResources, which had no turn before.
    """
    return unschedulable(f"0/{nodes} nodes are available: pod affinity terms conflict. not found")


def before_filter(reason: str, nodes: int, claims: str, pod: JSONObject) -> Condition:
    """Return the condition of a pod that the scheduler rejected before it looked at any node.

    Args:
        claims: The changes to the pod's claims.
    """
    after = _afterwards(claims, _preemption({_NOT_HELPFUL: nodes}, nodes, pod))
    return unschedulable(f"0/{nodes} nodes are available: {reason}. {after}")


def refused(refusals: Sequence[Refusal], nodes: int, claims: str, pod: JSONObject, absent: str = "") -> Condition:
    """Return the condition of a pod that all nodes refused.

    Args:
        claims: The changes to the pod's claims.
        absent: The reason why the scheduler did not look at the other nodes.
    """
    reasons = Counter(reason for each in refusals for reason in each.reasons)
    helpless = sum(not each.resolvable for each in refusals)
    if nodes > len(refusals):
        reasons[absent] += nodes - len(refusals)
        helpless += nodes - len(refusals)
    counts = {_NOT_HELPFUL: helpless, _NO_VICTIMS: nodes - helpless}
    after = _afterwards(claims, _preemption(counts, nodes, pod))
    return unschedulable(f"0/{nodes} nodes are available: {_histogram(reasons)}. {after}")


def _afterwards(*texts: str) -> str:
    return ", ".join(filter(None, texts))


def _preemption(counts: dict[str, int], nodes: int, pod: JSONObject) -> str:
    if text(pod, "spec", "preemptionPolicy") == "Never":
        return "preemption: not eligible due to preemptionPolicy=Never."
    return f"preemption: 0/{nodes} nodes are available: {_histogram(counts)}."


def _histogram(counts: Counter[str] | dict[str, int]) -> str:
    return ", ".join(sorted(_counted(counts.items())))


def _counted(pairs: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{count} {reason}" for reason, count in pairs if count]
