"""Why a pod has no devices: ``draguard why`` follows it from a claim that was never created to a pod that has ended.

:func:`explain` answers for a pod, a workload, a claim or a node; the parts go by the stages: :mod:`workloads
<webhook.why.workloads>` (no pod), :mod:`claims <webhook.why.claims>` (not created, missing), :mod:`pending
<webhook.why.pending>` (no node), :mod:`started <webhook.why.started>` (not started, running, ended), and :mod:`drivers
<webhook.why.drivers>` (which publish on a node). Objects count, words of components only explain.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from time import monotonic
from typing import Any, Final

from webhook.budget import Budget, BudgetExceededError, DeadlineExceededError, limited
from webhook.findings import GRAVE
from webhook.inventory import has_ended
from webhook.inventory.claims import MADE, allocation_of, devices_of
from webhook.inventory.resources import is_extended
from webhook.objects import JSONObject, at, condition_of, full_name_of, items, name_of, namespace_of, text
from webhook.report.text import printable
from webhook.simulation.cluster import Demand
from webhook.simulation.rejections import pods_of
from webhook.why import claims, drivers, pending, started, workloads
from webhook.why.scene import NOT_EXPLAINED, SORTS, Cause, Event, Ref, Scene, ref_of

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


def explain(scene: Scene, obj: JSONObject, subject: str) -> dict[str, Any]:
    """Say why an object is as it is, what would help, and by what that is known.

    Args:
        obj: The object: a pod, a workload, a claim or a node.
    """
    kind = text(obj, "kind")
    if kind == "Node":
        return _of_node(scene, obj, subject)
    if kind == "ResourceClaim":
        return _of_claim(scene, obj, subject)
    if kind == "Pod":
        return _of_pod(scene, obj, subject)
    found, pod = workloads.of_workload(scene, obj)
    if pod is None:
        stage = next((each.stage for each in found if each.stage), workloads.NO_POD)
        return _answer(scene, subject, stage, found, evidence=[obj, *scene.owned(obj)])
    return _of_pod(scene, pod, subject, asked=obj)


def gone(scene: Scene, name: str, namespace: str, subject: str) -> dict[str, Any] | None:
    """Say what became of a pod that is gone, by its events; None if there are none."""
    known = scene.inventory.knows("Pod")
    events = [each for each in scene.of_gone(name, namespace) if text(each.about, "name") == name] if known else []
    if not events:
        return None
    ended = [each for each in events if each.reason in _ENDING] or [each for each in events if each.warns] or events
    first = ended[0]
    refs = (Ref("Pod", name, namespace), *scene.mentioned(first.words, namespace))
    found = Cause(f"the pod is gone; the last that is known of it: {first.reason}: {first.words}", refs)
    answer = _answer(scene, subject, started.ENDED, [found])
    answer["evidence"] += map(_event, _alike(events))
    return answer


_ENDING: Final = ("DeviceTaintManagerEviction", "TaintManagerEviction", "Preempted", "Evicted", "Killing")
"""The reasons of events that tell how a pod was ended."""


def pending_by_sort(scene: Scene, seconds: float) -> dict[str, int]:
    """Count the pods that want devices and wait for a node, or do not start on theirs, by the sort of their cause.

    Pods of one workload of which the scheduler says the same are explained once. The simulation changes the scene.

    Args:
        scene: The cluster, with all objects of its kinds.
        seconds: How long it may take; pods that are not reached by then are ``not-explained``.
    """
    counts, known = dict.fromkeys(SORTS, 0), dict[tuple[str, ...], str]()
    plugins = {name for each in scene.cluster.nodes for name, amount in each.allocatable.items() if amount}
    end = monotonic() + seconds
    with limited(Budget(deadline=end, is_offline=True)):
        for pod in scene.inventory.pending():
            if at(pod, "metadata", "deletionTimestamp") or not _wants_devices(scene, pod, plugins):
                continue
            if text(pod, "spec", "nodeName"):
                counts[started.NOT_STARTED] += 1
                continue
            owners = (text(each, "uid") for each in items(pod, "metadata", "ownerReferences"))
            said = text(condition_of(pod, "PodScheduled"), "message")
            key = (said, *owners) if items(pod, "metadata", "ownerReferences") else (namespace_of(pod), name_of(pod))
            if key not in known:
                known[key] = _sort_of(scene, pod) if monotonic() < end else NOT_EXPLAINED
            counts[known[key]] += 1
    return counts


def _sort_of(scene: Scene, pod: JSONObject) -> str:
    try:
        return pending.explain(scene, pod).causes[0].sort or "other"
    except (BudgetExceededError, DeadlineExceededError):
        return NOT_EXPLAINED
    except GRAVE:
        raise
    except Exception:
        import logging  # errors of our own are rare

        error = "an internal error: pod %s is not explained; please report it"
        logging.getLogger(__name__).exception(error, full_name_of(pod))
        return NOT_EXPLAINED


def _wants_devices(scene: Scene, pod: JSONObject, plugins: Container[str]) -> bool:
    """Tell whether a pod has claims, or requests what a class provides, or nothing does."""
    named = filter(is_extended, Demand.of(pod).requests)
    provides = scene.cluster.extended.provides
    return bool(items(pod, "spec", "resourceClaims")) or any(provides(each) or each not in plugins for each in named)


def _of_pod(scene: Scene, pod: JSONObject, subject: str, *, asked: JSONObject | None = None) -> dict[str, Any]:
    """Say why a pod is as it is; for the workload or claim that is asked about."""
    if absent := scene.uncollected(pod):
        return _uncollected(scene, pod, subject, absent)
    helps: tuple[str, ...] = ()
    used = started.uses(scene, pod)  # before the simulation allocates them
    if text(pod, "spec", "nodeName") or has_ended(pod):
        stage, found = started.stage_of(pod), started.explain(scene, pod)
    elif at(pod, "metadata", "deletionTimestamp"):
        stage, found = started.ENDED, started.explain(scene, pod)
    else:
        explained = pending.explain(scene, pod)
        found, helps = explained.causes, pending.helps(scene, explained)
        if not found[0].stage and (before := started.predecessor(scene, pod)):
            said = f"{before.text}, and its successor {name_of(pod)} is pending: {found[0].text}"
            about = (*before.about, *found[0].about)
            found[0] = found[0]._replace(text=said, about=about, stage=started.ENDED, names_pod=True)
        is_reserved = any(allocation_of(each.claim) and each.consumer.has(each.claim) for each in used)
        stage = found[0].stage or (started.NOT_STARTED if is_reserved else "pending")
    if asked is not None:
        first = found[0]
        said = first.text if first.names_pod else f"pod {name_of(pod)}: {first.text}"
        found = [first._replace(text=said, about=(*first.about, ref_of(pod))), *found[1:]]
    around = [
        *([asked] if asked else []),
        pod,
        *scene.owners(pod),
        *(each.claim for each in used if not name_of(each.claim).endswith(MADE)),
    ]
    return _answer(scene, subject, stage, found, helps=helps, evidence=around)


def _of_claim(scene: Scene, claim: JSONObject, subject: str) -> dict[str, Any]:
    if at(claim, "metadata", "deletionTimestamp"):
        return _answer(scene, subject, "pending", [claims.being_deleted(claim)], evidence=[claim])
    users = claims.users_of(scene, claim)
    if not users and (absent := scene.uncollected(claim)):
        return _uncollected(scene, claim, subject, absent)
    if not users:
        return _answer(scene, subject, "pending", [claims.unused(scene, claim)], evidence=[claim])
    waiting = [each for each in users if not text(each, "spec", "nodeName")]
    pod = (waiting or users)[0]
    return _of_pod(scene, pod, subject, asked=claim)


def _uncollected(scene: Scene, obj: JSONObject, subject: str, kind: str) -> dict[str, Any]:
    """Say that objects are needed that were not collected."""
    several = f"{kind}{'es' if kind.endswith('s') else 's'}"
    found = Cause(
        f"cannot be explained: --cluster has no {several}, and its other objects tell that the cluster has some",
        (ref_of(obj),),
        (f"collect the {several} of all namespaces, too, as draguard snapshot does",),
    )
    return _answer(scene, subject, started.stage_of(obj), [found], evidence=[obj])


def _of_node(scene: Scene, node: JSONObject, subject: str) -> dict[str, Any]:
    found = list(drivers.of_node(scene, node))
    if not found:
        found = [Cause(drivers.summary(scene, node), (ref_of(node),), is_well=True)]
    return _answer(scene, subject, "node", found, evidence=[node, *(each.workload for each in drivers.running(scene))])


def _answer(
    scene: Scene,
    subject: str,
    stage: str,
    found: Sequence[Cause],
    *,
    helps: Sequence[str] = (),
    evidence: Sequence[JSONObject] = (),
) -> dict[str, Any]:
    about = dict.fromkeys(ref for each in found for ref in each.about)
    lines = [_line(subject, each) for each in found]
    every = dict.fromkeys([*helps, *(help_ for each in found[:1] for help_ in each.helps)])
    return {
        "asked": subject,
        "stage": stage,
        "isWell": all(each.is_well for each in found),
        "cause": lines[0],
        "objects": [each.as_json() for each in list(about)[:_OBJECTS_MAX]],
        "others": list(dict.fromkeys(lines[1:])),
        "helps": list(every),
        "evidence": list(_evidence(scene, evidence)),
        "kubernetes": str(scene.settings),
    }


def _line(subject: str, cause: Cause) -> str:
    """Write a cause as one line, which no name commands a terminal from, and that is not too long."""
    line = printable(" ".join(f"{subject}: {cause.text}".split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _evidence(scene: Scene, objects: Sequence[JSONObject]) -> Iterator[dict[str, Any]]:
    """Yield the state of objects, their conditions, then their events in time."""
    events: list[Event] = []
    for obj in {id(each): each for each in objects}.values():
        if text(obj, "metadata", "uid"):
            events += scene.events(obj)
        yield {**ref_of(obj).as_json(), "state": printable(_state(obj))}
    yield from map(_event, _alike(events))


def _alike(events: Sequence[Event]) -> list[Event]:
    """Return the last events in time; those that differ in generated names only are one."""
    found: dict[tuple[str, str, str], Event] = {}
    for event in sorted(events, key=lambda each: each.when):
        words = _GENERATED.sub("-", event.words.removeprefix("(combined from similar events): "))
        key = (text(event.about, "uid"), event.reason, words)
        before = found.pop(key, None)
        found[key] = event._replace(times=(before.times or 1) + (event.times or 1)) if before else event
    return list(found.values())[-_EVENTS_MAX:]


def _event(event: Event) -> dict[str, Any]:
    about = Ref(text(event.about, "kind"), text(event.about, "name"), text(event.about, "namespace"))
    return {
        **about.as_json(),
        "time": event.time,
        "reason": event.reason,
        "count": event.times,
        "message": event.words[:_MESSAGE_MAX],
    }


def _state(obj: JSONObject) -> str:
    """Write the state of an object in short: its phase or allocation, and the conditions that are not True."""
    parts = [text(obj, "status", "phase")]
    if text(obj, "kind") == "ResourceClaim":
        devices = devices_of(obj)
        parts.append(f"allocated {', '.join(devices[:4])}" if devices else "not allocated")
        if pods := pods_of(obj):
            parts.append(f"reserved for {len(pods)} pod{'s' * (len(pods) != 1)}, the first is {pods[0]}")
    if node := text(obj, "spec", "nodeName"):
        parts.append(f"on {node}")
    for each in items(obj, "status", "conditions"):
        if text(each, "status") == "False" or text(each, "type") in {"DisruptionTarget", "Failed", "ReplicaFailure"}:
            words = text(each, "message") or text(each, "reason")
            parts.append(f"{text(each, 'type')}={text(each, 'status')}{words and f' ({words[:200]})'}")
    return "; ".join(filter(None, parts))
