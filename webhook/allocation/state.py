"""What a search has allocated so far, and what it takes back.

Follows upstream's ``allocateDevice``, ``checkAvailableCounters`` and their rollback, with the same side effects; up to
1.36.2 including the amounts that a rollback leaves behind: counters taken for a device that a taint or a constraint
then rules out stay taken. Compatibility groups follow ``compatibility_groups.go`` (1.37, experimental): the devices on
a counter set must have a group in common; a device without groups is compatible only with others without groups.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final

from webhook.allocation.capacity import Take
from webhook.allocation.constraints import Constraint
from webhook.allocation.demand import Ask, Complaint, Demand, Stop
from webhook.allocation.view import Available, NodeView
from webhook.objects import JSONObject
from webhook.records import NamedTuple

Groups = frozenset[str]
CounterSetKey = tuple[str, str]
"""A pool's name and a counter set."""

NONE: Final[Groups] = frozenset()


def declared(raw: JSONObject) -> Iterator[tuple[str, Groups]]:
    """Return the groups of a device for each counter set that it draws on; empty for none."""
    for each in raw.get("consumesCounters") or ():
        yield each.get("counterSet", ""), frozenset(each.get("compatibilityGroups") or ())


def snapshot(raw: JSONObject) -> JSONObject:
    """Return a device's groups as an allocation records them; counter sets without groups are left out."""
    return {
        each.get("counterSet", ""): {"groups": list(each["compatibilityGroups"])}
        for each in raw.get("consumesCounters") or ()
        if each.get("compatibilityGroups")
    }


