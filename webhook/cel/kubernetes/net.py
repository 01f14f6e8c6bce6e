"""IP addresses and networks as values of expressions, read, written and compared as in Go.

Follows library/ip.go, library/cidr.go and Go's net/netip.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_interface
from operator import attrgetter
from typing import Final, NamedTuple, NoReturn

from webhook.budget import work
from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.functions import Overload, member
from webhook.cel.runtime.operators import no_such_overload
from webhook.cel.types.base import BOOL, INT, STRING, opaque
from webhook.cel.types.values import only_class
from webhook.formats import quoted
from webhook.patterns import Pattern

IP_TYPE: Final = opaque("net.IP")
CIDR_TYPE: Final = opaque("net.CIDR")
_BROADCAST: Final = IPv4Address("255.255.255.255")
_FAILED: Final = "network address parse error during conversion from string: "
_BITS_A_BYTE: Final = 8
_V6_FIELDS: Final = 8
_V4_FIELDS: Final = 4
_MAX_OCTET: Final = 255
_GROUP_DIGITS: Final = 4
_INT64_DIGITS: Final = 19
_HEX: Final = Pattern("[0-9a-fA-F]*")
_DIGITS: Final = frozenset("0123456789")
_READ: Final = 64
"""The number of characters read and quoted for a unit of work."""

Address = IPv4Address | IPv6Address
"""An address; one of IPv6 may have a zone."""
Network = IPv4Interface | IPv6Interface
"""An address, whose host bits are kept, with the length of its network's prefix."""


def _refuse(message: str, at: str = "") -> NoReturn:
    """Refuse an address, from some text in it on."""
    raise ValueError(f"{message} (at {quoted(at)})" if at else message)


