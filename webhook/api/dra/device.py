"""Devices of a ResourceSlice: attributes, capacity, and conditions of use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from webhook import formats
from webhook.api.core.nodeselector import NodeSelector
from webhook.api.core.values import Quantity
from webhook.api.dra.binding import BINDING_GATES, CONDITION_LISTS, binding_conditions, conditions_for_binding
from webhook.api.dra.capacity import Counter, DeviceCapacity, request_policy
from webhook.api.dra.names import (
    DRIVER_NAME_MAX_BYTES,
    ID_MAX_BYTES,
    ONE_VALUE,
    TAGGED,
    TAGGED_37,
    TAGGED_SHORT_NAME,
    dns_label,
    qualified_name,
)
from webhook.api.dra.nodeallocatable import (
    NodeAllocatableResource,
    NodeAllocatableResourceMapping,
    allocatable_resource,
    mapped_resource,
)
from webhook.api.dra.taints import DeviceTaint
from webhook.api.unions import one_member
from webhook.problem import Problem, forbidden, invalid, required
from webhook.schema import (
    CHANGED,
    IN_PLACE,
    Array,
    Bool,
    Field,
    Int,
    Map,
    Nested,
    Struct,
    Text,
    View,
    check,
    exactly_one,
)

VALUE_MAX_BYTES = 64
ATTRIBUTES_AND_CAPACITIES_MAX = 32
ATTRIBUTE_VALUES_MAX = 48
TAINTS_MAX_ITEMS = {33: 4, 35: 16}
CONSUMED_SETS_MAX_ITEMS = {35: 2}
COUNTERS_MAX_ITEMS = {35: 32}
COMPATIBILITY_GROUPS_MAX_ITEMS = 2
QUALIFIED_NAME_MAX_BYTES = DRIVER_NAME_MAX_BYTES + len("/") + ID_MAX_BYTES
COUNTER_NAME_MAX_BYTES = 63


# Attributes


LISTS = "ints", "bools", "strings", "versions"
_LISTS = frozenset(LISTS)
_LISTS_SINCE = 36


def values(item: Field, doc: str) -> Array:
    """Declare an attribute that is a list."""
    gate = "DRAListTypeAttributes"
    return Array(item, doc, empty="must not be empty if specified", since=_LISTS_SINCE, gate=gate)


class DeviceAttribute(Struct):
    """A property of a device: one value, or a list of values of one kind."""

    shorthand: ClassVar = {str: "string", int: "int", bool: "bool"}
    instead: ClassVar = {"value": "write the field of its type: bool, int, string or version"}

    tagged = frozenset({"one-attribute-value"})

    int = Int("A whole number.", pointer=True)
    bool = Bool("True or false.", pointer=True)
    string = Text("A text.", max_length=VALUE_MAX_BYTES, pointer=True)
    version = Text("A semantic version.", format=formats.semver, max_length=VALUE_MAX_BYTES, pointer=True)
    ints = values(Int(), "Whole numbers.")
    bools = values(Bool(), "Truth values.")
    strings = values(Text(max_length=VALUE_MAX_BYTES), "Texts.")
    versions = values(Text(format=formats.semver, max_length=VALUE_MAX_BYTES, always=True), "Semantic versions.")


_SEVERAL_VALUES_SINCE = 32
_INVALID_WITHOUT_SINCE = 35


@exactly_one(DeviceAttribute, *ONE_VALUE, *LISTS)
def one_attribute_value(attribute: View, given: Sequence[str]) -> Iterator[Problem]:
    """An attribute has a value, and only one."""
    detail = "exactly one value must be specified"
    if attribute.target.declarative:
        members = ONE_VALUE if attribute.release < _LISTS_SINCE else (*ONE_VALUE, *LISTS)
        held = [name for name in given if name not in _LISTS or attribute.content[name]]
        if len(held) != 1:
            yield from one_member(attribute.path, members, held)
            return
    if len(given) == 1:  # an empty list, which the field itself reports
        return
    if given:
        detail = detail if attribute.release >= _SEVERAL_VALUES_SINCE else "exactly one field must be specified"
        yield invalid(attribute.path, attribute.submitted, detail)
    elif attribute.release >= _INVALID_WITHOUT_SINCE:
        yield invalid(attribute.path, "", detail)
    else:
        yield required(attribute.path, detail)


def list_attributes(device: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the list attributes of a device, as submitted."""
    attributes = (device.get("attributes") or {}).values()
    ints, bools, strings, versions = LISTS  # a call for each attribute would take longer than all else
    return [
        each
        for each in attributes
        if each
        and not (
            each.get(ints) is None
            and each.get(bools) is None
            and each.get(strings) is None
            and each.get(versions) is None
        )
    ]


