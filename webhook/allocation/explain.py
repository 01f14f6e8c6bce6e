"""Explains why claims get no devices: how many devices are left after each condition of a request."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, Final

from webhook.allocation.compatibility import Common
from webhook.allocation.constraints import UNKNOWN, Attribute, Constraint, Distinct, DistinctDevices, Match, Value
from webhook.allocation.demand import Ask, Demand, Stop
from webhook.allocation.devices import Content, Device, quantity_text
from webhook.allocation.lacks import Lack, lack_of_capacity
from webhook.allocation.unused import Unused
from webhook.allocation.usage import Available
from webhook.allocation.view import NodeView
from webhook.objects import JSONObject
from webhook.records import NamedTuple

_COUNTERS_MAX: Final = 3
"""The number of counters that are named."""

_SharedCounter = tuple[int, str, str]
"""The place of the pool, the counter set and the name of a counter."""


class _Together(NamedTuple):
    """Shared counters that do not suffice for all devices that a request wants.

    Args:
        devices: The number of devices that they suffice for, at most.
        text: The lack of each counter.
    """

    devices: int
    text: str


class _Drawers:
    """Devices of which each shares a counter with another one, directly or through others.

    Args:
        devices: The amounts that each consumes.
        free: Returns the amount that is left of a counter; None if it is not known.
    """

    def __init__(
        self, devices: Sequence[Mapping[_SharedCounter, int]], free: Callable[[_SharedCounter], int | None]
    ) -> None:
        self.number = len(devices)
        amounts: defaultdict[_SharedCounter, list[int]] = defaultdict(list)
        for each in devices:
            for counter, amount in each.items():
                amounts[counter].append(amount)
        self._least = {counter: [*accumulate(sorted(several))] for counter, several in amounts.items()}
        """What the devices that consume least consume together: one of them, two, and so on."""
        self._left = {
            counter: least[-1] if (left := free(counter)) is None else left for counter, least in self._least.items()
        }

    @property
    def fits(self) -> int:
        """The number of devices that the counters suffice for, each counter alone."""
        return min(
            self.number - len(least) + sum(total <= self._left[counter] for total in least)
            for counter, least in self._least.items()
        )

    def lacks(self, wanted: int) -> Iterable[str]:
        """Describe the counters that do not suffice for some of the devices."""
        wanted = min(wanted, self.number)
        for counter, least in self._least.items():
            drawing = wanted - (self.number - len(least))  # the others do without the counter
            if drawing > 0 and (needed := least[drawing - 1]) > (left := self._left[counter]):
                _, counter_set, name = counter
                amounts = f"{quantity_text(left)} is left, {wanted} devices consume {quantity_text(needed)} at least"
                yield f"counter {name} of {counter_set}: {amounts}"


def together(
    wanted: int, devices: Sequence[Mapping[_SharedCounter, int]], free: Callable[[_SharedCounter], int | None]
) -> _Together | None:
    """Return how many devices their counters suffice for, and what they lack; None if there is enough of each counter.

    Args:
        wanted: The number of devices that are wanted.
        devices: The amounts that each device consumes.
        free: Returns the amount that is left of a counter; None if it is not known.
    """
    drawers = [_Drawers(several, free) for several in _sharing([each for each in devices if each])]
    fits = sum(not each for each in devices) + sum(each.fits for each in drawers)
    lacks = [text for each in drawers for text in each.lacks(wanted - fits + each.fits)]
    if not lacks:
        return None
    more = [f"and {len(lacks) - _COUNTERS_MAX} more counters"] if len(lacks) > _COUNTERS_MAX else []
    return _Together(fits, "; ".join([*lacks[:_COUNTERS_MAX], *more]))


def _sharing(devices: Sequence[Mapping[_SharedCounter, int]]) -> Iterable[list[Mapping[_SharedCounter, int]]]:
    """Group devices that share counters, directly or through others."""
    chief: dict[_SharedCounter, _SharedCounter] = {}

    def root(counter: _SharedCounter) -> _SharedCounter:
        while (above := chief.setdefault(counter, counter)) != counter:
            chief[counter] = counter = chief[above]  # halves the way for the next one
        return counter

    for each in devices:
        first, *others = each
        for other in others:
            chief[root(other)] = root(first)
    found: defaultdict[_SharedCounter, list[Mapping[_SharedCounter, int]]] = defaultdict(list)
    for each in devices:
        found[root(next(iter(each)))].append(each)
    return found.values()


CLASS: Final = "class"
SELECTOR: Final = "selector"
NODE: Final = "node"
ELSEWHERE: Final = "elsewhere"
IN_USE: Final = "in use"
TAINT: Final = "taint"
CAPACITY: Final = "capacity"
COUNTERS: Final = "counters"
CONSTRAINT: Final = "constraint"

_COMPARED_MAX: Final = 256
"""For how many devices a constraint on different values is looked at."""


class DeviceReason(NamedTuple):
    """Why a request cannot have a device.

    Args:
        stage: The stage that rules it out: ``class``, ``selector``, ``node``, ``in use``, ``taint``, ``capacity``,
            ``counters`` or ``constraint``; empty if none does.
        text: The reason, such as ``taint broken=yes:NoSchedule is not tolerated``.
        holders: The claims that use it, its capacity, or the counters that it draws on, as namespace/name, if they are
            the reason.
        lacks: The insufficient capacity, or all insufficient counters, if they are the reason.
        taints: The taints that are not tolerated, if they are the reason.
    """

    driver: str
    pool: str
    device: str
    stage: str
    text: str
    holders: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()
    taints: tuple[JSONObject, ...] = ()


class Funnel:
    """The number of a node's devices left for a request, stage by stage; each stage is a subset of the one before.

    Args:
        names: The claims, as namespace/name.
        demand: The requests of the claims.
        ask: The request, or the subrequest of ``firstAvailable``.
        left: Returns the remaining counters of a pool, by its place.
        unused: The pools that have devices for the node but cannot be used there.
        known: The stages of requests on nodes so far; nodes with equal keys share them.
    """

    __slots__ = ("_ask", "_common", "_demand", "_left", "_names", "_stages", "_unused", "_view")

    def __init__(
        self,
        names: Sequence[str],
        demand: Demand,
        ask: Ask,
        view: NodeView,
        *,
        left: Callable[[int], Available],
        unused: Sequence[Unused],
        known: dict[Hashable, list[int]],
    ) -> None:
        self._unused = unused
        self._names = names
        self._demand = demand
        self._ask = ask
        self._view = view
        self._left = left
        self._common = Common(view) if view.variant.features.CompatibilityGroups else None
        key = ask, view.key(), "" if view.is_like_others else view.node
        if key not in known:
            known[key] = self._find_stages()
        self._stages = known[key]

    def _find_stages(self) -> list[int]:
        tests = (self._is_of_class, self._is_selected, self._is_free, self._is_tolerated, self._is_enough)
        matches = self._view.matches
        stage = (1 << len(self._view.devices)) - 1
        if matches is not None:  # slices that state the node of each device
            stage = sum(1 << index for index, is_for_node in enumerate(matches) if is_for_node is True)
        found = [stage]
        for test in tests:
            stage = sum(1 << index for index in _places(stage) if test(index))
            found.append(stage)
        return found

    def depths(self) -> Iterator[tuple[Device, int]]:
        """Yield each device of the node, with the number of stages that it passes."""
        for index, device in enumerate(self._view.devices):
            yield device, sum(stage >> index & 1 for stage in self._stages)

    @property
    def ask(self) -> Ask:
        """The request, as the search reads it."""
        return self._ask

    @property
    def view(self) -> NodeView:
        """The node."""
        return self._view

    @property
    def places(self) -> list[int]:
        """The places of the devices that the request could have, each alone."""
        return list(_places(self._stages[5]))

    @property
    def least(self) -> int:
        """The number of devices that it wants; for all devices, those that it selects, and at least one."""
        return max(1, self._stages[2].bit_count()) if self.wanted is None else self.wanted

    def left(self, pool: int) -> Available:
        """Return the remaining counters of a pool, by its place."""
        return self._left(pool)

    def constraint(self, number: int) -> tuple[type[Constraint], Attribute]:
        """Return a constraint of the request's claim, by its place."""
        return self._demand.claims[self._ask.claim].constraints[number]

    def content(self, index: int) -> Content:
        """Return the content of a device, by its place."""
        return self._view.devices[index].content

    @property
    def claim(self) -> str:
        """The claim, as namespace/name."""
        return self._names[self._ask.claim]

    @property
    def request(self) -> str:
        """The request; for an alternative, ``request/subrequest``."""
        return self._ask.full_name

    @property
    def wanted(self) -> int | None:
        """The number of devices that it wants; None for all."""
        return None if self._ask.is_all else self._ask.count

    @property
    def seen(self) -> int:
        """The number of devices that the node can use, in complete and valid pools."""
        return self._stages[0].bit_count()

    @property
    def of_class(self) -> int:
        """The number of them that belong to the class."""
        return self._stages[1].bit_count()

    @property
    def selected(self) -> int:
        """The number of those that the request selects."""
        return self._stages[2].bit_count()

    @property
    def free(self) -> int:
        """The number of those that are not in use."""
        return self._stages[3].bit_count()

    @property
    def tolerated(self) -> int:
        """The number of those whose taints, if any, the request tolerates."""
        return self._stages[4].bit_count()

    @property
    def enough(self) -> int:
        """The number of those that have enough capacity and counters left, each alone."""
        return self._stages[5].bit_count()

    @property
    def constrained(self) -> int | None:
        """The number of those that the claim's constraints allow together; None without constraints.

        Each constraint is considered alone, and other requests are ignored.
        """
        counts = [self._most(number) for number in self._ask.constraints]
        return min(counts, default=None)

    @property
    def strictest(self) -> int | None:
        """The constraint that allows the fewest devices together, by place; None without constraints."""
        return min(self._ask.constraints, key=self._most, default=None)

    @property
    def is_met(self) -> bool:
        """Whether the request could be met, if it were the only one, as far as numbers tell."""
        limits = (self.enough, self.constrained)
        return all(each is None or each >= self.least for each in limits) and self.together is None

    @property
    def together(self) -> _Together | None:
        """The number of devices that shared counters suffice for, and their lack; None if each counter suffices."""
        view, places = self._view, self.places
        if not view.consumes or any(self.content(index).is_shared for index in places):
            return None
        drawing = [
            {(view.pool_of[index], *key): amount for key, amount in self.content(index).consumes.items()}
            for index in places
        ]
        return together(len(places) if self.wanted is None else self.wanted, drawing, self._free)

    def _free(self, counter: _SharedCounter) -> int | None:
        pool, counter_set, name = counter
        return self._left(pool).counters.get((counter_set, name))

    @property
    def unused(self) -> list[Unused]:
        """The pools that have devices of the class but cannot be used."""
        chooser = self._ask.chooser
        return [each for each in self._unused if any(chooser.is_of_class(one) is True for one in each.contents)]

    @property
    def of_others(self) -> list[Unused]:
        """The pools that have devices for the node, none of them of the class, and cannot be used."""
        own = self.unused
        return [each for each in self._unused if each not in own]

    @property
    def key(self) -> Hashable:
        """A key that is the same for nodes that look alike."""
        stages = tuple(stage.bit_count() for stage in self._stages)
        return self._ask, stages, self.constrained, self.together, tuple(each.why for each in self.unused)

    def reasons(self) -> list[DeviceReason]:
        """Return why each device is ruled out, in the order in which they are tried."""
        found = []
        for index, device in enumerate(self._view.devices):
            stage, text = self._reason(index)
            driver, pool = device.slice.driver, device.slice.pool
            holders = self._holders(index, stage)
            lacks = self._lacks(index, stage)
            taints = tuple(self._ask.untolerated(device.content)) if stage == TAINT else ()
            found.append(DeviceReason(driver, pool, device.name, stage, text, holders, lacks, taints))
        return found

    def rivals(self) -> Iterator[DeviceReason]:
        """Yield the devices that could be had, each alone, with the claims that share their capacity or counters."""
        for index in self.places:
            device = self._view.devices[index]
            holders = dict.fromkeys((*self._holders(index, CAPACITY), *self._holders(index, COUNTERS)))
            yield DeviceReason(device.slice.driver, device.slice.pool, device.name, COUNTERS, "", tuple(holders))

    def _lacks(self, index: int, stage: str) -> tuple[Lack, ...]:
        """Return the capacity or counters that rule out a device."""
        if stage == COUNTERS:
            return self._lacks_counters(index)
        lack = self._lacks_capacity(index) if stage == CAPACITY else None
        return (lack,) if lack else ()

    def _holders(self, index: int, stage: str) -> tuple[str, ...]:
        """Return the claims whose use of a device, its capacity or counters rules it out."""
        device, holders = self._view.devices[index], self._view.usage_of(index).holders
        if stage == IN_USE or (stage == CAPACITY and not self._lacks_capacity(index, is_unused=True)):
            return tuple(holders.get(device.name, ()))
        if stage != COUNTERS or not holders or not self._view.variant.features.PartitionableDevices:
            return ()
        pool, sets = self._view.pools[self._view.pool_of[index]], _counter_sets(device)
        alike = [
            each.name
            for slice_ in (*pool.slices, *pool.others)
            for each in slice_.devices
            if each.name in holders and not sets.isdisjoint(_counter_sets(each))
        ]
        return tuple(dict.fromkeys(holder for name in alike for holder in holders[name]))

    # -- the stages

    def _is_of_class(self, index: int) -> bool:
        return self._ask.chooser.is_of_class(self.content(index)) is True

    def _is_selected(self, index: int) -> bool:
        # A request for all devices does not want those with too little capacity.
        is_wanted = not self._ask.is_all or not self._lacks_capacity(index)
        return is_wanted and self._ask.chooser.choose(self.content(index)) is True

    def _is_free(self, index: int) -> bool:
        return self._ask.is_admin or not self._view.taken >> index & 1

    def _is_tolerated(self, index: int) -> bool:
        return not self._view.variant.features.DeviceTaints or self._ask.tolerates(self.content(index))

    def _is_enough(self, index: int) -> bool:
        return not self._lacks_capacity(index) and not self._lacks_counters(index)

    def _lacks_capacity(self, index: int, *, is_unused: bool = False) -> Lack | None:
        content, view = self.content(index), self._view
        if not view.variant.features.ConsumableCapacity:
            return None
        used = None if is_unused else view.capacity_used(index)
        return lack_of_capacity(content.capacity, self._ask.wanted_of(content), self._ask.takes(content), used)

    def _lacks_counters(self, index: int) -> tuple[Lack, ...]:
        content, view = self.content(index), self._view
        if not content.consumes:
            return ()
        if not view.variant.features.PartitionableDevices:
            return (Lack("devices consume counters, and the DRAPartitionableDevices feature is disabled"),)
        if content.is_shared and view.capacity_used(index) is not None:
            return ()
        if self._common is not None:
            before = self._common.add(index)
            if before is None:
                return (Lack("devices in use draw on the same counters and have no compatibility group in common"),)
            self._common.restore(before)
        left = self._left(view.pool_of[index])
        found = []
        for (counter_set, name), amount in content.consumes.items():
            free = left.counters.get((counter_set, name), amount)
            if amount > free:
                texts = quantity_text(free), quantity_text(amount)
                text = f"counter {name} of {counter_set}: {texts[0]} is left, {texts[1]} is consumed"
                found.append(Lack(text, name, *texts, counter_set))
        if not found and left.is_overdrawn:
            return (Lack("the pool's counters are overdrawn"),)
        return tuple(found)

    def _most(self, number: int) -> int:
        """Return how many of the devices a constraint allows together, at most."""
        kind, attribute = self.constraint(number)
        known = (self._value(attribute, index) for index in _places(self._stages[5]))
        values = [each if isinstance(each, frozenset) else frozenset({each}) for each in known if each is not None]
        if issubclass(kind, DistinctDevices) or (issubclass(kind, Distinct) and len(values) > _COMPARED_MAX):
            return len(values)
        if issubclass(kind, Match):
            alike = Counter(chain.from_iterable(values))
            return max((1 if value == UNKNOWN else count for value, count in alike.items()), default=0)
        if not self._view.variant.is_sorted:
            largest = max(Counter(chain.from_iterable(values)).values(), default=0)
            return min(len(values), 2 * (len(values) - largest) + 1)
        # A device is compared only with the one before it, as Distinct remembers no other of the request.
        chains: list[int] = []
        for value in values:
            before = (
                length
                for length, each in zip(chains, values, strict=False)
                if UNKNOWN not in value and not each & value
            )
            chains.append(1 + max(before, default=0))
        return max(chains, default=0)

    def _value(self, attribute: Attribute, index: int) -> Value | None:
        try:
            return self._ask.value(attribute, self.content(index))
        except Stop:
            return None

    def _reason(self, index: int) -> tuple[str, str]:
        matches = self._view.matches
        if matches is not None and matches[index] is not True:
            return ELSEWHERE, "it is for other nodes"
        choice = self._ask.chooser.first_false(self.content(index))
        if choice is not None:
            stage = CLASS if choice.of_class else SELECTOR
            whose = f"class {self._ask.class_['metadata']['name']}" if choice.of_class else "the request"
            return stage, f"selector #{choice.place} of {whose}{f': {choice.detail}' if choice.detail else ' is false'}"

        def capacity(index: int) -> str:
            lack = self._lacks_capacity(index)
            return lack.text if lack else ""

        tests = {
            NODE: self._not_bound,
            **({CAPACITY: capacity} if self._ask.is_all else {}),
            IN_USE: lambda index: "" if self._is_free(index) else "it is in use",
            TAINT: self._tainted,
            CAPACITY: capacity,
            COUNTERS: lambda index: "; ".join(each.text for each in self._lacks_counters(index)),
            CONSTRAINT: self._lacks_attribute,
        }
        return next(((stage, text) for stage, test in tests.items() if (text := test(index))), ("", ""))

    def _not_bound(self, index: int) -> str:
        if self._ask.chooser.choose(self.content(index)) is True:
            return ""
        return "it has binding conditions, and the feature gate DRADeviceBindingConditions is off"

    def _tainted(self, index: int) -> str:
        if self._is_tolerated(index):
            return ""
        taints = [_shown(each) for each in self._ask.untolerated(self.content(index))]
        return (
            f"taint {taints[0]} is not tolerated"
            if len(taints) == 1
            else (f"taints {', '.join(taints)} are not tolerated")
        )

    def _lacks_attribute(self, index: int) -> str:
        for number in self._ask.constraints:
            attribute = self.constraint(number)[1]
            if self._value(attribute, index) is None:
                return f"attribute {attribute.name}, which a constraint compares, is not published"
        return ""


def _counter_sets(device: Device) -> set[str]:
    return {counter_set for counter_set, _ in device.content.consumes}


def _shown(taint: Mapping[str, Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _places(devices: int) -> Iterator[int]:
    while devices:
        lowest = devices & -devices
        yield lowest.bit_length() - 1
        devices ^= lowest
