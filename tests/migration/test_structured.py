"""Parameters of v1alpha2 become parts of claims and classes of v1."""

import json
from typing import Any, ClassVar

import pytest

from tests.rows import each_row
from webhook import validate
from webhook.migration.classic import Parameters, from_classic

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
    same, (problem,) = from_classic(obj, Parameters())
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


@each_row(("selector", "expression"), CASES)
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


@each_row(
    "selector", ['attributes.stringslice["a"].strings.exists(x, x == "b")', 'attributes.string["a-b"] == "c"', "", 3]
)
def test_missing_attributes_of_devices_are_described(selector: Any) -> None:
    assert result(claim_parameters(selector)) is None
    assert result(class_parameters(selector)) is None


def test_several_drivers_or_none_are_described() -> None:
    parameters = class_parameters('attributes.bool["a"]')
    parameters["filters"] *= 2
    assert result(parameters) is None
    assert result({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaimParameters"}) is None


class TestClaimsWithTheirParameters:
    CLAIM: ClassVar[dict[str, Any]] = {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "a"},
        "spec": {
            "resourceClassName": "gpu.example.com",
            "parametersRef": {"apiGroup": "gpu.example.com", "kind": "GpuParameters", "name": "one"},
        },
    }
    TEMPLATE: ClassVar[dict[str, Any]] = {**CLAIM, "kind": "ResourceClaimTemplate", "spec": {"spec": CLAIM["spec"]}}
    MADE: ClassVar[dict[str, Any]] = {"generatedFrom": CLAIM["spec"]["parametersRef"]}

    @staticmethod
    def parameters(namespace: str = "a", selector: str = CASES[0][0], **more: Any) -> dict[str, Any]:
        return {**claim_parameters(selector), "metadata": {"name": "p", "namespace": namespace}, **more}

    @pytest.mark.parametrize("claim", [CLAIM, TEMPLATE], ids=["claim", "template"])
    def test_they_become_a_part_of_it(self, claim: dict[str, Any]) -> None:
        given = self.parameters(**self.MADE)
        known = Parameters([claim, given])
        newer, problems = from_classic(claim, known)
        assert problems == []
        assert validate({**newer, "apiVersion": V1}) == []
        spec = newer["spec"].get("spec", newer["spec"])
        (request,) = spec["devices"]["requests"]
        assert request["exactly"]["deviceClassName"] == "gpu.example.com"
        assert CASES[0][1] in request["exactly"]["selectors"][0]["cel"]["expression"]
        assert spec["devices"]["config"][0]["requests"] == [request["name"]]
        (problem,) = from_classic(given, known)[1]
        assert problem.hint.startswith(f"its content is part of {claim['kind']} gpu now: delete the object")

    @each_row(
        "given",
        [parameters(namespace="b", **MADE), parameters(), parameters(selector="attributes.string[model]", **MADE)],
    )
    def test_unclear_parameters_are_not_converted(self, given: dict[str, Any]) -> None:
        known = Parameters([self.CLAIM, given])
        _, (problem,) = from_classic(self.CLAIM, known)
        assert problem.path == ("spec", "parametersRef")
        assert "is a part of" not in from_classic(given, known)[1][0].hint

    def test_a_claim_may_name_them_themselves(self) -> None:
        reference = {"apiGroup": "resource.k8s.io", "kind": "ResourceClaimParameters", "name": "p"}
        claim = {**self.CLAIM, "spec": {**self.CLAIM["spec"], "parametersRef": reference}}
        assert from_classic(claim, Parameters([self.parameters()]))[1] == []
