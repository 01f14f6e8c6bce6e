"""draguard agrees with recorded API servers: in verdicts, causes and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.recorded import FILES, Agreement, Case, cases, kinds, sample
from webhook.api.versions import VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = pytest.mark.no_cover

RECORDED = range(27, 37)
"""The releases of which there are recordings; Kubernetes 1.37 is judged from its sources."""

NAMES = [file.name.removesuffix(".jsonl.gz") for file in FILES]


def _judged(recorded: Iterable[Case]) -> Agreement:
    agreement = Agreement()
    for case in recorded:
        agreement.add(case)
    return agreement


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_sample_is_answered_as_the_server_did(file: Path) -> None:
    agreement = _judged(sample(file))
    assert agreement.disagreements == []
    assert agreement.cases > 50


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_every_case_is_answered_as_the_server_did(file: Path) -> None:
    agreement = _judged(cases(file))
    assert agreement.disagreements == []
    assert agreement.cases > 300
    assert agreement.cases == agreement.verdicts == agreement.causes == agreement.texts


def test_every_release_is_recorded() -> None:
    releases = {int(name.partition("-1.")[2]) for name in NAMES}
    assert releases == set(RECORDED)


@pytest.mark.slow
def test_every_kind_is_recorded_in_every_version() -> None:
    recorded = {each for file in FILES for each in kinds(file)}
    served = {
        (name, kind)
        for name, version in VERSIONS.items()
        for kind, each in version.kinds.items()
        if name.startswith("resource.k8s.io") and each.since <= RECORDED[-1]
    }
    assert served <= recorded
