"""``draguard driver``: profiles of drivers, known ones and those derived from a cluster."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from webhook.allocation.devices import Catalog
from webhook.api.gates import enabled
from webhook.api.versions import DEFAULT
from webhook.check.cluster import read_cluster
from webhook.cli.console import show_refusals, tell
from webhook.deviceselectors.fleet import Fleet
from webhook.documents.dump import dump
from webhook.drivers import built_in, profile_of, text_of
from webhook.drivers.files import UnusableProfilesError, read_profiles
from webhook.findings import UNREAD
from webhook.grouping import by_key
from webhook.objects import JSONObject, items, name_of, text
from webhook.report.model import Report
from webhook.report.text import counted
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.cluster.live import Server

_KIND: Final = "type"
"""The attribute by which drivers distinguish several kinds of devices."""


def _kind_of(driver: str, device: JSONObject) -> str:
    return str(_attributes(driver, device).get(_KIND, {}).get("string") or "device")


def _profile(driver: str, devices: list[JSONObject], of_class: Mapping[str, set[tuple[str, str]]]) -> JSONObject:
    kinds = by_key((_kind_of(driver, device), device) for device in devices)
    profile: JSONObject = {"driver": driver, "source": f"what {len(devices)} devices of a cluster have"}
    # A class of several kinds says nothing about a device.
    alone = {name: next(iter(pairs)) for name, pairs in sorted(of_class.items()) if len(pairs) == 1}
    if classes := {name: kind for name, (whose, kind) in alone.items() if whose == driver}:
        profile["classes"] = classes
    if len(kinds) > 1:
        profile["kindAttribute"] = _KIND
    profile["devices"] = {kind: _kind(driver, found) for kind, found in sorted(kinds.items())}
    return profile


def _kind(driver: str, devices: list[JSONObject]) -> JSONObject:
    types: dict[str, str] = {}
    counts, capacities = Counter[str](), Counter[str]()
    for device in devices:
        for name, value in _attributes(driver, device).items():
            counts[name] += 1
            types.setdefault(name, next(iter(value), "string").removesuffix("s"))
        capacities.update(_names(driver, device.get("capacity") or {}))
    all_ = len(devices)
    kind: JSONObject = {
        "attributes": {name: types[name] for name in sorted(types) if counts[name] == all_},
        "optional": {name: types[name] for name in sorted(types) if counts[name] < all_},
        "capacity": sorted(name for name, count in capacities.items() if count == all_),
        "optionalCapacity": sorted(name for name, count in capacities.items() if count < all_),
    }
    return {name: value for name, value in kind.items() if value}


def _attributes(driver: str, device: JSONObject) -> dict[str, JSONObject]:
    stated = device.get("attributes") or {}
    return dict(zip(_names(driver, stated), stated.values(), strict=True))


def _names(driver: str, stated: JSONObject) -> list[str]:
    """Return the names as profiles have them: without the driver's own domain."""
    return [name.removeprefix(f"{driver}/") for name in stated]


_CLASS: Final = "DeviceClass"
_SLICE: Final = "ResourceSlice"


def run(arguments: Namespace) -> int:
    """Run the action."""
    if arguments.action == "show":
        return _show(arguments.name)
    if arguments.action == "check":
        return _check(arguments.paths)
    return _from_cluster([*arguments.paths, *arguments.cluster])


def _show(name: str | None) -> int:
    if name is None:
        width = max(map(len, built_in()))
        for each in built_in():
            profile = profile_of(each)
            print(f"{each:{width}}  {profile.about if profile else ''}")
        return 0
    if name not in built_in():
        hint = did_you_mean(name, built_in(), "`draguard driver show` lists the known drivers")
        raise UsageError(f"unknown driver {name}; {hint}")
    sys.stdout.write(text_of(name))
    return 0


def _check(files: list[str]) -> int:
    try:
        profiles = read_profiles(files)
    except UnusableProfilesError as error:
        tell(*(line for each in error.mistakes for line in each.split("\n")))  # a fault in CEL has several
        return UNREAD if error.is_unread else 1
    for profile in profiles.values():
        attributes = sum(len(each.attributes) + len(each.optional) for each in profile.devices.values())
        capacities = sum(len(each.capacity) + len(each.optional_capacity) for each in profile.devices.values())
        taken = sorted((profile.parameters or {}).get("kinds", ())) or [
            "not described" if profile.parameters is None else "described"
        ]
        kinds = ", ".join(profile.devices) or "none"
        amounts = f"{counted(attributes, 'attribute')}, {capacities} {'capacity' if capacities == 1 else 'capacities'}"
        print(f"{profile.driver}: kinds of devices: {kinds}; {amounts}; parameters: {', '.join(taken)}")
    return 0


def _from_cluster(sources: list[str | Server]) -> int:
    if not sources:
        raise UsageError("no cluster is given: give --live, --context, or files with what `draguard snapshot` collects")
    report = Report()
    inventory = read_cluster(sources, report, (_CLASS, _SLICE), tell=tell)
    if code := show_refusals(report):
        return code
    slices = inventory.all(_SLICE)
    devices = by_key(
        (text(each, "spec", "driver"), device) for each in slices for device in items(each, "spec", "devices")
    )
    fleet = Fleet(Catalog(slices), DEFAULT, enabled(DEFAULT))
    kinds = {  # of the devices that each class selects
        name_of(each): {
            (device.driver, _kind_of(device.driver, {"attributes": device.attributes}))
            for device in fleet.of_class(items(each, "spec", "selectors"))
        }
        for each in inventory.all(_CLASS)
    }
    profiles = [_profile(driver, found, kinds) for driver, found in sorted(devices.items()) if driver]
    if not profiles:
        raise UsageError("no ResourceSlices found; `draguard snapshot` prints what to collect")
    sys.stdout.write(dump(profiles))
    return 0
