"""The allocators of releases: what older ones, as recorded, and that of 1.37, by its sources, do otherwise."""

from dataclasses import replace

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
    selecting,
)
from tests.rows import each_row
from webhook import allocate
from webhook.allocation import Failure, Features, Result
from webhook.release import Release

NEWEST = Release(37)
DERIVING = replace(ALL, DerivedAttributes=True, ListTypeAttributes=True)
NAME = "derived.example.com/place"


def placed(expression: str, *slices: Json, count: int = 2) -> list[str] | None:
    deriving = request(count=count, derivedAttributes=[{"name": NAME, "expression": expression}])
    asked = claim(deriving, constraints=[{"matchAttribute": NAME}])
    return devices(list(slices), asked, features=DERIVING, release=NEWEST)


def numbered(*values: str) -> Json:
    return resource_slice(*[device(f"d{n}", attributes={"at": {"string": value}}) for n, value in enumerate(values)])


AT = f'device.attributes["{DRIVER}"].at'


@each_row(
    ("expression", "expected"),
    (f'{AT}.split("-")[0]', ["d0", "d2"]),
    (f'{AT}.startsWith("a")', ["d0", "d2"]),
    (f"size({AT})", ["d0", "d1"]),
    (f'semver(string(size({AT})) + ".0.0")', ["d0", "d1"]),
    (f'{AT}.split("-")', ["d0", "d2"]),
    (f'[{AT} == "a-1"]', ["d1", "d2"]),
    (f"[size({AT})]", ["d0", "d1"]),
    (f'[semver({AT} == "a-1" ? "1.0.0" : "2.0.0")]', ["d1", "d2"]),
)
def test_constraints_read_what_a_request_derives(expression: str, expected: list[str]) -> None:
    assert placed(expression, numbered("a-1", "b-2", "a-3")) == expected


def test_what_is_derived_comes_before_what_a_device_has() -> None:
    slices = [resource_slice(*[device(f"d{n}", attributes={NAME: {"int": n}}) for n in range(2)])]
    assert placed("1", *slices) == ["d0", "d1"]
    # Without its feature, it is as if nothing was derived.
    deriving = request(count=2, derivedAttributes=[{"name": NAME, "expression": "1"}])
    asked = claim(deriving, constraints=[{"matchAttribute": NAME}])
    assert not fits(slices, asked, features=ALL, release=NEWEST)
    assert placed("dyn([])", numbered("a"), count=1) is None


def test_alternatives_derive_each_its_own() -> None:
    ask = {"deviceClassName": "any", "count": 2}
    alternatives = [
        {"name": "s0", **ask, "derivedAttributes": [{"name": NAME, "expression": AT}]},
        {"name": "s1", **ask, "derivedAttributes": [{"name": NAME, "expression": "true"}]},
    ]
    asked = claim({"name": "r", "firstAvailable": alternatives}, constraints=[{"matchAttribute": NAME}])
    found = allocation([numbered("a", "b")], asked, features=DERIVING, release=NEWEST)
    assert {each["request"] for each in found["devices"]["results"]} == {"r/s1"}


@each_row(
    ("expression", "detail"),
    (f"{AT}x", "CEL runtime error: no such key: atx"),
    ("dyn(1.5)", "CEL runtime error: unsupported CEL return type: double"),
    ("dyn([1.5])", "CEL runtime error: unsupported list element type: double"),
    ('dyn([dyn(1), dyn("a")])', "CEL runtime error: expected list element at index 1 to be int, got string"),
    ("{}", "CEL compile error: must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of "),
)
def test_an_expression_that_is_wrong_ends_the_attempt(expression: str, detail: str) -> None:
    asked = claim(
        request(derivedAttributes=[{"name": NAME, "expression": expression}]), constraints=[{"distinctAttribute": NAME}]
    )
    text, scope = error([numbered("a")], asked, features=DERIVING, release=NEWEST)
    assert text.startswith(f"claim ns/c, request r, derived attribute {NAME}: {detail}")
    assert scope == "abort"


def test_expressions_are_evaluated_only_where_a_constraint_reads_what_they_derive() -> None:
    wrong = request(derivedAttributes=[{"name": NAME, "expression": f"{AT}x"}])
    assert fits([numbered("a")], claim(wrong), features=DERIVING, release=NEWEST)


def test_operations_that_nodes_skip_are_recorded() -> None:
    slices = [resource_slice(device("d0"), skipNodeOperations=["*"])]
    for features, recorded in ((replace(ALL, OptionalNodeOperations=True), ["*"]), (ALL, None)):
        found = allocation(slices, claim(request()), features=features, release=NEWEST)
        assert found["devices"]["results"][0].get("skipNodeOperations") == recorded


