"""Everyday mistakes, and how many of them are fixed."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.command import draguard, findings

ALL_OF_THEM = '- cel:\n      expression: device.driver == "gpu.example.com" # all of them\n'
ALL_ABOVE = '- expression: device.driver == "gpu.example.com" # all of them\n    cel:\n'
CLUSTER = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu.example.com
spec:
  selectors:
  - cel:
      expression: device.driver == "gpu.example.com" # all of them
  config:
  - opaque:
      driver: gpu.example.com
      parameters: {apiVersion: gpu.resource.example.com/v1alpha1, kind: GpuConfig}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: one-gpu
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
          allocationMode: ExactCount
          count: 1
          selectors:
          - cel:
              expression: |-
                device.attributes["gpu.example.com"].model == "A100" &&
                  device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0
      config:
      - requests: [gpu]
        opaque:
          driver: gpu.example.com
          parameters: # of the driver
            apiVersion: gpu.resource.example.com/v1alpha1
            kind: GpuConfig
            sharing: {strategy: TimeSlicing}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata:
  name: node-1-gpus
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes:
      model: {string: A100}
    capacity:
      memory: {value: 80Gi}
  - name: gpu-1
    attributes:
      model: {string: A100}
      nvlink: {bool: true}
    capacity:
      memory: {value: 80Gi}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: inference
spec:
  replicas: 2
  selector:
    matchLabels: {app: inference}
  template:
    metadata:
      labels: {app: inference}
    spec:
      containers:
      - name: server
        image: server:1
        resources:
          claims:
          - name: gpu
            request: gpu
      resourceClaims:
      - name: gpu
        resourceClaimTemplateName: one-gpu
"""
MODEL = 'device.attributes["gpu.example.com"].model'
BOTH = f"""|-
                {MODEL} == "A100" &&
                  device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0"""
