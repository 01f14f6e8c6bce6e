"""The subject of a simulation: manifests, pods of a cluster, and changes of it; and the results."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain, islice
from typing import Final, NamedTuple

from webhook.api.judgement import stored
from webhook.api.versions import NEWEST, find
from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.check.cluster import not_found, take_each
from webhook.check.judge import refusing
from webhook.check.progress import counting
from webhook.documents import Document, Piece, Unreadable
from webhook.documents.search import SUFFIXES
from webhook.engine.manifests import review
from webhook.findings import GRAVE, own_failure
from webhook.formats import dns_subdomain
from webhook.hints.names import listed
from webhook.inventory import CLAIMS, KINDS, Inventory, in_namespace, podgroups, split_kind
from webhook.inventory.claims import MADE, pods_using
from webhook.objects import (
    DEFAULT_NAMESPACE,
    JSONObject,
    free_of_nulls,
    full_name_of,
    group_of,
    items,
    mapping,
    name_of,
    namespace_of,
    text,
)
from webhook.problem import ERROR
from webhook.references.answers import Annotated
from webhook.report.model import Report
from webhook.report.simulated import Page
from webhook.scan.drivers import not_running
from webhook.scan.stored import Stored
from webhook.simulation import Cluster, Scheduler, Settings
from webhook.simulation.answers import Answers
from webhook.simulation.scheduler import Fit, Placement, fit, shared
from webhook.simulation.workloads import (
    Running,
    distinct,
    in_order,
    is_suspended,
    is_workload,
    pods_of,
    sample,
    stand_ins,
)
from webhook.spelling import did_you_mean, nearest
from webhook.usage import UsageError
from webhook.workloads.runtimes import Templates


def take_names(arguments: Namespace, inventory: Inventory) -> list[JSONObject]:
    """Take paths that are not files for names of pods; return the pods, and leave the other paths.

    Raises:
        UsageError: The name matches no pod or more than one, or no cluster is given.
    """
    names = []
    for path in arguments.paths:
        _, (*namespace, name) = split_kind(path)
        is_file = os.path.lexists(path) or path.endswith(SUFFIXES)
        if not (is_file or len(namespace) > 1 or dns_subdomain(name, NEWEST)):
            names.append(path)
    if names and not arguments.cluster:
        raise UsageError(f"{names[0]}: no such file; to ask about a pod in a cluster, give --cluster or --live")
    arguments.paths = [path for path in arguments.paths if path not in names]
    return [pod_of(each, inventory, arguments.namespace) for each in names]


def pod_of(given: str, inventory: Inventory, only: str | None, absent: str = "no such file, and ") -> JSONObject:
    """Find the pod of a name; it may be in any namespace, if none is stated and only one has it.

    Args:
        absent: The beginning of the message if there is none.
    """
    known = [f"{namespace}/{name}" for namespace, name in inventory.names("Pod")]
    kind, (*before, name) = split_kind(given) if given not in known else ("", given.split("/"))
    namespace = "".join(before) or only or ""
    if kind not in {"", "Pod"}:
        made = _made(namespace or DEFAULT_NAMESPACE, name, known) if kind != "Node" else []
        hint = f"did you mean {listed(made)}?" if made else f"`draguard why {given}` explains the {kind}"
        raise UsageError(f"{given}: give a manifest, or [NAMESPACE/]NAME of a pod of the cluster: {hint}")
    same = [each for each in known if each.endswith(f"/{name}")]
    found = [each for each in same if each == f"{namespace or DEFAULT_NAMESPACE}/{name}"]
    if not (found or namespace):
        found = same
    if len(found) != 1:
        of = f"namespace {namespace}" if namespace else "the cluster"
        what = f"several pods of {of} have this name" if found else f"{'' if kind else absent}{of} has no pod {name}"
        by_name = {each.partition("/")[2]: each for each in known}
        near = nearest(f"{namespace}/{name}", known) if namespace else by_name.get(nearest(name, by_name), "")
        meant = same or _made("", name, known) or ([near] if near else [])
        there = f"the cluster has {listed(known)}" if known else "the cluster has no pods"
        raise UsageError(f"{given}: {what}: {f'did you mean {listed(meant)}?' if meant else there}")
    namespace, _, name = found[0].partition("/")
    return inventory.find("Pod", name, namespace) or {}


def _made(namespace: str, name: str, known: Iterable[str]) -> list[str]:
    """Return the pods, of a namespace unless it is empty, that a workload of a name has made."""
    return [
        each
        for each in known
        if each.rpartition("/")[2].startswith(f"{name}-") and each.startswith(f"{namespace}/" if namespace else "")
    ]


class _Given:
    """Takes the manifests of the user, as ``kubectl apply`` does.

    Args:
        inventory: The cluster's objects, to which those are added that are neither pods nor workloads.
        templates: The runtimes and templates among the manifests.
        gates: The feature gates that differ from its defaults.
    """

    def __init__(
        self, inventory: Inventory, templates: Templates, release: str, gates: Mapping[str, bool] | None
    ) -> None:
        self._inventory, self.templates = inventory, templates
        self._release, self._gates = release, gates
        self._objects: dict[tuple[str, ...], JSONObject] = {}
        self._made: dict[tuple[str, ...], list[JSONObject]] = {}
        self._unnamed = Counter[tuple[str, ...]]()
        """The number of objects without a name, by kind, namespace and ``generateName``."""
        self._created: dict[tuple[str, str], None] = {}
        self.notes: list[str] = []
        """The notes on the manifests."""

    @property
    def workloads(self) -> Sequence[JSONObject]:
        """The pods and workloads."""
        return [each for made in self._made.values() for each in made]

    @property
    def created(self) -> Iterator[JSONObject]:
        """The claims that the cluster does not have yet."""
        return filter(None, (self._inventory.find(CLAIMS[0], name, namespace) for namespace, name in self._created))

    def add(self, obj: JSONObject) -> None:
        """Take an object, without the fields that the API server drops; one of the same kind and name is an update.

        Raises:
            MalformedError: It cannot be decoded.
        """
        obj = self._named(stored(obj, kubernetes=self._release, feature_gates=self._gates))
        version, kind, name, namespace = obj.get("apiVersion"), text(obj, "kind"), name_of(obj), namespace_of(obj)
        served = find(version, kind)
        has_namespace = served.type.namespaced if served else bool(text(obj, "metadata", "namespace"))
        who = f"{kind} {f'{namespace}/' * has_namespace}{name}"
        key = group_of(obj), kind, namespace, name
        if name and (old := self._objects.get(key)) is not None:
            refusal = ""
            if obj != old and version == old.get("apiVersion"):
                found = review(obj, old, kubernetes=self._release, feature_gates=self._gates).problems
                refusal = next((f"{each.field}: {each.message}" for each in found if each.level == ERROR), "")
            if refusal:
                self.notes.append(
                    f"{who} is given twice, and the first is simulated: the API server refuses the second, {refusal}"
                )
                return
            which = "with the second" if obj != old else "once"
            self.notes.append(f"{who} is given twice: it is simulated {which}, as kubectl apply updates an object")
        if is_workload(obj):
            # A pod does not replace one of the cluster here: that may run already.
            made = [Inventory().take(obj) or obj]
        else:
            made, notes = stand_ins(obj, self.templates)
            self.notes += (f"{who}: {each}" for each in notes)
            self._put(obj)
        if made and is_suspended(obj):
            self.notes.append(f"{who} is suspended: its pods are simulated as if it were resumed")
        self._made[key] = made = [free_of_nulls(each) for each in made]
        if made or kind in KINDS:
            self._objects[key] = obj
        for each in made:
            if (pod := sample(each)) is not None:
                Inventory().take(pod)  # so that findings are located in its template

    def _named(self, obj: JSONObject) -> JSONObject:
        """Return an object with a name: the API server completes ``generateName`` if there is none."""
        metadata = mapping(obj, "metadata")
        prefix = text(metadata, "generateName")
        if not prefix or name_of(obj):
            return obj
        alike = group_of(obj), text(obj, "kind"), namespace_of(obj), prefix
        same = self._unnamed[alike]
        self._unnamed[alike] += 1
        return {**obj, "metadata": {**metadata, "name": f"{prefix}{MADE}{f'-{same}' if same else ''}"}}

    def _put(self, obj: JSONObject) -> None:
        """Add an object to the cluster."""
        kind, name, namespace, known = text(obj, "kind"), name_of(obj), namespace_of(obj), self._inventory
        if kind == CLAIMS[0] and known.find(kind, name, namespace) is None and not text(obj, "metadata", "uid"):
            self._created[namespace, name] = None
        old = known.find(kind, name, namespace) or known.find(kind, name) or {}
        keeps_status = kind in KINDS and "status" not in obj and "status" in old  # an update does not change it
        known.take({**obj, "status": old["status"]} if keeps_status else obj)


_PODS_MAX: Final = 150_000
"""The maximum number of pods in a cluster (kubernetes.io/docs/setup/best-practices/cluster-large)."""


class Limit(NamedTuple):
    """The end of the simulation.

    Args:
        deadline: When it ends, in seconds of ``time.monotonic()``.
        passed: The words of messages for pods that are left out.
    """

    deadline: float
    passed: str

    def enforced(self) -> AbstractContextManager[Budget]:
        """End the work within the block at the deadline."""
        return limited(Budget(deadline=self.deadline, is_offline=True))


class Words(NamedTuple):
    """The names of the ways to ask, in messages.

    Args:
        fit: The function that counts how many pods fit.
        give: How to give pods.
    """

    fit: str = "--fit"
    give: str = "give manifests of pods or workloads, or --pending"


_WORDS: Final = Words()


class Prepared(NamedTuple):
    """The subject of a simulation.

    Args:
        pods: All pods to schedule; pending ones of other namespaces than a stated one only use up devices.
        reported: The places of those to report.
        notes: The notes on the manifests.
    """

    scheduler: Scheduler
    pods: Sequence[JSONObject]
    reported: Sequence[int]
    notes: Sequence[str]
    words: Words

    @property
    def asked(self) -> list[JSONObject]:
        """The pods to report."""
        return [self.pods[place] for place in self.reported]


def prepare(
    arguments: Namespace,
    settings: Settings,
    inventory: Inventory,
    *,
    named: Sequence[JSONObject],
    documents: Sequence[Piece],
    report: Report,
    words: Words = _WORDS,
) -> Prepared | None:
    """Take manifests into a cluster, and change it as the options say; None if one is refused, as the report tells.

    Args:
        inventory: The objects of the cluster.
        named: The pods of the cluster that :func:`take_names` has found.
        report: Receives why manifests are refused.

    Raises:
        UsageError: There is nothing to simulate, or an option names what is not there.
    """
    namespace, stated, gates = arguments.namespace or DEFAULT_NAMESPACE, str(settings), dict(settings.stated) or None
    refusals = refusing(documents, inventory, stated, gates, namespace)
    manifests = [each for each in documents if isinstance(each, Unreadable) or isinstance(each.data, dict)]
    data = (each.data for each in manifests if isinstance(each, Document))
    given = _Given(inventory, Templates(in_namespace(each, namespace) for each in data), stated, gates)
    take_each(manifests, refusals, lambda document: given.add(in_namespace(document.data, namespace)), report)
    if report.errors:
        return None
    for each in given.workloads if arguments.fit else ():
        if text(each, "kind") == "DaemonSet":
            name = f"DaemonSet {full_name_of(each)}"
            raise UsageError(
                f"{words.fit} counts copies of one pod, and {name} has one pod on each node: "
                f"leave {words.fit} out to see them"
            )
    what_if(arguments, inventory, namespace)
    pods, reported = _pods(given, inventory, arguments, named, words.give)
    if not reported and arguments.fit:
        raise UsageError(f"{words.fit} takes one pod or workload, and no pod is pending: give one")
    try:
        scheduler = Scheduler(Cluster(inventory, settings))
    except ValueError as error:
        raise UsageError(f"Kubernetes {stated}: {error}") from error
    scheduler.cluster.create(given.created)
    return Prepared(scheduler, pods, reported, given.notes, words)


def what_if(arguments: Namespace, inventory: Inventory, default: str) -> None:
    """Remove nodes, and release claims with the pods that use them, according to the options.

    Args:
        default: The namespace of claims that are named without one.
    """
    for name in arguments.without:
        if inventory.discard("Node", name) is None:
            nodes = [each for _, each in inventory.names("Node")]
            raise UsageError(f"node not found{_suggestion(name, nodes)}", "--without", name)
    for released in arguments.release:
        namespace, _, name = released.rpartition("/")
        namespace = namespace or default
        claim = inventory.find("ResourceClaim", name, namespace)
        if claim is None:
            known = [f"{space}/{each}" for space, each in inventory.names("ResourceClaim")]
            wanted = f"{namespace}/{name}"
            raise UsageError(f"ResourceClaim not found{_suggestion(wanted, known)}", "--release", released)
        for pod in pods_using(claim):
            inventory.discard("Pod", pod, namespace_of(claim))
        inventory.take({**claim, "status": {}})


def _suggestion(name: str, known: Sequence[str]) -> str:
    there = f"the cluster has {listed(known) or 'none'}"
    return f": {did_you_mean(name, known, there)}"


def _pods(
    given: _Given, inventory: Inventory, arguments: Namespace, named: Sequence[JSONObject], give: str
) -> tuple[list[JSONObject], list[int]]:
    """Return the pods to schedule, and the places of those to report.

    These are the given ones, and the pending ones of the cluster if requested, or if none are given; else those of
    their gangs are scheduled, too, and not reported.
    """
    nodes = inventory.all("Node")
    # --fit counts further pods, beside those that already run.
    running = Running(() if arguments.fit else inventory.running())
    made = (pod for workload in given.workloads for pod in pods_of(workload, nodes, running))
    found = list(distinct(chain(named, islice(made, _PODS_MAX + 1)), given.notes))
    if len(found) > _PODS_MAX:
        raise UsageError(
            f"the manifests make more than {_PODS_MAX:,} pods, the most that Kubernetes supports: lower the replicas"
        )
    asked, with_pending = len(found), arguments.pending or not (arguments.paths or named)
    known = {(namespace_of(pod), name_of(pod)) for pod in found}
    gangs = {each for each in map(podgroups.group_of, found) if podgroups.least_of(each, inventory)}
    pending = (each for each in inventory.pending() if (namespace_of(each), name_of(each)) not in known)
    found += [each for each in pending if with_pending or (podgroups.group_of(each) in gangs and not arguments.fit)]
    if not (found or arguments.pending or arguments.allow_empty) and arguments.paths:
        why = give
        if given.notes:
            why = given.notes[0]
        elif given.workloads:
            why = "the workloads have no replicas, or are DaemonSets that no node takes"
        elif given.templates.known:
            why = "runtimes and templates make pods only where others use them, such as a TrainJob or a Workflow"
        raise UsageError(f"no pods to schedule: {why}")
    if not nodes:
        raise UsageError(not_found("nodes", arguments.cluster))
    for pod in () if arguments.fit else found:
        inventory.put(pod)  # its workload's sample was decoded
    reported = [
        index
        for index, pod in enumerate(found)
        if index < asked or (with_pending and arguments.namespace in {None, namespace_of(pod)})
    ]
    return found, reported


def answer_all(ready: Prepared, limit: Limit, page: Page | None, *, quiet: bool) -> tuple[dict[int, JSONObject], bool]:
    """Schedule pods while there is time; return results by the pods' places, and whether draguard itself failed."""
    scheduler, pods, reported = ready.scheduler, ready.pods, frozenset(ready.reported)
    tell = Annotated(scheduler)
    cluster = Stored(inventory=scheduler.cluster.inventory, settings=scheduler.cluster.settings)
    places = {id(pod): index for index, pod in enumerate(pods)}
    found: dict[int, JSONObject] = {}
    has_failed = False
    with limit.enforced(), counting(f"of {len(reported)} pods", sys.stderr, quiet=quiet) as progress:
        checks = 0

        def show(nodes: int) -> None:
            nonlocal checks
            checks += nodes
            progress(len(found), f", {checks} checks of nodes")

        scheduler.cluster.progress = show
        with suppress(DeadlineExceededError):
            for index in in_order(pods, scheduler.cluster.inventory):
                try:
                    for placement in scheduler.settled(scheduler.schedule(pods[index])):
                        if (place := places[id(placement.pod)]) not in reported:
                            continue
                        found[place] = answer = tell.of(placement)
                        if placement.verdicts is not None and answer["node"]:
                            answer["why"]["notes"] += _of_drivers(cluster, answer)
                        if page is not None:
                            page.add(answer, placement, tell)
                except GRAVE:
                    raise
                except Exception as error:  # noqa: BLE001 - the other pods still get their answers
                    found[index] = Answers.unfinished(pods[index], own_failure(error))
                    has_failed = True
    return found, has_failed


