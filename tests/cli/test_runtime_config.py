"""Which API versions a cluster serves: by default, and with ``--runtime-config``."""

from pathlib import Path

import pytest

from tests.command import draguard, findings
from tests.rows import each_row
from webhook import check_files, validate
from webhook.api.runtimeconfig import is_served
from webhook.release import Release
from webhook.sources import RenderOptions

BETA = "resource.k8s.io/v1beta1"


def manifest(api_version: str, kind: str = "DeviceClass") -> str:
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n"


RULE = manifest("resource.k8s.io/v1alpha3", "DeviceTaintRule") + "spec: {taint: {key: a, effect: NoSchedule}}\n"


def off(text: str, *options: str) -> list[tuple[str, str]]:
    found = findings("validate", "-", *options, stdin=text)
    return [(each["message"], each.get("hint") or "") for each in found if each["rule"] == "version-off"]


@each_row(
    ("api_version", "release", "hint"),
    [
        (BETA, "1.34", "resource.k8s.io/v1 is on by default: draguard convert --write --to v1"),
        (BETA, "1.37", "resource.k8s.io/v1 is on by default: draguard convert --write --to v1"),
        ("resource.k8s.io/v1beta2", "1.36", "resource.k8s.io/v1 is on by default: draguard convert --write --to v1"),
        ("resource.k8s.io/v1", "1.34", None),
        (BETA, "1.33", None),  # a cluster of 1.33 with DRA has its versions turned on by a flag
        ("resource.k8s.io/v1alpha3", "1.31", None),
    ],
)
def test_a_version_that_is_off_by_default_is_a_warning(api_version: str, release: str, hint: str | None) -> None:
    found = off(manifest(api_version), "--kubernetes-version", release)
    flag = f"--runtime-config={api_version}=true"
    assert found == ([] if hint is None else [(f"{api_version} is served only with {flag}", hint)])
    switched_on = flag.replace("=", " ", 1).split()
    assert off(manifest(api_version), "--kubernetes-version", release, *switched_on) == []


def test_without_a_release_it_is_the_newest_that_has_the_version() -> None:
    assert len(off(manifest(BETA))) == 1
    assert off(manifest("resource.k8s.io/v1alpha2", "ResourceClass") + "driverName: a.example.com\n") == []


def test_a_gate_does_not_switch_on_a_version() -> None:
    gates = "--feature-gates", "DRADeviceTaints=true,DRADeviceTaintRules=true"
    assert off(RULE, "--kubernetes-version", "1.36", *gates) == [
        ("resource.k8s.io/v1alpha3 is served only with --runtime-config=resource.k8s.io/v1alpha3=true", "")
    ]
    assert off(RULE, "--kubernetes-version", "1.37")[0][1].startswith("resource.k8s.io/v1 is on by default")


@each_row(
    ("api_version", "kind", "release", "hint"),
    [
        ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", "1.35", ""),
        (
            "admissionregistration.k8s.io/v1beta1",
            "MutatingAdmissionPolicy",
            "1.36",
            "admissionregistration.k8s.io/v1 is on by default",
        ),
        ("networking.k8s.io/v1beta1", "IPAddress", "1.32", ""),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "1.30", None),
        ("acme.io/v1beta1", "Widget", "1.36", None),
    ],
)
def test_so_are_those_of_other_kinds(api_version: str, kind: str, release: str, hint: str | None) -> None:
    found = off(manifest(api_version, kind), "--kubernetes-version", release)
    assert [each[1] for each in found] == ([] if hint is None else [hint])


@each_row(
    ("stated", "is_on"),
    [
        ("api/all=true", True),
        ("api/beta=true", True),
        ("api/alpha=true", False),
        ("api/all=true,api/beta=false", False),
        (f"api/beta=true,{BETA}=false", False),
        (f"api/all=false,{BETA}", True),
        (f"{BETA}=1,", True),
        (f"{BETA}=false,{BETA}=T", True),
        (f"{BETA}/deviceclasses=true", True),
        (f"{BETA}=true,{BETA}/deviceclasses=false", False),
        ("resource.k8s.io/v1beta2=true", False),
    ],
)
def test_the_flag_is_read_as_kube_apiserver_reads_it(stated: str, is_on: bool) -> None:
    assert (off(manifest(BETA), "--kubernetes-version", "1.34", "--runtime-config", stated) == []) == is_on


def test_the_flag_can_switch_off_a_stable_version_and_those_of_older_releases() -> None:
    ((message, hint),) = off(
        manifest("resource.k8s.io/v1"), "--kubernetes-version", "1.34", f"--runtime-config={BETA},resource.k8s.io/v1=0"
    )
    assert message == "the cluster does not serve resource.k8s.io/v1"
    assert hint == f"{BETA} is served: draguard convert --write --to v1beta1"
    older = off(manifest("resource.k8s.io/v1beta2"), "--kubernetes-version", "1.33", "--runtime-config", BETA)
    assert [each[1] for each in older] == [f"{BETA} is served: draguard convert --write --to v1beta1"]


