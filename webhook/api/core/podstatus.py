"""The parts of a pod's status that concern resource claims.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidatePodStatusUpdate).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from webhook import formats
from webhook.api.core.container import ResourceList, ResourceRequirements
from webhook.api.core.values import Quantity, Time, V1Struct, alike, unjudged
from webhook.formats.quantities import decode_quantity
from webhook.problem import Key, Path, Problem, duplicate, invalid, required
from webhook.schema import Anything, Array, Int, Nested, Text, View, check

# Health of devices


class ResourceHealth(V1Struct):
    """The health of one device."""

    resourceID = Text("The device.", go="ResourceID", written=True)
    health = Text("How it is.", go="ResourceHealthStatus", one_of=("Healthy", "Unhealthy", "Unknown"), always=True)
    message = Text("Why it is so.", pointer=True, max_length=1024, since=36)


class ResourceStatus(V1Struct):
    """The health of the devices behind one resource or claim of a container."""

    name = Text("The resource, or claim:<claim> or claim:<claim>/<request>.", go="ResourceName", written=True)
    resources = Array(Nested(ResourceHealth), "The devices.")


class ContainerStatus(V1Struct):
    """The status of a container."""

    package = "v1"
    opaque: ClassVar = alike(
        Anything(),
        "allocatedResources containerID image imageID lastState ready resources restartCount started state",
    )

    name = Text("The container.", written=True)
    allocatedResourcesStatus = Array(Nested(ResourceStatus), "The health of what it was given.", since=31)
    volumeMounts = Anything("Its mounted volumes.", since=30)
    user = Anything("The user that it runs as.", since=31)
    stopSignal = Anything("The signal that stops it.", since=33)


@check(ResourceHealth, given=["message"])
def empty_message(health: View) -> Iterator[Problem]:
    """A message is not empty."""
    if health.message == "":
        yield required(health / "message", "must be non-empty if specified")


@check(ResourceStatus, given=["resources"])
def repeated_device(status: View) -> Iterator[Problem]:
    """A device is reported only once."""
    seen = set()
    for device in status.resources:
        if device.resourceID in seen:
            yield duplicate(device / "resourceID", device.resourceID)
        seen.add(device.resourceID)


# Claims that were made for the pod


class PodResourceClaimStatus(V1Struct):
    """The claim that was made from a template for one entry of the pod."""

    name = Text("The entry in spec.resourceClaims.", written=True)
    resourceClaimName = Text("The ResourceClaim; absent if none had to be made.", pointer=True)


class ContainerExtendedResourceRequest(V1Struct):
    """The request that serves an extended resource of a container."""

    containerName = Text("The container.", written=True)
    resourceName = Text("The extended resource.", written=True)
    requestName = Text("The request of the claim.", written=True)


class PodExtendedResourceClaimStatus(V1Struct):
    """The claim that was made for the pod's extended resources."""

    requestMappings = Array(
        Nested(ContainerExtendedResourceRequest),
        "Which request serves which resource.",
        required=True,
        required_detail="at least one request mapping is required",
        written=True,
    )
    resourceClaimName = Text("The ResourceClaim.", format=formats.dns_subdomain, required=True, written=True)


class AllocatableResources(ResourceList):
    """Quantities by the name of a resource, in a field without a named type."""

    def type_name(self, package: str) -> str:
        """Name the Go map."""
        return f"map[{package}.ResourceName]resource.Quantity"


class NodeAllocatableMappingStatus(V1Struct):
    """The amount of a node resource that goes with the claim's devices."""

    name = Text("The resource.", go="ResourceName", required=True)
    quantity = Quantity("How much it is.", pointer=True, required=True)


class NodeAllocatableOverheadStatus(V1Struct):
    """The amount of a node resource that goes with the users of the claim."""

    name = Text("The resource.", go="ResourceName", required=True)
    perPod = Quantity("How much goes with each pod.", pointer=True)
    perContainer = Quantity("How much goes with each container.", pointer=True)


class NodeAllocatableResourceClaimStatus(V1Struct):
    """The node resources, such as cpu and memory, that a claim takes."""

    resourceClaimName = Text("The ResourceClaim.", written=True)
    containers = Array(
        Text(), "The containers that use it.", list_type="set", required=True, required_detail="must not be empty"
    )
    resources = AllocatableResources("What it takes.", until=36, written=True)
    mapping = Array(
        Nested(NodeAllocatableMappingStatus), "What goes with its devices.", list_map_keys=["name"], since=37
    )
    overhead = Array(
        Nested(NodeAllocatableOverheadStatus), "What goes with its users.", list_map_keys=["name"], since=37
    )


