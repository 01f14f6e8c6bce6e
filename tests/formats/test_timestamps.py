"""Parsing of timestamps."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webhook.formats import parse_timestamp, timestamp

SECOND = 10**9


@each_row(
    ("value", "nanoseconds"),
    [
        ("0001-01-01T00:00:00Z", 0),
        ("0001-01-01T01:00:00+01:00", 0),
        ("0000-12-31T23:59:59Z", -SECOND),
        ("0000-01-01T00:00:00Z", -366 * 86400 * SECOND),
        ("0001-01-01T00:00:01.5Z", SECOND + SECOND // 2),
        ("0001-01-01T00:00:01,123456789999Z", SECOND + 123456789),
        ("0001-01-01T1:00:00Z", 3600 * SECOND),
        ("0001-01-02T00:00:00+24:60", -3600 * SECOND),
        ("0001-01-01T00:00:00-00:01", 60 * SECOND),
        ("2000-02-29T00:00:00Z", 730178 * 86400 * SECOND),
    ],
)
def test_times_are_read_as_leniently_as_by_go(value: str, nanoseconds: int) -> None:
    assert timestamp(value, 36) == ()
    assert parse_timestamp(value) == nanoseconds


@each_row(
    ("value", "rest", "sample"),
    [
        ("", "", "2006"),
        ("Bad_Name!", "Bad_Name!", "2006"),
        ("24-01-01T00:00:00Z", "24-01-01T00:00:00Z", "2006"),
        ("20240131", "0131", "-"),
        ("2024-1-31T00:00:00Z", "1-31T00:00:00Z", "01"),
        ("2024-01-1T00:00:00Z", "1T00:00:00Z", "02"),
        ("2024-01-31", "", "T"),
        ("2024-01-31 12:00:00Z", " 12:00:00Z", "T"),
        ("2024-01-31Tx", "x", "15"),
        ("2024-01-31T12", "", ":"),
        ("2024-01-31T12:1:00Z", "1:00Z", "04"),
        ("2024-01-31T12:00:1Z", "1Z", "05"),
        ("2024-01-31T12:00:00", "", "Z07:00"),
        ("2024-01-31T12:00:00.Z", ".Z", "Z07:00"),
        ("2024-01-31T12:00:00z", "z", "Z07:00"),
        ("2024-01-31T12:00:00+0100", "+0100", "Z07:00"),
        ("2024-01-31T12:00:00*01:00", "*01:00", "Z07:00"),
        ("2024-01-31T12:00:00+01:0x", "+01:0x", "Z07:00"),
        ("2024-01-31T12:00:00+01:0", "+01:0", "Z07:00"),
        ("2024-01-31T12:00:00é30:00", "é30:00", "Z07:00"),
    ],
)
def test_a_time_that_ends_or_goes_astray_is_refused_there(value: str, rest: str, sample: str) -> None:
    message = f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{rest}" as "{sample}"'
    assert timestamp(value, 36) == (message.replace("é", r"\xc3\xa9"),)


@each_row(
    ("value", "what"),
    [
        ("2024-13-01T00:00:00Z", "month out of range"),
        ("2024-00-01T00:00:00Z", "month out of range"),
        ("2024-01-00T00:00:00Z", "day out of range"),
        ("2023-02-29T00:00:00Z", "day out of range"),
        ("1900-02-29T00:00:00Z", "day out of range"),
        ("2024-04-31T00:00:00Z", "day out of range"),
        ("2024-01-31T24:00:00Z", "hour out of range"),
        ("2024-01-31T12:60:00Z", "minute out of range"),
        ("2024-01-31T12:00:60Z", "second out of range"),
        ("2024-01-31T12:00:00+25:00", "time zone offset hour out of range"),
        ("2024-01-31T12:00:00*25:00", "time zone offset hour out of range"),
        ("2024-01-31T12:00:00+01:61", "time zone offset minute out of range"),
        ("2024-01-31T12:00:00ZZ", 'extra text: "Z"'),
        ("2024-01-31T12:00:00Z\n", 'extra text: "\\x0a"'),
    ],
)
def test_a_time_out_of_range_is_refused(value: str, what: str) -> None:
    shown = value.replace("\n", "\\x0a")
    assert timestamp(value, 36) == (f'parsing time "{shown}": {what}',)


def test_texts_are_quoted_byte_by_byte() -> None:
    quoted = r'"\xc3\xbc\"\\' + '\x7f"'
    (message,) = timestamp('ü"\\\x7f', 36)
    assert message == f'parsing time {quoted} as "2006-01-02T15:04:05Z07:00": cannot parse {quoted} as "2006"'


@given(st.datetimes(), st.integers(-23 * 60, 23 * 60))
def test_the_instant_is_that_of_the_calendar(moment: datetime, minutes: int) -> None:
    there = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    past = there - datetime(1, 1, 1, tzinfo=UTC)
    microseconds = past // timedelta(microseconds=1)
    assert parse_timestamp(there.isoformat()) == microseconds * 1000
