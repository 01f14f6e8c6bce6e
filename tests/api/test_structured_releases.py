"""The findings of each Kubernetes release about structured objects, in its own words and at its own paths."""

from __future__ import annotations

from typing import Any

import pytest

from tests.structured import LABELLED, REQUEST, changed, claim, errors, of_kind, resource_slice, warnings
from webhook import validate
from webhook.api.versions import NEWEST
from webhook.release import span

ALL = {"AllAlpha": True, "AllBeta": True, "DeclarativeValidationTakeover": False}
FLAT = {"name": "gpu", "deviceClassName": "gpu.example.com"}
NEEDS_A_TERM = {"nodeSelector": {"nodeSelectorTerms": []}, "nodeName": ...}


def said(obj: dict[str, Any], kubernetes: str) -> list[tuple[str, str]]:
    """List the errors of a release with all gates on."""
    return errors(validate(obj, kubernetes=kubernetes, feature_gates=ALL, namespace_labels=LABELLED))


def version_of(kubernetes: str) -> str:
    """Return a version that a release serves, the oldest of those with flat requests."""
    return "v1alpha3" if kubernetes == "1.31" else "v1beta1"


# Which versions are served


@pytest.mark.parametrize(
    ("kubernetes", "version", "served"),
    [
        ("1.31", "v1", "resource.k8s.io/v1alpha3;"),
        ("1.32", "v1beta2", "resource.k8s.io/v1beta1, resource.k8s.io/v1alpha3;"),
        ("1.34", "v1alpha3", "resource.k8s.io/v1, resource.k8s.io/v1beta2, resource.k8s.io/v1beta1;"),
    ],
)
def test_a_version_that_is_not_served_names_those_that_are(kubernetes: str, version: str, served: str) -> None:
    (problem,) = validate(claim(version=version), kubernetes=kubernetes)
    assert (problem.rule, problem.reason, str(problem.path)) == ("not-served", "NotFound", "apiVersion")
    assert f"Kubernetes {kubernetes} serves ResourceClaim in {served}" in problem.hint


def test_what_sits_elsewhere_in_a_served_version_is_named() -> None:
    (problem,) = validate(claim(), kubernetes="1.32")
    assert "in resource.k8s.io/v1beta1 and resource.k8s.io/v1alpha3, the fields of `exactly`, such as " in problem.hint
    assert "are fields of the request itself" in problem.hint
    (problem,) = validate(resource_slice(version="v1alpha3"), kubernetes="1.36")
    moved = "attributes, capacity and the rest are fields of the device itself"
    assert f"in resource.k8s.io/v1 and resource.k8s.io/v1beta2, {moved}" in problem.hint
    (problem,) = validate(of_kind("DeviceClass", {}, "v1alpha3"), kubernetes="1.36")
    assert "are fields " not in problem.hint


@pytest.mark.parametrize(
    ("kind", "version", "kubernetes", "message"),
    [
        ("DeviceClass", "v1beta1", "1.34", None),
        (
            "DeviceClass",
            "v1beta1",
            "1.35",
            "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+",
        ),
        (
            "DeviceClass",
            "v1beta2",
            "1.36",
            "resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+",
        ),
        ("DeviceClass", "v1", "1.36", None),
    ],
)
def test_a_version_is_deprecated_in_the_words_of_the_server(
    kind: str, version: str, kubernetes: str, message: str | None
) -> None:
    problems = validate(of_kind(kind, {}, version), kubernetes=kubernetes)
    assert [problem.message for problem in problems] == ([message] if message else [])


# Paths and words


@pytest.mark.parametrize(
    ("kubernetes", "field"),
    [
        ("1.31", "spec.devices.requests[0].count"),
        ("1.32", "spec.devices.requests[0].count"),
        ("1.33", "spec.devices.requests[0].exactly.count"),
    ],
)
def test_flat_requests_are_spelled_with_exactly_from_1_33(kubernetes: str, field: str) -> None:
    obj = claim(FLAT | {"count": -1}, version=version_of(kubernetes))
    problems = validate(obj, kubernetes=kubernetes)
    assert errors(problems) == [(field, "Invalid value: -1: must be greater than zero")]
    assert str(problems[-1].path) == "spec.devices.requests[0].count"


