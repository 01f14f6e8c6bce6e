"""The spec of a pod, and so of every pod template: containers, and the claims that they use.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidatePodSpec and what it calls).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

from webhook import formats
from webhook.api.core.container import REQUESTS_SINCE, Container, EphemeralContainer, ResourceRequirements
from webhook.api.core.meta import wrong_labels
from webhook.api.core.placement import (
    COMPARING_SINCE,
    Affinity,
    PodSchedulingGate,
    Toleration,
    compare,
    requires_other_values,
)
from webhook.api.core.values import Others, V1Struct
from webhook.problem import AS_JSON_SINCE, Path, Problem, duplicate, forbidden, invalid, malformed, not_found, required
from webhook.release import Release
from webhook.schema.declarations import IN_PLACE, check, exactly_one
from webhook.schema.fields import Anything, Array, Bool, Int, Map, Nested, Text, View

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


# What is claimed


class ClaimSource(V1Struct):
    """The source of a claim: an existing object, or a template for the pod's own claim."""

    resourceClaimName = Text("A ResourceClaim.", format=formats.dns_subdomain, pointer=True)
    resourceClaimTemplateName = Text("A ResourceClaimTemplate.", format=formats.dns_subdomain, pointer=True)


class PodResourceClaim(V1Struct):
    """A claim that the pod's containers can use."""

    instead: ClassVar = {
        "namespace": "leave it out: claims and templates are in the namespace of the pod",
        "request": "containers name a request of the claim, in their resources.claims[].request",
        **dict.fromkeys(("claim", "resourceClaim"), "name the claim in resourceClaimName"),
        **dict.fromkeys(
            ("spec", "template", "devices"),
            "write it into a ResourceClaimTemplate, and name that in resourceClaimTemplateName",
        ),
    }

    name = Text("The name by which containers refer to the claim; a DNS label.", written=True)
    source = Nested(ClaimSource, until=30)
    resourceClaimName = Text("A ResourceClaim.", format=formats.dns_subdomain, pointer=True, since=31)
    resourceClaimTemplateName = Text(
        "A ResourceClaimTemplate, from which the pod gets a claim of its own.",
        format=formats.dns_subdomain,
        pointer=True,
        since=31,
    )


@exactly_one(ClaimSource, *SOURCES, until=30)
@exactly_one(PodResourceClaim, *SOURCES, since=31)
def one_source(claim: View, given: Sequence[str]) -> Iterator[Problem]:
    """A claim comes either from an object or from a template."""
    if given:
        detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
    else:
        detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
    # The API server's internal types have no names for JSON.
    names = ("name", *SOURCES) if claim.release >= AS_JSON_SINCE else ()
    in_go = {f"{name[:1].upper()}{name[1:]}": getattr(claim, name) for name in names}
    yield invalid(claim.path, in_go or claim.submitted, detail)


# Groups of pods


class WorkloadReference(V1Struct):
    """The workload that the pod is scheduled with."""

    name = Text("The Workload.", format=formats.dns_subdomain, always=True)
    podGroup = Text("The group in the workload.", format=formats.dns_label, always=True)
    podGroupReplicaKey = Text("The replica of the group.", format=formats.dns_label)


class PodSchedulingGroup(V1Struct):
    """The pods that are scheduled together with this one."""

    podGroupName = Text("The PodGroup.", format=formats.dns_subdomain, pointer=True)


@check(PodSchedulingGroup)
def one_group(group: View) -> Iterator[Problem]:
    """A scheduling group names a PodGroup."""
    if "podGroupName" not in group:
        yield invalid(group / "podGroupName", None, "must specify one of: `podGroupName`")


# The whole

TEMPLATES_INSTEAD: Final = {
    "resourceClaimTemplates": "write each as an object of kind ResourceClaimTemplate, and name it in the pod's"
    " resourceClaims[].resourceClaimTemplateName"
}
"""The advice for claims that are written like the volume claims of StatefulSets."""
_DEADLINES: Final = f"must be between 1 and {2**31 - 1}, inclusive"


