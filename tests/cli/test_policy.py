"""Policies on the command line: ``policy check`` and ``test``, and ``--policies`` of ``validate`` and ``mutate``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.command import ROOT, draguard, process
from tests.policy.examples import CLAIM, POD, binding, mutating, policy
from tests.policy.examples import spec as with_spec
from webhook.documents.dump import dump

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "limits"},
    "data": {"most": "1"},
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"tier": "small"}}}
NODELESS = with_spec(POD, nodeName=None)
WIDGET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Widget",
    "metadata": {"name": "w"},
}
LIMITED = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limited}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations:
  - expression: |
      object.metadata.name != "bad"
    message: bad name
  - expression: dyn(object.spec.containers) != null
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: limited, validationActions: [Deny]}
"""
SUITE = """\
objects:
  pod:
    apiVersion: v1
    kind: Pod
    metadata: {name: good, namespace: default}
    spec: {containers: [{name: c, image: i}]}
cases:
- name: a good name
  object: pod
  expect: {allowed: true}
- name: a bad one
  object: pod
  patch: [{op: replace, path: /metadata/name, value: bad}]
  expect: {allowed: false, message: bad name}
"""
WHOLE = (
    SUITE
    + """\
- name: nothing to run
  object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}
  expect: {allowed: false}
"""
)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(**files: str | list[Any]) -> Path:
        for name, content in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else dump(content), encoding="utf-8")
        return tmp_path

    return write


def findings(*arguments: str | Path) -> list[dict[str, Any]]:
    done = draguard(*arguments, "--output", "json")
    assert done.err == ""
    found: list[dict[str, Any]] = json.loads(done.out)["findings"]
    return found


def bad(pod: dict[str, Any] = NODELESS) -> dict[str, Any]:
    return pod | {"metadata": {"name": "bad"}}


