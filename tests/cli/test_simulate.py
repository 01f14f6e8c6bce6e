"""``draguard simulate``, ``match`` and ``snapshot``, as their users see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.simulating import CLUSTER, DEPLOYMENT, simulated
from tests.command import ROOT, draguard, reported
from tests.rows import each_row
from tests.structured import claim


def nodes(*arguments: str | Path) -> list[str | None]:
    return [each["node"] for each in simulated(DEPLOYMENT, "--cluster", CLUSTER, *arguments)]


POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"
PER_DEVICE = """\
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: nic}, spec: {}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: nic.example.com
  pool: {name: rack, generation: 1, resourceSliceCount: 1}
  perDeviceNodeSelection: true
  devices:
  - {name: nic-1, nodeName: n1, attributes: {model: {string: N1}}}
  - {name: nic-2, nodeName: n2, attributes: {model: {string: N2}}}
  - name: nic-3
    nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}
    attributes: {model: {string: N3}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: nic}
spec:
  devices:
    requests:
    - name: nic
      exactly:
        deviceClassName: nic
        selectors: [{cel: {expression: 'device.attributes["nic.example.com"].model == "N1"'}}]
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeSelector: {kubernetes.io/hostname: n2}
  containers: [{name: app, image: app, resources: {claims: [{name: nic}]}}]
  resourceClaims: [{name: nic, resourceClaimName: nic}]
