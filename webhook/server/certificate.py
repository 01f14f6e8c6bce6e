"""TLS settings: the serving certificate and the clients that may connect, both followed in their files."""

from __future__ import annotations

import binascii
import logging
import os
import re
import ssl
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from webhook.logs import BoundedLog, shortened
from webhook.regular import read_up_to
from webhook.reloading import Reloaded, UnusableError

_PAIR_ADVICE = "`draguard certs` makes a certificate and a key"
_ADVICE = "give --client-ca the certificates, in PEM, of the authorities that sign those of clients"
_LARGEST_FILE = 1 << 20
_NAMES = frozenset({"DNS", "URI", "email"})
_LONGEST_TEXT = 300
_FIRST = re.compile(rb"-----BEGIN CERTIFICATE-----\s(.+?)-----END CERTIFICATE-----", re.DOTALL)
_VALIDITY = re.compile(
    rb"\x30[\x1e\x20\x22](?:\x17\x0d.{13}|\x18\x0f.{15})(?:\x17\x0d(\d{12}Z)|\x18\x0f(\d{14}Z))", re.DOTALL
)
"""When a certificate begins and ends (RFC 5280, section 4.1): two times, with two or four digits for the year."""
_log = logging.getLogger(__name__)


class ServerError(UnusableError):
    """The webhook cannot be served; the message names the error, its place and how to fix it."""


class Clients:
    """The clients that may connect, by their certificates, which TLS has verified.

    Args:
        authorities: A file of certificates in PEM; one of them must have signed a client's, for authenticating clients.
        names: The accepted names, spelled exactly, as common name or alternative name (DNS, URI, email); without names,
            any name is accepted.
    """

    def __init__(self, authorities: Path, names: Iterable[str] = ()) -> None:
        self.authorities = authorities
        self._names = frozenset(names)
        self._log = BoundedLog(_log)

    def require(self, context: ssl.SSLContext) -> None:
        """Require a client certificate in handshakes with the settings of a server, which trust no authority yet.

        Raises:
            ServerError: The file cannot be read, has no certificate, or has content that would be ignored.
        """
        try:
            with _as_file(_content(self.authorities, _ADVICE)) as file:
                context.load_verify_locations(file)
        except ssl.SSLError as error:
            raise ServerError(f"{self.authorities} holds no certificates in PEM ({error}): {_ADVICE}") from error
        if context.cert_store_stats()["crl"]:
            raise ServerError(
                f"{self.authorities} holds a revocation list, which would be ignored: {_ADVICE}, and nothing else"
            )
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # an intermediate authority may vouch, too, as in Go

    def refusal(self, certificate: Mapping[str, Any], address: object) -> str:
        """Return why a client may not connect; empty if it may.

        Args:
            certificate: Its certificate as ``ssl.SSLSocket.getpeercert`` returns it.
            address: Its address, for the log.
        """
        names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
        names += [value for kind, value in certificate.get("subjectAltName", ()) if kind in _NAMES]
        if not self._names or not self._names.isdisjoint(names):
            return ""
        has = shortened(", ".join(map(repr, dict.fromkeys(names))) or "no name", _LONGEST_TEXT)
        self._log.warning("refused the client at %s: its certificate has %s, no --client-name", address, has)
        return f"the client certificate has {has}; the webhook's --client-name lists none of that"


class _Settings(NamedTuple):
    """Settings of TLS, and the expiry of the serving certificate."""

    context: ssl.SSLContext
    not_after: datetime | None


