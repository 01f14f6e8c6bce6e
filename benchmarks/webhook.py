"""Reviews a second over TLS, beside a bare echo on the same server: python -m benchmarks.webhook (needs wrk)."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.reviews import pod
from webhook import certs
from webhook.admission import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.admission import Endpoint

CONNECTIONS = (1, 16, 64)
SECONDS = 3
ROUNDS = 2
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


class Load(NamedTuple):
    """What wrk measured: requests a second, milliseconds, and what the server took for it."""

    rate: float
    p50: float
    p99: float
    cpu_us: float
    rss_mb: float


def review() -> dict[str, Any]:
    """Make a review of a pod of 5 KB, as an API server would send it."""
    request = {
        "uid": "c7df00db-27c3-4c67-850c-3afc6bef34bb",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "pod",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
        "object": pod(5000),
        "oldObject": None,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def main() -> None:
    """Print the figures."""
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed: apt-get install wrk")
    body = json.dumps(review())
    print(f"a review of {len(body)} bytes, TLS, keep-alive, one process; {SECONDS} s each, the best of {ROUNDS}")
    with tempfile.TemporaryDirectory() as directory:
        certs.issue(Path(directory), ["localhost"])
        script = Path(directory, "post.lua")
        header = 'wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"'
        script.write_text(f"{header}\nwrk.body = {json.dumps(body)}\n", encoding="utf-8")
        pair = (f"--tls-cert={directory}/tls.crt", f"--tls-key={directory}/tls.key")
        draguard = str(Path(sys.executable).with_name("draguard"))
        with (
            served(sys.executable, "-m", "benchmarks.webhook", directory) as echo,
            served(draguard, "serve", "--host=127.0.0.1", "--port=0", *pair) as ours,
        ):
            for connections in CONNECTIONS:
                compare(connections, script, {"echo": echo, "validate": ours, "mutate": ours})


def compare(connections: int, script: Path, servers: dict[str, tuple[str, int]]) -> None:
    """Print what each server does with so many connections; the first is the baseline."""
    best: dict[str, Load] = {}
    for _ in range(ROUNDS):
        for name, (url, pid) in servers.items():
            path = "validate" if name == "echo" else name
            load = measure(f"{url}/{path}", pid, connections, script)
            best[name] = max(load, best.get(name, load))
    baseline = next(iter(best.values()))
    for name, load in best.items():
        print(
            f"{connections:3} connections, {name:8}: {load.rate:8,.0f}/s ({load.rate / baseline.rate:.2f} x), ", end=""
        )
        print(f"p50 {load.p50:5.2f} ms, p99 {load.p99:5.1f} ms ({load.p99 / baseline.p99:.2f} x), ", end="")
        print(f"{load.cpu_us:4.0f} us of CPU a request, {load.rss_mb:.0f} MB")


def measure(url: str, pid: int, connections: int, script: Path) -> Load:
    """Run wrk; every answer must be a success."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}", "--latency", "-s", str(script), url]
    before = cpu_seconds(pid)
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    used = cpu_seconds(pid) - before
    if "Non-2xx" in told or "Socket errors" in told:
        sys.exit(told)
    requests = re.search(r"(\d+) requests in", told)
    rate = re.search(r"Requests/sec: +([\d.]+)", told)
    p50, p99 = (re.search(rf"{share}% +([\d.]+)(us|ms|s)\b", told) for share in (50, 99))
    if not (requests and rate and p50 and p99):
        sys.exit(told)
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    return Load(
        float(rate[1]),
        float(p50[1]) * UNITS[p50[2]],
        float(p99[1]) * UNITS[p99[2]],
        used / int(requests[1]) * 1e6,
        int(resident[1]) / 1024 if resident else 0.0,
    )


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(*command: str) -> Iterator[tuple[str, int]]:
    """Run a server; yield its URL and process."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr or ():
                if match := re.search(r"listening on (https://\S+)", line):
                    yield match[1], process.pid
                    break
        finally:
            process.send_signal(signal.SIGINT)


def serve_echo(directory: Path) -> None:
    """Serve an application that sends back what it gets."""
    import logging  # noqa: PLC0415 - of the served process only

    from webhook import server  # noqa: PLC0415 - of the served process only

    def echo(body: bytes, _endpoint: Endpoint) -> Answer:
        return Answer(200, body[:200], "application/json")

    logging.basicConfig(level=logging.INFO)
    certificate = server.Certificate.of_files(directory / "tls.crt", directory / "tls.key")
    server.serve(server.create_app(echo), "127.0.0.1", 0, certificate)


if __name__ == "__main__":
    if sys.argv[1:]:
        serve_echo(Path(sys.argv[1]))
    else:
        main()
