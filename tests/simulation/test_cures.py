"""Everyday reasons why pods stay pending: with the first cure that draguard proposes, they are scheduled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod, selector
from webhook import simulate
from webhook.objects import JSONObject

GPU: Final = 'device.attributes["gpu.example.com"]'
MEMORY: Final = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("{}")) >= 0'
TAINT: Final = {"key": "broken", "effect": "NoSchedule"}
ROOT: Final = "resource.kubernetes.io/pcieRoot"
XID: Final = {"key": "xid", "value": "79", "effect": "NoExecute"}
NODES: Final = [node("a"), node("b", labels={"zone": "b"})]
COUNTERS: Final = [{"name": "gpu", "counters": {"slices": {"value": "4"}}}]


def gpus(name: str = "a", count: int = 2, **fields: Any) -> JSONObject:
    given: JSONObject = {"attributes": {"model": {"string": "a100"}, "rack": {"int": 1}}}
    return devices(name, count, **given, capacity={"memory": {"value": "80Gi"}}, **fields)


def selecting(expression: str) -> JSONObject:
    return claim(selectors=[selector(expression)])


def constrained(attribute: str) -> JSONObject:
    wanted = claim(count=2)
    wanted["spec"]["devices"]["constraints"] = [{"matchAttribute": attribute}]
    return wanted


def sliced(each: JSONObject, **pool: Any) -> JSONObject:
    changed = deepcopy(each)
    changed["spec"]["pool"].update(pool)
    return changed


def partitions() -> list[JSONObject]:
    """Make two partitions of a GPU that has room for one of them."""
    consumed = [{"counterSet": "gpu", "counters": {"slices": {"value": "3"}}}]
    with_devices = sliced(devices("a", 2, consumesCounters=consumed), resourceSliceCount=2)
    spec = {key: value for key, value in with_devices["spec"].items() if key != "devices"}
    return [
        with_devices,
        {**with_devices, "metadata": {"name": "counters"}, "spec": {**spec, "sharedCounters": COUNTERS}},
    ]


def preferring(*classes: str) -> JSONObject:
    """Make a claim for a device of the first of some classes that is available."""
    made = claim()
    alternatives = [{"name": each, "deviceClassName": each} for each in classes]
    made["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": alternatives}]
    return made


def requesting(**fields: Any) -> Callable[[JSONObject], object]:
    """Return a function that changes the request of the claim."""
    return lambda found: found["c"]["spec"]["devices"]["requests"][0]["exactly"].update(fields)


def rooted(name: str, *roots: str, **fields: Any) -> JSONObject:
    """Make devices of a driver, each at its own PCIe root."""
    made = devices("a", len(roots), **fields)
    made["metadata"]["name"], made["spec"]["driver"] = name, name
    for each, root in zip(made["spec"]["devices"], roots, strict=True):
        each["attributes"] = {ROOT: {"string": root}}
    return made


def pair() -> JSONObject:
    """Make a claim for devices of two drivers."""
    made = claim(deviceClassName="any", selectors=[selector('device.driver == "gpu"')])
    exactly = {"deviceClassName": "any", "selectors": [selector('device.driver == "nic"')]}
    made["spec"]["devices"]["requests"].append({"name": "nic", "exactly": exactly})
    made["spec"]["devices"]["constraints"] = [{"requests": ["r", "nic"], "matchAttribute": ROOT}]
    return made


def mig(*profiles: str) -> list[JSONObject]:
    """Make partitions of a GPU with 8 slices of memory; the digit of a profile tells how many it consumes."""
    parts: list[JSONObject] = []
    for number, profile in enumerate(profiles):
        amounts = {"slices": {"value": profile[0]}, "memory": {"value": f"{profile[0]}0Gi"}}
        consumed = [{"counterSet": "gpu", "counters": amounts}]
        attributes = {"profile": {"string": profile}}
        parts.append({"name": f"d{number}", "attributes": attributes, "consumesCounters": consumed})
    made = sliced(devices("a"), resourceSliceCount=2)
    sets = [{"name": "gpu", "counters": {"slices": {"value": "8"}, "memory": {"value": "80Gi"}}}]
    spec = {key: value for key, value in made["spec"].items() if key != "devices"}
    return [
        {**made, "spec": {**spec, "devices": parts}},
        {**made, "metadata": {"name": "counters"}, "spec": {**spec, "sharedCounters": sets}},
    ]


def requesting_both(first: str, second: str) -> JSONObject:
    """Make a claim with two requests."""
    made = claim(selectors=[selector(first)])
    exactly = {"deviceClassName": "gpu", "selectors": [selector(second)]}
    made["spec"]["devices"]["requests"].append({"name": "s", "exactly": exactly})
    return made


def held_by_other(driver: str, device: str) -> JSONObject:
    """Make a claim that has a device of a driver."""
    made = allocated("held", "a", device)
    made["status"]["allocation"]["devices"]["results"][0]["driver"] = driver
    return made


def gpus_with(*taints: list[JSONObject]) -> JSONObject:
    """Make devices with taints of their own."""
    made = gpus(count=len(taints))
    for each, given in zip(made["spec"]["devices"], taints, strict=True):
        each["taints"] = given
    return made


def ended(name: str) -> JSONObject:
    """Make a pod that has finished."""
    return {**pod(name, nodeName="a"), "apiVersion": "v1", "status": {"phase": "Succeeded"}}


def two(first: JSONObject, second: JSONObject) -> list[JSONObject]:
    """Name two claims of a pod."""
    return [{**first, "metadata": {"name": "c"}}, {**second, "metadata": {"name": "other"}}]


def with_two_containers(resource: str, count: str) -> JSONObject:
    """Make a pod whose containers request a resource each."""
    made = pod(requests={resource: count})
    (first,) = made["spec"]["containers"]
    made["spec"]["containers"].append({**deepcopy(first), "name": "d"})
    return made


def shared(policy: JSONObject | None = None) -> JSONObject:
    """Make a device with 10Gi that may be shared."""
    memory = {"value": "10Gi", **({"requestPolicy": policy} if policy else {})}
    return devices("a", allowMultipleAllocations=True, capacity={"memory": memory})


def with_share(name: str, amount: str) -> JSONObject:
    """Make a claim that has a share of a device."""
    made = allocated(name, "a")
    (result,) = made["status"]["allocation"]["devices"]["results"]
    result |= {"shareID": "00000000-0000-4000-8000-000000000000", "consumedCapacity": {"memory": amount}}
    return made


def half_rooted() -> JSONObject:
    """Make two devices, of which one has a PCIe root."""
    made = devices("a", 2)
    made["spec"]["devices"][0]["attributes"] = {ROOT: {"string": "p0"}}
    return made


def constrained_apart() -> JSONObject:
    """Make a claim with two requests and a constraint for each."""
    made = requesting_both("true", "true")
    made["spec"]["devices"]["constraints"] = [{"requests": [each], "matchAttribute": ROOT} for each in "rs"]
    return made


PROFILE: Final = f'{GPU}.profile == "{{}}"'
RULE: Final[JSONObject] = {
    "apiVersion": "resource.k8s.io/v1alpha3",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "rule"},
    "spec": {"deviceSelector": {"pool": "a"}, "taint": XID},
}
ANY: Final = {"kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}
EXTENDED: Final = device_class("extended", extendedResourceName="example.com/gpu")


class Story(NamedTuple):
    """A pod that stays pending.

    Args:
        objects: The objects besides the class and the nodes.
        because: The reason, from the scheduler or from the devices left.
        proposed: The first cure.
        cure: Applies it to the objects, by name.
        wanted: The pod.
        options: The scheduler.
    """

    objects: list[JSONObject]
    because: str
    proposed: str
    cure: Callable[[JSONObject], object]
    wanted: JSONObject = pod(claims={"gpu": "c"})
    options: Mapping[str, Any] = MappingProxyType({})


STORIES: Final = {
    "the domain is misspelt": Story(
        [gpus(), selecting('device.attributes["gpu.exmaple.com"].model == "a100"')],
        "no such key: model",
        "with gpu.example.com in place of gpu.exmaple.com in the selector of request r",
        requesting(selectors=[selector(f'{GPU}.model == "a100"')]),
    ),
    "the attribute is misspelt": Story(
        [gpus(), selecting(f'{GPU}.modle == "a100"')],
        "no such key: modle",
        "with model in place of modle in the selector of request r",
        requesting(selectors=[selector(f'{GPU}.model == "a100"')]),
    ),
    "the value is spelled otherwise": Story(
        [gpus(), selecting(f'"A100" == {GPU}.model')],
        'model is "a100", wanted "A100"',
        'with model = "a100" in the selector of request r',
        requesting(selectors=[selector(f'"a100" == {GPU}.model')]),
    ),
    "the value has another type": Story(
        [gpus(), selecting(f'{GPU}.rack == "1"')],
        'rack is 1, wanted "1"',
        "with rack = 1 in the selector of request r",
        requesting(selectors=[selector(f"{GPU}.rack == 1")]),
    ),
    "some devices lack the attribute": Story(
        [devices("a", 1), gpus("b", 1), selecting(f'{GPU}.model == "a100"')],
        "no such key: model",
        f'with the selector of request r guarded: has({GPU}.model) && {GPU}.model == "a100"',
        requesting(selectors=[selector(f'has({GPU}.model) && {GPU}.model == "a100"')]),
    ),
    "some devices lack the attribute that a class reads": Story(
        [
            devices("a", 1),
            device_class("large", selectors=[selector(f'{GPU}.model == "a100"')]),
            preferring("large", "gpu"),
        ],
        "class large: selector #0 on device gpu.example.com/a/d0: CEL runtime error: no such key: model",
        f'with the selector of DeviceClass large guarded: has({GPU}.model) && {GPU}.model == "a100"',
        lambda found: found["large"]["spec"].update(selectors=[selector(f'has({GPU}.model) && {GPU}.model == "a100"')]),
    ),
    "too much memory": Story(
        [gpus(), selecting(MEMORY.format("96Gi"))],
        "memory is 80Gi, wanted >= 96Gi",
        "with memory >= 80Gi in request r",
        requesting(selectors=[selector(MEMORY.format("80Gi"))]),
    ),
    "the driver is too old": Story(
        [
            devices("a", attributes={"driver": {"version": "1.10.0"}}),
            selecting(f'{GPU}.driver.compareTo(semver("2.0.0")) >= 0'),
        ],
        "driver is 1.10.0, wanted >= 2.0.0",
        "with driver >= 1.10.0 in request r",
        requesting(selectors=[selector(f'{GPU}.driver.compareTo(semver("1.10.0")) >= 0')]),
    ),
    "two constraints compare the same": Story(
        [half_rooted(), constrained_apart()],
        "cannot allocate all claims",
        f"without the constraint matchAttribute: {ROOT} for r",
        lambda found: found["c"]["spec"]["devices"]["constraints"].pop(0),
    ),
    "the selector never holds": Story(
        [gpus(), selecting("1 > 2")],
        "the selector 1 > 2 is never true",
        "without the selector 1 > 2 of request r",
        requesting(selectors=[]),
    ),
    "too many devices for a node": Story(
        [gpus(), claim(count=9)], "cannot allocate all claims", "with count 2 in request r", requesting(count=2)
    ),
    "too many devices for a claim": Story(
        [gpus(), claim(count=33)], "exceeds the claim limit of 32", "with count 2 in request r", requesting(count=2)
    ),
    "no value is shared by all": Story(
        [gpus(), constrained("resource.kubernetes.io/pcieRoot")],
        "attribute resource.kubernetes.io/pcieRoot, which a constraint compares, is not published",
        "without the constraint matchAttribute: resource.kubernetes.io/pcieRoot",
        lambda found: found["c"]["spec"]["devices"].pop("constraints"),
    ),
    "all devices, and one is in use": Story(
        [gpus(), allocated("held", "a"), claim(allocationMode="All")],
        "default/held",
        "with count 1 in place of allocationMode All in request r",
        requesting(allocationMode="ExactCount", count=1),
    ),
    "all devices are in use": Story(
        [gpus(count=1), allocated("held", "a", "d0", "old"), claim()],
        "default/held",
        "once claim default/held is released (pod old)",
        lambda found: found["held"].pop("status"),
    ),
    "the devices are tainted": Story(
        [gpus(taints=[TAINT]), claim()],
        "taint broken:NoSchedule is not tolerated",
        "if request r tolerates broken:NoSchedule",
        requesting(tolerations=[{"key": "broken", "operator": "Equal", "effect": "NoSchedule"}]),
    ),
    "counters are used up": Story(
        [*partitions(), allocated("held", "a"), claim()],
        "slices",
        "once claim default/held is released (used by no pod)",
        lambda found: found["held"].pop("status"),
    ),
    "partitions of one size need several counters": Story(
        [
            *mig("8g", "4g", "4g", "1g"),
            allocated("held", "a", "d3", "old"),
            claim(selectors=[selector(PROFILE.format("8g"))]),
        ],
        "gpu lacks slices (7 left, 8 consumed) and memory (70Gi left, 80Gi consumed)",
        'with profile = "4g" in request r',
        requesting(selectors=[selector(PROFILE.format("4g"))]),
    ),
    "partitions of two requests need more than there is": Story(
        [*mig("6g", "4g", "4g"), requesting_both(PROFILE.format("6g"), PROFILE.format("4g"))],
        "request r and request s consume at least 10 of counter slices, of which 8 is left and 100Gi of counter memory",
        'with profile = "4g" in request r',
        requesting(selectors=[selector(PROFILE.format("4g"))]),
    ),
    "no GPU and NIC left at the same root": Story(
        [ANY, rooted("gpu", "p0", "p1"), rooted("nic", "p1", "p2"), held_by_other("nic", "d0"), pair()],
        f"the devices left have no {ROOT} in common: request r has p0, p1; request nic has p2",
        f"without the constraint matchAttribute: {ROOT}",
        lambda found: found["c"]["spec"]["devices"].pop("constraints"),
    ),
    "two claims want the same device": Story(
        [gpus(), *two(claim(count=2), claim())],
        "r of claim default/c and request r of claim default/other want 3 devices, and 2 are left for them together",
        "with count 1 in request r of claim default/c",
        requesting(count=1),
        pod(claims={"gpu": "c", "other": "other"}),
    ),
    "each device has a taint of its own": Story(
        [gpus_with([TAINT], [XID]), claim(count=2)],
        "is not tolerated",
        "if request r tolerates broken:NoSchedule and xid=79:NoExecute",
        requesting(tolerations=[{"key": each["key"], "operator": "Exists"} for each in (TAINT, XID)]),
    ),
    "a rule taints the devices": Story(
        [gpus(), RULE, claim(tolerations=[{"key": "broken", "operator": "Exists"}])],
        "taint xid=79:NoExecute is not tolerated",
        "if request r tolerates xid=79:NoExecute",
        requesting(tolerations=[{"key": "xid", "operator": "Equal", "value": "79", "effect": "NoExecute"}]),
        options={"kubernetes": "1.35", "feature_gates": {"DRADeviceTaints": True, "DRADeviceTaintRules": True}},
    ),
    "a pod that has finished holds the device": Story(
        [gpus(count=1), allocated("held", "a", "d0", "old"), ended("old"), claim()],
        "'state': 'finished'",
        "once claim default/held is released (pod old, finished)",
        lambda found: found["held"].pop("status"),
    ),
    "one of two pods that hold the device has finished": Story(
        [
            gpus(count=1),
            allocated("held", "a", "d0", "old", "other"),
            ended("old"),
            pod("other"),
            claim(),
        ],
        "'state': 'old finished'",
        "once claim default/held is released (pod old, other, old finished)",
        lambda found: found["held"].pop("status"),
    ),
    "all devices are wanted, and one is tainted": Story(
        [gpus_with([], [TAINT]), claim(allocationMode="All")],
        "taint broken:NoSchedule is not tolerated",
        "with count 1 in place of allocationMode All in request r",
        requesting(allocationMode="ExactCount", count=1),
    ),
    "an extended resource is in use": Story(
        [gpus(count=1), EXTENDED, allocated("held", "a", "d0", "old")],
        "extended resource example.com/gpu",
        "once claim default/held is released (pod old)",
        lambda found: found["held"].pop("status"),
        pod(requests={"example.com/gpu": "1"}),
    ),
    "two containers want more of an extended resource than there is": Story(
        [gpus(count=3), EXTENDED],
        "want 4 devices, and 3 are left for them together",
        "with example.com/gpu 1 in place of 2 in container c",
        lambda found: found["p"]["spec"]["containers"][0]["resources"]["requests"].update({"example.com/gpu": "1"}),
        with_two_containers("example.com/gpu", "2"),
    ),
    "the rest of a shared device is less than all of it": Story(
        [shared(), with_share("held", "8Gi"), claim()],
        "capacity memory: 2Gi is left, 10Gi is taken where none is requested",
        "with capacity.requests memory: 2Gi in request r",
        requesting(capacity={"requests": {"memory": "2Gi"}}),
    ),
    "a share is rounded up to more than is left": Story(
        [
            shared({"default": "9Gi", "validRange": {"min": "1Gi", "max": "9Gi", "step": "4Gi"}}),
            with_share("held", "6Gi"),
            claim(capacity={"requests": {"memory": "2Gi"}}),
        ],
        "capacity memory: 4Gi is left, 5Gi is wanted: 2Gi, rounded up",
        "with memory 1Gi in place of 2Gi in request r",
        requesting(capacity={"requests": {"memory": "1Gi"}}),
    ),
    "no valid share is as small as what is left": Story(
        [
            shared({"default": "4Gi", "validValues": ["2Gi", "4Gi", "8Gi"]}),
            with_share("held", "8Gi"),
            claim(capacity={"requests": {"memory": "3Gi"}}),
        ],
        "capacity memory: 2Gi is left, 4Gi is wanted: 3Gi, rounded up",
        "with memory 2Gi in place of 3Gi in request r",
        requesting(capacity={"requests": {"memory": "2Gi"}}),
    ),
    "two requests want more of a shared device than it has": Story(
        [shared(), *two(*(claim(capacity={"requests": {"memory": "6Gi"}}) for _ in "ab"))],
        "take at least 12Gi of capacity memory, of which 10Gi is left",
        "with memory 3Gi in place of 6Gi in request r of claim default/c",
        requesting(capacity={"requests": {"memory": "3Gi"}}),
        pod(claims={"gpu": "c", "other": "other"}),
    ),
    "a capacity is requested with its domain": Story(
        [shared(), claim(capacity={"requests": {"gpu.example.com/memory": "6Gi"}})],
        "capacity gpu.example.com/memory is not published",
        "with memory in place of gpu.example.com/memory in request r",
        requesting(capacity={"requests": {"memory": "6Gi"}}),
    ),
    "a claim draws on counters that two requests want": Story(
        [
            *mig("4g", "4g", "1g"),
            allocated("held", "a", "d2", "old"),
            requesting_both(PROFILE.format("4g"), PROFILE.format("4g")),
        ],
        "request r and request s consume at least 8 of counter slices, of which 7 is left",
        "once claim default/held is released (pod old)",
        lambda found: found["held"].pop("status"),
    ),
    "a shared claim is on a node that is full": Story(
        [
            gpus(),
            allocated("c", "a", "d0", "old"),
            {**pod("old", {"gpu": "c"}, {"cpu": "5"}, nodeName="a"), "apiVersion": "v1"},
        ],
        "claim default/c (pod old) has its devices on a",
        "with cpu 3 in place of 4",
        lambda found: found["p"]["spec"]["containers"][0]["resources"]["requests"].update(cpu="3"),
        pod(claims={"gpu": "c"}, requests={"cpu": "4"}),
    ),
    "the class of an alternative does not exist": Story(
        [gpus(), preferring("large", "gpu")],
        "request r/large: device class large does not exist",
        "without alternative large of request r",
        lambda found: found["c"]["spec"]["devices"]["requests"][0]["firstAvailable"].pop(0),
    ),
    "a claim is used by as many pods as it can be": Story(
        [gpus(), allocated("c", "a", "d0", *(f"p-{number}" for number in range(256)))],
        "status.reservedFor: Too many: 257",
        "once one of the 256 pods of claim default/c is gone",
        lambda found: found["c"]["status"]["reservedFor"].pop(),
        pod(claims={"gpu": "c"}),
    ),
    "the pool is incomplete": Story(
        [sliced(gpus(), resourceSliceCount=2), claim()],
        "gpu.example.com/a",
        "once pool gpu.example.com/a with 2 devices is complete",
        lambda found: found["a"]["spec"]["pool"].update(resourceSliceCount=1),
    ),
    "all devices, and the pool is incomplete": Story(
        [sliced(gpus(), resourceSliceCount=2), claim(allocationMode="All")],
        "resource pool gpu.example.com/a is currently being updated",
        "once pool gpu.example.com/a with 2 devices is complete",
        lambda found: found["a"]["spec"]["pool"].update(resourceSliceCount=1),
    ),
    "the devices are elsewhere": Story(
        [gpus(), claim()],
        "cannot allocate all claims",
        "without the pod's nodeSelector",
        lambda found: found["p"]["spec"].pop("nodeSelector"),
        pod(claims={"gpu": "c"}, nodeSelector={"zone": "b"}),
    ),
    "the value of a label is misspelt": Story(
        [gpus("b"), claim()],
        "nodeSelector zone: B",
        "with nodeSelector zone: b in place of zone: B",
        lambda found: found["p"]["spec"].update(nodeSelector={"zone": "b"}),
        pod(claims={"gpu": "c"}, nodeSelector={"zone": "B"}),
    ),
    "the key of a label is misspelt": Story(
        [gpus("b"), claim()],
        "nodeSelector zones: b",
        "with nodeSelector zone: b in place of zones: b",
        lambda found: found["p"]["spec"].update(nodeSelector={"zone": "b"}),
        pod(claims={"gpu": "c"}, nodeSelector={"zones": "b"}),
    ),
    "the key of a label is misspelt, and the near one is selected, too": Story(
        [gpus("b"), claim()],
        "nodeSelector zone: a",
        "without the pod's nodeSelector",
        lambda found: found["p"]["spec"].pop("nodeSelector"),
        pod(claims={"gpu": "c"}, nodeSelector={"zone": "a", "zonee": "b"}),
    ),
    "not enough cpu": Story(
        [gpus(), claim()],
        "Insufficient cpu",
        "with cpu 8 in place of 9",
        lambda found: found["p"]["spec"]["containers"][0]["resources"]["requests"].update(cpu="8"),
        pod(claims={"gpu": "c"}, requests={"cpu": "9"}),
    ),
}


@each_row("story", STORIES.values())
def test_the_first_cure_cures(story: Story) -> None:
    found = {each["metadata"]["name"]: deepcopy(each) for each in story.objects}
    found["p"] = deepcopy(story.wanted)
    around = [device_class(), *NODES]

    def answer() -> JSONObject:
        objects = [each for name, each in found.items() if name != "p"]
        (result,) = simulate([*around, *objects], [found["p"]], **story.options)
        return result

    before = answer()
    assert before["node"] is None
    assert story.because in str((before["condition"]["message"], before["why"]["nodes"]))
    assert before["why"]["help"][0]["change"] == story.proposed
    story.cure(found)
    assert answer()["node"] is not None
