"""Properties of every cluster, checked on thousands of random ones."""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import islice
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.allocation.clusters import ALL, CLASSES, Cluster
from tests.allocation.recorded import FILES, scenarios
from tests.examples import examples
from webhook.allocation import Allocator, Answer, search
from webhook.allocation.allocator import allocator_of
from webhook.allocation.explain import Funnel
from webhook.formats.quantities import decode_quantity

Json = dict[str, Any]

randoms = st.randoms(use_true_random=True)


def answers(cluster: Cluster, slices: Sequence[Json] | None = None, claims: Sequence[Json] | None = None) -> list[Any]:
    """Allocate on each node, unless that takes long: few clusters do, and seconds each."""
    allocator = Allocator(CLASSES, cluster.slices if slices is None else slices, features=ALL, **cluster.release)
    attempt = allocator.attempt(cluster.claims if claims is None else claims)
    with mock.patch.object(search, "MOST_VISITS", 20_000):
        found = [attempt.on(node) for node in cluster.nodes]
    assume(not any(each.timed_out for each in found))
    return found


def shown(answer: Answer) -> Any:
    return answer.allocations if answer.is_found else (answer.error, answer.scope)


def tried_in_full(cluster: Cluster) -> list[Any]:
    """Search as upstream does, which does not remember."""
    with mock.patch.object(search, "_REMEMBERED_AFTER", 10**9):
        found = answers(cluster)
        return [(shown(each), each.steps) for each in found]


@examples(1000, quick=30)
@given(randoms)
def test_no_short_cut_changes_an_answer(random: Random) -> None:
    cluster = Cluster(random)
    full = tried_in_full(cluster)
    with mock.patch.object(search, "_REMEMBERED_AFTER", 0):
        assert [(shown(each), each.steps) for each in answers(cluster)] == full


@examples(100)
@given(randoms)
def test_the_order_of_slices_matters_only_where_it_is_said(random: Random) -> None:
    cluster = Cluster(random)
    shuffled = random.sample(cluster.slices, len(cluster.slices))
    for one, other in zip(answers(cluster), answers(cluster, shuffled), strict=True):
        assert one.depends_on_order or shown(one) == shown(other)


@examples(400, quick=30)
@given(randoms)
def test_whether_claims_fit_does_not_depend_on_their_order_unless_it_is_said(random: Random) -> None:
    cluster = Cluster(random)
    shuffled = random.sample(cluster.claims, len(cluster.claims))
    for one, other in zip(answers(cluster), answers(cluster, claims=shuffled), strict=True):
        same = one.is_found == other.is_found
        assert same or (one.depends_on_order and other.depends_on_order)


@examples(1000, quick=30)
@given(randoms)
def test_nothing_is_handed_out_twice_or_overdrawn_and_all_can_be_taken_back(random: Random) -> None:
    """Allocate one pod after the other until none fits, and release all of them."""
    cluster = Cluster(random)
    allocator = Allocator(CLASSES, cluster.slices, features=ALL, **cluster.release)
    before = [shown(allocator.attempt(cluster.claims).on(node)) for node in cluster.nodes]
    allocated: list[Json] = []
    for number in range(8):
        node = random.choice(cluster.nodes)
        answer = allocator.attempt(cluster.claims).on(node)
        if not answer.is_found:
            continue
        for claim, allocation in zip(cluster.claims, answer.allocations, strict=True):
            metadata = {**claim["metadata"], "name": f"{claim['metadata']['name']}-{number}"}
            allocated.append({"metadata": metadata, "status": {"allocation": allocation}})
            allocator.usage.add(allocated[-1])
        check_limits(cluster, allocated)
    for claim in random.sample(allocated, len(allocated)):
        allocator.usage.remove(claim)
    assert [shown(allocator.attempt(cluster.claims).on(node)) for node in cluster.nodes] == before


