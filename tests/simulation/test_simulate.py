"""Scheduling in small clusters; test_clusters compares it with a real scheduler."""

import gc
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import ROOT, draguard
from tests.examples import examples
from tests.rows import each_row
from tests.schemas import Validator, closed, schema
from tests.simulation.clusters import (
    allocated,
    claim,
    device_class,
    devices,
    drawing,
    node,
    pod,
    ran,
    selector,
    template,
)
from tests.steps import counting
from webhook import simulate
from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.inventory import Inventory
from webhook.inventory.claims import POD, POD_GROUP, allocation_of, reserved_for
from webhook.objects import JSONObject, name_of
from webhook.simulation import Cluster, Scheduler, Settings
from webhook.simulation.answers import Answers
from webhook.simulation.binding import newest, written
from webhook.simulation.cluster import Verdicts
from webhook.simulation.scheduler import fit

NODES = [node("a"), node("b")]


HELD = {"claim": "default/used", "pods": ["old"], "others": [], "state": "", "devices": 1, "nodes": []}


@each_row("published", [devices("a")], drawing("a", "4", "3", "3", "3"))
def test_devices_in_use_and_those_that_draw_on_the_same_counters_are_held(published: list[JSONObject]) -> None:
    objects = [device_class(), *published, node("a"), claim(), allocated("used", "a", "d0", "old")]
    (answer,) = simulate(objects, [pod(claims={"gpu": "c"})])
    (group,) = answer["why"]["nodes"]
    assert group["requests"][0]["heldBy"] == [HELD]
    released = {"change": "once claim default/used is released (pod old)", "nodes": 1, "atLeast": False}
    assert released in answer["why"]["help"]


def test_verdicts_are_not_kept_for_all_pods() -> None:
    def known() -> int:
        gc.collect()
        return sum(isinstance(each, Verdicts) for each in gc.get_objects())

    before, scheduler = known(), Scheduler(Cluster(Inventory(NODES), Settings.of()))
    tell = Answers(scheduler)
    for number in range(100):
        tell.of(scheduler.schedule(pod(f"p{number}", requests={"cpu": str(100 + number)})))
    assert known() - before < 70


def test_changes_are_tried_again_only_on_nodes_that_have_changed() -> None:
    names = [f"n{number}" for number in range(60)]
    want = [template("t-all"), template("t-none", selectors=[selector("false")])]
    around = [device_class(), *map(node, names), *map(devices, names), *want]
    scheduler, checks = Scheduler(Cluster(Inventory(around), Settings.of())), list[int]()
    scheduler.cluster.progress = checks.append
    tell, helps, counts = Answers(scheduler), [], []
    for number, name in enumerate(["t-none", "t-all", "t-none", "t-all", "t-none"]):
        (asking,) = Inventory([pod(f"p{number}", claims={"gpu": name})]).all("Pod")
        helps += [each["nodes"] for each in tell.of(scheduler.schedule(asking))["why"]["help"]]
        counts.append(sum(checks))
    assert helps == [60, 59, 58]
    assert counts[-1] - counts[2] < 20  # each change was tried before


def test_nodes_that_suit_or_fail_alike_are_named_some_of_many() -> None:
    around = [device_class(), devices("a", 2), devices("b", 2), *NODES, claim()]
    (answer,) = simulate(around, [pod(claims={"gpu": "c"})])
    assert (answer["candidates"], answer["candidateCount"]) == (["a", "b"], 2)
    many = [node(f"n{number}", cpu="8") for number in range(100)]
    placed, pending = simulate(many, [pod("p"), pod("q", requests={"cpu": "9"})])
    assert (placed["candidates"], placed["candidateCount"]) == ([f"n{number}" for number in range(32)], 100)
    (group,) = pending["why"]["nodes"]
    assert (group["nodes"], group["count"]) == ([*(f"n{number}" for number in range(31)), "n99"], 100)
    assert pending["why"]["reason"].startswith("all 100 nodes have too little cpu")


@each_row(
    ("objects", "given", "options", "text"),
    ([3], pod(), {}, "an object is a dict, not int"),
    (NODES, "pod", {}, "an object is a dict, not str"),
    ([{"kind": "Node"}], pod(), {}, "Node without metadata"),
    ([{"kind": "Node", "metadata": {}}], pod(), {}, "Node without metadata.name"),
    ([{**claim(), "spec": 1}], pod(), {}, "ResourceClaim c: spec: json: cannot unmarshal number"),
    ([{"apiVersion": "resource.k8s.io/v1alpha2", **claim()}], pod(), {}, "ResourceClaim c: "),
    ([], pod(), {"kubernetes": "1.9"}, r".*1\.9 is not known here"),
)
def test_bad_input_is_reported(objects: Any, given: Any, options: Any, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}"):
        simulate(objects, [given], **options)


