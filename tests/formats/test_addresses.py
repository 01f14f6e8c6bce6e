"""Errors of addresses with a prefix length."""

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webhook.formats import canonical_cidr, cidr
from webhook.release import Release

NO_ADDRESS = ("must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",)
NO_CIDR = ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)


@each_row("value", ["10.9.8.7/24", "0.0.0.0/0", "2001:db8::1/64", "::/0", "fe80::1/128", "1:2:3:4:5:6:7:0/64"])
def test_the_canonical_spelling_is_fine_everywhere(value: str) -> None:
    assert cidr(value, Release(32)) == cidr(value, Release(33)) == cidr(value, Release(36)) == ()


@each_row(
    ("value", "canonical"),
    [
        ("010.009.8.7/24", "10.9.8.7/24"),
        ("10.9.8.7/024", "10.9.8.7/24"),
        ("2001:DB8::1/64", "2001:db8::1/64"),
        ("2001:0db8:0:0:0:0:0:1/64", "2001:db8::1/64"),
        ("1:2:3:4:5:6:7::/64", "1:2:3:4:5:6:7:0/64"),
        ("::1.2.3.4/96", "::102:304/96"),
        ("::ffff:192.168.0.1/120", "192.168.0.1/24"),
        ("::ffff:192.168.000.1/20", "192.168.0.1/20"),
    ],
)
def test_other_spellings_are_refused_since_1_33(value: str, canonical: str) -> None:
    assert cidr(value, Release(36)) == cidr(value, Release(33)) == (f'must be in canonical form ("{canonical}")',)
    assert cidr(value, Release(32)) == ()
    assert canonical_cidr(value, Release(36)) == canonical


def test_1_32_compares_without_shortening_the_prefix_length() -> None:
    assert canonical_cidr("::ffff:192.168.0.1/120", Release(32)) == "192.168.0.1/120"


INVALID = (
    "/ 10.9.8.7 10.9.8/24 10.9.8.7/33 10.9.8.256/24 10.9.8.7/-1 10.9.8.7/+1 10.9.8.7/24/8 10.9.8.7/ "
    "::1/129 ::1/1000 fe80::1%eth0/64 1::2::3/64 0x10.9.8.7/8 1:2:3:4:5:6:7:8::/64 ::1.2.3/64 "
)
ODD = ["", "\u0661.2.3.4/8", "10.9.8.7/\u0668", "10.9.8.7/24\n", "10.9.8.7 /24"]


@each_row("value", [*ODD, *INVALID.split()])
def test_an_invalid_address_has_the_message_of_the_release(value: str) -> None:
    assert canonical_cidr(value, Release(36)) == ""
    assert cidr(value, Release(32)) == NO_CIDR
    assert cidr(value, Release(33)) == cidr(value, Release(36)) == NO_ADDRESS


@given(st.ip_addresses(), st.integers(0, 32))
def test_what_is_spelled_canonically_is_canonical(address: object, bits: int) -> None:
    canonical = canonical_cidr(f"{address}/{bits}", Release(36))
    assert cidr(canonical, Release(36)) == ()
