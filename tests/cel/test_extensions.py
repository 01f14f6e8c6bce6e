"""The extension libraries of cel-go, and times and texts of the standard one."""

# ruff: noqa: E501  # formatted texts have such characters, and errors of cel-go are long lines

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.cel import error_of, evaluate
from tests.rows import each_row, each_row_beside
from webhook.cel.runtime import conversions
from webhook.cel.types.values import Duration, Timestamp


@each_row(
    ("text", "value"),
    # texts
    ("'tacocat'.charAt(3)", "o"), ("'tacocat'.charAt(7)", ""), ("'tacocat'.indexOf('a', 2)", 5),
    ("'tacocat'.indexOf('')", 0), ("'tacocat'.indexOf('z')", -1), ("'tacocat'.indexOf('a', 99)", -1),
    ("'tacocat'.lastIndexOf('at')", 5), ("'tacocat'.lastIndexOf('a', 3)", 1), ("'tacocat'.lastIndexOf('')", 7),
    ("'tacocat'.lastIndexOf('', 3)", 3), ("'tacocat'.lastIndexOf('a', 99)", -1), ("'tacocat'.lastIndexOf('cat', 6)", 4),
    ("'TacoCÆt'.lowerAscii()", "tacocÆt"), ("'tacoCæt'.upperAscii()", "TACOCæT"), ("'ab ab'.replace('ab', 'c')", "c c"),
    ("'ab ab'.replace('ab', 'c', 1)", "c ab"), ("'ab ab'.replace('ab', 'c', 0)", "ab ab"),
    ("'ab ab'.replace('ab', 'c', -5)", "c c"), ("'a b c'.split(' ')", ["a", "b", "c"]),
    ("'a b c'.split(' ', 2)", ["a", "b c"]), ("'a b c'.split(' ', 0)", []), ("'abc'.split('')", ["a", "b", "c"]),
    ("'abc'.split('', 2)", ["a", "bc"]), ("'abc'.split('', 9)", ["a", "b", "c"]), ("'tacocat'.substring(4)", "cat"),
    ("'tacocat'.substring(0, 4)", "taco"), ("' \\t\\u2000a b\\u00a0'.trim()", "a b"),
    ("['a', 'b'].join() + ['a', 'b'].join('-')", "aba-b"),
    ("strings.quote('a\\n\"b\\\\')", '"a\\n\\"b\\\\"'),
    # formats
    ("'%d%% %s'.format([1, 'x'])", "1% x"), ("'%x %X %x %x'.format([255, 255u, 'hi', b'\\xff'])", "ff FF 6869 ff"),
    ("'%b %b %o'.format([5, true, 8u])", "101 1 10"), ("'%b'.format([-5])", "-101"),
    ("'%f %.2f'.format([1.5, 2.0])", "1.500000 2.00"),
    ("'%s'.format([[1, 'a', null, true, b'b', 2u, duration('1s'), timestamp(0), int]])",
     '[1, "a", null, true, b"b", 2, duration("1s"), timestamp("1970-01-01T00:00:00Z"), int]'),
    ("'%s'.format([{'b': [1], true: 2.5, 3: {}}])", '{"b":[1], 3:{}, true:2.500000}'),
    # lists, optionals and sets
    ("[1, 2, 3, 4].slice(1, 3)", [2, 3]), ("[[1], [2, 3], []].flatten()", [1, 2, 3]),
    ("[1, [2, [3, [4]]]].flatten(2)", [1, 2, 3, [4]]), ("[1, [2]].flatten(0)", [1, [2]]),
    ("[3, 1, 2].sort()", [1, 2, 3]), ("['b', 'a'].sort()", ["a", "b"]),
    ("[duration('2s'), duration('1s')].sort() == [duration('1s'), duration('2s')]", True),
    ("[{'n': 2}, {'n': 1}].sortBy(x, x.n)", [{"n": 1}, {"n": 2}]), ("[1, 2, 3].sortBy(x, -x)", [3, 2, 1]),
    ("[1, 1.0, 'a', 'a', [1]].distinct()", [1, "a", [1]]), ("['b', 'a', 'b'].distinct()", ["b", "a"]),
    ("[1, 2].reverse()", [2, 1]), ("lists.range(3)", [0, 1, 2]), ("lists.range(-1)", []),
    ("[1, 2].first().value() + [1, 2].last().value()", 3), ("[].first().hasValue() || [].last().hasValue()", False),
    ("[optional.of(1), optional.none()].unwrapOpt()", [1]), ("optional.unwrap([optional.none()])", []),
    (("[0, 0u, 0.0, '', b'', [], {}, null, false, duration('0s')]"
     ".all(x, !optional.ofNonZeroValue(x).hasValue())"), True),
    ("optional.ofNonZeroValue(timestamp(0)).hasValue()", True),
    ("optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()", False),
    ("optional.ofNonZeroValue(int).hasValue()", True), ("sets.contains([1, 2], [2u, 1.0])", True),
    ("sets.intersects([1], [2])", False), ("sets.equivalent([1, 1], dyn([1u]))", True),
    ("sets.equivalent([1], [1, 2])", False), ("sets.equivalent([1, 2], [1])", False),
    # times
    ("duration('1h1m1s1ms1us1ns')", Duration(3661001001001)), ("duration('-1.5h')", Duration(-5400 * 10**9)),
    ("duration('.5s')", Duration(5 * 10**8)), ("duration('0')", Duration(0)),
    ("string(duration('1.5s')) + string(duration('-1ms')) + string(duration('100h'))", "1.5s-0.001s360000s"),
    ("duration('3600s').getHours() + duration('90s').getMinutes() + duration('-1.5s').getSeconds()", 1),
    ("duration('1.5s').getMilliseconds()", 1500),
    ("timestamp('2026-01-02T03:04:05.123456789+01:00')", Timestamp(1767319445123456789)),
    ("string(timestamp('2026-01-02T03:04:05.120Z'))", "2026-01-02T03:04:05.12Z"),
    ("timestamp('2026-01-02T03:04:05Z') - timestamp('2026-01-02T03:04:04Z') == duration('1s')", True),
    ("timestamp('2026-01-02T03:04:05Z') - duration('1s') == timestamp('2026-01-02T03:04:04Z')", True),
    ("duration('1s') + timestamp('2026-01-02T03:04:05Z') == timestamp('2026-01-02T03:04:06Z')", True),
    ("duration('3s') - duration('1s') == duration('2s')", True),
    (("[timestamp('2026-03-01T00:59:58.7Z')].map(t, [t.getFullYear(), t.getMonth(), t.getDate(), t.getDayOfMonth(), "
     "t.getDayOfYear(), t.getDayOfWeek(), t.getHours(), t.getMinutes(), t.getSeconds(), t.getMilliseconds()])[0]"),
     [2026, 2, 1, 0, 59, 0, 0, 59, 58, 700]),
    ("timestamp('2026-01-02T03:04:05Z').getHours('America/New_York')", 22),
    ("timestamp('2026-01-02T03:04:05Z').getHours('+05:30') + timestamp(0).getMinutes('-00:30')", 8 + 30),
    ("timestamp(0).getMilliseconds('') + timestamp(0).getHours('UTC')", 0),
    ("timestamp(0).getHours('99:99') + timestamp(0).getMinutes('+5:-3')", 4 + 57),
    ("timestamp('0001-01-01T00:00:00Z').getFullYear('-200000:00')", -22),
    ("timestamp(0).getHours('9223372036854775807:9')", 23),
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    found = evaluate(text)
    assert found == value
    assert type(found) is type(value)


@each_row_beside("text", "message")
def test_errors(text: str, message: str) -> None:
    assert error_of(text) == message


@each_row_beside("text", "value")
def test_formatting_follows_a_locale(text: str, value: str) -> None:
    assert evaluate(text) == value


@each_row(
    ("text", "message"),
    ("'%d'.format([dyn(1.5)])", "error during formatting: decimal clause can only be used on integers, was given double"),
    ("'%f'.format([dyn('x')])", "error during formatting: fixed-point clause can only be used on doubles, was given string"),
    ("'%s'.format([{1.5: 1}])", "error during formatting: no formatting function for map key of type double"),
    ("'%s'.format([[o]])", "error during formatting: no formatting function for optional_type"),
)  # fmt: skip
def test_formatting_names_what_it_cannot_show(text: str, message: str) -> None:
    assert error_of(text, o=evaluate("optional.none()")) == message


@given(st.integers(-(2**53), 2**53))
def test_durations_read_back_but_for_what_go_rounds(nanos: int) -> None:
    read = conversions.parse_duration(conversions.format_duration(Duration(nanos)))
    assert read is not None
    assert abs(read.nanos - nanos) <= 2


@given(st.integers(-62_135_596_800 * 10**9, 253_402_300_799 * 10**9))
def test_timestamps_read_back(nanos: int) -> None:
    assert conversions.parse_timestamp(conversions.format_timestamp(Timestamp(nanos))) == Timestamp(nanos)


@each_row("text", "", "1", "1x", "s", "1.s2", "--1s", "1h ", ".s", "9999999999999h", "9" * 50 + "s", "1e3s")
def test_invalid_durations(text: str) -> None:
    assert conversions.parse_duration(text) is None


@each_row_beside("text")
def test_invalid_timestamps(text: str) -> None:
    assert conversions.parse_timestamp(text) is None


def test_an_offset_may_have_sixty_minutes_and_end_the_year_0_as_in_go() -> None:
    assert evaluate("timestamp('2026-01-02T03:04:05+01:60') == timestamp('2026-01-02T01:04:05Z')") is True
    assert evaluate("timestamp('0000-12-31T23:00:00-01:00') == timestamp('0001-01-01T00:00:00Z')") is True
    assert error_of("timestamp(t)", t="0000-12-31T23:00:00Z") == "timestamp overflow"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_print_as_go_prints_them_and_read_back(value: float) -> None:
    text = evaluate("string(v)", v=value)
    assert evaluate("double(t)", t=text) == value
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if not -5 < exponent < 7:
        assert "e" in text
