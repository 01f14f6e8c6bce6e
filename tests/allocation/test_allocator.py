import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from tests.allocation.clusters import (
    ALL,
    CLASSES,
    DRIVER,
    NODE,
    Json,
    allocation,
    answer,
    claim,
    consuming,
    counters,
    device,
    devices,
    error,
    fits,
    held,
    request,
    resource_slice,
    result,
    selecting,
)
from tests.rows import each_row, each_row_beside
from webhook import allocate
from webhook.allocation import Allocator, Features, search
from webhook.allocation.demand import Ask
from webhook.allocation.devices import taint_of
from webhook.allocation.explain import Funnel, together
from webhook.release import Release


def test_devices_are_reported_by_claim() -> None:
    found = answer([resource_slice(device("d0"), device("d1"))], claim(request(count=2)), claim())
    assert found.is_found
    assert found.devices == [[("r", DRIVER, "n0", "d0"), ("r", DRIVER, "n0", "d1")], []]
    assert found.steps == 6
    assert not found.timed_out


def test_selectors_see_no_sharing_where_the_implementation_knows_none() -> None:
    shared = resource_slice(device("d0", allowMultipleAllocations=True))
    wanted = claim(selecting("device.allowMultipleAllocations"))
    names = ("stable", "incubating")
    assert [fits([shared], wanted, features=Features(), implementations=[name]) for name in names] == [False, True]


def test_selectors_see_quantities_as_the_decoder_reads_them() -> None:
    spaced = resource_slice(device("d0", capacity={"m": {"value": " 2Gi "}}))
    for each in ("true", f'device.capacity["{DRIVER}"].m.compareTo(quantity("2Gi")) == 0'):
        assert fits([spaced], claim(selecting(each)))


def test_what_is_allocated_is_held_until_it_is_taken_back() -> None:
    allocator = Allocator(CLASSES, [resource_slice(device("d0"))], features=ALL)
    found = allocator.attempt([claim(request())]).on(NODE)
    assert found.is_found
    taken = {**claim(), "status": {"allocation": found.allocations[0]}}
    allocator.usage.add(taken)
    assert not allocator.attempt([claim(request())]).on(NODE).is_found
    allocator.usage.remove(taken)
    assert allocator.attempt([claim(request())]).on(NODE).is_found
    with pytest.raises(ValueError, match=f"claim ns/c does not use {DRIVER}/n0/d0"):
        allocator.usage.remove(taken)


@each_row(
    ("gates", "release", "name"),
    ((), 34, "stable"),
    (("DRAAdminAccess", "DRAPrioritizedList"), 34, "incubating"),
    (("DRAAdminAccess", "DRAPrioritizedList"), 36, "stable"),
    (("DRAConsumableCapacity",), 35, "experimental"),
    (("DRAConsumableCapacity",), 36, "incubating"),
    (("DRADeviceBindingConditions",), 36, "stable"),
    (("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"), 36, "incubating"),
    (("DRAListTypeAttributes",), 36, "stable"),
    (("DRAListTypeAttributes",), 37, "experimental"),
)
def test_a_release_picks_the_first_implementation_that_supports_the_features(
    gates: tuple[str, ...], release: int, name: str
) -> None:
    minor = Release(release)
    assert Allocator([], [], features=Features.of(gates, minor), release=minor).variant.name == name


def test_no_implementation_may_support_the_features() -> None:
    with pytest.raises(ValueError, match=r"no allocator of Kubernetes 1\.36 supports ConsumableCapacity \(of stable\)"):
        Allocator([], [], features=Features(ConsumableCapacity=True), implementations=["stable"])


@each_row_beside("selector", "detail")
def test_a_node_selector_that_cannot_be_parsed_ends_the_attempt(selector: Json, detail: str) -> None:
    term = {"matchExpressions": [{"key": "zone", **selector}]}
    text, scope = error([resource_slice(nodeSelector={"nodeSelectorTerms": [term]})], claim(request()))
    assert text.startswith("gather pool information: failed to perform node selection for slice s0: failed to parse")
    assert text.endswith(f": nodeSelectorTerms[0].matchExpressions[0].{detail}")
    assert scope == "abort"


