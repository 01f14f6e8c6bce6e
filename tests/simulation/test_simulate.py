"""Scheduling in small clusters; test_recorded compares it with a real scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.simulation.clusters import DRIVER, allocated, claim, device_class, devices, node, pod, selector, template
from webhook import simulate

if TYPE_CHECKING:
    from webhook.objects import JSONObject

GPU = [device_class(), devices("a", 2), devices("b", 2)]
NODES = [node("a"), node("b")]
NOT_HELPFUL = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."


def message(objects: list[JSONObject], each: JSONObject, **options: Any) -> str:
    (answer,) = simulate(objects, [each], **options)
    assert answer["node"] is None
    return str(answer["condition"]["message"])


def nodes(objects: list[JSONObject], *pods: JSONObject, **options: Any) -> list[str | None]:
    return [each["node"] for each in simulate(objects, pods, **options)]


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


class TestNodes:
    @pytest.mark.parametrize(
        ("spec", "reason"),
        [
            ({"nodeSelector": {"zone": "b"}}, "node(s) didn't match Pod's node affinity/selector"),
            ({"tolerations": [{"key": "k"}]}, "node(s) had untolerated taint(s)"),
            ({"tolerations": [{"key": "k", "operator": "Equal", "value": "w"}]}, "node(s) had untolerated taint(s)"),
            ({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}, "node(s) had untolerated taint(s)"),
        ],
    )
    def test_refuse_with_the_schedulers_words(self, spec: JSONObject, reason: str) -> None:
        taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
        one = node("a", {"taints": [taint]} if "tolerations" in spec else {}, {"zone": "a"})
        expected = f"0/1 nodes are available: 1 {reason}. no new claims to deallocate, {NOT_HELPFUL.format(1)}"
        assert message([one], pod(**spec)) == expected

    @pytest.mark.parametrize(
        "toleration",
        [
            {"operator": "Exists"},
            {"key": "k", "operator": "Exists"},
            {"key": "k", "value": "v", "effect": "NoSchedule"},
        ],
    )
    def test_taints_are_tolerated(self, toleration: JSONObject) -> None:
        one = node("a", {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})
        assert nodes([one], pod(tolerations=[toleration])) == ["a"]

    @pytest.mark.parametrize("names", [(["a"], ["b"]), ([],)])
    def test_required_by_names_that_exclude_each_other_are_not_tried(self, names: tuple[list[str], ...]) -> None:
        fields = [{"key": "metadata.name", "operator": "In", "values": each} for each in names]
        required = {"nodeSelectorTerms": [{"matchFields": fields}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        (answer,) = simulate([*NODES, claim(deviceClassName="none")], [pod(claims={"x": "c"}, affinity=affinity)])
        assert answer["condition"]["message"] == "0/2 nodes are available: pod affinity terms conflict. not found"
        assert answer["why"]["reason"] == "each term of its node affinity requires nodes of different names"

    def test_before_1_34_the_taint_is_named(self) -> None:
        one = node("a", {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]})
        assert "1 node(s) had untolerated taint {k: v}" in message([one], pod(), kubernetes="1.33")
        assert "1 node(s) had untolerated taint(s)" in message([one], pod(), kubernetes="1.34")

    @pytest.mark.parametrize(
        ("operator", "values", "fits"),
        [
            ("In", ["3"], True),
            ("NotIn", ["3"], False),
            ("Exists", [], True),
            ("DoesNotExist", [], False),
            ("Gt", ["2"], True),
            ("Lt", ["2"], False),
            ("Gt", ["x"], False),
            ("Unknown", [], False),
        ],
    )
    def test_affinity_is_obeyed(self, operator: str, values: list[str], fits: bool) -> None:
        term = {"matchExpressions": [{"key": "rank", "operator": operator, "values": values}]}
        assert nodes([node("a", labels={"rank": "3"})], _bound_to(term)) == (["a"] if fits else [None])

    def test_an_empty_term_takes_no_node(self) -> None:
        assert nodes(NODES, _bound_to({})) == [None]

    def test_affinity_that_names_nodes_leaves_the_others_out(self) -> None:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b", "gone"]}]}
        assert nodes(NODES, _bound_to(term)) == ["b"]
        full = [node("a"), node("b", cpu="1")]
        assert message(full, {**_bound_to(term), "spec": {**_bound_to(term)["spec"], "overhead": {"cpu": "2"}}}) == (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
            f"no new claims to deallocate, {NOT_HELPFUL.format(2)}"
        )

    def test_without_nodes_nothing_can_be_scheduled(self) -> None:
        assert message([], pod()) == "no nodes available to schedule pods"

    def test_a_node_of_which_nothing_is_known_has_room(self) -> None:
        assert nodes([{"kind": "Node", "metadata": {"name": "a"}}], pod(requests={"cpu": "99"})) == ["a"]

    def test_ports_conflict(self) -> None:
        ports = [{"containerPort": 80, "hostPort": 80}]
        one, other = (pod(name, containers=[{"name": "c", "ports": ports}]) for name in ("p", "q"))
        found = simulate([node("a")], [one, other])
        assert found[0]["node"] == "a"
        assert found[1]["condition"]["message"] == (
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. no new claims to "
            "deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
        )


def _bound_to(term: JSONObject) -> JSONObject:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return pod(affinity={"nodeAffinity": required})


class TestResources:
    def test_pods_use_them_up(self) -> None:
        running = {**pod("old", requests={"cpu": "7500m"}, nodeName="a"), "kind": "Pod"}
        assert nodes([node("a"), running], pod(requests={"cpu": "500m"}), pod("q", requests={"cpu": "1m"})) == [
            "a",
            None,
        ]

    def test_what_others_use_could_be_freed_by_preemption(self) -> None:
        running = {**pod("old", requests={"cpu": "8"}, nodeName="a"), "kind": "Pod"}
        assert message([node("a"), running], pod(requests={"cpu": "1"})).endswith(
            "1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: "
            "1 No preemption victims found for incoming pod."
        )

    @pytest.mark.parametrize("cpu", ["1e999999999", "9" * 5_000, f"0.{'9' * 5_000}e9000"])
    def test_no_node_has_more_than_can_be_counted(self, cpu: str) -> None:
        assert "1 Insufficient cpu" in message([node("a")], pod(requests={"cpu": cpu}))

    def test_a_pod_may_not_preempt(self) -> None:
        text = message([node("a")], pod(requests={"cpu": "9"}, preemptionPolicy="Never"))
        assert text.endswith("preemption: not eligible due to preemptionPolicy=Never.")

    def test_pods_that_have_ended_use_nothing(self) -> None:
        ended = {**pod("old", requests={"cpu": "8"}, nodeName="a"), "kind": "Pod", "status": {"phase": "Succeeded"}}
        assert nodes([node("a"), ended], pod(requests={"cpu": "8"})) == ["a"]

    def test_there_are_only_so_many_pods(self) -> None:
        assert "1 Too many pods" in message([node("a", pods="0")], pod())

    def test_init_containers_and_sidecars_count_as_they_run(self) -> None:
        def container(cpu: str, **fields: Any) -> JSONObject:
            return {"name": f"c{cpu}", "resources": {"limits": {"cpu": cpu}}, **fields}

        first = [container("2", restartPolicy="Always"), container("6")]
        fits = pod(containers=[container("5")], initContainers=first)
        assert nodes([node("a")], fits) == ["a"]
        assert nodes([node("a")], pod(containers=[container("7")], initContainers=first)) == [None]
        assert nodes([node("a")], pod(containers=[container("1")], initContainers=[*first, container("7")])) == [None]

    def test_those_of_the_pod_as_a_whole_count(self) -> None:
        assert nodes([node("a")], pod(resources={"requests": {"cpu": "9"}})) == [None]


class TestClaims:
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
            {"claim": "default/used", "pods": ["old"], "state": "", "devices": 1, "nodes": []}
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
            {"claim": "default/used", "pods": ["old"], "state": "", "devices": 1, "nodes": []}
        ]

    def test_several_nodes_that_suit_alike_are_named(self) -> None:
        (answer,) = simulate([*GPU, *NODES, claim()], [pod(claims={"gpu": "c"})])
        assert answer["candidates"] == ["a", "b"]

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

    @pytest.mark.parametrize(
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

    @pytest.mark.parametrize(
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
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        assert len(answer["why"]["notes"]) == is_noted


class TestLeftOut:
    @pytest.mark.parametrize(
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

    @pytest.mark.parametrize(
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

    @pytest.mark.parametrize(
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

    @pytest.mark.parametrize(
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
    @pytest.mark.parametrize(("kubernetes", "place"), [("1.34", "[1].uid"), ("1.35", "[1]"), ("1.36", "[1]")])
    def test_cannot_be_reserved_twice(self, kubernetes: str, place: str) -> None:
        reason = (
            'running PreBind plugin "DynamicResources": add reservation to claim default/c: '
            f'ResourceClaim.resource.k8s.io "c" is invalid: status.reservedFor{place}: Duplicate value: "UID:p"'
        )
        assert message([*GPU, *NODES, claim()], pod(claims={"x": "c", "y": "c"}), kubernetes=kubernetes) == reason


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
        (answer,) = simulate([device_class(), devices("a"), other, *NODES, both], [pod(claims={"gpu": "c"})])
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
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        assert answer["node"] is None
        assert {"change": "on Kubernetes 1.36.3", "nodes": 1, "atLeast": False} in answer["why"]["help"]
        assert nodes(objects, pod(claims={"gpu": "c"}), kubernetes="1.36.3") == ["a"]

    def test_all_devices(self) -> None:
        objects = [*GPU, *NODES, allocated("used", "a"), allocated("other", "b"), claim(allocationMode="All")]
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
        assert answer["why"]["help"][0]["change"] == "with count 1 in place of allocationMode All in request r"


class TestBadInput:
    @pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
