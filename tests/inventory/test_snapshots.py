"""What is kept of the objects of a cluster."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

from webhook.check.cluster import cluster_documents
from webhook.report.model import Report

MANY = 1000


def pod(number: int) -> dict[str, Any]:
    env = [{"name": f"V{index}", "value": "x" * 200} for index in range(20)]
    mounts = [{"name": f"access-{number}", "mountPath": "/var/run"}]
    container = {"name": "c", "image": "i", "env": env, "volumeMounts": mounts}
    fields = [{"manager": "m", "fieldsV1": {"f:spec": {f"f:{number}-{index}": {} for index in range(50)}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p-{number}", "namespace": "a", "managedFields": fields},
        "spec": {"nodeName": "n", "containers": [container], "securityContext": {}},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "startTime": None},
    }


def test_equal_parts_are_kept_once_and_what_nothing_needs_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    pods = [pod(number) for number in range(MANY)]
    file.write_text(json.dumps({"apiVersion": "v1", "items": pods, "kind": "List"}, indent=4), encoding="utf-8")
    size = file.stat().st_size
    del pods
    list(cluster_documents([str(file)], Report(), ()))  # what is imported for it
    tracemalloc.start()
    try:
        found = [each.data for each in cluster_documents([str(file)], Report(), ("Pod",))]
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == MANY
    assert kept < size / 4
    assert peak < size
    first, last = found[0], found[-1]
    assert first["metadata"] == {"name": "p-0", "namespace": "a"}
    assert first["status"] == {"phase": "Running"}
    assert first["spec"]["containers"][0].keys() == {"name", "image", "env"}
    assert first["spec"]["containers"][0]["env"] is last["spec"]["containers"][0]["env"]


def test_what_tenants_write_at_length_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    long = pod(0)
    long["spec"]["containers"][0] |= {"args": ["x"] * 10_000, "command": ["run"], "envFrom": [None] * 10_000}
    file.write_text(json.dumps({"apiVersion": "v1", "items": [long], "kind": "List"}), encoding="utf-8")
    (found,) = cluster_documents([str(file)], Report(), ("Pod",))
    assert found.data["spec"]["containers"][0].keys() == {"name", "image", "env", "command"}


def test_policies_see_all(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "items": [pod(0)], "kind": "List"}), encoding="utf-8")
    (found,) = cluster_documents([str(file)], Report(), ("Pod",), is_whole=True)
    assert found.data == pod(0)
