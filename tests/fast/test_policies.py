# ruff: noqa: SLF001 - caches are looked at
"""Policies that are evaluated quickly have the results of their expressions one by one, at the same cost."""

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.reviews import POLICIES, reviews
from tests.objects import mutilated
from tests.policy.examples import ANYTHING, CLAIM, PODS, binding, mutating, of, policy, rule, validating
from tests.policy.examples import spec as with_spec
from tests.rows import each_row
from tests.steps import counting
from webhook.budget import Budget, BudgetExceededError, DeadlineExceededError, limited
from webhook.documents import Document, read
from webhook.fast import policies as fast
from webhook.fast.policies import Passed, QuickPolicies
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import request_of_review
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.policy.manifest.model import MUTATING, VALIDATING

LIBRARY: list[Any] = [document.data for document in read([POLICIES]) if isinstance(document, Document)]
EVERYTHING: list[Any] = [
    *LIBRARY,
    policy("named", [PODS], validations=[{"expression": "object.metadata.name != 'x'"}], variables=[]),
    binding("named"),
    policy(
        "many",
        [ANYTHING],
        matchConditions=[
            {"name": "a", "expression": "has(object.metadata.labels)"},
            {"name": "b", "expression": "object.metadata.labels.all(k, k != 'b')"},
            {"name": "c", "expression": "request.operation == 'CREATE' || !('c' in oldObject.metadata.labels)"},
            {"name": "d", "expression": "!('d' in object.metadata.labels) || size(object.spec) > 5"},
        ],
        variables=[
            {"name": "names", "expression": "object.spec.containers.map(c, c.name)"},
            {"name": "long", "expression": "variables.names.filter(n, n.size() > 3)"},
            {"name": "failing", "expression": "object.spec.nope.nope"},
        ],
        validations=[
            {"expression": "!has(object.spec.containers) || variables.long.size() < 3 || variables.failing == 1"},
            {"expression": "variables.failing == 1 || object.metadata.name.startsWith('p')"},
            {"expression": "[1, 2].all(i, has(object.spec.containers) ? variables.names[0] != string(i) : true)"},
        ],
    ),
    binding("many"),
    *mutating(
        "changes",
        "Object{metadata: Object.metadata{annotations: {'b': 'c'}}}",
        matchConditions=[{"name": "n", "expression": "object.metadata.labels.exists(k, k == 'b')"}],
    ),
]
CLAIMS = {"resourceRules": [rule("*", group="resource.k8s.io")]}
LABELLED = CLAIM | {"metadata": {"name": "c", "namespace": "default", "labels": {"team": "a", "other": "b"}}}
NAMESPACE = of("Namespace", "default")
TEAM = NAMESPACE | {"metadata": {"name": "default", "labels": {"team": "a"}}}
POD: dict[str, Any] = reviews()["pods"]["request"]
REVIEWED = [
    *(each["request"] for each in reviews().values()),
    reviews()["resourceclaims"]["request"] | {"object": LABELLED},
]


def claim_review(**fields: Any) -> dict[str, Any]:
    review: dict[str, Any] = reviews()["resourceclaims"]["request"] | fields
    return review


def practised(policies: PolicySet, *requests: dict[str, Any]) -> dict[str, QuickPolicies]:
    """Evaluate policies until their functions are made."""
    made = {kind: QuickPolicies(policies, kind) for kind in (VALIDATING, MUTATING)}
    for each in made.values():
        for request in requests or REVIEWED:
            for _ in range(fast.OFTEN + 20):
                each.evaluate(request)
    return made


def passed(policies: PolicySet, request: dict[str, Any], kind: str = VALIDATING) -> Passed | None:
    return practised(policies, request)[kind].evaluate(request)


@pytest.fixture(scope="module", params=[EVERYTHING, [*LIBRARY, TEAM]], ids=["everything", "library"])
def several(request: pytest.FixtureRequest) -> tuple[PolicySet, dict[str, QuickPolicies]]:
    policies = load(request.param)
    return policies, practised(policies)


