"""The new features of the allocator in Kubernetes 1.37, from its sources."""

from dataclasses import replace
from typing import Any

from tests.allocation.clusters import ALL, DRIVER
from tests.allocation.objects import Json, answer, claim, device, error, request, resource_slice
from tests.rows import each_row
from webhook import allocate
from webhook.allocation import Failure, Features, Result
from webhook.release import Release

NEWEST = Release(37)
DERIVING = replace(ALL, DerivedAttributes=True, ListTypeAttributes=True)
NAME = "derived.example.com/place"


def placed(expression: str, kind: str = "matchAttribute", *slices: Json, count: int = 2, **more: Any) -> Any:
    deriving = request(count=count, derivedAttributes=[{"name": NAME, "expression": expression}])
    asked = claim(deriving, constraints=[{kind: NAME}])
    return answer(list(slices), asked, features=DERIVING, release=NEWEST, **more)


def names(found: Any) -> list[str]:
    assert isinstance(found, Result)
    return [each["device"] for each in found.allocations[0]["devices"]["results"]]


def numbered(*values: str) -> Json:
    return resource_slice(*[device(f"d{n}", attributes={"at": {"string": value}}) for n, value in enumerate(values)])


AT = f'device.attributes["{DRIVER}"].at'


@each_row(
    ("expression", "expected"),
    [
        (f'{AT}.split("-")[0]', ["d0", "d2"]),
        (f'{AT}.startsWith("a")', ["d0", "d2"]),
        (f"size({AT})", ["d0", "d1"]),
        (f'semver(string(size({AT})) + ".0.0")', ["d0", "d1"]),
        (f'{AT}.split("-")', ["d0", "d2"]),
        (f'[{AT} == "a-1"]', ["d1", "d2"]),
        (f"[size({AT})]", ["d0", "d1"]),
        (f'[semver({AT} == "a-1" ? "1.0.0" : "2.0.0")]', ["d1", "d2"]),
    ],
)
def test_constraints_read_what_a_request_derives(expression: str, expected: list[str]) -> None:
    assert names(placed(expression, "matchAttribute", numbered("a-1", "b-2", "a-3"))) == expected


def test_what_is_derived_comes_before_what_a_device_has() -> None:
    slices = [resource_slice(*[device(f"d{n}", attributes={NAME: {"int": n}}) for n in range(2)])]
    assert names(placed("1", "matchAttribute", *slices)) == ["d0", "d1"]
    # Without its feature, it is as if nothing was derived.
    deriving = request(count=2, derivedAttributes=[{"name": NAME, "expression": "1"}])
    asked = claim(deriving, constraints=[{"matchAttribute": NAME}])
    assert not isinstance(answer(slices, asked, features=ALL, release=NEWEST), Result)


def test_alternatives_derive_each_its_own() -> None:
    ask = {"deviceClassName": "any", "count": 2}
    alternatives = [
        {"name": "s0", **ask, "derivedAttributes": [{"name": NAME, "expression": AT}]},
        {"name": "s1", **ask, "derivedAttributes": [{"name": NAME, "expression": "true"}]},
    ]
    asked = claim({"name": "r", "firstAvailable": alternatives}, constraints=[{"matchAttribute": NAME}])
    found = answer([numbered("a", "b")], asked, features=DERIVING, release=NEWEST)
    assert isinstance(found, Result)
    assert {each["request"] for each in found.allocations[0]["devices"]["results"]} == {"r/s1"}


@each_row(
    ("expression", "detail"),
    [
        (f"{AT}x", "CEL runtime error: no such key: atx"),
        ("dyn(1.5)", "CEL runtime error: unsupported CEL return type: double"),
        ("dyn([1.5])", "CEL runtime error: unsupported list element type: double"),
        ('dyn([dyn(1), dyn("a")])', "CEL runtime error: expected list element at index 1 to be int, got string"),
        (
            "{}",
            "CEL compile error: must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of ",
        ),
    ],
)
def test_an_expression_that_is_wrong_ends_the_attempt(expression: str, detail: str) -> None:
    asked = claim(
        request(derivedAttributes=[{"name": NAME, "expression": expression}]), constraints=[{"distinctAttribute": NAME}]
    )
    text, scope = error([numbered("a")], asked, features=DERIVING, release=NEWEST)
    assert text is not None
    assert text.startswith(f"claim ns/c, request r, derived attribute {NAME}: {detail}")
    assert scope == "abort"


def test_expressions_are_evaluated_only_where_a_constraint_reads_what_they_derive() -> None:
    wrong = request(derivedAttributes=[{"name": NAME, "expression": f"{AT}x"}])
    assert isinstance(answer([numbered("a")], claim(wrong), features=DERIVING, release=NEWEST), Result)


def test_an_empty_list_matches_nothing() -> None:
    assert not isinstance(placed("dyn([])", "matchAttribute", numbered("a"), count=1), Result)


def test_operations_that_nodes_skip_are_recorded() -> None:
    slices = [resource_slice(device("d0"), skipNodeOperations=["*"])]
    for features, recorded in ((replace(ALL, OptionalNodeOperations=True), ["*"]), (ALL, None)):
        found = answer(slices, claim(request()), features=features, release=NEWEST)
        assert isinstance(found, Result)
        assert found.allocations[0]["devices"]["results"][0].get("skipNodeOperations") == recorded


