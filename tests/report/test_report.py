import json
from difflib import unified_diff
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.report.findings import finding, report
from tests.rows import each_row
from tests.steps import counting
from webhook.documents import Document, Unreadable, parse
from webhook.findings import Finding, Identity, Origin, found, identity, unread
from webhook.problem import WARNING, Fix, Path, Problem, invalid, required
from webhook.report import Style, diff
from webhook.report import lines as lines_of
from webhook.report.diff import unified
from webhook.report.model import Report
from webhook.report.text import MAX_ALIKE, MAX_LINE, MAX_MESSAGE, as_text, first_ones, merged, summary

PROBLEM = invalid(Path() / "spec" / "name", "A", "must be lower case").named("dns-label")


def shown(finding: Finding, *, color: bool = False) -> list[str]:
    return list(as_text([finding], Style(color=color)))


def shown_as(name: str, report: Report) -> Any:
    return json.loads("\n".join(lines_of(name, report, Style())))


def document(text: str) -> Document:
    read = next(parse(text, "claim.yaml"))
    assert isinstance(read, Document)
    return read


class TestText:
    def test_a_finding_names_place_and_rule_and_shows_the_line_with_a_caret(self) -> None:
        finding = Finding(PROBLEM, "a.yaml", 12, 3, "  name: A", 1)
        assert shown(finding) == [
            'a.yaml:12:3: error dns-label: spec.name: Invalid value: "A": must be lower case',
            "12 |   name: A",
            "   |   ^^^^",
            "",
        ]

    def test_a_hint_says_how_to_fix_it(self) -> None:
        problem = Problem("error", "unknown-field", "BadRequest", Path(("nme",)), "unknown", 'did you mean "name"?')
        assert shown(Finding(problem, "a.yaml", 1, 1, "nme: A", 1))[3] == 'help: did you mean "name"?'

    def test_what_concerns_a_whole_file_has_no_line(self) -> None:
        gone = unread(Unreadable("gone.yaml", 0, 0, "no such file or directory"))
        assert shown(gone) == ["gone.yaml: error unreadable: no such file or directory", ""]

    def test_what_cannot_be_read_is_shown_like_any_finding(self) -> None:
        finding = unread(Unreadable("a.yaml", 2, 1, "not YAML", "quote it", "@ b"))
        assert shown(finding) == ["a.yaml:2:1: error unreadable: not YAML", "2 | @ b", "  | ^", "help: quote it", ""]

    def test_colours_set_levels_apart(self) -> None:
        finding = Finding(PROBLEM, "a.yaml", 1, 1, "name: A", 1)
        error, _, caret, _ = shown(finding, color=True)
        assert error.startswith("\x1b[1ma.yaml:1:1:\x1b[0m \x1b[1;31merror\x1b[0m dns-label: ")
        assert caret.endswith("\x1b[1;31m^^^^\x1b[0m")
        warning = shown(finding._replace(problem=Problem(WARNING, "r", "R", Path(), "m")), color=True)
        assert "\x1b[1;33mwarning\x1b[0m" in warning[0]

    @each_row(
        ("line", "column", "caret"),
        ("\tname: A", 2, "  |  ^^^^"),
        ("日本: A", 1, "  | ^^^^"),
        ("a: {日本: B}", 5, "  |     ^^^^"),
        ("e\u0301: A", 4, "  |   ^"),
        ('"a b": A', 1, "  | ^^^^^"),
        ("{'a b': A}", 2, "  |  ^^^^^"),
        ("a: [ ]", 4, "  |    ^"),
        ("a:", 9, "  |   ^"),
    )
    def test_the_caret_stands_below_what_it_means(self, line: str, column: int, caret: str) -> None:
        assert shown(Finding(PROBLEM, "a.yaml", 1, column, line, 1))[2] == caret

    @each_row("column", 1, 200, 100_000)
    def test_of_a_long_line_only_what_is_near_is_shown(self, column: int) -> None:
        line = "x" * 100_000
        _, text, caret, _ = shown(Finding(PROBLEM, "a.json", 1, column, line, 1))
        assert len(text) <= MAX_LINE + len("1 | ……")
        assert "^" in caret
        assert len(caret) <= len(text)

    def test_a_line_is_cut_to_the_terminal(self) -> None:
        finding = Finding(PROBLEM, "a.yaml", 12, 50, "x" * 49 + "name: A" + "y" * 200, 1)
        _, line, caret, *_ = [line for line in as_text([finding], Style(width=60)) if not line.startswith("    ")]
        assert len(line) <= 60
        assert caret.rstrip().endswith("^^^^")
        assert line[caret.index("^") :].startswith("name: A")

    def test_a_long_message_keeps_its_beginning_and_its_end(self) -> None:
        problem = invalid(Path(("spec",)), {"data": "x" * 10_000}, "field is immutable")
        text = shown(Finding(problem, "a.yaml", 1, 1, "", 1))[0]
        assert len(text) < MAX_MESSAGE + 50
        assert 'spec: Invalid value: {"data":"xxx' in text
        assert text.endswith('x"}: field is immutable')

    def test_nothing_in_a_file_can_write_to_the_terminal_but_text(self) -> None:
        problem = Problem("error", "r", "R", Path(("a\x1b[2J",)), "b\x07", "c\x9b")
        lines = shown(Finding(problem, "d\x1b]0;.yaml", 1, 1, "e\r\x1b[1A\u202e", 1))
        assert all(line.isprintable() for line in lines)
        assert lines[0] == r"d\x1b]0;.yaml:1:1: error r: a\x1b[2J: b\x07"

    @given(st.text(), st.text(max_size=300), st.integers(1, 320))
    def test_any_line_and_message_can_be_shown(self, message: str, line: str, column: int) -> None:
        problem = Problem("error", "r", "R", Path(("a", 0)), message, message)
        for text in shown(Finding(problem, message, 1, column, line, 1)):
            text.encode()
            assert text.isprintable()


