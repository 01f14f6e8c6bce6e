"""Objects of the structured versions, and their findings."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from webhook import Problem

REQUEST: dict[str, Any] = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
RESULT: dict[str, Any] = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
"""
"""A manifest of a claim."""


def claim_manifest(name: str = "claim", more: str = "", namespace: str = "") -> str:
    """Write the manifest of a claim for one device.

    Args:
        name: Its name.
        more: Lines at its end.
        namespace: Its namespace; empty for none.
    """
    placed = f"\n  namespace: {namespace}" if namespace else ""
    return f"""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: {name}{placed}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
{more}"""


def claim(*requests: dict[str, Any], version: str = "v1", **devices: Any) -> dict[str, Any]:
    """Make a ResourceClaim."""
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "default"},
        "spec": {"devices": {"requests": list(requests or [REQUEST]), **devices}},
    }


def allocated(base: dict[str, Any] | None = None, *results: dict[str, Any], **status: Any) -> dict[str, Any]:
    """Make an allocated ResourceClaim."""
    allocation = {"devices": {"results": list(results or [RESULT])}}
    return (base or claim()) | {"status": {"allocation": allocation, **status}}


def resource_slice(*devices: dict[str, Any], version: str = "v1", **spec: Any) -> dict[str, Any]:
    """Make a ResourceSlice."""
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    wanted = {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-1", "devices": list(devices), **spec}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": "slice"},
        "spec": {name: value for name, value in wanted.items() if value is not ...},
    }


def of_kind(kind: str, spec: dict[str, Any], version: str = "v1alpha3") -> dict[str, Any]:
    """Make an object of a kind."""
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": "object"}, "spec": spec}


def changed(obj: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Change fields of an object; ``spec__devices`` is ``spec.devices``, ``...`` removes a field."""
    other = deepcopy(obj)
    for path, value in changes.items():
        *steps, last = path.split("__")
        place = other
        for step in steps:
            place = place.setdefault(step, {})
        if value is ...:
            place.pop(last, None)
        else:
            place[last] = value
    return other


def errors(problems: Iterable[Problem]) -> list[tuple[str, str]]:
    """List the errors: field and message."""
    return [(problem.field, problem.message) for problem in problems if problem.level == "error"]


def warnings(problems: Iterable[Problem]) -> list[tuple[str, str]]:
    """List the warnings: rule and path."""
    return [(problem.rule, str(problem.path)) for problem in problems if problem.level == "warning"]
