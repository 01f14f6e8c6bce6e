"""Workloads of other projects: the pods with claims in them are judged as pods are."""

import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from tests.command import draguard, usage_error
from tests.rows import each_row
from tests.steps import counting
from webhook.documents.dump import dump
from webhook.engine.manifests import review
from webhook.problem import Problem, value_at
from webhook.simulation.workloads import stand_ins
from webhook.workloads import Templates, pods_in
from webhook.workloads.locations import LOCATIONS, PARTIAL, TEMPLATES, Place, every_object

CONTAINER = {"name": "main", "image": "train:1", "resources": {"claims": [{"name": "gpuu"}]}}
SPEC: dict[str, Any] = {
    "containers": [CONTAINER],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
}


def paths(places: Iterable[Place]) -> Iterator[str]:
    for place in places:
        yield from (f"{place.path}.{each}" for each in paths(place.parts)) if place.parts else (place.path,)


CASES = [(group, kind, path) for (group, kind), places in LOCATIONS.items() for path in dict.fromkeys(paths(places))]


def around(path: str, value: Any) -> Any:
    """Build the object that has a value at a path."""
    for step in reversed(path.split(".")):
        name = step.removesuffix("[]")
        value = {"anything" if name == "*" else name: value if name == step else [value]}
    return value


def workload(api_version: str, kind: str, body: Any, name: str = "train") -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "ml"}, **body}


def problems_of(api_version: str, kind: str, body: Any) -> list[Problem]:
    return review(workload(api_version, kind, body), kubernetes="1.36").problems


@each_row(("group", "kind", "path"), *CASES)
def test_pods_are_judged_where_their_kind_keeps_them(group: str, kind: str, path: str) -> None:
    is_spec = path.endswith("podSpec") or group in PARTIAL
    (problem,) = problems_of(f"{group}/v1", kind, around(path, SPEC if is_spec else {"spec": SPEC}))

    place = path.replace("[]", "[0]").replace("*", "anything")
    assert (problem.level, problem.rule) == ("error", "container-claims")
    assert problem.field == f"{place}{'' if is_spec else '.spec'}.containers[0].resources.claims[0]"


def test_pods_without_claims_are_not_judged() -> None:
    template = {"spec": {"containers": [{"name": "Not a name"}]}}
    assert problems_of("ray.io/v1", "RayCluster", around("spec.headGroupSpec.template", template)) == []


def test_a_message_names_the_field_of_the_workload() -> None:
    spec = {"containers": [{"name": "main", "image": "a"}], "resourceClaim": [{"name": "gpu"}]}
    (problem,) = problems_of("batch.volcano.sh/v1alpha1", "Job", around("spec.tasks[].template", {"spec": spec}))
    assert problem.message == 'strict decoding error: unknown field "spec.tasks[0].template.spec.resourceClaim"'


def test_what_serving_fills_in_from_a_runtime_is_not_missed() -> None:
    predictor = {"model": {"modelFormat": {"name": "onnx"}}, "resourceClaims": SPEC["resourceClaims"]}
    assert problems_of("serving.kserve.io/v1beta1", "InferenceService", around("spec.predictor", predictor)) == []


class TestUnknownKinds:
    def test_what_looks_like_a_pod_is_warned_of(self) -> None:
        (problem,) = problems_of("example.com/v1", "Trainer", around("spec.workers[].pod", SPEC))
        assert (problem.level, problem.field) == ("warning", "spec.workers[0].pod.containers[0].resources.claims[0]")

    def test_without_claims_nothing_is_said(self) -> None:
        assert problems_of("example.com/v1", "Trainer", around("spec.pod", {"containers": [{"name": "A"}]})) == []

    @each_row(
        ("item", "field"),
        ({"name": "a", "resourceClaimName": "b", "resourceClaimTemplateName": "c"}, "spec.model.resourceClaims[1]"),
        ({"name": "a"}, "spec.model.resourceClaims[1]"),
        ({"name": "gpu", "resourceClaimName": "b"}, "spec.model.resourceClaims[1].name"),
    )
    def test_claims_without_a_pod_spec_are_warned_of(self, item: dict[str, Any], field: str) -> None:
        body = around("spec.model", {"resourceClaims": [*SPEC["resourceClaims"], item]})
        (problem,) = problems_of("example.com/v1", "Model", body)
        assert (problem.level, problem.field) == ("warning", field)

    @each_row(
        "claims",
        [{"name": "a"}],
        [{"name": "a", "resourceClaimName": "b", "size": "1Gi"}],
        [{"name": "a", "resourceClaimName": "A"}, "b"],
        {"a": {"resourceClaimName": "A"}},
    )
    def test_lists_of_other_items_are_left_alone(self, claims: Any) -> None:
        assert problems_of("example.com/v1", "Model", around("spec", {"resourceClaims": claims})) == []

    def test_paths_can_be_added(self) -> None:
        obj = workload("example.com/v1", "Trainer", around("spec.pods.*", {"spec": SPEC}))
        (problem,) = review(obj, pod_locations={("example.com", "Trainer"): ("spec.pods.*",)}).problems
        assert (problem.level, problem.field[:23]) == ("error", "spec.pods.anything.spec")


