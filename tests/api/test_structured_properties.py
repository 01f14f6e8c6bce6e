"""No submitted object makes the structured versions raise; their findings are always well-formed."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook import validate

pytestmark = pytest.mark.slow


FOLDER = Path(__file__).parents[1] / "conformance"
FILES = ("v1-1.36", "v1-1.34", "v1beta1-1.36", "v1alpha3-1.36")


def objects() -> list[tuple[str, dict[str, Any]]]:
    """Read the objects of the recorded requests, as they were sent and as they were stored, with the release."""
    found: list[tuple[str, dict[str, Any]]] = []
    for file in FILES:
        with gzip.open(FOLDER / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if "op" in line:
                    break
                found += [(line["kubernetes"], obj) for obj in (line["object"], *line["stored"])]
    return [(kubernetes, obj) for kubernetes, obj in found if obj["kind"] != "Pod"]


OBJECTS = objects()

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just("1Gi"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def variations(draw: st.DrawFn) -> dict[str, Any]:
    """Change a real object at a random place."""
    obj: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(OBJECTS))[1])
    for _ in range(draw(st.integers(0, 3))):
        place: Any = obj
        while True:
            steps = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not steps:
                break
            step = draw(st.sampled_from(steps))
            inner = place[step]
            if isinstance(inner, dict | list) and inner and draw(st.integers(0, 4)):
                place = inner
                continue
            how = draw(st.integers(0, 3))
            if how == 0:
                del place[step]
            elif how == 1 and isinstance(inner, list):
                place[step] = inner * draw(st.integers(0, 40))
            else:
                place[step] = draw(json_values)
            break
    return obj


requests = st.fixed_dictionaries(
    {
        "old": st.none() | variations(),
        "kubernetes": st.sampled_from([None, "1.31", "1.32", "1.33", "1.34", "1.35", "1.36"]),
        "subresource": st.sampled_from(["", "status"]),
        "feature_gates": st.sampled_from([None, {"AllAlpha": True}, {"AllBeta": False}]),
        "namespace_labels": st.sampled_from([None, {}, {"resource.kubernetes.io/admin-access": "true"}]),
    }
)


@settings(max_examples=700)
@given(variations(), requests)
def test_nothing_raises(obj: dict[str, Any], request_: dict[str, Any]) -> None:
    if request_["old"] is None:
        request_ |= {"subresource": ""}
    before = json.dumps([obj, request_])
    for problem in validate(obj, **request_):
        assert problem.rule
        assert problem.level in {"error", "warning"}
        assert isinstance(problem.field, str)
        assert problem.message
    assert json.dumps([obj, request_]) == before


@pytest.mark.parametrize(("kubernetes", "obj"), OBJECTS)
def test_an_object_is_not_a_change_of_itself(kubernetes: str, obj: dict[str, Any]) -> None:
    for subresource in ("", "status"):
        gates = {"AllAlpha": True}
        problems = validate(obj, obj, kubernetes=kubernetes, subresource=subresource, feature_gates=gates)
        assert [problem for problem in problems if problem.level == "error"] == []