@each_row(
    ("bounds", "wanted", "fractions", "whole"),
    ({"min": "500m", "step": "250m"}, "600m", "750m", "1"),
    ({"min": "500m", "step": "250m"}, "1", "1", "1"),
    ({"min": "500m", "step": "250m", "max": "700m"}, "600m", None, None),
    ({"min": "1", "step": "2"}, "2", "3", "3"),
    ({"min": "500m"}, "600m", "600m", "600m"),
    ({"min": "500m", "step": "1m", "max": "1E"}, "1", "1", "1"),
)
def test_capacity_is_rounded_to_fractions(bounds: Json, wanted: str, fractions: str | None, whole: str | None) -> None:
    policy = {"default": "1", "validRange": bounds}
    shared = device("d0", allowMultipleAllocations=True, capacity={"cores": {"value": "4", "requestPolicy": policy}})
    asked = claim(request(capacity={"requests": {"cores": wanted}}))
    for features, expected in ((replace(ALL, FractionalCapacityRange=True), fractions), (ALL, whole)):
        found = answer([resource_slice(shared)], asked, features=features, release=NEWEST)
        taken = found.allocations[0]["devices"]["results"][0] if isinstance(found, Result) else {}
        assert taken.get("consumedCapacity", {}).get("cores") == expected


@each_row(
    ("gate", "name"),
    ("DRADerivedAttributes", "experimental"),
    ("DRAOptionalNodeOperations", "experimental"),
    ("DRAFractionalCapacityRange", "incubating"),
)
def test_a_gate_picks_the_implementation_that_supports_it(gate: str, name: str) -> None:
    features = dict.fromkeys(Features.of({gate}, NEWEST).names, True)
    assert allocate({"features": features, "release": 37})["implementation"] == name


def test_a_search_that_takes_too_long_upstream_is_reported() -> None:
    slices = [resource_slice(*(device(f"d{n}") for n in range(24)))]
    scenario = {"features": {}, "classes": CLASSES, "slices": slices, "nodes": [NODE]}
    (easy,) = allocate({**scenario, "claims": [claim(request(count=2))]})["nodes"]
    assert "timedOut" not in easy
    # 25 of 24: upstream tries all choices of them.
    (hard,) = allocate({**scenario, "enable": ["incubating"], "claims": [claim(request(count=25))]})["nodes"]
    assert hard == {"node": "n0", "result": None, "error": None, "timedOut": True}


def test_pools_with_counters_elsewhere_are_left_alone_but_by_the_stable_allocator() -> None:
    broken = [
        resource_slice(name=f"s{n}", pool="n1", count=2, nodeName="n1", sharedCounters=counters()) for n in range(2)
    ]
    slices = [resource_slice(device("d0")), *broken]
    asked = claim(request(allocationMode="All"))
    stable = replace(ALL, ConsumableCapacity=False, DeviceBindingAndStatus=False)
    text = f"claim ns/c, request r: asks for all devices, but resource pool {DRIVER}/n1 is currently invalid"
    assert error(slices, asked, features=stable, release=NEWEST) == (text, "abort")
    assert fits(slices, asked, release=NEWEST)


def test_the_first_slice_whose_selector_cannot_be_parsed_is_named() -> None:
    wrong = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]}
    slices = [
        resource_slice(name="s0", count=2, nodeSelector=wrong, sharedCounters=counters()),
        resource_slice(device("d0"), name="s1", count=2, nodeSelector=wrong),
    ]
    text, _ = error(slices, claim(request()), features=ALL, release=NEWEST)
    assert "for slice s0: " in text


def test_errors_of_selectors_name_the_device_from_1_37_on() -> None:
    broken = claim(selecting(f'device.attributes["{DRIVER}"].x == 1'))
    slices = [resource_slice(device("d0"))]
    assert error(slices, broken) == ("claim ns/c: selector #0: CEL runtime error: no such key: x", "abort")
    text, scope = error(slices, broken, release=NEWEST)
    said = f"claim ns/c: selector #0 on device {DRIVER}/n0/d0: CEL runtime error: no such key: x. consider using CEL"
    assert (text.startswith(said), scope) == (True, "abort")
    uncompiled = claim(selecting("device.x"))
    assert error(slices, uncompiled, release=NEWEST)[0] == error(slices, uncompiled)[0]


def test_configuration_comes_once_from_1_37_on() -> None:
    own = {"opaque": {"driver": DRIVER, "parameters": {}}}
    requests = [request("a"), request("b")]
    configured = claim(*requests, config=[{"requests": ["a", "b"], **own}, {"requests": ["b"], **own}])
    slices = [resource_slice(device("d0"), device("d1"))]
    for release, requested in ((Release(36), [["a", "b"], ["a", "b"], ["b"]]), (NEWEST, [None, ["b"]])):
        config = allocation(slices, configured, release=release)["devices"]["config"]
        assert [each.get("requests") for each in config] == requested


