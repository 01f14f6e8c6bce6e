"""Pods without a node: what the scheduler waits for, and what keeps them from the nodes that have devices for them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from webhook.allocation.demand import LIMIT
from webhook.allocation.devices import taint_of
from webhook.allocation.explain import STEPS
from webhook.allocation.selecting import NO_FAULT, Fault
from webhook.api.gates import enabled
from webhook.deviceselectors.fleet import shortened
from webhook.engine.prescheduled import REQUIRED
from webhook.explain.components import cures
from webhook.grouping import by_key
from webhook.hints.names import listed
from webhook.inventory import KUEUE, controller_of
from webhook.inventory.affinity import nodes_named, term_selects
from webhook.inventory.claims import Blocked, allocation_of, claims_named, requests_of, results_of, sources_of
from webhook.inventory.plugins import home_of, is_ready
from webhook.inventory.podgroups import group_of, least_of, members, not_ready
from webhook.inventory.resources import as_in_pods, is_extended, requests
from webhook.objects import JSONObject, condition_of, full_name_of, items, mapping, name_of, namespace_of, text, texts
from webhook.problem import Remark
from webhook.references.lookup import every_rule
from webhook.scan.claims import fault_of, is_gone, scheduler_crashes
from webhook.scan.drivers import drivers_of_class
from webhook.scan.stored import AllocatedDevice
from webhook.simulation import binding, rejections
from webhook.simulation.answers import not_simulated
from webhook.simulation.cluster import (
    AFFINITY,
    CORDON,
    EXTENDED,
    NODE_STATES,
    PORTS,
    RESOURCES,
    TAINTS,
    Needs,
    NodeState,
    NodeVerdict,
    Round,
    Verdicts,
    lack_of,
)
from webhook.simulation.rejections import NodeGroup, RequestKey, key_of
from webhook.simulation.scheduler import Placement, other_scheduler
from webhook.simulation.workloads import priority
from webhook.spelling import did_you_mean, either
from webhook.why import claims, drivers, started
from webhook.why.containers import brief
from webhook.why.scene import NAMED_MAX, About, Cause, Ref, Scene, about_taints, ref_of, refs_of, sorted_as

_SORT_OF_STEP: Final = {
    **dict.fromkeys(("seen", "ofClass", "selected"), "no-device"),
    **dict.fromkeys(("free", "enough", "together"), "devices-in-use"),
    "tolerated": "devices-tainted",
    "constrained": "constraints",
}
"""The sorts of causes, by the step that leaves too few devices."""


class _Asked(NamedTuple):
    """A request.

    Args:
        groups: The groups of nodes, each with what is left of its devices for the request.
        name: Its name; that of an alternative comes after its request's.
        who: The request as the user wrote it, such as ``ResourceClaimTemplate gpu, request gpu``.
        device_class: Its device class.
        about: The objects to look at: what the user wrote, the extended resource and the class.
    """

    groups: Sequence[tuple[NodeGroup, JSONObject]]
    name: str
    who: str
    device_class: str
    about: Sequence[About]


class Lacks:
    """Says what devices lack for a pod.

    Args:
        of: The pod, with what is known of it.
        groups: How nodes refuse the pod for its devices, as the simulation explains it.
        where: The names of these nodes, if it is about no others.
    """

    def __init__(self, of: _Pending, needs: Needs, groups: Sequence[NodeGroup], where: Sequence[str]) -> None:
        self._scene, self._pod, self._sources, self._source = of.scene, of.pod, of.sources, of.source
        self._needs, self._groups = needs, groups
        scene, self._owner = of.scene, of.scene.owner(of.pod)
        if text(self._owner, "kind") == "DaemonSet":
            where = [home_of(of.pod)]
        catalog, count = scene.cluster.allocator.catalog, sum(len(each.nodes) for each in groups)
        self._is_whole = count == len(scene.cluster.nodes) and all(each.node_name for each in catalog.slices)
        self._who = f"{shortened(where)} {rejections.LACK[len(where) == 1]}" if where else "no node has"
        found = by_key((key_of(one), (group, _of_others(one, of.own))) for group in groups for one in group.requests)
        self._asked = {key: self._as_asked(key, several) for key, several in found.items()}
        self._whole = by_key((rejections.whole(key), key) for key in found)
        """The alternatives of each request; the request itself if it has none."""

    def _as_asked(self, key: RequestKey, groups: Sequence[tuple[NodeGroup, JSONObject]]) -> _Asked:
        claim, extended = self._scene.cluster.claim(key[0]), self._scene.cluster.extended
        provided = filter(extended.provides, filter(is_extended, self._needs.demand.requests))
        resource = "" if claim else next(provided, "")
        stated = next((each.class_name for each in requests_of(claim) if each.name == key[1]), "")
        class_name = stated or extended.classes.get(resource, "")
        about: list[About] = [Ref("Resource", resource) if resource else None, Ref("DeviceClass", class_name)]
        if (written := self._sources.get(key[0].partition("/")[2])) is None:  # the scheduler makes the claim
            return _Asked(groups, key[1], str(groups[0][1]["for"]), class_name, about)
        name = str(written) if written.kind == "ResourceClaim" else f"{written.kind} {written.name}"
        return _Asked(groups, key[1], f"{name}, request {key[1]}", class_name, [written, *about])

    def causes(self) -> Iterator[Cause]:
        """Yield a cause for each request that no node can meet; if there is none, why all are not met together."""
        nowhere = rejections.nowhere(self._groups)
        unmet = by_key((rejections.whole(key), self._asked[key]) for key in nowhere).values()
        steps = {id(each): rejections.closest(each.groups)[0].step for several in unmet for each in several}
        made = [] if unmet or not self._groups else [self._together()._replace(sort="constraints")]
        for alternatives in sorted(unmet, key=lambda several: min(steps[id(each)] for each in several)):
            found = [self._of_request(each) for each in alternatives]
            first, names = found[0], [each.name.partition("/") for each in alternatives]
            if len(found) > 1:
                said = "; ".join(f"{name}: {each.text}" for (_, _, name), each in zip(names, found, strict=True))
                said = f"none of the alternatives (firstAvailable) of request {names[0][0]} can be met: {said}"
                first = Cause(said, [each.about for each in found], sort=first.sort)
            made.append(first)
        if any(request["heldBy"] for each in self._asked.values() for _, request in each.groups):
            yield from self._never()
        yield from made
        classes = dict.fromkeys(each.device_class for several in unmet for each in several if steps[id(each)])
        for driver in dict.fromkeys(each for name in classes for each in drivers_of_class(self._scene, name)):
            yield from drivers.down(self._scene, driver)

    def _never(self) -> Iterator[Cause]:
        """Say which claims no node could allocate even if nothing used its devices."""
        for claim in self._needs.claims:
            written = self._source(claim)
            for each in every_rule()["never-allocated"].check(claim, self._scene.context):
                cause = Cause(f"{written} is never allocated: {each.message}", [written], sort="no-device")
                yield cause if isinstance(each.hint, Remark) else cause._replace(fallback=each.hint)

    def _of_request(self, asked: _Asked) -> Cause:
        """Say which step leaves too few devices for a request, and why."""
        scene, (short, request) = self._scene, rejections.closest(asked.groups)
        step, helps = STEPS[short.step], tuple[str, ...]()
        is_too_small = step == "enough" and not (request["heldBy"] or request["counters"])
        sort = "no-device" if is_too_small else _SORT_OF_STEP[step]
        total = sum(each["ofClass"] * len(group.nodes) for group, each in asked.groups) if self._is_whole else 0
        unused = [one for _, each in asked.groups for one in each["unused"]]
        in_all = f"in all{', without pools that are not used' * bool(unused)}"
        of_class = f"{asked.device_class} ({total} {in_all})" if total else asked.device_class
        said, about = f"{self._who} {rejections.lacking(asked.groups, asked.who, of_class)}", list[About]()
        selected = drivers_of_class(scene, asked.device_class) if step in rejections.UNSEEN else []
        if step in rejections.UNSEEN:
            if unused:
                driver, _, pool = unused[0]["pool"].partition("/")
                about, sort = [Ref("Pool", pool), Ref("Driver", driver)], "driver"
                helps = (drivers.until_whole(driver),)
            elif absent := next((each for each in selected if not scene.devices_on.get(each)), ""):
                found = drivers.absent(scene, absent)
                return found._replace(about=[found.about, asked.about], sort="driver")
            elif self._owner and text(self._owner, "kind") == "DaemonSet":
                helps = (f"let {ref_of(self._owner)} select only nodes with such devices",)
        elif step == "tolerated":
            taints = list(dict.fromkeys(taint for each in rejections.taints_of([request]) for taint in sorted(each)))
            rules, devices = scene.cluster.rules_of(taints), (one for each in taints for one in scene.tainted[each])
            if rules:
                which = taint_of(mapping(rules[0], "spec", "taint")) if taints[1:] else "it"
                said += f"; {ref_of(rules[0])} sets {which}"
            names = [Ref("Device", each.name) for each in islice(devices, NAMED_MAX)]
            about = [rules, *(Ref("Taint", each.key) for each in taints), names]
        held = request["heldBy"] if sort == "devices-in-use" else []
        users = ((name, each["claim"].partition("/")[0]) for each in held for name in each["pods"])
        pods = [pod for each in users if (pod := scene.inventory.find("Pod", *each)) is not None]
        if step == "free":
            if update := self._of_update(held, pods):
                return update
            mine = priority(self._pod, scene.inventory)
            is_lower = bool(pods) and all(priority(each, scene.inventory) < mine for each in pods)
            said += "; the scheduler does not preempt pods of lower priority for devices" if is_lower else ""
        elif held:
            capacity = request["lacking"]["name"] if request["lacking"] else ""
            taken = [
                f"claim {each['claim']}{rejections.used_by(each)} holds {self._taken(each, capacity)}"
                for each in held[:NAMED_MAX]
            ]
            more = [f"{len(held) - NAMED_MAX} more hold some"] if held[NAMED_MAX:] else []
            said += f"; {', '.join([*taken, *more])}"
        sets = [Ref("CounterSet", each["counterSet"]) for each in request["counters"][:NAMED_MAX]]
        about += [_refs(held)[:6], sets, asked.about, *(Ref("Driver", each) for each in selected)]
        return Cause(said, about, helps, sort=sort)

    def _of_update(self, held: Sequence[JSONObject], pods: Sequence[JSONObject]) -> Cause | None:
        """Say that a rolling update waits for the pods that it replaces; None if others hold devices, too."""
        scene = self._scene
        deployment = next((each for each in scene.owners(self._pod) if text(each, "kind") == "Deployment"), None)
        if deployment is None or not pods:
            return None
        own = controller_of(self._pod)  # its ReplicaSet, which may not be known
        if any(deployment not in scene.owners(each) or controller_of(each) == own for each in pods):
            return None
        unavailable = mapping(deployment, "spec", "strategy", "rollingUpdate").get("maxUnavailable", "25%")
        return Cause(
            f"the rolling update of {ref_of(deployment)} waits for itself: new pod {name_of(self._pod)} needs a "
            f"device, and all are held by the old pods ({listed(map(name_of, pods))}), none of which ends first, as "
            f"maxUnavailable is {unavailable}",
            [deployment, pods[:NAMED_MAX], _refs(held)[:NAMED_MAX]],
            ("set maxUnavailable to 1, or strategy Recreate, so that an old pod ends first; or delete one",),
            names_pod=True,
            sort="devices-in-use",
        )

    def _taken(self, held: JSONObject, capacity: str) -> str:
        """Write which devices a claim has, with how much of their capacity."""
        found = []
        for result in results_of(self._scene.cluster.claim(held["claim"])):
            amounts = {key.rpartition("/")[2]: value for key, value in mapping(result, "consumedCapacity").items()}
            amount = amounts.get(capacity.rpartition("/")[2]) if capacity else None
            found.append(text(result, "device") + (f" ({capacity} {amount})" if amount else ""))
        return listed(found)

    # -- requests that could each be met alone

    def _together(self) -> Cause:
        """Say why no node meets all requests, though each is met somewhere."""
        about = [each.about for each in self._asked.values()]
        met = [{key_of(one) for one in each.requests if rejections.shortfall_of(one) is None} for each in self._groups]
        meeting = {
            key: [each for each, of in zip(self._groups, met, strict=True) if not of.isdisjoint(keys)]
            for key, keys in self._whole.items()
        }
        full = [each for each in self._groups if all(each in several for several in meeting.values())]
        if not full:
            return self._apart(meeting, about)
        details = next((brief(each) for group in full for each in group.details), "each could be met alone")
        attributes = (
            (self._source(claim), which, attribute)
            for claim in self._needs.claims
            for each in items(claim, "spec", "devices", "constraints")
            for field, which in (("matchAttribute", "the same"), ("distinctAttribute", "different"))
            if (attribute := text(each, field))
        )
        devices, constraint = self._contested(full[0]), next(attributes, None)
        if constraint and not devices:
            written, which, attribute = constraint
            asked = " and ".join(key[1] for key in self._whole)
            said = f"{written.kind} {written.name} wants devices with {which} {attribute} (a constraint)"
            none = f"no node has such devices together: {details}"
            about = [written, about, Ref("Attribute", attribute)]
            return Cause(f"{said} for its requests {asked}, and {none}", about)
        entries = ((text(entry, "name"), self._sources.get(name)) for entry, name in sources_of(self._pod))
        whose = " and ".join(f"claim {entry} ({ref.kind} {ref.name})" for entry, ref in entries if ref) or "the pod"
        need = f"need the same device {devices[0]}: they " if len(devices) == 1 else ""
        names = [Ref("Device", each.rpartition("/")[2]) for each in devices[:NAMED_MAX]]
        said = f"the requests of {whose} {need}cannot be met together on one node: {details}"
        return Cause(said, [about, names])

    def _apart(self, meeting: Mapping[RequestKey, Sequence[NodeGroup]], about: About) -> Cause:
        """Say that the devices for different requests are on different nodes."""
        where, nodes = [], list[Ref]()
        for key, groups in meeting.items():
            names = [node for group in groups for node in group.nodes]
            nodes += [Ref("Node", each) for each in names[:2]]
            asked = self._asked[self._whole[key][0]]
            where.append(f"those for {asked.who} ({asked.device_class}) are on {shortened(names) or 'none'}")
        said = "no single node has devices for all requests of its claims together"
        return Cause(f"{said}: {', '.join(where)}", [nodes[:4], about])

    def _contested(self, group: NodeGroup) -> list[str]:
        """Return the devices that are all that each request could have on a node, if there are fewer than requests."""
        node = self._scene.cluster.index[group.nodes[0]]
        attempt = Round(self._scene.cluster, self._needs).on(node).attempt
        funnels = attempt.explain(self._scene.cluster.nodes[node].node) if attempt else ()
        places = [[str(funnel.view.devices[index]) for index in funnel.places] for funnel in funnels]
        is_same = all(each == places[0] for each in places)
        return places[0] if is_same and len(places[0]) < len(places) else []


def _of_others(request: JSONObject, own: frozenset[str]) -> JSONObject:
    """Return a request without the claims of the pod's own group among those that hold devices."""
    others = [each for each in request["heldBy"] if not (each["pods"] and own.issuperset(each["pods"]))]
    return {**request, "heldBy": others}


