"""From manifests to a set of policies."""

from typing import Any

from tests.policy.examples import BINDING, MUTATING, MUTATING_BINDING, POD, POLICY, binding, policy, spec, validating
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.load import load
from webhook.policy.manifest.model import Given


def rules(policies: PolicySet) -> list[tuple[str, str]]:
    return [(each.problem.rule, each.problem.message) for each in policies.findings]


def test_policies_and_their_bindings_are_found() -> None:
    policies = load([BINDING, POLICY, MUTATING, MUTATING_BINDING, POD])
    assert policies.findings == ()
    (hook,), (mutating,) = policies.validating, policies.mutating
    assert (hook.policy.name, [each.name for each in hook.bindings]) == ("p.example.com", ["b"])
    assert (mutating.policy.name, [each.name for each in mutating.bindings]) == ("m.example.com", ["m"])


def test_findings_say_where_the_manifest_stands_and_what_is_refused_is_not_missing_as_well() -> None:
    (finding,) = load([Given(spec(POLICY, failurePolicy="No"), "policy.yaml")]).errors
    assert finding.given.manifest == "policy.yaml"
    assert finding.problem.field == "spec.failurePolicy"
    assert [each.problem.level for each in load([spec(POLICY, failurePolicy="No"), BINDING]).findings] == ["error"]
    assert [each.problem.level for each in load([POLICY, spec(BINDING, validationActions=[])]).findings] == ["error"]
    assert len(load([POLICY, BINDING | {"spec": 1}]).findings) == 2


def test_a_policy_and_its_binding_miss_each_other() -> None:
    policies = load([POLICY])
    assert rules(policies) == [("policy-without-binding", "no binding names this policy: it applies to nothing")]
    assert policies.validating == ()
    assert [each.name for each in policies.policies] == ["p.example.com"]
    text = 'ValidatingAdmissionPolicy "p" does not exist: the binding has no effect'
    assert rules(load([binding()])) == [("binding-without-policy", text)]


def test_a_policy_whose_name_a_binding_misspells_is_reported_once() -> None:
    (finding,) = load([POLICY, spec(BINDING, policyName="p.exmaple.com")]).findings
    assert (finding.problem.rule, finding.problem.hint) == ("binding-without-policy", 'did you mean "p.example.com"?')
    other = policy("q.example.org", validations=[{"expression": "true"}])
    found = rules(load([POLICY, other, spec(BINDING, policyName="p.exmaple.com")]))
    assert [rule for rule, _ in found] == ["policy-without-binding", "binding-without-policy"]


def test_a_name_that_a_refused_binding_misspells_is_found_and_is_not_known() -> None:
    refused = spec(binding("a"), policyName="p.exmaple.com", validationActions=["Deny", "Warn"])
    found = load([POLICY, refused, spec(BINDING, policyName="p.exmaple.com")]).findings
    hint = 'did you mean "p.example.com"?'
    assert [(each.problem.level, each.problem.hint) for each in found[1:]] == [("warning", hint)] * 2
    assert {each.problem.rule for each in found[1:]} == {"binding-without-policy"}


def test_a_binding_of_one_kind_is_none_of_the_other() -> None:
    named = MUTATING_BINDING | {"spec": {"policyName": "p.example.com"}}
    assert [rule for rule, _ in rules(load([POLICY, named]))] == ["policy-without-binding", "binding-without-policy"]


def test_the_first_of_two_policies_with_one_name_is_used() -> None:
    again = policy("p.example.com", validations=[{"expression": "false"}])
    policies = load([POLICY, BINDING, again, BINDING])
    said = 'there is another ValidatingAdmissionPolicy{} with the name "{}"; this one is not used'
    expected = [said.format("", "p.example.com"), said.format("Binding", "b")]
    assert rules(policies) == [("duplicate-policy", each) for each in expected]
    assert policies.policies[0].validations[0].reason == "Forbidden"


def test_parameters_are_expected_on_both_sides() -> None:
    without_kind = spec(POLICY, paramKind=None)
    assert [rule for rule, _ in rules(load([without_kind, BINDING]))] == ["param-without-kind"]
    without_ref = spec(BINDING, paramRef=None)
    assert [rule for rule, _ in rules(load([POLICY, without_ref]))] == ["binding-without-params"]


def test_defaults_are_the_api_servers_and_a_prefix_is_a_name() -> None:
    (made,) = load(validating("true")).policies
    assert not made.fails_open
    assert not made.match.is_exact
    assert made.match.namespaces == ()
    assert made.match.rules[0].scope == "*"
    assert made.validations[0].reason == "Invalid"
    prefixed = validating("true")[0] | {"metadata": {"generateName": "p-"}}
    assert [each.name for each in load([prefixed]).policies] == ["p-"]


def test_namespaces_carry_their_name_as_a_label() -> None:
    space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"b": "c"}}}
    policies = load([space, {"apiVersion": "v1", "kind": "Namespace"}])
    assert policies.namespace_labels("a") == {"b": "c", "kubernetes.io/metadata.name": "a"}
    assert policies.namespace_labels("z") == {"kubernetes.io/metadata.name": "z"}
    assert space["metadata"]["labels"] == {"b": "c"}


def test_other_values_than_objects_are_left_alone() -> None:
    assert load([None, 1, [], {}, {"kind": []}]).findings == ()  # type: ignore[list-item] # as files may have it
