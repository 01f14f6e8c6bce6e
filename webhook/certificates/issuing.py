"""Issues certificate authorities and serving certificates, in memory.

Needs ``cryptography``, so import this module only where certificates are made.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.records import NamedTuple
from webhook.usage import UsageError

CLOCK_SKEW = timedelta(minutes=5)
"""How far a certificate's validity is backdated, for verifiers whose clocks are slow."""

_DNS_NAME = re.compile(
    r"(?=.{1,253}\Z)"
    r"(?:\*\.(?=.))?"  # a wildcard stands for the first label only
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*"
    r"(?=[a-z0-9-]*[a-z-])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\Z",  # a last label of digits resembles an IP address
    re.ASCII | re.IGNORECASE,
)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class CertificateError(UsageError):
    """Certificates cannot be made or read; the message explains the cause, the place and the remedy."""


class Certified(NamedTuple):
    """A certificate, and its private key."""

    certificate: x509.Certificate
    key: PrivateKey


def alternative_names(names: Sequence[str]) -> list[x509.DNSName | x509.IPAddress]:
    """Return the names for a certificate in the form in which it holds them, without duplicates.

    Args:
        names: DNS names and IP addresses.

    Raises:
        CertificateError: There is none, or one is neither a DNS name nor an IP address.
    """
    if not names:
        raise CertificateError("a certificate needs at least one DNS name or IP address")
    return list(dict.fromkeys(map(_alternative, names)))


def _alternative(name: str) -> x509.DNSName | x509.IPAddress:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        if _DNS_NAME.match(name):
            return x509.DNSName(name.lower())
    else:
        if "%" not in name:  # a zone is meaningful only on one machine
            return x509.IPAddress(address)
    raise CertificateError(
        f"{name!r} is neither an IP address nor a DNS name: "
        "give names like draguard.draguard-system.svc, 10.0.0.7 or fd00::7, without port, scheme or brackets"
    )


def new_authority(now: datetime, until: datetime) -> Certified:
    """Make an authority with a new key.

    Args:
        now: The current time; it is valid from :data:`CLOCK_SKEW` before.
        until: When its certificate ends.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = _common_name("draguard CA")
    builder = (
        _builder(name, name, key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    return Certified(builder.sign(key, SHA256()), key)


def sign(
    authority: Certified,
    alternatives: Sequence[x509.DNSName | x509.IPAddress],
    now: datetime,
    until: datetime,
) -> Certified:
    """Make a key and a serving certificate for it that strict verifiers (RFC 5280, 4.2.1) accept.

    Args:
        authority: The signing authority.
        alternatives: The names, as returned by :func:`alternative_names`.
        now: The current time; it is valid from :data:`CLOCK_SKEW` before.
        until: When it ends.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    issuer_key = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    builder = (
        _builder(_common_name("draguard"), issuer.subject, key.public_key(), now, until)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_key), critical=False)
    )
    return Certified(builder.sign(authority.key, SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    now: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,  # an ECDSA key signs the handshake and encrypts nothing
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def pem(certificate: x509.Certificate) -> bytes:
    """Return a certificate in PEM."""
    return certificate.public_bytes(Encoding.PEM)


def key_pem(key: PrivateKey) -> bytes:
    """Return a private key in PEM (PKCS #8), not encrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
