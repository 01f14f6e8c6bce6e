"""Runs ``draguard serve`` as processes, and sends reviews over several TLS connections, counting every answer."""

import http.client
import json
import re
import signal
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.command import SCRIPT
from tests.serving import JSON, SOON, eventually
from webhook.certificates import certs

REVIEW = {
    "uid": "c7df00db",
    "kind": {"group": "resource.k8s.io", "version": "v1", "kind": "DeviceClass"},
    "resource": {"group": "resource.k8s.io", "version": "v1", "resource": "deviceclasses"},
    "operation": "CREATE",
    "userInfo": {"username": "admin"},
    "object": {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
}


class Process:
    """A running ``draguard serve``.

    Args:
        process: The process.
        log: The file to which it writes.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def port(self) -> int:
        return int(re.findall(r"listening on https://\S+?:(\d+)\b", self.log)[0])

    @property
    def workers(self) -> list[int]:
        """The processes that answer."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [int(pid) for pid in children.split()]

    def says(self, text: str, times: int = 1) -> bool:
        """Wait for a text in the log."""
        return eventually(lambda: self.log.count(text) >= times)


@contextmanager
def serving(directory: Path, *options: str | Path, port: int = 0) -> Iterator[Process]:
    """Run a server with the certificate in a directory until the block ends, when it must shut down cleanly.

    Args:
        directory: The directory of the certificate and the log.
        options: More options of ``draguard serve``.
        port: The port to listen on.
    """
    pair: list[str | Path] = ["--tls-cert", directory / "tls.crt", "--tls-key", directory / "tls.key"]
    command: list[str | Path] = [
        SCRIPT,
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        *pair,
        *(() if "--shutdown-delay" in options else ("--shutdown-delay", "0.5")),
        *options,
    ]
    log = directory / f"{len(list(directory.glob('*.log')))}.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        running = Process(process, log)
        try:
            assert running.says("listening on https://"), running.log
            yield running
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(SOON) == 0, running.log


def certificate(directory: Path) -> ssl.SSLContext:
    """Make a certificate in a directory, and the settings of a client that trusts it."""
    certs.issue(directory, ["127.0.0.1"])
    return ssl.create_default_context(cafile=directory / "ca.crt")


@dataclass
class Load:
    """The results of the requests of several clients.

    Args:
        answers: The count of each answer: its status, and whether the object was admitted.
        failures: The reasons why requests were not answered.
    """

    answers: Counter[tuple[int, bool]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def goes_on(self, times: int = 50) -> bool:
        """Wait for some more answers."""
        before = self.answers.total()
        return eventually(lambda: self.answers.total() >= before + times)


@contextmanager
def loading(ports: Sequence[int], trust: ssl.SSLContext, clients: int = 4) -> Iterator[Load]:
    """Send reviews over kept connections until the block ends.

    A client whose connection is closed after an answer makes a new one to the next port, as does one that finds a port
    closed; so would a Service that sends new connections to what is ready. A request that is sent is never sent again.

    Args:
        ports: The ports to connect to.
        trust: The trusted authorities.
        clients: The number of connections at a time.
    """
    load, done = Load(), threading.Event()

    def ask(number: int) -> None:
        while not done.is_set():
            number += 1
            connection = http.client.HTTPSConnection(
                "127.0.0.1", ports[number % len(ports)], timeout=SOON, context=trust
            )
            try:
                connection.connect()
            except ConnectionRefusedError:
                done.wait(0.01)
                continue
            connection.auto_open = 0
            try:
                while connection.sock is not None and not done.is_set():
                    status, body = post(connection)
                    load.answers[status, json.loads(body)["response"]["allowed"]] += 1
            except (OSError, http.client.HTTPException, ValueError) as error:
                load.failures.append(repr(error))
            finally:
                connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        assert load.goes_on(), load
        yield load
        assert load.goes_on(), load
    finally:
        done.set()
        for thread in threads:
            thread.join(SOON)


def post(connection: http.client.HTTPSConnection, review: Any = None) -> tuple[int, bytes]:
    """Send a review."""
    asked = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review or REVIEW}
    connection.request("POST", "/validate?timeout=10s", json.dumps(asked), JSON)
    response = connection.getresponse()
    return response.status, response.read()
