"""Devices that are part of a node's cpu or memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod, template
from webhook import simulate
from webhook.objects import JSONObject

GATES = {"DRANodeAllocatableResources": True}


def answer(resources: JSONObject, *objects: JSONObject, wanted: JSONObject | None = None, **device: Any) -> JSONObject:
    around = [device_class(), devices("a", 1, nodeAllocatableResources=resources, **device), *objects]
    pods = [wanted or pod(claims={"gpu": "c"})]
    (result,) = simulate(around, pods, kubernetes="1.37", feature_gates=GATES)
    return result


SHARED: JSONObject = {"allowMultipleAllocations": True, "capacity": {"cores": {"value": "10"}}}


@each_row(
    ("resources", "device", "most"),
    [
        ({"cpu": {"mapping": {"deviceMultiplier": "3"}}}, {}, 3000),
        ({"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "500m"}}}, SHARED, 1000),
        ({"cpu": {"overhead": {"perPod": "1", "perContainer": "250m"}}}, {}, 1250),
        ({"cpu": {"mapping": {"deviceMultiplier": "1"}, "overhead": {"perPod": "500m"}}}, {}, 1500),
    ],
)
def test_what_devices_take_must_be_left(resources: JSONObject, device: JSONObject, most: int) -> None:
    asked = claim(capacity={"requests": {"cores": "2"}}) if device else claim()
    assert answer(resources, node("a", cpu=f"{most}m"), asked, **device)["node"] == "a"
    result = answer(resources, node("a", cpu=f"{most - 1}m"), asked, **device)
    assert "1 Insufficient cpu." in result["condition"]["message"]


def test_each_container_that_uses_the_claim_counts() -> None:
    overhead = {"cpu": {"overhead": {"perContainer": "1"}}}
    wanted = pod(claims={"gpu": "c"})
    wanted["spec"]["initContainers"] = [{**wanted["spec"]["containers"][0], "name": "first"}]
    assert answer(overhead, node("a", cpu="2"), claim(), wanted=wanted)["node"] == "a"
    assert answer(overhead, node("a", cpu="1"), claim(), wanted=wanted)["node"] is None


def test_a_mapping_by_a_capacity_needs_one_that_is_consumed() -> None:
    by_capacity = {"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "1"}}}
    result = answer(by_capacity, node("a"), claim(), capacity={"cores": {"value": "10"}})
    assert result["condition"]["reason"] == "SchedulerError"
    assert "claim default/c, device d0: ConsumedCapacity is nil" in result["condition"]["message"]


@pytest.mark.parametrize(
    ("resources", "is_shared"),
    [({"mapping": {"deviceMultiplier": "1"}}, False), ({"overhead": {"perPod": "1"}}, True)],
)
def test_claims_with_mapped_devices_are_of_one_pod(resources: JSONObject, is_shared: bool) -> None:
    result = answer({"cpu": resources}, node("a"), allocated("c", "a", "d0", "other"))
    assert (result["node"] == "a") == is_shared
    if not is_shared:
        assert "claim c has a mapped device and cannot be shared across pods" in result["condition"]["message"]


@pytest.mark.parametrize("is_used", [True, False])
def test_in_1_36_a_container_must_use_a_claim_with_mapped_devices(is_used: bool) -> None:
    mapped = devices("a", 1, nodeAllocatableResourceMappings={"cpu": {"allocationMultiplier": "1"}})
    wanted = pod(claims={"gpu": "c"})
    if not is_used:
        del wanted["spec"]["containers"][0]["resources"]["claims"]
    (result,) = simulate([device_class(), mapped, node("a"), claim()], [wanted], feature_gates=GATES)
    assert (result["node"] == "a") == is_used
    if not is_used:
        assert "claim c: node-allocatable resource claim not referenced by any" in result["condition"]["message"]


BY_CAPACITY: JSONObject = {"allowMultipleAllocations": True, "capacity": {"cpus": {"value": "16"}}}
MAPPED: dict[str, JSONObject] = {
    "1.36": {"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "cpus"}}},
    "1.37": {"nodeAllocatableResources": {"cpu": {"mapping": {"capacityKey": "cpus", "capacityMultiplier": "1"}}}},
}


def why(release: str, *pods: JSONObject, template_of: JSONObject, around: tuple[JSONObject, ...] = ()) -> JSONObject:
    around = (device_class(), node("a"), devices("a", 1, **BY_CAPACITY, **MAPPED[release]), template_of, *around)
    found: JSONObject = simulate(around, list(pods), kubernetes=release, feature_gates=GATES)[-1]["why"]
    return found


@pytest.mark.parametrize("release", MAPPED)
def test_the_reason_is_what_the_node_lacks_and_what_devices_take_of_it(release: str) -> None:
    asked = template("t", capacity={"requests": {"cpus": "10"}})
    found = why(release, pod(claims={"gpu": "t"}, requests={"cpu": "1"}), template_of=asked)
    (group,) = found["nodes"]
    lack = "cpu 11 wanted (10 of them by request r), 8 of 8 free"
    assert (group["reasons"], group["details"], group["byDevices"]) == (["Insufficient cpu"], [lack], False)
    assert found["reason"] == f"1 node has too little cpu: {lack}"
    help_ = [each["change"] for each in found["help"]]
    assert "with cpus 5 in place of 10 in request r" in help_
    assert "without the feature gate DRANodeAllocatableResources" in help_


@pytest.mark.parametrize("release", MAPPED)
def test_the_pod_that_uses_the_node_is_named_and_its_release_helps(release: str) -> None:
    asked = template("t", capacity={"requests": {"cpus": "6"}})
    pods = [pod(name, claims={"gpu": "t"}, requests={"cpu": "1"}) for name in ("first", "second")]
    found = why(release, *pods, template_of=asked)
    free = "cpu 7 wanted (6 of them by request r), 1 of 8 free"
    assert found["nodes"][0]["details"] == [free, "pod default/first uses cpu 7"]
    help_ = [each["change"] for each in found["help"]]
    assert any("claim default/first-gpu-XXXXX is released (pod first)" in each for each in help_), help_


def test_less_cpu_for_the_containers_helps_beside_what_devices_take() -> None:
    asked = template("t", capacity={"requests": {"cpus": "6"}})
    found = why("1.36", pod(claims={"gpu": "t"}, requests={"cpu": "4"}), template_of=asked)
    assert "with cpu 2 in place of 4" in [each["change"] for each in found["help"]]


def test_devices_of_pods_that_run_take_of_their_node() -> None:
    held = allocated("held", "a", "d0", "old")
    held["status"]["allocation"]["devices"]["results"][0] |= {"shareID": "s", "consumedCapacity": {"cpus": "6"}}
    old = pod("old", {"gpu": "held"}, nodeName="a")
    old |= {"metadata": {"name": "old", "uid": "UID:old"}, "status": {"phase": "Running"}}
    asked = template("t", capacity={"requests": {"cpus": "3"}})
    found = why("1.36", pod(claims={"gpu": "t"}), template_of=asked, around=(held, old))
    details = ["cpu 3 wanted (3 of them by request r), 2 of 8 free", "pod default/old uses cpu 6"]
    assert found["nodes"][0]["details"] == details
