"""Claims in files, and what is found in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.command import Done

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: {name}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
{more}"""


def claim(name: str = "gpu", more: str = "") -> str:
    return CLAIM.format(name=name, more=more)


def rules(done: Done) -> list[tuple[str, str]]:
    return [(each["level"], each["rule"]) for each in json.loads(done.out)["findings"]]


def suppressed(done: Done) -> list[tuple[str, str, str]]:
    found: list[dict[str, Any]] = json.loads(done.out)["suppressed"]
    return [(each["rule"], *each["suppression"].values()) for each in found]
