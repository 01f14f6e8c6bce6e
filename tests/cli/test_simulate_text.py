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

    def test_a_pod_past_the_scheduler_fails_the_run(self, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.pod(claims={"gpu": "c"}, nodeName="a")}))
        cluster = tmp_path / "cluster.yaml"
        cluster.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.node("a")}))
        assert draguard("simulate", pod, "--cluster", cluster).code == 1

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

    def test_copies_share_a_claim_by_name(self, tmp_path: Path) -> None:
        limited = clusters.pod(claims={"gpu": "c"}, requests={"cpu": "5"})
        nodes = [clusters.node(name) for name in "ab"]
        objects = (clusters.device_class(), clusters.devices("a"), *nodes, clusters.claim())
        text = self.result(tmp_path, *objects, limited, options=("--fit",))
        assert "claim default/c (pod p-0, counted here) has its devices on a" in text
        assert "all these pods share claim default/c: with a ResourceClaimTemplate, each has its own" in text
        assert "is released" not in text

    def test_an_unbounded_cost_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.scheduler.MOST", 3)
        text = self.result(tmp_path, clusters.node("a"), clusters.pod(), options=("--fit",))
        assert text.startswith("at least 3 pods like default/p fit\n  a: 3\n")

    def test_nothing_fits(self, tmp_path: Path) -> None:
        full = clusters.node("a", cpu="1")
        text = self.result(tmp_path, full, clusters.pod(requests={"cpu": "2"}), options=("--fit",))
        assert text.startswith("no pod like default/p fits: 1 node has too little cpu: cpu 2 wanted, 1 of 1 free\n")
        assert "  a: Insufficient cpu" in text
        assert draguard("simulate", "--cluster", tmp_path / "cluster.yaml", "--fit").code == 1
