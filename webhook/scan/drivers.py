"""Rules about the drivers of a cluster: their pods, and what they publish; hardware twice, slices that no node uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from webhook.allocation.devices import Device
from webhook.api.dra.names import STANDARD_DOMAIN
from webhook.deviceselectors.fleet import model_of
from webhook.deviceselectors.parts import drivers_of, parts_of
from webhook.engine.prescheduled import REQUIRED
from webhook.grouping import by_key
from webhook.hints.names import listed
from webhook.inventory import statuses_of
from webhook.inventory.affinity import required
from webhook.inventory.plugins import Plugin, is_ready, trouble_of
from webhook.inventory.resources import amounts, is_extended
from webhook.objects import JSONObject, items, mapping, name_of, number, placed, text
from webhook.problem import NOTE
from webhook.scan.rules import Found, command, rule
from webhook.scan.stored import Stored, once, template_of
from webhook.simulation.workloads import is_for

_WORD: Final = re.compile(r"[a-z0-9]+")
_STARTING: Final = 300
"""How many seconds a pod, or a node, may take to start."""
_COMMON: Final = frozenset({"com", "org", "net", "io", "ai", "dev", "k8s", "kubernetes", "x"})
"""Words of domains that say nothing about hardware."""
_SAME: Final = {"mig": "gpu", "habana": "intel"}
"""Words that stand for another word, as they name the same hardware or vendor."""
_MADE: Final = ("metadata", "creationTimestamp")
_DELETED: Final = ("metadata", "deletionTimestamp")


def drivers_of_class(cluster: Stored, name: str) -> list[str]:
    """Return the drivers that a class selects by name; else the domains of the attributes that it reads."""
    release, gates = cluster.settings.release, cluster.settings.gates
    selectors = items(cluster.inventory.find("DeviceClass", name), "spec", "selectors")
    compiled = [parts_of(text(each, "cel", "expression"), release, gates) for each in selectors]
    domains = {read.domain for parts in compiled if parts for read in parts.reads}
    return sorted(drivers_of(selectors, release, gates) or domains - {"", STANDARD_DOMAIN})


@once
def known_drivers(cluster: Stored) -> frozenset[str]:
    """Return the drivers that publish devices, or that classes select."""
    classes = (name for _, name in cluster.inventory.names("DeviceClass"))
    return frozenset(cluster.devices_on).union(*(drivers_of_class(cluster, each) for each in classes))


@once
def plugins(cluster: Stored) -> Sequence[Plugin]:
    """Find the DaemonSets that run the drivers of the cluster."""
    return [each for each in cluster.plugins(known_drivers(cluster)) if each.drivers]


@once
def absences(cluster: Stored) -> Sequence[tuple[Plugin, Mapping[str, str]]]:
    """Return the nodes on which drivers do not run, and what is wrong there; nothing if pods are not known."""
    found = []
    for each in plugins(cluster) if cluster.inventory.knows("Pod") else ():
        spec, absent = template_of(each.workload), dict[str, str]()
        for node in filter(is_ready, cluster.all("Node")):
            pod, is_old = each.pods.get(name_of(node)), cluster.is_older(text(node, *_MADE), _STARTING)
            if pod is None:
                if is_old and is_for(spec, node):
                    absent[name_of(node)] = "no pod of its DaemonSet"
            elif (why := trouble_of(pod)) and not text(pod, *_DELETED):
                is_again = any(number(each, "restartCount") for each in statuses_of(pod))  # it does not just take time
                if is_again or (is_old and cluster.is_older(text(pod, *_MADE), _STARTING)):
                    absent[name_of(node)] = f"pod {name_of(pod)}: {why}"
        found.append((each, absent))
    return found


@once
def not_running(cluster: Stored) -> dict[tuple[str, str], str]:
    """Return the drivers and nodes on which they do not run, and what is wrong there."""
    found = ((plugin, *each) for plugin, absent in absences(cluster) for each in absent.items())
    return {(driver, node): why for plugin, node, why in found for driver in plugin.drivers}


@once
def silent(cluster: Stored) -> set[tuple[str, str]]:
    """Return the drivers and nodes of which another rule says that the driver is silent there."""
    return {*not_running(cluster), *((driver, node) for _, driver, nodes in unpublished(cluster) for node in nodes)}


@rule()
def driver_not_running(cluster: Stored) -> Iterator[Found]:
    """A driver's pod is missing on a node that its DaemonSet selects, or does not run there.

    Pods that get devices on the node do not start, and its devices soon disappear: kubelet deletes the slices of a
    driver that is gone. Nodes that are not ready are left out, and so are nodes and pods of less than five minutes,
    unless the pod has already been started again.
    """
    for plugin, absent in absences(cluster):
        if absent:
            drivers = " and ".join(plugin.drivers)
            where = listed(f"{node} ({why})" for node, why in absent.items())
            message = f"driver {drivers} is not running on {len(absent)} of the nodes that it should serve: {where}"
            describe = command(cluster, "describe", plugin.workload)
            yield Found(plugin.workload, message, f"{describe} shows why pods are missing; else see their logs")


@once
def unpublished(cluster: Stored) -> Sequence[tuple[Plugin, str, Sequence[str]]]:
    """Return the drivers that run on nodes and publish nothing for them.

    A driver may have nothing to publish on some of the nodes on which it runs, if its DaemonSet does not choose them by
    their hardware: then others must publish. Devices that claims hold tell that there are slices, though none is known;
    slices that cannot be read may be of any node.
    """
    inventory, found = cluster.inventory, list[tuple[Plugin, str, Sequence[str]]]()
    if inventory.has_unread("ResourceSlice") or (cluster.allocated and not inventory.knows("ResourceSlice")):
        return found
    for plugin, absent in absences(cluster):
        running = ((node, plugin.pods[node]) for node in sorted(plugin.pods.keys() - absent.keys()))
        well = ((node, pod) for node, pod in running if not trouble_of(pod) and not text(pod, *_DELETED))
        settled = (node for node, pod in well if cluster.is_older(text(pod, *_MADE), _STARTING))
        ready = [each for each in settled if (node := cluster.inventory.find("Node", each)) and is_ready(node)]
        for driver in plugin.drivers:
            served = cluster.devices_on.get(driver, set())
            missing = [] if "" in served else [each for each in ready if each not in served]
            if missing and (_is_choosy(plugin.workload) or 2 * len(missing) <= len(ready)):
                found.append((plugin, driver, missing))
    return found


def _is_choosy(workload: JSONObject) -> bool:
    """Tell whether a DaemonSet selects nodes by a label that they must have."""
    spec = template_of(workload)
    terms = items(spec, *REQUIRED, "nodeSelectorTerms")
    every = (each for term in terms for each in items(term, "matchExpressions"))
    wanted = [text(each, "key") for each in every if text(each, "operator") not in {"NotIn", "DoesNotExist"}]
    of_any = {"kubernetes.io/os", "kubernetes.io/arch"}  # which say nothing about hardware
    return not {*mapping(spec, "nodeSelector"), *wanted} <= of_any


@rule()
def node_without_slices(cluster: Stored) -> Iterator[Found]:
    """A driver runs on a node, and publishes no devices for it.

    Its devices there cannot be allocated. The driver has found no hardware, cannot write slices, or has crashed while
    it looked.
    """
    for plugin, driver, nodes in unpublished(cluster):
        pod = plugin.pods[nodes[0]]
        message = f"driver {driver} runs on {listed(nodes)}, and publishes no devices there"
        yield Found(plugin.workload, message, f"{command(cluster, 'logs', pod)} shows why")


@rule()
def plugin_and_driver(cluster: Stored) -> Iterator[Found]:
    """A device plugin and a DRA driver offer the same hardware of a node.

    Both hand it out, and neither knows what the other one does: two pods get the same device. Let one of them leave the
    node alone, by a label that its DaemonSet selects.
    """
    words = {driver: _words(driver) for driver in cluster.devices_on}
    for node in cluster.all("Node"):
        offered = {name: amount for name, amount in amounts(mapping(node, "status", "allocatable")).items() if amount}
        for resource in filter(is_extended, offered):
            of_resource = _words(resource)
            if "monitoring" in of_resource:  # which only lets pods look at hardware
                continue
            for driver, of_driver in words.items():
                if len(of_driver & of_resource) > 1 and name_of(node) in cluster.devices_on[driver]:
                    offer = f"a device plugin offers {resource} ({offered[resource]} allocatable) on this node"
                    message = f"{offer}, and DRA driver {driver} publishes the same hardware: it is handed out twice"
                    hint = f"keep the device plugin from the nodes of the driver, or driver {driver} from this one"
                    yield Found(node, message, hint, ("status", "allocatable"))


def _words(name: str) -> frozenset[str]:
    """Return the words in the name of a driver or resource that say something about its hardware."""
    return frozenset(_SAME.get(each, each) for each in _WORD.findall(name.lower())) - _COMMON


_LOCAL: Final = frozenset({"pcibusid", "pciaddress", "pciaddr", "deviceid"})
"""Attributes that tell a piece of hardware from others of its node."""
_ADDRESS: Final = re.compile("^[^:]*:[^:]*:[^:]*$")
"""How PCI addresses look, such as ``0000:17:00.0``."""
_PARENT: Final = "parent"
"""How attributes begin that name the hardware of which a device is a part."""
_FOR_MACHINES: Final = "vfio"
"""The type of devices that are published a second time for virtual machines."""


@rule()
def hardware_twice(cluster: Stored) -> Iterator[Found]:
    """One piece of hardware is published as two devices, and both can be allocated at a time.

    Two devices have the same uuid, serial number or PCI address, or one is a part of the other. Only counters that both
    consume keep them from being allocated to different claims. It happens where two drivers see the same hardware, and
    where a driver publishes a device and its partitions without counters. A device of type vfio, for virtual machines,
    may be another one for containers: drivers take one of them away when they prepare the other.
    """
    found: dict[tuple[str, str], Found] = {}
    for value, devices in _by_hardware(cluster).items():
        (first, by), *others = sorted(devices, key=lambda each: _is_part(each[1]))
        clashing = (each for each in others if not _is_part(by) and _clash(first, each[0]))
        for other, name in islice(clashing, 1):
            what = "is a part of the same hardware as" if _is_part(name) else "is the same hardware as"
            message = (
                f"device {other.name} {what} device {first.name} of slice {first.slice.name}: both have {name} "
                f"{value[-1]}, and no shared counter keeps them from being allocated twice"
            )
            hint = "publish each piece of hardware once, or let both devices consume the same counters"
            path = ("spec", "devices", other.slice.devices.index(other))
            slices = first.slice.name, other.slice.name
            found.setdefault(slices, Found(cluster.raw(other.slice), message, hint, path))
    yield from found.values()


def _by_hardware(cluster: Stored) -> dict[tuple[str, ...], list[tuple[Device, str]]]:
    """Group devices, each with the attribute that tells its hardware from other hardware; return groups of several."""
    nodes = {name for _, name in cluster.inventory.names("Node")}
    every = (each for slices in cluster.catalog.current.values() for each in slices)
    there = (each for each in every if not (nodes and each.node_name) or each.node_name in nodes)
    devices = (device for each in there for device in each.devices)
    found = by_key((key, (device, name)) for device in devices for key, name in _hardware(device).items())
    return {key: several for key, several in found.items() if len(several) > 1}


def _hardware(device: Device) -> Mapping[tuple[str, ...], str]:
    """Return what identifies a device's hardware, such as its UUID, each with the attribute that states it first."""
    found, node = dict[tuple[str, ...], str](), device.node_name
    for name, attribute in device.content.attributes.items():
        own, value = _bare(name).removeprefix(_PARENT), text(attribute, "string")
        if value and own in {"uuid", "serial", "serialnumber"}:
            found.setdefault(("uuid", value), name)
        elif value and node and own in _LOCAL and (own != "deviceid" or _ADDRESS.search(value)):
            found.setdefault(("pci", node, value.lower()), name)
    return found


