"""Parameters of v1alpha2 become parts of claims and classes of v1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webhook import validate
from webhook.migration.classic import from_classic

V1 = "resource.k8s.io/v1"
A = 'device.attributes["gpu.example.com"]'
CASES = (
    ('attributes.string["model"] == "A100"', 'device.attributes["gpu.example.com"].model == "A100"'),
    ("attributes.bool['ecc']", 'device.attributes["gpu.example.com"].ecc'),
    (
        'attributes.quantity["memory"].isGreaterThan(quantity("40Gi"))',
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))',
    ),
    (
        'attributes.version["driver"].isGreaterThan(semver("1.0.0")) || attributes.int["index"] == 0',
        f'({A}.driver.isGreaterThan(semver("1.0.0")) || {A}.index == 0)',
    ),
)


def result(obj: dict[str, Any]) -> Any:
    """Return the JSON in the advice; None if it has none."""
    same, (problem,) = from_classic(obj)
    assert same is obj
    assert problem.rule == "no-counterpart"
    start, end = problem.hint.find("{"), problem.hint.rfind("}")
    return json.loads(problem.hint[start : end + 1]) if ", and delete the object" in problem.hint else None


def claim_parameters(selector: str, **more: Any) -> dict[str, Any]:
    request = {"namedResources": {"selector": selector}, "vendorParameters": {"kind": "Long"}}
    driver = {"driverName": "gpu.example.com", "requests": [request], **more}
    return {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaimParameters", "driverRequests": [driver]}


def class_parameters(selector: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClassParameters",
        "filters": [{"driverName": "gpu.example.com", "namedResources": {"selector": selector}}],
        "vendorParameters": [{"driverName": "gpu.example.com", "parameters": {"kind": "Short"}}],
    }


@pytest.mark.parametrize(("selector", "expression"), CASES)
def test_suggested_parameters_fit_claims_and_classes_of_v1(selector: str, expression: str) -> None:
    devices = result(claim_parameters(selector, vendorParameters={"kind": "All"}))
    whole = f'device.driver == "gpu.example.com" && {expression}'
    assert devices["requests"][0]["exactly"]["selectors"] == [{"cel": {"expression": whole}}]
    assert [each["opaque"]["parameters"]["kind"] for each in devices["config"]] == ["Long", "All"]
    devices["requests"][0]["exactly"]["deviceClassName"] = "gpu.example.com"
    claim = {"apiVersion": V1, "kind": "ResourceClaim", "metadata": {"name": "a"}, "spec": {"devices": devices}}
    assert validate(claim) == []
    spec = result(class_parameters(selector))
    assert spec["config"] == [{"opaque": {"driver": "gpu.example.com", "parameters": {"kind": "Short"}}}]
    assert validate({"apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": "a"}, "spec": spec}) == []


def test_a_request_for_anything_is_one_for_any_device_of_the_driver() -> None:
    (request,) = result(claim_parameters("true"))["requests"]
    assert request["exactly"]["selectors"] == [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]


@pytest.mark.parametrize(
    "selector",
    ['attributes.stringslice["a"].strings.exists(x, x == "b")', 'attributes.string["a-b"] == "c"', "", 3],
)
def test_missing_attributes_of_devices_are_described(selector: Any) -> None:
    assert result(claim_parameters(selector)) is None
    assert result(class_parameters(selector)) is None


def test_several_drivers_or_none_are_described() -> None:
    parameters = class_parameters('attributes.bool["a"]')
    parameters["filters"] *= 2
    assert result(parameters) is None
    assert result({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaimParameters"}) is None
