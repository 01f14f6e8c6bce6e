"""The documents of manifests, their order and positions."""

from __future__ import annotations

import codecs
import json
import sys
from typing import Any

import pytest

from webhook.documents import Document, Position, Unreadable, compose, jsontext, parse, parts
from webhook.documents.limits import MAX_ALIASED, MAX_BYTES, MAX_DEPTH, MAX_TAG_DIRECTIVES

CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: gpu\n"


def documents(text: str | bytes) -> list[Document]:
    found = list(parse(text))
    assert all(isinstance(each, Document) for each in found), found
    return [each for each in found if isinstance(each, Document)]


def objects(text: str | bytes) -> list[Any]:
    return [document.data for document in documents(text)]


def value(text: str) -> Any:
    (found,) = objects(text)
    return found


def faults(text: str | bytes) -> list[tuple[int, int, str]]:
    return [(each.line, each.column, each.message) for each in parse(text) if isinstance(each, Unreadable)]


def exactly(found: Any, expected: Any) -> bool:
    """Tell True from 1 and 1 from 1.0."""
    return repr(found) == repr(expected)


class TestScalars:
    @pytest.mark.parametrize("text", ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
    def test_true_as_go_spells_it(self, text: str) -> None:
        assert exactly(value(f"a: {text}"), {"a": True})

    @pytest.mark.parametrize("text", ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
    def test_false_as_go_spells_it(self, text: str) -> None:
        assert exactly(value(f"a: {text}"), {"a": False})

    @pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
    def test_null_as_go_spells_it(self, text: str) -> None:
        assert exactly(value(f"a: {text}"), {"a": None})

    @pytest.mark.parametrize("text", ["yEs", "tRue", "oN", "nUll", "ye", "none", "=", "<<", "12:30:45", "2001-01-01"])
    def test_other_words_are_strings(self, text: str) -> None:
        assert exactly(value(f"a: {text}"), {"a": text})

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("0o7", 7),
            ("0777", 511),
            ("08", 8),
            ("0x1F", 31),
            ("-0b11", -3),
            ("1_000", 1000),
            ("+1", 1),
            ("-0", 0),
            (".5", 0.5),
            (".5_5", 0.55),
            ("1e3", 1000),
            ("1E3", 1000),
            ("1.0", 1),
            ("-0.0", 0),
            ("1.5", 1.5),
            ("1e-7", 1e-07),
            ("1e21", 1e21),
        ],
    )
    def test_a_number_is_what_go_makes_of_it_when_it_goes_through_json(self, text: str, number: float) -> None:
        assert exactly(value(f"a: {text}"), {"a": number})

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("9223372036854775807", 9223372036854775807),
            ("18446744073709551615", 18446744073709551615),
            ("18446744073709551616", 18446744073709551616.0),
            ("-9223372036854775808", -9223372036854775808),
            ("-9223372036854775809", -9223372036854775809.0),
            ("9.2233720368547750e18", 9223372036854775000),
            ("1" * 5000, "1" * 5000),
        ],
    )
    def test_integers_are_exact_as_far_as_64_bits_go(self, text: str, number: float | str) -> None:
        assert exactly(value(f"a: {text}"), {"a": number})

    @pytest.mark.parametrize("text", ["1e400", "0b2", "0o8", "0x", "1e", ".", "+", "_1", "0x1p4", "1.2.3", "40Gi"])
    def test_what_only_looks_like_a_number_is_a_string(self, text: str) -> None:
        assert exactly(value(f"a: {text}"), {"a": text})

    @pytest.mark.parametrize(("text", "name"), [(".inf", "+Inf"), ("-.Inf", "-Inf"), (".NAN", "NaN")])
    def test_infinity_cannot_be_said_in_json(self, text: str, name: str) -> None:
        assert faults(f"a:\n  b: {text}") == [(2, 6, f"json: unsupported value: {name}")]

    @pytest.mark.parametrize("text", ["y", "1e3", "0o7", "null", "", "12:30", "=", "1"])
    @pytest.mark.parametrize("quote", ["'", '"'])
    def test_what_is_quoted_is_a_string(self, text: str, quote: str) -> None:
        assert exactly(value(f"a: {quote}{text}{quote}"), {"a": text})

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("!!str 5", "5"),
            ("!!str", ""),
            ("!!int '5'", 5),
            ("!!float 5", 5),
            ("!!bool 'yes'", True),
            ("!!null ''", None),
            ("!!binary aGVsbG8=", "hello"),
            ("!!binary 4oI=", "\ufffd\ufffd"),
            ("!!timestamp 2001-1-2 3:4:5", "2001-1-2 3:4:5"),
            ("!unknown 5", "5"),
            ("! 5", "5"),
            ("!!str [a]", ["a"]),
            ("!!set {a}", {"a": None}),
            ("[!!str, z]", ["z"]),
            ("[a, !x, 5, b]", ["a", "5", "b"]),
            ("{!!str, b: c}", {"b": "c"}),
            ("['!a, b', \"!c, d\"]", ["!a, b", "!c, d"]),
            ("!!str, b", "b"),
            ("[!x] b]", ["b"]),
        ],
    )
    def test_tags_mean_what_they_mean_to_go(self, text: str, expected: object) -> None:
        assert exactly(value(f"a: {text}"), {"a": expected})

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("!!int 5.0", "cannot decode !!float `5.0` as a !!int"),
            ("!!int x", "cannot decode !!str `x` as a !!int"),
            ("!!bool 5", "cannot decode !!int `5` as a !!bool"),
            ("!!float ''", "cannot decode !!null `` as a !!float"),
            ("!!float yes", "cannot decode !!bool `yes` as a !!float"),
            ("!!float 18446744073709551615", "cannot decode !!int `18446744073709551615` as a !!float"),
            ("!!timestamp 2001-13-01", "cannot decode !!str `2001-13-01` as a !!timestamp"),
            ("!!timestamp 5", "cannot decode !!int `5` as a !!timestamp"),
            ("!!binary x", "!!binary value contains invalid base64 data"),
            ("!!binary é", "!!binary value contains invalid base64 data"),
        ],
    )
    def test_a_tag_that_does_not_fit_is_refused(self, text: str, message: str) -> None:
        assert faults(f"a: {text}") == [(1, 4, message)]


