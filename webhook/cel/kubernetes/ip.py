"""The IP library (library/ip.go)."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from operator import attrgetter
from typing import ClassVar, Final

from webhook.cel.checker.declarations import Function, Library, member
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.kubernetes import netip
from webhook.cel.overloads import Overload
from webhook.cel.types.base import BOOL, INT, STRING, Type, opaque
from webhook.cel.types.values import only_class
from webhook.formats import quoted
from webhook.records import NamedTuple

IP_TYPE: Final = opaque("net.IP")
_BROADCAST: Final = IPv4Address("255.255.255.255")


class _Address(NamedTuple):
    address: netip.Address


@only_class
class IP(_Address):
    """An address, as a value of expressions."""

    __slots__ = ()
    cel_type: ClassVar[Type] = IP_TYPE
    cel_equality_cost: ClassVar[int] = 1

    def cel_size(self) -> int:
        """How many bytes the address has."""
        return len(self.address.packed)

    def __str__(self) -> str:
        """Write the address in its canonical form."""
        return str(self.address)


def parse(text: str) -> IP:
    """Reads an address; zones and the form `::ffff:1.2.3.4` are invalid.

    Raises:
        EvaluationError: The text is invalid.
    """
    try:
        address = netip.parse_address(text)
    except ValueError as error:
        raise EvaluationError(f"IP Address {quoted(text)} parse error during conversion from string: {error}") from None
    if netip.zone_of(address):
        raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
    if is_mapped(address):
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IP(address)


def is_mapped(address: netip.Address) -> bool:
    """Whether an address is an IPv4-mapped one of IPv6, `::ffff:1.2.3.4`."""
    return getattr(address, "ipv4_mapped", None) is not None


def _is_link_local_multicast(address: netip.Address) -> bool:
    """Whether the first bits are those of 224.0.0.0/24, or of ff?2::/16, whatever the flags."""
    first, second, third, *_ = address.packed
    return (first, second, third) == (224, 0, 0) if address.version == 4 else (first, second & 0xF) == (0xFF, 2)  # noqa: PLR2004 - as it says


def _is_global_unicast(address: netip.Address) -> bool:
    """Whether an address is of no special kind; private addresses count as global."""
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != _BROADCAST


def _is_canonical(text: str) -> bool:
    return str(parse(text)) == text


def _kind(name: str, id_: str, is_of: Callable[[netip.Address], bool]) -> Function:
    return member(name, id_, (IP_TYPE,), BOOL, lambda ip: is_of(ip.address))


LIBRARY: Final = Library(
    "kubernetes.net.ip",
    types=(IP_TYPE,),
    functions=(
        Function("ip", Overload("string_to_ip", (STRING,), IP_TYPE, parse)),
        Function("isIP", Overload("is_ip", (STRING,), BOOL, succeeds(parse))),
        Function("ip.isCanonical", Overload("ip_is_canonical", (STRING,), BOOL, _is_canonical)),
        Function("string", Overload("ip_to_string", (IP_TYPE,), STRING, str)),
        member("family", "ip_family", (IP_TYPE,), INT, lambda ip: ip.address.version),
        _kind("isUnspecified", "ip_is_unspecified", attrgetter("is_unspecified")),
        _kind("isLoopback", "ip_is_loopback", attrgetter("is_loopback")),
        _kind("isLinkLocalMulticast", "ip_is_link_local_multicast", _is_link_local_multicast),
        _kind("isLinkLocalUnicast", "ip_is_link_local_unicast", attrgetter("is_link_local")),
        _kind("isGlobalUnicast", "ip_is_global_unicast", _is_global_unicast),
    ),
)
