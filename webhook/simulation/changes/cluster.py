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
from webhook.spelling import nearest, some_of

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
        names = ", ".join(some_of(["/".join(each) for each in pools], _POOLS_MAX, "…"))
        count = sum(len(items(each, "spec", "devices")) for each in slices)
        what = f"pool {names}" if len(pools) == 1 else f"{len(pools)} pools ({names})"
        devices = f" with {count} devices" if count > 1 else ""
        what = f"once {what}{devices} {'is' if len(pools) == 1 else 'are'} complete"
        yield _change(cluster, what, "pools", partial(_with, cluster, slices))
    for device_class, what in _of_classes(cluster, needs, groups, error):
        yield _change(cluster, what, what, partial(_with, cluster, [device_class]))._replace(objects=[device_class])
    taints = frozenset().union(*taints_of(each for group in groups for each in group.requests))
    for rule in () if cluster.settings.taint_rules_ignored else cluster.rules_of(taints)[:_RULES_MAX]:
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


def _of_classes(
    cluster: Cluster, needs: Needs, groups: Sequence[Group], error: Fault
) -> Iterator[tuple[JSONObject, str]]:
    """Return better classes of a pod's claims, and what is better.

    If no node has devices of any, one selects the driver of published devices whose name is nearly that which it has.
    A selector that fails on devices without an attribute is guarded.
    """
    inventory, settings = cluster.inventory, cluster.settings
    counts = [each["ofClass"] for group in groups for each in group.requests]
    is_empty = bool(counts) and not any(counts)
    if not is_empty and not error.missing:
        return
    published = {text(each, "spec", "driver") for each in inventory.all("ResourceSlice")}
    for name in sorted({each.class_name for claim in needs.claims for each in requests_of(claim)}):
        changed = deepcopy(inventory.find("DeviceClass", name) or {})
        for each in items(changed, "spec", "selectors"):
            expression = text(each, "cel", "expression")
            parts = parts_of(expression, settings.release, settings.gates)
            for written in drivers(parts.all) - published if parts and is_empty else ():
                if meant := nearest(written, published):
                    each["cel"]["expression"] = text(each, "cel", "expression").replace(written, meant)
                    yield changed, f"if DeviceClass {name} selects driver {meant}"
            missing = {one[:3] for one in reads(parts.root) if one.name == error.missing} if parts else set()
            better = guarded(expression, missing, settings.release, settings.gates) if missing else expression
            if better != expression:
                each["cel"]["expression"] = better
                yield changed, f"with the selector of DeviceClass {name} guarded: {better}"


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
