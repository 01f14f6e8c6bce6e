"""The status of a ResourceClaim: its allocation, its users, and the state of its devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from webhook import formats
from webhook.api.core.meta import conditions
from webhook.api.core.nodeselector import NodeSelector
from webhook.api.core.values import Quantity, Time
from webhook.api.dra.binding import (
    BINDING_CONDITIONS,
    BINDING_FAILURE_CONDITIONS,
    BINDING_GATES,
    CONDITION_LISTS,
    SKIP_NODE_OPERATIONS,
    conditions_for_binding,
    skipped_operations,
)
from webhook.api.dra.names import TAGGED, TAGGED_DRIVER_NAME, driver_name, pool_name, pool_path
from webhook.api.dra.opaque import DeviceConfiguration, RawObject
from webhook.api.dra.taints import AllocatedToleration, tolerations
from webhook.formats import canonical_cidr
from webhook.problem import IMMUTABLE_FIELD, Problem, Verbatim, duplicate, forbidden, invalid, malformed
from webhook.release import Release
from webhook.schema.declarations import IN_PLACE, NEW, Struct, check, transition
from webhook.schema.fields import Array, Bool, Map, Nested, Text, View

RESULTS_MAX_ITEMS = 32
IPS_MAX_ITEMS = 16

ALLOCATED_BY_SCHEDULER = "remove the field: the scheduler allocates claims, and no controller does"
CHECKED_ONCE_SINCE = 32
"""From Kubernetes 1.32 an allocation is validated when it is set, not with every update of the status."""


# Allocation


class DeviceRequestAllocationResult(Struct):
    """A device that was allocated for a request."""

    request = Text("The request, or `request/alternative`.", written=True)
    driver = driver_name("The device's driver.", required=True, declared=TAGGED_DRIVER_NAME, written=True)
    pool = Text(
        "The device's pool.",
        checked_by=pool_name,
        required=True,
        declared={35: {"checked_by": pool_path}},
        written=True,
    )
    device = Text("The device's name in its pool.", format=formats.dns_label, always=True, written=True)
    adminAccess = Bool(
        "Whether the device is allocated for administrative access.", pointer=True, since=32, gate="DRAAdminAccess"
    )
    tolerations = tolerations("The taints that the request tolerates.", AllocatedToleration)
    bindingConditions = BINDING_CONDITIONS
    bindingFailureConditions = BINDING_FAILURE_CONDITIONS
    shareID = Text(
        "The ID of the allocated share of the device.",
        format=formats.uuid,
        go="types.UID",
        pointer=True,
        declared={35: {"formats": (formats.lower_case_uuid,)}},
        since=34,
        gate="DRAConsumableCapacity",
    )
    consumedCapacity = Map(
        Quantity(),
        "The amounts of the device's capacities that are allocated.",
        key_go="QualifiedName",
        since=34,
        gate="DRAConsumableCapacity",
    )
    skipNodeOperations = SKIP_NODE_OPERATIONS


class LimitedAllocationResult(DeviceRequestAllocationResult):
    """A device that was allocated for a request, as v1beta1 has it, whose tags of 1.35 limit the tolerations."""

    go_name = "DeviceRequestAllocationResult"

    tolerations = DeviceRequestAllocationResult.tolerations.but(declared={35: {"max_items": 16}, 37: {}})


check(DeviceRequestAllocationResult, since=34, given=CONDITION_LISTS)(conditions_for_binding)
check(DeviceRequestAllocationResult, since=37, given=["skipNodeOperations"])(skipped_operations)


class OfAllocation(Struct):
    """Where a configuration comes from, and the requests that it is for."""

    source = Text(
        "Whether the configuration is from the class or the claim.",
        go="AllocationConfigSource",
        required=True,
        one_of=("FromClaim", "FromClass"),
        declared=TAGGED,
        written=True,
    )
    requests = Array(Text(), "The names of the requests; all if empty.", max_items=32, unique="", declared=TAGGED)


class DeviceAllocationConfiguration(DeviceConfiguration, OfAllocation):
    """Configuration that goes with the allocated devices."""


class DeviceAllocationResult(Struct):
    """The devices that were allocated."""

    results = Array(
        Nested(DeviceRequestAllocationResult),
        "One entry for each device.",
        max_items=RESULTS_MAX_ITEMS,
        declared=TAGGED,
    )
    config = Array(
        Nested(DeviceAllocationConfiguration), "Configuration from class and claim.", max_items=64, declared=TAGGED
    )


class AllocationResult(Struct):
    """The allocated devices, and the nodes that can use them."""

    instead: ClassVar = {"controller": ALLOCATED_BY_SCHEDULER}

    devices = Nested(DeviceAllocationResult)
    nodeSelector = Nested(NodeSelector, "The nodes from which the devices can be used; all if empty.", pointer=True)
    controller = driver_name("The driver that allocated the claim.", until=31, gate="DRAControlPlaneController")
    allocationTimestamp = Time("When the claim was allocated.", pointer=True, since=34, gate=BINDING_GATES)


# The state of devices


class NetworkDeviceData(Struct):
    """The network addresses of a device."""

    interfaceName = Text("The name of the network interface.", max_length=256, declared=TAGGED)
    ips = Array(
        Text(),
        "The addresses of the device, each with a prefix length.",
        max_items=IPS_MAX_ITEMS,
        declared={35: {"unique": ""}},
    )
    hardwareAddress = Text("The hardware address of the device.", max_length=128, declared=TAGGED)


class AllocatedDeviceStatus(Struct):
    """The state of an allocated device, as reported by its driver."""

    driver = DeviceRequestAllocationResult.driver.but(declared=None)
    pool = DeviceRequestAllocationResult.pool.but(declared=None)
    device = DeviceRequestAllocationResult.device
    shareID = DeviceRequestAllocationResult.shareID.but(go="string")
    conditions = conditions("device", 8).but(written=True)
    data = RawObject("The driver's own data, a JSON object.", pointer=True)
    networkData = Nested(NetworkDeviceData, "The interface and the addresses of a network device.", pointer=True)


# Users


class ResourceClaimConsumerReference(Struct):
    """An object that uses the claim, usually a pod."""

    apiGroup = Text("The consumer's API group.")
    resource = Text("The consumer's resource, such as pods.", required=True, written=True)
    name = Text("The consumer's name.", required=True, written=True)
    uid = Text("The consumer's UID.", required=True, go="types.UID", written=True)


class AllocationStatus(Struct):
    """The common part of claims' statuses, including the classic one."""


