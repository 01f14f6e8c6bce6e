"""What the API server still checks, once it has refused or dropped a part of an object."""

from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import REQUEST, claim
from webhook import validate

GROUP: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "group", "namespace": "default"},
    "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "a"}]},
}
CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com", "generateName": "gpu/"},
    "spec": {},
}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
IMMUTABLE = ("spec.resourceClaims", "Invalid value: null: field is immutable")


@each_row(
    ("claims", "expected"),
    [
        (GROUP["spec"]["resourceClaims"], []),
        ([{"name": "B"}, {"name": "B", "resourceClaimName": "C"}], [IMMUTABLE]),
        ([{}] * 5, [IMMUTABLE, ("spec.resourceClaims", "Too many: 5: must have at most 4 items")]),
        ([], [IMMUTABLE]),
    ],
)
def test_changed_claims_of_a_group_are_only_counted(
    claims: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    new = {**GROUP, "spec": {"resourceClaims": claims}}
    problems = validate(new, GROUP, kubernetes="1.36", feature_gates={"AllAlpha": True})
    found = [(each.field, each.message) for each in problems if each.level == "error"]
    assert found == expected


@pytest.mark.parametrize(
    ("spec", "fields"), [({}, ["metadata.generateName"]), ({"selectors": [{}]}, ["spec.selectors[0].cel"])]
)
def test_a_class_has_its_prefix_checked_last(spec: dict[str, Any], fields: list[str]) -> None:
    problems = validate({**CLASS, "spec": spec}, kubernetes="1.36")
    assert [problem.field for problem in problems] == fields


def test_a_prefix_that_is_cut_out_of_the_name_of_a_class_is_checked() -> None:
    metadata = {"generateName": "a" * 60 + "/"}
    (problem,) = validate({**CLASS, "metadata": metadata}, kubernetes="1.36")
    assert (problem.field, problem.message[-19:]) == ("metadata.generateName", "may not contain '/'")


@pytest.mark.parametrize("subresource", ["", "status"])
def test_an_update_warns_of_repeated_owners_once(subresource: str) -> None:
    old = claim(REQUEST)
    new = {**old, "metadata": {**old["metadata"], "ownerReferences": [OWNER, OWNER]}}
    problems = validate(new, old, kubernetes="1.36", subresource=subresource)
    (warning,) = [each for each in problems if "duplicate UID(s) observed: u" in each.message]
    assert (warning.level, warning.rule, warning.field) == ("warning", "repeated-owner", "metadata.ownerReferences")
