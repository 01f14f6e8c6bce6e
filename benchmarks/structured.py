"""A large ResourceSlice and a claim through ``validate``, beside json.loads: python -m benchmarks.structured."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.timing import interleaved
from webhook import validate

DEVICES = 128
ATTRIBUTES = 32
REQUESTS = 5
AIMS = {"slice": 12.0, "claim": 0.15}


def resource_slice() -> dict[str, Any]:
    """Make a slice with as many devices and attributes as there may be."""
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
    """Print what one object takes."""
    text = json.dumps(obj)

    def load() -> None:
        for _ in range(times):
            json.loads(text)

    def judge() -> None:
        for _ in range(times):
            validate(obj)

    baseline, ours = interleaved(load, judge)
    each = ours / times * 1000
    print(f"{name} of {len(text)} bytes: {each:.3f} ms (aim {AIMS[name]} ms), {ours / baseline:.1f} x json.loads")


def main() -> None:
    """Print the figures."""
    measure("slice", resource_slice(), 10)
    measure("claim", claim(), 500)


if __name__ == "__main__":
    main()
