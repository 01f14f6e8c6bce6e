"""What would help a pending pod."""

from __future__ import annotations

import pytest

from tests.simulation.clusters import DRIVER, allocated, claim, device_class, devices, node, pod, selector
from tests.simulation.scheduling import GPU, NODES, nodes
from webhook import simulate
from webhook.objects import JSONObject


class TestHelp:
    def test_smaller_changes_come_first(self) -> None:
        big = selector('device.driver == "other" || device.allowMultipleAllocations')
        objects = [*GPU, *NODES, claim(count=2, selectors=[big])]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        assert [each["nodes"] for each in answer["why"]["help"]] == [2]
        assert answer["why"]["help"][0]["change"].startswith("without the selector (driver = ")

    def test_a_selector_that_fails_is_guarded(self) -> None:
        objects = [device_class(), devices("a"), devices("b", 1, attributes={"x": {"int": 1}}), *NODES]
        wanted = claim(selectors=[selector('device.attributes["gpu.example.com"].x == 1')])
        (answer,) = simulate([*objects, wanted], [pod(claims={"gpu": "c"})])
        assert answer["condition"]["reason"] == "SchedulerError"
        assert answer["why"]["help"][0] == {
            "change": 'with the selector of request r guarded: has(device.attributes["gpu.example.com"].x) && '
            'device.attributes["gpu.example.com"].x == 1',
            "nodes": 1,
            "atLeast": False,
        }

    def test_a_smaller_count(self) -> None:
        (answer,) = simulate([*GPU, *NODES, claim(count=5)], [pod(claims={"gpu": "c"})])
        assert answer["why"]["help"][0] == {"change": "with count 2 in request r", "nodes": 2, "atLeast": False}

    def test_the_largest_count_that_opens_more_nodes(self) -> None:
        (answer,) = simulate(
            [device_class(), devices("a", 5), devices("b", 3), *NODES, claim(count=7)], [pod(claims={"gpu": "c"})]
        )
        found = [(each["change"], each["nodes"]) for each in answer["why"]["help"]]
        assert found == [("with count 5 in request r", 1), ("with count 3 in request r", 2)]

    def test_without_a_constraint(self) -> None:
        wanted = claim(count=2)
        wanted["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/x"}]
        (answer,) = simulate([*GPU, *NODES, wanted], [pod(claims={"gpu": "c"})])
        changes = [each["change"] for each in answer["why"]["help"]]
        assert "without the constraint matchAttribute: gpu.example.com/x" in changes

    def test_tolerations_of_devices(self) -> None:
        tainted = devices("a", 1, taints=[{"key": "k", "effect": "NoSchedule"}])
        (answer,) = simulate([device_class(), tainted, node("a"), claim()], [pod(claims={"gpu": "c"})])
        assert answer["why"]["help"] == [
            {"change": "if request r tolerates k:NoSchedule", "nodes": 1, "atLeast": False}
        ]
        assert "taint k:NoSchedule is not tolerated" in answer["why"]["nodes"][0]["requests"][0]["because"]

    def test_two_changes_at_once_if_one_is_not_enough(self) -> None:
        objects = [device_class(), devices("a", 1, taints=[{"key": "k", "effect": "NoSchedule"}]), node("a")]
        (answer,) = simulate([*objects, claim(count=2)], [pod(claims={"gpu": "c"})])
        (help_,) = answer["why"]["help"]
        assert help_["change"] == "with count 1 in request r and if request r tolerates k:NoSchedule"

    def test_nodes_that_fail_with_different_errors_are_noted(self) -> None:
        wanted = claim(selectors=[selector(f'device.attributes["{DRIVER}"].model == "x"')])
        sized = claim(selectors=[selector(f'device.attributes["{DRIVER}"].size == "x"')])
        both = {
            **wanted,
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "r",
                            "exactly": {
                                "deviceClassName": "gpu",
                                "selectors": [
                                    *wanted["spec"]["devices"]["requests"][0]["exactly"]["selectors"],
                                    *sized["spec"]["devices"]["requests"][0]["exactly"]["selectors"],
                                ],
                            },
                        }
                    ]
                }
            },
        }
        other = devices("b", 1, attributes={"model": {"string": "x"}})
        (answer,) = simulate(
            [device_class(), devices("a"), other, *NODES, both], [pod(claims={"gpu": "c"})], kubernetes="1.36"
        )
        assert answer["condition"]["message"].endswith("selector #0: CEL runtime error: no such key: model")
        note = "nodes fail with different errors, and the scheduler reports the one that it meets first"
        assert note in answer["why"]["notes"]

    def test_a_newer_release(self) -> None:
        bound = devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        (answer,) = simulate([device_class(), bound, node("a"), claim()], [pod(claims={"gpu": "c"})], kubernetes="1.35")
        assert answer["node"] is None
        assert {"change": "on Kubernetes 1.36", "nodes": 1, "atLeast": False} in answer["why"]["help"]

    @pytest.mark.parametrize(
        ("gates", "changes"), [({}, ["on Kubernetes 1.36"]), ({"DRADeviceBindingConditions": False}, [])]
    )
    def test_a_newer_release_keeps_the_gates(self, gates: dict[str, bool], changes: list[str]) -> None:
        bound = devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        objects = [device_class(), bound, node("a"), claim()]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})], kubernetes="1.35", feature_gates=gates)
        assert [each["change"] for each in answer["why"]["help"] if each["change"].startswith("on ")] == changes

    def test_a_patch_release(self) -> None:
        devices_: list[JSONObject] = [
            {"name": name, "consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "1Gi"}}}]}
            for name in ("d0", "d1")
        ]
        devices_[0]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
        partitions = devices("a")
        partitions["spec"] |= {"devices": devices_, "pool": {**partitions["spec"]["pool"], "resourceSliceCount": 2}}
        spec = {name: value for name, value in partitions["spec"].items() if name != "devices"}
        spec["sharedCounters"] = [{"name": "set", "counters": {"memory": {"value": "1Gi"}}}]
        counters = {"kind": "ResourceSlice", "metadata": {"name": "counters"}, "spec": spec}
        objects = [device_class(), partitions, counters, node("a"), claim()]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})], kubernetes="1.36")
        assert answer["node"] is None
        assert {"change": "on Kubernetes 1.36.3", "nodes": 1, "atLeast": False} in answer["why"]["help"]
        assert nodes(objects, pod(claims={"gpu": "c"}), kubernetes="1.36.3") == ["a"]

    def test_all_devices(self) -> None:
        objects = [*GPU, *NODES, allocated("used", "a"), allocated("other", "b"), claim(allocationMode="All")]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        assert answer["why"]["help"][0]["change"] == "with count 1 in place of allocationMode All in request r"
