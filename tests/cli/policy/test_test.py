"""``draguard policy test``."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.cli.manifests import Write
from tests.cli.policy.manifests import CONFIG, LIMITED, SUITE
from tests.command import ROOT, SCRIPT, draguard, findings, reported, usage_error
from tests.policy.examples import POD, binding, definition, of, policy, rule
from tests.rows import each_row
from tests.schemas import Validator, schema
from webhook.api.versions import DEFAULT

WHOLE = (
    SUITE
    + """\
- name: nothing to run
  object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}
  expect: {allowed: false}
"""
)
CONTEXT = """\
context:
- {apiVersion: v1, kind: Node, metadata: {name: n}}
- apiVersion: v1
  kind: Namespace
  metadata: {name: default, labels: {x: y}}
- other/class.yaml
"""
CASE = """\
cases:
- name: a
  object: {apiVersion: v1, kind: Pod, metadata: {name: a}}
"""
ALLOWED = "  expect: {allowed: true}\n"
PRIORITY = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: a}
value: "7"
"""


class TestTest:
    def test_suites_that_pass_and_see_everything_pass(self, write: Write) -> None:
        done = draguard("policy", "test", "--strict", write(a__policy=LIMITED, a__tests=WHOLE))
        assert done == (0, "3 cases in 1 suite: 3 passed (Kubernetes 1.37); 2 of 2 expressions covered\n", "")

    def test_nothing_is_tested_if_the_api_server_refuses_a_policy(self, write: Write) -> None:
        folder = write(policy=LIMITED.replace("containers)", "containers"), tests=WHOLE)
        done = draguard("policy", "test", folder)
        assert (done.code, "error validating-expressions" in done.out, "error case" in done.out) == (1, True, False)
        assert f"note: not run: {folder}/tests.yaml, as the API server refuses what it tests\n" in done.out

    def test_what_cannot_be_decoded_is_shown_where_it_stands(self, write: Write) -> None:
        folder = write(policy=LIMITED, tests=CONTEXT + SUITE, other__class=PRIORITY)
        found = {each["field"]: each for each in findings("policy", "test", folder)[:2]}
        namespace, priority = found["context[1].metadata.labels[x]"], found["value"]
        assert (namespace["file"], namespace["line"]) == (f"{folder}/tests.yaml", 5)
        assert "json: cannot unmarshal bool into Go struct field ObjectMeta" in namespace["message"]
        assert (priority["file"], priority["line"]) == (f"{folder}/other/class.yaml", 4)

    def test_what_cannot_be_decoded_fails_a_case_that_has_it_as_context(self, write: Write) -> None:
        folder = write(policy=LIMITED, tests=CASE + indent(CONTEXT, "  ") + ALLOWED, other__class=PRIORITY)
        namespace, priority = findings("policy", "test", folder)[:2]
        assert (namespace["field"], namespace["line"]) == ("cases[0].context[1].metadata.labels[x]", 8)
        assert "json: cannot unmarshal bool into Go struct field ObjectMeta" in namespace["message"]
        assert (priority["field"], priority["line"]) == ("cases[0].context[2]", 9)
        assert f"{folder}/other/class.yaml: value: " in priority["message"]

    def test_a_file_that_the_context_of_a_case_makes_unusable_is_named(self, write: Write) -> None:
        version = {"name": "v1", "served": True, "storage": True}
        fields = {"max": {"type": "integer"}}
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": fields}}
        kind = {"apiVersion": "example.com/v1", "kind": "Limit"}
        judging = policy(paramKind=kind, validations=[{"expression": "true"}])
        bound = binding(paramRef={"name": "a", "parameterNotFoundAction": "Deny"})
        context = [definition("Limit", "limits", version)]
        suite = {"cases": [{"name": "a", "object": POD, "context": context, "expect": {"allowed": True}}]}
        given = {"policy": judging, "binding": bound, "limit": of("Limit", "a", "example.com/v1", max="x")}
        folder = write(tests=yaml.dump(suite), **{name: yaml.dump(each) for name, each in given.items()})
        found = findings("policy", "test", folder)[0]
        assert found["field"] == "cases[0].context"
        assert found["message"].startswith(f"a: {folder}/limit.yaml: max: Invalid value")

    def test_what_fails_is_shown_where_it_was_expected(self, write: Write) -> None:
        folder, where = write(policy=LIMITED, tests=WHOLE.replace("bad name", "worse")), "cases[1].expect.message"
        done = draguard("policy", "test", folder)
        assert (done.code, done.err) == (1, "")
        assert done.out.splitlines() == [
            f'{folder}/tests.yaml:14:28: error case: {where}: a bad one: message: expected "worse", got "bad name"',
            "14 |   expect: {allowed: false, message: worse}",
            "   |                            ^^^^^^^",
            "",
            "3 cases in 1 suite: 2 passed, 1 failed (Kubernetes 1.37); 2 of 2 expressions covered",
        ]

    def test_what_no_case_has_seen_is_listed(self, write: Write) -> None:
        folder = write(policy=LIMITED, tests=SUITE)
        (found,) = findings("policy", "test", folder)
        assert (found["level"], found["rule"], found["file"]) == ("warning", "not-covered", f"{folder}/policy.yaml")
        assert (found["line"], found["message"]) == (12, "no case makes this false")
        assert [draguard("policy", "test", *each, folder).code for each in ((), ("--strict",))] == [0, 1]

    def test_suites_of_a_directory_cover_together(self, write: Write) -> None:
        more = "cases: [{object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}, expect: {allowed: false}}]"
        folder = write(policy=LIMITED, tests=SUITE, more=more)
        assert findings("policy", "test", folder) == []
        assert len(findings("policy", "test", folder / "more.yaml")) == 2

    def test_a_suite_tests_what_stands_in_its_own_directory(self, write: Write) -> None:
        folder = write(a__policy=LIMITED, a__tests=WHOLE, b__policy=LIMITED.replace("bad", "worse"), b__tests=SUITE)
        found = findings("policy", "test", folder)
        assert {each["file"] for each in found} == {f"{folder}/b/policy.yaml", f"{folder}/b/tests.yaml"}

    def test_policies_or_suites_may_be_named(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = write(policy=LIMITED, tests=WHOLE)
        monkeypatch.chdir(folder)  # a file without directory stands in it
        for path in (*(f"{folder}/{name}" for name in ("policy.yaml", "tests.yaml", ".", "*.yaml")), "tests.yaml"):
            assert draguard("policy", "test", path).out.startswith("3 cases in 1 suite: 3 passed")

    def test_standard_input_holds_both(self) -> None:
        done = draguard("policy", "test", "-", stdin=f"{LIMITED}---\n{WHOLE}".encode())
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("3 cases in 1 suite: 3 passed")

    def test_a_policy_without_a_suite_is_reported(self, write: Write) -> None:
        found = findings("policy", "test", write(policy=LIMITED))
        assert [(each["level"], each["rule"], each["line"]) for each in found] == [("warning", "not-tested", 1)]

    def test_the_release_is_the_suites_or_a_given_one(self, write: Write) -> None:
        folder = write(policy=LIMITED, tests=f'kubernetes: "1.31"\n{WHOLE}')

        def releases(*options: str) -> list[str]:
            return [each["kubernetes"] for each in reported("policy", "test", *options, folder)["suites"]]

        assert (releases(), releases("--kubernetes-version", "1.33")) == (["1.31"], ["1.33"])

    def test_policies_of_a_suites_own_context_are_found_in_the_suite(self, write: Write) -> None:
        context = json.dumps([policy(validations=[{"expression": "object."}])])
        folder = write(tests=f"context: {context}\n{SUITE}", policy=LIMITED)
        found = [each for each in findings("policy", "test", folder) if each["rule"] not in {"case", "not-covered"}]
        assert {each["file"] for each in found} == {f"{folder}/tests.yaml"}

    @each_row(
        ("suite", "complaint"),
        ("cases: 3", "cases: 3 is not of type array; write a list"),
        (
            "case: [{object: a, expect: {}}]",
            'tests.yaml:1:1: error suite: case: unknown field "case"; did you mean "cases"?',
        ),
        (
            "tests: [{oldObject: a, expect: {}}]",
            'tests.yaml:1:1: error suite: tests: unknown field "tests"; the fields',
        ),
        ("cases: [3]", "error case: cases[0]: 3 is not of type object; write a map"),
        ("cases: [{name: x, objct: 1}]", 'case: cases[0].objct: x: unknown field "objct"; did you mean "object"?'),
    )
    def test_a_malformed_suite_is_an_error_with_the_reason(self, suite: str, complaint: str, write: Write) -> None:
        done = draguard("policy", "test", write(policy=LIMITED, tests=suite))
        assert done.code == 1
        assert complaint in done.out

    def test_a_file_that_is_not_a_suite_is_an_error(self, write: Write) -> None:
        folder = write(policy=LIMITED, note="cased: 1")
        complaints = {"note": "the file holds no manifest", "policy": "this policy has no suite beside it"}
        for name, complaint in complaints.items():
            done = draguard("policy", "test", folder / f"{name}.yaml")
            assert (done.code, complaint in done.out) == (name == "note", True)

    @each_row(
        "other",
        "suite: a\ntemplates: [a.yaml]\ntests: [{it: works, asserts: [{isKind: {of: Pod}}]}]",
        "rule_files: [a.yaml]\ntests: [{interval: 1m, input_series: []}]",
        "tests: [a, b]",
        "tests: []",
        "hosts: [{name: a, object: b}]",
        "tasks: [{name: a, expect: b}]",
        "bases: [../base]",
    )
    def test_files_of_other_tools_are_not_suites(self, other: str, write: Write) -> None:
        folder = write(policy=LIMITED, other=other)
        assert [each["rule"] for each in findings("policy", "test", folder)] == ["not-tested"]

    def test_a_place_without_suites_is_wrong_use(self, write: Write) -> None:
        assert "draguard policy test: error: no suites found in " in usage_error("policy", "test", write(c=[CONFIG]))

    def test_unreadable_files_are_reported_once(self, write: Write) -> None:
        folder = write(policy=LIMITED, tests=WHOLE, cut="a: [")
        assert [each["rule"] for each in findings("policy", "test", folder)] == ["unreadable"]

    def test_json_has_suites_coverage_findings_and_a_summary(self, write: Write) -> None:
        folder = write(policy=LIMITED, tests=SUITE)
        result = reported("policy", "test", folder)
        assert [case["name"] for case in result["suites"][0]["cases"]] == ["a good name", "a bad one"]
        case = {"name": "a bad one", "file": f"{folder}/tests.yaml", "line": 11, "passed": True, "failures": []}
        assert result["suites"][0]["cases"][1] == case
        of = {"kind": "ValidatingAdmissionPolicy", "policy": "limited", "field": "spec.validations[1].expression"}
        assert result["coverage"][1] == {**of, "file": f"{folder}/policy.yaml", "line": 12, "missing": ["false"]}
        counts = {"suites": 1, "cases": 2, "failed": 0, "expressions": 2, "covered": 1}
        others = {"kubernetes": ["1.37"], "errors": 0, "warnings": 1, "suppressed": 0}
        assert result["summary"] == counts | others

    def test_a_directory_in_two_spellings_is_one(self, write: Write) -> None:
        folder = write(policy=LIMITED, tests=SUITE)
        around = f"{folder}/../{folder.name}"
        for paths in ([f"{folder}/policy.yaml", f"{around}/tests.yaml"], [f"{around}/tests.yaml", folder]):
            done = draguard("policy", "test", *paths)
            assert "2 cases in 1 suite: 2 passed" in done.out
            assert done.out.count("warning not-covered") == draguard("policy", "test", folder).out.count("not-covered")

    def test_junit_has_cases_coverage_and_what_is_wrong(self, write: Write) -> None:
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


@pytest.mark.no_cover
@each_row("action", "check", "test")
def test_every_policy_of_the_library_is_sound_and_tested_to_the_last_expression(action: str) -> None:
    assert draguard("policy", action, "--strict", ROOT / "policies").code == 0


SCHEMA = schema("suite")
SUITES = sorted((ROOT / "policies").glob("*/tests.yaml"))
TOO_MUCH = {"messageExpression": "'too much: ' + string(size(object.data))"}
FEW = [
    {"expression": "object.metadata.name != 'bad'", "message": "a bad name"},
    {"expression": "!has(object.data) || size(object.data) < 2", **TOO_MUCH},
]
Failing = Callable[..., str]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    assert draguard("policy", "new", "few.example.com", "--directory", tmp_path / "new").code == 0
    return tmp_path / "new"


@pytest.fixture
def failure(write: Write) -> Failing:
    """Return a function that tests a policy about ConfigMaps; it returns why an object was not refused."""

    def failure(name: str, message: str, *actions: str, kind: str = "ConfigMap", **spec: Any) -> str:
        made = policy(rules=[rule("configmaps")], **{"validations": FEW, **spec})
        expect = {"allowed": False, **({"message": message} if message else {})}
        case = {"object": {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}, "expect": expect}
        folder = write(p=[made, binding(validationActions=[*(actions or ["Deny"])])], tests=[{"cases": [case]}])
        (found,) = [each["message"] for each in findings("policy", "test", folder) if each["rule"] == "case"]
        return str(found)

    return failure


class TestWhyAllowed:
    @each_row(
        ("name", "message", "action", "said"),
        ("good", "a bad name", "Deny", "{0} is true"),
        ("good", "too much: 3", "Deny", "{1} is true"),
        ("bad", "a bad name", "Warn", "{0} is false, but its binding only does Warn"),
        ("good", "", "Deny", "{0} is true; {1} is true"),
    )
    def test_the_validations_that_should_have_refused_are_named(
        self, name: str, message: str, action: str, said: str, failure: Failing
    ) -> None:
        expressions = (f"spec.validations[{index}].expression of p" for index in range(2))
        assert failure(name, message, action) == f"was allowed: {said.format(*expressions)}"

    def test_a_policy_that_is_not_evaluated_is_reported(self, failure: Failing) -> None:
        assert failure("x", "", kind="Secret") == "was allowed: no policy matches the CREATE of secrets"

    def test_an_error_that_is_ignored_is_reported(self, failure: Failing) -> None:
        fails = [{"expression": "size(object.data) < 2", **TOO_MUCH}]
        ignored = "could not be evaluated, which its failurePolicy ignores: "
        assert ignored in failure("x", "much", validations=fails, failurePolicy="Ignore")


class TestFiles:
    def test_a_suite_beside_no_policy_is_an_error(self, new: Path) -> None:
        (new / "policy.yaml").unlink()
        done = draguard("policy", "test", new)
        assert done.code == 1
        assert "error suite: no policy to test here: put the suite beside policies, or list" in done.out

    def test_of_what_is_not_there_no_cases_are_counted(self, tmp_path: Path) -> None:
        unreadable = f"{tmp_path}/gone: error unreadable: no such file or directory\n\nnothing was read: 1 error\n"
        assert draguard("policy", "test", tmp_path / "gone")[:2] == (2, unreadable)

    def test_policies_objects_and_context_can_be_in_files(self, new: Path, tmp_path: Path) -> None:
        suite = yaml.safe_load((new / "tests.yaml").read_text(encoding="utf-8"))
        (tmp_path / "objects").mkdir()
        (tmp_path / "objects/claim.json").write_text(json.dumps(suite["objects"]["claim"]), encoding="utf-8")
        (tmp_path / "objects/ns.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n")
        (new / "tests.yaml").unlink()
        suite["objects"]["claim"] = "../objects/claim.json"
        suite["context"] = suite["cases"][0]["context"] = ["../objects/ns.yaml"]
        suite["policies"] = ["../new"]
        (tmp_path / "suites").mkdir()
        (tmp_path / "suites/tests.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
        done = draguard("policy", "test", "--strict", tmp_path / "suites")
        assert done.out == "8 cases in 1 suite: 8 passed (Kubernetes 1.37); 1 of 1 expression covered\n"

    @each_row(
        ("change", "message"),
        ({"policies": ["gone"]}, "policies[0]: file "),
        ({"policies": "policy.yaml"}, 'policies: "policy.yaml" is not of type array; write a list'),
        ({"policies": ["/etc"]}, "policies[0]: /etc: give a name relative to the suite"),
        ({"objects": {"claim": "policy.yaml"}}, "policy.yaml holds 2 objects: name a file with one"),
        ({"objects": {"claim": "bad.yaml"}}, "bad.yaml:1: "),
        ({"context": ["/x"]}, "context[0]: /x: give a name relative to the suite"),
        (
            {"cases": [{"object": "claim", "context": ["no"], "expect": {"allowed": True}}]},
            "error case: cases[0].context[0]: file ",
        ),
    )
    def test_an_unreadable_file_is_reported_where_it_is_named(
        self, change: dict[str, Any], message: str, new: Path
    ) -> None:
        suite = yaml.safe_load((new / "tests.yaml").read_text(encoding="utf-8")) | change
        (new / "changed.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")
        (new / "bad.yaml").write_text("a: [", encoding="utf-8")
        done = draguard("policy", "test", "-o", "concise", new / "changed.yaml")
        assert (done.code, message in done.out) == (1, True)


class TestSelection:
    def test_cases_are_selected_by_their_names(self, new: Path) -> None:
        done = draguard("policy", "test", "--strict", "--filter", "ARE NOT", new)
        assert done.out == "1 case in 1 suite: 1 passed (Kubernetes 1.37)\n"
        assert draguard("policy", "test", "--filter", "not", "--filter", "allowed", new).out.startswith("5 cases")

    def test_without_a_path_the_suites_of_the_current_directory_run(
        self, new: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(new.parent)
        summary = "8 cases in 1 suite: 8 passed (Kubernetes 1.37); 1 of 1 expression covered\n"
        assert draguard("policy", "test")[:2] == (0, summary)

    def test_warnings_are_about_the_named_files(self, new: Path) -> None:
        (new / "other.yaml").write_text(LIMITED, encoding="utf-8")
        about = {
            name: {each["file"].rpartition("/")[2] for each in findings("policy", "test", new / name)}
            for name in ("policy.yaml", "other.yaml", "tests.yaml", "")
        }
        assert about == {"policy.yaml": set(), "other.yaml": {"other.yaml"}, "tests.yaml": set(), "": {"other.yaml"}}

    def test_a_failure_stands_at_its_own_line(self, new: Path) -> None:
        tests = new / "tests.yaml"
        tests.write_text(tests.read_text(encoding="utf-8").replace("value: 3", "value: 1"), encoding="utf-8")
        report = reported("policy", "test", "--filter", "not", new)
        (case,) = report["suites"][0]["cases"]
        lines = tests.read_text(encoding="utf-8").splitlines()
        assert lines[case["line"] - 1] == "- name: three are not"
        assert report["findings"][0]["field"] == "cases[1].expect.allowed"

    def test_a_suppression_is_not_unused_where_some_cases_are_left_out(self, new: Path, tmp_path: Path) -> None:
        tests = new / "tests.yaml"
        suite = tests.read_text(encoding="utf-8")
        tests.write_text(f"{suite}# draguard: ignore[not-matched] why\n", encoding="utf-8")
        settings = tmp_path / ".draguard.yaml"
        settings.write_text("ignores:\n- {paths: ['**'], rules: [not-matched], reason: why}\n", encoding="utf-8")
        options = ("--config", settings, tmp_path)
        unused = [each["rule"] for each in findings("policy", "test", *options)]
        assert unused == ["unused-suppression", "unused-suppression"]
        assert findings("policy", "test", "--filter", "not", *options) == []

    def test_no_such_case_is_wrong_use(self, new: Path) -> None:
        said = usage_error("policy", "test", "--filter", "nothing", new)
        assert "--filter: no case has a name with 'nothing'" in said

    def test_verbose_output_lists_each_case(self, new: Path) -> None:
        first = f"passed: {new}/tests.yaml:30: two devices are allowed (Kubernetes 1.{DEFAULT})\npassed: "
        assert draguard("policy", "test", "-v", new).out.startswith(first)


@pytest.mark.process
def test_suites_are_run_again_when_a_file_changes(new: Path) -> None:
    running = subprocess.Popen(
        [SCRIPT, "policy", "test", "--watch", new / "tests.yaml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert running.stdout
    try:
        assert running.stdout.readline().startswith("8 cases in 1 suite: 8 passed")
        policy = new / "policy.yaml"
        policy.write_text(policy.read_text(encoding="utf-8").replace("count <= 2", "count <= 3"), encoding="utf-8")
        assert "error case" in running.stdout.readline()
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 130


class TestNew:
    @each_row("kind", (), ("--mutating",))
    def test_it_passes_from_the_start(self, kind: tuple[str, ...], tmp_path: Path) -> None:
        folder = tmp_path / "a" / "-".join(("b", *kind))
        done = draguard("policy", "new", "team.example.com", *kind, "--directory", folder)
        assert done.out == f"{folder}/policy.yaml\n{folder}/tests.yaml\n"
        assert draguard("policy", "check", "--strict", folder).code == 0
        assert draguard("policy", "test", "--strict", folder).code == 0

    @each_row(
        ("name", "directory", "said"),
        ("x.example.com", "{}", "{}/policy.yaml already exists: give another --directory"),
        ("Few devices", ".", "'Few devices' cannot be the name of a policy: "),
        ("x.example.com", "/dev/null/x", "cannot write to /dev/null/x: Not a directory"),
    )
    def test_nothing_is_overwritten_or_made_in_vain(self, name: str, directory: str, said: str, new: Path) -> None:
        done = draguard("policy", "new", name, "--directory", directory.format(new))
        assert (done.code, said.format(new) in done.err, done.err.count("\n")) == (2, True, 1)


class TestSchema:
    @each_row("suite", *SUITES)
    def test_the_suites_of_the_library_fit(self, suite: Path) -> None:
        for document in yaml.safe_load_all(suite.read_text(encoding="utf-8")):
            Validator(SCHEMA).validate(document)

    @each_row("suite", {}, {"cases": []}, {"cases": [{}]}, {"cases": [{"expect": {}}]}, {"case": []})
    def test_malformed_suites_do_not_fit(self, suite: dict[str, Any]) -> None:
        assert not Validator(SCHEMA).is_valid(suite)


def test_costs_say_what_has_no_bound(new: Path) -> None:
    out = draguard("policy", "check", "--costs", new).out
    assert ", without bound\nwithout bound: with the largest objects that a request can hold, " in out
    assert "without bound" not in draguard("policy", "check", new).out


def test_a_case_without_a_binding_names_the_one_that_misspells_the_policy(tmp_path: Path) -> None:
    assert draguard("policy", "new", "few.example.com", "--directory", tmp_path).code == 0
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy.read_text().replace("policyName: few.example.com", "policyName: fwe.example.com"))
    done = draguard("policy", "test", tmp_path)
    meant = 'binding "few.example.com" names "fwe.example.com" (did you mean "few.example.com"?)'
    assert (done.code, f"was allowed: few.example.com has no binding: {meant}\n" in done.out) == (1, True)
    policy.write_text(policy.read_text().replace("policyName: fwe.example.com", "policyName: other.example.org"))
    assert "was allowed: few.example.com has no binding\n" in draguard("policy", "test", tmp_path).out
