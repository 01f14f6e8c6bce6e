"""Validating policies judge requests."""

from __future__ import annotations

import json
from typing import Any

from tests.policy.examples import CLAIM, POD, PODS, binding, policy
from tests.rows import each_row_beside
from webhook.policy.evaluation.authorizer import NOTE, authorizer_of
from webhook.policy.evaluation.request import request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.evaluation.verdict import VALIDATION_FAILURE, Verdict
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds


def searching(size: int) -> str:
    """Return an expression that is true at a cost of a hundredth of the size's square, in one quick step."""
    text = "a" * size
    return f"'{text}'.contains('{text}')"


DEAR = searching(5870)
"""Costs 344,569."""


def judged(
    *validations: Any, bound: dict[str, Any] | None = None, obj: dict[str, Any] | None = None, **fields: Any
) -> Verdict:
    listed = [{"expression": each} if isinstance(each, str) else each for each in validations]
    manifest = policy(validations=listed, **fields)
    policies = load([manifest, bound or binding()])
    assert not policies.errors, [str(each.problem) for each in policies.errors]
    return validate(request_of(obj or POD, kinds=Kinds()), policies)


def said(verdict: Verdict) -> str:
    return verdict.message.partition(" denied request: ")[2]


def test_an_object_that_meets_every_validation_is_allowed() -> None:
    verdict = judged("object.metadata.name == 'p'", "has(object.spec.nodeName)")
    assert verdict.allowed
    assert [decision.denied for decision in verdict.decisions] == [False, False]


@each_row_beside("validation", "message")
def test_messages_fall_back(validation: dict[str, Any], message: str) -> None:
    assert said(judged({"expression": " false "} | validation)) == message


def test_a_long_message_is_not_used() -> None:
    name = "n" * 3000
    obj = POD | {"metadata": {"name": name, "namespace": "default"}}
    validation = {
        "expression": "false",
        "message": "plain",
        "messageExpression": "string(object.metadata.name) + object.metadata.name",
    }
    assert said(judged(validation, obj=obj)) == "plain"


def test_an_error_is_what_the_failure_policy_says() -> None:
    error = "expression 'object.spec.nope == 1' resulted in error: no such key: nope"
    assert said(judged("object.spec.nope == 1")) == error
    ignored = judged("object.spec.nope == 1", failurePolicy="Ignore")
    assert ignored.allowed
    assert [(each.is_error, each.denied, each.message) for each in ignored.decisions] == [(True, False, error)]


def test_a_failure_refuses_even_where_errors_are_ignored() -> None:
    assert said(judged("object.spec.nope == 1", "false", failurePolicy="Ignore")) == "failed expression: false"


def test_variables_are_evaluated_when_they_are_used() -> None:
    variables = [
        {"name": "broken", "expression": "object.spec.nope"},
        {"name": "name", "expression": "object.metadata.name"},
        {"name": "twice", "expression": "variables.name + variables.name"},
    ]
    assert judged("variables.twice == 'pp' || variables.broken == 1", variables=variables).allowed
    text = 'composited variable "broken" fails to evaluate: no such key: nope'
    assert said(judged("variables.broken == 1", variables=variables)).endswith(text)


def test_missing_variables_can_be_tested_for() -> None:
    variables = [{"name": "name", "expression": "object.metadata.name"}]
    assert judged("has(dyn(variables).name) && !has(dyn(variables).nope)", variables=variables).allowed
    assert judged("dyn(variables).?nope.orValue('p') == variables.name", variables=variables).allowed
    assert said(judged("dyn(variables).nope == 1", variables=variables)).endswith("no such key: nope")


def test_a_long_chain_of_variables_is_evaluated_or_refused() -> None:
    links = [{"name": f"v{index}", "expression": f"variables.v{index - 1} + 1"} for index in range(1, 900)]
    chain = [{"name": "v0", "expression": "object.metadata.name == 'p' ? 0 : 1"}, *links]
    verdict = judged("variables.v899 == 899", variables=chain)
    assert verdict.allowed or "nested too deeply" in verdict.message


def test_decisions_tell_what_they_do() -> None:
    warned = judged("true", "false", bound=binding(validationActions=["Warn", "Audit"]))
    assert [each.actions for each in warned.decisions] == [(), ("Warn", "Audit")]
    broken = judged("true", paramKind={"apiVersion": "example.com/v1", "kind": "Nope"})
    assert [each.actions for each in broken.decisions] == [("Deny",)]


