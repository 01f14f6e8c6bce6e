"""Text formats of Kubernetes, with their errors: names, label keys, C identifiers, versions, UUIDs, addresses, images.

A format takes a text and a Kubernetes release (27 for 1.27 … 36 for 1.36), whose wording it uses, and returns all
errors in the text, none if it is valid. Formats know nothing of paths, fields or objects.

Texts follow apimachinery ``pkg/util/validation/validation.go`` and, from 1.35, ``pkg/api/validate/content``, which
counts the same limits in "bytes". Lengths are bytes of the UTF-8 text in every release, whatever the wording.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from webhook.patterns import Pattern
from webhook.problem import quoted as quoted
from webhook.release import Release

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

Messages = tuple[str, ...]

FINE: Messages = ()

# -- names and keys

_LABEL_MAX = 63
_SUBDOMAIN_MAX = 253
_CONTENT_SINCE = 35
"""The first release whose label keys and values are checked by ``pkg/api/validate/content``."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
# The same, possessive: for texts of some megabytes, backtracking would take time and memory. The groups look ahead, as
# Python 3.11.2 goes on behind what it has read of a possessive group that fails half-way.
_LABEL_AT_ONCE = "[a-z0-9]++(?:(?=-++[a-z0-9])-++[a-z0-9]++)*+"
_SUBDOMAIN_AT_ONCE = rf"{_LABEL_AT_ONCE}(?:(?=\.[a-z0-9])\.{_LABEL_AT_ONCE})*+"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_CONDITION_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_label_pattern = Pattern(_LABEL_AT_ONCE)
_subdomain_pattern = Pattern(_SUBDOMAIN_AT_ONCE)
# Go's (?i) also folds the long s and the Kelvin sign to ASCII, but not the dotless and dotted i that Python's does.
_caseless_subdomain_pattern = Pattern(_SUBDOMAIN_AT_ONCE.replace("a-z", "a-zA-Z\u017f\u212a"))
_key_pattern = Pattern(f"({_SUBDOMAIN_AT_ONCE}/)?{_KEY}")
_key_name_pattern = Pattern(_KEY)
_value_pattern = Pattern(_VALUE)
_dns1035_pattern = Pattern(_DNS1035)
_c_identifier_pattern = Pattern(_C_IDENTIFIER)
_condition_reason_pattern = Pattern(_CONDITION_REASON)


def _mismatch(text: str, pattern: str, examples: str) -> str:
    """Describe the expected form of a text (``RegexError``, whose commas stand where upstream puts them)."""
    shown = " or ".join(f"'{example}', " for example in examples.split())
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


