"""Runs an attack on a webhook of its own, and measures its effect on an ordinary client."""

import http.client
import json
import math
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.attacks import CLIENT_CA, MIB, Attack, attacks
from tests.attacks.target import JSON, TIMEOUT, Target, review, trusting
from tests.identities import authority, identity
from tests.processes import Process, certificate, serving
from tests.structured import claim, resource_slice
from webhook.certificates import certs

CHART_LIMIT = 512 * MIB
"""The memory limit of the webhook in the chart."""
PATIENCE = 100.0
"""Seconds that an attack may take beyond its time."""
ORDINARY = review("ResourceClaim", "resourceclaims", claim(), userInfo={"username": "alice"})
LONG = resource_slice(*({"name": f"gpu-{at}", "attributes": {"index": {"int": at}}} for at in range(64)))
LONG["metadata"]["annotations"] = {"padding": "x" * 190_000}
SLICE = review("ResourceSlice", "resourceslices", LONG, namespace="", userInfo={"username": "driver"})


@dataclass
class Measured:
    """The measurements beside an attack.

    Args:
        seconds: The duration of each review of the ordinary client.
        faults: The faults of its reviews, of probes, or of the attack.
        probes: The number of answered probes.
        before: The memory of all processes before the attack, in bytes.
        most: The peak of the memory.
    """

    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    probes: int = 0
    before: int = 0
    most: int = 0

    @property
    def growth(self) -> int:
        """The growth of memory in bytes."""
        return self.most - self.before

    @property
    def raised(self) -> bool:
        """Whether the webhook has logged an exception."""
        return any(fault.startswith("Traceback") for fault in self.faults)

    def verdict(self, attack: Attack) -> str:
        """Describe the limits that were broken; empty if all hold."""
        wrong = self.faults[:3]
        if not self.seconds or not self.probes:
            wrong.append("nothing was measured")
        elif max(self.seconds) > attack.slowest:
            wrong.append(f"a review took {max(self.seconds):.2f} s, not {attack.slowest} s at most")
        if self.growth > attack.growth:
            wrong.append(f"memory grew by {self.growth // MIB} MiB, not {attack.growth // MIB} MiB at most")
        if self.most > CHART_LIMIT:
            wrong.append(f"memory was {self.most // MIB} MiB")
        return "; ".join(wrong)


@dataclass(frozen=True)
class Victim:
    """A webhook to attack.

    Args:
        process: Its process.
        target: Its address.
        ca: The file with the authority of its certificate.
    """

    process: Process
    target: Target
    ca: Path


@contextmanager
def victim(directory: Path, options: Sequence[str] = ()) -> Iterator[Victim]:
    """Run a webhook until the block ends.

    Args:
        directory: An empty directory for certificates and logs.
        options: More options of ``draguard serve``.
    """
    certificate(directory)
    ca, clients, own = (directory / name for name in ("ca.crt", "clients.crt", "client.pem"))
    signer = authority()
    clients.write_bytes(certs.pem(signer.certificate))
    identity(own, signer)
    given = [str(clients) if option == CLIENT_CA else option for option in options]
    with serving(directory, "--monitoring-port", "0", *given) as process:
        (monitoring,) = re.findall(r"metrics and probes on http://\S+?:(\d+)\b", process.log)
        target = Target(process.port, int(monitoring), ca.read_text(encoding="ascii"), math.inf, identity=str(own))
        with _until_end(lambda: _ask(target, Measured(), is_anew=False)):
            time.sleep(1)  # warm
        yield Victim(process, target, ca)


def measure(name: str, victim: Victim, share: float = 1.0) -> Measured:
    """Run an attack by its name.

    Args:
        name: The name of the attack.
        victim: The webhook to attack.
        share: The share of the attack's duration for which it runs.
    """
    attack, target, pid = attacks()[name], victim.target, victim.process.process.pid
    logged, memory = len(victim.process.log), _memory(pid)
    measured = Measured(before=memory, most=memory)
    with (
        _until_end(lambda: _ask(target, measured, is_anew=attack.anew)),
        _until_end(lambda: _probe(target, measured)),
        _until_end(lambda: _weigh(pid, measured)),
        _until_end(lambda: _slice(target, measured) if attack.slices else time.sleep(0.05)),
    ):
        measured.faults += _attacked(name, victim, share * attack.seconds)
    _, raised, traceback = victim.process.log[logged:].partition("Traceback")
    if raised:
        measured.faults.append((raised + traceback)[:2000])
    return measured


