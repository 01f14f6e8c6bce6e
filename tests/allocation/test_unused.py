"""Pools that cannot be used, and the reasons."""

from __future__ import annotations

from typing import Any

import pytest

from tests.allocation.clusters import ALL, CLASSES, DRIVER
from webhook.allocation import Allocator
from webhook.allocation.devices import Catalog
from webhook.allocation.features import RECORDED, implementation
from webhook.allocation.unused import unused
from webhook.release import Release

Json = dict[str, Any]


def resource_slice(name: str, node: str = "n0", generation: int = 1, count: int = 1, *devices: str) -> Json:
    pool = {"name": "pool", "generation": generation, "resourceSliceCount": count}
    made = [{"name": each} for each in devices or (name,)]
    return {"metadata": {"name": name}, "spec": {"driver": DRIVER, "pool": pool, "nodeName": node, "devices": made}}


@pytest.mark.parametrize(
    ("slices", "why", "devices"),
    [
        ([resource_slice("a", count=2)], "incomplete: 1 of 2 slices of generation 1", 1),
        (
            [resource_slice("a"), resource_slice("b")],
            "incomplete: 2 slices of generation 1, but resourceSliceCount is 1",
            2,
        ),
        (
            [resource_slice("a"), resource_slice("b", generation=3, count=2)],
            "incomplete: 1 of 2 slices of generation 3",
            1,
        ),
        (
            [resource_slice("a", "n0", 1, 2, "x", "y"), resource_slice("b", "n0", 1, 2, "x")],
            "invalid: duplicate device name x",
            3,
        ),
        (
            [resource_slice("a", count=3), resource_slice("b", count=2)],
            "incomplete: slices of generation 1 disagree on resourceSliceCount (2, 3)",
            2,
        ),
        (
            [resource_slice("a", count=2), resource_slice("b", "n1", generation=2)],
            "outdated: its slices for the node are older than generation 2",
            1,
        ),
    ],
)
def test_the_fault_of_a_pool_is_reported(slices: list[Json], why: str, devices: int) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    claim = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": [request]}}}
    attempt = Allocator(CLASSES, slices, features=ALL).attempt([claim])
    (funnel,) = attempt.explain({"metadata": {"name": "n0"}})
    assert funnel.seen == 0
    assert [(each.pool, each.why, each.devices) for each in funnel.unused] == [(f"{DRIVER}/pool", why, devices)]


def test_a_pool_of_another_node_concerns_no_other() -> None:
    counters = resource_slice("a", count=2)
    counters["spec"]["sharedCounters"] = [{"name": "s", "counters": {"memory": {"value": "1"}}}]
    counters["spec"]["devices"] = []
    other = resource_slice("b", "n1", count=3)
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    claim = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": [request]}}}
    attempt = Allocator(CLASSES, [counters, other], features=ALL).attempt([claim])
    for node, known in (("n0", 0), ("n1", 1)):
        (funnel,) = attempt.explain({"metadata": {"name": node}})
        assert len(funnel.unused) == known, node


def test_the_whole_cluster() -> None:
    catalog = Catalog([resource_slice("a", count=2), resource_slice("b", "n1", count=2)])
    assert unused(catalog, implementation(ALL, RECORDED)) == {}
    catalog = Catalog([resource_slice("a", count=2)])
    why = {f"{DRIVER}/pool": "incomplete: 1 of 2 slices of generation 1"}
    assert unused(catalog, implementation(ALL, RECORDED)) == why


@pytest.mark.parametrize("counts", [(2, 3), (3, 2)])
def test_slices_that_disagree_are_used_by_chance(counts: tuple[int, int]) -> None:
    first, second = (resource_slice(name, count=count) for name, count in zip("ab", counts, strict=True))
    found = unused(Catalog([first, second]), implementation(ALL, RECORDED))
    assert found == {f"{DRIVER}/pool": "incomplete: slices of generation 1 disagree on resourceSliceCount (2, 3)"}


def test_until_1_34_slices_are_used_one_by_one() -> None:
    catalog = Catalog([resource_slice("a", count=2)])
    assert unused(catalog, implementation(type(ALL)(), Release(34))) == {}
