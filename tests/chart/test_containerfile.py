"""The image: its contents and its user."""

import json
import re
import tomllib
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.chart import containerfile
from tests.chart.rendering import rendered
from tests.command import ROOT
from webhook import __version__

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WANTED: dict[str, list[str]] = {
    "Containerfile.lock": PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["serve"],
    "Containerfile.build.lock": PROJECT["build-system"]["requires"],
}


def locked(file: str) -> dict[str, tuple[str, int]]:
    """Read a lock: the version of each package, and how many hashes it has."""
    packages = re.split(r"^(?=\S+==)", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    heads = (package.split(maxsplit=1)[0].split("==") for package in packages)
    return {
        canonicalize_name(name): (version, package.count("--hash=sha256:"))
        for (name, version), package in zip(heads, packages, strict=True)
    }


class TestWhatItIsMadeOf:
    @pytest.mark.parametrize("file", WANTED)
    def test_every_dependency_is_locked_in_a_version_that_fits_and_all_have_hashes(self, file: str) -> None:
        found = locked(file)
        assert all(hashes for _, hashes in found.values())
        for text in WANTED[file]:
            requirement = Requirement(text)
            version, _ = found.get(canonicalize_name(requirement.name), ("0", 0))
            assert requirement.specifier.contains(version), f"{text}: docs/install.md says how {file} is made anew"

    def test_only_wheels_of_locked_bytes_are_installed(self) -> None:
        steps = [line for each in containerfile.instructions() for line in each.text.split("&&") if " install " in line]
        assert steps
        for install in steps:
            is_own = "--no-deps --no-index" in install
            assert is_own or "--only-binary :all: --require-hashes" in install

    def test_what_is_copied_is_sent_to_the_build(self) -> None:
        lines = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
        sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
        copied = {
            source
            for each in containerfile.instructions()
            if each.name == "COPY" and not each.text.startswith("--from")
            for source in each.text.split()[:-1]
        }
        assert "*" in lines
        assert copied == sent
        assert all((ROOT / name).exists() for name in sent)

    def test_its_label_states_the_release_and_its_base_is_pinned_by_version_and_digest(self) -> None:
        assert [each.text for each in containerfile.final_stage() if each.name == "ARG"] == [f"VERSION={__version__}"]
        (base,) = (each.text for each in containerfile.instructions() if each.text.startswith("PYTHON="))
        assert re.fullmatch(r"PYTHON=docker\.io/library/python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
        stages = [each.text for each in containerfile.instructions() if each.name == "FROM"]
        assert stages == ["${PYTHON} AS build", "${PYTHON}"]
        text = (ROOT / "Containerfile").read_text(encoding="utf-8")
        assert "syntax=docker" not in text  # a tag would name a frontend


class TestWhoRunsInIt:
    def test_the_user_is_a_number_and_the_one_of_the_chart(self) -> None:
        context = rendered().pod["spec"]["securityContext"]
        assert containerfile.last("USER") == f"{context['runAsUser']}:{context['runAsGroup']}"
        assert context["runAsUser"] > 0

    def test_the_chart_gives_arguments_to_the_entry_point_which_compiles_nothing(self) -> None:
        assert containerfile.entry_point() == ["draguard"]
        assert json.loads(containerfile.last("CMD")) == rendered().container["args"][:1]
        assert "command" not in rendered().container
        assert containerfile.environment()["PYTHONDONTWRITEBYTECODE"] == "1"


def test_the_released_chart_names_the_image_by_its_digest() -> None:
    """The workflow that makes a release cannot be run here."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    (step,) = (step for step in workflow["jobs"]["release"]["steps"] if "digest" in step.get("run", ""))
    (pattern,) = re.findall(r"s/\^(.+?)\$/", step["run"])
    lines = (ROOT / "charts/draguard/values.yaml").read_text(encoding="utf-8").splitlines()
    assert lines.count(pattern.replace("\\", "")) == 1
