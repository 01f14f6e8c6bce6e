"""Pods without a node: what the scheduler waits for, and what keeps them from the nodes that have devices for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from webhook.allocation.demand import LIMIT
from webhook.allocation.selecting import NO_FAULT, Fault
from webhook.deviceselectors.fleet import shortened
from webhook.engine.prescheduled import REQUIRED
from webhook.hints.names import listed
from webhook.inventory import has_ended
from webhook.inventory.affinity import nodes_named, term_selects, wants
from webhook.inventory.claims import Blocked, allocation_of, requests_of, results_of
from webhook.inventory.resources import as_in_pods, is_extended
from webhook.objects import (
    JSONObject,
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
from webhook.records import NamedTuple
from webhook.simulation import binding
from webhook.simulation.cluster import (
    AFFINITY,
    CORDON,
    NODE_STATES,
    PORTS,
    TAINTS,
    TOO_MANY,
    NodeState,
    Refusal,
    Taint,
    amount_text,
)
from webhook.simulation.rejections import Explainer, Group, elsewhere, unmet
from webhook.simulation.scheduler import Needs, Placement, Round, Verdicts
from webhook.spelling import did_you_mean, either, nearest
from webhook.why import claims, drivers
from webhook.why.containers import brief
from webhook.why.devices import Lacks
from webhook.why.scene import NAMED_MAX, Cause, Ref, Scene, about_taints, ref_of, sorted_as

_DEFAULT_SCHEDULER: Final = "default-scheduler"
_KUEUE: Final = "kueue.x-k8s.io/"
_TOGETHER: Final = 99
"""The step of nodes that can meet each request alone, but not all together: it comes after all steps of a request."""
_NO_DEVICES: Final = "cannot allocate all claims"
"""The scheduler's reason for nodes without devices for a pod; it checks everything else before."""
_NOT_SIMULATED: Final = ("volume", "topology spread constraints", "affinity rules")
"""Words in its reasons for which there is no simulation."""
_CONDITIONS: Final = {
    "node.kubernetes.io/not-ready": "Ready",
    "node.kubernetes.io/unreachable": "Ready",
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
    "node.kubernetes.io/network-unavailable": "NetworkUnavailable",
}
"""The conditions of a node that tell more of its state, by the taints that stand for it."""


class Found(NamedTuple):
    """Why a pod has no node.

    Args:
        causes: The causes, the most decisive first.
        placement: What the simulation makes of the pod; None if it cannot tell what would help.
    """

    causes: list[Cause]
    placement: Placement | None = None


def explain(scene: Scene, pod: JSONObject) -> Found:
    """Say why a pod has no node."""
    if gates := [text(each, "name") for each in items(pod, "spec", "schedulingGates")]:
        return Found([_gated(gates)])
    if blocking := list(sorted_as("claim", claims.blocking(scene, pod))):
        return Found(blocking, scene.scheduler.schedule(pod))
    gang = _gang(scene, pod)
    if isinstance(gang, Cause):
        return Found([gang._replace(sort="pod-group")])
    if gang is not None and (found := _of_gang(scene, gang, pod)):
        return found
    placement = scene.scheduler.schedule(pod)
    return _Pending(scene, pod).found(placement)


def helps(scene: Scene, found: Found) -> tuple[str, ...]:
    """Return the changes with which a pod would get a node, as the simulation finds them."""
    placement = found.placement
    return tuple(each["change"] for each in scene.answers.of(placement)["why"]["help"]) if placement else ()


def _gated(gates: Sequence[str]) -> Cause:
    who = ": Kueue has not admitted it" if any(each.startswith(_KUEUE) for each in gates) else ""
    return Cause(
        f"held back by the scheduling gate{'s' * (len(gates) > 1)} {', '.join(gates)}{who}; the scheduler does not "
        "look at it until the controller that has set it removes it",
        tuple(Ref("Gate", each) for each in gates),
        sort="scheduling-gate",
    )


# -- gangs


class _Gang(NamedTuple):
    """A PodGroup whose pods are bound together.

    Args:
        least: How many pods are bound at once.
    """

    group: JSONObject
    pods: list[JSONObject]
    least: int


