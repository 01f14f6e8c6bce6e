"""``--live`` and ``--context``: the objects of a running cluster, read by a kubectl that plays one."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import unquote

import pytest

from tests import apiserver
from tests.command import SCRIPT, Done, draguard, usage_error
from tests.kubectl import answers_of, kubectl
from tests.rows import each_row
from tests.scan.clusters import claim, device, device_class, made, node, pod, request, slices
from tests.serving import eventually
from tests.structured import CLAIM
from webhook.cli import kubectl as plugin
from webhook.cluster import live
from webhook.cluster.errors import ClusterError, Expired
from webhook.objects import JSONObject
from webhook.sources.running import output_of

pytestmark = pytest.mark.process

PENDING = "default/p: pending: no node has 2 devices of the class for request gpu: at most 1\n"
DRA, QUOTAS = "/apis/resource.k8s.io/v1", "/api/v1/resourcequotas"
FORBIDDEN = "Error from server (Forbidden): no"
NOT_FOUND = "Error from server (NotFound): the server could not find the requested resource"
BROKEN = "the answer is not that of an API server"
ENDLESS = "the API server returned a list that does not go on"


def cluster(count: int = 2) -> list[JSONObject]:
    """Make a cluster whose pod waits for two devices, of which its node has one."""
    wanted = claim("c", requests=[request(count=count)])
    return [device_class(), slices(device()), wanted, node(), pod("p", ["c"], "Pending", "")]


Play = Callable[..., Path]
Simulated = Callable[..., tuple[bool, str]]


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Return a function that lets kubectl play a cluster, with faults."""

    def play(faults: Any = None, objects: list[JSONObject] | None = None, **more: Any) -> Path:
        return kubectl(tmp_path, monkeypatch, objects or cluster(), faults or {}, **more)

    return play


@pytest.fixture
def simulated(play: Play) -> Simulated:
    """Return a function that tells whether the pod of a cluster is pending as ever, and what was warned of."""

    def simulated(faults: Any = None, *options: str, **more: Any) -> tuple[bool, str]:
        play(faults, **more)
        done = draguard("simulate", "--live", *options)
        return done.out.startswith(PENDING), done.err

    return simulated


def asked(log: Path) -> list[str]:
    return [line.split()[-1].partition("?")[0] for line in log.read_text().splitlines()]


@each_row(
    ("command", "code", "expected"),
    (["simulate"], 1, PENDING),
    (["why", "p"], 1, "at most 1\n"),
    (["match", "-e", 'device.driver == "other"'], 1, ": 0 of 1 devices match"),
    (["scan"], 0, 'request "gpu" asks for 2 devices, and no node has more than 1'),
    (["devices"], 0, "free"),
    (["driver", "from-cluster"], 0, "driver: gpu.example.com"),
)
def test_commands_about_a_cluster_read_it(play: Play, command: list[str], code: int, expected: str) -> None:
    play()
    done = draguard(*command, "--live")
    assert (done.code, expected in done.out, "not read" in done.err) == (code, True, False)
    assert done.err == "" or command == ["devices"]  # which counts them there


Plugged = Callable[[str], Done]


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Plugged:
    """Return a function that runs a command of kubectl's plugin."""

    def plugged(command: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["kubectl-dra", *command.split()])
        monkeypatch.setattr("signal.signal", lambda *_: None)
        try:
            code = plugin()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Done(code, *capsys.readouterr())

    return plugged


@each_row(
    ("command", "said"),
    ("simulate", PENDING),
    ("why p", "default/p: "),
    ("simulate /other", "no pod of namespace other is pending"),
    ("simulate -A /other", PENDING),
    ("simulate -n default /other", PENDING),
    ("version", "draguard "),
)
def test_as_a_plugin_of_kubectl(play: Play, plugged: Plugged, command: str, said: str) -> None:
    given, _, namespace = command.partition("/")
    play({"view": {"prints": namespace}})
    assert plugged(given).out.startswith(said)


def test_a_context_is_that_of_kubectl(play: Play) -> None:
    log = play()
    assert draguard("simulate", "--context", "-prod").code == 2
    assert draguard("simulate", "--context=-prod").out.startswith(PENDING)
    assert {line.split()[0] for line in log.read_text().splitlines()} == {"--context=-prod"}


