"""TLS: the settings to serve with, and a certificate that follows its files."""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from webhook.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LARGEST_FILE = 1 << 20
_log = logging.getLogger(__name__)


class Certificate:
    """The TLS settings to serve with, and in them a certificate that can be renewed while connections are open.

    Args:
        certificate: The serving certificate in PEM, followed by intermediate ones if there are any.
        key: Its private key in PEM, not encrypted.
        source: The files the two are read from, to follow.

    Raises:
        ServerError: The two cannot be used, or do not belong together.
    """

    def __init__(self, certificate: bytes, key: bytes, source: tuple[Path, Path] | None = None) -> None:
        self.context = _settings()
        self._source = source
        self._found: tuple[bytes, bytes] | str = certificate, key
        _load(self.context, (certificate, key), source)

    @classmethod
    def of_files(cls, certificate: Path, key: Path) -> Certificate:
        """Read a certificate and its key from files; :meth:`follow` looks whether they have changed.

        Raises:
            ServerError: A file cannot be read or used, or the two do not belong together.
        """
        source = certificate, key
        return cls(*_read(source), source)

    def follow(self) -> None:
        """Take up what is in the files now, if it has changed and can be used; never raises.

        What is compared is their content: a mounted Secret changes by a symbolic link above them.
        """
        if self._source is None:
            return
        found: tuple[bytes, bytes] | str
        try:
            found = _read(self._source)
        except ServerError as error:
            found = str(error)
        if found == self._found:
            return
        self._found = found  # so that what is refused is told once
        fault = found if isinstance(found, str) else self._renew(found)
        if fault:
            _log.error("the new certificate is refused, the old one kept: %s", fault)
        else:
            _log.info("serving the new certificate of %s", self._source[0])

    def _renew(self, pair: tuple[bytes, bytes]) -> str:
        """Serve with another pair from now on, unless there is a fault in it, which is returned."""
        try:
            # Tried on other settings first: a certificate without its key would displace the one in use.
            _load(_settings(), pair, self._source)
            _load(self.context, pair, self._source)
        except ServerError as error:
            return str(error)
        return ""


class _Handshake(ssl.SSLObject):
    """Tells why a handshake failed, which the event loop passes over in silence."""

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLEOFError):
            raise
        except ssl.SSLError as error:
            _log.warning("a TLS handshake failed: %s", error)
            raise


def _settings() -> ssl.SSLContext:
    """Make the settings: TLS 1.2 or later, forward secrecy, HTTP/1.1, which is all an API server speaks to Services."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of TLS 1.2; those of 1.3 are all sound
    context.set_alpn_protocols(["http/1.1"])
    context.sslobject_class = _Handshake
    return context


def _read(source: tuple[Path, Path]) -> tuple[bytes, bytes]:
    contents = []
    for path in source:
        try:
            with path.open("rb") as file:
                contents.append(file.read(_LARGEST_FILE))
        except OSError as error:
            message = f"cannot read {path}: {error.strerror}: `draguard certs` makes a certificate and a key"
            raise ServerError(message) from error
    return contents[0], contents[1]


def _load(context: ssl.SSLContext, pair: tuple[bytes, bytes], source: tuple[Path, Path] | None) -> None:
    name, key_name = source or ("the certificate", "its key")

    def no_password() -> str:
        message = f"{key_name} is encrypted: decrypt it first, a server has nobody to ask for the password"
        raise ServerError(message)

    try:
        with _as_file(pair[0]) as certificate, _as_file(pair[1]) as key:
            context.load_cert_chain(certificate, key, password=no_password)
    except ssl.SSLError as error:
        fault = f"{name} and {key_name} are no certificate and key in PEM ({error})"
        if error.reason == "KEY_VALUES_MISMATCH":
            fault = f"{key_name} is not the key of {name}"
        message = f"{fault}: give a pair such as `draguard certs` makes"
        raise ServerError(message) from error
    except OSError as error:
        message = f"cannot hand a key to OpenSSL: {error.strerror}: set TMPDIR to a directory that can be written"
        raise ServerError(message) from error


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give bytes a path, since OpenSSL reads files only; in memory if possible, for the disk may be read-only."""
    file: Any
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
