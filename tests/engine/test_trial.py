"""``policy check`` evaluates policies for small objects that the API server accepts."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests.policy.examples import binding, definition, mutating, of, policy, rule, validating
from tests.rows import each_row, each_row_beside
from webhook.budget import Budget
from webhook.engine.offline import evaluate
from webhook.engine.trial import try_policies
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load

PODS, CLAIMS = (
    rule("pods", operations=["CREATE"]),
    rule("resourceclaims", group="resource.k8s.io", operations=["CREATE"]),
)


def tried(*given: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = try_policies(load(given)).findings
    return [(each.problem.field, each.problem.message, each.problem.hint) for each in found]


def changing(*mutations: str, rules: Any = (PODS,), name: str = "m", **fields: Any) -> list[dict[str, Any]]:
    return mutating(name, *mutations, matchConstraints={"resourceRules": [*rules], **fields.pop("match", {})}, **fields)


def adding(path: str, value: str, **fields: Any) -> list[dict[str, Any]]:
    return changing(f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]", **fields)


_AT_ONCE = (
    "makes a plain Pod one that the API server refuses without further changes: "
    'spec.restartPolicy: Unsupported value: "No": supported values: "Always", "OnFailure", "Never"'
)
_AT_UPDATE = (
    "makes a plain Pod invalid at each update, if it was stored without the change: "
    "spec: Forbidden: pod updates may not change fields other than "
)


_OF_GPU = {"objectSelector": {"matchLabels": {"gpu": "true"}}}
_AS_NUMBER = "string(int(object.metadata.labels['a']))"
_OF_TEAM = {"namespaceSelector": {"matchLabels": {"team": "a"}}}


@each_row(
    ("match", "condition", "who"),
    (_OF_GPU, "true", "a Pod with label gpu"),
    ({"objectSelector": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}, "true", "a Pod with label gpu"),
    ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}, "true", "a plain Pod"),
    (_OF_TEAM, "true", "a plain Pod"),
    ({}, "object.metadata.?labels[?'a.b/c'].orValue('') == 'd'", "a Pod with label a.b/c"),
    ({}, "object.metadata.?labels[?'a'].orValue('') in ['b', 'c']", "a Pod with label a"),
    (
        _OF_GPU,
        "has(object.metadata.annotations) && 'a' in object.metadata.annotations",
        "a Pod with label gpu and with annotation a",
    ),
)
def test_objects_have_the_labels_for_which_a_policy_asks(match: dict[str, Any], condition: str, who: str) -> None:
    conditions = [{"name": "a", "expression": condition}]
    ((_, message, _),) = tried(
        *adding("/spec/resourceClaims/-", "{'name': 'a'}", match=match, matchConditions=conditions)
    )
    assert message.startswith(f"fails when {who} is created")


@each_row(
    ("match", "read"),
    (_OF_GPU, "object.metadata.labels['gpu']"),
    (_OF_TEAM, "namespaceObject.metadata.labels['team']"),
    ({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, _AS_NUMBER),
)
def test_what_a_selector_ensures_is_there(match: dict[str, Any], read: str) -> None:
    assert tried(*changing(f"Object{{metadata: Object.metadata{{annotations: {{'a': {read}}}}}}}", match=match)) == []


@each_row(
    ("operations", "path", "value", "refusal"),
    (["CREATE"], "/spec/restartPolicy", "'Never'", ""),
    (["CREATE"], "/spec/restartPolicy", "'No'", _AT_ONCE),
    (["CREATE", "UPDATE"], "/spec/restartPolicy", "'No'", _AT_ONCE),
    (["CREATE", "UPDATE"], "/spec/restartPolicy", "'Never'", _AT_UPDATE),
    (["UPDATE"], "/spec/restartPolicy", "'Always'", ""),
    (["UPDATE"], "/spec/containers/0/image", "'b'", ""),
    (["UPDATE"], "/metadata/labels", "{'a': 'b'}", ""),
    (["UPDATE"], "/spec/tolerations/-", "{'key': 'a', 'operator': 'Exists'}", ""),
)
def test_a_change_that_the_api_server_refuses_is_found(
    operations: list[str], path: str, value: str, refusal: str
) -> None:
    found = tried(*adding(path, value, rules=[PODS | {"operations": operations}]))
    assert [message[: len(refusal)] for _, message, _ in found] == [refusal] * bool(refusal)
    is_late = refusal == _AT_UPDATE
    assert [hint for *_, hint in found] == ["leave UPDATE out of the operations" if is_late else ""] * len(found)


@each_row(("condition", "is_found"), ("object != null", True), ("oldObject == null", False))
def test_a_change_of_what_is_immutable_is_found_unless_it_is_made_once(condition: str, *, is_found: bool) -> None:
    rules = [rule("resourceclaimtemplates", group="resource.k8s.io")]
    conditions = [{"name": "c", "expression": condition}]
    found = tried(*adding("/spec/metadata", "{'labels': {'a': 'b'}}", rules=rules, matchConditions=conditions))
    text = "makes a plain ResourceClaimTemplate invalid at each update, if it was stored without the change: spec: "
    assert [message[: len(text)] for _, message, _ in found] == [text] * is_found


def test_a_change_that_does_not_fit_a_default_is_found() -> None:
    path = "/spec/devices/requests/0/firstAvailable/0/allocationMode"
    only = {"name": "only", "expression": "object.spec.?devices.requests[0].firstAvailable.hasValue()"}
    given = adding(path, "'All'", rules=[CLAIMS], matchConditions=[only])
    field = "spec.devices.requests[0].firstAvailable[0].count"
    refusal = f"{field}: Invalid value: 1: must not be specified when allocationMode is 'All'"
    start = "makes a ResourceClaim with firstAvailable one that the API server refuses without further changes: "
    assert start + refusal in [message for _, message, _ in tried(*given)]


@each_row(
    ("group", "resource", "expression", "found"),
    (
        "discovery.k8s.io",
        "endpointslices",
        "object.metadata.labels.a == 'b'",
        "an EndpointSlice without labels is created",
    ),
    ("discovery.k8s.io", "endpointslices", "object.endpoints.all(e, size(e.addresses) > 0)", ""),
    ("storage.k8s.io", "volumeattachments", "object.spec.nodeName != ''", ""),
    ("storage.k8s.io", "volumeattachments", "object.spec.source.persistentVolumeName != ''", ""),
    ("storage.k8s.io", "storageclasses", "object.reclaimPolicy == 'Delete'", ""),
    ("networking.k8s.io", "servicecidrs", "int(object.metadata.name) > 0", "a plain ServiceCIDR is created"),
    ("networking.k8s.io", "networkpolicies", "'Ingress' in object.spec.policyTypes", ""),
    ("resource.k8s.io", "devicetaintrules", "object.spec.taint.value == ''", "a DeviceTaintRule without value"),
    ("", "configmaps", "object.data.size() < 3", "a ConfigMap without data"),
    (
        "",
        "pods",
        "object.spec.containers.all(c, int(c.resources.?limits.?cpu.orValue('1')) < 3)",
        "a Pod with limits is created",
    ),
    ("", "services", "object.spec.selector.size() > 0", "a Service without selector"),
    ("", "services", "object.spec.type == 'ClusterIP' && object.spec.ports.all(p, p.protocol == 'TCP')", ""),
    ("batch", "cronjobs", "object.spec.jobTemplate.metadata.labels.size() > 0", "a CronJob without "),
    (
        "apps",
        "statefulsets",
        "object.spec.volumeClaimTemplates.size() < 3",
        "a StatefulSet without volumeClaimTemplates",
    ),
)
def test_policies_are_tried_on_every_kind_with_its_defaults(
    group: str, resource: str, expression: str, found: str
) -> None:
    problems = tried(*validating(expression, rules=[rule(resource, group=group, operations=["CREATE"])]))
    assert [message.startswith(f"fails when {found}") for _, message, _ in problems] == [True] * bool(found)


@each_row(
    ("mutation", "hint"),
    ("Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}", "use patchType: JSONPatch for .spec.nodeSelector: it can"),
    (
        "[JSONPatch{op: 'add', path: '/metadata/labels/example.com/a', value: 'b'}]",
        "a slash in a key is written ~1, as jsonpatch.escapeKey('example.com/a') writes it",
    ),
    (
        "[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'b'}]",
        "add /metadata/labels first where it is missing",
    ),
)
def test_a_change_that_fails_comes_with_what_works(mutation: str, hint: str) -> None:
    assert [each.startswith(hint) for _, _, each in tried(*changing(mutation))] == [True]


def test_a_long_path_is_read_in_time() -> None:
    mutation = f"[JSONPatch{{op: 'add', path: '/metadata/labels/{'a.' * 40_000}', value: 'b'}}]"
    began = time.process_time()
    ((_, _, hint),) = tried(*changing(mutation))
    assert hint.startswith("add /metadata/labels first where it is missing")
    assert time.process_time() - began < 5


def test_the_namespace_of_cluster_scoped_objects_is_null() -> None:
    rules = [rule("deviceclasses", group="resource.k8s.io", operations=["CREATE"])]
    ((_, _, hint),) = tried(*validating("namespaceObject.metadata.name != 'a'", rules=rules))
    assert hint.startswith("namespaceObject is null for objects without a namespace")


def test_policies_are_tried_on_custom_resources() -> None:
    spec = {
        "type": "object",
        "required": ["mode", "size", "names"],
        "properties": {
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "size": {"type": "integer", "minimum": 3},
            "names": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 2}},
            "note": {"type": "string"},
            "level": {"type": "integer", "default": 1},
        },
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    widgets = [rule("widgets", group="example.com", operations=["CREATE"])]
    sound = "object.spec.mode == 'fast' && object.spec.size > 2 && object.spec.names.all(n, size(n) > 1)"
    judging, _ = validating(sound, "object.spec.level == 1", "object.spec.note != ''", rules=widgets)
    merge = changing("Object{spec: Object.spec{note: 'a'}}", rules=widgets)
    ((field, message, _),) = tried(definition("Widget", "widgets", version, scope="Namespaced"), judging, *merge)
    assert field == "spec.validations[2].expression"
    assert message.startswith("fails when a Widget without note is created")


USE, _ = adding("/spec/containers/0/resources", "{'claims': [{'name': 'gpu'}]}", name="use")


def test_what_another_policy_adds_is_not_missing() -> None:
    claim, _ = adding("/spec/resourceClaims", "[{'name': 'gpu', 'resourceClaimName': 'gpu'}]", name="claim")
    (found,) = tried(USE)
    assert 'Not found: "gpu"' in found[1]
    assert tried(USE, claim) == []


@each_row(
    ("rules", "match", "is_found"),
    ([PODS], {}, False),
    ([PODS], {"objectSelector": {"matchLabels": {"team": "a"}}}, False),
    ([CLAIMS], {}, True),
)
def test_what_a_policy_with_parameters_may_add_is_not_missing(rules: Any, match: Any, is_found: bool) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    claim, _ = adding("/spec/resourceClaims", "params.data", name="claim", rules=rules, match=match, paramKind=config)
    assert bool(tried(USE, claim)) is is_found


def levels(validation: dict[str, str], operations: Sequence[str] = ("CREATE",)) -> list[tuple[str, str, str]]:
    given = validating(validation, rules=[PODS | {"operations": [*operations]}])
    problems = [each.problem for each in try_policies(load(given)).findings]
    return [(each.level, each.field, each.message.partition("shown instead: ")[2]) for each in problems]


@each_row(
    ("operation", "message", "reason"),
    ("DELETE", "'not ' + object.metadata.name", "no such key: metadata"),
    ("CREATE", "'not ' + oldObject.metadata.name", "no such key: metadata"),
    ("CREATE", "'team ' + object.metadata.labels['team']", "no such key: labels"),
    ("CREATE", "object.metadata.name + '\\n'+ 'x'", "the message has a line break"),
    ("CREATE", "object.metadata.?labels[?'a'].orValue(' ')", "the message is empty"),
    ("CREATE", f"object.metadata.name + '{'x' * 5120}'", "the message has more than 5120 bytes"),
    ("CREATE", "'no ' + object.metadata.name", ""),
    ("CREATE", "' ' + object.metadata.name + '\\n'", ""),
)
@each_row("beside", "", "no")
def test_a_message_that_is_not_used_is_found(operation: str, message: str, reason: str, beside: str) -> None:
    validation = {"expression": "request.userInfo.username == 'a'", "messageExpression": message}
    validation |= {"message": beside} if beside else {}
    level = "note" if beside else "warning"
    expected = [(level, "spec.validations[0].messageExpression", reason)] if reason else []
    assert levels(validation, [operation]) == expected


def test_a_message_that_is_only_made_for_what_is_refused_is_not_tried_on_others() -> None:
    labelled = "!has(object.metadata.labels) || object.metadata.labels.team == 'a'"
    assert levels({"expression": labelled, "messageExpression": "'not ' + object.metadata.labels.team"}) == []


@each_row(
    ("operations", "condition", "when"),
    (["CREATE", "DELETE"], "object.metadata.name != 'a'", "a plain Pod is deleted"),
    (["CREATE", "UPDATE"], "oldObject.metadata.name != 'a'", "a plain Pod is created"),
    (["CREATE"], "namespaceObject.metadata.name != 'a'", "a plain Pod is created"),
    (["CREATE"], "object.metadata.labels.team == 'a'", "a Pod without labels is created"),
    (["CREATE"], "object == null || object.metadata.name != 'a'", ""),
)
@each_row("effect", "refuses it", "does not apply")
@each_row("is_mutating", *(False, True))
def test_a_condition_that_fails_is_found(
    operations: list[str], condition: str, when: str, effect: str, *, is_mutating: bool
) -> None:
    made: dict[str, Any] = {
        "matchConditions": [{"name": "c", "expression": condition}],
        "failurePolicy": "Fail" if effect == "refuses it" else "Ignore",
        "rules": [PODS | {"operations": operations}],
    }
    given = adding("/metadata/labels", "{'a': 'b'}", **made) if is_mutating else validating("true", **made)
    expected = [("spec.matchConditions[0].expression", f"fails when {when}, and the policy {effect} then")]
    is_found = when and not (is_mutating and "deleted" in when)  # the API server asks no mutating policy then
    found = tried(*given)
    assert [(path, text.partition(": ")[0]) for path, text, _ in found] == (expected if is_found else [])
    of_namespace = "namespaceObject is null in match conditions: use namespaceSelector, or read it in validations"
    assert all((hint == of_namespace) is ("namespaceObject" in condition) for *_, hint in found)


@each_row(
    ("expression", "what", "hint"),
    ("namespaceObject.metadata.labels['x'] == 'y'", "x", "guard it, or read [?'x'].orValue('')"),
    ("namespaceObject.metadata.labels['a.b/x'] == 'y'", "a.b/x", "guard it, or read [?'a.b/x'].orValue('')"),
    (
        "namespaceObject.metadata.annotations['x'] == 'y'",
        "annotations",
        "read namespaceObject.metadata.?annotations[?'KEY'].orValue('')",
    ),
)
@each_row(
    ("actions", "effect"),
    (["Deny", "Audit"], "refuses it"),
    (["Warn", "Audit"], "only warns"),
    (["Audit"], "only notes it in the audit log"),
)
def test_the_namespace_is_named_if_it_lacks_a_label(
    expression: str, what: str, hint: str, actions: list[str], effect: str
) -> None:
    judging, bound = validating(expression, rules=[CLAIMS])
    bound = bound | {"spec": bound["spec"] | {"validationActions": actions}}
    ((_, message, given),) = tried(judging, bound)
    text = f"fails when a plain ResourceClaim is created in a Namespace without {what}, and the policy {effect} then: "
    assert message.startswith(text)
    assert given == hint


def test_a_message_is_not_said_to_refuse_what_is_only_warned_of() -> None:
    validation = {"expression": "false", "messageExpression": "namespaceObject.metadata.labels['x']"}
    given = [policy(validations=[validation], matchConstraints={"resourceRules": [CLAIMS]}), binding()]
    for actions, then in ((["Deny"], "refused"), (["Warn"], "the validation fails")):
        bound = given[1] | {"spec": given[1]["spec"] | {"validationActions": actions}}
        ((_, message, _),) = tried(given[0], bound)
        where = "a plain ResourceClaim is created in a Namespace without x"
        assert message.startswith(f"is not used when {where} and {then}, and ")


@pytest.mark.slow
def test_the_namespace_is_not_blamed_if_too_little_work_is_left_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = f"{list(range(40))}.all(x, {list(range(40))}.all(y, x + y >= 0))"
    given = validating(slow, "object.metadata.labels.a == 'b'", rules=[CLAIMS])
    for units in range(1_500, 6_000, 100):
        monkeypatch.setattr("webhook.engine.trial.DOCUMENT", units)
        assert not any("Namespace" in message for _, message, _ in tried(*given))


@each_row(
    ("limit", "expression", "reason"),
    ("2", "object.metadata.name.size() < int(params.data.limit)", ""),
    ("two", "object.metadata.name.size() < int(params.data.limit)", "type conversion error from 'string' to 'int'"),
    ("2", "object.metadata.name.size() < int(params.data.most)", "no such key: most"),
)
def test_policies_are_tried_with_the_parameters_that_were_given(limit: str, expression: str, reason: str) -> None:
    kind, ref = {"apiVersion": "v1", "kind": "ConfigMap"}, {"name": "limits", "parameterNotFoundAction": "Deny"}
    judging, _ = validating(expression, rules=[PODS], paramKind=kind)
    given = [judging, binding(paramRef=ref), of("ConfigMap", "limits", data={"limit": limit})]
    text = (
        "fails when a plain Pod is created with the ConfigMap default/limits as parameters, and the policy refuses it"
    )
    assert [message for _, message, _ in tried(*given)] == [f"{text} then: {reason}"] * bool(reason)
    assert tried(*given[:2]) == []
    assert tried(*given[:2], of("ConfigMap", "others", data={})) == []


def test_parameters_that_several_bindings_name_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def remembered(request: Request, policies: PolicySet, *, budget: Budget) -> Verdict:
        asked.append([each.param_ref and each.param_ref.name for each in policies.validating[0].bindings])
        return evaluate(request, policies, budget=budget)

    monkeypatch.setattr("webhook.engine.trial.evaluate", remembered)
    judging, _ = validating("params.data.a != ''", rules=[PODS], paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    refs = [{"name": name, "parameterNotFoundAction": "Deny"} for name in "abab"]
    bindings = (binding(f"b{index}", "p", paramRef=ref) for index, ref in enumerate(refs))
    tried(judging, *bindings, of("ConfigMap", "a", data={}))
    assert asked == [["a", "b"]] * len(asked) != []


@each_row_beside("group", "resource", "patch", "reason")
def test_a_change_that_fails_after_its_evaluation_is_found(group: str, resource: str, patch: str, reason: str) -> None:
    field = "jsonPatch" if patch[0] == "[" else "applyConfiguration"
    found = tried(*changing(patch, rules=[rule(resource, group=group)]))
    assert [path for path, _, _ in found] == [f"spec.mutations[0].{field}.expression"] * bool(reason)
    assert all(reason in message for _, message, _ in found)


def test_of_policies_that_take_very_much_work_the_rest_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.engine.trial._WORK_OF_ALL", 1_000)
    slow = f"{list(range(40))}.all(x, {list(range(40))}.all(y, x + y >= 0))"
    judging, _ = validating(slow, "object.metadata.labels.a == 'b'", rules=[CLAIMS])
    given = [judging | {"metadata": {"name": name}} for name in ("a", "b", "c")]
    trial = try_policies(load(given))
    assert [each.given.object for each in trial.findings] == given[:1]
    assert [each.name for each in trial.untried] == ["b", "c"]


def test_bindings_look_at_bounded_many_parameters() -> None:
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    policy, bound = validating("params.data.max != 'y'", rules=[CLAIMS], paramKind=kind)
    maps = [{**kind, "metadata": {"name": f"c{each}", "namespace": "d"}, "data": {"max": "x"}} for each in range(2_000)]
    found = {"selector": {}, "parameterNotFoundAction": "Deny"}
    bindings = [
        bound | {"metadata": {"name": f"b{each}"}, "spec": bound["spec"] | {"paramRef": found}} for each in range(2_000)
    ]
    trial = try_policies(load([policy, *bindings, *maps]))
    assert [each.name for each in trial.untried] == [policy["metadata"]["name"]]


@each_row_beside("resource", "operation", "expression", "when", "reason", "hint")
def test_expressions_that_fail_for_a_small_object_are_found(
    *, resource: str, operation: str, expression: str, when: str, reason: str, hint: str
) -> None:
    rules = [rule(resource, group="" if resource == "pods" else "resource.k8s.io", operations=[operation])]
    for failing, effect in (("Fail", "refuses it"), ("Ignore", "does not apply")):
        message = f"fails when {when}, and the policy {effect} then: {reason}"
        given = validating(expression, rules=rules, failurePolicy=failing)
        assert tried(*given) == [("spec.validations[0].expression", message, hint)]


@each_row(
    ("expression", "fields"),
    ("object.metadata.?labels[?'team'].orValue('') != ''", {}),
    ("params.metadata.name == 'a'", {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}),
    (
        "object.metadata.labels.team != ''",
        {"matchConditions": [{"name": "team", "expression": "'team' in object.metadata.?labels.orValue({})"}]},
    ),
)
def test_others_are_not(expression: str, fields: dict[str, Any]) -> None:
    assert tried(*validating(expression, rules=[CLAIMS], **fields)) == []


@each_row(
    ("operation", "hint"),
    ("'remove'", "remove only where the object has /metadata/labels/team"),
    ("'replace', value: 'a'", "replace only where the object has /metadata/labels/team"),
    ("'add', value: 'a'", "add /metadata/labels first where it is missing, or use patchType: ApplyConfiguration"),
)
def test_patches_that_do_not_apply_are_found(operation: str, hint: str) -> None:
    patch = f"[JSONPatch{{op: {operation}, path: '/metadata/labels/team'}}]"
    ((field, message, found),) = tried(*changing(patch, match={"matchPolicy": "Exact"}))
    assert (field, found) == ("spec.mutations[0].jsonPatch.expression", hint)
    doing = operation.strip("'").partition("'")[0]
    assert message.startswith(f"fails when a plain Pod is created, and the policy refuses it then: JSON Patch: {doing}")


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Return a list of the requests for which policies will be evaluated."""
    seen = []

    def counted(request: Request, *given: Any, **options: Any) -> Verdict:
        seen.append(request)
        return evaluate(request, *given, **options)

    monkeypatch.setattr("webhook.engine.trial.evaluate", counted)
    return seen


