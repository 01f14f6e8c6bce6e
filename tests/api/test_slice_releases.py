"""What releases say differently about devices and their slices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.releases import said, version_of
from tests.rows import each_row
from tests.structured import errors, resource_slice
from webhook import validate

NEEDS_A_TERM = {"nodeSelector": {"nodeSelectorTerms": []}, "nodeName": ...}


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


def test_a_device_is_basic_up_to_1_32() -> None:
    obj = resource_slice({"name": "a"}, version="v1beta1")
    assert said(obj, "1.32") == [("spec.devices[0].basic", "Required value")]
    assert said(obj, "1.33") == []


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


@each_row(
    ("kubernetes", "message"),
    [
        ("1.31", "Required value: exactly one value must be specified"),
        ("1.34", "Required value: exactly one value must be specified"),
        ("1.35", 'Invalid value: "": exactly one value must be specified'),
    ],
)
def test_an_attribute_without_a_value(kubernetes: str, message: str) -> None:
    device = {"name": "a", "basic": {"attributes": {"a": {}}}}
    assert [text for _, text in said(resource_slice(device, version=version_of(kubernetes)), kubernetes)] == [message]


def test_an_attribute_with_several_values_had_other_words() -> None:
    device = {"name": "a", "basic": {"attributes": {"a": {"int": 1, "bool": True}}}}
    ((_, first),) = said(resource_slice(device, version="v1alpha3"), "1.31")
    assert first.endswith("exactly one field must be specified")
    ((_, later),) = said(resource_slice(device, version="v1alpha3"), "1.32")
    assert later.endswith("exactly one value must be specified")


@pytest.mark.parametrize("kubernetes", ["1.34", "1.36"])
def test_repeated_conditions_for_binding_are_found_in_lists_that_are_too_long(kubernetes: str) -> None:
    conditions = ["a", "a", "b", "c", "d"]
    device = {"name": "a", "bindingConditions": conditions, "bindingFailureConditions": ["e"]}
    assert sorted(said(resource_slice(device), kubernetes)) == [
        ("spec.devices[0].bindingConditions", "Too many: 5: must have at most 4 items"),
        ("spec.devices[0].bindingConditions[1]", 'Duplicate value: "a"'),
    ]


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


def test_empty_is_absent_only_where_it_is_not_a_pointer() -> None:
    flat = resource_slice(version="v1beta1", nodeName="", allNodes=True)
    assert said(flat, "1.36") == []
    assert said(resource_slice(version="v1beta1", allNodes=False), "1.36") == []
    assert said(resource_slice(nodeName="", allNodes=True), "1.36") == [
        ("spec.nodeName", 'Invalid value: "": must be either unset or set to a non-empty string')
    ]
    assert said(resource_slice(allNodes=False), "1.36") == [
        ("spec.allNodes", "Invalid value: false: must be either unset or set to true")
    ]


@pytest.mark.parametrize(
    ("kubernetes", "text"),
    [("1.31", "must have exactly one selector term"), ("1.32", "must have exactly one node selector term")],
)
def test_a_slice_has_one_node_selector_term(kubernetes: str, text: str) -> None:
    found = said(resource_slice(version="v1alpha3", **NEEDS_A_TERM), kubernetes)
    assert [field for field, _ in found] == ["spec.nodeSelector.nodeSelectorTerms"] * 2
    assert found[1][1].endswith(text)


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


@pytest.mark.parametrize(("version", "path"), [("v1", "spec.devices[0]"), ("v1beta1", "spec.devices[0]")])
def test_devices_are_for_other_nodes_only_if_the_slice_says_so(version: str, path: str) -> None:
    device = {"name": "a", "allNodes": True} if version == "v1" else {"name": "a", "basic": {"allNodes": True}}
    ((field, text),) = said(resource_slice(device, version=version), "1.36")
    assert field == path
    assert text.startswith("Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set")


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


@each_row(
    ("device", "kubernetes", "most"),
    [
        ({}, "1.36", 128),
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "1.34", 128),
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "1.35", 64),
        ({"consumesCounters": [{"counterSet": "a", "counters": {"b": {"value": "1"}}}]}, "1.35", 64),
        ({"attributes": {"a": {"ints": [1]}}}, "1.36", 64),
    ],
)
@each_row("count", [64, 65, 128, 129])
def test_fewer_devices_have_more_to_say(device: dict[str, Any], kubernetes: str, most: int, count: int) -> None:
    devices = [{"name": f"d{number}", **(device if number == 3 else {})} for number in range(count)]
    found = said(resource_slice(*devices), kubernetes)
    text = f"Too many: {count}: must have at most {most} items"
    assert found == ([("spec.devices", text)] if count > most else [])


@pytest.mark.parametrize(("kubernetes", "most"), [("1.33", 4), ("1.35", 16)])
def test_a_device_has_more_taints_in_later_releases(kubernetes: str, most: int) -> None:
    taints = [{"key": "a", "effect": "NoSchedule"}] * (most + 1)
    assert said(resource_slice({"name": "a", "taints": taints}, version="v1beta2"), kubernetes) == [
        ("spec.devices[0].taints", f"Too many: {most + 1}: must have at most {most} items")
    ]
