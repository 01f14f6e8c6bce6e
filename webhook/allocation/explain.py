"""Explains why claims get no devices: how many are left after each condition of a request, or for all requests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import Final, NamedTuple

from webhook.allocation.capacity import Lack, lack_of_capacity
from webhook.allocation.demand import (
    Ask,
    Constraint,
    Distinct,
    DistinctRequests,
    Match,
    Stop,
    Value,
)
from webhook.allocation.devices import Content, Device, Taint, quantity_text, written
from webhook.allocation.pools import Available, NodeView
from webhook.allocation.search import Common, Key, connected
from webhook.grouping import by_key
from webhook.spelling import some_of


class _Together(NamedTuple):
    """Shared counters that do not suffice for all devices that a request wants.

    Args:
        devices: The number of devices that they suffice for, at most.
        text: The lack of each counter.
    """

    devices: int
    text: str


def together(wanted: int, devices: Sequence[Mapping[Key, int]], free: Callable[[Key], int | None]) -> _Together | None:
    """Return how many devices their counters suffice for, and what they lack; None if each counter suffices.

    Args:
        devices: The amounts that each consumes, by counter.
        free: Returns the amount that is left of a counter; None if it is not known.
    """
    groups: list[tuple[int, int, dict[Key, list[int]], dict[Key, int]]] = []
    for several in connected({index: each.keys() for index, each in enumerate(devices) if each}):
        amounts: defaultdict[Key, list[int]] = defaultdict(list)
        for counter, amount in (each for index in several for each in devices[index].items()):
            amounts[counter].append(amount)
        # For each counter, the least that one device, two devices and so on consume together.
        least = {counter: [*accumulate(sorted(each))] for counter, each in amounts.items()}
        left = {counter: each[-1] if (known := free(counter)) is None else known for counter, each in least.items()}
        number = len(several)
        enough = min(number - len(each) + sum(n <= left[counter] for n in each) for counter, each in least.items())
        groups.append((number, enough, least, left))
    fits = sum(not each for each in devices) + sum(enough for _, enough, *_ in groups)
    lacks = []
    for number, enough, least, left in groups:
        of_group = min(wanted - fits + enough, number)
        for counter, each in least.items():
            drawing = of_group - (number - len(each))  # the others do without the counter
            if drawing > 0 and (needed := each[drawing - 1]) > left[counter]:
                _, counter_set, name = counter
                consumed = f"{of_group} devices consume {quantity_text(needed)} at least"
                lacks.append(f"counter {name} of {counter_set}: {quantity_text(left[counter])} is left, {consumed}")
    if not lacks:
        return None
    return _Together(fits, "; ".join(some_of(lacks, 3, "and {} more counters")))


STEPS: Final = ("seen", "ofClass", "selected", "free", "tolerated", "enough", "constrained", "together")
"""The numbers of devices that are left for a request, step by step, as answers name them.

