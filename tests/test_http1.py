from __future__ import annotations

import json
import logging
import re
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.serving import JSON, SOON, Served, echo, eventually, exchange, post, serving, statuses
from webhook.server import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.admission import Answer, Endpoint
    from webhook.http1 import Server

BROKEN_CHUNKS = [
    *[b"0x2\r\n{}\r\n", b"+2\r\n{}\r\n", b"\r\n", b"2\n{}\r\n", b"-1\r\n", b"2\r\n{}}\r\n", b"1" * 16 + b"\r\n"],
    *[b"2" * 70_000, b"0\r\n" + b"a: b\r\n" * 101 + b"\r\n"],
]
LIMIT = 1 << 20


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(create_app(echo, body_limit=LIMIT)) as running:
        yield running


class TestBodies:
    def test_a_body_of_the_limit_is_read(self, served: Served) -> None:
        assert json.loads(served.post("/validate", b"x" * LIMIT)[1])[1] == LIMIT

    def test_a_longer_body_is_refused(self, served: Served) -> None:
        assert served.post("/validate", b"x" * (LIMIT + 1)) == (
            413,
            b"Request Entity Too Large: a body may have 1048576 bytes\n",
        )

    def test_a_longer_body_is_refused_before_it_is_sent(self, served: Served) -> None:
        with served.socket() as connection:
            connection.sendall(post("Content-Length: 1048577\r\n"))
            assert statuses(connection.recv(4096)) == [413]

    @pytest.mark.parametrize(
        ("length", "status"), [(0, 200), (1, 200), (LIMIT, 200), (LIMIT + 1, 413), (3 * LIMIT, 413)]
    )
    def test_a_chunked_body_is_measured_as_it_comes(self, served: Served, length: int, status: int) -> None:
        connection = served.connect()
        blocks = (b"x" * min(100_000, length - start) for start in range(0, length, 100_000))
        connection.request("POST", "/validate", blocks, JSON, encode_chunked=True)
        response = connection.getresponse()
        body = response.read()
        assert response.status == status
        assert status == 413 or json.loads(body)[1] == length
        connection.close()

    def test_the_default_limit_is_six_mebibytes(self) -> None:
        with serving(create_app(echo)) as served:
            assert served.post("/validate", b"x" * 6 * 2**20)[0] == 200
            assert served.post("/validate", b"x" * 7 * 2**20)[0] == 413

    def test_a_client_may_ask_first_whether_to_send(self, served: Served) -> None:
        with served.socket() as connection:
            connection.sendall(post("Content-Length: 2\r\nExpect: 100-continue\r\n"))
            assert statuses(connection.recv(4096)) == [100]
            connection.sendall(b"{}")
            assert statuses(connection.recv(4096)) == [200]

    def test_chunks_may_have_extensions_and_trailers(self, served: Served) -> None:
        body = b'2 ;name="\xe9"\r\n{}\r\n000\r\nDigest: x\r\n\r\n'
        request = post("Transfer-Encoding: Chunked\r\nConnection: close\r\n", body)
        received = exchange(served, request)
        assert statuses(received) == [200]
        assert received.endswith(b'["validate", 2, "{}"]')

    @pytest.mark.parametrize("body", BROKEN_CHUNKS)
    def test_a_body_in_broken_chunks_is_refused(self, served: Served, body: bytes) -> None:
        received = exchange(served, post("Transfer-Encoding: chunked\r\n", body), post("Content-Length: 0\r\n"))
        assert statuses(received) == [400]
        assert b"\r\n\r\nBad Request: the body cannot be read: " in received

    @pytest.mark.parametrize("how", ["Content-Length: 9\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n9\r\n{}"])
    def test_a_body_that_ends_early_is_never_reviewed(self, how: str) -> None:
        reviewed = []

        def remember(body: bytes, endpoint: Endpoint) -> Answer:
            reviewed.append(body)
            return echo(body, endpoint)

        with serving(create_app(remember)) as served:
            with served.socket() as connection:
                connection.sendall(post("")[:-2] + how.encode())
            assert served.post("/validate", b"whole")[0] == 200
            assert eventually(lambda: not served.server.connections)
        assert reviewed == [b"whole"]

    def test_a_body_that_does_not_come_is_a_408(self) -> None:
        def hurry(server: Server) -> None:
            server.request_seconds = 0.2

        with serving(create_app(echo), hurry) as served:
            assert statuses(exchange(served, post("Content-Length: 9\r\n", b"{}"))) == [408]

    def test_a_body_that_trickles_is_a_408(self) -> None:
        def hurry(server: Server) -> None:
            server.request_seconds = 0.2

        with serving(create_app(echo), hurry) as served, served.socket() as connection:
            connection.sendall(post("Content-Length: 100\r\n"))
            connection.settimeout(0.05)
            received = b""
            for _ in range(100):
                connection.sendall(b"x")
                try:
                    received = connection.recv(4096)
                except TimeoutError:
                    continue
                break
            assert statuses(received) == [408]


