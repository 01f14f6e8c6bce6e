"""Sends recorded and mutated reviews to the webhook, and checks every answer: python -m benchmarks.soak.

``draguard serve`` with all rules and the policy library receives them over persistent TLS connections. Each answer must
be well-formed; no process may grow with each review once it is warm (:mod:`benchmarks.memory`); the log must show no
exception. Exits with 1 otherwise. ``--show INDEX`` prints a review that was answered badly.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import ssl
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks import memory
from benchmarks.mutated import Reviews, Sent
from benchmarks.reviews import POLICIES
from benchmarks.served import DRAGUARD, Served, served
from webhook.certificates import certs

if TYPE_CHECKING:
    from collections.abc import Iterable

REQUESTS = 200_000
CLIENTS = 4
GIVEN_UP = "draguard could not answer"
"""The beginning of decisions that the failure policy has made."""
DEPTH = 20_000
"""Python's recursion limit here, so that everything that the server can read can be read here, too."""
SHOWN_LENGTH = 1000
SHOWN = 10
"""The number of faults that are shown in full."""
HEADERS = {"Content-Type": "application/json"}


class Soak:
    """The results of the requests so far; several threads write it.

    Args:
        reviews: The reviews to send.
        url: The server's URL.
        context: The TLS settings, with the trusted authorities.
    """

    def __init__(self, reviews: Reviews, url: str, context: ssl.SSLContext) -> None:
        self._reviews = reviews
        self._address = urlsplit(url).netloc
        self._context = context
        self._lock = threading.Lock()
        self.outcomes: Counter[str] = Counter()
        self.faults: list[str] = []

    @property
    def done(self) -> int:
        """The number of requests that were answered or have failed."""
        return self.outcomes.total()

    def send(self, indices: Iterable[int]) -> None:
        """Send reviews over one connection, which is opened again only if the server ends it."""
        connection = http.client.HTTPSConnection(self._address, timeout=60, context=self._context)
        for index in indices:
            sent = self._reviews[index]
            try:
                connection.request("POST", sent.path, sent.body, HEADERS)
                response = connection.getresponse()
                self._note(index, fault(sent, response.status, response.read()), str(response.status))
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self._note(index, f"the connection failed: {error!r}", "failed")
        connection.close()

    def _note(self, index: int, fault: str, outcome: str) -> None:
        with self._lock:
            self.outcomes[outcome] += 1
            if fault:
                self.faults.append(f"{index}: {fault}")


def fault(sent: Sent, status: int, answer: bytes) -> str:
    """Return the fault of an answer; empty if there is none."""
    if status == http.client.BAD_REQUEST and (sent.uid is None or sent.is_deep or sent.is_odd):
        return "" if answer.strip() else "400 without a reason"
    expected = http.client.BAD_REQUEST if sent.uid is None else http.client.OK
    if status != expected:
        return f"{status}, not {expected}: {answer[:200]!r}"
    try:
        review = json.loads(answer, parse_constant=_refuse)
        found = list(_faults(review, sent))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        found = [repr(error)]
    return f"{'; '.join(found)}: {answer[:300]!r}" if found else ""


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _faults(review: Any, sent: Sent) -> Iterable[str]:
    """Check an AdmissionReview as an API server does (apiserver ``webhook/request/admissionreview.go``)."""
    if (review["apiVersion"], review["kind"]) != ("admission.k8s.io/v1", "AdmissionReview"):
        yield "no AdmissionReview"
    response = review["response"]
    if response["uid"] != sent.uid:
        yield f"the uid is not {sent.uid!r}"
    if not isinstance(response["allowed"], bool):
        yield "allowed is neither true nor false"
    if not response["allowed"]:
        yield from _faults_of_refusal(response["status"], sent)
    if ("patch" in response) != (response.get("patchType") == "JSONPatch"):
        yield "patch and patchType do not go together"
    if "patch" in response and not all(
        {"op", "path"} <= operation.keys()
        for operation in json.loads(base64.b64decode(response["patch"], validate=True))
    ):
        yield "the patch is not a JSON Patch"
    if not all(isinstance(text, str) for text in response.get("warnings", ())):
        yield "a warning is not text"
    if not all(isinstance(text, str) for text in response.get("auditAnnotations", {}).values()):
        yield "an audit annotation is not text"


