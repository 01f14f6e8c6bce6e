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
    answer,
    claim,
    device,
    error,
    request,
    resource_slice,
    result,
)
from tests.rows import each_row
from webhook import allocate
from webhook.allocation import Allocator, Failure, Features, Result, search
from webhook.allocation.demand import Ask
from webhook.allocation.explain import together
from webhook.release import Release


def test_devices_are_reported_by_claim() -> None:
    found = answer([resource_slice(device("d0"), device("d1"))], claim(request(count=2)), claim())
    assert isinstance(found, Result)
    assert found.devices == [[("r", DRIVER, "n0", "d0"), ("r", DRIVER, "n0", "d1")], []]
    assert found.steps == 6
    assert not found.timed_out


@pytest.mark.parametrize(("name", "kind"), [("stable", Failure), ("incubating", Result)])
def test_selectors_see_no_sharing_where_the_implementation_knows_none(name: str, kind: type) -> None:
    shared = resource_slice(device("d0", allowMultipleAllocations=True))
    wanted = claim(request(selectors=[{"cel": {"expression": "device.allowMultipleAllocations"}}]))
    assert isinstance(answer([shared], wanted, features=Features(), implementations=[name]), kind)


def test_what_is_allocated_is_held_until_it_is_taken_back() -> None:
    allocator = Allocator(CLASSES, [resource_slice(device("d0"))], features=ALL)
    found = allocator.allocate(NODE, [claim(request())])
    assert isinstance(found, Result)
    taken = {**claim(), "status": {"allocation": found.allocations[0]}}
    allocator.add(taken)
    assert isinstance(allocator.allocate(NODE, [claim(request())]), Failure)
    allocator.remove(taken)
    assert isinstance(allocator.allocate(NODE, [claim(request())]), Result)
    with pytest.raises(ValueError, match=f"claim ns/c does not use {DRIVER}/n0/d0"):
        allocator.remove(taken)


@each_row(
    ("gates", "release", "name"),
    [
        ((), 34, "stable"),
        (("DRAAdminAccess", "DRAPrioritizedList"), 34, "incubating"),
        (("DRAAdminAccess", "DRAPrioritizedList"), 36, "stable"),
        (("DRAConsumableCapacity",), 35, "experimental"),
        (("DRAConsumableCapacity",), 36, "incubating"),
        (("DRADeviceBindingConditions",), 36, "stable"),
        (("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"), 36, "incubating"),
        (("DRAListTypeAttributes",), 36, "stable"),
        (("DRAListTypeAttributes",), 37, "experimental"),
    ],
)
def test_a_release_picks_the_first_implementation_that_supports_the_features(
    gates: tuple[str, ...], release: int, name: str
) -> None:
    minor = Release(release)
    assert Allocator([], [], features=Features.of(gates, minor), release=minor).variant.name == name


def test_no_implementation_may_support_the_features() -> None:
    with pytest.raises(ValueError, match=r"no allocator of Kubernetes 1\.36 supports ConsumableCapacity \(of stable\)"):
        Allocator([], [], features=Features(ConsumableCapacity=True), implementations=["stable"])


