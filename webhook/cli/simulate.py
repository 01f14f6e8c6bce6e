"""``draguard simulate``: schedules pods, and explains why some stay pending."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import chain, count, groupby, islice
from time import monotonic
from typing import TYPE_CHECKING, Final

from webhook.api.judgement import stored
from webhook.api.versions import NEWEST, find
from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.check.cluster import DETAILS, malformed, not_found, read_cluster
from webhook.check.files import piped_twice
from webhook.check.judge import Refused
from webhook.check.progress import counting
from webhook.check.target import feature_gates, kubernetes
from webhook.cli.console import (
    OWN_FAILURE,
    colored,
    read_sources,
    show_escaped,
    show_lines,
    show_refusals,
    show_structured,
    tell,
    wants_colors,
)
from webhook.deviceselectors.fleet import shortened
from webhook.documents import Document, Unreadable
from webhook.documents.search import SUFFIXES
from webhook.engine.manifests import review
from webhook.findings import FAILED, GRAVE, guarded, own_failure, unread
from webhook.formats import dns_subdomain
from webhook.inventory import KINDS, Inventory, MalformedError, in_namespace
from webhook.inventory.claims import is_pod
from webhook.inventory.objects import CLAIMS
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, full_name_of, items, name_of, namespace_of, text
from webhook.problem import ERROR
from webhook.records import NamedTuple
from webhook.references.pending import References
from webhook.references.rules import listed
from webhook.report.excerpt import counted
from webhook.report.model import Report
from webhook.simulation import Cluster, Scheduler, Settings, release_in
from webhook.simulation.answers import NOT_SIMULATED, Answers, Overlay
from webhook.simulation.causes import combined, key_of, unmet, wanted_of
from webhook.simulation.holders import used_by
from webhook.simulation.rejections import stages_of
from webhook.simulation.replicas import Fit, fit, shared
from webhook.simulation.scheduler import SCHEDULER_ERROR, Placement
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
from webhook.spelling import nearest
from webhook.usage import UsageError
from webhook.workloads import Templates

if TYPE_CHECKING:
    from webhook.report.picture import Picture

_COLORS: Final = {"good": "1;32", "bad": "1;31", "help": "1;36"}
_DEVICES_MAX: Final = 8
_GROUPS_MAX: Final = 6
_HELP_MAX: Final = 5
_HOLDERS_MAX: Final = 3


class Text:
    """Writes the outcome of pods as text.

    Args:
        color: Whether to use colours.
        once: Notes to write once, after the pods, as they are the same for all that they concern.
    """

    def __init__(self, *, color: bool, once: Iterable[str] = ()) -> None:
        self._color = color
        self._once = dict.fromkeys(once, False)

    def answers(self, answers: Iterable[JSONObject]) -> Iterator[str]:
        """Report each pod; group those that are pending for the same reason."""
        for likeness, several in groupby(answers, _likeness):
            if likeness:
                yield from self._pending([*several])
            else:
                yield from chain.from_iterable(map(self._placed, several))
        yield from self._of_run()

    def summary(self, answers: Sequence[JSONObject], namespace: str | None) -> str:
        """Return the number of scheduled pods as text; without a namespace, pods of all were looked for."""
        if not answers:
            return f"no pod of namespace {namespace} is pending" if namespace else "no pod is pending"
        placed = sum(each["node"] is not None for each in answers)
        before = sum(_ran_before(each) and not each["why"]["withoutDevices"] for each in answers)
        waiting = sum(map(waits, answers))
        pending = len(answers) - placed - waiting
        without = sum(bool(each["why"]["withoutDevices"]) for each in answers)
        parts = {
            "already scheduled": before,
            "scheduled": placed - before - without,
            "scheduled, but without devices": without,
            "pending": pending,
            "waiting for devices": waiting,
        }
        counts = [f"{number} {what}" for what, number in parts.items() if number]
        return f"{counted(len(answers), 'pod')}: {', '.join(counts)}"

    def fit(self, pod: str, found: Fit, last: JSONObject | None) -> Iterator[str]:
        """Report how many pods fit beside those of the cluster, and what runs out first."""
        if not found.pods and last is not None:
            yield f"{self._in('bad', 'no pod')} like {pod} fits{_because_of(last)}"
            yield from self._why(last)
            yield from self._of_run()
            return
        state = self._in("good", f"{'' if last else 'at least '}{counted(found.pods, 'pod')}")
        yield f"{state} like {pod} fit{'s' if found.pods == 1 else ''}"
        by_count: dict[int, list[str]] = {}
        for node, pods in found.nodes.items():
            by_count.setdefault(pods, []).append(node)
        for pods, nodes in sorted(by_count.items(), reverse=True):
            yield f"  {shortened(nodes)}: {pods}{' each' if len(nodes) > 1 else ''}"
        if last is not None:
            yield f"then no node takes another{_because_of(last)}"
            yield from self._why(last)
        yield from self._of_run()

    def _placed(self, answer: JSONObject) -> Iterator[str]:
        before = "already scheduled on " if _ran_before(answer) else ""
        others = answer["candidateCount"] - 1
        alike = "" if others < 1 else " (or 1 other node that suits it as well)"
        if others > 1:
            alike = f" (or one of {others} other nodes that suit it as well)"
        yield f"{_name(answer)}: {before}{self._in('good', answer['node'])}{alike}"
        yield from _devices(answer)
        yield from self._notes(answer)

    def _pending(self, answers: Sequence[JSONObject]) -> Iterator[str]:
        first = answers[0]
        names = _name(first)
        if len(answers) > 1:
            names = f"{names} … {answers[-1]['name']} ({len(answers)} pods)"
        state, reason = "waits" if waits(first) else "pending", _because_of(first)
        yield f"{names}: {self._in('bad', state)}{reason.removeprefix(f': {state}')}"
        yield from _devices(first)
        yield from self._why(first)

    def _why(self, answer: JSONObject) -> Iterator[str]:
        """Explain a pending pod: what would help, what is left on which nodes, the scheduler's own words."""
        yield from self._help(answer["why"])
        yield from _groups(answer["why"]["nodes"])
        message = (answer["condition"] or {}).get("message", "")
        if message and message != answer["why"]["reason"]:
            yield f"  kube-scheduler: {message}"
        yield from self._notes(answer)

    def _help(self, why: JSONObject) -> Iterator[str]:
        if why["help"]:
            yield f"  {self._in('help', 'what would help:')}"
            helping = why["help"]
            for each in helping[:_HELP_MAX]:
                least = "at least " if each["atLeast"] else ""
                yield f"    {each['change']}: {least}{counted(each['nodes'], 'node')}"
            if len(helping) > _HELP_MAX:
                yield f"    and {counted(len(helping) - _HELP_MAX, 'other change')} (--output json has all)"
        elif why["tried"]:
            yield f"  {self._in('help', 'nothing that was tried would help')} ({counted(why['tried'], 'change')})"
        if not why["allTried"]:
            yield "  there was no time to try all changes: others may help, too"

    def _notes(self, answer: JSONObject) -> Iterator[str]:
        for note in answer["why"]["notes"]:
            if note in self._once:
                self._once[note] = True
            else:
                yield f"  note: {note}"

    def _of_run(self) -> Iterator[str]:
        """Write the notes that concern the whole run, if they concern one of its pods."""
        yield from (f"note: {note}" for note, is_noted in self._once.items() if is_noted)

    def _in(self, color: str, text: str) -> str:
        return colored(text, _COLORS[color]) if self._color else text


