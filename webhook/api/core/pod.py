"""Pods.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidatePodCreate, ValidatePodUpdate, ValidatePodStatusUpdate).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

from webhook import formats
from webhook.api.core.container import COMPUTE, HUGE, ResourceList, in_thousandths, of_resource
from webhook.api.core.meta import Metadata, Object, created_name
from webhook.api.core.podspec import PodSpec, containers_of
from webhook.api.core.podupdate import Complete, changes
from webhook.api.core.values import Others, Quantity, V1Struct
from webhook.escapes import GO_SPACE
from webhook.formats.quantities import Quantity as Amount
from webhook.formats.quantities import decode_quantity, readable_quantity
from webhook.grouping import repeated
from webhook.objects import items, mapping
from webhook.problem import Key, Path, Problem, duplicate, forbidden, invalid, required
from webhook.release import Release
from webhook.schema.declarations import check, transition
from webhook.schema.fields import Array, Nested, Text, View
from webhook.schema.target import CREATE, MAIN, OLDEST, STATUS, UPDATE, UPDATE_STATUS, Target

# -- The parts of a pod's status that concern resource claims


# Health of devices


class ResourceHealth(V1Struct):
    """The health of one device."""

    resourceID = Text("The device.", go="ResourceID", written=True)
    health = Text(
        "The health of the device.", go="ResourceHealthStatus", one_of=("Healthy", "Unhealthy", "Unknown"), always=True
    )
    message = Text("The reason for the health.", pointer=True, max_length=1024, since=36)


class ResourceStatus(V1Struct):
    """The health of the devices behind one resource or claim of a container."""

    name = Text("The resource, or claim:<claim> or claim:<claim>/<request>.", go="ResourceName", written=True)
    resources = Array(Nested(ResourceHealth), "The devices.")


class ContainerStatus(V1Struct):
    """The status of a container."""

    opaque: ClassVar = Others("ContainerStatus")

    name = Text("The container.", written=True)
    allocatedResourcesStatus = Array(Nested(ResourceStatus), "The health of the allocated resources.", since=31)


@check(ResourceHealth, given=["message"])
def empty_message(health: View) -> Iterator[Problem]:
    """A message is not empty."""
    if health.message == "":
        yield required(health / "message", "must be non-empty if specified")


@check(ResourceStatus, given=["resources"])
def repeated_device(status: View) -> Iterator[Problem]:
    """A device is reported only once."""
    for _, device in repeated(status.resources, attrgetter("resourceID")):
        yield duplicate(device / "resourceID", device.resourceID)


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
        "The request of the claim for each extended resource.",
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
    quantity = Quantity("The amount.", pointer=True, required=True)


class NodeAllocatableOverheadStatus(V1Struct):
    """The amount of a node resource that goes with the users of the claim."""

    name = Text("The resource.", go="ResourceName", required=True)
    perPod = Quantity("The amount for each pod.", pointer=True)
    perContainer = Quantity("The amount for each container.", pointer=True)


class NodeAllocatableResourceClaimStatus(V1Struct):
    """The node resources, such as cpu and memory, that a claim takes."""

    resourceClaimName = Text("The ResourceClaim.", written=True)
    containers = Array(
        Text(),
        "The containers that use the claim.",
        list_type="set",
        required=True,
        required_detail="must not be empty",
    )
    resources = AllocatableResources("The node's resources that the claim takes.", until=36, written=True)
    mapping = Array(
        Nested(NodeAllocatableMappingStatus),
        "The amount that the allocated devices take.",
        list_map_keys=["name"],
        since=37,
    )
    overhead = Array(
        Nested(NodeAllocatableOverheadStatus),
        "The additional amounts for the pod and its containers.",
        list_map_keys=["name"],
        since=37,
    )


class PodStatus(V1Struct):
    """The status of a pod."""

    opaque: ClassVar = Others("PodStatus")

    containerStatuses = Array(Nested(ContainerStatus), "The status of the containers.")
    initContainerStatuses = Array(Nested(ContainerStatus), "The status of the init containers.")
    ephemeralContainerStatuses = Array(Nested(ContainerStatus), "The status of the ephemeral containers.")
    resourceClaimStatuses = Array(
        Nested(PodResourceClaimStatus), "The claims made from templates.", since=28, list_map_keys=["name"]
    )
    extendedResourceClaimStatus = Nested(
        PodExtendedResourceClaimStatus, pointer=True, since=34, gate="DRAExtendedResource"
    )
    nodeAllocatableResourceClaimStatuses = Array(
        Nested(NodeAllocatableResourceClaimStatus),
        "The node's resources that claims take.",
        list_map_keys=["resourceClaimName"],
        since=36,
        gate="DRANodeAllocatableResources",
    )


@check(PodExtendedResourceClaimStatus, given=["requestMappings"])
def request_names(status: View) -> Iterator[Problem]:
    """The names of requests are DNS labels."""
    for mapped in status.requestMappings:
        for detail in formats.dns_label(mapped.requestName, status.release):
            # Upstream leaves the mapping out of the path.
            problem = invalid(mapped / "requestName", mapped.requestName, detail)
            yield problem._replace(spelled=Path(("requestName",)))


@check(PodExtendedResourceClaimStatus, given=["requestMappings"])
def repeated_mapping(status: View) -> Iterator[Problem]:
    """A container's resource is mapped only once, since 1.35 once to each request."""
    fields = ["containerName", "resourceName", "requestName"][: 2 if status.release < _SEVERAL_REQUESTS_SINCE else 3]
    for _, mapped in repeated(status.requestMappings, attrgetter(*fields)):
        yield from (duplicate(mapped / field, getattr(mapped, field)) for field in fields)


