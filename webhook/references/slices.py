"""Rules about ResourceSlices of one pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.allocation.features import POOLS_WHOLE_SINCE
from webhook.api.dra.names import STANDARD_ATTRIBUTES, STANDARD_DOMAIN
from webhook.formats.quantities import readable_quantity
from webhook.grouping import by_key
from webhook.hints.names import in_place, listed, renamed
from webhook.objects import JSONObject, items, mapping, name_of, number, placed, text
from webhook.problem import NOTE, Problem, Steps
from webhook.references.rules import Context, finding, pool_of, rule
from webhook.spelling import certain

_APART_SINCE: Final = 35
"""The release from which counter sets stand in other slices than devices, so that the API server sees no mistake."""
_GATE: Final = "DRAPartitionableDevices"


@rule("ResourceSlice")
def counter_not_found(each: JSONObject, context: Context) -> Iterator[Problem]:
    """A device consumes a counter that its pool does not have, or more than there is of it.

    From Kubernetes 1.35, counter sets and devices are in different slices of a pool, and the API server does not
    compare them. The scheduler does: one device with an unknown counter or counter set makes the whole pool invalid,
    and a device that consumes more than there is in all is never allocated. Pools with missing slices are left alone.
    """
    if context.release < _APART_SINCE or _GATE not in context.gates:
        return
    sets: dict[str, JSONObject] | None = None
    for path, device in placed(each, "spec", "devices"):
        for steps, consumed in placed(device, "consumesCounters"):
            sets = _counter_sets(each, context) if sets is None else sets
            if sets is None:
                return
            pool = f"pool {'/'.join(pool_of(each))}"
            yield from _of_set(consumed, sets, (*path, *steps), pool, text(device, "name"))


def _of_set(
    consumed: JSONObject, sets: dict[str, JSONObject], path: Steps, pool: str, device: str
) -> Iterator[Problem]:
    name = text(consumed, "counterSet")
    if name not in sets:
        message = f'{pool} has no counter set "{name}": the pool is invalid, so none of its devices is used'
        yield finding((*path, "counterSet"), message, in_place(name, sets, "counter sets"))
        return
    counters = sets[name]
    for counter, wanted in mapping(consumed, "counters").items():
        if counter not in counters:
            invalid = f"{pool} is invalid, so none of its devices is used"
            near = in_place(counter, counters, "counters").hint
            message = f'counter set "{name}" has no counter "{counter}": {invalid}'
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
    newest, current = _newest(each, context)
    counts = {_of_pool(one, "resourceSliceCount") for one in current}
    if _of_pool(each, "generation") < newest or counts - {len(current)}:
        return None
    sets = (found for one in current for found in items(one, "spec", "sharedCounters"))
    return {text(found, "name"): mapping(found, "counters") for found in sets}


_DOMAINS_COUNT_SINCE: Final = 38
"""From this release on, names with the driver's domain come first, and its helper library refuses them."""


def _of_pool(each: JSONObject, field: str) -> int:
    return number(each, "spec", "pool", field) or 0


def _newest(each: JSONObject, context: Context) -> tuple[int, list[JSONObject]]:
    """Return the newest generation of a slice's pool, and its slices of that generation."""
    pool = context.pools.get(pool_of(each), ())
    by_generation = by_key((_of_pool(one, "generation"), one) for one in pool)
    newest = max(by_generation, default=0)
    return newest, by_generation.get(newest, [])


@rule("ResourceSlice")
def pool_contradiction(each: JSONObject, context: Context) -> Iterator[Problem]:
    """Slices of one pool contradict each other: in their number, in a device's name, or in generation.

    A pool is complete once there are as many slices of its newest generation as resourceSliceCount says; until then,
    the scheduler does not use it; before Kubernetes 1.35, only requests for all devices fail. A device that is
    published twice makes the whole pool invalid. Slices of an earlier generation are ignored.
    """
    path, pool = ("spec", "pool"), "/".join(pool_of(each))
    (newest, current), own = _newest(each, context), _of_pool(each, "generation")
    if own < newest:
        message = f"pool {pool} has slices of generation {newest}: this one, of generation {own}, is ignored"
        yield finding((*path, "generation"), message, "state the newest generation, or delete the slice", "Obsolete")
        return
    counts, own = {_of_pool(one, "resourceSliceCount") for one in current}, _of_pool(each, "resourceSliceCount")
    if len(counts) > 1:
        message = f"the slices of pool {pool} disagree on resourceSliceCount: {listed(map(str, sorted(counts)))}"
        yield finding((*path, "resourceSliceCount"), message, "all slices of a pool state the same", "Contradiction")
    elif own != len(current) and context.knows_all_slices:
        message = f"pool {pool} has resourceSliceCount {own}, but {len(current)} slice{'s' * (len(current) != 1)}"
        hint = f"state {len(current)} in each of them"
        if own > len(current):
            is_unused = context.release >= POOLS_WHOLE_SINCE
            why = "the scheduler uses no device of" if is_unused else "requests for all devices fail because of"
            hint = f"add the missing slices, or {hint}: {why} an incomplete pool"
        yield finding((*path, "resourceSliceCount"), message, hint, "Incomplete")
    others = [one for one in current if name_of(one) != name_of(each)]
    elsewhere = {text(device, "name"): name_of(one) for one in others for device in items(one, "spec", "devices")}
    for place, device in placed(each, "spec", "devices"):
        if other := elsewhere.get(text(device, "name")):
            message = f'device "{text(device, "name")}" of pool {pool} is in slice {other}, too: the pool is invalid'
            hint = "give each device of a pool a name of its own"
            yield finding((*place, "name"), message, hint, "Contradiction")


