"""Clusters in YAML: what becomes of pods there, why, and what would help."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from webhook import simulate
from webhook.objects import JSONObject

CLUSTERS = sorted(Path(__file__).parent.glob("*.yaml"))


def shown(answer: JSONObject) -> JSONObject:
    """Return what a user sees of an answer; a change is followed by the number of nodes that it opens."""
    condition, why = answer["condition"] or {}, answer["why"]
    requests = [(group, each) for group in why["nodes"] for each in group["requests"]]
    found = {
        "node": answer["node"],
        "candidates": None if answer["node"] else answer["candidates"],
        "condition": ": ".join(filter(None, map(condition.get, ("reason", "message")))),
        "devices": [
            f"{name}: {each['request']} is {each['driver']}/{each['pool']}/{each['device']}"
            for name, allocation in answer["claims"].items()
            for each in allocation["devices"].get("results", ())
        ],
        "reason": why["reason"],
        "groups": [f"{', '.join(each['nodes'])}: {', '.join(each['reasons'])}" for each in why["nodes"]],
        "details": [detail for each in why["nodes"] for detail in each["details"]],
        "because": [f"{each['for']} on {group['nodes'][0]}: {each['because']}" for group, each in requests],
        "held": sorted({f"{one['claim']}: {one['state']}" for _, each in requests for one in each["heldBy"]}),
        "help": [f"{each['change']} ({each['nodes']}{'+' if each['atLeast'] else ''})" for each in why["help"]],
        "tried": None if why["help"] else why["tried"],
        "withoutDevices": why["withoutDevices"],
        "notes": why["notes"],
    }
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize("file", CLUSTERS, ids=lambda each: each.stem)
def test_pods_fare_as_the_cluster_says(file: Path) -> None:
    cases = yaml.safe_load(file.read_text(encoding="utf-8"))["cases"]
    found = {name: simulate(case["objects"], case["pods"], **case.get("options", {})) for name, case in cases.items()}
    wanted = {name: case["answers"] for name, case in cases.items()}
    assert {name: [*map(shown, answers)] for name, answers in found.items()} == wanted
