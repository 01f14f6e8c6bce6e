"""The one-sentence reason of a pending pod."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from tests.simulation import clusters
from webhook import simulate

MODEL = 'device.attributes["gpu.example.com"].model == "{}"'


def reason(*objects: dict[str, Any], pod: dict[str, Any] | None = None) -> str:
    (answer,) = simulate([clusters.device_class(), *objects], [pod or clusters.pod(claims={"gpu": "c"})])
    assert answer["node"] is None
    text: str = answer["why"]["reason"]
    return text


def on(node: str, count: int = 1, model: str = "A100", **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    attributes = {"model": {"string": model}}
    return clusters.node(node), clusters.devices(node, count, attributes=attributes, **fields)


def asking(**asks: Any) -> dict[str, Any]:
    return clusters.claim(**asks)


def of_model(name: str) -> list[dict[str, Any]]:
    return [clusters.selector(MODEL.format(name))]


TAINT = [{"key": "broken", "effect": "NoSchedule"}]


@pytest.mark.parametrize(("most", "text"), [(3, "2 more"), (2, "at least 1 more")])
def test_claims_on_nodes_that_are_not_examined_may_hold_devices_too(
    most: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.simulation.rejections._LOOKED_AT_MAX", most)
    held = [clusters.allocated(f"of-{name}", name) for name in "xyz"]
    found = reason(*(each for name in "xyz" for each in on(name)), *held, asking())
    assert found == f"no node has a free device for request r: held by claim default/of-x and {text}"


@each_row(
    ("objects", "text"),
    [
        ((clusters.node("a"), asking()), "no node has a device for request r: no ResourceSlice has devices"),
        ((*on("a", 2), asking(count=3)), "no node has 3 devices of the class for request r: at most 2"),
        (
            (*on("a"), *on("b", model="L4"), asking(selectors=of_model("H100"))),
            'no node has a device with model = "H100" for request r: model is "A100" or "L4", wanted "H100"',
        ),
        (
            (
                *on("a"),
                *on("b", model="L4"),
                clusters.allocated("other", "a", "d0", "x"),
                asking(selectors=of_model("A100")),
            ),
            'no node has a free device with model = "A100" for request r: held by claim default/other',
        ),
        ((*on("a", taints=TAINT), asking()), "no node has an untainted device for request r: "),
        (
            (*on("a"), asking(selectors=[clusters.selector("device.attributes['gpu.example.com'].colour == 'red'")])),
            "an error ends the scheduling of the pod on all nodes: claim default/c: selector #0 on device gpu.",
        ),
        ((*on("a"), asking(deviceClassName="gpus")), "request r: device class gpus does not exist"),
        ((), "no nodes available to schedule pods"),
        ((*on("a"),), 'resourceclaim "c" not found'),
    ],
)
def test_devices(objects: tuple[dict[str, Any], ...], text: str) -> None:
    assert reason(*(objects or [asking()])).startswith(text)


@each_row(
    ("pod", "text"),
    [
        ({"requests": {"cpu": "9"}}, "all 2 nodes have too little cpu: cpu 9 wanted, 8 of 8 free"),
        (
            {"nodeSelector": {"disk": "ssd"}},
            "all 2 nodes didn't match Pod's node affinity/selector: nodeSelector disk: ssd, and the label is not there",
        ),
        ({"schedulingGates": [{"name": "x"}]}, "it has scheduling gates: x"),
    ],
)
def test_nodes(pod: dict[str, Any], text: str) -> None:
    assert reason(clusters.node("a"), clusters.node("b"), pod=clusters.pod(**pod)) == text


def test_a_cause_is_said_of_the_nodes_that_have_it() -> None:
    found = reason(*on("a"), clusters.node("b"), asking(selectors=of_model("H100")))
    assert found == (
        'no node has a device with model = "H100" for request r: model is "A100", wanted "H100" on 1 of 2 nodes'
    )


@pytest.mark.parametrize(("elsewhere", "where"), [("a", " on 1 of 2 nodes"), ("b", "")])
def test_devices_without_a_capacity_do_not_hide_the_only_one_that_has_it(elsewhere: str, where: str) -> None:
    policy = {"default": "10", "validRange": {"min": "1", "max": "50"}}
    shared = {"bandwidth": {"value": "100", "requestPolicy": policy}}
    fast = clusters.devices("b", capacity=shared, allowMultipleAllocations=True)
    fast["spec"]["pool"]["name"] = fast["metadata"]["name"] = "fast"
    text = reason(*on(elsewhere, 3), clusters.node("b"), fast, asking(capacity={"requests": {"bandwidth": "60"}}))
    assert text == (
        "no node has a device with enough capacity left for request r: "
        f"capacity bandwidth: the device's policy allows at most 50, 60 is wanted{where}"
    )


def test_one_node_is_one() -> None:
    node = clusters.node("a", {"unschedulable": True})
    assert reason(node, pod=clusters.pod()).startswith("1 node was unschedulable")


def test_different_reasons_are_told_apart() -> None:
    """Only the nodes that suit the pod otherwise lack a device."""
    tainted = clusters.node("b", {"taints": [{"key": "own", "effect": "NoSchedule"}]})
    text = reason(*on("a"), tainted, clusters.node("c", cpu="0"), asking(count=2))
    assert text.startswith("2 nodes lack 2 devices of the class for request r: at most 1; ")
    assert "1 node had untolerated taint(s)" in text


def test_requests_of_which_each_node_lacks_another() -> None:
    claim = asking(selectors=of_model("A100"))
    (first,) = claim["spec"]["devices"]["requests"]
    other = {"name": "s", "exactly": {**first["exactly"], "selectors": of_model("H100")}}
    claim["spec"]["devices"]["requests"].append(other)
    text = reason(*on("a"), *on("b", model="H100"), *on("c", model="H100"), claim)
    assert text.startswith('2 nodes lack a device with model = "A100" for request r: ')
    assert '; 1 node lacks a device with model = "H100" for request s: ' in text


def test_devices_of_the_class_in_an_incomplete_pool() -> None:
    other, incomplete = clusters.devices("a"), clusters.devices("a")
    other["metadata"]["name"] = other["spec"]["driver"] = "nic.example.com"
    incomplete["spec"]["pool"]["resourceSliceCount"] = 2
    assert reason(clusters.node("a"), other, incomplete, asking()) == (
        "no node has a device of the class for request r: "
        "pool gpu.example.com/a is incomplete: 1 of 2 slices of generation 1"
    )


def test_counters_without_their_feature_gate() -> None:
    consumed = [{"counterSet": "s", "counters": {"memory": {"value": "1Gi"}}}]
    parts, sets = clusters.devices("a", 2, consumesCounters=consumed), clusters.devices("a", 0)
    parts["spec"]["pool"]["resourceSliceCount"] = sets["spec"]["pool"]["resourceSliceCount"] = 2
    sets["metadata"]["name"] = "sets"
    sets["spec"]["sharedCounters"] = [{"name": "s", "counters": {"memory": {"value": "4Gi"}}}]
    parts["spec"]["devices"][1]["attributes"] = {"model": {"string": "A100"}}
    held = clusters.allocated("held", "a", "d0", "old")  # draws on the same counters, which is not the reason
    objects = [clusters.device_class(), clusters.node("a"), parts, sets, held, asking(selectors=of_model("A100"))]
    (answer,) = simulate(objects, [clusters.pod(claims={"gpu": "c"})], kubernetes="1.35")
    assert answer["why"]["reason"] == (
        'no node has a device with model = "A100" with enough counters left for request r: '
        "devices consume counters, and the DRAPartitionableDevices feature is disabled"
    )
    assert answer["why"]["nodes"][0]["requests"][0]["heldBy"] == []


def test_values_that_differ_only_in_their_type() -> None:
    made = clusters.devices("a", 2)
    for each, value in zip(made["spec"]["devices"], ({"string": "1"}, {"int": 1}), strict=True):
        each["attributes"] = {"slot": value}
    claim = asking(count=2)
    claim["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/slot"}]
    text = reason(clusters.node("a"), made, claim)
    assert text.endswith("at most 1, gpu.example.com/slot is 1 (int), 1 (string)")


def test_requests_that_compete() -> None:
    claim = asking()
    (first,) = claim["spec"]["devices"]["requests"]
    claim["spec"]["devices"]["requests"].append({**first, "name": "s"})
    assert reason(*on("a"), claim).startswith("1 node cannot meet all requests together: ")


@pytest.mark.parametrize(("wanted", "holders"), [("memory", ["default/held"]), ("speed", [])])
def test_only_capacity_that_others_use_is_held(wanted: str, holders: list[str]) -> None:
    objects = [*on("a", capacity={"memory": {"value": "10Gi"}}, allowMultipleAllocations=True)]
    held = clusters.allocated("held", "a", "d0", "old")
    held["status"]["allocation"]["devices"]["results"][0] |= {"shareID": "s", "consumedCapacity": {"memory": "8Gi"}}
    claim = asking(capacity={"requests": {wanted: "6Gi"}})
    (answer,) = simulate([clusters.device_class(), *objects, held, claim], [clusters.pod(claims={"gpu": "c"})])
    (request,) = answer["why"]["nodes"][0]["requests"]
    assert [each["claim"] for each in request["heldBy"]] == holders


def test_counters_that_only_some_nodes_lack() -> None:
    objects = []
    for name, left in (("a", {"x": "1", "y": "2"}), ("b", {"x": "2", "y": "1"})):
        consumed = [{"counterSet": "s", "counters": {counter: {"value": "2"} for counter in left}}]
        made = clusters.devices(name, 1, consumesCounters=consumed)
        made["spec"]["pool"]["resourceSliceCount"] = 2
        counters = [{"name": "s", "counters": {counter: {"value": each} for counter, each in left.items()}}]
        spec = {**made["spec"], "devices": None, "sharedCounters": counters}
        sets = {"kind": "ResourceSlice", "metadata": {"name": f"sets-{name}"}, "spec": spec}
        objects += [clusters.node(name), made, sets]
    assert reason(*objects, asking()).endswith(": s lacks, depending on the node, x, y (1 left, 2 consumed each)")


def test_one_request_whose_devices_do_not_go_together() -> None:
    # Each counter suffices for two devices, but no two of them.
    made = clusters.devices("a", 3)
    for number, each in enumerate(made["spec"]["devices"]):
        counters = {"x": {"value": str(1 + number)}, "y": {"value": str(3 - number)}}
        each["consumesCounters"] = [{"counterSet": "s", "counters": counters}]
    made["spec"]["pool"]["resourceSliceCount"] = 2
    shared = [{"name": "s", "counters": {"x": {"value": "3"}, "y": {"value": "3"}}}]
    spec = {**made["spec"], "devices": None, "sharedCounters": shared}
    sets = {"kind": "ResourceSlice", "metadata": {"name": "sets"}, "spec": spec}
    text = reason(clusters.node("a"), made, sets, asking(count=2))
    assert text == "1 node cannot meet request r: each device is available, but not so many together"


def test_of_several_exhausted_capacities_the_first_one_is_named() -> None:
    names = ("zeta", "eta", "theta", "alpha", "beta", "gamma")
    capacity = {name: {"value": "10Gi"} for name in names}
    claim = asking(capacity={"requests": dict.fromkeys(names, "6Gi")})
    (first,) = claim["spec"]["devices"]["requests"]
    claim["spec"]["devices"]["requests"].append({**first, "name": "s"})
    text = reason(*on("a", capacity=capacity, allowMultipleAllocations=True), claim)
    assert text.endswith("take at least 12Gi of capacity zeta, of which 10Gi is left")


def test_a_pod_that_gets_its_devices_has_no_reason() -> None:
    (answer,) = simulate([clusters.device_class(), *on("a"), asking()], [clusters.pod(claims={"gpu": "c"})])
    assert (answer["node"], answer["why"]["reason"]) == ("a", "")


def test_all_alternatives_are_named() -> None:
    claim = asking()
    alternatives = [
        {"name": name, "deviceClassName": "gpu", "selectors": of_model(model), "count": count}
        for name, model, count in (("big", "H100", 1), ("small", "A100", 2))
    ]
    claim["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": alternatives}]
    held = [clusters.allocated("held", "a"), clusters.allocated("other", "b")]
    objects = [*on("a", model="H100"), *on("b", 2), *held, claim]
    assert reason(*objects) == (
        'no node has a free device with model = "H100" for request r/big: held by claim default/held, '
        'nor 2 free devices with model = "A100" for request r/small: at most 1, the others held by claim default/other'
    )


def test_all_taints_are_named() -> None:
    made = [clusters.devices(name, taints=[{**TAINT[0], "key": name}]) for name in "abcde"]
    nodes = [clusters.node(name) for name in "abcde"]
    for count, text in (
        (1, "taint a:NoSchedule is"),
        (5, "taint a:NoSchedule, b:NoSchedule, c:NoSchedule or 2 more is"),
    ):
        found = reason(*nodes[:count], *made[:count], asking())
        assert found == f"no node has an untainted device for request r: {text} not tolerated"


def test_taints_of_one_device() -> None:
    both = clusters.devices("a", taints=[*TAINT, {"key": "xid", "value": "79", "effect": "NoExecute"}])
    assert reason(clusters.node("a"), both, asking()).endswith(
        "broken:NoSchedule and xid=79:NoExecute are not tolerated"
    )


def test_devices_that_no_request_can_use() -> None:
    bound = clusters.devices("a", bindingConditions=["x"], bindingFailureConditions=["y"])
    objects = [clusters.device_class(), clusters.node("a"), bound, asking()]
    (answer,) = simulate(objects, [clusters.pod(claims={"gpu": "c"})], kubernetes="1.34")
    assert answer["why"]["reason"] == (
        "no node has a suitable device for request r: "
        "it has binding conditions, and the feature gate DRADeviceBindingConditions is off"
    )


def test_nodes_with_the_same_cause_are_counted_together() -> None:
    claim = asking()
    (first,) = claim["spec"]["devices"]["requests"]
    claim["spec"]["devices"]["requests"].append({**first, "name": "s"})
    text = reason(*on("a"), *on("b", 2), clusters.allocated("held", "b"), claim)
    assert text.startswith("2 nodes cannot meet all requests together: ")


def test_an_alternative_that_cannot_be_met_is_no_reason_if_another_can() -> None:
    claim = asking()
    (first,) = claim["spec"]["devices"]["requests"]
    several = [{"name": "many", "deviceClassName": "gpu", "count": 4}, {"name": "one", "deviceClassName": "gpu"}]
    claim["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": several}, {**first, "name": "s"}]
    assert reason(*on("a"), claim) == "1 node cannot meet all requests together"


def test_all_devices_are_those_with_enough_capacity() -> None:
    made = clusters.devices("a", 2, allowMultipleAllocations=True)
    for each, size in zip(made["spec"]["devices"], ("2Gi", "3Gi"), strict=True):
        each["capacity"] = {"memory": {"value": size}}
    claim = asking(allocationMode="All", capacity={"requests": {"memory": "4Gi"}})
    lack = "capacity memory: a device has 2Gi, 4Gi is wanted"
    assert reason(clusters.node("a"), made, claim) == f"no node has a suitable device for request r: {lack}"


@each_row(
    ("constraint", "values", "text"),
    [
        ("matchAttribute", (["a", "b"], ["b", "c"], ["c", "a"]), "3 devices with the same {} for request r: at most 2"),
        (
            "distinctAttribute",
            (["a", "b"], ["b", "c"], ["c", "a"]),
            "3 devices with different {} for request r: at most 1",
        ),
        ("distinctAttribute", (["a"], ["a"], ["b"]), "3 devices with different {} for request r: at most 2"),
    ],
)
def test_constraints_on_lists_count_the_devices_that_go_together(
    constraint: str, values: tuple[list[str], ...], text: str
) -> None:
    made = clusters.devices("a", 3)
    for each, value in zip(made["spec"]["devices"], values, strict=True):
        each["attributes"] = {"roots": {"strings": value}}
    claim = asking(count=3)
    claim["spec"]["devices"]["constraints"] = [{constraint: "gpu.example.com/roots"}]
    objects = [clusters.device_class(), clusters.node("a"), made, claim]
    gates = {"DRAListTypeAttributes": True}
    pods = [clusters.pod(claims={"gpu": "c"})]
    (answer,) = simulate(objects, pods, kubernetes="1.37", feature_gates=gates)
    (without,) = simulate(objects, pods, kubernetes="1.37")
    assert without["why"]["reason"].endswith("gpu.example.com/roots is of an unknown type")
    assert answer["why"]["reason"].startswith(f"no node has {text.format('gpu.example.com/roots')}")


def test_devices_of_other_compatibility_groups() -> None:
    made = clusters.devices("a", 2)
    for each, group in zip(made["spec"]["devices"], "xy", strict=True):
        drawn = {"counterSet": "s", "counters": {"slots": {"value": "1"}}, "compatibilityGroups": [group]}
        each["consumesCounters"] = [drawn]
    made["spec"]["pool"]["resourceSliceCount"] = 2
    sets = [{"name": "s", "counters": {"slots": {"value": "2"}}}]
    spec = {**made["spec"], "devices": None, "sharedCounters": sets}
    held = clusters.allocated("held", "a")
    held["status"]["allocation"]["devices"]["results"][0]["compatibilityGroups"] = {"s": {"groups": ["x"]}}
    counters = {"kind": "ResourceSlice", "metadata": {"name": "sets"}, "spec": spec}
    objects = [clusters.device_class(), clusters.node("a"), made, counters, held, asking()]
    gates = {"DRADeviceCompatibilityGroups": True}
    pods = [clusters.pod(claims={"gpu": "c"})]
    (answer,) = simulate(objects, pods, kubernetes="1.37", feature_gates=gates)
    text = "devices in use draw on the same counters and have no compatibility group in common"
    assert answer["why"]["reason"].endswith(text)
    assert [each["claim"] for each in answer["why"]["nodes"][0]["requests"][0]["heldBy"]] == ["default/held"]
