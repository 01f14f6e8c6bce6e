"""Everyday reasons why pods stay pending: with the first cure that draguard proposes, they are scheduled."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod, selector
from webhook import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.objects import JSONObject

GPU: Final = 'device.attributes["gpu.example.com"]'
MEMORY: Final = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("{}")) >= 0'
TAINT: Final = {"key": "broken", "effect": "NoSchedule"}
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


def requesting(**fields: Any) -> Callable[[JSONObject], object]:
    """Return a function that changes the request of the claim."""
    return lambda found: found["c"]["spec"]["devices"]["requests"][0]["exactly"].update(fields)


class Story(NamedTuple):
    """A pod that stays pending.

    Args:
        objects: The objects besides the class and the nodes.
        because: The reason, from the scheduler or from the devices left.
        proposed: The first cure.
        cure: Applies it to the objects, by name.
        wanted: The pod.
    """

    objects: list[JSONObject]
    because: str
    proposed: str
    cure: Callable[[JSONObject], object]
    wanted: JSONObject = pod(claims={"gpu": "c"})


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
    "too much memory": Story(
        [gpus(), selecting(MEMORY.format("96Gi"))],
        "memory is 80Gi, wanted >= 96Gi",
        "with memory >= 80Gi in request r",
        requesting(selectors=[selector(MEMORY.format("80Gi"))]),
    ),
    "the selector never holds": Story(
        [gpus(), selecting("1 > 2")],
        "2 is 2, wanted < 1",
        "without the selector 2 < 1 of request r",
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
        "there is no attribute resource.kubernetes.io/pcieRoot, which a constraint is about",
        "without the constraint matchAttribute: resource.kubernetes.io/pcieRoot",
        lambda found: found["c"]["spec"]["devices"].pop("constraints"),
    ),
    "all devices, and one is in use": Story(
        [gpus(), allocated("held", "a"), claim(allocationMode="All")],
        "default/held",
        "with allocationMode ExactCount in place of All in request r",
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
    "the pool is incomplete": Story(
        [sliced(gpus(), resourceSliceCount=2), claim()],
        "gpu.example.com/a",
        "once pool gpu.example.com/a is complete",
        lambda found: found["a"]["spec"]["pool"].update(resourceSliceCount=1),
    ),
    "all devices, and the pool is incomplete": Story(
        [sliced(gpus(), resourceSliceCount=2), claim(allocationMode="All")],
        "resource pool gpu.example.com/a is currently being updated",
        "once pool gpu.example.com/a is complete",
        lambda found: found["a"]["spec"]["pool"].update(resourceSliceCount=1),
    ),
    "the devices are elsewhere": Story(
        [gpus(), claim()],
        "cannot allocate all claims",
        "without the pod's nodeSelector",
        lambda found: found["p"]["spec"].pop("nodeSelector"),
        pod(claims={"gpu": "c"}, nodeSelector={"zone": "b"}),
    ),
    "not enough cpu": Story(
        [gpus(), claim()],
        "Insufficient cpu",
        "with cpu 8 in place of 9",
        lambda found: found["p"]["spec"]["containers"][0]["resources"]["requests"].update(cpu="8"),
        pod(claims={"gpu": "c"}, requests={"cpu": "9"}),
    ),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_the_first_cure_cures(story: Story) -> None:
    found = {each["metadata"]["name"]: deepcopy(each) for each in story.objects}
    found["p"] = deepcopy(story.wanted)
    around = [device_class(), *NODES]

    def answer() -> JSONObject:
        (result,) = simulate([*around, *(each for name, each in found.items() if name != "p")], [found["p"]])
        return result

    before = answer()
    assert before["node"] is None
    assert story.because in str((before["condition"]["message"], before["why"]["nodes"]))
    assert before["why"]["help"][0]["change"] == story.proposed
    story.cure(found)
    assert answer()["node"] is not None