"""


class TestPods:
    def test_replicas_are_scheduled_one_after_another(self) -> None:
        assert nodes() == ["node-b", None, None]

    def test_something_pending_makes_the_exit_code_one(self) -> None:
        assert draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER).code == 1

    def test_the_text_says_where_why_and_what_would_help(self) -> None:
        text = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER).out
        assert "team-y/inference-XXXXX-0: node-b\n" in text
        assert "inference-XXXXX-0-gpu-XXXXX: gpu.example.com/node-b/gpu-1" in text
        assert "team-y/inference-XXXXX-1 … inference-XXXXX-2 (2 pods): pending" in text
        assert "0/4 nodes are available: 4 cannot allocate all claims. still not schedulable" in text
        assert "2 with memory >= 80Gi, 0 free: held by claim team-x/train-1 on node-a (pod train-1-0)" in text
        assert "0 with memory >= 80Gi: memory is 40Gi, wanted >= 80Gi" in text
        assert "with memory >= 40Gi in request gpu: 2 nodes" in text
        assert "once claim team-x/train-1 with 2 devices is released (pod train-1-0): 1 node" in text
        assert "3 pods: 1 scheduled, 2 pending" in text
        assert text.count("not simulated:") == 1

    def test_fields_that_the_api_server_drops_do_not_count(self, tmp_path: Path) -> None:
        pod = {
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}],
            "containers": [{"name": "app", "image": "app", "resources": {"claims": [{"name": "gpu"}]}}],
        }
        taint = {"key": "example.com/broken", "effect": "NoSchedule"}
        slices = {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "devices": [{"name": "gpu-0", "taints": [taint]}],
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        }
        objects = [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod},
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": slices},
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
            claim({"name": "gpu", "exactly": {"deviceClassName": "gpu"}}),
        ]
        (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
        (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(node), encoding="utf-8")
        manifests, release = str(tmp_path / "all.yaml"), ("--kubernetes-version", "1.34")
        gate = ("--feature-gates", "DRADeviceTaints=true")
        command = (manifests, "--cluster", tmp_path / "nodes.yaml", *release)
        assert [each["node"] for each in simulated(*command)] == ["node-1"]
        assert [each["node"] for each in simulated(*command, *gate)] == [None]
        # The same in the warnings of validate: the claim can be allocated, as the taint is dropped.
        assert "never-allocated" not in draguard("validate", manifests, *release).out
        assert "never-allocated" in draguard("validate", manifests, *release, *gate).out

    def test_devices_for_other_nodes_of_their_slice_do_not_count(self, tmp_path: Path) -> None:
        (tmp_path / "cluster.yaml").write_text(PER_DEVICE, encoding="utf-8")
        text = draguard("simulate", "--cluster", tmp_path / "cluster.yaml").out
        assert 'n2, request nic: 1 device, 1 of the class, 0 with model = "N1": model is "N2", wanted "N1"' in text
        assert 'wanted "N1"; 2 more in these pools for other nodes' in text
        text = draguard("match", tmp_path / "cluster.yaml", "--cluster", tmp_path / "cluster.yaml").out
        assert "  true  1 N1  n1\n" in text
        assert '  false 1 N2  n2: model is "N2", wanted "N1"\n' in text
        assert '  false 1 N3  several nodes: model is "N3", wanted "N1"\n' in text

    def test_why_is_another_name(self) -> None:
        assert simulated(DEPLOYMENT, "--cluster", CLUSTER, command="why")[0]["node"] == "node-b"

    def test_a_claim_that_is_released_frees_its_devices(self) -> None:
        assert nodes("--release", "team-x/train-1") == ["node-a", "node-a", "node-b"]
        assert nodes("-n", "team-x", "--release", "train-1") == ["node-a", "node-a", "node-b"]

    def test_a_node_can_be_left_out(self) -> None:
        assert nodes("--without", "node-b") == [None, None, None]

    def test_the_pending_pods_of_the_cluster_are_looked_at_if_no_others_are_given(self, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text(POD)
        (found,) = simulated("--cluster", CLUSTER, "--cluster", pod)
        assert (found["name"], found["node"]) == ("p", "node-a")

    def test_colours_are_for_terminals(self) -> None:
        assert "\x1b[1;31mpending" in draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--color", "always").out
        assert "\x1b" not in draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER).out

    def test_quiet_leaves_the_summary_out(self) -> None:
        assert "not simulated" not in draguard("simulate", "-q", DEPLOYMENT, "--cluster", CLUSTER).out


class TestFit:
    def test_says_how_many_more_fit_and_what_runs_out(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--release", "team-x/train-1", "--fit")
        assert "3 pods like team-y/inference-XXXXX-0 fit\n  node-a: 2\n  node-b: 1\nthen no node" in done.out
        assert "0 free: held by" in done.out
        assert done.code == 0

    def test_for_machines(self) -> None:
        found = reported("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit")
        assert (found["pods"], found["nodes"]) == (1, {"node-b": 1})
        assert found["last"]["condition"]["reason"] == "Unschedulable"

    def test_takes_one_kind_of_pod(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "-", "--cluster", CLUSTER, "--fit", stdin=POD.encode())
        assert done.code == 2
        assert "--fit takes one pod or workload" in done.err

    @pytest.mark.parametrize("options", [(), ("--pending",)])
    def test_a_cluster_without_pending_pods_is_fine(self, options: tuple[str, ...]) -> None:
        done = draguard("simulate", "--cluster", CLUSTER, *options)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("no pod is pending\n")


class TestNames:
    @pytest.mark.parametrize("name", ["team-x/train-1-0", "train-1-0"])
    def test_a_pod_of_the_cluster(self, name: str) -> None:
        done = draguard("simulate", name, "--cluster", CLUSTER)
        assert (done.code, done.out.splitlines()[0]) == (0, "team-x/train-1-0: already scheduled on node-a")

    def test_only_that_pod(self, tmp_path: Path) -> None:
        pods = [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space}, "spec": spec}
            for space, name in (("a", "one"), ("b", "one"), ("b", "two"))
            for spec in [{"containers": [{"name": "c", "image": "i"}]}]
        ]
        (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        cluster = ("--cluster", CLUSTER, "--cluster", tmp_path)
        assert draguard("simulate", "two", "-q", *cluster).out.startswith("b/two: node-")
        assert "1 pod: 1 scheduled" in draguard("simulate", "two", *cluster).out
        assert (
            "several pods of the cluster have this name: did you mean a/one, b/one?"
            in draguard("simulate", "one", *cluster).err
        )
        assert draguard("simulate", "one", "-n", "b", "-q", *cluster).out.startswith("b/one: node-")
        assert draguard("simulate", "a/one", "-n", "b", "-q", *cluster).out.startswith("a/one: node-")
        done = draguard("simulate", "two", "-n", "a", *cluster)
        why = "two: no such file, and namespace a has no pod two: did you mean b/two?"
        assert (done.code, why in done.err) == (2, True)
        assert draguard("simulate", "b/pod/two", "-q", *cluster).out.startswith("b/two: node-")
        ask = "give a manifest, or [NAMESPACE/]NAME of a pod of the cluster"
        for given in ("deployment/serve", "default/deployment/serve", "Deployment/default/serve"):
            done = draguard("simulate", given, *cluster)
            assert f"{given}: {ask}: `draguard why {given}` explains the Deployment" in done.err
        pods[0]["metadata"] = {"name": "serve-1-a", "namespace": "b"}
        pods[1]["metadata"] = {"name": "serve", "namespace": "jobs"}
        (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        done = draguard("simulate", "b/deployment/serve", *cluster)
        assert (done.code, f"{ask}: did you mean b/serve-1-a?" in done.err) == (2, True)
        assert draguard("simulate", "jobs/serve", "-q", *cluster).out.startswith("jobs/serve: node-")


@pytest.mark.parametrize("command", [("simulate",), ("simulate", "--fit"), ("match",)])
def test_yaml_holds_what_json_does(command: tuple[str, ...]) -> None:
    as_json, as_yaml = (draguard(*command, DEPLOYMENT, "--cluster", CLUSTER, "-o", each) for each in ("json", "yaml"))
    assert yaml.safe_load(as_yaml.out) == json.loads(as_json.out)
    assert as_json.code == as_yaml.code


class TestWrongUse:
    @each_row(
        ("arguments", "message"),
        [
            ((DEPLOYMENT,), "no nodes found: give the objects of the cluster with --cluster"),
            ((DEPLOYMENT, "--cluster", DEPLOYMENT), "no nodes found: --cluster has none: collect them, too"),
            ((ROOT / "policies/admin-access/policy.yaml", "--cluster", CLUSTER), "no pods to schedule"),
            (("--cluster", CLUSTER, "--fit"), "--fit takes one pod or workload, and no pod is pending"),
            ((DEPLOYMENT, "--cluster", CLUSTER, "--without", "node-z"), "node not found: the cluster has node-"),
            (
                (DEPLOYMENT, "--cluster", CLUSTER, "--release", "team-x/trian-1"),
                "--release team-x/trian-1: ResourceClaim not found: did you mean team-x/train-1?",
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
        ],
    )
    def test_is_reported(self, arguments: tuple[str | Path, ...], message: str) -> None:
        done = draguard("simulate", *arguments)
        assert message in done.err
        assert done.code == 2

    @staticmethod
    def refused(kind: str, *options: str) -> str:
        kind, _, more = kind.partition(", ")
        spec = f"{{template: {{spec: {{containers: [{{name: c, image: i}}]}}}}, {more}}}"
        workload = f"{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: d}}, spec: {spec}}}"
        done = draguard("simulate", "-", "--cluster", CLUSTER, *options, stdin=workload.encode())
        assert done.code == 2
        return done.err

    def test_workloads_without_pods(self) -> None:
        assert "the workloads have no replicas, or are DaemonSets" in self.refused("Deployment, replicas: 0")
        each = "--fit counts copies of one pod, and DaemonSet default/d has one pod on each node"
        assert each in self.refused("DaemonSet", "--fit")

    @pytest.mark.no_cover
    def test_workloads_with_too_many_pods(self) -> None:
        assert "more than 150,000 pods" in self.refused("Deployment, replicas: 1000000000")

    def test_a_file_that_is_not_there(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", "nowhere.yaml")
        assert (done.code, "no such file" in done.err) == (2, True)

    @each_row(
        ("kind", "spec", "pod"),
        [
            ("v1, kind: Pod", "{containers: 1}", "d"),
            ("apps/v1, kind: Deployment", "{template: {spec: {containers: 1}}}", "d-XXXXX"),
        ],
    )
    def test_a_malformed_manifest(self, kind: str, spec: str, pod: str) -> None:
        manifest = f"{{apiVersion: {kind}, metadata: {{name: d}}, spec: {spec}}}"
        done = draguard("simulate", "-", "--cluster", CLUSTER, stdin=manifest.encode())
        assert f"<stdin>:1:1: error unreadable: Pod {pod}: spec.containers: json: cannot unmarshal number" in done.err
        assert done.code == 1


RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: team-y}
spec:
  headGroupSpec:
    template: {spec: {containers: [{name: head, image: i}]}}
  workerGroupSpecs:
  - replicas: 2
    numOfHosts: 2
    template:
      spec:
        containers: [{name: worker, image: i, resources: {claims: [{name: gpu}]}}]
        resourceClaims: [{name: gpu, resourceClaimTemplateName: large-gpu}]
"""


