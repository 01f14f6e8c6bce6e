"""Rules about device classes and quotas, and about workloads whose claims cannot be there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from webhook.api.templates import pod_template
from webhook.deviceselectors.fleet import Fleet
from webhook.grouping import by_key
from webhook.hints.names import instead, listed
from webhook.inventory import CLAIMS
from webhook.inventory.claims import CLAIM_NAME, allocation_of, claims_named, requests_of
from webhook.inventory.resources import ExtendedResources, requests
from webhook.objects import JSONObject, at, items, mapping, name_of, namespace_of, placed, text
from webhook.problem import ERROR, NOTE, Steps, value_at
from webhook.references.lookup import every_rule
from webhook.references.rules import pod_view
from webhook.scan.drivers import silent
from webhook.scan.rules import Found, command, named, rule
from webhook.scan.stored import Stored, makes_pods, once, template_of
from webhook.simulation.binding import serves
from webhook.simulation.cluster import EXTENDED
from webhook.simulation.scheduler import other_scheduler


@once
def _uses(cluster: Stored) -> Mapping[str, list[JSONObject]]:
    """Return what requests devices of each class, and of no other class instead: claims, templates, and workloads."""
    found: dict[str, list[JSONObject]] = defaultdict(list)
    for each in (one for kind in CLAIMS for one in cluster.all(kind)):
        for names in by_key((one.whole, one.class_name) for one in requests_of(each)).values():
            if len({*names}) == 1:
                found[names[0]].append(each)
    # Classes also provide the extended resources of pods that no node has without DRA.
    extended = ExtendedResources(cluster.all("DeviceClass"), is_on=EXTENDED in cluster.settings.gates).classes
    for each, spec in cluster.makers:
        for name in requests({"spec": spec}):
            if name in extended and name not in cluster.offered:
                found[extended[name]].append(each)
    return found


def _with_fleet(cluster: Stored) -> Iterator[tuple[JSONObject, Sequence[JSONObject], Fleet]]:
    """Yield the device classes, with their selectors and the devices of the cluster; nothing if these are not known."""
    fleet = cluster.context.fleet
    for each in cluster.all("DeviceClass"):
        if fleet is not None:
            yield each, items(each, "spec", "selectors"), fleet


def _users(objects: list[JSONObject]) -> str:
    return listed(map(named, sorted(objects, key=lambda each: CLAIM_NAME in mapping(each, "metadata", "annotations"))))


@rule()
def class_matches_nothing(cluster: Stored) -> Iterator[Found]:
    """A device class that is used selects no device of the cluster, so that pods stay pending.

    Its selectors exclude what there is, or its hardware is not there. A class that nothing uses may be ahead of its
    hardware.
    """
    for each, selectors, fleet in _with_fleet(cluster):
        if users := _uses(cluster).get(name_of(each)):
            result = fleet.sorted_out(selectors, ())
            expressions = " ".join(text(one, "cel", "expression") for one in selectors)
            is_silent = any(f'{driver}"' in expressions.replace("'", '"') for driver, _ in silent(cluster))
            if not (result.taken or result.failing or is_silent):
                reason = next((fleet.choose(selectors, (), group.content).reason for group in result.groups), "")
                why = f": of most devices, {reason}" if reason else ""
                message = f"it selects no device of the cluster, and {_users(users)} needs one{why}"
                yield Found(each, message, "correct its selectors, or add the devices", ("spec", "selectors"))


@rule(ERROR)
def class_selector_fails(cluster: Stored) -> Iterator[Found]:
    """A selector of a device class fails with an error on some device of the cluster.

    An error ends the scheduler's attempt for a pod, on all nodes, although other devices would match. Attributes that
    not every device has are read safely by ``.?name.orValue(…)``, or after ``has(…)``. Of a class that nothing uses, or
    devices that are not used, it is a note.
    """
    for each, selectors, fleet in _with_fleet(cluster):
        if failing := fleet.sorted_out(selectors, ()).failing:
            groups = [group for group, _ in failing]
            places = fleet.used(groups) or [*fleet.places(groups)]
            first, count = places[0], sum(one.devices for one in places)
            fault = next(fault for group, fault in failing if first.content in group.contents)
            devices = "a device of" if count == 1 else f"{count} devices, such as those of"
            message = f"a selector fails on {devices} slice {first.slice.name}: {fault.detail}"
            if why := fleet.unused.get(first.slice.order):
                message += f"; not used, as pool {first.pool} is {why}"
            if users := _uses(cluster).get(name_of(each)):
                message += f"; used by {_users(users)}"
            path = ("spec", "selectors", fault.place, "cel", "expression")
            hint = (
                "test whether the device has the attribute: has(device.attributes[…].name) && …, "
                "!has(…) || … for !=, or .?name.orValue(…)"
            )
            yield Found(each, message, hint, path, "" if users and not why else NOTE)


@rule()
def config_for_silent_driver(cluster: Stored) -> Iterator[Found]:
    """A device class configures a driver that none of its devices has: the parameters are never read."""
    for each, selectors, fleet in _with_fleet(cluster):
        configs = items(each, "spec", "config")
        drivers = {content.driver for content in fleet.of_class(selectors)} if configs else set[str]()
        for index, config in enumerate(configs):
            driver = text(config, "opaque", "driver")
            if drivers and driver and driver not in drivers:
                message = f"it configures driver {driver}, which none of its devices has: the parameters are never read"
                hint = instead(driver, sorted(drivers), "drivers of its devices")
                yield Found(each, message, hint, ("spec", "config", index, "opaque", "driver"))


@rule()
def quota_blocks(cluster: Stored) -> Iterator[Found]:
    """A quota is smaller than a claim that pods of its namespace need, so that none can ever be created.

    Other than a quota that is used up, it blocks the pods for good: they stay pending, whatever others release.
    """
    entries = ((each, entry) for each, spec in cluster.makers for entry in items(spec, "resourceClaims"))
    needed = ((namespace_of(each), text(entry, "resourceClaimTemplateName")) for each, entry in entries)
    for namespace, name in dict.fromkeys(needed):
        template = cluster.inventory.find("ResourceClaimTemplate", name, namespace)
        for quota, why in cluster.context.quotas.refusals(template, is_alone=True) if template else ():
            message = f"no claim of ResourceClaimTemplate {name} can be created: {why}"
            shown = command(cluster, "describe", quota)
            hint = f"raise the quota, or request fewer devices; {shown} shows what is used"
            yield Found(quota, message, hint, ("spec", "hard"))


_KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet", "Pod")
"""The kinds that need claims; those that own others come first."""


@rule()
def reference_missing(cluster: Stored) -> Iterator[Found]:
    """Pods need a claim, a template or a PodGroup that their namespace does not have, so that they stay pending.

    A container that names a request which its claim does not have starts without devices, and so do all containers if
    none names the claim. Finished pods and workloads, and those without replicas, need nothing any more.
    """
    said: set[str] = set()
    for each in (one for kind in _KINDS for one in cluster.all(kind)):
        if not makes_pods(each) or at(each, "metadata", "deletionTimestamp"):
            continue
        owners = {text(owner, "uid") for owner in items(each, "metadata", "ownerReferences")}
        if owners & said:
            said.add(text(each, "metadata", "uid"))
            continue
        for path, message, hint in _missing(each, cluster):
            said.add(text(each, "metadata", "uid"))
            yield Found(each, message, hint, path)


def _missing(workload: JSONObject, cluster: Stored) -> Iterator[tuple[Steps, str, str]]:
    """Yield the claims, templates, PodGroups and requests that a workload, or a pod, names and that are not there."""
    namespace, steps = namespace_of(workload), pod_template(workload) or ()
    made = {text(each, "name"): each for each in items(workload, "status", "resourceClaimStatuses")}
    for here, entry in placed(workload, *steps, "spec", "resourceClaims"):
        name = text(made.get(text(entry, "name")), "resourceClaimName")
        if name and cluster.has_all_claims and not cluster.inventory.exists("ResourceClaim", name, namespace):
            message = f"its ResourceClaim {namespace}/{name} does not exist any more: it was deleted"
            yield here, message, "delete the pod, so that its claim is made again"
    pod = pod_view(workload, mapping(workload, *steps))
    of_containers = ("request-not-found", "claim-not-used")
    rules = {
        "claim-not-found": cluster.has_all_claims,
        **dict.fromkeys(("template-not-found", *of_containers), True),
        "pod-group-not-found": cluster.inventory.knows("PodGroup"),
    }
    for missing in (name for name, is_known in rules.items() if is_known):
        for problem in every_rule()[missing].check(pod, cluster.context):
            if missing in of_containers or text(value_at(pod, problem.path[:3]), "name") not in made:
                yield (*steps, *problem.path), problem.message, problem.hint


@rule()
def pod_bypassed_scheduler(cluster: Stored) -> Iterator[Found]:
    """A pod has a node and waits for claims that are never allocated, or only elsewhere: it bypassed the scheduler.

    Only the scheduler allocates devices, and it does not look at pods whose spec.nodeName is set when they are created.
    kubelet waits for the devices for ever. Use a node selector instead (``draguard mutate`` writes it). Another
    scheduler (spec.schedulerName) may bind pods without allocating their devices, too.
    """
    waiting: dict[str, tuple[JSONObject, JSONObject, Mapping[str, Sequence[str]]]] = {}
    for pod in cluster.all("Pod"):
        if left := _awaited(pod, cluster):
            owner = [pod, *cluster.owners(pod)][-1]
            top = owner if text(template_of(owner), "nodeName") else pod
            waiting.setdefault(text(top, "metadata", "uid"), (top, pod, left))
    for top, pod, left in waiting.values():
        node, who = text(pod, *_NODE), "it names" if top is pod else "its pods name"
        how = f"{who} node {node} in spec.nodeName, and so bypassed the scheduler"
        hint = "remove spec.nodeName, so that the scheduler chooses a node with these devices"
        if _ELSEWHERE not in left:
            hint = "replace spec.nodeName by a nodeSelector (draguard mutate does it)"
        if top is pod and (scheduler := other_scheduler(pod)):
            how = f"its scheduler {scheduler} bound it to node {node} without its devices"
            hint = f"switch on the support of claims in {scheduler}, and create the pod again"
        claims = "; ".join(f"{why} {listed(names)}" for why, names in left.items())
        yield Found(top, f"{how}: {claims}", hint, _NODE)


_NODE: Final = ("spec", "nodeName")
_NEVER: Final = "nothing will allocate"
_ELSEWHERE: Final = "other nodes have the devices of"


def _awaited(pod: JSONObject, cluster: Stored) -> Mapping[str, Sequence[str]]:
    """Name the claims because of which a pod that has a node does not start there, by the reason."""
    where, inventory = text(pod, *_NODE), cluster.inventory
    if text(pod, "status", "phase") != "Pending" or not where or at(pod, "metadata", "deletionTimestamp"):
        return {}
    node = inventory.find("Node", where)
    found = [each for name in claims_named(pod) if (each := inventory.find("ResourceClaim", name, namespace_of(pod)))]
    left = [(_NEVER, named(each)) for each in found if not allocation_of(each)]
    left += [(_ELSEWHERE, named(each)) for each in found if node and not serves(each, node)]
    made = {text(each, "name") for each in items(pod, "status", "resourceClaimStatuses")}
    entries = (each for each in items(pod, "spec", "resourceClaims") if text(each, "resourceClaimTemplateName"))
    left += [(_NEVER, f"claim {name}") for each in entries if (name := text(each, "name")) not in made]
    return by_key(left)
