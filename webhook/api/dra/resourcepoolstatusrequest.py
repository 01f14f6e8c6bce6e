"""ResourcePoolStatusRequest: requests the usage of resource pools.

Its rules are declarative upstream (``+k8s:`` tags in ``staging/src/k8s.io/api/resource/v1alpha3/types.go``), with
``pkg/apis/resource/validation/validation_resourcepoolstatusrequest.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from webhook import formats
from webhook.api.core.meta import ClusterObject, conditions
from webhook.api.core.values import Quantity
from webhook.api.dra.names import attribute_of_a_domain, pool_path
from webhook.grouping import repeated
from webhook.problem import IMMUTABLE_FIELD, Problem, duplicate, invalid
from webhook.schema.declarations import NEW, Struct, check, transition
from webhook.schema.fields import Array, Int, Nested, Text, View
from webhook.schema.target import MAIN, STATUS, UPDATE_STATUS

CONDITIONS_MAX_ITEMS = 10
LIMIT_MAX = 1000
PARTITION_SUMMARY_MAX_ITEMS = 32


def driver(doc: str) -> Text:
    """Declare a driver's name, here with 253 bytes at most."""
    return Text(doc, format=formats.dns_subdomain_caseless, required=True)


def number(doc: str, **common: Any) -> Int:
    """Declare a number of objects."""
    return Int(doc, go="int32", minimum=(0, "must be greater than or equal to 0"), pointer=True, **common)


class ResourcePoolStatusRequestSpec(Struct):
    """The pools to report on."""

    driver = driver("The driver of the pools.").but(written=True)
    poolName = Text("The pool; all of the driver if absent.", checked_by=pool_path, pointer=True)
    limit = Int(
        "The maximum number of pools in the answer.",
        go="int32",
        pointer=True,
        default=100,
        minimum=(1, "must be greater than or equal to 1"),
        maximum=(LIMIT_MAX, f"must be less than or equal to {LIMIT_MAX}"),
    )
    defaultPartitionTypeAttribute = Text(
        "The attribute that holds the type of a partition, for slices that name no such attribute.",
        checked_by=attribute_of_a_domain,
        pointer=True,
        since=37,
        gate="DRAPartitionableDevicesType",
    )


class PartitionTypeStatus(Struct):
    """The number of available partitions of one type."""

    attribute = Text("The attribute that holds the type.", required=True)
    type = Text("The type of the partitions.", required=True)
    total = number("The number of partitions.", required=True)
    allocatable = number("The number of partitions that can be allocated.", required=True)


class ShareableCapacityStatus(Struct):
    """The available amount of a capacity of shareable devices."""

    name = Text("The name of the capacity.", required=True)
    total = Quantity("The total amount.", pointer=True, required=True)
    consumed = Quantity("The amount that is allocated.", pointer=True, required=True)
    available = Quantity("The amount that is available.", pointer=True, required=True)


class ShareableSummaryStatus(Struct):
    """The available parts of shareable devices."""

    fullyAvailableDevices = number("The number of devices of which nothing is allocated.", required=True)
    partiallyAvailableDevices = number("The number of devices that are only partly available.", required=True)
    capacity = Array(Nested(ShareableCapacityStatus), "The capacities of the devices.", max_items=32)


class PoolStatus(Struct):
    """The usage of the devices of a pool."""

    driver = driver("The pool's driver.")
    poolName = Text("The pool's name.", checked_by=pool_path, required=True)
    generation = Int(
        "The pool's generation.", required=True, minimum=(0, "must be greater than or equal to 0"), written=True
    )
    resourceSliceCount = Int(
        "The number of slices in the pool.", go="int32", pointer=True, minimum=(1, "must be greater than or equal to 1")
    )
    totalDevices = number("The number of devices in the pool.")
    allocatedDevices = number("The number of devices that are allocated.")
    availableDevices = number("The number of devices that can be allocated.")
    unavailableDevices = number("The number of devices that cannot be used.")
    nodeName = Text("The node that has the pool.", format=formats.dns_subdomain, pointer=True)
    validationError = Text("The reason why the status of the pool is unknown.", max_length=256, pointer=True)
    partitionSummary = Array(
        Nested(PartitionTypeStatus),
        "The available partitions, by type.",
        max_items=PARTITION_SUMMARY_MAX_ITEMS,
        since=37,
    )
    shareableSummary = Nested(ShareableSummaryStatus, pointer=True, since=37)


@check(PoolStatus, since=37, given=["partitionSummary"])
def repeated_type(pool: View) -> Iterator[Problem]:
    """Each type of partitions is listed only once."""
    types = pool.partitionSummary if len(pool.partitionSummary) <= PARTITION_SUMMARY_MAX_ITEMS else ()
    for _, each in repeated(types, attrgetter("attribute", "type")):
        yield duplicate(each.path, each.submitted)


class ResourcePoolStatusRequestStatus(Struct):
    """The usage of the pools."""

    poolCount = number("The number of pools that match the request.", required=True)
    pools = Array(Nested(PoolStatus), "The pools.", max_items=1000)
    conditions = conditions("request", CONDITIONS_MAX_ITEMS)


class ResourcePoolStatusRequest(ClusterObject):
    """A one-time request for the usage of devices in pools."""

    unconditional_update = False

    spec = Nested(
        ResourcePoolStatusRequestSpec, immutable=True, declarative=True, rechecked={36: NEW}, subresource=MAIN
    )
    status = Nested(ResourcePoolStatusRequestStatus, pointer=True, subresource=STATUS)


@check(ResourcePoolStatusRequestStatus, until=36)
def repeated_conditions(status: View) -> Iterator[Problem]:
    """Two conditions have the same type; unless the list is too long, the API server reports this twice."""
    conditions = status.conditions if len(status.conditions) <= CONDITIONS_MAX_ITEMS else ()
    for _, condition in repeated(conditions, attrgetter("type")):
        yield duplicate(condition.path, condition.submitted)


@transition(ResourcePoolStatusRequest, on=[UPDATE_STATUS])
def answer_changed(request: View, old: View) -> Iterator[Problem]:
    """The status of a ResourcePoolStatusRequest cannot be changed once it is set."""
    if old.status and request.status != old.status:
        yield invalid(request / "status", request.status.submitted, IMMUTABLE_FIELD)
