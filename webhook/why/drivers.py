"""The drivers of a cluster: their DaemonSets and pods, the nodes that these are for, and what they publish there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from webhook.allocation.devices import Slice, Tolerations, blocking
from webhook.allocation.features import POOLS_WHOLE_SINCE
from webhook.engine.prescheduled import REQUIRED
from webhook.grouping import by_key
from webhook.hints.names import listed
from webhook.inventory.affinity import required, wants
from webhook.inventory.plugins import Plugin, home_of, is_ready
from webhook.objects import (
    JSONObject,
    at,
    condition_of,
    full_name_of,
    items,
    mapping,
    name_of,
    namespace_of,
    text,
)
from webhook.scan.drivers import known_drivers, unpublished
from webhook.simulation.workloads import is_for
from webhook.spelling import either
from webhook.why.containers import crashed, failed, said_by_kubelet, waiting
from webhook.why.scene import Cause, Ref, Scene, about_taints

LABEL_NODES: Final = "label the nodes that have such devices, or correct the nodeSelector and affinity of the DaemonSet"
_LOOKED_AT_MAX: Final = 32
"""On how many nodes a driver is looked at that should publish devices."""


def plugin_of(scene: Scene, driver: str, node: JSONObject | None = None) -> Plugin | None:
    """Return the DaemonSet that runs the kubelet plugin of a driver, with its pods; None if none is known.

    Args:
        node: A node for which it should be, if there are several.
    """
    found = [each for each in running(scene, driver) if driver in each.drivers]
    return next((each for each in found if node and _matches(each.workload, node)), next(iter(found), None))


def running(scene: Scene, *more: str) -> Sequence[Plugin]:
    """Return the DaemonSets that run plugins, with the drivers that are known, and others."""
    return scene.plugins(known_drivers(scene).union(more))


def published_on(scene: Scene, node: str) -> dict[str, list[Slice]]:
    """Return the slices that name a node, by driver."""
    return by_key((each.driver, each) for each in scene.catalog.slices if each.node_name == node)


def absent(scene: Scene, driver: str) -> Cause:
    """Say why a driver publishes no device on any node."""
    what, why = f"no ResourceSlice of driver {driver}", "is not installed"
    help_ = f"install driver {driver}, or the part of its chart for these devices"
    if driver in scene.devices_on:
        what, why = f"the ResourceSlices of driver {driver} have no devices", "has found none on any node"
        help_ = f"see the log of driver {driver} on the nodes that should have devices"
    if (found := plugin_of(scene, driver)) is None:
        return Cause(f"{what}: the driver {why} ({unknown(scene)})", [Ref("Driver", driver)], (help_,))
    workload, nodes = found.workload, scene.inventory.all("Node")
    about = workload, Ref("Driver", driver)
    for each in sorted(nodes, key=lambda node: not _matches(workload, node))[:_LOOKED_AT_MAX]:
        if trouble := on_node(scene, driver, each):
            if any(_matches(workload, node) for node in nodes):
                return trouble._replace(text=f"{what}: {trouble.text}", about=[trouble.about, about])
            said = f"DaemonSet {full_name_of(workload)} selects no node: {unselected(workload, nodes)}"
            return Cause(f"{what}: {said}", about, trouble.helps)
    said = f"{what}, though the pods of its DaemonSet {full_name_of(workload)} run: their log tells"
    return Cause(said, about, (f"see {scene.logs(workload)}",))


def unknown(scene: Scene) -> str:
    """Say that no DaemonSet of a driver is known."""
    return "none of the DaemonSets runs it" if scene.inventory.knows("DaemonSet") else "no DaemonSets were collected"


def unpublished_on(scene: Scene, node: str, driver: str = "") -> Iterator[Cause]:
    """Say which drivers, or whether one, run on a node and publish nothing there, though they should by other nodes."""
    for plugin, name, nodes in unpublished(scene):
        if node in nodes and driver in {"", name}:
            said = f"driver {name} runs on {node}, and publishes no devices there"
            about = plugin.pods[node], Ref("Node", node), Ref("Driver", name), plugin.workload
            yield Cause(said, about, (f"see {scene.logs(plugin.pods[node])}",))


def down(scene: Scene, driver: str) -> Iterator[Cause]:
    """Yield the nodes for which a driver's DaemonSet is, and on which it publishes nothing, if it does on others."""
    found = plugin_of(scene, driver)
    if found is None or not scene.devices_on.get(driver):
        return
    without = (each for each in scene.inventory.all("Node") if name_of(each) not in scene.devices_on[driver])
    for node in islice((each for each in without if _matches(found.workload, each)), _LOOKED_AT_MAX):
        if trouble := of_plugin(scene, found, node):
            yield trouble._replace(text=f"driver {driver} publishes nothing on {name_of(node)}: {trouble.text}")
        yield from unpublished_on(scene, name_of(node), driver)


