"""Checks a profile's names, and whether its parts fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from webhook import formats
from webhook.api.dra.names import DRIVER_NAME_MAX_BYTES, ID_MAX_BYTES
from webhook.api.versions import NEWEST
from webhook.drivers.errors import Mistake, ProfilePlace, meant
from webhook.release import Release

_Format = Callable[[str, Release], formats.Messages]

_ROOT: Final = ProfilePlace()
_ATTRIBUTES: Final = "attributes", "optional"
_CAPACITIES: Final = "capacity", "optionalCapacity"


def mistakes(value: Mapping[str, Any]) -> Iterator[Mistake]:
    """List the names that Kubernetes' API does not take, those that are listed twice, and the kinds that do not fit.

    Args:
        value: The well-formed keys of a profile, and their values.
    """
    if "driver" in value:
        yield from _misnamed(_ROOT / "driver", value["driver"], formats.driver_name, DRIVER_NAME_MAX_BYTES)
    for name in value.get("classes") or {}:
        yield from _misnamed(_ROOT / "classes" / name, str(name), formats.dns_subdomain)
    for index, name in enumerate(value.get("pluginResources") or ()):
        where = _ROOT.below(("pluginResources", index), f"pluginResources[{index}]")
        written = f"{name[:-1]}a" if str(name).endswith("*") else str(name)
        yield from _misnamed(where, written, formats.extended_resource_name)
    for name in value.get("removed") or {}:
        yield from _misnamed_in_domain(_ROOT / "removed" / name, str(name))
    kinds = value.get("devices") or {}
    for kind, devices in kinds.items():
        yield from _in_devices(_ROOT / "devices" / kind, devices)
    if kinds:
        yield from _in_classes(value.get("classes") or {}, kinds)
        yield from _in_kind_attribute(value, kinds)


def _in_devices(where: ProfilePlace, devices: Mapping[str, Any]) -> Iterator[Mistake]:
    for key in _ATTRIBUTES:
        for name in devices.get(key) or {}:
            yield from _misnamed_in_domain(where / key / name, str(name))
    seen = set[str]()
    for key in _CAPACITIES:
        for index, name in enumerate(map(str, devices.get(key) or ())):
            place = where.below((key, index), f"{key}[{index}]")
            if name in seen:
                yield place.mistake(f"{name} is listed twice")
            elif key == "capacity" or name != "*":
                yield from _misnamed_in_domain(place, name if key == "capacity" else name.removesuffix("*"))
            seen.add(name)


def _misnamed_in_domain(where: ProfilePlace, text: str) -> Iterator[Mistake]:
    """Check the name of an attribute or a capacity, with its domain if it has one."""
    domain, slash, name = text.rpartition("/")
    if slash:
        yield from _misnamed(where, domain, formats.driver_name, DRIVER_NAME_MAX_BYTES)
    yield from _misnamed(where, name, formats.c_identifier, ID_MAX_BYTES)


def _misnamed(where: ProfilePlace, name: str, form: _Format, limit: int | None = None) -> Iterator[Mistake]:
    for message in form(name, NEWEST):
        yield where.mistake(message)
    if limit is not None and len(name.encode(errors="surrogatepass")) > limit:
        yield where.mistake(f"must be no more than {limit} bytes")


def _in_classes(classes: Mapping[str, str], kinds: Mapping[str, Any]) -> Iterator[Mistake]:
    for name, kind in classes.items():
        if kind not in kinds:
            text = f"{kind} is not among the devices; {meant(kind, [*map(str, kinds)], 'kinds')}"
            yield (_ROOT / "classes" / name).mistake(text)


def _in_kind_attribute(value: Mapping[str, Any], kinds: Mapping[str, Any]) -> Iterator[Mistake]:
    attribute, where = value.get("kindAttribute"), _ROOT / "kindAttribute"
    known = {str(name) for devices in kinds.values() for key in _ATTRIBUTES for name in devices.get(key) or {}}
    if attribute and attribute not in known and not value.get("isOpen"):
        advice = f"; {meant(attribute, known, 'attributes')}" if known else ""
        yield where.mistake(f"no device has the attribute {attribute}{advice}")
    elif not attribute and len(kinds) > 1:
        yield where.mistake(f"name the attribute that tells {', '.join(map(str, kinds))} apart")
