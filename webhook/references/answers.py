"""Simulates pods, and tells what is wrong with them and their claims beside the scheduler's own words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from weakref import WeakKeyDictionary

from webhook.api.dra.names import NAMED_BY
from webhook.api.templates import source
from webhook.engine.manifests import review
from webhook.hints.fields import hint_of
from webhook.inventory import CLAIMS, Inventory
from webhook.inventory.claims import allocation_of, requests_of
from webhook.objects import JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.problem import ERROR, value_at
from webhook.references.devices import without_sharing
from webhook.references.lookup import every_rule, told
from webhook.references.pods import WITHOUT_DEVICES
from webhook.references.rules import Context
from webhook.simulation import Cluster, Placement, Scheduler, Settings
from webhook.simulation.answers import Answers
from webhook.simulation.cluster import Verdicts
from webhook.simulation.workloads import Running, distinct, in_order, is_workload, pods_of, stand_ins
from webhook.workloads.runtimes import Templates

_CAUSES: Final = (
    "claim-not-found",
    "template-not-found",
    "class-not-found",
    "extended-resource-unknown",
    "not-published",
)
"""The rules about causes of pending pods for which the scheduler has no hint."""
_REFUSALS_MAX: Final = 10
"""The maximum number of refusals of an object that are shown."""


class Annotated(Answers):
    """Answers that also tell which name was probably meant, and which containers get no devices."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        cluster, settings = scheduler.cluster, scheduler.cluster.settings
        catalog = cluster.allocator.catalog
        shared = None if catalog.has_rules else catalog
        self._context = Context(cluster.inventory, settings.release, settings.gates, catalog=shared)
        self._named = WeakKeyDictionary[Verdicts, Sequence[str]]()

    def of(self, placement: Placement) -> JSONObject:
        """Return the result of one pod: see :func:`webhook.simulate`."""
        answer = super().of(placement)
        why, is_scheduled = answer["why"], placement.node is not None
        # References to objects that do not exist, and to requests that a scheduled pod's claims do not have.
        found = every_rule()["request-not-found"].check(placement.pod, self._context)
        unseen = {text(value_at(placement.pod, problem.path[:3]), "name"): told(problem) for problem in found}
        when = "scheduled, but" if is_scheduled else "once scheduled,"
        why["notes"] += [
            f"{when} container {name} gets no devices: {said.replace(WITHOUT_DEVICES, '')}"
            for name, said in unseen.items()
        ]
        if is_scheduled:
            why["withoutDevices"] += unseen
            why["notes"] += map(told, every_rule()["claim-not-used"].check(placement.pod, self._context))
            return answer
        counts = [each["ofClass"] for group in why["nodes"] for each in group["requests"]]
        claims = placement.claims if counts and not any(counts) else ()
        names = {each.class_name: None for claim in claims for each in requests_of(claim)}
        classes = filter(None, (self._context.inventory.find("DeviceClass", name) for name in names))
        why["notes"] += self._causes(placement, classes)
        why["notes"] += self._of_sharing(placement, why["nodes"])
        return answer

    def _of_sharing(self, placement: Placement, groups: Sequence[JSONObject]) -> Iterator[str]:
        """Name the requests for a part of a device that find all devices in use, as none can be shared."""
        asked = [each for group in groups for each in group["requests"]]
        busy = {(each["claim"], each["request"]) for each in asked if each["free"] < each["selected"]}
        for claim in placement.claims if busy else ():
            if not allocation_of(claim):
                name = full_name_of(claim)
                found = without_sharing(claim, self._context)
                yield from (message for request, message in found if (name, request.name) in busy)

    def _causes(self, placement: Placement, classes: Iterable[JSONObject]) -> Sequence[str]:
        """Name causes for which the scheduler has no hint, once for all pods of the same needs."""
        verdicts = placement.verdicts
        if verdicts is None or (known := self._named.get(verdicts)) is None:
            known = [*dict.fromkeys(self._of_names(placement, classes))]
            if verdicts is not None:
                self._named[verdicts] = known
        return known

    def _of_names(self, placement: Placement, classes: Iterable[JSONObject]) -> Iterator[str]:
        for device_class in classes:
            for problem in every_rule()["selects-nothing"].check(device_class, self._context):
                yield f"DeviceClass {name_of(device_class)}: {told(problem)}"
        claims = [("ResourceClaim", claim) for claim in placement.claims if not allocation_of(claim)]
        rules = [every_rule()[name] for name in _CAUSES]
        objects = [("Pod", placement.pod), *claims]
        for rule, obj in ((rule, obj) for kind, obj in objects for rule in rules if kind in rule.kinds):
            for problem in rule.check(obj, self._context):
                named = f"{namespace_of(obj)}/{value_at(obj, problem.path)}"
                # Of a claim that the API server has refused, a note says why it is not there.
                if rule.name != "claim-not-found" or named not in self._cluster.refused:
                    yield told(problem)


