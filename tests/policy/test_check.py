"""``policy check``: errors of policies, found before they are applied to an object."""

from typing import Any

import pytest

from tests.policy.examples import BINDING, MUTATING, MUTATING_BINDING, PODS, POLICY, binding, mutating, policy
from tests.rows import each_row, each_row_beside
from webhook.api.versions import NEWEST
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.policy.manifest.kinds import Kinds
from webhook.policy.manifest.model import Given, policy_of
from webhook.policy.tools.check import check_policies
from webhook.policy.tools.typecheck import kinds_to_check
from webhook.release import Release

DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments"]}
CLAIMS = {"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["resourceclaims"]}


def found(
    *validations: str, rules: list[dict[str, Any]] | None = None, release: Release = NEWEST, **fields: Any
) -> list[tuple[str, str, str]]:
    listed = [{"expression": each} for each in validations or ("object.metadata.name == 'p'",)]
    result = check_policies([policy(rules=rules, validations=listed, **fields), binding()], release)
    assert result.passed, [str(each.problem) for each in result.findings]
    return [(each.problem.rule, each.problem.field, each.problem.message) for each in result.findings]


def test_good_policies_have_no_findings() -> None:
    result = check_policies([POLICY, BINDING, MUTATING, MUTATING_BINDING])
    assert result.passed
    assert result.findings == ()


def test_what_the_api_server_refuses_does_not_pass() -> None:
    result = check_policies([policy(validations=[{"expression": "object."}]), binding()])
    assert not result.passed
    assert "Syntax error" in result.findings[0].problem.message


@each_row("expression", ["object.spec =", " "])
def test_what_is_no_expression_is_refused_in_any_version(expression: str) -> None:
    rules = [PODS | {"apiVersions": ["*"]}]
    result = check_policies([policy(rules=rules, validations=[{"expression": expression}]), binding()])
    assert [each.problem.field for each in result.findings] == ["spec.validations[0].expression"]


@each_row(
    ("expression", "hint"),
    [
        ("params.max > 1", "only a policy with a paramKind has parameters: add spec.paramKind"),
        ("self.metadata.name == 'a'", "the object is called object here, and the old one oldObject"),
        ("objct.metadata.name == 'a'", 'did you mean "object"?'),
    ],
)
def test_a_name_that_is_not_declared_is_explained(expression: str, hint: str) -> None:
    (finding,) = check_policies([policy(validations=[{"expression": expression}]), binding()]).findings
    assert finding.problem.hint == hint


RULE = "spec.matchConstraints.resourceRules[0]"


@each_row_beside("rule", "finding")
def test_rules_that_match_nothing_are_found(rule: dict[str, Any], finding: list[str]) -> None:
    assert found(rules=[PODS | rule]) == [tuple(finding)]


@each_row_beside("rule")
def test_rules_of_unknown_groups_are_left_alone(rule: dict[str, Any]) -> None:
    assert found(rules=[PODS | rule]) == []


@each_row_beside("versions", "match_policy", "others")
def test_versions_in_which_objects_cannot_be_changed_are_found(
    versions: list[str], match_policy: str, others: str
) -> None:
    rule = {"apiGroups": ["resource.k8s.io"], "operations": ["CREATE"], "resources": ["resourceclaims"]}
    constraints = {"resourceRules": [rule | {"apiVersions": versions}], "matchPolicy": match_policy}
    manifests = mutating("m", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", matchConstraints=constraints)
    result = check_policies(manifests, Release(36))
    warned = [each.problem.message for each in result.findings if each.problem.rule == "unchangeable-version"]
    said = f"the policy matches resourceclaims in {others}, too, and fails there: "
    assert warned == ([f"{said}the API server cannot convert changed objects"] if others else [])


def test_conditions_that_never_change_are_found() -> None:
    conditions = [{"name": "a", "expression": "1 == 2"}, {"name": "b", "expression": "true"}]
    assert [each[:2] for each in found(matchConditions=conditions)] == [
        ("never-applies", "spec.matchConditions[0].expression"),
        ("no-condition", "spec.matchConditions[1].expression"),
    ]


@each_row(
    ("message", "reason"),
    [
        ("'first\\nsecond'", "the message has a line break"),
        ("' '", "the message is empty"),
        (f"'{'x' * 5121}'", "the message has more than 5120 bytes"),
        ("'no'", ""),
    ],
)
@each_row("beside", ["", "no"])
def test_messages_that_are_never_used_are_found(message: str, reason: str, beside: str) -> None:
    validation = {"expression": "object.metadata.name != 'a'", "messageExpression": message}
    stated = policy(validations=[validation | ({"message": beside} if beside else {})])
    problems = [each.problem for each in check_policies([stated, binding()]).findings]
    assert [(each.level, each.field) for each in problems] == (
        [("note" if beside else "warning", "spec.validations[0].messageExpression")] if reason else []
    )
    assert all(each.message.endswith(reason) for each in problems)


def test_nested_macros_take_no_exponential_time() -> None:
    text = "optional.of(object.kind == 'Pods')" + ".optMap(x, optional.of(x))" * 40 + ".hasValue()"
    result = check_policies([policy(rules=[PODS], validations=[{"expression": text}]), binding()])
    assert [each.problem.rule for each in result.findings].count("impossible-value") == 1


def test_rules_of_many_names_take_no_cubic_time() -> None:
    rule = {
        "apiGroups": [f"g{number}.example.com" for number in range(1000)],
        "apiVersions": [f"v{number}" for number in range(1, 1000)],
        "resources": [f"r{number}{below}" for number in range(1000) for below in ("", "/status", "/exec")],
    }
    assert found("object.kind == 'Pods'", rules=[PODS | rule]) == []


@each_row_beside("rule", "expression", "meant")
def test_constants_that_a_field_never_has_are_found(rule: dict[str, Any], expression: str, meant: str) -> None:
    conditions = [{"name": "a", "expression": f"  {expression}"}]
    validations = [{"expression": "object.metadata.name == 'p'"}]
    fields: dict[str, Any] = {"matchConditions": conditions, "validations": validations}
    result = check_policies([policy(rules=[PODS | rule], **fields), binding()])
    (problem,) = (each.problem for each in result.findings)
    assert (problem.rule, problem.field) == ("impossible-value", "spec.matchConditions[0].expression")
    constant = conditions[0]["expression"][problem.character :].split(" ")[0].strip("']").replace("'", '"')
    assert f'is never "{constant}": the policy\'s rules match only ' in problem.message
    assert meant in (problem.hint or problem.message)


def test_variables_stand_for_the_fields_that_they_name() -> None:
    variables = [
        {"name": "asked", "expression": "request"},
        {"name": "operation", "expression": "variables.asked.operation"},
        {"name": "other", "expression": "object.kind + 's'"},
    ]
    validations = [{"expression": "variables.operation == 'Create' || variables.other == 'Pods'"}]
    result = check_policies(
        [policy(rules=[PODS | {"operations": ["CREATE"]}], variables=variables, validations=validations), binding()]
    )
    (problem,) = (each.problem for each in result.findings)
    assert (problem.rule, problem.hint) == ("impossible-value", 'did you mean "CREATE"?')
    assert problem.message == 'request.operation is never "Create": the policy\'s rules match only "CREATE"'


@each_row_beside("rule", "expression")
def test_constants_that_a_field_may_have_are_not_found(rule: dict[str, Any], expression: str) -> None:
    assert found(expression, rules=[PODS | rule]) == []


def test_validations_that_are_always_true_are_found_and_others_not() -> None:
    expressions = ("true", "false", "object.metadata.name == 'p'", "1 / 0 == 1")
    assert [each[:2] for each in found(*expressions)] == [("never-refuses", "spec.validations[0].expression")]


def test_unused_variables_are_found() -> None:
    variables = [
        {"name": "a", "expression": "1"},
        {"name": "b", "expression": "variables.a"},
        {"name": "c", "expression": "2"},
    ]
    assert [each[:2] for each in found("variables.b == 1", variables=variables)] == [
        ("unused-variable", "spec.variables[2].expression")
    ]


def test_what_always_costs_too_much_is_found() -> None:
    text = "true"
    for name in "abcdef":
        text = f"[1,2,3,4,5,6,7,8,9,10].map({name}, {text}).size() > 0"
    result = check_policies([policy(validations=[{"expression": text}]), binding()])
    assert [each.problem.rule for each in result.findings] == ["over-cost"]
    assert result.costs[0].least > CALL_LIMIT


def test_costs_are_estimated_for_every_expression() -> None:
    result = check_policies([POLICY, BINDING, MUTATING, MUTATING_BINDING])
    assert [str(each.path) for each in result.costs] == [
        "spec.matchConditions[0].expression",
        "spec.variables[0].expression",
        "spec.validations[0].expression",
        "spec.auditAnnotations[0].valueExpression",
        "spec.matchConditions[0].expression",
        "spec.variables[0].expression",
        "spec.mutations[0].applyConfiguration.expression",
        "spec.mutations[1].jsonPatch.expression",
    ]
    assert all(each.least <= each.most for each in result.costs)


@each_row_beside("expression", "hint")
def test_a_field_in_another_place_is_suggested(expression: str, hint: str) -> None:
    given = policy(rules=[CLAIMS], validations=[{"expression": expression}])
    (finding,) = check_policies([given, binding()]).findings
    assert (finding.problem.rule, finding.problem.hint) == ("type-check", hint)


def test_a_misspelt_field_is_found_by_its_type() -> None:
    ((rule, path, message),) = found("object.spec.nodename == 'a'")
    assert (rule, path) == ("type-check", "spec.validations[0].expression")
    assert message == (
        "/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'nodename'\n | object.spec.nodename == 'a'\n | "
        "...........^"
    )


@each_row_beside("expression", "rules", "fields")
def test_types_are_checked(expression: str, rules: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    kinds = [rule for rule, _, _ in found(expression, rules=rules, **fields)]
    assert "type-check" in kinds


@each_row_beside("expression", "rules", "fields")
def test_what_may_be_right_is_not_found(expression: str, rules: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    assert "type-check" not in [rule for rule, _, _ in found(expression, rules=rules, **fields)]


@each_row_beside("expression", "text")
def test_what_the_api_server_states_of_a_policy_that_works_is_a_note(expression: str, text: str) -> None:
    (finding,) = check_policies([policy(validations=[{"expression": expression}], rules=[PODS]), binding()]).findings
    assert (finding.problem.level, finding.problem.rule) == ("note", "type-check")
    assert finding.problem.message.startswith("/v1, Kind=Pod: ERROR: <input>:1:")
    assert text in finding.problem.message


@each_row_beside("expression", "rules", "text")
def test_types_have_the_names_of_their_paths(expression: str, rules: dict[str, Any], text: str) -> None:
    ((rule, _, message),) = found(expression, rules=[rules])
    assert (rule, text in message) == ("type-check", True), message


@each_row_beside("rules", "kinds")
def test_kinds_are_found_as_by_the_api_server(rules: list[dict[str, Any]], kinds: list[str]) -> None:
    read = policy_of(Given(policy(rules=rules)), NEWEST)
    assert [str(each) for each in kinds_to_check(read, Kinds())] == kinds


def test_the_eleventh_kind_of_a_rule_and_later_rules_are_not_checked() -> None:
    names = ["configmaps", "endpoints", "limitranges", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods"]
    names += ["podtemplates", "replicationcontrollers", "resourcequotas", "secrets", "services"]
    read = policy_of(Given(policy(rules=[PODS | {"resources": names}, DEPLOYMENTS])), NEWEST)
    kinds = [each.kind for each in kinds_to_check(read, Kinds())]
    assert len(kinds) == 10
    assert {"Secret", "Service", "Deployment"}.isdisjoint(kinds)


def test_a_variable_that_does_not_fit_is_found_once() -> None:
    variables = [{"name": "n", "expression": "object.spec.nodename"}, {"name": "m", "expression": "variables.n"}]
    (finding,) = found("variables.m == 1", variables=variables)
    assert finding[:2] == ("mistyped", "spec.variables[0].expression")


@pytest.mark.parametrize(
    "expression",
    [
        "has(object.spec.devices) ? object.spec.devices.requests : object.spec.spec.devices.requests",
        "object.spec.devices.requests",
    ],
)
def test_a_variable_may_depend_on_the_kind(expression: str) -> None:
    rules = [CLAIMS | {"resources": ["resourceclaims", "resourceclaimtemplates"]}]
    assert found("size(variables.n) < 3", rules=rules, variables=[{"name": "n", "expression": expression}]) == []


@each_row_beside("expression", "rules", "problem")
def test_objects_of_subresources_have_types(expression: str, rules: list[dict[str, Any]], problem: str | None) -> None:
    messages = [message for rule, _, message in found(expression, rules=rules) if rule == "mistyped"]
    assert [message.startswith(problem or "nothing") for message in messages] == [True] * bool(problem)


@each_row_beside("expression", "message")
def test_fields_of_rules_for_any_version_are_looked_for(expression: str, message: str) -> None:
    rule = {**CLAIMS, "apiVersions": ["*"]}
    messages = [text for rule, _, text in found(expression, rules=[rule], release=Release(37)) if rule == "mistyped"]
    assert [text.startswith(message) for text in messages] == [True] * bool(message)


@each_row_beside("value", "found")
def test_a_filter_that_is_to_remove_items_is_found(value: str, *, found: bool) -> None:
    expression = f"Object{{spec: Object.spec{{containers: object.spec.containers.{value}}}}}"
    hint = "remove them by patchType: JSONPatch, with op: 'remove'"
    assert changed(expression, rules=[PODS]) == [("never-removes", hint)] * found


def test_what_has_takes_is_told() -> None:
    given = policy(validations=[{"expression": "has(oldSelf)"}])
    said = [each.problem.hint for each in check_policies([given, binding()]).findings]
    assert said == ["has(…) asks for a field, as has(object.spec); an object that may be missing is compared with null"]


def test_the_type_of_a_variable_without_use_does_not_matter() -> None:
    variables = [{"name": "n", "expression": "object.spec.nodename"}]
    assert [rule for rule, _, _ in found("object.spec.nodeName != 'b'", variables=variables)] == ["unused-variable"]


def test_claims_are_checked_in_each_version() -> None:
    rules = [CLAIMS | {"apiVersions": ["v1", "v1beta1"]}]
    ((_, _, message),) = found("object.spec.devices.requests.all(r, has(r.exactly))", rules=rules, release=Release(36))
    assert message.startswith("resource.k8s.io/v1beta1, Kind=ResourceClaim: ERROR")


PARAMETERS = """Object.spec.devices.config{opaque: Object.spec.devices.config.opaque{
parameters: Object.spec.devices.config.opaque.parameters{a: Object.spec.devices.config.opaque.parameters.a{b: 1}}}}"""


def changed(*expressions: str, rules: list[dict[str, Any]]) -> list[tuple[str, str]]:
    changes = [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": each}} for each in expressions]
    spec = MUTATING["spec"] | {
        "matchConstraints": {"resourceRules": rules, "matchPolicy": "Exact"},
        "mutations": changes,
    }
    spec = {name: each for name, each in spec.items() if name not in {"variables", "matchConditions"}}
    problems = [each.problem for each in check_policies([MUTATING | {"spec": spec}, MUTATING_BINDING]).findings]
    return [(each.rule, each.hint) for each in problems]


@each_row_beside("expression", "hint")
def test_a_misspelt_field_of_a_change_is_found(expression: str, hint: str) -> None:
    assert changed(expression, rules=[PODS]) == [("mistyped", hint)]


@each_row(
    ("expression", "rules"),
    [
        ("Object{metadata: Object.metadata{labels: Object.metadata.labels{any: 'b'}}}", [PODS]),
        (f"Object{{spec: Object.spec{{devices: Object.spec.devices{{config: [{PARAMETERS}]}}}}}}", [CLAIMS]),
        ("Object{spec: Object.spec{nodeName: 'a'}}", [PODS, CLAIMS]),
    ],
)
def test_a_change_that_may_be_right_is_not_found(expression: str, rules: list[dict[str, Any]]) -> None:
    assert changed(expression, rules=rules) == []


EXACTLY = "Object.spec.devices.requests.exactly"


def patched(patch: str) -> list[tuple[str, str, str]]:
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": f" [JSONPatch{{{patch}}}]"}}]
    spec = {"matchConstraints": {"resourceRules": [CLAIMS], "matchPolicy": "Exact"}, "mutations": mutations}
    changing = MUTATING | {"spec": {"failurePolicy": "Fail", "reinvocationPolicy": "Never"} | spec}
    problems = [each.problem for each in check_policies([changing, MUTATING_BINDING]).findings]
    return [(each.message, each.hint, f" [JSONPatch{{{patch}}}]"[each.character or 0 :]) for each in problems]


def test_an_operation_that_does_not_exist_is_found() -> None:
    ((message, hint, rest),) = patched('op: "ad", path: "/metadata/labels/x", value: "y"')
    assert message == 'op must be one of add, remove, replace, move, copy, test, but is "ad"'
    assert hint == 'did you mean "add"?'
    assert rest.startswith('"ad", path')


def test_a_path_that_does_not_exist_is_found() -> None:
    path = "/spec/devices/requests/0/exactly/toleration"
    ((message, hint, rest),) = patched(f'op: "add", path: "{path}", value: []')
    assert message == (f'ExactDeviceRequest has no field "toleration": the path "{path}" cannot work')
    assert hint == 'did you mean "tolerations"?'
    assert rest.startswith(f'"{path}"')


@each_row("rest", ['"a"', "object.metadata.name", '"a/" + string(1) + "/b"'])
def test_the_constant_start_of_a_path_is_looked_at(rest: str) -> None:
    ((message, hint, shown),) = patched(f'op: "add", path: "/spec/devces/requests/" + {rest}, value: []')
    assert 'the path "/spec/devces/requests" cannot work' in message
    assert hint == 'did you mean "devices"?'
    assert shown.startswith('"/spec/devces/requests/" + ')


@each_row_beside("path")
def test_a_path_that_may_exist_is_not_found(path: str) -> None:
    assert patched(f'op: "add", path: {path}, value: "a"') == []


def requested(field: str) -> list[tuple[str, str]]:
    request = f'Object.spec.devices.requests{{name: "a", exactly: {EXACTLY}{{{field}}}}}'
    return changed(
        f"Object{{spec: Object.spec{{devices: Object.spec.devices{{requests: [{request}]}}}}}}", rules=[CLAIMS]
    )


@each_row_beside("field", "hint")
def test_a_constant_of_a_wrong_type_is_found(field: str, hint: str) -> None:
    assert requested(field) == [("mistyped", hint)]


@each_row("field", ["count: 2", "count: 2.0", "?count: optional.of(2)", "count: dyn('2')", "adminAccess: true"])
def test_a_constant_that_may_be_right_is_not_found(field: str) -> None:
    assert requested(field) == []


def test_a_field_with_the_name_of_a_variable_is_one_of_its_type() -> None:
    config = 'Object.spec.devices.config{request: ["gpu"]}'
    made = f"Object{{spec: Object.spec{{devices: Object.spec.devices{{config: [{config}]}}}}}}"
    assert changed(made, rules=[CLAIMS]) == [("mistyped", 'did you mean "requests"?')]


def test_a_field_takes_a_number_or_a_text_where_kubernetes_does() -> None:
    probe = "Object.spec.containers.livenessProbe"
    for port in ("'http'", "80"):
        made = f"{probe}{{httpGet: {probe}.httpGet{{port: {port}}}}}"
        container = f"Object.spec.containers{{name: 'a', livenessProbe: {made}}}"
        assert changed(f"Object{{spec: Object.spec{{containers: [{container}]}}}}", rules=[PODS]) == []
