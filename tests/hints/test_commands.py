"""Mistakes of authors of manifests: the hint names what was meant.

In ``manifests.yaml``, each ``#!`` is the hint of a finding on its line; there are no other findings. An empty line
separates what is judged by itself.
"""

from tests.command import ROOT, draguard, findings
from tests.rows import each_row

POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ml}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, SELECTED}}]}}
"""
SLICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu, attributes: {model: {value: A}}}]
"""


def asking(fields: str) -> str:
    return CLAIM.replace("SELECTED", fields)


@each_row("manifest", *(ROOT / "tests/hints/manifests.yaml").read_text(encoding="utf-8").split("\n\n"))
def test_the_hint_names_what_was_meant(manifest: str) -> None:
    lines = enumerate(manifest.splitlines(), 1)
    wanted = [(number, hint.strip()) for number, line in lines for hint in line.split("#!")[1:]]
    found = findings("validate", "-", "--runtime-config", "api/beta=true", stdin=manifest)
    assert sorted((each["line"], each["hint"]) for each in found) == sorted(wanted)


def hints_on_amounts(capacity: str, wanted: str) -> list[str]:
    device = f"{{name: a, allowMultipleAllocations: true, capacity: {capacity}}}"
    published = SLICE.replace("{name: gpu, attributes: {model: {value: A}}}", device)
    of_class = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\n"
    of_class += "spec: {selectors: [{cel: {expression: device.driver == 'd.example.com'}}]}\n"
    manifests = f"{published}---\n{of_class}---\n{asking(f'capacity: {{requests: {wanted}}}')}"
    found = findings("validate", "-", stdin=manifests)
    return [each["hint"] for each in found if each["rule"] == "amount-without-unit"]


def test_a_unit_is_meant_of_which_devices_have_as_much() -> None:
    capacity = "{a: {value: 20Gi}, b: {value: 100G}, c: {value: 1M}, d: {value: 20Gi}}"
    hints = hints_on_amounts(capacity, "{a: 40, b: '40', c: 2, d: 2m}")
    assert hints == ['did you mean "40Mi"?', 'did you mean "40G"?', 'did you mean "2Mi"?']


@each_row(
    ("policy", "wanted", "hints"),
    ("{default: '1', validValues: ['1', '2']}", "2", []),
    ("{default: '1', validRange: {min: '1', max: '4', step: '1'}}", "3", []),
    ("{default: '1', validRange: {min: '1', max: '4', step: '1'}}", "5", []),
    ("{default: '2'}", "2", []),
    ("{default: '2'}", "3", ['did you mean "3M"?']),
    ("{default: 10M, validValues: [10M, 20M]}", "2", ['did you mean "2M"?']),
    ("{default: 1M, validRange: {min: 1M, max: 4M}}", "3", ['did you mean "3M"?']),
)
def test_no_unit_is_missing_where_a_device_admits_the_number(policy: str, wanted: str, hints: list[str]) -> None:
    assert hints_on_amounts(f"{{shares: {{value: 100M, requestPolicy: {policy}}}}}", f"{{shares: {wanted}}}") == hints


@each_row(
    ("wanted", "hints"),
    ("40", ["write a unit, too, as in 40Gi"]),
    ("999999", ["write a unit, too, as in 999999Mi"]),
    ("500000m", ["millions of bytes are M or Mi"]),
    ("5000000", []),
)
def test_the_unit_of_memory_depends_on_its_digits(wanted: str, hints: list[str]) -> None:
    found = findings("validate", "-", stdin=asking(f"capacity: {{requests: {{memory: {wanted}}}}}"))
    assert [each["hint"] for each in found if each["rule"] == "amount-without-unit"] == hints


def test_a_field_beside_its_map_is_judged_where_it_belongs() -> None:
    lines = (
        "requests: [{name: gpu,",
        "deviceClassName: d.example.com, exactly: {selectors: [{cel: null,",
        "expression: 'device.drivr == 1'}]}}]",
    )
    manifest = CLAIM.partition("requests")[0] + "\n    ".join(lines) + "}}\n"
    found = [(each["rule"], each["line"]) for each in findings("validate", "-", stdin=manifest)]
    assert found == [("unknown-field", 6), ("unknown-field", 7), ("cel-selector", 7)]


@each_row(("name", "rules"), ("rdma-nic", []), ("gpu", ["claim-not-used"]), ("magnetic", ["claim-not-used"]))
def test_the_name_of_an_unknown_claim_tells_whether_it_is_for_the_network(name: str, rules: list[str]) -> None:
    manifest = POD.replace("name: gpu", "name: used")
    manifest += f"  resourceClaims: [{{name: used, resourceClaimName: a}}, {{name: {name}, resourceClaimName: b}}]"
    assert [each["rule"] for each in findings("validate", "-", stdin=manifest)] == rules


def test_an_amount_of_cpu_is_none_of_bytes() -> None:
    resources = "{requests: {cpu: 100 m, memory: 100mb}, limits: {cpu: many}, claims: [{name: gpu}]}"
    manifest = (
        POD.replace("{claims: [{name: gpu}]}", resources) + "  resourceClaims: [{name: gpu, resourceClaimName: c}]"
    )
    assert [each["hint"] for each in findings("validate", "-", stdin=manifest) if each["rule"] == "quantity"] == [
        'did you mean "100m"?',
        'did you mean "100M"?',
        "write a number of CPUs, or of thousandths with m: 2, 1.5, 500m",
    ]
    fixed = draguard("validate", "--fix", "-", stdin=manifest.encode()).out
    assert "requests: {cpu: 100m, memory: 100mb}" in fixed
