"""Rules about claims that keep devices from others, and about their devices: gone, held twice, tainted, unhealthy."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from webhook.allocation.devices import PoolId, Tolerations, decode_amount, quantity_text, taint_of
from webhook.allocation.features import CRASHES_UNTIL
from webhook.allocation.pools import available, whole
from webhook.api.versions import find
from webhook.grouping import by_key
from webhook.hints.names import listed
from webhook.inventory import has_ended
from webhook.inventory.claims import (
    CLAIM_NAME,
    POD,
    POD_GROUP,
    allocation_of,
    claims_named,
    consumers,
    device_of,
    devices_of,
    reserved_for,
    results_of,
)
from webhook.inventory.resources import ANNOTATION, is_of_resources
from webhook.objects import JSONObject, at, full_name_of, items, mapping, name_of, namespace_of, number, text, texts
from webhook.problem import NOTE, WARNING
from webhook.references.rules import sorted_out
from webhook.scan.drivers import silent
from webhook.scan.rules import Found, command, rule
from webhook.scan.stored import UNHEALTHY, AllocatedDevice, Stored, once, published_health
from webhook.simulation.binding import CONSUMERS_MAX

_RESERVED_MANY: Final = 230
_DELETING: Final = 600
"""How many seconds the deletion of a claim may take."""

STUCK, ORPHANED, UNUSED, ENDED = "stuck", "orphaned", "unused", "ended"
"""The faults of a claim; if it has several, the first counts."""


def state_of(claim: JSONObject, cluster: Stored) -> str:
    """Return what is wrong with a stored claim, empty if it is in order, or if the cluster's pods are not known."""
    return _states(cluster).get(id(claim), "")


@once
def _states(cluster: Stored) -> Mapping[int, str]:
    found = ((id(each), _state_of(each, cluster)) for each in cluster.all("ResourceClaim"))
    return {claim: state for claim, state in found if state}


def _state_of(claim: JSONObject, cluster: Stored) -> str:
    if not cluster.inventory.knows("Pod") or cluster.running(claim) or _of_other_kinds(claim, cluster):
        return ""
    if deleted := text(claim, "metadata", "deletionTimestamp"):
        is_kept = bool(texts(mapping(claim, "metadata"), "finalizers"))
        return STUCK if is_kept and cluster.is_older(deleted, _DELETING) else ""
    pods, is_named = [pod for _, pod in consumers(claim, cluster.inventory)], bool(cluster.users(claim))
    if not is_named and _is_orphaned(claim, cluster):
        return ORPHANED
    if not allocation_of(claim) or (is_named and not pods):
        return ""
    return ENDED if pods and None not in pods else UNUSED


def _of_other_kinds(claim: JSONObject, cluster: Stored) -> bool:
    """Tell whether a claim is reserved for anything but pods that may still be there."""
    kind, namespace, inventory = "PodGroup", namespace_of(claim), cluster.inventory
    known = (POD, POD_GROUP) if inventory.knows(kind) else (POD,)
    return any(
        each.resource not in known or (each.resource == POD_GROUP and inventory.find(kind, each.name, namespace))
        for each in reserved_for(claim)
    )


def _is_orphaned(claim: JSONObject, cluster: Stored) -> bool:
    """Tell whether a claim was made for a pod that is gone."""
    owners = [each for each in items(claim, "metadata", "ownerReferences") if text(each, "kind") == "Pod"]
    if owners:
        names, namespace = ((text(each, "name"), text(each, "uid")) for each in owners), namespace_of(claim)
        return not any(cluster.inventory.referred("Pod", *each, namespace) for each in names)
    annotations = mapping(claim, "metadata", "annotations")
    return not items(claim, "metadata", "ownerReferences") and (CLAIM_NAME in annotations or ANNOTATION in annotations)


def _devices(claim: JSONObject) -> str:
    held = listed(devices_of(claim))
    return f"; it holds {held}" if held else ""


def _in_state(cluster: Stored, state: str, only: JSONObject | None) -> Iterator[JSONObject]:
    """Yield the claims in a state: those of the cluster, or only one."""
    for claim in cluster.all("ResourceClaim") if only is None else [only]:
        if state_of(claim, cluster) == state:
            yield claim


