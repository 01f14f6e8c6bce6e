"""``draguard why``: what may be asked, what is printed, and what it takes."""

import json
from pathlib import Path

import yaml

from tests.command import ROOT, draguard, usage_error
from tests.rows import each_row
from tests.scan.clusters import made
from tests.schemas import Validator, closed, schema
from webhook.objects import JSONObject

CLUSTER = ROOT / "examples/why/cluster.yaml"


class TestAsked:
    @each_row(
        ("arguments", "first"),
        (("notebook", "-n", "ml"), "ml/notebook: claim gpu not created: "),
        (("notebook",), "ml/notebook: claim gpu not created: "),
        (("ml/notebook",), "ml/notebook: "),
        (("pod/notebook", "-n", "ml"), "ml/notebook: "),
        (("po/ml/notebook",), "ml/notebook: "),
        (("deploy/chat", "-n", "ml"), "ml/deployment/chat: the rolling update of Deployment ml/chat waits"),
        (("replicaset/chat-7d9b", "-n", "ml"), "ml/replicaset/chat-7d9b: the rolling update"),
        (("resourceclaim/chat-7d9b-c3-gpu-x1", "-n", "ml"), "ml/claim/chat-7d9b-c3-gpu-x1: the rolling update"),
        (("ds/dra-example-driver",), "dra-example-driver/daemonset/dra-example-driver: pod dra-example-driver-6nr2"),
        (("ml/deployment/chat",), "ml/deployment/chat: the rolling update"),
        (("ml/claim/chat-7d9b-c3-gpu-x1",), "ml/claim/chat-7d9b-c3-gpu-x1: the rolling update"),
        (("deployment.apps/chat", "-n", "ml"), "ml/deployment/chat: the rolling update"),
        (("pod", "notebook", "-n", "ml"), "ml/notebook: claim gpu not created: "),
        (("deploy", "chat"), "ml/deployment/chat: the rolling update"),
        (("node/gpu-2",), "node/gpu-2: driver gpu.example.com publishes nothing there: "),
    )
    def test_it_is_found(self, arguments: tuple[str, ...], first: str) -> None:
        done = draguard("why", *arguments, "--cluster", CLUSTER)
        assert (done.code, done.err) == (1, "")
        assert done.out.startswith(first)

    def test_what_is_well_has_exit_code_0(self) -> None:
        done = draguard("why", "chat-6c5f-a1", "--cluster", CLUSTER)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("ml/chat-6c5f-a1: runs on gpu-1 with gpu.example.com/gpu-1/gpu-0; nothing is wrong")

    @each_row(
        ("arguments", "said"),
        (("notebok", "-n", "ml"), "no such file, and namespace ml has no pod notebok: did you mean notebook?"),
        (("pod/notebok", "-n", "ml"), "pod/notebok: namespace ml has no pod notebok: did you mean notebook?"),
        (("chat", "-n", "ml"), "did you mean chat-6c5f-a1, chat-6c5f-b2, chat-7d9b-c3, deployment/chat?"),
        (("deployment/chatt", "-n", "ml"), "namespace ml has no Deployment chatt: did you mean deployment/chat?"),
        (("node/gpu-9",), "the cluster has no Node gpu-9, but gpu-1, gpu-2"),
        (("job/x",), "job/x: namespace default has no Job x\n"),
        (("notebok",), "namespace default has no pod notebok: did you mean ml/notebook?"),
        (("chat",), "did you mean ml/chat-6c5f-a1, ml/chat-6c5f-b2, ml/chat-7d9b-c3"),
        (("deployment/x",), "namespace default has no Deployment x. The cluster has deployment/ml/chat"),
        (("default/notebook",), "did you mean ml/notebook?"),
    )
    def test_what_is_not_there_is_a_mistake(self, arguments: tuple[str, ...], said: str) -> None:
        assert said in usage_error("why", *arguments, "--cluster", CLUSTER)

    @each_row(
        ("arguments", "is_there"),
        (("raycluster/ray",), True),
        (("RayCluster/ray",), True),
        (("rayclusters.ray.io/ray", "-n", "ml"), True),
        (("ml/raycluster/ray",), True),
        (("other/raycluster/ray",), False),
        (("RayCluster/ray", "-n", "other"), False),
        (("RayCluster/other", "-n", "ml"), False),
    )
    def test_owners_of_other_projects_are_explained_by_their_pods(
        self, arguments: tuple[str, ...], is_there: bool, tmp_path: Path
    ) -> None:
        owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "ray", "uid": "1", "controller": True}
        metadata = {"name": "worker", "namespace": "ml", "uid": "2", "ownerReferences": [owner]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "gpu-1"}}
        (tmp_path / "pod.json").write_text(json.dumps({**pod, "status": {"phase": "Succeeded"}}))
        done = draguard("why", *arguments, "--cluster", CLUSTER, "--cluster", tmp_path / "pod.json")
        assert done.out.startswith("ml/raycluster/ray: pod worker: ") is is_there, done

    def test_of_many_parts_only_the_first_are_shown(self) -> None:
        owner = {"kind": "JobSet", "name": "train", "uid": "set", "controller": True}
        jobs = [made("Job", f"train-{n}", "ml", version="batch/v1", spec={"suspend": True}) for n in range(100)]
        for job in jobs:
            job["metadata"]["ownerReferences"] = [owner]
        stored = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*jobs, made("Pod", "p", "ml", spec={})]})
        done = draguard("why", "ml/jobset/train", "--cluster", "-", stdin=stored.encode())
        assert done.out.count("and 79 more (--output json has all)") == 1
        assert len(done.out.splitlines()) < 50

    def test_an_owner_without_a_kind_is_none(self, tmp_path: Path) -> None:
        metadata = {"name": "worker", "namespace": "ml", "ownerReferences": [{"name": "ray"}]}
        (tmp_path / "pod.json").write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}))
        assert "ray: no such file, and " in usage_error("why", "ray", "-n", "ml", "--cluster", tmp_path / "pod.json")

    def test_pods_that_were_not_collected_are_not_gone(self, tmp_path: Path) -> None:
        documents = yaml.safe_load_all(CLUSTER.read_text(encoding="utf-8"))
        objects = [item for each in documents if each for item in each.get("items", [each]) if item["kind"] != "Pod"]
        (tmp_path / "c.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        said = usage_error("why", "notebook", "-n", "ml", "--cluster", tmp_path)
        assert "--cluster has no Pods: collect those of namespace ml, too" in said

    def test_a_name_needs_a_cluster(self) -> None:
        done = draguard("why", "notebook")
        nowhere = "to ask about an object in a cluster, give --cluster or --live"
        assert (done.code, nowhere in done.err) == (2, True)

    @each_row(
        ("arguments", "said"),
        (["/"], "/: a directory: give [NAMESPACE/]NAME of a pod or KIND/NAME, or a manifest"),
        (["node/a", "node/b"], "node/a: one of several: ask about one object at a time"),
        (["deviceclass/x"], "The kinds that can be asked about are pod, deployment, statefulset, daemonset, "),
        (
            ["RayJob/x", "-n", "ml"],
            "RayJob/x: namespace ml has no RayJob x. The kinds that can be asked about are pod, ",
        ),
        (["svc/x"], "svc/x: no such file. Kind svc is not one of a pod's owners, and the cluster has no pod in a "),
    )
    def test_what_cannot_be_asked_about(self, arguments: list[str], said: str) -> None:
        assert said in usage_error("why", *arguments, "--cluster", CLUSTER)

    @each_row(
        "arguments",
        (),
        ("ml/notebook", "--release", "ml/chat-6c5f-a1-gpu-x1"),
        ("--pending",),
        (ROOT / "examples/simulate/deployment.yaml",),
    )
    def test_all_else_is_simulated(self, arguments: tuple[str | Path, ...]) -> None:
        done = draguard("why", *arguments, "--cluster", CLUSTER)
        assert done.out == draguard("simulate", *arguments, "--cluster", CLUSTER).out
        assert "simulated as Kubernetes 1.36.3; " in done.out

    def test_gates_and_release_are_read_from_the_cluster_unless_they_are_stated(self) -> None:
        gates = ("--feature-gates", "GangScheduling=true")
        for options, release in (((), "1.36.3"), (("--kubernetes-version", "1.35", *gates), "1.35")):
            done = draguard("why", "notebook", "--cluster", CLUSTER, "-o", "json", *options)
            assert (json.loads(done.out)["kubernetes"], done.err) == (release, "")
        said = usage_error("why", "notebook", "--cluster", CLUSTER, "--kubernetes-version", "1.29")
        assert "give 1.31 or later" in said


class TestOutput:
    def test_the_schema_describes_every_key(self) -> None:
        validator = Validator(closed(schema("why")))
        for asked in ("ml/notebook", "node/gpu-1", "claim/ml/chat-6c5f-a1-gpu-x1", "deployment/ml/chat"):
            answer = json.loads(draguard("why", asked, "--cluster", CLUSTER, "--output", "json").out)
            validator.validate(answer)
            assert answer["cause"].startswith(f"{answer['asked']}: ")

    def test_nothing_of_a_cluster_reaches_the_terminal_raw(self, tmp_path: Path) -> None:
        hostile = "\x1b[31m::error::\u202e\n##[group]"
        spec = {"containers": [{"name": hostile}], "nodeName": "a", "resourceClaims": [{"name": hostile}]}
        pod: JSONObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "1"}, "spec": spec}
        waiting = {"name": hostile, "state": {"waiting": {"reason": hostile, "message": hostile}}}
        pod["status"] = {"phase": "Pending", "containerStatuses": [waiting], "reason": hostile, "message": hostile}
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"uid": "1"}}
        events = [{**event, "reason": hostile, "message": hostile * 99, "type": "Warning", "lastTimestamp": hostile}]
        cluster = tmp_path / "cluster.json"
        cluster.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [pod, *events]}), encoding="utf-8")
        for form in ("text", "json", "yaml"):
            done = draguard("why", "p", "--cluster", cluster, "--output", form)
            assert done.code == 1
            assert not {"\x1b", "\u202e"} & {*done.out, *done.err}
            assert form == "yaml" or "##[" not in done.out
            assert not [line for line in done.out.splitlines() if line.strip().startswith("::")]
        assert "\n" not in json.loads(draguard("why", "p", "--cluster", cluster, "-o", "json").out)["cause"]

    def test_objects_that_cannot_be_read_are_named(self, tmp_path: Path) -> None:
        wrong = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": 1}
        (tmp_path / "wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
        done = draguard("why", "notebook", "--cluster", CLUSTER, "--cluster", tmp_path)
        assert done.out.startswith("ml/notebook: claim gpu not created")
        assert "note: not read: ResourceClaim c: spec:" in done.err
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gone"}]},
            "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]},
        }
        (tmp_path / "pod.json").write_text(json.dumps(pod), encoding="utf-8")
        done = draguard("why", "p", "--cluster", CLUSTER, "--cluster", tmp_path)
        assert done.out.startswith("default/p: ResourceClaim default/c cannot be decoded\n")

    def test_a_claim_that_cannot_be_read_is_not_missing(self) -> None:
        pod = made("Pod", "p", "ml", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]}, status={})
        claim = made("ResourceClaim", "c", "ml", version="resource.k8s.io/v1", spec=1)
        stored = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod, claim]}).encode()
        done = draguard("why", "p", "-n", "ml", "--cluster", "-", stdin=stored)
        assert done.out.startswith("ml/p: ResourceClaim ml/c cannot be decoded\n")

    def test_a_claim_that_cannot_be_read_needs_its_template_no_more(self) -> None:
        spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "deleted"}]}
        made_of = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
        pod = made("Pod", "p", "ml", spec=spec, status=made_of)
        claim = made("ResourceClaim", "c", "ml", version="resource.k8s.io/v1", spec=1)
        stored = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod, claim]}).encode()
        done = draguard("why", "p", "-n", "ml", "--cluster", "-", stdin=stored)
        assert done.out.startswith("ml/p: ResourceClaim ml/c cannot be decoded\n")

    def test_a_node_that_cannot_be_read_is_not_gone(self) -> None:
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        pod = made("Pod", "p", spec={"nodeName": "a"}, status=running)
        nodes = [made("Node", "a", status={"allocatable": {"cpu": "x!"}}), made("Node", "b", status={})]
        stored = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod, *nodes]}).encode()
        done = draguard("why", "pod/p", "--cluster", "-", stdin=stored)
        assert (done.code, "does not exist" in done.out, "not read: Node a" in done.err) == (0, False, True)

    def test_a_job_without_a_template_waits_for_kueue(self) -> None:
        job = made("Job", "train", "ml", version="batch/v1", spec={"suspend": True, "template": "x"})
        job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gpus"}
        stored = json.dumps({"apiVersion": "v1", "kind": "List", "items": [job, made("Node", "n", status={})]}).encode()
        done = draguard("why", "job/train", "-n", "ml", "--cluster", "-", stdin=stored)
        waits = "is suspended (spec.suspend): Kueue has not admitted it, in queue gpus"
        assert done.out.startswith(f"ml/job/train: {waits}\n")

    def test_a_pod_that_is_gone_is_known_by_its_events(self, tmp_path: Path) -> None:
        about = {"kind": "Pod", "namespace": "ml", "name": "old", "uid": "gone"}
        said = {"type": "Normal", "reason": "TaintManagerEviction", "message": "Marking for deletion"}
        event = made("Event", "e", "ml", involvedObject=about, lastTimestamp="2026-11-28T09:00:00Z", **said)
        (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
        done = draguard("why", "old", "-n", "ml", "--cluster", CLUSTER, "--cluster", tmp_path)
        last = "the pod is gone; the last that is known of it: TaintManagerEviction: Marking"
        assert (done.code, done.out.startswith(f"ml/old: {last}")) == (1, True)