@rule("ResourceSlice")
def node_selector_terms(each: JSONObject, _: Context) -> Iterator[Problem]:
    """A node selector of a slice or device has several terms: the scheduler rejects every pod that gets the device.

    Source: kubernetes/kubernetes#141212.
    """
    for path, holder in ((("spec",), mapping(each, "spec")), *placed(each, "spec", "devices")):
        if len(items(holder, "nodeSelector", "nodeSelectorTerms")) > 1:
            message = "a node selector here must have one term: with more, scheduling fails for all nodes"
            yield finding((*path, "nodeSelector", "nodeSelectorTerms"), message, reason="Unsupported")


@rule("ResourceSlice")
def attribute_published_twice(each: JSONObject, context: Context) -> Iterator[Problem]:
    """A device has an attribute or capacity twice, with and without its driver's domain, and different values.

    A name without a domain is in the domain of the driver, so that both mean the same. The scheduler takes either
    value, at random for each evaluation of a selector; from Kubernetes 1.38 on, that of the name with the domain.
    """
    driver = text(each, "spec", "driver")
    takes = "the scheduler takes " + ("this one" if context.release >= _DOMAINS_COUNT_SINCE else "either")
    for path, values in _holders(each):
        for name, value in values.items():
            # Upstream takes the one that it comes to last, in the random order of a Go map.
            if (full_name := f"{driver}/{name}") in values and values[full_name] != value:
                what = "capacity" if path[-1] == "capacity" else "attribute"
                message = f'it is the same {what} as "{name}", which has another value: {takes}'
                yield finding((*path, full_name), message, "leave one of them out", "Contradiction")


@rule("ResourceSlice", of_field=True)
def standard_attribute(each: JSONObject, _context: Context) -> Iterator[Problem]:
    """A device has an attribute of Kubernetes' own, such as pcieRoot, by a misspelt name or of another type.

    Constraints and selectors that name it do not find the device. Some drivers publish others in the domain
    resource.kubernetes.io, which are not judged.
    """
    for path, device in placed(each, "spec", "devices"):
        for name, value in mapping(device, "attributes").items():
            domain, _, own = name.rpartition("/")
            meant = certain(own, STANDARD_ATTRIBUTES) if domain == STANDARD_DOMAIN else ""
            if meant not in {"", own}:
                message, hint = f'Kubernetes defines no attribute "{name}"', renamed(f"{domain}/{meant}")
                yield finding((*path, "attributes", name), message, hint, "Misspelt")
            elif meant and {*mapping(value)}.isdisjoint({type_ := STANDARD_ATTRIBUTES[meant], f"{type_}s"}):
                message = f"Kubernetes defines it with the type {type_}"
                yield finding((*path, "attributes", name), message, "", "WrongType")


def _holders(each: JSONObject) -> Iterator[tuple[Steps, JSONObject]]:
    """Yield the attributes and the capacity of each device, with their paths."""
    for path, device in placed(each, "spec", "devices"):
        yield from (((*path, holder), mapping(device, holder)) for holder in ("attributes", "capacity"))


@rule("ResourceSlice", level=NOTE)
def domain_of_driver(each: JSONObject, context: Context) -> Iterator[Problem]:
    """An attribute or capacity is published with the domain of its driver.

    A name without a domain means the same. Drivers that are built with the helper library of Kubernetes 1.38 publish
    nothing of a pool with such names, unless they opt out (as of an alpha of 1.38).
    """
    if context.release < _DOMAINS_COUNT_SINCE:
        return
    domain = f"{text(each, 'spec', 'driver')}/"
    for path, values in _holders(each):
        if name := next((name for name in values if name.startswith(domain)), ""):
            message = "drivers with the helper library of Kubernetes 1.38 publish no names in their own domain"
            hint = f"write {name.removeprefix(domain)}, which means the same"
            yield finding((*path, name), message, hint, "OwnDomain")
            return


@rule("ResourceSlice", of_field=True)
def node_not_found(each: JSONObject, context: Context) -> Iterator[Problem]:
    """A slice names a node that does not exist, or that is not among the manifests, so its devices cannot be used."""
    name = text(each, "spec", "nodeName")
    if name and context.inventory.knows("Node") and context.inventory.find("Node", name) is None:
        known = [each for _, each in context.inventory.names("Node")]
        message = context.missing(f'node "{name}"', consequence="its devices cannot be used")
        yield finding(("spec", "nodeName"), message, context.or_in_cluster(in_place(name, known, "nodes")))
