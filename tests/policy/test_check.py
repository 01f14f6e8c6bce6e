"""``policy check``: errors of policies, found before they are applied to an object."""

from collections import Counter
from typing import Any

import pytest

from tests.policy.examples import (
    BINDING,
    CLAIMS,
    MUTATING,
    MUTATING_BINDING,
    PODS,
    POLICY,
    binding,
    mutating,
    policy,
    rule,
    validating,
)
from tests.rows import each_row, each_row_beside
from tests.steps import counting
from webhook.api.versions import NEWEST
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.policy.manifest.kinds import Kinds
from webhook.policy.manifest.model import Given, policy_of
from webhook.policy.tools import check
from webhook.policy.tools.check import check_policies
from webhook.policy.tools.typecheck import kinds_to_check
from webhook.problem import Problem
from webhook.release import Release


def problems(*validations: Any, release: Release = NEWEST, **fields: Any) -> list[Problem]:
    return [each.problem for each in check_policies(validating(*validations, **fields), release).findings]


def found(*validations: str, **fields: Any) -> list[tuple[str, str, str]]:
    listed = problems(*(validations or ("object.metadata.name == 'p'",)), **fields)
    assert not any(each.level == "error" for each in listed), listed
    return [(each.rule, each.field, each.message) for each in listed]


def test_good_policies_have_no_findings_and_a_cost_for_each_expression() -> None:
    result = check_policies([POLICY, BINDING, MUTATING, MUTATING_BINDING])
    assert result.findings == ()
    shared = "matchConditions[0].expression", "variables[0].expression"
    validating = "validations[0].expression", "auditAnnotations[0].valueExpression"
    mutating = "mutations[0].applyConfiguration.expression", "mutations[1].jsonPatch.expression"
    paths = [str(each.path).removeprefix("spec.") for each in result.costs]
    assert paths == [*shared, *validating, *shared, *mutating]
    assert all(each.least <= each.most for each in result.costs)


@each_row(("expression", "version"), ("object.", "v1"), ("object.spec =", "*"), (" ", "*"))
def test_what_the_api_server_refuses_does_not_pass(expression: str, version: str) -> None:
    result = check_policies(validating(expression, rules=[PODS | {"apiVersions": [version]}]))
    (problem,) = (each.problem for each in result.findings)
    assert problem.level == "error"
    assert problem.field == "spec.validations[0].expression"
    assert ("Syntax error" if expression.strip() else "Required value") in str(problem)


@each_row(
    ("expression", "hint"),
    ("params.max > 1", "only a policy with a paramKind has parameters: add spec.paramKind"),
    ("self.metadata.name == 'a'", "the object is called object here, and the old one oldObject"),
    ("objct.metadata.name == 'a'", 'did you mean "object"?'),
    ("request.object.metadata.name == 'a'", "object is a variable of its own, beside request"),
    ("namespaceObject.object == 'a'", ""),
    ("namespace == 'a'", "namespaceObject is the Namespace, request.namespace its name"),
    (
        "object.spec.containers.exists('a')",
        "it takes the name of an item, and what is asked of it: LIST.exists(item, …)",
    ),
    ("exists(object.spec.containers)", "it is called on a value: VALUE.exists(…)"),
    (
        "quantity('1') > quantity('2')",
        "quantities and versions are compared by isGreaterThan, isLessThan and compareTo",
    ),
    ("semver('1.2.3').isLessThan('2.0.0')", "a version is compared with a version: semver('1.2.3')"),
    ("quantity('1').isLessThan(2)", "a quantity is compared with a quantity: quantity('1Gi')"),
    ("'a: ' + ['b'] == 'c'", "a list of texts becomes a text by LIST.join(', ')"),
    (
        "'a' in object.metadata.name",
        "….contains(…) looks for a part of a text; `in` is for items of lists and keys of maps",
    ),
    ("object.metadata.labels.contains('a')", "'KEY' in MAP asks for a key"),
    ("object.metadata.finalizers.contains('a')", "VALUE in LIST asks for an item"),
    (
        "has(oldSelf)",
        "has(…) asks whether a field is there, as has(object.spec), 'key' in MAP whether a key is; objects may be null",
    ),
)
def test_a_name_that_is_not_declared_is_explained(expression: str, hint: str) -> None:
    assert [each.hint for each in problems(expression)] == [hint]


@each_row(
    ("expression", "release", "hint"),
    ("object.metadata.labels.transformMap(k, v, v) == {}", 32, "transformMap needs Kubernetes 1.33"),
    ("isSemver('1.2.3')", 30, "isSemver needs Kubernetes 1.34"),
    ("isIP('::1')", 30, "isIP needs Kubernetes 1.31"),
    ("isSomething('::1')", 30, ""),
)
def test_what_later_releases_have_is_named(expression: str, release: int, hint: str) -> None:
    assert [each.hint for each in problems(expression, release=Release(release))] == [hint]


