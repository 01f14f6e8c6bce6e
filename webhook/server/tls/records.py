"""TLS records, handed to OpenSSL one at a time."""

from __future__ import annotations

import ssl
from typing import Final

_HEADER: Final = 5
"""The bytes of a record's header; the last two state how many follow."""
_BARREN: Final = 64
"""The records of a connection that may bring no data: a handshake has about five, and API servers send no others."""

_BARREN_BYTES: Final = 1 << 14
"""Their bytes: a certificate with its authorities has some thousand. OpenSSL takes 6 ms for these, 30 for 100 KB."""


class Records:
    """Hands a client's records to OpenSSL one at a time, and counts those that bring no data.

    OpenSSL reads on until it finds data. Of demands for new keys, 64 KB would take it 40 ms.

    Args:
        arrived: What the client has sent.
        taken: What OpenSSL reads.
    """

    def __init__(self, arrived: ssl.MemoryBIO, taken: ssl.MemoryBIO) -> None:
        self._arrived = arrived
        self._taken = taken
        self._header = b""
        self._missing = 0
        self._length = 0
        self._barren = self._barren_bytes = 0

    def take(self) -> bool:
        """Hand over the next record, or as much of it as has arrived; return whether it is complete."""
        if not self._missing:
            self._header += self._arrived.read(_HEADER - len(self._header))
            if len(self._header) < _HEADER:
                return False
            self._length = self._missing = int.from_bytes(self._header[3:])
            self._taken.write(self._header)
            self._header = b""
        piece = self._arrived.read(self._missing)
        self._taken.write(piece)
        self._missing -= len(piece)
        return not self._missing

    def take_after_barren(self) -> bool:
        """Hand over the next record after one without data.

        Raises:
            SSLError: There were too many of these, or they were too long.
        """
        self._barren += 1
        self._barren_bytes += self._length
        if self._barren > _BARREN:
            raise ssl.SSLError(f"more than {_BARREN} TLS records without data")
        if self._barren_bytes > _BARREN_BYTES:
            raise ssl.SSLError(f"more than {_BARREN_BYTES >> 10} KiB of TLS records without data")
        return self.take()
