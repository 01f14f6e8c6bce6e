"""Workloads of other projects: the pods with claims in them are judged as pods are."""

import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import draguard, usage_error
from tests.rows import each_row, each_row_beside
from tests.steps import counting
from webhook.documents.dump import dump
from webhook.engine.manifests import review
from webhook.problem import Problem, value_at
from webhook.simulation.workloads import stand_ins
from webhook.workloads import pods_in
from webhook.workloads.locations import LOCATIONS, PARTIAL, TEMPLATES, Place, every_object
from webhook.workloads.projects import claims_in
from webhook.workloads.runtimes import Templates

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


@each_row_beside("of", "spec", "found")
def test_claims_are_judged_where_each_project_has_them(of: str, spec: dict[str, Any], found: list[str]) -> None:
    version, kind = of.split()
    problems = problems_of(version, kind, {"spec": spec})
    said = sorted(f"{each.level} {each.rule} {each.field}: {each.message}" for each in problems)
    assert [each.startswith(wanted) for each, wanted in zip(said, found, strict=True)] == [True] * len(found), said


def test_paths_can_be_added() -> None:
    obj = workload("example.com/v1", "Trainer", around("spec.pods.*", {"spec": SPEC}))
    (problem,) = review(obj, pod_locations={("example.com", "Trainer"): ("spec.pods.*",)}).problems
    assert (problem.level, problem.field[:23]) == ("error", "spec.pods.anything.spec")


def test_a_train_job_is_told_where_to_state_claims() -> None:
    patch = around("trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template", {"spec": SPEC})
    for spec in ({"runtimePatches": [patch]}, {"podTemplateOverrides": [{"targetJobs": [], "spec": SPEC}]}):
        (problem,) = problems_of("trainer.kubeflow.org/v1alpha1", "TrainJob", {"spec": spec})
        assert problem.field.endswith("spec.resourceClaims")
        assert problem.hint == "state them in the pod templates of its TrainingRuntime"


@each_row("obj", {}, {"apiVersion": 1, "kind": "JobSet"}, {"apiVersion": "ray.io/v1", "kind": "RayCluster"})
def test_malformed_objects_have_no_pods(obj: dict[str, Any]) -> None:
    assert list(pods_in(obj)) == []


@each_row("kind", [], ["ConfigMap"], {"a": 1}, 1, None)
def test_an_object_whose_kind_is_no_text_has_no_claims_and_no_pods(kind: Any) -> None:
    obj = {"kind": kind, "metadata": {"name": "a"}}
    assert list(claims_in(obj)) == []
    assert stand_ins(obj, Templates([]))[0] == []


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

    def test_a_note_about_a_manifest_in_an_object_stays_one(self) -> None:
        held = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "a", "namespace": "b"}}
        (problem,) = problems_of("example.com/v1", "Bundle", {"spec": {"manifest": {**held, "spec": {}}}})
        assert (problem.level, problem.rule) == ("note", "namespace-dropped")

    def test_hints_have_the_paths_of_the_object(self) -> None:
        pod = {"containers": [{**CONTAINER, "nodeSelector": {"a": "b"}}], "resourceClaims": SPEC["resourceClaims"]}
        hints = [each.hint for each in problems_of("example.com/v1", "Trainer", {"spec": {"pod": pod}})]
        assert 'did you mean "spec.pod.nodeSelector"?' in hints

    def test_what_is_found_in_an_object_that_cannot_be_decoded_has_advice(self) -> None:
        container = {"name": "main", "image": 5, "resources": {"claims": [{"name": "A_b"}]}}
        claims = [{"name": "A_b", "resourceClaimTemplateName": "one-gpu"}]
        pod = {"containers": [container], "resourceClaims": claims}
        manifest = dump([workload("example.com/v1", "Trainer", {"spec": {"pod": pod}})]).encode()
        assert 'did you mean "a-b"?' in draguard("validate", "-", stdin=manifest).out

    def test_the_configuration_does_the_same(self, tmp_path: Path) -> None:
        configuration = tmp_path / ".draguard.yaml"
        configuration.write_text('podTemplates: {example.com/Trainer: ["spec.pods[].template"]}', encoding="utf-8")
        assert draguard("validate", "--config", configuration, "-", stdin=self.MANIFEST).code == 1

    @each_row("text", "Trainer=spec", "example.com/Trainer", "example.com/Trainer=spec..a", "a.b/T=a[0]")
    def test_a_malformed_path_is_refused(self, text: str) -> None:
        assert "give GROUP/KIND=PATH" in usage_error("validate", "--pod-template", text, "-", stdin=self.MANIFEST)


RUNTIMES = Templates(yaml.safe_load_all(Path(__file__).with_name("runtimes.yaml").read_text(encoding="utf-8")))
TRAIN_JOB, SERVING = "trainer.kubeflow.org TrainJob", "serving.kserve.io InferenceService"


def user(of: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Make an object of a group and kind."""
    group, _, kind = of.rpartition(" ")
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
    spec = {"runtimeRef": {"name": "mpi", "kind": "TrainingRuntime"}, "trainer": {"numNodes": 4}}
    assert [each["spec"]["replicas"] for each in made(TRAIN_JOB, spec)] == [1, 3]


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


@each_row_beside("of", "cases")
def test_pods_are_counted_as_their_controllers_do(of: str, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        made = list(pods_in(user(of, case["spec"])))
        assert [each.number for each in made] == case["pods"], case
        assert not any(each.unsure for each in made)


@each_row_beside("of", "spec", "expected")
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


def test_a_patch_of_a_workflow_is_read_once_for_all_its_templates() -> None:
    def steps_for(number: int) -> int:
        containers = [{"name": f"c{each}", "resources": {"claims": []}} for each in range(300)]
        patch = dump([{"containers": containers}])
        templates = [{"name": f"t{each}", "container": {"image": "a"}} for each in range(number)]
        with counting() as steps:
            made = list(pods_in(user("argoproj.io Workflow", {"podSpecPatch": patch, "templates": templates})))
        assert len(made) == number
        return steps()

    assert steps_for(20) < 2 * steps_for(1)


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
