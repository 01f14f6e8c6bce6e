"""Devices that look alike to selectors are evaluated once, however many there are."""

import gc
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.command import draguard
from tests.rows import each_row
from tests.steps import counting
from tests.structured import claim, of_kind, resource_slice
from webhook.allocation.devices import Catalog
from webhook.allocation.selecting import Chooser
from webhook.api import gates
from webhook.api.versions import NEWEST
from webhook.budget import Budget, BudgetExceededError, limited
from webhook.check import references
from webhook.deviceselectors.fleet import ERROR, FALSE, TRUE, ContentGroup, Fleet, Sorted
from webhook.release import Release

DRIVER = "gpu.example.com"
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}


def fleet(devices: list[dict[str, Any]], driver: str = DRIVER, release: Release = NEWEST) -> Fleet:
    named = [{"name": f"d{index}", **each} for index, each in enumerate(devices)]
    spec = {"driver": driver, "nodeName": "n", "pool": POOL, "devices": named}
    return Fleet(Catalog([{"metadata": {"name": "s"}, "spec": spec}]), release, gates.enabled(release, None))


def selector(expression: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": expression}}]


VALUES: list[dict[str, Any]] = [
    {"attributes": {"x": {"string": "a"}, "uuid": {"string": "0"}}, "capacity": {"m": {"value": "1Gi"}}},
    {"attributes": {"x": {"string": "a"}, "uuid": {"string": "1"}}, "capacity": {"m": {"value": "1024Mi"}}},
    {"attributes": {f"{DRIVER}/x": {"string": "a"}}, "capacity": {f"{DRIVER}/m": {"value": "2Gi"}}},
    {"attributes": {"x": {"int": 1}}},
    {"attributes": {"x": {"bool": True}}},
    {"attributes": {"x": {"strings": ["a", "b"]}}},
    {"attributes": {"x": {"ints": [1]}}},
    {"attributes": {"x": {"version": "1.2.3"}}},
    {"attributes": {"x": {"version": "1.2.3+build"}}},
    {"attributes": {"x": {"version": "no version"}}},
    {"attributes": {"x": {}}},
    {"attributes": {"x": {"string": "b"}, f"{DRIVER}/x": {"string": "a"}}},
    {"attributes": {f"{DRIVER}/x": {"string": "a"}, "x": {"string": "b"}}},
    {"attributes": {"other.example.com/x": {"string": "a"}}},
    {"allowMultipleAllocations": True},
    {},
]
X = f'device.attributes["{DRIVER}"].x'
MISSING = f'device.attributes["{DRIVER}"].missing == 1'


@each_row(
    "expression",
    f'{X} == "a"',
    f'"a" == {X} || {X} == 1',
    f'{X} in ["a", "b"]',
    f'{X} == 1 && {X} != "a"',
    f"{X} == true",
    f"{X} == 1.0",
    f'{X} == semver("1.2.3")',
    f'has({X}) && {X} == "b"',
    f'{X} == "c" && device.attributes["{DRIVER}"].missing == 1',
    f'{X} == "a" && device.attributes["{DRIVER}"].missing == 1',
    f'device.capacity["{DRIVER}"].m.compareTo(quantity("1Gi")) == 0',
    'device.attributes["other.example.com"].x == "a"',
    'device.attributes.exists(d, d == "other.example.com")',
    "device.allowMultipleAllocations",
)
def test_groups_answer_as_each_device_alone(expression: str) -> None:
    whole = fleet(VALUES)
    found = whole.sorted_out((), selector(expression))
    outcomes: dict[int, str] = {}
    for groups, outcome in ((found.taken, TRUE), (found.refused, FALSE), ([one for one, _ in found.failing], ERROR)):
        for group in groups:
            assert group.devices == len(group.contents)
            outcomes |= dict.fromkeys((content.index for content in group.contents), outcome)
    alone = []
    for value in VALUES:
        single = fleet([value])
        alone.append(single.choose((), selector(expression), next(iter(single.contents))).outcome)
    assert [outcomes[content.index] for content in whole.contents] == alone


def test_devices_with_conditions_are_refused_where_the_scheduler_does_not_wait_for_them() -> None:
    whole = fleet([VALUES[0], {**VALUES[0], "bindingConditions": ["example.com/ready"]}], release=Release(34))
    found = whole.sorted_out((), selector(f'{X} == "a"'))
    assert [group.devices for group in found.taken] == [group.devices for group in found.refused] == [1]
    assert whole.choose((), selector(f'{X} == "a"'), found.refused[0].content).outcome == FALSE


def test_a_device_with_a_wrong_attribute_is_alone_wherever_it_stands() -> None:
    wrong = {"attributes": {**VALUES[0]["attributes"], "y": {"version": "no version"}}}
    for devices in ([VALUES[0], wrong], [wrong, VALUES[0]]):
        found = fleet(devices).sorted_out((), selector(f'{X} == "a"'))
        assert [len(found.taken), len(found.failing)] == [1, 1]


@each_row(
    ("of_class", "own"),
    ([MISSING], [f'{X} == "c"']),
    ([], [MISSING, f'{X} == "c"']),
    ([f"has({X})"], [f'{X} == "c"', MISSING]),
)
def test_the_first_selector_that_fails_counts_even_where_a_later_one_is_false(
    of_class: list[str], own: list[str]
) -> None:
    around, wanted = ([one for each in several for one in selector(each)] for several in (of_class, own))
    for value in VALUES:
        whole = fleet([value])
        (content,) = whole.contents
        found = whole.sorted_out(around, wanted)
        outcomes: dict[str, Sequence[object]] = {TRUE: found.taken, FALSE: found.refused, ERROR: found.failing}
        assert len(outcomes[whole.choose(around, wanted, content).outcome]) == 1


def test_selectors_without_end_are_not_remembered() -> None:
    def remembered() -> int:
        gc.collect()
        return sum(isinstance(each, Chooser | ContentGroup | Sorted) for each in gc.get_objects())

    before, whole = remembered(), fleet(VALUES[:2])
    for number in range(250):
        whole.sorted_out((), selector(f'device.attributes["{DRIVER}"].?a{number}.hasValue()'))
    assert remembered() - before < 500


def reading(*names: str) -> list[dict[str, Any]]:
    return selector(" || ".join(f'has(device.attributes["{DRIVER}"].{name})' for name in names))


@pytest.mark.no_cover
def test_what_devices_have_under_names_without_end_is_not_remembered() -> None:
    devices = [{"attributes": {"uuid": {"string": str(number)}}} for number in range(500)]
    other, whole = fleet(devices), fleet(devices)
    selectors = [reading(*(f"a{number}x{place}" for place in range(40))) for number in range(15)]
    for each in (reading("uuid"), *selectors):
        other.sorted_out((), each)  # compiled selectors are kept
    whole.sorted_out((), reading("uuid"))
    tracemalloc.start()
    try:
        for each in selectors:
            whole.sorted_out((), each)
        assert tracemalloc.get_traced_memory()[0] < 3 << 19
    finally:
        tracemalloc.stop()


def test_looking_at_devices_under_many_names_is_paid_for() -> None:
    def cost(devices: int) -> int:
        whole = fleet([{"attributes": {"uuid": {"string": str(number)}}} for number in range(devices)])
        with limited(Budget(100_000)) as budget:
            (refused,) = whole.sorted_out((), reading(*(f"a{place}" for place in range(40)))).refused
        assert refused.devices == devices
        return 100_000 - budget.left

    cost(1)  # compiled selectors are kept
    assert cost(1000) > cost(1) + 2_000


def steps_for(devices: int, expression: str) -> int:
    whole = fleet([{"attributes": {"x": {"int": i % 4}, "uuid": {"string": str(i)}}} for i in range(devices)])
    whole.sorted_out((), selector(expression))  # the columns are made once
    with counting() as steps:
        for number in range(20):
            whole.sorted_out((), selector(f"{expression} && {number} >= 0"))
    return steps()


@each_row("expression", f"{X} > 2", f'device.attributes["{DRIVER}"].uuid == "7"')
def test_ten_times_the_devices_take_hardly_more_steps(expression: str) -> None:
    steps_for(20, expression)  # compiled selectors are kept
    assert steps_for(2000, expression) < 1.2 * steps_for(200, expression)


def test_devices_that_all_differ_are_paid_for() -> None:
    whole = fleet([{"attributes": {"uuid": {"string": str(i)}}} for i in range(1000)])
    with limited(Budget(5000)), pytest.raises(BudgetExceededError):
        whole.sorted_out((), selector(f'device.attributes["{DRIVER}"].uuid.endsWith("7")'))


def test_what_is_not_matched_against_devices_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = [{"name": f"d{i}", "attributes": {"uuid": {"string": str(i)}}} for i in range(100)]
    cluster = [of_kind("DeviceClass", {}, "v1") | {"metadata": {"name": DRIVER}}, resource_slice(*devices)]
    asks = {"deviceClassName": DRIVER, "selectors": selector(f'device.attributes["{DRIVER}"].uuid.endsWith("x")')}
    wanted = claim({"name": "gpu", "exactly": asks}, {"name": "x", "exactly": {"deviceClassName": f"{DRIVER}n"}})
    given, around = tmp_path / "claims.yaml", tmp_path / "cluster.yaml"
    given.write_text("\n---\n".join(json.dumps(wanted | {"metadata": {"name": f"c{i}"}}) for i in range(3)))
    around.write_text("\n---\n".join(map(json.dumps, cluster)))
    done = draguard("validate", given, "--cluster", around)
    assert done.out.count("selects-nothing") == done.out.count("class-not-found") == 3
    monkeypatch.setattr(references, "_WORK", 500)
    done = draguard("validate", given, "--cluster", around)
    assert (
        "note: not matched against devices: 3 objects, as that is too much work; validate fewer at a time" in done.out
    )
    assert "selects-nothing" not in done.out
    assert done.out.count("class-not-found") == 3
