"""Lists of a cluster's objects, as kubectl prints them in JSON, are read one by one."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from webhook.documents import Document, Selection, Unreadable, read, stored
from webhook.documents.limits import MAX_DEPTH
from webhook.objects import JSONObject

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}


def items(data: str, *, stdin: bool = False, directory: Path | None = None) -> list[Document | Unreadable]:
    selection = Selection(allow_empty=True, some_files=True, git=False, stored={"Node"})
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


@pytest.mark.parametrize(
    "text",
    [
        listed(NODE, kind="NodeList"),
        listed(NODE) + listed(NODE),
        json.dumps(NODE),
        f"# a list\n{listed(NODE)}",
        listed(NODE)[:-1],
        listed({**NODE, "kind": 1}),
        "",
    ],
)
def test_all_else_is_left_to_the_careful_reader(text: str) -> None:
    assert stored.stored(text.encode(), "x", {"Node"}) is None


def test_an_object_that_is_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(MAX_DEPTH):
        deep = [deep]
    found = items(listed({**NODE, "spec": deep}, NODE), directory=tmp_path)
    assert [type(each) for each in found] == [Unreadable, Document]
    assert isinstance(found[0], Unreadable)
    assert found[0].message == f"nested more than {MAX_DEPTH} levels deep"