_SEVERAL_REQUESTS_SINCE = 35


@check(PodStatus, since=37, given=["nodeAllocatableResourceClaimStatuses"])
def repeated_allocatable_resources(status: View) -> Iterator[Problem]:
    """A claim, its containers and its resources are reported only once."""
    statuses = status.nodeAllocatableResourceClaimStatuses
    yield from _repeated(statuses, "resourceClaimName")
    for each in statuses:
        for index, container in repeated(each.containers):
            yield duplicate(each / "containers" / index, container)
        yield from _repeated(each.mapping, "name")
        yield from _repeated(each.overhead, "name")


def _repeated(items: Iterable[View], key: str) -> Iterator[Problem]:
    return (duplicate(each.path, each.submitted) for _, each in repeated(items, attrgetter(key)))


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
        if quantity.sign < 0:
            yield invalid(path, str(quantity), "must be non-negative")


MIRROR_POD = "kubernetes.io/config.mirror"
"""The annotation of mirror pods, which represent a kubelet's static pods."""


class PodMetadata(Metadata):
    """The metadata of a pod."""

    counted_since = 33


class OwnPodSpec(PodSpec):
    """The specification of a pod that is not a template."""

    go_name = "PodSpec"


@check(OwnPodSpec, on=[CREATE], given=["ephemeralContainers"])
def new_ephemeral_containers(spec: View) -> Iterator[Problem]:
    """Ephemeral containers can be added only to a running pod."""
    if spec.contents("ephemeralContainers"):
        yield forbidden(spec / "ephemeralContainers", "cannot be set on create")


@check(OwnPodSpec, on=[CREATE, UPDATE])
def spaces_around_image(spec: View) -> Iterator[Problem]:
    """The image of a pod's container has no white space around it; in a template it may."""
    for kind, index, container in containers_of(spec):
        image = container.get("image") or ""
        if image != image.strip(GO_SPACE):
            detail = "must not have leading or trailing whitespace"
            yield invalid(spec / kind / index / "image", image, detail)


@check(OwnPodSpec, on=[CREATE], given=["nodeName"])
def node_before_gates_cleared(spec: View) -> Iterator[Problem]:
    """A pod with scheduling gates is not scheduled yet, and so has no node."""
    if spec.nodeName and spec.schedulingGates:
        yield forbidden(spec / "nodeName", "cannot be set until all schedulingGates have been cleared")


@check(OwnPodSpec, on=[CREATE, UPDATE])
def amounts_of_default_requests(spec: View) -> Iterator[Problem]:
    """An invalid limit of a pod is reported twice, as the request defaults to the limit."""
    for kind, index, container in containers_of(spec, "containers", "initContainers"):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in [each for each in limits if each not in requests]:
            path = spec / kind / index / "resources"
            for problem in of_resource(name, in_thousandths(decode_quantity(limits[name])), spec.release):
                yield problem._replace(path=path / "limits" / Key(name), spelled=path / "requests" / Key(name), hint="")


class Pod(Object):
    """Containers that run together on a node."""

    checks_prefix: ClassVar = {OLDEST: True}
    kept_by_status: ClassVar = {OLDEST: frozenset({"ownerReferences", "deletionTimestamp"})}

    metadata = Nested(PodMetadata, "The pod's name, labels and annotations.")
    spec = Nested(OwnPodSpec, "The desired behavior of the pod.", subresource=MAIN)
    status = Nested(PodStatus, subresource=STATUS)

    @staticmethod
    def complete(value: dict[str, Any]) -> dict[str, Any]:
        """Set requests, ports of the host and service links, in pods but not in templates (``SetDefaults_Pod``)."""
        spec = value["spec"]
        if not isinstance(spec, dict):
            return value
        lists = {name: spec[name] for name in ("containers", "initContainers") if isinstance(spec.get(name), list)}
        completed = {name: [_with_requests(each) for each in group] for name, group in lists.items()}
        if spec.get("hostNetwork") is True:
            completed = {name: [_with_host_ports(each) for each in group] for name, group in completed.items()}
        spec = {"enableServiceLinks": True} | spec | completed
        return value | {"spec": _with_pod_level(spec) if isinstance(spec.get("resources"), dict) else spec}


