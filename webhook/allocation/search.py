"""The search for devices: depth first, claims then requests, the first solution wins.

Follows upstream's ``Allocate``, ``allocateOne`` and ``isSelectable`` in the same order, to find the same solution.

`State`, what it has allocated so far and takes back, follows ``allocateDevice``, ``checkAvailableCounters`` and their
rollback, with the same side effects; up to 1.36.2 including the amounts that a rollback leaves behind: counters taken
for a device that a taint or a constraint then rules out stay taken. Compatibility groups follow
``compatibility_groups.go`` (1.37, experimental): the devices on a counter set must have a group in common; a device
without groups is compatible only with others without groups.

`Memories` hold states that lead nowhere, so that none is searched twice. States that differ only in which of several
equal devices are used are one state. Devices that draw on the same counter sets form a group, such as the partitions of
one GPU. The rest of a group depends only on the devices picked from it, so it is worked out once for each such choice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.allocation.capacity import Take
from webhook.allocation.demand import LIMIT, UNKNOWN, Ask, Complaint, Constraint, Demand, Distinct, Match, Stop
from webhook.allocation.pools import Available, NodeView
from webhook.allocation.selecting import Chooser, SelectorFault
from webhook.budget import check_deadline
from webhook.later import cached_property
from webhook.objects import JSONObject

# -- groups of devices that share counters

Key = tuple[int, str, str]
"""A counter: the place of its pool, its counter set and its name."""


class CounterGroup(NamedTuple):
    """Devices that draw on the same counters, such as the partitions of a GPU.

    Args:
        members: Their places among the node's devices, ascending.
        bits: The same as a bit set.
        left: The amounts left of their counters before the search, by the names under which a search counts these.
        consumes: The amounts that each member consumes; counters by their places in ``left``.
        is_overdrawn: Whether upstream finds no counters left in their pool at all.
    """

    members: Sequence[int]
    bits: int
    left: Mapping[tuple[str, tuple[str, str]], int]
    consumes: tuple[tuple[tuple[int, int], ...], ...]
    is_overdrawn: bool


def connected(keys_of: Mapping[int, Collection[Key]]) -> Collection[list[int]]:
    """Return the groups of devices that have counters in common, directly or through others.

    Args:
        keys_of: The counters of each device that has some, by its place.
    """
    chief: dict[Key, Key] = {}

    def root(key: Key) -> Key:
        while (above := chief.setdefault(key, key)) != key:
            chief[key] = key = chief[above]  # halves the way for the next one
        return key

    for first, *others in keys_of.values():
        for other in others:
            chief[root(other)] = root(first)
    found: defaultdict[Key, list[int]] = defaultdict(list)
    for index, keys in keys_of.items():
        found[root(next(iter(keys)))].append(index)
    return found.values()


# -- states that lead nowhere

_MOST: Final = 64 << 20
"""The bytes that the states of one search may take."""
_STATE, _PART = 200, 48
"""The bytes of a state beside its parts, and about those of a part: a tuple, a number, and the reference to it."""
_TRIAL, _WORTH = 2_000, 20
"""One state in twenty must be known, from so many on."""


class SearchPosition(NamedTuple):
    """The position of a search.

    Args:
        position: The position of the request among all.
        alternative: The chosen alternative of the request; None before one is chosen.
        number: The number of devices found for the request.
        start: The place from which the search for the next device starts.
    """

    position: int
    alternative: int | None = None
    number: int = 0
    start: int = 0

    @property
    def next(self) -> SearchPosition:
        """The position of the next request."""
        return SearchPosition(self.position + 1)


class Memory(NamedTuple):
    """The end of a search from a state, the steps that it took, and the state that it left behind."""

    code: int
    steps: int
    visits: int
    after: Any


class Memories:
    """The states of one search that lead nowhere.

    Args:
        state: What the search has allocated so far.
        work: Counts the devices looked at.
    """

    def __init__(self, state: State, work: Callable[[int], None]) -> None:
        self._state, self._work = state, work
        self._demand, self._view = state.demand, state.view
        self._kinds: dict[tuple[int, int, int, int], int] = {}
        """The numbers of groups, by their place, the devices picked, the start among their members, and the request."""
        self._others: dict[int, bool] = {}
        """Whether requests from a position on want a device outside the groups."""
        self.known: dict[Hashable, Memory] = {}
        self._size = self._sought = self._found = 0
        self.leaves_traces = leaves_traces(self._demand, self._view)
        self._has_admins = any(ask.is_admin for ask in self._demand.asks)
        self._classes: list[list[int | None]] = [[None] * len(self._view.devices)]
        """The classes of all devices, by the number of requests and ends of claims that are left."""
        self._numbers: dict[Hashable, int] = {}

    def recall(self, key: Hashable) -> Memory | None:
        """Return the end of a search from a state, and restore the state that it left behind; None for a new state."""
        memory = self.known.get(key)
        self._sought += 1
        if memory is not None:
            self._found += 1
            if self.leaves_traces:
                self._state.restore(memory.after)
        return memory

    @cached_property
    def _groups(self) -> Sequence[CounterGroup]:
        """The groups of devices that share counters; none if groups may not be alike, although counters are.

        Neither the scope of counters nor the devices of requests for all devices may matter. A device that no longer
        fits is ruled out then, unless there are faults: upstream checks counters after selectors.
        """
        view, asks = self._view, self._demand.asks
        if self.leaves_traces or self._has_admins or any(ask.is_all for ask in asks):
            return ()
        if not view.consumes or not view.variant.features.PartitionableDevices:
            return ()
        if len({pool.scope for pool in view.pools}) < len(view.pools):
            return ()
        for device in view.devices:
            choices = (ask.chooser.choose(device.content) for ask in asks)
            if device.content.is_shared or any(isinstance(choice, SelectorFault) for choice in choices):
                return ()
        keys_of: dict[int, list[Key]] = {}
        for index, device in enumerate(view.devices):
            if device.content.consumes:
                pool = view.pool_of[index]
                known = self._state.available(pool).counters
                if keys := [(pool, *key) for key in device.content.consumes if key in known]:
                    keys_of[index] = keys
        return [self._group(members, keys_of) for members in connected(keys_of)]

    def _group(self, members: Sequence[int], keys_of: Mapping[int, Sequence[Key]]) -> CounterGroup:
        view, pool = self._view, self._view.pool_of[members[0]]
        counters, is_overdrawn = self._state.available(pool)
        keys = dict.fromkeys((counter_set, name) for index in members for _, counter_set, name in keys_of[index])
        places = {key: place for place, key in enumerate(keys)}
        consumes = [view.devices[index].content.consumes.items() for index in members]
        return CounterGroup(
            members,
            sum(1 << index for index in members),
            {(view.pools[pool].scope, key): counters[key] for key in keys},
            tuple([tuple([(places[key], amount) for key, amount in each if key in places]) for each in consumes]),
            is_overdrawn,
        )

    @cached_property
    def _grouped(self) -> int:
        """The devices in groups, as a bit set of places."""
        return sum(group.bits for group in self._groups)

    @property
    def is_worthwhile(self) -> bool:
        """Whether states recur often enough to be worth remembering."""
        return self._sought < _TRIAL or self._found * _WORTH > self._sought

    def note(self, key: Hashable, code: int, steps: int, visits: int) -> None:
        """Remember how the search ended from a state."""
        if self._size < _MOST:
            after = self._state.save() if self.leaves_traces else None
            self.known[key] = Memory(code, steps, visits, after)
            self._size += _STATE + _PART * (_parts(key) + _parts(after))

    def key(self, place: SearchPosition, claim: int) -> Hashable:
        """Return the key of a state."""
        state = self._state
        picks = state.picks
        if self.leaves_traces:
            used = tuple(sorted((number, pick.device) for number, each in enumerate(picks) for pick in each))
            return place, used, state.save()
        now, later = self._classes_at(place.position), self._classes_at(place.position + 1)
        grouped = self._grouped
        # A device may be used by one claim and, for its administrator, by others.
        by_claim = {pick.device: False for each in picks for pick in each if not grouped >> pick.device & 1}
        if self._has_admins:
            by_claim.update({pick.device: True for pick in picks[claim]})
        alike = []
        for index, is_by_claim in by_claim.items():
            is_ahead = index >= place.start
            class_ = (now if is_ahead else later)[index]
            if class_ is not None:
                shares = state.shares.get(index)
                taken = () if shares is None else tuple(sorted(shares.items()))
                alike.append((class_, is_ahead, is_by_claim, taken))
        alike.sort()
        constraints = tuple([each.compared(state.constraints[each]) for each in self._demand.claims[claim].constraints])
        if not grouped:
            return place, len(picks[claim]), tuple(alike), constraints, state.taken
        groups = self._by_group(place.start, now, later, place.position)
        has_others = self._others.get(place.position)
        if has_others is None:
            outside = (class_ for index, class_ in enumerate(now) if not grouped >> index & 1)
            has_others = self._others[place.position] = any(class_ is not None for class_ in outside)
        return place if has_others else place._replace(start=0), len(picks[claim]), tuple(alike), constraints, groups

    def _by_group(self, start: int, now: Sequence[int | None], later: Sequence[int | None], position: int) -> Hashable:
        """Return a number for each group of devices that share counters; groups with the same rest share a number."""
        used, consumed, found = self._state.used, self._state.consumed, []
        for number, group in enumerate(self._groups):
            first = bisect_left(group.members, start)
            key = number, used & group.bits, first, position
            kind = self._kinds.get(key)
            if kind is None:
                self._work(len(group.members) + len(group.left))
                out = used | self._view.taken
                left = tuple([amount - consumed.get(counter, 0) for counter, amount in group.left.items()])
                alike = []
                for place, (index, draw) in enumerate(zip(group.members, group.consumes, strict=True)):
                    fits = not group.is_overdrawn and all(amount <= left[counter] for counter, amount in draw)
                    alike.append((later if place < first else now)[index] if fits and not out >> index & 1 else None)
                kind = -1
                if any(each is not None for each in alike):
                    kind = self._numbers.setdefault((group.consumes, left, tuple(alike)), len(self._numbers))
                self._kinds[key] = kind
            found.append(kind)
        return tuple(sorted(found))

    def _classes_at(self, position: int) -> list[int | None]:
        """Return the class of each device; later requests treat devices of a class alike. None if none wants it."""
        order, after = self._demand.order, len(self._demand.order) - position
        while len(self._classes) <= after:
            check_deadline()
            request, later = order[-len(self._classes)], self._classes[-1]
            self._classes.append(
                [self._class(index, request.asks, class_) for index, class_ in enumerate(later)] if request else later
            )
        return self._classes[after]

    def _class(self, index: int, asks: Sequence[Ask], later: int | None) -> int | None:
        """Return the class of a device.

        Args:
            asks: The alternatives of the first request.
            later: The device's class for the requests after it.
        """
        view = self._view
        content = view.devices[index].content
        choices = [ask.chooser.choose(content) for ask in asks]
        if later is None and not any(choices):
            return None
        parts = (
            later,
            tuple(
                [
                    choice
                    and (
                        choice,
                        ask.tolerates(content),
                        ask.takes(content) is not None and tuple([each.of(content) for each in ask.constraints]),
                    )
                    for ask, choice in zip(asks, choices, strict=True)
                ]
            ),
            content.index if content.is_shared or content.capacity else None,
            (view.pool_of[index], tuple(content.consumes.items())) if content.consumes and not self._grouped else None,
            view.matches and view.matches[index],
            # How far upstream gets with all devices depends on the first of them that is in use.
            index if any(ask.is_all and choice for ask, choice in zip(asks, choices, strict=True)) else None,
            view.taken >> index & 1,
            tuple(sorted((view.capacity_used(index) or {}).items())),
        )
        return self._numbers.setdefault(parts, len(self._numbers))


def _parts(value: Any) -> int:
    """Count what a state consists of, in all depths."""
    if not isinstance(value, tuple | frozenset):
        return 1
    return 1 + sum(map(_parts, value))


def leaves_traces(demand: Demand, view: NodeView) -> bool:
    """Tell whether the devices tried before matter: undoing one may leave traces, or a constraint needs an order."""
    features, asks = view.variant.features, demand.asks
    for ask in asks:
        # The first of them in use decides whether upstream reaches a constraint before it; an expression that fails
        # is not reached before a constraint reads the attribute that it derives.
        if ask.derived or (ask.is_all and ask.constraints):
            return True
        if any(_depends_on_order(each, ask, view) for each in ask.constraints):
            return True
    shares = features.ConsumableCapacity and any(device.content.is_shared for device in view.devices)
    if shares and any(ask.is_all for ask in asks):
        return True
    if not view.consumes or not features.PartitionableDevices:
        return False
    if shares or features.CompatibilityGroups:
        return True
    return not view.variant.undoes_all and (
        any(ask.constraints for ask in asks)
        or any(
            ask.chooser.choose(device.content) is True and not ask.tolerates(device.content)
            for device in view.devices
            if device.content.consumes and device.content.taints
            for ask in asks
        )
    )


def _depends_on_order(constraint: Constraint, ask: Ask, view: NodeView) -> bool:
    """Tell whether a constraint may hold for the devices of a request in one order only."""
    if isinstance(constraint, Match):
        return constraint.with_lists
    if isinstance(constraint, Distinct) and all(constraint.of(each.content) != UNKNOWN for each in view.devices):
        return False  # a device whose value is unknown can only be the first one
    return ask.count > 1


# -- what a search has allocated so far

CompatibilityGroups = frozenset[str]
CounterSetKey = tuple[str, str]
"""A pool's name and a counter set."""
InCommon = dict[CounterSetKey, CompatibilityGroups | None]
"""The groups that the devices on each counter set have in common; None without devices."""


