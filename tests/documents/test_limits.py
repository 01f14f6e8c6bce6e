"""Documents are bounded in depth, values and size."""

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.documents.reading import CLAIM, documents, faults, messages, objects, readable, value
from tests.rows import each_row
from webhook.check.expressions import located
from webhook.documents import Position, Unreadable, compose, jsontext, parse
from webhook.documents.document import read_nodes
from webhook.documents.jsontext import TOKEN, decoded
from webhook.documents.source import MAX_BYTES, MAX_DEPTH, MAX_TAG_DIRECTIVES, ContentError
from webhook.findings import Finding, found
from webhook.problem import ERROR, Path, Problem

TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


class TestLimits:
    @each_row("shape", "[{}]", '{{"a":{}}}')
    def test_depth_is_bounded(self, shape: str) -> None:
        deepest = "1"
        for _ in range(MAX_DEPTH):
            deepest = shape.format(deepest)
        assert len(objects(deepest)) == 1
        assert messages(shape.format(deepest)) == [TOO_DEEP]

    @each_row("text", '{"a":' * 900 + "1" + "}" * 900, '{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    def test_depth_is_bounded_in_json_too(self, text: str) -> None:
        assert messages(text + '{"b": 2}') == [TOO_DEEP]
        assert readable(text + '{"b": 2}') == [{"b": 2}]

    def test_values_are_bounded_and_brackets_in_texts_are_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        texts = ("- {}\n" * 20, '{"a":[{},{},{},{},{},{},{},{},{},{}]}', "a: b\n" * 20)
        assert not any("keys and values" in message for text in texts for message in messages(text))
        for module in (compose, jsontext):
            monkeypatch.setattr(module, "MAX_VALUES", 10)
        assert all("keys and values in one document" in messages(text)[0] for text in texts)
        assert len(objects('{"a": "' + "[,{" * 20 + '"}')) == 1

    @each_row("text", '{"a": [1, {"b": 2}]}', "a: [1, {b: 2}]\n")
    def test_what_locates_values_keeps_no_text_until_garbage_is_collected(self, text: str) -> None:
        is_json, whole = text.startswith("{"), (0, len(text))
        read_nodes(text, whole, is_json=is_json)  # imports make circles
        gc.collect()
        gc.disable()
        try:
            read_nodes(text, whole, is_json=is_json)
            assert gc.collect() == 0
        finally:
            gc.enable()

    @each_row("unit", "[", "[ ", "[[x], ", "[{a: ", "{b: ", "&a [", "!a [")
    @each_row("before", "", "a: ", "- - ", "# [{\na: '[{'\nb: ")
    @each_row("repeated", MAX_DEPTH + 1, 1_000, 1_100, 100_000)
    def test_depth_without_end_is_refused_at_once(self, unit: str, before: str, repeated: int) -> None:
        assert messages(before + unit * repeated) == [TOO_DEEP]

    def test_depth_is_refused_where_it_begins_and_texts_and_comments_have_none(self) -> None:
        assert messages("- " * 100_000) == messages('{"a":' * 100_000) == [TOO_DEEP]
        for brackets in ("[" * 1100, "[" * 1100 + "]" * 1100):
            assert faults(f"a: 1\nb: {brackets}\n")[0][:2] == (2, 3 + MAX_DEPTH)
        for before in ("# " + "[" * 1100 + "\n", "a: '" + "[{" * 1100 + "'\n"):
            assert messages(before + "b: [\n") == messages("b: [\n")

    def test_blocks_aliases_and_directives_are_bounded_too(self) -> None:
        text = "\n".join(" " * level + "a:" for level in range(MAX_DEPTH))
        assert len(objects(text)) == 1
        assert len(faults(text + "\n" + " " * MAX_DEPTH + "b: 1")) == 1
        text = "".join(f"a{n}: &a{n} [[[[[[[[[[{f'*a{n - 1}' if n else 'x'}]]]]]]]]]]\n" for n in range(30))
        assert messages(text) == [TOO_DEEP]
        tags = [f"%TAG !{number}! tag:x,{number}:\n" for number in range(MAX_TAG_DIRECTIVES + 1)]
        assert "%TAG" not in messages("".join(tags[1:]) + "---\na: 1\n")[0]
        assert messages("".join(tags) + "---\na: 1\n")[0] == "too many %TAG directives"
        assert len(objects("a: |\n" + "  %TAG\n" * 200)) == 1

    def test_size_is_bounded(self) -> None:
        (found,) = parse(b" " * (MAX_BYTES + 1), "large.yaml")
        hint = "the limit is 128 MiB for each file: split it at a line of ---"
        assert found == Unreadable("large.yaml", 1, 1, "larger than 128 MiB: nothing in it is judged", hint)

    def test_texts_take_no_more_than_their_share_and_places_in_long_ones_are_those_in_short_ones(self) -> None:
        assert len(value("a: x\n" + "  x\n" * 50_000)["a"]) == 100_001
        padding = "# é\n" * 300_000
        (found,) = documents(padding + CLAIM)
        assert found.position(("metadata", "name")) == Position(300_004, 3)
        assert faults(padding + "a: [\n")[0][:2] == (300_002, 1)

    def test_the_bytes_of_a_file_are_not_kept_beside_its_text(self) -> None:
        data = (CLAIM + "---\n").encode() * 3
        before = sys.getrefcount(data)
        found = parse(data)
        assert sys.getrefcount(data) == before
        assert len(list(found)) == 3


def took(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def peak(work: Callable[[], object]) -> int:
    """Return the most memory that some work takes."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@pytest.mark.slow
def test_memory_of_a_token_does_not_grow_with_its_escapes() -> None:
    text = '"' + "\\n" * 200_000 + '"'
    assert TOKEN.match(text)
    assert peak(lambda: TOKEN.match(text)) < len(text)


@pytest.mark.slow
@pytest.mark.parametrize("start", ['{"a": "', "[" * 10_000 + '"'])
@pytest.mark.parametrize("end", ["", "\\"])
def test_a_string_without_end_is_looked_at_once(start: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "MAX_VALUES", 20_000)

    def read() -> None:
        for more in ("," * 20_000, ""):
            with suppress(ContentError):
                next(decoded(start + '\\"' * 200_000 + more + end))

    assert took(read) < 2


def problem(field: str, message: str) -> Problem:
    return Problem(ERROR, "rule", "", Path((field,)), message)


@pytest.mark.slow
def test_findings_share_the_memory_of_a_long_line() -> None:
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    text = json.dumps({"kind": "List", "items": [{**claim, "spec": {f"a{number}": 1}} for number in range(2_000)]})
    read, findings = documents(text), list[Finding]()
    assert peak(lambda: findings.extend(found(problem("spec", "wrong"), each) for each in read)) < 50 * len(text)
    assert [each.text for each in findings] == [""] * 2_000


@pytest.mark.slow
@pytest.mark.parametrize("expression", ["device.driver ==", "device.nothing"])
def test_an_expression_in_a_long_line_is_located_without_copies_of_the_line(expression: str) -> None:
    items = [{"kind": "X", "expression": expression}] * 1_000
    read, columns = documents(json.dumps({"kind": "List", "items": items, "z": " " * (1 << 22)})), list[int]()
    wrong = problem("expression", "Syntax error: <EOF>")
    assert took(lambda: columns.extend(located(wrong, each).column for each in read)) < 1
    assert columns == sorted({*columns})
    assert len(columns) == 1_000


@pytest.mark.slow
def test_many_positions_in_a_simple_document_take_linear_time() -> None:
    names = [f"key-{number}" for number in range(10_000)]
    (document,) = documents("spec:\n" + "".join(f"  {name}: 1\n" for name in names))
    lines: list[int] = []
    assert took(lambda: lines.extend(document.position(("spec", name)).line for name in names)) < 5
    assert lines == list(range(2, 10_002))


@pytest.mark.slow
def test_few_of_thousands_of_quotations_are_looked_for() -> None:
    (document,) = documents(json.dumps({"kind": "X", "expression": "+".join(f"u{each}" for each in range(1_500))}))
    wrong = problem("expression", " ".join(f'"absent{number}"' for number in range(3_000)))
    assert took(lambda: [located(wrong, document) for _ in range(20)]) < 2
