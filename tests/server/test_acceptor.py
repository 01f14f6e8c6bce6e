"""Connections closed by their clients do not delay others."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence
from contextlib import ExitStack

import pytest
import uvloop

from tests.serving import SOON
from webhook.server.http import acceptor
from webhook.server.http.acceptor import Acceptor
from webhook.server.http.crowd import Crowd

pytestmark = pytest.mark.process

CLOSED = 50


class Greeting(asyncio.Protocol):
    """Greets, and closes."""

    made = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        Greeting.made += 1
        transport.write(b"hello")
        transport.close()


@pytest.mark.parametrize("with_reset", [True, False])
@pytest.mark.parametrize("sent", [b"", b"\x16\x03"])
def test_closed_connections_are_passed_over(sent: bytes, *, with_reset: bool) -> None:
    async def accept(listener: socket.socket, client: socket.socket) -> bytes:
        acceptor = Acceptor(listener, Crowd(10, 10, 10), Greeting)
        greeted = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 10), SOON)
        acceptor.close()
        await acceptor.wait_closed()
        return greeted

    Greeting.made = 0
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2 * CLOSED))
        for _ in range(CLOSED):
            with socket.create_connection(listener.getsockname()) as gone:
                gone.sendall(sent)
                if with_reset:
                    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client = stack.enter_context(socket.create_connection(listener.getsockname()))
        client.settimeout(0)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            assert runner.run(accept(listener, client)) == b"hello"
    assert Greeting.made == 1


@pytest.mark.parametrize(("waiting", "together"), [((), 5), (("one",), 2)])
def test_fewer_are_accepted_together_while_others_wait(waiting: Sequence[str], together: int) -> None:
    async def accept(listener: socket.socket) -> int:
        acceptor = Acceptor(listener, Crowd(10, 10, 10), Greeting, waiting, 2)
        while not acceptor._beginning:  # noqa: ASYNC110, SLF001 - the first turn with any counts
            await asyncio.sleep(0)
        begun = len(acceptor._beginning)  # noqa: SLF001
        acceptor.close()
        await acceptor.wait_closed()
        return begun

    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=10))
        for _ in range(5):
            stack.enter_context(socket.create_connection(listener.getsockname()))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            assert runner.run(accept(listener)) == together


def test_where_the_kernel_does_not_tell_a_connection_counts_as_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "_TCP_INFO", None)
    one, other = socket.socketpair()
    other.close()
    with one:
        assert acceptor.is_open(one)