def declared(raw: JSONObject) -> Iterator[tuple[str, CompatibilityGroups]]:
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
    """The compatibility groups that the devices on each counter set have in common."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self.common: InCommon = {}
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

    def add(self, index: int) -> InCommon | None:
        """Put a device on its counter sets; return what these had in common before, None if it is not compatible."""
        pool, after = self._view.pools[self._view.pool_of[index]].name, InCommon()
        for name, groups in declared(self._view.devices[index].content.others):
            known = after.get((pool, name), self.common.get((pool, name)))
            if known is not None and not (known & groups if known and groups else known == groups):
                return None
            after[pool, name] = _joined(known, groups)
        before = {key: self.common.get(key) for key in after}
        self.common |= after
        return before

    @property
    def state(self) -> frozenset[tuple[CounterSetKey, CompatibilityGroups | None]]:
        """The entries of counter sets that have devices."""
        return frozenset(each for each in self.common.items() if each[1] is not None)


def _joined(known: CompatibilityGroups | None, groups: CompatibilityGroups) -> CompatibilityGroups:
    if known is None:
        return groups
    return known & groups if known and groups else known


Draw = tuple[bool, InCommon]
"""Whether a device has taken counters, and the groups that its counter sets had in common before."""
_NOTHING: Final[Draw] = False, {}


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
        self.demand, self.view, self.available = demand, view, available
        self._features = view.variant.features
        self._undoes_all = view.variant.undoes_all
        self.picks: list[list[Pick]] = [[] for _ in demand.claims]
        self.constraints: dict[Constraint, Any] = {
            each: each.start for claim in demand.claims for each in claim.constraints
        }
        """The states of the constraints."""
        self.used = 0
        """The devices allocated by this search, as a bit set of places."""
        self.shares: dict[int, dict[str, int]] = {}
        """The amounts taken of shared devices, by place and capacity."""
        self.consumed: dict[tuple[str, tuple[str, str]], int] = {}
        """The counters taken, by the pool's name, as upstream keeps them: whatever its driver."""
        self._common = Common(view) if self._features.CompatibilityGroups and view.consumes else None

    def blocked(self, ask: Ask) -> int:
        """Return the devices that are in use for a request, as a bit set of places."""
        if ask.is_admin:
            return sum(1 << pick.device for pick in self.picks[ask.claim] if pick.take is None)
        return self.view.taken | self.used

    def has_capacity(self, ask: Ask, index: int, *, is_unused: bool = False) -> bool:
        """Tell whether a device has the capacity left that a request wants (``CmpRequestOverCapacity``).

        Args:
            is_unused: Whether to take it as unused.
        """
        if not self._features.ConsumableCapacity:
            return True
        take = ask.takes(self.view.devices[index].content)
        if is_unused:
            return take is not None and take.fits()
        return take is not None and take.fits(self.view.capacity_used(index), self.shares.get(index))

    def allocate(self, ask: Ask, index: int) -> Pick | None:
        """Allocate a wanted device; None if it cannot be allocated.

        Raises:
            Stop: The request wants all devices, and a constraint rules this one out or the scheduler crashes.
        """
        content = self.view.devices[index].content
        is_shared = content.is_shared and self._features.ConsumableCapacity
        if self.blocked(ask) >> index & 1 or not (ask.is_all or self.has_capacity(ask, index)):
            return None
        draw = self._draw(ask, index, is_shared=is_shared) if content.consumes else _NOTHING
        if draw is None:
            return None
        is_tainted = self._features.DeviceTaints and not ask.tolerates(content)
        if is_tainted or (ask.constraints and not self._constrain(ask, index)):
            self._reject(index, draw)
            return None
        take = None
        is_first, used = index not in self.shares, self.used
        if not is_shared:
            self.used |= 1 << index
        else:
            if ask.is_all and not self.has_capacity(ask, index):
                if self._undoes_all:
                    self._release_constraints(ask, ask.constraints)
                self._reject(index, draw)
                return None
            take = ask.takes(content)
            shares = self.shares.setdefault(index, {})
            for name, amount in (take.amounts if take else {}).items():
                shares[name] = shares.get(name, 0) + amount
        pick = Pick(ask, index, take, used, draw, is_first)
        self.picks[ask.claim].append(pick)
        return pick

    def _draw(self, ask: Ask, index: int, *, is_shared: bool) -> Draw | None:
        """Take the counters that a device consumes, once for all its shares; None if they are not left.

        Raises:
            Stop: The scheduler crashes.
        """
        if not self._features.PartitionableDevices:
            return None
        if is_shared and (index in self.shares or self.view.capacity_used(index) is not None):
            return _NOTHING
        if ask.is_all and self.view.variant.crashes_for_all:
            said = f", request {ask.full_name}: asks for all devices, and device "
            consumes = " consumes counters"
            raise Stop(Complaint(ask.claim, said, "device", index, consumes, is_crash=True))
        if not self._consume(index):
            return None
        groups = {} if self._common is None else self._common.add(index)
        if groups is None:
            self._release(index)
            return None
        return True, groups

    def _reject(self, index: int, draw: Draw) -> None:
        """Give back what a device has drawn that is not allocated after all; before 1.36.3, it stays taken."""
        if self._undoes_all:
            has_counters, groups = draw
            self._restore_groups(groups)
            if has_counters:
                self._release(index)

    def undo(self, pick: Pick) -> None:
        """Undo the last device."""
        ask, index = pick.ask, pick.device
        self.picks[ask.claim].pop()
        has_counters, groups = pick.draw
        self._restore_groups(groups)
        self._release_constraints(ask, ask.constraints)
        self.used = pick.used
        if has_counters and (pick.take is None or self._undoes_all):
            self._release(index)
        if pick.take is not None and (self._undoes_all or pick.take.amounts):
            self._give_back(index, pick.take)
        if self._undoes_all and not pick.is_first:
            self.shares.setdefault(index, {})  # the earlier share still spares others the counters

    def _give_back(self, index: int, take: Take) -> None:
        """Give back the capacity taken of a shared device."""
        shares = self.shares.get(index)
        if shares is not None:
            for name in take.amounts.keys() & shares.keys():  # of a share of nothing, the names may be gone
                shares[name] -= take.amounts[name]
            if not any(shares.values()):
                del self.shares[index]

    def _restore_groups(self, groups: InCommon) -> None:
        if self._common is not None:
            self._common.common |= groups

    def _release_constraints(self, ask: Ask, constraints: Iterable[Constraint]) -> None:
        for each in constraints:
            self.constraints[each] = each.remove(self.constraints[each], ask.base)

    def _constrain(self, ask: Ask, index: int) -> bool:
        content, states = self.view.devices[index].content, self.constraints
        for count, each in enumerate(ask.constraints):
            after = each.add(states[each], ask.base, ask.value(each, content), index)
            if after is not None:
                states[each] = after
                continue
            if ask.is_all:
                text = f", request {ask.name}: cannot add device "
                why = " because a claim constraint would not be satisfied"
                raise Stop(Complaint(ask.claim, text, "device", index, why))
            self._release_constraints(ask, ask.constraints[:count])
            return False
        return True

    def _consume(self, index: int) -> bool:
        """Take counters for a device, if they are left."""
        view, consumed = self.view, self.consumed
        pool = view.pool_of[index]
        left = self.available(pool)
        name = view.pools[pool].scope
        is_enough = not left.is_overdrawn
        for key, amount in view.devices[index].content.consumes.items():
            total = consumed[name, key] = consumed.get((name, key), 0) + amount
            is_enough = is_enough and total <= left.counters.get(key, total)
        if not is_enough:
            self._release(index)
        return is_enough

    def _release(self, index: int) -> None:
        name = self.view.pools[self.view.pool_of[index]].scope
        for key, amount in self.view.devices[index].content.consumes.items():
            self.consumed[name, key] = self.consumed.get((name, key), 0) - amount

    # -- what memories are made of

    @property
    def taken(self) -> tuple[Hashable, ...]:
        """The counters taken, in order."""
        return tuple(sorted(each for each in self.consumed.items() if each[1]))

    def save(self) -> Any:
        """Return everything that an undone device can leave behind, for `restore`."""
        return (
            tuple(self.constraints.values()),
            self.taken,
            tuple((index, tuple(sorted(shares.items()))) for index, shares in sorted(self.shares.items())),
            None if self._common is None else self._common.state,
        )

    def restore(self, saved: Any) -> None:
        """Restore a saved state, except for the devices."""
        constraints, consumed, shares, common = saved
        self.constraints = dict(zip(self.constraints, constraints, strict=True))
        self.consumed = dict(consumed)
        self.shares = {index: dict(amounts) for index, amounts in shares}
        if self._common is not None:
            self._common.common = dict(common)


