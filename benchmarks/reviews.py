"""What reviews take through ``admission.review``, beside json.loads of one: python -m benchmarks.reviews."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import interleaved
from webhook.admission import ReviewOptions, review
from webhook.documents import Document, read
from webhook.policy.load import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.admission import Endpoint

REVIEWS = 200
ROUNDS = 25
DRA = "resource.k8s.io/v1"
POLICIES = str(Path(__file__).parent.parent / "policies" / "*" / "policy.yaml")
POLICIES_AIM = 60


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


def asked(name: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Make the review of the request to create an object.

    Args:
        name: What its resource is called.
        obj: The object.
    """
    group, _, version = obj["apiVersion"].rpartition("/")
    metadata = obj["metadata"]
    about = {
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "resource": {"group": group, "version": version, "resource": name},
        "name": metadata["name"],
        "namespace": metadata.get("namespace", ""),
        "object": obj,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request() | about}


def reviews() -> dict[str, dict[str, Any]]:
    """Make a review of each of the kinds that matter most, by the names of their resources."""
    made = pod(5000)
    placed = {"namespace": "default"}
    template = {"metadata": {"labels": {"app": "service"}}, "spec": made["spec"]}
    deployment = {"selector": {"matchLabels": {"app": "service"}}, "template": template}
    devices = [{"name": f"gpu-{index}", "attributes": {"index": {"int": index}}} for index in range(16)]
    pool = {"name": "node", "generation": 1, "resourceSliceCount": 1}
    published = {"driver": "gpu.example.com", "nodeName": "node", "pool": pool, "devices": devices}
    gpu = {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 2}
    claimed = {"devices": {"requests": [{"name": "gpu", "exactly": gpu}]}}
    objects: dict[str, dict[str, Any]] = {
        "pods": made,
        "deployments": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": placed, "spec": deployment},
        "resourceclaims": {"apiVersion": DRA, "kind": "ResourceClaim", "metadata": placed, "spec": claimed},
        "resourceslices": {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": {}, "spec": published},
    }
    made_reviews = {
        name: asked(name, obj | {"metadata": {"name": "node-x"} | obj["metadata"]}) for name, obj in objects.items()
    }
    # As the library's policy wants it: by the driver.
    driver = {"username": "system:serviceaccount:dra-drivers:gpu", "groups": ["system:authenticated"]}
    made_reviews["resourceslices"]["request"]["userInfo"] = driver
    return made_reviews


def main() -> None:
    """Print the figures."""
    text = json.dumps({"request": request()})
    library = load(document.data for document in read([POLICIES]) if isinstance(document, Document))

    def repeatedly(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(REVIEWS):
                work()

        return run

    def answering(made: dict[str, Any], endpoint: Endpoint, options: ReviewOptions) -> Callable[[], None]:
        return repeatedly(lambda: review(made, endpoint, options))

    print("microseconds a review, alone and with the policy library")
    for name, made in reviews().items():
        baseline, *seconds = interleaved(
            repeatedly(lambda: json.loads(text)),
            answering(made, "validate", ReviewOptions()),
            answering(made, "validate", ReviewOptions(policies=library)),
            answering(made, "mutate", ReviewOptions()),
            answering(made, "mutate", ReviewOptions(policies=library)),
            rounds=ROUNDS,
        )
        validated, judged, mutated, changed = (each / REVIEWS * 1e6 for each in seconds)
        print(f"{name:15} validate {validated:4.0f} {judged:4.0f}   mutate {mutated:4.0f} {changed:4.0f}", end="   ")
        print(f"policies {judged - validated + changed - mutated:4.0f}", end="")
        print(f" (aim {POLICIES_AIM})" if name == "pods" else "")
    print(f"json.loads of a pod's review takes {baseline / REVIEWS * 1e6:.0f}")


if __name__ == "__main__":
    main()