def _gang(scene: Scene, pod: JSONObject) -> _Gang | Cause | None:
    """Return the gang of a pod; why it cannot be scheduled yet; or None if the pod belongs to none."""
    name, namespace = text(pod, "spec", "schedulingGroup", "podGroupName"), namespace_of(pod)
    if not name:
        return None
    group, ref = scene.inventory.find("PodGroup", name, namespace), Ref("PodGroup", name, namespace)
    if group is None:
        hint = did_you_mean(name, [each for space, each in scene.inventory.names("PodGroup") if space == namespace])
        return Cause(f"{ref}, which the pod belongs to, does not exist{hint and f'; {hint}'}", (ref,))
    least = number(group, "spec", "schedulingPolicy", "gang", "minCount")
    if not least:
        return None
    pods = [
        each
        for each in scene.inventory.all("Pod")
        if namespace_of(each) == namespace and text(each, "spec", "schedulingGroup", "podGroupName") == name
        if not has_ended(each)
    ]
    if len(pods) < least:
        return Cause(
            f"{ref} is not complete: {len(pods)} of the {least} pods (minCount) exist that are scheduled together",
            (ref,),
            (f"create {least - len(pods)} more pods of the group, or lower its minCount",),
        )
    return _Gang(group, sorted(pods, key=name_of), least)


def _of_gang(scene: Scene, gang: _Gang, asked: JSONObject) -> Found | None:
    """Say which pod of a gang finds no devices; None if enough pods find some.

    Args:
        asked: The pod that is asked about.
    """
    fitting = 0
    for each in gang.pods:
        if text(each, "spec", "nodeName"):
            fitting += 1
            continue
        if isinstance(claims.uses(scene, each), Blocked):
            blocking = next(sorted_as("claim", claims.blocking(scene, each)))
            first = _in_gang(gang, each, blocking, "waits for its claim")
            return Found([first._replace(names_pod=each is asked)])
        placement = scene.scheduler.schedule(each)
        if placement.node is None and not placement.awaited:
            if fitting >= gang.least:
                return None
            found = _Pending(scene, each, frozenset(map(name_of, gang.pods))).found(placement)
            first = _in_gang(gang, each, found.causes[0], f"finds none after {fitting} other{'s' * (fitting != 1)}")
            return Found([first._replace(names_pod=each is asked), *found.causes[1:]], found.placement)
        fitting += 1
    return None


def _in_gang(gang: _Gang, pod: JSONObject, cause: Cause, what: str) -> Cause:
    ref = ref_of(gang.group)
    said = f"{ref} needs devices for {gang.least} pods together: pod {name_of(pod)} {what}: {cause.text}"
    return cause._replace(text=said, about=(ref, *cause.about))


