"""Feature gates are set as for kube-apiserver."""

from tests.cli.manifests import levels
from tests.command import draguard
from tests.rows import each_row

TAINTED = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata:
  name: tainted
spec:
  driver: gpu.example.com
  nodeName: node1
  pool: {name: node1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu0
    taints:
    - {key: example.com/broken, effect: NoSchedule, timeAdded: "2026-01-01T00:00:00Z"}
"""


class TestFeatureGates:
    def test_a_field_is_dropped_if_its_gate_is_off_by_default(self) -> None:
        assert levels("--kubernetes-version", "1.35", stdin=TAINTED) == [("warning", "gate-off")]
        assert levels("--kubernetes-version", "1.36", stdin=TAINTED) == []

    @each_row(
        "gates",
        [
            ["DRADeviceTaints=true"],
            ["AllAlpha=true"],
            ["DRADeviceTaints=false,DRADeviceTaints=1"],
            ["DRADeviceTaints=false", " DRADeviceTaints = T ,"],
            ["AllAlpha=false", "DRADeviceTaints=TRUE"],
        ],
    )
    def test_a_gate_is_switched_on_as_kube_apiserver_takes_it(self, gates: list[str]) -> None:
        options = [f"--feature-gates={each}" for each in gates]
        assert levels("--kubernetes-version", "1.35", *options, stdin=TAINTED) == []

    @each_row("gates", ["DRADeviceTaints=false", "AllBeta=f", "AllBeta=true,DRADeviceTaints=0"])
    def test_a_gate_is_switched_off(self, gates: str) -> None:
        options = ["--kubernetes-version", "1.36", "--feature-gates", gates]
        assert levels(*options, stdin=TAINTED) == [("warning", "gate-off")]

    @each_row("command", [["validate"], ["review"], ["serve", "--dev"]])
    @each_row(
        ("arguments", "message"),
        [
            (["DRADeviceTaint=true"], "unrecognized feature gate: DRADeviceTaint; did you mean DRADeviceTaints?"),
            (["DRADeviceTaints"], "missing bool value for feature gate DRADeviceTaints: write DRADeviceTaints=true or"),
            (["DRADeviceTaints=on"], "invalid value of DRADeviceTaints: 'on' is neither true nor false"),
            (["DRAAdminAccess=false"], "cannot set feature gate DRAAdminAccess to false, feature is locked to true"),
            (
                ["DRAListTypeAttributes=true", "--kubernetes-version=1.35"],
                "Kubernetes 1.35 has no feature gate DRAListTypeAttributes; added in 1.36",
            ),
            (
                ["DRAControlPlaneController=true", "--kubernetes-version=1.32"],
                "Kubernetes 1.32 has no feature gate DRAControlPlaneController; added in 1.31 and removed in 1.32",
            ),
        ],
    )
    def test_what_cannot_be_set_is_wrong_use(self, command: list[str], arguments: list[str], message: str) -> None:
        paths = [] if command[0] == "serve" else ["-"]
        done = draguard(*command, "--feature-gates", *arguments, *paths)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"draguard {command[0]}: error: --feature-gates: {message}")
