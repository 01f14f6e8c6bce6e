"""Pods on a node: not started, running, or ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from webhook.allocation.devices import Tolerations, taint_of
from webhook.explain.components import cures
from webhook.hints.names import listed
from webhook.inventory import devices_reported, has_ended
from webhook.inventory.claims import MADE, Blocked, Use, allocation_of, claims_named, device_of, requests_of, results_of
from webhook.inventory.plugins import home_of
from webhook.inventory.resources import is_of_resources
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
    texts,
)
from webhook.references.pods import WITHOUT_DEVICES
from webhook.scan.claims import RELEASE_ONE, bad_conditions, evicting, held_twice, is_gone
from webhook.scan.stored import AllocatedDevice
from webhook.simulation.binding import lacks, time_of
from webhook.simulation.changes import of_taints
from webhook.simulation.cluster import Demand, NodeState
from webhook.simulation.scheduler import DEFAULT_SCHEDULER
from webhook.simulation.workloads import priority
from webhook.spelling import either
from webhook.why import claims, containers, drivers
from webhook.why.containers import CRASHED, PREPARE, brief
from webhook.why.scene import About, Cause, Event, Ref, Scene, about_taints

_FORGETTING: Final = re.compile(r"v1\.34\.[01](?![0-9])")
"""The kubelets that forget a driver when the connection to it has been idle for half an hour (kubernetes#133920)."""
_SEE_LOG: Final = "see the log of the driver's pod on the node"
_UNREGISTERED: Final = re.compile(r"(?i)\bDRA driver (\S+) is not registered|plugin name (\S+) not found in the list")
_OF_PARAMETERS: Final = re.compile(
    r"(?i)\bconfig|\bparameter|\bopaque|\bdecod|unknown field|unmarshal|feature gate|not supported|strategy"
)
"""The words of drivers that do not take the parameters of a claim."""
_BEFORE_WORDS: Final = re.compile(
    r"(?i)\bprepare dynamic resources: |\bNodePrepareResources failed for (?:ResourceClaim|claim) [\w.-]+: "
    r"|\bpreparing devices for claim \S+: |\bprepare(?: devices)? failed: |\bdesc = "
)
"""The words of components before those of a driver."""
_OF_KUBELET: Final = re.compile(
    r"(?i)\bfetch (?:ResourceClaim|claim) \S+?(?: referenced by pod \S+?)?: (?P<unread>.+)"
    r"|(?P<unreserved>\bnot allowed to use resource ?claim\b)|(?P<earlier>claim with same name \S+ and different UID\b)"
    r"|\bcheckpoint ResourceClaim\b"
)
"""Kubelet's own messages about a claim, before it calls drivers (``pkg/kubelet/cm/dra/manager.go``)."""
_PREEMPTED: Final = re.compile(r"Preempted by pod ([\w-]{36})")
NOT_STARTED, RUNNING, ENDED = "not-started", "running", "ended"


def stage_of(pod: JSONObject) -> str:
    """Return the stage of a pod that has a node."""
    if has_ended(pod) or at(pod, "metadata", "deletionTimestamp"):
        return ENDED
    if text(pod, "status", "phase") == "Running":
        return RUNNING
    runs = any(at(each, "state", "running") is not None for each in items(pod, "status", "containerStatuses"))
    return RUNNING if runs else NOT_STARTED


def explain(scene: Scene, pod: JSONObject) -> list[Cause]:
    """Say what is wrong with a pod that has a node, the most decisive first."""
    stage = stage_of(pod)
    if stage == ENDED:
        return list(_ended(scene, pod))
    if stage == RUNNING:
        return list(_running(scene, pod)) or [_healthy(scene, pod)]
    where = text(pod, "spec", "nodeName")
    starting = Cause(f"is bound to {where}, and kubelet is starting it{_devices_are_there(scene, pod)}", [pod])
    node = scene.inventory.find("Node", where)
    found = list(_not_started(scene, pod, node)) or list(_of_drivers(scene, pod, node)) or [starting]
    return [*found, *without_devices(scene, pod, "will run")]


# -- ended


def _ended(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    if at(pod, "metadata", "deletionTimestamp"):
        yield _terminating(scene, pod)
        return
    about, kept = [pod, *scene.owners(pod)], ""
    if items(pod, "spec", "resourceClaims"):
        held = next((each.claim for each in uses(scene, pod) if allocation_of(each.claim)), None)
        kept = f"; claim {full_name_of(held)} still has its devices" if held else "; its claims are released"
    if text(pod, "status", "phase") == "Succeeded":
        yield Cause(f"has succeeded (completed): it has ended, and nothing is wrong{kept}", about, is_well=True)
        return
    target = _disruption(pod)
    if target is not None:
        yield _disrupted(scene, pod, target)._replace(stage=ENDED)
    if reason := text(pod, "status", "reason"):
        words = text(pod, "status", "message")
        said = f"has failed ({reason}): {brief(words) or 'see its events'}{kept}"
        yield Cause(said, about, words=f"{reason}: {words}")
        return
    for status in containers.failed(pod):
        ended, name = mapping(status, "state", "terminated"), text(status, "name")
        said = containers.last_words(ended)
        said = f"has failed: container {name} ended with {containers.outcome(ended)}{said and f': {said}'}{kept}"
        yield Cause(said, [Ref("Container", name), about], (scene.logs(pod),))
    if target is None and not list(containers.failed(pod)):
        yield Cause(f"has failed{kept}", about)


def _disruption(pod: JSONObject) -> JSONObject | None:
    found = condition_of(pod, "DisruptionTarget")
    return found if text(found, "status") == "True" else None


def _terminating(scene: Scene, pod: JSONObject) -> Cause:
    target, down, home = _disruption(pod), _node_down(scene, pod), text(pod, "spec", "nodeName")
    helps = down.helps if down else ()
    if down and scene.inventory.find("Node", home):
        taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
        then = "its pods are removed then, and their claims released"
        helps = (f"if {home} does not come back, delete it, or taint it with {taint}: {then}",)
    if target is not None:
        found = _disrupted(scene, pod, target)
        held = list(dict.fromkeys(full_name_of(each.claim) for each in results(scene, pod)))
        then = f", and releases claim {', '.join(held)} then" if held else ""
        then = f", which kubelet cannot confirm: {down.text}" if down else then
        return found._replace(text=f"{found.text}; it is being terminated{then}", helps=(*found.helps, *helps))
    if down:
        return down._replace(text=f"is terminating, and kubelet cannot confirm it: {down.text}", helps=helps)
    if unprepared := scene.events(pod, "FailedUnprepareDynamicResources", "FailedKillPod"):
        words = unprepared[0].words
        return Cause(f"is terminating, and kubelet cannot release it: {brief(words)}", [pod], words=words)
    if finalizers := texts(pod, "metadata", "finalizers"):
        return Cause(f"is terminating until finalizer {' and '.join(finalizers)} is removed", [pod])
    if cause := next(_unreleased(scene, pod), None):
        return cause
    seconds = number(pod, "metadata", "deletionGracePeriodSeconds") or 0
    said = "is being deleted (terminating) since a user or its controller deleted it"
    return Cause(f"{said}; it has {seconds} s to end", [pod])


_ORPHANED: Final = "kube-controller-manager deletes pods without a node, and releases their claims; if not, see its log"
_OVERDUE: Final = 120
"""The seconds for which a pod may outlast its grace period."""


def _unreleased(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which drivers a pod waits for that should be gone: kubelet keeps it until they have released its devices."""
    name = text(pod, "spec", "nodeName")
    node = scene.inventory.find("Node", name)
    if node is None or not scene.is_older(text(pod, "metadata", "deletionTimestamp"), _OVERDUE):
        return
    is_whole = scene.inventory.knows("DaemonSet") or scene.inventory.knows("ResourceSlice")
    for driver in dict.fromkeys(each.pool[0] for each in results(scene, pod)):
        trouble = drivers.on_node(scene, driver, node)
        if is_whole and not scene.devices_on.get(driver) and drivers.plugin_of(scene, driver) is None:
            trouble = drivers.absent(scene, driver)
        if trouble:
            said = f"is terminating, and kubelet cannot release its devices without driver {driver} on {name}"
            yield trouble._replace(text=f"{said}: {trouble.text}", about=[pod, trouble.about])


def _node_down(scene: Scene, pod: JSONObject) -> Cause | None:
    """Say that the node of a pod is not ready, or is gone; None if it is ready, or not read, or no nodes are known."""
    name = text(pod, "spec", "nodeName")
    if node := scene.inventory.find("Node", name):
        found = drivers.not_ready(node)
        return found and found._replace(text=f"its node {name} {found.text}")
    is_gone = name and scene.inventory.knows("Node") and not scene.inventory.exists("Node", name, "")
    return Cause(f"its node {name} does not exist", [Ref("Node", name), pod], (_ORPHANED,)) if is_gone else None


def _disrupted(scene: Scene, pod: JSONObject, target: JSONObject) -> Cause:
    """Say who ended a pod: the scheduler for another pod, a taint, an eviction or kubelet."""
    reason, words = text(target, "reason"), text(target, "message")
    node = text(pod, "spec", "nodeName")
    if reason == "PreemptionByScheduler":
        who = "a pod of higher priority"
        if by := next(filter(None, (_preemptor(scene, each) for each in scene.events(pod, "Preempted"))), None):
            its, mine = (priority(each, scene.inventory) for each in (by, pod))
            who = f"pod {full_name_of(by)} (priority {its} over {mine})"
        return Cause(f"was preempted on {node} by {who}", [by, _class_of(by), Ref("Node", node), pod])
    if reason == "DeletionByDeviceTaintManager":
        tainted = next(_tainted(scene, pod, "NoExecute"), Cause("a taint of one of its devices"))
        return tainted._replace(text=f"was evicted because of {tainted.text}")
    if reason == "DeletionByTaintManager":
        taints = list(map(taint_of, items(scene.inventory.find("Node", node), "spec", "taints")))
        taints = [each for each in taints if each.effect == "NoExecute"]
        which = f": {' and '.join(map(str, taints))}" if taints else ""
        keys = [Ref("Taint", each.key) for each in taints]
        return Cause(f"was evicted because of a taint of its node {node}{which}", [Ref("Node", node), keys])
    return Cause(f"was ended ({reason}): {brief(words)}", [pod, Ref("Node", node)], words=words)


def _preemptor(scene: Scene, event: Event) -> JSONObject | None:
    """Return the pod for which the scheduler has ended another one; its event has only the UID."""
    uids = _PREEMPTED.findall(event.words)
    return next((each for each in scene.inventory.all("Pod") if text(each, "metadata", "uid") in uids), None)


ENDINGS: Final = {
    "Preempted": "was preempted",
    "DeviceTaintManagerEviction": "was evicted by a taint of its device",
    "TaintManagerEviction": "was evicted by a taint of its node",
    "Evicted": "was evicted by kubelet",
}
"""The reasons of events about pods that were ended from outside, and what they mean."""
_SOON: Final = timedelta(minutes=2)
"""The time in which a controller makes another pod."""


def predecessor(scene: Scene, pod: JSONObject) -> Cause | None:
    """Say how the pod was ended in whose place another one was made; None if that is not known.

    Args:
        pod: The pod that was made.
    """
    owner = scene.owner(pod)
    if owner is None:
        return None
    made = time_of(text(pod, "metadata", "creationTimestamp"))
    for each in scene.of_gone(f"{name_of(owner)}-", namespace_of(pod)):
        ended = time_of(each.time)
        if each.reason not in ENDINGS or made is None or ended is None or abs(made - ended) > _SOON:
            continue
        by = _preemptor(scene, each)
        who = f" by pod {full_name_of(by)}" if by else ""
        about = [by, _class_of(by), Ref("Pod", text(each.about, "name"), namespace_of(pod))]
        return Cause(f"pod {text(each.about, 'name')} {ENDINGS[each.reason]}{who}", about)
    return None


def _class_of(pod: JSONObject | None) -> Ref | None:
    name = text(pod, "spec", "priorityClassName")
    return Ref("PriorityClass", name) if name else None


# -- claims and devices


def uses(scene: Scene, pod: JSONObject) -> list[Use]:
    """Return the claims of a pod; none if one is missing."""
    found = claims.uses(scene, pod)
    return [] if isinstance(found, Blocked) else found


def _unreserved(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say that a pod bypassed the scheduler, or has lost its claims."""
    node = text(pod, "spec", "nodeName")
    blocked = claims.uses(scene, pod)
    if isinstance(blocked, Blocked):
        for cause in claims.blocking(scene, pod):
            yield cause._replace(text=f"{cause.text}; it names its node itself (spec.nodeName {node})")
        return
    home = scene.inventory.find("Node", node)
    every = ((lacks(each, node, home), each) for each in blocked)
    unreserved = [(why, each) for why, each in every if why or not each.consumer.has(each.claim)]
    if not unreserved:
        return
    lacked, bad = max(unreserved, key=lambda each: bool(each[0]))
    claim, starts = bad.claim, "kubelet does not start it"
    sources = [each for each in scene.claim_sources(pod).values() if each.kind == "ResourceClaimTemplate"]
    name = f"claim {bad.name if name_of(claim).endswith(MADE) else name_of(claim)}"
    scheduler = text(pod, "spec", "schedulerName") or DEFAULT_SCHEDULER
    if not lacked:
        said = f"{name} is allocated, and not reserved for it yet"
        starts = "kube-controller-manager reserves it, and kubelet then starts the pod"
        help_ = "if it stays so, see the log of kube-controller-manager"
    elif scheduler != DEFAULT_SCHEDULER or scene.events(pod, "Scheduled"):
        what = "not reserved for it" if allocation_of(claim) else "never allocated"
        said = f"{name} was {what} by its scheduler {scheduler} (spec.schedulerName), which has bound it to {node}"
        help_ = (
            f"switch on the support of claims in {scheduler} (kube-scheduler: the feature gate "
            "DynamicResourceAllocation and the plugin DynamicResources; Volcano: "
            "predicate.DynamicResourceAllocationEnable of the plugin predicates), and create the pod again"
        )
    else:
        so = f"and {lacked}" if allocation_of(claim) else f"so {name} was never allocated"
        said = f"spec.nodeName ({node}) bypassed the scheduler, {so}"
        also = "".join(f", and {each.text}" for each in of_taints(Demand.of(pod), [NodeState(home)] if home else ()))
        selector = f"with nodeSelector kubernetes.io/hostname: {node} (draguard mutate){also}"
        there = "so that it runs where the devices of its claim are"
        help_ = f"create the pod without nodeName, {there if allocation_of(claim) else selector}"
    yield Cause(f"{said}: {starts}", [pod, claim, Ref("Node", node), sources], (help_,))


def results(scene: Scene, pod: JSONObject) -> Iterator[AllocatedDevice]:
    """Yield the devices of a pod's claims, for extended resources and being deleted, too."""
    used = (each.claim for each in uses(scene, pod))
    named = (scene.inventory.find("ResourceClaim", name, namespace_of(pod)) or {} for name in claims_named(pod))
    for claim in {name_of(each): each for each in (*used, *named)}.values():
        yield from (AllocatedDevice(claim, each) for each in results_of(claim))


def gone(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which devices of a pod's claims are no longer published."""
    for each in results(scene, pod):
        if is_gone(each, scene):
            written = scene.claim_sources(pod).get(name_of(each.claim))
            yield Cause(
                f"ResourceClaim {full_name_of(each.claim)} is allocated device {each}, which no ResourceSlice "
                "publishes any more: the device is gone",
                [Ref("Device", each.device), each.claim, written, Ref("Driver", each.pool[0])],
                ("create the pod again, so that its claim gets another device; see the driver's log for this one",),
            )


def _held_twice(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which devices of a pod's claims other claims hold, too, though they cannot be shared."""
    for each in results(scene, pod):
        holders = held_twice(scene).get((each.pool, each.device), ())
        others = [one for one in holders if one is not each.claim]
        if others and not each.content.get("adminAccess"):
            who, too = full_name_of(each.claim), listed(map(full_name_of, others))
            said = f"device {each} of claim {who} is held by claim {too}, too, though it cannot be shared"
            yield Cause(said, [Ref("Device", each.device), each.claim, others], (RELEASE_ONE,))


def _tainted(scene: Scene, pod: JSONObject, *effects: str) -> Iterator[Cause]:
    """Yield the taints that devices of a pod's claims have got since.

    Args:
        effects: Their effects on this pod and others; one that does not evict it keeps new pods away.
    """
    catalog = scene.cluster.allocator.catalog
    for result in results(scene, pod):
        found = catalog.find((*result.pool, result.device))
        tolerated = Tolerations(items(result.content, "tolerations"))
        evicts = {taint_of(each): seconds for each, seconds in evicting(result, scene)}
        asked = [each.content for each in requests_of(result.claim) if each.name == text(result.content, "request")]
        wanted = Tolerations([one for each in asked for one in items(each, "tolerations")])
        for taint in found.content.taints if found else ():
            effect = "NoExecute" if taint in evicts else "" if tolerated.cover(taint) else "NoSchedule"
            if found and effect in effects:
                about: list[About] = [about_taints(taint), Ref("Device", found.name), result.claim]
                what = help_ = ""
                if evicts.get(taint):
                    what = ", which the claim tolerates for a while (tolerationSeconds)"
                elif tolerated.cover(taint):
                    what = ", which the claim tolerates, but without effect: NoExecute"
                    help_ = (
                        "state effect: NoExecute in the toleration: others do not count for the controller that evicts"
                    )
                elif wanted.cover(taint):
                    what = ", which the claim tolerates, but not its allocation"
                    help_ = "update kube-scheduler: from 1.35 on it copies tolerations into the allocation"
                yield Cause(f"the taint {taint} of device {found}{what}", about, (help_,) if help_ else ())


# -- not started


def _not_started(scene: Scene, pod: JSONObject, node: JSONObject | None) -> Iterator[Cause]:
    yield from _unreserved(scene, pod)
    if down := _node_down(scene, pod):
        yield down._replace(text=f"{down.text}, so that kubelet does not start it")
        if node is None:
            return
    if unprepared := scene.events(pod, PREPARE):
        yield from _of_drivers(scene, pod, node, unprepared[0])
    yield from gone(scene, pod)
    yield from _held_twice(scene, pod)
    if unprepared:
        yield from _of_preparing(scene, pod, unprepared[0])
    yield from _unhealthy(scene, pod)
    tail = _devices_are_there(scene, pod)
    ended = (each for each in containers.failed(pod) if text(each, "state", "waiting", "reason") != CRASHED)
    held_up = [*containers.waiting(scene, pod), *(containers.crashed(scene, pod, each) for each in ended)]
    for cause in held_up or containers.said_by_kubelet(scene, pod):
        yield cause._replace(text=f"{cause.text}{tail}")
    for cause in _tainted(scene, pod, "NoSchedule", "NoExecute"):
        yield cause._replace(text=f"is on a device with a taint: {cause.text}")


def _devices_are_there(scene: Scene, pod: JSONObject) -> str:
    return "; its devices are allocated" if any(True for _ in results(scene, pod)) else ""


def _of_drivers(scene: Scene, pod: JSONObject, node: JSONObject | None, event: Event | None = None) -> Iterator[Cause]:
    """Say which drivers of a pod's devices do not run on its node.

    Args:
        event: What kubelet says about preparing the devices.
    """
    named, where = _unregistered(event), text(pod, "spec", "nodeName")
    wanted = [each.pool[0] for each in results(scene, pod)]
    for driver in dict.fromkeys([*([named] if named else []), *wanted]):
        if trouble := drivers.on_node(scene, driver, node) if node is not None else None:
            how = "registered with kubelet" if driver == named else "running"
            said = f"driver {driver} is not {how} on {where}: {trouble.text}"
            yield trouble._replace(text=said, about=[trouble.about, Ref("Driver", driver), node])
        elif event and driver == named:
            yield _not_registered(scene, driver, where, event)


def _unregistered(event: Event | None) -> str:
    """Return the driver that kubelet does not know, as it says; empty if it says something else."""
    found = _UNREGISTERED.search(event.words) if event else None
    return (found[1] or found[2]) if found else ""


def _not_registered(scene: Scene, driver: str, where: str, event: Event) -> Cause:
    """Say why kubelet does not know a driver that nothing is wrong with as far as is known."""
    node = scene.inventory.find("Node", where)
    why, help_ = drivers.unknown(scene), f"install driver {driver}"
    if driver in drivers.published_on(scene, where):
        why, help_ = f"its devices are published there, and {why}", _SEE_LOG
    if plugin := drivers.plugin_of(scene, driver, node):
        since = text(condition_of(plugin.pods.get(where), "Ready"), "lastTransitionTime")
        its_pod = f"the pod of its DaemonSet {full_name_of(plugin.workload)}"
        why, help_ = f"{its_pod} is ready by now, and kubelet tries again", ""
        if "" < since < event.time:
            why = f"{its_pod} has been ready since {since}"
            help_ = (
                "give the driver the directories plugins and plugins_registry below kubelet's --root-dir, which is not "
                "/var/lib/kubelet in k0s and MicroK8s, by hostPath and under the same path in the container; else see "
                "its log"
            )
        if _FORGETTING.match(text(node, "status", "nodeInfo", "kubeletVersion")):
            help_ = (
                "update kubelet to 1.34.2: up to 1.34.1, it forgets drivers that it has not called for half an hour; "
                "until then, restart kubelet or the driver's pod"
            )
    said = f"driver {driver} is not registered with kubelet on {where}: {why}"
    return Cause(said, [Ref("Driver", driver), node, plugin and plugin.workload], (help_,) if help_ else ())


def unregistered(scene: Scene, node: JSONObject) -> Iterator[Cause]:
    """Say which drivers kubelet of a node does not know, though pods there wait for them, and nothing is wrong else."""
    waiting = (each for each in scene.inventory.all("Pod") if text(each, "spec", "nodeName") == name_of(node))
    said = (each for pod in waiting if stage_of(pod) == NOT_STARTED for each in scene.events(pod, PREPARE)[:1])
    for driver, event in {_unregistered(each): each for each in said}.items():
        if driver and drivers.on_node(scene, driver, node) is None:
            yield _not_registered(scene, driver, name_of(node), event)


def _of_preparing(scene: Scene, pod: JSONObject, event: Event) -> Iterator[Cause]:
    """Say what kubelet or a driver says of the claim that is not prepared."""
    if _unregistered(event):
        return
    sources = scene.claim_sources(pod)
    used = [each.claim for each in uses(scene, pod)]
    claim = next((each for each in used if name_of(each) in event.words), used[0] if len(used) == 1 else None)
    found = [text(each, "driver") for each in results_of(claim)]
    configs = [*items(claim, "status", "allocation", "devices", "config"), *items(claim, "spec", "devices", "config")]
    configured = [text(each, "opaque", "driver") for each in configs]
    who = f"driver {either(list(dict.fromkeys(found)))}" if found else "its driver"
    written = sources.get(name_of(claim)) if claim else None
    what = f"{written.kind} {written.name}" if written else "its claim"
    words = _BEFORE_WORDS.split(event.words)[-1]
    about = [written, claim, *(Ref("Driver", each) for each in dict.fromkeys(found))]
    if own := _OF_KUBELET.search(words):
        stored = f"ResourceClaim {name_of(claim)}" if claim else what
        yield _by_kubelet(scene, pod, own, stored, [written, claim])
    elif any(each in configured for each in found) and _OF_PARAMETERS.search(words):
        rules = ("wrong-parameters", "driver-gate")
        hint = next((f" ({brief(each, 120)})" for rule in rules for each in scene.rule(rule, claim or {})), "")
        of_class = any(text(each, "source") == "FromClass" for each in configs)
        stated = f"the opaque parameters of {what}{' or its class' * of_class}"
        help_ = "correct the parameters, and create the claim again: they cannot be changed in place"
        yield Cause(f"{who} refuses {stated}: {brief(words, 160)}{hint}", about, (help_,))
    else:
        helps = cures(words) or [_SEE_LOG]
        yield Cause(f"{who} cannot prepare the devices of {what}: {brief(words)}", about, tuple(helps))


def _by_kubelet(scene: Scene, pod: JSONObject, said: re.Match[str], what: str, about: About) -> Cause:
    """Say why kubelet does not ask the drivers to prepare a claim."""
    node = Ref("Node", text(pod, "spec", "nodeName"))
    who, around = f"kubelet on {node.name}", [about, node]
    if said["unread"]:
        found = f"{who} cannot read {what}: {brief(said['unread'])}"
        if "the server could not find the requested resource" not in said["unread"]:
            return Cause(found, around, words=said.string)
        version = text(scene.inventory.find("Node", node.name), "status", "nodeInfo", "kubeletVersion")
        found += "; it asks for a version of resource.k8s.io that the API server does not serve"
        help_ = "serve that version (--runtime-config), or bring kubelet and the API server to the same release"
        return Cause(f"{found}{version and f' (kubelet {version})'}", [node, about], (help_,))
    if said["unreserved"]:
        found = f"{who} has not found it in status.reservedFor of {what}: kubelet does not start it before"
        return Cause(found, around)
    if said["earlier"]:
        found = f"{who} still holds the devices of an earlier {what}, whose pod was deleted by force"
        return Cause(found, around, (f"wait until they are released; if they are not, {_SEE_LOG}",))
    return Cause(f"{who} cannot prepare {what}: {brief(said.string)}", around, words=said.string)


# -- running


def _running(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    yield from _unseen(scene, pod)
    yield from _unhealthy(scene, pod)
    yield from gone(scene, pod)
    yield from _held_twice(scene, pod)
    for cause in _tainted(scene, pod, "NoExecute"):
        what = "is going to be evicted because of"
        if any(isinstance(each, dict) and is_of_resources(each) for each in cause.about):
            what = "is not evicted, as its device is for an extended resource (kubernetes#141290), in spite of"
        yield cause._replace(text=f"{what} {cause.text}")
    troubled = list(containers.failed(pod))
    has = "; the pod has its devices" if _devices_are_there(scene, pod) else ""
    for cause in (containers.crashed(scene, pod, each) for each in troubled):
        yield cause._replace(text=f"{cause.text}{has}")
    yield from (each for each in containers.waiting(scene, pod) if not troubled)
    for status in containers.unready(pod):
        probes = [each for each in scene.events(pod, "Unhealthy") if each.warns]
        words = f": {brief(probes[0].words)}" if probes else ""
        name = text(status, "name")
        yield Cause(f"container {name} runs, and is not ready{words}", [Ref("Container", name)])
    yield from _lost(scene, pod)
    yield from (each for each in drivers.unpublished_on(scene, home_of(pod)) if each.about[0] is pod)
    for status in containers.restarted(pod):
        if status not in troubled:
            ended, name = mapping(status, "lastState", "terminated"), text(status, "name")
            words, times = containers.last_words(ended), number(status, "restartCount")
            how = f"{containers.outcome(ended)}{words and f': {words}'}"
            said = f"container {name} runs, and has ended {times} times, the last with {how}"
            yield Cause(said, [Ref("Container", name)], words=containers.words_of_runtime(ended))
    if down := _node_down(scene, pod):
        yield down._replace(text=f"{down.text}: the status of its containers may be outdated")
    for cause in _tainted(scene, pod, "NoSchedule"):
        yield cause._replace(text=f"runs, but {cause.text} keeps new pods from it")


def without_devices(scene: Scene, pod: JSONObject, how: str) -> Iterator[Cause]:
    """Say which containers get no devices, as they name requests that their claims do not have.

    Args:
        how: Whether they run now.
    """
    for container, said in scene.places("request-not-found", pod):
        name = text(container, "name")
        wrong = [text(each, "request") for each in items(container, "resources", "claims") if text(each, "request")]
        about = [*(Ref("Request", each) for each in wrong), Ref("Container", name), *scene.claim_sources(pod).values()]
        help_ = "name a request of the claim in resources.claims, and create the pod again"
        why = brief(said.replace(WITHOUT_DEVICES, ""))
        yield Cause(f"container {name} {how} without devices: {why}", about, (help_,))


def _unseen(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which containers run without devices, and which claims no container uses."""
    yield from without_devices(scene, pod, "runs")
    sources = scene.claim_sources(pod)
    for entry, _ in scene.places("claim-not-used", pod):
        name = text(entry, "name")
        which = text(entry, "resourceClaimTemplateName") or text(entry, "resourceClaimName")
        refs = [each for each in sources.values() if each.name == which]
        said = f"no container uses claim {name} ({' and '.join(map(str, refs))}): none names it in resources.claims"
        then = "so that the pod runs without the devices that are allocated to it"
        help_ = f"add resources.claims: [{{name: {name}}}] to the container, and create the pod again"
        yield Cause(f"{said}, {then}", [Ref("Claim in the pod", name), refs], (help_,))


def _lost(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which claims a running pod has lost."""
    help_ = "create the pod again, and find out who has changed the status of the claim"
    for claim in (each.claim for each in uses(scene, pod) if not each.consumer.has(each.claim)):
        lost = "is not reserved for it any more" if allocation_of(claim) else "is not allocated any more"
        said = f"runs, but claim {name_of(claim)} {lost}: other pods may get its devices"
        yield Cause(said, [claim, *scene.claim_sources(pod).values()], (help_,))


def _unhealthy(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which devices of a pod are unhealthy, as kubelet, the driver or both report it."""
    sick = (each for each in devices_reported(pod) if text(each, "health") == "Unhealthy")
    reported = {text(each, "resourceID"): text(each, "message") for each in sick}
    tainted = list(_tainted(scene, pod, "NoExecute", "NoSchedule"))
    named = False
    for result in {(name_of(each.claim), str(each)): each for each in results(scene, pod)}.values():
        claim, device, place = result.claim, result.device, device_of(result.content)
        by_kubelet = next((said for id_, said in reported.items() if result.is_identified(id_)), None)
        bad = next((said for each, said in bad_conditions(claim) if said and each == place), "")  # of some share of it
        if by_kubelet is None and not bad:
            continue
        named, words = True, by_kubelet or bad
        more = next((f"; {each.text}" for each in tainted if Ref("Device", device) in each.about), "")
        said = f"device {result} of claim {name_of(claim)} is unhealthy{words and f': {brief(words)}'}{more}"
        help_ = "create the pod again, so that its claim gets another device, and have this one looked at"
        yield Cause(said, [Ref("Device", device), claim, Ref("Driver", result.pool[0])], (help_,))
    if reported and not named:
        first, words = next(iter(reported.items()))
        yield Cause(f"device {first} is unhealthy{words and f': {brief(words)}'}", [Ref("Device", first)], words=words)


def _healthy(scene: Scene, pod: JSONObject) -> Cause:
    """Say that a pod runs as it should, and with which devices."""
    devices = listed(map(str, results(scene, pod)))
    where = f"{text(pod, 'spec', 'nodeName')}{devices and f' with {devices}'}"
    return Cause(f"runs on {where}; nothing is wrong with it as far as its objects tell", [pod], is_well=True)
