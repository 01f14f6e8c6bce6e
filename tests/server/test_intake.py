"""What is read in a turn of the event loop: connections that send much take turns."""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.serving import JSON, serving
from webhook.admission import Answer, Call
from webhook.server import create_app
from webhook.server.http import intake
from webhook.server.http.intake import AT_ONCE, Intake

COUNT: Final = 32
PIECE: Final = AT_ONCE / (COUNT + 0.5)
"""The seconds of a read: so many may come in a turn."""
SIZE: Final = 1 << 15
"""Its bytes."""


class Sender:
    """A connection that may read, until it is held."""

    def __init__(self, client: str, number: int, received: int = 0) -> None:
        self.sender = client, number
        self.received = received
        self.is_held = False

    def hold(self) -> None:
        self.is_held = True

    def go_on(self) -> None:
        self.is_held = False


def flood(taking: Intake, senders: list[Sender]) -> None:
    for each in senders * (COUNT // len(senders) + 1):
        taking.took(each, PIECE)


def reading(senders: list[Sender]) -> list[Sender]:
    return [each for each in senders if not each.is_held]


def test_no_connection_waits_below_the_limit() -> None:
    senders = [Sender("a", number) for number in range(40)]

    async def check() -> None:
        taking = Intake(senders)
        for _ in range(3):
            for each in senders[:COUNT]:
                taking.took(each, PIECE)
            assert reading(senders) == senders
            await asyncio.sleep(0)

    asyncio.run(check())


def test_beyond_the_limit_all_wait_and_more_go_on_in_each_turn() -> None:
    senders = [Sender("a", number) for number in range(800)]

    async def check() -> None:
        flood(Intake(senders), senders[:20])
        assert not reading(senders)
        for count in (4, 12, 28, 60, 124, 252, 508, 764, 800):
            await asyncio.sleep(0)
            assert len(reading(senders)) == count

    asyncio.run(check())


def test_half_as_many_go_on_if_they_have_taken_all_the_time() -> None:
    senders = [Sender("a", number) for number in range(200)]

    async def check() -> None:
        taking = Intake(senders)
        flood(taking, senders[:20])
        for count in (4, 12, 28):
            await asyncio.sleep(0)
            assert len(reading(senders)) == count
        for count in (8, 4, 4):
            flood(taking, reading(senders))
            assert not reading(senders)
            await asyncio.sleep(0)
            assert len(reading(senders)) == count

    asyncio.run(check())


def test_connections_that_have_sent_least_go_first() -> None:
    many = [Sender("a", number, SIZE) for number in range(40)]
    idle, other = Sender("a", 40), Sender("b", 41, SIZE)
    senders = [*many, idle, other]

    async def check() -> None:
        taking = Intake(senders)
        flood(taking, many)
        await asyncio.sleep(0)
        assert not idle.is_held
        flood(taking, reading(many))
        await asyncio.sleep(0)
        assert not other.is_held
        assert not idle.is_held

    asyncio.run(check())


def digest(body: bytes, _call: Call | None = None) -> Answer:
    """Respond with the hash of a request."""
    return Answer(200, hashlib.sha256(body).hexdigest().encode(), "application/json")


@pytest.mark.process
def test_long_bodies_arrive_whole_though_their_connections_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "AT_ONCE", 0.0)
    monkeypatch.setattr(intake, "_FEWEST", 1)
    with serving(create_app(digest)) as served, ThreadPoolExecutor(8) as pool:

        def send(number: int) -> None:
            connection = served.connect()
            for size in (10, 300_000, 20_000, 70_000):
                body = b'"%b"' % (b"%d" % number * size)
                connection.request("POST", "/validate", body, JSON)
                response = connection.getresponse()
                assert (response.status, response.read()) == (200, digest(body).body)
            connection.close()

        list(pool.map(send, range(8)))
