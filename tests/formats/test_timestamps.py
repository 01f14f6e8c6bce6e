"""Parsing of timestamps."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row, each_row_beside
from webhook.formats.timestamps import parse_timestamp, timestamp

SECOND = 10**9


@each_row(
    ("value", "nanoseconds"),
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
)
def test_times_are_read_as_leniently_as_by_go(value: str, nanoseconds: int) -> None:
    assert timestamp(value, 36) == ()
    assert parse_timestamp(value) == nanoseconds


@each_row_beside("value", "rest", "sample")
def test_a_time_that_ends_or_goes_astray_is_refused_there(value: str, rest: str, sample: str) -> None:
    message = f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{rest}" as "{sample}"'
    assert timestamp(value, 36) == (message.replace("é", r"\xc3\xa9"),)


@each_row_beside("value", "what")
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
