"""The deadline and the cost of policies."""

import time
from typing import Any

import pytest

from tests.policy.examples import CLAIM, POD, binding, evaluate, mutating, policy
from tests.rows import each_row
from webhook.budget import DeadlineExceededError
from webhook.engine import mutation
from webhook.engine.prescheduled import Rewrite
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.authorizer import DENY_ALL
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import Request, request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds

MANY = 440
"""Comparing so many numbers with each other costs a little less than one expression may."""
LONG = "object.numbers.all(x, object.numbers.all(y, y >= 0))"
LABELLED = "Object{metadata: Object.metadata{labels: {'x': object.metadata.name}}}"
REWRITE = Rewrite([{"op": "remove", "path": "/spec/nodeName"}], (), {})


def about(obj: dict[str, Any]) -> Request:
    return request_of(obj, kinds=Kinds())


def validating(*expressions: str, **fields: Any) -> PolicySet:
    return load([policy(validations=[{"expression": each} for each in expressions], **fields), binding()])


def soon() -> float:
    """Return a time that comes before a long expression is done, but after it was begun."""
    return time.monotonic() + 0.002


@each_row(
    "fields",
    [
        {},
        {"failurePolicy": "Ignore"},
        {"matchConditions": [{"name": "c", "expression": "has(object.metadata)"}]},
        {"variables": [{"name": "v", "expression": "object.metadata.name"}]},
    ],
)
def test_after_the_deadline_no_validating_policy_is_evaluated(fields: dict[str, Any]) -> None:
    with pytest.raises(DeadlineExceededError, match="the deadline has passed"):
        validate(about(POD), validating("true", **fields), deadline=time.monotonic())


def test_after_the_deadline_no_mutating_policy_is_evaluated() -> None:
    policies = load(mutating("m", LABELLED))
    with pytest.raises(DeadlineExceededError):
        mutate(about(POD), policies, deadline=time.monotonic())


@pytest.mark.parametrize("ask", [validate, mutate])
def test_the_deadline_is_nothing_to_requests_that_no_policy_is_about(ask: Any) -> None:
    policies = load([policy(validations=[{"expression": "false"}]), binding(), *mutating("m", "Object{}")])
    assert ask(about(CLAIM), policies, deadline=time.monotonic()).allowed


def test_a_deadline_that_does_not_pass_changes_nothing() -> None:
    request, policies = about(POD | {"numbers": list(range(100))}), validating(LONG, "object.spec.nodeName == ''")
    assert validate(request, policies, deadline=time.monotonic() + 60) == validate(request, policies)


@pytest.mark.parametrize(
    "policies",
    [
        validating(LONG),
        validating("variables.v", variables=[{"name": "v", "expression": LONG}]),
        validating("true", matchConditions=[{"name": "c", "expression": LONG}]),
        validating("false || " + LONG + " || true"),
    ],
    ids=["validation", "variable", "condition", "absorbing"],
)
def test_a_comprehension_is_stopped_when_the_deadline_passes(policies: PolicySet) -> None:
    request = about(POD | {"numbers": list(range(MANY))})
    assert validate(request, policies).allowed
    with pytest.raises(DeadlineExceededError):
        validate(request, policies, deadline=soon())


def test_a_mutation_is_stopped_when_the_deadline_passes() -> None:
    policies = load(mutating("m", f"{LONG} ? Object{{}} : Object{{}}"))
    with pytest.raises(DeadlineExceededError):
        mutate(about(POD | {"numbers": list(range(MANY))}), policies, deadline=soon())


def test_the_deadline_holds_before_a_rewrite_and_after_it() -> None:
    policies = load(mutating("m", LABELLED, reinvocationPolicy="IfNeeded"))
    rewritten: list[object] = []

    def rewrite(obj: object) -> Rewrite:
        rewritten.append(obj)
        return REWRITE

    done = mutation.mutate_request(about(POD), policies, DENY_ALL, rewrite, deadline=time.monotonic() + 60)
    assert (done.verdict.allowed, len(rewritten)) == (True, 1)
    with pytest.raises(DeadlineExceededError):
        mutation.mutate_request(about(POD), policies, DENY_ALL, rewrite, deadline=time.monotonic())
    assert len(rewritten) == 1


def test_the_deadline_may_pass_during_a_rewrite() -> None:
    policies = load(mutating("m", LABELLED, reinvocationPolicy="IfNeeded"))
    deadline = time.monotonic() + 0.1

    def rewrite(_: object) -> Rewrite:
        while time.monotonic() < deadline:
            time.sleep(0.01)
        return REWRITE

    with pytest.raises(DeadlineExceededError):
        mutation.mutate_request(about(POD), policies, DENY_ALL, rewrite, deadline=deadline)


# -- costs


def test_a_verdict_tells_what_all_expressions_cost() -> None:
    conditions = [{"name": "c", "expression": "object.metadata.name == 'p'"}]  # 3 for the field, 1 for ==
    variables = [{"name": "v", "expression": "object.metadata.name"}, {"name": "unused", "expression": "[1, 2]"}]
    policies = validating("variables.v == 'p'", "variables.v != 'q'", matchConditions=conditions, variables=variables)
    verdict = validate(about(POD), policies)
    assert verdict.cost == 4 + 3 + 2 * (2 + 1)


def test_a_refusal_tells_the_cost_of_its_message_too() -> None:
    validation = {"expression": "object.metadata.name == 'q'", "messageExpression": "string(object.metadata.name)"}
    policies = load([policy(validations=[validation]), binding()])
    assert validate(about(POD), policies).cost == 4 + 4


def test_expressions_that_fail_have_cost_something() -> None:
    assert validate(about(POD), validating("object.metadata.nope == 'p'")).cost == 4


def test_the_cost_of_mutations_is_added_to_that_of_validations() -> None:
    manifests = [*mutating("m", LABELLED), policy(validations=[{"expression": "object.kind == 'Pod'"}]), binding()]
    policies, request = load(manifests), about(POD)
    changed, judged = mutate(request, policies), validate(request, policies)
    assert changed.cost > judged.cost > 0
    assert evaluate(POD, policies=policies).cost == changed.cost + judged.cost


def test_the_cost_of_reinvoked_policies_is_added() -> None:
    once = mutate(about(POD), load(mutating("m", LABELLED))).cost
    again = load(mutating("m", LABELLED, reinvocationPolicy="IfNeeded"))
    assert mutate(about(POD), again).cost == 2 * once
    assert mutation.mutate_request(about(POD), again, DENY_ALL, lambda _: REWRITE).verdict.cost == 2 * once
