"""Block mappings are read as libyaml reads them, or left to it."""

import random
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from benchmarks.manifests import CLAIM
from tests.command import ROOT
from tests.rows import each_row
from webhook.documents import Document, parse
from webhook.documents.compose import compose, read_nodes
from webhook.documents.source import ContentError
from webhook.drivers import built_in, text_of
from webhook.fast.documents import offset_of, read_blocks

pytestmark = pytest.mark.no_cover

FILES = sorted(
    [*ROOT.glob("examples/**/*.yaml"), *ROOT.glob("policies/**/*.yaml"), *ROOT.glob("tests/cases/**/*.yaml")]
)
MANIFESTS = [
    CLAIM.format(number=1),
    *(each for file in FILES for each in re.split(r"(?m)^---.*\n", file.read_text("utf-8")) if each.strip()),
    "a:\n- b: 1\n  c:\n  - d\n  - e: f\n    g: h\n- i\nj: k\n",
    "a:\n  - b:\n    - c\n  -  d\n  - e:\n    f: 'g h'  # i\nk: {}\nl: []\nm: \"\"\n",
    "a: {b: c, d: 1}\ne:\n- {f: 'g, h', i: yes, j: .5}\n- { k: l/m }\nm: [a, 1, b-c, null]\no: {p: q, }\n",
    'a: {b: "c: d", e: null, f: 1.0}\ng: [.5, on, "#", h]  # i\nj: {k.l/m: n}\no: {}\n',
    'a: ["b", "c d"]\ne:\n- f: [ "g" , "" ]  # h\n- ["i", ]\nj: ["k: l", "#"]\n',
]
PIECES = [
    *(" ", "  ", "\n", "- ", ": ", " #", "\t", "\r", "&a ", "!!str ", "? ", "a: b", "\na: b\n", "\n- a\n"),
    *("x" * 300, "9" * 25, "{{ a }}", '"a b"', "# c\n", "\n\n", "\u2028", "\x85", ":", "#", "'", '"', "\\"),
    *("...", "---", "|", ">", "*a", "{", "}", "[", "]", ",", "?", "%", "@", "`", "<<", "=", "~", "null", "y"),
    *("No", "0x1F", "1_000", "1e3", ".5", ".inf", "-.nan", "+1", "-1", "0o7", "2024-01-01", "12:30", "é"),
    *("\ufeff", "\x00", "\x7f", "{}", "[]", "a", "/", "_", "..", "'a'"),
]


def mutated(text: str, dice: random.Random) -> str:
    """Change some places of a text: a piece more, some characters or a line less, a line elsewhere."""
    for _ in range(dice.randint(1, 3)):
        at, change = dice.randint(0, len(text)), dice.randint(0, 3)
        if change == 0:
            text = text[:at] + dice.choice(PIECES) + text[at:]
        elif change == 1:
            text = text[:at] + text[at + dice.randint(1, 4) :]
        else:
            lines = text.split("\n")
            line = lines.pop(dice.randrange(len(lines)))
            if change == 2:
                lines.insert(dice.randint(0, len(lines)), " " * dice.randint(0, 3) + line)
            text = "\n".join(lines)
    return text


def check(text: str) -> bool:
    """Compare both readers; return whether the quick one has read the text."""
    value = read_blocks(text)
    if value is None:
        return False
    composed = compose(text)
    # The text tells numbers and truth values apart, and has the order of keys.
    assert (repr(composed.value), composed.repeated, composed.ignored) == (repr(value), False, None), text
    return True


@each_row("driver", *built_in())
def test_profiles_of_drivers_are_simple(driver: str) -> None:
    assert check(text_of(driver))


def test_manifests_are_read_alike() -> None:
    assert sum(map(check, MANIFESTS)) > len(MANIFESTS) / 10


