"""Usage by allocated claims: whole devices, and shares of devices.

Follows ``pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go`` and ``structured/schedulerapi``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from webhook.allocation.devices import Counters, PoolId, decode_amount
from webhook.allocation.pools import Pool
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
