"""An inventory returns objects in the newest version."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from webhook.inventory import Inventory, MalformedError
from webhook.inventory.objects import free_of_nulls, without_nulls
from webhook.inventory.repeated import Repeated


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


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
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
    monkeypatch.setattr("webhook.inventory.objects.REVIEW", 100)
    selectors = [{"cel": {"expression": f"[1].all(x, [{number}].exists(y, y > x))"}} for number in range(20)]
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    with pytest.raises(MalformedError, match="take more work than draguard allows"):
        Inventory([{**made, "spec": {"selectors": selectors}}])


def test_devices_share_equal_attributes_and_capacities() -> None:
    def published(name: str, **attributes: Any) -> dict[str, Any]:
        device = {"name": "a", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}
        spec: dict[str, Any] = {"driver": "d.io", "nodeName": name, "devices": [device]}
        spec["pool"] = {"name": name, "generation": 1, "resourceSliceCount": 1}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}

    manifests = [published("x", a={"int": 1}, b={"bool": True}), published("y", a={"int": 1}, b={"int": 1})]
    before = copy.deepcopy(manifests)
    one, other = (each["spec"]["devices"][0] for each in Inventory(manifests).all("ResourceSlice"))
    assert manifests == before
    assert [one, other] == [each["spec"]["devices"][0] for each in before]
    assert one["capacity"] is other["capacity"]
    assert one["attributes"]["a"] is other["attributes"]["a"]
    assert one["attributes"]["b"] != other["attributes"]["b"]


def test_a_value_nested_too_deeply_is_not_shared() -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    device: dict[str, Any] = {"attributes": {"a": deep}}
    Repeated().share({"spec": {"devices": [device]}})
    assert device["attributes"]["a"] is deep


def test_what_has_no_nulls_is_not_copied() -> None:
    plain: dict[str, Any] = {"a": [{"b": 1}, []], "c": {}}
    assert free_of_nulls(plain) is plain
    for value in ({"a": None}, {"a": [{"b": None}]}, {"a": [[None]]}):
        assert free_of_nulls(copy.deepcopy(value)) == without_nulls(value)
        assert free_of_nulls(value) is not value


def test_slices_share_names() -> None:
    spec = {"driver": "d.io", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 2}}
    text = json.dumps({"kind": "ResourceSlice", "spec": {**spec, "devices": []}})
    slices = [json.loads(text) | {"metadata": {"name": name}} for name in ("a", "b")]
    one, other = (each["spec"] for each in Inventory(slices).all("ResourceSlice"))
    assert one["nodeName"] is other["nodeName"] is one["pool"]["name"] is other["pool"]["name"]
    assert one["driver"] is other["driver"]