@each_row(
    ("requirement", "selected"),
    ({"key": "zone", "operator": "In", "values": ["a"]}, True),
    ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
    ({"key": "rack", "operator": "NotIn", "values": ["a"]}, True),
    ({"key": "zone", "operator": "Exists"}, True),
    ({"key": "zone", "operator": "DoesNotExist"}, False),
    ({"key": "rank", "operator": "Gt", "values": ["2"]}, True),
    ({"key": "rank", "operator": "Lt", "values": ["3"]}, False),
    ({"key": "zone", "operator": "Gt", "values": ["2"]}, False),
)
def test_node_selectors_select_by_labels(requirement: Json, selected: bool) -> None:
    selector = {"nodeSelectorTerms": [{}, {"matchExpressions": [requirement]}]}
    per_device = resource_slice(device("d0", nodeSelector=selector), perDeviceNodeSelection=True)
    assert not fits([per_device], claim(request(allocationMode="All")))
    selector["nodeSelectorTerms"].pop(0)
    assert fits([per_device], claim(request())) is selected


def test_node_selectors_select_by_name_and_have_one_term() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n0"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    found = allocation([resource_slice(device("d0"), nodeSelector=selector)], claim(request()))
    assert found["nodeSelector"] == selector
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in ("zone", "rank")]
    slices = [resource_slice(device("d0"), nodeSelector={"nodeSelectorTerms": terms})]
    text = "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"
    assert error(slices, claim(request())) == (text, "abort")


@pytest.mark.no_cover
def test_a_search_of_more_than_ten_seconds_is_reported() -> None:
    devices = [device(f"d{number:02}", attributes={"slot": {"int": number % 9}}) for number in range(27)]
    requests = [request(f"r{number}") for number in range(10)]
    slow = claim(*requests, constraints=[{"distinctAttribute": f"{DRIVER}/slot", "requests": []}])
    found = answer([resource_slice(*devices)], slow)
    assert not found.is_found
    assert found.error is None
    assert found.timed_out


def test_why_devices_are_ruled_out() -> None:
    a100: Json = {"model": {"string": "a100"}}
    with_rack, taint = {"rack": {"int": 1}, **a100}, {"key": "k", "effect": "NoExecute"}
    published = [
        device("free", attributes=with_rack),
        device("no-rack", attributes=a100),
        device("used", attributes=with_rack),
        device("tainted", attributes=a100, taints=[taint]),
        device("other", attributes={"model": {"string": "l4"}}),
        device("odd"),
        device("small", attributes=a100, capacity={"memory": {"value": "1Gi"}}, **consuming("set", "2Gi")),
    ]
    shared = resource_slice(name="counters", count=2, sharedCounters=counters("set", "1Gi"))
    allocator = Allocator(CLASSES, [resource_slice(*published, count=2), shared], [held("used")], features=ALL)
    wanted = selecting(f'device.attributes["{DRIVER}"].model == "a100"', count=2)
    attempt = allocator.attempt([claim(wanted, constraints=[{"matchAttribute": f"{DRIVER}/rack"}])])
    [funnel] = attempt.explain(NODE)
    assert (funnel.claim, funnel.request, funnel.wanted) == ("ns/c", "r", 2)
    assert funnel.counts == {"seen": 7, "ofClass": 7, "selected": 5, "free": 4, "tolerated": 3, "enough": 2}
    assert funnel.constrained == 1
    reasons = {each.device.name: (each.why, each.text, each.holders, each.taints) for each in funnel.reasons()}
    assert reasons == {
        "free": ("", "", (), ()),
        "no-rack": ("constraint", f"attribute {DRIVER}/rack, which a constraint compares, is not published", (), ()),
        "used": ("in use", "", ("ns/held",), ()),
        "tainted": ("taint", "", (), (taint_of(taint),)),
        "other": ("selector", "selector #0 of the request is false", (), ()),
        "odd": ("selector", "selector #0 of the request: CEL runtime error: no such key: model", (), ()),
        "small": ("counters", "counter memory of set: 1Gi is left, 2Gi is wanted", (), ()),
    }


