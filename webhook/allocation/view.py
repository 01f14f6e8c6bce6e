"""A node's view of the cluster: the devices available to it, and the part of them that allocated claims use.

Use follows ``pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go`` and ``structured/schedulerapi``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.allocation.demand import Demand
from webhook.allocation.devices import Catalog, Counters, Device, PoolId, Slice, decode_amount
from webhook.allocation.features import Implementation
from webhook.allocation.nodes import SelectorError, node_matches
from webhook.allocation.pools import GatherError, Pool, gather
from webhook.objects import JSONObject

_NAMES: Final = frozenset({"driver", "pool", "device"})
"""The fields that name a device; a result that lacks one of them uses none."""


class PoolUsage:
    """The devices of a pool that are in use; the version changes with them."""

    def __init__(self) -> None:
        self.version = 0
        self.dedicated: dict[str, int] = {}
        """How many claims use a whole device, by its name."""
        self.shares: dict[str, int] = {}
        """How many shares of a device are in use."""
        self.capacity: dict[str, dict[str, int]] = {}
        """The amounts consumed of a device, by capacity."""
        self.groups: dict[str, JSONObject] = {}
        """The compatibility groups that were recorded when a device was allocated."""
        self.holders: defaultdict[str, list[str]] = defaultdict(list)
        """The claims that use a device, as namespace/name."""

    def is_allocated(self, device: str) -> bool:
        """Tell whether a device is in use, as a whole or in part."""
        return device in self.dedicated or device in self.shares or device in self.capacity


class Usage:
    """The devices of a cluster that are in use.

    Args:
        with_shares: Whether shares count only for the capacity that they consume; else each uses the whole device.
    """

    def __init__(self, *, with_shares: bool) -> None:
        self._with_shares = with_shares
        self._pools: dict[PoolId, PoolUsage] = {}

    def pool(self, driver: str, name: str) -> PoolUsage:
        """Return the usage of a pool."""
        found = self._pools.get((driver, name))
        if found is None:
            found = self._pools[driver, name] = PoolUsage()
        return found

    def add(self, claim: JSONObject) -> None:
        """Count the devices of an allocated claim as in use.

        Raises:
            ValueError: A quantity is malformed.
        """
        holder = full_name(claim)
        for result in _results(claim):
            pool = self.pool(result["driver"], result["pool"])
            device = result["device"]
            pool.version += 1
            pool.holders[device].append(holder)
            if result.get("compatibilityGroups"):
                pool.groups[device] = result["compatibilityGroups"]
            if self._with_shares and result.get("shareID") is not None:
                pool.shares[device] = pool.shares.get(device, 0) + 1
                if result.get("consumedCapacity") is not None:
                    used = pool.capacity.setdefault(device, {})
                    for name, value in result["consumedCapacity"].items():
                        used[name] = used.get(name, 0) + decode_amount(value)
            else:
                pool.dedicated[device] = pool.dedicated.get(device, 0) + 1

    def remove(self, claim: JSONObject) -> None:
        """Undo `add`.

        Raises:
            ValueError: The claim's devices are not in use.
        """
        holder = full_name(claim)
        for result in _results(claim):
            pool = self.pool(result["driver"], result["pool"])
            device = result["device"]
            if holder not in pool.holders.get(device, ()):
                raise ValueError(f"claim {holder} does not use {result['driver']}/{result['pool']}/{device}")
            pool.version += 1
            pool.holders[device].remove(holder)
            if not pool.holders[device]:
                del pool.holders[device]
                pool.groups.pop(device, None)
            if self._with_shares and result.get("shareID") is not None:
                _take_back(pool.shares, device)
                used = pool.capacity.get(device)
                if used is not None and result.get("consumedCapacity") is not None:
                    for name, value in result["consumedCapacity"].items():
                        used[name] = used.get(name, 0) - decode_amount(value)
                    if not any(used.values()):
                        del pool.capacity[device]
            else:
                _take_back(pool.dedicated, device)


def _take_back(counts: dict[str, int], device: str) -> None:
    if counts.get(device, 0) > 1:
        counts[device] -= 1
    else:
        counts.pop(device, None)


def full_name(claim: Mapping[str, Any]) -> str:
    """Return namespace and name of a claim, as upstream writes them (``klog.KObj``)."""
    metadata = claim.get("metadata") or {}
    name: str = metadata.get("name", "")
    return f"{metadata['namespace']}/{name}" if metadata.get("namespace") else name


def _results(claim: JSONObject) -> Iterable[JSONObject]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for result in (allocation.get("devices") or {}).get("results") or ():
        if not result.get("adminAccess") and result.keys() >= _NAMES:
            yield result


class Available:
    """The remaining counters of a pool, in nanos.

    Args:
        counters: The remaining amounts, by counter set and counter.
    """

    def __init__(self, counters: Counters) -> None:
        self.counters = counters
        self.is_overdrawn = any(left < 0 for left in counters.values())


def available(pool: Pool, used: PoolUsage, *, with_shares: bool) -> Available:
    """Return the counters of a pool that the devices in use leave (``checkAvailableCounters``).

    Args:
        with_shares: Whether devices count if only shares of them are in use.
    """
    left = dict(pool.counters)
    for each in (*pool.slices, *pool.others):
        for device in each.devices:
            is_used = used.is_allocated(device.name) if with_shares else device.name in used.dedicated
            if is_used and device.content.consumes:
                for key, amount in device.content.consumes.items():
                    if key in left:
                        left[key] -= amount
    return Available(left)


class NodeView:
    """The devices that a node can use, in the order in which the search tries them.

    Args:
        elsewhere: Pools without devices for the node that are incomplete or invalid.
    """

    def __init__(
        self,
        node: str,
        labels: Mapping[str, str] | None,
        *,
        catalog: Catalog,
        usage: Usage,
        variant: Implementation,
        elsewhere: Sequence[Pool],
    ) -> None:
        self.node, self.variant, self.labels = node, variant, labels
        self.error = ""
        self.is_ambiguous = False
        self.pools: list[Pool] = []
        try:
            self.pools = gather(catalog, node, labels, variant, elsewhere)
        except GatherError as error:
            self.error = str(error)
            self.is_ambiguous = error.is_ambiguous
        self.is_ambiguous = self.is_ambiguous or any(pool.is_ambiguous for pool in self.pools)
        slices: list[Slice] = []
        pool_of: list[int] = []
        self.broken = ""
        """The error of a search that reaches the end of the devices: until 1.34, an invalid pool."""
        for index, pool in enumerate(self.pools):
            if pool.is_invalid and not variant.sees_whole_pools:
                self.broken = f"pool {pool.name} is invalid: {pool.reason}"
                break
            if pool.is_usable:
                for each in pool.slices:
                    slices.append(each)
                    pool_of += [index] * len(each.devices)
        devices = self.devices = (
            slices[0].devices if len(slices) == 1 else tuple(device for each in slices for device in each.devices)
        )
        self.pool_of = tuple(pool_of)
        self.invalid = any(pool.is_invalid for pool in self.pools)
        self.consumes = any(device.content.consumes for device in devices)
        self.is_like_others = not self.consumes or not any(
            pool.others or len(catalog.drivers_of(pool.name)) > 1 for pool in self.pools
        )
        """Whether counters depend only on `key`, so that searches on nodes with equal keys go alike."""
        self.matches: tuple[bool | str, ...] | None = None
        if any(each.is_per_device for pool in self.pools for each in pool.slices):
            self.matches = tuple(self._matches(device) for device in devices)
        self._shape = catalog.number(self._parts())
        self._whole = catalog.number((self._shape, tuple([device.content.index for device in devices])))
        self.usages: list[PoolUsage] = [usage.pool(pool.driver, pool.name) for pool in self.pools]
        """The usage of each pool."""
        self._stamp = -1
        self._key: Hashable = None
        """Nodes with equal keys get the same devices, by place."""
        self._used: Hashable = ()
        self.taken = 0

    def _matches(self, device: Device) -> bool | str:
        if not device.slice.is_per_device:
            return True
        try:
            return node_matches(self.node, self.labels or {}, device.content.others)
        except SelectorError as error:
            return str(error)

    def _parts(self) -> Hashable:
        """Return the facts about the node, its devices aside, that a search depends on."""
        return (
            self.error,
            self.broken,
            self.matches,
            tuple(
                (
                    pool.is_incomplete,
                    pool.is_invalid,
                    tuple(pool.counters.items()),
                    tuple(
                        (each.node_name is None, each.node_terms, each.is_per_device, len(each.devices))
                        for each in pool.slices
                    ),
                )
                for pool in self.pools
            ),
        )

    def key(self) -> Hashable:
        """Return a key that decides the course of a search: nodes with equal keys get the same devices, by place."""
        stamp = 0
        for usage in self.usages:
            stamp += usage.version
        if stamp != self._stamp:
            self._stamp = stamp
            self.taken = 0
            state: list[Hashable] = []
            for usage in self.usages:
                if usage.dedicated or usage.shares:
                    break
            else:  # no devices are in use
                self._used, self._key = (), self._whole
                return self._key
            for index, device in enumerate(self.devices):
                used = self.usages[self.pool_of[index]]
                if device.name in used.dedicated:
                    self.taken |= 1 << index
                if device.name in used.shares:
                    state.append((index, tuple(sorted(used.capacity.get(device.name, {}).items()))))
            if self.variant.features.CompatibilityGroups:
                state += [(name, repr(groups)) for used in self.usages for name, groups in sorted(used.groups.items())]
            self._used = self.taken, tuple(state)
            self._key = self._whole, self._used
        return self._key

    def alike(self, demand: Demand) -> Hashable:
        """Return a key that ignores the parts of devices that no request looks at."""
        self.key()
        return self._shape, self._used, demand.behaviours(self.devices)

    def capacity_used(self, index: int) -> Mapping[str, int] | None:
        """Return the consumed capacity of a shared device, None if none is consumed."""
        return self.usages[self.pool_of[index]].capacity.get(self.devices[index].name)
