"""Lists of a cluster's objects, as kubectl prints them in JSON, are read one by one."""

import json
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.documents.reading import objects
from tests.rows import each_row
from webhook.documents import Document, Selection, Unreadable, read, stored
from webhook.documents.source import MAX_DEPTH
from webhook.objects import JSONObject

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}


def nodes_of(text: bytes, wanted: stored.ObjectFilter | None = None) -> list[Document | Unreadable]:
    """Read the nodes of standard input."""
    selection = Selection(allow_empty=True, git=False, stored=wanted or stored.ObjectFilter({"Node"}))
    return list(read(["-"], BytesIO(text), selection))


def quickly(text: str) -> list[Document | Unreadable] | None:
    """Read the nodes of a text one by one, unless it is left to the careful reader."""
    found = stored.stored(BytesIO(text.encode()), "x", stored.ObjectFilter({"Node"}))
    return None if found is None else list(found)


def data_of(found: Iterable[Document | Unreadable] | None) -> list[Any]:
    return [each.data if isinstance(each, Document) else each.message for each in found or ()]


def listed(*objects: JSONObject, **fields: Any) -> str:
    return json.dumps({"apiVersion": "v1", "items": objects, "kind": "List", **fields}, indent=4)


def test_only_kinds_that_are_needed_are_decoded(tmp_path: Path) -> None:
    text, file = listed(SECRET, NODE), tmp_path / "cluster.json"
    file.write_text(text, encoding="utf-8")
    selection = Selection(allow_empty=True, some_files=True, git=False, stored=stored.ObjectFilter({"Node"}))
    for found in (nodes_of(text.encode()), list(read([str(file)], selection=selection))):
        (document,) = found
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
    assert quickly(text) is None


def printed(*objects: JSONObject) -> str:
    """Write a list as snapshot prints it."""
    return '{"apiVersion": "v1", "kind": "List", "items": [\n' + ",\n".join(map(json.dumps, objects)) + "\n]}\n"


def test_lists_of_any_form_and_length_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_PART", 200)
    text = "},\n        {}]"
    nodes = [{**NODE, "metadata": {"name": str(number), "annotations": {"a": text}}} for number in range(50)]
    for form in (listed(*nodes), json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}), printed(*nodes)):
        assert data_of(quickly(form)) == nodes


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
    found = nodes_of(b"kind: Node\nmetadata: {name: a, uid: b, labels: null}\n", wanted)
    assert data_of(found) == [{"kind": "Node", "metadata": {"name": "a"}}]


@each_row("broken", b'"\xff"', b'"\\ud800"')
def test_a_careful_reader_reads_what_is_not_as_it_should_be(broken: bytes) -> None:
    text = b'{"kind": "List", "items": [{"kind": "Node", "x": %b}, {"kind": "Node"}]}' % broken
    assert data_of(nodes_of(text))[1:] == [{"kind": "Node"}]


def test_an_object_that_is_nested_too_deeply_is_reported() -> None:
    deep: Any = {}
    for _ in range(MAX_DEPTH):
        deep = [deep]
    found = nodes_of(listed({**NODE, "spec": deep}, NODE).encode())
    assert data_of(found) == [f"nested more than {MAX_DEPTH} levels deep", NODE]


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


@pytest.fixture
def _in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_LARGE", 0)
    monkeypatch.setattr(stored, "_PART", 7)


@pytest.mark.usefixtures("_in_pieces")
def test_large_lists_in_yaml_are_read_one_by_one() -> None:
    found = quickly(BLOCKS)
    assert data_of(found) == [each for each in objects(BLOCKS) if each["kind"] == "Node"]
    assert [each.index for each in found or () if isinstance(each, Document)] == [0, 2]
    broken = quickly(BLOCKS.replace("name: a", "name: [a")) or ()
    assert [each.line if isinstance(each, Unreadable) else each.index for each in broken] == [0, 2]


@pytest.mark.usefixtures("_in_pieces")
@each_row("text", f"{BLOCKS}---\n{BLOCKS}", BLOCKS.replace("kind: List", "kind: NodeList"), "items:\n- ")
def test_other_texts_in_yaml_are_left_to_the_careful_reader(text: str) -> None:
    assert quickly(text) is None


LONG = {**NODE, "metadata": {"name": "a" * 400}}


@pytest.mark.parametrize("text", [listed(LONG), printed(LONG), BLOCKS], ids=["kubectl", "snapshot", "YAML"])
def test_a_list_with_a_very_long_object_is_left_to_the_careful_reader(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_LARGE", 0)
    monkeypatch.setattr(stored, "_PART", 100)
    assert quickly(text) is not None
    monkeypatch.setattr(stored, "_LONGEST", 40)
    assert quickly(text) is None
