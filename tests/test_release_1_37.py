"""Kubernetes 1.37, which has no recording: updates, gates and versions, from its sources.

Cases about new objects are in ``cases/release-1.37``.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import RESULT, allocated, changed, claim, of_kind, resource_slice
from webhook import Problem, validate
from webhook.api.versions import NEWEST
from webhook.check.target import kubernetes
from webhook.explain.query import explain

EVERY = {"AllAlpha": True, "AllBeta": True}
TOO_EXPENSIVE = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
CONDITION = {"type": "A", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "R"}


def said(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems if problem.level == "error"]


def updated(new: dict[str, Any], old: dict[str, Any], **options: Any) -> list[str]:
    return said(validate(new, old, kubernetes="1.37", **options))


class TestDeclarativeValidation:
    def test_a_spec_is_immutable_in_other_words(self) -> None:
        new = changed(claim(), spec__devices={})
        assert updated(new, claim()) == ["spec: Invalid value: null: field is immutable"]
        off = updated(new, claim(), feature_gates={"DeclarativeValidationBeta": False})
        assert off == ['spec: Invalid value: {"devices":{}}: field is immutable']

    def test_an_allocation_is_not_modified(self) -> None:
        new = changed(allocated(), status__allocation={"devices": {}})
        assert updated(new, allocated(), subresource="status") == [
            "status.allocation: Invalid value: null: field cannot be modified once set"
        ]

    def test_what_older_releases_took_stays_until_it_changes(self) -> None:
        """An upper-case domain, which the handwritten rule accepts."""
        spec = {"devices": {"constraints": [{"matchAttribute": "GPU.example.com/model"}]}}
        old = of_kind("ResourceClaimTemplate", {"spec": spec}, "v1") | {
            "metadata": {"name": "template", "namespace": "default"}
        }
        assert said(validate(old, kubernetes="1.36")) == []
        assert len(said(validate(old, kubernetes="1.37"))) == 1
        assert updated(changed(old, metadata__labels={"a": "b"}), old) == []

    def test_the_handwritten_rule_says_what_the_declarative_one_does_not_look_at(self) -> None:
        old = resource_slice({"name": "a", "attributes": {"a": {}}}, version="v1beta2")
        assert updated(changed(old, metadata__labels={"a": "b"}), old) == [
            'spec.devices[0].attributes[a]: Invalid value: "": exactly one value must be specified'
        ]


class TestStatus:
    def test_tolerations_of_results_are_validated(self) -> None:
        toleration = {"key": "a b", "operator": "Exists", "value": "x", "effect": "Other"}
        new = allocated(None, RESULT | {"tolerations": [toleration]})
        assert said(validate(new, claim(), kubernetes="1.36", subresource="status")) == []
        for gates in ({}, {"DeclarativeValidationBeta": False}):
            found = validate(new, claim(), kubernetes="1.37", subresource="status", feature_gates=gates)
            fields = {problem.field.rpartition("tolerations[0].")[2] for problem in found}
            assert fields == {"key", "value", "effect"}

    def test_operations_are_skipped_together(self) -> None:
        new = allocated(None, RESULT | {"skipNodeOperations": ["NodePrepareResources"]})
        (problem,) = updated(new, claim(), subresource="status", feature_gates=EVERY)
        assert problem.startswith("status.allocation.devices.results[0].skipNodeOperations: Invalid value: [")
        fine = allocated(None, RESULT | {"skipNodeOperations": ["*"]})
        assert updated(fine, claim(), subresource="status", feature_gates=EVERY) == []

    def test_the_answer_about_pools_sums_up_partitions(self) -> None:
        old = of_kind("ResourcePoolStatusRequest", {"driver": "gpu.example.com"})
        part = {"attribute": "gpu.example.com/profile", "type": "1g", "total": 1, "allocatable": -1}
        pool = {
            "driver": "gpu.example.com",
            "poolName": "node-1",
            "generation": 1,
            "partitionSummary": [part, part],
            "shareableSummary": {"fullyAvailableDevices": 1, "capacity": [{"name": "memory", "total": "1Gi"}]},
        }
        new = old | {"status": {"poolCount": 1, "pools": [pool], "conditions": [CONDITION, CONDITION]}}
        found = updated(new, old, subresource="status", feature_gates=EVERY)
        assert sorted(each.partition(": ")[0] for each in found) == [
            "status.conditions[1].type",
            "status.pools[0].partitionSummary[0].allocatable",
            "status.pools[0].partitionSummary[1]",
            "status.pools[0].partitionSummary[1].allocatable",
            "status.pools[0].shareableSummary.capacity[0].available",
            "status.pools[0].shareableSummary.capacity[0].consumed",
            "status.pools[0].shareableSummary.partiallyAvailableDevices",
        ]

    def test_the_node_resources_of_a_claim_are_listed(self) -> None:
        claims = [{"name": "gpu", "resourceClaimName": "claim"}]
        old = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "pod", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims},
        }
        cpu = {"name": "cpu", "quantity": "1"}
        taken = {
            "resourceClaimName": "claim",
            "containers": ["c", "c"],
            "mapping": [cpu, cpu, {"name": "memory"}],
            "overhead": [{"perPod": "1"}],
        }
        new = old | {"status": {"nodeAllocatableResourceClaimStatuses": [taken, taken]}}
        found = updated(new, old, subresource="status", feature_gates=EVERY)
        path = "status.nodeAllocatableResourceClaimStatuses"
        assert {each.partition(": ")[0] for each in found} >= {
            f"{path}[1]",
            f"{path}[0].containers[1]",
            f"{path}[0].mapping[1]",
            f"{path}[0].mapping[2].quantity",
            f"{path}[0].overhead[0].name",
        }


def derived(*expressions: str) -> dict[str, Any]:
    """Make a claim that derives attributes."""
    attributes = [{"name": f"derived/a{index}", "expression": each} for index, each in enumerate(expressions)]
    compared = [{"matchAttribute": each["name"]} for each in attributes]
    exactly = {"deviceClassName": "gpu.example.com", "derivedAttributes": attributes}
    return claim({"name": "gpu", "exactly": exactly}, constraints=compared)


def loops(depth: int) -> str:
    """Make an expression whose cost grows with its depth."""
    expression = "true"
    for index in range(depth):
        expression = f"device.attributes.all(v{index}, {expression})"
    return expression


class TestDerivedAttributes:
    PATH = "spec.devices.requests[0].exactly.derivedAttributes"

    @each_row(
        ("expression", "found"),
        [
            ("x" * 10241, "Too long: may not be more than 10240 bytes"),
            (
                "device",
                'Invalid value: "device": must evaluate to a primitive scalar (string, integer, boolean, semver)',
            ),
            ("device.no", 'Invalid value: "device.no": compilation failed: '),
            (loops(4), "Forbidden: too complex, exceeds cost limit"),
            ("int('x')", "Internal error: program instantiation failed: "),
            ("device.driver", None),
            ("device.attributes['a'].b", None),
            ("[device.driver]", 'Invalid value: "[device.driver]": must evaluate to a primitive scalar '),
        ],
    )
    def test_an_expression_is_compiled(self, expression: str, found: str | None) -> None:
        problems = said(validate(derived(expression), kubernetes="1.37", feature_gates={"DRADerivedAttributes": True}))
        starts = [] if found is None else [f"{self.PATH}[0].expression: {found}"]
        assert [each[: len(start)] for each, start in zip(problems, starts, strict=False)] == starts
        assert bool(problems) == bool(starts)

    def test_a_list_is_a_value_with_its_gate(self) -> None:
        assert said(validate(derived("[device.driver]"), kubernetes="1.37", feature_gates=EVERY)) == []

    def test_all_together_have_a_limit(self) -> None:
        dear = " && ".join([loops(3)] * 6)
        gates = {"DRADerivedAttributes": True}
        assert said(validate(derived(dear), kubernetes="1.37", feature_gates=gates)) == []
        assert said(validate(derived(dear, dear), kubernetes="1.37", feature_gates=gates)) == [
            f"spec.devices: Forbidden: {TOO_EXPENSIVE}"
        ]

    def test_there_are_32_at_most(self) -> None:
        problems = said(validate(derived(*["1"] * 33), kubernetes="1.37", feature_gates={"DRADerivedAttributes": True}))
        assert f"{self.PATH}: Too many: 33: must have at most 32 items" in problems


class TestVersions:
    def test_a_taint_rule_of_v1_is_updated_on_the_state_that_was_read(self) -> None:
        for version, refused in (("v1", True), ("v1beta2", False)):
            old = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoSchedule"}}, version)
            old["metadata"] |= {"resourceVersion": "1", "uid": "u"}
            new = changed(old, metadata__resourceVersion=...)
            assert bool(updated(new, old)) == refused

    @each_row("version", ["v1", "v1beta2", "v1alpha3"])
    def test_taint_rules_need_no_gate_any_more(self, version: str) -> None:
        rule = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "None"}}, version)
        assert "gate-off" not in {problem.rule for problem in validate(rule, kubernetes="1.37")}

    def test_stored_selectors_of_a_class_are_not_compiled_again(self) -> None:
        old = of_kind("DeviceClass", {"selectors": [{"cel": {"expression": "device.gone"}}]}, "v1")
        new = changed(old, metadata__labels={"a": "b"})
        assert len(said(validate(new, old, kubernetes="1.36"))) == 1
        assert updated(new, old) == []


@each_row(
    "field",
    [
        "ResourceSlice.spec.partitionTypeAttribute",
        "ResourceSlice.spec.skipNodeOperations",
        "ResourceSlice.spec.devices.nodeAllocatableResources.mapping.deviceMultiplier",
        "ResourceSlice.spec.devices.nodeAllocatableResources.overhead.perPod",
        "ResourceSlice.spec.devices.consumesCounters.compatibilityGroups",
        "ResourceClaim.spec.devices.requests.exactly.derivedAttributes.expression",
        "ResourceClaim.spec.devices.requests.firstAvailable.derivedAttributes.name",
        "ResourceClaim.status.allocation.devices.results.skipNodeOperations",
        "ResourcePoolStatusRequest.spec.defaultPartitionTypeAttribute",
        "ResourcePoolStatusRequest.status.pools.partitionSummary.allocatable",
        "ResourcePoolStatusRequest.status.pools.shareableSummary.capacity.available",
    ],
)
def test_a_field_of_1_37_is_explained(field: str) -> None:
    assert "1.37" in explain(field)
    assert explain(field, kubernetes="1.37")


@pytest.mark.parametrize("source", ["option", "file"])
def test_a_later_release_is_judged_as_the_newest_with_a_note(
    source: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "version"
    file.write_text("v1.99.2\n", encoding="utf-8")
    stated = {"option": ("1.99", None), "file": (None, str(file))}[source]
    arguments = Namespace(**dict(zip(("kubernetes_version", "kubernetes_version_file"), stated, strict=True)))
    assert kubernetes(arguments) == f"1.{NEWEST}"
    assert f"Kubernetes 1.99 is not known here yet: judged as 1.{NEWEST}" in caplog.text
    assert validate(claim(), kubernetes="1.99") == validate(claim(), kubernetes=f"1.{NEWEST}")


def test_a_dropped_field_names_its_gate() -> None:
    obj = resource_slice({"name": "a"}, skipNodeOperations=["*"])
    (problem,) = validate(obj, kubernetes="1.37")
    assert problem.message.endswith("DRAOptionalNodeOperations")
    assert problem.hint == "DRAOptionalNodeOperations: alpha from 1.37, not on by default in any release yet"
