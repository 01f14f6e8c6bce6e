"""Reviews of pre-scheduled pods."""

from __future__ import annotations

from typing import Any


def review(uid: str, spec: dict[str, Any] | None = None, **request: Any) -> dict[str, Any]:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"nodeName": "node-1", "resourceClaims": [{"name": "gpu"}]} if spec is None else spec,
    }
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "object": pod,
            **request,
        },
    }
