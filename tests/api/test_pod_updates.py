"""No change of a pod is too much for its comparison; the rules are in ``requests/pod-updates.yaml``."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import validate

TABLE = Path(__file__).parent / "requests" / "pod-updates.yaml"
GATED: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["objects"]["gated"]


def test_a_pod_nested_without_end_is_compared() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"items": [deep]}
    assert validate(GATED | {"spec": GATED["spec"] | {"dnsConfig": deep}}, GATED)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(each, dict | list):
            yield from places(each)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**40) | st.floats() | st.sampled_from(["", "gpu", "1Gi", "x:y@z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "limits", "x"]), inner),
    max_leaves=5,
)


@pytest.mark.slow
@settings(max_examples=800)
@given(st.data())
def test_no_change_makes_an_update_raise(data: st.DataObject) -> None:
    new, old = copy.deepcopy(GATED), copy.deepcopy(GATED)
    for pod in (new, old):
        for _ in range(data.draw(st.integers(0, 3))):
            found = list(places(pod["spec"])) if isinstance(pod["spec"], dict) else []
            if found:
                holder, key = data.draw(st.sampled_from(found))
                holder[key] = data.draw(values)

    for problem in validate(new, old):
        assert problem.field is not None
        assert problem.message