def test_counters_of_other_nodes_are_no_trouble_from_1_37_on() -> None:
    alone = resource_slice(name="s1", pool="other", nodeName="n1", count=2, sharedCounters=counters())
    slices = [resource_slice(device("d0")), alone]
    everything = claim(request(allocationMode="All"))
    text = f"claim ns/c, request r: asks for all devices, but resource pool {DRIVER}/other is currently being updated"
    assert error(slices, everything) == (text, "abort")
    assert fits(slices, everything, release=NEWEST)
    # The counters of a node's devices may be in a slice of another node.
    split = [
        resource_slice(device("d0", **consuming()), device("d1", **consuming()), count=2),
        resource_slice(name="s1", count=2, nodeName="n1", sharedCounters=counters()),
    ]
    assert fits(split, claim(request()), release=NEWEST)
    assert not fits(split, claim(request(count=2)), release=NEWEST)


def test_from_1_37_on_selectors_see_lists_whatever_the_gate_says() -> None:
    slices = [resource_slice(device("d0", attributes={"a": {"ints": [1, 2]}}))]
    asked = claim(selecting(f'2 in device.attributes["{DRIVER}"].a'))
    assert fits(slices, asked, release=Release(37))
    assert error(slices, asked, release=Release(36))[1] == "abort"


PARTITIONED = Features(AdminAccess=True, DeviceTaints=True, PartitionableDevices=True, PrioritizedList=True)
SHARED = counters("gpu", "2Gi")
HALF, WHOLE = consuming("gpu", "1Gi"), consuming("gpu", "2Gi")


def test_what_must_be_bound_comes_last_pools_and_until_1_35_slices_in_their_pool() -> None:
    bound, free = device("d0", bindingConditions=["ready"]), device("d1")
    pools = [resource_slice(bound, name="s0", pool="a"), resource_slice(free, name="s1", pool="b")]
    for release in (34, 35, 36):
        assert devices(pools, claim(request()), release=Release(release)) == ["d1"]
    slices = [resource_slice(bound, name="s0", count=2), resource_slice(free, name="s1", count=2)]
    for release in (34, 35):
        assert devices(slices, claim(request()), release=Release(release)) == ["d1"]


@each_row(("features", "is_bound"), (ALL, True), (PARTITIONED, False))
def test_the_stable_allocator_does_not_know_of_binding_to_a_node(features: Features, is_bound: bool) -> None:
    slices = [resource_slice(device("d0", bindsToNode=True), allNodes=True)]
    assert ("nodeSelector" in allocation(slices, claim(request()), features=features)) == is_bound


def test_until_1_35_an_alternative_for_all_devices_goes_on_as_the_first_one() -> None:
    never = {"name": "s0", **selecting("false", count=1)["exactly"]}
    every = {"name": "s1", "deviceClassName": "any", "allocationMode": "All"}
    asked = claim({"name": "r", "firstAvailable": [never, every]})
    slices = [resource_slice(device("d0"), device("d1"))]
    assert [devices(slices, asked, release=Release(each)) for each in (35, 36)] == [["d0"], ["d0", "d1"]]


def test_until_1_35_shares_draw_on_no_counters() -> None:
    slices = [
        resource_slice(device("half", allowMultipleAllocations=True, **HALF), device("whole", **WHOLE), count=2),
        resource_slice(name="s1", count=2, sharedCounters=SHARED),
    ]
    asked, used = claim(selecting("!device.allowMultipleAllocations")), held("half", shareID="x", consumedCapacity={})
    found = [devices(slices, asked, allocated=[used], release=Release(each)) for each in (35, 36)]
    assert found == [["whole"], None]