class TestVirtualMachines:
    DEVICES: ClassVar[dict[str, Any]] = {
        "gpus": [{"name": "g", "claimName": "gpu", "requestName": "gpu"}, {"name": "old", "deviceName": "a/b"}],
        "hostDevices": [{"name": "h", "claimName": "other"}],
    }
    NETWORKS: ClassVar[list[Any]] = [{"name": "n", "resourceClaim": {"claimName": "net", "requestName": "vf"}}]

    @each_row(
        ("kind", "at"),
        ("VirtualMachine", "spec.template.spec"),
        ("VirtualMachineInstance", "spec"),
        ("VirtualMachineInstanceReplicaSet", "spec.template.spec"),
    )
    def test_devices_and_networks_name_claims(self, kind: str, at: str) -> None:
        machine = {
            "domain": {"devices": self.DEVICES},
            "networks": self.NETWORKS,
            "resourceClaims": SPEC["resourceClaims"],
        }
        problems = problems_of("kubevirt.io/v1", kind, around(at, machine))
        assert [each.field for each in problems] == [
            f"{at}.domain.devices.hostDevices[0].claimName",
            f"{at}.networks[0].resourceClaim.claimName",
        ]
        assert {(each.level, each.rule) for each in problems} == {("error", "container-claims")}

    def test_a_machine_without_claims_has_no_problems(self) -> None:
        machine = {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "a/b"}]}}}
        assert problems_of("kubevirt.io/v1", "VirtualMachineInstance", around("spec", machine)) == []


