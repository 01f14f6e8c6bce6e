"""Properties of any text, with libyaml or without."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from webhook.documents import Document, Unreadable, parse
from webhook.documents.compose import compose
from webhook.documents.source import Content, ContentError

pytestmark = pytest.mark.slow

PARTS = json.loads((Path(__file__).parent / "pieces.json").read_text("utf-8"))
PIECES, KEYS, VALUES = PARTS["pieces"], PARTS["keys"], PARTS["values"]

YAML = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)

LINES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", " ", "  ", "  ", "   ", "    ", "    ", "      "]),
    st.sampled_from(["", "", "", "- ", "- ", "- - ", "-  ", "-"]),
    st.sampled_from(["", "", *(f"{key}:" for key in KEYS[:4] * 4), *(f"{key}: " for key in [*KEYS[:4] * 4, *KEYS])]),
    st.sampled_from(["", "", "", *VALUES[:4] * 8, *VALUES]),
)


@given(
    st.binary(max_size=60)
    | YAML.map(lambda text: text.encode(errors="surrogatepass"))
    | st.text(max_size=40)
    | YAML
    | st.lists(LINES, max_size=7).map(lambda lines: "".join(f"{line}\n" for line in lines))
)
@settings(max_examples=1500)
@example(b'{"a": ' + b"9" * 5000 + b"}")
@example("a: \ud800")
@example(b'{"":1e400\0')
@example(b"{}1e400\0")
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


@given(YAML.filter(lambda text: "\ufeff" not in text))
@settings(max_examples=300)
def test_any_text_has_the_same_outcome_without_libyaml(text: str) -> None:
    # PyYAML's own parser is a little more lax, and a little stricter, at the edges of the language.
    with pytest.MonkeyPatch.context() as patch:
        before = outcome(text)
        patch.setattr(yaml, "__with_libyaml__", False)
        after = outcome(text)
    if not isinstance(before, ContentError) and not isinstance(after, ContentError):
        assert repr(before.value) == repr(after.value)


def outcome(text: str) -> Content | ContentError:
    try:
        return compose(text)
    except ContentError as fault:
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