@each_row(
    ("selector", "detail"),
    [
        (
            {"operator": "Near"},
            'operator: Unsupported value: "Near": supported values: '
            + ", ".join(f'"{each}"' for each in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")),
        ),
        ({"operator": "In"}, "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        (
            {"operator": "Exists", "values": ["a"]},
            'values: Invalid value: ["a"]: values set must be empty for exists and does not exist',
        ),
        (
            {"operator": "Gt", "values": ["a"]},
            "values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            {"operator": "Lt", "values": []},
            "values: Invalid value: []: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ],
)
def test_a_node_selector_that_cannot_be_parsed_ends_the_attempt(selector: Json, detail: str) -> None:
    term = {"matchExpressions": [{"key": "zone", **selector}]}
    text, scope = error([resource_slice(nodeSelector={"nodeSelectorTerms": [term]})], claim(request()))
    assert text is not None
    assert text.startswith("gather pool information: failed to perform node selection for slice s0: failed to parse")
    assert text.endswith(f": nodeSelectorTerms[0].matchExpressions[0].{detail}")
    assert scope == "abort"


@each_row(
    ("requirement", "fits"),
    [
        ({"key": "zone", "operator": "In", "values": ["a"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "rack", "operator": "NotIn", "values": ["a"]}, True),
        ({"key": "zone", "operator": "Exists"}, True),
        ({"key": "zone", "operator": "DoesNotExist"}, False),
        ({"key": "rank", "operator": "Gt", "values": ["2"]}, True),
        ({"key": "rank", "operator": "Lt", "values": ["3"]}, False),
        ({"key": "zone", "operator": "Gt", "values": ["2"]}, False),
    ],
)
def test_node_selectors_select_by_labels(requirement: Json, fits: bool) -> None:
    selector = {"nodeSelectorTerms": [{}, {"matchExpressions": [requirement]}]}
    per_device = resource_slice(device("d0", nodeSelector=selector), perDeviceNodeSelection=True)
    assert isinstance(answer([per_device], claim(request(allocationMode="All"))), Failure)
    selector["nodeSelectorTerms"].pop(0)
    assert isinstance(answer([per_device], claim(request())), Result) is fits


def test_node_selectors_select_by_name() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n0"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    found = answer([resource_slice(device("d0"), nodeSelector=selector)], claim(request()))
    assert isinstance(found, Result)
    assert found.allocations[0]["nodeSelector"] == selector


def test_a_node_selector_with_two_terms_ends_the_attempt() -> None:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in ("zone", "rank")]
    slices = [resource_slice(device("d0"), nodeSelector={"nodeSelectorTerms": terms})]
    text = "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"
    assert error(slices, claim(request())) == (text, "abort")


def test_a_search_of_more_than_ten_seconds_is_reported() -> None:
    devices = [device(f"d{number:02}", attributes={"slot": {"int": number % 9}}) for number in range(27)]
    requests = [request(f"r{number}") for number in range(10)]
    slow = claim(*requests, constraints=[{"distinctAttribute": f"{DRIVER}/slot", "requests": []}])
    found = answer([resource_slice(*devices)], slow)
    assert isinstance(found, Failure)
    assert found.error is None
    assert found.timed_out


def test_why_devices_are_ruled_out() -> None:
    allocator = Allocator(
        CLASSES,
        [
            resource_slice(
                device("free", attributes={"rack": {"int": 1}, "model": {"string": "a100"}}),
                device("no-rack", attributes={"model": {"string": "a100"}}),
                device("used", attributes={"rack": {"int": 1}, "model": {"string": "a100"}}),
                device(
                    "tainted", attributes={"model": {"string": "a100"}}, taints=[{"key": "k", "effect": "NoExecute"}]
                ),
                device("other", attributes={"model": {"string": "l4"}}),
                device("odd"),
                device(
                    "small",
                    attributes={"model": {"string": "a100"}},
                    capacity={"memory": {"value": "1Gi"}},
                    consumesCounters=[{"counterSet": "set", "counters": {"memory": {"value": "2Gi"}}}],
                ),
                count=2,
            ),
            resource_slice(
                name="counters", count=2, sharedCounters=[{"name": "set", "counters": {"memory": {"value": "1Gi"}}}]
            ),
        ],
        [{**claim(name="holder"), "status": {"allocation": {"devices": {"results": [result("used")]}}}}],
        features=ALL,
    )
    model = f'device.attributes["{DRIVER}"].model == "a100"'
    attempt = allocator.attempt(
        [
            claim(
                request(selectors=[{"cel": {"expression": model}}], count=2),
                constraints=[{"matchAttribute": f"{DRIVER}/rack"}],
            )
        ]
    )
    [funnel] = attempt.explain(NODE)
    assert (funnel.claim, funnel.request, funnel.wanted) == ("ns/c", "r", 2)
    assert funnel.counts == {"seen": 7, "ofClass": 7, "selected": 5, "free": 4, "tolerated": 3, "enough": 2}
    assert funnel.constrained == 1
    reasons = {each.device.name: (each.why, each.text, each.holders, each.taints) for each in funnel.reasons()}
    assert reasons == {
        "free": ("", "", (), ()),
        "no-rack": ("constraint", f"attribute {DRIVER}/rack, which a constraint compares, is not published", (), ()),
        "used": ("in use", "", ("ns/holder",), ()),
        "tainted": ("taint", "", (), ({"key": "k", "effect": "NoExecute"},)),
        "other": ("selector", "selector #0 of the request is false", (), ()),
        "odd": ("selector", "selector #0 of the request: CEL runtime error: no such key: model", (), ()),
        "small": ("counters", "counter memory of set: 1Gi is left, 2Gi is consumed", (), ()),
    }


def test_devices_are_distinguished_by_the_attributes_that_a_selector_reads() -> None:
    devices = [
        device(f"d{index}", attributes={"model": {"string": model}, "uuid": {"string": f"{index}"}}, capacity=capacity)
        for index, (model, capacity) in enumerate(
            [("l4", {}), ("a100", {}), ("a100", {"memory": {"value": "1Gi"}}), ("a100", {"memory": {"value": "2Gi"}})]
        )
    ]
    expression = (
        f'device.attributes["{DRIVER}"].model == "a100" && "memory" in device.capacity["{DRIVER}"]'
        f' && device.capacity["{DRIVER}"].memory.compareTo(quantity("2Gi")) >= 0 && device.driver == "{DRIVER}"'
    )
    for selector in (expression, expression.replace(f'"memory" in device.capacity["{DRIVER}"] && ', "")):
        wanted = request(selectors=[{"cel": {"expression": selector}}])
        found = answer([resource_slice(*devices)][:1], claim(wanted))
        if "in device" in selector:
            assert isinstance(found, Result)
            assert found.devices[0][0][3] == "d3"
        else:
            assert isinstance(found, Failure)
            assert found.error == "claim ns/c: selector #0: CEL runtime error: no such key: memory"


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
    [
        ({"features": {"Magic": True}}, "unknown feature Magic: known are AdminAccess, "),
        ({"slices": [{"metadata": {"name": "s"}}]}, r"slices\[0\]\.spec must be an object, not NoneType"),
        ({"slices": [{"metadata": {}, "spec": {}}]}, "the scenario is malformed: no 'name'"),
        ({"nodes": ["n0"]}, r"nodes\[0\] must be an object, not str"),
        ({"claims": [{"spec": 3}]}, "the scenario is malformed: "),
        ({"claims": [claim(request(count=-1))]}, "request r: a negative count, on which the scheduler panics"),
    ],
)
def test_a_malformed_scenario_is_refused(part: Json, detail: str) -> None:
    with pytest.raises(ValueError, match=detail):
        allocate({**SCENARIO, **part})


@pytest.mark.parametrize(("release", "fits"), [(35, False), (36, True)])
def test_the_second_alternative_for_all_devices_was_mixed_up_with_the_first(release: int, *, fits: bool) -> None:
    def all_from(index: int) -> Json:
        selectors = [{"cel": {"expression": f'device.attributes["{DRIVER}"].index >= {index}'}}]
        return {"name": f"s{index}", "deviceClassName": "any", "allocationMode": "All", "selectors": selectors}

    devices = [device(f"d{index}", attributes={"index": {"int": index}}) for index in range(2)]
    asked = claim({"name": "r", "firstAvailable": [all_from(2), all_from(1)]})
    found = answer([resource_slice(*devices)], asked, release=Release(release))
    assert isinstance(found, Result) == fits


def test_the_result_states_whether_the_order_of_claims_matters() -> None:
    partition = {"consumesCounters": [{"counterSet": "a", "counters": {"memory": {"value": "1"}}}]}
    counters = [{"name": "a", "counters": {"memory": {"value": "1"}}}]
    tainted = {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
    slices = [
        resource_slice(device("d0", **partition, **tainted), count=2),
        {**resource_slice(name="s1", count=2, sharedCounters=counters)},
    ]
    tolerant = claim(request(tolerations=[{"operator": "Exists"}]), name="tolerant")
    assert not answer(slices, tolerant).depends_on_order
    # Counters taken for a device before its taints are checked stay taken.
    assert answer(slices, tolerant, claim(request())).depends_on_order
    plain = [resource_slice(device("d0"), device("d1"))]
    assert not answer(plain, claim(), claim(request())).depends_on_order
    assert answer(plain, claim(request(adminAccess=True)), claim(request())).depends_on_order
    broken = request(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].x == 1'}}])
    assert answer(plain, claim(broken), claim(request())).depends_on_order


@each_row(
    ("result", "type_", "detail"),
    [
        ("1.5", "double", "type conversion error from Double to 'bool'"),
        ("1u", "uint", "unsupported type conversion from 'uint' to bool"),
        ("int", "type", "type conversion not supported for 'type'"),
        ("{}", "map", "type conversion error from map to 'bool'"),
        ("quantity('1')", "kubernetes.Quantity", "type conversion error from 'Quantity' to 'bool'"),
        ("duration('1s')", "google.protobuf.Duration", "type conversion error from 'Duration' to 'bool'"),
        ("device.?driver", "optional_type", "unsupported native conversion from string to 'bool'"),
        ("has(device.?attributes[device.driver].x)", "optional_type", "unsupported type conversion from 'int' to bool"),
        ("has(device.?attributes[device.driver].y)", "optional_type", "optional.none() dereference"),
    ],
)
def test_a_selector_whose_result_is_no_bool_ends_the_attempt(result: str, type_: str, detail: str) -> None:
    selector = f"device.driver == '' ? device.attributes[device.driver].x : {result}"
    broken = claim(request(selectors=[{"cel": {"expression": selector}}]))
    text = f"CEL result of type {type_} could not be converted to bool: {detail}"
    slices = [resource_slice(device("d0", attributes={"x": {"int": 1}}))]
    assert error(slices, broken) == (f"claim ns/c: selector #0: CEL runtime error: {text}", "abort")


@pytest.mark.parametrize("result", ["optional.of({})", "optional.of(optional.of({}))"])
def test_an_optional_bool_selects_as_the_bool_in_it(result: str) -> None:
    slices = [resource_slice(device("d0", attributes={"x": {"int": 1}}))]
    for value in (True, False):
        chosen = result.format(str(value).lower())
        selector = f"device.driver == '' ? device.attributes[device.driver].x : {chosen}"
        found = answer(slices, claim(request(selectors=[{"cel": {"expression": selector}}])))
        assert isinstance(found, Result) is value


def test_devices_on_one_counter_set_have_a_compatibility_group_in_common() -> None:
    def partition(name: str, *groups: str) -> Json:
        consumed = {"counterSet": "a", "counters": {"memory": {"value": "1"}}, "compatibilityGroups": list(groups)}
        return device(name, consumesCounters=[consumed])

    counters: Json = {"sharedCounters": [{"name": "a", "counters": {"memory": {"value": "4"}}}]}
    devices = [partition("d0", "x"), partition("d1", "y"), partition("d2"), partition("d3", "y", "x")]
    slices = [resource_slice(*devices, count=2), resource_slice(name="s1", count=2, **counters)]
    features = replace(ALL, CompatibilityGroups=True)
    allocator = Allocator(CLASSES, slices, features=features, release=Release(37))
    assert allocator.variant.name == "experimental"
    pair = allocator.allocate(NODE, [claim(request(count=2))])
    assert isinstance(pair, Result)
    assert [each["device"] for each in pair.allocations[0]["devices"]["results"]] == ["d0", "d3"]
    assert pair.allocations[0]["devices"]["results"][1]["compatibilityGroups"] == {"a": {"groups": ["y", "x"]}}
    assert isinstance(allocator.allocate(NODE, [claim(request(count=3))]), Failure)
    # The values recorded at allocation count, whatever the slice has now.
    taken = {"request": "r", "driver": DRIVER, "pool": "n0", "device": "d2"}
    one = claim(name="held")
    allocator.add({**one, "status": {"allocation": {"devices": {"results": [taken]}}}})
    assert isinstance(allocator.allocate(NODE, [claim(request())]), Failure)
    recorded = {**taken, "compatibilityGroups": {"a": {"groups": ["y"]}}}
    allocator.remove({**one, "status": {"allocation": {"devices": {"results": [taken]}}}})
    allocator.add({**one, "status": {"allocation": {"devices": {"results": [recorded]}}}})
    after = allocator.allocate(NODE, [claim(request())])
    assert isinstance(after, Result)
    assert [each["device"] for each in after.allocations[0]["devices"]["results"]] == ["d1"]


@pytest.mark.parametrize("counts", [(2, 3), (3, 2)])
def test_the_order_matters_if_an_outdated_pool_may_seem_complete(counts: tuple[int, int]) -> None:
    slices = [resource_slice(device(f"d{count}"), name=f"s{at}", count=count) for at, count in enumerate(counts)]
    newer = resource_slice(name="newer", nodeName="elsewhere", count=3)
    newer["spec"]["pool"]["generation"] = 2
    assert answer([*slices, newer], claim(request())).depends_on_order
    assert not answer([slices[counts.index(3)], newer], claim(request())).depends_on_order


def test_tolerations_are_recorded_from_1_35_on() -> None:
    features = replace(ALL, ConsumableCapacity=False)
    tolerations = [{"operator": "Exists"}]
    for release, recorded in ((34, None), (35, tolerations)):
        asked = claim(request(tolerations=tolerations))
        found = answer([resource_slice(device("d0"))], asked, features=features, release=Release(release))
        assert isinstance(found, Result)
        assert found.allocations[0]["devices"]["results"][0].get("tolerations") == recorded


@pytest.mark.parametrize(("default", "fits"), [("2Gi", False), ("8Gi", True)])
def test_a_rounded_amount_is_the_default_only_if_it_is_spelled_alike(default: str, *, fits: bool) -> None:
    # A rounded amount has no spelling, and 8Gi is kept without one; the default is allowed whatever the range.
    policy = {"default": default, "validRange": {"min": "1", "max": "4", "step": "1"}}
    gpu = device("d0", allowMultipleAllocations=True, capacity={"memory": {"value": "16Gi", "requestPolicy": policy}})
    asked = claim(request(capacity={"requests": {"memory": default}}))
    assert isinstance(answer([resource_slice(gpu)], asked), Result) is fits


PARTITION = {"consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": "1Gi"}}}]}
COUNTERS = [{"name": "set", "counters": {"memory": {"value": "1Gi"}}}]


