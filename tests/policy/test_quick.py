# ruff: noqa: SLF001 - results are compared with the parts of the slow path
"""The fast path of a policy gives the results of its expressions one by one, at the same cost."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.reviews import POLICIES, reviews
from tests.mutilation import mutilated
from tests.policy import test_library, test_scenarios
from tests.policy.examples import CLAIM, POD, PODS, binding, mutating, policy
from tests.steps import counting
from webhook.budget import Budget, BudgetExceededError, DeadlineExceededError, limited
from webhook.cel.limits import MAX_BYTES
from webhook.documents import Document, read
from webhook.engine.suites import run_suite
from webhook.policy.change.difference import difference
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation import quick
from webhook.policy.evaluation import validate as validating
from webhook.policy.evaluation.authorizer import DENY_ALL
from webhook.policy.evaluation.conditions import MatchResult, evaluate_conditions
from webhook.policy.evaluation.plan import Invocation
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import Request, request_of, request_of_review
from webhook.policy.evaluation.session import Session
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.policy.manifest.model import VALIDATING

Told = list[tuple[str, bool | None]]
"""Policies, with the results of the fast path."""


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Compare results of the fast path with those of expressions one by one, and collect them."""
    answers: Told = []
    quickly = Session.holds_quickly

    def compared(session: Session, invocation: Invocation, obj: Any, *, changes: bool = False) -> bool | None:
        if invocation.quick:
            invocation.quick.prepare()
        meter = session.meter
        cost, left = meter.cost, meter.bytes
        holds = quickly(session, invocation, obj, changes=changes)
        answers.append((invocation.hook.policy.name, holds))
        spent = meter.cost - cost, left - meter.bytes
        if holds is None:
            assert spent == (0, 0)
            return None
        alone = Session(session.request._replace(object=obj), session.policies, session._authorizer)
        programs = invocation.hook.programs
        if changes:
            met = evaluate_conditions(programs, alone.bindings(invocation, obj), alone.request, alone.meter)
            assert met == MatchResult(holds=False)
        else:
            result = validating._evaluate(alone, invocation)
            assert result == validating._Result(invocation.passed) if holds else not any(result)
        assert spent == (alone.meter.cost, MAX_BYTES - alone.meter.bytes)
        assert alone.notes <= session.notes
        return holds

    monkeypatch.setattr(Session, "holds_quickly", compared)
    return answers


def ask(request: Request, policies: PolicySet) -> None:
    validate(request, policies)
    if request.operation != "DELETE":
        mutate(request, policies)


# -- decided by the fast path


@pytest.mark.slow
def test_of_recorded_scenarios(reported: Told) -> None:
    for scenario in test_scenarios.SCENARIOS:
        if "verdict" in scenario:
            test_scenarios.verdict_on(scenario)
    assert {True, False} <= {holds for _, holds in reported}


@pytest.mark.slow
@pytest.mark.parametrize("name", test_library.NAMES)
def test_of_the_library(reported: Told, name: str) -> None:
    (suite,) = test_library.documents(name, "tests.yaml")
    run_suite(suite, test_library.manifests(name))
    assert {holds for _, holds in reported} > {None} or "inherit" in name, (
        "a mutating policy without conditions is asked"
    )


