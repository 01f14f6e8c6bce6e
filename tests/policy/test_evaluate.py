"""Validating policies judge requests: by a plan, by permissions, and within their time and cost."""

import json
import time
import tracemalloc
from contextlib import AbstractContextManager
from functools import partial
from itertools import product, starmap
from typing import Any

import pytest

from tests.policy.examples import BETA, CLAIM, CLAIMS, POD, PODS, binding, evaluate, mutating, of, policy, validating
from tests.rows import each_row, each_row_beside
from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User
from webhook.engine import mutation
from webhook.engine.prescheduled import Rewrite
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.authorizer import DENY_ALL, NOTE, AuthorizerError, Permission, authorizer_of
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import Request, request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.evaluation.verdict import VALIDATION_FAILURE, Verdict
from webhook.policy.load import load
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds, Resource


def searching(size: int) -> str:
    """Return an expression that is true at a cost of a hundredth of the size's square, in one quick step."""
    text = "a" * size
    return f"'{text}'.contains('{text}')"


DEAR = searching(5870)
"""Costs 344,569."""


def judged(
    *validations: Any, bound: dict[str, Any] | None = None, obj: dict[str, Any] | None = None, **fields: Any
) -> Verdict:
    stated, usual = validating(*validations, **fields)
    policies = load([stated, bound or usual])
    assert not policies.errors, [str(each.problem) for each in policies.errors]
    return validate(about(obj or POD), policies)


def about(obj: dict[str, Any]) -> Request:
    return request_of(obj, kinds=Kinds())


def loaded(*validations: Any, **fields: Any) -> PolicySet:
    return load(validating(*validations, **fields))


def said(verdict: Verdict) -> str:
    return verdict.message.partition(" denied request: ")[2]


def test_an_object_without_a_name_is_identified_by_its_prefix() -> None:
    prefixed = POD | {"metadata": {"generateName": "p-", "namespace": "default"}}
    assert judged("false", obj=prefixed).message.startswith('pods "p-" is forbidden')
    assert judged("false", obj=POD | {"metadata": {"namespace": "default"}}).message.startswith('pods "Unknown"')


@each_row_beside("validation", "message")
def test_messages_fall_back(validation: dict[str, Any], message: str) -> None:
    assert said(judged({"expression": " false "} | validation)) == message


def test_a_long_message_is_not_used() -> None:
    long = "string(object.metadata.name) + object.metadata.name"
    obj = POD | {"metadata": {"name": "n" * 3000, "namespace": "default"}}
    assert said(judged({"expression": "false", "message": "plain", "messageExpression": long}, obj=obj)) == "plain"


def test_a_failure_refuses_beside_an_error_that_is_ignored() -> None:
    assert said(judged("object.spec.nope == 1", "false", failurePolicy="Ignore")) == "failed expression: false"


def test_variables_are_evaluated_when_they_are_used_and_can_be_tested_for() -> None:
    texts = {"broken": "object.spec.nope", "name": "object.metadata.name", "twice": "variables.name + variables.name"}
    variables = [{"name": name, "expression": text} for name, text in texts.items()]
    assert judged("variables.twice == 'pp' || variables.broken == 1", variables=variables).allowed
    text = 'composited variable "broken" fails to evaluate: no such key: nope'
    assert said(judged("variables.broken == 1", variables=variables)).endswith(text)
    assert judged("has(dyn(variables).name) && !has(dyn(variables).nope)", variables=variables).allowed
    assert judged("dyn(variables).?nope.orValue('p') == variables.name", variables=variables).allowed
    assert said(judged("dyn(variables).nope == 1", variables=variables)).endswith("no such key: nope")


@pytest.mark.slow
def test_a_long_chain_of_variables_is_evaluated_or_refused() -> None:
    links = [{"name": f"v{index}", "expression": f"variables.v{index - 1} + 1"} for index in range(1, 900)]
    chain = [{"name": "v0", "expression": "object.metadata.name == 'p' ? 0 : 1"}, *links]
    verdict = judged("variables.v899 == 899", variables=chain)
    assert verdict.allowed or "nested too deeply" in verdict.message


