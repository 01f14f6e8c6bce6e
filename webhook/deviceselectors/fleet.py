"""The devices of a cluster, and what classes and selectors select of them.

Equal devices count as one content (:mod:`webhook.allocation.devices`): a selector is evaluated once for each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.allocation import Features
from webhook.allocation.devices import Catalog
from webhook.allocation.selecting import Fault, Selectors, Values
from webhook.deviceselectors.parts import parts_of
from webhook.inventory.reading import mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webhook.allocation.devices import Content
    from webhook.deviceselectors.parts import Read
    from webhook.inventory.reading import JSONObject
    from webhook.release import Release

_MODELS: Final = ("productName", "model", "modelName", "type", "deviceType", "profile")
"""Attributes that drivers tell a device's model by, the best first."""
EVERYWHERE: Final = "*"
"""Stands for the node of devices that several nodes can use."""

TRUE, FALSE, ERROR = "true", "false", "error"


class Placed(NamedTuple):
    """Devices of one content on one node.

    Args:
        content: What they are.
        node: Their node's name; `EVERYWHERE` if several can use them.
        names: Their names, with driver and pool.
    """

    content: Content
    node: str
    names: tuple[str, ...]


class Choice(NamedTuple):
    """What selectors say of a content.

    Args:
        outcome: ``true``, ``false`` or ``error``.
        of_class: Whether a selector of the class, not of the request, said so.
        place: The selector that was false or wrong, by its place; 0 if all are true.
        reason: What made it so.
    """

    outcome: str
    of_class: bool = False
    place: int = 0
    reason: str = ""


class Fleet:
    """The devices that slices publish.

    Args:
        slices: ResourceSlices.
        release: The Kubernetes release, as the minor of 1.x.
        gates: The feature gates that are on.
    """

    def __init__(self, slices: Iterable[JSONObject], release: Release, gates: frozenset[str]) -> None:
        self.release = release
        self.gates = gates
        features = Features.of(gates)
        with_lists = "DRAListTypeAttributes" in gates
        self._selectors = Selectors(release, features, with_lists=with_lists)
        self._values = Values(with_lists=with_lists)
        newest: dict[tuple[str, str], int] = {}
        catalog = Catalog(slices)
        for each in catalog.slices:
            newest[each.id] = max(each.generation, newest.get(each.id, each.generation))
        self.placed: list[Placed] = []
        for each in catalog.slices:
            if each.generation < newest[each.id]:
                continue
            alike: defaultdict[int, list[Any]] = defaultdict(list)
            for device in each.devices:
                alike[id(device.content)].append(device)
            for devices in alike.values():
                node = each.node_name or EVERYWHERE
                self.placed.append(Placed(devices[0].content, node, tuple(map(str, devices))))

    @cached_property
    def contents(self) -> list[Content]:
        """The different devices."""
        return list({id(each.content): each.content for each in self.placed}.values())

    def count(self, contents: Iterable[Content]) -> int:
        """Count the devices of some contents."""
        wanted = {id(each) for each in contents}
        return sum(len(each.names) for each in self.placed if id(each.content) in wanted)

    def of_class(self, selectors: Sequence[JSONObject]) -> list[Content]:
        """Return the contents that a class selects."""
        chooser = self._selectors.chooser(selectors, ())
        return [each for each in self.contents if chooser.choose(each) is True]

    def choose(self, of_class: Sequence[JSONObject], own: Sequence[JSONObject], content: Content) -> Choice:
        """Say whether selectors take a device, and if not, why.

        Args:
            of_class: The selectors of the class.
            own: Those of the request.
            content: The device.
        """
        found = self._selectors.chooser(of_class, own).choose(content)
        if found is True:
            return Choice(TRUE)
        if isinstance(found, Fault):
            return Choice(ERROR, found.of_class, found.place, found.detail)
        for is_class, selectors in ((True, of_class), (False, own)):
            for index, selector in enumerate(selectors):
                if self._selectors.chooser((selector,), ()).choose(content) is False:
                    return Choice(FALSE, is_class, index, self._blame(selector, content))
        return Choice(FALSE)

    def _blame(self, selector: JSONObject, content: Content) -> str:
        parts = parts_of(text(selector, "cel", "expression"), self.release, self.gates)
        return parts.blame(self._values.of(content)) if parts else ""

    def bindings(self, content: Content) -> Mapping[str, Any]:
        """Return a device as expressions see it."""
        return self._values.of(content)

    def most_on_a_node(self, contents: Iterable[Content]) -> tuple[int, str]:
        """Return how many devices of some contents a node has at most, and the node."""
        wanted = {id(each) for each in contents}
        by_node: Counter[str] = Counter()
        for each in self.placed:
            if id(each.content) in wanted:
                by_node[each.node] += len(each.names)
        shared = by_node.pop(EVERYWHERE, 0)
        node, count = max(by_node.items(), key=lambda pair: pair[1], default=("", 0))
        return count + shared, node


