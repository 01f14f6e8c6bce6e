"""The devices of a cluster, and those that classes and selectors select.

Equal devices count as one content (:mod:`webhook.allocation.devices`); selectors are evaluated once for those contents
that look alike to them, a group.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.allocation import Features
from webhook.allocation.capacity import Lack, as_published, lack_of_capacity, take
from webhook.allocation.devices import Catalog, Content, Slice, named
from webhook.allocation.features import implementation
from webhook.allocation.pools import Flaw, unused
from webhook.allocation.selecting import Chooser, Reads, SelectorFault, Selectors, seen
from webhook.api import gates
from webhook.api.judgement import judge
from webhook.api.versions import DEFAULT, release_of
from webhook.budget import current
from webhook.cel.errors import EvaluationError
from webhook.cel.syntax.ast import Expression
from webhook.deviceselectors.parts import Blame, Parts, Read, parts_of
from webhook.deviceselectors.witnesses import limits
from webhook.grouping import by_key
from webhook.later import cached_property
from webhook.objects import JSONObject, text
from webhook.problem import ERROR as REFUSED
from webhook.release import Release


class ContentGroup(NamedTuple):
    """Contents for which selectors give the same result.

    Args:
        devices: The number of devices that have them.
    """

    content: Content
    contents: Sequence[Content]
    devices: int


_KINDS: Final = {str: "string", int: "int", bool: "bool"}


def _comparable(content: Content, name: str) -> tuple[str, Any] | None:
    """Return the kind and value of an attribute; None if comparing it with a constant may be an error."""
    found = named(content.attributes, content.driver, name) if content.is_plain else None
    return next((each for each in (found or {}).items() if each[0] in _KINDS.values()), None)


_MODELS: Final = ("productName", "model", "modelName", "type", "deviceType", "profile")
"""Attributes that drivers use for a device's model, the best first."""
EVERYWHERE: Final = "*"
"""Stands for the node of devices that several nodes can use."""

TRUE, FALSE, ERROR = "true", "false", "error"


class Placed(NamedTuple):
    """Devices of one content on one node.

    Args:
        node: Their node's name; `EVERYWHERE` if several can use them.
    """

    content: Content
    node: str
    slice: Slice
    devices: int

    @property
    def pool(self) -> str:
        """Their pool, with its driver."""
        return "/".join(self.slice.id)


class Choice(NamedTuple):
    """The result of selectors for a content.

    Args:
        outcome: ``true``, ``false`` or ``error``.
        of_class: Whether a selector of the class, not of the request, decided.
        place: The place of the selector that was false or failed; 0 if all are true.
        blame: The reason, as far as it is known.
    """

    outcome: str
    of_class: bool = False
    place: int = 0
    blame: Blame = Blame("")

    @property
    def reason(self) -> str:
        """The reason, in words."""
        return self.blame.text


class Sorted(NamedTuple):
    """The devices of a cluster, sorted by the result of selectors.

    Args:
        failing: The groups for which a selector fails, with the error.
    """

    groups: list[ContentGroup]
    taken: list[ContentGroup]
    failing: list[tuple[ContentGroup, SelectorFault]]

    @property
    def refused(self) -> list[ContentGroup]:
        """The groups for which a selector is false."""
        others = {id(each) for each in (*self.taken, *(group for group, _ in self.failing))}
        return [each for each in self.groups if id(each) not in others]


_EVALUATION: Final = 8
"""The work of evaluating a simple selector for a device."""
_BLAME: Final = 32
"""The work of finding the part of a selector that is false."""
_SORTED_MAX: Final = 64
"""The number of classes and requests whose devices are remembered."""
_COLUMNS_MAX: Final = 256
"""The number of names under which it is remembered what each device has."""
_LOOKS: Final = 16
"""The number of devices that are looked at for a name in a unit of work."""


