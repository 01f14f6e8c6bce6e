"""Differences of the allocators of older releases, as recorded from them."""

from dataclasses import replace
from typing import Any

import pytest

from tests.allocation.clusters import ALL, CLASSES, DRIVER
from tests.allocation.objects import NODE, Json, answer, claim, device, request, resource_slice
from tests.rows import each_row
from webhook.allocation import Allocator, Failure, Features, Result
from webhook.release import Release

PARTITIONED = Features(AdminAccess=True, DeviceTaints=True, PartitionableDevices=True, PrioritizedList=True)
COUNTERS: Json = {"sharedCounters": [{"name": "gpu", "counters": {"memory": {"value": "2Gi"}}}]}
HALF = {"consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": "1Gi"}}}]}
WHOLE = {"consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": "2Gi"}}}]}


def devices(slices: list[Json], *claims: Json, release: int, **more: Any) -> list[str] | None:
    found = answer(slices, *claims, release=Release(release), **more)
    return [name for each in found.devices for *_, name in each] if isinstance(found, Result) else None


@each_row("release", [34, 35, 36])
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


def test_until_1_35_the_order_of_pools_is_that_of_a_map() -> None:
    slices = [resource_slice(device("d0"), name=pool, pool=pool) for pool in ("b", "a")]
    found = answer(slices, claim(request()))
    assert isinstance(found, Result)
    assert found.devices[0][0][2] == "a"
    assert not found.depends_on_order
    assert answer(slices, claim(request()), release=35).depends_on_order
    assert not answer(slices[:1], claim(request()), release=35).depends_on_order


def test_until_1_35_the_order_decides_whether_a_search_comes_to_a_node_selector_that_cannot_be_joined() -> None:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in ("zone", "rank")]
    slices = [
        resource_slice(device("d0"), name="a", pool="a", nodeSelector={"nodeSelectorTerms": terms}),
        resource_slice(device("d0"), name="b", pool="b"),
    ]
    found = answer(slices, claim(request()), release=35)
    assert isinstance(found, Failure)
    assert found.depends_on_order
    assert not answer(slices[:1], claim(request()), release=35).depends_on_order


def test_until_1_35_the_order_matters_only_to_a_request_with_a_choice() -> None:
    slices = [
        resource_slice(device("d0", attributes={"kind": {"string": kind}}), name=kind, pool=kind) for kind in ("b", "a")
    ]
    kinds = [{"cel": {"expression": f'device.attributes["{DRIVER}"].kind == "{kind}"'}} for kind in ("a", "b")]
    each = [request(f"r{number}", selectors=[kind]) for number, kind in enumerate(kinds)]
    assert not answer(slices, claim(*each), release=35).depends_on_order
    assert not answer(slices, claim(request(count=3)), release=35).depends_on_order
    broken = {"cel": {"expression": f'device.attributes["{DRIVER}"].unknown == 1'}}
    assert answer(slices, claim(request(selectors=[broken])), release=35).depends_on_order


def test_until_1_34_each_slice_has_counters_of_its_own_and_incomplete_pools_are_used() -> None:
    counters: Json = {"sharedCounters": [{"name": "a", "counters": {"memory": {"value": "1"}}}]}
    partition = {"consumesCounters": [{"counterSet": "a", "counters": {"memory": {"value": "1"}}}]}
    features = replace(ALL, ConsumableCapacity=False, DeviceBindingAndStatus=False)

    def found(*slices: Json, count: int = 1, mode: str = "ExactCount") -> Result | Failure:
        asked = claim(request(allocationMode=mode, count=count))
        return answer(list(slices), asked, features=features, release=Release(34))

    both = [
        resource_slice(device(f"d{n}0", **partition), device(f"d{n}1", **partition), name=f"s{n}", count=2, **counters)
        for n in range(2)
    ]
    assert isinstance(found(*both, count=2), Result)
    assert isinstance(found(*both, count=3), Failure)
    half = resource_slice(device("d0"), count=2)
    assert isinstance(found(half), Result)
    text = f"claim ns/c, request r: asks for all devices, but resource pool {DRIVER}/n0 is currently being updated"
    failure = found(half, mode="All")
    assert isinstance(failure, Failure)
    assert failure.error == text


def test_until_1_34_a_search_that_comes_to_an_invalid_pool_ends_with_an_error() -> None:
    features = replace(ALL, ConsumableCapacity=False)
    twice = resource_slice(device("d0"), device("d0"))
    failure = answer([twice], claim(request()), features=features, release=Release(34))
    assert isinstance(failure, Failure)
    assert (failure.error, failure.scope) == ("pool n0 is invalid: duplicate device name d0", "abort")
    assert not failure.depends_on_order
    other = resource_slice(device("d0"), pool="other", name="other")
    assert answer([twice, other], claim(request()), features=features, release=Release(34)).depends_on_order
    later = answer([twice], claim(request()), features=features, release=Release(35))
    assert isinstance(later, Failure)
    assert (later.error, later.scope) == ("invalid resource pools were encountered", "node")


def test_until_1_35_the_order_decides_which_unusable_pool_stops_a_request_for_all_devices() -> None:
    features = replace(ALL, ConsumableCapacity=False, DeviceBindingAndStatus=False)
    pools = [resource_slice(device("d0"), device("d0"), pool=name, name=name) for name in "ab"]
    asked = claim(request(allocationMode="All"))
    for slices, depends in ((pools, True), (pools[:1], False)):
        found = answer(slices, asked, features=features, release=Release(35))
        assert isinstance(found, Failure)
        assert found.depends_on_order is depends


def test_capacity_without_its_feature_is_refused_in_the_name_of_the_request_until_1_34() -> None:
    features = replace(ALL, ConsumableCapacity=False)
    asked = claim({"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "any", "capacity": {}}]})
    for release, name in ((34, "request r"), (35, "subrequest s")):
        found = answer([resource_slice(device("d0"))], asked, features=features, release=Release(release))
        assert isinstance(found, Failure)
        text = f"claim ns/c, {name}: has capacity requests, but the DRAConsumableCapacity feature is disabled"
        assert found.error == text
