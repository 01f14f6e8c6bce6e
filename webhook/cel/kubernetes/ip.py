"""The IP library (library/ip.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from webhook.cel.checker.declarations import Function, Library
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.kubernetes import netip
from webhook.cel.overloads import Overload
from webhook.cel.types.base import BOOL, INT, STRING, Type, opaque
from webhook.cel.types.values import only_class
from webhook.formats import quoted

IP_TYPE: Final = opaque("net.IP")
_FAMILIES: Final = {32: 4, 128: 6}
_BITS_A_BYTE: Final = 8


@only_class
class IP:
    """An address, as a value of expressions."""

    __slots__ = ("address",)
    cel_type: ClassVar[Type] = IP_TYPE
    cel_equality_cost: ClassVar[int] = 1

    def __init__(self, address: netip.Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        """Equal addresses are equal."""
        return isinstance(other, IP) and self.address == other.address

    def __hash__(self) -> int:
        """Equal addresses hash alike."""
        return hash(self.address)

    def cel_size(self) -> int:
        """How many bytes the address has."""
        return self.address.bits // _BITS_A_BYTE

    def cel_string(self) -> str:
        """The address in its canonical form."""
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
    if address.zone:
        raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
    if address.is_mapped:
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IP(address)


def _is_canonical(text: str) -> bool:
    return str(parse(text).address) == text


def _family(ip: IP) -> int:
    return _FAMILIES[ip.address.bits]


def _member(name: str, id_: str, result: Type, implementation: Callable[[IP], object]) -> Function:
    return Function(name, Overload(id_, (IP_TYPE,), result, implementation, member=True))


def _kind(name: str, id_: str, networks: netip.Networks) -> Function:
    return _member(name, id_, BOOL, lambda ip: ip.address.is_in(networks))


LIBRARY: Final = Library(
    "kubernetes.net.ip",
    types=(IP_TYPE,),
    functions=(
        Function("ip", Overload("string_to_ip", (STRING,), IP_TYPE, parse)),
        Function("isIP", Overload("is_ip", (STRING,), BOOL, succeeds(parse))),
        Function("ip.isCanonical", Overload("ip_is_canonical", (STRING,), BOOL, _is_canonical)),
        Function("string", Overload("ip_to_string", (IP_TYPE,), STRING, IP.cel_string)),
        _member("family", "ip_family", INT, _family),
        _kind("isUnspecified", "ip_is_unspecified", netip.UNSPECIFIED),
        _kind("isLoopback", "ip_is_loopback", netip.LOOPBACK),
        _kind("isLinkLocalMulticast", "ip_is_link_local_multicast", netip.LINK_LOCAL_MULTICAST),
        _kind("isLinkLocalUnicast", "ip_is_link_local_unicast", netip.LINK_LOCAL_UNICAST),
        _member("isGlobalUnicast", "ip_is_global_unicast", BOOL, lambda ip: ip.address.is_global_unicast),
    ),
)
