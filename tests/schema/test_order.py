"""The order of causes, in cases whose answers by API servers or by their validation are known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.structured import REQUEST, RESULT, allocated, changed, claim, resource_slice
from webhook import validate

NO_VALUES = {"key": "", "operator": "In"}
TERM = {"nodeSelectorTerms": [{"matchExpressions": [NO_VALUES]}]}
GATES = {"AllAlpha": True, "AllBeta": True}


def fields(
    obj: dict[str, Any], old: dict[str, Any] | None = None, subresource: str = "", kubernetes: str = "1.36"
) -> list[str]:
    found = validate(obj, old, kubernetes=kubernetes, feature_gates=GATES, subresource=subresource)
    return [problem.field.partition("pec.")[2] or problem.field for problem in found if problem.level == "error"]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(
            claim(
                {"name": "A", "exactly": {"deviceClassName": "a", "count": -1, "tolerations": [{"key": "-"}]}},
                constraints=[{"requests": ["A", "b"], "matchAttribute": "a"}],
                config=[{"requests": ["b"]}],
            ),
            [
                "devices.requests[0].name",
                "devices.requests[0].exactly.count",
                "devices.requests[0].exactly.tolerations[0].key",
                "devices.constraints[0].requests[0]",
                "devices.constraints[0].requests[1]",
                "devices.constraints[0].matchAttribute",
                "devices.config[0].requests[0]",
                "devices.config[0].opaque",
            ],
            id="references to requests come where they stand",
        ),
        pytest.param(
            resource_slice(
                {"name": "B", "capacity": {"a": {"value": "1", "requestPolicy": {}}}, "taints": [{"key": "-"}]},
                {"name": "c", "bindingConditions": ["a"]},
                nodeName=...,
                nodeSelector=TERM,
                allNodes=True,
                sharedCounters=[],
            ),
            [
                "nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values",
                "nodeSelector.nodeSelectorTerms[0].matchExpressions[0].key",
                "nodeSelector.nodeSelectorTerms[0].matchExpressions[0].key",
                "spec",
                "spec",
                "devices[0].name",
                "devices[0].capacity[a].requestPolicy",
                "devices[0].taints[0].key",
                "devices[0].taints[0].effect",
                "devices[1].bindingFailureConditions",
            ],
            id="errors of a slice come before those of its devices",
        ),
        pytest.param(
            resource_slice(
                {"name": "B", "nodeName": "a", "bindingConditions": ["-"]},
                {"name": "b"},
                {"name": "b", "allNodes": True},
                nodeName=...,
                perDeviceNodeSelection=True,
            ),
            [
                "devices[0].name",
                "devices[0].bindingConditions[0]",
                "devices[0].bindingFailureConditions",
                "devices[1]",
                "devices[2]",
            ],
            id="the nodes of a device come before its conditions, and what repeats after all devices",
        ),
        pytest.param(
            resource_slice(
                {
                    "name": "b",
                    "attributes": {"b-": {"bool": True}, "a-": {"string": "a" * 99}},
                    "capacity": {"b": {"value": "1", "requestPolicy": {}}, "-": {"value": "1"}},
                    "taints": [{"key": "-", "effect": "NoExecute"}],
                }
            ),
            [
                "devices[0].attributes",
                "devices[0].attributes",
                "devices[0].attributes[a-].string",
                "devices[0].capacity",
                "devices[0].capacity[b].requestPolicy",
                "devices[0].taints[0].key",
            ],
            id="the order of entries of maps does not change where errors of a device come",
        ),
    ],
)
def test_new_objects(obj: dict[str, Any], expected: list[str]) -> None:
    assert fields(obj) == expected


def test_immutable_fields_come_before_the_nodes_of_a_slice() -> None:
    old = resource_slice()
    new = changed(old, spec__pool__name="other", spec__pool__generation=-1, spec__nodeName="A")
    assert fields(new, old) == ["pool.generation", "pool.name", "nodeName", "nodeName"]


def test_a_status_has_the_errors_of_its_new_allocation_last() -> None:
    device = {name: RESULT[name] for name in ("driver", "pool", "device")} | {"conditions": [{"type": "-"}]}
    old = claim(REQUEST)
    new = allocated(old, RESULT | {"device": "A", "request": "no"}, devices=[device], reservedFor=[{"name": "a"}])
    assert fields(new, old, subresource="status") == [
        "status.reservedFor[0].resource",
        "status.reservedFor[0].uid",
        "status.devices[0]",
        "status.devices[0].conditions[0].type",
        "status.devices[0].conditions[0].status",
        "status.devices[0].conditions[0].lastTransitionTime",
        "status.devices[0].conditions[0].reason",
        "status.allocation.devices.results[0].request",
        "status.allocation.devices.results[0].device",
    ]


def test_what_an_update_changes_has_its_errors_in_place() -> None:
    device = {"name": "b", "bindingConditions": ["a"]}
    old, new = resource_slice(), resource_slice({**device, "taints": [{"key": "-", "effect": "NoX"}]}, device)
    assert fields(new, old) == [
        "devices[0].taints[0].key",
        "devices[0].taints[0].effect",
        "devices[0].bindingFailureConditions",
        "devices[1].bindingFailureConditions",
        "devices[1]",
    ]


def test_what_an_update_changes_comes_after_errors_of_the_whole_device() -> None:
    attributes = {f"a{index}": {"bool": True} for index in range(33)}
    new = resource_slice({"name": "b", "attributes": attributes, "taints": [{"key": "-", "effect": "NoExecute"}]})
    assert fields(new, resource_slice()) == ["devices[0]", "devices[0].taints[0].key"]


def test_a_repeated_condition_comes_before_its_other_errors() -> None:
    condition = {"type": "A", "status": "True", "reason": "A", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [condition, {**condition, "status": "no"}, condition]
    device = {name: RESULT[name] for name in ("driver", "pool", "device")} | {"conditions": conditions}
    old = allocated(claim(REQUEST), RESULT)
    new = allocated(old, RESULT, devices=[device])
    assert fields(new, old, subresource="status") == [
        "status.devices[0].conditions[1].type",
        "status.devices[0].conditions[1].status",
        "status.devices[0].conditions[2].type",
    ]


def test_the_nodes_of_a_device_in_a_box_come_before_its_conditions() -> None:
    device = {"name": "b", "basic": {"allNodes": True, "bindingConditions": ["a"]}}
    boxed = resource_slice(device) | {"apiVersion": "resource.k8s.io/v1beta1"}
    assert fields(boxed) == ["devices[0]", "devices[0].bindingFailureConditions"]


def test_declarative_rules_find_what_repeats_before_errors_of_items() -> None:
    request = {"name": "a", "exactly": {"deviceClassName": "a", "allocationMode": "no"}}
    assert fields(claim(request, request), kubernetes="1.35") == [
        "devices.requests[1]",
        "devices.requests[0].exactly.allocationMode",
        "devices.requests[1].exactly.allocationMode",
    ]


def test_declarative_rules_find_a_changed_allocation_before_errors_of_devices() -> None:
    device = {name: RESULT[name] for name in ("driver", "pool", "device")} | {
        "networkData": {"interfaceName": "a" * 257}
    }
    old = allocated(claim(REQUEST), RESULT)
    new = allocated(claim(REQUEST), RESULT | {"device": "other"}, devices=[device | {"device": "other"}])
    assert fields(new, old, subresource="status", kubernetes="1.35") == [
        "status.allocation",
        "status.devices[0].networkData.interfaceName",
    ]
