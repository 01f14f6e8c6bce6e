"""Kubernetes 1.38, as its alphas show it."""

import json
from argparse import Namespace
from typing import Any

import pytest

from tests.command import draguard
from tests.rows import each_row
from tests.simulation.clusters import claim, device_class, devices, node, pod
from tests.structured import resource_slice
from webhook import simulate, validate
from webhook.api import gates
from webhook.api.versions import DEFAULT, NEWEST
from webhook.check.target import kubernetes
from webhook.release import Release


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


@pytest.mark.parametrize(("spec", "selects_all"), [({"deviceSelector": {}}, True), ({}, False)])
def test_a_taint_rule_without_a_selector_selects_nothing(spec: dict[str, Any], selects_all: bool) -> None:
    taint = {"key": "example.com/a", "effect": "NoSchedule"}
    rule = {"kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {"taint": taint, **spec}}
    objects = [node("a"), devices("a"), device_class(), claim(), rule]
    stated = rule | {"apiVersion": "resource.k8s.io/v1"}
    for release, all_ in (("1.37", True), ("1.38", selects_all)):
        assert ("taint-rule-selects-all" in found_in(stated, release)) == all_
        (answer,) = simulate(objects, [pod(claims={"gpu": "c"})], kubernetes=release)
        assert (answer["node"] is None) == all_


@each_row(
    ("published", "wanted", "fits"),
    [
        ("memory", ["gpu.example.com/memory"], True),
        ("gpu.example.com/memory", ["memory"], True),
        ("memory", ["other.example.com/memory"], False),
        ("memory", ["gpu.example.com/memory", "memory"], False),
    ],
)
def test_capacity_without_a_domain_is_the_driver_s(published: str, wanted: list[str], *, fits: bool) -> None:
    given = devices("a", capacity={published: {"value": "10Gi"}}, allowMultipleAllocations=True)
    asking = claim(capacity={"requests": dict.fromkeys(wanted, "6Gi")})
    for release, found in (("1.37", False), ("1.38", fits)):
        (answer,) = simulate([node("a"), device_class(), given, asking], [pod(claims={"gpu": "c"})], kubernetes=release)
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
