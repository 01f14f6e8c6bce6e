"""Declarative validation: where it decides, its findings come last, in its words, on the paths of the version.

The recordings of 1.35 hold it, as ``AllBeta`` switches ``DeclarativeValidationTakeover`` on; 1.37 has it by default.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.structured import REQUEST, RESULT, allocated, changed, claim, resource_slice
from webhook import Problem, validate

TAKEOVER = {"DeclarativeValidationTakeover": True}
STATUS = {"DRAResourceClaimDeviceStatus": True}
FLAT = {"name": "gpu", "deviceClassName": "gpu.example.com"}
OPAQUE = {"opaque": {"driver": "a b", "parameters": {}}}


def said(problems: list[Problem]) -> list[str]:
    return [str(problem)[:90] for problem in problems if problem.level == "error"]


def test_handwritten_rules_decide_unless_declarative_ones_take_over() -> None:
    obj = claim(config=[OPAQUE])
    (handwritten,) = validate(obj, kubernetes="1.35")
    assert "a lowercase RFC 1123 subdomain" in handwritten.message
    (declarative,) = validate(obj, kubernetes="1.35", feature_gates=TAKEOVER)
    assert "an RFC 1123 subdomain" in declarative.message
    assert validate(obj, kubernetes="1.36", feature_gates={"AllBeta": True}) == validate(obj, kubernetes="1.36")


def test_what_is_declarative_comes_last() -> None:
    obj = claim(REQUEST, REQUEST, config=[OPAQUE, {}], constraints=[{"requests": ["none"], "matchAttribute": "a"}])
    fields = [problem.field for problem in validate(obj, kubernetes="1.35", feature_gates=TAKEOVER)]
    assert fields == [
        "spec.devices.constraints[0].requests[0]",
        "spec.devices.config[1].opaque",
        "spec.devices.requests[1]",
        "spec.devices.constraints[0].matchAttribute",
        "spec.devices.config[0].opaque.driver",
    ]


@pytest.mark.parametrize(
    ("gates", "field"),
    [({}, "spec.devices.requests[0].exactly.allocationMode"), (TAKEOVER, "spec.devices.requests[0].allocationMode")],
)
def test_its_paths_are_those_of_the_version(gates: dict[str, bool], field: str) -> None:
    obj = claim({**FLAT, "allocationMode": "Some"}, version="v1beta1")
    errors = [each for each in validate(obj, kubernetes="1.35", feature_gates=gates) if each.level == "error"]
    assert [each.field for each in errors] == [field]


def test_requests_in_their_first_form_need_no_mode() -> None:
    obj = claim({"name": "gpu", "count": 2}, version="v1beta1")
    no_class = "spec.devices.requests[0].exactly.deviceClassName: Required value"
    no_mode = "spec.devices.requests[0].exactly.allocationMode: Unsupported value"
    assert [text[: len(no_mode)] for text in said(validate(obj, kubernetes="1.35"))] == [no_class, no_mode]
    assert said(validate(obj, kubernetes="1.35", feature_gates=TAKEOVER)) == [no_class]


def test_items_of_lists_that_only_handwritten_rules_find_too_long_are_looked_at() -> None:
    taints = [{"key": "A key", "effect": "None" if index else "Some"} for index in range(17)]
    obj = resource_slice({"name": "a", "taints": taints})
    gates = {"DRADeviceTaints": True}
    too_many = "spec.devices[0].taints: Too many: 17: must have at most 16 items"
    assert said(validate(obj, kubernetes="1.35", feature_gates=gates)) == [too_many]
    first, effect = said(validate(obj, kubernetes="1.35", feature_gates=gates | TAKEOVER))
    assert (first, effect[:52]) == (too_many, "spec.devices[0].taints[0].effect: Unsupported value:")


def test_repeated_items_are_shown_as_go_writes_them() -> None:
    request = {"count": 2, "deviceClassName": "a", "selectors": [{"cel": {"expression": "1 > 0 && true"}}]}
    obj = claim({"name": "first", "firstAvailable": [{**request, "name": "x"}, {**request, "name": "x"}]})
    (problem,) = validate(obj, kubernetes="1.35", feature_gates=TAKEOVER)
    assert problem.message == (
        'Duplicate value: {"name":"x","deviceClassName":"a","selectors":[{"cel":{"expression":'
        '"1 \\u003e 0 \\u0026\\u0026 true"}}],"allocationMode":"ExactCount","count":2}'
    )


def test_repeated_items_of_older_versions_have_their_form() -> None:
    request = {"capacity": {"requests": {"b": 1024, "a": "1Ki"}}, "count": 2, **FLAT}
    obj = claim(request, request, version="v1beta1")
    (problem,) = (each for each in validate(obj, kubernetes="1.37") if each.level == "error")
    assert problem.message == (
        'Duplicate value: {"name":"gpu","deviceClassName":"gpu.example.com","allocationMode":"ExactCount","count":2,'
        '"capacity":{"requests":{"a":"1Ki","b":"1024"}}}'
    )


def test_a_repeated_request_of_both_forms_has_its_alternatives_before_its_tolerations() -> None:
    request = {**FLAT, "tolerations": [{"key": "a"}], "adminAccess": True, "firstAvailable": [{**FLAT, "name": "x"}]}
    obj = claim(request, request, version="v1beta1")
    problems = validate(obj, kubernetes="1.35", feature_gates={**TAKEOVER, "DRADeviceTaints": True})
    (repeated,) = [each.message for each in problems if each.reason == "FieldValueDuplicate"]
    assert repeated == (
        'Duplicate value: {"name":"gpu","deviceClassName":"gpu.example.com","allocationMode":"ExactCount","count":1,'
        '"adminAccess":true,"firstAvailable":[{"name":"x","deviceClassName":"gpu.example.com",'
        '"allocationMode":"ExactCount","count":1}],"tolerations":[{"key":"a","operator":"Equal"}]}'
    )


def test_what_an_update_leaves_as_it_is_is_not_looked_at() -> None:
    device = {"name": "a", "attributes": {"a": {}}}
    old = resource_slice(device)
    new = changed(old, metadata__labels={"a": "b"})
    assert said(validate(new, old, kubernetes="1.35")) != []
    assert said(validate(new, old, kubernetes="1.35", feature_gates=TAKEOVER)) == []
    other = changed(new, spec__devices=[{"name": "a", "attributes": {"b": {}}}])
    assert said(validate(other, old, kubernetes="1.35", feature_gates=TAKEOVER)) == [
        'spec.devices[0].attributes[b]: Invalid value: "": must specify one of: `int`, `bool`, `str'
    ]


def test_the_items_of_a_changed_list_without_keys_are_looked_at_again() -> None:
    other = {"name": "b", "taints": [{"key": "k", "effect": "Some"}]}
    old = resource_slice({"name": "a", "attributes": {"a": {}}}, other)
    new = changed(old, spec__devices=[{"name": "a", "attributes": {"a": {}}, "allNodes": None}, other])
    gates = {**TAKEOVER, "DRADeviceTaints": True}
    assert said(validate(old, old, kubernetes="1.35", feature_gates=gates)) == []
    assert [text.partition(":")[0] for text in said(validate(new, old, kubernetes="1.35", feature_gates=gates))] == [
        "spec.devices[0].attributes[a]",
        "spec.devices[1].taints[0].effect",
    ]


def test_the_items_of_a_list_with_keys_are_compared_by_them() -> None:
    first, second = ({**RESULT, "device": name} for name in ("gpu-0", "gpu-1"))
    named, plain = (
        {name: value for name, value in each.items() if name != "request"} | {"networkData": {"interfaceName": text}}
        for each, text in ((first, "a" * 257), (second, "eth0"))
    )
    old = allocated(None, first, second, devices=[named, plain])

    def fields(*devices: Any) -> list[str]:
        new = changed(old, status__devices=list(devices))
        found = validate(new, old, kubernetes="1.35", subresource="status", feature_gates=TAKEOVER)
        return [each.field for each in found if each.level == "error"]

    assert fields(plain, named) == []
    assert fields({**plain, "networkData": named["networkData"]}) == ["status.devices[0].networkData.interfaceName"]
    assert "status.devices[0].driver" in fields(None)


def test_the_length_of_a_drivers_name_is_checked_by_hand_in_1_35() -> None:
    opaque = {"driver": "a" * 64, "parameters": {}}
    old = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "class"},
        "spec": {"config": [{"opaque": opaque}]},
    }
    assert said(validate(old, old, kubernetes="1.35", feature_gates=TAKEOVER)) == [
        "spec.config[0].opaque.driver: Too long: may not be more than 63 bytes"
    ]


def test_addresses_that_repeat_in_an_unchanged_list_are_left_out() -> None:
    network = {"ips": ["10.0.0.1/8", "10.0.0.1/8"]}
    device = {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0", "networkData": network}
    old = allocated(devices=[device])
    new = changed(old, status__devices=[{**device, "data": {"a": 1}}])
    other = changed(old, status__devices=[{**device, "networkData": {"ips": [*network["ips"], "10.0.0.2/8"]}}])
    assert [
        said(validate(each, old, kubernetes="1.35", subresource="status", feature_gates=TAKEOVER))
        for each in (new, other)
    ] == [[], ['status.devices[0].networkData.ips[1]: Duplicate value: "10.0.0.1/8"']]


def test_kinds_that_are_not_under_it_keep_their_words() -> None:
    spec: dict[str, Any] = {"spec": {"devices": {"requests": [REQUEST], "config": [OPAQUE]}}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "template"},
        "spec": spec,
    }
    (problem,) = validate(template, kubernetes="1.35", feature_gates=TAKEOVER)
    assert "a lowercase RFC 1123 subdomain" in problem.message


def test_an_allocation_cannot_be_modified() -> None:
    old = allocated()
    new = changed(old, status__allocation={"devices": {"results": []}})
    (problem,) = validate(new, old, kubernetes="1.35", subresource="status", feature_gates=TAKEOVER)
    assert str(problem) == "status.allocation: Invalid value: null: field cannot be modified once set"


def test_a_repeated_request_is_shown_with_its_empty_name_and_its_admin_access_before_tolerations() -> None:
    exactly = {"tolerations": [{"key": "a", "operator": "Exists"}], "adminAccess": True, "deviceClassName": "a"}
    obj = claim({"exactly": exactly}, {"exactly": exactly})
    problems = validate(obj, kubernetes="1.35", feature_gates={**TAKEOVER, "DRADeviceTaints": True})
    (repeated,) = [each.message for each in problems if each.reason == "FieldValueDuplicate"]
    assert repeated == (
        'Duplicate value: {"name":"","exactly":{"deviceClassName":"a","allocationMode":"ExactCount","count":1,'
        '"adminAccess":true,"tolerations":[{"key":"a","operator":"Exists"}]}}'
    )


def test_a_repeated_set_of_counters_is_shown_with_its_empty_name() -> None:
    counters = {"counters": {"memory": {"value": "8Gi"}}}
    obj = resource_slice()
    del obj["spec"]["devices"]
    obj["spec"]["sharedCounters"] = [counters, counters]
    gates = {**TAKEOVER, "DRAPartitionableDevices": True}
    repeated = [each.message for each in validate(obj, kubernetes="1.35", feature_gates=gates) if each.path[-1] == 1]
    assert repeated == ['Duplicate value: {"name":"","counters":{"memory":{"value":"8Gi"}}}']


def test_a_repeated_set_of_counters_is_shown_with_the_empty_counter_that_null_is() -> None:
    counters = {"name": "a", "counters": {"memory": None}}
    obj = resource_slice(sharedCounters=[counters, counters], devices=...)
    gates = {**TAKEOVER, "DRAPartitionableDevices": True}
    assert said(validate(obj, kubernetes="1.35", feature_gates=gates)) == [
        'spec.sharedCounters[1]: Duplicate value: {"name":"a","counters":{"memory":{"value":"0"}}}'
    ]


def test_repeated_items_are_shown_without_empty_maps_and_with_empty_texts_for_nulls() -> None:
    counters = {"name": "a", "counters": {}}
    obj = resource_slice(sharedCounters=[counters, counters], devices=...)
    gates = {**TAKEOVER, "DRAPartitionableDevices": True}
    assert (
        said(validate(obj, kubernetes="1.35", feature_gates=gates))[-1]
        == 'spec.sharedCounters[1]: Duplicate value: {"name":"a"}'
    )

    old = allocated()
    device = {name: RESULT[name] for name in ("driver", "pool", "device")} | {"networkData": {"ips": [None]}}
    new = changed(old, status__devices=[device, device])
    problems = validate(new, old, kubernetes="1.35", subresource="status", feature_gates={**TAKEOVER, **STATUS})
    (repeated,) = [each.message for each in problems if each.path[-1] == 1]
    assert repeated.endswith('"networkData":{"ips":[""]}}')


def test_a_set_of_counters_without_a_name_is_compared_with_the_stored_one() -> None:
    sets = [{"name": "a", "counters": {"memory": {"value": "8Gi"}}}, {}]
    old = resource_slice(sharedCounters=sets, devices=...)
    new = changed(old, spec__sharedCounters=[{"name": "a", "counters": {"memory": {"value": "9Gi"}}}, None])
    gates = {**TAKEOVER, "DRAPartitionableDevices": True}
    assert said(validate(new, old, kubernetes="1.35", feature_gates=gates)) == [
        "spec.sharedCounters[1].counters: Required value"
    ]
