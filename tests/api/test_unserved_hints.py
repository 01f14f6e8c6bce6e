from typing import Any

import pytest

from tests.command import draguard
from tests.rows import each_row
from webhook import validate
from webhook.api.judgement import judge

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