@pytest.mark.slow
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(review=st.one_of(*map(mutilated, REVIEWED)))
def test_all_policies_cost_the_same_when_evaluated_quickly(
    several: tuple[PolicySet, dict[str, QuickPolicies]], review: dict[str, Any]
) -> None:
    policies, quick = several
    request = request_of_review(review)
    for result, verdict in (
        (quick[VALIDATING].evaluate(review), validate(request, policies)),
        (quick[MUTATING].evaluate(review), mutate(request, policies)),
    ):
        if result is not None:
            assert (verdict.allowed, verdict.warnings) == (True, ())
            assert (verdict.cost, verdict.notes) == result
            assert verdict.object == request.object
            assert not verdict.audit_annotations


def test_common_requests_are_evaluated_quickly_in_few_steps() -> None:
    quick = practised(load(LIBRARY))
    found = {name: [quick[kind].evaluate(each["request"]) for kind in quick] for name, each in reviews().items()}
    assert {name: tuple(each and each[0] for each in both) for name, both in found.items()} == {
        "pods": (62, 9),
        "deployments": (57, 0),
        "resourceclaims": (326, None),  # a mutating policy without conditions may make a change
        "resourceslices": (60, 0),
    }
    notes = {name: " ".join(validated[1]) for name, (validated, _) in found.items() if validated}
    assert "default" in notes.pop("resourceclaims"), "its namespace was not given"
    assert set(notes.values()) == {""}
    with counting() as steps:
        assert quick[VALIDATING].evaluate(POD) == (62, ())
        assert quick[MUTATING].evaluate(POD) == (9, ())
    assert steps() < 120


def test_policies_that_depend_on_the_namespace_are_evaluated_quickly() -> None:
    label, annotation = "dra.example.com/device-classes", "gpu.example.com, other"
    known = passed(load([*LIBRARY, NAMESPACE]), claim_review())
    assert known == (326, ()), "the namespace is known"
    restricted = NAMESPACE | {"metadata": {"name": "default", "labels": {label: "restricted"}}}
    closed = practised(load([*LIBRARY, restricted]), claim_review(namespace="other"))[VALIDATING]
    assert closed.evaluate(claim_review()) is None, "the class is refused"
    elsewhere = closed.evaluate(claim_review(namespace="other"))
    assert elsewhere is not None
    assert "other" in " ".join(elsewhere[1])
    metadata = {"name": "default", "labels": {label: "restricted"}, "annotations": {label: annotation}}
    allowed = passed(load([*LIBRARY, NAMESPACE | {"metadata": metadata}]), claim_review())
    assert allowed is not None
    assert allowed > known, "one policy more was evaluated"


@each_row(
    "expression",
    "request.operation == 'CREATE' && request.userInfo.username == 'admin'",
    "has(request.name) && request.name == 'c' && request.kind.kind == 'ResourceClaim'",
    "[request].all(each, each.userInfo.username == 'admin')",
)
def test_policies_see_their_own_request(expression: str) -> None:
    policies = load(validating(expression, matchConstraints=CLAIMS))
    quick = practised(policies, claim_review(name="c"))[VALIDATING]
    assert quick.evaluate(claim_review(name="c")) is not None
    assert quick.evaluate(claim_review(name="d", userInfo={"username": "other"})) is None


# -- left to the plain way