class Common:
    """The groups that devices on each counter set share: no entry without devices, `NONE` if they have no groups."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self.common: dict[CounterSetKey, Groups] = {}
        for place, pool in enumerate(view.pools):
            used = view.usages[place]
            for each in (*pool.slices, *pool.others):
                for device in each.devices:
                    if used.is_allocated(device.name):
                        recorded = used.groups.get(device.name) or {}
                        for name, _ in declared(device.content.others):
                            groups = frozenset((recorded.get(name) or {}).get("groups") or ())
                            key = (pool.name, name)
                            self.common[key] = _joined(self.common.get(key), groups)

    def add(self, index: int) -> Mapping[CounterSetKey, Groups | None] | None:
        """Put a device on its counter sets; return their previous groups, or None if it is not compatible."""
        pool = self._view.pools[self._view.pool_of[index]].name
        before: dict[CounterSetKey, Groups | None] = {}
        for name, groups in declared(self._view.devices[index].content.others):
            key = (pool, name)
            known = self.common.get(key)
            if known is not None and not (known & groups if known and groups else known == groups):
                self.restore(before)
                return None
            before.setdefault(key, known)
            self.common[key] = _joined(known, groups)
        return before

    def restore(self, before: Mapping[CounterSetKey, Groups | None]) -> None:
        """Restore the groups that `add` returned."""
        for key, known in before.items():
            if known is None:
                self.common.pop(key, None)
            else:
                self.common[key] = known


def _joined(known: Groups | None, groups: Groups) -> Groups:
    if known is None:
        return groups
    return known & groups if known and groups else known


class Draw(NamedTuple):
    """What a device has drawn from its counter sets.

    Args:
        counters: Whether it has taken counters; another share of the device may have done so before.
        groups: The groups that the counter sets had in common before; None if that does not matter.
    """

    counters: bool = False
    groups: Mapping[CounterSetKey, Groups | None] | None = None


_NOTHING: Final = Draw()


class Pick(NamedTuple):
    """A device picked for a request.

    Args:
        device: Its place among the node's devices.
        take: The capacity taken of it, if it is shared.
        used: The devices that the search had allocated before, as a bit set of places.
    """

    ask: Ask
    device: int
    take: Take | None
    used: int
    draw: Draw = _NOTHING
    is_first: bool = True


class State:
    """The devices that a search has allocated so far.

    Args:
        available: Returns what is left of the counters of a pool, by its place.
    """

    def __init__(self, demand: Demand, view: NodeView, available: Callable[[int], Available]) -> None:
        self._view, self._available = view, available
        self._features = view.variant.features
        self._undoes_all = view.variant.undoes_all
        self.picks: list[list[Pick]] = [[] for _ in demand.claims]
        self.constraints: list[list[Constraint]] = [
            [kind(attribute) for kind, attribute in claim.constraints] for claim in demand.claims
        ]
        self._used = 0
        """The devices allocated by this search, as a bit set of places."""
        self._used_by = [0] * len(demand.claims)
        """The same by claim."""
        self.shares: dict[int, dict[str, int]] = {}
        """The amounts taken of shared devices, by place and capacity."""
        self._consumed: dict[tuple[str, tuple[str, str]], int] = {}
        """The counters taken, by the pool's name, as upstream keeps them: whatever its driver."""
        self._common = Common(view) if self._features.CompatibilityGroups and view.consumes else None

    def blocked(self, ask: Ask) -> int:
        """Return the devices that are in use for a request, as a bit set of places."""
        return self._used_by[ask.claim] if ask.is_admin else self._view.taken | self._used

    def has_capacity(self, ask: Ask, index: int) -> bool:
        """Tell whether a device has the capacity left that a request wants (``CmpRequestOverCapacity``)."""
        if not self._features.ConsumableCapacity:
            return True
        take = ask.takes(self._view.devices[index].content)
        return take is not None and take.fits(self._view.capacity_used(index), self.shares.get(index))

    def allocate(self, ask: Ask, index: int) -> Pick | None:
        """Allocate a wanted device; None if it cannot be allocated.

        Raises:
            Stop: The request wants all devices, and a constraint rules this one out.
        """
        content = self._view.devices[index].content
        is_shared = content.is_shared and self._features.ConsumableCapacity
        if self.blocked(ask) >> index & 1 or not (ask.is_all or self.has_capacity(ask, index)):
            return None
        draw = self._draw(index, is_shared=is_shared) if content.consumes else _NOTHING
        if draw is None:
            return None
        is_tainted = self._features.DeviceTaints and not ask.tolerates(content)
        if is_tainted or (ask.constraints and not self._constrain(ask, index)):
            self._reject(index, draw)
            return None
        take = None
        is_first, used = index not in self.shares, self._used
        if not is_shared:
            self._used_by[ask.claim] |= 1 << index
            self._used |= 1 << index
        else:
            if ask.is_all and not self.has_capacity(ask, index):
                if self._undoes_all:
                    self._release_constraints(ask)
                self._reject(index, draw)
                return None
            take = ask.takes(content)
            shares = self.shares.setdefault(index, {})
            for name, amount in (take.amounts if take else {}).items():
                shares[name] = shares.get(name, 0) + amount
        pick = Pick(ask, index, take, used, draw, is_first)
        self.picks[ask.claim].append(pick)
        return pick

    def _draw(self, index: int, *, is_shared: bool) -> Draw | None:
        """Take the counters that a device consumes, once for all its shares; None if they are not left."""
        if not self._features.PartitionableDevices:
            return None
        if is_shared and (index in self.shares or self._view.capacity_used(index) is not None):
            return _NOTHING
        if not self._consume(index):
            return None
        if self._common is None:
            return Draw(counters=True)
        groups = self._common.add(index)
        if groups is None:
            self._release(index)
            return None
        return Draw(counters=True, groups=groups)

    def _reject(self, index: int, draw: Draw) -> None:
        """Give back what a device has drawn that is not allocated after all; before 1.36.3, it stays taken."""
        if self._undoes_all:
            self._restore_groups(draw)
            if draw.counters:
                self._release(index)

    def undo(self, pick: Pick) -> None:
        """Undo the last device."""
        ask, index = pick.ask, pick.device
        self.picks[ask.claim].pop()
        self._restore_groups(pick.draw)
        self._release_constraints(ask)
        self._used_by[ask.claim] &= ~(1 << index)
        self._used = pick.used
        if pick.take is None:
            if self._view.devices[index].content.consumes:
                self._release(index)
        elif self._undoes_all:
            if pick.draw.counters:
                self._release(index)
            self._give_back(index, pick.take)
            if not pick.is_first:
                self.shares.setdefault(index, {})  # the earlier share still spares others the counters
        elif pick.take.amounts:
            self._give_back(index, pick.take)

    def _give_back(self, index: int, take: Take) -> None:
        """Give back the capacity taken of a shared device."""
        shares = self.shares.get(index)
        if shares is not None:
            for name in take.amounts.keys() & shares.keys():  # of a share of nothing, the names may be gone
                shares[name] -= take.amounts[name]
            if not any(shares.values()):
                del self.shares[index]

    def _restore_groups(self, draw: Draw) -> None:
        if draw.groups is not None and self._common is not None:
            self._common.restore(draw.groups)

    def _release_constraints(self, ask: Ask) -> None:
        constraints = self.constraints[ask.claim]
        for number in ask.constraints:
            constraints[number].remove(ask.base)

    def _constrain(self, ask: Ask, index: int) -> bool:
        content = self._view.devices[index].content
        constraints = self.constraints[ask.claim]
        for count, number in enumerate(ask.constraints):
            if constraints[number].add(ask.base, ask.value(constraints[number].attribute, content), index):
                continue
            if ask.is_all:
                text = f", request {ask.name}: cannot add device "
                after = " because a claim constraint would not be satisfied"
                raise Stop(Complaint(ask.claim, text, "device", index, after))
            for earlier in ask.constraints[:count]:
                constraints[earlier].remove(ask.base)
            return False
        return True

    def _consume(self, index: int) -> bool:
        """Take counters for a device, if they are left."""
        view, consumed = self._view, self._consumed
        pool = view.pool_of[index]
        left = self._available(pool)
        name = view.pools[pool].scope
        is_enough = not left.is_overdrawn
        for key, amount in view.devices[index].content.consumes.items():
            total = consumed[name, key] = consumed.get((name, key), 0) + amount
            is_enough = is_enough and total <= left.counters.get(key, total)
        if not is_enough:
            self._release(index)
        return is_enough

    def _release(self, index: int) -> None:
        name = self._view.pools[self._view.pool_of[index]].scope
        for key, amount in self._view.devices[index].content.consumes.items():
            self._consumed[name, key] = self._consumed.get((name, key), 0) - amount

    # -- what memories are made of

    @property
    def consumed(self) -> tuple[Hashable, ...]:
        """The counters taken."""
        return tuple(sorted(each for each in self._consumed.items() if each[1]))

    def save(self) -> Any:
        """Return everything that an undone device can leave behind, for `restore`."""
        return (
            tuple(tuple(each.save() for each in constraints) for constraints in self.constraints),
            self.consumed,
            tuple((index, tuple(sorted(shares.items()))) for index, shares in sorted(self.shares.items())),
            None if self._common is None else frozenset(self._common.common.items()),
        )

    def restore(self, saved: Any) -> None:
        """Restore a saved state, except for the devices."""
        constraints, consumed, shares, common = saved
        for mine, theirs in zip(self.constraints, constraints, strict=True):
            for each, state in zip(mine, theirs, strict=True):
                each.restore(state)
        self._consumed = dict(consumed)
        self.shares = {index: dict(amounts) for index, amounts in shares}
        if self._common is not None:
            self._common.common = dict(common)