class TestKeys:
    @pytest.mark.parametrize(
        ("text", "key"),
        [
            ("true", "true"),
            ("n", "false"),
            ("0x10", "16"),
            ("1.0", "1"),
            ("1e6", "1e+06"),
            ("0.1", "0.1"),
            ("1e-50", "0"),
            ("3.14159265358979", "3.1415927"),
            ("1e300", ".inf"),
            ("-.inf", "-.inf"),
            (".nan", ".nan"),
            ("2001-01-01", "2001-01-01"),
            ("!!str 5", "5"),
            ("'<<'", "<<"),
            ("!!str <<", "<<"),
            ("9" * 70, ".inf"),
        ],
    )
    def test_keys_become_strings_as_sigs_yaml_spells_them(self, text: str, key: str) -> None:
        assert value(f"{text}: x") == {key: "x"}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("null", "unsupported map key of type: null"),
            ("~", "unsupported map key of type: null"),
            ("18446744073709551615", "unsupported map key of type: uint64"),
            ("!!int x", "cannot decode !!str `x` as a !!int"),
            ("[a]", "invalid map key"),
            ("{a: b}", "invalid map key"),
        ],
    )
    def test_what_sigs_yaml_takes_for_no_key_is_refused(self, text: str, message: str) -> None:
        assert faults(f"a: 1\n{text}: x") == [(2, 1, message)]

    def test_a_list_behind_an_alias_is_not_a_key_either(self) -> None:
        assert faults("a: &a [x]\n*a : y") == [(2, 1, "invalid map key")]

    def test_aliases_and_anchors_are_keys(self) -> None:
        assert value("a: &a 1e6\n&b k: *a\n*a : *b") == {"a": 1000000, "k": 1000000, "1e+06": "k"}

    def test_a_repeated_key_is_refused_with_both_lines(self) -> None:
        text = "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 4\n"
        assert faults(text) == [
            (5, 3, 'key "c" already set in map: on line 3 and again on line 5'),
            (6, 1, 'key "a" already set in map: on line 1 and again on line 6'),
        ]

    def test_repeated_keys_are_reported_in_the_order_of_the_text(self) -> None:
        for text in ("a: 1\na:\n  b: 1\n  b: 2\n", '{"a": 1,\n "a": {"b": 1,\n "b": 2}}'):
            assert [line for line, _, _ in faults(text)] == [2, 4 if text[0] == "a" else 3]

    def test_keys_are_the_same_if_they_become_the_same_string(self) -> None:
        assert faults("{1: a, '1': b}") == [(1, 8, 'key "1" already set in map: twice on line 1')]

    def test_repeated_keys_that_yaml_reads_as_booleans_are_explained(self) -> None:
        (fault,) = (each for each in parse("on: 1\ny: 2\n") if isinstance(each, Unreadable))
        assert fault.hint == 'YAML reads the keys on and y as "true": to mean the text, write "on" in quotes'

    def test_a_repeated_key_does_not_hide_other_documents(self) -> None:
        found = list(parse("a: 1\n---\na: 1\na: 2\n---\na: 3\n"))
        assert [each.data if isinstance(each, Document) else each.line for each in found] == [{"a": 1}, 4, {"a": 3}]
        assert [each.index for each in found if isinstance(each, Document)] == [0, 2]


