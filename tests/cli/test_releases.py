"""The release, feature gates and versions by which a manifest is judged."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.manifests import CLAIM, CLAIM_V1, CONFIG_MAP, NEW_POD, OLD_POD, Write, levels, rules
from tests.command import ROOT, draguard, findings, reported, usage_error
from tests.rows import each_row
from webhook import check_files, validate
from webhook.api.runtimeconfig import is_served
from webhook.api.versions import DEFAULT
from webhook.release import Release
from webhook.sources import RenderOptions

OTHER_V1 = CLAIM_V1.replace("name: claim", "name: other")
NAMED_RESOURCES = "[{namedResources: {selector: 'attributes.bool[\"b\"]'}}]"
PARAMETERS = f"kind: ResourceClaimParameters, driverRequests: [{{driverName: a.io, requests: {NAMED_RESOURCES}}}]"
CONVERT = "draguard convert --write converts it"


@each_row("command", ["why", "a"], ["simulate"], ["match", "-e", "true"], ["ui"], ["scan"], ["devices"])
def test_a_release_is_checked_before_a_cluster_is_read(command: list[str], tmp_path: Path) -> None:
    done = draguard(*command, "--cluster", tmp_path / "missing.yaml", "--kubernetes-version", "first")
    assert (done.code, done.out) == (2, "")
    assert "--kubernetes-version: 'first' is not a Kubernetes version" in done.err


class TestReleases:
    @each_row(
        ("manifest", "hint"),
        (PARAMETERS, 'write into the claim, as spec.devices: {"requests": [{"name": "request-0", "exactly": '),
        ("kind: ResourceClass, driverName: a.io", f"1.27 to 1.30; {CONVERT} (give it the same --kubernetes-version)"),
    )
    def test_it_says_how_an_object_gets_to_a_version_that_is_served(
        self, manifest: str, hint: str, write: Write
    ) -> None:
        text = f"{{apiVersion: resource.k8s.io/v1alpha2, metadata: {{name: c, namespace: a}}, {manifest}}}"
        (found,) = findings("validate", "--kubernetes-version", "1.34", write(a=text))
        assert found["rule"] == "not-served"
        assert hint in found["hint"]

    @each_row("command", "validate", "simulate", "match")
    def test_each_command_that_refuses_a_manifest_advises_to_convert_it(self, command: str, write: Write) -> None:
        done = draguard(command, "--kubernetes-version", "1.32", write(a=CLAIM_V1))
        assert f"{CONVERT} (give it the same --kubernetes-version)" in done.out + done.err

    @each_row(("kind", "release"), ("DeviceClass", "1.30"), ("DeviceTaintRule", "1.31"))
    def test_it_advises_to_convert_only_what_can_be_converted(self, kind: str, release: str, write: Write) -> None:
        version = "v1alpha3" if kind == "DeviceTaintRule" else "v1"
        folder = write(a=f"{{apiVersion: resource.k8s.io/{version}, kind: {kind}, metadata: {{name: a}}, spec: {{}}}}")
        (found,) = findings("validate", "--kubernetes-version", release, folder)
        assert found["rule"] == "not-served"
        assert "convert" not in found["hint"]
        assert draguard("convert", "--kubernetes-version", release, folder).code == 1

    def test_objects_that_later_releases_refuse_are_reported(self, write: Write) -> None:
        old = "{apiVersion: resource.k8s.io/v1alpha2, kind: ResourceClass, metadata: {name: c}, driverName: a.io}"
        folder = write(one=old, two=old.replace("name: c", "name: d"))
        done = draguard("validate", folder)
        what = "ResourceClass of resource.k8s.io/v1alpha2 (2 objects)"
        said = f"judged as Kubernetes 1.30, the newest that serves it: {what}"
        assert (done.code, done.err) == (0, "")
        assert f"note: {said}; later releases refuse it\n" in done.out
        assert "judged as" not in draguard("validate", "--kubernetes-version", "1.30", folder).out
        assert reported("validate", folder)["remarks"] == [f"{said}; later releases refuse it"]
        (run,) = json.loads(draguard("validate", "-o", "sarif", folder).out)["runs"]
        assert said in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
        assert f"::notice::{said}" in draguard("validate", "-o", "github", folder).out

    @each_row(("release", "code"), ("1.29", 0), ("v1.30.2", 0), ("1.31", 1))
    def test_a_stated_release_judges_everything(self, release: str, code: int) -> None:
        assert draguard("validate", "--kubernetes-version", release, "-", stdin=CLAIM.encode()).code == code

    def test_an_unknown_release_is_wrong_use_even_without_documents(self, write: Write) -> None:
        done = draguard("validate", "--kubernetes-version", "1.26", write(a=""))
        assert (done.code, done.out) == (2, "")
        message = "--kubernetes-version: Kubernetes 1.26 is not known here; 1.27 and later are\n"
        assert done.err == f"draguard validate: error: {message}"

    def test_a_pod_follows_the_claims_of_its_file_or_directory(self, write: Write) -> None:
        other = OLD_POD.replace("name: pod", "name: other")
        # Before them and after them, and whatever the other file holds.
        write(a=f"{OLD_POD}---\n{CLAIM}---\n{other}", b=f"{NEW_POD}---\n{CLAIM_V1}")
        folder = write(old__claim=CLAIM, old__pod=OLD_POD, new__claim=CLAIM_V1, new__pod=NEW_POD)
        assert findings("validate", folder) == []

    @each_row("beside", CONFIG_MAP, f"{CLAIM}---\n{OTHER_V1}")
    def test_otherwise_a_pod_is_judged_by_the_newest_release(self, beside: str, write: Write) -> None:
        folder = write(a=f"{beside}---\n{OLD_POD}")
        (found,) = findings("validate", folder)
        assert (found["rule"], found["kubernetes"]) == ("unknown-field", f"1.{DEFAULT}")

    def test_a_stated_release_judges_pods_too(self, write: Write) -> None:
        folder = write(a=f"{CLAIM}---\n{NEW_POD}")
        (found,) = findings("validate", "--kubernetes-version", "1.29", folder)
        assert (found["rule"], found["kubernetes"]) == ("unknown-field", "1.29")

    def test_findings_of_pods_keep_their_place(self, write: Write) -> None:
        other = NEW_POD.replace("name: pod", "name: other")
        folder = write(a=f"{NEW_POD}---\n{CLAIM.replace('gpu', 'G')}---\n{other}")
        assert [rule for rule, _ in rules(folder)] == ["unknown-field", "dns-subdomain", "unknown-field"]


CLUSTER = ("--cluster", ROOT / "examples/simulate/cluster.yaml")
SIMULATED = ("simulate", ROOT / "examples/simulate/deployment.yaml", *CLUSTER)
POLICY = ROOT / "policies/deprecated-api-versions"


class TestSummaries:
    """Each command names the release that judged."""

    @each_row(
        ("command", "text", "keys"),
        (("validate", ROOT / "examples/v1"), "no problems (Kubernetes {})\n", ("summary", "kubernetes", 0)),
        (("policy", "check", POLICY), "no problems (Kubernetes {})\n", ("summary", "kubernetes", 0)),
        (("policy", "test", POLICY), " passed (Kubernetes {}); ", ("summary", "kubernetes", 0)),
        (SIMULATED, "\nsimulated as Kubernetes {}; not simulated: ", (2, "kubernetes")),
        ((*SIMULATED, "--fit"), "\nsimulated as Kubernetes {}; not simulated: ", ("kubernetes",)),
        (("match", "-e", "true", *CLUSTER), "\nmatched as Kubernetes {}\n", (0, "kubernetes")),
    )
    @each_row("stated", "", "1.36")
    def test_in_text_and_json(
        self, command: tuple[str | Path, ...], text: str, keys: tuple[str | int, ...], stated: str
    ) -> None:
        options = ("--kubernetes-version", stated) if stated else ()
        assert text.format(stated or f"1.{DEFAULT}") in draguard(*command, *options).out
        found: Any = json.loads(draguard(*command, *options, "--output", "json").out)
        for key in keys:
            found = found[key]
        assert found == (stated or f"1.{DEFAULT}")

    def test_all_of_several(self) -> None:
        command = ("validate", "--kubernetes-version", "1.36,1.34", ROOT / "examples/v1")
        assert "no problems (Kubernetes 1.34, 1.36)\n" in draguard(*command).out
        assert reported(*command)["summary"]["kubernetes"] == ["1.34", "1.36"]

    def test_suites_of_several(self, write: Write) -> None:
        suite = "cases: [{object: {apiVersion: v1, kind: Pod, metadata: {name: a}}, expect: {allowed: true}}]\n"
        policy = (POLICY / "policy.yaml").read_text("utf-8")
        folder = write(policy=policy, a=f"kubernetes: '1.36'\n{suite}", b=f"kubernetes: '1.34'\n{suite}")
        assert "2 passed (Kubernetes 1.34, 1.36); " in draguard("policy", "test", folder).out


TAINTED = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: tainted}
spec:
  driver: gpu.example.com
  nodeName: node1
  pool: {name: node1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu0, taints: [{key: example.com/broken, effect: NoSchedule, timeAdded: "2026-01-01T00:00:00Z"}]}]
"""


