"""Changes to the cluster that would open nodes: releases, gates, pools, drivers of classes, DeviceTaintRules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any, Final

from webhook.allocation.devices import PoolId
from webhook.allocation.selecting import Fault
from webhook.deviceselectors.parts import parts_of
from webhook.deviceselectors.reads import drivers, guarded, reads
from webhook.inventory.claims import requests_of
from webhook.objects import JSONObject, items, name_of, text
from webhook.simulation.changes import Change
from webhook.simulation.cluster import NODE_ALLOCATABLE, Cluster, Settings
from webhook.simulation.rejections import Group, taints_of
from webhook.simulation.scheduler import Needs
from webhook.spelling import nearest

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
_VARIANTS_MAX: Final = 16
"""The number of changed clusters that are kept."""
_WAIT: Final = 5
"""The cost of a cluster update: more than that of any change of a pod."""
RELEASE: Final = "release"
"""What updates change: only the first that helps is of interest."""


def changes(cluster: Cluster, needs: Needs, groups: Sequence[Group], error: Fault) -> Iterator[Change]:
    """Return the changes to a cluster that may help a pod; each leads to a cluster that is made once for all pods."""
    if len(cluster.nodes) > NODES_MAX:
        return
    for what, about, settings in _schedulers(cluster, groups):
        with suppress(ValueError):  # no allocator supports the gates
            yield _change(cluster, what, about, partial(cluster.variant, settings))
    if pools := completed(cluster):
        slices = [each for several in pools.values() for each in several]
        yield _change(cluster, f"once {_named(pools)} complete", "pools", partial(_with, cluster, slices))
    for device_class, driver in _respelt(cluster, needs, groups):
        what = f"if DeviceClass {name_of(device_class)} selects driver {driver}"
        yield _change(cluster, what, what, partial(_with, cluster, [device_class]))._replace(objects=[device_class])
    for device_class, expression in _guarded(cluster, needs, error):
        what = f"with the selector of DeviceClass {name_of(device_class)} guarded: {expression}"
        yield _change(cluster, what, what, partial(_with, cluster, [device_class]))._replace(objects=[device_class])
    for rule in _rules(cluster, groups)[:_RULES_MAX]:
        what = f"once DeviceTaintRule {name_of(rule)} is deleted"
        yield _change(cluster, what, what, partial(_without_rule, cluster, rule))


def _change(cluster: Cluster, what: str, about: str, make: Callable[[], Cluster]) -> Change:
    """Return a change with the cluster that it leads to, which is kept for other pods.

    Raises:
        ValueError: There is none.
    """
    made = cluster.variants.pop(what, None) or make()
    if len(cluster.variants) >= _VARIANTS_MAX:
        del cluster.variants[next(iter(cluster.variants))]
    cluster.variants[what] = made
    return Change(what, _WAIT, about, cluster=made)


def _schedulers(cluster: Cluster, groups: Sequence[Group]) -> Iterator[tuple[str, str, Settings]]:
    """Return other settings of the scheduler: with one feature gate more or less, and of the later releases."""
    if any(each.taken for each in groups):
        without = cluster.settings._replace(gates=cluster.settings.gates - {NODE_ALLOCATABLE})
        yield f"without the feature gate {NODE_ALLOCATABLE}", NODE_ALLOCATABLE, without
    for gate in _OPENING:
        if settings := cluster.settings.with_gate(gate):
            yield f"with the feature gate {gate}", gate, settings
    for settings in cluster.settings.later:
        ignores_more = settings.taint_rules_ignored and not cluster.settings.taint_rules_ignored
        # A release that ignores the taints of DeviceTaintRules would only seem to help.
        if not (ignores_more and cluster.inventory.knows("DeviceTaintRule")):
            yield f"on Kubernetes {settings}", RELEASE, settings


def _named(pools: dict[PoolId, list[JSONObject]]) -> str:
    names = ", ".join("/".join(each) for each in list(pools)[:_POOLS_MAX])
    more = ", …" if len(pools) > _POOLS_MAX else ""
    count = sum(len(items(each, "spec", "devices")) for slices in pools.values() for each in slices)
    what = f"pool {names}" if len(pools) == 1 else f"{len(pools)} pools ({names}{more})"
    verb = "is" if len(pools) == 1 else "are"
    return f"{what} with {count} devices {verb}" if count > 1 else f"{what} {verb}"


def _respelt(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[tuple[JSONObject, str]]:
    """Return the classes without devices whose driver is nearly that of published devices, with that driver."""
    counts = [each["ofClass"] for group in groups for each in group.requests]
    if not counts or any(counts):
        return
    inventory, settings = cluster.inventory, cluster.settings
    published = {text(each, "spec", "driver") for each in inventory.all("ResourceSlice")}
    for changed in _classes(cluster, needs):
        for each in items(changed, "spec", "selectors"):
            parts = parts_of(text(each, "cel", "expression"), settings.release, settings.gates)
            for written in drivers(parts.all) - published if parts else ():
                if meant := nearest(written, published):
                    each["cel"]["expression"] = text(each, "cel", "expression").replace(written, meant)
                    yield changed, meant


def _guarded(cluster: Cluster, needs: Needs, error: Fault) -> Iterator[tuple[JSONObject, str]]:
    """Return the classes with a selector that fails on devices without an attribute, with that selector guarded."""
    settings = cluster.settings
    for changed in _classes(cluster, needs) if error.missing else ():
        for each in items(changed, "spec", "selectors"):
            expression = text(each, "cel", "expression")
            parts = parts_of(expression, settings.release, settings.gates)
            read = reads(parts.root) if parts else ()
            missing = {one[:3] for one in read if one.name == error.missing}
            better = guarded(expression, missing, settings.release, settings.gates)
            if better != expression:
                each["cel"]["expression"] = better
                yield changed, better


def _classes(cluster: Cluster, needs: Needs) -> Iterator[JSONObject]:
    """Return copies of the classes that a pod's claims name."""
    for name in sorted({each.class_name for claim in needs.claims for each in requests_of(claim)}):
        if found := cluster.inventory.find("DeviceClass", name):
            yield deepcopy(found)