def test_devices_are_distinguished_by_the_attributes_that_a_selector_reads() -> None:
    stated = [("l4", {}), ("a100", {}), ("a100", {"memory": {"value": "1Gi"}}), ("a100", {"memory": {"value": "2Gi"}})]
    published = [
        device(f"d{index}", attributes={"model": {"string": model}, "uuid": {"string": f"{index}"}}, capacity=capacity)
        for index, (model, capacity) in enumerate(stated)
    ]
    guard = f'"memory" in device.capacity["{DRIVER}"] && '
    expression = (
        f'device.attributes["{DRIVER}"].model == "a100" && {guard}'
        f'device.capacity["{DRIVER}"].memory.compareTo(quantity("2Gi")) >= 0 && device.driver == "{DRIVER}"'
    )
    assert devices([resource_slice(*published)], claim(selecting(expression))) == ["d3"]
    text, _ = error([resource_slice(*published)], claim(selecting(expression.replace(guard, ""))))
    assert text == "claim ns/c: selector #0: CEL runtime error: no such key: memory"


SCENARIO: Json = {
    "features": {"PrioritizedList": True},
    "classes": CLASSES,
    "slices": [resource_slice(device("d0"))],
    "allocated": None,
    "claims": [claim(request())],
    "nodes": [NODE],
}


def test_a_scenario_is_answered() -> None:
    [node] = allocate(SCENARIO)["nodes"]
    assert node["result"][0]["devices"]["results"] == [result("d0")]
    assert allocate({**SCENARIO, "features": {}})["implementation"] == "stable"
    assert allocate({**SCENARIO, "release": 34, "features": {"AdminAccess": True}})["implementation"] == "incubating"


@each_row(
    ("part", "detail"),
    ({"features": {"Magic": True}}, "unknown feature Magic: known are AdminAccess, "),
    ({"slices": [{"metadata": {"name": "s"}}]}, r"slices\[0\]\.spec must be an object, not NoneType"),
    ({"slices": [{"metadata": {}, "spec": {}}]}, "the scenario is malformed: no 'name'"),
    ({"nodes": ["n0"]}, r"nodes\[0\] must be an object, not str"),
    ({"claims": [{"spec": 3}]}, "the scenario is malformed: "),
    ({"claims": [claim(request(count=-1))]}, "request r: a negative count, on which the scheduler panics"),
)
def test_a_malformed_scenario_is_refused(part: Json, detail: str) -> None:
    with pytest.raises(ValueError, match=detail):
        allocate({**SCENARIO, **part})


@each_row(
    ("result", "type_", "detail"),
    ("1.5", "double", "type conversion error from Double to 'bool'"),
    ("1u", "uint", "unsupported type conversion from 'uint' to bool"),
    ("int", "type", "type conversion not supported for 'type'"),
    ("{}", "map", "type conversion error from map to 'bool'"),
    ("quantity('1')", "kubernetes.Quantity", "type conversion error from 'Quantity' to 'bool'"),
    ("duration('1s')", "google.protobuf.Duration", "type conversion error from 'Duration' to 'bool'"),
    ("device.?driver", "optional_type", "unsupported native conversion from string to 'bool'"),
    ("has(device.?attributes[device.driver].x)", "optional_type", "unsupported type conversion from 'int' to bool"),
    ("has(device.?attributes[device.driver].y)", "optional_type", "optional.none() dereference"),
)
def test_a_selector_whose_result_is_not_a_bool_ends_the_attempt(result: str, type_: str, detail: str) -> None:
    broken = claim(selecting(f"device.driver == '' ? device.attributes[device.driver].x : {result}"))
    text = f"CEL result of type {type_} could not be converted to bool: {detail}"
    slices = [resource_slice(device("d0", attributes={"x": {"int": 1}}))]
    assert error(slices, broken) == (f"claim ns/c: selector #0: CEL runtime error: {text}", "abort")


