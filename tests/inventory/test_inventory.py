"""The objects of a cluster: versions, a pod's claims and affinity, the DaemonSets of drivers, and what is kept."""

import copy
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from tests.structured import changed, of_kind, resource_slice
from webhook.check.cluster import cluster_documents
from webhook.inventory import Inventory, MalformedError, is_noted, newest
from webhook.inventory.affinity import as_int64, term_selects, unmatched
from webhook.inventory.claims import SHARING, Blocked, claims_of
from webhook.inventory.plugins import plugins, trouble_of
from webhook.objects import JSONObject, free_of_nulls
from webhook.report.model import Report


def test_what_is_held_in_an_older_version_is_returned_in_the_newest() -> None:
    inventory = Inventory()
    asks = {"name": "gpu", "deviceClassName": "gpu.example.com"}
    for name in ("a", "b", "c", "d"):
        claim = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": name}}
        assert inventory.hold({**claim, "spec": {"devices": {"requests": [asks]}}})
    found = [inventory.find("ResourceClaim", "a", "default"), inventory.discard("ResourceClaim", "b", "default")]
    found += inventory.all("ResourceClaim")
    assert [each and (each["apiVersion"], each["metadata"]["name"]) for each in found] == [
        ("resource.k8s.io/v1", name) for name in ("a", "b", "a", "c", "d")
    ]
    exactly = {"deviceClassName": "gpu.example.com"}
    assert all(each and each["spec"]["devices"]["requests"][0]["exactly"] == exactly for each in found)


@each_row("version", ["v1"], {"v1": 1}, 5, None)
def test_what_has_no_version_stays_as_it_is(version: Any) -> None:
    malformed = {"apiVersion": version, "kind": "ResourceQuota"}
    assert newest(malformed) == malformed


@each_row("version", "v1", "v1beta2", "v1beta1")
def test_slices_of_1_34_have_devices_and_counters(version: str) -> None:
    """They stay in a cluster that is upgraded, although later API servers reject such slices."""
    amounts = {"counters": {"memory": {"value": "1Gi"}}}
    counters = {"consumesCounters": [{"counterSet": "set", **amounts}]}
    device = {"name": "d0", "basic": counters} if version == "v1beta1" else {"name": "d0", **counters}
    made = resource_slice(device, version=version, sharedCounters=[{"name": "set", **amounts}])
    (found,) = Inventory([made]).all("ResourceSlice")
    assert found["spec"]["devices"] == [{"name": "d0", **counters}]
    with pytest.raises(MalformedError, match=r"ResourceSlice slice: spec\.pool"):
        Inventory([changed(made, spec__pool=...)])


def test_an_object_of_resource_k8s_io_in_a_version_that_no_release_has_cannot_be_decoded() -> None:
    with pytest.raises(MalformedError, match=r"object: no release serves ResourceSlice in resource\.k8s\.io/v1\("):
        Inventory([of_kind("ResourceSlice", {"driver": "a", "devices": "web"}, "v1(")])


@each_row(("kind", "version"), ("ResourceSlice", "resource.k8s.io/v1"), ("Node", "v1"), ("Pod", "v1"))
def test_metadata_is_only_decoded_as_an_api_server_has_judged_it(kind: str, version: str) -> None:
    obj = {**resource_slice(), "kind": kind, "apiVersion": version}
    if kind != "ResourceSlice":
        obj["spec"] = {}
    assert Inventory([changed(obj, metadata__labels={"a b": "c d"})]).knows(kind)
    with pytest.raises(MalformedError, match=r"metadata\.labels: json: cannot unmarshal"):
        Inventory([changed(obj, metadata__labels="a")])


@each_row(
    ("field", "value", "path"),
    ("consumesCounters", [{"counterSet": "a", "compatibilityGroups": [{}]}], r"consumesCounters\[0\]\.compatibilityG"),
    ("nodeAllocatableResources", {"cpu": {"overhead": {"perPod": {}}}}, "nodeAllocatableResources"),
)
def test_fields_that_an_older_release_does_not_know_have_the_types_of_later_ones(
    field: str, value: Any, path: str
) -> None:
    with pytest.raises(MalformedError, match=rf"ResourceSlice slice: spec\.devices\[0\]\.{path}"):
        Inventory([resource_slice({"name": "d0", field: value})])


