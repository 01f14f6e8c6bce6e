"""No JSON or YAML makes draguard raise."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.objects import OBJECTS, json_values, mutated
from tests.reviews import recorded
from webhook import validate
from webhook.admission import Call, MalformedReviewError, ReviewOptions, answer, review
from webhook.api.versions import VERSIONS
from webhook.documents import Document, parse
from webhook.documents.dump import dump

pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=800)

REVIEWS = [each.review for each in recorded()]
KINDS = [(version, kind) for version, each in VERSIONS.items() for kind in each.kinds]


requests = st.fixed_dictionaries(
    {
        "old": st.none() | mutated(OBJECTS) | json_values,
        "kubernetes": st.sampled_from([None, *(f"1.{release}" for release in range(27, 39))]),
        "subresource": st.sampled_from(["", "status"]),
        "feature_gates": st.sampled_from([None, {"AllAlpha": True}, {"AllBeta": False}]),
        "namespace_labels": st.sampled_from([None, {}, {"resource.kubernetes.io/admin-access": "true"}]),
    }
)


@given(obj=mutated(OBJECTS), asked=requests)
@EXAMPLES
def test_no_object_makes_validate_raise_or_is_changed(obj: Any, asked: Any) -> None:
    if asked["old"] is None:
        asked |= {"subresource": ""}
    before = json.dumps([obj, asked])
    for problem in validate(obj, **asked):
        assert problem.field is not None
        assert problem.message
        assert problem.rule
        assert problem.level in {"error", "warning"}
        json.dumps([*problem.path])
    assert json.dumps([obj, asked]) == before


@given(kind=st.sampled_from(KINDS), rest=json_values, metadata=json_values, release=st.sampled_from(range(27, 37)))
@EXAMPLES
def test_no_value_under_a_kind_of_ours_makes_validate_raise(
    kind: tuple[str, str], rest: Any, metadata: Any, release: int
) -> None:
    obj = {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata, "spec": rest, "status": rest}
    validate(obj, kubernetes=f"1.{release}")
    validate(obj, obj, subresource="status")


@given(asked=mutated(REVIEWS) | json_values, endpoint=st.sampled_from(["validate", "mutate"]))
@EXAMPLES
def test_no_review_makes_review_raise_anything_but_its_own_error(asked: Any, endpoint: Any) -> None:
    try:
        answered = review(asked, endpoint, ReviewOptions())
    except MalformedReviewError as error:
        assert str(error)  # noqa: PT017 - either is fine, as long as it is one of the two
    else:
        response = answered["response"]
        assert response["uid"] == asked["request"]["uid"]
        assert isinstance(response["allowed"], bool)
        assert response.get("status", {}).get("code") != 500
        json.dumps(answered)


@given(body=st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
@EXAMPLES
def test_no_body_makes_answer_raise(body: bytes) -> None:
    assert answer(body, Call("validate"), ReviewOptions()).status in {200, 400}


@given(obj=mutated(OBJECTS), cut=st.integers(0, 400), junk=st.text(max_size=10))
@settings(EXAMPLES, max_examples=400)
def test_no_yaml_makes_validate_raise(obj: Any, cut: int, junk: str) -> None:
    text = json.dumps(obj) if cut % 2 else dump([obj])
    spoilt = text[:cut] + junk + text[cut:]
    for document in parse(spoilt.encode("utf-8", "replace")):
        if isinstance(document, Document):
            for problem in validate(document.data):
                assert document.position(problem.path).line >= 1
