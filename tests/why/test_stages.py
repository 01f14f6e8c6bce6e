"""Small clusters, stage by stage, with causes that no recorded cluster has: the first line says what to change."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.simulation.clusters import DRIVER, allocated, claim, device_class, devices, node, pod, selector, template
from webhook.inventory import Inventory
from webhook.inventory.objects import ASKED
from webhook.objects import JSONObject
from webhook.why import Scene, drivers, explain

READY = {"type": "Ready", "status": "True"}
Case = tuple[str, str, list[JSONObject], str, tuple[str, str]]
"""What is asked, the stage, the objects, a pattern of the first line, and an object that the answer names."""


def known(obj: JSONObject, **metadata: Any) -> JSONObject:
    """Return an object with a UID, as a cluster has it."""
    uid = f"UID:{obj['metadata']['name']}"
    return {**obj, "metadata": {"namespace": "default", "uid": uid, **obj["metadata"], **metadata}}


def pending(message: str = "", **fields: Any) -> JSONObject:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    made = known(pod(**fields))
    return {**made, "status": {"phase": "Pending", "conditions": [condition] if message else []}}


def bound(
    phase: str = "Pending",
    state: JSONObject | None = None,
    *,
    status: JSONObject | None = None,
    metadata: JSONObject | None = None,
    **fields: Any,
) -> JSONObject:
    """Return a pod on node a, with a container in a state."""
    made = known(pod(**{"claims": {"x": "c"}, "nodeName": "a", **fields}), **(metadata or {}))
    default = {"waiting": {"reason": "ContainerCreating"}}
    container = {"name": "c", "image": "i", "ready": False, "state": state or default, "restartCount": 0}
    return {**made, "status": {"phase": phase, "containerStatuses": [container], **(status or {})}}


def running(**status: Any) -> JSONObject:
    container = {"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}, **status}
    return {**bound("Running"), "status": {"phase": "Running", "conditions": [READY], "containerStatuses": [container]}}


def event(
    obj: JSONObject, reason: str, message: str, kind: str = "Warning", time: str = "2026-01-01T00:00:01Z"
) -> JSONObject:
    metadata = obj["metadata"]
    about = {"kind": obj["kind"], "namespace": "default", "name": metadata["name"], "uid": metadata.get("uid")}
    name = {"name": f"{metadata['name']}.{reason}.{time}", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": name,
        "involvedObject": about,
        "type": kind,
        "reason": reason,
        "message": message,
        "lastTimestamp": time,
        "count": 3,
    }


def workload(
    kind: str, name: str = "w", status: JSONObject | None = None, owner: JSONObject | None = None, **spec: Any
) -> JSONObject:
    group = "batch/v1" if kind in {"Job", "CronJob"} else "apps/v1"
    template_ = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    made = known({"apiVersion": group, "kind": kind, "metadata": {"name": name}})
    return {**owned(made, owner), "spec": {"template": template_, **spec}, "status": status or {}}


def owned(obj: JSONObject, owner: JSONObject | None) -> JSONObject:
    if owner is None:
        return obj
    reference = {
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [reference]}}


def plugin(name: str = "dra-example-driver", **spec: Any) -> JSONObject:
    """Return the DaemonSet of a driver."""
    volumes = [{"name": "r", "hostPath": {"path": "/var/lib/kubelet/plugins_registry"}}]
    containers = [{"name": "plugin", "image": f"registry.example.com/{name}:1"}]
    return {
        **workload("DaemonSet", name),
        "spec": {"template": {"spec": {"volumes": volumes, "containers": containers, **spec}}},
    }


def with_condition(obj: JSONObject, type_: str, status: str, message: str = "") -> JSONObject:
    condition = {"type": type_, "status": status, "message": message}
    return {**obj, "status": {**obj.get("status", {}), "conditions": [condition]}}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HELD = allocated("c", "a", "d0", "p")
AROUND = [node("a"), device_class(), devices("a")]
SCHEDULER = "0/1 nodes are available: 1 {}. preemption: 0/1 nodes are available: 1 No preemption victims found."
SHARED = [
    {
        "kind": "ResourceSlice",
        "metadata": {"name": "counters"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 2},
            "nodeName": "a",
            "sharedCounters": [{"name": "set", "counters": {"slices": {"value": "1"}}}],
        },
    },
]


def partitions() -> JSONObject:
    made = devices("a", 2, consumesCounters=[{"counterSet": "set", "counters": {"slices": {"value": "1"}}}])
    made["spec"]["pool"]["resourceSliceCount"] = 2
    return made


def quota(**hard: str) -> JSONObject:
    status = {"hard": hard, "used": dict(hard)}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"hard": hard},
        "status": status,
    }


DEPLOYMENT = workload("Deployment", replicas=1)
REPLICAS = workload("ReplicaSet", "w-1", owner=DEPLOYMENT, replicas=1)
JOB = workload("Job", backoffLimit=2)
SET = workload("StatefulSet", replicas=2)


def refused(message: str) -> list[JSONObject]:
    return [
        DEPLOYMENT,
        REPLICAS,
        event(REPLICAS, "FailedCreate", f'Error creating: pods "w-1-abc" is forbidden: {message}'),
    ]


def kubelet(reason: str, message: str, state: JSONObject | None = None) -> list[JSONObject]:
    made = bound(state=state)
    return [*AROUND, HELD, made, event(made, reason, message)]


GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}

NO_POD: list[Case] = [
    (
        "deployment/w",
        "no-pod",
        refused('error looking up service account default/robot: serviceaccount "robot" not found'),
        "no pod.*robot",
        ("ServiceAccount", "robot"),
    ),
    (
        "deployment/w",
        "no-pod",
        refused("no PriorityClass with name urgent was found"),
        "no pod.*PriorityClass.*urgent",
        ("PriorityClass", "urgent"),
    ),
    (
        "deployment/w",
        "no-pod",
        refused("maximum cpu usage per Container is 2, but limit is 4"),
        "no pod.*maximum cpu.*limit is 4",
        ("Deployment", "w"),
    ),
    (
        "deployment/w",
        "no-pod",
        refused('violates PodSecurity "restricted:latest": privileged'),
        "no pod.*PodSecurity.*privileged",
        ("PodSecurity", "restricted:latest"),
    ),
    (
        "deployment/w",
        "no-pod",
        [
            workload("Deployment", replicas=1),
            workload("ReplicaSet", "w-1", owner=DEPLOYMENT),
            event(
                REPLICAS, "FailedCreate", 'Error creating: admission webhook "guard.example.com" denied the request: no'
            ),
        ],
        "no pod.*webhook.*guard.example.com.*denied",
        ("Webhook", "guard.example.com"),
    ),
    (
        "replicaset/w-1",
        "no-pod",
        [*refused("x"), quota(**{"count/pods": "0"})],
        "ResourceQuota default/few does not allow",
        ("ResourceQuota", "few"),
    ),
    ("deployment/w", "no-pod", [workload("Deployment", replicas=0)], "replicas is 0", ("Deployment", "w")),
    ("job/w", "no-pod", [workload("Job", suspend=True)], "is suspended", ("Job", "w")),
    (
        "daemonset/dra-example-driver",
        "no-pod",
        [*AROUND, plugin(nodeSelector={"gpu": "yes"})],
        "selects no node: .*gpu=yes",
        ("DaemonSet", "dra-example-driver"),
    ),
    ("deployment/w", "no-pod", [DEPLOYMENT], "has no pod.*kube-controller-manager", ("Deployment", "w")),
    (
        "daemonset/dra-example-driver",
        "no-pod",
        [
            node("a", {"taints": [{"key": "team", "effect": "NoSchedule"}]}),
            {**plugin(), "status": {"desiredNumberScheduled": 0}},
        ],
        "has no pod: DaemonSet default/dra-example-driver does not tolerate the taint team:NoSchedule of node a",
        ("Taint", "team"),
    ),
    (
        "deployment/w",
        "no-pod",
        [
            *refused("exceeded quota: few"),
            quota(**{"count/pods": "0"}),
            owned({**running(), "metadata": {"name": "w-1-a", "uid": "a", "namespace": "default"}}, REPLICAS),
            {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 2}},
            *[node("a"), device_class(), devices("a"), allocated("c", "a", "d0", "p")],
        ],
        "it has only 1 of its pods, and no more was created: ResourceQuota default/few does not allow it",
        ("ResourceQuota", "few"),
    ),
    ("cronjob/w", "no-pod", [workload("CronJob", suspend=True)], "is suspended", ("CronJob", "w")),
    (
        "cronjob/w",
        "ended",
        [
            workload("CronJob"),
            workload("Job", "w-1", {"conditions": [{"type": "Complete", "status": "True"}]}, owner=workload("CronJob")),
        ],
        "has succeeded",
        ("Job", "w-1"),
    ),
]

PENDING: list[Case] = [
    (
        "p",
        "claim-not-created",
        [
            *AROUND,
            template("t-1"),
            (late := pending(claims={"x": "t-1"})),
            event(
                late,
                "FailedResourceClaimCreation",
                'PodResourceClaim x: create ResourceClaim : admission webhook "guard" denied the request: no',
            ),
        ],
        "claim x not created: .*denied the request",
        ("ResourceClaimTemplate", "t-1"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            pending(
                SCHEDULER.format("node(s) didn't match pod affinity rules"),
                affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}},
            ),
        ],
        "its required pod affinity .zone. finds no pod to be with: .*didn't match pod affinity rules",
        ("Pod", "p"),
    ),
    (
        "p",
        "pending",
        [*AROUND, pending(SCHEDULER.format("node(s) didn't match pod topology spread constraints"))],
        "topology spread constraints",
        ("Pod", "p"),
    ),
    (
        "p",
        "pending",
        [*AROUND, pending(schedulerName="volcano")],
        "scheduler volcano .*has said nothing",
        ("Scheduler", "volcano"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            pending("x", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]),
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "other"}},
        ],
        "PersistentVolumeClaim default/data, its volume data, does not exist",
        ("PersistentVolumeClaim", "data"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            pending("x", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]),
            (
                volume := known(
                    {
                        "apiVersion": "v1",
                        "kind": "PersistentVolumeClaim",
                        "metadata": {"name": "data"},
                        "status": {"phase": "Pending"},
                    }
                )
            ),
            event(volume, "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found'),
        ],
        'is not bound: storageclass.storage.k8s.io "fast" not found',
        ("PersistentVolumeClaim", "data"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            known(pod("other", ports=1)),
            pending(containers=[{"name": "c", "ports": [{"hostPort": 80}]}]),
            known(pod("web", nodeName="a", containers=[{"name": "c", "ports": [{"hostPort": 80}]}])),
        ],
        "no free host port 80",
        ("Node", "a"),
    ),
    (
        "p",
        "pending",
        [node("a", None, None, **{"ephemeral-storage": "1Gi"}), pending(requests={"ephemeral-storage": "2Gi"})],
        "too little ephemeral-storage: 1Gi of 1Gi free, the pod wants 2Gi",
        ("Node", "a"),
    ),
    ("p", "pending", [node("a", pods="0"), pending()], "too many pods", ("Node", "a")),
    (
        "p",
        "pending",
        [node("a", {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]}), pending()],
        "has disk pressure",
        ("Taint", "node.kubernetes.io/disk-pressure"),
    ),
    (
        "p",
        "pending",
        [*AROUND, claim(selectors=[selector("device.attributes['x'].y.z")]), pending(claims={"x": "c"})],
        "an error ends the search .*CEL compile error",
        ("ResourceClaim", "c"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            device_class("none", selectors=[selector("false")]),
            claim(deviceClassName="none"),
            pending(claims={"x": "c"}),
        ],
        "no node has a device of class none.*never true",
        ("DeviceClass", "none"),
    ),
    (
        "p",
        "pending",
        [
            node("a"),
            device_class(),
            partitions(),
            *SHARED,
            allocated("other", "a", "d0", "q"),
            claim(selectors=[selector('device.attributes["gpu.example.com"].?x.orValue("") == ""')]),
            pending(claims={"x": "c"}),
        ],
        "counters left.*claim default/other .*holds d0",
        ("CounterSet", "set"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            allocated("other", "a", "d0", "q"),
            {
                **claim(),
                "spec": {
                    "devices": {
                        "requests": [
                            {
                                "name": "r",
                                "firstAvailable": [
                                    {"name": "big", "deviceClassName": "gpu", "count": 2},
                                    {"name": "small", "deviceClassName": "gpu"},
                                ],
                            }
                        ]
                    }
                },
            },
            pending(claims={"x": "c"}),
        ],
        "none of the alternatives .*big: .*small: .*held",
        ("ResourceClaim", "other"),
    ),
    (
        "p",
        "pending",
        [
            node("a"),
            device_class(),
            devices("a", 2),
            allocated("other", "a", "d0", "q"),
            claim(allocationMode="All", count=None),
            pending(claims={"x": "c"}),
        ],
        "all|held",
        ("ResourceClaim", "other"),
    ),
    (
        "p",
        "pending",
        [
            node("b"),
            device_class(),
            allocated("c", "a", "d0"),
            pending(claims={"x": "c"}),
            devices("a"),
            {**allocated("k", "a", "d0"), "status": {**allocated("k", "a")["status"]}},
        ],
        ".*",
        ("ResourceClaim", "c"),
    ),
    (
        "p",
        "pending",
        [*AROUND, claim(capacity={"requests": {"memory": "1Gi"}}), pending(claims={"x": "c"})],
        "memory",
        ("ResourceClaim", "c"),
    ),
    (
        "p",
        "pending",
        [*AROUND, claim(), known(pod("p", claims={"x": "c"}, nodeSelector={"zone": "b"}))],
        "nodeSelector zone=b selects no node.*zone is not set there",
        ("Label", "zone=b"),
    ),
    (
        "p",
        "pending",
        [
            node("a"),
            node("b", {"unschedulable": True}),
            device_class(),
            devices("b"),
            claim(),
            pending(claims={"x": "c"}),
        ],
        "b, the only node with devices for it, is cordoned",
        ("Node", "b"),
    ),
    ("p", "pending", [pending()], "the cluster has no nodes", ("Pod", "p")),
    (
        "p",
        "pending",
        [*AROUND, {**pending("x"), "status": {"phase": "Pending", "nominatedNodeName": "a"}}],
        "waits on a until the pods that it preempts",
        ("Node", "a"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            {
                "apiVersion": "scheduling.k8s.io/v1alpha2",
                "kind": "PodGroup",
                "metadata": {"name": "g", "namespace": "default"},
                "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
            },
            pending(schedulingGroup={"podGroupName": "g"}),
        ],
        "PodGroup default/g is not complete: 1 of the 3 pods",
        ("PodGroup", "g"),
    ),
    (
        "p",
        "pending",
        [*AROUND, pending(schedulingGroup={"podGroupName": "g"})],
        "PodGroup default/g, which the pod belongs to, does not exist",
        ("PodGroup", "g"),
    ),
    (
        "q",
        "pending",
        [
            *AROUND,
            GROUP,
            claim("c"),
            claim("k"),
            pending(claims={"x": "c"}, schedulingGroup={"podGroupName": "g"}),
            pending(name="q", claims={"x": "k"}, schedulingGroup={"podGroupName": "g"}),
        ],
        "needs devices for 2 pods together: pod q finds none after 1 other: no node has 1 free device",
        ("PodGroup", "g"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            GROUP,
            pending(schedulingGroup={"podGroupName": "g"}),
            pending(name="q", claims={"x": "lost"}, schedulingGroup={"podGroupName": "g"}),
        ],
        "PodGroup default/g needs .* pod q waits for its claim: ResourceClaim default/lost does not exist",
        ("PodGroup", "g"),
    ),
    (
        "p",
        "pending",
        [*AROUND, claim(deviceClassName="gpuu"), pending(claims={"x": "c"})],
        "DeviceClass gpuu, which ResourceClaim c names in request r, does not exist; .*gpu",
        ("DeviceClass", "gpuu"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            pending("x", volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}]),
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "p-tmp"},
                "status": {"phase": "Lost"},
            },
        ],
        "PersistentVolumeClaim default/p-tmp, its volume tmp, has lost its PersistentVolume",
        ("PersistentVolumeClaim", "p-tmp"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            pending(
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["z"]}]}
                            ]
                        }
                    }
                }
            ),
        ],
        "its node affinity requires node z, which does not exist",
        ("Node", "z"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            template("t-1"),
            {
                **pending(claims={"x": "t-1"}),
                "status": {"phase": "Pending", "resourceClaimStatuses": [{"name": "x", "resourceClaimName": "p-x-1"}]},
            },
        ],
        "ResourceClaim default/p-x-1, which was made from ResourceClaimTemplate t-1, .* unless ResourceClaims were not",
        ("ResourceClaim", "p-x-1"),
    ),
    (
        "p",
        "pending",
        [
            *AROUND,
            template("t-1"),
            claim("p-x-1"),
            {
                **pending(claims={"x": "t-1"}),
                "status": {"phase": "Pending", "resourceClaimStatuses": [{"name": "x", "resourceClaimName": "p-x-1"}]},
            },
        ],
        "p-x-1 was not created for Pod default/p .Pod is not owner",
        ("ResourceClaimTemplate", "t-1"),
    ),
]

NOT_STARTED: list[Case] = [
    (
        "p",
        "not-started",
        kubelet(
            "FailedCreatePodSandBox",
            'Failed to create pod sandbox: plugin type="calico" failed (add): no IP addresses available',
        ),
        "no IP addresses available; its devices are allocated",
        ("Pod", "p"),
    ),
    (
        "p",
        "not-started",
        kubelet("FailedMount", 'MountVolume.SetUp failed for volume "keys" : secret "api-keys" not found'),
        "Secret default/api-keys, .*volume keys.* does not exist",
        ("Secret", "api-keys"),
    ),
    (
        "p",
        "not-started",
        kubelet("FailedAttachVolume", 'Multi-Attach error for volume "pvc-1" Volume is already exclusively attached'),
        "Multi-Attach error",
        ("Pod", "p"),
    ),
    (
        "p",
        "not-started",
        kubelet(
            "Failed",
            "Error",
            {"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "token" not found'}},
        ),
        "container c does not start: Secret default/token does not exist",
        ("Secret", "token"),
    ),
    (
        "p",
        "not-started",
        kubelet(
            "Failed",
            "Error",
            {
                "waiting": {
                    "reason": "CreateContainerError",
                    "message": "unresolvable CDI devices gpu.example.com/gpu=d0",
                }
            },
        ),
        "container c does not start: CreateContainerError: unresolvable CDI devices",
        ("Container", "c"),
    ),
    (
        "p",
        "not-started",
        kubelet(
            "FailedToRetrieveImagePullSecret",
            "Unable to retrieve some image pull secrets (pull); attempting",
            {"waiting": {"reason": "ErrImagePull", "message": 'failed to resolve reference "i": 401 Unauthorized'}},
        ),
        "image i can't be pulled: 401 Unauthorized",
        ("Image", "i"),
    ),
    (
        "p",
        "not-started",
        kubelet(
            "FailedPrepareDynamicResources",
            "Failed to prepare dynamic resources: prepare dynamic resources: NodePrepareResources failed for "
            "ResourceClaim c: error preparing devices for claim default/c:1: current node not ready in ComputeDomain",
        ),
        "driver gpu.example.com cannot prepare .*ResourceClaim c: current node not ready in ComputeDomain",
        ("Driver", DRIVER),
    ),
    (
        "p",
        "not-started",
        kubelet(
            "FailedPrepareDynamicResources",
            "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver gpu.example.com is not "
            "registered",
        ),
        "driver gpu.example.com is not registered with kubelet on a: no DaemonSet",
        ("Driver", DRIVER),
    ),
    (
        "p",
        "not-started",
        [
            *AROUND,
            HELD,
            bound(),
            plugin(nodeSelector={"gpu": "yes"}),
            event(
                bound(),
                "FailedPrepareDynamicResources",
                "prepare dynamic resources: DRA driver gpu.example.com is not registered",
            ),
        ],
        "not registered .*DaemonSet default/dra-example-driver does not select a: a has gpu=yes|no",
        ("DaemonSet", "dra-example-driver"),
    ),
    (
        "p",
        "not-started",
        [
            with_condition(node("a"), "Ready", "False", "kubelet stopped posting node status"),
            device_class(),
            devices("a"),
            HELD,
            bound(),
        ],
        "its node a is not ready: kubelet stopped posting",
        ("Node", "a"),
    ),
    (
        "p",
        "not-started",
        [node("b"), device_class(), devices("a"), HELD, bound()],
        "its node a does not exist",
        ("Node", "a"),
    ),
    (
        "p",
        "not-started",
        [node("a"), device_class(), devices("a", taints=[{"key": "broken", "effect": "NoSchedule"}]), HELD, bound()],
        "is on a device with a taint: the taint broken:NoSchedule of device gpu.example.com/a/d0",
        ("Taint", "broken"),
    ),
    ("p", "not-started", [*AROUND, HELD, bound()], "kubelet is starting it; its devices are allocated", ("Pod", "p")),
    (
        "p",
        "not-started",
        [
            *AROUND,
            HELD,
            {
                **bound(),
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        {
                            "name": "first",
                            "restartCount": 4,
                            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                            "lastState": {"terminated": {"exitCode": 2, "message": "no license"}},
                        }
                    ],
                },
            },
        ],
        "container first is in CrashLoopBackOff.*exit code 2, 4 restarts.*no license",
        ("Container", "first"),
    ),
]

RUNNING: list[Case] = [
    ("p", "running", [*AROUND, HELD, running()], "runs on a with gpu.example.com/a/d0; nothing is wrong", ("Pod", "p")),
    (
        "p",
        "running",
        [
            *AROUND,
            HELD,
            running(ready=False),
            event(running(), "Unhealthy", "Readiness probe failed: connection refused"),
        ],
        "container c runs, and is not ready: Readiness probe failed",
        ("Container", "c"),
    ),
    (
        "p",
        "running",
        [*AROUND, HELD, running(restartCount=3, lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}})],
        "container c runs, and has ended 3 times.*OOMKilled.*memory",
        ("Container", "c"),
    ),
    (
        "p",
        "running",
        [node("a"), device_class(), devices("a", taints=[{"key": "lost", "effect": "NoExecute"}]), HELD, running()],
        "going to be evicted because of the taint lost:NoExecute of device",
        ("Taint", "lost"),
    ),
    (
        "p",
        "running",
        [node("a"), device_class(), devices("a", 2), allocated("c", "a", "d7", "p"), running()],
        "allocated device gpu.example.com/a/d7, which no ResourceSlice publishes",
        ("Device", "d7"),
    ),
    (
        "p",
        "running",
        [
            *AROUND,
            {
                **HELD,
                "status": {
                    **HELD["status"],
                    "devices": [
                        {
                            "driver": DRIVER,
                            "pool": "a",
                            "device": "d0",
                            "conditions": [{"type": "Ready", "status": "False", "message": "link is down"}],
                        }
                    ],
                },
            },
            running(),
        ],
        "device gpu.example.com/a/d0 of claim c is unhealthy: link is down",
        ("Device", "d0"),
    ),
    (
        "p",
        "running",
        [
            with_condition(node("a"), "Ready", "Unknown", "Kubelet stopped posting node status."),
            device_class(),
            devices("a"),
            HELD,
            running(),
        ],
        "its node a is not ready",
        ("Node", "a"),
    ),
    (
        "statefulset/w",
        "running",
        [
            *AROUND,
            SET,
            owned({**running(ready=False), "metadata": {"name": "w-0", "uid": "UID:w-0", "namespace": "default"}}, SET),
            HELD,
        ],
        "pod w-0: container c runs, and is not ready",
        ("Container", "c"),
    ),
]

ENDED: list[Case] = [
    (
        "p",
        "ended",
        [*AROUND, bound("Failed", status={"reason": "Evicted", "message": "The node was low on resource: memory."})],
        r"has failed \(Evicted\): The node was low on resource: memory",
        ("Pod", "p"),
    ),
    (
        "p",
        "ended",
        [
            *AROUND,
            bound(
                "Failed",
                status={
                    "reason": "UnexpectedAdmissionError",
                    "message": "Allocate failed due to requested number of devices unavailable",
                },
            ),
        ],
        "UnexpectedAdmissionError",
        ("Pod", "p"),
    ),
    (
        "p",
        "ended",
        [*AROUND, bound("Failed", {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, claims={})],
        "container c ended with exit code 137: OOMKilled",
        ("Container", "c"),
    ),
    (
        "p",
        "ended",
        [
            *AROUND,
            HELD,
            bound(
                "Running", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/guard"]}
            ),
        ],
        "is terminating until finalizer example.com/guard is removed",
        ("Pod", "p"),
    ),
    (
        "p",
        "ended",
        [
            *AROUND,
            HELD,
            (stuck := bound("Running", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})),
            event(stuck, "FailedUnprepareDynamicResources", "unprepare dynamic resources: driver is gone"),
        ],
        "kubelet cannot release it: .*driver is gone",
        ("Pod", "p"),
    ),
    (
        "p",
        "ended",
        [
            with_condition(node("a"), "Ready", "Unknown", "lost"),
            HELD,
            bound("Running", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        ],
        "is terminating, and kubelet cannot confirm it: its node a is not ready",
        ("Node", "a"),
    ),
    (
        "p",
        "ended",
        [
            *AROUND,
            bound(
                "Failed",
                status={
                    "conditions": [
                        {
                            "type": "DisruptionTarget",
                            "status": "True",
                            "reason": "DeletionByTaintManager",
                            "message": "Taint manager: deleting due to NoExecute taint",
                        }
                    ]
                },
            ),
            node("a", {"taints": [{"key": "out", "effect": "NoExecute"}]}),
        ],
        "was evicted because of a taint of its node a: out:NoExecute",
        ("Taint", "out"),
    ),
    (
        "job/w",
        "ended",
        [
            workload(
                "Job",
                status={
                    "conditions": [
                        {
                            "type": "Failed",
                            "status": "True",
                            "reason": "DeadlineExceeded",
                            "message": "Job was active longer than specified deadline",
                        }
                    ]
                },
            )
        ],
        r"has failed \(DeadlineExceeded\): .*longer than specified deadline",
        ("Job", "w"),
    ),
    (
        "job/w",
        "ended",
        [workload("Job", status={"conditions": [{"type": "Complete", "status": "True"}]})],
        "has succeeded",
        ("Job", "w"),
    ),
]

CLAIMS: list[Case] = [
    (
        "claim/c",
        "pending",
        [*AROUND, allocated("c", "a")],
        "is allocated .gpu.example.com/a/d0. and no pod uses it",
        ("ResourceClaim", "c"),
    ),
    (
        "claim/c",
        "pending",
        [
            *AROUND,
            {
                **claim(),
                "metadata": {
                    "name": "c",
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                    "finalizers": ["example.com/keep"],
                },
            },
        ],
        "is being deleted, and stays until finalizer example.com/keep",
        ("ResourceClaim", "c"),
    ),
    (
        "claim/c",
        "pending",
        [*AROUND, claim(), allocated("other", "a", "d0", "q"), pending(claims={"x": "c"})],
        "pod p: no device .* held by claim default/other",
        ("ResourceClaim", "other"),
    ),
    ("claim/c", "running", [*AROUND, HELD, running()], "pod p: runs on a", ("Pod", "p")),
]

NODES: list[Case] = [
    (
        "node/a",
        "node",
        [node("a"), device_class(), devices("a", taints=[{"key": "lost", "effect": "NoExecute"}])],
        "the taint lost:NoExecute keeps claims from gpu.example.com/a/d0",
        ("Taint", "lost"),
    ),
    ("node/a", "node", [*AROUND], "nothing is wrong with it: driver gpu.example.com publishes 1 device", ("Node", "a")),
    ("node/a", "node", [node("a")], "no ResourceSlice names it", ("Node", "a")),
    (
        "node/a",
        "node",
        [node("a"), device_class(), plugin(nodeSelector={"gpu": "yes"})],
        "publishes nothing there: .*does not select a",
        ("DaemonSet", "dra-example-driver"),
    ),
    (
        "node/a",
        "node",
        [node("a"), device_class(), (ds := plugin()), event(ds, "FailedCreate", "Error creating: forbidden")],
        "publishes nothing there: .*has no pod on a: Error creating: forbidden",
        ("DaemonSet", "dra-example-driver"),
    ),
    (
        "node/a",
        "node",
        [
            node("a"),
            device_class(),
            ds,
            owned({**running(ready=True), "metadata": {"name": "plug", "namespace": "default", "uid": "1"}}, ds),
        ],
        "publishes nothing there: the pod of DaemonSet .* runs",
        ("DaemonSet", "dra-example-driver"),
    ),
    (
        "node/a",
        "node",
        [node("a", {"unschedulable": True}), device_class(), devices("a")],
        "is cordoned",
        ("Node", "a"),
    ),
    (
        "node/a",
        "node",
        [with_condition(node("a"), "Ready", "False", "down"), device_class(), devices("a")],
        "is not ready: down",
        ("Node", "a"),
    ),
    (
        "node/a",
        "node",
        [node("a"), device_class(), partitions()],
        "pool gpu.example.com/a is incomplete: 1 of 2",
        ("Pool", "a"),
    ),
]


@pytest.mark.parametrize(
    ("reason", "words", "said"),
    [
        (
            "Preempted",
            f"Preempted by pod {'1' * 36} on node a",
            "was preempted by pod default/q, and its successor w-1-b",
        ),
        ("TaintManagerEviction", "Marking for deletion", "was evicted by a taint of its node, and its successor"),
    ],
)
@pytest.mark.parametrize("is_soon", [True, False])
def test_a_successor_is_pending_because_its_predecessor_was_ended(
    reason: str, words: str, said: str, is_soon: bool
) -> None:
    time = "2026-01-01T00:00:00Z" if is_soon else "2025-01-01T00:00:00Z"
    late = {"namespace": "default", "uid": "UID:b", "creationTimestamp": "2026-01-01T00:00:01Z"}
    successor = owned({**pending("x", requests={"cpu": "99"}), "metadata": {"name": "w-1-b", **late}}, REPLICAS)
    other = known(pod("q"), uid="1" * 36)
    ended = event(known(pod("w-1-a")), reason, words, kind="Normal", time=time)
    answer = answer_of("deployment/w", [node("a"), DEPLOYMENT, REPLICAS, successor, other, ended])
    assert (f"pod w-1-a {said}" in answer["cause"]) == is_soon
    assert "a has too little cpu: 8 of 8 free, the pod wants 99" in answer["cause"]
    assert answer["stage"] == ("ended" if is_soon else "pending")


@pytest.mark.parametrize(
    ("driver", "workloads", "found"),
    [
        (
            "gpu.nvidia.com",
            ["nvidia-dra-driver-gpu-kubelet-plugin", "k8s-amd-gpu"],
            "nvidia-dra-driver-gpu-kubelet-plugin",
        ),
        ("dra.net", ["dranet", "nvidia-gpu"], "dranet"),
        ("gpu.intel.com", ["intel-gaudi-resource-driver", "intel-gpu-resource-driver"], "intel-gpu-resource-driver"),
        (
            "gaudi.intel.com",
            ["intel-gpu-resource-driver", "intel-gaudi-resource-driver"],
            "intel-gaudi-resource-driver",
        ),
        ("dra.cpu", ["dra-driver-cpu", "acme-cpu"], "dra-driver-cpu"),
        ("accel.acme.io", ["nvidia-dra-driver-gpu"], ""),
        ("gpu.example.com", ["nvidia-gpu"], ""),
    ],
)
def test_the_daemon_set_of_a_driver_is_found(driver: str, workloads: list[str], found: str) -> None:
    expression = 'device.driver == "{}"'
    others = ["gpu.nvidia.com", "npu.acme.io"]
    classes = [device_class(each, selectors=[selector(expression.format(each))]) for each in [*others, driver]]
    scene = Scene(Inventory([*classes, *map(plugin, workloads)]), "1.36")
    workload = drivers.daemon_set(scene, driver)
    assert (workload["metadata"]["name"] if workload else "") == found


BUSY = [device_class(), devices("a"), claim(), allocated("other", "a", "d0", "q")]


@pytest.mark.parametrize(
    ("made", "fields", "message", "first"),
    [
        (
            {},
            {"nodeSelector": {"zone": "x"}},
            "",
            "its nodeSelector zone=x selects no node: no label matches; on a zone",
        ),
        ({"unschedulable": True}, {}, "", "a is cordoned"),
        ({"taints": [{"key": "team", "effect": "NoSchedule"}]}, {}, "", "a has a taint .*: team:NoSchedule"),
        ({}, {"requests": {"cpu": "99"}}, "", "a has too little cpu"),
        (
            {},
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]},
            'persistentvolumeclaim "data" not found',
            "PersistentVolumeClaim default/data, its volume v, holds it up.*not found",
        ),
        ({}, {}, "node(s) had volume node affinity conflict", "the scheduler finds no node: .*volume node affinity"),
        ({}, {}, "node(s) didn't match pod anti-affinity rules", "the scheduler finds no node: .*anti-affinity"),
        (
            {},
            {"topologySpreadConstraints": [{"topologyKey": "zone"}]},
            "node(s) didn't match pod topology spread constraints",
            "its topology spread constraints [(]zone[)] allow no node: ",
        ),
        (
            {},
            {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "rack"}]}}},
            "node(s) didn't match pod affinity rules",
            "its required pod affinity [(]rack[)] finds no pod to be with: ",
        ),
    ],
)
def test_what_the_scheduler_looks_at_before_devices_comes_first(
    made: JSONObject, fields: JSONObject, message: str, first: str
) -> None:
    waiting = pending(SCHEDULER.format(message), claims={"x": "c"}, **fields)
    answer = answer_of("p", [node("a", made), *BUSY, waiting])
    assert re.match(f"p: {first}", answer["cause"])
    assert re.search("no device of class .* is free .* held by claim default/other", answer["others"][0])
    assert not [each for each in answer["helps"] if each.startswith("once claim")]


def test_the_devices_of_others_are_counted_where_some_are_free() -> None:
    held = allocated("other", "a", "d0", "q")
    objects = [device_class(), node("a"), node("b"), devices("a", count=2), devices("b", count=2), claim(count=2)]
    answer = answer_of("p", [*objects, held, allocated("third", "b", "d1", "q"), pending("", claims={"x": "c"})])
    assert ": at most 1, as 2 of 4 are held by claims default/other" in answer["cause"]


def test_nodes_without_such_devices_do_not_decide() -> None:
    """A node without devices is refused for them, and says nothing about those that have some."""
    tainted = node("a", {"taints": [{"key": "team", "effect": "NoSchedule"}]})
    answer = answer_of("p", [tainted, node("b"), *BUSY, pending("x", claims={"x": "c"})])
    assert "a has a taint that the pod does not tolerate: team:NoSchedule" in answer["cause"]
    both = [
        node("a"),
        {**tainted, "metadata": {"name": "b"}},
        *BUSY,
        devices("b"),
        allocated("another", "b", "d0", "r"),
    ]
    assert "is held by" not in answer["cause"]
    assert "all 2 are held by" in answer_of("p", [*both, pending("x", claims={"x": "c"})])["cause"]


@pytest.mark.parametrize(
    ("asked", "kind", "several"),
    [
        ("p", "ResourceClaim", "ResourceClaims"),
        ("p", "DeviceClass", "DeviceClasses"),
        ("p", "Node", "Nodes"),
        ("r", "ResourceClaim", "ResourceClaims"),
        ("claim/other", "Pod", "Pods"),
    ],
)
def test_a_kind_that_was_not_collected_is_no_cause(asked: str, kind: str, several: str) -> None:
    runs = {**running(), "metadata": {"name": "r", "uid": "r", "namespace": "default"}}
    runs["spec"] = {**runs["spec"], "resourceClaims": [{"name": "x", "resourceClaimName": "other"}]}
    objects = [node("a"), *BUSY, runs, pending("x", claims={"x": "c"})]
    answer = answer_of(asked, [each for each in objects if each["kind"] != kind])
    assert f"cannot be explained: --cluster has no {several}" in answer["cause"]
    assert several in answer["helps"][0]


def test_claims_of_other_namespaces_may_hold_the_devices() -> None:
    said = pending("0/1 nodes are available: 1 cannot allocate all claims.", claims={"x": "c"})
    answer = answer_of("p", [*AROUND, claim(), said])
    assert "the scheduler finds no node: 0/1 nodes are available: 1 cannot allocate all claims" in answer["cause"]
    assert answer["helps"][0] == "collect the ResourceClaims of all namespaces: others may hold the devices"


def test_the_last_class_may_have_been_deleted() -> None:
    said = pending("request x: device class gpu does not exist", claims={"x": "c"})
    answer = answer_of("p", [node("a"), *BUSY[1:], said])
    assert "DeviceClass gpu, which ResourceClaim c names in request r, does not exist" in answer["cause"]


def member(name: str) -> JSONObject:
    """Return a pod of the gang, with a claim of its own."""
    made = pending("x", name=name, claims={"x": f"c-{name}"})
    return {**made, "spec": {**made["spec"], "schedulingGroup": {"podGroupName": "g"}}}


def test_the_claims_of_a_gang_are_no_obstacle_to_it() -> None:
    members = [each for name in ("m-0", "m-1") for each in (member(name), claim(f"c-{name}"))]
    held = allocated("other", "a", "d0", "q")
    answer = answer_of("m-0", [node("a"), device_class(), devices("a", 2), GROUP, held, *members])
    assert "pod m-1 finds none after 1 other" in answer["cause"]
    assert "1 of 2 is its own, and 1 is held by claim default/other" in answer["cause"]
    assert answer["helps"] == ["once claim default/other is released (pod q)"]


def test_evidence_has_events_in_time_once_and_no_claim_that_is_not_there() -> None:
    made = {**pending("x"), "spec": {**pod()["spec"], "resourceClaims": [{"name": "x"}]}}
    made["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "t"
    refusal = 'create ResourceClaim : resourceclaims "p-x-{}" is forbidden: exceeded quota: "{}"'
    said = [
        event(made, "Late", "b", time="2026-01-01T00:00:01.5Z"),
        event(made, "Later", "c", time="2026-01-01T00:00:01Z"),
        event(REPLICAS, "Early", "a", time="2026-01-01T00:00:01Z"),
        *(event(made, "Failed", refusal.format(name, "few"), time=f"2026-01-01T00:00:0{at}Z") for at, name in REFUSED),
        event(made, "Failed", refusal.format("bcd24", "other"), time="2026-01-01T00:00:09Z"),
    ]
    answer = answer_of("p", [*AROUND, REPLICAS, template("t"), owned(made, REPLICAS), *said])
    assert [each["name"] for each in answer["evidence"] if each["kind"] == "ResourceClaim"] == []
    events = [each for each in answer["evidence"] if "reason" in each]
    assert [(each["reason"], each["count"]) for each in events] == [
        ("Early", 3),
        ("Late", 3),
        ("Later", 3),
        ("Failed", 6),
        ("Failed", 3),
    ]
    assert "x7k9z" in events[3]["message"]


REFUSED = [(2, "bcd24"), (3, "x7k9z")]


@pytest.mark.parametrize("is_owned", [True, False])
def test_a_claim_that_waits_for_a_pod_is_well(is_owned: bool) -> None:
    spare = owned(known(claim("spare")), DEPLOYMENT if is_owned else None)
    answer = answer_of("claim/spare", [*AROUND, spare])
    assert "is not allocated because no pod uses it" in answer["cause"]
    assert answer["isWell"] is not is_owned


def test_the_log_of_a_container_is_named_in_full() -> None:
    crashing = running(ready=False, state={"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=2)
    answer = answer_of("p", [*AROUND, HELD, crashing])
    assert answer["helps"] == ["see its last words: kubectl logs --previous --namespace default p --container c"]
    assert answer["cause"].endswith("; the pod has its devices")


def cases() -> list[Any]:
    every = [*NO_POD, *PENDING, *NOT_STARTED, *RUNNING, *ENDED, *CLAIMS, *NODES]
    return [pytest.param(*each, id=f"{index}-{each[0]}-{each[3][:40]}") for index, each in enumerate(every)]


def answer_of(asked: str, objects: list[JSONObject]) -> JSONObject:
    kind, _, name = asked.rpartition("/")
    inventory = Inventory(objects)
    namespace = "" if kind == "node" else "default"
    obj = inventory.find(ASKED[kind or "pod"], name, namespace)
    assert obj is not None
    return explain(Scene(inventory, "1.36.3"), obj, asked)


@pytest.mark.parametrize(("asked", "stage", "objects", "says", "about"), cases())
def test_the_cause_is_named(
    asked: str, stage: str, objects: list[JSONObject], says: str, about: tuple[str, str]
) -> None:
    answer = answer_of(asked, objects)
    assert re.search(says, answer["cause"]), answer["cause"]
    assert answer["stage"] == stage
    named = [(each["kind"], each["name"]) for each in answer["objects"]]
    assert about in named or about[1] in answer["cause"], named
    json.dumps(answer)


def test_circles_of_owners_end() -> None:
    first, second = workload("ReplicaSet", "first"), workload("ReplicaSet", "second")
    itself = owned(known(pod("q")), known(pod("q")))
    below = [HELD, claim("d"), owned(first, second), owned(second, first), owned(bound(), first), itself]
    assert "pod p" in answer_of("replicaset/first", [*AROUND, *below])["cause"]
    assert answer_of("pod/p", [*AROUND, *below])["stage"] == "not-started"
    assert answer_of("pod/q", [*AROUND, *below])["stage"] == "pending"


AVOIDING = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}]}}


AVOIDING_ALL = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": {}}]}}


def labelled(obj: JSONObject, **labels: str) -> JSONObject:
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


@pytest.mark.parametrize(
    ("waiting", "running", "message", "first"),
    [
        (
            pending(SCHEDULER.format("node(s) didn't match pod anti-affinity rules"), affinity=AVOIDING),
            labelled(known(pod("q", nodeName="a")), app="x"),
            "anti-affinity",
            "p: its required pod anti-affinity keeps it from pod q on a: ",
        ),
        (
            labelled(pending(SCHEDULER.format("node(s) didn't satisfy existing pods anti-affinity rules")), app="x"),
            known(pod("q", nodeName="a", affinity=AVOIDING)),
            "existing",
            "p: is kept away by the required anti-affinity of pod q on a: ",
        ),
        (
            pending(SCHEDULER.format("node(s) didn't match pod anti-affinity rules"), affinity=AVOIDING_ALL),
            known(pod("q", nodeName="a")),
            "anti-affinity",
            "p: its required pod anti-affinity keeps it from pod q on a: ",
        ),
    ],
)
def test_pods_that_anti_affinity_keeps_apart_are_named(
    waiting: JSONObject, running: JSONObject, message: str, first: str
) -> None:
    answer = answer_of("p", [*AROUND, running, waiting])
    assert answer["cause"].startswith(first)
    assert message in answer["cause"]
    assert {"kind": "Pod", "namespace": "default", "name": "q"} in answer["objects"]


def test_the_volumes_of_a_pod_that_the_scheduler_refuses_are_named() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    bound = known({"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "status": {"phase": "Bound"}})
    waiting = pending(SCHEDULER.format("node(s) had volume node affinity conflict"), volumes=volumes)
    answer = answer_of("p", [*AROUND, {**bound, "apiVersion": "v1"}, waiting])
    assert answer["cause"].startswith("p: its volume v (PersistentVolumeClaim default/data) allows no node: ")


def test_a_paused_deployment_without_pods() -> None:
    made = workload("Deployment", replicas=1, paused=True)
    said = answer_of("deployment/w", [*AROUND, made])["cause"]
    assert said == "deployment/w: has no pod, and is paused (spec.paused): its template makes none"


def test_a_cron_job_between_its_times() -> None:
    answer = answer_of("cronjob/w", [*AROUND, workload("CronJob", schedule="0 3 * * *")])
    assert answer["cause"].endswith("has no Job now: it makes one at the times of its schedule, 0 3 * * *")
    assert answer["isWell"]
