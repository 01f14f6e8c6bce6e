"""Recorded clusters of Kubernetes 1.36, each with a pod in trouble: the first line names the cause and an object.

``causes-1.36.jsonl.gz`` has a cluster a line, as ``kubectl get -A -o json`` prints it, with what is asked, a pattern
that the first line must match (``says``), and objects of which the answer names one (``about``).
"""

import gzip
import json
import re
from argparse import Namespace
from functools import cache
from pathlib import Path
from time import process_time

import pytest

from tests.command import ROOT, draguard
from tests.examples import sampled
from tests.rows import each_row, each_row_beside
from tests.simulation.clusters import device_class, selector
from tests.stored import clusters, completed
from webhook.check.stored import stored_cluster
from webhook.inventory import ASKED, Inventory
from webhook.objects import JSONObject
from webhook.report.model import Report
from webhook.why import Scene, drivers, explain, pending_by_sort

RECORDED = ROOT / "tests/why/causes-1.36.jsonl.gz"


@cache
def records() -> list[JSONObject]:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def names(answer: JSONObject, thing: JSONObject) -> bool:
    """Tell whether an answer names a thing, in its first line or among its first objects."""
    listed = any((each["kind"], each["name"]) == (thing["kind"], thing["name"]) for each in answer["objects"][:8])
    return listed or re.search(rf"(?<![\w.-]){re.escape(thing['name'])}(?![\w-])", answer["cause"]) is not None


@pytest.mark.parametrize("record", sampled(records(), one_of=5))
def test_the_first_line_names_the_cause_and_pending_pods_are_counted_by_its_sort(
    record: JSONObject, tmp_path: Path
) -> None:
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps(record["objects"]), encoding="utf-8")
    done = draguard("why", record["pod"], "-n", record["namespace"], "--cluster", cluster, "--output", "json")
    answer = json.loads(done.out)
    assert done.err == ""
    assert re.search(record["says"], answer["cause"], re.IGNORECASE), answer["cause"]
    assert any(names(answer, each) for each in record["about"]), answer
    assert answer["stage"] == record["stage"]
    assert answer["kubernetes"] == record["kubernetes"]
    assert len(answer["cause"]) <= 400
    arguments = Namespace(cluster=[str(cluster)], quiet=True, kubernetes_version=None, feature_gates=[])
    stored, settings = stored_cluster(arguments, Report(), print)
    list(stored.judge(settings))  # what scan keeps of a cluster
    counts = pending_by_sort(Scene(stored.inventory, str(settings)), 60)
    found = {sort for sort, count in counts.items() if count}
    assert found == {sort for sort, names in SORTS.items() if record["id"] in names.split()}


SORTS = {
    "claim": (
        "template-missing template-in-another-namespace quota-of-class admin-access-label claim-missing claim-deleted "
        "claim-in-another-namespace claim-being-deleted claim-full claim-limit "
        "devices-in-use/busy capacity-too-small/busy driver-not-registered/busy"
    ),
    "class": "class-missing extended-resource-without-class",
    "driver": "driver-not-installed daemonset-skips-nodes driver-crashes pool-incomplete",
    "selector": "attribute-missing-on-a-device attribute-of-another-domain",
    "no-device": (
        "selector-matches-nothing capacity-too-small count-too-large extended-resource-short capacity-too-small/busy"
    ),
    "devices-in-use": (
        "devices-in-use devices-held-by-lower-priority rolling-update-needs-a-device counters-used-up "
        "shared-capacity-used-up devices-in-use/template-came-late gang-does-not-fit devices-in-use/busy"
    ),
    "devices-tainted": "device-tainted device-taint-rule evicted-by-device-taint",
    "node": ("node-tainted node-cordoned node-not-ready node-selector-excludes cpu-short shared-claim-on-full-node"),
    "constraints": "match-attribute two-claims-one-device no-node-has-both",
    "scheduling-gate": "scheduling-gate",
    "binding-condition": "binding-conditions-pending",
    "not-started": (
        "node-name-set driver-not-registered driver-refuses-parameters image-not-pulled config-missing device-gone "
        "driver-not-registered/busy"
    ),
}
"""The sorts of causes of pending pods, with the clusters that have them."""