class TestFound:
    def test_a_problem_is_found_at_its_field(self) -> None:
        finding = found(PROBLEM, document("kind: A\nspec:\n  name: A\n"), "1.30")
        assert (finding.file, finding.line, finding.column, finding.text) == ("claim.yaml", 3, 3, "  name: A")
        assert (finding.document, finding.kubernetes) == (1, "1.30")

    def test_what_is_missing_is_found_where_it_should_be(self) -> None:
        finding = found(required(Path() / "spec" / "name"), document("kind: A\nspec:\n  other: A\n"))
        assert (finding.line, finding.text) == (2, "spec:")

    @each_row(
        ("obj", "expected"),
        (None, Identity()),
        ([1], Identity()),
        ({"apiVersion": 1, "kind": None, "metadata": "x"}, Identity()),
        ({"apiVersion": "v1", "kind": "A", "metadata": {"name": "b", "namespace": "c"}}, Identity("v1", "A", "c", "b")),
    )
    def test_any_value_says_which_object_it_is_as_far_as_it_can(self, obj: object, expected: Identity) -> None:
        assert identity(obj) == expected


class TestSummary:
    @each_row(
        ("levels", "expected"),
        ((), "1 document in 1 file: no problems"),
        (("error",), "2 documents in 2 files: 1 error"),
        (("error", "warning", "error"), "2 documents in 2 files: 2 errors, 1 warning"),
        (("warning", "warning"), "2 documents in 2 files: 2 warnings"),
    )
    def test_it_counts_what_was_found(self, levels: tuple[str, ...], expected: str) -> None:
        assert summary(report(*(finding(level=level) for level in levels))) == expected

    @each_row(
        ("fixes", "expected"),
        ([True, True, None], "fixable: 2 with --fix"),
        ([False], "fixable: 1 with --fix --unsafe-fixes"),
        ([True, False, False], "fixable: 1 with --fix, 2 more with --fix --unsafe-fixes"),
    )
    def test_it_counts_what_could_be_fixed(self, fixes: list[bool | None], expected: str) -> None:
        made = report(*(finding(fix=None if safe is None else Fix("quote", safe=safe)) for safe in fixes))
        assert summary(made).splitlines()[1:] == [expected]
        made.is_fixed = True
        assert len(summary(made).splitlines()) == 1

    @each_row(
        ("skipped", "expected"),
        (
            {("v1", "Service"): 1, ("v1", "ConfigMap"): 3, ("a.io/v2", "B"): 1, ("", ""): 1},
            "; 6 skipped (of other kinds: 3 ConfigMap, 1 plain data, 1 B of a.io/v2, 1 Service)",
        ),
        (
            {("b.io/v1", ""): 2, ("a.io/v2", ""): 3, ("", "Pod"): 1, ("v1", "Node"): 4},
            "; 10 skipped (of other kinds: 5 without kind, 4 Node, 1 Pod without apiVersion)",
        ),
        ({("v1", f"K{number:02}"): 1 for number in range(20)}, ", 1 K07, …)"),
    )
    def test_it_names_the_kinds_that_were_skipped_the_most_frequent_first(self, skipped: Any, expected: str) -> None:
        made = report()
        made.skipped.update(skipped)
        assert summary(made).endswith(expected)


