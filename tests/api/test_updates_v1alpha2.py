"""Updates of v1alpha2 objects: immutability, and the state rules of status."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import changed
from webhook import Problem, validate

CLAIM: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceClaim",
    "metadata": {"name": "claim", "namespace": "default", "uid": "1", "resourceVersion": "7"},
    "spec": {"resourceClassName": "gpu.example.com", "allocationMode": "WaitForFirstConsumer"},
    "status": {},
}
TEMPLATE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "template", "namespace": "default"},
    "spec": {"metadata": {"labels": {"app": "a"}}, "spec": CLAIM["spec"]},
}
SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceSlice",
    "metadata": {"name": "slice"},
    "nodeName": "node-1",
    "driverName": "gpu.example.com",
    "namedResources": {"instances": [{"name": "gpu-0", "attributes": [{"name": "memory", "quantity": "1Gi"}]}]},
}
ALLOCATION = {"resourceHandles": [{"driverName": "gpu.example.com", "data": "x"}], "shareable": True}
PODS = [{"resource": "pods", "name": f"pod-{index}", "uid": f"uid-{index}"} for index in range(40)]


def said(problems: list[Problem]) -> list[tuple[str, str]]:
    """Return field and message of the errors, without the values shown."""
    return [
        (problem.field, problem.message.rpartition("}: ")[2] if "}: " in problem.message else problem.message)
        for problem in problems
        if problem.level == "error"
    ]


def status_update(before: dict[str, Any], after: dict[str, Any], **metadata: Any) -> list[tuple[str, str]]:
    """Return the errors of a change of a claim's status."""
    old = changed(CLAIM, status=before)
    old["metadata"] |= metadata
    return said(validate({**old, "status": after}, old, kubernetes="1.30", subresource="status"))


@each_row(
    ("obj", "field", "value"),
    [
        (CLAIM, "spec__resourceClassName", "other"),
        (CLAIM, "spec__allocationMode", "Immediate"),
        (CLAIM, "spec__parametersRef", {"kind": "K", "name": "n"}),
        (TEMPLATE, "spec__metadata__labels", {"app": "b"}),
        (TEMPLATE, "spec__spec__resourceClassName", "other"),
    ],
)
def test_a_spec_is_immutable(obj: dict[str, Any], field: str, value: object) -> None:
    assert said(validate(changed(obj, **{field: value}), obj, kubernetes="1.27")) == [("spec", "field is immutable")]


@pytest.mark.parametrize("field", ["nodeName", "driverName"])
def test_a_slice_stays_with_its_node_and_driver(field: str) -> None:
    problems = validate(changed(SLICE, **{field: "other"}), SLICE)
    assert [(problem.field, problem.message) for problem in problems] == [
        (field, 'Invalid value: "other": field is immutable')
    ]


def test_what_the_server_sets_itself_is_not_a_change() -> None:
    assert validate(changed(CLAIM, spec__allocationMode=..., status=..., metadata__uid=...), CLAIM) == []
    assert validate(changed(CLAIM, spec__allocationMode="", spec__parametersRef=None), CLAIM) == []


def test_labels_may_change() -> None:
    assert validate(changed(TEMPLATE, metadata__labels={"a": "b"}), TEMPLATE) == []


def test_create_rules_hold_for_updates_too() -> None:
    problems = validate(changed(SLICE, namedResources=None), SLICE)
    assert said(problems) == [("<nil>", "Required value: exactly one structured model field must be set")]


def test_the_status_is_kept_by_an_update_of_the_object() -> None:
    problems = validate(changed(CLAIM, status={"reservedFor": PODS}), CLAIM)
    assert [(problem.level, problem.rule) for problem in problems] == [("warning", "status-ignored")]


def test_the_spec_is_kept_by_an_update_of_the_status() -> None:
    problems = validate(changed(CLAIM, spec__resourceClassName="other"), CLAIM, subresource="status")
    assert [(problem.level, problem.rule) for problem in problems] == [("warning", "spec-ignored")]


@pytest.mark.parametrize(("release", "errors"), [("1.29", 1), ("1.30", 0)])
def test_metadata_is_kept_by_an_update_of_the_status_since_1_30(release: str, errors: int) -> None:
    problems = validate(changed(CLAIM, metadata__labels={"-": "x"}), CLAIM, kubernetes=release, subresource="status")
    assert len({problem.field for problem in problems}) == errors