class TestFeatureGates:
    def test_a_field_is_dropped_if_its_gate_is_off_by_default(self) -> None:
        assert levels("--kubernetes-version", "1.35", stdin=TAINTED) == [("warning", "gate-off")]
        assert levels("--kubernetes-version", "1.36", stdin=TAINTED) == []

    @each_row(
        "gates",
        ["DRADeviceTaints=true"],
        ["AllAlpha=true"],
        ["DRADeviceTaints=false,DRADeviceTaints=1"],
        ["DRADeviceTaints=false", " DRADeviceTaints = T ,"],
        ["AllAlpha=false", "DRADeviceTaints=TRUE"],
    )
    def test_a_gate_is_switched_on_as_kube_apiserver_takes_it(self, gates: list[str]) -> None:
        options = [f"--feature-gates={each}" for each in gates]
        assert levels("--kubernetes-version", "1.35", *options, stdin=TAINTED) == []

    @each_row("gates", "DRADeviceTaints=false", "AllBeta=f", "AllBeta=true,DRADeviceTaints=0")
    def test_a_gate_is_switched_off(self, gates: str) -> None:
        options = ["--kubernetes-version", "1.36", "--feature-gates", gates]
        assert levels(*options, stdin=TAINTED) == [("warning", "gate-off")]

    @each_row("command", ["validate"], ["review"], ["serve", "--dev"])
    @each_row(
        ("arguments", "message"),
        (["DRADeviceTaint=true"], "unrecognized feature gate: DRADeviceTaint; did you mean DRADeviceTaints?"),
        (["DRADeviceTaints"], "missing bool value for feature gate DRADeviceTaints: write DRADeviceTaints=true or"),
        (["DRADeviceTaints=on"], "invalid value of DRADeviceTaints: 'on' is neither true nor false"),
        (["DRAAdminAccess=false"], "cannot set feature gate DRAAdminAccess to false, feature is locked to true"),
        (
            ["DRAListTypeAttributes=true", "--kubernetes-version=1.35"],
            "Kubernetes 1.35 has no feature gate DRAListTypeAttributes; added in 1.36",
        ),
        (
            ["DRAControlPlaneController=true", "--kubernetes-version=1.32"],
            "Kubernetes 1.32 has no feature gate DRAControlPlaneController; added in 1.31 and removed in 1.32",
        ),
        (
            ["GangScheduling=true,CompositePodGroup=true", "--kubernetes-version=1.37"],
            "Kubernetes 1.37 has no feature gate GangScheduling; added in 1.35 and removed in 1.37",
        ),
    )
    def test_what_cannot_be_set_is_wrong_use(self, command: list[str], arguments: list[str], message: str) -> None:
        paths = [] if command[0] == "serve" else ["-"]
        said = usage_error(*command, "--feature-gates", *arguments, *paths)
        assert said.startswith(f"draguard {command[0]}: error: --feature-gates: {message}")


