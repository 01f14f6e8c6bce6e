"""The command of the image with the arguments, the certificate and the user of the chart, without a container."""

from __future__ import annotations

import base64
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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chart import containerfile
from tests.chart.rendering import NAMESPACE, rendered
from tests.command import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = rendered().pod["spec"]["securityContext"]["runAsUser"]
GROUP = rendered().pod["spec"]["securityContext"]["fsGroup"]
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


@contextmanager
def mounted_secret() -> Iterator[Path]:
    """Put the rendered Secret where kubelet would: files behind a symbolic link, readable by the group alone."""
    directory = Path(tempfile.mkdtemp())  # pytest's own directories are closed to other users
    try:
        directory.chmod(0o755)
        first = directory / "..first"
        first.mkdir()
        (directory / "..data").symlink_to(first.name)
        for name, content in rendered().one("Secret")["data"].items():
            (first / name).write_bytes(base64.b64decode(content))
            (first / name).chmod(rendered().pod["spec"]["volumes"][0]["secret"]["defaultMode"])
            if PRIVILEGED:
                os.chown(first / name, 0, GROUP)
            (directory / name).symlink_to(f"..data/{name}")
        yield directory
    finally:
        shutil.rmtree(directory)


class Running:
    """The process, and its port once it listens."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr
        self.process = process
        self.log: list[str] = []
        self.port = 0
        for line in process.stderr:
            self.log.append(line)
            if match := re.search(r"listening on https://\S+:(\d+)", line):
                self.port = int(match[1])
                break
        assert self.port, "".join(self.log)

    def status(self) -> dict[str, str]:
        """Return what the kernel knows of the process."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Ask as the API server does: by the Service's name, trusting the authority of the webhooks alone."""
        (authority,) = rendered().ca_bundles()
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        connection = http.client.HTTPConnection("draguard")
        context = ssl.create_default_context(cadata=authority)
        connection.sock = context.wrap_socket(plain, server_hostname=f"draguard.{NAMESPACE}.svc")
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with mounted_secret() as secret:
        mount = rendered().container["volumeMounts"][0]["mountPath"]
        arguments = [argument.replace(mount, str(secret)) for argument in rendered().container["args"]]
        arguments = ["--port=0" if argument.startswith("--port=") else argument for argument in arguments]
        assert containerfile.entry_point() == [SCRIPT.name]
        environment = containerfile.environment() | {"PATH": os.defpath, "TMPDIR": "/nonexistent"}
        with subprocess.Popen(
            confined([str(SCRIPT), *arguments]), cwd=secret, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                yield Running(process)
            finally:
                process.kill()


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
    def test_it_runs_without_any_privilege(self, running: Running) -> None:
        status = running.status()
        assert set(status["Uid"].split()) == {str(USER if PRIVILEGED else os.geteuid())}
        assert int(status["CapEff"], 16) == 0

    def test_probes_find_it_alive_and_ready(self, running: Running) -> None:
        probes = {key: value["httpGet"]["path"] for key, value in rendered().container.items() if key.endswith("Probe")}
        assert probes.keys() == {"startupProbe", "livenessProbe", "readinessProbe"}
        for path in probes.values():
            assert running.request("GET", path) == (200, b"ok\n")

    def test_the_api_server_trusts_it_and_gets_answers_from_every_webhook(self, running: Running) -> None:
        for name, webhook in rendered().webhooks.items():
            path = webhook["clientConfig"]["service"]["path"]
            code, body = running.request("POST", f"{path}?timeout=5s", json.dumps(review()).encode())
            response = json.loads(body)["response"]
            assert (code, response["allowed"], "patch" in response) == (200, True, name == "prescheduled")

    def test_it_takes_little_memory(self, running: Running) -> None:
        resident = int(running.status()["VmRSS"].split()[0])
        assert resident < 96 * 1024, f"{resident} KiB: more than the chart requests"

    def test_it_ends_in_the_time_that_it_is_given(self, running: Running) -> None:
        started = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(rendered().pod["spec"]["terminationGracePeriodSeconds"]) == 0
        assert time.monotonic() - started > 1, "it stops accepting connections before anybody can know"
