"""Small clusters to schedule pods into."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.command import Done, draguard
from tests.stored import manifest, version_of
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


def selector(expression: str) -> JSONObject:
    return {"cel": {"expression": expression}}


def _named(kind: str, name: str, **fields: Any) -> JSONObject:
    return manifest({"kind": kind, "metadata": {"name": name}, **fields})


def device_class(name: str = "gpu", **spec: Any) -> JSONObject:
    return _named("DeviceClass", name, spec=spec)


def node(
    name: str, spec: JSONObject | None = None, labels: dict[str, str] | None = None, **allocatable: str
) -> JSONObject:
    metadata = {"name": name, "labels": labels or {}}
    return _named("Node", name, metadata=metadata, spec=spec or {}, status={"allocatable": allocatable})


def devices(node_name: str, count: int = 1, **fields: Any) -> JSONObject:
    each = [{"name": f"d{number}", **fields} for number in range(count)]
    return _named("ResourceSlice", node_name, spec={"nodeName": node_name, "devices": each})


def drawing(node_name: str, shared: str, *consumed: str) -> tuple[JSONObject, JSONObject]:
    """Make the slice of devices that consume counters, and that of these."""
    of_pool = {"nodeName": node_name, "pool": {"resourceSliceCount": 2}}
    parts = [
        {"name": f"d{number}", "consumesCounters": [{"counterSet": "set", "counters": {"memory": amount}}]}
        for number, amount in enumerate(consumed)
    ]
    counters = [{"name": "set", "counters": {"memory": shared}}]
    return (
        _named("ResourceSlice", node_name, spec={**of_pool, "devices": parts}),
        _named("ResourceSlice", "counters", spec={**of_pool, "sharedCounters": counters}),
    )


def requests(**asks: Any) -> JSONObject:
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", **asks}}]}}


def claim(name: str = "c", **asks: Any) -> JSONObject:
    return _named("ResourceClaim", name, spec=requests(**asks))


def template(name: str = "t", **asks: Any) -> JSONObject:
    return _named("ResourceClaimTemplate", name, spec={"spec": requests(**asks)})


def allocated(name: str, node_name: str, device: str = "d0", *pods: str) -> JSONObject:
    allocation = {"devices": {"results": [{"pool": node_name, "device": device}]}}
    users = [{"name": pod} for pod in pods]
    return _named("ResourceClaim", name, spec=requests(), status={"allocation": allocation, "reservedFor": users})


def pod(
    name: str = "p", claims: dict[str, str] | None = None, requests: dict[str, str] | None = None, **spec: Any
) -> JSONObject:
    """Make a pod; claims starting with ``t`` are templates."""
    entries = [
        {"name": key, ("resourceClaimTemplateName" if value.startswith("t") else "resourceClaimName"): value}
        for key, value in (claims or {}).items()
    ]
    containers = [{"resources": {"requests": requests or {}}}]
    return _named("Pod", name, spec={"containers": containers, "resourceClaims": entries, **spec})
