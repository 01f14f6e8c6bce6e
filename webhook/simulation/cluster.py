"""The state of a simulated cluster: nodes, pods, claims, allocated devices; and why nodes refuse a pod.

A `Round` checks nodes for a pod. `Verdicts` keep what it finds for all pods with the same demands, such as the replicas
of a workload: after each pod, only nodes whose pods or devices have changed are checked again. The checks, their order
and their texts are those of the scheduler's default plugins (``framework/plugins``: nodeunschedulable, nodename,
tainttoleration, nodeaffinity, nodeports, noderesources).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple, Self

from webhook.allocation import Allocator, Answer, Attempt, Features
from webhook.allocation.devices import Catalog, Taint, Tolerations, blocking, quantity_text, taint_of
from webhook.allocation.features import tainting
from webhook.allocation.selecting import NO_FAULT, Fault
from webhook.api import gates
from webhook.api.dra.resourceclaim import ADMIN_SINCE, admin_label, admin_label_meant, admin_refusal
from webhook.api.versions import DEFAULT, patch_of, release_of
from webhook.budget import check_deadline
from webhook.deviceselectors.fleet import absent_nodes, shortened
from webhook.inventory import Inventory
from webhook.inventory.affinity import NodesByLabel, nodes_named, required, wants
from webhook.inventory.claims import (
    MADE,
    Blocked,
    Consumer,
    Use,
    allocation_of,
    claims_of,
    device_of,
    pods_using,
    requests_of,
    results_of,
    uid_of,
)
from webhook.inventory.quotas import Quotas
from webhook.inventory.resources import CPU, NATIVE, PODS, ExtendedResources, amounts, requests
from webhook.later import cached_property
from webhook.objects import JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.records import Told
from webhook.release import Release
from webhook.simulation.binding import is_unavailable, newest, refusal, serves, written
from webhook.simulation.nodeallocatable import NodeAllocatable, Taken, total
from webhook.spelling import either, some_of

# -- the taints of nodes

UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint of nodes that take no new pods."""


_REMOVERS: Final = {
    **dict.fromkeys(("karpenter.sh/disrupted", "karpenter.sh/disruption"), "Karpenter"),
    "ToBeDeletedByClusterAutoscaler": "cluster-autoscaler",
}
"""The autoscalers that remove nodes with a taint."""
NODE_STATES: Final = {
    "node.kubernetes.io/not-ready": "{is} ready",
    "node.kubernetes.io/unreachable": "{is} reachable",
    "node.kubernetes.io/unschedulable": "{is} uncordoned",
    "node.kubernetes.io/memory-pressure": "{has} no memory pressure",
    "node.kubernetes.io/disk-pressure": "{has} no disk pressure",
    "node.kubernetes.io/pid-pressure": "{has} no PID pressure",
    "node.kubernetes.io/network-unavailable": "{has} a network",
    "node.kubernetes.io/out-of-service": "{is} in service",
    "node.cloudprovider.kubernetes.io/uninitialized": "{is} initialized",
    "node.cloudprovider.kubernetes.io/shutdown": "{is} started",
    "karpenter.sh/unregistered": "{is} registered by Karpenter",
    **{taint: f"{{is}} kept by {who}" for taint, who in _REMOVERS.items()},
}
"""The taints that reflect a node's state, and the state that the node must reach: pods should not tolerate them."""
_SINGULAR: Final = {"is": "is", "has": "has"}


def untolerated(found: Mapping[frozenset[Taint], int]) -> str:
    """Write which taints are not tolerated.

    Args:
        found: The number of devices that have exactly some taints; those of most devices are named first.
    """
    ordered = sorted(found, key=lambda each: (-found[each], sorted(each)))
    named = some_of([" and ".join(map(str, sorted(each))) for each in ordered], 3)
    noun, verb = ("taints", "are") if any(len(each) > 1 for each in ordered) else ("taint", "is")
    return f"{noun} {either(named)} {verb} not tolerated"


def state_of(key: str) -> str:
    """Describe the state of a node that causes a taint, such as `` (until the node is ready)``; empty for others."""
    state = NODE_STATES.get(key)
    return f" (until the node {state.format(**_SINGULAR)})" if state else ""


def once_recovered(keys: Iterable[str], names: Sequence[str]) -> str:
    """Write that nodes must reach the states that taints stand for, such as ``once n1 is ready``."""
    verbs = _SINGULAR if len(names) == 1 else {"is": "are", "has": "have"}
    return f"once {shortened(names)} {' and '.join(NODE_STATES[key].format(**verbs) for key in keys)}"


# -- why a node refuses a pod


class Message(Told):
    """The scheduler's message why nodes refuse a pod, and the same as a sentence about them.

    Args:
        verb: The verb of the sentence, which ends with `what`.
        singular: The message about a single node, if it is another one.
    """

    verb: str = ""
    what: str = ""
    singular: str = ""

    @classmethod
    def of_nodes(cls, verb: str, what: str, singular: str = "") -> Self:
        """Return a message that is such a sentence itself."""
        return cls(f"node(s) {verb} {what}", verb=verb, what=what, singular=singular)

    def about(self, nodes: str, count: int) -> str:
        """Return the sentence."""
        return f"{nodes} {(count == 1 and self.singular) or self.verb} {self.what}"