def test_validate_knows_what_the_cluster_serves(play: Play) -> None:
    play(version="v1.34.2+k3s1")
    done = draguard("validate", "-", "--live", stdin=CLAIM.encode())
    assert (done.code, "Kubernetes 1.34" in done.out) == (0, True), done


def test_release_and_gates_are_those_of_the_server(play: Play) -> None:
    log = play(version="v1.35.2", gates={"DRADeviceTaintRules": True, "X": True})
    assert "simulated as Kubernetes 1.35" in draguard("simulate", "--live").out
    assert "/metrics" in asked(log)
    # The gate is on, and can be switched off.
    assert draguard("simulate", "--live", "--feature-gates", "DRADeviceTaintRules=false").code == 1
    stated = draguard("simulate", "--live", "--kubernetes-version", "1.36")
    assert "simulated as Kubernetes 1.36" in stated.out


def test_objects_come_in_any_version_that_is_served(play: Play) -> None:
    older = {"apiVersion": "resource.k8s.io/v1beta2"}
    objects = [{**each, **older} if "resource" in each["apiVersion"] else each for each in cluster()]
    log = play(objects=objects, version="v1.33.0")
    assert draguard("simulate", "--live").out.startswith(PENDING)
    assert "/apis/resource.k8s.io/v1/resourceclaims" not in asked(log)


def test_lists_come_in_parts(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "CHUNK", 2)
    log = play(objects=[*cluster(), *(node(f"n{number}") for number in range(2, 6))])
    assert "n1" in draguard("simulate", "--live").out
    assert asked(log).count("/api/v1/nodes") == 3


