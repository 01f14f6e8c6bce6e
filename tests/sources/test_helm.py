"""Charts as input: rendered by Helm's library, and by a program that stands in for ``helm``."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.command import ROOT, draguard, reported, usage_error
from tests.policy.examples import policy
from tests.rows import each_row
from tests.sources.programs import BAD, CLAIM, chart, program
from webhook.documents.dump import dump
from webhook.sources import running
from webhook.sources.rendering import as_served

pytestmark = pytest.mark.tools

TEMPLATED = BAD.replace("NAME", "{{ .Values.name }}").replace("team-a", "{{ .Release.Namespace }}")


@pytest.fixture(autouse=True)
def path(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave no program on the PATH, and return the directory that it names."""
    directory = tmp_path_factory.mktemp("bin")
    monkeypatch.setenv("PATH", str(directory))
    return directory


def findings(*arguments: str | Path, code: int = 1) -> list[Any]:
    done = draguard("validate", "-o", "json", *arguments)
    assert (done.code, done.err) == (code, "")
    return list(json.loads(done.out)["findings"])


class TestLibrary:
    def test_a_finding_names_the_template_and_the_object(self, tmp_path: Path) -> None:
        directory = chart(tmp_path / "c", claim=TEMPLATED)
        (found,) = findings(directory, "--namespace", "ops")
        assert found["file"] == f"{directory}/templates/claim.yaml"
        assert (found["kind"], found["namespace"], found["name"]) == ("ResourceClaim", "ops", "gpu")
        assert found["rendered"] is True
        assert "object: ResourceClaim default/gpu\n12 | " in draguard("validate", directory).out
        assert draguard("validate", "-o", "concise", f"{directory}/").out.endswith("[ResourceClaim default/gpu]\n")

    def test_an_earlier_state_is_rendered_with_its_own_values(self, tmp_path: Path) -> None:
        claim = TEMPLATED.replace("Mod: All", "Mode: {{ .Values.mode }}").replace("gpu.", "{{ .Values.name }}.")
        old, new = (chart(tmp_path / name, claim=claim) for name in ("old", "new"))
        for directory, mode in ((old, "All"), (new, "ExactCount")):
            (directory / "values.yaml").write_text(f"name: gpu\nmode: {mode}\n", encoding="utf-8")
        (line, *_) = draguard("validate", "--old", f"{old}/", new).out.splitlines()
        assert line.startswith(f"{new}/templates/claim.yaml:6:1: error immutable: spec: field is immutable; ")
        assert 'allocationMode: "All" → "ExactCount"' in line

    def test_below_a_directory_an_earlier_chart_is_not_rendered(self, tmp_path: Path) -> None:
        chart(tmp_path / "old" / "c", claim=TEMPLATED)
        new = tmp_path / "new.yaml"
        new.write_text(CLAIM.replace("NAME", "gpu"), encoding="utf-8")
        done = draguard("validate", "--old", tmp_path / "old", new)
        assert (done.code, done.err) == (0, "--old: not read: 1 Helm template (name its chart to render it)\n")

    def test_policies_in_charts_are_checked(self, tmp_path: Path) -> None:
        made = policy("{{ .Release.Namespace }}-{{ .Values.name }}", validations=[{"expression": "1 > 2"}])
        directory = chart(tmp_path / "c", policy=dump([made]))
        rendered = [str(directory), "--helm-set", "name=few", "-n", "ops"]
        done = draguard("policy", "check", *rendered)
        assert f"{directory}/templates/policy.yaml" in done.out
        assert "metadata.name: no binding names this policy" in done.out
        assert "[ValidatingAdmissionPolicy ops-few]" in draguard("policy", "check", "-o", "concise", *rendered).out

    def test_values_are_those_of_files_and_then_single_ones(self, tmp_path: Path) -> None:
        many = f"{{{{ if gt .Values.gpu.count 2.0 }}}}{TEMPLATED}{{{{ end }}}}"
        directory, values = chart(tmp_path / "c", claim=TEMPLATED, many=many), tmp_path / "values.yaml"
        values.write_text("name: from-file\ngpu: {count: 3}\n", encoding="utf-8")
        assert {each["name"] for each in findings(directory, "--helm-values", values)} == {"from-file"}
        found = findings(directory, "--helm-values", values, "--helm-set", "name=x,gpu.enabled=false")
        assert [each["name"] for each in found] == ["x", "x"]

    def test_templates_see_the_release_and_what_it_serves(self, tmp_path: Path) -> None:
        served = '$.Capabilities.APIVersions.Has "resource.k8s.io/'
        chosen = f'{{{{ if {served}v1" }}}}v1{{{{ else if {served}v1beta2/DeviceClass" }}}}v1beta2{{{{ else }}}}v1beta1'
        name = "name: Bad-{{ .Capabilities.KubeVersion.Minor }}"
        claim = f"apiVersion: resource.k8s.io/{chosen}{{{{ end }}}}\nkind: DeviceClass\nmetadata: {{{name}}}\n"
        found = findings(chart(tmp_path / "c", claim=claim), "--kubernetes-version", "1.37,1.33,1.32,1.34")
        versions = ("v1beta1", "v1beta2", "v1", "v1")
        assert [each["apiVersion"] for each in found] == [f"resource.k8s.io/{each}" for each in versions]
        assert [each["name"] for each in found] == ["Bad-32", "Bad-33", "Bad-34", "Bad-37"]

    def test_a_link_in_the_chart_is_not_written_through(self, tmp_path: Path) -> None:
        asks = '{{ if .Capabilities.APIVersions.Has "resource.k8s.io/v1" }}x{{ end }}'
        directory = chart(tmp_path / "c", claim=BAD.replace("NAME", f"x{asks}"))
        file = directory / "templates" / "claim.yaml"
        before = file.read_text(encoding="utf-8")
        (directory / "templates" / "link.yaml").symlink_to(file.absolute())
        assert findings(directory, "--kubernetes-version", "1.32")
        assert file.read_text(encoding="utf-8") == before

    def test_notes_and_empty_templates_are_passed_over_but_not_charts_that_render_nothing(self, tmp_path: Path) -> None:
        directory = chart(tmp_path / "c", claim=CLAIM.replace("NAME", "x"), none="{{ if false }}x{{ end }}")
        assert draguard("validate", directory).out.endswith("1 document in 1 file: no problems (Kubernetes 1.37)\n")
        (directory / "templates/claim.yaml").unlink()
        (found,) = findings(directory)
        assert found["message"] == "nothing is rendered"
        assert draguard("validate", "--allow-empty", directory).code == 0

    def test_links_must_stay_in_the_chart(self, tmp_path: Path) -> None:
        directory = chart(tmp_path / "c", claim=CLAIM.replace("NAME", "x"))
        (directory / "templates/other.yaml").symlink_to("claim.yaml")
        assert draguard("validate", directory).code == 0
        (tmp_path / "secret").write_text("password: 1", encoding="utf-8")
        (directory / "templates/secret.yaml").symlink_to(tmp_path / "secret")
        (found,) = findings(directory, code=2)
        assert found["file"] == f"{directory}/templates/secret.yaml"
        assert found["message"] == "a symbolic link that leads out of the chart"

    @each_row(
        ("name", "message", "advice"),
        ('{{ required "give a class" .Values.class }}', "give a class", "--helm-values"),
        ("{{ if }}", "if", ""),
    )
    def test_an_error_of_a_template_is_reported_at_its_line_with_advice_on_values_that_fix_it(
        self, name: str, message: str, advice: str, tmp_path: Path
    ) -> None:
        directory = chart(tmp_path / "c", claim=f"kind: x\nname: {name}\n")
        (found,) = findings(directory)
        assert (found["file"], found["line"]) == (f"{directory}/templates/claim.yaml", 2)
        assert message in found["message"]
        assert advice in found["hint"]
        assert bool(found["hint"]) == bool(advice)

    def test_values_that_the_schema_refuses_are_reported(self, tmp_path: Path) -> None:
        directory = chart(tmp_path / "c", claim=TEMPLATED)
        schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}
        (directory / "values.schema.json").write_text(json.dumps(schema), encoding="utf-8")
        (found,) = findings(directory, "--helm-set", "name=long")
        assert found["file"] == f"{directory}/Chart.yaml"
        assert "name" in found["message"]

    def test_below_another_path_it_is_rendered_if_it_is_about_devices(self, tmp_path: Path) -> None:
        chart(tmp_path / "c", claim=TEMPLATED)
        other = chart(tmp_path / "d", map="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
        assert [each["file"] for each in findings(tmp_path)] == [f"{tmp_path}/c/templates/claim.yaml"]
        assert "not read: 1 Helm template (" in draguard("validate", tmp_path).out
        assert "not read: 2 Helm templates (" in draguard("validate", "--fix", tmp_path).out
        assert "not read" not in draguard("validate", "--all-pods", tmp_path).out
        assert other.exists()

    @each_row("paths", ["c", "./c"], ["c/"], ["c", "c/"], [".", "c"], ["c", "."])
    def test_it_may_be_named_twice(self, paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        chart(tmp_path / "c", claim=TEMPLATED)
        monkeypatch.chdir(tmp_path)
        assert {each["name"] for each in findings(*paths)} == {"gpu"}

    def test_below_another_path_it_is_rendered_for_its_own_namespace_if_it_refuses_default(
        self, tmp_path: Path
    ) -> None:
        guard = '{{ if eq .Release.Namespace "default" }}{{ fail "not in default" }}{{ end }}'
        chart(tmp_path / "dra-driver", claim=TEMPLATED, guard=guard)
        (found,) = findings(tmp_path)
        assert (found["file"], found["namespace"]) == (f"{tmp_path}/dra-driver/templates/claim.yaml", "dra-driver")

    def test_its_subcharts_and_values_belong_to_it_and_files_beside_are_read(self, tmp_path: Path) -> None:
        top = chart(tmp_path / "c", claim=TEMPLATED)
        chart(top / "charts" / "sub", claim=BAD.replace("NAME", "sub"))
        (top / "values-prod.yaml").write_text(BAD, encoding="utf-8")
        (top / "crds").mkdir()
        (top / "crds" / "beside.yaml").write_text(BAD.replace("NAME", "beside"), encoding="utf-8")
        names = ["beside", "gpu", "sub"]
        for path in (tmp_path, top):
            report = reported("validate", path)
            assert sorted(each["name"] for each in report["findings"]) == names
            assert report["summary"]["notRead"] == []
        (top / "node_modules").mkdir()
        assert "not read: 1 vendored" in draguard("validate", "--kubernetes-version", "1.35,1.36", top).out

    def test_one_that_cannot_be_rendered_below_another_path_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = TEMPLATED + '{{ required "a name is needed" .Values.missing }}'
        for number in range(2):
            chart(tmp_path / f"c{number}", claim=broken)
        done = draguard("validate", tmp_path)
        assert done.code == 0
        assert f"note: not rendered: {tmp_path}/c0, {tmp_path}/c1: " in done.out
        assert "a name is needed" in done.out
        monkeypatch.setattr("webhook.sources.rendering.find_spec", lambda _: None)
        for number in range(2, 9):
            chart(tmp_path / f"c{number}", claim=broken)
        done = draguard("validate", tmp_path)
        assert f"{tmp_path}/c7, and 1 more: a Helm chart, and Helm is not installed" in done.out
        assert "not read: 9 Helm templates" in done.out

    def test_the_current_directory_is_rendered_named_or_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(chart(tmp_path / "c", claim=TEMPLATED))
        assert findings() == findings(".")
        assert [each["file"] for each in findings()] == ["templates/claim.yaml"]
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.yaml").write_text(BAD.replace("NAME", "x"), encoding="utf-8")
        assert {each["file"] for each in findings(".")} == {"a.yaml", "c/templates/claim.yaml"}


CROWD = """\
import subprocess, time
time.sleep(0.5)
subprocess.run([sys.executable, '-c', 'x = bytearray(1 << 30)'], check=True)
"""
"""Its children are limited, too; the limit is in force once it has read the chart."""


class TestProgram:
    HELM = """\
import json, os
open(os.path.dirname(sys.argv[0]) + "/call.json", "w").write(json.dumps([sys.argv[1:], dict(os.environ)]))
print('''---
# Source: driver/templates/claims.yaml
{}---
# Source: driver/templates/other.yaml
kind: ConfigMap
---
# Source: driver/templates/claims.yaml
{}''')
""".format(BAD.replace("NAME", "x"), BAD.replace("NAME", "other"))

    def test_helm_comes_first(self, tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program(path, "helm", self.HELM)
        monkeypatch.setenv("HELM_PLUGINS", "/evil")
        directory = chart(tmp_path / "c")
        values = tmp_path / "values.yaml"
        values.touch()
        options = ["--helm-set", "a=b", "--namespace", "ops", "--kubernetes-version", "1.34"]
        found = findings(directory, "--helm-values", values, *options)
        file = f"{directory}/templates/claims.yaml"
        assert [(each["file"], each["line"]) for each in found] == [(file, 12), (file, 25)]
        arguments, environment = json.loads((path / "call.json").read_text(encoding="utf-8"))
        assert arguments[:3] == ["template", "release-name", str(directory)]
        assert arguments[3:7] == ["--namespace", "ops", "--kube-version", "1.34.0"]
        assert "--api-versions=resource.k8s.io/v1" in arguments
        assert arguments[-2:] == [f"--values={values}", "--set=a=b"]
        assert environment["HELM_PLUGINS"] == environment["KUBECONFIG"] == "/dev/null"

    def test_what_a_template_writes_names_no_file_outside_the_chart(self, tmp_path: Path, path: Path) -> None:
        (tmp_path / "secret.yaml").write_text("users:\n- name: admin\n  token: s3cr3t\n", encoding="utf-8")
        claim = "kind: ResourceClaim\napiVersion: resource.k8s.io/v1\nusers:\n- name: admin\n  token: 1\n"
        program(path, "helm", f"print('---\\n# Source: c/../../secret.yaml\\n' + {claim!r})")
        directory = chart(tmp_path / "c")
        done = draguard("validate", directory)
        assert 'unknown field "users"' in done.out
        assert f"{directory}/Chart.yaml:" in done.out
        assert "s3cr3t" not in done.out

    @each_row(
        ("body", "limit", "message"),
        ("sys.exit('Error: chart requires kubeVersion')", {}, "chart requires kubeVersion"),
        ("sys.exit(4)", {}, "ended with exit code 4"),
        ("sys.stdout.buffer.write(b'\\xff')", {}, "BIN/helm printed what is not UTF-8 text"),
        ("import time\ntime.sleep(60)", {"SECONDS": 0.2}, "took longer than 0.2 seconds"),
        ("while True: print('x' * 1000)", {"MAX_BYTES": 1024 * 1024}, "printed more than 1 MiB"),
        (CROWD, {"MEMORY": 256 * 1024 * 1024}, "took more memory than the 0.25 GiB that it may"),
    )
    def test_what_fails_is_a_finding_and_it_is_limited(
        self, body: str, limit: Any, message: str, tmp_path: Path, path: Path
    ) -> None:
        program(path, "helm", body)
        with patch.dict(vars(running), limit):
            (found,) = findings(chart(tmp_path / "c"))
        assert (found["file"], found["rule"]) == (f"{tmp_path}/c/Chart.yaml", "unreadable")
        assert found["message"] == f"cannot be rendered: {message.replace('BIN', str(path))}"

    def test_what_complains_without_end_or_cannot_be_started_is_a_finding(self, tmp_path: Path, path: Path) -> None:
        program(path, "helm", "sys.stderr.write('x' * 1000000)\nprint('# Source')\nsys.exit(1)")
        (found,) = findings(chart(tmp_path / "c"))
        assert len(found["message"]) < 10_000
        (path / "helm").write_text("#!/nonexistent/interpreter\n", encoding="utf-8")
        (found,) = findings(tmp_path / "c")
        assert "No such file" in found["message"]


class TestUsage:
    def test_without_helm_it_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.sources.rendering.find_spec", lambda _: None)
        directory = chart(tmp_path / "c")
        said = usage_error("validate", directory)
        assert said.endswith("or its library: in a clone of draguard, pip install '.[helm]'\n")
        said = usage_error("validate", "--old", directory, directory / "values.yaml")
        assert said.startswith(f"draguard validate: error: --old: {directory} is a Helm chart, and Helm is not")

    def test_a_chart_without_its_dependencies_needs_a_build(self, tmp_path: Path) -> None:
        directory = chart(tmp_path / "c", a=CLAIM.replace("NAME", '{{ include "common.name" . }}'))
        with (directory / "Chart.yaml").open("a") as file:
            file.write("dependencies:\n- {name: common, version: 1.0.0, repository: https://example.com}\n")
        (found,) = findings(directory)
        assert found["message"] == "cannot be rendered: found in Chart.yaml, but missing in charts/ directory: common"
        assert found["hint"] == f"fetch what it depends on: helm dependency build {directory}"
        common = chart(directory / "charts" / "any")
        (common / "Chart.yaml").write_text("apiVersion: v2\nname: common\nversion: 1.0.0\n", encoding="utf-8")
        (common / "templates/_names.tpl").write_text('{{ define "common.name" }}gpu{{ end }}', encoding="utf-8")
        assert findings(directory, code=0) == []

    def test_dependencies_may_be_packed_and_old_charts_list_them_apart(self, tmp_path: Path, path: Path) -> None:
        claim = CLAIM.replace("NAME", "x")
        directory = chart(tmp_path / "c", a=claim)
        (directory / "requirements.yaml").write_text("dependencies: [{name: common}]", encoding="utf-8")
        program(path, "helm", f"print('---\\n# Source: c/templates/a.yaml\\n' + {claim!r})")
        assert "missing in charts/ directory: common" in findings(directory)[0]["message"]
        (directory / "charts").mkdir()
        (directory / "charts" / "common-1.0.0.tgz").touch()
        assert findings(directory, code=0) == []

    @each_row("file", "https://example.com/values.yaml", "Missing.yaml", "-")
    def test_values_are_in_files(self, file: str, tmp_path: Path) -> None:
        said = usage_error("validate", chart(tmp_path / "c"), "--helm-values", file)
        assert said == f"draguard validate: error: --helm-values {file}: no such file or directory\n"

    @each_row("command", "validate", "simulate", "match", "mutate")
    def test_values_are_whole_and_need_a_chart(self, command: str, tmp_path: Path) -> None:
        said = usage_error(command, chart(tmp_path / "c"), "--helm-set", "a=b", "--helm-set", "count")
        assert said == f"draguard {command}: error: --helm-set count: no value: give KEY=VALUE\n"
        (tmp_path / "pod.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}")
        said = usage_error(command, tmp_path / "pod.yaml", "--helm-set", "a=b")
        assert "--helm-values and --helm-set: no path is the directory of a Helm chart" in said


def test_long_words_in_templates_take_linear_time(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.yaml").write_text("a" * 1_000_000, encoding="utf-8")
    with as_served(str(tmp_path), []) as directory:
        assert directory == str(tmp_path)


CLUSTER = ROOT / "examples" / "simulate" / "cluster.yaml"
INFERENCE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus, namespace: "{{ .Release.Namespace }}"}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: "{{ .Values.class }}"}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: inference, namespace: "{{ .Release.Namespace }}"}
spec:
  replicas: {{ .Values.gpu.count }}
  selector: {matchLabels: {app: inference}}
  template:
    metadata: {labels: {app: inference}}
    spec:
      {{- with .Values.node }}
      nodeName: {{ . }}
      {{- end }}
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]
"""


@pytest.fixture
def inference(tmp_path: Path) -> Path:
    return chart(tmp_path / "inference", inference=INFERENCE)


SET = ("--helm-set", "class=gpu.example.com,gpu.count=2")


def test_simulate_schedules_what_a_chart_makes(inference: Path) -> None:
    done = draguard("simulate", inference, "--cluster", CLUSTER, *SET, "-n", "team-y", "-o", "json")
    found = json.loads(done.out)
    assert [each["node"] for each in found] == ["node-b", "node-c"], done.err
    assert {each["namespace"] for each in found} == {"team-y"}


def test_match_matches_what_a_chart_asks_for(inference: Path, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("class: gpu.example.com\n", encoding="utf-8")
    done = draguard("match", inference, "--cluster", CLUSTER, "--helm-values", values)
    title = "ResourceClaimTemplate default/gpus, request gpu (class gpu.example.com): 8 of 8 devices match\n"
    assert done.out.startswith(title), done.err


def test_mutate_rewrites_what_a_chart_makes(inference: Path) -> None:
    done = draguard("mutate", inference, *SET, "--helm-set", "node=node-a", "-n", "ops")
    assert "kubernetes.io/hostname: node-a" in done.out, done.err
    assert "nodeName" not in done.out
    assert 'namespace: "ops"' in done.out
