from __future__ import annotations

import json
import logging
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.serving import JSON, Served, serving
from webhook import certs
from webhook.admission import Answer
from webhook.server import ServerError, create_app, listen, serve, tls_context, tls_context_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webhook.admission import Endpoint
    from webhook.http1 import Server

BROKEN_CHUNKS = [
    *[b"0x2\r\n{}\r\n", b"+2\r\n{}\r\n", b"\r\n", b"2\n{}\r\n", b"-1\r\n", b"2\r\n{}}\r\n", b"1" * 16 + b"\r\n"],
    *[b"2" * 70_000, b"0\r\n" + b"a: b\r\n" * 101 + b"\r\n"],
]
LIMIT = 1 << 20
SOON = 5.0
"""Seconds after which a test stops waiting for what must happen at once."""


def echo(body: bytes, endpoint: Endpoint) -> Answer:
    """Answer with what was understood of the request."""
    if body == b"broken":
        raise ZeroDivisionError
    if body == b"malformed":
        return Answer(400, b"no AdmissionReview\n", "text/plain; charset=utf-8")
    return Answer(200, json.dumps([endpoint, len(body), body[:9].decode()]).encode(), "application/json")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(create_app(echo, body_limit=LIMIT)) as running:
        yield running


def exchange(served: Served, *sent: bytes) -> bytes:
    """Send bytes, return everything that comes back until the server closes the connection."""
    received = bytearray()
    with served.socket() as connection:
        for part in sent:
            connection.sendall(part)
        while block := connection.recv(65536):
            received += block
    return bytes(received)