@rule()
def claim_deletion_stuck(cluster: Stored, only: JSONObject | None = None) -> Iterator[Found]:
    """A claim is being deleted, and a finalizer keeps it although no pod that runs uses it.

    Its devices stay allocated. The controller that removes the finalizer does not run, or its request is refused: a
    claim that was created with spaces in its opaque parameters refuses JSON patches, even of its finalizers, as the
    server compares parameters by their bytes.
    """
    for claim in _in_state(cluster, STUCK, only):
        kept = ", ".join(texts(mapping(claim, "metadata"), "finalizers"))
        message = (
            f"being deleted since {text(claim, 'metadata', 'deletionTimestamp')}, and kept by its finalizer {kept}, "
            f"though no pod that runs uses it{_devices(claim)}"
        )
        patch = command(cluster, "patch", claim, """--type merge -p '{"metadata":{"finalizers":null}}'""")
        yield Found(claim, message, f"{patch} lets it go", ("metadata", "finalizers"))


@rule()
def claim_orphaned(cluster: Stored, only: JSONObject | None = None) -> Iterator[Found]:
    """A claim was generated for a pod that does not exist any more.

    The garbage collector deletes claims with their pods. It leaves a claim whose owner references were removed, or that
    it cannot delete.
    """
    for claim in _in_state(cluster, ORPHANED, only):
        owner = next((text(each, "name") for each in items(claim, "metadata", "ownerReferences")), "")
        what = f"pod {owner}, which is gone" if owner else "a pod, and has no owner any more: the pod is gone"
        message = f"generated for {what}{_devices(claim)}"
        yield Found(claim, message, f"{command(cluster, 'delete', claim)} releases it", ("metadata", "ownerReferences"))


@rule()
def claim_zombie(cluster: Stored, only: JSONObject | None = None) -> Iterator[Found]:
    """A claim is allocated, and the pods that it is reserved for are gone, or there are none.

    Its devices are kept from other pods. Usually the controller for claims removes pods that are gone, and deallocates.
    """
    patch = """--subresource status --type merge -p '{"status":{"allocation":null,"reservedFor":null}}'"""
    for claim in _in_state(cluster, UNUSED, only):
        gone = listed(entry.name for entry, pod in consumers(claim, cluster.inventory) if pod is None)
        message = f"reserved for pod {gone}, which is gone" if gone else "allocated, and no pod uses it"
        hint = f"{command(cluster, 'patch', claim, patch)} releases its devices, once nothing on the node uses them"
        yield Found(claim, message + _devices(claim), hint, ("status", "reservedFor" if gone else "allocation"))


@rule()
def claim_after_completion(cluster: Stored, only: JSONObject | None = None) -> Iterator[Found]:
    """A claim is held by pods that have ended: they succeeded, failed or were evicted.

    The controller for claims removes such pods from the claim. Until then, its devices are kept from other pods.
    """
    for claim in _in_state(cluster, ENDED, only):
        pods = [pod for _, pod in consumers(claim, cluster.inventory) if pod]
        why = {text(pod, "status", "reason") or text(pod, "status", "phase") for pod in pods}
        names = listed(map(name_of, pods))
        message = f"held by pod {names}, which has ended ({', '.join(sorted(why))}){_devices(claim)}"
        hint = f"{command(cluster, 'delete', pods[0])} releases it, unless the controller for claims does"
        yield Found(claim, message, hint, ("status", "reservedFor"))


def fault_of(claim: JSONObject, cluster: Stored) -> Found | None:
    """Return what the rules above find in a claim that keeps its devices from others."""
    rules = (claim_deletion_stuck, claim_orphaned, claim_zombie, claim_after_completion)
    return next((each for check in rules for each in check(cluster, claim)), None)


@rule(NOTE)
def reserved_near_limit(cluster: Stored) -> Iterator[Found]:
    """A claim is reserved for nearly 256 pods, the limit.

    The next pods cannot be bound, and stay pending.
    """
    for claim in cluster.all("ResourceClaim"):
        if (many := len(reserved_for(claim))) >= _RESERVED_MANY:
            is_full = many >= CONSUMERS_MAX
            message = f"reserved for {many} pods, and the limit is {CONSUMERS_MAX}"
            hint = "spread the pods over several claims"
            yield Found(claim, message, hint, ("status", "reservedFor"), WARNING if is_full else "")