def waits(answer: JSONObject) -> bool:
    """Tell whether a pod has devices and waits until they are ready."""
    condition = answer["condition"] or {}
    return answer["node"] is None and bool(answer["candidates"]) and condition.get("reason") != SCHEDULER_ERROR


def gets_devices(answer: JSONObject) -> bool:
    """Tell whether a pod has a node, or waits on it, and its containers see the devices that they ask for."""
    return (answer["node"] is not None or waits(answer)) and not answer["why"]["withoutDevices"]


def _ran_before(answer: JSONObject) -> bool:
    return answer["node"] is not None and bool(answer["why"]["reason"])


def _because_of(answer: JSONObject) -> str:
    reason = answer["why"]["reason"]
    return f": {reason}" if reason else ""


def _name(answer: JSONObject) -> str:
    return f"{answer['namespace']}/{answer['name']}"


def _likeness(answer: JSONObject) -> Sequence[str]:
    """Return what pods have in common that are pending for the same reason; nothing for a pod with a node."""
    if answer["node"] is not None:
        return ()
    said = repr([answer["condition"], answer["why"]]).replace(str(answer["name"]), "")
    return answer["namespace"], said, *answer["candidates"]


def _devices(answer: JSONObject) -> Iterator[str]:
    for claim, allocation in answer["claims"].items():
        results = allocation["devices"]["results"] if allocation.get("devices") else []
        names = [f"{each['driver']}/{each['pool']}/{each['device']}" for each in results or ()]
        more = f", and {len(names) - _DEVICES_MAX} more" if len(names) > _DEVICES_MAX else ""
        yield f"  {claim}: {', '.join(names[:_DEVICES_MAX]) or 'no devices'}{more}"


