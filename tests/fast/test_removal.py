"""The floor can be taken away."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.process]

KEPT = ("admission", "test_benchmarks.py")
"""The tests that run here, of which the first need all its parts; CI runs all without the floor (`DRAGUARD_FAST=0`)."""


def test_without_the_package_all_tests_but_its_own_pass(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns(".git", ".venv", ".*cache", "fast")
    shutil.copytree(ROOT, tmp_path / "copy", ignore=ignored)
    tests = [f"tests/{name}" for name in KEPT]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not slow and not process and not tools", *tests]
    done = subprocess.run(command, cwd=tmp_path / "copy", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
