"""The documents of manifests, their order and positions."""

import codecs
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import draguard
from tests.documents.reading import CLAIM, documents, exactly, faults, objects, outcomes, readable, unreadable, value
from tests.rows import each_row
from tests.structured import CLAIM as APPLIED
from tests.structured import claim
from webhook.documents import Document, Position, Unreadable, parse


class TestStreams:
    @each_row("text", "\n \n", "null\n---\n~\n", "kind: PodList\nitems: []\n", "kind: PodList\nitems: null\n")
    def test_what_is_empty_is_left_out(self, text: str) -> None:
        assert objects(text) == []

    def test_a_document_is_numbered_and_no_error_hides_one(self) -> None:
        for text in ("---\n# nothing\n---\na: 1\n---\nb: [\n---\nc: 3\n", "a: 1\n---\na: 1\na: 2\n---\na: 3\n"):
            assert [each.index for each in parse(text) if isinstance(each, Document)] == [0, 2]
        assert outcomes("a: 1\n---\nb: 2\n---\nc: [\n---\nd: 4\n") == [{"a": 1}, {"b": 2}, 6, {"d": 4}]

    @each_row(("line", "said"), ("--- a: 1", "a: 1"), ("--- |", "|"), ("----", "-"), ("---x", "x"))
    def test_a_separator_takes_nothing_but_a_comment(self, line: str, said: str) -> None:
        text = f"a: 1\n{line}\nlost: 1\n---\nb: 2\n"
        assert readable(text) == [{"a": 1}, {"b": 2}]
        assert faults(text) == [(2, 1, f"invalid Yaml document separator: {said}")]

    @each_row("text", "a: 1\n...\nb: 2\n", "a: 1\n...\n[\n", "{a: 1}\n\n}\n")
    def test_what_kubernetes_ignores_after_a_document_is_pointed_out(self, text: str) -> None:
        assert readable(text) == [{"a": 1}]
        assert faults(text) == [(3, 1, "Kubernetes' reader ignores what follows the end of a document")]

    @each_row("text", "a: 1\n...\n", "a: 1\n...\n# c\n", "a: 1\n...\n---\n")
    def test_the_end_of_a_document_may_be_marked(self, text: str) -> None:
        assert value(text) == {"a": 1}

    @each_row("text", "%YAML 1.1\n---\na: 1\n", "%TAG ! tag:x,2000:\n---\na: 1\n")
    def test_directives_are_refused_as_kubectl_parts_them_from_their_document(self, text: str) -> None:
        assert [found[2] for found in faults(text)] == ["did not find expected <document start>"]

    @each_row(
        "data",
        codecs.BOM_UTF8 + CLAIM.encode(),
        codecs.BOM_UTF16_LE + CLAIM.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + CLAIM.encode("utf-16-be"),
        CLAIM.replace("\n", "\r\n").encode(),
        CLAIM.replace("\n", "\r").encode(),
    )
    def test_byte_order_marks_and_line_breaks_of_other_systems_do_no_harm(self, data: bytes) -> None:
        assert objects(data) == objects(CLAIM)

    def test_a_byte_order_mark_inside_of_a_document_is_text(self) -> None:
        (fault,) = unreadable("a: 1\n\ufeff---\nb: 2\n")
        assert (fault.line, fault.column) == (2, 1)
        assert fault.hint == "remove the byte order mark at the start of the line: only a document may begin with it"
        (read,) = objects("a: 1\n\ufeffb: 2\n")
        assert read.keys() == {"a", "\u2060b"}

    @each_row(
        ("data", "line", "column", "message"),
        (b"a: 1\nb: \xc3\xa9\xff", 2, 5, "not UTF-8 text: invalid start byte"),
        (codecs.BOM_UTF16_LE + b"a\0\n\0\0\xd8x\0", 2, 1, "not UTF-16-LE text: illegal UTF-16 surrogate"),
        (b"a: 1\nb: x\0y", 2, 5, "control characters are not allowed: U+0000"),
    )
    def test_what_is_not_text_is_refused(self, data: bytes, line: int, column: int, message: str) -> None:
        assert faults(data) == [(line, column, message)]

    @each_row(("start", "hint"), (b"\x1f\x8b\x08", "unpack it first"), (b"\xe9", "save the file as UTF-8"))
    def test_an_archive_is_to_be_unpacked(self, start: bytes, hint: str) -> None:
        (fault,) = unreadable(start + b"\xff")
        assert fault.hint == hint


