"""The number of additional replicas of a pod that fit, and the resource that runs out first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from webhook.budget import DeadlineExceededError
from webhook.inventory.claims import source
from webhook.objects import JSONObject, items, name_of, namespace_of
from webhook.records import NamedTuple
from webhook.simulation.scheduler import Placement, Scheduler

MOST: Final = 20_000
"""The count stops at this number: without a limit, pods would fit forever."""


class Fit(NamedTuple):
    """The number of additional pods that fit.

    Args:
        nodes: Their number on each node.
        last: The first pod that did not fit; None if there is no limit.
        is_cut: Whether the time was over before one did not fit.
    """

    nodes: dict[str, int]
    last: Placement | None
    is_cut: bool = False

    @property
    def pods(self) -> int:
        """The number of pods that fit."""
        return sum(self.nodes.values())


def fit(
    scheduler: Scheduler,
    pod: JSONObject,
    progress: Callable[[int], None] = lambda _: None,
    take: Callable[[Placement], None] = lambda _: None,
) -> Fit:
    """Schedule copies of a pod until one does not fit; each gets claims of its own where it has a template.

    It ends sooner if the deadline of the budget in force passes.

    Args:
        scheduler: The scheduler; its cluster is full of such pods afterwards.
        progress: Takes the number that fit so far.
        take: Takes the placement of each copy that fits.
    """
    nodes: Counter[str] = Counter()
    for number in range(MOST):
        copy = _copy(pod, number)
        scheduler.cluster.copies.add((namespace_of(copy), name_of(copy)))
        try:
            placement = scheduler.schedule(copy)
        except DeadlineExceededError:
            return Fit(dict(nodes), None, is_cut=True)
        has_failed = placement.condition is not None and placement.condition["status"] == "False"
        node = placement.node or (placement.candidates[0] if placement.candidates and not has_failed else None)
        if node is None:
            return Fit(dict(nodes), placement)
        nodes[node] += 1
        take(placement)
        progress(number + 1)
    return Fit(dict(nodes), None)


def shared(pod: JSONObject) -> str:
    """Say which claims the copies of a pod share; empty if each has its own."""
    names = [name for each in items(pod, "spec", "resourceClaims") if (name := source(each, "resourceClaimName"))]
    if not names:
        return ""
    claims = ", ".join(f"{namespace_of(pod)}/{name}" for name in names)
    return f"all these pods share claim {claims}: with a ResourceClaimTemplate, each has its own"


def _copy(pod: JSONObject, number: int) -> JSONObject:
    metadata: dict[str, Any] = {**pod["metadata"], "name": f"{name_of(pod)}-{number}"}
    metadata.pop("uid", None)
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {**pod, "metadata": metadata, "spec": spec, "status": {}}
