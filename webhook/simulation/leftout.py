"""The parts of a pod that are not simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.objects import items, mapping, text
from webhook.simulation.queue import priority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.inventory import Inventory
    from webhook.objects import JSONObject
    from webhook.simulation.scheduler import Placement

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_DEFAULT_SCHEDULER: Final = "default-scheduler"


class LeftOut:
    """Lists the parts of pods that are not simulated, but may change where they run.

    Args:
        inventory: The objects of the cluster.
    """

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._lowest: int | None = None

    def notes(self, placement: Placement) -> Iterator[str]:
        """List the parts of a pod that were not simulated.

        Args:
            placement: The placement of the pod.
        """
        spec = mapping(placement.pod, "spec")
        scheduler = text(spec, "schedulerName")
        if scheduler not in {"", _DEFAULT_SCHEDULER}:
            yield f"another scheduler decides about this pod: {scheduler}; this is what kube-scheduler would do"
        used = [*_used(spec), *(["preemption"] if self._may_preempt(placement) else [])]
        if used:
            yield f"not simulated for this pod: {', '.join(used)}"

    def _may_preempt(self, placement: Placement) -> bool:
        """Tell whether the scheduler would try to preempt pods of a lower priority."""
        pod, verdicts = placement.pod, placement.verdicts
        if placement.node is not None or verdicts is None or text(pod, "spec", "preemptionPolicy") == "Never":
            return False
        refusals = (each.refusal for each in verdicts.by_node.values())
        if not any(each is not None and each.resolvable for each in refusals):
            return False
        if self._lowest is None:
            running = (priority(each, self._inventory) for each in self._inventory.running())
            self._lowest = min(running, default=priority(pod, self._inventory))
        return self._lowest < priority(pod, self._inventory)


def _used(spec: JSONObject) -> Iterator[str]:
    for field, what in (("podAffinity", "required pod affinity"), ("podAntiAffinity", "required pod anti-affinity")):
        if items(spec, "affinity", field, _REQUIRED):
            yield what
    if any(text(each, "whenUnsatisfiable") != "ScheduleAnyway" for each in items(spec, "topologySpreadConstraints")):
        yield "topology spread constraints"
    if any(mapping(each, kind) for each in items(spec, "volumes") for kind in ("persistentVolumeClaim", "ephemeral")):
        yield "persistent volumes"
