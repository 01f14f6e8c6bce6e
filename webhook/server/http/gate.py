"""TLS between a socket and a connection."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import cast

from webhook.server.http.acceptor import is_open
from webhook.server.http.intake import BYTE_SECONDS
from webhook.server.tls.records import LAST_WORDS, Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from webhook.server.http.intake import Reader
    from webhook.server.http.port import Port
    from webhook.server.tls.certificate import Certificate

_RECORD: Final = 1 << 14
"""The most bytes of data in a record."""
_RECORD_SECONDS: Final = 4e-6
"""How long a record takes by itself."""
_TURN: Final = 32 * _RECORD_SECONDS
"""What a connection's records may take beyond their data in a turn of the event loop: about 32 of a byte each. There
may be thousands."""


class Gate(asyncio.BufferedProtocol):
    """Speaks TLS for a connection, as its transport, and represents it in the crowd until the handshake is over.

    The event loop's own TLS keeps what it reads in three more buffers for each connection, which the processor's caches
    cannot hold. It also reports a connection only after its handshake, so that clients that never finish it could not
    be disconnected.

    Args:
        port: The state that it shares with other connections.
        certificate: The TLS settings.
        above: The connection, which begins after the handshake.
    """

    is_busy = False

    def __init__(self, port: Port, certificate: Certificate, above: asyncio.BufferedProtocol) -> None:
        self.address = ""
        self._port = port
        self._certificate = certificate
        self._above = above
        self._records = Records()
        self._arrived, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: Any = certificate.context.wrap_bio(self._arrived, self._outgoing, server_side=True)
        self._is_ready = False
        """Whether the handshake is over."""
        self._received = 0
        """The bytes of the handshake that have arrived."""
        self._is_closing = False
        self._rest = b""
        """What has arrived, and is read in a later turn."""
        self._is_paused = self._is_due = False
        """Whether the connection does not want to read, and whether the rest is about to be read."""

    def connection_made(self, transport: Any) -> None:
        """Begin the handshake."""
        self._raw = transport
        self.address = address_of(transport)
        self._deadline = asyncio.get_running_loop().call_later(self._port.limits.handshake_seconds, self.abort)
        self._port.crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._is_closing = True
        self._deadline.cancel()
        if self._is_ready:
            self._above.connection_lost(exc)
        else:
            self._leave()
        del self._above, self._raw  # which may know this gate

    def abort(self) -> None:
        """Close the connection at once."""
        self._is_closing = True
        self._raw.abort()

    # What arrives

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's
        """Return the buffer for what arrives."""
        return self._port.sealed if self._is_ready else self._port.begun

    def buffer_updated(self, nbytes: int) -> None:
        """Read what has arrived, unless the connection is closing."""
        if self._is_closing:
            return
        data = self._port.sealed[:nbytes]
        if self._is_ready:
            self._take(data)
        else:
            self._put_off(bytes(data))

    def _take(self, data: memoryview) -> None:
        """Read data, and send what OpenSSL has to say."""
        try:
            self._read(data)
        except ssl.SSLError as error:
            if not self._is_ready:
                self._certificate.failed(error)
            self._end()
        else:
            if self._outgoing.pending:
                self._raw.write(self._outgoing.read())

    def _read(self, data: memoryview) -> None:
        """Hand records to OpenSSL one by one, and what they hold to the connection; leave the rest for a later turn.

        Raises:
            SSLError: The client breaks a rule.
        """
        room = self._port.room
        got, held, extra = -1, 0, 0.0
        while data and got and extra < _TURN and not self._is_closing:
            size = self._records.take(data)
            self._arrived.write(data[:size])
            data = data[size:]
            extra += _RECORD_SECONDS
            try:
                if not self._is_ready:
                    self._shake()
                    continue
                got = self._tls.read(_RECORD, room[held:])
            except ssl.SSLWantReadError:
                if self._records.is_complete:
                    self._records.count_barren()
                    if self._records.has_sealed and not self._is_ready:
                        self._port.finishing.enter(self)
                continue
            held += got
            extra -= min(got * BYTE_SECONDS, _RECORD_SECONDS)
            if len(room) - held < _RECORD:
                self._above.buffer_updated(held)
                held = 0
        if held:
            self._above.buffer_updated(held)
        if not got:  # the client has closed its side
            self.close()
        elif data and not self._is_closing:
            self._put_off(bytes(data), extra)

    def _put_off(self, rest: bytes, extra: float = 0.0) -> None:
        """Keep what has arrived until a later turn, which other handshakes or connections that send much share.

        Args:
            rest: What has arrived.
            extra: What the records that were read have taken beyond their data, in seconds.
        """
        self._rest = rest
        self._raw.pause_reading()
        if not self._is_ready:
            self._received += len(rest)
            self._port.handshakes.put(self, self._received)
            return
        self._port.intake.took(cast("Reader", self._above), extra)
        if not self._is_paused:
            self._go_on_soon()

    def _go_on_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self.go_on)

    def go_on(self) -> None:
        """Read the rest, and what comes after it; of a client that has closed the connection, no more of a handshake.

        The last record of such a client may say why: that it does not trust the certificate.
        """
        self._is_due = False
        if self._is_paused or self._is_closing:
            return
        goes_on = self._is_ready or self._rest[0] in LAST_WORDS
        if not goes_on and not is_open(self._raw.get_extra_info("socket")):
            self.abort()
            return
        rest, self._rest = self._rest, b""
        self._take(memoryview(rest))
        if not (self._rest or self._is_paused or self._is_closing):
            self._raw.resume_reading()

    def _shake(self) -> None:
        self._tls.do_handshake()
        self._deadline.cancel()
        self._is_ready = True
        self._leave()
        self._above.connection_made(cast("asyncio.Transport", self))

    def _leave(self) -> None:
        self._port.crowd.leave(self)
        self._port.finishing.leave(self)

    def eof_received(self) -> None:
        """Close the connection, as the client has."""

    # The transport

    def write(self, data: bytes | memoryview) -> None:
        """Encrypt data and send it, unless the connection is closing."""
        if self._is_closing:
            return
        sent = self._tls.write(data)
        while sent < len(data):  # a record is full
            sent += self._tls.write(memoryview(data)[sent:])
        self._raw.write(self._outgoing.read())

    def close(self) -> None:
        """Close the connection once everything is written, and the client has closed its side."""
        if not self._is_closing:
            with suppress(ssl.SSLError):  # the client has said nothing yet
                self._tls.unwrap()
            self._end()

    def _end(self) -> None:
        """Send what OpenSSL has to say last, and wait until the client closes its side, else it might not see that."""
        self._is_closing = True
        self._rest = b""
        self._raw.write(self._outgoing.read())
        self._raw.write_eof()
        self._raw.resume_reading()
        self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(self._port.limits.closing_seconds, self._raw.abort)

    def is_closing(self) -> bool:
        """Whether the connection is closing."""
        return self._is_closing or bool(self._raw.is_closing())

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the client's certificate, or what the socket knows."""
        return self._tls.getpeercert() if name == "peercert" else self._raw.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Stop reading."""
        self._is_paused = True
        self._raw.pause_reading()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._is_paused = False
        if self._rest:
            self._go_on_soon()
        else:
            self._raw.resume_reading()

    def set_write_buffer_limits(self, high: int) -> None:
        """Set the bytes that may wait before writing pauses."""
        self._raw.set_write_buffer_limits(high)

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait."""
        return int(self._raw.get_write_buffer_size())

    def pause_writing(self) -> None:
        """Pause the connection."""
        if self._is_ready:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        """Resume the connection."""
        if self._is_ready:
            self._above.resume_writing()


def address_of(transport: asyncio.BaseTransport) -> str:
    """Return the address at the other end."""
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if peer else ""
