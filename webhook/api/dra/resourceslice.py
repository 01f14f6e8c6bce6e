"""ResourceSlice: some or all devices of a pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook import formats
from webhook.api.core.meta import ClusterObject, CountedObject
from webhook.api.core.nodeselector import NodeSelector, shown_terms
from webhook.api.dra.binding import SKIP_NODE_OPERATIONS, skipped_operations
from webhook.api.dra.device import CounterSet, Device, list_attributes
from webhook.api.dra.names import TAGGED, attribute_of_a_domain, driver_name, pool_name
from webhook.problem import WARNING, Key, Problem, invalid, null, quoted, required, too_many
from webhook.release import Release
from webhook.schema.declarations import IN_PLACE, Struct, check
from webhook.schema.fields import SIZE_ENDS_LIST_SINCE, Array, Bool, Int, Nested, Text, View
from webhook.schema.target import OLDEST

DEVICES_MAX_ITEMS = 128
ADVANCED_DEVICES_MAX_ITEMS = 64

_FOUR_WAYS_SINCE = 33
"""From Kubernetes 1.33 each device can say which nodes can use it; older versions are converted to the newest."""

UNSET_OR_TRUE = "must be either unset or set to true"


class ResourcePool(Struct):
    """Devices that one slice describes, or several together."""

    name = Text("The pool's name.", checked_by=pool_name, required=True, immutable=True, written=True)
    generation = Int(
        "The generation of the pool, which increases with every change.",
        minimum=(0, "must be greater than or equal to zero"),
        written=True,
    )
    resourceSliceCount = Int(
        "The number of slices in the pool.", minimum=(1, "must be greater than zero"), written=True
    )


class ResourceSliceSpec(Struct):
    """Devices, and the nodes that can use them."""

    driver = driver_name("The driver that offers the devices.", required=True, immutable=True, written=True)
    pool = Nested(ResourcePool, "The pool that the devices belong to.")
    nodeName = Text(
        "The node that has the devices.",
        format=formats.dns_subdomain,
        pointer=True,
        immutable=True,
        empty="must be either unset or set to a non-empty string",
    )
    nodeSelector = Nested(NodeSelector, "The nodes that can use the devices.", pointer=True)
    allNodes = Bool("Whether all nodes can use the devices.", pointer=True, empty=UNSET_OR_TRUE)
    devices = Array(Nested(Device), "The devices.", max_items=DEVICES_MAX_ITEMS, unique="name")
    perDeviceNodeSelection = Bool(
        "Whether each device states which nodes can use it.",
        pointer=True,
        empty=UNSET_OR_TRUE,
        since=33,
        gate="DRAPartitionableDevices",
    )
    sharedCounters = Array(
        Nested(CounterSet),
        "The sets of counters that devices of the pool share.",
        max_items={35: 8},
        declared=TAGGED,
        unique="name",
        since=33,
        gate="DRAPartitionableDevices",
    )
    partitionTypeAttribute = Text(
        "The device attribute that holds the type of a partition.",
        checked_by=attribute_of_a_domain,
        go="FullyQualifiedName",
        pointer=True,
        declarative=True,
        since=37,
        gate="DRAPartitionableDevicesType",
    )
    skipNodeOperations = SKIP_NODE_OPERATIONS


class ResourceSlice(CountedObject, ClusterObject):
    """Some or all devices of a pool."""

    tagged_since = 35
    immutable_before = "nodeName"

    spec = Nested(ResourceSliceSpec)


class PlainResourceSliceSpec(ResourceSliceSpec):
    """Devices and nodes, in versions in which an empty node name is the same as none."""

    go_name = "ResourceSliceSpec"

    nodeName = ResourceSliceSpec.nodeName.but(
        pointer=False, empty="", converted={OLDEST: False, _FOUR_WAYS_SINCE: True}
    )
    allNodes = ResourceSliceSpec.allNodes.but(pointer=False, empty="")


# Node selection

_NOT_SHOWN_SINCE = 32
"""From Kubernetes 1.32 the rejected spec is not shown."""


@check(ResourceSliceSpec, before="devices")
def one_way_to_select_nodes(spec: View) -> Iterator[Problem]:
    """A slice selects the nodes that can use its devices in exactly one way."""
    fields = ["nodeName", "nodeSelector", "allNodes"]
    if spec.release >= _FOUR_WAYS_SINCE:
        fields.append("perDeviceNodeSelection")
    names = [f"`{name}`" for name in fields if getattr(spec, name)]
    if spec.release < _FOUR_WAYS_SINCE:
        detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"
    else:
        detail = f"exactly one of {', '.join(f'`{name}`' for name in fields)} is required"
    if not names:
        yield required(spec.path, detail)
    elif len(names) > 1 and spec.release < _FOUR_WAYS_SINCE:
        shown = null(spec.release) if spec.release >= _NOT_SHOWN_SINCE else spec.submitted
        yield invalid(spec.path, shown, detail)
    elif len(names) > 1:
        yield invalid(spec.path, f"{{{', '.join(names)}}}", f"{detail}, but multiple fields are set")


_ONE_TERM = {31: "must have exactly one selector term", 32: "must have exactly one node selector term"}


@check(ResourceSliceSpec, given=["nodeSelector"], before=IN_PLACE)
def one_node_selector_term(spec: View) -> Iterator[Problem]:
    """The selector of a slice has one term, so that selectors of several slices can be merged."""
    if spec.nodeSelector and len(spec.nodeSelector.nodeSelectorTerms) != 1:
        terms = shown_terms(spec.nodeSelector.submitted.get("nodeSelectorTerms"), spec.release)
        yield invalid(spec.nodeSelector / "nodeSelectorTerms", terms, spec.target.pick(_ONE_TERM))


DEVICE_NODE_FIELDS = "nodeName", "nodeSelector", "allNodes"
_NODE_FIELDS = frozenset(DEVICE_NODE_FIELDS)


@check(ResourceSliceSpec, since=33, given=["devices"], before="bindsToNode")
def nodes_of_each_device(spec: View) -> Iterator[Problem]:
    """With perDeviceNodeSelection each device selects its nodes in exactly one way."""
    if spec.perDeviceNodeSelection and not _only_size_counts(spec.contents("devices"), spec.release):
        for device in spec.devices:
            yield from _nodes_of_device(device)


@check(
    ResourceSliceSpec,
    since=33,
    given=["devices"],
    mutes=[f"devices.{name}" for name in DEVICE_NODE_FIELDS],
    before="bindsToNode",
)
def own_nodes_of_device(spec: View) -> Iterator[Problem]:
    """Without perDeviceNodeSelection no device selects its nodes."""
    devices = spec.contents("devices")
    if spec.perDeviceNodeSelection or all(each.get(name) is None for each in devices for name in _NODE_FIELDS):
        return
    if _only_size_counts(devices, spec.release):
        return
    for device in spec.devices:
        if any(name in device for name in DEVICE_NODE_FIELDS):
            detail = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
                "in the ResourceSlice spec"
            )
            yield invalid(device.path, null(device.release), detail)


def _nodes_of_device(device: View) -> Iterator[Problem]:
    if device.nodeName == "":
        yield invalid(device / "nodeName", "", "must not be empty")
    for detail in formats.dns_subdomain(device.nodeName, device.release) if device.nodeName else ():
        yield invalid(device / "nodeName", device.nodeName, detail)
    if device.allNodes is False:
        yield invalid(device / "allNodes", False, UNSET_OR_TRUE)  # noqa: FBT003 - the rejected value
    names = [f"`{name}`" for name in DEVICE_NODE_FIELDS if getattr(device, name)]
    if len(names) != 1:
        detail = (
            "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set "
            "to true in the ResourceSlice spec"
        )
        yield invalid(device.path, f"{{{', '.join(names)}}}", detail) if names else required(device.path, detail)


def _only_size_counts(devices: Sequence[dict[str, Any]], release: Release) -> bool:
    """Tell whether only the size of a list of devices is reported."""
    return release >= SIZE_ENDS_LIST_SINCE and len(devices) > _most_devices(devices, release)


# Sizes


@check(ResourceSliceSpec, since=35, mutes=["devices"], given=["devices"], before=IN_PLACE)
def fewer_advanced_devices(spec: View) -> Iterator[Problem]:
    """A slice has at most 64 devices if any has taints, consumes counters or has list attributes."""
    devices = spec.contents("devices")
    most = _most_devices(devices, spec.release)
    if most < DEVICES_MAX_ITEMS:
        yield too_many(spec / "devices", len(devices), most, spec.release)


def _most_devices(devices: Sequence[dict[str, Any]], release: Release) -> int:
    if release < _ADVANCED_SINCE or len(devices) <= ADVANCED_DEVICES_MAX_ITEMS:
        return DEVICES_MAX_ITEMS
    if any(each.get("taints") or each.get("consumesCounters") or list_attributes(each) for each in devices):
        return ADVANCED_DEVICES_MAX_ITEMS
    return DEVICES_MAX_ITEMS


_ADVANCED_SINCE = 35


@check(ResourceSliceSpec, since=35, given=["sharedCounters"], before="devices")
def devices_or_counters(spec: View) -> Iterator[Problem]:
    """Shared counters are in a separate slice, without devices."""
    if "sharedCounters" in spec and "devices" in spec:
        yield invalid(spec.path, "", "only one of `sharedCounters` or `devices` is allowed")


# Types of partitions, and operations on the node

check(ResourceSliceSpec, since=37, given=["skipNodeOperations"])(skipped_operations)


@check(ResourceSliceSpec, since=37, given=["partitionTypeAttribute"])
def type_of_each_partition(spec: View) -> Iterator[Problem]:
    """Every device that consumes counters has the attribute for its partition type, as a string."""
    path, name = spec / "partitionTypeAttribute", spec.partitionTypeAttribute
    if name is None:
        return
    partitions = [index for index, each in enumerate(spec.contents("devices")) if each.get("consumesCounters")]
    if not partitions:
        yield invalid(path, name, "may only be set on a slice which declares devices that consume counters")
    domain, _, bare = name.partition("/")
    names = (name, bare) if domain == spec.driver else (name,)
    named = "`partitionTypeAttribute` names this attribute"
    for index in partitions:
        device = spec.devices[index]
        path, attributes = device / "attributes" / Key(name), device.content.get("attributes") or {}
        given = next((each for each in names if each in attributes), None)
        if given is None:
            yield required(path, f"device consumes counters and {named}, so it must be set")
        elif (attribute := attributes[given] or {}).get("string") is None:
            yield invalid(path, attribute, f"must be a string value because {named}")


# Counters of Kubernetes 1.33 and 1.34, in the same slice as the devices

COUNTERS_PER_DEVICE_MAX = 32
COUNTERS_OF_DEVICES_MAX = 1024
SHARED_COUNTERS_MAX = 32


@check(ResourceSliceSpec, since=33, until=34, given=["devices"], before=IN_PLACE)
def counters_that_are_shared(spec: View) -> Iterator[Problem]:
    """Devices consume only counters of the slice."""
    shared = {each.name: set(each.counters) for each in spec.sharedCounters}
    for device in spec.devices:
        for consumption in device.consumesCounters:
            if consumption.counterSet not in shared:
                detail = "must reference a counterSet defined in the ResourceSlice sharedCounters"
                yield invalid(consumption / "counterSet", consumption.counterSet, detail)
                continue
            for name in consumption.counters:
                if name not in shared[consumption.counterSet]:
                    detail = "must reference a counter defined in the ResourceSlice sharedCounters"
                    yield invalid(consumption / "counters", name, detail)


@check(ResourceSliceSpec, since=33, until=34)
def number_of_counters(spec: View) -> Iterator[Problem]:
    """A slice has at most 32 counters, and its devices consume at most 32 each and 1024 together."""
    in_all = 0
    for device in spec.devices:
        count = sum(len(each.counters) for each in device.consumesCounters)
        in_all += count
        if count > COUNTERS_PER_DEVICE_MAX:
            detail = f"the total number of counters must not exceed {COUNTERS_PER_DEVICE_MAX}"
            yield invalid(device.path, count, detail)
    if in_all > COUNTERS_OF_DEVICES_MAX:
        detail = f"the total number of counters in devices must not exceed {COUNTERS_OF_DEVICES_MAX}"
        yield invalid(spec / "devices", in_all, detail)
    shared = sum(len(each.counters) for each in spec.sharedCounters)
    if shared > SHARED_COUNTERS_MAX:
        detail = f"the total number of shared counters must not exceed {SHARED_COUNTERS_MAX}"
        yield invalid(spec / "sharedCounters", shared, detail)


@check(ResourceSliceSpec, since=35)
def lower_case_driver(spec: View) -> Iterator[Problem]:
    """A driver's name is written in lower case."""
    if spec.driver != spec.driver.lower():
        message = f"driver names should be lowercase; {quoted(spec.driver)} contains uppercase characters"
        yield Problem(WARNING, "", "Warning", spec / "driver", message)