def tainted(name: str, key: str) -> JSONObject:
    return node(name, {"taints": [{"key": key, "effect": "NoSchedule"}]})


@each_row(("most", "text"), (5, "2 more"), (4, "at least 1 more"))
def test_claims_on_nodes_that_are_not_examined_may_hold_devices_too(
    most: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.simulation.rejections._LOOKED_AT_MAX", most)
    around = [each for name in "vwxyz" for each in (node(name), devices(name), allocated(f"of-{name}", name))]
    (answer,) = simulate([device_class(), *around, claim()], [pod(claims={"gpu": "c"})])
    held = ", ".join(f"default/of-{name} (used by no pod)" for name in "vwx")
    said = f"no node has a free device for request r: held by claims {held} and {text}"
    assert answer["why"]["reason"] == said


def test_nodes_that_are_left_untried_may_be_opened_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.simulation.changes.NODES_MAX", 2)
    nodes = [tainted("a", "node.kubernetes.io/unschedulable"), *(tainted(name, "x") for name in "bc")]
    (answer,) = simulate(nodes, [pod()])
    assert [(each["change"], each["nodes"], each["atLeast"]) for each in answer["why"]["help"]] == [
        ("if the pod tolerates x:NoSchedule", 1, True),
        ("once a is uncordoned", 1, False),
    ]


def test_there_is_a_time_and_a_number_of_changes_that_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.simulation.changes._SECONDS", 0.0)
    (answer,) = simulate([tainted("b", "x")], [pod()])
    assert (answer["why"]["help"], answer["why"]["allTried"]) == ([], False)
    monkeypatch.undo()
    (answer,) = simulate([tainted("b", "x")], [pod()])
    assert (len(answer["why"]["help"]), answer["why"]["allTried"]) == (1, True)
    monkeypatch.setattr("webhook.simulation.changes._FILTERED_MAX", 1)
    (answer,) = simulate([tainted("a", "dedicated"), tainted("b", "x")], [pod()])
    assert [each["change"] for each in answer["why"]["help"]] == ["if the pod tolerates dedicated:NoSchedule"]
    assert not answer["why"]["allTried"]


def test_a_claim_is_used_by_as_many_pods_as_it_can_be() -> None:
    used = allocated("c", "a", "d0", *(f"p-{number}" for number in range(256)))
    objects, wanted = [device_class(), node("a"), devices("a"), used], pod(claims={"gpu": "c"})
    (answer,) = simulate(objects, [wanted])
    assert "status.reservedFor: Too many: 257" in answer["condition"]["message"]
    assert answer["why"]["help"][0]["change"] == "once one of the 256 pods of claim default/c is gone"
    used["status"]["reservedFor"].pop()
    (answer,) = simulate(objects, [wanted])
    assert answer["node"] == "a"


@each_row("cpu", "1e999999999", "9" * 5_000, f"0.{'9' * 5_000}e9000")
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


DEVICES = "gpu.deviceclass.resource.k8s.io/devices"


def quota(name: str = "q", namespace: str = "default", used: dict[str, Any] | None = None, **spec: Any) -> JSONObject:
    metadata, status = {"name": name, "namespace": namespace}, {"hard": spec["hard"], "used": used or {}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec, "status": status}


def cluster(*others: JSONObject, **fields: Any) -> list[JSONObject]:
    return [node("a"), device_class(**fields), devices("a", 4), template(count=2), *others]


def test_fewer_copies_fit(tmp_path: Path) -> None:
    objects = cluster(quota(hard={DEVICES: "3"}), claim())
    done = ran(tmp_path, pod(claims={"g": "t"}), cluster=objects, options=["--fit"])
    assert done.out.startswith("1 pod like default/p fits")
    assert "exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=2, used: " in done.out


def test_claims_of_the_manifests_are_created_in_their_order(tmp_path: Path) -> None:
    objects = [*cluster(quota(hard={DEVICES: "3"}, used={DEVICES: "1"})), claim("old", count=1)]
    made = [claim("old", count=1), claim("c1", count=2), claim("c2", allocationMode="All"), claim("c3", count=1)]
    pods = [pod(f"p-{name_of(each)}", claims={"g": name_of(each)}) for each in made]
    done = ran(tmp_path, *made, *pods, cluster=objects, options=["--output", "json"])
    notes = {each["name"]: each["why"]["notes"][0] for each in json.loads(done.out) if not each["node"]}
    amounts = f"requested: {DEVICES}=%d, used: {DEVICES}=3, limited: {DEVICES}=3"
    note = "the API server refuses its claim default/{}: exceeded quota: q, " + amounts
    assert notes == {"p-c2": note.format("c2") % 32, "p-c3": note.format("c3") % 1}


def judged(tmp_path: Path, *given: JSONObject, cluster: list[JSONObject]) -> list[JSONObject]:
    found = json.loads(ran(tmp_path, *given, cluster=cluster, command="validate", options=["--output", "json"]).out)
    return [each for each in found["findings"] if each["rule"] == "quota-exceeded"]


def test_only_a_new_claim_is_refused(tmp_path: Path) -> None:
    full = quota(hard={DEVICES: "2"}, used={DEVICES: "2"})
    around = [full, device_class(), claim("old", count=2)]
    found = judged(tmp_path, *(claim(name, count=2) for name in ("old", "new")), cluster=around)
    assert [each["name"] for each in found] == ["new"]
    around = [quota(hard={DEVICES: "1"}), template(count=2)]
    (refused,) = judged(tmp_path, pod(claims={"g": "t", "h": "t-gone"}), cluster=around)
    assert refused["field"] == "spec.resourceClaims[0].resourceClaimTemplateName"
    said = "the API server refuses the claims made from it, so pods stay pending: exceeded"
    assert refused["message"].startswith(said)


CLUSTERS = st.lists(st.integers(0, 3), min_size=1, max_size=4)
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=6)


