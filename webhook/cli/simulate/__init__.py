"""``draguard simulate``: schedules pods, and explains why some stay pending."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain, count, islice
from time import monotonic
from typing import TYPE_CHECKING, Final

from webhook.api.judgement import stored
from webhook.api.versions import DEFAULT
from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.check.cluster import DETAILS, malformed, not_found, read_cluster
from webhook.check.manifests import piped_twice
from webhook.check.progress import counting
from webhook.check.refusals import Refused
from webhook.check.target import feature_gates, kubernetes
from webhook.cli.console.lines import show_lines
from webhook.cli.console.output import OWN_FAILURE, show_refusals, wants_colors
from webhook.cli.console.reading import read_sources, tell
from webhook.cli.console.structured import show_structured
from webhook.cli.simulate.given import Given
from webhook.cli.simulate.names import take_names
from webhook.cli.simulate.report import Text, gets_devices
from webhook.documents import Document, Unreadable
from webhook.findings import FAILED, GRAVE, guarded, own_failure, unread
from webhook.inventory import Inventory, MalformedError, in_namespace
from webhook.inventory.claims import is_pod
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, full_name_of, items, name_of, namespace_of, text
from webhook.records import NamedTuple
from webhook.references.pending import References
from webhook.references.rules import listed
from webhook.report.model import Report
from webhook.simulation import Cluster, Scheduler, Settings
from webhook.simulation.answers import NOT_SIMULATED, Answers
from webhook.simulation.creation import create
from webhook.simulation.queue import in_order
from webhook.simulation.replicas import fit, shared
from webhook.simulation.running import Running
from webhook.simulation.scheduler import Placement
from webhook.simulation.workloads import distinct, pods_of
from webhook.spelling import nearest
from webhook.usage import UsageError
from webhook.workloads.runtimes import Templates

if TYPE_CHECKING:
    from argparse import Namespace

_PODS_MAX: Final = 150_000
"""The maximum number of pods in a cluster (kubernetes.io/docs/setup/best-practices/cluster-large)."""


class _Pods(NamedTuple):
    """The pods to schedule.

    Args:
        every: All of them; pending pods of other namespaces than a stated one only use up devices.
        reported: The places of those to report.
    """

    every: Sequence[JSONObject]
    reported: Sequence[int]


class _Limit(NamedTuple):
    """The end of the simulation.

    Args:
        deadline: When it ends, in seconds of ``time.monotonic()``.
        passed: What messages say of pods that are left out.
    """

    deadline: float
    passed: str

    def enforced(self) -> AbstractContextManager[Budget]:
        """End the work within the block at the deadline."""
        return limited(Budget(deadline=self.deadline, is_offline=True))


def run(arguments: Namespace) -> int:
    """Print each pod's node and devices, or why it has none; return 1 if a pod stays pending."""
    deadline = monotonic() + arguments.timeout
    try:
        with limited(Budget(deadline=deadline, is_offline=True)):  # which ends selectors that take long to compile
            return _simulate(arguments, deadline)
    except DeadlineExceededError:
        show_lines([f"not simulated: {_passed(arguments)}; give a longer --timeout"], sys.stderr)
        return 1


def _simulate(arguments: Namespace, deadline: float) -> int:
    namespace = arguments.namespace or DEFAULT_NAMESPACE
    stated = kubernetes(arguments) or f"1.{DEFAULT}"
    try:
        settings = Settings.of(stated, feature_gates(arguments, stated))
    except ValueError as error:
        raise UsageError(f"--kubernetes-version: {error}") from error
    if complaint := piped_twice({"the pods": arguments.paths, "the cluster": arguments.cluster}):
        raise UsageError(complaint)
    report = Report()
    only = arguments.namespace or ""
    inventory = read_cluster(arguments.cluster, report, namespace=only, quiet=arguments.quiet, tell=tell)
    if report.errors and not (inventory.all("Node") or inventory.all("Pod")):
        return show_refusals(report)
    named = take_names(arguments, inventory)
    texts: dict[str, list[str]] = {}
    documents = read_sources(arguments, arguments.paths, stated, namespace, texts)
    gates = feature_gates(arguments, stated)
    refused = Refused(documents, inventory, stated, gates, namespace=namespace)

    def as_stored(obj: JSONObject) -> JSONObject:
        return stored(in_namespace(obj, namespace), kubernetes=stated, feature_gates=gates)

    data = (each.data for each in documents if not isinstance(each, Unreadable) and isinstance(each.data, dict))
    given = Given(inventory, Templates(in_namespace(each, namespace) for each in data), stated, gates)
    _read(documents, as_stored, refused, given, report)
    if code := show_refusals(report, texts):
        return code
    if arguments.fit:
        _check_fit(given.workloads)
    _what_if(arguments, inventory, namespace)
    pods = _pods(given, inventory, arguments, named)
    _show_notes(given.notes, pods.every, inventory, arguments)
    if not pods.reported and arguments.fit:
        raise UsageError("--fit takes one pod or workload, and no pod is pending: give one")
    try:
        scheduler = Scheduler(Cluster(inventory, settings))
    except ValueError as error:
        raise UsageError(f"Kubernetes {stated}: {error}") from error
    create(given.created, scheduler.cluster)
    limit = _Limit(deadline, _passed(arguments, is_reading=monotonic() >= deadline))
    once = (settings.taint_rules_ignored, scheduler.cluster.of_unknown_size)
    result = Text(color=wants_colors(arguments), once=once)
    if arguments.fit:
        return _fit(scheduler, [pods.every[index] for index in pods.reported], result, limit, arguments)
    return _schedule(scheduler, pods, result, limit, arguments)


