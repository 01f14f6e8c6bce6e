"""Literals of protobuf's well-known messages, which cel-go accepts in every environment."""

from tests.cel.judging import outcome
from tests.rows import each_row_beside


@each_row_beside("expression", "expected")
def test_messages_come_to_what_they_stand_for(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row_beside("expression", "error")
def test_messages_that_there_cannot_be(expression: str, error: str) -> None:
    assert outcome(expression) == error