@rule(NOTE)
def version_going(cluster: Stored) -> Iterator[Found]:
    """An object is written in a version of resource.k8s.io that the next releases no longer serve.

    What writes it, such as ``kubectl apply``, a chart or a driver, is refused after the upgrade. ``draguard convert``
    converts manifests; drivers have to be updated.
    """
    together: dict[tuple[str, str, int, str], list[JSONObject]] = defaultdict(list)
    for (kind, namespace, name), writers in cluster.written_as.items():
        obj = cluster.inventory.find(kind, name, namespace)
        for version, manager in sorted(writers) if obj else ():
            served = find(version, kind)
            if obj and served and served.deprecation:
                writer = text(obj, "spec", "driver") if kind == "ResourceSlice" else f"{kind}/{namespace}/{name}"
                together[version, manager, served.deprecation.removed, writer].append(obj)
    for (version, manager, until, _), (obj, *others) in together.items():
        more = f", as are {len(others)} others" if others else ""
        message = f"written as {version} by {manager}{more}: Kubernetes 1.{until} no longer serves that version"
        is_slice = obj["kind"] == "ResourceSlice"
        hint = "update the driver" if is_slice else "apply it as resource.k8s.io/v1 (draguard convert writes it)"
        yield Found(obj, message, hint)


_RESULTS: Final = ("status", "allocation", "devices", "results")
_EVICTING: Final = 300
"""How many seconds an eviction may take, beside those that are tolerated."""
_BAD: Final = re.compile("unhealthy|degraded|fail|error|fault|throttl|stalled|disconnected", re.IGNORECASE)
"""Conditions that are bad if they are true."""
_GOOD: Final = re.compile("ready|health|available|attach|connect|active|link|online|operational", re.IGNORECASE)
"""Others that are bad if they are false."""


@rule()
def device_gone(cluster: Stored) -> Iterator[Found]:
    """A claim holds a device that no slice publishes any more.

    The device was removed or repartitioned while it was in use. Its pods keep running as long as they do not restart.
    Pools of which slices are missing are left out, and so are drivers that do not run on the node, and network
    interfaces that are in their pod by the claim's status: some drivers, such as DraNet, do not publish these.
    """
    for claim in cluster.allocated:
        if state_of(claim, cluster):
            continue
        results = (AllocatedDevice(claim, each) for each in results_of(claim))
        if gone := [str(each) for each in results if is_gone(each, cluster)]:
            pods = listed(name_of(pod) for pod in cluster.running(claim))
            message = f"it holds {listed(gone)}, which no slice publishes any more"
            message += f"; used by pod {pods}" if pods else ""
            hint = "restore the device, or delete the pods that use it, so that the claim is released"
            yield Found(claim, message, hint, _RESULTS)


def is_gone(result: AllocatedDevice, cluster: Stored) -> bool:
    """Tell whether a device is published no more; not if slices of its pool are missing, or its driver is silent."""
    inventory, kind = cluster.inventory, "ResourceSlice"
    if not inventory.knows(kind) or inventory.has_unread(kind) or result.pool in cluster.incomplete:
        return False  # a slice that is not known may publish any device
    (driver, pool), place = result.pool, device_of(result.content)
    reported = items(result.claim, "status", "devices")
    if any(device_of(each) == place and each.get("networkData") is not None for each in reported):
        return False  # a network interface that its driver has given to a pod
    nodes = {pool, *(text(pod, "spec", "nodeName") for pod in cluster.running(result.claim))}
    if result.pool not in cluster.catalog.current and any((driver, node) in silent(cluster) for node in nodes):
        return False
    return cluster.device(result) is None


@rule()
def device_held_twice(cluster: Stored) -> Iterator[Found]:
    """Two claims hold one device, and at least one of them the whole of it.

    A claim was released while its pod still used the device, or two schedulers allocated at a time.
    """
    for (pool, device), claims in held_twice(cluster).items():
        what = f"device {'/'.join((*pool, device))} is held by {len(claims)} claims"
        message = f"{what}, though it cannot be shared: {listed(map(full_name_of, claims))}"
        yield Found(claims[-1], message, RELEASE_ONE, _RESULTS)


RELEASE_ONE: Final = "delete the pods of one of the claims, so that the other has the device for itself"


@once
def held_twice(cluster: Stored) -> Mapping[tuple[PoolId, str], Sequence[JSONObject]]:
    """Return the devices that several claims hold, and at least one as a whole, with these claims, the oldest first."""
    return {
        (pool, device): claims
        for (pool, device), claims in cluster.holders.items()
        if len(claims) > 1 and cluster.usage.pool(*pool).dedicated.get(device, 0)
    }