def _attacked(name: str, victim: Victim, seconds: float) -> list[str]:
    ports = [str(victim.target.port), str(victim.target.monitoring)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.attacks.attacker", name, *ports, str(victim.ca), str(seconds)],
            capture_output=True,
            text=True,
            timeout=seconds + PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [f"the attack has not ended {PATIENCE:g} s after its time"]
    return json.loads(done.stdout) if done.returncode == 0 else [f"the attack failed: {done.stderr[-1000:]}"]


@contextmanager
def _until_end(work: Callable[[], None]) -> Iterator[None]:
    """Repeat a call in a thread until the block ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            work()
        if connection := getattr(_kept, "connection", None):
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


_kept = threading.local()


def _ask(target: Target, measured: Measured, *, is_anew: bool) -> None:
    """Send an ordinary review."""
    connection = getattr(_kept, "connection", None)
    started = time.monotonic()
    try:
        if connection is None or is_anew:
            settings = trusting(target.ca)
            settings.load_cert_chain(target.identity)
            connection = _kept.connection = http.client.HTTPSConnection(
                "127.0.0.1", target.port, timeout=5, context=settings
            )
        _send(connection, ORDINARY, measured)
    except (OSError, http.client.HTTPException) as error:
        measured.faults.append(f"an ordinary review was not answered: {error!r}")
        if connection:
            connection.close()
        _kept.connection = None
    taken = time.monotonic() - started
    measured.seconds.append(taken)
    if is_anew and connection:
        connection.close()
    time.sleep(max(0.0, 0.05 - taken))


def _slice(target: Target, measured: Measured) -> None:
    """Send an ordinary ResourceSlice, of a length that makes it a heavy review."""
    connection = target.connection()
    with suppress(OSError, http.client.HTTPException):
        _send(connection, SLICE, measured)
    connection.close()
    time.sleep(0.3)


def _send(connection: http.client.HTTPSConnection, body: bytes, measured: Measured) -> None:
    connection.request("POST", f"/validate?{TIMEOUT}", body, JSON)
    response = connection.getresponse()
    answer = response.read()
    if response.status != http.client.OK or not json.loads(answer)["response"]["allowed"]:
        measured.faults.append(
            f"an ordinary review of {len(body)} bytes was answered {response.status}: {answer[:200]!r}"
        )


def _probe(target: Target, measured: Measured) -> None:
    """Probe as kubelet does, over a new connection each time."""
    try:
        with socket.create_connection(("127.0.0.1", target.monitoring), 1.0) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = connection.recv(100)
        if not answer.startswith(b"HTTP/1.1 200 "):
            measured.faults.append(f"a probe was answered {answer!r}")
        measured.probes += 1
    except OSError as error:
        measured.faults.append(f"a probe was not answered: {error!r}")
    time.sleep(0.2)


def _weigh(pid: int, measured: Measured) -> None:
    measured.most = max(measured.most, _memory(pid))
    time.sleep(0.05)


def _memory(pid: int) -> int:
    """Return the memory of a process and its descendants, counting shared memory once."""
    total = 0
    with suppress(OSError):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        total = int(re.findall(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)[0]) << 10
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text(encoding="ascii")
            total += sum(_memory(int(child)) for child in children.split())
    return total


def row(name: str, measured: Measured, verdict: str) -> str:
    """Write a line of the table."""
    p50, most = (median(measured.seconds), max(measured.seconds)) if measured.seconds else (0.0, 0.0)
    failed = sum("probe" in fault for fault in measured.faults)
    figures = f"{p50 * 1000:6.1f} {most * 1000:8.1f} {failed:7} {measured.growth / MIB:8.1f}"
    return f"{name:28} {figures}  {verdict or 'holds'}"


HEAD = f"{'attack':28} {'p50 ms':>6} {'max ms':>8} {'probes':>7} {'MiB':>8}  verdict"
"""The head of the table: the ordinary client's times, probes that failed, and how memory has grown."""
