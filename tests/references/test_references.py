"""Rules about several objects: what they say, and where objects are looked up."""

import json
import re
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import yaml

from tests.command import ROOT, draguard, findings
from tests.rows import each_row, each_row_beside
from tests.simulation.clusters import claim, devices, drawing, node, ran
from tests.simulation.clusters import device_class as drawn_class
from webhook.references import lookup
from webhook.references.lookup import every_rule


def device_class(*expressions: str) -> str:
    """Write the DeviceClass gpu."""
    selectors = ", ".join(f"cel: {{expression: '{each}'}}" for each in expressions)
    return f"""
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: gpu}}
spec: {{selectors: [{selectors}]}}
---
"""


def resource_slice(*devices: str) -> str:
    """Write a ResourceSlice of driver g.example.com."""
    return f"""
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: s}}
spec:
  driver: g.example.com
  pool: {{name: s, generation: 1, resourceSliceCount: 1}}
  nodeName: node-a
  devices: [{", ".join(devices)}]
---
"""


def claim_of(devices: str) -> str:
    """Write a claim with these devices."""
    return f"""
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: c}}
spec: {{devices: {{{devices}}}}}
"""


def found_in(manifests: str) -> list[dict[str, Any]]:
    """Return the findings in manifests from standard input."""
    return findings("validate", "-", stdin=manifests)


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
"""


RULES = every_rule()


def test_rules_apply_in_the_same_order_whichever_are_imported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = sorted(RULES.items(), key=lambda item: item[1].check.__module__)
    monkeypatch.setattr(lookup, "RULES", dict(imported))
    for cached in (lookup.rules_of, lookup.every_rule):
        cached.cache_clear()
    assert list(every_rule()) == list(RULES)


@each_row(
    ("given", "count"),
    ("apiVersion: resource.nvidia.com/v1, kind: ComputeDomain, spec: {channel: {resourceClaimTemplate: %s}}", 0),
    ("apiVersion: acme.io/v1, kind: Fabric, spec: {parts: [{resourceClaimTemplate: %s}]}", 0),
    ("apiVersion: acme.io/v1, kind: Fabric, spec: {parts: [{template: %s}]}", 1),
)
def test_templates_that_an_operator_makes_are_known(given: str, count: int) -> None:
    other = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: b}, spec: {spec: {}}}\n"
    around = f"---\n{{{given % '{name: one-gpu}'}, metadata: {{name: a}}}}\n---\n{other}"
    found = findings("validate", "-", stdin=POD + around)
    assert [each["rule"] for each in found].count("template-not-found") == count


def test_what_cannot_be_looked_up_is_counted() -> None:
    done = draguard("validate", "-", stdin=POD.encode())
    named = "note: references not checked: ResourceClaimTemplate one-gpu (<stdin>:6); "
    assert f"{named}the manifests have no such objects: add them, or give" in done.out
    assert done.code == 0
    refused = (
        "---\n{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu}, spec: {spac: {}}}\n"
    )
    done = draguard("validate", "-", stdin=(POD + refused).encode())
    assert f"{named}the manifests have no such objects without errors: add them" in done.out


COUNTING = claim_of("requests: [{name: g, exactly: {deviceClassName: gpu.example.com, count: %s}}]")
OLDER = (COUNTING % -1).replace("resource.k8s.io/v1", "resource.k8s.io/v1beta2")
ON_ONE_LINE = json.dumps(yaml.safe_load(COUNTING.replace("name: c", "name: C") % -1))


@each_row(
    ("manifests", "options", "note"),
    (COUNTING % 1, (), ""),
    (COUNTING % -1, (), "some warnings are not checked for 1 object with errors"),
    (COUNTING % "many", (), "some errors and warnings are not checked for 1 object with errors"),
    # All releases together; each of two on one line.
    (
        f"{OLDER}---\n{COUNTING % 'many'}",
        ("--kubernetes-version=1.33", "--kubernetes-version=1.35"),
        "some errors and warnings are not checked for 2 objects with errors",
    ),
    (
        f"{{kind: List, apiVersion: v1, items: [{ON_ONE_LINE}, {ON_ONE_LINE}]}}",
        (),
        "not checked for 2 objects with errors",
    ),
)
def test_what_errors_hide_is_said(manifests: str, options: tuple[str, ...], note: str) -> None:
    out = draguard("validate", "-", *options, stdin=manifests.encode()).out
    assert note in out
    assert ("are not checked for" in out) == bool(note)


def test_errors_behind_a_quantity_that_cannot_be_decoded_are_found() -> None:
    wrong = "{name: gpu, exactly: {deviceClassName: gpu, allocationMode: all, capacity: {requests: {memory: 40GB}}}}"
    claim = claim_of(f"requests: [{wrong}, {{name: gpu, exactly: {{deviceClassName: gpu}}}}]")
    assert [each["rule"] for each in found_in(claim)] == ["count-for-mode", "quantity", "duplicate"]


@each_row("broken", "\tmetadata: {name: a}", "kind: ResourceClaimsTemplate")
def test_what_a_broken_document_of_the_file_may_hold_is_not_missed(broken: str) -> None:
    template = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: NAME}\n"
    template += "spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: c}}]}}}\n"
    wrong = template.replace("NAME", "one-gpu").replace("kind: ResourceClaimTemplate", broken)
    done = draguard("validate", "-", stdin="---\n".join([POD, template.replace("NAME", "other"), wrong]).encode())
    assert ("template-not-found" in done.out, done.out.count(": error ")) == (False, 1)
    assert "ResourceClaimTemplate one-gpu (<stdin>:6); the manifests have no such objects without errors" in done.out


@each_row(
    ("condition", "hint"),
    ('M == "a" && M in ["b", "c"]', "use || or `in` to allow several values"),
    ("M >= 4 && M < 2", ""),
    ('M.startsWith("a") && M == "b"', ""),
)
def test_alternatives_are_advised_where_values_are_compared_for_equality(condition: str, hint: str) -> None:
    expression = condition.replace("M", 'device.attributes["a.io"].m')
    selectors = json.dumps([{"cel": {"expression": expression}}])
    claim = claim_of(f"requests: [{{name: g, exactly: {{deviceClassName: c, selectors: {selectors}}}}}]")
    found = findings("validate", "-", stdin=claim)
    assert [(each["rule"], each.get("hint", "")) for each in found] == [("selector-contradiction", hint)]


@each_row(
    ("name", "is_missed"),
    *(("one-gpu", False), ("z", True), ("$NAME", False), ('""', False)),
)
def test_an_object_of_a_misspelt_kind_may_be_the_missing_one_only_by_its_name(name: str, *, is_missed: bool) -> None:
    other = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: other}\nspec: {spec: {}}\n"
    misspelt = other.replace("Template", "Templte").replace("other", name)
    rules = {each["rule"] for each in findings("validate", "-", stdin=f"{POD}---\n{other}---\n{misspelt}")}
    assert ("template-not-found" in rules, "not-served" in rules) == (is_missed, True)


def test_a_template_is_missed_only_where_all_files_can_be_read_and_others_of_its_kind_are(tmp_path: Path) -> None:
    head = "apiVersion: resource.k8s.io/v1\nmetadata: {name: other}\n"
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "claim.yaml").write_text(f"{head}kind: ResourceClaim\nspec: {{}}\n")
    note = "references not checked: ResourceClaimTemplate one-gpu"
    assert note in draguard("validate", tmp_path).out
    (tmp_path / "template.yaml").write_text(f"{head}kind: ResourceClaimTemplate\nspec: {{spec: {{}}}}\n")
    assert "template-not-found" in draguard("validate", tmp_path).out
    (tmp_path / "unreadable.yaml").write_text(f"{head}kind: ResourceClaimTemplate\nspec: {{x: [}}\n")
    assert note in draguard("validate", tmp_path).out


@each_row(("own", "has_errors"), ("", False), (device_class().replace("[]", "[{}]"), True))
def test_objects_with_errors_are_mentioned_where_there_are_any(own: str, has_errors: bool) -> None:
    held = json.dumps(yaml.safe_load(device_class().rpartition("---")[0]))
    work = f"apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nspec: {{manifests: [{held}]}}\n---\n"
    asking = claim_of("requests: [{name: gpu, exactly: {deviceClassName: other}}]")
    out = draguard("validate", "-", stdin=f"{work}{own}{asking}".encode()).out
    assert ("the manifests have no such objects without errors" in out) == has_errors
    assert "the manifests have no such objects" in out


@each_row(
    ("known", "is_meant"), (["dev-one-gpu"], True), (["one-gpu-staging"], True), (["a-one-gpu", "b-one-gpu"], False)
)
def test_a_prefix_or_suffix_of_kustomize_is_told(known: list[str], is_meant: bool) -> None:
    head = "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nspec: {spec: {}}\nmetadata: "
    done = draguard("validate", "-", stdin="".join([POD, *(f"{head}{{name: {name}}}\n" for name in known)]).encode())
    hint = f'did you mean "{known[0]}"? kustomize adds namePrefix and nameSuffix to resourceClaimTemplateName only'
    assert (hint in done.out) == is_meant


def test_a_suggested_label_is_valid_and_a_job_has_a_restart_policy() -> None:
    assert 'did you mean "a-b"?' in draguard("validate", "-", stdin=f"{POD}  hostname: A.b\n".encode()).out
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    "
    job += POD.partition("}\n")[2].replace("\n", "\n    ")
    assert "help: write restartPolicy: Never" in draguard("validate", "-", stdin=job.encode()).out


def test_the_class_that_a_quota_names_is_named() -> None:
    hard = '{gpu.example.com.deviceclass.resource.k8s.io/devices: "4"}'
    quota = f"{{apiVersion: v1, kind: ResourceQuota, metadata: {{name: q}}, spec: {{hard: {hard}}}}}"
    done = draguard("validate", "-", stdin=quota.encode())
    assert "note: references not checked: DeviceClass gpu.example.com (<stdin>:1); " in done.out


def test_of_many_objects_that_cannot_be_looked_up_some_are_named() -> None:
    requests = ", ".join(f"{{name: g{each}, exactly: {{deviceClassName: {each}.org}}}}" for each in (0, 1, 2, 3, 4))
    done = draguard("validate", "-", stdin="---".join([claim_of(f"requests: [{requests}]")] * 2).encode())
    listed = ", ".join(f"{each}.org (<stdin>:5 and 1 more place)" for each in range(3))
    said = f"note: references not checked: DeviceClass {listed}, and 2 more; the manifests have no such objects: add"
    assert said in done.out


def test_references_that_are_not_looked_up_for_several_releases_are_listed_once() -> None:
    claim = claim_of("requests: [{name: g, exactly: {deviceClassName: a.org}}]")  # not served by 1.33
    pod = "---\n" + POD + "---\n" + POD.replace("one-gpu", "two-gpus")
    done = draguard("validate", "--kubernetes-version", "1.33,1.34,1.36", "-", stdin=(claim + pod).encode())
    (note,) = (line for line in done.out.splitlines() if "references not checked" in line)
    listed = ["a.org (<stdin>:5)", "one-gpu (<stdin>:12)", "two-gpus (<stdin>:19)"]
    assert re.findall(r"[\w.-]+ \(<stdin>:\d+\)", note) == listed


def beside(cluster: str, manifests: str, folder: Path) -> str:
    """Validate manifests with the objects of a cluster; return what is said."""
    (folder / "cluster.yaml").write_text(cluster, encoding="utf-8")
    return draguard("validate", "-", "--cluster", folder / "cluster.yaml", stdin=manifests.encode()).out


def test_the_cluster_is_looked_into(tmp_path: Path) -> None:
    cluster = device_class().replace("/v1", "/v1beta1").replace("gpu", "gpu.example.com")
    listed = f"{{apiVersion: v1, kind: List, items: [{json.dumps(yaml.safe_load(cluster.partition('---')[0]))}]}}"
    claim = claim_of("requests: [{name: r, exactly: {deviceClassName: gpu.exmaple.com}}]")
    assert 'help: did you mean "gpu.example.com"?' in beside(listed, claim, tmp_path)


@each_row(
    ("manifest", "cluster", "noted"),
    (claim_of("requests: [{name: r, exactly: {deviceClassName: gpu}}]"), device_class(), True),
    (device_class(), device_class(), True),
    (device_class(), resource_slice("{name: d}"), False),
    (device_class() + resource_slice("{name: d}"), device_class(), False),
    (resource_slice("{name: d}"), device_class(), False),
)
def test_that_a_cluster_has_no_slices_is_noted(manifest: str, cluster: str, *, noted: bool, tmp_path: Path) -> None:
    note = "note: not matched against devices: --cluster has no ResourceSlices\n"
    assert (note in beside(cluster, manifest, tmp_path)) is noted


@each_row(
    ("kubelet", "noted"),
    ("v1.34.2", "1.34"),
    ("v1.29.9", "1.29"),
    ("v1.38.0-alpha.1", "1.38"),
    ("v1.37.0-rc.1+k3s1", ""),
    ("v1.26.0", ""),
    ("v1.99.0", ""),
)
def test_that_a_cluster_is_of_another_release_is_noted(kubelet: str, noted: str, tmp_path: Path) -> None:
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {nodeInfo: {kubeletVersion: %s}}\n---\n"
    said = beside(node % kubelet + resource_slice("{name: d}"), device_class(), tmp_path)
    note = f"note: judged as Kubernetes 1.37, but the nodes of the cluster run {noted}: --kubernetes-version {noted} "
    assert (note in said, "but the nodes" in said) == (bool(noted), bool(noted))


def test_only_a_cluster_tells_what_does_not_exist(tmp_path: Path) -> None:
    manifest = claim_of("requests: [{name: r, exactly: {deviceClassName: qqqqq}}]")
    (found,) = found_in(device_class() + manifest)
    assert found["hint"] == "device classes: gpu; if the cluster has it, give its objects with --cluster"
    said = beside(device_class(), manifest, tmp_path)
    assert 'DeviceClass "qqqqq" does not exist, so pods with this claim stay pending\n' in said
    assert "help: device classes: gpu\n" in said


def test_accounts_of_a_cluster_are_unknown(tmp_path: Path) -> None:
    example = (ROOT / "webhook/explain/examples/account-not-found.yaml").read_text(encoding="utf-8")
    said = beside(device_class(), example.partition("# passes")[0], tmp_path)
    assert 'ServiceAccount "gpu-driver" is not among these manifests in namespace kube-system: unless' in said


def test_a_cluster_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    manifest = tmp_path / "claim.yaml"
    manifest.write_text("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: c}, spec: {}}")
    wrong = tmp_path / "cluster.yaml"
    wrong.write_text("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {devices: 1}}")
    done = draguard("validate", manifest, "--cluster", wrong)
    assert done.code == 1
    assert "ResourceSlice s: spec.devices: json: cannot unmarshal number" in done.out
    assert draguard("validate", manifest, "--cluster", tmp_path / "none").code == 2


def test_a_manifest_in_an_earlier_version_is_shown_where_it_is_written() -> None:
    older = claim_of("requests: [{name: r, deviceClassName: gpus}]").replace("k8s.io/v1", "k8s.io/v1beta1")
    (found,) = [each for each in found_in(f"{older}---\n{device_class()}") if each["rule"] == "class-not-found"]
    assert (found["field"], found["line"]) == ("spec.devices.requests[0].deviceClassName", 5)


def test_what_is_classic_is_only_known_by_name() -> None:
    claim = (
        "{apiVersion: resource.k8s.io/v1alpha2, kind: ResourceClaim, metadata: {name: c}, spec: {resourceClassName: r}}"
    )
    manifests = f"{POD.replace('resourceClaimTemplateName: one-gpu', 'source: {resourceClaimName: c}')}---\n{claim}\n"
    found = findings("validate", "--kubernetes-version", "1.30", "-", stdin=manifests)
    assert [each["rule"] for each in found if each["rule"] in RULES] == []


def role(kind: str, *rules: tuple[str, str, str]) -> str:
    written = "\n".join(
        f"- {{apiGroups: ['{group}'], resources: ['{resource}'], verbs: ['{verb}']}}" for group, resource, verb in rules
    )
    head = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {kind.lower()}}}\n"
    return f"{head}rules:\n{written}\n"


DRA = "resource.k8s.io"
UPDATER = role("ClusterRole", (DRA, "resourceclaims/status", "update"))


@each_row(
    ("other", "count"),
    ((DRA, "resourceclaims/driver", "associated-node:patch"), 0),
    ((DRA, "resourceclaims/driver", "arbitrary-node:update"), 0),
    ((DRA, "resourceclaims/binding", "patch"), 0),
    (("*", "*", "*"), 0),
    ((DRA, "*/driver", "*"), 0),
    ((DRA, "resourceclaims/driver", "update"), 1),
    ((DRA, "resourceclaims/binding", "get"), 1),
    (("", "*", "*"), 1),
)
def test_all_roles_together_allow_updates_of_the_status(
    other: tuple[str, str, str], count: int, tmp_path: Path
) -> None:
    (tmp_path / "driver.yaml").write_text(UPDATER)
    (tmp_path / "node.yaml").write_text(role("Role", other))
    for given in (tmp_path,), (tmp_path / "driver.yaml", "--cluster", tmp_path / "node.yaml"):
        assert [each["rule"] for each in findings("validate", *given)].count("status-without-part") == count


def test_a_role_is_as_it_was_before_the_gate_and_not_looked_at_if_it_is_malformed() -> None:
    for options, count in (
        (("--kubernetes-version", "1.35"), 0),
        (("--kubernetes-version", "1.36"), 1),
        (("--feature-gates", "DRAResourceClaimGranularStatusAuthorization=false"), 0),
    ):
        assert len(findings("validate", "-", *options, stdin=UPDATER)) == count
    for rules in ("null", "{}", "[1, {resources: resourceclaims/status}]", "[{verbs: [1]}]"):
        assert findings("validate", "-", stdin=UPDATER.partition("rules:")[0] + f"rules: {rules}\n") == []


CPUS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: cpus}
spec:
  devices:
    requests: [{name: cpu, exactly: {deviceClassName: dra.cpu, capacity: {requests: {dra.cpu/cpu: "2"}}}}]
---
"""


