"""What expressions read of an object: they have the same results and costs if the rest of it is missing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fast.extents import EXPRESSIONS, OBJECT, evaluated, extent_of, joint
from tests.mutilation import mutilated
from tests.rows import each_row
from webhook.fast.extents import ITEMS, Extent, type_of

pytestmark = pytest.mark.no_cover


def written(extent: Extent) -> Any:
    """Write an extent: ``"*"`` for the whole, else its parts."""
    return "*" if extent.whole else {name: written(part) for name, part in extent.parts.items()}


@each_row(("text", "read"), EXPRESSIONS)
def test_paths_are_followed(text: str, read: Any) -> None:
    assert written(extent_of(text)) == read


def kept(value: Any, extent: Extent) -> Any:
    """Keep those parts of a value that are read."""
    if extent.whole or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [kept(each, extent.parts.get(ITEMS, Extent())) for each in value]
    if ITEMS in extent.parts:
        return value
    return {name: kept(each, extent.parts[name]) for name, each in value.items() if name in extent.parts}


@given(st.sampled_from([text for text, _ in EXPRESSIONS]), st.just(OBJECT) | mutilated(OBJECT))
def test_what_is_decoded_suffices(text: str, obj: Any) -> None:
    try:
        decoded = msgspec.convert(obj, type_of(extent_of(text)))
    except msgspec.ValidationError:
        assert obj is not OBJECT
        return
    assert evaluated(joint(text), decoded) == evaluated(joint(text), obj)


@given(st.sampled_from([text for text, _ in EXPRESSIONS]), st.just(OBJECT) | mutilated(OBJECT))
def test_what_is_not_read_may_be_missing(text: str, obj: Any) -> None:
    extent = extent_of(text)
    extent.part("kind")  # which tells what the object is: it is never empty
    assert evaluated(joint(text), kept(obj, extent)) == evaluated(joint(text), obj)


def test_extents_of_doubling_expressions_stay_small() -> None:
    text = "object.spec.containers"
    for _ in range(12):
        text = f"[{text}].map(x, x + x)[0]"
    assert written(extent_of(f"{text} == []")) == {"spec": {"containers": "*"}}
