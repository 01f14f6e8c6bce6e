"""The kinds of v1alpha2 that Kubernetes 1.30 added for structured parameters: allocation by the scheduler.

Rules follow ``pkg/apis/resource/validation/validation.go`` and ``pkg/apis/resource/structured/namedresources`` of 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from webhook import formats
from webhook.api.core.meta import ClusterObject, Object, TemplateMetadata
from webhook.api.core.nodeselector import NodeSelector
from webhook.api.core.values import Quantity
from webhook.api.dra import claimstatus
from webhook.api.dra.claimstatus import AllocationStatus
from webhook.api.dra.names import driver_name
from webhook.api.dra.selectors import compiled
from webhook.problem import Path, Problem, Verbatim, forbidden, invalid, quoted, required
from webhook.schema.declarations import STORED, Struct, check, transition
from webhook.schema.fields import Anything, Array, Bool, Int, Nested, Text, View
from webhook.schema.target import MAIN, OLDEST, STATUS, UPDATE_STATUS

# -- v1alpha2 of Kubernetes 1.27 to 1.30: claims that a driver's own controller allocates


_SKIPPED = {OLDEST: True, 31: False}
"""Up to Kubernetes 1.30 a repeated name is not checked any further."""


class Classic(Object):
    """The base of kinds whose updates check the prefix for a generated name as a create does."""

    checks_prefix: ClassVar = {OLDEST: True}


def node_names(doc: str) -> Array:
    """Declare a set of node names."""
    return Array(
        Text(format=formats.dns_subdomain, always=True), doc, max_items=128, unique="", skips_repeated=_SKIPPED
    )


# ResourceClaim


class ResourceClaimParametersReference(Struct):
    """The object that holds the driver's parameters for a claim."""

    apiGroup = Text("The API group of the parameters.")
    kind = Text("The kind of the parameters.", required=True)
    name = Text("The name of the parameters, in the claim's namespace.", required=True)


class ResourceClaimSpec(Struct):
    """The requested resource."""

    resourceClassName = Text("The ResourceClass that names the driver.", format=formats.dns_subdomain, always=True)
    parametersRef = Nested(ResourceClaimParametersReference, "The driver's parameters for this claim.", pointer=True)
    allocationMode = Text(
        "Whether to allocate at once or when the first pod needs it.",
        go="AllocationMode",
        one_of=("Immediate", "WaitForFirstConsumer"),
        default="WaitForFirstConsumer",
    )


class NamedResourcesAllocationResult(Struct):
    """The instance that was allocated."""

    name = Text("The instance's name.", format=formats.dns_subdomain, always=True)


class DriverAllocationResult(Struct):
    """The allocation of one request."""

    vendorRequestParameters = Anything("The driver's parameters of the request.")
    namedResources = Nested(NamedResourcesAllocationResult, "The named resource that was allocated.", pointer=True)


class StructuredResourceHandle(Struct):
    """The scheduler's allocation by structured parameters."""

    vendorClassParameters = Anything("The driver's parameters of the class.")
    vendorClaimParameters = Anything("The driver's parameters of the claim.")
    nodeName = Text("The node that provides the resources, if they are local.", format=formats.dns_subdomain)
    results = Array(Nested(DriverAllocationResult), "One result for each request.")


class ResourceHandle(Struct):
    """The data about an allocated claim that a driver on the node gets."""

    driverName = driver_name("The driver that prepares the resource.", required=True)
    data = Text("The driver's own data.", max_length=16 * 1024)
    structuredData = Nested(StructuredResourceHandle, "The result of structured parameters.", pointer=True, since=30)


class AllocationResult(Struct):
    """The nodes and the data of an allocation."""

    resourceHandles = Array(Nested(ResourceHandle), "The data for the drivers, one entry for each.", max_items=32)
    availableOnNodes = Nested(NodeSelector, "The nodes from which the claim can be used.", pointer=True)
    shareable = Bool("Whether several pods may use the claim at a time.")


class ResourceClaimStatus(AllocationStatus):
    """The allocation of a claim, and the pods that it is reserved for."""

    driverName = driver_name("The driver that allocated the claim.")
    allocation = Nested(AllocationResult, pointer=True)
    reservedFor = claimstatus.ResourceClaimStatus.reservedFor.but(max_items=32, skips_repeated=True, declared=None)
    deallocationRequested = Bool("Whether the driver is asked to free the claim.")


class ResourceClaim(Classic):
    """A request for a resource, and its allocation."""

    spec = Nested(ResourceClaimSpec, immutable=True, subresource=MAIN)
    status = Nested(ResourceClaimStatus, subresource=STATUS)


