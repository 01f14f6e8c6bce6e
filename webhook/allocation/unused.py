"""Pools that cannot be used, and why: slices are missing, outdated or contradict each other."""

from __future__ import annotations

from webhook.allocation.pools import whole
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webhook.allocation.devices import Catalog, Content, PoolId, Slice
    from webhook.allocation.features import Implementation
    from webhook.allocation.pools import Pool


class Unused(NamedTuple):
    """A pool with devices that cannot be used.

    Args:
        pool: Driver and name.
        why: The reason, such as ``incomplete: 1 of 2 slices of generation 3``.
        contents: The contents of the devices, each once.
        devices: The number of devices.
    """

    pool: str
    why: str
    contents: Sequence[Content]
    devices: int


def unused_on(node: str, pools: Sequence[Pool], catalog: Catalog) -> list[Unused]:
    """Return the pools that have devices for a node but cannot be used there.

    Args:
        node: The node's name.
        pools: The pools that the node sees.
        catalog: The slices of the cluster.
    """
    seen = {(pool.driver, pool.name): pool for pool in pools}
    own = dict.fromkeys(each.id for each in catalog.by_node.get(node, ()))
    found = [_unused(pool, catalog.by_pool[id_], node) for id_, pool in seen.items() if not pool.is_usable]
    found += [_outdated(catalog.by_pool[id_], node) for id_ in own if id_ not in seen]
    return [each for each in found if each.devices]


def unused(catalog: Catalog, variant: Implementation) -> Mapping[str, str]:
    """Return the pools that no node uses, or only by chance, with the reason for each, by driver and name.

    Args:
        catalog: The slices of the cluster.
        variant: The implementation of the allocator.
    """
    pools = [whole(slices, catalog, variant) for slices in catalog.by_pool.values()]
    found = [(pool, catalog.by_pool[pool.driver, pool.name]) for pool in pools if pool is not None]
    return {
        str(pool): _unused(pool, slices).why
        for pool, slices in found
        if not pool.is_usable or _contradictory(_current(slices))
    }


def _unused(pool: Pool, slices: Sequence[Slice], node: str = "") -> Unused:
    current = _current(slices)
    newest = current[0].generation
    missing = f"incomplete: {len(current)} of {current[0].count} slices of generation {newest}"
    if counts := _contradictory(current):
        missing = f"incomplete: slices of generation {newest} disagree on resourceSliceCount ({counts})"
    elif len(current) > current[0].count:
        missing = (
            f"incomplete: {len(current)} slices of generation {newest}, but resourceSliceCount is {current[0].count}"
        )
    # All nodes look at pools with counters, even if the devices are for other nodes.
    own = [each for each in current if each.node_name in {"", node}]
    return _of((pool.driver, pool.name), own, f"invalid: {pool.reason}" if pool.reason else missing)


def _current(slices: Sequence[Slice]) -> list[Slice]:
    """Return the slices of the newest generation."""
    newest = max(each.generation for each in slices)
    return [each for each in slices if each.generation == newest]


def _contradictory(slices: Sequence[Slice]) -> str:
    """List the numbers of slices that the slices of a pool state; empty if they agree."""
    counts = sorted({each.count for each in slices})
    return ", ".join(map(str, counts)) if len(counts) > 1 else ""


def _outdated(slices: Sequence[Slice], node: str) -> Unused:
    newest = max(each.generation for each in slices)
    own = [each for each in slices if each.node_name == node]
    return _of(slices[0].id, own, f"outdated: its slices for the node are older than generation {newest}")


def _of(id_: PoolId, slices: Sequence[Slice], why: str) -> Unused:
    contents = {id(device.content): device.content for each in slices for device in each.devices}
    devices = sum(len(each.devices) for each in slices)
    return Unused("/".join(id_), why, tuple(contents.values()), devices)
