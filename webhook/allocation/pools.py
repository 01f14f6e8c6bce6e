"""The resource pools available to a node, why others cannot be used, and the devices that are in use.

Follows upstream's ``pools_incubating.go`` (GatherPools, buildPool), and ``pools_stable.go`` where pools and slices are
not sorted. Use follows ``pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go`` and
``structured/schedulerapi``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

from webhook.allocation.devices import Catalog, Content, Counters, Device, PoolId, Slice, decode_amount
from webhook.allocation.features import Implementation
from webhook.grouping import by_key
from webhook.inventory.affinity import SelectorError, node_matches
from webhook.later import cached_property
from webhook.objects import JSONObject
from webhook.records import Told


class Pool:
    """A pool as a node sees it.

    Args:
        others: The pool's other slices; they matter where counters are shared.
        counters: The total of each counter, in nanos.
        is_incomplete: Whether slices are missing: nothing is allocated from it.
        reason: Why it is invalid, in upstream's words; nothing is allocated from it then.
        is_ambiguous: Whether its slices contradict each other, so that their order matters.
        of_slice: The name of its only slice, until 1.34, which did not mind missing ones.
    """

    def __init__(
        self,
        id_: PoolId,
        slices: Sequence[Slice] = (),
        others: Sequence[Slice] = (),
        counters: Mapping[tuple[str, str], int] = {},
        *,
        is_incomplete: bool = False,
        reason: str = "",
        is_ambiguous: bool = False,
        of_slice: str = "",
    ) -> None:
        self.driver, self.name = id_
        self.slices, self.others, self.counters = slices, others, counters
        self.is_incomplete, self.reason, self.is_ambiguous = is_incomplete, reason, is_ambiguous
        self.scope = f"slice {of_slice}" if of_slice else self.name
        """The name that identifies its counters: upstream uses the pool's name, whatever its driver."""
        self.is_usable = not reason and (bool(of_slice) or not is_incomplete)
        """Whether devices are allocated from it."""

    def __str__(self) -> str:
        """Write driver and name, as upstream's ``PoolID``."""
        return f"{self.driver}/{self.name}"


def _binds(pool: Pool) -> bool:
    """Tell whether any device of a pool must be bound before it is used; such pools come last."""
    return any(map(_has_binding_conditions, pool.slices))


def _has_binding_conditions(each: Slice) -> bool:
    return any(device.content.others.get("bindingConditions") is not None for device in each.devices)


class GatherError(Exception):
    """The pools of a node cannot be determined; ``str()`` is upstream's text, and the scheduler gives up on the pod.

    Args:
        is_ambiguous: Whether there is another reason that comes first in another order of slices.
    """

    def __init__(self, text: str, *, is_ambiguous: bool = False) -> None:
        super().__init__(text)
        self.is_ambiguous = is_ambiguous


def gather(
    catalog: Catalog,
    node: str,
    labels: Mapping[str, str],
    variant: Implementation,
    elsewhere: Sequence[Pool],
) -> list[Pool]:
    """Return the pools with devices for a node, in the order in which they are tried.

    Args:
        variant: The implementation, which determines the features and whether pools are sorted.
        elsewhere: The result of `unusable_elsewhere`.

    Raises:
        GatherError: A node selector cannot be parsed.
    """
    seen = _with_devices(catalog, node, labels, variant)
    if not variant.sees_whole_pools:
        return _by_slice(seen, variant)
    if catalog.with_counters and variant.features.PartitionableDevices and variant.sees_all_counters:
        seen += [each for pool in {each.id for each in seen} for each in catalog.with_counters.get(pool, ())]
    if variant.is_sorted:
        # Slices with counters come after those of nodes, if all nodes look at them.
        are_last = variant.sees_all_counters
        seen.sort(key=lambda each: (not each.node_name or (are_last and bool(each.counter_sets)), each.order))
    else:
        seen.sort(key=lambda each: (_comes_last(each, variant), each.order))
    found = _by_pool(seen)
    pools = [pool for slices in found.values() if (pool := _pool(slices, catalog, variant)) is not None]
    if catalog.with_counters:
        pools += [pool for pool in elsewhere if (pool.driver, pool.name) not in found]
    if variant.is_sorted:
        pools.sort(key=lambda pool: (_binds(pool), pool.driver, pool.name))
    elif variant.knows_capacity:
        pools.sort(key=_binds)
    return pools