@each_row("result", "optional.of({})", "optional.of(optional.of({}))")
def test_an_optional_bool_selects_as_the_bool_in_it(result: str) -> None:
    slices = [resource_slice(device("d0", attributes={"x": {"int": 1}}))]
    for value in (True, False):
        chosen = result.format(str(value).lower())
        wanted = selecting(f"device.driver == '' ? device.attributes[device.driver].x : {chosen}")
        assert fits(slices, claim(wanted)) is value


def test_devices_on_one_counter_set_have_a_compatibility_group_in_common() -> None:
    groups = {"d0": ["x"], "d1": ["y"], "d2": [], "d3": ["y", "x"]}
    published = [device(name, **consuming(compatibilityGroups=each)) for name, each in groups.items()]
    slices = [
        resource_slice(*published, count=2),
        resource_slice(name="s1", count=2, sharedCounters=counters("a", "4")),
    ]
    allocator = Allocator(CLASSES, slices, features=replace(ALL, CompatibilityGroups=True), release=Release(37))
    assert allocator.variant.name == "experimental"

    def given(count: int = 1) -> list[Json] | None:
        found = allocator.attempt([claim(request(count=count))]).on(NODE)
        return found.allocations[0]["devices"]["results"] if found.is_found else None

    pair = given(2)
    assert pair is not None
    assert [each["device"] for each in pair] == ["d0", "d3"]
    assert pair[1]["compatibilityGroups"] == {"a": {"groups": ["y", "x"]}}
    assert given(3) is None
    # The values recorded at allocation count, whatever the slice has now.
    allocator.usage.add(held("d2"))
    assert given() is None
    allocator.usage.remove(held("d2"))
    allocator.usage.add(held("d2", compatibilityGroups={"a": {"groups": ["y"]}}))
    assert [each["device"] for each in given() or ()] == ["d1"]


def test_to_add_a_device_takes_no_longer_for_the_counter_sets_of_others() -> None:
    published = [device(f"d{n}", **consuming(f"a{n}", compatibilityGroups=["x"])) for n in range(3)]
    shared = [each for n in range(3) for each in counters(f"a{n}")]
    slices = [resource_slice(*published, count=2), resource_slice(name="s1", count=2, sharedCounters=shared)]
    allocator = Allocator(CLASSES, slices, features=replace(ALL, CompatibilityGroups=True), release=Release(37))
    common = search.Common(allocator.view(NODE))
    before = [common.add(index) for index in range(3)]
    assert before == [{("n0", f"a{n}"): None} for n in range(3)]
    assert common.state == {(("n0", f"a{n}"), frozenset({"x"})) for n in range(3)}
    common.common |= before[1] or {}
    assert common.state == {(("n0", f"a{n}"), frozenset({"x"})) for n in (0, 2)}


def test_tolerations_are_recorded_from_1_35_on() -> None:
    features = replace(ALL, ConsumableCapacity=False)
    tolerations = [{"operator": "Exists"}]
    for release, recorded in ((34, None), (35, tolerations)):
        asked = claim(request(tolerations=tolerations))
        found = allocation([resource_slice(device("d0"))], asked, features=features, release=Release(release))
        assert found["devices"]["results"][0].get("tolerations") == recorded


def test_a_rounded_amount_is_the_default_only_if_it_is_spelled_alike() -> None:
    # A rounded amount has no spelling, and 8Gi is kept without one; the default is allowed whatever the range.
    for default, expected in (("2Gi", False), ("8Gi", True)):
        policy = {"default": default, "validRange": {"min": "1", "max": "4", "step": "1"}}
        capacity = {"memory": {"value": "16Gi", "requestPolicy": policy}}
        gpu = device("d0", allowMultipleAllocations=True, capacity=capacity)
        assert fits([resource_slice(gpu)], claim(request(capacity={"requests": {"memory": default}}))) is expected


