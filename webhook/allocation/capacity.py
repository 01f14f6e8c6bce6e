"""The capacity that a request takes of a device.

Follows upstream's ``consumable_capacity.go``. Amounts are in nanos.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from webhook.allocation.devices import amount, quantity_text
from webhook.formats.quantities import BINARY_SI, Quantity, decode_quantity, parse_quantity, whole_quantity
from webhook.objects import JSONObject
from webhook.spelling import some_of

Amounts = dict[str, int]
"""An amount by capacity, in nanos."""
_NANOS_IN_THOUSANDTH: Final = 10**6
_THOUSAND: Final = 1000
_MOST_THOUSANDTHS: Final = 2**63 - 1


class Take(NamedTuple):
    """The capacity that a request takes of a device.

    Args:
        amounts: The amount of each capacity, after rounding.
        limits: The total of each capacity.
        texts: The same amounts, as they are written into the allocation.
        is_allowed: Whether the device's policies allow it, and it fits while nothing else is taken.
        refused: The capacities whose policies do not allow it.
    """

    amounts: Amounts
    limits: Amounts
    texts: Mapping[str, str]
    is_allowed: bool
    refused: tuple[str, ...] = ()

    def fits(self, *used: Mapping[str, int] | None) -> bool:
        """Tell whether a device allows it, and has so much left beside the amounts that are used."""
        taken = [each for each in used if each]
        return self.is_allowed and all(
            amount + sum(each.get(name, 0) for each in taken) <= self.limits[name]
            for name, amount in (self.amounts.items() if taken else ())
        )


def take(
    capacity: Mapping[str, JSONObject], requests: Mapping[str, Any] | None, *, fractions: bool = False
) -> Take | None:
    """Return the capacity that a request takes of a device, None if it wants a capacity that the device does not have.

    Args:
        capacity: The capacity of the device, as in the API.
        requests: The amounts that the request wants, by capacity.
        fractions: Whether amounts are rounded to fractions, where the device's range has some.

    Raises:
        ValueError: A quantity is malformed.
    """
    wanted = requests or {}
    if any(name not in capacity for name in wanted):
        return None
    amounts: Amounts = {}
    limits: Amounts = {}
    texts: dict[str, str] = {}
    is_allowed = True
    refused: list[str] = []
    for name, each in capacity.items():
        total = decode_quantity(each.get("value"))
        policy = each.get("requestPolicy") or {}
        taken = _taken(decode_quantity(wanted[name]) if name in wanted else None, total, policy, fractions=fractions)
        amounts[name], limits[name], texts[name] = amount(taken), amount(total), str(taken)
        is_allowed = is_allowed and amounts[name] <= limits[name]
        if _violates(taken, policy, fractions=fractions):
            refused.append(name)
    return Take(amounts, limits, texts, is_allowed and not refused, tuple(refused))


def as_published(requests: Mapping[str, Any], capacity: Mapping[str, JSONObject], driver: str) -> dict[str, Any]:
    """Return the amounts that a request wants under the names by which a driver publishes capacity.

    From Kubernetes 1.38 on, a name without a domain means one of the driver's domain.

    Args:
        requests: The amounts, by capacity.

    Raises:
        ValueError: A capacity is requested by both of its names.
    """
    found: dict[str, Any] = {}
    for name, wanted in requests.items():
        short = name.removeprefix(f"{driver}/")
        full = short if "/" in short else f"{driver}/{short}"
        published = next((each for each in (full, short) if each in capacity), name)
        if published in found:
            raise ValueError(f"capacity {short} is requested with and without the domain of the driver")
        found[published] = wanted
    return found


def most_within(policy: JSONObject, free: int) -> str:
    """Return the largest share of the free capacity that a policy allows, as a quantity; empty if it allows no share.

    Args:
        policy: The policy of the capacity; empty without one.
        free: The free amount, in nanos.
    """
    bounds, values = policy.get("validRange") or {}, policy.get("validValues") or ()
    if values:
        allowed = [each for value in values if (each := amount(decode_quantity(value))) <= free]
        return quantity_text(max(allowed)) if allowed else ""
    least, most, step = (amount(decode_quantity(bounds.get(each))) for each in ("min", "max", "step"))
    top = min(free, most) if most else free
    if top < least:
        return ""
    return quantity_text(top - (top - least) % step if step else top)


def _taken(wanted: Quantity | None, total: Quantity, policy: JSONObject, *, fractions: bool) -> Quantity:
    if wanted is None:
        return total if policy.get("default") is None else decode_quantity(policy["default"])
    bounds, values = policy.get("validRange") or {}, policy.get("validValues") or ()
    if bounds.get("min") is None:
        return next((value for each in values if wanted <= (value := decode_quantity(each))), wanted)
    least = decode_quantity(bounds["min"])
    if wanted < least:
        return least
    if fractions and _has_fractions(bounds):
        start, size = _thousandths(bounds["min"]), _thousandths(bounds["step"])
        return parse_quantity(f"{start - (start - _thousandths(str(wanted))) // size * size}m")
    step = decode_quantity(bounds.get("step")).value()
    if not step:
        return wanted
    steps = -((least.value() - wanted.value()) // step)
    return whole_quantity(least.value() + step * steps).noted(BINARY_SI)


def _has_fractions(bounds: JSONObject) -> bool:
    """Tell whether the steps of a range are fractions for which thousandths are enough (``useMilli``)."""
    if bounds.get("step") is None or _thousandths(bounds["step"]) < 1:
        return False
    amounts = [_thousandths(bounds[name]) for name in ("min", "max", "step") if bounds.get(name) is not None]
    return max(amounts) <= _MOST_THOUSANDTHS and any(each % _THOUSAND for each in amounts)


def _thousandths(value: Any) -> int:
    return -(-amount(decode_quantity(value)) // _NANOS_IN_THOUSANDTH)


def _violates(taken: Quantity, policy: JSONObject, *, fractions: bool) -> bool:
    """Tell whether a policy does not allow an amount; it always allows its default.

    Go's ``==`` compares the fields of quantities, the spelling among them, not numbers.
    """
    if policy.get("default") is not None:
        default = decode_quantity(policy["default"])
        one, other = ((each.scale, each.notation, each.spelled) for each in (taken, default))
        if taken.scale is not None and one == other and taken == default:
            return False
    bounds, values = policy.get("validRange"), policy.get("validValues")
    if bounds is None:
        return bool(values) and all(decode_quantity(each) != taken for each in values or ())
    if bounds.get("max") is not None and taken > decode_quantity(bounds["max"]):
        return True
    if fractions and _has_fractions(bounds):
        return (_thousandths(str(taken)) - _thousandths(bounds.get("min"))) % _thousandths(bounds["step"]) != 0
    step = decode_quantity(bounds.get("step")).value()
    least = decode_quantity(bounds.get("min")).value()
    return bool(step) and (taken.value() - least) % step != 0


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
        take: The capacity that the request takes of the device; None if the device has no capacity of some name.
        used: The amounts that others take, in nanos.
    """
    if take is None:
        missing = next(name for name in requests or () if name not in capacity)
        has = f", only {', '.join(some_of(sorted(capacity), 3, '…'))}" if capacity else ""
        return Lack(f"capacity {missing} is not published{has}")
    for name in take.refused:  # whatever others take, it is never allowed
        policy, wanted = capacity[name]["requestPolicy"], quantity_text(take.amounts[name])
        bounds, values = policy.get("validRange") or {}, policy.get("validValues") or ()
        most = str(bounds.get("max") or max(values, key=lambda each: amount(decode_quantity(each)), default=""))
        allows = f"allows at most {most}" if most else "does not allow such a share"
        left = most_within(policy, take.limits[name] - (used or {}).get(name, 0))
        return Lack(f"capacity {name}: the device's policy {allows}, {wanted} is wanted", name, left, wanted)
    for name, needed in take.amounts.items():
        taken = (used or {}).get(name, 0)
        free = take.limits[name] - taken
        if needed > free:
            left, wanted = quantity_text(free), quantity_text(needed)
            has = f"{left} of {quantity_text(take.limits[name])} is left" if taken else f"a device has {left}"
            why, requested = "wanted", (requests or {}).get(name)
            if requested is None:
                why = "taken where none is requested"
            elif needed != amount(decode_quantity(requested)):
                why = f"wanted: {requested}, rounded up"
            text = f"capacity {name}: {has}, {wanted} is {why}"
            return Lack(text, name, most_within(capacity[name].get("requestPolicy") or {}, free), wanted)
    return None
