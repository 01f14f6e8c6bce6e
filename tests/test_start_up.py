"""Commands that must start quickly import little: users of a pre-commit hook feel 50 ms."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.manifests import CLAIM
from tests.command import ROOT
from tests.rows import each_row
from tests.structured import CLAIM as CLAIM_V1

pytestmark = pytest.mark.process

REPORTING = """
import sys
from webhook.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
HEAVY = {
    *("dataclasses", "inspect", "json", "yaml", "msgspec", "pathlib", "difflib", "decimal", "signal", "subprocess"),
    *("traceback", "webhook.cel", "webhook.policy", "webhook.documents.dump", "webhook.documents.nodes"),
    *("webhook.engine.prescheduled", "webhook.explain", "webhook.workloads"),
}
MOST = 150
"""Modules of draguard that validating a claim imports: each costs about a tenth of a millisecond."""


def imported(*arguments: str | Path) -> set[str]:
    """Return the modules that a command has imported."""
    done = subprocess.run([sys.executable, "-c", REPORTING, *arguments], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("webhook")}


@each_row(
    ("claim", "needless"),
    (CLAIM.format(number=1), {"webhook.api.core.pod", "webhook.api.dra.resourceslice"}),
    (CLAIM_V1, {"webhook.api.core.container", "webhook.inventory.quotas"}),
)
def test_one_valid_claim_needs_no_heavy_module_and_nothing_of_others(
    claim: str, needless: set[str], tmp_path: Path
) -> None:
    (tmp_path / "claim.yaml").write_text(claim, encoding="utf-8")
    modules = imported("validate", tmp_path / "claim.yaml")
    assert not (HEAVY | needless) & modules
    assert len(own(modules)) <= MOST


def test_constraints_need_no_allocator(tmp_path: Path) -> None:
    constraint = "    constraints:\n    - {distinctAttribute: gpu.example.com/uuid}\n"
    (tmp_path / "claim.yaml").write_text(f"{CLAIM_V1}{constraint}", encoding="utf-8")
    assert "webhook.allocation" not in imported("validate", tmp_path / "claim.yaml")


@each_row("driver", "cats.example.com", "gpu.nvidia.com")
def test_a_selector_needs_few_modules(driver: str, tmp_path: Path) -> None:
    file = tmp_path / "claim.yaml"
    selector = f"""\
        selectors:
        - cel:
            expression: device.attributes["{driver}"].productName == "tabby"
"""
    file.write_text(CLAIM_V1.replace("gpu.example.com", driver) + selector, encoding="utf-8")
    unneeded = {"dataclasses", "inspect", "yaml", "msgspec", "webhook.api.dra.device"}
    assert not unneeded & imported("validate", file)


@each_row("option", "--version", "-V")
def test_the_version_needs_next_to_nothing(option: str) -> None:
    modules = imported(option)
    assert own(modules) == {"webhook", "webhook.limits", "webhook.cli", "webhook.cli.version"}
    assert not {"argparse", "importlib.metadata"} & modules


def test_the_command_that_tells_the_version_needs_no_metadata() -> None:
    assert not {"importlib.metadata", "webhook.api"} & imported("version")


def test_help_declares_no_options_of_commands() -> None:
    parts = "cli cli.parser configuration configuration.options configuration.shapes limits patterns records release"
    assert own(imported("--help")) <= {
        "webhook",
        *(f"webhook.{part}" for part in (*parts.split(), "report", "spelling", "usage")),
    }


def test_why_looks_up_the_texts_of_components_without_the_rest_of_explain() -> None:
    modules = imported("why", "notebook", "-n", "ml", "--cluster", ROOT / "examples/why/cluster.yaml")
    assert "webhook.explain.components" in modules
    assert not {"webhook.explain.query", "webhook.explain.places"} & modules
