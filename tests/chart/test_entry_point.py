"""The command of the image with the arguments, the certificate and the user of the chart, without a container."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chart import containerfile
from tests.chart.rendering import NAMESPACE, VALUES, with_values
from tests.command import SCRIPT
from webhook import certs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME = f"draguard.{NAMESPACE}.svc"
PAIR = certs.ephemeral([NAME])
SECRET = {"name": "given", "caBundle": PAIR.ca.decode()}
RELEASE = with_values(**VALUES["policies"], certificates={"source": "secret", "secret": SECRET})
USER = RELEASE.pod["spec"]["securityContext"]["runAsUser"]
GROUP = RELEASE.pod["spec"]["securityContext"]["fsGroup"]
PRIVILEGED = os.geteuid() == 0
READ_ONLY = ["unshare", "--mount", "sh", "-c", 'mount -o remount,bind,ro / && exec "$@"', "sh"]
OTHER_USER = [
    "setpriv",
    f"--reuid={USER}",
    f"--regid={GROUP}",
    "--clear-groups",
    "--bounding-set=-all",
    "--no-new-privs",
]


def confined(command: list[str]) -> list[str]:
    """Take from a command what a container takes from it, as far as this machine and user may."""
    if not PRIVILEGED:
        return command
    may_mount = subprocess.run([*READ_ONLY, "true"], capture_output=True, check=False).returncode == 0
    return [*(READ_ONLY if may_mount else []), *OTHER_USER, *command]


def mount(directory: Path, files: Mapping[str, bytes], mode: int) -> None:
    """Write files as kubelet mounts them: behind a symbolic link, for one group."""
    directory.mkdir()
    first = directory / "..first"
    first.mkdir()
    (directory / "..data").symlink_to(first.name)
    for name, content in files.items():
        (first / name).write_bytes(content)
        (first / name).chmod(mode)
        if PRIVILEGED:
            os.chown(first / name, 0, GROUP)
        (directory / name).symlink_to(f"..data/{name}")


@contextmanager
def mounted() -> Iterator[Path]:
    """Put the Secret and the ConfigMap into a directory that stands for /etc/draguard."""
    directory = Path(tempfile.mkdtemp())  # pytest's own directories are closed to other users
    try:
        directory.chmod(0o755)
        secret = {"tls.crt": PAIR.certificate, "tls.key": PAIR.key}
        mount(directory / "tls", secret, RELEASE.volumes["tls"]["secret"]["defaultMode"])
        for config in RELEASE.all("ConfigMap"):
            files = {name: content.encode() for name, content in config["data"].items()}
            mount(directory / config["metadata"]["name"].removeprefix("draguard-"), files, 0o644)
        yield directory
    finally:
        shutil.rmtree(directory)


class Running:
    """The process, and its ports once it listens."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr
        self.process = process
        self.log: list[str] = []
        self.ports: dict[str, int] = {}
        for line in process.stderr:
            self.log.append(line)
            if match := re.search(r" on (https?)://[^\s\"]+:(\d+)", line):
                self.ports[match[1]] = int(match[2])
            if "https" in self.ports:
                break
        assert self.ports.keys() == {"http", "https"}, "".join(self.log)

    def status(self) -> dict[str, str]:
        """Return what the kernel knows of the process."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Ask as the API server does: by the Service's name, trusting the authority of the webhooks alone."""
        (authority,) = RELEASE.ca_bundles()
        plain = socket.create_connection(("127.0.0.1", self.ports["https"]), timeout=10)
        connection = http.client.HTTPConnection("draguard")
        context = ssl.create_default_context(cadata=authority)
        connection.sock = context.wrap_socket(plain, server_hostname=NAME)
        with closing(connection):
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()

    def probe(self, path: str) -> tuple[int, bytes]:
        """Ask as kubelet and Prometheus do."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.ports["http"], timeout=10)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()


@contextmanager
def running() -> Iterator[Running]:
    """Run the entry point with the arguments of the chart; only the ports and the directory differ."""
    with mounted() as directory:
        arguments = [argument.replace("/etc/draguard", str(directory)) for argument in RELEASE.container["args"]]
        arguments = [re.sub(r"^(--port|--monitoring-port)=.*", r"\1=0", argument) for argument in arguments]
        assert containerfile.entry_point() == [SCRIPT.name]
        environment = containerfile.environment() | {"PATH": os.defpath, "TMPDIR": "/nonexistent"}
        with subprocess.Popen(
            confined([str(SCRIPT), *arguments]), cwd=directory, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                yield Running(process)
            finally:
                process.kill()


@pytest.fixture(scope="module")
def draguard() -> Iterator[Running]:
    with running() as process:
        yield process


def review() -> dict[str, Any]:
    """Return what the API server sends for a new pod that names its node and has a claim."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {
            "nodeName": "node-1",
            "containers": [{"name": "a", "image": "a", "resources": {"claims": [{"name": "gpu"}]}}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
        },
    }
    request = {
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "a"},
        "object": pod,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


