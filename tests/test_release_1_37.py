"""Kubernetes 1.37, which has no recording: derived attributes, and what is said of the release, from its sources.

Cases about new objects are in ``cases/release-1.37``, others in ``api/requests/release-1.37.yaml``.
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from tests.structured import claim
from webhook import Problem, validate
from webhook.api.versions import NEWEST
from webhook.check.target import kubernetes
from webhook.explain.query import explain

TOO_EXPENSIVE = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"


def said(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems if problem.level == "error"]


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