ALTERNATIVES = {
    "name": "r0",
    "firstAvailable": [
        {"name": "two", "deviceClassName": "any", "count": 3},
        {"name": "one", **selecting(f'!has(device.attributes["{DRIVER}"].rack)')["exactly"]},
    ],
}


@each_row(("release", "patch", "expected"), (36, 0, False), (36, 2, False), (36, 3, True), (37, 0, True))
@each_row(
    ("first", "second", "asked"),
    ({"taints": [{"key": "broken", "effect": "NoSchedule"}]}, {}, claim(request())),
    ({}, {"attributes": {"rack": {"int": 1}}}, claim(request(), constraints=[{"matchAttribute": f"{DRIVER}/rack"}])),
    ({"allowMultipleAllocations": True, "attributes": {"rack": {"int": 1}}}, {}, claim(ALTERNATIVES)),
)
def test_devices_that_are_not_taken_after_all_keep_no_counters_from_1_36_3_on(
    first: Json, second: Json, asked: Json, release: int, patch: int, *, expected: bool
) -> None:
    """They are tainted, a constraint rejects them, or a later request wants what they are."""
    partitions = resource_slice(device("d0", **consuming(), **first), device("d1", **consuming(), **second), count=2)
    shared = resource_slice(name="s1", sharedCounters=counters(), count=2)
    assert fits([partitions, shared], asked, release=Release(release), patch=patch) is expected


@pytest.mark.slow
def test_many_devices_of_many_claims_need_no_deeper_stack() -> None:
    claims = [claim(request(count=32, adminAccess=True), name=f"c{number}") for number in range(1100)]
    slices = [resource_slice(*(device(f"d{number}") for number in range(32)))]
    with ThreadPoolExecutor() as threads:
        assert all(threads.map(lambda _: fits(slices, *claims), range(2)))


@pytest.mark.slow
def test_a_search_ends_where_upstream_gives_up() -> None:
    devices = [device(f"d{number:03}", attributes={"slot": {"int": number % 20}}) for number in range(100)]
    requests = [request(f"r{number}") for number in range(21)]
    slow = claim(*requests, constraints=[{"distinctAttribute": f"{DRIVER}/slot", "requests": []}])
    with mock.patch.object(search, "MOST_VISITS", 400_000):
        found = answer([resource_slice(*devices)], slow)
    assert (found.is_found, found.error, found.timed_out) == (False, None, True)


def funnel_of(slices: list[Json], wanted: int) -> Funnel:
    [funnel] = Allocator(CLASSES, slices, features=ALL).attempt([claim(request(count=wanted))]).explain(NODE)
    return funnel


@each_row(
    ("wanted", "found"),
    (1, None),
    (2, None),
    (3, (2, "counter memory of set: 4Gi is left, 3 devices consume 6Gi at least")),
)
def test_counters_that_devices_share(wanted: int, found: tuple[int, str] | None) -> None:
    memories = {"whole": "4Gi", **{f"half-{number}": "2Gi" for number in range(3)}}
    parts = [device(name, **consuming("set", memory)) for name, memory in memories.items()]
    shared = resource_slice(name="counters", count=2, sharedCounters=counters("set", "4Gi"))
    funnel = funnel_of([shared, resource_slice(*parts, count=2)], wanted)
    assert (funnel.counts["enough"], funnel.together) == (4, found)