@each_row("value", 5, ["x"], {"gpu": 5})
@each_row(("version", "device"), ("v1beta1", {"basic": {}}), ("v1alpha3", {"basic": {}}), ("v1beta2", {}))
def test_a_field_that_only_later_versions_know_has_their_type(version: str, device: JSONObject, value: Any) -> None:
    made = resource_slice({"name": "d0", **device, "attributes": value}, version=version)
    with pytest.raises(MalformedError, match=r"ResourceSlice slice: spec\.devices\[0\]\.attributes"):
        Inventory([made])
    if version != "v1beta2":
        inventory = Inventory()
        assert not inventory.hold(made)
        assert inventory.exists("ResourceSlice", "slice", "")


@each_row("version", "v1alpha2", "v2")
def test_what_no_release_serves_is_held_by_its_name_alone(version: str) -> None:
    inventory = Inventory()
    assert not inventory.hold(of_kind("DeviceClass", {"selectors": {"a": 5}}, version))
    assert all(map(is_noted, inventory.all("DeviceClass")))
    assert inventory.knows("DeviceClass")


def test_the_selectors_of_an_object_take_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.inventory.REVIEW", 100)
    selectors = [{"cel": {"expression": f"[1].all(x, [{number}].exists(y, y > x))"}} for number in range(20)]
    with pytest.raises(MalformedError, match="take more work than draguard allows"):
        Inventory([of_kind("DeviceClass", {"selectors": selectors}, "v1")])


def test_what_has_no_nulls_is_not_copied() -> None:
    plain: dict[str, Any] = {"a": [{"b": 1}, []], "c": {}}
    assert free_of_nulls(plain) is plain
    for value, free in (({"a": None}, {}), ({"a": [{"b": None}]}, {"a": [{}]}), ({"a": [[None]]}, {"a": [[{}]]})):
        before = copy.deepcopy(value)
        assert free_of_nulls(value) == free
        assert value == before


def test_a_reference_means_the_workload_of_its_group() -> None:
    jobs = [
        {"apiVersion": version, "kind": "Job", "metadata": {"name": "train", "uid": version}}
        for version in ("batch.volcano.sh/v1alpha1", "batch/v1")
    ]
    for objects in (jobs, jobs[::-1]):
        inventory = Inventory()
        for each in objects:
            inventory.keep(each)
        assert inventory.all("Job") == objects
        assert inventory.find("Job", "train", "default") is jobs[1]
        for each in jobs:
            version = str(each["apiVersion"])
            assert inventory.referred("Job", "train", version, "default", version.rpartition("/")[0]) is each


VALUES = ["0", "1", "01", "2", "a"]
LABELS: list[dict[str, str]] = [{}, *({"k": value} for value in [*VALUES, "3", "b"])]


def requirement(most: int, *operators: str) -> st.SearchStrategy[dict[str, Any]]:
    values = {"values": st.lists(st.sampled_from(VALUES), min_size=1, max_size=most)} if most else {}
    return st.fixed_dictionaries({"operator": st.sampled_from(operators), **values})


REQUIREMENTS = requirement(3, "In", "NotIn") | requirement(0, "Exists", "DoesNotExist") | requirement(1, "Gt", "Lt")


def spec(*terms: Any, **more: Any) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"affinity": {"nodeAffinity": required}, **more}


@given(st.lists(REQUIREMENTS, min_size=1, max_size=4))
def test_a_term_is_unmatched_exactly_if_no_label_meets_it(requirements: list[dict[str, Any]]) -> None:
    term = {"matchExpressions": [{"key": "k", **each} for each in requirements]}
    # A label may have more zeros than those that are tried.
    labels = [*LABELS, *({"k": number.zfill(9)} for number in "0123")]
    assert bool(unmatched(spec(term))) is not any(term_selects(term, "node", each) for each in labels)