def cpu_pod(name: str) -> str:
    """Write a pod whose container uses the claim cpus."""
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: default}}
spec:
  nodeName: node-a
  containers: [{{name: c, image: registry.example.com/i:1, resources: {{claims: [{{name: g}}]}}}}]
  resourceClaims: [{{name: g, resourceClaimName: cpus}}]
---
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a.yaml": CPUS, "b.yaml": cpu_pod("one"), "c.yaml": cpu_pod("two")}, 2),
        ({"a.yaml": CPUS + cpu_pod("one"), "b.yaml": CPUS + cpu_pod("two")}, 0),
        ({"a.yaml": CPUS + cpu_pod("one"), "overlay/b.yaml": cpu_pod("one")}, 0),
    ],
)
def test_users_of_a_claim_are_those_of_the_same_one(tmp_path: Path, files: dict[str, str], found: int) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    judged = findings("validate", "--no-config", tmp_path)
    assert [each["rule"] for each in judged].count("refused-by-driver") == found


def test_pods_of_a_cluster_use_its_claims(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CPUS + cpu_pod("old"), encoding="utf-8")
    judged = findings("validate", "--no-config", "-", "--cluster", tmp_path / "cluster.yaml", stdin=cpu_pod("new"))
    (refused,) = (each for each in judged if each["rule"] == "refused-by-driver")
    assert refused["message"].startswith('claim "cpus" is used by container c of pod new, container c of pod old: ')


