"""draguard agrees with recorded API servers: in verdicts, causes and texts."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.recorded import FILES, NAMESPACE_LABELS, Agreement, cases, kinds, published, sample
from webhook import Problem, validate
from webhook.api.versions import VERSIONS, find, target
from webhook.release import Release
from webhook.schema.fields import compile_struct, is_declarative
from webhook.schema.target import CREATE

pytestmark = pytest.mark.no_cover

RECORDED = range(27, 37)
"""The releases of which there are recordings of API servers; of 1.37 only the declarative rules are published."""

NAMES = [file.name.removesuffix(".jsonl.gz") for file in FILES]


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_sample_is_answered_as_the_server_did(file: Path) -> None:
    agreement = Agreement.of(sample(file))
    assert agreement.disagreements == []
    assert agreement.cases > 50


@pytest.mark.recording
@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_every_case_is_answered_as_the_server_did(file: Path) -> None:
    agreement = Agreement.of(cases(file))
    assert agreement.disagreements == []
    assert agreement.cases > 300
    assert agreement.cases == agreement.verdicts == agreement.causes == agreement.texts


def test_every_release_is_recorded() -> None:
    releases = {int(name.partition("-1.")[2]) for name in NAMES}
    assert releases == set(RECORDED)


@pytest.mark.recording
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


def of_1_37(obj: dict[str, Any], **gates: bool) -> list[Problem]:
    gates = {"AllAlpha": True, "AllBeta": True, **gates}
    found = validate(obj, kubernetes="1.37", feature_gates=gates, namespace_labels=NAMESPACE_LABELS)
    return [problem for problem in found if problem.level == "error" and problem.reason != "BadRequest"]


def said(found: Iterable[Problem]) -> set[tuple[str, str, str]]:
    return {(each.reason, each.field, str(each)) for each in found}


@pytest.mark.recording
@pytest.mark.slow
def test_the_declarative_rules_that_were_published_find_what_ours_do() -> None:
    compared = refused = 0
    for obj, expected in published():
        found = of_1_37(obj)
        served = find(obj["apiVersion"], obj["kind"])
        assert served
        struct = compile_struct(served.type, target(obj["apiVersion"], Release(37), CREATE))
        declared = said(each for each in found if is_declarative(each, struct))
        assert expected <= said(found)
        if declared - expected:  # what handwritten rules say of a field with tags is not published
            assert declared - said(of_1_37(obj, DeclarativeValidationBeta=False)) <= expected
        compared, refused = compared + 1, refused + bool(expected)
    assert (compared, refused) == (1484, 1060)
