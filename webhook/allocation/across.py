"""Why requests that could each be met alone cannot be met together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from webhook.allocation.capacity import Take
from webhook.allocation.constraints import UNKNOWN, Attribute, Match, Value
from webhook.allocation.demand import Stop
from webhook.allocation.devices import quantity_text
from webhook.allocation.explain import Funnel

Title = Callable[[Funnel], str]

_VALUES_MAX: Final = 4
"""The number of values of a request's devices that are named."""
_MATCHED_MAX: Final = 64
"""The number of devices wanted up to which the requests that compete for the same ones are looked for."""


def conflict(funnels: Sequence[Funnel], title: Title) -> str:
    """Return why the requests of a node cannot be met together; empty if that is not simple to tell.

    Alternatives of ``firstAvailable`` are left out, as any of them would do.

    Args:
        funnels: The devices of the node that are left for each request.
        title: Returns the name of a request, such as ``request gpu``.
    """
    requests = [each for each in funnels if each.ask.parent is None]
    return next((text for look in _LOOKS for text in look(requests, title)), "")


def spread(funnel: Funnel) -> str:
    """Return the values that the devices left have of the attribute of the strictest constraint; empty without any.

    Args:
        funnel: The devices of a node that are left for a request.
    """
    if funnel.strictest is None:
        return ""
    _, attribute = funnel.constraint(funnel.strictest)
    return f"{attribute.name} is {_listed(_values(attribute, funnel))}"


def constraint(funnel: Funnel) -> str:
    """Return the strictest constraint of a request, such as ``the same model``; empty without any.

    Args:
        funnel: The devices of a node that are left for the request.
    """
    if funnel.strictest is None:
        return ""
    kind, attribute = funnel.constraint(funnel.strictest)
    return f"{'the same' if issubclass(kind, Match) else 'different'} {attribute.name}"


def _of_constraints(funnels: Sequence[Funnel], title: Title) -> Iterator[str]:
    """Look for constraints that no choice of devices satisfies for all requests that they are about."""
    concerned: dict[tuple[int, int], list[Funnel]] = {}
    for each in funnels:
        for number in each.ask.constraints:
            concerned.setdefault((each.ask.claim, number), []).append(each)
    for (_, number), about in concerned.items():
        if len(about) > 1:
            kind, attribute = about[0].constraint(number)
            look = _unequal if issubclass(kind, Match) else _indistinct
            if text := look(attribute, about, title):
                yield text


def _unequal(attribute: Attribute, funnels: Sequence[Funnel], title: Title) -> str:
    found = [_values(attribute, each) for each in funnels]
    if any(all(_has(each, value, funnel) for each, funnel in zip(found, funnels, strict=True)) for value in found[0]):
        return ""
    left = "; ".join(f"{title(funnel)} has {_listed(each)}" for each, funnel in zip(found, funnels, strict=True))
    return f"the devices left have no {attribute.name} in common: {left}"


def _has(values: dict[Value, int], wanted: Value, funnel: Funnel) -> bool:
    """Tell whether enough devices have a value, or one of several."""
    if not isinstance(wanted, frozenset):
        return values.get(wanted, 0) >= funnel.least
    alike = (number for value, number in values.items() if isinstance(value, frozenset) and value & wanted)
    return sum(alike) >= funnel.least


def _indistinct(attribute: Attribute, funnels: Sequence[Funnel], title: Title) -> str:
    values = {value for each in funnels for value in _values(attribute, each)}
    if len(values) >= len(funnels) or any(isinstance(value, frozenset) for value in values):
        return ""
    return f"{_joined(funnels, title)} want different {attribute.name}, and the devices left have {_listed(values)}"


def _values(attribute: Attribute, funnel: Funnel) -> dict[Value, int]:
    """Count the devices left for a request by their value of an attribute."""
    found: dict[Value, int] = {}
    for index in funnel.places:
        try:
            value = funnel.ask.value(attribute, funnel.content(index))
        except Stop:
            continue
        if value is not None:
            found[value] = found.get(value, 0) + 1
    return found