def _groups(groups: Iterable[JSONObject]) -> Iterator[str]:
    """Report why nodes refuse a pod; those with the same text together."""
    alike: dict[tuple[str, ...], list[JSONObject]] = {}
    for group in groups:
        alike.setdefault(tuple(_group(group)), []).append(group)
    counts = [sum(each["count"] for each in several) for several in alike.values()]
    for number, (lines, several) in zip(counts[:_GROUPS_MAX], alike.items(), strict=False):
        nodes = shortened([name for each in several for name in each["nodes"]], number)
        yield from (f"  {nodes}{line}" for line in lines)
    if rest := sum(counts[_GROUPS_MAX:]):
        yield f"  and {counted(rest, 'node')} more, for other reasons (--output json has all)"


def _group(group: JSONObject) -> Iterator[str]:
    """Describe what keeps nodes from a pod, without their names."""
    requests = group["requests"]
    details = f": {'; '.join(group['details'])}" if group["details"] else ""
    also = "" if group["byDevices"] else "also "
    if also:
        yield f": {', '.join(group['reasons'])}{details}"
    lacks, alone = unmet(requests), combined(requests) if requests else ""
    names = Counter(each["request"] for each in requests)
    shown = [each for each in requests if key_of(each) in lacks or (alone and not lacks)]
    for request in shown:
        claim = f" of claim {request['claim']}" if names[request["request"]] > 1 else ""
        text = f"{_funnel(request)}{'' if lacks else f'; {alone}'}"
        yield f", {also}{request['for']}{claim}: {text}{_unused(request['unused'])}"
    if requests and not shown:
        yield f": each request alone can be met, but not all of them together{details}"


def _funnel(request: JSONObject) -> str:
    """Describe the remaining devices of a node after each step, up to the one that leaves too few."""
    wanted = wanted_of(request)
    parts: list[str] = []
    before = None
    for key, label in stages_of(request):
        number = request[key]
        if number != before or key in {"seen", "ofClass"} or (key == "selected" and request["selecting"]):
            parts.append(f"{number} {label}" if label else counted(number, "device"))
        before = number
        if number < wanted and (key != "seen" or not number):
            return f"{', '.join(parts)}{_because(request, key)}{_wanted(wanted)}"
    constrained = request["constrained"]
    if constrained is not None and constrained < wanted:
        because = f": {request['because']}" if request["because"] else ""
        return f"{', '.join(parts)}, {constrained} with {request['constraint']}{because}{_wanted(wanted)}"
    if request["together"] is not None:
        together = f"{request['together']} together{_because(request, 'together')}"
        return f"{', '.join(parts)}, {together}{_wanted(wanted)}"
    return f"{', '.join(parts)}{_wanted(wanted)}"


def _unused(pools: Sequence[JSONObject]) -> str:
    """Name an unused pool, and count the others."""
    if not pools:
        return ""
    first, *rest = pools
    more = counted(sum(each["devices"] for each in rest), "device")
    others = f", and {more} of {counted(len(rest), 'other pool')}" if rest else ""
    devices = counted(first["devices"], "device")
    return f"; not used: {devices} of pool {first['pool']}, which is {first['why']}{others}"


