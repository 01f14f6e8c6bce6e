"""TLS settings: the serving certificate and the clients that may connect, both followed in their files."""

from __future__ import annotations

import binascii
import logging
import os
import re
import ssl
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from webhook.regular import read_up_to
from webhook.server.logs import BoundedLog

_PAIR_ADVICE = "`draguard certs` makes a certificate and a key"
_ADVICE = "give --client-ca the certificates, in PEM, of the authorities that sign those of clients"
_LARGEST_FILE = 1 << 20
_NAMES = frozenset({"DNS", "URI", "email"})
_LONGEST_TEXT = 300
_FIRST = re.compile(rb"-----BEGIN CERTIFICATE-----\s(.+?)-----END CERTIFICATE-----", re.DOTALL)
_VERSION, _UTC_TIME = 0xA0, 0x17
_log = logging.getLogger(__name__)


class ServerError(Exception):
    """The webhook cannot be served; the message names the error, its place and how to fix it."""


class FileWatch:
    """The content of files that is in use, and changes to it.

    Contents are compared, as a mounted Secret changes by a symbolic link above its files.

    Args:
        what: A description of the content, for messages.
        paths: The files; empty if the content came from elsewhere, so that nothing is watched.
        advice: What to do if a file cannot be read, for messages.
        content: The content in use, if it has been read already.

    Raises:
        ServerError: A file cannot be read.
    """

    def __init__(self, what: str, paths: Sequence[Path], advice: str, content: tuple[bytes, ...] | None = None) -> None:
        self.what = what
        self.fault = ""
        """Why the present content is not used; empty if it is."""
        self.paths = tuple(paths)
        self._advice = advice
        self.content = self._read() if content is None else content
        self._found: tuple[bytes, ...] | str = self.content

    def news(self) -> tuple[bytes, ...] | str | None:
        """Return new content, or why the files cannot be read, once; None if nothing has changed."""
        found: tuple[bytes, ...] | str
        try:
            found = self._read() if self.paths else self._found
        except ServerError as error:
            found = str(error)
        if found == self._found:
            return None
        self._found = found
        return found

    def _read(self) -> tuple[bytes, ...]:
        return tuple(map(self._content, self.paths))

    def _content(self, path: Path) -> bytes:
        try:
            content = read_up_to(path, _LARGEST_FILE + 1)
        except OSError as error:
            raise ServerError(f"cannot read {path}: {error.strerror}: {self._advice}") from error
        if len(content) > _LARGEST_FILE:
            raise ServerError(f"{path} is larger than {_LARGEST_FILE >> 20} MiB: {self._advice}")
        return content


class Clients:
    """The clients that may connect, by their certificates, which TLS has verified.

    Args:
        authorities: A file of certificates in PEM; one of them must have signed a client's, for authenticating clients.
        names: The accepted names, spelled exactly, as common name or alternative name (DNS, URI, email); without names,
            any name is accepted.

    Raises:
        ServerError: The file cannot be read.
    """

    def __init__(self, authorities: Path, names: Iterable[str] = ()) -> None:
        self.authorities = FileWatch("authorities of clients", [authorities], _ADVICE)
        self.refused = 0
        """The number of connections refused for their names."""
        self._names = frozenset(names)
        self._bounded_log = BoundedLog(_log)

    def require(self, context: ssl.SSLContext, file: str) -> None:
        """Require a client certificate in handshakes with these settings.

        Args:
            context: The settings of a server, which trust no authority yet.
            file: Where to read the authorities' certificates.

        Raises:
            ServerError: The file has no certificate, or content that would be ignored.
        """
        path = self.authorities.paths[0]
        try:
            context.load_verify_locations(file)
        except ssl.SSLError as error:
            raise ServerError(f"{path} holds no certificates in PEM ({error}): {_ADVICE}") from error
        if context.cert_store_stats()["crl"]:
            raise ServerError(f"{path} holds a revocation list, which would be ignored: {_ADVICE}, and nothing else")
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # an intermediate authority may vouch, too, as in Go

    def refusal(self, certificate: Mapping[str, Any], address: object) -> str:
        """Return why a client may not connect; empty if it may.

        Args:
            certificate: Its certificate as ``ssl.SSLSocket.getpeercert`` returns it.
            address: Its address, for the log.
        """
        names = list(dict.fromkeys(_names(certificate)))
        if not self._names or not self._names.isdisjoint(names):
            return ""
        self.refused += 1
        has = ", ".join(map(repr, names)) or "no name"
        has = has if len(has) <= _LONGEST_TEXT else f"{has[:_LONGEST_TEXT]} …"
        self._bounded_log.warning("refused the client at %s: its certificate has %s, no --client-name", address, has)
        return f"the client certificate has {has}; the webhook's --client-name lists none of that"