def test_pods_of_other_projects_are_scheduled(tmp_path: Path) -> None:
    (tmp_path / "ray.yaml").write_text(RAY)
    answers = simulated(tmp_path / "ray.yaml", "--cluster", CLUSTER)
    assert [each["name"] for each in answers] == ["ray-0-XXXXX", *(f"ray-1-XXXXX-{index}" for index in range(4))]


def test_a_runtime_makes_pods_for_those_who_use_it(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime.yaml"
    runtime.write_text(
        """
        apiVersion: serving.kserve.io/v1alpha1
        kind: ClusterServingRuntime
        metadata: {name: vllm}
        spec:
          containers: [{name: kserve-container, image: i, resources: {claims: [{name: gpu}]}}]
          resourceClaims: [{name: gpu, resourceClaimTemplateName: large-gpu}]
        """
    )
    done = draguard("simulate", runtime, "--cluster", CLUSTER)
    assert (done.code, "runtimes and templates make pods only where others use them" in done.err) == (2, True)
    service = tmp_path / "service.yaml"
    spec = "{predictor: {minReplicas: 2, maxReplicas: 5, model: {runtime: vllm}}}"
    metadata = "{name: llm, namespace: team-y}"
    service.write_text(
        f"{{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {metadata}, spec: {spec}}}"
    )
    done = draguard("simulate", service, runtime, "--cluster", CLUSTER, "--output", "json")
    assert [each["namespace"] for each in json.loads(done.out)] == ["team-y", "team-y"]
    note = (
        "note: InferenceService team-y/llm: 2 pods are simulated: spec.predictor.maxReplicas lets an autoscaler change"
    )
    assert note in done.err


def test_a_workload_without_pods_is_explained() -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t, namespace: ml}\n"
    job += "spec: {runtimeRef: {name: torch}}"
    done = draguard("simulate", "-", "--cluster", CLUSTER, stdin=job.encode())
    why = "TrainJob ml/t: no pods are simulated: ClusterTrainingRuntime torch is not among the manifests"
    assert (done.code, f"no pods to schedule: {why}" in done.err) == (2, True)