def test_pods_that_are_not_reached_in_time_are_counted_as_such() -> None:
    record = next(each for each in records() if each["id"] in SORTS["claim"].split())
    inventory = Inventory()
    for each in record["objects"]["items"]:
        inventory.take(each)
    counts = pending_by_sort(Scene(inventory), 0)
    assert {sort for sort, count in counts.items() if count} == {"not-explained"}


def test_a_cluster_is_recorded_for_each_cause() -> None:
    assert len({record["cause"] for record in records()}) == 58


def test_a_rolling_update_waits_for_itself_although_replica_sets_were_not_collected() -> None:
    record = next(each for each in records() if each["id"] == "rolling-update-needs-a-device")
    inventory = Inventory(each for each in record["objects"]["items"] if each["kind"] != "ReplicaSet")
    deployment = inventory.find("Deployment", record["pod"].rpartition("/")[2], record["namespace"])
    assert deployment is not None
    cause = explain(Scene(inventory), deployment, "it")["cause"]
    assert re.search(record["says"], cause, re.IGNORECASE), cause


_NEVER = "(?!)"
_FIELDS = (
    "ask",
    "kubernetes",
    "gates",
    "says",
    "not_says",
    "others",
    "not_others",
    "helps",
    "not_helps",
    "stage",
    "about",
    "is_well",
)
CASES = clusters(ROOT / "tests/why/stages.yaml", *_FIELDS)


@each_row("case", *CASES)
def test_the_cause_is_named(case: JSONObject) -> None:
    answer = answer_of(case["ask"], case["cluster"], case.get("gates"), case.get("kubernetes", "1.36.3"))
    cause, named = answer["cause"], [f"{each['kind']} {each['name']}" for each in answer["objects"]]
    assert re.search(case.get("says", ""), cause), cause
    assert not re.search(case.get("not_says", _NEVER), cause), cause
    for field in ("others", "helps"):
        assert re.search(case.get(field, ""), "\n".join(answer[field])), answer[field]
        assert not re.search(case.get(f"not_{field}", _NEVER), "\n".join(answer[field])), answer[field]
    assert case.get("about") in {None, *named}, named
    assert case.get("stage", answer["stage"]) == answer["stage"]
    assert case.get("is_well", answer["isWell"]) == answer["isWell"]
    json.dumps(answer)


@pytest.mark.slow
def test_long_words_of_kubelet_take_time_in_proportion_to_their_length() -> None:
    for case in CASES:
        for event in case["cluster"]:
            words = event.get("message", "").split() if event.get("reason") == "FailedPrepareDynamicResources" else ()
            for first in range(len(words) - 3):
                said = f"{' '.join(words[first : first + 4])} " * 10_000
                cluster = [{**each, "message": said} if each is event else each for each in case["cluster"]]
                began = process_time()
                answer_of(case["ask"], cluster)
                assert process_time() - began < 1, "it takes some hundredths; quadratic time would be many seconds"


def answer_of(
    asked: str, objects: list[JSONObject], gates: dict[str, bool] | None = None, kubernetes: str = "1.36.3"
) -> JSONObject:
    kind, _, name = asked.rpartition("/")
    inventory = Inventory(objects)
    owners = (one for each in objects for one in each["metadata"].get("ownerReferences", ()))
    of_others = {one["kind"].lower(): one for one in owners if one["name"] == name}
    if kind in of_others.keys() - ASKED.keys():
        obj: JSONObject | None = {
            "kind": of_others[kind]["kind"],
            "metadata": {**of_others[kind], "namespace": "default"},
        }
    else:
        obj = inventory.find(ASKED[kind or "pod"], name, "" if kind == "node" else "default")
    assert obj is not None
    return explain(Scene(inventory, kubernetes, gates), obj, asked)


