"""``--live`` and ``--context``: the objects of a running cluster, read by a kubectl that plays one."""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests import apiserver
from tests.command import SCRIPT, draguard
from tests.kubectl import answers_of, kubectl
from tests.simulation.clusters import claim, device_class, devices, node, pod, requests
from webhook.cli import kubectl as plugin
from webhook.cluster import live
from webhook.cluster.errors import ClusterError
from webhook.objects import JSONObject
from webhook.sources.running import output_of

pytestmark = pytest.mark.process

PENDING = "default/p: pending: no node has 2 devices of the class for request r: at most 1\n"


def cluster(**asks: Any) -> list[JSONObject]:
    """Make a cluster whose pod waits for two devices, of which its node has one."""
    dra = (device_class(), devices("n1"), claim(**(asks or {"count": 2})))
    core = (node("n1"), pod(claims={"x": "c"}))
    return [
        *({**each, "apiVersion": "resource.k8s.io/v1"} for each in dra),
        *({**each, "apiVersion": "v1", "metadata": {**each["metadata"], "namespace": "default"}} for each in core),
    ]


def asked(log: Path) -> list[str]:
    return [line.split()[-1].partition("?")[0] for line in log.read_text().splitlines()]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["simulate", "--live"], PENDING),
        (["why", "p", "--live"], "no node has more than 1\n"),
        (["match", "--live", "-e", f'device.driver == "{requests()}"'], ": 0 of 1 devices match"),
    ],
)
def test_commands_about_a_cluster_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], expected: str
) -> None:
    kubectl(tmp_path, monkeypatch, cluster())
    done = draguard(*command)
    assert (done.code, expected in done.out, done.err) == (1, True, "")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("simulate", PENDING),
        ("why p", "default/p: "),
        ("simulate /other", "no pod of namespace other is pending"),
        ("simulate -A /other", PENDING),
        ("simulate -n default /other", PENDING),
        ("version", "draguard "),
    ],
)
def test_as_a_plugin_of_kubectl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    given, _, namespace = command.partition("/")
    kubectl(tmp_path, monkeypatch, cluster(), {"view": {"prints": namespace}})
    monkeypatch.setattr(sys, "argv", ["kubectl-dra", *given.split()])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    plugin()
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.parametrize(("command", "expected"), [("scan", "no problems (Kubernetes 1.36.3)"), ("devices", "free")])
def test_commands_about_all_devices_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, expected: str
) -> None:
    kubectl(tmp_path, monkeypatch, cluster())
    done = draguard(command, "--live")
    assert (done.code, expected in done.out) == (0, True), done


def test_a_context_is_that_of_kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = kubectl(tmp_path, monkeypatch, cluster())
    assert draguard("simulate", "--context", "-prod").code == 2
    assert draguard("simulate", "--context=-prod").out.startswith(PENDING)
    assert {line.split()[0] for line in log.read_text().splitlines()} == {"--context=-prod"}


def test_validate_knows_what_the_cluster_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), version="v1.34.2+k3s1")
    given = tmp_path / "claim.yaml"
    given.write_text("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}\nspec: {devices: {}}\n")
    done = draguard("validate", given, "--live")
    assert (done.code, "Kubernetes 1.34" in done.out) == (0, True), done


def test_release_and_gates_are_those_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = kubectl(tmp_path, monkeypatch, cluster(), version="v1.35.2", gates={"DRADeviceTaintRules": True, "X": True})
    assert "simulated as Kubernetes 1.35" in draguard("simulate", "--live").out
    assert "/metrics" in asked(log)
    # The gate is on, and can be switched off.
    off = draguard("simulate", "--live", "--feature-gates", "DRADeviceTaintRules=false")
    assert off.code == 1
    stated = draguard("simulate", "--live", "--kubernetes-version", "1.36")
    assert "simulated as Kubernetes 1.36" in stated.out


def test_objects_come_in_any_version_that_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = [
        {**each, "apiVersion": "resource.k8s.io/v1beta2"} if "resource" in each["apiVersion"] else each
        for each in cluster()
    ]
    log = kubectl(tmp_path, monkeypatch, objects, version="v1.33.0")
    assert draguard("simulate", "--live").out.startswith(PENDING)
    assert "/apis/resource.k8s.io/v1/resourceclaims" not in asked(log)