class Fleet:
    """The devices that slices publish.

    Args:
        catalog: Their slices, without the taints of rules: devices that differ only in these are alike.
    """

    def __init__(self, catalog: Catalog, release: Release, gates: frozenset[str]) -> None:
        self.release, self.gates = release, gates
        features = self._features = Features.of(gates, release)
        with_lists = "DRAListTypeAttributes" in gates
        self._variant = implementation(features, release)
        self._catalog = catalog
        self._selectors = Selectors.of(catalog, self._variant, with_lists=with_lists)
        self._sorted: dict[Chooser, Sorted] = {}
        self._groups: dict[frozenset[tuple[str, str]] | None, list[ContentGroup]] = {}
        self._columns: dict[tuple[str, str], list[Hashable]] = {}
        self._by_value: dict[tuple[int, str], Mapping[tuple[str, Any] | None, Sequence[ContentGroup]]] = {}
        self._published: dict[tuple[str, ...], Mapping[tuple[str, str], set[str]]] = {}
        self._slices = [each for each in catalog.slices if each.generation == catalog.current[each.id][0].generation]

    @cached_property
    def contents(self) -> Mapping[Content, int]:
        """The different devices, and how many of each there are."""
        return Counter(device.content for each in self._slices for device in each.devices)

    @cached_property
    def _places(self) -> dict[int, list[Placed]]:
        """The locations of the devices of each content, by its index."""
        found: dict[int, list[Placed]] = {}
        for each in self._slices:
            alike = Counter((device.content, device.node_name or EVERYWHERE) for device in each.devices)
            for (content, node), devices in alike.items():
                found.setdefault(content.index, []).append(Placed(content, node, each, devices))
        return found

    def places(self, groups: Iterable[ContentGroup]) -> Iterator[Placed]:
        """Return the locations of the devices of groups."""
        for group in groups:
            for content in group.contents:
                yield from self._places[content.index]

    def used(self, groups: Iterable[ContentGroup]) -> list[Placed]:
        """Return the locations of those devices of groups that are used."""
        return [each for each in self.places(groups) if each.slice.order not in self.unused]

    @cached_property
    def unused(self) -> Mapping[int, Flaw]:
        """The slices whose devices are not used, with the reasons, by their order."""
        return unused(self._catalog, self._variant)

    def sorted_out(self, of_class: Sequence[JSONObject], own: Sequence[JSONObject]) -> Sorted:
        """Sort the devices by the result of selectors, evaluated once for those that look alike to them."""
        chooser = self._selectors.chooser(of_class, own)
        if chooser not in self._sorted:
            if len(self._sorted) >= _SORTED_MAX:
                del self._sorted[next(iter(self._sorted))]
            groups = self._alike(chooser.reads)
            found, spend = Sorted(groups, [], []), current().spend
            may_fail = bool(own and of_class and self.sorted_out(of_class, ()).failing)
            for group in groups if may_fail else self._promising(groups, own):
                spend(_EVALUATION)
                choice = chooser.choose(group.content)
                if choice is True:
                    found.taken.append(group)
                elif choice is not False:
                    found.failing.append((group, choice))
            self._sorted[chooser] = found
        return self._sorted[chooser]

    def _parts(self, selector: JSONObject) -> Parts | None:
        return parts_of(text(selector, "cel", "expression"), self.release, self.gates)

    def _alike(self, reads: Iterable[Reads | None]) -> list[ContentGroup]:
        """Return groups of contents that look the same to selectors, the largest first.

        Args:
            reads: The reads of the selectors; None for a selector that may read anything.
        """
        several = [*reads]
        known = None if None in several else frozenset(read for each in several for read in each or ())
        if known not in self._groups:
            if len(self._groups) >= _SORTED_MAX:
                self._groups.clear()
                self._by_value.clear()  # which knows groups by their addresses
            columns: list[Iterable[Hashable]] = [range(len(self.contents))]
            if known is not None:
                columns = [self._looks, *(self._column(*read) for read in known)]
            alike = by_key(zip(zip(*columns, strict=True), self.contents, strict=True))
            groups = (ContentGroup(each[0], each, sum(map(self.contents.__getitem__, each))) for each in alike.values())
            self._groups[known] = sorted(groups, key=lambda each: -each.devices)
        return self._groups[known]

    @cached_property
    def _looks(self) -> list[Hashable]:
        """What all selectors see of each content; one with an attribute that may be an error looks like no other."""
        return [
            (each.driver, each.is_shared, bool(each.others.get("bindingConditions"))) if each.is_plain else each.index
            for each in self.contents
        ]

    def _column(self, holder: str, name: str) -> list[Hashable]:
        """Return what each content has under a name."""
        if (holder, name) not in self._columns:
            current().spend(1 + len(self.contents) // _LOOKS)
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            self._columns[holder, name] = [each.is_plain and seen(each, holder, name) for each in self.contents]
        return self._columns[holder, name]

    def _promising(self, groups: list[ContentGroup], own: Sequence[JSONObject]) -> Iterable[ContentGroup]:
        """Return the groups for which selectors may be true or fail: ``x == "a"`` is false where x is another text.

        The first selector decides: others may fail, but are not looked at where it is false.
        """
        parts = self._parts(own[0]) if own else None
        limit = parts.once("limits", limits) if parts else None
        if limit is None or any(type(each) not in _KINDS for each in limit[1]):
            return groups
        (_, *name), values = limit
        key = id(groups), "/".join(name)
        if key not in self._by_value:
            if len(self._by_value) >= _SORTED_MAX:
                self._by_value.clear()
            self._by_value[key] = by_key((_comparable(each.content, key[1]), each) for each in groups)
        wanted = dict.fromkeys((None, *((_KINDS[type(each)], each) for each in values)))
        return [group for each in wanted for group in self._by_value[key].get(each, ())]

    def of_class(self, selectors: Sequence[JSONObject]) -> list[Content]:
        """Return the contents that a class selects."""
        return [each for group in self.sorted_out(selectors, ()).taken for each in group.contents]

    def published(self, selectors: Sequence[JSONObject], holder: str) -> Mapping[tuple[str, str], set[str]]:
        """Return the types of the values that the devices of a class publish, by domain and name."""
        key = holder, *(text(each, "cel", "expression") for each in selectors)
        if key not in self._published:
            self._published[key] = published(self.of_class(selectors) if selectors else self.contents, holder)
        return self._published[key]

    def choose(self, of_class: Sequence[JSONObject], own: Sequence[JSONObject], content: Content) -> Choice:
        """Tell whether selectors select a device, with the reason if they do not."""
        chooser = self._selectors.chooser(of_class, own)
        found = chooser.choose(content)
        if isinstance(found, SelectorFault):
            return Choice(ERROR, found.of_class, found.place, Blame(found.detail))
        first = None if found else chooser.first_false(content)
        if first is None:
            return Choice(TRUE if found else FALSE)
        current().spend(_BLAME)
        parts, bindings = parts_of(first.expression, self.release, self.gates), self.bindings(content)
        blame = parts.blame(bindings) if parts and bindings else Blame("")
        return Choice(FALSE, first.of_class, first.place, blame)

    def lack(self, requests: Mapping[str, Any], content: Content) -> Lack | None:
        """Return the capacity of which an unused device has too little for a request; None if it has enough.

        Args:
            requests: The amounts that the request wants, by capacity.
        """
        if not requests or not self._features.ConsumableCapacity:
            return None
        if self._variant.qualifies_capacity:
            try:
                requests = as_published(requests, content.capacity, content.driver)
            except ValueError as error:
                return Lack(str(error))
        found = take(content.capacity, requests, fractions=self._features.FractionalCapacityRange)
        return lack_of_capacity(content.capacity, requests, found)

    def bindings(self, content: Content) -> Mapping[str, Any] | None:
        """Return a device as expressions see it; None if the release does not know the type of an attribute."""
        try:
            return self._selectors.values.of(content)
        except EvaluationError:
            return None

    def first_false_part(self, parts: Parts, content: Content) -> Expression | None:
        """Return the part of a selector that is false or fails for a device; None if it is unknown."""
        bindings = self.bindings(content)
        return parts.first_false_part(bindings)[0] if bindings else None

    def by_node(self, groups: Sequence[ContentGroup]) -> Counter[str]:
        """Count the devices of some groups on each node, and those that several nodes can use."""
        found: Counter[str] = Counter()
        for each in self.places(groups):
            found[each.node] += each.devices
        return found

    def most_on_a_node(self, groups: Sequence[ContentGroup]) -> tuple[int, str]:
        """Return the largest number of devices of some groups on a node, and the node."""
        by_node = self.by_node(groups)
        shared = by_node.pop(EVERYWHERE, 0)
        node, count = max(by_node.items(), key=lambda pair: pair[1], default=("", 0))
        return count + shared, node


def model_of(content: Content) -> str:
    """Return a device's model, from the attribute that its driver uses for it; else the driver's name."""
    attributes = content.attributes
    for wanted in _MODELS:
        for name, attribute in attributes.items():
            if name.rpartition("/")[2] == wanted and (value := text(attribute, "string")):
                return value
    return content.driver


def published(contents: Iterable[Content], holder: str) -> dict[tuple[str, str], set[str]]:
    """Return the types of the values that devices publish, by domain and name."""
    found: dict[tuple[str, str], set[str]] = {}
    for content in contents:
        for name, value in getattr(content, holder).items():
            domain, given, rest = name.partition("/")
            key = (domain, rest) if given else (content.driver, name)
            found.setdefault(key, set()).update(value if isinstance(value, dict) else ())
    return found


class Query(NamedTuple):
    """The conditions of a request for each device."""

    of_class: Sequence[JSONObject]
    own: Sequence[JSONObject]
    capacity: Mapping[str, Any] = {}


class DeviceGroup(NamedTuple):
    """Devices for which selectors give the same result.

    Args:
        unused: The reason why they cannot be used anyway; empty if they can.
    """

    outcome: str
    reason: str
    model: str
    unused: str
    nodes: tuple[str, ...]
    devices: int


def rows(fleet: Fleet, query: Query) -> list[DeviceGroup]:
    """Group the devices of a cluster by the result of a query, and by model."""
    nodes: defaultdict[tuple[str, str, str, str], dict[str, int]] = defaultdict(dict)
    answer = fleet.sorted_out(query.of_class, query.own)
    for group in (*answer.taken, *answer.refused, *(each for each, _ in answer.failing)):
        choice = fleet.choose(query.of_class, query.own, group.content)
        for each in fleet.places([group]):
            lack = fleet.lack(query.capacity, each.content) if choice.outcome == TRUE else None
            outcome, reason = (FALSE, lack.text) if lack else (choice.outcome, choice.reason)
            by_node = nodes[outcome, reason, model_of(each.content), fleet.unused.get(each.slice.order, "")]
            by_node[each.node] = by_node.get(each.node, 0) + each.devices
    order = {TRUE: 0, ERROR: 1, FALSE: 2}
    found = [DeviceGroup(*key, tuple(sorted(by_node)), sum(by_node.values())) for key, by_node in nodes.items()]
    return sorted(found, key=lambda row: (order[row.outcome], bool(row.unused), -row.devices, row.model))


def shortened(names: Sequence[str], count: int = 0) -> str:
    """Write the names of many nodes in one line: the first, the last, and their number; ``n9`` comes before ``n10``.

    Args:
        count: The number of nodes, if not all are named.
    """
    ordered = sorted(names, key=padded)
    if len(ordered) <= _SHOWN:
        return ", ".join("several nodes" if each == EVERYWHERE else each for each in ordered)
    return f"{ordered[0]} … {ordered[-1]} ({count or len(ordered)} nodes)"


def absent_nodes(names: Sequence[str]) -> str:
    """Say that slices name nodes that the cluster does not have."""
    are = "node {}, which is" if len(names) == 1 else "nodes {}, which are"
    return f"slices name {are.format(shortened(names))} not among the nodes"


def padded(name: str) -> str:
    """Return a name as a key for sorting, in which numbers are compared by their value."""
    return _NUMBER.sub(lambda found: found[0].zfill(_DIGITS), name)


_NUMBER: Final = re.compile("[0-9]+")
_DIGITS: Final = 20
"""Longer numbers are compared as text."""
_SHOWN: Final = 3


def lacking(reads: Iterable[Read], contents: Sequence[Content]) -> set[tuple[str, str, str]]:
    """Return the reads without a guard that some devices lack."""
    return {
        read[:3]
        for read in reads
        if not read.is_guarded
        and any(
            named(getattr(each, read.holder), each.driver, f"{read.domain}/{read.name}") is None for each in contents
        )
    }


_DEVICE: Final = ("spec", "devices", 0)
_POOL: Final = {"name": "pool", "generation": 1, "resourceSliceCount": 1}


class Match(NamedTuple):
    """The result of matching selectors against a device; true if they match.

    Args:
        reason: The reason why they do not, such as ``memory is 40Gi, wanted >= 80Gi``; empty if it is unknown.
    """

    matched: bool
    reason: str = ""

    def __bool__(self) -> bool:
        """Tell whether the device matches."""
        return self.matched


def match(
    selectors: Sequence[str | JSONObject],
    device: JSONObject,
    driver: str = "",
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> Match:
    """Match selectors against a device, as the scheduler does.

    Args:
        selectors: Expressions, or selectors as in a request.
        device: The device, as in a ResourceSlice of v1, or of v1beta1 with its ``basic``.
        driver: Its driver; empty if the device names it as ``driver``.
        kubernetes: The Kubernetes release; None for the default one.
        feature_gates: Gates that differ from the release's defaults.

    Raises:
        ValueError: A selector cannot be compiled, or cannot be evaluated for this device; the device is malformed; the
            release or a gate is unknown.
    """
    release = release_of(kubernetes) if kubernetes else DEFAULT
    on = gates.enabled(release, feature_gates)
    if not (driver := driver or str(device.get("driver") or "")):
        raise ValueError(
            "the device's driver is not known, and names without a domain are in the driver's: give driver"
        )
    # It is published as its driver would.
    content = {name: value for name, value in device.items() if name not in {"driver", "basic"}}
    basic = device.get("basic")
    content = {"name": "device", **content, **(basic if isinstance(basic, dict) else {})}
    spec = {"driver": driver, "nodeName": "node", "pool": _POOL, "devices": [content]}
    published = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "slice"},
        "spec": spec,
    }
    for problem in judge(published, feature_gates=feature_gates):
        if problem.level == REFUSED:
            is_of_device = problem.path[: len(_DEVICE)] == _DEVICE
            where = str(type(problem.path)(problem.path[len(_DEVICE) :])) if is_of_device else problem.field
            raise ValueError(f"device: {where}: {problem.message}")
    fleet = Fleet(Catalog([published]), release, on)
    (seen,) = fleet.contents
    choice = fleet.choose((), [_selector(each) for each in selectors], seen)
    if choice.outcome == ERROR:
        raise ValueError(choice.reason)
    return Match(choice.outcome == TRUE, choice.reason)


def _selector(selector: str | JSONObject) -> JSONObject:
    if isinstance(selector, str):
        return {"cel": {"expression": selector}}
    cel = selector.get("cel")
    if not isinstance(cel, dict) or not isinstance(cel.get("expression"), str):
        raise ValueError(f'a selector is a CEL expression, or {{"cel": {{"expression": ...}}}}, not {selector!r}')
    return selector
