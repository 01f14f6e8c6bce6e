"""Clusters with faults and healthy ones: recorded ones, and their neighbours."""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.command import ROOT, draguard, findings
from tests.rows import each_row
from tests.scan.clusters import (
    DRIVER,
    HEALTHY,
    LATE,
    Object,
    claim,
    daemon_set,
    deployment,
    device,
    device_class,
    listed,
    made,
    node,
    plugin,
    pod,
    request,
    rules,
    scan,
    scanned,
    slices,
    template,
)
from tests.stored import clusters
from webhook.inventory import affinity
from webhook.inventory.affinity import selects
from webhook.objects import name_of
from webhook.scan import every_rule

RECORDED = Path(__file__).with_name("cases.jsonl.gz")


class _Head(msgspec.Struct):
    """What a recorded cluster is called and about; its objects take a hundred times longer to read."""

    id: str
    base: str
    faults: list[dict[str, Any]]


def _recorded() -> list[Any]:
    """Return the recorded clusters; the large ones are slow, and those whose faults others have, too."""
    seen: set[str] = set()
    found = []
    for line in gzip.decompress(RECORDED.read_bytes()).splitlines():
        head = msgspec.json.decode(line, type=_Head)
        faults = {fault["class"] for fault in head.faults}
        marks = [pytest.mark.slow] if (faults and faults <= seen) or head.base == "fleet" else []
        seen |= faults
        found.append(pytest.param(line, id=head.id, marks=marks))
    return found


def _is_about(finding: dict[str, Any], objects: list[Object]) -> bool:
    return any(
        (each["kind"], each["namespace"]) == (finding["kind"], finding["namespace"])
        and each["name"] in {"", finding["name"]}
        for each in objects
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("line", _recorded())
def test_every_fault_is_found_and_nothing_else(line: bytes) -> None:
    case = json.loads(line)
    found = scanned(*case["objects"])
    left = [each for each in found if each["level"] != "note"]
    for fault in case["faults"]:
        known = found if fault.get("note") else [each for each in found if each["level"] != "note"]
        told = [
            each
            for each in known
            if _is_about(each, fault["about"])
            and re.search(fault["says"], f"{each['message']} {each['hint']}", re.IGNORECASE)
        ]
        assert told, fault["class"]
        left = [each for each in left if each not in told and not _is_about(each, fault.get("also") or [])]
    assert left == []


GPU = {"uuid": "GPU-1"}
BY_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "gpu"}
CLUSTERS = clusters(ROOT / "tests/scan/clusters.yaml", "name", "rules", "helps")
"""Clusters with a fault, the rules that find it, and what helps; and those that only look as if they had one."""


@each_row("case", *CLUSTERS)
def test_the_neighbours_of_faults_are_found_and_what_only_looks_like_one_is_not(case: Object) -> None:
    found = [each for each in scanned(*case["cluster"]) if each["level"] != "note"]
    assert {each["rule"] for each in found} == {*case.get("rules", "").split()}
    assert re.search(case.get("helps", ""), "\n".join(each["hint"] for each in found))


def test_nodes_are_matched_once_for_each_selector_of_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def asking(selector: Object, each: Object) -> bool:
        asked.append(each)
        return selects(selector, each)

    monkeypatch.setattr(affinity, "selects", asking)
    requirement = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    of_name = {"nodeSelectorTerms": [{"matchFields": [requirement]}]}
    of_label = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    every = [
        slices(device(), name=name, pool={"name": name}, nodeSelector=selector)
        for name, selector in (("a", of_name), ("b", of_label), ("c", of_name), ("d", of_label))
    ]
    found = scanned(node(), device_class(), *every)
    assert [each["name"] for each in found if each["rule"] == "slice-without-node"] == ["b", "d"]
    assert [*map(name_of, asked)] == ["n1"]


def test_a_selector_is_matched_with_the_nodes_that_have_a_value_it_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def asking(selector: Object, each: Object) -> bool:
        asked.append(name_of(each))
        return selects(selector, each)

    monkeypatch.setattr(affinity, "selects", asking)
    nodes = [node(f"n{place}", labels={"host": f"n{place}", "zone": "a"}) for place in range(9)]
    known = affinity.NodesByLabel(nodes)

    def any_selected(**requirements: list[Object]) -> bool:
        return known.any_selected({"nodeSelectorTerms": [requirements]})

    zone, host = (
        {"key": key, "operator": "In", "values": values} for key, values in (("zone", ["a"]), ("host", ["n7"]))
    )
    assert any_selected(matchExpressions=[zone, host])
    assert asked == ["n7"]
    assert not any_selected(matchExpressions=[{**host, "values": ["gone"]}])
    assert not any_selected(matchFields=[{**host, "key": "metadata.name", "values": ["gone"]}])
    assert not any_selected()
    assert asked == ["n7", *map(name_of, nodes)]
    assert any_selected(matchFields=[{**host, "values": [""]}])
    assert any_selected(matchExpressions=[{"key": "host", "operator": "NotIn", "values": ["n0"]}])


