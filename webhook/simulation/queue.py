"""The scheduling queue, and the pods of workloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.inventory import Inventory
from webhook.objects import JSONObject, number, text

_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def priority(pod: JSONObject, inventory: Inventory) -> int:
    """Return a pod's priority, by its number, its class, or the default class."""
    if (stated := number(pod, "spec", "priority")) is not None:
        return stated
    if name := text(pod, "spec", "priorityClassName"):
        named = inventory.find("PriorityClass", name)
        return _SYSTEM.get(name, 0) if named is None else number(named, "value") or 0
    defaults = [each for each in inventory.all("PriorityClass") if each.get("globalDefault") is True]
    return max((number(each, "value") or 0 for each in defaults), default=0)


def in_order(pods: Sequence[JSONObject], inventory: Inventory) -> list[int]:
    """Return the indexes of pods in scheduling order: by priority, then age, then the order given."""

    def rank(index: int) -> tuple[int, bool, str]:
        created = text(pods[index], "metadata", "creationTimestamp")
        return -priority(pods[index], inventory), not created, created

    return sorted(range(len(pods)), key=rank)
