"""Makes the certificates with which clients identify themselves."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.certificates import certs


class Identity(NamedTuple):
    """A client's certificate and key in a file."""

    path: Path

    def present(self, trust: ssl.SSLContext, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
        """Add the certificate to a client's settings."""
        trust.maximum_version = version
        trust.load_cert_chain(self.path)
        return trust


def authority() -> certs.Certified:
    now = datetime.now(UTC)
    return certs.new_authority(now, now + timedelta(days=1))


def identity(
    path: Path,
    signer: certs.Certified,
    name: str | None = "kube-apiserver",
    alternatives: Sequence[x509.GeneralName] = (),
    *,
    usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
    days: int = 1,
) -> Identity:
    """Write a certificate and its key into a file.

    Args:
        path: The file.
        signer: The authority.
        name: Its common name, if any.
        alternatives: Its alternative names.
        usage: Its extended key usage.
        days: Its lifetime from now on.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    begin, end, serial = now - timedelta(days=9), now + timedelta(days=days), x509.random_serial_number()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else [])
    builder = (
        x509.CertificateBuilder(signer.certificate.subject, subject, key.public_key(), serial, begin, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key()), critical=False)
    )
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=not name)
    path.write_bytes(certs.pem(builder.sign(signer.key, SHA256())) + certs.key_pem(key))
    return Identity(path)