def test_a_driver_that_is_silent_or_crashes_explains_what_is_gone() -> None:
    held = claim("gpu", "gpu-0", pods=("train",), pool="n2")
    objects = [node(), node("n2"), slices(device()), device_class(), daemon_set(), plugin(), held, pod(on="n2")]
    assert rules(*objects) == {"driver-not-running"}
    assert rules(*objects, plugin("n2")) == {"node-without-slices"}
    unread = slices(device(), on="n2")
    unread["metadata"]["generateName"] = True
    assert rules(*objects, plugin("n2"), unread) == {"wrong-type"}
    cluster = listed(*objects, plugin("n2"), unread).encode()
    why = draguard("why", "daemonset/driver", "-n", "drivers", "--cluster", "-", stdin=cluster)
    assert (why.code, "not read: ResourceSlice n2-gpu.example.com" in why.err) == (0, True)
    assert "is gone" not in draguard("why", "train", "--cluster", "-", stdin=cluster).out
    said = "it is not known what driver gpu.example.com publishes there: a ResourceSlice cannot be read"
    assert said in draguard("why", "node/n2", "--cluster", "-", stdin=cluster).out
    waiting = {"name": "plugin", "restartCount": 7, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    crashed = plugin("n2", containerStatuses=[waiting])
    fresh = node("n2")
    for each in (crashed, fresh):
        each["metadata"]["creationTimestamp"] = LATE
    objects[1] = fresh
    # What is gone follows from the crash.
    assert rules(*objects, crashed) == {"driver-not-running"}
    crashed["status"]["containerStatuses"][0]["restartCount"] = 0
    assert "driver-not-running" not in rules(*objects, crashed)


def test_a_cluster_without_what_is_judged_is_an_error() -> None:
    for objects in ([], [made("Service", "web", "default")], [node(), made("Namespace", "default")]):
        done = scan(*objects)
        assert (done.code, done.out) == (2, "")
        assert "no ResourceSlices, ResourceClaims or pods found" in done.err


@each_row("command", "scan", "devices")
def test_the_release_is_read_before_the_cluster(command: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_bytes(listed(*HEALTHY).encode())
    (tmp_path / "empty.yaml").write_text("# later\n", encoding="utf-8")
    assert "not read: 1 file without a manifest\n" in draguard(command, "--cluster", tmp_path).err
    done = draguard(command, "--cluster", tmp_path, "--kubernetes-version", "next")
    assert (done.code, "--kubernetes-version" in done.err, "not read" in done.err) == (2, True, False)


def test_kinds_that_were_not_collected_are_warned_of_and_not_missing() -> None:
    made_for = [{"name": "gpu", "resourceClaimName": "train-gpu-x"}]
    objects = [
        *HEALTHY,
        template(),
        pod(),
        pod("other", claims=(BY_TEMPLATE,), resourceClaimStatuses=made_for),
        deployment({"name": "gpu", "resourceClaimName": "gpu"}),
    ]
    assert rules(*objects) == set()
    assert "--cluster has no ResourceClaims: " in scan(*objects).err
    # A claim that waiting pods name may be the first one.
    assert rules(*HEALTHY, pod(phase="Pending", on="")) == {"reference-missing"}


def test_an_unhealthy_device_is_named() -> None:
    told = {"resourceID": "k8s.gpu.example.com/claim=e463-gpu-1", "health": "Unhealthy", "message": "XID 79"}
    sick = {"name": "main", "allocatedResourcesStatus": [{"name": "claim:gpu", "resources": [told]}]}
    held = claim("gpu", "gpu-0", "gpu-1", pods=("train",))
    (found,) = scanned(*HEALTHY, held, pod(containerStatuses=[sick]))
    assert (found["rule"], found["name"]) == ("device-unhealthy", "train")
    assert "gpu.example.com/n1/gpu-1: XID 79" in found["message"]


def test_what_is_written_in_an_old_version_is_noted_once_for_a_driver() -> None:
    written = {"managedFields": [{"manager": "plugin", "apiVersion": "resource.k8s.io/v1beta1", "operation": "Update"}]}
    old = [slices(device(), on=each) for each in ("n1", "n2")]
    for each in old:
        each["metadata"] |= written
    found = [each for each in scanned(node(), node("n2"), *old) if each["rule"] == "version-going"]
    assert [each["level"] for each in found] == ["note"]
    assert "v1beta1 by plugin, as are 1 others" in found[0]["message"]


def test_a_claim_that_is_nearly_full_is_noted_and_a_full_one_warned_of() -> None:
    pods = [pod(f"p{number}") for number in range(256)]
    names = tuple(each["metadata"]["name"] for each in pods)
    nearly = scanned(*HEALTHY, *pods, claim("gpu", "gpu-0", pods=names[:250]))
    assert [(each["rule"], each["level"]) for each in nearly] == [("reserved-near-limit", "note")]
    assert rules(*HEALTHY, *pods, claim("gpu", "gpu-0", pods=names)) == {"reserved-near-limit"}


def test_what_the_api_server_would_refuse_is_an_error() -> None:
    broken = claim("gpu", requests=[request(count=-1)])
    (found,) = [each for each in scanned(*HEALTHY, broken) if each["level"] == "error"]
    assert (found["field"], found["kubernetes"]) == ("spec.devices.requests[0].exactly.count", "1.36")
    unusable = slices(device(capacity={"memory": {"value": "a lot"}}))
    assert [each["level"] for each in scanned(node(), unusable)] == ["error"]


def test_the_release_is_that_of_the_nodes_unless_it_is_stated() -> None:
    objects = [
        node(version="v1.34.2"),
        node("n2", version="v1.35.1-gke.7+k3s1"),
        slices(device()),
        claim(requests=[request(count=-1)]),
    ]
    found = scanned(*objects)
    assert {each["kubernetes"] for each in found if each["level"] == "error"} == {"1.35"}
    found = scanned(*objects, options=("--kubernetes-version", "1.36"))
    assert {each["kubernetes"] for each in found if each["level"] == "error"} == {"1.36"}
    assert scanned(node(version="v1.99.0"), slices(device()), device_class()) == []
    assert scanned(node(version="unknown"), slices(device()), device_class()) == []


def test_lines_are_told_of_small_files(tmp_path: Path) -> None:
    file = Path(shutil.copy(ROOT / "examples/scan/cluster.yaml", tmp_path))
    done = draguard("scan", "--cluster", file, "--output", "concise", "--quiet")
    line = next(each for each in done.out.splitlines() if "claim-zombie" in each)
    number = int(line.split(":")[1])
    assert file.read_text(encoding="utf-8").splitlines()[number - 1].strip().startswith("reservedFor")


def test_exit_codes_and_levels_are_those_of_validate(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    objects = [*HEALTHY, claim("gpu", "gpu-0", pods=("gone",)), pod(claims=())]
    file.write_text(listed(*objects), encoding="utf-8")

    def code(*options: str) -> int:
        return draguard("scan", "--cluster", file, *options).code

    assert code() == 0
    assert code("--strict") == 1
    assert code("--strict", "--exit-zero") == 0
    assert code("--level", "claim-zombie=error") == 1
    assert code("--level", "claim-zombie=error", "--ignore", "claim-zombie") == 0
    assert code("--select", "claims-zombie") == 2
    assert code("--kubernetes-version", "1.29") == 2
    assert draguard("scan").code == 2
    assert draguard("scan", "--cluster", tmp_path / "none.yaml").code == 2
    (tmp_path / "broken.yaml").write_text("kind: Pod\nmetadata: {}\n---\na: [", encoding="utf-8")
    assert draguard("scan", "--cluster", tmp_path / "broken.yaml").code == 1


def test_a_rule_that_fails_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.scan.stored.Stored.incomplete", property(lambda _: 1 / 0))
    found = scanned(*HEALTHY, claim("gpu", "gpu-9", pods=("train",)), claim("b", "gpu-1", pods=("gone",)), pod())
    assert {each["rule"] for each in found} == {"internal-error", "claim-zombie"}


def test_texts_of_strangers_are_escaped() -> None:
    evil = claim("gpu", "gpu-0\x1b]0;owned\x07", pods=("a\x1b[2Jb",))
    done = scan(*HEALTHY, evil, pod(claims=()))
    assert "claim-zombie" in done.out
    assert not {"\x1b", "\x07"} & {*done.out}


REPORTS = ("--output", "openreports")


def test_reports_for_the_cluster_are_those_of_openreports() -> None:
    objects = [
        node(),
        node("n2"),
        *(slices(device("a", GPU), on=each) for each in ("n1", "n2")),
        claim("gpu", "a", pods=("gone",)),
        pod(claims=()),
    ]
    found = json.loads(scan(*objects, options=REPORTS).out)
    whole, own = found["items"]
    assert (whole["kind"], own["kind"], own["metadata"]["namespace"]) == ("ClusterReport", "Report", "default")
    assert {each["apiVersion"] for each in found["items"]} == {"openreports.io/v1alpha1"}
    assert own["summary"] == {"pass": 0, "fail": 0, "warn": 1, "error": 0, "skip": 0}
    (result,) = own["results"]
    assert (result["policy"], result["result"], result["severity"]) == ("claim-zombie", "warn", "medium")
    assert result["resources"][0]["name"] == "gpu"
    assert json.loads(scan(*objects, options=REPORTS).out) == found
    assert len({each["properties"]["resultID"] for every in found["items"] for each in every["results"]}) == 2
    healthy = json.loads(scan(*HEALTHY, options=REPORTS).out)
    assert [each["summary"]["warn"] for each in healthy["items"]] == [0]
    assert scan(*HEALTHY).out.startswith("3 documents in 1 file: no problems")


def test_the_page_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs/scan.md").read_text(encoding="utf-8")
    command = re.search(r"^\$ draguard (scan .*)$", page, re.MULTILINE)
    assert command
    assert f"{command[0]}\n{draguard(*command[1].split()).out}" in page
    listed = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", page.partition("| about |")[2].partition("\n\n")[0]))
    assert every_rule().keys() <= listed


@each_row(
    ("devices", "unused", "said"),
    (1, 0, "fails on a device of slice n1-"),
    (1, 2, "fails on a device of slice n1-"),
    (2, 1, "fails on 2 devices, such as those of slice n1-"),
    (0, 2, "fails on 2 devices, such as those of slice n0-.*; not used, as pool .*/n0 is incomplete"),
)
def test_the_devices_are_counted_on_which_a_selector_fails(devices: int, unused: int, said: str) -> None:
    failing = device_class(selector='device.attributes["x.io"].model == "X"')
    parted = slices(*(device(f"gpu-{at}") for at in range(unused)), on="n0", pool={"resourceSliceCount": 2})
    found = scanned(node(), node("n0"), parted, slices(*(device(f"gpu-{at}") for at in range(devices))), failing)
    (message,) = (each["message"] for each in found if each["rule"] == "class-selector-fails")
    assert re.search(f"a selector {said}", message)


def test_what_is_wrong_with_a_slice_is_mended_in_its_driver() -> None:
    (found,) = [
        each for each in scanned(node(), slices(device("GPU_0")), device_class()) if each["kind"] == "ResourceSlice"
    ]
    assert f"driver {DRIVER} writes the slice" in found["hint"]


ZOMBIE = claim("z", "a", pods=("gone",))


def test_findings_are_at_the_file_of_their_object(tmp_path: Path) -> None:
    for each in (daemon_set(), node(), device_class(), slices(device("a")), pod(claims=()), ZOMBIE):
        (tmp_path / f"{each['kind'].lower()}.json").write_text(json.dumps(each), encoding="utf-8")
    done = draguard("scan", "--cluster", tmp_path)
    assert f"\n{tmp_path}/resourceclaim.json: warning claim-zombie" in f"\n{done.out}"
    assert "daemonset.json: warning claim-zombie" not in done.out


def test_clusters_that_hold_nothing_are_errors(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("\n", encoding="utf-8")
    none = "holds no manifest\nhelp: did the command that writes it fail?"
    for path in (tmp_path / "empty.yaml", "-"):
        done = draguard("validate", "--cluster", path, "examples/v1")
        assert (done.code, none in done.out) == (1, True)
    (tmp_path / "list.yaml").write_text("{apiVersion: v1, kind: List, items: []}", encoding="utf-8")
    assert draguard("validate", "--cluster", tmp_path / "list.yaml", "examples/v1").code == 0
    done = draguard("scan", "--cluster", tmp_path / "gone.yaml")
    assert ("no such file or directory" in done.out, "warning" in done.err) == (True, False)


def test_workloads_of_two_groups_with_one_name_are_two() -> None:
    entry = {"name": "gpu", "resourceClaimTemplateName": "gone"}
    ours = deployment(entry)
    other = {**ours, "apiVersion": "apps.example.com/v1", "metadata": {**ours["metadata"], "uid": "another"}}
    for objects in ([ours, other], [other, ours]):
        stdin = "---\n".join(json.dumps(each, indent=1) + "\n" for each in [*objects, pod(claims=()), template()])
        (found,) = findings("scan", "--cluster", "-", "--quiet", stdin=f"# YAML\n{stdin}")
        is_first = found["line"] < len(json.dumps(ours, indent=1).splitlines())
        assert (found["rule"], is_first) == ("reference-missing", objects[0] is ours)