@each_row(
    ("made", "hint"),
    ("quantity('80GB').asInteger() > 1", 'did you mean quantity("80G")?'),
    ("semver('550.0').major() > 1", 'did you mean semver("550.0.0")?'),
    ("ip('10.0.0.256').family() == 4", ""),
    ("quantity('80G').asInteger() > 1 && quantity(object.metadata.name).asInteger() > 1", None),
)
def test_a_malformed_constant_is_found_wherever_it_stands(made: str, hint: str | None) -> None:
    listed = problems(f"object.metadata.name != 'x' || object.metadata.namespace != 'never' || {made}")
    assert [each.hint for each in listed if each.rule == "impossible-constant"] == ([] if hint is None else [hint])


@each_row(
    ("comparison", "is_found"),
    ("object.metadata.labels.memory <= '4Gi'", True),
    ("'1.2.3' > object.metadata.labels.version", True),
    ("object.metadata.name < 'm'", False),
    ("object.metadata.labels.memory == '4Gi'", False),
    ("object.spec.priority > 4", False),
)
def test_amounts_and_versions_that_are_ordered_as_texts_are_found(comparison: str, *, is_found: bool) -> None:
    listed = problems(f"object.metadata.?labels.hasValue() && {comparison}")
    assert [each.rule for each in listed if each.rule == "order-of-texts"] == ["order-of-texts"] * is_found


@each_row(
    ("comparison", "hint"),
    ("c.resources.limits['nvidia.com/gpu'] == 1", 'did you mean "1"?'),
    ("'1000m' != c.resources.requests.cpu", 'did you mean "1"?'),
    ("c.resources.limits.memory == '1024Mi'", 'did you mean "1Gi"?'),
    ("c.resources.limits['nvidia.com/gpu'] in ['1', '2000m']", 'did you mean "2"?'),
    ("c.resources.limits.memory == '1Gi'", ""),
    ("c.resources.limits[?'nvidia.com/gpu'].orValue(0) == 0", ""),
    ("c.resources.limits.cpu == 'none'", ""),
    ("variables.limits['nvidia.com/gpu'] == 1", ""),
    ("variables.sizes.all(size, size.limits.gpu == 1)", ""),
)
def test_an_amount_that_is_never_written_so_is_found(comparison: str, hint: str) -> None:
    asked = f"object.spec.containers.all(c, has(c.resources.limits) && {comparison})"
    stated = {"limits": "{'nvidia.com/gpu': 1}", "sizes": "[{'limits': {'gpu': 1}}]"}
    variables = [{"name": name, "expression": each} for name, each in stated.items()]
    for rules, is_found in ((PODS, True), (rule("models", group="example.com"), False)):
        listed = problems(asked, rules=[rules], variables=variables)
        assert [each.hint for each in listed if each.rule == "impossible-value"] == [hint] * bool(hint and is_found)


@each_row(
    ("comparison", "message"),
    ("r.exactly.allocationMode == 'all'", 'allocationMode is never "all": it is All or ExactCount did you mean "All"?'),
    ("r.exactly.?allocationMode.orValue('All') == 'Exact'", 'allocationMode is never "Exact": it is All or ExactCount'),
    ("r.exactly.tolerations.all(t, t.effect in ['NoExecute', 'NoExec'])", 'did you mean "NoExecute"?'),
    ("variables.mode == 'all'", 'did you mean "All"?'),
    ("variables.made.effect == 'deny'", ""),
    ("r.exactly.allocationMode in ['', 'ExactCount']", ""),
    ("r.exactly.allocationMode == params.allocationMode", ""),
    ("r.exactly.allocationMode == null || r.exactly.allocationMode == 1", ""),
    ("object.metadata.labels.effect == 'deny'", ""),
    ("object.metadata.annotations['allocationMode'] == 'mixed'", ""),
    ("params.rules.exists(p, p.effect == 'deny')", ""),
    ("object.spec.allocationMode == 'Immediate'", ""),  # of v1alpha2
    ("params.allocationMode == 'any'", ""),
)
def test_a_word_that_a_field_never_has_is_found(comparison: str, message: str) -> None:
    param = {"apiVersion": "v1", "kind": "ConfigMap"}
    stated = {"mode": "object.spec.devices.requests[0].exactly.allocationMode", "made": "{'effect': object.kind}"}
    variables = [{"name": name, "expression": each} for name, each in stated.items()]
    for rules, is_found in ((rule("resourceclaims"), True), (rule("models", group="example.com"), False)):
        asked = f"object.spec.devices.requests.all(r, {comparison})"
        listed = problems(asked, rules=[rules], paramKind=param, variables=variables)
        texts = [f"{each.message} {each.hint}" for each in listed if each.rule == "impossible-value"]
        assert len(texts) == bool(message and is_found)
        assert all(message in each for each in texts)