class TestValidate:
    def test_a_finding_shows_the_object_and_the_expression(self, write: Callable[..., Path]) -> None:
        folder = write(policies__p=LIMITED, pod=[bad()])
        done = draguard("validate", "--policies", folder / "policies", folder / "pod.yaml")
        kind = "ValidatingAdmissionPolicy"
        how = "have no such objects: add them, or give the objects of the cluster with --cluster"
        limited = f"{kind} 'limited'"
        assert done.code == 1
        assert done.out.splitlines() == [
            f"{folder}/pod.yaml:1:1: error policy: {limited} with binding 'everywhere' denied request: bad name",
            f"policy: {folder}/policies/p.yaml:10:7: spec.validations[0].expression of {kind} limited",
            '10 |       object.metadata.name != "bad"',
            "   |       ^^^^^^^^^^^^^^^^^^^^",
            "",
            f"note: references not checked: ResourceClaim shared ({folder}/pod.yaml:14); the manifests {how}",
            "1 document in 1 file: 1 error",
        ]

    def test_json_names_the_policy_its_binding_and_the_expression(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED, pod=[bad()])
        (found,) = findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert (found["level"], found["rule"], found["reason"], found["name"]) == ("error", "policy", "Invalid", "bad")
        assert found["policy"] == {
            "kind": "ValidatingAdmissionPolicy",
            "name": "limited",
            "binding": "everywhere",
            "params": "",
            "field": "spec.validations[0].expression",
            "file": f"{folder}/p.yaml",
            "line": 10,
            "column": 7,
        }

    @pytest.mark.parametrize(
        ("actions", "level", "code", "strictly"),
        [(["Deny", "Audit"], "error", 1, 1), (["Warn", "Audit"], "warning", 0, 1), (["Audit"], "note", 0, 0)],
    )
    def test_the_level_is_that_of_the_bindings_actions(
        self, actions: list[str], level: str, code: int, strictly: int, write: Callable[..., Path]
    ) -> None:
        refusing = policy(validations=[{"expression": "false"}])
        folder = write(p=[refusing, binding(validationActions=actions)], pod=[NODELESS])
        command: list[str | Path] = ["validate", "--policies", folder / "p.yaml", folder / "pod.yaml"]
        assert [each["level"] for each in findings(*command)] == [level]
        assert (draguard(*command).code, draguard(*command, "--strict").code) == (code, strictly)
        assert draguard(*command).out.endswith(f"1 document in 1 file: 1 {level}\n")

    @pytest.mark.parametrize(("failure_policy", "level"), [("Fail", "error"), ("Ignore", "note")])
    def test_an_evaluation_error_is_reported_under_every_failure_policy(
        self, failure_policy: str, level: str, write: Callable[..., Path]
    ) -> None:
        failing = policy(
            validations=[{"expression": "object.metadata.labels.absent == 'a'"}], failurePolicy=failure_policy
        )
        folder = write(p=[failing, binding()], pod=[NODELESS])
        (found,) = findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert (found["level"], found["rule"]) == (level, "policy-error")
        assert found["message"].endswith("no such key: absent")

    def test_parameters_and_namespaces_are_found_among_the_policies(self, write: Callable[..., Path]) -> None:
        asking = policy(
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            validations=[
                {
                    "expression": "size(object.spec.containers) < int(params.data.most)",
                    "messageExpression": "'in ' + namespaceObject.metadata.labels.tier",
                }
            ],
        )
        bound = binding(paramRef={"name": "limits", "parameterNotFoundAction": "Deny"})
        config = {**CONFIG, "metadata": {"name": "limits", "namespace": "team"}}
        pod = {**NODELESS, "metadata": {"name": "p"}}
        folder = write(policies__p=[asking, bound], policies__context=[config, NAMESPACE], pod=[pod])
        command: list[str | Path] = ["validate", "--policies", folder / "policies", folder / "pod.yaml"]
        (found,) = findings(*command, "--namespace", "team")
        assert found["message"].endswith("denied request: in small")
        assert found["policy"]["params"] == "team/limits"
        (elsewhere,) = findings(*command)
        assert (elsewhere["rule"], elsewhere["policy"]["field"]) == ("policy-error", "")
        assert "no params found for policy binding" in elsewhere["message"]
        text = draguard(*command).out
        assert " |   paramRef:\n" in text

    def test_several_paths_make_one_set(self, write: Callable[..., Path]) -> None:
        refusing, bound = policy(validations=[{"expression": "false"}]), binding()
        folder = write(p=[refusing], b=[bound], pod=[NODELESS])
        command: list[str | Path] = [
            "validate",
            "--policies",
            folder / "p.yaml",
            "--policies",
            folder / "b.yaml",
            folder / "pod.yaml",
        ]
        assert [each["rule"] for each in findings(*command)] == ["policy"]

    def test_objects_go_into_their_namespace_before_policies_see_them(self, write: Callable[..., Path]) -> None:
        placed = policy(
            validations=[{"expression": "object.metadata.namespace == 'team' && request.namespace == 'team'"}]
        )
        folder = write(p=[placed, binding()], pod=[{**NODELESS, "metadata": {"name": "p"}}])
        command: list[str | Path] = ["validate", "--policies", folder / "p.yaml", folder / "pod.yaml"]
        assert findings(*command, "-n", "team") == []
        assert len(findings(*command)) == 1

    def test_defaults_are_set_before_policies_see_objects(self, write: Callable[..., Path]) -> None:
        defaulted = policy(validations=[{"expression": "object.spec.restartPolicy == 'Always'"}])
        folder = write(p=[defaulted, binding()], pod=[NODELESS])
        assert findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml") == []

    @pytest.mark.parametrize(
        ("options", "username", "groups"),
        [
            ([], "kubernetes-admin", ["kubeadm:cluster-admins", "system:authenticated"]),
            (["--as", "jane"], "jane", ["system:authenticated"]),
            (["--as", "jane", "--as-group", "a", "--as-group", "b"], "jane", ["a", "b", "system:authenticated"]),
            (["--as", "jane", "--as-group", "system:authenticated"], "jane", ["system:authenticated"]),
            (["--as", "system:anonymous"], "system:anonymous", ["system:unauthenticated"]),
            (
                ["--as", "system:serviceaccount:ci:deployer"],
                "system:serviceaccount:ci:deployer",
                ["system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"],
            ),
        ],
    )
    def test_the_user_is_given_in_kubectls_words(
        self, options: list[str], username: str, groups: list[str], write: Callable[..., Path]
    ) -> None:
        telling = policy(
            validations=[
                {
                    "expression": "false",
                    "messageExpression": "request.userInfo.username + ' ' + request.userInfo.groups.join(' ')",
                }
            ]
        )
        folder = write(p=[telling, binding()], pod=[NODELESS])
        (found,) = findings("validate", "--policies", folder / "p.yaml", *options, folder / "pod.yaml")
        assert found["message"].endswith(f"denied request: {username} {' '.join(groups)}")

    @pytest.mark.parametrize(
        ("releases", "comment"), [("1.36", ""), ("1.35,1.36", ""), ("1.36", "# draguard: misread\n")]
    )
    def test_problems_of_policies_are_in_the_order_of_files_and_lines(
        self, releases: str, comment: str, write: Callable[..., Path]
    ) -> None:
        wrong = [policy(validations=[{"expression": "object."}], variables=[{"name": "a", "expression": "1 +"}])]
        folder = write(p__b=wrong, p__c="a: [", p__a=[binding(policyName="q"), *wrong], p_x=comment + dump([NODELESS]))
        policies: list[str | Path] = ["--policies", folder / "p"]
        found = findings("validate", *policies, "--kubernetes-version", releases, folder / "p_x.yaml")
        places = [(each["file"][len(str(folder)) + 3 :], each["line"], each["column"]) for each in found]
        assert places == sorted(places)
        names = ["a.yaml"] * 3 + ["b.yaml"] * 2 + ["c.yaml"] + ["x.yaml"] * bool(comment)
        assert [name for name, _, _ in places] == names

    @pytest.mark.parametrize("command", ["validate", "mutate"])
    def test_options_that_only_policies_read_need_some(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for option in ("--as=jane", "--as-group=dev", "--as-user-extra=a=b", "--authorizer=rules.yaml"):
            name = option.partition("=")[0]
            done = draguard(command, option, "examples/fixed")
            assert done.code == 2
            assert done.err.endswith(f"{name} is for policies: give them with --policies, or leave out {name}\n")
        monkeypatch.setenv("DRAGUARD_AS", "jane")
        assert draguard(command, "examples/fixed").code == 0

    def test_the_user_has_extra_values(self, write: Callable[..., Path]) -> None:
        telling = policy(
            validations=[
                {"expression": "false", "messageExpression": "request.userInfo.extra['example.com/node'].join(' ')"}
            ]
        )
        folder = write(p=[telling, binding()], pod=[NODELESS])
        options = ["--as", "jane", "--as-user-extra", "example.com/Node=a=b", "--as-user-extra", "example.com/node=c"]
        (found,) = findings("validate", "--policies", folder / "p.yaml", *options, folder / "pod.yaml")
        assert found["message"].endswith("denied request: a=b c")

    def test_with_an_old_state_it_is_an_update(self, write: Callable[..., Path]) -> None:
        telling = policy(
            validations=[
                {"expression": "false", "messageExpression": "request.operation + (oldObject == null ? '' : ' of old')"}
            ]
        )
        folder = write(p=[telling, binding()], pod=[NODELESS])
        command: list[str | Path] = ["validate", "--policies", folder / "p.yaml", folder / "pod.yaml"]
        assert findings(*command)[0]["message"].endswith(": CREATE")
        assert findings(*command, "--old", folder / "pod.yaml")[0]["message"].endswith(": UPDATE of old")

    def test_mutating_policies_change_objects_before_the_rules(self, write: Callable[..., Path]) -> None:
        correcting = mutating("m", "[JSONPatch{op: 'remove', path: '/spec/resourceClaims/0/unknown'}]")
        claims = [{**POD["spec"]["resourceClaims"][0], "unknown": True}]
        folder = write(p=correcting, pod=[with_spec(NODELESS, resourceClaims=claims)])
        assert [each["rule"] for each in findings("validate", folder / "pod.yaml")] == ["unknown-field"]
        assert findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml") == []

    def test_a_mutating_policy_that_fails_is_reported(self, write: Callable[..., Path]) -> None:
        failing = mutating("m", "Object{metadata: Object.metadata{labels: {'a': object.spec.absent}}}")
        folder = write(p=failing, pod=[NODELESS])
        (found,) = findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert (found["level"], found["policy"]["name"]) == ("error", "m")
        assert found["message"].startswith("policy 'm' with binding 'm' denied request: ")

    def test_an_undecodable_change_is_reported(self, write: Callable[..., Path]) -> None:
        breaking = mutating("m", "[JSONPatch{op: 'add', path: '/spec/containers', value: 'x'}]")
        folder = write(p=breaking, pod=[NODELESS])
        (found,) = findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert (found["level"], found["rule"], found["reason"]) == ("error", "policy-error", "InternalError")
        assert found["policy"]["name"] == "m"
        assert found["policy"]["field"] == "spec.mutations[0].jsonPatch.expression"

    def test_what_fails_before_a_change_that_cannot_be_decoded_keeps_its_message(
        self, write: Callable[..., Path]
    ) -> None:
        failing = [mutating(name, "Object{metadata: object.spec.absent}") for name in ("a", "b")]
        breaking = mutating("m", "[JSONPatch{op: 'add', path: '/spec/containers', value: 'x'}]")
        folder = write(p=[*failing[0], *failing[1], *breaking], pod=[NODELESS])
        said = findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert sorted((each["policy"]["name"], each["reason"]) for each in said) == [
            ("a", "Invalid"),
            ("b", "Invalid"),
            ("m", "InternalError"),
        ]

    def test_what_cannot_be_decoded_reaches_no_policy(self, write: Callable[..., Path]) -> None:
        folder = write(
            p=[policy(validations=[{"expression": "false"}]), binding()], pod=[with_spec(NODELESS, containers=3)]
        )
        found = findings("validate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert [each["rule"] for each in found] == ["wrong-type"]

    def test_a_release_that_does_not_serve_policies_may_have_them(self, write: Callable[..., Path]) -> None:
        of_claims = {"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1alpha2"], "resources": ["resourceclaims"]}
        rules = [of_claims | {"operations": ["*"]}]
        refusing = policy(rules=rules, validations=[{"expression": "object.metadata.labels.a != 'b'"}])
        claim = {
            "apiVersion": "resource.k8s.io/v1alpha2",
            "kind": "ResourceClaim",
            "metadata": {"name": "c"},
            "spec": {"resourceClassName": "gpu.example.com"},
        }
        label = mutating(
            "m", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", matchConstraints={"resourceRules": rules}
        )
        folder = write(p=[refusing, binding(), *label], claim=[claim])
        for release in ("1.27", "1.30"):
            options: list[str | Path] = [
                "--kubernetes-version",
                release,
                "--policies",
                folder / "p.yaml",
                folder / "claim.yaml",
            ]
            (found,) = findings("validate", *options)
            assert (found["level"], found["rule"], found["kubernetes"]) == ("error", "policy", release)
            done = draguard("mutate", *options)
            assert (done.code, done.out) == (0, dump([claim | {"metadata": {"name": "c", "labels": {"a": "b"}}}]))
        assert draguard("policy", "check", "--kubernetes-version", "1.27", folder / "p.yaml").code == 1

    def test_namespaces_among_the_manifests_count(self, write: Callable[..., Path]) -> None:
        every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"]}
        selecting = policy(
            matchConstraints={
                "resourceRules": [every | {"resources": ["resourceclaims", "widgets"]}],
                "namespaceSelector": {"matchLabels": {"tier": "prod"}},
            },
            validations=[{"expression": "namespaceObject.metadata.labels.tier != 'prod'"}],
        )
        claim = CLAIM | {"metadata": {"name": "c", "namespace": "prod"}}
        widget = WIDGET | {"metadata": {"name": "w", "namespace": "prod"}}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod", "labels": {"tier": "prod"}}}
        folder = write(p=[selecting, binding()], alone=[claim, widget], known=[claim, widget, namespace])
        alone = findings("validate", "--policies", folder / "p.yaml", folder / "alone.yaml")
        assert {each["level"] for each in alone} == {"note"}
        known = findings("validate", "--policies", folder / "p.yaml", folder / "known.yaml")
        assert [(each["level"], each["kind"]) for each in known] == [("error", "ResourceClaim"), ("error", "Widget")]
        options: list[str | Path] = ["--namespace-labels", "prod=tier=dev", "--policies", folder / "p.yaml"]
        assert findings("validate", *options, folder / "known.yaml") == []

    def test_a_change_is_not_to_blame_for_what_was_there_before(self, write: Callable[..., Path]) -> None:
        labelling = mutating("m", "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]")
        folder = write(p=labelling, pod=[with_spec(NODELESS, later=True)])
        done = draguard("mutate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert (done.code, done.err) == (0, "")

    def test_objects_of_any_kind_are_judged_by_policies(self, write: Callable[..., Path]) -> None:
        rules = [{"apiGroups": ["apps"], "apiVersions": ["*"], "operations": ["*"], "resources": ["widgets"]}]
        refusing = policy(rules=rules, validations=[{"expression": "false"}])
        folder = write(p=[refusing, binding()], objects=[WIDGET, CONFIG])
        command: list[str | Path] = ["validate", "--policies", folder / "p.yaml", folder / "objects.yaml"]
        assert [each["kind"] for each in findings(*command)] == ["Widget"]
        assert "1 skipped (kinds not judged: 1 ConfigMap)" in draguard(*command).out

    def test_an_assumption_about_the_authorizer_is_reported(self, write: Callable[..., Path]) -> None:
        asking = policy(validations=[{"expression": "authorizer.path('/x').check('get').allowed()"}])
        folder = write(p=[asking, binding()], pod=[NODELESS], rules="rules: [{nonResourceURLs: [/x], verbs: [get]}]")
        command: list[str | Path] = ["validate", "--policies", folder / "p.yaml", folder / "pod.yaml"]
        assert [(each["level"], each["rule"]) for each in findings(*command)] == [
            ("error", "policy"),
            ("note", "assumed"),
        ]
        assert "--authorizer" in findings(*command)[1]["hint"]
        allowed = findings(*command, "--authorizer", folder / "rules.yaml")
        assert allowed == []

    def test_an_assumption_is_reported_once_with_the_number_of_objects(self, write: Callable[..., Path]) -> None:
        asking = policy(validations=[{"expression": "authorizer.path('/x').check('get').allowed()"}])
        pods = [NODELESS | {"metadata": {"name": name}} for name in "abc"]
        folder = write(p=[asking, binding()], pods=pods)
        found = findings("validate", "--policies", folder / "p.yaml", folder / "pods.yaml")
        assert [each["rule"] for each in found] == ["policy", "assumed", "policy", "policy"]
        assert found[1]["message"].endswith(" (and of 2 more objects)")

    def test_assumed_labels_of_a_namespace_are_reported(self, write: Callable[..., Path]) -> None:
        tier = "!has(namespaceObject.metadata.labels.tier) || namespaceObject.metadata.labels.tier != 'small'"
        team = NODELESS | {"metadata": {"name": "a", "namespace": "team"}}
        picked = {"namespaceSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}
        folder = write(p=[policy(validations=[{"expression": tier}]), binding(matchResources=picked)], pod=[team])
        command: list[str | Path] = ["validate", "--policies", folder / "p.yaml", folder / "pod.yaml"]
        (found,) = findings(*command)
        assert (found["level"], found["rule"]) == ("note", "assumed")
        assert "--namespace-labels" in found["hint"]
        assert [each["rule"] for each in findings(*command, "--namespace-labels=team=tier=small")] == ["policy"]
        write(namespace=[NAMESPACE])
        beside = [*command, "--policies", folder / "namespace.yaml"]
        assert [each["rule"] for each in findings(*beside)] == ["policy"]
        assert findings(*beside, "--namespace-labels=team=tier=large") == []

    def test_policies_that_the_api_server_refuses_are_findings_in_their_files(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED.replace('!= "bad"', "!="), pod=[NODELESS])
        done = draguard("validate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert done.code == 1
        assert done.out.startswith(f"{folder}/p.yaml:10:30: error ")

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            (["--policies", "{}/pod.yaml"], "--policies: no policies found in {}/pod.yaml"),
            (["--policies", "-", "--old", "-"], "standard input (-) cannot be both the policies and something else"),
            (
                ["--policies", "-", "--cluster", "-"],
                "standard input (-) cannot be both the policies and something else",
            ),
            (["--policies", "{}/p.yaml", "--as-group", "a"], "--as-group: groups go with a user: add --as"),
            (["--policies", "{}/p.yaml", "--as-user-extra", "a=b"], "--as-user-extra: extra values go with a user"),
            (["--policies", "{}/p.yaml", "--as", "a", "--as-user-extra", "b"], "--as-user-extra: 'b' is not KEY=VALUE"),
            (
                ["--policies", "{}/p.yaml", "--authorizer", "{}/gone"],
                "--authorizer: {}/gone: no such file or directory",
            ),
            (
                ["--policies", "{}/p.yaml", "--authorizer", "{}/p.yaml"],
                "--authorizer: {}/p.yaml must hold one document",
            ),
            (["--policies", "{}/p.yaml", "--authorizer", "{}/pod.yaml"], "--authorizer: {}/pod.yaml: an authorizer's"),
            (["--policies", "{}/p.yaml", "--authorizer", "{}/cut.yaml"], "--authorizer: {}/cut.yaml:1: "),
        ],
    )
    def test_usage_errors_are_reported(self, options: list[str], complaint: str, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED, pod=[NODELESS], cut="a: [")
        done = draguard("validate", *(each.format(folder) for each in options), folder / "pod.yaml")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"draguard validate: error: {complaint.format(folder)}")

    def test_policies_may_come_from_standard_input(self, write: Callable[..., Path]) -> None:
        folder = write(pod=[bad()])
        done = draguard("validate", "--policies", "-", folder / "pod.yaml", stdin=LIMITED.encode())
        assert (done.code, done.err) == (1, "")
        assert "policy: <stdin>:10:7: " in done.out

    def test_a_path_that_does_not_exist_is_wrong_use(self, write: Callable[..., Path]) -> None:
        folder = write(pod=[NODELESS])
        done = process("validate", "--policies", folder / "gone", folder / "pod.yaml")
        assert (done.code, done.err) == (2, "")
        assert done.out.startswith(f"{folder}/gone: error unreadable: no such file or directory")

    def test_only_who_has_policies_pays_for_the_engine(self) -> None:
        code = "import sys; from webhook.cli import main; main(['validate', 'examples/pre-scheduled']); "
        code += "sys.exit([each for each in sys.modules if each.startswith(('webhook.cel', 'webhook.policy'))])"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.stderr == "[]\n"


class TestPreScheduled:
    def test_a_pod_that_can_never_run_is_warned_of(self, write: Callable[..., Path]) -> None:
        (found,) = findings("validate", write(pod=[POD]))
        assert (found["level"], found["rule"], found["field"]) == ("warning", "prescheduled", "spec.nodeName")
        assert "draguard mutate" in found["hint"]

    def test_so_is_one_of_a_template(self, write: Callable[..., Path]) -> None:
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "j"},
            "spec": {"template": {"spec": POD["spec"] | {"restartPolicy": "Never"}}},
        }
        (found,) = findings("validate", write(job=[job]))
        assert (found["rule"], found["field"]) == ("prescheduled", "spec.template.spec.nodeName")

    def test_one_that_contradicts_itself_is_warned_of(self, write: Callable[..., Path]) -> None:
        (found,) = findings("validate", write(pod=[with_spec(POD, nodeSelector={"kubernetes.io/hostname": "other"})]))
        assert (found["level"], found["rule"]) == ("warning", "prescheduled-contradiction")
        assert found["message"].startswith("rules out node ")

    def test_a_stored_pod_may_have_been_scheduled(self, write: Callable[..., Path]) -> None:
        stored = POD | {"metadata": POD["metadata"] | {"uid": "5a1e7e4c-3d3c-4f0e-8a59-9a3b5c0f8f3e"}}
        folder = write(pod=[stored])
        assert findings("validate", folder) == []
        assert findings("validate", "--old", folder, folder) == []


