"""What releases say differently about devices and their slices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.releases import said, version_of
from tests.rows import each_row
from tests.structured import errors, resource_slice
from webhook import validate


@each_row(
    ("kubernetes", "field", "text"),
    [
        ("1.31", "spec.devices[0].basic.attributes[a].version", "Too long: may not be longer than 64"),
        ("1.32", "spec.devices[0].basic.attributes[a].version", "Too long: may not be more than 64 bytes"),
        ("1.33", "spec.devices[0].attributes[a].version", "Too long: may not be more than 64 bytes"),
    ],
)
def test_boxed_devices_are_spelled_without_the_box_from_1_33(kubernetes: str, field: str, text: str) -> None:
    device = {"name": "a", "basic": {"attributes": {"a": {"version": f"1.0.0-{'a' * 64}"}}}}
    obj = resource_slice(device, version=version_of(kubernetes))
    problems = validate(obj, kubernetes=kubernetes)
    assert errors(problems) == [(field, text)]
    assert str(problems[-1].path) == "spec.devices[0].basic.attributes[a].version"


@each_row(
    ("kubernetes", "field", "reason"),
    [
        ("1.31", "spec.devices[0].basic.attributes", "FieldValueTypeInvalid"),
        ("1.32", "spec.devices[0].basic.attributes[1a]", "FieldValueTypeInvalid"),
        ("1.34", "spec.devices[0].attributes[1a]", "FieldValueInvalid"),
        ("1.36", "spec.devices[0].attributes", "FieldValueInvalid"),
    ],
)
def test_a_bad_name_of_an_attribute(kubernetes: str, field: str, reason: str) -> None:
    device = {"name": "a", "basic": {"attributes": {"1a": {"int": 1}}}}
    problems = validate(resource_slice(device, version=version_of(kubernetes)), kubernetes=kubernetes)
    (problem,) = [each for each in problems if each.level == "error"]
    assert (problem.field, problem.reason) == (field, reason)
    assert str(problem.path) == "spec.devices[0].basic.attributes[1a]"


def test_an_attribute_with_several_values_had_other_words() -> None:
    device = {"name": "a", "basic": {"attributes": {"a": {"int": 1, "bool": True}}}}
    ((_, first),) = said(resource_slice(device, version="v1alpha3"), "1.31")
    assert first.endswith("exactly one field must be specified")
    ((_, later),) = said(resource_slice(device, version="v1alpha3"), "1.32")
    assert later.endswith("exactly one value must be specified")


@pytest.mark.parametrize(
    ("kubernetes", "detail"),
    [
        ("1.32", "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"),
        ("1.33", "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"),
    ],
)
def test_a_slice_is_for_some_nodes(kubernetes: str, detail: str) -> None:
    assert said(resource_slice(version="v1beta1", nodeName=...), kubernetes) == [("spec", f"Required value: {detail}")]
    ((_, several),) = said(resource_slice(version="v1beta1", allNodes=True), kubernetes)
    assert detail in several
    ((_, shown),) = said(resource_slice(version="v1alpha3", allNodes=True), "1.31")
    assert shown.startswith('Invalid value: {"driver":"gpu.example.com",')
    if kubernetes == "1.32":
        assert several == f'Invalid value: "null": {detail}'
    else:
        assert several == f'Invalid value: "{{`nodeName`, `allNodes`}}": {detail}, but multiple fields are set'


@each_row(
    ("nodes", "found"),
    [
        ({"nodeName": "a"}, []),
        ({"nodeName": ""}, [".nodeName", ""]),
        ({"nodeName": "A"}, [".nodeName"]),
        ({"allNodes": False}, [".allNodes", ""]),
        ({"allNodes": True, "nodeName": "a"}, [""]),
    ],
)
def test_each_device_is_for_some_nodes(nodes: dict[str, Any], found: list[str]) -> None:
    obj = resource_slice({"name": "a", **nodes}, nodeName=..., perDeviceNodeSelection=True)
    assert [field.removeprefix("spec.devices[0]") for field, _ in said(obj, "1.36")] == found


SETS = [{"name": "set", "counters": {"memory": {"value": "1Gi"}}}]


def uses(counter_set: str, *counters: str) -> dict[str, Any]:
    """Make a device of v1beta2 that uses counters."""
    consumption = {"counterSet": counter_set, "counters": {name: {"value": "1"} for name in counters}}
    return {"name": "a", "consumesCounters": [consumption]}


def test_counters_sit_in_the_slice_of_the_devices_up_to_1_34() -> None:
    shared: dict[str, Any] = {"sharedCounters": SETS, "version": "v1beta2"}
    assert said(resource_slice(uses("set", "memory"), **shared), "1.34") == []
    assert [field for field, _ in said(resource_slice(uses("other", "memory"), **shared), "1.34")] == [
        "spec.devices[0].consumesCounters[0].counterSet"
    ]
    assert [field for field, _ in said(resource_slice(uses("set", "cores"), **shared), "1.34")] == [
        "spec.devices[0].consumesCounters[0].counters"
    ]
    assert said(resource_slice(uses("set", "memory"), **shared), "1.35") == [
        ("spec", 'Invalid value: "": only one of `sharedCounters` or `devices` is allowed')
    ]


def test_counters_are_limited_in_all_up_to_1_34_and_one_by_one_later() -> None:
    many = [f"c{number}" for number in range(33)]
    sets = [{"name": "set", "counters": {name: {"value": "1"} for name in many}}]
    found = said(resource_slice(uses("set", *many), sharedCounters=sets, version="v1beta2"), "1.33")
    assert [text for _, text in found] == [
        "Invalid value: 33: the total number of counters must not exceed 32",
        "Invalid value: 33: the total number of shared counters must not exceed 32",
    ]
    devices = [uses("set", *many[:32]) | {"name": f"d{number}"} for number in range(33)]
    sets = [{"name": "set", "counters": {name: {"value": "1"} for name in many[:32]}}]
    found = said(resource_slice(*devices, sharedCounters=sets, version="v1beta2"), "1.33")
    assert found == [
        ("spec.devices", "Invalid value: 1056: the total number of counters in devices must not exceed 1024")
    ]
    found = said(resource_slice(uses("Set", *many)), "1.36")
    assert [field.removeprefix("spec.devices[0].consumesCounters[0].") for field, _ in found] == [
        "counters",
        "counterSet",
    ]