@each_row(
    ("comparison", "pattern"),
    ("request.userInfo.username == 'system:serviceaccount:drivers:*'", "system:serviceaccount:drivers:*"),
    ("!('*-admins' in request.userInfo.groups)", "*-admins"),
    ("request.userInfo.groups.exists(each, each == 'dev-*')", "dev-*"),
    ("object.metadata.name in ['a', '*gpu*']", "*gpu*"),
    ("object.spec.containers.all(c, c.image.startsWith('example.com/*'))", "example.com/*"),
    ("object.metadata.name.startsWith('^gpu')", "^gpu"),
    ("object.metadata.namespace == 'team-.*'", "team-.*"),
    ("object.metadata.name.matches('^gpu-.*$')", ""),
    ("object.metadata.annotations.schedule == '*/5 * * * *'", ""),
    ("object.spec.containers.all(c, c.args.all(each, each != '*' && !each.contains('*')))", ""),
    ("object.metadata.name == '*'", ""),
    ("object.metadata.finalizers.exists(each, each == 'example.com/*')", ""),
)
def test_a_pattern_that_is_compared_as_a_text_is_found(comparison: str, pattern: str) -> None:
    listed = [each.message.split(" ")[0] for each in problems(comparison) if each.rule == "pattern-as-text"]
    assert listed == [f'"{pattern}"'] * bool(pattern)


@each_row(
    ("resource", "operations", "used"),
    ("pods", ["CONNECT"], "CREATE, DELETE or UPDATE"),
    ("pods", ["CONNECT", "DELETE"], ""),
    ("pods/exec", ["CREATE", "UPDATE"], "CONNECT"),
    ("pods/exec", ["*"], ""),
    ("pods/eviction", ["DELETE"], "CREATE"),
    ("pods/log", ["CREATE"], "reads"),
    ("pods/ephemeralcontainers", ["CREATE"], "UPDATE"),
    ("pods/ephemeralcontainers", ["CREATE", "UPDATE"], ""),
    ("*/status", ["CREATE"], "UPDATE"),
    ("pods/*", ["CREATE"], ""),
)
def test_operations_that_no_request_has_are_found(resource: str, operations: list[str], used: str) -> None:
    stated = [PODS | {"resources": [resource], "operations": operations}]
    made = policy(validations=[{"expression": "request.name != 'a'"}], rules=stated)
    found = [each.problem for each in check_policies([made, binding()]).findings]
    message = f"requests to {resource} are {used}, not {', '.join(operations)}: the rule matches none of them"
    assert [each.message for each in found if each.rule == "unmatched-operation"] == [message] * bool(used)


@each_row(
    ("field", "stated", "rules"),
    ("resources", ["pod"], ["unknown-resource"]),
    ("apiVersions", ["v2"], ["unserved-version"]),
    ("operations", ["CONNECT"], ["unmatched-operation"]),
    ("resourceNames", ["a", "b-*"], ["pattern-as-text"]),
    ("resourceNames", ["a"], []),
)
def test_exceptions_to_rules_and_the_rules_of_bindings_are_checked(
    field: str, stated: list[str], rules: list[str]
) -> None:
    other, judging = PODS | {field: stated}, [{"expression": "object.metadata.name != 'a'"}]
    rules_of_policy = {"resourceRules": [PODS], "excludeResourceRules": [other]}
    excluding = policy(validations=judging, matchConstraints=rules_of_policy)
    narrowing = binding(matchResources={"resourceRules": [other]})
    for given in ([excluding, binding()], [policy(validations=judging, rules=[PODS]), narrowing]):
        assert [each.problem.rule for each in check_policies(given).findings] == rules


@each_row(
    ("narrowed", "is_found"),
    ([rule("deployments", group="apps")], True),
    ([rule("deployments", group="apps"), PODS], False),
    ([PODS | {"operations": ["DELETE"]}], False),
    ([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}], False),
)
def test_a_binding_for_what_its_policy_does_not_name_is_found(narrowed: list[Any], *, is_found: bool) -> None:
    stated = policy(validations=[{"expression": "has(object.spec)"}], rules=[PODS])
    narrowing = binding(matchResources={"resourceRules": narrowed})
    listed = [each.problem for each in check_policies([stated, narrowing]).findings]
    place = "spec.matchResources.resourceRules"
    assert [(each.rule, each.field) for each in listed] == [("unmatched-rule", place)] * is_found