# -- the search

DONE: Final = 0
FAILED: Final = 1
EXCEEDED: Final = 2
"""A claim would get more devices than it may (``errAllocationResultMaxSizeExceeded``)."""

MOST_VISITS: Final = 1_000_000
"""The number of devices looked at before the search gives up: some seconds."""
_UPSTREAM_NANOS: Final = 10_000_000_000
"""How long the scheduler searches on a node before it gives up on the pod (DRA's filter timeout)."""
_STEP_NANOS: Final = 700
_VISIT_NANOS: Final = 400
"""The time that a step and a look at a device take upstream, from the recorded times."""
_STRIDE: Final = 10_000
"""The number of devices looked at between two checks of the clock."""
_REMEMBERED_AFTER: Final = 64
"""The steps after which states are remembered; most searches end before."""
GIVEN_UP: Final = Complaint(None, "node ", "node", after=": timed out trying to allocate devices")
"""The scheduler's error for a search that takes too long."""


_Steps = Generator[SearchPosition, Any, int]
"""A step, which yields those that it takes next, receives how each of them ends, and returns how it ends itself."""


class Outcome(NamedTuple):
    """How an attempt ends on a node; it names devices by their places, and so holds for all nodes with the same key.

    Args:
        picks: The devices by claim; None if nothing fits.
        chosen: The alternatives chosen, by the position of their request among all.
        steps: The number of calls of ``allocateOne`` that upstream needs.
        timed_out: Whether upstream would give up, as it searches longer than it may; true if draguard gave up.
        complaint: The error that ends it; None if it ends without one.
    """

    picks: tuple[tuple[Pick, ...], ...] | None = None
    chosen: Mapping[int, int] = {}
    steps: int = 0
    timed_out: bool = False
    complaint: Complaint | None = None


