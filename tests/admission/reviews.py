"""Reviews as an API server sends them."""

from typing import Any

from webhook.api.versions import find
from webhook.policy.manifest.kinds import guess_resource

CLAIM: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceClaim",
    "metadata": {"name": "claim", "namespace": "default"},
    "spec": {"resourceClassName": "gpu.example.com"},
}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod", "namespace": "default"},
    "spec": {
        "nodeName": "node-1",
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}],
    },
}
UID = "c7df00db"
ALLOWED = {"uid": UID, "allowed": True}
"""The response that allows a request, and says no more."""


def asked(obj: Any, old: Any = None, operation: str = "CREATE", **request: Any) -> dict[str, Any]:
    """Make a review as the API server does."""
    shown = obj or old
    group, _, version = shown["apiVersion"].rpartition("/")
    served = find(shown["apiVersion"], shown["kind"])
    default = "default" if served is None or served.type.namespaced else ""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID,
            "kind": {"group": group, "version": version, "kind": shown["kind"]},
            "resource": {"group": group, "version": version, "resource": guess_resource(shown["kind"])},
            "name": shown["metadata"].get("name", ""),
            "namespace": shown["metadata"].get("namespace") or default,
            "operation": operation,
            "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
            "object": obj,
            "oldObject": old,
            "dryRun": False,
            **request,
        },
    }


def with_spec(**spec: Any) -> dict[str, Any]:
    return {**CLAIM, "spec": {**CLAIM["spec"], **spec}}


SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "slice"},
    "spec": {
        "driver": "GPU.example.com",
        "nodeName": "node-1",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
    },
}