def test_rules_of_made_up_bindings_take_little_work() -> None:
    stated, narrowed = (
        rule(*(f"{letter}{number}" for number in range(2_000)), group="example.com") for letter in ("a", "b")
    )
    given = [
        policy(validations=[{"expression": "object.x == 1"}], rules=[stated]),
        binding(matchResources={"resourceRules": [narrowed]}),
    ]
    with counting() as steps:
        assert all(each.problem.level != "error" for each in check_policies(given).findings)
    assert steps() < 500_000


@each_row("operand", "object.kind == '{}'", "ip('{}').family() == 4")
def test_the_faults_of_one_expression_are_told_up_to_a_number(operand: str) -> None:
    listed = Counter(each.rule for each in problems(" || ".join(operand.format(f"x{at}") for at in range(200))))
    assert 1 < listed.most_common(1)[0][1] < 100


@each_row(
    ("expression", "is_found"),
    ("has(object.spec) // there || has(object.status)", True),
    ("has(object.spec) // it is there", False),
    ("// a || b\nhas(object.spec)", False),
    ("has(object.spec) && 'http://a || b' != ''", False),
    ("has(object.spec) && '''\nhttp://a || b''' != ''", False),
    ("// it's\nhas(object.spec) // it's there || has(object.status)", True),
)
def test_an_end_that_is_a_comment_is_found(expression: str, *, is_found: bool) -> None:
    assert [each.rule for each in problems(expression)] == ["commented-out"] * is_found


@each_row(("operation", "level"), ("DELETE", "note"), ("Create", "warning"))
def test_an_operation_that_no_rule_matches_is_a_note(operation: str, level: str) -> None:
    given = validating(f"request.operation != '{operation}'", rules=[PODS | {"operations": ["CREATE"]}])
    assert [each.problem.level for each in check_policies(given).findings] == [level]


