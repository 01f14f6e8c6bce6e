"""What the devices of all nodes lack for a pod: the first step that leaves too few, and who is in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from webhook.allocation.explain import STEPS
from webhook.deviceselectors.fleet import shortened
from webhook.hints.names import listed
from webhook.inventory.claims import requests_of, results_of
from webhook.inventory.resources import is_extended
from webhook.objects import JSONObject, items, mapping, name_of, namespace_of, text
from webhook.simulation.cluster import Taint, taint_of
from webhook.simulation.rejections import Group, RequestKey, key_of, shortfall_of, taints_of, used_by, wanted_of, whole
from webhook.simulation.scheduler import Needs, Round
from webhook.simulation.workloads import priority
from webhook.why import drivers
from webhook.why.containers import brief
from webhook.why.scene import NAMED_MAX, Cause, Ref, Scene, ref_of

_EVICTED: Final = "DeviceTaintManagerEviction"
_SORTS: Final = {
    **dict.fromkeys(("seen", "ofClass", "selected"), "no-device"),
    **dict.fromkeys(("free", "enough", "together"), "devices-in-use"),
    "tolerated": "devices-tainted",
    "constrained": "constraints",
}
"""The sorts of causes, by the step that leaves too few devices."""


class _Asked:
    """A request, with the nodes that come closest to meeting it: on all of them, the same step leaves too few devices.

    Args:
        key: The request.
        groups: The groups of nodes, each with what is left of its devices for the request.
        written: What the user wrote for the claim; None for one that the scheduler makes for extended resources.
        extended: The extended resource that it stands for; empty if the user wrote it.
    """

    def __init__(
        self, key: RequestKey, groups: Sequence[tuple[Group, JSONObject]], written: Ref | None, of: tuple[str, str]
    ) -> None:
        self.key, self.written = key, written
        self.device_class, self.extended = of
        self.every = [request for _, request in groups]
        short = [(found, group, request) for group, request in groups if (found := shortfall_of(request))]
        self.step = max((each.step for each, *_ in short), default=0)
        alike = [(group, request) for each, group, request in short if each.step == self.step]
        self.alike = [request for _, request in alike]
        self._counts = [len(group.nodes) for group, _ in alike]
        self.wanted = max(map(wanted_of, self.every), default=1)

    def total(self, step: str) -> int:
        """Return the number of devices that a step leaves on all nodes."""
        return sum(request[step] * count for request, count in zip(self.alike, self._counts, strict=True))

    def most(self, step: str) -> int:
        """Return the number of devices that a step leaves on the best node."""
        return max((request[step] or 0 for request in self.alike), default=0)

    def first(self, name: str) -> str:
        """Return the first text of a name that is not empty, such as why devices are ruled out."""
        return next((str(each[name]) for each in self.alike if each[name]), "")

    @property
    def who(self) -> str:
        """The request as the user wrote it, such as ``ResourceClaimTemplate gpu, request gpu``."""
        if self.written is None:
            return str(self.every[0]["for"])
        name = str(self.written) if self.written.kind == "ResourceClaim" else f"{self.written.kind} {self.written.name}"
        return f"{name}, request {self.key[1]}"

    @property
    def what(self) -> str:
        """The devices that it wants, such as ``device of class gpu with memory >= 80Gi``."""
        wish = self.first("selecting")
        return f"device of class {self.device_class}{wish and f' with {wish}'}"

    @property
    def about(self) -> tuple[Ref, ...]:
        """The objects to look at: what the user wrote, the extended resource and the class."""
        extended = (Ref("Resource", self.extended),) if self.extended else ()
        written = (self.written,) if self.written else ()
        return (*written, *extended, Ref("DeviceClass", self.device_class))


class Lacks:
    """Says what devices lack.

    Args:
        groups: How nodes refuse the pod for its devices, as the simulation explains it.
        own: The pods that the pod is scheduled together with.
    """

    def __init__(
        self, scene: Scene, pod: JSONObject, needs: Needs, groups: Sequence[Group], own: frozenset[str]
    ) -> None:
        self._scene, self._pod, self._needs, self._groups, self._own = scene, pod, needs, groups, own
        self._sources = scene.claim_sources(pod)
        found: dict[RequestKey, list[tuple[Group, JSONObject]]] = {}
        for group in groups:
            for request in group.requests:
                found.setdefault(key_of(request), []).append((group, request))
        self._asked = {key: self._as_asked(key, several) for key, several in found.items()}
        self._whole: dict[RequestKey, list[RequestKey]] = {}
        """The alternatives of each request; the request itself if it has none."""
        for key in found:
            self._whole.setdefault(whole(key), []).append(key)

    def _as_asked(self, key: RequestKey, groups: Sequence[tuple[Group, JSONObject]]) -> _Asked:
        claim, name = self._scene.cluster.claim(key[0]), key[0].partition("/")[2]
        class_name = next((each.class_name for each in requests_of(claim) if each.name == key[1]), "")
        extended, names = self._scene.cluster.extended, self._needs.demand.requests
        resource = "" if claim else next((each for each in names if is_extended(each) and extended.provides(each)), "")
        return _Asked(
            key, groups, self._sources.get(name), (class_name or extended.classes.get(resource, ""), resource)
        )

    def causes(self) -> Iterator[Cause]:
        """Yield a cause for each request that no node can meet; if there is none, why all are not met together."""
        unmet = [
            [self._asked[key] for key in keys]
            for keys in self._whole.values()
            if all(shortfall_of(each) is not None for key in keys for each in self._asked[key].every)
        ]
        if not unmet and self._groups:
            yield self._together()._replace(sort="constraints")
        yield from self._of_requests(unmet)
        classes = dict.fromkeys(each.device_class for alternatives in unmet for each in alternatives if each.step)
        for driver in dict.fromkeys(each for name in classes for each in drivers.of_class(self._scene, name)):
            yield from drivers.down(self._scene, driver)

    def _of_requests(self, unmet: Sequence[Sequence[_Asked]]) -> Iterator[Cause]:
        for alternatives in sorted(unmet, key=lambda each: min(one.step for one in each)):
            found = [self._of_request(each) for each in alternatives]
            if len(found) == 1:
                yield found[0]
                continue
            names = [each.key[1].partition("/")[2] for each in alternatives]
            said = "; ".join(f"{name}: {each.text}" for name, each in zip(names, found, strict=True))
            about = tuple(dict.fromkeys(ref for each in found for ref in each.about))
            whole = alternatives[0].key[1].partition("/")[0]
            said = f"none of the alternatives (firstAvailable) of request {whole} can be met: {said}"
            yield Cause(said, about, sort=found[0].sort)

    def _of_request(self, asked: _Asked) -> Cause:
        """Say which step leaves too few devices for a request, and why."""
        steps = {
            "seen": self._not_of_class,
            "ofClass": self._not_of_class,
            "selected": self._not_selected,
            "free": self._not_free,
            "tolerated": self._not_tolerated,
            "enough": self._not_enough,
            "constrained": self._not_constrained,
            "together": self._not_enough,
        }
        found = steps[STEPS[asked.step]](asked)
        return found if found.sort else found._replace(sort=_SORTS[STEPS[asked.step]])

    def _not_of_class(self, asked: _Asked) -> Cause:
        scene, name = self._scene, asked.device_class
        if unused := [each for request in asked.alike for each in request["unused"]]:
            driver, _, pool = unused[0]["pool"].partition("/")
            return Cause(
                f"pool {unused[0]['pool']} is {unused[0]['why']}, so that its {unused[0]['devices']} devices are not "
                f"used, and there is no other device for {asked.who}",
                (Ref("Pool", pool), Ref("Driver", driver), *asked.about),
                (f"wait until driver {driver} has published the whole pool; see its log",),
                sort="driver",
            )
        selected = drivers.of_class(scene, name)
        for driver in selected:
            if not drivers.publishes(scene, driver):
                found = drivers.absent(scene, driver)
                return found._replace(about=(*found.about, *asked.about), sort="driver")
        if count := max(each["ofClass"] for each in asked.every):
            devices = f"{asked.wanted} devices of class {name}"
            return Cause(f"{asked.who} wants {devices} on one node: no node has more than {count}", asked.about)
        hint = next(scene.rule("selects-nothing", scene.inventory.find("DeviceClass", name) or {}), "")
        said = asked.first("because") or hint
        return Cause(
            f"no node has a device of class {name} for {asked.who}{said and f': {brief(said)}'}",
            (Ref("DeviceClass", name), *asked.about, *(Ref("Driver", each) for each in selected)),
        )

    def _not_selected(self, asked: _Asked) -> Cause:
        wish, because = asked.first("selecting"), asked.first("because")
        if most := asked.most("selected"):
            devices = f"{asked.wanted} devices{wish and f' with {wish}'}"
            return Cause(f"{asked.who} wants {devices} on one node: no node has more than {most}", asked.about)
        claim = self._scene.cluster.claim(asked.key[0])
        because = because or next(self._scene.rule("not-published", claim or {}), "")
        selecting = (
            f"has {wish}, as the selector of {asked.who} wants" if wish else f"matches the selector of {asked.who}"
        )
        total, of_class = asked.total("ofClass"), f"of class {asked.device_class}"
        said = f"the only one {of_class} does not match" if total == 1 else f"none of {total} {of_class} matches"
        return Cause(
            f"no device {selecting}: {said}{because and f', as {brief(because)}'}",
            asked.about,
        )

    # -- holders

    def _holders(self, asked: _Asked) -> list[JSONObject]:
        """Return the claims that hold devices which a request could use, without those of the pod's own group."""
        held = {each["claim"]: each for request in asked.alike for each in request["heldBy"]}
        return [each for each in held.values() if not (each["pods"] and self._own.issuperset(each["pods"]))]

    def _not_free(self, asked: _Asked) -> Cause:
        held = self._holders(asked)
        names = [(name, each["claim"].partition("/")[0]) for each in held for name in each["pods"]]
        pods = [pod for each in names if (pod := self._scene.inventory.find("Pod", *each)) is not None]
        if own := self._of_update(held, pods):
            return own
        total, most = asked.total("selected"), asked.most("free")
        mine = priority(self._pod, self._scene.inventory)
        is_lower = bool(pods) and all(priority(each, self._scene.inventory) < mine for each in pods)
        lower = "by pods of lower priority, " if is_lower else ""
        why = "; the scheduler does not preempt pods for devices" if is_lower else ""
        all_ = "the only one is" if total == 1 else f"all {total} are"
        said = f"no {asked.what} is free for {asked.who}: {all_} held"
        if most or self._own:
            what = asked.what.replace("device", "devices", 1) if asked.wanted > 1 else asked.what
            others = sum(each["devices"] for each in held)
            theirs = f"{total - others} of {total} {'is its' if total - others == 1 else 'are its'} own, and {others}"
            left = f"at most {most}, as {others} of {total}" if most else theirs
            held_by = f"{'is' if others == 1 else 'are'} held"
            said = f"no node has {asked.wanted} free {what} for {asked.who}: {left} {held_by}"
        return Cause(f"{said} {lower}by {_named(held)}{why}", (*_refs(held)[:6], *asked.about))

    def _of_update(self, held: Sequence[JSONObject], pods: Sequence[JSONObject]) -> Cause | None:
        """Say that a rolling update waits for the pods that it replaces; None if others hold devices, too."""
        scene, above = self._scene, list(self._scene.owners(self._pod))
        deployment = next((each for each in above if text(each, "kind") == "Deployment"), None)
        if deployment is None or not pods:
            return None
        if any(deployment not in scene.owners(each) or scene.owner(each) is above[0] for each in pods):
            return None
        unavailable = mapping(deployment, "spec", "strategy", "rollingUpdate").get("maxUnavailable", "25%")
        return Cause(
            f"the rolling update of {ref_of(deployment)} waits for itself: new pod {name_of(self._pod)} needs a "
            f"device, and all are held by the old pods ({listed(map(name_of, pods))}), of which none ends before, as "
            f"maxUnavailable is {unavailable}",
            (ref_of(deployment), *map(ref_of, pods[:NAMED_MAX]), *_refs(held)[:NAMED_MAX]),
            ("set maxUnavailable to 1, or strategy Recreate, so that an old pod ends first; or delete one",),
            names_pod=True,
        )

    # -- taints

    def _not_tolerated(self, asked: _Asked) -> Cause:
        taints = list(dict.fromkeys(taint for several in taints_of(asked.alike) for taint in sorted(several)))
        rules = self._scene.cluster.rules_of(taints)
        free = "" if asked.total("free") == asked.total("selected") else "free "
        total, written = asked.total("free"), " or ".join(map(str, taints[:NAMED_MAX]))
        devices = f"the only {free}device" if total == 1 else f"all {total} {free}devices"
        said = (
            f"{devices} of class {asked.device_class} {'has' if total == 1 else 'have'} a taint that {asked.who} "
            f"does not tolerate: {written}"
        )
        if rules:
            said = (
                f"{ref_of(rules[0])} taints {devices} of class {asked.device_class}: {written}, which {asked.who} "
                "does not tolerate"
            )
        places = self._with(taints)
        if (evicted := self._evicted()) and places:
            said = (
                f"the taint {written} of device {places[0]} evicted pod {evicted}, and keeps its successor "
                f"{name_of(self._pod)} pending: {said}"
            )
        names = [each.rpartition("/")[2] for each in places[:NAMED_MAX]]
        about = (*(Ref("Taint", each.key) for each in taints), *(Ref("Device", each) for each in names))
        return Cause(said, (*map(ref_of, rules), *about, *asked.about), stage="ended" if evicted else "")

    def _with(self, taints: Sequence[Taint]) -> list[str]:
        """Return the devices that have some taints."""
        return [
            str(device)
            for each in self._scene.cluster.allocator.catalog.slices
            for device in each.devices
            if any(taint_of(one) in taints for one in device.content.taints)
        ]

    def _evicted(self) -> str:
        """Return the pod of the same workload that a device's taint has evicted; empty if there was none."""
        owner = self._scene.owner(self._pod)
        gone = self._scene.of_gone(f"{name_of(owner)}-", namespace_of(self._pod)) if owner else ()
        return next((text(each.about, "name") for each in gone if each.reason == _EVICTED), "")

    # -- capacity, counters, constraints

    def _not_enough(self, asked: _Asked) -> Cause:
        request, because = asked.alike[0], asked.first("because")
        capacity = request["lacking"]["name"] if request["lacking"] else ""
        held, total = self._holders(asked), asked.total("tolerated")
        which = "the only device" if total == 1 else f"none of {total} devices"
        much = "too little" if total == 1 else "enough"
        together = f" for {asked.wanted} together" if STEPS[asked.step] == "together" else ""
        said = (
            f"{which} of class {asked.device_class} has {much} {capacity or request['short']} left{together} for "
            f"{asked.who}{because and f': {brief(because)}'}"
        )
        taken = [
            f"claim {each['claim']}{used_by(each)} holds {self._taken(each, capacity)}" for each in held[:NAMED_MAX]
        ]
        more = [f"{len(held) - NAMED_MAX} more hold some"] if held[NAMED_MAX:] else []
        sets = tuple(Ref("CounterSet", each["counterSet"]) for each in request["counters"][:NAMED_MAX])
        return Cause(
            "; ".join([said, *filter(None, [", ".join([*taken, *more])])]), (*_refs(held)[:6], *sets, *asked.about)
        )

    def _taken(self, held: JSONObject, capacity: str) -> str:
        """Write which devices a claim has, with how much of their capacity."""
        found = []
        for result in results_of(self._scene.cluster.claim(held["claim"])):
            amounts = {key.rpartition("/")[2]: value for key, value in mapping(result, "consumedCapacity").items()}
            amount = amounts.get(capacity.rpartition("/")[2]) if capacity else None
            found.append(text(result, "device") + (f" ({capacity} {amount})" if amount else ""))
        return listed(found)

    def _not_constrained(self, asked: _Asked) -> Cause:
        constraint, because = asked.first("constraint"), asked.first("because")
        return Cause(
            f"{asked.who} wants {asked.wanted} devices with {constraint} (a constraint of the claim): no node has "
            f"more than {asked.most('constrained')}{because and f', as {brief(because)}'}",
            asked.about,
        )

    # -- requests that could each be met alone

    def _together(self) -> Cause:
        """Say why no node meets all requests, though each is met somewhere."""
        about = tuple(dict.fromkeys(ref for each in self._asked.values() for ref in each.about))
        met = [{key_of(one) for one in each.requests if shortfall_of(one) is None} for each in self._groups]
        meeting = {
            key: [each for each, of in zip(self._groups, met, strict=True) if not of.isdisjoint(keys)]
            for key, keys in self._whole.items()
        }
        full = [each for each in self._groups if all(each in several for several in meeting.values())]
        if not full:
            return self._apart(meeting, about)
        details = next((brief(each) for group in full for each in group.details), "each could be met alone")
        constraint = next(
            (
                (self._sources.get(name_of(claim)) or ref_of(claim), text(each, field))
                for claim in self._needs.claims
                for each in items(claim, "spec", "devices", "constraints")
                for field in ("matchAttribute", "distinctAttribute")
                if text(each, field)
            ),
            None,
        )
        devices = self._contested(full[0])
        if constraint and not devices:
            written, attribute = constraint
            return Cause(
                f"{written.kind} {written.name} wants its requests {' and '.join(key[1] for key in self._whole)} at "
                f"one {attribute} (a constraint), and no node has such devices together: {details}",
                (written, *about, Ref("Attribute", attribute)),
            )
        who = " and ".join(f"claim {entry} ({ref.kind} {ref.name})" for entry, ref in self._entries()) or "its requests"
        need = f"both need device {devices[0]}: they " if len(devices) == 1 else ""
        names = (Ref("Device", each.rpartition("/")[2]) for each in devices[:NAMED_MAX])
        return Cause(f"{who} {need}cannot be met together on one node: {details}", (*about, *names))

    def _apart(self, meeting: Mapping[RequestKey, Sequence[Group]], about: tuple[Ref, ...]) -> Cause:
        """Say that the devices for different requests are on different nodes."""
        where, nodes = [], list[Ref]()
        for key, groups in meeting.items():
            names = [node for group in groups for node in group.nodes]
            nodes += [Ref("Node", each) for each in names[:2]]
            asked = self._asked[self._whole[key][0]]
            where.append(f"for {asked.who} ({asked.device_class}) on {shortened(names) or 'none'}")
        said = "no single node has devices for all requests of its claims together: they are"
        return Cause(f"{said} {', '.join(where)}", (*nodes[:4], *about))

    def _entries(self) -> Iterator[tuple[str, Ref]]:
        """Yield the names that the pod gives its claims, each with the claim or template that the user wrote."""
        statuses = items(self._pod, "status", "resourceClaimStatuses")
        made = {text(each, "name"): text(each, "resourceClaimName") for each in statuses}
        for entry in items(self._pod, "spec", "resourceClaims"):
            name = made.get(text(entry, "name")) or text(entry, "resourceClaimName")
            if ref := self._sources.get(name):
                yield text(entry, "name"), ref

    def _contested(self, group: Group) -> list[str]:
        """Return the devices that are all that each request could have on a node, if there are fewer than requests."""
        node = self._scene.cluster.index[group.nodes[0]]
        attempt = Round(self._scene.cluster, self._needs).on(node).attempt
        funnels = attempt.explain(self._scene.cluster.nodes[node].node) if attempt else ()
        places = [[str(funnel.view.devices[index]) for index in funnel.places] for funnel in funnels]
        is_same = all(each == places[0] for each in places)
        return places[0] if is_same and len(places[0]) < len(places) else []


def _named(held: Sequence[JSONObject]) -> str:
    """Write the claims that hold devices, with their pods."""
    names = [f"{each['claim']}{used_by(each)}" for each in held[:NAMED_MAX]]
    if rest := len(held) - len(names):
        names.append(f"{rest} more")
    *others, last = names or ["others"]
    return f"claim{'s' * (len(held) > 1)} {', '.join(others)}{' and ' if others else ''}{last}"


def _refs(held: Sequence[JSONObject]) -> list[Ref]:
    found = []
    for each in held:
        namespace, _, name = each["claim"].partition("/")
        found += [Ref("ResourceClaim", name, namespace), *(Ref("Pod", pod, namespace) for pod in each["pods"][:1])]
    return found
