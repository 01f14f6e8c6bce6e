"""Rules about the names and the units of the capacities that requests ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from webhook import formats
from webhook.allocation.capacity import take
from webhook.allocation.devices import amount
from webhook.formats.quantities import DECIMAL_SI, decode_quantity, parse_quantity
from webhook.hints.names import instead, renamed
from webhook.inventory import CLAIMS
from webhook.objects import JSONObject, mapping
from webhook.patterns import Pattern
from webhook.problem import Problem
from webhook.references.rules import Context, contents_of_class, drivers_of, finding, rule


@rule(*CLAIMS, without_devices=True, of_field=True)
def capacity_not_of_driver(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a capacity that the driver of its class does not publish, or that no driver can publish.

    The API server takes any name. A device without the capacity is skipped, so the pod stays pending. `draguard driver
    show NAME` prints the known capacities of a driver, and their source. If your version of the driver publishes
    others, pass its profile with --driver-profile.
    """
    for request in (each for each in context.requests(claim) if each.capacity):
        drivers = drivers_of(request.of_class, context) or {context.driver_of_class(request.class_name)}
        profile = context.profile_of_one(drivers)
        devices = profile.devices_of(request.class_name) if profile and not profile.is_open else ()
        names = sorted({name for each in devices for name in each.names("capacity")})
        for name in request.capacity:
            path = (*request.path, "capacity", "requests", name)
            own = name.removeprefix(f"{profile.driver}/") if profile else name
            if faults := formats.c_identifier(own.rpartition("/")[2], context.release):
                yield finding(path, f'no driver can publish the capacity "{name}": {faults[0]}', reason="Impossible")
            elif profile and devices and not any(each.has("capacity", own) for each in devices):
                message = f'devices of driver "{profile.driver}" have no capacity "{name}"'
                yield finding(path, message, instead(own, names, "capacities"))


@rule(*CLAIMS, of_field=True)
def negative_amount(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a negative amount of a capacity, as if it gave the device something.

    The API server accepts it. The scheduler counts it, so that others may get more of a shared device than there is;
    a device whose request policy has a least amount gives that.
    """
    for request in context.requests(claim):
        for name, written in request.capacity.items():
            if _NEGATIVE.match(str(written)):
                message = f'request "{request.name}" asks for a negative amount, {written}'
                yield finding((*request.path, "capacity", "requests", name), message, reason="Negative")


_NEGATIVE: Final = Pattern(r"-[0.]*[1-9]")
"""Matches the beginning of a negative number."""


@rule(*CLAIMS, of_field=True)
def amount_without_unit(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a plain number of a capacity, where a unit such as Gi is probably missing.

    Each device of the class has more than a million times as much, and no device's request policy admits the number.
    Where no devices are known, the capacity is called memory, which is counted in bytes, and the number is less than a
    million.
    """
    for request in context.requests(claim):
        for name, written in request.capacity.items():
            if not (plain := _PLAIN.fullmatch(str(written))):
                continue
            number, unit = plain.groups()
            path, asks = (*request.path, "capacity", "requests", name), f'request "{request.name}" asks for'
            contents = contents_of_class(request, context)
            published = [each.capacity[name] for each in contents if name in each.capacity] if contents else None
            if published and (meant := with_unit(str(written), published)):
                yield finding(path, f"{asks} {written}{more_than_enough(published)}", renamed(meant), "NoUnit")
            elif published is None and name.rpartition("/")[2] == "memory" and parse_quantity(str(written)) < _LEAST:
                meant = "Gi" if len(number) <= _DIGITS_OF_GIBI else "Mi"
                what, hint = f"{number} bytes of memory", f"write a unit, too, as in {number}{meant}"
                if unit:
                    what = f"thousandths of a byte of memory: {number}{unit}"
                    hint = "millions of bytes are M or Mi"
                yield finding(path, f"{asks} {what}", hint, "NoUnit")


_PLAIN: Final = Pattern("([1-9][0-9]{0,17})(m?)")
"""Matches a number without a unit of bytes."""
_UNITS: Final = {"": ("Pi", "Ti", "Gi", "Mi"), "m": ("Mi",)}
"""The units that may be meant, the largest first, by the suffix that is written."""
_LEAST: Final = parse_quantity("1M")
"""An amount of memory below this is a mistake."""
_DIGITS_OF_GIBI: Final = 3
"""A number of so many digits, or fewer, probably means Gi."""


def more_than_enough(published: Sequence[JSONObject]) -> str:
    """Say how much of a capacity each device has."""
    return f", and each device of the class has {min(decode_quantity(each['value']) for each in published)} or more"


def with_unit(written: str, published: Sequence[JSONObject]) -> str:
    """Return an amount with the largest unit that a device allows; empty if what is written may be meant.

    Args:
        published: The capacity of each device.
    """
    if not (plain := _PLAIN.fullmatch(written)):
        return ""
    number, unit = plain.groups()
    amounts = [decode_quantity(each["value"]) for each in published]
    if min(amounts) < parse_quantity(f"{number}Mi") or any(_admits(each, written) for each in published):
        return ""
    is_decimal = max(amounts).notation == DECIMAL_SI
    possible = (f"{number}{each.rstrip('i') if is_decimal else each}" for each in _UNITS[unit])
    return next((each for each in possible if any(_taken(capacity, each) for capacity in published)), "")


def _admits(capacity: JSONObject, wanted: str) -> bool:
    """Tell whether the request policy of a capacity states an amount: as the default, a valid value or in its range."""
    policy, quantity = mapping(capacity, "requestPolicy"), parse_quantity(wanted)
    is_bound = bool(policy.get("validValues") or policy.get("validRange"))
    is_default = decode_quantity(policy.get("default")) == quantity
    return (is_bound or is_default) and _taken(capacity, wanted) == amount(quantity)


def _taken(capacity: JSONObject, wanted: str) -> int:
    """Return how much of a capacity a request takes, in nanos; zero if its policy or its size does not allow it."""
    taken = take({"": capacity}, {"": wanted}, fractions=True)
    return taken.amounts[""] if taken and taken.is_allowed else 0