class TestSyntax:
    @each_row(
        ("text", "line", "column", "message"),
        ("a:\n\tb: 1", 2, 1, "found character that cannot start any token, while scanning for the next token"),
        ("a: b: c", 1, 5, "mapping values are not allowed in this context"),
        ("a: [1\nb: 2", 2, 2, "did not find expected ',' or ']', while parsing a flow sequence"),
        ("a: 'x", 1, 6, "found unexpected end of stream, while scanning a quoted scalar"),
        ("a: [x?y]", 1, 5, "did not find expected ',' or ']'"),
        ("a: {x?: y}", 1, 5, "did not find expected ',' or '}'"),
        ('a: "\\/"', 1, 4, "found unknown escape character"),
        ("a: {{ .Values.a }}", 1, 5, "invalid map key"),
    )
    def test_errors_say_what_and_where(self, text: str, line: int, column: int, message: str) -> None:
        assert faults(text) == [(line, column, message)]

    @each_row("text", "'\\/'", '"a/b"', '"\\\\/"', "a\\/b")
    def test_a_slash_is_a_slash_where_nothing_escapes_it(self, text: str) -> None:
        assert "/" in value(f"a: {text} # \\/")["a"]

    @each_row(
        ("text", "hint"),
        ("a: {{ .Values.a }}", "if this is a template, render it first, for example with helm template"),
        ("{{- if .Values.a }}\na: [\n", "if this is a template, render it first, for example with helm template"),
        ("a: b: c", 'quote a string that holds ": ", and check the indentation'),
        ("a: *b", "quote a string that starts with *"),
    )
    def test_errors_say_how_to_fix_them(self, text: str, hint: str) -> None:
        assert [each.hint for each in unreadable(text)] == [hint]

    def test_the_line_is_shown_unless_it_is_too_long_for_that(self) -> None:
        (found,) = parse("a: 1\r\nb: 2: 3\r\n", "claims.yaml")
        message = "mapping values are not allowed in this context"
        hint = 'quote a string that holds ": ", and check the indentation'
        assert found == Unreadable("claims.yaml", 2, 5, message, hint, "b: 2: 3")
        (long,) = unreadable('{"a": "' + "x" * 5000 + '", "a": 1}')
        assert (long.line, long.excerpt) == (1, "")


class TestLists:
    def test_a_list_stands_for_its_items(self) -> None:
        text = f"apiVersion: v1\nkind: List\nitems:\n- {CLAIM.replace(chr(10), chr(10) + '  ')}\n- kind: Other\n"
        first, second = documents(text)
        assert first.data == value(CLAIM)
        assert second.data == {"kind": "Other"}
        assert first.position(("metadata", "name")) == Position(7, 5)
        assert second.position() == second.position(("spec",)) == Position(9, 3)

    def test_the_items_of_a_typed_list_get_its_type_and_those_of_a_plain_one_none(self) -> None:
        text = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimList, items: [{metadata: {}}, {kind: X}]}"
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {}}
        assert objects(text) == [claim, {"kind": "X"}]
        assert objects("apiVersion: v1\nkind: List\nitems: [{a: 1}, null, 5]\n") == [{"a": 1}, None, 5]

    def test_lists_of_lists_are_taken_apart(self) -> None:
        text = '{"kind": "List", "items": [{"kind": "List", "items": [\n{"a": 1}]}, {"b": 2}]}'
        first, second = documents(text)
        assert (first.data, first.position(("a",))) == ({"a": 1}, Position(2, 2))
        assert (second.data, second.position(("b",))) == ({"b": 2}, Position(2, 14))

    @each_row("text", "kind: List", "kind: List\nitems: {}", "kind: Pod\nitems: []", "kind: 5\nitems: []")
    def test_other_values_than_lists_stay_whole(self, text: str) -> None:
        assert len(objects(text)) == 1