def _with_requests(container: Any) -> Any:
    resources = container.get("resources") if isinstance(container, dict) else None
    if not isinstance(resources, dict):
        return container
    limits, requests = resources.get("limits"), resources.get("requests", {})
    if not limits or not isinstance(limits, dict) or not isinstance(requests, dict):
        return container
    return container | {"resources": resources | {"requests": limits | requests}}


def _with_pod_level(spec: dict[str, Any]) -> dict[str, Any]:
    """Complete the resources of a whole pod (``defaultHugePagePodLimits`` and ``defaultPodRequests``)."""
    resources = spec["resources"]
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    if limits or requests:
        huge = {name: str(each) for name, each in _of_containers(spec, "limits").items() if name.startswith(HUGE)}
        limits = {name: each for name, each in huge.items() if name not in requests} | limits
    if limits:
        of_containers = _of_containers(spec, "requests").items()
        sums = {name: str(each) for name, each in of_containers if name in COMPUTE}
        alike = {name: each for name, each in limits.items() if name in COMPUTE or name.startswith(HUGE)}
        requests = alike | sums | requests
    found = {name: each for name, each in (("limits", limits), ("requests", requests)) if each}
    return spec | {"resources": resources | found}


def pod_amounts(spec: Mapping[str, Any], field: str) -> dict[str, Amount]:
    """Return what a pod requests, or its limits (``limitranger/admission.go``, podRequests).

    Args:
        spec: The pod's spec.
        field: ``requests`` or ``limits``.
    """
    return _of_containers(spec, field) | quantities(spec, "resources", field)


def quantities(obj: Any, *path: str) -> dict[str, Amount]:
    """Return the readable quantities of a map, by their names."""
    read = ((name, readable_quantity(each)) for name, each in mapping(obj, *path).items())
    return {name: each for name, each in read if each is not None}


def _of_containers(spec: Mapping[str, Any], field: str) -> dict[str, Amount]:
    """Return what the containers of a pod request together, or their limits."""
    sidecars, first, total = dict[str, Amount](), dict[str, Amount](), dict[str, Amount]()
    for each in items(spec, "initContainers"):
        own = quantities(each, "resources", field)
        if each.get("restartPolicy") == "Always":
            sidecars = own = _sum(sidecars, own)
        else:
            own = _sum(sidecars, own)
        first = {name: max(first.get(name, amount), amount) for name, amount in (first | own).items()}
    for each in items(spec, "containers"):
        total = _sum(total, quantities(each, "resources", field))
    total = _sum(total, sidecars)
    return first | {name: max(first.get(name, amount), amount) for name, amount in total.items()}


def _sum(one: Mapping[str, Amount], other: Mapping[str, Amount]) -> dict[str, Amount]:
    added = {name: one[name] + amount if name in one else amount for name, amount in other.items()}
    return {**one, **added}


def _with_host_ports(container: Any) -> Any:
    ports = container.get("ports") if isinstance(container, dict) else None
    if not isinstance(ports, list):
        return container
    return container | {
        "ports": [
            each | {"hostPort": each["containerPort"]}
            if isinstance(each, dict) and each.get("containerPort") and not each.get("hostPort")
            else each
            for each in ports
        ]
    }


@check(Pod, since=32, given=["spec"])
def claims_of_static_pod(pod: View) -> Iterator[Problem]:
    """Static pods cannot use claims: they run without the API server."""
    metadata = pod.content.get("metadata") or {}
    if MIRROR_POD in (metadata.get("annotations") or ()):
        for index, _ in enumerate(pod.spec.contents("resourceClaims")):
            problem = forbidden(pod / "spec" / "resourceClaims" / index, "static pods do not support resource claims")
            yield problem._replace(spelled=Path((Key(""),)))  # upstream's path is empty


@check(Pod, until=30, given=["spec"])
def name_of_made_claim(pod: View) -> Iterator[Problem]:
    """A claim made from a template is named after the pod and its entry; that name must be valid."""
    seen = set()
    for index, claim in enumerate(pod.spec.contents("resourceClaims")):
        name, source = claim.get("name"), claim.get("source") or {}
        if not name or name in seen or formats.dns_label(name, pod.release):
            continue
        seen.add(name)
        if source.get("resourceClaimTemplateName") is not None:
            made, path = f"{created_name(pod.metadata)}-{name}", pod / "spec" / "resourceClaims"
            for detail in formats.dns_subdomain(made, pod.release):
                yield invalid(path / index / "name", made, f"final ResourceClaim name: {detail}")


