"""TLS between a socket and a connection."""

from __future__ import annotations

import asyncio
import ssl
import time
from contextlib import suppress
from typing import Any

from webhook.server.certificate import Certificate
from webhook.server.connection import Connection
from webhook.server.port import Port, address_of

_HEADER = 5
"""The bytes of a record's header; the last two state how many follow."""
_RECORD = 1 << 14
"""The most bytes of data in a record."""
_RECORDS = 64
"""How many records of a connection are read in a turn of the event loop. One of a byte takes 5 us, and there may be
many connections (the attack ``pieces-records``)."""
_BARREN, _BARREN_BYTES = 64, 1 << 14
"""The records of a connection that may bring no data, and their bytes: a handshake has about five, a certificate with
its authorities some thousand bytes. OpenSSL takes 40 ms for 64 KB of demands for new keys (``rekeying``), and 30 for
100 KB of certificates (``chains``)."""


class Tls(asyncio.BufferedProtocol):
    """Speaks TLS for a connection, as its transport; until the handshake is over, it stands for it in the crowd.

    uvloop's own TLS keeps 256 KiB for each connection, and reports it only after its handshake; it also reads whatever
    records come, whether or not there is data in them.
    """

    is_busy = False
    unread = counted = 0

    def __init__(self, port: Port, certificate: Certificate, above: Connection) -> None:
        self._port, self._certificate, self._above = port, certificate, above
        self._arrived, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: Any = None
        self._is_ready = False
        """Whether the handshake is over."""
        self._is_closing = False
        self._is_paused = False
        """Whether the connection does not want to read."""
        self._rest = b""
        """What has arrived, and is read in a later turn."""
        self._header = b""
        """Of a record, as far as it has arrived."""
        self._length = self._missing = 0
        """The bytes of the present record, and how many of them have not arrived."""
        self._barren = self._barren_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Wait for the handshake."""
        self._raw = transport
        self.address = address_of(transport)
        self.due = time.monotonic() + self._port.limits.handshake_seconds
        self._port.crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._is_closing = True
        self._leave()
        if self._is_ready:
            self._above.connection_lost(exc)
        del self._above, self._raw  # which may know this object

    def expire(self) -> None:
        """Close the connection: its handshake takes too long, or its client does not close its side."""
        self.abort()

    def drop_body(self) -> None:
        """Do nothing, as there is none."""

    def shutdown(self) -> None:
        """Do nothing: the handshake goes on, as long as it may."""

    # What arrives

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's
        """Return the buffer for what arrives."""
        return self._port.sealed if self._is_ready else self._port.begun

    def buffer_updated(self, nbytes: int) -> None:
        """Read what has arrived; handshakes go on in turns."""
        if self._is_closing:
            return
        data = self._port.sealed[:nbytes]
        if self._is_ready:
            self._take(data)
        else:
            self._put_off(data)

    def go_on(self) -> None:
        """Read what was put off."""
        if self._is_closing or self._is_paused or not self._rest:
            return
        rest, self._rest = self._rest, b""
        if self._tls is None:
            self._tls = self._certificate.context.wrap_bio(self._arrived, self._outgoing, server_side=True)
        self._take(memoryview(rest))
        if not (self._rest or self._is_closing or self._is_paused):
            self._raw.resume_reading()

    def _put_off(self, data: memoryview) -> None:
        """Keep what has arrived until a later turn."""
        self._rest = bytes(data)
        self._raw.pause_reading()
        if self._is_ready:
            asyncio.get_running_loop().call_soon(self.go_on)
        else:
            self._port.put_off(self.go_on)

    def _take(self, data: memoryview) -> None:
        """Read data, and send what OpenSSL has to say."""
        try:
            self._read(data)
        except ssl.SSLError as error:
            if not self._is_ready:
                self._certificate.failed(error)
            self._end()
        else:
            if self._outgoing.pending and not self._is_closing:
                self._raw.write(self._outgoing.read())

    def _read(self, data: memoryview) -> None:
        """Hand records to OpenSSL one by one, as it reads on until there is data; hand the data to the connection."""
        room, held, got, left = self._port.room, 0, -1, _RECORDS
        while data and got and left and not self._is_closing:
            record = self._next_record(data)
            self._arrived.write(record)
            data, left = data[len(record) :], left - 1
            try:
                if not self._is_ready:
                    self._shake_hands()
                    continue
                got = self._tls.read(_RECORD, room[held:])
            except ssl.SSLWantReadError:
                if not (self._missing or self._header):
                    self._count_barren()
                continue
            held += got
            if len(room) - held < _RECORD:
                self._above.buffer_updated(held)
                held = 0
        if held:
            self._above.buffer_updated(held)
        if not got:  # the client has closed its side
            self.close()
        elif data and not self._is_closing:
            self._put_off(data)

    def _next_record(self, data: memoryview) -> memoryview:
        """Return what belongs to one record: to the one that has begun, or to the next."""
        at = 0
        if not self._missing:
            at = _HEADER - len(self._header)
            self._header += data[:at]
            if len(self._header) < _HEADER:
                return data
            self._length = self._missing = int.from_bytes(self._header[3:])
            self._header = b""
        record = data[: at + self._missing]
        self._missing -= len(record) - at
        return record

    def _count_barren(self) -> None:
        """Note that a whole record has brought no data.

        Raises:
            SSLError: There were too many of these, or they were too long.
        """
        self._barren += 1
        self._barren_bytes += self._length
        if self._barren > _BARREN:
            raise ssl.SSLError(f"more than {_BARREN} TLS records without data")
        if self._barren_bytes > _BARREN_BYTES:
            raise ssl.SSLError(f"more than {_BARREN_BYTES >> 10} KiB of TLS records without data")
        if not (self._is_ready or self._outgoing.pending):  # a message goes on in the next record (``crowds-stopped``)
            self._port.half_read.enter(self)

    def _shake_hands(self) -> None:
        self._tls.do_handshake()
        self._leave()
        self._is_ready = True
        self._above.connection_made(self)

    def _leave(self) -> None:
        self._port.crowd.leave(self)
        self._port.half_read.leave(self)

    # The transport

    def write(self, data: bytes) -> None:
        """Encrypt data and send it, unless the connection is closing."""
        if self._is_closing:
            return
        try:
            sent = self._tls.write(data)
            while sent < len(data):  # a record is full
                sent += self._tls.write(memoryview(data)[sent:])
        except ssl.SSLError:  # OpenSSL writes nothing while part of a message of the client's TLS is still to come
            self.abort()
            return
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
        if self._is_ready:
            self._above.ends()
        else:
            self.due = time.monotonic() + self._port.limits.closing_seconds

    def abort(self) -> None:
        """Close the connection at once."""
        self._is_closing = True
        self._raw.abort()

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
            asyncio.get_running_loop().call_soon(self.go_on)
        else:
            self._raw.resume_reading()

    def set_write_buffer_limits(self, high: int) -> None:
        """Set the bytes that may wait before writing pauses."""
        self._raw.set_write_buffer_limits(high)

    def pause_writing(self) -> None:
        """Pause the connection."""
        if self._is_ready:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        """Resume the connection."""
        if self._is_ready:
            self._above.resume_writing()
