"""Manifests, and the rules that they break."""

from pathlib import Path

from tests.command import findings
from tests.structured import claim_manifest

CLAIM = """\
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata:
  name: claim
  namespace: default
spec:
  resourceClassName: gpu.example.com
"""
CLAIM_V1 = claim_manifest()
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n"
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: pod
spec:
  containers:
  - name: container
    image: image
    resources:
      claims:
      - name: gpu
  resourceClaims:
  - name: gpu
"""
OLD_POD = POD + "    source:\n      resourceClaimName: claim\n"
NEW_POD = POD + "    resourceClaimName: claim\n"


def rules(*arguments: str | Path, stdin: str = "") -> list[tuple[str, str]]:
    return [(each["rule"], each["field"]) for each in findings("validate", *arguments, stdin=stdin)]


def levels(*arguments: str, stdin: str) -> list[tuple[str, str]]:
    return [(finding["level"], finding["rule"]) for finding in findings("validate", *arguments, "-", stdin=stdin)]
