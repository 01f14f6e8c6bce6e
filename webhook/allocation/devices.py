"""Devices as the allocator sees them; equal content is stored once.

A slice's devices are read into small records; their attributes, capacity, taints and counters are their content, which
equal devices share. Selectors are evaluated once for each content.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import product
from sys import intern
from typing import Any, Final, NamedTuple

import msgspec

from webhook.formats.quantities import BINARY_SI, DECIMAL_SI, Quantity, decode_quantity, parse_quantity, whole_quantity
from webhook.inventory.claims import DeviceID
from webhook.later import cached_property
from webhook.objects import JSONObject, text
from webhook.records import Record

PoolId = tuple[str, str]
"""Driver and name of a pool."""

Counters = dict[tuple[str, str], int]
"""An amount by counter set and counter."""

_PLAIN: Final = frozenset({"string", "int", "bool"})
_is_plain_version: Final = re.compile(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}").fullmatch
_NOTHING: Final[Counters] = {}
_OWN: Final = frozenset({"name", "attributes", "capacity"})
"""The fields of a device that are not among the others of its content."""
_NONE: Final[JSONObject] = {}
_NANO: Final = -9
_SUFFIXES: Final = "kKMGTPEi"
_DIGITS: Final = 400
_MOST: Final = int("1" + "0" * (_DIGITS - _NANO))
_encode: Final = msgspec.json.Encoder().encode


def amount(quantity: Quantity) -> int:
    """Return a quantity in nanos, the smallest unit of quantities; beyond 400 digits, the largest amount."""
    if quantity.length > _DIGITS:
        return quantity.sign * _MOST
    return quantity.sign * int(f"0{quantity.digits}{'0' * (quantity.power - _NANO)}")


def decode_amount(value: object) -> int:
    """Read a quantity from JSON, in nanos.

    Raises:
        ValueError: The value is not a quantity.
    """
    return amount(decode_quantity(value))


def quantity_text(nanos: int) -> str:
    """Write an amount in nanos as a quantity, with the suffix that takes fewer digits; a binary one if both do."""
    whole, rest = divmod(nanos, 10**-_NANO)
    if rest:
        return str(parse_quantity(f"{nanos}n"))
    decimal = str(whole_quantity(whole).noted(DECIMAL_SI))
    binary = str(whole_quantity(whole).noted(BINARY_SI))
    is_binary = whole % 1024 == 0 and len(binary.rstrip(_SUFFIXES)) <= len(decimal.rstrip(_SUFFIXES))
    return binary if is_binary else decimal


def written(value: object) -> str:
    """Write the value of an attribute, as selectors do."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_plain(attribute: JSONObject) -> bool:
    if len(attribute) != 1:
        return False
    [(kind, value)] = attribute.items()
    return kind in _PLAIN or (kind == "version" and _is_plain_version(value) is not None)


class Content(Record):
    """The content that equal devices share.

    Args:
        attributes: Their attributes, as in the API.
        capacity_index: The number of their capacity, which equal capacities share.
        capacity: The capacity, as in the API.
        others: Their other fields, as in the API, without the name.
        taints: Their taints that keep pods away, those of DeviceTaintRules among them.
        consumes: The amounts of counters that they consume, in nanos.
        is_plain: Whether each attribute is a string, a number, a boolean or a plain version: expressions can read them
            all.
    """

    index: int
    driver: str
    attributes: Mapping[str, JSONObject]
    capacity_index: int
    capacity: Mapping[str, JSONObject]
    others: JSONObject
    taints: tuple[Taint, ...]
    is_shared: bool
    consumes: Counters
    is_plain: bool


def named(values: Mapping[str, JSONObject], driver: str, name: str) -> JSONObject | None:
    """Return the attribute or capacity of a name with a domain, which may be the driver's (``lookupAttribute``).

    If a name is spelled in two ways, the one with the domain counts; before Kubernetes 1.38 any of the two may.
    """
    if name in values:
        return values[name]
    domain, _, rest = name.partition("/")
    return values.get(rest) if domain == driver else None


def consumption(device: JSONObject) -> Counters:
    """Return the amounts that a device takes of its pool's counters, in nanos."""
    found: Counters = {}
    for each in device.get("consumesCounters") or ():
        for name, counter in (each.get("counters") or {}).items():
            key = (each.get("counterSet", ""), name)
            found[key] = found.get(key, 0) + decode_amount(counter.get("value"))
    return found


class Device(Record):
    """A device of a slice."""

    name: str
    slice: Slice
    content: Content

    @property
    def id(self) -> DeviceID:
        """Its driver, pool and name."""
        return (*self.slice.id, self.name)

    def __str__(self) -> str:
        """Write driver, pool and name, as upstream's ``DeviceID``."""
        return "/".join(self.id)

    @property
    def where(self) -> JSONObject:
        """The fields that tell which nodes can use it: its own, or those of its slice."""
        return self.content.others if self.slice.is_per_device else self.slice.where

    @property
    def node_name(self) -> str:
        """The only node that can use it; empty if labels decide, or all nodes can."""
        return self.where.get("nodeName") or ""


