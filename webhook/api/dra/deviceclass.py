"""DeviceClass: devices as an administrator offers them."""

from __future__ import annotations

from typing import ClassVar

from webhook import formats
from webhook.api.core.meta import ClusterObject, CountedMetadata, CountedObject
from webhook.api.core.nodeselector import NodeSelector
from webhook.api.dra.names import TAGGED
from webhook.api.dra.opaque import DeviceConfiguration
from webhook.api.dra.selectors import selectors
from webhook.schema.declarations import CHANGED, STORED, Struct
from webhook.schema.fields import Array, Nested, Text
from webhook.schema.target import OLDEST

_NODES = "remove the field: the driver's ResourceSlices say which nodes have its devices"


class DeviceClassConfiguration(DeviceConfiguration):
    """Configuration that comes with the class."""


class DeviceClassSpec(Struct):
    """Which devices belong to the class, and how they are configured."""

    instead: ClassVar = {"suitableNodes": _NODES}

    selectors = selectors("The conditions that devices of the class must meet.", rechecked={35: STORED, 37: CHANGED})
    config = Array(
        Nested(DeviceClassConfiguration),
        "Configuration for drivers.",
        max_items=32,
        declared=TAGGED,
        rechecked={35: STORED},
    )
    suitableNodes = Nested(
        NodeSelector,
        "The nodes that claims of this class can be allocated for.",
        pointer=True,
        until=31,
        spelled="/suitableNodes",  # as validateDeviceClassSpec spells it
        gate="DRAControlPlaneController",
    )
    extendedResourceName = Text(
        "The extended resource by which pods can ask for devices of this class without a claim.",
        format=formats.extended_resource_name,
        declared={35: {"formats": (formats.prefixed_resource_name,)}},
        pointer=True,
        since=34,
        gate="DRAExtendedResource",
    )


class DeviceClassMetadata(CountedMetadata):
    """The metadata of a class, whose name Kubernetes 1.35 checks by a declarative rule."""

    tagged_name_since = 35


class DeviceClass(CountedObject, ClusterObject):
    """A kind of devices, as an administrator offers them."""

    checks_prefix: ClassVar = {OLDEST: True, 35: False}

    tagged_since = 35
    instead: ClassVar = {
        "driverName": 'select by spec.selectors[].cel.expression: device.driver == "DRIVER"',
        "parametersRef": "write the parameters themselves into spec.config[].opaque",
        "suitableNodes": _NODES,
        "structuredParameters": "remove the field: the scheduler allocates all devices",
    }

    metadata = Nested(DeviceClassMetadata, "The class's name, labels and annotations.")

    spec = Nested(DeviceClassSpec)
