"""Compatibility groups: which devices may draw on the same counters.

Follows upstream's ``compatibility_groups.go`` (1.37, experimental): the devices on a counter set must have a group in
common; a device without groups is compatible only with other devices without groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.allocation.view import NodeView
from webhook.objects import JSONObject

Groups = frozenset[str]
CounterSetKey = tuple[str, str]
"""A pool's name and a counter set."""

NONE: Final[Groups] = frozenset()


def declared(raw: JSONObject) -> Iterator[tuple[str, Groups]]:
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
    """The groups that devices on each counter set share: no entry without devices, `NONE` if they have no groups."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self.common: dict[CounterSetKey, Groups] = {}
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

    def add(self, index: int) -> Mapping[CounterSetKey, Groups | None] | None:
        """Put a device on its counter sets; return their previous groups, or None if it is not compatible."""
        pool = self._view.pools[self._view.pool_of[index]].name
        before: dict[CounterSetKey, Groups | None] = {}
        for name, groups in declared(self._view.devices[index].content.others):
            key = (pool, name)
            known = self.common.get(key)
            if known is not None and not (known & groups if known and groups else known == groups):
                self.restore(before)
                return None
            before.setdefault(key, known)
            self.common[key] = _joined(known, groups)
        return before

    def restore(self, before: Mapping[CounterSetKey, Groups | None]) -> None:
        """Restore the groups that `add` returned."""
        for key, known in before.items():
            if known is None:
                self.common.pop(key, None)
            else:
                self.common[key] = known


def _joined(known: Groups | None, groups: Groups) -> Groups:
    if known is None:
        return groups
    return known & groups if known and groups else known
