"""Connections of slow, greedy, broken or hostile clients, and of ordinary ones beside them."""

import asyncio
import gc
import json
import os
import re
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.attacks.crowds import reset
from tests.rows import each_row
from tests.serving import (
    GET,
    JSON,
    LIMIT,
    SOON,
    Served,
    answered,
    echo,
    eventually,
    everything,
    exchange,
    post,
    serving,
    statuses,
    talk,
)
from webhook.admission import Answer
from webhook.server import Limits, Reviews
from webhook.server.connection import Connection
from webhook.server.messages import Client, HTTPRequest
from webhook.server.port import Crowd

HURRY = Limits(
    handshake_seconds=0.4,
    header_seconds=0.8,
    body_seconds=0.4,
    idle_seconds=2,
    stalled_seconds=0.4,
    closing_seconds=0.4,
)


@pytest.fixture(scope="module")
def hurried() -> Iterator[Served]:
    with serving(Reviews(echo, body_limit=LIMIT), HURRY) as running:
        yield running


@pytest.mark.process
class TestRequests:
    def test_a_connection_serves_one_after_the_other(self, served: Served) -> None:
        connection = served.connect()
        connection.connect()
        kept = connection.sock
        for number in range(20):
            connection.request("POST", "/validate", str(number), JSON)
            assert json.loads(connection.getresponse().read())[2] == str(number)
            assert connection.sock is kept
        connection.close()

    @each_row(
        "sent",
        [post("Content-Length: 4\r\n", b"more")],
        [post("Content-Length: 4\r\n", b"mo"), b"re"],
        [post("Content-Length: 4\r\n", b"more") * 3],
        [post("Content-Length: 4\r\n", b"more") + GET],
        [post("Content-Length: 4\r\n", b"less"), GET],
        [post("Content-Length: 4\r\n"), b"more"],
        [post("Content-Length: 0\r\n")],
        [post("Content-Length: 04\r\n", b"more")],
        [post("Content-Length: +4\r\n", b"more")],
        [post("Content-Length: 1048577\r\n", b"more")],
        [post("Content-Length: 4\r\nContent-Length: 4\r\n", b"more")],
        [post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"more")],
        [post("Content-Length: 4\r\nExpect: 100-continue\r\n", b"more")],
        [post("Content-Length: 4\r\n", b"more", "/mutate")],
        [post("Content-Length: 4\r\n", b"more").replace(b"1.1", b"1.0")],
        [post("Content-Length: 4\r\n", b"more").replace(b"Host", b"Most")],
        [b"\r\n", post("Content-Length: 4\r\n", b"more")],
    )
    def test_one_is_answered_as_on_its_own_whatever_came_before_it(self, hurried: Served, sent: list[bytes]) -> None:
        last = post("Content-Length: 1\r\nConnection: close\r\n", b"1")
        alone = exchange(hurried, *sent, last)
        with hurried.socket() as connection:
            for number in range(3):  # so that the head is known
                connection.sendall(post("Content-Length: 1\r\n", b"%d" % number))
                assert b'1, "%d"' % number in answered(connection)
            for part in (*sent, last):
                connection.sendall(part)
            received = everything(connection)
        dates = re.compile(rb"date: .*?\r\n")
        assert dates.sub(b"", received) == dates.sub(b"", alone)

    def test_a_connection_that_is_used_is_not_idle(self, hurried: Served) -> None:
        with hurried.socket() as connection:
            for _ in range(6):
                connection.sendall(post("Content-Length: 1\r\n", b"1", "/healthz"))
                assert statuses(answered(connection)) == [405]
                time.sleep(HURRY.idle_seconds / 4)

    def test_the_begin_of_a_request_belongs_to_what_follows(self, served: Served) -> None:
        known = post("Content-Length: 1\r\n", b"1")
        with served.socket() as connection:
            for part in (known, known, known[:-1], known[-1:] + b"POS"):
                connection.sendall(part)
                if part != known[:-1]:
                    assert b'1, "1"' in answered(connection)
                else:
                    time.sleep(0.1)
            connection.sendall(known)
            assert statuses(answered(connection)) == [400]

    def test_those_sent_together_are_answered_in_order(self, served: Served) -> None:
        requests = [post("Content-Length: 1\r\n", b"%d" % number) for number in range(3)]
        requests.append(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = exchange(served, b"".join(requests))
        assert statuses(received) == [200] * 4
        assert re.findall(rb'1, "(.)"', received) == [b"0", b"1", b"2"]

    @each_row("together", *(True, False))
    @each_row("last", b"BAD\r\n\r\n", GET * 200)
    def test_a_refusal_comes_after_the_answers_before_it(self, served: Served, last: bytes, *, together: bool) -> None:
        first = b"".join(post("Content-Length: 1\r\n", b"%d" % number) for number in range(3))
        received = exchange(served, *([first + last] if together else [first, last]))
        assert set(statuses(received)[:-1]) == {200}
        assert statuses(received)[-1] == 400
        assert re.findall(rb'1, "(.)"', received) == [b"0", b"1", b"2"]

    def test_a_request_that_does_not_come_takes_no_answer_from_the_one_before(self) -> None:
        class Late(Reviews):
            def answer(self, request: HTTPRequest, client: Client) -> Answer | None:
                asyncio.get_running_loop().call_later(2 * HURRY.header_seconds, super().answer, request, client)
                return None

        with serving(Late(echo, body_limit=LIMIT), HURRY) as slow:
            received = exchange(slow, post("Content-Length: 1\r\n", b"1") + b"GET /heal")
        assert statuses(received) == [200, 408]

    def test_those_of_several_connections_may_come_in_pieces_by_turns(self, served: Served) -> None:
        letters = [b"abcdefghi", b"ABCDEFGHI", b"123456789"]
        requests = [post("Content-Length: 9\r\n", body) for body in letters]
        with ExitStack() as stack:
            connections = [stack.enter_context(served.socket()) for _ in requests]
            for start in range(0, len(requests[0]), 20):
                for connection, request in zip(connections, requests, strict=True):
                    connection.sendall(request[start : start + 20])
            for connection, body in zip(connections, letters, strict=True):
                assert body in answered(connection)

    @each_row(
        ("sent", "status", "end"),
        (post("Content-Length: 2\r\n", b"{}"), 200, b'\r\n\r\n["validate", 2, "{}"]'),
        (post("Content-Length: 2\r\nConnection: close\r\n", b"{}"), 200, b'\r\n\r\n["validate", 2, "{}"]'),
        (post(f"Content-Length: {LIMIT + 1}\r\n"), 413, b": a body may have 1048576 bytes\n"),
    )
    def test_an_answer_comes_whole_and_a_refusal_before_the_body_does(
        self, served: Served, sent: bytes, status: int, end: bytes
    ) -> None:
        with served.socket() as connection:
            connection.sendall(sent)
            received = connection.recv(65536)  # of one TLS record at most
        assert statuses(received) == [status]
        assert received.startswith(b"HTTP/1.1 ")
        assert received.endswith(end)

    def test_a_head_between_others_gets_its_header_at_once(self, served: Served) -> None:
        with served.socket() as connection:
            for _ in range(2):
                connection.sendall(GET.replace(b"GET", b"HEAD"))
                received = connection.recv(65536)
                assert statuses(received) == [200]
                assert received.endswith(b"\r\n\r\n")
                connection.sendall(GET)
                assert connection.recv(65536).endswith(b"\r\n\r\nok\n")

    @each_row(
        ("body", "end"),
        (b"2;name=value\r\n{}\r\n000\r\nDigest: x\r\n\r\n", b'["validate", 2, "{}"]'),
        (b"".join(b"1\r\n%c\r\n" % letter for letter in b"together") + b"0\r\n\r\n", b'["validate", 8, "together"]'),
    )
    def test_chunks_are_put_together_and_may_have_extensions_and_trailers(
        self, served: Served, body: bytes, end: bytes
    ) -> None:
        received = exchange(served, post("Transfer-Encoding: Chunked\r\nConnection: close\r\n", body))
        assert statuses(received) == [200]
        assert received.endswith(end)

    def test_trailers_are_not_headers(self) -> None:
        class Named(Reviews):
            def answer(self, request: HTTPRequest, client: Client) -> Answer | None:  # noqa: ARG002 - the server's
                return Answer(200, request.headers.get(b"user", b"anonymous"))

        with serving(Named(echo, body_limit=LIMIT)) as served:
            headers = "User: jane\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
            sent = post(headers, b"0\r\nUser: root\r\n\r\n", "/user")
            received = exchange(served, sent.replace(b"POST", b"GET"))
        assert statuses(received) == [200]
        assert received.endswith(b"\r\n\r\njane")

    @each_row(
        "body",
        *[b"0x2\r\n{}\r\n", b"+2\r\n{}\r\n", b"\r\n", b"2\n{}\r\n", b"-1\r\n", b"2\r\n{}}\r\n", b"2" * 70_000],
        b'2 ;name="\xe9"\r\n{}\r\n',
    )
    def test_a_body_in_broken_chunks_is_refused(self, served: Served, body: bytes) -> None:
        received = exchange(served, post("Transfer-Encoding: chunked\r\n", body), post("Content-Length: 0\r\n"))
        assert statuses(received) == [400]

    @each_row("size", b"1" * 7, b"f" * 15)
    def test_a_chunk_may_not_promise_more_than_a_body_may_have(self, hurried: Served, size: bytes) -> None:
        request = post("Transfer-Encoding: chunked\r\n", size + b"\r\n" + b"x" * (LIMIT + 1))
        assert statuses(exchange(hurried, request)) == [413]

    def test_what_is_left_of_a_body_is_never_taken_for_a_request(self, served: Served) -> None:
        hidden = post("Content-Length: 1\r\n", b"1") * 50
        for path, content_type in (("/elsewhere", "application/json"), ("/validate", "text/plain")):
            sent = post(f"Content-Length: {len(hidden)}\r\nConnection: close\r\n", b"", path)
            received = exchange(served, sent.replace(b"application/json", content_type.encode()), hidden)
            assert statuses(received) in ([404], [415])

    @each_row(
        "headers",
        *(f"Connection: Upgrade\r\nUpgrade: {each}\r\nContent-Length: 500\r\n" for each in ("h2c", "websocket")),
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: 2, 2\r\n",
        "Content-Length : 2\r\n",
        "Content-Length: \r\n",
        f"Content-Length: {'9' * 25}\r\n",
        "no colon\r\nContent-Length: 2\r\n",
        "A: b\r\n folded\r\nContent-Length: 2\r\n",
        "A: \x00\r\nContent-Length: 2\r\n",
    )
    def test_a_header_that_could_smuggle_one_is_refused(self, served: Served, headers: str) -> None:
        received = exchange(served, post(headers, b"{}"), post("Content-Length: 0\r\n"))
        assert statuses(received) == [400]

    @each_row(
        ("sent", "status", "end"),
        *(
            ([post(f"Transfer-Encoding: {each}\r\n", b"2\r\n{}\r\n0\r\n\r\n"), GET], 501, b"\n")
            for each in ("gzip, chunked", ",chunked", "gzip", "xchunked", "identity")
        ),
        ([b"GET / HTTP/x\r\n\r\n"], 400, b"\n"),
        ([b"GET /healthz HTTP/1.1\r\n\r\n"], 400, b"\n"),
        ([b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n"], 400, b"\n"),
        ([b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"], 400, b"\n"),
        ([b"GET /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"], 400, b"\n"),
        ([b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], 400, b"\n"),
        ([b"CONNECT x:443 HTTP/1.1\r\n\r\n"], 400, b"\n"),
        ([b"hi all\r\n\r\n"], 400, b"Bad Request: malformed HTTP/1.1 request\n"),
        *(
            ([f"GET /healthz HTTP/{each}\r\nHost: x\r\n\r\n".encode()], 505, b": only HTTP/1.x is supported\n")
            for each in ("0.9", "2.0")
        ),
        *(
            ([post(f"Expect: {each}\r\nContent-Length: 2\r\n"), b"{}" + GET], 417, b"\n")
            for each in ("200-maybe", "100-continue, 200-maybe")
        ),
        # Fields of one name are one.
        ([post("Content-Type: text/plain\r\nContent-Length: 2\r\n", b"{}")], 415, b"\n"),
        # What the older version leaves out is not missed.
        ([b"GET /healthz HTTP/1.0\r\n\r\n"], 200, b"\r\n\r\nok\n"),
        ([b"GET / HTTP/1.1\r\n", b"A: " + b"b" * 100_000], 431, b": the header exceeds 65536 bytes\n"),
    )
    def test_invalid_and_unsupported_requests_are_refused_and_older_ones_answered(
        self, served: Served, sent: list[bytes], status: int, end: bytes
    ) -> None:
        received = exchange(served, *sent)
        assert statuses(received) == [status]
        assert received.endswith(end)
        assert b"<" not in received

    def test_a_flood_of_invalid_requests_is_not_a_flood_of_log_lines(
        self, served: Served, caplog: pytest.LogCaptureFixture
    ) -> None:
        started = time.monotonic()
        for _ in range(50):
            exchange(served, b"hi all\r\n\r\n")
        said = "refused a malformed HTTP/1.1 request of ('127.0.0.1', "
        logged = [each for each in caplog.messages if each.startswith(said)]
        assert 0 < len(logged) <= 10 + time.monotonic() - started

    @settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.binary(max_size=60) | st.sampled_from([post(""), b"GET /%ff HTTP/1.1\r\n", b"Host: ["]), max_size=6)
    )
    def test_no_bytes_bring_it_down(self, served: Served, parts: list[bytes]) -> None:
        with served.socket() as connection:
            connection.sendall(b"".join(parts))
        assert served.get("/healthz") == (200, b"ok\n")


@pytest.mark.process
class TestTooMuch:
    def test_a_header_may_not_have_very_many_fields(self, served: Served) -> None:
        answer = exchange(served, b"GET /healthz HTTP/1.1\r\n", b"A: b\r\n" * 300)
        assert statuses(answer) == [431]
        assert answer.endswith(b"Request Header Fields Too Large: requests sent together may have 200 header fields\n")
        answer = exchange(served, GET.removesuffix(b"\r\n"), b"Connection: close\r\n", b"A: b\r\n" * 190, b"\r\n")
        assert statuses(answer) == [200]

    def test_requests_sent_together_share_the_limits_of_one(self, served: Served) -> None:
        fields = GET.removesuffix(b"\r\n") + b"A: b\r\n" * 90 + b"\r\n"
        assert statuses(exchange(served, fields * 3)) == [200, 200, 431]
        chunks = post("Transfer-Encoding: chunked\r\n", b"1\r\nx\r\n" * 60 + b"0\r\n\r\n")
        assert statuses(exchange(served, chunks * 4)) == [200, 200, 200, 413]
        with served.socket() as connection:
            for _ in range(3):
                connection.sendall(fields)
                assert statuses(connection.recv(4096)) == [200]

    @each_row(("size", "count", "status"), (1, 150, 200), (1, 201, 413), (511, 201, 413), (512, LIMIT // 512, 200))
    @each_row("pieces", 1, 40)
    def test_a_body_may_not_come_in_very_many_small_chunks(
        self, served: Served, size: int, count: int, status: int, pieces: int
    ) -> None:
        body = (b"%x\r\n%b\r\n" % (size, b"x" * size)) * count + b"0\r\n\r\n"
        request = post("Transfer-Encoding: chunked\r\nConnection: close\r\n", body)
        length = len(request) // pieces + 1
        with served.socket() as connection:
            with suppress(OSError):  # a refused one is closed
                for at in range(0, len(request), length):
                    connection.sendall(request[at : at + length])
                    time.sleep(0.001 if pieces > 1 else 0)
            received = connection.recv(4096)
        assert statuses(received) == [status]

    def test_a_body_may_not_arrive_in_very_many_small_pieces(self) -> None:
        with serving(Reviews(echo), Limits(small_pieces=20)) as served, served.socket() as connection:
            with suppress(OSError):
                for piece in (post("Content-Length: 1000\r\n"), *[b" "] * 500):
                    connection.sendall(piece)
                    time.sleep(0.002)
            received = connection.recv(4096)
        assert statuses(received) == [413]
        assert received.endswith(b"Request Entity Too Large: a body may come in 20 pieces below 512 bytes\n")

    @each_row(
        ("begun", "more", "status"),
        (b"", (b"1;" + b"x" * 5000 + b"\r\nx\r\n") * 10, 413),
        (b"0\r\n", b"a: b\r\n" * 5000, 431),
        (b"0\r\n", (b"a: " + b"b" * 10_000) * 5, 413),
    )
    def test_a_body_may_not_be_mostly_framing_and_trailers_are_not_kept(
        self, served: Served, begun: bytes, more: bytes, status: int
    ) -> None:
        assert statuses(flood(served, post("Transfer-Encoding: chunked\r\n", begun), more)) == [status]

    def test_requests_may_not_be_sent_ahead_without_end(self, served: Served) -> None:
        assert statuses(exchange(served, GET * 1000))[-1] == 400
        assert statuses(exchange(served, GET * 3 + post("Connection: close\r\nContent-Length: 0\r\n"))) == [200] * 4
        received = exchange(served, GET * 5)
        assert statuses(received) == [200] * 4 + [400]
        assert received.endswith(b"Bad Request: 4 requests may be sent before the first is answered\n")

    def test_it_recovers_when_the_process_ran_out_of_files(self, served: Served) -> None:
        with socket.socket() as client, ExitStack() as stack:
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            highest = max(map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208 - names are all there is
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 2, hard))
            try:
                with suppress(OSError):
                    while True:
                        stack.enter_context(open(os.devnull, "rb"))  # noqa: PTH123 - to be as plain as possible
                client.connect(("127.0.0.1", served.port))  # a name would need a file to look it up
                time.sleep(0.3)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            with served.trust().wrap_socket(client, server_hostname=served.host) as connection:
                connection.sendall(GET)
                assert statuses(answered(connection)) == [200]


@pytest.mark.process
class TestTooSlow:
    def test_a_client_without_a_handshake_is_disconnected(self, hurried: Served) -> None:
        with socket.create_connection((hurried.host, hurried.port), SOON) as client:
            assert client.recv(1) == b""

    @each_row(
        ("sent", "status", "end"),
        ([], [], b""),
        ([b"GET /heal"], [408], b"Request Timeout: the header did not come in time\n"),
        ([post("Content-Length: 9\r\n", b"2")], [408], b"Request Timeout: the body did not come in time\n"),
        ([post("Transfer-Encoding: chunked\r\n", b"2")], [408], b"Request Timeout: the body did not come in time\n"),
    )
    def test_a_client_without_a_request_is_disconnected_and_a_part_that_does_not_come_is_a_408(
        self, hurried: Served, sent: list[bytes], status: list[int], end: bytes
    ) -> None:
        received = exchange(hurried, *sent)
        assert (statuses(received), received.partition(b"\r\n\r\n")[2]) == (status, end)

    @each_row("begun", b"GET /", post("Content-Length: 100\r\n"))
    def test_one_that_trickles_is_a_408(self, hurried: Served, begun: bytes) -> None:
        with hurried.socket() as connection:
            connection.sendall(begun)
            connection.settimeout(0.05)
            received = b""
            for _ in range(100):
                connection.sendall(b"x")
                with suppress(TimeoutError):
                    received += connection.recv(4096)
                    break
            assert statuses(received) == [408]

    def test_the_second_request_has_deadlines_as_the_first(self, hurried: Served) -> None:
        for begun in (b"GET", b"\r\n", post("Content-Length: 9\r\n")):
            with hurried.socket() as connection:
                connection.sendall(GET)
                assert statuses(answered(connection)) == [200]
                connection.sendall(begun)
                assert statuses(answered(connection)) == [408]
                assert connection.recv(1) == b""

    def test_a_client_that_sends_nothing_more_is_finally_disconnected(self, hurried: Served) -> None:
        with hurried.socket() as connection:
            connection.sendall(GET)
            assert statuses(answered(connection)) == [200]
            began = time.monotonic()
            assert connection.recv(1) == b""
            assert time.monotonic() - began > 1.4  # not the deadline of a header

    def test_a_refused_body_is_awaited_no_longer_than_another(self, hurried: Served) -> None:
        with hurried.socket() as connection:
            connection.sendall(post(f"Content-Length: {LIMIT + 1}\r\n"))
            assert statuses(answered(connection)) == [413]
            assert connection.recv(4096) == b""

    def test_a_client_that_reads_no_answers_is_disconnected(self) -> None:
        with serving(Reviews(talk), HURRY) as served, served.socket() as connection:
            connection.sendall(post("Content-Length: 0\r\n") * 50)
            assert eventually(lambda: not served.connections)

    def test_a_client_that_reads_late_gets_all_answers(self) -> None:
        with serving(Reviews(talk)) as served, served.socket() as connection:
            connection.sendall(post("Content-Length: 0\r\n") * 3 + post("Content-Length: 0\r\nConnection: close\r\n"))
            time.sleep(0.1)
            received = everything(connection)
        assert statuses(received) == [200] * 4
        assert received.count(b"x") == 4 * 2**20

    def test_an_unread_answer_counts_as_a_whole(self) -> None:
        with serving(Reviews(talk)) as served, served.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
            connection.sendall(post("Content-Length: 0\r\nConnection: close\r\n"))
            assert eventually(lambda: served.server.port.crowd.unread > 2**19)
            assert everything(connection).count(b"x") == 2**20
            assert served.server.port.crowd.unread == 0

    def test_a_client_that_never_closes_its_side_is_disconnected(self, hurried: Served) -> None:
        with hurried.socket() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert statuses(answered(connection)) == [200]
            assert eventually(lambda: not hurried.connections)


@pytest.mark.process
class TestOthers:
    def test_idle_clients_block_no_others(self, served: Served) -> None:
        clients = [socket.create_connection((served.host, served.port)) for _ in range(20)]
        clients += [served.socket() for _ in range(20)]
        clients[-1].sendall(post("Content-Length: 9\r\n", b"{}"))
        clients[-2].sendall(b"POST /val")
        clients[-3].sendall(post("Transfer-Encoding: chunked\r\n", b"9\r\n{}"))
        try:
            began = time.monotonic()
            assert served.post("/validate", b"{}")[0] == 200
            assert time.monotonic() - began < 1
            assert eventually(lambda: served.connections == 20)
        finally:
            for client in clients:
                client.close()

    def test_resets_do_not_affect_other_clients(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        bodies = [post(f"Content-Length: {length}\r\n", b"{}") for length in (9, 2)]
        for sent in (b"", b"GET /heal", GET, *bodies):
            connection = served.socket()
            connection.sendall(sent)
            reset(connection)
        assert eventually(lambda: not served.connections)
        assert served.get("/healthz") == (200, b"ok\n")
        assert "Traceback" not in caplog.text

    def test_clients_that_reset_after_an_answer_leave_nothing_behind(self, served: Served) -> None:
        def kept() -> list[Connection]:
            gc.collect()
            return [each for each in gc.get_objects() if isinstance(each, Connection) and each._port is port]  # noqa: SLF001

        port = served.server.port
        for _ in range(20):
            with served.socket() as connection:
                connection.sendall(post("Content-Length: 2\r\n", b"{}"))
                assert statuses(answered(connection)) == [200]
                reset(connection)
        assert eventually(lambda: not served.connections)
        assert eventually(lambda: not kept())


def flood(served: Served, begun: bytes, more: bytes) -> bytes:
    """Keep sending until there is an answer."""
    with served.socket() as connection:
        connection.sendall(begun)
        connection.settimeout(0.001)
        deadline = time.monotonic() + SOON
        while time.monotonic() < deadline:
            with suppress(TimeoutError):
                return connection.recv(4096)
            connection.settimeout(SOON)
            connection.sendall(more)
            connection.settimeout(0.001)
    return b""


@pytest.mark.process
def test_a_connection_stays_open_if_its_answer_says_so_though_a_signal_comes_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send = Connection._send  # noqa: SLF001 - as below

    def send_before_signal(connection: Connection, data: bytes) -> None:
        send(connection, data)
        connection._port.app.is_closing = True  # noqa: SLF001 - at this very moment

    monkeypatch.setattr(Connection, "_send", send_before_signal)
    with serving(Reviews(echo)) as served, served.socket() as client:
        client.sendall(post("Content-Length: 2\r\n", b"{}"))
        assert b"\r\nconnection: close\r\n" not in answered(client)
        client.sendall(post("Content-Length: 2\r\n", b"{}"))
        assert b"\r\nconnection: close\r\n" in answered(client)


class Member(Client):
    """A connection that notes when it is closed."""

    def __init__(self, address: str = "a", *, is_busy: bool = False) -> None:
        self.address = address
        self.is_busy = is_busy
        self.due = float("inf")
        self.unread = self.counted = 0
        self.closed = self.dropped = False
        self.is_sending = True

    def answered(self, page: Answer) -> None:
        raise AssertionError(page)

    def abort(self) -> None:
        self.closed = True

    expire = shutdown = abort

    def drop_body(self) -> bool:
        self.dropped = self.is_sending
        return self.dropped


class TestCrowd:
    def test_those_that_wait_for_an_answer_stay(self) -> None:
        crowd, busy, idle, new = Crowd(2, 2), Member(is_busy=True), Member(), Member()
        for member in (busy, idle, new):
            crowd.enter(member)
        assert [busy.closed, idle.closed, new.closed] == [False, True, False]

    def test_an_address_that_has_too_many_loses_its_own(self) -> None:
        crowd, other, members = Crowd(10, 2), Member("b"), [Member() for _ in range(3)]
        for member in (other, *members):
            crowd.enter(member)
        assert [other.closed, *(member.closed for member in members)] == [False, True, False, False]
        for member in (other, *members):
            crowd.leave(member)
        assert len(crowd) == 0

    def test_the_connection_with_most_unread_answers_is_closed(self) -> None:
        crowd, members = Crowd(10, 10, unread_bytes=100), [Member() for _ in range(4)]
        for member, size in zip(members, (40, 50, 20, 10), strict=True):
            crowd.enter(member)
            crowd.count_unread(member, size)
            if member is members[0]:
                crowd.count_unread(member, 0)
        assert not any(member.closed for member in members)
        crowd.count_unread(members[2], 45)
        assert [member.closed for member in members] == [False, True, False, False]
        crowd.count_unread(members[1], 90)  # it does not know yet
        assert crowd.unread == 55

    def test_the_body_whose_client_has_sent_nothing_for_longest_is_given_up(self) -> None:
        crowd, members = Crowd(10, 10, bodies_bytes=100), [Member() for _ in range(3)]
        for member, size in zip(members, (60, 30, 20), strict=True):
            crowd.enter(member)
            members[0].is_sending = False  # it waits for its answer
            crowd.count_body(member, size)
        assert [member.dropped for member in members] == [False, True, False]
        crowd.leave(members[0])
        assert crowd.bodies == 50


@pytest.mark.process
class TestServer:
    @each_row("limits", Limits(connections=4), Limits(connections_per_address=4))
    def test_silent_clients_go_first(self, limits: Limits) -> None:
        with serving(Reviews(echo), limits) as served, ExitStack() as stack:
            silent = [stack.enter_context(socket.create_connection((served.host, served.port), SOON)) for _ in range(3)]
            assert eventually(lambda: len(served.server.port.crowd) == 3)
            for number in range(4):
                stack.enter_context(served.socket())
                kept = asked(served, stack)
                if number < 3:
                    assert silent[number].recv(1) == b""
            kept.sendall(GET)
            assert statuses(answered(kept)) == [200]
            assert len(served.server.port.crowd) <= 4

    def test_unread_answers_are_bounded_together(self, caplog: pytest.LogCaptureFixture) -> None:
        with serving(Reviews(talk), Limits(unread_bytes=5 << 20)) as served, ExitStack() as stack:
            for _ in range(8):
                connection = stack.enter_context(served.socket())
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(post("Content-Length: 0\r\n") * 20)
                time.sleep(0.05)
            assert eventually(lambda: "bytes are unread" in caplog.text)
            assert eventually(lambda: served.connections <= 6)
            assert served.post("/validate", b"{}")[0] == 200


def asked(served: Served, stack: ExitStack) -> socket.socket:
    """Return a connection that has served a request."""
    connection = stack.enter_context(served.socket())
    connection.sendall(GET)
    assert statuses(answered(connection)) == [200]
    return connection
