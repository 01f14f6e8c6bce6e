"""Clients whose certificates come with very many authorities, at a port that demands certificates (``--client-ca``)."""

import socket
import ssl
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from tests.attacks import CLIENT_CA, Attack
from tests.attacks.target import Target, trusting
from tests.identities import authority, identity
from webhook.certificates import certs

LENGTHS: Final = (0, 20, 200)
"""How many authorities: none, almost as many as are read, and about as many as OpenSSL takes."""
TOGETHER: Final = 30


def chain(path: Path, length: int) -> Path:
    """Write a certificate that a made-up authority has signed, with many certificates of that authority."""
    signer = authority()
    identity(path, signer)
    with path.open("ab") as file:
        for _ in range(length):
            file.write(certs.pem(_again(signer)))
    return path


def _again(signer: certs.Certified) -> x509.Certificate:
    of = signer.certificate
    builder = x509.CertificateBuilder(of.issuer, of.subject, of.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(of.not_valid_before_utc).not_valid_after(of.not_valid_after_utc)
    return builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(
        signer.key, SHA256()
    )


def last_flight(plain: socket.socket, settings: ssl.SSLContext, host: str = "127.0.0.1") -> bytes:
    """Begin a handshake over a connection; return what ends it."""
    received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = settings.wrap_bio(received, to_send, server_hostname=host)
    while True:
        try:
            handshake.do_handshake()
        except ssl.SSLWantReadError:
            plain.sendall(to_send.read())
            if not received.write(plain.recv(1 << 16)):
                raise ConnectionAbortedError from None
        else:
            return to_send.read()


def _chains(length: int, target: Target) -> None:
    """End many handshakes at once, again and again."""
    settings = trusting(target.ca)
    with tempfile.TemporaryDirectory() as directory:
        settings.load_cert_chain(chain(Path(directory, "bad.pem"), length))

    def begin() -> tuple[socket.socket, Callable[[], object]]:
        connection = target.plain()
        return connection, partial(_end, connection, last_flight(connection, settings))

    target.bursts(TOGETHER, begin, patience=5)


def _end(connection: socket.socket, flight: bytes) -> None:
    connection.sendall(flight)
    connection.recv(1)


ATTACK = {
    str(length): Attack(
        f"client certificates with {length} unknown authorities",
        partial(_chains, length),
        options=("--client-ca", CLIENT_CA),
        anew=True,
    )
    for length in LENGTHS
}
