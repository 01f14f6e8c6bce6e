"""Incomplete pools, completed: as if the published slices were all of their slices."""

from __future__ import annotations

from collections import defaultdict

from webhook.objects import number, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from webhook.objects import JSONObject

PoolId = tuple[str, str]
"""Driver and name of a pool."""


def completed(slices: Iterable[JSONObject]) -> dict[PoolId, list[JSONObject]]:
    """Return the slices of each pool that is incomplete, with their number as their count.

    Args:
        slices: The ResourceSlices of a cluster.
    """
    pools: defaultdict[PoolId, list[JSONObject]] = defaultdict(list)
    for each in slices:
        pools[text(each, "spec", "driver"), text(each, "spec", "pool", "name")].append(each)
    found = {}
    for name, pool in pools.items():
        newest = max(map(_generation, pool))
        current = [each for each in pool if _generation(each) == newest]
        if any((number(each, "spec", "pool", "resourceSliceCount") or 0) > len(current) for each in current):
            found[name] = [_of(each, len(current)) for each in current]
    return found


def _generation(each: JSONObject) -> int:
    return number(each, "spec", "pool", "generation") or 0


def _of(each: JSONObject, count: int) -> JSONObject:
    spec: Any = each["spec"]
    return {**each, "spec": {**spec, "pool": {**spec["pool"], "resourceSliceCount": count}}}
