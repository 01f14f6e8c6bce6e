"""``draguard snapshot``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import SCRIPT, draguard
from tests.kubectl import kubectl
from tests.simulation.clusters import device_class, node
from webhook.objects import JSONObject


def nodes(*names: str) -> list[JSONObject]:
    return [{**node(each), "apiVersion": "v1"} for each in names]


class TestSnapshot:
    def test_prints_the_command(self) -> None:
        assert draguard("snapshot").out == (
            "kubectl get deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates,devicetaintrules,nodes,"
            "pods,namespaces,priorityclasses,resourcequotas,apiservices,events,daemonsets,deployments,"
            "replicasets,statefulsets,jobs,cronjobs,persistentvolumeclaims,limitranges,validatingadmissionpolicies,"
            "validatingadmissionpolicybindings -A -o json\n"
        )
        shorter = draguard("snapshot", "--without", "devicetaintrules", "-n", "a", "--context", "c").out
        assert shorter.startswith("kubectl --context c get deviceclasses,")
        assert "devicetaintrules" not in shorter
        assert shorter.endswith(" -n a -o json\n")

    def test_warns_of_what_one_namespace_leaves_out(self) -> None:
        assert draguard("snapshot", "-n", "a").err == (
            "warning: claims and pods outside namespace a are left out: "
            "devices, cpu and memory that they use look free\n"
        )
        assert draguard("snapshot").err == ""

    def test_an_unknown_resource(self) -> None:
        assert "--without secrets: give one of" in draguard("snapshot", "--without", "secrets").err


@pytest.mark.process
class TestRun:
    def test_prints_a_list(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        objects = nodes("n1", "n2")
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
        log = kubectl(tmp_path, monkeypatch, nodes("n1"))
        assert draguard("snapshot", "--run", "-n", "default").code == 0
        assert "/api/v1/namespaces/default/pods?" in log.read_text()
        assert "/api/v1/pods?" not in log.read_text()

    def test_what_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        faults = {"/api/v1/pods": {"error": "Error from server (Forbidden): no"}}
        kubectl(tmp_path, monkeypatch, nodes("n1"), faults)
        done = draguard("snapshot", "--run")
        assert (done.code, done.err, '"n1"' in done.out) == (1, "warning: pods not read: forbidden: no\n", True)

    def test_needs_little_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        objects = nodes(*(f"n{number}" for number in range(200)))
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

    def test_without_kubectl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        done = draguard("snapshot", "--run")
        assert (done.code, "kubectl is not installed here" in done.err) == (2, True)


def test_nothing_that_a_terminal_obeys_is_printed(tmp_path: Path) -> None:
    odd = "\x1b[31m\x7f\x9b1m\u2028\u202e"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": {"a": odd}}}
    (tmp_path / "c.json").write_text(json.dumps(node), encoding="utf-8")
    out = draguard("snapshot", "--cluster", tmp_path / "c.json").out
    assert all(each.isprintable() for each in out.splitlines())
    assert json.loads(out)["items"] == [node]
    assert all(each.isprintable() for each in draguard("snapshot", "--context", odd).out.splitlines())