@transition(AllocationStatus)
def allocation_changed(status: View, old: View) -> Iterator[Problem]:
    """An allocation can be removed, but not changed."""
    if status.allocation and old.allocation and status.allocation != old.allocation:
        declarative = status.target.declarative
        shown = None if declarative else status.allocation.submitted
        detail = "field cannot be modified once set" if declarative else IMMUTABLE_FIELD
        yield invalid(status / "allocation", shown, detail)


@transition(AllocationStatus, until=31)
def deallocation_requested(status: View, old: View) -> Iterator[Problem]:
    """Deallocation can be requested only for allocated, unreserved claims, and not withdrawn while allocated."""
    path = status / "deallocationRequested"
    if status.deallocationRequested and not old.deallocationRequested and status.reservedFor:
        yield forbidden(path, "deallocation cannot be requested while `reservedFor` is set")
    if status.deallocationRequested and not status.allocation:
        yield forbidden(status.path, "`allocation` must be set when `deallocationRequested` is set")
    if old.deallocationRequested and not status.deallocationRequested and status.allocation:
        yield forbidden(path, "may not be cleared when `allocation` is set")


class ResourceClaimStatus(AllocationStatus):
    """The allocation of a claim, and the pods that it is reserved for."""

    instead: ClassVar = {"deallocationRequested": ALLOCATED_BY_SCHEDULER}

    allocation = Nested(AllocationResult, pointer=True, rechecked={CHECKED_ONCE_SINCE: NEW}, declared=TAGGED)
    reservedFor = Array(
        Nested(ResourceClaimConsumerReference),
        "The objects, usually pods, that may use the claim.",
        max_items={31: 32, 32: 256},
        unique="uid",
        list_map_keys=["uid"],
        declared=TAGGED,
    )
    devices = Array(
        Nested(AllocatedDeviceStatus),
        "The status of the devices, as reported by their drivers.",
        list_map_keys=["driver", "device", "pool", "shareID"],
        declared=TAGGED,
        since=32,
        gate="DRAResourceClaimDeviceStatus",
    )
    deallocationRequested = Bool(
        "Whether the driver is asked to free the claim.", until=31, gate="DRAControlPlaneController"
    )


@check(ResourceClaimStatus, given=["reservedFor"])
def reserved_only_while_allocated(status: View) -> Iterator[Problem]:
    """A claim can be reserved only while it is allocated."""
    if status.reservedFor and not status.allocation:
        yield forbidden(status / "reservedFor", "may not be specified when `allocated` is not set")


_SHARED_SINCE = 34
"""From Kubernetes 1.34 a device can be allocated in shares."""
_SPELLED_OUT_SINCE = 35
"""From Kubernetes 1.35 the rejected device is shown with its names."""


@check(ResourceClaimStatus, since=32, given=["devices"], before="conditions")
def devices_that_are_allocated(status: View) -> Iterator[Problem]:
    """A device status is for an allocated device, and each device has only one."""
    allocated = {_device_id(result) for result in status.allocation.devices.results}
    seen = set()
    for device in status.devices or ():
        identity = _device_id(device)
        shown = _shown(identity, status.release)
        if identity not in allocated:
            yield invalid(device.path, shown, "must be an allocated device in the claim")
        if identity in seen:
            path = device.path if status.release >= _SPELLED_OUT_SINCE else device / "deviceID"
            yield duplicate(path, shown)
        seen.add(identity)


def _device_id(device: View) -> tuple[str, str, str, str]:
    return device.driver, device.pool, device.device, device.shareID or ""


def _shown(identity: tuple[str, ...], release: Release) -> Any:
    if release < _SHARED_SINCE:
        return Verbatim("/".join(identity[:3]))
    names = ("Driver", "Pool", "Device", "ShareID")
    return dict(zip(names, identity if release >= _SPELLED_OUT_SINCE else ({}, {}, {}, {}), strict=True))


_AS_WRITTEN_SINCE = 33
"""From Kubernetes 1.33 addresses are compared as they are written."""


@check(NetworkDeviceData, given=["ips"], before=IN_PLACE)
def addresses(network: View) -> Iterator[Problem]:
    """Addresses have a prefix length, are in canonical form, and do not repeat."""
    if len(network.ips) > IPS_MAX_ITEMS and network.release >= _SPELLED_OUT_SINCE:
        return
    seen = set()
    for index, address in enumerate(network.ips):
        path, text = network / "ips" / index, address or ""
        yield from malformed(path, text, formats.cidr(text, network.release))
        # 1.32 compares addresses by value.
        key = canonical_cidr(text, network.release) if network.release < _AS_WRITTEN_SINCE else text
        if key in seen and not network.target.declarative:
            yield duplicate(path, key)
        seen.add(key)