class _Pending:
    """Explains one pod, by what the scheduler would do with it in the cluster as it is.

    Args:
        own: The pods that it is scheduled together with.
    """

    def __init__(self, scene: Scene, pod: JSONObject, own: frozenset[str] = frozenset()) -> None:
        self.scene, self.pod, self._own = scene, pod, own
        self.sources = scene.claim_sources(pod)

    def found(self, placement: Placement) -> Found:
        """Return why a placement has no node, and what would help."""
        causes = list(self._causes(placement))
        if not causes:
            reason = self.scene.answers.of(placement)["why"]["reason"]
            causes = [Cause(reason, tuple(self.sources.values()))]
        # The simulation does not know these reasons: what it finds would not help.
        return Found(causes, None if any(self._not_simulated()) else placement)

    def _causes(self, placement: Placement) -> Iterator[Cause]:
        others = [] if placement.awaited else list(self._not_simulated())
        yield from others
        if placement.awaited:
            yield self._awaited(placement)._replace(sort="binding-condition")
        elif placement.node is not None:
            if not others:
                yield self._unexpected(placement.node)
            yield from self._silent(placement, self.scene.inventory.find("Node", placement.node) or {})
        elif placement.is_unbound:
            yield from sorted_as("claim", self._full(placement.claims))
        elif not self.scene.inventory.knows("Node"):
            yield Cause("the cluster has no nodes", sort="node")
        elif placement.verdicts is None or placement.needs is None:
            yield from sorted_as("class", self._missing_classes(placement.claims))
        else:
            yield from self._of_nodes(placement.verdicts, placement.needs)

    def _silent(self, placement: Placement, node: JSONObject) -> Iterator[Cause]:
        """Say which drivers of the devices that the pod would get do not run on the node that it would get."""
        for driver in dict.fromkeys(text(each, "driver") for claim in placement.claims for each in results_of(claim)):
            if trouble := drivers.on_node(self.scene, driver, node):
                said = f"driver {driver} is not running on {name_of(node)}: {trouble.text}"
                yield trouble._replace(text=said, sort="driver")

    # -- before any node

    def _full(self, used: Sequence[JSONObject]) -> Iterator[Cause]:
        for claim in used:
            if len(items(claim, "status", "reservedFor")) >= binding.CONSUMERS_MAX:
                yield Cause(
                    f"{ref_of(claim)} is used by {binding.CONSUMERS_MAX} pods, the maximum that a claim may have "
                    "(status.reservedFor): it is full",
                    (ref_of(claim),),
                    ("use a further claim, or one claim for each pod (a ResourceClaimTemplate)",),
                )

    def _missing_classes(self, used: Sequence[JSONObject]) -> Iterator[Cause]:
        known = [name for _, name in self.scene.inventory.names("DeviceClass")]
        for claim in used:
            for each in requests_of(claim) if not allocation_of(claim) else ():
                if (name := each.class_name) not in known:
                    near, written = nearest(name, known), self._source(claim)
                    hint = f"did you mean {near}?" if near else f"classes here: {listed(known) or 'none'}"
                    more = (Ref("DeviceClass", near),) if near else ()
                    yield Cause(
                        f"DeviceClass {name}, which {written.kind} {written.name} names in request {each.name}, "
                        f"does not exist; {hint}",
                        (Ref("DeviceClass", name), written, *more),
                    )

    def _source(self, claim: JSONObject) -> Ref:
        """Return the template that a claim was made from, or the claim itself."""
        return self.sources.get(name_of(claim)) or ref_of(claim)

    def _awaited(self, placement: Placement) -> Cause:
        now, first = self.scene.cluster.now, placement.awaited[0]
        claim = next(each for each in placement.claims if binding.awaited(each, now))
        conditions = [*first.missing, *([text(first.failed, "type")] if first.failed else [])]
        about = (ref_of(claim), Ref("Device", first.device), *(Ref("Condition", each) for each in conditions))
        if first.is_unavailable:
            said = f"its binding conditions have failed: {first.text}; {placement.reason}"
            return Cause(f"claim {name_of(claim)} is allocated, but {said}", about)
        several = len(first.missing) > 1
        return Cause(
            f"claim {name_of(claim)} is allocated, but binding condition{'s' * several} "
            f"{' and '.join(first.missing)} of device {first.place} {'are' if several else 'is'} not true yet: the "
            f"scheduler waits for the driver before it binds the pod ({first.text})",
            about,
            ("see the log of the driver's controller",),
        )

    def _not_simulated(self) -> Iterator[Cause]:
        """Say what else keeps the pod from all nodes before the scheduler looks at devices."""
        volumes, words = list(sorted_as("volume", self._of_volumes())), _words(self._said())
        yield from volumes
        if not volumes and _NO_DEVICES not in words and any(each in words for each in _NOT_SIMULATED):
            what, refs = self._of_other_pods(words)
            yield Cause(f"{what or 'the scheduler finds no node'}: {words}", (*refs, ref_of(self.pod)))

    def _of_other_pods(self, words: str) -> tuple[str, tuple[Ref, ...]]:
        """Explain a reason that is not simulated, such as anti-affinity, and return the objects to look at."""
        affinity, running = mapping(self.pod, "spec", "affinity"), self.scene.inventory.running()
        if "anti-affinity rules" in words:
            is_theirs = "existing pods anti-affinity" in words
            pairs = [(each, self.pod) if is_theirs else (self.pod, each) for each in running]
            found = [other if one is self.pod else one for one, other in pairs if _avoids(one, other)]
            who = listed(f"pod {name_of(each)} on {text(each, 'spec', 'nodeName')}" for each in found)
            what = f"is kept away by the required anti-affinity of {who}" if is_theirs else ""
            what = what or f"its required pod anti-affinity keeps it from {who}"
            return (what, tuple(map(ref_of, found[:NAMED_MAX]))) if found else ("", ())
        terms = items(affinity, "podAffinity", REQUIRED[-1]) if "pod affinity rules" in words else []
        if keys := sorted({text(each, "topologyKey") for each in terms}):
            return f"its required pod affinity ({' and '.join(keys)}) finds no pod to be with", ()
        terms = items(self.pod, "spec", "topologySpreadConstraints") if "topology spread" in words else []
        if keys := sorted({text(each, "topologyKey") for each in terms}):
            return f"its topology spread constraints ({' and '.join(keys)}) allow no node", ()
        if "volume" in words.lower() and (volumes := list(self._volumes())):
            names = listed(str(ref) for _, ref in volumes)
            return f"its volume {volumes[0][0]} ({names}) allows no node", tuple(ref for _, ref in volumes)
        return "", ()

    def _volumes(self) -> Iterator[tuple[str, Ref]]:
        """Yield the volumes of the pod that are claimed, with their PersistentVolumeClaims."""
        for volume in items(self.pod, "spec", "volumes"):
            entry, name = text(volume, "name"), text(volume, "persistentVolumeClaim", "claimName")
            if mapping(volume, "ephemeral"):
                name = f"{name_of(self.pod)}-{entry}"
            if name:
                yield entry, Ref("PersistentVolumeClaim", name, namespace_of(self.pod))

    def _of_volumes(self) -> Iterator[Cause]:
        """Say which volumes of the pod do not exist, or cannot be provided."""
        inventory, namespace, said = self.scene.inventory, namespace_of(self.pod), self._said()
        is_known = inventory.knows("PersistentVolumeClaim")
        for entry, ref in self._volumes():
            name = ref.name
            claim = inventory.find("PersistentVolumeClaim", name, namespace)
            warned = next((each for each in self.scene.events(claim or {}) if each.warns), None)
            if claim is None and not is_known:
                if f'persistentvolumeclaim "{name}"' in said or "PersistentVolumeClaims" in said:
                    yield Cause(
                        f"{ref}, its volume {entry}, holds it up, as the scheduler says: {_words(said)}", (ref,)
                    )
            elif claim is None:
                yield Cause(f"{ref}, its volume {entry}, does not exist", (ref,))
            elif text(claim, "status", "phase") == "Lost":
                yield Cause(f"{ref}, its volume {entry}, has lost its PersistentVolume", (ref,))
            elif text(claim, "status", "phase") == "Pending" and (warned or "volume" in said.lower()):
                words = f": {brief(warned.words)}" if warned else f", as the scheduler says: {_words(said)}"
                yield Cause(f"{ref}, its volume {entry}, is not bound{words}", (ref,))

    # -- nodes

    def _of_nodes(self, verdicts: Verdicts, needs: Needs) -> Iterator[Cause]:
        """Say what keeps the pod from the nodes that have devices for it; if none has, what devices lack."""
        if not verdicts.nodes:
            names = sorted(nodes_named(needs.demand.spec) or ())
            hint = did_you_mean(names[0], self.scene.cluster.names) if len(names) == 1 else ""
            said = f"its node affinity requires node {listed(names)}, which does not exist{hint and f'; {hint}'}"
            yield Cause(said, (ref_of(self.pod), *(Ref("Node", each) for each in names)), sort="node")
            return
        if unprovided := list(sorted_as("class", self._unprovided(needs))):
            yield from unprovided
            return
        round_ = Round(self.scene.cluster, needs)
        by_devices = {
            node: verdict if verdict.by_devices or verdict.unavailable else round_.filter_devices(node)
            for node, verdict in verdicts.by_node.items()
        }
        if error := next((each.error for each in by_devices.values() if each.error), NO_FAULT):
            yield from sorted_as("selector", [self._failed(error, needs)])
        elif suiting := [node for node, verdict in by_devices.items() if verdict.refusal is None]:
            yield from sorted_as("node", self._kept_from(suiting, verdicts, needs))
        elif all(each.unavailable for each in by_devices.values()):
            allocated = [each for each in needs.claims if allocation_of(each)]
            said = "; ".join(elsewhere(self.scene.cluster, each) for each in allocated)
            about = tuple(map(ref_of, allocated))
            yield Cause(f"no node has the devices of its allocated claims: {said}", about, sort="claim")
        else:
            alone = {node: verdict for node, verdict in by_devices.items() if verdict.by_devices}
            groups = Explainer(self.scene.cluster).groups(alone, round_)
            closest = self._closest(groups, verdicts)
            yield from sorted_as("node", self._kept_from(closest, verdicts, needs, has_devices=False))
            yield from Lacks(self.scene, self.pod, needs, groups, self._own).causes()

    def _closest(self, groups: Sequence[Group], verdicts: Verdicts) -> list[int]:
        """Return the nodes that come closest to having devices, if each refuses the pod for other reasons, too.

        If one does not, the devices decide.
        """
        steps = [min((each.step for each in unmet(group.requests).values()), default=_TOGETHER) for group in groups]
        names = [name for group, step in zip(groups, steps, strict=True) if step == max(steps) for name in group.nodes]
        nodes = [self.scene.cluster.index[each] for each in names]
        return [] if any(verdicts.by_node[each].by_devices for each in nodes) else nodes

    def _unprovided(self, needs: Needs) -> Iterator[Cause]:
        """Say which extended resources neither a node nor a class provides."""
        extended, nodes = self.scene.cluster.extended, self.scene.cluster.nodes
        for name in needs.demand.requests:
            if (
                is_extended(name)
                and not extended.provides(name)
                and not any(each.allocatable.get(name) for each in nodes)
            ):
                like = [each for each in self.scene.inventory.all("DeviceClass") if _vendor(name) in name_of(each)]
                hint = did_you_mean(name, [each for each in extended.classes if "/" in each])
                hint = hint or (f"{listed(map(name_of, like))} could" if like else "")
                yield Cause(
                    f"nothing provides {name}: no DeviceClass has it as extendedResourceName, and no node's device "
                    f"plugin offers it{hint and f'; {hint}'}",
                    (Ref("Resource", name), *map(ref_of, like)),
                )

    def _failed(self, error: Fault, needs: Needs) -> Cause:
        """Say what ended the search for devices on all nodes."""
        pending = [each for each in needs.claims if not allocation_of(each)]
        failing = error.claim or next(map(full_name_of, pending), "")
        claim = next((each for each in pending if full_name_of(each) == failing), None)
        if claim is None:
            return Cause(f"an error ends the search for devices on all nodes: {brief(error)}", (ref_of(self.pod),))
        written, words, missing, of_class = self._source(claim), error.words, error.missing, error.of_class
        who = f"{written.kind} {written.name}"
        total = sum(number(each.content, "count") or 1 for each in requests_of(claim))
        if not missing and total > LIMIT:
            said = f"{who} wants {total} devices: a claim may have at most {LIMIT}"
            return Cause(said, (written,), sort="claim")
        if not missing:
            return Cause(f"an error ends the search for devices of {who} on all nodes: {brief(words)}", (written,))
        asked = either([each.name for each in requests_of(claim) if each.own])
        which = f"DeviceClass {of_class}, used by {who}," if of_class else f"{who}, request {asked}"
        hint = next((each for rule in _OF_ATTRIBUTES for each in self.scene.rule(rule, claim)), "")
        return Cause(
            f"the selector of {which} reads attribute {missing}, which a device does not have"
            f"{hint and f' ({brief(hint)})'}: that error ends the search on all nodes ({brief(words)})",
            (*((Ref("DeviceClass", of_class),) if of_class else ()), written, Ref("Attribute", missing)),
        )

    # -- nodes that have devices, and refuse the pod for another reason

    def _kept_from(
        self, suiting: Sequence[int], verdicts: Verdicts, needs: Needs, *, has_devices: bool = True
    ) -> Iterator[Cause]:
        """Say why nodes refuse the pod, their devices aside.

        Args:
            has_devices: Whether devices for the pod are free there.
        """
        cluster = self.scene.cluster
        alike: dict[tuple[str, ...], tuple[Refusal, list[NodeState]]] = {}
        for node in suiting:
            state, refusal = cluster.nodes[node], verdicts.by_node[node].refusal
            if refusal is not None:
                taints = state.untolerated(needs.demand.tolerations) if refusal.plugin == TAINTS else []
                key = (*refusal.reasons, *map(str, taints))
                alike.setdefault(key, (refusal, []))[1].append(state)
        for refusal, states in sorted(alike.values(), key=lambda each: -len(each[1])):
            which = ""
            if has_devices and self._wants_devices(needs):
                is_all = len(states) == len(suiting)
                only = f", the only node{'s' * (len(states) > 1)} with devices for it,"
                which = only if is_all else " (with devices for it)"
            yield self._of_group(refusal, states, needs, which, has_devices=has_devices)

    def _of_group(
        self, refusal: Refusal, states: Sequence[NodeState], needs: Needs, which: str, *, has_devices: bool
    ) -> Cause:
        names = shortened([each.name for each in states])
        nodes = tuple(Ref("Node", each.name) for each in states[:NAMED_MAX])
        pinned = next(filter(allocation_of, needs.claims), None)
        if pinned is None and refusal.plugin == AFFINITY:
            said = self._unselected(states, needs, has_devices=has_devices)
            labels = (Ref("Label", f"{key}={each}") for key, each in mapping(needs.demand.spec, "nodeSelector").items())
            return Cause(said, (ref_of(self.pod), *labels, *nodes))
        what, about = self._refusal(refusal, states, needs)
        if pinned is not None:
            said = f"{ref_of(pinned)} is allocated on {names}, and {names} {what}"
            return Cause(said, (ref_of(pinned), *nodes, *about))
        return Cause(f"{names}{which} {what}", (*nodes, *about))

    def _wants_devices(self, needs: Needs) -> bool:
        return bool(needs.claims) or any(map(self.scene.cluster.extended.provides, needs.demand.requests))

    def _refusal(self, refusal: Refusal, states: Sequence[NodeState], needs: Needs) -> tuple[str, tuple[Ref, ...]]:
        """Say why nodes refuse the pod, its devices aside, and what that is about."""
        is_, has = ("is", "has") if len(states) == 1 else ("are", "have")
        missing = refusal.missing
        about = tuple(Ref("Resource", each) for each in missing)
        said = f"{is_} not suitable: {', '.join(refusal.reasons)}"
        if refusal.plugin == CORDON:
            said = f"{is_} cordoned (unschedulable)"
        elif refusal.plugin == TAINTS:
            taints = states[0].untolerated(needs.demand.tolerations)
            about = about_taints(*taints)
            said = _tainted(states[0].node, taints, is_=is_, has=has)
        elif refusal.plugin == PORTS:
            ports = ", ".join(sorted(str(port) for _, _, port in needs.demand.ports))
            said = f"{has} no free host port {ports}, as another pod there uses it"
        elif missing:
            said = f"{has} too little {' and '.join(_short(each, states, needs) for each in missing)}"
        elif TOO_MANY in refusal.reasons:
            said = f"{has} too many pods: {states[0].pods} run, and no more fit"
        elif refusal.plugin == AFFINITY:
            said = f"{is_} not selected by the pod's node selector or affinity"
        return said, about

    def _unselected(self, states: Sequence[NodeState], needs: Needs, *, has_devices: bool) -> str:
        """Say which nodes the pod's node selector or affinity leaves, and which labels those with devices have."""
        spec, names = needs.demand.spec, shortened([each.name for each in states])
        selected = shortened([each.name for each in self.scene.cluster.nodes if wants(spec, each.node)])
        labels = [mapping(each.node, "metadata", "labels") for each in states]
        pairs = mapping(spec, "nodeSelector")
        found = [f"{key} is {either(sorted({str(each.get(key, 'not set')) for each in labels}))}" for key in pairs]
        which = (
            f"nodeSelector {' and '.join(f'{key}={value}' for key, value in pairs.items())}"
            if pairs
            else "node affinity"
        )
        leaves = f"leaves {selected} only, which cannot take it" if selected else "selects no node: no label matches"
        what = "devices" if self._wants_devices(needs) else "room"
        if selected and what == "devices":
            leaves = f"leaves {selected} only, without a device for it"
        there = " and ".join(found)
        if not has_devices:
            return f"its {which} {leaves}{there and f'; on {names} {there}'}"
        have = f"{names} {'has' if len(states) == 1 else 'have'} {what}"
        return f"its {which} {leaves}; {have}{there and f', and {there} there'}"

    # -- what the scheduler says

    def _said(self) -> str:
        """Return the scheduler's last message about the pod: that of its condition, otherwise that of an event."""
        condition = condition_of(self.pod, "PodScheduled")
        events = self.scene.events(self.pod, "FailedScheduling")
        return text(condition, "message") or (events[0].words if events else "")

    def _unexpected(self, node: str) -> Cause:
        """Say what the scheduler says of a pod for which there is room, as far as the simulation can tell."""
        name = text(self.pod, "spec", "schedulerName") or _DEFAULT_SCHEDULER
        nominated = text(self.pod, "status", "nominatedNodeName")
        words, ref = self._said(), ref_of(self.pod)
        if nominated:
            return Cause(
                f"waits on {nominated} until the pods that it preempts there have ended", (Ref("Node", nominated), ref)
            )
        if name != _DEFAULT_SCHEDULER and not words:
            return Cause(
                f"its scheduler {name} (spec.schedulerName) has said nothing of it: does it run? kube-scheduler "
                f"leaves the pod alone, for which {node} has room",
                (Ref("Scheduler", name), ref),
                (f"correct spec.schedulerName, or start scheduler {name}",),
            )
        if not words:
            return Cause(f"waits for the scheduler, which has said nothing of it yet; {node} has room for it", (ref,))
        spaces = {space for space, _ in self.scene.inventory.names("ResourceClaim")}
        is_partial = _NO_DEVICES in words and spaces == {namespace_of(self.pod)}
        unseen = ["collect the ResourceClaims of all namespaces: others may hold the devices"] if is_partial else []
        what, refs = self._of_other_pods(words)
        return Cause(
            f"{what or 'the scheduler finds no node'}: {_words(words)}; by devices and "
            f"resources {node} has room, so what it names is the reason, or is gone since",
            (*refs, *self.scene.mentioned(words, namespace_of(self.pod)), ref, Ref("Node", node)),
            (*unseen, "the scheduler tries again by itself after changes in the cluster"),
        )


