"""Clients that demand new keys again and again: it takes a server longer than anything else of as many bytes."""

import hmac
import socket
import ssl
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.attacks import Attack
from tests.attacks.target import Target, trusting

DEMANDS: Final = 2400
"""How many fill the server's buffer of a connection."""
_CIPHER: Final = "TLS_AES_256_GCM_SHA384"
_DATA, HANDSHAKE = b"\x17", b"\x16"
_KEY_UPDATE: Final = b"\x18\0\0\1\1"


class Keys:
    """Encrypts by the keys that a client has after its handshake (RFC 8446, section 7).

    Args:
        log: The keys of one connection, as ``SSLContext.keylog_filename`` has them.
    """

    def __init__(self, log: str) -> None:
        (line,) = (line for line in log.splitlines() if line.startswith("CLIENT_TRAFFIC_SECRET_0 "))
        self._begin(bytes.fromhex(line.split()[2]))

    def demand(self) -> bytes:
        """Demand new keys; what follows is encrypted by them."""
        written = self.record(_KEY_UPDATE, HANDSHAKE)
        self._begin(self._expand(b"traffic upd", len(self._secret)))
        return written

    def record(self, content: bytes, kind: bytes = _DATA) -> bytes:
        """Encrypt a record."""
        nonce = (self._start ^ self._records).to_bytes(12)
        header = b"\x17\x03\x03" + (len(content) + 17).to_bytes(2)
        self._records += 1
        return header + self._key.encrypt(nonce, content + kind, header)

    def _begin(self, secret: bytes) -> None:
        self._secret, self._records = secret, 0
        self._key, self._start = AESGCM(self._expand(b"key", 32)), int.from_bytes(self._expand(b"iv", 12))

    def _expand(self, label: bytes, length: int) -> bytes:
        label = b"tls13 " + label
        return hmac.digest(self._secret, b"\0%c%c%b\0\1" % (length, len(label), label), "sha384")[:length]


def keyed(context: ssl.SSLContext, plain: socket.socket, host: str = "127.0.0.1") -> tuple[ssl.SSLSocket, Keys]:
    """Shake hands; return the connection and its keys."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "keys"
        context.keylog_filename = str(log)
        connection = context.wrap_socket(plain, server_hostname=host)
        assert connection.cipher()[0] == _CIPHER  # type: ignore[index]
        return connection, Keys(log.read_text(encoding="ascii"))


def send_sealed(connection: ssl.SSLSocket, data: bytes) -> None:
    """Send what is encrypted already."""
    socket.socket.sendall(connection, data)


def sealed(connections: int, content: Callable[[Keys], bytes]) -> Callable[[Target], None]:
    """Send what is encrypted over some connections at once, again and again."""

    def run(target: Target) -> None:
        def begin() -> tuple[socket.socket, Callable[[], object]]:
            connection, keys = keyed(trusting(target.ca), target.plain())
            return connection, partial(send_sealed, connection, content(keys))

        target.bursts(connections, begin)

    return run


def _demands(keys: Keys) -> bytes:
    return b"".join(keys.demand() for _ in range(DEMANDS))


ATTACK = {
    str(count): Attack(f"new keys demanded {DEMANDS:,} times at once, on {count} connections", sealed(count, _demands))
    for count in (10, 100)
}