EXACTLY = CLUSTER[CLUSTER.index("exactly:") : CLUSTER.index("      config:\n      - requests")]
FIXED = [
    ("attributes in a misspelt domain", MODEL, MODEL.replace("example", "exmaple")),
    ("a misspelt attribute", f"{MODEL} ==", f"{MODEL.replace('model', 'modle')} =="),
    ("a request that the claim has not", "request: gpu\n", "request: gpus\n"),
    ("a misspelt template", "TemplateName: one-gpu", "TemplateName: one-gpus"),
    ("a misspelt class", "deviceClassName: gpu.example.com", "deviceClassName: gpu.exmaple.com"),
    ("v1beta1's shape", EXACTLY, dedent(EXACTLY.partition("\n")[2]).replace("\n", "\n        ").rstrip(" ")),
    (
        "parameters for a misspelt driver",
        "driver: gpu.example.com\n          param",
        "driver: gpu.exmple.com\n          param",
    ),
    ("a claim that the pod has not", "- name: gpu\n            request", "- name: gpus\n            request"),
    ("configuration of an unknown request", "- requests: [gpu]", "- requests: [gpus]"),
    ("resourceClaimName of a template", "resourceClaimTemplateName: one", "resourceClaimName: one"),
    ("a quantity with a unit", '"40Gi"', '"40Gb"'),
    ("two numbers for a version", BOTH, f'{MODEL} == "A100" && semver("1.0").major() == 1'),
    ("source of 1.30", "resourceClaimTemplateName: one-gpu", "source: {resourceClaimTemplateName: one-gpu}"),
    ("resourceClaimTemplate", "resourceClaimTemplateName:", "resourceClaimTemplate:"),
    ("an enumeration in another case", "ExactCount", "exactCount"),
    ("an attribute that some devices lack", BOTH, 'device.attributes["gpu.example.com"].nvlink'),
    ("= for ==", "model ==", "model ="),
    ("=== for ==", "model ==", "model ==="),
    ("a list in parentheses", f'{MODEL} == "A100"', f'{MODEL} in ("A100", "H100")'),
    ("! for !=", BOTH, f'(!{MODEL} == "B200")'),
    ("and for &&", "&&", "and"),
    ("AND for &&", "&&", "AND"),
    ("and for && and = for ==", '.model == "A100" &&', '.model = "A100" and'),
    ("a quantity as a number with a unit", '.compareTo(quantity("40Gi")) >= 0', " >= 40Gi"),
    ("a domain by its parts", MODEL, "device.attributes.gpu.example.com.model"),
    ("an attribute without its domain", MODEL, "device.attributes.model"),
    ("domain and name in one", MODEL, 'device.attributes["gpu.example.com/model"]'),
    ("the type of an attribute", "model ==", "model.string =="),
    ("a driver that the class does not select", BOTH, 'device.driver == "gpu.exmaple.com"'),
    ("two misspelt names", BOTH, f'{MODEL}l == "A100" && device.capacity["gpu.example.com"].memry == quantity("80Gi")'),
    ("a value in another case", '"A100"', '"a100"'),
    ("a capacity compared by an operator", '.compareTo(quantity("40Gi")) >= 0', ' >= quantity("40Gi")'),
    ("a capacity compared with a text", '.compareTo(quantity("40Gi")) >= 0', ' >= "40Gi"'),
    (
        "a quantity in front of a capacity",
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
        'quantity("40Gi") <= device.capacity["gpu.example.com"].memory',
    ),
    ("a text in the place of a quantity", 'quantity("40Gi")', '"40Gi"'),
    ("a quantity without quotes", 'quantity("40Gi")', "quantity(40Gi)"),
    (
        "a quantity of a capacity",
        'device.capacity["gpu.example.com"].memory',
        'quantity(device.capacity["gpu.example.com"].memory)',
    ),
    ("a function in another case", ".compareTo(", ".compareto("),
    ("a misspelt field of the device", "device.capacity[", "device.capacty["),
    ("an attribute of the driver's name alone", BOTH, 'driver == "gpu.example.com"'),
    ("the value of a capacity", "memory.compareTo", "memory.value.compareTo"),
    (
        "a misspelt attribute of a constraint",
        "      config:\n      - r",
        "      constraints: [{matchAttribute: gpu.example.com/modl}]\n      config:\n      - r",
    ),
    (
        "a misspelt kind and field",
        "kind: GpuConfig\n            sharing: {st",
        "kind: GpuConfg\n            sharing: {st",
    ),
    ("the beginning of a value", "ExactCount", "Exact"),
    ("an expression for a map", "cel:\n      expression: device", "cel: device"),
    ("an expression for a selector", "- cel:\n      expression: device", "- device"),
    ("an expression beside cel", "- cel:\n      expression: device", "- cel:\n    expression: device"),
    ("an expression beside a null", "- cel:\n      expression: device", "- cel: null\n    expression: device"),
    ("an expression above cel", ALL_OF_THEM, ALL_ABOVE),
    ("the name of a claim for a map", "- name: gpu\n            request: gpu", "- gpu"),
    ("a capacity for a map", "memory: {value: 80Gi}", "memory: 80Gi"),
    ("an attribute for a map", "model: {string: A100}", "model: A100"),
    ("a boolean for a map", "nvlink: {bool: true}", "nvlink: true"),
    ("a text for a list", "- requests: [gpu]", "- requests: gpu"),
    ("a version without its group", "resource.k8s.io/v1\nkind: DeviceClass", "v1\nkind: DeviceClass"),
    ("a quoted number", "count: 1", 'count: "1"'),
    ("a number in other quotes", "count: 1", "count: '1' # one"),
    ("a quoted boolean", "count: 1", "count: 1\n          adminAccess: 'false'"),
    ("a quoted field", "count: 1", '"cuont": 1'),
    ("an enumeration that is cut", "allocationMode: ExactCount", "allocationMode: 'ExactCoun'"),
    ("a quoted number of a workload", "replicas: 2", 'replicas: "2"'),
    ("a missing separator", "---\napiVersion: apps/v1", "apiVersion: apps/v1"),
    ("a capital letter", "one-gpu", "One_Gpu"),
    ("a repeated request", "requests: [gpu]", "requests: [gpu, gpu]"),
    ("a misspelt field", "deviceClassName", "deviceClasName"),
    ("a misspelt kind of parameters", "            kind: GpuConfig", "            kind: GpuConfg"),
    ("a misspelt parameter", "strategy:", "stratgy:"),
    ("a misspelt value of a parameter", "TimeSlicing", "TimeSlicng"),
    ("a misspelt kind", "kind: ResourceSlice", "kind: ResourceSlise"),
]
LEFT = [
    ("more devices than there are", "count: 1", "count: 9"),
    ("a selector that never holds", BOTH, "1 > 2"),
    ("a value that no device has", '"A100"', '"B200"'),
    ("a quantity compared as a number", BOTH, 'device.capacity["gpu.example.com"].memory >= 40'),
    ("a capacity compared with a name", BOTH, 'device.capacity["gpu.example.com"].memory == "large"'),
    ("the order of a capacity and a name", BOTH, 'device.capacity["gpu.example.com"].memory >= "1.2.3"'),
    (
        "a capacity compared with a quantity of no number",
        BOTH,
        'device.capacity["gpu.example.com"].memory >= quantity("A100")',
    ),
    ("a claim that no container uses", "          - name: gpu\n            request: gpu\n", "          - {}\n"),
    ("no template at all", "TemplateName: one-gpu", "TemplateName: elsewhere"),
    (
        "both names",
        "resourceClaimTemplateName: one-gpu",
        "resourceClaimTemplateName: one-gpu\n        resourceClaimName: x",
    ),
    ("a domain that none can have", MODEL, MODEL.replace("gpu.example.com", "Gpu_Example")),
]


