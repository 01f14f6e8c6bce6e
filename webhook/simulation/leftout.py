"""The parts of a pod that are not simulated."""

from __future__ import annotations

from webhook.objects import items, mapping, namespace_of, number, text
from webhook.simulation.queue import priority
from webhook.simulation.rejections import requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from webhook.inventory import Inventory
    from webhook.objects import JSONObject
    from webhook.simulation.cluster import Settings
    from webhook.simulation.scheduler import Placement

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_DEFAULT_SCHEDULER: Final = "default-scheduler"
_MISTAKEN: Final = 34
"""The release whose allocator mistakes a request's devices for others (CmpRequestOverCapacity in allocateDevice)."""


class LeftOut:
    """Lists the parts of pods that are not simulated, but may change where they run.

    Args:
        inventory: The objects of the cluster.
    """

    def __init__(self, inventory: Inventory, settings: Settings) -> None:
        self._inventory = inventory
        self._mistakes_devices = settings.release == _MISTAKEN and "DRAConsumableCapacity" in settings.gates
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
        used = [*_used(spec), *self._gang(placement.pod), *(["preemption"] if self._may_preempt(placement) else [])]
        if used:
            yield f"not simulated for this pod: {', '.join(used)}"
        if self._mistakes_devices and any(map(_wants_several, placement.claims)):
            yield (
                "not simulated: with DRAConsumableCapacity, the scheduler of Kubernetes 1.34 takes the capacity of the "
                "n-th device of a request from the n-th device of its slice, and crashes if the slice has fewer devices"
            )

    def _gang(self, pod: JSONObject) -> Iterator[str]:
        """Name the PodGroup whose pods are scheduled together or not at all."""
        name = text(pod, "spec", "schedulingGroup", "podGroupName")
        group = self._inventory.find("PodGroup", name, namespace_of(pod)) if name else None
        if mapping(group, "spec", "schedulingPolicy", "gang"):
            yield f"gang scheduling of PodGroup {name}"

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


def _wants_several(claim: JSONObject) -> bool:
    """Tell whether a request or alternative of a claim may get more than one device."""
    return any(text(each, "allocationMode") == "All" or (number(each, "count") or 1) > 1 for _, each in requests(claim))


def _used(spec: JSONObject) -> Iterator[str]:
    for field, what in (("podAffinity", "required pod affinity"), ("podAntiAffinity", "required pod anti-affinity")):
        if items(spec, "affinity", field, _REQUIRED):
            yield what
    if any(text(each, "whenUnsatisfiable") != "ScheduleAnyway" for each in items(spec, "topologySpreadConstraints")):
        yield "topology spread constraints"
    if any(mapping(each, kind) for each in items(spec, "volumes") for kind in ("persistentVolumeClaim", "ephemeral")):
        yield "persistent volumes"