Those that the node can use, in complete and valid pools; of these those of the class; that the request selects; that
are not in use; whose taints, if any, it tolerates; and that have enough capacity and counters left, each alone. Then
those that the claim's constraints allow together, and those that the counters suffice for together.
"""

Exclusion = tuple[str, str]
"""The step that a device does not pass, and why, such as ``in use``; no reason if it could be had, were it alone."""
_UNBOUND: Final = "it has binding conditions, and the feature gate DRADeviceBindingConditions is off"
_COMPARED_MAX: Final = 256
"""For how many devices a constraint on different values is looked at."""


class Reason(NamedTuple):
    """Why a request cannot have a device.

    Args:
        step: The step that it does not pass.
        text: More of it, in words.
        holders: The claims that use it, its capacity, or the counters that it draws on, as namespace/name, if they are
            the reason.
        lacks: The insufficient capacity, or all insufficient counters, if they are the reason.
        taints: The taints that are not tolerated, if they are the reason.
        selector: The selector that is false or fails, if it is the reason.
    """

    device: Device
    why: str
    step: str
    text: str = ""
    holders: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()
    taints: tuple[Taint, ...] = ()
    selector: str = ""


class Funnel:
    """The number of a node's devices left for a request, step by step.

    Args:
        names: The claims, as namespace/name.
        left: Returns the remaining counters of a pool, by its place.
        known: What excludes devices of nodes for requests, as far as it was found; nodes with equal keys share it.
    """

    def __init__(
        self,
        names: Sequence[str],
        ask: Ask,
        view: NodeView,
        *,
        left: Callable[[int], Available],
        known: dict[Hashable, list[Exclusion]],
        key: Hashable,
    ) -> None:
        self.ask, self.view, self.left = ask, view, left
        self.claim, self.request = names[ask.claim], ask.full_name
        """The claim, as namespace/name, and the request; for an alternative, ``request/subrequest``."""
        self.wanted = None if ask.is_all else ask.count
        """The number of devices that it wants; None for all."""
        self._common = Common(view) if view.variant.features.CompatibilityGroups else None
        if (ask, key) not in known:
            looks = map(self._looks, range(len(view.devices)))
            known[ask, key] = [next(exclusion for exclusion, is_so in each if is_so) for each in looks]
        self._exclusions = known[ask, key]
        self._depths = [STEPS.index(step) for step, _ in self._exclusions]
        """The number of steps that each device passes."""
        self.counts = {name: sum(each > step for each in self._depths) for step, name in enumerate(STEPS[:6])}
        """The number of devices left after each step, those aside that look at several devices."""
        self.places = [index for index, (_, why) in enumerate(self._exclusions) if not why]
        """The places of the devices that the request could have, each alone."""
        self.least = max(1, self.counts["selected"]) if self.wanted is None else self.wanted
        """The number of devices that it wants; for all devices, those that it selects, and at least one."""
        self.strictest = min(ask.constraints, key=self._most, default=None)
        """The constraint that allows the fewest devices together; None without constraints."""
        self.constrained = self._most(self.strictest) if self.strictest else None
        """The number of those devices that the claim's constraints allow together; None without constraints.

        Each constraint is considered alone, and other requests are ignored.
        """
        self.together = self._together()
        """The number of devices that shared counters suffice for, and their lack; None if each counter suffices."""
        first_false = partial(ask.chooser.first_false, of_class=True)
        self.unused = [each for each in view.unused if None in map(first_false, each.contents)]
        """The pools that have devices of the class but cannot be used."""

    def _looks(self, index: int) -> Iterator[tuple[Exclusion, object]]:
        """Yield what may rule out a device by itself, the constraints of the claim aside, and whether it does."""
        ask, view, content = self.ask, self.view, self.content(index)
        yield ("seen", "elsewhere"), view.matches is not None and view.matches[index] is not True
        first = ask.chooser.first_false(content)
        yield ("ofClass", "class"), first and first.of_class
        yield ("selected", "selector"), first
        yield ("selected", "node"), ask.chooser.choose(content) is not True
        if ask.is_all:  # it does not want those with too little capacity
            yield ("selected", "capacity"), self._lacks_capacity(index, is_unused=view.variant.all_includes_used)
        yield ("free", "in use"), not ask.is_admin and view.taken >> index & 1
        yield ("free", "in use"), ask.is_all and self._lacks_capacity(index)
        yield ("tolerated", "taint"), not self._is_tolerated(index)
        yield ("enough", "capacity"), self._lacks_capacity(index)
        yield ("enough", "counters"), self._lacks_counters(index)
        yield ("constrained", ""), True

    def depths(self) -> Iterator[tuple[Device, int]]:
        """Yield each device of the node, with the number of steps that it passes."""
        return zip(self.view.devices, self._depths, strict=True)

    def content(self, index: int) -> Content:
        """Return the content of a device, by its place."""
        return self.view.devices[index].content

    @property
    def is_met(self) -> bool:
        """Whether the request could be met, if it were the only one, as far as numbers tell."""
        limits = (self.counts["enough"], self.constrained)
        return all(each is None or each >= self.least for each in limits) and self.together is None

    def _together(self) -> _Together | None:
        view, places = self.view, self.places
        if not view.consumes or any(self.content(index).is_shared for index in places):
            return None
        drawing = [
            {(view.pool_of[index], *key): amount for key, amount in self.content(index).consumes.items()}
            for index in places
        ]
        wanted = len(places) if self.wanted is None else self.wanted
        return together(wanted, drawing, lambda counter: self.left(counter[0]).counters.get(counter[1:]))

    @property
    def key(self) -> Hashable:
        """A key that is the same for nodes that look alike."""
        counts = tuple(self.counts.values())
        return self.ask, counts, self.constrained, self.together, tuple(each.why for each in self.unused)

    def reasons(self) -> list[Reason]:
        """Return why each device is ruled out, in the order in which they are tried."""
        return list(map(self._reason, range(len(self._exclusions))))

    def _reason(self, index: int) -> Reason:
        device, (step, why), text, selector = self.view.devices[index], self._exclusions[index], "", ""
        lacks: tuple[Lack, ...] = ()
        if why in {"class", "selector"} and (first := self.ask.chooser.first_false(device.content)):
            whose = f"class {self.ask.class_['metadata']['name']}" if first.of_class else "the request"
            text = f"selector #{first.place} of {whose}{f': {first.detail}' if first.detail else ' is false'}"
            selector = first.expression
        elif why == "node":
            text = _UNBOUND
        elif why in {"capacity", "counters"}:
            lacks = (self._lacks_capacity if why == "capacity" else self._lacks_counters)(index)
            text = "; ".join(each.text for each in lacks)
        elif not why and (without := [each for each in self.ask.constraints if self.value(each, index) is None]):
            why, text = "constraint", f"attribute {without[0].name}, which a constraint compares, is not published"
        taints = tuple(self.ask.untolerated(device.content)) if why == "taint" else ()
        return Reason(device, why, step, text, self._holders(index, why), lacks, taints, selector)

    def rivals(self) -> Iterator[Reason]:
        """Yield the devices that could be had, each alone, with the claims that share their capacity or counters."""
        for index in self.places:
            holders = dict.fromkeys((*self._holders(index, "capacity"), *self._holders(index, "counters")))
            yield Reason(self.view.devices[index], "counters", "enough", holders=tuple(holders))

    def _holders(self, index: int, why: str) -> tuple[str, ...]:
        """Return the claims whose use of a device, its capacity or counters rules it out."""
        pool_index = self.view.pool_of[index]
        device, holders = self.view.devices[index], self.view.usages[pool_index].holders
        if why in {"in use", "capacity"}:
            # Where enough others are free, one that the request could not have even if it were free does not matter.
            is_scarce = why == "in use" and self.counts["free"] < self.least
            suits = is_scarce or (self._is_tolerated(index) and not self._lacks_capacity(index, is_unused=True))
            return tuple(holders.get(device.name, ())) if suits else ()
        if why != "counters" or not holders or not self.view.variant.features.PartitionableDevices:
            return ()
        pool, sets = self.view.pools[pool_index], _counter_sets(device)
        alike = [
            each.name
            for slice_ in (*pool.slices, *pool.others)
            for each in slice_.devices
            if each.name in holders and not sets.isdisjoint(_counter_sets(each))
        ]
        return tuple(dict.fromkeys(holder for name in alike for holder in holders[name]))

    def _is_tolerated(self, index: int) -> bool:
        return not self.view.variant.features.DeviceTaints or self.ask.tolerates(self.content(index))

    def _lacks_capacity(self, index: int, *, is_unused: bool = False) -> tuple[Lack, ...]:
        content, view = self.content(index), self.view
        if not view.variant.features.ConsumableCapacity:
            return ()
        used = None if is_unused else view.capacity_used(index)
        lack = lack_of_capacity(content.capacity, self.ask.wanted_of(content), self.ask.takes(content), used)
        return (lack,) if lack else ()

    def _lacks_counters(self, index: int) -> tuple[Lack, ...]:
        content, view = self.content(index), self.view
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
            self._common.common |= before
        left = self.left(view.pool_of[index])
        found = []
        for (counter_set, name), amount in content.consumes.items():
            free = left.counters.get((counter_set, name), amount)
            if amount > free:
                texts = quantity_text(free), quantity_text(amount)
                text = f"counter {name} of {counter_set}: {texts[0]} is left, {texts[1]} is wanted"
                found.append(Lack(text, name, *texts, counter_set))
        if not found and left.is_overdrawn:
            return (Lack("the pool's counters are overdrawn"),)
        return tuple(found)

    def _most(self, constraint: Constraint) -> int:
        """Return how many of the devices a constraint allows together, at most."""
        values = [each for index in self.places if (each := self.value(constraint, index)) is not None]
        alike = Counter(chain.from_iterable(each or (None,) for each in values))
        if isinstance(constraint, Match):
            return max((1 if value is None else count for value, count in alike.items()), default=0)
        distinct = min(len(values), len(alike)) if isinstance(constraint, Distinct) else len(values)
        if len(values) > _COMPARED_MAX or (isinstance(constraint, DistinctRequests) and constraint.compares_devices):
            return distinct
        if not self.view.variant.is_sorted:
            largest = max(alike.values(), default=0)
            return min(len(values), 2 * (len(values) - largest) + 1)
        # The devices of DistinctRequests are compared only with the one before them; for others, it is an estimate.
        chains: list[int] = []
        for value in values:
            before = (length for length, each in zip(chains, values, strict=False) if value and not each & value)
            chains.append(1 + max(before, default=0))
        return min(distinct, max(chains, default=0))

    def value(self, constraint: Constraint, index: int) -> Value | None:
        """Return the value that a constraint compares; None if a device has none, or the expression of it fails."""
        try:
            return self.ask.value(constraint, self.content(index))
        except Stop:
            return None


def _counter_sets(device: Device) -> set[str]:
    return {counter_set for counter_set, _ in device.content.consumes}


# -- requests that could each be met alone, but not together

Title = Callable[[Funnel], str]

_VALUES_MAX: Final = 4
"""The number of values of a request's devices that are named."""
_MATCHED_MAX: Final = 64
"""The number of devices wanted up to which the requests that compete for the same ones are looked for."""


