"""The JSON Patch that turns one value into another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row_beside
from webhook.policy.change.patch import apply_patch, difference

KEYS = st.sampled_from(["a", "b", "a/b", "a~b", "", "0", "-"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "1"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)


@each_row_beside("before", "after", "operations")
def test_only_what_differs_is_changed(before: Any, after: Any, operations: list[dict[str, Any]]) -> None:
    assert difference(before, after) == operations


@pytest.mark.slow
@settings(max_examples=300)
@given(OBJECTS, OBJECTS)
def test_the_patch_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = apply_patch(before, difference(before, after))
    assert repr(sorted_keys(made)) == repr(sorted_keys(after))


def sorted_keys(value: Any) -> Any:
    """Make two values that are equal as JSON, true and 1 apart, the same text."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(each) for each in value] if isinstance(value, list) else value