def on_node(scene: Scene, driver: str, node: JSONObject) -> Cause | None:
    """Say what is wrong with a driver's plugin on a node; None if it runs, or its DaemonSet is not known."""
    found = plugin_of(scene, driver, node)
    return None if found is None else of_plugin(scene, found, node)


def of_plugin(scene: Scene, plugin: Plugin, node: JSONObject) -> Cause | None:
    """Say what is wrong with the pod of a DaemonSet on a node; None if it runs."""
    workload, name = plugin.workload, name_of(node)
    if pod := plugin.pods.get(name):
        return of_pod(pod, scene)
    who = f"DaemonSet {full_name_of(workload)}"
    about = workload, Ref("Node", name)
    if not _matches(workload, node):
        return Cause(f"{who} does not select {name}: {unselected(workload, [node])}", about, (LABEL_NODES,))
    spec = mapping(workload, "spec", "template", "spec")
    if not is_for(spec, node):
        tolerations = Tolerations(items(spec, "tolerations"))
        kept = [each for each in blocking(items(node, "spec", "taints")) if not tolerations.cover(each)]
        taints = [str(each) for each in kept if not each.key.startswith("node.kubernetes.io/")] or [*map(str, kept)]
        said = f"{who} does not tolerate the taint {' and '.join(taints)} of node {name}"
        help_ = f"give {who} a toleration of {' and '.join(taints)}"
        return Cause(said, [workload, about_taints(*kept)], (help_,))
    failures = scene.events(workload, "FailedCreate")
    if not failures and not scene.inventory.knows("Pod"):
        said = f"--cluster has no Pods, so that the pod of {who} on {name} is not known"
        return Cause(said, about, ("collect the Pods of all namespaces, too, as draguard snapshot does",))
    words = failures[0].words if failures else ""
    return Cause(f"{who} has no pod on {name}{words and f': {words}'}", about, words=words)


def of_pod(pod: JSONObject, scene: Scene) -> Cause | None:
    """Say what is wrong with a pod of a driver; None if it is ready."""
    who, where = f"its pod {full_name_of(pod)}", f" on {home_of(pod)}"
    about = [pod, *scene.owners(pod)]
    if at(pod, "metadata", "deletionTimestamp"):
        return Cause(f"{who}{where} is terminating", about)
    phase, ready = text(pod, "status", "phase"), text(condition_of(pod, "Ready"), "status")
    if ready == "True":
        return None
    crashes = (crashed(scene, pod, each, is_component=True) for each in failed(pod))
    for each in (*crashes, *waiting(scene, pod), *said_by_kubelet(scene, pod)):
        return each._replace(text=f"{who}{where} is not running: {each.text}", about=[about, each.about])
    condition = next((each for each in items(pod, "status", "conditions") if text(each, "status") == "False"), {})
    words = text(condition, "message") or phase
    if words != "Running":
        return Cause(f"{who}{where} is not ready: {words}", about, words=words)
    return Cause(f"{who}{where} runs, and is not ready", about) if ready else None


def of_component(scene: Scene, name: str) -> Cause | None:
    """Say what is wrong with the pods of a component of the control plane; None if one is ready, or none is known."""
    own = (each for each in scene.inventory.all("Pod") if namespace_of(each) == "kube-system")
    troubles = [of_pod(each, scene) for each in own if text(each, "metadata", "labels", "component") == name]  # kubeadm
    return troubles[0] if troubles and all(troubles) else None


def _matches(workload: JSONObject, node: JSONObject) -> bool:
    return wants(mapping(workload, "spec", "template", "spec"), node)


def unselected(workload: JSONObject, nodes: Sequence[JSONObject]) -> str:
    """Say which labels nodes lack that a DaemonSet selects."""
    spec = mapping(workload, "spec", "template", "spec")
    labels = [mapping(each, "metadata", "labels") for each in nodes]
    pairs = mapping(spec, "nodeSelector").items()
    lacking = [f"{key}={value}" for key, value in pairs if all(each.get(key) != value for each in labels)]
    affinity = required(mapping(spec, *REQUIRED))
    wanted = " and ".join(lacking or (f"{key}={value}" for key, value in pairs))
    if affinity and not lacking:
        wanted = f"the label that it requires ({affinity})"
    return f"{'none has' if len(nodes) != 1 else 'the node lacks'} {wanted}"


# -- nodes


