"""Results of a simulation, as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from webhook.allocation.devices import TaintRule
from webhook.allocation.features import NEEDS_ONE_SINCE
from webhook.allocation.selecting import NO_FAULT
from webhook.api.dra.names import NAMED_BY
from webhook.deviceselectors.parts import drivers_of
from webhook.engine.prescheduled import REQUIRED_TERMS
from webhook.inventory import CLAIMS, Inventory
from webhook.inventory.claims import (
    SHARING,
    Blocked,
    DeviceID,
    allocation_of,
    claims_of,
    device_of,
    requests_of,
    reserved_for,
    results_of,
    uid_of,
)
from webhook.inventory.podgroups import group_of
from webhook.inventory.resources import ExtendedResources
from webhook.later import cached_property
from webhook.objects import JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.simulation import binding
from webhook.simulation.binding import EPOCH, written
from webhook.simulation.changes import Advice, Made, Suggestion, Suggestions
from webhook.simulation.cluster import EXTENDED, UNAVAILABLE, Cluster, Needs, Round, Verdicts
from webhook.simulation.rejections import NAMED_MAX, NodeGroup, cause, depths, node_groups, unnamed
from webhook.simulation.scheduler import PRIORITIZED_LIST, Placement, Scheduler, other_scheduler
from webhook.simulation.workloads import priority
from webhook.spelling import nearest

_HOSTNAME: Final = "kubernetes.io/hostname"
_NOTHING: Final = Advice([], 0, is_complete=True)


def _advice_untried(
    scheduler: Scheduler, placement: Placement, explained: Callable[[Verdicts, Needs], tuple[JSONObject, Advice]]
) -> Advice:
    """Correct what keeps a pod from all nodes, and count the nodes that would accept it then, or with one change more.

    Args:
        placement: A pod for which the scheduler checked no node.
        explained: Returns what would help a pod that nodes refuse.
    """
    if items(placement.pod, "spec", "schedulingGates"):
        return _NOTHING
    inventory = scheduler.cluster.inventory
    pod, done = deepcopy(placement.pod), []
    for entry in items(pod, "spec", "resourceClaims"):
        done += _with_source(entry, namespace_of(pod), inventory)
    uses = claims_of(pod, inventory, scheduler.cluster.settings.gates, is_trial=True)
    if isinstance(uses, Blocked):
        return _NOTHING
    for place, use in enumerate(uses):
        if not allocation_of(use.claim):
            uses[place] = use._replace(claim=deepcopy(use.claim))
            done += _with_classes(uses[place].claim, inventory)
    spec, node = mapping(pod, "spec"), text(pod, "spec", "nodeName")
    tries: list[tuple[list[str], JSONObject]] = [([], pod)]
    if node:  # the scheduler is to choose: the same node first, then any
        rest = {key: value for key, value in spec.items() if key != "nodeName"}
        selector = {**mapping(spec, "nodeSelector"), _HOSTNAME: node}
        what = f"with nodeSelector {_HOSTNAME}: {node} in place of nodeName (draguard mutate)"
        tries = [([what], {**pod, "spec": {**rest, "nodeSelector": selector}})]
        tries.append((["without nodeName"], {**pod, "spec": rest}))
    is_gate_off = PRIORITIZED_LIST not in scheduler.cluster.settings.gates
    asked = (each for use in uses for each in items(use.claim, "spec", "devices", "requests"))
    needs_gate = is_gate_off and any(items(each, "firstAvailable") for each in asked)
    if not done and not needs_gate and not node:
        return _NOTHING
    for tried, (change, other) in enumerate(tries, 1):
        verdicts, round_ = scheduler.filter(other, uses)
        if verdicts.fitting and not verdicts.errors:
            what = " and ".join([*done, *change])
            best = verdicts.best()
            opened = [*best, *(node for node in sorted(verdicts.fitting) if node not in {*best})]
            made = partial(Made.on, best[0], round_)
            return Advice([Suggestion(what, len(opened), opened=opened, made=made)], tried, is_complete=True)
    _, found = explained(verdicts, round_.needs)
    suggestions = [each._replace(change=" and ".join([*done, *change, each.change])) for each in found.suggestions]
    return Advice(suggestions, len(tries) + found.tried, found.is_complete)


def _with_source(entry: JSONObject, namespace: str, inventory: Inventory) -> list[str]:
    """Let an entry of a pod's claims name an object that exists; return the change."""
    for kind in CLAIMS:
        field = NAMED_BY[kind]
        name = text(entry, field)
        if name and inventory.find(kind, name, namespace) is None:
            known = [each for space, each in inventory.names(kind) if space == namespace]
            # A lone claim may be somebody else's; a lone template is for all pods of the namespace.
            only = known[0] if kind == "ResourceClaimTemplate" and len(known) == 1 else ""
            if meant := nearest(name, known) or only:
                entry[field] = meant
                return [f"with {field}: {meant} in place of {name}"]
    return []