@each_row(
    "text",
    "a:\n- b\n- 1\n- 'c d'\ne: f\n",
    "a:\n  - b:\n    - c\n    d: e\n  - yes # g\n",
    "a: [b, c-d , 'e f', .5, no,]\n",
    "a:\n- {b: c/d, e: 'f, g', h: .5, i: no}\n- { j: null , }\n",
)
def test_lists_and_maps_of_plain_scalars_need_no_libyaml(text: str) -> None:
    assert check(text)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_changed_manifests_are_read_alike(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - no secrets
    read = [text for text in MANIFESTS if read_blocks(text)]
    times, found = 200 if seed == 1 else 2_000, 0
    for text in dice.choices(read, k=times):
        assert check(text)
        found += sum(check(mutated(text, dice)) for _ in range(10))
    assert found > times


FORM = "name: {}\nlist: [{}]\nnested:\n- key: {}\n- constant: 'a'\n{}"
"""A text that has values."""


def test_texts_that_differ_in_few_lines_are_read_alike() -> None:
    values = ["a", "b", "'c'", "1", "1.5", "yes", "null", '""', "[]", "{}", "", "a: b", "#", "c" * 300, "\n", "k: v"]
    texts = [FORM.format(*each) for each in product(values, ["a", "b, c"], values, ["last: 1", "last: 2\n", ""])]
    dice = random.Random(1)  # noqa: S311 - no secrets
    dice.shuffle(texts)
    assert sum(map(check, texts)) > len(texts) / 4


@each_row(
    "text",
    *("", "# nothing\n", "a", "- a\n", " a: b\n", "a: b\na: c\n", "y: b\n", "a: .inf\n", "a: b: c\n", "a:\n  b\n"),
    *("a:\n\tb: c\n", "a: b\r\n", "a: b\n...\nc\n", "a: é\n", "a: \x07\n", "a:\n  b: 1\n c: 2\n"),
    *("a: [b c]\n", "a: [b: c]\n", "a: [b\n  ]\n", "a: [,]\n"),
    *("a: {b}\n", "a: {b: c, b: d}\n", "a: {y: b}\n", "a: {b: [c]}\n", "a: {b:c}\n", "a: {b: .inf}\n"),
    *("a: |\n  b\n", "a: &b c\nd: *b\n", "a: !!str 1\n", 'a: "\\u0041"\n', "k" * 2000 + ": a\n"),
    "\n".join(f"{' ' * depth}a:" for depth in range(300)),
)
def test_what_is_not_simple_is_left_to_libyaml(text: str) -> None:
    assert read_blocks(text) is None


def test_a_line_that_is_read_again_makes_lists_and_maps_of_its_own() -> None:
    text = 'a: ["b"]\nc: {}\nd: {e: f}\n'
    first, second = read_blocks(text), read_blocks(text)
    assert first == second == {"a": ["b"], "c": {}, "d": {"e": "f"}}
    assert first is not None
    assert second is not None
    assert all(first[key] is not second[key] for key in first)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return the path of each key and item, and of some that are not there."""
    yield (*path, "absent")
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in parts:
        yield (*path, step)
        yield from paths(each, (*path, step))


def test_keys_and_items_are_found_without_libyaml() -> None:
    read = [text for text in MANIFESTS if read_blocks(text)]
    found = 0
    for text, simple in zip(read, parse("---\n".join(read)), strict=True):
        assert isinstance(simple, Document)
        simple.origin.is_simple = False
        for path in paths(simple.data):
            place, offset = simple.position(path), offset_of(text, path)
            found += offset is not None
            simple.origin.is_simple = True
            assert simple.position(path) == place
            simple.origin.is_simple = False
    assert found > 10 * len(read)


@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_changed_manifests_have_their_keys_at_the_same_place(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - no secrets
    read = [text for text in MANIFESTS if read_blocks(text)]
    for _ in range(100 if seed == 3 else 2_000):
        text = mutated(dice.choice(read), dice)
        if (value := read_blocks(text)) is not None:
            where, _ = read_nodes(text)
            for path in paths(value):
                offset = offset_of(text, path)
                assert offset is None or offset == where.locate(path)[0], (text, path)


def test_findings_know_their_lines() -> None:
    (document,) = parse("a:\n# b\n- c: d\n  e:\n  - f\n")
    assert isinstance(document, Document)
    assert document.data == {"a": [{"c": "d", "e": ["f"]}]}
    assert document.position(("a", 0, "e", 0)).line == 5


@each_row(
    "line",
    *(f"a: {start}{unit * 50_000}" for start, unit in (("", "b "), ("[", '"b", '), ("[", '""'), ("[", "b, "))),
    *(f"a: {start}{unit * 50_000}" for start, unit in (("{", "b: c, "), ("{", "b: c"), ("", "# "))),
    *("- " * 50_000, "a" * 100_000 + ":", " " * 100_000),
)
def test_long_lines_take_linear_time(line: str) -> None:
    text = "\n".join([line] * 5)
    try:
        assert read_blocks(text) is None or compose(text)
    except ContentError:
        assert read_blocks(text) is None
