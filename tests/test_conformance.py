"""What recorded API servers answered, draguard answers."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.conformance.recorded import FILES, Agreement, cases


@pytest.fixture(scope="module", params=FILES, ids=lambda file: Path(file).name.removesuffix(".jsonl.gz"))
def agreement(request: pytest.FixtureRequest) -> Agreement:
    """Compare one file."""
    total = Agreement()
    for case in cases(request.param):
        total.add(case)
    return total


def test_the_file_holds_cases(agreement: Agreement) -> None:
    assert agreement.cases > 200


def test_allows_and_refuses_what_the_server_did(agreement: Agreement) -> None:
    assert agreement.verdicts == agreement.cases, "\n".join(agreement.disagreements[:5])


def test_finds_the_same_causes(agreement: Agreement) -> None:
    assert agreement.causes >= 0.995 * agreement.cases, "\n".join(agreement.disagreements[:5])


def test_says_the_same(agreement: Agreement) -> None:
    assert agreement.same_texts >= 0.97 * agreement.texts, "\n".join(agreement.disagreements[:5])


def test_every_v1alpha2_kind_is_covered() -> None:
    kinds: defaultdict[str, int] = defaultdict(int)
    for file in FILES:
        if file.name.startswith("v1alpha2"):
            for case in cases(file):
                kinds[case.kind] += 1
    assert set(kinds) == {
        "Pod",
        "PodSchedulingContext",
        "ResourceClaim",
        "ResourceClaimParameters",
        "ResourceClaimTemplate",
        "ResourceClass",
        "ResourceClassParameters",
        "ResourceSlice",
    }
