"""IP addresses and prefixes as Go parses, prints and compares them (Go net/netip)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Final, NoReturn, Self

from webhook.budget import work
from webhook.formats import quoted
from webhook.records import NamedTuple

_V6_FIELDS: Final = 8
_V4_FIELDS: Final = 4
_MAX_OCTET: Final = 255
_GROUP_DIGITS: Final = 4
_INT64_DIGITS: Final = 19
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_DIGITS: Final = frozenset("0123456789")
_READ: Final = 64
"""The number of characters read and quoted for a unit of work."""

Address = IPv4Address | IPv6Address
"""An address; one of IPv6 may have a zone."""


class Prefix(NamedTuple):
    """A network: an address, whose host bits are kept, and the length of the prefix."""

    address: Address
    length: int

    def masked(self) -> Self:
        """The network without host bits."""
        rest = self.address.max_prefixlen - self.length
        return self._replace(address=type(self.address)(int(self.address) >> rest << rest))

    def contains(self, address: Address) -> bool:
        """Whether an address is in the network."""
        rest = self.address.max_prefixlen - self.length
        return type(address) is type(self.address) and int(address) >> rest == int(self.address) >> rest

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
    work(len(text) // _READ)
    try:
        for char in text:
            if char == ".":
                return IPv4Address(_parse_v4(text))
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


def _parse_v6(text: str) -> IPv6Address:
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
    address = IPv6Address(number)
    return IPv6Address(f"{address}%{zone}") if zone else address


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


def zone_of(address: Address) -> str:
    """The zone of an address; empty if it has none."""
    return (isinstance(address, IPv6Address) and address.scope_id) or ""


def parse_prefix(text: str) -> Prefix:
    """Reads a network.

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
        bits = _prefix_length(length)
        if bits > parsed.max_prefixlen:
            _refuse("prefix length out of range")
    except ValueError as error:
        raise ValueError(f"netip.ParsePrefix({quoted(text)}): {error}") from None
    return Prefix(parsed, bits)


def _prefix_length(length: str) -> int:
    is_number = bool(length) and all(char in _DIGITS for char in length)
    if not is_number or (length[0] == "0" and length != "0") or len(length) > _INT64_DIGITS:
        _refuse(f"bad bits after slash: {quoted(length)}")
    return int(length)