BETA, POLICIES = "resource.k8s.io/v1beta1", "admissionregistration.k8s.io"


def manifest(api_version: str, kind: str = "DeviceClass") -> str:
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n"


RULE = manifest("resource.k8s.io/v1alpha3", "DeviceTaintRule") + "spec: {taint: {key: a, effect: NoSchedule}}\n"


def off(text: str, *options: str) -> list[tuple[str, str]]:
    found = findings("validate", "-", *options, stdin=text)
    return [(each["message"], each.get("hint") or "") for each in found if each["rule"] == "version-off"]


@each_row(
    ("api_version", "release", "hint"),
    (BETA, "1.34", "resource.k8s.io/v1 is on by default: draguard convert --write --to v1"),
    (BETA, "1.37", "resource.k8s.io/v1 is on by default: draguard convert --write --to v1"),
    ("resource.k8s.io/v1beta2", "1.36", "resource.k8s.io/v1 is on by default: draguard convert --write --to v1"),
    ("resource.k8s.io/v1", "1.34", None),
    (BETA, "1.33", None),  # a cluster of 1.33 with DRA has its versions turned on by a flag
    ("resource.k8s.io/v1alpha3", "1.31", None),
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
    (f"{POLICIES}/v1beta1", "MutatingAdmissionPolicy", "1.35", ""),
    (f"{POLICIES}/v1beta1", "MutatingAdmissionPolicy", "1.36", f"{POLICIES}/v1 is on by default"),
    ("networking.k8s.io/v1beta1", "IPAddress", "1.32", ""),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", "1.30", None),
    ("acme.io/v1beta1", "Widget", "1.36", None),
)
def test_so_are_those_of_other_kinds(api_version: str, kind: str, release: str, hint: str | None) -> None:
    found = off(manifest(api_version, kind), "--kubernetes-version", release)
    assert [each[1] for each in found] == ([] if hint is None else [hint])


