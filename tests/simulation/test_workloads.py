"""The pods that workloads create."""

from typing import Any

import pytest

from tests.rows import each_row
from tests.simulation.clusters import node
from tests.stored import version_of
from webhook import simulate
from webhook.inventory import MalformedError
from webhook.objects import JSONObject
from webhook.simulation.workloads import Running, is_workload, pods_of

TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": []}}
OF_ONE = {"spec": {"parallelism": 1, "template": TEMPLATE}}


def workload(kind: str, **spec: Any) -> JSONObject:
    spec = {"template": TEMPLATE, **spec}
    return {"apiVersion": version_of(kind), "kind": kind, "metadata": {"name": "w", "namespace": "n"}, "spec": spec}


def names(obj: JSONObject, nodes: tuple[str, ...] = ("a", "b")) -> list[str]:
    return [each["metadata"]["name"] for each in pods_of(obj, [node(name) for name in nodes])]


@each_row(
    ("obj", "expected"),
    (workload("Deployment"), ["w-XXXXX"]),
    (workload("Deployment", replicas=2), ["w-XXXXX-0", "w-XXXXX-1"]),
    (workload("Deployment", replicas=0), []),
    (workload("StatefulSet", replicas=2), ["w-0", "w-1"]),
    (workload("StatefulSet", replicas=2, ordinals={"start": 5}), ["w-5", "w-6"]),
    (workload("DaemonSet"), ["w-a", "w-b"]),
    (workload("Job", parallelism=3, completions=2), ["w-XXXXX-0", "w-XXXXX-1"]),
    (workload("Job", parallelism=1), ["w-XXXXX"]),
    (workload("CronJob", jobTemplate=OF_ONE), ["w-XXXXX"]),
    ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, ["p"]),
    ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, []),
)
def test_pods_are_named_and_counted_as_their_controllers_do(obj: JSONObject, expected: list[str]) -> None:
    assert names(obj) == expected


def test_pods_have_the_namespace_and_labels_of_their_workload() -> None:
    (pod,) = pods_of(workload("Deployment"), ())
    assert (pod["metadata"]["namespace"], pod["metadata"]["labels"]) == ("n", {"app": "a"})
    assert is_workload({"apiVersion": "v1", "kind": "Pod"})
    assert not is_workload({"apiVersion": "v1", "kind": "Node"})


def on_nodes(*each: JSONObject, **spec: object) -> list[str]:
    """Return the nodes for which a DaemonSet makes pods."""
    made = pods_of(workload("DaemonSet", template={"spec": spec}), each)
    return [pod["metadata"]["name"].removeprefix("w-") for pod in made]


def tainted(key: str, effect: str = "NoSchedule") -> JSONObject:
    return node("a", {"taints": [{"key": key, "effect": effect}]})


def test_pods_of_a_daemon_set_are_bound_to_their_nodes() -> None:
    term = {"matchExpressions": [{"key": "k", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    affinity = {"nodeAffinity": required, "podAffinity": {}}
    nodes = [node("a", labels={"k": ""}), node("b")]
    assert on_nodes(*nodes, affinity=affinity) == ["a"]
    (pod,) = pods_of(workload("DaemonSet", template={"spec": {"affinity": affinity}}), nodes)
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    only = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    assert pod["spec"]["affinity"] == {"nodeAffinity": only, "podAffinity": {}}


def test_pods_of_a_daemon_set_are_for_the_nodes_that_take_them() -> None:
    assert on_nodes(node("a"), node("b", labels={"zone": "b"}), nodeSelector={"zone": "b"}) == ["b"]
    assert on_nodes(tainted("k")) == []
    assert on_nodes(tainted("k", "PreferNoSchedule")) == ["a"]
    assert on_nodes(tainted("k"), tolerations=[{"key": "k", "operator": "Exists"}]) == ["a"]
    assert on_nodes(tainted("node.kubernetes.io/network-unavailable"), hostNetwork=True) == ["a"]


@each_row(
    ("key", "effect", "is_tolerated"),
    ("not-ready", "NoExecute", True),
    ("not-ready", "NoSchedule", False),
    ("unreachable", "NoExecute", True),
    ("disk-pressure", "NoSchedule", True),
    ("memory-pressure", "NoSchedule", True),
    ("pid-pressure", "NoSchedule", True),
    ("unschedulable", "NoSchedule", True),
    ("network-unavailable", "NoSchedule", False),
)
def test_pods_of_a_daemon_set_tolerate_a_nodes_state(key: str, effect: str, *, is_tolerated: bool) -> None:
    assert on_nodes(tainted(f"node.kubernetes.io/{key}", effect)) == (["a"] if is_tolerated else [])


@each_row("template", 1, None, {"spec": 5}, {})
def test_pods_are_not_made_from_malformed_templates(template: object) -> None:
    obj = {**workload("Deployment"), "spec": {"template": template}}
    with pytest.raises(MalformedError, match=r"spec\.template is not a pod template with a spec"):
        list(pods_of(obj, []))


def owned(name: str, kind: str, owner: str, node_name: str = "a", hashed: str = "", **metadata: Any) -> JSONObject:
    """Make a pod that runs."""
    labels = {"pod-template-hash": hashed}
    reference = {"kind": kind, "name": owner, "controller": True}
    metadata = {"name": name, "namespace": "n", "labels": labels, "ownerReferences": [reference], **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node_name}}


@each_row(
    ("obj", "pod", "expected"),
    (workload("Deployment", replicas=2), owned("w-5d-x", "ReplicaSet", "w-5d", hashed="5d"), ["w-5d-x", "w-XXXXX-0"]),
    (workload("Deployment"), owned("w-5d-x", "ReplicaSet", "w-5d", hashed="5e"), ["w-XXXXX"]),
    (workload("ReplicaSet"), owned("w-x", "ReplicaSet", "w"), ["w-x"]),
    (workload("ReplicaSet"), owned("w-x", "ReplicaSet", "w", deletionTimestamp="t"), ["w-XXXXX"]),
    (workload("ReplicaSet"), owned("w-x", "ReplicaSet", "w", namespace="other"), ["w-XXXXX"]),
    (workload("StatefulSet", replicas=2), owned("w-1", "StatefulSet", "w"), ["w-0", "w-1"]),
    (workload("DaemonSet"), owned("w-x", "DaemonSet", "w", "b"), ["w-a", "w-x"]),
    (workload("Job", parallelism=2), owned("w-x", "Job", "w"), ["w-x", "w-XXXXX-0"]),
    (workload("CronJob", jobTemplate=OF_ONE), owned("w-29-x", "Job", "w-29"), ["w-29-x"]),
)
def test_pods_that_already_run_are_not_made_again(obj: JSONObject, pod: JSONObject, expected: list[str]) -> None:
    found = list(pods_of(obj, [node("a"), node("b")], Running([pod])))
    assert [each["metadata"]["name"] for each in found] == expected


def test_programs_get_the_pods_of_other_projects_once() -> None:
    spec = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 2}}
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "t"}, "spec": spec}
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": []}}}}}]
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch"},
        "spec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }
    assert [each["name"] for each in simulate([node("a"), runtime], [job])] == ["t-XXXXX-0", "t-XXXXX-1"]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": []}}
    with pytest.raises(ValueError, match="Pod default/p is made twice"):
        simulate([node("a")], [pod, pod])
