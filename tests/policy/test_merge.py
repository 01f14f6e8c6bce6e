"""Apply configurations merge as in server-side apply, and JSON Patches apply as in kube-apiserver."""

import copy
import json
from random import Random
from typing import Any

import jsonpatch
import pytest
from hypothesis import given

from tests.examples import examples
from tests.objects import seeded
from tests.policy.examples import CLAIM, POD
from tests.rows import each_row, each_row_beside
from webhook import patch as patching
from webhook.api.versions import VERSIONS, schema_of
from webhook.cel.types.values import UInt
from webhook.patch import PatchError, TestFailedError, apply_patch, difference
from webhook.policy.change.decoding import MutationError
from webhook.policy.change.merge import apply
from webhook.policy.change.native import Foreign
from webhook.schema.derive.shape import Structure


def merged(obj: dict[str, Any], configuration: dict[str, Any]) -> dict[str, Any]:
    schema = schema_of(obj["apiVersion"], obj["kind"])
    assert schema
    return apply(obj, configuration, schema)


def spec_of(spec: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    result: dict[str, Any] = merged(POD | {"spec": POD["spec"] if old is None else old}, {"spec": spec})["spec"]
    return result


def test_fields_are_set_and_others_kept_and_labels_merged() -> None:
    assert spec_of({"priority": 3, "nodeName": "other"}) == POD["spec"] | {"priority": 3, "nodeName": "other"}
    labels = merged(POD, {"metadata": {"labels": {"b": "c"}}})["metadata"]["labels"]
    assert labels == {"app": "a", "b": "c"}


def test_containers_are_merged_by_name() -> None:
    first, second = {"name": "E", "value": "1"}, {"name": "F", "value": "2"}
    old = {"containers": [{"name": "a", "image": "x", "env": [first]}, {"name": "b", "image": "y"}]}
    new = {"containers": [{"name": "b", "image": "z"}, {"name": "a", "env": [second]}]}
    merged = [{"name": "b", "image": "z"}, {"name": "a", "image": "x", "env": [first, second]}]
    assert spec_of(new, old)["containers"] == merged


def test_a_wrong_value_is_not_an_unknown_field_whatever_its_text() -> None:
    old = POD["spec"] | {"hostNetwork": "a: field not declared in schema"}
    with pytest.raises(MutationError, match="hostNetwork: expected boolean"):
        spec_of({"priority": 3}, old)


@each_row(
    ("old", "new", "result"),
    ("", "ab", "ab"), ("ab", "", "ab"), ("ab", "cd", "abcd"), ("abc", "b", "abc"), ("abc", "ca", "bca"),
    ("abc", "dbe", "adbce"), ("ab", "ba", "ba"), ("abcd", "db", "acdb"),
)  # fmt: skip
def test_the_order_of_the_new_list_holds(old: str, new: str, result: str) -> None:
    before, configured = ({"containers": [{"name": each} for each in names]} for names in (old, new))
    assert "".join(each["name"] for each in spec_of(configured, before)["containers"]) == result


def test_ports_are_distinguished_by_number_and_protocol_and_finalizers_are_a_set() -> None:
    old = {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}
    for port, count in (({"protocol": "TCP", "name": "web"}, 1), ({"protocol": "UDP"}, 2)):
        new = {"containers": [{"name": "a", "ports": [{"containerPort": 80, **port}]}]}
        assert len(spec_of(new, old)["containers"][0]["ports"]) == count
    final = POD | {"metadata": POD["metadata"] | {"finalizers": ["a/b", "c/d"]}}
    found = merged(final, {"metadata": {"finalizers": ["e/f", "a/b"]}})["metadata"]["finalizers"]
    assert found == ["e/f", "a/b", "c/d"]


@each_row_beside("configuration", "places")
def test_what_would_be_replaced_as_a_whole_is_refused(configuration: dict[str, Any], places: str) -> None:
    with pytest.raises(MutationError) as caught:
        merged(POD, configuration)
    why = f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {places}"
    assert str(caught.value) == f"error applying patch: {why}"


@each_row_beside("configuration", "text")
def test_what_is_not_of_the_objects_type_is_refused(configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(MutationError) as caught:
        merged(POD, configuration)
    assert str(caught.value) == f"error applying patch: failed to convert patch object to typed object: {text}"


def test_a_value_of_cel_is_not_of_the_objects_type() -> None:
    said = r"\.metadata\.finalizers\[={{undefined}}\]: expected string, got &value\.valueUnstructured{Value:0x1}$"
    with pytest.raises(MutationError, match=said):
        merged(POD, {"metadata": {"finalizers": [Foreign(UInt(1))]}})


def test_neither_what_is_malformed_nor_what_is_of_a_newer_release_is_changed() -> None:
    with pytest.raises(MutationError, match="failed to convert original object to typed object"):
        merged(POD | {"spec": {"priority": "high"}}, {"spec": {"priority": 1}})
    newer = POD | {"future": {"a": 1}, "spec": POD["spec"] | {"fieldOfTheFuture": [1]}}
    assert merged(newer, {"spec": {"priority": 1}}) == newer | {"spec": newer["spec"] | {"priority": 1}}


def test_claims_are_known_in_each_version_and_every_type_that_is_named_is_there() -> None:
    changed = merged(CLAIM, {"metadata": {"labels": {"a": "b"}}})
    assert changed["metadata"]["labels"] == {"a": "b"}
    old = CLAIM | {"apiVersion": "resource.k8s.io/v1beta1"}
    with pytest.raises(MutationError, match="may not mutate atomic"):
        merged(old, {"spec": {"devices": {"requests": [{"name": "a", "count": 1}]}}})
    with pytest.raises(MutationError, match="exactly: field not declared in schema"):
        merged(old, {"spec": {"devices": {"requests": [{"exactly": {}}]}}})
    served = {(version, kind) for version, each in VERSIONS.items() for kind in each.kinds}
    for api_version, kind in served | {("v1", "ConfigMap"), ("v1", "Service"), ("networking.k8s.io/v1", "Ingress")}:
        _walk(schema_of(api_version, kind), set())
    assert schema_of("v1", "Nothing") is None


def _walk(shape: Any, seen: set[str]) -> None:
    if isinstance(shape, Structure):
        if shape.name not in seen:
            seen.add(shape.name)
            for _, each in shape.fields():
                _walk(each, seen)
    elif hasattr(shape, "item"):
        _walk(shape.item, seen)


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


@pytest.mark.no_cover
def test_an_index_of_many_digits_is_out_of_range() -> None:
    with pytest.raises(PatchError, match=f'strconv.Atoi: parsing "{"9" * 5000}": value out of range$'):
        patched(op="add", path=f"/a/{'9' * 5000}")


@each_row(
    ("path", "value"),
    ("/a", [1, 2]), ("/a/0", True), ("/s", "other"), ("/m", {}), ("/m/x~1y", "1"), ("", {}), ("/a/0", None), ("/b", 1),
)  # fmt: skip
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
    [{"op": "add", "path": "/m/n/0/a", "value": 2}, {"op": "remove", "path": "/m/n/0/a"}],
    [{"op": "move", "from": "/m/n", "path": "/o"}, {"op": "add", "path": "/o/0/a", "value": 2}],
    [{"op": "copy", "from": "/m/n", "path": "/o"}, {"op": "replace", "path": "/o/0/a", "value": 2}],
    [{"op": "move", "from": "/m/n/0", "path": "/m/n/1"}, {"op": "add", "path": "/m/n/1/a", "value": 2}],
    [{"op": "replace", "path": "", "value": {"b": {}}}, {"op": "add", "path": "/b/c", "value": 2}],
    [{"op": "add", "path": "/m/o", "value": {"p": {}}}, {"op": "add", "path": "/m/o/p/q", "value": 2}],
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
    assert result["s"] is obj["s"]
    assert result["m"]["n"][1] is obj["m"]["n"][1]


KEYS = "a/b", "a~1b", "", "0"


def small(dice: Random, depth: int = 3) -> Any:
    """Choose one of few values of JSON."""
    if depth == 3 or (depth and dice.randrange(3)):
        items = [small(dice, depth - 1) for _ in range(dice.randrange(5))]
        made = dict(zip(dice.sample(KEYS, len(items)), items, strict=True))
        return made if depth == 3 else dice.choice((items, made))
    return dice.choice((None, True, False, 0, 1, "", "1"))


@each_row_beside("before", "after", "operations")
def test_only_what_differs_is_changed(before: Any, after: Any, operations: list[dict[str, Any]]) -> None:
    assert difference(before, after) == operations


@examples(1000)
@given(seeded(small), seeded(small))
def test_the_patch_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = apply_patch(before, difference(before, after))
    assert repr(sorted_keys(made)) == repr(sorted_keys(after))
    assert difference(before, before) == []


def sorted_keys(value: Any) -> Any:
    """Make two values that are equal as JSON, true and 1 apart, the same text."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(each) for each in value] if isinstance(value, list) else value
