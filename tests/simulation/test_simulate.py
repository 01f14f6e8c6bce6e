"""Scheduling in small clusters; test_recorded compares it with a real scheduler."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod, selector, template
from tests.simulation.scheduling import GPU, NODES, message, nodes
from webhook import simulate
from webhook.objects import JSONObject


class TestInput:
    def test_lists_and_workloads_are_taken_apart(self) -> None:
        cluster = [{"apiVersion": "v1", "kind": "List", "items": [*GPU, *NODES, claim()]}]
        template = {"spec": pod()["spec"]}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
        workload = {**deployment, "spec": {"replicas": 2, "template": template}}
        assert [each["name"] for each in simulate(cluster, [workload])] == ["d-XXXXX-0", "d-XXXXX-1"]
        assert nodes(cluster, pod(claims={"gpu": "c"})) == ["a"]

    def test_what_is_not_an_object_is_a_value_error(self) -> None:
        with pytest.raises(ValueError, match="an object is a dict, not int"):
            simulate([3], [pod()])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="an object is a dict, not str"):
            simulate(NODES, ["pod"])  # type: ignore[list-item]


class TestClaims:
    @pytest.mark.parametrize("release", ["1.33", "1.36"])
    def test_alternatives_need_their_feature_gate(self, release: str) -> None:
        asked = claim()
        alternatives = [{"name": "s", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}]
        asked["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": alternatives}]
        gates = {"DRAPrioritizedList": False}
        (answer,) = simulate([*GPU, *NODES, asked], [pod(claims={"gpu": "c"})], kubernetes=release, feature_gates=gates)
        assert answer["condition"] == {
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: resource claim default/c, request r: has subrequests, but the "
            "DRAPrioritizedList feature is disabled. no new claims to deallocate, preemption: 0/2 nodes are "
            "available: 2 Preemption is not helpful for scheduling.",
        }
        assert answer["why"]["help"][0] == {
            "change": "with the feature gate DRAPrioritizedList",
            "nodes": 2,
            "atLeast": False,
        }

    def test_a_class_that_a_request_before_the_alternatives_names_comes_first(self) -> None:
        asked = claim()
        asked["spec"]["devices"]["requests"].insert(0, {"name": "q", "exactly": {"deviceClassName": "none"}})
        asked["spec"]["devices"]["requests"][1] = {
            "name": "r",
            "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}],
        }
        gates = {"DRAPrioritizedList": False}
        (answer,) = simulate([*GPU, *NODES, asked], [pod(claims={"gpu": "c"})], kubernetes="1.36", feature_gates=gates)
        assert answer["condition"]["message"].startswith(
            "0/2 nodes are available: request q: device class none does not exist. no new"
        )

    def test_templates_give_each_pod_a_claim(self) -> None:
        found = simulate([*GPU, *NODES, template()], [pod(f"p{number}", {"gpu": "t"}) for number in range(5)])
        assert [each["node"] for each in found] == ["a", "a", "b", "b", None]
        assert list(found[0]["claims"]) == ["p0-gpu-XXXXX"]
        assert found[0]["claims"]["p0-gpu-XXXXX"]["devices"]["results"][0]["device"] == "d0"

    def test_a_claim_is_shared(self) -> None:
        assert nodes([*GPU, *NODES, claim()], pod("p", {"gpu": "c"}), pod("q", {"gpu": "c"})) == ["a", "a"]

    def test_the_shape_of_1_30_is_understood(self) -> None:
        entry = {"name": "gpu", "source": {"resourceClaimTemplateName": "t"}}
        assert nodes([*GPU, *NODES, template()], pod(resourceClaims=[entry])) == ["a"]

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
        (answer,) = simulate([*GPU, *NODES, claim()], [pod(claims={"gpu": "c"})])
        assert (answer["candidates"], answer["candidateCount"]) == (["a", "b"], 2)

    def test_of_many_nodes_some_are_named(self) -> None:
        many = [node(f"n{number}", cpu="8") for number in range(100)]
        placed, pending = simulate(many, [pod("p"), pod("q", requests={"cpu": "9"})])
        assert (placed["candidates"], placed["candidateCount"]) == ([f"n{number}" for number in range(32)], 100)
        (group,) = pending["why"]["nodes"]
        assert (group["nodes"], group["count"]) == ([*(f"n{number}" for number in range(31)), "n99"], 100)
        assert pending["why"]["reason"].startswith("all 100 nodes have too little cpu")

    def test_a_pod_that_names_its_node_bypasses_the_scheduler(self) -> None:
        (answer,) = simulate([*GPU, *NODES, claim()], [pod(claims={"gpu": "c"}, nodeName="a")])
        assert (answer["node"], answer["condition"]) == (None, None)
        assert "so its claims are not allocated" in answer["why"]["reason"]

    def test_a_running_pod_is_reported_as_running(self) -> None:
        objects = [*GPU, *NODES, allocated("c", "a", "d0", "p")]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"}, nodeName="a")])
        assert answer["condition"] == {"status": "True"}

    def test_claims_of_a_group_are_shared_by_its_pods(self) -> None:
        entry = {"name": "gpu", "resourceClaimTemplateName": "t"}
        group: JSONObject = {
            "kind": "PodGroup",
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "metadata": {"name": "g"},
            "spec": {"resourceClaims": [entry]},
        }
        pods = [pod(name, {"gpu": "t"}, schedulingGroup={"podGroupName": "g"}) for name in ("p", "q", "r")]
        objects = [*GPU, *NODES, template(), group]
        gates = {"DRAWorkloadResourceClaims": True, "GenericWorkload": True}
        assert nodes(objects, *pods, feature_gates=gates) == ["a", "a", "a"]
        assert nodes(objects, *pods) == ["a", "a", "b"]
        large = [pod(name, {"gpu": "t"}, {"cpu": "5"}, schedulingGroup={"podGroupName": "g"}) for name in ("p", "q")]
        first, second = simulate(objects, large, feature_gates=gates)
        assert (first["node"], second["node"]) == ("a", None)  # the claim keeps its devices for the first pod
        details = {tuple(each["nodes"]): each["details"] for each in second["why"]["nodes"]}
        assert details[("b",)] == ["claim default/g-gpu-XXXXX (PodGroup g) has its devices on a"]
        assert not any("gang" in note for note in second["why"]["notes"])
        group["spec"]["schedulingPolicy"] = {"gang": {"minCount": 2}}
        first, _ = simulate(objects, large, feature_gates=gates)
        assert first["why"]["notes"] == ["not simulated for this pod: gang scheduling of PodGroup g"]

    @each_row(
        ("release", "gates", "note"),
        [
            (
                "1.36",
                {"DRADeviceTaintRules": True},
                (
                    ", even with the feature gate DRADeviceTaintRules: by a bug before 1.36.3, it expects another "
                    "version than it gets"
                ),
            ),
            ("1.36.3", {"DRADeviceTaintRules": True}, None),
            ("1.36.3", {}, " without the feature gate DRADeviceTaintRules"),
            (
                "1.35",
                {},
                " without the feature gate DRADeviceTaintRules and DRADeviceTaints",
            ),
            ("1.35", {"DRADeviceTaintRules": True}, " without the feature gate DRADeviceTaints"),
            ("1.35", {"DRADeviceTaints": True}, " without the feature gate DRADeviceTaintRules"),
            ("1.35", {"DRADeviceTaints": True, "DRADeviceTaintRules": True}, None),
            ("1.34", {"DRADeviceTaints": True}, None),
            ("1.37", {}, None),
        ],
    )
    def test_taint_rules_are_applied_or_a_note_says_why_not(
        self, release: str, gates: dict[str, bool], note: str | None
    ) -> None:
        rule = {
            "kind": "DeviceTaintRule",
            "metadata": {"name": "rule"},
            "spec": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "k", "effect": "NoSchedule"}},
        }
        objects = [*GPU, *NODES, claim(), rule]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})], kubernetes=release, feature_gates=gates)
        assert answer["node"] == (None if note is None else "a")
        ignored = f"the scheduler of Kubernetes {release} does not apply DeviceTaintRules"
        assert answer["why"]["notes"] == ([] if note is None else [f"{ignored}{note}"])

    @each_row(
        ("selector", "count", "is_noted"),
        [
            ({"driver": "gpu.example.com", "pool": "a", "device": "d0"}, 1, True),
            ({"driver": "gpu.example.com", "pool": "a", "device": "d1"}, 1, False),
            ({"driver": "nic.example.com"}, 1, False),
            ({"driver": "nic.example.com"}, 9, False),
            ({"driver": "gpu.example.com", "device": "d1"}, 9, True),  # it might be one of those that are missing
            ({}, 9, True),
        ],
    )
    def test_only_pods_whose_devices_a_rule_taints_have_the_note(
        self, selector: JSONObject, count: int, *, is_noted: bool
    ) -> None:
        spec = {"deviceSelector": selector, "taint": {"key": "k", "effect": "NoSchedule"}}
        rule = {"kind": "DeviceTaintRule", "metadata": {"name": "rule"}, "spec": spec}
        objects = [device_class(), devices("a", 2), node("a"), claim(count=count), rule]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})], kubernetes="1.36")
        assert len(answer["why"]["notes"]) == is_noted


class TestLeftOut:
    @each_row(
        ("kubernetes", "asks", "noted"),
        [
            ("1.34", {"count": 2}, True),
            ("1.34", {"allocationMode": "All"}, True),
            ("1.34", {"count": 1}, False),
            ("1.34", {}, False),
            ("1.35", {"count": 2}, False),
        ],
    )
    def test_a_crash_of_1_34_is_noted(self, kubernetes: str, asks: JSONObject, *, noted: bool) -> None:
        (answer,) = simulate(
            [*GPU, *NODES, claim(**asks)],
            [pod(claims={"gpu": "c"})],
            kubernetes=kubernetes,
            feature_gates={"DRAConsumableCapacity": True},
        )
        assert any("crashes" in each for each in answer["why"]["notes"]) is noted

    """The parts of a pod that are not simulated."""

    @each_row(
        ("spec", "note"),
        [
            (
                {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
                "required pod affinity",
            ),
            (
                {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
                "required pod anti-affinity",
            ),
            ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "topology spread constraints"),
            ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, "persistent volumes"),
            (
                {
                    "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}],
                    "topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}],
                },
                "topology spread constraints, persistent volumes",
            ),
        ],
    )
    def test_is_noted(self, spec: JSONObject, note: str) -> None:
        (answer,) = simulate(NODES, [pod(**spec)])
        assert answer["why"]["notes"] == [f"not simulated for this pod: {note}"]

    @each_row(
        "spec",
        [
            {"schedulerName": "default-scheduler"},
            {"volumes": [{"name": "v", "emptyDir": {}}]},
            {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
            {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        ],
    )
    def test_what_makes_no_difference_is_not(self, spec: JSONObject) -> None:
        (answer,) = simulate(NODES, [pod(**spec)])
        assert answer["why"]["notes"] == []

    def test_another_scheduler_decides(self) -> None:
        (answer,) = simulate(NODES, [pod(schedulerName="volcano")])
        assert answer["why"]["notes"] == [
            "another scheduler decides about this pod: volcano; this is what kube-scheduler would do"
        ]

    @each_row(
        ("mine", "others", "policy", "noted"),
        [(1, 0, None, True), (0, 0, None, False), (1, 0, "Never", False), (9, 5, None, True)],
    )
    def test_pods_of_a_lower_priority_could_be_evicted(
        self, mine: int, others: int, policy: str | None, *, noted: bool
    ) -> None:
        running = {**pod("old", requests={"cpu": "8"}, nodeName="a", priority=others), "kind": "Pod"}
        (answer,) = simulate([node("a"), running], [pod(requests={"cpu": "8"}, priority=mine, preemptionPolicy=policy)])
        assert answer["why"]["notes"] == (["not simulated for this pod: preemption"] if noted else [])
        (answer,) = simulate([node("a"), running], [pod(requests={"cpu": "9"}, priority=mine)])
        assert answer["why"]["notes"] == []  # an empty node would not do


class TestOrder:
    def test_priority_goes_first_then_age(self) -> None:
        objects = [device_class(), devices("a"), node("a"), template()]
        old = pod("old", {"gpu": "t"})
        old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        new = pod("new", {"gpu": "t"})
        new["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
        assert nodes(objects, new, old) == [None, "a"]
        assert nodes(objects, {**new, "spec": {**new["spec"], "priority": 1}}, old) == ["a", None]
        critical = {**new, "spec": {**new["spec"], "priorityClassName": "system-cluster-critical"}}
        assert nodes(objects, old, critical) == [None, "a"]

    def test_priority_classes_are_looked_up(self) -> None:
        classes = [
            {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10},
            {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 5, "globalDefault": True},
        ]
        objects = [device_class(), devices("a"), node("a"), template(), *classes]
        assert nodes(objects, pod("p", {"gpu": "t"}), pod("q", {"gpu": "t"}, priorityClassName="high")) == [None, "a"]
        assert nodes(objects, pod("p", {"gpu": "t"}, priority=1), pod("q", {"gpu": "t"})) == [None, "a"]


class TestClaimsNamedTwice:
    @each_row(("kubernetes", "place"), [("1.34", "[1].uid"), ("1.35", "[1]"), ("1.36", "[1]")])
    def test_cannot_be_reserved_twice(self, kubernetes: str, place: str) -> None:
        reason = (
            'running PreBind plugin "DynamicResources": add reservation to claim default/c: '
            f'ResourceClaim.resource.k8s.io "c" is invalid: status.reservedFor{place}: Duplicate value: "UID:p"'
        )
        assert message([*GPU, *NODES, claim()], pod(claims={"x": "c", "y": "c"}), kubernetes=kubernetes) == reason


class TestBadInput:
    @each_row(
        ("objects", "text"),
        [
            ([{"kind": "Node"}], "Node without metadata"),
            ([{"kind": "Node", "metadata": {}}], "Node without metadata.name"),
            ([{**claim(), "spec": 1}], "ResourceClaim c: spec: json: cannot unmarshal number"),
            (
                [{"apiVersion": "resource.k8s.io/v1alpha2", **claim()}],
                "ResourceClaim c: ",
            ),
        ],
    )
    def test_is_reported(self, objects: list[JSONObject], text: str) -> None:
        with pytest.raises(ValueError, match=f"^{text}"):
            simulate(objects, [pod()])

    def test_an_unknown_release(self) -> None:
        with pytest.raises(ValueError, match=r"1\.9 is not known here"):
            simulate([], [], kubernetes="1.9")

    def test_kinds_of_others_are_ignored(self) -> None:
        assert nodes([node("a"), {"kind": "Cat", "metadata": {"name": "tom"}}, {"kind": 1}], pod()) == ["a"]

    def test_earlier_versions_are_read(self) -> None:
        old = {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}},
        }
        assert nodes([*GPU, *NODES, old], pod(claims={"gpu": "c"})) == ["a"]


@each_row(
    ("with_counters", "expression", "is_placed", "is_mixed_up"),
    [
        (["gpu", "nic"], "true", True, True),
        (["gpu"], "true", True, False),
        (["gpu", "nic"], "device.driver == 'gpu.example.com'", True, False),
        (["gpu", "nic"], "device.driver == 'nic.example.com'", False, False),
    ],
)
def test_counters_of_pools_with_the_same_name_matter_if_devices_of_two_drivers_have_some(
    with_counters: list[str], expression: str, *, is_placed: bool, is_mixed_up: bool
) -> None:
    slices: list[JSONObject] = []
    for name, total in (("gpu", "4"), ("nic", "2")):
        has_counters = name in with_counters
        consumed = [{"counterSet": name, "counters": {"slices": {"value": "3"}}}]
        counters, partitions = devices("a"), devices("a", 2, **({"consumesCounters": consumed} if has_counters else {}))
        del counters["spec"]["devices"]
        counters["spec"]["sharedCounters"] = [{"name": name, "counters": {"slices": {"value": total}}}]
        for each in (counters, partitions)[not has_counters :]:
            each["metadata"]["name"] = f"{name}-{len(slices)}"
            each["spec"]["driver"] = f"{name}.example.com"
            each["spec"]["pool"]["resourceSliceCount"] = 1 + has_counters
            slices.append(each)
    wanted = device_class(selectors=[selector(expression)])
    (answer,) = simulate([wanted, *slices, node("a"), claim()], [pod(claims={"gpu": "c"})])
    assert answer["node"] == ("a" if is_placed else None)
    note = "the scheduler may not check counters of gpu.example.com or nic.example.com: these drivers have pools of "
    note += "the same name, a, and it looks up counters by the pool's name alone"
    assert answer["why"]["notes"] == [note] * is_mixed_up