def _of_drivers(cluster: Stored, answer: JSONObject) -> Iterator[str]:
    """Report drivers of a pod's devices that do not run on its node, as far as DaemonSets tell."""
    results = (each for claim in answer["claims"].values() for each in items(claim, "devices", "results"))
    drivers = dict.fromkeys(text(each, "driver") for each in results)
    for driver in drivers if cluster.inventory.knows("DaemonSet") else ():
        if why := not_running(cluster).get((driver, answer["node"])):
            yield f"driver {driver} does not run on {answer['node']}, so the pod does not start: {why}"


def fitted(
    ready: Prepared,
    limit: Limit,
    *,
    quiet: bool,
    page: Page | None = None,
    take: Callable[[Placement], None] = lambda _: None,
) -> tuple[str, Fit, JSONObject | None]:
    """Count how many pods fit; return their name, the count, and the result of the first that does not fit.

    Args:
        take: Takes the placement of each that fits.

    Raises:
        UsageError: The pods differ.
    """
    pods, scheduler = ready.asked, ready.scheduler
    if len({json.dumps(pod.get("spec"), sort_keys=True) for pod in pods}) > 1:
        raise UsageError(f"{ready.words.fit} takes one pod or workload, and there are {len(pods)} different pods")
    with limit.enforced(), counting("pods fit so far", sys.stderr, quiet=quiet) as progress:
        found, last = fit(scheduler, pods[0], progress, take), None
        if found.last is not None:
            last = Answers.unfinished(found.last.pod, f"not explained: {limit.passed}")
            with suppress(DeadlineExceededError):
                tell = Annotated(scheduler)
                last = tell.of(found.last)
                if page is not None:  # a change is one of the pod that is copied
                    page.add(last, found.last._replace(pod=pods[0]), tell)
            last["why"]["notes"] += filter(None, [shared(pods[0])])
    return full_name_of(pods[0]), found, last
