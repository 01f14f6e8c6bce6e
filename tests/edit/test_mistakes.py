"""Everyday mistakes, and how many of them are fixed."""

from pathlib import Path

import pytest

from tests.command import draguard, findings
from tests.rows import each_row, each_row_beside

CLUSTER = Path(__file__).with_name("cluster.yaml").read_text(encoding="utf-8")


def found(folder: Path, text: str, *options: str) -> tuple[list[str], str]:
    """Validate a text; return the rules with findings, and the fixed text."""
    file = folder / "all.yaml"
    file.write_text(text, encoding="utf-8")
    rules = [each["rule"] for each in findings("validate", *options, file) if each["level"] != "note"]
    return rules, file.read_text(encoding="utf-8")


def test_the_manifests_have_no_findings_before_a_mistake(tmp_path: Path) -> None:
    assert found(tmp_path, CLUSTER)[0] == []


@each_row_beside("about", "right", "wrong")
def test_a_mistake_is_fixed(about: str, right: str, wrong: str, tmp_path: Path) -> None:
    assert CLUSTER.count(right) >= 1, about
    broken = CLUSTER.replace(right, wrong)
    left, corrected = found(tmp_path, broken, "--fix", "--unsafe-fixes")
    assert left == []
    assert corrected != broken
    others = [line for line in broken.splitlines() if CLUSTER.splitlines().count(line) == 1]
    assert [line for line in corrected.splitlines() if line in others] == others


@pytest.mark.parametrize("wrong", ["Al", "Alll", "Exact"])
def test_a_short_value_becomes_another_one_only_if_that_is_asked_for(wrong: str, tmp_path: Path) -> None:
    broken = CLUSTER.replace("ExactCount\n          count: 1", wrong)
    assert found(tmp_path, broken, "--fix") == (["count-for-mode"], broken)
    assert found(tmp_path, broken, "--fix", "--unsafe-fixes")[1] != broken
    assert "allocationMode: All\n" in found(tmp_path, broken.replace(wrong, "all"), "--fix")[1]


@each_row_beside("about", "right", "wrong")
def test_what_only_a_person_knows_is_left(about: str, right: str, wrong: str, tmp_path: Path) -> None:
    assert CLUSTER.count(right) >= 1, about
    broken = CLUSTER.replace(right, wrong)
    assert found(tmp_path, broken)[0] != []
    assert found(tmp_path, broken, "--fix", "--unsafe-fixes")[1] == broken


def test_each_error_of_a_selector_is_fixed_that_can_be(tmp_path: Path) -> None:
    wrong = 'device.capacity["gpu.example.com"].memory >= quantity("40Gi")'
    conditions = (
        f"device.driver == gpu.example.com && {wrong}",
        f'{wrong} and device.driver = "gpu.example.com"',
        f"device.driver == gpu.example.com && {wrong} && device.n",
    )
    for condition in conditions:
        broken = CLUSTER.replace('device.driver == "gpu.example.com" # all of them', condition)
        left, corrected = found(tmp_path, broken, "--fix", "--unsafe-fixes")
        assert 'device.driver == "gpu.example.com"' in corrected
        assert '.memory.compareTo(quantity("40Gi")) >= 0' in corrected
        assert left == ["cel-selector"] * condition.endswith("n")


def test_a_finding_of_which_some_errors_are_left_is_fixed_and_a_refused_fix_names_its_own_error(tmp_path: Path) -> None:
    lesser, refused = "device.driver == gpu.example.com && device.n", 'device.attributes["d"].type in [mig, 1]'
    selectors = f"[{{cel: {{expression: '{lesser}'}}}}, {{cel: {{expression: '{refused}'}}}}]"
    head = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\n"
    file = tmp_path / "a.yaml"
    file.write_text(f"{head}spec: {{selectors: {selectors}}}\n", encoding="utf-8")
    said = draguard("validate", "--fix", "--unsafe-fixes", file).out
    assert 'device.driver == "gpu.example.com" && device.n' in file.read_text(encoding="utf-8")
    assert refused in file.read_text(encoding="utf-8")
    assert "fixed 1 finding in 1 file; 2 left" in said
    assert "with the fix there is still error cel-selector: expected type 'string' but found 'int'" in said


PARAMETERS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com"'}}]
  config:
  - opaque:
      driver: gpu.nvidia.com
      parameters:
        apiVersion: resource.nvidia.com/v1beta1
        kind: GpuConfig
        sharing: {strategy: SHARING}
"""
TOO_MUCH = PARAMETERS.replace("SHARING", "MPS, mpsConfig: {defaultActiveThreadPercentage: 150}")


def test_a_true_note_that_a_misspelling_hid_does_not_block_its_fix(tmp_path: Path) -> None:
    wrong = PARAMETERS.replace("SHARING", "TimeSlicng")
    assert found(tmp_path, wrong)[0] == ["wrong-parameters"]
    assert found(tmp_path, wrong, "--fix", "--unsafe-fixes") == ([], wrong.replace("Slicng", "Slicing"))
    assert "note driver-gate" in draguard("validate", tmp_path / "all.yaml").out


def test_a_misspelt_driver_that_the_class_does_not_select_is_one_finding(tmp_path: Path) -> None:
    misspelt = TOO_MUCH.replace("driver: gpu.nvidia", "driver: gpu.nvida")
    assert found(tmp_path, misspelt)[0] == ["config-for-other-driver"]


@each_row(
    ("right", "wrong"),
    ("driver: gpu.nvidia", "driver: gpu.nvida"),
    ("sharing:", "sharng:"),
    ("mpsConfig:", "mpsConfg:"),
)
def test_wrong_parameters_that_a_misspelling_hid_do_not_block_its_fix(right: str, wrong: str, tmp_path: Path) -> None:
    left, corrected = found(tmp_path, TOO_MUCH.replace(right, wrong), "--fix", "--unsafe-fixes")
    assert "wrong-parameters" in left
    assert corrected == TOO_MUCH


REQUEST = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.example.com, COUNT}}]}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      COUNT
      containers: [{name: train, image: i, resources: {claims: [{name: gpus}]}}]
      resourceClaims: [{name: gpus, resourceClaimName: gpus}]
"""


@each_row(
    ("manifest", "wrong", "right"),
    (REQUEST, "allocationMode: All, count: 2", "allocationMode: All"),
    (REQUEST, "count: 2, allocationMode: All", "allocationMode: All"),
    (JOB, "restartPolicy: Always", "restartPolicy: Never"),
    (CLUSTER, "All\n          count: 1", "All"),
)
def test_a_value_that_cannot_stand_there_is_fixed_if_that_is_asked_for(
    manifest: str, wrong: str, right: str, tmp_path: Path
) -> None:
    broken, fixed = (
        manifest.replace("COUNT", each).replace("ExactCount\n          count: 1", each) for each in (wrong, right)
    )
    assert found(tmp_path, broken, "--fix")[1] == broken
    assert found(tmp_path, broken, "--fix", "--unsafe-fixes") == ([], fixed)
