"""The memory of a cluster in which a pod stays pending, so that all its devices are looked at again for hints."""

import gc
import tracemalloc
from typing import Final

import pytest

from tests.simulation.clusters import device_class, devices, node, pod, selector, template
from webhook.inventory import Inventory
from webhook.objects import JSONObject
from webhook.references.answers import Annotated
from webhook.simulation import Cluster, Scheduler, Settings, changes, suggestions

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

NODES: Final = 100
DEVICES: Final = 8
MOST: Final = 2_500
"""The bytes that a device may take, with its share of slice and node; 3,100 if hints read the slices again."""


def slices(node_name: str) -> JSONObject:
    found = devices(node_name, DEVICES)
    for number, device in enumerate(found["spec"]["devices"]):
        device["attributes"] = {"model": {"string": "a"}, "uuid": {"string": f"{node_name}-{number}"}}
        device["capacity"] = {"memory": {"value": "80Gi"}}
    return found


def explained(nodes: int) -> JSONObject:
    """Explain why a pod stays pending."""
    names = [f"n{number}" for number in range(nodes)]
    inventory = Inventory([device_class()])
    for name in names:
        inventory.add(node(name))
        inventory.add(slices(name))
    inventory.add(template(selectors=[selector('device.attributes["gpu.example.com"].model == "b"')]))
    scheduler = Scheduler(Cluster(inventory, Settings.of()))
    return Annotated(scheduler).of(scheduler.schedule(inventory.take(pod(claims={"gpu": "t"})) or {}))


def peak() -> int:
    """Return the bytes that explaining takes at most."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        assert explained(NODES)["why"]["help"]
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_a_device_takes_little_memory_although_hints_look_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (changes, suggestions):
        monkeypatch.setattr(module, "NODES_MAX", NODES - 1)  # as in a large cluster
    explained(NODES)
    least = min(peak() for _ in range(2))  # a cache that other tests have filled may grow meanwhile
    assert least / (NODES * DEVICES) < MOST
