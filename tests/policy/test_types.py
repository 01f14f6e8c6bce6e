"""The API server's verdicts on policies and bindings as manifests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policy.examples import BINDING, MUTATING, MUTATING_BINDING, PODS, POLICY, spec
from tests.rows import each_row
from webhook.policy.manifest.versions import GROUP, is_policy, served, validate_policy
from webhook.release import Release

RULES: dict[str, Any] = POLICY["spec"]["matchConstraints"]


def said(manifest: dict[str, Any], release: int = 36) -> list[str]:
    return [str(problem) for problem in validate_policy(manifest, Release(release))]


@each_row("manifest", [POLICY, BINDING, MUTATING, MUTATING_BINDING])
def test_what_is_well_formed_is_taken(manifest: dict[str, Any]) -> None:
    assert said(manifest) == []


def rules(**fields: Any) -> dict[str, Any]:
    merged = PODS | fields
    return {"matchConstraints": {"resourceRules": [{name: each for name, each in merged.items() if each is not None}]}}


RULE = "spec.matchConstraints.resourceRules[0]"

SPECS = [
    (
        {"failurePolicy": "Sometimes"},
        'spec.failurePolicy: Unsupported value: "Sometimes": supported values: "Fail", "Ignore"',
    ),
    ({"failurePolicy": ""}, 'spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"'),
    ({"matchConstraints": None}, "spec.matchConstraints: Required value"),
    ({"matchConstraints": {}}, "spec.matchConstraints.resourceRules: Required value"),
    (
        {"matchConstraints": RULES | {"matchPolicy": "Same"}},
        'spec.matchConstraints.matchPolicy: Unsupported value: "Same": supported values: "Equivalent", "Exact"',
    ),
    (rules(operations=[]), f"{RULE}.operations: Required value"),
    (
        rules(operations=["*", "CREATE"]),
        f'{RULE}.operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
    ),
    (
        rules(operations=["GET"]),
        (
            f'{RULE}.operations[0]: Unsupported value: "GET": supported values: "*", "CONNECT", "CREATE", '
            f'"DELETE", "UPDATE"'
        ),
    ),
    (rules(apiGroups=None), f"{RULE}.apiGroups: Required value"),
    (
        rules(apiGroups=["", "*"]),
        f'{RULE}.apiGroups: Invalid value: ["","*"]: if \'*\' is present, must not specify other API groups',
    ),
    (rules(apiVersions=[""]), f"{RULE}.apiVersions[0]: Required value"),
    (
        rules(apiVersions=["*", "v1"]),
        f'{RULE}.apiVersions: Invalid value: ["*","v1"]: if \'*\' is present, must not specify other API versions',
    ),
    (rules(resources=[]), f"{RULE}.resources: Required value"),
    (rules(resources=[""]), f"{RULE}.resources[0]: Required value"),
    (
        rules(resources=["pods/*", "pods/status"]),
        f"{RULE}.resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status",
    ),
    (
        rules(resources=["*/status", "pods/status"]),
        f"{RULE}.resources[1]: Invalid value: \"pods/status\": if '*/status' is present, must not specify pods/status",
    ),
    (
        rules(resources=["*/*", "pods"]),
        f'{RULE}.resources: Invalid value: ["*/*","pods"]: if \'*/*\' is present, must not specify other resources',
    ),
    (
        rules(resources=["*", "pods"]),
        (
            f'{RULE}.resources: Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources '
            "without subresources"
        ),
    ),
    (rules(scope="World"), f'{RULE}.scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"'),
    (rules(resourceNames=["a", "a"]), f'{RULE}.resourceNames[1]: Duplicate value: "a"'),
    (rules(resourceNames=["a/b"]), f"{RULE}.resourceNames[0]: Invalid value: \"a/b\": may not contain '/'"),
    (rules(resourceNames=[".."]), f"{RULE}.resourceNames[0]: Invalid value: \"..\": may not be '..'"),
    (
        {"matchConstraints": RULES | {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
        (
            "spec.matchConstraints.objectSelector.matchExpressions[0].values: Required value: must be specified when "
            "`operator` is 'In' or 'NotIn'"
        ),
    ),
    (
        {
            "matchConstraints": RULES
            | {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}}
        },
        (
            "spec.matchConstraints.objectSelector.matchExpressions[0].values: Forbidden: may not be specified when "
            "`operator` is 'Exists' or 'DoesNotExist'"
        ),
    ),
    (
        {"matchConstraints": RULES | {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}},
        (
            'spec.matchConstraints.namespaceSelector.matchExpressions[0].operator: Invalid value: "Is": not '
            "a valid selector operator"
        ),
    ),
    (
        {"matchConditions": [{"name": "a", "expression": "true\x1c"}]},
        (
            'spec.matchConditions[0].expression: Invalid value: "true\\x1c": compilation failed: ERROR: <input>:1:5: '
            "Syntax error: token recognition error at: '\x1c'\n | true\x1c\n | ....^"
        ),
    ),
    ({"paramKind": {"kind": "ConfigMap"}}, "spec.paramKind.apiVersion: Required value"),
    ({"paramKind": {"apiVersion": "v1"}}, "spec.paramKind.kind: Required value"),
    (
        {"paramKind": {"apiVersion": "a/b/c", "kind": "K"}},
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ),
    (
        {"paramKind": {"apiVersion": "a/", "kind": "K"}},
        'spec.paramKind.apiVersion: Invalid value: "a/": version must be specified',
    ),
    (
        {"validations": [{"expression": " "}]},
        "spec.validations[0].expression: Required value: expression is not specified",
    ),
    (
        {"validations": [{"expression": "true", "message": " "}]},
        'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
    ),
    (
        {"validations": [{"expression": "true", "messageExpression": " "}]},
        'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
    ),
    (
        {"validations": [{"expression": "1"}]},
        'spec.validations[0].expression: Invalid value: "1": must evaluate to bool but got int',
    ),
    (
        {"validations": [{"expression": "int('x') == 1"}]},
        "spec.validations[0].expression: Internal error: program instantiation failed: ",
    ),
    ({"matchConditions": [{"name": "a"}]}, "spec.matchConditions[0].expression: Required value"),
    ({"matchConditions": [{"expression": "true"}]}, "spec.matchConditions[0].name: Required value"),
    (
        {"matchConditions": [{"name": "a", "expression": "true"}] * 2},
        'spec.matchConditions[1].name: Duplicate value: "a"',
    ),
    (
        {"matchConditions": [{"name": f"a{index}", "expression": "true"} for index in range(65)]},
        "spec.matchConditions: Too many: 65: must have at most 64 items",
    ),
    (
        {"variables": [{"name": " ", "expression": "1"}]},
        "spec.variables[0].name: Required value: name is not specified",
    ),
    ({"variables": [{"name": "a"}]}, "spec.variables[0].expression: Required value: expression is not specified"),
    (
        {"variables": [{"name": "for", "expression": "1"}]},
        'spec.variables[0].name: Invalid value: "for": must be a valid CEL identifier',
    ),
    (
        {"variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}]},
        (
            'spec.variables[0].expression: Invalid value: "variables.b": compilation failed: ERROR: '
            "<input>:1:10: undefined field 'b'\n | variables.b\n | .........^"
        ),
    ),
    (
        {"auditAnnotations": [{"key": "k"}]},
        "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified",
    ),
    (
        {"auditAnnotations": [{"key": "k", "valueExpression": f"'{'x' * 5200}'"}]},
        "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length",
    ),
    (
        {"auditAnnotations": [{"key": "k", "valueExpression": "'a'"}] * 2},
        'spec.auditAnnotations[1].key: Duplicate value: "k"',
    ),
]


@each_row(("fields", "text"), SPECS)
def test_a_validating_policy_is_refused(fields: dict[str, Any], text: str) -> None:
    base = spec(
        POLICY, matchConditions=None, variables=None, auditAnnotations=None, validations=[{"expression": "true"}]
    )
    found = said(spec(base, **fields))
    assert len(found) == 1
    assert found[0].startswith(text) if text.endswith(": ") else found[0] == text


@each_row(
    ("metadata", "fields"),
    [
        ({"finalizers": ["example"]}, {}),
        ({"generation": -1}, {}),
        ({}, {"paramKind": {"apiVersion": "v1", "kind": "\u0130tem"}}),
    ],
)
def test_what_only_other_kinds_may_not_have_is_taken(metadata: dict[str, Any], fields: dict[str, Any]) -> None:
    policy = spec(POLICY, **fields)
    assert said(policy | {"metadata": policy["metadata"] | metadata}) == []


def test_errors_are_in_the_order_of_the_api_server() -> None:
    selector = {"matchLabels": {"a": "-"}, "matchExpressions": [{"key": "a", "operator": "In"}]}
    policy = spec(POLICY, matchConstraints=RULES | {"objectSelector": selector}, auditAnnotations=None)
    found = said(policy | {"metadata": {"labels": {"-": ""}, "name": "A", "annotations": {"-": ""}}})
    assert [text.partition(": ")[0] for text in found] == [
        "metadata.name",
        "metadata.labels",
        "metadata.annotations",
        "spec.matchConstraints.objectSelector.matchLabels",
        "spec.matchConstraints.objectSelector.matchExpressions[0].values",
    ]


def test_a_policy_without_anything_to_say_is_refused() -> None:
    detail = "Required value: validations or auditAnnotations must contain at least one item"
    found = said(spec(POLICY, validations=None, auditAnnotations=None))
    assert found == [f"spec.validations: {detail}", f"spec.auditAnnotations: {detail}"]


def test_errors_of_a_parameters_name_come_before_those_of_its_selector() -> None:
    binding = spec(BINDING, paramRef={"name": "a/b", "selector": {"matchLabels": {"a": "-"}}})
    fields = [text.partition(": ")[0].removeprefix("spec.paramRef.") for text in said(binding)]
    assert fields == ["name", "name", "selector.matchLabels", "selector", "parameterNotFoundAction"]


def test_audit_annotations_are_few_and_their_policy_has_a_name() -> None:
    many = [{"key": f"k{index}", "valueExpression": "'a'"} for index in range(21)]
    text = said(spec(POLICY, auditAnnotations=many))[0]
    assert text.startswith('spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExpression":"\'a\'"},')
    assert text.endswith("must not have more than 20 auditAnnotations")
    nameless = spec(POLICY, auditAnnotations=many[:1]) | {"metadata": {}}
    assert said(nameless)[-1] == (
        'spec.auditAnnotations[0].key: Invalid value: "k0": requires metadata.name be non-empty'
    )
    assert said(nameless | {"metadata": {"generateName": "p-"}}) == []


def test_the_key_of_an_audit_annotation_is_judged_with_the_policys_name() -> None:
    found = said(spec(POLICY, auditAnnotations=[{"key": "-", "valueExpression": "'a'"}]))
    assert found[0].startswith(
        'spec.auditAnnotations[0].key: Invalid value: "p.example.com/-": name part must consist of'
    )


def test_older_releases_repeat_the_name_of_the_field() -> None:
    fields = {
        "validations": [{"expression": "true", "message": "a\nb"}],
        "variables": [{"name": "a-b", "expression": "1"}],
    }
    manifest = spec(POLICY, auditAnnotations=None, **fields)
    assert said(manifest, 33) == [
        'spec.variables[0].name: Invalid value: "a-b": name is not a valid CEL identifier',
        'spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks',
    ]


BINDINGS = [
    ({"policyName": None}, "spec.policyName: Required value"),
    ({"validationActions": None}, "spec.validationActions: Required value: at least one validation action is required"),
    (
        {"validationActions": ["Log"]},
        'spec.validationActions[0]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn"',
    ),
    ({"validationActions": ["Audit", "Audit"]}, 'spec.validationActions[1]: Duplicate value: "Audit"'),
    (
        {"validationActions": ["Deny", "Warn"]},
        (
            'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn '
            "(repeating the same validation failure information in the API response and headers serves no purpose)"
        ),
    ),
    (
        {"paramRef": {"parameterNotFoundAction": "Deny"}},
        "spec.paramRef: Required value: one of name or selector must be specified",
    ),
    ({"paramRef": {"name": "a"}}, "spec.paramRef.parameterNotFoundAction: Required value"),
    (
        {"paramRef": {"name": "a", "parameterNotFoundAction": "Skip"}},
        'spec.paramRef.parameterNotFoundAction: Unsupported value: "Skip": supported values: "Deny", "Allow"',
    ),
    (
        {"paramRef": {"name": "a%", "parameterNotFoundAction": "Deny"}},
        "spec.paramRef.name: Invalid value: \"a%\": may not contain '%'",
    ),
    (
        {"matchResources": {"matchPolicy": "E"}},
        'spec.matchResources.matchPolicy: Unsupported value: "E": supported values: "Equivalent", "Exact"',
    ),
]


@each_row(("fields", "text"), BINDINGS)
def test_a_binding_is_refused(fields: dict[str, Any], text: str) -> None:
    assert said(spec(BINDING, **fields)) == [text]


def test_a_binding_is_judged_field_by_field() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    found = said(spec(BINDING, policyName="A", paramRef={"name": "/", "parameterNotFoundAction": "Deny"}))
    assert [text.partition(": ")[0] for text in found] == ["spec.policyName", "spec.paramRef.name"]
    found = said(spec(BINDING, policyName=None, matchResources={"namespaceSelector": selector}))
    assert [text.partition(": ")[0] for text in found] == [
        "spec.policyName",
        "spec.matchResources.namespaceSelector.matchExpressions[0].values",
    ]


@pytest.mark.parametrize(("release", "shown"), [(33, '"<Log>\\x00"'), (34, '"\\u003cLog\\u003e\\u0000"')])
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


def test_a_policys_name_is_a_subdomain() -> None:
    (text,) = said(spec(BINDING, policyName="A"))
    assert text.startswith('spec.policyName: Invalid value: "A": a lowercase RFC 1123 subdomain')


MUTATIONS = [
    ({"mutations": None}, "spec.mutations: Required value: mutations must contain at least one item"),
    ({"mutations": [{}]}, "spec.mutations[0].patchType: Required value"),
    (
        {"mutations": [{"patchType": "Merge"}]},
        'spec.mutations[0].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"',
    ),
    (
        {"mutations": [{"patchType": "JSONPatch"}]},
        "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
    ),
    (
        {"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": ""}}]},
        "spec.mutations[0].jsonPatch.expression: Required value",
    ),
    (
        {
            "mutations": [
                {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{}]"}, "applyConfiguration": {}}
            ]
        },
        (
            'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be '
            "specified when patchType is JSONPatch"
        ),
    ),
    ({"reinvocationPolicy": None}, "spec.reinvocationPolicy: Required value"),
    (
        {"reinvocationPolicy": "Always"},
        'spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"',
    ),
    (
        {"matchConstraints": {"resourceRules": [PODS | {"operations": ["DELETE"]}]}},
        (
            'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: '
            '"*", "CONNECT", "CREATE", "UPDATE"'
        ),
    ),
]


@each_row(("fields", "text"), MUTATIONS)
def test_a_mutating_policy_is_refused(fields: dict[str, Any], text: str) -> None:
    assert said(spec(MUTATING, **fields)) == [text]


def test_an_empty_list_of_operations_makes_no_patch() -> None:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}
    (text,) = said(spec(MUTATING, mutations=[mutation]))
    assert text.endswith("must evaluate to list(JSONPatch) but got list(dyn)")


def test_a_policy_with_an_empty_variable_has_variables() -> None:
    found = said(
        spec(
            POLICY,
            variables=[{"name": "a", "expression": " "}],
            auditAnnotations=None,
            validations=[{"expression": "variables.b"}],
        )
    )
    assert "undefined field 'b'" in found[1]


def test_variables_make_no_objects() -> None:
    (text,) = said(
        spec(
            MUTATING,
            variables=[{"name": "host", "expression": "Object{}"}],
            mutations=MUTATING["spec"]["mutations"][1:],
        )
    )
    assert "undeclared reference to 'Object'" in text


def test_a_misspelt_field_is_named() -> None:
    (problem,) = validate_policy(spec(POLICY, failurepolicy="Fail"), Release(36))
    assert problem.message == 'strict decoding error: unknown field "spec.failurepolicy"'
    assert problem.hint == 'did you mean "failurePolicy"?'


@each_row(
    ("kind", "release", "versions"),
    [
        ("ValidatingAdmissionPolicy", 27, ["v1alpha1"]),
        ("ValidatingAdmissionPolicyBinding", 29, ["v1alpha1", "v1beta1"]),
        ("ValidatingAdmissionPolicy", 30, ["v1alpha1", "v1beta1", "v1"]),
        ("ValidatingAdmissionPolicy", 34, ["v1"]),
        ("MutatingAdmissionPolicy", 31, []),
        ("MutatingAdmissionPolicyBinding", 34, ["v1alpha1", "v1beta1"]),
        ("MutatingAdmissionPolicy", 36, ["v1alpha1", "v1beta1", "v1"]),
    ],
)
def test_releases_serve_versions(kind: str, release: int, versions: list[str]) -> None:
    assert served(kind, release) == [f"{GROUP}/{version}" for version in versions]


def test_a_version_that_is_not_served_is_refused() -> None:
    (problem,) = validate_policy(MUTATING, Release(35))
    assert problem.message == f'no matches for kind "MutatingAdmissionPolicy" in version "{GROUP}/v1"'
    assert problem.hint == (f"Kubernetes 1.35 serves MutatingAdmissionPolicy in {GROUP}/v1alpha1, {GROUP}/v1beta1")
    assert validate_policy(MUTATING, Release(30))[0].hint.endswith("in no version")


def test_v1alpha1_denies_what_has_no_parameters_by_default() -> None:
    manifest = spec(BINDING, paramRef={"name": "a"}) | {"apiVersion": f"{GROUP}/v1alpha1"}
    assert validate_policy(manifest, Release(30)) == []


def test_1_27_has_no_variables() -> None:
    old = POLICY | {"apiVersion": f"{GROUP}/v1alpha1"}
    assert [problem.message for problem in validate_policy(old, Release(27))] == [
        'strict decoding error: unknown field "spec.variables"'
    ]


@each_row(
    "obj", [None, [], {}, {"apiVersion": 1, "kind": "ValidatingAdmissionPolicy"}, {"apiVersion": GROUP, "kind": []}]
)
def test_other_objects_are_distinguished_from_policies(obj: object) -> None:
    assert not is_policy(obj)