def of_node(scene: Scene, node: JSONObject) -> Iterator[Cause]:
    """Say which drivers should publish devices on a node, which do, and what is wrong with them."""
    name = name_of(node)
    slices = published_on(scene, name)
    silent, skipping = list[Cause](), list[Cause]()
    for plugin in running(scene):
        workload, own, pods = plugin
        if any(each in slices for each in own):
            if scene.inventory.knows("Pod") and (trouble := of_plugin(scene, plugin, node)):
                yield trouble._replace(text=f"driver {own[0]} is not running there: {trouble.text}")
            yield from (each for driver in own for each in _of_driver(scene, name, driver, pods.get(name, workload)))
            continue
        who = f"driver {either(own)}" if own else "its driver"
        trouble = of_plugin(scene, plugin, node)
        if trouble is None and scene.inventory.has_unread("ResourceSlice"):
            said = f"it is not known what {who} publishes there: a ResourceSlice cannot be read"
            silent.append(Cause(said, [workload]))
            continue
        said = f"the pod of DaemonSet {full_name_of(workload)} runs, and has found no device, or failed: its log tells"
        found = trouble or Cause(said, [workload], (f"see {scene.logs(pods.get(name, workload))}",))
        about = [found.about, *(Ref("Driver", each) for each in own)]
        found = found._replace(text=f"{who} publishes nothing there: {found.text}", about=about)
        (silent if _matches(workload, node) else skipping).append(found)
    yield from silent
    known = {driver for _, own, _ in running(scene) for driver in own}
    yield from (each for driver in slices if driver not in known for each in _of_driver(scene, name, driver))
    is_unused = scene.settings.release >= POOLS_WHOLE_SINCE
    so = "its devices are not used" if is_unused else "requests for all devices fail"
    for pool in dict.fromkeys(each.id for several in slices.values() for each in several):
        if pool in scene.incomplete:
            current = scene.catalog.current[pool]
            there = f"{len(current)} of {current[0].count} slices of generation {current[0].generation}"
            said = f"pool {'/'.join(pool)} is incomplete: {there}, so that {so}"
            yield Cause(said, [Ref("Pool", pool[1]), Ref("Driver", pool[0])], (until_whole(pool[0]),))
    if down := not_ready(node):
        yield down
    if at(node, "spec", "unschedulable") is True:
        uncordon = scene.inventory.kubectl(f"uncordon {name}")
        yield Cause("is cordoned: it takes no new pods", [node], (uncordon,))
    yield from _tainted(scene, name)
    if not slices and not silent:
        yield from skipping or [Cause("no ResourceSlice names it, and no DaemonSet of a driver is known here")]


def _of_driver(scene: Scene, node: str, driver: str, pod: JSONObject | None = None) -> Iterator[Cause]:
    """Say that a driver publishes no devices for a node.

    Args:
        pod: The pod that runs it there, if it is known.
    """
    found = list(unpublished_on(scene, node, driver))
    yield from found
    if not found and driver in published_on(scene, node) and node not in scene.devices_on[driver]:
        said = f"driver {driver} has found no device there: its ResourceSlices are empty"
        yield Cause(said, [Ref("Driver", driver), pod], (f"see {scene.logs(pod)}",) if pod else ())


def until_whole(driver: str) -> str:
    """Say what helps where a pool is incomplete."""
    return f"wait until driver {driver} has published the whole pool; see its log"


def _tainted(scene: Scene, node: str) -> Iterator[Cause]:
    """Yield the taints of devices of a node, which keep claims from them that do not tolerate these."""
    for taint, devices in scene.tainted.items():
        if found := [each for each in devices if each.slice.node_name == node]:
            about = [Ref("Device", each.name) for each in found[:4]]
            yield Cause(f"the taint {taint} keeps claims from {listed(map(str, found))}", [about_taints(taint), about])


def not_ready(node: JSONObject) -> Cause | None:
    """Say that a node is not ready, in the words of its condition; None if it is."""
    if is_ready(node):
        return None
    ready = condition_of(node, "Ready")
    words = text(ready, "message") or text(ready, "reason")
    helps = ("see kubelet on the node: systemctl status kubelet, and journalctl --unit kubelet",)
    return Cause(f"is not ready{words and f': {words}'}", [node], helps, words=words)


def summary(scene: Scene, node: JSONObject) -> str:
    """Say what is published on a node, if nothing is wrong with it."""
    name = name_of(node)
    newest = {pool: slices[0].generation for pool, slices in scene.catalog.current.items()}
    published = {
        driver: {(each.id, one.name) for each in of if each.generation == newest[each.id] for one in each.devices}
        for driver, of in published_on(scene, name).items()
    }
    held = [scene.usage.pool(*pool).is_allocated(one) for devices in published.values() for pool, one in devices]
    counts = {driver: len(devices) for driver, devices in published.items()}
    parts = [f"driver {driver} publishes {count} device{'s' * (count != 1)}" for driver, count in counts.items()]
    return f"nothing is wrong with it: {' and '.join(parts)}; {sum(held)} of {len(held)} held"
