"""SARIF is valid by its schema, and has fixes that can be applied."""

import json
import pathlib
from typing import Any

import pytest

from tests.command import draguard
from tests.report.findings import SARIF, finding, hostile, report, shown
from tests.rows import each_row
from tests.structured import CLAIM, claim_manifest
from webhook.findings import Identity, Origin, Suppression
from webhook.problem import Fix
from webhook.report.model import Report


class TestSarif:
    def results(self, made: Report) -> list[dict[str, Any]]:
        log = json.loads(shown("sarif", made))
        SARIF.validate(log)
        (run,) = log["runs"]
        rules = run["tool"]["driver"]["rules"]
        found: list[dict[str, Any]] = run["results"]
        assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in found)
        assert all(each["helpUri"].endswith(f"/docs/rules/README.md#{each['id']}") for each in rules)
        return found

    def test_a_result_has_a_region_an_object_and_a_rule_with_help(self) -> None:
        (result,) = self.results(report(finding(identity=Identity("v1", "Pod", "ns", "pod"))))
        (location,) = result["locations"]
        region = {"startLine": 3, "startColumn": 3, "endColumn": 7, "snippet": {"text": "  name: A"}}
        assert location["physicalLocation"]["region"] == region
        assert location["logicalLocations"][0]["fullyQualifiedName"] == "Pod/ns/pod"
        assert (result["level"], result["message"]["text"]) == ("error", "spec.name: m\nhelp: h")

    def test_long_lines_are_not_repeated_by_each_result(self) -> None:
        (result,) = self.results(report(finding()._replace(text="a" * 1001)))
        assert "snippet" not in result["locations"][0]["physicalLocation"]["region"]

    def test_fingerprints_stay_when_lines_move_and_differ_within_a_run(self) -> None:
        about = Identity("v1", "Pod", "ns", "pod")
        first, second = finding(identity=about), finding("other", identity=about)
        before = self.results(report(first, second))
        after = self.results(report(first._replace(line=30, column=9), second._replace(text="moved")))
        prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in before]
        assert prints == [each["partialFingerprints"]["primaryLocationLineHash"] for each in after]
        assert len(set(prints)) == 2

    @each_row(("kind", "expected"), ("inline", "inSource"), ("annotation", "inSource"), ("baseline", "external"))
    def test_suppressed_findings_are_results_that_say_so(self, kind: str, expected: str) -> None:
        (result,) = self.results(report(suppressed=(finding(suppression=Suppression(kind, "why")),)))
        assert result["suppressions"] == [{"kind": expected, "status": "accepted", "justification": "why"}]

    def test_the_expression_of_a_policy_is_a_related_location(self) -> None:
        origin = Origin("ValidatingAdmissionPolicy", "p", file="p.yaml", line=4, column=2, text=" a")
        (result,) = self.results(report(finding(origin=origin)))
        assert result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "p.yaml"

    @each_row(
        ("file", "uri"),
        ("a b/ü%.yaml", "a%20b/%C3%BC%25.yaml"),
        ("./a.yaml", "a.yaml"),
        ("a:b/c:d.yaml", "a%3Ab/c%3Ad.yaml"),
        ("/elsewhere/a.yaml", "file:///elsewhere/a.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
    )
    def test_files_are_named_by_uris(self, file: str, uri: str) -> None:
        (result,) = self.results(report(finding(file=file)))
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri

    def test_files_below_the_current_directory_are_relative_to_it(
        self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        manifest = tmp_path / "claim.yaml"
        manifest.write_text(CLAIM.replace("name: gpu", "name: GPU"), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        done = json.loads(draguard("validate", "-osarif", manifest).out)
        places = [each["locations"][0]["physicalLocation"] for each in done["runs"][0]["results"]]
        assert {each["artifactLocation"]["uri"] for each in places} == {"claim.yaml"}

    def test_anything_can_be_shown(self) -> None:
        assert len(self.results(hostile())) == 4


def corrected(text: str, replacements: list[dict[str, Any]]) -> str:
    """Apply fixes to a text as SARIF specifies."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    for each in sorted(replacements, key=lambda each: -each["deletedRegion"]["startLine"]):
        region = each["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + each["insertedContent"]["text"] + text[end:]
    return text


class TestSarifFixes:
    @each_row(
        ("right", "wrong"),
        ("count: 2", 'count: "2"'),
        ("count: 2", "cuont: 2"),
        ("allocationMode: ExactCount", "allocationMode: exactCount"),
        ("exactly:\n        deviceClassName: gpu", "deviceClassName: gpu"),
        ("name: two", "name: two # ☃ \U0001f600"),
    )
    @each_row("ends", "\n", "\r\n")
    def test_what_is_offered_fixes_the_finding(self, right: str, wrong: str, ends: str, tmp_path: pathlib.Path) -> None:
        counted = "" if "\n" in right else "        allocationMode: ExactCount\n        count: 2\n"
        changed = claim_manifest("two", counted).replace(right, wrong).replace("\n", ends)
        file = tmp_path / "claim.yaml"
        file.write_bytes(changed.encode())
        log = json.loads(draguard("validate", "-osarif", file).out)
        SARIF.validate(log)
        offered = [each["fixes"][0] for each in log["runs"][0]["results"] if "fixes" in each]
        for each in offered:
            (change,) = each["artifactChanges"]
            assert change["artifactLocation"] == {"uri": file.as_uri()}
            file.write_bytes(corrected(file.read_bytes().decode(), change["replacements"]).encode())
        assert draguard("validate", file).code == 0
        assert bool(offered) == ("#" not in wrong)

    def test_what_has_changed_since_is_left_alone(self, tmp_path: pathlib.Path) -> None:
        made = finding("m", file=str(tmp_path / "a.yaml"), fix=Fix("replace", "x"))
        (tmp_path / "a.yaml").write_text("a: b\n", encoding="utf-8")
        assert '"fixes"' not in shown("sarif", report(made))
        (tmp_path / "a.yaml").unlink()
        assert '"fixes"' not in shown("sarif", report(made))

    @each_row("output", "markdown", "html", "junit")
    def test_others_say_which_option_fixes_it(self, output: str) -> None:
        fixes = (Fix("replace", "x"), Fix("replace", "x", safe=False), None)
        safe, unsafe, none = (finding("m", hint="did you mean x?", fix=fix) for fix in fixes)
        assert "did you mean x? (draguard validate --fix does it)" in shown(output, report(safe))
        assert "did you mean x? (draguard validate --fix --unsafe-fixes does it)" in shown(output, report(unsafe))
        assert "does it" not in shown(output, report(none, safe._replace(rendered=True)))
