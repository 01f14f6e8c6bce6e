"""ResourceQuotas of claims, of the devices of classes, and of pods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.simulating import simulated
from tests.command import draguard, findings
from tests.rows import each_row
from tests.simulation.clusters import claim, device_class, devices, node, pod, template
from webhook import simulate
from webhook.objects import JSONObject, name_of

DEVICES = "gpu.deviceclass.resource.k8s.io/devices"
CLAIMS = "count/resourceclaims.resource.k8s.io"


def quota(name: str = "q", namespace: str = "default", used: dict[str, Any] | None = None, **spec: Any) -> JSONObject:
    metadata, status = {"name": name, "namespace": namespace}, {"hard": spec["hard"], "used": used or {}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec, "status": status}


def cluster(*others: JSONObject, **fields: Any) -> list[JSONObject]:
    return [node("a"), device_class(**fields), devices("a", 4), template(count=2), *others]


def waiting(objects: list[JSONObject], *pods: JSONObject, **settings: Any) -> list[str]:
    answers = simulate(objects, pods or (pod(claims={"g": "t"}),), **settings)
    for each in answers:
        assert each["node"] or each["why"]["reason"].endswith("ResourceClaim not created yet")
    return [next(iter(each["why"]["notes"]), "") if each["node"] is None else "" for each in answers]


def exceeded(key: str, requested: int, used: int, limited: str, claim_name: str = "p-g") -> str:
    amounts = f"requested: {key}={requested}, used: {key}={used}, limited: {key}={limited}"
    return f"the API server refuses its claim default/{claim_name}-XXXXX: exceeded quota: q, {amounts}"


@each_row(
    ("asks", "counted"),
    [
        ({}, 1),
        ({"count": 3}, 3),
        ({"allocationMode": "All"}, 32),
    ],
)
def test_what_a_request_counts(asks: dict[str, Any], counted: int) -> None:
    objects = [*cluster(), template(**asks)]
    assert waiting([*objects, quota(hard={DEVICES: str(counted)})])[0] != exceeded(DEVICES, counted, 0, str(counted))
    less = str(counted - 1)
    assert waiting([*objects, quota(hard={DEVICES: less})]) == [exceeded(DEVICES, counted, 0, less)]


def test_alternatives_count_their_largest_of_each_class() -> None:
    alternatives = [{"name": f"a{count}", "deviceClassName": "gpu", "count": count} for count in (2, 1)]
    several: JSONObject = {"requests": [{"name": "r", "firstAvailable": alternatives}]}
    made = {"kind": "ResourceClaimTemplate", "metadata": {"name": "t"}, "spec": {"spec": {"devices": several}}}
    assert waiting([*cluster(), made, quota(hard={DEVICES: "1"})]) == [exceeded(DEVICES, 2, 0, "1")]
    assert waiting([*cluster(), made, quota(hard={DEVICES: "2"})]) == [""]


def test_what_is_used_follows_the_status_and_the_pods_before() -> None:
    objects = cluster(quota(hard={DEVICES: "5", CLAIMS: "10"}, used={DEVICES: "1", CLAIMS: 3}))
    pods = [pod(name, claims={"g": "t"}) for name in ("p1", "p2", "p3")]
    assert waiting(objects, *pods) == ["", "", exceeded(DEVICES, 2, 5, "5", claim_name="p3-g")]
    full = cluster(quota(hard={CLAIMS: "3"}, used={CLAIMS: "3"}))
    assert waiting(full) == [exceeded(CLAIMS, 1, 3, "3")]


def test_a_pod_with_two_claims_waits_for_the_second() -> None:
    both = pod(claims={"g": "t", "h": "t"})
    assert waiting(cluster(quota(hard={DEVICES: "3"})), both) == [exceeded(DEVICES, 2, 2, "3", claim_name="p-h")]


def test_devices_count_as_the_extended_resources_of_their_class() -> None:
    implicit, named = "requests.deviceclass.resource.kubernetes.io/gpu", "requests.example.com/gpu"
    for key in (implicit, named):
        objects = cluster(quota(hard={key: "1"}), extendedResourceName="example.com/gpu")
        assert waiting(objects) == [exceeded(key, 2, 0, "1")]
        assert waiting(objects, kubernetes="1.34") == [""]
        assert waiting(objects, kubernetes="1.36", feature_gates={"DRAExtendedResource": False}) == [""]


def test_other_quotas_do_not_matter() -> None:
    others = [
        quota(hard={DEVICES: "0"}, namespace="other"),
        quota("scopes", hard={DEVICES: "0"}, scopes=["BestEffort"]),
        quota("selector", hard={DEVICES: "0"}, scopeSelector={"matchExpressions": []}),
        quota("pods", hard={"requests.cpu": "0", "nic.deviceclass.resource.k8s.io/devices": "0"}),
    ]
    assert waiting(cluster(*others[:2], others[3])) == [""]


def test_a_quota_without_status_limits_what_its_spec_says() -> None:
    new = quota(hard={DEVICES: "1"})
    del new["status"]
    assert waiting(cluster(new)) == [exceeded(DEVICES, 2, 0, "1")]


@each_row("hard", [None, [], {DEVICES: None}, {DEVICES: {}}, {DEVICES: "many"}, {1: 1}])
def test_a_malformed_quota_does_no_harm(hard: Any) -> None:
    made = simulate(cluster(quota(hard=hard)), [pod(claims={"g": "t"})])
    assert len(made) == 1


def test_fewer_copies_fit(tmp_path: Path) -> None:
    known, given = tmp_path / "cluster.json", tmp_path / "pod.json"
    objects = cluster(quota(hard={DEVICES: "3"}), claim())
    known.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    given.write_text(json.dumps({"apiVersion": "v1", **pod(claims={"g": "t"})}))
    done = draguard("simulate", "--fit", given, "--cluster", known)
    assert done.out.startswith("1 pod like default/p fits")
    assert "exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=2, used: " in done.out


def versioned(obj: JSONObject) -> JSONObject:
    is_device_kind = obj["kind"] in {"DeviceClass", "ResourceClaim", "ResourceSlice", "ResourceClaimTemplate"}
    return {"apiVersion": "resource.k8s.io/v1" if is_device_kind else "v1", **obj}


def test_claims_of_the_manifests_are_created_in_their_order(tmp_path: Path) -> None:
    known, given = tmp_path / "cluster.json", tmp_path / "manifests.json"
    objects = [*cluster(quota(hard={DEVICES: "3"}, used={DEVICES: "1"})), claim("old", count=1)]
    made = [claim("old", count=1), claim("c1", count=2), claim("c2", allocationMode="All"), claim("c3", count=1)]
    pods = [pod(f"p-{name_of(each)}", claims={"g": name_of(each)}) for each in made]
    for path, items in ((known, objects), (given, [*made, *pods])):
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*map(versioned, items)]}))
    refused = {
        each["name"]: each["why"]["notes"][0] for each in simulated(given, "--cluster", known) if not each["node"]
    }
    amounts = f"requested: {DEVICES}=%d, used: {DEVICES}=3, limited: {DEVICES}=3"
    note = "the API server refuses its claim default/{}: exceeded quota: q, " + amounts
    assert refused == {
        "p-c2": note.format("c2") % 32,
        "p-c3": note.format("c3") % 1,
    }


def test_only_a_new_claim_is_refused(tmp_path: Path) -> None:
    known, given = tmp_path / "cluster.json", tmp_path / "claims.json"
    full = quota(hard={DEVICES: "2"}, used={DEVICES: "2"})
    of_group = {"apiVersion": "resource.k8s.io/v1"}
    items = [full, *({**of_group, **each} for each in (device_class(), claim("old", count=2)))]
    known.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    claims = [{**of_group, **claim(name, count=2)} for name in ("old", "new")]
    given.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": claims}))
    found = findings("validate", given, "--cluster", known)
    assert [(each["rule"], each["name"]) for each in found] == [("quota-exceeded", "new")]


def test_a_template_of_the_cluster_is_found_where_a_pod_names_it(tmp_path: Path) -> None:
    known, given = tmp_path / "cluster.json", tmp_path / "pod.json"
    items = [quota(hard={DEVICES: "1"}), {"apiVersion": "resource.k8s.io/v1", **template(count=2)}]
    known.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    given.write_text(json.dumps({"apiVersion": "v1", **pod(claims={"g": "t", "h": "t-gone"})}))
    (found,) = [each for each in findings("validate", given, "--cluster", known) if each["rule"] == "quota-exceeded"]
    assert found["field"] == "spec.resourceClaims[0].resourceClaimTemplateName"
    assert found["message"].startswith("the API server refuses the claims made from it, so pods stay pending: exceeded")


def plain(name: str = "p", **fields: Any) -> JSONObject:
    resources = {key: fields.pop(key) for key in ("requests", "limits") if key in fields}
    containers = [{"name": "c", "resources": resources}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": containers, **fields},
    }


def refused(of: JSONObject, *pods: JSONObject) -> list[str]:
    answers = simulate([node("a"), of], pods, kubernetes="1.36")
    return [each["why"]["reason"].removeprefix("the API server refuses it: ") for each in answers]


@each_row(
    ("hard", "pod_fields", "said"),
    [
        ({"pods": "0"}, {}, "requested: pods=1, used: pods=0, limited: pods=0"),
        ({"count/pods": "0"}, {}, "requested: count/pods=1, used: count/pods=0, limited: count/pods=0"),
        (
            {"requests.nvidia.com/gpu": "1", "pods": "5"},
            {"limits": {"nvidia.com/gpu": "2"}},
            "requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=1",
        ),
        ({"cpu": "1"}, {"requests": {"cpu": "1500m"}}, "requested: cpu=1500m, used: cpu=0, limited: cpu=1"),
        (
            {"requests.cpu": "2", "limits.memory": "1Gi"},
            {"limits": {"cpu": "2", "memory": "2Gi"}},
            "requested: limits.memory=2Gi, used: limits.memory=0, limited: limits.memory=1Gi",
        ),
        (
            {"hugepages-2Mi": "2Mi"},
            {"requests": {"hugepages-2Mi": "4Mi"}},
            "requested: hugepages-2Mi=4194304, used: hugepages-2Mi=0, limited: hugepages-2Mi=2Mi",
        ),
    ],
)
def test_what_a_pod_uses(hard: dict[str, str], pod_fields: dict[str, Any], said: str) -> None:
    assert refused(quota(hard=hard), plain(**pod_fields)) == [f"exceeded quota: q, {said}"]


def test_pods_before_it_count_and_those_of_the_cluster_were_accepted() -> None:
    gpus = {"limits": {"example.com/gpu": "1"}}
    first, second = refused(quota(hard={"pods": "2"}, used={"pods": "1"}), plain("p1"), plain("p2"))
    assert (first, second) == ("", "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2")
    stored = plain("p", **gpus)
    stored["metadata"]["uid"] = "a"
    (answer,) = simulate([node("a"), quota(hard={"pods": "0"}), stored], [])
    assert "quota" not in answer["why"]["reason"]


@each_row(
    ("scope", "pod_fields", "is_in"),
    [
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 60}, True),
        ({"scopes": ["Terminating"]}, {}, False),
        ({"scopes": ["NotTerminating", "BestEffort"]}, {}, True),
        ({"scopes": ["NotBestEffort"]}, {}, False),
        ({"scopes": ["NotBestEffort"]}, {"requests": {"cpu": "1m"}}, True),
        ({"scopes": ["CrossNamespacePodAffinity"]}, {}, False),
        ({"scopes": ["PriorityClass"]}, {"priorityClassName": "high"}, True),
        ({"scopeSelector": {"operator": "In", "values": ["high"]}}, {"priorityClassName": "high"}, True),
        ({"scopeSelector": {"operator": "In", "values": ["high"]}}, {"priorityClassName": "low"}, False),
        ({"scopeSelector": {"operator": "NotIn", "values": ["high"]}}, {"priorityClassName": "low"}, True),
        ({"scopeSelector": {"operator": "DoesNotExist"}}, {}, True),
        ({"scopeSelector": {"operator": "DoesNotExist"}}, {"priorityClassName": "low"}, False),
    ],
)
def test_a_quota_with_scopes_is_for_the_pods_in_all_of_them(
    scope: dict[str, Any], pod_fields: dict[str, Any], is_in: bool
) -> None:
    if selector := scope.get("scopeSelector"):
        scope = {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", **selector}]}}
    (reason,) = refused(quota(hard={"pods": "0"}, **scope), plain(**pod_fields))
    assert reason.startswith("exceeded quota: q, ") == is_in
