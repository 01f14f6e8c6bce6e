"""Suggestions for a pending pod: the changes that are tried, and their limits."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod, selector
from webhook import simulate
from webhook.objects import JSONObject

DEDICATED = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


def suggested(objects: list[JSONObject], each: JSONObject, **options: Any) -> dict[str, int]:
    (answer,) = simulate(objects, [each], **options)
    assert answer["node"] is None
    return {one["change"]: one["nodes"] for one in answer["why"]["help"]}


def tainted(name: str, *keys: str) -> JSONObject:
    return node(name, {"taints": [{"key": key, "effect": "NoSchedule"} for key in keys]})


class TestTaints:
    def test_exactly_the_taints_that_are_named_are_tolerated(self) -> None:
        cordoned = node("c", {"unschedulable": True})
        objects = [node("a", {"taints": [DEDICATED]}), tainted("b", "other"), cordoned]
        assert suggested(objects, pod()) == {
            "if the pod tolerates dedicated=ml:NoSchedule": 1,
            "if the pod tolerates other:NoSchedule": 1,
            "once c is uncordoned": 1,
        }

    def test_the_taints_of_a_node_are_tolerated_together(self) -> None:
        assert suggested([tainted("a", "x", "y")], pod()) == {"if the pod tolerates x:NoSchedule and y:NoSchedule": 1}

    def test_those_that_are_tolerated_already_stay_so(self) -> None:
        tolerated = pod(tolerations=[{"key": "x", "operator": "Exists"}])
        assert suggested([tainted("a", "x", "y")], tolerated) == {"if the pod tolerates y:NoSchedule": 1}

    @each_row(
        ("state", "one", "more"),
        [
            ("not-ready", "once a is ready", "once a, b are ready"),
            ("unreachable", "once a is reachable", "once a, b are reachable"),
            ("unschedulable", "once a is uncordoned", "once a, b are uncordoned"),
            ("memory-pressure", "once a has no memory pressure", "once a, b have no memory pressure"),
            ("disk-pressure", "once a has no disk pressure", "once a, b have no disk pressure"),
            ("pid-pressure", "once a has no PID pressure", "once a, b have no PID pressure"),
            ("network-unavailable", "once a has a network", "once a, b have a network"),
        ],
    )
    def test_a_nodes_state_is_waited_for(self, state: str, one: str, more: str) -> None:
        taint = f"node.kubernetes.io/{state}"
        assert suggested([tainted("a", taint)], pod()) == {one: 1}
        assert suggested([tainted("a", taint), tainted("b", taint)], pod()) == {more: 2}

    def test_only_the_nodes_that_are_named_count(self) -> None:
        cordoned, gone = ("node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready")
        assert suggested([tainted("a", cordoned, gone), tainted("b", cordoned)], pod()) == {
            "once b is uncordoned": 1,
            "once a is ready and is uncordoned": 1,
        }

    def test_both_may_be_needed(self) -> None:
        both = tainted("a", "node.kubernetes.io/not-ready", "x")
        assert suggested([both], pod()) == {"if the pod tolerates x:NoSchedule and once a is ready": 1}


class TestReleases:
    def test_the_pods_of_a_claim_go_with_it(self) -> None:
        held = allocated("held", "a", "d0", "old", "older")
        running = [
            {**pod(name, {"gpu": "held"}, {"cpu": "3"}, nodeName="a"), "apiVersion": "v1"} for name in ("old", "older")
        ]
        objects = [node("a"), device_class(), devices("a"), held, claim(), *running]
        assert suggested(objects, pod(claims={"gpu": "c"}, requests={"cpu": "8"})) == {
            "once claim default/held is released (pod old, older)": 1
        }

    def test_those_of_the_same_workload_take_no_place(self) -> None:
        owned = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}]}
        running = [pod(f"web{n}", {"gpu": f"own{n}"}, nodeName="a") for n in range(8)]
        own = [allocated(f"own{n}", "a", f"d{n}", f"web{n}") for n in range(8)]
        wanted = pod(claims={"gpu": "c"})
        for each in (*running, wanted):
            each["metadata"] |= owned
        objects = [node("a"), node("b"), device_class(), devices("a", 8), devices("b"), *own, *running, claim()]
        assert suggested([*objects, allocated("held", "b", "d0", "old")], wanted) == {
            "once claim default/held is released (pod old, not found)": 1
        }

    def test_a_pod_with_two_claims_goes_once(self) -> None:
        held = [allocated(f"held{number}", "a", f"d{number}", "old") for number in range(2)]
        running = {**pod("old", {"a": "held0", "b": "held1"}, {"cpu": "3"}, nodeName="a"), "apiVersion": "v1"}
        objects = [node("a"), device_class(), devices("a", 2), *held, claim(count=2), running]
        both = "once claim default/held0 is released (pod old) and once claim default/held1 is released (pod old)"
        found = suggested(objects, pod(claims={"gpu": "c"}, requests={"cpu": "6"}))
        assert found["with count 1 in request r and once claim default/held0 is released (pod old)"] == 1
        assert found[both] == 1


class TestReservations:
    def test_nothing_helps_while_a_claim_cannot_be_reserved(self) -> None:
        shared = allocated("c", "a", "d0", "old")
        pending = pod(claims={"gpu": "c"}, nodeSelector={"zone": "c"})
        assert suggested([node("a"), devices("a"), shared], pending) == {"without the pod's nodeSelector": 1}
        del shared["status"]["allocation"]["allocationTimestamp"]
        assert suggested([node("a"), devices("a"), shared], pending) == {}


class TestSelection:
    def test_a_pod_that_is_for_one_node_stays_so(self) -> None:
        field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
        term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}], "matchFields": [field]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        assert suggested([node("a"), node("b")], pod(affinity={"nodeAffinity": required})) == {
            "without the pod's node affinity": 1
        }


class TestResources:
    def test_as_much_as_fits_is_named(self) -> None:
        objects = [node("a", cpu="4"), node("b", cpu="6500m"), node("c", cpu="2")]
        assert suggested(objects, pod(requests={"cpu": "32"})) == {
            "with cpu 6500m in place of 32": 1,
            "with cpu 2 in place of 32": 3,
        }
        assert suggested(objects, pod(requests={"memory": "40Gi"})) == {"with memory 16Gi in place of 40Gi": 3}

    def test_bytes_are_rounded_to_what_people_write(self) -> None:
        odd = node("a", memory=str(2**30 + 12345))
        assert suggested([odd], pod(requests={"memory": "2Gi"})) == {"with memory 1Gi in place of 2Gi": 1}

    def test_nothing_left_is_nothing_to_ask_for(self) -> None:
        running = {**pod("old", requests={"cpu": "8"}, nodeName="a"), "kind": "Pod"}
        assert suggested([node("a"), running], pod(requests={"cpu": "8"})) == {"with no cpu requested": 1}

    def test_less_of_a_resource_that_no_node_has_does_not_help(self) -> None:
        assert suggested([node("a")], pod(requests={"example.com/x": "1"})) == {}


class TestTaintsOfDevices:
    def test_only_the_fewest_taints_that_matter_are_tolerated(self) -> None:
        apart = [devices(name, taints=[{"key": key, "effect": "NoSchedule"}]) for name, key in (("a", "x"), ("b", "y"))]
        for each in apart:
            each["spec"].pop("nodeName")
            each["spec"]["allNodes"] = True
        one, other = "if request r tolerates x:NoSchedule", "if request r tolerates y:NoSchedule"
        objects = [device_class(), *apart, node("a")]
        assert suggested([*objects, claim(count=1)], pod(claims={"gpu": "c"})) == {one: 1, other: 1}
        both = "if request r tolerates x:NoSchedule and y:NoSchedule"
        assert both in suggested([*objects, claim(count=2)], pod(claims={"gpu": "c"}))

    def test_more_taints_are_tolerated_where_that_opens_more_nodes(self) -> None:
        apart = [devices(name, taints=[{"key": key, "effect": "NoSchedule"}]) for name, key in (("a", "x"), ("b", "y"))]
        objects = [device_class(), *apart, node("a"), node("b"), claim()]
        assert suggested(objects, pod(claims={"gpu": "c"})) == {
            "if request r tolerates x:NoSchedule": 1,
            "if request r tolerates y:NoSchedule": 1,
            "if request r tolerates x:NoSchedule and y:NoSchedule": 2,
        }

    @pytest.mark.parametrize(
        ("tolerations", "first"),
        [
            ([], "if request r tolerates upkeep:NoSchedule"),
            (
                [{"key": "broken", "operator": "Exists", "effect": "NoSchedule"}],
                "if request r tolerates broken:NoExecute",
            ),
        ],
    )
    def test_the_taint_that_is_nearly_tolerated_or_evicts_no_pods_comes_first(
        self, tolerations: list[JSONObject], first: str
    ) -> None:
        taints = [{"key": "broken", "effect": "NoExecute"}], [{"key": "upkeep", "effect": "NoSchedule"}]
        objects = [
            device_class(),
            node("a"),
            node("b"),
            *(devices(n, taints=t) for n, t in zip("ab", taints, strict=True)),
        ]
        assert next(iter(suggested([*objects, claim(tolerations=tolerations)], pod(claims={"gpu": "c"})))) == first


class TestAllDevices:
    def test_as_many_as_nodes_have_left(self) -> None:
        held = [allocated("one", "a"), *(allocated(f"two{n}", "b", f"d{n}") for n in range(2))]
        objects = [device_class(), devices("a", 4), devices("b", 4), node("a"), node("b"), *held]
        found = suggested([*objects, claim(allocationMode="All")], pod(claims={"gpu": "c"}))
        assert list(found.items())[:2] == [
            ("with count 3 in place of allocationMode All in request r", 1),
            ("with count 2 in place of allocationMode All in request r", 2),
        ]


class TestFeatureGates:
    def test_devices_with_binding_conditions(self) -> None:
        bound = devices("a", 1, bindingConditions=["x"], bindingFailureConditions=["y"])
        self.check([bound], "DRADeviceBindingConditions", "1.34")

    def test_devices_with_counters(self) -> None:
        counters = {"memory": {"value": "1"}}
        part = devices("a", 1, consumesCounters=[{"counterSet": "s", "counters": counters}])
        part["spec"]["pool"]["resourceSliceCount"] = 2
        spec = {name: value for name, value in part["spec"].items() if name != "devices"}
        spec["sharedCounters"] = [{"name": "s", "counters": counters}]
        shared = {"kind": "ResourceSlice", "metadata": {"name": "counters"}, "spec": spec}
        self.check([part, shared], "DRAPartitionableDevices", "1.35")

    def check(self, slices: list[JSONObject], gate: str, release: str) -> None:
        found = suggested([device_class(), *slices, node("a"), claim()], pod(claims={"gpu": "c"}), kubernetes=release)
        assert {each: count for each, count in found.items() if "feature gate" in each} == {
            f"with the feature gate {gate}": 1
        }


class TestSelectors:
    MEMORY = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("{}")) {} 0'

    @each_row(
        ("operator", "wanted", "text", "for_all"),
        [
            (">=", "100Gi", "with memory >= 80Gi in request r", "with memory >= 40Gi in request r"),
            (">", "100Gi", "with memory > 40Gi in request r", "without the selector memory > 100Gi of request r"),
            ("<=", "10Gi", "with memory <= 40Gi in request r", "with memory <= 80Gi in request r"),
        ],
    )
    def test_a_threshold_goes_as_far_as_it_must(self, operator: str, wanted: str, text: str, for_all: str) -> None:
        selecting = claim(selectors=[selector(self.MEMORY.format(wanted, operator))])
        assert suggested([*self.memories("40Gi", "80Gi"), selecting], pod(claims={"gpu": "c"})) == {
            text: 1,
            for_all: 2,
        }

    def test_all_values_are_named(self) -> None:
        selecting = claim(selectors=[selector(self.MEMORY.format("100Gi", ">="))])
        (answer,) = simulate([*self.memories("80Gi", "9Gi"), selecting], [pod(claims={"gpu": "c"})])
        (group,) = answer["why"]["nodes"]
        assert group["requests"][0]["because"] == "memory is 9Gi or 80Gi, wanted >= 100Gi"
        assert group["requests"][0]["lacking"] == {"name": "memory", "values": ["9Gi", "80Gi"]}
        many = self.memories(*(f"{number}Gi" for number in range(1, 7)))
        (answer,) = simulate([*many, selecting], [pod(claims={"gpu": "c"})])
        because = answer["why"]["nodes"][0]["requests"][0]["because"]
        assert because == "memory is 1Gi … 6Gi (6 values), wanted >= 100Gi"

    def memories(self, *each: str) -> list[JSONObject]:
        """Make a cluster with a device of each size, on nodes of their own."""
        made = [device_class()]
        for number, size in enumerate(each):
            made += [node(f"n{number}"), devices(f"n{number}", 1, capacity={"memory": {"value": size}})]
        return made


class TestCapacity:
    @pytest.mark.parametrize(
        "policy",
        [{"default": "10", "validRange": {"min": "1", "max": "50"}}, {"default": "10", "validValues": ["10", "50"]}],
    )
    def test_the_largest_share_that_the_policy_allows_is_suggested(self, policy: JSONObject) -> None:
        capacity = {"bandwidth": {"value": "100", "requestPolicy": policy}}
        shared = devices("a", 1, allowMultipleAllocations=True, capacity=capacity)
        wanted = claim(capacity={"requests": {"bandwidth": "60"}})
        assert suggested([device_class(), shared, node("a"), wanted], pod(claims={"gpu": "c"})) == {
            "with bandwidth 50 in place of 60 in request r": 1,
            "without the capacity that request r asks for": 1,
        }


class TestExtendedResources:
    @pytest.mark.parametrize("field", ["requests", "limits"])
    def test_the_largest_count_that_fits_is_suggested(self, field: str) -> None:
        objects = [device_class(extendedResourceName="example.com/gpu"), devices("a", 2), devices("b", 1)]
        containers = [{"name": "c", "image": "i", "resources": {field: {"example.com/gpu": "4"}}}]
        assert suggested([*objects, node("a"), node("b")], pod(containers=containers)) == {
            "with example.com/gpu 2 in place of 4": 1,
            "with example.com/gpu 1 in place of 4": 2,
        }

    @each_row("provided", [[device_class(extendedResourceName="example.com/gpu"), devices("a")], []])
    @each_row("field", ["requests", "limits"])
    def test_a_near_name_is_suggested(self, field: str, provided: list[JSONObject]) -> None:
        objects = [*provided, node("a", None, None, **({} if provided else {"example.com/gpu": "1"})), node("b")]
        containers = [{"name": "c", "image": "i", "resources": {field: {"example.com/gpus": "1"}}}]
        assert suggested(objects, pod(containers=containers))["with example.com/gpu in place of example.com/gpus"] == 1

    def test_what_a_node_provides_is_no_other_name(self) -> None:
        objects = [
            device_class(extendedResourceName="example.com/gpu"),
            node("a", None, None, **{"example.com/gpus": "1"}),
        ]
        assert suggested(objects, pod(requests={"example.com/gpus": "2"})) == {
            "with example.com/gpus 1 in place of 2": 1
        }


class TestPairs:
    def test_two_reasons_of_a_node(self) -> None:
        objects = [node("a", labels={"zone": "a"}, cpu="16")]
        wanted = pod(nodeSelector={"zone": "b"}, requests={"cpu": "32"})
        assert suggested(objects, wanted) == {"without the pod's nodeSelector and with cpu 16 in place of 32": 1}

    def test_a_reason_of_a_node_and_one_of_its_devices(self) -> None:
        objects = [node("a", {"taints": [DEDICATED]}), device_class(), devices("a", 2), claim(count=3)]
        assert suggested(objects, pod(claims={"gpu": "c"})) == {
            "if the pod tolerates dedicated=ml:NoSchedule and with count 2 in request r": 1,
        }

    def test_a_change_of_the_pod_and_one_of_the_cluster(self) -> None:
        updated = devices("a", 2)
        updated["spec"]["pool"]["resourceSliceCount"] = 2
        objects = [node("a"), device_class(), updated, claim(count=3)]
        assert suggested(objects, pod(claims={"gpu": "c"})) == {
            "with count 2 in request r and once pool gpu.example.com/a with 2 devices is complete": 1
        }


class TestClustersThatDiffer:
    def test_they_use_the_devices_that_pods_have_got_meanwhile(self) -> None:
        listed = claim("listed")
        listed["spec"]["devices"]["requests"] = [
            {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
        ]
        pods = [pod("first", {"gpu": "listed"}), pod("second", {"gpu": "c"}), pod("third", {"gpu": "listed"})]
        objects = [node("a"), device_class(), devices("a"), claim(), listed]
        first, second, third = simulate(objects, pods, kubernetes="1.36", feature_gates={"DRAPrioritizedList": False})
        gate = "with the feature gate DRAPrioritizedList"
        assert gate in [each["change"] for each in first["why"]["help"]]
        assert second["node"] == "a"
        assert gate not in [each["change"] for each in third["why"]["help"]]


class TestBounds:
    def test_it_is_said_how_many_changes_were_tried_in_vain(self) -> None:
        wanted = claim(selectors=[selector("false")])
        (answer,) = simulate([node("a"), device_class(), wanted], [pod(claims={"gpu": "c"})])
        assert (answer["why"]["help"], answer["why"]["tried"]) == ([], 3)

    def test_questions_come_to_an_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        objects = [node("a", {"taints": [DEDICATED]}), tainted("b", "x")]
        monkeypatch.setattr("webhook.simulation.changes.suggestions._FILTERED_MAX", 1)
        (answer,) = simulate(objects, [pod()])
        assert [each["change"] for each in answer["why"]["help"]] == ["if the pod tolerates dedicated=ml:NoSchedule"]
        assert not answer["why"]["allTried"]

    def test_nodes_that_are_left_untried_may_be_opened_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.changes.cluster.NODES_MAX", 2)
        cordoned = "node.kubernetes.io/unschedulable"
        nodes = [tainted("a", cordoned), *(tainted(name, "x") for name in "bc")]
        (answer,) = simulate(nodes, [pod()])
        assert [(each["change"], each["nodes"], each["atLeast"]) for each in answer["why"]["help"]] == [
            ("if the pod tolerates x:NoSchedule", 1, True),
            ("once a is uncordoned", 1, False),
        ]

    def test_there_is_a_time_for_changes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.changes.suggestions._SECONDS", 0.0)
        (answer,) = simulate([tainted("b", "x")], [pod()])
        assert (answer["why"]["help"], answer["why"]["allTried"]) == ([], False)
        monkeypatch.undo()
        (answer,) = simulate([tainted("b", "x")], [pod()])
        assert (len(answer["why"]["help"]), answer["why"]["allTried"]) == (1, True)


class TestTheCluster:
    RULE: ClassVar[JSONObject] = {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "rule"},
        "spec": {"deviceSelector": {"pool": "a"}, "taint": {"key": "xid", "effect": "NoExecute"}},
    }
    RULES: ClassVar[JSONObject] = {
        "kubernetes": "1.35",
        "feature_gates": {"DRADeviceTaints": True, "DRADeviceTaintRules": True},
    }

    def test_a_rule_may_be_deleted_but_is_not_to_be_ignored(self) -> None:
        other = {
            **self.RULE,
            "metadata": {"name": "other"},
            "spec": {**self.RULE["spec"], "deviceSelector": {"pool": "b"}},
        }
        objects = [device_class(), devices("a"), devices("b"), node("a"), node("b"), self.RULE, other, claim()]
        assert suggested(objects, pod(claims={"gpu": "c"}), **self.RULES) == {
            "if request r tolerates xid:NoExecute": 2,
            "once DeviceTaintRule rule is deleted": 1,
            "once DeviceTaintRule other is deleted": 1,
        }

    def test_claims_of_others_are_released_from_their_nodes(self) -> None:
        shared = allocated("c", "a", "d0", "old")
        running = {**pod("old", {"gpu": "c"}, {"cpu": "5"}, nodeName="a"), "apiVersion": "v1"}
        objects = [device_class(), devices("a"), devices("b"), node("a"), node("b"), shared, running]
        assert suggested(objects, pod(claims={"gpu": "c"}, requests={"cpu": "4"})) == {
            "with cpu 3 in place of 4": 1,
            "once claim default/c is released (pod old)": 2,
        }
