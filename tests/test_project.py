"""The project follows its own rules: style, types, layers, and a correct README."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.command import ROOT, SCRIPT, draguard
from tests.terminal import PICTURES, picture

pytestmark = [pytest.mark.tools, pytest.mark.no_cover]


@pytest.mark.parametrize(
    "command", [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["lint-imports"]], ids=" ".join
)
def test_the_tools_find_nothing(command: list[str]) -> None:
    done = subprocess.run(
        [SCRIPT.with_name(command[0]), *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ci_runs_the_command_of_the_readme() -> None:
    commands = re.findall(r"^python3 -m venv .*", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 1
    assert commands[0] in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_design_names_every_package() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    packages = {each.parent.name for each in (ROOT / "webhook").glob("*/__init__.py")}
    assert packages == set(re.findall(r"^  (\w+)/  ", design, re.MULTILINE))


def test_the_design_lists_packages_from_the_top_floor_down() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(each["layers"] for each in contracts["contracts"] if "webhook.cli" in each["layers"])
    floors = {name: floor for floor, layer in enumerate(layers) for name in re.findall(r"webhook\.(\w+)", layer)}
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    listed = re.findall(r"^  (\w+)(?:/|\.py)  ", design, re.MULTILINE)
    assert listed == sorted(listed, key=floors.__getitem__)


def test_our_own_manifests_have_no_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = draguard("validate", ".")
    assert ": no problems" in done.out, done.out


def test_readme_is_short_and_its_links_lead_somewhere() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.split()) < 1200  # the rest is in docs/
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_readme_shows_what_draguard_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = draguard("validate", ROOT / "examples" / "mistakes" / "flat-request.yaml").out.split("\n\n")[0]
    assert said.replace(f"{ROOT}/", "") in readme
    for path, told in PICTURES.items():
        assert f"(docs/{path.name})" in readme
        assert path.read_text(encoding="utf-8") == picture(*told), "python -m tests.terminal draws it anew"


@pytest.mark.parametrize(
    ("page", "programs"), [("simulate", ["draguard", "draguard", "sed", *["draguard"] * 3]), ("why", ["draguard"] * 3)]
)
def test_the_story_shows_what_draguard_says(
    page: str, programs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("examples").symlink_to(ROOT / "examples")
    story = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    result = re.findall(r"^\$ (.*)\n((?:(?!```|\$).*\n)*)", story, re.MULTILINE)
    assert [each.split()[0] for each, _ in result] == programs
    for command, said in result:
        if command.startswith("sed"):
            edited = Path("examples/simulate/deployment.yaml").read_text(encoding="utf-8").replace("80Gi", "40Gi")
            Path("smaller.yaml").write_text(edited, encoding="utf-8")
        else:
            assert draguard(*command.split()[1:]).out == said


def test_possessive_groups_cannot_fail_half_way() -> None:
    """Python 3.11.2 then goes on behind what the group has read: a group looks ahead, or is a set of characters."""
    possessive = re.compile(r"(?<![(\\])\)[*+?]\+(?!,)")
    files = (ROOT / "webhook").rglob("*.py")
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    safe = ("(?:(?=", "{_MORE}", "(?:{_BASE64_SIGN}{{4}})")  # what looks ahead, and what is one set
    found = [line for line in lines if possessive.search(line) and not any(each in line for each in safe)]
    assert found == []
