"""TLS settings and the serving certificate, reloaded from files."""

from __future__ import annotations

import logging
import os
import ssl
from contextlib import contextmanager

from webhook.server.bounded import BoundedLog
from webhook.server.errors import ServerError
from webhook.server.filewatch import FileWatch
from webhook.server.tls.validity import not_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from webhook.server.tls.clients import Clients

_ADVICE = "`draguard certs` makes a certificate and a key"
_log = logging.getLogger(__name__)


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
        self._pair = FileWatch("certificate", source or (), _ADVICE, (certificate, key))
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
        pair = FileWatch("certificate", source, _ADVICE).content
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
            import tempfile  # with its imports it takes 0.4 MB

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
