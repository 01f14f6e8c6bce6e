"""`draguard.validate`: its input, and input that is not a Kubernetes object."""

from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import changed, claim
from webhook import validate


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
