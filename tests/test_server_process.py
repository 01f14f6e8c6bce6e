"""What a process does beside answering reviews: a plain port, what is to be done each second, a supervisor's word."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.serving import SOON, Served, answered, echo, eventually, serving, statuses
from webhook import certs
from webhook.server import Certificate, Plain, create_app, serve
from webhook.server.http.connection import Limits
from webhook.server.http.pages import Pages
from webhook.server.http.probes import make_pages
from webhook.server.process.running import listen
from webhook.server.process.supervision import ALIVE, INTERRUPT, LEAVING, RETIRE, STOP

if TYPE_CHECKING:
    from collections.abc import Iterator

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@contextmanager
def beside(limits: Limits | None = None) -> Iterator[tuple[Served, int]]:
    """Serve with a plain port, too."""
    with listen("localhost", 0) as listener:
        port = listener.getsockname()[1]
        with serving(create_app(echo), limits, beside=(Pages(make_pages(tuple)), listener)) as served:
            yield served, port


def ask(port: int, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("localhost", port, timeout=SOON)
    connection.request(method, path, body)
    response = connection.getresponse()
    try:
        return response.status, response.read()
    finally:
        connection.close()


class TestPlainPort:
    def test_it_answers_pages_and_no_reviews(self) -> None:
        with beside() as (served, port):
            assert ask(port, "GET", "/healthz") == (200, b"ok\n")
            assert ask(port, "POST", "/validate", b"{}")[0] == 404
            assert ask(port, "POST", "/healthz", b"x" * 100_000)[0] == 413
            assert served.post("/validate", b"{}")[0] == 200

    def test_a_chunked_body_is_measured_as_it_comes(self) -> None:
        with beside() as (_, port):
            connection = http.client.HTTPConnection("localhost", port, timeout=SOON)
            connection.request("POST", "/healthz", iter([b"x" * 40_000] * 2), encode_chunked=True)
            assert connection.getresponse().status == 413
            connection.close()

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


class TestEachSecond:
    def test_chores_hold_nobody_up_and_ticks_know_the_connections(self) -> None:
        done = threading.Event()
        connections: list[int] = []

        def chore() -> None:
            assert done.wait(SOON)

        with serving(create_app(echo), chores=[chore], tick=connections.append) as served, served.socket():
            assert served.post("/validate", b"{}")[0] == 200
            assert eventually(lambda: connections[-1:] == [1])
            done.set()


class TestWorker:
    @pytest.fixture
    def supervisor(self) -> Iterator[tuple[socket.socket, socket.socket]]:
        own, theirs = socket.socketpair()
        own.settimeout(SOON)
        theirs.settimeout(0)
        with own, theirs:
            yield own, theirs

    def test_it_tells_each_second_that_it_is_alive(self, supervisor: tuple[socket.socket, socket.socket]) -> None:
        own, theirs = supervisor
        with serving(create_app(echo), lifeline=theirs):
            assert [own.recv(1) for _ in range(2)] == [ALIVE] * 2

    @pytest.mark.parametrize(("told", "status"), [(RETIRE, 200), (STOP, 503), (b"", 503)])
    def test_it_ends_as_it_is_told(
        self, told: bytes, status: int, supervisor: tuple[socket.socket, socket.socket]
    ) -> None:
        """What retires is still ready, since others go on; without a supervisor nobody does."""
        own, theirs = supervisor
        with ExitStack() as stack:
            app = create_app(echo)
            served = stack.enter_context(serving(app, lifeline=theirs, shutdown_delay=0.5))
            kept = stack.enter_context(served.socket())
            if told:
                own.send(told)
            else:
                own.close()
            assert eventually(lambda: app.closing)
            kept.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            received = answered(kept)
            assert statuses(received) == [status]
            assert b"\r\nconnection: close\r\n" in received
            assert eventually(lambda: refused(served))

    def test_it_lets_another_take_over_if_it_is_told_by_others(
        self, supervisor: tuple[socket.socket, socket.socket]
    ) -> None:
        own, theirs = supervisor
        with serving(create_app(echo), lifeline=theirs, shutdown_delay=0.5) as served:
            served.server.handle_exit(signal.SIGTERM, None)
            assert served.get("/readyz") == (200, b"ok\n")
            while own.recv(1) != LEAVING:
                pass

    def test_it_ends_at_once_if_a_person_waits(self, supervisor: tuple[socket.socket, socket.socket]) -> None:
        own, theirs = supervisor
        with serving(create_app(echo), lifeline=theirs, shutdown_delay=60) as served:
            own.send(INTERRUPT)
            assert eventually(lambda: refused(served))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # they answer nothing
def test_workers_share_the_port(caplog: pytest.LogCaptureFixture) -> None:
    pair = certs.ephemeral(["localhost"])
    urls: list[str] = []
    began: list[int] = []
    lost: list[int] = []

    def ready(url: str) -> None:
        urls.append(url)
        os.kill(os.getpid(), signal.SIGINT)

    caplog.set_level("INFO")
    serve(
        create_app(echo),
        "localhost",
        0,
        Certificate(pair.certificate, pair.key),
        workers=2,
        plain=Plain("localhost", 0, make_pages(tuple)),
        began=began.append,
        lost=lost.append,
        ready=ready,
    )
    assert urls[0].startswith("https://127.0.0.1:")
    assert "metrics and probes on http://127.0.0.1:" in caplog.text
    assert began == []  # in this process, which only looks after them
    assert sorted(lost) == [0, 1]


def refused(served: Served) -> bool:
    try:
        socket.create_connection((served.host, served.port)).close()
    except ConnectionRefusedError:
        return True
    return False
