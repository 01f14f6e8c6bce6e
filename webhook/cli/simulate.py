"""``draguard simulate``: schedules pods, and explains why some stay pending."""

from __future__ import annotations

from argparse import Namespace
from itertools import chain
from time import monotonic

from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.check.cluster import not_found, read_cluster
from webhook.check.files import piped_twice
from webhook.check.simulated import Limit, Prepared, answer_all, fitted, prepare, take_names
from webhook.check.target import kubernetes, settings_of
from webhook.cli.console import (
    leave_out_malformed,
    read_sources,
    show_escaped,
    show_refusals,
    show_result,
    tell,
)
from webhook.findings import OWN_FAILURE
from webhook.hints.names import listed
from webhook.inventory import KINDS
from webhook.objects import DEFAULT_NAMESPACE, full_name_of, items
from webhook.report.model import Report
from webhook.report.simulated import Page, PodReport, gets_devices
from webhook.simulation.answers import NOT_SIMULATED, Answers
from webhook.usage import UsageError


def run(arguments: Namespace) -> int:
    """Print each pod's node and devices, or why it has none; return 1 if a pod stays pending."""
    if arguments.fit and arguments.output == "html":
        raise UsageError("--fit counts pods, and --output html draws where they go: choose one of them")
    deadline = monotonic() + arguments.timeout
    try:
        with limited(Budget(deadline=deadline, is_offline=True)):  # which ends selectors that take long to compile
            return _simulate(arguments, deadline)
    except DeadlineExceededError:
        tell(f"not simulated: {_passed(arguments)}; give a longer --timeout")
        return 1


def _simulate(arguments: Namespace, deadline: float) -> int:
    if complaint := piped_twice({"the pods": arguments.paths, "the cluster": arguments.cluster}):
        raise UsageError(complaint)
    stated, report = kubernetes(arguments), Report()
    only = arguments.namespace or ""
    read = (*KINDS, "DaemonSet")  # which run drivers
    inventory = read_cluster(arguments.cluster, report, read, namespace=only, quiet=arguments.quiet, tell=tell)
    if report.errors and not (inventory.all("Node") or inventory.all("Pod")):
        return show_refusals(report)
    leave_out_malformed(report)
    settings = settings_of(stated, arguments, inventory)
    named = take_names(arguments, inventory)
    texts: dict[str, list[str]] = {}
    namespace = arguments.namespace or DEFAULT_NAMESPACE
    documents = read_sources(arguments, arguments.paths, str(settings), namespace, texts)
    ready = prepare(arguments, settings, inventory, named=named, documents=documents, report=report)
    if (code := show_refusals(report, texts)) or ready is None:
        return code
    if not arguments.quiet:  # nor of which kinds the cluster has no objects, without which no pod gets devices
        wants = any(items(each, "spec", "resourceClaims") for each in ready.pods)
        kinds = (("DeviceClass", "DeviceClasses"), ("ResourceSlice", "ResourceSlices")) if wants else ()
        lacks = [not_found(several, arguments.cluster) for kind, several in kinds if not inventory.knows(kind)]
        tell(*(f"note: {each}" for each in (*ready.notes, *lacks)))
    limit = Limit(deadline, _passed(arguments, is_reading=monotonic() >= deadline))
    once = (settings.taint_rules_ignored, ready.scheduler.cluster.of_unknown_size)
    result = PodReport(once)
    return (_fit if arguments.fit else _schedule)(ready, result, limit, arguments)


def _passed(arguments: Namespace, *, is_reading: bool = True) -> str:
    return f"{arguments.timeout:g} seconds have passed{' while files were read' if is_reading else ''}"


def _schedule(ready: Prepared, result: PodReport, limit: Limit, arguments: Namespace) -> int:
    cluster, pods = ready.scheduler.cluster, ready.pods
    page = Page(cluster.inventory, cluster.settings) if arguments.output == "html" else None
    found, has_failed = answer_all(ready, limit, page, quiet=arguments.quiet)
    left = [pods[index] for index in ready.reported if index not in found]
    answers = [found[index] for index in sorted(found)]
    told = f"simulated as Kubernetes {cluster.settings}; {NOT_SIMULATED}"
    if page is not None:
        show_escaped(page.lines(answers, result.summary(answers, arguments.namespace), told))
    else:
        missing = f"not simulated: {limit.passed}"
        places = sorted(found.keys() | ready.reported)
        every = (found.get(index) or Answers.unfinished(pods[index], missing) for index in places)
        values = [{"kubernetes": str(cluster.settings), **each} for each in every]
        summary = [result.summary(answers, arguments.namespace)] * bool(answers or not left)
        last = [] if arguments.quiet else [*summary, told]
        show_result(chain(result.answers(answers), last), values, arguments)
    if left:
        names = listed([full_name_of(pod) for pod in left])
        asked = len(ready.reported)
        pods_left = f"{len(left)} of {asked} pods" if asked > 1 else "1 pod"
        advice = "give fewer pods, or a longer --timeout" if found else "give a longer --timeout"
        tell(f"not simulated: {pods_left} ({names}): {limit.passed}; {advice}")
    if has_failed:
        return OWN_FAILURE
    return 1 if left or not all(map(gets_devices, found.values())) else 0


def _fit(ready: Prepared, result: PodReport, limit: Limit, arguments: Namespace) -> int:
    pod, found, last = fitted(ready, limit, quiet=arguments.quiet)
    release = str(ready.scheduler.cluster.settings)
    counts = {"kubernetes": release, "pod": pod, "pods": found.pods, "nodes": found.nodes, "last": last}
    told = [] if arguments.quiet else [f"simulated as Kubernetes {release}; {NOT_SIMULATED}"]
    show_result(chain(result.fit(pod, found, last), told), counts, arguments)
    if found.is_cut:
        tell(f"more pods may fit: {limit.passed}; give a longer --timeout")
    return 1 if found.is_cut or not found.pods else 0