_OF_ATTRIBUTES: Final = ("not-published", "attribute-not-of-driver")
"""The rules about attributes that a selector reads in vain."""


def _words(said: str) -> str:
    """Shorten the scheduler's words to those about nodes."""
    return brief(said.partition(" preemption: ")[0].rstrip(". ,"))


def _avoids(pod: JSONObject, other: JSONObject) -> bool:
    """Tell whether a pod's required anti-affinity selects another pod, in any topology and in namespaces by name."""
    for term in items(pod, "spec", "affinity", "podAntiAffinity", REQUIRED[-1]):
        labels, spaces = mapping(term, "labelSelector", "matchLabels").items(), texts(term, "namespaces")
        wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in labels]
        wanted += items(term, "labelSelector", "matchExpressions")
        if namespace_of(other) not in (spaces or [namespace_of(pod)]) or not isinstance(
            term.get("labelSelector"), dict
        ):
            continue
        # An empty selector selects all pods, while an empty term of a node selector selects no node.
        if not wanted or term_selects({"matchExpressions": wanted}, "", mapping(other, "metadata", "labels")):
            return True
    return False


def _vendor(resource: str) -> str:
    """Return the vendor of an extended resource, such as ``nvidia`` for ``nvidia.com/gpu``."""
    return as_in_pods(resource).partition("/")[0].rpartition(".")[0].rpartition(".")[2] or resource