@each_row(
    ("bounds", "wanted", "fractions", "whole"),
    [
        ({"min": "500m", "step": "250m"}, "600m", "750m", "1"),
        ({"min": "500m", "step": "250m"}, "1", "1", "1"),
        ({"min": "500m", "step": "250m", "max": "700m"}, "600m", None, None),
        ({"min": "1", "step": "2"}, "2", "3", "3"),
        ({"min": "500m"}, "600m", "600m", "600m"),
        ({"min": "500m", "step": "1m", "max": "1E"}, "1", "1", "1"),
    ],
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
    [
        ("DRADerivedAttributes", "experimental"),
        ("DRAOptionalNodeOperations", "experimental"),
        ("DRAFractionalCapacityRange", "incubating"),
    ],
)
def test_a_gate_picks_the_implementation_that_supports_it(gate: str, name: str) -> None:
    features = dict.fromkeys(Features.of({gate}, NEWEST).names, True)
    assert allocate({"features": features, "release": 37})["implementation"] == name


def test_a_search_that_takes_too_long_upstream_is_reported() -> None:
    devices = [device(f"d{n}", attributes={"at": {"int": n}}) for n in range(24)]
    scenario = {
        "features": {},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}],
        "slices": [resource_slice(*devices)],
        "nodes": [{"metadata": {"name": "n0"}}],
    }
    (easy,) = allocate({**scenario, "claims": [claim(request(count=2))]})["nodes"]
    assert "timedOut" not in easy
    # 25 of 24: upstream tries all choices of them.
    (hard,) = allocate({**scenario, "enable": ["incubating"], "claims": [claim(request(count=25))]})["nodes"]
    assert hard == {"node": "n0", "result": None, "error": None, "timedOut": True}


def test_pools_with_counters_elsewhere_are_left_alone_but_by_the_stable_allocator() -> None:
    counters: Json = {"sharedCounters": [{"name": "a", "counters": {"memory": {"value": "1"}}}]}
    broken = [resource_slice(name=f"s{n}", pool="n1", count=2, nodeName="n1", **counters) for n in range(2)]
    slices = [resource_slice(device("d0")), *broken]
    asked = claim(request(allocationMode="All"))
    stable = replace(ALL, ConsumableCapacity=False, DeviceBindingAndStatus=False)
    text = f"claim ns/c, request r: asks for all devices, but resource pool {DRIVER}/n1 is currently invalid"
    assert error(slices, asked, features=stable, release=NEWEST) == (text, "abort")
    assert isinstance(answer(slices, asked, features=ALL, release=NEWEST), Result)


def test_the_first_slice_whose_selector_cannot_be_parsed_is_named() -> None:
    wrong = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near"}]}]}
    counters: Json = {"sharedCounters": [{"name": "a", "counters": {"memory": {"value": "1"}}}]}
    slices = [
        resource_slice(name="s0", count=2, nodeSelector=wrong, **counters),
        resource_slice(device("d0"), name="s1", count=2, nodeSelector=wrong),
    ]
    text, _ = error(slices, claim(request()), features=ALL, release=NEWEST)
    assert text is not None
    assert "for slice s0: " in text


def test_errors_of_selectors_name_the_device_from_1_37_on() -> None:
    broken = claim(request(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].x == 1'}}]))
    slices = [resource_slice(device("d0"))]
    assert error(slices, broken) == ("claim ns/c: selector #0: CEL runtime error: no such key: x", "abort")
    text, scope = error(slices, broken, release=NEWEST)
    assert (text or "").startswith(
        f"claim ns/c: selector #0 on device {DRIVER}/n0/d0: CEL runtime error: no such key: x. consider using CEL"
    )
    assert scope == "abort"
    uncompiled = claim(request(selectors=[{"cel": {"expression": "device.x"}}]))
    assert error(slices, uncompiled, release=NEWEST)[0] == error(slices, uncompiled)[0]


def test_configuration_comes_once_from_1_37_on() -> None:
    own = {"opaque": {"driver": DRIVER, "parameters": {}}}
    requests = [request("a"), request("b")]
    configured = claim(*requests, config=[{"requests": ["a", "b"], **own}, {"requests": ["b"], **own}])
    slices = [resource_slice(device("d0"), device("d1"))]
    found = {}
    for release in (Release(36), NEWEST):
        result = answer(slices, configured, release=release)
        assert isinstance(result, Result)
        found[release] = [each.get("requests") for each in result.allocations[0]["devices"]["config"]]
    assert found == {36: [["a", "b"], ["a", "b"], ["b"]], 37: [None, ["b"]]}


def test_counters_of_other_nodes_are_no_trouble_from_1_37_on() -> None:
    counters: Json = {"sharedCounters": [{"name": "a", "counters": {"memory": {"value": "1"}}}]}
    alone = resource_slice(name="s1", pool="other", nodeName="n1", count=2, **counters)
    slices = [resource_slice(device("d0")), alone]
    everything = claim(request(allocationMode="All"))
    text = f"claim ns/c, request r: asks for all devices, but resource pool {DRIVER}/other is currently being updated"
    assert error(slices, everything) == (text, "abort")
    assert isinstance(answer(slices, everything, release=NEWEST), Result)
    # The counters of a node's devices may be in a slice of another node.
    partition = {"consumesCounters": [{"counterSet": "a", "counters": {"memory": {"value": "1"}}}]}
    split = [
        resource_slice(device("d0", **partition), device("d1", **partition), count=2),
        resource_slice(name="s1", count=2, nodeName="n1", **counters),
    ]
    assert isinstance(answer(split, claim(request()), release=NEWEST), Result)
    assert isinstance(answer(split, claim(request(count=2)), release=NEWEST), Failure)


def test_from_1_37_on_selectors_see_lists_whatever_the_gate_says() -> None:
    slices = [resource_slice(device("d0", attributes={"a": {"ints": [1, 2]}}))]
    asked = claim(request(selectors=[{"cel": {"expression": f'2 in device.attributes["{DRIVER}"].a'}}]))
    assert isinstance(answer(slices, asked, release=Release(37)), Result)
    before = answer(slices, asked, release=Release(36))
    assert isinstance(before, Failure)
    assert before.scope == "abort"
