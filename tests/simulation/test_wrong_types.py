"""A value of a wrong type in a cluster never ends a command."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.command import draguard
from tests.simulation.clusters import DRIVER, allocated, claim, device_class, devices, node, pod, selector
from webhook import simulate
from webhook.objects import JSONObject

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


def _paths(value: Any, *before: str | int) -> Iterator[tuple[str | int, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in steps:
        yield (*before, step)
        yield from _paths(each, *before, step)


def _spoiled(objects: list[JSONObject], path: tuple[str | int, ...], other: Any) -> list[JSONObject]:
    found: Any = deepcopy(objects)
    at = found
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = other
    return [each for each in found if isinstance(each, dict)]


def _check(command: str, objects: list[JSONObject], file: Path, release: str) -> None:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    manifests = [] if command == "simulate" else [file]
    done = draguard(command, *COMMANDS[command], *manifests, "--cluster", file, "--kubernetes-version", release)
    assert done.code in {0, 1, 2}, done.err  # 3 is a failure of draguard's own


@pytest.mark.parametrize("command", COMMANDS)
def test_any_value_may_be_of_another_type(command: str, tmp_path: Path) -> None:
    random, objects = Random(1), _cluster()  # noqa: S311 - the same each time
    paths = [path for path in _paths(objects) if len(path) > 1]
    for _ in range(100):
        spoiled = _spoiled(objects, random.choice(paths), random.choice(OTHERS))
        _check(command, spoiled, tmp_path / "objects.json", random.choice(["1.34", "1.35", "1.36", "1.37"]))


@pytest.mark.parametrize(
    ("path", "other"),
    [
        ((0, "metadata", "labels"), "x"),
        ((5, "status", "allocation", "devices", "results", 0), {}),
        ((6, "status", "phase"), []),
        ((9, "metadata", "labels"), []),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("release", ["1.34", "1.36"])
def test_what_has_no_meaning_is_ignored(
    command: str, path: tuple[str | int, ...], other: Any, release: str, tmp_path: Path
) -> None:
    _check(command, _spoiled(_cluster(), path, other), tmp_path / "objects.json", release)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"spec": "x"}, "spec"),
        ({"spec": {"taints": "NoSchedule"}}, "spec.taints"),
        ({"spec": {"taints": [{"key": "k", "effect": "NoShedule"}]}}, "spec.taints[0].effect"),
        ({"metadata": {"name": "a", "labels": "x"}}, "metadata.labels"),
        ({"status": {"allocatable": {"cpu": "lots"}}}, "status.allocatable[cpu]"),
    ],
)
def test_a_node_that_no_server_would_have_stored_is_refused(fields: JSONObject, path: str) -> None:
    with pytest.raises(ValueError, match=f"^Node a: {re.escape(path)}: "):
        simulate([{**node("a"), **fields}], [pod()])


def test_a_device_with_an_attribute_of_a_later_release_is_explained() -> None:
    around = [node("a"), device_class(), devices("a", attributes=LISTS), allocated("used", "a"), claim()]
    (result,) = simulate(around, [pod(claims={"gpu": "c"})], kubernetes="1.34")
    (request,) = result["why"]["nodes"][0]["requests"]
    assert request["because"].endswith("attribute l: unsupported attribute value")
