"""What holds for any text, however it is read: by the short cut or not, with libyaml or without, quickly."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from webhook.documents import Document, Unreadable, parse
from webhook.documents.blocks import GIVEN_UP, read_blocks
from webhook.documents.compose import Composed, compose
from webhook.documents.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = json.loads((Path(__file__).parent / "documents" / "pieces.json").read_text("utf-8"))
PIECES, KEYS, VALUES = PARTS["pieces"], PARTS["keys"], PARTS["values"]

YAML = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)

LINES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", " ", "  ", "  ", "   ", "    ", "    ", "      "]),
    st.sampled_from(["", "", "", "- ", "- ", "- - ", "-  ", "-"]),
    st.sampled_from(
        [
            "",
            "",
            *(f"{key}:" for key in KEYS[:4] * 4),
            *(f"{key}: " for key in KEYS[:4] * 4),
            *(f"{key}: " for key in KEYS),
        ]
    ),
    st.sampled_from(["", "", "", *VALUES[:4] * 8, *VALUES]),
)


def same_or_given_up(text: str) -> bool:
    """Tell whether the short cut reads a text, having checked that it reads what there is."""
    found = read_blocks(text)
    if found is GIVEN_UP:
        return False
    assert repr(Composed(found)) == repr(compose(text)), text
    return True


@given(
    st.binary(max_size=60) | YAML.map(lambda text: text.encode(errors="surrogatepass")) | st.text(max_size=40) | YAML
)
@settings(max_examples=1500, deadline=None)
@example(b'{"a": ' + b"9" * 5000 + b"}")
@example("a: \ud800")
@example(b'{"":1e400\0')
def test_nothing_makes_the_reader_fail(text: bytes | str) -> None:
    for found in parse(text):
        if isinstance(found, Unreadable):
            assert found.message
            assert found.line > 0
            assert found.column > 0
        else:
            path = deepest(found.data)
            assert found.position(path).line >= found.position().line > 0
            assert found.position((*path, "missing")) == found.position(path)


def deepest(value: Any) -> list[str | int]:
    path: list[str | int] = []
    while isinstance(value, dict | list) and value:
        key = next(reversed(value)) if isinstance(value, dict) else len(value) - 1
        path.append(key)
        value = value[key]
    return path


@given(st.lists(LINES, max_size=7).map(lambda lines: "".join(f"{line}\n" for line in lines)))
@settings(max_examples=3000, deadline=None)
@example("a: |\n  x")
@example("a: |\n   \n  x\n")
@example("a: >\n\n  x\n")
@example("a: x\n  # c\n  y\n")
@example("k" * 1100 + ": 1\n")
@example("a: 1\n" + "k" * 300 + ":\n")
@example("a: \x85b\n")
@example("a:\n  b: |\n    x\n  y\n")
def test_the_short_cut_reads_what_there_is(text: str) -> None:
    same_or_given_up(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# c\n\n",
        "a: 1\nb:\n- x\n- y: z\n  w:\n    - 1\nc: [1, {d: e}]\n",
        "a: |-\n  x\n    y\n\n  z\nb: >\n  p\n  q\nc: |\n  r\n\nd:\n",
        "- - a\n  - b\n- - c: d\n    e: f\n- g\n",
        "a: one\n  two three\n  four\nb: 'it''s'\nc: \"x\\ty\"\n",
        "  a: é # c\n  b:   {}   \n\n  n: no\n  y: null\n",
    ],
)
def test_the_short_cut_reads_ordinary_manifests(text: str) -> None:
    assert same_or_given_up(text)


@pytest.mark.parametrize(
    "text",
    [
        "\n".join("  " * level + "a:" for level in range(100)),
        "\n".join("  " * level + "- a:" for level in range(0, 200, 2)),
        "\n".join("  " * 8 * level + "- " * 9 + "a" for level in range(20)),
        "- " * 100 + "a",
        "a: " + "[" * 100 + "]" * 100,
    ],
)
def test_the_short_cut_bounds_what_it_builds(text: str) -> None:
    assert read_blocks(text) is GIVEN_UP


def test_the_short_cut_forgets_lines_in_time() -> None:
    for number in range(50_000):
        read_blocks(f"name: n{number}")
    assert read_blocks("name: n1") == {"name": "n1"}


@given(YAML.filter(lambda text: "\ufeff" not in text))
@settings(max_examples=300, deadline=None)
def test_it_is_the_same_without_libyaml(text: str) -> None:
    # PyYAML's own parser is a little more lax, and a little stricter, at the edges of the language.
    with pytest.MonkeyPatch.context() as patch:
        before = outcome(text)
        patch.setattr(yaml, "__with_libyaml__", False)
        after = outcome(text)
    if not isinstance(before, Fault) and not isinstance(after, Fault):
        assert repr(before.value) == repr(after.value)


def outcome(text: str) -> Composed | Fault:
    try:
        return compose(text)
    except Fault as fault:
        return fault


def test_without_libyaml_documents_are_found_in_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    good, bad, ugly = parse('a: &a [1]\nb: {c: *a}\n---\na: \'x\n---\na: "\\U00110000"\n')
    assert isinstance(good, Document)
    assert (good.data, good.position(("b", "c")).column) == ({"a": [1], "b": {"c": [1]}}, 5)
    assert isinstance(bad, Unreadable)
    assert bad.line == 5
    assert isinstance(ugly, Unreadable)
    assert ugly.line == 6


CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: claim-{number}
  labels: {{app: trainer}}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: {count}
        selectors:
        - cel:
            expression: device.attributes["gpu.example.com"].model == "a100"
"""
CLAIMS = "---\n".join(CLAIM.format(number=number, count=number % 8 + 1) for number in range(500))


def test_reading_takes_less_time_than_pyyaml_needs_in_c() -> None:
    ours = quickest(lambda: sum(1 for _ in parse(CLAIMS)))
    theirs = quickest(lambda: sum(1 for _ in yaml.load_all(CLAIMS, yaml.CSafeLoader)))
    assert ours < 0.8 * theirs


def quickest(work: Callable[[], int]) -> float:
    times = []
    for _ in range(5):
        gc.collect()
        start = time.perf_counter()
        assert work() == 500
        times.append(time.perf_counter() - start)
    return min(times)


def test_where_a_thousand_problems_are_is_found_in_time() -> None:
    found = [each for each in parse(CLAIMS * 2) if isinstance(each, Document)]
    start = time.perf_counter()
    for document in reversed(found):
        document.line(document.position(("spec", "devices", "requests", 0, "exactly", "count")).line)
    assert time.perf_counter() - start < 5