class TestPositions:
    TEXT = """\
# A claim.
metadata: {name: x, labels: {"a b": c}}
spec:
  devices:
    requests:
    - name: gpu
      count: 1
    -   name: nic
    - [1, {x: y}]
    text: |
      x
    merged: &m {p: 1}
    again: *m
    <<: [{q: 1}, {q: 2, r: 3}]
    ? s
    : 4
    1.0: 5
    t: &key u
    *key : 6
---
second: 1
"""

    @each_row(
        ("path", "line", "column"),
        ((), 2, 1),
        (("metadata",), 2, 1),
        (("metadata", "name"), 2, 12),
        (("metadata", "labels", "a b"), 2, 30),
        (("spec", "devices"), 4, 3),
        (("spec", "devices", "requests", 0), 6, 7),
        (("spec", "devices", "requests", 0, "count"), 7, 7),
        (("spec", "devices", "requests", 1), 8, 9),
        (("spec", "devices", "requests", 2, 1, "x"), 9, 12),
        (("spec", "devices", "text"), 10, 5),
        (("spec", "devices", "again"), 13, 5),
        (("spec", "devices", "again", "p"), 12, 17),
        (("spec", "devices", "q"), 14, 11),
        (("spec", "devices", "r"), 14, 25),
        (("spec", "devices", "s"), 15, 7),
        (("spec", "devices", "1"), 17, 5),
        (("spec", "devices", "u"), 19, 5),
        (("status",), 2, 1),
        (("spec", "nodeName"), 3, 1),
        (("spec", "devices", "requests", 9, "name"), 5, 5),
        (("spec", "devices", "requests", -1), 5, 5),
        (("spec", "devices", "requests", "name"), 5, 5),
        (("spec", 0), 3, 1),
        (("spec", "devices", "text", "x", 1), 10, 5),
    )
    def test_a_field_is_at_its_key_an_item_at_its_start_and_what_is_missing_where_it_would_belong(
        self, path: tuple[str | int, ...], line: int, column: int
    ) -> None:
        assert documents(self.TEXT)[0].position(path) == Position(line, column)

    def test_positions_count_characters_and_line_feeds_from_the_start_of_the_file(self) -> None:
        assert documents(self.TEXT)[1].position(("second",)) == Position(21, 1)
        assert documents('{é: "\U0001f600", b: 1}')[0].position(("b",)) == Position(1, 10)
        assert documents("a: 'x\u2028y\x85'\nb: 1\n")[0].position(("b",)) == Position(2, 1)

    def test_positions_in_json(self) -> None:
        text = '{"x": 1}\n{"a": {"b": [1, {"c d": "x,y"}]},\n "e": "\\ud800", "\\ud800": 5}'
        document = documents(text)[1]
        assert document.position(()) == Position(2, 1)
        assert document.position(("a", "b", 1)) == Position(2, 17)
        assert document.position(("a", "b", 1, "c d")) == Position(2, 18)
        assert document.position(("a", "b", 7)) == Position(2, 8)
        assert document.position(("\ufffd",)) == Position(3, 17)

    def test_a_document_knows_its_source_and_lines_without_their_breaks(self) -> None:
        assert [each.source for each in parse("a: 1", "claims.yaml")] == ["claims.yaml"]
        (document,) = documents("a: 1\r\nb: 2\n\n")
        assert [document.file.line(number) for number in range(6)] == ["", "a: 1", "b: 2", "", "", ""]


