"""Devices that are part of a node's cpu or memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod
from webhook import simulate

if TYPE_CHECKING:
    from webhook.objects import JSONObject

GATES = {"DRANodeAllocatableResources": True}


def answer(resources: JSONObject, *objects: JSONObject, wanted: JSONObject | None = None, **device: Any) -> JSONObject:
    around = [device_class(), devices("a", 1, nodeAllocatableResources=resources, **device), *objects]
    pods = [wanted or pod(claims={"gpu": "c"})]
    (result,) = simulate(around, pods, kubernetes="1.37", feature_gates=GATES)
    return result


SHARED: JSONObject = {"allowMultipleAllocations": True, "capacity": {"cores": {"value": "10"}}}


@pytest.mark.parametrize(
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