@rule()
def counters_overconsumed(cluster: Stored) -> Iterator[Found]:
    """Allocated devices consume more of a shared counter than there is: parts of the same hardware are used twice."""
    variant = cluster.variant
    for pool, slices in cluster.catalog.by_pool.items() if variant.features.PartitionableDevices else ():
        if not any(each.counter_sets for each in slices) or pool in cluster.incomplete:
            continue
        seen = whole(pool, cluster.catalog, variant)
        if seen is None or not seen.is_usable:
            continue
        counters = available(seen, cluster.usage.pool(*pool), with_shares=True).counters
        over = by_key((set_name, (name, left)) for (set_name, name), left in counters.items() if left < 0)
        for set_name, lacks in over.items():
            devices = [device for each in seen.slices for device in each.devices]
            using = [each for each in devices if any(key[0] == set_name for key in each.content.consumes)]
            drawing = [(each, claim) for each in using for claim in cluster.holders.get((pool, each.name), ())]
            drawing.sort(key=lambda each: text(each[1], "metadata", "creationTimestamp"))
            held = listed(f"{device.name} (claim {full_name_of(claim)})" for device, claim in drawing)
            lacking = listed(f"{name} by {quantity_text(-left)}" for name, left in lacks)
            message = (
                f"the allocated devices of counter set {set_name} in pool {'/'.join(pool)} consume more than there is "
                f"({lacking}): {held}"
            )
            yield Found(drawing[-1][1], message, "delete the pods of one of the claims", _RESULTS)


@rule()
def capacity_overconsumed(cluster: Stored) -> Iterator[Found]:
    """The shares of a device take more of a capacity than it has."""
    for (pool, name), claims in cluster.holders.items():
        device = cluster.find(pool, name) if pool in cluster.catalog.current else None
        taken = cluster.usage.pool(*pool).capacity
        if device is None or name not in taken:
            continue
        for capacity, amount in taken[name].items():
            driver, known = device.slice.driver, device.content.capacity
            short = capacity.removeprefix(f"{driver}/")
            stated = next((known[each] for each in (capacity, short, f"{driver}/{short}") if each in known), None)
            total = decode_amount(stated.get("value")) if stated else None
            if total is not None and amount > total:
                taking = f"the shares of {'/'.join((*pool, name))} take {quantity_text(amount)} of {capacity}"
                holding = listed(map(full_name_of, claims))
                message = f"{taking}, more than its {quantity_text(total)}: claims {holding}"
                yield Found(claims[-1], message, "delete the pods of some of the claims", _RESULTS)


@rule()
def taint_not_evicted(cluster: Stored) -> Iterator[Found]:
    """A device in use has a taint with the effect NoExecute, and its pod was not evicted.

    The controller that evicts does not run, its feature gate is off, or the taint is younger than the pod's toleration.
    Pods whose devices are for extended resources are not evicted (kubernetes#141290).
    """
    overdue: dict[tuple[int, str], tuple[AllocatedDevice, JSONObject, str]] = {}
    for result in cluster.results:
        for taint, seconds in evicting(result, cluster):
            key, since = text(taint, "key"), text(taint, "timeAdded")
            for pod in cluster.running(result.claim) if cluster.is_older(since, _EVICTING + seconds) else ():
                if text(pod, "spec", "nodeName") and not at(pod, "metadata", "deletionTimestamp"):
                    overdue.setdefault((id(pod), key), (result, pod, since and f" since {since}"))
    for (_, key), (result, pod, since) in overdue.items():
        which = f"it uses {result} by claim {name_of(result.claim)}, which has the NoExecute taint {key}{since}"
        why = "is the controller device-taint-eviction running?"
        if is_of_resources(result.claim):
            why = "the controller device-taint-eviction leaves out devices of extended resources"
        hint = f"{command(cluster, 'delete', pod)} evicts it; {why}"
        yield Found(pod, f"{which}, and was not evicted", hint, ("spec", "resourceClaims"))


def evicting(result: AllocatedDevice, cluster: Stored) -> Iterator[tuple[JSONObject, int]]:
    """Yield the taints by which the controller evicts pods from a device, each with the seconds that it waits.

    Only tolerations that state the effect count for it (kubernetes ``pkg/controller/devicetainteviction``).
    """
    device, effect = cluster.device(result), "NoExecute"
    of_rules = cluster.taints_of_rules(result.pool, result.device, evicts=True)
    stated = [each for each in items(result.content, "tolerations") if text(each, "effect") == effect]
    for taint in (*items(device and device.content.others, "taints"), *of_rules):
        matching = [each for each in stated if Tolerations([each]).cover(taint_of(taint))]
        seconds = [left for each in matching if (left := number(each, "tolerationSeconds")) is not None]
        if text(taint, "effect") == effect and len(seconds) == len(matching):
            yield taint, max(0, min(seconds, default=0))


