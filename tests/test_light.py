"""Features that work without the extras ``serve`` and ``helm``."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.rows import each_row
from webhook.cli import missing

OF_EXTRAS = ("cryptography", "helm_python", "httptools", "prometheus_client", "uvloop")
BLOCKER = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OF_EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
from webhook.cli import main
sys.exit(main(sys.argv[1:]))
"""


def light(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run draguard as if no extra was installed."""
    command = [sys.executable, "-c", BLOCKER, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)


@pytest.mark.process
@each_row(
    "arguments",
    "validate examples/fixed",
    "validate --policies policies/claims-are-used examples/fixed/pod-with-cats.yaml",
    "simulate examples/simulate/deployment.yaml --cluster examples/simulate/cluster.yaml",
    "match -e true --cluster examples/simulate/cluster.yaml",
    "mutate examples/pre-scheduled",
    "policy check policies",
    "review --allow-empty /dev/null",
    "explain ResourceClaim",
    "snapshot",
)
def test_what_looks_at_manifests_needs_no_extra(arguments: str) -> None:
    done = light(*arguments.split())
    assert done.returncode in {0, 1}
    assert "rror" not in done.stderr


@pytest.mark.process
@each_row("arguments", "serve --dev", "certs")
def test_what_serves_names_the_extra(arguments: str) -> None:
    done = light(*arguments.split())
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(" is missing: in a clone of draguard, run pip install '.[serve]'")
    assert "Traceback" not in done.stderr


def test_the_modules_of_the_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lacking = [name for name in OF_EXTRAS if missing(ModuleNotFoundError(name=f"{name}.inner"))]
    assert lacking == list(OF_EXTRAS)
    assert len(OF_EXTRAS) == sum(len(project["optional-dependencies"][extra]) for extra in ("serve", "helm"))
    assert all(importlib.util.find_spec(name) for name in OF_EXTRAS)


def test_another_module_that_is_missing_is_our_own_fault() -> None:
    assert missing(ModuleNotFoundError(name=os.__name__)) == ""
