"""No input makes policies raise: neither manifests, nor objects, nor suites of any shape."""

import copy
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.objects import INFINITE, mutilated, seeded, value
from tests.policy.examples import BINDING, CLAIM, MUTATING, MUTATING_BINDING, POD, POLICY, evaluate
from tests.reviews import recorded
from webhook.engine.suites import SuiteError, run_suite
from webhook.patch import PatchError, apply_patch
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.authorizer import AuthorizerError, authorizer_of
from webhook.policy.evaluation.request import request_of, request_of_review
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.policy.tools.check import check_policies

pytestmark = pytest.mark.slow


fuzz = settings(max_examples=150)
json_values = seeded(lambda dice: value(dice, more=INFINITE))


GIVEN = POLICY, BINDING, MUTATING, MUTATING_BINDING
policies = st.tuples(*(mutilated(each) | st.just(each) for each in GIVEN))


@fuzz
@given(policies, st.lists(json_values, max_size=2))
def test_manifests_of_any_shape_are_loaded_and_checked(manifests: tuple[Any, ...], others: list[Any]) -> None:
    check_policies([*manifests, *others])


@fuzz
@given(policies, mutilated(POD) | json_values.filter(lambda value: isinstance(value, dict)))
def test_objects_of_any_shape_are_judged(manifests: tuple[Any, ...], obj: Any) -> None:
    before = copy.deepcopy(obj)
    loaded = load(manifests)
    for new, old in ((obj, None), (obj, POD), (POD, obj), (None, obj)):
        evaluate(new, old, policies=loaded)
        mutate(request_of(new, old, kinds=loaded.kinds), loaded)
        validate(request_of(new, old, kinds=loaded.kinds), loaded)
    assert obj == before


@fuzz
@given(mutilated(POD) | mutilated(CLAIM))
def test_defaults_leave_no_trace(obj: dict[str, Any]) -> None:
    assert evaluate(obj, policies=load([])).object == obj


REVIEW = next(each.review["request"] for each in recorded() if each.review["request"]["kind"]["kind"] == "Pod")


@fuzz
@given(mutilated(REVIEW))
def test_reviews_of_any_shape_are_judged(review: dict[str, Any]) -> None:
    policies = load(GIVEN)
    mutate(request_of_review(review), policies)
    validate(request_of_review(review), policies)


SUITE = yaml.safe_load("""
kubernetes: "1.36"
context: [{apiVersion: v1, kind: Namespace, metadata: {name: default}}]
objects: {pod: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n, containers: [{name: c, image: i}]}}}
cases:
- name: one
  object: pod
  oldObject: pod
  patch: [{op: remove, path: /spec/nodeName}]
  operation: CREATE
  subresource: ""
  user: {username: jane}
  context: []
  authorizer: {rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}
  expect:
    {allowed: false, message: m, reason: Invalid, warnings: [], auditAnnotations: {}, object: {kind: Pod},
     changes: [{op: remove, path: /spec/nodeName}]}
""")


@fuzz
@given(mutilated(SUITE) | json_values)
def test_suites_of_any_shape_run_or_are_refused(suite: Any) -> None:
    with suppress(SuiteError):
        run_suite(suite, [POLICY, BINDING])


@fuzz
@given(mutilated({"rules": [{"users": ["a"], "verbs": ["*"], "resources": ["pods"], "apiGroups": [""]}]}) | json_values)
def test_authorizers_of_any_shape_are_read_or_refused(document: Any) -> None:
    with suppress(AuthorizerError):
        authorizer_of(document)


PATHS = "", "/", "/a", "/a/0", "/a/-", "/a/-1", "/a/9", "/b/c", "/b~1/x", "c"
OPERATIONS = "add", "remove", "replace", "move", "copy", "test", "other"
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(OPERATIONS), "path": st.sampled_from(PATHS) | st.text(max_size=4)},
    optional={"from": st.sampled_from(["", "/a", "/a/0", "/b"]), "value": json_values},
)


@fuzz
@given(st.lists(operations, max_size=5))
def test_patches_of_any_shape_are_applied_or_refused(patch: list[dict[str, Any]]) -> None:
    document = {"a": [1, {"x": None}], "b": {"c": 1}}
    before = copy.deepcopy(document)
    with suppress(PatchError):
        assert isinstance(apply_patch(document, patch), dict)
    assert document == before
