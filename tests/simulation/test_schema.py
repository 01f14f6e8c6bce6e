"""The JSON schema of the answers: it holds for real output, and describes every key."""

import json
from importlib import import_module
from typing import Any

import pytest

from tests.command import ROOT, draguard
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod, selector
from webhook import simulate
from webhook.objects import JSONObject

SCHEMA: dict[str, Any] = json.loads((ROOT / "webhook/simulation/answers.schema.json").read_text(encoding="utf-8"))
Draft202012Validator: Any = import_module("jsonschema").Draft202012Validator
EXAMPLES = ROOT / "examples" / "simulate"


def strict(part: Any) -> Any:
    """Return a schema that allows no other keys."""
    if isinstance(part, dict):
        closed = {"additionalProperties": False} if "properties" in part else {}
        return {name: strict(value) for name, value in part.items()} | closed
    return [strict(each) for each in part] if isinstance(part, list) else part


CLOSED = Draft202012Validator(strict(SCHEMA))


def test_the_schema_is_valid_and_is_printed() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(draguard("schema", "simulate").out) == SCHEMA


def pending() -> list[JSONObject]:
    """Return a pod's answers in clusters that refuse it for different reasons."""
    small: dict[str, Any] = {"capacity": {"memory": {"value": "9Gi"}}}
    wanted = selector('device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0')
    tainted: dict[str, Any] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    counters = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]
    consumed: dict[str, Any] = {"consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "8Gi"}}}]}
    partitions = devices("a", **consumed)
    shared = devices("a")
    shared["metadata"]["name"] = "shared"
    del shared["spec"]["devices"]
    shared["spec"]["sharedCounters"] = counters
    for each in (partitions, shared):
        each["spec"]["pool"]["resourceSliceCount"] = 2
    incomplete = devices("a")
    incomplete["spec"]["pool"]["resourceSliceCount"] = 2
    apart = devices("a", 2, attributes={"index": {"int": 1}})
    apart["spec"]["devices"][1]["attributes"] = {"index": {"int": 2}}
    together = claim(count=2)
    together["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/index"}]
    clusters: list[list[JSONObject]] = [
        [devices("a", **small), claim(selectors=[wanted])],
        [devices("a", **tainted), claim()],
        [devices("a"), allocated("other", "a", "d0", "p"), claim()],
        [partitions, shared, claim()],
        [incomplete, claim()],
        [apart, together],
        [device_class("none"), claim()],
        [],
    ]
    answers = []
    for objects in clusters:
        (answer,) = simulate([node("a"), device_class(), *objects], [pod(claims={"c": "c"})])
        assert answer["node"] is None
        answers.append(answer)
    return answers


def test_the_schema_describes_every_key_of_answers() -> None:
    answers = pending()
    for options in (("--pending",), ("--fit",), ("--timeout", "0.000001")):
        command = ("simulate", "-o", "json", EXAMPLES / "deployment.yaml", "--cluster", EXAMPLES / "cluster.yaml")
        done = draguard(*command, *options)
        CLOSED.validate(json.loads(done.out))
    CLOSED.validate(answers)
    requests = [each for answer in answers for group in answer["why"]["nodes"] for each in group["requests"]]
    known = SCHEMA["$defs"]["request"]["properties"]
    assert {key for each in requests for key, value in each.items() if value} == known.keys() - {"together"}


@pytest.mark.parametrize("change", [{"seen": -1}, {"for": None}, {"surplus": 1}])
def test_what_differs_is_refused(change: JSONObject) -> None:
    (answer, *_) = pending()
    answer["why"]["nodes"][0]["requests"][0] |= change
    assert not CLOSED.is_valid([answer])