class TestDynamo:
    def test_the_main_container_uses_claims_of_the_service(self) -> None:
        service = {
            "resources": {"claims": [{"name": "gpu"}, {"name": "a"}]},
            "extraPodSpec": {
                "mainContainer": {"image": "a", "resources": {"claims": [{"name": "b"}]}},
                "containers": [{"name": "side", "image": "a", "resources": {"claims": [{"name": "c"}]}}],
                "resourceClaims": SPEC["resourceClaims"],
            },
        }
        problems = problems_of("nvidia.com/v1alpha1", "DynamoGraphDeployment", around("spec.services.*", service))
        assert [each.field for each in problems] == [
            "spec.services.anything.extraPodSpec.mainContainer.resources.claims[0]",
            "spec.services.anything.resources.claims[1]",
            "spec.services.anything.extraPodSpec.containers[0].resources.claims[0]",
        ]

    def test_a_claim_needs_no_container(self) -> None:
        service = {"extraPodSpec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "A"}]}}
        (problem,) = problems_of("nvidia.com/v1alpha1", "DynamoComponentDeployment", around("spec", service))
        assert problem.field == "spec.extraPodSpec.resourceClaims[0].resourceClaimName"

    def test_controllers_add_images(self) -> None:
        container = {"name": "main", "resources": {"claims": [{"name": "gpu"}]}}
        body = around("spec.components[].podTemplate", {"spec": {**SPEC, "containers": [container]}})
        assert problems_of("nvidia.com/v1beta1", "DynamoGraphDeployment", body) == []


class TestArgoWorkflows:
    TEMPLATE: ClassVar[dict[str, Any]] = {"name": "a", "container": {"resources": {"claims": [{"name": "gpu"}]}}}

    def test_each_template_is_a_pod(self) -> None:
        template = {
            "name": "a",
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "Not a name"}],
            "initContainers": [{"name": "first", "resources": {"claims": [{"name": "a"}]}}],
            "containerSet": {"containers": [{"name": "x", "resources": {"claims": [{"name": "b"}]}}]},
            "script": {"image": "python", "source": "pass", "resources": {"claims": [{"name": "gpu"}]}},
        }
        problems = problems_of("argoproj.io/v1alpha1", "Workflow", around("spec.templates[]", template))
        assert sorted(each.field for each in problems) == [
            "spec.templates[0].containerSet.containers[0].resources.claims[0]",
            "spec.templates[0].initContainers[0].resources.claims[0]",
            "spec.templates[0].resourceClaims[0].resourceClaimName",
        ]

    @pytest.mark.parametrize("where", ["spec", "spec.templateDefaults"])
    def test_claims_of_the_workflow_hold_for_templates_without_any(self, where: str) -> None:
        body = around(where, {"resourceClaims": [{"name": "gpu", "resourceClaimName": "Not a name"}]})
        body["spec"]["templates"] = [self.TEMPLATE]
        (problem,) = problems_of("argoproj.io/v1alpha1", "WorkflowTemplate", body)
        assert problem.field == f"{where}.resourceClaims[0].resourceClaimName"

    @each_row(
        "more",
        {"podSpecPatch": "resourceClaims: [{name: gpu, resourceClaimName: gpus}]"},
        {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "{{inputs.parameters.claim}}"}]},
        {"sidecars": [{"name": "b", "resources": {"limits": {"memory": "{{inputs.parameters.memory}}"}}}]},
    )
    def test_claims_that_only_a_running_workflow_knows_are_not_judged(self, more: dict[str, Any]) -> None:
        for template in (self.TEMPLATE, self.TEMPLATE | more):
            found = problems_of("argoproj.io/v1alpha1", "Workflow", around("spec.templates[]", template))
            assert bool(found) == (template == self.TEMPLATE)

    def test_a_cron_workflow_has_a_workflow_in_it(self) -> None:
        body = around("spec.workflowSpec.templates[]", self.TEMPLATE)
        (problem,) = problems_of("argoproj.io/v1alpha1", "CronWorkflow", body)
        assert problem.field == "spec.workflowSpec.templates[0].container.resources.claims[0]"


class TestClaimsThatAreLost:
    @pytest.mark.parametrize(("kind", "at"), [("Service", "spec.template.spec"), ("Revision", "spec")])
    def test_knative_refuses_claims(self, kind: str, at: str) -> None:
        problems = problems_of("serving.knative.dev/v1", kind, around(at, SPEC))
        assert [each.field for each in problems] == [f"{at}.resourceClaims", f"{at}.containers[0].resources.claims"]
        assert {(each.level, each.rule) for each in problems} == {("warning", "claims-lost")}

    def test_a_train_job_cannot_add_claims(self) -> None:
        patch = around("trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template", {"spec": SPEC})
        body = {"spec": {"runtimePatches": [patch]}}
        (problem,) = problems_of("trainer.kubeflow.org/v1alpha1", "TrainJob", body)
        assert problem.field.endswith("template.spec.resourceClaims")
        assert problem.hint == "state them in the pod templates of its TrainingRuntime"

    def test_a_train_job_states_no_claims_for_its_nodes(self) -> None:
        body = around("spec.trainer.resourcesPerNode", {"claims": [{"name": "gpu"}]})
        (problem,) = problems_of("trainer.kubeflow.org/v1alpha1", "TrainJob", body)
        assert (problem.rule, problem.field) == ("claims-lost", "spec.trainer.resourcesPerNode.claims")

    def test_the_nim_operator_ignores_claims_in_resources(self) -> None:
        body = {"spec": {"resources": {"claims": [{"name": "gpu"}]}, "draResources": [{"resourceClaimName": "A"}]}}
        lost, bad = problems_of("apps.nvidia.com/v1alpha1", "NIMService", body)
        assert (lost.rule, lost.field) == ("claims-lost", "spec.resources.claims")
        assert bad.field == "spec.draResources[0].resourceClaimName"

    def test_the_nim_operator_makes_claims_of_its_own(self) -> None:
        body = {"spec": {"draResources": [{"claimCreationSpec": {"devices": []}}, {"resourceClaimName": "a"}]}}
        assert problems_of("apps.nvidia.com/v1alpha1", "NIMService", body) == []


