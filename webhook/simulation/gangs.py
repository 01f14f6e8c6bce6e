"""Gangs: the pods of a PodGroup that are bound together or not at all (``framework/plugins/gangscheduling``)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from webhook.grouping import by_key
from webhook.inventory.podgroups import group_of, least_of, members
from webhook.objects import JSONObject, full_name_of, name_of, text
from webhook.simulation.scheduler import Placement, Scheduler


class Gangs:
    """The gangs of pods that are scheduled one after another; not those of which further pods would have to be.

    Args:
        pods: The pods that are going to be scheduled.
    """

    def __init__(self, scheduler: Scheduler, pods: Iterable[JSONObject]) -> None:
        self._scheduler = scheduler
        self._spare: dict[tuple[str, str], int] = {}
        """How many more pods may stay without a node, by namespace and PodGroup."""
        self._placed = defaultdict[tuple[str, str], list[Placement]](list)
        self._failed: dict[tuple[str, str], str] = {}
        for group, given in by_key((group_of(each), each) for each in pods).items():
            names, there = {*map(full_name_of, given)}, members(group, scheduler.cluster.inventory) if group[1] else ()
            others = sum(full_name_of(each) not in names and bool(text(each, "spec", "nodeName")) for each in there)
            least = least_of(group, scheduler.cluster.inventory)
            if least and (spare := len(given) + others - least) >= 0:
                self._spare[group] = spare

    def have(self, pod: JSONObject) -> bool:
        """Tell whether a pod is of one of the gangs."""
        return group_of(pod) in self._spare

    def lost(self, placement: Placement) -> Sequence[Placement]:
        """Take the placement of a pod; return those of its gang that end with it, and free their nodes and devices."""
        if (group := group_of(placement.pod)) not in self._spare:
            return ()
        placed = self._placed[group]
        if placement.node is not None or placement.awaited:
            placed.append(placement)
        else:
            self._spare[group] -= 1
            self._failed.setdefault(group, name_of(placement.pod))
        if self._spare[group] >= 0:
            return ()
        least = least_of(group, self._scheduler.cluster.inventory)
        why = f"its PodGroup {group[1]} needs {least} pods together, and there is no node for pod {self._failed[group]}"
        ended = [Placement(each.pod, None, None, reason=why) for each in placed]
        while placed:
            self._scheduler.undo(placed.pop())
        return ended
