"""``draguard policy check``."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.manifests import Write
from tests.cli.policy.manifests import CONFIG, LIMITED, NODELESS, SUITE, Found, refusing
from tests.command import draguard, findings, reported, usage_error
from tests.policy.examples import mutating, of, policy
from tests.policy.examples import spec as with_spec
from tests.rows import each_row

VARIABLE = {"name": "n", "expression": "object.metadata.annotations.n"}
INLINE = "expression: object.metadata.name == nope + 1"


class TestCheck:
    def test_findings_are_in_the_order_of_files_and_lines(self, write: Write) -> None:
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

    @each_row(
        ("written", "pointed_at"),
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
    )
    def test_a_finding_points_into_the_expression(self, checked: Found, written: str, pointed_at: str) -> None:
        before = 'expression: |\n      object.metadata.name != "bad"\n    message: bad name'
        manifest = LIMITED.replace(before, written)
        first = next(each for each in checked(manifest) if each["level"] == "error")
        assert manifest.splitlines()[first["line"] - 1][first["column"] - 1 :] == pointed_at

    @each_row("patch", "{op: 'add', valu: 1}", "{op: 1}")
    def test_a_finding_points_to_the_field_of_a_literal(self, patch: str, write: Write) -> None:
        folder = write(p=mutating("m", f"[JSONPatch{patch}]"))
        _, shown, caret, *_ = draguard("policy", "check", folder).out.splitlines()
        assert shown[caret.index("^") :].startswith(("valu: ", "op: 1"))

    @each_row(
        ("change", "more", "pointed_at"),
        ("[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'b'}]", {}, "'/metadata/labels/a'"),
        ("Object{metadata: Object.metadata{labels: {'a': variables.n}}}", {"variables": [VARIABLE]}, "variables.n"),
    )
    def test_a_finding_points_to_what_fails(
        self, change: str, more: dict[str, Any], pointed_at: str, write: Write
    ) -> None:
        folder = write(p=mutating("m", change, **more))
        found = next(each for each in findings("policy", "check", folder) if each["rule"] == "fails-on-valid")
        line = Path(found["file"]).read_text().splitlines()[found["line"] - 1]
        assert line[found["column"] - 1 :].startswith(pointed_at)

    def test_what_was_not_looked_for_is_named(self, write: Write) -> None:
        done = draguard("policy", "check", write(p=LIMITED.replace("spec:", "spec:\n  surplus: 1", 1)))
        assert "note: warnings are not checked for 1 object with errors\n" in done.out
        assert "not checked for" not in draguard("policy", "check", write(p=mutating("m", "[JSONPatch{}]"))).out

    def test_policies_that_were_not_tried_are_named(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.engine.trial._WORK_OF_ALL", -1)
        patch = "[JSONPatch{op: 'remove', path: '/spec/priority'}]"
        folder = write(p=[each for name in "abcdefg" for each in mutating(name, patch)])
        named = "note: not tried on small objects, as other policies took too much work: a, b, c, d, e, and 2 more\n"
        assert named in draguard("policy", "check", folder).out

    def test_a_condition_is_stripped_before_it_is_compiled(self, checked: Found) -> None:
        condition = r'[{name: a, expression: "\n  object.metadata.name == nope"}]'
        (finding,) = checked(LIMITED.replace("  validations:", f"  matchConditions: {condition}\n  validations:"))
        assert (finding["line"], finding["column"]) == (8, 72)

    def test_json_has_places_too(self, write: Write) -> None:
        folder = write()
        broken = policy("p", validations=[{"expression": 'object.metadata.name == "\U0001f600" + nope'}])
        (folder / "p.json").write_text(json.dumps(broken, indent=1), encoding="utf-8")
        finding, shown, caret, *_ = draguard("policy", "check", folder).out.splitlines()
        assert "undeclared reference to 'nope'" in finding
        assert shown[caret.index("^") :].startswith("nope")

    @each_row(
        ("expression", "hint"),
        ('objekt.metadata.name != "bad"', 'did you mean "object"?'),
        ('object.metadata.name.contain("bad")', 'did you mean "contains"?'),
        ("object.metadata.nam == ''", 'did you mean "name"?'),
        ("exists(object.spec.containers, c, c.name == '')", "it is called on a value: VALUE.exists"),
        ("startsWith(object.metadata.name, 'a')", "it is called on a value: VALUE.startsWith"),
        ("object.spec.has(nodeName)", "it is not called on a value: has(…)"),
        ("object.spec.container.size() > 0", 'did you mean "containers"?'),
        ("object.spec.containers.all(c, c.nam != '')", 'did you mean "name"?'),
        ("object.metadata.labels.app.kubernetes.io/name == 'a'", "put the key in brackets and quotes: labels['app.k"),
        ("namespace.metadata.name == 'a'", "namespaceObject is the Namespace"),
        ("// no a (object.metadata.name != 'a' ||\n      true)", "// begins a comment up to the end of the line"),
        ("('//' == '==' ", "a parenthesis is not closed"),
        ("object.metadata.creationTimestamp < now()", "expressions know neither the time"),
        ("object.metadata.name.matches('(?!a)')", "write a regular expression in RE2's syntax"),
        ("zzz", ""),
        ("object.", ""),
        ("1 + '2' == '3'", "both sides must be of one type: "),
        ("object.metadata.name", "it must say true or false: "),
    )
    def test_a_wrong_expression_comes_with_what_was_meant(self, checked: Found, expression: str, hint: str) -> None:
        self.finds(hint, checked(LIMITED.replace('object.metadata.name != "bad"', expression)))

    @each_row(
        ("old", "new", "hint"),
        ("message: bad name", "messageExpression: 1 + 1", "string(…) makes a string"),
        ("dyn(object.spec.containers) != null", "!has(object.spec)", "quote the expression: YAML takes a leading"),
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
        ("matchConstraints", "matchConstraint", 'did you mean "matchConstraints"?'),
        ("  val", "  paramKind: {apiVersion: v1, kind: Configmap}\n  val", 'did you mean "ConfigMap"?'),
        ("  val", "  paramKind: {apiVersion: v1, kind: Qqq}\n  val", ""),
        ("  val", "  paramKind: {apiVersion: v2, kind: Secret}\n  val", "it serves v1"),
    )
    def test_a_finding_comes_with_what_was_meant(self, checked: Found, old: str, new: str, hint: str) -> None:
        self.finds(hint, checked(LIMITED.replace(old, new)))

    @staticmethod
    def finds(hint: str, found: list[dict[str, Any]]) -> None:
        assert [each["hint"] for each in found if each["hint"].startswith(hint) and bool(each["hint"]) == bool(hint)]

    def test_a_binding_may_mean_a_policy_with_errors_or_of_the_other_kind(self, checked: Found) -> None:
        wrong = LIMITED.replace("policyName: limited", "policyName: limit").replace("object.", "objekt.")
        self.finds('did you mean "limited"?', checked(wrong))
        hint = "it is a ValidatingAdmissionPolicy: bind it by a ValidatingAdmissionPolicyBinding"
        self.finds(hint, checked([refusing("has(object.spec)")[0], mutating("p", "Object{}")[1]]))

    @each_row(
        ("stated", "rules"),
        ("resource.k8s.io/v1beta1=true", ["unchangeable-version"]),
        ("resource.k8s.io/v1beta1=false", ["unserved-version"]),
    )
    def test_versions_are_those_that_the_cluster_serves(self, checked: Found, stated: str, rules: list[str]) -> None:
        claims = {"apiGroups": ["resource.k8s.io"], "operations": ["CREATE"], "resources": ["resourceclaims"]}
        old, new = ({"resourceRules": [claims | {"apiVersions": [version]}]} for version in ("v1beta1", "v1"))
        change = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
        policies = [*refusing("has(object.spec)", matchConstraints=old), *mutating("m", change, matchConstraints=new)]
        found = checked(policies, "--kubernetes-version", "1.36", "--runtime-config", stated)
        assert [each["rule"] for each in found if each["rule"].endswith("-version")] == rules

    def test_an_expression_that_fails_by_a_wrong_variable_is_not_found_itself(self, checked: Found) -> None:
        found = checked(refusing("variables.n == ''", variables=[{"name": "n", "expression": "object.spec.nodename"}]))
        fields = {each["rule"]: each["field"] for each in found}
        assert fields["mistyped"] == "spec.variables[0].expression"
        assert "fails-on-valid" not in fields

    @each_row(
        ("patch", "hint"),
        ("JSONPatch{op: 'remove', path: '/spec'}", "put it in brackets: […]"),
        ("[{'op': 'remove', 'path': '/spec'}]", "write JSONPatch{…} in place of a map, and its fields without quotes"),
        ("[{'op': 'add', 'path': '/spec', 'value': {}}]", "the values of a map are of one type, "),
    )
    def test_the_form_of_a_patch_is_named(self, checked: Found, patch: str, hint: str) -> None:
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
        (found, *_) = checked([with_spec(mutating("m", "Object{}")[0], mutations=[mutation])])
        assert found["hint"].startswith(hint)

    def test_sound_policies_pass(self, write: Write) -> None:
        summary = "3 documents in 2 files: no problems (Kubernetes 1.37); 1 skipped (of other kinds: 1 ConfigMap)\n"
        assert draguard("policy", "check", write(p=LIMITED, tests=SUITE, c=[CONFIG])) == (0, summary, "")

    def test_what_cannot_work_is_a_warning(self, checked: Found, tmp_path: Path) -> None:
        found = checked(LIMITED.replace("dyn(object.spec.containers) != null", "1 < 2"))
        assert [(each["level"], each["rule"]) for each in found] == [("warning", "never-refuses")]
        assert draguard("policy", "check", tmp_path).code == 0
        assert draguard("policy", "check", "--strict", tmp_path).code == 1

    @each_row(
        ("policies", "options", "expected"),
        (LIMITED, ["--kubernetes-version", "1.29"], ["not-served", "not-served"]),
        (LIMITED.replace("message: bad name", "message: bad: name"), [], ["unreadable"]),
        (refusing("object.spce.a == 1"), [], ["type-check"]),  # and no second finding about what fails
        (refusing("object.spec.nodeName == null"), [], ["fails-on-valid", "type-check"]),  # a note
    )
    def test_one_fault_is_one_finding(
        self, checked: Found, policies: Any, options: list[str], expected: list[str]
    ) -> None:
        assert [each["rule"] for each in checked(policies, *options)] == expected

    def test_costs_are_reported(self, write: Write) -> None:
        every = "object.spec.containers.all(c, c.name != '')"
        folder = write(p=LIMITED.replace("dyn(object.spec.containers) != null", every))
        first, *_ = draguard("policy", "check", "--costs", folder).out.splitlines()
        assert first.startswith(f"{folder}/p.yaml:10: spec.validations[0].expression of limited costs at least ")
        costs = [
            (each["policy"], each["line"], each["unbounded"]) for each in reported("policy", "check", folder)["costs"]
        ]
        assert costs == [("limited", 10, False), ("limited", 12, True)]

    def test_a_name_with_a_placeholder_is_to_be_filled_in(self, write: Write) -> None:
        folder = write(p=LIMITED.replace("limited}", "'{{ .Release.Name }}'}"))
        done = draguard("policy", "check", str(folder / "p.yaml"))
        assert done.code == 1
        assert "help: fill in the placeholder first, for example with helm template or envsubst" in done.out

    def test_unreadable_files_are_findings(self, write: Write) -> None:
        folder = write(p=LIMITED, q="apiVersion: [")
        assert draguard("policy", "check", folder).code == 1
        assert draguard("policy", "check", folder / "gone").code == 2

    def test_a_place_without_policies_is_wrong_use(self, write: Write) -> None:
        said = usage_error("policy", "check", write(c=[CONFIG]))
        assert "draguard policy check: error: no policies found in " in said

    def test_an_action_is_needed(self) -> None:
        done = draguard("policy")
        needed = "error: the following arguments are required: ACTION (choose from check, test, new, generate)\n"
        assert (done.code, done.out, needed in done.err) == (2, "", True)


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
    def test_all_errors_of_an_expression_and_the_warnings_of_others_are_shown(self, write: Write) -> None:
        folder = write(broken=BROKEN)
        done = draguard("policy", "check", folder).out
        first = "undeclared reference to 'foo' (in container ''); undeclared reference to 'bar' (in container '')"
        assert first in done
        rules = [each["rule"] for each in findings("policy", "check", folder)]
        assert rules == ["unused-variable", "validating-expressions", "type-check"]
        assert "not checked for" not in done

    def test_nothing_is_concluded_from_a_variable_that_is_wrong(self, write: Write) -> None:
        done = draguard("policy", "check", write(broken=BROKEN.replace('"1"', '"1 +"'))).out
        assert "type-check" not in done
        assert "note: warnings are not checked for 1 object with errors" in done

    def test_what_is_validated_once_it_is_decoded_is_reported_at_once(self, checked: Found) -> None:
        found = checked(BROKEN.replace("spec:", "spec:\n  failurePolicy: No\n  x: 1", 1))
        hints = {each["field"]: each["hint"] for each in found}
        assert "spec.x" in hints
        assert hints["spec.validations[0].expression"] == "the API server reports this once it can decode the object"


class TestRepositories:
    """Directories with more than policies: templates of charts, values, lists."""

    @pytest.fixture
    def repository(self, write: Write) -> Path:
        chart = {
            "chart__Chart": "{apiVersion: v2, name: a, version: 1.0.0}",
            "chart__templates__a": "kind: {{ .Values.a }}",
        }
        return write(p=LIMITED, values="a: 1", listed="[1, 2]", **chart)

    def test_templates_are_counted_and_other_values_are_skipped(self, repository: Path) -> None:
        assert findings("policy", "check", repository) == findings("policy", "check", repository / "p.yaml")
        told = "not read: 1 Helm template (name its chart to render it)"
        assert told in draguard("policy", "check", repository).out

    def test_pods_and_workloads_beside_policies_are_skipped(self, write: Write) -> None:
        deployment = of("Deployment", version="apps/v1", spec={"template": {"spec": NODELESS["spec"]}})
        done = draguard("policy", "check", write(p=LIMITED, others=[NODELESS, deployment]))
        assert done.code == 0
        assert "2 skipped (of other kinds: 1 Deployment of apps/v1, 1 Pod)" in done.out

    def test_without_a_path_the_current_directory_is_read(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = len(findings("policy", "check", repository))
        monkeypatch.chdir(repository)
        assert len(findings("policy", "check")) == expected

    def test_templates_are_not_errors_of_policy_test(self, repository: Path) -> None:
        found = findings("policy", "test", repository)
        assert {each["rule"] for each in found} == {"not-tested"}
