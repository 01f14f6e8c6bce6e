"""Certificate rotation: computes the next content of the Secret.

Without side effects: :func:`step` takes the current state and returns one change. The leader carries it out and calls
it again.

1. A new authority is created. The trusted bundle contains the old and the new one; webhook configurations get it.
2. All of them have it. The time is noted.
3. The overlap has passed. The new authority signs a serving certificate; the old one's key is discarded.
4. The old authority has expired, with all certificates that it signed. It is removed from the bundle.

A serving certificate never outlives its authority. So no certificate in use, even on a replica that was disconnected
for weeks, ever loses its authority, and the leader need not know which certificates the replicas use. Each step depends
only on the content of the Secret, so a leader may die at any moment.

The Secret may lose its content while replicas continue to serve. Then the authorities that webhook configurations trust
stay trusted until all their certificates have expired, and the leader's current pair is put back into the Secret. If
the leader has no pair, since it has just started, a new authority is trusted before it signs anything. If an old backup
of the Secret is restored, the authority of the leader's current pair stays, too.

Needs ``cryptography``, so only the leader among the replicas imports this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from webhook.certificates.certs import (
    Certified,
    alternative_names,
    extension,
    is_authority,
    is_key_of,
    key_pem,
    new_authority,
    pem,
    private_key,
    sign,
)
from webhook.cluster.options import (
    BUNDLE,
    KEPT_SINCE,
    KEY,
    NEXT_KEY,
    NEXT_TRUSTED,
    OWN,
    REVOKE,
    SERVING,
    SERVING_KEY,
    Step,
)

AUTHORITY_LIFETIME = timedelta(days=365)
"""How long an authority is valid; it is replaced after two thirds of that.

