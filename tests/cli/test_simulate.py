"""``draguard simulate``, ``match`` and ``snapshot``, as their users see them."""

import json
import re
import subprocess
import sys
from functools import reduce
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import yaml

from tests.cli.manifests import CLUSTER, DEPLOYMENT, simulated
from tests.command import ROOT, SCRIPT, Done, draguard, reported, usage_error
from tests.kubectl import kubectl
from tests.rows import each_row
from tests.scan import clusters as stored
from tests.scan.clusters import device, slices
from tests.simulation import clusters
from tests.simulation.clusters import device_class, node, ran, written
from webhook import simulate
from webhook.budget import DeadlineExceededError, current
from webhook.check import progress
from webhook.check.cluster import read_cluster
from webhook.inventory import Inventory
from webhook.objects import JSONObject
from webhook.simulation import Scheduler
from webhook.simulation.answers import Answers
from webhook.simulation.scheduler import Fit, Placement, fit


def deployed(*options: str | Path) -> Done:
    """Simulate the deployment of the examples."""
    return draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, *options)


def result(folder: Path, *objects: JSONObject, options: tuple[str, ...] = ()) -> str:
    """Simulate the pods of a cluster; return the text."""
    return draguard("simulate", "--cluster", written(folder / "cluster.yaml", *objects), *options).out


ONE_NODE = [clusters.node("a"), clusters.device_class()]
DEVICES = clusters.devices("a")
WITH_DEVICES = [*ONE_NODE, DEVICES]
ENDING = clusters.pod(restartPolicy="Never")
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"
SELECTOR = {"matchLabels": {"a": "b"}}


