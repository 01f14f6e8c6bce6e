"""Custom resources under policies: their CustomResourceDefinitions decode, complete and validate them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import draguard, findings

SCHEMA = """
type: object
properties:
  spec:
    type: object
    x-kubernetes-validations:
    - {rule: self.size <= 10, message: size must be at most 10}
    - {rule: self.owner == oldSelf.owner, message: owner is immutable}
    properties:
      size: {type: integer, default: 3}
      owner: {type: string, default: nobody}
      mode: {type: string, enum: [auto, manual]}
      labels: {type: object, additionalProperties: {type: string}}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, properties: {name: {type: string}, port: {type: integer}}}
      items: {type: array, items: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      note: {type: string, nullable: true}
      ratio: {type: number}
      every: {type: string, format: duration}
  status:
    type: object
    properties: {phase: {type: string}}
"""
SUBRESOURCES = {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}
KIND = {"apiVersion": "gadgets.example/v1", "kind": "Gadget"}


def definition(**spec: Any) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": SUBRESOURCES,
        "schema": {"openAPIV3Schema": yaml.safe_load(SCHEMA)},
    }
    names = {"plural": "gadgets", "kind": "Gadget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.gadgets.example"},
        "spec": {"group": "gadgets.example", "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }


DEFINITION = definition()


def gadget(spec: str = "{}", **fields: Any) -> dict[str, Any]:
    return {**KIND, "metadata": {"name": "one"}, "spec": yaml.safe_load(spec), **fields}


def policy(kind: str, resources: tuple[str, ...] = ("gadgets",), **spec: Any) -> list[dict[str, Any]]:
    rule = {
        "apiGroups": ["gadgets.example"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [*resources],
    }
    version = {"apiVersion": "admissionregistration.k8s.io/v1"}
    actions = {"validationActions": ["Deny"]} if kind.startswith("V") else {}
    reference = {"paramRef": {"name": "limit", "namespace": "default", "parameterNotFoundAction": "Deny"}}
    return [
        {
            **version,
            "kind": kind,
            "metadata": {"name": "p"},
            "spec": {"matchConstraints": {"resourceRules": [rule]}, **spec},
        },
        {
            **version,
            "kind": f"{kind}Binding",
            "metadata": {"name": "p"},
            "spec": {"policyName": "p", **actions, **(reference if "paramKind" in spec else {})},
        },
    ]


def validating(expression: str, message: str = "refused", **spec: Any) -> list[dict[str, Any]]:
    validations = [{"expression": expression, "message": message}]
    return policy("ValidatingAdmissionPolicy", validations=validations, **spec)


def mutating(expression: str) -> list[dict[str, Any]]:
    patch = "jsonPatch" if expression.startswith("[") else "applyConfiguration"
    mutation = {"patchType": patch[0].upper() + patch[1:], patch: {"expression": expression}}
    mutation["patchType"] = "JSONPatch" if patch == "jsonPatch" else "ApplyConfiguration"
    return policy("MutatingAdmissionPolicy", mutations=[mutation], reinvocationPolicy="Never")


SEEN = [
    ("{}", "object.spec.size == 3 && object.spec.owner == 'nobody'"),
    ("{size: null}", "object.spec.size == 3"),
    ("{note: null}", "has(object.spec.note)"),
    ("{mode: null}", "!has(object.spec.mode)"),
    ("{labels: {a: null}}", "object.spec.labels == {}"),
    ("{free: {a: null}}", "object.spec.free.a == null"),
    ("{ratio: 2}", "type(object.spec.ratio) == int"),
]


@pytest.mark.parametrize(("spec", "expression"), SEEN)
def test_policies_see_objects_as_they_are_stored(spec: str, expression: str, write: Callable[..., Path]) -> None:
    folder = write(policies=[*validating(expression), DEFINITION], gadget=[gadget(spec)])
    assert not findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")


REFUSED = [
    ("{sise: 1}", "spec.sise", 'strict decoding error: unknown field "spec.sise"', 'did you mean "size"?'),
    ("{size: x}", "spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"', ""),
    ("{size: 11}", "spec", "Invalid value: size must be at most 10", ""),
    ("{size: -1}", ".spec.size", "Invalid value: -1: should be a non-negative integer", ""),
    ("{tags: [a, a]}", "spec.tags[1]", 'Duplicate value: "a"', ""),
]


@pytest.mark.parametrize(("spec", "field", "message", "hint"), REFUSED)
def test_an_object_that_the_schema_refuses_reaches_no_policy(
    spec: str, field: str, message: str, hint: str, write: Callable[..., Path]
) -> None:
    folder = write(policies=[*validating("false", "asked"), DEFINITION], gadget=[gadget(spec)])
    found = findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
    assert (found[0]["field"], found[0]["message"], found[0].get("hint", "")) == (field, message, hint)
    assert found[0]["line"] > 1
    assert all(each["rule"] != "policy" for each in found)


@pytest.mark.parametrize("where", ["policies", "before", "after", "cluster"])
def test_definitions_may_be_anywhere(where: str, write: Callable[..., Path]) -> None:
    policies, wrong = validating("object.spec.size == 4"), gadget("{mode: fast}")
    folder = write(
        policies=[*policies, *([DEFINITION] if where == "policies" else [])],
        gadgets=[DEFINITION, wrong, gadget()] if where == "before" else [wrong, gadget()],
        others=[DEFINITION],
    )
    others = folder / "others.yaml"
    options: list[str | Path] = [others] if where == "after" else ["--cluster", others] if where == "cluster" else []
    found = findings("validate", "--policies", folder / "policies.yaml", folder / "gadgets.yaml", *options)
    assert [each["rule"] for each in found] == ["enum", "schema", "policy"]


def test_without_a_definition_objects_reach_policies_as_they_are(write: Callable[..., Path]) -> None:
    folder = write(policies=validating("object.spec.sise == 1"), gadget=[gadget("{sise: 1}")])
    assert not findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")


def test_a_version_that_is_not_served_is_reported(write: Callable[..., Path]) -> None:
    old = gadget() | {"apiVersion": "gadgets.example/v1alpha1"}
    folder = write(policies=[*validating("false"), DEFINITION], gadget=[old])
    (found,) = findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
    assert found["message"] == 'no matches for kind "Gadget" in version "gadgets.example/v1alpha1"'
    assert found["hint"] == "its CustomResourceDefinition serves v1"


class TestStatus:
    def test_a_new_object_has_none(self, write: Callable[..., Path]) -> None:
        folder = write(
            policies=[*validating("!has(object.status)"), DEFINITION], gadget=[gadget(status={"phase": "Ready"})]
        )
        assert not findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")

    @pytest.mark.parametrize(
        ("options", "expression"),
        [
            ([], "object.status.phase == 'Old' && object.spec.size == 5"),
            (["--subresource", "status"], "object.status.phase == 'New' && object.spec.size == 4"),
        ],
    )
    def test_it_is_updated_apart(self, options: list[str], expression: str, write: Callable[..., Path]) -> None:
        resources = ("gadgets", "gadgets/status")
        policies = policy("ValidatingAdmissionPolicy", resources, validations=[{"expression": expression}])
        folder = write(
            policies=[*policies, DEFINITION],
            new=[gadget("{size: 5}", status={"phase": "New"})],
            old=[gadget("{size: 4}", status={"phase": "Old"})],
        )
        paths: list[str | Path] = [
            "--policies",
            folder / "policies.yaml",
            "--old",
            folder / "old.yaml",
            folder / "new.yaml",
        ]
        assert not findings("validate", *options, *paths, folder / "new.yaml")


def test_rules_of_transitions_compare_with_the_stored_object(write: Callable[..., Path]) -> None:
    place = write(
        policies=[*validating("has(object.spec)"), DEFINITION], new=[gadget("{size: 4}")], old=[gadget("{owner: jane}")]
    )
    paths: list[str | Path] = [
        "--policies",
        place / "policies.yaml",
        "--old",
        place / "old.yaml",
        place / "new.yaml",
    ]
    assert [each["message"] for each in findings("validate", *paths, place / "new.yaml")] == [
        "Invalid value: owner is immutable"
    ]


class TestParameters:
    LIMIT = gadget("{}") | {"metadata": {"name": "limit"}}

    def test_they_have_defaults(self, write: Callable[..., Path]) -> None:
        policies = validating("object.spec.size <= params.spec.size", paramKind=KIND)
        folder = write(policies=[*policies, DEFINITION, self.LIMIT], gadget=[gadget("{size: 4}")])
        (found,) = findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
        assert found["message"].endswith("denied request: refused")

    @pytest.mark.parametrize("spec", [{"sise": 1}, {"size": "x"}])
    def test_those_that_the_schema_refuses_are_none(self, spec: dict[str, Any], write: Callable[..., Path]) -> None:
        policies = validating("has(object.spec)", paramKind=KIND)
        folder = write(policies=[*policies, DEFINITION, self.LIMIT | {"spec": spec}], gadget=[gadget()])
        found = findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
        assert {each["file"].rpartition("/")[2] for each in found} == {"policies.yaml", "gadget.yaml"}
        assert "no params found" in found[-1]["message"]


CHANGES = [
    ("Object{spec: Object.spec{size: 5, labels: {'a': 'b'}}}", "{labels: {c: d}}", {"size": 5, "labels/a": "b"}),
    ("Object{spec: Object.spec{tags: ['new']}}", "{tags: [old]}", {"tags/1": "new"}),
    (
        "Object{spec: Object.spec{ports: [Object.spec.ports{name: 'a', port: 2}]}}",
        "{ports: [{name: a, port: 1}]}",
        {"ports/0/port": 2},
    ),
    ("[JSONPatch{op: 'add', path: '/spec/unknown', value: 'x'}]", "{}", {}),
    ("[JSONPatch{op: 'add', path: '/spec/mode', value: 'auto'}]", "{}", {"mode": "auto"}),
]


class TestMutations:
    @pytest.mark.parametrize(("expression", "spec", "changes"), CHANGES)
    def test_they_merge_by_the_schema(
        self, expression: str, spec: str, changes: dict[str, Any], write: Callable[..., Path]
    ) -> None:
        folder = write(policies=[*mutating(expression), DEFINITION], gadget=[gadget(spec)])
        done = draguard("mutate", "--patch", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
        patch = json.loads(done.out)["patch"] if done.out else []
        assert {each["path"].removeprefix("/spec/"): each["value"] for each in patch} == changes

    def test_an_atomic_list_is_refused(self, write: Callable[..., Path]) -> None:
        expression = "Object{spec: Object.spec{items: ['a']}}"
        folder = write(policies=[*mutating(expression), DEFINITION], gadget=[gadget()])
        (found,) = findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
        assert found["message"].endswith("may not mutate atomic arrays, maps or structs: .spec.items")

    def test_the_result_is_validated(self, write: Callable[..., Path]) -> None:
        expression = "[JSONPatch{op: 'replace', path: '/spec/size', value: 11}]"
        folder = write(policies=[*mutating(expression), DEFINITION], gadget=[gadget()])
        (found,) = findings("validate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
        assert found["message"] == "Invalid value: size must be at most 10"
        done = draguard("mutate", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
        assert (done.code, "size must be at most 10" in done.err) == (1, True)


TYPED = [
    ("object.spec.sise == 1", "undefined field 'sise'"),
    ("object.spec.size == 2.0", "found no matching overload for '_==_' applied to '(int, double)'"),
    ("object.spec.ratio > 1.0", ""),
    ("object.spec.every == 'x'", "found no matching overload for '_==_' applied to '(duration, string)'"),
    ("object.spec.free.a == 1", "undefined field 'a'"),
    ("object.metadata.labels.size() > 0", ""),
    ("object.spec.ports[0].port > 'a'", "found no matching overload for '_>_' applied to '(int, string)'"),
    ("object.extra == 1", "undefined field 'extra'"),
]


@pytest.mark.parametrize(("expression", "expected"), TYPED)
def test_types_are_checked(expression: str, expected: str, write: Callable[..., Path]) -> None:
    folder = write(policies=[*validating(expression), DEFINITION])
    found = [each for each in findings("policy", "check", folder / "policies.yaml") if each["rule"] != "fails-on-valid"]
    assert [each["rule"] for each in found] == (["type-check"] if expected else [])
    assert all(expected in each["message"] for each in found)
    assert all(each["message"].startswith("gadgets.example/v1, Kind=Gadget: ERROR: ") for each in found)


def test_types_of_parameters_are_checked(write: Callable[..., Path]) -> None:
    policies = validating("object.spec.size <= params.spec.sise", paramKind=KIND)
    folder = write(policies=[*policies, DEFINITION])
    (found,) = findings("policy", "check", folder / "policies.yaml")
    assert "undefined field 'sise'" in found["message"]


RULES = [
    ({"resources": ["gadget"]}, 'resource "gadget" does not exist in gadgets.example: the rule matches nothing'),
    ({"apiVersions": ["v2"]}, "its CustomResourceDefinition does not serve gadgets in v2: the rule matches nothing"),
    ({"resources": ["sprockets"]}, ""),
    ({}, ""),
]


@pytest.mark.parametrize(("fields", "expected"), RULES)
def test_rules_are_compared_with_definitions(fields: dict[str, Any], expected: str, write: Callable[..., Path]) -> None:
    policies = validating("has(object.spec)")
    policies[0]["spec"]["matchConstraints"]["resourceRules"][0].update(fields)
    folder = write(policies=[*policies, DEFINITION])
    found = [each["message"] for each in findings("policy", "check", folder / "policies.yaml")]
    assert found == ([expected] if expected else [])


PARAM_KINDS = [
    ("gadgets.example/v2", "Gadget", "its CustomResourceDefinition does not serve Gadget in gadgets.example/v2"),
    ("gadgets.example/v1", "Gadgets", 'kind "Gadgets" does not exist in gadgets.example/v1'),
    ("gadgets.example/v1", "Sprocket", ""),
]


@pytest.mark.parametrize(("version", "kind", "expected"), PARAM_KINDS)
def test_param_kinds_are_compared_with_definitions(
    version: str, kind: str, expected: str, write: Callable[..., Path]
) -> None:
    policies = validating("has(object.spec)", paramKind={"apiVersion": version, "kind": kind})
    folder = write(policies=[*policies, DEFINITION])
    found = [each["message"] for each in findings("policy", "check", folder / "policies.yaml")]
    assert found == ([f"{expected}: the policy always fails"] if expected else [])


CHANGED = "the API server refuses the object as the policies have changed it"
SUITES = [
    ("{}", "", ""),
    ("{size: 4}", "", "refused"),
    ("{size: null}", "Object{spec: Object.spec{owner: 'jane'}}", ""),
    ("{}", "Object{spec: Object.spec{size: 11}}", CHANGED),
    ("{sise: 1}", "", "the API server drops or refuses it, so that no policy reads it"),
]


@pytest.mark.parametrize(("spec", "change", "message"), SUITES)
def test_suites_use_the_definitions_of_their_context(
    spec: str, change: str, message: str, write: Callable[..., Path]
) -> None:
    case = {"name": "a", "object": gadget(spec), "expect": {"allowed": True}}
    policies = validating("object.spec.size != 4") + (mutating(change) if change else [])
    folder = write(policies=policies, tests=[{"context": [DEFINITION], "cases": [case]}])
    found = [each for each in findings("policy", "test", folder) if each["rule"] in {"case", "suite"}]
    assert bool(found) is bool(message)
    assert message in str(found)


def test_a_patch_that_adds_an_unknown_field_does_nothing(write: Callable[..., Path]) -> None:
    folder = write(policies=[*mutating("[JSONPatch{op: 'add', path: '/spec/sise', value: 1}]"), DEFINITION])
    (found,) = findings("policy", "check", folder / "policies.yaml")
    assert (found["rule"], found["hint"]) == ("unknown-field", 'did you mean "size"?')
