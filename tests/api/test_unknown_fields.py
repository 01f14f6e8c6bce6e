"""Unknown fields are reported with the field that was probably meant."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import REQUEST, changed, claim, of_kind, resource_slice
from webhook import validate
from webhook.api.judgement import SOUGHT
from webhook.limits import MOST_FINDINGS
from webhook.problem import Fix

FLAT = {"name": "gpu", "deviceClassName": "gpu.example.com"}
EXACTLY = REQUEST["exactly"]
CONTAINER = {"name": "train", "image": "trainer:1"}


def pod(*claims: dict[str, Any]) -> dict[str, Any]:
    """Make a pod with claims."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train"},
        "spec": {"containers": [CONTAINER], "resourceClaims": list(claims)},
    }


def hint(obj: dict[str, Any], kubernetes: str | None = None) -> str:
    """Return the suggestion of the only finding about an object."""
    (problem,) = validate(obj, kubernetes=kubernetes)
    assert problem.rule == "unknown-field"
    return problem.hint


@each_row(
    ("obj", "field"),
    [
        (claim() | {"name": "claim"}, "metadata.name"),
        (claim() | {"labels": {}}, "metadata.labels"),
        (changed(claim(), spec__name="claim"), "metadata.name"),
        (changed(claim(), spec__requests=[]), "spec.devices.requests"),
        (changed(claim(), spec__count=1), "spec.devices.requests[].exactly.count"),
        (claim(REQUEST | {"count": 1}), "spec.devices.requests[0].exactly.count"),
        (claim(REQUEST, {"name": "b", "exactly": {**EXACTLY, "name": "c"}}), "spec.devices.requests[1].name"),
        (claim(REQUEST | {"matchAttribute": "a/b"}), "spec.devices.constraints[].matchAttribute"),
        (resource_slice({"name": "gpu-0", "attributes": {}}, version="v1beta1"), "spec.devices[0].basic.attributes"),
        (changed(pod(), spec__claims=[]), "spec.resources.claims"),
        (
            changed(pod(), spec__containers=[CONTAINER | {"resourceClaims": []}]),
            'resources.claims" or "spec.resourceClaims',
        ),
    ],
)
def test_a_field_of_another_place_is_found(obj: dict[str, Any], field: str) -> None:
    found = [problem.hint for problem in validate(obj) if problem.rule == "unknown-field"]
    assert found == [f'did you mean "{field}"?']


def test_a_field_is_not_looked_for_where_it_cannot_stand() -> None:
    alternative = {"name": "a", "deviceClassName": "gpu.example.com", "adminAccess": True}
    assert hint(claim({"name": "gpu", "firstAvailable": [alternative]})) == (
        "only `exactly` has adminAccess, and cannot stand beside `firstAvailable`"
    )


def test_a_misspelt_field_of_the_same_place_comes_first() -> None:
    assert hint(changed(claim(), spec__device={})) == 'did you mean "devices"?'
    assert hint(claim(REQUEST | {"first_available": []})) == 'did you mean "firstAvailable"?'


def test_a_map_or_list_in_the_place_of_one_value_has_no_fix() -> None:
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": {"spec": {}}}))
    assert (found.fix, found.hint) == (None, 'did you mean "resourceClaimTemplateName"? It takes one value, not a map')
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": "gpu"}))
    assert (found.fix, found.hint) == (
        Fix("rename", "resourceClaimTemplateName"),
        'did you mean "resourceClaimTemplateName"?',
    )


def test_what_is_in_several_places_as_near_is_not_guessed() -> None:
    # Both constraints and config have it.
    assert hint(claim(REQUEST, requestz=[])) == 'did you mean "requests"?'
    assert hint(changed(resource_slice({"name": "gpu-0"}), spec__effect="None")).startswith("fields here: driver, pool")


def test_the_fields_of_a_device_are_named_for_one_that_is_like_none() -> None:
    devices = {
        "labels": "fields here: name, attributes, capacity, taints",  # those of the slice would not be the device's
        "healthy": "fields here: name, attributes, capacity, taints",
        "bindingTimeoutSeconds": "the scheduler's configuration has it: bindingTimeout of DynamicResourcesArgs",
        "basic": "in this version, attributes, capacity and the rest are fields of the device itself",
        "sharedCounters": 'did you mean "spec.sharedCounters"?',
    }
    for field, said in devices.items():
        assert hint(resource_slice({"name": "gpu-0", field: {}})).startswith(said), field
    boxed = of_kind("ResourceSlice", {"devices": [{"name": "a", "basic": {}, "healthy": True}]}, version="v1beta1")
    assert "fields here: name, basic" in {each.hint for each in validate(boxed, kubernetes="1.34")}