def _passed(arguments: Namespace, *, is_reading: bool = True) -> str:
    return f"{arguments.timeout:g} seconds have passed{' while files were read' if is_reading else ''}"


def _read(
    documents: Iterable[Document | Unreadable],
    as_stored: Callable[[JSONObject], JSONObject],
    refused: Refused,
    given: Given,
    report: Report,
) -> None:
    """Read the manifests: take pods and workloads, and add all other objects to the cluster.

    Manifests that the API server refuses are reported, as they can never exist, and fields that it drops are dropped;
    the cluster's objects are as it has stored them.
    """
    for document in documents:
        if isinstance(document, Unreadable):
            report.findings.append(unread(document))
            continue
        if not isinstance(document.data, dict):
            continue
        with guarded(document, report.findings):
            if findings := refused.of(document):
                report.findings += findings
                continue
            try:
                given.add(as_stored(document.data))
            except MalformedError as error:
                report.findings.append(malformed(error, document, DETAILS))


def _what_if(arguments: Namespace, inventory: Inventory, default: str) -> None:
    """Remove nodes, and release claims with the pods that use them, according to the options.

    Args:
        arguments: The command's arguments.
        inventory: The cluster's objects.
        default: The namespace of claims that are named without one.
    """
    for name in arguments.without:
        if inventory.discard("Node", name) is None:
            raise UsageError(f"--without {name}: node not found{_suggestion(name, _names(inventory, 'Node'))}")
    for released in arguments.release:
        namespace, _, name = released.rpartition("/")
        namespace = namespace or default
        claim = inventory.find("ResourceClaim", name, namespace)
        if claim is None:
            known = [f"{space}/{each}" for space, each in inventory.names("ResourceClaim")]
            wanted = f"{namespace}/{name}"
            raise UsageError(f"--release {released}: ResourceClaim not found{_suggestion(wanted, known)}")
        for consumer in items(claim, "status", "reservedFor"):
            if is_pod(consumer):
                inventory.discard("Pod", text(consumer, "name"), namespace_of(claim))
        inventory.add({**claim, "status": {}})


def _names(inventory: Inventory, kind: str) -> list[str]:
    return [name for _, name in inventory.names(kind)]


