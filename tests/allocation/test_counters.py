"""Counters that devices share, and capacity that they have left."""

import pytest

from tests.allocation.clusters import ALL, CLASSES
from tests.allocation.objects import NODE, Json, answer, claim, device, request, resource_slice, result
from tests.rows import each_row
from webhook.allocation import Allocator, Result
from webhook.allocation.explain import together


@each_row(
    ("wanted", "found"),
    [(1, None), (2, None), (3, (2, "counter memory of set: 4Gi is left, 3 devices consume 6Gi at least"))],
)
def test_counters_that_devices_share(wanted: int, found: tuple[int, str] | None) -> None:
    def part(name: str, memory: str) -> Json:
        consumed = [{"counterSet": "set", "counters": {"memory": {"value": memory}}}]
        return device(name, consumesCounters=consumed)

    sets = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]
    parts = [part("whole", "4Gi"), *(part(f"half-{number}", "2Gi") for number in range(3))]
    slices = [resource_slice(name="counters", count=2, sharedCounters=sets), resource_slice(*parts, count=2)]
    attempt = Allocator(CLASSES, slices, features=ALL).attempt([claim(request(count=wanted))])
    [funnel] = attempt.explain(NODE)
    assert (funnel.counts["enough"], funnel.together) == (4, found)


@pytest.mark.parametrize("wanted", [6, 5])
def test_counters_of_several_sets_add_up(wanted: int) -> None:
    def part(of: int, number: int) -> Json:
        consumed = [{"counterSet": f"set-{of}", "counters": {"memory": {"value": "2Gi"}}}]
        return device(f"part-{of}-{number}", consumesCounters=consumed)

    sets = [{"name": f"set-{of}", "counters": {"memory": {"value": "4Gi"}}} for of in range(2)]
    parts = [part(of, number) for of in range(2) for number in range(3)]
    slices = [resource_slice(name="counters", count=2, sharedCounters=sets), resource_slice(*parts, count=2)]
    attempt = Allocator(CLASSES, slices, features=ALL).attempt([claim(request(count=wanted))])
    [funnel] = attempt.explain(NODE)
    lacks = [f"counter memory of set-{of}: 4Gi is left, 3 devices consume 6Gi at least" for of in range(2)]
    assert funnel.together == (4, "; ".join(lacks))


def test_devices_that_consume_counters_of_several_sets_share_them() -> None:
    def of(*sets: int) -> dict[tuple[int, str, str], int]:
        return {(0, f"set-{each}", "memory"): 2 * 10**9 for each in sets}

    def free(_: tuple[int, str, str]) -> int:
        return 2 * 10**9

    assert together(3, [of(0), of(0, 1), of(1), {}], free) is None
    found = together(4, [of(0), of(0, 1), of(1), {}], free)
    assert found is not None
    assert found.devices == 3
    many = together(10, [of(each) for each in range(5) for _ in range(2)], free)
    assert many is not None
    assert many.devices == 5
    assert many.text.endswith("; and 2 more counters")


@each_row(
    ("wanted", "text"),
    [
        ("1500m", "capacity memory: 1 is left, 1500m is wanted"),
        ("2", "capacity memory: 1 is left, 2 is wanted"),
        ("1", ""),
    ],
)
def test_capacity_that_is_left(wanted: str, text: str) -> None:
    shared = device("d0", capacity={"memory": {"value": "3"}}, allowMultipleAllocations=True)
    used = result("d0", shareID="a", consumedCapacity={"memory": "2"})
    allocator = Allocator(
        CLASSES,
        [resource_slice(shared)],
        [{**claim(), "status": {"allocation": {"devices": {"results": [used]}}}}],
        features=ALL,
    )
    attempt = allocator.attempt([claim(request(capacity={"requests": {"memory": wanted}}))])
    [[reason]] = [funnel.reasons() for funnel in attempt.explain(NODE)]
    assert reason.text == text
    assert isinstance(attempt.on(NODE), Result) is (text == "")


@each_row(("published", "has"), [("", ""), ("b a", ": a device has a, b"), ("d c b a", ": a device has a, b, c, …")])
def test_a_capacity_that_there_is_not(published: str, has: str) -> None:
    capacity = {name: {"value": "1"} for name in published.split()}
    attempt = Allocator(CLASSES, [resource_slice(device("d0", capacity=capacity))], features=ALL).attempt(
        [claim(request(capacity={"requests": {"memory": "1"}}))]
    )
    [[reason]] = [funnel.reasons() for funnel in attempt.explain(NODE)]
    assert reason.text == f"capacity memory is not published{has}"


def test_a_search_takes_back_shares_of_nothing() -> None:
    shared = device("d0", allowMultipleAllocations=True, capacity={"memory": {"value": "4"}})
    never = request("never", selectors=[{"cel": {"expression": "false"}}])
    steps = []
    for wanted in ("0", "1"):
        each = [request(f"r{number}", capacity={"requests": {"memory": wanted}}) for number in range(2)]
        steps.append(answer([resource_slice(shared)], claim(*each, never), patch=3).steps)
    assert steps[0] == steps[1]


def test_counters_that_a_pool_of_the_same_name_lacks_do_not_limit() -> None:
    # Upstream knows counters by the pool's name: those of the driver that comes first count for both.
    def pool(driver: str, name: str) -> list[Json]:
        partitions = [
            device(f"d{n}", consumesCounters=[{"counterSet": name, "counters": {"memory": {"value": "2"}}}])
            for n in range(2)
        ]
        counters: Json = {"sharedCounters": [{"name": name, "counters": {"memory": {"value": "2"}}}]}
        slices = [
            resource_slice(*partitions, name=f"{name}0", count=2),
            resource_slice(name=f"{name}1", count=2, **counters),
        ]
        return [{**each, "spec": {**each["spec"], "driver": driver}} for each in slices]

    slices = pool("a.example.com", "a") + pool("b.example.com", "b")
    found = answer(slices, claim(request(count=3)))
    assert isinstance(found, Result)
    assert [each["driver"][0] + each["device"] for each in found.allocations[0]["devices"]["results"]] == [
        "ad0",
        "bd0",
        "bd1",
    ]