@each_row("part", {"values": "v"}, {"key": ["k"]}, {"operator": ["In"]}, {"values": [1]}, {"values": 1})
def test_a_requirement_of_a_wrong_type_selects_no_node(part: dict[str, Any]) -> None:
    for each in ("matchExpressions", "matchFields"):
        assert not term_selects({each: [{"key": "k", "operator": "In", "values": ["v"], **part}]}, "node", {"k": "x"})
        assert not term_selects({each: part}, "node", {})


def test_what_affinity_does_not_say_or_the_api_server_refuses_counts_as_met() -> None:
    assert unmatched({"nodeSelector": {"a": "b"}}) == []
    for requirement in (None, {"operator": "Gt", "values": ["1", "2"]}, {"operator": "In"}, {"operator": "Equals"}):
        assert unmatched(spec({"matchExpressions": [requirement]})) == []
    (found,) = unmatched(spec(None))
    assert found.reason == "an empty term matches no node"


def test_of_many_or_long_keys_values_and_conditions_only_parts_are_named() -> None:
    values = [f"v{number}" for number in range(9)]
    first = {"key": "k", "operator": "In", "values": values}
    others = [{"key": "k", "operator": "NotIn", "values": [each]} for each in values]
    (found,) = unmatched(spec({"matchExpressions": [first, *others]}))
    assert found.reason == (
        "no node matches k In v0, v1, v2, v3, … and k NotIn v0 and k NotIn v1 and k NotIn v2 and k NotIn v8"
    )
    within, without, above = (
        {"key": "k" * 5000, "operator": operator, "values": ["v" * 5000]} for operator in ("In", "NotIn", "Gt")
    )
    selecting = spec({"matchExpressions": [without]}, nodeSelector={"k" * 5000: "v" * 5000})
    for long in (spec({"matchExpressions": [within, without]}), spec({"matchExpressions": [above]}), selecting):
        (found,) = unmatched(long)
        assert len(found.reason) < 2000


@each_row(
    ("text", "number"),
    ("+5", 5),
    ("007", 7),
    (str(2**63 - 1), 2**63 - 1),
    (str(2**63), None),
    ("9" * 5000, None),
    ("1.5", None),
)
def test_numbers_are_read_as_in_go(text: str, number: int | None) -> None:
    assert as_int64(text) == number