def test_a_claim_of_the_manifests_keeps_its_status_in_the_cluster(tmp_path: Path) -> None:
    pods, cluster = tmp_path / "pods.yaml", tmp_path / "cluster.yaml"
    device = "{driver: nic.example.com, pool: rack, device: nic-3, request: nic}"
    allocated = f"{{allocation: {{devices: {{results: [{device}]}}}}}}"
    claim_of_cluster = yaml.safe_load(PER_DEVICE.split("---")[4])
    claim_of_cluster["status"] = yaml.safe_load(allocated)
    cluster.write_text("---".join(PER_DEVICE.split("---")[:4]) + "\n---\n" + yaml.safe_dump(claim_of_cluster))
    pods.write_text("---".join(PER_DEVICE.split("---")[4:]).replace("nodeSelector: {kubernetes.io/hostname: n2}", ""))
    (answer,) = simulated(pods, "--cluster", cluster)
    assert "nic-3" in json.dumps(answer["claims"])


class TestObjectsGivenTwice:
    POD = (
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: team-y, labels: {{a: {label}}}}}, "
        "spec: {{containers: [{{name: c, image: i}}], "
        "resourceClaims: [{{name: g, resourceClaimTemplateName: {template}}}]}}}}"
    )

    def simulated(self, *manifests: str) -> tuple[list[str], str]:
        stdin = "\n---\n".join(manifests).encode()
        done = draguard("simulate", "-", "--cluster", CLUSTER, "--output", "json", stdin=stdin)
        return [each["name"] for each in json.loads(done.out)], done.err

    @each_row(
        ("label", "template", "said"),
        [
            ("a", "large-gpu", "Pod team-y/p is given twice: it is simulated once"),
            ("b", "large-gpu", "it is simulated with the second, as kubectl apply updates an object"),
            (
                "a",
                "other",
                "first is simulated: the API server refuses the second, spec: Forbidden: pod updates may not ",
            ),
        ],
    )
    def test_a_pod_is_updated_unless_that_is_refused(self, label: str, template: str, said: str) -> None:
        pods = self.POD.format(label="a", template="large-gpu"), self.POD.format(label=label, template=template)
        names, notes = self.simulated(*pods)
        assert (names, said in notes) == (["p"], True)

    def test_claims_are_updated_as_well(self) -> None:
        claims = [
            "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: team-y}, "
            f"spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: {name}}}}}]}}}}}}"
            for name in "ab"
        ]
        _, notes = self.simulated(self.POD.format(label="a", template="large-gpu"), *claims)
        assert "ResourceClaim team-y/c is given twice, and the first is simulated" in notes

    def test_workloads_of_one_name_have_pods_of_their_own(self) -> None:
        template = (
            "template: {metadata: {labels: {a: b}}, spec: {restartPolicy: %s, containers: [{name: c, image: i}]}}"
        )
        deployment = (
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, "
            f"spec: {{selector: {{matchLabels: {{a: b}}}}, {template % 'Always'}}}}}"
        )
        job = f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: w}}, spec: {{{template % 'Never'}}}}}"
        assert self.simulated(deployment, job)[0] == ["w-XXXXX", "w-XXXXX-2"]

    def test_a_pod_in_the_place_of_a_workloads_is_refused(self) -> None:
        pod = "{apiVersion: v1, kind: Pod, metadata: {name: w-0}, spec: {containers: [{name: c, image: i}]}}"
        template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
        workload = (
            "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: w}, "
            f"spec: {{serviceName: s, selector: {{matchLabels: {{a: b}}}}, {template}}}}}"
        )
        names, notes = self.simulated(pod, workload)
        assert (names, "Pod default/w-0 is made twice: the API server refuses the second" in notes) == (["w-0"], True)