@each_row("wanted", 6, 5)
def test_counters_of_several_sets_add_up(wanted: int) -> None:
    sets = [*counters("set-0", "4Gi"), *counters("set-1", "4Gi")]
    parts = [device(f"part-{of}-{number}", **consuming(f"set-{of}", "2Gi")) for of in range(2) for number in range(3)]
    shared = resource_slice(name="counters", count=2, sharedCounters=sets)
    lacks = [f"counter memory of set-{of}: 4Gi is left, 3 devices consume 6Gi at least" for of in range(2)]
    assert funnel_of([shared, resource_slice(*parts, count=2)], wanted).together == (4, "; ".join(lacks))


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
    ("1500m", "capacity memory: 1 of 3 is left, 1500m is wanted"),
    ("2", "capacity memory: 1 of 3 is left, 2 is wanted"),
    ("1", ""),
)
def test_capacity_that_is_left(wanted: str, text: str) -> None:
    shared = device("d0", capacity={"memory": {"value": "3"}}, allowMultipleAllocations=True)
    used = held("d0", shareID="a", consumedCapacity={"memory": "2"})
    allocator = Allocator(CLASSES, [resource_slice(shared)], [used], features=ALL)
    attempt = allocator.attempt([claim(request(capacity={"requests": {"memory": wanted}}))])
    [[reason]] = [funnel.reasons() for funnel in attempt.explain(NODE)]
    assert reason.text == text
    assert attempt.on(NODE).is_found is (text == "")


@each_row(("published", "has"), ("", ""), ("b a", ", only a, b"), ("d c b a", ", only a, b, c, …"))
def test_a_capacity_that_a_device_does_not_have(published: str, has: str) -> None:
    capacity = {name: {"value": "1"} for name in published.split()}
    attempt = Allocator(CLASSES, [resource_slice(device("d0", capacity=capacity))], features=ALL).attempt(
        [claim(request(capacity={"requests": {"memory": "1"}}))]
    )
    [[reason]] = [funnel.reasons() for funnel in attempt.explain(NODE)]
    assert reason.text == f"capacity memory is not published{has}"


def test_a_search_takes_back_shares_of_nothing() -> None:
    shared = device("d0", allowMultipleAllocations=True, capacity={"memory": {"value": "4"}})
    never = selecting("false") | {"name": "never"}
    steps = []
    for wanted in ("0", "1"):
        each = [request(f"r{number}", capacity={"requests": {"memory": wanted}}) for number in range(2)]
        steps.append(answer([resource_slice(shared)], claim(*each, never), patch=3).steps)
    assert steps[0] == steps[1]


def test_counters_that_a_pool_of_the_same_name_lacks_do_not_limit() -> None:
    # Upstream knows counters by the pool's name: those of the driver that comes first count for both.
    def pool(driver: str, name: str) -> list[Json]:
        partitions = [device(f"d{n}", **consuming(name, "2")) for n in range(2)]
        slices = [
            resource_slice(*partitions, name=f"{name}0", count=2),
            resource_slice(name=f"{name}1", count=2, sharedCounters=counters(name, "2")),
        ]
        return [{**each, "spec": {**each["spec"], "driver": driver}} for each in slices]

    slices = pool("a.example.com", "a") + pool("b.example.com", "b")
    given = allocation(slices, claim(request(count=3)))["devices"]["results"]
    assert [each["driver"][0] + each["device"] for each in given] == ["ad0", "bd0", "bd1"]


TOTAL, HALF, WANTED = 1_000_000, 500_000, 8


def _packing(number: int) -> list[Json]:
    """Return a pool whose devices consume two counters, one unit more than there is if eight are picked."""

    def both(first: int, second: int) -> Json:
        return {"a": {"value": str(first)}, "b": {"value": str(second)}}

    left, partitions = WANTED * HALF - 1, []
    for n in range(number):
        amount = 300_000 + 7919 * n**2 % 400_000
        consumed = {"counterSet": "c", "counters": both(amount, TOTAL - amount)}
        partitions.append(device(f"d{n}", consumesCounters=[consumed]))
    shared = resource_slice(name="left", count=2, sharedCounters=[{"name": "c", "counters": both(left, left)}])
    return [resource_slice(*partitions, count=2), shared]


def test_counting_the_steps_of_a_packing_ends() -> None:
    with mock.patch.object(search, "MOST_VISITS", 50_000):
        assert answer(_packing(40), claim(request(count=WANTED))).timed_out


