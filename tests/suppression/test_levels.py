"""Levels of rules, comments, annotations and baselines, as `draguard validate` and `draguard policy` apply them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.command import Done, draguard, findings, process, usage_error
from tests.policy.examples import binding, policy
from tests.rows import each_row, each_row_beside
from tests.suppression.manifests import claim, rules, suppressed
from webhook.documents import Document, comments, parse
from webhook.documents.dump import dump
from webhook.explain import names

MOVE = "remove it, or put it on the line of the finding"


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
        ([], [("error", "object-name"), ("error", "unknown-field")], 1),
        (["--select", "unknown-field"], [("error", "unknown-field")], 1),
        (["--select", "unknown-*,object-name"], [("error", "object-name"), ("error", "unknown-field")], 1),
        (["--ignore", "unknown-field"], [("error", "object-name")], 1),
        (["--ignore", "unknown-field,object-name"], [], 0),
        (["--ignore", "unknown-field", "--ignore", "object-*"], [], 0),
        (["--level", "unknown-field=off"], [("error", "object-name")], 1),
        (["--level", "unknown-field=warn"], [("error", "object-name"), ("warning", "unknown-field")], 1),
        (["--level", "*=warning"], [("warning", "object-name"), ("warning", "unknown-field")], 0),
        (["--level", "warn"], [("warning", "object-name"), ("warning", "unknown-field")], 0),
        (
            ["--level", "warn", "--level", "unknown-field=deny"],
            [("warning", "object-name"), ("error", "unknown-field")],
            1,
        ),
        (["--level", "*=off", "--level", "unknown-field=audit"], [("note", "unknown-field")], 0),
        (["--level", "unknown-field=audit,*=off"], [("note", "unknown-field")], 0),
        (["--level", "warn", "--strict"], [("warning", "object-name"), ("warning", "unknown-field")], 1),
    )
    def test_a_rule_counts_as_the_options_say(
        self, file: Path, options: list[str], left: list[tuple[str, str]], code: int
    ) -> None:
        assert rules(validate(*options, file, code=code)) == left

    def test_what_is_off_says_by_which_option(self, file: Path) -> None:
        assert suppressed(validate("--ignore", "unknown-*", "--level", "object-name=off", file)) == [
            ("object-name", "option", "--level object-name=off"),
            ("unknown-field", "option", "--ignore unknown-*"),
        ]

    @each_row("option", "--select", "--ignore")
    def test_a_rule_that_does_not_exist_is_refused(self, file: Path, option: str) -> None:
        done = draguard("validate", option, "unknown-feild", file)
        message = f"draguard validate: error: {option}: unknown rule unknown-feild; did you mean unknown-field?\n"
        assert done == Done(2, "", message)

    @each_row(
        ("text", "message"),
        ("unknown-feild=off", "unknown rule unknown-feild; did you mean unknown-field?"),
        ("zz*=off", "unknown rule zz*; `draguard explain` lists the rules"),
        ("unknown-field=of", "'unknown-field=of': give RULE=off, RULE=note, RULE=warn or RULE=error"),
        ("=off", "'=off': give RULE=off, RULE=note, RULE=warn or RULE=error"),
    )
    def test_a_level_that_makes_no_sense_is_refused(self, file: Path, text: str, message: str) -> None:
        done = draguard("validate", "--level", text, file)
        assert done == Done(2, "", f"draguard validate: error: --level: {message}\n")

    def test_an_empty_name_is_refused(self, file: Path) -> None:
        message = "--select: an empty text is most likely a variable that is not set: leave the option out\n"
        assert draguard("validate", "--select", "", file) == Done(2, "", f"draguard validate: error: {message}")

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
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
    refusing: dict[str, Any] = {"rules": [every], "validations": [{"expression": "object.metadata.name == ''"}]}
    policies = tmp_path / "policies.yaml"
    policies.write_text(dump([each for name in ("one", "two") for each in (policy(name, **refusing), binding(name))]))
    file.write_text(claim() + "# draguard: ignore[policy/three] an exception for a deleted policy\n", encoding="utf-8")
    options = ("--policies", policies, "--level", "policy/one=warn")
    found = rules(validate(*options, file))
    assert found == [("warning", "policy"), ("error", "policy"), ("warning", "unused-suppression")]
    assert rules(validate(*options, "--ignore", "policy/*,unused-suppression", file)) == []
    done = draguard("validate", "--policies", policies, "--level", "policy/twoo=warn", file)
    message = "--level: policy twoo not found in --policies: did you mean two?"
    assert done == Done(2, "", f"draguard validate: error: {message}\n")


WRITE = "write # draguard: ignore[RULE] the reason"


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
    )
    def test_a_comment_suppresses_findings_with_its_reason(self, text: str) -> None:
        done = judged(text)
        assert rules(done) == []
        assert suppressed(done) == [("unknown-field", "inline", "the driver reads it")]

    def test_a_comment_above_a_document_is_not_about_the_next(self) -> None:
        wrong = claim(more="  colour: red\n")
        done = judged(f"# draguard: ignore[unknown-field] why\n{wrong}---\n{wrong.replace('gpu', 'other', 1)}")
        assert [each["document"] for each in json.loads(done.out)["findings"]] == [2]

    def test_a_comment_on_the_key_of_a_block_is_about_what_is_in_it(self) -> None:
        comment = "# draguard: ignore[cel-selector] it is an example"
        lines = (
            "selectors:",
            "- cel:",
            f"    expression: |- {comment}",
            "      true &&",
            "      device.driver = 'x'\n",
        )
        done = judged(claim(more=indent("\n".join(lines), " " * 8)))
        assert (rules(done), len(suppressed(done))) == ([], 1)

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
        done = judged(claim("GPU").replace("GPU", f"GPU # draguard: {comment}"))
        (finding,) = [each for each in json.loads(done.out)["findings"] if each["rule"].endswith("-suppression")]
        assert (finding["line"], finding["column"]) == (4, 13)
        assert (finding["level"], finding["message"], finding["hint"]) == ("warning", message, hint)

    @each_row(
        ("ignored", "hints"),
        ("unknown-field", [MOVE]),
        ("unknown-field, object-name", ["remove unknown-field", WRITE.replace("RULE", "object-name")]),
    )
    def test_a_reason_is_missing_only_for_what_is_suppressed(self, ignored: str, hints: list[str]) -> None:
        done = judged(claim("GPU").replace("GPU", f"GPU # draguard: ignore[{ignored}]"))
        assert [each["hint"] for each in json.loads(done.out)["findings"] if each["line"] == 4][-len(hints) :] == hints

    @each_row("rule", "immutable", "policy/p", "policy", "class-not-found", "answer-changed", "never-*")
    def test_a_comment_that_other_options_make_use_of_is_not_reported(self, rule: str) -> None:
        assert rules(judged(f"# draguard: ignore[{rule}] why\n{claim()}")) == []

    def test_a_comment_on_an_object_that_is_not_judged_is_reported(self) -> None:
        text = "kind: Pod\napiVersion: v1\nmetadata: {name: p} # draguard: ignore[required] why\n"
        assert rules(judged(text)) == [("warning", "unused-suppression")]

    def test_of_very_many_comments_the_rest_is_reported_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.suppression.applying.MOST_FINDINGS", 3)
        comments = "# draguard: nothing\n# draguard: nothing\n"
        done = judged("---\n".join(f"{comments}{claim(f'gpu-{index}')}" for index in range(4)))
        assert rules(done) == [("warning", "malformed-suppression")] * 4
        assert "more than 3 in the file" in done.out


class TestAnnotations:
    def test_an_annotation_is_about_its_object(self) -> None:
        annotation = "  annotations:\n    draguard.github.io/ignore: 'unknown-field: it is: so; object-name: legacy'\n"
        annotated = claim("GPU", "  colour: red\n").replace("spec:", f"{annotation}spec:")
        done = judged(f"{annotated}---\n{claim('OTHER')}")
        assert suppressed(done) == [
            ("object-name", "annotation", "legacy"),
            ("unknown-field", "annotation", "it is: so"),
        ]
        assert [each["name"] for each in json.loads(done.out)["findings"]] == ["OTHER"]

    @each_row(
        ("text", "rule"),
        ("unknown-field: why", "unused-suppression"),
        ("unknown-feild: why", "malformed-suppression"),
        (": why", "malformed-suppression"),
        ("object-name", "unexplained-suppression"),
    )
    def test_an_annotation_that_is_of_no_use_is_reported(self, text: str, rule: str) -> None:
        annotation = f"  annotations: {{draguard.github.io/ignore: {json.dumps(text)}}}\nspec:"
        assert ("warning", rule) in rules(judged(claim("GPU").replace("spec:", annotation)))


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
        done = validate("--baseline", baseline, file, code=0)
        assert [each["rule"] for each in json.loads(done.out)["fixed"]] == ["unknown-field"]
        text = draguard("validate", "--baseline", baseline, file).out
        assert text.startswith(f"1 finding is fixed: update the baseline with --write-baseline {baseline}\n")
        assert "\n  unknown-field: ResourceClaim GPU: spec.colour\n" in text

    def test_what_was_not_read_does_not_count_as_fixed(self, file: Path) -> None:
        baseline, other = self.write(file), file.with_name("other.yaml")
        other.write_text(claim(), encoding="utf-8")
        assert json.loads(validate("--baseline", baseline, other).out)["fixed"] == []
        file.unlink()
        assert len(json.loads(validate("--baseline", baseline, file.parent).out)["fixed"]) == 2

    def test_an_object_without_a_name_is_known_by_its_file(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file.write_text(claim("GPU", "  colour: red\n").replace("name: GPU", "generateName: GPU-"), encoding="utf-8")
        baseline = self.write(file)
        assert {each["file"] for each in json.loads(baseline.read_text(encoding="utf-8"))["findings"]} == {"claim.yaml"}
        monkeypatch.chdir(file.parent)
        validate("--baseline", baseline, "claim.yaml", code=0)
        file.rename(file.with_name("b.yaml"))
        validate("--baseline", baseline, "b.yaml", code=1)

    @pytest.mark.parametrize("hidden", ["pipe", "/dev/stdin", "/proc/self/environ"])
    def test_a_link_to_a_special_file_is_no_baseline(self, file: Path, hidden: str) -> None:
        os.mkfifo(file.parent / "pipe")
        (file.parent / "baseline").symlink_to(hidden)
        done = draguard("validate", "--baseline", file.parent / "baseline", file)
        assert done.code == 2
        assert ": no regular file" in done.err or ": a symbolic link to /" in done.err

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

    def test_one_that_is_not_there_is_refused_with_a_hint(self, file: Path) -> None:
        done = draguard("validate", "--baseline", "gone.json", file)
        assert done.err.endswith("gone.json: no such file or directory: `--write-baseline gone.json` makes it\n")

    def test_a_place_that_cannot_be_written_is_reported_before_the_work_begins(self, file: Path) -> None:
        gone, locked = file.parent / "gone", file.with_name("baseline.json")
        locked.touch(mode=0o444)
        for path, why in (
            (gone / "b.json", f"directory {gone} does not exist: create it first"),
            (locked, "it is read-only: make it writable first"),
        ):
            message = f"draguard validate: error: --write-baseline {path}: {why}\n"
            assert draguard("validate", "--write-baseline", path, file) == Done(2, "", message)

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
    assert done == Done(
        0, f"{note}1 document in 1 file: no problems (Kubernetes 1.37); 2 suppressed (2 by comments)\n", ""
    )


class TestBounds:
    """Untrusted manifests take at most linear time, counted in calls, not in seconds."""

    def test_all_mistakes_are_reported_but_hints_are_limited(self) -> None:
        lines = "".join(f"# draguard: ignore[no-rule-{number}] why\n" for number in range(150))
        found = findings("validate", "-", stdin=lines + claim())
        assert len(found) == 150
        assert [bool(each["hint"]) for each in found] == [True] * 100 + [False] * 50

    def test_one_line_does_not_have_any_number_of_mistakes(self) -> None:
        lines = f"# draguard: ignore[{','.join(['no-rule'] * 100)}] why " * 10 + "\n"
        found = findings("validate", "-", stdin=lines * 2 + claim())
        assert len(found) == 1001
        assert found[-1]["message"] == "is one of more than 1,000 mistakes in statements for draguard"

    def test_an_annotation_does_not_have_any_number_of_parts(self) -> None:
        annotation = f"  annotations: {{draguard.github.io/ignore: '{';'.join('a' * 102)}'}}\nspec:"
        found = findings("validate", "-", stdin=claim().replace("spec:", annotation))
        assert len(found) == 101
        assert found[-1]["message"] == "has more than 100 parts: the rest suppresses nothing"

    def test_there_are_not_any_number_of_comments_for_a_place(self) -> None:
        lines = "# draguard: ignore[required] why\n" * 101
        messages = {each["message"] for each in findings("validate", "-", stdin=lines + claim())}
        assert messages == {
            "suppresses no finding of required",
            "is one of more than 100 for the same place, so it suppresses nothing",
        }

    def test_many_comments_in_a_row_take_linear_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []

        def content(*given: Any) -> int:
            calls.append(given)
            return real(*given)

        real: Callable[..., int] = vars(comments)["_content"]
        monkeypatch.setattr(comments, "_content", content)
        text = "a: 1\n" + "# draguard: ignore[required] why\n" * 50 + "b: 1\n"
        (document,) = parse(text)
        assert isinstance(document, Document)
        assert {each.about for each in document.comments("draguard:")} == {52}
        assert len(calls) == 2

    def test_a_line_does_not_hold_any_number_of_comments(self) -> None:
        found = rules(judged(claim() + "# draguard: ignore[required] why " * 50))
        assert found == [("warning", "unused-suppression")] * 10

    def test_what_a_run_can_find_is_looked_up_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []
        real = names.needs

        def needs(rule: str) -> str:
            asked.append(rule)
            return real(rule)

        monkeypatch.setattr(names, "needs", needs)
        lines = "".join(f"  a{number}: 1 # draguard: ignore[required] why\n" for number in range(20))
        assert ("warning", "unused-suppression") in rules(judged(claim() + lines))
        assert asked == ["required"]

    def test_a_long_name_is_not_looked_up(self) -> None:
        found = rules(judged(f"# draguard: ignore[{'*a' * 10_000}] why\n{claim()}"))
        assert found == [("warning", "malformed-suppression")]

    def test_a_comment_does_not_name_any_number_of_rules(self) -> None:
        text = f"# draguard: ignore[{','.join(['required'] * 101)}] why\n{claim()}"
        (finding,) = findings("validate", "-", stdin=text)
        assert finding["message"] == "names more than 100 rules, so it suppresses nothing"
