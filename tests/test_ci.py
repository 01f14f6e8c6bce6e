"""The CI integrations for other repositories: their scripts run here as the services would run them."""

import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ROOT, SCRIPT
from tests.policy.examples import of
from tests.structured import claim

pytestmark = pytest.mark.process

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
GITLAB: list[dict[str, Any]] = list(yaml.safe_load_all((ROOT / ".gitlab/draguard.yml").read_text(encoding="utf-8")))
RELEASE: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
BAD = (ROOT / "examples/limits/names.yaml").read_bytes()
FINE = (ROOT / "examples/fixed/pod-with-cats.yaml").read_bytes()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository with an error in one directory, beside the place where the action installs draguard."""
    for folder in ("bad dir", "fine", ".runner"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bad dir/bad.yaml").write_bytes(BAD)
    (tmp_path / "fine/fine.yaml").write_bytes(FINE)
    (tmp_path / ".runner/draguard").symlink_to(SCRIPT.parent.parent)
    return tmp_path


def run(script: str, repository: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{SCRIPT.parent}:{os.environ['PATH']}", **variables}
    command = ["/bin/bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=repository, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


class TestAction:
    """action.yml, for GitHub."""

    def validate(self, repository: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the last step as GitHub's runner does."""
        *_, step = ACTION["runs"]["steps"]
        given = {name: str(declared["default"]) for name, declared in ACTION["inputs"].items()} | inputs
        expressions = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
        variables = {name: expressions[text] for name, text in step["env"].items()}
        runner = repository / ".runner"
        variables |= {"GITHUB_STEP_SUMMARY": str(runner / "summary.md"), "GITHUB_OUTPUT": str(runner / "output")}
        return run(step["run"], repository, RUNNER_TEMP=str(runner), **variables)

    def test_findings_are_annotations_a_summary_and_reports_and_later_steps_get_the_counts(
        self, repository: Path
    ) -> None:
        done = self.validate(repository, sarif="found.sarif")
        assert done.returncode == 1, done.stderr
        assert "::error file=bad dir/bad.yaml,line=5" in done.stdout
        assert "object-name" in (repository / ".runner/summary.md").read_text(encoding="utf-8")
        assert json.loads((repository / "found.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
        written = (repository / ".runner/output").read_text(encoding="utf-8").splitlines()
        outputs = dict(line.split("=", 1) for line in written)
        assert outputs.keys() == ACTION["outputs"].keys()
        report = json.loads((repository / outputs["report"]).read_text(encoding="utf-8"))
        assert (outputs["errors"], outputs["warnings"]) == ("7", "0")
        assert sum(each["level"] == "error" for each in report["findings"]) == 7

    def test_further_options_a_configuration_and_a_cluster_can_be_given(self, repository: Path) -> None:
        (repository / "house.yaml").write_text("exclude: [bad.yaml]\n", encoding="utf-8")
        class_ = of("DeviceClass", "tigers", "resource.k8s.io/v1")
        (repository / "cluster.json").write_text(json.dumps(class_), encoding="utf-8")
        (repository / "fine/claim.json").write_text(json.dumps(claim()), encoding="utf-8")
        assert self.validate(repository, config="house.yaml").returncode == 0
        assert self.validate(repository, options="--exclude bad.yaml\n--all-pods").returncode == 0
        assert "class-not-found" in self.validate(repository, paths="fine", cluster="cluster.json").stdout
        assert self.validate(repository, options="--unknown").returncode == 2

    def test_a_switch_is_true_or_false_or_that_of_the_configuration_file(self, repository: Path) -> None:
        assert self.validate(repository, paths="fine", strict="true").returncode == 0
        (repository / "fine/.draguard.yaml").write_text("strict: true\n", encoding="utf-8")
        warned = b"# draguard: ignore[deprecated]\n" + FINE  # no reason, and nothing to suppress
        (repository / "fine/warned.yaml").write_bytes(warned)
        codes = {given: self.validate(repository, paths="fine", strict=given).returncode for given in ("", "no")}
        assert codes == {"": 1, "no": 0}
        refused = self.validate(repository, paths="fine", strict="maybe")
        assert (refused.returncode, "DRAGUARD_STRICT: 'maybe' is neither true nor false" in refused.stderr) == (2, True)

    def test_a_summary_of_an_earlier_step_is_not_shown_again(self, repository: Path) -> None:
        assert self.validate(repository).returncode == 1
        (repository / ".runner/summary.md").unlink()
        assert self.validate(repository, **{"kubernetes-version": "x"}).returncode == 2
        assert not (repository / ".runner/summary.md").exists()

    def test_inputs_are_never_run(self, repository: Path) -> None:
        evil = "$(touch evil) `touch evil` ; touch evil"
        for name in ("paths", "kubernetes-version", "policies", "against", "sarif"):
            self.validate(repository, **{name: evil})
        assert not list(repository.rglob("evil"))
        for step in ACTION["runs"]["steps"]:
            assert "${{" not in step.get("run", "")

    def test_other_actions_are_pinned(self) -> None:
        used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
        assert used
        assert all(len(each.partition("@")[2]) == len("08c6903cd8c0fde910a37f88322edcfb5dd907a8") for each in used)


class TestGitLab:
    """.gitlab/draguard.yml, for GitLab."""

    def validate(self, repository: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
        head, body = GITLAB
        given = {name: declared["default"] for name, declared in head["spec"]["inputs"].items()} | inputs
        expressions = {f"$[[ inputs.{name} ]]": value for name, value in given.items()}
        job = body["draguard"]
        variables = {name: expressions[text] for name, text in job["variables"].items()}
        return run("\n".join(job["script"]), repository, **variables)

    def test_findings_are_code_quality_and_tests_and_options_are_passed_on(self, repository: Path) -> None:
        done = self.validate(repository)
        assert done.returncode == 1, done.stderr
        assert "bad dir/bad.yaml:5:3: error object-name" in done.stdout
        reports = GITLAB[1]["draguard"]["artifacts"]["reports"]
        found = json.loads((repository / reports["codequality"]).read_text(encoding="utf-8"))
        assert "bad dir/bad.yaml" in [each["location"]["path"] for each in found]
        assert (repository / reports["junit"]).read_text(encoding="utf-8").startswith("<?xml")
        done = self.validate(repository, paths="fine", options="--kubernetes-version=1.36 --strict")
        assert (done.returncode, "not-served" in done.stdout) == (1, True)


def test_the_plugin_for_krew_is_made_of_its_templates(tmp_path: Path) -> None:
    step = next(each["run"] for each in RELEASE["jobs"]["release"]["steps"] if "Krew" in each.get("name", ""))
    for each in ("LICENSE", ".github"):
        (tmp_path / each).symlink_to(ROOT / each)
    (tmp_path / "files").mkdir()
    run(step, tmp_path, GITHUB_REF_NAME="v1.2.3").check_returncode()
    manifest = yaml.safe_load((tmp_path / "files/dra.yaml").read_text(encoding="utf-8"))
    (platform,) = manifest["spec"]["platforms"]
    assert manifest["spec"]["version"] == "v1.2.3"
    assert "v1.2.3/kubectl-dra.tar.gz" in platform["uri"]
    assert platform["sha256"] == sha256((tmp_path / "files/kubectl-dra.tar.gz").read_bytes()).hexdigest()
    program = (tmp_path / "plugin/kubectl-dra").read_text(encoding="utf-8")
    assert "draguard-1.2.3-py3-none-any.whl" in program
    done = run(f"exec /bin/sh {tmp_path}/plugin/kubectl-dra", tmp_path, PATH="")
    assert (done.returncode, "needs uv" in done.stderr) == (2, True)
