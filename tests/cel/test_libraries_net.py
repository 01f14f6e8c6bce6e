from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cel.judging import outcome
from tests.rows import each_row
from webhook.cel.kubernetes import netip

PARSED = "error: IP Address {0} parse error during conversion from string: ParseAddr({0}): {1}"
FAILED = "network address parse error during conversion from string: "
NETWORK = f"error: {FAILED}{FAILED}netip.ParsePrefix({{0}}): {{1}}"


@each_row(
    ("expression", "expected"),
    [
        ('ip("10.0.0.1").family()', 4),
        ('ip("::1").family()', 6),
        ('string(ip("2001:DB8::0001"))', "2001:db8::1"),
        ('string(ip("1:0:0:2:0:0:0:3"))', "1:0:0:2::3"),
        ('string(ip("1:0:2:3:4:5:6:7"))', "1:0:2:3:4:5:6:7"),
        ('string(ip("::"))', "::"),
        ('string(ip("192.0.2.1"))', "192.0.2.1"),
        ('ip("::1.2.3.4") == ip("::102:304")', True),
        ('ip("1.2.3.4") == ip("1.2.3.5")', False),
        ('ip("1.2.3.4") in [ip("1.2.3.4")]', True),
        ('dyn(ip("1.2.3.4")) == dyn("1.2.3.4")', "error: no such overload"),
        ('type(ip("::1")) == net.IP', True),
        ('ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified()', True),
        ('ip("127.9.9.9").isLoopback() && ip("::1").isLoopback()', True),
        ('ip("126.0.0.1").isLoopback()', False),
        ('ip("169.254.1.1").isLinkLocalUnicast() && ip("febf::1").isLinkLocalUnicast()', True),
        ('ip("224.0.0.9").isLinkLocalMulticast() && ip("ff32::1").isLinkLocalMulticast()', True),
        ('ip("224.0.1.9").isLinkLocalMulticast() || ip("ff05::1").isLinkLocalMulticast()', False),
        ('ip("10.0.0.1").isGlobalUnicast() && ip("fc00::1").isGlobalUnicast()', True),
        ('["0.0.0.0", "127.0.0.1", "224.0.0.1"].exists(x, ip(x).isGlobalUnicast())', False),
        ('["169.254.0.1", "255.255.255.255"].exists(x, ip(x).isGlobalUnicast())', False),
        ('["::", "::1", "ff02::1", "fe80::1"].exists(x, ip(x).isGlobalUnicast())', False),
        ('isIP("10.0.0.1") && !isIP("10.0.0") && !isIP("::ffff:1.2.3.4") && !isIP("fe80::1%eth0")', True),
        ('ip.isCanonical("::1") && !ip.isCanonical("0:0:0:0:0:0:0:1")', True),
        ('ip.isCanonical("x")', PARSED.format('"x"', "unable to parse IP")),
        ('ip("::ffff:10.0.0.1")', 'error: IPv4-mapped IPv6 address "::ffff:10.0.0.1" is not allowed'),
        ('ip("fe80::1%eth0")', 'error: IP address "fe80::1%eth0" with zone value is not allowed'),
        ('cidr("10.0.0.0/8").containsIP("10.9.9.9") && cidr("10.0.0.0/8").containsIP(ip("10.9.9.9"))', True),
        ('cidr("10.0.0.0/8").containsIP("::a00:1")', False),
        ('cidr("10.0.0.0/8").containsIP("x")', "error: no such overload"),
        ('cidr("0.0.0.0/0").containsCIDR("10.0.0.0/8") && !cidr("0.0.0.0/0").containsCIDR("::/0")', True),
        ('cidr("10.0.0.0/8").containsCIDR(cidr("10.0.0.0/7"))', False),
        ('cidr("10.1.2.3/8").ip() == ip("10.1.2.3")', True),
        ('string(cidr("10.1.2.3/8").masked())', "10.0.0.0/8"),
        ('cidr("10.1.2.3/8") == cidr("10.0.0.0/8")', False),
        ('cidr("2001:db8::/32").prefixLength()', 32),
        ('type(cidr("::/0")) == net.CIDR', True),
        ('isCIDR("10.0.0.1/8") && !isCIDR("10.0.0.0/33") && !isCIDR("10.0.0.0")', True),
        (
            'cidr("::ffff:1.2.3.4/100")',
            f'error: {FAILED}IPv4-mapped IPv6 address "::ffff:1.2.3.4/100" is not allowed',
        ),
    ],
)  # fmt: skip
def test_addresses_and_networks_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row(
    ("text", "reason"),
    [
        ("", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("256.2.3.4", "IPv4 field has value >255"),
        ("1..3.4", 'IPv4 field must have at least one digit (at ".3.4")'),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.x", 'unexpected character (at "x")'),
        ("fe80::1%", "zone must be a non-empty string"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:2:x", 'each colon-separated field must have at least one digit (at "x")'),
        ("1:2-3", 'unexpected character, want colon (at "-3")'),
        ("1:2:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3", "address string too short"),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        (
            "::1:2:3:4:5:6:7:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
    ],
)  # fmt: skip
def test_an_invalid_address_has_gos_message(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        netip.parse_address(text)
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
    assert int(address) == int(netip.parse_address(str(address)))
    if address.version == 4 or address.ipv4_mapped is None:
        assert str(netip.parse_address(address.exploded)) == address.compressed


@given(st.text(alphabet="0123456789abcdef:./%x", max_size=30))
def test_no_text_makes_the_parsers_raise_anything_else(text: str) -> None:
    for parse in (netip.parse_address, netip.parse_prefix):
        try:
            parse(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017  # both outcomes are right
