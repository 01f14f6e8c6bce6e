"""Runtimes and templates of other projects: pods are made where others use them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.rows import each_row
from webhook.simulation.workloads import stand_ins
from webhook.workloads import Templates
from webhook.workloads.locations import TEMPLATES

RUNTIME = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 3}
  template:
    spec:
      replicatedJobs:
      - name: data
        template: {spec: {template: {spec: {containers: [{name: data, image: a}]}}}}
      - name: worker
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                containers: [{name: node, image: a, resources: {limits: {cpu: 1}, claims: [{name: gpu}]}}]
                resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
---
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: vllm}
spec:
  containers: [{name: kserve-container, image: a, resources: {limits: {cpu: 1}, claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  workerSpec: {containers: [{name: worker-container, image: a}]}
---
apiVersion: argoproj.io/v1alpha1
kind: ClusterWorkflowTemplate
metadata: {name: main}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  templates: [{name: main, container: {image: a, resources: {claims: [{name: gpu}]}}}]
---
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: base, namespace: ml}
spec: {template: {containers: [{name: main, image: a}]}}
"""
RUNTIMES = Templates(yaml.safe_load_all(RUNTIME))


def user(group: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "user", "namespace": "ml"}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def made(obj: dict[str, Any]) -> list[dict[str, Any]]:
    return stand_ins(obj, RUNTIMES)[0]


def container(workload: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = workload["spec"]["template"]["spec"]["containers"][0]
    return found


def test_a_runtime_alone_makes_no_pods() -> None:
    assert {(key[0], key[1]) for key in RUNTIMES.known} <= TEMPLATES
    assert [stand_ins(each, RUNTIMES) for each in RUNTIMES.known.values()] == [([], ())] * len(RUNTIMES.known)


@pytest.mark.parametrize(("trainer", "expected"), [({}, 3), ({"numNodes": 2}, 2)])
def test_a_train_job_has_the_pods_of_its_runtime(trainer: dict[str, Any], expected: int) -> None:
    job = user("trainer.kubeflow.org", "TrainJob", {"runtimeRef": {"name": "torch"}, "trainer": trainer})
    data, worker = made(job)
    assert (data["spec"]["replicas"], worker["spec"]["replicas"]) == (1, expected)
    assert worker["metadata"] == {"name": "user-1", "namespace": "ml"}
    assert container(worker)["resources"]["claims"] == [{"name": "gpu"}]
    assert not list(RUNTIMES.lost(job))


def test_resources_per_node_replace_those_of_the_runtime_with_their_claims() -> None:
    trainer = {"resourcesPerNode": {"limits": {"memory": "1Gi"}}}
    job = user("trainer.kubeflow.org", "TrainJob", {"runtimeRef": {"name": "torch"}, "trainer": trainer})
    assert container(made(job)[1])["resources"] == {"limits": {"cpu": 1, "memory": "1Gi"}}
    (problem,) = RUNTIMES.lost(job)
    assert (problem.rule, problem.field) == ("claims-lost", "spec.trainer.resourcesPerNode")
    assert problem.message == "it replaces the resources of the runtime's container, and so its claims (gpu)"


def test_a_launcher_of_mpi_that_is_a_node_counts_as_one() -> None:
    runtime = yaml.safe_load(
        """
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainingRuntime
        metadata: {name: mpi, namespace: ml}
        spec:
          mlPolicy: {mpi: {runLauncherAsNode: true}}
          template:
            spec:
              replicatedJobs:
              - name: launcher
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec: {template: {spec: {containers: [{name: node, image: a}]}}}
              - name: node
                template: {spec: {template: {spec: {containers: [{name: node, image: a}]}}}}
        """
    )
    spec = {"runtimeRef": {"name": "mpi", "kind": "TrainingRuntime"}, "trainer": {"numNodes": 4}}
    workloads = stand_ins(user("trainer.kubeflow.org", "TrainJob", spec), Templates([runtime]))[0]
    assert [each["spec"]["replicas"] for each in workloads] == [1, 3]


def test_an_inference_service_changes_the_pods_of_its_runtime() -> None:
    model = {"runtime": "vllm", "resources": {"limits": {"memory": "1Gi"}}}
    spec = {"predictor": {"model": model, "minReplicas": 2, "nodeSelector": {"zone": "a"}}}
    (workload,) = made(user("serving.kserve.io", "InferenceService", spec))
    assert workload["spec"]["replicas"] == 2
    resources = {"limits": {"cpu": 1, "memory": "1Gi"}, "claims": [{"name": "gpu"}]}
    assert container(workload)["resources"] == resources
    assert workload["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "a"}


def test_an_inference_service_of_several_nodes_has_workers() -> None:
    spec = {"predictor": {"model": {"runtime": "vllm"}, "workerSpec": {"pipelineParallelSize": 3}}}
    workloads = made(user("serving.kserve.io", "InferenceService", spec))
    assert [each["spec"]["replicas"] for each in workloads] == [1, 2]


@pytest.mark.parametrize("kind", ["Workflow", "CronWorkflow"])
def test_a_workflow_has_the_pods_of_its_template(kind: str) -> None:
    spec = {"workflowTemplateRef": {"name": "main", "clusterScope": True}}
    (workload,) = made(user("argoproj.io", kind, {"workflowSpec": spec} if kind == "CronWorkflow" else spec))
    assert workload["spec"]["template"]["spec"]["resourceClaims"] == [
        {"name": "gpu", "resourceClaimTemplateName": "gpu"}
    ]


def test_an_llm_service_has_the_pods_of_its_configurations() -> None:
    (workload,) = made(
        user("serving.kserve.io", "LLMInferenceService", {"baseRefs": [{"name": "base"}], "replicas": 3})
    )
    assert (workload["spec"]["replicas"], container(workload)["name"]) == (3, "main")


@each_row(
    ("group", "kind", "spec", "missing"),
    [
        ("trainer.kubeflow.org", "TrainJob", {"runtimeRef": {"name": "a"}}, "ClusterTrainingRuntime a"),
        (
            "trainer.kubeflow.org",
            "TrainJob",
            {"runtimeRef": {"name": "a", "kind": "TrainingRuntime"}},
            "TrainingRuntime ml/a",
        ),
        (
            "serving.kserve.io",
            "InferenceService",
            {"predictor": {"model": {"runtime": "a"}}},
            "ClusterServingRuntime a",
        ),
        ("argoproj.io", "Workflow", {"workflowTemplateRef": {"name": "a"}}, "WorkflowTemplate ml/a"),
    ],
)
def test_a_note_names_what_is_missing(group: str, kind: str, spec: dict[str, Any], missing: str) -> None:
    found = stand_ins(user(group, kind, spec), RUNTIMES)
    assert found == ([], [f"no pods are simulated: {missing} is not among the manifests"])


@each_row("value", [1, "a", [], {}, None])
def test_wrong_types_make_no_pods(value: Any) -> None:
    fields = ("runtimeRef", "trainer", "predictor", "workflowTemplateRef", "baseRefs", "template", "mlPolicy")
    for group, kind in (*TEMPLATES, ("trainer.kubeflow.org", "TrainJob"), ("serving.kserve.io", "InferenceService")):
        obj = user(group, kind, dict.fromkeys(fields, value))
        assert not stand_ins(obj, Templates([obj]))[0]