NO_LABEL = _mismatch(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character",
    _LABEL,
    "my-name 123-abc",
)
NO_SUBDOMAIN = _mismatch(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
NO_CASELESS_SUBDOMAIN = _mismatch(
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character",
    _SUBDOMAIN,
    "Example.com",
)
_NO_KEY = _mismatch(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _KEY,
    "MyName my.name 123-abc",
)
_NO_VALUE = _mismatch(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character",
    _VALUE,
    "MyValue my_value 12345",
)
_NO_DNS1035 = _mismatch(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035,
    "my-name abc-123",
)
_NO_C_IDENTIFIER = _mismatch(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_'",
    _C_IDENTIFIER,
    "my_name MY_NAME MyName",
)
_NO_CONDITION_REASON = _mismatch(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _CONDITION_REASON,
    "my_name MY_NAME MyName ReasonA,ReasonB ReasonA:ReasonB",
)
_TOO_MANY_SLASHES = f"{_NO_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"


def dns_label(value: str, _release: int) -> Messages:
    """An RFC 1123 label: at most 63 lower-case letters, digits and ``-``, with a letter or digit at both ends.

    Source: apimachinery ``pkg/util/validation/validation.go``, ``IsDNS1123Label``.
    """
    return _label(value, "characters")


def short_name(value: str, _release: int) -> Messages:
    """An RFC 1123 label, in the words of declarative validation (``k8s-short-name``).

    Source: apimachinery ``pkg/api/validate/content/dns.go``, ``IsDNS1123Label``.
    """
    return _label(value, "bytes")


def dns_subdomain(value: str, _release: int) -> Messages:
    """An RFC 1123 subdomain: labels joined by ``.``, at most 253 bytes in all.

    Source: apimachinery ``pkg/util/validation/validation.go``, ``IsDNS1123Subdomain``.
    """
    return _subdomain(value, "characters")


def long_name(value: str, _release: int) -> Messages:
    """An RFC 1123 subdomain, in the words of declarative validation (``k8s-long-name``).

    Source: apimachinery ``pkg/api/validate/content/dns.go``, ``IsDNS1123Subdomain``.
    """
    return _subdomain(value, "bytes")


def dns_subdomain_caseless(value: str, _release: int) -> Messages:
    """An RFC 1123 subdomain that may have upper-case letters (``k8s-long-name-caseless``).

    Source: apimachinery ``pkg/api/validate/content/dns.go``, ``IsDNS1123SubdomainCaseless``.
    """
    return _wrong(value, _SUBDOMAIN_MAX, "bytes", _caseless_subdomain_pattern, NO_CASELESS_SUBDOMAIN)


def driver_name(value: str, release: Release) -> Messages:
    """A driver's name: an RFC 1123 subdomain once it is lower-cased; its limit of 63 bytes is checked elsewhere.

    Source: kubernetes ``pkg/apis/core/validation/validation.go``, ``ValidateCSIDriverName``.
    """
    return dns_subdomain(go_lower(value), release)


def name_prefix(value: str, release: Release) -> Messages:
    """The start of a generated name: an RFC 1123 subdomain that may end in ``-``.

    Source: apimachinery ``pkg/api/validation/generic.go``, ``NameIsDNSSubdomain``.
    """
    return dns_subdomain(mask_trailing_dash(value), release)


def path_segment_prefix(value: str) -> Messages:
    """The start of a name that can be a part of a URL's path.

    Source: apimachinery ``pkg/api/validation/path/name.go``, ``IsValidPathSegmentPrefix``.
    """
    return tuple(f"may not contain '{char}'" for char in "/%" if char in value)


def path_segment(value: str) -> Messages:
    """A name that can be a part of a URL's path, as all names of objects can.

    Source: apimachinery ``pkg/api/validation/path/name.go``, ``IsValidPathSegmentName``.
    """
    return (f"may not be '{value}'",) if value in {".", ".."} else path_segment_prefix(value)


def url_path(value: str, release: int) -> Messages:
    """A path under which a service answers webhooks, whose segments are DNS subdomains.

    Source: apiserver ``pkg/util/webhook/validation.go``, ``ValidateWebhookService``.
    """
    return tuple(islice(_of_segments(value, release), _MOST_SEGMENTS))


_MOST_SEGMENTS: Final = 10
"""The most faults of a path that are told: each quotes the whole."""


def _of_segments(path: str, release: int) -> Iterator[str]:
    if path in {"", "/"}:
        return
    if not path.startswith("/"):
        yield "must start with a '/'"
    for index, each in enumerate(path[1:].removesuffix("/").split("/")):
        if not each:
            yield f"segment[{index}] may not be empty"
        else:
            yield from (f"segment[{index}]: {detail}" for detail in dns_subdomain(each, release))


def dns1035_label(value: str) -> Messages:
    """An RFC 1035 label, as API versions are.

    Source: apimachinery ``pkg/util/validation/validation.go``, ``IsDNS1035Label``.
    """
    return _wrong(value, _LABEL_MAX, "characters", _dns1035_pattern, _NO_DNS1035)


def mask_trailing_dash(name: str) -> str:
    """Make a prefix such as ``gpu-`` a name that can be checked, by an ``a`` in place of its last two bytes.

    Source: apimachinery ``pkg/api/validation/generic.go``, ``maskTrailingDash``.
    """
    if len(name) == 1 or not name.endswith("-"):
        return name
    # Half of a character is not a name either: it stays as a lone surrogate.
    return name.encode(errors="surrogatepass")[:-2].decode(errors="surrogateescape") + "a"


def label_key(value: str, release: Release) -> Messages:
    """A label key, or qualified name: a name of at most 63 bytes, after an optional subdomain and ``/``.

    Source: apimachinery ``pkg/util/validation/validation.go``, ``IsQualifiedName``; from 1.35
    ``pkg/api/validate/content/kube.go``, ``IsLabelKey``.
    """
    if len(value) <= _LABEL_MAX and _key_pattern.fullmatch(value):  # as nearly all are
        return FINE
    prefix, slash, name = value.partition("/")
    if "/" in name:
        return (f"{'a valid label key' if release >= _CONTENT_SINCE else 'a qualified name'} {_TOO_MANY_SLASHES}",)
    if not slash:
        return _key_name(value, release)
    if not prefix:
        return ("prefix part must be non-empty", *_key_name(name, release))
    wrong_prefix = _subdomain(prefix, _unit(release))
    return (*(f"prefix part {message}" for message in wrong_prefix), *_key_name(name, release))


def annotation_key(value: str, release: Release) -> Messages:
    """An annotation's key: a label key once it is lower-cased.

    Source: apimachinery ``pkg/api/validation/objectmeta.go``, ``ValidateAnnotations``.
    """
    return label_key(go_lower(value), release)


def label_value(value: str, release: Release) -> Messages:
    """A label's value: empty, or at most 63 letters, digits, ``-``, ``_`` and ``.``, a letter or digit at both ends.

    Source: apimachinery ``pkg/util/validation/validation.go``, ``IsValidLabelValue``; from 1.35
    ``pkg/api/validate/content/kube.go``, ``IsLabelValue``.
    """
    return _wrong(value, _LABEL_MAX, _unit(release), _value_pattern, _NO_VALUE)


def c_identifier(value: str, _release: int) -> Messages:
    """A C identifier: letters, digits and ``_``, not starting with a digit; its limit of bytes is checked elsewhere.

    Source: apimachinery ``pkg/util/validation/validation.go``, ``IsCIdentifier``.
    """
    return FINE if _c_identifier_pattern.fullmatch(value) else (_NO_C_IDENTIFIER,)


def condition_reason(value: str, _release: int) -> Messages:
    """A condition's reason: letters, digits, ``_``, ``,`` and ``:``, starting with a letter.

    Source: apimachinery ``pkg/apis/meta/v1/validation/validation.go``, ``isValidConditionReason``.
    """
    return FINE if _condition_reason_pattern.fullmatch(value) else (_NO_CONDITION_REASON,)


def extended_resource_name(value: str, release: Release) -> Messages:
    """An extended resource's name, such as ``example.com/gpu``: a domain that is not Kubernetes' own, ``/``, a name.

    Source: kubernetes ``pkg/apis/core/v1/helper/helpers.go``, ``IsExtendedResourceName``.
    """
    native = "/" not in value or "kubernetes.io/" in value
    if native or value.startswith("requests.") or label_key(f"requests.{value}", release):
        return ("must be a valid extended resource name",)
    return FINE


def prefixed_resource_name(value: str, release: Release) -> Messages:
    """An extended resource's name, in the words of declarative validation (``k8s-extended-resource-name``).

    Source: apimachinery ``pkg/api/validate/strfmt.go``, ``ExtendedResourceName``.
    """
    found = []
    if "/" not in value:
        found.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in value:
        found.append('must not have "kubernetes.io/" domain')
    if value.startswith("requests."):
        found.append('must not have "requests." prefix')
    return (*found, *label_key(f"requests.{value}", release))


def _label(value: str, unit: str) -> Messages:
    has_dots = "." in value and _subdomain_pattern.fullmatch(value)
    return _wrong(value, _LABEL_MAX, unit, _label_pattern, "must not contain dots" if has_dots else NO_LABEL)


def _subdomain(value: str, unit: str) -> Messages:
    return _wrong(value, _SUBDOMAIN_MAX, unit, _subdomain_pattern, NO_SUBDOMAIN)


def _key_name(name: str, release: Release) -> Messages:
    if not name:
        return ("name part must be non-empty", f"name part {_NO_KEY}")
    wrong = _wrong(name, _LABEL_MAX, _unit(release), _key_name_pattern, _NO_KEY)
    return tuple(f"name part {message}" for message in wrong) if wrong else FINE


def _unit(release: Release) -> str:
    return "bytes" if release >= _CONTENT_SINCE else "characters"


def _wrong(value: str, limit: int, unit: str, pattern: Pattern, no_match: str) -> Messages:
    """Return what is wrong with a text that may have so many bytes, and must match a pattern."""
    matches = pattern.fullmatch(value)
    if matches and len(value) <= limit and value.isascii():  # as nearly all are
        return FINE
    too_long = (f"must be no more than {limit} {unit}",) if exceeds(value, limit) else FINE
    return too_long if matches else (*too_long, no_match)


_WIDEST: Final = 4
"""The most bytes of a character."""


def exceeds(text: str, limit: int) -> bool:
    """Tell whether a text has more bytes than a limit; a lone surrogate has those of Go's replacement character."""
    return len(text) * _WIDEST > limit and len(text.encode(errors="surrogatepass")) > limit


def go_lower(text: str) -> str:
    """Lower a text as Go does, character by character: Python makes two of the dotted capital i."""
    return text.replace("\u0130", "i").lower()


# -- versions and UUIDs

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
    """Leave out ``v`` and leading zeros, and write three numbers; empty if that is not a version either.

    A fourth one becomes build metadata, which is not compared.
    """
    numbers = [each.lstrip("0") or "0" if each.isdigit() else each for each in value.removeprefix("v").split(".")]
    *first, last = [*numbers, "0", "0"][:_NUMBERS]
    more = "".join(f".{each}" for each in numbers[_NUMBERS:])
    near = ".".join([*first, last]) + (more.replace(".", "+", 1) if last.isdigit() else more)
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


# -- addresses

_CANONICAL_SINCE = 33
"""The first release that requires the canonical form."""

_IPV4_BITS, _IPV6_BITS = 32, 128
_OCTET = "0*(0|[1-9][0-9]*)"
_padded_ipv4 = Pattern(rf"(^|:){_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}\Z")
_prefix_length_pattern = Pattern("0*([0-9]{1,3})")


def cidr(value: str, release: Release) -> Messages:
    """An IP address and a prefix length, such as ``10.9.8.7/24``; from 1.33 only in canonical form.

    Source: kubernetes ``pkg/apis/resource/validation/validation.go``, ``validateNetworkDeviceData``; apimachinery
    ``pkg/util/validation/ip.go``, ``IsValidInterfaceAddress``.
    """
    canonical = canonical_cidr(value, release)
    if release < _CANONICAL_SINCE:
        return FINE if canonical else ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)
    if not canonical:
        return ("must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",)
    return FINE if value == canonical else (f"must be in canonical form ({quoted(canonical)})",)


