"""A cluster as it is stored: its objects, without what no rule reads, and what several rules derive from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from webhook.allocation import Features
from webhook.allocation.devices import Catalog, Device, PoolId, Slice, TaintRule
from webhook.allocation.features import Implementation, implementation, tainting
from webhook.allocation.pools import Usage
from webhook.api.judgement import judge_admitted
from webhook.api.templates import pod_template
from webhook.findings import Finding, found, identity
from webhook.grouping import by_key
from webhook.inventory import DRA, KINDS, Inventory, MalformedError, controller_of, has_ended, replicas_of
from webhook.inventory.affinity import NodesByLabel
from webhook.inventory.claims import allocation_of, claims_named, consumers, device_of, results_of
from webhook.inventory.plugins import Plugin, plugins
from webhook.inventory.resources import amounts
from webhook.later import cached_property
from webhook.objects import (
    LAST_APPLIED,
    JSONObject,
    at,
    condition_of,
    group_of,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from webhook.problem import ERROR, Problem
from webhook.references.rules import Context
from webhook.simulation import Settings
from webhook.simulation.binding import newest, time_of
from webhook.simulation.workloads import is_suspended, owners_of

if TYPE_CHECKING:
    from webhook.documents import Document
    from webhook.drivers import Profile

WORKLOADS: Final = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job", "CronJob")
"""The kinds that make pods."""
KINDS_READ: Final = (*KINDS, *WORKLOADS)
JUDGED: Final = (*(kind for kind, group in KINDS.items() if group == DRA), "Pod", "ResourceQuota", *WORKLOADS)
"""The kinds whose objects rules judge; other kinds are read to judge these."""

STORED: Final = "Stored"
"""The reason of findings about clusters."""
UNHEALTHY: Final = "unhealthy"
"""The health, in lower case, of a device that must not be used."""
_SMALL: Final = 1 << 23
"""The characters of a text in which lines are found; in a longer one, it takes too long."""


class AllocatedDevice(NamedTuple):
    """A device of a claim's allocation.

    Args:
        content: Its entry in the allocation.
    """

    claim: JSONObject
    content: JSONObject

    @property
    def pool(self) -> PoolId:
        """Its pool."""
        return device_of(self.content)[:2]

    @property
    def device(self) -> str:
        """Its name."""
        return text(self.content, "device")

    def __str__(self) -> str:
        """Write driver, pool and name."""
        return "/".join(device_of(self.content))

    def is_identified(self, reported: str) -> bool:
        """Tell whether an ID that kubelet reports may be its own: such IDs end with the name of their device."""
        return reported.endswith(tuple(f"{mark}{self.device}" for mark in "-/=_"))


C = TypeVar("C", bound="Stored")
T = TypeVar("T")


def once(derive: Callable[[C], T]) -> Callable[[C], T]:
    """Derive a value once for each cluster."""

    @wraps(derive)
    def known(cluster: C) -> T:
        if derive not in cluster.derived:
            cluster.derived[derive] = derive(cluster)
        found: T = cluster.derived[derive]
        return found

    return known


class Stored:
    """The objects that a cluster stores, and what follows from several of them.

    Args:
        profiles: The user's profiles of drivers.
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
        self.written_as: dict[tuple[str, str, str], set[tuple[str, str]]] = defaultdict(set)
        """The versions in which objects were written, and by whom: by kind, namespace and name."""
        self._unjudged: list[JSONObject] = []
        self._places: dict[tuple[str, str, str, str], Document | str] = {}
        """The document of each object, or only its file if no line of it is looked for."""
        self.derived: dict[Callable[..., Any], Any] = {}
        """The values that :func:`once` has derived."""
        self._plugins: dict[frozenset[str], Sequence[Plugin]] = {}

    def add(self, document: Document) -> None:
        """Add an object.

        Raises:
            MalformedError: It cannot be an object that a cluster stores.
        """
        obj, kind = document.data, document.data.get("kind")
        if not name_of(obj):
            raise MalformedError(f"{kind} without metadata.name")
        group = group_of(obj)
        if group == DRA:
            obj = self._with_versions_noted(obj)
        has_lines = not document.is_json and document.extent[1] - document.extent[0] <= _SMALL
        self._places[group, kind, namespace_of(obj), name_of(obj)] = document if has_lines else document.source
        if group == DRA:
            self._unjudged.append(obj)
        elif kind in WORKLOADS:
            self.inventory.keep(obj)
        else:
            self.inventory.hold(obj)

    def judge(self, settings: Settings) -> Iterator[Finding]:
        """Judge the objects of Dynamic Resource Allocation as if they were written again, and add them.

        The gates that they need are on, unless the settings state otherwise.

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
            try:
                self.inventory.take(obj)
            except MalformedError as error:
                self.inventory.leave_out(obj, error)
        self._unjudged.clear()
        self.settings = Settings.of_cluster(self.inventory, str(settings), dict(settings.stated))

    def _with_versions_noted(self, obj: JSONObject) -> JSONObject:
        """Note the versions in which an object was written; return it without managedFields and last-applied state."""
        metadata = {**obj["metadata"]}
        annotations = {**mapping(metadata, "annotations")}
        applied = annotations.pop(LAST_APPLIED, None)
        if applied is not None:
            metadata["annotations"] = annotations
        writers = {(text(each, "apiVersion"), text(each, "manager")) for each in items(metadata, "managedFields")}
        metadata.pop("managedFields", None)
        if isinstance(applied, str):
            import json  # few objects are applied so

            with suppress(ValueError, RecursionError):
                writers.add((text(json.loads(applied), "apiVersion"), "kubectl apply"))
        if writers:
            self.written_as[text(obj, "kind"), text(obj, "metadata", "namespace"), name_of(obj)] |= writers
        return {**obj, "metadata": metadata}

    def located(self, problem: Problem, obj: JSONObject) -> Finding:
        """Return a finding about an object, with its line if the text is short."""
        if (driver := text(obj, "spec", "driver")) and obj["kind"] == "ResourceSlice" and problem.reason != STORED:
            # The hints of others are for those who write a manifest.
            hint = f"driver {driver} writes the slice, and would undo a change of it: mend or update the driver"
            problem = problem._replace(hint="; ".join(filter(None, (problem.hint, hint))), fix=None)
        release = f"1.{self.settings.release}"
        place = self._places.get((group_of(obj), text(obj, "kind"), namespace_of(obj), name_of(obj)))
        place = place or next((each if isinstance(each, str) else each.source for each in self._places.values()), "")
        if not isinstance(place, str):
            return found(problem, place, release)._replace(rendered=True)
        return Finding(problem, place, 0, 0, "", identity=identity(obj), kubernetes=release, rendered=True)

    @cached_property
    def now(self) -> datetime:
        """The newest time in the objects."""
        return newest(self.inventory)

    def is_older(self, time: str, seconds: int) -> bool:
        """Tell whether a time is that long ago; also if it is not known."""
        then = time_of(time)
        return then is None or self.now - then >= timedelta(seconds=seconds)

    def all(self, kind: str) -> list[JSONObject]:
        """Return the objects of a kind."""
        return self.inventory.all(kind)

    # -- devices

    @cached_property
    def catalog(self) -> Catalog:
        """The published slices, without the taints of rules."""
        return Catalog(self.inventory.all("ResourceSlice"))

    @cached_property
    def nodes(self) -> NodesByLabel:
        """The nodes, of which node selectors select some."""
        return NodesByLabel(self.all("Node"))

    @cached_property
    def _taint_rules(self) -> Sequence[tuple[TaintRule, bool]]:
        """The rules that the scheduler applies, and whether each has a selector."""
        rules = tainting(self.all("DeviceTaintRule"), self.settings.release)
        return [(TaintRule.of(each), at(each, "spec", "deviceSelector") is not None) for each in rules]

    def taints_of_rules(self, pool: PoolId, device: str, *, evicts: bool = False) -> list[JSONObject]:
        """Return the taints that DeviceTaintRules give a device.

        Args:
            evicts: Return those by which the controller evicts; to it, a missing selector selects nothing.
        """
        rules = (rule for rule, selects in self._taint_rules if selects or not evicts)
        return [each.taint for each in rules if each.taints(*pool, device)]

    @cached_property
    def variant(self) -> Implementation:
        """The scheduler's allocator."""
        release = self.settings.release
        return implementation(Features.of(self.settings.gates, release), release, patch=self.settings.patch)

    @cached_property
    def incomplete(self) -> frozenset[PoolId]:
        """The pools that lack slices."""
        return frozenset(pool for pool, slices in self.catalog.current.items() if len(slices) < slices[0].count)

    def raw(self, each: Slice) -> JSONObject:
        """Return a slice as an object."""
        return self.inventory.find("ResourceSlice", each.name) or {}

    def find(self, pool: PoolId, name: str) -> Device | None:
        """Return a device of a pool's newest generation; None if it is not published."""
        device = self.catalog.find((*pool, name))
        if device is None or device.slice.generation == self.catalog.current[pool][0].generation:
            return device
        return next((one for each in self.catalog.current[pool] for one in each.devices if one.name == name), None)

    def device(self, result: AllocatedDevice) -> Device | None:
        """Return the device of an allocation; None if it is not published."""
        return self.find(result.pool, result.device)

    @cached_property
    def context(self) -> Context:
        """The context of the rules about references."""
        context = Context(self.inventory, self.settings.release, self.settings.gates, self._profiles, self.catalog)
        context.uses_allocator = True
        return context

    @cached_property
    def devices_on(self) -> Mapping[str, set[str]]:
        """The nodes for which each driver with slices publishes devices; an empty name stands for several nodes.

        Some drivers, such as DraNet, do not publish devices while claims hold them.
        """
        held, served = {each.pool for each in self.results}, defaultdict[str, set[str]](set)
        for each in self.catalog.slices:
            is_used_up = not each.devices and each.id in held
            served[each.driver] |= {each.node_name or ""} if is_used_up else {one.node_name for one in each.devices}
        return served

    @cached_property
    def offered(self) -> set[str]:
        """The resources that nodes have without DRA, by device plugins."""
        resources = (amounts(mapping(each, "status", "allocatable")) for each in self.all("Node"))
        return {name for each in resources for name, amount in each.items() if amount}

    # -- claims

    @cached_property
    def allocated(self) -> Sequence[JSONObject]:
        """The claims that have devices."""
        return [each for each in self.inventory.all("ResourceClaim") if allocation_of(each)]

    @cached_property
    def results(self) -> Sequence[AllocatedDevice]:
        """The devices of all claims, but for those with admin access."""
        every = (AllocatedDevice(claim, each) for claim in self.allocated for each in results_of(claim))
        return [each for each in every if not each.content.get("adminAccess")]

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
        results = sorted(self.results, key=lambda each: text(each.claim, "metadata", "creationTimestamp"))
        return by_key(((each.pool, each.device), each.claim) for each in results)

    def running(self, claim: JSONObject) -> Sequence[JSONObject]:
        """Return the pods that a claim is reserved for, and that have not ended."""
        return [pod for _, pod in consumers(claim, self.inventory) if pod and not has_ended(pod)]

    @cached_property
    def has_all_claims(self) -> bool:
        """Whether claims were collected: pods that run with claims have some."""
        running = (pod for pod in self.inventory.all("Pod") if text(pod, "status", "phase") == "Running")
        return self.inventory.knows("ResourceClaim") or not any(any(claims_named(pod)) for pod in running)

    def users(self, claim: JSONObject) -> Sequence[JSONObject]:
        """Return the pods whose specification or status names a claim, and that have not ended."""
        return self._naming.get((namespace_of(claim), name_of(claim)), ())

    @cached_property
    def _naming(self) -> Mapping[tuple[str, str], Sequence[JSONObject]]:
        pods = (pod for pod in self.inventory.all("Pod") if not has_ended(pod))
        return by_key(((namespace_of(pod), name), pod) for pod in pods for name in claims_named(pod))

    # -- workloads

    @cached_property
    def makers(self) -> Sequence[tuple[JSONObject, JSONObject]]:
        """The pods that have not ended, and the workloads that still make pods, each with its pods' specification."""
        every = (each for kind in ("Pod", *WORKLOADS) for each in self.all(kind))
        return [(each, template_of(each)) for each in every if makes_pods(each)]

    def owner(self, obj: JSONObject) -> JSONObject | None:
        """Return the controller of an object; None if it has none, or the known object of that name is another one.

        If no ReplicaSets, or Jobs, were collected, it is the Deployment, or CronJob, that has made them.
        """
        if not (above := controller_of(obj)):
            return None
        if self.inventory.knows(kind := text(above, "kind")):
            name, uid = text(above, "name"), text(above, "uid")
            return self.inventory.referred(kind, name, uid, namespace_of(obj), group_of(above))
        named = (self.inventory.find(kind, name, namespace) for namespace, kind, name in owners_of(obj))
        return next(filter(None, named), None)

    def owners(self, obj: JSONObject) -> Iterator[JSONObject]:
        """Yield the controller of an object, the controller's own controller, and so on; none twice."""
        seen = {id(obj)}
        while (above := self.owner(obj)) is not None and id(above) not in seen:
            seen.add(id(above))
            yield above
            obj = above

    @cached_property
    def _owned(self) -> Mapping[str, Sequence[JSONObject]]:
        every = ((each, controller_of(each)) for kind in ("Pod", *WORKLOADS) for each in self.all(kind))
        return by_key(
            (text(self.owner(each), "metadata", "uid") or text(above, "uid"), each) for each, above in every if above
        )

    def owned(self, obj: JSONObject) -> Sequence[JSONObject]:
        """Return the objects that an object controls."""
        return self._owned.get(text(obj, "metadata", "uid"), ())

    def pods_of(self, workload: JSONObject) -> list[JSONObject]:
        """Return the pods of a workload, and of workloads that it or its pods control, as in a LeaderWorkerSet."""
        known, ahead = {id(workload): workload}, [workload]  # owners may form a circle
        while ahead:
            new = {id(each): each for each in self.owned(ahead.pop()) if id(each) not in known}
            known |= new
            ahead += new.values()
        return [each for each in known.values() if text(each, "kind") == "Pod"]

    def plugins(self, drivers: frozenset[str]) -> Sequence[Plugin]:
        """Return the DaemonSets that run plugins, with those of some drivers that each runs."""
        if drivers not in self._plugins:
            nodes = {name for _, name in self.inventory.names("Node")}
            served = {driver: each & nodes if nodes else each - {""} for driver, each in self.devices_on.items()}
            pods = ((each, self.owned(each)) for each in self.all("DaemonSet"))
            self._plugins[drivers] = plugins(pods, served, drivers)
        return self._plugins[drivers]


def template_of(workload: JSONObject) -> JSONObject:
    """Return the specification of a workload's pods, or of a pod."""
    return mapping(workload, *(pod_template(workload) or ()), "spec")


def makes_pods(workload: JSONObject) -> bool:
    """Tell whether a workload may still make pods, or a pod has not ended: what they refer to is still needed."""
    if workload["kind"] == "Pod":
        return not has_ended(workload)
    if is_suspended(workload) or replicas_of(workload) == 0:
        return False
    if workload["kind"] == "DaemonSet":
        return number(workload, "status", "desiredNumberScheduled") != 0
    return all(text(condition_of(workload, kind), "status") != "True" for kind in ("Complete", "Failed"))


def published_health(device: Device) -> str:
    """Return the health that a driver publishes for a device, the worst if several; empty if it publishes none."""
    said = []
    for name, attribute in device.content.attributes.items():
        bare = name.rpartition("/")[2].lower()
        if bare == "health":
            said.append(text(attribute, "string"))
        elif bare == "healthy" and isinstance(is_well := attribute.get("bool"), bool):
            said.append("Healthy" if is_well else "Unhealthy")
    return min(filter(None, said), key=lambda each: each.lower() != UNHEALTHY, default="")