def test_until_1_34_distinct_devices_may_have_equal_values() -> None:
    slices = [resource_slice(*(device(f"d{n}", attributes={"rack": {"int": n // 2}}) for n in range(3)))]
    asked = claim(request("r0"), request("r1"), constraints=[{"distinctAttribute": f"{DRIVER}/rack"}])
    assert [devices(slices, asked, release=Release(each)) for each in (34, 35)] == [["d0", "d1"], ["d0", "d2"]]


def test_until_1_36_slices_with_counters_come_after_those_of_the_node() -> None:
    # The first slice says how many there are.
    shared = resource_slice(name="s0", count=3, sharedCounters=SHARED)
    slices = [shared, resource_slice(device("d0", **HALF), name="s1", count=2)]
    assert [devices(slices, claim(request()), release=Release(each)) for each in (36, 37)] == [["d0"], None]


def test_what_the_claims_of_an_error_want_counts_for_the_order() -> None:
    broken = [resource_slice(device("d0"), device("d0"), name=pool, pool=pool) for pool in ("a", "b")]
    asked = claim(request(allocationMode="All"), constraints=[{"distinctAttribute": f"{DRIVER}/rack"}])
    assert answer(broken, asked, features=PARTITIONED).depends_on_order


def test_until_1_34_slices_with_counters_have_devices_for_several_nodes() -> None:
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
    slices = [
        resource_slice(device("d0", **HALF), nodeSelector=zone, pool="zone", sharedCounters=SHARED),
        resource_slice(device("d1"), name="s1"),
    ]
    assert devices(slices, claim(request()), release=Release(34)) == ["d0"]


def test_until_1_35_the_order_of_pools_is_that_of_a_map() -> None:
    slices = [resource_slice(device("d0"), name=pool, pool=pool) for pool in ("b", "a")]
    found = answer(slices, claim(request()))
    assert isinstance(found, Result)
    assert found.devices[0][0][2] == "a"
    assert not found.depends_on_order
    assert answer(slices, claim(request()), release=35).depends_on_order
    assert not answer(slices[:1], claim(request()), release=35).depends_on_order


def test_until_1_35_the_order_decides_whether_a_search_comes_to_a_node_selector_that_cannot_be_joined() -> None:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in ("zone", "rank")]
    slices = [
        resource_slice(device("d0"), name="a", pool="a", nodeSelector={"nodeSelectorTerms": terms}),
        resource_slice(device("d0"), name="b", pool="b"),
    ]
    found = answer(slices, claim(request()), release=35)
    assert isinstance(found, Failure)
    assert found.depends_on_order
    assert not answer(slices[:1], claim(request()), release=35).depends_on_order


def test_until_1_35_the_order_matters_only_to_a_request_with_a_choice() -> None:
    slices = [
        resource_slice(device("d0", attributes={"kind": {"string": kind}}), name=kind, pool=kind) for kind in ("b", "a")
    ]
    each = [selecting(f'device.attributes["{DRIVER}"].kind == "{kind}"') | {"name": kind} for kind in ("a", "b")]
    assert not answer(slices, claim(*each), release=35).depends_on_order
    assert not answer(slices, claim(request(count=3)), release=35).depends_on_order
    broken = selecting(f'device.attributes["{DRIVER}"].unknown == 1')
    assert answer(slices, claim(broken), release=35).depends_on_order


def test_until_1_34_each_slice_has_counters_of_its_own_and_incomplete_pools_are_used() -> None:
    older: Json = {"features": STABLE, "release": Release(34)}
    both = [
        resource_slice(
            *(device(f"d{n}{each}", **consuming()) for each in range(2)),
            name=f"s{n}",
            count=2,
            sharedCounters=counters(),
        )
        for n in range(2)
    ]
    assert fits(both, claim(request(count=2)), **older)
    assert not fits(both, claim(request(count=3)), **older)
    half = [resource_slice(device("d0"), count=2)]
    assert fits(half, claim(request()), **older)
    text = f"claim ns/c, request r: asks for all devices, but resource pool {DRIVER}/n0 is currently being updated"
    assert error(half, claim(request(allocationMode="All")), **older)[0] == text


STABLE = replace(ALL, ConsumableCapacity=False, DeviceBindingAndStatus=False)


def test_until_1_34_a_search_that_comes_to_an_invalid_pool_ends_with_an_error() -> None:
    asked = claim(request())
    older: Json = {"features": replace(ALL, ConsumableCapacity=False), "release": Release(34)}
    twice = resource_slice(device("d0"), device("d0"))
    assert error([twice], asked, **older) == ("pool n0 is invalid: duplicate device name d0", "abort")
    assert not answer([twice], asked, **older).depends_on_order
    other = resource_slice(device("d0"), pool="other", name="other")
    assert answer([twice, other], asked, **older).depends_on_order
    later = error([twice], asked, **older | {"release": Release(35)})
    assert later == ("invalid resource pools were encountered", "node")


def test_until_1_35_the_order_decides_which_unusable_pool_stops_a_request_for_all_devices() -> None:
    pools = [resource_slice(device("d0"), device("d0"), pool=name, name=name) for name in "ab"]
    asked = claim(request(allocationMode="All"))
    for slices, depends in ((pools, True), (pools[:1], False)):
        found = answer(slices, asked, features=STABLE, release=Release(35))
        assert isinstance(found, Failure)
        assert found.depends_on_order is depends


def test_capacity_without_its_feature_is_refused_in_the_name_of_the_request_until_1_34() -> None:
    features = replace(ALL, ConsumableCapacity=False)
    asked = claim({"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "any", "capacity": {}}]})
    for release, name in ((34, "request r"), (35, "subrequest s")):
        text = f"claim ns/c, {name}: has capacity requests, but the DRAConsumableCapacity feature is disabled"
        found = error([resource_slice(device("d0"))], asked, features=features, release=Release(release))
        assert found[0] == text