def _with_classes(claim: JSONObject, inventory: Inventory) -> list[str]:
    """Let the requests of a claim name classes that exist, or leave out alternatives without; return the changes."""
    changes, known = [], [each for _, each in inventory.names("DeviceClass")]
    for each in requests_of(claim):
        if each.class_name not in known and (meant := nearest(each.class_name, known)):
            changes.append(f"with deviceClassName: {meant} in place of {each.class_name} in request {each.name}")
            each.content["deviceClassName"] = meant
    for request in items(claim, "spec", "devices", "requests"):
        alternatives = items(request, "firstAvailable")
        left = [each for each in alternatives if text(each, "deviceClassName") in known]
        lost = [text(each, "name") for each in alternatives if text(each, "deviceClassName") not in known]
        if left and lost:
            request["firstAvailable"] = left
            changes += [f"without alternative {name} of request {text(request, 'name')}" for name in lost]
    return changes


NOT_SIMULATED: Final = (
    "not simulated: affinity to other pods, topology spread, volumes, preemption, and all scores but those of devices"
)
_WAITING: Final = "waiting for binding conditions"
"""The reason of nodes that suit a pod whose devices are not ready yet."""
_MISTAKEN: Final = 34
"""The release whose allocator mistakes a request's devices for others (CmpRequestOverCapacity in allocateDevice)."""


class Overlay(NamedTuple):
    """The part of a picture of the devices that is about a pod that nodes refuse.

    Args:
        depths: How many stages devices pass, by claim and request.
        helps: For each change of the answer's help, the nodes that it opens, and what the pod gets on the first.
    """

    pod: JSONObject
    depths: Mapping[tuple[str, str], Mapping[DeviceID, int]]
    helps: Sequence[tuple[Sequence[str], Made | None]]


def not_simulated(pod: JSONObject) -> list[str]:
    """Return what a pod has that may keep it from a node, and is not simulated."""
    terms = {"podAffinity": "required pod affinity", "podAntiAffinity": "required pod anti-affinity"}
    used = [what for field, what in terms.items() if mapping(pod, "spec", "affinity", field).get(REQUIRED_TERMS)]
    spread = items(pod, "spec", "topologySpreadConstraints")
    if any(text(each, "whenUnsatisfiable") != "ScheduleAnyway" for each in spread):
        used.append("topology spread constraints")
    kinds = ("persistentVolumeClaim", "ephemeral")
    if any(mapping(each, kind) for each in items(pod, "spec", "volumes") for kind in kinds):
        used.append("persistent volumes")
    return used