def _wanted(wanted: int) -> str:
    return f"; {wanted} are wanted" if wanted > 1 else ""


def _because(request: JSONObject, key: str) -> str:
    if key == "seen":
        return "" if request["unused"] else f": {request['because']}"
    held = _held(request) if key in {"free", "enough", "together"} else ""
    because = "" if held and key == "free" else request["because"]
    reasons = ", ".join(filter(None, (because, held)))
    return f": {reasons}" if reasons else ""


def _held(request: JSONObject) -> str:
    holders = request["heldBy"]
    if not holders:
        return ""
    named = [_holder(each) for each in holders[:_HOLDERS_MAX]]
    if others := holders[_HOLDERS_MAX:]:
        least = "" if request["allExamined"] else "at least "
        named.append(f"and {least}{counted(len(others), 'other claim')}")
    return f"held by {', '.join(named)}"


def _holder(holder: JSONObject) -> str:
    where = f" on {shortened(holder['nodes'])}" if holder["nodes"] else ""
    return f"claim {holder['claim']}{where}{used_by(holder)}"


_KINDS: Final = frozenset({"pod", "pods", "po"})


def take_names(arguments: Namespace, inventory: Inventory) -> list[JSONObject]:
    """Take paths that are not files for names of pods; return the pods, and leave the other paths.

    Raises:
        UsageError: The name matches no pod or more than one, or no cluster is given.
    """
    names = [path for path in arguments.paths if _may_be_name(path)]
    if names and not arguments.cluster:
        raise UsageError(f"{names[0]}: no such file; a pod is named together with its cluster: --cluster")
    arguments.paths = [path for path in arguments.paths if path not in names]
    return [pod_of(each, inventory, arguments.namespace) for each in names]


def _may_be_name(path: str) -> bool:
    namespace, _, name = _without_kind(path).rpartition("/")
    is_file = os.path.lexists(path) or path.endswith(SUFFIXES)
    return not (is_file or "/" in namespace or dns_subdomain(name, NEWEST))


def _without_kind(path: str) -> str:
    """Leave out the kind of ``pod/NAME``, as kubectl spells it."""
    kind, slash, name = path.partition("/")
    return name if slash and kind in _KINDS else path


def pod_of(given: str, inventory: Inventory, only: str | None, absent: str = "no file and no pod") -> JSONObject:
    """Find the pod of a name; it may be in any namespace, if none is stated and only one has it.

    Args:
        absent: What has been looked for.
    """
    known = [f"{namespace}/{name}" for namespace, name in inventory.names("Pod")]
    namespace, _, name = _without_kind(given).rpartition("/")
    namespace = namespace or only or ""
    same = [each for each in known if each.endswith(f"/{name}")]
    found = [each for each in same if each == f"{namespace or DEFAULT_NAMESPACE}/{name}"]
    if not (found or namespace):
        found = same
    if len(found) != 1:
        of = f"namespace {namespace}" if namespace else "the cluster"
        what = f"several pods of {of} have this name" if found else f"{absent} of {of} has this name"
        raise UsageError(f"{given}: {what}: {_hint(same or _probable(namespace, name, known), known)}")
    namespace, _, name = found[0].partition("/")
    return inventory.find("Pod", name, namespace) or {}


def _probable(namespace: str, name: str, known: Sequence[str]) -> list[str]:
    """Return the pods that a name probably means: those that a workload of this name has made, or a similar one."""
    made = [each for each in known if each.rpartition("/")[2].startswith(f"{name}-")]
    by_name = {each.partition("/")[2]: each for each in known}
    near = nearest(f"{namespace}/{name}", known) if namespace else by_name.get(nearest(name, by_name), "")
    return made or ([near] if near else [])


