"""How many more replicas of a pod fit, and what runs out first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.objects import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.objects import JSONObject
    from webhook.simulation.scheduler import Placement, Scheduler

MOST: Final = 20_000
"""More pods than this are not counted: what has no limit would have no end."""


class Fit(NamedTuple):
    """How many more pods fit.

    Args:
        nodes: How many on each node.
        last: The first pod that did not fit; None if there is no end.
    """

    nodes: dict[str, int]
    last: Placement | None

    @property
    def pods(self) -> int:
        """How many pods fit."""
        return sum(self.nodes.values())


def fit(scheduler: Scheduler, pod: JSONObject, progress: Callable[[int], None] = lambda _: None) -> Fit:
    """Schedule copies of a pod until one does not fit; each has claims of its own where it has a template.

    Args:
        scheduler: The scheduler; its cluster is full of such pods afterwards.
        pod: The pod.
        progress: Takes how many fit so far.
    """
    nodes: Counter[str] = Counter()
    for number in range(MOST):
        placement = scheduler.schedule(_copy(pod, number))
        node = placement.node or (placement.candidates[0] if placement.candidates and not _failed(placement) else None)
        if node is None:
            return Fit(dict(nodes), placement)
        nodes[node] += 1
        progress(number + 1)
    return Fit(dict(nodes), None)


def _failed(placement: Placement) -> bool:
    return placement.condition is not None and placement.condition["status"] == "False"


def _copy(pod: JSONObject, number: int) -> JSONObject:
    metadata: dict[str, Any] = {**pod["metadata"], "name": f"{name_of(pod)}-{number}"}
    metadata.pop("uid", None)
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {**pod, "metadata": metadata, "spec": spec, "status": {}}
