"""Rules about devices in use: gone, held twice, used up, tainted, unhealthy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from webhook.allocation.devices import Device, decode_amount, quantity_text
from webhook.allocation.pools import available, whole
from webhook.hints.names import listed
from webhook.inventory import has_ended
from webhook.inventory.claims import claims_named, device_of, results_of
from webhook.objects import JSONObject, at, full_name_of, items, name_of, namespace_of, number, text, texts
from webhook.scan.claims import state_of
from webhook.scan.drivers import silent
from webhook.scan.rules import Found, command, rule
from webhook.scan.stored import UNHEALTHY, Cluster, Result, published_health
from webhook.simulation.cluster import Tolerations, taint_of

_RESULTS: Final = ("status", "allocation", "devices", "results")
_EVICTING: Final = 300
"""How many seconds an eviction may take, beside those that are tolerated."""
_BAD: Final = re.compile("unhealthy|degraded|fail|error|fault|throttl|stalled|disconnected", re.IGNORECASE)
"""Conditions that are bad if they are true."""
_GOOD: Final = re.compile("ready|health|available|attach|connect|active|link|online|operational", re.IGNORECASE)
"""Others that are bad if they are false."""


@rule("device-gone")
def device_gone(cluster: Cluster) -> Iterator[Found]:
    """A claim holds a device that no slice publishes any more.

    The device was removed or repartitioned while it was in use. Its pods keep running as long as they do not restart.
    Pools of which slices are missing are left out, and so are drivers that do not run on the node.
    """
    for claim in cluster.allocated:
        if state_of(claim, cluster):
            continue
        results = results_of(claim)
        gone = [str(each) for each in (Result(claim, one) for one in results) if _is_gone(each, cluster)]
        if gone:
            pods = listed(name_of(pod) for pod in cluster.running(claim))
            message = f"it holds {listed(gone)}, which no slice publishes any more" + (
                f"; used by pod {pods}" if pods else ""
            )
            hint = "restore the device, or delete the pods that use it, so that the claim is released"
            yield Found(claim, message, hint, _RESULTS)


def _is_gone(result: Result, cluster: Cluster) -> bool:
    if not cluster.inventory.knows("ResourceSlice") or result.pool in cluster.incomplete:
        return False
    driver, pool = result.pool
    nodes = {pool, *(text(pod, "spec", "nodeName") for pod in cluster.running(result.claim))}
    if result.pool not in cluster.catalog.current and any((driver, node) in silent(cluster) for node in nodes):
        return False
    return cluster.device(result) is None


@rule("device-held-twice")
def device_held_twice(cluster: Cluster) -> Iterator[Found]:
    """Two claims hold one device, and at least one of them the whole of it.

    A claim was released while its pod still used the device, or two schedulers allocated at a time.
    """
    for (pool, device), claims in cluster.holders.items():
        used = cluster.usage.pool(*pool)
        if len(claims) > 1 and used.dedicated.get(device, 0):
            names = listed(map(full_name_of, claims))
            what = f"device {'/'.join((*pool, device))}"
            message = f"{what} is held by {len(claims)} claims, though it cannot be shared: {names}"
            hint = "delete the pods of one of the claims, so that the other has the device for itself"
            yield Found(claims[-1], message, hint, _RESULTS)


@rule("counters-overconsumed")
def counters_overconsumed(cluster: Cluster) -> Iterator[Found]:
    """Allocated devices consume more of a shared counter than there is: parts of the same hardware are used twice."""
    variant = cluster.variant
    for pool, slices in cluster.catalog.by_pool.items() if variant.features.PartitionableDevices else ():
        if not any(each.counter_sets for each in slices) or pool in cluster.incomplete:
            continue
        seen = whole(slices, cluster.catalog, variant)
        if seen is None or not seen.is_usable:
            continue
        used = cluster.usage.pool(*pool)
        over: dict[str, list[tuple[str, int]]] = {}
        for (set_name, counter), left in available(seen, used, with_shares=True).counters.items():
            if left < 0:
                over.setdefault(set_name, []).append((counter, left))
        for set_name, counters in over.items():
            drawing = [
                (device, claim)
                for each in seen.slices
                for device in each.devices
                if any(key[0] == set_name for key in device.content.consumes)
                for claim in cluster.holders.get((pool, device.name), ())
            ]
            drawing.sort(key=lambda each: text(each[1], "metadata", "creationTimestamp"))
            held = listed(f"{device.name} (claim {full_name_of(claim)})" for device, claim in drawing)
            lacking = listed(f"{counter} by {quantity_text(-left)}" for counter, left in counters)
            message = (
                f"the allocated devices of counter set {set_name} in pool {'/'.join(pool)} consume more than there is "
                f"({lacking}): {held}"
            )
            hint = "delete the pods of one of the claims"
            yield Found(drawing[-1][1], message, hint, _RESULTS)


@rule("capacity-overconsumed")
def capacity_overconsumed(cluster: Cluster) -> Iterator[Found]:
    """The shares of a device take more of a capacity than it has."""
    for (pool, name), claims in cluster.holders.items():
        device, taken = (
            cluster.find(pool, name) if pool in cluster.catalog.current else None,
            cluster.usage.pool(*pool).capacity,
        )
        if device is None or name not in taken:
            continue
        for capacity, amount in taken[name].items():
            total = _capacity(device, capacity)
            if total is not None and amount > total:
                taking = f"the shares of {'/'.join((*pool, name))} take {quantity_text(amount)} of {capacity}"
                holding = listed(map(full_name_of, claims))
                message = f"{taking}, more than its {quantity_text(total)}: claims {holding}"
                hint = "delete the pods of some of the claims"
                yield Found(claims[-1], message, hint, _RESULTS)


def _capacity(device: Device, name: str) -> int | None:
    short = name.removeprefix(f"{device.slice.driver}/")
    for each in (name, short, f"{device.slice.driver}/{short}"):
        if each in device.content.capacity:
            return decode_amount(device.content.capacity[each].get("value"))
    return None


@rule("taint-not-evicted")
def taint_not_evicted(cluster: Cluster) -> Iterator[Found]:
    """A device in use has a taint with the effect NoExecute, and its pod was not evicted.

    The controller that evicts does not run, its feature gate is off, or the taint is younger than the pod's toleration.
    """
    said: set[tuple[str, str, str]] = set()
    for result in cluster.results:
        device = cluster.device(result)
        taints = [*device.content.taints] if device else []
        taints += cluster.taints_of_rules(result.pool, result.device)
        for taint in taints:
            if text(taint, "effect") != "NoExecute" or not _is_due(taint, result, cluster):
                continue
            for pod in cluster.running(result.claim):
                key = namespace_of(pod), name_of(pod), text(taint, "key")
                if key not in said and text(pod, "spec", "nodeName") and not at(pod, "metadata", "deletionTimestamp"):
                    said.add(key)
                    since = f" since {since}" if (since := text(taint, "timeAdded")) else ""
                    message = (
                        f"it uses {result} by claim {name_of(result.claim)}, which has the NoExecute taint "
                        f"{text(taint, 'key')}{since}, and was not evicted"
                    )
                    hint = (
                        f"{command(cluster, 'delete', pod)} evicts it; is the controller device-taint-eviction running?"
                    )
                    yield Found(pod, message, hint, ("spec", "resourceClaims"))


def _is_due(taint: JSONObject, result: Result, cluster: Cluster) -> bool:
    """Tell whether a pod should have been evicted for a taint by now."""
    matching = [each for each in items(result.content, "tolerations") if Tolerations([each]).cover(taint_of(taint))]
    seconds = [number(each, "tolerationSeconds") for each in matching]
    if None in seconds:
        return False
    return cluster.is_older(text(taint, "timeAdded"), _EVICTING + max((each or 0 for each in seconds), default=0))


@rule("device-unhealthy")
def device_unhealthy(cluster: Cluster) -> Iterator[Found]:
    """A device in use is unhealthy, as kubelet, its driver or a condition of the claim says."""
    for pod in cluster.all("Pod"):
        statuses = () if has_ended(pod) else items(pod, "status", "containerStatuses")
        names = claims_named(pod) if statuses else ()
        claims = [cluster.inventory.find("ResourceClaim", name, namespace_of(pod)) or {} for name in names]
        held = [Result(claim, one) for claim in claims for one in results_of(claim)]
        for resource in (one for each in statuses for one in items(each, "allocatedResourcesStatus")):
            if sick := [each for each in items(resource, "resources") if text(each, "health") == "Unhealthy"]:
                what = listed(
                    ": ".join(filter(None, (_identified(each, held), text(each, "message")))) for each in sick
                )
                message = f"kubelet reports that {text(resource, 'name')} is unhealthy: {what}"
                yield Found(pod, message, _REPLACE, ("status", "containerStatuses"))
    for claim in filter(cluster.running, cluster.allocated):
        results = results_of(claim)
        awaited = {kind for each in results for kind in texts(each, "bindingConditions")}
        for index, each in enumerate(items(claim, "status", "devices")):
            for condition in [one for one in items(each, "conditions") if _is_bad(one, awaited)][:1]:
                said = " ".join(filter(None, (text(condition, part) for part in ("reason", "message"))))
                what = f"condition {text(condition, 'type')} is {text(condition, 'status')}"
                message = f"device {'/'.join(device_of(each))}: {what}: {said}"
                yield Found(claim, message, _REPLACE, ("status", "devices", index, "conditions"))
    for result in cluster.results:
        device = cluster.device(result)
        if device and published_health(device).lower() == UNHEALTHY and cluster.running(result.claim):
            message = f"it holds {result}, which its driver publishes as unhealthy"
            yield Found(result.claim, message, _REPLACE, _RESULTS)


def _identified(resource: JSONObject, held: Collection[Result]) -> str:
    """Name the device that kubelet reports by its ID, which ends with its name, among those of the pod."""
    stated = text(resource, "resourceID")
    found = [each for each in held if stated.endswith(tuple(f"{mark}{each.device}" for mark in "-/=_"))]
    return str(max(found, key=lambda each: len(each.device))) if found else stated


_REPLACE: Final = "delete the pod, so that it gets another device"


def _is_bad(condition: JSONObject, awaited: Collection[str]) -> bool:
    """Tell whether a condition of a device is bad, other than one that the scheduler still waits for."""
    kind, status = text(condition, "type"), text(condition, "status")
    if _BAD.search(kind):
        return status == "True"
    return status == "False" and kind not in awaited and _GOOD.search(kind) is not None
