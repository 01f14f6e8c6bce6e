"""Feature gates: the fields that are dropped without them, and the warnings about it."""

from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import claim, of_kind, resource_slice
from webhook import validate
from webhook.api.gates import GATES, Stage, enabled, on_since, stage
from webhook.api.judgement import judge_admitted
from webhook.release import Release


def test_gates_have_the_defaults_of_their_release() -> None:
    assert "DRAPrioritizedList" not in enabled(Release(33))
    assert "DRAPrioritizedList" in enabled(Release(34))
    assert "DRADeviceTaints" not in enabled(Release(35))
    assert "DRADeviceTaints" in enabled(Release(36))
    assert "DRAControlPlaneController" not in enabled(Release(32), {"AllAlpha": True})


def test_all_gates_of_a_stage_are_switched_at_once_but_for_those_that_are_named() -> None:
    assert "DRAListTypeAttributes" in enabled(Release(36), {"AllAlpha": True})
    assert "DRAListTypeAttributes" not in enabled(Release(36), {"AllAlpha": True, "DRAListTypeAttributes": False})
    assert "DRADeviceTaints" not in enabled(Release(36), {"AllBeta": False})
    assert "DRADeviceTaintRules" in enabled(Release(36), {"AllBeta": True})
    assert "DRAPrioritizedList" in enabled(Release(36), {"AllBeta": False})


def test_dra_itself_counts_as_on() -> None:
    assert "DynamicResourceAllocation" in enabled(Release(31))
    assert "DynamicResourceAllocation" in enabled(Release(33), {"DynamicResourceAllocation": False})


@each_row(
    ("gates", "message"),
    [
        ({"DRADeviceTaint": True}, "unrecognized feature gate: DRADeviceTaint; did you mean DRADeviceTaints?"),
        ({"x": True}, "unrecognized feature gate: x; known are"),
        ({"DRAAdminAccess": False}, "cannot set feature gate DRAAdminAccess to false, feature is locked to true"),
    ],
)
def test_gates_that_cannot_be_set_are_refused(gates: dict[str, bool], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        validate(claim(), kubernetes="1.36", feature_gates=gates)


def test_every_gate_says_when_it_is_on() -> None:
    assert on_since("DRAPrioritizedList") == 34
    assert on_since("DRAListTypeAttributes") is None
    assert stage("DRAAdminAccess", Release(31)) is None
    assert {
        gate for gate in GATES if on_since(gate) and stage(gate, Release(on_since(gate) or 0)) is Stage.ALPHA
    } == set()


@pytest.mark.parametrize(("kubernetes", "gate"), [("1.34", "DRADeviceTaints"), ("1.35", "DRADeviceTaintRules")])
def test_the_gate_of_a_kind_is_that_of_the_release(kubernetes: str, gate: str) -> None:
    rule = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoSchedule"}})
    everything: dict[str, Any] = {"kubernetes": kubernetes, "runtime_config": {"api/all": True}}
    (problem,) = validate(rule, **everything)
    assert problem.message == f"DeviceTaintRule is served only with the feature gate {gate}"
    assert validate(rule, feature_gates={gate: True}, **everything) == []


def test_of_what_an_api_server_has_decoded_every_gate_may_be_on() -> None:
    obj = resource_slice({"name": "a", "attributes": {"ports": {"ints": [1]}}}, version="v1beta2")
    assert [problem.rule for problem in judge_admitted(obj)] == []
    assert [problem.rule for problem in judge_admitted(obj, feature_gates={})] == ["gate-off", "one-attribute-value"]
