"""ResourceQuotas of claims, of the devices of classes, and of pods."""

import json
from pathlib import Path
from typing import Any

from tests.cli.simulating import simulated
from tests.command import draguard, findings
from tests.simulation.clusters import claim, device_class, devices, node, pod, template
from webhook.objects import JSONObject, name_of

DEVICES = "gpu.deviceclass.resource.k8s.io/devices"


def quota(name: str = "q", namespace: str = "default", used: dict[str, Any] | None = None, **spec: Any) -> JSONObject:
    metadata, status = {"name": name, "namespace": namespace}, {"hard": spec["hard"], "used": used or {}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec, "status": status}


def cluster(*others: JSONObject, **fields: Any) -> list[JSONObject]:
    return [node("a"), device_class(**fields), devices("a", 4), template(count=2), *others]


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
    assert refused == {"p-c2": note.format("c2") % 32, "p-c3": note.format("c3") % 1}


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
