"""A client's connection: HTTP/1.1 with deadlines and limits."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from httptools import HttpParserError, HttpRequestParser, parse_url

from webhook.admission import Answer
from webhook.logs import BoundedLog
from webhook.server.messages import Client, Head, HTTPRequest, fault_of, head_of, refusal
from webhook.server.port import Port

UNSENT = 1 << 14
"""The bytes that a transport may buffer before writing pauses; most answers are shorter."""
_PIECE = 1 << 15
"""The bytes of an answer that are written at once: OpenSSL keeps a buffer of the largest write."""
_SMALL = 512
"""The bytes below which a piece of a body is small."""
_COUNTED = 1 << 16
"""The bytes from which a body counts; shorter ones are taken, however much others take."""
_LONGEST_PATH = 256
"""The longest path that is unescaped: no page has a longer one."""
_BAD, _LARGE = HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE
_LONG_HEADER = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_log = BoundedLog(logging.getLogger(__name__))


class Connection(asyncio.Protocol, Client):
    """Answers the requests of a client in their order.

    What it waits for has one deadline, ``due``, which its port looks at ten times a second: no request needs a timer of
    its own. While a complete request waits for its turn, or the client does not read, nothing is read.

    How a connection ends, from the gentlest on:

    - :meth:`shutdown`: its port closes. It closes if it is idle, else after its next answer.
    - ``_refuse``: a request is malformed, too large or too slow. Earlier requests are answered, then comes the error.
    - ``_close``: after the last answer, or when idle for too long. What is written already is sent first.
    - ``_end`` answers nothing more, and ``_shut`` closes the transport (with TLS, after a close_notify). ``_close``
      calls both; TLS does so itself after a TLS error.
    - :meth:`expire`: its deadline has passed. One of ``_refuse``, ``_close`` and ``abort`` follows.
    - :meth:`abort`: at once. Its port makes room or stops, or its client neither reads nor closes in time.
    """

    _transport: Any
    # Input
    phase = "header"
    """The part of a request that the client sends, or ``""`` between two requests."""
    _received = 0
    """The bytes of the present request that have arrived."""
    _head: Head | None = None
    """The head of an earlier request; the next request probably has the same."""
    _url = b""
    _fields = _small = 0
    _incoming: HTTPRequest | None = None
    _answering: HTTPRequest | None = None
    _fault: Answer | None = None
    """The error with which it refuses what the client sends, which is not read any more."""
    _is_paused = False
    # Output
    _rest = b""
    """The rest of an answer, which is written once the client has read what was written before."""
    _is_stuck = False
    """Whether the client must read first."""
    _is_ending = _is_closed = False
    """Whether nothing more is read; whether nothing more is answered either, and it closes once all is written."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._headers: dict[bytes, bytes] = {}
        self._complete: deque[HTTPRequest] = deque()
        self._parser: Any = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the handshake, or for a request."""
        self._transport = transport
        self._peer = transport.get_extra_info("peername")
        self.address = str(self._peer[0]) if self._peer else ""  # it may be closed already
        transport.set_write_buffer_limits(UNSENT)
        self._await_phase()
        self._port.crowd.enter(self)
        if self.phase == "header":
            self._begin()

    def _begin(self) -> None:
        """Wait for a request."""
        self._parser = HttpRequestParser(self)
        # Else the parser raises an error for data after a request with `Connection: close`, as if that were malformed.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.phase = "header"
        self._wait(self._port.limits.closing_seconds if self._port.is_closed else self._port.seconds[self.phase])

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Forget the connection."""
        self._is_closed = self._is_ending = True
        self._port.crowd.leave(self)
        self._complete.clear()
        self._rest = b""
        self._incoming = self._answering = self._transport = None
        self._parser = None  # which knows this connection, too

    # What arrives

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, and answer what is complete."""
        if self._is_ending:
            return
        port = self._port
        port.crowd.stir(self)
        head = None if self.phase or self._complete or self.is_busy else self._head
        if head and (request := head.request_in(data, min(port.app.body_limit, _COUNTED))):
            self._complete.append(request)
            self._go_on()
        else:
            self._parse(data)

    def _parse(self, data: bytes) -> None:
        port, limits, is_new = self._port, self._port.limits, not self._received
        if not self.phase:
            self.phase, self.due, self._fields, self._small = "header", 0.0, 0, 0  # even an empty line counts
        self._received += len(data)
        try:
            if self._fault is None:
                self._parser.feed_data(data)
                if self.phase == "header" and self._received > limits.header_bytes:
                    self._stop(_LONG_HEADER, f"the header exceeds {limits.header_bytes} bytes")
                if self._received > port.request_bytes:
                    self._stop(_LARGE, f"a request may have {port.request_bytes} bytes as sent")
        except (HttpParserError, ValueError):
            if self._fault is None:
                _log.warning("refused a malformed HTTP/1.1 request of %s", self._peer)
                self._fault = refusal(_BAD, "malformed HTTP/1.1 request")
        if not self.due:
            self._await_phase()
        if self._fault:
            self._refuse(self._fault)
        else:
            if is_new and len(self._complete) == 1:
                self._head = head_of(data, self._complete[0])
            self._go_on()

    def _await_phase(self) -> None:
        """Set the deadline of what the client sends next."""
        self.due = time.monotonic() + self._port.seconds[self.phase]

    def _stop(self, status: HTTPStatus, reason: str) -> None:
        """Stop reading at what must not go on.

        Raises:
            ValueError: Always; the parser makes an HttpParserError of it.
        """
        self._fault = refusal(status, reason)
        raise ValueError(reason)

    # The parser's callbacks: an error ends the parsing.

    def on_message_begin(self) -> None:
        """Note that another request has begun in the same data as the end of the previous one."""
        if not self.phase:
            self.phase, self.due = "header", 0.0
            self._received = 1  # how many of what has arrived belong to it is unknown

    def on_url(self, url: bytes) -> None:
        """Add a piece of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header field, or ignore a trailer."""
        self._fields += 1
        if self._fields > (most := self._port.limits.header_fields):  # parsing one costs as much as many bytes
            self._stop(_LONG_HEADER, f"requests sent together may have {most} header fields")
        if self.phase == "header":
            headers, name = self._headers, name.lower()
            headers[name] = value if name not in headers else headers[name] + b", " + value  # RFC 9110, section 5.3

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        parser, port, headers, url = self._parser, self._port, self._headers, self._url
        self._headers, self._url = {}, b""
        if parser.should_upgrade():  # the parser would skip the body, whose rest could pass for a request
            raise ValueError("no other protocol is supported")
        most = port.limits.requests
        if len(self._complete) + self.is_busy >= most:
            self._stop(_BAD, f"{most} requests may be sent before the first is answered")
        version = parser.get_http_version()
        if fault := fault_of(version, headers):
            self._stop(*fault)
        keeps = version == "1.1" and parser.should_keep_alive()
        request = self._incoming = HTTPRequest(parser.get_method(), *target_of(url), headers, keeps)
        if b"expect" in headers and headers[b"expect"].lower() != b"100-continue":
            request.refusal = refusal(HTTPStatus.EXPECTATION_FAILED, "expect 100-continue or nothing", is_last=True)
        elif int(headers.get(b"content-length", 0)) > port.app.body_limit:
            request.refusal = self._too_large()
        else:
            request.refusal = port.app.admit(request)
        self.phase, self.due = "body", 0.0

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body: of a chunk, or of what has arrived."""
        request: Any = self._incoming
        request.size += len(body)
        if len(body) < _SMALL:
            self._small += 1
            if self._small > (most := self._port.limits.small_pieces):
                self._stop(_LARGE, f"a body may come in {most} pieces below {_SMALL} bytes")
        if request.refusal is None:
            request.pieces.append(body)
            if request.size > self._port.app.body_limit:
                self._drop(request, self._too_large())
            elif request.size > _COUNTED:
                self._count(request, request.size)

    def on_message_complete(self) -> None:
        """Queue a complete request for its answer."""
        request: Any = self._incoming
        self._incoming = None
        request.arrived = time.monotonic()
        self._complete.append(request)
        self.phase, self.due, self._received = "", 0.0, 0

    # Bodies

    def drop_body(self) -> bool:
        """Give up the body that is coming in, if it is long, as all bodies together take too much memory."""
        if self._incoming is None or not self._incoming.counted:
            return False
        answer = self._port.app.overloaded("bodies that are coming in or wait take too much memory")
        self._drop(self._incoming, answer)
        return True

    def _drop(self, request: HTTPRequest, answer: Answer) -> None:
        request.pieces.clear()
        request.refusal = answer
        self._count(request, 0)

    def _count(self, request: HTTPRequest, size: int) -> None:
        more, request.counted = size - request.counted, size
        self._port.crowd.count_body(self, more)

    def _too_large(self) -> Answer:
        return refusal(_LARGE, f"a body may have {self._port.app.body_limit} bytes", is_last=True)

    # Answers

    def _go_on(self) -> None:
        """Answer complete requests one after the other; read no more while one waits, or the client reads nothing."""
        while self._complete and not (self.is_busy or self._is_stuck or self._is_closed):
            request = self._complete.popleft()
            answer = request.refusal or self._port.app.answer(request, self)
            if answer is None:
                self._answering, self.is_busy = request, True
            else:
                self._reply(request, answer)
        if self._is_closed:
            return
        waits = bool(self._complete or self._is_stuck)
        if self._incoming is not None and not (waits or self.is_busy):
            self._answer_early(self._incoming)
        if waits is not self._is_paused:
            self._is_paused = waits
            self._read_on()

    def _read_on(self) -> None:
        """Read what the client sends, or let it wait."""
        (self._transport.pause_reading if self._is_paused else self._transport.resume_reading)()

    def _answer_early(self, request: HTTPRequest) -> None:
        """Answer a client that is still sending: that it may go on, or need not.

        A connection that is closed meanwhile is reset, and its client may never see why. So the rest is read first.
        """
        if request.refusal and not request.is_answered:
            self._write(request, request.refusal)
        elif request.headers.pop(b"expect", None) and not request.refusal:
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def answered(self, answer: Answer) -> None:
        """Send the answer to the request for which the application has returned None."""
        request, self._answering, self.is_busy = self._answering, None, False
        if request is not None and not self._is_closed:
            self._reply(request, answer)
            self._go_on()

    def _reply(self, request: HTTPRequest, answer: Answer) -> None:
        self._await_phase()
        if request.counted:
            self._count(request, 0)
        if not request.is_answered:
            self._write(request, answer)
        if not request.keeps:
            self._close()

    def _write(self, request: HTTPRequest, answer: Answer) -> None:
        request.is_answered = True
        if request.refusal:
            self._port.app.refused(answer.status)
        # Asked once: a signal that comes after this may not close a connection whose client reads that it stays open.
        request.keeps = request.keeps and not (answer.is_last or self._port.app.is_closing)
        head = self._port.head(answer.status, answer.content_type, answer.headers, request.keeps)
        body = b"" if request.method == b"HEAD" else answer.body
        self._send(b"%b%d\r\n\r\n%b" % (head, len(answer.body), body))

    def _send(self, data: bytes) -> None:
        """Write data; short data at once, in one TLS record and one system call."""
        if self._rest or self._is_stuck or len(data) > _PIECE:
            self._rest += data
            self._flush()
        else:
            self._put(data)

    def _put(self, data: bytes) -> None:
        self._transport.write(data)

    def _flush(self) -> None:
        """Write as much as the client reads."""
        while self._rest and not self._is_stuck:
            piece, self._rest = self._rest[:_PIECE], self._rest[_PIECE:]
            self._put(piece)
        self._port.crowd.count_unread(self, len(self._rest))

    def pause_writing(self) -> None:
        """Stop, as the client does not read."""
        self._is_stuck = True
        self._wait(self._port.limits.stalled_seconds)

    def resume_writing(self) -> None:
        """Go on, as the client has read."""
        self._is_stuck = False
        if self._transport is None:
            return
        self._await_phase()
        self._flush()
        if not self._is_closed:
            self._go_on()
        elif not self._is_stuck:
            self._close()

    # Its end

    def _refuse(self, answer: Answer) -> None:
        """Answer what came before, then say why nothing else is read, and close the connection."""
        self._is_ending = True
        incoming, self._incoming = self._incoming, None
        last = HTTPRequest(b"", "/", b"", {}, keeps=False, refusal=answer)
        last.is_answered = bool(incoming and incoming.is_answered)
        last.counted = incoming.counted if incoming else 0
        self._complete.append(last)
        self._go_on()

    def _close(self) -> None:
        """Close it once everything is written."""
        self._end()
        if self._rest:
            self._wait(self._port.limits.stalled_seconds)
        else:
            self._shut()

    def _shut(self) -> None:
        self._transport.close()

    def _end(self) -> None:
        """Answer nothing more, and wait for the client to close its side."""
        self._is_closed = self._is_ending = True
        self._complete.clear()
        self._wait(self._port.limits.closing_seconds)

    def abort(self) -> None:
        """Close it at once."""
        self._is_closed = self._is_ending = True
        self._transport.abort()

    def _wait(self, seconds: float) -> None:
        self.due = time.monotonic() + seconds

    def expire(self) -> None:
        """Say what did not come in time, or close the connection."""
        if self._is_stuck or self._is_closed or self.phase == "handshake":
            self.abort()
        elif self.is_busy or self._complete:
            self._await_phase()
        elif self._received:
            self._refuse(refusal(HTTPStatus.REQUEST_TIMEOUT, f"the {self.phase} did not come in time"))
        else:
            self._close()

    def shutdown(self) -> None:
        """Close it when the server stops, unless a request is on its way, or its handshake."""
        if not (self.phase or self.is_busy or self._complete):
            self._close()
        elif self.phase == "header" and not self._received:  # the client has connected for a request that follows
            self._wait(self._port.limits.closing_seconds)


def target_of(url: bytes) -> tuple[str, bytes]:
    """Return the path of a request's target, unescaped, and its query."""
    parsed = parse_url(url)
    path = (parsed.path or b"/").decode("ascii")
    return unquote(path) if len(path) < _LONGEST_PATH else path, parsed.query or b""