LIBRARY: list[Any] = [document.data for document in read([POLICIES]) if isinstance(document, Document)]
EVERYTHING: list[Any] = [
    *LIBRARY,
    policy("named", [PODS], validations=[{"expression": "object.metadata.name != 'x'"}], variables=[]),
    binding("named"),
    policy(
        "many",
        [PODS | {"apiGroups": ["*"], "resources": ["*"]}],
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
    *mutating("changed", "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'b': 'c'}}]"),
    *mutating(
        "changes",
        "Object{metadata: Object.metadata{annotations: {'b': 'c'}}}",
        matchConditions=[{"name": "n", "expression": "object.metadata.labels.exists(k, k == 'b')"}],
    ),
]


@pytest.fixture(scope="module")
def everything() -> PolicySet:
    policies = load(EVERYTHING)
    policies.prepare()
    return policies


@pytest.mark.slow
@pytest.mark.usefixtures("reported")
@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    obj=st.sampled_from([POD, CLAIM, *(each["request"]["object"] for each in reviews().values())]).flatmap(mutilated),
    operation=st.sampled_from(["CREATE", "UPDATE", "DELETE"]),
)
def test_any_expressions_evaluate_quickly_to_the_same(everything: PolicySet, obj: Any, operation: str) -> None:
    if isinstance(obj, dict):
        old = None if operation == "CREATE" else obj
        ask(request_of(obj, old, kinds=everything.kinds, operation=operation), everything)


def test_of_what_is_common(reported: Told, everything: PolicySet) -> None:
    for review in reviews().values():
        ask(request_of_review(review["request"]), everything)
    library = {name.removesuffix(".dra.example.com"): holds for name, holds in reported if name.endswith(".com")}
    assert library == {
        "admin-access": True,
        "claim-device-limit": True,
        "claims-are-used": True,
        "claims-inherit-team": None,  # it has no conditions, and may make a change
        "deprecated-api-versions": True,
        "device-tolerations": True,
        "opaque-parameter-drivers": True,
        "prescheduled-pods-refused": True,
        "prescheduled-pods-rewritten": False,
        "resourceslice-publishers": True,
        "selector-on-shared-classes": True,
    }


# -- left to the slow path


UNTOLD: dict[str, dict[str, Any]] = {
    "false": {"expression": "false"},
    "an error": {"expression": "object.nope"},
    "an error of a variable": {
        "expression": "variables.v || true",
        "variables": [{"name": "v", "expression": "object.nope.nope == 1"}],
    },
    "an invalid key": {"expression": "{object.metadata: 1} == {} || true"},
    "a pattern that is too large": {"expression": "object.metadata.name.matches('\\\\pL{1000}') || true"},
    "an error of a condition": {"matchConditions": [{"name": "c", "expression": "object.nope"}]},
    "the variables as a whole": {
        "expression": "has(variables.v)",
        "variables": [{"name": "v", "expression": "1"}],
    },
    "what does not compile": {"expression": "object."},
    "what notes something": {"auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]},
    "what asks what users may do": {"expression": "authorizer.path('/').check('get').allowed() || true"},
    "a condition about the namespace": {
        "matchConditions": [{"name": "c", "expression": "namespaceObject == null"}],
    },
    "what costs much": {"expression": f"{list(range(400))}.all(i, {list(range(400))}.all(j, i + j >= 0))"},
    "what builds much": {"expression": "object.metadata.big + object.metadata.big != ''"},
    "more messages than may be left out": {
        "messageExpression": "'m'",
        "variables": [{"name": f"v{number}", "expression": "1"} for number in range(8)],
    },
}


@pytest.mark.parametrize("name", UNTOLD)
def test_an_unfinished_quick_evaluation_costs_nothing(name: str) -> None:
    fields = dict(UNTOLD[name])
    validation = {"expression": fields.pop("expression", "true")}
    if message := fields.pop("messageExpression", ""):
        validation["messageExpression"] = message
    policies = load([policy(validations=[validation], **fields), binding()])
    request = request_of(POD | {"metadata": {"name": "p", "big": "x" * (18 << 20)}}, kinds=policies.kinds)
    expected = validate(request, policies)
    policies.prepare()
    session = Session(request, policies, DENY_ALL)
    reported = [session.holds_quickly(each, request.object) for each in session.invocations(VALIDATING)]
    assert not any(reported)
    assert (session.meter.cost, session.meter.bytes) == (0, MAX_BYTES)
    assert validate(request, policies) == expected


def test_objects_of_another_version_are_not_reported() -> None:
    rules = [{"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}]
    policies = load([policy("p", rules, validations=[{"expression": "object.apiVersion.endsWith('v1')"}]), binding()])
    policies.prepare()
    for version, reported in {"v1": True, "v1beta2": None}.items():
        request = request_of(CLAIM | {"apiVersion": f"resource.k8s.io/{version}"}, kinds=policies.kinds)
        session = Session(request, policies, DENY_ALL)
        assert [session.holds_quickly(each, request.object) for each in session.invocations(VALIDATING)] == [reported]
        assert validate(request, policies).allowed


def test_a_quick_way_is_made_once_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "OFTEN", 3)
    policies = load([policy(validations=[{"expression": "true"}]), binding()])
    request = request_of(POD, kinds=policies.kinds)
    session = Session(request, policies, DENY_ALL)
    (invocation,) = session.invocations(VALIDATING)
    assert [session.holds_quickly(invocation, POD) for _ in range(4)] == [None, None, None, True]


def test_a_policy_that_is_too_much_work_has_no_quick_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "DOCUMENT", 10)
    policies = load([policy(validations=[{"expression": "object.metadata.name == 'p'"}]), binding()])
    policies.prepare()
    request = request_of(POD, kinds=policies.kinds)
    session = Session(request, policies, DENY_ALL)
    (invocation,) = session.invocations(VALIDATING)
    assert session.holds_quickly(invocation, POD) is None
    assert validate(request, policies).allowed


def test_there_is_no_time_left() -> None:
    policies = load([policy(validations=[{"expression": "true"}]), binding()])
    policies.prepare()
    with pytest.raises(DeadlineExceededError):
        validate(request_of(POD, kinds=policies.kinds), policies, deadline=time.monotonic() - 1)


def test_more_work_than_is_allowed_is_refused_or_an_error_offline() -> None:
    policies = load([policy(validations=[{"expression": "true"}]), binding()])
    policies.prepare()
    request = request_of(POD, kinds=policies.kinds)
    with limited(Budget(1)), pytest.raises(BudgetExceededError):
        validate(request, policies)
    with limited(Budget(1, is_offline=True)):
        assert "more work than draguard allows" in validate(request, policies).message


# -- all policies at once


CLAIMS = {
    "resourceRules": [
        {"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["*"]}
    ]
}
LABELLED = CLAIM | {"metadata": {"name": "c", "namespace": "default", "labels": {"team": "a", "other": "b"}}}


TEAM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "a"}}}