def cluster_of(sizes: list[int]) -> list[JSONObject]:
    names = [f"n{number}" for number in range(len(sizes))]
    slices = [devices(name, size) for name, size in zip(names, sizes, strict=True)]
    return [device_class(), *slices, *map(node, names)]


@given(CLUSTERS, COUNTS)
@examples(60)
def test_no_device_is_handed_out_twice(sizes: list[int], counts: list[int]) -> None:
    templates = [template(f"t{number}", count=number) for number in (1, 2, 3)]
    pods = [pod(f"p{index}", {"gpu": f"t{count}"}) for index, count in enumerate(counts)]
    answers = simulate([*cluster_of(sizes), *templates], pods)
    used = [
        (each["pool"], each["device"])
        for answer in answers
        for allocation in answer["claims"].values()
        for each in allocation["devices"]["results"]
    ]
    assert len(used) == len(set(used))
    for answer, count in zip(answers, counts, strict=True):
        assert (answer["node"] is not None) == bool(answer["claims"])
        for allocation in answer["claims"].values():
            assert [each["pool"] for each in allocation["devices"]["results"]] == [answer["node"]] * count


@given(CLUSTERS, COUNTS)
@examples(60)
def test_what_is_released_is_as_it_was(sizes: list[int], counts: list[int]) -> None:
    inventory = Inventory([*cluster_of(sizes), *(template(f"t{number}", count=number) for number in (1, 2, 3))])
    scheduler = Scheduler(Cluster(inventory, Settings.of()))
    first = inventory.take(pod("first", {"gpu": "t1"}))
    assert first is not None
    before = _fit(scheduler, first)
    for index, count in enumerate(counts):
        known = inventory.take(pod(f"p{index}", {"gpu": f"t{count}"}))
        assert known is not None
        scheduler.schedule(known)
    for held in inventory.all("ResourceClaim"):
        if allocation_of(held):
            scheduler.cluster.deallocate(held)
    assert _fit(scheduler, first) == before


def _fit(scheduler: Scheduler, each: JSONObject) -> str:
    """Fill the cluster, empty it again, and return how many pods fitted where."""
    found = fit(scheduler, each)
    for held in scheduler.cluster.inventory.all("ResourceClaim"):
        scheduler.cluster.delete(held)
    return json.dumps(found.nodes, sort_keys=True)


@given(CLUSTERS, st.integers(1, 3))
@examples(30)
def test_what_is_tried_for_help_leaves_the_cluster_as_it_was(sizes: list[int], count: int) -> None:
    objects = [*cluster_of(sizes), template("t", count=count), template("tbig", count=30)]
    alone = simulate(objects, [pod("p", {"gpu": "t"})])
    after = simulate(objects, [pod("big", {"gpu": "tbig"}), pod("p", {"gpu": "t"})])
    assert after[0]["node"] is None
    assert after[1]["claims"] == alone[0]["claims"]


