"""JSON Patch as kube-apiserver applies it."""

import copy
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row, each_row_beside
from webhook.policy.change import patch as patching
from webhook.policy.change.patch import PatchError, TestFailedError, apply_patch, difference

DOCUMENT: dict[str, Any] = {"a": [1, 2, 3], "m": {"x/y": 1, "t~u": 2}, "n": None, "s": "text"}


def patched(**operation: Any) -> dict[str, Any]:
    operation["from"] = operation.pop("from_", "")
    return apply_patch(DOCUMENT, [operation])


@each_row_beside("operation", "changed")
def test_operations(operation: dict[str, Any], changed: dict[str, Any]) -> None:
    assert patched(**operation) == DOCUMENT | changed


@each_row_beside("operation", "text")
def test_what_cannot_be_applied_is_said_as_the_api_server_says_it(operation: dict[str, Any], text: str) -> None:
    with pytest.raises(PatchError) as caught:
        patched(**operation)
    assert str(caught.value) == text


def test_an_index_of_many_digits_is_out_of_range() -> None:
    with pytest.raises(PatchError, match=f'strconv.Atoi: parsing "{"9" * 5000}": value out of range$'):
        patched(op="add", path=f"/a/{'9' * 5000}")


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


KEYS = st.sampled_from(["a", "b", "a/b", "a~b", "", "0", "-"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "1"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)


@each_row_beside("before", "after", "operations")
def test_only_what_differs_is_changed(before: Any, after: Any, operations: list[dict[str, Any]]) -> None:
    assert difference(before, after) == operations


@pytest.mark.slow
@settings(max_examples=300)
@given(OBJECTS, OBJECTS)
def test_the_patch_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = apply_patch(before, difference(before, after))
    assert repr(sorted_keys(made)) == repr(sorted_keys(after))


def sorted_keys(value: Any) -> Any:
    """Make two values that are equal as JSON, true and 1 apart, the same text."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(each) for each in value] if isinstance(value, list) else value