@each_row(
    ("count", "incomplete", "message", "hint"),
    (
        9,
        1,
        "no node has more than 3 (n1)",
        "help: ask for 2 at most: no node has 3 devices that are available together",
    ),
    (3, 1, "no node has 3 devices that are available together for request r: at most 2, counter memory", "is left"),
    (
        3,
        3,
        "even if all devices are free, no node has 3 devices",
        "/n2 with 3 devices is incomplete: 1 of 2 slices of generation 1\n",
    ),
)
def test_what_helps_is_advised(count: int, incomplete: int, message: str, hint: str, tmp_path: Path) -> None:
    others = devices("n2", incomplete)
    others["spec"]["pool"]["resourceSliceCount"] = 2
    cluster = [node("n1"), node("n2"), drawn_class(), *drawing("n1", "80Gi", "80Gi", "40Gi", "40Gi"), others]
    said = ran(tmp_path, claim(count=count), cluster=cluster, command="validate").out
    assert message in said
    assert hint in said


def test_tainted_devices_are_told_apart_from_those_that_there_are(tmp_path: Path) -> None:
    taint = {"key": "example.com/broken", "effect": "NoSchedule"}
    slice_ = devices("n1", 2)
    slice_["spec"]["devices"][1]["taints"] = [taint]
    said = ran(tmp_path, claim(count=4), cluster=[node("n1"), drawn_class(), slice_], command="validate").out
    assert "no node has more than 2 (n1)" in said
    assert (
        "help: ask for 1 at most: no node has 2 untainted devices for request r: at most 1, taint example.com/b" in said
    )