UNNAMED: Final = Message.of_nodes("didn't", "satisfy plugin(s) [NodeAffinity]")
"""The reason of nodes that are not checked, because the node affinity names others."""
TOO_MANY: Final = "Too many pods"
CORDON, TAINTS, AFFINITY, PORTS, RESOURCES = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
)
"""The scheduler's plugins that look at nodes before devices."""


class NodeVerdict(NamedTuple):
    """The verdict of a node on a pod.

    Args:
        reasons: The scheduler's messages why it refuses the pod, several if several resources are missing; none if it
            accepts the pod.
        plugin: The plugin of the scheduler that refuses the pod; empty if it is that for devices.
        resolvable: Whether the scheduler would try preemption.
        missing: The resources of which the node has too little.
        error: The error that makes the scheduler give up on the pod on all nodes; empty without one.
        score: How well the devices suit the pod.
        unavailable: The claims that have devices elsewhere, by index.
        by_devices: Whether the allocation of devices failed.
        uncertain: Why the scheduler could also decide otherwise; empty if it could not.
        taken: The amounts that its devices would take of the node, by request, if the node has too little for them.
    """

    reasons: tuple[str, ...] = ()
    plugin: str = ""
    resolvable: bool = False
    missing: tuple[str, ...] = ()
    error: Fault = NO_FAULT
    score: int = 0
    unavailable: tuple[int, ...] = ()
    by_devices: bool = False
    uncertain: str = ""
    taken: Mapping[tuple[str, str], Mapping[str, int]] = {}


@lru_cache(maxsize=256)
def lack_of(resource: str) -> Message:
    """Return the reason of a node that has too little of a resource."""
    return Message(f"Insufficient {resource}", verb="have", what=f"too little {resource}", singular="has")


_CORDONED: Final = NodeVerdict((Message.of_nodes("were", "unschedulable", "was"),), CORDON)
_UNSELECTED: Final = NodeVerdict((Message.of_nodes("didn't", "match Pod's node affinity/selector"),), AFFINITY)
_TAINTED: Final = NodeVerdict((Message.of_nodes("had", "untolerated taint(s)"),), TAINTS)
_UNALLOCATABLE: Final = "cannot allocate all claims"
_WITHOUT_DEVICES: Final = NodeVerdict((_UNALLOCATABLE,), by_devices=True)
_FITTING: Final = NodeVerdict()
_PORTS_TAKEN: Final = NodeVerdict(
    (Message.of_nodes("didn't", "have free ports for the requested pod ports"),), PORTS, resolvable=True
)


# -- nodes, and what pods demand of them

Port = tuple[str, str, int]
"""An address, a protocol and a number."""
_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - what no address stands for
_TAINTS_COUNTED_SINCE: Final = 34
"""The release from which a node's taints are not named in the condition."""