def _faults_of_refusal(status: Any, sent: Sent) -> Iterable[str]:
    if not (isinstance(status["code"], int) and isinstance(status["message"], str) and status["message"]):
        yield "a refusal without code and message"
    elif status["message"].startswith(GIVEN_UP) and not sent.is_deep:
        yield "the review could not be answered"


def main() -> None:
    """Send all reviews; print the results."""
    arguments = parse_arguments()
    reviews = Reviews(arguments.seed)
    if arguments.show is not None:
        sent = reviews[arguments.show]
        print(sent.path, file=sys.stderr)
        sys.stdout.buffer.write(sent.body)
        return
    sys.setrecursionlimit(DEPTH)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        certs.issue(directory, ["127.0.0.1"])
        pair = (f"--tls-cert={directory / certs.CERTIFICATE}", f"--tls-key={directory / certs.KEY}")
        command = [DRAGUARD, "serve", "--host=127.0.0.1", "--port=0", *pair, f"--policies={POLICIES}"]
        with served(command, directory / "log") as server:
            context = ssl.create_default_context(cafile=directory / certs.CA_CERTIFICATE)
            soak = Soak(reviews, server.url, context)
            samples = run(soak, server, arguments.requests, arguments.clients)
        failures = [
            *reported(soak),
            *logged(soak.faults, server.log),
            *memory.report(samples, arguments.requests),
            *exceptions(server.log),
        ]
    for failure in failures:
        print(f"FAILED: {failure}")
    if not failures:
        print("passed: each answer is well-formed, no process leaks, and no exception is logged")
    sys.exit(bool(failures))


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Soak the webhook.")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="how many (default: %(default)s)")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="over how many connections (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which mutations (default: %(default)s)")
    parser.add_argument("--show", type=int, metavar="INDEX", help="print one of the reviews, and send nothing")
    return parser.parse_args()


def run(soak: Soak, server: Served, requests: int, clients: int) -> list[memory.Sample]:
    """Send reviews; return what the server's processes take at intervals."""

    def sample() -> memory.Sample:
        return memory.Sample(soak.done, server.processes(), round(sum(server.resident_mb()) * memory.MB))

    samples = []
    started = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        shares = [pool.submit(soak.send, range(client, requests, clients)) for client in range(clients)]
        while wait(shares, timeout=0.5).not_done:
            samples.append(sample())
        for share in shares:
            share.result()
    print(f"{requests} reviews over {clients} connections in {time.monotonic() - started:.0f} s", end="")
    print(f"; {server.cpu_seconds() / requests * 1e6:.0f} us of CPU a review")
    return samples


def reported(soak: Soak) -> list[str]:
    """Print statistics of the answers; return their faults."""
    print(", ".join(f"{count} x {outcome}" for outcome, count in sorted(soak.outcomes.items())))
    if not soak.faults:
        return []
    return [f"{len(soak.faults)} answers are bad, among them", *soak.faults[:SHOWN]]


def logged(faults: Iterable[str], log: Path) -> list[str]:
    """Return what the log says of reviews that were answered badly."""
    uids = [f"soak-{fault.partition(':')[0]}" for fault in faults][:SHOWN]
    with log.open(encoding="utf-8", errors="replace") as file:
        return [f"the log: {line.strip()[:SHOWN_LENGTH]}" for line in file if any(uid in line for uid in uids)]


def exceptions(log: Path) -> list[str]:
    """Print the length of the log; return its faults."""
    with log.open(encoding="utf-8", errors="replace") as file:
        lines = list(file)
    found = [
        number
        for number, line in enumerate(lines)
        if "Traceback (most recent call last)" in line or '"exception":' in line
    ]
    print(f"{len(lines)} lines in the log, {len(found)} exceptions")
    if not found:
        return []
    return [f"exceptions, the first of them: {''.join(lines[max(found[0] - 1, 0) : found[0] + 40])}"]


if __name__ == "__main__":
    main()
