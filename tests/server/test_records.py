"""TLS records, as clients may send them: in pieces, many at once, and without data."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest

from tests.attacks.rekeying import Keys, keyed, send_sealed
from tests.server.test_hostile import everything
from tests.serving import SOON, Served, echo, serving, statuses
from webhook.server import create_app
from webhook.server.http.gate import Gate
from webhook.server.http.intake import AT_ONCE, BYTE_SECONDS
from webhook.server.tls.records import Records

pytestmark = pytest.mark.process

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(create_app(echo)) as running:
        yield running


@pytest.fixture
def ready(served: Served) -> Iterator[tuple[ssl.SSLSocket, Keys]]:
    plain = socket.create_connection((served.host, served.port), timeout=SOON)
    connection, keys = keyed(served.trust(), plain, served.host)
    with connection:
        yield connection, keys


def test_some_demands_for_new_keys_are_met(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    for _ in range(5):
        send_sealed(connection, b"".join(keys.demand() for _ in range(10)))
    send_sealed(connection, keys.record(GET))
    assert statuses(connection.recv(4096)) == [200]


def test_many_demands_end_the_connection(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    send_sealed(connection, b"".join(keys.demand() for _ in range(100)) + keys.record(GET))
    assert everything(connection) == b""


def test_a_record_may_come_in_pieces(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    record = keys.demand() + keys.record(GET)
    for at in range(0, len(record), 3):
        send_sealed(connection, record[at : at + 3])
        time.sleep(0.001)
    assert statuses(connection.recv(4096)) == [200]


@pytest.mark.parametrize("at_once", [AT_ONCE, 0])
def test_many_records_with_data_take_turns(
    served: Served, ready: tuple[ssl.SSLSocket, Keys], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (connection, keys), intake = ready, served.server.port.intake
    monkeypatch.setattr("webhook.server.http.intake.AT_ONCE", at_once)
    took = Mock(wraps=intake.took)
    monkeypatch.setattr(intake, "took", took)
    send_sealed(connection, b"".join(keys.record(b"%c" % byte) for byte in GET * 9 + LAST))
    assert statuses(everything(connection)) == [200] * 10
    assert took.call_count > 5


def test_records_of_an_ordinary_size_cost_no_more_than_their_data(
    served: Served, ready: tuple[ssl.SSLSocket, Keys], monkeypatch: pytest.MonkeyPatch
) -> None:
    (connection, keys), size, took, now = ready, 1200, Mock(), time.monotonic()
    monkeypatch.setattr(served.server.port.intake, "took", took)
    monkeypatch.setattr("webhook.server.http.connection.time", Mock(monotonic=lambda: now))
    put_off = create_autospec(Gate._put_off, side_effect=Gate._put_off)  # noqa: SLF001
    monkeypatch.setattr(Gate, "_put_off", put_off)
    request = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
    request += b'"' + b"a" * 59_998 + b'"'
    send_sealed(connection, b"".join(keys.record(request[at : at + size]) for at in range(0, len(request), size)))
    assert statuses(connection.recv(4096)) == [200]
    assert not [extra for call in put_off.call_args_list for extra in call.args[2:]]
    assert sum(call.args[1] for call in took.call_args_list) == pytest.approx(len(request) * BYTE_SECONDS)


def test_a_connection_that_closes_keeps_nothing_of_what_has_arrived(
    served: Served, ready: tuple[ssl.SSLSocket, Keys], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, keys = ready
    monkeypatch.setattr("webhook.server.http.intake.AT_ONCE", 0)
    monkeypatch.setattr("webhook.server.http.intake._FEWEST", 0)
    monkeypatch.setattr(served.server.port.intake, "_together", 0)
    send_sealed(connection, b"".join(keys.record(b"%c" % byte) for byte in GET * 9))
    name, until = connection.getsockname(), time.monotonic() + SOON
    gates: list[Any] = []
    while not any(each._rest for each in gates) and time.monotonic() < until:  # noqa: SLF001
        time.sleep(0.001)
        gates = [above._transport for above in _connections(served) if above.sender[1] == name]  # noqa: SLF001
    (gate,) = gates
    assert gate._rest  # noqa: SLF001
    gate._above._loop.call_soon_threadsafe(gate.close)  # noqa: SLF001
    assert everything(connection) == b""
    assert not gate._rest  # noqa: SLF001


def _connections(served: Served) -> list[Any]:
    return [*served.server.port.connections]


def hello(version: ssl.TLSVersion) -> bytes:
    """Return the first record of a client."""
    settings, written = ssl.create_default_context(), ssl.MemoryBIO()
    settings.maximum_version = version
    with suppress(ssl.SSLWantReadError):
        settings.wrap_bio(ssl.MemoryBIO(), written, server_hostname="localhost").do_handshake()
    return written.read()


def handed_over(records: bytes, size: int) -> bytes:
    """Return what OpenSSL gets of records that arrive in pieces of a size."""
    handing, taken = Records(), b""
    for at in range(0, len(records), size):
        arrived = memoryview(records)[at : at + size]
        while arrived:
            end = handing.take(arrived)
            taken, arrived = taken + arrived[:end], arrived[end:]
    assert handing.is_complete
    return taken


@pytest.mark.parametrize("size", [1, 3, 7, 1 << 16])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_messages_of_a_handshake_are_handed_over(version: ssl.TLSVersion, size: int) -> None:
    exchanged = b"\x16\x03\x03\0\6\x10\0\0\2ab" + b"\x14\x03\x03\0\1\1" + b"\x16\x03\x03\0\x28" + b"\xff" * 40
    records = hello(version) + exchanged
    assert handed_over(records, size) == records


ANOTHER = b"\x16\x03\1\0\6\1\0\0\2ab" + b"\x14\x03\3\0\1\1"
"""A message, and the announcement that encryption begins, which it does not."""


@pytest.mark.parametrize("size", [1, 3, 7, 1 << 16])
@pytest.mark.parametrize(
    "records",
    [
        b"\x16\x03\1\0\3\1\1\0" + b"\x16\x03\1\0\2\0\3",
        ANOTHER + b"\x16\x03\1\0\x50\1\1\0\3" + b"a" * 76,
    ],
    ids=["the first message", "the second message"],
)
def test_a_message_that_is_too_long_is_refused_by_its_header(records: bytes, size: int) -> None:
    with pytest.raises(ssl.SSLError, match="a message of more than 16 KiB"):
        handed_over(records, size)


def test_no_message_may_pass_for_the_end_of_a_handshake() -> None:
    handing = Records()
    arrived = memoryview(ANOTHER + b"\x16\x03\1\0\4\1\1\0\3")
    for _ in range(3):
        arrived = arrived[handing.take(arrived) :]
    assert not arrived
    with pytest.raises(ssl.SSLError, match="goes on after its end"):
        handing.count_barren()
