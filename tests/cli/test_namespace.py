"""Objects that state no namespace are in that of ``-n``."""

from tests.command import draguard
from tests.rows import each_row

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held, namespace: team}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.example.com}}]}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimName: held}]
"""
DEVICES = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: gpu.example.com
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices: [{name: g0}]
---
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", pods: "10"}}
"""


@each_row("of_pod", ["", "\n  namespace: team"])
@each_row("of_claim", ["", ", namespace: team"])
def test_references_are_looked_up_there(of_pod: str, of_claim: str) -> None:
    claim, pod = CLAIM.replace(", namespace: team", of_claim), POD.replace("{name: p}", f"\n  name: p{of_pod}")
    manifests = f"{claim}---\n{pod}".encode()
    assert "claim-not-found" not in draguard("validate", "-n", "team", "-", stdin=manifests).out
    done = draguard("validate", "-n", "other", "-", stdin=manifests)
    assert ("claim-not-found" in done.out) == (bool(of_pod) != bool(of_claim))
    assert ("is not among these manifests in namespace other" in done.out) == (bool(of_claim) and not of_pod)


@each_row("command", [("validate",), ("mutate",), ("simulate",), ("policy", "check"), ("snapshot",)])
def test_what_cannot_be_a_namespace_is_refused(command: tuple[str, ...]) -> None:
    done = draguard(*command, "-n", "Team_X", stdin=b"")
    assert (done.code, "argument -n/--namespace: 'Team_X' is not a namespace: " in done.err) == (2, True)


def test_an_object_is_repeated_if_another_states_that_namespace() -> None:
    manifests = f"{CLAIM}---\n{CLAIM.replace(', namespace: team', '')}".encode()
    assert (
        'ResourceClaim "held" in namespace team is at line 3, too'
        in draguard("validate", "-n", "team", "-", stdin=manifests).out
    )
    assert "repeated-object" not in draguard("validate", "-", stdin=manifests).out


def test_pods_are_scheduled_there() -> None:
    manifests = f"{CLAIM}---\n{DEVICES}---\n{POD}".encode()
    done = draguard("simulate", "-n", "team", "-", stdin=manifests)
    assert (done.code, done.out.splitlines()[0]) == (0, "team/p: a")
    assert draguard("simulate", "-", stdin=manifests).code == 1
