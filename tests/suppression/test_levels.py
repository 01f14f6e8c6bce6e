"""Levels of rules, comments, annotations and baselines, as `draguard validate` and `draguard policy` apply them."""

import json
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.command import Done, draguard, findings, process, reported, usage_error
from tests.documents.reading import documents
from tests.policy.examples import ANYTHING, binding, policy
from tests.rows import each_row, each_row_beside
from tests.suppression.manifests import claim, rules, suppressed
from webhook.documents import comments
from webhook.documents.dump import dump
from webhook.explain import names

UNKNOWN = "unknown rule unknown-feild; did you mean unknown-field?"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "claim.yaml"
    path.write_text(claim("GPU", "  colour: red\n"), encoding="utf-8")
    return path


def validate(*arguments: str | Path, code: int | None = None, stdin: str = "") -> Done:
    done = draguard("validate", "--output", "json", *arguments, stdin=stdin.encode())
    assert done.err == ""
    assert code is None or done.code == code
    return done


def judged(text: str) -> Done:
    return validate("-", stdin=text)


class TestLevels:
    @each_row(
        ("options", "left", "code"),
        ("", "error object-name, error unknown-field", 1),
        ("--select unknown-field", "error unknown-field", 1),
        ("--select unknown-*,object-name", "error object-name, error unknown-field", 1),
        ("--ignore unknown-field", "error object-name", 1),
        ("--ignore unknown-field,object-name", "", 0),
        ("--ignore unknown-field --ignore object-*", "", 0),
        ("--level unknown-field=off", "error object-name", 1),
        ("--level unknown-field=warn", "error object-name, warning unknown-field", 1),
        ("--level *=warning", "warning object-name, warning unknown-field", 0),
        ("--level warn", "warning object-name, warning unknown-field", 0),
        ("--level warn --level unknown-field=deny", "warning object-name, error unknown-field", 1),
        ("--level *=off --level unknown-field=audit", "note unknown-field", 0),
        ("--level unknown-field=audit,*=off", "note unknown-field", 0),
        ("--level warn --strict", "warning object-name, warning unknown-field", 1),
    )
    def test_a_rule_counts_as_the_options_say(self, file: Path, options: str, left: str, code: int) -> None:
        assert ", ".join(map(" ".join, rules(validate(*options.split(), file, code=code)))) == left

    def test_what_is_off_says_by_which_option(self, file: Path) -> None:
        options = ("--level object-name=off", "--ignore unknown-*")
        found = suppressed(validate(*" ".join(options).split(), file))
        assert found == [("object-name", "option", options[0]), ("unknown-field", "option", options[1])]

    @each_row(
        ("option", "text", "message"),
        ("--select", "unknown-feild", UNKNOWN),
        ("--ignore", "unknown-feild", UNKNOWN),
        ("--level", "unknown-feild=off", UNKNOWN),
        ("--level", "zz*=off", "unknown rule zz*; `draguard explain` lists the rules"),
        ("--level", "unknown-field=of", "'unknown-field=of': give RULE=off, RULE=note, RULE=warn or RULE=error"),
        ("--level", "=off", "'=off': give RULE=off, RULE=note, RULE=warn or RULE=error"),
        ("--select", "", "an empty text is most likely a variable that is not set: leave the option out"),
    )
    def test_what_makes_no_sense_is_refused(self, file: Path, option: str, text: str, message: str) -> None:
        assert usage_error("validate", option, text, file) == f"draguard validate: error: {option}: {message}\n"

    def test_what_cannot_be_read_is_reported_whatever_is_selected(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text("apiVersion: [\n", encoding="utf-8")
        assert rules(validate("--select", "unknown-field", tmp_path, code=1)) == [("error", "unreadable")]
        assert rules(validate("--ignore", "unreadable", tmp_path, code=0)) == []
        assert rules(validate("--ignore", "unreadable", tmp_path / "gone.yaml", code=2)) == [("error", "unreadable")]

    def test_policies_are_checked_and_tested_by_the_same_options(self, tmp_path: Path) -> None:
        path = tmp_path / "policy.yaml"
        path.write_text(dump([policy(validations=[{"expression": "true"}])]), encoding="utf-8")
        found = draguard("policy", "check", "-o", "json", tmp_path)
        assert rules(found) == [("warning", "policy-without-binding"), ("warning", "never-refuses")]
        left = draguard("policy", "check", "-o", "json", "--ignore", "never-*", "--level", "policy-*=error", tmp_path)
        assert (left.code, rules(left)) == (1, [("error", "policy-without-binding")])
        path.write_text(f"# draguard: ignore[never-*, policy-*] why\n{path.read_text()}", encoding="utf-8")
        assert len(suppressed(draguard("policy", "check", "-o", "json", tmp_path))) == 2
        tested = draguard("policy", "test", "--strict", "--ignore", "not-tested", tmp_path)
        assert (tested.code, tested.err) == (0, "")


def test_a_policy_has_a_level_of_its_own(file: Path, tmp_path: Path) -> None:
    refusing: Any = {"rules": [ANYTHING], "validations": [{"expression": "object.metadata.name == ''"}]}
    policies = tmp_path / "policies.yaml"
    policies.write_text(dump([each for name in ("one", "two") for each in (policy(name, **refusing), binding(name))]))
    file.write_text(claim() + "# draguard: ignore[policy/three] an exception for a deleted policy\n", encoding="utf-8")
    options = ("--policies", policies, "--level", "policy/one=warn")
    found = rules(validate(*options, file))
    assert found == [("warning", "policy"), ("error", "policy"), ("warning", "unused-suppression")]
    assert rules(validate(*options, "--ignore", "policy/*,unused-suppression", file)) == []
    said = usage_error("validate", "--policies", policies, "--level", "policy/twoo=warn", file)
    assert said == "draguard validate: error: --level: policy twoo not found in --policies: did you mean two?\n"


BLOCK = """\
        selectors:
        - cel:
            expression: |- {}
              true &&
              device.driver = 'x'
"""


class TestComments:
    @each_row(
        "text",
        claim(more="  colour: red # draguard: ignore[unknown-field] the driver reads it\n"),
        claim(more="  colour: red  #draguard:ignore [unknown-field]: the driver reads it\n"),
        claim(more="  colour: red # why? # draguard: ignore[unknown-field] the driver reads it # or not\n"),
        claim(more="  # draguard: ignore[unknown-field] the driver reads it\n  colour: red\n"),
        claim(more="  # draguard: ignore[unknown-*] the driver reads it\n\n  # more\n  colour: red\n"),
        "# draguard: ignore[unknown-field] the driver reads it\n" + claim(more="  colour: red\n"),
        "# License\n\n# draguard: ignore[unknown-field] the driver reads it\n---\n" + claim(more="  colour: red\n"),
        "---\n# draguard: ignore[unknown-field] the driver reads it\n" + claim(more="  colour: red\n"),
        "--- # draguard: ignore[unknown-field] the driver reads it\n" + claim(more="  colour: red\n"),
        claim(more="  colour: red # draguard: ignore[unknown-field] the driver reads it\n").replace("\n", "\r\n"),
        claim(more=BLOCK.format("# draguard: ignore[cel-selector] the driver reads it")),
    )
    def test_a_comment_suppresses_findings_with_its_reason(self, text: str) -> None:
        done = judged(text)
        assert rules(done) == []
        assert [each[1:] for each in suppressed(done)] == [("inline", "the driver reads it")]

    def test_a_comment_above_a_document_is_not_about_the_next(self) -> None:
        wrong = claim(more="  colour: red\n")
        done = judged(f"# draguard: ignore[unknown-field] why\n{wrong}---\n{wrong.replace('gpu', 'other', 1)}")
        assert [each["document"] for each in json.loads(done.out)["findings"]] == [2]

    @each_row(
        "value",
        "'# draguard: ignore[unknown-field] why'",
        '"a # draguard: x"',
        "|\n    # draguard: x",
        "x#draguard:y",
        ">-\n    a\n    # draguard: x\n",
    )
    def test_what_looks_like_a_comment_in_a_text_is_not_one(self, value: str) -> None:
        assert rules(judged(claim(more=f"  colour: {value}\n"))) == [("error", "unknown-field")]

    @each_row_beside("comment", "message", "hint")
    def test_a_comment_that_is_of_no_use_is_reported_where_it_is(self, comment: str, message: str, hint: str) -> None:
        found = findings("validate", "-", stdin=claim(f"GPU # draguard: {comment}"))
        (finding,) = [each for each in found if each["rule"].endswith("-suppression")]
        assert (finding["line"], finding["column"]) == (4, 13)
        assert (finding["level"], finding["message"], finding["hint"]) == ("warning", message, hint)

    @each_row(
        ("ignored", "hints"),
        ("unknown-field", ["remove it, or put it on the line of the finding"]),
        ("unknown-field, object-name", ["remove unknown-field", "write # draguard: ignore[object-name] the reason"]),
    )
    def test_a_reason_is_missing_only_for_what_is_suppressed(self, ignored: str, hints: list[str]) -> None:
        found = findings("validate", "-", stdin=claim(f"GPU # draguard: ignore[{ignored}]"))
        assert [each["hint"] for each in found if each["line"] == 4][-len(hints) :] == hints

    @each_row("rule", "immutable", "policy/p", "policy", "class-not-found", "answer-changed", "never-*")
    def test_a_comment_that_other_options_make_use_of_is_not_reported(self, rule: str) -> None:
        assert rules(judged(f"# draguard: ignore[{rule}] why\n{claim()}")) == []

    def test_a_comment_on_an_object_that_is_not_judged_is_reported(self) -> None:
        text = "kind: Pod\napiVersion: v1\nmetadata: {name: p} # draguard: ignore[required] why\n"
        assert rules(judged(text)) == [("warning", "unused-suppression")]

    def test_beside_an_error_only_what_is_checked_all_the_same_is_unused(self, tmp_path: Path) -> None:
        file, settings = tmp_path / "claim.yaml", tmp_path / ".draguard.yaml"
        ignored, error = "[too-many-devices, minimum]", "  colour: red\n"
        settings.write_text(f"ignores: [{{paths: ['*'], rules: {ignored}, reason: later}}]", encoding="utf-8")
        for more, unused in ((error, "minimum"), ("", "too-many-devices, minimum")):
            file.write_text(f"# draguard: ignore{ignored} later\n{claim('gpu', more)}", encoding="utf-8")
            told = [each["message"] for each in findings("validate", "--config", settings, tmp_path)]
            assert [each for each in told if "suppresses" in each] == [f"suppresses no finding of {unused}"] * 2

    def test_of_very_many_comments_the_rest_is_reported_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.suppression.applying.MOST_FINDINGS", 3)
        comments = "# draguard: nothing\n# draguard: nothing\n"
        done = judged("---\n".join(f"{comments}{claim(f'gpu-{index}')}" for index in range(4)))
        assert rules(done) == [("warning", "malformed-suppression")] * 4
        assert "more than 3 in the file" in done.out


def ignoring(text: str, manifest: str) -> str:
    """Add an annotation to a manifest."""
    return manifest.replace("spec:", f"  annotations: {{draguard.github.io/ignore: {json.dumps(text)}}}\nspec:")


class TestAnnotations:
    def test_an_annotation_is_about_its_object(self) -> None:
        annotated = ignoring("unknown-field: it is: so; object-name: legacy", claim("GPU", "  colour: red\n"))
        done = judged(f"{annotated}---\n{claim('OTHER')}")
        found = [("object-name", "annotation", "legacy"), ("unknown-field", "annotation", "it is: so")]
        assert suppressed(done) == found
        assert [each["name"] for each in json.loads(done.out)["findings"]] == ["OTHER"]

    @each_row(
        ("text", "rule"),
        ("unknown-field: why", "unused-suppression"),
        ("unknown-feild: why", "malformed-suppression"),
        (": why", "malformed-suppression"),
        ("object-name", "unexplained-suppression"),
    )
    def test_an_annotation_that_is_of_no_use_is_reported(self, text: str, rule: str) -> None:
        assert ("warning", rule) in rules(judged(ignoring(text, claim("GPU"))))


class TestBaselines:
    def write(self, file: Path) -> Path:
        baseline = file.parent / "baseline.txt"
        done = draguard("validate", file, "--write-baseline", baseline)
        assert done.code == 0
        assert done.out.startswith(f"{baseline} is written, with ")
        return baseline

    def test_it_is_stable_and_has_no_lines(self, file: Path) -> None:
        first = self.write(file).read_text(encoding="utf-8")
        assert json.loads(first) == {
            "version": 1,
            "findings": [
                {"rule": "object-name", "kind": "ResourceClaim", "name": "GPU", "path": "metadata.name", "count": 1},
                {"rule": "unknown-field", "kind": "ResourceClaim", "name": "GPU", "path": "spec.colour", "count": 1},
            ],
        }
        file.write_text("\n# moved\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
        assert self.write(file).read_text(encoding="utf-8") == first

    def test_what_it_holds_is_not_reported_wherever_it_is_now(self, file: Path) -> None:
        baseline = self.write(file)
        moved = file.with_name("moved.yaml")
        file.rename(moved)
        moved.write_text("# moved\n" + moved.read_text(encoding="utf-8"), encoding="utf-8")
        done = validate("--baseline", baseline, moved, code=0)
        assert rules(done) == []
        assert {each[1:] for each in suppressed(done)} == {("baseline", str(baseline))}

    def test_more_of_the_same_is_reported(self, file: Path) -> None:
        baseline = self.write(file)
        file.write_text(2 * f"{file.read_text(encoding='utf-8')}---\n", encoding="utf-8")
        done = validate("--baseline", baseline, "--ignore", "repeated-object", file, code=1)
        assert len(rules(done)) == 2

    def test_fixed_findings_are_listed(self, file: Path) -> None:
        baseline = self.write(file)
        file.write_text(claim("GPU"), encoding="utf-8")
        (fixed,) = reported("validate", "--baseline", baseline, file)["fixed"]
        assert fixed["rule"] == "unknown-field"
        text = draguard("validate", "--baseline", baseline, file).out
        assert text.startswith(f"1 finding is fixed: update the baseline with --write-baseline {baseline}\n")
        assert "\n  unknown-field: ResourceClaim GPU: spec.colour\n" in text

    def test_what_was_not_read_does_not_count_as_fixed(self, file: Path) -> None:
        baseline, other = self.write(file), file.with_name("other.yaml")
        other.write_text(claim(), encoding="utf-8")
        assert reported("validate", "--baseline", baseline, other)["fixed"] == []
        file.unlink()
        assert len(reported("validate", "--baseline", baseline, file.parent)["fixed"]) == 2

    def test_an_object_without_a_name_is_known_by_its_file(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file.write_text(claim("GPU", "  colour: red\n").replace("name: GPU", "generateName: GPU-"), encoding="utf-8")
        baseline = self.write(file)
        assert {each["file"] for each in json.loads(baseline.read_text(encoding="utf-8"))["findings"]} == {"claim.yaml"}
        monkeypatch.chdir(file.parent)
        validate("--baseline", baseline, "claim.yaml", code=0)
        file.rename(file.with_name("b.yaml"))
        validate("--baseline", baseline, "b.yaml", code=1)

    @pytest.mark.parametrize("hidden", ["pipe", "/dev/stdin", "/proc/self/environ"])
    def test_a_link_to_a_special_file_is_not_a_baseline(self, file: Path, hidden: str) -> None:
        os.mkfifo(file.parent / "pipe")
        (file.parent / "baseline").symlink_to(hidden)
        said = usage_error("validate", "--baseline", file.parent / "baseline", file)
        assert ": no regular file" in said or ": a symbolic link to /" in said

    @each_row(
        ("text", "message"),
        ("{", "not JSON: "),
        ("[" * 100_000, "not JSON: "),
        ("[]", "not a baseline of version 1: it has none; "),
        ('{"version": 2}', "not a baseline of version 1: it has 2; "),
        ('{"version": 1}', "findings must be a list"),
        *(
            (f'{{"version": 1, "findings": [{each}]}}', "findings[0] is not an entry of a baseline, such as {")
            for each in ('{"rule": 1}', f'{{"rule": "x", "count": {"9" * 4300}}}', "[]", '{"rule": "a", "count": true}')
        ),
    )
    def test_a_file_that_is_not_a_baseline_is_refused(self, file: Path, text: str, message: str) -> None:
        baseline = file.with_name("baseline.txt")
        baseline.write_text(text, encoding="utf-8")
        said = usage_error("validate", "--baseline", baseline, file)
        assert said.startswith(f"draguard validate: error: --baseline: {baseline}: {message}")

    def test_a_place_that_cannot_be_written_is_reported_before_the_work_begins(self, file: Path) -> None:
        locked, gone = file.with_name("baseline.json"), file.parent / "gone"
        locked.touch(mode=0o444)
        for path, why in (
            (gone / "b.json", f"directory {gone} does not exist: create it first"),
            (locked, "it is read-only: make it writable first"),
        ):
            said = usage_error("validate", "--write-baseline", path, file)
            assert said == f"draguard validate: error: --write-baseline {path}: {why}\n"

    def test_it_is_not_written_where_not_all_is_known(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        baseline, gone = file.with_name("baseline.json"), file.with_name("gone.yaml")
        done = draguard("validate", "--write-baseline", baseline, file, gone)
        assert (done.code, baseline.exists()) == (2, False)
        assert f"baseline.json is not written: {gone}: no such file or directory\n" in done.out
        monkeypatch.setattr("webhook.check.files.MOST_FINDINGS", 0)
        done = draguard("validate", "--write-baseline", baseline, file)
        assert (done.code, baseline.exists()) == (1, False)
        assert f"{file}: error too-many-findings: more than 10,000 findings" in done.out
        assert f"baseline.json is not written: {file}: more than 10,000 findings" in done.out


@pytest.mark.process
def test_a_process_says_no_to_findings(file: Path) -> None:
    assert process("validate", "--ignore", "unknown-field,object-name", file).code == 0
    file.write_text("# draguard: ignore[unknown-field, object-name] an example\n" + file.read_text(), encoding="utf-8")
    done = process("validate", "--strict", file)
    note = "note: some warnings are not checked for 1 object with errors\n"
    judged = f"{note}1 document in 1 file: no problems (Kubernetes 1.37); 2 suppressed (2 by comments)\n"
    assert done == Done(0, judged, "")


MISTAKEN = f"# draguard: ignore[{','.join(['no-rule'] * 100)}] why " * 10 + "\n"
NOTHING = "so it suppresses nothing"


class TestBounds:
    """Untrusted manifests take at most linear time, counted in calls, not in seconds."""

    def test_all_mistakes_are_reported_but_hints_are_limited(self) -> None:
        lines = "".join(f"# draguard: ignore[no-rule-{number}] why\n" for number in range(150))
        found = findings("validate", "-", stdin=lines + claim())
        assert len(found) == 150
        assert [bool(each["hint"]) for each in found] == [True] * 100 + [False] * 50

    @pytest.mark.no_cover
    @each_row(
        ("text", "count", "last"),
        (f"# draguard: ignore[{'*a' * 10_000}] why\n{claim()}", 1, NOTHING),
        (f"# draguard: ignore[{'required,' * 100}required] why\n{claim()}", 1, f"names more than 100 rules, {NOTHING}"),
        (claim() + "# draguard: ignore[required] why " * 50, 10, "suppresses no finding of required"),
        ("# draguard: ignore[required] why\n" * 101 + claim(), 101, f"more than 100 for the same place, {NOTHING}"),
        (ignoring(";".join("a" * 102), claim()), 101, "has more than 100 parts: the rest suppresses nothing"),
        (MISTAKEN * 2 + claim(), 1001, "is one of more than 1,000 mistakes in statements for draguard"),
    )
    def test_rules_parts_comments_and_mistakes_are_limited(self, text: str, count: int, last: str) -> None:
        messages = [each["message"] for each in findings("validate", "-", stdin=text)]
        assert (len(messages), messages[-1].endswith(last)) == (count, True)

    def test_many_comments_in_a_row_take_linear_time(self) -> None:
        (document,) = documents("a: 1\n" + "# draguard: ignore[required] why\n" * 50 + "b: 1\n")
        with patch.object(comments, "_content", wraps=vars(comments)["_content"]) as content:
            assert {each.about for each in document.comments("draguard:")} == {52}
        assert content.call_count == 2

    def test_what_a_run_can_find_is_looked_up_once(self) -> None:
        lines = "".join(f"  a{number}: 1 # draguard: ignore[required] why\n" for number in range(20))
        names.needs.cache_clear()
        assert ("warning", "unused-suppression") in rules(judged(claim() + lines))
        assert names.needs.cache_info().misses == 1