class Certificate(Reloaded[_Settings]):
    """The TLS settings to serve with, which can be renewed while connections are open.

    Each renewal makes new settings for new connections, as the trust of old ones can only grow.

    Args:
        certificate: The serving certificate in PEM, followed by intermediate ones if there are any; or its file.
        key: Its private key in PEM, not encrypted; or its file.
        clients: The clients that may connect; None for all.

    Raises:
        ServerError: Certificate and key cannot be used or do not match, or the clients' authorities cannot be used.
    """

    def __init__(self, certificate: bytes | Path, key: bytes | Path, *, clients: Clients | None = None) -> None:
        self.clients = clients
        self.failed_handshakes = 0
        """The number of failed TLS handshakes, including those of clients without a trusted certificate."""
        self._pair = certificate, key
        self._bounded_log = BoundedLog(_log)
        followed = certificate, key, clients.authorities if clients else b""
        files = [str(each) for each in followed if isinstance(each, Path)]
        super().__init__("files for TLS", lambda: files, self._settings)

    def _settings(self) -> _Settings:
        """Make the TLS settings: TLS 1.2 or later, forward secrecy, HTTP/1.1 as API servers use it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of TLS 1.2; those of 1.3 are all sound
        context.set_ecdh_curve("prime256v1")  # A key by OpenSSL's slowest group takes 0.1 s; see SECURITY.md.
        context.set_alpn_protocols(["http/1.1"])
        context.num_tickets = 0  # API servers resume no sessions: client-go keeps none
        certificate, key = (_content(each, _PAIR_ADVICE) for each in self._pair)
        self._load(context, certificate, key)
        if self.clients:
            self.clients.require(context)
        return _Settings(context, not_after(certificate))

    def _load(self, context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
        pair = zip(self._pair, ("the certificate", "its key"), strict=True)
        name, key_name = (each if isinstance(each, Path) else known for each, known in pair)

        def no_password() -> str:
            raise ServerError(f"{key_name} is encrypted: decrypt it first: the server cannot ask for the password")

        try:
            with _as_file(certificate) as file, _as_file(key) as key_file:
                context.load_cert_chain(file, key_file, password=no_password)
        except ssl.SSLError as error:
            fault = f"{name} and {key_name} are not a certificate and a key in PEM ({error})"
            if error.reason == "KEY_VALUES_MISMATCH":
                fault = f"{key_name} is not the key of {name}"
            raise ServerError(f"{fault}: give a pair such as `draguard certs` makes") from error

    def failed(self, error: ssl.SSLError) -> None:
        """Count and report a failed handshake."""
        self.failed_handshakes += 1
        reason = str(error)
        if getattr(error, "reason", "") == "PEER_DID_NOT_RETURN_A_CERTIFICATE":  # only OpenSSL gives reasons
            reason = f"the client has no certificate, which --client-ca demands ({error})"
        elif isinstance(error, ssl.SSLCertVerificationError):
            reason = f"the client's certificate is not one that --client-ca vouches for: {error.verify_message}"
        self._bounded_log.warning("a TLS handshake failed: %s", reason)


def _content(source: bytes | Path, advice: str) -> bytes:
    if isinstance(source, bytes):
        return source
    try:
        content = read_up_to(source, _LARGEST_FILE + 1)
    except OSError as error:
        raise ServerError(f"cannot read {source}: {error.strerror}: {advice}") from error
    if len(content) > _LARGEST_FILE:
        raise ServerError(f"{source} is larger than {_LARGEST_FILE >> 20} MiB: {advice}")
    return content


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Provide a path to bytes, since OpenSSL reads only files; in memory if possible, as the disk may be read-only."""
    in_memory = hasattr(os, "memfd_create")
    try:
        with os.fdopen(os.memfd_create("draguard"), "wb") if in_memory else tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}" if in_memory else file.name
    except ssl.SSLError:  # OpenSSL's error about the content
        raise
    except OSError as error:
        raise ServerError(
            f"cannot hand a file to OpenSSL: {error.strerror}: set TMPDIR to a directory that can be written"
        ) from error


def not_after(pem: bytes) -> datetime | None:
    """Return the expiry of the first certificate; None if it cannot be read.

    Args:
        pem: Certificates in PEM.
    """
    try:
        found = (first := _FIRST.search(pem)) and _VALIDITY.search(binascii.a2b_base64(first[1]))
        if not found:
            return None
        # A year of two digits is one of the 20th century from 50 on.
        text = (found[2] or (b"19" if found[1] >= b"50" else b"20") + found[1]).decode()
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