class Conflict(NamedTuple):
    """Why requests cannot be met together.

    Args:
        why: The reason, such as ``the devices left have no numa in common``; empty if it is not simple to tell.
        devices: The devices of each request, if they tell more.
    """

    why: str = ""
    devices: str = ""


def conflict(funnels: Sequence[Funnel], title: Title) -> Conflict:
    """Return why the requests of a node cannot be met together, or several devices for its only one.

    Alternatives of ``firstAvailable`` are left out, as any of them would do.

    Args:
        title: Returns the name of a request, such as ``request gpu``.
    """
    constraints = funnels[0].ask.constraints if len(funnels) == 1 and not funnels[0].view.consumes else ()
    if len(constraints) > 1:
        return Conflict(f"no {funnels[0].least} have {' and '.join(map(_wanted, constraints))}")
    requests = [each for each in funnels if each.ask.parent is None]
    looks = (_of_devices, _of_constraints, _of_counters, _of_capacity)
    return next((found for look in looks for found in look(requests, title)), Conflict())


def spread(funnel: Funnel) -> str:
    """Return the values that the devices left have of the attribute of the strictest constraint; empty without any."""
    compared = funnel.strictest
    return f"{compared.name} is {_listed(_values(compared, funnel))}" if compared else ""


def constraint(funnel: Funnel) -> str:
    """Return the strictest constraint of a request, such as ``the same model``; empty without any."""
    return _wanted(funnel.strictest) if funnel.strictest else ""


