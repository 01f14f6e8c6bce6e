"""TLS records, as clients may send them: in pieces, many at once, and without data."""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.attacks.rekeying import HANDSHAKE, Keys, keyed, send_sealed
from tests.serving import GET, SOON, Served, echo, eventually, everything, post, serving, statuses
from webhook.server import Reviews

pytestmark = pytest.mark.process

LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(Reviews(echo)) as running:
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


def test_many_records_with_data_are_read_in_turns(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    send_sealed(connection, b"".join(keys.record(b"%c" % byte) for byte in GET * 3 + LAST))
    assert statuses(everything(connection)) == [200] * 4


def test_a_body_in_records_of_an_ordinary_size_is_read(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    request, size = post("Content-Length: 300000\r\n", b'"' + b"a" * 299_998 + b'"'), 1200
    send_sealed(connection, b"".join(keys.record(request[at : at + size]) for at in range(0, len(request), size)))
    assert statuses(connection.recv(4096)) == [200]


def test_a_connection_that_closes_keeps_nothing_of_what_has_arrived(
    served: Served, ready: tuple[ssl.SSLSocket, Keys]
) -> None:
    connection, keys = ready
    send_sealed(connection, b"".join(keys.record(b"%c" % byte) for byte in LAST + GET * 9))
    assert statuses(everything(connection)) == [200]
    assert eventually(lambda: not served.connections)


def test_part_of_a_demand_for_new_keys_ends_its_own_connection_alone(
    served: Served, ready: tuple[ssl.SSLSocket, Keys]
) -> None:
    connection, keys = ready
    review = post("Content-Length: 2\r\n", b"{}")
    send_sealed(connection, keys.record(review) + keys.record(b"\x18\0\0\1", HANDSHAKE))  # OpenSSL cannot write then
    with served.socket() as other:
        other.sendall(GET)
        assert statuses(other.recv(4096)) == [200]
    with suppress(OSError):
        everything(connection)
    assert eventually(lambda: not served.connections)