class TestMutate:
    def test_mutating_policies_change_manifests(self, write: Callable[..., Path]) -> None:
        labelling = mutating("m", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
        pod = {**NODELESS, "metadata": {"name": "p"}}
        folder = write(p=labelling, pod=[pod, CONFIG, [3]])
        done = draguard("mutate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert (done.code, done.err) == (0, "")
        assert done.out == dump([{**pod, "metadata": {"name": "p", "labels": {"a": "b"}}}, CONFIG, [3]])
        patch = draguard("mutate", "--patch", "--policies", folder / "p.yaml", folder / "pod.yaml").out
        assert json.loads(patch)["patch"] == [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]

    def test_the_scheduler_is_brought_in_after_them(self, write: Callable[..., Path]) -> None:
        elsewhere = mutating("m", "Object{spec: Object.spec{nodeName: 'node-2'}}")
        folder = write(p=elsewhere, pod=[POD])
        done = draguard("mutate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert "kubernetes.io/hostname: node-2" in done.out
        assert "warning prescheduled" in done.err

    def test_namespaces_among_the_manifests_count(self, write: Callable[..., Path]) -> None:
        label = "Object{metadata: Object.metadata{labels: {'tier': namespaceObject.metadata.labels.tier}}}"
        rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
        production = {"resourceRules": rules, "namespaceSelector": {"matchLabels": {"tier": "prod"}}}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod", "labels": {"tier": "prod"}}}
        pod = {**NODELESS, "metadata": {"name": "p", "namespace": "prod"}}
        folder = write(p=mutating("m", label, matchConstraints=production), alone=[pod], known=[pod, namespace])
        for name, labels in (("alone", {}), ("known", {"labels": {"tier": "prod"}})):
            done = draguard("mutate", "--policies", folder / "p.yaml", folder / f"{name}.yaml")
            assert dump([{**pod, "metadata": {**pod["metadata"], **labels}}]) in done.out, name

    @pytest.mark.parametrize(
        "mutation",
        [
            "Object{metadata: Object.metadata{labels: {'a': object.spec.absent}}}",
            "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'kubernetes.io/hostname': 'other'}}]",
        ],
        ids=["an error", "a contradiction"],
    )
    def test_an_object_whose_change_fails_stays_as_it_is(self, mutation: str, write: Callable[..., Path]) -> None:
        folder = write(p=mutating("m", mutation), pod=[NODELESS, POD])
        done = draguard("mutate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert done.code == 1
        assert done.out.endswith((folder / "pod.yaml").read_text(encoding="utf-8").rpartition("---\n")[2])
        assert f"{folder}/pod.yaml:" in done.err

    def test_an_ignored_failure_of_a_policy_is_reported(self, write: Callable[..., Path]) -> None:
        ignoring = mutating("m", "Object{spec: Object.spec{nodeName: object.spec.absent}}", failurePolicy="Ignore")
        folder = write(p=ignoring, pod=[NODELESS])
        done = draguard("mutate", "--policies", folder / "p.yaml", folder / "pod.yaml")
        assert (done.code, done.out) == (0, dump([NODELESS]))
        assert "note policy-error: " in done.err


LACKING = [
    policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=[{"expression": "params != null"}]),
    binding(paramRef={"name": "limits", "namespace": "team", "parameterNotFoundAction": "Deny"}),
]


class TestMissingParameters:
    def test_what_was_looked_for_is_named(self, write: Callable[..., Path]) -> None:
        folder = write(policies__p=LACKING, policies__c=[CONFIG], pod=[NODELESS])
        (finding,) = findings("validate", "--policies", folder / "policies", folder / "pod.yaml")
        assert finding["rule"] == "policy-error"
        assert finding["hint"] == (
            'add to what --policies names: the ConfigMap "limits" (v1) in the namespace "team"; '
            'there is one in "default"'
        )

    def test_a_kind_that_is_not_known_is_named(self, write: Callable[..., Path]) -> None:
        quota = {"apiVersion": "example.com/v1", "kind": "Quota"}
        folder = write(policies__p=[with_spec(LACKING[0], paramKind=quota), LACKING[1]], pod=[NODELESS])
        (finding,) = findings("validate", "--policies", folder / "policies", folder / "pod.yaml")
        assert finding["hint"] == (
            "add to what --policies names: the CustomResourceDefinition of Quota (example.com/v1), or such an object"
        )

    def test_a_suite_says_it_too(self, write: Callable[..., Path]) -> None:
        case = {"name": "a", "object": NODELESS, "expect": {"allowed": True}}
        folder = write(p=LACKING, tests=[{"cases": [case]}])
        finding = findings("policy", "test", folder)[0]
        assert finding["message"].endswith('(add to its context: the ConfigMap "limits" (v1) in the namespace "team")')


INLINE = "expression: object.metadata.name == nope + 1"


class TestCheck:
    def test_findings_are_in_the_order_of_files_and_lines(self, write: Callable[..., Path]) -> None:
        unused = [{"name": "a", "expression": "1"}]
        wrong = policy("wrong", matchConditions=[{"name": "x", "expression": "object."}])
        folder = write(
            b=[policy(variables=unused, validations=[{"expression": "true"}]), wrong],
            a=[policy("other", variables=unused, validations=[{"expression": "true"}])],
        )
        found = findings("policy", "check", folder / "b.yaml", folder / "a.yaml")
        places = [(each["file"].endswith("a.yaml"), each["line"]) for each in found]
        assert places == sorted(places)
        assert len(set(places)) > 5

    @pytest.mark.parametrize(
        ("written", "pointed_at"),
        [
            (INLINE, "nope + 1"),
            ("expression: >-\n      object.metadata\n\n      .name == nope", "nope"),
            ("expression: |  # why\n\n      object.metadata.name ==\n        nope", "nope"),
            ("expression: object.\n      metadata.name ==\n      nope", "nope"),
            (r"""'expression' : "object.metadata.name\n ==\t\"\u00e9\\n\" + nope + 1" """, 'nope + 1" '),
            (r"""expression: "object.metadata.name == \"\x41\U0001F600\" + nope" """, 'nope" '),
            ('expression: "object.metadata.name == \\\n      nope"', 'nope"'),
            ("expression: 'object.metadata.name == ''a'' + nope'", "nope'"),
            ("expression: # why\n      !!str &a object.metadata.name == nope", "nope"),
            (f"{{{INLINE}, message: bad}}", "nope + 1, message: bad}"),
            ("expression: object..metadata", ".metadata"),
            ("expression: object.metadata.name ==", ""),
            ("expression: 1 + 1", "1 + 1"),
            ("expression: 'true'\n    messageExpression: '''a'' + nope'", "nope'"),
            ("message: &a nope + 1\n    expression: *a", "expression: *a"),
            ("expression:", "expression:"),
        ],
    )
    def test_a_finding_points_into_the_expression(
        self, write: Callable[..., Path], written: str, pointed_at: str
    ) -> None:
        before = 'expression: |\n      object.metadata.name != "bad"\n    message: bad name'
        manifest = LIMITED.replace(before, written)
        first = next(each for each in findings("policy", "check", write(p=manifest)) if each["level"] == "error")
        assert manifest.splitlines()[first["line"] - 1][first["column"] - 1 :] == pointed_at

    @pytest.mark.parametrize("patch", ["{op: 'add', valu: 1}", "{op: 1}"])
    def test_a_finding_points_to_the_field_of_a_literal(self, patch: str, write: Callable[..., Path]) -> None:
        folder = write(p=mutating("m", f"[JSONPatch{patch}]"))
        _, shown, caret, *_ = draguard("policy", "check", folder).out.splitlines()
        assert shown[caret.index("^") :].startswith(("valu: ", "op: 1"))

    def test_what_was_not_looked_for_is_named(self, write: Callable[..., Path]) -> None:
        done = draguard("policy", "check", write(p=LIMITED.replace("spec:", "spec:\n  surplus: 1", 1)))
        assert "note: warnings are not checked for 1 object with errors\n" in done.out
        assert "not checked for" not in draguard("policy", "check", write(p=mutating("m", "[JSONPatch{}]"))).out

    def test_policies_that_were_not_tried_are_named(
        self, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("webhook.engine.trial._WORK_OF_ALL", -1)
        patch = "[JSONPatch{op: 'remove', path: '/spec/priority'}]"
        folder = write(p=[each for name in "abcdefg" for each in mutating(name, patch)])
        named = "note: not tried on small objects, as other policies took too much work: a, b, c, d, e and 2 more\n"
        assert named in draguard("policy", "check", folder).out

    def test_a_condition_is_stripped_before_it_is_compiled(self, write: Callable[..., Path]) -> None:
        condition = r'[{name: a, expression: "\n  object.metadata.name == nope"}]'
        folder = write(p=LIMITED.replace("  validations:", f"  matchConditions: {condition}\n  validations:"))
        (finding,) = findings("policy", "check", folder)
        assert (finding["line"], finding["column"]) == (8, 72)

    def test_json_has_places_too(self, write: Callable[..., Path]) -> None:
        folder = write()
        broken = policy("p", validations=[{"expression": 'object.metadata.name == "\U0001f600" + nope'}])
        (folder / "p.json").write_text(json.dumps(broken, indent=1), encoding="utf-8")
        finding, shown, caret, *_ = draguard("policy", "check", folder).out.splitlines()
        assert "undeclared reference to 'nope'" in finding
        assert shown[caret.index("^") :].startswith("nope")

    @pytest.mark.parametrize(
        ("old", "new", "hint"),
        [
            ('object.metadata.name != "bad"', 'objekt.metadata.name != "bad"', 'did you mean "object"?'),
            ('object.metadata.name != "bad"', 'object.metadata.name.contain("bad")', 'did you mean "contains"?'),
            ('object.metadata.name != "bad"', "object.metadata.nam == ''", 'did you mean "name"?'),
            ('object.metadata.name != "bad"', "object.spec.container.size() > 0", 'did you mean "containers"?'),
            ('object.metadata.name != "bad"', "object.spec.containers.all(c, c.nam != '')", 'did you mean "name"?'),
            ('object.metadata.name != "bad"', "zzz", ""),
            ('object.metadata.name != "bad"', "object.", ""),
            ('object.metadata.name != "bad"', "1 + '2' == '3'", "both sides must be of one type: "),
            ('object.metadata.name != "bad"', "object.metadata.name", "it must say true or false: "),
            ("message: bad name", "messageExpression: 1 + 1", "string(…) makes a text"),
            (
                "dyn(object.spec.containers) != null",
                "!has(object.spec)",
                "quote the expression: YAML takes a leading ! for a tag",
            ),
            ("resources: [pods]", "resources: [Pod]", 'did you mean "pods"?'),
            ("resources: [pods]", "resources: [jobs]", 'jobs are in the API group "batch"'),
            ("resources: [pods]", "resources: [qqq]", ""),
            ('apiGroups: [""]', "apiGroups: [v1]", 'that is a version; the core group is ""'),
            ('apiGroups: [""]', "apiGroups: [app]", 'did you mean "apps"?'),
            ('apiGroups: [""]', "apiGroups: [core]", 'write ""'),
            ('apiGroups: [""]', "apiGroups: [qqq]", ""),
            ("resources: [pods]", "resources: [pods/exe]", 'did you mean "exec"?'),
            ("apiVersions: [v1]", "apiVersions: [v2]", "it serves v1"),
            ("policyName: limited", "policyName: limit", 'did you mean "limited"?'),
            ("policyName: limited", "policyName: other", ""),
            ("validationActions: [Deny]", "validationActions: [deny]", 'did you mean "Deny"?'),
            ("operations: [CREATE, UPDATE]", "operations: [Create]", 'did you mean "CREATE"?'),
            ("metadata: {name: limited}", "metadata: {name: Few_Pods}", 'did you mean "few-pods"?'),
            ("PolicyBinding", "PolicyBnding", 'did you mean "ValidatingAdmissionPolicyBinding"?'),
            (
                "  validations:",
                "  paramKind: {apiVersion: v1, kind: Configmap}\n  validations:",
                'did you mean "ConfigMap"?',
            ),
            ("  validations:", "  paramKind: {apiVersion: v1, kind: Qqq}\n  validations:", ""),
            ("  validations:", "  paramKind: {apiVersion: v2, kind: Secret}\n  validations:", "it serves v1"),
        ],
    )
    def test_a_finding_comes_with_what_was_meant(
        self, write: Callable[..., Path], old: str, new: str, hint: str
    ) -> None:
        found = findings("policy", "check", write(p=LIMITED.replace(old, new)))
        assert [each["hint"] for each in found if each["hint"].startswith(hint) and bool(each["hint"]) == bool(hint)]

    def test_a_binding_may_mean_a_policy_with_errors(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED.replace("policyName: limited", "policyName: limit").replace("object.", "objekt."))
        assert 'did you mean "limited"?' in [each["hint"] for each in findings("policy", "check", folder)]

    def test_an_expression_that_fails_by_a_wrong_variable_is_not_found_itself(self, write: Callable[..., Path]) -> None:
        variables = [{"name": "n", "expression": "object.spec.nodename"}]
        folder = write(p=[policy("p", variables=variables, validations=[{"expression": "variables.n == ''"}])])
        found = [(each["rule"], each["field"]) for each in findings("policy", "check", folder)]
        assert ("type-check", "spec.variables[0].expression") in found
        assert "fails-on-valid" not in dict(found)

    def test_a_policy_may_be_bound_as_one_of_the_other_kind(self, write: Callable[..., Path]) -> None:
        folder = write(p=[policy("m", validations=[{"expression": "has(object.spec)"}]), mutating("m", "Object{}")[1]])
        hints = [each["hint"] for each in findings("policy", "check", folder)]
        assert "it is a ValidatingAdmissionPolicy: bind it by a ValidatingAdmissionPolicyBinding" in hints

    def test_brackets_around_a_patch_are_missed(self, write: Callable[..., Path]) -> None:
        patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": "JSONPatch{op: 'remove', path: '/spec'}"}}
        folder = write(p=[with_spec(mutating("m", "Object{}")[0], mutations=[patch])])
        assert findings("policy", "check", folder)[0]["hint"] == "put it in brackets: […]"

    def test_what_cannot_be_read_is_not_said_to_be_missing(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED.replace("message: bad name", "message: bad: name"))
        assert [each["rule"] for each in findings("policy", "check", folder)] == ["unreadable"]

    def test_a_field_that_there_is_not_comes_with_what_was_meant(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED.replace("matchConstraints", "matchConstraint"))
        assert 'help: did you mean "matchConstraints"?' in draguard("policy", "check", folder).out.splitlines()

    def test_policies_that_are_fine_pass(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED, tests=SUITE, c=[CONFIG])
        done = process("policy", "check", folder)
        assert (done.code, done.err) == (0, "")
        assert done.out == "3 documents in 2 files: no problems; 1 skipped (kinds not judged: 1 ConfigMap)\n"

    def test_what_does_not_compile_is_an_error_at_its_line(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED.replace('!= "bad"', "!= 3.0 + 1"))
        done = process("policy", "check", folder)
        assert (done.code, done.err) == (1, "")
        assert f"{folder}/p.yaml:10:35: error " in done.out
        assert "found no matching overload for '_+_' applied to '(double, int)'" in done.out

    def test_what_cannot_work_is_a_warning(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED.replace("dyn(object.spec.containers) != null", "1 < 2"))
        assert [(each["level"], each["rule"]) for each in findings("policy", "check", folder)] == [
            ("warning", "never-refuses")
        ]
        assert draguard("policy", "check", folder).code == 0
        assert draguard("policy", "check", "--strict", folder).code == 1

    def test_it_is_checked_for_a_release(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED)
        found = findings("policy", "check", "--kubernetes-version", "1.29", folder)
        assert [each["rule"] for each in found] == ["not-served", "not-served"]

    def test_costs_are_reported(self, write: Callable[..., Path]) -> None:
        folder = write(
            p=LIMITED.replace(
                "dyn(object.spec.containers) != null",
                "object.spec.containers.all(c, c.name != '')",
            )
        )
        lines = draguard("policy", "check", "--costs", folder).out.splitlines()
        assert lines[0].startswith(f"{folder}/p.yaml:10: spec.validations[0].expression of limited costs at least ")
        costs = json.loads(draguard("policy", "check", "--output", "json", folder).out)["costs"]
        assert [(each["policy"], each["line"], each["unbounded"]) for each in costs] == [
            ("limited", 10, False),
            ("limited", 12, True),
        ]

    def test_unreadable_files_are_findings(self, write: Callable[..., Path]) -> None:
        folder = write(p=LIMITED, q="apiVersion: [")
        assert draguard("policy", "check", folder).code == 1
        assert draguard("policy", "check", folder / "gone").code == 2

    def test_a_place_without_policies_is_wrong_use(self, write: Callable[..., Path]) -> None:
        done = draguard("policy", "check", write(c=[CONFIG]))
        assert (done.code, done.out) == (2, "")
        assert "draguard policy check: error: no policies found in " in done.err

    def test_an_action_is_needed(self) -> None:
        done = draguard("policy")
        assert (done.code, done.out) == (2, "")
        assert (
            "error: the following arguments are required: ACTION (choose from check, test, new, generate)\n" in done.err
        )


class TestTest:
    def test_suites_that_pass_and_see_everything_pass(self, write: Callable[..., Path]) -> None:
        done = process("policy", "test", "--strict", write(a__policy=LIMITED, a__tests=WHOLE))
        assert done == (0, "3 cases in 1 suite: 3 passed; 2 of 2 expressions covered\n", "")

    def test_nothing_is_tested_if_the_api_server_refuses_a_policy(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED.replace("containers)", "containers"), tests=WHOLE)
        done = process("policy", "test", folder)
        assert (done.code, "error validating-expressions" in done.out, "error case" in done.out) == (1, True, False)
        assert f"note: not run: {folder}/tests.yaml, as the API server refuses what it tests\n" in done.out

    def test_what_fails_is_shown_where_it_was_expected(self, write: Callable[..., Path]) -> None:
        folder, where = write(policy=LIMITED, tests=WHOLE.replace("bad name", "worse")), "cases[1].expect.message"
        done = process("policy", "test", folder)
        assert (done.code, done.err) == (1, "")
        assert done.out.splitlines() == [
            f'{folder}/tests.yaml:14:28: error case: {where}: a bad one: message: expected "worse", got "bad name"',
            "14 |   expect: {allowed: false, message: worse}",
            "   |                            ^^^^^^^",
            "",
            "3 cases in 1 suite: 2 passed, 1 failed; 2 of 2 expressions covered",
        ]

    def test_what_no_case_has_seen_is_listed(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED, tests=SUITE)
        (found,) = findings("policy", "test", folder)
        assert (found["level"], found["rule"], found["file"]) == ("warning", "not-covered", f"{folder}/policy.yaml")
        assert (found["line"], found["message"]) == (12, "this is false in no case")
        assert draguard("policy", "test", folder).code == 0
        assert draguard("policy", "test", "--strict", folder).code == 1

    def test_suites_of_a_directory_cover_together(self, write: Callable[..., Path]) -> None:
        more = "cases: [{object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}, expect: {allowed: false}}]"
        folder = write(policy=LIMITED, tests=SUITE, more=more)
        assert findings("policy", "test", folder) == []
        assert len(findings("policy", "test", folder / "more.yaml")) == 2

    def test_a_suite_tests_what_stands_in_its_own_directory(self, write: Callable[..., Path]) -> None:
        folder = write(a__policy=LIMITED, a__tests=WHOLE, b__policy=LIMITED.replace("bad", "worse"), b__tests=SUITE)
        found = findings("policy", "test", folder)
        assert {each["file"] for each in found} == {f"{folder}/b/policy.yaml", f"{folder}/b/tests.yaml"}

    @pytest.mark.parametrize("name", ["policy.yaml", "tests.yaml", ".", "*.yaml"])
    def test_policies_or_suites_may_be_named(self, name: str, write: Callable[..., Path]) -> None:
        done = draguard("policy", "test", write(policy=LIMITED, tests=WHOLE) / name)
        assert done.out.startswith("3 cases in 1 suite: 3 passed")

    def test_standard_input_holds_both(self) -> None:
        done = draguard("policy", "test", "-", stdin=f"{LIMITED}---\n{WHOLE}".encode())
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("3 cases in 1 suite: 3 passed")

    def test_a_file_without_directory_stands_in_the_current_one(
        self, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(write(policy=LIMITED, tests=WHOLE))
        assert draguard("policy", "test", "tests.yaml").out.startswith("3 cases in 1 suite: 3 passed")

    def test_a_policy_without_a_suite_is_reported(self, write: Callable[..., Path]) -> None:
        found = findings("policy", "test", write(policy=LIMITED))
        assert [(each["level"], each["rule"], each["line"]) for each in found] == [("warning", "not-tested", 1)]

    def test_the_release_is_the_suites_or_a_given_one(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED, tests=f'kubernetes: "1.31"\n{WHOLE}')

        def releases(*options: str) -> list[str]:
            done = draguard("policy", "test", "--output", "json", *options, folder)
            return [each["kubernetes"] for each in json.loads(done.out)["suites"]]

        assert (releases(), releases("--kubernetes-version", "1.33")) == (["1.31"], ["1.33"])

    def test_policies_of_a_suites_own_context_are_found_in_the_suite(self, write: Callable[..., Path]) -> None:
        context = json.dumps([policy(validations=[{"expression": "object."}])])
        folder = write(tests=f"context: {context}\n{SUITE}", policy=LIMITED)
        found = [each for each in findings("policy", "test", folder) if each["rule"] not in {"case", "not-covered"}]
        assert {each["file"] for each in found} == {f"{folder}/tests.yaml"}

    @pytest.mark.parametrize(
        ("suite", "complaint"),
        [
            ("cases: []", "cases: the list is empty: write a case"),
            ("cases: 3", "cases: a suite has a list of cases"),
            ("cases: [{}]\ncase: 1", "case: unknown field 'case'; did you mean 'cases'?"),
            ('cases: [{}]\nkubernetes: "1.2"', "kubernetes: Kubernetes 1.2 is not known here"),
            ("cases: [3]", "error case: cases[0]: must be a map with name"),
            (
                "cases: [{name: x, objct: 1}]",
                "error case: cases[0].objct: x: unknown field 'objct'; did you mean 'object'?",
            ),
        ],
    )
    def test_a_malformed_suite_is_an_error_with_the_reason(
        self, suite: str, complaint: str, write: Callable[..., Path]
    ) -> None:
        done = draguard("policy", "test", write(policy=LIMITED, tests=suite))
        assert done.code == 1
        assert complaint in done.out

    def test_a_place_without_suites_is_wrong_use(self, write: Callable[..., Path]) -> None:
        done = draguard("policy", "test", write(c=[CONFIG]))
        assert (done.code, done.out) == (2, "")
        assert "draguard policy test: error: no suites found in " in done.err

    def test_unreadable_files_are_reported_once(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED, tests=WHOLE, cut="a: [")
        assert [each["rule"] for each in findings("policy", "test", folder)] == ["unreadable"]

    def test_json_has_suites_coverage_findings_and_a_summary(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED, tests=SUITE)
        result = json.loads(draguard("policy", "test", "--output", "json", folder).out)
        assert [case["name"] for case in result["suites"][0]["cases"]] == ["a good name", "a bad one"]
        assert result["suites"][0]["cases"][1] == {
            "name": "a bad one",
            "file": f"{folder}/tests.yaml",
            "line": 11,
            "passed": True,
            "failures": [],
        }
        assert result["coverage"][1] == {
            "kind": "ValidatingAdmissionPolicy",
            "policy": "limited",
            "field": "spec.validations[1].expression",
            "file": f"{folder}/policy.yaml",
            "line": 12,
            "missing": ["false"],
        }
        assert result["summary"] == {
            "suites": 1,
            "cases": 2,
            "failed": 0,
            "expressions": 2,
            "covered": 1,
            "errors": 0,
            "warnings": 1,
            "suppressed": 0,
        }

    def test_a_directory_in_two_spellings_is_one(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED, tests=SUITE)
        around = f"{folder}/../{folder.name}"
        for paths in ([f"{folder}/policy.yaml", f"{around}/tests.yaml"], [f"{around}/tests.yaml", folder]):
            done = draguard("policy", "test", *paths)
            assert "2 cases in 1 suite: 2 passed" in done.out
            assert done.out.count("warning not-covered") == draguard("policy", "test", folder).out.count("not-covered")

    def test_junit_has_cases_coverage_and_what_is_wrong(self, write: Callable[..., Path]) -> None:
        suite = SUITE.replace("a bad one", '"<&\\"\\u0007>"').replace("message: bad name", "message: worse")
        folder = write(policy=LIMITED, tests=suite, more="cases: []")
        done = draguard("policy", "test", "--output", "junit", folder)
        suites = {each.get("name"): each for each in ET.fromstring(done.out)}  # noqa: S314 - our own output
        _, failed = suites[f"{folder}/tests.yaml"]
        assert (failed.get("name"), failed.get("line")) == ('<&"\\x07>', "11")
        assert failed[0].get("message") == 'message: expected "worse", got "bad name"'
        assert suites[f"{folder}/tests.yaml"].get("failures") == "1"
        assert [len(each) for each in suites["coverage"]] == [0, 1]
        assert suites["coverage"].get("skipped") == "1"
        assert suites["policies"].get("errors") == "1"
        strict = ET.fromstring(draguard("policy", "test", "--strict", "--output", "junit", folder).out)  # noqa: S314 - as above
        assert next(each for each in strict if each.get("name") == "coverage").get("failures") == "1"


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "policies").iterdir() if path.is_dir()))
class TestLibrary:
    def test_every_policy_is_sound_and_tested_to_the_last_expression(self, folder: str) -> None:
        assert draguard("policy", "check", "--strict", ROOT / "policies" / folder).code == 0
        assert draguard("policy", "test", "--strict", ROOT / "policies" / folder).code == 0


def test_the_documentation_does_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
    policies, suite, rules = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    for name, content in {"policy": policies, "tests": suite, "rules": rules}.items():
        (tmp_path / f"{name}.yaml").write_text(content, encoding="utf-8")
    assert draguard("policy", "test", "--strict", tmp_path / "tests.yaml").code == 0
    options: list[str | Path] = ["--policies", tmp_path / "policy.yaml", "--authorizer", tmp_path / "rules.yaml"]
    done = draguard("validate", *options, tmp_path / "policy.yaml")
    assert (done.code, done.err) == (0, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["cases", "object", "expect", "allowed", "kind", "metadata", "name", "spec", "patch", "context"]
            ),
            children,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suite=st.fixed_dictionaries(
        {"cases": st.lists(JSON, max_size=3) | JSON}, optional={"objects": JSON, "context": JSON}
    ),
    obj=st.fixed_dictionaries(
        {"apiVersion": st.sampled_from(["v1", "apps/v1"]), "kind": st.just("Pod")},
        optional={"metadata": JSON, "spec": JSON},
    ),
    policies=st.sampled_from([LIMITED, dump(mutating("m", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"))]),
)
def test_nothing_makes_a_command_raise(suite: Any, obj: Any, policies: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(policies, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(json.dumps(suite), encoding="utf-8")
    (tmp_path / "object.json").write_text(json.dumps(obj), encoding="utf-8")
    commands: tuple[list[str | Path], ...] = (
        ["policy", "test"],
        ["policy", "check"],
        ["validate", "--policies", tmp_path],
        ["mutate", "--policies", tmp_path],
    )
    for command in commands:
        assert draguard(*command, tmp_path).code in {0, 1, 2}


BROKEN = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: broken}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  variables: [{name: one, expression: "1"}]
  validations:
  - {expression: "foo && bar == 3"}
  - {expression: "object.spec.nodeNam == 'x'"}
"""


class TestBehindAnError:
    def test_all_errors_of_an_expression_and_the_warnings_of_others_are_shown(self, write: Callable[..., Path]) -> None:
        done = draguard("policy", "check", write(broken=BROKEN)).out
        first = "undeclared reference to 'foo' (in container ''); undeclared reference to 'bar' (in container '')"
        assert first in done
        assert [each["rule"] for each in findings("policy", "check", write(broken=BROKEN))] == [
            "unused-variable",
            "validating-expressions",
            "type-check",
        ]
        assert "not checked for" not in done

    def test_nothing_is_concluded_from_a_variable_that_is_wrong(self, write: Callable[..., Path]) -> None:
        done = draguard("policy", "check", write(broken=BROKEN.replace('"1"', '"1 +"'))).out
        assert "type-check" not in done
        assert "note: warnings are not checked for 1 object with errors" in done

    def test_what_is_validated_once_it_is_decoded_is_reported_at_once(self, write: Callable[..., Path]) -> None:
        found = findings(
            "policy", "check", write(broken=BROKEN.replace("spec:", "spec:\n  failurePolicy: No\n  x: 1", 1))
        )
        hints = {each["field"]: each["hint"] for each in found}
        assert "spec.x" in hints
        assert hints["spec.validations[0].expression"] == "the API server reports this once it can decode the object"


class TestRepositories:
    """Directories with more than policies: templates of charts, values, lists."""

    @pytest.fixture
    def repository(self, write: Callable[..., Path]) -> Path:
        folder = write(p=LIMITED, values="a: 1", listed="[1, 2]")
        (folder / "chart/templates").mkdir(parents=True)
        (folder / "chart/Chart.yaml").write_text("{apiVersion: v2, name: a, version: 1.0.0}", encoding="utf-8")
        (folder / "chart/templates/a.yaml").write_text("kind: {{ .Values.a }}", encoding="utf-8")
        return folder

    def test_templates_are_counted_and_other_values_are_skipped(self, repository: Path) -> None:
        assert findings("policy", "check", repository) == findings("policy", "check", repository / "p.yaml")
        told = "not read: 1 Helm template (name its chart to render it)"
        assert told in draguard("policy", "check", repository).out

    def test_pods_and_workloads_beside_policies_are_skipped(self, write: Callable[..., Path]) -> None:
        claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**NODELESS["spec"], **claims}}
        template = {"template": {"spec": pod["spec"]}}
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": template}
        done = draguard("policy", "check", write(p=LIMITED, others=[pod, deployment]))
        assert done.code == 0
        assert "2 skipped (kinds not judged: 1 Deployment of apps/v1, 1 Pod)" in done.out

    def test_a_misspelt_field_has_no_second_finding_about_what_fails(self, write: Callable[..., Path]) -> None:
        folder = write(p=[policy(validations=[{"expression": "object.spce.a == 1"}]), binding()])
        assert [each["rule"] for each in findings("policy", "check", folder)] == ["type-check"]

    def test_without_a_path_the_current_directory_is_read(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = len(findings("policy", "check", repository))
        monkeypatch.chdir(repository)
        assert len(findings("policy", "check")) == expected

    def test_they_are_no_errors_of_tests_either(self, repository: Path) -> None:
        found = findings("policy", "test", repository)
        assert {each["rule"] for each in found} == {"not-tested"}
