"""Claims, devices and slices, and what the allocator answers."""

from typing import Any

from tests.allocation.clusters import ALL, CLASSES, DRIVER
from webhook.allocation import Allocator, Failure, Features, Result

Json = dict[str, Any]
NODE = {"metadata": {"name": "n0", "labels": {"zone": "a", "rank": "3"}}}


def resource_slice(*devices: Json, name: str = "s0", pool: str = "n0", count: int = 1, **spec: Any) -> Json:
    where = {} if {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"} & set(spec) else {"nodeName": "n0"}
    given = {"name": pool, "generation": 1, "resourceSliceCount": count}
    return {
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": given, **where, **spec, "devices": list(devices)},
    }


def device(name: str, **more: Any) -> Json:
    return {"name": name, **more}


def claim(*requests: Json, name: str = "c", **devices: Any) -> Json:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"devices": {"requests": list(requests), **devices}}}


def request(name: str = "r", **exactly: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": "any", **exactly}}


def answer(slices: list[Json], *claims: Json, features: Features = ALL, **more: Any) -> Result | Failure:
    return Allocator(CLASSES, slices, features=features, **more).allocate(NODE, claims)


def error(slices: list[Json], *claims: Json, **more: Any) -> tuple[str | None, str | None]:
    found = answer(slices, *claims, **more)
    assert isinstance(found, Failure)
    return found.error, found.scope


def result(name: str, **more: Any) -> Json:
    return {"request": "r", "driver": DRIVER, "pool": "n0", "device": name, **more}
