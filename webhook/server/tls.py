"""A client's connection over TLS."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from webhook.server.connection import Connection
from webhook.server.messages import refusal
from webhook.server.port import Port

_HEADER = 5
"""The bytes of a record's header: a type, two of the version, of which the first is 3, and two of the length."""
_VERSION = 3
_RECORD = 1 << 14
"""The most bytes of data in a record."""
_LONGEST = _RECORD + 256
"""The longest record that OpenSSL reads, without its header (RFC 8446, section 5.2)."""
_RECORDS = 64
"""How many records of a connection are read in a turn of the event loop. One of a byte takes 5 us, and there may be
many connections (tests/attacks/pieces.py)."""
_BARREN, _BARREN_BYTES = 64, 1 << 14
"""The records of a connection that may bring no data, and their bytes: a handshake has about five, a certificate with
its authorities some thousand bytes. OpenSSL takes 40 ms for 64 KB of demands for new keys (tests/attacks/rekeying.py),
and 30 ms for 100 KB of certificates (tests/attacks/chains.py)."""


class Secure(Connection):
    """A connection that decrypts what arrives, and encrypts answers.

    uvloop's own TLS keeps 256 KiB for each connection, and reports it only after its handshake; it also reads whatever
    records come, whether or not there is data in them.
    """

    phase = "handshake"
    _tls: Any = None
    _sealed = b""
    """The received bytes, decrypted once their record is complete, or in a later turn."""
    _is_behind = False
    """Whether some of it waits for a later turn."""
    _barren = _barren_bytes = 0

    def __init__(self, port: Port) -> None:
        super().__init__(port)
        self._certificate: Any = port.certificate
        self._arrived, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._port.half_read.leave(self)

    # What arrives

    def data_received(self, data: bytes) -> None:
        """Read what has arrived; handshakes go on in turns."""
        if self._is_closed:
            return
        data = self._sealed + data
        if self.phase == "handshake":
            self._put_off(data)
        else:
            self._take(data)

    def _put_off(self, data: bytes) -> None:
        """Keep what has arrived until a later turn."""
        self._sealed, self._is_behind = data, True
        self._transport.pause_reading()
        later = self._port.put_off if self.phase == "handshake" else asyncio.get_running_loop().call_soon
        later(self._catch_up)

    def _catch_up(self) -> None:
        """Read what was put off."""
        if self._is_behind and not (self._is_closed or self._is_paused):
            self._is_behind = False
            self._take(self._sealed)
            if not (self._is_behind or self._is_closed or self._is_paused):
                self._transport.resume_reading()

    def _read_on(self) -> None:
        if self._is_behind and not self._is_paused:
            asyncio.get_running_loop().call_soon(self._catch_up)
        else:
            super()._read_on()

    def _take(self, data: bytes) -> None:
        """Read data, and send what OpenSSL has to say."""
        self._sealed = b""
        try:
            self._decrypt(data)
        except ssl.SSLError as error:
            if self.phase == "handshake":
                self._certificate.failed(error)
            self._end()
            self._shut()
        else:
            if self._outgoing.pending and not self._is_closed:
                self._transport.write(self._outgoing.read())

    def _decrypt(self, data: bytes) -> None:
        """Hand records to OpenSSL one by one, as it reads on until there is data; read the data."""
        at, opened, is_last = 0, list[bytes](), False
        for _ in range(_RECORDS):
            if at == len(data):
                break
            begin, at = at, _end_of_record(data, at)
            if at > len(data):
                self._sealed = data[begin:]
                break
            self._arrived.write(data[begin:at])
            try:
                if self.phase == "handshake":
                    self._shake_hands()
                    continue
                opened.append(self._tls.read(at - begin))
            except ssl.SSLWantReadError:
                self._count_barren(at - begin)
                continue
            if not opened[-1]:  # the client has closed its side
                is_last = True
                break
        else:
            self._put_off(data[at:])
        if received := b"".join(opened):
            super().data_received(received)
        if is_last and not self._is_closed:
            self._close()

    def _count_barren(self, size: int) -> None:
        """Note that a record of some bytes has brought no data.

        Raises:
            SSLError: There were too many of these, or they were too long.
        """
        self._barren += 1
        self._barren_bytes += size
        if self._barren > _BARREN:
            raise ssl.SSLError(f"more than {_BARREN} TLS records without data")
        if self._barren_bytes > _BARREN_BYTES:
            raise ssl.SSLError(f"more than {_BARREN_BYTES >> 10} KiB of TLS records without data")
        if self.phase == "handshake":  # a message goes on if OpenSSL has nothing to say (tests/attacks/crowds.py)
            half_read = self._port.half_read
            (half_read.leave if self._outgoing.pending else half_read.enter)(self)

    def _shake_hands(self) -> None:
        """Go on with the handshake.

        Raises:
            SSLError: It has failed, or goes on with the next record.
        """
        if self._tls is None:
            self._tls = self._certificate.value.context.wrap_bio(self._arrived, self._outgoing, server_side=True)
        self._tls.do_handshake()
        self._port.half_read.leave(self)
        self._port.crowd.stir(self)
        self._begin()
        clients = self._certificate.clients
        if clients and (reason := clients.refusal(self._tls.getpeercert(), self._peer)):
            self._fault = refusal(HTTPStatus.FORBIDDEN, reason)  # which the client does not read before its request

    # What is sent

    def _put(self, data: bytes) -> None:
        try:
            self._tls.write(data)
        except ssl.SSLError:  # OpenSSL writes nothing while part of a message of the client's TLS is still to come
            self.abort()
        else:
            self._transport.write(self._outgoing.read())

    def _shut(self) -> None:
        """Send close_notify, and wait until the client closes its side: otherwise it might not see it."""
        tls, self._tls = self._tls, None
        if tls is not None:
            with suppress(ssl.SSLError):  # the client has said nothing yet
                tls.unwrap()
            self._transport.write(self._outgoing.read())
            self._transport.write_eof()
            self._transport.resume_reading()


def _end_of_record(data: bytes, at: int) -> int:
    """Return the offset at which a record ends; for invalid data its end, so that OpenSSL rejects it."""
    end = at + _HEADER
    if end > len(data):
        return end
    length = data[at + 3] << 8 | data[at + 4]
    return end + length if data[at + 1] == _VERSION and length <= _LONGEST else len(data)