@each_row(("fields", "is_told"), ({"allowMultipleAllocations": True}, True), ({}, False))
def test_devices_that_requests_may_share(fields: Any, tmp_path: Path, *, is_told: bool) -> None:
    cluster = [node("n2"), drawn_class(), devices("n2", **fields)]
    said = ran(tmp_path, claim(count=5), cluster=cluster, command="validate").out
    assert "help: ask for 1 at most: all devices of a claim are used from one node" in said
    assert ("; several requests may share them" in said) == is_told


@each_row(
    ("condition", "hint"),
    ('.index == "0"', "index is not a string: compare it with a value without quotes"),
    (".model == 7", "model is a string: put what it is compared with in quotes"),
    ('.model == "B"', ""),
    ('.model == "a"', 'did you mean "A"?'),
    ('.model in ["B", "C"]', ""),
    ('.model in ["B", "a"]', 'did you mean "A"?'),
    ('.model.startsWith("B")', ""),
    ('.index == 0 && !(device.attributes["g.example.com"].model in ["A"])', ""),
    (".model in [1, 2]", "model is a string: put what it is compared with in quotes"),
)
def test_a_value_of_another_type_is_never_equal(condition: str, hint: str) -> None:
    selector = f"""cel: {{expression: 'device.attributes["g.example.com"]{condition}'}}"""
    claim = claim_of(f"requests: [{{name: r, exactly: {{deviceClassName: gpu, selectors: [{selector}]}}}}]")
    devices = resource_slice("{name: d, attributes: {model: {string: A}, index: {int: 0}}}")
    found = found_in(device_class() + devices + claim)
    assert [(each["rule"], each["hint"]) for each in found] == [("selects-nothing", hint)]