def test_an_expression_may_cost_a_million_and_a_policy_ten_millions() -> None:
    assert said(judged(searching(10_010))).endswith("error: operation cancelled: actual cost limit exceeded")
    verdict = judged(*[DEAR] * 30)
    text = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert (said(verdict), len(verdict.decisions)) == (text, 1)
    assert judged(*[DEAR] * 30, failurePolicy="Ignore").allowed
    variables = [{"name": "big", "expression": DEAR}]  # evaluated once
    uses = [" && ".join(["variables.big"] * 3)] * 8
    assert judged(*uses, variables=variables).allowed


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


def test_conditions_have_the_failure_policy_of_their_policy_and_a_budget_of_their_own() -> None:
    named = [{"name": each, "expression": f"object.{each} == 1"} for each in "ab"]
    texts = [f"expression 'object.{each} == 1' resulted in error: no such key: {each}" for each in "ab"]
    assert said(judged("true", matchConditions=named)) == f"[{', '.join(texts)}]"
    assert judged("false", matchConditions=named, failurePolicy="Ignore").allowed
    dear = [{"name": f"c{index}", "expression": DEAR} for index in range(8)]
    assert "running out of cost budget" in said(judged("true", matchConditions=dear))
    late = [{"name": "first", "expression": "false"}, *dear]
    assert "running out of cost budget" in said(judged("true", matchConditions=late))
    assert judged("true", matchConditions=late[:4]).allowed


def test_actions_warn_and_audit_and_decisions_tell_so() -> None:
    bound = binding(validationActions=["Warn", "Audit"])
    verdict = judged({"expression": "false", "message": "m"}, "true", "has(object.nope)", bound=bound)
    assert verdict.allowed
    said = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': "
    assert verdict.warnings == (f"{said}m", f"{said}failed expression: has(object.nope)")
    noted = json.loads(verdict.audit_annotations[VALIDATION_FAILURE])
    told = {"policy": "p", "binding": "p", "validationActions": ["Warn", "Audit"]}
    assert noted[0] == told | {"message": "m", "expressionIndex": 0}
    assert [each["expressionIndex"] for each in noted] == [0, 2]
    warned = judged("true", "false", bound=binding(validationActions=["Warn", "Audit"]))
    assert [each.actions for each in warned.decisions] == [(), ("Warn", "Audit")]
    broken = judged("true", paramKind={"apiVersion": "example.com/v1", "kind": "Nope"})
    assert [each.actions for each in broken.decisions] == [("Deny",)]


def test_at_most_fifty_failures_are_audited_in_json_as_go_writes_it() -> None:
    verdict = judged({"expression": "false", "message": "a < b && 'é'"}, bound=binding(validationActions=["Audit"]))
    assert r"a \u003c b \u0026\u0026 'é'" in verdict.audit_annotations[VALIDATION_FAILURE]
    verdict = judged(*["false"] * 60, bound=binding(validationActions=["Audit"]))
    assert len(json.loads(verdict.audit_annotations[VALIDATION_FAILURE])) == 50


def test_audit_annotations_are_noted_under_the_policys_name_and_cut() -> None:
    values = {"name": "' ' + object.metadata.name + ' '", "none": "null", "blank": "'  '"}
    annotations = [{"key": key, "valueExpression": value} for key, value in values.items()]
    assert judged("true", auditAnnotations=annotations).audit_annotations == {"p/name": "p"}
    obj = POD | {"metadata": {"name": "n" * 11_000, "namespace": "default"}}
    annotation = [{"key": "k", "valueExpression": "string(object.metadata.name)"}]
    assert len(judged("true", obj=obj, auditAnnotations=annotation).audit_annotations["p/k"]) == 10 * 1024


