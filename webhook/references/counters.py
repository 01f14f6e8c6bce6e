"""Rules about the shared counters of a pool, which stand in slices of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.formats import readable_quantity
from webhook.objects import JSONObject, items, mapping, number, text
from webhook.problem import Problem
from webhook.references.rules import Context, finding, in_place, pool_of, rule

_APART_SINCE: Final = 35
"""The release from which counter sets stand in other slices than devices, so that the API server sees no mistake."""
_GATE: Final = "DRAPartitionableDevices"


@rule("counter-not-found", "ResourceSlice")
def counter_not_found(each: JSONObject, context: Context) -> Iterator[Problem]:
    """A device consumes a counter that its pool does not have, or more than there is of it.

    From Kubernetes 1.35, counter sets and devices are in different slices of a pool, and the API server does not
    compare them. The scheduler does: one device with an unknown counter or counter set makes the whole pool invalid,
    and a device that consumes more than there is in all is never allocated. Pools with missing slices are left alone.
    """
    if context.release < _APART_SINCE or _GATE not in context.gates:
        return
    sets: dict[str, JSONObject] | None = None
    for index, device in enumerate(items(each, "spec", "devices")):
        for place, consumed in enumerate(items(device, "consumesCounters")):
            sets = _counter_sets(each, context) if sets is None else sets
            if sets is None:
                return
            path = ("spec", "devices", index, "consumesCounters", place)
            yield from _of_set(consumed, sets, path, f"pool {'/'.join(pool_of(each))}", text(device, "name"))


def _of_set(
    consumed: JSONObject, sets: dict[str, JSONObject], path: tuple[str | int, ...], pool: str, device: str
) -> Iterator[Problem]:
    name = text(consumed, "counterSet")
    if name not in sets:
        message = f'{pool} has no counter set "{name}": the pool is invalid, so none of its devices is used'
        yield finding((*path, "counterSet"), message, in_place(name, sets, "counter sets"))
        return
    for counter, wanted in mapping(consumed, "counters").items():
        counters = sets[name]
        if counter not in counters:
            message = (
                f'counter set "{name}" has no counter "{counter}": {pool} is invalid, so none of its devices is used'
            )
            near = in_place(counter, counters, "counters").hint
            yield finding((*path, "counters", counter), message, near)
            continue
        has = counters[counter]
        needed, there = (readable_quantity(str(mapping(value).get("value"))) for value in (wanted, has))
        if needed is not None and there is not None and needed > there:
            amounts = f'it consumes {wanted["value"]}, and counter set "{name}" has {has["value"]}'
            message = f'device "{device}" is never allocated: {amounts}'
            yield finding((*path, "counters", counter, "value"), message, reason="TooMany")


def _counter_sets(each: JSONObject, context: Context) -> dict[str, JSONObject] | None:
    """Return the counters of a slice's pool by set; None if not all slices of its generation are known."""
    path = ("spec", "pool")
    of_pool = context.pools.get(pool_of(each), ())
    newest = max((number(one, *path, "generation") or 0 for one in of_pool), default=0)
    current = [one for one in of_pool if (number(one, *path, "generation") or 0) == newest]
    if (number(each, *path, "generation") or 0) < newest:
        return None
    if any((number(one, *path, "resourceSliceCount") or 0) != len(current) for one in current):
        return None
    return {
        text(found, "name"): mapping(found, "counters")
        for one in current
        for found in items(one, "spec", "sharedCounters")
    }
