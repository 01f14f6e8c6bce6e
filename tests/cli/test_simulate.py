"""``draguard simulate``, ``match`` and ``snapshot``, as their users see them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from functools import reduce
from importlib import import_module
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli.simulating import CLUSTER, DEPLOYMENT, simulated
from tests.command import ROOT, draguard, reported
from tests.simulation import clusters
from tests.structured import claim
from webhook.budget import DeadlineExceededError, current
from webhook.cli import main
from webhook.cli.console import progress
from webhook.cli.options.cluster import read_cluster
from webhook.simulation import Scheduler
from webhook.simulation.answers import Answers
from webhook.simulation.replicas import Fit, fit

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.inventory import Inventory
    from webhook.simulation.scheduler import Placement


def nodes(*arguments: str | Path) -> list[str | None]:
    return [each["node"] for each in simulated(DEPLOYMENT, "--cluster", CLUSTER, *arguments)]


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
        pod.write_text(
            "{apiVersion: v1, kind: Pod, metadata: {name: waits}, spec: {containers: [{name: c, image: i}]}}"
        )
        (found,) = simulated("--cluster", CLUSTER, "--cluster", pod)
        assert (found["name"], found["node"]) == ("waits", "node-a")

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

    def test_takes_one_kind_of_pod(self, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}")
        done = draguard("simulate", DEPLOYMENT, pod, "--cluster", CLUSTER, "--fit")
        assert done.code == 2
        assert "--fit takes one pod or workload" in done.err

    def test_a_daemon_set_has_one_pod_on_each_node(self, tmp_path: Path) -> None:
        workload = tmp_path / "daemonset.yaml"
        spec = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
        workload.write_text(
            json.dumps({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec})
        )
        done = draguard("simulate", workload, "--cluster", CLUSTER, "--fit")
        assert done.code == 2
        assert "--fit counts copies of one pod, and DaemonSet default/d has one pod on each node" in done.err

    @pytest.mark.parametrize("options", [(), ("--pending",)])
    def test_a_cluster_without_pending_pods_is_fine(self, options: tuple[str, ...]) -> None:
        done = draguard("simulate", "--cluster", CLUSTER, *options)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("no pod is pending\n")


class TestNames:
    @pytest.mark.parametrize("name", ["team-x/train-1-0", "train-1-0"])
    def test_a_pod_of_the_cluster(self, name: str) -> None:
        done = draguard("why", name, "--cluster", CLUSTER)
        assert (done.code, done.out.splitlines()[0]) == (0, "team-x/train-1-0: already scheduled on node-a")

    def test_only_that_pod(self, tmp_path: Path) -> None:
        pods = [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space}, "spec": spec}
            for space, name in (("a", "one"), ("b", "one"), ("b", "two"))
            for spec in [{"containers": [{"name": "c", "image": "i"}]}]
        ]
        (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
        cluster = ("--cluster", CLUSTER, "--cluster", tmp_path)
        assert draguard("why", "two", "-q", *cluster).out.startswith("b/two: node-")
        assert "1 pod: 1 scheduled" in draguard("why", "two", *cluster).out
        assert (
            "several pods of the cluster have this name: did you mean a/one, b/one?"
            in draguard("why", "one", *cluster).err
        )
        assert draguard("why", "one", "-n", "b", "-q", *cluster).out.startswith("b/one: node-")
        assert draguard("why", "a/one", "-n", "b", "-q", *cluster).out.startswith("a/one: node-")
        done = draguard("why", "two", "-n", "a", *cluster)
        why = "two: no file and no pod of namespace a has this name: did you mean b/two?"
        assert (done.code, why in done.err) == (2, True)


@pytest.mark.parametrize("command", [("simulate",), ("simulate", "--fit"), ("match",)])
def test_yaml_holds_what_json_does(command: tuple[str, ...]) -> None:
    as_json, as_yaml = (draguard(*command, DEPLOYMENT, "--cluster", CLUSTER, "-o", each) for each in ("json", "yaml"))
    assert yaml.safe_load(as_yaml.out) == json.loads(as_json.out)
    assert as_json.code == as_yaml.code


class TestWrongUse:
    @pytest.mark.parametrize(
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
            (
                ("trian-1-0", "--cluster", CLUSTER),
                "no pod of the cluster has this name: did you mean team-x/train-1-0?",
            ),
            (("team-x/trian-1-0", "--cluster", CLUSTER), "did you mean team-x/train-1-0?"),
            (("train-1", "--cluster", CLUSTER), "did you mean team-x/train-1-0?"),
            (("web", "--cluster", CLUSTER), "the cluster has team-x/train-1-0, team-x/train-2-0"),
            (("web", "--cluster", ROOT / "examples/v1/deviceclass.yaml"), "the cluster has no pods"),
            (("web.yaml", "--cluster", CLUSTER), "web.yaml: error unreadable: no such file or directory"),
            (("web",), "web: no such file; a pod is named together with its cluster: --cluster"),
        ],
    )
    def test_is_reported(self, arguments: tuple[str | Path, ...], message: str) -> None:
        done = draguard("simulate", *arguments)
        assert message in done.err
        assert done.code == 2

    @pytest.mark.parametrize(
        ("replicas", "message"),
        [(0, "the workloads have no replicas, or are DaemonSets"), (1_000_000_000, "more than 150,000 pods")],
    )
    def test_workloads_with_no_or_too_many_pods(self, replicas: int, message: str, tmp_path: Path) -> None:
        workload = tmp_path / "deployment.yaml"
        spec = {"replicas": replicas, "template": {"spec": {"containers": []}}}
        workload.write_text(
            json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
        )
        done = draguard("simulate", workload, "--cluster", CLUSTER)
        assert (done.code, message in done.err) == (2, True)

    def test_a_file_that_is_not_there(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", "nowhere.yaml")
        assert (done.code, "no such file" in done.err) == (2, True)

    def test_a_malformed_manifest(self, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: 1}}")
        done = draguard("simulate", pod, "--cluster", CLUSTER)
        assert f"{pod}:1:1: error unreadable: Pod p: spec.containers: json: cannot unmarshal number" in done.err
        assert done.code == 1
        pod.write_text(
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {containers: 1}}}}"
        )
        done = draguard("simulate", pod, "--cluster", CLUSTER)
        message = "Pod d-XXXXX: spec.containers: json: cannot unmarshal number"
        assert f"{pod}:1:1: error unreadable: {message}" in done.err
        assert done.code == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestTime:
    def test_it_is_said_which_pods_are_left_out(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--timeout", "1e-9")
        assert done.code == 1
        pods = ", ".join(f"team-y/inference-XXXXX-{number}" for number in range(3))
        over = "1e-09 seconds have passed while files were read; give a longer --timeout"
        assert done.err == f"not simulated: 3 of 3 pods ({pods}): {over}\n"
        assert "pending" not in done.out

    def test_json_has_them_all(self) -> None:
        found = simulated(DEPLOYMENT, "--cluster", CLUSTER, "--timeout", "1e-9")
        assert [each["why"]["reason"] for each in found] == [
            "not simulated: 1e-09 seconds have passed while files were read"
        ] * 3
        assert found[0].keys() == simulated(DEPLOYMENT, "--cluster", CLUSTER)[0].keys()
        assert found[0]["why"].keys() == simulated(DEPLOYMENT, "--cluster", CLUSTER)[0]["why"].keys()

    def test_fit_says_that_more_may_fit(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit", "--timeout", "1e-9")
        assert (done.code, done.err) == (
            1,
            "more pods may fit: 1e-09 seconds have passed while files were read; give a longer --timeout\n",
        )

    def test_reading_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def slow(*arguments: Any, **options: Any) -> Inventory:
            sleep(0.1)
            return read_cluster(*arguments, **options)

        monkeypatch.setattr(import_module("webhook.cli.simulate"), "read_cluster", slow)
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--timeout", "0.1")
        assert "not simulated: 3 of 3 pods" in done.err

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

        monkeypatch.setattr(import_module("webhook.cli.simulate"), "fit", late)
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit")
        assert (done.code, done.err) == (0, "")
        assert "there was no time to try all changes: others may help, too" in done.out

    def test_fit_counts_pods_although_there_is_no_time_to_explain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def late(*_: object) -> None:
            raise DeadlineExceededError

        monkeypatch.setattr(Answers, "of", late)
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("1 pod like team-y/inference-XXXXX-0 fits\n")
        assert "then no node takes another: not explained: 300 seconds have passed\n" in done.out

    def test_progress_is_shown_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        monkeypatch.setattr(progress, "_EVERY", 0.0)
        with redirect_stdout(io.StringIO()), redirect_stderr(Terminal()) as terminal:
            main(["simulate", str(DEPLOYMENT), "--cluster", str(CLUSTER)])
        assert "\r\x1b[K4 documents\r" in terminal.getvalue()  # the cluster
        assert "0 of 3 pods, 1 checks of nodes" in terminal.getvalue()
        assert "1 of 3 pods, 5 checks of nodes" in terminal.getvalue()
        assert terminal.getvalue().endswith("\r\x1b[K")

    @pytest.mark.parametrize("time", ["0", "-1", "soon", "inf", "nan"])
    def test_the_time_is_a_positive_number(self, time: str) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, f"--timeout={time}")
        assert done.code == 2
        assert f"{time!r} is not a positive number of seconds" in done.err


class TestText:
    """Reports of unusual outcomes."""

    def result(self, tmp_path: Path, *objects: dict[str, Any], options: tuple[str, ...] = ()) -> str:
        file = tmp_path / "cluster.yaml"
        versions = {"Node": "v1", "Pod": "v1", "PriorityClass": "scheduling.k8s.io/v1"}
        for each in objects:
            each.setdefault("apiVersion", versions.get(each["kind"], "resource.k8s.io/v1"))
        file.write_text(yaml.safe_dump_all(objects))
        return draguard("simulate", "--cluster", file, *options).out

    def test_devices_that_are_not_ready_are_waited_for(self, tmp_path: Path) -> None:
        ready = clusters.devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        objects = (clusters.device_class(), ready, clusters.node("a"), clusters.claim())
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "default/p: waiting for binding conditions for device on node a\n  c: gpu.example.com/a/d0\n" in text
        assert "1 pod: 1 waiting for devices" in text

    @pytest.mark.parametrize(("node", "result"), [("a", "(a)"), ("b", "(b, which does not exist)")])
    def test_a_pod_past_the_scheduler_never_runs(self, node: str, result: str, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.pod(claims={"gpu": "c"}, nodeName=node)}))
        text = self.result(tmp_path, clusters.node("a"), clusters.claim(), options=(str(pod),))
        assert f"default/p: pending: it names its node itself {result}, so its claims are not allocated" in text
        assert "1 pod: 1 pending" in text

    def test_a_pod_past_the_scheduler_fails_the_run(self, tmp_path: Path) -> None:
        pod = tmp_path / "pod.yaml"
        pod.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.pod(claims={"gpu": "c"}, nodeName="a")}))
        cluster = tmp_path / "cluster.yaml"
        cluster.write_text(yaml.safe_dump({"apiVersion": "v1", **clusters.node("a")}))
        assert draguard("simulate", pod, "--cluster", cluster).code == 1

    def test_what_a_pending_pod_refers_to_is_looked_up(self, tmp_path: Path) -> None:
        text = self.result(
            tmp_path, clusters.node("a"), clusters.claim("cshared"), clusters.pod(claims={"gpu": "cshard"})
        )
        assert "note: ResourceClaim" in text
        assert 'did you mean "cshared"?' in text

    def test_a_claim_that_cannot_be_reserved_again(self, tmp_path: Path) -> None:
        claim = clusters.allocated("c", "a", "d0", "other")
        del claim["status"]["allocation"]["allocationTimestamp"]
        text = self.result(tmp_path, clusters.node("a"), claim, clusters.pod(claims={"gpu": "c"}))
        assert 'default/p: pending: running PreBind plugin "DynamicResources": ' in text
        assert "note: claim default/c was allocated without allocationTimestamp" in text
        assert "1 pod: 1 pending\n" in text

    def test_a_missing_template_is_reported_though_the_scheduler_has_no_message(self, tmp_path: Path) -> None:
        text = self.result(tmp_path, clusters.node("a"), clusters.pod(claims={"gpu": "t"}))
        assert 'default/p: pending: pod "default/p": ResourceClaim not created yet' in text

    def test_many_kinds_of_nodes(self, tmp_path: Path) -> None:
        nodes = [clusters.node(f"n{number}") for number in range(9)]
        slices = [clusters.devices(f"n{number}", number) for number in range(9)]
        objects = (clusters.device_class(), *nodes, *slices, clusters.claim(count=12))
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "nodes more, for other reasons (--output json has all)" in text
        assert "\n  n8, request r: 8 devices, 8 of the class; 12 are wanted\n  n7, request r: 7 devices" in text

    def test_numbers_of_large_clusters_are_the_least(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.rejections._LOOKED_AT_MAX", 5)
        monkeypatch.setattr("webhook.simulation.changes.cluster.NODES_MAX", 4)
        names = [f"n{number}" for number in range(6)]
        objects = [clusters.device_class(), clusters.claim(count=2), clusters.pod(claims={"gpu": "c"})]
        objects += [clusters.node(name) for name in names] + [clusters.devices(name, 2) for name in names]
        objects += [clusters.allocated(f"of-{name}", name) for name in names]
        text = self.result(tmp_path, *objects)
        assert "claim default/of-n2 on n2 (used by no pod), and at least 2 other claims; 2 are wanted\n" in text
        assert "with count 1 in request r: at least 4 nodes\n" in text
        assert "once claim default/of-n0 is released (used by no pod): at least 1 node\n" in text

    def test_pending_pods_of_other_namespaces_compete_but_are_not_reported(self, tmp_path: Path) -> None:
        pods = [clusters.pod(requests={"cpu": "5"}) for _ in "ab"]
        for each, namespace in zip(pods, "ab", strict=True):
            each["metadata"]["namespace"] = namespace
        objects = (clusters.node("one"), *pods)
        assert self.result(tmp_path, *objects, options=("-n", "a", "-q")) == "a/p: one\n"
        text = self.result(tmp_path, *objects, options=("-n", "b"))
        assert text.startswith("b/p: pending: ")
        assert "1 pod: 1 pending\n" in text
        assert self.result(tmp_path, *objects, options=("-n", "c")).startswith("no pod of namespace c is pending\n")
        assert json.loads(self.result(tmp_path, *objects, options=("-n", "c", "-o", "json"))) == []
        assert self.result(tmp_path, *objects, options=("-n", "a", "--fit")).startswith("1 pod like a/p fits\n")

    def test_requests_that_fit_alone(self, tmp_path: Path) -> None:
        one = clusters.claim("c")
        one["spec"]["devices"]["requests"].append({"name": "s", "exactly": {"deviceClassName": "gpu"}})
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a"), one)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "a: each request alone can be met, but not all of them together" in text

    def test_constraints(self, tmp_path: Path) -> None:
        one = clusters.claim(count=2)
        one["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/x"}]
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a", 2), one)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        missing = "attribute gpu.example.com/x, which a constraint compares, is not published; 2 are wanted"
        assert f"0 with the same gpu.example.com/x: {missing}" in text

    def test_nodes_without_devices(self, tmp_path: Path) -> None:
        objects = (clusters.device_class(), clusters.node("new"), clusters.claim())
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "  new, request r: 0 devices: no ResourceSlice has devices for the node\n" in text

    def test_nodes_with_one_text(self, tmp_path: Path) -> None:
        pools = [clusters.devices(name, 2, attributes={"model": {"string": "a100"}}) for name in "ab"]
        pools[0]["spec"]["devices"][0]["attributes"] = {"model": {"string": "h100"}}
        other = clusters.device_class("other")
        other["spec"]["selectors"] = [clusters.selector('device.driver == "other"')]
        claim = clusters.claim(selectors=[clusters.selector('device.attributes["gpu.example.com"].model == "a100"')])
        claim["spec"]["devices"]["requests"].append({"name": "s", "exactly": {"deviceClassName": "other"}})
        nodes = [clusters.node(name) for name in "ab"]
        text = self.result(
            tmp_path, clusters.device_class(), other, *nodes, *pools, claim, clusters.pod(claims={"gpu": "c"})
        )
        assert "\n  a, b, request s: 2 devices, 0 of the class" in text

    def test_requests_that_compete(self, tmp_path: Path) -> None:
        claims = clusters.claim("c", count=2), clusters.claim("other")
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a", 2), *claims)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c", "other": "other"}))
        both = "request r of claim default/c and request r of claim default/other"
        why = "each request alone can be met, but not all of them together"
        assert f"  a: {why}: {both} want 3 devices, and 2 are left for them together\n" in text

    def test_a_gate_that_is_off(self, tmp_path: Path) -> None:
        bound = clusters.devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        objects = (clusters.device_class(), clusters.node("a"), bound, clusters.claim())
        gate = ("--feature-gates", "DRADeviceBindingConditions=false")
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}), options=gate)
        assert "0 selected: it has binding conditions, and the feature gate DRADeviceBindingConditions is off\n" in text

    def test_a_device_that_failed_is_given_back_and_waited_for_again(self, tmp_path: Path) -> None:
        ready = clusters.devices("a", 1, bindingConditions=["attached"], bindingFailureConditions=["failed"])
        claim = clusters.allocated("c", "a", "d0", "p")
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        result |= {"bindingConditions": ["attached"], "bindingFailureConditions": ["failed"]}
        failed = {"type": "failed", "status": "True", "reason": "r", "message": "", "lastTransitionTime": None}
        where = {name: result[name] for name in ("driver", "pool", "device")}
        claim["status"]["devices"] = [{**where, "conditions": [failed]}]
        objects = (clusters.device_class(), clusters.node("a"), ready, claim)
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "deallocation of ResourceClaim completed" in text
        assert text.startswith("default/p: waiting for binding conditions for device on node a\n")

    def test_counters_that_devices_share(self, tmp_path: Path) -> None:
        consumed = [{"counterSet": "set", "counters": {"memory": {"value": "2Gi"}}}]
        pool = {"name": "a", "generation": 1, "resourceSliceCount": 2}
        parts, sets = clusters.devices("a", 3, consumesCounters=consumed), clusters.devices("a", 0)
        parts["spec"]["pool"] = sets["spec"]["pool"] = pool
        sets["metadata"]["name"], sets["spec"]["devices"] = "counters", None
        sets["spec"]["sharedCounters"] = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]
        objects = (clusters.device_class(), clusters.node("a"), parts, sets, clusters.claim(count=3))
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        short = "counter memory of set: 4Gi is left, 3 devices consume 6Gi at least; 3 are wanted"
        assert f"3 devices, 3 of the class, 2 together: {short}" in text
        held = [clusters.allocated(f"held{number}", "a", f"d{number}") for number in range(2)]
        text = self.result(tmp_path, *objects[:-1], held[0], clusters.claim(count=2), clusters.pod(claims={"gpu": "c"}))
        short = "counter memory of set: 2Gi is left, 2 devices consume 4Gi at least"
        assert f"1 together: {short}, held by claim default/held0 (used by no pod); 2 are wanted" in text
        assert "once claim default/held0 is released (used by no pod): 1 node" in text
        text = self.result(tmp_path, *objects[:-1], *held, clusters.claim(), clusters.pod(claims={"gpu": "c"}))
        held_by = "held by claim default/held0 (used by no pod), claim default/held1 (used by no pod)"
        assert f"1 free, 0 with enough counters: set lacks memory (0 left, 2Gi consumed), {held_by}\n" in text

    @pytest.mark.parametrize(
        ("nodes", "result"),
        [(1, "a\n"), (2, "a (or 1 other node that suits it as well)\n"), (3, "a (or one of 2 other")],
    )
    def test_nodes_that_suit_alike_are_counted(self, nodes: int, result: str, tmp_path: Path) -> None:
        made = [clusters.node(name) for name in "abc"[:nodes]]
        assert self.result(tmp_path, *made, clusters.pod()).startswith(f"default/p: {result}")

    def test_copies_share_a_claim_by_name(self, tmp_path: Path) -> None:
        limited = clusters.pod(claims={"gpu": "c"}, requests={"cpu": "5"})
        nodes = [clusters.node(name) for name in "ab"]
        objects = (clusters.device_class(), clusters.devices("a"), *nodes, clusters.claim())
        text = self.result(tmp_path, *objects, limited, options=("--fit",))
        assert "claim default/c (pod p-0, counted here) has its devices on a" in text
        assert "all these pods share claim default/c: with a ResourceClaimTemplate, each has its own" in text
        assert "is released" not in text

    def test_taints_are_named(self, tmp_path: Path) -> None:
        taints = [
            {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
            {"key": "team", "value": "a", "effect": "NoSchedule"},
        ]
        nodes = [clusters.node(name, {"taints": [taint]}) for name, taint in zip("ab", taints, strict=True)]
        text = self.result(tmp_path, *nodes, clusters.pod())
        untolerated = "node(s) had untolerated taint(s)"
        assert f"  a: {untolerated}: node.kubernetes.io/not-ready:NoSchedule (until the node is ready)\n" in text
        assert f"  b: {untolerated}: team=a:NoSchedule\n" in text

    def test_amounts_are_named(self, tmp_path: Path) -> None:
        nodes = [clusters.node("a"), clusters.node("b", memory="8Gi")]
        text = self.result(tmp_path, *nodes, clusters.pod(requests={"cpu": "8500m", "memory": "20Gi"}))
        amounts = "cpu 8500m wanted, 8 of 8 free; memory 20Gi wanted, at most 16Gi of 16Gi free"
        assert f"  a, b: Insufficient cpu, Insufficient memory: {amounts}\n" in text

    def test_pools_that_are_not_used(self, tmp_path: Path) -> None:
        pools = [clusters.devices(name, 2) for name in "ab"]
        for each in pools:
            each["spec"]["pool"]["resourceSliceCount"] = 2
        nodes = [clusters.node(name) for name in "ab"]
        text = self.result(
            tmp_path, *pools, *nodes, clusters.device_class(), clusters.claim(), clusters.pod(claims={"gpu": "c"})
        )
        assert (
            "  a, b, request r: 0 devices; not used: 2 devices of pool gpu.example.com/a, which is incomplete: "
            "1 of 2 slices of generation 1, and 2 devices of 1 other pool\n" in text
        )

    def test_many_devices_are_counted(self, tmp_path: Path) -> None:
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a", 12), clusters.claim(count=12))
        text = self.result(tmp_path, *objects, clusters.pod(claims={"gpu": "c"}))
        assert "gpu.example.com/a/d7, and 4 more" in text

    def test_an_older_release_may_decide_otherwise(self, tmp_path: Path) -> None:
        other = clusters.devices("a", 1)
        other["metadata"]["name"], other["spec"]["pool"] = "b", {"name": "b", "generation": 1, "resourceSliceCount": 1}
        objects = (clusters.device_class(), clusters.node("a"), clusters.devices("a"), other, clusters.claim())
        pod = clusters.pod(claims={"gpu": "c"})
        text = self.result(tmp_path, *objects, pod, options=("--kubernetes-version", "1.34"))
        assert "note: the scheduler could also decide otherwise" in text

    def test_an_unbounded_cost_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.simulation.replicas.MOST", 3)
        text = self.result(tmp_path, clusters.node("a"), clusters.pod(), options=("--fit",))
        assert text.startswith("at least 3 pods like default/p fit\n  a: 3\n")

    def test_nothing_fits(self, tmp_path: Path) -> None:
        full = clusters.node("a", cpu="1")
        text = self.result(tmp_path, full, clusters.pod(requests={"cpu": "2"}), options=("--fit",))
        assert text.startswith("no pod like default/p fits: 1 node has too little cpu: cpu 2 wanted, 1 of 1 free\n")
        assert "  a: Insufficient cpu" in text
        assert draguard("simulate", "--cluster", tmp_path / "cluster.yaml", "--fit").code == 1


RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, namespace: team-y}
spec:
  headGroupSpec:
    template: {spec: {containers: [{name: head, image: i}]}}
  workerGroupSpecs:
  - template:
      spec:
        containers: [{name: worker, image: i, resources: {claims: [{name: gpu}]}}]
        resourceClaims: [{name: gpu, resourceClaimTemplateName: large-gpu}]
"""


def test_pods_of_other_projects_are_scheduled(tmp_path: Path) -> None:
    (tmp_path / "ray.yaml").write_text(RAY)
    answers = simulated(tmp_path / "ray.yaml", "--cluster", CLUSTER)
    assert [each["name"].startswith("ray-") for each in answers] == [True, True]


def test_kustomizations_are_rendered(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("namePrefix: my-\nresources: [pod.yaml]\n")
    (tmp_path / "pod.yaml").write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"
    )
    done = draguard("simulate", tmp_path, "--cluster", CLUSTER, "--output", "json")
    assert [each["name"] for each in json.loads(done.out)] == ["my-p"], done.err
    assert "name: my-p" in draguard("mutate", tmp_path).out
