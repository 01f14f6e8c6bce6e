"""``draguard simulate`` with pods that already run, and what its text says once."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import draguard, reported
from tests.simulation import clusters


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
    paths = (tmp_path / "pods.yaml", "--cluster", tmp_path / "cluster.yaml", "--kubernetes-version", "1.36")
    text = draguard("simulate", *paths).out
    assert "  a, request r: 3 devices, 3 of the class; 4 are wanted\n" in text
    assert text.count("does not apply DeviceTaintRules") == 1
    assert text.splitlines()[-3].startswith("note: the scheduler of Kubernetes 1.36 does not apply DeviceTaintRules")
    found = reported("simulate", *paths)
    assert [len(each["why"]["notes"]) for each in found] == [1, 1, 0]


def why(folder: Path, *objects: dict[str, Any], names: tuple[str, ...] = ()) -> str:
    """Explain the pods of a cluster that do not start; return the text."""
    (folder / "cluster.yaml").write_text(yaml.safe_dump_all(objects))
    return draguard("simulate", *names, "--quiet", "--cluster", folder / "cluster.yaml").out


def starting(name: str, claims: dict[str, str], **spec: Any) -> dict[str, Any]:
    """Describe a pod that has not started yet."""
    return {**clusters.pod(name, claims, **spec), "apiVersion": "v1", "status": {"phase": "Pending"}}


def test_pods_that_do_not_start_on_their_node_are_explained(tmp_path: Path) -> None:
    cluster = [clusters.node("a"), clusters.device_class(), clusters.devices("a", 2), clusters.claim()]
    bypassing = starting("p", {"d": "c"}, nodeName="a")
    assert "p: pending: it names its node itself (a)" in why(tmp_path, *cluster, bypassing)
    held = clusters.allocated("held", "a", "d0", "q")
    placed = starting("q", {"d": "held"}, nodeName="a")
    text = why(tmp_path, *cluster, held, placed)
    assert "q: already scheduled on a" in text
    assert "note: the scheduler has done its part: look at the pod's events" in text
    assert why(tmp_path, *cluster, starting("r", {}, nodeName="a")) == ""
    assert why(tmp_path, *cluster, held, placed, names=("pod/q",)) == text


def test_a_claim_that_the_most_pods_use_is_the_reason(tmp_path: Path) -> None:
    full = clusters.allocated("c", "a", "d0", *(f"p-{number}" for number in range(256)))
    cluster = [clusters.node("a"), clusters.device_class(), clusters.devices("a", 2), full, starting("p", {"d": "c"})]
    text = why(tmp_path, *cluster)
    assert "p: pending: claim default/c is used by 256 pods, and no more can use it\n" in text
    assert "  kube-scheduler: running PreBind plugin" in text


def test_claims_that_are_gone_or_going_have_a_note(tmp_path: Path) -> None:
    lost = starting("p", {})
    lost["spec"]["resourceClaims"] = [{"name": "d", "resourceClaimTemplateName": "t"}]
    lost["status"]["resourceClaimStatuses"] = [{"name": "d", "resourceClaimName": "p-d-abcde"}]
    assert "note: the claim was made for the pod, and is not among the cluster's objects" in why(
        tmp_path, clusters.node("a"), lost
    )
    going = clusters.allocated("c", "a", "d0", "u", "v", "w", "x")
    going["status"]["reservedFor"][2] |= {"apiGroup": "batch", "resource": "jobs"}
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"]}
    waiting = (
        "note: the deletion of the claim waits for its finalizers (a.b/c) and "
        "its users (pod u, pod v, jobs.batch w, others)"
    )
    assert waiting in why(tmp_path, clusters.node("a"), going, starting("p", {"d": "c"}))


@pytest.mark.parametrize(
    ("kind", "suspended", "of_job", "is_noted"),
    [
        ("Job", True, None, True),
        ("Job", False, None, False),
        ("CronJob", True, False, True),
        ("CronJob", False, True, True),
        ("CronJob", False, False, False),
    ],
)
def test_a_suspended_job_is_noted(
    tmp_path: Path, kind: str, *, suspended: bool, of_job: bool | None, is_noted: bool
) -> None:
    job = {"template": {"spec": {**clusters.pod("x")["spec"], "restartPolicy": "Never"}}}
    made = job if of_job is None else {"schedule": "0 * * * *", "jobTemplate": {"spec": {**job, "suspend": of_job}}}
    obj = {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "j"}, "spec": {**made, "suspend": suspended}}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([clusters.node("a")]))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(obj))
    given = "simulate", tmp_path / "job.yaml", "--cluster", tmp_path / "cluster.yaml"
    note = f"note: {kind} default/j is suspended: its pods are simulated as if it were resumed\n"
    done = draguard(*given)
    assert (done.code, done.err) == (0, note if is_noted else "")
    assert draguard(*given, "--quiet").err == ""


@pytest.mark.parametrize(
    ("known", "missing"),
    [
        ([clusters.device_class()], ["ResourceSlices"]),
        ([clusters.devices("a")], ["DeviceClasses"]),
        ([clusters.device_class(), clusters.devices("a")], []),
    ],
)
def test_kinds_of_which_there_are_no_objects_are_noted(
    tmp_path: Path, known: list[dict[str, Any]], missing: list[str]
) -> None:
    versions = {"Node": "v1", "Pod": "v1"}
    objects = [clusters.node("a"), clusters.template(), *known, clusters.pod(claims={"gpu": "t"})]
    file = tmp_path / "cluster.yaml"
    file.write_text(
        yaml.safe_dump_all(
            [{"apiVersion": versions.get(each["kind"], "resource.k8s.io/v1"), **each} for each in objects]
        )
    )
    said = draguard("simulate", "--cluster", file).err
    assert [line.split()[2] for line in said.splitlines() if line.startswith("note: no ")] == missing