def test_a_version_without_the_kind_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = "Error from server (NotFound): the server could not find the requested resource"
    kubectl(tmp_path, monkeypatch, cluster(), {"/apis/resource.k8s.io/v1/devicetaintrules": {"error": error}})
    done = draguard("simulate", "--live")
    assert (done.out.startswith(PENDING), done.err) == (True, "warning: devicetaintrules not read: not served\n")


def test_lists_come_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "CHUNK", 2)
    log = kubectl(tmp_path, monkeypatch, [*cluster(), *({**node(f"n{i}"), "apiVersion": "v1"} for i in range(2, 6))])
    assert "n1" in draguard("simulate", "--live").out
    assert asked(log).count("/api/v1/nodes") == 3


def test_large_objects_come_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_RESPONSE", 1 << 16)
    large = [{**pod(f"q{i}"), "apiVersion": "v1"} for i in range(9)]
    for each in large:
        each["metadata"]["annotations"] = {"a": "x" * 15_000}
    log = kubectl(tmp_path, monkeypatch, [*cluster(), *large])
    done = draguard("simulate", "--live")
    assert ("10 pods: 9 scheduled, 1 pending" in done.out, done.err) == (True, ""), done
    assert "/api/v1/pods?limit=125" in log.read_text()


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (
            {"/apis/resource.k8s.io/v1/devicetaintrules": "Error from server (Forbidden): no \x1b[31m"},
            "devicetaintrules not read: forbidden: no \\x1b[31m",
        ),
        ({"/api/v1/namespaces": "Error from server (Timeout): slow"}, "namespaces not read: slow"),
        ({"/api/v1/resourcequotas": "Unable to connect\nerror: EOF"}, "resourcequotas not read: EOF"),
        ({"/api/v1/resourcequotas": ""}, "resourcequotas not read: kubectl ended with exit code 1"),
    ],
)
def test_what_cannot_be_read_does_not_hide_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Mapping[str, str], said: str
) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), {path: {"error": error} for path, error in faults.items()})
    done = draguard("simulate", "--live")
    assert (done.out.startswith(PENDING), done.err) == (True, f"warning: {said}\n")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"cut": 30}, "the answer is not that of an API server: Input data was truncated"),
        (
            {"prints": "<html>"},
            "the answer is not that of an API server: JSON is malformed: invalid character (byte 0)",
        ),
        ({"prints": '{"metadata":{"continue":"x"},"items":[]}'}, "the API server returned a list that does not go on"),
        (
            {"prints": '{"metadata":{"continue":"x"},"items":[{"metadata":{"name":"a"}}]}'},
            "the API server returned a list that does not go on",
        ),
        (
            {"prints": f'{{"metadata":{{}},"items":[{{"spec":{{"x":{"9" * 5000}}}}}]}}'},
            "the answer is not that of an API server: Integer value out of range - at `$[...][...]`",
        ),
        ({"prints": "x" * 1000, "times": 50_000}, "the answer is too long"),
        ({"sleeps": 60}, "kubectl took longer than 4 seconds"),
        ({"error": "Error from server (Expired): too old"}, "too old"),
    ],
)
def test_broken_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Mapping[str, Any], said: str) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), {"/api/v1/resourcequotas": fault})
    if "sleeps" in fault:
        monkeypatch.setattr(live, "SECONDS", 4)
    done = draguard("simulate", "--live")
    assert (done.out.startswith(PENDING), done.err) == (True, f"warning: resourcequotas not read: {said}\n")


def test_what_kubectl_leaves_running_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), {"/version": {"leaves": "20"}})
    began = time.monotonic()
    assert draguard("simulate", "--live").out.startswith(PENDING)
    assert time.monotonic() - began < 20


def test_what_a_program_prints_as_it_ends_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, runs = subprocess.PIPE, iter([True])
    with subprocess.Popen(["/bin/cat"], stdin=pipe, stdout=pipe, stderr=pipe) as program:

        def poll() -> int | None:
            if next(runs, False):
                return None
            if program.stdin and not program.stdin.closed:
                program.stdin.write(b"last words")
                program.stdin.close()
            return program.wait()

        monkeypatch.setattr(program, "poll", poll)
        assert output_of(program, lambda _: None) == (b"last words", b"")


def test_more_objects_than_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_OBJECTS", 3)
    kubectl(tmp_path, monkeypatch, [*cluster(), *({**pod(f"q{i}"), "apiVersion": "v1"} for i in range(9))])
    assert "warning: pods not read: more than 3 objects" in draguard("simulate", "--live").err