def test_an_allocation_may_be_set_and_removed_but_not_changed() -> None:
    allocated = {"driverName": "gpu.example.com", "allocation": ALLOCATION}
    other = {"driverName": "gpu.example.com", "allocation": {**ALLOCATION, "shareable": False}}
    assert status_update({}, allocated) == []
    assert status_update(allocated, {}) == []
    assert status_update(allocated, other) == [("status.allocation", "field is immutable")]


def test_a_handle_holds_data_or_structured_data() -> None:
    structured = {"nodeName": "node_1", "results": [{}, {"namedResources": {"name": "Gpu"}}]}
    handles = [{"driverName": "gpu.example.com", "data": "x", "structuredData": structured}] * 33
    after = {"driverName": "gpu.example.com", "allocation": {"resourceHandles": handles}}
    found = status_update({}, after)
    path = "status.allocation.resourceHandles"
    assert (path, "Too long: may not be longer than 32") in found
    assert (f"{path}[0]", 'Invalid value: "null": data and structuredData are mutually exclusive') in found
    assert (
        f"{path}[0].structuredData.results[0]",
        "Required value: exactly one structured model field must be set",
    ) in found
    assert {field for field, _ in found} >= {
        f"{path}[32]",
        f"{path}[32].structuredData.nodeName",
        f"{path}[32].structuredData.results[1].namedResources.name",
    }


def test_a_scheduling_context_reports_each_claim_and_node() -> None:
    context = {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "PodSchedulingContext",
        "metadata": {"name": "pod", "namespace": "default"},
        "spec": {},
    }
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


def test_an_object_that_is_being_deleted_takes_no_finalizers() -> None:
    old = changed(CLAIM, metadata__deletionTimestamp="2024-01-31T12:00:00Z", metadata__finalizers=["example.com/a"])
    detail = (
        'no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}'
    )
    assert said(validate(changed(old, metadata__finalizers=["example.com/a", "example.com/b"]), old)) == [
        ("metadata.finalizers", f"Forbidden: {detail}")
    ]


def test_the_submitted_generation_is_ignored() -> None:
    old = changed(CLAIM, metadata__generation=3)
    assert validate(changed(old, metadata__generation=2), old) == []


def test_the_time_to_delete_an_object_stays() -> None:
    path = "metadata.deletionGracePeriodSeconds"
    submitted = changed(CLAIM, metadata__deletionGracePeriodSeconds=30)
    expected = [(path, "Invalid value: 30: field is immutable")]
    assert said(validate(submitted, CLAIM)) == expected
    assert said(validate(submitted, CLAIM, subresource="status")) == expected


def test_a_status_update_keeps_labels_and_times_of_deletion() -> None:
    submitted = changed(CLAIM, metadata__labels={"a b": "x"}, metadata__deletionTimestamp="2026-01-01T00:00:00Z")
    assert validate(submitted, CLAIM, subresource="status", kubernetes="1.30") == []
    assert {problem.field for problem in validate(submitted, CLAIM, subresource="status", kubernetes="1.29")} == {
        "metadata.labels",
        "metadata.deletionTimestamp",
    }


@each_row(
    ("kind", "prefix", "count"), [("claim", "a_b", 1), ("claim", "a/", 2), ("slice", "a_b", 1), ("slice", "a/%", 3)]
)
def test_an_update_checks_the_prefix_of_generated_names(kind: str, prefix: str, count: int) -> None:
    old = {"claim": CLAIM, "slice": SLICE}[kind]
    found = validate(changed(old, metadata__generateName=prefix), old, kubernetes="1.30")
    assert [problem.field for problem in found] == ["metadata.generateName"] * count


def test_an_update_names_its_object() -> None:
    found = said(validate(changed(CLAIM, metadata__name=...), CLAIM))
    message = "the name of the object (claim based on URL) was undeterminable: name must be provided"
    assert ("metadata.name", message) in found


@each_row(
    ("field", "value", "reason"),
    [("name", "other", "BadRequest"), ("uid", "2", "Conflict"), ("resourceVersion", "6", "Conflict")],
)
def test_an_update_is_of_the_stored_object(field: str, value: str, reason: str) -> None:
    problems = validate(changed(CLAIM, **{f"metadata__{field}": value}), CLAIM)
    assert [(problem.field, problem.reason) for problem in problems] == [(f"metadata.{field}", reason)]


@each_row("old", [[], "x", 3, changed(CLAIM, spec=[])])
def test_an_old_object_that_was_never_stored_is_a_finding(old: object) -> None:
    assert [problem.rule for problem in validate(CLAIM, old)] == ["old-object"]


def test_an_old_object_may_have_fields_of_another_release() -> None:
    assert validate(CLAIM, changed(CLAIM, spec__controller="x"), kubernetes="1.30") == []
