"""An inventory returns objects in the newest version."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.rows import each_row
from webhook.inventory import Inventory, MalformedError
from webhook.objects import free_of_nulls, without_nulls


def test_what_is_held_in_an_older_version_is_returned_in_the_newest() -> None:
    inventory = Inventory()
    asks = {"name": "gpu", "deviceClassName": "gpu.example.com"}
    for name in ("a", "b", "c", "d"):
        claim = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": name}}
        assert inventory.hold({**claim, "spec": {"devices": {"requests": [asks]}}})
    found = [inventory.find("ResourceClaim", "a", "default"), inventory.discard("ResourceClaim", "b", "default")]
    found += inventory.all("ResourceClaim")
    assert [each and (each["apiVersion"], each["metadata"]["name"]) for each in found] == [
        ("resource.k8s.io/v1", name) for name in ("a", "b", "a", "c", "d")
    ]
    exactly = {"deviceClassName": "gpu.example.com"}
    assert all(each and each["spec"]["devices"]["requests"][0]["exactly"] == exactly for each in found)


@each_row("version", ["v1", "v1beta2", "v1beta1"])
def test_slices_of_1_34_have_devices_and_counters(version: str) -> None:
    """They stay in a cluster that is upgraded, although later API servers reject such slices."""
    counters = {"consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "1Gi"}}}]}
    device = {"name": "d0", "basic": counters} if version == "v1beta1" else {"name": "d0", **counters}
    spec = {
        "driver": "gpu.example.com",
        "nodeName": "a",
        "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
        "devices": [device],
        "sharedCounters": [{"name": "set", "counters": {"memory": {"value": "1Gi"}}}],
    }
    made = {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice", "metadata": {"name": "s"}}
    (found,) = Inventory([{**made, "spec": spec}]).all("ResourceSlice")
    assert found["spec"]["devices"] == [{"name": "d0", **counters}]
    del spec["pool"]
    with pytest.raises(MalformedError, match=r"ResourceSlice s: spec\.pool"):
        Inventory([{**made, "spec": spec}])


def test_the_selectors_of_an_object_take_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.inventory.REVIEW", 100)
    selectors = [{"cel": {"expression": f"[1].all(x, [{number}].exists(y, y > x))"}} for number in range(20)]
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    with pytest.raises(MalformedError, match="take more work than draguard allows"):
        Inventory([{**made, "spec": {"selectors": selectors}}])


def test_what_has_no_nulls_is_not_copied() -> None:
    plain: dict[str, Any] = {"a": [{"b": 1}, []], "c": {}}
    assert free_of_nulls(plain) is plain
    for value in ({"a": None}, {"a": [{"b": None}]}, {"a": [[None]]}):
        assert free_of_nulls(copy.deepcopy(value)) == without_nulls(value)
        assert free_of_nulls(value) is not value


def test_a_reference_means_the_workload_of_its_group() -> None:
    jobs = [
        {"apiVersion": version, "kind": "Job", "metadata": {"name": "train", "uid": version}}
        for version in ("batch.volcano.sh/v1alpha1", "batch/v1")
    ]
    for objects in (jobs, jobs[::-1]):
        inventory = Inventory()
        for each in objects:
            inventory.keep(each)
        assert inventory.all("Job") == objects
        assert inventory.find("Job", "train", "default") is jobs[1]
        for each in jobs:
            version = each["apiVersion"]
            reference = {"apiVersion": version, "kind": "Job", "name": "train", "uid": version}
            assert inventory.referred("Job", reference, "default") is each