def test_large_objects_come_a_few_at_a_time(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_RESPONSE", 1 << 16)
    large = {"annotations": {"a": "x" * 15_000}}
    pods = (pod(f"q{number}", (), "Pending", "", metadata=large) for number in range(9))
    log = play(objects=[*cluster(), *pods])
    done = draguard("simulate", "--live")
    assert ("10 pods: 9 scheduled, 1 pending" in done.out, done.err) == (True, ""), done
    assert "/api/v1/pods?limit=125" in log.read_text()


FAULTS: Any = (
    ({"error": NOT_FOUND}, "not served"),
    ({"error": f"{FORBIDDEN} \x1b[31m"}, "forbidden: no \\x1b[31m"),
    ({"error": "Error from server (Timeout): slow"}, "slow"),
    ({"error": "Unable to connect\nerror: EOF"}, "EOF"),
    ({"error": ""}, "kubectl ended with exit code 1"),
    ({"error": "Error from server (Expired): too old"}, "too old"),
    ({"cut": 30}, f"{BROKEN}: Input data was truncated"),
    ({"prints": "<html>"}, f"{BROKEN}: JSON is malformed: invalid character (byte 0)"),
    ({"prints": '{"metadata":{"continue":"x"},"items":[]}'}, ENDLESS),
    ({"prints": '{"metadata":{"continue":"x"},"items":[{"metadata":{"name":"a"}}]}'}, ENDLESS),
    (
        {"prints": f'{{"metadata":{{}},"items":[{{"spec":{{"x":{"9" * 5000}}}}}]}}'},
        f"{BROKEN}: Integer value out of range - at `$[...][...]`",
    ),
    ({"prints": "x" * 1000, "times": 50_000}, "the answer is too long"),
)


@each_row("faults", FAULTS[:4], FAULTS[4:8], FAULTS[8:])
def test_what_cannot_be_read_does_not_hide_the_rest(simulated: Simulated, faults: Any) -> None:
    paths = (f"{DRA}/devicetaintrules", "/api/v1/namespaces", "/apis/scheduling.k8s.io/v1/priorityclasses", QUOTAS)
    stated = [*zip(paths, faults, strict=True)]
    said = "".join(f"warning: {path.rpartition('/')[2]} not read: {why}\n" for path, (_, why) in stated)
    assert simulated({path: fault for path, (fault, _) in stated}) == (True, said)


class Changing:
    """An API server on which the first list expires before it is read to its end."""

    def __init__(self) -> None:
        self.ended, self._left = Event(), 1

    def read(self, path: str, _most: int) -> bytes:
        named = [{"metadata": {"name": name}} for name in "abcd"]
        if "continue=" not in path:
            part: Any = {"metadata": {"continue": "more"}, "items": named[:3]} if "/namespaces" in path else {}
            return json.dumps(part | {"gitVersion": "v1.36.0"}).encode()
        if self._left:
            self._left -= 1
            raise Expired("too old")
        return json.dumps({"metadata": {}, "items": named[3:]}).encode()


def test_what_was_read_of_a_list_that_expires_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_BYTES", 400)
    server: Any = live.Server("here", Changing())  # type: ignore[arg-type]
    (found,) = server.parts(["Namespace"])
    assert (len(found.objects), found.note, server.count) == (4, "", 4)


def test_an_answer_that_does_not_come_is_not_waited_for(simulated: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SECONDS", 4)
    said = "warning: resourcequotas not read: kubectl took longer than 4 seconds\n"
    assert simulated({QUOTAS: {"sleeps": 60}}) == (True, said)


def test_what_kubectl_leaves_running_is_not_waited_for(simulated: Simulated) -> None:
    began = time.monotonic()
    assert simulated({"/version": {"leaves": "20"}})[0]
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


def test_more_objects_than_are_read(simulated: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_OBJECTS", 3)
    many = [*cluster(), *(pod(f"q{number}", ()) for number in range(9))]
    assert "warning: pods not read: more than 3 objects" in simulated(objects=many)[1]


def test_nothing_can_be_read(play: Play) -> None:
    play({"/api/v1": {"error": FORBIDDEN}, "/apis/": {"error": FORBIDDEN}})
    done = draguard("simulate", "--live")
    last = "draguard simulate: error: none of these objects can be read of the current context\n"
    assert (done.code, done.out, done.err.endswith(last)) == (2, "", True)


@each_row(
    ("fault", "said"),
    ({"error": 'error: context "x" does not exist'}, 'context "x" does not exist'),
    ({"error": "error: You must be logged in to the server (Unauthorized)"}, "You must be logged in to the server"),
    ({"prints": "[]"}, "the answer is not that of an API server"),
)
def test_no_cluster(play: Play, fault: Mapping[str, Any], said: str) -> None:
    play({"/version": fault})
    assert usage_error("simulate", "--live").startswith(f"draguard simulate: error: the cluster cannot be read: {said}")


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


def test_no_kubectl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "kubectl is not installed here" in usage_error("simulate", "--live")


@each_row(("version", "code"), ("v1.99.0", 1), ("v2.0.0", 1), ("\x1b[31m", 1), ("v1.20.4", 2))
def test_a_server_of_an_unknown_or_old_version(play: Play, version: str, code: int) -> None:
    play(version=version)
    done = draguard("simulate", "--live")
    assert (done.code, "\x1b" in done.out + done.err) == (code, False)


def test_a_login_is_passed_on(simulated: Simulated) -> None:
    login = {"says": "To sign in, open \x1b[31mhttp://x", "sleeps": 0.7}
    assert simulated({"/version": login}) == (True, "kubectl: To sign in, open \\x1b[31mhttp://x\n")


def test_a_namespace_is_read_where_no_more_is_allowed(simulated: Simulated) -> None:
    kinds = ("pods", "resourcequotas")
    refused = {f"/api/v1/{each}": {"error": FORBIDDEN} for each in kinds}
    said = [f"warning: {each} of other namespaces than default not read: forbidden\n" for each in kinds]
    assert simulated(refused, "-n", "default") == (True, "".join(said))


def test_deep_and_strange_values_of_tenants(play: Play) -> None:
    deep: Any = {}
    for _ in range(2500):
        deep = {"a": [deep]}
    sys.setrecursionlimit(max(20_000, sys.getrecursionlimit()))
    objects = cluster(count=1)
    objects[2]["metadata"]["annotations"] = {"\x1b[31m": "x" * 5000}
    objects[2]["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.example.com", "parameters": deep}}]
    play(objects=objects)
    done = draguard("simulate", "--live")
    assert "default/p: n1" in done.out, done


def test_interrupted(play: Play) -> None:
    log = play({"/api/v1/pods": {"sleeps": 50}})
    with subprocess.Popen([SCRIPT, "simulate", "--live"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert eventually(lambda: "/api/v1/pods" in log.read_text())
        process.terminate()
        assert process.wait(10) == 143


def test_why_reads_the_events_of_the_namespace_and_the_warnings_of_others(play: Play) -> None:
    log = play()
    draguard("why", "p", "--live")
    found = [unquote(line) for line in log.read_text().splitlines() if "/events?" in line]
    assert any("/namespaces/default/events?fieldSelector=reason!=Pulling," in each for each in found)
    assert any("/v1/events?fieldSelector=type=Warning,metadata.namespace!=default&limit=" in each for each in found)
    assert len(found) == 2


@each_row(
    ("command", "said", "kept"),
    ("why", ["usage: kubectl dra why [OPTION...] [POD|KIND/NAME...]\n", "kubectl dra why node/gpu-2"], 0),
    ("ui", ["usage: kubectl dra ui [OPTION...]\n", "kubectl dra ui --live", "draguard itself writes nothing"], 1),
)
def test_help_and_errors_of_the_plugin_call_it_as_users_do(
    command: str, said: list[str], kept: int, plugged: Plugged
) -> None:
    out = plugged(f"{command} --help").out
    assert out.startswith(said[0])
    assert [each for each in said if each not in out] == []
    assert out.count("draguard ") == kept
    done = plugged("why node/a node/b --cluster x.yaml")
    assert (done.code, done.err.startswith("kubectl dra why: error: node/a: ")) == (2, True)


def test_what_kubectl_has_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "kubectl"
    program.write_text(f"#!/bin/sh\nsleep 60 >/dev/null 2>&1 &\necho $! > {tmp_path}/pid\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(live, "SECONDS", 1.0)
    with pytest.raises(ClusterError, match="kubectl took longer"):
        live.Kubectl(str(program), "", print).read("/version", 100)
    child = Path(f"/proc/{int((tmp_path / 'pid').read_text())}/stat")
    assert eventually(lambda: not child.exists() or "Z" in child.read_text().split()[2])


def test_profiles_are_written_of_a_cluster_that_is_given() -> None:
    assert "no cluster is given" in usage_error("driver", "from-cluster")


def test_findings_are_at_the_kind_of_their_object_and_commands_name_the_context(play: Play) -> None:
    held: Any = {"spec": {}, "status": {"allocation": {"devices": {"results": []}}}}
    play(objects=[*cluster(), made("ResourceClaim", "u", "default", "resource.k8s.io/v1", **held)])
    done = draguard("scan", "--context", "my prod")
    assert "ResourceClaim of context my prod: warning claim-zombie" in done.out
    assert "kubectl --context 'my prod' patch resourceclaim u -n default --subresource status" in done.out
    assert "kubectl patch" in draguard("scan", "--live").out
    assert "kubectl --context CONTEXT patch" in draguard("scan", "--context", "a", "--context", "b").out
    why = draguard("why", "claim/u", "--context", "prod")
    patch = """--subresource status --type merge -p '{"status":{"allocation":null,"reservedFor":null}}'"""
    assert f"kubectl --context prod patch resourceclaim u -n default {patch} releases its devices" in why.out


def test_a_watched_table_stays_when_the_cluster_cannot_be_read(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    play()
    rounds = iter(range(3))

    def broken_then_whole(_: float) -> None:
        if (done := next(rounds)) == 2:
            raise KeyboardInterrupt
        fault = {"error": "error: no route"} if not done else {}
        play({"/apis/resource.k8s.io/v1/resourceclaims": fault})

    monkeypatch.setattr("webhook.cli.devices.sleep", broken_then_whole)
    done = draguard("devices", "--live", "--watch", columns=80)
    assert (done.code, done.out.count("\x1b[2J")) == (130, 2)
    assert "error: resourceclaims not read: no route; the table is that of before" in done.err
    play({"/apis/": {"error": "error: no route"}})
    assert "not read: no route" in usage_error("devices", "--live", "--watch")
