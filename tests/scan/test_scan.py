"""Clusters with faults and healthy ones: recorded ones, and their neighbours."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, draguard
from tests.rows import each_row
from tests.scan.clusters import (
    DRIVER,
    HEALTHY,
    LATE,
    Object,
    claim,
    daemon_set,
    deployment,
    device,
    device_class,
    made,
    node,
    plugin,
    pod,
    quota,
    request,
    rules,
    scanned,
    slices,
    taint_rule,
    template,
)
from webhook.scan import every_rule

RECORDED = list(map(json.loads, gzip.decompress(Path(__file__).with_name("cases.jsonl.gz").read_bytes()).splitlines()))


def _recorded() -> list[Any]:
    """Return the recorded clusters; the large ones are slow, and those whose faults others have, too."""
    seen: set[str] = set()
    found = []
    for each in RECORDED:
        known = {fault["class"] for fault in each["faults"]} <= seen and each["faults"]
        seen |= {fault["class"] for fault in each["faults"]}
        marks = [pytest.mark.slow] if known or each["base"] == "fleet" else []
        found.append(pytest.param(each, id=each["id"], marks=marks))
    return found


def _is_about(finding: dict[str, Any], objects: list[Object]) -> bool:
    return any(
        (each["kind"], each["namespace"]) == (finding["kind"], finding["namespace"])
        and each["name"] in {"", finding["name"]}
        for each in objects
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("case", _recorded())
def test_every_fault_is_found_and_nothing_else(case: dict[str, Any]) -> None:
    found = scanned(*case["objects"])
    left = [each for each in found if each["level"] != "note"]
    for fault in case["faults"]:
        known = found if fault.get("note") else [each for each in found if each["level"] != "note"]
        told = [
            each
            for each in known
            if _is_about(each, fault["about"])
            and re.search(fault["says"], f"{each['message']} {each['hint']}", re.IGNORECASE)
        ]
        assert told, fault["class"]
        left = [each for each in left if each not in told and not _is_about(each, fault.get("also") or [])]
    assert left == []


GPU = {"uuid": "GPU-1"}
PCI = {"resource.kubernetes.io/pciBusID": "0000:17:00.0"}
SHARED: Any = {"sharedCounters": [{"name": "gpu-0", "counters": {"memory": {"value": "80Gi"}}}]}
HALF: Any = {"consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": "80Gi"}}}]}
TAINT = {"key": "example.com/lost", "effect": "NoExecute", "timeAdded": "2026-10-19T09:00:00Z"}
TAINTED = slices(device(taints=[TAINT]))
STOPPED: Any = {"containerStatuses": [{"name": "plugin", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}
CHOOSY: Any = {"nodeSelector": {"gpu": "true"}}
GPUS: Any = {"labels": {"gpu": "true"}}
BY_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "gpu"}
OWNED = {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "old", "uid": "old-uid", "controller": True}]}
KEPT = {"finalizers": ["resource.kubernetes.io/delete-protection"]}
EMPTY = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].?model.orValue("") == "X"'
ABORTS = f'device.attributes["{DRIVER}"].model == "X"'
SICK = {
    "name": "main",
    "allocatedResourcesStatus": [{"name": "claim:gpu", "resources": [{"resourceID": "a", "health": "Unhealthy"}]}],
}
SHARE: Any = {"shareID": "57490d4c-9dce-4d24-bb17-ca7ff07a2c22"}


def _with_status(obj: Object, **status: Any) -> Object:
    return {**obj, "status": {**obj["status"], **status}}


FAULTS: dict[str, tuple[str, list[Object]]] = {
    "a serial number on two nodes": (
        "hardware-twice",
        [node(), node("n2"), *(slices(device("a", {"serial": "S1"}), on=each) for each in ("n1", "n2"))],
    ),
    "a PCI address of two drivers": (
        "hardware-twice",
        [node(), slices(device("a", PCI)), slices(device("b", {"pciAddr": "0000:17:00.0"}), driver="b.example.com")],
    ),
    "a part by the address of its parent": (
        "hardware-twice",
        [node(), slices(device("a", {"pciAddr": "0000:17:00.0"}), device("b", {"parentPciAddr": "0000:17:00.0"}))],
    ),
    "devices that name their nodes": (
        "hardware-twice",
        [node(), slices(device("a", PCI, nodeName="n1"), device("b", PCI, nodeName="n1"), perDeviceNodeSelection=True)],
    ),
    "a plugin under another prefix": (
        "plugin-and-driver",
        [node(allocatable={"example.com/gpu.shared": "4"}), slices(device())],
    ),
    "a driver whose image is missing": (
        "driver-not-running",
        [node(), node("n2"), slices(device()), daemon_set(), plugin(), plugin("n2", phase="Pending", **STOPPED)],
    ),
    "a driver that is evicted": (
        "driver-not-running",
        [node(), slices(device()), daemon_set(), plugin(phase="Failed", reason="Evicted")],
    ),
    "a driver that a variable names": (
        "driver-not-running",
        [
            node(),
            node("n2"),
            slices(device()),
            daemon_set(
                "/var/lib/kubelet/plugins",
                containers=[{"name": "a", "env": [{"name": "DRIVER_NAME", "value": DRIVER}]}],
            ),
            plugin(),
        ],
    ),
    "a driver that only its class names": (
        "node-without-slices",
        [
            node(**GPUS),
            device_class(),
            daemon_set("/var/lib/kubelet/plugins", "example-gpu", **CHOOSY),
            plugin(name="example-gpu"),
        ],
    ),
    "half of the nodes, chosen by their hardware": (
        "node-without-slices",
        [node(**GPUS), node("n2", **GPUS), slices(device()), daemon_set(**CHOOSY), plugin(), plugin("n2")],
    ),
    "fewer slices than there should be": (
        "pool-contradiction",
        [node(), slices(device(), pool={"resourceSliceCount": 3})],
    ),
    "an old generation": (
        "pool-contradiction",
        [node(), slices(device(), name="a"), slices(device(), name="b", pool={"generation": 7})],
    ),
    "a slice of a node that was renamed": ("node-not-found", [node("n2"), slices(device())]),
    "a device of an old generation": (
        "device-gone pool-contradiction",
        [
            *HEALTHY,
            slices(device("gpu-2"), name="new", pool={"generation": 2}),
            claim("gpu", "gpu-0", pods=("train",)),
            pod(),
        ],
    ),
    "a pool that is gone": ("device-gone", [*HEALTHY, claim("gpu", "gpu-0", pods=("train",), pool="n9"), pod()]),
    "a share beside a whole device": (
        "device-held-twice",
        [
            *HEALTHY,
            claim("a", "gpu-0", pods=("train",)),
            claim("b", "gpu-0", pods=("train",), **SHARE),
            pod(claims="ab"),
        ],
    ),
    "more counters than there are": (
        "counters-overconsumed",
        [
            node(),
            slices(device(**HALF), device("gpu-1", **HALF), pool={"resourceSliceCount": 2}),
            slices(name="counters", pool={"resourceSliceCount": 2}, **SHARED),
            claim("a", "gpu-0", pods=("train",)),
            claim("b", "gpu-1", pods=("train",)),
            pod(claims="ab"),
        ],
    ),
    "more capacity than there is": (
        "capacity-overconsumed",
        [
            node(),
            slices(device(allowMultipleAllocations=True, capacity={"memory": {"value": "1Gi"}})),
            claim("a", "gpu-0", pods=("train",), consumedCapacity={"memory": "2Gi"}, **SHARE),
            pod(claims="a"),
        ],
    ),
    "a pod of the same name": (
        "claim-zombie",
        [*HEALTHY, claim("gpu", "gpu-0", pods=("train",)), pod(claims=(), metadata={"uid": "another"})],
    ),
    "a group of pods that is gone": (
        "claim-zombie",
        [
            *HEALTHY,
            _with_status(
                claim("gpu", "gpu-0"),
                reservedFor=[{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "old", "uid": "a"}],
            ),
            made("PodGroup", "new", "default", "scheduling.k8s.io/v1beta1", spec={}),
            pod(claims=()),
        ],
    ),
    "a claim without devices, of a pod that is gone": (
        "claim-orphaned",
        [*HEALTHY, claim(metadata=OWNED), pod(claims=())],
    ),
    "a claim of extended resources without owner": (
        "claim-orphaned",
        [
            *HEALTHY,
            claim(metadata={"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}),
            pod(claims=()),
        ],
    ),
    "a claim of pods that failed": (
        "claim-after-completion",
        [*HEALTHY, claim("gpu", "gpu-0", pods=("a", "b")), *(pod(each, phase="Failed") for each in "ab")],
    ),
    "a claim whose deletion waits for an ended pod": (
        "claim-deletion-stuck",
        [
            *HEALTHY,
            claim("gpu", "gpu-0", pods=("train",), metadata={**KEPT, "deletionTimestamp": "2026-10-19T09:00:00Z"}),
            pod(phase="Succeeded"),
        ],
    ),
    "a taint that is tolerated for a while": (
        "taint-not-evicted",
        [
            node(),
            TAINTED,
            claim("gpu", "gpu-0", pods=("train",), tolerations=[{"operator": "Exists", "tolerationSeconds": 60}]),
            pod(),
        ],
    ),
    "a rule for a pool": (
        "taint-not-evicted",
        [*HEALTHY, taint_rule(pool="n1"), claim("gpu", "gpu-0", pods=("train",)), pod()],
    ),
    "a condition of another type": (
        "device-unhealthy",
        [
            *HEALTHY,
            _with_status(
                claim("gpu", "gpu-0", pods=("train",)),
                devices=[
                    {
                        "driver": DRIVER,
                        "pool": "n1",
                        "device": "gpu-0",
                        "conditions": [{"type": "Degraded", "status": "True", "reason": "Hot"}],
                    }
                ],
            ),
            pod(),
        ],
    ),
    "a pod that was made again under its name": (
        "claim-zombie",
        [*HEALTHY, claim("gpu", "gpu-0", pods=("train",)), pod(phase="Pending", on="", metadata={"uid": "another"})],
    ),
    "a device for a node that is gone": (
        "slice-without-node",
        [node(), slices(device(nodeName="n1"), device("gpu-1", nodeName="n2"), perDeviceNodeSelection=True)],
    ),
    "an attribute that says so": (
        "device-unhealthy",
        [node(), slices(device(attributes={"health": "Unhealthy"})), claim("gpu", "gpu-0", pods=("train",)), pod()],
    ),
    "an attribute that is false": (
        "device-unhealthy",
        [
            node(),
            slices(device(attributes={"healthy": {"bool": False}})),
            claim("gpu", "gpu-0", pods=("train",)),
            pod(),
        ],
    ),
    "a class whose alternatives are all empty": (
        "class-matches-nothing",
        [
            *HEALTHY,
            device_class("x", EMPTY),
            claim(requests=[{"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "x"}]}]),
        ],
    ),
    "an extended resource of a pod": (
        "class-matches-nothing",
        [
            *HEALTHY,
            device_class("x", EMPTY, extendedResourceName="example.com/x"),
            pod(claims=(), phase="Pending", on="", container={"resources": {"requests": {"example.com/x": "1"}}}),
        ],
    ),
    "a class that aborts for a claim": (
        "class-selector-fails",
        [*HEALTHY, device_class("x", ABORTS), claim(requests=[request("x")])],
    ),
    "two classes for a resource": (
        "extended-resource-ambiguous",
        [*HEALTHY, *(device_class(each, extendedResourceName="example.com/gpu") for each in ("a", "b"))],
    ),
    "a quota of a class that is not there": (
        "class-not-found",
        [
            *HEALTHY,
            made("ResourceQuota", "q", "default", spec={"hard": {"gpus.deviceclass.resource.k8s.io/devices": "1"}}),
        ],
    ),
    "a quota below a claim of a workload": (
        "quota-blocks",
        [*HEALTHY, quota(devices=1), template("gpu", request(count=2)), deployment(BY_TEMPLATE)],
    ),
    "a template of a CronJob": (
        "reference-missing",
        [
            *HEALTHY,
            made(
                "CronJob",
                "nightly",
                "default",
                "batch/v1",
                spec={"jobTemplate": {"spec": {"template": {"spec": {"resourceClaims": [BY_TEMPLATE]}}}}},
            ),
        ],
    ),
    "a claim that was deleted": (
        "reference-missing",
        [
            *HEALTHY,
            template(),
            pod(claims=(BY_TEMPLATE,), resourceClaimStatuses=[{"name": "gpu", "resourceClaimName": "train-gpu-x"}]),
            claim("another"),
        ],
    ),
    "a class of a claim that waits": ("class-not-found", [*HEALTHY, claim(requests=[request("gpus.example.com")])]),
    "a pod with the claim of another, unallocated": (
        "pod-bypassed-scheduler",
        [*HEALTHY, claim(), pod(phase="Pending")],
    ),
}
"""Clusters with a fault, and the rules that find it."""

LOOK_ALIKES: dict[str, list[Object]] = {
    "partitions of a device that is not published": [
        node(),
        slices(*(device(each, {"parentUUID": "GPU-1", **PCI}) for each in ("a", "b"))),
    ],
    "a device and its partition with counters": [
        node(),
        slices(device("a", GPU, **HALF), device("b", {"parentUUID": "GPU-1"}, **HALF), pool={"resourceSliceCount": 2}),
        slices(name="counters", pool={"resourceSliceCount": 2}, **SHARED),
    ],
    "the same address on two nodes": [
        node(),
        node("n2"),
        *(slices(device("a", PCI), on=each) for each in ("n1", "n2")),
    ],
    "a number of a model": [node(), slices(*(device(each, {"deviceID": "0x56c0"}) for each in ("a", "b")))],
    "a plugin for other hardware of the vendor": [
        node(allocatable={"example.com/nic": "4", "example.com/gpu": "0"}),
        slices(device()),
    ],
    "a plugin beside a driver of domains": [
        node(allocatable={"example.com/gpu": "4"}),
        slices(device("channel-0"), driver="compute-domain.example.com"),
    ],
    "a driver everywhere whose hardware is not": [
        *(node(each) for each in ("n1", "n2", "n3")),
        slices(device()),
        daemon_set(),
        *(plugin(each) for each in ("n1", "n2", "n3")),
    ],
    "a plugin of storage": [
        node(),
        slices(device()),
        daemon_set("/var/lib/kubelet/plugins/csi-nfsplugin", "csi"),
        plugin(name="csi"),
    ],
    "a driver on a node that is down": [
        node(),
        node("n2", ready=False),
        slices(device()),
        daemon_set(),
        plugin(),
        plugin("n2", conditions=[{"type": "Ready", "status": "False"}]),
    ],
    "a driver that tolerates no taint": [
        node(),
        node("n2", taints=[{"key": "dedicated", "effect": "NoSchedule"}]),
        node("n3", unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
        *(slices(device(), on=each) for each in ("n1", "n3")),
        daemon_set(),
        *(plugin(each) for each in ("n1", "n3")),
    ],
    "a driver that starts": [
        node(),
        node("n2"),
        slices(device()),
        daemon_set(),
        plugin(),
        {**plugin("n2"), "metadata": {**plugin("n2")["metadata"], "deletionTimestamp": LATE}},
    ],
    "a driver on a new node": [
        node(),
        {**node("n2"), "metadata": {"name": "n2", "creationTimestamp": LATE}},
        slices(device()),
        daemon_set(**CHOOSY),
        plugin(),
    ],
    "a driver that has just been started": [
        node(),
        node("n2"),
        slices(device()),
        daemon_set(),
        plugin(),
        {**plugin("n2", phase="Pending"), "metadata": {**plugin("n2")["metadata"], "creationTimestamp": LATE}},
    ],
    "a driver whose first pod was evicted": [
        node(),
        slices(device()),
        daemon_set(),
        plugin(),
        {**plugin(phase="Failed"), "metadata": {**plugin()["metadata"], "name": "old", "uid": "old"}},
    ],
    "a driver of every amd64 node": [
        *(node(each, labels={"kubernetes.io/arch": "amd64"}) for each in ("n1", "n2", "n3")),
        slices(device()),
        daemon_set(nodeSelector={"kubernetes.io/arch": "amd64"}),
        *(plugin(each) for each in ("n1", "n2", "n3")),
    ],
    "a resource to look at hardware": [node(allocatable={"gpu.example.com/card_monitoring": "1"}), slices(device())],
    "a condition that the scheduler waits for": [
        *HEALTHY,
        _with_status(
            claim("gpu", "gpu-0", pods=("train",), bindingConditions=["attached"], bindingFailureConditions=["failed"]),
            devices=[
                {
                    "driver": DRIVER,
                    "pool": "n1",
                    "device": "gpu-0",
                    "conditions": [{"type": "attached", "status": "False"}],
                }
            ],
        ),
        pod(phase="Pending", on=""),
    ],
    "conditions that are no trouble": [
        *HEALTHY,
        _with_status(
            claim("gpu", "gpu-0", pods=("train",)),
            devices=[
                {
                    "driver": DRIVER,
                    "pool": "n1",
                    "device": "gpu-0",
                    "conditions": [{"type": "Degraded", "status": "False"}, {"type": "Shared", "status": "False"}],
                }
            ],
        ),
        pod(),
    ],
    "devices for all nodes": [node(), slices(device(), allNodes=True), daemon_set(), plugin()],
    "a claim whose pool lacks a slice": [
        node(),
        slices(device(), pool={"resourceSliceCount": 2}),
        slices(name="other", pool={"resourceSliceCount": 2}, **SHARED),
        claim("gpu", "gpu-0", pods=("train",)),
        pod(),
    ],
    "a claim that nobody needs yet": [*HEALTHY, claim(), pod(claims=())],
    "a claim that waits for its pod": [*HEALTHY, claim("gpu", "gpu-0"), pod(phase="Pending", on="")],
    "a claim of pods of which one has ended": [
        *HEALTHY,
        claim("gpu", "gpu-0", pods=("a", "b")),
        pod("a", phase="Succeeded"),
        pod("b"),
    ],
    "a claim of a group": [
        *HEALTHY,
        _with_status(
            claim("gpu", "gpu-0"),
            reservedFor=[{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "new", "uid": "a"}],
        ),
        made("PodGroup", "new", "default", "scheduling.k8s.io/v1beta1", spec={}),
        pod(claims=()),
    ],
    "a claim of something else": [
        *HEALTHY,
        _with_status(
            claim("gpu", "gpu-0"),
            reservedFor=[{"apiGroup": "example.com", "resource": "jobs", "name": "a", "uid": "a"}],
        ),
        pod(claims=()),
    ],
    "claims without the pods of the cluster": [*HEALTHY, claim("gpu", "gpu-0", pods=("train",))],
    "a deletion that has just begun": [
        *HEALTHY,
        claim("gpu", "gpu-0", pods=("train",), metadata={**KEPT, "deletionTimestamp": LATE}),
        pod(phase="Succeeded"),
    ],
    "a deletion that waits for a pod": [
        *HEALTHY,
        claim("gpu", "gpu-0", pods=("train",), metadata={**KEPT, "deletionTimestamp": "2026-10-01T09:00:00Z"}),
        pod(),
    ],
    "admin access beside a user": [
        *HEALTHY,
        claim("a", "gpu-0", pods=("train",)),
        claim("b", "gpu-0", pods=("train",), adminAccess=True),
        pod(claims="ab"),
    ],
    "shares of a device": [
        node(),
        slices(device(allowMultipleAllocations=True, capacity={"memory": {"value": "2Gi"}})),
        *(claim(each, "gpu-0", pods=("train",), consumedCapacity={"memory": "1Gi"}, **SHARE) for each in "ab"),
        pod(claims="ab"),
    ],
    "a taint that is tolerated": [
        node(),
        TAINTED,
        claim("gpu", "gpu-0", pods=("train",), tolerations=[{"key": "example.com/lost", "operator": "Exists"}]),
        pod(),
    ],
    "a taint that is tolerated for a week": [
        node(),
        TAINTED,
        claim("gpu", "gpu-0", pods=("train",), tolerations=[{"operator": "Exists", "tolerationSeconds": 604800}]),
        pod(),
    ],
    "a taint that has just been added": [
        node(),
        slices(device(taints=[{**TAINT, "timeAdded": LATE}])),
        claim("gpu", "gpu-0", pods=("train",)),
        pod(),
    ],
    "a pod that is being evicted": [
        node(),
        TAINTED,
        claim("gpu", "gpu-0", pods=("train",)),
        pod(metadata={"deletionTimestamp": LATE}),
    ],
    "a rule that only keeps new pods away": [
        *HEALTHY,
        taint_rule(effect="NoSchedule", pool="n1"),
        claim("gpu", "gpu-0", pods=("train",)),
        pod(),
    ],
    "an unhealthy device that nobody uses": [node(), slices(device(attributes={"health": "Unhealthy"}))],
    "an unhealthy device of a pod that has ended": [*HEALTHY, pod(claims=(), phase="Failed", containerStatuses=[SICK])],
    "a class that nothing uses": [*HEALTHY, device_class("x", EMPTY), device_class("y", ABORTS)],
    "a class among alternatives": [
        *HEALTHY,
        device_class("x", EMPTY),
        claim(
            requests=[
                {
                    "name": "gpu",
                    "firstAvailable": [
                        {"name": str(n), "deviceClassName": each} for n, each in enumerate(("x", DRIVER))
                    ],
                }
            ]
        ),
    ],
    "the configuration of a class without devices": [
        *HEALTHY,
        device_class("x", EMPTY, config=[{"opaque": {"driver": "x.example.com", "parameters": {"kind": "A"}}}]),
    ],
    "a quota that is full": [
        *HEALTHY,
        quota(devices=2, claims=1),
        template("gpu", request(count=2)),
        deployment(BY_TEMPLATE),
    ],
    "a quota where nothing asks": [*HEALTHY, quota(claims=0), template()],
    "a workload without replicas": [*HEALTHY, deployment(BY_TEMPLATE, replicas=0)],
    "a Job that is complete": [
        *HEALTHY,
        made(
            "Job",
            "once",
            "default",
            "batch/v1",
            spec={"template": {"spec": {"resourceClaims": [BY_TEMPLATE]}}},
            status={"conditions": [{"type": "Complete", "status": "True"}]},
        ),
    ],
    "a claim whose class is gone, with its devices": [
        node(),
        slices(device()),
        device_class("other"),
        claim("gpu", "gpu-0", pods=("train",)),
        pod(),
    ],
    "a pod without need of a claim": [
        *HEALTHY,
        template(),
        pod(claims=(BY_TEMPLATE,), phase="Pending", on="", resourceClaimStatuses=[{"name": "gpu"}]),
    ],
}
"""Clusters that look as if they had a fault, and have none."""


@each_row("name", FAULTS)
def test_the_neighbours_of_faults_are_found(name: str) -> None:
    expected, objects = FAULTS[name]
    assert rules(*objects) == {*expected.split()}


@each_row("name", LOOK_ALIKES)
def test_what_only_looks_like_a_fault_is_none(name: str) -> None:
    assert rules(*LOOK_ALIKES[name]) <= _EXPECTED.get(name, set())


_EXPECTED = {
    # The pool itself is incomplete, or contradicts itself.
    "a claim whose pool lacks a slice": {"pool-contradiction"},
}


def test_a_driver_that_is_silent_explains_what_is_gone() -> None:
    held = claim("gpu", "gpu-0", pods=("train",), pool="n2")
    objects = [node(), node("n2"), slices(device()), device_class(), daemon_set(), plugin(), held, pod(on="n2")]
    assert rules(*objects) == {"driver-not-running"}
    assert rules(*objects, plugin("n2")) == {"node-without-slices"}


def test_a_driver_that_crashes_is_found_at_once() -> None:
    waiting = {"name": "plugin", "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    crashed = plugin("n2", containerStatuses=[waiting])
    fresh = node("n2")
    for each in (crashed, fresh):
        each["metadata"]["creationTimestamp"] = LATE
    held = claim("gpu", "gpu-0", pods=("train",), pool="n2")
    objects = [node(), fresh, slices(device()), device_class(), daemon_set(), plugin(), held, pod(on="n2")]
    # What is gone follows from the crash.
    assert rules(*objects, crashed) == {"driver-not-running"}
    crashed["status"]["containerStatuses"][0]["restartCount"] = 0
    assert "driver-not-running" not in rules(*objects, crashed)


def test_a_cluster_without_what_is_judged_is_an_error() -> None:
    service = made("Service", "web", "default")
    for objects in ([], [service], [node(), made("Namespace", "default")]):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        done = draguard("scan", "--cluster", "-", stdin=text.encode())
        assert (done.code, done.out) == (2, "")
        assert "no ResourceSlices, ResourceClaims or pods found" in done.err


def test_kinds_that_were_not_collected_are_warned_of_and_not_missing() -> None:
    made_for = [{"name": "gpu", "resourceClaimName": "train-gpu-x"}]
    objects = [
        *HEALTHY,
        template(),
        pod(),
        pod("other", claims=(BY_TEMPLATE,), resourceClaimStatuses=made_for),
        deployment({"name": "gpu", "resourceClaimName": "gpu"}),
    ]
    assert rules(*objects) == set()
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    assert "--cluster has no ResourceClaims: " in draguard("scan", "--cluster", "-", stdin=text.encode()).err
    # A claim that waiting pods name may be the first one.
    assert rules(*HEALTHY, pod(phase="Pending", on="")) == {"reference-missing"}


def test_an_unhealthy_device_is_named() -> None:
    told = {"resourceID": "k8s.gpu.example.com/claim=e463-gpu-1", "health": "Unhealthy", "message": "XID 79"}
    sick = {"name": "main", "allocatedResourcesStatus": [{"name": "claim:gpu", "resources": [told]}]}
    held = claim("gpu", "gpu-0", "gpu-1", pods=("train",))
    (found,) = scanned(*HEALTHY, held, pod(containerStatuses=[sick]))
    assert (found["rule"], found["name"]) == ("device-unhealthy", "train")
    assert "gpu.example.com/n1/gpu-1: XID 79" in found["message"]


def test_what_is_written_in_an_old_version_is_noted_once_for_a_driver() -> None:
    written = {"managedFields": [{"manager": "plugin", "apiVersion": "resource.k8s.io/v1beta1", "operation": "Update"}]}
    old = [slices(device(), on=each) for each in ("n1", "n2")]
    for each in old:
        each["metadata"] |= written
    found = [each for each in scanned(node(), node("n2"), *old) if each["rule"] == "version-going"]
    assert [each["level"] for each in found] == ["note"]
    assert "v1beta1 by plugin, as are 1 others" in found[0]["message"]


def test_a_claim_that_is_nearly_full_is_noted_and_a_full_one_warned_of() -> None:
    pods = [pod(f"p{number}") for number in range(256)]
    names = tuple(each["metadata"]["name"] for each in pods)
    nearly = scanned(*HEALTHY, *pods, claim("gpu", "gpu-0", pods=names[:250]))
    assert [(each["rule"], each["level"]) for each in nearly] == [("reserved-near-limit", "note")]
    assert rules(*HEALTHY, *pods, claim("gpu", "gpu-0", pods=names)) == {"reserved-near-limit"}


def test_what_the_api_server_would_refuse_is_an_error() -> None:
    broken = claim("gpu", requests=[request(count=-1)])
    (found,) = [each for each in scanned(*HEALTHY, broken) if each["level"] == "error"]
    assert (found["field"], found["kubernetes"]) == ("spec.devices.requests[0].exactly.count", "1.36")
    unusable = slices(device(capacity={"memory": {"value": "a lot"}}))
    assert [each["level"] for each in scanned(node(), unusable)] == ["error"]


def test_the_release_is_that_of_the_nodes_unless_it_is_stated() -> None:
    objects = [
        node(version="v1.34.2"),
        node("n2", version="v1.35.1-gke.7+k3s1"),
        slices(device()),
        claim(requests=[request(count=-1)]),
    ]
    found = scanned(*objects)
    assert {each["kubernetes"] for each in found if each["level"] == "error"} == {"1.35"}
    found = scanned(*objects, options=("--kubernetes-version", "1.36"))
    assert {each["kubernetes"] for each in found if each["level"] == "error"} == {"1.36"}
    assert scanned(node(version="v1.99.0"), slices(device()), device_class()) == []
    assert scanned(node(version="unknown"), slices(device()), device_class()) == []


def test_lines_are_told_of_small_files(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text((ROOT / "examples/scan/cluster.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    done = draguard("scan", "--cluster", file, "--output", "concise", "--quiet")
    line = next(each for each in done.out.splitlines() if "claim-zombie" in each)
    number = int(line.split(":")[1])
    assert file.read_text(encoding="utf-8").splitlines()[number - 1].strip().startswith("reservedFor")


def test_exit_codes_and_levels_are_those_of_validate(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    objects = [*HEALTHY, claim("gpu", "gpu-0", pods=("gone",)), pod(claims=())]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")

    def code(*options: str) -> int:
        return draguard("scan", "--cluster", file, *options).code

    assert code() == 0
    assert code("--strict") == 1
    assert code("--strict", "--exit-zero") == 0
    assert code("--level", "claim-zombie=error") == 1
    assert code("--level", "claim-zombie=error", "--ignore", "claim-zombie") == 0
    assert code("--select", "claims-zombie") == 2
    assert code("--kubernetes-version", "1.29") == 2
    assert draguard("scan").code == 2
    assert draguard("scan", "--cluster", tmp_path / "none.yaml").code == 2
    (tmp_path / "broken.yaml").write_text("kind: Pod\nmetadata: {}\n---\na: [", encoding="utf-8")
    assert draguard("scan", "--cluster", tmp_path / "broken.yaml").code == 1


def test_a_rule_that_fails_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.scan.stored.Cluster.incomplete", property(lambda _: 1 / 0))
    found = scanned(*HEALTHY, claim("gpu", "gpu-9", pods=("train",)), claim("b", "gpu-1", pods=("gone",)), pod())
    assert {each["rule"] for each in found} == {"internal-error", "claim-zombie"}


def test_texts_of_strangers_are_escaped() -> None:
    evil = claim("gpu", "gpu-0\x1b]0;owned\x07", pods=("a\x1b[2Jb",))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*HEALTHY, evil, pod(claims=())]})
    done = draguard("scan", "--cluster", "-", stdin=text.encode())
    assert "claim-zombie" in done.out
    assert not {"\x1b", "\x07"} & {*done.out}


def test_reports_for_the_cluster_are_those_of_openreports() -> None:
    objects = [
        node(),
        node("n2"),
        *(slices(device("a", GPU), on=each) for each in ("n1", "n2")),
        claim("gpu", "a", pods=("gone",)),
        pod(claims=()),
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    done = draguard("scan", "--cluster", "-", "--output", "openreports", stdin=text.encode())
    listed = json.loads(done.out)
    whole, own = listed["items"]
    assert (whole["kind"], own["kind"], own["metadata"]["namespace"]) == ("ClusterReport", "Report", "default")
    assert {each["apiVersion"] for each in listed["items"]} == {"openreports.io/v1alpha1"}
    assert own["summary"] == {"pass": 0, "fail": 0, "warn": 1, "error": 0, "skip": 0}
    (result,) = own["results"]
    assert (result["policy"], result["result"], result["severity"]) == ("claim-zombie", "warn", "medium")
    assert result["resources"][0]["name"] == "gpu"
    again = json.loads(draguard("scan", "--cluster", "-", "--output", "openreports", stdin=text.encode()).out)
    assert again == listed
    assert len({each["properties"]["resultID"] for every in listed["items"] for each in every["results"]}) == 2


def test_a_healthy_cluster_has_an_empty_report() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": HEALTHY})
    done = draguard("scan", "--cluster", "-", "--output", "openreports", stdin=text.encode())
    assert [each["summary"]["warn"] for each in json.loads(done.out)["items"]] == [0]
    assert draguard("scan", "--cluster", "-", stdin=text.encode()).out.startswith("3 documents in 1 file: no problems")


def test_the_page_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/scan.md").read_text(encoding="utf-8")
    command = re.search(r"^\$ draguard (scan .*)$", page, re.MULTILINE)
    assert command
    assert f"{command[0]}\n{draguard(*command[1].split()).out}" in page
    listed = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", page.partition("| about |")[2].partition("\n\n")[0]))
    assert every_rule().keys() <= listed


def test_what_is_wrong_with_a_slice_is_mended_in_its_driver() -> None:
    (found,) = [
        each for each in scanned(node(), slices(device("GPU_0")), device_class()) if each["kind"] == "ResourceSlice"
    ]
    assert f"driver {DRIVER} writes the slice" in found["hint"]


ZOMBIE = claim("z", "a", pods=("gone",))


def test_findings_are_at_the_file_of_their_object(tmp_path: Path) -> None:
    for each in (daemon_set(), node(), device_class(), slices(device("a")), pod(claims=()), ZOMBIE):
        (tmp_path / f"{each['kind'].lower()}.json").write_text(json.dumps(each), encoding="utf-8")
    done = draguard("scan", "--cluster", tmp_path)
    assert f"\n{tmp_path}/resourceclaim.json: warning claim-zombie" in f"\n{done.out}"
    assert "daemonset.json: warning claim-zombie" not in done.out


def test_clusters_that_hold_nothing_are_errors(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("\n", encoding="utf-8")
    none = "holds no manifest\nhelp: did the command that writes it fail?"
    for path in (tmp_path / "empty.yaml", "-"):
        done = draguard("validate", "--cluster", path, "examples/v1")
        assert (done.code, none in done.out) == (1, True)
    (tmp_path / "list.yaml").write_text("{apiVersion: v1, kind: List, items: []}", encoding="utf-8")
    assert draguard("validate", "--cluster", tmp_path / "list.yaml", "examples/v1").code == 0
    done = draguard("scan", "--cluster", tmp_path / "gone.yaml")
    assert ("no such file or directory" in done.out, "warning" in done.err) == (True, False)