def _with(cluster: Cluster, objects: Sequence[JSONObject]) -> Cluster:
    """Make a cluster with other objects in place of those of the same names."""
    inventory = cluster.inventory
    before = [inventory.find(text(each, "kind"), name_of(each)) or each for each in objects]
    for each in objects:
        inventory.put(each)
    try:
        return cluster.variant(cluster.settings)
    finally:
        for each in before:
            inventory.put(each)


def _rules(cluster: Cluster, groups: Sequence[Group]) -> list[JSONObject]:
    """Return the DeviceTaintRules that set one of the taints which keep devices out."""
    if cluster.settings.taint_rules_ignored:
        return []
    return cluster.rules_of(frozenset().union(*taints_of(each for group in groups for each in group.requests)))


def _without_rule(cluster: Cluster, rule: JSONObject) -> Cluster:
    """Make a cluster without a DeviceTaintRule."""
    inventory, every = cluster.inventory, cluster.inventory.all("DeviceTaintRule")
    inventory.discard("DeviceTaintRule", name_of(rule))
    try:
        return cluster.variant(cluster.settings)
    finally:
        for each in every:  # in their order
            inventory.discard("DeviceTaintRule", name_of(each))
            inventory.put(each)


def completed(cluster: Cluster) -> dict[PoolId, list[JSONObject]]:
    """Return the slices of each pool that is incomplete, with their number as their count."""
    found: dict[PoolId, list[JSONObject]] = {}
    for pool, slices in cluster.allocator.catalog.current.items():
        if any(each.count > len(slices) for each in slices):
            for each in slices:
                raw: Any = cluster.inventory.find("ResourceSlice", each.name)
                of_pool = {**raw["spec"]["pool"], "resourceSliceCount": len(slices)}
                found.setdefault(pool, []).append({**raw, "spec": {**raw["spec"], "pool": of_pool}})
    return found
