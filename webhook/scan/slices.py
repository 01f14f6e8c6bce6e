"""Rules about what drivers publish: hardware that is published twice, slices that no node uses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from webhook.allocation.devices import Device, Slice
from webhook.deviceselectors.fleet import model_of
from webhook.hints.names import listed
from webhook.inventory.affinity import required, selects
from webhook.objects import items, mapping, name_of, text
from webhook.problem import NOTE
from webhook.records import NamedTuple
from webhook.scan.rules import Found, command, rule
from webhook.scan.stored import Cluster

_GLOBAL: Final = frozenset({"uuid", "serial", "serialnumber"})
"""The attributes, in lower case, that tell one piece of hardware from all others."""
_LOCAL: Final = frozenset({"pcibusid", "pciaddress", "pciaddr", "deviceid"})
"""Those that tell it from others of its node."""
_VAGUE: Final = "deviceid"
"""The name that some drivers give to the number of a model."""
_ADDRESS: Final = re.compile("^[^:]*:[^:]*:[^:]*$")
"""How PCI addresses look, such as ``0000:17:00.0``."""
_PARENT: Final = "parent"
"""How attributes begin that name the hardware of which a device is a part."""


class Piece(NamedTuple):
    """A device, as one of those that are on a piece of hardware.

    Args:
        name: The attribute that tells.
        is_part: Whether it is a part of the hardware.
    """

    device: Device
    name: str
    is_part: bool


@rule("hardware-twice")
def hardware_twice(cluster: Cluster) -> Iterator[Found]:
    """One piece of hardware is published as two devices, and both can be allocated at a time.

    Two devices have the same uuid, serial number or PCI address, or one is a part of the other. Only counters that both
    consume keep them from being allocated to different claims. It happens where two drivers see the same hardware, and
    where a driver publishes a device and its partitions without counters.
    """
    said: set[tuple[str, str]] = set()
    for value, pieces in _by_hardware(cluster).items():
        whole = [each for each in pieces if not each.is_part]
        for first in whole[:1]:
            others = [each for each in (*whole[1:], *(one for one in pieces if one.is_part)) if _clash(first, each)]
            for other in others[:1]:
                key = first.device.slice.name, other.device.slice.name
                if key in said:
                    continue
                said.add(key)
                what = "is a part of the same hardware as" if other.is_part else "is the same hardware as"
                where = f"slice {first.device.slice.name}"
                message = (
                    f"device {other.device.name} {what} device {first.device.name} of {where}: both have "
                    f"{other.name} {value[-1]}, and no shared counter keeps them from being allocated twice"
                )
                hint = "publish each piece of hardware once, or let both devices consume the same counters"
                slice_ = other.device.slice
                yield Found(cluster.raw(slice_), message, hint, ("spec", "devices", slice_.devices.index(other.device)))


def _by_hardware(cluster: Cluster) -> dict[tuple[str, ...], list[Piece]]:
    """Group devices by what tells their hardware from other hardware; only groups of several are returned."""
    found: dict[tuple[str, ...], list[Piece]] = defaultdict(list)
    nodes = {name for _, name in cluster.inventory.names("Node")}
    for slices in cluster.catalog.current.values():
        for each in slices:
            if each.node_name and nodes and each.node_name not in nodes:
                continue
            for device in each.devices:
                seen = set()
                for name, attribute in device.content.attributes.items():
                    value, bare = attribute.get("string"), name.rpartition("/")[2].lower()
                    if isinstance(value, str) and value and (key := _hardware(bare, value, device)) and key not in seen:
                        seen.add(key)
                        found[key].append(Piece(device, name, bare.startswith(_PARENT)))
    return {key: pieces for key, pieces in found.items() if len(pieces) > 1}


def _hardware(name: str, value: str, device: Device) -> tuple[str, ...]:
    """Return the identity of a device's hardware that an attribute states, such as its UUID; empty if none."""
    own = name.removeprefix(_PARENT)
    if own in _GLOBAL:
        return "uuid", value
    node = device.node_name
    if own not in _LOCAL or not node or (own == _VAGUE and not _ADDRESS.search(value)):
        return ()
    return "pci", node, value.lower()


def _clash(first: Piece, other: Piece) -> bool:
    """Tell whether two devices of one piece of hardware can be allocated at a time."""
    one, two = first.device, other.device
    if one is two or (one.name == two.name and one.slice.id == two.slice.id):
        return False
    is_counted = one.slice.id == two.slice.id and {key[0] for key in one.content.consumes} & {
        key[0] for key in two.content.consumes
    }
    parents = [_parent(each.content.attributes) for each in (one, two)]
    are_siblings = parents[0] and parents[0] == parents[1]
    return not is_counted and not are_siblings


def _parent(attributes: object) -> str:
    """Return the hardware of which a device is a part; empty if it is whole."""
    known = mapping({"of": attributes}, "of")
    return next(
        (text(each, "string") for name, each in known.items() if name.rpartition("/")[2].lower().startswith(_PARENT)),
        "",
    )


@rule("slice-without-node")
def slice_without_node(cluster: Cluster) -> Iterator[Found]:
    """A slice, or a device of it, is for nodes that do not exist, so that it cannot be used.

    The nodes were removed or relabelled, or the driver that publishes for them was misconfigured.
    """
    nodes = cluster.all("Node")
    known: dict[str, bool] = {}
    names = {name_of(node) for node in nodes}
    for each in cluster.inventory.all("ResourceSlice") if nodes else ():
        for index, device in enumerate(items(each, "spec", "devices")):
            if (home := text(device, "nodeName")) and home not in names:
                message = f'device {text(device, "name")} is for node "{home}", which does not exist'
                yield Found(each, message, "", ("spec", "devices", index, "nodeName"))
                break
        selector = mapping(each, "spec", "nodeSelector")
        wanted = required(selector)
        if not selector or known.setdefault(wanted, any(selects(selector, node) for node in nodes)):
            continue
        message = f"no node matches the slice's nodeSelector ({wanted}), so its devices cannot be used"
        hint = f"label the nodes, or {command(cluster, 'delete', each)} if they are gone"
        yield Found(each, message, hint, ("spec", "nodeSelector"))


@rule("devices-stranded", NOTE)
def devices_stranded(cluster: Cluster) -> Iterator[Found]:
    """No device class selects a device, so that no claim can request it.

    A class of the driver is missing, or was made for other models. Devices that nobody is to use need none.
    """
    fleet = cluster.context.fleet
    if fleet is None or not cluster.all("DeviceClass"):
        return
    selected: set[int] = set()
    for each in cluster.all("DeviceClass"):
        result = fleet.sorted_out(items(each, "spec", "selectors"), ())
        for group in (*result.taken, *(group for group, _ in result.failing)):
            selected.update(content.index for content in group.contents)
    left: dict[tuple[str, str], list[tuple[Slice, Device]]] = defaultdict(list)
    for slices in cluster.catalog.current.values():
        for one in slices:
            for device in one.devices:
                if device.content.index not in selected:
                    left[one.driver, model_of(device.content)].append((one, device))
    for (driver, model), devices in left.items():
        slice_ = devices[0][0]
        where = listed(one.node_name or one.name for one, _ in devices)
        what = model if model == driver else f"{model} of {driver}"
        some = "a device" if len(devices) == 1 else f"{len(devices)} devices"
        message = f"no device class selects {some} that the slice and others publish ({what}; {where})"
        yield Found(cluster.raw(slice_), message, "add a DeviceClass that selects them")
