from __future__ import annotations

import json
import logging
import os
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

from tests.serving import SOON, Served, echo, eventually, exchange, post, serving, statuses
from webhook import certs
from webhook.server import ServerError, create_app, listen, serve, tls_context, tls_context_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.admission import Answer, Endpoint
    from webhook.http1 import Server

LIMIT = 1 << 20


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(create_app(echo, body_limit=LIMIT)) as running:
        yield running


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
