"""Node-allocatable resources of a device: the cpu, memory and huge pages that its use consumes.

Rules follow ``validateNodeAllocatableResources`` in ``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.api.core.values import Quantity
from webhook.api.unions import one_member
from webhook.formats.quantities import decode_quantity
from webhook.problem import Problem, invalid, not_found, required
from webhook.schema import Nested, Struct, Text, View, exactly_one

_NO_KEY = "capacityKey must not be an empty string"
_NOT_POSITIVE = "must be positive"


class NodeAllocatableResourceMapping(Struct):
    """The amount of a node resource that goes with a device, in the form of Kubernetes 1.36."""

    capacityKey = Text("The capacity that is taken for it.", go="QualifiedName", pointer=True, empty=_NO_KEY)
    allocationMultiplier = Quantity("What the capacity is multiplied by.", pointer=True, default="1")


class NodeAllocatableMapping(Struct):
    """The amount of a node resource that goes with a device, by its allocation."""

    tagged = frozenset({"capacity-or-device"})

    capacityKey = Text("The capacity of the device that counts.", go="QualifiedName", pointer=True, empty=_NO_KEY)
    capacityMultiplier = Quantity("How much goes with one unit of the capacity.", pointer=True)
    deviceMultiplier = Quantity("How much goes with the device.", pointer=True)


class NodeAllocatableOverhead(Struct):
    """The amount of a node resource that goes with the users of a device."""

    perPod = Quantity("How much goes with each pod.", pointer=True)
    perContainer = Quantity("How much goes with each container.", pointer=True)


class NodeAllocatableResource(Struct):
    """The amount of one node resource that using a device takes."""

    mapping = Nested(NodeAllocatableMapping, "What goes with the device.", pointer=True)
    overhead = Nested(NodeAllocatableOverhead, "What goes with its users.", pointer=True)


UNION = "capacityKey", "deviceMultiplier"


@exactly_one(NodeAllocatableMapping, *UNION)
def capacity_or_device(mapping: View, given: Sequence[str]) -> Iterator[Problem]:
    """A mapping depends either on a capacity or on the device as a whole."""
    yield from one_member(mapping.path, UNION, given)


def mapped_resource(device: View, name: str, mapping: View) -> Iterator[Problem]:
    """Validate one mapping of Kubernetes 1.36."""
    if "/" in name and "kubernetes.io/" not in name:
        yield invalid(mapping.path, name, _NOT_ALLOCATABLE)
    if decode_quantity(mapping.allocationMultiplier).sign <= 0:
        yield invalid(mapping / "allocationMultiplier", mapping.allocationMultiplier, _NOT_POSITIVE)
    if mapping.capacityKey and mapping.capacityKey not in device.capacity:
        yield not_found(mapping / "capacityKey", mapping.capacityKey)


_NOT_ALLOCATABLE = "must be a node allocatable resource name"


def allocatable_resource(device: View, name: str, resource: View) -> Iterator[Problem]:
    """Validate one resource of the node."""
    if name not in {"cpu", "memory"} and not name.startswith("hugepages-"):
        yield invalid(resource.path, name, _NOT_ALLOCATABLE)
    if not resource.mapping and not resource.overhead:
        yield required(resource.path, "at least one of mapping or overhead must be set")
    if resource.mapping:
        yield from _mapping(device, resource.mapping)
    if resource.overhead:
        yield from _overhead(resource.overhead)


def _mapping(device: View, mapping: View) -> Iterator[Problem]:
    if "capacityKey" in mapping:
        if mapping.capacityKey and mapping.capacityKey not in device.capacity:
            yield not_found(mapping / "capacityKey", mapping.capacityKey)
        if "capacityMultiplier" not in mapping:
            detail = "capacityMultiplier is required when capacityKey is set"
            yield required(mapping / "capacityMultiplier", detail)
        else:
            yield from _positive(mapping, "capacityMultiplier")
    if "deviceMultiplier" in mapping:
        yield from _positive(mapping, "deviceMultiplier")
    if "capacityMultiplier" in mapping and "capacityKey" not in mapping:
        yield required(mapping / "capacityKey", "capacityKey is required when capacityMultiplier is set")


def _positive(mapping: View, field: str) -> Iterator[Problem]:
    quantity = decode_quantity(getattr(mapping, field))
    if quantity.sign <= 0:
        yield invalid(mapping / field, str(quantity), _NOT_POSITIVE)


def _overhead(overhead: View) -> Iterator[Problem]:
    if "perPod" not in overhead and "perContainer" not in overhead:
        yield invalid(overhead.path, "", "at least one of perPod or perContainer must be set")
        return
    for field in ("perPod", "perContainer"):
        quantity = decode_quantity(getattr(overhead, field) or "0")
        if quantity.sign < 0:
            yield invalid(overhead / field, str(quantity), "must be non-negative")