def workload(kind: str, template: JSONObject, **spec: Any) -> JSONObject:
    """Make a workload whose pods are those of a pod."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": template["spec"]}
    return {"kind": kind, "metadata": {"name": "w"}, "spec": {"template": template, **spec}}


class TestPods:
    def test_the_text_has_colours_and_less_on_demand(self) -> None:  # docs/simulate.svg shows what it says
        done = deployed()
        assert (done.code, done.out.count("not simulated:"), "\x1b" in done.out) == (1, 1, False)
        assert "\x1b[1;31mpending" in deployed("--color", "always").out
        assert "not simulated" not in deployed("-q").out

    def test_a_daemon_set_has_a_pod_on_each_node(self, tmp_path: Path) -> None:
        given = workload("DaemonSet", clusters.pod(), selector=SELECTOR)
        done = ran(tmp_path, given, cluster=[*WITH_DEVICES, node("b")], options=["--quiet"])
        assert done == (0, "default/w-a: a\ndefault/w-b: b\n", "")

    def test_fields_that_the_api_server_drops_do_not_count(self, tmp_path: Path) -> None:
        tainted = clusters.devices("node-1", taints=[{"key": "example.com/broken", "effect": "NoSchedule"}])
        objects = (clusters.pod(claims={"gpu": "c"}), tainted, clusters.device_class(), clusters.claim())
        for gate, is_dropped in ((), True), (("--feature-gates", "DRADeviceTaints=true"), False):
            options = "--kubernetes-version", "1.34", *gate
            done = ran(tmp_path, *objects, cluster=[clusters.node("node-1")], options=options)
            assert done.out.startswith("default/p: node-1\n") == is_dropped
            assert ("dropped: this field needs the feature gate DRADeviceTaints" in done.err) == is_dropped
            # The same in the warnings of validate: the claim can be allocated, as the taint is dropped.
            assert ("never-allocated" in draguard("validate", tmp_path / "given.yaml", *options).out) != is_dropped

    def test_what_a_cluster_has_stored_shows_its_feature_gates(self, tmp_path: Path) -> None:
        provided = device_class(extendedResourceName="example.com/gpu")
        wanting = clusters.pod(requests={"example.com/gpu": "1"})
        for gates, is_on in ((), True), (("--feature-gates", "DRAExtendedResource=false"), False):
            options = "--kubernetes-version", "1.35", *gates
            done = ran(tmp_path, wanting, cluster=[node("a"), DEVICES, provided], options=options)
            assert done.out.startswith("default/p: a\n") == is_on
            done = ran(tmp_path, wanting, provided, cluster=[node("a"), DEVICES], options=options)
            assert done.out.startswith("default/p: pending: ")
            assert "extendedResourceName: dropped" in done.err

    def test_devices_for_other_nodes_of_their_slice_do_not_count(self, tmp_path: Path) -> None:
        in_zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
        devices = (device(f"d{each}", {"model": f"N{each}"}, nodeName=f"n{each}") for each in "12")
        rack = slices(*devices, device("d3", {"model": "N3"}, nodeSelector=in_zone), perDeviceNodeSelection=True)
        wanted = clusters.claim(selectors=[clusters.selector('device.attributes["gpu.example.com"].model == "N1"')])
        pod = clusters.pod(claims={"nic": "c"}, nodeSelector={"host": "n2"})
        objects = node("n1", labels={"zone": "a"}), node("n2", labels={"host": "n2"}), device_class(), rack, wanted, pod
        text = result(tmp_path, *objects)
        assert 'n2, request r: 1 device, 1 of the class, 0 with model = "N1": model is "N2", wanted "N1"' in text
        assert 'wanted "N1"; 2 more in these pools for other nodes' in text
        text = draguard("match", tmp_path / "cluster.yaml", "--cluster", tmp_path / "cluster.yaml").out
        assert "  true  1 N1  n1\n" in text
        assert '  false 1 N2  n2: model is "N2", wanted "N1"\n' in text
        assert '  false 1 N3  several nodes: model is "N3", wanted "N1"\n' in text

    @each_row(
        ("options", "expected"),
        ((), ["node-b", None, None]),
        (("--release", "team-x/train-1"), ["node-a", "node-a", "node-b"]),
        (("-n", "team-x", "--release", "train-1"), ["node-a", "node-a", "node-b"]),
        (("--without", "node-b"), [None, None, None]),
    )
    def test_a_claim_can_be_released_and_a_node_left_out(
        self, options: tuple[str, ...], expected: list[str | None]
    ) -> None:
        found = simulated(DEPLOYMENT, "--cluster", CLUSTER, *options)
        assert [each["node"] for each in found] == expected

    def test_the_pending_pods_of_the_cluster_are_looked_at_if_no_others_are_given(self, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text(POD)
        (found,) = simulated("--cluster", CLUSTER, "--cluster", pod)
        assert (found["name"], found["node"]) == ("p", "node-a")

    def test_a_driver_that_crashes_on_the_node_is_noted(self, tmp_path: Path) -> None:
        failing = {"name": "plugin", "restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
        driver = [stored.daemon_set(), stored.plugin(containerStatuses=[failing])]
        waits = [stored.claim("gpu"), stored.pod("p", ["gpu"], "Pending", "")]
        text = result(tmp_path, *stored.HEALTHY, *driver, *waits)
        note = "driver gpu.example.com does not run on n1, so the pod does not start: pod driver-n1: plugin"
        assert text.startswith("default/p: n1\n")
        assert note in text
        assert note not in result(tmp_path, *stored.HEALTHY, driver[0], stored.plugin(), *waits)


class TestFit:
    def test_counts_a_pod_without_a_spec(self) -> None:
        empty = b"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: null}"
        assert draguard("simulate", "-", "--cluster", CLUSTER, "--fit", stdin=empty).out.startswith("438 pods like")

    def test_says_how_many_more_fit_and_what_runs_out(self) -> None:
        done = deployed("--release", "team-x/train-1", "--fit")
        assert "3 pods like team-y/inference-XXXXX-0 fit\n  node-a: 2\n  node-b: 1\nthen no node" in done.out
        assert "0 free: held by" in done.out
        assert done.code == 0

    def test_for_machines(self) -> None:
        found = reported("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit")
        assert (found["pods"], found["nodes"]) == (1, {"node-b": 1})
        assert found["last"]["condition"]["reason"] == "Unschedulable"
        assert found["last"]["name"] == "inference-XXXXX-1"  # as the controller would name the second

    def test_takes_one_kind_of_pod(self) -> None:
        said = usage_error("simulate", DEPLOYMENT, "-", "--cluster", CLUSTER, "--fit", stdin=POD.encode())
        assert "--fit takes one pod or workload" in said

    @each_row("options", (), ("--pending",))
    def test_a_cluster_without_pending_pods_is_fine(self, options: tuple[str, ...]) -> None:
        done = draguard("simulate", "--cluster", CLUSTER, *options)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("no pod is pending\n")


GIVE = "give a manifest, or [NAMESPACE/]NAME of a pod of the cluster"


class TestNames:
    @each_row("name", "team-x/train-1-0", "train-1-0")
    def test_a_pod_of_the_cluster(self, name: str) -> None:
        done = draguard("simulate", name, "--cluster", CLUSTER)
        assert (done.code, done.out.splitlines()[0]) == (0, "team-x/train-1-0: already scheduled on node-a")

    @staticmethod
    def asked(folder: Path, *pods: str, name: str, options: tuple[str, ...] = ()) -> Done:
        """Ask about a pod of the cluster, which has other pods, too."""
        file = folder / "pods.yaml"
        named = (each.split("/") for each in pods)
        file.write_text("\n---\n".join(POD.replace("name: p}", f"name: {own}, namespace: {of}}}") for of, own in named))
        return draguard("simulate", name, *options, "--cluster", CLUSTER, "--cluster", file)

    @each_row(
        ("name", "options", "code", "said"),
        ("two", ("-q",), 0, "b/two: node-"),
        ("two", (), 0, "1 pod: 1 scheduled"),
        ("one", (), 2, "several pods of the cluster have this name: did you mean a/one, b/one?"),
        ("one", ("-n", "b", "-q"), 0, "b/one: node-"),
        ("a/one", ("-n", "b", "-q"), 0, "a/one: node-"),
        ("two", ("-n", "a"), 2, "two: no such file, and namespace a has no pod two: did you mean b/two?"),
        ("pod/two", ("-n", "a"), 2, "pod/two: namespace a has no pod two: did you mean b/two?"),
        ("b/pod/two", ("-q",), 0, "b/two: node-"),
        *(
            (each, (), 2, f"{each}: {GIVE}: `draguard why {each}` explains the Deployment")
            for each in ("deployment/serve", "default/deployment/serve", "Deployment/default/serve")
        ),
    )
    def test_only_that_pod(self, name: str, options: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
        done = self.asked(tmp_path, "a/one", "b/one", "b/two", name=name, options=options)
        assert (done.code, said in (done.err if code else done.out)) == (code, True)
        assert "-q" not in options or [each[: len(said)] for each in done.out.splitlines()] == [said]

    def test_pods_of_a_workload_that_is_not_there(self, tmp_path: Path) -> None:
        pods = ("b/serve-1-a", "jobs/serve", "b/two")
        done = self.asked(tmp_path, *pods, name="b/deployment/serve")
        assert (done.code, f"{GIVE}: did you mean b/serve-1-a?" in done.err) == (2, True)
        assert self.asked(tmp_path, *pods, name="jobs/serve", options=("-q",)).out.startswith("jobs/serve: node-")


@each_row(
    "command",
    ("simulate", DEPLOYMENT),
    ("simulate", DEPLOYMENT, "--fit"),
    ("match", DEPLOYMENT),
    ("why", "train-1-0"),
)
def test_yaml_holds_what_json_does(command: tuple[str | Path, ...]) -> None:
    as_json, as_yaml = (draguard(*command, "--cluster", CLUSTER, "-o", each) for each in ("json", "yaml"))
    assert yaml.safe_load(as_yaml.out) == json.loads(as_json.out)
    assert as_json.code == as_yaml.code


class TestWrongUse:
    @each_row(
        ("arguments", "message"),
        ((DEPLOYMENT,), "no nodes found: give the objects of the cluster with --cluster"),
        ((DEPLOYMENT, "--cluster", DEPLOYMENT), "no nodes found: --cluster has none: collect them, too"),
        ((ROOT / "policies/admin-access/policy.yaml", "--cluster", CLUSTER), "no pods to schedule"),
        (("--cluster", CLUSTER, "--fit"), "--fit takes one pod or workload, and no pod is pending"),
        ((DEPLOYMENT, "--cluster", CLUSTER, "--without", "node-z"), "node not found: the cluster has node-"),
        (
            (DEPLOYMENT, "--cluster", CLUSTER, "--release", "team-x/trian-1"),
            "--release team-x/trian-1: ResourceClaim not found: did you mean team-x/train-1?",
        ),
        ((DEPLOYMENT, "--cluster", "nowhere.yaml"), "no such file"),
        *(
            ((DEPLOYMENT, "--cluster", CLUSTER, f"--timeout={time}"), f"{time!r} is not a positive number of sec")
            for time in ("0", "-1", "soon", "inf", "nan")
        ),
        ((DEPLOYMENT, "--cluster", CLUSTER, "--kubernetes-version", "1.9"), "1.9 is not known here"),
        ((DEPLOYMENT, "--cluster", CLUSTER, "--kubernetes-version", "1.29"), "give 1.31 or later"),
        (("-", "--cluster", "-"), "standard input (-) cannot be both"),
        (("trian-1-0", "--cluster", CLUSTER), "the cluster has no pod trian-1-0: did you mean team-x/train-1-0?"),
        (("team-x/trian-1-0", "--cluster", CLUSTER), "did you mean team-x/train-1-0?"),
        (("train-1", "--cluster", CLUSTER), "did you mean team-x/train-1-0?"),
        (("web", "--cluster", CLUSTER), "the cluster has team-x/train-1-0, team-x/train-2-0"),
        (("web", "--cluster", ROOT / "examples/v1/deviceclass.yaml"), "the cluster has no pods"),
        (("web.yaml", "--cluster", CLUSTER), "web.yaml: error unreadable: no such file or directory"),
        (("web",), "web: no such file; to ask about a pod in a cluster, give --cluster or --live"),
    )
    def test_is_reported(self, arguments: tuple[str | Path, ...], message: str) -> None:
        assert message in usage_error("simulate", *arguments)

    @staticmethod
    def refused(folder: Path, kind: str, *options: str, **spec: int) -> str:
        done = ran(folder, workload(kind, clusters.pod(), selector=SELECTOR, **spec), cluster=ONE_NODE, options=options)
        assert done.code == 2
        return done.err

    def test_workloads_without_pods(self, tmp_path: Path) -> None:
        assert "the workloads have no replicas, or are DaemonSets" in self.refused(tmp_path, "Deployment", replicas=0)
        each = "--fit counts copies of one pod, and DaemonSet default/w has one pod on each node"
        assert each in self.refused(tmp_path, "DaemonSet", "--fit")

    def test_workloads_with_too_many_pods(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.check.simulated._PODS_MAX", 1_000)
        assert "more than 1,000 pods" in self.refused(tmp_path, "Deployment", replicas=1_000_000_000)

    @each_row(
        ("kind", "spec", "pod"),
        ("v1, kind: Pod", "{containers: 1}", "d"),
        ("apps/v1, kind: Deployment", "{template: {spec: {containers: 1}}}", "d-XXXXX"),
    )
    def test_a_malformed_manifest(self, kind: str, spec: str, pod: str) -> None:
        manifest = f"{{apiVersion: {kind}, metadata: {{name: d}}, spec: {spec}}}"
        done = draguard("simulate", "-", "--cluster", CLUSTER, stdin=manifest.encode())
        assert f"<stdin>:1:1: error unreadable: Pod {pod}: spec.containers: json: cannot unmarshal number" in done.err
        assert done.code == 1


def test_pods_of_other_projects_are_scheduled(tmp_path: Path) -> None:
    group = {"template": {"spec": clusters.pod(claims={"gpu": "t"})["spec"]}}
    spec = {"headGroupSpec": group, "workerGroupSpecs": [{"replicas": 2, "numOfHosts": 2, **group}]}
    ray = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray"}, "spec": spec}
    answers = json.loads(ran(tmp_path, ray, cluster=WITH_DEVICES, options=["-o", "json"]).out)
    assert [each["name"] for each in answers] == ["ray-0-XXXXX", *(f"ray-1-XXXXX-{index}" for index in range(4))]


def test_a_runtime_makes_pods_for_those_who_use_it(tmp_path: Path) -> None:
    runtime: JSONObject = {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "ClusterServingRuntime"}
    runtime |= {"metadata": {"name": "vllm"}, "spec": clusters.pod(claims={"gpu": "t"})["spec"]}
    said = usage_error("simulate", written(tmp_path / "runtime.yaml", runtime), "--cluster", CLUSTER)
    assert "runtimes and templates make pods only where others use them" in said
    service: JSONObject = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService"}
    predictor = {"minReplicas": 2, "maxReplicas": 5, "model": {"runtime": "vllm"}}
    service |= {"metadata": {"name": "llm", "namespace": "team-y"}, "spec": {"predictor": predictor}}
    done = ran(tmp_path, service, runtime, cluster=WITH_DEVICES, options=["-o", "json"])
    assert [each["namespace"] for each in json.loads(done.out)] == ["team-y", "team-y"]
    note = "InferenceService team-y/llm: 2 pods are simulated: spec.predictor.maxReplicas lets an autoscaler change"
    assert f"note: {note}" in done.err


def test_objects_without_a_name_get_one(tmp_path: Path) -> None:
    metadata = "apiVersion: %s, metadata: {generateName: %s-, namespace: team-y}"
    spec = "{restartPolicy: Never, containers: [{name: c, image: i}]}"
    pod = f"{{kind: Pod, {metadata % ('v1', 'run')}, spec: {spec}}}"
    job = f"{{kind: Job, {metadata % ('batch/v1', 'job')}, spec: {{template: {{spec: {spec}}}}}}}"
    file = tmp_path / "unnamed.yaml"
    file.write_text(f"{pod}\n---\n{pod}\n---\n{job}")
    names = [each["name"] for each in simulated(file, "--cluster", CLUSTER)]
    assert names == ["run-XXXXX", "run-XXXXX-1", "job-XXXXX-XXXXX"]


@each_row(
    "row",
    "scheduling.k8s.io/v1beta1 Workload spec podGroupTemplates: [{name: g, resourceClaims: %s}]",
    "v1 PodTemplate template spec: {containers: [{name: c, image: i}], resourceClaims: %s}",
    "kro.run/v1alpha1 ResourceGraphDefinition spec resources: [{id: a, template: {kind: Pod, apiVersion: v1, spec: "
    "{containers: [{name: c, image: i}], resourceClaims: %s}}}]",
)
def test_templates_make_no_pods(row: str) -> None:
    api_version, kind, field, inside = row.split(" ", 3)
    inside %= "[{name: gpu, resourceClaimTemplateName: large-gpu}]"
    manifest = f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: w}}, {field}: {{{inside}}}}}"
    done = draguard("simulate", "-", "--cluster", CLUSTER, stdin=manifest.encode())
    assert (done.code, "make pods only where others use them" in done.err) == (2, True)


def test_a_workload_without_pods_is_explained() -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t, namespace: ml}\n"
    job += "spec: {runtimeRef: {name: torch}}"
    done = draguard("simulate", "-", "--cluster", CLUSTER, stdin=job.encode())
    why = "TrainJob ml/t: no pods are simulated: ClusterTrainingRuntime torch is not among the manifests"
    assert (done.code, f"no pods to schedule: {why}" in done.err) == (2, True)


def test_a_claim_of_the_manifests_keeps_its_status_in_the_cluster(tmp_path: Path) -> None:
    given, stored = (clusters.claim(), clusters.pod(claims={"gpu": "c"})), clusters.allocated("c", "a", "d1")
    assert "gpu.example.com/a/d1\n" in ran(tmp_path, *given, cluster=[*ONE_NODE, clusters.devices("a", 2), stored]).out


class TestObjectsGivenTwice:
    @staticmethod
    def simulated(folder: Path, *given: JSONObject) -> tuple[list[str], str]:
        done = ran(folder, *given, cluster=[*WITH_DEVICES, clusters.template()], options=["-o", "json"])
        return [each["name"] for each in json.loads(done.out)], done.err

    @each_row(
        ("label", "template", "said"),
        ("a", "t", "Pod default/p is given twice: it is simulated once"),
        ("b", "t", "it is simulated with the second, as kubectl apply updates an object"),
        ("a", "t-other", "first is simulated: the API server refuses the second, spec: Forbidden: pod updates may"),
    )
    def test_a_pod_is_updated_unless_that_is_refused(
        self, label: str, template: str, said: str, tmp_path: Path
    ) -> None:
        first, second = (clusters.pod(claims={"g": each}) for each in ("t", template))
        first["metadata"]["labels"], second["metadata"]["labels"] = {"a": "a"}, {"a": label}
        names, notes = self.simulated(tmp_path, first, second)
        assert (names, said in notes) == (["p"], True)

    def test_claims_are_updated_as_well(self, tmp_path: Path) -> None:
        claims = (clusters.claim(deviceClassName=each) for each in ("gpu", "other"))
        _, notes = self.simulated(tmp_path, clusters.pod(), *claims)
        assert "ResourceClaim default/c is given twice, and the first is simulated" in notes

    def test_workloads_of_one_name_have_pods_of_their_own(self, tmp_path: Path) -> None:
        made = workload("Deployment", clusters.pod(), selector=SELECTOR), workload("Job", ENDING)
        assert self.simulated(tmp_path, *made)[0] == ["w-XXXXX", "w-XXXXX-2"]

    def test_a_pod_in_the_place_of_a_workloads_is_refused(self, tmp_path: Path) -> None:
        stateful = workload("StatefulSet", clusters.pod(), serviceName="s", selector=SELECTOR)
        names, notes = self.simulated(tmp_path, clusters.pod("w-0"), stateful)
        assert (names, "Pod default/w-0 is made twice: the API server refuses the second" in notes) == (["w-0"], True)


@each_row("command", ["simulate"], ["match", "-e", "true"])
def test_the_release_is_that_of_the_nodes(command: list[str], tmp_path: Path) -> None:
    older = node("a")
    older["status"]["nodeInfo"] = {"kubeletVersion": "v1.34.2-gke.1"}
    cluster = ("--cluster", written(tmp_path / "cluster.yaml", older, clusters.pod(), DEVICES))
    assert "as Kubernetes 1.34" in draguard(*command, *cluster).out
    assert "as Kubernetes 1.35" in draguard(*command, *cluster, "--kubernetes-version", "1.35").out


def test_a_replica_that_runs_is_not_scheduled_again(tmp_path: Path) -> None:
    held = clusters.allocated("w-0-d", "a", "d0", "w-0")
    replica = clusters.pod("w-0", {"d": "w-0-d"})
    runs = clusters.pod("w-0", {"d": "w-0-d"}, nodeName="a")
    stateful = workload("StatefulSet", replica, serviceName="s", selector=SELECTOR)
    for given in (stateful, replica):
        done = ran(tmp_path, given, cluster=[*ONE_NODE, clusters.devices("a", 2), held, runs])
        assert done.code == 0
        assert "default/w-0: already scheduled on a\n" in done.out
        assert "1 pod: 1 already scheduled\n" in done.out


def test_the_pods_of_a_released_claim_are_gone(tmp_path: Path) -> None:
    held = clusters.allocated("held", "a", "d0", "old")
    old = clusters.pod("old", {"d": "held"}, {"cpu": "6"}, nodeName="a")
    wanted, cluster = clusters.pod("new", {"d": "c"}, {"cpu": "7"}), [*ONE_NODE, DEVICES, held, old, clusters.claim()]
    assert "pending" in ran(tmp_path, wanted, cluster=cluster).out
    assert "default/new: a\n" in ran(tmp_path, wanted, cluster=cluster, options=["--release", "held"]).out


def test_what_concerns_every_pod_is_said_once(tmp_path: Path) -> None:
    rule: dict[str, Any] = {"kind": "DeviceTaintRule", "metadata": {"name": "r"}}
    rule["spec"] = {"deviceSelector": {"driver": "gpu.example.com"}, "taint": {"key": "k", "effect": "NoSchedule"}}
    cluster = [*ONE_NODE, clusters.devices("a", 3), clusters.claim(count=4), clusters.claim("shared"), rule]
    given = [clusters.pod("p", {"d": "c"}), clusters.pod("q", {"d": "shared"}), clusters.pod("r")]
    options = ("--kubernetes-version", "1.36")
    text = ran(tmp_path, *given, cluster=cluster, options=options).out
    assert "  a, request r: 3 devices, 3 of the class; 4 are wanted\n" in text
    assert text.count("does not apply DeviceTaintRules") == 1
    assert text.splitlines()[-3].startswith("note: the scheduler of Kubernetes 1.36 does not apply DeviceTaintRules")
    found = reported("simulate", tmp_path / "given.yaml", "--cluster", tmp_path / "cluster.yaml", *options)
    assert [len(each["why"]["notes"]) for each in found] == [1, 1, 0]


def why(folder: Path, *objects: JSONObject, names: tuple[str, ...] = ()) -> str:
    """Explain the pods of a cluster with a node that do not start; return the text."""
    return result(folder, clusters.node("a"), *objects, options=(*names, "--quiet"))


def starting(name: str, claims: dict[str, str], **spec: Any) -> JSONObject:
    """Describe a pod that has not started yet."""
    return {**clusters.pod(name, claims, **spec), "status": {"phase": "Pending"}}


def test_pods_that_do_not_start_on_their_node_are_explained(tmp_path: Path) -> None:
    cluster = [clusters.device_class(), clusters.devices("a", 2), clusters.claim()]
    bypassing = starting("p", {"d": "c"}, nodeName="a")
    assert "p: pending: it names its node itself (a)" in why(tmp_path, *cluster, bypassing)
    placed = clusters.allocated("held", "a", "d0", "q"), starting("q", {"d": "held"}, nodeName="a")
    text = why(tmp_path, *cluster, *placed)
    assert "q: already scheduled on a" in text
    assert "note: the scheduler has done its part: look at the pod's events" in text
    assert why(tmp_path, *cluster, starting("r", {}, nodeName="a")) == ""
    assert why(tmp_path, *cluster, *placed, names=("pod/q",)) == text


def test_a_claim_that_the_most_pods_use_is_the_reason(tmp_path: Path) -> None:
    full = clusters.allocated("c", "a", "d0", *(f"p-{number}" for number in range(256)))
    text = why(tmp_path, clusters.device_class(), clusters.devices("a", 2), full, starting("p", {"d": "c"}))
    assert "p: pending: claim default/c is used by 256 pods, and no more can use it\n" in text
    assert "  kube-scheduler: running PreBind plugin" in text


def test_claims_that_are_gone_or_going_have_a_note(tmp_path: Path) -> None:
    lost = starting("p", {"d": "t"})
    lost["status"]["resourceClaimStatuses"] = [{"name": "d", "resourceClaimName": "p-d-abcde"}]
    gone = "note: the claim was made for the pod, and is not among the cluster's objects"
    assert gone in why(tmp_path, lost)
    going = clusters.allocated("c", "a", "d0", "u", "v", "w", "x")
    going["status"]["reservedFor"][2] |= {"apiGroup": "batch", "resource": "jobs"}
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"]}
    users = "its users (pod u, pod v, jobs.batch w, others)"
    waiting = f"note: the deletion of the claim waits for its finalizers (a.b/c) and {users}"
    assert waiting in why(tmp_path, going, starting("p", {"d": "c"}))


@each_row(
    ("kind", "suspended", "of_job", "is_noted"),
    ("Job", True, None, True),
    ("Job", False, None, False),
    ("CronJob", True, False, True),
    ("CronJob", False, True, True),
    ("CronJob", False, False, False),
)
def test_a_suspended_job_is_noted(
    tmp_path: Path, kind: str, *, suspended: bool, of_job: bool | None, is_noted: bool
) -> None:
    job = workload("Job", ENDING)["spec"]
    made = job if of_job is None else {"schedule": "0 * * * *", "jobTemplate": {"spec": {**job, "suspend": of_job}}}
    obj = {"kind": kind, "metadata": {"name": "j"}, "spec": {**made, "suspend": suspended}}
    note = f"note: {kind} default/j is suspended: its pods are simulated as if it were resumed\n"
    for options, said in ((), note * is_noted), (("--quiet",), ""):
        assert ran(tmp_path, obj, cluster=[clusters.node("a")], options=options)[::2] == (0, said)


@each_row(
    ("known", "missing"),
    ([clusters.device_class()], ["ResourceSlices"]),
    ([clusters.devices("a")], ["DeviceClasses"]),
    ([clusters.device_class(), clusters.devices("a")], []),
)
def test_kinds_of_which_there_are_no_objects_are_noted(
    tmp_path: Path, known: list[JSONObject], missing: list[str]
) -> None:
    objects = [clusters.node("a"), clusters.template(), *known, clusters.pod(claims={"gpu": "t"})]
    said = draguard("simulate", "--cluster", written(tmp_path / "cluster.yaml", *objects)).err
    assert [line.split()[2] for line in said.splitlines() if line.startswith("note: no ")] == missing


class TestText:
    def test_a_pod_past_the_scheduler_fails_the_run(self, tmp_path: Path) -> None:
        assert ran(tmp_path, clusters.pod(claims={"gpu": "c"}, nodeName="a"), cluster=[clusters.node("a")]).code == 1

    def test_many_kinds_of_nodes(self, tmp_path: Path) -> None:
        objects = [each for number in range(9) for each in (node(f"n{number}"), clusters.devices(f"n{number}", number))]
        pod = clusters.pod(claims={"gpu": "c"})
        text = result(tmp_path, clusters.device_class(), *objects, clusters.claim(count=12), pod)
        assert "nodes more, for other reasons (--output json has all)" in text
        assert "\n  n8, request r: 8 devices, 8 of the class; 12 are wanted\n  n7, request r: 7 devices" in text

    def test_numbers_of_large_clusters_are_the_least(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.rejections._LOOKED_AT_MAX", 5)
        monkeypatch.setattr("webhook.simulation.changes.NODES_MAX", 4)
        objects = [clusters.device_class(), clusters.claim(count=2), clusters.pod(claims={"gpu": "c"})]
        for name in (f"n{number}" for number in range(6)):
            objects += [clusters.node(name), clusters.devices(name, 2), clusters.allocated(f"of-{name}", name)]
        text = result(tmp_path, *objects)
        assert "claim default/of-n2 on n2 (used by no pod), and at least 2 other claims; 2 are wanted\n" in text
        assert "with count 1 in request r: at least 4 nodes\n" in text
        assert "once claim default/of-n0 is released (used by no pod): at least 1 node\n" in text

    def test_pending_pods_of_other_namespaces_compete_but_are_not_reported(self, tmp_path: Path) -> None:
        pods = [clusters.pod(requests={"cpu": "5"}) for _ in "ab"]
        for each, namespace in zip(pods, "ab", strict=True):
            each["metadata"]["namespace"] = namespace

        def of(*options: str) -> str:
            return result(tmp_path, clusters.node("one"), *pods, options=("-n", *options))

        assert of("a", "-q") == "a/p: one\n"
        assert of("b").startswith("b/p: pending: ")
        assert "1 pod: 1 pending\n" in of("b")
        assert of("c").startswith("no pod of namespace c is pending\n")
        assert json.loads(of("c", "-o", "json")) == []
        assert of("a", "--fit").startswith("1 pod like a/p fits\n")

    @each_row("pending", [], ["--pending", "-n", "a"])
    def test_the_gang_of_a_pod_is_simulated_whichever_pods_are_reported(
        self, pending: list[str], tmp_path: Path
    ) -> None:
        gang = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "g"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
        }
        given = clusters.pod("p", schedulingGroup={"podGroupName": "g"})
        given["metadata"]["namespace"] = "default"
        other = clusters.pod("q", requests={"cpu": "99"}, schedulingGroup={"podGroupName": "g"})
        manifest = written(tmp_path / "pod.yaml", given)
        text = result(tmp_path, clusters.node("one"), gang, other, options=(str(manifest), "-q", *pending))
        assert text == "default/p: pending: its PodGroup g needs 2 pods together, and pod q gets no node\n"

    def test_copies_share_a_claim_by_name(self, tmp_path: Path) -> None:
        limited = clusters.pod(claims={"gpu": "c"}, requests={"cpu": "5"})
        text = result(tmp_path, *ONE_NODE, DEVICES, clusters.node("b"), clusters.claim(), limited, options=("--fit",))
        assert "claim default/c (pod p-0, counted here) has its devices on a" in text
        assert "all these pods share claim default/c: with a ResourceClaimTemplate, each has its own" in text
        assert "is released" not in text

    def test_an_unbounded_cost_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.scheduler.MOST", 3)
        text = result(tmp_path, clusters.node("a"), clusters.pod(), options=("--fit",))
        assert text.startswith("at least 3 pods like default/p fit\n  a: 3\n")

    def test_nothing_fits(self, tmp_path: Path) -> None:
        full = clusters.node("a", cpu="1")
        text = result(tmp_path, full, clusters.pod(requests={"cpu": "2"}), options=("--fit",))
        assert text.startswith("no pod like default/p fits: 1 node has too little cpu: cpu 2 wanted, 1 of 1 free\n")
        assert "  a: Insufficient cpu" in text
        assert draguard("simulate", "--cluster", tmp_path / "cluster.yaml", "--fit").code == 1


class TestTime:
    def test_it_is_said_which_pods_are_left_out(self) -> None:
        done = deployed("--timeout", "1e-9")
        assert done.code == 1
        pods = ", ".join(f"team-y/inference-XXXXX-{number}" for number in range(3))
        over = "1e-09 seconds have passed while files were read; give a longer --timeout"
        assert done.err == f"not simulated: 3 of 3 pods ({pods}): {over}\n"
        assert "pending" not in done.out

    def test_json_has_them_all(self) -> None:
        found, usual = (simulated(DEPLOYMENT, "--cluster", CLUSTER, *more) for more in (("--timeout", "1e-9"), ()))
        reason = "not simulated: 1e-09 seconds have passed while files were read"
        assert [each["why"]["reason"] for each in found] == [reason] * 3
        assert (found[0].keys(), found[0]["why"].keys()) == (usual[0].keys(), usual[0]["why"].keys())

    def test_fit_says_that_more_may_fit(self) -> None:
        said = "more pods may fit: 1e-09 seconds have passed while files were read; give a longer --timeout\n"
        assert deployed("--fit", "--timeout", "1e-9")[::2] == (1, said)

    def test_reading_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def slow(*arguments: Any, **options: Any) -> Inventory:
            sleep(0.1)
            return read_cluster(*arguments, **options)

        monkeypatch.setattr(import_module("webhook.cli.simulate"), "read_cluster", slow)
        assert "not simulated: 3 of 3 pods" in deployed("--timeout", "0.1").err

    def test_selectors_that_take_long_to_compile_end_the_reading(self, tmp_path: Path) -> None:
        nested = reduce(lambda inner, number: f"[1, 2].all(x{number}, {inner})", range(24), "true")
        selectors = [{"cel": {"expression": f"{nested} && {number} > 0"}} for number in range(32)]
        costly = {"kind": "DeviceClass", "metadata": {"name": "costly"}, "spec": {"selectors": selectors}}
        (tmp_path / "class.json").write_text(json.dumps({"apiVersion": "resource.k8s.io/v1", **costly}))
        paths = ("--cluster", CLUSTER, "--cluster", tmp_path / "class.json")
        done = draguard("simulate", DEPLOYMENT, *paths, "--timeout", "1e-9")
        said = "not simulated: 1e-09 seconds have passed while files were read; give a longer --timeout\n"
        assert (done.code, done.out, done.err) == (1, "", said)

    @pytest.mark.parametrize(
        ("pod", "said"),
        [
            (DEPLOYMENT, "2 of 3 pods (team-y/inference-XXXXX-1, team-y/inference-XXXXX-2): {}; give fewer pods, or a"),
            ("train-1-0", "1 pod (team-x/train-1-0): {}; give a"),
        ],
    )
    def test_fewer_pods_are_advised_only_where_they_help(
        self, pod: str | Path, said: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule = Scheduler.schedule

        def late(scheduler: Scheduler, each: dict[str, Any]) -> Placement:
            if not each["metadata"]["name"].endswith("XXXXX-0"):
                raise DeadlineExceededError
            return schedule(scheduler, each)

        monkeypatch.setattr(Scheduler, "schedule", late)
        done = draguard("simulate", pod, "--cluster", CLUSTER)
        assert done.err == f"not simulated: {said.format('300 seconds have passed')} longer --timeout\n"

    def test_fit_looks_for_help_only_while_there_is_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def late(*arguments: Any) -> Fit:
            found = fit(*arguments)
            current().deadline = 0.0
            return found

        deployed("--fit")  # compiles the selectors now, as the next run has no time for that
        monkeypatch.setattr(import_module("webhook.check.simulated"), "fit", late)
        done = deployed("--fit")
        assert (done.code, done.err) == (0, "")
        assert "there was no time to try all changes: others may help, too" in done.out

    def test_fit_counts_pods_although_there_is_no_time_to_explain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def late(*_: object) -> None:
            raise DeadlineExceededError

        monkeypatch.setattr(Answers, "of", late)
        done = deployed("--fit")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("1 pod like team-y/inference-XXXXX-0 fits\n")
        assert "then no node takes another: not explained: 300 seconds have passed\n" in done.out

    def test_progress_is_shown_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        monkeypatch.setattr(progress, "_EVERY", 0.0)
        shown = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, columns=80).err
        assert "\r\x1b[K4 documents\r" in shown  # the cluster
        assert "0 of 3 pods, 4 checks of nodes" in shown
        assert "1 of 3 pods, 5 checks of nodes" in shown
        assert shown.endswith("\r\x1b[K")


ADMIN = "resource.kubernetes.io/admin-access"
OLDER = "resource.k8s.io/admin-access"
NEEDS_LABEL = f"admin access to devices requires the `{ADMIN}: true` label on the containing namespace"


def namespace(**labels: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}


BOTH = each_row("command", "simulate", "match")


@BOTH
@each_row(
    ("claim", "said", "hint"),
    ({"cuont": 2}, "error unknown-field: spec.devices.requests[0].exactly.cuont: strict", 'did you mean "count"?'),
    ({"count": "two", "deviceClassName": "Gpu_X"}, "error wrong-type: ", 'did you mean "gpu-x"?'),
    (
        {"selectors": [clusters.selector("device.driver == 7")]},
        "cel.expression: found no matching overload for '_==_' applied to '(string, int)'",
        "both sides must have one type, and are string and int",
    ),
)
def test_a_manifest_with_an_error(command: str, claim: JSONObject, said: str, hint: str, tmp_path: Path) -> None:
    given = clusters.claim(**claim), clusters.pod(claims={"gpu": "c"})
    done = ran(tmp_path, *given, cluster=WITH_DEVICES, command=command)
    assert (done.code, done.out, said in done.err, f"help: {hint}" in done.err) == (1, "", True, True)


@BOTH
def test_what_is_in_the_cluster_was_taken_once(command: str, tmp_path: Path) -> None:
    given, stored = (clusters.template(), clusters.pod(claims={"gpu": "c"})), clusters.claim(cuont=2)
    assert ran(tmp_path, *given, cluster=[*WITH_DEVICES, stored], command=command)[::2] == (0, "")


@BOTH
def test_what_cannot_be_decoded_in_the_cluster_is_noted(command: str, tmp_path: Path) -> None:
    given, stored = (clusters.template(), clusters.pod(claims={"gpu": "c"})), clusters.claim(count="two")
    done = ran(tmp_path, *given, cluster=[*WITH_DEVICES, stored], command=command)
    assert "note: not read: ResourceClaim c: " in done.err
    assert done.out
    assert ("  note: ResourceClaim default/c cannot be decoded\n" in done.out) == (command == "simulate")


@BOTH
@each_row("is_in_cluster", *(True, False))
def test_the_namespace_must_be_labelled_for_admin_access(command: str, tmp_path: Path, *, is_in_cluster: bool) -> None:
    wanted = [clusters.template(adminAccess=True), clusters.pod(claims={"gpu": "t"})]
    for labels, code in (({}, 1), ({ADMIN: "false"}, 1), ({ADMIN: "true"}, 0)):
        around = [namespace(**labels)]
        given, cluster = (wanted, [*WITH_DEVICES, *around]) if is_in_cluster else ([*wanted, *around], WITH_DEVICES)
        done = ran(tmp_path, *given, cluster=cluster, command=command)
        assert (done.code, NEEDS_LABEL in done.err) == (code, code == 1)
    done = ran(tmp_path, *wanted, cluster=WITH_DEVICES, command=command)
    assert (done.code, NEEDS_LABEL in done.err) == (0, True)
    assert "help: its labels are not known: add the Namespace\n" in done.err


def test_validate_knows_the_namespaces_of_the_cluster(tmp_path: Path) -> None:
    wanted = clusters.template(adminAccess=True)
    for labels, code in (({}, 1), ({ADMIN: "true"}, 0)):
        done = ran(tmp_path, wanted, cluster=[namespace(**labels)], command="validate")
        assert (done.code, NEEDS_LABEL in done.out) == (code, code == 1)
        assert "is not known" not in done.out
    assert ran(tmp_path, wanted, namespace(), cluster=[namespace(**{ADMIN: "true"})], command="validate").code == 1


@each_row(
    ("labels", "release", "said"),
    ({}, "1.36", NEEDS_LABEL),
    ({"team": "a"}, "1.36", NEEDS_LABEL),
    ({ADMIN: "true"}, "1.36", None),
    ({ADMIN: "True"}, "1.36", f"{NEEDS_LABEL} (it has {ADMIN}: True)"),
    ({"resource.kubernetes.io/admin-acces": "true"}, "1.36", f"{NEEDS_LABEL} (it has {ADMIN[:-1]}: true)"),
    ({OLDER: "true"}, "1.36", f"{NEEDS_LABEL} (it has {OLDER}: true)"),
    ({OLDER: "true"}, "1.33", None),
    ({}, "1.32", None),
)
def test_a_claim_of_a_stored_template_is_not_made(labels: dict[str, str], release: str, said: str | None) -> None:
    objects = [*WITH_DEVICES, clusters.template(adminAccess=True), namespace(**labels)]
    gates = {"DRAAdminAccess": True}
    (answer,) = simulate(objects, [clusters.pod(claims={"gpu": "t"})], kubernetes=release, feature_gates=gates)
    assert (answer["node"] == "a") == (said is None)
    path = "spec.devices.requests[0].adminAccess"
    refused = [f"the API server refuses its claim default/p-gpu-XXXXX: {path}: Forbidden: {said}"]
    assert answer["why"]["notes"] == (refused if said else [])
    if said:
        assert answer["why"]["reason"] == 'pod "default/p": ResourceClaim not created yet'


@each_row(("release", "label"), ("1.36", ADMIN), ("1.33", OLDER), ("1.32", ""))
def test_an_unknown_namespace_counts_as_labelled(release: str, label: str) -> None:
    objects = [*WITH_DEVICES, clusters.template(adminAccess=True)]
    gates = {"DRAAdminAccess": True}
    (answer,) = simulate(objects, [clusters.pod(claims={"gpu": "t"})], kubernetes=release, feature_gates=gates)
    said = f"Namespace default is not known: it counts as labelled {label}: true, which admin access needs"
    assert (answer["node"], answer["why"]["notes"]) == ("a", [said] if label else [])


def test_a_claim_that_a_quota_refuses_is_not_said_to_be_missing_too(tmp_path: Path) -> None:
    hard = {"count/resourceclaims.resource.k8s.io": "0"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    quota |= {"spec": {"hard": hard}, "status": {"hard": hard, "used": hard}}
    given = clusters.claim(), clusters.pod(claims={"gpu": "c"})
    (note,) = re.findall("note: .*", ran(tmp_path, *given, cluster=[*WITH_DEVICES, quota]).out)
    assert note.startswith("note: the API server refuses its claim default/c: exceeded quota: q")


def bare_nodes(*names: str) -> list[JSONObject]:
    return [{**node(each), "apiVersion": "v1"} for each in names]


class TestSnapshot:
    def test_prints_the_command(self) -> None:
        whole = (
            "kubectl get deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates,devicetaintrules,nodes,"
            "pods,namespaces,priorityclasses,resourcequotas,apiservices,events,daemonsets,deployments,"
            "replicasets,statefulsets,jobs,cronjobs,persistentvolumeclaims,limitranges,validatingadmissionpolicies,"
            "validatingadmissionpolicybindings -A -o json\n"
        )
        assert draguard("snapshot") == (0, whole, "")
        shorter = draguard("snapshot", "--without", "devicetaintrules", "-n", "a", "--context", "c").out
        assert shorter.startswith("kubectl --context c get deviceclasses,")
        assert "devicetaintrules" not in shorter
        assert shorter.endswith(" -n a -o json\n")

    def test_warns_of_what_one_namespace_leaves_out(self) -> None:
        left_out = "claims and pods outside namespace a are left out: devices, cpu and memory that they use look free"
        assert draguard("snapshot", "-n", "a").err == f"warning: {left_out}\n"

    def test_an_unknown_resource(self) -> None:
        assert "--without secrets: give one of" in draguard("snapshot", "--without", "secrets").err


@pytest.mark.process
class TestRun:
    def test_prints_a_list(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        objects = bare_nodes("n1", "n2")
        written = {"manager": "kubectl", "apiVersion": "resource.k8s.io/v1"}
        objects.append({**device_class(), "apiVersion": "resource.k8s.io/v1"})
        for each in (objects[0], objects[2]):
            each["metadata"]["managedFields"] = [{**written, "fieldsV1": {"f:spec": {}}}]
        objects[0]["metadata"] |= {"annotations": {"a": "b", "long": "x" * 2000}}
        log = kubectl(tmp_path, monkeypatch, objects)
        done = draguard("snapshot", "--run", "--without", "pods")
        found = [each for each in json.loads(done.out)["items"] if each["kind"] != "APIService"]
        assert (done.code, done.err, [each["metadata"]["name"] for each in found]) == (0, "", ["gpu", "n1", "n2"])
        assert found[0]["metadata"]["managedFields"] == [written]
        assert found[1]["metadata"] == {"name": "n1", "labels": {}, "annotations": {"a": "b"}}
        assert "/pods" not in log.read_text()
        assert "/api/v1/events" in log.read_text()

    def test_of_one_namespace(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        log = kubectl(tmp_path, monkeypatch, bare_nodes("n1"))
        assert draguard("snapshot", "--run", "-n", "default").code == 0
        assert "/api/v1/namespaces/default/pods?" in log.read_text()
        assert "/api/v1/pods?" not in log.read_text()

    def test_what_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        faults = {"/api/v1/pods": {"error": "Error from server (Forbidden): no"}}
        kubectl(tmp_path, monkeypatch, bare_nodes("n1"), faults)
        done = draguard("snapshot", "--run")
        assert (done.code, done.err, '"n1"' in done.out) == (1, "warning: pods not read: forbidden: no\n", True)

    def test_needs_little_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        objects = bare_nodes(*(f"n{number}" for number in range(200)))
        for each in objects:
            each["metadata"]["annotations"] = {"hostile": "\x1b" * 50_000}
        kubectl(tmp_path, monkeypatch, objects)
        # 60 MB as JSON
        limit = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_DATA, ({240 << 20},) * 2); "
        code = f"{limit}os.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", code, str(SCRIPT), "snapshot", "--run"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stderr, len(done.stdout) < 1_000_000) == (0, b"", True)

    def test_says_that_there_is_no_cluster(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        kubectl(tmp_path, monkeypatch, (), {"/version": {"error": "The connection was refused"}})
        done = draguard("snapshot", "--run")
        assert (done.code, done.out, "cannot be read: The connection was refused" in done.err) == (2, "", True)


def test_nothing_that_a_terminal_obeys_is_printed(tmp_path: Path) -> None:
    odd = "\x1b[31m\x7f\x9b1m\u2028\u202e"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": {"a": odd}}}
    (tmp_path / "c.json").write_text(json.dumps(node), encoding="utf-8")
    out = draguard("snapshot", "--cluster", tmp_path / "c.json").out
    assert all(each.isprintable() for each in out.splitlines())
    assert json.loads(out)["items"] == [node]
    assert all(each.isprintable() for each in draguard("snapshot", "--context", odd).out.splitlines())
