"""The time of answering reviews, including decoding, beside json.loads: python -m benchmarks.reviews."""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import build, interleaved
from webhook.admission import Call, ReviewOptions, answer
from webhook.admission.requests import parse
from webhook.budget import Budget, limited
from webhook.documents import Document, read
from webhook.engine.mutation import Evaluator
from webhook.optional import install
from webhook.policy.load import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.admission import Endpoint
    from webhook.policy.evaluation.policyset import PolicySet

REVIEWS = 200
ROUNDS = 25
LONG = 3600.0
DRA = "resource.k8s.io/v1"
POLICIES = str(Path(__file__).parent.parent / "policies" / "*" / "policy.yaml")


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
        name: The name of its resource.
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
    """Make a review of each important kind, by the names of their resources."""
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
    # As the library's policy requires it: by the driver.
    driver = {"username": "system:serviceaccount:dra-drivers:gpu", "groups": ["system:authenticated"]}
    made_reviews["resourceslices"]["request"]["userInfo"] = driver
    return made_reviews


def varied(made: dict[str, Any], count: int = REVIEWS) -> list[bytes]:
    """Write a review many times, each time of another object, as objects of a cluster differ.

    Args:
        made: The review.
        count: The number of reviews.
    """
    bodies = []
    for number in range(count):
        each = copy.deepcopy(made)
        request, metadata = each["request"], each["request"]["object"]["metadata"]
        request["uid"] = f"{number:08x}{request['uid'][8:]}"
        metadata["name"] = request["name"] = f"{metadata['name']}-{number}"
        if "namespace" in metadata:
            metadata["namespace"] = request["namespace"] = f"team-{number % 7}"
        labels = {"app.kubernetes.io/instance": f"instance-{number % 50}", "example.com/number": str(number)}
        metadata["labels"] = metadata.get("labels", {}) | labels
        for index, container in enumerate(_containers(request["object"]["spec"])):
            container["image"] = f"registry.example.com/team-{number % 7}/service-{index}:v1.{number}"
            container["env"][0]["value"] = "x" * (number % 40)
        bodies.append(json.dumps(each).encode())
    return bodies


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    containers: list[dict[str, Any]] = spec.get("template", {"spec": spec})["spec"].get("containers", [])
    return containers


def evaluating_alone(bodies: list[bytes], library: PolicySet) -> Callable[[], None]:
    """Return a function that evaluates policies for decoded reviews, as the webhook does at both endpoints."""
    evaluator, passes = Evaluator(library), ReviewOptions(policies=library).passes
    requests = [parse(body) for body in bodies]

    def run() -> None:
        with limited(Budget(deadline=time.monotonic() + LONG)):
            for request in requests:
                if not passes or passes["validate"](request) is None:
                    evaluator.validate(request)
                if not passes or passes["mutate"](request) is None:
                    evaluator.mutate(request, lambda _: None)

    return run


def main() -> None:
    """Print the figures."""
    install("reviews")
    library = load(document.data for document in read([POLICIES]) if isinstance(document, Document))
    library.prepare()  # as served ones are

    def each(bodies: list[bytes], work: Callable[[bytes], object]) -> Callable[[], None]:
        def run() -> None:
            for body in bodies:
                work(body)

        return run

    def answering(bodies: list[bytes], endpoint: Endpoint, options: ReviewOptions) -> Callable[[], None]:
        result = answer(bodies[0], Call(endpoint), options).body
        if not json.loads(result)["response"]["allowed"]:
            raise RuntimeError(f"the review is not admitted: {result.decode()}")
        return each(bodies, lambda body: answer(body, Call(endpoint), options))

    print(f"{build()}; {REVIEWS} different reviews of each kind")
    print(
        "microseconds a review, decoding included, alone and with the policy library; policies alone at both endpoints"
    )
    for name, made in reviews().items():
        bodies = varied(made)
        baseline, decoding, *seconds = interleaved(
            each(bodies, json.loads),
            each(bodies, parse),
            answering(bodies, "validate", ReviewOptions()),
            answering(bodies, "validate", ReviewOptions(policies=library)),
            answering(bodies, "mutate", ReviewOptions()),
            answering(bodies, "mutate", ReviewOptions(policies=library)),
            evaluating_alone(bodies, library),
            rounds=ROUNDS,
            clock=time.process_time,
        )
        validated, judged, mutated, changed, policies = (taken / REVIEWS * 1e6 for taken in seconds)
        print(f"{name:15} validate {validated:4.0f} {judged:4.0f}   mutate {mutated:4.0f} {changed:4.0f}", end="   ")
        print(f"policies {policies:5.1f}", end="")
        print(f"   decoding {decoding / REVIEWS * 1e6:.0f}, json.loads {baseline / REVIEWS * 1e6:.0f}")


if __name__ == "__main__":
    main()