def test_nothing_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = {"error": "Error from server (Forbidden): no"}
    kubectl(tmp_path, monkeypatch, cluster(), {"/api/v1": forbidden, "/apis/": forbidden})
    done = draguard("simulate", "--live")
    last = "draguard simulate: error: none of these objects can be read of the current context\n"
    assert (done.code, done.out, done.err.endswith(last)) == (2, "", True)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"error": 'error: context "x" does not exist'}, 'context "x" does not exist'),
        ({"error": "error: You must be logged in to the server (Unauthorized)"}, "You must be logged in to the server"),
        ({"prints": "[]"}, "the answer is not that of an API server"),
    ],
)
def test_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Mapping[str, Any], said: str) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), {"/version": fault})
    done = draguard("simulate", "--live")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"draguard simulate: error: the cluster cannot be read: {said}")


def test_in_a_pod_the_service_account_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = answers_of(cluster(), "v1.35.1", {"DRADeviceTaintRules": True})
    denied = {"kind": "Status", "message": 'cannot list "quotas"'}

    def answer(_: str, path: str, headers: Mapping[str, str], __: bytes) -> tuple[int, Any]:
        found = answers.get(path.partition("?")[0])
        if headers["Authorization"] != "Bearer first" or "resourcequotas" in path:
            return 403, denied
        if found is None:
            return 404, b""
        if isinstance(found, list):
            return 200, {"metadata": {}, "items": found}
        return 200, found.encode() if isinstance(found, str) else found

    with apiserver.running(tmp_path, ()) as server:
        monkeypatch.setattr(server, "answer", answer)
        host, _, port = server.address.partition(":")
        for name, value in (("HOST", host), ("PORT", port)):
            monkeypatch.setenv(f"KUBERNETES_SERVICE_{name}", value)
        monkeypatch.setattr("webhook.cluster.options.SERVICE_ACCOUNT", tmp_path)
        monkeypatch.setenv("PATH", str(tmp_path))
        done = draguard("simulate", "--live")
        assert draguard("simulate", "--context", "x").code == 2
        monkeypatch.setattr(live, "MAX_RESPONSE", 100)
        assert "deviceclasses not read: the answer is too long" in draguard("simulate", "--live").err
    assert (done.out.startswith(PENDING), "Kubernetes 1.35" in done.out) == (True, True), done
    assert done.err == 'warning: resourcequotas not read: forbidden: cannot list "quotas"\n'


def test_no_kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = draguard("simulate", "--live")
    assert (done.code, "kubectl is not installed here" in done.err) == (2, True)


@pytest.mark.parametrize("version", ["v1.99.0", "v2.0.0", "\x1b[31m"])
def test_a_server_of_an_unknown_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), version=version)
    done = draguard("simulate", "--live")
    assert (done.code, "\x1b" in done.out + done.err) == (1, False)


def test_an_old_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), version="v1.20.4")
    assert draguard("simulate", "--live").code == 2


def test_a_login_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(
        tmp_path, monkeypatch, cluster(), {"/version": {"says": "To sign in, open \x1b[31mhttp://x", "sleeps": 0.7}}
    )
    done = draguard("simulate", "--live")
    assert (done.out.startswith(PENDING), done.err) == (True, "kubectl: To sign in, open \\x1b[31mhttp://x\n")


def test_a_namespace_is_read_where_no_more_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {f"/api/v1/{each}": {"error": "Error from server (Forbidden): no"} for each in ("pods", "resourcequotas")}
    kubectl(tmp_path, monkeypatch, cluster(), refused)
    done = draguard("simulate", "--live", "-n", "default")
    assert done.out.startswith(PENDING)
    assert done.err == (
        "warning: pods of other namespaces than default not read: forbidden\n"
        "warning: resourcequotas of other namespaces than default not read: forbidden\n"
    )


