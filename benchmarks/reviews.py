"""Reviews a second through ``admission.review``, beside json.loads of the same: python -m benchmarks.reviews."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import interleaved
from webhook.admission import Options, review
from webhook.documents import Document, read
from webhook.policy.load import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.admission import Endpoint

REVIEWS = 2000
AIM = 8000
POLICIES = str(Path(__file__).parent.parent / "policies" / "*" / "policy.yaml")
POLICIES_AIM = 150


def pod(size: int) -> dict[str, Any]:
    """Make a pod of about ``size`` bytes of JSON, as an API server would send it."""
    containers = [
        {
            "name": f"container-{index}",
            "image": "registry.example.com/team/service:v1.2.3",
            "command": ["/bin/service", "--config", "/etc/service/config.yaml"],
            "env": [{"name": f"VARIABLE_{number}", "value": "value"} for number in range(8)],
            "resources": {"claims": [{"name": "gpu"}], "limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}},
            "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        }
        for index in range(4)
    ]
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default", "labels": {"app": "service"}, "annotations": {}},
        "spec": {
            "containers": containers,
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
            "restartPolicy": "Always",
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
        },
    }
    made["metadata"]["annotations"]["padding"] = "x" * (size - len(json.dumps(made)))  # type: ignore[index]
    return made


def request() -> dict[str, Any]:
    """Make the request to create that pod."""
    return {
        "uid": "c7df00db-27c3-4c67-850c-3afc6bef34bb",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "pod",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
        "object": pod(5000),
        "oldObject": None,
        "dryRun": False,
    }


def main() -> None:
    """Print the figures."""
    asked = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request()}
    text = json.dumps(asked)
    library = load(document.data for document in read([POLICIES]) if isinstance(document, Document))

    def repeatedly(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(REVIEWS):
                work()

        return run

    def answering(endpoint: Endpoint, options: Options) -> Callable[[], None]:
        return repeatedly(lambda: review(asked, endpoint, options))

    baseline, validating, mutating, judging, changing = interleaved(
        repeatedly(lambda: json.loads(text)),
        answering("validate", Options()),
        answering("mutate", Options()),
        answering("validate", Options(policies=library)),
        answering("mutate", Options(policies=library)),
    )
    print(f"a pod of 5,000 bytes; json.loads of its review: {REVIEWS / baseline:,.0f}/s")
    for name, seconds in {"validate": validating, "mutate": mutating}.items():
        rate = REVIEWS / seconds
        print(f"{name}: {rate:,.0f} reviews/s (aim {AIM:,}), {seconds / baseline:.2f} x json.loads")
    more = (judging - validating + changing - mutating) / REVIEWS * 1e6
    print(f"the policy library takes {more:.0f} µs more (aim {POLICIES_AIM} µs), validating and mutating together")


if __name__ == "__main__":
    main()