def _wanted(constraint: Constraint) -> str:
    return f"{'the same' if isinstance(constraint, Match) else 'different'} {constraint.name}"


def _of_constraints(funnels: Sequence[Funnel], title: Title) -> Iterator[Conflict]:
    """Look for constraints that no choice of devices satisfies for all requests that they are about."""
    concerned = by_key((compared, each) for each in funnels for compared in each.ask.constraints)
    for compared, about in concerned.items():
        if len(about) == 1:
            continue
        found = [_values(compared, each) for each in about]
        if isinstance(compared, Match):
            if not any(map(partial(_have_enough, found, about), found[0])):
                pairs = zip(found, about, strict=True)
                every = {value for each in found for value in each}
                left = "; ".join(f"{title(funnel)} has {_listed(each, every)}" for each, funnel in pairs)
                yield Conflict(f"the devices left have no {compared.name} in common", left)
        else:
            values = {value for each in found for value in each}
            if len(values) < len(about) and not (compared.with_lists and any(values)):
                left = f"the devices left have {_listed(values)}"
                yield Conflict(f"{_joined(about, title)} want different {compared.name}, and {left}")


def _have_enough(found: Sequence[Mapping[Value, int]], funnels: Sequence[Funnel], wanted: Value) -> bool:
    """Tell whether each of some requests has enough devices with a value, or one of several."""
    counts = (sum(n for value, n in each.items() if value == wanted or value & wanted) for each in found)
    return all(count >= funnel.least for count, funnel in zip(counts, funnels, strict=True))


def _values(constraint: Constraint, funnel: Funnel) -> dict[Value, int]:
    """Count the devices left for a request by the value that a constraint compares."""
    known = (funnel.value(constraint, index) for index in funnel.places)
    return Counter(value for value in known if value is not None)


def _listed(values: Collection[Value], others: Collection[Value] = ()) -> str:
    """List values, with their types if some of them or of others differ in these only, such as 1 and "1"."""
    texts, every = sorted({_written(each) for each in values}), {*values, *others}
    if len({_written(each) for each in every}) < len(every):
        texts = sorted(f"{_written(each)} ({', '.join(kind for kind, _ in each) or 'unknown'})" for each in values)
    more = f" and {len(texts) - _VALUES_MAX} more" if len(texts) > _VALUES_MAX else ""
    return f"{', '.join(texts[:_VALUES_MAX])}{more}" or "none"