def test_a_variable_is_evaluated_once() -> None:
    variables = [{"name": "big", "expression": DEAR}]
    uses = [" && ".join(["variables.big"] * 3)] * 8
    assert judged(*uses, variables=variables).allowed


def test_one_expression_may_cost_a_million() -> None:
    assert said(judged(searching(10_010))).endswith(
        "resulted in error: operation cancelled: actual cost limit exceeded"
    )


def test_a_policy_may_cost_ten_millions() -> None:
    verdict = judged(*[DEAR] * 30)
    text = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert said(verdict) == text
    assert len(verdict.decisions) == 1
    assert judged(*[DEAR] * 30, failurePolicy="Ignore").allowed


def test_messages_are_paid_from_what_validations_leave() -> None:
    dear = [{"expression": "true", "messageExpression": f"string({DEAR})"}] * 30
    verdict = judged({"expression": "false"}, *dear)
    assert said(verdict).startswith("failed messageExpression: validation failed due to running out of cost budget")
    assert len(verdict.decisions) == 31
    assert all(decision.denied for decision in verdict.decisions)
    assert not judged(*dear).allowed
    assert judged(*dear[:20]).allowed


@each_row_beside("conditions", "applies")
def test_match_conditions_decide_whether_a_policy_applies(conditions: list[str], applies: bool) -> None:
    named = [{"name": f"c{index}", "expression": each} for index, each in enumerate(conditions)]
    assert judged("false", matchConditions=named).allowed is not applies


def test_an_error_in_a_condition_is_what_the_failure_policy_says() -> None:
    named = [{"name": "a", "expression": "object.a == 1"}, {"name": "b", "expression": "object.b == 1"}]
    text = (
        "[expression 'object.a == 1' resulted in error: no such key: a, "
        "expression 'object.b == 1' resulted in error: no such key: b]"
    )
    assert said(judged("true", matchConditions=named)) == text
    assert judged("false", matchConditions=named, failurePolicy="Ignore").allowed


def test_conditions_have_a_budget_of_their_own() -> None:
    dear = [{"name": f"c{index}", "expression": DEAR} for index in range(8)]
    assert "running out of cost budget" in said(judged("true", matchConditions=dear))
    late = [{"name": "first", "expression": "false"}, *dear]
    assert "running out of cost budget" in said(judged("true", matchConditions=late))
    assert judged("true", matchConditions=late[:4]).allowed


def test_actions_warn_and_audit() -> None:
    bound = binding(validationActions=["Warn", "Audit"])
    verdict = judged({"expression": "false", "message": "m"}, "true", "has(object.nope)", bound=bound)
    assert verdict.allowed
    assert verdict.warnings == (
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': m",
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': failed expression: has(object.nope)",
    )
    noted = json.loads(verdict.audit_annotations[VALIDATION_FAILURE])
    assert noted[0] == {
        "message": "m",
        "policy": "p",
        "binding": "p",
        "expressionIndex": 0,
        "validationActions": ["Warn", "Audit"],
    }
    assert [each["expressionIndex"] for each in noted] == [0, 2]


def test_audited_failures_are_json_as_go_writes_it() -> None:
    verdict = judged({"expression": "false", "message": "a < b && 'é'"}, bound=binding(validationActions=["Audit"]))
    assert r"a \u003c b \u0026\u0026 'é'" in verdict.audit_annotations[VALIDATION_FAILURE]


def test_fifty_failures_are_audited_at_most() -> None:
    verdict = judged(*["false"] * 60, bound=binding(validationActions=["Audit"]))
    assert len(json.loads(verdict.audit_annotations[VALIDATION_FAILURE])) == 50


def test_audit_annotations_are_noted_under_the_policys_name() -> None:
    annotations = [
        {"key": "name", "valueExpression": "' ' + object.metadata.name + ' '"},
        {"key": "none", "valueExpression": "null"},
        {"key": "blank", "valueExpression": "'  '"},
    ]
    assert judged("true", auditAnnotations=annotations).audit_annotations == {"p/name": "p"}