class TestDevicesThatAreNotTakenAfterAll:
    """Up to 1.36.2, they keep their counters; from 1.36.3 on, the counters are there for other devices."""

    VERSIONS = ((36, 0, False), (36, 2, False), (36, 3, True), (37, 0, True))

    @staticmethod
    def fits(first: Json, *claims: Json, release: int, patch: int) -> bool:
        partitions = resource_slice(device("d0", **PARTITION, **first), device("d1", **PARTITION), count=2)
        counters = resource_slice(name="s1", sharedCounters=COUNTERS, count=2)
        found = answer([partitions, counters], *claims, release=Release(release), patch=patch)
        return isinstance(found, Result)

    @each_row(("release", "patch", "expected"), VERSIONS)
    def test_since_they_are_tainted(self, release: int, patch: int, *, expected: bool) -> None:
        tainted = {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
        assert self.fits(tainted, claim(request()), release=release, patch=patch) is expected

    @each_row(("release", "patch", "expected"), VERSIONS)
    def test_since_a_constraint_rejects_them(self, release: int, patch: int, *, expected: bool) -> None:
        matching = claim(request(), constraints=[{"matchAttribute": f"{DRIVER}/rack"}])
        partitions = resource_slice(
            device("d0", **PARTITION), device("d1", **PARTITION, attributes={"rack": {"int": 1}}), count=2
        )
        counters = resource_slice(name="s1", sharedCounters=COUNTERS, count=2)
        found = answer([partitions, counters], matching, release=Release(release), patch=patch)
        assert isinstance(found, Result) is expected

    @each_row(("release", "patch", "expected"), VERSIONS)
    def test_since_a_later_request_wants_what_they_are(self, release: int, patch: int, *, expected: bool) -> None:
        shared = {"allowMultipleAllocations": True, "attributes": {"rack": {"int": 1}}}
        alternatives = {
            "name": "r0",
            "firstAvailable": [
                {"name": "two", "deviceClassName": "any", "count": 3},
                {
                    "name": "one",
                    "deviceClassName": "any",
                    "selectors": [{"cel": {"expression": f'!has(device.attributes["{DRIVER}"].rack)'}}],
                },
            ],
        }
        assert self.fits(shared, claim(alternatives), release=release, patch=patch) is expected


def test_many_devices_of_many_claims_need_no_deeper_stack() -> None:
    claims = [claim(request(count=32, adminAccess=True), name=f"c{number}") for number in range(1100)]
    slices = [resource_slice(*(device(f"d{number}") for number in range(32)))]
    with ThreadPoolExecutor() as threads:
        assert all(isinstance(each, Result) for each in threads.map(lambda _: answer(slices, *claims), range(2)))


def test_a_search_may_take_more_steps_than_a_float_can_tell() -> None:
    claims = [claim(request(), name=f"c{number}") for number in range(180)]
    found = answer([resource_slice(*(device(f"d{number}") for number in range(179)))], *claims)
    assert (isinstance(found, Failure), found.timed_out, found.steps > 10**320) == (True, True, True)


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
