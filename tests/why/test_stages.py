"""Small clusters, stage by stage, with causes that no recorded cluster has: the first line says what to change.

Each case of ``stages.yaml`` names an object that is asked about (``ask``), and what the answer has: patterns of the
first line (``says``, ``not_says``), of the other lines (``others``, ``not_others``) and of what helps (``helps``,
``not_helps``), the ``stage``, and an object that it is ``about``. ``gates`` of features differ from their defaults.
What the objects there leave out is added as a cluster has it.
"""

from __future__ import annotations

import json
import re

from tests.command import ROOT
from tests.rows import each_row
from tests.simulation.clusters import device_class, requests, selector
from tests.stored import clusters, completed
from webhook.inventory import ASKED, Inventory
from webhook.objects import JSONObject
from webhook.why import Scene, drivers, explain

_NEVER = "(?!)"
_FIELDS = "ask", "gates", "says", "not_says", "others", "not_others", "helps", "not_helps", "stage", "about", "is_well"
CASES = clusters(ROOT / "tests/why/stages.yaml", *_FIELDS)


@each_row("case", CASES)
def test_the_cause_is_named(case: JSONObject) -> None:
    answer = answer_of(case["ask"], case["cluster"], case.get("gates"))
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


def answer_of(asked: str, objects: list[JSONObject], gates: dict[str, bool] | None = None) -> JSONObject:
    kind, _, name = asked.rpartition("/")
    inventory = Inventory(objects)
    obj = inventory.find(ASKED[kind or "pod"], name, "" if kind == "node" else "default")
    assert obj is not None
    return explain(Scene(inventory, "1.36.3", gates), obj, asked)


@each_row(
    ("driver", "workloads", "found"),
    [
        (
            "gpu.nvidia.com",
            ["nvidia-dra-driver-gpu-kubelet-plugin", "k8s-amd-gpu"],
            "nvidia-dra-driver-gpu-kubelet-plugin",
        ),
        ("dra.net", ["dranet", "nvidia-gpu"], "dranet"),
        ("gpu.intel.com", ["intel-gaudi-resource-driver", "intel-gpu-resource-driver"], "intel-gpu-resource-driver"),
        (
            "gaudi.intel.com",
            ["intel-gpu-resource-driver", "intel-gaudi-resource-driver"],
            "intel-gaudi-resource-driver",
        ),
        ("dra.cpu", ["dra-driver-cpu", "acme-cpu"], "dra-driver-cpu"),
        ("accel.acme.io", ["nvidia-dra-driver-gpu"], ""),
        ("gpu.example.com", ["nvidia-gpu"], ""),
    ],
)
def test_the_daemon_set_of_a_driver_is_found(driver: str, workloads: list[str], found: str) -> None:
    expression = 'device.driver == "{}"'
    others = ["gpu.nvidia.com", "npu.acme.io"]
    classes = [device_class(each, selectors=[selector(expression.format(each))]) for each in [*others, driver]]
    scene = Scene(Inventory([*classes, *map(plugin, workloads)]), "1.36")
    workload = drivers.daemon_set(scene, driver)
    assert (workload["metadata"]["name"] if workload else "") == found


def plugin(name: str) -> JSONObject:
    """Return the DaemonSet of a driver."""
    volumes = [{"name": "r", "hostPath": {"path": "/var/lib/kubelet/plugins_registry"}}]
    containers = [{"name": "plugin", "image": f"registry.example.com/{name}:1"}]
    template = {"spec": {"volumes": volumes, "containers": containers}}
    return completed({"kind": "DaemonSet", "metadata": {"name": name}, "spec": {"template": template}})


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
        {"kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": requests()}},
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
    assert [each["name"] for each in answer["evidence"] if each["kind"] == "ResourceClaim"] == []
    events = [each for each in answer["evidence"] if "reason" in each]
    counts = [(each["reason"], each["count"]) for each in events]
    assert counts == [("Early", 3), ("Late", 3), ("Later", 3), ("Failed", 6), ("Failed", 3)]
    assert "x7k9z" in events[3]["message"]
