"""Typical mistakes of platform teams: the text names the fix, and the caret points at the place."""

from pathlib import Path

from tests.command import draguard, findings
from tests.rows import each_row

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
EXACTLY = "        exactly:\n          deviceClassName: gpu.example.com\n"
CLASS_NAME = "deviceClassName: gpu.example.com\n"
OF_DRIVER = 'device.driver == "gpu.example.com"'


IN_CLASS = " " * 10
"""Where further fields of a request stand, at the end of the template."""


def helped(right: str, wrong: str, at: tuple[int, int], help_: str) -> None:
    """Check that a right manifest is fine, and the help for a wrong one."""
    assert draguard("validate", "-", stdin=right.encode()).code == 0
    assert right != wrong
    judged = findings("validate", "-", stdin=wrong)
    found = [each for each in judged if each["level"] == "error" and help_ in each["hint"]]
    assert [(each["line"], each["column"]) for each in found] == [at]


@each_row(
    ("right", "wrong", "at", "help_"),
    ("kind: ResourceClaimTemplate", "kind: ResourceClaim", (5, 3), "or write kind: ResourceClaimTemplate"),
    ("ResourceClaimTemplate", "ResourceClaimTemplates", (2, 1), 'did you mean "ResourceClaimTemplate"?'),
    ("deviceClassName", "deviceClass", (10, 11), 'did you mean "deviceClassName"?'),
    ("name: gpu\n", "name: GPU\n", (8, 9), 'did you mean "gpu"?'),
    ("{name: one-gpu}", "{generateName: one_gpu_}", (3, 12), 'did you mean "one-gpu-"?'),
    (
        EXACTLY,
        f"        firstAvailable:\n        - name: big\n          exactly: {{{CLASS_NAME[:-1]}}}\n",
        (11, 11),
        "the fields of `exactly` are fields of the alternative itself",
    ),
    (
        "      requests:\n",
        "      config:\n      - opaque: {driver: a.b, parameters: text}\n      requests:\n",
        (8, 31),
        "write a map: without quotes around it, and without | after the key",
    ),
    (
        "      requests:\n",
        "      constraints: [{matchAttribute: gpu.example.com/Driver-Version}]\n      requests:\n",
        (7, 22),
        'did you mean "gpu.example.com/Driver_Version"?',
    ),
    ("    dev", "    status: {}\n    dev", (6, 5), "leave it out: the API server sets the status of an object"),
)
def test_the_cure_of_a_template_is_named(right: str, wrong: str, at: tuple[int, int], help_: str) -> None:
    helped(TEMPLATE, TEMPLATE.replace(right, wrong, 1), at, help_)


@each_row(
    ("more", "at", "help_"),
    (
        f"{IN_CLASS}allocationMode: All\n{IN_CLASS}count: 2\n",
        (12, 11),
        "All takes all matching devices: leave out count",
    ),
    (f"{IN_CLASS}capacity: {{memory: 10Gi}}\n", (11, 22), 'did you mean "requests.memory"?'),
    (
        "        firstAvailable: [{name: a, deviceClassName: b}]\n",
        (8, 9),
        "set `exactly` for one class, or list alternatives in `firstAvailable`, most preferred first",
    ),
)
def test_the_cure_of_a_request_is_named(more: str, at: tuple[int, int], help_: str) -> None:
    helped(TEMPLATE, TEMPLATE + more, at, help_)


@each_row(
    ("version", "help_"),
    ("v1.2", 'did you mean "1.2.0"?'),
    ("535.104.05", 'did you mean "535.104.5"?'),
    ("1.2", 'write three numbers, in quotes, as in "1.2.0"'),
)
def test_the_cure_of_a_version_is_named(version: str, help_: str) -> None:
    helped(SLICE, SLICE.replace("1.2.0", version), (11, 23), help_)