PRINTED = """\
version: 1
files: [clean.yaml, a.yaml]
findings:
- {file: a.yaml, document: 1, line: 2, column: 3, level: error, rule: dns-label, reason: FieldValueInvalid,
   help: 'https://github.com/draguard/draguard/blob/main/docs/rules/README.md#dns-label', field: spec.name,
   message: 'Invalid value: "A": must be lower case', hint: '', fix: null, apiVersion: v1, kind: Pod, namespace: ns,
   name: pod, rendered: false, placed: false, written: '', template: '', kubernetes: '1.30', releases: ['1.30'],
   fingerprint: '257dffa74cdb34f33c66093a19b06c20:1', policy: null, suppression: null}
suppressed: []
fixed: []
remarks: []
summary: {kubernetes: [], files: 2, documents: 3, judged: 1, errors: 1, warnings: 0, notes: 0, suppressed: 0,
          skipped: [{apiVersion: v1, kind: ConfigMap, documents: 2}], withoutClaims: 0, notRead: []}
"""


class TestJson:
    def test_it_is_one_object_of_files_findings_and_a_summary(self) -> None:
        about = Identity("v1", "Pod", "ns", "pod")
        made = report(Finding(PROBLEM, "a.yaml", 2, 3, "  name: A", 1, about, "1.30"))
        made.documents = 3
        made.skipped["v1", "ConfigMap"] += 2
        assert shown_as("json", made) == yaml.safe_load(PRINTED)

    @each_row(("path", "value"), ((), "x" * 10_000), (("\ud800",), ""))
    def test_long_messages_are_whole_and_half_a_surrogate_pair_does_not_end_it(self, path: Any, value: str) -> None:
        made = report(Finding(invalid(Path(path), value, "d"), "a.yaml", 1, 1, "", 1))
        (found,) = shown_as("json", made)["findings"]
        assert (found["field"], value in found["message"]) == ("".join(path), True)


class TestFingerprints:
    def test_a_finding_is_the_same_on_another_line_and_in_another_file(self) -> None:
        first = found(PROBLEM, document("kind: K\nmetadata: {name: a}\nspec: {name: A}"))
        again = first._replace(file="b.yaml", line=9, column=2, kubernetes="1.30")
        assert first.fingerprint == again.fingerprint == ("dns-label", "K", "", "a", "", "spec.name")

    def test_an_object_without_a_name_is_known_by_its_file(self) -> None:
        assert found(PROBLEM, document("kind: K")).fingerprint == ("dns-label", "K", "", "", "claim.yaml", "spec.name")

    def test_findings_of_different_policies_are_distinguished(self) -> None:
        finding = found(PROBLEM, document("kind: K"))._replace(origin=Origin("ValidatingAdmissionPolicy", "owner"))
        assert finding.fingerprint.rule == "dns-label/owner"


MANY = MAX_ALIKE + 5


def of(number: int, message: str = "m", **more: str) -> Finding:
    each = finding(message, **more, line=number, identity=Identity("v1", "Pod", "", f"p{number}"))
    return each._replace(problem=each.problem._replace(path=Path(("items", number, "name"))))


def test_the_last_one_that_is_shown_tells_how_many_more_there_are() -> None:
    shown = list(first_ones([of(number) for number in range(MANY)]))
    assert [(each.line, more) for each, more in shown] == [(number, 5 * (number == 9)) for number in range(MAX_ALIKE)]


@each_row(("message", "count"), ("Pod p{}: m", MAX_ALIKE), ("{}", MANY), ("m of p{}", MANY))
def test_findings_that_differ_but_for_their_object_are_all_shown(message: str, count: int) -> None:
    assert len(list(first_ones([of(number, message.format(number)) for number in range(MANY)]))) == count


def test_findings_in_other_files_are_shown() -> None:
    assert len(list(first_ones([of(number, file=f"{number}.yaml") for number in range(MANY)]))) == MANY


