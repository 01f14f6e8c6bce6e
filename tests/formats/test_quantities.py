"""Parsing, rounding, comparing and writing of quantities."""

from fractions import Fraction
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.rows import each_row, each_row_beside
from webhook.formats.quantities import Quantity, decode_quantity, near_quantity, parse_quantity, quantity

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"
NUMERIC = "unable to parse numeric part of quantity"

POWERS = dict(zip(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), range(-9, 21, 3), strict=True))
POWERS |= {"e3": 3, "E-2": -2, "e+5": 5}
FACTORS = {suffix: Fraction(10) ** power for suffix, power in POWERS.items()} | {
    suffix: Fraction(1024**power) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)
}
NANO = Fraction(1, 10**9)

numbers = st.from_regex(
    r"[-+]?(0{0,2}[0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,12})", fullmatch=True, alphabet="+-.0123456789"
)
suffixes = st.sampled_from(sorted(FACTORS))
quantities = st.builds(str.__add__, numbers, suffixes)


def exact(value: Quantity) -> Fraction:
    return value.sign * int(f"0{value.digits}") * Fraction(10) ** value.power


AS_GIVEN = "0 1 7Gi 1536Mi 100m 5n 12E 1e3 1E-3 -1Gi 1025Ki +5 05 1.500 1. 1.G 01Ki"
"""What has a suffix of its own and no zeros to spare."""
CANONICAL = """
1000=1k, 1024=1024, 1024Ki=1Mi, 8Ki=8Ki, 0.5=500m, 1.5=1500m, 1.5Gi=1536Mi, -1.5Gi=-1536Mi, 0.5Ki=512, 1000Ki=1000Ki,
1.5Ki=1536, 100.035Ki=102435840m, 0.05Gi=53687091200m, 100e1=1e3, 12e-2=120e-3, 10e2=1e3, 1000e0=1e3, 10e-1=1,
0Ki=0, -0=0
"""
ROUNDED_UP_TO_A_NANO = """
3.001n=4n, 0.0000000001=1n, -0.0000000001=-1n, 1.0000000000=1, 1e-1000=1e-9, 1.9999999999=2, 9.9999999999999999999=10,
1e-10=1e-9, 0.000000000001Ki=2n
"""
CAPPED_BUT_ONLY_IN_BINARY = """
8Ei=9223372036854775807, -9Ei=-9223372036854775807, 9223372036854775808=9223372036854775808
"""
UPSTREAMS_ODDITIES = """
1000E=1, 1e1000000000=10e999999999, 1e4294967297=10, 1e-2147483649=10e2147483646,
+=0, -=0, .=0, -.=0, m=0, Ki=0, .Ki=0, E=0, 0e99=0
"""


@each_row(
    ("text", "written"),
    *((text, text) for text in AS_GIVEN.split()),
    *(
        pair.strip(",").split("=")
        for pairs in (CANONICAL, ROUNDED_UP_TO_A_NANO, CAPPED_BUT_ONLY_IN_BINARY, UPSTREAMS_ODDITIES)
        for pair in pairs.split()
    ),
    ("1." + "9" * 700 + "Ki", "2Ki"),
    ("1." + "0" * 700 + "1Ki", "1024000000001n"),
    ("1." + "0" * 700 + "Ki", "1Ki"),
    ("9" * 5000 + "Ki", "9223372036854775807"),
    ("1" * 5000, "1" * 5000),
)
def test_a_quantity_is_written_as_the_api_server_does(text: str, written: str) -> None:
    assert str(parse_quantity(text)) == written
    assert quantity(text, 36) == ()


NO_NUMBERS = "a Bad_Name! ümlaut 1.2.3 1,5 0.1am 1+1.0M 0x1 v1.2 -a 1\u0661 1ki!"
OTHER_SUFFIXES = (
    "1G0 1i 0.1mi 1ki 1e 1e+ 1e- 1- 1+5 1ee5 -3.01e- e 1Kk 1Kii 1K --1 1e9223372036854775808 1e99999999999999999999999"
)


@each_row(
    ("message", "texts"),
    (FORMAT_WRONG, ["", "1 Gi", "1Gi\n", "\t1", *NO_NUMBERS.split()]),
    (SUFFIX, OTHER_SUFFIXES.split()),
    (NUMERIC, [".Ei", "Pi", "-Ei", ".e-20"]),
)
def test_an_invalid_quantity_has_the_decoders_message(message: str, texts: list[str]) -> None:
    for text in texts:
        assert quantity(text, 27) == quantity(text, 36) == (message,)