def _comes_last(each: Slice, variant: Implementation) -> bool:
    """Tell whether a slice comes last, because one of its devices has binding conditions."""
    is_looked_at = not (variant.sees_whole_pools and each.counter_sets)
    return variant.knows_capacity and is_looked_at and _has_binding_conditions(each)


def _by_slice(seen: Sequence[Slice], variant: Implementation) -> list[Pool]:
    """Return pools as 1.34 sees them, each slice for itself."""
    found = _by_pool(sorted(seen, key=lambda each: (_comes_last(each, variant), each.order)))
    in_order = sorted(found.items(), key=lambda pool: any(_comes_last(each, variant) for each in pool[1]))
    return [
        Pool(
            id_,
            [each],
            counters=_amounts({each["name"]: each.get("counters") or {} for each in each.counter_sets}),
            is_incomplete=len(slices) != slices[0].count,
            reason=_duplicate(slices),
            is_ambiguous=any(other.count != slices[0].count for other in slices),
            of_slice=each.name,
        )
        for id_, slices in in_order
        for each in slices
    ]


def _amounts(sets: Mapping[str, Mapping[str, Any]]) -> Counters:
    return {
        (set_name, counter): decode_amount(value.get("value"))
        for set_name, values in sets.items()
        for counter, value in values.items()
    }


def _with_devices(catalog: Catalog, node: str, labels: Mapping[str, str], variant: Implementation) -> list[Slice]:
    """Return the slices with devices for a node.

    Raises:
        GatherError: A node selector cannot be parsed.
    """
    errors: list[GatherError] = []
    seen: list[Slice] = []
    has_counters_apart = variant.sees_all_counters and variant.sees_whole_pools
    for each in catalog.for_node(node):
        if each.counter_sets and has_counters_apart:
            continue
        if not variant.features.PartitionableDevices and ignored(each, variant):
            continue
        try:
            if is_relevant(each, node, labels):
                seen.append(each)
        except GatherError as error:
            errors.append(error)
    if errors:
        raise GatherError(str(errors[0]), is_ambiguous=len(errors) > 1)
    return seen


def unusable_elsewhere(catalog: Catalog, variant: Implementation) -> list[Pool]:
    """Return pools that are incomplete or invalid even for nodes without devices in them.

    All nodes look at counters, wherever the devices are; valid pools make no difference to other nodes.
    """
    if not (variant.features.PartitionableDevices and variant.sees_all_counters and variant.sees_whole_pools):
        return []
    found = _by_pool(each for slices in catalog.with_counters.values() for each in slices)
    pools = [_pool(slices, catalog, variant) for slices in found.values()]
    return [pool for pool in pools if pool is not None and (not pool.is_usable or pool.is_ambiguous)]


def whole(pool: PoolId, catalog: Catalog, variant: Implementation) -> Pool | None:
    """Return a pool as a node sees it that all its newest slices serve; None if slices are considered one by one."""
    return _pool(catalog.current[pool], catalog, variant) if variant.sees_whole_pools else None


def ignored(each: Slice, variant: Implementation) -> Flaw | None:
    """Return why no node uses the devices of a slice, even if it uses the rest of its pool; None if nodes do."""
    reason = ""
    if each.counter_sets and variant.sees_whole_pools:
        reason = "devices beside sharedCounters are ignored from Kubernetes 1.35 on, and belong into another slice"
    elif each.says_per_device and not variant.features.PartitionableDevices:
        reason = "perDeviceNodeSelection needs feature gate DRAPartitionableDevices, which is off"
    return Flaw.of(f"used without slice {each.name}", reason) if reason else None