def test_only_objects_to_which_a_policy_may_apply_are_tried(evaluated: list[Request]) -> None:
    tried(*validating("object.spec != null", rules=[PODS]))
    assert {(each.kind.kind, each.operation) for each in evaluated} == {("Pod", "CREATE")}


def test_an_expression_that_takes_too_much_work_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, evaluated: list[Request]
) -> None:
    monkeypatch.setattr("webhook.engine.trial.DOCUMENT", 50_000)
    monkeypatch.setattr("webhook.engine.trial._WORK", 10_000)
    numbers = list(range(40))
    dear = f"{numbers}.all(x, {numbers}.all(y, {numbers}.all(z, x + y + z >= 0)))"
    (found,) = tried(*validating(dear, rules=[CLAIMS]))
    assert found[0] == "spec.validations[0].expression"
    assert "take more work than draguard allows" in found[1]
    assert found[2] == "shorten it: what it builds or compares grows with each step"
    assert len(evaluated) == 1


def test_mutations_of_an_object_that_grows_take_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.engine.trial.DOCUMENT", 20_000)
    patch = "lists.range(20).map(x, JSONPatch{op: 'add', path: '/metadata/labels/%d-' + string(x), value: 'b'})"
    begun = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"
    mutations = [begun, *(f"[] + {patch % number}" for number in range(100))]
    found = tried(*changing(*mutations, match={"matchPolicy": "Exact"}))
    assert "take more work than draguard allows" in found[0][1]
    assert 10 < len(mutations) - len(found) < 60
