"""The examples of rules do what their pages say, and the pages are current."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.command import ROOT, draguard
from webhook.explain.examples import example
from webhook.explain.places import kinds, rules
from webhook.explain.query import explain

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.explain.examples import Example

RULES = rules(kinds(), None)
EXAMPLES = {name: shown for name in RULES if (shown := example(name))}


def found(rule: str, shown: Example, manifest: str, where: Path) -> list[tuple[str, int, str]]:
    """Check a manifest as its example says: rule, line and message of its findings, and of all errors."""
    command = shown.run.split()
    for option, content in {"--old": shown.before, "--policies": shown.policies}.items():
        if content:
            (where / option).write_text(content)
            command += [option, str(where / option)]
    (where / "manifests").mkdir(exist_ok=True)
    (where / "manifests" / "m.yaml").write_text(manifest)
    done = draguard(*command, "--output", "json", where / "manifests" / "m.yaml")
    return [
        (each["rule"], each["line"], " ".join(each["message"].split()))
        for each in json.loads(done.out)["findings"]
        if each["rule"] == rule or each["level"] == "error"
    ]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_manifest_fails_as_it_says_and_the_mended_one_passes(rule: str, tmp_path: Path) -> None:
    shown = EXAMPLES[rule]
    stated = [
        (rule, number, message.strip().removesuffix("…"))
        for number, line in enumerate(shown.fails.splitlines(), 1)
        for message in line.split("#!")[1:]
    ]
    findings = found(rule, shown, shown.fails, tmp_path)
    assert stated
    assert len(findings) == len(stated)
    for (name, line, message), (rule_, wanted, beginning) in zip(findings, stated, strict=True):
        assert (name, line) == (rule_, wanted)
        assert message.startswith(" ".join(beginning.split()))
    assert found(rule, shown, shown.passes, tmp_path) == []


def test_explain_shows_them() -> None:
    text = explain("container-claims")
    assert "PAGE:        https://github.com/draguard/draguard/blob/main/docs/rules/container-claims.md" in text
    assert "FAILS:\n    apiVersion: v1" in text
    assert "PASSES:\n    apiVersion: v1" in text
    assert "STORED:\n" in explain("immutable")
    assert "POLICIES:\n" in explain("policy")
    assert "FAILS (draguard policy test):" in explain("case")


def test_every_rule_has_a_page() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "rules").glob("*.md")} - {"README"}
    assert pages == set(RULES)
    index = (ROOT / "docs" / "rules" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", index)) == pages
