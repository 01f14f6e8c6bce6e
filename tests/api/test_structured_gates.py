"""Feature gates: the fields that are dropped without them, and the warnings about it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import REQUEST, allocated, changed, claim, errors, of_kind, resource_slice, warnings
from webhook import validate
from webhook.api.gates import GATES, Stage, enabled, on_since, stage
from webhook.api.judgement import judge_admitted
from webhook.release import Release

FIRST_AVAILABLE = {"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "gpu.example.com"}]}


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


def test_a_field_without_its_gate_is_dropped_before_anything_is_checked() -> None:
    problems = validate(claim(FIRST_AVAILABLE, version="v1beta1"), kubernetes="1.33")
    assert warnings(problems) == [("gate-off", "spec.devices.requests[0].firstAvailable")]
    assert problems[0].message == "dropped: this field needs the feature gate DRAPrioritizedList"
    assert problems[0].hint == "DRAPrioritizedList: alpha from 1.33, on by default from 1.34"
    assert errors(problems) == [
        ("spec.devices.requests[0]", "Required value: exactly one of `exactly` or `firstAvailable` is required")
    ]
    on = validate(claim(FIRST_AVAILABLE, version="v1beta1"), kubernetes="1.33", feature_gates={"AllAlpha": True})
    assert on == []


def test_what_is_dropped_must_still_have_its_type() -> None:
    obj = claim({**FIRST_AVAILABLE, "firstAvailable": "a"}, version="v1beta1")
    assert [problem.rule for problem in validate(obj, kubernetes="1.33")] == ["wrong-type"]


def test_what_is_empty_is_dropped_without_a_word() -> None:
    assert validate(claim(REQUEST | {"firstAvailable": []}, version="v1beta2"), kubernetes="1.33") == []


def test_a_field_that_the_stored_object_uses_is_kept() -> None:
    stored = claim(FIRST_AVAILABLE, version="v1beta1")
    assert validate(stored, stored, kubernetes="1.33") == []
    other = claim({**FIRST_AVAILABLE, "name": "other"}, version="v1beta1")
    assert errors(validate(other, stored, kubernetes="1.33"))[0][0] == "spec"


def test_an_attribute_that_is_emptied_has_no_value() -> None:
    obj = resource_slice({"name": "a", "attributes": {"ports": {"ints": [1]}, "model": {"string": "x"}}})
    problems = validate(obj, kubernetes="1.36")
    assert warnings(problems) == [("gate-off", "spec.devices[0].attributes[ports].ints")]
    assert "not on by default in any release yet" in problems[0].hint
    assert errors(problems) == [
        ("spec.devices[0].attributes[ports]", 'Invalid value: "": exactly one value must be specified')
    ]
    assert obj["spec"]["devices"][0]["attributes"]["ports"] == {"ints": [1]}


def test_an_empty_field_is_dropped_without_a_warning() -> None:
    obj = resource_slice({"name": "gpu-0", "attributes": {"ports": {"ints": []}}})
    assert errors(validate(obj, kubernetes="1.36")) == [
        ("spec.devices[0].attributes[ports]", 'Invalid value: "": exactly one value must be specified')
    ]
    assert warnings(validate(obj, kubernetes="1.36")) == []
    assert [field for field, _ in errors(validate(obj, kubernetes="1.36", feature_gates={"AllAlpha": True}))] == [
        "spec.devices[0].attributes[ports].ints"
    ]


def test_a_field_may_need_two_gates() -> None:
    device = {"name": "a", "bindsToNode": True, "bindingConditions": ["x"], "bindingFailureConditions": ["y"]}
    gates = {"DRADeviceBindingConditions": True, "DRAResourceClaimDeviceStatus": False}
    problems = validate(resource_slice(device), kubernetes="1.36", feature_gates=gates)
    assert {rule for rule, _ in warnings(problems)} == {"gate-off"}
    assert "DRAResourceClaimDeviceStatus" in problems[0].message
    assert "DRADeviceBindingConditions" not in problems[0].message
    assert validate(resource_slice(device), kubernetes="1.36") == []


@pytest.mark.parametrize("gates", [{"DRAPrioritizedList": False}, {"AllBeta": False}])
def test_a_gate_that_was_switched_off_is_said_to_be(gates: dict[str, bool]) -> None:
    problems = validate(claim(FIRST_AVAILABLE), kubernetes="1.34", feature_gates=gates)
    assert problems[0].message == "dropped: this field needs the feature gate DRAPrioritizedList"
    assert problems[0].hint.endswith("on by default from 1.34, switched off by --feature-gates")


@pytest.mark.parametrize(
    ("fields", "kubernetes", "path"),
    [
        ({"capacity": {"requests": {"memory": "1Gi"}}}, "1.35", "capacity"),
        ({"adminAccess": False}, "1.33", "adminAccess"),
    ],
)
def test_fields_of_flat_requests_are_dropped_too(fields: dict[str, Any], kubernetes: str, path: str) -> None:
    obj = claim({"name": "gpu", "deviceClassName": "gpu.example.com", **fields}, version="v1beta1")
    found = [each for each in warnings(validate(obj, kubernetes=kubernetes)) if each[0] == "gate-off"]
    assert found == [("gate-off", f"spec.devices.requests[0].{path}")]


@pytest.mark.parametrize(("version", "kubernetes"), [("v1beta2", "1.33"), ("v1", "1.34")])
def test_tolerations_are_kept_and_checked_without_their_gate_before_1_35(version: str, kubernetes: str) -> None:
    exactly = {"deviceClassName": "gpu.example.com", "tolerations": [{"operator": "Like", "key": "a"}]}
    problems = validate(claim({"name": "gpu", "exactly": exactly}, version=version), kubernetes=kubernetes)
    path = "spec.devices.requests[0].exactly.tolerations[0].operator"
    assert (warnings(problems), [field for field, _ in errors(problems)]) == ([], [path])


def test_tolerations_are_dropped_without_their_gate_in_1_35() -> None:
    exactly = {"deviceClassName": "gpu.example.com", "tolerations": [{"operator": "Like", "key": "a"}]}
    problems = validate(claim({"name": "gpu", "exactly": exactly}), kubernetes="1.35")
    path = "spec.devices.requests[0].exactly.tolerations"
    assert (warnings(problems), errors(problems)) == ([("gate-off", path)], [])


@pytest.mark.parametrize(
    ("kubernetes", "fields"), [("1.34", []), ("1.35", ["spec.devices.constraints[0].matchAttribute"])]
)
def test_a_distinct_attribute_is_kept_without_its_gate_in_1_34(kubernetes: str, fields: list[str]) -> None:
    constraint = {"requests": ["gpu"], "distinctAttribute": "gpu.example.com/numa"}
    problems = validate(changed(claim(), spec__devices__constraints=[constraint]), kubernetes=kubernetes)
    assert [field for field, _ in errors(problems)] == fields


def test_device_status_is_dropped_in_1_32() -> None:
    base = claim({"name": "gpu", "deviceClassName": "gpu.example.com"}, version="v1beta1")
    obj = allocated(base, devices=[{"driver": "not allocated"}])
    problems = validate(obj, base, kubernetes="1.32", subresource="status")
    assert (warnings(problems), errors(problems)) == ([("gate-off", "status.devices")], [])


def test_a_constraint_asks_for_what_its_release_has() -> None:
    obj = changed(claim(), spec__devices__constraints=[{"requests": ["gpu"]}])
    (off,) = errors(validate(obj, kubernetes="1.35"))
    assert off == ("spec.devices.constraints[0].matchAttribute", "Required value")
    (on,) = errors(validate(obj, kubernetes="1.36"))
    assert on[0] == "spec.devices.constraints[0]"


def test_a_kind_that_is_served_only_with_a_gate_says_so() -> None:
    rule = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "None"}}, "v1beta2")
    assert ("gate-off", "apiVersion") in warnings(validate(rule, kubernetes="1.36"))
    on = validate(rule, kubernetes="1.36", feature_gates={"DRADeviceTaintRules": True})
    assert warnings(on) == [("version-off", "apiVersion")]


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


@each_row(
    ("kubernetes", "dropped"),
    [("1.33", {"adminAccess": True}), ("1.35", {"tolerations": [{"operator": "Exists"}]}), ("1.35", {"capacity": {}})],
)
def test_a_dropped_field_decides_about_the_form_of_a_request(kubernetes: str, dropped: dict[str, Any]) -> None:
    def found(request: dict[str, Any]) -> list[tuple[str, str]]:
        obj, gates = claim(request, version="v1beta1"), {"DRAPrioritizedList": True}
        return errors(validate(obj, kubernetes=kubernetes, feature_gates=gates))

    assert ("spec.devices.requests[0].exactly.deviceClassName", "Required value") in found({"name": "gpu", **dropped})
    texts = [message for field, message in found(FIRST_AVAILABLE | dropped) if field == "spec.devices.requests[0]"]
    assert [text.partition("required, ")[2] for text in texts] == ["but multiple fields are set"]
    assert found(FIRST_AVAILABLE) == []