def _refs(held: Sequence[JSONObject]) -> list[Ref]:
    found = []
    for each in held:
        namespace, _, name = each["claim"].partition("/")
        found += [Ref("ResourceClaim", name, namespace), *(Ref("Pod", pod, namespace) for pod in each["pods"][:1])]
    return found


_TOGETHER: Final = (99, 99)
"""The closeness of nodes that can meet each request alone, but not all together: it is more than any of a request."""
_NO_DEVICES: Final = "cannot allocate all claims"
"""The scheduler's reason for nodes without devices for a pod; it checks everything else before."""
_UNUSABLE: Final = frozenset({"devices-in-use", "devices-tainted", "driver"})
"""The sorts of causes about devices that are there, but not for the pod."""


_Explained = tuple[list[Cause], Placement | None]
"""Why a pod has no node, the most decisive cause first; and its simulated placement, if that tells what would help."""


def explain(scene: Scene, pod: JSONObject) -> _Explained:
    """Say why a pod has no node."""
    if gates := [text(each, "name") for each in items(pod, "spec", "schedulingGates")]:
        about: list[About] = [Ref("Gate", each) for each in gates]
        known, words = scene.kueue_says(pod)
        who = ": Kueue has not admitted it" if f"{KUEUE}/admission" in gates else ""
        said = (
            f"held back by the scheduling gate{'s' * (len(gates) > 1)} {', '.join(gates)}{who}"
            f"{words and f', as it says: {brief(words)}'}; the scheduler does not look at it until the controller that "
            "set it removes it"
        )
        return [Cause(said, [*about, known], sort="scheduling-gate", words=words)], None
    if blocking := list(sorted_as("claim", claims.blocking(scene, pod))):
        return blocking, scene.scheduler.schedule(pod)
    if group_of(pod)[1] and (found := _of_gang(scene, pod)):
        return found
    # Before the simulation allocates claims, and takes their devices back.
    pending, gone = _Pending(scene, pod), list(sorted_as("claim", started.gone(scene, pod)))
    placement = scene.scheduler.schedule(pod)
    causes, helping = pending.found(placement)
    results = (AllocatedDevice(claim, each) for claim in placement.claims for each in results_of(claim))
    if placement.node is not None and not any(is_gone(each, scene) for each in results):
        back = "its allocation has to be taken back first"
        wait = "wait: the scheduler takes the allocation back, and tries again; if it does not, see its log"
        gone = [each._replace(text=f"{each.text}; {back}", helps=(wait,)) for each in gone]
    return [*gone, *causes], helping