ENTRIES = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "uid": "1"},
    "spec": {"schedulingGroup": {"podGroupName": "g"}, "resourceClaims": ENTRIES},
    "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]},
}
OF_POD = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True}
OF_GROUP = {**OF_POD, "apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "name": "g", "uid": "2"}
ANOTHERS = {**OF_POD, "name": "other", "uid": "3"}
NEITHER = "neither Pod nor PodGroup g is the owner"


@each_row(
    ("owner", "groups", "blocked"),
    (OF_POD, True, ""),
    (OF_GROUP, True, ""),
    (OF_GROUP, False, "Pod is not owner"),
    (ANOTHERS, True, NEITHER),
    ({**OF_GROUP, "name": "h"}, True, NEITHER),
    ({**OF_GROUP, "apiVersion": "scheduling.volcano.sh/v1beta1"}, True, NEITHER),
    (ANOTHERS, False, "Pod is not owner"),
)
def test_a_claim_from_a_template_belongs_to_the_pod_or_its_group(
    owner: dict[str, Any], *, groups: bool, blocked: str
) -> None:
    metadata = {"name": "c", "namespace": "default", "ownerReferences": [owner]}
    inventory = Inventory([{**of_kind("ResourceClaim", {}, "v1"), "metadata": metadata}])
    found = claims_of(POD, inventory, [SHARING] if groups else [])
    reason = f"ResourceClaim default/c was not created for Pod default/p ({blocked})"
    assert (found.reason if isinstance(found, Blocked) else "") == (reason if blocked else "")


def daemon_set(name: str, path: str = "/var/lib/kubelet/plugins_registry", **container: Any) -> JSONObject:
    volumes = [{"name": "plugins", "hostPath": {"path": path}}]
    spec = {"volumes": volumes, "containers": [{"name": "c", **container}]}
    metadata = {"name": name, "namespace": "drivers", "uid": name}
    return {"kind": "DaemonSet", "metadata": metadata, "spec": {"template": {"spec": spec}}}


def pod(node: str, **status: Any) -> JSONObject:
    return {"kind": "Pod", "spec": {"nodeName": node}, "status": status}


INTEL = "gpu.intel.com"
OWN = daemon_set("a", "/var/lib/kubelet/plugins/gpu.example.com")


@each_row(
    ("daemon_sets", "pods", "served", "drivers", "expected"),
    ([OWN, daemon_set("b")], {}, {}, "gpu.example.com", {"a": "gpu.example.com", "b": ""}),
    ([daemon_set("a", args=["--driver=x.com"])], {}, {}, "x.com y.com", {"a": "x.com"}),
    ([daemon_set("x"), daemon_set("csi", image="csi/node-driver-registrar:1")], {}, {}, "x.com", {"x": ""}),
    ([daemon_set("a"), daemon_set("b")], {"b": [pod("n")]}, {"z.com": {"n"}}, "z.com", {"a": "", "b": "z.com"}),
    ([daemon_set("a"), daemon_set("b")], {}, {"z.com": {"n"}}, "z.com", {"a": "", "b": ""}),
    ([daemon_set("intel-gpu"), daemon_set("amd")], {}, {}, INTEL, {"intel-gpu": INTEL, "amd": ""}),
    ([daemon_set("intel-old"), daemon_set("intel-new")], {}, {}, INTEL, {"intel-old": INTEL, "intel-new": INTEL}),
    ([daemon_set("nvidia-gpu")], {}, {}, "gpu.intel.com gpu.nvidia.com", {"nvidia-gpu": "gpu.nvidia.com"}),
    ([daemon_set("cpus")], {"cpus": [pod("n")]}, {"x.com": {"n"}}, "dra.cpu x.com", {"cpus": "x.com"}),
    ([daemon_set("a", "/var/lib/other", image="x.com")], {}, {}, "x.com", {}),
)
def test_a_driver_is_run_by_the_daemon_set_that_names_it_or_is_on_its_nodes(
    daemon_sets: list[JSONObject], pods: Any, served: dict[str, set[str]], drivers: str, expected: dict[str, str]
) -> None:
    each_with_pods = ((each, pods.get(each["metadata"]["name"], [])) for each in daemon_sets)
    found = plugins(each_with_pods, served, {*drivers.split()})
    assert {each.workload["metadata"]["name"]: " ".join(each.drivers) for each in found} == expected


CRASHED = {"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}


@each_row(
    ("status", "expected"),
    ({"phase": "Running"}, ""),
    ({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}, "it is not ready"),
    ({"phase": "Failed", "reason": "Evicted"}, "it is not running: Failed (Evicted)"),
    ({"phase": "Running", "containerStatuses": [CRASHED]}, "a is not running (CrashLoopBackOff)"),
)
def test_the_trouble_of_a_pod(status: JSONObject, expected: str) -> None:
    assert trouble_of(pod("n", **status)) == expected


MANY = 1000


def numbered_pod(number: int) -> dict[str, Any]:
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


@pytest.mark.slow
def test_equal_parts_are_kept_once_and_what_nothing_needs_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    pods = [numbered_pod(number) for number in range(MANY)]
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


def test_what_tenants_write_at_length_is_left_out_but_policies_see_all(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    long = numbered_pod(0)
    long["spec"]["containers"][0] |= {"args": ["x"] * 10_000, "command": ["run"], "envFrom": [None] * 10_000}
    file.write_text(json.dumps({"apiVersion": "v1", "items": [long], "kind": "List"}), encoding="utf-8")
    (found,) = cluster_documents([str(file)], Report(), ("Pod",))
    assert found.data["spec"]["containers"][0].keys() == {"name", "image", "env", "command"}
    (found,) = cluster_documents([str(file)], Report(), ("Pod",), is_whole=True)
    assert found.data == long