class Demand(NamedTuple):
    """The demands of a pod on a node, read once for all nodes."""

    spec: JSONObject
    requests: Mapping[str, int]
    ports: frozenset[Port]
    tolerations: Tolerations

    @classmethod
    def of(cls, pod: JSONObject) -> Demand:
        """Read the demands of a pod."""
        spec: JSONObject = pod.get("spec") or {}
        sidecars = (each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always")
        ports = frozenset(
            (port.get("hostIP") or _EVERYWHERE, port.get("protocol") or "TCP", wanted)
            for container in (*(spec.get("containers") or ()), *sidecars)
            for port in container.get("ports") or ()
            if (wanted := port.get("hostPort"))
        )
        return cls(spec, requests(pod), ports, Tolerations(spec.get("tolerations") or ()))

    def with_more(self, taken: Mapping[str, int]) -> Demand:
        """Add the amounts that devices take of a node's other resources."""
        return self._replace(requests=Counter(self.requests) + Counter(taken))


class NodeState:
    """A node, with the resources that its pods use."""

    def __init__(self, node: JSONObject) -> None:
        self.node = node
        self.name: str = node["metadata"]["name"]
        spec, status = node.get("spec") or {}, node.get("status") or {}
        self.allocatable = amounts(status.get("allocatable") or status.get("capacity") or {})
        self.used: Counter[str] = Counter()
        self.pods = 0
        self.ports: frozenset[Port] = frozenset()
        self._taints = blocking(spec.get("taints") or ())
        self._is_unschedulable = spec.get("unschedulable") is True

    def add(self, demand: Demand) -> None:
        """Count a pod as running on the node."""
        self.pods += 1
        self.used.update(demand.requests)
        self.ports |= demand.ports

    def remove(self, demand: Demand) -> None:
        """Count a pod as gone from the node."""
        self.pods -= 1
        self.used.subtract(demand.requests)
        self.ports -= demand.ports

    def left(self, name: str) -> int | None:
        """Return the amount of a resource that no pod uses; None if the node's size is unknown."""
        return self.allocatable.get(name, 0) - self.used[name] if self.allocatable else None

    def is_cordoned(self, tolerations: Tolerations) -> bool:
        """Tell whether the node is unschedulable, and a pod does not tolerate the taint that stands for it."""
        return self._is_unschedulable and not tolerations.cover(UNSCHEDULABLE)

    def untolerated(self, tolerations: Tolerations) -> list[Taint]:
        """Return the taints that a pod does not tolerate, without the one that a cordoned node has as such."""
        taints = (each for each in self._taints if not (self._is_unschedulable and each == UNSCHEDULABLE))
        return [each for each in taints if not tolerations.cover(each)]


def amount_text(name: str, amount: int) -> str:
    """Write an amount of a resource as a quantity.

    Args:
        amount: The amount: cpu in millicores, others in whole units.
    """
    return quantity_text(amount * (10**6 if name == CPU else 10**9))


# -- the release and feature gates of the scheduler

_TAINT_RULES_BROKEN: Final = 36
"""The scheduler of this release expects another version of DeviceTaintRules than it gets, and applies none."""
_TAINT_RULES_FIXED: Final = 3
"""The patch release of 1.36 that applies DeviceTaintRules."""
_FIXED: Final = {35: 6, 36: 3}
"""The patch releases of releases that have none of the bugs that are simulated."""
_TAINT_RULES_NEED: Final = {"DRADeviceTaints": 0, "DRADeviceTaintRules": 35}
"""The feature gates that taint rules need, each from a release on."""
SCORES_FIXED: Final = {35: 6, 36: 2}
"""The patch releases of releases from which the scheduler scores nodes if only some of a pod's claims are allocated."""
_OLDEST: Final = 31
"""The first release whose scheduler allocates the devices of ResourceSlices by CEL selectors."""

EXTENDED: Final = "DRAExtendedResource"
"""The feature gate by which device classes provide extended resources."""
NODE_ALLOCATABLE: Final = "DRANodeAllocatableResources"
"""The feature gate by which devices are part of a node's cpu or memory."""
_KUBELET: Final = re.compile(r"v?1\.([0-9]{1,3})(?:\.([0-9]{1,3}))?(?![0-9])")


def newest_kubelet(nodes: Iterable[JSONObject]) -> tuple[int, ...]:
    """Return the newest release of nodes' kubelets, minor and patch, which that of the control plane is not older than.

    It is the default one if no node tells.
    """
    versions = (text(each, "status", "nodeInfo", "kubeletVersion") for each in nodes)
    found = (tuple(int(part or 0) for part in match.groups()) for match in map(_KUBELET.match, versions) if match)
    return max(found, default=(DEFAULT, 0))


def release_in(nodes: Iterable[JSONObject]) -> str:
    """Return the release that can be simulated and is nearest to that of nodes.

    The patch release counts: one scheduler differs from the next.
    """
    minor, patch = newest_kubelet(nodes)
    if not _OLDEST <= minor <= DEFAULT:
        return f"1.{min(max(minor, _OLDEST), DEFAULT)}"
    return f"1.{minor}.{patch}" if patch else f"1.{minor}"


def _inferred(inventory: Inventory, release: Release) -> Iterator[str]:
    """Yield the gates for which there are objects or fields, in a release that knows them."""
    slices = [each["spec"] for each in inventory.all("ResourceSlice")]
    specs = [mapping(each, "spec") for kind in ("DeviceClass", "PodGroup") for each in inventory.all(kind)]
    devices = [each for spec in slices for each in spec.get("devices") or ()]
    requests = [each for claim in inventory.all("ResourceClaim") for each in requests_of(claim)]
    stating = (*slices, *specs, *devices, *(each.content for each in requests))
    stated = {field for each in stating for field, value in each.items() if value}
    has_rules, has_groups = inventory.knows("DeviceTaintRule"), inventory.knows("PodGroup")
    found = {
        "DRADeviceTaintRules": has_rules,
        "DRADeviceTaints": has_rules or "taints" in stated,
        "GenericWorkload": has_groups,
        "GangScheduling": has_groups,
        "DRAPartitionableDevices": "sharedCounters" in stated,
        "DRAConsumableCapacity": "allowMultipleAllocations" in stated,
        "DRADeviceBindingConditions": "bindingConditions" in stated,
        "DRAExtendedResource": "extendedResourceName" in stated,
        "DRAPrioritizedList": any("/" in each.name for each in requests),
        "DRAAdminAccess": "adminAccess" in stated,
        "DRAWorkloadResourceClaims": "resourceClaims" in stated,
    }
    return (gate for gate, is_on in found.items() if is_on and gates.known(gate, release))


class Settings(NamedTuple):
    """The release and feature gates of the simulated scheduler.

    Args:
        stated: The gates that were stated, on or off, and hold for other releases, too.
    """

    release: Release
    gates: frozenset[str]
    patch: int = 0
    stated: tuple[tuple[str, bool], ...] = ()

    @classmethod
    def of(cls, kubernetes: str | None = None, feature_gates: Mapping[str, bool] | None = None) -> Settings:
        """Read a release and the gates that differ from its defaults.

        Raises:
            ValueError: The release or a gate is unknown.
        """
        kubernetes = kubernetes or f"1.{DEFAULT}"
        release = release_of(kubernetes)
        if release < _OLDEST:
            raise ValueError(f"the scheduler of Kubernetes 1.{release} is not simulated: give 1.{_OLDEST} or later")
        stated = tuple((feature_gates or {}).items())
        return cls(release, gates.enabled(release, feature_gates), patch_of(kubernetes), stated)

    @classmethod
    def of_cluster(
        cls, inventory: Inventory, kubernetes: str | None = None, feature_gates: Mapping[str, bool] | None = None
    ) -> Settings:
        """Read a release, by default that of a cluster's nodes, and the gates that differ from its defaults.

        Gates are on, too, of which the cluster has objects or fields that the API server keeps for them only.

        Raises:
            ValueError: The release or a gate is unknown.
        """
        release = kubernetes or release_in(inventory.all("Node"))
        inferred = dict.fromkeys(_inferred(inventory, release_of(release)), True)
        return cls.of(release, inferred | dict(feature_gates or {}))

    def __str__(self) -> str:
        """Return the version, such as ``1.36`` or ``1.36.3``."""
        return f"1.{self.release}.{self.patch}" if self.patch else f"1.{self.release}"

    @property
    def later(self) -> Iterator[Settings]:
        """The fixed patch release if there is one, and the next published release, both with the stated gates."""
        if self.patch < (fixed := _FIXED.get(self.release, 0)):
            yield self._replace(patch=fixed)
        if self.release < DEFAULT:
            newer = Release(self.release + 1)
            yield Settings.of(f"1.{newer}", gates.settable(dict(self.stated), newer))

    @property
    def taint_rules_ignored(self) -> str:
        """The reason why the scheduler does not apply DeviceTaintRules; empty if it does."""
        what = f"the scheduler of Kubernetes {self} does not apply DeviceTaintRules"
        if self.release == _TAINT_RULES_BROKEN and self.patch < _TAINT_RULES_FIXED:
            gate = "even with the feature gate DRADeviceTaintRules"
            return f"{what}, {gate}: by a bug before 1.36.{_TAINT_RULES_FIXED}, it expects another version than it gets"
        needed = {gate for gate, since in _TAINT_RULES_NEED.items() if self.release >= since}
        missing = " and ".join(sorted(needed - self.gates))
        return f"{what} without the feature gate {missing}" if missing else ""


# -- the cluster

_SHAPES_MAX: Final = 64
"""The number of shapes of pods of which the verdicts are remembered."""
EVERYWHERE: Final = -1
"""Stands for all nodes in the log of changes."""


class Cluster:
    """A cluster that pods are scheduled into; each scheduled pod changes it.

    Args:
        inventory: The objects. Scheduling adds and replaces claims; it changes no object in place.
    """

    def __init__(self, inventory: Inventory, settings: Settings) -> None:
        self.inventory = inventory
        self.quotas = Quotas(inventory, settings.release, settings.gates)
        self.refused: dict[str, str] = {}
        """Why the API server refuses claims, by full name."""
        self.nodes = [NodeState(each) for each in inventory.all("Node")]
        self.names = [node.name for node in self.nodes]
        self.index = {node.name: index for index, node in enumerate(self.nodes)}
        self.progress: Callable[[int], None] = lambda _: None
        """Takes the number of nodes that are about to be checked."""
        self.log: list[int] = []
        """The nodes that changed, one after another."""
        self.variants: dict[str, Cluster] = {}
        """Clusters that :meth:`variant` has made, by name: they use the devices that this one does."""
        self._sources: tuple[list[JSONObject], list[JSONObject]] | None = None
        self._configure(settings, {})
        homes = {
            pool: {self.index.get(each.node_name or "", EVERYWHERE) for each in slices}
            for pool, slices in self._catalog.by_pool.items()
        }
        self._homes = {pool: nodes.pop() if len(nodes) == 1 else EVERYWHERE for pool, nodes in homes.items()}
        """The node of each pool; a pool that several nodes may see belongs to all of them."""
        self.copies: set[str] = set()
        """The pods that exist only to count how many fit, by full name."""
        self.namespaces_of_pods: set[str] = set()
        """The namespaces in which pods run, so that others which are not known are gone."""
        self._placed: dict[str, tuple[int, Demand]] = {}
        """The nodes and demands of the pods on nodes, by full name."""
        for pod in inventory.running():
            self.namespaces_of_pods.add(namespace_of(pod))
            if (home := self.index.get(text(pod, "spec", "nodeName"))) is not None:
                demand = Demand.of(pod)
                if self.node_allocatable is not None:
                    uses = claims_of(pod, inventory, settings.gates)
                    if not isinstance(uses, Blocked):
                        taken = self.node_allocatable.taken(pod, [use.claim for use in uses])
                        demand = demand.with_more(total(taken))
                self._add(pod, demand, home)

    def _configure(self, settings: Settings, others: Mapping[str, list[JSONObject]]) -> None:
        """Make all that depends on the settings, and on objects that scheduling does not change."""
        kinds = ("DeviceClass", "ResourceSlice", "DeviceTaintRule")
        classes, slices, rules = (others[kind] if kind in others else self.inventory.all(kind) for kind in kinds)
        self.settings = settings
        features = Features.of(settings.gates, settings.release)
        self.waits = features.DeviceBindingAndStatus
        """Whether the scheduler waits for conditions of devices."""
        self.timestamp = written(self.now) if self.waits else ""
        """The time at which the scheduler allocates, as it writes it; empty if it does not."""
        self.extended = ExtendedResources(classes, settings.release, is_on=EXTENDED in settings.gates)
        if settings.taint_rules_ignored:
            rules = []
        sources = slices, tainting(rules, settings.release)
        self.shapes = Shapes()
        """The verdicts on pods, and on pods with changes that are tried."""
        if sources != self._sources:
            self._sources, self._catalog = sources, Catalog(*sources)
        self.node_allocatable = NodeAllocatable(self._catalog) if NODE_ALLOCATABLE in settings.gates else None
        self.allocator = Allocator(
            classes,
            self._catalog,
            self.inventory.all("ResourceClaim"),
            features=features,
            release=settings.release,
            patch=settings.patch,
            with_lists="DRAListTypeAttributes" in settings.gates,
        )

    def variant(self, settings: Settings, **others: list[JSONObject]) -> Cluster:
        """Return a cluster with the present pods and claims, which shares its nodes with this one.

        Args:
            settings: Its release and gates.
            others: Its classes, slices or DeviceTaintRules by kind, in place of those of this one.

        Raises:
            ValueError: No allocator of the release supports the feature gates.
        """
        made = copy(self)
        made._configure(settings, others)  # noqa: SLF001 - of the same class
        return made

    @cached_property
    def now(self) -> datetime:
        """The newest time in the objects, at which they were collected; they tell no other."""
        return newest(self.inventory)

    @cached_property
    def of_unknown_size(self) -> str:
        """A note about the nodes that state no resources at all; empty if there are none."""
        names = sorted(node.name for node in self.nodes if not node.allocatable)
        if not names:
            return ""
        states = "states" if len(names) == 1 else "state"
        return f"{shortened(names)} {states} no status.allocatable: cpu, memory and pods count as unlimited"

    @cached_property
    def of_other_nodes(self) -> str:
        """A note about the slices of nodes that are not known, or are not there; empty if there are none."""
        slices, nodes = self.inventory.all("ResourceSlice"), NodesByLabel([each.node for each in self.nodes])
        absent = sorted({text(each, "spec", "nodeName") for each in slices} - {""} - self.index.keys())
        selectors = filter(None, (mapping(each, "spec", "nodeSelector") for each in slices))
        missed = next((required(each) for each in selectors if not nodes.any_selected(each)), "")
        notes = [absent_nodes(absent)] if absent else []
        notes += [f"slices select {missed}, which no node meets"] if missed else []
        return "; ".join(notes)

    def rules_of(self, taints: Container[Taint]) -> list[JSONObject]:
        """Return the DeviceTaintRules that set one of some taints."""
        rules = tainting(self.inventory.all("DeviceTaintRule"), self.settings.release)
        return [each for each in rules if taint_of(mapping(each, "spec", "taint")) in taints]

    # -- pods

    def bind(self, pod: JSONObject, demand: Demand, node: int) -> None:
        """Let a node run a pod."""
        self._add(pod, demand, node)
        self.log.append(node)

    def _add(self, pod: JSONObject, demand: Demand, node: int) -> None:
        self._placed[full_name_of(pod)] = node, demand
        self.nodes[node].add(demand)

    def unbind(self, pod: JSONObject) -> None:
        """Let a node no longer run a pod that was bound to it."""
        node, demand = self._placed.pop(full_name_of(pod))
        self.nodes[node].remove(demand)
        self.log.append(node)

    def users(self, node: int, resources: Iterable[str]) -> Iterator[str]:
        """Describe the use of resources of a node: the pod that uses most of each, and the number of others."""
        demands = {key: demand.requests for key, (home, demand) in self._placed.items() if home == node}
        for name in resources:
            if using := sorted((key for key in demands if demands[key].get(name)), key=lambda key: -demands[key][name]):
                amount = amount_text(name, demands[using[0]][name])
                others = f"{len(using) - 1} more pod{'s use' if using[2:] else ' uses'} some"
                more = f", {others}" if using[1:] else ""
                yield f"pod {using[0]} uses {name} {amount}{more}"

    def nodes_of(self, claim: JSONObject) -> set[str]:
        """Return the nodes of the pods that a claim is reserved for, by name."""
        return {self.names[self._placed[key][0]] for key in self._consumers(claim)}

    def _consumers(self, claim: JSONObject) -> set[str]:
        namespace = namespace_of(claim)
        return {f"{namespace}/{each}" for each in pods_using(claim)} & self._placed.keys()

    # -- claims

    def create(self, claims: Iterable[JSONObject]) -> None:
        """Create claims as the API server does: count them in quotas, and leave out those that a quota refuses."""
        for claim in claims:
            if why := self.quotas.admit(claim):
                self.delete(claim)
                self.refused[full_name_of(claim)] = why

    def refusal(self, claim: JSONObject) -> str:
        """Explain why the API server rejects a claim made from a template, and count it in quotas if it is accepted.

        Objects in a cluster were accepted once, but the label that admin access requires is checked again; a namespace
        that is not known counts as labelled.
        """
        if not claim["metadata"]["name"].endswith(MADE):
            return ""
        index = self._admin_request(claim)
        namespace = None if index is None else self.inventory.find("Namespace", namespace_of(claim))
        labels, release = mapping(namespace, "metadata", "labels"), self.settings.release
        if namespace is None or labels.get(admin_label(release)) == "true":
            return self.quotas.admit(claim)
        meant = admin_label_meant(labels, release)
        more = f" (it has {meant})" if meant else ""
        return f"spec.devices.requests[{index}].adminAccess: Forbidden: {admin_refusal(release)}{more}"

    def assumed(self, claim: JSONObject) -> str:
        """Say that a claim counts as accepted because the labels of its namespace are unknown; empty for others."""
        if self._admin_request(claim) is None or self.inventory.find("Namespace", namespace := namespace_of(claim)):
            return ""
        label = f"{admin_label(self.settings.release)}: true"
        return f"Namespace {namespace} is not known: it counts as labelled {label}, which admin access needs"

    def _admin_request(self, claim: JSONObject) -> int | None:
        """Return the place of a request for admin access in a claim made from a template, if its label matters."""
        has_label = self.settings.release >= ADMIN_SINCE and "DRAAdminAccess" in self.settings.gates
        is_made = has_label and claim["metadata"]["name"].endswith(MADE)
        requests = items(claim, "spec", "devices", "requests") if is_made else ()
        places = (place for place, each in enumerate(requests) if (each.get("exactly") or {}).get("adminAccess"))
        return next(places, None)

    def claim(self, full_name: str) -> JSONObject | None:
        """Return a claim, as namespace/name, in its current state."""
        namespace, _, name = full_name.partition("/")
        return self.inventory.find("ResourceClaim", name, namespace)

    def allocate(self, claim: JSONObject, allocation: JSONObject) -> JSONObject:
        """Give a claim an allocation; return the updated claim."""
        if self.timestamp:
            allocation = {**allocation, "allocationTimestamp": self.timestamp}
        return self.put_status(claim, {**claim.get("status", {}), "allocation": allocation})

    def reserve(self, claim: JSONObject, consumer: Consumer) -> JSONObject:
        """Reserve a claim for a consumer; return the updated claim."""
        status = claim.get("status", {})
        reserved = [*status.get("reservedFor", ()), consumer.reference()]
        return self.put_status(claim, {**status, "reservedFor": reserved})

    def deallocate(self, claim: JSONObject) -> JSONObject:
        """Deallocate a claim; return the updated claim."""
        kept = {k: v for k, v in claim.get("status", {}).items() if k not in {"allocation", "reservedFor", "devices"}}
        return self.put_status(claim, kept)

    def delete(self, claim: JSONObject) -> None:
        """Delete a claim."""
        self.quotas.release(claim)
        current = self.inventory.discard("ResourceClaim", name_of(claim), namespace_of(claim))
        if current is not None and allocation_of(current):
            self._count(current, is_used=False)

    @contextmanager
    def without(self, claim: JSONObject) -> Iterator[None]:
        """Pretend for a while that a claim has no devices, and that the pods which use it are gone."""
        gone = {key: self._placed.pop(key) for key in self._consumers(claim)}
        self._count(claim, is_used=False)
        for node, demand in gone.values():
            self.nodes[node].remove(demand)
            self.log.append(node)
        try:
            yield
        finally:
            for node, demand in gone.values():
                self.nodes[node].add(demand)
                self.log.append(node)
            self._count(claim, is_used=True)
            self._placed |= gone

    def put_status(self, claim: JSONObject, status: JSONObject) -> JSONObject:
        """Give a claim a status; return the updated claim."""
        changed = {**claim, "status": status}
        before, after = allocation_of(claim), allocation_of(changed)
        if before and not after:
            self._count(claim, is_used=False)
        self.inventory.put(changed)
        if after and not before:
            self._count(changed, is_used=True)
        return changed

    def _count(self, claim: JSONObject, *, is_used: bool) -> None:
        """Count a claim's devices as in use, or as free again."""
        for each in (self, *self.variants.values()):
            (each.allocator.usage.add if is_used else each.allocator.usage.remove)(claim)
        self.log += [self._homes.get(device_of(each)[:2], EVERYWHERE) for each in results_of(claim)]


# -- the needs of a pod, and the verdicts of nodes on it

UNAVAILABLE: Final = "resourceclaim not available on the node"
"""The scheduler's reason for a claim with devices on another node, or with devices that failed."""
_SCORES_SINCE: Final = 35
"""From this release on, earlier alternatives of ``firstAvailable`` are preferred among nodes."""
_OF_CONTAINER: Final = ("resources", "ports", "restartPolicy")
_ALTERNATIVES_MAX = 8
"""A request's first alternative scores as much, the next one less (FirstAvailableDeviceRequestMaxSize)."""


class Needs(NamedTuple):
    """The needs of a pod.

    Args:
        demand: Its demands on a node, devices aside.
        uses: Its claims, including allocated ones, in order.
        leftover: The claim for extended resources that an earlier attempt left; None if there is none.
    """

    pod: JSONObject
    demand: Demand
    uses: tuple[Use, ...]
    leftover: JSONObject | None = None

    @property
    def claims(self) -> tuple[JSONObject, ...]:
        """Its claims, without those that they are reserved for."""
        return tuple([use.claim for use in self.uses])

    @property
    def shape(self) -> str:
        """The parts that decide which nodes accept the pod, as JSON."""
        spec, demand, claims = self.pod.get("spec") or {}, self.demand, self.claims
        placed = [
            demand.spec.get("nodeSelector"),
            demand.spec.get("affinity"),
            demand.tolerations.stated,
            list(demand.requests.items()),
        ]
        containers = [
            [{key: each[key] for key in _OF_CONTAINER if each.get(key)} for each in spec.get(name) or ()]
            for name in ("containers", "initContainers")
        ]
        asked = [(each.get("spec"), allocation_of(each) and each["status"]) for each in claims]
        names = {each["metadata"]["name"] for each in claims}
        shape = [placed, containers, asked, len(names), self.leftover is None]
        return json.dumps(shape, sort_keys=True)


class _Asked(NamedTuple):
    """The claims of a pod on nodes where devices must provide the same of its extended resources.

    Args:
        made: The claim that the scheduler makes for these resources; None if there are none.
        claims: The claims that need devices, including that one.
        attempt: The attempt to allocate them; None if there are none.
    """

    made: JSONObject | None
    claims: Sequence[JSONObject]
    attempt: Attempt | None


class Round:
    """One check of nodes for a pod, while the cluster does not change."""

    def __init__(self, cluster: Cluster, needs: Needs) -> None:
        self.cluster, self.needs = cluster, needs
        self._pending: list[JSONObject] = []
        self._asked: dict[frozenset[str], _Asked] = {}
        self._allocated: list[tuple[int, JSONObject]] = []
        """The claims that have devices, each with its place."""
        for index, use in enumerate(needs.uses):
            if allocation_of(use.claim):
                self._allocated.append((index, use.claim))
            else:
                self._pending.append(use.claim)
        self._extended = frozenset(name for name in needs.demand.requests if cluster.extended.provides(name))

    def delegated(self, node: int) -> frozenset[str]:
        """Return the extended resources that devices must provide on a node."""
        if not self._extended:
            return self._extended
        allocatable = self.cluster.nodes[node].allocatable
        return self.cluster.extended.requested(self._extended, allocatable, with_claims=bool(self.needs.uses))

    def on(self, node: int) -> _Asked:
        """Return the claims of the pod that need devices on a node."""
        delegated = self.delegated(node)
        if delegated not in self._asked:
            made, claims = None, self._pending
            # It requests nothing if the node has the resources itself, but the pod has other claims.
            if delegated or (self._extended and self.needs.uses):
                made = self.cluster.extended.claim_for(self.needs.pod, delegated)
                claims = [*self._pending, made]
            attempt = self.cluster.allocator.attempt(claims) if claims else None
            self._asked[delegated] = _Asked(made, claims, attempt)
        return self._asked[delegated]

    def result_on(self, node: int) -> Answer | None:
        """Allocate the pod's devices on a node; None if it needs none."""
        attempt = self.on(node).attempt
        return None if attempt is None else attempt.on(self.cluster.nodes[node].node)

    @property
    def is_reservable(self) -> bool:
        """Whether the API server lets the scheduler reserve the claims that have devices already (PreBind)."""
        release, timestamp = self.cluster.settings.release, self.cluster.timestamp
        uses = (self.needs.uses[index] for index, *_ in self._allocated)
        unreserved = (use for use in uses if not use.consumer.has(use.claim))
        return not any(refusal(use.claim, use.consumer, release, timestamp) for use in unreserved)

    def filter(self, node: int) -> NodeVerdict:
        """Check whether a node accepts the pod."""
        return next(self.refusals(node), None) or self.filter_devices(node)

    def refusals(self, node: int) -> Iterator[NodeVerdict]:
        """Yield why a node refuses the pod, its devices aside; the scheduler stops at the first reason."""
        state, demand = self.cluster.nodes[node], self.needs.demand
        if state.is_cordoned(demand.tolerations):
            yield _CORDONED
        for taint in state.untolerated(demand.tolerations)[:1]:
            named = Message.of_nodes("had", f"untolerated taint {{{taint.key}: {taint.value}}}")
            is_counted = self.cluster.settings.release >= _TAINTS_COUNTED_SINCE
            yield _TAINTED if is_counted else NodeVerdict((named,), TAINTS)
        is_for_all = not (demand.spec.get("nodeSelector") or demand.spec.get("affinity"))
        if not is_for_all and not wants(demand.spec, state.node):
            yield _UNSELECTED
        ports = ((port, other) for port in demand.ports for other in state.ports if port[1:] == other[1:])
        if any(port[0] == other[0] or _EVERYWHERE in {port[0], other[0]} for port, other in ports):
            yield _PORTS_TAKEN
        if state.allocatable:  # a node written by hand is of unknown size
            yield from self._lacks(state)
        if self.needs.leftover is not None:
            yield NodeVerdict(("cannot schedule extended resource claim",))

    def _lacks(self, state: NodeState) -> Iterator[NodeVerdict]:
        missing, resolvable, requests = [], True, self.needs.demand.requests
        for name, wanted in requests.items():
            if name in NATIVE or not self.cluster.extended.is_delegated(name, state.allocatable, requests):
                allocatable = state.allocatable.get(name, 0)
                if wanted > allocatable - state.used[name]:
                    missing.append(name)
                    resolvable = resolvable and wanted <= allocatable
        full = [TOO_MANY] if state.pods + 1 > state.allocatable.get(PODS, 0) else []
        if missing or full:
            yield NodeVerdict((*full, *map(lack_of, missing)), RESOURCES, resolvable, tuple(missing))

    def filter_devices(self, node: int) -> NodeVerdict:
        """Check the devices of a node that accepts the pod otherwise."""
        state = self.cluster.nodes[node]
        unavailable = tuple(
            index
            for index, claim in self._allocated
            if not serves(claim, state.node) or (self.cluster.waits and is_unavailable(claim, self.cluster.now))
        )
        result = self.result_on(node)
        if result is not None and result.timed_out:
            error = result.error or Fault(f"node {state.name}: timed out trying to allocate devices")
            return NodeVerdict((error,), error=error, by_devices=True)
        if result is not None and not result.is_found:
            if result.error is None and not result.depends_on_order:
                return _WITHOUT_DEVICES
            reason: str = result.error or _UNALLOCATABLE
            error = result.error if result.error and result.scope == "abort" else NO_FAULT
            return NodeVerdict((reason,), error=error, by_devices=True, uncertain=_uncertainty(result))
        if unavailable:
            return NodeVerdict((UNAVAILABLE,), unavailable=unavailable)
        if shortage := self._shortage(node, result):
            return shortage
        chosen = result.alternatives if result and self.cluster.settings.release >= _SCORES_SINCE else ()
        score = sum(_ALTERNATIVES_MAX - each for each in chosen)  # computeScore
        uncertain = _uncertainty(result) if result else ""
        return NodeVerdict(score=score, uncertain=uncertain) if score or uncertain else _FITTING

    def taken(self, result: Answer | None) -> Taken:
        """Return the amounts that the pod's devices take of their node's other resources, by request."""
        devices = self.cluster.node_allocatable
        if devices is None:
            return {}
        return devices.taken(self.needs.pod, self.needs.claims, result.allocations if result else ())

    def _shortage(self, node: int, result: Answer | None) -> NodeVerdict | None:
        """Explain why a node lacks the resources that the pod's devices stand for; None if it has them."""
        devices, pod, claims = self.cluster.node_allocatable, self.needs.pod, self.needs.claims
        if devices is None:
            return None
        for claim, results, containers in devices.given(pod, claims, result.allocations if result else ()):
            if error := devices.error(claim, results):
                return NodeVerdict((error,), error=error)
            if reason := devices.unused(claim, results, containers):
                return NodeVerdict((reason,))
        if reason := devices.refusal(claims, uid_of(pod)):
            return NodeVerdict((reason,))
        state, wanted, taken = self.cluster.nodes[node], self.needs.demand.requests, self.taken(result)
        missing = [
            name
            for name, amount in total(taken).items()
            if amount + wanted.get(name, 0) > state.allocatable.get(name, 0) - state.used[name]
        ]
        return NodeVerdict(tuple(map(lack_of, missing)), missing=tuple(missing), taken=taken) if missing else None


def _uncertainty(result: Answer) -> str:
    """Say why the scheduler could also decide otherwise on a node; empty if it could not."""
    if not result.depends_on_order:
        return ""
    mixed_up = result.mixed_up
    if not mixed_up:
        return "the scheduler could also decide otherwise: the answer depends on the order in which it sees slices"
    pool, drivers = next(iter(mixed_up.items()))
    return (
        f"the scheduler may not check counters of {' or '.join(sorted(drivers))}: these drivers have pools of the same "
        f"name, {pool}, and it looks up counters by the pool's name alone"
    )


class Verdicts:
    """The verdicts on pods of one shape: those of all nodes, or of the nodes that the pods' node affinity names.

    Args:
        at_most: The number of nodes to check; None for all.
    """

    def __init__(self, cluster: Cluster, demand: Demand, at_most: int | None = None) -> None:
        names, index = nodes_named(demand.spec), cluster.index
        self.nodes = range(len(cluster.nodes)) if names is None else sorted(index[n] for n in names if n in index)
        self._checked = self.nodes[:at_most]
        self.by_node: dict[int, NodeVerdict] = {}
        self.fitting: dict[int, int] = {}
        """The nodes that accept the pod, with their scores."""
        self.errors: dict[int, Fault] = {}
        self.uncertain: dict[int, str] = {}
        """Why the scheduler could also decide otherwise, by node."""
        self._seen = 0

    def update(self, round_: Round) -> None:
        """Check the nodes that changed since their last check.

        Raises:
            DeadlineExceededError: The deadline of the budget in force has passed.
        """
        log = round_.cluster.log
        changed = set(log[self._seen :])
        is_new = len(self.by_node) < len(self._checked)
        stale = self._checked if is_new or EVERYWHERE in changed else sorted(changed & self.by_node.keys())
        self._seen = len(log)
        round_.cluster.progress(len(stale))
        for place, node in enumerate(stale):
            if place % 16 == 0:
                check_deadline()
            verdict = self.by_node[node] = round_.filter(node)
            for known in (self.fitting, self.errors, self.uncertain):
                known.pop(node, None)
            if verdict.uncertain:
                self.uncertain[node] = verdict.uncertain
            if verdict.error:
                self.errors[node] = verdict.error
            elif not verdict.reasons:
                self.fitting[node] = verdict.score

    def best(self) -> list[int]:
        """Return the nodes that suit the pod best; the scheduler picks one of them at random."""
        highest = max(self.fitting.values(), default=0)
        if not highest:
            return sorted(self.fitting)
        return sorted(node for node, score in self.fitting.items() if score == highest)


class Shapes:
    """The verdicts on pods of the shapes that were asked for last."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int | None], Verdicts] = {}

    def verdicts(self, round_: Round, at_most: int | None = None) -> Verdicts:
        """Return the verdicts on a pod, as the cluster is now.

        Args:
            at_most: The number of nodes to check; None for all.

        Raises:
            DeadlineExceededError: The deadline of the budget in force has passed.
        """
        key = round_.needs.shape, at_most
        found = self._known.pop(key, None) or Verdicts(round_.cluster, round_.needs.demand, at_most)
        found.update(round_)
        self._known[key] = found
        if len(self._known) > _SHAPES_MAX:
            del self._known[next(iter(self._known))]
        return found
