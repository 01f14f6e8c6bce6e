"""JSON in manifests."""

from pathlib import Path

import pytest

from tests.command import draguard
from tests.documents.reading import exactly, faults, objects, value
from tests.rows import each_row
from webhook.documents import Document, parse


class TestJSON:
    def test_a_text_that_starts_with_a_brace_is_a_row_of_json_values(self) -> None:
        assert objects(' \n{"a": 1}{"b": 2}\n\n{"c": 3} \n') == [{"a": 1}, {"b": 2}, {"c": 3}]

    def test_json_numbers_stay_as_they_are_written(self) -> None:
        text = '{"a": [1.0, 1e3, -0, 9223372036854775808, 18446744073709551615, 18446744073709551616, 0.5]}'
        expected = [1.0, 1000.0, 0, 9223372036854775808, 18446744073709551615, 18446744073709551616.0, 0.5]
        assert exactly(value(text), {"a": expected})

    @each_row("number", ["1e400", "-1e400", "9" * 400])
    def test_a_number_that_float64_does_not_hold_is_refused(self, number: str) -> None:
        text = f'{{"b": [1, "x", {number}]}}{{"c": 2}}'
        message = f"json: cannot unmarshal number {number[:40]} into Go value of type float64"
        assert faults(text) == [(1, 16, message)]
        assert [each.data for each in parse(text) if isinstance(each, Document)] == [{"c": 2}]

    def test_a_repeated_field_is_refused_with_its_path_and_both_lines(self) -> None:
        text = '{"a": [{"b": 1,\n  "b": 2}], "c": 1,\n  "c": 2}\n{"d": 1}'
        assert faults(text) == [
            (2, 3, 'duplicate field "a[0].b": on line 1 and again on line 2'),
            (3, 3, 'duplicate field "c": on line 2 and again on line 3'),
        ]
        assert [each.data for each in parse(text) if isinstance(each, Document)] == [{"d": 1}]

    def test_half_a_surrogate_pair_is_replaced_as_in_go(self) -> None:
        text = r'{"a": "\ud800", "b": "\ud83d\ude00", "c": "\\ud800", "d": "\udc00\ud83d\ude00"}'
        assert value(text) == {"a": "\ufffd", "b": "\U0001f600", "c": "\\ud800", "d": "\ufffd\U0001f600"}

    @each_row("text", ['{"a": 1,}', "{a: 1}", "{'a': 1}", '{"a": 1 # c\n}'])
    def test_what_only_starts_like_json_is_yaml(self, text: str) -> None:
        assert value(text) == {"a": 1}

    def test_after_two_json_values_it_may_not(self) -> None:
        assert faults('{"a": 1}{"b": 2}\n---\nc: 3\n') == [(2, 1, "json: expecting value")]

    def test_of_two_reasons_the_one_that_is_further_on_is_given(self) -> None:
        assert faults('{"a": [1, 2}') == [(1, 12, "did not find expected ',' or ']', while parsing a flow sequence")]
        assert faults('{"a": "\\ud83d\\ude00", "b": x}\n') == [(1, 28, "json: expecting value")]

    def test_python_s_own_constants_are_no_json(self) -> None:
        assert value('{"a": NaN, "b": Infinity}') == {"a": "NaN", "b": "Infinity"}
        assert faults('{"a": 1} {} {"b": NaN}') == [(1, 13, "json: NaN is not a value")]

    def test_null_is_left_out(self) -> None:
        assert objects('{"a": 1} null 5 {"b": 2}') == [{"a": 1}, 5, {"b": 2}]


CLAIM = '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": %s, '
CLAIM += '"spec": {"devices": {"requests": %s}}}'


@pytest.mark.parametrize(
    ("text", "words", "of_yaml"),
    [
        ('{"kind": "Pod" "spec": {}}', "while parsing an object", "while parsing a flow mapping"),
        ('[{"kind": "Pod"}', "while parsing an array", "while parsing a flow sequence"),
        (CLAIM % ('["a"]', "[]"), "help: write an object, with name", "help: write a map, with name"),
        (CLAIM % ('{"labels": "a"}', "[]"), "help: write an object: `", "help: write a map: a line"),
        (CLAIM % ('{"name": "a"}', '{"name": "g"}'), "help: write an array: the entries", "help: write a list: a `-`"),
        (
            CLAIM % ('{"name": "a"}', '{"g": {}}'),
            'help: write an array: [{"name": …}]',
            "help: write a list: `- name: …`",
        ),
    ],
)
def test_files_of_json_are_explained_in_its_words(text: str, words: str, of_yaml: str, tmp_path: Path) -> None:
    for name, expected in (("a.json", words), ("a.yaml", of_yaml)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert expected in draguard("validate", tmp_path / name).out