NOPE = "object.metadata.labels.nope == ''"
UNKNOWN: dict[str, dict[str, Any]] = {
    "false": {"expression": "false"},
    "an error": {"expression": NOPE},
    "an error of a variable": {"expression": "variables.v || true", "variables": [{"name": "v", "expression": NOPE}]},
    "an invalid key": {"expression": "{object.metadata: 1} == {} || true"},
    "a pattern that is too large": {"expression": "object.metadata.name.matches('\\\\pL{1000}') || true"},
    "an error of a condition": {"matchConditions": [{"name": "c", "expression": NOPE}]},
    "the variables as a whole": {"expression": "has(variables.v)", "variables": [{"name": "v", "expression": "1"}]},
    "what notes something": {"auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]},
    "what asks what users may do": {"expression": "authorizer.path('/').check('get').allowed() || true"},
    "a condition about the namespace": {"matchConditions": [{"name": "c", "expression": "namespaceObject == null"}]},
    "what costs much": {"expression": "object.metadata.big.contains('y') || true"},
    "what builds much": {"expression": "object.metadata.big + object.metadata.big != ''"},
    "more messages than may be left out": {
        "validations": [{"expression": "true", "messageExpression": "'m'"}],
        "variables": [{"name": f"v{number}", "expression": "1"} for number in range(8)],
    },
}


@each_row("name", *UNKNOWN)
def test_other_outcomes_are_left_to_the_plain_way(name: str) -> None:
    fields = dict(UNKNOWN[name])
    policy_, bound = validating(fields.pop("expression", "true"))
    obj = POD["object"] | {"metadata": {"name": "p", "big": "x" * (18 << 20)}}
    assert passed(load([with_spec(policy_, **fields), bound]), POD | {"object": obj}) is None


def test_policies_that_change_an_object_are_left_to_the_plain_way() -> None:
    assert passed(load(mutating("p", "Object{}", matchConstraints=CLAIMS)), claim_review(), MUTATING) is None
    conditions = [{"name": "c", "expression": "has(object.spec)"}]
    policies = load(mutating("p", "Object{}", matchConstraints=CLAIMS, matchConditions=conditions))
    assert passed(policies, claim_review(), MUTATING) is None
    assert passed(policies, claim_review(object=CLAIM | {"spec": {}}), MUTATING) is None


def test_a_deletion_passes_policies_that_change_objects_without_a_look_at_its_namespace() -> None:
    selector = {"matchExpressions": [{"key": "team", "operator": "Exists"}]}
    policies = load(mutating("p", "Object{}", matchConstraints=CLAIMS | {"namespaceSelector": selector}))
    request = claim_review(operation="DELETE", object=None, oldObject=CLAIM)
    verdict = mutate(request_of_review(request), policies)
    assert passed(policies, request, MUTATING) == (verdict.cost, verdict.notes) == (0, ())


def test_objects_of_another_version_are_left_to_the_plain_way() -> None:
    policies = load(validating("object.apiVersion.endsWith('v1')", matchConstraints=CLAIMS))
    assert passed(policies, claim_review()) is not None
    assert passed(policies, claim_review(object=CLAIM | {"apiVersion": "resource.k8s.io/v1beta2"})) is None
    beta = claim_review()["kind"] | {"version": "v1beta2"}
    assert passed(policies, claim_review(kind=beta, object=CLAIM | {"apiVersion": "resource.k8s.io/v1beta2"})) is None


def test_a_function_is_made_once_it_is_worth_it_and_not_too_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "OFTEN", 3)
    quick = QuickPolicies(load(validating("true")), VALIDATING)
    assert [quick.evaluate(POD) is not None for _ in range(4)] == [False, False, False, True]
    monkeypatch.setattr(fast, "DOCUMENT", 10)
    policies = load(validating("object.metadata.name == 'pod'"))
    assert passed(policies, POD) is None
    assert validate(request_of_review(POD), policies).allowed


def test_there_is_no_time_left_and_more_work_than_is_allowed_is_an_error_unless_offline() -> None:
    quick = practised(load(validating("true")))[VALIDATING]
    with limited(Budget(deadline=time.monotonic() - 1)), pytest.raises(DeadlineExceededError):
        quick.evaluate(POD)
    with limited(Budget(1)), pytest.raises(BudgetExceededError):
        quick.evaluate(POD)
    with limited(Budget(1, is_offline=True)):
        assert quick.evaluate(POD) is None


# -- requests that are made up


@pytest.mark.no_cover
def test_requests_that_are_made_up_do_not_fill_the_memory() -> None:
    quick = practised(load(LIBRARY))[VALIDATING]
    quick._places.clear()
    long = POD | {"resource": {"group": "g" * 2000, "version": "v1", "resource": "pods"}}
    assert quick.evaluate(long) == (0, ())
    assert not quick._places
    for number in range(1100):
        assert quick.evaluate(POD | {"subResource": str(number)}) == (0, ())
    assert 0 < len(quick._places) <= 1000
    claimed = claim_review()
    for number in range(1100):
        assert quick.evaluate(claimed | {"namespace": f"n-{number}"}) is not None
    assert 0 < len(quick._in_namespaces) <= 1000
    quick._in_namespaces.clear()
    assert quick.evaluate(claim_review(namespace="n" * 2000)) is not None
    assert not quick._in_namespaces


@each_row("field", "kind", "resource")
@each_row("value", None, 5, [], {}, {"group": [], "version": "", "kind": "", "resource": ""})
def test_malformed_requests_are_left_to_the_plain_way(field: str, value: Any) -> None:
    assert passed(load(LIBRARY), POD | {field: value}) is None
