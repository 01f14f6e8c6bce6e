from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cel.judging import outcome
from tests.rows import each_row, each_row_beside
from webhook.cel.kubernetes import net

FAILED = "network address parse error during conversion from string: "
NETWORK = f"error: {FAILED}{FAILED}netip.ParsePrefix({{0}}): {{1}}"


@each_row_beside("expression", "expected")
def test_addresses_and_networks_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row_beside("text", "reason")
def test_an_invalid_address_has_gos_message(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        net.parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {reason}'


@each_row(
    ("text", "reason"),
    [
        ("10.0.0.0", "no '/'"),
        ("fe80::1%eth0/64", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/33", "prefix length out of range"),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/+8", 'bad bits after slash: "+8"'),
        ("x/8", 'ParseAddr("x"): unable to parse IP'),
    ],
)
def test_an_invalid_network_has_gos_message(text: str, reason: str) -> None:
    assert outcome(f'cidr("{text}")') == NETWORK.format(f'"{text}"', reason)


@given(st.ip_addresses())
def test_addresses_are_written_as_python_writes_them(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert int(address) == int(net.parse_address(str(address)))
    if address.version == 4 or address.ipv4_mapped is None:
        assert str(net.parse_address(address.exploded)) == address.compressed


@given(st.text(alphabet="0123456789abcdef:./%x", max_size=30))
def test_no_text_makes_the_parsers_raise_anything_else(text: str) -> None:
    for parse in (net.parse_address, net.parse_prefix):
        try:
            parse(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017  # both outcomes are right