def _written(value: Value) -> str:
    return " or ".join(sorted(written(each) for _, each in value)) or "of an unknown type"


def _of_devices(funnels: Sequence[Funnel], title: Title) -> Iterator[Conflict]:
    """Look for requests that compete for fewer devices than they want together."""
    rivals = [
        each
        for each in funnels
        if not each.ask.is_admin and not any(each.content(index).is_shared for index in each.places)
    ]
    if sum(each.least for each in rivals) > _MATCHED_MAX:
        return
    wanted = [number for number, each in enumerate(rivals) for _ in range(each.least)]
    choices = [frozenset(each.places) for each in rivals]
    holder: dict[int, int] = {}
    """The place in ``wanted`` that gets a device."""

    def find(place: int, seen: set[int]) -> bool:
        for device in choices[wanted[place]]:
            if device not in seen:
                seen.add(device)
                if device not in holder or find(holder[device], seen):
                    holder[device] = place
                    return True
        return False

    for place in range(len(wanted)):
        seen: set[int] = set()
        if not find(place, seen):
            competing = [rivals[n] for n in sorted({wanted[place], *(wanted[holder[device]] for device in seen)})]
            if len(competing) > 1:
                total = sum(each.least for each in competing)
                left = f"{len(seen)} {'is' if len(seen) == 1 else 'are'} left"
                yield Conflict(f"{_joined(competing, title)} want {total} devices, and {left} for them together")
            return


def _of_counters(funnels: Sequence[Funnel], title: Title) -> Iterator[Conflict]:
    """Look for counters of which all devices of the requests consume more than is left, whichever are chosen."""
    drawing: dict[Funnel, list[Counter[str]]] = {}
    left: dict[str, dict[Hashable, int]] = {}
    for each in funnels:
        drawing[each] = []
        for index in each.places:
            amounts, pool = Counter[str](), each.view.pool_of[index]
            consumes = {} if each.content(index).is_shared else each.content(index).consumes
            for key, amount in consumes.items():
                amounts[key[1]] += amount
                left.setdefault(key[1], {})[pool, key[0]] = each.left(pool).counters.get(key, amount)
            drawing[each].append(amounts)
    if short := list(_short(drawing, left)):
        texts = [f"{needed} of counter {name}, of which {remains} is left" for name, needed, remains, _ in short]
        yield Conflict(f"{_joined(short[0][3], title)} consume at least {' and '.join(texts)}")


def _of_capacity(funnels: Sequence[Funnel], title: Title) -> Iterator[Conflict]:
    """Look for capacity of which requests take more than all devices have left that they could share."""
    taking: dict[Funnel, list[Mapping[str, int]]] = {}
    left: dict[str, dict[Hashable, int]] = {}
    for each in funnels:
        if each.ask.is_admin or not all(each.content(index).is_shared for index in each.places):
            continue
        takes = {index: take for index in each.places if (take := each.ask.takes(each.content(index)))}
        taking[each] = [take.amounts for take in takes.values()]
        for index, take in takes.items():
            used = each.view.capacity_used(index) or {}
            for name in take.amounts:
                left.setdefault(name, {})[index] = take.limits[name] - used.get(name, 0)
    for name, needed, remains, about in _short(taking, left):
        much = f"{needed} of capacity {name}, of which {remains} is left"
        yield Conflict(f"{_joined(about, title)} take at least {much}")


def _short(
    drawing: Mapping[Funnel, Sequence[Mapping[str, int]]], left: Mapping[str, Mapping[Hashable, int]]
) -> Iterator[tuple[str, str, str, Sequence[Funnel]]]:
    """Yield what several requests need more of than is left: its name, both amounts, and these requests.

    Args:
        drawing: The amounts that each device takes that a request could have, by name.
        left: The amounts left of each name, all of which together count.
    """
    needed: dict[str, dict[Funnel, int]] = {}
    for each, devices in drawing.items():
        for name in devices[0] if devices else ():
            if all(name in amounts for amounts in devices):
                needed.setdefault(name, {})[each] = min(amounts[name] for amounts in devices) * each.least
    for name, amounts in needed.items():
        total, remains = sum(amounts.values()), sum(left[name].values())
        if len(amounts) > 1 and total > remains:
            yield name, quantity_text(total), quantity_text(remains), [*amounts]


def _joined(funnels: Sequence[Funnel], title: Title) -> str:
    *first, last = map(title, funnels)
    return f"{', '.join(first)} and {last}"
