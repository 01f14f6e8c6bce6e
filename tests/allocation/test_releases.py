"""The allocators of releases: what older ones, as recorded, and that of 1.37, by its sources, do otherwise."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.allocation.clusters import (
    ALL,
    CLASSES,
    DRIVER,
    NODE,
    Json,
    allocation,
    answer,
    claim,
    device,
    devices,
    error,
    fits,
    held,
    request,
    resource_slice,
)
from tests.rows import each_row, read
from tests.stored import manifest
from webhook import allocate
from webhook.allocation import Features
from webhook.release import Release

NEWEST = Release(37)
DERIVING = replace(ALL, DerivedAttributes=True, ListTypeAttributes=True)
NAME = "derived.example.com/place"
STABLE = replace(ALL, ConsumableCapacity=False, DeviceBindingAndStatus=False)


def of_node(number: int, spec: Json) -> Json:
    where = {} if spec.keys() & {"nodeName", "nodeSelector"} else {"nodeName": "n0"}
    spec = {**where, **spec, "pool": {"name": "n0", **spec.get("pool", {})}}
    return manifest({"kind": "ResourceSlice", "metadata": {"name": f"s{number}"}, "spec": spec})


@each_row("case", *read(Path(__file__).with_suffix(".yaml")))
def test_releases_differ(case: Json) -> None:
    assert case.keys() <= {"slices", "claims", "held", "without", "gives", "depends"}
    slices = [of_node(number, spec) for number, spec in enumerate(case["slices"])]
    metadata = {"name": "c", "namespace": "ns"}
    claims = [
        manifest({"kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": each}})
        for each in case.get("claims", [{}])
    ]
    allocated = [held(each["device"], **each) for each in case.get("held", ())]
    features = replace(ALL, **dict.fromkeys(case.get("without", ()), False))
    for version, wanted in case["gives"].items():
        minor, _, patch = str(version).partition(".")
        options: Json = {"features": features, "release": Release(int(minor)), "patch": int(patch or 0)}
        found = answer(slices, *claims, allocated=allocated, **options)
        if found.is_found:
            said: Any = [name for each in found.devices for *_, name in each]
        else:
            said = found.error and f"{found.scope}: {found.error}"
        if isinstance(wanted, str):
            assert re.fullmatch(".*".join(map(re.escape, wanted.split("…"))), str(said), re.DOTALL), (version, said)
        else:
            assert said == wanted, version
        assert case.get("depends", {}).get(version, found.depends_on_order) == found.depends_on_order, version


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
        taken = found.allocations[0]["devices"]["results"][0] if found.is_found else {}
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


def test_configuration_comes_once_from_1_37_on() -> None:
    own = {"opaque": {"driver": DRIVER, "parameters": {}}}
    requests = [request("a"), request("b")]
    configured = claim(*requests, config=[{"requests": ["a", "b"], **own}, {"requests": ["b"], **own}])
    slices = [resource_slice(device("d0"), device("d1"))]
    for release, requested in ((Release(36), [["a", "b"], ["a", "b"], ["b"]]), (NEWEST, [None, ["b"]])):
        config = allocation(slices, configured, release=release)["devices"]["config"]
        assert [each.get("requests") for each in config] == requested


@each_row(("features", "is_bound"), (ALL, True), (STABLE, False))
def test_the_stable_allocator_does_not_know_of_binding_to_a_node(features: Features, is_bound: bool) -> None:
    slices = [resource_slice(device("d0", bindsToNode=True), allNodes=True)]
    assert ("nodeSelector" in allocation(slices, claim(request()), features=features)) == is_bound
