"""Properties of every cluster, checked on thousands of random ones."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.allocation.clusters import ALL, CLASSES, Cluster
from tests.examples import examples
from webhook.allocation import Allocator, Failure, Result, search
from webhook.formats import decode_quantity

Json = dict[str, Any]

EXAMPLES = examples(100)
MANY = settings(max_examples=1000)
randoms = st.randoms(use_true_random=True)


def answers(cluster: Cluster, slices: Sequence[Json] | None = None, claims: Sequence[Json] | None = None) -> list[Any]:
    allocator = Allocator(CLASSES, cluster.slices if slices is None else slices, features=ALL)
    attempt = allocator.attempt(cluster.claims if claims is None else claims)
    return [attempt.on(node) for node in cluster.nodes]


def shown(answer: Result | Failure) -> Any:
    return answer.allocations if isinstance(answer, Result) else (answer.error, answer.scope)


def tried_in_full(cluster: Cluster) -> list[Any]:
    """Search as upstream does, which does not remember."""
    with mock.patch.object(search, "_REMEMBERED_AFTER", 10**9):
        found = answers(cluster)
        return [(shown(each), each.steps) for each in found]


def check_short_cuts(random: Random) -> None:
    cluster = Cluster(random)
    full = tried_in_full(cluster)
    assume(not any("timed out" in str(answer) for answer, _ in full))
    with mock.patch.object(search, "_REMEMBERED_AFTER", 0):
        assert [(shown(each), each.steps) for each in answers(cluster)] == full


@EXAMPLES
@given(randoms)
def test_no_short_cut_changes_an_answer(random: Random) -> None:
    check_short_cuts(random)


@pytest.mark.slow
@MANY
@given(randoms)
def test_no_short_cut_changes_an_answer_of_many(random: Random) -> None:
    check_short_cuts(random)


@EXAMPLES
@given(randoms)
def test_the_order_of_slices_matters_only_where_it_is_said(random: Random) -> None:
    cluster = Cluster(random)
    shuffled = random.sample(cluster.slices, len(cluster.slices))
    for one, other in zip(answers(cluster), answers(cluster, shuffled), strict=True):
        assert one.depends_on_order or shown(one) == shown(other)


def check_claims(random: Random) -> None:
    cluster = Cluster(random)
    shuffled = random.sample(cluster.claims, len(cluster.claims))
    for one, other in zip(answers(cluster), answers(cluster, claims=shuffled), strict=True):
        same = isinstance(one, Result) == isinstance(other, Result)
        assert same or (one.depends_on_order and other.depends_on_order)


@EXAMPLES
@given(randoms)
def test_whether_claims_fit_does_not_depend_on_their_order_unless_it_is_said(random: Random) -> None:
    check_claims(random)


@pytest.mark.slow
@settings(MANY, max_examples=400)  # each takes several times as long
@given(randoms)
def test_whether_claims_fit_in_many_clusters_does_not_depend_on_their_order(random: Random) -> None:
    check_claims(random)


def check_use(random: Random) -> None:
    """Allocate one pod after the other until none fits, and release all of them."""
    cluster = Cluster(random)
    allocator = Allocator(CLASSES, cluster.slices, features=ALL)
    before = [shown(allocator.allocate(node, cluster.claims)) for node in cluster.nodes]
    allocated: list[Json] = []
    for number in range(8):
        node = random.choice(cluster.nodes)
        answer = allocator.allocate(node, cluster.claims)
        if isinstance(answer, Failure):
            continue
        for claim, allocation in zip(cluster.claims, answer.allocations, strict=True):
            metadata = {**claim["metadata"], "name": f"{claim['metadata']['name']}-{number}"}
            allocated.append({"metadata": metadata, "status": {"allocation": allocation}})
            allocator.add(allocated[-1])
        check_limits(cluster, allocated)
    for claim in random.sample(allocated, len(allocated)):
        allocator.remove(claim)
    assert [shown(allocator.allocate(node, cluster.claims)) for node in cluster.nodes] == before


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


@EXAMPLES
@given(randoms)
def test_nothing_is_handed_out_twice_or_overdrawn_and_all_can_be_taken_back(random: Random) -> None:
    check_use(random)


@pytest.mark.slow
@MANY
@given(randoms)
def test_nothing_is_handed_out_twice_or_overdrawn_in_many_clusters(random: Random) -> None:
    check_use(random)
