"""The pods that workloads make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from webhook.inventory import MalformedError
from webhook.simulation.workloads import is_workload, pods_of

if TYPE_CHECKING:
    from webhook.objects import JSONObject

TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": []}}


def workload(api_version: str, kind: str, **spec: Any) -> JSONObject:
    spec = {"template": TEMPLATE, **spec}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "w", "namespace": "n"}, "spec": spec}


def names(obj: JSONObject, nodes: tuple[str, ...] = ("a", "b")) -> list[str]:
    return [each["metadata"]["name"] for each in pods_of(obj, nodes)]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (workload("apps/v1", "Deployment"), ["w-XXXXX"]),
        (workload("apps/v1", "Deployment", replicas=2), ["w-XXXXX-0", "w-XXXXX-1"]),
        (workload("apps/v1", "Deployment", replicas=0), []),
        (workload("apps/v1", "StatefulSet", replicas=2), ["w-0", "w-1"]),
        (workload("apps/v1", "DaemonSet"), ["w-a", "w-b"]),
        (workload("batch/v1", "Job", parallelism=3, completions=2), ["w-XXXXX-0", "w-XXXXX-1"]),
        (workload("batch/v1", "Job", parallelism=1), ["w-XXXXX"]),
        (workload("batch/v1", "CronJob", jobTemplate={"spec": {"parallelism": 1, "template": TEMPLATE}}), ["w-XXXXX"]),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}, ["p"]),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, []),
    ],
)
def test_are_named_and_counted_as_their_controllers_do(obj: JSONObject, expected: list[str]) -> None:
    assert names(obj) == expected


def test_have_the_namespace_and_labels_of_their_workload() -> None:
    (pod,) = pods_of(workload("apps/v1", "Deployment"), ())
    assert (pod["metadata"]["namespace"], pod["metadata"]["labels"]) == ("n", {"app": "a"})


def test_of_a_daemon_set_are_bound_to_their_nodes() -> None:
    term = {"matchExpressions": [{"key": "k", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    template = {"spec": {"affinity": {"nodeAffinity": required}}}
    (pod,) = pods_of(workload("apps/v1", "DaemonSet", template=template), ["a"])
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    assert terms == {"nodeSelectorTerms": [{**term, "matchFields": [field]}]}
    assert pod["spec"]["tolerations"][0]["key"] == "node.kubernetes.io/unschedulable"


def test_a_pod_is_a_workload_too() -> None:
    assert is_workload({"apiVersion": "v1", "kind": "Pod"})
    assert not is_workload({"apiVersion": "v1", "kind": "Node"})


@pytest.mark.parametrize("template", [1, None, {"spec": 5}, {}])
def test_are_not_made_of_what_is_no_template(template: object) -> None:
    obj = {**workload("apps/v1", "Deployment"), "spec": {"template": template}}
    with pytest.raises(MalformedError, match=r"spec\.template is not a pod template with a spec"):
        list(pods_of(obj, []))
