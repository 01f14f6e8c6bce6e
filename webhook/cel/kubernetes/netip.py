"""IP addresses and prefixes as Go parses, prints and compares them (Go net/netip)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from webhook.formats import quoted
from webhook.records import NamedTuple

_V4_BITS: Final = 32
_V6_BITS: Final = 128
_V6_FIELDS: Final = 8
_V4_FIELDS: Final = 4
_MAX_OCTET: Final = 255
_GROUP_DIGITS: Final = 4
_INT64_DIGITS: Final = 19
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")

Networks = Mapping[int, tuple[int, int, int]]
"""By the bits of an address: the number of its first bits to look at, their mask, and their value."""

_ALL: Final = 2**_V6_BITS - 1
UNSPECIFIED: Final[Networks] = {_V4_BITS: (_V4_BITS, _ALL, 0), _V6_BITS: (_V6_BITS, _ALL, 0)}
LOOPBACK: Final[Networks] = {_V4_BITS: (8, _ALL, 127), _V6_BITS: (_V6_BITS, _ALL, 1)}
MULTICAST: Final[Networks] = {_V4_BITS: (4, _ALL, 0xE), _V6_BITS: (8, _ALL, 0xFF)}
LINK_LOCAL_UNICAST: Final[Networks] = {_V4_BITS: (16, _ALL, 0xA9FE), _V6_BITS: (10, _ALL, 0x3FA)}
LINK_LOCAL_MULTICAST: Final[Networks] = {_V4_BITS: (24, _ALL, 0xE00000), _V6_BITS: (16, 0xFF0F, 0xFF02)}
_BROADCAST: Final[Networks] = {_V4_BITS: (_V4_BITS, _ALL, 2**_V4_BITS - 1), _V6_BITS: (0, _ALL, 1)}
_MAPPED: Final[Networks] = {_V4_BITS: (0, _ALL, 1), _V6_BITS: (96, _ALL, 0xFFFF)}


class Address(NamedTuple):
    """An address: its number and its length in bits, 32 or 128; an IPv6 address may have a zone."""

    number: int
    bits: int
    zone: str = ""

    @property
    def is_mapped(self) -> bool:
        """Whether it is an IPv4-mapped IPv6 address, `::ffff:1.2.3.4`."""
        return self.is_in(_MAPPED)

    def top(self, count: int) -> int:
        """Its first bits, as a number."""
        return self.number >> (self.bits - count)

    def masked(self, length: int) -> Address:
        """The address with all bits zero except the first ones."""
        rest = self.bits - length
        return self._replace(number=self.number >> rest << rest)

    def is_in(self, networks: Networks) -> bool:
        """Whether it belongs to a kind, `LOOPBACK` for example."""
        count, mask, value = networks[self.bits]
        return self.top(count) & mask == value

    @property
    def is_global_unicast(self) -> bool:
        """Whether it is of no special kind, nor 255.255.255.255; private addresses count as global."""
        return not any(map(self.is_in, (UNSPECIFIED, LOOPBACK, MULTICAST, LINK_LOCAL_UNICAST, _BROADCAST)))

    def __str__(self) -> str:
        """The address in its canonical form, RFC 5952."""
        from ipaddress import IPv4Address, IPv6Address  # few expressions print addresses

        return str((IPv4Address if self.bits == _V4_BITS else IPv6Address)(self.number))


class Prefix(NamedTuple):
    """A network: an address, whose host bits are kept, and the length of the prefix."""

    address: Address
    length: int

    def contains(self, address: Address) -> bool:
        """Whether an address is in the network."""
        return address.bits == self.address.bits and address.top(self.length) == self.address.top(self.length)

    def contains_prefix(self, other: Prefix) -> bool:
        """Whether all of another network is in this one."""
        return self.length <= other.length and self.contains(other.address)

    def __str__(self) -> str:
        """The network in CIDR notation."""
        return f"{self.address}/{self.length}"


class _Refused(ValueError):  # noqa: N818 - caught where it is raised
    """The error of an address, and the text from which it starts."""

    def __init__(self, message: str, at: str = "") -> None:
        super().__init__(f"{message} (at {quoted(at)})" if at else message)


def _refuse(message: str, at: str = "") -> NoReturn:
    raise _Refused(message, at)


def parse_address(text: str) -> Address:
    """Reads an address.

    Raises:
        ValueError: The text is invalid; the message is Go's.
    """
    try:
        for char in text:
            if char == ".":
                return Address(_parse_v4(text), _V4_BITS)
            if char == ":":
                return _parse_v6(text)
            if char == "%":
                _refuse("missing IPv6 address")
        _refuse("unable to parse IP")
    except _Refused as error:
        raise ValueError(f"ParseAddr({quoted(text)}): {error}") from None


def _parse_v4(text: str) -> int:
    number = value = digits = dots = 0
    for position, char in enumerate(text):
        if char in _DIGITS:
            if digits == 1 and value == 0:
                _refuse("IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > _MAX_OCTET:
                _refuse("IPv4 field has value >255")
        elif char == ".":
            if position in {0, len(text) - 1} or text[position - 1] == ".":
                _refuse("IPv4 field must have at least one digit", text[position:])
            dots += 1
            if dots == _V4_FIELDS:
                _refuse("IPv4 address too long")
            number = number << 8 | value
            value = digits = 0
        else:
            _refuse("unexpected character", text[position:])
    if dots < _V4_FIELDS - 1:
        _refuse("IPv4 address too short")
    return number << 8 | value


def _parse_v6(text: str) -> Address:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        _refuse("zone must be a non-empty string")
    fields, gap = _parse_fields(rest)
    if len(fields) < _V6_FIELDS:
        if gap is None:
            _refuse("address string too short")
        fields[gap:gap] = [0] * (_V6_FIELDS - len(fields))
    elif gap is not None:
        _refuse("the :: must expand to at least one field of zeros")
    number = 0
    for field in fields:
        number = number << 16 | field
    return Address(number, _V6_BITS, zone)


def _parse_fields(rest: str) -> tuple[list[int], int | None]:
    """The fields, and the index of the field after `::`."""
    fields: list[int] = []
    gap: int | None = None
    if rest.startswith("::"):
        gap = 0
        rest = rest[2:]
        if not rest:
            return fields, gap
    while len(fields) < _V6_FIELDS:
        size = _hex_digits(rest)
        if rest[size : size + 1] == ".":
            fields += _embedded_v4(rest, len(fields), gap)
            return fields, gap
        fields.append(int(rest[:size], 16))
        rest = rest[size:]
        if not rest:
            return fields, gap
        rest = _after_colon(rest)
        if rest[0] == ":":
            if gap is not None:
                _refuse("multiple :: in address", rest)
            gap = len(fields)
            rest = rest[1:]
            if not rest:
                return fields, gap
    _refuse("trailing garbage after address", rest)


def _after_colon(rest: str) -> str:
    if rest[0] != ":":
        _refuse("unexpected character, want colon", rest)
    if rest == ":":
        _refuse("colon must be followed by more characters", rest)
    return rest[1:]


def _hex_digits(rest: str) -> int:
    size = 0
    while size < len(rest) and rest[size] in _HEX:
        if size == _GROUP_DIGITS:
            _refuse("each group must have 4 or less digits", rest)
        size += 1
    if not size:
        _refuse("each colon-separated field must have at least one digit", rest)
    return size


def _embedded_v4(rest: str, before: int, gap: int | None) -> tuple[int, int]:
    if gap is None and before != _V6_FIELDS - 2:
        _refuse("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if before > _V6_FIELDS - 2:
        _refuse("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    number = _parse_v4(rest)
    return number >> 16, number & 0xFFFF


def parse_prefix(text: str) -> Prefix:
    """Reads a network.

    Raises:
        ValueError: The text is invalid; the message is Go's.
    """
    address, slash, length = text.rpartition("/")
    try:
        if not slash:
            _refuse("no '/'")
        parsed = parse_address(address)
        if parsed.zone:
            _refuse("IPv6 zones cannot be present in a prefix")
        bits = _prefix_length(length)
        if bits > parsed.bits:
            _refuse("prefix length out of range")
    except ValueError as error:
        raise ValueError(f"netip.ParsePrefix({quoted(text)}): {error}") from None
    return Prefix(parsed, bits)


def _prefix_length(length: str) -> int:
    is_number = bool(length) and all(char in _DIGITS for char in length)
    if not is_number or (length[0] == "0" and length != "0") or len(length) > _INT64_DIGITS:
        _refuse(f"bad bits after slash: {quoted(length)}")
    return int(length)