def canonical_cidr(value: str, release: Release) -> str:
    """Return the canonical form of an address with a prefix length, which 1.32 compares; ``""`` if it is invalid.

    Args:
        value: The text as submitted; leading zeros are accepted (k8s.io/utils/net ``ParseCIDRSloppy``).
        release: The Kubernetes release; 1.32 keeps the prefix length of an IPv4 address that is written as IPv6.
    """
    text, _, length = value.partition("/")
    prefix_length, found = _prefix_length_pattern.fullmatch(length), address(text)
    if prefix_length is None or found is None:
        return ""
    bits, mapped = int(prefix_length[1]), getattr(found, "ipv4_mapped", None)
    if bits > found.max_prefixlen:
        return ""
    if mapped is None:
        return f"{found.compressed}/{bits}"
    if bits > _IPV4_BITS and release >= _CANONICAL_SINCE:
        bits -= _IPV6_BITS - _IPV4_BITS
    return f"{mapped}/{bits}"


def address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an IP address, which may have leading zeros (k8s.io/utils/net ``ParseIPSloppy``); None if it is none."""
    from ipaddress import ip_address  # few objects have addresses

    try:
        return None if "%" in text else ip_address(_padded_ipv4.sub(r"\1\2.\3.\4.\5", text))
    except ValueError:
        return None


# -- references of images

LATEST: Final = "latest"
_MOST: Final = 255
"""The most characters of a path; references that are much longer are not parsed."""
_DOMAIN_LABEL: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_PART: Final = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DOMAIN: Final = Pattern(rf"(?:{_DOMAIN_LABEL}(?:\.{_DOMAIN_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PATH: Final = Pattern(
    rf"({_PART}(?:/{_PART})*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?"
    "(?P<digest>@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?"
)
_IDENTIFIER: Final = Pattern("[a-f0-9]{64}")


def tag_of(image: str) -> str:
    """Return an image's tag: ``latest`` if it has neither tag nor digest, and nothing if it is malformed.

    Source: distribution's ``reference/normalize.go``, ``ParseNormalizedNamed``; kubernetes ``pkg/util/parsers``.
    """
    if len(image) > 4 * _MOST or _IDENTIFIER.fullmatch(image) is not None:
        return ""
    domain, slash, path = image.partition("/")
    if not slash or not ({".", ":"} & set(domain) or domain == "localhost" or domain != domain.lower()):
        domain, path = "docker.io", image if slash else f"library/{image}"
    match = _PATH.fullmatch(path)
    if match is None or len(match[1]) > _MOST or _DOMAIN.fullmatch(domain) is None:
        return ""
    return match["tag"] or ("" if match["digest"] else LATEST)
