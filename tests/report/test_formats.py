"""Every output format is valid by its schema or its reader, whatever manifests contain."""

import json
import pathlib
import re
import stat
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from importlib import import_module
from itertools import product
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.command import ROOT, draguard, reported, usage_error
from tests.report.findings import HOSTILE, SARIF, finding, hostile, report, shown
from tests.rows import each_row
from tests.schemas import Validator, closed, schema
from tests.structured import claim_manifest
from webhook.findings import Identity, Origin, Suppression
from webhook.problem import Problem
from webhook.report import FORMATS, html
from webhook.report.text import summary

JUnitXml: Any = import_module("junitparser").JUnitXml  # which has no types of its own

REPORT = Validator(closed(schema("report")))


def of(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these fields."""
    return {"type": "object", "required": [*properties], "properties": properties}


TEXT: Any = {"type": "string", "minLength": 1}
ISSUES = {
    # docs.gitlab.com/ci/testing/code_quality: what GitLab reads of an issue
    "type": "array",
    "items": of(
        description=TEXT,
        check_name=TEXT,
        fingerprint=TEXT,
        severity={"enum": ["info", "minor", "major", "critical", "blocker"]},
        location=of(path=TEXT | {"pattern": r"^(?!\./)"}, lines=of(begin={"type": "integer", "minimum": 1})),
    ),
}
CLAIM = claim_manifest(more="        count: -1\n", namespace="default").replace("name: gpu", "name: GPU")


@pytest.fixture
def manifest(tmp_path: pathlib.Path) -> pathlib.Path:
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM)
    return file


class TestOutputs:
    def test_several_reports_are_written_in_one_run(self, manifest: pathlib.Path) -> None:
        wanted = [f"--output={name}={manifest.parent / name}" for name in FORMATS if name != "concise"]
        done = draguard("validate", *wanted, "-o", "concise", manifest)
        assert done.code == 1
        assert done.out.startswith(f"{manifest}:9:7: error dns-label: spec.devices.requests[0].name: Invalid value")
        assert len(done.out.splitlines()) == 2
        assert {path.name for path in manifest.parent.iterdir()} == {manifest.name, *FORMATS} - {"concise"}
        text = (manifest.parent / "text").read_text()
        assert text.endswith("1 document in 1 file: 2 errors (Kubernetes 1.37)\nfixable: 1 with --fix --unsafe-fixes\n")
        assert json.loads((manifest.parent / "json").read_text())["summary"]["errors"] == 2

    def test_findings_are_counted_by_rule(self, manifest: pathlib.Path) -> None:
        other = manifest.with_name("other.yaml")
        other.write_text(f"{CLAIM}  colour: red\n", encoding="utf-8")
        files = (manifest, other)
        counted = draguard("validate", "-o", "concise", *files).out
        rules = Counter(line.split()[2].rstrip(":") for line in counted.splitlines())
        done = draguard("validate", "--statistics", *files)
        lines = done.out.partition("\n\n")[0].splitlines()
        assert {line.split()[2]: int(line.split()[0]) for line in lines} == rules
        assert (done.code, "documents in 2 files: " in done.out) == (1, True)
        quiet = draguard("validate", "-q", "-o", "statistics", "--exit-zero", *files)
        assert (quiet.code, quiet.out.splitlines()) == (0, lines)

    def test_exit_zero_takes_the_place_of_1_and_of_no_other_code(self, manifest: pathlib.Path) -> None:
        manifest.write_text("a: [", encoding="utf-8")
        assert draguard("validate", manifest).code == 1
        assert draguard("validate", "--exit-zero", manifest).code == 0
        assert draguard("validate", "--exit-zero", manifest.with_name("gone")).code == 2

    @pytest.mark.parametrize("command", ["policy check", "policy test"])
    def test_policies_have_the_same_formats(self, command: str, tmp_path: pathlib.Path) -> None:
        wanted = [f"--output={name}={tmp_path / name}" for name in FORMATS]
        assert draguard(*command.split(), *wanted, "policies/claim-device-limit") == (0, "", "")
        REPORT.validate(json.loads((tmp_path / "json").read_text()))
        SARIF.validate(json.loads((tmp_path / "sarif").read_text()))
        cases = [case for suite in JUnitXml.fromfile(str(tmp_path / "junit")) for case in suite]
        assert cases
        assert all(case.is_passed for case in cases)
        assert "no problems" in (tmp_path / "html").read_text()

    @each_row(
        ("outputs", "complaint"),
        (["jsn"], "argument -o/--output: unsupported format 'jsn': did you mean json?"),
        (["xml"], "argument -o/--output: unsupported format 'xml': choose from text, concise, statistics, json"),
        (["html="], "argument -o/--output: html=: name the file, such as html=report.html"),
        (["junit="], "argument -o/--output: junit=: name the file, such as junit=report.xml"),
        (["concise="], "argument -o/--output: concise=: name the file, such as concise=report.txt"),
        (["sarif="], "argument -o/--output: sarif=: name the file, such as sarif=report.sarif"),
        (["html=gone/r.html"], "--output html=gone/r.html: directory gone does not exist: create it first"),
        (["html=tests"], "--output html=tests: this is a directory: name a file in it"),
        (["text", "json"], "--output: two reports go to standard output: give one a file, FORMAT=FILE"),
        (["sarif=out", "json=out"], "--output: two reports go to the file out"),
    )
    def test_what_cannot_be_written_is_said_before_anything_is_read(self, outputs: list[str], complaint: str) -> None:
        for command in (["validate"], ["policy", "check"], ["policy", "test"]):
            said = usage_error(*command, *(f"--output={each}" for each in outputs), "examples/fixed")
            assert f"error: {complaint}" in said

    def test_a_file_is_replaced_whole_and_keeps_its_mode(self, manifest: pathlib.Path) -> None:
        target = manifest.parent / "report.json"
        target.write_text("old")
        target.chmod(0o640)
        (manifest.parent / "link").symlink_to(target)
        draguard("validate", f"-ojson={manifest.parent / 'link'}", manifest)
        assert json.loads(target.read_text())["version"] == 1
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        assert (manifest.parent / "link").is_symlink()
        assert len(list(manifest.parent.iterdir())) == 3

    def test_nothing_is_written_through_links_of_a_repository(
        self, tmp_path: pathlib.Path, manifest: pathlib.Path
    ) -> None:
        repository, elsewhere = tmp_path / "top", tmp_path / "elsewhere"
        for each in (repository, elsewhere):
            (each / ".git").mkdir(parents=True)
        (elsewhere / "victim").write_text("kept", encoding="utf-8")
        targets = (elsewhere / "victim", elsewhere / "new", tmp_path, elsewhere, repository / ".git/config")
        for name, target in zip(("out", "new", "dir", "repository", "git"), targets, strict=True):
            (repository / name).symlink_to(target)
        files = ("out", "new", "dir/x", "git", "repository/x")
        for option, file in product(("--output=sarif", "--write-baseline"), files):
            said = usage_error("validate", f"{option}={repository / file}", manifest)
            assert "a symbolic link in the repository leads to " in said
        assert (elsewhere / "victim").read_text(encoding="utf-8") == "kept"
        assert sorted(each.name for each in tmp_path.iterdir()) == ["claim.yaml", "elsewhere", "top"]
        assert sorted(each.name for each in elsewhere.iterdir()) == [".git", "victim"]
        assert not list((repository / ".git").iterdir())

    def test_links_within_a_repository_are_followed(self, tmp_path: pathlib.Path, manifest: pathlib.Path) -> None:
        (tmp_path / ".git").mkdir()
        (tmp_path / "link").symlink_to("report.json")
        draguard("validate", f"-ojson={tmp_path / 'link'}", manifest)
        assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["version"] == 1

    def test_what_fails_leaves_the_file_as_it_was(self, manifest: pathlib.Path) -> None:
        target = manifest.parent / "report.json"
        target.write_text("old")
        with patch("os.replace", side_effect=OSError(28, "No space left on device")):
            done = draguard("validate", f"-ojson={target}", manifest)
        assert (done.code, done.err) == (3, f"draguard validate: error: {target}: No space left on device\n")
        assert target.read_text() == "old"
        assert len(list(manifest.parent.iterdir())) == 2

    def test_a_device_is_written_to(self, manifest: pathlib.Path) -> None:
        assert draguard("validate", "-otext", "-ojson=/dev/null", manifest).code == 1


def test_lines_of_rendered_text_are_not_lines_of_the_template() -> None:
    made = report(finding(identity=Identity("v1", "Pod", "ns", "pod"), rendered=True))
    (result,) = json.loads(shown("sarif", made))["runs"][0]["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]
    assert result["message"]["text"] == "spec.name: m\nobject: Pod ns/pod\nhelp: h"
    assert shown("github", made).startswith("::error file=a.yaml,title=draguard%3A dns-label::")
    assert json.loads(shown("gitlab", made))[0]["location"]["lines"]["begin"] == 1
    assert "line=" not in shown("junit", made)


@pytest.mark.process
def test_text_imports_no_other_report() -> None:
    code = "import sys; from webhook.cli import main; main(['validate', 'examples/fixed']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names = {name for name in done.stdout.split() if name.startswith(("webhook.report.", "webhook.explain"))}
    assert not names & {f"webhook.report.{name}" for name in FORMATS if name != "text"}
    assert not any(name.startswith("webhook.explain") for name in names)


def test_the_schema_describes_every_key() -> None:
    REPORT.validate(json.loads(shown("json", hostile())))
    REPORT.validate(reported("validate", "examples"))
    for command in ("check", "test"):
        REPORT.validate(reported("policy", command, "policies/claim-device-limit"))


class TestJUnit:
    def test_a_file_is_a_suite_and_an_object_a_case(self) -> None:
        about = Identity("v1", "Pod", "ns", "pod")
        made = report(finding(identity=about), finding(identity=about), finding("w", "warning", identity=about))
        clean, broken = JUnitXml.fromstring(shown("junit", made).encode())
        assert [(case.name, case.is_passed) for case in clean] == [("Pod fine", True)]
        (case,) = broken
        assert (broken.name, broken.failures, case.name, case.is_failure) == ("a.yaml", 1, "Pod ns/pod", True)
        assert case.result[0].text.count("a.yaml:3:3: dns-label: spec.name: m") == 2
        assert case.system_out.startswith("warning a.yaml:3:3:")

    def test_findings_of_an_object_are_not_compared_with_each_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Problem, "__eq__", lambda *_: pytest.fail("of 10,000 findings, that takes seconds"))
        assert "<system-out>warning " in shown("junit", report(finding(), finding(), finding(level="warning")))

    def test_suppressed_findings_and_remarks_fail_nothing(self) -> None:
        about = Identity("v1", "Pod", "ns", "pod")
        hidden = finding(identity=about, suppression=Suppression("inline", "known"))
        made = report(finding("w", "warning", identity=about), suppressed=(hidden,))
        made.remarks.append("note: judged as Kubernetes 1.33")
        _, ours, remarks = JUnitXml.fromstring(shown("junit", made).encode())
        (case,) = ours
        assert (ours.failures, case.is_passed) == (0, True)
        first, _, second, _ = case.system_out.splitlines()
        assert first == "warning a.yaml:3:3: dns-label: spec.name: w"
        assert second == "suppressed (inline: known) a.yaml:3:3: dns-label: spec.name: m"
        assert (remarks.name, remarks.tests) == ("remarks", 0)
        assert "<system-out>judged as Kubernetes 1.33</system-out>" in shown("junit", made)

    def test_anything_can_be_shown(self) -> None:
        assert sum(suite.failures for suite in JUnitXml.fromstring(shown("junit", hostile()).encode())) == 1


@each_row("name", "sarif", "junit", "github", "gitlab")
def test_policies_and_releases_are_named(name: str) -> None:
    origin = Origin("ValidatingAdmissionPolicy", "few", "", "", "spec.validations[0]", "policy.yaml", 7, 5)
    text = unquote(shown(name, report(finding(origin=origin, releases=("1.33", "1.34")))))
    assert "policy: policy.yaml:7:5: spec.validations[0] of ValidatingAdmissionPolicy few" in text
    assert "releases: 1.33, 1.34" in text


class TestGitHub:
    def parsed(self, line: str) -> tuple[str, dict[str, str], str]:
        """Parse a workflow command as the runner does (actions/runner ``ActionCommand.cs``)."""
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match, line
        pairs = (each.partition("=") for each in match[2].split(","))
        return match[1], {name: unquote(value) for name, _, value in pairs}, unquote(match[3])

    def test_a_finding_is_a_command_with_its_place(self) -> None:
        command, *rest = shown("github", report(finding("50% ::x"))).splitlines()
        assert self.parsed(command) == (
            "error",
            {"file": "a.yaml", "line": "3", "col": "3", "endColumn": "7", "title": "draguard: dns-label"},
            "spec.name: 50% ::x\nhelp: h",
        )
        assert rest == ["2 documents in 2 files: 1 error"]

    def test_nothing_in_a_file_is_a_command(self) -> None:
        made = hostile()
        made.skipped["v1", "##[add-path]x"] += 1
        lines = shown("github", made).splitlines()
        assert [self.parsed(line)[0] for line in lines[:3]] == ["error", "warning", "notice"]
        assert "##[" not in lines[3]
        assert not lines[3].startswith("::")
        assert len(lines) == 4

    def test_nothing_in_a_file_commands_the_terminal(self) -> None:
        made = report(finding("\x1b[2J\x9b\x7f\t\n\u202e", file="\x1b\x9d.yaml"))
        assert len(shown("github", made).splitlines()) == 2
        for name in ("github", "junit"):
            assert all(map(str.isprintable, shown(name, made).split("\n")))

    def test_quiet_leaves_the_summary_out(self) -> None:
        assert shown("github", report(), quiet=True) == "\n"


class TestGitLab:
    def test_it_is_valid_and_every_fingerprint_is_unique(self) -> None:
        issues = json.loads(shown("gitlab", report(finding(), finding(), finding(file="./b/../a.yaml", line=0))))
        Validator(ISSUES).validate(issues)
        assert len({each["fingerprint"] for each in issues}) == 3
        assert [each["location"] for each in issues] == [{"path": "a.yaml", "lines": {"begin": n}} for n in (3, 3, 1)]

    def test_anything_can_be_shown(self) -> None:
        Validator(ISSUES).validate(json.loads(shown("gitlab", hostile())))


class TestMarkdown:
    def test_what_stands_in_files_is_code(self) -> None:
        for made in (hostile(), hostile("````\n# a"), hostile("`")):
            tokens = MarkdownIt().parse(shown("markdown", made))
            blocks = {"heading_open", "heading_close", "inline", "fence", "paragraph_open", "paragraph_close"}
            assert {token.type for token in tokens} <= blocks
            prose = [child for token in tokens if token.type == "inline" for child in token.children or ()]
            spans = {"text", "code_inline", "strong_open", "strong_close", "link_open", "link_close"}
            assert {child.type for child in prose} <= spans
            assert "@all" not in "".join(child.content for child in prose if child.type == "text")

    def test_a_finding_has_its_line_and_a_caret(self) -> None:
        text = shown("markdown", report(finding(identity=Identity("v1", "Pod", "", "pod"))))
        assert "in line 3, `Pod pod`\n\n```\nspec.name: m\n3 |   name: A\n  |   ^^^^\nhelp: h\n```\n" in text

    def test_it_is_bounded(self) -> None:
        text = shown("markdown", report(*[finding("x" * 5000)] * 300), quiet=True)
        assert text.endswith("… and 100 more\n")
        assert len(text) < 2**20


@given(st.text(st.characters(codec="utf-8"), max_size=60), st.integers(1, 80))
def test_any_text_can_be_shown_in_any_format(text: str, column: int) -> None:
    made = report(finding(text, file=text or "a", text=text, column=column, hint=text))
    for name in FORMATS:
        assert shown(name, made).encode("utf-8", "backslashreplace")
    assert summary(made) == "2 documents in 2 files: 1 error" or text == "clean.yaml"


class Page(HTMLParser):
    """Collects the elements of a page, and the names in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in {"src", "style", "action", "srcset"}
            if name == "href":
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")


class TestHtml:
    def test_findings_by_release_are_a_table(self) -> None:
        warning = finding("w", "warning", releases=("1.33", "1.36"))
        made = report(finding(releases=("1.33",)), warning, finding("n", "note"))
        assert "<th>1.33" not in shown("html", made)
        made.releases += ("1.33", "1.36")
        text = shown("html", made)
        assert "<th>1.33<th>1.36" in text
        rows = re.findall(r"<tr><td><a href=\"#finding-(\d)\">.*?</a><td>.*?</a>(.*)", text)
        found = {number: re.findall(r"<td[^>]*>(\S+?)(?=<|$)", cells) for number, cells in rows}
        assert found == {"1": ["error", "-"], "2": ["warning", "warning"], "3": ["note", "note"]}
        assert '<p class="quiet">releases: 1.33, 1.36</p>' in text
        assert "dns-label  error" not in text

    @each_row(("files", "is_open"), (20, True), (21, False))
    def test_a_long_list_of_files_is_folded(self, files: int, is_open: bool) -> None:
        text = shown("html", report(*(finding(file=f"{number}.yaml") for number in range(files))))
        assert (f"<details open><summary>{files} files with findings</summary>" in text) == is_open

    def test_it_leads_from_files_and_rules_to_findings(self) -> None:
        page = Page(shown("html", report(finding(), finding("w", "warning"))))
        inner = [link for link in page.links if link.startswith("#")]
        assert {f"#{each}" for each in page.ids} >= set(inner)
        assert len(page.ids) == len(set(page.ids))
        assert inner.count("#finding-1") == 2
        assert all("/docs/rules/README.md#dns-label" in link for link in page.links if link not in inner)

    def test_a_long_page_shows_the_first_findings_and_counts_the_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(html, "MAX_FINDINGS", 2)
        names = ("a", "a", "a", "b")
        text = shown("html", report(*(finding(file=name, releases=("1.33",)) for name in names), suppressed=()))
        page = Page(text)
        assert {f"#{each}" for each in page.ids} == {link for link in page.links if link.startswith("#")}
        assert (text.count("<article"), text.count("… and 2 more findings; --output json has all")) == (2, 1)
        assert "<title>draguard: 4 errors</title>" in text
        assert "<tr><td>b<td" in text

    def test_it_needs_nothing_from_elsewhere_and_escapes_everything(self) -> None:
        calm, wild = (Page(shown("html", hostile(text))) for text in ("a" * len(HOSTILE), HOSTILE))
        assert calm.tags == wild.tags
        assert not {"script", "link", "img", "iframe", "object", "form"} & set(wild.tags)
        assert "url(" not in shown("html", hostile())
        assert "@import" not in shown("html", hostile())

    def test_what_is_suppressed_is_folded_away(self) -> None:
        text = shown("html", report(suppressed=(finding(suppression=Suppression("inline", "known")),)))
        assert "<title>draguard: no problems</title>" in text
        assert "<details><summary>1 suppressed finding</summary>" in text
        assert "suppressed (inline): known" in text