@each_row("obj", {}, {"apiVersion": 1, "kind": "JobSet"}, {"apiVersion": "ray.io/v1", "kind": "RayCluster"})
def test_malformed_objects_have_no_pods(obj: dict[str, Any]) -> None:
    assert list(pods_in(obj)) == []


@each_row("value", 1, "a", [], [1], {}, {"spec": 1}, None)
def test_malformed_pods_raise_nothing(value: Any) -> None:
    for group, kind, path in CASES:
        problems_of(f"{group}/v1", kind, around(path, value))


class TestPathsThatUsersAdd:
    """``--pod-template``, and ``podTemplates`` in the configuration."""

    MANIFEST = dump([workload("example.com/v1", "Trainer", around("spec.pods[].template", {"spec": SPEC}))]).encode()
    PATH = "example.com/Trainer=spec.pods[].template"

    def test_the_option_makes_warnings_errors(self) -> None:
        assert "warning container-claims" in draguard("validate", "-", stdin=self.MANIFEST).out
        done = draguard("validate", "--pod-template", self.PATH, "-", stdin=self.MANIFEST)
        assert (done.code, "error container-claims: spec.pods[0].template.spec" in done.out) == (1, True)

    @each_row(
        ("path", "at"),
        ("spec.parts.*.extra", "spec.parts.a.extra"),
        ("spec.*.*.extra", "spec.parts[].extra"),
        ("spec.pod-template", "spec.pod-template.spec"),
    )
    def test_a_star_is_for_maps_and_lists_and_no_container_is_needed(self, path: str, at: str) -> None:
        body = around(at, {"resourceClaims": [{"name": "gpu"}]})
        manifest = dump([workload("example.com/v1", "Trainer", body)]).encode()
        done = draguard("validate", "--pod-template", f"example.com/Trainer={path}", "-", stdin=manifest)
        assert ("error one-source: spec." in done.out, ": 1 error (Kubernetes" in done.out) == (True, True), done.out

    @pytest.mark.parametrize("path", ["example.com/Trainer=spec.pod[].template", "example.com/Trainer=spec"])
    def test_pods_elsewhere_are_guessed(self, path: str) -> None:
        done = draguard("validate", "--pod-template", path, "-", stdin=self.MANIFEST)
        assert done.out == draguard("validate", "-", stdin=self.MANIFEST).out

    def test_a_warning_about_a_guessed_pod_has_the_hint_of_the_error(self) -> None:
        outputs = (
            draguard("validate", *options, "-", stdin=self.MANIFEST).out
            for options in ((), ("--pod-template", self.PATH))
        )
        warned, refused = ([line for line in each.splitlines() if "did you mean" in line] for each in outputs)
        assert warned == refused != []

    def test_the_configuration_does_the_same(self, tmp_path: Path) -> None:
        configuration = tmp_path / ".draguard.yaml"
        configuration.write_text('podTemplates: {example.com/Trainer: ["spec.pods[].template"]}', encoding="utf-8")
        assert draguard("validate", "--config", configuration, "-", stdin=self.MANIFEST).code == 1

    @each_row("text", "Trainer=spec", "example.com/Trainer", "example.com/Trainer=spec..a", "a.b/T=a[0]")
    def test_a_malformed_path_is_refused(self, text: str) -> None:
        assert "give GROUP/KIND=PATH" in usage_error("validate", "--pod-template", text, "-", stdin=self.MANIFEST)


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
TRAIN_JOB, SERVING = "trainer.kubeflow.org TrainJob", "serving.kserve.io InferenceService"


