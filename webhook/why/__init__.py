"""Why a pod has no devices: ``draguard why`` follows it from a claim that was never created to a pod that has ended.

:func:`explain` answers for a pod, a workload, a claim or a node. Why a workload makes no pods, and which of its pods is
the one to look at, is said here; the other parts go by the stages: :mod:`claims <webhook.why.claims>` (not created,
missing), :mod:`pending <webhook.why.pending>` (no node), :mod:`started <webhook.why.started>` (not started, running,
ended), and :mod:`drivers <webhook.why.drivers>` (which publish on a node). Objects count, words of components only
explain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

from webhook.budget import Budget, BudgetExceededError, DeadlineExceededError, limited
from webhook.escapes import printable
from webhook.explain.components import cures
from webhook.findings import GRAVE
from webhook.grouping import by_key
from webhook.inventory import MalformedError, replicas_of
from webhook.inventory.affinity import wants
from webhook.inventory.claims import MADE, allocation_of, devices_of, pods_using
from webhook.inventory.plugins import Plugin
from webhook.inventory.quotas import Quotas
from webhook.inventory.resources import is_extended
from webhook.objects import (
    JSONObject,
    at,
    condition_of,
    full_name_of,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from webhook.references.pods import QUEUE
from webhook.scan.drivers import unpublished
from webhook.scan.stored import WORKLOADS
from webhook.simulation.cluster import Demand
from webhook.simulation.workloads import is_suspended, sample
from webhook.why import claims, drivers, pending, started
from webhook.why.containers import brief, failed, last_words, outcome
from webhook.why.scene import NOT_EXPLAINED, SORTS, Cause, Event, Ref, Scene, ref_of, refs_of

__all__ = ["Scene", "explain", "gone", "pending_by_sort", "subject_of"]

LONGEST: Final = 400
"""The most characters of the first line."""
_OBJECTS_MAX: Final = 16
_EVENTS_MAX: Final = 10
_MESSAGE_MAX: Final = 1000
_GENERATED: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?=[\"'])")
"""The end of a generated name (apimachinery's ``util/rand``), in quotes."""


def subject_of(kind: str, name: str, namespace: str) -> str:
    """Return what the first line calls an object, such as ``ml/trainer``, ``ml/deployment/chat`` or ``node/gpu-1``."""
    if kind == "Node":
        return f"node/{name}"
    word = "" if kind == "Pod" else f"{kind.lower().removeprefix('resource')}/"
    return f"{namespace}/{word}{name}"


def explain(scene: Scene, obj: JSONObject, subject: str) -> JSONObject:
    """Say why an object is as it is, what would help, and by what that is known.

    Args:
        obj: The object: a pod, a workload, a claim or a node.
    """
    if (kind := text(obj, "kind")) == "Node":
        told = _of_node(scene, obj)
    elif kind == "ResourceClaim":
        told = _of_claim(scene, obj)
    else:
        told = _of_pod(scene, obj) if kind == "Pod" else _of_workload(scene, obj)
    return _answer(scene, subject, *told)


def gone(scene: Scene, name: str, namespace: str, subject: str) -> JSONObject | None:
    """Say what became of a pod that is gone, by its events; None if there are none."""
    known = scene.inventory.knows("Pod")
    events = [each for each in scene.of_gone(name, namespace) if text(each.about, "name") == name] if known else []
    if not events:
        return None
    ending = (each for each in events if each.reason in {*started.ENDINGS, "Killing"})
    first = next(ending, next((each for each in events if each.warns), events[0]))
    about = Ref("Pod", name, namespace), scene.mentioned(first.words, namespace)
    said = f"the pod is gone; the last that is known of it: {first.reason}: {first.words}"
    found = Cause(said, about, words=f"{first.reason}: {first.words}")
    answer = _answer(scene, subject, started.ENDED, [found], [])
    answer["evidence"] += map(_event, _alike(events))
    return answer


def pending_by_sort(scene: Scene, seconds: float) -> dict[str, int]:
    """Count the pods that want devices and wait for a node, or do not start on theirs, by the sort of their cause.

    Pods of one workload of which the scheduler says the same are explained once. The simulation changes the scene.

    Args:
        scene: The cluster, with all objects of its kinds.
        seconds: How long it may take; pods that are not reached by then are ``not-explained``.
    """
    counts, known = dict.fromkeys(SORTS, 0), dict[tuple[str, ...], str]()
    end = monotonic() + seconds
    with limited(Budget(deadline=end, is_offline=True)):
        for pod in scene.inventory.pending():
            if at(pod, "metadata", "deletionTimestamp") or not _wants_devices(scene, pod):
                continue
            if text(pod, "spec", "nodeName"):
                counts[started.NOT_STARTED] += 1
                continue
            owners = [text(each, "uid") for each in items(pod, "metadata", "ownerReferences")]
            said = text(condition_of(pod, "PodScheduled"), "message")
            key = (said, *owners) if owners else (namespace_of(pod), name_of(pod))
            if key not in known:
                known[key] = _sort_of(scene, pod) if monotonic() < end else NOT_EXPLAINED
            counts[known[key]] += 1
    return counts


def _sort_of(scene: Scene, pod: JSONObject) -> str:
    try:
        return pending.explain(scene, pod)[0][0].sort or "other"
    except (BudgetExceededError, DeadlineExceededError):
        return NOT_EXPLAINED
    except GRAVE:
        raise
    except Exception:
        import logging  # errors of our own are rare

        error = "an internal error: pod %s is not explained; please report it"
        logging.getLogger(__name__).exception(error, full_name_of(pod))
        return NOT_EXPLAINED


def _wants_devices(scene: Scene, pod: JSONObject) -> bool:
    """Tell whether a pod has claims, or requests what a class provides, or nothing does."""
    named, provides = filter(is_extended, Demand.of(pod).requests), scene.cluster.extended.provides
    has_claims = bool(items(pod, "spec", "resourceClaims"))
    return has_claims or any(provides(each) or each not in scene.offered for each in named)


_Told = tuple[str, list[Cause], list[JSONObject]]
"""The stage of an object, the causes of its state, and the objects whose states and events are the evidence."""


def _of_node(scene: Scene, node: JSONObject) -> _Told:
    found = [*drivers.of_node(scene, node), *started.unregistered(scene, node), *claims.kept(scene, name_of(node))]
    found = found or [Cause(drivers.summary(scene, node), [node], is_well=True)]
    return "node", found, [node, *(each.workload for each in drivers.running(scene))]


def _of_workload(scene: Scene, workload: JSONObject) -> _Told:
    found, pod = of_workload(scene, workload)
    if pod is None:
        return found[0].stage or "no-pod", found, [workload, *scene.owned(workload)]
    return _of_pod(scene, pod, workload)


def _of_pod(scene: Scene, pod: JSONObject, asked: JSONObject | None = None) -> _Told:
    """Say why a pod is as it is; for the workload or claim that is asked about."""
    stage = started.stage_of(pod)
    if absent := scene.uncollected(pod):
        return stage, [_not_collected(pod, absent)], [pod]
    used = started.uses(scene, pod)  # before the simulation allocates them
    if text(pod, "spec", "nodeName") or stage == started.ENDED:
        found = started.explain(scene, pod)
    else:
        found, placement = pending.explain(scene, pod)
        found[0] = found[0]._replace(helps=(*claims.outdated(scene, pod), *pending.helps(scene, found[0], placement)))
        if not found[0].stage and (before := started.predecessor(scene, pod)):
            said = f"{before.text}, and its successor {name_of(pod)} is pending: {found[0].text}"
            about = [before.about, found[0].about]
            found[0] = found[0]._replace(text=said, about=about, stage=started.ENDED, names_pod=True)
        is_reserved = any(allocation_of(each.claim) and each.consumer.has(each.claim) for each in used)
        stage = found[0].stage or (started.NOT_STARTED if is_reserved else "pending")
        found += [*pending.scaling(scene, pod), *started.without_devices(scene, pod, "will run")]
    around = [pod, *scene.owners(pod), *(each.claim for each in used if not name_of(each.claim).endswith(MADE))]
    if asked is None:
        return stage, found, around
    first, *others = found
    said = first.text if first.names_pod else f"pod {name_of(pod)}: {first.text}"
    named = first._replace(text=said, about=[first.about, pod])
    return stage, [named, *(each for each in others if each.text != first.text)], [asked, *around]


def _of_claim(scene: Scene, claim: JSONObject) -> _Told:
    stage = "pending"
    if at(claim, "metadata", "deletionTimestamp"):
        found = claims.being_deleted(scene, claim)
    elif users := claims.users_of(scene, claim):
        return _of_pod(scene, min(users, key=lambda pod: bool(text(pod, "spec", "nodeName"))), claim)
    elif absent := scene.uncollected(claim):
        stage, found = started.NOT_STARTED, _not_collected(claim, absent)
    else:
        found = claims.unused(scene, claim)
    return stage, [found], [claim]


def _not_collected(obj: JSONObject, kind: str) -> Cause:
    """Say that objects are needed that were not collected."""
    several = f"{kind}{'es' if kind.endswith('s') else 's'}"
    said = f"--cluster has no {several}, and its other objects show that the cluster has some"
    help_ = f"collect the {several} of all namespaces, too, as draguard snapshot does"
    return Cause(f"cannot be explained: {said}", [obj], (help_,))


def _answer(scene: Scene, subject: str, stage: str, found: list[Cause], around: list[JSONObject]) -> JSONObject:
    several = {id(each): each for each in around}.values()
    states = ({**ref_of(each).as_json(), "state": printable(_state(each))} for each in several)
    about = dict.fromkeys(refs_of([each.about for each in found]))
    found = [first for first, *_ in by_key((each.text, each) for each in found).values()]
    # No name commands a terminal from these lines, and none is too long.
    lines = [printable(" ".join(f"{subject}: {each.text}".split())) for each in found]
    lines = [each if len(each) <= LONGEST else f"{each[: LONGEST - 1]}…" for each in lines]
    return {
        "asked": subject,
        "stage": stage,
        "isWell": all(each.is_well for each in found),
        "cause": lines[0],
        "objects": [each.as_json() for each in list(about)[:_OBJECTS_MAX]],
        "others": lines[1:],
        "helps": list(dict.fromkeys(found[0].helps or cures(found[0].words))),
        "evidence": [*states, *map(_event, _alike([event for each in several for event in scene.events(each)]))],
        "kubernetes": str(scene.settings),
    }


def _alike(events: Sequence[Event]) -> list[Event]:
    """Return the last events in time; those that differ in generated names only are one."""
    found: dict[tuple[str, str, str], Event] = {}
    for event in sorted(events, key=lambda each: each.when):
        words = _GENERATED.sub("-", event.words.removeprefix("(combined from similar events): "))
        key = (text(event.about, "uid"), event.reason, words)
        before = found.pop(key, None)
        found[key] = event._replace(times=(before.times or 1) + (event.times or 1)) if before else event
    return list(found.values())[-_EVENTS_MAX:]


def _event(event: Event) -> JSONObject:
    about = Ref(text(event.about, "kind"), text(event.about, "name"), text(event.about, "namespace"))
    told = {"time": event.time, "reason": event.reason, "count": event.times, "message": event.words[:_MESSAGE_MAX]}
    return {**about.as_json(), **told}


def _state(obj: JSONObject) -> str:
    """Write the state of an object in short: its phase or allocation, and the conditions that are not True."""
    parts = [text(obj, "status", "phase")]
    if text(obj, "kind") == "ResourceClaim":
        devices = devices_of(obj)
        parts.append(f"allocated {', '.join(devices[:4])}" if devices else "not allocated")
        if pods := pods_using(obj):
            parts.append(f"reserved for {len(pods)} pod{'s' * (len(pods) != 1)}, the first is {pods[0]}")
    if node := text(obj, "spec", "nodeName"):
        parts.append(f"on {node}")
    for each in items(obj, "status", "conditions"):
        if text(each, "status") == "False" or text(each, "type") in {"DisruptionTarget", "Failed", "ReplicaFailure"}:
            words = text(each, "message") or text(each, "reason")
            parts.append(f"{text(each, 'type')}={text(each, 'status')}{words and f' ({words[:200]})'}")
    return "; ".join(filter(None, parts))


_PODS_MAX: Final = 64
"""How many running pods of a workload are looked at."""
_FAILED: Final = ("FailedCreate", "ReplicaSetCreateError", "FailedScheduling", "BackoffLimitExceeded")
_BEFORE: Final = re.compile(
    r"^(?:\(combined from similar events\): )?(?:Error creating: |create Pod .*? failed error: )?"
)


def of_workload(scene: Scene, workload: JSONObject) -> tuple[list[Cause], JSONObject | None]:
    """Say why a workload makes no pods, or has ended; else return its pod that is to be looked at.

    Args:
        workload: A Deployment, ReplicaSet, StatefulSet, DaemonSet, Job or CronJob.
    """
    kind, pods = text(workload, "kind"), scene.pods_of(workload)
    # If no Jobs were collected, a CronJob owns their pods.
    jobs = [each for each in scene.owned(workload) if text(each, "kind") == "Job"]
    if kind == "CronJob" and jobs and not is_suspended(workload):
        return of_workload(scene, max(jobs, key=lambda each: text(each, "metadata", "creationTimestamp")))
    worst = min(pods, key=lambda each: _rank(scene, workload, each), default=None)
    found = list(_by_itself(scene, workload, pods))
    if not found and (worst is None or _is_ready(worst)):
        found = list(_lacking(scene, workload, pods))
    if found or worst is None:
        return found or list(_of_parts(scene, workload)) or [_silent(scene, workload)], None
    if started.stage_of(worst) == started.RUNNING:
        live = [each for each in pods[:_PODS_MAX] if started.stage_of(each) != started.ENDED]
        # The first pods that publish nothing, of each driver that a DaemonSet runs, though they should.
        silent = (plugin.pods[nodes[0]] for plugin, _, nodes in unpublished(scene) if plugin.workload is workload)
        every = (worst, *silent, *live)
        worst = next((each for each in every if not all(one.is_well for one in started.explain(scene, each))), worst)
    return [], worst


def _by_itself(scene: Scene, workload: JSONObject, pods: Sequence[JSONObject]) -> Iterator[Cause]:
    """Say why a workload should have no pods: it is suspended, has ended, or has no replicas."""
    kind, about = text(workload, "kind"), [workload]
    if is_suspended(workload):
        said = "is suspended (spec.suspend): it makes no pods until it is resumed"
        yield _queued(scene, workload) or Cause(said, about)
    yield from _of_job(workload, pods)
    if not pods and (by := text(workload, "spec", "managedBy")) not in {"", "kubernetes.io/job-controller"}:
        yield Cause(f"has no pod: {by} manages it (spec.managedBy), perhaps in another cluster", about)
    if kind != "DaemonSet" and replicas_of(workload) == 0:
        field = "parallelism" if kind == "Job" else "replicas"
        yield Cause(f"has no pods, as its {field} is 0", about, (f"raise spec.{field}",))


def _queued(scene: Scene, workload: JSONObject) -> Cause | None:
    """Say that a workload waits for Kueue, and whether Kueue can admit it; None if it does not."""
    labels, namespace = mapping(workload, "metadata", "labels"), namespace_of(workload)
    known, said = scene.kueue_says(workload)
    is_stopped = is_suspended(workload)
    if not (queue := text(labels, QUEUE) or text(known, "spec", "queueName")) or not (said or is_stopped):
        return None
    pod = _sample(workload)
    why = next(scene.rule("kueue-unsupported", {**pod, "owner": {"labels": labels}}), "") if pod else ""
    why = brief(said) or why
    described = (f"{each} --namespace {namespace}" for each in ("workloads.kueue.x-k8s.io", f"localqueue {queue}"))
    helps = () if why else tuple(scene.inventory.kubectl(f"describe {each}") for each in described)
    state = "is suspended (spec.suspend)" if is_stopped else "has no pod"
    what = f"{state}: Kueue has not admitted it, in queue {queue}{why and f': {why}'}"
    return Cause(what, [workload, known, Ref("LocalQueue", queue, namespace)], helps, words=said)


def _sample(workload: JSONObject) -> JSONObject | None:
    """Return a pod as a workload makes it; None if it makes none, or has no template."""
    with suppress(MalformedError):
        return sample(workload)
    return None


def _of_parts(scene: Scene, workload: JSONObject) -> Iterator[Cause]:
    """Say why an owner of another project has no pods: it waits for Kueue, or a workload that it controls has none."""
    if text(workload, "kind") in WORKLOADS:
        return
    parts = ((part, each) for part in scene.owned(workload) for each in of_workload(scene, part)[0])
    waiting = _queued(scene, workload)
    yield from [waiting] if waiting else (each._replace(text=f"{ref_of(part)} {each.text}") for part, each in parts)


def _lacking(scene: Scene, workload: JSONObject, pods: Sequence[JSONObject]) -> Iterator[Cause]:
    """Say why a workload has fewer pods than it should have, or old ones; all that it has are ready."""
    kind, live = text(workload, "kind"), sum(started.stage_of(each) != started.ENDED for each in pods)
    wanted = number(workload, "status", "desiredNumberScheduled") if kind == "DaemonSet" else replicas_of(workload)
    if live < (wanted or 1):
        yield from _refused(scene, workload, live)
    if pods and kind == "Deployment" and at(workload, "spec", "paused") is True:
        yield Cause("is paused (spec.paused): changes of its template make no new pods", [workload])


def _rank(scene: Scene, workload: JSONObject, pod: JSONObject) -> tuple[bool, bool, bool, int, str]:
    """Put the pod first that holds a workload up: not ready, of the newest revision, the first of a StatefulSet."""
    owner = scene.owner(pod)
    is_ended = started.stage_of(pod) == started.ENDED and text(workload, "kind") != "Job"
    return is_ended, _is_ready(pod), bool(text(pod, "spec", "nodeName")), -_revision(owner or {}), name_of(pod)


def _is_ready(pod: JSONObject) -> bool:
    return text(condition_of(pod, "Ready"), "status") == "True"


def _refused(scene: Scene, workload: JSONObject, pods: int) -> Iterator[Cause]:
    """Say why the API server refuses the pods of a workload: what it would say now, else what it said last.

    Args:
        pods: The number of pods that it has.
    """
    what = f"it has only {pods} of its pods, and no more were created" if pods else "no pod was created"
    parts = [each for each in scene.owned(workload) if text(each, "kind") != "Pod"]
    namespace, pod = namespace_of(workload), _sample(workload)
    if pod is not None and (why := Quotas(scene.inventory, scene.settings.release, scene.settings.gates).refusal(pod)):
        refs = tuple(each for each in scene.mentioned(why, namespace) if each.kind == "ResourceQuota")
        help_ = f"lower what the pods request, or raise spec.hard of {refs[0]}" if refs else "raise the quota"
        said = f"{what}: {refs[0] if refs else 'a ResourceQuota'} does not allow it: {why}"
        yield Cause(said, [refs, workload], (help_,))
        return
    for maker in (workload, *sorted(parts, key=_revision, reverse=True)):
        events = scene.events(maker, *_FAILED)
        failure = condition_of(maker, "ReplicaFailure")
        words = events[0].words if events else text(failure, "message") if text(failure, "status") == "True" else ""
        if words:
            words = _BEFORE.sub("", words)
            said = f"{what}: the API server refuses it: {brief(words, 280)}"
            yield Cause(said, [scene.mentioned(words, namespace), workload], words=words)
            return


def _revision(obj: JSONObject) -> int:
    found = text(obj, "metadata", "annotations", "deployment.kubernetes.io/revision")
    return int(found) if found.isdecimal() else 0


def _silent(scene: Scene, workload: JSONObject) -> Cause:
    kind, about = text(workload, "kind"), [workload]
    if kind == "DaemonSet":
        nodes = scene.inventory.all("Node")
        spec = mapping(workload, "spec", "template", "spec")
        selected = next((each for each in nodes if wants(spec, each)), None)
        if trouble := drivers.of_plugin(scene, Plugin(workload, (), {}), selected) if selected else None:
            return trouble._replace(text=f"has no pod: {trouble.text}")
        return Cause(f"selects no node: {drivers.unselected(workload, nodes)}", about, (drivers.LABEL_NODES,))
    if gone := scene.of_gone(f"{name_of(workload)}-", namespace_of(workload)):
        last = f"the last event is about pod {text(gone[0].about, 'name')}: {brief(gone[0].words)}"
        return Cause(f"has no pod; {last}", about, words=gone[0].words)
    if kind == "CronJob":
        said = f"has no Job now: it makes one at the times of its schedule, {text(workload, 'spec', 'schedule')}"
        return Cause(said, about, is_well=True)
    if at(workload, "spec", "paused") is True:
        return Cause("has no pod, and is paused (spec.paused): its template makes none", about)
    said = "has no pod, and no event says why: does kube-controller-manager run?"
    return _not_collected(workload, "Pod") if scene.uncollected(workload) == "Pod" else Cause(said, about)


def _of_job(workload: JSONObject, pods: Sequence[JSONObject]) -> Iterator[Cause]:
    """Say how a Job has ended."""
    conditions = items(workload, "status", "conditions") if text(workload, "kind") == "Job" else ()
    holding = (each for each in conditions if text(each, "status") == "True")
    condition = next((each for each in holding if text(each, "type") in {"Complete", "Failed", "FailureTarget"}), {})
    if text(condition, "type") == "Complete":
        said = "has succeeded (complete): its pods have ended, and their claims are released"
        yield Cause(said, [workload], (), started.ENDED, is_well=True)
    elif condition:
        statuses = [(pod, status) for pod in pods for status in failed(pod)]
        ended = [mapping(status, "state", "terminated") for _, status in statuses]
        how = " and ".join(sorted({outcome(each) for each in ended}))
        last = next((f" ({each})" for each in map(last_words, ended) if each), "")
        count = len({name_of(pod) for pod, _ in statuses})
        runs = f"{count} pod{'s' * (count != 1)} ended with {how}{last}, and " if how else ""
        limit, reason = number(workload, "spec", "backoffLimit"), text(condition, "reason")
        is_limit = reason == "BackoffLimitExceeded"
        why = f"backoffLimit is {6 if limit is None else limit}" if is_limit else brief(text(condition, "message"))
        said = f"has failed ({reason}): {runs}{why}; its pods' claims are released"
        help_ = "see the log of its last pod, mend it, and create the Job again"
        yield Cause(said, [workload, *(pod for pod, _ in statuses[:3])], (help_,), started.ENDED)