@check(DriverAllocationResult)
def no_model_in_result(result: View) -> Iterator[Problem]:
    """An allocation result names the structured model that made it."""
    if not result.namedResources:
        yield required(result.path, "exactly one structured model field must be set")


@check(ResourceHandle, since=30, given=["structuredData"])
def data_with_structured_data(handle: View) -> Iterator[Problem]:
    """A handle holds a driver's own data or structured data, not both."""
    if handle.data and handle.structuredData:
        yield invalid(handle.path, "null", "data and structuredData are mutually exclusive")


@check(ResourceClaimStatus, given=["allocation"])
def allocated_by_a_driver(status: View) -> Iterator[Problem]:
    """An allocation names the driver that made it."""
    if status.allocation and not status.driverName:
        yield required(status / "driverName", "must be specified when `allocation` is set")


@check(ResourceClaimStatus, given=["reservedFor"])
def reserved_only_while_allocated(status: View) -> Iterator[Problem]:
    """A claim can be reserved only while it is allocated, and for several pods only if it is shareable."""
    if status.reservedFor and not status.allocation:
        yield forbidden(status / "reservedFor", "may not be specified when `allocated` is not set")
    elif len(status.reservedFor) > 1 and not status.allocation.shareable:
        yield forbidden(status / "reservedFor", "may not be reserved more than once")


@transition(ResourceClaim, on=[UPDATE_STATUS])
def reserved_while_deallocating(claim: View, old: View) -> Iterator[Problem]:
    """A claim that is being deallocated takes no new reservations."""
    status, before = claim.status, old.status.reservedFor
    going = claim.metadata.deletionTimestamp or status.deallocationRequested
    if going and any(consumer not in before for consumer in status.reservedFor):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden(status / "reservedFor", detail)


# ResourceClaimTemplate


class ResourceClaimTemplateSpec(Struct):
    """The metadata and the spec of claims made from the template."""

    metadata = Nested(TemplateMetadata, "Labels and annotations for the claims.")
    spec = Nested(ResourceClaimSpec, "The spec of the claims.")


class ResourceClaimTemplate(Classic):
    """A template from which every pod gets its own claim."""

    spec = Nested(ResourceClaimTemplateSpec, immutable=True)


# ResourceClass


class ResourceClassParametersReference(ResourceClaimParametersReference):
    """The object that holds the driver's parameters for a class."""

    name = Text("The name of the parameters.", required=True)
    namespace = Text("The namespace of the parameters, unless they are cluster-scoped.", format=formats.dns_label)


class ResourceClass(Classic, ClusterObject):
    """A kind of resource, and the driver that provides it."""

    driverName = driver_name("The driver that allocates claims of this class.", required=True)
    parametersRef = Nested(ResourceClassParametersReference, "The driver's parameters for this class.", pointer=True)
    suitableNodes = Nested(NodeSelector, "The nodes that claims of this class can be allocated for.", pointer=True)
    structuredParameters = Bool("Whether the scheduler allocates, by structured parameters.", pointer=True, since=30)


# PodSchedulingContext


class PodSchedulingContextSpec(Struct):
    """The nodes for the pod."""

    selectedNode = Text("The node that the scheduler has chosen.")
    potentialNodes = node_names("The nodes that the scheduler considers.")


class ResourceClaimSchedulingStatus(Struct):
    """The nodes for which one claim of the pod cannot be allocated."""

    name = Text("The name of the pod's entry for the claim.")
    unsuitableNodes = node_names("The nodes for which the claim cannot be allocated.")


class PodSchedulingContextStatus(Struct):
    """The nodes for which the pod's claims cannot be allocated."""

    resourceClaims = Array(
        Nested(ResourceClaimSchedulingStatus),
        "One entry for each claim.",
        unique="name",
        list_map_keys=["name"],
        at_item=True,
        spelled="claims",  # as validatePodSchedulingClaims spells it
    )


class PodSchedulingContext(Classic):
    """The communication of scheduler and drivers about a pod that waits for claims."""

    spec = Nested(PodSchedulingContextSpec, subresource=MAIN)
    status = Nested(PodSchedulingContextStatus, subresource=STATUS)


_SELECTOR = "A CEL expression over attributes; true for suitable instances."
NO_MODEL = "exactly one structured model field must be set"


# ResourceClaimParameters


class NamedResourcesRequest(Struct):
    """Asks for an instance that a selector picks."""

    selector = Text(_SELECTOR, required=True, checked_by=compiled)


class ResourceRequest(Struct):
    """A request for one resource of a driver."""

    vendorParameters = Anything("The driver's own parameters for the request.")
    namedResources = Nested(NamedResourcesRequest, "A request for a named resource.", pointer=True)


