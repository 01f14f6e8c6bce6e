"""Clusters in YAML: what says nothing there is left out, and added as a cluster has it."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.rows import read
from webhook.objects import JSONObject

_NOW = "2026-10-20T09:00:00Z"
_CLUSTER_WIDE = {"Node", "DeviceClass", "ResourceSlice", "DeviceTaintRule"}
_DRIVER = "gpu.example.com"
_VERSIONS = {
    **dict.fromkeys(("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"), "resource.k8s.io/v1"),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    "PriorityClass": "scheduling.k8s.io/v1",
    "DeviceTaintRule": "resource.k8s.io/v1beta2",
    "PodGroup": "scheduling.k8s.io/v1beta1",
}
_NAMES = {"Pod": "p", "DeviceClass": "gpu", "ResourceClaim": "c", "ResourceClaimTemplate": "t", "ResourceQuota": "q"}
_KINDS_OF_VALUES = {bool: "bool", int: "int", str: "string"}


def clusters(file: Path, *fields: str) -> list[JSONObject]:
    """Read the cases of all sections, of some fields: each has a ``cluster``, a list of objects, or of shared lists."""
    sections = read(file)
    del sections["shared"]
    cases = [case for section in sections.values() for case in section]
    for case in cases:
        assert case.keys() <= {"cluster", *fields}, case.keys()
    return [{**case, "cluster": list(map(completed, _flat(case["cluster"])))} for case in cases]


def _flat(cluster: list[Any]) -> Iterator[JSONObject]:
    for each in cluster:
        yield from _flat(each) if isinstance(each, list) else [each]


def manifest(obj: JSONObject) -> JSONObject:
    """Add what a manifest leaves out here: usual names, and the usual fields of a spec.

    Names of devices, expressions of selectors, values of attributes, capacities and counters may be scalars, and the
    fields of ``exactly`` may stand in the request. An object of an earlier version is taken as it is.
    """
    kind = obj.get("kind", "Pod")
    if obj.get("apiVersion", version_of(kind)) != version_of(kind):
        return obj
    name = obj["spec"].get("nodeName") if kind == "ResourceSlice" else _NAMES.get(kind)
    metadata = {"metadata": {"name": name, **obj.get("metadata", {})}} if name else {}
    return {"kind": kind, **obj, **_USUAL.get(kind, dict)(obj), **metadata}


def completed(obj: JSONObject) -> JSONObject:
    """Add what a manifest leaves out, and what the cluster adds: versions, namespaces, UIDs, times and status."""
    obj = manifest(obj)
    kind, status = obj["kind"], obj.get("status", {})
    usual: JSONObject = {"apiVersion": version_of(kind)}
    if kind == "Event":
        about = {"namespace": "default", **_with_uid(obj["involvedObject"])}
        usual |= {"type": "Warning", "lastTimestamp": "2026-01-01T00:00:01Z", "count": 3}
        obj = {**obj, "involvedObject": about, "metadata": {"name": str(obj)}}
    metadata = {"creationTimestamp": "2026-01-01T00:00:00Z", **_with_uid(obj["metadata"])}
    if kind not in _CLUSTER_WIDE:
        metadata = {"namespace": "default", **metadata}
    if owners := metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [
            {"apiVersion": version_of(each["kind"]), "controller": True, **_with_uid(each)} for each in owners
        ]
    if kind == "Pod":
        status = {"phase": "Running" if "nodeName" in obj["spec"] else "Pending", **status}
    if kind == "Node":
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": _NOW}
        status = {"conditions": [ready], "nodeInfo": {"kubeletVersion": "v1.36.3"}, **status}
    return {**usual, **obj, "status": status, "metadata": metadata}


def version_of(kind: str) -> str:
    """Return the usual version of a kind."""
    return _VERSIONS.get(kind, "v1")


def _with_uid(reference: JSONObject) -> JSONObject:
    return {"uid": f"UID:{reference.get('name')}", **reference}


def _pod(pod: JSONObject) -> JSONObject:
    return {"spec": _pod_spec(pod.get("spec", {}))}


def _pod_spec(spec: JSONObject) -> JSONObject:
    uses = {"claims": [{"name": each["name"]} for each in spec.get("resourceClaims", ())]}
    containers = [
        {"name": "c", "image": "i", **each, "resources": {**uses, **each.get("resources", {})}}
        for each in spec.get("containers", [{}])
    ]
    return {**spec, "containers": containers}


def _node(node: JSONObject) -> JSONObject:
    status = node.get("status", {})
    usual = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    stated = {**usual, **status.get("allocatable", {})}
    return {"status": {**status, "allocatable": {name: each for name, each in stated.items() if each is not None}}}


def _class(class_: JSONObject) -> JSONObject:
    spec = {"selectors": [f'device.driver == "{_DRIVER}"'], **class_.get("spec", {})}
    return {"spec": _selecting(spec)}


def _selecting(fields: JSONObject) -> JSONObject:
    selectors = [{"cel": {"expression": each}} if isinstance(each, str) else each for each in fields["selectors"]]
    return {**fields, "selectors": selectors}


def _slice(slice_: JSONObject) -> JSONObject:
    spec = slice_["spec"]
    pool = {"name": spec.get("nodeName"), "generation": 1, "resourceSliceCount": 1, **spec.get("pool", {})}
    made = {"driver": _DRIVER, **spec, "pool": pool}
    if "devices" in spec:
        made["devices"] = list(map(_device, spec["devices"]))
    if "sharedCounters" in spec:
        made["sharedCounters"] = list(_counters(spec["sharedCounters"]))
    return {"spec": made}


def _device(device: JSONObject | str) -> JSONObject:
    made: JSONObject = {"name": device} if isinstance(device, str) else dict(device)
    if "attributes" in made:
        made["attributes"] = {
            name: value if isinstance(value, dict) else {_KINDS_OF_VALUES[type(value)]: value}
            for name, value in made["attributes"].items()
        }
    if "capacity" in made:
        made["capacity"] = _amounts(made["capacity"])
    if "consumesCounters" in made:
        made["consumesCounters"] = list(_counters(made["consumesCounters"]))
    return made


def _counters(sets: Iterable[JSONObject]) -> Iterator[JSONObject]:
    return ({**each, "counters": _amounts(each["counters"])} for each in sets)


def _amounts(amounts: JSONObject) -> JSONObject:
    return {name: each if isinstance(each, dict) else {"value": str(each)} for name, each in amounts.items()}


def _claim(claim: JSONObject) -> JSONObject:
    made = {"spec": _claim_spec(claim.get("spec", {}))}
    if status := claim.get("status"):
        made["status"] = dict(status)
        if "allocation" in status:
            made["status"]["allocation"] = _allocation(status["allocation"])
        if "reservedFor" in status:
            users = [{"resource": "pods", **_with_uid(each)} for each in status["reservedFor"]]
            made["status"]["reservedFor"] = users
    return made


def _claim_spec(spec: JSONObject) -> JSONObject:
    devices = {"requests": [{}], **spec.get("devices", {})}
    return {**spec, "devices": {**devices, "requests": list(map(_request, devices["requests"]))}}


def _request(request: JSONObject) -> JSONObject:
    name = {"name": request.get("name", "r")}
    if "firstAvailable" in request:
        return {**request, **name, "firstAvailable": list(map(_ask, request["firstAvailable"]))}
    asked = {key: value for key, value in request.items() if key != "name"}
    return {**name, "exactly": _ask(asked.get("exactly", asked))}


def _ask(asked: JSONObject) -> JSONObject:
    made = {"deviceClassName": "gpu", **asked}
    return _selecting(made) if "selectors" in made else made


def _allocation(allocation: JSONObject) -> JSONObject:
    devices = allocation.get("devices", {})
    results = [{"request": "r", "driver": _DRIVER, "pool": "a", **each} for each in devices.get("results", ())]
    names = sorted({each["pool"] for each in results})
    of_node = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": names}]}]}
    usual = {"nodeSelector": of_node, "allocationTimestamp": "2026-01-01T00:00:00Z"}
    return {**usual, **allocation, "devices": {**devices, "results": results}}


def _template(template: JSONObject) -> JSONObject:
    spec = template.get("spec", {})
    return {"spec": {**spec, "spec": _claim_spec(spec.get("spec", {}))}}


def _quota(quota: JSONObject) -> JSONObject:
    return {"status": {"hard": quota["spec"]["hard"], **quota["status"]} if "status" in quota else {}}


def _workload(workload: JSONObject) -> JSONObject:
    spec = workload.get("spec", {})
    template = spec.get("template", {})
    return {"spec": {**spec, "template": {**template, "spec": _pod_spec(template.get("spec", {}))}}}


_USUAL = {
    "Pod": _pod,
    "Node": _node,
    "DeviceClass": _class,
    "ResourceSlice": _slice,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
    "ResourceQuota": _quota,
    "List": lambda made: {"items": list(map(manifest, made["items"]))},
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"), _workload),
}
