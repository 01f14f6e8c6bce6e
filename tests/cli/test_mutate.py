import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.command import Done, draguard, usage_error
from tests.objects import seeded, value
from tests.rows import each_row
from webhook.documents import Document, parse

POD = """\
# a comment
apiVersion: v1
kind: Pod
metadata:
  name: pod
  namespace: default
spec:
  nodeName: node-1
  resourceClaims:
  - name: gpu
    resourceClaimName: gpu
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: deployment
spec:
  template:
    spec:
      nodeName: node-1
      resourceClaims:
      - name: gpu
        resourceClaimName: gpu
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\ndata:\n  'on': '012'\n  time: '12:30'\n"
CONTRADICTION = POD.replace("spec:", "spec:\n  nodeSelector:\n    kubernetes.io/hostname: node-2")


def objects(text: str) -> list[object]:
    found = list(parse(text))
    assert all(isinstance(document, Document) for document in found)
    return [document.data for document in found if isinstance(document, Document)]


def mutated(text: str, *options: str) -> Done:
    return draguard("mutate", *options, "-", stdin=text.encode())


class TestManifests:
    def test_a_pod_is_printed_as_it_should_be(self) -> None:
        selecting = POD.replace("nodeName: node-1", "nodeSelector:\n    kubernetes.io/hostname: node-1")
        assert mutated(POD)[:2] == (0, selecting)

    def test_a_pod_that_cannot_be_decoded_is_an_error_and_stays_as_it_is(self) -> None:
        text = POD.replace("node-1", "[node-1]")
        done = mutated(text)
        assert (done.code, done.out) == (1, text)
        assert done.err.startswith("<stdin>:8:3: error wrong-type: spec.nodeName: json: cannot unmarshal array into Go")

    def test_changes_are_reported_on_standard_error(self) -> None:
        lines = mutated(POD).err.splitlines()
        assert len(lines) == 2
        assert lines[0].startswith("<stdin>:8:3: warning prescheduled: spec.nodeName: replaced by nodeSelector ")
        assert "; NoSchedule taints of the node then apply; " in lines[0]
        assert lines[1] == "object: Pod default/pod"

    def test_a_difference_is_reported_as_what_would_change(self, tmp_path: Path) -> None:
        (tmp_path / "pod.yaml").write_text(POD)
        err = draguard("mutate", "--diff", tmp_path).err
        assert ": warning prescheduled: spec.nodeName: would be replaced by nodeSelector " in err

    def test_a_warning_stands_at_the_line_of_a_template(self) -> None:
        done = mutated(DEPLOYMENT)
        assert done.err.startswith("<stdin>:8:7: warning prescheduled: spec.template.spec.nodeName: replaced by ")

    def test_a_second_time_changes_nothing(self) -> None:
        once = mutated(f"{POD}---\n{DEPLOYMENT}").out
        done = mutated(once)
        assert (done.code, done.out, done.err) == (0, once, "")

    def test_comments_and_layout_stay(self) -> None:
        before = (
            "# top\napiVersion: v1\nkind: Pod\nmetadata: {name: pod}   # a flow\nspec:\n"
            '    nodeSelector:\n        disk: "ssd" # fast\n\n    nodeName: node-1\n    # the GPU\n'
            "    resourceClaims: [{name: gpu, resourceClaimName: gpu}]\n    containers:\n    -   name: c\n"
            f"        image: 'x'\n---\n{CONFIG_MAP}"
        )
        done = mutated(before)
        changed = before.replace("    nodeName: node-1\n", "")
        assert done.out == changed.replace("# fast\n", "# fast\n        kubernetes.io/hostname: node-1\n")

    def test_a_list_stays_a_list_and_json_stays_json(self) -> None:
        items = {"apiVersion": "v1", "kind": "List", "items": [objects(POD)[0], objects(CONFIG_MAP)[0]]}
        out = draguard("mutate", "-", stdin=json.dumps(items, indent=2).encode()).out
        assert json.loads(out)["kind"] == "List"
        assert json.loads(out)["items"][0]["spec"]["nodeSelector"] == {"kubernetes.io/hostname": "node-1"}
        assert json.loads(out)["items"][1] == items["items"][1]

    def test_the_items_of_a_typed_list_get_no_type(self) -> None:
        pod = objects(POD)[0]
        assert isinstance(pod, dict)
        bare = {name: value for name, value in pod.items() if name not in {"apiVersion", "kind"}}
        text = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [bare]})
        (item,) = json.loads(mutated(text).out)["items"]
        assert item.keys() == {"metadata", "spec"}
        assert "nodeName" not in item["spec"]

    def test_files_are_one_stream_and_values_are_none(self, tmp_path: Path) -> None:
        for name, text in {"a": POD, "b": CONFIG_MAP.rstrip(), "c": DEPLOYMENT, "values": "replicas: 2\n"}.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        done = draguard("mutate", tmp_path)
        kinds = [each["kind"] for each in objects(done.out) if isinstance(each, dict)]
        assert kinds == ["Pod", "ConfigMap", "Deployment"]
        assert done.err.startswith("not read: 1 file without a manifest\n")


class TestOptions:
    def test_the_node_can_be_selected_by_name(self) -> None:
        (pod,) = objects(mutated(POD, "--select-node-by", "name").out)
        assert isinstance(pod, dict)
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        assert pod["spec"]["affinity"] == {"nodeAffinity": required}

    @each_row(("pods", "changed"), ("claims", 0), ("all", 1))
    def test_pods_without_claims_are_changed_on_demand(self, pods: str, changed: int) -> None:
        text = POD[: POD.index("  resourceClaims")]
        done = draguard("mutate", "--patch", "--pods", pods, "-", stdin=text.encode())
        assert len(done.out.splitlines()) == changed


class TestPatches:
    def test_each_changed_document_gets_a_line_of_json(self) -> None:
        done = draguard("mutate", "--patch", "-", stdin=f"{CONFIG_MAP}---\n{POD}---\n{DEPLOYMENT}".encode())
        first, second = (json.loads(line) for line in done.out.splitlines())
        selector = {"op": "add", "path": "/spec/nodeSelector", "value": {"kubernetes.io/hostname": "node-1"}}
        patch: list[dict[str, Any]] = [{"op": "remove", "path": "/spec/nodeName"}, selector]
        inner = [{**each, "path": each["path"].replace("/spec", "/spec/template/spec")} for each in patch]
        where = {"kubernetes": "1.37", "file": "<stdin>"}
        pod = {"document": 2, "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "pod"}
        deployment = {
            "document": 3,
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "",
            "name": "deployment",
        }
        assert (first, second) == ({**where, **pod, "patch": patch}, {**where, **deployment, "patch": inner})


class TestFiles:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "a.yaml").write_text(f"{POD}---\n{DEPLOYMENT}", encoding="utf-16")
        (tmp_path / "b.yaml").write_text(CONFIG_MAP, encoding="utf-8")
        return tmp_path

    def test_they_are_changed_in_place(self, folder: Path) -> None:
        shown = draguard("mutate", folder / "a.yaml")
        inode = (folder / "b.yaml").stat().st_ino
        done = draguard("mutate", "--write", folder)
        assert done == (0, "", f"{shown.err}2 objects in 1 file changed (Kubernetes 1.37)\n")
        assert (folder / "a.yaml").read_text(encoding="utf-16") == shown.out
        assert (folder / "b.yaml").stat().st_ino == inode
        assert draguard("mutate", "-w", folder) == (0, "", "nothing to change in 2 files (Kubernetes 1.37)\n")

    def test_they_stay_if_one_may_not_be_written(self, folder: Path) -> None:
        (folder / "c.yaml").write_text(POD, encoding="utf-8")
        (folder / "c.yaml").chmod(0o444)
        before = (folder / "a.yaml").read_bytes()
        assert f"{folder}/c.yaml: not written: it is read-only" in usage_error("mutate", "--write", folder)
        assert (folder / "a.yaml").read_bytes() == before

    def test_the_changes_are_shown_on_demand(self, folder: Path) -> None:
        before = (folder / "a.yaml").read_bytes()
        diff = draguard("mutate", "--diff", folder).out.splitlines()
        assert diff[:2] == [f"--- {folder}/a.yaml", f"+++ {folder}/a.yaml"]
        removed = [line for line in diff[2:] if line.startswith("-")]
        assert removed == ["-  nodeName: node-1", "-      nodeName: node-1"]
        assert (folder / "a.yaml").read_bytes() == before

    def test_a_pod_that_contradicts_itself_stays_and_all_others_are_changed(self, folder: Path) -> None:
        wanted = draguard("mutate", folder / "a.yaml").out
        (folder / "b.yaml").write_text(CONTRADICTION, encoding="utf-8")
        done = draguard("mutate", "--write", folder)
        summary = "2 objects in 1 file changed; errors in 1 file (Kubernetes 1.37)"
        assert (done.code, done.err.splitlines()[-1]) == (1, summary)
        assert (folder / "a.yaml").read_text(encoding="utf-16") == wanted
        assert (folder / "b.yaml").read_text(encoding="utf-8") == CONTRADICTION
        again = draguard("mutate", "--write", folder / "b.yaml")
        assert (again.code, again.err.splitlines()[-1]) == (1, "errors in 1 file (Kubernetes 1.37)")

    @each_row("option", "--write", "--diff")
    def test_what_is_rendered_cannot_be_changed(self, option: str, folder: Path) -> None:
        (folder / "kustomization.yaml").write_text("resources: [a.yaml]", encoding="utf-8")
        done = draguard("mutate", option, folder)
        said = f"draguard mutate: error: {option} is unsupported for charts and kustomizations, such as {folder}"
        assert (done.code, done.err.partition(": leave")[0]) == (2, said)

    def test_standard_input_cannot_be_changed(self) -> None:
        assert "--write: standard input (-) cannot be changed" in draguard("mutate", "--write", "-", stdin=b"").err
        assert draguard("mutate", "--diff", "-", stdin=POD.encode()).out.startswith("--- <stdin>\n")


class TestRefusals:
    def test_a_pod_that_contradicts_itself_is_found_and_printed_as_it_is(self) -> None:
        text = f"{POD}---\n{CONTRADICTION}".encode()
        done = draguard("mutate", "-", stdin=text)
        assert (done.code, done.out) == (1, f"{mutated(POD).out}---\n{CONTRADICTION}")
        assert draguard("mutate", "--patch", "-", stdin=text).out.count('"patch"') == 1
        where = "<stdin>:21:5: error prescheduled-contradiction: spec.nodeSelector[kubernetes.io/host"
        assert done.err.startswith(where)
        assert "\n21 |     kubernetes.io/hostname: node-2\n   |     ^^^^" in done.err

    @each_row("wrong", CONTRADICTION, "a: [\n")
    def test_a_difference_shows_the_changes_of_the_other_manifests(self, wrong: str) -> None:
        done = draguard("mutate", "--diff", "-", stdin=f"{POD}---\n{wrong}".encode())
        (removed,) = (line for line in done.out.splitlines() if line.startswith("-  "))
        assert (done.code, removed) == (1, "-  nodeName: node-1")

    def test_what_cannot_be_read_is_found_and_printed_as_it_is(self) -> None:
        done = mutated(f"{POD}---\na: [\n")
        assert (done.code, done.out) == (1, f"{mutated(POD).out}---\na: [\n")
        assert "error unreadable: " in done.err


KEYS = ("spec", "nodeName", "resourceClaims", "metadata", "affinity")
VALUES = seeded(lambda dice: {key: value(dice, KEYS) for key in KEYS if dice.random() < 0.5}) | seeded(value)


@pytest.mark.slow
@settings(max_examples=200)
@given(VALUES, VALUES)
def test_any_value_comes_out_as_it_went_in_or_is_a_finding(spec: object, metadata: object) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "other": [metadata]})
    done = mutated(text)
    assert done.code in {0, 1}, done.err
    if done.code == 0:
        before, after = objects(text), objects(done.out)
        assert isinstance(before[0], dict)
        assert isinstance(after[0], dict)
        assert after[0]["other"] == before[0]["other"]
