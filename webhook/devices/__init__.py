"""The devices of a cluster: what they are, which classes select them, and who holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.allocation.devices import Counters, Device, PoolId, blocking, decode_amount, quantity_text, written
from webhook.allocation.pools import available, unused, whole
from webhook.deviceselectors.fleet import EVERYWHERE, model_of
from webhook.grouping import by_key
from webhook.inventory import devices_reported
from webhook.objects import JSONObject, full_name_of, items, name_of, text
from webhook.scan.claims import state_of
from webhook.scan.stored import Stored, published_health

HELD, FREE, STRANDED = "held", "free", "stranded"
"""The states of devices: in use, as a whole or in part; free; free, but no claim can get it."""
NONE: Final = ""
"""Groups what has no class, or no namespace."""


REASONS: Final = ("node", "pool", "no-class", "counters", "taint")
"""Why no claim can get a free device: no node can use it, its pool is not used, no class selects it, other devices use
its counters up, or a taint keeps claims from it."""


class Row(NamedTuple):
    """A device.

    Args:
        node: The node; ``*`` if several can use it.
        model: The model, as far as attributes tell it.
        why: Why no claim can get it although it is free, or that it is held although no pod uses it; empty for others.
        shares: How many shares of it are in use.
        capacity: The remaining and the total amount of each capacity, as quantities.
        counters: The remaining amounts of the counters that it would consume, as quantities, by set and counter.
        taints: The taints, those of DeviceTaintRules among them.
        health: The health that its driver or kubelet reports; empty for none.
        attributes: Its attributes, without their types.
        reason: Why no claim can get it, as one of `REASONS`; empty for others.
    """

    node: str
    driver: str
    pool: str
    device: str
    model: str
    classes: Sequence[str]
    state: str
    why: str
    claims: Sequence[str]
    pods: Sequence[str]
    shares: int
    capacity: Mapping[str, tuple[str, str]]
    counters: Mapping[str, Mapping[str, str]]
    taints: Sequence[str]
    health: str
    attributes: Mapping[str, Any]
    reason: str = ""

    def as_json(self) -> JSONObject:
        """Return it as JSON."""
        capacity = {name: {"left": left, "total": total} for name, (left, total) in self.capacity.items()}
        return {**self._asdict(), "capacity": capacity}


class Sums(NamedTuple):
    """Numbers of devices.

    Args:
        held: The devices in use, as a whole or in part.
        free: The others.
        stranded: The free devices that no claim can get.
    """

    total: int = 0
    held: int = 0
    free: int = 0
    stranded: int = 0


BY: Final[Mapping[str, Callable[[Row], Iterable[str]]]] = {
    "node": lambda row: (row.node,),
    "class": lambda row: row.classes or (NONE,),
    "driver": lambda row: (row.driver,),
    "namespace": lambda row: {each.partition("/")[0]: None for each in row.claims} or (NONE,),
}
"""The functions that return the groups of a device, by which devices are summed."""


def summed(rows: Iterable[Row]) -> Sums:
    """Count devices."""
    states = [row.state for row in rows]
    held = states.count(HELD)
    return Sums(len(states), held, len(states) - held, states.count(STRANDED))


def grouped(rows: Iterable[Row], by: str) -> dict[str, Sums]:
    """Count devices by one of `BY`; a device that several classes select, or several claims share, is in each group."""
    groups = by_key((name, row) for row in rows for name in BY[by](row))
    return {name: summed(groups[name]) for name in sorted(groups)}


_LISTED: Final = 3


def columns(rows: Sequence[Row], *, is_wide: bool) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells; columns that are empty everywhere are left out."""
    names = dict.fromkeys(name for row in rows if is_wide for name in row.attributes)
    # The attributes of which some devices have other values than others.
    apart = [name for name in names if len({str(row.attributes.get(name)) for row in rows}) > 1]
    every = [(title, [cell(row) for row in rows]) for title, cell in _COLUMNS.items()]
    every += [(name, [written(row.attributes.get(name, "")) for row in rows]) for name in apart]
    used = [every[0], *(each for each in every[1:] if any(each[1]))]
    return [title for title, _ in used], [list(line) for line in zip(*(cells for _, cells in used), strict=True)]


_TELLING: Final = ("profile", "ifName", "PFName")
"""The attributes, besides the model, by which people know a device."""


def what(row: Row) -> str:
    """Say what a device is: its model, profile or interface, and memory; by its first attributes if it has none."""
    attributes = {name.rpartition("/")[2]: written(value) for name, value in row.attributes.items()}
    memory = next((total for name, (_, total) in row.capacity.items() if name.rpartition("/")[2] == "memory"), "")
    known = ["" if row.model == row.driver else row.model, *(attributes.get(each, "") for each in _TELLING), memory]
    return " ".join(dict.fromkeys(filter(None, known))) or listed([f"{name}={attributes[name]}" for name in attributes])


def holders(row: Row) -> str:
    """Name the claims that hold a device, and their pods."""
    pods = f" (pod {listed([each.rpartition('/')[2] for each in row.pods])})" if row.pods else ""
    return f"{listed(row.claims)}{pods}" if row.claims else ""


def left_of(row: Row) -> str:
    """Write what is left of a device that is shared, or of the counters that it consumes."""
    parts = [f"{name} {left}/{total}" for name, (left, total) in row.capacity.items() if left != total]
    shares = [f"{row.shares} share{'s' * (row.shares != 1)}"] if row.shares else []
    counters = [
        f"{counter} {left}" for of_set in row.counters.values() for counter, left in of_set.items() if row.state != HELD
    ]
    return listed([*shares, *parts, *counters])


def listed(names: Sequence[str]) -> str:
    """Write the first names, and how many more there are."""
    more = f" +{len(names) - _LISTED}" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


