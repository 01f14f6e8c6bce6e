"""Edits change only the values that they name."""

import pytest

from webhook.edit.edits import Edit, OverlapError, apply


def test_edits_are_made_in_the_order_of_the_text() -> None:
    assert apply("one two three", [Edit(8, 13, "3"), Edit(0, 3, "1"), Edit(4, 4, "and ")]) == "1 and two 3"


def test_what_is_inserted_at_one_place_keeps_its_order_and_comes_before_what_is_replaced_there() -> None:
    assert apply("ab", [Edit(1, 2, "B"), Edit(1, 1, "x"), Edit(1, 1, "y")]) == "axyB"


def test_an_edit_that_is_given_twice_is_made_once() -> None:
    assert apply("ab", [Edit(0, 1, ""), Edit(0, 1, "")]) == "b"


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(OverlapError, match="offset 1"):
        apply("abc", [Edit(0, 2, ""), Edit(1, 3, "")])
