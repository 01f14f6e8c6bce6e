"""No submitted object makes the structured versions raise; their findings are always well-formed."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.objects import mutated
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

variations = mutated([obj for _, obj in OBJECTS], most=3)
requests = st.fixed_dictionaries(
    {
        "old": st.none() | variations,
        "kubernetes": st.sampled_from([None, "1.31", "1.32", "1.33", "1.34", "1.35", "1.36"]),
        "subresource": st.sampled_from(["", "status"]),
        "feature_gates": st.sampled_from([None, {"AllAlpha": True}, {"AllBeta": False}]),
        "namespace_labels": st.sampled_from([None, {}, {"resource.kubernetes.io/admin-access": "true"}]),
    }
)


@settings(max_examples=700)
@given(variations, requests)
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