class PodStatus(V1Struct):
    """The status of a pod."""

    opaque: ClassVar = {
        "conditions": Array(unjudged("PodCondition", pointer=False), list_map_keys=["type"]),
        "podIPs": Array(unjudged("PodIP", pointer=False), list_map_keys=["ip"]),
        "startTime": Time(pointer=True),
        "phase": Text(go="PodPhase"),
        "qosClass": Text(go="PodQOSClass"),
        "resize": Text(go="PodResizeStatus"),
        **alike(Text(), "hostIP message nominatedNodeName podIP reason"),
    }

    containerStatuses = Array(Nested(ContainerStatus), "What became of the containers.")
    initContainerStatuses = Array(Nested(ContainerStatus), "What became of the init containers.")
    ephemeralContainerStatuses = Array(Nested(ContainerStatus), "What became of containers that were added.")
    resourceClaimStatuses = Array(
        Nested(PodResourceClaimStatus), "The claims made from templates.", since=28, list_map_keys=["name"]
    )
    extendedResourceClaimStatus = Nested(
        PodExtendedResourceClaimStatus,
        "The claim made for extended resources.",
        pointer=True,
        since=34,
        gate="DRAExtendedResource",
    )
    nodeAllocatableResourceClaimStatuses = Array(
        Nested(NodeAllocatableResourceClaimStatus),
        "What claims take of the node's own resources.",
        list_map_keys=["resourceClaimName"],
        since=36,
        gate="DRANodeAllocatableResources",
    )
    hostIPs = Anything("The node's addresses.", since=28, shape=Array(unjudged("HostIP", pointer=False)))
    observedGeneration = Anything("The generation that this is the status of.", since=33, shape=Int())
    allocatedResources = Anything("What the pod as a whole was given.", since=35, shape=ResourceList())
    resources = Anything("What the pod as a whole has now.", since=35, shape=Nested(ResourceRequirements, pointer=True))


@check(PodExtendedResourceClaimStatus, given=["requestMappings"])
def request_names(status: View) -> Iterator[Problem]:
    """The names of requests are DNS labels."""
    for mapping in status.requestMappings:
        for detail in formats.dns_label(mapping.requestName, status.release):
            # Upstream leaves the mapping out of the path.
            problem = invalid(mapping / "requestName", mapping.requestName, detail)
            yield problem._replace(spelled=Path(("requestName",)))


@check(PodExtendedResourceClaimStatus, given=["requestMappings"])
def repeated_mapping(status: View) -> Iterator[Problem]:
    """A container's resource is mapped only once, since 1.35 once to each request."""
    fields = ["containerName", "resourceName", "requestName"][: 2 if status.release < _SEVERAL_REQUESTS_SINCE else 3]
    seen = set()
    for mapping in status.requestMappings:
        key = tuple(getattr(mapping, field) for field in fields)
        if key in seen:
            yield from (duplicate(mapping / field, part) for field, part in zip(fields, key, strict=True))
        seen.add(key)


_SEVERAL_REQUESTS_SINCE = 35


@check(PodStatus, since=37, given=["nodeAllocatableResourceClaimStatuses"])
def repeated_allocatable_resources(status: View) -> Iterator[Problem]:
    """A claim, its containers and its resources are reported only once."""
    statuses = status.nodeAllocatableResourceClaimStatuses
    yield from _repeated(statuses, "resourceClaimName")
    for each in statuses:
        seen = set()
        for index, container in enumerate(each.containers):
            if container in seen:
                yield duplicate(each / "containers" / index, container)
            seen.add(container)
        yield from _repeated(each.mapping, "name")
        yield from _repeated(each.overhead, "name")


def _repeated(items: Iterable[View], key: str) -> Iterator[Problem]:
    seen = set()
    for each in items:
        if (value := getattr(each, key)) in seen:
            yield duplicate(each.path, each.submitted)
        seen.add(value)


@check(NodeAllocatableResourceClaimStatus, since=37)
def name_of_the_claim(status: View) -> Iterator[Problem]:
    """The name of a claim that takes node resources is given."""
    if not status.resourceClaimName:
        yield required(status / "resourceClaimName")


@check(NodeAllocatableResourceClaimStatus, until=36)
def allocatable_resources(status: View) -> Iterator[Problem]:
    """The node resources that a claim takes have valid names, and are not negative."""
    if not status.resourceClaimName:
        yield required(status / "resourceClaimName", "must not be empty")
    if not status.resources:
        yield required(status / "resources", "must not be empty")
    for name, quantity in status.resources.items():
        path = status / "resources" / Key(name)
        if not formats.extended_resource_name(name, status.release):
            yield invalid(path, name, "must be a node allocatable resource name")
        if (number := decode_quantity(quantity)).sign < 0:
            yield invalid(path, str(number), "must be non-negative")
