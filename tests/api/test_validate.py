"""The library's main function: its input, and its findings about values that are not Kubernetes objects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import changed, claim
from webhook import validate


def found(obj: Any, old: Any = None) -> list[tuple[str, str, str]]:
    """List findings: rule, path and message."""
    return [(problem.rule, str(problem.path), problem.message) for problem in validate(obj, old)]


def test_a_kind_that_is_no_string_has_the_decoders_message() -> None:
    for field, value, kind in (("kind", ["a"], "array"), ("kind", 2, "number")):
        obj = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"} | {field: value}
        (problem,) = validate(obj)
        assert problem.rule == "wrong-type"
        assert problem.message == f"json: cannot unmarshal {kind} into Go struct field .{field} of type string"


@each_row(
    ("arguments", "message"),
    [
        ({"kubernetes": 1.34}, "kubernetes must be a string, not float"),
        ({"kubernetes": 34}, "kubernetes must be a string, not int"),
        ({"kubernetes": "1.26"}, r"Kubernetes 1\.26 is not known here; 1\.27 and later are"),
        ({"subresource": "scale"}, "subresource 'scale' is not judged: give \"status\""),
        ({"subresource": "Status", "old": claim()}, "subresource 'Status' is not judged"),
        ({"subresource": "status"}, "a status is judged as an update: give the stored object as old"),
        ({"feature_gates": {"DRADeviceTaint": True}}, "unrecognized feature gate: DRADeviceTaint"),
    ],
)
def test_an_invalid_query_is_a_value_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(claim(), **arguments)


@each_row(
    ("obj", "missing"),
    [
        ({}, ["apiVersion", "kind"]),
        ({"metadata": {"name": "claim"}}, ["apiVersion", "kind"]),
        ({"apiVersion": "v1"}, ["kind"]),
        ({"kind": "ConfigMap", "apiVersion": None}, ["apiVersion"]),
    ],
)
def test_what_tells_no_version_or_kind_is_not_an_object_of_kubernetes(obj: Any, missing: list[str]) -> None:
    assert found(obj) == [("not-served", field, f"{field} not set") for field in missing]


def test_nothing_is_said_of_kinds_that_are_not_judged() -> None:
    assert validate({"apiVersion": "v1", "kind": "ConfigMap", "data": 3}) == []


# Metadata


@each_row("namespace", ["Foo_", "a.b", "-a", "a" * 64])
def test_a_namespace_that_cannot_exist_is_not_found(namespace: str) -> None:
    (problem,) = validate(changed(claim(), metadata__namespace=namespace))
    assert (problem.rule, problem.reason, problem.field) == ("namespace", "NotFound", "metadata.namespace")
    assert problem.message == f'namespaces "{namespace}" not found'
    assert problem.hint.startswith("no namespace can be called so: ")


def test_a_namespace_of_what_has_none_is_cleared() -> None:
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu", "namespace": "Foo_"},
        "spec": {},
    }
    assert validate(device_class) == []
    assert validate(device_class, changed(device_class, metadata__namespace=...)) == []


def test_an_update_stays_in_its_namespace() -> None:
    message = "the namespace of the provided object does not match the namespace sent on the request"
    moved = changed(claim(), metadata__namespace="other")
    assert found(moved, claim()) == [("namespace", "metadata.namespace", message)]
    assert found(changed(claim(), metadata__namespace=...), claim()) == []
    assert found(moved, changed(claim(), metadata__namespace=...)) == []


@each_row("version", ["7", "007", str(2**64 - 1)])
def test_a_new_object_has_no_resource_version(version: str) -> None:
    (problem,) = validate(changed(claim(), metadata__resourceVersion=version))
    assert (problem.rule, problem.reason) == ("resource-version-of-new", "InternalError")
    assert str(problem) == "metadata.resourceVersion: resourceVersion should not be set on objects to be created"


@each_row("version", ["", "0", "abc", "-7", "7.0", "\uff17", str(2**64), "9" * 5000])
def test_a_resource_version_that_is_no_number_is_as_good_as_none(version: str) -> None:
    assert validate(changed(claim(), metadata__resourceVersion=version)) == []


def test_an_object_with_a_uid_is_not_new() -> None:
    assert validate(changed(claim(), metadata__resourceVersion="7", metadata__uid="u")) == []


# managedFields


def test_managed_fields_are_decoded_and_taken() -> None:
    entry = {
        "manager": "kubectl",
        "operation": "Apply",
        "apiVersion": "resource.k8s.io/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {}},
        "subresource": "status",
    }
    assert found(changed(claim(), metadata__managedFields=[entry, {"operation": "anything"}, None])) == []


@each_row(
    ("entry", "field", "message"),
    [
        (
            {"manager": 1},
            ".manager",
            (
                "json: cannot unmarshal number into Go struct field "
                "ManagedFieldsEntry.metadata.managedFields.manager of type string"
            ),
        ),
        (
            {"operation": True},
            ".operation",
            (
                "json: cannot unmarshal bool into Go struct field "
                "ManagedFieldsEntry.metadata.managedFields.operation of type v1.ManagedFieldsOperationType"
            ),
        ),
        ({"fields": {}}, ".fields", 'strict decoding error: unknown field "metadata.managedFields[0].fields"'),
        (
            "kubectl",
            "",
            (
                "json: cannot unmarshal string into Go struct field "
                "ObjectMeta.metadata.managedFields of type v1.ManagedFieldsEntry"
            ),
        ),
    ],
)
def test_managed_fields_have_their_types(entry: Any, field: str, message: str) -> None:
    ((_, path, said),) = found(changed(claim(), metadata__managedFields=[entry]))
    assert (path, said) == (f"metadata.managedFields[0]{field}", message)


def test_the_time_of_managed_fields_is_parsed() -> None:
    ((rule, path, _),) = found(changed(claim(), metadata__managedFields=[{"time": "yesterday"}]))
    assert (rule, path) == ("timestamp", "metadata.managedFields[0].time")


def test_the_value_at_which_the_decoder_stops_comes_first() -> None:
    spec = {"deviceSelector": {"device": 1}, "taint": {"key": 2, "timeAdded": "today"}, "more": 3}
    obj = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "rule"}, "spec": spec}
    fields = [str(problem.path) for problem in validate(obj, kubernetes="1.37")]
    assert fields == ["spec.taint.timeAdded", "spec.deviceSelector.device", "spec.taint.key", "spec.more"]
    spec["taint"] = {"timeAdded": 5}
    assert validate(obj, kubernetes="1.37")[0].message.endswith("DeviceTaint.spec.taint.timeAdded of type string")