def test_annotations_of_several_bindings_are_joined() -> None:
    annotation = {"key": "k", "valueExpression": "string(params.data.a)"}
    manifest = policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, auditAnnotations=[annotation])
    configs = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}}
        for name, value in (("x", "1"), ("y", "2"), ("z", "1"))
    ]
    bindings = [binding(name, "p", paramRef={"name": name, "parameterNotFoundAction": "Deny"}) for name in "xyz"]
    verdict = validate(request_of(POD, kinds=Kinds()), load([manifest, *bindings, *configs]))
    assert verdict.audit_annotations == {"p/k": "1, 2"}


def test_a_long_annotation_is_cut() -> None:
    obj = POD | {"metadata": {"name": "n" * 11_000, "namespace": "default"}}
    annotation = [{"key": "k", "valueExpression": "string(object.metadata.name)"}]
    assert len(judged("true", obj=obj, auditAnnotations=annotation).audit_annotations["p/k"]) == 10 * 1024


def test_an_error_in_an_annotation_refuses_whatever_the_actions_are() -> None:
    annotations = [{"key": "k", "valueExpression": "string(object.nope)"}]
    bound = binding(validationActions=["Audit"])
    assert said(judged("true", bound=bound, auditAnnotations=annotations)).endswith("no such key: nope")
    assert judged("true", bound=bound, auditAnnotations=annotations, failurePolicy="Ignore").allowed


def test_the_first_refusal_is_reported() -> None:
    verdict = judged({"expression": "false", "reason": "Forbidden", "message": "one"}, "false")
    assert (verdict.code, verdict.reason) == (403, "Forbidden")
    assert (
        verdict.message == "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: one"
    )
    assert verdict.causes == ("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: one",)


def test_an_object_without_a_name_is_identified_by_its_prefix() -> None:
    prefixed = POD | {"metadata": {"generateName": "p-", "namespace": "default"}}
    assert judged("false", obj=prefixed).message.startswith('pods "p-" is forbidden')
    assert judged("false", obj=POD | {"metadata": {"namespace": "default"}}).message.startswith('pods "Unknown"')


def test_expressions_see_the_request_and_the_namespace() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"env": "prod"}}}
    expressions = [
        "namespaceObject.metadata.labels.env == 'prod'",
        "namespaceObject.metadata.name == request.namespace",
        "request.operation == 'CREATE' && request.userInfo.username == 'jane'",
        "'dev' in request.userInfo.groups && !request.dryRun && !has(request.subResource)",
        "request.options.kind == 'CreateOptions' && oldObject == null",
    ]
    listed = [{"expression": each} for each in expressions]
    policies = load([policy(validations=listed), binding(), namespace])
    user = {"username": "jane", "groups": ["dev"]}
    assert validate(request_of(POD, kinds=Kinds(), user=user), policies).allowed


def test_policies_see_the_version_that_they_ask_for() -> None:
    old = CLAIM | {
        "apiVersion": "resource.k8s.io/v1beta1",
        "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu.example.com", "count": 2}]}},
    }
    rules = [PODS | {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"]}]
    listed = [{"expression": "object.spec.devices.requests.all(r, r.exactly.count == 2 && r.name == 'gpu')"}]
    policies = load([policy(rules=rules, validations=listed), binding()])
    assert validate(request_of(old, kinds=Kinds()), policies).allowed


def test_audit_annotations_have_no_authorizer() -> None:
    annotations = [{"key": "k", "valueExpression": "authorizer.path('/x').check('get').reason()"}]
    assert said(judged("true", auditAnnotations=annotations)).endswith("no such attribute(s): authorizer")


def test_the_authorizer_knows_rules_and_superusers() -> None:
    asks = "authorizer.group('').resource('pods').namespace('default').check('break').allowed()"
    policies = load([policy(validations=[{"expression": asks}]), binding()])
    request = request_of(POD, kinds=Kinds(), user={"username": "jane", "groups": ["dev"]})
    denied = validate(request, policies)
    assert not denied.allowed
    assert denied.notes == (NOTE,)
    rules = [
        {"groups": ["dev"], "apiGroups": [""], "resources": ["pods"], "verbs": ["break"], "namespaces": ["default"]}
    ]
    assert validate(request, policies, authorizer_of({"rules": rules})).allowed
    root = request_of(POD, kinds=Kinds(), user={"username": "root", "groups": ["system:masters"]})
    allowed = validate(root, policies)
    assert allowed.allowed
    assert allowed.notes == ()