@each_row(
    ("condition", "hints"),
    ('memory == quantity("80")', ['did you mean quantity("80Gi")?']),
    ('quantity("400m").isLessThan(device.capacity["g.example.com"].memory)', ['did you mean quantity("400Mi")?']),
    ('memory.isGreaterThan(quantity("8k"))', []),
    ('cores.isGreaterThan(quantity("8"))', []),
)
def test_a_unit_is_missing_where_all_devices_have_far_more(condition: str, hints: list[str]) -> None:
    expression = condition if condition.startswith("quantity") else f'device.capacity["g.example.com"].{condition}'
    found = found_in(
        device_class(expression) + resource_slice("{name: d, capacity: {memory: {value: 80Gi}, cores: {value: 64}}}")
    )
    assert [each["hint"] for each in found if each["rule"] == "quantity-without-unit"] == hints


@each_row_beside("condition", "message", "hint")
def test_the_values_of_devices_are_shown(condition: str, message: str, hint: str) -> None:
    rest = "version: {version: 1.2.3-rc.1+b}}, capacity: {memory: {value: 1Gi}}"
    devices = [f"{{name: {model.lower()}, attributes: {{model: {{string: {model}}}, {rest}}}" for model in "AB"]
    (found,) = found_in(device_class(f"device.{condition}") + resource_slice(*devices))
    assert message in found["message"]
    assert found["hint"] == hint


