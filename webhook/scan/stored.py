"""A cluster as it is stored: its objects, without what no rule reads, and what several rules derive from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

from webhook.allocation import Features
from webhook.allocation.devices import Catalog, Device, PoolId, Slice
from webhook.allocation.features import Implementation, implementation
from webhook.allocation.usage import Usage
from webhook.api.judgement import judge_admitted
from webhook.findings import Finding, found, identity
from webhook.inventory import CLAIMS, KINDS, Inventory, MalformedError, has_ended
from webhook.inventory.claims import allocation_of, is_pod, source
from webhook.inventory.objects import DRA, free_of_nulls
from webhook.later import cached_property
from webhook.objects import JSONObject, at, items, mapping, name_of, namespace_of, number, text
from webhook.problem import ERROR, Problem
from webhook.records import NamedTuple
from webhook.references.rules import Context
from webhook.simulation import Settings
from webhook.simulation.binding import EPOCH, time_of

if TYPE_CHECKING:
    from webhook.documents import Document
    from webhook.drivers import Profile

WORKLOADS: Final = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job", "CronJob")
"""The kinds that make pods; those that others of them own come last."""
KINDS_READ: Final = (*KINDS, *WORKLOADS)
JUDGED: Final = (*(kind for kind, group in KINDS.items() if group == DRA), "Pod", "ResourceQuota", *WORKLOADS)
"""The kinds that rules are about; others only tell more of these."""

_SMALL: Final = 1 << 23
"""The characters of a text in which lines are found; in a longer one, it takes too long."""
_SHARED: Final = 48
"""The bytes of small values that equal ones share; longer ones, such as a uuid, are seldom equal."""

_ALL: Final = None
_OWNER: Final = {
    "name": _ALL,
    "namespace": _ALL,
    "uid": _ALL,
    "labels": _ALL,
    "ownerReferences": {"kind": _ALL, "name": _ALL, "uid": _ALL, "controller": _ALL},
    "creationTimestamp": _ALL,
    "deletionTimestamp": _ALL,
}
_CONTAINER: Final = dict.fromkeys(("name", "image", "resources", "env", "ports", "restartPolicy"), _ALL)
_POD: Final = {
    "nodeName": _ALL,
    "nodeSelector": _ALL,
    "affinity": {"nodeAffinity": _ALL},
    "tolerations": _ALL,
    "hostNetwork": _ALL,
    "overhead": _ALL,
    "resourceClaims": _ALL,
    "schedulingGates": _ALL,
    "schedulingGroup": _ALL,
    "volumes": {"hostPath": _ALL},
    "initContainers": _CONTAINER,
    "containers": _CONTAINER,
}
_CONDITION: Final = {"type": _ALL, "status": _ALL, "reason": _ALL}
_STATUS: Final = {"name": _ALL, "ready": _ALL, "restartCount": _ALL, "state": _ALL, "allocatedResourcesStatus": _ALL}
_WORKLOAD: Final = {
    "metadata": _OWNER,
    "spec": {
        **dict.fromkeys(("replicas", "suspend", "parallelism"), _ALL),
        "template": {"spec": _POD},
        "jobTemplate": {"spec": {"template": {"spec": _POD}}},
    },
    "status": _ALL,
}
_READ: Final[Mapping[str, Any]] = {
    "Node": {
        "metadata": _OWNER,
        "spec": {"taints": _ALL, "unschedulable": _ALL},
        "status": {
            "allocatable": _ALL,
            "conditions": {**_CONDITION, "lastHeartbeatTime": _ALL},
            "nodeInfo": {"kubeletVersion": _ALL},
        },
    },
    "Pod": {
        "metadata": {name: kept for name, kept in _OWNER.items() if name != "labels"},
        "spec": {name: kept for name, kept in _POD.items() if name not in {"affinity", "volumes", "nodeSelector"}},
        "status": {
            "phase": _ALL,
            "reason": _ALL,
            "conditions": _CONDITION,
            "resourceClaimStatuses": _ALL,
            "extendedResourceClaimStatus": _ALL,
            "containerStatuses": _STATUS,
            "initContainerStatuses": _STATUS,
        },
    },
    **dict.fromkeys(WORKLOADS, _WORKLOAD),
}
"""The fields that rules read of kinds that are many, or large."""


class Result(NamedTuple):
    """A device of a claim's allocation.

    Args:
        content: What the allocation says of it.
    """

    claim: JSONObject
    content: JSONObject

    @property
    def pool(self) -> PoolId:
        """Its pool."""
        return text(self.content, "driver"), text(self.content, "pool")

    @property
    def device(self) -> str:
        """Its name."""
        return text(self.content, "device")

    def __str__(self) -> str:
        """Write driver, pool and name."""
        return "/".join((*self.pool, self.device))


T = TypeVar("T")


def once(derive: Callable[[Cluster], T]) -> Callable[[Cluster], T]:
    """Derive a value once for each cluster."""

    @wraps(derive)
    def known(cluster: Cluster) -> T:
        if derive not in cluster.derived:
            cluster.derived[derive] = derive(cluster)
        found: T = cluster.derived[derive]
        return found

    return known


class Cluster:
    """The objects that a cluster stores.

    Args:
        profiles: The user's profiles of drivers.
        inventory: Objects that are known already.
        settings: The release and gates of the cluster; :meth:`judge` states them, too.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile] | None = None,
        inventory: Inventory | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings, self._profiles = settings or Settings.of(), profiles
        self.inventory = inventory or Inventory()
        self.workloads: dict[str, list[JSONObject]] = {kind: [] for kind in WORKLOADS}
        self.written_as: dict[tuple[str, str, str], set[tuple[str, str]]] = defaultdict(set)
        """The versions in which objects were written, and by whom: by kind, namespace and name."""
        self._unjudged: list[JSONObject] = []
        self._documents: dict[tuple[str, str, str], Document] = {}
        self._file = ""
        self._known: dict[bytes, Any] = {}
        self.derived: dict[Callable[[Cluster], Any], Any] = {}
        """What :func:`once` has derived."""

    def add(self, document: Document) -> None:
        """Add an object.

        Raises:
            MalformedError: It is no object that a cluster stores.
        """
        obj, kind = document.data, document.data.get("kind")
        self._file = self._file or document.source
        if not name_of(obj):
            raise MalformedError(f"{kind} without metadata.name")
        group = text(obj, "apiVersion").rpartition("/")[0]
        if group == DRA:
            self._note_versions(obj)
            has_nulls = not document.is_json or document.mentions("null")  # which takes long to look for in values
            obj = self._shared(free_of_nulls(obj) if has_nulls else obj)
        elif kind in _READ:
            kept = {"apiVersion": obj.get("apiVersion"), "kind": kind, **self._kept(obj, _READ[kind])}
            if kind == "Pod" and not text(obj, "spec", "nodeName"):  # of which the scheduler reads more
                kept |= {"spec": mapping(obj, "spec") | mapping(kept, "spec"), "status": obj.get("status")}
            obj = kept
        if not document.is_json and document.size <= _SMALL:
            self._documents[_key(obj)] = document
        if group == DRA:
            self._unjudged.append(obj)
        elif kind in self.workloads:
            self.workloads[kind].append(obj)
        else:
            self.inventory.hold(obj)

    def judge(self, settings: Settings) -> Iterator[Finding]:
        """Judge the objects of Dynamic Resource Allocation as if they were written again, and add them.

        Args:
            settings: The release and gates of the cluster.

        Yields:
            What the API server would refuse, and objects that cannot be decoded.
        """
        self.settings = settings
        release = f"1.{settings.release}"
        for obj in self._unjudged:
            problems = [each for each in judge_admitted(obj, kubernetes=release) if each.level == ERROR]
            yield from (self.located(each, obj) for each in problems)
            if not problems:
                self.inventory.hold(obj)
                continue
            with suppress(MalformedError):  # as said
                self.inventory.add(obj)
        self._unjudged.clear()

    def _note_versions(self, obj: JSONObject) -> None:
        """Note the versions that an object was written in; forget what else is known of that."""
        metadata = obj["metadata"]
        annotations = metadata.get("annotations")
        applied = annotations.pop(_APPLIED, None) if isinstance(annotations, dict) else None
        writers = {(text(each, "apiVersion"), text(each, "manager")) for each in items(metadata, "managedFields")}
        metadata.pop("managedFields", None)
        if isinstance(applied, str):
            import json  # few objects are applied so

            with suppress(ValueError, RecursionError):
                writers.add((text(json.loads(applied), "apiVersion"), "kubectl apply"))
        if writers:
            self.written_as[_key(obj)] |= writers

    def _kept(self, value: Any, shape: Any) -> Any:
        """Return the parts of a value that rules read; equal small ones are stored once."""
        if shape is None:
            return self._once(value)
        if isinstance(value, dict):
            return {name: self._kept(value[name], below) for name, below in shape.items() if name in value}
        return [self._kept(each, shape) for each in value] if isinstance(value, list) else None

    def _once(self, value: Any, most: int = 1 << 12) -> Any:
        if not isinstance(value, dict | list):
            return value
        import msgspec  # most commands do without

        key = msgspec.json.encode(value)
        return self._known.setdefault(key, value) if len(key) <= most else value

    def _shared(self, obj: JSONObject) -> JSONObject:
        """Let equal parts of claims and devices be stored once."""
        if obj["kind"] in CLAIMS:
            obj["spec"] = self._once(obj.get("spec"))
        for device in items(obj, "spec", "devices") if obj["kind"] == "ResourceSlice" else ():
            for holder in ("attributes", "capacity", "basic"):
                for name, value in mapping(device, holder).items():
                    device[holder][name] = self._once(value, _SHARED)
            if "consumesCounters" in device:
                device["consumesCounters"] = self._once(device["consumesCounters"])
        return obj

    def located(self, problem: Problem, obj: JSONObject) -> Finding:
        """Return a finding about an object, with its line if the text is short."""
        release = f"1.{self.settings.release}"
        if obj and (document := self._documents.get(_key(obj))):
            return found(problem, document, release)._replace(rendered=True)
        return Finding(problem, self._file, 0, 0, "", identity=identity(obj), kubernetes=release, rendered=True)

    @cached_property
    def now(self) -> datetime:
        """The newest time in the objects, about that at which they were read."""
        times = [
            text(each, "lastHeartbeatTime") for node in self.all("Node") for each in items(node, "status", "conditions")
        ]
        times += [text(pod, "metadata", "creationTimestamp") for pod in self.all("Pod")]
        times += [text(claim, "metadata", "creationTimestamp") for claim in self.all("ResourceClaim")]
        return time_of(max(times, default="")) or EPOCH

    def is_older(self, time: str, seconds: int) -> bool:
        """Tell whether a time is that long ago; also if it is not known."""
        then = time_of(time)
        return then is None or self.now - then >= timedelta(seconds=seconds)

    def all(self, kind: str) -> list[JSONObject]:
        """Return the objects of a kind."""
        return self.workloads[kind] if kind in self.workloads else self.inventory.all(kind)

    # -- devices

    @cached_property
    def catalog(self) -> Catalog:
        """The published slices, without the taints of rules."""
        return Catalog(self.inventory.all("ResourceSlice"))

    @cached_property
    def variant(self) -> Implementation:
        """The scheduler's allocator; what the stored slices have shows that its feature gate is on."""
        release, gates = self.settings.release, self.settings.gates
        if self.catalog.with_counters:
            gates |= {"DRAPartitionableDevices"}
        try:
            return implementation(Features.of(gates, release), release)
        except ValueError:  # the release has no such feature
            return implementation(Features.of(self.settings.gates, release), release)

    @cached_property
    def current(self) -> Mapping[PoolId, Sequence[Slice]]:
        """The slices of each pool's newest generation."""
        newest = {pool: max(each.generation for each in slices) for pool, slices in self.catalog.by_pool.items()}
        return {
            pool: [each for each in slices if each.generation == newest[pool]]
            for pool, slices in self.catalog.by_pool.items()
        }

    @cached_property
    def incomplete(self) -> frozenset[PoolId]:
        """The pools that lack slices."""
        return frozenset(pool for pool, slices in self.current.items() if len(slices) < slices[0].count)

    def raw(self, each: Slice) -> JSONObject:
        """Return a slice as an object."""
        return self.inventory.find("ResourceSlice", each.name) or {}

    def find(self, pool: PoolId, name: str) -> Device | None:
        """Return a device of a pool's newest generation; None if it is not published."""
        device = self.catalog.find(pool, name)
        if device is None or device.slice in self.current[pool]:
            return device
        return next((one for each in self.current[pool] for one in each.devices if one.name == name), None)

    def device(self, result: Result) -> Device | None:
        """Return the device of an allocation; None if it is not published."""
        return self.find(result.pool, result.device)

    @cached_property
    def context(self) -> Context:
        """The context of the rules about references."""
        return Context(self.inventory, self.settings.release, self.settings.gates, self._profiles, self.catalog)

    @cached_property
    def slices_on(self) -> Mapping[str, set[str]]:
        """The nodes for which each driver publishes slices; an empty name stands for slices of several nodes."""
        served: dict[str, set[str]] = defaultdict(set)
        for each in self.catalog.slices:
            served[each.driver].add(each.node_name or "")
            if each.is_per_device:
                served[each.driver] |= {text(device.content.others, "nodeName") for device in each.devices}
        return served

    # -- claims

    @cached_property
    def allocated(self) -> Sequence[JSONObject]:
        """The claims that have devices."""
        return [each for each in self.inventory.all("ResourceClaim") if allocation_of(each)]

    @cached_property
    def results(self) -> Sequence[Result]:
        """The devices of all claims, but for those with admin access."""
        return [
            Result(claim, each)
            for claim in self.allocated
            for each in items(claim, "status", "allocation", "devices", "results")
            if not each.get("adminAccess")
        ]

    @cached_property
    def usage(self) -> Usage:
        """The devices in use, as the allocator counts them."""
        usage = Usage(with_shares=True)
        for each in self.allocated:
            with suppress(ValueError):
                usage.add(each)
        return usage

    @cached_property
    def holders(self) -> Mapping[tuple[PoolId, str], Sequence[JSONObject]]:
        """The claims that hold each device, the oldest first."""
        found: dict[tuple[PoolId, str], list[JSONObject]] = defaultdict(list)
        for each in sorted(self.results, key=lambda each: text(each.claim, "metadata", "creationTimestamp")):
            found[each.pool, each.device].append(each.claim)
        return found

    def consumers(self, claim: JSONObject) -> Iterator[tuple[JSONObject, JSONObject | None]]:
        """Yield the pods that a claim is reserved for: the entry, and the pod, None if it is gone."""
        for entry in items(claim, "status", "reservedFor"):
            if is_pod(entry):
                pod = self.inventory.find("Pod", text(entry, "name"), namespace_of(claim))
                yield entry, pod if pod and text(pod, "metadata", "uid") == text(entry, "uid") else None

    def running(self, claim: JSONObject) -> list[JSONObject]:
        """Return the pods that use a claim, and have not ended."""
        return [pod for _, pod in self.consumers(claim) if pod and not has_ended(pod)]

    @cached_property
    def has_all_claims(self) -> bool:
        """Whether claims were collected: pods that run with claims have some."""
        running = (pod for pod in self.inventory.all("Pod") if text(pod, "status", "phase") == "Running")
        return self.inventory.knows("ResourceClaim") or not any(any(claims_named(pod)) for pod in running)

    @cached_property
    def users(self) -> Mapping[tuple[str, str], Sequence[JSONObject]]:
        """The pods whose specification or status names a claim, and that have not ended, by namespace and claim."""
        found: dict[tuple[str, str], list[JSONObject]] = defaultdict(list)
        for pod in self.inventory.all("Pod"):
            if not has_ended(pod):
                for name in claims_named(pod):
                    found[namespace_of(pod), name].append(pod)
        return found

    @cached_property
    def by_uid(self) -> Mapping[str, JSONObject]:
        """The pods and workloads that may own others."""
        every = (each for kind in ("Pod", *WORKLOADS) for each in self.all(kind))
        return {text(each, "metadata", "uid"): each for each in every}

    def owner(self, obj: JSONObject) -> JSONObject:
        """Return the workload that an object belongs to at the top; itself if none is known."""
        for _ in range(len(WORKLOADS)):
            owners = items(obj, "metadata", "ownerReferences")
            above = next(
                (self.by_uid.get(text(each, "uid")) for each in owners if each.get("controller") is True), None
            )
            if above is None:
                return obj
            obj = above
        return obj