@each_row(
    ("selector", "column", "help_"),
    ("device.driver == \u201cgpu.example.com\u201d", 36, "use straight quotes: \" or '"),
    ('self.driver == "gpu.example.com"', 19, "a selector reads `device`, as in device.driver"),
    ('$.driver == "gpu.example.com"', 19, "a selector reads `device`, as in device.driver"),
    (
        'device.attributes["a.b"].models.includes("A")',
        59,
        "includes needs the feature gate DRAListTypeAttributes, which is off",
    ),
)
def test_the_cure_of_a_selector_is_named(selector: str, column: int, help_: str) -> None:
    helped(CLASS, CLASS.replace(OF_DRIVER, selector), (7, column), help_)


@each_row(
    ("manifest", "right", "wrong", "at", "help_"),
    (SLICE, "driver: gpu", "driverName: gpu", (5, 3), 'did you mean "driver"?'),
    (
        POD,
        "[{name: gpu}]",
        "[{name: gpu, request: gpu/big}]",
        (9, 28),
        'containers name the request alone, whichever alternative is allocated: "gpu"',
    ),
    (
        POD,
        "      claims: [{name: gpu}]",
        "      limits:\n        claims: [{name: gpu}]",
        (10, 9),
        "claims are not quantities: they stand beside limits and requests, in resources.claims",
    ),
)
def test_the_cure_is_named_where_the_mistake_stands(
    manifest: str, right: str, wrong: str, at: tuple[int, int], help_: str
) -> None:
    helped(manifest, manifest.replace(right, wrong, 1), at, help_)


def test_a_request_with_alternatives_gets_a_hint_with_the_fields_of_its_version() -> None:
    both = "        deviceClassName: c\n        firstAvailable: [{name: a, deviceClassName: b}]\n"
    flat = TEMPLATE.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1").replace(EXACTLY, both)
    hints = {each["rule"]: each["hint"] for each in findings("validate", "-", stdin=flat)}
    said = "set `deviceClassName` for one class, or list alternatives in `firstAvailable`, most preferred first"
    assert hints["exactly-or-first-available"] == said


def test_what_is_said_once_it_can_be_decoded_is_no_help() -> None:
    wrong = TEMPLATE.replace("deviceClassName: gpu.example.com", "count: [1]")
    wrong += "      - {name: other, exactly: {}}\n"
    done = draguard("validate", "-", stdin=wrong.encode())
    said = "the API server reports this once it can decode the object"
    assert f"\nnote: {said}" in done.out
    assert f"help: {said}" not in done.out


def test_a_test_for_an_attribute_is_shown_on_one_line() -> None:
    slices = SLICE + "  - name: gpu-1\n    attributes:\n      model: {string: A}\n"
    model = 'device.attributes["gpu.example.com"].model'
    several = CLASS.replace(OF_DRIVER, f'|-\n        {OF_DRIVER} &&\n        {model} == "A"')
    done = draguard("validate", "-", stdin=f"{slices}---\n{several}".encode())
    assert f'help: check first: {OF_DRIVER} && has({model}) && {model} == "A"\n' in done.out


def test_a_fix_keeps_the_devices_that_lack_the_attribute_of_a_denied_value(tmp_path: Path) -> None:
    health = 'device.attributes["gpu.example.com"].health'
    selector = f"          selectors: [{{cel: {{expression: '{health} != \"bad\"'}}}}]\n"
    slices = SLICE + "  - name: gpu-1\n    attributes:\n      health: {string: bad}\n"
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(f"{slices}---\n{CLASS}---\n{TEMPLATE}{selector}")
    found = [each for each in findings("validate", manifest) if each["rule"] == "selector-fails"]
    assert [each["hint"] for each in found] == [f'check first: !has({health}) || {health} != "bad"']
    assert draguard("validate", "--fix", "--unsafe-fixes", manifest).code == 0
    assert f'!has({health}) || {health} != "bad"' in manifest.read_text()