class TestJSON:
    def test_a_text_that_starts_with_a_brace_is_a_row_of_json_values(self) -> None:
        assert objects(' \n{"a": 1}{"b": 2}\n\n{"c": 3} \n') == [{"a": 1}, {"b": 2}, {"c": 3}]
        assert objects('{"a": 1} null 5 {"b": 2}') == [{"a": 1}, 5, {"b": 2}]

    def test_json_numbers_stay_as_they_are_written(self) -> None:
        text = '{"a": [1.0, 1e3, -0, 9223372036854775808, 18446744073709551615, 18446744073709551616, 0.5]}'
        expected = [1.0, 1000.0, 0, 9223372036854775808, 18446744073709551615, 18446744073709551616.0, 0.5]
        assert exactly(value(text), {"a": expected})

    @each_row("number", "1e400", "-1e400", "9" * 400)
    def test_a_number_that_float64_does_not_hold_is_refused(self, number: str) -> None:
        text = f'{{"b": [1, "x", {number}]}}{{"c": 2}}'
        message = f"json: cannot unmarshal number {number[:40]} into Go value of type float64"
        assert faults(text) == [(1, 16, message)]
        assert readable(text) == [{"c": 2}]

    def test_a_repeated_field_is_refused_with_its_path_and_both_lines(self) -> None:
        text = '{"a": [{"b": 1,\n  "b": 2}], "c": 1,\n  "c": 2}\n{"d": 1}'
        assert faults(text) == [
            (2, 3, 'duplicate field "a[0].b": on line 1 and again on line 2'),
            (3, 3, 'duplicate field "c": on line 2 and again on line 3'),
        ]
        assert readable(text) == [{"d": 1}]

    def test_half_a_surrogate_pair_is_replaced_as_in_go(self) -> None:
        text = r'{"a": "\ud800", "b": "\ud83d\ude00", "c": "\\ud800", "d": "\udc00\ud83d\ude00"}'
        assert value(text) == {"a": "\ufffd", "b": "\U0001f600", "c": "\\ud800", "d": "\ufffd\U0001f600"}

    @each_row("text", '{"a": 1,}', "{a: 1}", "{'a': 1}", '{"a": 1 # c\n}')
    def test_what_only_starts_like_json_is_yaml(self, text: str) -> None:
        assert value(text) == {"a": 1}

    def test_what_is_not_json_is_yaml_but_not_after_two_values(self) -> None:
        assert faults('{"a": 1}{"b": 2}\n---\nc: 3\n') == [(2, 1, "json: expecting value")]
        assert faults('{"a": [1, 2}') == [(1, 12, "did not find expected ',' or ']', while parsing a flow sequence")]
        assert faults('{"a": "\\ud83d\\ude00", "b": x}\n') == [(1, 28, "json: expecting value")]
        assert value('{"a": NaN, "b": Infinity}') == {"a": "NaN", "b": "Infinity"}
        assert faults('{"a": 1} {} {"b": NaN}') == [(1, 13, "json: NaN is not a value")]


def of_json(metadata: Any, requests: Any) -> str:
    """Write a claim as JSON."""
    return json.dumps(claim() | {"metadata": metadata, "spec": {"devices": {"requests": requests}}})