def _suggestion(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    if near:
        return f": did you mean {near}?"
    return f": the cluster has {listed(known) or 'none'}"


def _pods(given: Given, inventory: Inventory, arguments: Namespace, named: Sequence[JSONObject]) -> _Pods:
    """Return the pods to schedule: those given; the pending ones of the cluster if requested, or if none are given."""
    nodes = inventory.all("Node")
    # --fit counts further pods, beside those that already run.
    running = Running(() if arguments.fit else inventory.running())
    made = (pod for workload in given.workloads for pod in pods_of(workload, nodes, running))
    found = list(distinct(chain(named, islice(made, _PODS_MAX + 1)), given.notes))
    if len(found) > _PODS_MAX:
        raise UsageError(
            f"the manifests make more than {_PODS_MAX:,} pods, the most that Kubernetes supports: lower the replicas"
        )
    asked = len(found)
    if arguments.pending or not (arguments.paths or named):
        known = {(namespace_of(pod), name_of(pod)) for pod in found}
        found += [each for each in inventory.pending() if (namespace_of(each), name_of(each)) not in known]
    if not (found or arguments.pending or arguments.allow_empty) and arguments.paths:
        why = "give manifests of pods or workloads, or --pending"
        if given.notes:
            why = given.notes[0]
        elif given.workloads:
            why = "the workloads have no replicas, or are DaemonSets that no node takes"
        elif given.templates.known:
            why = "runtimes and templates make pods only where others use them, such as a TrainJob or a Workflow"
        raise UsageError(f"no pods to schedule: {why}")
    if not nodes:
        raise UsageError(not_found("nodes", arguments.cluster))
    holder = Inventory() if arguments.fit else inventory
    reported = [
        index for index, pod in enumerate(found) if index < asked or arguments.namespace in {None, namespace_of(pod)}
    ]
    return _Pods([holder.take(pod) or pod for pod in found], reported)


def _schedule(scheduler: Scheduler, pods: _Pods, result: Text, limit: _Limit, arguments: Namespace) -> int:
    found = _answers(scheduler, pods, limit, arguments)
    left = [pods.every[index] for index in pods.reported if index not in found]
    if arguments.output != "text":
        missing = f"not simulated: {limit.passed}"
        places = sorted(found.keys() | pods.reported)
        every = [found.get(index) or Answers.unfinished(pods.every[index], missing) for index in places]
        show_structured([{"kubernetes": _release(scheduler), **each} for each in every], arguments.output)
    else:
        answers = [found[index] for index in sorted(found)]
        show_lines(result.answers(answers))
        if not arguments.quiet:
            if answers or not left:
                show_lines([result.summary(answers, arguments.namespace)])
            show_lines([f"simulated as Kubernetes {_release(scheduler)}; {NOT_SIMULATED}"])
    if left:
        names = listed([full_name_of(pod) for pod in left])
        asked = len(pods.reported)
        pods_left = f"{len(left)} of {asked} pods" if asked > 1 else "1 pod"
        advice = "give fewer pods, or a longer --timeout" if found else "give a longer --timeout"
        show_lines([f"not simulated: {pods_left} ({names}): {limit.passed}; {advice}"], sys.stderr)
    if any(each["why"]["reason"].startswith(FAILED) for each in found.values()):
        return OWN_FAILURE
    return 1 if left or not all(map(gets_devices, found.values())) else 0


def _answers(scheduler: Scheduler, pods: _Pods, limit: _Limit, arguments: Namespace) -> dict[int, JSONObject]:
    """Schedule pods while there is time; return the results by the pods' places: those reported, and failures."""
    cluster = scheduler.cluster
    tell, references = Answers(scheduler), References(cluster)
    found: dict[int, JSONObject] = {}
    reported = frozenset(pods.reported)
    with limit.enforced(), counting(f"of {len(reported)} pods", sys.stderr, quiet=arguments.quiet) as progress:
        checks = count(1)
        cluster.progress = lambda: progress(len(found), f", {next(checks)} checks of nodes")
        with suppress(DeadlineExceededError):
            for index in in_order(pods.every, cluster.inventory):
                try:
                    placement = scheduler.schedule(pods.every[index])
                    if index not in reported:
                        continue
                    answer = tell.of(placement)
                    references.annotate(answer, placement)
                except GRAVE:
                    raise
                except Exception as error:  # noqa: BLE001 - the other pods still get their answers
                    answer = Answers.unfinished(pods.every[index], own_failure(error))
                found[index] = answer
    return found


def _release(scheduler: Scheduler) -> str:
    return f"1.{scheduler.cluster.settings.release}"


def _check_fit(workloads: Iterable[JSONObject]) -> None:
    """Refuse to count pods of a workload that has one on each node.

    Raises:
        UsageError: A workload is a DaemonSet.
    """
    for each in workloads:
        if text(each, "kind") == "DaemonSet":
            name = f"DaemonSet {full_name_of(each)}"
            raise UsageError(
                f"--fit counts copies of one pod, and {name} has one pod on each node: leave --fit out to see them"
            )


def _fit(scheduler: Scheduler, pods: Sequence[JSONObject], result: Text, limit: _Limit, arguments: Namespace) -> int:
    if len({_shape(pod) for pod in pods}) > 1:
        raise UsageError(f"--fit takes one pod or workload, and there are {len(pods)} different pods")
    with limit.enforced(), counting("pods fit so far", sys.stderr, quiet=arguments.quiet) as progress:
        found = fit(scheduler, pods[0], progress)
        last = _explained(scheduler, found.last, limit) if found.last else None
    if last is not None:
        last["why"]["notes"] += filter(None, [shared(pods[0])])
    pod = f"{namespace_of(pods[0])}/{name_of(pods[0])}"
    if arguments.output != "text":
        counts = {"pod": pod, "pods": found.pods, "nodes": found.nodes, "last": last}
        show_structured({"kubernetes": _release(scheduler), **counts}, arguments.output)
    else:
        show_lines(result.fit(pod, found, last))
        if not arguments.quiet:
            show_lines([f"simulated as Kubernetes {_release(scheduler)}; {NOT_SIMULATED}"])
    if found.is_cut:
        show_lines([f"more pods may fit: {limit.passed}; give a longer --timeout"], sys.stderr)
    return 1 if found.is_cut or not found.pods else 0


def _explained(scheduler: Scheduler, placement: Placement, limit: _Limit) -> JSONObject:
    """Return the result of the first copy that does not fit, with the reasons for which there is time."""
    answer = Answers.unfinished(placement.pod, f"not explained: {limit.passed}")
    with suppress(DeadlineExceededError):
        answer = Answers(scheduler).of(placement)
        References(scheduler.cluster).annotate(answer, placement)
    return answer


def _show_notes(notes: Sequence[str], pods: Iterable[JSONObject], inventory: Inventory, arguments: Namespace) -> None:
    """Print notes, and the kinds of which the cluster has no objects, without which no pod gets devices."""
    if arguments.quiet:
        return
    missing: list[str] = []
    if any(items(each, "spec", "resourceClaims") for each in pods):
        kinds = ("DeviceClass", "DeviceClasses"), ("ResourceSlice", "ResourceSlices")
        missing = [not_found(several, arguments.cluster) for kind, several in kinds if not inventory.knows(kind)]
    show_lines((f"note: {each}" for each in (*notes, *missing)), sys.stderr)


def _shape(pod: JSONObject) -> str:
    return json.dumps(pod.get("spec"), sort_keys=True)
