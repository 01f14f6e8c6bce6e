"""Issues certificate authorities and serving certificates, in memory and in files.

Needs ``cryptography``, so import this module only where certificates are made.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

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

T = TypeVar("T", bound=x509.ExtensionType)
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


class CertificateError(UsageError):
    """Certificates cannot be made or read; the message explains the cause, the place and the remedy."""


class Certified(NamedTuple):
    """A certificate, and its private key."""

    certificate: x509.Certificate
    key: PrivateKey


def private_key(content: bytes) -> PrivateKey | None:
    """Return an ECDSA or RSA key in PEM; None if it is neither, or cannot be read."""
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: the key is encrypted
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) else None


def is_key_of(key: PrivateKey, certificate: x509.Certificate) -> bool:
    """Tell whether a certificate has the public key of a private one; not if its key is of an unsupported kind."""
    try:
        return key.public_key() == certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        return False


def extension(certificate: x509.Certificate, kind: type[T]) -> T | None:
    """Return an extension of a certificate; None if it has none, or one that cannot be read."""
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        return None


def is_authority(certificate: x509.Certificate) -> bool:
    """Tell whether a certificate is one of an authority, by whose key identifier others can name it."""
    constraints = extension(certificate, x509.BasicConstraints)
    return bool(constraints and constraints.ca and extension(certificate, x509.SubjectKeyIdentifier))


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
    authority: Certified, alternatives: Sequence[x509.DNSName | x509.IPAddress], now: datetime, until: datetime
) -> Certified:
    """Make a key and a serving certificate for it that strict verifiers (RFC 5280, 4.2.1) accept.

    Args:
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
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, until: datetime
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
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")  # ECDSA encrypts nothing
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        **dict.fromkeys((*others, "encipher_only", "decipher_only"), False),
    )


def pem(certificate: x509.Certificate) -> bytes:
    """Return a certificate in PEM."""
    return certificate.public_bytes(Encoding.PEM)


