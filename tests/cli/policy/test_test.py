"""``draguard policy test``."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.cli.policy.manifests import CONFIG, LIMITED, SUITE
from tests.command import ROOT, draguard, findings, reported
from tests.policy.examples import policy

WHOLE = (
    SUITE
    + """\
- name: nothing to run
  object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}
  expect: {allowed: false}
"""
)


class TestTest:
    def test_suites_that_pass_and_see_everything_pass(self, write: Callable[..., Path]) -> None:
        done = draguard("policy", "test", "--strict", write(a__policy=LIMITED, a__tests=WHOLE))
        assert done == (0, "3 cases in 1 suite: 3 passed (Kubernetes 1.37); 2 of 2 expressions covered\n", "")

    def test_nothing_is_tested_if_the_api_server_refuses_a_policy(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED.replace("containers)", "containers"), tests=WHOLE)
        done = draguard("policy", "test", folder)
        assert (done.code, "error validating-expressions" in done.out, "error case" in done.out) == (1, True, False)
        assert f"note: not run: {folder}/tests.yaml, as the API server refuses what it tests\n" in done.out

    def test_what_fails_is_shown_where_it_was_expected(self, write: Callable[..., Path]) -> None:
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

    def test_what_no_case_has_seen_is_listed(self, write: Callable[..., Path]) -> None:
        folder = write(policy=LIMITED, tests=SUITE)
        (found,) = findings("policy", "test", folder)
        assert (found["level"], found["rule"], found["file"]) == ("warning", "not-covered", f"{folder}/policy.yaml")
        assert (found["line"], found["message"]) == (12, "no case makes this false")
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
            return [each["kubernetes"] for each in reported("policy", "test", *options, folder)["suites"]]

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
        result = reported("policy", "test", folder)
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
            "kubernetes": ["1.37"],
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
    @pytest.mark.no_cover
    def test_every_policy_is_sound_and_tested_to_the_last_expression(self, folder: str) -> None:
        assert draguard("policy", "check", "--strict", ROOT / "policies" / folder).code == 0
        assert draguard("policy", "test", "--strict", ROOT / "policies" / folder).code == 0
