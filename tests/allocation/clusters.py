"""Claims, devices and slices, and random clusters of them, small enough to be searched in full."""

from collections.abc import Sequence
from random import Random
from typing import Any

from webhook.allocation import Allocator, Answer, Features
from webhook.release import Release

Json = dict[str, Any]

DRIVER = "gpu.example.com"
ALL = Features(
    AdminAccess=True,
    ConsumableCapacity=True,
    DeviceBindingAndStatus=True,
    DeviceTaints=True,
    PartitionableDevices=True,
    PrioritizedList=True,
)
CLASSES: list[Json] = [
    {"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}},
    {"metadata": {"name": "any"}, "spec": {}},
]
SELECTORS = (
    f'device.attributes["{DRIVER}"].?model.orValue("") == "a100"',
    f'device.attributes["{DRIVER}"].?rack.orValue(0) < 2',
    f'"memory" in device.capacity["{DRIVER}"]',
)
FAULTY = f'device.attributes["{DRIVER}"].model == "a100"'
TAINT = {"key": "broken", "effect": "NoSchedule"}


class Cluster:
    """A random cluster and claims to allocate.

    Args:
        random: The source of randomness.

    Attributes:
        release: The release of its scheduler, as the allocator takes it.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.kind = random.choice(("plain", "plain", "partitions", "shares"))
        self.release: dict[str, Any] = random.choice(({}, {"patch": 3}, {"release": Release(37)}))
        self.nodes = [self._node(number) for number in range(random.randint(1, 3))]
        self.slices = [each for node in self.nodes for each in self._pool(node["metadata"]["name"])]
        if random.random() < 0.3:
            self.slices += self._pool(None)
        self.claims = [self._claim(number) for number in range(random.randint(1, 3))]

    def _node(self, number: int) -> Json:
        return {"metadata": {"name": f"n{number}", "labels": {"zone": self.random.choice("ab")}}}

    def _pool(self, node: str | None) -> list[Json]:
        random = self.random
        where: Json = {"nodeName": node} if node else {"allNodes": True}
        name = node or "fabric"
        count = random.randint(1, 2)
        specs: list[Json] = [
            {**where, "devices": [self._device(place, number) for number in range(random.randint(0, 4))]}
            for place in range(count)
        ]
        if self.kind == "partitions":
            sets = [{"name": name, "counters": {"memory": {"value": f"{random.randint(1, 6)}Gi"}}} for name in "abc"]
            specs.append({**where, "sharedCounters": sets})
        pool = {"name": name, "generation": 1, "resourceSliceCount": len(specs)}
        return [
            {"metadata": {"name": f"{name}-{place}"}, "spec": {"driver": DRIVER, "pool": pool, **spec}}
            for place, spec in enumerate(specs)
        ]

    def _device(self, place: int, number: int) -> Json:
        random = self.random
        device: Json = {"name": f"d{place}{number}", "attributes": {"rack": {"int": random.randint(0, 2)}}}
        if random.random() < 0.2:
            device["attributes"]["rack"] = {"ints": [random.randint(0, 2)]}
        if random.random() < 0.8:
            device["attributes"]["model"] = {"string": random.choice(("a100", "l4"))}
        if random.random() < 0.15:
            device["taints"] = [TAINT]
        if self.kind == "partitions" and random.random() < 0.8:
            consumed = {"memory": {"value": f"{random.randint(1, 3)}Gi"}}
            sets = random.sample("abc", random.choice((1, 1, 1, 2)))
            device["consumesCounters"] = [{"counterSet": name, "counters": consumed} for name in sets]
        if self.kind == "shares":
            device["capacity"] = {"memory": {"value": f"{random.randint(2, 8)}Gi"}}
            device["allowMultipleAllocations"] = random.random() < 0.6
        return device

    def _claim(self, number: int) -> Json:
        random = self.random
        requests = [self._request(f"r{place}") for place in range(random.randint(1, 3))]
        devices: Json = {"requests": requests}
        if random.random() < 0.4:
            kind = random.choice(("matchAttribute", "distinctAttribute"))
            some = [each["name"] for each in requests if random.random() < 0.7]
            devices["constraints"] = [{kind: f"{DRIVER}/rack", "requests": some}]
        return {"metadata": {"name": f"c{number}", "namespace": "default"}, "spec": {"devices": devices}}

    def _request(self, name: str) -> Json:
        random = self.random
        if random.random() < 0.2:
            return {"name": name, "firstAvailable": [{"name": f"s{place}", **self._ask()} for place in range(2)]}
        ask = self._ask()
        if random.random() < 0.1:
            ask["adminAccess"] = True
        return {"name": name, "exactly": ask}

    def _ask(self) -> Json:
        random = self.random
        ask: Json = {
            "deviceClassName": random.choice(("gpu", "any")),
            "allocationMode": "ExactCount",
            "count": random.choice((1, 1, 1, 2, 3)),
        }
        if random.random() < 0.4:
            ask["selectors"] = [{"cel": {"expression": random.choice(SELECTORS)}}]
        if random.random() < 0.1:
            ask["selectors"] = [{"cel": {"expression": FAULTY}}]
        if random.random() < 0.15:
            ask["allocationMode"] = "All"
            del ask["count"]
        if random.random() < 0.2:
            ask["tolerations"] = [{"key": "broken", "operator": "Exists"}]
        if self.kind == "shares" and random.random() < 0.6:
            ask["capacity"] = {"requests": {"memory": f"{random.randint(1, 4)}Gi"}}
        return ask


NODE = {"metadata": {"name": "n0", "labels": {"zone": "a", "rank": "3"}}}


def resource_slice(
    *devices: Json, name: str = "s0", pool: str = "n0", count: int = 1, generation: int = 1, **spec: Any
) -> Json:
    where = {} if {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"} & set(spec) else {"nodeName": "n0"}
    given = {"name": pool, "generation": generation, "resourceSliceCount": count}
    spec = {"driver": DRIVER, "pool": given, **where, **spec, "devices": list(devices)}
    return {"metadata": {"name": name}, "spec": spec}


def device(name: str, **more: Any) -> Json:
    return {"name": name, **more}


def claim(*requests: Json, name: str = "c", **devices: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"devices": {"requests": list(requests), **devices}}}


def request(name: str = "r", **exactly: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": "any", **exactly}}


def answer(
    slices: list[Json], *claims: Json, allocated: Sequence[Json] = (), features: Features = ALL, **more: Any
) -> Answer:
    return Allocator(CLASSES, slices, allocated, features=features, **more).attempt(claims).on(NODE)


def fits(slices: list[Json], *claims: Json, **more: Any) -> bool:
    return answer(slices, *claims, **more).is_found


def allocation(slices: list[Json], *claims: Json, **more: Any) -> Json:
    """Return what is allocated to the first of claims that fit."""
    found = answer(slices, *claims, **more)
    assert found.is_found
    return found.allocations[0]


def devices(slices: list[Json], *claims: Json, **more: Any) -> list[str] | None:
    """Return the names of the devices that claims get; nothing if there are none."""
    found = answer(slices, *claims, **more)
    return [name for each in found.devices for *_, name in each] if found.is_found else None


def selecting(expression: str, **exactly: Any) -> Json:
    return request(selectors=[{"cel": {"expression": expression}}], **exactly)


def counters(name: str = "a", memory: str = "1") -> list[Json]:
    return [{"name": name, "counters": {"memory": {"value": memory}}}]


def consuming(counter_set: str = "a", memory: str = "1", **more: Any) -> Json:
    """Return what a device states that consumes counters."""
    return {"consumesCounters": [{"counterSet": counter_set, "counters": {"memory": {"value": memory}}, **more}]}


def held(name: str, **more: Any) -> Json:
    """Make a claim to which a device is allocated."""
    return {**claim(name="held"), "status": {"allocation": {"devices": {"results": [result(name, **more)]}}}}


def error(slices: list[Json], *claims: Json, **more: Any) -> tuple[str, str | None]:
    found = answer(slices, *claims, **more)
    assert not found.is_found
    return found.error or "", found.scope


def result(name: str, **more: Any) -> Json:
    return {"request": "r", "driver": DRIVER, "pool": "n0", "device": name, **more}
