"""The API server's verdicts on policies and bindings as manifests."""

from typing import Any

from tests.policy.examples import BINDING, MUTATING, MUTATING_BINDING, POLICY, spec
from tests.rows import each_row, each_row_beside
from webhook.policy.manifest.policies import GROUP, is_policy, served, validate_policy
from webhook.release import Release

RULES: dict[str, Any] = POLICY["spec"]["matchConstraints"]


def said(manifest: dict[str, Any], release: int = 36) -> list[str]:
    return [str(problem) for problem in validate_policy(manifest, Release(release))]


@each_row("manifest", POLICY, BINDING, MUTATING, MUTATING_BINDING)
def test_what_is_well_formed_is_taken(manifest: dict[str, Any]) -> None:
    assert said(manifest) == []


def complaints(fields: dict[str, Any]) -> list[str]:
    left_out = dict.fromkeys(("matchConditions", "variables", "auditAnnotations"))
    return said(spec(POLICY, **{**left_out, "validations": [{"expression": "true"}], **fields}))


@each_row_beside("fields", "text")
def test_a_validating_policy_is_refused(fields: dict[str, Any], text: str) -> None:
    (found,) = complaints(fields)
    assert found.startswith(text) if text.endswith(": ") else found == text


def test_a_policy_has_few_conditions_and_short_values_of_annotations_and_something_to_say() -> None:
    conditions = [{"name": f"a{index}", "expression": "true"} for index in range(65)]
    many = "spec.matchConditions: Too many: 65: must have at most 64 items"
    assert complaints({"matchConditions": conditions}) == [many]
    long = "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length"
    assert complaints({"auditAnnotations": [{"key": "k", "valueExpression": f"'{'x' * 5200}'"}]}) == [long]
    detail = "Required value: validations or auditAnnotations must contain at least one item"
    found = said(spec(POLICY, validations=None, auditAnnotations=None))
    assert found == [f"spec.validations: {detail}", f"spec.auditAnnotations: {detail}"]


@each_row(
    ("metadata", "fields"),
    ({"finalizers": ["example"]}, {}),
    ({"generation": -1}, {}),
    ({}, {"paramKind": {"apiVersion": "v1", "kind": "\u0130tem"}}),
)
def test_what_only_other_kinds_may_not_have_is_taken(metadata: dict[str, Any], fields: dict[str, Any]) -> None:
    policy = spec(POLICY, **fields)
    assert said(policy | {"metadata": policy["metadata"] | metadata}) == []


def test_errors_are_in_the_order_of_the_api_server() -> None:
    selector = {"matchLabels": {"a": "-"}, "matchExpressions": [{"key": "a", "operator": "In"}]}
    policy = spec(POLICY, matchConstraints=RULES | {"objectSelector": selector}, auditAnnotations=None)
    found = said(policy | {"metadata": {"labels": {"-": ""}, "name": "A", "annotations": {"-": ""}}})
    metadata, wrong = (
        ["metadata.name", "metadata.labels", "metadata.annotations"],
        "spec.matchConstraints.objectSelector",
    )
    places = [*metadata, f"{wrong}.matchLabels", f"{wrong}.matchExpressions[0].values"]
    assert [text.partition(": ")[0] for text in found] == places


def test_audit_annotations_are_few_and_judged_with_the_name_of_their_policy() -> None:
    many = [{"key": f"k{index}", "valueExpression": "'a'"} for index in range(21)]
    text = said(spec(POLICY, auditAnnotations=many))[0]
    assert text.startswith('spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExpression":"\'a\'"},')
    assert text.endswith("must not have more than 20 auditAnnotations")
    bare = spec(POLICY, auditAnnotations=many[:1]) | {"metadata": {}}
    assert said(bare)[-1] == ('spec.auditAnnotations[0].key: Invalid value: "k0": requires metadata.name be non-empty')
    assert said(bare | {"metadata": {"generateName": "p-"}}) == []
    found = said(spec(POLICY, auditAnnotations=[{"key": "-", "valueExpression": "'a'"}]))
    text = 'spec.auditAnnotations[0].key: Invalid value: "p.example.com/-": name part must consist of'
    assert found[0].startswith(text)


def test_older_releases_repeat_the_name_of_the_field() -> None:
    validations, variables = [{"expression": "true", "message": "a\nb"}], [{"name": "a-b", "expression": "1"}]
    manifest = spec(POLICY, auditAnnotations=None, validations=validations, variables=variables)
    assert said(manifest, 33) == [
        'spec.variables[0].name: Invalid value: "a-b": name is not a valid CEL identifier',
        'spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks',
    ]


@each_row_beside("fields", "text")
def test_a_binding_is_refused(fields: dict[str, Any], text: str) -> None:
    assert said(spec(BINDING, **fields)) == [text]


def test_a_binding_is_judged_field_by_field() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    found = said(spec(BINDING, policyName="A", paramRef={"name": "/", "parameterNotFoundAction": "Deny"}))
    assert [text.partition(": ")[0] for text in found] == ["spec.policyName", "spec.paramRef.name"]
    found = said(spec(BINDING, policyName=None, matchResources={"namespaceSelector": selector}))
    wrong = "spec.matchResources.namespaceSelector.matchExpressions[0].values"
    assert [text.partition(": ")[0] for text in found] == ["spec.policyName", wrong]
    binding = spec(BINDING, paramRef={"name": "a/b", "selector": {"matchLabels": {"a": "-"}}})
    fields = [text.partition(": ")[0].removeprefix("spec.paramRef.") for text in said(binding)]
    assert fields == ["name", "name", "selector.matchLabels", "selector", "parameterNotFoundAction"]
    (text,) = said(spec(BINDING, policyName="A"))
    assert text.startswith('spec.policyName: Invalid value: "A": a lowercase RFC 1123 subdomain')