def _hint(meant: Sequence[str], known: Sequence[str]) -> str:
    if meant:
        return f"did you mean {listed(meant)}?"
    return f"the cluster has {listed(known)}" if known else "the cluster has no pods"


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
        self._created: dict[tuple[str, str], None] = {}
        self.notes: list[str] = []
        """What to tell of the manifests."""

    @property
    def workloads(self) -> Sequence[JSONObject]:
        """The pods and workloads."""
        return [each for made in self._made.values() for each in made]

    @property
    def created(self) -> Iterator[JSONObject]:
        """The claims that the cluster does not have yet."""
        return filter(None, (self._inventory.find(CLAIMS[0], name, namespace) for namespace, name in self._created))

    def add(self, obj: JSONObject) -> None:
        """Take an object; one of the same kind and name is an update.

        Raises:
            MalformedError: It cannot be decoded.
        """
        who = _named(obj)
        key = (text(obj, "apiVersion").rpartition("/")[0], text(obj, "kind"), namespace_of(obj), name_of(obj))
        if name_of(obj) and (old := self._objects.get(key)) is not None:
            if refusal := self._refusal(obj, old):
                self.notes.append(
                    f"{who} is given twice, and the first is simulated: the API server refuses the second, {refusal}"
                )
                return
            which = "with the second" if obj != old else "once"
            self.notes.append(f"{who} is given twice: it is simulated {which}, as kubectl apply updates an object")
        self._made[key] = made = self._makers(obj, who)
        if made or text(obj, "kind") in KINDS:
            self._objects[key] = obj
        for each in made:
            if (pod := sample(each)) is not None:
                Inventory().take(pod)  # so that findings are located in its template

    def _refusal(self, obj: JSONObject, old: JSONObject) -> str:
        """Return why the API server refuses an update; empty if it does not."""
        if obj == old or text(obj, "apiVersion") != text(old, "apiVersion"):
            return ""
        found = review(obj, old, kubernetes=self._release, feature_gates=self._gates).problems
        return next((f"{each.field}: {each.message}" for each in found if each.level == ERROR), "")

    def _makers(self, obj: JSONObject, who: str) -> list[JSONObject]:
        """Return the pods and workloads of an object, or add it to the cluster."""
        if is_workload(obj):
            # A pod does not replace one of the cluster here: that may run already.
            made = [Inventory().take(obj) or obj]
        else:
            made, notes = stand_ins(obj, self.templates)
            self.notes += (f"{who}: {each}" for each in notes)
            names = name_of(obj), namespace_of(obj)
            is_new = text(obj, "kind") == CLAIMS[0] and self._inventory.find(CLAIMS[0], *names) is None
            self._inventory.take(self._with_status(obj))
            if is_new and not text(obj, "metadata", "uid"):
                self._created[names[::-1]] = None
        if made and is_suspended(obj):
            self.notes.append(f"{who} is suspended: its pods are simulated as if it were resumed")
        return made

    def _with_status(self, obj: JSONObject) -> JSONObject:
        """Return an object with the status that it has in the cluster, which an update does not change."""
        kind = text(obj, "kind")
        if kind not in KINDS or "status" in obj:
            return obj
        name = name_of(obj)
        old = self._inventory.find(kind, name, namespace_of(obj)) or self._inventory.find(kind, name)
        return {**obj, "status": old["status"]} if old and "status" in old else obj


def _named(obj: JSONObject) -> str:
    """Return an object's kind and name, with the namespace that is stated, or that its kind has."""
    served = find(obj.get("apiVersion"), obj.get("kind"))
    has_namespace = served.type.namespaced if served else bool(text(obj, "metadata", "namespace"))
    return f"{text(obj, 'kind')} {full_name_of(obj) if has_namespace else name_of(obj)}"


_PODS_MAX: Final = 150_000
"""The maximum number of pods in a cluster (kubernetes.io/docs/setup/best-practices/cluster-large)."""


class Pods(NamedTuple):
    """The pods to schedule.

    Args:
        every: All of them; pending pods of other namespaces than a stated one only use up devices.
        reported: The places of those to report.
    """

    every: Sequence[JSONObject]
    reported: Sequence[int]


class Limit(NamedTuple):
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
    if arguments.fit and arguments.output == "html":
        raise UsageError("--fit counts pods, and --output html draws where they go: choose one of them")
    deadline = monotonic() + arguments.timeout
    try:
        with limited(Budget(deadline=deadline, is_offline=True)):  # which ends selectors that take long to compile
            return _simulate(arguments, deadline)
    except DeadlineExceededError:
        show_lines([f"not simulated: {_passed(arguments)}; give a longer --timeout"], sys.stderr)
        return 1