def test_annotations_of_several_bindings_are_joined() -> None:
    annotation = {"key": "k", "valueExpression": "string(params.data.a)"}
    manifest = policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, auditAnnotations=[annotation])
    configs = [of("ConfigMap", name, data={"a": value}) for name, value in (("x", "1"), ("y", "2"), ("z", "1"))]
    bindings = [binding(name, "p", paramRef={"name": name, "parameterNotFoundAction": "Deny"}) for name in "xyz"]
    verdict = validate(about(POD), load([manifest, *bindings, *configs]))
    assert verdict.audit_annotations == {"p/k": "1, 2"}


def test_an_error_in_an_annotation_refuses_whatever_the_actions_are() -> None:
    annotations = [{"key": "k", "valueExpression": "string(object.nope)"}]
    bound = binding(validationActions=["Audit"])
    assert said(judged("true", bound=bound, auditAnnotations=annotations)).endswith("no such key: nope")
    assert judged("true", bound=bound, auditAnnotations=annotations, failurePolicy="Ignore").allowed
    annotations = [{"key": "k", "valueExpression": "authorizer.path('/x').check('get').reason()"}]
    assert said(judged("true", auditAnnotations=annotations)).endswith("no such attribute(s): authorizer")


def test_an_error_in_an_annotation_tells_the_parameters() -> None:
    annotation = {"key": "k", "valueExpression": "string(object.nope)"}
    manifest = policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, auditAnnotations=[annotation])
    bound = binding(paramRef={"name": "x", "parameterNotFoundAction": "Deny"})
    (decision,) = validate(about(POD), load([manifest, bound, of("ConfigMap")])).decisions
    assert decision.params == of("ConfigMap", metadata={"name": "x", "namespace": "default"})


def test_expressions_see_the_request_and_the_namespace() -> None:
    namespace = of("Namespace", metadata={"name": "default", "labels": {"env": "prod"}})
    expressions = [
        "namespaceObject.metadata.labels.env == 'prod' && namespaceObject.metadata.name == request.namespace",
        "request.operation == 'CREATE' && request.userInfo.username == 'jane' && 'dev' in request.userInfo.groups",
        "!request.dryRun && !has(request.subResource) && request.options.kind == 'CreateOptions' && oldObject == null",
    ]
    request = request_of(POD, kinds=Kinds(), user={"username": "jane", "groups": ["dev"]})
    assert validate(request, load([*validating(*expressions), namespace])).allowed


def test_policies_see_the_version_that_they_ask_for() -> None:
    expression = "object.spec.devices.requests.all(r, r.exactly.count == 2 && r.name == 'gpu')"
    assert validate(about(BETA), loaded(expression, rules=[CLAIMS])).allowed


def test_the_authorizer_knows_rules_and_superusers() -> None:
    asks = "authorizer.group('').resource('pods').namespace('default').check('break').allowed()"
    policies = loaded(asks)
    jane, root = ({"username": "a", "groups": [group]} for group in ("dev", "system:masters"))
    request = request_of(POD, kinds=Kinds(), user=jane)
    denied = validate(request, policies)
    assert (denied.allowed, denied.notes) == (False, (NOTE,))
    rule = {"groups": ["dev"], "apiGroups": [""], "resources": ["pods"], "verbs": ["break"], "namespaces": ["default"]}
    assert validate(request, policies, authorizer_of({"rules": [rule]})).allowed
    allowed = validate(request_of(POD, kinds=Kinds(), user=root), policies)
    assert (allowed.allowed, allowed.notes) == (True, ())


JANE = AuthorizerValue(User("jane", ("dev",)), lambda _: Decision(allowed=False))
GET_POD = ResourceCheck(JANE, "", "pods", namespace="default", name="p", verb="get")
RULE: dict[str, Any] = {"api_groups": [""], "resources": ["pods"], "verbs": ["get"]}


def allows(question: PathCheck | ResourceCheck = GET_POD, **fields: Any) -> bool:
    return Permission(**{name: frozenset(values) for name, values in (RULE | fields).items()}).allows(question)


