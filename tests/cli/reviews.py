"""Reviews of pre-scheduled pods."""

from typing import Any

from tests.admission.reviews import asked


def review(uid: str, spec: dict[str, Any] | None = None, **request: Any) -> dict[str, Any]:
    """Make the review of a pre-scheduled pod, or of a pod with this spec."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"nodeName": "node-1", "resourceClaims": [{"name": "gpu"}]} if spec is None else spec,
    }
    return asked(pod, uid=uid, **request)
