"""The limits for a pending pod: the objects that are examined, and the changes that are tried."""

import pytest

from tests.rows import each_row
from tests.simulation.clusters import allocated, claim, device_class, devices, node, pod
from tests.steps import counting
from webhook import simulate
from webhook.objects import JSONObject


def tainted(name: str, key: str) -> JSONObject:
    return node(name, {"taints": [{"key": key, "effect": "NoSchedule"}]})


@pytest.mark.parametrize(("most", "text"), [(3, "2 more"), (2, "at least 1 more")])
def test_claims_on_nodes_that_are_not_examined_may_hold_devices_too(
    most: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.simulation.rejections._LOOKED_AT_MAX", most)
    around = [each for name in "xyz" for each in (node(name), devices(name), allocated(f"of-{name}", name))]
    (answer,) = simulate([device_class(), *around, claim()], [pod(claims={"gpu": "c"})])
    held = f"no node has a free device for request r: held by claim default/of-x and {text}"
    assert answer["why"]["reason"] == held


def test_questions_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.simulation.changes.suggestions._FILTERED_MAX", 1)
    (answer,) = simulate([tainted("a", "dedicated"), tainted("b", "x")], [pod()])
    assert [each["change"] for each in answer["why"]["help"]] == ["if the pod tolerates dedicated:NoSchedule"]
    assert not answer["why"]["allTried"]


def test_nodes_that_are_left_untried_may_be_opened_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.simulation.changes.cluster.NODES_MAX", 2)
    nodes = [tainted("a", "node.kubernetes.io/unschedulable"), *(tainted(name, "x") for name in "bc")]
    (answer,) = simulate(nodes, [pod()])
    assert [(each["change"], each["nodes"], each["atLeast"]) for each in answer["why"]["help"]] == [
        ("if the pod tolerates x:NoSchedule", 1, True),
        ("once a is uncordoned", 1, False),
    ]


def test_there_is_a_time_for_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.simulation.changes.suggestions._SECONDS", 0.0)
    (answer,) = simulate([tainted("b", "x")], [pod()])
    assert (answer["why"]["help"], answer["why"]["allTried"]) == ([], False)
    monkeypatch.undo()
    (answer,) = simulate([tainted("b", "x")], [pod()])
    assert (len(answer["why"]["help"]), answer["why"]["allTried"]) == (1, True)


def test_a_claim_is_used_by_as_many_pods_as_it_can_be() -> None:
    used = allocated("c", "a", "d0", *(f"p-{number}" for number in range(256)))
    objects, wanted = [device_class(), node("a"), devices("a"), used], pod(claims={"gpu": "c"})
    (answer,) = simulate(objects, [wanted])
    assert "status.reservedFor: Too many: 257" in answer["condition"]["message"]
    assert answer["why"]["help"][0]["change"] == "once one of the 256 pods of claim default/c is gone"
    used["status"]["reservedFor"].pop()
    (answer,) = simulate(objects, [wanted])
    assert answer["node"] == "a"


@each_row("cpu", ["1e999999999", "9" * 5_000, f"0.{'9' * 5_000}e9000"])
def test_no_node_has_more_than_can_be_counted(cpu: str) -> None:
    (answer,) = simulate([node("a")], [pod(requests={"cpu": cpu})])
    assert "1 Insufficient cpu" in answer["condition"]["message"]


def test_many_tolerations_of_many_taints_take_few_steps() -> None:
    taints = [{"key": f"example.com/{number}", "effect": "NoSchedule"} for number in range(1000)]
    tolerations = [{"key": f"example.com/{number}", "operator": "Exists"} for number in range(999)]
    with counting() as counted:
        (answer,) = simulate([node("a", {"taints": taints})], [pod(tolerations=tolerations)], kubernetes="1.36")
    assert "example.com/999" in str(answer["why"])
    assert counted() < 1_000_000  # comparing each with each takes tens of millions
