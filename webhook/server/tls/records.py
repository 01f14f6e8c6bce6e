"""TLS records, handed to OpenSSL one at a time."""

from __future__ import annotations

import ssl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


_HEADER: Final = 5
"""The bytes of a record's header; the last two state how many follow."""
_BARREN: Final = 64
"""The records of a connection that may bring no data: a handshake has about five, and API servers send no others."""

_BARREN_BYTES: Final = 1 << 14
"""Their bytes: a certificate with its authorities has some thousand. OpenSSL takes 6 ms for these, 30 for 100 KB."""
_CHANGE, _ALERT, _HANDSHAKE, _DATA = 20, 21, 22, 23
"""The types of records: that announce encryption, end the connection, or are of the handshake, and encrypted ones."""
LAST_WORDS: Final = frozenset({_ALERT, _DATA})
"""The types of records with which a client may end its handshake, and state the reason."""
_FINISHED: Final = 64
"""The longest record that may end the handshake of a resumed session, encrypted; it takes 40 bytes."""
_KEY_EXCHANGE: Final = 16
"""The last message that a client sends in plain text (RFC 5246, section 7.4)."""
_MESSAGE_HEADER: Final = 4
"""The bytes of a message's header: its type, and its length."""


class Records:
    """Finds the ends of a client's records, so that OpenSSL gets them one at a time; counts those that bring no data.

    OpenSSL reads on until it finds data. Of demands for new keys, 64 KB would take it 40 ms.
    """

    def __init__(self) -> None:
        self._header = b""
        self._missing = 0
        self._length = 0
        self._messages = _Messages()
        self._has_changed = self._has_messages = self._is_finished = False
        self._barren = self._barren_bytes = 0
        self.has_sealed = False
        """Whether there were records whose content only OpenSSL can read; of TLS 1.2 they follow the handshake."""

    @property
    def is_complete(self) -> bool:
        """Whether the last record has arrived as a whole."""
        return not self._missing and not self._header

    def take(self, data: memoryview) -> int:
        """Return how many bytes of the data belong to one record: the one that has begun, or the next.

        Raises:
            SSLError: It begins a message that is too long.
        """
        at = 0
        if not self._missing:
            at = _HEADER - len(self._header)
            header = self._header + data[:at]
            if len(header) < _HEADER:
                self._header = header
                return len(data)
            self._header = b""
            self._length = self._missing = header[3] << 8 | header[4]
            self._begin(header[0])
        end = min(at + self._missing, len(data))
        if self._has_messages:
            self._messages.check(bytes(data[at:end]))
        self._missing -= end - at
        return end

    def _begin(self, kind: int) -> None:
        self._has_changed |= kind == _CHANGE
        self.has_sealed |= kind == _DATA
        is_handshake = kind == _HANDSHAKE
        self._is_finished = is_handshake and self._has_changed and self._length <= _FINISHED
        self._has_messages = is_handshake and not self._is_finished

    def count_barren(self) -> None:
        """Note that the last record has brought no data.

        Raises:
            SSLError: There were too many of these, they were too long, or it should have been the last.
        """
        if self._is_finished:
            raise ssl.SSLError("a handshake goes on after its end")
        self._barren += 1
        self._barren_bytes += self._length
        if self._barren > _BARREN:
            raise ssl.SSLError(f"more than {_BARREN} TLS records without data")
        if self._barren_bytes > _BARREN_BYTES:
            raise ssl.SSLError(f"more than {_BARREN_BYTES >> 10} KiB of TLS records without data")


class _Messages:
    """The messages of a handshake, as long as they are in plain text.

    OpenSSL makes room for a whole message, of up to 128 KiB, once it has seen the header.
    """

    def __init__(self) -> None:
        self._header = b""
        self._missing = 0
        self._are_plain = True

    def check(self, piece: bytes) -> None:
        """Check what follows of the messages.

        Args:
            piece: The content of records, or a part of it.

        Raises:
            SSLError: A message is too long ever to be read.
        """
        at = 0
        while self._are_plain and at < len(piece):
            skipped = min(self._missing, len(piece) - at)
            self._missing -= skipped
            at += skipped
            begun = len(self._header)
            self._header += piece[at : at + _MESSAGE_HEADER - begun]
            at += len(self._header) - begun
            if len(self._header) == _MESSAGE_HEADER:
                self._missing = int.from_bytes(self._header[1:])
                self._are_plain = self._header[0] != _KEY_EXCHANGE
                self._header = b""
            if self._missing > _BARREN_BYTES:
                raise ssl.SSLError(f"a message of more than {_BARREN_BYTES >> 10} KiB")
