"""A value of a wrong type in a cluster never ends a command."""

import gc
import json
import re
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from tests.command import draguard
from tests.objects import paths, with_value
from tests.rows import each_row
from tests.simulation.clusters import DRIVER, allocated, claim, device_class, devices, node, pod, selector, template
from webhook import simulate
from webhook.inventory import Inventory
from webhook.objects import JSONObject
from webhook.references.answers import Annotated
from webhook.simulation import Cluster, Scheduler, Settings, changes

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

OTHERS: tuple[Any, ...] = ("x", 1, True, 1.5, [], {}, [1], ["x"], [{}], {"a": 1}, {"a": "b"}, None)
COMMANDS = {"simulate": ["--pending"], "match": [], "validate": ["--no-config"]}
MODEL = f'device.attributes["{DRIVER}"].model == "m"'
LISTS = {"l": {"strings": ["a"]}, "model": {"string": "n"}}


def _cluster() -> list[JSONObject]:
    """Return a cluster with a slice that selects nodes by label, a claim in use, and two pods that wait."""
    elsewhere = devices("b", attributes={"model": {"string": "m"}})
    del elsewhere["spec"]["nodeName"]
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
    elsewhere["spec"]["nodeSelector"] = {"nodeSelectorTerms": [term]}
    return [
        node("a", labels={"zone": "z"}),
        device_class(),
        device_class("m", selectors=[selector(MODEL)]),
        elsewhere,
        devices("a", 2, attributes=LISTS),
        allocated("used", "a", "d0", "old"),
        {**pod("old", {"gpu": "used"}, nodeName="a"), "status": {"phase": "Running"}},
        claim(),
        claim("other", deviceClassName="m", count=2),
        pod(claims={"gpu": "c"}),
        pod("other", {"gpu": "other"}),
    ]


def _spoiled(objects: list[JSONObject], path: tuple[Any, ...], other: Any) -> list[JSONObject]:
    return [each for each in with_value(objects, path, other) if isinstance(each, dict)]


def _check(command: str, objects: list[JSONObject], file: Path, release: str) -> None:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    manifests = [] if command == "simulate" else [file]
    done = draguard(command, *COMMANDS[command], *manifests, "--cluster", file, "--kubernetes-version", release)
    assert done.code in {0, 1, 2}, done.err  # 3 is a failure of draguard's own


@pytest.mark.parametrize("command", COMMANDS)
def test_any_value_may_be_of_another_type(command: str, tmp_path: Path) -> None:
    random, objects = Random(1), _cluster()  # noqa: S311 - the same each time
    places = [path for path in paths(objects) if len(path) > 1]
    for _ in range(100):
        spoiled = _spoiled(objects, random.choice(places), random.choice(OTHERS))
        _check(command, spoiled, tmp_path / "objects.json", random.choice(["1.34", "1.35", "1.36", "1.37"]))


@each_row(
    ("path", "other"),
    ((0, "metadata", "labels"), "x"),
    ((5, "status", "allocation", "devices", "results", 0), {}),
    ((6, "status", "phase"), []),
    ((9, "metadata", "labels"), []),
)
@each_row("command", *COMMANDS)
@each_row("release", "1.34", "1.36")
def test_what_has_no_meaning_is_ignored(
    command: str, path: tuple[str | int, ...], other: Any, release: str, tmp_path: Path
) -> None:
    _check(command, _spoiled(_cluster(), path, other), tmp_path / "objects.json", release)


@each_row(
    ("fields", "path"),
    ({"spec": "x"}, "spec"),
    ({"spec": {"taints": "NoSchedule"}}, "spec.taints"),
    ({"spec": {"taints": [{"key": "k", "effect": "NoShedule"}]}}, "spec.taints[0].effect"),
    ({"metadata": {"name": "a", "labels": "x"}}, "metadata.labels"),
    ({"status": {"allocatable": {"cpu": "lots"}}}, "status.allocatable[cpu]"),
)
def test_a_node_that_no_server_would_have_stored_is_refused(fields: JSONObject, path: str) -> None:
    with pytest.raises(ValueError, match=f"^Node a: {re.escape(path)}: "):
        simulate([{**node("a"), **fields}], [pod()])


def test_a_device_with_an_attribute_of_a_later_release_is_explained() -> None:
    around = [node("a"), device_class(), devices("a", attributes=LISTS), allocated("used", "a"), claim()]
    (result,) = simulate(around, [pod(claims={"gpu": "c"})], kubernetes="1.34")
    (request,) = result["why"]["nodes"][0]["requests"]
    assert request["because"].endswith("attribute l: unsupported attribute value")


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
    names = [f"n{number}" for number in range(nodes)]
    inventory = Inventory([device_class()])
    for name in names:
        inventory.take(node(name))
        inventory.take(slices(name))
    inventory.take(template(selectors=[selector('device.attributes["gpu.example.com"].model == "b"')]))
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
    monkeypatch.setattr(changes, "NODES_MAX", NODES - 1)  # as in a large cluster
    explained(NODES)
    least = min(peak() for _ in range(2))  # a cache that other tests have filled may grow meanwhile
    assert least / (NODES * DEVICES) < MOST
