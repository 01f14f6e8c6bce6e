"""Kubernetes 1.37 and 1.38, which have no recording: derived attributes, and what is said of them, by their sources.

Cases about new objects are in ``cases/release-1.37``, others in ``api/requests/release-1.37.yaml``.
"""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, draguard
from tests.rows import each_row
from tests.simulation import clusters
from tests.structured import claim, resource_slice
from webhook import simulate, validate
from webhook.api import gates
from webhook.api.versions import DEFAULT, NEWEST
from webhook.check.target import kubernetes
from webhook.explain.query import explain
from webhook.release import Release

TOO_EXPENSIVE = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"


def errors_of_derived(*expressions: str) -> list[str]:
    """Return the errors of a claim that derives attributes."""
    attributes = [{"name": f"derived/a{index}", "expression": each} for index, each in enumerate(expressions)]
    compared = [{"matchAttribute": each["name"]} for each in attributes]
    exactly = {"deviceClassName": "gpu.example.com", "derivedAttributes": attributes}
    obj = claim({"name": "gpu", "exactly": exactly}, constraints=compared)
    found = validate(obj, kubernetes="1.37", feature_gates={"DRADerivedAttributes": True})
    return [str(problem) for problem in found if problem.level == "error"]


def loops(depth: int) -> str:
    """Make an expression whose cost grows with its depth."""
    expression = "true"
    for index in range(depth):
        expression = f"device.attributes.all(v{index}, {expression})"
    return expression


PATH = "spec.devices.requests[0].exactly.derivedAttributes"
DEAR = " && ".join([loops(3)] * 6)


@each_row(
    ("expression", "found"),
    ("x" * 10241, "Too long: may not be more than 10240 bytes"),
    ("device", 'Invalid value: "device": must evaluate to a primitive scalar (string, integer, boolean, semver)'),
    ("device.no", 'Invalid value: "device.no": compilation failed: '),
    (loops(4), "Forbidden: too complex, exceeds cost limit"),
    ("int('x')", "Internal error: program instantiation failed: "),
    ("[device.driver]", 'Invalid value: "[device.driver]": must evaluate to a primitive scalar '),
)
def test_an_expression_that_derives_an_attribute_is_compiled(expression: str, found: str) -> None:
    assert errors_of_derived(expression)[0].startswith(f"{PATH}[0].expression: {found}")


def test_attributes_are_derived_within_limits() -> None:
    for fine in ("device.driver", "device.attributes['a'].b", DEAR):
        assert errors_of_derived(fine) == []
    assert errors_of_derived(DEAR, DEAR) == [f"spec.devices: Forbidden: {TOO_EXPENSIVE}"]
    assert f"{PATH}: Too many: 33: must have at most 32 items" in errors_of_derived(*["1"] * 33)


@each_row(
    "field",
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


def test_what_judges_if_none_is_stated_is_named() -> None:
    shown = " ".join(draguard("policy", "test", "--help").out.split())
    for text, stated in (
        ((ROOT / "webhook/engine/suite.schema.json").read_text(), "The Kubernetes release; {} if not given."),
        ((ROOT / "docs/policies.md").read_text(), "# the release; {} if not given"),
        ((ROOT / "docs/validate.md").read_text(), "Without `--kubernetes-version` Kubernetes {} judges;"),
        (shown, "(default: the suite's own, or {})"),
    ):
        assert stated.format(f"1.{DEFAULT}") in text


def found_in(obj: dict[str, Any], release: str) -> str:
    return draguard("validate", "--kubernetes-version", release, "-", stdin=json.dumps(obj).encode()).out


def test_it_is_judged_by_only_if_stated(caplog: pytest.LogCaptureFixture) -> None:
    assert (DEFAULT, NEWEST) == (37, 38)
    assert kubernetes(Namespace(kubernetes_version="v1.38.0-alpha.2")) == "1.38"
    assert caplog.messages == ["note: --kubernetes-version: Kubernetes 1.38 is known as of an alpha"]


def test_v1beta1_is_no_longer_served() -> None:
    old = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaimTemplate", "metadata": {"name": "a"}}
    for release, levels in (("1.37", {"warning"}), ("1.38", {"error"})):
        found = validate(old | {"spec": {"spec": {}}}, kubernetes=release)
        assert {each.level for each in found if each.rule in {"deprecated", "not-served"}} == levels


def test_gates() -> None:
    assert not gates.known(gates.DRA, Release(38))
    for gate in ("DRADeviceTaints", "DRADeviceTaintRules"):
        with pytest.raises(ValueError, match="locked to true"):
            gates.enabled(Release(38), {gate: False})


@each_row(("spec", "selects_all"), ({"deviceSelector": {}}, True), ({}, False))
def test_a_taint_rule_without_a_selector_selects_nothing(spec: dict[str, Any], selects_all: bool) -> None:
    taint = {"key": "example.com/a", "effect": "NoSchedule"}
    rule = {"kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {"taint": taint, **spec}}
    objects = [clusters.node("a"), clusters.devices("a"), clusters.device_class(), clusters.claim(), rule]
    stated = rule | {"apiVersion": "resource.k8s.io/v1"}
    for release, all_ in (("1.37", True), ("1.38", selects_all)):
        assert ("taint-rule-selects-all" in found_in(stated, release)) == all_
        (answer,) = simulate(objects, [clusters.pod(claims={"gpu": "c"})], kubernetes=release)
        assert (answer["node"] is None) == all_


@each_row(
    ("published", "wanted", "fits"),
    ("memory", ["gpu.example.com/memory"], True),
    ("gpu.example.com/memory", ["memory"], True),
    ("memory", ["other.example.com/memory"], False),
    ("memory", ["gpu.example.com/memory", "memory"], False),
)
def test_capacity_without_a_domain_is_the_driver_s(published: str, wanted: list[str], *, fits: bool) -> None:
    given = clusters.devices("a", capacity={published: {"value": "10Gi"}}, allowMultipleAllocations=True)
    asking = clusters.claim(capacity={"requests": dict.fromkeys(wanted, "6Gi")})
    for release, found in (("1.37", False), ("1.38", fits)):
        (answer,) = simulate(
            [clusters.node("a"), clusters.device_class(), given, asking],
            [clusters.pod(claims={"gpu": "c"})],
            kubernetes=release,
        )
        assert (answer["node"] == "a") == found
    if len(wanted) > 1:
        assert "requested with and without the domain of the driver" in str(answer)


def test_names_in_the_driver_s_own_domain_are_noted() -> None:
    both = {"a": {"string": "x"}, "gpu.example.com/a": {"string": "y"}}
    published = resource_slice({"name": "gpu-0", "attributes": both})
    texts = {release: found_in(published, release) for release in ("1.37", "1.38")}
    assert "domain-of-driver" not in texts["1.37"]
    assert "the scheduler takes either" in texts["1.37"]
    assert "domain-of-driver" in texts["1.38"]
    assert "the scheduler takes this one" in texts["1.38"]