def model_of(content: Content) -> str:
    """Name a device's model, by the attribute that its driver tells it by; else by its driver."""
    attributes = content.raw.get("attributes") or {}
    for wanted in _MODELS:
        for name, attribute in attributes.items():
            if name.rpartition("/")[2] == wanted and (value := text(attribute, "string")):
                return value
    return content.driver


def published(contents: Iterable[Content], holder: str) -> dict[tuple[str, str], set[str]]:
    """Return what devices publish, by domain and name, with the types of the values.

    Args:
        contents: The devices.
        holder: ``attributes`` or ``capacity``.
    """
    found: dict[tuple[str, str], set[str]] = {}
    for content in contents:
        for name, value in mapping(content.raw, holder).items():
            domain, given, rest = name.partition("/")
            key = (domain, rest) if given else (content.driver, name)
            found.setdefault(key, set()).update(value if isinstance(value, dict) else ())
    return found


class Row(NamedTuple):
    """Devices of which selectors say the same.

    Args:
        outcome: ``true``, ``false`` or ``error``.
        reason: What made it so.
        model: The devices' model.
        nodes: The nodes that have them.
        devices: How many devices there are.
    """

    outcome: str
    reason: str
    model: str
    nodes: tuple[str, ...]
    devices: int


def rows(fleet: Fleet, of_class: Sequence[JSONObject], own: Sequence[JSONObject]) -> list[Row]:
    """Group the devices of a cluster by what selectors say of them, and by model.

    Args:
        fleet: The devices.
        of_class: The selectors of the class.
        own: Those of the request.
    """
    nodes: defaultdict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for each in fleet.placed:
        choice = fleet.choose(of_class, own, each.content)
        key = choice.outcome, choice.reason, model_of(each.content)
        nodes[key][each.node] = nodes[key].get(each.node, 0) + len(each.names)
    order = {TRUE: 0, ERROR: 1, FALSE: 2}
    found = [Row(*key, tuple(sorted(by_node)), sum(by_node.values())) for key, by_node in nodes.items()]
    return sorted(found, key=lambda row: (order[row.outcome], -row.devices, row.model))


def shortened(names: Sequence[str]) -> str:
    """Write the names of many nodes in one line: the first, the last, and how many there are."""
    if names == (EVERYWHERE,):
        return "any node"
    if len(names) <= _SHOWN:
        return ", ".join("any node" if each == EVERYWHERE else each for each in names)
    return f"{names[0]} … {names[-1]} ({len(names)} nodes)"


_SHOWN: Final = 3


def lacking(reads: Iterable[Read], contents: Sequence[Content]) -> set[tuple[str, str, str]]:
    """Return what is read without a guard of devices of which some do not have it.

    Args:
        reads: What a selector reads.
        contents: The devices.
    """
    return {
        read[:3]
        for read in reads
        if not read.is_guarded
        and any((read.domain, read.name) not in published([each], read.holder) for each in contents)
    }