# Counters


def _counters(doc: str) -> Map:
    """Declare a map from names of counters to quantities."""
    key = dns_label("", always=True, declared={37: TAGGED_SHORT_NAME[35]})
    return Map(
        Nested(Counter),
        doc,
        key=key,
        key_bytes=COUNTER_NAME_MAX_BYTES,
        max_items=COUNTERS_MAX_ITEMS,
        required=True,
        declared=TAGGED_37,
    )


class CounterSet(Struct):
    """A named set of counters."""

    name = dns_label("What devices call the set.", required=True, written=True, declared=TAGGED_SHORT_NAME)
    counters = _counters("How much there is of each.")


class DeviceCounterConsumption(Struct):
    """The amounts that using a device takes from a set of counters."""

    counterSet = Text("The set.", required=True, written=True, declared=TAGGED_SHORT_NAME)
    counters = _counters("How much it takes of each.")
    compatibilityGroups = Array(
        Text(format=formats.short_name, always=True),
        "Devices share the set only with devices that have one of these groups, too, or none at all.",
        max_items=COMPATIBILITY_GROUPS_MAX_ITEMS,
        unique="",
        declarative=True,
        since=37,
        gate="DRADeviceCompatibilityGroups",
    )


@check(DeviceCounterConsumption, since=35, given=["counterSet"])
def counter_set_name(consumption: View) -> Iterator[Problem]:
    """The name of a set of counters is a DNS label."""
    if not consumption.counterSet or consumption.target.declarative:
        return
    for detail in formats.dns_label(consumption.counterSet, consumption.release):
        yield invalid(consumption / "counterSet", consumption.counterSet, detail)


# The device


def _by_qualified_name(type_: type[Struct], doc: str) -> Map:
    return Map(
        Nested(type_),
        doc,
        key=Text(checked_by=qualified_name, always=True),
        key_go="QualifiedName",
        key_bytes=QUALIFIED_NAME_MAX_BYTES,
    )


class BasicDevice(Struct):
    """The properties of a device, besides its name."""

    instead: ClassVar = {
        "bindingTimeoutSeconds": "the scheduler's configuration has it: bindingTimeout of DynamicResourcesArgs"
    }

    attributes = _by_qualified_name(DeviceAttribute, "What selectors and constraints can look at.")
    capacity = _by_qualified_name(DeviceCapacity, "The capacities of the device, such as its memory.")
    taints = Array(
        Nested(DeviceTaint),
        "Reasons not to use it.",
        max_items=TAINTS_MAX_ITEMS,
        since=33,
        gate="DRADeviceTaints",
        rechecked={35: CHANGED},
    )
    consumesCounters = Array(
        Nested(DeviceCounterConsumption),
        "What using it takes from counters that devices share.",
        max_items=CONSUMED_SETS_MAX_ITEMS,
        unique="counterSet",
        declared=TAGGED,
        since=33,
        gate="DRAPartitionableDevices",
    )
    nodeName = Text("The node that has it.", pointer=True, since=33, gate="DRAPartitionableDevices")
    nodeSelector = Nested(
        NodeSelector, "The nodes that can use it.", pointer=True, since=33, gate="DRAPartitionableDevices"
    )
    allNodes = Bool("Whether all nodes can use it.", pointer=True, since=33, gate="DRAPartitionableDevices")
    bindsToNode = Bool(
        "Whether its users can run only on the node that was chosen.", pointer=True, since=34, gate=BINDING_GATES
    )
    bindingConditions = binding_conditions("What must become true of it before a pod is bound.")
    bindingFailureConditions = binding_conditions("What makes binding fail.")
    allowMultipleAllocations = Bool(
        "Whether several claims can share it.", pointer=True, since=34, gate="DRAConsumableCapacity"
    )
    nodeAllocatableResourceMappings = Map(
        Nested(NodeAllocatableResourceMapping),
        "Resources of the node that go with it.",
        key_go="v1.ResourceName",
        since=36,
        until=36,
        gate="DRANodeAllocatableResources",
    )
    nodeAllocatableResources = Map(
        Nested(NodeAllocatableResource),
        "Resources of the node that go with it.",
        key_go="v1.ResourceName",
        since=37,
        gate="DRANodeAllocatableResources",
    )