class Slice:
    """A ResourceSlice.

    Args:
        order: Its place among all slices.
    """

    def __init__(self, raw: JSONObject, order: int) -> None:
        spec: JSONObject = raw["spec"]
        pool: JSONObject = spec.get("pool") or {}
        self.name: str = raw["metadata"]["name"]
        self.driver = intern(spec.get("driver", ""))
        self.pool = intern(pool.get("name", ""))
        self.id: PoolId = (self.driver, self.pool)
        self.order = order
        self.generation: int = pool.get("generation", 0)
        self.count: int = pool.get("resourceSliceCount", 0)
        self.node_name: str | None = spec.get("nodeName")
        self.where: JSONObject = {name: spec[name] for name in ("nodeName", "nodeSelector", "allNodes") if name in spec}
        """The fields that tell which nodes can use its devices."""
        self.node_terms = terms(spec.get("nodeSelector"))
        self.says_per_device = spec.get("perDeviceNodeSelection") is not None
        self.is_per_device = spec.get("perDeviceNodeSelection") is True
        self.counter_sets: Sequence[JSONObject] = spec.get("sharedCounters") or ()
        self.skipped_operations: Sequence[str] = spec.get("skipNodeOperations") or ()
        self.devices: tuple[Device, ...] = ()


def terms(selector: Mapping[str, Any] | None) -> int:
    """Count the terms of a node selector, -1 without a selector; slices with more than one term cannot be used."""
    return -1 if selector is None else len(selector.get("nodeSelectorTerms") or ())