@pytest.mark.parametrize(
    ("request_", "kubernetes", "fields"),
    [
        ({"name": "a"}, "1.32", ["deviceClassName"]),
        ({"name": "a"}, "1.33", [""]),
        ({"name": "a", "count": 0}, "1.33", [""]),
        ({"name": "a", "selectors": []}, "1.33", ["exactly.deviceClassName", "exactly.allocationMode"]),
        ({"name": "a", "count": 2}, "1.36", ["exactly.deviceClassName", "exactly.allocationMode"]),
    ],
)
def test_a_flat_request_is_one_once_it_says_anything(
    request_: dict[str, Any], kubernetes: str, fields: list[str]
) -> None:
    found = said(claim(request_, version="v1beta1"), kubernetes)
    assert [field for field, _ in found] == [
        f"spec.devices.requests[0]{f'.{field}' if field else ''}" for field in fields
    ]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("name", "kubernetes", "found"),
    [
        ("a", "1.31", [("matchAttribute.domain", "Required value: must include a prefix")]),
        ("a", "1.32", [("matchAttribute", 'Invalid value: "a": must include a domain')]),
        ("/a", "1.31", [("matchAttribute", "Required value: the prefix must not be empty")]),
        ("/a", "1.32", [("matchAttribute", "Required value: the domain must not be empty")]),
        ("/a", "1.35", [("matchAttribute", 'Invalid value: "": the domain must not be empty')]),
        ("a/", "1.34", [("matchAttribute", "Required value: the name must not be empty")]),
        ("a/", "1.35", [("matchAttribute", 'Invalid value: "": the name must not be empty')]),
        ("", "1.32", [("matchAttribute", "Required value: name required")]),
        ("a/b/c", "1.36", []),
    ],
)
def test_a_fully_qualified_name(name: str, kubernetes: str, found: list[tuple[str, str]]) -> None:
    obj = claim(FLAT, version=version_of(kubernetes), constraints=[{"matchAttribute": name}])
    assert said(obj, kubernetes) == [(f"spec.devices.constraints[0].{field}", text) for field, text in found]


def test_a_long_name_is_too_long_in_either_part() -> None:
    obj = claim(FLAT, version="v1beta1", constraints=[{"matchAttribute": f"{'a' * 64}/{'b' * 33}"}])
    assert [text for _, text in said(obj, "1.33")] == [
        "Too long: may not be more than 63 bytes",
        "Too long: may not be more than 32 bytes",
    ]


@pytest.mark.parametrize(
    ("kubernetes", "found"),
    [
        ("1.31", [("spec.devices.requests[1].name", 'Duplicate value: "gpu"')]),
        ("1.34", [("spec.devices.requests[1].name", 'Duplicate value: "gpu"')]),
        ("1.35", [("spec.devices.requests[1]", 'Duplicate value: "gpu"')]),
    ],
)
def test_a_repeated_request(kubernetes: str, found: list[tuple[str, str]]) -> None:
    assert said(claim(FLAT, FLAT, version=version_of(kubernetes)), kubernetes) == found


@pytest.mark.parametrize(
    ("kubernetes", "size", "items"),
    [
        ("1.31", "Too long: may not be longer than 32", 1),
        ("1.34", "Too many: 33: must have at most 32 items", 1),
        ("1.35", "Too many: 33: must have at most 32 items", 0),
    ],
)
def test_a_list_that_is_too_long(kubernetes: str, size: str, items: int) -> None:
    requests = [FLAT | {"name": f"gpu-{number}"} for number in range(32)] + [FLAT | {"name": "Bad"}]
    found = said(claim(*requests, version=version_of(kubernetes)), kubernetes)
    assert ("spec.devices.requests", size) in found
    assert len(found) == 1 + items


