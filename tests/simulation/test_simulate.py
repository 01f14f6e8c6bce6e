"""Scheduling in small clusters; test_recorded compares it with a real scheduler."""

import pytest

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod
from webhook import simulate
from webhook.objects import JSONObject

NODES = [node("a"), node("b")]


class TestInput:
    def test_what_is_not_an_object_is_a_value_error(self) -> None:
        with pytest.raises(ValueError, match="an object is a dict, not int"):
            simulate([3], [pod()])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="an object is a dict, not str"):
            simulate(NODES, ["pod"])  # type: ignore[list-item]


class TestClaims:
    def test_devices_in_use_are_not_handed_out(self) -> None:
        objects = [device_class(), devices("a"), node("a"), claim(), allocated("used", "a", "d0", "old")]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        (group,) = answer["why"]["nodes"]
        assert group["requests"][0]["heldBy"] == [
            {"claim": "default/used", "pods": ["old"], "others": [], "state": "", "devices": 1, "nodes": []}
        ]
        assert {"change": "once claim default/used is released (pod old)", "nodes": 1, "atLeast": False} in answer[
            "why"
        ]["help"]

    def test_devices_that_draw_on_the_same_counters_are_held(self) -> None:
        consumed = [{"counterSet": "gpu", "counters": {"slices": {"value": "3"}}}]
        slices = [devices("a", 3, consumesCounters=consumed), devices("a")]
        slices[1] = {**slices[1], "metadata": {"name": "counters"}, "spec": {**slices[1]["spec"]}}
        del slices[1]["spec"]["devices"]
        slices[1]["spec"]["sharedCounters"] = [{"name": "gpu", "counters": {"slices": {"value": "4"}}}]
        for each in slices:
            each["spec"]["pool"] = {**each["spec"]["pool"], "resourceSliceCount": 2}
        objects = [device_class(), *slices, node("a"), claim(), allocated("used", "a", "d0", "old")]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        (group,) = answer["why"]["nodes"]
        assert group["requests"][0]["heldBy"] == [
            {"claim": "default/used", "pods": ["old"], "others": [], "state": "", "devices": 1, "nodes": []}
        ]

    def test_several_nodes_that_suit_alike_are_named(self) -> None:
        (answer,) = simulate(
            [device_class(), devices("a", 2), devices("b", 2), *NODES, claim()], [pod(claims={"gpu": "c"})]
        )
        assert (answer["candidates"], answer["candidateCount"]) == (["a", "b"], 2)

    def test_of_many_nodes_some_are_named(self) -> None:
        many = [node(f"n{number}", cpu="8") for number in range(100)]
        placed, pending = simulate(many, [pod("p"), pod("q", requests={"cpu": "9"})])
        assert (placed["candidates"], placed["candidateCount"]) == ([f"n{number}" for number in range(32)], 100)
        (group,) = pending["why"]["nodes"]
        assert (group["nodes"], group["count"]) == ([*(f"n{number}" for number in range(31)), "n99"], 100)
        assert pending["why"]["reason"].startswith("all 100 nodes have too little cpu")


class TestBadInput:
    @each_row(
        ("objects", "text"),
        [
            ([{"kind": "Node"}], "Node without metadata"),
            ([{"kind": "Node", "metadata": {}}], "Node without metadata.name"),
            ([{**claim(), "spec": 1}], "ResourceClaim c: spec: json: cannot unmarshal number"),
            ([{"apiVersion": "resource.k8s.io/v1alpha2", **claim()}], "ResourceClaim c: "),
        ],
    )
    def test_is_reported(self, objects: list[JSONObject], text: str) -> None:
        with pytest.raises(ValueError, match=f"^{text}"):
            simulate(objects, [pod()])

    def test_an_unknown_release(self) -> None:
        with pytest.raises(ValueError, match=r"1\.9 is not known here"):
            simulate([], [], kubernetes="1.9")