def check_limits(cluster: Cluster, allocated: Sequence[Json]) -> None:
    devices = {
        (each["spec"]["pool"]["name"], device["name"]): device
        for each in cluster.slices
        for device in each["spec"].get("devices", ())
    }
    used: Counter[tuple[str, str]] = Counter()
    consumed: Counter[tuple[str, str]] = Counter()
    for claim in allocated:
        for result in claim["status"]["allocation"]["devices"].get("results", ()):
            if result.get("adminAccess"):
                continue
            key = result["pool"], result["device"]
            if "shareID" in result:
                consumed[key] += decode_quantity(result["consumedCapacity"]["memory"]).value()
            else:
                used[key] += 1
    assert all(count == 1 for count in used.values())
    assert not used.keys() & consumed.keys()
    for key, amount in consumed.items():
        assert amount <= decode_quantity(devices[key]["capacity"]["memory"]["value"]).value()
    drawn: Counter[tuple[str, str]] = Counter()
    for pool, name in {*used, *consumed}:
        for each in devices[pool, name].get("consumesCounters", ()):
            drawn[pool, each["counterSet"]] += decode_quantity(each["counters"]["memory"]["value"]).value()
    for each in cluster.slices:
        for counters in each["spec"].get("sharedCounters", ()):
            limit = decode_quantity(counters["counters"]["memory"]["value"]).value()
            assert drawn[each["spec"]["pool"]["name"], counters["name"]] <= limit


_QUICK = 60


def alone(claim: Json, place: int, count: int | None = None) -> Json:
    """Return a claim with only one of its requests, and the constraints that are about it."""
    claim = deepcopy(claim)
    devices = claim["spec"]["devices"]
    devices["requests"] = [devices["requests"][place]]
    name = devices["requests"][0]["name"]
    if count is not None:
        devices["requests"][0]["exactly"] |= {"allocationMode": "ExactCount", "count": count}
    devices["constraints"] = [
        {**each, "requests": [name] if each.get("requests") else []}
        for each in devices.get("constraints") or ()
        if not each.get("requests") or name in {one.partition("/")[0] for one in each["requests"]}
    ]
    devices.pop("config", None)
    return claim


def check(allocator: Allocator, claims: Sequence[Json], nodes: Sequence[Json]) -> int:
    """Compare what is said of the requests of claims with what the allocator does; return how many were compared."""
    attempt, compared = allocator.attempt(claims), 0
    for node in nodes:
        answer = attempt.on(node)
        if answer.is_found or answer.scope == "abort" or answer.timed_out:
            continue
        for index, place, asks in by_request(attempt.explain(node)):
            compared += 1
            found = allocator.attempt([alone(claims[index], place)]).on(node)
            if not any(each.is_met for each in asks):
                assert not found.is_found, f"{asks[0].request} can be met on {node['metadata']['name']}"
            elif asks[0].ask.parent is None:
                one = allocator.attempt([alone(claims[index], place, count=1)]).on(node)
                assert one.is_found or one.error, f"no device suits {asks[0].request}"
    return compared


def by_request(funnels: Sequence[Funnel]) -> Iterator[tuple[int, int, list[Funnel]]]:
    found: dict[tuple[int, int], list[Funnel]] = {}
    for each in funnels:
        found.setdefault((each.ask.claim, each.ask.place), []).append(each)
    yield from ((claim, place, asks) for (claim, place), asks in found.items())


@pytest.mark.no_cover
@pytest.mark.parametrize("most", [_QUICK, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition("-")[0])
def test_reasons_in_recorded_scenarios_are_true(file: Any, most: int | None) -> None:
    compared = 0
    for scenario in islice(scenarios(file), most):
        try:
            allocator = allocator_of(scenario)
        except ValueError:  # no implementation supports the features
            continue
        compared += check(allocator, scenario.get("claims") or (), scenario.get("nodes") or ())
    assert compared


@given(st.randoms(use_true_random=False))
@examples(60)
def test_reasons_in_random_clusters_are_true(random: Random) -> None:
    cluster = Cluster(random)
    # Until 1.36.2, a device that a taint rejects keeps its counters, and rules out others.
    check(Allocator(CLASSES, cluster.slices, features=ALL, patch=3), cluster.claims, cluster.nodes)
