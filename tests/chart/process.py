"""Runs the image's entry point with the chart's arguments, and with only the privileges of a container."""

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from tests import serving
from tests.chart import containerfile
from tests.chart.rendering import NAMESPACE, Rendered
from tests.command import SCRIPT

NAME = f"draguard.{NAMESPACE}.svc"
"""The request of the API server."""

PRIVILEGED = os.geteuid() == 0

_PATIENCE = 60  # seconds

# The first argument is a directory in memory, if there is any.
_READ_ONLY = """\
test -z "$1" || mount -t tmpfs -o mode=1777 tmpfs "$1"
mount -o remount,bind,ro / && shift && exec "$@"
"""


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _confined(release: Rendered, in_memory: Path | None, command: list[str]) -> list[str]:
    """Drop the privileges that a container lacks from a command, as far as this machine and user allow."""
    if not PRIVILEGED:
        return command
    context = release.pod["spec"]["securityContext"]
    unprivileged = ["setpriv", "--bounding-set=-all", "--no-new-privs"]
    other = [*unprivileged, f"--reuid={context['runAsUser']}", f"--regid={context['fsGroup']}", "--clear-groups"]
    # The certificate manager starts Python anew, which may be where only this user can reach it.
    may_spawn = in_memory is None or _succeeds([*other, "sh", "-c", '"$@"', "sh", sys.executable, "-c", ""])
    read_only = ["unshare", "--mount", "sh", "-c", _READ_ONLY, "sh", str(in_memory or "")]
    may_mount = _succeeds([*read_only, "true"])
    return [*(read_only if may_mount else []), *(other if may_spawn else unprivileged), *command]


@contextmanager
def open_directory() -> Iterator[Path]:
    """Make a directory that other users may look into; pytest's own are closed to them."""
    directory = Path(tempfile.mkdtemp())
    try:
        directory.chmod(0o755)
        yield directory
    finally:
        shutil.rmtree(directory)


def mount(release: Rendered, directory: Path, files: Mapping[str, bytes], mode: int) -> None:
    """Write files as kubelet mounts them, for one group."""
    serving.mount(directory, files)
    for path in (directory / "..data").iterdir():
        path.chmod(mode)
        if PRIVILEGED:
            os.chown(path, 0, release.pod["spec"]["securityContext"]["fsGroup"])


class Running:
    """The process, and its ports once it listens.

    Args:
        process: The process, just started.
        authorities: Returns the authorities that the API server trusts for the webhooks, in PEM.
    """

    def __init__(self, process: subprocess.Popen[str], authorities: Callable[[], set[str]]) -> None:
        assert process.stderr
        self.process = process
        self.log: list[str] = []
        self.ports: dict[str, int] = {}
        self._authorities = authorities
        too_late = threading.Timer(_PATIENCE, process.kill)
        too_late.start()
        for line in process.stderr:
            self.log.append(line)
            if match := re.search(r" on (https?)://[^\s\"]+:(\d+)", line):
                self.ports[match[1]] = int(match[2])
            if "https" in self.ports:
                break
        too_late.cancel()
        assert self.ports.keys() == {"http", "https"}, "".join(self.log)

    def status(self) -> dict[str, str]:
        """Return the kernel's status of the process."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Ask as the API server does: by the Service's name, trusting the authority of the webhooks alone."""
        (authority,) = self._authorities()
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
def running(
    release: Rendered,
    directory: Path,
    *more: str,
    authorities: Callable[[], set[str]],
    in_memory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """Run the entry point with the arguments of the chart; only the ports and the directory differ.

    Args:
        release: The rendered chart.
        directory: The directory in place of ``/etc/draguard``.
        more: More arguments.
        authorities: Returns what the API server trusts for the webhooks, in PEM.
        in_memory: A directory that is a volume in memory.
        environment: The variables that kubelet adds to the environment.
    """
    arguments = [argument.replace("/etc/draguard", str(directory)) for argument in release.container["args"]]
    arguments = [re.sub(r"^(--port|--monitoring-port)=.*", r"\1=0", argument) for argument in arguments]
    assert containerfile.entry_point() == [SCRIPT.name]
    variables = {**containerfile.environment(), "PATH": os.defpath, "TMPDIR": "/nonexistent", **(environment or {})}
    command = _confined(release, in_memory, [str(SCRIPT), *arguments, *more])
    with subprocess.Popen(command, cwd=directory, env=variables, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Running(process, authorities)
        finally:
            process.kill()
