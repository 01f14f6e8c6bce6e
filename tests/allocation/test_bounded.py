"""Searches end in bounded time and memory."""

import sys
from typing import Any
from unittest import mock

from tests.allocation.clusters import ALL, CLASSES, DRIVER
from webhook.allocation import Allocator, Failure, Result, search
from webhook.allocation.demand import Ask

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


def test_remembered_states_take_no_more_than_their_bytes() -> None:
    most, exactly = 1 << 14, {"deviceClassName": "any", "allocationMode": "ExactCount", "count": WANTED}
    claim: Json = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}
    made: list[search.Memories] = []
    searching = search.Memories.__init__

    def keep(self: search.Memories, *parts: Any) -> None:
        searching(self, *parts)
        made.append(self)

    allocator = Allocator(CLASSES, _packing(40), features=ALL)
    with (
        mock.patch.object(search.Memories, "__init__", keep),
        mock.patch.object(search, "_MOST", most),
        mock.patch.object(search, "MOST_VISITS", 50_000),
    ):
        assert allocator.allocate({"metadata": {"name": "a"}}, [claim]).timed_out
    sizes = [sum(map(_bytes, each.known.items())) for each in made]
    assert most / 3 < max(sizes) < 2 * most


def _bytes(value: Any) -> int:
    inner = sum(map(_bytes, value)) if isinstance(value, tuple | frozenset) else 0
    return sys.getsizeof(value) + inner


def test_the_work_for_a_pod_grows_with_its_requests_times_the_devices() -> None:
    count = 80
    spec = {"driver": DRIVER, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "a"}
    pool = {"metadata": {"name": "s"}, "spec": {**spec, "devices": [{"name": f"d{n}"} for n in range(count)]}}
    request = {"name": "r", "exactly": {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}}
    claims: list[Json] = [
        {"metadata": {"name": f"c{n}"}, "spec": {"devices": {"requests": [request]}}} for n in range(count)
    ]
    with mock.patch.object(Ask, "tolerates", autospec=True, side_effect=Ask.tolerates) as tolerates:
        answer = Allocator(CLASSES, [pool], features=ALL).allocate({"metadata": {"name": "a"}}, claims)
    assert isinstance(answer, Result)
    assert tolerates.call_count < 4 * count**2


def test_partitions_of_equal_gpus_stand_for_each_other() -> None:
    # Whichever of 48 small partitions a pod gets, no GPU is left as a whole: thousands of states, but few that differ.
    pool = {"driver": DRIVER, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 2}, "nodeName": "a"}
    partitions, sets = [], []
    for gpu in range(8):
        sets.append({"name": f"gpu{gpu}", "counters": {str(n): {"value": "1"} for n in range(7)}})
        for size, slots in (("1g", [[n] for n in range(7)]), ("7g", [[*range(7)]])):
            for each in slots:
                drawn = {"counterSet": f"gpu{gpu}", "counters": {str(n): {"value": "1"} for n in each}}
                partition = {"name": f"{size}-{gpu}-{each[0]}", "consumesCounters": [drawn]}
                partitions.append({**partition, "attributes": {"size": {"string": size}}})
    slices = [
        {"metadata": {"name": "devices"}, "spec": {**pool, "devices": partitions}},
        {"metadata": {"name": "left"}, "spec": {**pool, "sharedCounters": sets}},
    ]
    used = [{"driver": DRIVER, "pool": "p", "device": f"1g-{gpu}-0"} for gpu in range(8)]
    held = {"metadata": {"name": "held"}, "status": {"allocation": {"devices": {"results": used}}}}
    asked = [
        {
            "name": f"r{size}",
            "exactly": {
                "deviceClassName": "any",
                "count": count,
                "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].size == "{size}"'}}],
            },
        }
        for size, count in (("1g", 3), ("7g", 1))
    ]
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": asked}}}
    answer = Allocator(CLASSES, slices, [held], features=ALL).allocate({"metadata": {"name": "a"}}, [claim])
    assert isinstance(answer, Failure)
    assert (answer.error, answer.timed_out) == (None, False)
