"""Metrics and logs of a running server, with one process and with several."""

import http.client
import json
import re
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import processes, serving
from tests.command import SCRIPT
from tests.processes import REVIEW, Process
from tests.serving import JSON, SOON, echo, eventually, exchange, post, statuses
from webhook.server import Limits, Reviews

pytestmark = pytest.mark.process

DENIED = REVIEW | {"uid": "denied", "object": {**REVIEW["object"], "metadata": {"name": "No Name"}}}  # type: ignore[dict-item]


def get(
    running: Process, path: str, method: str = "GET", host: str = "127.0.0.1", headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Ask the second port."""
    port = int(re.findall(r"metrics and probes on http://\S+?:(\d+)\b", running.log)[0])
    status, body = serving.ask(port, method, path, headers=headers, host=host)
    return status, body.decode()


def total(running: Process, name: str, **labels: str) -> float:
    """Sum up a metric's samples."""
    families = text_string_to_metric_families(get(running, "/metrics")[1])
    samples = [each for family in families for each in family.samples if each.name == name]
    return sum(each.value for each in samples if labels.items() <= each.labels.items())


def review_of(request: Any) -> str:
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def ask(running: Process, trust: ssl.SSLContext, path: str = "/validate", request: Any = REVIEW) -> int:
    """Send a review over a connection of its own; return the status of the answer."""
    return serving.ask(running.port, "POST", path, review_of(request), JSON, trust=trust)[0]


def decisions(running: Process) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in running.log.splitlines()]
    return [line for line in lines if line["logger"] == "webhook.decisions"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("monitored")
    processes.certificate(directory)
    return directory


@pytest.fixture(scope="module")
def trust(directory: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=directory / "ca.crt")


@pytest.fixture(scope="module")
def monitored(directory: Path) -> Iterator[Process]:
    with processes.serving(directory, "--monitoring-port", "0", "--log-allowed", "0") as running:
        yield running


class TestPort:
    def test_says_what_there_is_and_answers_probes(self, monitored: Process) -> None:
        status, text = get(monitored, "/")
        assert status == 200
        for path in re.findall(r"^/\w+", text, re.MULTILINE):
            assert get(monitored, path)[0] == 200
        assert get(monitored, "/healthz") == get(monitored, "/readyz") == (200, "ok\n")

    def test_takes_nothing_answers_no_reviews_and_has_the_metrics_to_itself(
        self, monitored: Process, trust: ssl.SSLContext
    ) -> None:
        for method in ("POST", "PUT", "DELETE"):
            for path in ("/", "/metrics", "/healthz", "/readyz"):
                assert get(monitored, path, method)[0] == 405
        for path in ("/validate", "/mutate", "/metrics/x"):
            assert get(monitored, path, "POST")[0] == 404
        assert serving.ask(monitored.port, "GET", "/metrics", trust=trust)[0] == 404

    def test_is_on_the_address_that_is_named_and_says_that_the_server_is_about_to_end(self, directory: Path) -> None:
        options = ("--monitoring-port", "0", "--monitoring-host", "127.0.0.2", "--shutdown-delay", "4")
        with processes.serving(directory, *options) as running:
            with pytest.raises(ConnectionRefusedError):
                get(running, "/healthz")
            running.process.send_signal(signal.SIGTERM)
            ending = (503, "not ready: it is shutting down\n")
            assert eventually(lambda: get(running, "/readyz", host="127.0.0.2") == ending)
            assert get(running, "/healthz", host="127.0.0.2")[0] == 200
            assert running.process.wait(SOON) == 0


class TestOneProcess:
    def test_counts_and_logs_what_it_decides(self, monitored: Process, trust: ssl.SSLContext) -> None:
        before = total(monitored, "draguard_reviews_total")
        ask(monitored, trust)
        ask(monitored, trust, "/mutate")
        ask(monitored, trust, request=DENIED)
        ask(monitored, trust, request="none")
        assert total(monitored, "draguard_reviews_total") == before + 4
        kind = "DeviceClass.resource.k8s.io"
        assert total(monitored, "draguard_reviews_total", kind=kind, decision="denied", endpoint="validate") == 1
        assert total(monitored, "draguard_review_duration_seconds_count") == before + 4
        assert eventually(lambda: len(decisions(monitored)) == 2)
        denied, malformed = decisions(monitored)
        result = (denied["uid"], denied["kind"], denied["user"], denied["decision"])
        assert result == ("denied", "DeviceClass", "admin", "denied")
        assert malformed["message"].startswith("invalid AdmissionReview on /validate: ")

    def test_tells_its_certificate_and_its_connections(self, monitored: Process, trust: ssl.SSLContext) -> None:
        assert total(monitored, "draguard_certificate_expiration_timestamp_seconds") > time.time()
        connection = http.client.HTTPSConnection("127.0.0.1", monitored.port, timeout=SOON, context=trust)
        connection.connect()
        assert eventually(lambda: total(monitored, "draguard_open_connections") == 1)
        connection.close()
        assert eventually(lambda: total(monitored, "draguard_open_connections") == 0)

    def test_logs_all_allowed_reviews_if_configured(self, directory: Path, trust: ssl.SSLContext) -> None:
        options = ["--log-allowed", "1/1", "--log-format", "text", "--log-level", "info"]
        with processes.serving(directory, *options) as running:
            ask(running, trust)
            assert running.says(" allowed   validate CREATE DeviceClass gpu by admin (")


class TestUnreadLog:
    def test_holds_up_no_review_and_not_the_end(self, directory: Path, trust: ssl.SSLContext) -> None:
        pair: list[str | Path] = ["--tls-cert", directory / "tls.crt", "--tls-key", directory / "tls.key"]
        command: list[str | Path] = [SCRIPT, "serve", "--host", "127.0.0.1", "--port", "0", "--shutdown-delay", "0"]
        with subprocess.Popen([*command, *pair, "--log-allowed", "1"], stderr=subprocess.PIPE, bufsize=0) as server:
            assert server.stderr
            port = re.search(rb"listening on https://127\.0\.0\.1:(\d+)", server.stderr.readline())
            assert port
            connection = http.client.HTTPSConnection("127.0.0.1", int(port[1]), timeout=SOON, context=trust)
            lines = 500  # of some 300 bytes; a pipe takes 64 KiB
            for _ in range(lines):
                connection.request("POST", "/validate", review_of(REVIEW), JSON)
                assert connection.getresponse().read()
            connection.close()
            server.send_signal(signal.SIGTERM)
            assert server.wait(SOON) == 0
            assert server.stderr.read().count(b"\n") < lines


class TestRefusals:
    def test_refusals_are_observed_with_their_status(self) -> None:
        result: list[int] = []
        app = Reviews(echo, refused=result.append, body_limit=1000)
        limits = Limits(body_seconds=0.1, header_bytes=500)
        with serving.serving(app, limits) as served:
            assert served.post("/validate", b"{}")[0] == 200
            assert result == []
            served.get("/validate")
            served.post("/validate", b"{}", {})
            served.post("/validate", b"x" * 1001)
            for sent in (b"no HTTP\r\n\r\n", post("X: " + "x" * 600)[:-2], post("Content-Length: 9\r\n")):
                assert statuses(exchange(served, sent)) == [result[-1]]
        assert result == [405, 415, 413, 400, 431, 408]