class TestConnections:
    def test_a_connection_serves_one_request_after_the_other(self, served: Served) -> None:
        connection = served.connect()
        connection.connect()
        kept = connection.sock
        for number in range(20):
            connection.request("POST", "/validate", str(number), JSON)
            assert json.loads(connection.getresponse().read())[2] == str(number)
            assert connection.sock is kept
        connection.close()

    def test_requests_sent_together_are_answered_in_order(self, served: Served) -> None:
        requests = [post("Content-Length: 1\r\n", b"%d" % number) for number in range(5)]
        requests.append(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = exchange(served, b"".join(requests))
        assert statuses(received) == [200] * 6
        assert re.findall(rb'1, "(.)"', received) == [b"0", b"1", b"2", b"3", b"4"]

    def test_a_request_may_come_in_pieces(self, served: Served) -> None:
        request = post("Content-Length: 2\r\nConnection: close\r\n", b"{}")
        pieces = [request[start : start + 40] for start in range(0, len(request), 40)]
        assert statuses(exchange(served, *pieces)) == [200]

    def test_what_is_left_of_a_body_is_never_taken_for_a_request(self, served: Served) -> None:
        hidden = post("Content-Length: 1\r\n", b"1")
        received = exchange(served, post(f"Content-Length: {len(hidden)}\r\n", hidden, path="/elsewhere"))
        assert statuses(received) == [404]
        assert b"\r\nConnection: close\r\n" in received

    @pytest.mark.parametrize(
        "headers",
        [
            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 2\r\nContent-Length: 3\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Content-Length: +2\r\n",
            "Content-Length: 2, 2\r\n",
            "Content-Length: \r\n",
            f"Content-Length: {'9' * 19}\r\n",
            "no colon\r\nContent-Length: 2\r\n",
        ],
    )
    def test_a_header_that_could_smuggle_a_request_is_refused(self, served: Served, headers: str) -> None:
        received = exchange(served, post(headers, b"{}"), post("Content-Length: 0\r\n"))
        assert statuses(received) == [400]
        assert b"\r\n\r\nBad Request: the " in received

    @pytest.mark.parametrize(
        ("request_", "status"),
        [
            (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
            (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
            (b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", 431),
            (b"GET / HTTP/2.0\r\n\r\n", 505),
            (b"GET / HTTP/x\r\n\r\n", 400),
            (b"hello world and all\r\n\r\n", 400),
        ],
    )
    def test_what_is_no_request_is_refused(self, served: Served, request_: bytes, status: int) -> None:
        received = exchange(served, request_)
        assert statuses(received) == [status]
        assert b"<" not in received
        assert b"Python" not in received

    @settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.binary(max_size=60) | st.sampled_from([post(""), b"GET /%ff HTTP/1.1\r\n", b"Host: ["]), max_size=6)
    )
    def test_no_bytes_bring_it_down(self, served: Served, parts: list[bytes]) -> None:
        with served.socket() as connection:
            connection.sendall(b"".join(parts))
        assert served.get("/healthz") == (200, b"ok\n")

    def test_silent_clients_keep_nobody_waiting(self, served: Served) -> None:
        def silent_tcp() -> socket.socket:
            return socket.create_connection((served.host, served.port))

        clients = [silent_tcp() for _ in range(20)] + [served.socket() for _ in range(20)]
        clients[-1].sendall(post("Content-Length: 9\r\n", b"{}"))
        clients[-2].sendall(b"POST /val")
        try:
            began = time.monotonic()
            assert served.post("/validate", b"{}")[0] == 200
            assert time.monotonic() - began < 2
        finally:
            for client in clients:
                client.close()

    def test_two_clients_are_served_at_once(self) -> None:
        both = threading.Barrier(2, timeout=SOON)

        def meet(body: bytes, endpoint: Endpoint) -> Answer:
            both.wait()
            return echo(body, endpoint)

        with serving(create_app(meet)) as served, ThreadPoolExecutor(2) as clients:
            for _ in range(10):
                answers = list(clients.map(lambda body: served.post("/mutate", body), (b"1", b"2")))
                assert [json.loads(body)[2] for _, body in answers] == ["1", "2"]

    @pytest.mark.parametrize("limit", ["handshake_seconds", "idle_seconds"])
    def test_silent_clients_are_let_go(self, limit: str) -> None:
        with serving(create_app(echo), lambda server: setattr(server, limit, 0.1)) as served:
            client = socket.create_connection((served.host, served.port)) if limit[0] == "h" else served.socket()
            with client:
                client.settimeout(SOON)
                assert client.recv(1) == b""

    def test_a_slow_header_is_let_go(self) -> None:
        def hurry(server: Server) -> None:
            server.request_seconds = 0.1

        with serving(create_app(echo), hurry) as served:
            assert exchange(served, b"GET /heal") == b""

    def test_connections_beyond_the_limit_are_closed(self, caplog: pytest.LogCaptureFixture) -> None:
        def two(server: Server) -> None:
            server.max_connections = 2

        with serving(create_app(echo), two) as served:
            with served.socket(), served.socket(), pytest.raises(OSError):  # noqa: PT011 - reset or end, as it comes
                served.get("/healthz")
            assert "refused a connection of 127.0.0.1: 2 are open" in caplog.text
            assert eventually(lambda: served.get("/healthz")[0] == 200)

    def test_it_recovers_when_the_process_ran_out_of_files(self, caplog: pytest.LogCaptureFixture) -> None:
        with serving(create_app(echo)) as served, socket.socket() as client:
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
            try:
                client.connect(("127.0.0.1", served.port))  # a name would need a file to look it up
                assert eventually(lambda: "cannot accept a connection: [Errno 24]" in caplog.text)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert served.get("/healthz")[0] == 200

    def test_it_recovers_when_the_process_ran_out_of_threads(self, caplog: pytest.LogCaptureFixture) -> None:
        with serving(create_app(echo)) as served:
            before = threading.stack_size(1 << 47)  # more than there are addresses
            try:
                with socket.create_connection((served.host, served.port), timeout=SOON) as client:
                    assert client.recv(1) == b""
            finally:
                threading.stack_size(before)
            assert eventually(lambda: "can't start new thread" in caplog.text)
            assert served.get("/healthz")[0] == 200

    def test_requests_are_logged_quietly(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        line = """127.0.0.1 '"GET /healthz?%1b[2J HTTP/1.1" 200 -'"""
        with caplog.at_level(logging.DEBUG, "webhook"):
            served.get("/healthz?%1b[2J")
            assert eventually(lambda: line in caplog.messages)
        assert {each.levelno for each in caplog.records} == {logging.DEBUG}
