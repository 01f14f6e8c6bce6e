"""Long lists, which are read item by item where only a part of the text is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from webhook.documents import Document, Unreadable, limits, longlists, parse, parts
from webhook.documents.parts import parse_in_parts

HEAD = "apiVersion: v1\nitems:\n"
TAIL = 'kind: List\nmetadata:\n  resourceVersion: ""\n'
NODE = "- apiVersion: v1\n  kind: Node\n  metadata:\n    name: é\n"
ANNOTATED = (
    '- kind: Node\n  metadata:\n    annotations:\n      a: |\n        - x\n\n      b: "c\n        d"\n    name: b\n'
)
NESTED = "- kind: PodList\n  apiVersion: v1\n  items:\n  - metadata:\n      name: inner\n"
NODES = {"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}] * 3}


def seen(text: str, read: Callable[[bytes, str], Iterator[Document | Unreadable]]) -> list[Any]:
    def show(found: Document | Unreadable) -> Any:
        if isinstance(found, Unreadable):
            return found
        places = [found.position(path) for path in ((), ("metadata", "name"), ("metadata", "none"))]
        return repr(found.data), found.index, found.within, places, [found.excerpt(each.line) for each in places]

    return [show(each) for each in read(text.encode(), "list")]


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_PART", len(NODE))


@pytest.mark.parametrize(
    "text",
    [
        HEAD + NODE * 4 + TAIL,
        HEAD + ANNOTATED + NODE + ANNOTATED + NESTED + NODE + "- 5\n" + TAIL,
        f"items:\n{NODE}- metadata:\n    name: a\n# comment\n\n{NODE}apiVersion: v1\nkind: NodeList\n",
        json.dumps(NODES, indent=4),
        json.dumps(NODES | {"items": [None, 1.5, {"a": "\ud800"}, NODES, *NODES["items"]]}, indent=1),
        json.dumps(NODES) + "\n",
    ],
)
def test_items_of_a_long_list_are_those_of_the_whole(text: str) -> None:
    found = list(parse_in_parts(text.encode()))
    assert seen(text, parse_in_parts) == seen(text, parse)
    assert all(isinstance(each, Document) and each.within[0] == "items" for each in found)
    assert parts.long_list(text)


def test_parts_of_a_list_are_shorter_than_the_whole() -> None:
    for text in (HEAD + NODE * 4 + TAIL, json.dumps(NODES, indent=4)):
        kept = [each.whole_text for each in parse_in_parts(text.encode()) if isinstance(each, Document)]
        assert all(len(each) < len(text) for each in kept)
        assert "".join(dict.fromkeys(kept)) == text or len(set(kept)) < len(kept)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + NODE + "- a: 1\n...\n" + NODE + TAIL,
        HEAD + NODE + "- a: &a 1\n" + NODE + "- a: *a\n" + TAIL,
        HEAD + NODE + '- a: "x\n' + NODE + '- a: y"\n' + TAIL,
        HEAD + NODE + "- <<: {a: 1}\n" + TAIL,
        HEAD + NODE + "- a: 1\n  a: 2\n" + TAIL,
        HEAD + NODE + "- a: 1\r- b: 2\n" + TAIL,
        HEAD + NODE + "- - 1\n- a: [\n" + TAIL,
        HEAD + NODE + "|\nkind: List\n",
        HEAD + NODE + "kind: Node\n",
        HEAD + NODE + TAIL + "items: []\n",
        f'x: "\nitems:\n{NODE}"\nitems:\nkind: List\n',
        f"# Source: a.yaml\n{HEAD}{NODE}{TAIL}",
        "---\n" + HEAD + NODE + TAIL,
        "apiVersion: v1\nkind: List\nitems: []\n" + "# comment\n" * 9,
        json.dumps(NODES, indent=4) + "\n{}\n",
        json.dumps(NODES, indent=4).replace('"kind"', '"items": [], "kind"'),
        json.dumps(NODES, indent=4).replace('"a"', '"a", "name": "b"', 1),
        json.dumps(NODES, indent=4).replace('"a"', "1e999", 1),
        json.dumps(NODES, indent=4).replace('"a"', "a", 1),
        json.dumps(NODES, indent=4).replace(":", ";", 1),
        json.dumps(NODES, indent=4).replace("NodeList", "Node"),
        json.dumps({**NODES, "items": [], "metadata": ["long"] * 20}),
        '{"items": [' + "[" * limits.MAX_DEPTH + "]" * limits.MAX_DEPTH + '], "kind": "List"}',
    ],
)
def test_other_lists_are_read_as_a_whole(text: str) -> None:
    assert parts.long_list(text) is None


def test_a_list_of_too_many_values_is_read_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + NODE * 3 + TAIL
    events = sum(1 for _ in yaml.parse(text))
    monkeypatch.setattr(longlists, "MAX_VALUES", events)
    assert parts.long_list(text)
    monkeypatch.setattr(longlists, "MAX_VALUES", events - 1)
    assert parts.long_list(text) is None
