"""Devices that look alike to selectors: they differ in nothing that the selectors read.

Each attribute or capacity that selectors read is a column: a number for each content, which equal values share. A few
small numbers thus group contents, however many devices there are and however they differ otherwise.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from webhook.allocation.devices import Content
from webhook.allocation.selecting import Reads, named
from webhook.records import NamedTuple

Named = tuple[str, str, str]


class Group(NamedTuple):
    """Contents for which selectors give the same result.

    Args:
        devices: The number of devices that have them.
    """

    content: Content
    contents: Sequence[Content]
    devices: int


class Groups:
    """Groups of contents, by the parts that selectors read.

    Args:
        contents: The contents, and the number of devices that have each.
    """

    def __init__(self, contents: Mapping[Content, int]) -> None:
        self._contents = contents
        self._columns: dict[tuple[str, Named], list[int]] = {}
        self._values: dict[tuple[int, Named], dict[Hashable, list[Group]]] = {}
        self._known: dict[frozenset[tuple[str, Named]], list[Group]] = {}

    def by(self, read: Iterable[Reads | None]) -> list[Group]:
        """Return the groups, the largest first.

        Args:
            read: The reads of selectors; None for a selector that may read anything.
        """
        wanted: set[tuple[str, Named]] = set()
        for each in read:
            if each is None:
                return self._alone
            wanted |= {("attributes", name) for name in each.attributes}
            wanted |= {("capacity", name) for name in each.capacity}
        key = frozenset(wanted)
        if key not in self._known:
            self._known[key] = self._grouped(key)
        return self._known[key]

    def having(self, groups: list[Group], limit: tuple[Sequence[str], Sequence[Any]] | None) -> Sequence[Group]:
        """Return the groups for which a condition may be true: ``x == "a"`` is false where x is another text.

        Args:
            groups: The groups, as returned by :meth:`by`.
            limit: The steps to an attribute, and its only values; None for no condition.
        """
        if limit is None or any(type(each) not in _KINDS for each in limit[1]):
            return groups
        (_, domain, name), values = limit
        key = id(groups), (f"{domain}/{name}", domain, name)
        if key not in self._values:
            self._values[key] = _by_value(groups, key[1])
        by_value = self._values[key]
        wanted = dict.fromkeys((_KINDS[type(each)], each) for each in values)
        return [*by_value.get(None, ()), *(group for each in wanted for group in by_value.get(each, ()))]

    @property
    def _alone(self) -> list[Group]:
        everything: frozenset[tuple[str, Named]] = frozenset({("", ("", "", ""))})
        if everything not in self._known:
            groups = [Group(each, (each,), devices) for each, devices in self._contents.items()]
            self._known[everything] = _largest_first(groups)
        return self._known[everything]

    def _grouped(self, names: frozenset[tuple[str, Named]]) -> list[Group]:
        columns = [self._column("", ("", "", "")), *(self._column(*name) for name in names)]
        found: dict[tuple[int, ...], list[Content]] = {}
        for content, *key in zip(self._contents, *columns, strict=True):
            found.setdefault(tuple(key), []).append(content)
        devices = self._contents.__getitem__
        return _largest_first([Group(each[0], each, sum(map(devices, each))) for each in found.values()])

    def _column(self, holder: str, name: Named) -> list[int]:
        """Return a number for each content that stands for a value; without a holder, for the rest of the content.

        Attributes that are not plain may be errors, whatever the selector reads: such contents stay alone.
        """
        column = self._columns.get((holder, name))
        if column is None:
            numbers: dict[Hashable, int] = {}
            column = self._columns[holder, name] = []
            for content in self._contents:
                if holder == "attributes":
                    value: Hashable = _attribute(content, name)
                elif holder:
                    capacity = named(content.capacity, content.driver, name)
                    value = None if capacity is None else str(capacity.get("value"))
                else:
                    value = (content.driver, content.is_shared, content.is_plain or content.index)
                column.append(numbers.setdefault(value, len(numbers)))
        return column


_KINDS: Final = {str: "string", int: "int", bool: "bool"}


def _by_value(groups: Sequence[Group], name: Named) -> dict[Hashable, list[Group]]:
    """Return groups by the value of an attribute; under None those without a comparable value."""
    found: dict[Hashable, list[Group]] = {}
    for group in groups:
        content = group.content
        value = _attribute(content, name) if content.is_plain else ()
        found.setdefault(value[0] if value and value[0][0] in _KINDS.values() else None, []).append(group)
    return found


def _attribute(content: Content, name: Named) -> tuple[tuple[str, Any], ...]:
    value = named(content.attributes, content.driver, name) or {}
    return tuple((kind, tuple(each) if isinstance(each, list) else each) for kind, each in value.items())


def _largest_first(groups: list[Group]) -> list[Group]:
    return sorted(groups, key=lambda each: -each.devices)
