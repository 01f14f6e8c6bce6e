"""Makes profiles from published ResourceSlices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from webhook.objects import JSONObject

Selected = tuple[str, JSONObject]

"""A device, after its driver."""

_KIND: Final = "type"
"""The attribute by which drivers distinguish several kinds of devices."""


def published(
    slices: Iterable[JSONObject], classes: Mapping[str, Iterable[Selected]] | None = None
) -> list[JSONObject]:
    """Write a profile for each driver.

    Args:
        slices: ResourceSlices of v1.
        classes: The devices that each device class selects.
    """
    devices: dict[str, list[JSONObject]] = {}
    for each in slices:
        spec = each.get("spec") or {}
        if isinstance(driver := spec.get("driver"), str):
            devices.setdefault(driver, []).extend(spec.get("devices") or ())
    of_class = {
        name: {(driver, _kind_of(driver, each)) for driver, each in found} for name, found in (classes or {}).items()
    }
    return [_profile(driver, found, of_class) for driver, found in sorted(devices.items()) if found]


def _kind_of(driver: str, device: JSONObject) -> str:
    return str(_attributes(driver, device).get(_KIND, {}).get("string") or "device")


def _profile(driver: str, devices: list[JSONObject], of_class: Mapping[str, set[tuple[str, str]]]) -> JSONObject:
    kinds: dict[str, list[JSONObject]] = {}
    for device in devices:
        kinds.setdefault(_kind_of(driver, device), []).append(device)
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
