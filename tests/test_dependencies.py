"""What is installed: ranges in pyproject.toml, exact versions in constraints.txt, and what uses them."""

import re
import tomllib
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.command import ROOT
from tests.rows import each_row

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = [
    requirement
    for texts in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in map(Requirement, texts)
    if requirement.name != PROJECT["name"]
]
BENCHMARKS = [Requirement(text) for text in PROJECT["optional-dependencies"]["benchmarks"]]
CONSTRAINTS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
WORKFLOWS: dict[str, dict[Any, Any]] = {
    file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in (ROOT / ".github/workflows").glob("*.yml")
}


def test_what_the_tests_import_has_an_exact_version_that_fits() -> None:
    exact = {canonicalize_name(each.name): re.fullmatch(r"==([\w.+!]+)", str(each.specifier)) for each in CONSTRAINTS}
    assert all(exact.values())
    for requirement in DECLARED:
        version = exact.get(canonicalize_name(requirement.name))
        fits = version is not None and requirement.specifier.contains(version[1], prereleases=True)
        assert fits or requirement in BENCHMARKS, f"{requirement}: CONTRIBUTING says how constraints.txt is made anew"


@each_row("python", "3.11", "3.12", "3.13", "3.14")
def test_no_package_has_two_versions_for_one_python(python: str) -> None:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
    }
    names = [each.name for each in CONSTRAINTS if each.marker is None or each.marker.evaluate(environment)]
    assert sorted(set(names)) == sorted(names)
    assert {"pytest", "pyyaml", "mypy", "cffi"} <= set(names)


def test_ranges_are_open() -> None:
    assert {each.operator for requirement in DECLARED for each in requirement.specifier} == {">="}


@each_row("file", "README.md", "CONTRIBUTING.md", ".ci/run", ".ci/other-pythons", ".github/workflows/release.yml")
def test_tests_run_with_the_exact_versions(file: str) -> None:
    installs = re.findall(r"install .*--editable '\.\[\w+\]'", (ROOT / file).read_text(encoding="utf-8"))
    assert installs
    assert all("--constraint constraints.txt" in install for install in installs)


def test_the_newest_and_the_oldest_are_tried_on_a_schedule() -> None:
    workflow = WORKFLOWS["dependencies.yml"]
    job = workflow["jobs"]["test"]
    assert workflow[True]["schedule"]  # YAML 1.1 reads `on` as true
    assert job["strategy"]["matrix"]["resolution"] == ["highest", "lowest-direct"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    (quick,) = re.findall(r'python (-m pytest .*?"not slow and .*?")', (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert any(quick in run for run in runs)
    assert not any("--constraint" in run for run in runs)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_workflow_uses_is_pinned_and_no_job_may_do_more_than_it_says(name: str) -> None:
    jobs = WORKFLOWS[name]["jobs"].values()
    used = [step["uses"] for job in jobs for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used)
    assert WORKFLOWS[name]["permissions"] == {}
    assert all("permissions" in job and "timeout-minutes" in job for job in jobs)