def test_deep_and_strange_values_of_tenants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = {}
    for _ in range(2500):
        deep = {"a": [deep]}
    sys.setrecursionlimit(max(20_000, sys.getrecursionlimit()))
    objects = cluster(count=1)
    objects[2]["metadata"]["annotations"] = {"\x1b[31m": "x" * 5000}
    objects[2]["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.example.com", "parameters": deep}}]
    kubectl(tmp_path, monkeypatch, objects)
    done = draguard("simulate", "--live")
    assert "default/p: n1" in done.out, done


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, monkeypatch, cluster(), {"/api/v1/pods": {"sleeps": 50}})
    with subprocess.Popen([SCRIPT, "simulate", "--live"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while "/api/v1/pods" not in (tmp_path / "asked").read_text():
            time.sleep(0.05)
        process.terminate()
        assert process.wait(10) == 143


def test_why_reads_the_events_of_the_namespace_and_the_warnings_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = kubectl(tmp_path, monkeypatch, cluster())
    draguard("why", "p", "--live")
    found = [unquote(line) for line in log.read_text().splitlines() if "/events?" in line]
    assert any("/namespaces/default/events?fieldSelector=reason!=Pulling," in each for each in found)
    assert any("/v1/events?fieldSelector=type=Warning,metadata.namespace!=default&limit=" in each for each in found)
    assert len(found) == 2


@pytest.mark.parametrize(
    ("command", "said", "kept"),
    [
        ("why", ["usage: kubectl dra why [OPTION...] [POD|KIND/NAME...]\n", "kubectl dra why node/gpu-2"], 0),
        ("ui", ["usage: kubectl dra ui [OPTION...]\n", "kubectl dra ui --live", "draguard itself writes nothing"], 1),
    ],
)
def test_help_of_the_plugin_calls_it_as_users_do(
    command: str, said: list[str], kept: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl-dra", command, "--help"])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit):
        plugin()
    out = capsys.readouterr().out
    assert out.startswith(said[0])
    assert [each for each in said if each not in out] == []
    assert out.count("draguard ") == kept


def test_what_kubectl_has_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f"#!/bin/sh\nsleep 60 >/dev/null 2>&1 &\necho $! > {tmp_path}/pid\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(live, "SECONDS", 1.0)
    with pytest.raises(ClusterError, match="kubectl took longer"):
        live.Kubectl(str(program), "", print).get("/version")
    child = int((tmp_path / "pid").read_text())
    for _ in range(50):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]:
            break
        time.sleep(0.1)
    else:
        pytest.fail("it runs")


def test_profiles_are_written_of_a_running_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, monkeypatch, cluster())
    done = draguard("driver", "from-cluster", "--live")
    assert (done.code, "driver: gpu.example.com" in done.out, done.err) == (0, True, "")
    without = draguard("driver", "from-cluster")
    assert (without.code, "no cluster is given" in without.err) == (2, True)


def test_findings_are_at_the_kind_of_their_object_and_commands_name_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[str, Any] = {"spec": {}, "status": {"allocation": {"devices": {"results": []}}}}
    about = {"name": "u", "namespace": "default"}
    unused = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": about, **held}
    kubectl(tmp_path, monkeypatch, [*cluster(), unused])
    done = draguard("scan", "--context", "my prod")
    assert "ResourceClaim of context my prod: warning claim-zombie" in done.out
    assert "kubectl --context 'my prod' patch resourceclaim u -n default --subresource status" in done.out
    assert "kubectl patch" in draguard("scan", "--live").out
    assert "kubectl --context CONTEXT patch" in draguard("scan", "--context", "a", "--context", "b").out
    why = draguard("why", "claim/u", "--context", "prod")
    patch = """--subresource status --type merge -p '{"status":{"allocation":null,"reservedFor":null}}'"""
    assert f"kubectl --context prod patch resourceclaim u -n default {patch} releases its devices" in why.out


def test_a_watched_table_stays_when_the_cluster_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl(tmp_path, monkeypatch, cluster())
    rounds = iter(range(3))

    def broken_then_whole(_: float) -> None:
        if (done := next(rounds)) == 2:
            raise KeyboardInterrupt
        fault = {"error": "error: no route"} if not done else {}
        kubectl(tmp_path, monkeypatch, cluster(), {"/apis/resource.k8s.io/v1/resourceclaims": fault})

    monkeypatch.setattr("webhook.cli.devices.sleep", broken_then_whole)
    done = draguard("devices", "--live", "--watch", columns=80)
    assert (done.code, done.out.count("\x1b[2J")) == (130, 2)
    assert "error: resourceclaims not read: no route; the table is that of before" in done.err
    kubectl(tmp_path, monkeypatch, cluster(), {"/apis/": {"error": "error: no route"}})
    done = draguard("devices", "--live", "--watch")
    assert (done.code, "not read: no route" in done.err) == (2, True)


def test_errors_of_the_plugin_name_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl-dra", "why", "node/a", "node/b", "--cluster", "x.yaml"])
    assert plugin() == 2
    assert capsys.readouterr().err.startswith("kubectl dra why: error: node/a: ")