def parse_address(text: str) -> Address:
    """Read an address.

    Raises:
        ValueError: The text is invalid; the message is Go's.
    """
    work(len(text) // _READ)
    try:
        for char in text:
            if char == ".":
                _expect_v4(text)
                return IPv4Address(text)
            if char == ":":
                _expect_v6(text)
                address, percent, _ = text.partition("%")  # only whether it has a zone matters; Python refuses some
                return IPv6Address(f"{address}%zone" if percent else address)
            if char == "%":
                _refuse("missing IPv6 address")
        _refuse("unable to parse IP")
    except ValueError as error:
        raise ValueError(f"ParseAddr({quoted(text)}): {error}") from None


def _expect_v4(text: str) -> None:
    dot, fields = 0, text.split(".")
    for index, field in enumerate(fields):
        octet = field[: len(field) - len(field.lstrip("0123456789"))]
        if len(octet) > 1 and octet[0] == "0":
            _refuse("IPv4 field has octet with leading zero")
        if octet and int(octet[:4]) > _MAX_OCTET:
            _refuse("IPv4 field has value >255")
        dot += len(octet)
        if octet != field:
            _refuse("unexpected character", text[dot:])
        is_last = index == len(fields) - 1
        if not is_last and (not field or dot == len(text) - 1):
            _refuse("IPv4 field must have at least one digit", text[dot:])
        if not is_last and index == _V4_FIELDS - 1:
            _refuse("IPv4 address too long")
        dot += 1
    if len(fields) < _V4_FIELDS:
        _refuse("IPv4 address too short")


def _expect_v6(text: str) -> None:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        _refuse("zone must be a non-empty string")
    fields, has_gap = _fields(rest)
    if fields < _V6_FIELDS and not has_gap:
        _refuse("address string too short")
    if fields == _V6_FIELDS and has_gap:
        _refuse("the :: must expand to at least one field of zeros")


def _fields(rest: str) -> tuple[int, bool]:
    """The number of fields, and whether there is `::` among them."""
    fields, has_gap = 0, rest.startswith("::")
    rest = rest.removeprefix("::")
    while rest:
        if fields == _V6_FIELDS:
            _refuse("trailing garbage after address", rest)
        size = _hex_digits(rest)
        if rest[size : size + 1] == ".":
            if not has_gap and fields != _V6_FIELDS - 2:
                _refuse("embedded IPv4 address must replace the final 2 fields of the address", rest)
            if fields > _V6_FIELDS - 2:
                _refuse("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            _expect_v4(rest)
            return fields + 2, has_gap
        fields, rest = fields + 1, rest[size:]
        if rest == ":":
            _refuse("colon must be followed by more characters", rest)
        if rest and rest[0] != ":":
            _refuse("unexpected character, want colon", rest)
        rest = rest[1:]
        if rest.startswith(":"):
            if has_gap:
                _refuse("multiple :: in address", rest)
            has_gap, rest = True, rest[1:]
    return fields, has_gap


def _hex_digits(rest: str) -> int:
    size: int = _HEX.match(rest).end()
    if not size:
        _refuse("each colon-separated field must have at least one digit", rest)
    if size > _GROUP_DIGITS:
        _refuse("each group must have 4 or less digits", rest)
    return size


def zone_of(address: Address) -> str:
    """The zone of an address; empty if it has none."""
    return (isinstance(address, IPv6Address) and address.scope_id) or ""


def parse_prefix(text: str) -> Network:
    """Read a network.

    Raises:
        ValueError: The text is invalid; the message is Go's.
    """
    work(len(text) // _READ)
    address, slash, length = text.rpartition("/")
    try:
        if not slash:
            _refuse("no '/'")
        parsed = parse_address(address)
        if zone_of(parsed):
            _refuse("IPv6 zones cannot be present in a prefix")
        is_number = bool(length) and _DIGITS.issuperset(length) and len(length) <= _INT64_DIGITS
        if not is_number or (length[0] == "0" and length != "0"):
            _refuse(f"bad bits after slash: {quoted(length)}")
        if int(length) > parsed.max_prefixlen:
            _refuse("prefix length out of range")
    except ValueError as error:
        raise ValueError(f"netip.ParsePrefix({quoted(text)}): {error}") from None
    return ip_interface((parsed.packed, int(length)))


# -- values of expressions


@only_class(IP_TYPE, cel_equality_cost=1)
class IP(NamedTuple):
    """An address, as a value of expressions."""

    address: Address

    def cel_size(self) -> int:
        """How many bytes the address has."""
        return len(self.address.packed)

    def __str__(self) -> str:
        """Write the address in its canonical form."""
        return str(self.address)


@only_class(CIDR_TYPE, cel_equality_cost=1)
class CIDR(NamedTuple):
    """A network, as a value of expressions."""

    interface: Network

    @property
    def length(self) -> int:
        """The length of the prefix."""
        return self.interface.network.prefixlen

    def cel_size(self) -> int:
        """The number of bytes of the address that count."""
        return -(-self.length // _BITS_A_BYTE)

    def __str__(self) -> str:
        """The network in CIDR notation."""
        return str(self.interface)


def _ip(text: str) -> IP:
    try:
        address = parse_address(text)
    except ValueError as error:
        raise EvaluationError(f"IP Address {quoted(text)} parse error during conversion from string: {error}") from None
    if zone_of(address):
        raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IP(address)


def _cidr(text: str) -> CIDR:
    # The API server's texts have the prefix twice.
    try:
        interface = parse_prefix(text)
    except ValueError as error:
        raise EvaluationError(f"{_FAILED}{_FAILED}{error}") from None
    if _is_mapped(interface):
        raise EvaluationError(f"{_FAILED}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return CIDR(interface)


def _is_mapped(address: Address) -> bool:
    """Whether an address is an IPv4-mapped one of IPv6, `::ffff:1.2.3.4`."""
    return getattr(address, "ipv4_mapped", None) is not None


def _is_link_local_multicast(address: Address) -> bool:
    """Whether the first bits are those of 224.0.0.0/24, or of ff?2::/16, whatever the flags."""
    first, second, third, *_ = address.packed
    return (first, second, third) == (224, 0, 0) if address.version == 4 else (first, second & 0xF) == (0xFF, 2)  # noqa: PLR2004 - as it says


def _is_global_unicast(address: Address) -> bool:
    """Whether an address is of no special kind; private addresses count as global."""
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not special and address != _BROADCAST


def _kind(name: str, id_: str, is_of: Callable[[Address], bool]) -> Overload:
    return member(name, id_, (IP_TYPE,), BOOL, lambda ip: is_of(ip.address))


def _contains_ip(cidr: CIDR, address: IP | str) -> bool:
    try:
        return (_ip(address) if isinstance(address, str) else address).address in cidr.interface.network
    except EvaluationError:  # which upstream does not show
        raise no_such_overload() from None


def _contains_cidr(cidr: CIDR, other: CIDR | str) -> bool:
    if isinstance(other, str):
        other = _cidr(other)
    return cidr.length <= other.length and other.interface.ip in cidr.interface.network


LIBRARY: Final = Library(
    types=(IP_TYPE, CIDR_TYPE),
    functions=(
        Overload("ip", "string_to_ip", (STRING,), IP_TYPE, _ip),
        Overload("isIP", "is_ip", (STRING,), BOOL, succeeds(_ip)),
        Overload("ip.isCanonical", "ip_is_canonical", (STRING,), BOOL, lambda text: str(_ip(text)) == text),
        Overload("string", "ip_to_string", (IP_TYPE,), STRING, str),
        Overload("string", "cidr_to_string", (CIDR_TYPE,), STRING, str),
        member("family", "ip_family", (IP_TYPE,), INT, lambda ip: ip.address.version),
        _kind("isUnspecified", "ip_is_unspecified", attrgetter("is_unspecified")),
        _kind("isLoopback", "ip_is_loopback", attrgetter("is_loopback")),
        _kind("isLinkLocalMulticast", "ip_is_link_local_multicast", _is_link_local_multicast),
        _kind("isLinkLocalUnicast", "ip_is_link_local_unicast", attrgetter("is_link_local")),
        _kind("isGlobalUnicast", "ip_is_global_unicast", _is_global_unicast),
        Overload("cidr", "string_to_cidr", (STRING,), CIDR_TYPE, _cidr),
        Overload("isCIDR", "is_cidr", (STRING,), BOOL, succeeds(_cidr)),
        member("containsIP", "cidr_contains_ip_string", (CIDR_TYPE, STRING), BOOL, _contains_ip),
        member("containsIP", "cidr_contains_ip_ip", (CIDR_TYPE, IP_TYPE), BOOL, _contains_ip),
        member("containsCIDR", "cidr_contains_cidr_string", (CIDR_TYPE, STRING), BOOL, _contains_cidr),
        member("containsCIDR", "cidr_contains_cidr", (CIDR_TYPE, CIDR_TYPE), BOOL, _contains_cidr),
        member("ip", "cidr_ip", (CIDR_TYPE,), IP_TYPE, lambda cidr: IP(cidr.interface.ip)),
        member("prefixLength", "cidr_prefix_length", (CIDR_TYPE,), INT, lambda cidr: cidr.length),
        member(
            "masked", "cidr_masked", (CIDR_TYPE,), CIDR_TYPE, lambda cidr: CIDR(ip_interface(cidr.interface.network))
        ),
    ),
)