class PodSpec(V1Struct):
    """The containers of a pod, and their requirements."""

    instead: ClassVar = {
        **TEMPLATES_INSTEAD,
        "claims": "claims of the pod stand in resourceClaims, those that a container uses in its resources.claims",
    }
    opaque: ClassVar = Others("PodSpec")

    containers = Array(Nested(Container), "The containers.", required=True, list_map_keys=["name"], written=True)
    initContainers = Array(
        Nested(Container), "The init containers, which run before the containers, and sidecars.", list_map_keys=["name"]
    )
    ephemeralContainers = Array(
        Nested(EphemeralContainer), "Containers that were added to the running pod.", list_map_keys=["name"]
    )
    resourceClaims = Array(
        Nested(PodResourceClaim), "The claims that must be allocated before the pod can start.", list_map_keys=["name"]
    )
    resources = Nested(
        ResourceRequirements, "The resources of the pod as a whole.", pointer=True, since=32, gate="PodLevelResources"
    )
    workloadRef = Nested(WorkloadReference, pointer=True, since=35, until=35, gate="GenericWorkload")
    schedulingGroup = Nested(PodSchedulingGroup, pointer=True, since=36, gate="GenericWorkload")
    evictionResponders = Anything("The responders to requests to evict the pod.", since=37, gate="EvictionRequestAPI")
    schedulingGates = Array(
        Nested(PodSchedulingGate),
        "The gates that must be removed before the pod is scheduled.",
        unique="name",
        at_item=True,
        list_map_keys=["name"],
    )
    schedulerName = Text("The scheduler of the pod.", default="default-scheduler")
    nodeName = Text("The node that the pod is scheduled to.", format=formats.dns_subdomain)
    nodeSelector = Map(Text(), "The labels that a node must have.", is_atomic=True)
    affinity = Nested(Affinity, pointer=True, rechecked={33: requires_other_values})
    tolerations = Array(Nested(Toleration), "The taints that the pod tolerates.", rechecked={COMPARING_SINCE: compare})
    priorityClassName = Text("The PriorityClass of the pod.", format=formats.dns_subdomain)
    priority = Int("The priority of the pod.", go="int32", pointer=True)
    preemptionPolicy = Text(
        "Whether the pod preempts pods of lower priority.",
        go="PreemptionPolicy",
        pointer=True,
        required_if_given=True,
        one_of=("PreemptLowerPriority", "Never"),
    )
    runtimeClassName = Text("The RuntimeClass of the pod.", format=formats.dns_subdomain, pointer=True)
    serviceAccountName = Text("The service account of the pod.", format=formats.dns_subdomain)
    serviceAccount = Text("The former name of serviceAccountName.")
    automountServiceAccountToken = Bool("Whether a token of the service account is mounted.", pointer=True)
    restartPolicy = Text(
        "When containers of the pod are restarted.",
        go="RestartPolicy",
        default="Always",
        one_of=("Always", "OnFailure", "Never"),
    )
    activeDeadlineSeconds = Int(
        "Seconds for which the pod may run.", pointer=True, minimum=(1, _DEADLINES), maximum=(2**31 - 1, _DEADLINES)
    )
    terminationGracePeriodSeconds = Int("Seconds that the pod may take to terminate.", pointer=True, default=30)
    dnsPolicy = Text(
        "The DNS policy for the pod.",
        go="DNSPolicy",
        default="ClusterFirst",
        one_of=("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
    )
    hostname = Text("The pod's host name.", format=formats.dns_label)
    hostnameOverride = Text(
        "The pod's host name, in place of all other names.",
        pointer=True,
        max_bytes=64,
        format=formats.dns_subdomain,
        since=34,
        gate="HostnameOverride",
    )
    subdomain = Text("The domain of the host name.", format=formats.dns_label)
    setHostnameAsFQDN = Bool("Whether the host name is fully qualified.", pointer=True)
    enableServiceLinks = Bool("Whether containers have environment variables for services.", pointer=True)
    hostNetwork = Bool("Whether the pod uses the node's network.")
    hostPID = Bool("Whether the pod uses the node's PID namespace.")
    hostIPC = Bool("Whether the pod uses the node's IPC namespace.")
    hostUsers = Bool("Whether the pod uses the node's user namespace.", pointer=True)
    shareProcessNamespace = Bool("Whether containers share one process namespace.", pointer=True)


def containers_of(spec: View, *kinds: str) -> list[tuple[str, int, dict[str, Any]]]:
    """List the containers of a pod as submitted, each with the field that lists it, and its index there.

    Args:
        kinds: The fields; none for all.
    """
    content = spec.content
    return [
        (kind, index, container or {})
        for kind in kinds or CONTAINER_LISTS
        for index, container in enumerate(content.get(kind) or ())
    ]


@check(PodSpec)
def container_names(spec: View) -> Iterator[Problem]:
    """No two containers of a pod share a name."""
    seen: set[str] = set()
    for kind, index, container in containers_of(spec):
        name = container.get("name") or ""
        if name in seen:
            yield duplicate(spec / kind / index / "name", name)
        elif name or kind == "containers":  # two without a name are duplicates too, upstream only here
            seen.add(name)


@check(PodSpec, given=["resourceClaims"], before=IN_PLACE)
def claim_names(spec: View) -> Iterator[Problem]:
    """Every claim of a pod has a unique name."""
    seen = set()
    for index, claim in enumerate(spec.contents("resourceClaims")):
        name = claim.get("name")
        if not name:
            yield required(spec / "resourceClaims" / index / "name")
        elif name in seen:
            yield duplicate(spec / "resourceClaims" / index / "name", name)
        else:
            seen.add(name)
            for detail in formats.dns_label(name, spec.release):
                yield invalid(spec / "resourceClaims" / index / "name", name, detail)


@check(PodSpec)
def container_claims(spec: View) -> Iterator[Problem]:
    """A container uses claims of its pod, and names each claim, or each request of it, once."""
    names = {name for claim in spec.contents("resourceClaims") if (name := claim.get("name"))}
    # Each finding may name all claims of the pod.
    left, before = max(1, spec.target.enough * _MANY // max(_MANY, len(names))), None
    for kind, index, container in containers_of(spec):
        claims = (container.get("resources") or {}).get("claims")
        if not claims or claims == before:  # as those of another container, which are fine
            continue
        if misused := _misused(claims, names, spec.release, left):
            left -= len(misused)
            steps = (kind, index, "resources", "claims")
            yield from (problem.below(steps, steps) for problem in misused)
        else:
            before = claims
        if left <= 0:
            return


@check(PodSpec, given=["nodeSelector"])
def node_labels(spec: View) -> Iterator[Problem]:
    """A pod selects nodes by labels: keys are qualified names, values are short names."""
    yield from wrong_labels(spec.nodeSelector, spec / "nodeSelector", spec.release)


@check(PodSpec, given=["dnsPolicy"])
def nameserver_for_none(spec: View) -> Iterator[Problem]:
    """The DNS policy None needs a nameserver in `dnsConfig`."""
    if spec.dnsPolicy != "None":
        return
    config, path = spec.content.get("dnsConfig"), spec / "dnsConfig"
    if config is None:
        yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
    elif not config.get("nameservers"):
        yield required(path / "nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")


@check(PodSpec, since=34, given=["hostnameOverride"])
def host_name_once(spec: View) -> Iterator[Problem]:
    """A pod with its own host name neither has its full domain name as host name, nor the node's network."""
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if "hostnameOverride" in spec and spec.content.get(field):
            yield forbidden(spec / "hostnameOverride", f"may not be specified when {field} is true")


@check(PodSpec, since=32, given=["resources"])
def claims_of_pod_level(spec: View) -> Iterator[Problem]:
    """Claims are used by containers; a pod as a whole cannot use them."""
    if ((spec.submitted or {}).get("resources") or {}).get("claims"):
        may_not = "cannot" if spec.release < _MAY_NOT else "may not"
        yield forbidden(spec / "resources" / "claims", f"claims {may_not} be set for Resources at pod-level")


_MAY_NOT = 34
_MANY = 100
"""The number of a pod's claims above which fewer findings are reported."""


def _misused(claims: Iterable[dict[str, Any] | None], names: set[str], release: Release, enough: int) -> list[Problem]:
    """Find the errors in a container's claims, up to a limit (validateResourceClaimNames)."""
    found: list[Problem] = []
    used: dict[str, set[str]] = {}
    """The requests of each claim so far; an empty one stands for the whole claim."""
    known = ""
    for index, each in enumerate(claims):
        if len(found) >= enough:
            break
        claim = each or {}
        name, request = claim.get("name"), (claim.get("request") if release >= REQUESTS_SINCE else None) or ""
        if not name:
            found.append(required(Path((index,))))
            continue
        requests = used.setdefault(name, set())
        if "" in requests:
            found.append(duplicate(Path((index,)), name))
        elif request:
            found += malformed(Path((index, "request")), request, formats.dns_label(request, release))
            if request in requests:
                found.append(duplicate(Path((index,)), f"{name}/{request}"))
            requests.add(request)
        else:
            found += [duplicate(Path((index,)), name)] * len(requests)  # once for each of its requests
            requests.add("")
        if name not in names:
            known = known or (f": {', '.join(sorted(names))}" if names else " which is empty")
            found.append(not_found(Path((index,)), name, f"must be one of the names in pod.spec.resourceClaims{known}"))
    return found
