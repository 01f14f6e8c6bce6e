"""Lists of a cluster's objects, as kubectl prints them in JSON, are read one by one."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from webhook.documents import Document, Selection, Unreadable, parse, read, stored
from webhook.documents.source import MAX_DEPTH
from webhook.objects import JSONObject

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}


def items(data: str, *, stdin: bool = False, directory: Path | None = None) -> list[Document | Unreadable]:
    selection = Selection(allow_empty=True, some_files=True, git=False, stored=stored.ObjectFilter({"Node"}))
    if stdin:
        return list(read(["-"], BytesIO(data.encode()), selection))
    assert directory is not None
    (directory / "cluster.json").write_text(data, encoding="utf-8")
    return list(read([str(directory / "cluster.json")], selection=selection))


def listed(*objects: JSONObject, **fields: Any) -> str:
    return json.dumps({"apiVersion": "v1", "items": objects, "kind": "List", **fields}, indent=4)


@pytest.mark.parametrize("stdin", [True, False])
def test_only_kinds_that_are_needed_are_decoded(stdin: bool, tmp_path: Path) -> None:
    (document,) = items(listed(SECRET, NODE), stdin=stdin, directory=tmp_path)
    assert isinstance(document, Document)
    assert (document.data, document.index) == (NODE, 1)
    assert document.position(("metadata", "name")).line > 1


@each_row(
    "text",
    listed(NODE, kind="NodeList"),
    listed(NODE) + listed(NODE),
    json.dumps(NODE),
    f"# a list\n{listed(NODE)}",
    listed(NODE)[:-1],
    listed({**NODE, "kind": 1}),
    "",
)
def test_all_else_is_left_to_the_careful_reader(text: str) -> None:
    assert stored.stored(BytesIO(text.encode()), "x", stored.ObjectFilter({"Node"})) is None


LISTS: dict[str, Callable[..., str]] = {
    "as kubectl prints them": listed,
    "on one line": lambda *objects: json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
    "as snapshot prints them": lambda *objects: (
        '{"apiVersion": "v1", "kind": "List", "items": [\n' + ",\n".join(map(json.dumps, objects)) + "\n]}\n"
    ),
}


@pytest.mark.parametrize("write", LISTS.values(), ids=LISTS.keys())
def test_lists_of_any_form_and_length_are_read_one_by_one(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_PART", 200)
    text = "},\n        {}]"
    nodes = [{**NODE, "metadata": {"name": str(number), "annotations": {"a": text}}} for number in range(50)]
    found = stored.stored(BytesIO(write(*nodes).encode()), "x", stored.ObjectFilter({"Node"}))
    assert found is not None
    assert [each.data for each in found if isinstance(each, Document)] == nodes


def test_what_is_left_out_and_what_is_shared() -> None:
    shape = {"metadata": {"labels": stored.SHARED, "managedFields": stored.LEFT_OUT, "uid": stored.LEFT_OUT}}
    reader = stored.Reader({"Node": shape, "Slice": {"map": {stored.EACH: stored.SHARED}}}, {})
    metadata: JSONObject = {"name": "a", "labels": {"zone": "b"}, "managedFields": [{}], "uid": None}
    first, second = (reader.read(json.dumps({**NODE, "metadata": metadata}).encode(), "Node") for _ in range(2))
    assert first == {**NODE, "metadata": {"name": "a", "labels": {"zone": "b"}}}
    assert first["metadata"]["labels"] is second["metadata"]["labels"]
    assert reader.read(b'{"map": {"a": {"b": 1}, "c": {"b": 1}}, "d": [null]}', "Slice")["d"] == [{}]


def test_values_in_yaml_are_left_out_and_shared_too() -> None:
    wanted = stored.ObjectFilter({"Node"}, stored.Reader({}, {"metadata": {"uid": stored.LEFT_OUT}}))
    text = b"kind: Node\nmetadata: {name: a, uid: b, labels: null}\n"
    selection = Selection(allow_empty=True, git=False, stored=wanted)
    (document,) = read(["-"], BytesIO(text), selection)
    assert isinstance(document, Document)
    assert document.data == {"kind": "Node", "metadata": {"name": "a"}}


@each_row("broken", b'"\xff"', b'"\\ud800"')
def test_a_careful_reader_reads_what_is_not_as_it_should_be(broken: bytes) -> None:
    text = b'{"kind": "List", "items": [{"kind": "Node", "x": %b}, {"kind": "Node"}]}' % broken
    selection = Selection(allow_empty=True, git=False, stored=stored.ObjectFilter({"Node"}))
    assert [type(each) for each in read(["-"], BytesIO(text), selection)][1:] == [Document]


def test_an_object_that_is_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(MAX_DEPTH):
        deep = [deep]
    found = items(listed({**NODE, "spec": deep}, NODE), directory=tmp_path)
    assert [type(each) for each in found] == [Unreadable, Document]
    assert isinstance(found[0], Unreadable)
    assert found[0].message == f"nested more than {MAX_DEPTH} levels deep"


BLOCKS = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: a
    annotations:
      text: |
        - one
          kind: Pod

        two
- apiVersion: v1
  kind: Secret
  metadata: {name: b}
- apiVersion: v1
  kind: Node
  metadata:
    name: c
    finalizers:
    - "x
      y"
kind: List
metadata:
  resourceVersion: ""
"""


def read_in_pieces(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Document | Unreadable]:
    monkeypatch.setattr(stored, "_LARGE", 0)
    monkeypatch.setattr(stored, "_PART", 7)
    return list(stored.stored(BytesIO(text.encode()), "x", stored.ObjectFilter({"Node"})) or ())


def test_large_lists_in_yaml_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_in_pieces(BLOCKS, monkeypatch)
    whole = [each for each in parse(BLOCKS) if isinstance(each, Document) and each.data["kind"] == "Node"]
    assert [each.data for each in found if isinstance(each, Document)] == [each.data for each in whole]
    assert [each.index for each in found if isinstance(each, Document)] == [0, 2]


@pytest.mark.parametrize(
    "text", [f"{BLOCKS}---\n{BLOCKS}", BLOCKS.replace("kind: List", "kind: NodeList"), "items:\n- "]
)
def test_other_texts_in_yaml_are_left_to_the_careful_reader(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_in_pieces(text, monkeypatch) == []


@pytest.mark.parametrize("form", ["as kubectl prints them", "as snapshot prints them", "as YAML"])
def test_a_list_with_a_very_long_object_is_left_to_the_careful_reader(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = BLOCKS if form == "as YAML" else LISTS[form]({**NODE, "metadata": {"name": "a" * 400}})
    monkeypatch.setattr(stored, "_LARGE", 0)
    monkeypatch.setattr(stored, "_PART", 100)
    assert stored.stored(BytesIO(text.encode()), "x", stored.ObjectFilter({"Node"})) is not None
    monkeypatch.setattr(stored, "_LONGEST", 40)
    assert stored.stored(BytesIO(text.encode()), "x", stored.ObjectFilter({"Node"})) is None


def test_an_item_in_yaml_that_cannot_be_read_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_in_pieces(BLOCKS.replace("name: a", "name: [a"), monkeypatch)
    assert [type(each) for each in found] == [Unreadable, Document]
    assert isinstance(found[0], Unreadable)
    assert found[0].line == 0