def test_opaque_parameters_have_a_limit_from_1_32() -> None:
    parameters = {"a": "<" * 2000}
    obj = claim(FLAT, version="v1alpha3", config=[{"opaque": {"driver": "a", "parameters": parameters}}])
    assert said(obj, "1.31") == []
    assert said(obj, "1.32") == [
        ("spec.devices.config[0].opaque.parameters", "Too long: may not be more than 10240 bytes")
    ]


@pytest.mark.parametrize(("escaped", "size"), [("<", 6), (">", 6), ("&", 6), ("\u2028", 6), ("\u2029", 6), ("é", 2)])
def test_opaque_parameters_are_measured_as_go_writes_json(escaped: str, size: int) -> None:
    most = escaped * 1000 + "x" * (10240 - len('{"a":""}') - 1000 * size)
    for text, findings in ((most, 0), (f"{most}x", 1)):
        config = {"opaque": {"driver": "a", "parameters": {"a": text}}}
        assert len(said(claim(FLAT, version="v1beta1", config=[config]), "1.32")) == findings


def test_wrong_types_of_fields_that_moved_are_reported_as_submitted() -> None:
    wrong = {"count": "one", "name": 5, "allocationMode": 5, "deviceClassName": "gpu.example.com"}
    found = said(claim(wrong, version="v1beta1"), "1.34")
    assert [field for field, _ in found] == [f"spec.devices.requests[0].{name}" for name in [*wrong][:3]]


@pytest.mark.parametrize(
    ("kubernetes", "text"),
    [("1.33", "parameters must be a valid JSON object"), ("1.34", "must be a valid JSON object")],
)
def test_parameters_are_an_object(kubernetes: str, text: str) -> None:
    obj = claim(FLAT, version="v1beta1", config=[{"opaque": {"driver": "a", "parameters": [1]}}])
    assert said(obj, kubernetes) == [
        ("spec.devices.config[0].opaque.parameters", f'Invalid value: "<value omitted>": {text}')
    ]
    nothing = claim(FLAT, version="v1beta1", config=[{"opaque": {"driver": "a", "parameters": None}}, {}])
    assert said(nothing, kubernetes) == [
        ("spec.devices.config[0].opaque.parameters", "Required value"),
        ("spec.devices.config[1].opaque", "Required value"),
    ]


@pytest.mark.parametrize(
    ("kubernetes", "texts"),
    [("1.34", 2), ("1.35", 1)],
)
def test_no_driver_is_reported_once_from_1_35(kubernetes: str, texts: int) -> None:
    assert len(said(resource_slice(version="v1beta1", driver=""), kubernetes)) == texts


def test_a_driver_in_upper_case_is_warned_of_from_1_35() -> None:
    obj = resource_slice(driver="GPU.example.com")
    assert warnings(validate(obj, kubernetes="1.34")) == []
    problems = validate(obj, kubernetes="1.35")
    assert warnings(problems) == [("lower-case-driver", "spec.driver")]
    assert problems[0].message == 'driver names should be lowercase; "GPU.example.com" contains uppercase characters'


@pytest.mark.parametrize(
    ("kubernetes", "known"),
    [("1.31", False), ("1.33", True)],
)
def test_references_to_alternatives(kubernetes: str, known: bool) -> None:
    requests = [FLAT | {"name": "gpu"}]
    obj = claim(*requests, version=version_of(kubernetes), constraints=[{"requests": ["x"], "matchAttribute": "a/b"}])
    detail = "must be the name of a request in the claim"
    detail += " or the name of a request and a subrequest separated by '/'" if known else ""
    assert said(obj, kubernetes) == [("spec.devices.constraints[0].requests[0]", f'Invalid value: "x": {detail}')]


