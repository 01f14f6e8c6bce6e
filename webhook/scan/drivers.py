"""Rules about the drivers of a cluster: their pods, and what they publish."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from webhook.engine.prescheduled import REQUIRED
from webhook.hints.names import listed
from webhook.inventory.plugins import Plugin, is_ready, trouble_of
from webhook.inventory.resources import amounts, is_extended
from webhook.objects import JSONObject, items, mapping, name_of, number, text
from webhook.records import NamedTuple
from webhook.scan.rules import Found, command, rule
from webhook.scan.stored import Cluster, once
from webhook.simulation.workloads import is_for

_WORD: Final = re.compile(r"[a-z0-9]+")
_STARTING: Final = 300
"""How many seconds a pod, or a node, may take to start."""
_OF_EVERY_NODE: Final = frozenset({"kubernetes.io/os", "kubernetes.io/arch"})
"""The labels that say nothing about hardware of a node."""
_WATCHED: Final = "monitoring"
"""In the names of resources that only let pods look at hardware."""
_COMMON: Final = frozenset({"com", "org", "net", "io", "ai", "dev", "k8s", "kubernetes", "x"})
"""Words of domains that say nothing about hardware."""
_SAME: Final = {"mig": "gpu", "habana": "intel"}
"""Words that stand for another word, as they name the same hardware or vendor."""


@once
def plugins(cluster: Cluster) -> Sequence[Plugin]:
    """Find the DaemonSets that run the drivers of the cluster."""
    return [each for each in cluster.plugins(frozenset([*cluster.slices_on, *_of_classes(cluster)])) if each.drivers]


def _of_classes(cluster: Cluster) -> set[str]:
    """Return the drivers that device classes select by name."""
    found = set()
    for each in cluster.all("DeviceClass"):
        for selector in items(each, "spec", "selectors"):
            found |= set(_SELECTED.findall(text(selector, "cel", "expression")))
    return found


_SELECTED: Final = re.compile(r"""device\.driver\s*==\s*["']([^"'\s]+)["']""")


class Absent(NamedTuple):
    """A driver that does not run on a node, or publishes nothing for it.

    Args:
        why: What is wrong with the pod; empty if it runs.
    """

    node: str
    why: str


@once
def absences(cluster: Cluster) -> Sequence[tuple[Plugin, Sequence[Absent]]]:
    """Return the nodes on which drivers do not run."""
    found = []
    for each in plugins(cluster):
        spec = mapping(each.workload, "spec", "template", "spec")
        absent = []
        for node in cluster.all("Node"):
            name = name_of(node)
            pod = each.pods.get(name)
            if not is_ready(node):
                continue
            is_old = cluster.is_older(text(node, "metadata", "creationTimestamp"), _STARTING)
            if pod is None:
                if is_old and is_for(spec, node):
                    absent.append(Absent(name, "no pod"))
            elif (why := trouble_of(pod)) and (_crashes(pod) or (is_old and _is_settled(pod, cluster))):
                absent.append(Absent(name, f"pod {name_of(pod)}: {why}"))
        found.append((each, absent))
    return found


@once
def silent(cluster: Cluster) -> set[tuple[str, str]]:
    """Return the drivers and nodes of which another rule says that the driver is silent there."""
    found = {
        (driver, each.node) for plugin, absent in absences(cluster) for each in absent for driver in plugin.drivers
    }
    found |= {(driver, node) for _, driver, nodes in _unpublished(cluster) for node in nodes}
    return found


def _crashes(pod: JSONObject) -> bool:
    """Tell whether a pod that is not being deleted was started again: it does not just take its time to start."""
    statuses = items(pod, "status", "containerStatuses") + items(pod, "status", "initContainerStatuses")
    is_again = any(number(each, "restartCount") for each in statuses)
    return is_again and "deletionTimestamp" not in mapping(pod, "metadata")


@rule("driver-not-running")
def driver_not_running(cluster: Cluster) -> Iterator[Found]:
    """A driver's pod is missing on a node that its DaemonSet selects, or does not run there.

    Pods that get devices on the node do not start, and its devices soon disappear: kubelet deletes the slices of a
    driver that is gone. Nodes that are not ready are left out, and so are nodes and pods of less than five minutes,
    unless the pod has already been started again.
    """
    for plugin, absent in absences(cluster):
        if absent:
            drivers = " and ".join(plugin.drivers)
            where = listed(f"{each.node} ({each.why})" for each in absent)
            message = f"driver {drivers} is not running on {len(absent)} of the nodes that it should serve: {where}"
            hint = f"{command(cluster, 'describe', plugin.workload)} shows why pods are missing; else see their logs"
            yield Found(plugin.workload, message, hint)


def _unpublished(cluster: Cluster) -> Iterator[tuple[Plugin, str, Sequence[str]]]:
    """Yield the drivers that run on nodes and publish nothing for them.

    A driver may have nothing to publish on some of the nodes on which it runs, if its DaemonSet does not choose them by
    their hardware: then others must publish.
    """
    for plugin, absent in absences(cluster):
        running = sorted(plugin.pods.keys() - {each.node for each in absent})
        nodes = {
            each: cluster.inventory.find("Node", each)
            for each in running
            if not trouble_of(plugin.pods[each]) and _is_settled(plugin.pods[each], cluster)
        }
        ready = [name for name, node in nodes.items() if node and is_ready(node)]
        for driver in plugin.drivers:
            served = cluster.slices_on.get(driver, set())
            missing = [] if "" in served else [each for each in ready if each not in served]
            if missing and (_is_choosy(plugin.workload) or 2 * len(missing) <= len(ready)):
                yield plugin, driver, missing


def _is_settled(pod: JSONObject, cluster: Cluster) -> bool:
    """Tell whether a pod neither has just been made nor is being deleted."""
    metadata = mapping(pod, "metadata")
    return "deletionTimestamp" not in metadata and cluster.is_older(text(metadata, "creationTimestamp"), _STARTING)


def _is_choosy(workload: JSONObject) -> bool:
    """Tell whether a DaemonSet selects nodes by a label that they must have."""
    spec = mapping(workload, "spec", "template", "spec")
    terms = items(spec, *REQUIRED, "nodeSelectorTerms")
    wanted = [
        text(each, "key")
        for term in terms
        for each in items(term, "matchExpressions")
        if text(each, "operator") not in {"NotIn", "DoesNotExist"}
    ]
    return not {*mapping(spec, "nodeSelector"), *wanted} <= _OF_EVERY_NODE


@rule("node-without-slices")
def node_without_slices(cluster: Cluster) -> Iterator[Found]:
    """A driver runs on a node, and publishes no slice for it.

    Its devices there cannot be allocated. The driver has found no hardware, cannot write slices, or has crashed while
    it looked.
    """
    for plugin, driver, nodes in _unpublished(cluster):
        pod = plugin.pods[nodes[0]]
        message = f"driver {driver} runs on {listed(nodes)}, and publishes no ResourceSlice there"
        hint = f"{command(cluster, 'logs', pod)} shows why"
        yield Found(plugin.workload, message, hint)


@rule("plugin-and-driver")
def plugin_and_driver(cluster: Cluster) -> Iterator[Found]:
    """A device plugin and a DRA driver offer the same hardware of a node.

    Both hand it out, and neither knows what the other one does: two pods get the same device. Let one of them leave the
    node alone, by a label that its DaemonSet selects.
    """
    words = {driver: _words(driver) for driver in cluster.slices_on}
    for node in cluster.all("Node"):
        offered = {name: amount for name, amount in amounts(mapping(node, "status", "allocatable")).items() if amount}
        for resource in filter(is_extended, offered):
            for driver, of_driver in words.items():
                is_same = len(of_driver & _words(resource)) > 1 and _WATCHED not in _words(resource)
                if is_same and name_of(node) in cluster.slices_on[driver]:
                    offer = f"a device plugin offers {resource} ({offered[resource]} allocatable) on this node"
                    message = f"{offer}, and DRA driver {driver} publishes the same hardware: it is handed out twice"
                    hint = f"keep the device plugin from the nodes of the driver, or driver {driver} from this one"
                    yield Found(node, message, hint, ("status", "allocatable"))


def _words(name: str) -> frozenset[str]:
    """Return the words in the name of a driver or resource that say something about its hardware."""
    return frozenset(_SAME.get(each, each) for each in _WORD.findall(name.lower())) - _COMMON