class Certificate:
    """The TLS settings to serve with, which can be renewed while connections are open.

    Args:
        certificate: The serving certificate in PEM, followed by intermediate ones if there are any.
        key: Its private key in PEM, not encrypted.
        source: The files the two are read from, to follow.
        clients: The clients that may connect; None for all.

    Raises:
        ServerError: Certificate and key cannot be used or do not match, or the clients' authorities cannot be used.
    """

    def __init__(
        self,
        certificate: bytes,
        key: bytes,
        source: tuple[Path, Path] | None = None,
        *,
        clients: Clients | None = None,
    ) -> None:
        self.clients = clients
        self.renewals = 0
        """How often changed files were put to use."""
        self.refusals = 0
        """How often changed files could not be used."""
        self.failed_handshakes = 0
        """The number of failed TLS handshakes, including those of clients without a trusted certificate."""
        self._bounded_log = BoundedLog(_log)
        self._pair = FileWatch("certificate", source or (), _PAIR_ADVICE, (certificate, key))
        self._followed = (self._pair, clients.authorities) if clients else (self._pair,)
        self.context = self._settings()
        """The TLS settings of new connections; a new one for each renewal, as a context's trust can only grow."""

    @classmethod
    def of_files(cls, certificate: Path, key: Path, *, clients: Clients | None = None) -> Certificate:
        """Read a certificate and its key from files; :meth:`follow` reloads them.

        Raises:
            ServerError: A file cannot be read or used, or certificate and key do not match.
        """
        source = certificate, key
        pair = FileWatch("certificate", source, _PAIR_ADVICE).content
        return cls(pair[0], pair[1], source, clients=clients)

    @property
    def not_after(self) -> datetime | None:
        """The expiry of the serving certificate; None if only OpenSSL can read it."""
        return not_after(self._pair.content[0])

    @property
    def fault(self) -> str:
        """Why the files' present content is not used; empty if it is."""
        return next((followed.fault for followed in self._followed if followed.fault), "")

    def follow(self) -> None:
        """Reload the files if they have changed and can be used; never raises."""
        for followed in self._followed:
            news = followed.news()
            if news is None:
                continue
            followed.fault = fault = news if isinstance(news, str) else self._renew(followed, news)
            if fault:
                self.refusals += 1
                _log.error("the new %s is refused, the old one kept: %s", followed.what, fault)
            else:
                self.renewals += 1
                _log.info("serving with the new %s of %s", followed.what, followed.paths[0])

    def _renew(self, followed: FileWatch, content: tuple[bytes, ...]) -> str:
        """Use new content for handshakes from now on; if it has a fault, return that instead."""
        old, followed.content = followed.content, content
        try:
            self.context = self._settings()
        except ServerError as error:
            followed.content = old
            return str(error)
        return ""

    def _settings(self) -> ssl.SSLContext:
        """Make the TLS settings: TLS 1.2 or later, forward secrecy, HTTP/1.1 as API servers use it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of TLS 1.2; those of 1.3 are all sound
        context.set_ecdh_curve("prime256v1")  # A key by OpenSSL's slowest group takes 0.1 s; see SECURITY.md.
        context.set_alpn_protocols(["http/1.1"])
        context.num_tickets = 0  # API servers resume no sessions: client-go keeps none
        self._load(context)
        if self.clients:
            with _as_file(self.clients.authorities.content[0]) as file:
                self.clients.require(context, file)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        name, key_name = self._pair.paths or ("the certificate", "its key")

        def no_password() -> str:
            raise ServerError(f"{key_name} is encrypted: decrypt it first: the server cannot ask for the password")

        try:
            with _as_file(self._pair.content[0]) as certificate, _as_file(self._pair.content[1]) as key:
                context.load_cert_chain(certificate, key, password=no_password)
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


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Provide a path to bytes, since OpenSSL reads only files; in memory if possible, as the disk may be read-only."""
    file: Any
    try:
        if hasattr(os, "memfd_create"):
            file = os.fdopen(os.memfd_create("draguard"), "wb")
            path = f"/proc/self/fd/{file.fileno()}"
        else:
            file = tempfile.NamedTemporaryFile(prefix="draguard-")  # noqa: SIM115 - closed below
            path = file.name
        with file:
            file.write(content)
            file.flush()
            yield path
    except ssl.SSLError:  # OpenSSL's error about the content
        raise
    except OSError as error:
        raise ServerError(
            f"cannot hand a file to OpenSSL: {error.strerror}: set TMPDIR to a directory that can be written"
        ) from error


def _names(certificate: Mapping[str, Any]) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                yield value
    for kind, value in certificate.get("subjectAltName", ()):
        if kind in _NAMES:
            yield value


def not_after(pem: bytes) -> datetime | None:
    """Return the expiry of the first certificate; None if it cannot be read.

    Args:
        pem: Certificates in PEM.
    """
    found = _FIRST.search(pem)
    try:
        return _end(binascii.a2b_base64(found[1])) if found else None
    except (ValueError, IndexError):
        return None


def _end(der: bytes) -> datetime:
    """Read the end of a certificate's validity (RFC 5280, section 4.1).

    Raises:
        ValueError: The bytes are not a certificate.
        IndexError: The same.
    """
    _, at, _ = _element(der, 0)  # Certificate
    _, at, _ = _element(der, at)  # its TBSCertificate
    if der[at] == _VERSION:
        _, _, at = _element(der, at)
    for _ in ("serialNumber", "signature", "issuer"):
        _, _, at = _element(der, at)
    _, at, _ = _element(der, at)  # its validity
    _, _, at = _element(der, at)  # its start
    tag, start, end = _element(der, at)
    text = der[start:end].decode("ascii")
    if tag == _UTC_TIME:  # of two digits from 50 on the year is one of the 20th century
        text = ("19" if text >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _element(der: bytes, at: int) -> tuple[int, int, int]:
    """Return the tag of an element, and where its content starts and ends."""
    tag, length, start = der[at], der[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(der[start : start + size])
        start += size
    return tag, start, start + length
