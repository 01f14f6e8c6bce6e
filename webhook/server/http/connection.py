"""HTTP connections with deadlines and limits."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from enum import Enum, auto
from http import HTTPStatus
from typing import cast

from httptools import HttpParserError, HttpRequestParser

from webhook.server.bounded import BoundedLog
from webhook.server.http.gate import address_of
from webhook.server.http.headers import fault_of, unmet
from webhook.server.http.intake import BYTE_SECONDS, LARGE
from webhook.server.http.messages import Incoming, Page, Request, refusal, target_of
from webhook.server.http.outlet import Outlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from webhook.server.http.headers import HTTPFault
    from webhook.server.http.port import Port

_malformed = BoundedLog(logging.getLogger(__name__))
_SMALL: Final = 512
"""Bytes below which a chunk counts as small."""
_STATUS_LINES: Final[Mapping[int, bytes]] = {
    status: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_CLOSE: Final = b"connection: close\r\n"


class _Stage(Enum):
    IDLE = auto()
    HEADER = auto()
    BODY = auto()


_IDLE, _HEADER, _BODY = _Stage  # an attribute of an Enum takes its time


class Connection(asyncio.BufferedProtocol):
    """Answers the requests of a connection in their order.

    Closes the connection if its client is too slow, sends too much, leaves too much unread, or may not send requests.
    Most requests arrive in one piece on an idle connection; these need no task, no timer and no copy.

    Args:
        port: The state that it shares with other connections.
    """

    def __init__(self, port: Port) -> None:
        self.port = port
        self.address = ""
        self._app = port.app
        self._loop = asyncio.get_running_loop()
        self._client = ""
        self._peer: tuple[str, int] | None = None
        self._forbidden = ""
        """Why the client may not send requests."""
        self._is_closing = False
        self._is_refused = False
        """Whether the connection closes after the pending answers, and further input is ignored."""
        # Input
        self._stage = _HEADER
        self._requests = 0
        self.received = 0
        """The bytes of the present request that have arrived."""
        self.is_held = False
        """Whether it must not read, since others have their turns."""
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._fields = 0
        self._chunk = 0
        """The bytes of the present chunk."""
        self._small = 0
        """How many chunks were small."""
        self._pieces = 0
        """How many pieces were."""
        self._fault: HTTPFault | None = None
        self._incoming: Incoming | None = None
        # Answers
        self._waiting = deque[Incoming]()
        self._answering: Request | None = None
        self._is_dispatching = False
        self._is_paused = False
        # Deadlines
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = float("inf")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        self._transport: Any = transport
        self.address = address_of(transport)
        self._peer = transport.get_extra_info("peername")
        port = self.port
        self._outlet = Outlet(self, port.crowd, transport, port.limits.stalled_seconds)
        self._parser: Any = HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_data_after_close=True
        )  # else it refuses the previous request, too
        port.connections.add(self)
        port.crowd.enter(self)
        if transport.is_closing():
            return
        self._client = self.address
        if port.clients is not None:
            certificate: Any = transport.get_extra_info("peercert")
            self._forbidden = port.clients.refusal(certificate, self._peer)
            if certificate:
                self._client = f"certificate {certificate['subject']}"
        self._await(port.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Forget the connection."""
        self._is_closing = True
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.clear()
        if self._incoming is not None:
            self._app.bodies.drop(self._incoming)
        self.port.connections.discard(self)
        self.port.crowd.leave(self)
        self._outlet.end()
        self._transport = None
        del self._parser, self._outlet  # which know this connection, too

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's
        """Return the buffer for input: otherwise the loop makes 256 KiB of room each time, by three system calls."""
        return self.port.room

    def buffer_updated(self, nbytes: int) -> None:
        """Read a part of a request; answer it if it is complete."""
        port = self.port
        port.crowd.stir(self)
        is_known = self._stage is _IDLE and self._answer_known(nbytes)
        if is_known and nbytes < LARGE:
            return
        begun = time.monotonic()
        if not is_known:
            self._read(nbytes)
        port.intake.took(self, time.monotonic() - begun + nbytes * BYTE_SECONDS)

    def _read(self, nbytes: int) -> None:
        """Parse what has arrived, and answer a request.

        Args:
            nbytes: The number of received bytes.
        """
        if self._is_closing or self._is_refused:
            return
        if self._forbidden:  # before its request, the client does not read an answer
            self._refuse(HTTPStatus.FORBIDDEN, self._forbidden)
            return
        port, stage, requests, is_new = self.port, self._stage, self._requests, not self.received
        if stage is _IDLE:
            self._stage = _HEADER  # even an empty line counts
        try:
            self._parser.feed_data(port.room[:nbytes])
        except HttpParserError:
            self._refuse_malformed()
            return
        if is_new and self._requests == requests + 1 and len(self._waiting) == 1 and self._app.queues(self._waiting[0]):
            port.heads.learn(port.received, nbytes, self._waiting[0])
        if self._requests == requests:
            self.received += nbytes
        else:  # how many bytes belong to the next request is unknown
            self.received = 0 if self._stage is _IDLE else 1
        if self._stage is not _IDLE:
            self._check_pace(is_new=self._stage is not stage or self._requests != requests)
        self._answer_next()

    def _answer_known(self, size: int) -> bool:
        """Answer a whole request with a known head, unless others come first; return whether it did.

        Args:
            size: The number of received bytes.
        """
        if self._answering is not None or self._waiting or self._outlet.is_full:
            return False
        if self._is_closing or self._is_refused:
            return False
        request = self.port.heads.find(self.port.received, size, self._client, self._peer)
        if request is None or len(request.body) > self._app.bodies.limit:
            return False
        self._has_arrived(request)
        self._answering = request
        self._app.answer(request, self._reply)
        return True

    def hold(self) -> None:
        """Read nothing until :meth:`go_on`."""
        self.is_held = True
        if self._transport is not None:
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Read again, unless requests wait for their answers."""
        self.is_held = False
        if not self._is_paused and self._transport is not None:
            self._transport.resume_reading()

    def _check_pace(self, *, is_new: bool) -> None:
        """Refuse a request that is too large, and set the deadline of the next part.

        Args:
            is_new: Whether the connection waits for another part than before.
        """
        limits = self.port.limits
        if is_new:
            self._await(limits.header_seconds if self._stage is _HEADER else limits.body_seconds)
        if self._stage is _HEADER and self.received > limits.header_bytes:
            reason = f"a header may have {limits.header_bytes} bytes"
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, reason)
        elif self.received > self.port.request_bytes:
            reason = f"a request may have {self.port.request_bytes} bytes as sent"
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)

    # The parser's callbacks: an error ends the parsing.

    def on_message_begin(self) -> None:
        """Begin to wait for the header."""
        self._stage = _HEADER
        self._url = b""
        self._headers = {}
        if not self._waiting:  # all requests that are sent together are read at once
            self._fields = self._small = self._pieces = 0

    def on_url(self, url: bytes) -> None:
        """Add a piece of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header field, or ignore a trailer."""
        self._fields += 1
        if self._fields > self.port.limits.header_fields:  # each takes as long as many bytes
            reason = f"requests sent together may have {self.port.limits.header_fields} header fields"
            self._fault = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, reason
            raise ValueError(self._fault)
        if self._stage is _HEADER:
            headers, name = self._headers, name.lower()
            headers[name] = value if name not in headers else headers[name] + b", " + value  # RFC 9110, section 5.3

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        parser = self._parser
        if parser.should_upgrade():
            # The parser would skip the body, and its rest could pass for a request.
            raise ValueError("no other protocol is spoken here")
        limit = self.port.limits.requests
        if len(self._waiting) + self.is_busy >= limit:
            self._fault = HTTPStatus.BAD_REQUEST, f"{limit} requests may be sent before the first is answered"
            raise ValueError(self._fault)
        headers, version = self._headers, parser.get_http_version()
        if (fault := fault_of(version, headers)) is not None:
            self._fault = fault
            raise ValueError(fault)
        keeps = parser.should_keep_alive() and (b"connection" not in headers or version != "1.0")
        request = Incoming(parser.get_method(), target_of(self._url), headers, self._client, self._peer, keeps=keeps)
        request.refusal = unmet(headers) or self._app.admit(request)
        self._incoming = request
        self._stage = _BODY

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body: of a chunk, or of what has arrived."""
        size = len(body)
        self._chunk += size
        if size < _SMALL:
            self._pieces += 1
            limit = self.port.limits.small_pieces
            if self._pieces > limit:  # each takes as much memory as many bytes
                reason = f"a body may come in {limit} pieces below {_SMALL} bytes"
                self._fault = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason
                raise ValueError(self._fault)
        request = cast("Incoming", self._incoming)
        if request.refusal is None:
            self._app.bodies.take(request, body)

    def on_chunk_header(self) -> None:
        """Begin a chunk of the body."""
        self._chunk = 0

    def on_chunk_complete(self) -> None:
        """Count a small chunk; the last one is empty."""
        if 0 < self._chunk < _SMALL:
            self._small += 1
            limit = self.port.limits.small_chunks
            if self._small > limit:  # each takes as long as many bytes
                reason = f"bodies sent together may have {limit} chunks below {_SMALL} bytes"
                self._fault = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason
                raise ValueError(self._fault)

    def on_message_complete(self) -> None:
        """Queue a complete request for its answer."""
        request, self._incoming = cast("Incoming", self._incoming), None
        if request.refusal is None:
            self._app.bodies.finish(request)
        self._stage = _IDLE
        self._has_arrived(request)
        if request.is_answered:
            self._close()  # what may follow is not read
        else:
            self._waiting.append(request)

    def _has_arrived(self, request: Request) -> None:
        """Note that a request is complete, and begin to wait for the next."""
        request.arrived = time.monotonic()
        self._requests += 1
        self._due = request.arrived + self.port.limits.idle_seconds

    # Answers

    @property
    def sender(self) -> tuple[str, tuple[str, int] | None]:
        """The client, and its connection."""
        return self._client, self._peer

    @property
    def is_busy(self) -> bool:
        """Whether a complete request is being answered."""
        return self._answering is not None

    def _answer_next(self) -> None:
        """Answer the next waiting request, unless one is being answered; other connections get their turns between."""
        if self._is_dispatching:  # further up the stack
            return
        self._is_dispatching = True
        if self._waiting and self._answering is None and not (self._outlet.is_full or self._is_closing):
            request = self._answering = self._waiting.popleft()
            if request.refusal is None:
                self._app.answer(request, self._reply)
            else:
                self._app.refused(request.refusal.status)
                self._reply(request.refusal)
            if self._waiting and self._answering is None:
                self._loop.call_soon(self._answer_next)
        self._is_dispatching = False
        if self._is_closing:
            return
        if bool(self._waiting) is not self._is_paused:  # do not read ahead
            self._is_paused = not self._is_paused
            if not self.is_held:
                (self._transport.pause_reading if self._is_paused else self._transport.resume_reading)()
        if self._incoming is not None and self._answering is None and not self._waiting:
            self._answer_early(self._incoming)

    def _answer_early(self, request: Incoming) -> None:
        """Send an early response to a client whose request is still arriving.

        A connection that is closed during input is reset, and the client may never see the answer. So the rest of a
        refused request is read first.
        """
        if request.refusal is not None and not request.is_answered:
            request.is_answered = True
            self._app.refused(request.refusal.status)
            self._write(request, request.refusal, _CLOSE)
        elif request.expects:
            request.expects = False
            self._outlet.write(_CONTINUE)

    def _reply(self, page: Page) -> None:
        """Write the answer to the current request."""
        request, self._answering = self._answering, None
        if request is None or self._is_closing:
            return
        if request.keeps and not page.is_last and not self._app.closing:
            self._write(request, page, b"")
            if not self._is_dispatching and (self._waiting or self._is_paused or self._incoming is not None):
                self._answer_next()
        else:
            self._write(request, page, _CLOSE)
            self._close()

    def _write(self, request: Request, page: Page, last: bytes) -> None:
        """Write an answer."""
        body = page.body
        data = b"%b%bcontent-type: %b\r\n%bcontent-length: %d\r\n%b\r\n%b" % (
            _STATUS_LINES[page.status],
            self.port.headers,
            page.content_type,
            page.headers,
            len(body),
            last,
            b"" if request.method == b"HEAD" else body,
        )
        self._outlet.write(data)

    def _refuse_malformed(self) -> None:
        """Refuse a malformed HTTP request or one with too many parts, with the reason if it is known."""
        if self._fault is not None:
            self._refuse(*self._fault)
            return
        _malformed.warning("refused a request of %s, which is not HTTP/1.1 as it should be", self._peer)
        self._refuse(HTTPStatus.BAD_REQUEST, "it is not HTTP/1.1 as it should be")

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        """Close the connection with a refusal, after the answers to earlier requests."""
        if self._is_refused:
            return
        self._is_refused = True
        if self._incoming is not None and self._incoming.is_answered:
            self._app.refused(status)
            self._close()
            return
        last = Incoming(b"", _NOTHING, {}, keeps=False)
        last.refusal = refusal(status, reason)
        self._waiting.append(last)
        self._answer_next()

    def _close(self) -> None:
        """Close the connection once everything is written."""
        self._is_closing = True
        self._outlet.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    # Deadlines and shutdown

    def pause_writing(self) -> None:
        """Measure how much the client has not read."""
        self._outlet.weigh()

    def resume_writing(self) -> None:
        """Continue after the client has read."""
        self._outlet.go_on()
        self._answer_next()

    def shutdown(self) -> None:
        """Close the connection when the server stops; the answer to a pending request closes it otherwise."""
        if self.received or self._answering is not None or self._waiting:
            return
        if self._requests:
            self._close()
        else:  # the client has connected for a request that follows
            self._loop.call_later(self.port.limits.closing_seconds, self._close_if_unused)

    def _close_if_unused(self) -> None:
        if not (self.received or self._requests or self._is_closing):
            self._close()

    def _await(self, seconds: float) -> None:
        """Set the deadline of the next input.

        A timer that fires early is set again, so that requests in one piece need no timer of their own.
        """
        self._due = due = time.monotonic() + seconds
        if due < self._timer_due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_due = due
            self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Close the connection if its deadline has passed."""
        self._timer, self._timer_due = None, float("inf")
        left = self._due - time.monotonic()
        if left > 0:
            self._await(left)
        elif self._stage is _IDLE and (self._answering is not None or self._waiting):
            self._await(self.port.limits.idle_seconds)
        elif self.received:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the {self._stage.name.lower()} did not come in time")
        else:
            self._close()


_NOTHING: Final = target_of(b"/")
"""The target of a refusal that belongs to no request."""
