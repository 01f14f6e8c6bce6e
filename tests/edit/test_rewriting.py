"""A rewritten text has the wanted value, and is otherwise unchanged."""

import json
import re
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.rows import each_row
from webhook.documents.source import ContentError
from webhook.edit.rewrite import read_value, rewritten, same


@each_row(
    ("text", "wanted", "after"),
    [
        ("a: 1 # c\n", {"a": 2}, "a: 2 # c\n"),
        ("a: 'x' # c\n", {"a": "y's"}, "a: 'y''s' # c\n"),
        ('a: "x"\n', {"a": "y\t"}, 'a: "y\\t"\n'),
        ("a: x\n", {"a": "1"}, 'a: "1"\n'),
        ("a: {b: x}\n", {"a": {"b": "[y"}}, 'a: {b: "[y"}\n'),
        ("a: |\n  x\nb: 1\n", {"a": "z", "b": 1}, "a: z\nb: 1\n"),
        ("a: # c\n  - 1\n", {"a": None}, "# c\na: null\n"),
        ("a:\nb: 1\n", {"a": {"x": 1}, "b": 1}, "a:\n  x: 1\nb: 1\n"),
        ("a: 1 # c\nb: 1\n", {"b": 1, "d": {"e": 1}}, "# c\nd:\n  e: 1\nb: 1\n"),
        ("{a: 1, # c\n b: 1}\n", {"b": 1, "d": {"e": 1}}, '{d: {"e": 1}, # c\n b: 1}\n'),
        ("a: 1", {"a": 1, "b": [1]}, "a: 1\nb:\n- 1"),
        ("a: {b: 1}\n", {"a": {"b": 1, "c": [1]}}, "a: {b: 1, c: [1]}\n"),
        ("a: {b: 1, c: 2}\n", {"a": {"b": 1}}, "a: {b: 1}\n"),
        ("a: {b: 1, c: 2}\n", {"a": {"c": 2}}, "a: {c: 2}\n"),
        ("a: {b: 1}\n", {"a": {}}, "a: {}\n"),
        ("a:\n  b: 1 # c\n", {"a": {}}, "a: {} # c\n"),
        ("- b: 1 # c\n  # d\n  c: 2\n", [{"c": 2}], "- # c\n  # d\n  c: 2\n"),
        ("a:\n  v: 1 # c\n", {"a": 1}, "a: 1 # c\n"),
        ("a: # c\n  v: 1 # d\n", {"a": 1}, "a: # c\n  1 # d\n"),
        ("a: {v: 1} # c\n", {"a": 1}, "a: 1 # c\n"),
        ("a: {v: # c\n  1}\n", {"a": 1}, "# c\na: 1\n"),
        ("a: {b: {v: # c\n  1}}\n", {"a": {"b": 1}}, "a: {b: \n  # c\n  1}\n"),
        ("a: 1 # c\n", {"a": {"v": 1}}, "a:\n  v: 1 # c\n"),
        ("a: 'x\n  y'\n", {"a": {"v": "x y"}}, "a:\n  v: x y\n"),
        ("b: !!map\n  x: 1\n", {"x": 1}, "x: 1\n"),
        ("b: {x: 1} # c\na: 1\n", {"x": 1, "a": 1}, "# c\nx: 1\na: 1\n"),
        ("b: {} # c\na: 1\n", {"a": 1}, "# c\na: 1\n"),
        ("b:\n  x: 1\nx: 2\n", {"x": 2}, "x: 2\n"),
        ("a: [1, # c\n  2]\n", {"a": [1, 3]}, "a: [1, # c\n  3]\n"),
        ("a: [[1, # c\n  2]]\n", {"a": [[1]]}, "a: [\n  # c\n  [\n  1\n]]\n"),
        ("- [1] # c\n- x\n", [[2, 3], "x"], "- # c\n  - 2\n  - 3\n- x\n"),
        ("-\n- x\n", [{"a": 1}, "x"], "- a: 1\n- x\n"),
        ("? a\n: {b: 1}\n", {"a": {"c": {"b": 1}}}, "? a\n: {c: {b: 1}}\n"),
    ],
)
def test_as_little_changes_as_can(text: str, wanted: Any, after: str) -> None:
    assert rewritten(text, wanted, is_json=False) == after


def test_json_is_written_as_its_surroundings_are() -> None:
    text = json.dumps({"a": 1, "b": {"c": [1]}}, indent=4)
    wanted = {"a": {"v": 1}, "b": {"c": {"x": 1}}, "d": True}
    assert rewritten(text, wanted, is_json=True) == json.dumps(wanted, indent=4)
    assert rewritten("[1]", [True], is_json=True) == "[true]"
    assert rewritten("[\n1]", {"a": 1}, is_json=True) == '{\n  "a": 1\n}'


SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "1", "a b", "# x", "x: y", "l\nm\n"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), inner, max_size=4)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), VALUES, min_size=1, max_size=4)


def test_comments_below_are_no_lines_of_a_block_scalar() -> None:
    assert (
        rewritten("a: null\nc: null\n  # below\nd: []\n", {"c": "l\nm\n"}, is_json=False) == "# below\nc: |\n  l\n  m\n"
    )


@examples(150)
@given(
    OBJECTS, OBJECTS, st.sampled_from([None, True, False]), st.sampled_from([2, 4]), st.randoms(use_true_random=False)
)
def test_any_text_can_say_any_value(old: Any, new: Any, flow: bool | None, indent: int, random: Any) -> None:
    lines: list[str] = []
    for number, line in enumerate(yaml.safe_dump(old, default_flow_style=flow, indent=indent, width=20).splitlines()):
        if random.random() < 1 / 4:
            lines.append(" " * random.choice([0, 2, 4]) + f"# above{number}")
        lines.append(f"{line} # beside{number}" if random.random() < 1 / 4 else line)
    text = "\n".join(lines) + random.choice(["", "\n"])
    try:
        if not same(read_value(text, is_json=False), old):  # a comment in a text of several lines is none
            return
    except ContentError:
        return
    changed = rewritten(text, new, is_json=False)
    assert same(read_value(changed, is_json=False), new)
    assert set(re.findall(r"# (?:above|beside)\d+", text)) <= set(re.findall(r"# (?:above|beside)\d+", changed))


@examples(60)
@given(OBJECTS, OBJECTS, st.sampled_from([None, 2, "\t"]))
def test_any_json_can_say_any_value(old: Any, new: Any, indent: int | str | None) -> None:
    changed = rewritten(json.dumps(old, indent=indent), new, is_json=True)
    assert same(json.loads(changed), new)
    assert ("\n" in changed) is (indent is not None)