@each_row(
    ("stated", "is_on"),
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
)
def test_the_flag_is_read_as_kube_apiserver_reads_it(stated: str, is_on: bool) -> None:
    assert (off(manifest(BETA), "--kubernetes-version", "1.34", "--runtime-config", stated) == []) == is_on


def test_the_flag_can_switch_off_a_stable_version_and_those_of_older_releases() -> None:
    hint = f"{BETA} is served: draguard convert --write --to v1beta1"
    stable, without = manifest("resource.k8s.io/v1"), f"--runtime-config={BETA},resource.k8s.io/v1=0"
    found = off(stable, "--kubernetes-version", "1.34", without)
    assert found == [("the cluster does not serve resource.k8s.io/v1", hint)]
    older = off(manifest("resource.k8s.io/v1beta2"), "--kubernetes-version", "1.33", "--runtime-config", BETA)
    assert [each[1] for each in older] == [hint]


@each_row(
    ("stated", "message"),
    ("api/beta=yes", "invalid value api/beta=yes: write api/beta=true or api/beta=false"),
    (f"{BETA}=on", f"invalid value of {BETA}: 'on' is neither true nor false"),
    ("v1beta1=true", "invalid key 'v1beta1': write GROUP/VERSION, such as resource.k8s.io/v1beta1, or api/beta"),
    ("api/stable=true", "invalid key 'api/stable'"),
    ("resource.k8s.oi/v1beta1=true", "unknown API group resource.k8s.oi"),
    (
        "resource.k8s.io/v1beta=true",
        "group version resource.k8s.io/v1beta is unknown; resource.k8s.io has v1, v1beta2, v1beta1",
    ),
)
def test_what_kube_apiserver_refuses_is_wrong_use(stated: str, message: str) -> None:
    said = usage_error("validate", "-", "--runtime-config", stated, stdin=manifest(BETA).encode())
    assert said.startswith(f"draguard validate: error: --runtime-config: {message}")


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
        path = tmp_path / "cluster.yaml"
        service = manifest("apiregistration.k8s.io/v1", "APIService")
        path.write_text("---\n".join(service.replace("name: a", f"name: {each}") for each in names))
        return path

    old, new = (f"{manifest(f'resource.k8s.io/{each}')}" for each in ("v1beta1", "v1"))
    options = ("--kubernetes-version", "1.34", "--cluster")
    assert off(old, *options, str(given("v1.", "v1.apps", "v1beta1.resource.k8s.io"))) == []
    assert len(off(new, *options, str(given("v1.", "v1.apps", "v1beta1.resource.k8s.io")))) == 1
    assert len(off(old, *options, str(given("v1.", "v1.resource.k8s.io")))) == 1
    assert len(off(old, *options, str(given("v1beta1.resource.k8s.io")))) == 1  # not all are listed
    assert off(old, *options, str(given("v1.")), "--runtime-config", BETA) == []
