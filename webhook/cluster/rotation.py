"""The life of the certificates: what their Secret should hold next.

Pure: :func:`step` looks at what is there and returns one change. Whoever is leader carries it out and asks again.

1. A new authority is made. The bundle trusted is the old and the new; webhook configurations get it.
2. All of them have it. The time is noted.
3. The overlap has passed. The new authority signs a serving certificate; the old one's key is forgotten.
4. The old authority has expired, and with it whatever it had signed. It leaves the bundle.

A serving certificate never outlives its authority. So nothing that may be in use anywhere, be it on a replica that was
cut off for weeks, ever loses its authority, and no replica needs to be asked what it serves with. Each step begins with
what the Secret holds and nothing else, so a leader may die at any moment.

Needs ``cryptography``; ask :mod:`webhook.cluster.deciding` instead where memory is dear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from webhook.cluster.secret import BUNDLE, KEY, NEXT_KEY, NEXT_TRUSTED, SERVING, SERVING_KEY, Step
from webhook.issuing import Certified, alternative_names, key_pem, new_authority, pem, sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webhook.cluster.options import Lifetimes

_BACKDATED = timedelta(hours=1)
"""For API servers whose clocks differ."""

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----\s.+?-----END CERTIFICATE-----", re.DOTALL)


def step(
    data: Mapping[str, bytes],
    now: datetime,
    names: Sequence[str],
    lifetimes: Lifetimes,
    trusted: Sequence[bytes] | None,
) -> Step | None:
    """Return what is to be done next, None if nothing is.

    Args:
        data: What the Secret holds: anything at all.
        now: The time.
        names: The DNS names to serve under.
        lifetimes: How long certificates last.
        trusted: The bundle, in PEM, that each webhook in each configuration was seen to trust; None if that is unknown.

    Raises:
        CertificateError: A name is neither a DNS name nor an IP address.
    """
    now = now.astimezone(UTC).replace(microsecond=0)
    state = _State.read(data, now, alternative_names(names), lifetimes)
    if not state.in_service():
        return state.renew("there is no usable serving certificate") or state.recover()
    return state.announce() or state.hand_over(trusted) or state.renew_in_time() or state.retire()


@dataclass(frozen=True)
class _State:
    data: Mapping[str, bytes]
    now: datetime
    names: list[x509.DNSName | x509.IPAddress]
    lifetimes: Lifetimes
    bundle: tuple[x509.Certificate, ...]
    signer: Certified | None
    next: Certified | None
    serving: Certified | None

    @classmethod
    def read(
        cls,
        data: Mapping[str, bytes],
        now: datetime,
        names: list[x509.DNSName | x509.IPAddress],
        lifetimes: Lifetimes,
    ) -> _State:
        """Make out what is usable, and pass over the rest."""
        bundle = tuple(
            found
            for found in dict.fromkeys(_certificates(data.get(BUNDLE, b"")))
            if _is_authority(found) and _is_valid(found, now)
        )
        return cls(
            data,
            now,
            names,
            lifetimes,
            bundle,
            _pair(bundle, data.get(KEY, b"")),
            _pair(bundle, data.get(NEXT_KEY, b"")),
            _pair(_certificates(data.get(SERVING, b""))[:1], data.get(SERVING_KEY, b"")),
        )

    def in_service(self) -> bool:
        """Tell whether the API server accepts the serving certificate, given the bundle."""
        return (
            self.serving is not None
            and _is_valid(self.serving.certificate, self.now)
            and set(self.names) <= _names(self.serving.certificate)
            and any(_has_signed(authority, self.serving.certificate) for authority in self.bundle)
        )

    def recover(self) -> Step:
        """Begin anew: nothing can be served, so nobody is harmed if the authority is trusted a moment too late."""
        authority = self.next or self._new_authority()
        return self._sign("recover", "there is neither a usable serving certificate nor an authority", authority)

    def announce(self) -> Step | None:
        """Make the next authority known before it signs anything."""
        if self.next or (self.signer and not _is_due(self.signer.certificate, self.now)):
            return None
        authority = self._new_authority()
        why = f"the authority ends {_end(self.signer)}" if self.signer else "the authority's key is lost"
        return self._step(
            "announce",
            f"{why}: a new one is published, to be used when it is trusted everywhere",
            [*self.bundle, authority.certificate],
            {NEXT_KEY: key_pem(authority.key), NEXT_TRUSTED: None},
        )

    def hand_over(self, trusted: Sequence[bytes] | None) -> Step | None:
        """Let the next authority sign once all configurations have trusted it for long enough."""
        if self.next is None or trusted is None:
            return None
        noted = self.data.get(NEXT_TRUSTED)
        since = _time(noted, self.now)
        if not all(self.next.certificate in _certificates(bundle) for bundle in trusted):
            why = "a webhook configuration does not trust the new authority any more: the overlap begins again"
            return self._step("await", why, self.bundle, {NEXT_TRUSTED: None}) if noted else None
        if since is None:
            why = f"all webhook configurations trust the new authority, which is used in {self.lifetimes.overlap}"
            return self._step("await", why, self.bundle, {NEXT_TRUSTED: self.now.isoformat().encode()})
        if self.now - since < self.lifetimes.overlap:
            return None
        return self._sign("switch", "the new authority is trusted everywhere", self.next)

    def renew(self, why: str) -> Step | None:
        """Sign a new serving certificate, if there is an authority to do so."""
        return self._sign("renew", why, self.signer) if self.signer else None

    def renew_in_time(self) -> Step | None:
        """Sign a new serving certificate when most of its time is over, or it is for too many names."""
        if self.serving is None or self.signer is None:
            return None
        serving = self.serving.certificate
        if _names(serving) != set(self.names):
            return self.renew("the DNS names have changed")
        if _is_due(serving, self.now) and serving.not_valid_after_utc < self.signer.certificate.not_valid_after_utc:
            return self.renew(f"the serving certificate ends {_end(self.serving)}")
        return None

    def retire(self) -> Step | None:
        """Drop authorities that have expired, and what is none."""
        if _bundled(self.bundle) == self.data[BUNDLE]:
            return None
        return self._step("retire", "authorities that have expired leave the bundle", self.bundle, {})

    def _new_authority(self) -> Certified:
        return new_authority(self.now - _BACKDATED, self.now + self.lifetimes.authority)

    def _sign(self, kind: str, why: str, authority: Certified) -> Step:
        """Sign a serving certificate by an authority, which is the one that signs from now on."""
        until = min(self.now + self.lifetimes.serving, authority.certificate.not_valid_after_utc)
        serving = sign(authority, self.names, self.now - _BACKDATED, until)
        changes: dict[str, bytes | None] = {
            KEY: key_pem(authority.key),
            SERVING: pem(serving.certificate),
            SERVING_KEY: key_pem(serving.key),
        }
        if authority is not self.signer:
            changes |= {NEXT_KEY: None, NEXT_TRUSTED: None}
        return self._step(kind, why, dict.fromkeys([*self.bundle, authority.certificate]), changes)

    def _step(
        self,
        kind: str,
        why: str,
        bundle: Iterable[x509.Certificate],
        changes: Mapping[str, bytes | None],
    ) -> Step:
        data = {**self.data, BUNDLE: _bundled(bundle), **changes}
        return Step(kind, why, {name: content for name, content in data.items() if content is not None})


def _certificates(content: bytes) -> list[x509.Certificate]:
    """Return the certificates in a bundle, without those that cannot be read."""
    found = []
    for block in _PEM.findall(content):
        try:
            found.append(x509.load_pem_x509_certificate(block))
        except ValueError:
            continue
    return found


def _pair(certificates: Iterable[x509.Certificate], content: bytes) -> Certified | None:
    """Return the certificate that a key belongs to, with the key; None if either cannot be used."""
    try:
        key = load_pem_private_key(content, password=None)
        if isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
            public = key.public_key()
            return next((Certified(found, key) for found in certificates if found.public_key() == public), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: the key is encrypted
        pass
    return None


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        return False


def _names(certificate: x509.Certificate) -> set[x509.GeneralName]:
    try:
        return set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        return set()


def _has_signed(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    """Tell whether two thirds of a certificate's time are over."""
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now >= begins + (ends - begins) * 2 / 3


def _end(certified: Certified) -> str:
    return f"on {certified.certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"


def _time(noted: bytes | None, now: datetime) -> datetime | None:
    """Return a point of time that was noted, None if it is none, or yet to come."""
    try:
        since = datetime.fromisoformat((noted or b"").decode())
        is_over = since <= now
    except (ValueError, TypeError):  # TypeError: without a time zone
        return None
    return since if is_over else None


def _bundled(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(map(pem, certificates))