def _listed(values: Any) -> str:
    texts = sorted({_written(each) for each in values})
    if len(texts) < len(values):  # such as 1 and "1"
        texts = sorted(f"{_written(each)} ({each[0]})" for each in values)
    more = f" and {len(texts) - _VALUES_MAX} more" if len(texts) > _VALUES_MAX else ""
    return f"{', '.join(texts[:_VALUES_MAX])}{more}" or "none"


def _written(value: Value) -> str:
    if isinstance(value, frozenset):
        return " or ".join(sorted(str(each) for _, each in value))
    return "of an unknown type" if value == UNKNOWN else str(value[1])


def _of_devices(funnels: Sequence[Funnel], title: Title) -> Iterator[str]:
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
                yield f"{_joined(competing, title)} want {total} devices, and {left} for them together"
            return


def _of_counters(funnels: Sequence[Funnel], title: Title) -> Iterator[str]:
    """Look for counters of which all devices of the requests consume more than is left, whichever are chosen."""
    needed: dict[str, int] = {}
    left: dict[str, dict[tuple[int, str], int]] = {}
    drawing: dict[str, list[Funnel]] = {}
    for each in funnels:
        least: dict[str, int] | None = None
        for index in each.places:
            amounts: dict[str, int] = {}
            if not each.content(index).is_shared:
                for (counter_set, name), amount in each.content(index).consumes.items():
                    amounts[name] = amounts.get(name, 0) + amount
                    pool = each.view.pool_of[index]
                    known = each.left(pool).counters
                    left.setdefault(name, {})[pool, counter_set] = known.get((counter_set, name), amount)
            least = amounts if least is None else {k: min(v, amounts[k]) for k, v in least.items() if k in amounts}
        for name, amount in (least or {}).items():
            needed[name] = needed.get(name, 0) + amount * each.least
            drawing.setdefault(name, []).append(each)
    remains = {name: sum(amounts.values()) for name, amounts in left.items()}
    short = [name for name, amount in needed.items() if len(drawing[name]) > 1 and amount > remains[name]]
    if short:
        texts = [
            f"{quantity_text(needed[name])} of counter {name}, of which {quantity_text(remains[name])} is left"
            for name in short
        ]
        yield f"{_joined(drawing[short[0]], title)} consume at least {' and '.join(texts)}"


def _of_capacity(funnels: Sequence[Funnel], title: Title) -> Iterator[str]:
    """Look for capacity of which requests take more than all devices have left that they could share."""
    taking: dict[str, dict[Funnel, int]] = {}
    left: dict[str, dict[int, int]] = {}
    for each in funnels:
        takes = _shares(each)
        for name in _names_of_all(takes.values()):
            taking.setdefault(name, {})[each] = min(take.amounts[name] for take in takes.values()) * each.least
            for index, take in takes.items():
                used = (each.view.capacity_used(index) or {}).get(name, 0)
                left.setdefault(name, {})[index] = take.limits[name] - used
    for name, amounts in taking.items():
        needed, remains = sum(amounts.values()), sum(left[name].values())
        if len(amounts) > 1 and needed > remains:
            much = f"{quantity_text(needed)} of capacity {name}, of which {quantity_text(remains)} is left"
            yield f"{_joined([*amounts], title)} take at least {much}"


def _shares(funnel: Funnel) -> dict[int, Take]:
    """Return what a request takes of the devices left for it; nothing unless all of these may be shared."""
    contents = {index: funnel.content(index) for index in funnel.places}
    if funnel.ask.is_admin or not all(each.is_shared for each in contents.values()):
        return {}
    return {index: take for index, each in contents.items() if (take := funnel.ask.takes(each))}


def _names_of_all(takes: Iterable[Take]) -> list[str]:
    """Return the capacities that a request takes of each device, in their order."""
    first, *others = [each.amounts for each in takes] or [{}]
    return [name for name in first if all(name in each for each in others)]


def _joined(funnels: Sequence[Funnel], title: Title) -> str:
    *first, last = map(title, funnels)
    return f"{', '.join(first)} and {last}"


_LOOKS: Final = (_of_devices, _of_constraints, _of_counters, _of_capacity)
