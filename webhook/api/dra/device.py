"""Devices of a ResourceSlice: attributes, capacity, and conditions of use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from webhook import formats
from webhook.api.core.nodeselector import NodeSelector
from webhook.api.core.values import Quantity, one_member
from webhook.api.dra.binding import (
    BINDING_CONDITIONS,
    BINDING_FAILURE_CONDITIONS,
    BINDING_GATES,
    CONDITION_LISTS,
    conditions_for_binding,
)
from webhook.api.dra.names import (
    DRIVER_NAME_MAX_BYTES,
    ID_MAX_BYTES,
    ONE_VALUE,
    TAGGED,
    TAGGED_37,
    TAGGED_SHORT_NAME,
    qualified_name,
)
from webhook.api.dra.taints import DeviceTaint
from webhook.formats.quantities import Quantity as Value
from webhook.formats.quantities import whole_quantity, wrapped
from webhook.problem import Path, Problem, duplicate, forbidden, invalid, not_found, refused, required, too_many
from webhook.schema.declarations import CHANGED, IN_PLACE, Field, Struct, check, exactly_one
from webhook.schema.fields import SIZE_ENDS_LIST_SINCE, Array, Bool, Int, Map, Nested, Text, View

# -- The capacity of a device, and how much of it a request may take


VALID_VALUES_MAX_ITEMS = 10
FRACTIONS = "DRAFractionalCapacityRange"
_GUARDED_SINCE = 37
_BOUNDS = "min", "max", "step"
_LARGEST = whole_quantity(2**63 - 1)


class CapacityRequestPolicyRange(Struct):
    """Requests are multiples of a step between two bounds."""

    min = Quantity("The smallest amount that a request can consume.", pointer=True)
    max = Quantity("The largest amount that a request can consume.", pointer=True)
    step = Quantity("The step, counted from min, to which requested amounts are rounded up.", pointer=True)


class CapacityRequestPolicy(Struct):
    """The amounts of a capacity that a request may take."""

    default = Quantity("The amount that a request consumes if it states none.", pointer=True, written=True)
    validValues = Array(Quantity(), "The amounts that a request can consume, to one of which it is rounded up.")
    validRange = Nested(CapacityRequestPolicyRange, "The range of amounts that a request can consume.", pointer=True)


class DeviceCapacity(Struct):
    """A capacity of a device."""

    plain = "value"
    shorthand: ClassVar = {str: ("value",), int: ("value",)}
    instead: ClassVar = {"quantity": "value"}

    value = Quantity("The amount that the device has.", default="0")
    requestPolicy = Nested(CapacityRequestPolicy, pointer=True, since=34, gate="DRAConsumableCapacity")


class Counter(Struct):
    """An amount that devices can share."""

    value = Quantity("The available amount.", default="0")


def request_policy(capacity: View) -> Iterator[Problem]:
    """A request policy has valid values or a valid range, and a default that is among them."""
    policy, total = capacity.requestPolicy, capacity.value
    if policy.validValues and policy.validRange:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield forbidden(policy.path, detail)
    elif policy.validValues or policy.validRange:
        if "default" not in policy:
            yield required(
                policy / "default", f"required when {'validValues' if policy.validValues else 'validRange'} is defined"
            )
        elif policy.validValues:
            yield from _values(policy, total)
        else:
            yield from _range(policy, total)


def _values(policy: View, total: Value) -> Iterator[Problem]:
    path, default, values = policy / "validValues", policy.default, policy.validValues
    for index, (value, following) in enumerate(pairwise(values), 1):
        if value > following:
            yield invalid(path / index, str(following), "values must be sorted in ascending order")
    found = False
    if len(values) > VALID_VALUES_MAX_ITEMS:
        yield too_many(path, len(values), VALID_VALUES_MAX_ITEMS, policy.release)
    if len(values) <= VALID_VALUES_MAX_ITEMS or policy.release < SIZE_ENDS_LIST_SINCE:
        in_decimals = policy.enabled(FRACTIONS)
        seen = set()
        for index, value in enumerate(values):
            found = found or value == default
            if value > total:
                yield invalid(path / index, str(value), f"option is larger than capacity value: {total}")
            # Upstream compares decimals, whose scale matters, or values rounded to whole numbers.
            key = value.decimal() if in_decimals else str(value.value())
            if key in seen:
                yield duplicate(path / index, key)
            seen.add(key)
    if not found:
        yield invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _range(policy: View, total: Value) -> Iterator[Problem]:
    bounds, default = policy.validRange, policy.default
    least, most, step = bounds.min, bounds.max, bounds.step
    if least is None:
        yield required(bounds / "min", "required when validRange is defined")
        return
    # Upstream reports the default as a field of the range.
    at_default = policy.release >= _GUARDED_SINCE
    if least > total:
        yield invalid(bounds / "min", str(least), f"min is larger than capacity value: {total}")
    if default < least:
        yield invalid(bounds / ("default" if at_default else "min"), str(default), f"default is less than min: {least}")
    if most is not None:
        if least > most:
            yield invalid(bounds / "max", str(least), f"min is larger than max: {most}")
        if most > total:
            yield invalid(bounds / "max", str(most), f"max is larger than capacity value: {total}")
        if default > most:
            path = bounds / ("default" if at_default else "max")
            yield invalid(path, str(default), f"default is more than max: {most}")
    if at_default:
        yield from _guarded_steps(bounds, total, default)
    elif step is not None:
        yield from _steps(bounds / "step", step, total, least, [default] if most is None else [default, most])


def _steps(path: Path, step: Value, total: Value, least: Value, values: list[Value]) -> Iterator[Problem]:
    if least + step > total:
        yield invalid(path, str(step), f"one step {least + step} is larger than capacity value: {total}")
    if not step.value():
        # The API server divides by it: the request handler panics, and the connection is closed.
        yield refused("InternalError", path, "Internal error: runtime error: integer divide by zero")
        return
    yield from _between_steps(path, step, least, values, Value.value)


def _guarded_steps(bounds: View, total: Value, default: Value) -> Iterator[Problem]:
    """Check steps as Kubernetes 1.37 does: in whole numbers of 64 bits or, with a gate, in thousandths."""
    values = {"default": default} | {name: getattr(bounds, name) for name in _BOUNDS if name in bounds}
    in_thousandths = bounds.enabled(FRACTIONS) and any(value.power < 0 for value in values.values())
    if in_thousandths and (bad := [name for name, value in values.items() if value.thousandths() is None]):
        for name in bad:
            yield invalid(bounds / name, str(values[name]), "value cannot be represented as a milli value")
        return
    if "step" not in values:
        return
    path, least, step = bounds / "step", values["min"], values["step"]
    if step.sign <= 0:
        yield invalid(path, str(step), "must be greater than zero")
        return
    if least + step > total:
        yield invalid(path, str(step), f"one step {least + step} is larger than capacity value: {total}")
    if not in_thousandths and (wrong := list(_beyond_64_bits(bounds, values))):
        yield from wrong
        return
    checked = [values[name] for name in ("default", "max") if name in values]
    yield from _between_steps(path, step, least, checked, Value.thousandths if in_thousandths else Value.value)


def _beyond_64_bits(bounds: View, values: Mapping[str, Value]) -> Iterator[Problem]:
    for name, value in values.items():
        if value.sign < 0:
            yield invalid(bounds / name, str(value), "must be greater than or equal to 0")
        elif value > _LARGEST:
            yield invalid(bounds / name, str(value), f"must not be larger than {_LARGEST.value()}")


def _between_steps(
    path: Path, step: Value, least: Value, values: Iterable[Value], count: Callable[[Value], int | None]
) -> Iterator[Problem]:
    for value in values:
        if wrapped((count(value) or 0) - (count(least) or 0)) % (count(step) or 1):
            yield invalid(path, str(value), f"value is not a multiple of a given step ({step}) from ({least})")


# -- Node-allocatable resources of a device: the cpu, memory and huge pages that its use consumes


_NO_KEY = "capacityKey must not be an empty string"
_NOT_POSITIVE = "must be positive"


class NodeAllocatableResourceMapping(Struct):
    """The amount of a node resource that goes with a device, in the form of Kubernetes 1.36."""

    capacityKey = Text(
        "The capacity of the device that determines the amount.", go="QualifiedName", pointer=True, empty=_NO_KEY
    )
    allocationMultiplier = Quantity("The factor by which the capacity is multiplied.", pointer=True, default="1")


class NodeAllocatableMapping(Struct):
    """The amount of a node resource that the allocation of the device takes."""

    tagged = frozenset({"capacity-or-device"})

    capacityKey = Text(
        "The capacity of the device that determines the amount.", go="QualifiedName", pointer=True, empty=_NO_KEY
    )
    capacityMultiplier = Quantity("The amount of the resource for each unit of the capacity.", pointer=True)
    deviceMultiplier = Quantity("The amount of the resource for the device.", pointer=True)


class NodeAllocatableOverhead(Struct):
    """The additional amounts of a node resource for pods and containers that use the device."""

    perPod = Quantity("The amount of the resource for each pod that uses the device.", pointer=True)
    perContainer = Quantity("The amount of the resource for each container that uses the device.", pointer=True)


class NodeAllocatableResource(Struct):
    """The amount of one node resource that using a device takes."""

    mapping = Nested(NodeAllocatableMapping, pointer=True)
    overhead = Nested(NodeAllocatableOverhead, pointer=True)


UNION = "capacityKey", "deviceMultiplier"


@exactly_one(NodeAllocatableMapping, *UNION)
def capacity_or_device(mapping: View, given: Sequence[str]) -> Iterator[Problem]:
    """A mapping depends either on a capacity or on the device as a whole."""
    yield from one_member(mapping.path, UNION, given)


def mapped_resource(device: View, name: str, mapping: View) -> Iterator[Problem]:
    """Validate one mapping of Kubernetes 1.36."""
    if "/" in name and "kubernetes.io/" not in name:
        yield invalid(mapping.path, name, _NOT_ALLOCATABLE)
    if mapping.allocationMultiplier.sign <= 0:
        yield invalid(mapping / "allocationMultiplier", str(mapping.allocationMultiplier), _NOT_POSITIVE)
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
    quantity = getattr(mapping, field)
    if quantity.sign <= 0:
        yield invalid(mapping / field, str(quantity), _NOT_POSITIVE)


def _overhead(overhead: View) -> Iterator[Problem]:
    if "perPod" not in overhead and "perContainer" not in overhead:
        yield invalid(overhead.path, "", "at least one of perPod or perContainer must be set")
        return
    for field in ("perPod", "perContainer"):
        quantity = getattr(overhead, field)
        if quantity is not None and quantity.sign < 0:
            yield invalid(overhead / field, str(quantity), "must be non-negative")


VALUE_MAX_BYTES = 64
ATTRIBUTES_AND_CAPACITIES_MAX = 32
ATTRIBUTE_VALUES_MAX = 48
QUALIFIED_NAME_MAX_BYTES = DRIVER_NAME_MAX_BYTES + len("/") + ID_MAX_BYTES


# Attributes


LISTS = "ints", "bools", "strings", "versions"
_LISTS = frozenset(LISTS)
_LISTS_SINCE = 36


def values(item: Field, doc: str, alone: str) -> Array:
    """Declare an attribute that is a list; another field has one value."""
    gate = "DRAListTypeAttributes"
    return Array(item, doc, empty="must not be empty if specified", since=_LISTS_SINCE, gate=gate, alone=alone)


class DeviceAttribute(Struct):
    """A property of a device: one value, or a list of values of one kind."""

    shorthand: ClassVar = {str: ("version", "string"), int: ("int",), bool: ("bool",)}
    instead: ClassVar = {
        "value": "write the field of its type: bool, int, string or version",
        "boolean": "bool",
        "integer": "int",
        "semver": "version",
        "str": "string",
    }

    tagged = frozenset({"one-attribute-value"})

    int = Int("A whole number.", pointer=True)
    bool = Bool("True or false.", pointer=True)
    string = Text("A text.", max_length=VALUE_MAX_BYTES, pointer=True)
    version = Text("A semantic version.", format=formats.semver, max_length=VALUE_MAX_BYTES, pointer=True)
    ints = values(Int(), "Whole numbers.", "int")
    bools = values(Bool(), "Truth values.", "bool")
    strings = values(Text(max_length=VALUE_MAX_BYTES), "Texts.", "string")
    versions = values(
        Text(format=formats.semver, max_length=VALUE_MAX_BYTES, always=True), "Semantic versions.", "version"
    )


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
    key = Text(format=formats.dns_label, always=True, declared={37: TAGGED_SHORT_NAME[35]})
    return Map(Nested(Counter), doc, key=key, key_bytes=63, max_items={35: 32}, required=True, declared=TAGGED_37)


class CounterSet(Struct):
    """A named set of counters."""

    name = Text(
        "The name by which devices refer to the set.",
        format=formats.dns_label,
        required=True,
        written=True,
        declared=TAGGED_SHORT_NAME,
    )
    counters = _counters("The counters of the set, by name.")


class DeviceCounterConsumption(Struct):
    """The amounts that using a device takes from a set of counters."""

    counterSet = Text("The name of the set of counters.", required=True, written=True, declared=TAGGED_SHORT_NAME)
    counters = _counters("The amounts that the device consumes, by counter.")
    compatibilityGroups = Array(
        Text(format=formats.short_name, always=True),
        "Devices share the set only with devices that have one of these groups, too, or none at all.",
        max_items=2,
        unique="",
        declarative=True,
        since=37,
        gate="DRADeviceCompatibilityGroups",
    )


@check(DeviceCounterConsumption, since=35, given=["counterSet"])
def counter_set_name(consumption: View) -> Iterator[Problem]:
    """The name of a set of counters is a DNS label."""
    name = consumption.counterSet
    if name and not consumption.target.declarative:
        for detail in formats.dns_label(name, consumption.release):
            yield invalid(consumption / "counterSet", name, detail)


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

    attributes = _by_qualified_name(DeviceAttribute, "The attributes of the device.")
    capacity = _by_qualified_name(DeviceCapacity, "The capacities of the device, such as its memory.")
    taints = Array(
        Nested(DeviceTaint),
        "The taints of the device.",
        max_items={33: 4, 35: 16},
        since=33,
        gate="DRADeviceTaints",
        rechecked={35: CHANGED},
    )
    consumesCounters = Array(
        Nested(DeviceCounterConsumption),
        "The amounts that the device consumes of shared counters.",
        max_items={35: 2},
        unique="counterSet",
        declared=TAGGED,
        since=33,
        gate="DRAPartitionableDevices",
    )
    nodeName = Text("The node that has the device.", pointer=True, since=33, gate="DRAPartitionableDevices")
    nodeSelector = Nested(
        NodeSelector, "The nodes that can use the device.", pointer=True, since=33, gate="DRAPartitionableDevices"
    )
    allNodes = Bool("Whether all nodes can use the device.", pointer=True, since=33, gate="DRAPartitionableDevices")
    bindsToNode = Bool(
        "Whether users of the device can run only on the node that was chosen.",
        pointer=True,
        since=34,
        gate=BINDING_GATES,
    )
    bindingConditions = BINDING_CONDITIONS
    bindingFailureConditions = BINDING_FAILURE_CONDITIONS
    allowMultipleAllocations = Bool(
        "Whether several claims can share the device.", pointer=True, since=34, gate="DRAConsumableCapacity"
    )
    nodeAllocatableResourceMappings = Map(
        Nested(NodeAllocatableResourceMapping),
        "The node's resources that are consumed by using the device.",
        key_go="v1.ResourceName",
        since=36,
        until=36,
        gate="DRANodeAllocatableResources",
    )
    nodeAllocatableResources = Map(
        Nested(NodeAllocatableResource),
        "The node's resources that are consumed by using the device.",
        key_go="v1.ResourceName",
        since=37,
        gate="DRANodeAllocatableResources",
    )


class NamedDevice(Struct):
    """The name of a device."""

    name = Text("The device's name, unique in the pool.", format=formats.dns_label, always=True, written=True)


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
@check(BasicDevice, since=36, given=["attributes"], before="attributes")
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

    basic = Nested(BasicDevice, pointer=True, spelled={_CONVERTED_SINCE: ""})


@check(BoxedDevice, until=_CONVERTED_SINCE - 1)
def basic_device(device: View) -> Iterator[Problem]:
    """There is only one kind of device, so `basic` is required."""
    if not device.basic:
        yield required(device / "basic")


class QuantityDevice(BasicDevice):
    """The properties of a device in v1alpha3, where a capacity is only a quantity."""

    go_name = "BasicDevice"

    capacity = BasicDevice.capacity.but(item=Quantity())
