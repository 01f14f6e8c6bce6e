"""The number of pods that workloads of other projects make."""

from __future__ import annotations

from typing import Any

from tests.rows import each_row
from webhook.simulation.workloads import stand_ins
from webhook.workloads import Templates, pods_in

POD = {"containers": [{"name": "main", "image": "a"}]}
TEMPLATE = {"spec": POD}
CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]


def job(**spec: Any) -> dict[str, Any]:
    return {"name": "job", "template": {"spec": {"template": TEMPLATE, **spec}}}


def clique(name: str, **spec: Any) -> dict[str, Any]:
    return {"name": name, "spec": {"podSpec": POD, **spec}}


WORKERS = {"workerGroupSpecs": [{"template": TEMPLATE, "replicas": 3, "numOfHosts": 2}]}
RAY = {"headGroupSpec": {"template": TEMPLATE}, **WORKERS}
LEADERS = {"leaderWorkerTemplate": {"leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE, "size": 4}, "replicas": 2}
SERVICE = {"extraPodSpec": {"mainContainer": {"image": "a"}}, "replicas": 2, "multinode": {"nodeCount": 3}}
MACHINE = {"spec": {"resourceClaims": CLAIMS}}
CASES: list[tuple[str, str, dict[str, Any], list[int]]] = [
    ("apps.nvidia.com", "NIMService", {"replicas": 3, "draResources": [{"resourceClaimName": "a"}]}, [3]),
    (
        "apps.nvidia.com",
        "NIMPipeline",
        {"services": [{"spec": {"replicas": 2, "draResources": [{"resourceClaimName": "a"}]}}]},
        [2],
    ),
    (
        "argoproj.io",
        "Experiment",
        {"templates": [{"template": TEMPLATE, "replicas": 2}, {"template": TEMPLATE}]},
        [2, 1],
    ),
    ("argoproj.io", "Rollout", {"template": TEMPLATE, "replicas": 4}, [4]),
    ("batch.volcano.sh", "Job", {"tasks": [{"template": TEMPLATE, "replicas": 3}, {"template": TEMPLATE}]}, [3, 0]),
    ("batch.volcano.sh", "CronJob", {"jobTemplate": {"spec": {"tasks": [{"template": TEMPLATE, "replicas": 2}]}}}, [2]),
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet", {"slices": 3, "roles": [{"spec": LEADERS}]}, [6, 18]),
    ("grove.io", "PodClique", {"podSpec": POD, "replicas": 2}, [2]),
    ("grove.io", "PodCliqueSet", {"template": {"cliques": [clique("a")]}}, [0]),
    (
        "grove.io",
        "PodCliqueSet",
        {
            "replicas": 2,
            "template": {
                "cliques": [clique("a", replicas=3), clique("b")],
                "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["a"], "replicas": 5}],
            },
        },
        [30, 2],
    ),
    (
        "jobset.x-k8s.io",
        "JobSet",
        {"replicatedJobs": [{**job(parallelism=3, completions=2), "replicas": 4}, job()]},
        [8, 1],
    ),
    ("kubeflow.org", "MPIJob", {"mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}}}, [1]),
    ("kubeflow.org", "MPIJob", {"mpiReplicaSpecs": {"Worker": {"template": TEMPLATE}}}, [0]),
    (
        "kubeflow.org",
        "PyTorchJob",
        {"pytorchReplicaSpecs": {"Master": {"template": TEMPLATE}, "Worker": {"template": TEMPLATE, "replicas": 7}}},
        [1, 7],
    ),
    ("kubevirt.io", "VirtualMachine", {"template": MACHINE}, [1]),
    ("kubevirt.io", "VirtualMachineInstanceReplicaSet", {"template": MACHINE, "replicas": 2}, [2]),
    (
        "pool.kubevirt.io",
        "VirtualMachinePool",
        {"virtualMachineTemplate": {"spec": {"template": MACHINE}}, "replicas": 3},
        [3],
    ),
    ("kueue.x-k8s.io", "Workload", {"podSets": [{"template": TEMPLATE, "count": 5}]}, [5]),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", LEADERS, [2, 6]),
    (
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE, "size": 4}},
        [4],
    ),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE}}, [1]),
    ("nvidia.com", "DynamoGraphDeployment", {"services": {"decode": SERVICE}}, [6]),
    ("nvidia.com", "DynamoGraphDeployment", {"components": [{"podTemplate": TEMPLATE, "replicas": 2}]}, [2]),
    ("nvidia.com", "DynamoComponentDeployment", SERVICE, [6]),
    ("ray.io", "RayCluster", RAY, [1, 6]),
    ("ray.io", "RayCluster", {"workerGroupSpecs": [{"template": TEMPLATE}]}, [0]),
    ("ray.io", "RayCluster", {"workerGroupSpecs": [{"template": TEMPLATE, "minReplicas": 2}]}, [2]),
    ("ray.io", "RayCluster", {"workerGroupSpecs": [{"template": TEMPLATE, "replicas": 9, "maxReplicas": 4}]}, [4]),
    ("ray.io", "RayCluster", {"workerGroupSpecs": [{"template": TEMPLATE, "replicas": "3"}]}, [0]),
    ("ray.io", "RayJob", {"rayClusterSpec": RAY, "submitterPodTemplate": TEMPLATE}, [1, 6, 1]),
    ("ray.io", "RayCronJob", {"jobTemplate": {"rayClusterSpec": RAY}}, [1, 6]),
    ("ray.io", "RayService", {"rayClusterConfig": RAY}, [1, 6]),
    ("serving.kserve.io", "InferenceService", {"predictor": {**POD, "minReplicas": 3, "maxReplicas": 3}}, [3]),
    (
        "serving.kserve.io",
        "InferenceService",
        {"predictor": {**POD, "workerSpec": {**POD, "pipelineParallelSize": 3}}},
        [1, 2],
    ),
    (
        "serving.kserve.io",
        "LLMInferenceService",
        {"template": POD, "replicas": 2, "prefill": {"template": POD}},
        [2, 1],
    ),
    (
        "serving.kserve.io",
        "LLMInferenceService",
        {"template": POD, "worker": POD, "parallelism": {"data": 8, "dataLocal": 2}},
        [1, 3],
    ),
    (
        "serving.kserve.io",
        "LLMInferenceService",
        {"template": POD, "worker": POD, "parallelism": {"pipeline": 2}},
        [1, 1],
    ),
    (
        "sparkoperator.k8s.io",
        "SparkApplication",
        {"driver": {"template": TEMPLATE}, "executor": {"template": TEMPLATE}},
        [1, 1],
    ),
    (
        "sparkoperator.k8s.io",
        "ScheduledSparkApplication",
        {"template": {"executor": {"template": TEMPLATE, "instances": 4}}},
        [4],
    ),
]