@rule()
def scheduler_crashes(cluster: Stored) -> Iterator[Found]:
    """A pod waits for a claim at which kube-scheduler crashes: no other pod is scheduled, either.

    The scheduler of Kubernetes 1.35 before 1.35.6, and of 1.36 before 1.36.2, does so when a request for all devices
    comes to one that consumes counters.
    """
    fixed = f"1.{cluster.settings.release}.{CRASHES_UNTIL.get(cluster.settings.release)}"
    help_ = f"update kube-scheduler to {fixed}; until then, delete the pods that use the claim"
    for claim in cluster.all("ResourceClaim") if cluster.variant.crashes_for_all else ():
        requests = cluster.context.requests(claim) if cluster.users(claim) and not allocation_of(claim) else ()
        for request in (each for each in requests if each.is_for_all):
            answer = sorted_out(request, cluster.context)
            if answer and any(each.consumes for group in answer.taken for each in group.contents):
                message = f'request "{request.name}" asks for all devices, and some consume counters'
                message += f": kube-scheduler {cluster.settings} crashes whenever it comes to a pod that uses the claim"
                yield Found(claim, message, help_, (*request.path, "allocationMode"))


@rule()
def device_unhealthy(cluster: Stored) -> Iterator[Found]:
    """A device in use is unhealthy, as kubelet, its driver or a condition of the claim says."""
    for pod in cluster.all("Pod"):
        statuses = () if has_ended(pod) else items(pod, "status", "containerStatuses")
        names = claims_named(pod) if statuses else ()
        claims = (cluster.inventory.find("ResourceClaim", name, namespace_of(pod)) or {} for name in names)
        held = [AllocatedDevice(claim, one) for claim in claims for one in results_of(claim)]
        for resource in (one for each in statuses for one in items(each, "allocatedResourcesStatus")):
            if sick := [each for each in items(resource, "resources") if text(each, "health") == "Unhealthy"]:
                what = (": ".join(filter(None, (_identified(each, held), text(each, "message")))) for each in sick)
                message = f"kubelet reports that {text(resource, 'name')} is unhealthy: {listed(what)}"
                yield Found(pod, message, _REPLACE, ("status", "containerStatuses"))
    for claim in filter(cluster.running, cluster.allocated):
        for index, (place, said) in enumerate(bad_conditions(claim)):
            if said:
                message = f"device {'/'.join(place)}: {said}"
                yield Found(claim, message, _REPLACE, ("status", "devices", index, "conditions"))
    for result in cluster.results:
        device = cluster.device(result)
        if device and published_health(device).lower() == UNHEALTHY and cluster.running(result.claim):
            message = f"it holds {result}, which its driver publishes as unhealthy"
            yield Found(result.claim, message, _REPLACE, _RESULTS)


def _identified(resource: JSONObject, held: Collection[AllocatedDevice]) -> str:
    """Name the device that kubelet reports by its ID, among those of the pod."""
    stated = text(resource, "resourceID")
    found = (each for each in held if each.is_identified(stated))
    return str(max(found, key=lambda each: len(each.device), default=stated))


_REPLACE: Final = "delete the pod, so that it gets another device"


def bad_conditions(claim: JSONObject) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield each device in the status of a claim with what a condition says that is bad; empty if none is."""
    awaited = {kind for each in results_of(claim) for kind in texts(each, "bindingConditions")}
    for each in items(claim, "status", "devices"):
        bad = next((one for one in items(each, "conditions") if _is_bad(one, awaited)), None)
        words = " ".join(filter(None, (text(bad, part) for part in ("reason", "message"))))
        yield device_of(each), f"condition {text(bad, 'type')} is {text(bad, 'status')}: {words}" if bad else ""


def _is_bad(condition: JSONObject, awaited: Collection[str]) -> bool:
    """Tell whether a condition of a device is bad, other than one that the scheduler still waits for."""
    kind, status = text(condition, "type"), text(condition, "status")
    if _BAD.search(kind):
        return status == "True"
    return status == "False" and kind not in awaited and _GOOD.search(kind) is not None
