"""A node's view of the cluster: the devices available to it, and which are in use."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from webhook.allocation.demand import Demand
from webhook.allocation.devices import Catalog, Device, Slice
from webhook.allocation.features import Implementation
from webhook.allocation.nodes import SelectorError, node_matches, terms
from webhook.allocation.pools import GatherError, Pool, gather
from webhook.allocation.usage import PoolUsage, Usage


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
                        (each.node_name is None, terms(each.node_selector), each.is_per_device, len(each.devices))
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
        return self._shape, self._used, tuple([demand.behaviour(device.content) for device in self.devices])

    def capacity_used(self, index: int) -> Mapping[str, int] | None:
        """Return the consumed capacity of a shared device, None if none is consumed."""
        return self.usages[self.pool_of[index]].capacity.get(self.devices[index].name)