def _clash(one: Device, two: Device) -> bool:
    """Tell whether two devices of one piece of hardware can be allocated at a time."""
    is_one_pool = one.slice.id == two.slice.id
    if one is two or (one.name == two.name and is_one_pool):
        return False
    texts = [{_bare(name): text(of, "string") for name, of in each.content.attributes.items()} for each in (one, two)]
    parents = [next((value for name, value in each.items() if name.startswith(_PARENT)), "") for each in texts]
    if parents[0] and parents[0] == parents[1]:
        return False
    is_counted = not set.isdisjoint(*({key[0] for key in each.content.consumes} for each in (one, two)))
    types = {each.get("type", "") for each in texts}
    are_parts = all("partition" in each for each in types)
    is_twin = len(types) > 1 and _FOR_MACHINES in types
    return not (is_one_pool and (is_counted or are_parts or is_twin))


def _bare(name: str) -> str:
    return name.rpartition("/")[2].lower()


def _is_part(name: str) -> bool:
    """Tell whether an attribute tells the hardware of which its device is a part."""
    return _bare(name).startswith(_PARENT)


@rule()
def slice_without_node(cluster: Stored) -> Iterator[Found]:
    """A slice, or a device of it, is for nodes that do not exist, so that it cannot be used.

    The nodes were removed or relabelled, or the driver that publishes for them was misconfigured.
    """
    nodes = cluster.all("Node")
    names = {name_of(node) for node in nodes}
    for each in cluster.inventory.all("ResourceSlice") if nodes else ():
        for path, device in placed(each, "spec", "devices"):
            if (home := text(device, "nodeName")) and home not in names:
                message = f'device {text(device, "name")} is for node "{home}", which does not exist'
                yield Found(each, message, "", (*path, "nodeName"))
                break
        selector = mapping(each, "spec", "nodeSelector")
        if not selector or cluster.nodes.any_selected(selector):
            continue
        message = f"no node matches the slice's nodeSelector ({required(selector)}), so its devices cannot be used"
        hint = f"label the nodes, or {command(cluster, 'delete', each)} if they are gone"
        yield Found(each, message, hint, ("spec", "nodeSelector"))


@rule(NOTE)
def devices_stranded(cluster: Stored) -> Iterator[Found]:
    """No device class selects a device, so that no claim can request it.

    A class of the driver is missing, or was made for other models. Devices that no claim should get need no class.
    """
    fleet = cluster.context.fleet
    if fleet is None or not cluster.all("DeviceClass"):
        return
    results = [fleet.sorted_out(items(each, "spec", "selectors"), ()) for each in cluster.all("DeviceClass")]
    groups = (group for each in results for group in (*each.taken, *(group for group, _ in each.failing)))
    selected = {content.index for group in groups for content in group.contents}
    every = (device for slices in cluster.catalog.current.values() for each in slices for device in each.devices)
    left = (device for device in every if device.content.index not in selected)
    alike = by_key(((each.slice.driver, model_of(each.content)), each) for each in left)
    for (driver, model), devices in alike.items():
        slice_ = devices[0].slice
        where = listed(each.slice.node_name or each.slice.name for each in devices)
        what = model if model == driver else f"{model} of {driver}"
        some = "a device" if len(devices) == 1 else f"{len(devices)} devices"
        message = f"no device class selects {some} that the slice and others publish ({what}; {where})"
        yield Found(cluster.raw(slice_), message, "add a DeviceClass that selects them")
