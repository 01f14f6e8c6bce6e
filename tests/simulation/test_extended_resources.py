"""Extended resources that device classes provide, and claims beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod
from webhook import simulate
from webhook.objects import JSONObject

GPU = "example.com/gpu"
GATES = {"DRAExtendedResource": True}


class TestNodesWithTheResource:
    """A node has the resource from a device plugin, so its devices are not asked for it."""

    OBJECTS = (device_class(extendedResourceName=GPU), devices("a"), node("a", None, None, **{GPU: "1"}), claim())

    def test_take_pods_without_claims(self) -> None:
        (answer,) = simulate(self.OBJECTS, [pod(requests={GPU: "1"})], feature_gates=GATES)
        assert answer["node"] == "a"
        assert answer["claims"] == {}

    @pytest.mark.parametrize("kubernetes", ["1.35", "1.36"])
    def test_fail_to_bind_pods_with_claims(self, kubernetes: str) -> None:
        (answer,) = simulate(
            self.OBJECTS, [pod(claims={"c": "c"}, requests={GPU: "1"})], kubernetes=kubernetes, feature_gates=GATES
        )
        assert answer["node"] is None
        assert answer["condition"] == {
            "status": "False",
            "reason": "SchedulerError",
            "message": 'running PreBind plugin "DynamicResources": nil or empty request mappings, no update of pod '
            "default/p ExtendedResourceClaimStatus",
        }

    def test_are_noted_if_others_with_devices_suit_a_pod_as_well(self) -> None:
        others = (*self.OBJECTS[:1], claim(), devices("a"), devices("b", 2))
        has, lacks, wanted = self.OBJECTS[2], node("b"), pod(claims={"c": "c"}, requests={GPU: "1"})
        (binds,) = simulate([*others, lacks, has], [wanted], feature_gates=GATES)
        assert (binds["node"], binds["candidates"]) == ("b", ["b", "a"])
        assert "node a suits the pod as well, but there it fails: running PreBind" in binds["why"]["notes"][0]
        (fails,) = simulate([*others, has, lacks], [wanted], feature_gates=GATES)
        assert (fails["node"], fails["candidates"]) == (None, ["a", "b"])
        assert fails["why"]["notes"][0].endswith("node b suits the pod as well, but there it binds the pod")

    def test_keep_the_devices_but_not_the_reservation_of_such_pods(self) -> None:
        first = pod(claims={"c": "c"}, requests={GPU: "1"})
        failed, other = simulate(self.OBJECTS, [first, pod("q", claims={"c": "c"})])
        assert failed["node"] is None
        assert list(failed["claims"]) == ["c"]
        assert other["node"] == "a"


def test_errors_name_a_claim_for_extended_resources_as_it_is_before_it_is_created() -> None:
    objects = (device_class(extendedResourceName=GPU), devices("a"), node("a"))
    (answer,) = simulate(objects, [pod(requests={GPU: "33"})], feature_gates=GATES)
    assert answer["condition"]["message"] == (
        'running "DynamicResources" filter plugin: claim default/<extended-resources>: '
        "number of requested devices 33 exceeds the claim limit of 32"
    )


class TestKubernetes134:
    """The first release with extended resources had rules of its own."""

    CLASS = device_class(extendedResourceName=GPU)
    IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"

    @staticmethod
    def answer(*objects: JSONObject, **spec: Any) -> JSONObject:
        (answer,) = simulate(objects, [pod(**spec)], kubernetes="1.34", feature_gates=GATES)
        return answer

    def test_devices_provide_what_a_node_does_not_state(self) -> None:
        assert self.answer(self.CLASS, devices("a"), node("a"), requests={GPU: "1"})["node"] == "a"

    def test_a_node_that_states_zero_has_none(self) -> None:
        answer = self.answer(self.CLASS, devices("a"), node("a", None, None, **{GPU: "0"}), requests={GPU: "1"})
        assert f"1 Insufficient {GPU}" in answer["condition"]["message"]

    def test_a_pod_with_claims_wants_devices_beside_the_resources_of_the_node(self) -> None:
        objects = [self.CLASS, node("a", None, None, **{GPU: "1"}), claim()]
        wanted: dict[str, Any] = {"claims": {"c": "c"}, "requests": {GPU: "1"}}
        refused = self.answer(devices("a"), *objects, **wanted)
        assert "1 cannot allocate all claims" in refused["condition"]["message"]
        assert list(self.answer(devices("a", 2), *objects, **wanted)["claims"]) == ["c", "p-extended-resources-XXXXX"]

    def test_implicit_resources_are_ignored(self) -> None:
        for objects in ([device_class()], [self.CLASS], []):
            answer = self.answer(*objects, devices("a"), node("a"), requests={self.IMPLICIT: "9"})
            assert (answer["node"], answer["claims"]) == ("a", {})

    def test_implicit_resources_count_beside_others(self) -> None:
        both = {GPU: "1", self.IMPLICIT: "1"}
        answer = self.answer(self.CLASS, devices("a", 2), node("a"), requests=both)
        assert f"1 Insufficient {self.IMPLICIT}" in answer["condition"]["message"]

    def test_containers_that_end_share_no_devices(self) -> None:
        first = {"name": "i", "image": "i", "resources": {"requests": {GPU: "1"}}}
        objects = [self.CLASS, node("a")]
        for count, fits in ((1, False), (2, True)):
            answer = self.answer(*objects, devices("a", count), requests={GPU: "1"}, initContainers=[first])
            assert bool(answer["node"]) is fits


class TestPodsThatWaitForTheirDevices:
    """Their claims for extended resources have been made, and devices must become ready before they are bound."""

    @staticmethod
    def answer(*conditions: str, uid: str = "1") -> JSONObject:
        waiting = pod(requests={GPU: "1"})
        waiting["metadata"]["uid"] = "1"
        made = allocated("p-extended-resources-abcde", "a")
        made["metadata"] |= {
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "1", "controller": True}],
        }
        allocation = made["status"]["allocation"]
        allocation["allocationTimestamp"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        (result,) = allocation["devices"]["results"]
        result |= {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
        found = [{"type": each, "status": "True"} for each in conditions]
        made["status"] |= {
            "reservedFor": [{"resource": "pods", "name": "p", "uid": uid}],
            "devices": [{"driver": result["driver"], "pool": "a", "device": "d0", "conditions": found}],
        }
        objects = [device_class(extendedResourceName=GPU), devices("a"), node("b"), node("a"), made]
        (answer,) = simulate(objects, [waiting])
        return answer

    def test_are_not_tried_again(self) -> None:
        answer = self.answer()
        assert answer["condition"] is None
        assert answer["why"]["reason"].startswith("waits until ")
        assert list(answer["claims"]) == ["p-extended-resources-abcde"]

    @pytest.mark.parametrize(("conditions", "uid"), [(("failed",), "1"), ((), "2")])
    def test_are_tried_again_if_the_devices_failed_or_are_not_theirs(
        self, conditions: tuple[str, ...], uid: str
    ) -> None:
        message = self.answer(*conditions, uid=uid)["condition"]["message"]
        assert "2 cannot schedule extended resource claim. deletion of ResourceClaim completed" in message


class TestClassesWithTheSameResource:
    """The newest class has the resource; one that loses to another of the same age loses its implicit name, too."""

    @staticmethod
    def bound(resource: str, *ages: str) -> bool:
        classes = [device_class(name, extendedResourceName=GPU) for name in ("gpu", "other")]
        for each, age in zip(classes, ages, strict=False):
            each["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{age}Z"
        (answer,) = simulate([*classes, devices("a"), node("a")], [pod(requests={resource: "1"})])
        return bool(answer["node"])

    @each_row("ages", [(), ("1", "1"), ("1", "2"), ("2", "1")])
    def test_share_it(self, ages: tuple[str, ...]) -> None:
        assert self.bound(GPU, *ages)

    @each_row(
        ("name", "ages", "expected"),
        [
            ("gpu", (), True),
            ("other", (), False),
            ("other", ("1", "1"), False),
            ("other", ("1", "2"), True),
            ("other", ("2", "1"), True),
            ("gpu", ("1", "2"), True),
            ("gpu", ("2", "1"), True),
        ],
    )
    def test_keep_their_implicit_names_unless_they_are_of_the_same_age(
        self, name: str, ages: tuple[str, ...], *, expected: bool
    ) -> None:
        assert self.bound(f"deviceclass.resource.kubernetes.io/{name}", *ages) is expected
