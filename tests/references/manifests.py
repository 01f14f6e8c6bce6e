"""Manifests whose references are followed, and what is found in them."""

from typing import Any

from tests.command import findings


def device_class(*expressions: str) -> str:
    """Write the DeviceClass gpu."""
    selectors = ", ".join(f"cel: {{expression: '{each}'}}" for each in expressions)
    return f"""
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: gpu}}
spec: {{selectors: [{selectors}]}}
---
"""


def resource_slice(*devices: str) -> str:
    """Write a ResourceSlice of driver g.example.com."""
    return f"""
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: s}}
spec:
  driver: g.example.com
  pool: {{name: s, generation: 1, resourceSliceCount: 1}}
  nodeName: node-a
  devices: [{", ".join(devices)}]
---
"""


def claim_of(devices: str) -> str:
    """Write a claim with these devices."""
    return f"""
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: c}}
spec: {{devices: {{{devices}}}}}
"""


def found_in(manifests: str) -> list[dict[str, Any]]:
    """Return the findings in manifests from standard input."""
    return findings("validate", "-", stdin=manifests)


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
"""