class Answers:
    """Reports the results of pods, with the reasons; each right after the pod was scheduled."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._cluster = scheduler.cluster
        self._known = WeakKeyDictionary[Verdicts, tuple[int, tuple[str, ...], JSONObject, Advice]]()
        """The explanation of pods, for others of the same needs: how long the log was, the claims, and what is said."""
        self._advice = _NOTHING
        """The advice for the last pod."""

    def of(self, placement: Placement) -> dict[str, Any]:
        """Return the result of one pod: see :func:`webhook.simulate`."""
        why, self._advice = self._why(placement)
        reason = placement.reason
        if not reason and placement.node is None:
            unbound = (binding.used_up(placement.claims), *self._untimed(placement)) if placement.is_unbound else ()
            reason = next(filter(None, unbound), "")
            error = placement.error and f"an error ends the scheduling of the pod on all nodes: {placement.error}"
            reason = reason or error or why["reason"] or (placement.condition or {}).get("message", "")
        return _answer(placement, reason, why, self._notes(placement))

    def overlay(self, placement: Placement) -> Overlay | None:
        """Return what a picture shows of a pod without a node, right after :meth:`of`; None for other pods."""
        if placement.node is not None or placement.candidates:
            return None
        verdicts, needs = placement.verdicts, placement.needs
        passed = depths(verdicts.by_node, Round(self._cluster, needs)) if verdicts and needs else {}
        names = self._cluster.names
        helps = [
            ([names[node] for node in each.opened], each.made and each.made()) for each in self._advice.suggestions
        ]
        if verdicts and verdicts in self._known:
            # The changes that were tried left the cluster as it was: only the log grew.
            self._known[verdicts] = len(self._cluster.log), *self._known[verdicts][1:]
        return Overlay(placement.pod, passed, helps)

    @staticmethod
    def unfinished(pod: JSONObject, reason: str) -> dict[str, Any]:
        """Return the result of a pod that was not simulated."""
        return Answers.brief(Placement(pod, None, None), reason)

    @staticmethod
    def brief(placement: Placement, reason: str = "") -> dict[str, Any]:
        """Return the result of a pod without looking for its causes."""
        return _answer(placement, reason, _advised([], _NOTHING), [])

    def _why(self, placement: Placement) -> tuple[JSONObject, Advice]:
        """Explain why a pod has no node; pods with equal needs in the same cluster get the same explanation."""
        if placement.awaited:
            names = (self._cluster.names[each] for each in (placement.verdicts.fitting if placement.verdicts else ()))
            nodes, wishes = placement.candidates or tuple(names), [each.wish for each in placement.awaited]
            wishes += [f"{text(each.failed, 'type')} is not True" for each in placement.awaited if each.failed]
            reason = UNAVAILABLE if any(each.is_unavailable for each in placement.awaited) else _WAITING
            group = NodeGroup(nodes, (reason,), (), details=tuple(each.text for each in placement.awaited))
            once = Suggestion(f"once {' and '.join(wishes)}", len(nodes))
            return _advised([group], Advice([once], 0, is_complete=True)), _NOTHING
        verdicts, needs = placement.verdicts, placement.needs
        is_bindable = placement.candidates and (needs is None or Round(self._cluster, needs).is_reservable)
        if placement.node is not None or is_bindable:
            return _advised([], _NOTHING), _NOTHING
        if verdicts is None or needs is None:
            advice = _advice_untried(self._scheduler, placement, self._explained)
            return _advised([], advice), advice
        return self._explained(verdicts, needs)

    def _explained(self, verdicts: Verdicts, needs: Needs) -> tuple[JSONObject, Advice]:
        """Explain why nodes refuse a pod, and what would help."""
        names = tuple(map(full_name_of, needs.claims))
        log, claims, why, advice = self._known.get(verdicts, (-1, (), {}, _NOTHING))
        if log == len(self._cluster.log):
            return _renamed(why, dict(zip(claims, names, strict=True))), advice
        cluster, by_node = self._cluster, verdicts.by_node
        groups = node_groups(by_node, Round(cluster, needs)) if verdicts.nodes else [unnamed(cluster, needs)]
        error = next(iter(verdicts.errors.values()), NO_FAULT)
        advice = Suggestions(self._cluster, needs).advice(groups, error)
        found = _advised(groups, advice, "" if verdicts.errors else cause(groups))
        self._known[verdicts] = len(self._cluster.log), names, found, advice
        return found, advice

    def _notes(self, placement: Placement) -> list[str]:
        notes = list(placement.notes)
        if placement.verdicts is not None:
            notes += filter(None, [self._cluster.of_unknown_size])
        if placement.uncertain:
            notes.append(placement.uncertain)
        if placement.verdicts is not None and len(set(placement.verdicts.errors.values())) > 1:
            notes.append("nodes fail with different errors, and the scheduler reports the one that it meets first")
        if placement.awaited and self._cluster.now > EPOCH:
            now, left = self._cluster.now, min(each.left for each in placement.awaited)
            is_waiting = not any(each.is_unavailable for each in placement.awaited)
            until = f": the scheduler waits until {written(now + timedelta(seconds=left))}" if is_waiting else ""
            notes.append(f"times are as of {written(now)}, the newest one in the cluster's objects{until}")
        settings = self._cluster.settings
        notes += () if placement.is_unbound else self._untimed(placement)
        notes += [*self._gone(placement), *self._ungated(placement), *self._empty(placement)]
        assumed = map(self._cluster.assumed, placement.claims)
        notes += dict.fromkeys(filter(None, assumed))
        if settings.taint_rules_ignored and any(_concerned(each, self._cluster) for each in placement.claims):
            notes.append(settings.taint_rules_ignored)
        return [*notes, *self._left_out(placement)]

    def _untimed(self, placement: Placement) -> Iterator[str]:
        """Report claims that cannot be reserved for a pod without a node, as an earlier release allocated them."""
        is_tried = placement.node is None and placement.verdicts is not None and self._cluster.waits
        why = f"by an earlier release: Kubernetes 1.{self._cluster.settings.release} cannot reserve it for another pod"
        for claim in placement.claims if is_tried else ():
            is_timed = bool(text(allocation := allocation_of(claim), "allocationTimestamp"))
            others = (each for each in reserved_for(claim) if each.uid != uid_of(placement.pod))
            if allocation and not is_timed and (placement.candidates or any(others)):
                yield f"claim {full_name_of(claim)} was allocated without allocationTimestamp, {why}"

    def _left_out(self, placement: Placement) -> Iterator[str]:
        """List the parts of a pod that were not simulated, but may change where it runs."""
        inventory, settings, used = self._cluster.inventory, self._cluster.settings, not_simulated(placement.pod)
        if scheduler := other_scheduler(placement.pod):
            yield f"another scheduler decides about this pod: {scheduler}; this is what kube-scheduler would do"
        namespace, group = group_of(placement.pod)
        found = inventory.find("PodGroup", group, namespace) if group else None
        stated = items(placement.pod, "spec", "resourceClaims")
        shared = [text(each, "name") for each in items(found, "spec", "resourceClaims") if each in stated]
        if shared and SHARING not in settings.gates:
            yield f"it shares claim {', '.join(shared)} of PodGroup {group} only with the feature gate {SHARING}"
        if self._may_preempt(placement):
            used.append("preemption")
        if used:
            yield f"not simulated for this pod: {', '.join(used)}"
        asked = (each for claim in placement.claims for each in requests_of(claim))
        wants_several = (each.is_for_all or each.wanted > 1 for each in asked)
        if settings.release == _MISTAKEN and "DRAConsumableCapacity" in settings.gates and any(wants_several):
            yield (
                "not simulated: with DRAConsumableCapacity, the scheduler of Kubernetes 1.34 takes the capacity of the "
                "n-th device of a request from the n-th device of its slice, and crashes if the slice has fewer devices"
            )

    @cached_property
    def _lowest(self) -> int | None:
        """The lowest priority of running pods; None if none runs."""
        inventory = self._cluster.inventory
        return min((priority(each, inventory) for each in inventory.running()), default=None)

    def _may_preempt(self, placement: Placement) -> bool:
        """Tell whether the scheduler would try to preempt pods of a lower priority."""
        pod, verdicts = placement.pod, placement.verdicts
        if placement.node is not None or verdicts is None or text(pod, "spec", "preemptionPolicy") == "Never":
            return False
        is_resolvable = any(each.resolvable for each in verdicts.by_node.values())
        return is_resolvable and self._lowest is not None and self._lowest < priority(pod, self._cluster.inventory)

    def _gone(self, placement: Placement) -> Iterator[str]:
        """Report devices that a scheduled pod's claims have had before, and that no slice publishes any more."""
        before = placement.needs.claims if placement.needs and placement.candidates else ()
        catalog = self._cluster.allocator.catalog
        for claim in filter(allocation_of, before if catalog.contents else ()):
            for device in map(device_of, results_of(claim)):
                if catalog.find(device) is None:
                    what = f"claim {full_name_of(claim)} has device {'/'.join(device)}"
                    yield f"{what}, which is in no ResourceSlice: its driver may not prepare it"

    def _empty(self, placement: Placement) -> Iterator[str]:
        """Report claims that got all devices of a node that has none."""
        for claim in placement.claims if self._cluster.settings.release < NEEDS_ONE_SINCE else ():
            if allocation_of(claim) and not results_of(claim) and any(requests_of(claim)):
                yield (
                    f"claim {full_name_of(claim)} has no devices: before Kubernetes 1.{NEEDS_ONE_SINCE}, a node "
                    "without devices suits a request for all of them"
                )

    def _ungated(self, placement: Placement) -> Iterator[str]:
        """Report extended resources that a class provides, but only with a feature gate that is off."""
        settings, inventory = self._cluster.settings, self._cluster.inventory
        if EXTENDED in settings.gates or placement.needs is None or placement.node is not None:
            return
        provided = ExtendedResources(inventory.all("DeviceClass"))
        for name in filter(provided.has, placement.needs.demand.requests):
            yield (
                f"a DeviceClass provides the extended resource {name}, "
                f"but the scheduler of Kubernetes {settings} does not look for it without the feature gate {EXTENDED}"
            )


