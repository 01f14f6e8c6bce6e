"""Pods scheduled on 1,000 nodes, beside reading their slices with CSafeLoader: python -m benchmarks.simulate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.timing import interleaved
from webhook.documents import Document, parse
from webhook.inventory import Inventory
from webhook.simulation import Cluster, Scheduler, Settings
from webhook.simulation.scheduler import fit

if TYPE_CHECKING:
    from webhook.objects import JSONObject

NODES = 1_000
DEVICES = 8
PODS = 1_000
DRIVER = "gpu.example.com"
MODEL = f'device.attributes["{DRIVER}"].model == "A100"'


def main() -> None:
    """Print the figures."""
    text = yaml.safe_dump_all([_slice(f"n{number:04}") for number in range(NODES)])

    def read() -> None:
        Inventory(each.data for each in parse(text.encode(), "slices") if isinstance(each, Document))

    loading, baseline = interleaved(read, lambda: list(yaml.load_all(text, yaml.CSafeLoader)), rounds=3)
    print(
        f"{NODES} slices of {DEVICES} devices: {loading:.2f} s, CSafeLoader {baseline:.2f} s: {loading / baseline:.2f}"
    )
    scheduler = _scheduler()
    print(f"a pod against {NODES} nodes: {1000 * _seconds(lambda: _schedule(scheduler, 0)):.0f} ms")
    print(f"{PODS} pods: {_seconds(lambda: _schedule_all(scheduler)):.2f} s")
    filled = _scheduler()
    started = time.perf_counter()
    found = fit(filled, _taken(filled, 0))
    print(f"--fit: {found.pods} pods in {time.perf_counter() - started:.2f} s")


def _seconds(function: Any) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def _scheduler() -> Scheduler:
    device_class = {
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
    }
    asks = {"deviceClassName": "gpu", "count": 2, "selectors": [{"cel": {"expression": MODEL}}]}
    template = {
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": asks}]}}},
    }
    names = [f"n{number:04}" for number in range(NODES)]
    objects = [device_class, template, *map(_node, names), *map(_slice, names)]
    return Scheduler(Cluster(Inventory(objects), Settings.of()))


def _schedule_all(scheduler: Scheduler) -> None:
    for number in range(1, PODS + 1):
        _schedule(scheduler, number)


def _schedule(scheduler: Scheduler, number: int) -> None:
    if scheduler.schedule(_taken(scheduler, number)).node is None:
        raise AssertionError("a pod did not fit")


def _taken(scheduler: Scheduler, number: int) -> JSONObject:
    claims = [{"name": "g", "resourceClaimTemplateName": "t"}]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "g"}]}}
    pod = {
        "kind": "Pod",
        "metadata": {"name": f"p{number}"},
        "spec": {"containers": [container], "resourceClaims": claims},
    }
    taken = scheduler.cluster.inventory.take(pod)
    if taken is None:
        raise AssertionError("no pod")
    return taken


def _node(name: str) -> JSONObject:
    allocatable = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def _slice(name: str) -> JSONObject:
    devices = [
        {
            "name": f"gpu-{number}",
            "attributes": {"model": {"string": "A100"}, "uuid": {"string": f"{name}-{number}"}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for number in range(DEVICES)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": name, "devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


if __name__ == "__main__":
    main()
