"""Versions and UUIDs."""

from __future__ import annotations

from webhook.formats.names import FINE, Messages
from webhook.patterns import Pattern
from webhook.problem import quoted

# Possessive, as the patterns of names: for texts of some megabytes, backtracking would take gigabytes. A look ahead
# finds the letter or hyphen of a part that is not a number, so that no choice has to be taken back; another one the
# start of a further part, as Python 3.11.2 goes on behind what it has read of a possessive group that fails half-way.
_NUMBER = "(?:0|[1-9][0-9]*+)"
_PRE_RELEASE = f"(?:(?=[0-9]*+[a-zA-Z-])[0-9a-zA-Z-]++|{_NUMBER})"
_BUILD = "[0-9a-zA-Z-]++"
_MORE = r"(?:(?=\.[0-9a-zA-Z-])\."
_semver_pattern = Pattern(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE_RELEASE}{_MORE}{_PRE_RELEASE})*+)?(?:\+{_BUILD}{_MORE}{_BUILD})*+)?"
)

_NUMBERS = 3
"""How many numbers a version has."""

_HEX = "[0-9a-fA-F]"
_hyphenated_pattern = Pattern(f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}".encode())
_lower_case_uuid_pattern = Pattern("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_bare_pattern = Pattern(f"{_HEX}{{32}}".encode())
_HYPHENATED, _BARE, _BRACED, _URN = 36, 32, 38, 45
"""The lengths of the forms of a UUID, which tell them apart."""
_URN_PREFIX = b"urn:uuid:"
_NOT_NORMALIZED = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)


def semver(value: str, _release: int) -> Messages:
    """A semantic version: three numbers joined by ``.``, an optional ``-pre.release`` and an optional ``+build``.

    Source: kubernetes ``pkg/apis/resource/validation/validation.go``, ``semverRe``.
    """
    return FINE if _semver_pattern.fullmatch(value) else ("must be a string compatible with semver.org spec 2.0.0",)


def near_semver(value: str) -> str:
    """Leave out ``v`` and leading zeros, and add missing numbers up to three; empty if that is not a version either."""
    numbers = [each.lstrip("0") or "0" if each.isdigit() else each for each in value.removeprefix("v").split(".")]
    near = ".".join([*numbers, "0", "0"][: max(_NUMBERS, len(numbers))])
    return near if near != value and _semver_pattern.fullmatch(near) else ""


def uuid(value: str, _release: int) -> Messages:
    """A UUID in the form ``xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx``, lower case.

    Source: kubernetes ``pkg/apis/resource/validation/validation.go``, ``validateUID``.
    """
    wrong = _not_a_uuid(value.encode(errors="surrogatepass"))
    if wrong:
        return (f"error validating uid: {wrong}",)
    if len(value) != _HYPHENATED or value != value.lower():
        return (_NOT_NORMALIZED,)
    return FINE


def lower_case_uuid(value: str, _release: int) -> Messages:
    """A UUID in lower case, in the words of declarative validation (``k8s-uuid``).

    Source: apimachinery ``pkg/api/validate/strfmt.go``, ``UUID``.
    """
    return FINE if _lower_case_uuid_pattern.fullmatch(value) else ("must be a lowercase UUID in 8-4-4-4-12 format",)


def _not_a_uuid(raw: bytes) -> str:
    """Explain why a text is not a UUID in any form (github.com/google/uuid 1.6, ``Validate``)."""
    size = len(raw)
    prefix = raw[: len(_URN_PREFIX)]
    if size not in {_HYPHENATED, _BARE, _BRACED, _URN}:
        return f"invalid UUID length: {size}"
    if size == _URN and prefix.lower() != _URN_PREFIX:
        return f"invalid urn prefix: {_quoted(prefix)}"
    if size == _BRACED and not (raw.startswith(b"{") and raw.endswith(b"}")):
        return "invalid bracketed UUID format"
    digits = {_URN: raw[len(_URN_PREFIX) :], _BRACED: raw[1:-1]}.get(size, raw)
    return "" if (_bare_pattern if size == _BARE else _hyphenated_pattern).fullmatch(digits) else "invalid UUID format"


def _quoted(raw: bytes) -> str:
    """Quote bytes as Go's ``%q`` does, where the last character may be cut off."""
    text = raw.decode(errors="ignore")
    cut = raw[len(text.encode()) :]
    return quoted(text)[:-1] + "".join(f"\\x{byte:02x}" for byte in cut) + '"'