def is_relevant(each: Slice, node: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a slice has devices for a node, or counters.

    Raises:
        GatherError: A node selector cannot be parsed.
    """
    of_devices = [(f"device {device.name} in ", device.where) for device in each.devices if each.is_per_device]
    for of, where in of_devices or [("", each.where)]:
        try:
            if node_matches(node, labels, where):
                return True
        except SelectorError as error:
            why = f"failed to perform node selection for {of}slice {each.name}: {error}"
            raise GatherError(f"gather pool information: {why}") from None
    return False


def _by_pool(every: Iterable[Slice]) -> dict[PoolId, list[Slice]]:
    """Return the slices of the newest generation of each pool among some slices."""
    found: dict[PoolId, list[Slice]] = {}
    for each in every:
        slices = found.setdefault(each.id, [])
        if slices and each.generation > slices[0].generation:
            slices.clear()
        if not slices or each.generation == slices[0].generation:
            slices.append(each)
    return found


def _pool(slices: Sequence[Slice], catalog: Catalog, variant: Implementation) -> Pool | None:
    first = slices[0]
    is_ambiguous = any(each.count != first.count for each in slices) or len({s.name for s in slices}) < len(slices)
    all_slices: Sequence[Slice] = ()
    if len(slices) != first.count:
        all_slices = catalog.current[first.id]
        if all_slices[0].generation > first.generation:  # obsolete; in another order it may seem whole
            return Pool(first.id, is_ambiguous=True) if is_ambiguous else None
        if len(all_slices) != first.count:
            return Pool(first.id, is_incomplete=True, is_ambiguous=is_ambiguous)
    if variant.is_sorted:
        slices = sorted(slices, key=lambda each: each.name)
    partitionable = variant.features.PartitionableDevices
    with_devices = [each for each in slices if not (partitionable and each.counter_sets)]
    names = {each.name for each in slices}
    others = [each for each in all_slices if partitionable and each.name not in names]
    sets: dict[str, Mapping[str, Any]] = {}
    reason = _duplicate(with_devices)
    if partitionable and not reason:
        reason = _read_counters(sets, [*slices, *others])
    if reason:
        return Pool(first.id, reason=reason, is_ambiguous=is_ambiguous)
    return Pool(first.id, with_devices, others, _amounts(sets), is_ambiguous=is_ambiguous)


def _duplicate(slices: Iterable[Slice]) -> str:
    seen: set[str] = set()
    for each in slices:
        for device in each.devices:
            if device.name in seen:
                return f"duplicate device name {device.name}"
            seen.add(device.name)
    return ""


def _read_counters(sets: dict[str, Mapping[str, Any]], slices: Sequence[Slice]) -> str:
    """Add the sets of counters of slices; return why they are invalid, empty if they are not."""
    for counter_set in (counter_set for each in slices for counter_set in each.counter_sets):
        if counter_set["name"] in sets:
            return f"duplicate counter set name {counter_set['name']}"
        sets[counter_set["name"]] = counter_set.get("counters") or {}
    for each in slices:
        for device in each.devices:
            for consumed in device.content.others.get("consumesCounters") or ():
                counter_set = consumed.get("counterSet", "")
                if counter_set not in sets:
                    return f"counter set {counter_set} not found"
                for name in consumed.get("counters") or ():
                    if name not in sets[counter_set]:
                        return f"counter {name} not found in counter set {counter_set}"
    return ""


# -- pools and slices that cannot be used: slices are missing, outdated, ignored or contradict each other


class Flaw(Told):
    """Why devices of a pool are not used, such as ``incomplete: 1 of 2 slices of generation 3``.

    Args:
        state: The state of their pool in short, such as ``incomplete``.
    """

    state: str

    @classmethod
    def of(cls, state: str, details: str) -> Self:
        """Make the text."""
        return cls(f"{state}: {details}", state=state)


class Unused(NamedTuple):
    """A pool with devices that cannot be used, or some of them.

    Args:
        contents: The contents of the devices, each once.
    """

    pool: str
    why: Flaw
    contents: Sequence[Content]
    devices: int


def unused(catalog: Catalog, variant: Implementation) -> Mapping[int, Flaw]:
    """Return the slices whose devices no node uses, or only by chance, with the reason for each, by their order."""
    found = {}
    for current in catalog.current.values():
        for seen in _by_node(current):
            pool = _pool(seen, catalog, variant) if variant.sees_whole_pools else None
            is_faulty = pool is not None and (not pool.is_usable or _contradictory(seen))
            for each in seen:
                if why := _fault(pool, current) if pool and is_faulty else ignored(each, variant):
                    found[each.order] = why
    return found


def _by_node(slices: Sequence[Slice]) -> Iterable[Sequence[Slice]]:
    """Return the slices of a pool that each node sees, if all name their node: as many as they state are enough."""
    if not all(each.node_name for each in slices):
        return [slices]
    return by_key((each.node_name, each) for each in slices).values()


def _fault(pool: Pool, current: Sequence[Slice]) -> Flaw:
    """Return why a pool with some slices of the newest generation cannot be used."""
    if pool.reason:
        return Flaw.of("invalid", pool.reason)
    last, count = current[0].generation, current[0].count
    if counts := _contradictory(current):
        return Flaw.of("incomplete", f"slices of generation {last} disagree on resourceSliceCount ({counts})")
    if len(current) > count:
        return Flaw.of("incomplete", f"{len(current)} slices of generation {last}, but resourceSliceCount is {count}")
    return Flaw.of("incomplete", f"{len(current)} of {count} slices of generation {last}")


def _contradictory(slices: Sequence[Slice]) -> str:
    """List the numbers of slices that the slices of a pool state; empty if they agree."""
    counts = sorted({each.count for each in slices})
    return ", ".join(map(str, counts)) if len(counts) > 1 else ""


# -- devices in use

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
        claims: The claims that use them; those without an allocation are ignored.
        with_shares: Whether shares count only for the capacity that they consume; else each uses the whole device.

    Raises:
        ValueError: A quantity is malformed.
    """

    def __init__(self, claims: Iterable[JSONObject] = (), *, with_shares: bool) -> None:
        self._with_shares = with_shares
        self._pools: defaultdict[PoolId, PoolUsage] = defaultdict(PoolUsage)
        for claim in claims:
            self.add(claim)

    def pool(self, driver: str, name: str) -> PoolUsage:
        """Return the usage of a pool."""
        return self._pools[driver, name]

    def add(self, claim: JSONObject) -> None:
        """Count the devices of an allocated claim as in use.

        Raises:
            ValueError: A quantity is malformed.
        """
        for pool, device, result in self._used_by(claim):
            pool.holders[device].append(full_name(claim))
            if result.get("compatibilityGroups"):
                pool.groups[device] = result["compatibilityGroups"]
            _count(pool, device, result, 1)

    def remove(self, claim: JSONObject) -> None:
        """Undo `add`.

        Raises:
            ValueError: The claim's devices are not in use.
        """
        holder = full_name(claim)
        for pool, device, result in self._used_by(claim):
            if holder not in pool.holders.get(device, ()):
                raise ValueError(f"claim {holder} does not use {result['driver']}/{result['pool']}/{device}")
            pool.holders[device].remove(holder)
            if not pool.holders[device]:
                del pool.holders[device]
                pool.groups.pop(device, None)
            _count(pool, device, result, -1)

    def _used_by(self, claim: JSONObject) -> Iterator[tuple[PoolUsage, str, JSONObject]]:
        """Yield the pools and names of the devices that an allocated claim uses, with its results."""
        allocation = (claim.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or ():
            if not result.get("adminAccess") and result.keys() >= _NAMES:
                pool = self.pool(result["driver"], result["pool"])
                pool.version += 1
                yield pool, result["device"], result if self._with_shares else {**result, "shareID": None}


def _count(pool: PoolUsage, device: str, result: JSONObject, times: int) -> None:
    """Count a device that a result uses, or does not use any more: as a whole, or a share of it."""
    is_share = result.get("shareID") is not None
    counts = pool.shares if is_share else pool.dedicated
    counts[device] = counts.get(device, 0) + times
    if counts[device] <= 0:
        del counts[device]
    consumed = result.get("consumedCapacity") if is_share else None
    if consumed is not None and (times > 0 or device in pool.capacity):
        used = pool.capacity.setdefault(device, {})
        for name, value in consumed.items():
            used[name] = used.get(name, 0) + times * decode_amount(value)
        if times < 0 and not any(used.values()):
            del pool.capacity[device]


def full_name(claim: Mapping[str, Any]) -> str:
    """Return namespace and name of a claim, as upstream writes them (``klog.KObj``)."""
    metadata = claim.get("metadata") or {}
    name: str = metadata.get("name", "")
    return f"{metadata['namespace']}/{name}" if metadata.get("namespace") else name


class Available(NamedTuple):
    """The remaining counters of a pool, in nanos, by counter set and counter."""

    counters: Counters
    is_overdrawn: bool


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
    return Available(left, any(each < 0 for each in left.values()))


# -- the devices of a node


class NodeView:
    """The devices that a node can use, in the order in which the search tries them.

    Args:
        elsewhere: Pools without devices for the node that are incomplete or invalid.
    """

    def __init__(
        self,
        node: str,
        labels: Mapping[str, str],
        *,
        catalog: Catalog,
        usage: Usage,
        variant: Implementation,
        elsewhere: Sequence[Pool],
    ) -> None:
        self.node, self.variant, self.labels, self._catalog = node, variant, labels, catalog
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
            if pool.reason and not variant.sees_whole_pools:
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
        self.invalid = any(pool.reason for pool in self.pools)
        self.consumes = any(device.content.consumes for device in devices)
        self.is_like_others = not self.consumes or not any(
            pool.others or len(catalog.drivers_of(pool.name)) > 1 for pool in self.pools
        )
        """Whether counters depend only on `key`, so that searches on nodes with equal keys go alike."""
        self.matches: tuple[bool | str, ...] | None = None
        """Whether each device is for the node, or why that is not known; None if all are."""
        if any(each.is_per_device for pool in self.pools for each in pool.slices):
            self.matches = tuple(self._matches(device) for device in devices)
        pools = tuple(
            (
                pool.is_incomplete,
                bool(pool.reason),
                tuple(pool.counters.items()),
                tuple(
                    (each.node_name is None, each.node_terms, each.is_per_device, len(each.devices))
                    for each in pool.slices
                ),
            )
            for pool in self.pools
        )
        numbers = catalog.numbers
        self.shape = numbers.setdefault((self.error, self.broken, self.matches, pools), len(numbers))
        """A number for the facts that a search depends on, the node's devices aside."""
        whole = self.shape, tuple([device.content.index for device in devices])
        self._whole = numbers.setdefault(whole, len(numbers))
        self.usages: list[PoolUsage] = [usage.pool(pool.driver, pool.name) for pool in self.pools]
        """The usage of each pool."""
        self._stamp = -1
        self._key: Hashable = None
        """Nodes with equal keys get the same devices, by place."""
        self.used: Hashable = ()
        """The use of its devices when `key` was called last."""
        self.taken = 0
        """The devices in use as a whole when `key` was called last, as a bit set of places."""

    def _matches(self, device: Device) -> bool | str:
        if not device.slice.is_per_device:
            return True
        try:
            return node_matches(self.node, self.labels, device.where)
        except SelectorError as error:
            return str(error)

    def key(self) -> Hashable:
        """Return a key that decides the course of a search: nodes with equal keys get the same devices, by place."""
        stamp = sum([usage.version for usage in self.usages])
        if stamp != self._stamp:
            self._stamp, self.taken, state = stamp, 0, list[Hashable]()
            is_used = any(usage.dedicated or usage.shares for usage in self.usages)
            for index, device in enumerate(self.devices if is_used else ()):
                used = self.usages[self.pool_of[index]]
                if device.name in used.dedicated:
                    self.taken |= 1 << index
                if device.name in used.shares:
                    state.append((index, tuple(sorted(used.capacity.get(device.name, {}).items()))))
            if self.variant.features.CompatibilityGroups:
                state += [(name, repr(groups)) for used in self.usages for name, groups in sorted(used.groups.items())]
            self.used = self.taken, tuple(state)
            self._key = self._whole, self.used
        return self._key

    def capacity_used(self, index: int) -> Mapping[str, int] | None:
        """Return the consumed capacity of a shared device, None if none is consumed."""
        return self.usages[self.pool_of[index]].capacity.get(self.devices[index].name)

    @cached_property
    def unused(self) -> Sequence[Unused]:
        """The pools that have devices for the node but cannot be used there, or not with all of these."""
        seen = {(pool.driver, pool.name): pool for pool in self.pools}
        unusable = {id_: pool for id_, pool in seen.items() if not pool.is_usable}
        slices = [each for each in self._catalog.for_node(self.node) if each.devices]
        found: dict[tuple[PoolId, Flaw], list[Device]] = {}
        for each in sorted(slices, key=lambda each: each.id not in unusable):
            current, why = self._catalog.current[each.id], None
            if each.generation < (last := current[0].generation):
                if each.id not in seen:  # a node that sees no newer slices may use it all the same
                    why = Flaw.of("outdated", f"its slices for the node are older than generation {last}")
            else:
                why = _fault(unusable[each.id], current) if each.id in unusable else ignored(each, self.variant)
            with suppress(GatherError):
                if why and is_relevant(each, self.node, self.labels):
                    found.setdefault((each.id, why), []).extend(each.devices)
        return [
            Unused("/".join(id_), why, list(dict.fromkeys(one.content for one in devices)), len(devices))
            for (id_, why), devices in found.items()
        ]
