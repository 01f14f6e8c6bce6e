"""Documents are bounded in depth, values and size."""

import sys

import pytest

from tests.documents.reading import CLAIM, documents, faults, objects, value
from tests.rows import each_row
from webhook.documents import Document, Position, Unreadable, compose, jsontext, parse
from webhook.documents.source import MAX_BYTES, MAX_DEPTH, MAX_TAG_DIRECTIVES


class TestLimits:
    @pytest.mark.parametrize("shape", ["[{}]", '{{"a":{}}}'])
    def test_depth_is_bounded(self, shape: str) -> None:
        deepest = "1"
        for _ in range(MAX_DEPTH):
            deepest = shape.format(deepest)
        assert len(objects(deepest)) == 1
        (fault,) = faults(shape.format(deepest))
        assert fault[2] == f"nested more than {MAX_DEPTH} levels deep"

    @pytest.mark.parametrize("text", ['{"a":' * 900 + "1" + "}" * 900, '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"])
    def test_depth_is_bounded_in_json_too(self, text: str) -> None:
        found = list(parse(text + '{"b": 2}'))
        assert isinstance(found[0], Unreadable)
        assert found[0].message == f"nested more than {MAX_DEPTH} levels deep"
        assert [each.data for each in found[1:] if isinstance(each, Document)] == [{"b": 2}]

    @pytest.mark.parametrize("text", ["- {}\n" * 20, '{"a":[{},{},{},{},{},{},{},{},{},{}]}', "a: b\n" * 20])
    def test_values_are_bounded(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        assert not any("keys and values" in found[2] for found in faults(text))
        for module in (compose, jsontext):
            monkeypatch.setattr(module, "MAX_VALUES", 10)
        assert "keys and values in one document" in faults(text)[0][2]

    def test_brackets_in_texts_are_no_values(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jsontext, "MAX_VALUES", 10)
        assert len(objects('{"a": "' + "[,{" * 20 + '"}')) == 1

    def test_directives_are_bounded(self) -> None:
        tags = [f"%TAG !{number}! tag:x,{number}:\n" for number in range(MAX_TAG_DIRECTIVES + 1)]
        assert "%TAG" not in faults("".join(tags[1:]) + "---\na: 1\n")[0][2]
        assert faults("".join(tags) + "---\na: 1\n")[0][2] == "too many %TAG directives"
        assert len(objects("a: |\n" + "  %TAG\n" * 200)) == 1

    @each_row("unit", ["[", "[ ", "[[x], ", "[{a: ", "{b: ", "&a [", "!a ["])
    @each_row("before", ["", "a: ", "- - ", "# [{\na: '[{'\nb: "])
    @each_row("repeated", [MAX_DEPTH + 1, 1_000, 1_100, 100_000])
    def test_depth_without_end_is_refused_at_once(self, unit: str, before: str, repeated: int) -> None:
        assert [found[2] for found in faults(before + unit * repeated)] == [f"nested more than {MAX_DEPTH} levels deep"]

    @pytest.mark.parametrize("unit", ["- ", '{"a":'])
    def test_depth_that_no_parser_looks_ahead_for_is_refused_at_once(self, unit: str) -> None:
        assert [found[2] for found in faults(unit * 100_000)] == [f"nested more than {MAX_DEPTH} levels deep"]

    @pytest.mark.parametrize("brackets", ["[" * 1100, "[" * 1100 + "]" * 1100])
    def test_depth_is_refused_where_it_begins(self, brackets: str) -> None:
        assert faults(f"a: 1\nb: {brackets}\n")[0][:2] == (2, 3 + MAX_DEPTH)

    @pytest.mark.parametrize("before", ["# " + "[" * 1100 + "\n", "a: '" + "[{" * 1100 + "'\n"])
    def test_brackets_in_texts_and_comments_have_no_depth(self, before: str) -> None:
        assert faults(before + "b: [\n")[0][2] == faults("b: [\n")[0][2]

    def test_blocks_are_as_bounded_as_brackets(self) -> None:
        text = "\n".join(" " * level + "a:" for level in range(MAX_DEPTH))
        assert len(objects(text)) == 1
        assert len(faults(text + "\n" + " " * MAX_DEPTH + "b: 1")) == 1

    def test_aliases_do_not_go_around_the_bound(self) -> None:
        text = "".join(f"a{n}: &a{n} [[[[[[[[[[{f'*a{n - 1}' if n else 'x'}]]]]]]]]]]\n" for n in range(30))
        assert [found[2] for found in faults(text)] == [f"nested more than {MAX_DEPTH} levels deep"]

    def test_size_is_bounded(self) -> None:
        (found,) = parse(b" " * (MAX_BYTES + 1), "large.yaml")
        hint = "the limit is 128 MiB for each file: split it at a line of ---"
        assert found == Unreadable("large.yaml", 1, 1, "larger than 128 MiB: nothing in it is judged", hint)

    def test_a_text_of_many_lines_takes_no_more_than_its_share(self) -> None:
        assert len(value("a: x\n" + "  x\n" * 50_000)["a"]) == 100_001

    def test_the_bytes_of_a_file_are_not_kept_beside_its_text(self) -> None:
        data = (CLAIM + "---\n").encode() * 3
        before = sys.getrefcount(data)
        found = parse(data)
        assert sys.getrefcount(data) == before
        assert len(list(found)) == 3

    def test_places_in_long_texts_are_those_in_short_ones(self) -> None:
        padding = "# é\n" * 300_000
        (found,) = documents(padding + CLAIM)
        assert found.position(("metadata", "name")) == Position(300_004, 3)
        assert faults(padding + "a: [\n")[0][:2] == (300_002, 1)
