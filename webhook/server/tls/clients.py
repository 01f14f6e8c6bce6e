"""Client certificates: which clients may connect."""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING, Any

from webhook.server.bounded import BoundedLog
from webhook.server.errors import ServerError
from webhook.server.filewatch import FileWatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_ADVICE = "give --client-ca the certificates, in PEM, of the authorities that sign those of clients"
_NAMES = frozenset({"DNS", "URI", "email"})
_LONGEST_TEXT = 300
_log = logging.getLogger(__name__)


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


def _names(certificate: Mapping[str, Any]) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                yield value
    for kind, value in certificate.get("subjectAltName", ()):
        if kind in _NAMES:
            yield value
