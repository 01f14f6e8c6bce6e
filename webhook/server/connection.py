"""A client's connection: HTTP/1.1 with deadlines and limits."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from httptools import HttpParserError, HttpRequestParser, parse_url

from webhook.server.logs import BoundedLog
from webhook.server.messages import Page, Request, fault_of, refusal
from webhook.server.port import Port, address_of

UNSENT = 1 << 14
"""The bytes that a transport may buffer before writing pauses; most answers are shorter."""
_PIECE = 1 << 15
"""The bytes of an answer that are written at once: OpenSSL keeps a buffer of the largest write."""
_SMALL = 512
"""The bytes below which a piece of a body is small."""
_COUNTED = 1 << 16
"""The bytes from which a body counts; shorter ones are taken, however much others take."""
_LONGEST_PATH = 256
"""The longest target that is cached, in bytes, and the longest path that is unescaped: no page has a longer one."""
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_CLOSE = "connection: close\r\n"
_log = BoundedLog(logging.getLogger(__name__))


class Connection(asyncio.BufferedProtocol):
    """Answers the requests of a client in their order.

    What it waits for has one deadline, ``due``, which its port looks at ten times a second: no request needs a timer of
    its own. While a complete request waits for its turn, or the client does not read, nothing is read.
    """

    def __init__(self, port: Port) -> None:
        self._port = port
        self.due = 0.0
        self.is_busy = False
        self.unread = self.counted = 0
        self.is_slow = self.is_heavy = False
        # Input
        self._phase = "header"
        """The part of a request that the client sends, or ``""`` between two requests."""
        self._received = 0
        """The bytes of the present request that have arrived."""
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._fields = self._small = 0
        self._incoming: Request | None = None
        self._fault: Page | None = None
        """Why the parser was stopped."""
        self._forbidden = ""
        """Why the client may not send requests."""
        self._complete: deque[Request] = deque()
        self._answering: Request | None = None
        self._is_paused = False
        # Output
        self._rest = b""
        """What follows of an answer once the client has read more."""
        self._is_stuck = False
        """Whether the client must read first."""
        self._is_ending = self._is_closed = False
        """Whether nothing more is read; whether nothing more is answered, and it closes as soon as all is written."""

    def connection_made(self, transport: Any) -> None:
        """Wait for a request."""
        port, self._transport = self._port, transport
        self._peer = transport.get_extra_info("peername")
        self.address = address_of(transport)
        self._parser: Any = HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_data_after_close=True
        )  # else it refuses the previous request, too
        self._transport.set_write_buffer_limits(UNSENT)
        if port.certificate and port.certificate.clients:
            self._forbidden = port.certificate.clients.refusal(transport.get_extra_info("peercert"), self._peer)
        self._wait(port.limits.closing_seconds if port.is_closed else port.limits.header_seconds)
        port.crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Forget the connection."""
        self._is_closed = self._is_ending = True
        self._port.crowd.leave(self)
        self._complete.clear()
        self._rest = b""
        self._incoming = self._answering = self._transport = None
        del self._parser  # which knows this connection, too

    # What arrives

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's
        """Return the buffer for input, the same for all: uvloop would map 256 KiB each time, by three system calls."""
        return self._port.room

    def buffer_updated(self, nbytes: int) -> None:
        """Read a part of a request, and answer what is complete."""
        if self._is_ending:
            return
        port, limits = self._port, self._port.limits
        port.crowd.stir(self)
        if self._forbidden:  # before its request, the client does not read an answer
            self._refuse(refusal(HTTPStatus.FORBIDDEN, self._forbidden))
            return
        if not self._phase:  # even an empty line counts
            self._begin("header")
        self._received += nbytes
        try:
            self._parser.feed_data(port.room[:nbytes])
        except HttpParserError:
            if self._fault is None:
                _log.warning("refused a request of %s, which is not HTTP/1.1 as it should be", self._peer)
                self._fault = refusal(HTTPStatus.BAD_REQUEST, "it is not HTTP/1.1 as it should be")
            self._refuse(self._fault)
            return
        if self._phase == "header" and self._received > limits.header_bytes:
            reason = f"a header may have {limits.header_bytes} bytes"
            self._refuse(refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, reason))
        elif self._received > port.request_bytes:
            reason = f"a request may have {port.request_bytes} bytes as sent"
            self._refuse(refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason))
        self._go_on()

    def _begin(self, phase: str) -> None:
        self._phase = phase
        self._await_phase()

    def _await_phase(self) -> None:
        """Set the deadline of what the client sends next."""
        self._wait(self._port.seconds[self._phase])

    # The parser's callbacks: an error ends the parsing.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._url, self._headers = b"", {}
        if not self._complete:  # all requests that are sent together are read at once
            self._fields = self._small = 0
        if not self._phase:
            self._begin("header")
            self._received = 1  # how many of what has arrived belong to it is unknown

    def on_url(self, url: bytes) -> None:
        """Add a piece of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header field, or ignore a trailer."""
        self._fields += 1
        if self._fields > self._port.limits.header_fields:  # each takes as long as many bytes
            reason = f"requests sent together may have {self._port.limits.header_fields} header fields"
            self._stop(refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, reason))
        if self._phase == "header":
            headers, name = self._headers, name.lower()
            headers[name] = value if name not in headers else headers[name] + b", " + value  # RFC 9110, section 5.3

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        parser, headers, limits, port = self._parser, self._headers, self._port.limits, self._port
        if parser.should_upgrade():  # the parser would skip the body, whose rest could pass for a request
            raise ValueError("no other protocol is spoken here")
        if len(self._complete) + self.is_busy >= limits.requests:
            reason = f"{limits.requests} requests may be sent before the first is answered"
            self._stop(refusal(HTTPStatus.BAD_REQUEST, reason))
        version = parser.get_http_version()
        if fault := fault_of(version, headers):
            self._stop(fault)
        keeps = parser.should_keep_alive() and (b"connection" not in headers or version == "1.1")
        request = self._incoming = Request(parser.get_method(), *target_of(self._url), headers, keeps)
        if headers.get(b"expect", b"100-continue").lower() != b"100-continue":
            request.refusal = refusal(HTTPStatus.EXPECTATION_FAILED, "expect 100-continue or nothing", is_last=True)
        elif int(headers.get(b"content-length", 0)) > port.app.body_limit:
            request.refusal = self._too_large()
        else:
            request.refusal = port.app.admit(request)
        self._begin("body")

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body: of a chunk, or of what has arrived."""
        request: Any = self._incoming
        request.size += len(body)
        if len(body) < _SMALL:
            self._small += 1
            if self._small > self._port.limits.small_pieces:
                reason = f"a body may come in {self._port.limits.small_pieces} pieces below {_SMALL} bytes"
                self._stop(refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason))
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
        if request.counted:
            self._port.crowd.count_body(self, 0, is_coming=False)
        request.arrived = time.monotonic()
        self._complete.append(request)
        self._received = 0
        self._begin("")

    def _stop(self, page: Page) -> None:
        """Stop the parser at what must not go on.

        Raises:
            ValueError: Always; the parser makes an HttpParserError of it.
        """
        self._fault = page
        raise ValueError(page)

    # Bodies

    def drop_body(self) -> None:
        """Give up the body that is coming in, as all bodies together take too much memory."""
        if self._incoming is not None:
            page = self._port.app.overloaded("bodies that are coming in or wait take too much memory")
            self._drop(self._incoming, page)

    def _drop(self, request: Request, page: Page) -> None:
        request.pieces.clear()
        request.refusal = page
        self._count(request, 0)

    def _count(self, request: Request, size: int) -> None:
        more, request.counted = size - request.counted, size
        self._port.crowd.count_body(self, more, is_coming=more > 0)

    def _too_large(self) -> Page:
        reason = f"a body may have {self._port.app.body_limit} bytes"
        return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason, is_last=True)

    # Answers

    def _go_on(self) -> None:
        """Answer complete requests one after the other; read no more while one waits, or the client reads nothing."""
        while self._complete and not (self.is_busy or self._is_stuck or self._is_closed):
            request = self._complete.popleft()
            page = request.refusal or self._port.app.answer(request, self)
            if page is None:
                self._answering, self.is_busy = request, True
            else:
                self._reply(request, page)
        if self._is_closed:
            return
        waits = bool(self._complete or self._is_stuck)
        if self._incoming is not None and not (waits or self.is_busy):
            self._answer_early(self._incoming)
        if waits is not self._is_paused:
            self._is_paused = waits
            (self._transport.pause_reading if waits else self._transport.resume_reading)()

    def _answer_early(self, request: Request) -> None:
        """Answer a client that is still sending: that it may go on, or need not.

        A connection that is closed meanwhile is reset, and its client may never see why. So the rest is read first.
        """
        if request.refusal and not request.is_answered:
            self._write(request, request.refusal)
        elif request.headers.pop(b"expect", None) and not request.refusal:
            self._send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def answered(self, page: Page) -> None:
        """Send the answer to the request for which the application has returned None."""
        request, self._answering, self.is_busy = self._answering, None, False
        if request is not None and not self._is_closed:
            self._await_phase()
            self._reply(request, page)
            self._go_on()

    def _reply(self, request: Request, page: Page) -> None:
        if request.counted:
            self._count(request, 0)
        if not request.is_answered:
            self._write(request, page)
        if not request.keeps:
            self._close()

    def _write(self, request: Request, page: Page) -> None:
        request.is_answered = True
        if request.refusal:
            self._port.app.refused(page.status)
        # Asked once: a signal that comes after this may not close a connection whose client reads that it stays open.
        request.keeps = request.keeps and not (page.is_last or self._port.app.is_closing)
        head = (
            f"{_STATUS_LINES[page.status]}{self._port.headers}content-type: {page.content_type}\r\n{page.headers}"
            f"content-length: {len(page.body)}\r\n{'' if request.keeps else _CLOSE}\r\n"
        )
        self._send(head.encode() + (b"" if request.method == b"HEAD" else page.body))

    def _send(self, data: bytes) -> None:
        """Write data; short data at once, in one TLS record and one system call."""
        if self._rest or self._is_stuck or len(data) > _PIECE:
            self._rest += data
            self._flush()
        else:
            self._transport.write(data)

    def _flush(self) -> None:
        """Write as much as the client reads."""
        while self._rest and not self._is_stuck:
            piece, self._rest = self._rest[:_PIECE], self._rest[_PIECE:]
            self._transport.write(piece)
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

    def _refuse(self, page: Page) -> None:
        """Answer what came before, then say why nothing else is read, and close the connection."""
        self._is_ending = True
        incoming, self._incoming = self._incoming, None
        last = Request(b"", "/", b"", {}, keeps=False, refusal=page)
        last.is_answered = bool(incoming and incoming.is_answered)
        last.counted = incoming.counted if incoming else 0
        self._complete.append(last)
        self._go_on()

    def _close(self) -> None:
        """Close it once everything is written."""
        self.ends()
        if self._rest:
            self._wait(self._port.limits.stalled_seconds)
        else:
            self._transport.close()

    def ends(self) -> None:
        """Answer nothing more, and wait for the client to close its side."""
        self._is_closed = self._is_ending = True
        self._complete.clear()
        self._wait(self._port.limits.closing_seconds)

    def abort(self) -> None:
        """Close it at once."""
        self._transport.abort()

    def _wait(self, seconds: float) -> None:
        self.due = time.monotonic() + seconds

    def expire(self) -> None:
        """Say what did not come in time, or close the connection."""
        if self._is_stuck or self._is_closed:
            self.abort()
        elif self.is_busy or self._complete:
            self._await_phase()
        elif self._received:
            self._refuse(refusal(HTTPStatus.REQUEST_TIMEOUT, f"the {self._phase} did not come in time"))
        else:
            self._close()

    def shutdown(self) -> None:
        """Close it when the server stops, unless a request is on its way."""
        if not (self._phase or self.is_busy or self._complete):
            self._close()
        elif not self._received:  # the client has connected for a request that follows
            self._wait(self._port.limits.closing_seconds)


def target_of(url: bytes) -> tuple[str, bytes]:
    """Return the path of a request's target, unescaped, and its query."""
    return _known_target(url) if len(url) < _LONGEST_PATH else _target(url)


def _target(url: bytes) -> tuple[str, bytes]:
    parsed = parse_url(url)
    path = (parsed.path or b"/").decode("ascii")
    return unquote(path) if len(path) < _LONGEST_PATH else path, parsed.query or b""


_known_target = lru_cache(64)(_target)  # each API server requests two or three
