"""What is advised about the devices of a claim is what the allocator could give."""

from pathlib import Path

import pytest

from tests.command import draguard

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.acme.io"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  driver: gpu.acme.io
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: m, counters: {memory: {value: 80Gi}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: devices}
spec:
  driver: gpu.acme.io
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 2}
  devices:
  - {name: whole, consumesCounters: [{counterSet: m, counters: {memory: {value: 80Gi}}}]}
  - {name: half-1, consumesCounters: [{counterSet: m, counters: {memory: {value: 40Gi}}}]}
  - {name: half-2, consumesCounters: [{counterSet: m, counters: {memory: {value: 40Gi}}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: incomplete}
spec:
  driver: gpu.acme.io
  nodeName: n2
  pool: {name: n2, generation: 1, resourceSliceCount: 2}
  devices: [DEVICES]
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: c}}
spec:
  devices:
    requests: [{{name: d, exactly: {{deviceClassName: gpu, count: {count}}}}}]
"""


@pytest.mark.parametrize(
    ("count", "incomplete", "message", "hint"),
    [
        (9, 1, "no node has more than 3 (n1)", "help: ask for 2 at most"),
        (
            3,
            1,
            'no node has the devices of request "d", even',
            'help: at most 2 together for request "d": counter memory of m: 80Gi is left, 3 devices consume 160Gi',
        ),
        (3, 3, 'no node has the devices of request "d", even', "is incomplete: 1 of 2 slices of generation 1; judged"),
    ],
)
def test_what_helps_is_advised(count: int, incomplete: int, message: str, hint: str, tmp_path: Path) -> None:
    cluster, claim = tmp_path / "cluster.yaml", tmp_path / "claim.yaml"
    devices = ", ".join(f"{{name: gpu-{each}}}" for each in range(incomplete))
    cluster.write_text(CLUSTER.replace("DEVICES", devices), encoding="utf-8")
    claim.write_text(CLAIM.format(count=count), encoding="utf-8")
    said = draguard("validate", claim, "--cluster", cluster).out
    assert message in said
    assert hint in said


@pytest.mark.parametrize(
    ("fields", "is_told"), [("{name: a, allowMultipleAllocations: true}", True), ("{name: a}", False)]
)
def test_devices_that_requests_may_share(fields: str, tmp_path: Path, *, is_told: bool) -> None:
    cluster, claim = tmp_path / "cluster.yaml", tmp_path / "claim.yaml"
    _, *others = (
        CLUSTER.replace("DEVICES", fields).replace("resourceSliceCount: 2", "resourceSliceCount: 1").split("---")
    )
    cluster.write_text("---".join([*others[:2], others[-1]]), encoding="utf-8")
    claim.write_text(CLAIM.format(count=5), encoding="utf-8")
    said = draguard("validate", claim, "--cluster", cluster).out
    assert "help: ask for 1 at most: all devices of a claim are used from one node" in said
    assert ("; several requests may share them" in said) == is_told