class Taint(NamedTuple):
    """A taint."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """Write it as ``key=value:effect``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def toleration(self) -> JSONObject:
        """The toleration of this taint alone."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}


def taint_of(taint: JSONObject) -> Taint:
    """Read a taint, as in the API."""
    return Taint(text(taint, "key"), text(taint, "value"), text(taint, "effect"))


def blocking(taints: Iterable[JSONObject]) -> list[Taint]:
    """Return the taints that keep pods away."""
    return [each for each in map(taint_of, taints) if each.effect in {"NoSchedule", "NoExecute"}]


class Tolerations:
    """Tolerations, and the set of what they cover: a pod may have as many of them as nodes have taints.

    Follows ``k8s.io/api/core/v1/toleration.go`` for nodes, and ``resourceclaim/devicetoleration.go`` for devices.

    Args:
        stated: The tolerations, as in the API.
    """

    def __init__(self, stated: Sequence[JSONObject]) -> None:
        self.stated = stated
        known = ([text(each, name) for name in ("operator", "value", "key", "effect")] for each in stated)
        self._covered = {
            (_ANY if operator == "Exists" else value, key, effect)
            for operator, value, key, effect in known
            if operator in {"", "Equal", "Exists"}
        }

    def cover(self, taint: Taint) -> bool:
        """Tell whether one of them tolerates a taint."""
        return not self._covered.isdisjoint(product((_ANY, taint.value), ("", taint.key), ("", taint.effect)))


_ANY: Final = None
"""Stands for all values of taints; an empty key or effect stands for all of these."""


class TaintRule(NamedTuple):
    """A DeviceTaintRule: the taint, and which devices get it; None for any.

    Upstream's tracker merges it into slices (``resourceslice/tracker/tracker.go``).
    """

    taint: JSONObject
    driver: str | None
    pool: str | None
    device: str | None

    @classmethod
    def of(cls, raw: JSONObject) -> TaintRule:
        """Read a DeviceTaintRule, as in the API."""
        spec = raw["spec"]
        selector = spec.get("deviceSelector") or {}
        return cls(spec["taint"], selector.get("driver"), selector.get("pool"), selector.get("device"))

    def taints(self, driver: str, pool: str, device: str | None = None) -> bool:
        """Tell whether it taints a device, or some device of a pool."""
        names = (self.driver, driver), (self.pool, pool), (None if device is None else self.device, device)
        return all(wanted is None or wanted == name for wanted, name in names)


LISTS: Final = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}
"""The fields of an attribute for lists, and for one value of the same type."""
SCALARS: Final = tuple(LISTS.values())
_VALUES_MAX: Final = 16
"""The number of attributes whose values are remembered."""


def _values(contents: Iterable[Content], holder: str, name: str) -> frozenset[object]:
    found = set[object]()
    for each in contents:
        value = named(getattr(each, holder), each.driver, name) or {}
        if len(value) == 1 and value.keys() <= {*SCALARS}:
            found |= set(value.values())
    return frozenset(found)


class Catalog:
    """The slices of a cluster.

    Args:
        slices: ResourceSlices, as in the API; an iterator may yield them one by one, they are not kept.

    Raises:
        ValueError: A quantity is malformed.
    """

    def __init__(self, slices: Iterable[JSONObject], taint_rules: Iterable[JSONObject] = ()) -> None:
        every_rule = [TaintRule.of(each) for each in taint_rules]
        self.has_rules = bool(every_rule)
        """Whether devices may have taints that their slices do not state."""
        self._contents: dict[bytes, Content] = {}
        self._capacities: dict[bytes, tuple[int, JSONObject]] = {}
        self.numbers: dict[Hashable, int] = {}
        """A number for each of the values that are numbered."""
        self.selectors: dict[Hashable, Any] = {}
        """The selectors that know their results for the devices, by what they see of these."""
        self.slices: list[Slice] = []
        self.with_counters: defaultdict[PoolId, list[Slice]] = defaultdict(list)
        """The slices with counters, by pool; they matter for all nodes."""
        self.by_node: defaultdict[str, list[Slice]] = defaultdict(list)
        """The slices by node; those that serve several nodes are under an empty name."""
        self.by_pool: defaultdict[PoolId, list[Slice]] = defaultdict(list)
        self._by_name: dict[PoolId, dict[str, Device]] = {}
        """The cache of the devices of a pool, by name."""
        self._drivers_of_pool: defaultdict[str, set[str]] = defaultdict(set)
        for raw in slices:
            slice_ = Slice(raw, len(self.slices))
            rules = [rule for rule in every_rule if rule.taints(*slice_.id)]
            slice_.devices = tuple(self._devices(raw["spec"].get("devices") or (), slice_, rules))
            self.slices.append(slice_)
            self.by_node[slice_.node_name or ""].append(slice_)
            self.by_pool[slice_.id].append(slice_)
            if slice_.counter_sets:
                self.with_counters[slice_.id].append(slice_)
            if slice_.counter_sets or any(each.content.consumes for each in slice_.devices):
                self._drivers_of_pool[slice_.pool].add(slice_.driver)
        self.contents = tuple(self._contents.values())
        """The different devices, in the order of their slices."""
        self.values = lru_cache(_VALUES_MAX)(partial(_values, self.contents))
        """Returns the scalar values of an attribute or a capacity: ``attributes`` or ``capacity``, and its name."""
        self._contents.clear()
        self.is_local = "" not in self.by_node
        """Whether each slice serves a single node, so that labels of nodes do not matter."""

    @cached_property
    def current(self) -> Mapping[PoolId, Sequence[Slice]]:
        """The slices of each pool's newest generation."""
        last = {pool: max(each.generation for each in slices) for pool, slices in self.by_pool.items()}
        return {pool: [each for each in self.by_pool[pool] if each.generation == last[pool]] for pool in last}

    def for_node(self, node: str) -> list[Slice]:
        """Return the slices that may serve a node."""
        return [each for name in dict.fromkeys((node, "")) for each in self.by_node.get(name, ())]

    def drivers_of(self, pool: str) -> Collection[str]:
        """Return the drivers that have counters in pools of a name."""
        return self._drivers_of_pool.get(pool, ())

    def find(self, device: DeviceID) -> Device | None:
        """Return a device, the last one if slices publish several of its name; None without one."""
        pool, name = device[:2], device[2]
        if pool not in self._by_name:
            devices = (device for each in self.by_pool.get(pool, ()) for device in each.devices)
            self._by_name[pool] = {each.name: each for each in devices}
        return self._by_name[pool].get(name)

    def _devices(self, raws: Sequence[JSONObject], slice_: Slice, rules: Sequence[TaintRule]) -> Iterator[Device]:
        contents, driver = self._contents, slice_.driver
        for raw in raws:
            name = intern(raw["name"])
            taints = raw.get("taints") or ()
            if rules:
                taints = [*taints, *(rule.taint for rule in rules if rule.device in {None, name})]
            attributes, capacity = raw.get("attributes") or _NONE, raw.get("capacity") or _NONE
            others = {field: value for field, value in raw.items() if field not in _OWN} or _NONE
            parts = driver, attributes, capacity, others, taints if rules else ()
            key = blake2b(_encode(parts), digest_size=16).digest()
            content = contents.get(key)
            if content is None:
                place = -1
                if capacity:
                    place, capacity = self._capacities.setdefault(_encode(capacity), (len(self._capacities), capacity))
                content = contents[key] = Content(
                    len(contents),
                    driver,
                    attributes,
                    place,
                    capacity,
                    others=others,
                    taints=tuple(blocking(taints)),
                    is_shared=others.get("allowMultipleAllocations") is True,
                    consumes=consumption(others) if others.get("consumesCounters") else _NOTHING,
                    is_plain=all(map(_is_plain, attributes.values())),
                )
            yield Device(name, slice_, content)
