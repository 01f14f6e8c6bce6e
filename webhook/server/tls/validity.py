"""Reads when a certificate expires: that alone, for which ``cryptography`` would take 8 MB."""

from __future__ import annotations

import binascii
import re
from datetime import UTC, datetime

_FIRST = re.compile(rb"-----BEGIN CERTIFICATE-----\s(.+?)-----END CERTIFICATE-----", re.DOTALL)
_VERSION, _UTC_TIME = 0xA0, 0x17


def not_after(pem: bytes) -> datetime | None:
    """Return the end of the first certificate; None if it cannot be read.

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
        ValueError: It is no certificate.
        IndexError: The same.
    """
    _, at, _ = _element(der, 0)  # Certificate
    _, at, _ = _element(der, at)  # its TBSCertificate
    if der[at] == _VERSION:
        _, _, at = _element(der, at)
    for _ in ("serialNumber", "signature", "issuer"):
        _, _, at = _element(der, at)
    _, at, _ = _element(der, at)  # its validity
    _, _, at = _element(der, at)  # from when on
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