@each_row(
    ("values", "is_found"),
    (("A", "B"), True),
    (("A", "redacted"), False),
    (("<REDACTED>",), False),
    (("xxx", "x"), False),
    (("x", "**"), True),
)
def test_nothing_is_concluded_from_values_that_were_taken_out_of_slices(
    values: tuple[str, ...], *, is_found: bool
) -> None:
    devices = [f"{{name: d{at}, attributes: {{model: {{string: '{value}'}}}}}}" for at, value in enumerate(values)]
    found = found_in(device_class('device.attributes["g.example.com"].model == "C"') + resource_slice(*devices))
    assert [each["rule"] for each in found] == ["selects-nothing"] * is_found


@each_row(
    ("comparison", "hint"),
    ('V >= "1.2.0"', '.compareTo(semver("1.2.0")) >= 0'),
    ('V < "1.2"', '.compareTo(semver("1.2.0")) < 0'),
    ('"1.2.0" <= V', '.compareTo(semver("1.2.0")) >= 0'),
    ('V == "1.2.3"', '.compareTo(semver("1.2.3")) == 0'),
    ('V in ["1.2", "1.3"]', '.compareTo(semver("1.2.0")) == 0'),
    ('V == "newest"', '.compareTo(semver("1.2.3")) == 0'),
)
def test_a_version_is_compared_by_the_operator_that_is_written(comparison: str, hint: str) -> None:
    expression = comparison.replace("V", 'device.attributes["g.example.com"].v')
    manifests = device_class(expression)
    (found,) = found_in(manifests + resource_slice("{name: d, attributes: {v: {version: 1.2.3}}}"))
    assert (found["rule"], found["hint"]) == ("selector-fails", f"v is of type version: compare it as in {hint}")
    hints = [each["hint"] for each in found_in(manifests) if each["rule"] != "driver-not-tested"]
    assert set(hints) <= {f"compare a version as in {hint}, a number without quotes"}