def test_a_field_of_the_status_is_not_meant() -> None:
    assert hint(claim() | {"reservedFor": []}) == ""


@each_row(
    ("obj", "kubernetes", "history"),
    [
        (claim({**FLAT, "firstAvailable": []}, version="v1beta1"), "1.32", "a field since 1.33, not yet in 1.32"),
        (claim({**FLAT, "capacity": {}}, version="v1beta1"), "1.33", "a field since 1.34, not yet in 1.33"),
        (
            changed(claim(), spec__controller="a.example.com"),
            None,
            "a field until 1.31; remove the field: the scheduler allocates claims, and no controller does",
        ),
        (pod({"name": "gpu", "source": {}}), "1.31", "a field until 1.30; its fields are now written here, without it"),
        (
            pod({"name": "gpu", "resourceClaimName": "shared"}),
            "1.30",
            'a field since 1.31, not yet in 1.30; did you mean "spec.resourceClaims[0].source.resourceClaimName"?',
        ),
    ],
)
def test_a_field_of_other_releases_says_of_which(obj: dict[str, Any], kubernetes: str | None, history: str) -> None:
    assert hint(obj, kubernetes) == history


def test_a_field_of_another_version_says_of_which() -> None:
    assert hint(changed(claim(), spec__resourceClassName="gpu")) == (
        "a field of resource.k8s.io/v1alpha2 (Kubernetes 1.27 to 1.30); "
        "name a DeviceClass in devices.requests[].exactly.deviceClassName"
    )
    taint = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoSchedule"}, "zzz": 1})
    assert [problem.hint for problem in validate(taint) if problem.rule == "unknown-field"] == [
        "fields here: deviceSelector, taint"
    ]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("v1", "only `exactly` has adminAccess, and cannot stand beside `firstAvailable`"),
        ("v1beta1", "only a request without `firstAvailable` has adminAccess"),
    ],
)
def test_what_excludes_a_field_is_named(version: str, said: str) -> None:
    alternative = {"name": "a", "deviceClassName": "gpu", "adminAccess": True}
    found = validate(claim({"name": "gpu", "firstAvailable": [alternative]}, version=version))
    assert [problem.hint for problem in found if problem.rule == "unknown-field"] == [said]


@pytest.mark.parametrize(("others", "suggested"), [(SOUGHT - 1, 'did you mean "spec"?'), (SOUGHT, "")])
def test_only_the_first_of_very_many_fields_have_suggestions(others: int, suggested: str) -> None:
    unknown: dict[str, Any] = {f"field{index}": {} for index in range(others)} | {"specs": {}}
    assert validate(claim() | unknown)[others].hint == suggested


def test_of_more_fields_than_a_report_has_findings_the_rest_is_not_looked_at() -> None:
    found = validate(claim() | {f"field{index}": {} for index in range(MOST_FINDINGS + 100)})
    assert len(found) == MOST_FINDINGS + 1


def test_of_very_many_fields_only_the_first_are_looked_for_elsewhere() -> None:
    devices = [{"name": f"gpu-{index}", "driver": "gpu.example.com"} for index in range(SOUGHT + 1)]
    hints = [problem.hint for problem in validate(resource_slice(*devices))]
    assert hints == ['did you mean "spec.driver"?'] * SOUGHT + [""]


@each_row("value", ["x", 1, [], {"adminAccess": True}, None])
def test_an_unknown_field_may_hold_anything(value: object) -> None:
    requests = [{"name": "r", "deviceClassName": "c", "exactly": value}]
    beta = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": "a"}}
    found = validate(beta | {"spec": {"devices": {"requests": requests}}})
    assert [each.rule for each in found if each.level == "error"] == ["unknown-field"]


def test_control_characters_of_unknown_fields_are_escaped() -> None:
    (problem,) = validate(changed(claim(), **{'spec__a"\n\u2028é': 1}))
    assert problem.message == r'''strict decoding error: unknown field "spec.a\"\n\u2028é"'''
