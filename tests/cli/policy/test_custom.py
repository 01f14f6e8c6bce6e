"""Custom resources under policies: their CustomResourceDefinitions decode, complete and validate them."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.cli.manifests import Write
from tests.cli.policy.manifests import Found
from tests.command import draguard, findings
from tests.policy import examples
from tests.policy.examples import binding, policy
from tests.rows import each_row

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
      owner: {type: string, default: platform}
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
KIND = {"apiVersion": "example.com/v1", "kind": "Gadget"}
VERSION = {"name": "v1", "served": True, "storage": True, "subresources": SUBRESOURCES}
VERSION["schema"] = {"openAPIV3Schema": yaml.safe_load(SCHEMA)}
DEFINITION = examples.definition("Gadget", "gadgets", VERSION, scope="Namespaced")


def gadget(spec: str = "{}", **fields: Any) -> dict[str, Any]:
    return {**KIND, "metadata": {"name": "one"}, "spec": yaml.safe_load(spec), **fields}


def rules(*resources: str) -> list[dict[str, Any]]:
    about = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
    return [{**about, "resources": resources or ["gadgets"]}]


def validating(expression: str, *resources: str, message: str = "refused", **spec: Any) -> list[dict[str, Any]]:
    """Return a policy about gadgets, with its binding and their definition."""
    limit = {"name": "limit", "namespace": "default", "parameterNotFoundAction": "Deny"}
    made = policy(rules=rules(*resources), validations=[{"expression": expression, "message": message}], **spec)
    return [made, binding(paramRef=limit) if "paramKind" in spec else binding(), DEFINITION]


def mutating(expression: str) -> list[dict[str, Any]]:
    return [*examples.mutating("p", expression, matchConstraints={"resourceRules": rules()}), DEFINITION]


@each_row(
    ("spec", "expression"),
    ("{}", "object.spec.size == 3 && object.spec.owner == 'platform'"),
    ("{size: null}", "object.spec.size == 3"),
    ("{note: null}", "has(object.spec.note)"),
    ("{mode: null}", "!has(object.spec.mode)"),
    ("{labels: {a: null}}", "object.spec.labels == {}"),
    ("{free: {a: null}}", "object.spec.free.a == null"),
    ("{ratio: 2}", "type(object.spec.ratio) == int"),
)
def test_policies_see_objects_as_they_are_stored(spec: str, expression: str, judged: Found) -> None:
    assert not judged(validating(expression), gadget(spec))


@each_row(
    ("spec", "field", "message", "hint"),
    ("{sise: 1}", "spec.sise", 'strict decoding error: unknown field "spec.sise"', 'did you mean "size"?'),
    ("{size: x}", "spec.size", 'Invalid value: "string": spec.size in body must be of type integer: "string"', ""),
    ("{size: 11}", "spec", "Invalid value: size must be at most 10", ""),
    ("{size: -1}", ".spec.size", "Invalid value: -1: should be a non-negative integer", ""),
    ("{tags: [a, a]}", "spec.tags[1]", 'Duplicate value: "a"', ""),
)
def test_an_object_that_the_schema_refuses_reaches_no_policy(
    spec: str, field: str, message: str, hint: str, judged: Found
) -> None:
    found = judged(validating("false", message="asked"), gadget(spec))
    assert (found[0]["field"], found[0]["message"], found[0].get("hint", "")) == (field, message, hint)
    assert found[0]["line"] > 1
    assert all(each["rule"] != "policy" for each in found)


@each_row("where", "policies", "before", "after", "cluster")
def test_definitions_may_be_anywhere(where: str, judged: Found, write: Write) -> None:
    policies = validating("object.spec.size == 4")
    others = write(others=[DEFINITION]) / "others.yaml"
    options = {"after": (others,), "cluster": ("--cluster", others)}.get(where, ())
    objects = [gadget("{mode: fast}"), gadget()]
    found = judged(
        policies if where == "policies" else policies[:2],
        *([DEFINITION, *objects] if where == "before" else objects),
        options=options,
    )
    assert [each["rule"] for each in found if each["kind"] == "Gadget"] == ["enum", "schema", "policy"]
    assert len(found) == 3


def test_without_a_definition_objects_reach_policies_as_they_are(judged: Found) -> None:
    assert not judged(validating("object.spec.sise == 1")[:2], gadget("{sise: 1}"))


def test_a_version_that_is_not_served_is_reported(judged: Found) -> None:
    (found,) = judged(validating("false"), gadget() | {"apiVersion": "example.com/v1alpha1"})
    assert found["message"] == 'no matches for kind "Gadget" in version "example.com/v1alpha1"'
    assert found["hint"] == "its CustomResourceDefinition serves v1"


def test_a_new_object_has_no_status(judged: Found) -> None:
    assert not judged(validating("!has(object.status)"), gadget(status={"phase": "Ready"}))


@each_row(
    ("options", "expression"),
    ((), "object.status.phase == 'Old' && object.spec.size == 5"),
    (("--subresource", "status"), "object.status.phase == 'New' && object.spec.size == 4"),
)
def test_a_status_is_updated_apart(options: tuple[str, ...], expression: str, judged: Found, write: Write) -> None:
    old = write(old=[gadget("{size: 4}", status={"phase": "Old"})]) / "old.yaml"
    new = gadget("{size: 5}", status={"phase": "New"})
    assert not judged(validating(expression, "gadgets", "gadgets/status"), new, options=("--old", old, *options))


def test_rules_of_transitions_compare_with_the_stored_object(judged: Found, write: Write) -> None:
    old = write(old=[gadget("{owner: jane}")]) / "old.yaml"
    (found,) = judged(validating("has(object.spec)"), gadget("{size: 4}"), options=("--old", old))
    assert found["message"] == "Invalid value: owner is immutable"


class TestParameters:
    LIMIT = gadget("{}") | {"metadata": {"name": "limit"}}

    def test_they_have_defaults(self, judged: Found) -> None:
        policies = validating("object.spec.size <= params.spec.size", paramKind=KIND)
        (found,) = judged([*policies, self.LIMIT], gadget("{size: 4}"))
        assert found["message"].endswith("denied request: refused")

    @each_row("spec", {"sise": 1}, {"size": "x"})
    def test_those_that_the_schema_refuses_are_none(self, spec: dict[str, Any], judged: Found) -> None:
        policies = validating("has(object.spec)", paramKind=KIND)
        found = judged([*policies, self.LIMIT | {"spec": spec}], gadget())
        assert {each["file"].rpartition("/")[2] for each in found} == {"p.yaml", "pod.yaml"}
        assert "no params found" in found[-1]["message"]


class TestMutations:
    @each_row(
        ("expression", "spec", "changes"),
        ("size: 5, labels: {'a': 'b'}", "{labels: {c: d}}", {"size": 5, "labels/a": "b"}),
        ("tags: ['new']", "{tags: [old]}", {"tags/1": "new"}),
        ("ports: [Object.spec.ports{name: 'a', port: 2}]", "{ports: [{name: a, port: 1}]}", {"ports/0/port": 2}),
        ("[JSONPatch{op: 'add', path: '/spec/unknown', value: 'x'}]", "{}", {}),
        ("[JSONPatch{op: 'add', path: '/spec/mode', value: 'auto'}]", "{}", {"mode": "auto"}),
    )
    def test_they_merge_by_the_schema(self, expression: str, spec: str, changes: dict[str, Any], write: Write) -> None:
        made = expression if expression.startswith("[") else f"Object{{spec: Object.spec{{{expression}}}}}"
        folder = write(policies=mutating(made), gadget=[gadget(spec)])
        done = draguard("mutate", "--patch", "--policies", folder / "policies.yaml", folder / "gadget.yaml")
        patch = json.loads(done.out)["patch"] if done.out else []
        assert {each["path"].removeprefix("/spec/"): each["value"] for each in patch} == changes

    def test_an_atomic_list_is_refused(self, judged: Found) -> None:
        (found,) = judged(mutating("Object{spec: Object.spec{items: ['a']}}"), gadget())
        assert found["message"].endswith("may not mutate atomic arrays, maps or structs: .spec.items")

    def test_the_result_is_validated(self, judged: Found, tmp_path: Path) -> None:
        (found,) = judged(mutating("[JSONPatch{op: 'replace', path: '/spec/size', value: 11}]"), gadget())
        assert found["message"] == "Invalid value: size must be at most 10"
        done = draguard("mutate", "--policies", tmp_path / "p.yaml", tmp_path / "pod.yaml")
        assert (done.code, "size must be at most 10" in done.err) == (1, True)

    def test_a_patch_that_adds_an_unknown_field_does_nothing(self, checked: Found) -> None:
        (found,) = checked(mutating("[JSONPatch{op: 'add', path: '/spec/sise', value: 1}]"))
        assert (found["rule"], found["hint"]) == ("unknown-field", 'did you mean "size"?')


@each_row(
    ("expression", "expected"),
    ("object.spec.sise == 1", "undefined field 'sise'"),
    ("object.spec.size == 2.0", "found no matching overload for '_==_' applied to '(int, double)'"),
    ("object.spec.ratio > 1.0", ""),
    ("object.spec.every == 'x'", "found no matching overload for '_==_' applied to '(duration, string)'"),
    ("object.spec.free.a == 1", "undefined field 'a'"),
    ("object.metadata.labels.size() > 0", ""),
    ("object.spec.ports[0].port > 'a'", "found no matching overload for '_>_' applied to '(int, string)'"),
    ("object.extra == 1", "undefined field 'extra'"),
)
def test_types_are_checked(expression: str, expected: str, checked: Found) -> None:
    found = [each for each in checked(validating(expression)) if each["rule"] != "fails-on-valid"]
    assert [each["rule"] for each in found] == (["type-check"] if expected else [])
    assert all(expected in each["message"] for each in found)
    assert all(each["message"].startswith("example.com/v1, Kind=Gadget: ERROR: ") for each in found)


def test_types_of_parameters_are_checked(checked: Found) -> None:
    (found,) = checked(validating("object.spec.size <= params.spec.sise", paramKind=KIND))
    assert "undefined field 'sise'" in found["message"]


@each_row(
    ("fields", "expected"),
    ({"resources": ["gadget"]}, 'resource "gadget" does not exist in example.com'),
    ({"apiVersions": ["v2"]}, "its CustomResourceDefinition does not serve gadgets in v2"),
    ({"resources": ["sprockets"]}, ""),
    ({}, ""),
)
def test_rules_are_compared_with_definitions(fields: dict[str, Any], expected: str, checked: Found) -> None:
    policies = validating("has(object.spec)")
    policies[0]["spec"]["matchConstraints"]["resourceRules"][0].update(fields)
    found = [each["message"] for each in checked(policies)]
    assert found == ([f"{expected}: the rule matches nothing"] if expected else [])


@each_row(
    ("version", "kind", "expected"),
    ("example.com/v2", "Gadget", "its CustomResourceDefinition does not serve Gadget in example.com/v2"),
    ("example.com/v1", "Gadgets", 'kind "Gadgets" does not exist in example.com/v1'),
    ("example.com/v1", "Sprocket", ""),
)
def test_param_kinds_are_compared_with_definitions(version: str, kind: str, expected: str, checked: Found) -> None:
    found = checked(validating("has(object.spec)", paramKind={"apiVersion": version, "kind": kind}))
    assert [each["message"] for each in found] == ([f"{expected}: the policy always fails"] if expected else [])


CHANGED = "the API server refuses the object as the policies have changed it"


@each_row(
    ("spec", "change", "message"),
    ("{}", "", ""),
    ("{size: 4}", "", "refused"),
    ("{size: null}", "Object{spec: Object.spec{owner: 'jane'}}", ""),
    ("{}", "Object{spec: Object.spec{size: 11}}", CHANGED),
    ("{sise: 1}", "", "the API server drops or refuses it, so that no policy reads it"),
)
def test_suites_use_the_definitions_of_their_context(spec: str, change: str, message: str, write: Write) -> None:
    case = {"name": "a", "object": gadget(spec), "expect": {"allowed": True}}
    policies = validating("object.spec.size != 4")[:2] + (mutating(change)[:2] if change else [])
    folder = write(policies=policies, tests=[{"context": [DEFINITION], "cases": [case]}])
    found = [each for each in findings("policy", "test", folder) if each["rule"] in {"case", "suite"}]
    assert bool(found) is bool(message)
    assert message in str(found)