def simulate(
    objects: Iterable[JSONObject],
    pods: Iterable[JSONObject],
    *,
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> list[JSONObject]:
    """Schedule pods into a cluster; see :func:`webhook.simulate`.

    Args:
        pods: The pods, or workloads that make them, and objects to add; if empty, the cluster's pending pods.
        feature_gates: Gates that differ from the release's defaults.
    """
    cluster = list(_listed(objects))
    makers, others = _sorted(pods, cluster)
    given = [*cluster, *others]
    inventory = Inventory(given)
    nodes = inventory.all("Node")
    running = Running(inventory.running())
    made = [(each, pod) for each in makers or inventory.pending() for pod in pods_of(_typed(each), nodes, running)]
    twice: list[str] = []
    named = list(distinct((pod for _, pod in made), twice))
    if twice:
        raise ValueError(twice[0])
    wanted = [(each, taken) for (each, _), pod in zip(made, named, strict=True) if (taken := inventory.take(pod))]
    scheduler = Scheduler(Cluster(inventory, Settings.of(kubernetes, feature_gates)))
    pods = [pod for _, pod in wanted]
    tell, refusals = Annotated(scheduler), _refuser(scheduler.cluster, given, feature_gates)
    answers: dict[int, JSONObject] = {}
    places = {id(pod): index for index, pod in enumerate(pods)}
    for index in in_order(pods, inventory):
        for placement in scheduler.settled(scheduler.schedule(pods[index])):
            place, answer = places[id(placement.pod)], tell.of(placement)
            answer["why"]["notes"][:0] = refusals(*wanted[place])
            answers[place] = answer
    return [answers[index] for index in range(len(wanted))]


def _sorted(objects: Iterable[Any], cluster: Iterable[JSONObject]) -> tuple[list[JSONObject], list[JSONObject]]:
    """Return the pods and workloads among some objects, and the others.

    Raises:
        ValueError: There are only others.
    """
    makers: list[JSONObject] = []
    others: list[JSONObject] = []
    every = list(_listed(objects))
    templates = Templates([*cluster, *every])
    for each in every:
        if is_workload(_typed(each)):
            makers.append(each)
        elif made := stand_ins(each, templates)[0]:
            makers += made
        else:
            others.append(each)
    if others and not makers:
        kinds = ", ".join(dict.fromkeys(str(each.get("kind")) for each in others))
        raise ValueError(f"pods has neither pods nor workloads that make them, only {kinds}")
    return makers, others


def _typed(pod: JSONObject) -> JSONObject:
    """Return a pod with its type; a workload has it already."""
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _listed(objects: Iterable[Any]) -> Iterator[JSONObject]:
    """Iterate over objects, including those in lists such as kubectl prints.

    Raises:
        ValueError: Something is not an object.
    """
    for each in objects:
        if not isinstance(each, dict):
            raise ValueError(f"an object is a dict, not {type(each).__name__}")
        if str(each.get("kind", "")).endswith("List") and isinstance(each.get("items"), list):
            yield from _listed(each["items"])
        else:
            yield each


def _refuser(
    cluster: Cluster, objects: Iterable[JSONObject], gates: Mapping[str, bool] | None
) -> Callable[[JSONObject, JSONObject], Iterator[str]]:
    """Return a function that tells in the API server's words what it refuses, which can never be in a cluster.

    It yields why a pod, the workload that it was made of, or claims and templates that it names are refused.

    Args:
        cluster: The cluster that pods are scheduled into.
        objects: The cluster's objects, as they were given; only claims and templates matter.
        gates: The gates that differ from the release's defaults.
    """
    by_name = {(text(each, "kind"), namespace_of(each), name_of(each)): each for each in objects}
    known: dict[int, list[str]] = {}

    def refusals(submitted: JSONObject, pod: JSONObject) -> Iterator[str]:
        named = (
            by_name.get((kind, namespace_of(pod), source(entry, NAMED_BY[kind])))
            for entry in items(pod, "spec", "resourceClaims")
            for kind in CLAIMS
        )
        for each in (submitted, *filter(None, named)):
            if id(each) not in known:
                known[id(each)] = list(islice(_refusals(each, cluster, gates), _REFUSALS_MAX))
            yield from known[id(each)]

    return refusals


def _refusals(obj: JSONObject, cluster: Cluster, gates: Mapping[str, bool] | None) -> Iterator[str]:
    """Yield why the API server refuses an object, unless it is not what a client submits: it has a status."""
    if not text(obj, "apiVersion") or mapping(obj, "status"):
        return
    namespace = cluster.inventory.find("Namespace", namespace_of(obj))
    labels = None if namespace is None else mapping(namespace, "metadata", "labels")
    release = str(cluster.settings)
    for problem in review(obj, kubernetes=release, feature_gates=gates, namespace_labels=labels).problems:
        if problem.level == ERROR and (namespace or not problem.rule.startswith("admin-access")):  # by its labels
            hint = problem.hint or hint_of(problem, obj).hint
            what = f"the API server refuses {text(obj, 'kind')} {name_of(obj)}: {problem}"
            yield f"{what} ({hint})" if hint else what