@each_row(
    ("text", "words", "of_yaml"),
    ('{"kind": "Pod" "spec": {}}', "while parsing an object", "while parsing a flow mapping"),
    ('[{"kind": "Pod"}', "while parsing an array", "while parsing a flow sequence"),
    (of_json(["a"], []), "help: write an object, with name", "help: write a map, with name"),
    (of_json({"labels": "a"}, []), "help: write an object: `", "help: write a map: a line"),
    (of_json({"name": "a"}, {"name": "g"}), "help: write an array: the entries", "help: write a list: a `-`"),
    (of_json({"name": "a"}, {"g": {}}), 'help: write an array: [{"name": …}]', "help: write a list: `- name: …`"),
)
def test_files_of_json_are_explained_in_its_words(text: str, words: str, of_yaml: str, tmp_path: Path) -> None:
    for name, expected in (("a.json", words), ("a.yaml", of_yaml)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert expected in draguard("validate", tmp_path / name).out


TABLE = "NAME     READY   STATUS    RESTARTS   AGE\npod-a    0/1     Pending   0          3m\n"
DESCRIBED = "Name:         node-a\nRoles:        <none>\nLabels:       a=b\n"
EVENTS = "Events:\n  ----     ----       ----    -------\n  Warning  Unhealthy  gpu-0   0/1 ready: a: b\n"
ADD = "this looks like kubectl's table: add -o yaml"
GET = "this looks like the output of kubectl describe: use kubectl get -o yaml"
LIST = "a list is not a manifest: write its items as documents, or as the items of a List"


@each_row(
    ("text", "hint", "command"),
    (TABLE, ADD, "validate CLUSTER"),
    (TABLE, ADD, "validate --cluster CLUSTER claim.yaml"),
    (TABLE, ADD, "validate --old CLUSTER claim.yaml"),
    (TABLE, ADD, "simulate --cluster CLUSTER"),
    (TABLE, ADD, "why pod-a --cluster CLUSTER"),
    (f"NAMESPACE   {TABLE}", ADD, "validate CLUSTER"),
    (TABLE.replace("\n", "\r\n"), ADD, "validate CLUSTER"),
    ("NAME READY STATUS\n", ADD, "validate CLUSTER"),
    (DESCRIBED, GET, "validate CLUSTER"),
    ('[{"apiVersion": "v1", "kind": "Pod"}]', LIST, "simulate --cluster CLUSTER"),
    ("- apiVersion: v1\n  kind: Pod\n", LIST, "validate CLUSTER"),
    ("Error: no\n", "", "why pod-a --cluster CLUSTER"),
    ("NAME of a person\n", "", "validate CLUSTER"),
)
def test_output_for_people_is_an_error_with_a_hint(
    text: str, hint: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claim.yaml").write_text(APPLIED, encoding="utf-8")
    (tmp_path / "cluster.txt").write_text(text, encoding="utf-8")
    for name, stdin, shown in (
        ("cluster.txt", b"", "cluster.txt:1:1: error unreadable: the file holds no manifest\n"),
        ("-", text.encode(), "<stdin>:1:1: error unreadable: standard input holds no manifest\n"),
    ):
        done = draguard(*command.replace("CLUSTER", name).split(), stdin=stdin)
        printed = done.out + done.err
        assert (done.code, shown in printed, f"help: {hint}\n" in printed) == (1, True, bool(hint))


def test_events_that_kubectl_describes_are_no_yaml() -> None:
    said = draguard("validate", "-", stdin=(DESCRIBED + EVENTS).encode()).out
    assert "mapping values are not allowed in this context\n" in said
    assert f"help: {GET}\n" in said


@each_row(("text", "codes"), ("{apiVersion: v1, kind: List, items: []}", [0, 0]), ("", [1, 0]))
def test_a_cluster_may_have_no_objects_but_its_file_is_not_empty(text: str, codes: list[int], tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text, encoding="utf-8")
    done = [draguard("validate", each, file, "-", stdin=APPLIED.encode()) for each in ("--cluster", "--old")]
    assert [each.code for each in done] == codes


RECORDED = [json.loads(line) for line in (Path(__file__).parent / "kubectl-1.33.jsonl").read_text("utf-8").splitlines()]


@each_row("case", *RECORDED)
def test_reads_what_kubectl_reads_and_refuses_the_rest_in_its_words(case: dict[str, Any]) -> None:
    found = readable(case["text"])
    refused = [message for _, _, message in faults(case["text"])]
    assert json.dumps(found, sort_keys=True) == json.dumps(case.get("objects", []), sort_keys=True)
    assert len(refused) == ("refused" in case)
    if refused:
        words = re.sub(r"^yaml: (line \d+: )?|: (%!s|uint64|\[|map\[).*", "", case["refused"])
        # For errors of JSON, Python's words are as good as Go's.
        assert words in refused[0] or refused[0].startswith("json: expecting ")
