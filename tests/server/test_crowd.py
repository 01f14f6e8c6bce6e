"""New connections are served: if there are too many, the one that has been idle for longest is closed."""

import socket
import time
from contextlib import ExitStack

import pytest

from tests.serving import GET, SOON, Served, answered, echo, eventually, post, serving, statuses, talk
from webhook.server import Limits, Reviews
from webhook.server.messages import Client, Page
from webhook.server.port import Crowd


class Member(Client):
    """A connection that notes when it is closed."""

    def __init__(self, address: str = "a", *, is_busy: bool = False) -> None:
        self.address = address
        self.is_busy = is_busy
        self.due = float("inf")
        self.unread = self.counted = 0
        self.closed = self.dropped = False
        self.is_sending = True

    def answered(self, page: Page) -> None:
        raise AssertionError(page)

    def abort(self) -> None:
        self.closed = True

    def expire(self) -> None:
        self.closed = True

    def shutdown(self) -> None:
        self.closed = True

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


class TestServer:
    @pytest.mark.parametrize("limits", [Limits(connections=4), Limits(connections_per_address=4)])
    def test_silent_clients_go_first(self, limits: Limits) -> None:
        with serving(Reviews(echo), limits) as served, ExitStack() as stack:
            silent = [stack.enter_context(socket.create_connection((served.host, served.port), SOON)) for _ in range(3)]
            assert eventually(lambda: len(served.server.port.crowd) == 3)
            for number in range(4):
                stack.enter_context(served.socket())
                kept = asked(served, stack)
                if number < 3:
                    assert silent[number].recv(1) == b"" or number
            kept.sendall(GET)
            assert statuses(answered(kept)) == [200]
            assert len(served.server.port.crowd) <= 4

    def test_handshakes_that_fail_leave_nothing_behind(self) -> None:
        with serving(Reviews(echo)) as served:
            for _ in range(3):
                with socket.create_connection((served.host, served.port), SOON) as plain:
                    plain.sendall(b"no TLS at all")
                    while plain.recv(100):
                        pass
            assert served.get("/healthz")[0] == 200
            assert eventually(lambda: len(served.server.port.crowd) == 0)

    def test_unread_answers_are_bounded_together(self, caplog: pytest.LogCaptureFixture) -> None:
        with serving(Reviews(talk), Limits(unread_bytes=5 << 20)) as served, ExitStack() as stack:
            for _ in range(8):
                connection = stack.enter_context(served.socket())
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(post("Content-Length: 0\r\n") * 20)
                time.sleep(0.05)
            assert eventually(lambda: "bytes are unread" in caplog.text)
            assert served.connections <= 6
            assert served.post("/validate", b"{}")[0] == 200


def asked(served: Served, stack: ExitStack) -> socket.socket:
    """Return a connection that has served a request."""
    connection = stack.enter_context(served.socket())
    connection.sendall(GET)
    assert statuses(answered(connection)) == [200]
    return connection