def helps(scene: Scene, cause: Cause, placement: Placement | None) -> tuple[str, ...]:
    """Return what helps: changes with which a pod would get a node, and what releases claims that no pod uses."""
    changes = [each["change"] for each in scene.answers.of(placement)["why"]["help"]] if placement else []
    held = (each for each in refs_of(cause.about) if each.kind == "ResourceClaim")
    stored = (scene.inventory.find(each.kind, each.name, each.namespace) for each in held)
    faults = (fault_of(each, scene) for each in stored if each)
    own = cause.helps or (() if changes or not cause.fallback else (cause.fallback,))
    return (*changes, *(each.hint for each in faults if each), *own)


_NOT_SCALED: Final = {"cluster-autoscaler": "NotTriggerScaleUp", "karpenter": "FailedScheduling"}
"""The reasons of events by which autoscalers tell that they add no node for a pod."""
_SAID: Final = ("FailedScheduling", "Unschedulable", "FailedBinding")
"""The reasons of events by which schedulers tell that a pod has no node: kube-scheduler's, and KAI Scheduler's."""
_SCALED: Final = frozenset({"TriggeredScaleUp", "Nominated"})
"""Those by which they tell that they add one."""


def scaling(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say whether autoscalers add a node for a pod, and if not, why, as far as their last event about it tells."""
    last = {each.by: each for each in reversed(scene.events(pod))}
    for by, reason in _NOT_SCALED.items():
        if by in last and last[by].reason == reason:
            help_ = "".join(f"; {each}" for each in cures(last[by].words)[:1])
            yield Cause(f"{by} adds no node for it: {brief(last[by].words)}{help_}")
        elif by in last and last[by].reason in _SCALED:
            yield Cause(f"{by} adds a node for it: {brief(last[by].words)}")


# -- gangs


def _of_gang(scene: Scene, asked: JSONObject) -> _Explained | None:
    """Say why the gang of a pod's PodGroup cannot be scheduled; None if enough of its pods find devices."""
    group = group_of(asked)
    ref = Ref("PodGroup", group[1], group[0])
    pods, least = members(group, scene.inventory), least_of(group, scene.inventory)
    said, help_ = not_ready(group, scene.inventory, len(pods))
    if said:
        return [Cause(said, [ref], tuple(filter(None, [help_])), sort="pod-group")], None
    if not least:
        return None

    def told(pod: JSONObject, cause: Cause, what: str) -> Cause:
        said = f"{ref} needs devices for {least} pods together: pod {name_of(pod)} {what}: {cause.text}"
        return cause._replace(text=said, about=[ref, cause.about], names_pod=pod is asked)

    fitting = 0
    for each in sorted(pods, key=name_of):
        if text(each, "spec", "nodeName"):
            fitting += 1
            continue
        if isinstance(claims.uses(scene, each), Blocked):
            blocking = next(sorted_as("claim", claims.blocking(scene, each)))
            return [told(each, blocking, "waits for its claim")], None
        placement = scene.scheduler.schedule(each)
        if placement.node is None and not placement.awaited:
            if fitting >= least:
                break
            causes, helping = _Pending(scene, each, frozenset(map(name_of, pods))).found(placement)
            first = told(each, causes[0], f"finds none after {fitting} other{'s' * (fitting != 1)}")
            return [first, *causes[1:]], helping
        fitting += 1
    return None


class _Pending:
    """Explains one pod, by what the scheduler would do with it in the cluster as it is.

    Args:
        own: The pods that it is scheduled together with.
    """

    def __init__(self, scene: Scene, pod: JSONObject, own: frozenset[str] = frozenset()) -> None:
        self.scene, self.pod, self.own = scene, pod, own
        self.sources = scene.claim_sources(pod)
        named = (scene.inventory.find("ResourceClaim", each, namespace_of(pod)) for each in claims_named(pod))
        self._allocated = {name_of(each) for each in named if each is not None and allocation_of(each)}
        """The claims that have devices before the simulation gives them some."""

    def found(self, placement: Placement) -> _Explained:
        """Return why a placement has no node, and what would help."""
        known = (each for each in placement.claims if name_of(each) in self._allocated and self._shared(each))
        shared = [each for each in known if mapping(allocation_of(each), "nodeSelector")]
        others = list(self._not_simulated())
        if shared and placement.node:
            others = [self._pinned(shared, placement.node, each) for each in others]
        first = [] if placement.awaited else others
        causes = [*first, *self._simulated(placement, is_explained=bool(first))]
        if not causes:
            reason = self.scene.answers.of(placement)["why"]["reason"]
            helps = tuple(dict.fromkeys(each.hint for each in scheduler_crashes(self.scene)))
            causes = [Cause(reason, [*self.sources.values()], helps, sort="claim" if placement.is_unbound else "")]
        # The simulation does not know these reasons: what it finds would not help.
        return causes, None if others else placement

    def _simulated(self, placement: Placement, *, is_explained: bool) -> Iterator[Cause]:
        if placement.awaited:
            yield self._awaited(placement)._replace(sort="binding-condition")
        elif placement.node is not None:
            if not is_explained:
                yield self._unexpected(placement.node)
            node = self.scene.inventory.find("Node", placement.node) or {}
            # Drivers of the devices that the pod would get may not run on the node that it would get.
            results = (each for claim in placement.claims for each in results_of(claim))
            for driver in dict.fromkeys(text(each, "driver") for each in results):
                if trouble := drivers.on_node(self.scene, driver, node):
                    said = f"driver {driver} is not running on {name_of(node)}: {trouble.text}"
                    yield trouble._replace(text=said, sort="driver")
        elif placement.is_unbound:
            yield from sorted_as("claim", self._full(placement.claims))
        elif not self.scene.inventory.knows("Node"):
            yield Cause("the cluster has no nodes", sort="node")
        elif placement.verdicts is None or placement.needs is None:
            yield from sorted_as("class", self._missing_classes(placement.claims))
        else:
            yield from self._of_nodes(placement.verdicts, placement.needs)

    # -- before any node

    def _full(self, used: Sequence[JSONObject]) -> Iterator[Cause]:
        most = f"{binding.CONSUMERS_MAX} pods, the maximum that a claim may have (status.reservedFor)"
        help_ = "use a further claim, or one claim for each pod (a ResourceClaimTemplate)"
        for claim in (each for each in used if binding.used_up([each])):
            yield Cause(f"{ref_of(claim)} is used by {most}: it is full", [claim], (help_,))

    def _missing_classes(self, used: Sequence[JSONObject]) -> Iterator[Cause]:
        known = {name for _, name in self.scene.inventory.names("DeviceClass")}
        for claim in used:
            written, names = self.source(claim), {each.class_name for each in requests_of(claim)} - known
            for said in self.scene.rule("class-not-found", claim) if not allocation_of(claim) else ():
                about = [self.scene.and_meant(Ref("DeviceClass", each)) for each in sorted(names)]
                yield Cause(f"{written.kind} {written.name}: {said}", [*about, written])

    def source(self, claim: JSONObject) -> Ref:
        """Return the template that a claim was made from, or the claim itself."""
        return self.sources.get(name_of(claim)) or ref_of(claim)

    def _awaited(self, placement: Placement) -> Cause:
        now, first = self.scene.cluster.now, placement.awaited[0]
        claim = next(each for each in placement.claims if binding.awaited(each, now))
        conditions = [*first.missing, *([text(first.failed, "type")] if first.failed else [])]
        about: list[About] = [claim, Ref("Device", first.device), *(Ref("Condition", each) for each in conditions)]
        said = f"claim {name_of(claim)} {'is' if name_of(claim) in self._allocated else 'would be'} allocated, but"
        if first.is_unavailable:
            return Cause(f"{said} its binding conditions have failed: {placement.reason or first.text}", about)
        what, are = ("conditions", "are") if len(first.missing) > 1 else ("condition", "is")
        said += f" binding {what} {' and '.join(first.missing)} of device {first.place} {are} not true yet"
        waits = f"the scheduler waits for the driver before it binds the pod ({first.text})"
        return Cause(f"{said}: {waits}", about, ("see the log of the driver's controller",))

    def _not_simulated(self) -> Iterator[Cause]:
        """Say what else keeps the pod from all nodes before the scheduler looks at devices."""
        if volumes := list(sorted_as("volume", self._of_volumes())):
            yield from volumes
            return
        words, others = _words(self._said()), ("volume", "topology spread constraints", "affinity rules")
        if _NO_DEVICES not in words and any(each in words for each in others):
            what, about = self._of_other_pods(words)
            yield Cause(f"{what or 'the scheduler finds no node'}: {words}", [about, self.pod])

    def _of_other_pods(self, words: str) -> tuple[str, About]:
        """Explain a reason that is not simulated, such as anti-affinity, and return the objects to look at."""
        affinity, running = mapping(self.pod, "spec", "affinity"), self.scene.inventory.running()
        if "anti-affinity rules" in words:
            is_theirs = "existing pods anti-affinity" in words
            pairs = [(each, self.pod) if is_theirs else (self.pod, each) for each in running]
            found = [other if one is self.pod else one for one, other in pairs if _avoids(one, other)]
            who = listed(f"pod {name_of(each)} on {text(each, 'spec', 'nodeName')}" for each in found)
            theirs = f"is kept away by the required anti-affinity of {who}"
            own = f"its required pod anti-affinity keeps it from {who}"
            return (theirs if is_theirs else own, found[:NAMED_MAX]) if found else ("", None)
        terms = items(affinity, "podAffinity", REQUIRED[-1]) if "pod affinity rules" in words else []
        if keys := sorted({text(each, "topologyKey") for each in terms}):
            return f"its required pod affinity ({' and '.join(keys)}) finds no pod to be with", None
        terms = items(self.pod, "spec", "topologySpreadConstraints") if "topology spread" in words else []
        if keys := sorted({text(each, "topologyKey") for each in terms}):
            return f"its topology spread constraints ({' and '.join(keys)}) allow no node", None
        if "volume" in words.lower() and (volumes := list(self._volumes())):
            names = listed(str(ref) for _, ref in volumes)
            return f"its volume {volumes[0][0]} ({names}) allows no node", [ref for _, ref in volumes]
        return "", None

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
            claim, what = inventory.find("PersistentVolumeClaim", ref.name, namespace), f"{ref}, its volume {entry},"
            warned = next((each for each in self.scene.events(claim or {}) if each.warns), None)
            if claim is None and not is_known:
                if f'persistentvolumeclaim "{ref.name}"' in said or "PersistentVolumeClaims" in said:
                    yield Cause(f"{what} holds it up, as the scheduler says: {_words(said)}", [ref])
            elif claim is None:
                yield Cause(f"{what} does not exist", [ref])
            elif text(claim, "status", "phase") == "Lost":
                yield Cause(f"{what} has lost its PersistentVolume", [ref])
            elif text(claim, "status", "phase") == "Pending" and (warned or "volume" in said.lower()):
                why = f": {brief(warned.words)}" if warned else f", as the scheduler says: {_words(said)}"
                yield Cause(f"{what} is not bound{why}", [ref], words=warned.words if warned else said)

    # -- nodes

    def _of_nodes(self, verdicts: Verdicts, needs: Needs) -> Iterator[Cause]:
        """Say what keeps the pod from the nodes that have devices for it; if none has, what devices lack."""
        if not verdicts.nodes:
            (said,) = rejections.unnamed(self.scene.cluster, needs).details
            named = (Ref("Node", each) for each in sorted(nodes_named(needs.demand.spec) or ()))
            yield Cause(said, [self.pod, *named], sort="node")
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
            return
        provides = self.scene.cluster.extended.provides
        suiting = [node for node, verdict in by_devices.items() if not verdict.reasons]
        # A device plugin provides there what devices provide elsewhere.
        full = [node for node in suiting if any(map(provides, verdicts.by_node[node].missing))]
        if having := [node for node in suiting if node not in full]:
            kept, found = sorted_as("node", self._kept_from(having, round_)), [*self._unusable(verdicts, round_)]
            # Of a pod that selects its nodes, the driver there is at fault.
            is_selecting = all(verdicts.by_node[each].plugin == AFFINITY for each in having)
            is_of_driver = is_selecting and any(each.sort == "driver" for each in found[:1])
            yield from [*found, *kept] if is_of_driver else [*kept, *found]
        elif all(each.unavailable for each in by_devices.values()):
            allocated = [each for each in needs.claims if allocation_of(each)]
            said = "; ".join(rejections.elsewhere(self.scene.cluster, each) for each in allocated)
            helps = tuple(each for claim in allocated for each in self._shared(claim))
            yield Cause(f"no node has the devices of its allocated claims: {said}", allocated, helps, sort="claim")
        else:
            alone = {node: verdict for node, verdict in by_devices.items() if verdict.by_devices}
            groups = rejections.node_groups(alone, round_)
            unmet = (rejections.unmet(each.requests).values() for each in groups)
            steps = [min((each.closeness for each in several), default=_TOGETHER) for several in unmet]
            nearest = (group for group, step in zip(groups, steps, strict=True) if step == max(steps))
            nodes = [self.scene.cluster.index[name] for group in nearest for name in group.nodes]
            taking = [each for each in nodes if verdicts.by_node[each].by_devices]
            closest = full if taking else [*full, *nodes]
            is_pinned = any(each.unavailable for each in by_devices.values())
            is_partly = 0 < len(taking) < len(nodes) and max(steps)[0] > STEPS.index("free")
            if is_partly:  # what the others lack is not what the pod waits for
                alone = {node: each for node, each in alone.items() if verdicts.by_node[node].by_devices}
                groups = rejections.node_groups(alone, round_)
            there = [self.scene.cluster.names[each] for each in alone] if is_pinned or full or is_partly else []
            found = list(Lacks(self, needs, groups, there).causes())
            if is_pinned:
                found[:1] = [self._pinned(needs.claims, shortened(there), each) for each in found[:1]]
            kept = sorted_as("node", self._kept_from(closest, round_, has_devices=False))
            # Devices in use come free, others do not come.
            yield from [*found, *kept] if any(each.sort == "no-device" for each in found[:1]) else [*kept, *found]

    def _unusable(self, verdicts: Verdicts, round_: Round) -> Iterator[Cause]:
        """Say why the pod cannot have the devices of the nodes that refuse it for their devices only."""
        refusing = {node: each for node, each in verdicts.by_node.items() if each.by_devices}
        where = [self.scene.cluster.names[each] for each in refusing]
        groups = rejections.node_groups(refusing, round_)
        yield from (each for each in Lacks(self, round_.needs, groups, where).causes() if each.sort in _UNUSABLE)

    def _unprovided(self, needs: Needs) -> Iterator[Cause]:
        """Say which extended resources neither a node nor a class provides."""
        extended = self.scene.cluster.extended
        for name in filter(is_extended, needs.demand.requests):
            if extended.provides(name) or name in self.scene.offered:
                continue
            # The vendor, such as nvidia of nvidia.com/gpu.
            vendor = as_in_pods(name).partition("/")[0].rpartition(".")[0].rpartition(".")[2] or name
            like = [each for each in self.scene.inventory.all("DeviceClass") if vendor in name_of(each)]
            hint = did_you_mean(name, [each for each in extended.classes if "/" in each])
            hint = hint or (
                f"{listed(map(str, map(ref_of, like)))} could, with extendedResourceName: {name}" if like else ""
            )
            why = "no DeviceClass has it as extendedResourceName, and no node's device plugin offers it"
            yield Cause(f"nothing provides {name}: {why}{hint and f'; {hint}'}", [Ref("Resource", name), like])

    def _failed(self, error: Fault, needs: Needs) -> Cause:
        """Say what ended the search for devices on all nodes."""
        pending = [each for each in needs.claims if not allocation_of(each)]
        failing = error.claim or next(map(full_name_of, pending), "")
        claim = next((each for each in pending if full_name_of(each) == failing), None)
        if claim is None:
            return Cause(f"an error ends the search for devices on all nodes: {brief(error)}", [self.pod])
        written, words, missing, of_class = self.source(claim), error.words or error, error.missing, error.of_class
        who = f"{written.kind} {written.name}"
        total = sum(each.wanted for each in requests_of(claim))
        if not missing and total > LIMIT:
            said = f"{who} wants {total} devices: a claim may have at most {LIMIT}"
            return Cause(said, [written], sort="claim")
        if not missing:
            return Cause(f"an error ends the search for devices of {who} on all nodes: {brief(words)}", [written])
        asked = either([each.name for each in requests_of(claim) if each.own])
        which = f"DeviceClass {of_class}, used by {who}," if of_class else f"{who}, request {asked}"
        rules = ("not-published", "attribute-not-of-driver")
        hint = next((each for rule in rules for each in self.scene.rule(rule, claim)), "")
        said = f"the selector of {which} reads attribute {missing}, which a device does not have"
        ends = f"that error ends the search on all nodes ({brief(words)})"
        about = [Ref("DeviceClass", of_class) if of_class else None, written, Ref("Attribute", missing)]
        return Cause(f"{said}{hint and f' ({brief(hint)})'}: {ends}", about)

    # -- nodes that have devices, and refuse the pod for another reason

    def _kept_from(self, suiting: Sequence[int], round_: Round, *, has_devices: bool = True) -> Iterator[Cause]:
        """Say why nodes refuse the pod, their devices aside.

        Args:
            has_devices: Whether devices for the pod are free there.
        """
        needs, alike = round_.needs, dict[Hashable, tuple[list[NodeVerdict], list[NodeState]]]()
        provides = self.scene.cluster.extended.provides
        wants_devices = bool(needs.claims) or any(map(provides, needs.demand.requests))
        for node in suiting:
            # What a taint hides comes first: it stays when the taint goes.
            state, refusals = self.scene.cluster.nodes[node], [*round_.refusals(node)][::-1]
            key = [(each.reasons, rejections.taints(each, state, needs.demand)) for each in refusals]
            alike.setdefault(tuple(key), (refusals, []))[1].append(state)
        alike.pop((), None)
        for refusals, states in sorted(alike.values(), key=lambda each: -len(each[1])):
            names, which = shortened([each.name for each in states]), ""
            nodes = [Ref("Node", each.name) for each in states[:NAMED_MAX]]
            said, about = zip(*(self._refusal(each, states, needs) for each in refusals), strict=True)
            what = ", and ".join(said)
            if any(map(allocation_of, needs.claims)):
                yield self._pinned(needs.claims, names, Cause(f"{names} {what}", [nodes, *about]))
                continue
            if has_devices and wants_devices:
                only = f", the only node{'s' * (len(states) > 1)} with free devices for it,"
                which = only if len(states) == len(suiting) else " (with free devices for it)"
            is_unselected = refusals[0].plugin == AFFINITY
            yield Cause(f"{names}{which} {what}", [*about, nodes] if is_unselected else [nodes, *about])

    def _pinned(self, used: Sequence[JSONObject], names: str, cause: Cause) -> Cause:
        """Say on which nodes an allocated claim keeps the pod, and why these do not take it."""
        claim = next(filter(allocation_of, used))
        said = f"{ref_of(claim)} is allocated on {names}, and {cause.text}"
        return cause._replace(text=said, about=[claim, cause.about], helps=(*cause.helps, *self._shared(claim)))

    def _shared(self, claim: JSONObject) -> tuple[str, ...]:
        """Say what helps if other pods use a claim that the pod names."""
        others = {*rejections.holder(self.scene.cluster, full_name_of(claim), 0)["pods"]} - {name_of(self.pod)}
        apart = "with resourceClaimTemplateName in place of resourceClaimName, if pods may have their own devices"
        return (apart,) if others and self.source(claim).kind == "ResourceClaim" else ()

    def _refusal(self, refusal: NodeVerdict, states: Sequence[NodeState], needs: Needs) -> tuple[str, About]:
        """Say why nodes refuse the pod, their devices aside, and what that is about."""
        is_, has = ("is", "has") if len(states) == 1 else ("are", "have")
        plugin, cluster, ready = refusal.plugin, self.scene.cluster, condition_of(states[0].node, "Ready")
        ports = ", ".join(sorted(str(port) for _, _, port in needs.demand.ports))
        taints = states[0].untolerated(needs.demand.tolerations) if plugin == TAINTS else []
        pods = f"{states[0].pods} pod{'s' * (states[0].pods != 1)}"
        full = "no room for the pod" if refusal.missing else f"{pods}, and no more fit"
        said = {
            CORDON: f"{is_} cordoned (unschedulable)",
            TAINTS: f"{has} {'taints' if taints[1:] else 'a taint'} that the pod does not tolerate",
            AFFINITY: f"{is_} not selected by the pod's node selector or affinity",
            PORTS: f"{has} no free host port {ports}, as another pod there uses it",
            RESOURCES: f"{has} {full}",
        }.get(plugin, f"{is_} not suitable: {', '.join(refusal.reasons)}")
        nodes = [cluster.index[each.name] for each in states]
        details = [*rejections.details(cluster, nodes, refusal, needs)]
        if taints and NODE_STATES.keys() >= {each.key for each in taints} and not is_ready(states[0].node):
            said, details = f"{is_} not ready", [*filter(None, [text(ready, "message") or text(ready, "reason")])]
        about: list[About] = [Ref("Resource", each) for each in refusal.missing]
        if plugin == AFFINITY:
            pairs = mapping(needs.demand.spec, "nodeSelector").items()
            about = [self.pod, *(Ref("Label", f"{key}={value}") for key, value in pairs)]
        return ": ".join(filter(None, [said, "; ".join(details)])), [*about, *about_taints(*taints)]

    # -- what the scheduler says

    def _said(self) -> str:
        """Return the scheduler's last message about the pod: that of its condition, otherwise that of an event."""
        condition = condition_of(self.pod, "PodScheduled")
        events = [each for each in self.scene.events(self.pod, *_SAID) if each.by not in _NOT_SCALED]
        return text(condition, "message") or (events[0].words if events else "")

    def _unexpected(self, node: str) -> Cause:
        """Say what the scheduler says of a pod for which there is room, as far as the simulation can tell."""
        words, others = self._said(), ", ".join(not_simulated(self.pod))
        room = f"{node} has room for it{others and f' (not simulated: {others})'}"
        if nominated := text(self.pod, "status", "nominatedNodeName"):
            said = f"waits on {nominated} until the pods that it preempts there have ended"
            return Cause(said, [Ref("Node", nominated), self.pod])
        if (name := other_scheduler(self.pod)) and not words:
            said = f"its scheduler {name} (spec.schedulerName) has said nothing of it: does it run?"
            said += f" kube-scheduler leaves the pod alone; {room}"
            help_ = f"correct spec.schedulerName, or start scheduler {name}"
            return Cause(said, [Ref("Scheduler", name), self.pod], (help_,))
        if not words:
            trouble = drivers.of_component(self.scene, "kube-scheduler")
            if fault := next(scheduler_crashes(self.scene), None):
                trouble = Cause(f"it crashes at {ref_of(fault.obj)}: {fault.message}", [fault.obj], (fault.hint,))
            if trouble:
                return trouble._replace(text=f"waits for kube-scheduler: {trouble.text}; {room}", about=[trouble.about])
            return Cause(f"waits for the scheduler, which has said nothing of it yet; {room}", [self.pod])
        extended = self.scene.cluster.extended
        for each in requests(self.pod):
            if extended.provides(each) and str(lack_of(each)) in words:
                of = Ref("DeviceClass", extended.classes.get(each, ""))
                said = f"kube-scheduler finds no {each}, which {of} provides on {node}"
                why = f"its feature gate {EXTENDED} is off, or it has not tried since"
                help_ = f"set --feature-gates {EXTENDED}=true of kube-scheduler and kubelet, too"
                return Cause(f"{said}: {why}", [Ref("Gate", EXTENDED), Ref("Resource", each), of], (help_,))
        spaces = {space for space, _ in self.scene.inventory.names("ResourceClaim")}
        is_partial = _NO_DEVICES in words and spaces == {namespace_of(self.pod)}
        unseen = ["collect the ResourceClaims of all namespaces: others may hold the devices"] if is_partial else []
        inferred = sorted(_NEEDED_GATES & self.scene.settings.gates - enabled(self.scene.settings.release))
        if _NO_DEVICES not in words:
            unseen += cures(_words(words), of_scheduler=True)
        elif inferred:
            flags = ",".join(f"{each}=true" for each in inferred)
            unseen.append(f"set --feature-gates {flags} of kube-scheduler, too, if only kube-apiserver has it")
        what, about = self._of_other_pods(words)
        return Cause(
            f"{what or 'the scheduler finds no node'}: {_words(words)}; by devices and "
            f"resources {node} has room, so what it names is the reason, or is gone since",
            [about, self.scene.mentioned(words, namespace_of(self.pod)), self.pod, Ref("Node", node)],
            (*unseen, "the scheduler tries again after changes in the cluster, and after five minutes in any case"),
        )


_NEEDED_GATES: Final = frozenset({"DRAPartitionableDevices", "DRAConsumableCapacity", "DRADeviceBindingConditions"})
"""The gates without which the scheduler leaves out some devices."""


def _words(said: str) -> str:
    """Shorten the scheduler's words to those about nodes."""
    return brief(said.partition(" preemption: ")[0].rstrip(". ,"))


def _avoids(pod: JSONObject, other: JSONObject) -> bool:
    """Tell whether a pod's required anti-affinity selects another pod, in any topology and in namespaces by name."""
    for term in items(pod, "spec", "affinity", "podAntiAffinity", REQUIRED[-1]):
        labels, spaces = mapping(term, "labelSelector", "matchLabels").items(), texts(term, "namespaces")
        wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in labels]
        wanted += items(term, "labelSelector", "matchExpressions")
        has_selector = isinstance(term.get("labelSelector"), dict)
        if not has_selector or namespace_of(other) not in (spaces or [namespace_of(pod)]):
            continue
        # An empty selector selects all pods, while an empty term of a node selector selects no node.
        if not wanted or term_selects({"matchExpressions": wanted}, "", mapping(other, "metadata", "labels")):
            return True
    return False
