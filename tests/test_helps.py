"""Typical mistakes of platform teams: the text names the fix, and the caret points at the place."""

from pathlib import Path

from tests.command import draguard, findings
from tests.rows import each_row, each_row_beside
from tests.structured import claim_manifest

TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
"""
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: worker-1}
spec:
  driver: gpu.example.com
  pool: {name: worker-1, generation: 1, resourceSliceCount: 1}
  nodeName: worker-1
  devices:
  - name: gpu-0
    attributes:
      driverVersion: {version: 1.2.0}
"""
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel:
      expression: device.driver == "gpu.example.com"
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: train
    image: trainer:1
    resources:
      claims: [{name: gpu}]
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
"""
FLAT = TEMPLATE.replace("v1", "v1beta1").replace("        exactly:\n  ", "")
RIGHT = {"template": TEMPLATE, "flat template": FLAT, "slice": SLICE, "class": CLASS, "pod": POD}
OF_DRIVER = 'device.driver == "gpu.example.com"'
DEVICES = "  - name: gpu-0\n"


def said(*manifests: str, options: tuple[str, ...] = ()) -> str:
    return draguard("validate", "-", *options, stdin="---\n".join(manifests).encode()).out


@each_row("manifest", *RIGHT.values())
def test_what_is_right_has_no_error(manifest: str) -> None:
    assert draguard("validate", "-", stdin=manifest.encode()).code == 0


@each_row_beside("of", "right", "wrong", "at", "cure")
def test_the_cure_is_named_where_the_mistake_stands(of: str, right: str, wrong: str, at: list[int], cure: str) -> None:
    found = findings("validate", "-", stdin=RIGHT[of].replace(right, wrong, 1))
    places = [[each["line"], each["column"]] for each in found if each["level"] == "error" and cure in each["hint"]]
    assert places == [at]


def test_what_is_said_once_it_can_be_decoded_is_not_help() -> None:
    wrong = TEMPLATE.replace("deviceClassName: gpu.example.com", "count: [1]")
    shown = said(f"{wrong}      - {{name: other, exactly: {{}}}}\n      - {{name: A, exactly: {{}}}}\n")
    once = "the API server reports this once it can decode the object"
    assert f"\nnote: {once}\n\n" in shown
    assert f'\nnote: {once}\nhelp: did you mean "a"?' in shown
    assert f"help: {once}" not in shown


def test_a_test_for_an_attribute_is_shown_on_one_line() -> None:
    slices = SLICE + "  - {name: gpu-1, attributes: {model: {string: A}}}\n"
    model = 'device.attributes["gpu.example.com"].model'
    several = CLASS.replace(OF_DRIVER, f'|-\n        {OF_DRIVER} &&\n        {model} == "A"')
    assert f'help: check first: {OF_DRIVER} && has({model}) && {model} == "A"\n' in said(slices, several)


def test_a_fix_keeps_the_devices_that_lack_the_attribute_of_a_denied_value(tmp_path: Path) -> None:
    health = 'device.attributes["gpu.example.com"].health'
    selector = f"          selectors: [{{cel: {{expression: '{health} != \"bad\"'}}}}]\n"
    slices = SLICE + "  - {name: gpu-1, attributes: {health: {string: bad}}}\n"
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(f"{slices}---\n{CLASS}---\n{TEMPLATE}{selector}")
    found = [each for each in findings("validate", manifest) if each["rule"] == "selector-fails"]
    assert [each["hint"] for each in found] == [f'check first: !has({health}) || {health} != "bad"']
    assert draguard("validate", "--fix", "--unsafe-fixes", manifest).code == 0
    assert f'!has({health}) || {health} != "bad"' in manifest.read_text()


def test_devices_are_those_that_are_known() -> None:
    reads = '          selectors: [{cel: {expression: \'device.attributes["gpu"].model == "A"\'}}]\n'
    published = SLICE.replace("1.2.0}", "1.2.0}\n      model: {string: A}")
    any_class = CLASS.partition("  selectors")[0].replace("spec:", "spec: {}")
    assert 'no known device has the domain "gpu"' in said(published, TEMPLATE + reads, any_class)
    other = SLICE.replace("driver: gpu", "driver: other")
    assert "asks for 1 device, and no node has any" in said(other, TEMPLATE, CLASS)


def test_what_never_is_allocated_names_the_release() -> None:
    constraint = "      constraints: [{matchAttribute: gpu.example.com/driverVersion}]\n      requests:\n"
    template = TEMPLATE.replace("      requests:\n", constraint) + "          count: 2\n"
    slices = SLICE + "  - {name: gpu-1, attributes: {driverVersion: {version: 1.3.0}}}\n"
    assert "a node has the devices; judged as Kubernetes 1.37\n" in said(template, slices, CLASS)
    options = "--kubernetes-version", "1.35"
    assert "a node has the devices; judged as Kubernetes 1.35\n" in said(template, slices, CLASS, options=options)


@each_row(
    ("wanted", "lack"),
    ("memory: 60Gi", ""),
    ("memory: 100Gi", "enough memory for request gpu: capacity memory: a device has 80Gi, 100Gi is wanted"),
    ("cores: 1", "enough capacity for request gpu: capacity cores is not published, only memory"),
)
def test_capacity_that_no_device_has_is_named_with_the_most_that_one_has(wanted: str, lack: str) -> None:
    devices = "".join(f"  - {{name: gpu-{size}, capacity: {{memory: {{value: {size}Gi}}}}}}\n" for size in (80, 40))
    template = f"{TEMPLATE}          capacity: {{requests: {{{wanted}}}}}\n"
    shown = said(template, SLICE.partition(DEVICES)[0] + devices, CLASS)
    message = f"requests[0].exactly.capacity: even if all devices are free, no node has a device with {lack}"
    assert (message in shown) is bool(lack)
    assert ("gets a whole device" in shown) is not bool(lack)


@each_row(
    ("devices", "fields", "why"),
    ("{name: a}, {name: b}", "", ": request gpu and request more want 3 devices, and 2 are left for them together\n"),
    ("{name: a}, {name: b}", "allocationMode: All", ": request gpu and request more want 4 devices, and 2 are left"),
    ("{name: a}, {name: b, allowMultipleAllocations: true}", "count: 2", "\n"),
)
def test_requests_that_want_too_many_devices_together(devices: str, fields: str, why: str) -> None:
    slices = f"{SLICE.partition('  devices:')[0]}  devices: [{devices}]\n"
    second = f"      - {{name: more, exactly: {{deviceClassName: gpu.example.com, {fields}}}}}\n"
    shown = said(f"{TEMPLATE}          count: 2\n{second}", slices, CLASS)
    assert "requests: even if all devices are free, 1 node cannot meet all requests together" in shown
    assert why in shown


_ALIKE = "{name: a, attributes: {m: {int: 0}, r: {int: 0}}}, {name: b, attributes: {m: {int: 0}, r: {int: 0}}}"
_CROSSED = "{name: a, attributes: {m: {int: 0}, r: {int: 0}}}, {name: b, attributes: {m: {int: 0}, r: {int: 1}}}"
_C = "{name: c, attributes: {m: {int: 1}, r: {int: 1}}}"
_SIZES = "{name: a, capacity: {memory: {value: 8Gi}}}, {name: b, capacity: {memory: {value: 80Gi}}}"
_SIZE = "capacity: {requests: {memory: 9Gi}}"
_LACK = "without the capacity that request r0 asks for, a node has the devices; capacity memory: a device has 8Gi, 9Gi"
_TAINTED = "{name: t, taints: [{key: k, effect: NoSchedule}]}"
_TOLERATE = "with all taints tolerated, a node has the devices: tolerate them in requests, or wait until they are gone"
_M, _R, _D = "matchAttribute: g/m", "matchAttribute: g/r", "distinctAttribute: g/m"


@each_row(
    ("devices", "requests", "constraints", "field", "help_"),
    (
        f"{_CROSSED}, {_C}",
        ["count: 2"],
        [_M, _R],
        "constraints[0].matchAttribute",
        f"without the constraint {_M}, a node",
    ),
    (f"{_ALIKE}, {_C}", ["count: 2"], [_D, _R], "constraints[0].distinctAttribute", f"without the constraint {_D}, a"),
    (_CROSSED, ["count: 2"], [_M, _R], "constraints[1].matchAttribute", f"without the constraint {_R}, a node has"),
    (
        f"{_CROSSED}, {_C}",
        ["", ""],
        [_M, _R],
        "constraints[0].matchAttribute",
        f"without the constraint {_M}, a node has",
    ),
    (
        _ALIKE,
        ["", ""],
        [_D],
        "constraints[0].distinctAttribute",
        f"without the constraint {_D}, a node has the devices",
    ),
    (_ALIKE, ["count: 2"], [_D, "distinctAttribute: g/r"], "constraints", f"without the constraints {_D} and distinct"),
    (_SIZES, [_SIZE, _SIZE], [], "requests[0].exactly.capacity", _LACK),
    (_TAINTED, [""], [], "requests", _TOLERATE),
    (f"{_TAINTED}, {_ALIKE}", ["count: 2", ""], [], "requests", _TOLERATE),
)
def test_what_a_claim_that_is_never_allocated_can_do_without_is_named(
    devices: str, requests: list[str], constraints: list[str], field: str, help_: str
) -> None:
    asked = [f"{{name: r{place}, exactly: {{deviceClassName: g, {each}}}}}" for place, each in enumerate(requests)]
    stated = f"requests: [{', '.join(asked)}], constraints: [{', '.join(f'{{{each}}}' for each in constraints)}]"
    claim = f"{claim_manifest().partition('spec:')[0]}spec: {{devices: {{{stated}}}}}\n"
    slices = f"{SLICE.partition('  devices:')[0]}  devices: [{devices}]\n"
    shown = said(*(each.replace("gpu.example.com", "g") for each in (claim, slices, CLASS)))
    assert f"warning never-allocated: spec.devices.{field}: even if all devices are free, " in shown
    assert help_ in shown.partition("\nhelp: ")[2].partition("; judged as")[0]


def test_an_allocated_claim_is_not_allocated_again() -> None:
    tainted = SLICE.replace(DEVICES, f"{DEVICES}    taints: [{{key: maintenance, effect: NoSchedule}}]\n")
    results = "[{request: gpu, driver: gpu.example.com, pool: worker-1, device: gpu-0}]"
    for status, warned in (("", True), (f"status: {{allocation: {{devices: {{results: {results}}}}}}}\n", False)):
        assert ("never-allocated" in said(claim_manifest(more=status), tainted, CLASS)) is warned
