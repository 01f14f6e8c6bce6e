"""Extended resources that device classes provide, and claims beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod
from webhook import simulate

if TYPE_CHECKING:
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

    def test_keep_the_devices_but_not_the_reservation_of_such_pods(self) -> None:
        first = pod(claims={"c": "c"}, requests={GPU: "1"})
        failed, other = simulate(self.OBJECTS, [first, pod("q", claims={"c": "c"})])
        assert failed["node"] is None
        assert list(failed["claims"]) == ["c"]
        assert other["node"] == "a"

    def test_bound_them_in_1_34(self) -> None:
        one = pod(claims={"c": "c"}, requests={GPU: "1"})
        (answer,) = simulate(self.OBJECTS, [one], kubernetes="1.34", feature_gates=GATES)
        assert answer["node"] == "a"


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
        assert answer["why"]["reason"] == "waiting for binding conditions for device on node a"
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

    @pytest.mark.parametrize("ages", [(), ("1", "1"), ("1", "2"), ("2", "1")])
    def test_share_it(self, ages: tuple[str, ...]) -> None:
        assert self.bound(GPU, *ages)

    @pytest.mark.parametrize(
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