@each_row_beside("driver", "workloads", "found")
def test_the_daemon_set_of_a_driver_is_found(driver: str, workloads: list[str], found: str) -> None:
    expression = 'device.driver == "{}"'
    others = ["gpu.nvidia.com", "npu.acme.io"]
    classes = [device_class(each, selectors=[selector(expression.format(each))]) for each in [*others, driver]]
    scene = Scene(Inventory([*classes, *map(plugin, workloads)]), "1.36")
    known = drivers.plugin_of(scene, driver)
    assert (known.workload["metadata"]["name"] if known else "") == found


def plugin(name: str) -> JSONObject:
    volumes = [{"name": "r", "hostPath": {"path": "/var/lib/kubelet/plugins_registry"}}]
    containers = [{"name": "plugin", "image": f"registry.example.com/{name}:1"}]
    template = {"spec": {"volumes": volumes, "containers": containers}}
    return completed({"kind": "DaemonSet", "metadata": {"name": name}, "spec": {"template": template}})


def test_the_pod_that_publishes_nothing_is_found_among_many() -> None:
    owner = {"kind": "DaemonSet", "name": "example"}
    names = [f"n{index:03}" for index in range(200)]
    objects: list[JSONObject] = [plugin("example"), device_class()]
    for name in names:
        objects += [
            {"kind": "Node", "metadata": {"name": name}},
            {"kind": "Pod", "metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"nodeName": name}},
            {"kind": "ResourceSlice", "spec": {"nodeName": name, "devices": ["d"] * (name != "n150")}},
        ]
    quiet = [each for each in objects if each.get("spec", {}).get("devices") != []]
    answer = answer_of("daemonset/example", list(map(completed, quiet)))
    said = "daemonset/example: pod n150: driver gpu.example.com runs on n150, and publishes no"
    assert answer["cause"].startswith(said)
    assert any("logs --namespace default n150" in each for each in answer["helps"])


def test_evidence_has_events_in_time_once_and_no_claim_that_is_not_there() -> None:
    refusal = 'create ResourceClaim : resourceclaims "p-x-{}" is forbidden: exceeded quota: "{}"'
    said = [
        ("Pod", "p", "Late", "b", "01.5"),
        ("Pod", "p", "Later", "c", "01"),
        ("ReplicaSet", "w", "Early", "a", "01"),
        ("Pod", "p", "Failed", refusal.format("bcd24", "few"), "02"),
        ("Pod", "p", "Failed", refusal.format("x7k9z", "few"), "03"),
        ("Pod", "p", "Failed", refusal.format("bcd24", "other"), "09"),
    ]
    entries = [{"name": "x", "resourceClaimTemplateName": "t"}]
    owners = [{"kind": "ReplicaSet", "name": "w"}]
    objects: list[JSONObject] = [
        {"kind": "ReplicaSet", "metadata": {"name": "w"}},
        {"kind": "ResourceClaimTemplate"},
        {"kind": "Pod", "metadata": {"name": "p", "ownerReferences": owners}, "spec": {"resourceClaims": entries}},
        *(
            {
                "kind": "Event",
                "involvedObject": {"kind": kind, "name": name},
                "reason": reason,
                "message": words,
                "lastTimestamp": f"2026-01-01T00:00:{time}Z",
            }
            for kind, name, reason, words, time in said
        ),
    ]
    answer = answer_of("p", [device_class(), *map(completed, objects)])
    assert not any(each["kind"] == "ResourceClaim" for each in answer["evidence"])
    events = [each for each in answer["evidence"] if "reason" in each]
    counts = [("Early", 3), ("Late", 3), ("Later", 3), ("Failed", 6), ("Failed", 3)]
    assert [(each["reason"], each["count"]) for each in events] == counts
    assert "x7k9z" in events[3]["message"]
