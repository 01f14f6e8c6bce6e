"""Updates of structured objects: fields that may change, fields that are validated again, and the status."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.rows import each_row
from tests.structured import (
    LABELLED,
    REQUEST,
    RESULT,
    allocated,
    changed,
    claim,
    errors,
    of_kind,
    resource_slice,
    warnings,
)
from webhook import validate

DEVICE = {name: value for name, value in RESULT.items() if name != "request"}
LONG = {"parameters": {"a": "x" * 11000}, "driver": "gpu.example.com"}


def test_defaults_are_no_change() -> None:
    plain, full = (
        claim(),
        claim(REQUEST | {"exactly": {**REQUEST["exactly"], "allocationMode": "ExactCount", "count": 1}}),
    )
    assert validate(full, plain) == []
    assert validate(plain, full) == []
    tolerant = claim(REQUEST | {"exactly": {**REQUEST["exactly"], "tolerations": [{"key": "a"}]}})
    equal = claim(REQUEST | {"exactly": {**REQUEST["exactly"], "tolerations": [{"key": "a", "operator": "Equal"}]}})
    assert validate(tolerant, equal) == []


@each_row(
    ("one", "other"),
    [
        ({"capacity": {"requests": {"memory": "1Gi"}}}, {"capacity": {"requests": {"memory": "1024Mi"}}}),
        ({"selectors": []}, {}),
        ({"count": 0}, {"count": 1}),
    ],
)
def test_what_means_the_same_is_not_a_change(one: dict[str, Any], other: dict[str, Any]) -> None:
    old, new = (claim(REQUEST | {"exactly": {**REQUEST["exactly"], **each}}) for each in (one, other))
    assert validate(new, old) == []


def test_the_api_server_counts_generations_itself() -> None:
    old = changed(resource_slice(), metadata__generation=3)
    assert validate(changed(old, metadata__generation=2), old) == []
    assert validate(changed(resource_slice(), metadata__generation=-1)) == []


@pytest.mark.parametrize(("release", "count"), [("1.32", 1), ("1.33", 0)])
def test_the_generation_of_a_pod_is_counted_since_1_33(release: str, count: int) -> None:
    containers = [{"name": "a", "image": "a"}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "generation": -1},
        "spec": {"containers": containers},
    }
    assert len(validate(pod, kubernetes=release)) == count


def test_parameters_of_a_driver_are_compared_as_json() -> None:
    old, new = (
        claim(REQUEST, config=[{"opaque": {"driver": "gpu.example.com", "parameters": parameters}}])
        for parameters in ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    )
    assert validate(new, old) == []
    assert [field for field, _ in errors(validate(changed(new, spec__devices__config=[]), old))] == ["spec"]


class TestDeviceClass:
    """From 1.35 on, unchanged fields are not checked again."""

    OLD: ClassVar[dict[str, Any]] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"config": [{"opaque": LONG}]},
    }

    def test_unchanged_configuration_may_be_longer_than_new_one(self) -> None:
        new = changed(self.OLD, spec__extendedResourceName="example.com/gpu")
        assert errors(validate(new, self.OLD, kubernetes="1.36")) == []
        assert errors(validate(new, self.OLD, kubernetes="1.34", feature_gates={"AllAlpha": True})) == [
            ("spec.config[0].opaque.parameters", "Too long: may not be more than 10240 bytes")
        ]

    def test_a_spec_may_change(self) -> None:
        assert validate(changed(self.OLD, spec={}), self.OLD) == []


class TestResourceSlice:
    """Driver, pool and node of a slice cannot change; unchanged taints are not checked again."""

    TAINTED: ClassVar[dict[str, Any]] = {"name": "a", "taints": [{"key": "k", "effect": "Whatever"}]}

    @pytest.mark.parametrize("version", ["v1", "v1beta1"])
    def test_taints_that_stay_are_not_checked_again(self, version: str) -> None:
        device = self.TAINTED
        if version == "v1beta1":
            device = {"name": "a", "basic": {"taints": self.TAINTED["taints"]}}
        old = resource_slice(device, version=version)
        new = resource_slice({"name": "b"}, device, version=version)
        assert errors(validate(new, old, kubernetes="1.36")) == []


class TestStatus:
    """The status of a claim."""

    def test_a_status_is_dropped_from_a_new_claim(self) -> None:
        assert warnings(validate(allocated())) == [("status-dropped", "status")]

    def test_a_copy_of_a_stored_claim_has_its_status(self) -> None:
        copy = allocated()
        copy["metadata"]["uid"] = "6c0a3f11-0000-4000-8000-000000000000"
        assert warnings(validate(copy)) == []

    def test_an_update_of_one_part_does_not_touch_the_other(self) -> None:
        assert warnings(validate(allocated(), claim())) == [("status-ignored", "status")]
        problems = validate(changed(allocated(), spec__devices={}), allocated(), subresource="status")
        assert [(problem.rule, problem.level) for problem in problems] == [("spec-ignored", "warning")]

    def test_an_allocation_that_is_set_is_validated(self) -> None:
        new = allocated(None, RESULT | {"request": "other", "pool": "a//b", "shareID": "x"})
        assert [field for field, _ in errors(validate(new, claim(), kubernetes="1.36", subresource="status"))] == [
            "status.allocation.devices.results[0].request",
            "status.allocation.devices.results[0].pool",
            "status.allocation.devices.results[0].shareID",
        ]

    def test_the_status_of_a_device_is_for_an_allocated_device(self) -> None:
        new = allocated(devices=[DEVICE, DEVICE, DEVICE | {"device": "other"}])
        assert [field for field, _ in errors(validate(new, claim(), kubernetes="1.36", subresource="status"))] == [
            "status.devices[2]",
            "status.devices[1]",
        ]

    def test_what_is_said_of_devices_that_go_is_dropped(self) -> None:
        old = allocated(None, RESULT, RESULT | {"device": "gpu-1"}, devices=[DEVICE])
        new = changed(claim(), status={"devices": [DEVICE]})
        assert errors(validate(new, old, subresource="status")) == []

    @each_row(
        ("ips", "kubernetes", "found"),
        [
            (["10.0.0.1/24"], "1.36", []),
            (["10.0.0.1"], "1.36", ["status.devices[0].networkData.ips[0]"]),
            (["10.0.0.1/24", "10.0.0.1/24"], "1.36", ["status.devices[0].networkData.ips[1]"]),
            (["::1/64", "0::1/64"], "1.32", ["status.devices[0].networkData.ips[1]"]),
            ([f"10.0.0.{number}/24" for number in range(17)] * 2, "1.36", ["status.devices[0].networkData.ips"]),
        ],
    )
    def test_addresses_are_distinguished(self, ips: list[str], kubernetes: str, found: list[str]) -> None:
        base = claim({"name": "gpu", "deviceClassName": "gpu.example.com"}, version="v1beta1")
        new = allocated(base, devices=[DEVICE | {"networkData": {"ips": ips}}])
        gates = {"DRAResourceClaimDeviceStatus": True}
        problems = validate(new, base, kubernetes=kubernetes, subresource="status", feature_gates=gates)
        assert [field for field, _ in errors(problems)] == found


class TestAdminAccess:
    """Admin access needs a namespace that is labelled for it."""

    CLAIM = claim(REQUEST | {"exactly": {**REQUEST["exactly"], "adminAccess": True}})
    FIELD = "spec.devices.requests[0].adminAccess"

    @pytest.mark.parametrize(
        ("kubernetes", "label"),
        [("1.33", "resource.k8s.io/admin-access"), ("1.34", "resource.kubernetes.io/admin-access")],
    )
    def test_the_label_is_that_of_the_release(self, kubernetes: str, label: str) -> None:
        obj = self.CLAIM | {"apiVersion": "resource.k8s.io/v1beta2"}
        gates = {"DRAAdminAccess": True}
        problems = validate(obj, kubernetes=kubernetes, namespace_labels={}, feature_gates=gates)
        detail = f"admin access to devices requires the `{label}: true` label on the containing namespace"
        assert errors(problems) == [(self.FIELD, f"Forbidden: {detail}")]
        assert str(problems[0].path) == "spec.devices.requests[0].exactly.adminAccess"
        labelled = validate(obj, kubernetes=kubernetes, namespace_labels={label: "true"}, feature_gates=gates)
        assert errors(labelled) == []

    def test_without_the_namespace_the_result_is_unknown(self) -> None:
        assert warnings(validate(self.CLAIM)) == [("admin-access", "spec.devices.requests[0].exactly.adminAccess")]

    def test_templates_need_it_too(self) -> None:
        template = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "t", "namespace": "default"},
            "spec": {"spec": self.CLAIM["spec"]},
        }
        assert [field for field, _ in errors(validate(template, namespace_labels={}))] == [self.FIELD]
        assert validate(template, namespace_labels=LABELLED) == []

    def test_it_is_allocated_only_where_it_may_be(self) -> None:
        new = allocated(self.CLAIM, RESULT | {"adminAccess": True})
        found = errors(validate(new, self.CLAIM, subresource="status", namespace_labels={}))
        assert [field for field, _ in found] == ["status.allocation.devices.results[0].adminAccess"]
        assert validate(new, self.CLAIM, subresource="status", namespace_labels=LABELLED) == []

    def test_a_flat_request_has_one_path_for_it(self) -> None:
        obj = claim({"name": "gpu", "deviceClassName": "a", "adminAccess": True}, version="v1beta1")
        (problem,) = [each for each in validate(obj, namespace_labels={}) if each.level == "error"]
        assert (problem.field, str(problem.path)) == (self.FIELD, self.FIELD)


class TestStored:
    """Unchanged fields of an update count as stored: some rules are relaxed for them, the others hold."""

    COSTLY = "{}true{}".format("".join(f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(i{n}, " for n in range(6)), ")" * 6)
    OF_A_GATE = "device.allowMultipleAllocations"

    def device_class(self, expression: str, label: str = "", **spec: Any) -> dict[str, Any]:
        base = of_kind("DeviceClass", {"selectors": [{"cel": {"expression": expression}}], **spec}, "v1")
        return changed(base, metadata__labels={"a": label})

    def said(self, expression: str, kubernetes: str = "1.35") -> list[tuple[str, str]]:
        """Return the findings when only a label changes."""
        new, old = self.device_class(expression, "new"), self.device_class(expression)
        return errors(validate(new, old, kubernetes=kubernetes))

    def test_an_expression_may_use_what_new_ones_may_not(self) -> None:
        assert self.said(self.OF_A_GATE) == []
        new, old = self.device_class(self.OF_A_GATE), self.device_class("true")
        assert [field for field, _ in errors(validate(new, old, kubernetes="1.35"))] == [
            "spec.selectors[0].cel.expression"
        ]

    def test_until_1_34_every_expression_is_judged_as_new(self) -> None:
        assert [field for field, _ in self.said(self.OF_A_GATE, "1.34")] == ["spec.selectors[0].cel.expression"]


class TestPoolStatusRequest:
    """The spec of a request for the status of pools is immutable, and so is its status once set."""

    OLD = of_kind("ResourcePoolStatusRequest", {"driver": "gpu.example.com"})

    def test_a_repeated_condition_was_found_by_two_rules(self) -> None:
        condition = {"type": "A", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "R"}
        new = self.OLD | {"status": {"poolCount": 1, "conditions": [condition, condition]}}
        found = errors(validate(new, self.OLD, kubernetes="1.36", subresource="status"))
        assert sorted(field for field, _ in found) == ["status.conditions[1]", "status.conditions[1].type"]
        text = 'Duplicate value: {"type":"A","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z","reason":"R"}'
        assert ("status.conditions[1]", text) in found
        many = self.OLD | {"status": {"poolCount": 1, "conditions": [condition | {"type": f"A{i}"} for i in range(11)]}}
        assert errors(validate(many, self.OLD, subresource="status")) == [
            ("status.conditions", "Too many: 11: must have at most 10 items")
        ]

    def test_the_answer_has_its_limits(self) -> None:
        pool = {"driver": "Gpu.Example.com", "poolName": "a/b", "generation": 0, "totalDevices": -1}
        new = self.OLD | {"status": {"pools": [pool], "poolCount": None}}
        assert [field for field, _ in errors(validate(new, self.OLD, subresource="status"))] == [
            "status.poolCount",
            "status.pools[0].generation",
            "status.pools[0].totalDevices",
        ]

    def test_the_answer_is_given_once(self) -> None:
        answered = self.OLD | {"status": {"poolCount": 0}}
        assert errors(validate(answered, self.OLD, subresource="status")) == []
        other = self.OLD | {"status": {"poolCount": 1}}
        assert [field for field, _ in errors(validate(other, answered, subresource="status"))] == ["status"]
        assert errors(validate(answered, answered, subresource="status")) == []


@each_row(
    ("submitted", "shown"),
    [
        ("2026-11-22T12:00:00Z", '"2026-11-22T12:00:00Z"'),
        ("2026-11-22T13:00:00.5+01:00", '"2026-11-22T12:00:00Z"'),
        ("0001-01-01T00:00:00Z", "null"),
    ],
)
def test_an_update_does_not_delete(submitted: str, shown: str) -> None:
    found = validate(
        changed(resource_slice(), metadata__deletionTimestamp=submitted), resource_slice(), kubernetes="1.36"
    )
    assert errors(found) == [("metadata.deletionTimestamp", f"Invalid value: {shown}: field is immutable")]
    going = changed(
        resource_slice(), metadata__deletionTimestamp="2026-01-01T00:00:00Z", metadata__deletionGracePeriodSeconds=0
    )
    assert validate(changed(going, metadata__deletionTimestamp=submitted), going, kubernetes="1.36") == []
    assert validate(changed(going, metadata__deletionGracePeriodSeconds=...), going, kubernetes="1.36") == []


@each_row(
    ("time", "shown"),
    [
        ("2026-11-22T13:00:00+01:00", "2026-11-22 12:00:00 +0000 UTC"),
        ("2026-11-22T12:00:00.50Z", "2026-11-22 12:00:00.5 +0000 UTC"),
        ("0001-01-01T00:00:00Z", "0001-01-01 00:00:00 +0000 UTC"),
    ],
)
def test_messages_of_early_releases_have_another_form_of_times(time: str, shown: str) -> None:
    submitted = changed(resource_slice(), metadata__deletionTimestamp=time)
    old = resource_slice()
    submitted["apiVersion"] = old["apiVersion"] = "resource.k8s.io/v1beta2"
    assert errors(validate(submitted, old, kubernetes="1.33")) == [
        ("metadata.deletionTimestamp", f"Invalid value: {shown}: field is immutable")
    ]