def _simulate(arguments: Namespace, deadline: float) -> int:
    if complaint := piped_twice({"the pods": arguments.paths, "the cluster": arguments.cluster}):
        raise UsageError(complaint)
    report = Report()
    only = arguments.namespace or ""
    inventory = read_cluster(arguments.cluster, report, namespace=only, quiet=arguments.quiet, tell=tell)
    if report.errors and not (inventory.all("Node") or inventory.all("Pod")):
        return show_refusals(report)
    settings = settings_of(arguments, inventory)
    named = take_names(arguments, inventory)
    texts: dict[str, list[str]] = {}
    namespace = arguments.namespace or DEFAULT_NAMESPACE
    documents = read_sources(arguments, arguments.paths, str(settings), namespace, texts)
    ready = prepare(arguments, settings, inventory, named=named, documents=documents, report=report)
    if (code := show_refusals(report, texts)) or ready is None:
        return code
    scheduler, pods, notes = ready
    _show_notes(notes, pods.every, inventory, arguments)
    limit = Limit(deadline, _passed(arguments, is_reading=monotonic() >= deadline))
    once = (scheduler.cluster.settings.taint_rules_ignored, scheduler.cluster.of_unknown_size)
    result = Text(color=wants_colors(arguments), once=once)
    if arguments.fit:
        return _fit(scheduler, [pods.every[index] for index in pods.reported], result, limit, arguments)
    return _schedule(scheduler, pods, result, limit, arguments)


def settings_of(arguments: Namespace, inventory: Inventory) -> Settings:
    """Return the release and gates of the scheduler; without --kubernetes-version, the release is that of the nodes.

    Raises:
        UsageError: The release is not simulated.
    """
    stated = kubernetes(arguments) or release_in(inventory.all("Node"))
    try:
        return Settings.of(stated, feature_gates(arguments, stated))
    except ValueError as error:
        raise UsageError(f"--kubernetes-version: {error}") from error


class Words(NamedTuple):
    """What messages call the ways to ask.

    Args:
        fit: What counts how many pods fit.
        give: How to give pods.
    """

    fit: str = "--fit"
    give: str = "give manifests of pods or workloads, or --pending"


_WORDS: Final = Words()


class Prepared(NamedTuple):
    """What is to be simulated.

    Args:
        notes: What to tell of the manifests.
    """

    scheduler: Scheduler
    pods: Pods
    notes: Sequence[str]