def _tainted(node: JSONObject, taints: Sequence[Taint], *, is_: str, has: str) -> str:
    """Say which taints of nodes the pod does not tolerate, or in which state nodes are that taints stand for."""
    if others := [each for each in taints if each.key not in NODE_STATES]:
        what = "a taint" if len(others) == 1 else "taints"
        return f"{has} {what} that the pod does not tolerate: {' and '.join(map(str, others))}"
    said = []
    for each in taints:
        condition = condition_of(node, _CONDITIONS.get(each.key, ""))
        words = text(condition, "message") or text(condition, "reason")
        state = each.key.rpartition("/")[2].replace("-", " ")
        verb = f"{is_} {state}" if state.startswith(("not ", "un", "shut")) else f"{has} {state}"
        more = " (not ready)" if state == "unreachable" else ""
        said.append(f"{verb}{more}{words and f': {words}'}")
    return " and ".join(said)


def _short(name: str, states: Sequence[NodeState], needs: Needs) -> str:
    """Write how much of a resource is free, and wanted."""
    free, whole = max((max(0, each.left(name) or 0), each.allocatable.get(name, 0)) for each in states)
    wanted, left, all_ = (amount_text(name, each) for each in (needs.demand.requests.get(name, 0), free, whole))
    return f"{name}: {'at most ' * (len(states) > 1)}{left} of {all_} free, the pod wants {wanted}"
