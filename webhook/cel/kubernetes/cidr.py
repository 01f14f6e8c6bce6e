"""The CIDR library (library/cidr.go)."""

from __future__ import annotations

from typing import ClassVar, Final

from webhook.cel.checker.declarations import Function, Library, member
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.kubernetes import ip, netip
from webhook.cel.kubernetes.ip import IP, IP_TYPE
from webhook.cel.overloads import Overload
from webhook.cel.runtime.operators import no_such_overload
from webhook.cel.types.base import BOOL, INT, STRING, Type, opaque
from webhook.cel.types.values import only_class
from webhook.formats import quoted

CIDR_TYPE: Final = opaque("net.CIDR")
_FAILED: Final = "network address parse error during conversion from string: "
_BITS_A_BYTE: Final = 8


@only_class
class CIDR(netip.Prefix):
    """A network, as a value of expressions."""

    __slots__ = ()
    cel_type: ClassVar[Type] = CIDR_TYPE
    cel_equality_cost: ClassVar[int] = 1

    def cel_size(self) -> int:
        """The number of bytes of the address that count."""
        return -(-self.length // _BITS_A_BYTE)


def parse(text: str) -> CIDR:
    """Reads a network.

    Raises:
        EvaluationError: The text is invalid.
    """
    # The API server's texts have the prefix twice.
    try:
        prefix = netip.parse_prefix(text)
    except ValueError as error:
        raise EvaluationError(f"{_FAILED}{_FAILED}{error}") from None
    if ip.is_mapped(prefix.address):
        raise EvaluationError(f"{_FAILED}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return CIDR(*prefix)


def _contains_ip(cidr: CIDR, address: IP) -> bool:
    return cidr.contains(address.address)


def _contains_ip_text(cidr: CIDR, text: str) -> bool:
    try:
        address = ip.parse(text)
    except EvaluationError:  # which upstream does not show
        raise no_such_overload() from None
    return _contains_ip(cidr, address)


def _contains_cidr(cidr: CIDR, other: CIDR | str) -> bool:
    return cidr.contains_prefix(parse(other) if isinstance(other, str) else other)


LIBRARY: Final = Library(
    "kubernetes.net.cidr",
    types=(CIDR_TYPE,),
    functions=(
        Function("cidr", Overload("string_to_cidr", (STRING,), CIDR_TYPE, parse)),
        Function("isCIDR", Overload("is_cidr", (STRING,), BOOL, succeeds(parse))),
        Function("string", Overload("cidr_to_string", (CIDR_TYPE,), STRING, str)),
        Function(
            "containsIP",
            Overload("cidr_contains_ip_string", (CIDR_TYPE, STRING), BOOL, _contains_ip_text, member=True),
            Overload("cidr_contains_ip_ip", (CIDR_TYPE, IP_TYPE), BOOL, _contains_ip, member=True),
        ),
        Function(
            "containsCIDR",
            Overload("cidr_contains_cidr_string", (CIDR_TYPE, STRING), BOOL, _contains_cidr, member=True),
            Overload("cidr_contains_cidr", (CIDR_TYPE, CIDR_TYPE), BOOL, _contains_cidr, member=True),
        ),
        member("ip", "cidr_ip", (CIDR_TYPE,), IP_TYPE, lambda cidr: IP(cidr.address)),
        member("prefixLength", "cidr_prefix_length", (CIDR_TYPE,), INT, lambda cidr: cidr.length),
        member("masked", "cidr_masked", (CIDR_TYPE,), CIDR_TYPE, CIDR.masked),
    ),
)
