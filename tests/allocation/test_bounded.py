"""Searches end in bounded time and memory."""

from __future__ import annotations

from typing import Any
from unittest import mock

from tests.allocation.clusters import ALL, CLASSES, DRIVER
from webhook.allocation import Allocator, search

Json = dict[str, Any]

TOTAL, HALF, WANTED = 1_000_000, 500_000, 8


def _packing(devices: int) -> list[Json]:
    """Return a pool whose devices consume two counters, one unit more than there is if eight are picked."""
    amounts = [300_000 + 7919 * number**2 % 400_000 for number in range(devices)]
    pool = {"driver": DRIVER, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 2}, "nodeName": "a"}
    left = {"value": str(WANTED * HALF - 1)}
    partitions = [
        {"name": f"d{n}", "consumesCounters": [{"counterSet": "c", "counters": _both(amount, TOTAL - amount)}]}
        for n, amount in enumerate(amounts)
    ]
    return [
        {"metadata": {"name": "devices"}, "spec": {**pool, "devices": partitions}},
        {"metadata": {"name": "left"}, "spec": {**pool, "sharedCounters": [{"name": "c", "counters": _same(left)}]}},
    ]


def _both(first: int, second: int) -> Json:
    return {"a": {"value": str(first)}, "b": {"value": str(second)}}


def _same(value: Json) -> Json:
    return {"a": value, "b": value}


def test_counting_the_steps_of_a_packing_ends() -> None:
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": WANTED}
    claim: Json = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
    with mock.patch.object(search, "MOST_VISITS", 50_000):
        answer = Allocator(CLASSES, _packing(40), features=ALL).allocate({"metadata": {"name": "a"}}, [claim])
        assert answer.timed_out