@each_row(
    ("release", "count", "start", "end"),
    ("1.36", 1, "an error on 1 of 1 devices ends scheduling", "no such overload"),
    (
        "1.36",
        2,
        "an error on 1 of 1 devices would end scheduling",
        "; not used, as pool g.example.com/s is incomplete: 1 of 2",
    ),
    ("1.34", 2, "an error on 1 of 1 devices ends scheduling", "no such overload"),
)
def test_devices_that_are_not_used_end_no_scheduling_yet(release: str, count: int, start: str, end: str) -> None:
    published = resource_slice("{name: d, attributes: {v: {string: a}}}").replace("Count: 1", f"Count: {count}")
    manifests = device_class('device.attributes["g.example.com"].v >= 1')
    found = findings("validate", "--kubernetes-version", release, "-", stdin=manifests + published)
    (message,) = (each["message"] for each in found if each["rule"] == "selector-fails")
    assert message.startswith(start)
    assert end in message
    assert ("not used" in message) == ("not used" in end)


def test_only_devices_that_are_used_are_counted_beside_those_that_are_not() -> None:
    whole = resource_slice("{name: d, attributes: {v: {string: a}}}", "{name: e, attributes: {v: {int: 1}}}")
    parted = resource_slice(*(f"{{name: d{at}}}" for at in range(5)))
    parted = parted.replace("Count: 1", "Count: 2").replace("name: s", "name: t")
    (found,) = (
        each
        for each in found_in(device_class('device.attributes["g.example.com"].v >= 1') + parted + whole)
        if each["rule"] == "selector-fails"
    )
    assert found["message"].startswith("an error on 1 of 2 devices ends scheduling for all nodes: ")