@each_row(("release", "shown"), (33, '"<Log>\\x00"'), (34, '"\\u003cLog\\u003e\\u0000"'))
def test_a_value_outside_an_enumeration_is_shown_as_json_from_1_34_on(release: int, shown: str) -> None:
    (text,) = said(spec(BINDING, validationActions=["<Log>\0"]), release)
    assert text.startswith(f"spec.validationActions[0]: Unsupported value: {shown}: supported")


def test_wrong_types_in_rules_name_the_structs_that_go_embeds() -> None:
    manifest = spec(MUTATING, matchConstraints={"resourceRules": [{"apiGroups": 1, "operations": ""}]})
    manifest |= {"apiVersion": f"{GROUP}/v1beta1"}
    field = "json: cannot unmarshal {} into Go struct field NamedRuleWithOperations.spec.matchConstraints.resourceRules"
    assert [text.partition(": ")[2] for text in said(manifest)] == [
        f"{field.format('number')}.RuleWithOperations.Rule.apiGroups of type []string",
        f"{field.format('string')}.RuleWithOperations.operations of type []v1.OperationType",
    ]
    (text,) = said(manifest | {"spec": {"matchConstraints": 1}})
    assert text.endswith("MutatingAdmissionPolicySpec.spec.matchConstraints of type v1beta1.MatchResources")


def test_the_status_of_a_policy_is_decoded() -> None:
    assert said(POLICY | {"status": {"observedGeneration": 1}}) == []
    (text,) = said(POLICY | {"status": {"observedGeneration": "1"}})
    field = "Go struct field ValidatingAdmissionPolicyStatus.status.observedGeneration of type int64"
    assert text == f"status.observedGeneration: json: cannot unmarshal string into {field}"


@each_row_beside("fields", "text")
def test_a_mutating_policy_is_refused(fields: dict[str, Any], text: str) -> None:
    assert said(spec(MUTATING, **fields)) == [text]


def test_variables_and_lists_have_types_in_policies() -> None:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}
    (text,) = said(spec(MUTATING, mutations=[mutation]))
    assert text.endswith("must evaluate to list(JSONPatch) but got list(dyn)")
    variables, validations = [{"name": "a", "expression": " "}], [{"expression": "variables.b"}]
    found = said(spec(POLICY, variables=variables, auditAnnotations=None, validations=validations))
    assert "undefined field 'b'" in found[1]
    host = [{"name": "host", "expression": "Object{}"}]
    (text,) = said(spec(MUTATING, variables=host, mutations=MUTATING["spec"]["mutations"][1:]))
    assert "undeclared reference to 'Object'" in text


def test_a_misspelt_field_is_named() -> None:
    (problem,) = validate_policy(spec(POLICY, failurepolicy="Fail"), Release(36))
    assert problem.message == 'strict decoding error: unknown field "spec.failurepolicy"'
    assert problem.hint == "failurePolicy is there already: remove one of the two"


@each_row(
    ("kind", "release", "versions"),
    ("ValidatingAdmissionPolicy", 27, ["v1alpha1"]),
    ("ValidatingAdmissionPolicyBinding", 29, ["v1alpha1", "v1beta1"]),
    ("ValidatingAdmissionPolicy", 30, ["v1alpha1", "v1beta1", "v1"]),
    ("ValidatingAdmissionPolicy", 34, ["v1"]),
    ("MutatingAdmissionPolicy", 31, []),
    ("MutatingAdmissionPolicyBinding", 34, ["v1alpha1", "v1beta1"]),
    ("MutatingAdmissionPolicy", 36, ["v1alpha1", "v1beta1", "v1"]),
)
def test_releases_serve_versions(kind: str, release: int, versions: list[str]) -> None:
    assert served(kind, release) == [f"{GROUP}/{version}" for version in versions]


def test_a_version_that_is_not_served_is_refused_and_one_that_is_has_its_own_fields() -> None:
    (problem,) = validate_policy(MUTATING, Release(35))
    assert problem.message == f'no matches for kind "MutatingAdmissionPolicy" in version "{GROUP}/v1"'
    assert problem.hint == (f"Kubernetes 1.35 serves MutatingAdmissionPolicy in {GROUP}/v1alpha1, {GROUP}/v1beta1")
    assert validate_policy(MUTATING, Release(30))[0].hint.endswith("in no version")
    manifest = spec(BINDING, paramRef={"name": "a"}) | {"apiVersion": f"{GROUP}/v1alpha1"}
    assert validate_policy(manifest, Release(30)) == []
    (problem,) = validate_policy(POLICY | {"apiVersion": f"{GROUP}/v1alpha1"}, Release(27))
    assert problem.message == 'strict decoding error: unknown field "spec.variables"'


@each_row(
    "obj", None, [], {}, {"apiVersion": 1, "kind": "ValidatingAdmissionPolicy"}, {"apiVersion": GROUP, "kind": []}
)
def test_other_objects_are_distinguished_from_policies(obj: object) -> None:
    assert not is_policy(obj)
