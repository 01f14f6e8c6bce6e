"""A rewritten text has the wanted value, and is otherwise unchanged."""

import json
import re
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.rows import each_row_beside
from webhook.documents.source import ContentError
from webhook.edit.rewrite import read_value, rewritten, same


@each_row_beside("text", "wanted", "after")
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


def test_comments_below_are_not_lines_of_a_block_scalar() -> None:
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
