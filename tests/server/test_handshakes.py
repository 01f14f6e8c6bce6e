"""Handshakes take turns, so that many at once do not delay other clients."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack, suppress

import pytest

from tests.attacks.groups import hello
from tests.serving import SOON, Served, echo, eventually, serving
from webhook.server import create_app
from webhook.server.http import handshakes
from webhook.server.http.acceptor import Acceptor
from webhook.server.http.crowd import Crowd
from webhook.server.http.handshakes import Handshakes
from webhook.server.http.limits import Limits

STEP = 0.002


class Closing(asyncio.Protocol):
    """A connection that closes at once."""

    def __init__(self, made: list[Closing]) -> None:
        made.append(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


class Beginner:
    """A connection whose handshake takes a while."""

    def __init__(self, address: str, gone_on: list[str]) -> None:
        self.address = self.named = address
        self._gone_on = gone_on

    def go_on(self) -> None:
        time.sleep(STEP)
        self._gone_on.append(self.named)


def test_few_go_on_in_each_turn_and_clients_share_it() -> None:
    gone_on: list[str] = []

    async def check() -> list[int]:
        taking = Handshakes()
        for address in "aaaaaaaaab":
            taking.put(Beginner(address, gone_on), 500)
        counts = []
        while taking:
            await asyncio.sleep(0)
            counts.append(len(taking))
        return counts

    counts = asyncio.run(check())
    assert counts[0] >= 10 - 1 - handshakes._SECONDS / STEP  # noqa: SLF001
    assert gone_on.index("b") <= 1
    assert len(gone_on) == 10


def test_those_that_send_more_than_usual_come_after_the_others_of_their_client() -> None:
    gone_on: list[str] = []

    async def check() -> None:
        taking = Handshakes()
        for address, size in (("a", 16_000), ("a", 500), ("b", 16_000), ("a", 3_000)):
            sender = Beginner(address, gone_on)
            sender.named = f"{address}-{size}"
            taking.put(sender, size)
        while taking:  # noqa: ASYNC110 - each turn is looked at
            await asyncio.sleep(0)

    asyncio.run(check())
    assert gone_on == ["a-500", "b-16000", "a-3000", "a-16000"]


class TestServer:
    @pytest.fixture(autouse=True)
    def stopped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let all handshakes wait until the test says otherwise."""
        monkeypatch.setattr(handshakes, "_SECONDS", -1.0)

    def begin(self, served: Served, count: int, stack: ExitStack) -> list[socket.socket]:
        """Begin handshakes, and wait until they wait."""
        clients = []
        for _ in range(count):
            client = stack.enter_context(socket.create_connection((served.host, served.port), SOON))
            client.sendall(hello(served.trust(), "prime256v1"))
            clients.append(client)
        assert eventually(lambda: len(served.server.port.handshakes) == count)
        return clients

    def test_clients_that_close_while_they_wait_get_no_handshake(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        with serving(create_app(echo)) as served, ExitStack() as stack:
            gone, kept = self.begin(served, 2, stack)
            gone.close()
            monkeypatch.setattr(handshakes, "_SECONDS", 1.0)
            assert kept.recv(1) == b"\x16"
            assert eventually(lambda: len(served.server.port.crowd) == 1)
        assert not caplog.records

    def test_waiting_ends_at_the_time_limit_of_a_handshake(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with serving(create_app(echo), Limits(handshake_seconds=0.2)) as served, ExitStack() as stack:
            (kept,) = self.begin(served, 1, stack)
            with suppress(ConnectionResetError):
                assert kept.recv(1) == b""
            monkeypatch.setattr(handshakes, "_SECONDS", 1.0)
            assert served.get("/healthz")[0] == 200
            assert len(served.server.port.crowd) <= 1


@pytest.mark.parametrize(("waiting", "at_once"), [((), 3), ((1,), 1)])
def test_connections_are_accepted_one_by_one_while_handshakes_wait(waiting: tuple[int, ...], at_once: int) -> None:
    made: list[Closing] = []

    async def accept(listener: socket.socket) -> int:
        acceptor = Acceptor(listener, Crowd(10, 10, 10), lambda: Closing(made), waiting)
        most = before = 0
        while len(made) < 3:
            await asyncio.sleep(0)
            most = max(most, len(made) - before)
            before = len(made)
        acceptor.close()
        await acceptor.wait_closed()
        return most

    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for _ in range(3):
            stack.enter_context(socket.create_connection(listener.getsockname()))
        assert asyncio.run(accept(listener)) == at_once
