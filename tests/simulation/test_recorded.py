"""Decisions of a real kube-scheduler: conditions, nodes and claims are equal in every case."""

from typing import Any

import pytest

from tests.simulation.recorded import agreement, cases

pytestmark = pytest.mark.no_cover

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"].removeprefix("scheduler/"))
def test_pods_fare_as_with_the_real_scheduler(case: dict[str, Any]) -> None:
    found = agreement(case)
    assert (found.conditions, found.nodes, found.claims) == (True, True, True), found.details