def test_text_leaves_them_out_and_others_do_not() -> None:
    made = report(*(of(number) for number in range(MANY)))
    lines = {name: list(lines_of(name, made, Style())) for name in ("text", "concise", "json")}
    assert sum("a.yaml:" in line for line in lines["text"]) == MAX_ALIKE
    assert lines["text"].index("note: 5 more findings like this; --output concise lists all") > 0
    assert len(lines["concise"]) == MANY
    assert len(json.loads("\n".join(lines["json"]))["findings"]) == MANY
    made.releases += ("1.33", "1.36")
    assert sum("a.yaml:" in line for line in as_text(made.findings)) == MANY  # as of commands without --output
    table = [line for line in lines_of("text", made, Style()) if "  error" in line]
    assert len(table) == MAX_ALIKE


def test_a_long_hint_is_shown_at_the_first_finding_that_has_it() -> None:
    long = "change it: " + "x" * 120
    lines = list(as_text([of(1, hint=long), of(2, hint="change it"), of(3, hint=long), of(4, hint="change it")]))
    hints = [line.removeprefix("help: ") for line in lines if line.startswith("help: ")]
    assert hints == [long, "change it", "as at a.yaml:1:3", "change it"]


LINES = st.lists(st.sampled_from(["a", "b", "c: d", ""]), max_size=30)


@given(LINES, LINES, LINES, LINES)
@examples(200)
def test_diffs_are_those_of_difflib_and_of_large_files_lead_from_one_to_the_other(
    same: list[str], before: list[str], after: list[str], last: list[str]
) -> None:
    was, now = ([f"{line}\n" for line in (*same, *changed, *last)] for changed in (before, after))
    assert unified("a", "".join(was), "".join(now)) == list(unified_diff(was, now, "a", "a"))
    for most in (0, 20):
        with patch.object(diff, "_MOST_STEPS", most):
            lines = unified("a", "".join(was), "".join(now))
        assert patched_with(was, lines) == now


def patched_with(was: list[str], lines: list[str]) -> list[str]:
    """Apply a unified diff."""
    now: list[str] = []
    place = 0
    for line in lines[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            now += was[place : (place := int(start) - (count != "0"))]
            continue
        if line[0] != "+":
            assert was[place] == line[1:]
            place += 1
        if line[0] != "-":
            now.append(line[1:])
    return now + was[place:]


def test_many_changes_take_no_longer() -> None:
    steps = []
    for count in (500, 1_000):
        was = [f"kind: A\nname: {number // 2}\nspec:\n  a: 1\n---\n" for number in range(count)]
        with counting() as counted:
            lines = unified("a", "".join(was), "".join(each.replace("  a", "  b:\n    a") for each in was))
        steps.append(counted())
        changed = [line for line in lines[2:] if line[0] in "-+"]
        assert changed == ["-  a: 1\n", "+  b:\n", "+    a: 1\n"] * count
    assert steps[1] < 3 * steps[0]


@pytest.mark.slow
def test_lines_that_repeat_take_no_longer() -> None:
    steps = []
    for count in (10_000, 20_000):
        inside = "".join(f"# {number % 101}\n" for number in range(count)) + "---\n"
        with counting() as counted:
            lines = unified("a", f"a: 1\n{inside}b: 1\n", f"a: 2\n{inside}b: 2\n")
        steps.append(counted())
        changed = [line for line in lines[2:] if line[0] in "-+"]
        assert changed == ["-a: 1\n", "+a: 2\n", "-b: 1\n", "+b: 2\n"]
    assert steps[1] < 3 * steps[0]


@each_row(
    ("hints", "said"),
    (("a", "a", "a"), "a"),
    (("", "", ""), ""),
    (
        ("Kubernetes 1.28 has a; b", "Kubernetes 1.31 has c; b", "Kubernetes 1.36 has c; b"),
        "Kubernetes 1.28 has a; each of Kubernetes 1.31 and 1.36 has c; b",
    ),
    (("a", "b", "b"), "a (1.28); b (1.31, 1.36)"),
    (("", "a", "a; b"), "a (1.31, 1.36); b (1.36)"),
)
def test_hints_that_differ_name_their_releases(hints: tuple[str, ...], said: str) -> None:
    (found,) = merged([report(finding(hint=hint)) for hint in hints], ["1.28", "1.31", "1.36"]).findings
    assert (found.problem.hint, found.releases) == (said, ("1.28", "1.31", "1.36"))


@each_row(("values", "kept"), ("ab", None), ("aa", Fix("replace", "a")))
def test_a_fix_for_some_releases_is_left_out(values: str, kept: Fix | None) -> None:
    reports = [report(finding(fix=Fix("replace", value))) for value in values]
    (found,) = merged(reports, ["1.28", "1.31"]).findings
    assert found.problem.fix == kept