@each_row(
    ("release", "why"),
    ("1.34", "requests for all devices fail because of an incomplete pool"),
    ("1.35", "the scheduler uses no device of an incomplete pool"),
)
def test_what_an_incomplete_pool_does_depends_on_the_release(release: str, why: str) -> None:
    published = resource_slice("{name: d}").replace("Count: 1", "Count: 2")
    found = findings("validate", "--kubernetes-version", release, "-", stdin=published)
    (hint,) = (each["hint"] for each in found if each["rule"] == "pool-contradiction")
    assert hint.startswith(f"add the missing slices, or state 1 in each of them: {why}")


def test_a_selector_that_takes_too_much_work_is_not_said_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = list(range(40))
    selector = f"{numbers}.all(x, {numbers}.all(y, {numbers}.all(z, x + y + z >= 0)))"
    monkeypatch.setattr("webhook.check.references._WORK", 10_000)
    assert found_in(device_class(selector)) == []
    assert [each["rule"] for each in found_in(device_class("1 / 0 == 1"))] == ["selector-constant"]


def test_a_selector_whose_type_doubles_again_and_again_ends_its_own_check_only() -> None:
    names = [f"v{number}" for number in range(70)]
    bound = (f"cel.bind({name}, {{{before}: {before}}}, " for before, name in zip(["1", *names], names, strict=False))
    found = found_in(device_class(f"{''.join(bound)}v69 + 1{')' * 70}"))
    assert [each["rule"] for each in found] == ["cel-selector"]


def test_a_rule_has_only_kinds_beside_its_name() -> None:
    assert {kind for each in every_rule().values() for kind in each.kinds if not kind[0].isupper()} == set()


def test_the_work_grows_with_resources_and_versions_of_a_webhook_and_not_with_their_product() -> None:
    names, versions = ["resourceclaims"] * 20_000, [f"v1beta{each}" for each in range(20_000)]
    rule = {"apiGroups": ["resource.k8s.io"], "apiVersions": versions, "operations": ["*"], "resources": names}
    webhook = {"name": "a.example.com", "clientConfig": {"url": "https://a"}, "rules": [rule]}
    webhook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
    configuration: dict[str, Any] = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "x"}}
    configuration["kind"] = "ValidatingWebhookConfiguration"
    before = process_time()
    found = found_in(json.dumps({**configuration, "webhooks": [webhook]}))
    assert [each["message"] for each in found] == [
        "the API server does not call the webhook for resourceclaims in v1, which it serves"
    ]
    assert process_time() - before < 5


def bindings(kind: str, count: int) -> str:
    """Return roles or accounts, and a binding to a misspelt name of each."""
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    rule = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]}
    of_kind = {**rbac, "rules": [rule]} if kind == "ClusterRole" else {"apiVersion": "v1"}
    space = {} if kind == "ClusterRole" else {"namespace": "default"}
    names = [{**space, "name": f"driver-{each:05}"} for each in range(count)]
    known: list[Any] = [{**of_kind, "kind": kind, "metadata": each} for each in names]
    known.append({**rbac, "kind": "ClusterRole", "metadata": {"name": "of-driver"}, "rules": [rule]})
    for each in range(count):
        role = {"kind": "ClusterRole", "name": f"drivre-{each:05}" if kind == "ClusterRole" else "of-driver"}
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": f"drivre-{each:05}"}
        binding = {"kind": "ClusterRoleBinding", "metadata": {"name": f"b-{each}"}, "roleRef": role}
        known.append({**rbac, **binding, "subjects": [subject] if kind == "ServiceAccount" else []})
    return "\n---\n".join(map(json.dumps, known))


@pytest.mark.parametrize(("kind", "most"), [("ClusterRole", 11), ("ServiceAccount", 8)])
def test_misspelt_names_in_bindings_are_looked_up_until_many_names_are_read(
    kind: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(found_in(bindings(kind, 4))) == 4
    monkeypatch.setattr("webhook.references.rules._MOST_NAMES", most)
    assert len(found_in(bindings(kind, 4))) == 2


@pytest.mark.no_cover
def test_many_roles_are_read_once_for_all_bindings() -> None:
    before = process_time()
    found_in(bindings("ClusterRole", 1_000))
    assert process_time() - before < 2.5
