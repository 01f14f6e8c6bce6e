"""The scope of `draguard validate`: it ignores objects without claims, and files other than the user's manifests."""

import subprocess
from pathlib import Path

import pytest

from tests.command import Done, draguard, findings, reported
from tests.policies import POLICY
from tests.rows import each_row
from tests.structured import CLAIM

WRONG = CLAIM.replace("name: claim", "name: A")
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: pod}\nspec:\n  containers: [{name: UPPER, image: image}]\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: UPPER
        image: image
"""
EXTENDED = POD.replace("name: UPPER", "name: c, resources: {limits: {deviceclass.resource.kubernetes.io/a: 1}}")
OF_CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n"


IN_TEXT = WRONG.replace("{name: A, namespace: default}", "\n  name: A\n  annotations:\n    a: |\n      {{ x }}")
"""Braces in a text, which are not those of a template."""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def left_out(*arguments: str | Path) -> dict[str, int]:
    done = reported("validate", *arguments)
    assert done["findings"] == []
    return {each["reason"]: each["count"] for each in done["summary"]["notRead"]}


class TestPods:
    @each_row("text", POD, DEPLOYMENT, POD + "  volumes: [{name: v, persistentVolumeClaim: {}}]\n")
    def test_those_without_claims_are_counted_and_not_judged(self, tmp_path: Path, text: str) -> None:
        folder = write(tmp_path, {"a.yaml": text})
        done = draguard("validate", folder)
        assert done == Done(
            0,
            "1 document in 1 file: no problems (Kubernetes 1.37); "
            "1 without claims (of pods and workloads only extended resources are looked up; --all-pods judges them)\n",
            "",
        )
        summary = reported("validate", folder)["summary"]
        assert (summary["withoutClaims"], summary["judged"]) == (1, 0)

    @each_row(("provided", "rules"), ("gpu", {"amounts-of-resources"}), ("other", set()))
    def test_those_that_get_devices_by_extended_resources_are_judged(
        self, tmp_path: Path, provided: str, rules: set[str]
    ) -> None:
        resources = "name: c, resources: {limits: {example.com/gpu: 2}, requests: {example.com/gpu: 1}}"
        of_class = OF_CLASS.replace("{}", f"{{extendedResourceName: example.com/{provided}}}")
        write(tmp_path, {"a.yaml": POD.replace("name: UPPER", resources), "b.yaml": of_class})
        done = reported("validate", tmp_path)
        assert {each["rule"] for each in done["findings"]} == rules
        assert done["summary"]["withoutClaims"] == (not rules)

    @each_row(
        ("options", "judged"),
        ("", 3),
        ("--kubernetes-version 1.35", 1),
        ("--kubernetes-version 1.35 --feature-gates DRAExtendedResource=true", 3),
    )
    def test_they_get_devices_where_the_release_has_extended_resources(
        self, tmp_path: Path, options: str, judged: int
    ) -> None:
        write(tmp_path, {"a.yaml": f"{EXTENDED}---\n{EXTENDED}---\n{OF_CLASS}"})
        done = reported("validate", *options.split(), tmp_path)
        assert done["summary"]["judged"] == judged
        repeated = [each["line"] for each in done["findings"] if each["rule"] == "repeated-object"]
        assert repeated == ([9] if judged == 3 else [])

    def test_they_are_judged_by_the_stated_release(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.yaml": f"{EXTENDED.replace('name: c', 'name: C')}---\n{OF_CLASS}"})
        (found,) = findings("validate", "--kubernetes-version", "1.36", tmp_path)
        assert (found["rule"], found["kubernetes"]) == ("dns-label", "1.36")

    def test_they_are_judged_if_that_is_wanted(self, tmp_path: Path) -> None:
        folder = write(tmp_path, {"a.yaml": POD, "b.yaml": DEPLOYMENT})
        assert [each["rule"] for each in findings("validate", "--all-pods", folder)] == ["dns-label", "dns-label"]

    @each_row("field", "resourceClaims: [{name: gpu}]", "resourceclaim: [{}]", "claims: [1]", "nodeName: node-1")
    def test_pods_with_claims_and_misspelt_claims_are_judged(self, field: str) -> None:
        assert reported("validate", "-", stdin=f"{POD}  {field}\n")["summary"]["errors"] > 0

    def test_what_had_claims_is_judged(self, tmp_path: Path) -> None:
        old = POD + "  resourceClaims: [{name: gpu, resourceClaimName: claim}]\n"
        write(tmp_path, {"old/a.yaml": old, "new/a.yaml": POD})
        found = findings("validate", "--old", tmp_path / "old", tmp_path / "new")
        assert "pod-update" in {each["rule"] for each in found}

    def test_policies_apply_to_all_pods(self, tmp_path: Path) -> None:
        write(tmp_path, {"policies/p.yaml": POLICY.format(expression="'false'"), "a/a.yaml": POD})
        done = reported("validate", "--policies", tmp_path / "policies", tmp_path / "a")
        assert [each["policy"]["name"] for each in done["findings"]] == ["names"]
        assert done["summary"]["withoutClaims"] == 0


CHART = {"chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "chart/templates/a.yaml": WRONG}


class TestDirectories:
    @each_row(
        ("files", "reason", "named"),
        (CHART | {"chart/templates/_helpers.tpl": "{{ define }}"}, "helm-template", "chart/templates"),
        *(
            (
                {f"overlay/{file}": f"{names}\n", "overlay/patch.yaml": WRONG, "base/a.yaml": CLAIM},
                "kustomize-patch",
                "overlay/patch.yaml",
            )
            for file in ("kustomization.yaml", "kustomization.yml", "Kustomization")
            for names in (
                "patches: [{path: patch.yaml}]",
                "patchesStrategicMerge: [patch.yaml, 'kind: Pod\n  a']",
                "patchesJson6902: [{path: ./patch.yaml, target: {kind: Pod}}]",
                "patches: [{path: ../overlay/patch.yaml}, {patch: 'a: b'}, 3]",
            )
        ),
        *(({f"{name}/a.yaml": WRONG, "a.yaml": CLAIM}, "vendored", name) for name in ("vendor", "node_modules")),
        *(
            ({"a.json": text}, "no-api-version", "a.json")
            for text in ("a: [", '// see "a": b\n{"a": 1}', "\x00", "a: b\n---\n{{ x }}: [\n", "key: {{ x }}\n")
        ),
        *(
            ({"a.yaml": f"{WRONG}{line}\n"}, "template", "a.yaml")
            for line in ("{{ if .x }}", "{{- range $i }}", "name: {{ .name }}", "- {{ toYaml .x }}")
        ),
    )
    def test_what_is_not_for_the_api_server_is_left_out_unless_it_is_named(
        self, files: dict[str, str], reason: str, named: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = write(tmp_path_factory.mktemp("a"), files)
        assert left_out(folder) == {reason: 1}
        levels = {each["level"] for each in findings("validate", folder / named)}
        assert levels == {"note" if reason == "template" else "error"}

    def test_templates_of_charts_are_counted(self, tmp_path: Path) -> None:
        templates = {"chart/templates/a.yaml": "apiVersion: v1\n{{ if .x }}\n", "chart/templates/sub/b.yaml": WRONG}
        assert left_out(write(tmp_path, CHART | templates)) == {"helm-template": 2}
        assert "not read: 2 Helm templates (name their charts to render them)\n" in draguard("validate", tmp_path).out
        named = findings("validate", tmp_path / "chart/templates/sub/b.yaml")
        assert [each["rule"] for each in named] == ["object-name"]

    @each_row(
        ("files", "rule"),
        *(
            ({"a/kustomization.yaml": f"{names}\n", "a/patch.yaml": WRONG}, "object-name")
            for names in ("patches: 3", "resources: [patch.yaml]", "patches: [", "[]")
        ),
        ({"templates/a.yaml": WRONG}, "object-name"),
        ({"a.yaml": "apiVersion: ["}, "unreadable"),
        ({"a.yaml": IN_TEXT}, "object-name"),
        ({"a.yaml": WRONG + "    config: [{opaque: {driver: d, parameters: {name: '${FOO}'}}}]\n"}, "object-name"),
    )
    def test_what_only_looks_as_if_it_was_for_others_is_read(
        self, files: dict[str, str], rule: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        done = reported("validate", write(tmp_path_factory.mktemp("a"), files))
        assert [each["rule"] for each in done["findings"]] == [rule]
        assert not {each["reason"] for each in done["summary"]["notRead"]} - {"no-api-version"}

    @each_row("value", "name: ${FOO}", "name: __FOO__", "- {{ x }}", "{{ x }}")
    @each_row("more", "", "\n---\napiVersion: [")
    def test_text_of_another_document_hides_none(self, tmp_path: Path, value: str, more: str) -> None:
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    " + value + "\n---\n" + WRONG
        done = reported("validate", write(tmp_path, {"a.yaml": text + more}))
        assert sorted(each["rule"] for each in done["findings"]) == ["object-name", *(["unreadable"] if more else [])]
        assert done["summary"]["notRead"] == []

    def test_only_the_documents_that_are_templates_are_left_out(self, tmp_path: Path) -> None:
        texts = [CLAIM.replace("name: claim", "name: __A__"), "apiVersion: v1\nkind: {{ .kind }}\n", WRONG]
        done = reported("validate", write(tmp_path, {"a.yaml": "\n---\n".join(texts)}))
        assert [each["count"] for each in done["summary"]["notRead"]] == [1]
        assert [each["rule"] for each in done["findings"]] == ["template", "object-name"]

    def test_links_that_lead_nowhere_are_left_out(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.yaml": CLAIM})
        (tmp_path / "b.yaml").symlink_to("gone.yaml")
        assert left_out(tmp_path) == {"broken-link": 1}
        assert draguard("validate", tmp_path / "b.yaml").code == 2

    def test_a_directory_of_which_nothing_is_left_is_not_a_mistake(self, tmp_path: Path) -> None:
        assert draguard("validate", write(tmp_path, {"vendor/a.yaml": WRONG})).code == 0
        assert draguard("validate", tmp_path / "vendor" / "..", "--strict").code == 0


class TestGit:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)  # noqa: S607
        return tmp_path

    def test_what_it_ignores_is_left_out_unless_it_is_named(self, repository: Path) -> None:
        write(repository, {".gitignore": "out/\n/b.yaml\n", "out/a.yaml": WRONG, "b.yaml": WRONG, "a.yaml": CLAIM})
        assert left_out(repository) == {"ignored-by-git": 2}
        for named in ("out", "b.yaml"):
            assert reported("validate", repository / named)["summary"]["errors"] == 1
        write(repository, {".gitignore": "*.tmp.yaml\n", "deep/a.tmp.yaml": WRONG, "deep/a.yaml": CLAIM})
        assert left_out(repository / "deep") == {"ignored-by-git": 1}

    def test_what_is_tracked_is_read(self, repository: Path) -> None:
        write(repository, {".gitignore": "*.yaml\n", "a.yaml": WRONG})
        subprocess.run(["git", "-C", repository, "add", "-f", "a.yaml"], check=True)  # noqa: S607
        assert reported("validate", repository)["summary"]["errors"] == 1

    def test_a_hook_may_name_another_directory(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(repository, {".gitignore": "b.yaml\n", "deep/b.yaml": WRONG, "deep/a.yaml": CLAIM})
        monkeypatch.setenv("GIT_DIR", ".git")
        assert left_out(repository / "deep") == {"ignored-by-git": 1}

    def test_without_git_all_is_read(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(repository, {".gitignore": "b.yaml\n", "b.yaml": WRONG, "a.yaml": CLAIM})
        monkeypatch.setenv("PATH", str(repository))
        assert reported("validate", repository)["summary"]["errors"] == 1

    def test_a_broken_repository_hides_nothing(self, tmp_path: Path) -> None:
        write(tmp_path, {".git": "gitdir: nowhere\n", ".gitignore": "a.yaml\n", "a.yaml": WRONG})
        assert reported("validate", tmp_path)["summary"]["errors"] == 1


CLASS = OF_CLASS.replace("name: a", "name: CLASS").replace("spec: {}\n", "")
OTHER = CLASS.replace("CLASS", "nic.sample.org")
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec:
  driver: gpu.example.com
  nodeName: node
  pool: {name: node, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes: {model: {string: A100}}
"""
USING = POD.replace("UPPER", "c") + "  resourceClaims: [{name: gpu, resourceClaimTemplateName: gone}]\n"


