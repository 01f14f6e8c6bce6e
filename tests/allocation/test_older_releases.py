"""Differences of the allocators of older releases, as recorded from them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.allocation.clusters import ALL, CLASSES, DRIVER
from tests.allocation.objects import NODE, answer, claim, device, request, resource_slice
from webhook.allocation import Allocator, Features, Result
from webhook.release import Release

Json = dict[str, Any]

PARTITIONED = Features(AdminAccess=True, DeviceTaints=True, PartitionableDevices=True, PrioritizedList=True)
COUNTERS: Json = {"sharedCounters": [{"name": "gpu", "counters": {"memory": {"value": "2Gi"}}}]}
HALF = {"consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": "1Gi"}}}]}
WHOLE = {"consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": "2Gi"}}}]}


def devices(slices: list[Json], *claims: Json, release: int, **more: Any) -> list[str] | None:
    found = answer(slices, *claims, release=Release(release), **more)
    return [name for each in found.devices for *_, name in each] if isinstance(found, Result) else None


@pytest.mark.parametrize("release", [34, 35, 36])
def test_pools_whose_devices_must_be_bound_come_last(release: int) -> None:
    slices = [
        resource_slice(device("d0", bindingConditions=["ready"]), name="s0", pool="a"),
        resource_slice(device("d1"), name="s1", pool="b"),
    ]
    assert devices(slices, claim(request()), release=release) == ["d1"]


@pytest.mark.parametrize("release", [34, 35])
def test_until_1_35_slices_whose_devices_must_be_bound_come_last_in_their_pool(release: int) -> None:
    slices = [
        resource_slice(device("d0", bindingConditions=["ready"]), name="s0", count=2),
        resource_slice(device("d1"), name="s1", count=2),
    ]
    assert devices(slices, claim(request()), release=release) == ["d1"]


@pytest.mark.parametrize(("features", "is_bound"), [(ALL, True), (PARTITIONED, False)])
def test_the_stable_allocator_does_not_know_of_binding_to_a_node(features: Features, is_bound: bool) -> None:
    found = answer([resource_slice(device("d0", bindsToNode=True), allNodes=True)], claim(request()), features=features)
    assert isinstance(found, Result)
    assert ("nodeSelector" in found.allocations[0]) == is_bound


@pytest.mark.parametrize(("release", "expected"), [(35, ["d0"]), (36, ["d0", "d1"])])
def test_until_1_35_an_alternative_for_all_devices_goes_on_as_the_first_one(release: int, expected: list[str]) -> None:
    never = {"name": "s0", "deviceClassName": "any", "count": 1, "selectors": [{"cel": {"expression": "false"}}]}
    every = {"name": "s1", "deviceClassName": "any", "allocationMode": "All"}
    asked = claim({"name": "r", "firstAvailable": [never, every]})
    assert devices([resource_slice(device("d0"), device("d1"))], asked, release=release) == expected


@pytest.mark.parametrize(("release", "expected"), [(35, ["whole"]), (36, None)])
def test_until_1_35_shares_draw_on_no_counters(release: int, expected: list[str] | None) -> None:
    slices = [
        resource_slice(device("half", allowMultipleAllocations=True, **HALF), device("whole", **WHOLE), count=2),
        resource_slice(name="s1", count=2, **COUNTERS),
    ]
    result = {"request": "r", "driver": DRIVER, "pool": "n0", "device": "half", "shareID": "x", "consumedCapacity": {}}
    held = {**claim(name="held"), "status": {"allocation": {"devices": {"results": [result]}}}}
    asked = claim(request(selectors=[{"cel": {"expression": "!device.allowMultipleAllocations"}}]))
    found = Allocator(CLASSES, slices, [held], features=ALL, release=Release(release)).allocate(NODE, [asked])
    assert ([name for *_, name in found.devices[0]] if isinstance(found, Result) else None) == expected


@pytest.mark.parametrize(("release", "expected"), [(34, ["d0", "d1"]), (35, ["d0", "d2"])])
def test_until_1_34_distinct_devices_may_have_equal_values(release: int, expected: list[str]) -> None:
    values = [device(f"d{n}", attributes={"rack": {"int": n // 2}}) for n in range(3)]
    asked = claim(request("r0"), request("r1"), constraints=[{"distinctAttribute": f"{DRIVER}/rack"}])
    assert devices([resource_slice(*values)], asked, release=release) == expected


@pytest.mark.parametrize(("release", "expected"), [(36, ["d0"]), (37, None)])
def test_until_1_36_slices_with_counters_come_after_those_of_the_node(release: int, expected: list[str] | None) -> None:
    # The first slice says how many there are.
    slices = [resource_slice(name="s0", count=3, **COUNTERS), resource_slice(device("d0", **HALF), name="s1", count=2)]
    assert devices(slices, claim(request()), release=release) == expected


def test_what_the_claims_of_an_error_want_counts_for_the_order() -> None:
    broken = [resource_slice(device("d0"), device("d0"), name=pool, pool=pool) for pool in ("a", "b")]
    asked = claim(request(allocationMode="All"), constraints=[{"distinctAttribute": f"{DRIVER}/rack"}])
    assert answer(broken, asked, features=PARTITIONED).depends_on_order


def test_until_1_34_slices_with_counters_have_devices_for_several_nodes() -> None:
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
    slices = [
        resource_slice(device("d0", **HALF), nodeSelector=zone, pool="zone", **COUNTERS),
        resource_slice(device("d1"), name="s1"),
    ]
    assert devices(slices, claim(request()), release=34, features=ALL) == ["d0"]
