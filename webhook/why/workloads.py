"""Workloads: why they make no pods, and which of their pods is the one to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from webhook.inventory import MalformedError
from webhook.inventory.affinity import wants
from webhook.inventory.quotas import Quotas
from webhook.objects import JSONObject, at, condition_of, items, mapping, name_of, namespace_of, number, text
from webhook.references.pods import QUEUE
from webhook.simulation.workloads import is_suspended, replicas_of, sample
from webhook.why.containers import brief, failed, last_words, outcome
from webhook.why.drivers import of_plugin, unselected
from webhook.why.scene import Cause, Event, Ref, Scene, ref_of
from webhook.why.started import ENDED, explain, stage_of

NO_POD: Final = "no-pod"
_PODS_MAX: Final = 64
"""How many ready pods of a workload are looked at."""
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
    if kind == "CronJob" and (jobs := scene.owned(workload)) and not is_suspended(workload):
        return of_workload(scene, max(jobs, key=lambda each: text(each, "metadata", "creationTimestamp")))
    worst = min(pods, key=lambda each: _rank(scene, workload, each), default=None)
    found = list(_by_itself(scene, workload, pods))
    if not found and (worst is None or _is_ready(worst)):
        found = list(_lacking(scene, workload, pods))
    if found or worst is None:
        return found or [_silent(scene, workload)], None
    if _is_ready(worst):
        every = (each for each in pods[:_PODS_MAX] if stage_of(each) != ENDED)
        worst = next((each for each in every if not all(one.is_well for one in explain(scene, each))), worst)
    return [], worst


def _by_itself(scene: Scene, workload: JSONObject, pods: Sequence[JSONObject]) -> Iterator[Cause]:
    """Say why a workload should have no pods: it is suspended, has ended, or has no replicas."""
    kind, ref = text(workload, "kind"), ref_of(workload)
    if is_suspended(workload):
        yield _queued(scene, workload) or Cause(
            "is suspended (spec.suspend): it makes no pods until it is resumed", (ref,), (), NO_POD
        )
    yield from _of_job(workload, pods)
    if kind != "DaemonSet" and replicas_of(workload) == 0:
        field = "parallelism" if kind == "Job" else "replicas"
        yield Cause(f"has no pods, as its {field} is 0", (ref,), (f"raise spec.{field}",), NO_POD)


def _queued(scene: Scene, workload: JSONObject) -> Cause | None:
    """Say that a suspended workload waits for Kueue, and whether Kueue can admit it; None if it is in no queue."""
    labels, namespace = mapping(workload, "metadata", "labels"), namespace_of(workload)
    if not (queue := text(labels, QUEUE)):
        return None
    pod = sample(workload)
    never = next(scene.rule("kueue-unsupported", {**pod, "owner": {"labels": labels}}), "") if pod else ""
    return Cause(
        f"is suspended (spec.suspend): Kueue has not admitted it, in queue {queue}{never and f': {never}'}",
        (ref_of(workload), Ref("LocalQueue", queue, namespace)),
        () if never else (scene.inventory.kubectl(f"describe localqueue --namespace {namespace} {queue}"),),
        NO_POD,
    )


def _lacking(scene: Scene, workload: JSONObject, pods: Sequence[JSONObject]) -> Iterator[Cause]:
    """Say why a workload has fewer pods than it should have, or old ones; all that it has are ready."""
    kind, live = text(workload, "kind"), sum(stage_of(each) != ENDED for each in pods)
    wanted = number(workload, "status", "desiredNumberScheduled") if kind == "DaemonSet" else replicas_of(workload)
    if live < (wanted or 1):
        yield from _refused(scene, workload, live)
    if pods and kind == "Deployment" and at(workload, "spec", "paused") is True:
        yield Cause("is paused (spec.paused): changes of its template make no new pods", (ref_of(workload),))


def _rank(scene: Scene, workload: JSONObject, pod: JSONObject) -> tuple[bool, bool, bool, int, str]:
    """Put the pod first that holds a workload up: not ready, of the newest revision, the first of a StatefulSet."""
    owner = scene.owner(pod)
    is_ended = stage_of(pod) == ENDED and text(workload, "kind") != "Job"
    return is_ended, _is_ready(pod), bool(text(pod, "spec", "nodeName")), -_revision(owner or {}), name_of(pod)


def _is_ready(pod: JSONObject) -> bool:
    return text(condition_of(pod, "Ready"), "status") == "True"


def _refused(scene: Scene, workload: JSONObject, pods: int) -> Iterator[Cause]:
    """Say why the API server refuses the pods of a workload: what it would say now, else what it said last.

    Args:
        pods: The number of pods that it has.
    """
    what = f"it has only {pods} of its pods, and no more was created" if pods else "no pod was created"
    makers = [workload, *sorted(scene.owned(workload), key=_revision, reverse=True)]
    makers = [each for each in makers if text(each, "kind") != "Pod"]
    namespace = namespace_of(workload)
    pod = None
    with suppress(MalformedError):  # one without a template
        pod = sample(workload)
    if pod is not None and (why := Quotas(scene.inventory).refusal_of_pod(pod)):
        refs = tuple(each for each in scene.mentioned(why, namespace) if each.kind == "ResourceQuota")
        yield Cause(
            f"{what}: {refs[0] if refs else 'a ResourceQuota'} does not allow it: {why}",
            (*refs, ref_of(workload)),
            (f"lower what the pods request, or raise spec.hard of {refs[0]}" if refs else "raise the quota",),
            NO_POD,
        )
        return
    for maker in makers:
        said: Sequence[Event] = scene.events(maker, *_FAILED)
        failure = condition_of(maker, "ReplicaFailure")
        words = said[0].words if said else text(failure, "message") if text(failure, "status") == "True" else ""
        if words:
            words = _BEFORE.sub("", words)
            refs = scene.mentioned(words, namespace)
            yield Cause(
                f"{what}: the API server refuses it: {brief(words, 280)}",
                (*refs, ref_of(workload)),
                (),
                NO_POD,
            )
            return


def _revision(obj: JSONObject) -> int:
    found = text(obj, "metadata", "annotations", "deployment.kubernetes.io/revision")
    return int(found) if found.isdecimal() else 0


def _silent(scene: Scene, workload: JSONObject) -> Cause:
    kind, about = text(workload, "kind"), (ref_of(workload),)
    if kind == "DaemonSet":
        nodes = scene.inventory.all("Node")
        spec = mapping(workload, "spec", "template", "spec")
        selected = next((each for each in nodes if wants(spec, each)), None)
        if trouble := of_plugin(scene, workload, selected) if selected else None:
            return Cause(f"has no pod: {trouble.text}", trouble.about, (), NO_POD)
        return Cause(f"selects no node: {unselected(workload, nodes)}", about, (), NO_POD)
    if gone := scene.of_gone(f"{name_of(workload)}-", namespace_of(workload)):
        last = f"the last event is about pod {text(gone[0].about, 'name')}: {brief(gone[0].words)}"
        return Cause(f"has no pod; {last}", about, (), NO_POD)
    if kind == "CronJob":
        said = f"has no Job now: it makes one at the times of its schedule, {text(workload, 'spec', 'schedule')}"
        return Cause(said, about, (), NO_POD, is_well=True)
    if at(workload, "spec", "paused") is True:
        return Cause("has no pod, and is paused (spec.paused): its template makes none", about, (), NO_POD)
    return Cause("has no pod, and no event says why: does kube-controller-manager run?", about, (), NO_POD)


def _of_job(workload: JSONObject, pods: Sequence[JSONObject]) -> Iterator[Cause]:
    """Say how a Job has ended."""
    if text(workload, "kind") != "Job":
        return
    about = ref_of(workload)
    for condition in items(workload, "status", "conditions"):
        kind, reason, words = (text(condition, field) for field in ("type", "reason", "message"))
        if text(condition, "status") != "True":
            continue
        if kind == "Complete":
            said = "has succeeded (complete): its pods have ended, and their claims are released"
            yield Cause(said, (about,), (), ENDED, is_well=True)
            return
        if kind in {"Failed", "FailureTarget"}:
            statuses = [(pod, status) for pod in pods for status in failed(pod)]
            ended = [mapping(status, "state", "terminated") for _, status in statuses]
            how = " and ".join(sorted({outcome(each) for each in ended}))
            last = next((f" ({each})" for each in map(last_words, ended) if each), "")
            count = len({name_of(pod) for pod, _ in statuses})
            runs = f"{count} pod{'s' * (count != 1)} ended with {how}{last}, and " if how else ""
            limit = number(workload, "spec", "backoffLimit")
            is_limit = reason == "BackoffLimitExceeded"
            why = f"backoffLimit is {6 if limit is None else limit}" if is_limit else brief(words)
            yield Cause(
                f"has failed ({reason}): {runs}{why}; its pods' claims are released",
                (about, *(ref_of(pod) for pod, _ in statuses[:3])),
                ("see the log of its last pod, mend it, and create the Job again",),
                ENDED,
            )
            return