def found(folder: Path, text: str, *options: str) -> tuple[list[str], str]:
    """Validate a text; return the rules with findings, and the fixed text."""
    file = folder / "all.yaml"
    file.write_text(text, encoding="utf-8")
    rules = [each["rule"] for each in findings("validate", *options, file) if each["level"] != "note"]
    return rules, file.read_text(encoding="utf-8")


def test_the_manifests_have_no_findings_before_a_mistake(tmp_path: Path) -> None:
    assert found(tmp_path, CLUSTER)[0] == []


@pytest.mark.parametrize(("right", "wrong"), [each[1:] for each in FIXED], ids=[each[0] for each in FIXED])
def test_a_mistake_is_fixed(right: str, wrong: str, tmp_path: Path) -> None:
    assert CLUSTER.count(right) >= 1
    broken = CLUSTER.replace(right, wrong)
    assert found(tmp_path, broken)[0] != []
    left, corrected = found(tmp_path, broken, "--fix", "--unsafe-fixes")
    assert left == []
    others = [line for line in broken.splitlines() if CLUSTER.splitlines().count(line) == 1]
    assert [line for line in corrected.splitlines() if line in others] == others


@pytest.mark.parametrize("wrong", ["Al", "Alll", "Exact"])
def test_a_short_value_becomes_another_one_only_if_that_is_asked_for(wrong: str, tmp_path: Path) -> None:
    broken = CLUSTER.replace("ExactCount\n          count: 1", wrong)
    assert found(tmp_path, broken, "--fix") == (["count-for-mode"], broken)
    assert found(tmp_path, broken, "--fix", "--unsafe-fixes")[1] != broken
    assert "allocationMode: All\n" in found(tmp_path, broken.replace(wrong, "all"), "--fix")[1]


@pytest.mark.parametrize(("right", "wrong"), [each[1:] for each in LEFT], ids=[each[0] for each in LEFT])
def test_what_only_a_person_knows_is_left(right: str, wrong: str, tmp_path: Path) -> None:
    assert CLUSTER.count(right) >= 1
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


def test_a_true_note_that_a_misspelling_hid_does_not_block_its_fix(tmp_path: Path) -> None:
    wrong = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
    config:
    - opaque:
        driver: gpu.nvidia.com
        parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicng}}
"""
    assert found(tmp_path, wrong)[0] == ["wrong-parameters"]
    left, corrected = found(tmp_path, wrong, "--fix", "--unsafe-fixes")
    assert (left, corrected) == ([], wrong.replace("Slicng", "Slicing"))
    assert "note driver-gate" in draguard("validate", tmp_path / "all.yaml").out


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
        sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 150}}
"""


def test_a_misspelt_driver_that_the_class_does_not_select_is_one_finding(tmp_path: Path) -> None:
    misspelt = PARAMETERS.replace("driver: gpu.nvidia", "driver: gpu.nvida")
    assert found(tmp_path, misspelt)[0] == ["config-for-other-driver"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("driver: gpu.nvidia", "driver: gpu.nvida"), ("sharing:", "sharng:"), ("mpsConfig:", "mpsConfg:")],
)
def test_wrong_parameters_that_a_misspelling_hid_do_not_block_its_fix(right: str, wrong: str, tmp_path: Path) -> None:
    left, corrected = found(tmp_path, PARAMETERS.replace(right, wrong), "--fix", "--unsafe-fixes")
    assert "wrong-parameters" in left
    assert corrected == PARAMETERS