class TestAliases:
    def test_an_alias_repeats_a_value_that_can_be_changed_in_one_place(self) -> None:
        found = value("a: &a {b: [1]}\nc: *a\n")
        found["c"]["b"].append(2)
        assert found == {"a": {"b": [1]}, "c": {"b": [1, 2]}}

    def test_an_anchor_given_again_stands_for_the_later_value(self) -> None:
        assert value("- &a 1\n- *a\n- &a 2\n- *a\n- &a [&a 3, *a]\n- *a\n") == [1, 1, 2, 2, [3, 3], 3]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a: *x", "unknown anchor 'x' referenced"),
            ("a: &x [*x]", "anchor 'x' value contains itself"),
            ("a: &x {<<: *x}", "anchor 'x' value contains itself"),
        ],
    )
    def test_an_alias_of_nothing_is_refused(self, text: str, message: str) -> None:
        assert [found[2] for found in faults(text)] == [message]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("<<: {a: 1}", {"a": 1}),
            ("<<: {a: 1}\na: 2", {"a": 2}),
            ("a: 2\n<<: {a: 1}", {"a": 1}),
            ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
            ("<<: []", {}),
            ("!!merge <<: {a: 1}", {"a": 1}),
            ("k: &a {a: 1}\n<<: *a\n<<: [*a, {b: 2}]", {"k": {"a": 1}, "a": 1, "b": 2}),
            ("k: &a <<\n*a : {a: 1}", {"k": "<<", "<<": {"a": 1}}),
        ],
    )
    def test_maps_are_merged_in_the_order_of_the_text(self, text: str, expected: object) -> None:
        assert value(text) == expected

    @pytest.mark.parametrize("text", ["", "x", "[x]", "[[{a: 1}]]", "*list"])
    def test_only_maps_are_merged(self, text: str) -> None:
        message = "map merge requires map or sequence of maps as the value"
        assert [found[2] for found in faults(f"k: &list [{{a: 1}}]\n<<: {text}\n")] == [message]

    def test_a_key_may_override_a_merged_one_but_once(self) -> None:
        text = "<<: {a: 0}\na: 1\nb: 2\na: 3\n"
        assert faults(text) == [(4, 1, 'key "a" already set in map: on line 2 and again on line 4')]

    def test_aliases_of_aliases_of_aliases_are_refused(self) -> None:
        text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 9)
        )
        assert [found[2] for found in faults(text)] == ["document contains excessive aliasing"]

    def test_a_document_that_is_all_aliases_is_refused_as_go_refuses_it(self) -> None:
        text = "a: &a [" + "x, " * 500 + "x]\nb:\n" + "- *a\n" * 200
        assert faults(text) == [(1, 1, "document contains excessive aliasing")]

    def test_merging_a_large_map_over_and_over_ends(self) -> None:
        large = ", ".join(f"k{number}: 1" for number in range(2000))
        text = f"a: &a {{{large}}}\nb:\n" + "- <<: *a\n" * (MAX_ALIASED // 2000)
        assert [found[2] for found in faults(text)] == ["document contains excessive aliasing"]


class TestStreams:
    def test_documents_are_parted_by_three_dashes(self) -> None:
        assert objects("---\na: 1\n--- # more\nb: 2\n---\nc: 3") == [{"a": 1}, {"b": 2}, {"c": 3}]

    @pytest.mark.parametrize("text", ["", "\n \n", "# nothing\n", "---\n---\n# nothing\n---\n", "null\n---\n~\n"])
    def test_what_is_empty_is_left_out(self, text: str) -> None:
        assert objects(text) == []

    def test_a_document_is_numbered_among_those_that_hold_something(self) -> None:
        text = "---\n# nothing\n---\na: 1\n---\nb: [\n---\nc: 3\n"
        assert [each.index for each in parse(text) if isinstance(each, Document)] == [0, 2]

    def test_an_error_hides_neither_what_comes_before_nor_what_comes_after(self) -> None:
        found = list(parse("a: 1\n---\nb: 2\n---\nc: [\n---\nd: 4\n"))
        assert [each.data if isinstance(each, Document) else each.line for each in found] == [
            {"a": 1},
            {"b": 2},
            6,
            {"d": 4},
        ]

    @pytest.mark.parametrize(("line", "said"), [("--- a: 1", "a: 1"), ("--- |", "|"), ("----", "-"), ("---x", "x")])
    def test_a_separator_takes_nothing_but_a_comment(self, line: str, said: str) -> None:
        text = f"a: 1\n{line}\nlost: 1\n---\nb: 2\n"
        found = list(parse(text))
        assert [each.data for each in found if isinstance(each, Document)] == [{"a": 1}, {"b": 2}]
        assert faults(text) == [(2, 1, f"invalid Yaml document separator: {said}")]

    @pytest.mark.parametrize("text", ["a: 1\n...\nb: 2\n", "a: 1\n...\n[\n", "{a: 1}\n\n}\n"])
    def test_what_kubernetes_ignores_after_a_document_is_pointed_out(self, text: str) -> None:
        assert [each.data for each in parse(text) if isinstance(each, Document)] == [{"a": 1}]
        assert faults(text) == [(3, 1, "Kubernetes' reader ignores what follows the end of a document")]

    @pytest.mark.parametrize("text", ["a: 1\n...\n", "a: 1\n...\n# c\n", "a: 1\n...\n---\n"])
    def test_the_end_of_a_document_may_be_marked(self, text: str) -> None:
        assert value(text) == {"a": 1}

    @pytest.mark.parametrize("text", ["%YAML 1.1\n---\na: 1\n", "%TAG ! tag:x,2000:\n---\na: 1\n"])
    def test_directives_are_refused_as_kubectl_parts_them_from_their_document(self, text: str) -> None:
        assert [found[2] for found in faults(text)] == ["did not find expected <document start>"]

    @pytest.mark.parametrize(
        "data",
        [
            codecs.BOM_UTF8 + CLAIM.encode(),
            codecs.BOM_UTF16_LE + CLAIM.encode("utf-16-le"),
            codecs.BOM_UTF16_BE + CLAIM.encode("utf-16-be"),
            CLAIM.replace("\n", "\r\n").encode(),
            CLAIM.replace("\n", "\r").encode(),
        ],
    )
    def test_byte_order_marks_and_line_breaks_of_other_systems_do_no_harm(self, data: bytes) -> None:
        assert objects(data) == objects(CLAIM)

    def test_texts_keep_no_carriage_returns(self) -> None:
        assert value("a: |\r\n  x\r\n  y\r\nb: z\r\n") == {"a": "x\ny\n", "b": "z"}

    def test_each_of_several_files_put_together_may_start_with_a_byte_order_mark(self) -> None:
        assert objects("\ufeffa: 1\n---\n\ufeffb: 2\n") == [{"a": 1}, {"b": 2}]

    def test_a_byte_order_mark_inside_of_a_document_is_text(self) -> None:
        (fault,) = (each for each in parse("a: 1\n\ufeff---\nb: 2\n") if isinstance(each, Unreadable))
        assert (fault.line, fault.column) == (2, 1)
        assert fault.hint == "remove the byte order mark at the start of the line: only a document may begin with it"
        (read,) = objects("a: 1\n\ufeffb: 2\n")
        assert read.keys() == {"a", "\u2060b"}

    @pytest.mark.parametrize(
        ("data", "line", "column", "message"),
        [
            (b"a: 1\nb: \xc3\xa9\xff", 2, 5, "not UTF-8 text: invalid start byte"),
            (codecs.BOM_UTF16_LE + b"a\0\n\0\0\xd8x\0", 2, 1, "not UTF-16-LE text: illegal UTF-16 surrogate"),
            (b"a: 1\nb: x\0y", 2, 5, "control characters are not allowed: U+0000"),
        ],
    )
    def test_what_is_not_text_is_refused(self, data: bytes, line: int, column: int, message: str) -> None:
        assert faults(data) == [(line, column, message)]


class TestSyntax:
    @pytest.mark.parametrize(
        ("text", "line", "column", "message"),
        [
            ("a:\n\tb: 1", 2, 1, "found character that cannot start any token, while scanning for the next token"),
            ("a: b: c", 1, 5, "mapping values are not allowed in this context"),
            ("a: [1\nb: 2", 2, 2, "did not find expected ',' or ']', while parsing a flow sequence"),
            ("a: 'x", 1, 6, "found unexpected end of stream, while scanning a quoted scalar"),
            ("a: [x?y]", 1, 5, "did not find expected ',' or ']'"),
            ("a: {x?: y}", 1, 5, "did not find expected ',' or '}'"),
            ('a: "\\/"', 1, 4, "found unknown escape character"),
            ("a: {{ .Values.a }}", 1, 5, "invalid map key"),
        ],
    )
    def test_errors_say_what_and_where(self, text: str, line: int, column: int, message: str) -> None:
        assert faults(text) == [(line, column, message)]

    @pytest.mark.parametrize("text", ["'\\/'", '"a/b"', '"\\\\/"', "a\\/b"])
    def test_a_slash_is_a_slash_where_nothing_escapes_it(self, text: str) -> None:
        assert "/" in value(f"a: {text} # \\/")["a"]

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("a: {{ .Values.a }}", "if this is a template, render it first, for example with helm template"),
            ("{{- if .Values.a }}\na: [\n", "if this is a template, render it first, for example with helm template"),
            ("a: b: c", 'quote a text that holds ": ", and check the indentation'),
            ("a: *b", "quote a text that starts with *"),
        ],
    )
    def test_errors_say_how_to_fix_them(self, text: str, hint: str) -> None:
        assert [each.hint for each in parse(text) if isinstance(each, Unreadable)] == [hint]

    def test_the_line_is_shown(self) -> None:
        (found,) = parse("a: 1\r\nb: 2: 3\r\n", "claims.yaml")
        message = "mapping values are not allowed in this context"
        hint = 'quote a text that holds ": ", and check the indentation'
        assert found == Unreadable("claims.yaml", 2, 5, message, hint, "b: 2: 3")

    def test_a_line_is_not_shown_if_it_is_too_long_for_that(self) -> None:
        (found,) = parse('{"a": "' + "x" * 5000 + '", "a": 1}')
        assert isinstance(found, Unreadable)
        assert (found.line, found.excerpt) == (1, "")