class DriverRequests(Struct):
    """The requests to one driver."""

    driverName = driver_name("The driver that the requests are for.", required=True)
    vendorParameters = Anything("The driver's own parameters for all requests.")
    requests = Array(
        Nested(ResourceRequest),
        "The requests to the driver.",
        required=True,
        required_detail="empty entries with no requests are not allowed",
    )


class ResourceClaimParameters(Classic):
    """The parameters of claims in a form that the scheduler understands."""

    generatedFrom = Nested(
        ResourceClaimParametersReference, "The driver's parameters from which they were generated.", pointer=True
    )
    shareable = Bool("Whether several pods may use the claim at a time.")
    driverRequests = Array(
        Nested(DriverRequests), "The requests, one entry for each driver.", unique="driverName", rechecked={30: STORED}
    )


@check(ResourceRequest)
def no_model_in_request(request: View) -> Iterator[Problem]:
    """A request uses a structured model."""
    if not request.namedResources:
        yield required(request.path, NO_MODEL)


# ResourceClassParameters


class NamedResourcesFilter(Struct):
    """Narrows the instances down by a selector."""

    selector = Text(_SELECTOR, required=True, checked_by=compiled)


class ResourceFilter(Struct):
    """A filter for the resources of one driver."""

    driverName = driver_name("The driver that the filter is for.", required=True)
    namedResources = Nested(NamedResourcesFilter, "A filter for named resources.", pointer=True)


class VendorParameters(Struct):
    """The parameters of one driver."""

    driverName = driver_name("The driver that the parameters are for.", required=True)
    parameters = Anything("The driver's own parameters.")


class ResourceClassParameters(Classic):
    """The parameters of classes in a form that the scheduler understands."""

    generatedFrom = Nested(
        ResourceClassParametersReference, "The driver's parameters from which they were generated.", pointer=True
    )
    vendorParameters = Array(Nested(VendorParameters), "Parameters for drivers.", unique="driverName")
    filters = Array(Nested(ResourceFilter), "Filters for resources.", unique="driverName")


@check(ResourceFilter)
def no_model_in_filter(each: View) -> Iterator[Problem]:
    """A filter uses a structured model."""
    if not each.namedResources:
        yield required(each.path, NO_MODEL)


# ResourceSlice


class NamedResourcesIntSlice(Struct):
    """A list of numbers."""

    ints = Array(Int(), "The numbers.")


class NamedResourcesStringSlice(Struct):
    """A list of texts."""

    strings = Array(Text(), "The texts.")


class NamedResourcesAttribute(Struct):
    """A property of an instance: a name and one value."""

    name = Text("The attribute's name.", format=formats.dns_subdomain, always=True)
    quantity = Quantity("A quantity.", pointer=True)
    bool = Bool("A boolean.", pointer=True)
    int = Int("A whole number.", pointer=True)
    intSlice = Nested(NamedResourcesIntSlice, "Whole numbers.", pointer=True)
    string = Text("A text.", pointer=True)
    stringSlice = Nested(NamedResourcesStringSlice, "Texts.", pointer=True)
    version = Text("A semantic version.", format=formats.semver, pointer=True)


class NamedResourcesInstance(Struct):
    """One resource that can be allocated."""

    name = Text("The instance's name.", format=formats.dns_subdomain, always=True)
    attributes = Array(Nested(NamedResourcesAttribute), "The attributes of the instance.", unique="name")


class NamedResourcesResources(Struct):
    """Resources that have names."""

    instances = Array(Nested(NamedResourcesInstance), "The resources.", unique="name")


class ResourceSlice(Classic, ClusterObject):
    """The resources that a driver offers on a node."""

    nodeName = Text("The node that has the resources.", format=formats.dns_subdomain, immutable=True)
    driverName = driver_name("The driver that offers the resources.", required=True, always=True, immutable=True)
    namedResources = Nested(NamedResourcesResources, pointer=True)


ATTRIBUTE_VALUES = "bool", "int", "intSlice", "quantity", "string", "stringSlice", "version"


@check(NamedResourcesAttribute)
def one_attribute_value(attribute: View) -> Iterator[Problem]:
    """An attribute has a value, and only one."""
    given = [name for name in ATTRIBUTE_VALUES if name in attribute]
    if not given:
        yield required(attribute.path, "exactly one value must be set")
    elif len(given) > 1:
        value = Verbatim(f"[]string{{{', '.join(quoted(name) for name in given)}}}")
        yield invalid(attribute.path, value, "exactly one field must be set, not several")


@check(ResourceSlice)
def no_model_in_slice(each: View) -> Iterator[Problem]:
    """A slice uses a structured model."""
    if not each.namedResources:
        # The API server has no path for the whole object.
        yield required(Path(), NO_MODEL)._replace(spelled=Path(("<nil>",)))