def _answer(placement: Placement, reason: str, explained: JSONObject, notes: list[str]) -> dict[str, Any]:
    return {
        "namespace": namespace_of(placement.pod),
        "name": name_of(placement.pod),
        "node": placement.node,
        "condition": placement.condition,
        "claims": {
            name_of(each): {name: value for name, value in found.items() if name != "allocationTimestamp"}
            for each in placement.claims
            if (found := allocation_of(each))
        },
        "candidates": list(placement.candidates[:NAMED_MAX]),
        "candidateCount": len(placement.candidates),
        "why": {**explained, "reason": reason, "withoutDevices": [], "notes": notes},
    }


def _advised(groups: Sequence[NodeGroup], advice: Advice, said: str = "") -> JSONObject:
    """Write how nodes refuse a pod, what is said of them, and what would help."""
    return {
        "reason": said,
        "nodes": [each.as_json() for each in groups],
        "help": [each.as_json() for each in advice.suggestions],
        "tried": advice.tried,
        "allTried": advice.is_complete,
    }


def _renamed(why: JSONObject, names: Mapping[str, str]) -> JSONObject:
    """Adapt the explanation of a pod to another with the same needs, but other names of claims."""
    others = {old: new for old, new in names.items() if old != new}
    if not others:
        return why
    pattern = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, others))})(?![\w./-])")
    renamed: JSONObject = _replaced(why, lambda text: pattern.sub(lambda match: others[match[0]], text))
    return renamed


def _replaced(value: Any, change: Callable[[str], str]) -> Any:
    """Apply a function to all texts in a JSON value."""
    if isinstance(value, dict):
        return {key: _replaced(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, change) for each in value]
    return change(value) if isinstance(value, str) else value


def _concerned(claim: JSONObject, cluster: Cluster) -> bool:
    """Tell whether a rule taints devices of a claim; of one without devices, those of the drivers that it may get."""
    rules = [TaintRule.of(each) for each in cluster.inventory.all("DeviceTaintRule")]
    if allocation_of(claim):
        return any(rule.taints(*device_of(each)) for rule in rules for each in results_of(claim))
    settings, requests = cluster.settings, requests_of(claim, cluster.inventory)
    found = [drivers_of(each.of_class, settings.release, settings.gates) for each in requests]
    return any(not each or rule.driver in {None, *each} for rule in rules for each in found)