@pytest.mark.parametrize(
    ("name", "kubernetes", "texts"),
    [
        ("A_", "1.31", ["a lowercase RFC 1123 label must", "must be the name of a request in the claim"]),
        ("", "1.32", ["a lowercase RFC 1123 label must", "must be the name of a request in the claim"]),
        ("a/b/c", "1.33", ["must be the name of a request in the claim or the name of a request and a subrequest"]),
    ],
)
def test_a_reference_is_checked_like_a_name(name: str, kubernetes: str, texts: list[str]) -> None:
    obj = claim(FLAT, version=version_of(kubernetes), constraints=[{"requests": [name], "matchAttribute": "a/b"}])
    found = [text for _, text in said(obj, kubernetes)]
    assert len(found) == len(texts)
    for text, start in zip(found, texts, strict=True):
        assert text.startswith(f'Invalid value: "{name}": {start}')


@pytest.mark.parametrize(
    ("kubernetes", "shown"),
    [("1.31", f"basic.attributes[{'a' * 100}]"), ("1.32", f"basic.attributes[{'a' * 47}...{'a' * 46}]")],
)
def test_a_long_key_is_cut_from_1_32(kubernetes: str, shown: str) -> None:
    device = {"name": "a", "basic": {"attributes": {"a" * 100: {}}}}
    fields = [field for field, _ in said(resource_slice(device, version="v1alpha3"), kubernetes)]
    assert f"spec.devices[0].{shown}" in fields


def test_each_byte_of_a_character_that_is_cut_apart_is_replaced() -> None:
    grin = "\U0001f600"
    obj = resource_slice(sharedCounters=[{"name": "a", "counters": {grin * 64: {}}}], devices=...)
    (field,) = {field for field, _ in said(obj, "1.35")}
    assert field == f"spec.sharedCounters[0].counters[{grin * 7}\ufffd\ufffd...\ufffd\ufffd{grin * 7}]"


@pytest.mark.parametrize("kubernetes", ["1.34", "1.36"])
def test_repeated_conditions_for_binding_are_found_in_lists_that_are_too_long(kubernetes: str) -> None:
    conditions = ["a", "a", "b", "c", "d"]
    device = {"name": "a", "bindingConditions": conditions, "bindingFailureConditions": ["e"]}
    assert sorted(said(resource_slice(device), kubernetes)) == [
        ("spec.devices[0].bindingConditions", "Too many: 5: must have at most 4 items"),
        ("spec.devices[0].bindingConditions[1]", 'Duplicate value: "a"'),
    ]


# Nodes


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


@pytest.mark.parametrize(
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


# Counters


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


# Sizes


@pytest.mark.parametrize(
    ("device", "kubernetes", "most"),
    [
        ({}, "1.36", 128),
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "1.34", 128),
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "1.35", 64),
        ({"consumesCounters": [{"counterSet": "a", "counters": {"b": {"value": "1"}}}]}, "1.35", 64),
        ({"attributes": {"a": {"ints": [1]}}}, "1.36", 64),
    ],
)
@pytest.mark.parametrize("count", [64, 65, 128, 129])
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


def test_an_effect_none_came_in_1_35() -> None:
    device = {"name": "a", "taints": [{"key": "a", "effect": "None"}]}
    assert said(resource_slice(device, version="v1beta2"), "1.35") == []
    ((_, text),) = said(resource_slice(device, version="v1beta2"), "1.34")
    assert text == 'Unsupported value: "None": supported values: "NoExecute", "NoSchedule"'


@pytest.mark.parametrize(("kubernetes", "most"), [("1.31", 32), ("1.32", 256)])
def test_a_claim_has_more_users_in_later_releases(kubernetes: str, most: int) -> None:
    base = claim(FLAT, version="v1alpha3")
    users = [{"resource": "pods", "name": "a", "uid": str(number)} for number in range(most + 1)]
    new = base | {"status": {"allocation": {}, "reservedFor": users}}
    found = errors(validate(new, base, kubernetes=kubernetes, subresource="status"))
    assert [field for field, _ in found] == ["status.reservedFor"]


# Kinds of single releases