class TestNeighbours:
    """A repository may hold examples for several clusters."""

    def rules(self, folder: Path, *options: str | Path) -> set[str]:
        return {each["rule"] for each in findings("validate", folder, *options)} - {"claim-not-used"}

    def test_a_class_is_missing_where_the_same_file_has_others(self, tmp_path: Path) -> None:
        assert self.rules(write(tmp_path / "a", {"a.yaml": f"{CLAIM}---\n{OTHER}"})) == {"class-not-found"}
        assert self.rules(write(tmp_path / "b", {"a.yaml": CLAIM, "b.yaml": OTHER})) == set()

    def test_a_misspelt_class_is_reported_everywhere(self, tmp_path: Path) -> None:
        folder = write(tmp_path, {"claims/a.yaml": CLAIM, "classes/b.yaml": CLASS.replace("CLASS", "gpu.exmaple.com")})
        assert self.rules(folder) == {"class-not-found"}

    def test_a_class_is_found_wherever_it_is(self, tmp_path: Path) -> None:
        right = CLASS.replace("CLASS", "gpu.example.com")
        assert self.rules(write(tmp_path, {"a/a.yaml": f"{CLAIM}---\n{OTHER}", "b/b.yaml": right})) == set()

    def test_a_cluster_has_all(self, tmp_path: Path) -> None:
        write(tmp_path, {"a/a.yaml": CLAIM, "cluster/b.yaml": OTHER})
        assert self.rules(tmp_path / "a", "--cluster", tmp_path / "cluster") == {"class-not-found"}

    def test_a_class_of_a_known_driver_is_missing_only_in_a_cluster(self, tmp_path: Path) -> None:
        claim = CLAIM.replace("gpu.example.com", "gpu.nvidia.com")
        write(tmp_path, {"classes.yaml": OTHER, "slices.yaml": SLICE, "pods.yaml": POD})
        write(tmp_path, {"a.yaml": f"{claim}---\n{OTHER}", "b.yaml": claim})
        assert self.rules(tmp_path / "a.yaml") == set()
        assert self.rules(tmp_path / "a.yaml", "--cluster", tmp_path / "pods.yaml") == set()  # which lists no classes
        for listed in ("classes.yaml", "slices.yaml"):
            for manifests in ("a.yaml", "b.yaml"):
                assert self.rules(tmp_path / manifests, "--cluster", tmp_path / listed) == {"class-not-found"}

    def test_only_a_cluster_tells_that_a_class_does_not_exist(self, tmp_path: Path) -> None:
        write(tmp_path, {"a.yaml": f"{CLAIM}---\n{OTHER}"})
        (guess,) = findings("validate", tmp_path / "a.yaml")
        (known,) = findings("validate", tmp_path / "a.yaml", "--cluster", tmp_path / "a.yaml")
        assert "is not among these manifests" in guess["message"]
        assert "does not exist" in known["message"]

    def test_a_template_is_missing_beside_and_below_others(self, tmp_path: Path) -> None:
        template = CLAIM.replace("Claim\n", "ClaimTemplate\n").replace("name: claim", "name: other")
        template = template.replace("spec:\n  devices:", "spec:\n spec:\n  devices:")
        for place, found in ("a/b", {"template-not-found"}), ("a", {"template-not-found"}), ("c", set()):
            top = tmp_path / place.replace("/", "-")
            assert self.rules(write(top, {"a/b/pod.yaml": USING, f"{place}/t.yaml": template})) == found

    def test_devices_of_other_directories_are_those_of_other_clusters(self, tmp_path: Path) -> None:
        wanted = '        selectors: [{cel: {expression: \'device.attributes["gpu.example.com"].model == "H100"\'}}]\n'
        files = {"a/a.yaml": CLAIM + wanted, "a/b.yaml": CLASS.replace("CLASS", "gpu.example.com"), "d/s.yaml": SLICE}
        assert self.rules(write(tmp_path, {**files, "c/s.yaml": SLICE})) == set()
        assert self.rules(write(tmp_path, {"a/s.yaml": SLICE})) == {"selects-nothing"}


class TestPlaceholders:
    @each_row("name", "pod-__INDEX__", "${NAME}-claim", "claim-$(INDEX)", '"${NAME}"')
    def test_a_name_that_is_to_be_filled_in_is_not_a_mistake(self, name: str, tmp_path: Path) -> None:
        block = CLAIM.replace("{name: claim, namespace: default}", f"\n  name: {name}")
        for text in (CLAIM.replace("name: claim", f"name: {name}"), block):
            (tmp_path / "claim.yaml").write_text(text, encoding="utf-8")
            assert draguard("validate", tmp_path).code == 0
            assert [each["rule"] for each in findings("validate", tmp_path / "claim.yaml")] == ["template"]

    @each_row("name", "a__b", "A", "{a: b}")
    def test_any_other_wrong_name_is_a_mistake(self, name: str, tmp_path: Path) -> None:
        write(tmp_path, {"claim.yaml": CLAIM.replace("name: claim", f"name: {name}")})
        assert draguard("validate", tmp_path).code == 1
