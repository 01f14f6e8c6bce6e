"""Documents are bounded in depth, values and size."""

import gc
import json
import sys
import time
import tracemalloc
from contextlib import suppress

import pytest

from tests.documents.reading import CLAIM, documents, faults, objects, readable, value
from tests.rows import each_row
from webhook.check.expressions import located
from webhook.documents import Document, Position, Unreadable, compose, jsontext, parse
from webhook.documents.document import read_nodes
from webhook.documents.jsontext import TOKEN, decoded
from webhook.documents.source import MAX_BYTES, MAX_DEPTH, MAX_TAG_DIRECTIVES, ContentError
from webhook.findings import found
from webhook.problem import ERROR, Path, Problem


class TestLimits:
    @each_row("shape", "[{}]", '{{"a":{}}}')
    def test_depth_is_bounded(self, shape: str) -> None:
        deepest = "1"
        for _ in range(MAX_DEPTH):
            deepest = shape.format(deepest)
        assert len(objects(deepest)) == 1
        (fault,) = faults(shape.format(deepest))
        assert fault[2] == f"nested more than {MAX_DEPTH} levels deep"

    @each_row("text", '{"a":' * 900 + "1" + "}" * 900, '{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    def test_depth_is_bounded_in_json_too(self, text: str) -> None:
        assert [found[2] for found in faults(text + '{"b": 2}')] == [f"nested more than {MAX_DEPTH} levels deep"]
        assert readable(text + '{"b": 2}') == [{"b": 2}]

    @pytest.mark.parametrize("text", ["- {}\n" * 20, '{"a":[{},{},{},{},{},{},{},{},{},{}]}', "a: b\n" * 20])
    def test_values_are_bounded(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        assert not any("keys and values" in found[2] for found in faults(text))
        for module in (compose, jsontext):
            monkeypatch.setattr(module, "MAX_VALUES", 10)
        assert "keys and values in one document" in faults(text)[0][2]

    def test_brackets_in_texts_are_no_values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jsontext, "MAX_VALUES", 10)
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
        assert [found[2] for found in faults(before + unit * repeated)] == [f"nested more than {MAX_DEPTH} levels deep"]

    def test_depth_is_refused_where_it_begins_and_texts_and_comments_have_none(self) -> None:
        for unit in ("- ", '{"a":'):
            assert [found[2] for found in faults(unit * 100_000)] == [f"nested more than {MAX_DEPTH} levels deep"]
        for brackets in ("[" * 1100, "[" * 1100 + "]" * 1100):
            assert faults(f"a: 1\nb: {brackets}\n")[0][:2] == (2, 3 + MAX_DEPTH)
        for before in ("# " + "[" * 1100 + "\n", "a: '" + "[{" * 1100 + "'\n"):
            assert faults(before + "b: [\n")[0][2] == faults("b: [\n")[0][2]

    def test_blocks_aliases_and_directives_are_bounded_too(self) -> None:
        text = "\n".join(" " * level + "a:" for level in range(MAX_DEPTH))
        assert len(objects(text)) == 1
        assert len(faults(text + "\n" + " " * MAX_DEPTH + "b: 1")) == 1
        text = "".join(f"a{n}: &a{n} [[[[[[[[[[{f'*a{n - 1}' if n else 'x'}]]]]]]]]]]\n" for n in range(30))
        assert [found[2] for found in faults(text)] == [f"nested more than {MAX_DEPTH} levels deep"]
        tags = [f"%TAG !{number}! tag:x,{number}:\n" for number in range(MAX_TAG_DIRECTIVES + 1)]
        assert "%TAG" not in faults("".join(tags[1:]) + "---\na: 1\n")[0][2]
        assert faults("".join(tags) + "---\na: 1\n")[0][2] == "too many %TAG directives"
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


@pytest.mark.slow
@pytest.mark.no_cover
def test_memory_of_a_token_does_not_grow_with_its_escapes() -> None:
    text = '"' + "\\n" * 200_000 + '"'
    TOKEN.match("")
    tracemalloc.start()
    assert TOKEN.match(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(text)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("start", ['{"a": "', "[" * 10_000 + '"'])
@pytest.mark.parametrize("end", ["", "\\"])
def test_a_string_without_end_is_looked_at_once(start: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "MAX_VALUES", 20_000)
    started = time.process_time()
    with suppress(ContentError):
        next(decoded(start + '\\"' * 200_000 + "," * 20_000 + end))
    with suppress(ContentError):
        next(decoded(start + '\\"' * 200_000 + end))
    assert time.process_time() - started < 2


@pytest.mark.slow
@pytest.mark.no_cover
def test_findings_share_the_memory_of_a_long_line() -> None:
    objects = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {f"a{number}": 1}}
        for number in range(2_000)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    documents = list(parse(text, "list.json"))
    assert len(documents) == len(objects)
    tracemalloc.start()
    findings = [found(Problem(ERROR, "rule", "", Path(("spec",)), "wrong"), each) for each in documents]  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {each.text for each in findings} == {""}
    assert peak < 50 * len(text)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("expression", ["device.driver ==", "device.nothing"])
def test_an_expression_in_a_long_line_is_located_without_copies_of_the_line(expression: str) -> None:
    objects = [{"apiVersion": "v1", "kind": "X", "expression": expression} for _ in range(1_000)]
    documents = list(
        parse(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects, "z": " " * (1 << 22)}), "a.json")
    )
    problem = Problem(ERROR, "rule", "", Path(("expression",)), "Syntax error: <EOF>")
    started = time.process_time()
    columns = [located(problem, each).column for each in documents]  # type: ignore[arg-type]
    assert time.process_time() - started < 1
    assert columns == sorted(set(columns))


@pytest.mark.slow
@pytest.mark.no_cover
def test_many_positions_in_a_simple_document_take_linear_time() -> None:
    text = "spec:\n" + "".join(f"  key-{number}: {number}\n" for number in range(10_000))
    (document,) = parse(text)
    assert isinstance(document, Document)
    started = time.process_time()
    lines = [document.position(("spec", f"key-{number}")).line for number in range(10_000)]
    assert time.process_time() - started < 5
    assert lines == list(range(2, 10_002))


@pytest.mark.slow
@pytest.mark.no_cover
def test_few_of_thousands_of_quotations_are_looked_for() -> None:
    expression = "+".join(f"u{number}" for number in range(1_500))
    message = " ".join(f'"absent{number}"' for number in range(3_000))
    (document,) = parse(json.dumps({"apiVersion": "v1", "kind": "X", "expression": expression}))
    started = time.process_time()
    for _ in range(20):
        located(Problem(ERROR, "rule", "", Path(("expression",)), message), document)  # type: ignore[arg-type]
    assert time.process_time() - started < 2