@pytest.fixture(scope="module", params=[EVERYTHING, [*LIBRARY, TEAM]], ids=["everything", "library"])
def several(request: pytest.FixtureRequest) -> PolicySet:
    policies = load(request.param)
    policies.prepare()
    return policies


REVIEWED = [
    *(each["request"] for each in reviews().values()),
    reviews()["resourceclaims"]["request"] | {"object": LABELLED},
]


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(review=st.sampled_from(REVIEWED).flatmap(mutilated))
def test_all_policies_cost_the_same_when_evaluated_quickly(several: PolicySet, review: dict[str, Any]) -> None:
    request = request_of_review(review)
    for fast, verdict in (
        (several.quick_validation(review, None), validate(request, several)),
        (several.quick_mutation(review, None), mutate(request, several)),
    ):
        if fast is not None:
            assert (verdict.allowed, verdict.warnings) == (True, ())
            assert (verdict.cost, verdict.notes) == fast
            assert verdict.object == request.object
            assert not verdict.audit_annotations


MUTATIONS: dict[str, tuple[str, bool]] = {
    "no label": ("Object{metadata: Object.metadata{labels: {}}}", True),
    "a label that is there": ("Object{metadata: Object.metadata{labels: {'team': 'a'}}}", True),
    "a name that is there": ("Object{metadata: Object.metadata{name: object.metadata.name}}", True),
    "nothing": ("Object{}", True),
    "another label": ("Object{metadata: Object.metadata{labels: {'team': 'b'}}}", False),
    "one more label": ("Object{metadata: Object.metadata{labels: {'team': 'a', 'c': 'd'}}}", False),
    "no annotation": ("Object{metadata: Object.metadata{annotations: {}}}", False),
    "a key that is not a string": ("Object{metadata: Object.metadata{labels: {1: 'a'}}}", False),
    "a wrong type": ("Object{metadata: Object.spec{labels: {'team': 'a'}}}", False),
    "an unknown field": ("Object{metadata: Object.metadata{nope: 'a'}}", False),
    "an optional field": ("Object{metadata: Object.metadata{?name: optional.of('c')}}", True),
    "a part of the object": ("Object{metadata: Object.metadata{labels: object.metadata.labels}}", True),
    "a list": (
        "Object{spec: Object.spec{devices: Object.spec.devices{requests: object.spec.devices.requests}}}",
        False,
    ),
    "an error": ("Object{metadata: Object.metadata{name: object.nope}}", False),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_that_change_nothing_are_evaluated_quickly(name: str) -> None:
    expression, is_quick = MUTATIONS[name]
    policies = load([*mutating("p", expression, matchConstraints=CLAIMS)])
    policies.prepare()
    review = claim_review(object=LABELLED)
    fast, verdict = policies.quick_mutation(review, None), mutate(request_of_review(review), policies)
    assert (fast is not None) == is_quick
    if fast is not None:
        assert verdict.allowed
        assert (verdict.cost, verdict.notes) == fast
        assert difference(LABELLED, verdict.object) == []


@pytest.mark.parametrize(
    "others",
    [
        mutating("q", "Object{metadata: Object.metadata{labels: {'team': 'a'}}}", matchConstraints=CLAIMS),
        mutating("q", "[JSONPatch{op: 'test', path: '/kind', value: 'ResourceClaim'}]", matchConstraints=CLAIMS),
    ],
    ids=["another configuration", "a patch"],
)
def test_only_the_last_policy_may_apply(others: list[Any]) -> None:
    first = mutating("p", "Object{metadata: Object.metadata{labels: {'team': 'a'}}}", matchConstraints=CLAIMS)
    policies = load([*first, *others])
    policies.prepare()
    assert policies.quick_mutation(claim_review(object=LABELLED), None) is None


def test_policies_that_are_evaluated_again_are_evaluated_one_by_one() -> None:
    made = mutating("p", "Object{}", matchConstraints=CLAIMS, reinvocationPolicy="IfNeeded")
    policies = load(made)
    policies.prepare()
    assert policies.quick_mutation(claim_review(object=LABELLED), None) is None


def test_objects_that_do_not_fit_their_type_are_merged_one_by_one() -> None:
    policies = load(mutating("p", "Object{metadata: Object.metadata{labels: {'team': 'a'}}}", matchConstraints=CLAIMS))
    policies.prepare()
    review = claim_review(object=LABELLED | {"spec": {"devices": []}})
    assert policies.quick_mutation(review, None) is None
    assert not mutate(request_of_review(review), policies).allowed


def test_common_requests_are_evaluated_quickly() -> None:
    library = load(LIBRARY)
    library.prepare()
    verdicts = {
        name: (library.quick_validation(each["request"], None), library.quick_mutation(each["request"], None))
        for name, each in reviews().items()
    }
    assert {name: tuple(fast and fast[0] for fast in each) for name, each in verdicts.items()} == {
        "pods": (62, 9),
        "deployments": (57, 0),
        "resourceclaims": (326, 87),
        "resourceslices": (60, 0),
    }
    notes = {name: " ".join(fast[1]) for name, (fast, _) in verdicts.items() if fast}
    assert "default" in notes.pop("resourceclaims"), "its namespace was not given"
    assert set(notes.values()) == {""}


def claim_review(**fields: Any) -> dict[str, Any]:
    review: dict[str, Any] = reviews()["resourceclaims"]["request"] | fields
    return review


def test_policies_that_depend_on_the_namespace_are_evaluated_quickly() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {}}}
    label, annotation = "dra.example.com/device-classes", "gpu.example.com, other"
    open_set = load([*LIBRARY, namespace])
    open_set.prepare()
    open_quick = open_set.quick_validation(claim_review(), None)
    assert open_quick == (326, ()), "the namespace is known"
    restricted = namespace | {"metadata": {"name": "default", "labels": {label: "restricted"}}}
    closed = load([*LIBRARY, restricted])
    closed.prepare()
    assert closed.quick_validation(claim_review(), None) is None, "the class is refused"
    elsewhere = closed.quick_validation(claim_review(namespace="other"), None)
    assert elsewhere is not None
    assert "other" in " ".join(elsewhere[1])
    metadata = {"name": "default", "labels": {label: "restricted"}, "annotations": {label: annotation}}
    allowing = load([*LIBRARY, namespace | {"metadata": metadata}])
    allowing.prepare()
    allowed = allowing.quick_validation(claim_review(), None)
    assert allowed is not None
    assert allowed > open_quick, "one policy more was evaluated"


