"""Rules about the names and the units of the capacities that requests ask for."""

from __future__ import annotations

from webhook.formats.quantities import DECIMAL_SI, decode_quantity, parse_quantity
from webhook.inventory import CLAIMS
from webhook.objects import items, mapping, text
from webhook.patterns import Pattern
from webhook.problem import Advice, Fix
from webhook.references.requests import class_of, drivers_of, requests_of
from webhook.references.rules import finding, instead, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from webhook.drivers import Profile
    from webhook.formats.quantities import Quantity
    from webhook.objects import JSONObject
    from webhook.problem import Problem
    from webhook.references.rules import Context


@rule("capacity-not-of-driver", *CLAIMS, of_field=True)
def capacity_not_of_driver(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a capacity that the driver of its class does not publish.

    A device without the capacity is skipped, so the pod stays pending. `draguard driver show NAME` prints the known
    capacities of a driver, and their source. If your version of the driver publishes others, pass its profile with
    --driver-profile.
    """
    if context.fleet is not None:
        return  # the published devices tell more
    for request in requests_of(claim):
        wanted = mapping(request.content, "capacity", "requests")
        class_name = text(request.content, "deviceClassName")
        profile = _profile(class_name, context) if wanted else None
        if profile is None or profile.is_example or profile.is_open:
            continue
        kind = profile.classes.get(class_name, "")
        devices = [profile.devices[kind]] if kind in profile.devices else [*profile.devices.values()]
        names = sorted({name for each in devices for name in each.capacity | each.optional_capacity})
        for name in wanted:
            own = name.removeprefix(f"{profile.driver}/")
            if devices and not any(each.has_capacity(own) for each in devices):
                message = f'devices of driver "{profile.driver}" have no capacity "{name}"'
                hint = instead(own, names, "capacities")
                yield finding((*request.path, "capacity", "requests", name), message, hint)


@rule("amount-without-unit", *CLAIMS, of_field=True)
def amount_without_unit(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a plain number of a capacity, where a unit such as Gi is probably missing.

    Each device of the class has more than a million times as much. Where no devices are known, the capacity is called
    memory, which is counted in bytes, and the number is less than a million.
    """
    for request in requests_of(claim):
        for name, written in mapping(request.content, "capacity", "requests").items():
            if not (plain := _PLAIN.fullmatch(str(written))):
                continue
            path, number = (*request.path, "capacity", "requests", name), plain[1]
            asks = f'request "{request.name}" asks for {written}'
            published = _amounts(request.content, name, context)
            if published and min(published) >= parse_quantity(f"{number}Mi"):
                most = max(published)
                units = (unit.rstrip("i") if most.notation == DECIMAL_SI else unit for unit in _UNITS)
                meant = next(each for unit in units if parse_quantity(each := f"{number}{unit}") <= most)
                advice = Advice(f'did you mean "{meant}"?', Fix("replace", meant, safe=False))
                message = f"{asks}, and each device of the class has {min(published)} or more"
                yield finding(path, message, advice, "NoUnit")
            elif published is None and name.rpartition("/")[2] == "memory" and parse_quantity(number) < _LEAST:
                yield finding(path, f"{asks} bytes of memory", f"write a unit, too, as in {number}Gi", "NoUnit")


_PLAIN: Final = Pattern("([1-9][0-9]{0,17})m?")
"""Matches a number without a unit of bytes."""
_UNITS: Final = ("Pi", "Ti", "Gi", "Mi")
_LEAST: Final = parse_quantity("1M")
"""A smaller amount of memory is a slip."""


def _amounts(request: JSONObject, name: str, context: Context) -> list[Quantity] | None:
    """Return the amounts of a capacity that devices of a request's class publish; None if no devices are known."""
    fleet, device_class = context.fleet, class_of(request, context)
    contents = fleet.of_class(items(device_class, "spec", "selectors")) if fleet and device_class else ()
    if not contents:
        return None
    return [decode_quantity(each.capacity[name]["value"]) for each in contents if name in each.capacity]


def _profile(class_name: str, context: Context) -> Profile | None:
    """Return the profile of the driver whose devices a class selects; None if that is unclear."""
    selectors = items(context.inventory.find("DeviceClass", class_name), "spec", "selectors")
    known = drivers_of(selectors, context) or {context.driver_of_class(class_name)}
    return context.profile(min(known)) if len(known) == 1 else None
