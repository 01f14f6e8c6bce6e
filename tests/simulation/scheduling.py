"""Pods, and where or why not they are scheduled."""

from __future__ import annotations

from typing import Any

from tests.simulation.clusters import device_class, devices, node
from webhook import simulate
from webhook.objects import JSONObject

GPU = [device_class(), devices("a", 2), devices("b", 2)]
NODES = [node("a"), node("b")]
NOT_HELPFUL = "preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."


def message(objects: list[JSONObject], each: JSONObject, **options: Any) -> str:
    (answer,) = simulate(objects, [each], **options)
    assert answer["node"] is None
    return str(answer["condition"]["message"])


def nodes(objects: list[JSONObject], *pods: JSONObject, **options: Any) -> list[str | None]:
    return [each["node"] for each in simulate(objects, pods, **options)]