def workload(group: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "w", "namespace": "n"}, "spec": spec}


@each_row(("group", "kind", "spec", "expected"), CASES)
def test_pods_are_counted_as_their_controllers_do(
    group: str, kind: str, spec: dict[str, Any], expected: list[int]
) -> None:
    made = list(pods_in(workload(group, kind, spec)))
    assert [each.number for each in made] == expected
    assert not any(each.unsure for each in made)


@each_row(
    ("of", "spec", "expected"),
    [
        (
            "ray.io RayCluster",
            {**WORKERS, "enableInTreeAutoscaling": True},
            "enableInTreeAutoscaling lets an autoscaler",
        ),
        (
            "serving.kserve.io InferenceService",
            {"predictor": {**POD, "maxReplicas": 3}},
            "maxReplicas lets an autoscaler",
        ),
        (
            "serving.kserve.io LLMInferenceService",
            {"template": POD, "scaling": {"minReplicas": 2}},
            "2 pods are simulated",
        ),
        (
            "argoproj.io Workflow",
            {"templates": [{"name": "a", "container": {"image": "a"}}]},
            "its steps tell how often",
        ),
        ("example.com Trainer", {"pod": {**POD, "resourceClaims": CLAIMS}}, "how many such pods it makes is not known"),
        (
            "batch.volcano.sh Job",
            {"tasks": [{"template": TEMPLATE}]},
            "no pods of spec.tasks[0].template.spec are simulated",
        ),
    ],
)
def test_a_note_says_where_the_number_is_not_certain(of: str, spec: dict[str, Any], expected: str) -> None:
    group, kind = of.split()
    (note,) = stand_ins(workload(group, kind, spec), Templates())[1]
    assert expected in note
