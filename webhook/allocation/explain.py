"""Explains why claims get no devices: how many devices are left after each condition of a request."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.allocation.constraints import Match
from webhook.allocation.demand import Stop
from webhook.allocation.devices import quantity_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from webhook.allocation.constraints import Attribute, Value
    from webhook.allocation.demand import Ask, Demand
    from webhook.allocation.devices import Content, Device
    from webhook.allocation.unused import Unused
    from webhook.allocation.usage import Available
    from webhook.allocation.view import NodeView

CLASS: Final = "class"
SELECTOR: Final = "selector"
NODE: Final = "node"
IN_USE: Final = "in use"
TAINT: Final = "taint"
CAPACITY: Final = "capacity"
COUNTERS: Final = "counters"
CONSTRAINT: Final = "constraint"


class Lack(NamedTuple):
    """A capacity or counter of which too little is left.

    Args:
        text: The reason, such as ``capacity memory: 10Gi is left, 20Gi is wanted``.
        name: The capacity or counter.
        left: The amount of it that is left, as a quantity.
    """

    text: str
    name: str = ""
    left: str = ""


class DeviceReason(NamedTuple):
    """Why a request cannot have a device.

    Args:
        driver: The device's driver.
        pool: Its pool.
        device: Its name.
        stage: The stage that rules it out: ``class``, ``selector``, ``node``, ``in use``, ``taint``, ``capacity``,
            ``counters`` or ``constraint``; empty if none does.
        text: The reason, such as ``taint broken=yes:NoSchedule is not tolerated``.
        holders: The claims that use it, its capacity, or the counters that it draws on, as namespace/name, if they are
            the reason.
        lacks: The insufficient capacity or counter; None if that is not the reason.
    """

    driver: str
    pool: str
    device: str
    stage: str
    text: str
    holders: tuple[str, ...] = ()
    lacks: Lack | None = None


class Funnel:
    """The number of a node's devices left for a request, stage by stage; each stage is a subset of the one before.

    Args:
        names: The claims, as namespace/name.
        demand: The requests of the claims.
        ask: The request, or the subrequest of ``firstAvailable``.
        view: The node.
        left: Returns the remaining counters of a pool, by its place.
        unused: The pools that have devices for the node but cannot be used there.
        known: The stages of requests on nodes so far; nodes with equal keys share them.
    """

    __slots__ = ("_ask", "_demand", "_left", "_names", "_stages", "_unused", "_view")

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
        key = ask, view.key(), "" if view.is_like_others else view.node
        if key not in known:
            known[key] = self._find_stages()
        self._stages = known[key]

    def _find_stages(self) -> list[int]:
        tests = (self._is_of_class, self._is_selected, self._is_free, self._is_tolerated, self._is_enough)
        stage = (1 << len(self._view.devices)) - 1
        found = [stage]
        for test in tests:
            stage = sum(1 << index for index in _places(stage) if test(index))
            found.append(stage)
        return found

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
        """The number of those that the request selects; node selection of single devices counts as a selector."""
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
    def together(self) -> tuple[int, str] | None:
        """The number of devices that a shared counter suffices for, and its lack; None if each counter suffices."""
        view, places = self._view, list(_places(self._stages[5]))
        if not view.consumes or any(self._content(index).is_shared for index in places):
            return None
        wanted = len(places) if self.wanted is None else self.wanted
        consumed: dict[tuple[int, tuple[str, str]], list[int]] = {}
        for index in places:
            for key, amount in self._content(index).consumes.items():
                consumed.setdefault((view.pool_of[index], key), []).append(amount)
        for (pool, key), amounts in consumed.items():
            others = len(places) - len(amounts)  # they do without the counter
            totals = list(accumulate(sorted(amounts)))
            free = self._left(pool).counters.get(key, totals[-1])
            needed = totals[min(wanted - others, len(totals)) - 1] if wanted > others else 0
            if needed > free:
                fits = others + sum(total <= free for total in totals)
                counter = f"counter {key[1]} of {key[0]}: {quantity_text(free)} is left"
                return fits, f"{counter}, {wanted} devices consume {quantity_text(needed)} at least"
        return None

    @property
    def unused(self) -> list[Unused]:
        """The pools that have devices of the class but cannot be used."""
        chooser = self._ask.chooser
        return [each for each in self._unused if any(chooser.is_of_class(one) is True for one in each.contents)]

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
            lacks = self._lacks_capacity(index) if stage == CAPACITY else None
            found.append(DeviceReason(driver, pool, device.name, stage, text, holders, lacks))
        return found

    def _holders(self, index: int, stage: str) -> tuple[str, ...]:
        """Return the claims whose use of a device, its capacity or counters rules it out."""
        device, holders = self._view.devices[index], self._view.usage_of(index).holders
        if stage in {IN_USE, CAPACITY}:
            return tuple(holders.get(device.name, ()))
        if stage != COUNTERS or not holders:
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

    def _content(self, index: int) -> Content:
        return self._view.devices[index].content

    def _is_of_class(self, index: int) -> bool:
        return self._ask.chooser.is_of_class(self._content(index)) is True

    def _is_selected(self, index: int) -> bool:
        matches = self._view.matches
        chosen = self._ask.chooser.choose(self._content(index)) is True
        return chosen and (matches is None or matches[index] is True)

    def _is_free(self, index: int) -> bool:
        return self._ask.is_admin or not self._view.taken >> index & 1

    def _is_tolerated(self, index: int) -> bool:
        return not self._view.variant.features.DeviceTaints or self._ask.tolerates(self._content(index))

    def _is_enough(self, index: int) -> bool:
        return not self._lacks_capacity(index) and not self._lacks_counters(index)

    def _lacks_capacity(self, index: int) -> Lack | None:
        content, view = self._content(index), self._view
        if not view.variant.features.ConsumableCapacity:
            return None
        take = self._ask.takes(content)
        if take is None:
            missing = next(name for name in self._ask.requests or () if name not in content.capacity)
            return Lack(f"there is no capacity {missing}")
        used = view.capacity_used(index) or {}
        for name, amount in take.amounts.items():
            free = take.limits[name] - used.get(name, 0)
            if amount > free:
                left = quantity_text(free)
                return Lack(f"capacity {name}: {left} is left, {take.texts[name]} is wanted", name, left)
        if take.is_allowed:
            return None
        return Lack("the device's policy does not allow such a share of its capacity")

    def _lacks_counters(self, index: int) -> str:
        content, view = self._content(index), self._view
        if not content.consumes:
            return ""
        if not view.variant.features.PartitionableDevices:
            return "it consumes counters, and the DRAPartitionableDevices feature is disabled"
        if content.is_shared and view.capacity_used(index) is not None:
            return ""
        left = self._left(view.pool_of[index])
        for (counter_set, name), amount in content.consumes.items():
            free = left.counters.get((counter_set, name), amount)
            if amount > free:
                wanted = quantity_text(amount)
                return f"counter {name} of {counter_set}: {quantity_text(free)} is left, {wanted} is consumed"
        return "the pool's counters are overdrawn" if left.is_overdrawn else ""

    def _most(self, number: int) -> int:
        kind, attribute = self._demand.claims[self._ask.claim].constraints[number]
        groups: dict[Hashable, int] = {}
        for index in _places(self._stages[5]):
            value = self._value(attribute, index)
            if value is not None:
                groups[value] = groups.get(value, 0) + 1
        return max(groups.values(), default=0) if issubclass(kind, Match) else len(groups)

    def _value(self, attribute: Attribute, index: int) -> Value | None:
        try:
            return self._ask.value(attribute, self._content(index))
        except Stop:
            return None

    def _reason(self, index: int) -> tuple[str, str]:
        content = self._content(index)
        choice = self._ask.chooser.first_false(content)
        if choice is not None:
            stage = CLASS if choice.of_class else SELECTOR
            whose = f"class {self._ask.class_['metadata']['name']}" if choice.of_class else "the request"
            return stage, f"selector #{choice.place} of {whose}{f': {choice.detail}' if choice.detail else ' is false'}"
        if not self._is_selected(index):
            return NODE, "it is not for this node, or must be bound, and the feature for that is disabled"
        if not self._is_free(index):
            return IN_USE, "it is in use"
        if not self._is_tolerated(index):
            taints = [_shown(each) for each in content.taints]
            return TAINT, f"taint {taints[0]} is not tolerated" if len(taints) == 1 else (
                f"taints {', '.join(taints)} are not tolerated"
            )
        if lack := self._lacks_capacity(index):
            return CAPACITY, lack.text
        lacks = {COUNTERS: self._lacks_counters, CONSTRAINT: self._lacks_attribute}
        return next(((stage, text) for stage, test in lacks.items() if (text := test(index))), ("", ""))

    def _lacks_attribute(self, index: int) -> str:
        for number in self._ask.constraints:
            attribute = self._demand.claims[self._ask.claim].constraints[number][1]
            if self._value(attribute, index) is None:
                return f"there is no attribute {attribute.name}, which a constraint is about"
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
