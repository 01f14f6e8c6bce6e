"""Scalars, keys and aliases become what Kubernetes' reader makes of them, also where test_kubectl has no text."""

import pytest

from tests.documents.reading import exactly, faults, outcomes, unreadable, value
from tests.rows import each_row
from webhook.documents.source import MAX_ALIASED


class TestScalars:
    @each_row(
        ("text", "expected"),
        ("Yes", True),
        *((word, False) for word in ("no", "No", "NO", "false", "False", "FALSE")),
        *((text, text) for text in ("ye", "none", "1.2.3", "40Gi", "1" * 5000)),
        ("!!timestamp 2001-1-2 3:4:5", "2001-1-2 3:4:5"),
        ("0x1F", 31),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 18446744073709551616.0),
        ("-9223372036854775809", -9223372036854775809.0),
        ("'12:30'", "12:30"),
        ('"1e3"', "1e3"),
        ("!unknown 5", "5"),
        ("[!!str, z]", ["z"]),
        ("[a, !x, 5, b]", ["a", "5", "b"]),
        ("{!!str, b: c}", {"b": "c"}),
        ("['!a, b', \"!c, d\"]", ["!a, b", "!c, d"]),
        ("!!str, b", "b"),
        ("[!x] b]", ["b"]),
    )
    def test_are_what_go_makes_of_them_when_they_go_through_json(self, text: str, expected: object) -> None:
        assert exactly(value(f"a: {text}"), {"a": expected})

    def test_tags_with_commas_are_whole_however_many_there_are(self) -> None:
        text = "".join(f"k{number}: [!!str, z]\n" for number in range(30))
        assert exactly(value(text), {f"k{number}": ["z"] for number in range(30)})

    @each_row(
        ("text", "message"),
        ("-.Inf", "json: unsupported value: -Inf"),
        (".NAN", "json: unsupported value: NaN"),
        ("!!float yes", "cannot decode !!bool `yes` as a !!float"),
        ("!!timestamp 2001-13-01", "cannot decode !!str `2001-13-01` as a !!timestamp"),
        ("!!binary é", "!!binary value contains invalid base64 data"),
    )
    def test_are_refused_where_they_stand(self, text: str, message: str) -> None:
        assert faults(f"a:\n  b: {text}") == [(2, 6, message)]


class TestKeys:
    @each_row(
        ("text", "key"),
        ("1e-50", "0"),
        ("3.14159265358979", "3.1415927"),
        ("1e300", ".inf"),
        ("9" * 70, ".inf"),
        ("'<<'", "<<"),
        ("!!str <<", "<<"),
    )
    def test_become_strings_as_sigs_yaml_spells_them(self, text: str, key: str) -> None:
        assert value(f"{text}: x") == {key: "x"}

    @each_row(
        ("text", "message"),
        ("~", "unsupported map key of type: null"),
        ("18446744073709551615", "unsupported map key of type: uint64"),
        ("!!int x", "cannot decode !!str `x` as a !!int"),
        ("[a]", "invalid map key"),
        ("{a: b}", "invalid map key"),
    )
    def test_are_refused_where_they_stand(self, text: str, message: str) -> None:
        assert faults(f"a: 1\n{text}: x") == [(2, 1, message)]

    def test_aliases_and_anchors_are_keys_but_not_of_lists(self) -> None:
        assert value("a: &a 1e6\n&b k: *a\n*a : *b") == {"a": 1000000, "k": 1000000, "1e+06": "k"}
        assert faults("a: &a [x]\n*a : y") == [(2, 1, "invalid map key")]

    def test_a_repeated_key_is_refused_with_both_lines_in_the_order_of_the_text(self) -> None:
        text = "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 4\n"
        assert faults(text) == [
            (5, 3, 'key "c" already set in map: on line 3 and again on line 5'),
            (6, 1, 'key "a" already set in map: on line 1 and again on line 6'),
        ]
        for text in ("a: 1\na:\n  b: 1\n  b: 2\n", '{"a": 1,\n "a": {"b": 1,\n "b": 2}}'):
            assert [line for line, _, _ in faults(text)] == [2, 4 if text[0] == "a" else 3]
        assert outcomes("a: 1\n---\na: 1\na: 2\n---\na: 3\n") == [{"a": 1}, 4, {"a": 3}]

    def test_keys_are_the_same_if_they_become_the_same_string_which_is_explained(self) -> None:
        assert faults("{1: a, '1': b}") == [(1, 8, 'key "1" already set in map: twice on line 1')]
        (fault,) = unreadable("on: 1\ny: 2\n")
        assert fault.hint == 'YAML reads the keys on and y as "true": to mean the text, write "on" in quotes'


class TestAliases:
    def test_an_alias_repeats_a_value_that_can_be_changed_in_one_place(self) -> None:
        found = value("a: &a {b: [1]}\nc: *a\n")
        found["c"]["b"].append(2)
        assert found == {"a": {"b": [1]}, "c": {"b": [1, 2]}}

    def test_an_anchor_given_again_stands_for_the_later_value(self) -> None:
        assert value("- &a 1\n- *a\n- &a 2\n- *a\n- &a [&a 3, *a]\n- *a\n") == [1, 1, 2, 2, [3, 3], 3]

    @each_row(
        ("text", "expected"),
        ("k: &a {a: 1}\n<<: *a\n<<: [*a, {b: 2}]", {"k": {"a": 1}, "a": 1, "b": 2}),
        ("k: &a <<\n*a : {a: 1}", {"k": "<<", "<<": {"a": 1}}),
    )
    def test_maps_are_merged_in_the_order_of_the_text(self, text: str, expected: object) -> None:
        assert value(text) == expected

    def test_a_key_may_override_a_merged_one_but_once(self) -> None:
        text = "<<: {a: 0}\na: 1\nb: 2\na: 3\n"
        assert faults(text) == [(4, 1, 'key "a" already set in map: on line 2 and again on line 4')]

    @pytest.mark.no_cover
    def test_aliases_of_aliases_and_of_large_values_over_and_over_are_refused_as_in_go(self) -> None:
        large = ", ".join(f"k{number}: 1" for number in range(2000))
        for text, *place in (
            ("a: &a [" + "x, " * 500 + "x]\nb:\n" + "- *a\n" * 200, 1, 1),
            (
                "".join(f"a{level}: &a{level} [{f'*a{level - 1}, ' * 9 if level else 'x'}]\n" for level in range(9)),
                7,
                35,
            ),
            (f"a: &a {{{large}}}\nb:\n" + "- <<: *a\n" * (MAX_ALIASED // 2000), 302, 7),
        ):
            assert faults(text) == [(*place, "document contains excessive aliasing")]
