"""Requests that are too large for the tables of ``requests``."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from tests.conformance.recorded import NAMESPACE_LABELS
from tests.objects import mutated
from tests.rows import each_row
from tests.structured import changed, claim, errors, of_kind, resource_slice
from webhook import validate

ALL = {"AllAlpha": True, "AllBeta": True, "DeclarativeValidationTakeover": False}
FLAT = {"name": "gpu", "deviceClassName": "gpu.example.com"}
CONTAINER = {"name": "train", "image": "trainer:1", "resources": {"claims": [{"name": "gpu"}]}}
USED = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
POD = of_kind("Pod", {"containers": [CONTAINER], "resourceClaims": USED}) | {"apiVersion": "v1"}
LONG = {"parameters": {"a": "x" * 11000}, "driver": "gpu.example.com"}


def said(obj: dict[str, Any], kubernetes: str) -> list[tuple[str, str]]:
    """List the errors of a release with all gates on."""
    return errors(validate(obj, kubernetes=kubernetes, feature_gates=ALL, namespace_labels=NAMESPACE_LABELS))


@each_row(("escaped", "size"), ("<", 6), (">", 6), ("&", 6), ("\u2028", 6), ("\u2029", 6), ("é", 2))
def test_opaque_parameters_are_measured_as_go_writes_json(escaped: str, size: int) -> None:
    most = escaped * 1000 + "x" * (10240 - len('{"a":""}') - 1000 * size)
    for text, findings in ((most, 0), (f"{most}x", 1)):
        config = {"opaque": {"driver": "a", "parameters": {"a": text}}}
        assert len(said(claim(FLAT, version="v1beta1", config=[config]), "1.32")) == findings


def test_unchanged_configuration_may_be_longer_than_new_one() -> None:
    old = of_kind("DeviceClass", {"config": [{"opaque": LONG}]}, "v1")
    new = changed(old, spec__extendedResourceName="example.com/gpu")
    assert errors(validate(new, old, kubernetes="1.36")) == []
    assert errors(validate(new, old, kubernetes="1.34", feature_gates={"AllAlpha": True})) == [
        ("spec.config[0].opaque.parameters", "Too long: may not be more than 10240 bytes")
    ]
    assert validate(changed(old, spec={}), old) == []


def uses(counter_set: str, *counters: str) -> dict[str, Any]:
    """Make a device of v1beta2 that uses counters."""
    consumption = {"counterSet": counter_set, "counters": {name: {"value": "1"} for name in counters}}
    return {"name": "a", "consumesCounters": [consumption]}


def test_counters_are_limited_in_all_up_to_1_34_and_one_by_one_later() -> None:
    many = [f"c{number}" for number in range(33)]
    sets = [{"name": "set", "counters": {name: {"value": "1"} for name in many}}]
    found = said(resource_slice(uses("set", *many), sharedCounters=sets, version="v1beta2"), "1.33")
    assert [text for _, text in found] == [
        "Invalid value: 33: the total number of counters must not exceed 32",
        "Invalid value: 33: the total number of shared counters must not exceed 32",
    ]
    devices = [uses("set", *many[:32]) | {"name": f"d{number}"} for number in range(33)]
    sets = [{"name": "set", "counters": {name: {"value": "1"} for name in many[:32]}}]
    found = said(resource_slice(*devices, sharedCounters=sets, version="v1beta2"), "1.33")
    assert found == [
        ("spec.devices", "Invalid value: 1056: the total number of counters in devices must not exceed 1024")
    ]
    found = said(resource_slice(uses("Set", *many)), "1.36")
    assert [field.removeprefix("spec.devices[0].consumesCounters[0].") for field, _ in found] == [
        "counters",
        "counterSet",
    ]


def test_a_handle_holds_data_or_structured_data() -> None:
    structured = {"nodeName": "node_1", "results": [{}, {"namedResources": {"name": "Gpu"}}]}
    handles = [{"driverName": "gpu.example.com", "data": "x", "structuredData": structured}] * 33
    old = of_kind("ResourceClaim", {"resourceClassName": "gpu.example.com"}, "v1alpha2")
    status = {"driverName": "gpu.example.com", "allocation": {"resourceHandles": handles}}
    found = errors(validate(old | {"status": status}, old, kubernetes="1.30", subresource="status"))
    path = "status.allocation.resourceHandles"
    assert (path, "Too long: may not be longer than 32") in found
    assert (f"{path}[0].structuredData.results[0]",) in {each[:1] for each in found}
    assert "data and structuredData are mutually exclusive" in dict(found)[f"{path}[0]"]
    assert {field for field, _ in found} >= {
        f"{path}[32]",
        f"{path}[32].structuredData.nodeName",
        f"{path}[32].structuredData.results[1].namedResources.name",
    }


def test_a_scheduling_context_reports_each_claim_and_node() -> None:
    context = of_kind("PodSchedulingContext", {}, "v1alpha2")
    claims = [
        {"name": "a", "unsuitableNodes": [f"node-{index}" for index in range(129)]},
        {"name": "a", "unsuitableNodes": ["Node"]},
        {"name": "b", "unsuitableNodes": ["node-1", "node-1"]},
    ]
    problems = validate({**context, "status": {"resourceClaims": claims}}, context, subresource="status")
    assert [(problem.field, str(problem.path)) for problem in problems] == [
        ("status.claims[0].unsuitableNodes", "status.resourceClaims[0].unsuitableNodes"),
        ("status.claims[1].unsuitableNodes[0]", "status.resourceClaims[1].unsuitableNodes[0]"),
        ("status.claims[2].unsuitableNodes[1]", "status.resourceClaims[2].unsuitableNodes[1]"),
        ("status.claims[1]", "status.resourceClaims[1]"),
    ]


def test_a_message_about_health_says_something_in_1024_bytes() -> None:
    devices = [{"resourceID": text[:1], "health": "Unhealthy", "message": text} for text in ("", "x" * 1025)]
    allocated = [{"name": "claim:gpu", "resources": devices}]
    new = POD | {"status": {"containerStatuses": [{"name": "train", "allocatedResourcesStatus": allocated}]}}
    path = "status.containerStatuses[0].allocatedResourcesStatus[0].resources"
    assert errors(validate(new, POD, kubernetes="1.36", subresource="status")) == [
        (f"{path}[0].message", "Required value: must be non-empty if specified"),
        (f"{path}[1].message", "Too long: may not be more than 1024 bytes"),
    ]
    found = validate(new, POD, kubernetes="1.35", subresource="status")
    assert [problem.rule for problem in found] == ["unknown-field"] * 2


@each_row(
    ("value", "found"), ("-" + "0" * 5000 + "1", []), ("1" * 5000, ["value out of range"]), ("+", ["invalid syntax"])
)
def test_tolerated_numbers_have_any_length(value: str, found: list[str]) -> None:
    tolerations = [{"key": "memory", "operator": "Lt", "value": value}]
    gates = {"TaintTolerationComparisonOperators": True}
    problems = validate(changed(POD, spec__tolerations=tolerations), kubernetes="1.36", feature_gates=gates)
    assert [each.message.rpartition(": ")[2] for each in problems if "strconv.ParseInt" in each.message] == found


TABLE = Path(__file__).parent / "requests" / "pod-updates.yaml"
GATED: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["objects"]["gated"]


def test_a_pod_nested_without_end_is_compared() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"items": [deep]}
    assert validate(GATED | {"spec": GATED["spec"] | {"dnsConfig": deep}}, GATED)


@pytest.mark.slow
@settings(max_examples=800)
@given(mutated([GATED], most=3), mutated([GATED], most=3))
def test_no_change_makes_an_update_raise(new: Any, old: Any) -> None:
    for problem in validate(new, old):
        assert problem.field is not None
        assert problem.message


def test_many_finalizers_are_compared_in_time() -> None:
    new = changed(
        claim(FLAT, version="v1beta1"), metadata={"name": "a", "finalizers": [f"a/b{n}" for n in range(20_000)]}
    )
    began = time.process_time()
    assert validate(new, new, kubernetes="1.32") == []
    assert time.process_time() - began < 2
