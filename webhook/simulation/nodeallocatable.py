"""Devices that are part of a node's cpu or memory (DRANodeAllocatableResources).

Follows ``plugins/dynamicresources/nodeallocatabledynamicresources.go``: that of 1.36, and a later one for 1.37. The
resources of a pod as a whole (``spec.resources``) are not compared with those that its devices take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.allocation.devices import Catalog, Content, amount
from webhook.allocation.selecting import NO_FAULT, Fault
from webhook.formats.quantities import decode_quantity
from webhook.inventory.claims import allocation_of, device_of, reserved_for, results_of
from webhook.inventory.resources import amounts
from webhook.objects import JSONObject, at, full_name_of, items, mapping, text

Taken = dict[tuple[str, str], Counter[str]]
"""The amounts of a node's resources that devices take, by claim and request; an unnamed claim is for extended
resources."""

_MAPPINGS: Final = "nodeAllocatableResourceMappings"
"""The name of the field in 1.36; `nodeAllocatableResources` holds more."""
_RESOURCES: Final = "nodeAllocatableResources"


class NodeAllocatable:
    """The resources that devices take of their nodes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def given(
        self, pod: JSONObject, claims: Sequence[JSONObject], made: Iterable[JSONObject] = ()
    ) -> Iterator[tuple[JSONObject, list[JSONObject], int]]:
        """Yield a pod's claims with their devices, and the number of containers that use each.

        Args:
            made: The allocations of those that have none yet, and that of its claim for extended resources.
        """
        used, made = mentions(pod), iter(made)
        names = [text(each, "name") for each in items(pod, "spec", "resourceClaims")]
        for index, claim in enumerate(claims):
            containers = used.get(names[index], 0) if index < len(names) else 0
            allocation = allocation_of(claim) or next(made, {})
            yield claim, items(allocation, "devices", "results"), containers
        for allocation in made:
            yield {}, items(allocation, "devices", "results"), 0

    def taken(self, pod: JSONObject, claims: Sequence[JSONObject], made: Iterable[JSONObject] = ()) -> Taken:
        """Return the amounts that a pod's devices take of a node, by request and resource."""
        found: Taken = {}
        for claim, results, containers in self.given(pod, claims, made):
            name = full_name_of(claim) if claim else ""
            for result in results:
                device = self._catalog.find(device_of(result))
                if device and (of_device := _amounts(device.content, result, containers)):
                    found.setdefault((name, text(result, "request")), Counter()).update(of_device)
        return found

    def refusal(self, claims: Sequence[JSONObject], uid: str) -> str:
        """Explain why a pod cannot use claims that other pods use; empty if it can."""
        for claim in claims:
            others = [each for each in reserved_for(claim) if each.uid != uid]
            devices = list(map(self._fields, results_of(claim)))
            name = text(claim, "metadata", "name")
            if others and any(mapping(each, _MAPPINGS) for each in devices):
                return f"node allocatable resource claim {name} is already used by another pod"
            mapped = [one for each in devices for one in mapping(each, _RESOURCES).values() if mapping(one, "mapping")]
            if others and mapped:
                return f"node allocatable resource claim {name} has a mapped device and cannot be shared across pods"
        return ""

    def unused(self, claim: JSONObject, results: Iterable[JSONObject], containers: int) -> str:
        """Return 1.36's refusal of a claim with mapped devices that no container uses; empty for other claims."""
        if containers or allocation_of(claim) or not any(mapping(self._fields(each), _MAPPINGS) for each in results):
            return ""
        name = text(claim, "metadata", "name")
        return f"claim {name}: node-allocatable resource claim not referenced by any container within the pod"

    def error(self, claim: JSONObject, results: Iterable[JSONObject]) -> Fault:
        """Say why the scheduler gives up on a pod: a device is mapped by a capacity of which nothing is consumed."""
        for result in results:
            for resource, each in mapping(self._fields(result), _RESOURCES).items():
                key = text(each, "mapping", "capacityKey")
                if key and not mapping(result, "consumedCapacity"):
                    name = f"{text(claim, 'metadata', 'namespace')}/{text(claim, 'metadata', 'name')}"
                    words = (
                        f"device {text(result, 'device')}: ConsumedCapacity is nil, but Capacity key '{key}' is set in "
                        f"NodeAllocatableResources for resource {resource}"
                    )
                    return Fault(f"claim {name}, {words}", claim=name, words=words)
        return NO_FAULT

    def _fields(self, result: JSONObject) -> JSONObject:
        device = self._catalog.find(device_of(result))
        return device.content.others if device else {}


def total(taken: Mapping[tuple[str, str], Mapping[str, int]]) -> dict[str, int]:
    """Sum up the amounts that requests take, by resource."""
    found: Counter[str] = Counter()
    for each in taken.values():
        found.update(each)
    return dict(found)


def mentions(pod: JSONObject) -> Mapping[str, int]:
    """Count the containers that use each claim of a pod, by its name in the pod."""
    containers = [*items(pod, "spec", "initContainers"), *items(pod, "spec", "containers")]
    return Counter(text(each, "name") for one in containers for each in items(one, "resources", "claims"))


def _amounts(device: Content, result: JSONObject, containers: int) -> Counter[str]:
    """Return the amounts that a device takes of its node, by resource."""
    found: Counter[str] = Counter()
    for resource, each in mapping(device.others, _MAPPINGS).items():
        found.update(amounts({resource: _mapped(each, result, device)}))
    for resource, each in mapping(device.others, _RESOURCES).items():
        found.update(amounts({resource: _mapped(mapping(each, "mapping"), result)}))
        for overhead, times in (("perPod", 1), ("perContainer", containers)):
            found[resource] += times * amounts({resource: at(each, "overhead", overhead) or "0"}).get(resource, 0)
    return found


def _mapped(each: object, result: JSONObject, device: Content | None = None) -> str:
    """Return the amount that a device takes of a resource: per device, or per unit of one of its capacities.

    Args:
        device: The device, if its capacity counts in full where nothing is consumed.
    """
    key: Any = text(each, "capacityKey")
    multiplier = "capacityMultiplier" if key else "deviceMultiplier"
    factor = at(each, "allocationMultiplier") or at(each, multiplier)
    if not key:
        return str(factor or ("1" if device else "0"))
    whole = at(device.capacity, key, "value") if device else None
    consumed = at(result, "consumedCapacity", key) or whole or "0"
    try:
        product = amount(decode_quantity(consumed)) * amount(decode_quantity(factor or "1")) // 10**9
    except ValueError:
        return "0"
    return f"{product}n"
