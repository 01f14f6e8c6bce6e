"""The hooks that other repositories get, run as pre-commit runs them: entry, args, names of files."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ROOT, SCRIPT
from tests.structured import CLAIM

pytestmark = pytest.mark.tools

HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
VALIDATING = [name for name in HOOKS if name.startswith("draguard-validate")]
FINE = (ROOT / "examples/fixed/pod-with-cats.yaml").read_bytes()
BAD = (ROOT / "examples/limits/names.yaml").read_bytes()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "fine.yaml").write_bytes(FINE)
    (tmp_path / "values.yml").write_text("replicas: 3\n", encoding="utf-8")
    (tmp_path / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    return tmp_path


def run(hook: str, repository: Path, *files: str, args: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a hook as pre-commit does: the user's ``args`` replace those of the hook, then names follow if passed."""
    declared = HOOKS[hook]
    program, *entry = shlex.split(declared["entry"])
    assert program in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    names = files if declared.get("pass_filenames", True) else ()
    command = [SCRIPT.with_name(program), *entry, *(args or declared.get("args", ())), *names]
    environment = {**os.environ, "PRE_COMMIT": "1"}
    return subprocess.run(
        command, cwd=repository, input="", capture_output=True, text=True, check=False, timeout=60, env=environment
    )


@pytest.mark.parametrize("hook", VALIDATING)
def test_a_hook_passes_or_fails_with_the_place_of_each_finding_for_a_release(hook: str, repository: Path) -> None:
    done = run(hook, repository, "fine.yaml", "values.yml", "package.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 documents in 3 files: no problems (Kubernetes 1.37); 3 skipped" in done.stdout
    done = run(hook, repository, "fine.yaml", args=("--kubernetes-version", "1.36"))
    assert done.returncode == 1
    assert "fine.yaml:1:1: error not-served: apiVersion: " in done.stdout
    (repository / "bad.yaml").write_bytes(BAD)
    done = run(hook, repository, "bad.yaml")
    assert done.returncode == 1
    assert "bad.yaml:5:3: error object-name: metadata.name: " in done.stdout


def test_a_hook_reads_the_blocks_of_markdown(repository: Path) -> None:
    for name, manifest in ("fine.md", FINE), ("bad.md", BAD):
        (repository / name).write_text(f"# Title\n\n```yaml\n{manifest.decode()}```\n", encoding="utf-8")
    assert run("draguard-markdown", repository, "fine.md").returncode == 0
    done = run("draguard-markdown", repository, "fine.md", "bad.md")
    assert done.returncode == 1
    assert "bad.md:8:3: error object-name: metadata.name: " in done.stdout


def test_one_hook_looks_at_what_was_changed_the_other_at_all(repository: Path) -> None:
    (repository / "bad.yaml").write_bytes(BAD)
    assert run("draguard-validate", repository, "fine.yaml").returncode == 0
    assert run("draguard-validate-all", repository, "fine.yaml").returncode == 1


def test_a_hook_converts_files_which_pre_commit_takes_for_a_failure(repository: Path) -> None:
    file = repository / "old.yaml"
    text = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}  # c\n"
    file.write_text(text.replace("/v1", "/v1beta1"), encoding="utf-8")
    assert run("draguard-convert", repository, "old.yaml", "values.yml", "package.json").returncode == 0
    assert file.read_text(encoding="utf-8") == text


def test_a_hook_fixes_files_and_fails_for_what_is_left(repository: Path) -> None:
    file = repository / "claim.yaml"
    file.write_text(CLAIM.replace("requests", "reqests"), encoding="utf-8")
    assert run("draguard-fix", repository, "claim.yaml", "values.yml").returncode == 0
    assert file.read_text(encoding="utf-8") == CLAIM
    (repository / "bad.yaml").write_bytes(BAD)
    assert run("draguard-fix", repository, "bad.yaml").returncode == 1


def test_a_hook_runs_the_suites_of_policies(repository: Path) -> None:
    shutil.copytree(ROOT / "policies/claim-device-limit", repository / "claim-device-limit")
    assert run("draguard-policy-test", repository, "claim-device-limit/policy.yaml").returncode == 0
    suite = repository / "claim-device-limit/tests.yaml"
    suite.write_text(suite.read_text(encoding="utf-8").replace("allowed: true", "allowed: false"), encoding="utf-8")
    done = run("draguard-policy-test", repository, "claim-device-limit/tests.yaml")
    assert (done.returncode, "failed" in done.stdout) == (1, True)


def test_hooks_are_declared_as_pre_commit_wants_it() -> None:
    for declared in HOOKS.values():
        assert {"id", "name", "entry", "language", "description"} <= declared.keys()
        assert (declared["language"], declared["require_serial"]) == ("python", True)


def test_only_what_can_be_a_manifest_is_taken() -> None:
    hook, manifests = HOOKS["draguard-validate"], ["manifests/claim.yaml", "a/b.json", "values.yml", "a/-b.yaml"]
    others = ["chart/templates/pod.yaml", "package.json", "web/tsconfig.build.json", ".eslintrc.json", "notes.txt"]
    others.append("--write-baseline=all.json")
    taken = [name for name in [*manifests, *others] if re.search(hook["files"], name)]
    assert [name for name in taken if not re.search(hook["exclude"], name)] == manifests
