"""Unknown fields are reported with the field that was probably meant."""

from typing import Any

import pytest

from tests.command import draguard
from tests.rows import each_row
from tests.structured import changed, claim, resource_slice
from webhook import validate
from webhook.api.judgement import SOUGHT, judge
from webhook.limits import MOST_FINDINGS
from webhook.problem import Fix

CONTAINER = {"name": "train", "image": "trainer:1"}


def pod(*claims: dict[str, Any]) -> dict[str, Any]:
    """Make a pod with claims."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train"},
        "spec": {"containers": [CONTAINER], "resourceClaims": list(claims)},
    }


def test_a_map_or_list_in_the_place_of_one_value_has_no_fix() -> None:
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": {"spec": {}}}))
    assert (found.fix, found.hint) == (None, 'did you mean "resourceClaimTemplateName"? It takes one value, not a map')
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": "gpu"}))
    assert (found.fix, found.hint) == (
        Fix("rename", "resourceClaimTemplateName"),
        'did you mean "resourceClaimTemplateName"?',
    )


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


def test_control_characters_of_unknown_fields_are_escaped() -> None:
    (problem,) = validate(changed(claim(), **{'spec__a"\n\u2028é': 1}))
    assert problem.message == r'''strict decoding error: unknown field "spec.a\"\n\u2028é"'''


REST = {"metadata": {"name": "a"}, "spec": {"devices": {}}}
VERSION, KIND = {"apiVersion": "resource.k8s.io/v1"}, {"kind": "ResourceClaim"}
POD = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}]}}


@each_row(
    ("head", "said", "place", "hint"),
    [
        (VERSION | {"knd": "ResourceClaim"}, "kind: kind not set", "knd", 'did you mean "kind" in place of "knd"?'),
        (VERSION | {"Kind": "ResourceClaim"}, "kind: kind not set", "Kind", 'did you mean "kind" in place of "Kind"?'),
        (
            VERSION,
            "kind: kind not set",
            "kind",
            "add kind: DeviceClass or DeviceTaintRule or ResourceClaim or ResourceClaimTemplate or ResourceSlice",
        ),
        ({"apiVersion": "apps/v1"}, "kind: kind not set", "kind", ""),
        (
            KIND | {"apiversion": "resource.k8s.io/v1"},
            "apiVersion: apiVersion not set",
            "apiversion",
            'did you mean "apiVersion" in place of "apiversion"?',
        ),
        (KIND, "apiVersion: apiVersion not set", "apiVersion", "add apiVersion: resource.k8s.io/v1"),
        ({"kind": "Pod"} | POD, "apiVersion: apiVersion not set", "apiVersion", "add apiVersion: v1"),
        ({"kind": "Deployment"} | POD, "apiVersion: apiVersion not set", "apiVersion", "add apiVersion: apps/v1"),
    ],
)
def test_what_an_object_lacks_is_found_where_it_is_misspelt(
    head: dict[str, Any], said: str, place: str, hint: str
) -> None:
    (problem,) = validate(REST | head)
    assert (str(problem), problem.path, problem.hint) == (said, (place,), hint)


@each_row(("release", "version"), [("1.30", "v1alpha2"), ("1.31", "v1alpha3"), ("1.33", "v1beta2"), ("1.34", "v1")])
def test_the_version_to_add_is_one_that_the_release_serves(release: str, version: str) -> None:
    manifest = f"{VERSION}\n---\n{REST | KIND}".encode()
    done = draguard("validate", "--kubernetes-version", release, "-", stdin=manifest)
    assert f"help: add apiVersion: resource.k8s.io/{version}\n" in done.out


@pytest.mark.parametrize("obj", [{"kind": "Job", "spec": {}}, {"kind": "Values", "claims": [1]}])
def test_other_files_are_silent(obj: dict[str, Any]) -> None:
    assert judge(obj) == []


@each_row(
    ("arguments", "message"),
    [
        ({"kubernetes": 1.34}, "kubernetes must be a string, not float"),
        ({"kubernetes": 34}, "kubernetes must be a string, not int"),
        ({"kubernetes": "1.26"}, r"Kubernetes 1\.26 is not known here; 1\.27 and later are"),
        ({"subresource": "scale"}, "subresource 'scale' is not judged: give \"status\""),
        ({"subresource": "Status", "old": claim()}, "subresource 'Status' is not judged"),
        ({"subresource": "status"}, "a status is judged as an update: give the stored object as old"),
        ({"feature_gates": {"DRADeviceTaint": True}}, "unrecognized feature gate: DRADeviceTaint"),
    ],
)
def test_an_invalid_query_is_a_value_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(claim(), **arguments)


# Metadata


@each_row("version", ["7", "007", str(2**64 - 1)])
def test_a_new_object_has_no_resource_version(version: str) -> None:
    (problem,) = validate(changed(claim(), metadata__resourceVersion=version))
    assert (problem.rule, problem.reason) == ("resource-version-of-new", "InternalError")
    assert str(problem) == "metadata.resourceVersion: resourceVersion should not be set on objects to be created"


@each_row("version", ["", "0", "abc", "-7", "7.0", "\uff17", str(2**64), "9" * 5000])
def test_a_resource_version_that_is_no_number_is_as_good_as_none(version: str) -> None:
    assert validate(changed(claim(), metadata__resourceVersion=version)) == []


@each_row("old", [[], "x", 3, changed(claim(), spec=[])])
def test_an_old_object_that_was_never_stored_is_a_finding(old: object) -> None:
    assert [problem.rule for problem in validate(claim(), old)] == ["old-object"]