def prepare(
    arguments: Namespace,
    settings: Settings,
    inventory: Inventory,
    *,
    named: Sequence[JSONObject],
    documents: Sequence[Document | Unreadable],
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
    refused = Refused(documents, inventory, stated, gates, namespace=namespace)

    def as_stored(obj: JSONObject) -> JSONObject:
        return stored(in_namespace(obj, namespace), kubernetes=stated, feature_gates=gates)

    data = (each.data for each in documents if not isinstance(each, Unreadable) and isinstance(each.data, dict))
    given = _Given(inventory, Templates(in_namespace(each, namespace) for each in data), stated, gates)
    _read(documents, as_stored, refused, given, report)
    if report.errors:
        return None
    if arguments.fit:
        _check_fit(given.workloads, words.fit)
    what_if(arguments, inventory, namespace)
    pods = _pods(given, inventory, arguments, named, words.give)
    if not pods.reported and arguments.fit:
        raise UsageError(f"{words.fit} takes one pod or workload, and no pod is pending: give one")
    try:
        scheduler = Scheduler(Cluster(inventory, settings))
    except ValueError as error:
        raise UsageError(f"Kubernetes {stated}: {error}") from error
    scheduler.cluster.create(given.created)
    return Prepared(scheduler, pods, given.notes)


def _passed(arguments: Namespace, *, is_reading: bool = True) -> str:
    return f"{arguments.timeout:g} seconds have passed{' while files were read' if is_reading else ''}"


def _read(
    documents: Iterable[Document | Unreadable],
    as_stored: Callable[[JSONObject], JSONObject],
    refused: Refused,
    given: _Given,
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


def what_if(arguments: Namespace, inventory: Inventory, default: str) -> None:
    """Remove nodes, and release claims with the pods that use them, according to the options.

    Args:
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


def _pods(given: _Given, inventory: Inventory, arguments: Namespace, named: Sequence[JSONObject], give: str) -> Pods:
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
    holder = Inventory() if arguments.fit else inventory
    reported = [
        index for index, pod in enumerate(found) if index < asked or arguments.namespace in {None, namespace_of(pod)}
    ]
    return Pods([holder.take(pod) or pod for pod in found], reported)


def _schedule(scheduler: Scheduler, pods: Pods, result: Text, limit: Limit, arguments: Namespace) -> int:
    page = Page(scheduler.cluster.inventory, scheduler.cluster.settings) if arguments.output == "html" else None
    found = answer_all(scheduler, pods, limit, page, quiet=arguments.quiet)
    left = [pods.every[index] for index in pods.reported if index not in found]
    if page is not None:
        answers = [found[index] for index in sorted(found)]
        told = f"simulated as Kubernetes {scheduler.cluster.settings}; {NOT_SIMULATED}"
        show_escaped(page.lines(answers, result.summary(answers, arguments.namespace), told))
    elif arguments.output != "text":
        missing = f"not simulated: {limit.passed}"
        places = sorted(found.keys() | pods.reported)
        every = [found.get(index) or Answers.unfinished(pods.every[index], missing) for index in places]
        show_structured([{"kubernetes": str(scheduler.cluster.settings), **each} for each in every], arguments.output)
    else:
        answers = [found[index] for index in sorted(found)]
        show_lines(result.answers(answers))
        if not arguments.quiet:
            if answers or not left:
                show_lines([result.summary(answers, arguments.namespace)])
            show_lines([f"simulated as Kubernetes {scheduler.cluster.settings}; {NOT_SIMULATED}"])
    if left:
        names = listed([full_name_of(pod) for pod in left])
        asked = len(pods.reported)
        pods_left = f"{len(left)} of {asked} pods" if asked > 1 else "1 pod"
        advice = "give fewer pods, or a longer --timeout" if found else "give a longer --timeout"
        show_lines([f"not simulated: {pods_left} ({names}): {limit.passed}; {advice}"], sys.stderr)
    if any(each["why"]["reason"].startswith(FAILED) for each in found.values()):
        return OWN_FAILURE
    return 1 if left or not all(map(gets_devices, found.values())) else 0


class Page:
    """A page with a picture of the devices, as they were before, and what pods get of them.

    Args:
        inventory: The objects, before pods are scheduled.
    """

    def __init__(self, inventory: Inventory, settings: Settings) -> None:
        from webhook.devices import Table  # few results are pages
        from webhook.report.picture import DRAWN
        from webhook.scan.stored import Cluster as Stored

        self._cluster = Stored(inventory=inventory, settings=settings)
        self._rows = list(Table(self._cluster).rows())
        self.pending: dict[Sequence[str], tuple[JSONObject, Overlay | None, list[str]]] = {}
        """The first of the pods that are pending for the same reason, and the names of all."""
        self._drawable = len(DRAWN)
        """The requests of which the picture can still draw how far they come."""

    def add(self, answer: JSONObject, placement: Placement, tell: Answers) -> None:
        """Note what the picture shows of a pod, once for those that are pending for the same reason."""
        if not (likeness := _likeness(answer)):
            return
        if likeness not in self.pending:
            overlay = tell.overlay(placement) if self._drawable > 0 else None
            self._drawable -= max(1, len(overlay.depths)) if overlay else 0
            self.pending[likeness] = answer, overlay, []
        self.pending[likeness][2].append(answer["name"])

    def picture(self, answers: Sequence[JSONObject]) -> Picture:
        """Return the picture, with the pods that have answers."""
        from webhook.report.picture import Picture, Story

        stories, given = [], dict[tuple[str, str, str], list[str]]()
        for first, overlay, names in self.pending.values():
            several = f" … {names[-1]} ({counted(len(names), 'pod')})" if len(names) > 1 else ""
            stories.append(Story.of(f"{_name(first)}{several}", first, overlay))
        for answer in (each for each in answers if each["node"] is not None and not _ran_before(each)):
            stories.append(Story.of(_name(answer), answer, None))
            for allocation in answer["claims"].values():
                for each in items(allocation, "devices", "results"):
                    given.setdefault((each["driver"], each["pool"], each["device"]), []).append(_name(answer))
        names_given = {key: ", ".join(dict.fromkeys(names)) for key, names in given.items()}
        return Picture(self._rows, self._cluster, stories=stories, given=names_given)

    def lines(self, answers: Sequence[JSONObject], summary: str, told: str) -> Iterator[str]:
        """Return the lines of a page."""
        from webhook.report.html import pictured

        return pictured(self.picture(answers), summary, level_of(answers), [told])


def level_of(answers: Iterable[JSONObject]) -> str:
    """Return how bad answers are, as pages name it."""
    return "fine" if all(map(gets_devices, answers)) else "error"


def answer_all(
    scheduler: Scheduler, pods: Pods, limit: Limit, page: Page | None, *, quiet: bool
) -> dict[int, JSONObject]:
    """Schedule pods while there is time; return the results by the pods' places: those reported, and failures."""
    cluster = scheduler.cluster
    tell, references = Answers(scheduler), References(cluster)
    found: dict[int, JSONObject] = {}
    reported = frozenset(pods.reported)
    with limit.enforced(), counting(f"of {len(reported)} pods", sys.stderr, quiet=quiet) as progress:
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
                    if page is not None:
                        page.add(answer, placement, tell)
                except GRAVE:
                    raise
                except Exception as error:  # noqa: BLE001 - the other pods still get their answers
                    answer = Answers.unfinished(pods.every[index], own_failure(error))
                found[index] = answer
    return found


def _check_fit(workloads: Iterable[JSONObject], counts: str) -> None:
    """Refuse to count pods of a workload that has one on each node.

    Raises:
        UsageError: A workload is a DaemonSet.
    """
    for each in workloads:
        if text(each, "kind") == "DaemonSet":
            name = f"DaemonSet {full_name_of(each)}"
            raise UsageError(
                f"{counts} counts copies of one pod, and {name} has one pod on each node: "
                f"leave {counts} out to see them"
            )


def fitted(
    scheduler: Scheduler, pods: Sequence[JSONObject], limit: Limit, *, quiet: bool, counts: str = _WORDS.fit
) -> tuple[str, Fit, JSONObject | None]:
    """Count how many pods fit; return their name, the count, and the result of the first that does not fit.

    Raises:
        UsageError: The pods differ.
    """
    if len({_shape(pod) for pod in pods}) > 1:
        raise UsageError(f"{counts} takes one pod or workload, and there are {len(pods)} different pods")
    with limit.enforced(), counting("pods fit so far", sys.stderr, quiet=quiet) as progress:
        found = fit(scheduler, pods[0], progress)
        last = _explained(scheduler, found.last, limit) if found.last else None
    if last is not None:
        last["why"]["notes"] += filter(None, [shared(pods[0])])
    return full_name_of(pods[0]), found, last


def _fit(scheduler: Scheduler, pods: Sequence[JSONObject], result: Text, limit: Limit, arguments: Namespace) -> int:
    pod, found, last = fitted(scheduler, pods, limit, quiet=arguments.quiet)
    if arguments.output != "text":
        counts = {"pod": pod, "pods": found.pods, "nodes": found.nodes, "last": last}
        show_structured({"kubernetes": str(scheduler.cluster.settings), **counts}, arguments.output)
    else:
        show_lines(result.fit(pod, found, last))
        if not arguments.quiet:
            show_lines([f"simulated as Kubernetes {scheduler.cluster.settings}; {NOT_SIMULATED}"])
    if found.is_cut:
        show_lines([f"more pods may fit: {limit.passed}; give a longer --timeout"], sys.stderr)
    return 1 if found.is_cut or not found.pods else 0


def _explained(scheduler: Scheduler, placement: Placement, limit: Limit) -> JSONObject:
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