def test_remembered_states_take_no_more_than_their_bytes() -> None:
    most = 1 << 14
    made: list[search.Memories] = []
    searching = search.Memories.__init__

    def keep(self: search.Memories, *parts: Any) -> None:
        searching(self, *parts)
        made.append(self)

    with (
        mock.patch.object(search.Memories, "__init__", keep),
        mock.patch.object(search, "_MOST", most),
        mock.patch.object(search, "MOST_VISITS", 50_000),
    ):
        assert answer(_packing(40), claim(request(count=WANTED))).timed_out
    sizes = [sum(map(_bytes, each.known.items())) for each in made]
    assert most / 3 < max(sizes) < 2 * most


def _bytes(value: Any) -> int:
    inner = sum(map(_bytes, value)) if isinstance(value, tuple | frozenset) else 0
    return sys.getsizeof(value) + inner


def test_the_work_for_a_pod_grows_with_its_requests_times_the_devices() -> None:
    count = 80
    slices = [resource_slice(*(device(f"d{n}") for n in range(count)))]
    claims = [claim(request(), name=f"c{n}") for n in range(count)]
    with mock.patch.object(Ask, "tolerates", autospec=True, side_effect=Ask.tolerates) as tolerates:
        assert fits(slices, *claims)
    assert tolerates.call_count < 4 * count**2


def test_partitions_of_equal_gpus_stand_for_each_other() -> None:
    # Whichever of 48 small partitions a pod gets, no GPU is left as a whole: thousands of states, but few that differ.
    partitions, sets = [], []
    for gpu in range(8):
        sets.append({"name": f"gpu{gpu}", "counters": {str(n): {"value": "1"} for n in range(7)}})
        for size, slots in (("1g", [[n] for n in range(7)]), ("7g", [[*range(7)]])):
            for each in slots:
                drawn = {"counterSet": f"gpu{gpu}", "counters": {str(n): {"value": "1"} for n in each}}
                of_size = {"attributes": {"size": {"string": size}}, "consumesCounters": [drawn]}
                partitions.append(device(f"{size}-{gpu}-{each[0]}", **of_size))
    slices = [resource_slice(*partitions, count=2), resource_slice(name="left", count=2, sharedCounters=sets)]
    used = claim(name="held")
    results = [result(f"1g-{gpu}-0") for gpu in range(8)]
    used["status"] = {"allocation": {"devices": {"results": results}}}
    asked = [
        selecting(f'device.attributes["{DRIVER}"].size == "{size}"', count=count) | {"name": f"r{size}"}
        for size, count in (("1g", 3), ("7g", 1))
    ]
    found = Allocator(CLASSES, slices, [used], features=ALL).attempt([claim(*asked)]).on(NODE)
    assert not found.is_found
    assert (found.error, found.timed_out) == (None, False)


def test_states_in_which_a_constraint_compares_other_values_differ() -> None:
    # Either of the first two devices leaves nothing of their counter, but only the second one has a like.
    parts = [device(f"d{n}", attributes={"rack": {"int": 2 - n}}, **consuming()) for n in range(2)]
    whole = device("d2", attributes={"rack": {"int": 1}})
    slices = [resource_slice(*parts, whole, count=2), resource_slice(name="left", count=2, sharedCounters=counters())]
    asked = claim(request("r0"), request("r1"), constraints=[{"matchAttribute": f"{DRIVER}/rack"}])
    with mock.patch.object(search, "_REMEMBERED_AFTER", 0):
        assert devices(slices, asked, release=37) == ["d1", "d2"]


def test_states_in_which_another_device_comes_first_differ_if_a_value_is_unknown() -> None:
    # Of devices that must differ, only the first one may have a value of an unknown type.
    racks = ({"ints": [1]}, {"int": 1}, {"ints": [1]}, {"int": 2})
    slices = [resource_slice(*(device(f"d{n}", attributes={"rack": rack}) for n, rack in enumerate(racks)))]
    asked = claim(request(count=3), constraints=[{"distinctAttribute": f"{DRIVER}/rack"}])
    with mock.patch.object(search, "_REMEMBERED_AFTER", 0):
        assert devices(slices, claim(request()), asked, release=37) == ["d2", "d0", "d1", "d3"]
