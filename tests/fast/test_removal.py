"""The floor can be taken away."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import NOT_COPIED, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.process]

KEPT = ("admission", "test_benchmarks.py")
"""The tests that run here, of which the first need all its parts; CI runs all without the floor (`DRAGUARD_FAST=0`)."""


def test_without_the_package_all_tests_but_its_own_pass(tmp_path: Path) -> None:
    shutil.copytree(ROOT, tmp_path / "copy", ignore=shutil.ignore_patterns(*NOT_COPIED, "fast"))
    tests = [f"tests/{name}" for name in KEPT]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not slow and not process and not tools", *tests]
    done = subprocess.run(command, cwd=tmp_path / "copy", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
