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
        ["with {'value': 2, 'expected': 3}"],
        ["with {'value': 5, 'expected': 6}"],
    ]


def test_a_row_that_raises_nothing_where_it_should_hides_no_other() -> None:
    @each_row("text", "1", "x", "2")
    def check(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows fail") as raised:
        check()
    assert [each.__notes__ for each in raised.value.exceptions] == [["with {'text': '1'}"], ["with {'text': '2'}"]]