class TestJSON:
    def test_a_text_that_starts_with_a_brace_is_a_row_of_json_values(self) -> None:
        assert objects(' \n{"a": 1}{"b": 2}\n\n{"c": 3} \n') == [{"a": 1}, {"b": 2}, {"c": 3}]

    def test_json_numbers_stay_as_they_are_written(self) -> None:
        text = '{"a": [1.0, 1e3, -0, 9223372036854775808, 18446744073709551615, 18446744073709551616, 0.5]}'
        expected = [1.0, 1000.0, 0, 9223372036854775808, 18446744073709551615, 18446744073709551616.0, 0.5]
        assert exactly(value(text), {"a": expected})

    @pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 400])
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

    @pytest.mark.parametrize("text", ['{"a": 1,}', "{a: 1}", "{'a': 1}", '{"a": 1 # c\n}'])
    def test_what_only_starts_like_json_is_yaml(self, text: str) -> None:
        assert value(text) == {"a": 1}

    @pytest.mark.parametrize("rest", ["\n---\nb: 2.0\n", "---\nb: 2.0", "\nb: 2.0", " # c\n---\n---\nb: 2.0"])
    def test_after_one_json_value_the_rest_may_be_yaml(self, rest: str) -> None:
        assert exactly(objects('{"a": 1.0}' + rest), [{"a": 1.0}, {"b": 2}])

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