@each_row(
    ("old", "new", "said"),
    ("version: 1.2.0}", "version: 1.2.0}\n      model: {string: A}", 'no known device has the domain "gpu"'),
    ("driver: gpu.example.com\n", "driver: other.example.com\n", "asks for 1 device, and no node has any"),
)
def test_devices_are_those_that_are_known(old: str, new: str, said: str) -> None:
    selector = '          selectors: [{cel: {expression: \'device.attributes["gpu"].model == "A"\'}}]\n'
    manifests = [SLICE.replace(old, new), TEMPLATE + (selector if "domain" in said else ""), CLASS]
    if "domain" in said:
        manifests[2] = CLASS.partition("  selectors")[0].replace("spec:", "spec: {}")
    done = draguard("validate", "-", stdin="---\n".join(manifests).encode())
    assert said in done.out


def test_what_never_is_allocated_names_the_release() -> None:
    constraint = TEMPLATE.replace(
        "      requests:\n", "      constraints: [{matchAttribute: gpu.example.com/driverVersion}]\n      requests:\n"
    )
    slices = SLICE + "  - name: gpu-1\n    attributes:\n      driverVersion: {version: 1.3.0}\n"
    manifests = f"{constraint}          count: 2\n---\n{slices}---\n{CLASS}"
    for options, release in (((), "1.37"), (("--kubernetes-version", "1.35"), "1.35")):
        done = draguard("validate", "-", *options, stdin=manifests.encode())
        assert f"note: judged as Kubernetes {release}\n" in done.out


@each_row(
    ("wanted", "said"),
    ("memory: 60Gi", ""),
    ("memory: 100Gi", "capacity memory: a device has 80Gi, 100Gi is wanted; "),
    ("cores: 1", "capacity cores is not published: a device has memory; "),
)
def test_capacity_that_no_device_has_is_named_with_the_most_that_one_has(wanted: str, said: str) -> None:
    devices = "".join(f"  - name: gpu-{size}\n    capacity: {{memory: {{value: {size}Gi}}}}\n" for size in (80, 40))
    slices = SLICE.partition("  - name")[0] + devices
    template = f"{TEMPLATE}          capacity: {{requests: {{{wanted}}}}}\n"
    done = draguard("validate", "-", stdin=f"{template}---\n{slices}---\n{CLASS}".encode())
    assert ('request "gpu" the capacity that it asks for' in done.out) is bool(said)
    assert (f"help: {said}judged as" in done.out) is bool(said)
    assert ("gets a whole device" in done.out) is not bool(said)


@each_row(
    ("devices", "fields", "said"),
    ("{name: a}, {name: b}", "", "help: 3 devices are wanted, and a node has at most 2; judged as"),
    ("{name: a}, {name: b}", "allocationMode: All", "note: judged as"),
    ("{name: a}, {name: b, allowMultipleAllocations: true}", "count: 2", "note: judged as"),
    ("{name: a, taints: [{key: k, effect: NoSchedule}]}, {name: b}, {name: c}", "", "help: tolerate them"),
)
def test_requests_that_want_too_many_devices_together(devices: str, fields: str, said: str) -> None:
    slices = f"{SLICE.partition('  devices:')[0]}  devices: [{devices}]\n"
    second = f"      - {{name: more, exactly: {{{CLASS_NAME.strip()}, {fields}}}}}\n"
    template = f"{TEMPLATE}          count: 2\n{second}"
    done = draguard("validate", "-", stdin=f"{template}---\n{slices}---\n{CLASS}".encode())
    assert f"\n{said}" in done.out


def test_an_allocated_claim_is_not_allocated_again() -> None:
    more = SLICE.replace("  - name: gpu-0\n", "  - name: gpu-0\n    taints: [{key: maintenance, effect: NoSchedule}]\n")
    spec = TEMPLATE.partition("  spec:\n")[2].replace("\n  ", "\n")[2:]
    claim = f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: a}}\nspec:\n{spec}"
    results = "[{request: gpu, driver: gpu.example.com, pool: worker-1, device: gpu-0}]"
    for status, warned in (("", True), (f"status: {{allocation: {{devices: {{results: {results}}}}}}}\n", False)):
        done = draguard("validate", "-", stdin=f"{claim}{status}---\n{more}---\n{CLASS}".encode())
        assert ("never-allocated" in done.out) is warned
