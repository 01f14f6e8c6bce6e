"""The webhook's answers over HTTPS, and its shutdown."""

import json
import logging
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.rows import each_row
from tests.serving import (
    GET,
    JSON,
    LIMIT,
    SOON,
    Served,
    answered,
    ask,
    echo,
    eventually,
    post,
    serving,
    statuses,
)
from webhook.admission import Answer, Call, ReviewOptions, answer
from webhook.certificates import certs
from webhook.reloading import Reloaded
from webhook.server import Certificate, Limits, Pages, Reviews, Server, ServerError, listen, probes

pytestmark = pytest.mark.process


class TestEndpoints:
    @each_row("endpoint", "validate", "mutate")
    @each_row("query", "", "?timeout=10s", "?timeout=0s", "?timeout=1e9h", "?a=b&a=c&%ff")
    def test_a_review_is_answered_whatever_the_query(self, served: Served, endpoint: str, query: str) -> None:
        status, body = served.post(f"/{endpoint}{query}", b"{}")
        assert (status, json.loads(body)) == (200, [endpoint, 2, "{}"])

    @each_row(("stated", "held"), ("20s", 20), ("30s", 30), ("9999s", 30))
    def test_no_timeout_exceeds_that_of_an_api_server(self, stated: str, held: int) -> None:
        deadlines: list[float] = []

        def review(body: bytes, call: Call) -> Answer:
            assert call.deadline is not None
            deadlines.append(call.deadline - time.monotonic())
            return echo(body, call)

        with serving(Reviews(review)) as served:
            assert served.post(f"/validate?timeout={stated}", b"{}")[0] == 200
        assert 0.2 * held < deadlines[0] < held

    def test_the_status_of_the_answer_is_kept(self, served: Served) -> None:
        assert served.post("/validate", b"malformed") == (400, b"no AdmissionReview\n")

    @each_row("content_type", "application/json; charset=utf-8", "Application/JSON")
    def test_a_content_type_may_be_written_in_several_ways(self, served: Served, content_type: str) -> None:
        assert served.post("/mutate", b"{}", {"Content-Type": content_type})[0] == 200

    @each_row("headers", {}, {"Content-Type": "application/yaml"}, {"Content-Type": "\xff"})
    def test_any_other_content_type_is_refused(self, served: Served, headers: dict[str, str]) -> None:
        status, body = served.post("/validate", b"{}", headers)
        assert status == 415
        assert body.startswith(b"Unsupported Media Type: send application/json, not ")

    def test_compression_is_refused(self, served: Served) -> None:
        status, body = served.post("/validate", b"\x1f\x8b", {**JSON, "Content-Encoding": "gzip"})
        assert (status, body) == (415, b"Unsupported Media Type: send the body as it is, not in 'gzip'\n")

    def test_it_is_healthy_and_ready(self, served: Served) -> None:
        assert served.get("/healthz") == (200, b"ok\n")
        assert served.get("/readyz?verbose") == (200, b"ok\n")

    def test_it_says_why_it_is_not_ready(self) -> None:
        with serving(Reviews(echo, unready=lambda: ["no policies", "no certificate"])) as served:
            assert served.get("/readyz") == (503, b"not ready: no policies\nnot ready: no certificate\n")
            assert served.get("/healthz") == (200, b"ok\n")

    def test_errors_are_reported_in_plain_text(self, served: Served) -> None:
        for method, path, status in (("GET", "/%e2%82%ac", 404), ("GET", "/validate", 405), ("PUT", "/healthz", 405)):
            connection = served.connect()
            connection.request(method, path, b"{}", JSON)
            response = connection.getresponse()
            assert response.status == status
            assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert b"<" not in response.read()
            assert response.headers["Allow"] == {"/validate": "POST"}.get(path) or path != "/validate"
            connection.close()

    def test_a_failing_review_is_a_500_and_logged(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        assert served.post("/validate", b"broken") == (500, b"Internal Server Error")
        assert "ZeroDivisionError" in caplog.text
        assert served.post("/validate", b"{}")[0] == 200

    def test_other_bodies_than_reviews_are_a_400(self) -> None:
        with serving(Reviews(partial(answer, options=ReviewOptions()))) as served:
            for body in (b"", b"{}", b"null", b"\xff\xfe", b"[" * 2**20, b'{"a":' * 2**18, b"NaN", b"1" * 2**20):
                assert served.post("/validate", body)[0] == 400
                assert served.post("/mutate", body)[0] == 400
            assert served.get("/healthz")[0] == 200


class TestBodies:
    def test_a_body_of_the_limit_is_read(self, served: Served) -> None:
        assert json.loads(served.post("/validate", b"x" * LIMIT)[1])[1] == LIMIT

    @each_row("path", "/validate", "/healthz")
    def test_a_longer_body_is_refused(self, served: Served, path: str) -> None:
        status, body = served.post(path, b"x" * (LIMIT + 1))
        assert status == 413
        assert body.endswith(b": a body may have 1048576 bytes\n")

    @each_row("length", LIMIT + 1, 9999999999999999999)
    def test_a_longer_body_is_refused_before_it_is_sent(self, served: Served, length: int) -> None:
        with served.socket() as connection:
            connection.sendall(post(f"Content-Length: {length}\r\nExpect: 100-continue\r\n"))
            assert statuses(connection.recv(4096)) == [413]

    @each_row(("length", "status"), (0, 200), (1, 200), (LIMIT, 200), (LIMIT + 1, 413), (3 * LIMIT, 413))
    def test_a_chunked_body_is_measured_as_it_comes(self, served: Served, length: int, status: int) -> None:
        blocks = (b"x" * min(100_000, length - start) for start in range(0, length, 100_000))
        found, body = served.request("POST", "/validate", blocks, JSON)
        assert found == status
        assert status == 413 or json.loads(body)[1] == length

    def test_the_default_limit_is_six_mebibytes(self) -> None:
        with serving(Reviews(echo)) as served:
            assert served.post("/validate", b"x" * 6 * 2**20)[0] == 200
            assert served.post("/validate", b"x" * 7 * 2**20)[0] == 413

    def test_a_client_may_ask_first_whether_to_send(self, served: Served) -> None:
        with served.socket() as connection:
            connection.sendall(post("Content-Length: 2\r\nExpect: 100-continue\r\n"))
            assert statuses(connection.recv(4096)) == [100]
            connection.sendall(b"{}")
            assert statuses(connection.recv(4096)) == [200]

    @each_row("how", "Content-Length: 9\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n9\r\n{}")
    def test_a_body_that_ends_early_is_never_reviewed(self, how: str) -> None:
        reviewed = []

        def remember(body: bytes, call: Call) -> Answer:
            reviewed.append(body)
            return echo(body, call)

        with serving(Reviews(remember)) as served:
            with served.socket() as connection:
                connection.sendall(post("")[:-2] + how.encode())
            assert served.post("/validate", b"whole")[0] == 200
            assert eventually(lambda: not served.connections)
        assert reviewed == [b"whole"]


class TestOverload:
    def test_a_review_that_waited_for_too_long_is_left_to_another_replica(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        def slow(body: bytes, call: Call) -> Answer:
            time.sleep(0.3)  # more than a quarter of a second, for which the second one waits
            return echo(body, call)

        with serving(Reviews(slow)) as served, ExitStack() as stack:
            connections = [stack.enter_context(served.socket()) for _ in range(6)]
            for connection, timeout in zip(connections, [30, 1, 1, 1, 1, 30], strict=True):
                connection.sendall(post("Content-Length: 2\r\n", b"{}", f"/validate?timeout={timeout}s"))
            received = list(map(answered, connections))
        shed = [answer for answer in received if statuses(answer) == [503]]
        assert 1 <= len(shed) <= 4  # of those that waited for more than a quarter of a second
        assert [statuses(received[patient]) for patient in (0, 5)] == [[200]] * 2
        assert b"\r\nretry-after: 1\r\n" in shed[0]
        assert b"\r\nconnection: close\r\n" in shed[0]
        assert "overloaded, answering 503: the review has waited for " in caplog.text

    def test_bodies_on_their_way_take_bounded_memory_and_the_longest_is_given_up_for_others(self) -> None:
        with serving(Reviews(echo, body_limit=LIMIT), Limits(bodies_bytes=300_000)) as served:
            crowd = served.server.port.crowd
            with served.socket() as first, served.socket() as second:
                first.sendall(post("Content-Length: 290000\r\n", b"x" * 250_000))
                assert eventually(lambda: crowd.bodies == 250_000)
                second.sendall(post("Content-Length: 80000\r\n", b"x" * 70_000))
                assert eventually(lambda: crowd.bodies == 70_000)
                assert served.post("/validate", b"{}")[0] == 200
                second.sendall(b"x" * 10_000)
                assert statuses(answered(second)) == [200]
                first.sendall(b"x" * 30_000)
                assert statuses(answered(first)) == [503]
            assert eventually(lambda: crowd.bodies == 0)


class TestListening:
    def test_a_port_in_use_is_reported(self, served: Served) -> None:
        with pytest.raises(ServerError, match=r"cannot listen on localhost port \d+: .*Address already in use.*--port"):
            listen("localhost", served.port)

    @each_row(("host", "port"), ("localhost", 65536), ("localhost", -1), ("no.such.host.invalid", 0), ("a" * 70, 0))
    def test_an_address_that_makes_no_sense_is_reported(self, host: str, port: int) -> None:
        with pytest.raises(ServerError, match="cannot listen on"):
            listen(host, port)


class TestShutdown:
    def test_connections_are_accepted_and_given_up_one_after_the_other(self) -> None:
        with serving(Reviews(echo)) as served, served.socket() as kept:
            kept.sendall(GET)
            assert b"close" not in answered(kept)
            served.server.stop(1.5)
            kept.sendall(GET)
            received = answered(kept)
            assert statuses(received) == [200]
            assert b"\r\nconnection: close\r\n" in received
            assert kept.recv(1) == b""
            assert served.get("/readyz") == (503, b"not ready: it is shutting down\n")
            assert served.post("/validate", b"{}")[0] == 200
            assert eventually(lambda: refused(served))

    def test_a_request_that_has_begun_is_answered(self) -> None:
        with serving(Reviews(echo)) as served, served.socket() as idle, ThreadPoolExecutor(2) as clients:
            idle.sendall(GET)
            assert statuses(answered(idle)) == [200]
            requests = [post("Content-Length: 2\r\n"), post("Content-Length: 2\r\n")[:20]]
            with served.socket() as body, served.socket() as header:
                for connection, sent in zip((body, header), requests, strict=True):
                    connection.sendall(sent)
                assert eventually(lambda: served.connections == 3)
                time.sleep(0.3)
                served.server.stop(0)
                assert idle.recv(1) == b""
                assert eventually(lambda: refused(served))
                body.sendall(b"{}")
                header.sendall(post("Content-Length: 2\r\n", b"{}")[20:])
                received = list(clients.map(answered, (body, header)))
            assert [statuses(each) for each in received] == [[200], [200]]
            assert all(b"\r\nconnection: close\r\n" in each for each in received)

    def test_a_new_connection_has_a_moment_to_send_its_request(self) -> None:
        limits = Limits(closing_seconds=0.5)
        with serving(Reviews(echo), limits) as served, served.socket() as late, served.socket() as silent:
            assert eventually(lambda: served.connections == 2)
            served.server.stop(0)
            assert eventually(lambda: refused(served))
            late.sendall(GET)
            assert statuses(answered(late)) == [200]
            assert silent.recv(1) == b""

    def test_a_handshake_at_the_end_harms_nothing(self) -> None:
        with serving(Reviews(echo), Limits(handshake_seconds=0.5)) as served:
            silent = socket.create_connection((served.host, served.port), SOON)
            assert served.get("/healthz")[0] == 200
            served.server.stop(0)
            with silent:
                assert silent.recv(1) == b""

    def test_it_does_not_wait_for_ever(self) -> None:
        limits = Limits(header_seconds=60, grace_seconds=1)
        with serving(Reviews(echo), limits) as served, served.socket() as stuck:
            stuck.sendall(b"GET /heal")
            time.sleep(0.1)
            began = time.monotonic()
            served.server.stop(0)
            assert eventually(lambda: refused(served))
            assert stuck.recv(1) == b""
            assert time.monotonic() - began < SOON

    @pytest.mark.parametrize(("number", "delay"), [(signal.SIGTERM, 0.1), (signal.SIGINT, 60)])
    def test_a_signal_ends_it(self, number: signal.Signals, delay: float) -> None:
        pair = certs.ephemeral(["localhost"])
        before = signal.getsignal(number)
        urls = []

        def ready(url: str) -> None:
            urls.append(url)
            os.kill(os.getpid(), number)

        server = Server(
            Reviews(echo),
            listen("localhost", 0),
            Certificate(pair.certificate, pair.key),
            shutdown_delay=delay,
            ready=ready,
        )
        server.run()
        assert urls[0].startswith("https://127.0.0.1:")
        assert signal.getsignal(number) is before

    def test_it_is_ready_before_the_log_says_so(self, caplog: pytest.LogCaptureFixture) -> None:
        pair = certs.ephemeral(["localhost"])
        logged = []

        def ready(_url: str) -> None:
            logged.extend(caplog.messages)
            os.kill(os.getpid(), signal.SIGINT)

        with caplog.at_level(logging.INFO):
            Server(Reviews(echo), listen("localhost", 0), Certificate(pair.certificate, pair.key), ready=ready).run()
        assert [each for each in logged if "listening" in each] == []
        assert "listening on https://" in caplog.text


def refused(served: Served) -> bool:
    try:
        socket.create_connection((served.host, served.port)).close()
    except ConnectionRefusedError:
        return True
    return False


PROCESS = """
import sys, time
from pathlib import Path
from webhook import server
from webhook.admission import Answer

def slow(body, call):
    print("began", flush=True)
    time.sleep(float(body))
    return Answer(200, b"{}", "application/json")

directory, delay = Path(sys.argv[1]), float(sys.argv[2])
certificate = server.Certificate(directory / "tls.crt", directory / "tls.key")
listener, ready = server.listen("127.0.0.1", 0), lambda url: print(url, flush=True)
server.Server(server.Reviews(slow), listener, certificate, shutdown_delay=delay, ready=ready).run()
"""


class TestProcess:
    @pytest.fixture
    def process(self, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
        certs.issue(tmp_path, ["127.0.0.1"])
        command = [sys.executable, "-c", PROCESS, str(tmp_path), "0.5"]
        root = Path(__file__).parents[2]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=root, stdout=pipe, stderr=pipe, text=True) as started:
            yield started
            started.kill()

    def client(self, process: subprocess.Popen[str], tmp_path: Path) -> ssl.SSLSocket:
        assert process.stdout
        port = int(process.stdout.readline().rpartition(":")[2])
        return connect(port, ssl.create_default_context(cafile=tmp_path / "ca.crt"))

    def test_it_finishes_its_work_and_exits_with_zero(self, process: subprocess.Popen[str], tmp_path: Path) -> None:
        with self.client(process, tmp_path) as connection:
            connection.sendall(post("Content-Length: 3\r\n", b"0.5"))
            assert process.stdout
            assert process.stdout.readline() == "began\n"
            process.terminate()
            assert statuses(connection.recv(4096)) == [200]
        assert process.wait(SOON) == 0
        assert process.stderr
        assert process.stderr.read() == ""

    def test_a_second_signal_ends_it_at_once(self, process: subprocess.Popen[str], tmp_path: Path) -> None:
        with self.client(process, tmp_path) as connection:
            connection.sendall(post("Content-Length: 3\r\n", b"0.3"))
            assert process.stdout
            assert process.stdout.readline() == "began\n"
            process.terminate()
            assert statuses(connection.recv(4096)) == [200]  # two signals at once would count as one
            process.terminate()
            assert process.wait(SOON) == -signal.SIGTERM

    def test_no_request_is_lost_at_shutdown(self, process: subprocess.Popen[str], tmp_path: Path) -> None:
        assert process.stdout
        trust = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        port = int(process.stdout.readline().rpartition(":")[2])
        with ThreadPoolExecutor(8) as clients:
            running = [clients.submit(ask_until_refused, port, trust) for _ in range(8)]
            time.sleep(0.5)
            process.terminate()
            for _ in process.stdout:  # else the pipe is full
                pass
            answers = [each.result(SOON) for each in running]
        assert min(answers) > 10
        assert process.wait(SOON) == 0


def connect(port: int, trust: ssl.SSLContext) -> ssl.SSLSocket:
    return trust.wrap_socket(socket.create_connection(("127.0.0.1", port), SOON), server_hostname="127.0.0.1")


def ask_until_refused(port: int, trust: ssl.SSLContext) -> int:
    """Send reviews over kept connections, a new one after each that is closed; count the answers."""
    answers = 0
    while True:
        try:
            connection = connect(port, trust)
        except OSError:
            return answers
        with connection:
            last = False
            while not last:
                connection.sendall(post("Content-Length: 1\r\n", b"0"))
                received = answered(connection)
                assert statuses(received) == [200]
                last = b"\r\nconnection: close\r\n" in received
                answers += 1


@contextmanager
def beside(limits: Limits | None = None) -> Iterator[tuple[Served, int]]:
    """Serve with a plain port, too."""
    with listen("localhost", 0) as listener:
        port = listener.getsockname()[1]
        with serving(Reviews(echo), limits, beside=(Pages(probes(tuple)), listener)) as served:
            yield served, port


class TestPlainPort:
    def test_it_answers_pages_and_no_reviews(self) -> None:
        with beside() as (served, port):
            assert ask(port, "GET", "/healthz") == (200, b"ok\n")
            assert ask(port, "POST", "/validate", b"{}")[0] == 404
            for body in (b"x" * 100_000, iter([b"x" * 40_000] * 2)):  # a chunked one is measured as it comes
                assert ask(port, "POST", "/healthz", body)[0] == 413
            assert served.post("/validate", b"{}")[0] == 200

    def test_it_answers_when_the_other_is_full(self) -> None:
        with beside(Limits(connections=1)) as (served, port), served.socket():
            assert eventually(lambda: served.connections == 1)
            for _ in range(3):
                assert ask(port, "GET", "/healthz")[0] == 200

    def test_it_closes_with_the_other(self) -> None:
        with beside() as (served, port), socket.create_connection(("localhost", port), SOON) as kept:
            kept.sendall(GET)
            assert b"connection: close" not in answered(kept)
            served.server.stop(0.3)
            kept.sendall(GET)
            assert b"\r\nconnection: close\r\n" in answered(kept)
            with socket.create_connection(("localhost", port), SOON) as idle:
                idle.sendall(GET)
                assert statuses(answered(idle)) == [200]
                assert idle.recv(1) == b""


class Changing(Reloaded[int]):
    """Files that have changed whenever they are looked at."""

    def __init__(self) -> None:
        super().__init__("values", tuple, int)
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.times = 0

    def may_have_changed(self) -> bool:
        return True

    def follow(self) -> None:
        self.times += 1
        self.begun.set()
        assert self.may_go_on.wait(SOON)


def test_files_are_read_beside_reviews() -> None:
    changing = Changing()
    with serving(Reviews(echo), reloaded=[changing]) as served:
        assert changing.begun.wait(SOON)
        assert served.post("/validate", b"{}")[0] == 200
        assert changing.times == 1
        changing.may_go_on.set()
        assert eventually(lambda: changing.times > 1)