_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def _key(obj: JSONObject) -> tuple[str, str, str]:
    return text(obj, "kind"), text(obj, "metadata", "namespace"), name_of(obj)


def claims_named(pod: JSONObject) -> Iterator[str]:
    """Yield the names of the claims that a pod uses."""
    statuses = {text(each, "name"): each for each in items(pod, "status", "resourceClaimStatuses")}
    for entry in items(pod, "spec", "resourceClaims"):
        yield source(entry, "resourceClaimName") or text(statuses.get(text(entry, "name")), "resourceClaimName")
    yield text(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")


def template_of(workload: JSONObject) -> JSONObject:
    """Return the specification of a workload's pods, or of a pod."""
    spec = mapping(workload, "spec")
    if workload["kind"] == "Pod":
        return spec
    return mapping(spec, "jobTemplate", "spec", "template", "spec") or mapping(spec, "template", "spec")


def makes_pods(workload: JSONObject) -> bool:
    """Tell whether a workload, or a pod, will still need what its pods refer to."""
    kind, spec = workload["kind"], mapping(workload, "spec")
    if kind == "Pod":
        return not has_ended(workload)
    if at(spec, "suspend") is True or 0 in {number(spec, "replicas"), number(spec, "parallelism")}:
        return False
    if kind == "DaemonSet":
        return number(workload, "status", "desiredNumberScheduled") != 0
    conditions = items(workload, "status", "conditions")
    return not any(
        text(each, "type") in {"Complete", "Failed"} and text(each, "status") == "True" for each in conditions
    )