@transition(Pod, on=[UPDATE])
def pod_update(pod: View, old: View) -> Iterator[Problem]:
    """Few fields of a pod's spec can be changed; its claims cannot."""
    complete = _complete(pod.release)
    yield from changes(pod.spec.submitted or {}, old.spec.submitted or {}, complete, pod / "spec", pod.release)


@cache
def _complete(release: Release) -> Complete:
    from webhook.schema.derive.defaults import Defaults  # needed only for updates

    return Defaults(Target("v1", release, UPDATE), keeps_empty=False).of(Pod)


# Status


@check(Pod, since=28, on=[UPDATE_STATUS])
def claims_made(pod: View) -> Iterator[Problem]:
    """A claim made for the pod belongs to one entry of spec.resourceClaims."""
    entries, seen = {claim.name for claim in pod.spec.resourceClaims}, set()
    for made in pod.status.resourceClaimStatuses:
        if made.name not in entries:
            yield invalid(made / "name", made.name, "must match the name of an entry in `spec.resourceClaims`")
        if made.name in seen:
            yield duplicate(made / "name", made.name)
        seen.add(made.name)
        if "resourceClaimName" in made:
            for detail in formats.dns_subdomain(made.resourceClaimName, pod.release):
                problem = invalid(made / "resourceClaimName", made.resourceClaimName, detail)
                yield problem if pod.release >= _PATH_OF_CLAIM else problem._replace(spelled=made / "name")


_PATH_OF_CLAIM = 36


@check(Pod, since=34, on=[UPDATE_STATUS])
def extended_resource_mappings(pod: View) -> Iterator[Problem]:
    """A mapping is for an extended resource that a container requests."""
    containers = [*pod.spec.initContainers, *pod.spec.containers]
    requested = {container.name: container.resources.requests for container in containers}
    for mapped in pod.status.extendedResourceClaimStatus.requestMappings:
        if (requests := requested.get(mapped.containerName)) is None:
            detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            yield invalid(mapped / "containerName", mapped.containerName, detail)
        elif mapped.resourceName not in requests:
            detail = (
                "must match the extended resource name of an entry in "
                "spec.initContainers.resources.requests or spec.containers.resources.requests"
            )
            yield invalid(mapped / "resourceName", mapped.resourceName, detail)


@check(Pod, since=36, on=[UPDATE_STATUS])
def claims_on_node(pod: View) -> Iterator[Problem]:
    """The node-allocatable resources in the status are taken by claims of the pod."""
    references = [*pod.spec.resourceClaims, *pod.status.resourceClaimStatuses]
    known = {reference.resourceClaimName for reference in references}
    for taken in pod.status.nodeAllocatableResourceClaimStatuses:
        if taken.resourceClaimName and taken.resourceClaimName not in known:
            detail = "no mapping found in pod reference"
            yield invalid(taken / "resourceClaimName", taken.resourceClaimName, detail)


@check(Pod, since=31, on=[UPDATE_STATUS])
def allocated_devices(pod: View) -> Iterator[Problem]:
    """Devices are reported only for resources and claims that the container requests."""
    status, spec = pod.status, pod.spec
    for statuses, containers in (
        (status.containerStatuses, spec.containers),
        (status.initContainerStatuses, spec.initContainers),
    ):
        asking = {container.name: container for container in reversed(containers)}
        for each in statuses:
            # The status of an unknown container is accepted.
            if container := asking.get(each.name):
                yield from _devices_not_asked_for(each, container)
    for each in status.ephemeralContainerStatuses:
        if "allocatedResourcesStatus" in each:
            yield forbidden(each / "allocatedResourcesStatus", "must not be specified in container status")


def _devices_not_asked_for(status: View, container: View) -> Iterator[Problem]:
    resources = container.resources
    claims = {f"claim:{claim.name}/{claim.request}".removesuffix("/") for claim in resources.claims}
    for allocated in status.allocatedResourcesStatus:
        name = allocated.name
        if name.startswith("claim:") and status.release >= _CLAIMS_HAVE_HEALTH:
            detail = (
                "must match one of the container's resource claims in a format "
                "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
            )
            found = name in claims
        else:
            detail = "must match one of the container's resource requests"
            found = name in resources.requests
        if not found:
            yield invalid(allocated / "name", name, detail)


_CLAIMS_HAVE_HEALTH = 32