@each_row_beside("fields", "allowed")
def test_rules_allow_what_they_name(fields: dict[str, Any], allowed: bool) -> None:
    assert allows(**fields) is allowed


def test_subresources_are_named_with_their_resource_and_paths_whole_or_by_their_start() -> None:
    question = ResourceCheck(JANE, "", "pods", "log", "default", "p", verb="get")
    assert not allows(question)
    assert all(allows(question, resources=[each]) for each in ("pods/log", "*/log", "*"))
    path = PathCheck(JANE, "/healthz/ready", "get")
    assert not allows(path)
    assert [allows(path, paths=[each]) for each in ("/healthz/ready", "/healthz/*", "/healthz")] == [True, True, False]


@each_row(
    ("document", "text"),
    ([], "[] is not of type object"),
    ({}, 'rules is missing; add it, as in [{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]'),
    ({"rules": [1]}, 'rules[0]: 1 is not of type object; write a map, as in {"apiGroups":'),
    ({"rules": [{"verb": ["get"]}]}, 'rules[0].verb: unknown field "verb"; did you mean "verbs"?'),
    ({"rules": [{"resources": ["pods"]}]}, "rules[0]: verbs is missing"),
    ({"rules": [{"verbs": []}]}, "rules[0].verbs: must not be empty"),
    ({"rules": [{"verbs": "get"}]}, 'rules[0].verbs: "get" is not of type array; write a list, even of one item'),
)
def test_a_malformed_list_is_refused(document: object, text: str) -> None:
    with pytest.raises(AuthorizerError) as caught:
        authorizer_of(document)
    assert str(caught.value).startswith(text)