def test_a_taint_rule_selected_by_class_up_to_1_34() -> None:
    spec = {
        "deviceSelector": {"deviceClassName": "Bad", "driver": "", "pool": "", "selectors": [{}]},
        "taint": {"key": "k", "effect": "NoSchedule"},
    }
    found = said(of_kind("DeviceTaintRule", spec), "1.33")
    assert [field.removeprefix("spec.deviceSelector.") for field, _ in found] == [
        "deviceClassName",
        "driver",
        "driver",
        "pool",
        "selectors[0].cel",
    ]
    problems = validate(of_kind("DeviceTaintRule", spec), kubernetes="1.35")
    assert [problem.rule for problem in problems if problem.level == "error"] == ["unknown-field", "unknown-field"]


def test_control_plane_controllers_of_1_31() -> None:
    obj = changed(claim(FLAT, version="v1alpha3"), spec__controller="Bad_Name")
    assert [field for field, _ in said(obj, "1.31")] == ["spec.controller"]
    assert warnings(validate(obj, kubernetes="1.31")) == [("gate-off", "spec.controller")]
    assert [problem.rule for problem in validate(obj, kubernetes="1.32")] == ["unknown-field"]

    device_class = of_kind("DeviceClass", {"suitableNodes": {"nodeSelectorTerms": []}})
    problems = validate(device_class, kubernetes="1.31", feature_gates=ALL)
    assert [(problem.field, str(problem.path)) for problem in problems] == [
        ("suitableNodes.nodeSelectorTerms", "spec.suitableNodes.nodeSelectorTerms")
    ]


def test_deallocation_is_requested_for_allocated_claims_in_1_31() -> None:
    base = claim(FLAT, version="v1alpha3")
    for status, before, field in (
        ({"deallocationRequested": True}, {}, "status"),
        ({"allocation": {}}, {"allocation": {}, "deallocationRequested": True}, "status.deallocationRequested"),
    ):
        problems = validate(
            base | {"status": status},
            base | {"status": before},
            kubernetes="1.31",
            subresource="status",
            feature_gates=ALL,
        )
        assert [found for found, _ in errors(problems)] == [field]


def test_scheduling_contexts_check_repeated_names_in_1_31() -> None:
    context = of_kind("PodSchedulingContext", {"potentialNodes": ["Bad", "Bad"]})
    fields = [field for field, _ in said(context, "1.31")]
    assert fields == ["spec.potentialNodes[0]", "spec.potentialNodes[1]", "spec.potentialNodes[1]"]
    assert ("gate-off", "apiVersion") in warnings(validate(context, kubernetes="1.31"))


class TestPodGroup:
    """Groups of pods share claims."""

    @staticmethod
    def group(*claims: dict[str, Any]) -> dict[str, Any]:
        """Make a PodGroup."""
        obj = of_kind("PodGroup", {"resourceClaims": list(claims), "schedulingPolicy": {"basic": {}}})
        return obj | {"apiVersion": "scheduling.k8s.io/v1alpha2"}

    def test_a_claim_has_a_name_and_one_source(self) -> None:
        obj = self.group(
            {"name": "a", "resourceClaimName": "a"},
            {"name": "a"},
            {"name": "B", "resourceClaimName": "x", "resourceClaimTemplateName": "Y"},
        )
        assert [field.removeprefix("spec.resourceClaims") for field, _ in said(obj, "1.36")] == [
            "[1]",
            "[2].name",
            "[2].resourceClaimTemplateName",
            "[2]",
            "[1]",
        ]

    def test_it_has_four_claims_at_most(self) -> None:
        obj = self.group(*({"name": f"c{number}", "resourceClaimName": "a"} for number in range(5)))
        assert said(obj, "1.36") == [("spec.resourceClaims", "Too many: 5: must have at most 4 items")]

    def test_its_claims_stay(self) -> None:
        new, old = (self.group({"name": "a", "resourceClaimName": name}) for name in ("x", "y"))
        assert errors(validate(new, old, feature_gates=ALL)) == [
            ("spec.resourceClaims", "Invalid value: null: field is immutable")
        ]

    def test_a_repeated_claim_is_shown_in_full(self) -> None:
        repeated = self.group({"name": "a", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "y"})
        assert said(repeated, "1.36") == [
            ("spec.resourceClaims[1]", 'Duplicate value: {"name":"a","resourceClaimName":"y"}')
        ]

    def test_a_status_is_for_one_of_its_claims(self) -> None:
        old = self.group({"name": "a", "resourceClaimName": "x"})
        new = old | {"status": {"resourceClaimStatuses": [{"name": "a"}, {"name": "b", "resourceClaimName": "X"}]}}
        problems = validate(new, old, subresource="status", feature_gates=ALL)
        assert [field for field, _ in errors(problems)] == [
            "status.resourceClaimStatuses[1].resourceClaimName",
            "status.resourceClaimStatuses[1].name",
        ]


