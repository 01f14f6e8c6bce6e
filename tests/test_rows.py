"""Tests of tables fail if a row fails."""

import pytest

from tests.rows import each_row


def test_all_rows_that_fail_are_shown() -> None:
    @each_row(("value", "expected"), (1, 1), (2, 3), (4, 4), (5, 6))
    def check(value: int, expected: int) -> None:
        assert value == expected

    with pytest.raises(ExceptionGroup, match="2 of 4 rows fail") as raised:
        check()
    assert [each.__notes__ for each in raised.value.exceptions] == [
        ["in row 2: {'value': 2, 'expected': 3}"],
        ["in row 4: {'value': 5, 'expected': 6}"],
    ]


def test_a_row_that_raises_nothing_where_it_should_hides_no_other() -> None:
    @each_row("text", "1", "x", "2")
    def check(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows fail") as raised:
        check()
    assert [each.__notes__ for each in raised.value.exceptions] == [
        ["in row 1: {'text': '1'}"],
        ["in row 3: {'text': '2'}"],
    ]


def test_of_a_long_row_the_ends_are_shown() -> None:
    @each_row("text", "a" * 1_000_000 + "b")
    def check(text: str) -> None:
        assert not text

    with pytest.raises(ExceptionGroup) as raised:
        check()
    ((note,),) = [each.__notes__ for each in raised.value.exceptions]
    assert len(note) < 2100
    assert note.startswith("in row 1: {'text': 'aaa")
    assert note.endswith("aab'}")