@pytest.mark.parametrize(
    "expression",
    [
        "request.operation == 'CREATE' && request.userInfo.username == 'admin'",
        "has(request.name) && request.name == 'c' && request.kind.kind == 'ResourceClaim'",
        "[request].all(each, each.userInfo.username == 'admin')",
    ],
)
def test_policies_see_their_own_request(expression: str) -> None:
    policies = load([policy(matchConstraints=CLAIMS, validations=[{"expression": expression}]), binding()])
    policies.prepare()
    assert policies.quick_validation(claim_review(name="c"), None) is not None
    other = claim_review(name="d", userInfo={"username": "other"})
    assert policies.quick_validation(other, None) is None


def test_policies_that_see_the_place_alone_are_evaluated_quickly() -> None:
    expression = "request.requestKind.version == 'v1' && !has(request.subResource) && request.?resource.hasValue()"
    policies = load([policy(matchConstraints=CLAIMS, validations=[{"expression": expression}]), binding()])
    policies.prepare()
    verdicts = [policies.quick_validation(claim_review(name=name), None) for name in ("c", "d")]
    assert verdicts == [(validate(request_of_review(claim_review()), policies).cost, ())] * 2


def test_quick_evaluation_takes_few_steps() -> None:
    library = load(LIBRARY)
    library.prepare()
    request = reviews()["pods"]["request"]
    assert library.quick_validation(request, None) == (62, ())
    assert library.quick_mutation(request, None) == (9, ())
    with counting() as steps:
        library.quick_validation(request, None)
        library.quick_mutation(request, None)
    assert steps() < 120


