"""Devices that are part of a node's cpu or memory (DRANodeAllocatableResources).

Follows ``plugins/dynamicresources/nodeallocatabledynamicresources.go`` of 1.36.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.formats import decode_quantity
from webhook.inventory.claims import allocation_of
from webhook.inventory.resources import amounts
from webhook.objects import at, items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webhook.objects import JSONObject


class NodeAllocatable:
    """What devices take of their nodes.

    Args:
        slices: The ResourceSlices.
    """

    def __init__(self, slices: Iterable[JSONObject]) -> None:
        self._devices: dict[tuple[str, str, str], JSONObject] = {}
        for each in slices:
            pool = text(each, "spec", "driver"), text(each, "spec", "pool", "name")
            for device in items(each, "spec", "devices"):
                if mapping(device, "nodeAllocatableResourceMappings"):
                    self._devices[(*pool, text(device, "name"))] = device

    def taken(self, results: Iterable[JSONObject]) -> dict[str, int]:
        """Return what allocated devices take of a node, by resource.

        Args:
            results: Results of allocations.
        """
        total: dict[str, int] = {}
        for result in results:
            device = self._devices.get((text(result, "driver"), text(result, "pool"), text(result, "device")))
            for resource, each in mapping(device, "nodeAllocatableResourceMappings").items():
                for name, value in amounts({resource: _amount(each, device, result)}).items():
                    total[name] = total.get(name, 0) + value
        return total

    def refusal(self, claims: Sequence[JSONObject], uid: str) -> str:
        """Say why a pod cannot use claims that others use; nothing if it can.

        Args:
            claims: The pod's claims.
            uid: The pod's UID.
        """
        for claim in claims:
            results = items(allocation_of(claim), "devices", "results")
            others = [each for each in items(claim, "status", "reservedFor") if text(each, "uid") != uid]
            if others and self.taken(results):
                return (
                    f"node allocatable resource claim {text(claim, 'metadata', 'name')} is already used by another pod"
                )
        return ""


def _amount(mapping_: object, device: JSONObject | None, result: JSONObject) -> str:
    """Return what a device takes of a resource: so much a device, or so much a unit of one of its capacities."""
    factor = str(at(mapping_, "allocationMultiplier") or "1")
    key = text(mapping_, "capacityKey")
    if not key:
        return factor
    consumed = at(result, "consumedCapacity", key) or at(device, "capacity", key, "value") or "0"
    try:
        return str(decode_quantity(consumed).value() * decode_quantity(factor).value())
    except ValueError:
        return "0"
