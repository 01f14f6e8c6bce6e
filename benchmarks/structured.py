"""The time of judging alone, beside json.loads: python -m benchmarks.structured."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from benchmarks.reviews import pod
from benchmarks.timing import build, interleaved
from webhook.api import judgement

if TYPE_CHECKING:
    from collections.abc import Callable

DEVICES = 128
ATTRIBUTES = 32
REQUESTS = 5
ROUNDS = 60


def resource_slice() -> dict[str, Any]:
    """Make a slice with the maximum number of devices and attributes."""
    devices = [
        {
            "name": f"gpu-{device}",
            "attributes": {f"attribute{number}": {"string": f"value-{number}"} for number in range(ATTRIBUTES)},
        }
        for device in range(DEVICES)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1-gpu"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def claim() -> dict[str, Any]:
    """Make a claim with a few requests, without selectors."""
    requests = [
        {"name": f"request-{number}", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}}
        for number in range(REQUESTS)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "default"},
        "spec": {"devices": {"requests": requests}},
    }


def measure(name: str, obj: dict[str, Any], times: int) -> None:
    """Print the time of judging one object, already decoded as in a webhook."""
    text = json.dumps(obj)

    def repeat(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(times):
                work()

        return run

    works = (lambda: json.loads(text), lambda: judgement.judge_admitted(obj))
    loaded, judged = (
        seconds / times * 1e6 for seconds in interleaved(*map(repeat, works), rounds=ROUNDS, clock=time.process_time)
    )
    print(f"{name:22} {judged:7.1f} us, {judged / loaded:.2f} of json.loads, {loaded:7.1f}")


def main() -> None:
    """Print the figures."""
    print(build())
    measure("pod of 5 KB", pod(5000), 200)
    measure("claim with 5 requests", claim(), 200)
    measure("slice of 128 x 32", resource_slice(), 2)


if __name__ == "__main__":
    main()
