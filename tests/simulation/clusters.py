"""Small clusters to schedule pods into."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.command import Done, draguard
from tests.stored import version_of
from webhook.objects import JSONObject

DRIVER = "gpu.example.com"


def written(file: Path, *objects: JSONObject) -> Path:
    """Write objects to a file, each in its version."""
    file.write_text(yaml.safe_dump_all({"apiVersion": version_of(each["kind"]), **each} for each in objects))
    return file


def ran(
    folder: Path,
    *given: JSONObject,
    cluster: Iterable[JSONObject],
    command: str = "simulate",
    options: Iterable[str] = (),
) -> Done:
    """Run a command on objects and a cluster, written to files."""
    around, manifests = written(folder / "cluster.yaml", *cluster), written(folder / "given.yaml", *given)
    return draguard(command, manifests, "--cluster", around, *options)


def device_class(name: str = "gpu", **spec: Any) -> JSONObject:
    selectors = [selector(f'device.driver == "{DRIVER}"')]
    return {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}


def selector(expression: str) -> JSONObject:
    return {"cel": {"expression": expression}}


def node(
    name: str, spec: JSONObject | None = None, labels: dict[str, str] | None = None, **allocatable: str
) -> JSONObject:
    status = {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110", **allocatable}}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels or {}}, "spec": spec or {}, "status": status}


def devices(node_name: str, count: int = 1, **fields: Any) -> JSONObject:
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    each = [{"name": f"d{number}", **fields} for number in range(count)]
    spec = {"driver": DRIVER, "pool": pool, "nodeName": node_name, "devices": each}
    return {"kind": "ResourceSlice", "metadata": {"name": node_name}, "spec": spec}


def drawing(node_name: str, shared: str, *consumed: str) -> tuple[JSONObject, JSONObject]:
    """Make the slice of devices that consume counters, and that of these."""
    parts, counters = devices(node_name, len(consumed)), devices(node_name, 0)
    for each, amount in zip(parts["spec"]["devices"], consumed, strict=True):
        each["consumesCounters"] = [{"counterSet": "set", "counters": {"memory": {"value": amount}}}]
    counters["metadata"]["name"] = "counters"
    counters["spec"]["sharedCounters"] = [{"name": "set", "counters": {"memory": {"value": shared}}}]
    for each in (parts, counters):
        each["spec"]["pool"]["resourceSliceCount"] = 2
    return parts, counters


def requests(**asks: Any) -> JSONObject:
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", **asks}}]}}


def claim(name: str = "c", **asks: Any) -> JSONObject:
    return {"kind": "ResourceClaim", "metadata": {"name": name}, "spec": requests(**asks)}


def template(name: str = "t", **asks: Any) -> JSONObject:
    return {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": {"spec": requests(**asks)}}


def allocated(name: str, node_name: str, device: str = "d0", *pods: str) -> JSONObject:
    result = {"request": "r", "driver": DRIVER, "pool": node_name, "device": device}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    status = {
        "allocation": {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [term]},
            "allocationTimestamp": "2026-01-01T00:00:00Z",
        },
        "reservedFor": [{"resource": "pods", "name": pod, "uid": f"UID:{pod}"} for pod in pods],
    }
    return {**claim(name), "status": status}


def pod(
    name: str = "p", claims: dict[str, str] | None = None, requests: dict[str, str] | None = None, **spec: Any
) -> JSONObject:
    """Make a pod; claims starting with ``t`` are templates."""
    entries = [
        {"name": key, ("resourceClaimTemplateName" if value.startswith("t") else "resourceClaimName"): value}
        for key, value in (claims or {}).items()
    ]
    resources = {"requests": requests or {}, "claims": [{"name": key} for key in claims or {}]}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    return {
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, "resourceClaims": entries, **spec},
    }