@each_row(
    ("user", "hint"),
    ("driver:plugin", ""),
    ("driver:plug", 'did you mean "system:serviceaccount:driver:plugin"?'),
    ("driver:pulgin", 'did you mean "system:serviceaccount:driver:plugin"?'),
    ("driver:plugin-of-old", 'did you mean "system:serviceaccount:driver:plugin"?'),
    ("driver:operator", ""),
    ("kube-system:plugin", ""),
)
def test_users_with_almost_the_name_of_a_service_account_are_found(user: str, hint: str) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "plugin", "namespace": "driver"}}
    policy = validating(f"request.userInfo.username != 'system:serviceaccount:{user}'", rules=[PODS])
    assert [each.problem.hint for each in check_policies([*policy, account]).findings] == [hint] * bool(hint)


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
    rule = {"apiGroups": ["autoscaling"], "operations": ["CREATE"], "resources": ["horizontalpodautoscalers"]}
    constraints = {"resourceRules": [rule | {"apiVersions": versions}], "matchPolicy": match_policy}
    manifests = mutating("m", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", matchConstraints=constraints)
    result = check_policies(manifests, Release(36))
    warned = [each.problem.message for each in result.findings if each.problem.rule == "unchangeable-version"]
    said = f"the policy matches horizontalpodautoscalers in {others}, too, and fails there: "
    assert warned == ([f"{said}the API server cannot convert changed objects"] if others else [])


@each_row(
    ("release", "resource", "versions", "off"),
    (36, "resourceclaims", [["v1beta1"]], "v1beta1"),
    (36, "resourceclaims", [["v1beta1"], ["v1beta2"]], "v1beta1, v1beta2"),
    (36, "resourceclaims", [["v1beta1"], ["v1"]], ""),
    (36, "resourceclaims", [["v1beta1"], ["*"]], ""),
    (33, "resourceclaims", [["v1beta1"]], ""),
    (36, "devicetaintrules", [["v1beta2"]], ""),  # none of its versions is on
)
def test_versions_that_are_off_by_default_are_found(
    release: int, resource: str, versions: list[list[str]], off: str
) -> None:
    rule = {"apiGroups": ["resource.k8s.io"], "operations": ["CREATE"], "resources": [resource]}
    rules = [rule | {"apiVersions": each} for each in versions]
    found = problems("object.metadata.name == 'p'", release=Release(release), rules=rules)
    said = f"Kubernetes 1.36 serves {resource} in {off} only with --runtime-config: "
    expected = [f"{said}without it, the policy matches none of them"] if off else []
    assert [each.message for each in found if each.rule == "unserved-version"] == expected


def test_what_never_has_an_effect_is_found() -> None:
    def fields(*expressions: str, **stated: Any) -> list[tuple[str, str]]:
        return [(rule, field.removesuffix(".expression")) for rule, field, _ in found(*expressions, **stated)]

    conditions = [{"name": "a", "expression": "1 == 2"}, {"name": "b", "expression": "true"}]
    never = [("never-applies", "spec.matchConditions[0]"), ("no-condition", "spec.matchConditions[1]")]
    assert fields(matchConditions=conditions) == never
    always = fields("true", "false", "object.metadata.name == 'p'", "1 / 0 == 1")
    assert always == [("never-refuses", "spec.validations[0]")]
    texts = {"a": "1", "b": "variables.a", "c": "2"}
    variables = [{"name": name, "expression": text} for name, text in texts.items()]
    assert fields("variables.b == 1", variables=variables) == [("unused-variable", "spec.variables[2]")]


def test_expressions_without_variables_are_evaluated_with_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = f"{list(range(40))}.all(x, {list(range(40))}.all(y, x + y >= 0))"
    assert [rule for rule, *_ in found(slow)] == ["never-refuses"]
    monkeypatch.setattr("webhook.policy.tools.check.DOCUMENT", 1_000)
    assert not found(slow)


@each_row(
    ("message", "reason"),
    ("'first\\nsecond'", "the message has a line break"),
    ("' '", "the message is empty"),
    (f"'{'x' * 5121}'", "the message has more than 5120 bytes"),
    ("'no'", ""),
)
@each_row("beside", "", "no")
def test_messages_that_are_never_used_are_found(message: str, reason: str, beside: str) -> None:
    validation = {"expression": "object.metadata.name != 'a'", "messageExpression": message}
    listed = problems(validation | ({"message": beside} if beside else {}))
    assert [(each.level, each.field) for each in listed] == (
        [("note" if beside else "warning", "spec.validations[0].messageExpression")] if reason else []
    )
    assert all(each.message.endswith(reason) for each in listed)


@pytest.mark.no_cover
def test_checks_take_neither_exponential_nor_cubic_time() -> None:
    text = "optional.of(object.kind == 'Pods')" + ".optMap(x, optional.of(x))" * 40 + ".hasValue()"
    assert [each.rule for each in problems(text)].count("impossible-value") == 1
    groups, versions = ([each.format(number) for number in range(1000)] for each in ("g{}.example.com", "v1{}"))
    resources = [f"r{number}{below}" for number in range(1000) for below in ("", "/status", "/exec")]
    rule = {"apiGroups": groups, "apiVersions": versions, "resources": resources}
    assert found("object.kind == 'Pods'", rules=[PODS | rule]) == []


@each_row_beside("rule", "expression", "meant")
def test_constants_that_a_field_never_has_are_found(rule: dict[str, Any], expression: str, meant: str) -> None:
    condition = {"name": "a", "expression": f"  {expression}"}
    (problem,) = problems("object.metadata.name == 'p'", rules=[PODS | rule], matchConditions=[condition])
    assert (problem.rule, problem.field) == ("impossible-value", "spec.matchConditions[0].expression")
    constant = condition["expression"][problem.character :].split(" ")[0].strip("']").replace("'", '"')
    assert f'is never "{constant}": the rules match only ' in problem.message
    assert meant in (problem.hint or problem.message)


def test_variables_stand_for_the_fields_that_they_name() -> None:
    texts = {"asked": "request", "operation": "variables.asked.operation", "other": "object.kind + 's'"}
    variables = [{"name": name, "expression": text} for name, text in texts.items()]
    expression = "variables.operation == 'Create' || variables.other == 'Pods'"
    (problem,) = problems(expression, rules=[PODS | {"operations": ["CREATE"]}], variables=variables)
    assert (problem.rule, problem.hint) == ("impossible-value", 'did you mean "CREATE"?')
    assert problem.message == 'request.operation is never "Create": the rules match only "CREATE"'


@each_row_beside("rule", "expression")
def test_constants_that_a_field_may_have_are_not_found(rule: dict[str, Any], expression: str) -> None:
    assert found(expression, rules=[PODS | rule]) == []


def test_what_always_costs_too_much_is_found() -> None:
    text = "true"
    for name in "abcdef":
        text = f"[1,2,3,4,5,6,7,8,9,10].map({name}, {text}).size() > 0"
    result = check_policies(validating(text))
    assert [each.problem.rule for each in result.findings] == ["over-cost"]
    assert result.costs[0].least > CALL_LIMIT


@each_row_beside("expression", "hint")
def test_a_field_in_another_place_is_suggested(expression: str, hint: str) -> None:
    assert [(each.rule, each.hint) for each in problems(expression, rules=[CLAIMS])] == [("type-check", hint)]


def test_a_misspelt_field_is_found_by_its_type_in_each_version() -> None:
    ((rule, path, message),) = found("object.spec.nodename == 'a'")
    assert (rule, path) == ("type-check", "spec.validations[0].expression")
    shown = " | object.spec.nodename == 'a'\n | ...........^"
    assert message == f"/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'nodename'\n{shown}"
    rules = [CLAIMS | {"apiVersions": ["v1", "v1beta1"]}]
    ((_, _, message),) = found("object.spec.devices.requests.all(r, has(r.exactly))", rules=rules, release=Release(36))
    assert message.startswith("resource.k8s.io/v1beta1, Kind=ResourceClaim: ERROR")


@each_row_beside("expression", "rules", "fields")
def test_types_are_checked(expression: str, rules: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    kinds = [rule for rule, _, _ in found(expression, rules=rules, **fields)]
    assert "type-check" in kinds


@each_row_beside("expression", "rules", "fields")
def test_what_may_be_right_is_not_found(expression: str, rules: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    assert "type-check" not in [rule for rule, _, _ in found(expression, rules=rules, **fields)]


@each_row_beside("expression", "text")
def test_what_the_api_server_states_of_a_policy_that_works_is_a_note(expression: str, text: str) -> None:
    (problem,) = (each for each in problems(expression) if each.rule == "type-check")
    assert problem.level == "note"
    assert problem.message.startswith("/v1, Kind=Pod: ERROR: <input>:1:")
    assert text in problem.message


@each_row_beside("expression", "rules", "findings")
def test_a_subresource_that_changes_what_is_read_is_missed(
    expression: str, rules: list[dict[str, Any]], findings: list[str]
) -> None:
    missed = [each for each in problems(expression, rules=rules) if each.rule == "unmatched-subresource"]
    assert [f"{each.level}: {each.hint}" for each in missed] == findings


@each_row(
    ("resource", "namespace", "is_found"),
    ("clusterroles", "", True),
    ("clusterroles", "a", False),
    ("roles", "", False),
)
def test_parameters_of_cluster_scoped_objects_need_a_namespace(
    resource: str, namespace: str, *, is_found: bool
) -> None:
    rules, kind = [rule(resource, group="rbac.authorization.k8s.io")], {"apiVersion": "v1", "kind": "ConfigMap"}
    stated = policy(validations=[{"expression": "has(params.data)"}], rules=rules, paramKind=kind)
    ref = {"name": "a", "namespace": namespace, "parameterNotFoundAction": "Deny"}
    listed = [each.problem for each in check_policies([stated, binding(paramRef=ref)]).findings]
    assert [(each.rule, each.field) for each in listed] == [("params-without-namespace", "spec.paramRef")] * is_found


@each_row(
    ("message", "is_found"),
    ("'no ' + object.metadata.name", True),
    ("object.metadata.?name.orValue('')", True),
    ("'at most 4 devices, not ' + string(r.exactly.count)", True),
    ("'at most ' + params.data.most", True),
    ("string(variables.x) + ' is too long'", True),
    ("{{ object.metadata.name }} is refused", True),
    ("admin access by '+ request.userInfo.username +' is forbidden", True),
    ("object", False),
    ("Refused", False),
    ("'refused'", False),
    ("request-refused", False),
    ("a+b", False),
    ("write 'a' + 'b'", False),
    ("the user's object isn't valid", False),
    ("the object.metadata.name is wrong", False),
    ("{{name}} is refused", False),
)
def test_a_message_that_is_written_as_an_expression_is_found(message: str, *, is_found: bool) -> None:
    listed = found({"expression": "has(object.spec)", "message": message})  # type: ignore[arg-type]
    assert [rule for rule, _, _ in listed] == ["literal-message"] * is_found


@pytest.mark.no_cover
def test_messages_that_take_much_work_are_looked_at_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "DOCUMENT", 1_000_000)
    read = " || ".join(["object.metadata.labels.exists(x, x == 'a' + 'b')"] * 190)
    several = [{"expression": f"object.metadata.name != '{at}'", "message": f"{read} || {at} > 0"} for at in range(40)]
    listed = check_policies([policy(validations=several)]).findings
    assert 0 < sum(each.problem.rule == "literal-message" for each in listed) < 40


@each_row_beside("expression", "level")
def test_an_expression_that_asks_for_the_kind_first_works(expression: str, level: str) -> None:
    listed = problems(expression, rules=[PODS, rule("deployments", group="apps")])
    assert [each.level for each in listed if each.rule == "type-check"] == [level]


def test_a_misspelt_field_of_what_is_chosen_by_the_kind_is_suggested() -> None:
    expression = "(object.kind == 'Pod' ? object.spec : object.spec.template.spec).hostnetwork != true"
    (problem,) = problems(expression, rules=[PODS, rule("deployments", group="apps")])
    assert (problem.rule, problem.hint) == ("type-check", 'did you mean "hostNetwork"?')


@pytest.mark.no_cover
def test_fields_that_no_version_has_are_found_if_there_is_work_left(monkeypatch: pytest.MonkeyPatch) -> None:
    expression = " || ".join([*["object.kind == 'Pod'"] * 100, "has(object.spec.foo)"])
    for units in range(1_000, 15_000, 500):
        monkeypatch.setattr("webhook.policy.tools.typecheck.DOCUMENT", units)
        rules = [each.rule for each in problems(expression, rules=[PODS | {"apiVersions": ["*"]}])]
        assert rules in ([], ["mistyped"])
    assert rules == ["mistyped"]


@pytest.mark.no_cover
def test_asking_for_the_kind_takes_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    items = list(range(40))
    expression = f"{items}.all(x, {items}.all(y, x + y >= 0 || object.kind == 'a')) && object.spec.replicas < 3"
    for units in range(1_000, 8_000, 200):
        monkeypatch.setattr("webhook.policy.tools.typecheck.DOCUMENT", units)
        levels = [each.level for each in problems(expression) if each.rule == "type-check"]
        assert levels in ([], ["warning"])  # if too little work is left, nothing is found
    assert levels == ["warning"]


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
    read = policy_of(Given(policy(rules=[rule(*names), rule("deployments", group="apps")])), NEWEST)
    kinds = [each.kind for each in kinds_to_check(read, Kinds())]
    assert len(kinds) == 10
    assert {"Secret", "Service", "Deployment"}.isdisjoint(kinds)


def test_a_variable_that_does_not_fit_is_found_once_and_if_it_is_used() -> None:
    variables = [{"name": "n", "expression": "object.spec.nodename"}, {"name": "m", "expression": "variables.n"}]
    (finding,) = found("variables.m == 1", variables=variables)
    assert finding[:2] == ("mistyped", "spec.variables[0].expression")
    assert [rule for rule, *_ in found("object.spec.nodeName != 'b'", variables=variables[:1])] == ["unused-variable"]


def test_a_variable_may_depend_on_the_kind() -> None:
    rules = [CLAIMS | {"resources": ["resourceclaims", "resourceclaimtemplates"]}]
    claims, templates = "object.spec.devices.requests", "object.spec.spec.devices.requests"
    for expression in (claims, f"has(object.spec.devices) ? {claims} : {templates}"):
        assert found("size(variables.n) < 3", rules=rules, variables=[{"name": "n", "expression": expression}]) == []


@each_row_beside("expression", "rules", "problem")
def test_objects_of_subresources_have_types(expression: str, rules: list[dict[str, Any]], problem: str | None) -> None:
    messages = [message for rule, _, message in found(expression, rules=rules) if rule == "mistyped"]
    assert [message.startswith(problem or "nothing") for message in messages] == [True] * bool(problem)


@each_row_beside("spec", "expression", "text")
def test_fields_read_through_variables_are_looked_for(spec: str, expression: str, text: str) -> None:
    rules = [CLAIMS | {"resources": ["resourceclaims", "resourceclaimtemplates"]}]
    listed = problems(expression, rules=rules, variables=[{"name": "spec", "expression": spec}])
    texts = [f"{each.message}; {each.hint}" for each in listed if each.rule == "mistyped"]
    assert [each.startswith(text) for each in texts] == [True] * bool(text)


def test_a_policy_may_be_for_several_releases() -> None:
    expression = "variables.spec.devices.requests.all(r, has(r.firstAvailable) || has(r.adminAcess))"
    rules, variables = [CLAIMS | {"apiVersions": ["v1beta1"]}], [{"name": "spec", "expression": "object.spec"}]
    listed = problems(expression, rules=rules, variables=variables, release=Release(32))
    assert [each.message.split()[3] for each in listed] == ["adminAcess"]


@each_row_beside("expression", "message")
def test_fields_of_rules_for_any_version_are_looked_for(expression: str, message: str) -> None:
    rule = {**CLAIMS, "apiVersions": ["*"]}
    listed = problems(expression, rules=[rule], release=Release(37))
    texts = [f"{each.message}; {each.hint}" for each in listed if each.rule in {"mistyped", "fails-on-valid"}]
    assert [text.startswith(message) for text in texts] == [True] * bool(message)


@each_row_beside("value", "found")
def test_a_filter_that_is_to_remove_items_is_found(value: str, *, found: bool) -> None:
    expression = f"Object{{spec: Object.spec{{containers: object.spec.containers.{value}}}}}"
    hint = "remove them by patchType: JSONPatch, with op: 'remove'"
    assert changed(expression, rules=[PODS]) == [("never-removes", hint)] * found


PARAMETERS = """Object.spec.devices.config{opaque: Object.spec.devices.config.opaque{
parameters: Object.spec.devices.config.opaque.parameters{a: Object.spec.devices.config.opaque.parameters.a{b: 1}}}}"""


def checked(*expressions: str, rules: list[dict[str, Any]]) -> list[Problem]:
    constraints = {"resourceRules": rules, "matchPolicy": "Exact"}
    return [each.problem for each in check_policies(mutating("m", *expressions, matchConstraints=constraints)).findings]


def changed(*expressions: str, rules: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each.rule, each.hint) for each in checked(*expressions, rules=rules)]


@each_row_beside("expression", "hint")
def test_a_misspelt_field_of_a_change_is_found(expression: str, hint: str) -> None:
    assert changed(expression, rules=[PODS]) == [("mistyped", hint)]


@each_row(
    ("expression", "rules"),
    ("Object{metadata: Object.metadata{labels: Object.metadata.labels{any: 'b'}}}", [PODS]),
    (f"Object{{spec: Object.spec{{devices: Object.spec.devices{{config: [{PARAMETERS}]}}}}}}", [CLAIMS]),
    ("Object{spec: Object.spec{nodeName: 'a'}}", [PODS, CLAIMS]),
)
def test_a_change_that_may_be_right_is_not_found(expression: str, rules: list[dict[str, Any]]) -> None:
    assert changed(expression, rules=rules) == []


def patched(patch: str) -> list[tuple[str, str, str]]:
    expression = f" [JSONPatch{{{patch}}}]"
    problems = checked(expression, rules=[CLAIMS])
    return [(each.message, each.hint, expression[each.character or 0 :]) for each in problems]


PATH = "/spec/devices/requests/0/exactly/toleration"
MISSPELT = "/spec/devces/requests"


NO_OPERATION = 'op must be one of add, remove, replace, move, copy, test, but is "ad"'
NO_FIELD = '{} has no field "{}": the path "{}" cannot work'


@each_row(
    ("patch", "said", "hint", "start"),
    ('op: "ad", path: "/metadata/labels/x", value: "y"', NO_OPERATION, "add", '"ad", path'),
    (f'op: "add", path: "{PATH}", value: []', NO_FIELD.format("ExactDeviceRequest", "toleration", PATH), "tolerations",
     f'"{PATH}"'),
    *(
        (f'op: "add", path: "{MISSPELT}/" + {rest}, value: []',
         NO_FIELD.format("ResourceClaimSpec", "devces", MISSPELT), "devices", f'"{MISSPELT}/" + ')
        for rest in ('"a"', "object.metadata.name", '"a/" + string(1) + "/b"')
    ),
)  # fmt: skip
def test_an_operation_or_path_that_does_not_exist_is_found(patch: str, said: str, hint: str, start: str) -> None:
    ((message, meant, rest),) = patched(patch)
    assert (message, meant) == (said, f'did you mean "{hint}"?')
    assert rest.startswith(start)


@each_row_beside("path")
def test_a_path_that_may_exist_is_not_found(path: str) -> None:
    assert patched(f'op: "add", path: {path}, value: "a"') == []


def with_devices(devices: str) -> list[tuple[str, str]]:
    made = f"Object{{spec: Object.spec{{devices: Object.spec.devices{{{devices}}}}}}}"
    return changed(made, rules=[CLAIMS])


def requested(field: str) -> list[tuple[str, str]]:
    exactly = f"Object.spec.devices.requests.exactly{{{field}}}"
    return with_devices(f'requests: [Object.spec.devices.requests{{name: "a", exactly: {exactly}}}]')


@each_row_beside("field", "hint")
def test_a_constant_of_a_wrong_type_is_found(field: str, hint: str) -> None:
    assert requested(field) == [("mistyped", hint)]


@each_row("field", "count: 2", "count: 2.0", "?count: optional.of(2)", "count: dyn('2')", "adminAccess: true")
def test_a_constant_that_may_be_right_is_not_found(field: str) -> None:
    assert requested(field) == []


def test_fields_of_a_change_have_the_types_of_kubernetes_whatever_variables_are_called() -> None:
    found = with_devices('config: [Object.spec.devices.config{request: ["gpu"]}]')
    assert found == [("mistyped", 'did you mean "requests"?')]
    probe = "Object.spec.containers.livenessProbe"
    for port in ("'http'", "80"):
        made = f"{probe}{{httpGet: {probe}.httpGet{{port: {port}}}}}"
        container = f"Object.spec.containers{{name: 'a', livenessProbe: {made}}}"
        assert changed(f"Object{{spec: Object.spec{{containers: [{container}]}}}}", rules=[PODS]) == []
