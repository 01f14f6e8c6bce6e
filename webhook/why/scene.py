"""A cluster's objects together: events by UID, the release and its gates, and the scheduler's verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from webhook.allocation.devices import Device, Taint
from webhook.api.templates import source
from webhook.grouping import by_key
from webhook.inventory import Inventory, has_ended
from webhook.inventory.claims import MADE, sources_of
from webhook.later import cached_property
from webhook.objects import JSONObject, condition_of, items, mapping, name_of, namespace_of, number, text
from webhook.problem import value_at
from webhook.references.lookup import every_rule, told
from webhook.scan.stored import Stored
from webhook.simulation import Cluster, Scheduler, Settings
from webhook.simulation.answers import Answers
from webhook.spelling import nearest

_MENTIONED: Final = (
    *("ResourceQuota", "ResourceClaimTemplate", "ResourceClaim", "DeviceClass", "PriorityClass"),
    "PersistentVolumeClaim",
)
"""The kinds that are looked for in the words of components."""
_QUOTED: Final = re.compile(
    r"(?i)\b(serviceaccount|namespace(?= \S+ because)|configmap|secret|PriorityClass with name|webhook|"
    r"ValidatingAdmissionPolicy|MutatingAdmissionPolicy|PodSecurity|storageclass(?:\.storage\.k8s\.io)?)s? "
    r"[\"'`]?(?:[\w.-]+/)?([\w.:-]*\w)"
)
"""An object that the words of a component name with its kind."""
_WRITTEN: Final = {
    **{each.lower(): (each, True) for each in ("ServiceAccount", "ConfigMap", "Secret", "PersistentVolumeClaim")},
    **{each.lower(): (each, False) for each in ("StorageClass", "Webhook", "Namespace", "CSIDriver", "Node")},
    "priorityclass with name": ("PriorityClass", False),
    "storageclass.storage.k8s.io": ("StorageClass", False),
}
"""Kinds by the words of components for them, and whether their objects are in namespaces."""
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[\w./-]*\w)?")
NAMED_MAX: Final = 3
"""The most nodes, claims and the like that a sentence names."""


class Ref(NamedTuple):
    """Something that an answer is about: an object, or a part of one, such as a device or a taint."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        """Write it as ``ResourceClaim ml/gpu``."""
        return f"{self.kind} {'/'.join(filter(None, (self.namespace, self.name)))}"

    def as_json(self) -> JSONObject:
        """Return it as JSON."""
        return {"kind": self.kind, "namespace": self.namespace or None, "name": self.name}


def ref_of(obj: JSONObject) -> Ref:
    """Return a reference to an object."""
    return Ref(text(obj, "kind"), name_of(obj), text(obj, "metadata", "namespace"))


def written(kind: str, name: str, namespace: str) -> Ref:
    """Return what a component names.

    Args:
        kind: The kind as the component writes it, such as ``persistentvolumeclaim``.
        namespace: The namespace of the object that the component writes about; what it names is in the same one.
    """
    known, is_namespaced = _WRITTEN.get(kind.lower(), (kind, False))
    return Ref(known, name, namespace if is_namespaced else "")


About = Ref | JSONObject | Sequence["About"] | None
"""The subject of an answer: an object, a reference, several of these, or nothing."""


def refs_of(about: About) -> Iterator[Ref]:
    """Yield references to all that an answer is about."""
    if isinstance(about, Ref | dict):
        yield about if isinstance(about, Ref) else ref_of(about)
    else:
        for each in about or ():
            yield from refs_of(each)


def about_taints(*taints: Taint) -> list[Ref]:
    """Name taints, each by its key and as kubectl writes it."""
    return [Ref("Taint", name) for each in taints for name in (each.key, str(each))]


class Cause(NamedTuple):
    """Why something is as it is.

    Args:
        text: The reason, in a sentence without its subject.
        about: The objects to change or look at, the most decisive first.
        helps: The changes that would help, as far as they are known without the simulation.
        stage: The stage at which it holds the pod up; empty for that of the pod.
        is_well: Whether nothing is wrong.
        names_pod: Whether the sentence names the pod.
        sort: The sort of cause that keeps a pod pending, one of `SORTS`.
        words: The message of a component that the sentence quotes, whose cure helps if nothing else does.
        fallback: What helps if the simulation finds no change that does.
    """

    text: str
    about: Sequence[About] = ()
    helps: tuple[str, ...] = ()
    stage: str = ""
    is_well: bool = False
    names_pod: bool = False
    sort: str = ""
    words: str = ""
    fallback: str = ""


NOT_EXPLAINED: Final = "not-explained"
SORTS: Final = (
    *("devices-in-use", "devices-tainted", "no-device", "constraints", "driver", "class", "selector", "claim", "node"),
    *("pod-group", "scheduling-gate", "volume", "binding-condition", "not-started", "other", NOT_EXPLAINED),
)
"""The sorts of causes of pending pods, as metrics have them."""


def sorted_as(sort: str, causes: Iterable[Cause]) -> Iterator[Cause]:
    """Yield causes with their sort, unless they have one."""
    for each in causes:
        yield each if each.sort else each._replace(sort=sort)


class Event(NamedTuple):
    """An event.

    Args:
        time: When it happened last, as the API server writes it.
        warns: Whether it is a warning.
        words: Its message, on one line.
        times: How often it happened; 0 if it does not tell.
        by: The component that tells it.
    """

    time: str
    warns: bool
    reason: str
    words: str
    times: int
    about: JSONObject
    by: str = ""

    @property
    def when(self) -> str:
        """The time as a key to sort by: kubelet, which tells seconds only, acts after the scheduler within one."""
        is_whole = "." not in self.time and text(self.about, "kind") == "Pod"
        return self.time.removesuffix("Z") + ".~" * is_whole

    @classmethod
    def of(cls, obj: JSONObject) -> Event:
        """Read an event, also one of ``events.k8s.io``."""
        last = text(obj, "lastTimestamp") or text(obj, "deprecatedLastTimestamp")
        times = text(obj, "series", "lastObservedTime"), last, text(obj, "eventTime")
        time = max(times, key=lambda each: each.removesuffix("Z")) or text(obj, "metadata", "creationTimestamp")
        times_ = number(obj, "series", "count") or number(obj, "count") or number(obj, "deprecatedCount") or 0
        words = " ".join((text(obj, "message") or text(obj, "note")).split())
        about = mapping(obj, "involvedObject") or mapping(obj, "regarding")
        by = text(obj, "source", "component") or text(obj, "reportingComponent") or text(obj, "reportingController")
        return cls(time, text(obj, "type") == "Warning", text(obj, "reason"), words, times_, about, by)


def _uids_of_owners(obj: JSONObject) -> set[str]:
    return {text(each, "uid") for each in items(obj, "metadata", "ownerReferences")}


class Scene(Stored):
    """A cluster, with what its events and the scheduler tell.

    Args:
        inventory: The objects, those of ``AROUND`` included.
        kubernetes: The release; None to read it from the nodes.
        feature_gates: The gates that differ from its defaults; others are inferred from the objects.

    Raises:
        ValueError: The release is not simulated.
    """

    def __init__(
        self, inventory: Inventory, kubernetes: str | None = None, feature_gates: Mapping[str, bool] | None = None
    ) -> None:
        super().__init__(inventory=inventory, settings=Settings.of_cluster(inventory, kubernetes, feature_gates))

    def kueue_says(self, obj: JSONObject) -> tuple[JSONObject | None, str]:
        """Return the Workload by which Kueue knows an object or its owners, and why it does not admit it."""
        makers = obj, *self.owners(obj)
        uids = {text(each, "metadata", "uid") for each in makers} | set().union(*map(_uids_of_owners, makers))
        known = [each for each in self.inventory.all("Workload") if uids - {""} & _uids_of_owners(each)]
        for kind in ("QuotaReserved", "Admitted"):
            for each in known:
                if text(condition := condition_of(each, kind), "status") == "False":
                    return each, text(condition, "message")
        for each in known:
            for check in items(each, "status", "admissionChecks"):
                name, state, words = (text(check, field) for field in ("name", "state", "message"))
                if state != "Ready":
                    return each, f"admission check {name} is {state}: {words}"
        return next(iter(known), None), ""

    @cached_property
    def scheduler(self) -> Scheduler:
        """The scheduler, in the cluster as it is."""
        return Scheduler(Cluster(self.inventory, self.settings))

    @cached_property
    def answers(self) -> Answers:
        """The scheduler's verdicts on pods."""
        return Answers(self.scheduler)

    @property
    def cluster(self) -> Cluster:
        """The state of the cluster, for the scheduler."""
        return self.scheduler.cluster

    @cached_property
    def tainted(self) -> Mapping[Taint, list[Device]]:
        """The devices with each taint, those of DeviceTaintRules among them."""
        devices = (device for each in self.cluster.allocator.catalog.slices for device in each.devices)
        return by_key((taint, each) for each in devices for taint in each.content.taints)

    def rule(self, name: str, obj: JSONObject) -> Iterator[str]:
        """Yield the findings of a reference rule in an object, as texts."""
        return map(told, every_rule()[name].check(obj, self.context))

    def places(self, name: str, obj: JSONObject) -> list[tuple[JSONObject, str]]:
        """Return a rule's findings in an object as texts, each with the item it is about, such as ``spec.x[0]``."""
        found = every_rule()[name].check(obj, self.context)
        return [(value_at(obj, problem.path[:3]), told(problem)) for problem in found]

    def uncollected(self, obj: JSONObject) -> str:
        """Return a kind that is not known, though other objects tell that the cluster has some; empty without one.

        Args:
            obj: The pod or claim that is asked about.
        """
        every = self.inventory.all
        if has_ended(obj):
            return ""
        bound, claims, is_bound = self.inventory.running(), every("ResourceClaim"), bool(text(obj, "spec", "nodeName"))
        said = [text(each, "message") for each in items(obj, "status", "conditions")]
        told = {
            "Node": any(text(each, "spec", "nodeName") for each in (*bound, *every("ResourceSlice"))),
            "ResourceClaim": any(items(each, "spec", "resourceClaims") for each in bound),
            "DeviceClass": not is_bound
            and any(mapping(each, "status", "allocation") for each in claims)
            and not any("does not exist" in each for each in said),
            "Pod": any(items(each, "status", "reservedFor") for each in claims),
        }
        return next((kind for kind, is_there in told.items() if is_there and not self.inventory.knows(kind)), "")

    # -- events

    @cached_property
    def _events(self) -> Mapping[str, list[Event]]:
        return by_key((text(each.about, "uid"), each) for each in map(Event.of, self.inventory.all("Event")))

    def events(self, obj: JSONObject, *reasons: str) -> list[Event]:
        """Return the events about an object, the last first; never those about an earlier one of the same name.

        Args:
            reasons: The reasons that matter; all without any.
        """
        uid = text(obj, "metadata", "uid")
        found = [each for each in self._events.get(uid, ()) if not reasons or each.reason in reasons] if uid else []
        return sorted(found, key=lambda each: each.when, reverse=True)

    def of_gone(self, prefix: str, namespace: str) -> list[Event]:
        """Return the events about pods that are gone, the last first.

        Args:
            prefix: How their names start.
        """
        known = {text(each, "metadata", "uid") for each in self.inventory.all("Pod")}
        gone = (
            each
            for each in chain.from_iterable(self._events.values())
            if text(each.about, "kind") == "Pod" and text(each.about, "uid") not in known
            if text(each.about, "namespace") == namespace and text(each.about, "name").startswith(prefix)
        )
        return sorted(gone, key=lambda each: each.when, reverse=True)

    # -- names

    def logs(self, obj: JSONObject, *, previous: bool = False, container: str = "") -> str:
        """Write the command that shows the log of a pod, or of some pod of a workload."""
        kind = "" if text(obj, "kind") == "Pod" else f"{text(obj, 'kind').lower()}/"
        name = f"--namespace {namespace_of(obj)} {kind}{name_of(obj)}{container and f' --container {container}'}"
        return self.inventory.kubectl(f"logs {'--previous ' * previous}{name}")

    def claim_sources(self, pod: JSONObject) -> dict[str, Ref]:
        """Return what the user wrote for each claim of a pod, by the claim's name: its template, or itself."""
        namespace, found = namespace_of(pod), dict[str, Ref]()
        for entry, claim in sources_of(pod):
            if template := source(entry, "resourceClaimTemplateName"):
                name = claim or f"{name_of(pod)}-{text(entry, 'name')}-{MADE}"
                found[name] = Ref("ResourceClaimTemplate", template, namespace)
            elif claim:
                found[claim] = Ref("ResourceClaim", claim, namespace)
        return found

    def and_meant(self, ref: Ref) -> list[Ref]:
        """Return what is missing, and the objects that were probably meant: in other namespaces, or named alike."""
        spaces, known = self.inventory.namesakes(*ref)
        meant = [ref._replace(namespace=each) for each in spaces]
        near = nearest(ref.name, known)
        return [ref, *meant, *([ref._replace(name=near)] if near else [])]

    def mentioned(self, words: str, namespace: str) -> list[Ref]:
        """Return the objects whose names are among the words of a component.

        Args:
            namespace: The namespace of what the words are about.
        """
        named = {part for word in _WORD.findall(words) for part in (word, *word.split("/"))}
        known = (Ref(kind, name, space) for kind in _MENTIONED for space, name in self.inventory.names(kind))
        found = [each for each in known if each.namespace in {"", namespace} and each.name in named]
        return found + [written(kind, name, namespace) for kind, name in _QUOTED.findall(words)]
