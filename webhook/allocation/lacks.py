"""Capacity and counters of which devices have too little for a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.allocation.capacity import Take, most_allowed, most_within
from webhook.allocation.devices import amount, quantity_text
from webhook.formats import decode_quantity
from webhook.objects import JSONObject
from webhook.records import NamedTuple

_NAMED: Final = 3
"""How many of a device's capacities are named."""


class Lack(NamedTuple):
    """A capacity or counter of which too little is left.

    Args:
        text: The reason, such as ``capacity memory: a device has 10Gi, 20Gi is wanted``.
        name: The capacity or counter.
        left: The amount of it that can be had, as a quantity; empty if there is none of that name, or none is allowed.
        wanted: The amount that is wanted, or consumed.
        counter_set: The counter's set; empty for a capacity.
    """

    text: str
    name: str = ""
    left: str = ""
    wanted: str = ""
    counter_set: str = ""


def lack_of_capacity(
    capacity: Mapping[str, JSONObject],
    requests: Mapping[str, Any] | None,
    take: Take | None,
    used: Mapping[str, int] | None = None,
) -> Lack | None:
    """Return the capacity of a device that does not suffice for a request; None if all does.

    Args:
        capacity: The capacity of the device, as in the API.
        requests: The amounts that the request wants, by capacity.
        take: The capacity that the request takes of the device; None if the device has no capacity of some name.
        used: The amounts that others take, in nanos.
    """
    if take is None:
        missing = next(name for name in requests or () if name not in capacity)
        known = sorted(capacity)
        has = f": a device has {', '.join(known[:_NAMED])}{', …' if len(known) > _NAMED else ''}" if known else ""
        return Lack(f"capacity {missing} is not published{has}")
    for name, needed in take.amounts.items():
        taken = (used or {}).get(name, 0)
        free = take.limits[name] - taken
        if needed > free:
            left, wanted = quantity_text(free), quantity_text(needed)
            has = f"{left} is left" if taken else f"a device has {left}"
            text = f"capacity {name}: {has}, {wanted} is {_why(needed, (requests or {}).get(name))}"
            return Lack(text, name, most_within(capacity[name].get("requestPolicy"), free), wanted)
    for name in take.refused:
        most, wanted = most_allowed(capacity[name]["requestPolicy"]), quantity_text(take.amounts[name])
        allows = f"allows at most {most}" if most else "does not allow such a share"
        return Lack(f"capacity {name}: the device's policy {allows}, {wanted} is wanted", name, most, wanted)
    return None


def _why(needed: int, requested: Any) -> str:
    """Say why so much is needed of a capacity: it is requested, or more than that after rounding, or the default."""
    if requested is None:
        return "taken where none is requested"
    return "wanted" if needed == amount(decode_quantity(requested)) else f"wanted: {requested}, rounded up"
