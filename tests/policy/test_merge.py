"""Apply configurations merge as server-side apply merges."""

from typing import Any

import pytest

from tests.policy.examples import CLAIM, POD
from tests.rows import each_row, each_row_beside
from webhook.api.versions import VERSIONS, schema_of
from webhook.cel.types.values import UInt
from webhook.policy.change.merge import MergeError, apply
from webhook.policy.change.native import Foreign
from webhook.schema.derive.shape import Structure


def merged(obj: dict[str, Any], configuration: dict[str, Any]) -> dict[str, Any]:
    schema = schema_of(obj["apiVersion"], obj["kind"])
    assert schema
    return apply(obj, configuration, schema)


def spec_of(spec: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    result: dict[str, Any] = merged(POD | {"spec": POD["spec"] if old is None else old}, {"spec": spec})["spec"]
    return result


def test_fields_are_set_and_others_kept() -> None:
    assert spec_of({"priority": 3, "nodeName": "other"}) == POD["spec"] | {"priority": 3, "nodeName": "other"}


def test_labels_are_merged() -> None:
    labels = merged(POD, {"metadata": {"labels": {"b": "c"}}})["metadata"]["labels"]
    assert labels == {"app": "a", "b": "c"}


def test_containers_are_merged_by_name() -> None:
    old = {
        "containers": [{"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}]}, {"name": "b", "image": "y"}]
    }
    new = {"containers": [{"name": "b", "image": "z"}, {"name": "a", "env": [{"name": "F", "value": "2"}]}]}
    assert spec_of(new, old)["containers"] == [
        {"name": "b", "image": "z"},
        {"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}, {"name": "F", "value": "2"}]},
    ]


def names(old: str, new: str) -> str:
    containers = spec_of(
        {"containers": [{"name": each} for each in new]}, {"containers": [{"name": each} for each in old]}
    )
    return "".join(each["name"] for each in containers["containers"])


@each_row(
    ("old", "new", "result"),
    [
        ("", "ab", "ab"),
        ("ab", "", "ab"),
        ("ab", "cd", "abcd"),
        ("abc", "b", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "dbe", "adbce"),
        ("ab", "ba", "ba"),
        ("abcd", "db", "acdb"),
    ],
)
def test_the_order_of_the_new_list_holds(old: str, new: str, result: str) -> None:
    assert names(old, new) == result


def test_ports_are_distinguished_by_number_and_protocol() -> None:
    old = {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}]}
    same = {"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "web"}]}]}
    other = {"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]}
    assert len(spec_of(same, old)["containers"][0]["ports"]) == 1
    assert len(spec_of(other, old)["containers"][0]["ports"]) == 2


def test_finalizers_are_a_set() -> None:
    old = POD | {"metadata": POD["metadata"] | {"finalizers": ["a/b", "c/d"]}}
    assert merged(old, {"metadata": {"finalizers": ["e/f", "a/b"]}})["metadata"]["finalizers"] == ["e/f", "a/b", "c/d"]


@each_row_beside("configuration", "places")
def test_what_would_be_replaced_as_a_whole_is_refused(configuration: dict[str, Any], places: str) -> None:
    with pytest.raises(MergeError) as caught:
        merged(POD, configuration)
    assert str(caught.value) == (f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {places}")


@each_row(
    ("configuration", "text"),
    [
        ({"spec": {"priority": "x"}}, ".spec.priority: expected numeric (int or float), got string"),
        ({"spec": {"priority": []}}, ".spec.priority: expected numeric (int or float), got []interface {}"),
        ({"spec": {"hostIPC": "yes"}}, ".spec.hostIPC: expected boolean, got &{yes}"),
        ({"spec": {"nodeName": 1}}, ".spec.nodeName: expected string, got &value.valueUnstructured{Value:1}"),
        ({"spec": []}, ".spec: expected map, got &{[]}"),
        ({"spec": {"containers": {}}}, ".spec.containers: expected list, got &{map[]}"),
        ({"spec": {"nope": 1}}, ".spec.nope: field not declared in schema"),
        ({"spec": {"overhead": {"cpu": []}}}, ".spec.overhead.cpu: expected any scalar, got &{[]}"),
        (
            {"spec": {"containers": [None]}},
            ".spec.containers: element 0: associative list with keys may not have a null element",
        ),
        (
            {"spec": {"containers": ["a"]}},
            ".spec.containers: element 0: associative list with keys may not have non-map elements",
        ),
        (
            {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}},
            '.spec.containers: duplicate entries for key [name="a"]',
        ),
        (
            {"metadata": {"finalizers": [{}]}},
            ".metadata.finalizers: element 0: associative list without keys has an element that's a map type",
        ),
        ({"metadata": {"finalizers": ["a", "a"]}}, '.metadata.finalizers: duplicate entries for key [="a"]'),
        (
            {"spec": {"tolerations": [{"key": 1}], "priority": "x"}},
            (
                "errors:\n  .spec.tolerations[0].key: expected string, got &value.valueUnstructured{Value:1}\n"
                "  .spec.priority: expected numeric (int or float), got string"
            ),
        ),
        (
            {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": "x"}]}]}},
            (
                '.spec.containers[name="a"].ports[containerPort="x",protocol="TCP"].containerPort: expected '
                "numeric (int or float), got string"
            ),
        ),
        (
            {"spec": {"containers": [{"name": {"a": [1, "b"]}}]}},
            (
                '.spec.containers[name=a=[1,"b"]].name: expected string, got &value.valueUnstructured{Value:'
                'map[string]interface {}{"a":[]interface {}{1, "b"}}}'
            ),
        ),
        (
            {"metadata": {"finalizers": [Foreign(UInt(1))]}},
            ".metadata.finalizers[={{undefined}}]: expected string, got &value.valueUnstructured{Value:0x1}",
        ),
    ],
)
def test_what_is_not_of_the_objects_type_is_refused(configuration: dict[str, Any], text: str) -> None:
    with pytest.raises(MergeError) as caught:
        merged(POD, configuration)
    assert str(caught.value) == f"failed to convert patch object to typed object: {text}"


def test_an_object_that_is_malformed_itself_is_refused() -> None:
    with pytest.raises(MergeError, match="failed to convert original object to typed object"):
        merged(POD | {"spec": {"priority": "high"}}, {"spec": {"priority": 1}})


def test_fields_of_a_newer_release_stay_as_they_are() -> None:
    newer = POD | {"future": {"a": 1}, "spec": POD["spec"] | {"fieldOfTheFuture": [1]}}
    assert merged(newer, {"spec": {"priority": 1}}) == newer | {"spec": newer["spec"] | {"priority": 1}}


def test_claims_are_known_in_each_version() -> None:
    changed = merged(CLAIM, {"metadata": {"labels": {"a": "b"}}})
    assert changed["metadata"]["labels"] == {"a": "b"}
    old = CLAIM | {"apiVersion": "resource.k8s.io/v1beta1"}
    with pytest.raises(MergeError, match="may not mutate atomic"):
        merged(old, {"spec": {"devices": {"requests": [{"name": "a", "count": 1}]}}})
    with pytest.raises(MergeError, match="exactly: field not declared in schema"):
        merged(old, {"spec": {"devices": {"requests": [{"exactly": {}}]}}})


def test_every_type_that_is_named_is_there() -> None:
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
