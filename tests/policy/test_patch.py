"""JSON Patch as kube-apiserver applies it."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest

from tests.rows import each_row
from webhook.policy.change import patch as patching
from webhook.policy.change.patch import PatchError, TestFailedError, apply_patch

DOCUMENT: dict[str, Any] = {"a": [1, 2, 3], "m": {"x/y": 1, "t~u": 2}, "n": None, "s": "text"}


def patched(**operation: Any) -> dict[str, Any]:
    operation["from"] = operation.pop("from_", "")
    return apply_patch(DOCUMENT, [operation])


@each_row(
    ("operation", "changed"),
    [
        ({"op": "add", "path": "/b", "value": 1}, {"b": 1}),
        ({"op": "add", "path": "/b"}, {"b": None}),
        ({"op": "add", "path": "/a/0", "value": 0}, {"a": [0, 1, 2, 3]}),
        ({"op": "add", "path": "/a/3", "value": 4}, {"a": [1, 2, 3, 4]}),
        ({"op": "add", "path": "/a/-", "value": 4}, {"a": [1, 2, 3, 4]}),
        ({"op": "add", "path": "/a/-1", "value": 9}, {"a": [1, 2, 3, 9]}),
        ({"op": "add", "path": "/a/-4", "value": 9}, {"a": [9, 1, 2, 3]}),
        ({"op": "remove", "path": "/a/-1"}, {"a": [1, 2]}),
        ({"op": "remove", "path": "/m/x~1y"}, {"m": {"t~u": 2}}),
        ({"op": "replace", "path": "/m/t~0u", "value": 3}, {"m": {"x/y": 1, "t~u": 3}}),
        ({"op": "replace", "path": "/a/1", "value": 9}, {"a": [1, 9, 3]}),
        ({"op": "replace", "path": "/a/-3", "value": 9}, {"a": [9, 2, 3]}),
        ({"op": "replace", "path": "/b", "value": 9}, {"b": 9}),
        ({"op": "copy", "from_": "/b", "path": "/c"}, {"c": None}),
        ({"op": "move", "from_": "/a/0", "path": "/a/-"}, {"a": [2, 3, 1]}),
        ({"op": "copy", "from_": "/a", "path": "/b"}, {"b": [1, 2, 3]}),
        ({"op": "test", "path": "/a", "value": [1, 2, 3]}, {}),
        ({"op": "test", "path": "/missing"}, {}),
        ({"op": "test", "path": "/n", "value": None}, {}),
    ],
)
def test_operations(operation: dict[str, Any], changed: dict[str, Any]) -> None:
    assert patched(**operation) == DOCUMENT | changed


@each_row(
    ("operation", "text"),
    [
        ({"op": "merge", "path": "/a"}, "Unexpected kind: merge"),
        (
            {"op": "add", "path": "/x/y", "value": 1},
            'add operation does not apply: doc is missing path: "/x/y": missing value',
        ),
        ({"op": "add", "path": "/s/y"}, 'add operation does not apply: doc is missing path: "/s/y": missing value'),
        ({"op": "add", "path": "b"}, 'add operation does not apply: doc is missing path: "b": missing value'),
        (
            {"op": "add", "path": "/a/9", "value": 1},
            "error in add for path: '/a/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/a/x", "value": 1},
            (
                "error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: "
                'parsing "x": invalid syntax'
            ),
        ),
        (
            {"op": "remove", "path": "/b"},
            "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            {"op": "remove", "path": "/b/c"},
            'remove operation does not apply: doc is missing path: "/b/c": missing value',
        ),
        (
            {"op": "replace", "path": "/a/3"},
            "replace operation does not apply: doc is missing key: /a/3: missing value",
        ),
        (
            {"op": "remove", "path": "/a/x"},
            "error in remove for path: '/a/x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            {"op": "add", "path": f"/a/{'9' * 5000}"},
            (
                f"error in add for path: '/a/{'9' * 5000}': value was not a proper array index: '{'9' * 5000}': "
                f'strconv.Atoi: parsing "{"9" * 5000}": value out of range'
            ),
        ),
        (
            {"op": "add", "path": "/a/-5"},
            "error in add for path: '/a/-5': Unable to access invalid index: -5: invalid index referenced",
        ),
        (
            {"op": "replace", "path": "/b/c"},
            "replace operation does not apply: doc is missing path: /b/c: missing value",
        ),
        ({"op": "replace", "path": "", "value": 1}, "replace operation value must be object or array: %!w(<nil>)"),
        ({"op": "replace", "path": "", "value": [1]}, "the patched document is not an object"),
        (
            {"op": "move", "path": "/b"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            {"op": "move", "from_": "/b", "path": "/c"},
            "error in move for path: 'b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            {"op": "move", "from_": "/b/c", "path": "/c"},
            "move operation does not apply: doc is missing from path: /b/c: missing value",
        ),
        (
            {"op": "move", "from_": "/a", "path": "/b/c"},
            "move operation does not apply: doc is missing destination path: /b/c: missing value",
        ),
        (
            {"op": "copy", "path": "/b"},
            "copy operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            {"op": "copy", "from_": "/a/9", "path": "/c"},
            "error in copy for from: '/a/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "copy", "from_": "/a/9/b", "path": "/c"},
            "copy operation does not apply: doc is missing from path: /a/9/b: missing value",
        ),
        (
            {"op": "copy", "from_": "/a", "path": "/a/9"},
            "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced",
        ),
        ({"op": "test", "path": "/b/c"}, "test operation does not apply: is missing path: /b/c: missing value"),
        (
            {"op": "test", "path": "/a/9"},
            "error in test for path: '/a/9': Unable to access invalid index: 9: invalid index referenced",
        ),
    ],
)
def test_what_cannot_be_applied_is_said_as_the_api_server_says_it(operation: dict[str, Any], text: str) -> None:
    with pytest.raises(PatchError) as caught:
        patched(**operation)
    assert str(caught.value) == text


@each_row(
    ("path", "value"),
    [
        ("/a", [1, 2]),
        ("/a/0", True),
        ("/s", "other"),
        ("/m", {}),
        ("/m/x~1y", "1"),
        ("", {}),
        ("/a/0", None),
        ("/b", 1),
    ],
)
def test_a_failed_test_operation_has_its_own_error(path: str, value: Any) -> None:
    with pytest.raises(TestFailedError):
        patched(op="test", path=path, value=value)


def test_the_patchs_own_values_stay_as_they_are() -> None:
    value: dict[str, Any] = {"x": []}
    apply_patch({}, [{"op": "add", "path": "/a", "value": value}, {"op": "add", "path": "/a/x/-", "value": 1}])
    assert value == {"x": []}


def test_copies_do_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patching, "MAX_SIZE", 1000)
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"}] * 30
    with pytest.raises(PatchError, match=r"size increase of copy is [0-9]+, exceeding the limit 1000"):
        apply_patch(DOCUMENT, doubling)


@each_row(
    "operations",
    [
        [{"op": "add", "path": "/m/n/0/a", "value": 2}, {"op": "remove", "path": "/m/n/0/a"}],
        [{"op": "move", "from": "/m/n", "path": "/o"}, {"op": "add", "path": "/o/0/a", "value": 2}],
        [{"op": "copy", "from": "/m/n", "path": "/o"}, {"op": "replace", "path": "/o/0/a", "value": 2}],
        [{"op": "move", "from": "/m/n/0", "path": "/m/n/1"}, {"op": "add", "path": "/m/n/1/a", "value": 2}],
        [{"op": "replace", "path": "", "value": {"b": {}}}, {"op": "add", "path": "/b/c", "value": 2}],
        [{"op": "add", "path": "/m/o", "value": {"p": {}}}, {"op": "add", "path": "/m/o/p/q", "value": 2}],
    ],
)
def test_neither_object_nor_operations_change(operations: list[dict[str, Any]]) -> None:
    obj: dict[str, Any] = {"m": {"n": [{"a": 1}, {"b": [1]}]}, "s": {"t": [1]}}
    given = copy.deepcopy((obj, operations))
    result = apply_patch(obj, operations)
    assert (obj, operations) == given
    assert result == jsonpatch.apply_patch(obj, json.dumps(operations))


def test_what_a_patch_does_not_reach_is_shared() -> None:
    obj: dict[str, Any] = {"m": {"n": [{"a": 1}, {"b": [1]}]}, "s": {"t": [1]}}
    result = apply_patch(obj, [{"op": "add", "path": "/m/n/0/a", "value": 2}])
    assert result == {"m": {"n": [{"a": 2}, {"b": [1]}]}, "s": {"t": [1]}}
    assert result["s"] is obj["s"]
    assert result["m"]["n"][1] is obj["m"]["n"][1]