def key_pem(key: PrivateKey) -> bytes:
    """Return a private key in PEM (PKCS #8), not encrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


DEFAULT_NAMES = (
    "draguard.draguard-system.svc",
    "draguard.draguard-system.svc.cluster.local",
    "draguard.draguard-system",
    "draguard",
    "localhost",
    "127.0.0.1",
    "::1",
)
"""Service ``draguard`` in namespace ``draguard-system`` (the API server connects to the first), and this machine."""

DEFAULT_DAYS = 365
DEFAULT_CA_DAYS = 3650
MOST_DAYS = 36500
"""A hundred years, well before the last year that a certificate can state."""

CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"
"""As in a Secret of type kubernetes.io/tls."""

_KEYS = frozenset({CA_KEY, KEY})
_ADVICE = "repair it, or give --force for a new authority and a new serving certificate"
_LARGEST_FILE = 1 << 20


class Pair(NamedTuple):
    """A certificate and its key, in PEM, and the certificate of the authority that vouches for it."""

    certificate: bytes
    key: bytes
    ca: bytes


class Issued(NamedTuple):
    """The result of :func:`issue`.

    Args:
        written: The files, certificates and keys.
        names: The names the serving certificate is valid for.
        expires: The end of the serving certificate.
        ca_expires: The end of the authority's certificate.
        new_ca: Whether the authority is new, so that the ``caBundle`` of webhook configurations has to follow.
    """

    written: tuple[Path, ...]
    names: tuple[str, ...]
    expires: datetime
    ca_expires: datetime
    new_ca: bool


def issue(
    directory: Path,
    names: Sequence[str] = DEFAULT_NAMES,
    *,
    days: int = DEFAULT_DAYS,
    ca_days: int = DEFAULT_CA_DAYS,
    force: bool = False,
) -> Issued:
    """Write a serving certificate into a directory, and the authority that signs it unless one is there.

    Either all files are put in place or none. Keys are readable by their owner only from the first byte.

    Args:
        directory: The directory of ``ca.crt``, ``ca.key``, ``tls.crt`` and ``tls.key``; created if missing.
        names: DNS names and IP addresses that clients connect to.
        days: How long the serving certificate is valid.
        ca_days: How long a new authority is valid.
        force: Replace all existing files, including the authority.

    Raises:
        CertificateError: A name or a number of days is invalid; a file exists and ``force`` is not given; the existing
            authority is unusable or ends before the serving certificate would; writing fails.
    """
    alternatives = alternative_names(names)
    for what, each in (("the serving certificate", days), ("the certificate authority", ca_days)):
        if not 1 <= each <= MOST_DAYS:
            raise CertificateError(f"{what} cannot be valid for {each} days: give 1 to {MOST_DAYS}")
    now = _now()
    until = now + timedelta(days=days)
    kept = None if force else _existing(directory, now, until)
    if kept is None and days > ca_days:
        raise CertificateError(
            f"the serving certificate would be valid for {days} days, its authority for {ca_days}: give fewer --days"
        )

    authority = kept or new_authority(now, now + timedelta(days=ca_days))
    certificate, key = sign(authority, alternatives, now, until)
    files = {KEY: key_pem(key), CERTIFICATE: pem(certificate)}
    if kept is None:
        files = {CA_KEY: key_pem(authority.key), CA_CERTIFICATE: pem(authority.certificate), **files}
    try:
        _install(directory, files)
    except OSError as error:
        raise CertificateError(
            f"cannot write certificates to {directory}: {_reason(error)}; nothing there was changed"
        ) from error
    return Issued(
        tuple(directory / name for name in files),
        tuple(str(name.value) for name in alternatives),
        until,
        authority.certificate.not_valid_after_utc,
        kept is None,
    )


def ephemeral(names: Sequence[str] = DEFAULT_NAMES) -> Pair:
    """Make a serving certificate and its authority in memory, for 30 days; the authority's key is discarded.

    Args:
        names: DNS names and IP addresses that clients connect to.

    Raises:
        CertificateError: A name is neither a DNS name nor an IP address.
    """
    now = _now()
    until = now + timedelta(days=30)
    authority = new_authority(now, until)
    certificate, key = sign(authority, alternative_names(names), now, until)
    return Pair(pem(certificate), key_pem(key), pem(authority.certificate))


def ca_bundle(path: Path) -> str:
    """Return a file of PEM certificates as the ``caBundle`` of a webhook configuration, in base64.

    Args:
        path: The authority's certificate, such as ``certs/ca.crt``.

    Raises:
        CertificateError: The file cannot be read, holds no certificate, or holds a private key.
    """
    content = _read(path)
    if b"PRIVATE KEY" in content:
        raise CertificateError(
            f"{path} holds a private key, which must not be published: give the authority's certificate"
        )
    try:
        x509.load_pem_x509_certificates(content)
    except ValueError as error:
        raise CertificateError(f"{path} holds no PEM certificate: {error}") from error
    return base64.b64encode(content).decode()


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _existing(directory: Path, now: datetime, until: datetime) -> Certified | None:
    """Return the authority that a directory holds, None if it holds no certificates at all."""
    there = [name for name in (CERTIFICATE, KEY, CA_CERTIFICATE, CA_KEY) if os.path.lexists(directory / name)]
    if CERTIFICATE in there or KEY in there:
        raise CertificateError(
            f"{directory / there[0]} is already there: remove {CERTIFICATE} and {KEY} to renew them under the same "
            "authority, or give --force to replace everything, the authority included"
        )
    if not there:
        return None
    if len(there) == 1:
        missing = CA_KEY if there == [CA_CERTIFICATE] else CA_CERTIFICATE
        raise CertificateError(f"{directory / there[0]} is there without {missing}: {_ADVICE}")
    return _load_authority(directory / CA_CERTIFICATE, directory / CA_KEY, now, until)


def _load_authority(path: Path, key_path: Path, now: datetime, until: datetime) -> Certified:
    try:
        certificate = x509.load_pem_x509_certificate(_read(path))
    except ValueError as error:
        raise CertificateError(f"{path} holds no usable certificate authority: {error}: {_ADVICE}") from error
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    usage, fault = extension(certificate, x509.KeyUsage), ""
    if not (is_authority(certificate) and usage and usage.key_cert_sign):
        fault = "is not the certificate of an authority, which has CA, keyCertSign and a SubjectKeyIdentifier"
    elif begins > now:
        fault = f"is not valid before {begins:%Y-%m-%d %H:%M} UTC"
    elif ends <= now:
        fault = f"expired on {ends:%Y-%m-%d}"
    elif ends < until:
        fault = (
            f"ends on {ends:%Y-%m-%d}, before the serving certificate would: give --days {(ends - now).days} or fewer"
        )
    if fault:
        raise CertificateError(f"{path} {fault}: {_ADVICE}")
    key = private_key(_read(key_path))
    if key is None:
        raise CertificateError(f"{key_path} holds no ECDSA or RSA key that can be read without a password: {_ADVICE}")
    if not is_key_of(key, certificate):
        raise CertificateError(f"{key_path} is not the key of {path}: {_ADVICE}")
    return Certified(certificate, key)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise CertificateError(f"cannot read {path}: {_reason(error)}") from error
    if len(content) > _LARGEST_FILE:
        raise CertificateError(f"{path} is larger than 1 MiB: it cannot be a certificate or a key")
    return content


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _install(directory: Path, files: Mapping[str, bytes]) -> None:
    """Install all files, or leave the directory unchanged."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".draguard-", dir=directory) as staging, ExitStack() as undo:
        for name, content in files.items():
            _write(Path(staging, name), content, 0o600 if name in _KEYS else 0o644)
        for name in files:
            target = directory / name
            if os.path.lexists(target):
                old = Path(staging, f"{name}.old")
                os.link(target, old, follow_symlinks=False)
                undo.callback(old.replace, target)
            else:
                undo.callback(target.unlink, missing_ok=True)
            Path(staging, name).replace(target)
        undo.pop_all()


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a new file, which has its final mode before it has content."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