SCHEMA = schema("simulate")
CLOSED = Validator(closed(SCHEMA))
EXAMPLES = ROOT / "examples" / "simulate"


def pending() -> list[JSONObject]:
    """Return a pod's answers in clusters that refuse it for different reasons."""
    small: dict[str, Any] = {"capacity": {"memory": {"value": "9Gi"}}}
    wanted = selector('device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0')
    tainted: dict[str, Any] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    incomplete = devices("a")
    incomplete["spec"]["pool"]["resourceSliceCount"] = 2
    apart = devices("a", 2, attributes={"index": {"int": 1}})
    apart["spec"]["devices"][1]["attributes"] = {"index": {"int": 2}}
    together = claim(count=2)
    together["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/index"}]
    clusters: list[list[JSONObject]] = [
        [devices("a", **small), claim(selectors=[wanted])],
        [devices("a", **tainted), claim()],
        [devices("a"), allocated("other", "a", "d0", "p"), claim()],
        [*drawing("a", "4Gi", "8Gi"), claim()],
        [incomplete, claim()],
        [apart, together],
        [device_class("none"), claim()],
        [],
    ]
    answers = []
    for objects in clusters:
        (answer,) = simulate([node("a"), device_class(), *objects], [pod(claims={"c": "c"})])
        assert answer["node"] is None
        answers.append(answer)
    return answers


def test_the_schema_describes_every_key_of_answers() -> None:
    answers = pending()
    for options in (("--pending",), ("--fit",), ("--timeout", "0.000001")):
        command = ("simulate", "-o", "json", EXAMPLES / "deployment.yaml", "--cluster", EXAMPLES / "cluster.yaml")
        done = draguard(*command, *options)
        CLOSED.validate(json.loads(done.out))
    CLOSED.validate(answers)
    requests = [each for answer in answers for group in answer["why"]["nodes"] for each in group["requests"]]
    known = SCHEMA["$defs"]["request"]["properties"]
    assert {key for each in requests for key, value in each.items() if value} == known.keys() - {"together"}


@each_row("change", {"seen": -1}, {"for": None}, {"surplus": 1})
def test_what_differs_is_refused(change: JSONObject) -> None:
    (answer, *_) = pending()
    answer["why"]["nodes"][0]["requests"][0] |= change
    assert not CLOSED.is_valid([answer])


@each_row(
    "status",
    {"conditions": [{"type": "Ready", "lastTransitionTime": "2026-01-01T00:00:09Z"}]},
    {"containerStatuses": [{"state": {"running": {"startedAt": "2026-01-01T00:00:09Z"}}}]},
    {"initContainerStatuses": [{"lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:09Z"}}}]},
)
def test_what_happened_last_to_an_object_tells_the_time(status: JSONObject) -> None:
    made = "2026-01-01T00:00:01Z"
    old = {**pod("old"), "status": {"conditions": [{"type": "Other", "message": "2027-01-01T00:00:00Z"}]}}
    objects = [{**each, "metadata": {**each["metadata"], "creationTimestamp": made}} for each in (old, pod("new"))]
    assert written(newest(Inventory(objects))) == made
    objects[1]["status"] = status
    assert written(newest(Inventory(objects))) == "2026-01-01T00:00:09Z"


def test_the_deadline_ends_pods_for_which_no_node_is_looked_at_too() -> None:
    scheduler = Scheduler(Cluster(Inventory([node("a")]), Settings.of()))
    with limited(Budget(deadline=0.0)), pytest.raises(DeadlineExceededError):
        scheduler.schedule(pod(schedulingGates=[{"name": "wait"}]))


def test_consumers_are_known_by_their_resource_and_its_group() -> None:
    entries = [
        {"resource": "pods", "name": "a", "uid": "1"},
        {"resource": "podgroups", "apiGroup": "scheduling.k8s.io", "name": "b", "uid": "2"},
        {"resource": "jobs", "apiGroup": "batch", "name": "c", "uid": "3"},
    ]
    found = reserved_for({"status": {"reservedFor": entries}})
    assert [each.reference() for each in found] == entries
    assert [each.resource for each in found] == [POD, POD_GROUP, "jobs.batch"]
    assert list(map(str, found)) == ["pod a", "PodGroup b", "jobs.batch c"]
    others = [{**each, "apiGroup": "example.com"} for each in entries]
    assert not any(each.has({"status": {"reservedFor": others}}) for each in found)