_COLUMNS: Final[Mapping[str, Callable[[Row], str]]] = {
    "node": lambda row: "<several>" if row.node == EVERYWHERE else row.node,
    "driver": lambda row: row.driver,
    "pool": lambda row: row.pool if row.pool != row.node else "",
    "device": lambda row: row.device,
    "what": what,
    "classes": lambda row: listed(row.classes),
    "state": lambda row: f"{row.state}: {row.why}" if row.why else row.state,
    "held by": holders,
    "left": left_of,
    "taints": lambda row: listed(row.taints),
    "health": lambda row: row.health,
}
"""The columns of a list of devices, with what they say of one."""
HEADER: Final = tuple(_COLUMNS)


def summary(rows: Iterable[Row]) -> str:
    """Write how many devices there are, and in which states."""
    sums = summed(rows)
    stranded = f", {sums.stranded} of them stranded" if sums.stranded else ""
    return f"{sums.total} device{'s' * (sums.total != 1)}: {sums.held} held, {sums.free} free{stranded}"


class Table:
    """The devices of a cluster."""

    def __init__(self, cluster: Stored) -> None:
        self._cluster = cluster
        self._unused = unused(cluster.catalog, cluster.variant)
        fleet, classes = cluster.context.fleet, sorted(cluster.all("DeviceClass"), key=name_of)
        selected = ((each, fleet.of_class(items(each, "spec", "selectors"))) for each in classes if fleet)
        self._classes = by_key((content.index, name_of(each)) for each, contents in selected for content in contents)
        """The classes that select each content."""
        reported = (each for pod in cluster.inventory.running() for each in devices_reported(pod))
        self._sick = {text(each, "resourceID"): text(each, "health") for each in reported}
        """The health of devices as kubelet reports it in the status of pods."""
        self._has_nodes = bool(cluster.all("Node"))

    def rows(self) -> Iterator[Row]:
        """Yield the devices of the newest generation of each pool, by node, driver, pool and slice."""
        pools = self._cluster.catalog.current.items()
        for pool, slices in sorted(pools, key=lambda each: (each[1][0].node_name or EVERYWHERE, each[0])):
            counters: Counters = {}
            if pool in self._cluster.catalog.with_counters:
                seen = whole(pool, self._cluster.catalog, self._cluster.variant)
                if seen is not None and seen.is_usable:
                    counters = available(seen, self._cluster.usage.pool(*pool), with_shares=True).counters
            for each in sorted(slices, key=lambda one: one.name):
                for device in each.devices:
                    yield self._row(device, pool, counters)

    def _row(self, device: Device, pool: PoolId, counters: Counters) -> Row:
        content, used = device.content, self._cluster.usage.pool(*pool)
        claims = self._cluster.holders.get((pool, device.name), ())
        left = {key: counters[key] for key in content.consumes if key in counters}
        sets = by_key((name, (counter, quantity_text(amount))) for (name, counter), amount in left.items())
        taken = used.capacity.get(device.name, {})
        of_rules = self._cluster.taints_of_rules(pool, device.name)
        classes = self._classes.get(content.index, ())
        is_held = used.is_allocated(device.name)
        is_unused = bool(claims) and all(state_of(each, self._cluster) for each in claims)
        reason, why = ("", "no pod uses it" * is_unused) if is_held else self._why(device, classes, of_rules, left)
        return Row(
            node=device.node_name or EVERYWHERE,
            driver=pool[0],
            pool=pool[1],
            device=device.name,
            model=model_of(content),
            classes=classes,
            state=HELD if is_held else STRANDED if why else FREE,
            why=why,
            claims=[full_name_of(each) for each in claims],
            pods=sorted({full_name_of(one) for each in claims for one in self._cluster.running(each)}),
            shares=used.shares.get(device.name, 0),
            capacity={
                name: (
                    quantity_text((total := decode_amount(each.get("value"))) - taken.get(name, 0)),
                    quantity_text(total),
                )
                for name, each in content.capacity.items()
            },
            counters={name: dict(amounts) for name, amounts in sets.items()},
            taints=[
                f"{text(each, 'key')}:{text(each, 'effect')}" for each in (*items(content.others, "taints"), *of_rules)
            ],
            health=self._sick.get("/".join((*pool, device.name))) or published_health(device),
            attributes={
                name: next((value for value in each.values() if value is not None), None)
                for name, each in content.attributes.items()
            },
            reason=reason,
        )

    def _why(
        self, device: Device, classes: Sequence[str], of_rules: Sequence[JSONObject], left: Counters
    ) -> tuple[str, str]:
        """Return why no claim can get a free device: one of `REASONS`, and in words; empty if one can."""
        if self._has_nodes and (why := self._nodeless(device)):
            return "node", why
        if (pool := self._unused.get(device.slice.order)) is not None:
            return "pool", f"its pool is {pool.state}"
        if not classes:
            return "no-class", "no class"
        if any(amount > left.get(key, 0) for key, amount in device.content.consumes.items()):
            return "counters", "counters used up"
        settings = self._cluster.settings
        heeded = [*device.content.taints] if "DRADeviceTaints" in settings.gates else []
        heeded += [] if settings.taint_rules_ignored else blocking(of_rules)
        return ("taint", f"taint {heeded[0].key}") if heeded else ("", "")

    def _nodeless(self, device: Device) -> str:
        """Say that no node of the cluster can use a device; empty if one can."""
        if name := device.node_name:
            return "" if self._cluster.inventory.find("Node", name) else "its node does not exist"
        selector = device.where.get("nodeSelector")
        return "its nodes do not exist" if selector and not self._cluster.nodes.any_selected(selector) else ""