def user(of: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Make an object of a group and kind."""
    group, kind = of.split()
    return workload(f"{group}/v1", kind, {"spec": spec}, "user")


def train_job(**trainer: Any) -> dict[str, Any]:
    return user(TRAIN_JOB, {"runtimeRef": {"name": "torch"}, "trainer": trainer})


def made(of: str, spec: dict[str, Any]) -> list[dict[str, Any]]:
    return stand_ins(user(of, spec), RUNTIMES)[0]


def container(workload: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = workload["spec"]["template"]["spec"]["containers"][0]
    return found


def test_a_runtime_alone_makes_no_pods() -> None:
    assert {(key[0], key[1]) for key in RUNTIMES.known} <= TEMPLATES
    assert [stand_ins(each, RUNTIMES) for each in RUNTIMES.known.values()] == [([], ())] * len(RUNTIMES.known)


@pytest.mark.parametrize(("job", "expected"), [(train_job(), 3), (train_job(numNodes=2), 2)])
def test_a_train_job_has_the_pods_of_its_runtime(job: dict[str, Any], expected: int) -> None:
    data, worker = stand_ins(job, RUNTIMES)[0]
    assert (data["spec"]["replicas"], worker["spec"]["replicas"]) == (1, expected)
    assert worker["metadata"] == {"name": "user-1", "namespace": "ml"}
    assert container(worker)["resources"]["claims"] == [{"name": "gpu"}]
    assert not list(RUNTIMES.lost(job))


def test_resources_per_node_replace_those_of_the_runtime_with_their_claims() -> None:
    job = train_job(resourcesPerNode={"limits": {"memory": "1Gi"}})
    assert container(stand_ins(job, RUNTIMES)[0][1])["resources"] == {"limits": {"cpu": 1, "memory": "1Gi"}}
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
    workloads = stand_ins(user(TRAIN_JOB, spec), Templates([runtime]))[0]
    assert [each["spec"]["replicas"] for each in workloads] == [1, 3]


def test_an_inference_service_changes_the_pods_of_its_runtime() -> None:
    model = {"runtime": "vllm", "resources": {"limits": {"memory": "1Gi"}}}
    spec = {"predictor": {"model": model, "minReplicas": 2, "nodeSelector": {"zone": "a"}}}
    (workload,) = made(SERVING, spec)
    assert workload["spec"]["replicas"] == 2
    resources = {"limits": {"cpu": 1, "memory": "1Gi"}, "claims": [{"name": "gpu"}]}
    assert container(workload)["resources"] == resources
    assert workload["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "a"}


def test_an_inference_service_of_several_nodes_has_workers() -> None:
    spec = {"predictor": {"model": {"runtime": "vllm"}, "workerSpec": {"pipelineParallelSize": 3}}}
    assert [each["spec"]["replicas"] for each in made(SERVING, spec)] == [1, 2]


@pytest.mark.parametrize("kind", ["Workflow", "CronWorkflow"])
def test_a_workflow_has_the_pods_of_its_template(kind: str) -> None:
    spec = {"workflowTemplateRef": {"name": "main", "clusterScope": True}}
    (owner,) = made(f"argoproj.io {kind}", {"workflowSpec": spec} if kind == "CronWorkflow" else spec)
    assert owner["spec"]["template"]["spec"]["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]


def test_an_llm_service_has_the_pods_of_its_configurations() -> None:
    (workload,) = made("serving.kserve.io LLMInferenceService", {"baseRefs": [{"name": "base"}], "replicas": 3})
    assert (workload["spec"]["replicas"], container(workload)["name"]) == (3, "main")


@each_row(
    ("of", "spec", "missing"),
    (TRAIN_JOB, {"runtimeRef": {"name": "a"}}, "ClusterTrainingRuntime a"),
    (TRAIN_JOB, {"runtimeRef": {"name": "a", "kind": "TrainingRuntime"}}, "TrainingRuntime ml/a"),
    (SERVING, {"predictor": {"model": {"runtime": "a"}}}, "ClusterServingRuntime a"),
    ("argoproj.io Workflow", {"workflowTemplateRef": {"name": "a"}}, "WorkflowTemplate ml/a"),
)
def test_a_note_names_what_is_missing(of: str, spec: dict[str, Any], missing: str) -> None:
    found = stand_ins(user(of, spec), RUNTIMES)
    assert found == ([], [f"no pods are simulated: {missing} is not among the manifests"])


@each_row("value", 1, "a", [], {}, None)
def test_wrong_types_make_no_pods(value: Any) -> None:
    fields = ("runtimeRef", "trainer", "predictor", "workflowTemplateRef", "baseRefs", "template", "mlPolicy")
    for of in (*map(" ".join, TEMPLATES), TRAIN_JOB, SERVING):
        obj = user(of, dict.fromkeys(fields, value))
        assert not stand_ins(obj, Templates([obj]))[0]


POD = {"containers": [{"name": "main", "image": "a"}]}
TEMPLATE = {"spec": POD}
CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]


def job(**spec: Any) -> dict[str, Any]:
    return {"name": "job", "template": {"spec": {"template": TEMPLATE, **spec}}}


def clique(name: str, **spec: Any) -> dict[str, Any]:
    return {"name": name, "spec": {"podSpec": POD, **spec}}


def copies(replicas: Any, **more: Any) -> dict[str, Any]:
    return {"template": TEMPLATE, "replicas": replicas, **more}


WORKERS = {"workerGroupSpecs": [copies(3, numOfHosts=2)]}
RAY = {"headGroupSpec": {"template": TEMPLATE}, **WORKERS}
LEADERS = {"leaderWorkerTemplate": {"leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE, "size": 4}, "replicas": 2}
SERVICE = {"extraPodSpec": {"mainContainer": {"image": "a"}}, "replicas": 2, "multinode": {"nodeCount": 3}}
MACHINE = {"spec": {"resourceClaims": CLAIMS}}
OWN = {"draResources": [{"resourceClaimName": "a"}]}
NUMBERS: dict[str, list[tuple[dict[str, Any], list[int]]]] = {
    "apps.nvidia.com NIMService": [({"replicas": 3, **OWN}, [3])],
    "apps.nvidia.com NIMPipeline": [({"services": [{"spec": {"replicas": 2, **OWN}}]}, [2])],
    "argoproj.io Experiment": [({"templates": [copies(2), {"template": TEMPLATE}]}, [2, 1])],
    "argoproj.io Rollout": [(copies(4), [4])],
    "batch.volcano.sh Job": [({"tasks": [copies(3), {"template": TEMPLATE}]}, [3, 0])],
    "batch.volcano.sh CronJob": [({"jobTemplate": {"spec": {"tasks": [copies(2)]}}}, [2])],
    "disaggregatedset.x-k8s.io DisaggregatedSet": [({"slices": 3, "roles": [{"spec": LEADERS}]}, [6, 18])],
    "grove.io PodClique": [({"podSpec": POD, "replicas": 2}, [2])],
    "grove.io PodCliqueSet": [
        ({"template": {"cliques": [clique("a")]}}, [0]),
        (
            {
                "replicas": 2,
                "template": {
                    "cliques": [clique("a", replicas=3), clique("b")],
                    "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["a"], "replicas": 5}],
                },
            },
            [30, 2],
        ),
    ],
    "jobset.x-k8s.io JobSet": [
        ({"replicatedJobs": [{**job(parallelism=3, completions=2), "replicas": 4}, job()]}, [8, 1])
    ],
    "kubeflow.org MPIJob": [
        ({"mpiReplicaSpecs": {"Launcher": {"template": TEMPLATE}}}, [1]),
        ({"mpiReplicaSpecs": {"Worker": {"template": TEMPLATE}}}, [0]),
    ],
    "kubeflow.org PyTorchJob": [
        ({"pytorchReplicaSpecs": {"Master": {"template": TEMPLATE}, "Worker": copies(7)}}, [1, 7])
    ],
    "kubevirt.io VirtualMachine": [({"template": MACHINE}, [1])],
    "kubevirt.io VirtualMachineInstanceReplicaSet": [({"template": MACHINE, "replicas": 2}, [2])],
    "pool.kubevirt.io VirtualMachinePool": [
        ({"virtualMachineTemplate": {"spec": {"template": MACHINE}}, "replicas": 3}, [3])
    ],
    "kueue.x-k8s.io Workload": [({"podSets": [{"template": TEMPLATE, "count": 5}]}, [5])],
    "leaderworkerset.x-k8s.io LeaderWorkerSet": [
        (LEADERS, [2, 6]),
        ({"leaderWorkerTemplate": {"workerTemplate": TEMPLATE, "size": 4}}, [4]),
        ({"leaderWorkerTemplate": {"workerTemplate": TEMPLATE}}, [1]),
    ],
    "nvidia.com DynamoGraphDeployment": [
        ({"services": {"decode": SERVICE}}, [6]),
        ({"components": [{"podTemplate": TEMPLATE, "replicas": 2}]}, [2]),
    ],
    "nvidia.com DynamoComponentDeployment": [(SERVICE, [6])],
    "ray.io RayCluster": [
        (RAY, [1, 6]),
        ({"workerGroupSpecs": [{"template": TEMPLATE}]}, [0]),
        ({"workerGroupSpecs": [{"template": TEMPLATE, "minReplicas": 2}]}, [2]),
        ({"workerGroupSpecs": [copies(9, maxReplicas=4)]}, [4]),
        ({"workerGroupSpecs": [copies("3")]}, [0]),
    ],
    "ray.io RayJob": [({"rayClusterSpec": RAY, "submitterPodTemplate": TEMPLATE}, [1, 6, 1])],
    "ray.io RayCronJob": [({"jobTemplate": {"rayClusterSpec": RAY}}, [1, 6])],
    "ray.io RayService": [({"rayClusterConfig": RAY}, [1, 6])],
    "serving.kserve.io InferenceService": [
        ({"predictor": {**POD, "minReplicas": 3, "maxReplicas": 3}}, [3]),
        ({"predictor": {**POD, "workerSpec": {**POD, "pipelineParallelSize": 3}}}, [1, 2]),
    ],
    "serving.kserve.io LLMInferenceService": [
        ({"template": POD, "replicas": 2, "prefill": {"template": POD}}, [2, 1]),
        ({"template": POD, "worker": POD, "parallelism": {"data": 8, "dataLocal": 2}}, [1, 3]),
        ({"template": POD, "worker": POD, "parallelism": {"pipeline": 2}}, [1, 1]),
    ],
    "sparkoperator.k8s.io SparkApplication": [
        ({"driver": {"template": TEMPLATE}, "executor": {"template": TEMPLATE}}, [1, 1])
    ],
    "sparkoperator.k8s.io ScheduledSparkApplication": [
        ({"template": {"executor": {"template": TEMPLATE, "instances": 4}}}, [4])
    ],
}


@each_row(("of", "spec", "expected"), *((of, *row) for of, rows in NUMBERS.items() for row in rows))
def test_pods_are_counted_as_their_controllers_do(of: str, spec: dict[str, Any], expected: list[int]) -> None:
    made = list(pods_in(user(of, spec)))
    assert [each.number for each in made] == expected
    assert not any(each.unsure for each in made)


@each_row(
    ("of", "spec", "expected"),
    ("ray.io RayCluster", {**WORKERS, "enableInTreeAutoscaling": True}, "enableInTreeAutoscaling lets an autoscaler"),
    ("serving.kserve.io InferenceService", {"predictor": {**POD, "maxReplicas": 3}}, "maxReplicas lets an autoscaler"),
    ("serving.kserve.io LLMInferenceService", {"template": POD, "scaling": {"minReplicas": 2}}, "2 pods are simulated"),
    ("argoproj.io Workflow", {"templates": [{"name": "a", "container": {"image": "a"}}]}, "its steps tell how often"),
    ("example.com Trainer", {"pod": {**POD, "resourceClaims": CLAIMS}}, "how many such pods it makes is not known"),
    (
        "batch.volcano.sh Job",
        {"tasks": [{"template": TEMPLATE}]},
        "no pods of spec.tasks[0].template.spec are simulated",
    ),
)
def test_a_note_says_where_the_number_is_not_certain(of: str, spec: dict[str, Any], expected: str) -> None:
    (note,) = stand_ins(user(of, spec), Templates())[1]
    assert expected in note


def test_many_groups_of_many_cliques_take_no_longer_than_both() -> None:
    def steps_for(number: int) -> int:
        cliques = [{"name": f"c{each}", "spec": {"podSpec": SPEC}} for each in range(number)]
        groups = [{"cliqueNames": [f"c{each}"], "replicas": 2} for each in range(number)]
        spec = {"replicas": 1, "template": {"cliques": cliques, "podCliqueScalingGroups": groups}}
        with counting() as steps:
            made = list(pods_in(user("grove.io PodCliqueSet", spec)))
        assert {each.number for each in made} == {2}
        return steps()

    assert steps_for(300) < 12 * steps_for(30)


def test_objects_are_found_with_their_paths_the_last_one_first() -> None:
    value = {"a": [{"b": {}}, 1, [{}]], "c": {"d": "e"}}
    found = [(), ("c",), ("a", 2, 0), ("a", 0), ("a", 0, "b")]
    assert [(path, value_at(value, path)) for path in found] == list(every_object(value))
    assert [path for path, _ in every_object([{}], ("at",))] == [("at", 0)]
    assert list(every_object("a")) == []


def test_the_paths_of_many_values_take_no_memory() -> None:
    value: Any = [1, []] * 10_000
    for _ in range(150):
        value = [value]
    tracemalloc.start()
    try:
        assert list(every_object(value)) == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
