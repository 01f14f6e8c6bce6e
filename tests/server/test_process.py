"""The side jobs of a serving process: a plain port, tasks of every second, notes to a supervisor."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.serving import GET, SOON, Served, answered, echo, eventually, serving, statuses
from webhook.reloading import Reloaded
from webhook.server import Limits, Pages, Reviews, listen, probes

pytestmark = pytest.mark.process


@contextmanager
def beside(limits: Limits | None = None) -> Iterator[tuple[Served, int]]:
    """Serve with a plain port, too."""
    with listen("localhost", 0) as listener:
        port = listener.getsockname()[1]
        with serving(Reviews(echo), limits, beside=(Pages(probes(tuple)), listener)) as served:
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
