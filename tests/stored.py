"""Clusters in YAML: what says nothing there is left out, and added as a cluster has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from webhook.objects import JSONObject

_NOW = "2026-10-20T09:00:00Z"
_CLUSTER_WIDE = {"Node", "DeviceClass", "ResourceSlice", "DeviceTaintRule"}
_DRIVER = "gpu.example.com"
_VERSIONS = {
    **dict.fromkeys(("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"), "resource.k8s.io/v1"),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    "DeviceTaintRule": "resource.k8s.io/v1beta2",
    "PodGroup": "scheduling.k8s.io/v1beta1",
}


def clusters(file: Path) -> dict[str, list[JSONObject]]:
    """Read cases, by section: each has a ``cluster``, a list of objects, or of lists that several cases share."""
    sections = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
    del sections["shared"]
    return {
        name: [{**case, "cluster": list(map(completed, _flat(case["cluster"])))} for case in cases]
        for name, cases in sections.items()
    }


def _flat(cluster: list[Any]) -> Iterator[JSONObject]:
    for each in cluster:
        yield from _flat(each) if isinstance(each, list) else [each]


def completed(obj: JSONObject) -> JSONObject:
    """Add versions, namespaces, UIDs and usual fields to an object that leaves them out."""
    kind = obj["kind"]
    if kind == "Event":
        about = {"namespace": "default", **_with_uid(obj["involvedObject"])}
        usual = {"type": "Warning", "lastTimestamp": "2026-01-01T00:00:01Z", "count": 3, "metadata": {"name": str(obj)}}
        obj = {**usual, **obj, "involvedObject": about}
    metadata = {"creationTimestamp": "2026-01-01T00:00:00Z", **_with_uid(obj["metadata"])}
    if kind not in _CLUSTER_WIDE:
        metadata = {"namespace": "default", **metadata}
    if owners := metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [
            {"apiVersion": _VERSIONS.get(each["kind"], "v1"), "controller": True, **_with_uid(each)} for each in owners
        ]
    usual = {"apiVersion": _VERSIONS.get(kind, "v1"), "status": {}}
    return {**usual, **obj, **_USUAL.get(kind, dict)(obj), "metadata": metadata}


def _with_uid(reference: JSONObject) -> JSONObject:
    return {"uid": f"UID:{reference['name']}", **reference}


def _pod(pod: JSONObject) -> JSONObject:
    spec = pod.get("spec", {})
    claims = [{"name": each["name"]} for each in spec.get("resourceClaims", ())]
    containers = [{"name": "c", "image": "i", "resources": {"claims": claims}}]
    status = {"phase": "Running" if "nodeName" in spec else "Pending", **pod.get("status", {})}
    return {"spec": {"containers": containers, **spec}, "status": status}


def _node(node: JSONObject) -> JSONObject:
    status = node.get("status", {})
    usual = {
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": _NOW}],
        "nodeInfo": {"kubeletVersion": "v1.36.3"},
        **status,
        "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110", **status.get("allocatable", {})},
    }
    return {"status": usual}


def _slice(slice_: JSONObject) -> JSONObject:
    spec = slice_["spec"]
    pool = {"name": spec.get("nodeName"), "generation": 1, "resourceSliceCount": 1, **spec.get("pool", {})}
    return {"spec": {"driver": _DRIVER, **spec, "pool": pool}}


def _claim(claim: JSONObject) -> JSONObject:
    spec = claim.get("spec") or {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": _DRIVER}}]}}
    status = claim.get("status", {})
    results = status.get("allocation", {}).get("devices", {}).get("results", ())
    for each in results:
        each |= {"request": "gpu", "driver": _DRIVER, "pool": "n1", **each}
    users = [{"resource": "pods", **_with_uid(each)} for each in status.get("reservedFor", ())]
    return {"spec": spec, "status": {**status, "reservedFor": users}}


def _template(template: JSONObject) -> JSONObject:
    return {"spec": template.get("spec") or {"spec": _claim({})["spec"]}}


def _workload(workload: JSONObject) -> JSONObject:
    containers = [{"name": "c", "image": "i"}]
    spec = workload.get("spec", {})
    return {"spec": {"template": {"spec": {"containers": containers}}, **spec}}


_USUAL = {
    "Pod": _pod,
    "Node": _node,
    "ResourceSlice": _slice,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob"), _workload),
}
