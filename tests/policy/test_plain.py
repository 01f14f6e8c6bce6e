"""Values that a quick look finds to fit their shape fit it to the full checks, too."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.policy.examples import CLAIM, POD
from webhook.api.shapes import schema_of
from webhook.policy.change.gotext import Foreign
from webhook.policy.change.merge import MergeError, apply, expect_whole_numbers, without_nulls
from webhook.schema.derive.plain import plain
from webhook.schema.derive.shape import Anything, ListOf, MapOf, Scalar, Shape, Structure

VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1.0, 1.5, "", "text", Foreign(b"")),
    *([], [None], ["a"], ["a", "a"], [1, True], [[]], [{}], [{}, {}], [{"name": "a"}, {"name": "a"}]),
    *({}, {"a": None}, {"a": "b"}, {"a": 1}, {"a": {}}),
)

OBJECTS: dict[str, dict[str, Any]] = {
    "claim": CLAIM
    | {
        "metadata": {"labels": {"a": "b"}, "finalizers": ["a", "b"], "generation": 1},
        "status": {
            "devices": [
                {"driver": "d", "pool": "p", "device": name, "data": {"any": [1.5]}, "networkData": {"ips": ["::1"]}}
                for name in ("0", "1")
            ],
            "reservedFor": [{"resource": "pods", "name": "p", "uid": uid} for uid in ("1", "2")],
        },
    },
    "pod": POD
    | {
        "spec": {
            "hostNetwork": True,
            "priority": 1,
            "containers": [
                {
                    "name": name,
                    "command": ["a", "a"],
                    "ports": [{"containerPort": 80}, {"containerPort": 81}],
                    "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                    "livenessProbe": {"httpGet": {"port": 80}},
                }
                for name in ("c", "d")
            ],
        }
    },
}


def structure(obj: dict[str, Any]) -> Structure:
    found = schema_of(obj["apiVersion"], obj["kind"])
    assert found
    return found


def fits(obj: dict[str, Any]) -> bool:
    """Tell whether an object passes each of the full checks."""
    shape = structure(obj)
    try:
        apply(obj, {}, shape, duplicates=False)
        expect_whole_numbers(obj, shape)
    except MergeError:
        return False
    return bool(without_nulls(obj, shape) == obj)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """List the containers in a value, with each of their keys and an additional one."""
    if isinstance(value, dict):
        yield from ((value, key) for key in (*value, "undeclared"))
        for each in list(value.values()):
            yield from places(each)
    elif isinstance(value, list):
        yield from ((value, index) for index in range(len(value)))
        for each in value:
            yield from places(each)


@pytest.mark.parametrize("name", OBJECTS)
def test_usual_objects_fit(name: str) -> None:
    assert plain(structure(OBJECTS[name]))(OBJECTS[name])
    assert fits(OBJECTS[name])


@pytest.mark.parametrize("name", OBJECTS)
def test_what_fits_quickly_passes_the_full_checks(name: str) -> None:
    obj = copy.deepcopy(OBJECTS[name])
    kind = {"apiVersion", "kind"}
    is_plain, verdicts = plain(structure(obj)), set()
    for container, key in [(each, key) for each, key in places(obj) if each is not obj or key not in kind]:
        before = container.copy()
        for value in VALUES:
            container[key] = value
            quick = is_plain(obj)
            verdicts.add(quick)
            assert not quick or fits(obj), (key, value)
        if key in before or isinstance(before, list):
            container[key] = before[key]
        else:
            del container[key]
    assert verdicts == {True, False}


def sets(shape: Shape, depth: int = 6) -> Iterator[Shape]:
    """List the shapes of the items of sets."""
    if depth and isinstance(shape, ListOf):
        if shape.merging == "set":
            yield shape.item
        yield from sets(shape.item, depth - 1)
    elif depth and isinstance(shape, MapOf):
        yield from sets(shape.item, depth - 1)
    elif depth and not isinstance(shape, Scalar | Anything | ListOf | MapOf):
        for _, each in shape.fields():
            yield from sets(each, depth - 1)


@pytest.mark.parametrize("name", OBJECTS)
def test_sets_hold_strings(name: str) -> None:
    assert {*sets(structure(OBJECTS[name]))} == {Scalar("string")}
