"""Changes to the cluster that would open nodes: releases, gates, pools, drivers of classes, DeviceTaintRules."""

from __future__ import annotations

from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from webhook.deviceselectors.parts import parts_of
from webhook.deviceselectors.reads import drivers
from webhook.inventory.claims import allocation_of
from webhook.objects import items, mapping, name_of, namespace_of, text
from webhook.simulation import binding
from webhook.simulation.cluster import Cluster
from webhook.simulation.ofpools import completed
from webhook.simulation.rejections import requests
from webhook.simulation.taints import Taint, taint_of
from webhook.simulation.verdicts import Round, Verdicts
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.objects import JSONObject
    from webhook.simulation.cluster import Settings
    from webhook.simulation.ofpools import PoolId
    from webhook.simulation.rejections import Group
    from webhook.simulation.verdicts import Needs

NODES_MAX: Final = 2000
"""The number of nodes on which a change is tried."""
_OPENING: Final = (
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADerivedAttributes",
    "DRADeviceBindingConditions",
    "DRAExtendedResource",
    "DRAListTypeAttributes",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
)
"""The feature gates without which devices are left out, or requests refused; the others only rule out more."""

_POOLS_MAX: Final = 3
"""The number of incomplete pools that are named."""
_RULES_MAX: Final = 3
"""The number of DeviceTaintRules whose deletion is tried, each alone."""


def changes(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[tuple[str, int]]:
    """Return the changes that help, with the number of nodes that each opens.

    Args:
        cluster: The cluster.
        needs: The needs of the pod.
        groups: How nodes refuse the pod.
    """
    if len(cluster.nodes) > NODES_MAX:
        return
    yield from _of_scheduler(cluster, needs)
    pools = completed(cluster.inventory.all("ResourceSlice"))
    if pools and (nodes := _with(cluster, needs, [each for slices in pools.values() for each in slices])):
        yield f"once {_named(pools)} complete", nodes
    for device_class, driver in _respelt(cluster, needs, groups):
        if nodes := _with(cluster, needs, [device_class]):
            yield f"if DeviceClass {name_of(device_class)} selects driver {driver}", nodes
    for rule in _rules(cluster, groups)[:_RULES_MAX]:
        with _without_rule(cluster, rule) as later:
            if nodes := _fitting(cluster, later, needs):
                yield f"once DeviceTaintRule {name_of(rule)} is deleted", nodes


def _of_scheduler(cluster: Cluster, needs: Needs) -> Iterator[tuple[str, int]]:
    """Return the feature gates that help, each alone, and the next release that does."""
    for gate in _OPENING:
        settings = cluster.settings.with_gate(gate)
        if settings and (nodes := _with_settings(cluster, settings, needs)):
            yield f"with the feature gate {gate}", nodes
    for settings in cluster.settings.later:
        if nodes := _on_release(cluster, settings, needs):
            yield f"on Kubernetes {settings}", nodes
            break


def _named(pools: dict[PoolId, list[JSONObject]]) -> str:
    names = ", ".join("/".join(each) for each in list(pools)[:_POOLS_MAX])
    more = ", …" if len(pools) > _POOLS_MAX else ""
    count = sum(len(items(each, "spec", "devices")) for slices in pools.values() for each in slices)
    what = f"pool {names}" if len(pools) == 1 else f"{len(pools)} pools ({names}{more})"
    verb = "is" if len(pools) == 1 else "are"
    return f"{what} with {count} devices {verb}" if count > 1 else f"{what} {verb}"


def _on_release(cluster: Cluster, settings: Settings, needs: Needs) -> int:
    """Count the nodes that would accept the pod with a later release's scheduler."""
    if settings.taint_rules_ignored and not cluster.settings.taint_rules_ignored and _has_rules(cluster):
        return 0  # it would help only by ignoring taints that someone has set
    return _with_settings(cluster, settings, needs)


def _with_settings(cluster: Cluster, settings: Settings, needs: Needs) -> int:
    """Count the nodes that would accept the pod with another release or other feature gates."""
    try:
        newer = Cluster(cluster.inventory, settings)
    except ValueError:
        return 0
    return _fitting(cluster, newer, needs)


def _has_rules(cluster: Cluster) -> bool:
    return cluster.inventory.knows("DeviceTaintRule")


def _respelt(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[tuple[JSONObject, str]]:
    """Return the classes without devices whose driver is nearly that of published devices, with that driver."""
    counts = [each["ofClass"] for group in groups for each in group.requests]
    if not counts or any(counts):
        return
    inventory, settings = cluster.inventory, cluster.settings
    published = {text(each, "spec", "driver") for each in inventory.all("ResourceSlice")}
    for name in sorted({text(asks, "deviceClassName") for claim in needs.claims for _, asks in requests(claim)}):
        changed = deepcopy(inventory.find("DeviceClass", name))
        for each in items(changed, "spec", "selectors"):
            parts = parts_of(text(each, "cel", "expression"), settings.release, settings.gates)
            for written in drivers(parts.all) - published if parts else ():
                if changed and (meant := nearest(written, published)):
                    each["cel"]["expression"] = text(each, "cel", "expression").replace(written, meant)
                    yield changed, meant


def _with(cluster: Cluster, needs: Needs, objects: Sequence[JSONObject]) -> int:
    """Count the nodes that would accept the pod with other objects in place of those of the same names."""
    inventory = cluster.inventory
    before = [inventory.find(text(each, "kind"), name_of(each)) or each for each in objects]
    for each in objects:
        inventory.put(each)
    try:
        later = Cluster(inventory, cluster.settings)
    finally:
        for each in before:
            inventory.put(each)
    return _fitting(cluster, later, needs)


def _rules(cluster: Cluster, groups: Sequence[Group]) -> list[JSONObject]:
    """Return the DeviceTaintRules that set one of the taints which keep devices out."""
    if cluster.settings.taint_rules_ignored:
        return []
    named = [one for group in groups for request in group.requests for one in request["taints"]]
    taints = {Taint(**each) for one in named for each in one["taints"]}
    rules = cluster.inventory.all("DeviceTaintRule")
    return [each for each in rules if taint_of(mapping(each, "spec", "taint")) in taints]


@contextmanager
def _without_rule(cluster: Cluster, rule: JSONObject) -> Iterator[Cluster]:
    """Make a cluster without a DeviceTaintRule."""
    inventory, every = cluster.inventory, cluster.inventory.all("DeviceTaintRule")
    inventory.discard("DeviceTaintRule", name_of(rule))
    try:
        yield Cluster(inventory, cluster.settings)
    finally:
        for each in every:  # in their order
            inventory.discard("DeviceTaintRule", name_of(each))
            inventory.put(each)


def _fitting(cluster: Cluster, other: Cluster, needs: Needs) -> int:
    """Count the nodes of another cluster that would accept the pod; its nodes are as full as those of the first."""
    other.nodes = cluster.nodes
    verdicts = Verdicts(other)
    verdicts.update(Round(other, needs))
    return 0 if verdicts.errors or not are_reservable(needs, other.settings) else len(verdicts.fitting)


def are_reservable(needs: Needs, settings: Settings) -> bool:
    """Tell whether the API server lets the scheduler reserve the claims that have devices already (PreBind)."""
    return not any(
        binding.refusal(
            claim, consumer, namespace_of(claim), settings.release, timestamps=settings.has_binding_conditions
        )
        for claim, consumer in zip(needs.claims, needs.consumers, strict=False)
        if allocation_of(claim) and not consumer.has(claim)
    )