class Search:
    """One search on one node.

    Args:
        available: Returns what is left of the counters of a pool, by its place.
    """

    def __init__(self, demand: Demand, view: NodeView, available: Callable[[int], Available]) -> None:
        self._demand, self._view = demand, view
        self._every: dict[Ask, list[int]] = {}
        """The devices that requests for all devices get."""
        self._state = State(demand, view, available)
        self._memories = Memories(self._state, self._work)
        self._chosen: dict[int, int] = {}
        self._steps = self._visits = self._own_visits = 0

    def run(self) -> Outcome:
        """Check the claims, and look for devices for them.

        Raises:
            DeadlineExceededError: The deadline of the budget in force has passed.
        """
        picks = complaint = None
        try:
            self._check()
            if self._can_allocate(SearchPosition(0)):
                picks = tuple(map(tuple, self._state.picks))
        except Stop as stop:
            complaint = stop.complaint
        return Outcome(picks, self._chosen, self._steps, complaint is GIVEN_UP or self._is_late(), complaint)

    def _is_late(self) -> bool:
        """Estimate whether upstream needs longer for the search than it may; there may be 10**300 visits."""
        return self._steps * _STEP_NANOS + self._visits * _VISIT_NANOS > _UPSTREAM_NANOS

    def _check(self) -> None:
        """Check the claims before the search (``validateDeviceRequest``), and find all devices for those that want all.

        Raises:
            Stop: The attempt ends with an error of upstream's.
        """
        mixes_up = self._view.variant.mixes_up_alternatives
        least: dict[int, int] = {}
        """The fewest devices that each request of the claim wants."""
        last: Ask | None = None
        for check in self._demand.checks:
            if isinstance(check, Complaint):
                raise Stop(check)
            if isinstance(check, Ask):
                if check.is_all:
                    # Until 1.35 the second alternative of a request was cached under the index of the first.
                    is_first = mixes_up and check.alternative == 1 and last is not None and last.is_all
                    self._every[check] = self._all_devices(check, (last if last and is_first else check).chooser)
                last, wanted = check, self._wanted(check)
                least[check.place] = min(wanted, least.get(check.place, wanted))
            elif (total := sum(least.values())) > LIMIT:
                text = f": number of requested devices {total} exceeds the claim limit of {LIMIT}"
                raise Stop(Complaint(check, text))
            else:
                least.clear()

    def _all_devices(self, ask: Ask, chooser: Chooser) -> list[int]:
        """Return the devices that a request for all devices gets.

        Raises:
            Stop: A pool is incomplete or invalid, or a selector is wrong.
        """
        pools, is_unused = self._view.pools, self._view.variant.all_includes_used
        unusable = next((n for n, each in enumerate(pools) if each.is_incomplete or each.reason), len(pools))
        found = [
            index
            for index, place in enumerate(self._view.pool_of)
            if place < unusable
            and self._is_selectable(ask, chooser, index)
            and self._state.has_capacity(ask, index, is_unused=is_unused)
        ]
        if unusable < len(pools):
            state = "being updated" if pools[unusable].is_incomplete else "invalid"
            text = f", request {ask.name}: asks for all devices, but resource pool "
            goes_on = self._view.variant.goes_on
            raise Stop(Complaint(ask.claim, text, "pool", unusable, f" is currently {state}", is_of_node=goes_on))
        return found

    def _wanted(self, ask: Ask) -> int:
        """Return the number of devices that a request wants."""
        return len(self._every[ask]) if ask.is_all else ask.count

    def _can_allocate(self, at: SearchPosition) -> bool:
        """Tell whether a step and all that follow lead to devices, before upstream gives up.

        They are too many for Python's own stack.
        """
        taken = [self._allocate_one(at)]
        code: int | None = None
        while taken and not self._is_late():
            try:
                following = taken[-1].send(code)
            except StopIteration as end:
                code = end.value
                taken.pop()
            else:
                taken.append(self._allocate_one(following))
                code = None
        return code == DONE

    def _allocate_one(self, at: SearchPosition) -> _Steps:
        """Allocate the next device, and all that are wanted after it (``allocateOne``); no device if that fails."""
        self._steps += 1
        if at.position >= len(self._demand.order):
            return DONE
        request = self._demand.order[at.position]
        if request is None:
            # Too many devices for a later claim: fewer devices for this one may leave enough.
            return DONE if (yield at.next) == DONE else FAILED
        if request.has_alternatives and at.alternative is None:
            # The first alternative that leaves enough for the requests after it; EXCEEDED only if all are.
            codes: list[int] = []
            while DONE not in codes and len(codes) < len(request.asks):
                self._chosen[at.position] = len(codes)
                codes.append((yield at._replace(alternative=len(codes))))
            return min(codes)
        ask = request.asks[at.alternative or 0]
        wanted = self._wanted(ask)
        if at.number >= wanted:
            is_none = ask.is_all and not wanted and self._view.variant.needs_one
            code: int = FAILED if is_none else (yield at.next)
            return code
        if len(self._state.picks[ask.claim]) + wanted - at.number > LIMIT:
            return EXCEEDED
        is_remembered = self._steps > _REMEMBERED_AFTER and self._memories.is_worthwhile
        return (yield from (self._recall if is_remembered else self._allocate_device)(ask, at))

    def _recall(self, ask: Ask, at: SearchPosition) -> _Steps:
        """Return the end of the search from an equal state before; else search, and remember the end."""
        memories = self._memories
        # Before the first failure nothing is known; the key can be made once this fails, if undoing leaves no traces.
        key = memories.key(at, ask.claim) if memories.known or memories.leaves_traces else None
        if key and (memory := memories.recall(key)):
            self._steps += memory.steps
            self._visits += memory.visits
            return memory.code
        steps, visits = self._steps, self._visits
        code = yield from self._allocate_device(ask, at)
        if code != DONE:
            memories.note(key or memories.key(at, ask.claim), code, self._steps - steps, self._visits - visits)
        return code

    def _allocate_device(self, ask: Ask, at: SearchPosition) -> _Steps:
        """Try devices for a request until the rest can be allocated, too."""
        variant = self._view.variant
        alternative = 0 if ask.is_all and variant.mixes_up_alternatives else at.alternative
        for index in self._candidates(ask, at):
            if pick := self._state.allocate(ask, index):
                start = index + 1 if variant.is_sorted and not ask.is_all else 0
                code = yield SearchPosition(at.position, alternative, at.number + 1, start)
                if code == DONE:
                    return DONE
                self._state.undo(pick)
                if code == EXCEEDED:
                    return EXCEEDED
        return FAILED

    def _candidates(self, ask: Ask, at: SearchPosition) -> Iterator[int]:
        """Yield the devices that may be the next one for a request: those that are free and selected.

        Raises:
            Stop: A selector or pool ends the search with an error.
        """
        if ask.is_all:  # their order does not matter: if this one cannot be had, no other helps
            self._visits += 1
            yield self._every[ask][at.number]
            return
        begin, end = at.start, len(self._view.devices)
        blocked = self._state.blocked(ask)
        for index in range(begin, end):
            if not blocked >> index & 1 and self._is_selectable(ask, ask.chooser, index):
                self._visits += index + 1 - begin
                self._work(index + 1 - begin)
                begin = index + 1
                yield index
        if self._view.broken:
            raise Stop(Complaint(None, self._view.broken))
        self._visits += end - begin
        self._work(end - begin)

    def _is_selectable(self, ask: Ask, chooser: Chooser, index: int) -> bool:
        """Tell whether selectors select a device, and it is for the node (``isSelectable``).

        Raises:
            Stop: A selector fails.
        """
        view = self._view
        choice = chooser.choose(view.devices[index].content)
        if choice is False:
            return False
        if choice is not True:
            name = (ask.class_.get("metadata") or {}).get("name", "") if choice.of_class else ""
            before = f"{f'class {name}' if choice.of_class else ''}: selector #{choice.place}"
            fault = choice.detail
            complaint = Complaint(ask.claim, f"{before}: {fault}", missing=fault.missing, of_class=name)
            if view.variant.names_devices and fault.is_runtime:
                complaint = complaint._replace(
                    before=f"{before} on device ", kind="device", item=index, after=f": {fault}"
                )
            raise Stop(complaint)
        match = True if view.matches is None else view.matches[index]
        if isinstance(match, str):
            raise Stop(Complaint(None, match))
        return match

    def _work(self, visits: int) -> None:
        """Count devices that are looked at.

        Raises:
            Stop: They are too many.
        """
        before = self._own_visits
        self._own_visits += visits
        if self._own_visits > MOST_VISITS:
            raise Stop(GIVEN_UP)
        if before // _STRIDE != self._own_visits // _STRIDE:
            check_deadline()
