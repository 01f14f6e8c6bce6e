"""Mistakes of authors of manifests: the hint names what was meant."""

from __future__ import annotations

from tests.command import draguard, findings
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
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: CLASS, SELECTED}}]MORE}}
"""
RULE = """
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: r}
spec: {taint: {key: a, effect: NoSchedule}, deviceSelector: {node: node-1}}
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
STATEFUL_SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
  resourceClaimTemplates: [{metadata: {name: gpu}}]
"""


def asking(fields: str, name: str = "gpu") -> str:
    return CLAIM.replace("CLASS", name).replace("SELECTED", fields).replace("MORE", "")


def selecting(driver: str, expression: str) -> str:
    return asking(f"selectors: [{{cel: {{expression: '{expression}'}}}}]", driver)


def configured(driver: str, parameters: str) -> str:
    config = f", config: [{{opaque: {{driver: {driver}, parameters: {parameters}}}}}]"
    return CLAIM.replace("CLASS", driver).replace(", SELECTED", "").replace("MORE", config)


def constrained(attribute: str) -> str:
    constraints = f", constraints: [{{matchAttribute: {attribute}}}]"
    return CLAIM.replace("CLASS", "d.example.com").replace(", SELECTED", "").replace("MORE", constraints)


SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
ALONE = "write the name alone: a pod can use only claims and templates of its own namespace"
OBJECTS = (
    "write each as an object of kind ResourceClaimTemplate, and name it in the pod's "
    "resourceClaims[].resourceClaimTemplateName"
)
SERVED = "Kubernetes 1.37 serves ResourceClaim in resource.k8s.io/v1, resource.k8s.io/v1beta2, resource.k8s.io/v1beta1"
WITHOUT_KIND = "leave it out: the driver takes parameters without apiVersion and kind"


@each_row(
    ("manifest", "hints"),
    [
        (POD + "  resourceClaims: [{name: gpu, resourceClaimName: infra/shared}]", [ALONE]),
        (
            POD + "  resourceClaims: [{name: gpu, resourceClaimName: '${CLAIM}'}]",
            ["fill it in, then validate the result, too"],
        ),
        (
            POD + "  resourceClaims: [{name: gpu, resourceClaimName: shared, namespace: infra}]",
            ["leave it out: claims and templates are in the namespace of the pod"],
        ),
        (STATEFUL_SET, [OBJECTS]),
        (
            POD + "  resources: {claims: [{name: gpu}]}\n  resourceClaims: [{name: gpu, resourceClaimName: c}]",
            ["containers use claims: write them into resources.claims of each"],
        ),
        (
            selecting("nvidia.com/gpu", 'device.driver == "gpu.nvidia.com"'),
            ['did you mean "gpu.nvidia.com"?'],
        ),
        (selecting("d.example.com", 'device.driver == "d.example.com"').replace("name: gpu,", ""), ["add a name"]),
        (POD + "  resourceClaims: [{name: gpu, resourceClaimName: c}]\n  resourceClaimTemplates: []", [OBJECTS]),
        (constrained("[a/b, c/d]"), ["write one value, not a list"]),
        (asking("count: {min: 2}"), ["write one value, not a map"]),
        (configured("GPU_x", "{}"), ['did you mean "gpu-x"?'] * 2),
        (
            selecting("gpu", 'quantity(device.capacity["d.example.com"].memory) >= quantity("1Gi")'),
            ["a capacity is a quantity: leave out quantity(…) around it"],
        ),
        (
            asking("count: 1.5, capacity: {requests: {a: 50%}}"),
            ["write a whole number", "write a number, perhaps with a suffix such as k, M, Gi: 40Gi"],
        ),
        (
            asking("tolerations: [{operator: Exists, effect: PreferNoSchedule}]"),
            ["nodes have this effect, devices do not: NoSchedule keeps new pods away, None only informs"],
        ),
        (
            "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {extendedResourceName: gpu}",
            ["put a domain in front of it, as in example.com/gpu"],
        ),
        (
            POD.replace("{claims: [{name: gpu}]}", "{requests: {a.b/c: 1}, limits: {a.b/c: 2}, claims: [{name: gpu}]}")
            + "  resourceClaims: [{name: gpu, resourceClaimName: c}]",
            ["write limits alone: requests are the same, as such resources are not overcommitted"],
        ),
        (
            SLICE.replace("devices:", "sharedCounters: [{name: c, counters: {a: {value: 1}}}]\n  devices:").replace(
                ", attributes: {model: {value: A}}", ""
            ),
            ["write sharedCounters into a slice of their own in the same pool, and count it in resourceSliceCount"],
        ),
        (
            SLICE.replace(
                "attributes: {model: {value: A}}", "taints: [{key: a}, {key: b, effect: NoExecute, timeAdded: now}]"
            ),
            [
                "NoSchedule keeps new pods away, NoExecute evicts running ones, too",
                "write a time as in 2026-01-31T12:00:00Z",
            ],
        ),
        (
            asking("count: 1").replace("requests: [", "requests: [{name: gpu, exactly: {deviceClassName: nic}}, "),
            ['another one is called "gpu", too: give this one a name of its own'],
        ),
        (
            POD.replace("{claims: [{name: gpu}]}", "{claims: [{name: gpu}, {name: gpu, request: a}]}")
            + "  resourceClaims: [{name: gpu, resourceClaimName: c}, {resourceClaimName: d}]",
            [
                "a container names a claim as a whole, or each request of it that it uses: keep one of the two",
                "add a name, by which containers use the claim",
            ],
        ),
        (
            POD.replace("{claims: [{name: gpu}]}", "{limits: {a.b/c: one}, claims: [{name: gpu}]}")
            + "  resourceClaims: [{name: gpu, resourceClaimName: c}, {name: gpu, resourceClaimName: d}]",
            ["write a whole number"],
        ),
        (
            POD + "  resourceClaims: [{name: gpu, resourceClaimName: c}, {name: gpu, resourceClaimName: d}]",
            ['another one is called "gpu", too: give this one a name of its own'],
        ),
        (
            POD,
            ["list it in resourceClaims of the pod, too: gpu, with the name of its claim or template"],
        ),
        (
            selecting("gpu.nvidia.com", 'device.attributes["gpu.nvidia.com"].driverVersion >= "580"'),
            ['compare it as in .compareTo(semver("580.0.0")) >= 0'],
        ),
        *(
            (selecting("gpu", expression.replace("CAPACITY", 'device.capacity["d.example.com"].memory')), [hint])
            for expression, hint in (
                ("int(CAPACITY) > 40", "a capacity becomes a number by a method: ….memory.asInteger() > 40000000000"),
                (
                    'CAPACITY + quantity("1") > quantity("2")',
                    'quantities are added by methods: ….memory.add(quantity("1Gi")), ….memory.sub(…)',
                ),
                (
                    'device.attributes.has("model")',
                    'has() takes a field after a dot: has(device.attributes["DRIVER"].model)',
                ),
                (
                    'device.attributes["d.example.com"].version.isLessThan("1.2.3")',
                    'state the type: device.attributes["d.example.com"].version.isLessThan(semver("1.2.3"))',
                ),
            )
        ),
        (RULE, ["name the pool: most drivers name a node's pool after the node"]),
        (SLICE, ["write the field of its type: bool, int, string or version"]),
        (constrained("pcieroot"), ['did you mean "resource.kubernetes.io/pcieRoot"?']),
        (
            selecting("d.example.com", 'device.pool == "n"'),
            ["selectors read attributes and capacities, not the names of devices, pools and nodes"],
        ),
        (
            selecting("mig.nvidia.com", 'device.attributes["profile"].string == "1g.5gb"'),
            ['did you mean device.attributes["gpu.nvidia.com"].profile?'],
        ),
        (
            selecting(SRIOV, f'device.attributes["{SRIOV}"].pfName == "ens1f0"'),
            ['did you mean "PFName"?'],
        ),
        (
            selecting("d.example.com", 'device.attributes["model"].string == "A"'),
            ['name the domain, which is usually the driver: device.attributes["DRIVER"].model'],
        ),
        (
            selecting("gpu.nvidia.com", 'device.attributes["gpu.nvidia.com"].cudaComputeCapability.major >= 8'),
            ["the parts of a version are methods: .major()"],
        ),
        (selecting("gpu.nvidia.com", 'device.attributes["gpu.nvidia.com"].cudaComputeCapability.major() >= 8'), []),
        (selecting("dra.net", 'device.attributes["dra.net"].rdma == "True"'), [""]),
        (selecting("dra.net", 'device.attributes["dra.net"].rdma == "true"'), ["compare it with true"]),
        (
            selecting("tpu.google.com", 'device.attributes["tpu.google.com"].index == "0"'),
            ["compare it with 0"],
        ),
        (
            selecting("tpu.google.com", 'device.attributes["tpu.google.com"].brand == true'),
            ['compare it with "true"'],
        ),
        (configured("dra.net", "{kind: NetworkConfig, interface: {mtu: 9000}}"), [WITHOUT_KIND]),
        (configured("dra.net", '{interface: {mtu: "9000"}}'), ["leave out the quotes"]),
        (configured("dra.net", '{interface: {dhcp: "true"}}'), ["leave out the quotes"]),
        (configured("dra.net", '{interface: {mtu: "large"}}'), [""]),
        (configured("dra.net", "{interface: {addresses: 10.0.0.1/24}}"), ["write a list, even of one item"]),
        (configured("dra.net", "{interface: {name: 1}}"), ["put it in quotes"]),
        (
            configured(SRIOV, f"{{apiVersion: {SRIOV}/v1alpha1, kind: VfConfig, netAttachDef: a}}"),
            ['did you mean "netAttachDefName"?'],
        ),
        (
            "apiVersion: resource.kubernetes.io/v1\nkind: ResourceClaim\nmetadata: {name: a}",
            [SERVED],
        ),
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClass\nmetadata: {name: a}",
            ["Kubernetes 1.37 serves ResourceClass in no version; a DeviceClass has taken its place"],
        ),
    ],
)
def test_the_hint_names_what_was_meant(manifest: str, hints: list[str]) -> None:
    found = findings("validate", "-", "--runtime-config", "api/beta=true", stdin=manifest)
    assert [each.get("hint") or "" for each in found] == hints


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
    [
        ("{default: '1', validValues: ['1', '2']}", "2", []),
        ("{default: '1', validRange: {min: '1', max: '4', step: '1'}}", "3", []),
        ("{default: '1', validRange: {min: '1', max: '4', step: '1'}}", "5", []),
        ("{default: '2'}", "2", []),
        ("{default: '2'}", "3", ['did you mean "3M"?']),
        ("{default: 10M, validValues: [10M, 20M]}", "2", ['did you mean "2M"?']),
        ("{default: 1M, validRange: {min: 1M, max: 4M}}", "3", ['did you mean "3M"?']),
    ],
)
def test_no_unit_is_missing_where_a_device_admits_the_number(policy: str, wanted: str, hints: list[str]) -> None:
    assert hints_on_amounts(f"{{shares: {{value: 100M, requestPolicy: {policy}}}}}", f"{{shares: {wanted}}}") == hints


@each_row(
    ("wanted", "hints"),
    [
        ("40", ["write a unit, too, as in 40Gi"]),
        ("999999", ["write a unit, too, as in 999999Mi"]),
        ("500000m", ["millions of bytes are M or Mi"]),
        ("5000000", []),
    ],
)
def test_the_unit_of_memory_depends_on_its_digits(wanted: str, hints: list[str]) -> None:
    found = findings("validate", "-", stdin=asking(f"capacity: {{requests: {{memory: {wanted}}}}}"))
    assert [each["hint"] for each in found if each["rule"] == "amount-without-unit"] == hints


def test_a_field_beside_its_map_is_judged_where_it_belongs() -> None:
    manifest = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: d.example.com
      exactly:
        selectors:
        - cel: null
          expression: device.drivr == "d.example.com"
"""
    assert [(each["rule"], each["line"]) for each in findings("validate", "-", stdin=manifest)] == [
        ("unknown-field", 9),
        ("unknown-field", 13),
        ("cel-selector", 13),
    ]


@each_row(
    ("name", "rules"),
    [("rdma-nic", []), ("gpu", ["claim-not-used"]), ("magnetic", ["claim-not-used"])],
)
def test_the_name_of_an_unknown_claim_tells_whether_it_is_for_the_network(name: str, rules: list[str]) -> None:
    manifest = POD.replace("name: gpu", "name: used")
    manifest += f"  resourceClaims: [{{name: used, resourceClaimName: a}}, {{name: {name}, resourceClaimName: b}}]"
    assert [each["rule"] for each in findings("validate", "-", stdin=manifest)] == rules


def test_a_partition_of_a_fabric_may_be_of_a_vfio_device() -> None:
    manifest = constrained("gpu.nvidia.com/partition2").replace("d.example.com", "vfio.gpu.nvidia.com")
    assert findings("validate", "-", stdin=manifest) == []


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
