"""IP addresses with a prefix length, parsed and printed as in Go."""

from __future__ import annotations

from webhook.formats.names import FINE, Messages
from webhook.patterns import Pattern
from webhook.problem import quoted
from webhook.release import Release

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
    from ipaddress import IPv4Address, ip_address  # few objects have addresses

    text, _, length = value.partition("/")
    prefix_length = _prefix_length_pattern.fullmatch(length)
    if prefix_length is None or "%" in text:
        return ""
    try:
        address = ip_address(_padded_ipv4.sub(r"\1\2.\3.\4.\5", text))
    except ValueError:
        return ""
    bits = int(prefix_length[1])
    if bits > address.max_prefixlen:
        return ""
    if isinstance(address, IPv4Address) or address.ipv4_mapped is None:
        return f"{address.compressed}/{bits}"
    if bits > _IPV4_BITS and release >= _CANONICAL_SINCE:
        bits -= _IPV6_BITS - _IPV4_BITS
    return f"{address.ipv4_mapped}/{bits}"