So rotation is exercised every eight months, and four are left to fix any failure. The last serving certificate that it
signs still ends before it does.
"""

SERVING_LIFETIME = timedelta(days=90)
"""How long a serving certificate is valid, at most as long as its authority; replaced after two thirds of that."""

OVERLAP = timedelta(hours=1)
"""How long all webhook configurations must have trusted a new authority before it signs what is served."""

_BACKDATED = timedelta(hours=1)
"""A tolerance for API servers whose clocks differ."""

_NOTICE = timedelta(seconds=30)
"""How long signing waits at most for configurations to trust a new authority."""

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----\s.+?-----END CERTIFICATE-----", re.DOTALL)


def step(
    data: Mapping[str, bytes],
    now: datetime,
    names: Sequence[str],
    trusted: Sequence[bytes | None] | None,
    *,
    served: tuple[bytes, bytes] | None = None,
) -> Step | None:
    """Return the next step, None if there is none.

    Args:
        data: The content of the Secret, which is not trusted.
        now: The time.
        names: The DNS names to serve under.
        trusted: The bundle, in PEM, that each webhook in each configuration was seen to trust; None for those that
            cannot be read, or for all if unknown.
        served: The certificate and the key, in PEM, last served with; None if unknown.

    Raises:
        CertificateError: A name is neither a DNS name nor an IP address.
    """
    now = now.astimezone(UTC).replace(microsecond=0)
    if REVOKE in data:
        others = {name: content for name, content in data.items() if name not in OWN}
        return _State.read(others, now, alternative_names(names)).recover("all before is revoked", ())
    state = _State.read(data, now, alternative_names(names)).keeping(trusted or (), served)
    if not state.in_service():
        return (
            state.renew("no usable serving certificate")
            or state.restore(served)
            or state.recover("neither a usable serving certificate nor an authority", trusted or (), served)
        )
    return state.announce() or state.hand_over(trusted) or state.renew_in_time() or state.keep() or state.retire()


@dataclass(frozen=True)
class _State:
    data: Mapping[str, bytes]
    now: datetime
    names: list[x509.DNSName | x509.IPAddress]
    bundle: tuple[x509.Certificate, ...]
    signer: Certified | None
    next: Certified | None
    serving: Certified | None

    @classmethod
    def read(cls, data: Mapping[str, bytes], now: datetime, names: list[x509.DNSName | x509.IPAddress]) -> _State:
        """Read the usable parts of the Secret, and ignore the rest."""
        bundle = tuple(dict.fromkeys(_authorities(data.get(BUNDLE, b""), now)))
        return cls(
            data,
            now,
            names,
            bundle,
            _pair(bundle, data.get(KEY, b"")),
            _pair(bundle, data.get(NEXT_KEY, b"")),
            _pair(_certificates(data.get(SERVING, b""))[:1], data.get(SERVING_KEY, b"")),
        )

    def keeping(self, trusted: Sequence[bytes | None], served: tuple[bytes, bytes] | None) -> _State:
        """Add to the bundle the trusted authorities without which the API server would refuse a replica."""
        published = [found for bundle in dict.fromkeys(trusted) for found in _authorities(bundle or b"", self.now)]
        own = _certificates(served[0])[:1] if served else []
        kept = [each for each in published if not self.bundle or any(_has_signed(each, found) for found in own)]
        return replace(self, bundle=tuple(dict.fromkeys([*self.bundle, *kept])))

    def in_service(self) -> bool:
        """Tell whether the API server accepts the serving certificate, given the bundle."""
        return (
            self.serving is not None
            and _is_valid(self.serving.certificate, self.now)
            and set(self.names) <= _names(self.serving.certificate)
            and any(_has_signed(authority, self.serving.certificate) for authority in self.bundle)
        )

    def restore(self, served: tuple[bytes, bytes] | None) -> Step | None:
        """Put the serving pair back into the Secret, if it is still valid."""
        if served is None:
            return None
        state = replace(self, serving=_pair(_certificates(served[0])[:1], served[1]))
        if not state.in_service():
            return None
        changes = {SERVING: served[0], SERVING_KEY: served[1], KEPT_SINCE: self._noted_now()}
        return self._step("restore", "the Secret has lost the certificate in use", self.bundle, changes)

    def recover(
        self, why: str, trusted: Sequence[bytes | None], served: tuple[bytes, bytes] | None = None
    ) -> Step | None:
        """Start over; if replicas may still use trusted certificates, only once the new authority is trusted, too."""
        lasts = served and any(_is_valid(found, self.now) for found in _certificates(served[0])[:1])
        if lasts and None in trusted and not self.bundle:
            return None  # the serving pair can perhaps be kept, once all configurations can be read
        authority = self.next or self._new_authority()
        if not self.bundle or (self.next and self._is_known(self.next.certificate, trusted)):
            return self._sign("recover", why, authority)
        if self.next:
            return None
        return self._step(
            "announce",
            f"{why}: a new authority is published beside those that are trusted",
            [*self.bundle, authority.certificate],
            {NEXT_KEY: key_pem(authority.key), NEXT_TRUSTED: None, KEPT_SINCE: self._noted_now()},
        )

    def _is_known(self, authority: x509.Certificate, trusted: Sequence[bytes | None]) -> bool:
        """Tell whether an authority is trusted by all readable configurations, or too old to wait for that."""
        since = _time(self.data.get(KEPT_SINCE), self.now)
        if since is None or self.now - since >= _NOTICE:
            return True
        return all(authority in _certificates(bundle) for bundle in trusted if bundle is not None)

    def announce(self) -> Step | None:
        """Announce the next authority before it signs anything."""
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

    def hand_over(self, trusted: Sequence[bytes | None] | None) -> Step | None:
        """Let the next authority sign once all configurations have trusted it for long enough."""
        if self.next is None or trusted is None or None in trusted:
            return None
        noted = self.data.get(NEXT_TRUSTED)
        since = _time(noted, self.now)
        if not all(self.next.certificate in _certificates(bundle or b"") for bundle in trusted):
            why = "a webhook configuration does not trust the new authority any more: the overlap begins again"
            return self._step("await", why, self.bundle, {NEXT_TRUSTED: None}) if noted else None
        if since is None:
            why = f"all webhook configurations trust the new authority, which is used in {OVERLAP}"
            return self._step("await", why, self.bundle, {NEXT_TRUSTED: self._noted_now()})
        if self.now - since < OVERLAP:
            return None
        return self._sign("switch", "the new authority is trusted everywhere", self.next)

    def renew(self, why: str) -> Step | None:
        """Sign a new serving certificate, if there is an authority to do so."""
        return self._sign("renew", why, self.signer) if self.signer else None

    def renew_in_time(self) -> Step | None:
        """Sign a new serving certificate when most of its lifetime is over, or when it has too many names."""
        if self.serving is None or self.signer is None:
            return None
        serving = self.serving.certificate
        if _names(serving) != set(self.names):
            return self.renew("the DNS names have changed")
        if _is_due(serving, self.now) and serving.not_valid_after_utc < self.signer.certificate.not_valid_after_utc:
            return self.renew(f"the serving certificate ends {_end(self.serving)}")
        return None

    def keep(self) -> Step | None:
        """Record the authorities that must stay trusted although the Secret does not have them."""
        if set(self.bundle) <= set(_certificates(self.data[BUNDLE])):
            return None
        why = "the authority of the certificate in use stays trusted, though the Secret has another"
        return self._step("keep", why, self.bundle, {KEPT_SINCE: self._noted_now()})

    def retire(self) -> Step | None:
        """Drop authorities that are expired, invalid, or kept only for certificates that have expired."""
        kept_since, bundle = _time(self.data.get(KEPT_SINCE), self.now), list(self.bundle)
        changes: dict[str, bytes | None] = {}
        if KEPT_SINCE in self.data and (kept_since is None or self.now - kept_since >= SERVING_LIFETIME):
            bundle = [each for each in bundle if self._is_needed(each)]
            changes = {KEPT_SINCE: None}
        if not changes and _bundled(bundle) == self.data[BUNDLE]:
            return None
        return self._step("retire", "authorities that no certificate in use needs leave the bundle", bundle, changes)

    def _is_needed(self, authority: x509.Certificate) -> bool:
        signing = [each.certificate for each in (self.signer, self.next) if each]
        return authority in signing or (self.serving is not None and _has_signed(authority, self.serving.certificate))

    def _noted_now(self) -> bytes:
        return self.now.isoformat().encode()

    def _new_authority(self) -> Certified:
        return new_authority(self.now - _BACKDATED, self.now + AUTHORITY_LIFETIME)

    def _sign(self, kind: str, why: str, authority: Certified) -> Step:
        """Sign a serving certificate by an authority, which becomes the current one."""
        until = min(self.now + SERVING_LIFETIME, authority.certificate.not_valid_after_utc)
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
        self, kind: str, why: str, bundle: Iterable[x509.Certificate], changes: Mapping[str, bytes | None]
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


def _authorities(content: bytes, now: datetime) -> list[x509.Certificate]:
    """Return the authorities in a bundle that are valid now."""
    return [found for found in _certificates(content) if is_authority(found) and _is_valid(found, now)]


def _pair(certificates: Iterable[x509.Certificate], content: bytes) -> Certified | None:
    """Return the certificate that a key belongs to, with the key; None if either cannot be used."""
    key = private_key(content)
    return next((Certified(each, key) for each in certificates if key and is_key_of(key, each)), None)


def _names(certificate: x509.Certificate) -> set[x509.GeneralName]:
    return set(extension(certificate, x509.SubjectAlternativeName) or ())


def _has_signed(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    """Tell whether two thirds of a certificate's lifetime are over."""
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now >= begins + (ends - begins) * 2 / 3


def _end(certified: Certified) -> str:
    return f"on {certified.certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"


def _time(noted: bytes | None, now: datetime) -> datetime | None:
    """Return a recorded time, None if it is invalid or in the future."""
    try:
        since = datetime.fromisoformat((noted or b"").decode())
        is_over = since <= now
    except (ValueError, TypeError):  # TypeError: without a time zone
        return None
    return since if is_over else None


def _bundled(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(map(pem, certificates))