class TestEntryPoint:
    def test_it_runs_without_any_privilege(self, draguard: Running) -> None:
        status = draguard.status()
        assert set(status["Uid"].split()) == {str(USER if PRIVILEGED else os.geteuid())}
        assert int(status["CapEff"], 16) == 0

    def test_probes_find_it_alive_and_ready(self, draguard: Running) -> None:
        probes = {key: value["httpGet"] for key, value in RELEASE.container.items() if key.endswith("Probe")}
        assert probes.keys() == {"startupProbe", "livenessProbe", "readinessProbe"}
        for probe in probes.values():
            assert probe["port"] == "monitoring"
            assert draguard.probe(probe["path"]) == (200, b"ok\n")

    def test_prometheus_finds_metrics(self, draguard: Running) -> None:
        code, metrics = draguard.probe("/metrics")
        assert code == 200
        assert b"draguard_build_info" in metrics

    def test_the_api_server_trusts_it_and_gets_answers_from_every_webhook(self, draguard: Running) -> None:
        for name, webhook in RELEASE.webhooks.items():
            path = webhook["clientConfig"]["service"]["path"]
            code, body = draguard.request("POST", f"{path}?timeout=5s", json.dumps(review()).encode())
            response = json.loads(body)["response"]
            is_rewritten = path.startswith("/mutate/")
            assert (name, code, response["allowed"], "patch" in response) == (name, 200, True, is_rewritten)

    def test_policies_are_asked(self, draguard: Running) -> None:
        group = {"group": "resource.k8s.io", "version": "v1"}
        asked = review()
        asked["request"] |= {
            "kind": {**group, "kind": "ResourceClaim"},
            "resource": {**group, "resource": "resourceclaims"},
            "object": {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "a", "namespace": "default"},
                "spec": {},
            },
        }
        asked["request"]["userInfo"]["groups"] = ["boss"]
        _, body = draguard.request("POST", "/validate", json.dumps(asked).encode())
        assert json.loads(body)["response"]["allowed"]
        asked["request"]["userInfo"]["groups"] = ["others"]
        _, body = draguard.request("POST", "/validate", json.dumps(asked).encode())
        response = json.loads(body)["response"]
        assert not response["allowed"]
        assert "begin the name with that of your team" in response["status"]["message"]

    def test_it_takes_little_memory(self, draguard: Running) -> None:
        resident = int(draguard.status()["VmRSS"].split()[0])
        assert resident < 96 * 1024, f"{resident} KiB: more than the chart requests"

    def test_it_ends_in_the_time_that_it_is_given(self) -> None:
        with running() as draguard:
            started = time.monotonic()
            draguard.process.send_signal(signal.SIGTERM)
            assert draguard.process.wait(RELEASE.pod["spec"]["terminationGracePeriodSeconds"]) == 0
        assert time.monotonic() - started > 1, "it stops accepting connections before anybody can know"
