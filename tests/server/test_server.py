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
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.rows import each_row
from tests.serving import GET, JSON, LIMIT, SOON, Served, answered, ask, echo, eventually, post, serving, statuses
from webhook.admission import Answer, Call
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

    def test_no_timeout_exceeds_that_of_an_api_server(self) -> None:
        deadlines: list[float] = []

        def review(body: bytes, call: Call) -> Answer:
            assert call.deadline is not None
            deadlines.append(call.deadline - time.monotonic())
            return echo(body, call)

        with serving(Reviews(review)) as served:
            for stated, held in (("20s", 20), ("30s", 30), ("9999s", 30)):
                assert served.post(f"/validate?timeout={stated}", b"{}")[0] == 200
                assert 0.2 * held < deadlines.pop() < held

    def test_the_status_of_the_answer_is_kept(self, served: Served) -> None:
        assert served.post("/validate", b"malformed") == (400, b"no AdmissionReview\n")

    @each_row(
        ("headers", "status", "says"),
        ({"Content-Type": "application/json; charset=utf-8"}, 200, b"["),
        ({"Content-Type": "Application/JSON"}, 200, b"["),
        *(
            (headers, 415, b"Unsupported Media Type: send application/json, not ")
            for headers in ({}, {"Content-Type": "application/yaml"}, {"Content-Type": "\xff"})
        ),
        (JSON | {"Content-Encoding": "gzip"}, 415, b"Unsupported Media Type: send the body as it is, not in 'gzip'\n"),
    )
    def test_content_is_json_that_is_not_compressed(
        self, served: Served, headers: dict[str, str], status: int, says: bytes
    ) -> None:
        found, body = served.post("/validate", b"{}", headers)
        assert (found, body[: len(says)]) == (status, says)

    def test_it_is_healthy_and_ready_or_says_why_not(self, served: Served) -> None:
        assert served.get("/readyz?verbose") == (200, b"ok\n")
        with serving(Reviews(echo, unready=lambda: ["no policies", "no certificate"])) as unready:
            assert unready.get("/readyz") == (503, b"not ready: no policies\nnot ready: no certificate\n")
            assert unready.get("/healthz") == (200, b"ok\n")

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


class TestBodies:
    def test_a_body_of_the_limit_is_read_and_a_longer_one_refused(self, served: Served) -> None:
        assert json.loads(served.post("/validate", b"x" * LIMIT)[1])[1] == LIMIT
        for path in ("/validate", "/healthz"):
            status, body = served.post(path, b"x" * (LIMIT + 1))
            assert (status, body.partition(b": ")[2]) == (413, b"a body may have 1048576 bytes\n")

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
    def test_a_port_in_use_and_an_address_that_makes_no_sense_are_reported(self, served: Served) -> None:
        with pytest.raises(ServerError, match=r"cannot listen on localhost port \d+: .*Address already in use.*--port"):
            listen("localhost", served.port)
        for host, port in (("localhost", 65536), ("localhost", -1), ("no.such.host.invalid", 0), ("a" * 70, 0)):
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

    @each_row(("number", "delay"), (signal.SIGTERM, 0.1), (signal.SIGINT, 60))
    def test_a_signal_ends_it_which_is_ready_before_the_log_says_so(
        self, caplog: pytest.LogCaptureFixture, number: signal.Signals, delay: float
    ) -> None:
        pair, before, told = certs.ephemeral(["localhost"]), signal.getsignal(number), list[str]()
        certificate = Certificate(pair.certificate, pair.key)
        caplog.clear()

        def ready(url: str) -> None:
            told.extend((url, caplog.text))
            os.kill(os.getpid(), number)

        with caplog.at_level(logging.INFO):
            Server(Reviews(echo), listen("localhost", 0), certificate, shutdown_delay=delay, ready=ready).run()
        assert told[0].startswith("https://127.0.0.1:")
        assert "listening" not in told[1]
        assert "listening on https://" in caplog.text
        assert signal.getsignal(number) is before


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


@pytest.mark.parametrize(("signals", "code"), [(1, 0), (2, -signal.SIGTERM)])
def test_a_process_finishes_its_work_unless_a_second_signal_ends_it_at_once(
    tmp_path: Path, signals: int, code: int
) -> None:
    certs.issue(tmp_path, ["127.0.0.1"])
    command, pipe = [sys.executable, "-c", PROCESS, str(tmp_path), "0.5"], subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process, ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout
        assert process.stderr
        trust = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        plain = socket.create_connection(("127.0.0.1", int(process.stdout.readline().rpartition(":")[2])), SOON)
        with trust.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(post("Content-Length: 3\r\n", b"0.3"))
            assert process.stdout.readline() == "began\n"
            process.terminate()
            assert statuses(connection.recv(4096)) == [200]
            if signals == 2:  # at once, both would count as one
                process.terminate()
        assert (process.wait(SOON), process.stderr.read()) == (code, "")


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


def test_files_are_read_beside_reviews() -> None:
    begun, may_go_on = [], threading.Event()

    class Changing(Reloaded[int]):
        def may_have_changed(self) -> bool:
            return True

        def follow(self) -> None:
            begun.append(1)
            assert may_go_on.wait(SOON)

    with serving(Reviews(echo), reloaded=[Changing("values", tuple, int)]) as served:
        assert eventually(lambda: bool(begun))
        assert served.post("/validate", b"{}")[0] == 200
        assert len(begun) == 1
        may_go_on.set()
        assert eventually(lambda: len(begun) > 1)
