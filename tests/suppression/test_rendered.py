"""`--against` and `--new-only`: charts and kustomizations as they are rendered from a revision."""

import json
import os
from pathlib import Path

import pytest

from tests.command import draguard, findings
from tests.sources.programs import chart, program
from tests.suppression.manifests import IMMUTABLE, OTHER, change, claim, found, git, rules

pytestmark = pytest.mark.process
KUSTOMIZE = """
import os, sys
def build(directory):
    with open(f"{directory}/kustomization.yaml") as file:
        listed = file.read().strip()[len("resources: ["):-1].split(", ")
    for path in listed:
        full = os.path.normpath(f"{directory}/{path}")
        print("---")
        build(full) if os.path.isdir(full) else print(open(full).read())
build(sys.argv[-1])
"""
VALUED = claim("c").replace("gpu.example.com", "{{ .Values.driver }}")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a base, an overlay of it, a chart, and a file, each with a claim of the same name."""
    program(tmp_path / "bin", "kustomize", KUSTOMIZE)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    top = chart(tmp_path / "top/chart", c=claim("c"), v=VALUED.replace("name: c", "name: v")).parent
    (top / "values.yaml").write_text("driver: gpu.example.com\n", encoding="utf-8")
    (top / "chart/values.yaml").write_text("driver: gpu.example.com\n", encoding="utf-8")
    for name, resources in (("base", "c.yaml"), ("overlay", "../base")):
        (top / name).mkdir()
        (top / name / "kustomization.yaml").write_text(f"resources: [{resources}]\n", encoding="utf-8")
    (top / "base/c.yaml").write_text(claim("c"), encoding="utf-8")
    git("init", "-q", ".", at=top)
    commit(top)
    monkeypatch.chdir(top)
    return top


def commit(top: Path) -> None:
    git("add", ".", at=top)
    git("commit", "-qm", "next", at=top)


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("chart", "chart/templates/c.yaml"),
        ("base", "base/c.yaml"),
        ("overlay", "base/c.yaml"),
        ("./overlay/", "base/c.yaml"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--new-only",), ("--new-only", "--kubernetes-version", "1.35,1.36")])
def test_a_changed_object_is_compared(repository: Path, path: str, file: str, options: tuple[str, ...]) -> None:
    assert found(path, *options) == []
    change(repository / file, *OTHER)
    assert found(path, *options) == IMMUTABLE


def test_the_directory_of_the_kustomization_may_be_the_current_one(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "base")
    assert found(".") == []
    change(repository / "base/c.yaml", *OTHER)
    assert found(".") == found() == IMMUTABLE


def test_the_whole_repository_may_be_one_kustomization(repository: Path) -> None:
    (repository / "kustomization.yaml").write_text("resources: [base/c.yaml]\n", encoding="utf-8")
    commit(repository)
    assert found(".") == []
    change(repository / "base/c.yaml", *OTHER)
    assert found(".") == IMMUTABLE


def test_values_are_those_of_the_revision(repository: Path) -> None:
    change(repository / "values.yaml", *OTHER)
    assert found("chart", "--helm-values", "values.yaml") == IMMUTABLE
    (repository / "new.yaml").write_text("driver: gpu.example.com\n", encoding="utf-8")
    assert found("chart", "--helm-values", "new.yaml") == []
    assert found("chart", "--helm-set", "driver=other.example.com") == []


def test_only_findings_that_the_revision_does_not_have_are_new(repository: Path) -> None:
    bad = claim("c").replace("spec:", "spec:\n  shape: round")
    for file in ("chart/templates/c.yaml", "base/c.yaml"):
        (repository / file).write_text(bad, encoding="utf-8")
    commit(repository)
    new_only = ("validate", "-o", "json", "--against", "HEAD", "--new-only")
    for path, file in (("chart", "chart/templates/c.yaml"), ("overlay", "base/c.yaml")):
        assert rules(draguard(*new_only, path)) == []
        change(repository / file, "shape: round", "shape: round\n  colour: red")
        assert [each["field"] for each in json.loads(draguard(*new_only, path).out)["findings"]] == ["spec.colour"]


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        ("gone.yaml", "cannot be rendered: "),
        ("/etc", "overlay has a base outside the repository: /etc"),
        ("../../other", "overlay has a base outside the repository: ../../other"),
    ],
)
def test_a_revision_that_cannot_be_rendered_is_a_warning(repository: Path, resources: str, why: str) -> None:
    kustomization = repository / "overlay/kustomization.yaml"
    kustomization.write_text(f"resources: [{resources}]\n", encoding="utf-8")
    commit(repository)
    kustomization.write_text("resources: [../base]\n", encoding="utf-8")
    (warning,) = findings("validate", "--against", "HEAD", "overlay")
    assert (warning["level"], warning["rule"], warning["file"]) == (
        "warning",
        "not-compared",
        "overlay/kustomization.yaml",
    )
    assert warning["message"].startswith(f"not compared with HEAD: {why}")
    assert str(repository.parent) not in warning["message"].replace(str(repository.parent / "bin"), "")


def test_a_new_kustomization_is_compared_by_names(repository: Path) -> None:
    (repository / "new").mkdir()
    (repository / "new/kustomization.yaml").write_text("resources: [../base]\n", encoding="utf-8")
    assert found("new") == [("note", "not-compared")]  # the chart has a claim of that name, too
    (repository / "chart/templates/c.yaml").unlink()
    commit(repository)
    change(repository / "base/c.yaml", *OTHER)
    assert found("new") == IMMUTABLE


def test_neither_links_nor_too_much_is_written(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "base/link.yaml").symlink_to("/etc/hostname")
    change(repository / "base/kustomization.yaml", "c.yaml", "c.yaml, link.yaml")
    commit(repository)
    change(repository / "base/kustomization.yaml", ", link.yaml", "")
    assert found("base") == [("warning", "not-compared"), ("error", "unreadable")]  # the link is a file beside it now
    monkeypatch.setattr("webhook.suppression.revision._MOST_FILES", 1)
    done = draguard("validate", "-o", "concise", "--against", "HEAD", "chart")
    assert "not compared with HEAD: more than 1 files or 64 MiB to render at HEAD" in done.out