ALL_OF_CLAIMS = CLAIMS | {"resources": ["resourceclaims", "resourceclaims/*"]}
MATCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all": (PODS | {"apiGroups": ["*"], "resources": ["*/*"]}, {}),
    "created": (ALL_OF_CLAIMS | {"operations": ["CREATE"]}, {}),
    "exact": (ALL_OF_CLAIMS, {"matchPolicy": "Exact"}),
    "cluster": (ALL_OF_CLAIMS | {"scope": "Cluster"}, {}),
    "named": (ALL_OF_CLAIMS | {"resourceNames": ["a"]}, {}),
    "not-named": (ALL_OF_CLAIMS, {"excludeResourceRules": [ALL_OF_CLAIMS | {"resourceNames": ["a"]}]}),
    "status": (CLAIMS | {"resources": ["resourceclaims/status"]}, {}),
    "labelled": (ALL_OF_CLAIMS, {"objectSelector": {"matchLabels": {"app": "a"}}}),
    "placed": (ALL_OF_CLAIMS, {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}),
    "pods": (PODS, {}),
}
"""The rule of each policy, and further constraints."""


def about_claim(operation: str, version: str, subresource: str, name: str, namespace: str) -> Request:
    kind = GroupVersionKind("resource.k8s.io", version, "ResourceClaim")
    resource = Resource("resource.k8s.io", version, "resourceclaims")
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    obj = of("ResourceClaim", version=kind.api_version, metadata=metadata)
    return Request(operation, kind, resource, subresource=subresource, name=name, namespace=namespace, object=obj)


EVERY = ("CREATE", "DELETE"), ("v1", "v1beta1"), ("", "status"), ("a", "b"), ("", "default", "other")
REQUESTS = [*starmap(about_claim, product(*EVERY))]


def all_matches() -> PolicySet:
    false = [{"expression": "false"}]
    policies = (
        policy(name, validations=false, matchConstraints={"resourceRules": [rule], **more})
        for name, (rule, more) in MATCHES.items()
    )
    return load([*policies, *map(binding, MATCHES)])


def asked(request: Request, policies: PolicySet) -> list[str]:
    return [decision.policy.name for decision in validate(request, policies).decisions]


def test_a_set_that_has_seen_other_requests_answers_as_a_new_one_does() -> None:
    used = all_matches()
    expected = [asked(request, all_matches()) for request in REQUESTS]
    assert [asked(request, used) for request in REQUESTS] == expected
    assert [asked(request, used) for request in reversed(REQUESTS)] == expected[::-1]
    assert {name for answer in expected for name in answer} == MATCHES.keys() - {"pods"}


OF_POD = Request(
    "CREATE", GroupVersionKind("", "v1", "Pod"), Resource("", "v1", "pods"), name="p", namespace="a", object=POD
)


def test_places_of_unsupported_requests_do_not_fill_the_memory() -> None:
    find = partial(loaded("true").plan, "ValidatingAdmissionPolicy")
    found = find(OF_POD)
    assert find(OF_POD) is found
    for number in range(1000):
        assert find(OF_POD._replace(subresource=str(number))) == ()
    assert find(OF_POD) is not found
    assert find(OF_POD) == found
    size = 2**18  # long ones are not kept at all
    tracemalloc.start()
    for number in range(20):
        long = f"{number}".rjust(size)
        find(OF_POD._replace(subresource=long))
        find(OF_POD._replace(kind=GroupVersionKind("", "v1", long)))
        find(OF_POD._replace(resource=Resource(long, "v1", "pods")))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2 * size


def test_a_plan_of_a_place_has_invocations() -> None:
    settings = of("ConfigMap", metadata={"name": "settings", "namespace": "kube-system"})
    ref = {"name": "settings", "parameterNotFoundAction": "Deny"}
    stated: dict[str, Any] = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    stated["validations"] = [{"expression": "params.metadata.name == 'settings' && object.metadata.name == 'p'"}]
    bindings = binding("fixed", paramRef=ref | {"namespace": "kube-system"}), binding("beside", paramRef=ref)
    policies = load([policy("fixed", **stated), policy("beside", **stated), *bindings, settings])
    fixed, beside = policies.plan("ValidatingAdmissionPolicy", OF_POD)
    assert [(each.params, [one.denied for one in each.passed]) for each in fixed.settled] == [(settings, [False])]
    assert beside.settled == ()
    decisions = [(each.policy.name, each.denied, each.params) for each in validate(OF_POD, policies).decisions]
    assert decisions == [("fixed", False, settings), ("beside", True, None)]
    there = OF_POD._replace(namespace="kube-system")
    assert [each.params for each in validate(there, policies).decisions] == [settings, settings]


@each_row("expression", "false", "namespaceObject == null")
def test_conditions_see_no_namespace_whether_other_expressions_look_at_it_or_not(expression: str) -> None:
    conditions = [{"name": "a", "expression": "namespaceObject == null"}]
    verdict = validate(OF_POD, loaded(expression, matchConditions=conditions))
    assert [found.is_error for found in verdict.decisions] == [False]
    assert not verdict.allowed


MANY = 440
"""Comparing so many numbers with each other costs a little less than one expression may."""
LONG = "object.numbers.all(x, object.numbers.all(y, y >= 0))"
LABELLED = "Object{metadata: Object.metadata{labels: {'x': object.metadata.name}}}"
REWRITE = Rewrite([{"op": "remove", "path": "/spec/nodeName"}], (), {})


def for_seconds(seconds: float) -> AbstractContextManager[Budget]:
    """Put a budget in force that ends at a deadline."""
    return limited(Budget(deadline=time.monotonic() + seconds))


SOON = 0.002
"""The seconds after which a long expression was begun, but is not done."""


@each_row(
    "fields",
    {},
    {"failurePolicy": "Ignore"},
    {"matchConditions": [{"name": "c", "expression": "has(object.metadata)"}]},
    {"variables": [{"name": "v", "expression": "object.metadata.name"}]},
)
def test_after_the_deadline_no_validating_policy_is_evaluated(fields: dict[str, Any]) -> None:
    policies = loaded("true", **fields)
    with for_seconds(0), pytest.raises(DeadlineExceededError, match="the deadline has passed"):
        validate(about(POD), policies)


@each_row("ask", validate, mutate)
def test_after_the_deadline_no_policy_about_the_object_is_evaluated(ask: Any) -> None:
    policies = load([*validating("false"), *mutating("m", LABELLED)])
    with for_seconds(0):
        with pytest.raises(DeadlineExceededError):
            ask(about(POD), policies)
        assert ask(about(CLAIM), policies).allowed


@pytest.mark.no_cover
@each_row(
    "policies",
    loaded(LONG),
    loaded("variables.v", variables=[{"name": "v", "expression": LONG}]),
    loaded("true", matchConditions=[{"name": "c", "expression": LONG}]),
    loaded("false || " + LONG + " || true"),
)
def test_a_comprehension_is_stopped_when_the_deadline_passes(policies: PolicySet) -> None:
    request = about(POD | {"numbers": list(range(MANY))})
    assert validate(request, policies).allowed
    with for_seconds(SOON), pytest.raises(DeadlineExceededError):
        validate(request, policies)


def test_a_mutation_is_stopped_when_the_deadline_passes() -> None:
    policies = load(mutating("m", f"{LONG} ? Object{{}} : Object{{}}"))
    with for_seconds(SOON), pytest.raises(DeadlineExceededError):
        mutate(about(POD | {"numbers": list(range(MANY))}), policies)


def test_the_deadline_holds_before_a_rewrite_during_it_and_after_it() -> None:
    policies = load(mutating("m", LABELLED, reinvocationPolicy="IfNeeded"))
    rewritten: list[object] = []

    def rewrite(obj: object) -> Rewrite:
        rewritten.append(obj)
        return REWRITE

    with for_seconds(60):
        done = mutation.mutate_request(about(POD), policies, DENY_ALL, rewrite)
    assert (done.verdict.allowed, len(rewritten)) == (True, 1)
    with for_seconds(0), pytest.raises(DeadlineExceededError):
        mutation.mutate_request(about(POD), policies, DENY_ALL, rewrite)
    assert len(rewritten) == 1

    def waiting(_: object) -> Rewrite:
        time.sleep(0.1)
        return REWRITE

    with for_seconds(0.1), pytest.raises(DeadlineExceededError):
        mutation.mutate_request(about(POD), policies, DENY_ALL, waiting)


# -- costs


def test_a_verdict_tells_what_all_expressions_cost_messages_and_failures_included() -> None:
    conditions = [{"name": "c", "expression": "object.metadata.name == 'p'"}]  # 3 for the field, 1 for ==
    variables = [{"name": "v", "expression": "object.metadata.name"}, {"name": "unused", "expression": "[1, 2]"}]
    policies = loaded("variables.v == 'p'", "variables.v != 'q'", matchConditions=conditions, variables=variables)
    verdict = validate(about(POD), policies)
    assert verdict.cost == 4 + 3 + 2 * (2 + 1)
    validation = {"expression": "object.metadata.name == 'q'", "messageExpression": "string(object.metadata.name)"}
    assert judged(validation).cost == 4 + 4
    assert judged("object.metadata.nope == 'p'").cost == 4


def test_the_cost_of_mutations_is_added_to_that_of_validations_and_once_more_if_they_are_reinvoked() -> None:
    policies, request = load([*mutating("m", LABELLED), *validating("object.kind == 'Pod'")]), about(POD)
    changed, judged = mutate(request, policies), validate(request, policies)
    assert changed.cost > judged.cost > 0
    assert evaluate(POD, policies=policies).cost == changed.cost + judged.cost
    once = mutate(about(POD), load(mutating("m", LABELLED))).cost
    again = load(mutating("m", LABELLED, reinvocationPolicy="IfNeeded"))
    assert mutate(about(POD), again).cost == 2 * once
    assert mutation.mutate_request(about(POD), again, DENY_ALL, lambda _: REWRITE).verdict.cost == 2 * once