class NamedDevice(Struct):
    """The name of a device."""

    name = dns_label("Its name, unique in the pool.", always=True, written=True)


class Device(BasicDevice, NamedDevice):
    """A device that a driver offers."""

    moved = "attributes, capacity and the rest are fields of the device itself"
    unboxed = "basic"


check(BasicDevice, since=34, given=CONDITION_LISTS)(conditions_for_binding)


@check(BasicDevice, given=["attributes", "capacity"], before="attributes")
def attributes_and_capacities(device: View) -> Iterator[Problem]:
    """A device has at most 32 attributes and capacities in total."""
    content = device.content
    total = len(content.get("attributes") or ()) + len(content.get("capacity") or ())
    if total > ATTRIBUTES_AND_CAPACITIES_MAX:
        detail = f"the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        yield invalid(device.path, total, detail)


# Lists are rare.
@check(
    BasicDevice,
    since=36,
    given=["attributes"],
    before="attributes",
)
def attribute_values(device: View) -> Iterator[Problem]:
    """A device has at most 48 values of attributes, counting each value in a list."""
    content = device.content
    sizes = [sum(len(attribute.get(name) or ()) for name in LISTS) for attribute in list_attributes(content)]
    total = len(content.get("attributes") or ()) + sum(size - 1 for size in sizes if size)
    if total > ATTRIBUTE_VALUES_MAX:
        detail = f"the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}"
        yield invalid(device.path, total, detail)


@check(BasicDevice, since=34, given=["capacity"], before=IN_PLACE)
def capacity_for_requests(device: View) -> Iterator[Problem]:
    """A capacity can have a request policy only if several claims can share the device."""
    capacities = (device.content.get("capacity") or {}).values()
    if not any(each and each.get("requestPolicy") is not None for each in capacities):
        return
    for capacity in device.capacity.values():
        if capacity.requestPolicy and device.allowMultipleAllocations:
            yield from request_policy(capacity)
        elif capacity.requestPolicy:
            yield forbidden(capacity / "requestPolicy", "allowMultipleAllocations must be true")


@check(BasicDevice, since=36, until=36, given=["nodeAllocatableResourceMappings"])
def resources_of_the_node(device: View) -> Iterator[Problem]:
    """The node-allocatable resources of a device name resources of the node and capacities of the device."""
    for name, mapping in device.nodeAllocatableResourceMappings.items():
        yield from mapped_resource(device, name, mapping)


@check(BasicDevice, since=37, given=["nodeAllocatableResources"])
def node_allocatable_resources(device: View) -> Iterator[Problem]:
    """The node-allocatable resources of a device are for the device, one of its capacities, or its users."""
    for name, resource in device.nodeAllocatableResources.items():
        yield from allocatable_resource(device, name, resource)


# v1alpha3 and v1beta1: the properties of a device are under `basic`

_CONVERTED_SINCE = 33
"""From Kubernetes 1.33 the API server converts such a device to one without ``basic``."""


class BoxedDevice(NamedDevice):
    """A device that a driver offers, in its first form."""

    go_name = "Device"
    box = "basic"
    moved = "attributes, capacity and the rest, except the name, are fields of `basic`"

    basic = Nested(BasicDevice, "What is to be known about it.", pointer=True, spelled={_CONVERTED_SINCE: ""})


@check(BoxedDevice, until=_CONVERTED_SINCE - 1)
def basic_device(device: View) -> Iterator[Problem]:
    """There is only one kind of device, so `basic` is required."""
    if not device.basic:
        yield required(device / "basic")


class QuantityDevice(BasicDevice):
    """The properties of a device in v1alpha3, where a capacity is only a quantity."""

    go_name = "BasicDevice"

    capacity = BasicDevice.capacity.but(item=Quantity())