def test_requests_that_are_made_up_do_not_fill_the_memory() -> None:
    library = load(LIBRARY)
    library.prepare()
    known = library.quick_paths[VALIDATING]._known
    request = reviews()["pods"]["request"]
    long = request | {"resource": {"group": "g" * 2000, "version": "v1", "resource": "pods"}}
    assert library.quick_validation(long, None) == (0, ())
    assert not known
    for number in range(1100):
        assert library.quick_validation(request | {"subResource": str(number)}, None) == (0, ())
    assert 0 < len(known) <= 1000
    in_namespaces = library.quick_paths[VALIDATING]._in_namespaces
    claimed = claim_review()
    for number in range(1100):
        assert library.quick_validation(claimed | {"namespace": f"n-{number}"}, None) is not None
    assert 0 < len(in_namespaces) <= 1000
    in_namespaces.clear()
    assert library.quick_validation(claim_review(namespace="n" * 2000), None) is not None
    assert not in_namespaces


@pytest.mark.parametrize("field", ["kind", "resource"])
@pytest.mark.parametrize("value", [None, 5, [], {}, {"group": [], "version": "", "kind": "", "resource": ""}])
def test_malformed_input_has_no_further_findings(everything: PolicySet, field: str, value: Any) -> None:
    assert everything.quick_validation(reviews()["pods"]["request"] | {field: value}, None) is None