class TestLists:
    def test_a_list_stands_for_its_items(self) -> None:
        text = f"apiVersion: v1\nkind: List\nitems:\n- {CLAIM.replace(chr(10), chr(10) + '  ')}\n- kind: Other\n"
        first, second = documents(text)
        assert first.data == value(CLAIM)
        assert second.data == {"kind": "Other"}
        assert first.position(("metadata", "name")) == Position(7, 5)
        assert second.position() == second.position(("spec",)) == Position(9, 3)

    def test_the_items_of_a_typed_list_get_its_type(self) -> None:
        text = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimList",
            "items": [{"metadata": {}}, {"kind": "X"}],
        }
        assert objects(json.dumps(text)) == [
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {}},
            {"kind": "X"},
        ]

    def test_the_items_of_a_plain_list_get_no_type(self) -> None:
        assert objects("apiVersion: v1\nkind: List\nitems: [{a: 1}, null, 5]\n") == [{"a": 1}, None, 5]

    def test_lists_of_lists_are_taken_apart(self) -> None:
        text = '{"kind": "List", "items": [{"kind": "List", "items": [\n{"a": 1}]}, {"b": 2}]}'
        first, second = documents(text)
        assert (first.data, first.position(("a",))) == ({"a": 1}, Position(2, 2))
        assert (second.data, second.position(("b",))) == ({"b": 2}, Position(2, 14))

    @pytest.mark.parametrize("items", ["[]", "null"])
    def test_a_list_without_items_stands_for_nothing(self, items: str) -> None:
        assert objects(f"kind: PodList\nitems: {items}\n") == []

    @pytest.mark.parametrize(
        "text", ["kind: List", "kind: List\nitems: {}", "kind: Pod\nitems: []", "kind: 5\nitems: []"]
    )
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

    @pytest.mark.parametrize(
        ("path", "line", "column"),
        [
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
        ],
    )
    def test_a_field_is_at_its_key_and_an_item_at_its_start(
        self, path: tuple[str | int, ...], line: int, column: int
    ) -> None:
        assert documents(self.TEXT)[0].position(path) == Position(line, column)

    @pytest.mark.parametrize(
        ("path", "line"),
        [
            (("status",), 2),
            (("spec", "nodeName"), 3),
            (("spec", "devices", "requests", 9, "name"), 5),
            (("spec", "devices", "requests", -1), 5),
            (("spec", "devices", "requests", "name"), 5),
            (("spec", 0), 3),
            (("spec", "devices", "text", "x", 1), 10),
        ],
    )
    def test_a_missing_field_is_where_it_would_belong(self, path: tuple[str | int, ...], line: int) -> None:
        assert documents(self.TEXT)[0].position(path).line == line

    def test_positions_count_from_the_start_of_the_file(self) -> None:
        assert documents(self.TEXT)[1].position(("second",)) == Position(21, 1)

    def test_positions_in_json(self) -> None:
        text = '{"x": 1}\n{"a": {"b": [1, {"c d": "x,y"}]},\n "e": "\\ud800", "\\ud800": 5}'
        document = documents(text)[1]
        assert document.position(()) == Position(2, 1)
        assert document.position(("a", "b", 1)) == Position(2, 17)
        assert document.position(("a", "b", 1, "c d")) == Position(2, 18)
        assert document.position(("a", "b", 7)) == Position(2, 8)
        assert document.position(("\ufffd",)) == Position(3, 17)

    def test_columns_count_characters(self) -> None:
        assert documents('{é: "\U0001f600", b: 1}')[0].position(("b",)) == Position(1, 10)

    def test_only_line_feeds_end_lines_as_in_an_editor(self) -> None:
        assert documents("a: 'x\u2028y\x85'\nb: 1\n")[0].position(("b",)) == Position(2, 1)

    def test_lines_are_shown_without_their_breaks(self) -> None:
        (document,) = documents("a: 1\r\nb: 2\n\n")
        assert [document.line(number) for number in range(6)] == ["", "a: 1", "b: 2", "", "", ""]

    def test_a_document_knows_its_source(self) -> None:
        assert [each.source for each in parse("a: 1", "claims.yaml")] == ["claims.yaml"]


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

    @pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, '{"a":' * 100_000, "a: " + "{b: " * 100_000])
    def test_depth_without_end_is_refused_at_once(self, text: str) -> None:
        assert [found[2] for found in faults(text)] == [f"nested more than {MAX_DEPTH} levels deep"]

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


def test_documents_that_keep_a_part_of_the_text_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_PART", len(CLAIM))
    separators = ("", "--- # comment\n", "--- misplaced\n", "---\r\n", "---\na: [\n---\n", "---\n---\n")
    text = "".join(separator + CLAIM for separator in separators)

    def seen(found: Document | Unreadable) -> Any:
        if isinstance(found, Unreadable):
            return found
        place = found.position(("metadata", "name"))
        return found.data, found.index, place, found.line(place.line), found.excerpt(place.line)

    whole, in_parts = list(parse(text)), list(parts.parse_in_parts(text.encode()))
    assert [*map(seen, in_parts)] == [*map(seen, whole)]
    assert {type(each) for each in whole} == {Document, Unreadable}
    assert all(len(each.whole_text) < len(text) for each in in_parts if isinstance(each, Document))
