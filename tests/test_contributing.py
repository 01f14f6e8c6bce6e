"""CONTRIBUTING's steps are all that a field with its gate, and a rule, take."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT

QUICK = "not slow and not process and not tools"
SUBJECTS = ("api", "chart", "explain", "fast", "migration", "schema", "test_*.py")
"""The tests that read types and rules."""
CLASS = 'class ExactDeviceRequest(Detailed, Administering, Wanted):\n    """A request for devices of one class."""\n'
GATES = "GATES: Mapping[str, Mapping[int, Stage | None]] = {\n"


def steps() -> tuple[str, str, str, str, str]:
    """Read the code of the steps: a field, its gate, the rows of its type, a rule and its example."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = text[text.index("### Add a field") : text.index("### Add an option")]
    field, gate, rows, rule, example = re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return field, gate, rows, rule, example


def put_behind(file: Path, line: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(line) == 1
    file.write_text(text.replace(line, line + new), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.process
def test_a_field_with_its_gate_and_a_rule_need_nothing_else(tmp_path: Path) -> None:
    def run(*command: str) -> None:
        env = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]

    shutil.copytree(ROOT, tmp_path, ignore=shutil.ignore_patterns(".git", ".venv", ".*cache"), dirs_exist_ok=True)
    field, gate, rows, rule, example = steps()
    put_behind(tmp_path / "webhook/api/dra/devicerequest.py", CLASS, f"\n    {field}\n\n{rule}")
    put_behind(tmp_path / "webhook/api/gates.py", GATES, f"    {gate}")
    fields = tmp_path / "tests/dra-fields.tsv"
    head, *others = fields.read_text(encoding="utf-8").splitlines()
    fields.write_text("\n".join([head, *sorted([*others, *rows.splitlines()])]) + "\n", encoding="utf-8")
    (tmp_path / "webhook/explain/examples/count-of-shared.yaml").write_text(example, encoding="utf-8")
    run(sys.executable, "docs/generate.py")
    run(sys.executable, "charts/generate.py")
    run(sys.executable, "-m", "ruff", "check")
    run(sys.executable, "-m", "ruff", "format", "--check")
    tests = [str(file) for name in SUBJECTS for file in sorted(tmp_path.glob(f"tests/{name}"))]
    run(sys.executable, "-m", "pytest", "-q", "-m", QUICK, *tests)
