"""Objects that the API server refuses are not simulated: manifests, and claims created for pods."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import draguard
from tests.rows import each_row
from tests.simulation.clusters import claim, device_class, devices, node, pod, template
from webhook import simulate

Json = dict[str, Any]

ADMIN = "resource.kubernetes.io/admin-access"
OLDER = "resource.k8s.io/admin-access"
NEEDS_LABEL = f"admin access to devices requires the `{ADMIN}: true` label on the containing namespace"


def namespace(**labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}


def file(path: Path, *objects: Json) -> Path:
    versions = {"Node": "v1", "Pod": "v1", "Namespace": "v1"}
    path.write_text(
        yaml.safe_dump_all({"apiVersion": versions.get(each["kind"], "resource.k8s.io/v1"), **each} for each in objects)
    )
    return path


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return file(tmp_path / "cluster.yaml", device_class(), devices("a"), node("a"))


@pytest.mark.parametrize("command", ["simulate", "match"])
def test_a_manifest_with_a_misspelt_field(command: str, cluster: Path, tmp_path: Path) -> None:
    manifests = file(tmp_path / "manifests.yaml", claim(cuont=2), pod(claims={"gpu": "c"}))
    done = draguard(command, manifests, "--cluster", cluster)
    assert done.code == 1
    assert done.out == ""
    assert "error unknown-field: spec.devices.requests[0].exactly.cuont: strict decoding error: unknown" in done.err
    assert 'help: did you mean "count"?' in done.err


@pytest.mark.parametrize("command", ["simulate", "match"])
def test_errors_in_a_manifest_that_cannot_be_decoded_have_hints(command: str, cluster: Path, tmp_path: Path) -> None:
    manifests = file(tmp_path / "manifests.yaml", claim(count="two", deviceClassName="Gpu_X"))
    assert 'help: did you mean "gpu-x"?' in draguard(command, manifests, "--cluster", cluster).err


@pytest.mark.parametrize("command", ["simulate", "match"])
def test_an_error_in_a_selector_is_shown_at_its_character(command: str, cluster: Path, tmp_path: Path) -> None:
    selectors = [{"cel": {"expression": "device.driver == 7"}}]
    manifests = file(tmp_path / "manifests.yaml", claim(selectors=selectors), pod(claims={"gpu": "c"}))
    done = draguard(command, manifests, "--cluster", cluster)
    assert "cel.expression: found no matching overload for '_==_' applied to '(string, int)'" in done.err
    assert "help: both sides must have one type, and are string and int" in done.err


@pytest.mark.parametrize("command", ["simulate", "match"])
def test_what_is_in_the_cluster_was_taken_once(command: str, cluster: Path, tmp_path: Path) -> None:
    stored = file(tmp_path / "stored.yaml", claim(cuont=2))
    manifests = file(tmp_path / "manifests.yaml", template(), pod(claims={"gpu": "c"}))
    done = draguard(command, manifests, "--cluster", cluster, "--cluster", stored)
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("command", ["simulate", "match"])
@pytest.mark.parametrize("is_in_cluster", [True, False])
def test_the_namespace_must_be_labelled_for_admin_access(
    command: str, cluster: Path, tmp_path: Path, *, is_in_cluster: bool
) -> None:
    wanted = [template(adminAccess=True), pod(claims={"gpu": "t"})]
    for labels, code in (({}, 1), ({ADMIN: "false"}, 1), ({ADMIN: "true"}, 0)):
        around = file(tmp_path / "namespace.yaml", namespace(**labels))
        manifests = file(tmp_path / "manifests.yaml", *wanted)
        options = ("--cluster", around) if is_in_cluster else (around,)
        done = draguard(command, manifests, "--cluster", cluster, *options)
        assert (done.code, NEEDS_LABEL in done.err) == (code, code == 1)
    assert draguard(command, file(tmp_path / "manifests.yaml", *wanted), "--cluster", cluster).code == 0


def test_validate_knows_the_namespaces_of_the_cluster(tmp_path: Path) -> None:
    manifests = file(tmp_path / "manifests.yaml", template(adminAccess=True))
    for labels, code in (({}, 1), ({ADMIN: "true"}, 0)):
        done = draguard("validate", manifests, "--cluster", file(tmp_path / "cluster.yaml", namespace(**labels)))
        assert (done.code, NEEDS_LABEL in done.out) == (code, code == 1)
        assert "is not known" not in done.out
    file(tmp_path / "manifests.yaml", template(adminAccess=True), namespace())
    assert draguard("validate", manifests, "--cluster", tmp_path / "cluster.yaml").code == 1


@each_row(
    ("labels", "release", "said"),
    [
        ({}, "1.36", NEEDS_LABEL),
        ({"team": "a"}, "1.36", NEEDS_LABEL),
        ({ADMIN: "true"}, "1.36", None),
        ({ADMIN: "True"}, "1.36", f"{NEEDS_LABEL} (it has {ADMIN}: True)"),
        ({"resource.kubernetes.io/admin-acces": "true"}, "1.36", f"{NEEDS_LABEL} (it has {ADMIN[:-1]}: true)"),
        ({OLDER: "true"}, "1.36", f"{NEEDS_LABEL} (it has {OLDER}: true)"),
        ({OLDER: "true"}, "1.33", None),
        ({}, "1.32", None),
    ],
)
def test_a_claim_of_a_stored_template_is_not_made(labels: dict[str, str], release: str, said: str | None) -> None:
    objects = [device_class(), devices("a"), node("a"), template(adminAccess=True), namespace(**labels)]
    gates = {"DRAAdminAccess": True}
    (answer,) = simulate(objects, [pod(claims={"gpu": "t"})], kubernetes=release, feature_gates=gates)
    assert (answer["node"] == "a") == (said is None)
    path = "spec.devices.requests[0].adminAccess"
    refused = [f"the API server refuses its claim default/p-gpu-XXXXX: {path}: Forbidden: {said}"]
    assert answer["why"]["notes"] == (refused if said else [])
    if said:
        assert answer["why"]["reason"] == 'pod "default/p": ResourceClaim not created yet'


@each_row(("release", "label"), [("1.36", ADMIN), ("1.33", OLDER), ("1.32", "")])
def test_an_unknown_namespace_counts_as_labelled(release: str, label: str) -> None:
    objects = [device_class(), devices("a"), node("a"), template(adminAccess=True)]
    gates = {"DRAAdminAccess": True}
    (answer,) = simulate(objects, [pod(claims={"gpu": "t"})], kubernetes=release, feature_gates=gates)
    said = f"Namespace default is not known: it counts as labelled {label}: true, which admin access needs"
    assert (answer["node"], answer["why"]["notes"]) == ("a", [said] if label else [])


def test_a_claim_that_a_quota_refuses_is_not_said_to_be_missing_too(tmp_path: Path) -> None:
    hard = {"count/resourceclaims.resource.k8s.io": "0"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    quota |= {"spec": {"hard": hard}, "status": {"hard": hard, "used": hard}}
    given = file(tmp_path / "cluster.yaml", device_class(), devices("a"), node("a"), quota)
    manifests = file(tmp_path / "manifests.yaml", claim(), pod(claims={"gpu": "c"}))
    notes = [each for each in draguard("simulate", manifests, "--cluster", given).out.splitlines() if "note:" in each]
    assert len(notes) == 1
    assert "note: the API server refuses its claim default/c: exceeded quota: q" in notes[0]