def statuses(received: bytes) -> list[int]:
    """Return the status of each response in a stream of short ones."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", received)]


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


def post(headers: str, body: bytes = b"", path: str = "/validate") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{headers}\r\n".encode() + body


class TestEndpoints:
    @pytest.mark.parametrize("endpoint", ["validate", "mutate"])
    @pytest.mark.parametrize("query", ["", "?timeout=10s", "?a=b&a=c&%ff"])
    def test_a_review_is_answered_whatever_the_query(self, served: Served, endpoint: str, query: str) -> None:
        status, body = served.post(f"/{endpoint}{query}", b"{}")
        assert (status, json.loads(body)) == (200, [endpoint, 2, "{}"])

    def test_the_status_of_the_answer_is_kept(self, served: Served) -> None:
        assert served.post("/validate", b"malformed") == (400, b"no AdmissionReview\n")

    def test_a_content_type_may_name_its_character_set(self, served: Served) -> None:
        assert served.post("/mutate", b"{}", {"Content-Type": "application/json; charset=utf-8"})[0] == 200

    @pytest.mark.parametrize("headers", [{}, {"Content-Type": "application/yaml"}, {"Content-Type": "\xff"}])
    def test_any_other_content_type_is_refused(self, served: Served, headers: dict[str, str]) -> None:
        status, body = served.post("/validate", b"{}", headers)
        assert status == 415
        assert body.startswith(b"Unsupported Media Type: send application/json, not ")

    def test_it_is_healthy_and_ready(self, served: Served) -> None:
        assert served.get("/healthz") == (200, b"ok\n")
        assert served.get("/readyz?verbose") == (200, b"ok\n")

    def test_it_says_why_it_is_not_ready(self) -> None:
        with serving(create_app(echo, unready=lambda: ["no policies", "no certificate"])) as served:
            assert served.get("/readyz") == (503, b"not ready: no policies\nnot ready: no certificate\n")
            assert served.get("/healthz") == (200, b"ok\n")

    def test_errors_are_told_in_plain_text(self, served: Served) -> None:
        connection = served.connect()
        for method, path, status in (("GET", "/", 404), ("GET", "/validate", 405), ("BREW", "/healthz", 405)):
            connection.request(method, path)
            response = connection.getresponse()
            assert response.status == status
            assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
            assert b"<" not in response.read()
        assert "GET" in response.headers["Allow"]
        connection.close()

    def test_a_failing_review_is_a_500_and_logged(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        status, body = served.post("/validate", b"broken")
        assert status == 500
        assert body.startswith(b"Internal Server Error: ")
        assert "ZeroDivisionError" in caplog.text
        assert served.post("/validate", b"{}")[0] == 200


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


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            if holds():
                return True
        except OSError as error:
            logging.getLogger(__name__).debug("not yet: %s", error)
        time.sleep(0.02)
    return False


class TestTLS:
    def test_it_speaks_tls_1_3_and_http_1_1(self, served: Served) -> None:
        trust = served.trust()
        trust.set_alpn_protocols(["h2", "http/1.1"])
        plain = socket.create_connection((served.host, served.port))
        with trust.wrap_socket(plain, server_hostname=served.host) as connection:
            assert connection.version() == "TLSv1.3"
            assert connection.selected_alpn_protocol() == "http/1.1"

    def test_it_speaks_tls_1_2_with_forward_secrecy(self, served: Served) -> None:
        trust = served.trust()
        trust.maximum_version = ssl.TLSVersion.TLSv1_2
        plain = socket.create_connection((served.host, served.port))
        with trust.wrap_socket(plain, server_hostname=served.host) as connection:
            cipher = connection.cipher()
            assert cipher
            assert cipher[0].startswith("ECDHE-")

    def test_weak_ciphers_are_refused(self, served: Served) -> None:
        trust = served.trust()
        trust.maximum_version = ssl.TLSVersion.TLSv1_2
        trust.set_ciphers("AES128-SHA:ECDHE+AES+SHA:@SECLEVEL=0")
        with socket.create_connection((served.host, served.port)) as plain, pytest.raises(ssl.SSLError, match="ALERT"):
            trust.wrap_socket(plain, server_hostname=served.host)

    def test_tls_1_1_is_refused(self, served: Served) -> None:
        trust = served.trust()
        trust.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            trust.minimum_version = ssl.TLSVersion.TLSv1
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            trust.maximum_version = ssl.TLSVersion.TLSv1_1
        with (
            socket.create_connection((served.host, served.port)) as plain,
            pytest.raises(ssl.SSLError, match="ALERT_PROTOCOL_VERSION"),
        ):
            trust.wrap_socket(plain, server_hostname=served.host)

    def test_a_client_that_refuses_the_certificate_is_logged(
        self, served: Served, caplog: pytest.LogCaptureFixture
    ) -> None:
        stranger = Served(served.server, certs.ephemeral(["localhost"]).ca.decode())
        with pytest.raises(ssl.SSLCertVerificationError):
            stranger.get("/healthz")
        assert eventually(lambda: "ALERT" in caplog.text)
        assert caplog.records[-1].levelno == logging.WARNING

    def test_plain_http_is_logged_and_harms_nobody(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        with socket.create_connection((served.host, served.port)) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            with suppress(ConnectionResetError):
                plain.recv(100)
        assert eventually(lambda: "HTTP_REQUEST" in caplog.text)
        assert served.get("/healthz")[0] == 200

    def test_files_that_do_not_serve_are_named(self, tmp_path: Path) -> None:
        certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
        certs.issue(tmp_path)
        good = key.read_bytes()
        assert tls_context(certificate, key).minimum_version == ssl.TLSVersion.TLSv1_2
        key.write_bytes(certs.ephemeral(["a"]).key)
        with pytest.raises(ServerError, match=r"tls\.key is not the key of .*tls\.crt: give a pair"):
            tls_context(certificate, key)
        key.write_text("hello")
        with pytest.raises(ServerError, match=r"tls\.crt and .*tls\.key are no certificate and key in PEM"):
            tls_context(certificate, key)
        locked = serialization.BestAvailableEncryption(b"secret")
        private = serialization.load_pem_private_key(good, None)
        key.write_bytes(
            private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked),
        )
        with pytest.raises(ServerError, match=r"tls\.key is encrypted"):
            tls_context(certificate, key)
        key.unlink()
        with pytest.raises(ServerError, match=r"cannot read .*tls\.key: No such file or directory: `draguard certs`"):
            tls_context(certificate, key)
        with pytest.raises(ServerError, match="Is a directory"):
            tls_context(tmp_path, key)

    def test_a_key_in_memory_leaves_no_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        pair = certs.ephemeral(["a"])
        tls_context_of(pair.certificate, pair.key)
        assert list(tmp_path.iterdir()) == []
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
        with pytest.raises(ServerError, match="set TMPDIR"):
            tls_context_of(pair.certificate, pair.key)


class TestListening:
    def test_a_port_in_use_is_told(self, served: Served) -> None:
        with pytest.raises(ServerError, match=r"cannot listen on localhost port \d+: .*Address already in use.*--port"):
            listen("localhost", served.port)

    @pytest.mark.parametrize(("host", "port"), [("localhost", 65536), ("localhost", -1), ("no.such.host.invalid", 0)])
    def test_an_address_that_makes_no_sense_is_told(self, host: str, port: int) -> None:
        with pytest.raises(ServerError, match="cannot listen on"):
            listen(host, port)

    def test_a_host_name_that_cannot_be_one_is_told(self) -> None:
        with pytest.raises(ServerError, match="cannot listen on"):
            listen("a" * 70, 0)


class TestShutdown:
    def test_requests_in_flight_are_finished(self) -> None:
        began, finish = threading.Event(), threading.Event()

        def slow(body: bytes, endpoint: Endpoint) -> Answer:
            began.set()
            finish.wait(SOON)
            return echo(body, endpoint)

        with serving(create_app(slow)) as served, served.socket() as idle, ThreadPoolExecutor(1) as client:
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert statuses(idle.recv(4096)) == [200]
            request = post("Content-Length: 2\r\n", b"{}")
            response = client.submit(exchange, served, request)
            assert began.wait(SOON)
            served.server.stop()
            assert idle.recv(1) == b""
            assert eventually(lambda: refused(served))
            finish.set()
            received = response.result(SOON)
            assert statuses(received) == [200]
            assert b"\r\nConnection: close\r\n" in received

    def test_it_does_not_wait_for_ever(self, caplog: pytest.LogCaptureFixture) -> None:
        finish = threading.Event()

        def stuck(body: bytes, endpoint: Endpoint) -> Answer:
            finish.wait(SOON)
            return echo(body, endpoint)

        def hurry(server: Server) -> None:
            server.grace_seconds = 0.1

        with ThreadPoolExecutor(1) as client:
            with serving(create_app(stuck), hurry) as served:
                response = client.submit(exchange, served, post("Content-Length: 2\r\n", b"{}"))
                assert eventually(lambda: served.server.connections == 1)
            assert "1 requests were not finished in time" in caplog.text
            finish.set()
            assert statuses(response.result(SOON)) == [200]

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_ends_it(self, number: signal.Signals) -> None:
        pair = certs.ephemeral(["localhost"])
        before = signal.getsignal(number)
        urls = []

        def ready(url: str) -> None:
            urls.append(url)
            os.kill(os.getpid(), number)

        serve(create_app(echo), "localhost", 0, tls_context_of(pair.certificate, pair.key), ready)
        assert urls[0].startswith("https://127.0.0.1:")
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

def slow(body, endpoint):
    print("began", flush=True)
    time.sleep(float(body))
    return Answer(200, b"{}", "application/json")

tls = server.tls_context(Path(sys.argv[1], "tls.crt"), Path(sys.argv[1], "tls.key"))
server.serve(server.create_app(slow), "127.0.0.1", 0, tls, lambda url: print(url, flush=True))
"""


class TestProcess:
    @pytest.fixture
    def process(self, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
        certs.issue(tmp_path, ["127.0.0.1"])
        command = [sys.executable, "-c", PROCESS, str(tmp_path)]
        root = Path(__file__).parent.parent
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=root, stdout=pipe, stderr=pipe, text=True) as started:
            yield started
            started.kill()

    def client(self, process: subprocess.Popen[str], tmp_path: Path) -> ssl.SSLSocket:
        assert process.stdout
        port = int(process.stdout.readline().rpartition(":")[2])
        trust = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        return trust.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")

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
            connection.sendall(post("Content-Length: 2\r\n", b"15"))
            assert process.stdout
            assert process.stdout.readline() == "began\n"
            process.terminate()
            assert connection.pending() == 0
            time.sleep(0.2)  # two signals at once count as one
            process.terminate()
            assert process.wait(SOON) == -signal.SIGTERM