def test_kustomizations_are_rendered(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("namePrefix: my-\nresources: [pod.yaml]\n")
    (tmp_path / "pod.yaml").write_text(POD)
    done = draguard("simulate", tmp_path, "--cluster", CLUSTER, "--output", "json")
    assert [each["name"] for each in json.loads(done.out)] == ["my-p"], done.err
    assert "name: my-p" in draguard("mutate", tmp_path).out


@pytest.mark.parametrize("command", [["simulate"], ["match", "-e", "true"]])
def test_the_release_is_that_of_the_nodes(command: list[str], tmp_path: Path) -> None:
    made = {"apiVersion": "v1", "kind": "List", "items": yaml.safe_load(MADE_FOR_RELEASES)}
    (tmp_path / "cluster.json").write_text(json.dumps(made), encoding="utf-8")
    assert "as Kubernetes 1.34" in draguard(*command, "--cluster", tmp_path / "cluster.json").out
    stated = draguard(*command, "--cluster", tmp_path / "cluster.json", "--kubernetes-version", "1.35")
    assert "as Kubernetes 1.35" in stated.out


MADE_FOR_RELEASES = """
- apiVersion: v1
  kind: Node
  metadata: {name: n}
  status: {nodeInfo: {kubeletVersion: v1.34.2-gke.1}, allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {containers: [{name: c, image: i}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: s}
  spec: {driver: d.io, nodeName: n, pool: {name: n, generation: 1, resourceSliceCount: 1}, devices: [{name: a}]}
"""
