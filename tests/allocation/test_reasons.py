"""What is said of a request on a node is what the allocator does with the request alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.allocation.clusters import ALL, CLASSES, Cluster
from tests.allocation.recorded import FILES, scenarios
from tests.examples import examples
from webhook.allocation import Allocator, Failure
from webhook.allocation.allocator import allocator_of
from webhook.allocation.explain import Funnel

Json = dict[str, Any]
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
        if not isinstance(answer, Failure) or answer.scope == "abort" or answer.timed_out:
            continue
        for index, place, asks in by_request(attempt.explain(node)):
            compared += 1
            found = allocator.allocate(node, [alone(claims[index], place)])
            if not any(each.is_met for each in asks):
                assert isinstance(found, Failure), f"{asks[0].request} can be met on {node['metadata']['name']}"
            elif asks[0].ask.parent is None:
                one = allocator.allocate(node, [alone(claims[index], place, count=1)])
                assert not isinstance(one, Failure) or one.error, f"no device suits {asks[0].request}"
    return compared


def by_request(funnels: Sequence[Funnel]) -> Iterator[tuple[int, int, list[Funnel]]]:
    found: dict[tuple[int, int], list[Funnel]] = {}
    for each in funnels:
        found.setdefault((each.ask.claim, each.ask.place), []).append(each)
    yield from ((claim, place, asks) for (claim, place), asks in found.items())


def check_recorded(file: Any, most: int | None) -> None:
    compared = 0
    for scenario in islice(scenarios(file), most):
        try:
            allocator = allocator_of(scenario)
        except ValueError:  # no implementation supports the features
            continue
        compared += check(allocator, scenario.get("claims") or (), scenario.get("nodes") or ())
    assert compared


@pytest.mark.no_cover
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition("-")[0])
def test_reasons_in_recorded_scenarios_are_true(file: Any) -> None:
    check_recorded(file, _QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition("-")[0])
def test_reasons_in_all_recorded_scenarios_are_true(file: Any) -> None:
    check_recorded(file, None)


@given(st.randoms(use_true_random=False))
@examples(60)
def test_reasons_in_random_clusters_are_true(random: Random) -> None:
    cluster = Cluster(random)
    # Until 1.36.2, a device that a taint rejects keeps its counters, and rules out others.
    check(Allocator(CLASSES, cluster.slices, features=ALL, patch=3), cluster.claims, cluster.nodes)
