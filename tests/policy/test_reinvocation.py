"""Policies are reinvoked after changes by others."""

from collections.abc import Callable
from typing import Any

from tests.policy.examples import POD, PODS, mutating
from tests.policy.examples import spec as with_spec
from tests.policy.mutations import label, labels, made
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.request import request_of
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load


def counting(key: str) -> str:
    return label(key, f"has(object.metadata.labels.{key}) ? string(object.metadata.labels.{key}) + '1' : '1'")


def test_a_policy_is_reinvoked_after_changes_if_needed() -> None:
    verdict = made(mutating("m", counting("a"), reinvocationPolicy="IfNeeded"), mutating("n", counting("b")))
    assert labels(verdict) == {"app": "a", "a": "11", "b": "1"}


def test_a_policy_that_did_not_apply_is_not_reinvoked() -> None:
    late = [{"name": "c", "expression": "has(object.metadata.labels.b)"}]
    verdict = made(
        mutating("m", counting("a"), reinvocationPolicy="IfNeeded", matchConditions=late), mutating("n", counting("b"))
    )
    assert labels(verdict) == {"app": "a", "b": "1"}


def rewriting(
    *manifests: Any, change: Callable[[Any], Any] = lambda obj: with_spec(obj, schedulerName="mine")
) -> Verdict:
    """Run policies, with a webhook behind them."""
    policies = load(each for group in manifests for each in group)
    assert not policies.errors
    return mutate(request_of(POD, kinds=policies.kinds), policies, webhooks=change)


def test_a_webhooks_change_is_a_reason_to_ask_again_once() -> None:
    verdict = rewriting(mutating("m", counting("a"), reinvocationPolicy="IfNeeded"), mutating("n", counting("b")))
    assert labels(verdict) == {"app": "a", "a": "11", "b": "1"}
    assert verdict.object["spec"]["schedulerName"] == "mine"


def test_a_policy_that_only_matches_after_a_webhook_is_not_a_reinvocation() -> None:
    late = [{"name": "c", "expression": "has(object.spec.schedulerName)"}]
    verdict = rewriting(mutating("m", counting("a"), reinvocationPolicy="IfNeeded", matchConditions=late))
    assert labels(verdict) == {"app": "a"}


def test_reinvocation_depends_on_the_changed_object() -> None:
    unlabelled = {"objectSelector": {"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}}
    rules = {"resourceRules": [PODS | {"operations": ["CREATE"]}]}
    verdict = rewriting(
        mutating("m", counting("a"), reinvocationPolicy="IfNeeded", matchConstraints=rules | unlabelled),
        mutating("n", counting("b")),
    )
    assert labels(verdict) == {"app": "a", "a": "1", "b": "1"}


def test_conditions_of_policies_that_are_not_reinvoked_may_fail() -> None:
    fragile = [{"name": "c", "expression": "!has(object.spec.schedulerName) || object.nope"}]
    verdict = rewriting(
        mutating("m", counting("a"), reinvocationPolicy="IfNeeded"),
        mutating("n", counting("b"), matchConditions=fragile),
    )
    assert not verdict.allowed
    assert "no such key: nope" in verdict.message


def test_no_policy_is_reinvoked_after_a_webhooks_refusal() -> None:
    verdict = rewriting(mutating("m", counting("a"), reinvocationPolicy="IfNeeded"), change=lambda _: None)
    assert labels(verdict) == {"app": "a", "a": "1"}


def test_no_policy_is_reinvoked_after_an_error() -> None:
    verdict = made(
        mutating("m", counting("a"), reinvocationPolicy="IfNeeded"), mutating("n", label("x", "object.nope"))
    )
    assert not verdict.allowed
    assert labels(verdict)["a"] == "1"
