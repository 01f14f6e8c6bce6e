"""Commands that must start quickly import little: users of a pre-commit hook feel 50 ms."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.manifests import CLAIM
from tests.structured import CLAIM as CLAIM_V1

pytestmark = pytest.mark.process

REPORTING = (
    "import sys; from webhook.cli import main; status = main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
)
HEAVY = {
    "dataclasses",
    "inspect",
    "json",
    "yaml",
    "msgspec",
    "pathlib",
    "difflib",
    "decimal",
    "webhook.cel",
    "webhook.policy",
}


def imported(*arguments: str) -> set[str]:
    """Return the modules that a command has imported."""
    done = subprocess.run([sys.executable, "-c", REPORTING, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("claim", [CLAIM.format(number=1), CLAIM_V1])
def test_one_valid_claim_needs_no_heavy_module(claim: str, tmp_path: Path) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(claim, encoding="utf-8")
    assert not HEAVY & imported("validate", str(file))


@pytest.mark.parametrize("driver", ["cats.example.com", "gpu.nvidia.com"])
def test_a_selector_needs_few_modules(driver: str, tmp_path: Path) -> None:
    file = tmp_path / "claim.yaml"
    selector = f"""\
        selectors:
        - cel:
            expression: device.attributes["{driver}"].productName == "tabby"
"""
    file.write_text(CLAIM_V1.replace("gpu.example.com", driver) + selector, encoding="utf-8")
    unneeded = {"dataclasses", "inspect", "yaml", "msgspec", "webhook.api.dra.device"}
    assert not unneeded & imported("validate", str(file))


def test_a_classic_claim_needs_no_other_types(tmp_path: Path) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM.format(number=1), encoding="utf-8")
    assert not {"webhook.api.core.pod", "webhook.api.dra.resourceslice"} & imported("validate", str(file))


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_needs_next_to_nothing(option: str) -> None:
    own = {name for name in imported(option) if name.startswith("webhook")}
    assert own == {"webhook", "webhook.limits", "webhook.cli", "webhook.cli.version"}
    assert not {"argparse", "importlib.metadata"} & imported(option)


def test_help_declares_no_options_of_commands() -> None:
    needed = helping()
    assert {name for name in needed if name.startswith("webhook")} <= {
        "webhook",
        "webhook.limits",
        "webhook.patterns",
        "webhook.records",
        "webhook.release",
        "webhook.spelling",
        "webhook.cli",
        "webhook.cli.parser",
        "webhook.configuration",
        "webhook.configuration.options",
        "webhook.configuration.shapes",
        "webhook.report",
        "webhook.usage",
    }


def helping() -> set[str]:
    """Return the modules that `draguard --help` has imported."""
    code = """
import sys
from webhook.cli import main
try:
    main(["--help"])
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


NEEDLESS = {
    "webhook.documents.dump",
    "webhook.documents.nodes",
    "webhook.engine.prescheduled",
    "webhook.explain",
    "webhook.workloads",
    "signal",
    "subprocess",
    "traceback",
}


@pytest.mark.parametrize("claim", [CLAIM.format(number=1), CLAIM_V1])
def test_one_valid_claim_needs_nothing_of_others(claim: str, tmp_path: Path) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(claim, encoding="utf-8")
    modules = imported("validate", str(file))
    assert not NEEDLESS & modules
    assert sum(name.startswith("webhook") for name in modules) <= MOST


MOST = 150
"""Modules of draguard that validating a claim imports: each costs about a tenth of a millisecond."""


def test_the_version_needs_no_metadata() -> None:
    assert not {"importlib.metadata", "webhook.api"} & imported("version")