@each_row(
    ("value", "written"),
    *((None, "0"), (5, "5"), (-1, "-1"), (2048, "2048"), (10**20, "100E"), (1.5, "1500m"), (1000.0, "1k"), (0.0, "0")),
    *((1e16, "10P"), (1e-7, "100e-9"), (1e-9, "1e-9"), (1e21, "1e+21"), (" 1Gi ", "1Gi"), ("\u00a01Gi\u3000", "1Gi")),
)
def test_json_numbers_and_blanks_around_are_fine(value: object, written: str) -> None:
    assert str(decode_quantity(value)) == written


def test_a_number_of_many_digits_is_fine() -> None:
    assert decode_quantity(10**5000).power == 5000


@each_row("value", *(True, False), {}, [], ["1"], float("inf"), float("nan"), "null", "\n1", b"1")
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="quantities must match") as refusal:
        decode_quantity(value)
    assert str(refusal.value) == FORMAT_WRONG


def test_quantities_compare_by_value() -> None:
    ascending = "-1e1000000000 -1Gi -1G -15 -2 -1n 0 1n 999u 1m 2 15 999M 1G 1Gi 1e1000000000"
    for less, more in pairwise(map(parse_quantity, ascending.split())):
        assert less < more
        assert more > less
        assert less != more
    assert parse_quantity("1Ki") == parse_quantity("1024.0") == parse_quantity("1024000m")
    assert len({parse_quantity(text) for text in ("0", "0Ki", "-0", "m", "1Ki", "1024")}) == 2
    assert parse_quantity("1") != "1"


@each_row_beside("one", "other", "total")
def test_a_sum_has_the_notation_of_its_first_summand(one: str, other: str, total: str) -> None:
    assert str(parse_quantity(one) + parse_quantity(other)) == total


@each_row(
    ("text", "value"),
    *(("0", 0), ("100m", 1), ("900m", 1), ("-100m", -1), ("1.5Ki", 1536), ("1.1", 2), ("-1.1", -2), ("1n", 1)),
    *(("8Ei", 2**63 - 1), ("9223372036854775807", 2**63 - 1), ("9223372036854775808", -(2**63))),
    *(("1" * 40, -560780128307875385), ("1" * 400, 8198552921648689607)),
    *(("23188270993337597.7k", 4741526919628046084), ("74821700488704022G", -9021460774342796288)),
    *(("10E", 0), ("23285030197116P", 0), ("1e1000000000", 0)),
)
def test_a_value_is_rounded_away_from_zero_to_64_bits(text: str, value: int) -> None:
    assert parse_quantity(text).value() == value


@each_row(
    ("text", "written"),
    ("1500m", "1.500"),
    ("-12e3", "-12000"),
    ("1e600", f"1{'0' * 600}"),
    ("-12e2147483647", "-12e2147483647"),
)
def test_a_decimal_has_600_zeros_or_an_exponent(text: str, written: str) -> None:
    assert parse_quantity(text).decimal() == written


@given(numbers, suffixes)
def test_the_value_is_exact_to_a_nano_and_to_64_bits_in_binary(number: str, suffix: str) -> None:
    expected = Fraction(number.rstrip(".") or "0") * FACTORS[suffix]
    magnitude = ceil(abs(expected) / NANO) * NANO
    if suffix.endswith("i"):
        magnitude = min(magnitude, Fraction(2**63 - 1))
    assert exact(parse_quantity(number + suffix)) == (magnitude if expected > 0 else -magnitude)


@given(quantities)
def test_what_is_written_is_read_as_the_same_value(text: str) -> None:
    value = parse_quantity(text)
    assume(value.length <= 21)  # beyond the suffix E the API server writes another number
    written = str(value)
    assert parse_quantity(written) == value
    assert str(parse_quantity(written)) == written


@given(quantities, quantities)
def test_order_and_sums_are_those_of_the_numbers(one: str, other: str) -> None:
    a, b = parse_quantity(one), parse_quantity(other)
    assert (a < b, a == b, a > b) == (exact(a) < exact(b), exact(a) == exact(b), exact(a) > exact(b))
    assert exact(a + b) == exact(a) + exact(b)


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP x", max_size=30))
def test_whatever_the_text_there_is_a_quantity_or_a_message(text: str) -> None:
    assert quantity(text, 36) in {(), (FORMAT_WRONG,), (SUFFIX,), (NUMERIC,)}
    if not quantity(text, 36):
        assert str(decode_quantity(text))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_as_its_shortest_text(number: float) -> None:
    assume(not number or abs(number) > 1e-9)
    assert exact(decode_quantity(number)) == exact(parse_quantity(repr(number)))


@each_row_beside("written", "resource", "meant", "is_certain")
def test_an_amount_as_people_write_it_is_understood(
    written: str, resource: str, meant: str, *, is_certain: bool
) -> None:
    assert near_quantity(written, resource) == (meant, is_certain)
