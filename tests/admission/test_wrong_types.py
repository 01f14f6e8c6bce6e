"""A review with values of any types is answered under its uid or malformed, and raises no unexpected exception."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.objects import paths, with_value
from tests.policy.examples import BINDING, MUTATING, MUTATING_BINDING, POLICY
from tests.reviews import recorded
from tests.rows import each_row
from webhook.admission import Call, Endpoint, ReviewOptions, answer
from webhook.admission.record import FAILED
from webhook.policy.load import load

WRONG: tuple[Any, ...] = (None, 5, True, 1.5, "x", [], {}, [None], [5], {"a": 5})
DEEP = json.loads("[" * 800 + "]" * 800)
REVIEWS = [each.review for each in recorded()]
UPDATES = [
    review | {"request": review["request"] | {"operation": "UPDATE", "oldObject": review["request"]["object"]}}
    for review in REVIEWS
    if review["request"]["object"]
]


@st.composite
def mistyped(draw: st.DrawFn) -> Any:
    """Change the types of some fields; in an update, often in both objects."""
    review = draw(st.sampled_from([*REVIEWS, *UPDATES, *UPDATES]))
    path = draw(st.sampled_from(paths(review)))
    review = with_value(review, path, draw(st.sampled_from(WRONG)))
    twin = ("request", {"object": "oldObject"}.get(str(path[1]), ""), *path[2:]) if path[2:] else ()
    if twin in paths(review) and draw(st.booleans()):
        review = with_value(review, twin, draw(st.sampled_from(WRONG)))
    return review


def checked(review: Any, endpoint: Endpoint, options: ReviewOptions) -> None:
    result = answer(json.dumps(review).encode(), Call(endpoint), options)
    assert result.record
    assert result.record.decision != FAILED
    if result.status == 200:
        assert json.loads(result.body)["response"]["uid"] == review["request"]["uid"]


@pytest.mark.slow
@settings(max_examples=500)
@given(mistyped(), st.sampled_from(["validate", "mutate"]), st.sampled_from([None, "1.30", "1.34"]))
def test_fields_may_be_of_any_type(review: Any, endpoint: Endpoint, kubernetes: str | None) -> None:
    policies = load([POLICY, BINDING, MUTATING, MUTATING_BINDING])
    checked(review, endpoint, ReviewOptions(kubernetes=kubernetes, policies=policies))


def test_a_field_that_the_release_does_not_know_may_be_anything() -> None:
    pod = next(each for each in UPDATES if each["request"]["kind"]["kind"] == "Pod")
    claims = ("request", "object", "spec", "containers", 0, "resources", "claims")
    for value in WRONG:
        changed = with_value(pod, claims[:-1], {"claims": [{"name": "a", "request": value}]})
        checked(changed, "validate", ReviewOptions(kubernetes="1.30"))


@each_row("field", ["namespace", "name", "kind", "resource", "userInfo", "dryRun", "options"])
def test_a_field_may_be_nested_deep(field: str) -> None:
    review = with_value(UPDATES[0], ("request", field), DEEP)
    for endpoint in ("validate", "mutate"):
        checked(review, endpoint, ReviewOptions(policies=load([POLICY, BINDING])))