@each_row(
    ("stated", "message"),
    [
        ("api/beta=yes", "invalid value api/beta=yes: write api/beta=true or api/beta=false"),
        (f"{BETA}=on", f"invalid value of {BETA}: 'on' is neither true nor false"),
        ("v1beta1=true", "invalid key 'v1beta1': write GROUP/VERSION, such as resource.k8s.io/v1beta1, or api/beta"),
        ("api/stable=true", "invalid key 'api/stable'"),
        ("resource.k8s.oi/v1beta1=true", "unknown API group resource.k8s.oi"),
        (
            "resource.k8s.io/v1beta=true",
            "group version resource.k8s.io/v1beta is unknown; resource.k8s.io has v1, v1beta2, v1beta1",
        ),
    ],
)
def test_what_kube_apiserver_refuses_is_wrong_use(stated: str, message: str) -> None:
    done = draguard("validate", "-", "--runtime-config", stated, stdin=manifest(BETA).encode())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"draguard validate: error: --runtime-config: {message}")


def test_variables_and_the_configuration_file_take_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text(manifest(BETA))
    (tmp_path / ".draguard.yaml").write_text(f'kubernetesVersions: ["1.34"]\nruntimeConfig: {{{BETA}: true}}\n')
    assert findings("validate", tmp_path) == []
    assert [each["rule"] for each in findings("validate", tmp_path, "--runtime-config", f"{BETA}=0")] == ["version-off"]
    shown = draguard("config", "show", tmp_path).out
    assert f'runtimeConfig: {{"{BETA}": true}}' in shown
    (tmp_path / ".draguard.yaml").unlink()
    monkeypatch.setenv("DRAGUARD_RUNTIME_CONFIG", "api/beta=true")
    assert findings("validate", tmp_path, "--kubernetes-version", "1.34") == []


def test_the_library_takes_it(tmp_path: Path) -> None:
    obj = {"apiVersion": BETA, "kind": "DeviceClass", "metadata": {"name": "a"}}
    assert [each.rule for each in validate(obj, kubernetes="1.34")] == ["version-off"]
    assert validate(obj, kubernetes="1.34", runtime_config={BETA: True}) == []
    (tmp_path / "a.yaml").write_text(manifest(BETA))
    assert [each.problem.rule for each in check_files(tmp_path, kubernetes="1.34")] == ["version-off"]
    assert check_files(tmp_path, kubernetes="1.34", runtime_config={"api/all": True}) == []


def test_the_templates_of_charts_see_what_is_served() -> None:
    def served(release: int, **stated: bool) -> list[str]:
        config = {f"resource.k8s.io/{version}": on for version, on in stated.items()} or None
        versions = RenderOptions(release=Release(release), runtime_config=config).api_versions
        return [each for each in versions if each.startswith("resource.k8s.io/") and each.count("/") == 1]

    assert served(34) == ["resource.k8s.io/v1"]
    assert served(36, v1beta2=True, v1=False) == ["resource.k8s.io/v1beta2"]
    assert served(33) == [f"resource.k8s.io/{each}" for each in ("v1beta2", "v1beta1", "v1alpha3")]
    assert served(33, v1beta1=True) == [BETA]


def test_the_core_group_is_that_of_the_flag() -> None:
    assert is_served("v1", release=Release(36))
    assert not is_served("v1", release=Release(36), stated={"api/v1": False})


def test_a_cluster_tells_what_it_serves(tmp_path: Path) -> None:
    def given(*names: str) -> Path:
        items = [
            f"{{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {{name: {each}}}}}" for each in names
        ]
        path = tmp_path / "cluster.yaml"
        path.write_text("\n---\n".join(items))
        return path

    old, new = (f"{manifest(f'resource.k8s.io/{each}')}" for each in ("v1beta1", "v1"))
    options = ("--kubernetes-version", "1.34", "--cluster")
    assert off(old, *options, str(given("v1.", "v1.apps", "v1beta1.resource.k8s.io"))) == []
    assert len(off(new, *options, str(given("v1.", "v1.apps", "v1beta1.resource.k8s.io")))) == 1
    assert len(off(old, *options, str(given("v1.", "v1.resource.k8s.io")))) == 1
    assert len(off(old, *options, str(given("v1beta1.resource.k8s.io")))) == 1  # not all are listed
    assert off(old, *options, str(given("v1.")), "--runtime-config", BETA) == []
