"""Objects of small clusters, as drivers, controllers and kubelet write them."""

import json
from typing import Any

from tests.command import Done, draguard, findings

DRIVER = "gpu.example.com"
LATE = "2026-10-20T09:00:00Z"
"""About the time at which the clusters are read."""

Object = dict[str, Any]


def listed(*objects: Object) -> str:
    """Write objects as kubectl lists them."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def scan(*objects: Object, options: tuple[str, ...] = ()) -> Done:
    return draguard("scan", "--cluster", "-", *options, stdin=listed(*objects).encode())


def scanned(*objects: Object, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Scan a cluster; return the findings."""
    return findings("scan", "--cluster", "-", "--quiet", *options, stdin=listed(*objects))


def rules(*objects: Object, options: tuple[str, ...] = ()) -> set[str]:
    """Scan a cluster; return the rules with findings of level warning or error."""
    return {each["rule"] for each in scanned(*objects, options=options) if each["level"] != "note"}


def made(kind: str, name: str, namespace: str = "", version: str = "v1", **fields: Any) -> Object:
    """Make an object with a UID that follows from its name."""
    metadata = {"name": name, "uid": f"{name}-uid", "creationTimestamp": "2026-10-01T09:00:00Z"}
    metadata |= {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": metadata | fields.pop("metadata", {}), **fields}


def node(
    name: str = "n1", *, ready: bool = True, allocatable: Any = None, version: str = "v1.36.3", **more: Any
) -> Object:
    ready_ = {"type": "Ready", "status": "True" if ready else "Unknown", "lastHeartbeatTime": LATE}
    status = {
        "allocatable": {"cpu": "8", "pods": "110", **(allocatable or {})},
        "conditions": [ready_],
        "nodeInfo": {"kubeletVersion": version},
    }
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    return made("Node", name, metadata={"labels": labels}, spec=more, status=status)


def device(name: str = "gpu-0", attributes: Any = None, **more: Any) -> Object:
    """Make a device with attributes that are texts, or as in the API."""
    stated = {key: {"string": each} if isinstance(each, str) else each for key, each in (attributes or {}).items()}
    return {"name": name, **({"attributes": stated} if stated else {}), **more}


def slices(
    *devices: Object, on: str = "n1", driver: str = DRIVER, name: str = "", pool: Any = None, **more: Any
) -> Object:
    """Make a slice of a node's pool; ``pool`` has what differs in it."""
    where = {} if more.keys() & {"allNodes", "nodeSelector", "perDeviceNodeSelection"} else {"nodeName": on}
    pool_ = {"name": on, "generation": 1, "resourceSliceCount": 1, **(pool or {})}
    spec = {"driver": driver, "pool": pool_, **where, **({"devices": list(devices)} if devices else {}), **more}
    return made("ResourceSlice", name or f"{on}-{driver}", version="resource.k8s.io/v1", spec=spec)


def device_class(name: str = DRIVER, selector: str = f'device.driver == "{DRIVER}"', **more: Any) -> Object:
    spec = {"selectors": [{"cel": {"expression": selector}}], **more}
    return made("DeviceClass", name, version="resource.k8s.io/v1", spec=spec)


def request(class_name: str = DRIVER, count: int = 1, **more: Any) -> Object:
    exactly: Object = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": count, **more}
    return {"name": "gpu", "exactly": exactly}


def claim(
    name: str = "gpu",
    *devices: str,
    pods: tuple[str, ...] = (),
    metadata: Any = None,
    requests: Any = None,
    **result: Any,
) -> Object:
    """Make a claim, allocated if devices are named; ``result`` has what differs in its results."""
    results = [{"request": "gpu", "driver": DRIVER, "pool": "n1", "device": each, **result} for each in devices]
    status: Object = {"allocation": {"devices": {"results": results}}} if devices else {}
    if pods:
        status["reservedFor"] = [{"resource": "pods", "name": each, "uid": f"{each}-uid"} for each in pods]
    spec = {"devices": {"requests": requests or [request()]}}
    return made(
        "ResourceClaim", name, "default", "resource.k8s.io/v1", metadata=metadata or {}, spec=spec, status=status
    )


def template(name: str = "gpu", *requests: Object) -> Object:
    spec = {"spec": {"devices": {"requests": list(requests) or [request()]}}}
    return made("ResourceClaimTemplate", name, "default", "resource.k8s.io/v1", spec=spec)


def pod(name: str = "train", claims: Any = ("gpu",), phase: str = "Running", on: str = "n1", **more: Any) -> Object:
    """Make a pod with claims by name, or as entries of its specification."""
    entries = [{"name": each, "resourceClaimName": each} if isinstance(each, str) else each for each in claims]
    uses = {"claims": [{"name": each["name"]} for each in entries]}
    containers = [{"name": "main", "image": "app:1", "resources": uses, **more.pop("container", {})}]
    spec: Object = {"containers": containers, "resourceClaims": entries}
    spec |= {"nodeName": on} if on else {}
    return made("Pod", name, "default", metadata=more.pop("metadata", {}), spec=spec, status={"phase": phase, **more})


def daemon_set(path: str = f"/var/lib/kubelet/plugins/{DRIVER}", name: str = "driver", **spec: Any) -> Object:
    paths = ("/var/lib/kubelet/plugins_registry", path)
    volumes = [{"name": str(place), "hostPath": {"path": each}} for place, each in enumerate(paths)]
    spec = {"containers": [{"name": "plugin", "image": f"{name}:1"}], "volumes": volumes, **spec}
    return made("DaemonSet", name, "drivers", "apps/v1", spec={"template": {"spec": spec}}, status={})


def plugin(on: str = "n1", name: str = "driver", phase: str = "Running", **status: Any) -> Object:
    """Make a pod of a DaemonSet."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": f"{name}-uid", "controller": True}
    metadata = {"ownerReferences": [owner]}
    return made(
        "Pod", f"{name}-{on}", "drivers", metadata=metadata, spec={"nodeName": on}, status={"phase": phase, **status}
    )


def deployment(entry: Object, replicas: int = 1, **spec: Any) -> Object:
    """Make a Deployment whose pods have a claim."""
    uses = {"claims": [{"name": entry["name"]}]}
    spec = {"containers": [{"name": "main", "image": "app:1", "resources": uses}], "resourceClaims": [entry], **spec}
    return made("Deployment", "web", "default", "apps/v1", spec={"replicas": replicas, "template": {"spec": spec}})


def taint_rule(name: str = "rule", effect: str = "NoExecute", **selector: str) -> Object:
    """Make a DeviceTaintRule that was there for long."""
    taint = {"key": "example.com/broken", "effect": effect, "timeAdded": "2026-10-19T09:00:00Z"}
    spec = {"taint": taint, "deviceSelector": selector}
    return made("DeviceTaintRule", name, version="resource.k8s.io/v1beta2", spec=spec)


HEALTHY = (node(), slices(device(), device("gpu-1")), device_class())
"""A node with two devices, and their class."""
