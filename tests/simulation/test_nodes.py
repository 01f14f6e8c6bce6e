"""Which nodes take a pod: their names, labels, taints, ports and resources."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.simulation.clusters import claim, node, pod
from tests.simulation.scheduling import NODES, NOT_HELPFUL, message, nodes
from tests.steps import counting
from webhook import simulate
from webhook.objects import JSONObject


class TestNodes:
    @each_row(
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

    @each_row(
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

    @each_row(
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

    @each_row("cpu", ["1e999999999", "9" * 5_000, f"0.{'9' * 5_000}e9000"])
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


def test_many_tolerations_of_many_taints_take_few_steps() -> None:
    taints = [{"key": f"example.com/{number}", "effect": "NoSchedule"} for number in range(1000)]
    tolerations = [{"key": f"example.com/{number}", "operator": "Exists"} for number in range(999)]
    with counting() as counted:
        (answer,) = simulate([node("a", {"taints": taints})], [pod(tolerations=tolerations)], kubernetes="1.36")
    assert "example.com/999" in str(answer["why"])
    assert counted() < 1_000_000  # comparing each with each takes tens of millions
