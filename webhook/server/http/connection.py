"""HTTP connections with deadlines and limits."""

from __future__ import annotations

import logging
import time
from collections import deque
from enum import Enum, auto
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from webhook.server.bounded import BoundedLog
from webhook.server.http.gate import address_of
from webhook.server.http.outgoing import Outgoing

if TYPE_CHECKING:
    import asyncio

    from uvicorn import Config
    from uvicorn.server import ServerState

    from webhook.server.http.crowd import Crowd
    from webhook.server.http.limits import Limits
    from webhook.server.http.pages import Pages
    from webhook.server.tls.clients import Clients

_malformed = BoundedLog(logging.getLogger(__name__))
_errors = logging.getLogger(f"{__name__}.uvicorn")
_errors.setLevel(logging.ERROR)  # it would warn of each bad request, without end and without saying whose it was
_NOWHERE: Any = deque(maxlen=0)
_SMALL = 512
"""Bytes below which a chunk counts as small."""


class _Stage(Enum):
    IDLE = auto()
    HEADER = auto()
    BODY = auto()


_IDLE, _HEADER, _BODY = _Stage  # an attribute of an Enum takes its time


class Connection(HttpToolsProtocol):
    """Closes a connection whose client is too slow, sends or leaves unread too much, or may not ask.

    Args:
        config: uvicorn's.
        server_state: uvicorn's.
        limits: What it may take.
        crowd: All connections of the port.
        request_bytes: The longest request, as sent: its header, body, and the framing of its chunks.
        clients: Who may ask; None lets everybody ask.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        limits: Limits,
        crowd: Crowd,
        request_bytes: int,
        *,
        clients: Clients | None = None,
    ) -> None:
        super().__init__(config=config, server_state=server_state, app_state={})
        self.logger = _errors
        self._limits = limits
        self._crowd = crowd
        self.address = ""
        self._request_bytes = request_bytes
        self._clients = clients
        self._refusal = ""
        self._stage = _HEADER
        self._requests = 0
        self._received = 0
        self._fields = 0
        self._pieces: list[bytes] = []
        self._small = 0
        self._excess: tuple[int, str] | None = None
        self._watched: tuple[int, _Stage] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        outgoing = self.app_state["outgoing"] = Outgoing(transport)
        super().connection_made(cast("asyncio.Transport", outgoing))
        self._outgoing = outgoing
        self.address = address_of(transport)
        if (gate := transport.get_extra_info("uvloop.sslproto")) is not None:
            self._crowd.leave(gate)  # whose place this takes
        self._crowd.enter(self)
        if transport.is_closing():
            return
        if self._clients is not None:
            self._refusal = self._clients.refusal(transport.get_extra_info("peercert"), self.client)
        self.app_state["client"] = self._name(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        for timer in (self._deadline, self._stalled):
            if timer is not None:
                timer.cancel()
        self._crowd.leave(self)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # of one that ends with an error uvicorn would keep everything till then

    def data_received(self, data: bytes) -> None:
        """Take some of a request in."""
        self._crowd.stir(self)
        if self._refusal:  # answered once a request comes: before that, the client does not read
            self._refuse(403, self._refusal)
            return
        if self._stage is _IDLE:  # even an empty line, after which uvicorn would wait for ever
            self._stage = _HEADER
        before = self._requests
        super().data_received(data)
        if self._pieces:
            self._pass_on()
        if self.transport.is_closing():
            return
        if self._requests == before:
            self._received += len(data)
        else:  # how much of it belongs to the next request is unknown
            self._received = 0 if self._stage is _IDLE else 1
        self._watch()
        if self._stage is _HEADER and self._received > self._limits.header_bytes:
            self._refuse(431, f"a header may have {self._limits.header_bytes} bytes")
        elif self._received > self._request_bytes:
            self._refuse(413, f"a request may have {self._request_bytes} bytes as sent")

    def on_message_begin(self) -> None:
        """Begin to wait for the header."""
        super().on_message_begin()
        self._stage = _HEADER
        self._fields = self._small = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the header or the trailers."""
        self._fields += 1
        if self._fields > self._limits.header_fields:  # each takes as long as many bytes
            self._excess = 431, f"a request may have {self._limits.header_fields} header fields"
            raise ValueError(self._excess)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to wait for the body."""
        if self.parser.should_upgrade():
            # The parser would skip the body, and what is left of it could pass for a request.
            message = "no other protocol is spoken here"
            raise ValueError(message)
        if len(self.pipeline) >= self._limits.requests:  # which uvicorn keeps, however many come
            message = "too many requests are sent ahead"
            raise ValueError(message)
        super().on_headers_complete()
        self.headers = _NOWHERE  # trailers, of which there could be any number
        self._stage = _BODY

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body: a chunk, or what of it came in at once."""
        if len(body) < _SMALL:
            self._small += 1
            if self._small > self._limits.small_chunks:  # each takes as long as many bytes
                self._excess = 413, f"a body may come in {self._limits.small_chunks} chunks below {_SMALL} bytes"
                raise ValueError(self._excess)
        self._pieces.append(body)

    def _pass_on(self) -> None:
        """Hand what of the body came in over at once: uvicorn would copy all of it for each chunk."""
        pieces, self._pieces = self._pieces, []
        super().on_body(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def on_message_complete(self) -> None:
        """Note when the request was there, from when on it waits for its answer."""
        if self._pieces:
            self._pass_on()
        self.scope["state"]["arrived"] = time.monotonic()
        super().on_message_complete()
        self._stage = _IDLE
        self._requests += 1

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed HTTP request, or one of too many parts."""
        if self._excess is not None:
            self._refuse(*self._excess)
            return
        _malformed.warning("refused a request of %s, which is not HTTP/1.1 as it should be", self.client)
        self._tell(400)
        super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Wait for the client to read, but not for ever."""
        super().pause_writing()
        self._crowd.leaves_unread(self, self._outgoing.written)
        self._stalled = self.loop.call_later(self._limits.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, since the client has read."""
        super().resume_writing()
        self._crowd.has_read(self)
        if self._stalled is not None:
            self._stalled.cancel()

    def shutdown(self) -> None:
        """Close the connection when the server stops, unless a request is on its way, whose answer will close it."""
        if self._received:
            return
        if self._requests:
            super().shutdown()
        else:  # a new connection was made for a request that is about to come
            self.loop.call_later(self._limits.closing_seconds, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if not (self._received or self._requests):
            self.transport.close()

    def _name(self, transport: asyncio.Transport) -> str:
        """Return what tells clients apart: the name that a certificate vouches for, or the address."""
        certificate = transport.get_extra_info("peercert") if self._clients is not None else None
        return f"certificate {certificate['subject']}" if certificate else self.address

    @property
    def is_busy(self) -> bool:
        """Whether a request that has come in whole is being answered."""
        return self._stage is _IDLE and self.cycle is not None and not self.cycle.response_complete

    def abort(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _watch(self) -> None:
        """Set the deadline of what is waited for now; a request that came in one piece needs none."""
        watched = self._requests, self._stage
        if watched == self._watched:
            return
        self._watched = watched
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._stage is not _IDLE:
            header = self._stage is _HEADER
            seconds = self._limits.header_seconds if header else self._limits.body_seconds
            self._deadline = self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        if self._received:
            self._refuse(408, f"the {self._stage.name.lower()} did not come in time")
        else:
            self.transport.close()

    def _refuse(self, status: int, reason: str) -> None:
        """Close the connection, with an answer unless there is one under way."""
        self._tell(status)
        if self.cycle is None or self.cycle.response_complete or not (self.cycle.response_started or self.pipeline):
            body = f"{HTTPStatus(status).phrase}: {reason}\n".encode()
            head = b"content-type: text/plain; charset=utf-8\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head % len(body) + body)
        self.transport.close()

    def _tell(self, status: int) -> None:
        cast("Pages", self.config.app).refused(status)
