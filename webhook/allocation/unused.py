"""Pools and slices that cannot be used, and why: slices are missing, outdated, ignored or contradict each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webhook.allocation.devices import Catalog, Content, PoolId, Slice, newest
from webhook.allocation.features import Implementation
from webhook.allocation.pools import GatherError, Pool, ignored, is_relevant, whole
from webhook.records import NamedTuple


class Unused(NamedTuple):
    """A pool with devices that cannot be used, or some of them.

    Args:
        why: The reason, such as ``incomplete: 1 of 2 slices of generation 3``.
        contents: The contents of the devices, each once.
    """

    pool: str
    why: str
    contents: Sequence[Content]
    devices: int


class Aside(NamedTuple):
    """A slice whose devices are not used, even if the rest of its pool is.

    Args:
        why: The reason, as of its pool.
        is_outdated: Whether the reason is that its pool has a newer generation. Nodes that do not see it may use the
            slice all the same.
    """

    slice: Slice
    why: str
    is_outdated: bool


def set_aside(catalog: Catalog, variant: Implementation) -> list[Aside]:
    """Return the slices whose devices are not used, even if the rest of their pool is."""
    found = []
    for slices in catalog.by_pool.values():
        last = max(each.generation for each in slices)
        outdated = f"outdated: its slices for the node are older than generation {last}"
        for each in filter(lambda each: each.devices, slices):
            if each.generation < last:
                found.append(Aside(each, outdated, is_outdated=True))
            elif reason := ignored(each, variant):
                found.append(Aside(each, f"used without slice {each.name}: {reason}", is_outdated=False))
    return found


def unused_on(
    node: str, labels: Mapping[str, str], pools: Sequence[Pool], catalog: Catalog, aside: Sequence[Aside]
) -> list[Unused]:
    """Return the pools that have devices for a node but cannot be used there, or not with all of these."""
    seen = {(pool.driver, pool.name): pool for pool in pools}
    unusable = {id_ for id_, pool in seen.items() if not pool.is_usable}
    by_reason: dict[tuple[PoolId, str], list[Slice]] = {}
    for id_ in unusable:
        # All nodes look at pools with counters, even if the devices are for other nodes.
        current = catalog.current[id_]
        by_reason[id_, _fault(seen[id_], current)] = [each for each in current if _serves(each, node, labels)]
    for each, why, is_outdated in aside:
        known = seen if is_outdated else unusable
        if each.id not in known and _serves(each, node, labels):
            by_reason.setdefault((each.id, why), []).append(each)
    found = []
    for (id_, why), slices in by_reason.items():
        if devices := [device for each in slices for device in each.devices]:
            contents = {id(device.content): device.content for device in devices}
            found.append(Unused("/".join(id_), why, tuple(contents.values()), len(devices)))
    return found


def _serves(each: Slice, node: str, labels: Mapping[str, str]) -> bool:
    try:
        return is_relevant(each, node, labels)
    except GatherError:
        return False


def unused(catalog: Catalog, variant: Implementation) -> Mapping[int, str]:
    """Return the slices whose devices no node uses, or only by chance, with the reason for each, by their order."""
    found = {each.slice.order: each.why for each in set_aside(catalog, variant) if not each.is_outdated}
    for slices in catalog.by_pool.values():
        pool, current = whole(slices, catalog, variant), newest(slices)
        if pool is not None and (not pool.is_usable or _contradictory(current)):
            found |= dict.fromkeys((each.order for each in current), _fault(pool, current))
    return found


def _fault(pool: Pool, current: Sequence[Slice]) -> str:
    """Return why a pool with some slices of the newest generation cannot be used."""
    if pool.reason:
        return f"invalid: {pool.reason}"
    last, count = current[0].generation, current[0].count
    if counts := _contradictory(current):
        return f"incomplete: slices of generation {last} disagree on resourceSliceCount ({counts})"
    if len(current) > count:
        return f"incomplete: {len(current)} slices of generation {last}, but resourceSliceCount is {count}"
    return f"incomplete: {len(current)} of {count} slices of generation {last}"


def _contradictory(slices: Sequence[Slice]) -> str:
    """List the numbers of slices that the slices of a pool state; empty if they agree."""
    counts = sorted({each.count for each in slices})
    return ", ".join(map(str, counts)) if len(counts) > 1 else ""
