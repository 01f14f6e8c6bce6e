"""``draguard simulate`` with pods that already run, and what its text says once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from tests.command import draguard
from tests.simulation import clusters

if TYPE_CHECKING:
    from pathlib import Path


def test_a_replica_that_runs_is_not_scheduled_again(tmp_path: Path) -> None:
    held = clusters.allocated("w-0-d", "a", "d0", "w-0")
    runs = clusters.pod("w-0", {"d": "w-0-d"}, nodeName="a")
    cluster = [clusters.node("a"), clusters.device_class(), clusters.devices("a", 2), held, runs]
    spec = {"replicas": 1, "serviceName": "s", "selector": {"matchLabels": {"a": "b"}}}
    spec["template"] = {"metadata": {"labels": {"a": "b"}}, "spec": clusters.pod("x", {"d": "w-0-d"})["spec"]}
    sets = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "w"}, "spec": spec}
    bare = {**clusters.pod("w-0", {"d": "w-0-d"}), "apiVersion": "v1"}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(cluster))
    for name, given in (("set", sets), ("pod", bare)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(given))
        done = draguard("simulate", tmp_path / f"{name}.yaml", "--cluster", tmp_path / "cluster.yaml")
        assert done.code == 0
        assert "default/w-0: already scheduled on a\n" in done.out
        assert "1 pod: 1 already scheduled\n" in done.out


def test_the_pods_of_a_released_claim_are_gone(tmp_path: Path) -> None:
    held = clusters.allocated("held", "a", "d0", "old")
    old = clusters.pod("old", {"d": "held"}, {"cpu": "6"}, nodeName="a")
    cluster = [clusters.node("a"), clusters.device_class(), clusters.devices("a"), held, old, clusters.claim()]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(cluster))
    wanted = {**clusters.pod("new", {"d": "c"}, {"cpu": "7"}), "apiVersion": "v1"}
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(wanted))
    given = tmp_path / "pod.yaml", "--cluster", tmp_path / "cluster.yaml"
    assert "pending" in draguard("simulate", *given).out
    assert "default/new: a\n" in draguard("simulate", *given, "--release", "held").out


def test_what_concerns_every_pod_is_said_once(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"kind": "DeviceTaintRule", "metadata": {"name": "r"}}
    rule["spec"] = {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "k", "effect": "NoSchedule"}}
    claims = [clusters.claim(count=4), clusters.claim("shared")]
    cluster = [clusters.node("a"), clusters.device_class(), clusters.devices("a", 3), *claims, rule]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(cluster))
    given = [clusters.pod("p", {"d": "c"}), clusters.pod("q", {"d": "shared"}), clusters.pod("r")]
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump_all({**each, "apiVersion": "v1"} for each in given))
    paths = tmp_path / "pods.yaml", "--cluster", tmp_path / "cluster.yaml"
    text = draguard("simulate", *paths).out
    assert "  a, request r: 3 devices, 3 of the class; 4 are wanted\n" in text
    assert text.count("does not apply DeviceTaintRules") == 1
    assert text.splitlines()[-3].startswith("note: the scheduler of Kubernetes 1.36 does not apply DeviceTaintRules")
    found = json.loads(draguard("simulate", "--output", "json", *paths).out)
    assert [len(each["why"]["notes"]) for each in found] == [1, 1, 0]