def test_a_class_is_named_by_a_declarative_rule_from_1_35() -> None:
    obj = of_kind("DeviceClass", {}, "v1") | {"metadata": {"generateName": "Bad-"}}
    assert [field for field, _ in said(obj, "1.34")] == ["metadata.generateName", "metadata.name"]
    assert [field for field, _ in said(obj, "1.36")] == ["metadata.name"]


def test_one_of_exactly_and_first_available_is_all_that_is_said_from_1_35() -> None:
    both = REQUEST | {"exactly": {}, "firstAvailable": [{"name": "A"}]}
    obj = claim(both, version="v1beta2")
    ((field, text),) = said(obj, "1.35")
    assert field == "spec.devices.requests[0]"
    assert text.startswith("Invalid value: null: exactly one of")
    found = said(obj, "1.33")
    assert len(found) == 4
    assert found[-1][1].startswith('Invalid value: "null": exactly one of')


def test_a_field_of_another_version_says_where_it_sits_in_this_one() -> None:
    (problem,) = validate(claim({"name": "a", "count": 1}))
    assert problem.hint == 'did you mean "spec.devices.requests[0].exactly.count"?'
    (problem,) = validate(claim(REQUEST, version="v1beta1"), kubernetes="1.34")
    assert problem.hint.endswith("are fields of the request itself")
    (problem,) = validate(claim(REQUEST), kubernetes="1.30")
    assert problem.hint.endswith(f"resource.k8s.io/v1alpha2; resource.k8s.io/v1 is served by {span(34, NEWEST)}")
    rule = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoExecute"}}, version="v1")
    (found,) = [each.hint for each in validate(rule, kubernetes="1.36") if each.rule == "not-served"]
    assert found.endswith(f"; resource.k8s.io/v1 is served by {span(37, NEWEST)}")
    (problem,) = validate(resource_slice({"name": "a", "basic": {}}))
    assert problem.hint == "in this version, attributes, capacity and the rest are fields of the device itself"


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (
            claim({"name": "a", "deviceClassName": "a", "count": "2"}, version="v1beta1"),
            "{} string into Go struct field DeviceRequest.spec.devices.requests.count of type int64",
        ),
        (
            resource_slice({"name": "a", "taints": [{"timeAdded": 1}]}),
            "{} number into Go struct field DeviceTaint.spec.devices.taints.timeAdded of type string",
        ),
        (
            resource_slice({"name": "a", "capacity": {"a": []}}),
            "{} array into Go struct field Device.spec.devices.capacity of type v1.DeviceCapacity",
        ),
        (
            claim(REQUEST | {"exactly": {"capacity": {"requests": []}}}),
            (
                "{} array into Go struct field CapacityRequirements.spec.devices.requests.exactly.capacity.requests "
                "of type map[v1.QualifiedName]resource.Quantity"
            ),
        ),
        (
            resource_slice({"name": "a", "attributes": {"a": {"number": 1}}}),
            'strict decoding error: unknown field "spec.devices[0].attributes.a.number"',
        ),
        (
            resource_slice({"name": "a", "taints": [{"timeAdded": "now"}]}),
            'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
        ),
    ],
)
def test_an_undecodable_object_has_the_decoders_message(obj: dict[str, Any], message: str) -> None:
    result = [problem.message for problem in validate(obj, kubernetes="1.34") if problem.level == "error"]
    assert result == [message.format("json: cannot unmarshal")]
