"""What the text of draguard simulate says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import draguard
from tests.simulation import clusters


class TestText:
    """Reports of unusual outcomes."""

    def result(self, tmp_path: Path, *objects: dict[str, Any], options: tuple[str, ...] = ()) -> str:
        file = tmp_path / "cluster.yaml"
        versions = {"Node": "v1", "Pod": "v1", "PriorityClass": "scheduling.k8s.io/v1"}
        for each in objects:
            each.setdefault("apiVersion", versions.get(each["kind"], "resource.k8s.io/v1"))
        file.write_text(yaml.safe_dump_all(objects))
        return draguard("simulate", "--cluster", file, *options).out

    def test_devices_that_are_not_ready_are_waited_for(self, tmp_path: Path) -> None:
        ready = clusters.devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        objects = (clusters.device_class(), ready, clusters.node("a"), clusters.claim())
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        wait = "default/p: waits until attached is True for d0 (at most 600 s), to be bound to node a\n"
        assert f"{wait}  c: gpu.example.com/a/d0\n" in text
        assert "1 pod: 1 waiting for devices" in text

    @pytest.mark.parametrize(("node", "result"), [("a", "(a)"), ("b", "(b, which does not exist)")])
    def test_a_pod_past_the_scheduler_never_runs(self, node: str, result: str, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.pod(claims={"gpu": "c"}, nodeName=node)}))
        text = self.result(tmp_path, clusters.node("a"), clusters.claim(), options=(str(pod),))
        assert f"default/p: pending: it names its node itself {result}, so its claims are not allocated" in text
        assert "1 pod: 1 pending" in text

    def test_a_pod_past_the_scheduler_fails_the_run(self, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.pod(claims={"gpu": "c"}, nodeName="a")}))
        cluster = tmp_path / "cluster.yaml"
        cluster.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.node("a")}))
        assert draguard("simulate", pod, "--cluster", cluster).code == 1

    def test_what_a_pending_pod_refers_to_is_looked_up(self, tmp_path: Path) -> None:
        text = self.result(
            tmp_path, clusters.node("a"), clusters.claim("cshared"), clusters.pod(claims={"gpu": "cshard"})
        )
        assert "note: ResourceClaim" in text
        assert 'did you mean "cshared"?' in text

    def test_a_claim_that_cannot_be_reserved_again(self, tmp_path: Path) -> None:
        claim = clusters.allocated("c", "a", "d0", "other")
        del claim["status"]["allocation"]["allocationTimestamp"]
        text = self.result(tmp_path, clusters.node("a"), claim, clusters.pod(claims={"gpu": "c"}))
        assert 'default/p: pending: running PreBind plugin "DynamicResources": ' in text
        assert "note: claim default/c was allocated without allocationTimestamp" in text
        assert "1 pod: 1 pending\n" in text

    def test_a_missing_template_is_reported_though_the_scheduler_has_no_message(self, tmp_path: Path) -> None:
        text = self.result(tmp_path, clusters.node("a"), clusters.pod(claims={"gpu": "t"}))
        assert 'default/p: pending: pod "default/p": ResourceClaim not created yet' in text

    def test_many_kinds_of_nodes(self, tmp_path: Path) -> None:
        nodes = [clusters.node(f"n{number}") for number in range(9)]
        slices = [clusters.devices(f"n{number}", number) for number in range(9)]
        objects = (clusters.device_class(), *nodes, *slices, clusters.claim(count=12))
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "nodes more, for other reasons (--output json has all)" in text
        assert "\n  n8, request r: 8 devices, 8 of the class; 12 are wanted\n  n7, request r: 7 devices" in text

    def test_numbers_of_large_clusters_are_the_least(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.rejections._LOOKED_AT_MAX", 5)
        monkeypatch.setattr("webhook.simulation.changes.cluster.NODES_MAX", 4)
        names = [f"n{number}" for number in range(6)]
        objects = [clusters.device_class(), clusters.claim(count=2), clusters.pod(claims={"gpu": "c"})]
        objects += [clusters.node(name) for name in names] + [clusters.devices(name, 2) for name in names]
        objects += [clusters.allocated(f"of-{name}", name) for name in names]
        text = self.result(tmp_path, *objects)
        assert "claim default/of-n2 on n2 (used by no pod), and at least 2 other claims; 2 are wanted\n" in text
        assert "with count 1 in request r: at least 4 nodes\n" in text
        assert "once claim default/of-n0 is released (used by no pod): at least 1 node\n" in text

    def test_pending_pods_of_other_namespaces_compete_but_are_not_reported(self, tmp_path: Path) -> None:
        pods = [clusters.pod(requests={"cpu": "5"}) for _ in "ab"]
        for each, namespace in zip(pods, "ab", strict=True):
            each["metadata"]["namespace"] = namespace
        objects = (clusters.node("one"), *pods)
        assert self.result(tmp_path, *objects, options=("-n", "a", "-q")) == "a/p: one\n"
        text = self.result(tmp_path, *objects, options=("-n", "b"))
        assert text.startswith("b/p: pending: ")
        assert "1 pod: 1 pending\n" in text
        assert self.result(tmp_path, *objects, options=("-n", "c")).startswith("no pod of namespace c is pending\n")
        assert json.loads(self.result(tmp_path, *objects, options=("-n", "c", "-o", "json"))) == []
        assert self.result(tmp_path, *objects, options=("-n", "a", "--fit")).startswith("1 pod like a/p fits\n")

    def test_requests_that_fit_alone(self, tmp_path: Path) -> None:
        one = clusters.claim("c")
        one["spec"]["devices"]["requests"].append({"name": "s", "exactly": {"deviceClassName": "gpu"}})
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a"), one)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "a: each request alone can be met, but not all of them together" in text

    def test_constraints(self, tmp_path: Path) -> None:
        one = clusters.claim(count=2)
        one["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/x"}]
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a", 2), one)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        missing = "attribute gpu.example.com/x, which a constraint compares, is not published; 2 are wanted"
        assert f"0 with the same gpu.example.com/x: {missing}" in text

    def test_nodes_without_devices(self, tmp_path: Path) -> None:
        objects = (clusters.device_class(), clusters.node("new"), clusters.claim())
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "  new, request r: 0 devices: no ResourceSlice has devices for the node\n" in text

    def test_nodes_with_one_text(self, tmp_path: Path) -> None:
        pools = [clusters.devices(name, 2, attributes={"model": {"string": "a100"}}) for name in "ab"]
        pools[0]["spec"]["devices"][0]["attributes"] = {"model": {"string": "h100"}}
        other = clusters.device_class("other")
        other["spec"]["selectors"] = [clusters.selector('device.driver == "other"')]
        claim = clusters.claim(selectors=[clusters.selector('device.attributes["gpu.example.com"].model == "a100"')])
        claim["spec"]["devices"]["requests"].append({"name": "s", "exactly": {"deviceClassName": "other"}})
        nodes = [clusters.node(name) for name in "ab"]
        text = self.result(
            tmp_path, clusters.device_class(), other, *nodes, *pools, claim, clusters.pod(claims={"gpu": "c"})
        )
        assert "\n  a, b, request s: 2 devices, 0 of the class" in text

    def test_requests_that_compete(self, tmp_path: Path) -> None:
        claims = clusters.claim("c", count=2), clusters.claim("other")
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a", 2), *claims)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c", "other": "other"}))
        both = "request r of claim default/c and request r of claim default/other"
        why = "each request alone can be met, but not all of them together"
        assert f"  a: {why}: {both} want 3 devices, and 2 are left for them together\n" in text

    def test_a_gate_that_is_off(self, tmp_path: Path) -> None:
        bound = clusters.devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        objects = (clusters.device_class(), clusters.node("a"), bound, clusters.claim())
        gate = ("--feature-gates", "DRADeviceBindingConditions=false")
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}), options=gate)
        assert "0 selected: it has binding conditions, and the feature gate DRADeviceBindingConditions is off\n" in text

    def test_a_device_that_failed_is_given_back_and_given_again(self, tmp_path: Path) -> None:
        ready = clusters.devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        claim = clusters.allocated("c", "a", "d0", "p")
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        result |= {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
        failed = {"type": "failed", "status": "True", "reason": "NoSlot", "message": "", "lastTransitionTime": None}
        where = {name: result[name] for name in ("driver", "pool", "device")}
        claim["status"]["devices"] = [{**where, "conditions": [failed]}]
        objects = (clusters.device_class(), clusters.node("a"), ready, claim)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "deallocation of ResourceClaim completed" in text
        said = "d0: failed is True (NoSlot): the scheduler takes the device back and tries again"
        assert text.startswith(f"default/p: pending: {said}; it is the only one, so it gets d0 again\n")
        assert "1 pod: 1 pending\n" in text

    def test_counters_that_devices_share(self, tmp_path: Path) -> None:
        consumed = [{"counterSet": "set", "counters": {"memory": {"value": "2Gi"}}}]
        pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
        parts, sets = clusters.devices("a", 3, consumesCounters=consumed), clusters.devices("a", 0)
        parts["spec"]["pool"] = sets["spec"]["pool"] = pool
        sets["metadata"]["name"], sets["spec"]["devices"] = "counters", None
        sets["spec"]["sharedCounters"] = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]
        objects = (clusters.device_class(), clusters.node("a"), parts, sets, clusters.claim(count=3))
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        short = "counter memory of set: 4Gi is left, 3 devices consume 6Gi at least; 3 are wanted"
        assert f"3 devices, 3 of the class, 2 together: {short}" in text
        held = [clusters.allocated(f"held{number}", "a", f"d{number}") for number in range(2)]
        text = self.result(tmp_path, *objects[:-1], held[0], clusters.claim(count=2), clusters.pod(claims={"gpu": "c"}))
        short = "counter memory of set: 2Gi is left, 2 devices consume 4Gi at least"
        assert f"1 together: {short}, held by claim default/held0 (used by no pod); 2 are wanted" in text
        assert "once claim default/held0 is released (used by no pod): 1 node" in text
        text = self.result(tmp_path, *objects[:-1], *held, clusters.claim(), clusters.pod(claims={"gpu": "c"}))
        held_by = "held by claim default/held0 (used by no pod), claim default/held1 (used by no pod)"
        assert f"1 free, 0 with enough counters: set lacks memory (0 left, 2Gi consumed), {held_by}\n" in text

    @pytest.mark.parametrize(
        ("nodes", "result"),
        [(1, "a\n"), (2, "a (or 1 other node that suits it as well)\n"), (3, "a (or one of 2 other")],
    )
    def test_nodes_that_suit_alike_are_counted(self, nodes: int, result: str, tmp_path: Path) -> None:
        made = [clusters.node(name) for name in "abc"[:nodes]]
        assert self.result(tmp_path, *made, clusters.pod()).startswith(f"default/p: {result}")

    def test_copies_share_a_claim_by_name(self, tmp_path: Path) -> None:
        limited = clusters.pod(claims={"gpu": "c"}, requests={"cpu": "5"})
        nodes = [clusters.node(name) for name in "ab"]
        objects = (clusters.device_class(), clusters.devices("a"), *nodes, clusters.claim())
        text = self.result(tmp_path, *objects, limited, options=("--fit",))
        assert "claim default/c (pod p-0, counted here) has its devices on a" in text
        assert "all these pods share claim default/c: with a ResourceClaimTemplate, each has its own" in text
        assert "is released" not in text

    def test_taints_are_named(self, tmp_path: Path) -> None:
        taints = [
            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
            {"key": "team", "value": "a", "effect": "NoSchedule"},
        ]
        nodes = [clusters.node(name, {"taints": [taint]}) for name, taint in zip("ab", taints, strict=True)]
        text = self.result(tmp_path, *nodes, clusters.pod())
        untolerated = "node(s) had untolerated taint(s)"
        assert f"  a: {untolerated}: node.kubernetes.io/not-ready:NoSchedule (until the node is ready)\n" in text
        assert f"  b: {untolerated}: team=a:NoSchedule\n" in text

    def test_amounts_are_named(self, tmp_path: Path) -> None:
        nodes = [clusters.node("a"), clusters.node("b", memory="8Gi")]
        text = self.result(tmp_path, *nodes, clusters.pod(requests={"cpu": "8500m", "memory": "20Gi"}))
        amounts = "cpu 8500m wanted, 8 of 8 free; memory 20Gi wanted, at most 16Gi of 16Gi free"
        assert f"  a, b: Insufficient cpu, Insufficient memory: {amounts}\n" in text

    def test_pools_that_are_not_used(self, tmp_path: Path) -> None:
        pools = [clusters.devices(name, 2) for name in "ab"]
        for each in pools:
            each["spec"]["pool"]["resourceSliceCount"] = 2
        nodes = [clusters.node(name) for name in "ab"]
        text = self.result(
            tmp_path, *pools, *nodes, clusters.device_class(), clusters.claim(), clusters.pod(claims={"gpu": "c"})
        )
        assert (
            "  a, b, request r: 0 devices; not used: 2 devices of pool gpu.example.com/a, which is incomplete: "
            "1 of 2 slices of generation 1, and 2 devices of 1 other pool\n" in text
        )

    def test_many_devices_are_counted(self, tmp_path: Path) -> None:
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a", 12), clusters.claim(count=12))
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "gpu.example.com/a/d7, and 4 more" in text

    def test_an_older_release_may_decide_otherwise(self, tmp_path: Path) -> None:
        other = clusters.devices("a", 1)
        other["metadata"]["name"], other["spec"]["pool"] = "b", {"name": "b", "generation": 1, "resourceSliceCount": 1}
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a"), other, clusters.claim())
        pod = clusters.pod(claims={"gpu": "c"})
        text = self.result(tmp_path, *objects, pod, options=("--kubernetes-version", "1.34"))
        assert "note: the scheduler could also decide otherwise" in text

    def test_an_unbounded_cost_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.replicas.MOST", 3)
        text = self.result(tmp_path, clusters.node("a"), clusters.pod(), options=("--fit",))
        assert text.startswith("at least 3 pods like default/p fit\n  a: 3\n")

    def test_nothing_fits(self, tmp_path: Path) -> None:
        full = clusters.node("a", cpu="1")
        text = self.result(tmp_path, full, clusters.pod(requests={"cpu": "2"}), options=("--fit",))
        assert text.startswith("no pod like default/p fits: 1 node has too little cpu: cpu 2 wanted, 1 of 1 free\n")
        assert "  a: Insufficient cpu" in text
        assert draguard("simulate", "--cluster", tmp_path / "cluster.yaml", "--fit").code == 1
